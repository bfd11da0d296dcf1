"""Effective draws per second of MixtureSynthesizer and of the same model in Stan.

Run from the repository root: python benchmarks/mixture.py --n 1000 --components 10
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import arviz as az
import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import xarray as xr
from scipy.special import log_softmax
from threadpoolctl import threadpool_limits

import pseudopost as pp

# Looser than in a fit: 18 values of few draws exceed 1.05 by chance.
MAX_RHAT = 1.1
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
# Name of the values, and what is added to them before their logarithm is taken.
DATA = {"lognormal_mixture": ("value", 0), "consumer_expenditure": ("income", 10_000)}


def main():
    """Print the table."""
    args = parse_arguments()
    frame = getattr(pp.datasets, args.data)(args.n)
    name, shift = DATA[args.data]
    synthesizer = pp.MixtureSynthesizer(
        frame[name],
        frame.drop(columns=name).iloc[:, : args.predictors],
        n_components=args.components,
        shift=shift,
    )
    n, R = synthesizer.X.shape
    weights = np.ones(n)
    if args.weighted:
        weights = np.random.default_rng(0).random(n)
    print(
        f"{args.data}, n = {n}, R = {R}, K = {args.components}, "
        f"weights {'from Uniform(0, 1)' if args.weighted else '1'}; {args.chains} "
        f"chains of {args.tune} + {args.draws} draws, {args.cores} at a time",
        flush=True,
    )
    with TemporaryDirectory() as folder:
        samplers = {
            "pseudopost": PseudoPost(args, synthesizer, weights),
            "stan": Stan(args, synthesizer, weights, Path(folder)),
        }
        if args.only:
            samplers = {args.only: samplers[args.only]}
        compilation = {}
        for name, sampler in samplers.items():
            start = time.perf_counter()
            sampler.compile()
            compilation[name] = time.perf_counter() - start
        table = []
        for seed in args.seeds:
            summaries = {}
            for name, sampler in samplers.items():
                print(f"{name}, seed {seed} ...", flush=True)
                row = {"sampler": name, "seed": seed, "compile s": compilation[name]}
                try:
                    posterior, cost = sampler.sample(seed)
                except RuntimeError as error:
                    row["note"] = str(error)
                else:
                    measures, summaries[name] = judge(synthesizer, posterior, cost)
                    row |= measures
                table.append(row)
            if len(summaries) == 2 and all(summaries.values()):
                table[-1]["apart"] = distance(*summaries.values())
    print_table(table)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=DATA, default="lognormal_mixture")
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--tune", type=int, default=500)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--predictors", type=int, help="only the first so many")
    parser.add_argument("--weighted", action="store_true", help="random weights")
    parser.add_argument("--only", choices=["pseudopost", "stan"])
    parser.add_argument("--stan-start", choices=["random", "em"], default="random")
    parser.add_argument(
        "--stan-prior", choices=["centred", "non-centred"], default="centred"
    )
    parser.add_argument("--stan-accept", type=float, default=0.8)
    parser.add_argument("--stan-timeout", type=float, default=3600, help="per seed")
    return parser.parse_args()


class PseudoPost:
    """Sample as MixtureSynthesizer.fit does, and keep the cost of tuning too."""

    def __init__(self, args, synthesizer, weights):
        self.args, self.synthesizer, self.weights = args, synthesizer, weights

    def compile(self):
        """Build and compile the model."""
        self.compiled = self.synthesizer._sampler()

    def sample(self, seed):
        """Return the posterior, and what it cost."""
        args = self.args
        wall, cpu = time.perf_counter(), time.process_time()
        with threadpool_limits(1):
            data = self.synthesizer._sampling_data(self.weights)
            fit = nutpie.sample(
                self.compiled.with_data(**data),
                draws=args.draws,
                tune=args.tune,
                chains=args.chains,
                cores=args.cores,
                seed=seed,
                progress_bar=False,
                **self.synthesizer.sampler_settings,
            )
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        after = int(fit["sample_stats"]["n_steps"].sum())
        return fit["posterior"].to_dataset()[list(SHAPES)], {
            "seconds": wall,
            "cpu": cpu,
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
            raise SystemExit("Rscript is not here: see benchmarks/README.md")
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
                "centred": int(args.stan_prior == "centred"),
            },
        }
        extra = 0
        if args.stan_start == "em":
            start = time.perf_counter()
            data = self.synthesizer._sampling_data(self.weights)
            extra = time.perf_counter() - start
            settings["init"] = self._starts(data, seed)
        (self.folder / "input.json").write_text(json.dumps(settings))
        self._run("sample", timeout=args.stan_timeout)
        cost = json.loads((self.folder / "output.json").read_text())
        cost["seconds"] += extra
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

    def _starts(self, data, seed):
        """Return where the chains of nutpie start too, but for their random shifts."""
        model, rng = self.synthesizer.model, np.random.default_rng(seed)
        with model:
            pm.set_data(data)
        outputs = model.replace_rvs_by_values([model[name] for name in SHAPES])
        function = model.compile_fn(outputs, inputs=model.value_vars)
        starts = []
        for _ in range(self.args.chains):
            point = {
                name: value + rng.uniform(-1, 1, size=np.shape(value))
                for name, value in model.initial_point().items()
            }
            pi, beta, sigma, gamma, s = function(point)
            z = beta if self.args.stan_prior == "centred" else beta / s
            starts.append(
                {
                    "gamma": float(gamma),
                    "x": log_softmax(np.log(np.maximum(pi, 1e-300))).tolist(),
                    "z": z.T.tolist(),
                    "L_Omega": np.eye(len(s)).tolist(),
                    "s": s.tolist(),
                    "excess": (sigma - self.synthesizer.min_sigma).tolist(),
                }
            )
        return starts

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


def judge(synthesizer, posterior, cost):
    """Return the measures of one row, and what must agree: means and their errors.

    Parameters
    ----------
    synthesizer : MixtureSynthesizer
    posterior : Dataset
    cost : dict
    """
    judged = xr.Dataset(
        {
            name: (("chain", "draw", name + "_at"), values)
            for name, values in synthesizer._label_invariant(posterior).items()
        }
    )
    with np.errstate(all="ignore"):  # chains that stand still
        ess, rhat = (flat(f(judged)) for f in (az.ess, az.rhat))
    converged = rhat.max() <= MAX_RHAT
    draws = posterior.sizes["chain"] * posterior.sizes["draw"]
    measures = {
        "seconds": cost["seconds"],
        "min ESS": ess.min(),
        "median ESS": np.median(ess),
        "min ESS/s": ess.min() / cost["seconds"] if converged else np.nan,
        "max R-hat": rhat.max(),
        "divergent": cost["divergences"],
        "gradients/draw": cost["gradients_after"] / draws,
        "ms/gradient": 1000 * cost["cpu"] / cost["gradients"],
    }
    if not converged:
        measures["note"] = "not converged"
    # gamma and the scales do not depend on the order of the components either.
    compared = judged.merge(posterior[["gamma", "s"]])
    means = (flat(compared.mean(("chain", "draw"))), flat(az.mcse(compared)))
    return measures, means if converged else None


def flat(values):
    """Return all values of a Dataset in one vector."""
    return np.concatenate([np.ravel(values[name]) for name in sorted(values.data_vars)])


def distance(first, second):
    """Largest difference of two sets of means, in standard errors."""
    return np.max(np.abs(first[0] - second[0]) / np.hypot(first[1], second[1]))


def print_table(rows):
    """Print one line per sampler and seed."""
    table = pd.DataFrame(rows)
    digits = {
        "compile s": 0,
        "seconds": 1,
        "min ESS": 0,
        "median ESS": 0,
        "min ESS/s": 2,
        "divergent": 0,
        "gradients/draw": 0,
        "ms/gradient": 3,
        "apart": 1,
    }
    if "max R-hat" in table:
        table["max R-hat"] = table["max R-hat"].map("{:.4g}".format, na_action="ignore")
    for name in table.columns.intersection(digits):
        table[name] = [
            "" if pd.isna(value) else f"{value:.{digits[name]}f}"
            for value in table[name]
        ]
    print("\n" + table.fillna("").to_string(index=False))


if __name__ == "__main__":
    main()
