"""Effective draws per second of MixtureSynthesizer, and of its model in PyMC and Stan.

Run from the repository root: python benchmarks/mixture.py --n 1000 --components 10
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import arviz as az
import joblib
import numpy as np
import nutpie
import pandas as pd
import xarray as xr
from sweeps import FILES, read
from threadpoolctl import threadpool_limits

import pseudopost as pp
from pseudopost.mixture_starts import start
from pseudopost.mixture_sweeps import Records, draw_of

# Above it a run counts as not converged, and nothing is made of it.
MAX_RHAT = 1.02
HERE = Path(__file__).parent
# RStan and its dependencies are compiled without -march=native; a model that is
# compiled with it crashes.
MAKEVARS = "CXX14FLAGS = -O3 -w\n"
SHAPES = {
    "pi": ["component"],
    "beta": ["component", "predictor"],
    "sigma": ["component"],
    "gamma": [],
    "s": ["predictor"],
}
# Columns of the table, and their digits after the point.
COLUMNS = {
    "compile s": 0,
    "seconds": 1,
    "CPU s": 1,
    "min ESS": 0,
    "median ESS": 0,
    "min ESS/s": 2,
    "s to 400": 0,
    "max R-hat": 3,
    "divergent": 0,
    "gradients/draw": 0,
    "ms/gradient": 3,
    "apart": 1,
}


def main():
    """Print the table."""
    args = parse_arguments()
    y, X = read(args.data, 1, args.n)
    synthesizer = pp.MixtureSynthesizer(
        y, X.iloc[:, : args.predictors], args.components, shift=FILES[args.data][1]
    )
    n, R = synthesizer.X.shape
    weights = np.ones(n)
    if args.weighted:
        weights = np.random.default_rng(0).random(n)
    print(
        f"{versions()}\n{args.data}, n = {n}, R = {R}, K = {args.components}, weights "
        f"{'from Uniform(0, 1)' if args.weighted else '1'}; {args.chains} chains of "
        f"{args.tune} + {args.draws} draws, {args.cores} at a time",
        flush=True,
    )
    with TemporaryDirectory() as folder:
        samplers = {
            name: SAMPLERS[name](args, synthesizer, weights, Path(folder))
            for name in args.only
        }
        compilation = {}
        for name, sampler in samplers.items():
            before = time.perf_counter()
            sampler.compile()
            compilation[name] = time.perf_counter() - before
        table = []
        for seed in args.seeds:
            reference = None
            for name, sampler in samplers.items():
                print(f"{name}, seed {seed} ...", flush=True)
                row = {"sampler": name, "seed": seed, "compile s": compilation[name]}
                table.append(row)
                try:
                    posterior, cost = sampler.sample(seed)
                except RuntimeError as error:
                    row["s to 400"] = str(error)
                    continue
                measures, means = judge(synthesizer, posterior, cost)
                row |= measures
                if reference and means:
                    row["apart"] = distance(reference, means)
                reference = reference or means
    print_table(table)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=FILES, default="lognormal_mixture")
    parser.add_argument("--n", type=int, help="records; by default as the file has")
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--tune", type=int, default=500)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--predictors", type=int, help="only the first so many columns")
    parser.add_argument("--weighted", action="store_true", help="random weights")
    parser.add_argument("--only", choices=SAMPLERS, nargs="+", default=list(SAMPLERS))
    parser.add_argument("--stan-start", choices=["random", "em"], default="random")
    parser.add_argument("--stan-accept", type=float, default=0.8)
    parser.add_argument(
        "--timeout", type=float, default=3600, help="seconds for pymc and stan, a seed"
    )
    args = parser.parse_args()
    args.cores = min(args.chains, joblib.effective_n_jobs())
    return args


def versions():
    """Name what the numbers depend on."""
    names = ["pseudopost", "pymc", "nutpie", "numba", "arviz"]
    found = [f"{name} {version(name)}" for name in names]
    if shutil.which("Rscript"):
        command = ["Rscript", "-e", "cat(as.character(packageVersion('rstan')))"]
        rstan = subprocess.run(command, capture_output=True, text=True, check=False)
        if rstan.returncode == 0:
            found.append(f"RStan {rstan.stdout}")
    return ", ".join(found)


class PseudoPost:
    """Fit as the package does."""

    def __init__(self, args, synthesizer, weights, folder):
        self.args, self.synthesizer, self.weights = args, synthesizer, weights

    def compile(self):
        """Compile what a fit needs, by a tiny one."""
        self._fit(draws=4, tune=1, chains=1, random_seed=0)

    def sample(self, seed):
        """Return the posterior, and what it cost."""
        args = self.args
        wall, cpu = time.perf_counter(), time.process_time()
        fit = self._fit(
            draws=args.draws, tune=args.tune, chains=args.chains, random_seed=seed
        )
        return fit["posterior"].to_dataset(), {
            "seconds": time.perf_counter() - wall,
            "CPU s": time.process_time() - cpu,
        }

    def _fit(self, **settings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pp.ConvergenceWarning)
            return self.synthesizer.fit(self.weights, progressbar=False, **settings)


class PyMC:
    """Sample the plain model with nutpie, as it comes."""

    def __init__(self, args, synthesizer, weights, folder):
        self.args, self.synthesizer, self.weights = args, synthesizer, weights

    def compile(self):
        """Build and compile the model."""
        compiled = nutpie.compile_pymc_model(self.synthesizer.build_model())
        self.compiled = compiled.with_data(y_weights=self.weights)

    def sample(self, seed):
        """Return the posterior, and what it cost."""
        args = self.args
        wall, cpu = time.perf_counter(), time.process_time()
        with threadpool_limits(1):
            sampling = nutpie.sample(
                self.compiled,
                draws=args.draws,
                tune=args.tune,
                chains=args.chains,
                cores=args.cores,
                seed=seed,
                progress_bar=False,
                blocking=False,
            )
            try:
                fit = sampling.wait(timeout=args.timeout)
            except TimeoutError as error:
                sampling.cancel()
                raise RuntimeError(f"stopped after {args.timeout:g} s") from error
            except BaseException:
                sampling.cancel()
                raise
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        after = int(fit["sample_stats"]["n_steps"].sum())
        return fit["posterior"].to_dataset()[list(SHAPES)], {
            "seconds": wall,
            "CPU s": cpu,
            "gradients": after + int(fit["warmup_sample_stats"]["n_steps"].sum()),
            "gradients_after": after,
            "divergences": int(fit["sample_stats"]["diverging"].sum()),
        }


class Stan:
    """Sample mixture.stan with RStan, in a process of its own."""

    def __init__(self, args, synthesizer, weights, folder):
        self.args, self.synthesizer, self.weights = args, synthesizer, weights
        self.folder = folder

    def compile(self):
        """Translate and compile the model."""
        if not shutil.which("Rscript"):
            raise SystemExit(
                "Rscript is not here: see benchmarks/README.md, or leave Stan out "
                "with --only pseudopost pymc"
            )
        shutil.copy(HERE / "mixture.stan", self.folder)
        (self.folder / "Makevars").write_text(MAKEVARS)
        self._run("compile", timeout=None)

    def sample(self, seed):
        """Return the posterior, and what it cost."""
        args, n, R = self.args, *self.synthesizer.X.shape
        settings = {
            name: getattr(args, name) for name in ("draws", "tune", "chains", "cores")
        }
        settings |= {
            "seed": seed,
            "accept": args.stan_accept,
            "data": {
                "n": n,
                "R": R,
                "K": args.components,
                "log_y": self.synthesizer.log_y.tolist(),
                "X": self.synthesizer.X.tolist(),
                "weights": self.weights.tolist(),
                "min_sigma": self.synthesizer.min_sigma,
                "lkj_shape": 1 + max(args.components - R, 0) / 2,
            },
        }
        wall, cpu = time.perf_counter(), time.process_time()
        if args.stan_start == "em":
            settings["init"] = [self._start(seed, i) for i in range(args.chains)]
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        (self.folder / "input.json").write_text(json.dumps(settings))
        self._run("sample", timeout=args.timeout)
        cost = json.loads((self.folder / "output.json").read_text())
        cost["seconds"] += wall
        cost["CPU s"] = cost.pop("cpu") + cpu
        names = cost.pop("parameters")
        draws = np.fromfile(self.folder / "draws.bin").reshape(
            (args.draws, args.chains, -1), order="F"
        )
        sizes = {"component": args.components, "predictor": R}
        posterior = {}
        for name, dims in SHAPES.items():
            columns = [i for i, s in enumerate(names) if s.split("[")[0] == name]
            shape = [sizes[dim] for dim in dims]
            values = draws[..., columns].swapaxes(0, 1)
            if name == "beta":  # in Stan, predictors by components, column by column
                assert names[columns[1]] == "beta[2,1]"
            posterior[name] = (
                ("chain", "draw", *dims),
                values.reshape(*values.shape[:2], *shape),
            )
        return xr.Dataset(posterior), cost

    def _start(self, seed, chain):
        """Return where a chain starts: an EM fit of four components, or fewer."""
        K, floor = self.args.components, self.synthesizer.min_sigma
        records = Records(
            self.synthesizer.log_y, self.synthesizer.X, self.weights, floor
        )
        own_seed = np.random.SeedSequence([seed, chain]).generate_state(1)[0]
        point = draw_of(start(records, K, min(K, 4), int(own_seed)))
        return {
            "gamma": point["gamma"],
            "x": np.log(point["pi"]).tolist(),
            "beta": point["beta"].T.tolist(),
            "L_Omega": np.eye(len(point["s"])).tolist(),
            "s": point["s"].tolist(),
            "excess": (point["sigma"] - floor).tolist(),
        }

    def _run(self, task, timeout):
        environment = os.environ | {"R_MAKEVARS_USER": str(self.folder / "Makevars")}
        log = self.folder / "log"
        with log.open("w") as stream:
            process = subprocess.Popen(
                ["Rscript", str(HERE / "mixture.R"), task, str(self.folder)],
                env=environment,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired as error:
                raise RuntimeError(f"stopped after {timeout:g} s") from error
            finally:
                if process.poll() is None:  # the chains are processes of their own
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        if code:
            last = " ".join(log.read_text().split("\n")[-5:])
            raise RuntimeError(f"R failed: {last.strip()}")


SAMPLERS = {"pseudopost": PseudoPost, "pymc": PyMC, "stan": Stan}


def judge(synthesizer, posterior, cost):
    """Return the measures of one row, and what must agree: means and their errors.

    Parameters
    ----------
    synthesizer : MixtureSynthesizer
    posterior : Dataset
    cost : dict
    """
    judged = synthesizer._label_invariant(posterior)
    with np.errstate(all="ignore"):  # chains that stand still
        ess, rhat = (flat(f(judged)) for f in (az.ess, az.rhat))
    measures = {
        "seconds": cost["seconds"],
        "CPU s": cost["CPU s"],
        "min ESS": ess.min(),
        "median ESS": np.median(ess),
        "max R-hat": rhat.max(),
        "s to 400": "not converged",
    }
    if "gradients" in cost:
        draws = posterior.sizes["chain"] * posterior.sizes["draw"]
        measures |= {
            "divergent": cost["divergences"],
            "gradients/draw": cost["gradients_after"] / draws,
            "ms/gradient": 1000 * cost["CPU s"] / cost["gradients"],
        }
    if not rhat.max() <= MAX_RHAT:
        return measures, None
    measures["min ESS/s"] = ess.min() / cost["seconds"]
    measures["s to 400"] = 400 / measures["min ESS/s"]
    # gamma and the scales do not depend on the order of the components either.
    compared = judged.merge(posterior[["gamma", "s"]])
    means = (flat(compared.mean(("chain", "draw"))), flat(az.mcse(compared)))
    return measures, means


def flat(values):
    """Return all values of a Dataset in one vector."""
    return np.concatenate([np.ravel(values[name]) for name in sorted(values.data_vars)])


def distance(first, second):
    """Largest difference of two sets of means, in standard errors."""
    return np.max(np.abs(first[0] - second[0]) / np.hypot(first[1], second[1]))


def print_table(rows):
    """Print one line per sampler and seed."""
    table = pd.DataFrame(rows, columns=["sampler", "seed", *COLUMNS])
    for name, digits in COLUMNS.items():
        table[name] = [
            value
            if isinstance(value, str)
            else ""
            if pd.isna(value)
            else f"{value:.{digits}f}"
            for value in table[name]
        ]
    print("\n" + table.to_string(index=False))


if __name__ == "__main__":
    main()
