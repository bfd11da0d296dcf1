"""Seconds and peak memory of risk, weights, bounds and count models for large files.

Run from the repository root: python benchmarks/scale.py --n 100000 1000000
"""

import argparse
import multiprocessing
import resource
import sys
import time

import numpy as np

import pseudopost as pp

RADIUS = 0.2
UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes


def file_of(n):
    """Simulate skewed values, and patterns of 50 records on average."""
    rng = np.random.default_rng(n)
    return np.exp(rng.normal(10, 1, n)), rng.integers(0, max(n // 50, 1), n)


def counts_of(n):
    """Simulate the counts of P3's simulation, as many as are wanted."""
    return pp.datasets.negative_binomial_mixture(n, random_seed=1)


def log_likelihood(n, draws):
    """Simulate a log-likelihood, shape (draws, n)."""
    return -np.random.default_rng(n).gamma(5, 1, (draws, n))


def risk(n, files):
    """Identification risk of a file, over some released ones."""
    y, patterns = file_of(n)
    z = y * np.random.default_rng(1).uniform(0.5, 2, (files, n))
    return lambda: pp.identification_risk(y, z, RADIUS, patterns, alone=1.0)


def one_pattern(n):
    """Risk where all records have the same known values."""
    y, _ = file_of(n)
    return lambda: pp.identification_risk(y, y, RADIUS)


def pairwise(n):
    """Pairwise weights."""
    y, patterns = file_of(n)
    return lambda: pp.pairwise_weights(y, None, RADIUS, patterns, alone=1.0)


def counts(n):
    """Weights by counts of near records."""
    y, _ = file_of(n)
    return lambda: pp.count_weights(y, RADIUS)


def bounds(n, draws):
    """Lipschitz bounds, and weights from them."""
    values = log_likelihood(n, draws)
    return lambda: pp.lipschitz_weights(values)


def fit(n, model, draws):
    """Fit, bounds and one synthetic file of a model for counts."""
    synthesizer = getattr(pp, model)(counts_of(n))

    def run():
        fit = synthesizer.fit(draws=draws, tune=300, random_seed=1, progressbar=False)
        pp.lipschitz_bounds(synthesizer.record_terms(fit))
        synthesizer.synthesize(fit, 1, random_seed=1)

    return run


CASES = {
    "risk, one pattern, 1 file": (one_pattern,),
    "risk, n/50 patterns, 1 file": (risk, 1),
    "risk, n/50 patterns, 20 files": (risk, 20),
    "pairwise weights, n/50 patterns": (pairwise,),
    "count weights": (counts,),
    "bounds and weights, 200 draws": (bounds, 200),
    "Poisson: fit, bounds, file, 2 x 100 draws": (fit, "PoissonSynthesizer", 100),
    "negative binomial: the same": (fit, "NegativeBinomialSynthesizer", 100),
}


def measure(name, n, queue):
    """Run one case in a process of its own."""
    make, *settings = CASES[name]
    run = make(n, *settings)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    queue.put((seconds, before * UNIT / 2**30, after * UNIT / 2**30))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, nargs="+", default=[100_000, 1_000_000])
    arguments = parser.parse_args()
    print("| | n | seconds | GiB before | GiB at most |\n|---|---|---|---|---|")
    context = multiprocessing.get_context("spawn")
    for name in CASES:
        for n in arguments.n:
            queue = context.Queue()
            process = context.Process(target=measure, args=(name, n, queue))
            process.start()
            process.join()
            row = queue.get() if process.exitcode == 0 else None
            text = "failed" if row is None else "{:.2f} | {:.2f} | {:.2f}".format(*row)
            print(f"| {name} | {n:,} | {text} |", flush=True)


if __name__ == "__main__":
    main()
