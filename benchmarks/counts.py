"""Seconds and effective sample sizes of the negative binomial model with predictors.

Run from the repository root: python benchmarks/counts.py
"""

import os
import time
import warnings

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import arviz as az
import numpy as np
import pandas as pd

import pseudopost as pp

CHAINS, SIZES = 2, (500, 1000)


def main():
    """Print a row for each model, weighting and number of draws."""
    file = pp.datasets.health_insurance_experiment()
    y = file["visits"].to_numpy()
    X = file.drop(columns=["visits", "person"]).astype({"coinsurance": "category"})
    rows = []
    for name, given in (("without predictors", None), ("with predictors", X)):
        model = pp.NegativeBinomialSynthesizer(y, given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pp.ConvergenceWarning)  # too short to say
            compiling, fit = timed(model, None, 10)
            look(model, fit)  # compiled with it
        for draws in SIZES:
            weights = None
            for weighting in ("1", "LW"):
                sampling, fit = timed(model, weights, draws)
                terms, seconds = look(model, fit)
                rows.append(
                    {
                        "model": name,
                        "weights": weighting,
                        "draws": f"{CHAINS} x ({draws} + {draws})",
                        "compiling, s": round(compiling, 1),
                        "sampling, s": round(sampling, 1),
                        "smallest bulk ESS": round(smallest_ess(fit)),
                        "log-likelihoods, s": round(seconds, 1),
                        "warning": fit.attrs["not_converged"],
                    }
                )
                weights = pp.lipschitz_weights(terms)
    print(f"n = {len(y):,}, {os.cpu_count()} cores\n")
    print(pd.DataFrame(rows).to_string(index=False))


def timed(model, weights, draws):
    """Return the seconds of a fit, and the fit."""
    start = time.perf_counter()
    fit = model.fit(
        weights,
        draws=draws,
        tune=draws,
        chains=CHAINS,
        random_seed=1,
        progressbar=False,
    )
    return time.perf_counter() - start, fit


def look(model, fit):
    """Return log-likelihoods, and their seconds."""
    start = time.perf_counter()
    terms = model.log_likelihood(fit)
    return terms, time.perf_counter() - start


def smallest_ess(fit):
    """Smallest bulk effective sample size of all parameters."""
    sizes = az.ess(fit["posterior"].to_dataset())
    return min(float(np.min(sizes[name])) for name in sizes.data_vars)


if __name__ == "__main__":
    main()
