"""Time the study over many databases with one worker and with several."""

import argparse
import time
from functools import partial

from joblib.externals.loky import get_reusable_executor

import pseudopost as pp


def mixture(rng, n):
    """Draw one database."""
    seed = int(rng.integers(2**31))
    return pp.datasets.negative_binomial_mixture(n, random_seed=seed)


def main():
    """Print seconds, compilation included, by number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--databases", type=int, default=100)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--tune", type=int, default=500)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    generate = partial(mixture, n=arguments.n)
    tables = []
    for workers in arguments.workers:
        # Workers that have compiled the model already would flatter the second run.
        get_reusable_executor(max_workers=workers).shutdown(wait=True)
        pp.compiled.SAMPLERS.clear()
        start = time.perf_counter()
        table = pp.local_to_global(
            generate,
            pp.NegativeBinomialSynthesizer,
            arguments.databases,
            n_jobs=workers,
            draws=arguments.draws,
            tune=arguments.tune,
            random_seed=1,
        )
        print(f"{workers} workers: {time.perf_counter() - start:.1f} s")
        tables.append(table)
    print("same tables:", all(table.equals(tables[0]) for table in tables))


if __name__ == "__main__":
    main()
