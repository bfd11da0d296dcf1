"""Which slopes differ by component: prediction against agreement of chains.

Run from the repository root: python benchmarks/varying.py --data ce2016q1
"""

import argparse
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import arviz as az
import numpy as np
from sweeps import FILES, components, measures, read, timed, tiny_fit

import pseudopost as pp


def main():
    """Add columns one by one, the most predictive first, and print every trial."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=FILES, default="ce2016q1")
    parser.add_argument("--components", type=int, default=6)
    parser.add_argument("--columns", type=int, default=3, help="at most so many vary")
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--tune", type=int, default=200)
    args = parser.parse_args()
    y, X = read(args.data, 1)
    tiny_fit()
    print(
        f"{args.data}, n {len(y)}, K {args.components}, weights 1, 5 chains of "
        f"{args.tune} + {args.draws} draws\n"
        "varying | seconds | elpd (PSIS-LOO) | standard error | k-hat above 0.7 | "
        "worst R-hat | smallest bulk ESS | components with records by chain",
        flush=True,
    )
    settings = {"draws": args.draws, "tune": args.tune, "random_seed": 1}

    def tried(varying):
        synthesizer = pp.MixtureSynthesizer(
            y, X, args.components, shift=FILES[args.data][1], varying=varying
        )
        fit, seconds = timed(synthesizer, np.ones(len(y)), **settings)
        fit["log_likelihood/y"] = synthesizer.log_likelihood(fit)
        loo, found = az.loo(fit), measures(fit)
        print(
            ", ".join(varying) or "the intercept alone",
            f"{seconds:.0f}",
            f"{loo.elpd:.1f}",
            f"{loo.se:.1f}",
            int((loo.pareto_k > 0.7).sum()),
            f"{found['R-hat'].max():.3f}",
            f"{found['bulk ESS'].min():.0f}",
            components(fit),
            sep=" | ",
            flush=True,
        )
        return loo.elpd

    varying = []
    tried(varying)
    for _ in range(args.columns):
        left = [column for column in X if column not in varying]
        varying = max(([*varying, column] for column in left), key=tried)
    tried(list(X))


if __name__ == "__main__":
    main()
