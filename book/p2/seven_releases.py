"""Seven releases of the stand-in for P2's file, and five analyses of each of them."""

import numpy as np
import pandas as pd

import pseudopost as pp
from companion import Study, by_profile, earner, shuffled

SHIFT = 10_000  # some incomes have no logarithm
DEGREE = "education_Bachelor's degree"
STATISTICS = [
    "mean",
    "median",
    "90% quantile",
    "coefficient of not earning",
    "coefficient of a degree",
]


def make(random_seed):
    """Fit the three synthesizers, and make the seven releases.

    Returns
    -------
    study : Study
        The file, with the fits, weights and synthetic files of the three.
    released : dict of ndarray, shape (m, n)
        Incomes by release; the top-coded one is a single file, the others are 20.
    """
    data = pp.datasets.consumer_expenditure(
        by_profile(1000, 6208), random_seed=random_seed
    )
    study = Study(
        data,
        response="income",
        known=["gender", "age", "region"],
        n_components=by_profile(4, 10, 20),
        shift=SHIFT,
        alone=1.0,
        draws=by_profile(80, 400, 2000),
        tune=by_profile(80, 200, 1000),
        random_seed=random_seed,
    )
    y = study.y
    signed = {"patterns": data[study.known], "ball": "signed", "alone": 1.0}
    study.add("Unweighted")
    study.add("Marginal", pp.pairwise_weights(y, order=1, **signed))
    study.add("Pairwise", pp.pairwise_weights(y, order=2, **signed))
    rng = np.random.default_rng(random_seed)
    released = {
        **study.z,
        "Top-coded": pp.top_code(y, np.quantile(y, 0.94))[None],
        "Permuted": shuffled(y, [np.arange(len(y))], 20, rng),
        "Permuted in cells": shuffled(y, cells(data), 20, rng),
        "Noisy": y * rng.normal(1, 0.05, size=(20, len(y))),
    }
    return study, released


def cells(data):
    """Places of the records that agree on the columns of P2's regression, by cell."""
    columns = ["region", "urban", "earner"]
    return list(data.groupby(columns, observed=True).indices.values())


def predictors(data):
    """Indicators of the levels of all predictors but the first of each."""
    return pd.get_dummies(data.drop(columns="income"), drop_first=True, dtype=float)


# Analyses


def three(incomes, axis=-1):
    """Mean, median and 90% quantile."""
    quantiles = np.quantile(incomes, [0.5, 0.9], axis=axis)
    return np.stack([incomes.mean(axis=axis), *quantiles])


def coefficient(design, name, values):
    """Least-squares coefficient of a column in each file, and its variance."""
    X = np.column_stack([np.ones(len(design)), design])
    k = design.columns.get_loc(name) + 1
    inverse = np.linalg.inv(X.T @ X)
    beta = values @ X @ inverse
    residual = values - beta @ X.T
    variance = (residual**2).sum(axis=-1) / (X.shape[0] - X.shape[1]) * inverse[k, k]
    return beta[..., k], variance


def regressions(data, files):
    """P2's coefficient and that of a degree in each file, with their variances.

    Parameters
    ----------
    data : DataFrame, shape (n, ...)
    files : ndarray, shape (n,) or (m, n)
        Incomes of one file or several.
    """
    logs = np.log(files + SHIFT)
    return earner(data, files), coefficient(predictors(data), DEGREE, logs)


def bootstraps(files, random_seed, n_resamples=400):
    """Bootstrap intervals of the mean, median and 90% quantile, one for each file."""
    return [
        pp.bootstrap_interval(
            file, three, n_resamples=n_resamples, random_seed=random_seed
        )
        for file in files
    ]


def combined(estimates, variances):
    """Estimate and ends by the combining rule, or of a single file by itself."""
    if len(estimates) > 1:
        rule = pp.combine_partially_synthetic(estimates, variances)
        return rule.estimate, rule.low, rule.high
    return estimates[0] + np.array([0, -1.96, 1.96]) * np.sqrt(variances[0])


def answers(data, files, each):
    """Estimates and ends of the five analyses of a release, shape (3, 5).

    Parameters
    ----------
    data : DataFrame, shape (n, ...)
    files : ndarray, shape (m, n)
    each : list of Interval
        Bootstrap intervals of the files, whose ends are averaged.
    """
    rules = [combined(q, u) for q, u in regressions(data, files)]
    return np.column_stack([np.mean(each, axis=0), *rules])


# Means of many resampled files


def bootstrap_means(files, n_resamples, rng):
    """Means of resampled files, the same resampling for all; adds an axis at the end."""
    n = files.shape[-1]
    return files @ (rng.multinomial(n, np.full(n, 1 / n), n_resamples).T / n)
