"""The prior of the number of occupied components: formula, limit and draws."""

import numpy as np
import pandas as pd
from scipy.special import digamma, gammaln, logsumexp

FORMULA, LIMIT = "mean, formula", "distance from the limit"


def log_dirichlet(gamma, n_components, rng):
    """Log of Dirichlet(gamma / K, ...) shares, one row for each gamma.

    Shares this small underflow, so the gamma(a) variables are made on the log scale: as
    gamma(a + 1) variables times uniform ones to the power 1 / a.
    """
    a, shape = gamma[:, None] / n_components, (len(gamma), n_components)
    log_g = np.log(rng.gamma(a + 1, size=shape)) + np.log(rng.random(shape)) / a
    return log_g - logsumexp(log_g, axis=1, keepdims=True)


def probabilities(occupied):
    """Relative frequencies of 0, 1, 2, ... occupied components."""
    return np.bincount(occupied, minlength=80)[:80] / len(occupied)


def expected_occupied(gamma, n_components, records):
    """Mean number of components with records under the prior, given gamma."""
    if n_components == np.inf:
        return gamma * (digamma(gamma + records) - digamma(gamma))
    b = gamma - gamma / n_components
    log_empty = gammaln(gamma) + gammaln(b + records)
    log_empty -= gammaln(b) + gammaln(gamma + records)
    return -n_components * np.expm1(log_empty)


def mean_occupied(numbers_of_components, records):
    """Mean of `expected_occupied` over gamma, for each number of components."""
    nodes, quadrature = np.polynomial.laguerre.laggauss(80)  # over Gamma(1, 1)
    return {
        k: quadrature @ expected_occupied(nodes, k, records)
        for k in numbers_of_components
    }


def simulated_prior(n, rng):
    """Draws of gamma, and of the number of components that n records occupy, by K."""
    gamma = rng.gamma(1, size=20_000)
    occupied = {}
    for k in (10, 20, 50, 200):
        shares = np.exp(log_dirichlet(gamma, k, rng))
        records = rng.multinomial(n, shares / shares.sum(axis=1, keepdims=True))
        occupied[k] = (records > 0).sum(axis=1)
    # A Dirichlet process: record i + 1 opens a new component with this probability.
    opened = (rng.random(len(gamma)) < gamma / (gamma + i) for i in range(n))
    occupied[np.inf] = sum(opened)
    return gamma, occupied


def occupied_table(occupied, formula):
    """Simulated numbers of occupied components, with their means by the formula."""
    limit = probabilities(occupied[np.inf])
    return pd.DataFrame(
        {
            "K = infinity" if k == np.inf else f"K = {k}": {
                FORMULA: formula[k],
                "mean, simulated": simulated.mean(),
                "5% quantile": np.quantile(simulated, 0.05),
                "95% quantile": np.quantile(simulated, 0.95),
                LIMIT: 0.5 * np.abs(probabilities(simulated) - limit).sum(),
            }
            for k, simulated in occupied.items()
        }
    ).T
