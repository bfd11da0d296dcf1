"""Simulated files on which the papers' results can be shown."""

import numpy as np
import pandas as pd

from pseudopost._checks import as_count, as_number, as_seed, as_vector


def negative_binomial_mixture(
    n=1000, mu=(100, 100), phi=(5, 20), shares=(0.2, 0.8), random_seed=1
):
    """Skewed counts from a mixture of negative binomial distributions.

    Parameters
    ----------
    n : int
        Number of records.
    mu, phi : array-like, shape (K,)
        Means and dispersions of the components, above 0; their variances are mu + mu^2
        / phi.
    shares : array-like, shape (K,)
        Their probabilities, which must sum to 1.
    random_seed : int
        Non-negative seed.

    Returns
    -------
    ndarray of int, shape (n,)

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    P3, section 2.1.
    """
    shares = as_vector(shares, "shares", low=0, high=1)
    if not np.isclose(shares.sum(), 1, rtol=0, atol=1e-9):
        raise ValueError(f"shares must sum to 1; they sum to {shares.sum():g}")
    mu = as_vector(mu, "mu", length=len(shares), low=np.finfo(float).tiny)
    phi = as_vector(phi, "phi", length=len(shares), low=np.finfo(float).tiny)
    rng = np.random.default_rng(as_seed(random_seed))
    component = rng.choice(len(shares), size=as_count(n, "n"), p=shares)
    mu, phi = mu[component], phi[component]
    return rng.negative_binomial(phi, phi / (phi + mu))


def lognormal_mixture(
    n=1000,
    medians=(0.1, 1.0),
    shares=(0.4, 0.6),
    spread=0.35,
    noise=0.1,
    random_seed=1,
):
    """Skewed positive values from two lognormal regressions on 15 categorical columns.

    P1 gives neither its parameters nor its levels; the defaults are chosen so that what
    it shows of its file holds: modes near 0.1 and 1, a largest value of about 3, and a
    small residual, without which no record could have a risk of 0.93.

    Parameters
    ----------
    n : int
        Number of records.
    medians, shares : array-like, shape (2,)
        Median and probability of each component.
    spread : float
        Standard deviation of the log value that the columns explain, within a
        component.
    noise : float
        Standard deviation of the log value that they leave.
    random_seed : int
        Non-negative seed.

    Returns
    -------
    DataFrame, shape (n, 16)
        ``value``, and ``x1`` to ``x15``: five columns of two levels and ten of three.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    P1, section 5.
    """
    n = as_count(n, "n", low=2)
    medians = as_vector(medians, "medians", length=2, low=np.finfo(float).tiny)
    shares = as_vector(shares, "shares", length=2, low=0, high=1)
    if not np.isclose(shares.sum(), 1, rtol=0, atol=1e-9):
        raise ValueError(f"shares must sum to 1; they sum to {shares.sum():g}")
    spread = as_number(spread, "spread", low=0)
    noise = as_number(noise, "noise", low=0)
    rng = np.random.default_rng(as_seed(random_seed))
    levels = np.repeat([2, 3], [5, 10])
    columns = rng.integers(levels, size=(n, 15))
    effects = rng.normal(size=(2, 15, 3))
    mean = effects[:, np.arange(15), columns].sum(axis=-1)
    mean = (
        spread * (mean - mean.mean(axis=1, keepdims=True)) / mean.std(axis=1)[:, None]
    )
    component = rng.choice(2, size=n, p=shares)
    log_value = np.log(medians)[component] + mean[component, np.arange(n)]
    value = np.exp(log_value + rng.normal(0, noise, size=n))
    labels = pd.DataFrame(columns, columns=[f"x{j}" for j in range(1, 16)])
    return pd.concat(
        [pd.Series(value, name="value"), labels.astype("category")], axis=1
    )
