"""Gibbs sweeps for the mixture from dispersed starts: what agrees, and how soon.

Prints R-hat and bulk effective sample size of what convergence is judged on, and of the
chance that a released value is within 20% of the record's own. Run from the repository
root: python benchmarks/sweeps.py --data ce2016q1 --levels 0 .1 .25 .5 1 2
"""

import argparse
import math
import os
import time
from concurrent.futures import ThreadPoolExecutor

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import logsumexp, ndtr

import pseudopost as pp
from pseudopost import mixture_sweeps

# Name of the values, and what is added to them before their logarithm is taken.
FILES = {
    "consumer_expenditure": ("income", 10_000),
    "ce2016q1": ("income", 1000),
    "ce2014q1": ("income", 1000),
    "lognormal_mixture": ("value", 0),
}
KNOWN = ["gender", "age", "region"]


def main():
    """Print the table."""
    args = parse_arguments()
    y, X = read(args.data, args.seed)
    shift = FILES[args.data][1]
    model = pp.MixtureSynthesizer(y, X, args.components, args.floor, shift)
    weights = np.ones(len(y))
    if args.pairwise:
        patterns = X.groupby(KNOWN, observed=True).ngroup()
        weights = pp.pairwise_weights(
            y, patterns=patterns.to_numpy(), ball="signed", alone=1.0
        )
    levels = np.array(args.levels)
    data = mixture_sweeps.records(model.log_y, model.X, weights, args.floor)
    start = time.perf_counter()
    first = mixture_sweeps.replicas(data, args.components, 1, len(levels), seed=0)
    mixture_sweeps.run(data, first, levels, 1, np.random.default_rng(0))
    print(
        f"{args.data}, seed {args.seed}, n = {len(y)}, R = {model.X.shape[1]}, "
        f"K = {args.components}, mean weight {weights.mean():.2f}, levels {levels}; "
        f"compiled in {time.perf_counter() - start:.0f} s",
        flush=True,
    )
    with ThreadPoolExecutor(args.cores) as pool:
        tasks = [
            pool.submit(chain, args, model, data, levels, occupied, number)
            for number, occupied in enumerate(args.starts)
        ]
        chains = [task.result() for task in tasks]
    length = min(len(draws) for draws, *_ in chains)
    kept = slice(int(args.warmup * length), length)
    print_table(
        {
            name: np.stack([np.stack([d[name] for d in c[kept]]) for c, *_ in chains])
            for name in chains[0][0][0]
        }
    )
    for occupied, (draws, swaps, sweeps, seconds) in zip(
        args.starts, chains, strict=True
    ):
        path = [int(d["occupied"][0]) for d in draws[:: max(length // 15, 1)]]
        print(
            f"from {occupied}: {sweeps} sweeps in {seconds:.0f} s; occupied {path}; "
            f"swaps {np.round(2 * swaps / sweeps, 2)}"
        )


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=FILES, default="consumer_expenditure")
    parser.add_argument("--seed", type=int, default=1, help="of a simulated file")
    parser.add_argument("--pairwise", action="store_true", help="P2's weights")
    parser.add_argument("--starts", type=int, nargs="+", default=[2, 4, 8, 10])
    parser.add_argument("--levels", type=float, nargs="+", default=[0.0])
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--floor", type=float, default=0.05)
    parser.add_argument("--seconds", type=float, default=60, help="for each chain")
    parser.add_argument("--thin", type=int, default=10)
    parser.add_argument("--warmup", type=float, default=0.3, help="share of the draws")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    return parser.parse_args()


def read(name, seed):
    """Return values and predictors: of a quarter, positive incomes of known places."""
    column = FILES[name][0]
    if name.startswith("ce20"):
        frame = pp.datasets.read_consumer_expenditure(f"data/{name}.csv.gz")
        frame = frame[(frame["income"] > 0) & (frame["region"] != "Suppressed")]
        frame = frame.drop(columns="urban_type")  # repeats urban
    else:
        frame = getattr(pp.datasets, name)(random_seed=seed)
    X = frame.drop(columns=column)
    for name in X.select_dtypes("category"):
        X[name] = X[name].cat.remove_unused_categories()
    return frame[column].to_numpy(), X


def chain(args, model, data, levels, occupied, number):
    """Sweep for so many seconds; return draws, swaps, sweeps and seconds."""
    state = mixture_sweeps.replicas(
        data, args.components, occupied, len(levels), seed=100 * number
    )
    rng = np.random.default_rng([args.seed, number])
    draws, swaps, start = [], 0, time.perf_counter()
    while time.perf_counter() - start < args.seconds:
        swaps = swaps + mixture_sweeps.run(data, state, levels, args.thin, rng)
        draws.append(judged(model, mixture_sweeps.at_lowest(state)))
    return draws, swaps, len(draws) * args.thin, time.perf_counter() - start


def judged(model, draw):
    """Compute what convergence is judged on, and more, of one draw."""
    posterior = xr.Dataset(
        {
            "pi": (("chain", "draw", "component"), draw["pi"][None, None]),
            "beta": (("chain", "draw", "component", "r"), draw["beta"][None, None]),
            "sigma": (("chain", "draw", "component"), draw["sigma"][None, None]),
        }
    )
    found = {k: v[0, 0] for k, v in model._label_invariant(posterior).items()}
    sigma, mean = draw["sigma"][:, None], draw["beta"] @ model.X.T
    with np.errstate(divide="ignore"):
        log_share = np.log(draw["pi"])[:, None] - np.log(sigma)
    log_share = log_share - 0.5 * ((model.log_y - mean) / sigma) ** 2
    total = logsumexp(log_share, axis=0)
    low, high = (
        np.log(np.maximum(model.y + sign * 0.2 * abs(model.y) + model.shift, 1e-300))
        for sign in (-1, 1)
    )
    near = ndtr((high - mean) / sigma) - ndtr((low - mean) / sigma)
    found["risk"] = (np.exp(log_share - total) * near).sum(axis=0).mean()[None]
    found["total"] = np.array([total.sum() - 0.5 * len(total) * math.log(2 * math.pi)])
    found["occupied"] = np.array([(draw["pi"] > 0.01).sum()], dtype=float)
    return found


def print_table(values):
    """Print R-hat and effective sample sizes, the worst of each quantity."""
    rows = {}
    for name, v in values.items():
        each = [v[..., j] for j in range(v.shape[-1])]
        rhat = [float(az.rhat(e)) for e in each]
        worst = int(np.nanargmax(rhat)) if np.isfinite(rhat).any() else 0
        rows[name] = {
            "R-hat": rhat[worst],
            "bulk ESS": min(float(az.ess(e, method="bulk")) for e in each),
            "tail ESS": min(
                float(az.ess(e, method="tail", prob=(0.05, 0.95))) for e in each
            ),
            "sd": each[worst].std(),
            **{f"chain {c + 1}": m for c, m in enumerate(each[worst].mean(axis=1))},
        }
    print(pd.DataFrame(rows).T.round(4).to_string())


if __name__ == "__main__":
    main()
