"""Pseudo posteriors that are known without sampling."""

from typing import NamedTuple

import numpy as np
from scipy import optimize, stats
from scipy.special import gammaln, logsumexp


class Moments(NamedTuple):
    mean: float
    sd: float


def poisson_gamma(y, weights, shape, rate):
    """Moments of mu, which has prior Gamma(shape, rate)."""
    posterior = stats.gamma(shape + weights @ y, scale=1 / (rate + weights.sum()))
    return Moments(posterior.mean(), posterior.std())


def normal_mean(y, weights, sigma, prior_mean, prior_sd):
    """Moments of the mean of a normal distribution with standard deviation sigma."""
    precision = prior_sd**-2 + weights.sum() * sigma**-2
    return Moments(
        (prior_mean * prior_sd**-2 + weights @ y * sigma**-2) / precision,
        precision**-0.5,
    )


def negative_binomial(y, weights, size=160, reach=9):
    """Moments of mu and phi under the priors of ``NegativeBinomialSynthesizer``.

    The trapezoidal rule in log mu and log phi, with `size` points along each, over the mode plus or
    minus `reach` times the standard deviations that the curvature there gives.
    """
    mode, sd = _mode(y, weights)
    axes = [
        np.linspace(m - reach * d, m + reach * d, size)
        for m, d in zip(mode, sd, strict=True)
    ]
    log_mu, log_phi = np.meshgrid(*axes, indexing="ij", sparse=True)
    log_density = _log_density(y, weights, log_mu, log_phi)
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    return {
        "mu": _moments(np.exp(log_mu), density),
        "phi": _moments(np.exp(log_phi), density),
    }


def log_prior_of_log_mu(log_mu):
    """Log density of Normal(0, s) with s ~ half-t(3, 0, 1): the trapezoidal rule in log s."""
    log_s = np.linspace(-12, 16, 1401)
    s = np.exp(log_s)
    terms = stats.norm.logpdf(log_mu[:, None], 0, s) + stats.t.logpdf(s, 3) + log_s
    return logsumexp(terms, axis=1) + np.log(2 * (log_s[1] - log_s[0]))


def _moments(values, density):
    mean = (values * density).sum()
    return Moments(mean, np.sqrt(((values - mean) ** 2 * density).sum()))


def _mode(y, weights):
    def loss(point):
        return -_log_density(y, weights, *np.reshape(point, (2, 1, 1))).item()

    found = optimize.minimize(
        loss,
        [np.log(np.average(y, weights=weights)), 1.0],
        method="Nelder-Mead",
        options={"xatol": 1e-6},
    )
    steps = np.diag(np.full(2, 1e-3))
    curvature = [
        (loss(found.x + step) - 2 * loss(found.x) + loss(found.x - step)) / 1e-6
        for step in steps
    ]
    return found.x, np.array(curvature) ** -0.5


def _log_density(y, weights, log_mu, log_phi):
    """Log density of (log mu, log phi) up to a constant, for log_mu (L, 1) and log_phi (1, P)."""
    mu, phi = np.exp(log_mu), np.exp(log_phi)
    rising = weights @ (gammaln(y[:, None] + phi[0]) - gammaln(phi[0]))
    log_likelihood = (
        rising
        + weights.sum() * phi * (log_phi - np.log(phi + mu))
        + (weights @ y) * (log_mu - np.log(phi + mu))
    )
    log_prior_phi = stats.halfcauchy.logpdf(1 / phi, scale=5) - log_phi
    return log_likelihood + log_prior_of_log_mu(log_mu[:, 0])[:, None] + log_prior_phi
