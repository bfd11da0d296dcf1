"""Simulated files on which the papers' results can be shown."""

import numpy as np

from pseudopost._checks import as_count, as_seed, as_vector


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
