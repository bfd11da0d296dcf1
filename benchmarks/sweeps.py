"""Seconds, convergence and numbers of components of fits of MixtureSynthesizer.

Run from the repository root: python benchmarks/sweeps.py --data ce2016q1 --pairwise
"""

import argparse
import os
import time
import warnings

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import arviz as az
import numpy as np
import pandas as pd

import pseudopost as pp

# Name of the values, and what is added to them before their logarithm is taken.
FILES = {
    "consumer_expenditure": ("income", 10_000),
    "ce2016q1": ("income", 1000),
    "ce2014q1": ("income", 1000),
    "lognormal_mixture": ("value", 0),
}
# What an intruder knows of a record: in the files of incomes, and in the simulated one.
KNOWN = ["gender", "age", "region"]
KNOWN_SIMULATED = ["x1", "x2", "x3", "x4", "x5"]
# Columns of the quarters whose coefficients differ by component, in a model that is
# not quite the papers'.
VARYING = ["earner", "marital"]
# File, seed, K and varying columns of --all.
ALL = [
    ("consumer_expenditure", 1, 10, None),
    ("consumer_expenditure", 2, 10, None),
    ("consumer_expenditure", 3, 10, None),
    ("consumer_expenditure", 1, 20, None),
    ("lognormal_mixture", 1, 20, None),
    ("ce2016q1", 1, 10, None),
    ("ce2014q1", 1, 10, None),
    ("ce2016q1", 1, 2, None),
    ("ce2014q1", 1, 2, None),
    ("ce2016q1", 1, 6, VARYING),
    ("ce2014q1", 1, 6, VARYING),
]

COLUMNS = [
    *("file", "seed", "weights", "n", "R", "K", "varying", "seconds"),
    *("worst R-hat (of)", "smallest bulk ESS (of)", "sweeps a draw"),
    "components with records by chain",
]


def main():
    """Print one fit, or a line for each of many."""
    args = parse_arguments()
    first = tiny_fit()
    print(
        f"{args.chains} chains of {args.tune} + {args.draws} draws, floor "
        f"{args.floor:g}, random seed {args.random_seed}; before that a tiny fit, with "
        f"what it had to compile, took {first:.1f} s\n",
        flush=True,
    )
    if not args.all:
        describe(*fitted(args, args.data, args.seed, args.components, args.varying))
        return
    print(f"| {' | '.join(COLUMNS)} |\n{'| --- ' * len(COLUMNS)}|")
    for case in ALL:
        for args.pairwise in (False, True):
            print(one_line(*fitted(args, *case)), flush=True)


def parse_arguments():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="one line for each of 22")
    parser.add_argument("--data", choices=FILES, default="consumer_expenditure")
    parser.add_argument("--seed", type=int, default=1, help="of a simulated file")
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--varying", nargs="*", metavar="COLUMN")
    parser.add_argument("--floor", type=float, default=0.05)
    parser.add_argument("--pairwise", action="store_true", help="P2's weights")
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--tune", type=int, default=200)
    parser.add_argument("--chains", type=int, default=5)
    parser.add_argument("--random-seed", type=int, default=1, help="of the fits")
    return parser.parse_args()


def read(name, seed, n=None):
    """Return values and predictors: of a quarter, positive incomes of known places.

    With `n`, a simulated file has so many records, and a quarter is sampled from.
    """
    column = FILES[name][0]
    if name.startswith("ce20"):
        frame = pp.datasets.read_consumer_expenditure(f"data/{name}.csv.gz")
        frame = frame[(frame["income"] > 0) & (frame["region"] != "Suppressed")]
        frame = frame.drop(columns="urban_type")  # repeats urban
        if n:
            frame = frame.sample(n, random_state=seed)
    else:
        size = {"n": n} if n else {}
        frame = getattr(pp.datasets, name)(**size, random_seed=seed)
    X = frame.drop(columns=column)
    for name in X.select_dtypes("category"):
        X[name] = X[name].cat.remove_unused_categories()
    return frame[column].to_numpy(), X


def weights_of(y, X, pairwise):
    """Return P2's weights for an intruder who knows what is in KNOWN, or 1."""
    if not pairwise:
        return np.ones(len(y))
    known = X.columns.intersection(KNOWN + KNOWN_SIMULATED)
    patterns = X.groupby(list(known), observed=True).ngroup().to_numpy()
    return pp.pairwise_weights(y, patterns=patterns, ball="signed", alone=1.0)


def tiny_fit():
    """Compile what every fit needs; return the seconds."""
    y, X = read("lognormal_mixture", 1, n=50)
    synthesizer = pp.MixtureSynthesizer(y, X[KNOWN_SIMULATED], n_components=2)
    return timed(synthesizer, np.full(50, 0.5), draws=4, tune=1, chains=1)[1]


def timed(synthesizer, weights, **settings):
    """Return a fit, without its warnings, and its seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        fit = synthesizer.fit(weights, progressbar=False, **settings)
        return fit, time.perf_counter() - start


def fitted(args, name, seed, K, varying):
    """Return what was fitted, in words, the fit and its seconds."""
    y, X = read(name, seed)
    shift = FILES[name][1]
    synthesizer = pp.MixtureSynthesizer(y, X, K, args.floor, shift, varying)
    weights = weights_of(y, X, args.pairwise)
    fit, seconds = timed(
        synthesizer,
        weights,
        draws=args.draws,
        tune=args.tune,
        chains=args.chains,
        random_seed=args.random_seed,
    )
    told = {
        "file": name,
        "seed": "" if name.startswith("ce20") else seed,
        "weights": f"pairwise, mean {weights.mean():.2f}" if args.pairwise else "1",
        "n": len(y),
        "R": len(synthesizer.predictors),
        "K": K,
        "varying": "all" if varying is None else " ".join(varying),
    }
    return told, fit, seconds


def one_line(told, fit, seconds):
    """Say it in one line."""
    values = measures(fit)
    rhat, ess = values["R-hat"], values["bulk ESS"]
    worst, least = rhat.fillna(np.inf).idxmax(), ess.fillna(0).idxmin()
    cells = [
        *map(str, told.values()),
        f"{seconds:.0f}",
        f"{rhat[worst]:.3f} ({' '.join(worst).strip()})",
        f"{ess[least]:.0f} ({' '.join(least).strip()})",
        str(fit["sample_stats"].attrs["sweeps_per_draw"]),
        components(fit),
    ]
    return f"| {' | '.join(cells)} |"


def describe(told, fit, seconds):
    """Print the worst of each quantity, and what the fit says of itself."""
    print(", ".join(f"{name} {value}" for name, value in told.items()))
    print(f"the fit took {seconds:.1f} s\n")
    values = measures(fit)
    rows = {}
    for name, group in values.groupby(level="quantity", sort=False):
        worst = group["R-hat"].fillna(np.inf).idxmax()
        smallest = group[["bulk ESS", "tail ESS"]].min(skipna=False)
        rows[name] = {"at": worst[1], **group.loc[worst], **smallest}
    table = pd.DataFrame(rows).T
    digits = {"R-hat": "{:.3f}", "bulk ESS": "{:.0f}", "tail ESS": "{:.0f}"}
    for name in table.columns.drop("at"):
        table[name] = table[name].map(digits.get(name, "{:.5g}").format)
    print(table.to_string())
    sweeps = fit["sample_stats"].attrs["sweeps_per_draw"]
    print(f"\n{sweeps} sweeps a draw")
    print(f"components with records, by chain: {components(fit)}")
    print(fit.attrs["not_converged"] or "converged")


def components(fit):
    """Mean number of components with records, by chain."""
    means = fit["sample_stats"]["occupied"].mean("draw").to_numpy()
    return ", ".join(f"{mean:.1f}" for mean in means)


def measures(fit):
    """R-hat, effective sample sizes, sd and means by chain of every judged value.

    Returns
    -------
    DataFrame
        Indexed by ``quantity`` and ``at``, the value's place in it.
    """
    judged = fit["label_invariant"].to_dataset()
    found = {
        "R-hat": az.rhat(judged),
        "bulk ESS": az.ess(judged, method="bulk"),
        "tail ESS": az.ess(judged, method="tail"),
        "sd": judged.std(("chain", "draw")),
    }
    for chain in range(judged.sizes["chain"]):
        found[f"chain {chain + 1}"] = judged.isel(chain=chain).mean("draw")
    tables = {}
    for name, variable in judged.items():
        places = [variable[dim].to_numpy().astype(str) for dim in variable.dims[2:]]
        tables[name] = pd.DataFrame(
            {measure: np.ravel(values[name]) for measure, values in found.items()},
            index=places[0] if places else [""],
        )
    return pd.concat(tables, names=["quantity", "at"])


if __name__ == "__main__":
    main()
