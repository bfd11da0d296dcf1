"""Models for counts."""

from typing import override

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy import stats

from pseudopost._checks import aligned, as_number, as_vector, labels_of
from pseudopost.design import design_matrix
from pseudopost.synthesizers import Synthesizer

# Logarithms of s in the integral over it. Smaller s, with a prior probability of .002,
# would give the density a peak at 0 that is too narrow for NUTS.
LOG_S, STEP = np.arange(-6, 9, 0.2), 0.2


def log_prior_of_centre(value):
    """Log density of Normal(0, s) with s ~ half-t(3, 0, 1), the scale integrated out.

    Where the value is near 0, small s and the value would make a funnel for NUTS.
    Beyond 0.02 it is exact.
    """
    log_half_t = np.log(2 * STEP) + stats.t.logpdf(np.exp(LOG_S), 3) + LOG_S
    normal = -0.5 * (value[..., None] * np.exp(-LOG_S)) ** 2 - LOG_S
    return pt.logsumexp(log_half_t + normal, axis=-1) - 0.5 * np.log(2 * np.pi)


def draw_centre(rng, size):
    """Draw from what :func:`log_prior_of_centre` is the log density of."""
    return rng.normal(0, np.abs(rng.standard_t(3, size)))


class NegativeBinomialSynthesizer(Synthesizer):
    r"""Negative binomial model for counts, with variance :math:`\mu + \mu^2 / \phi`.

    Priors: :math:`\log \mu \sim \mathrm{Normal}(0, s)` with :math:`s \sim
    \text{half-}t(3, 0, 1)`, which is integrated out, and :math:`1 / \phi \sim
    \text{half-Cauchy}(0, 5)`.

    With predictors, :math:`\log \mu_i = b_0 + z_i' b`, where :math:`z_i` are the
    predictors with mean 0 and standard deviation 1. The prior of :math:`b_0` is that of
    :math:`\log \mu`, and :math:`b_r \sim \mathrm{Normal}(0, \tau)` with :math:`\tau
    \sim \text{half-}t(3, 0, 1)`.

    Parameters
    ----------
    y : array-like of int, shape (n,)
        Confidential counts, from 0 to :math:`2^{53}`.
    X : DataFrame or array-like, shape (n, columns), optional
        Predictors, released as they are, as of :func:`design_matrix`. The papers have
        none.

    Attributes
    ----------
    predictors : list of str
        With `X`: names of the coefficients ``beta`` of a fit, which are those of the
        predictors as given, the intercept first.
    baselines, redundant : dict
        With `X`: as of :class:`Design`.

    Raises
    ------
    ValueError
        If a count is missing, negative, fractional or too large, there are none, or `X`
        is refused by :func:`design_matrix`.

    Warns
    -----
    UserWarning
        As of :func:`design_matrix`, if predictors are left out.

    References
    ----------
    P3, section 2.1.
    Book: :ref:`lipschitz-weights`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> y = pp.datasets.negative_binomial_mixture(random_seed=1)
    >>> synthesizer = pp.NegativeBinomialSynthesizer(y)
    >>> [variable.name for variable in synthesizer.model.free_RVs]
    ['log_mu', 'inverse_phi']
    """

    X = None

    def __init__(self, y, X=None):
        self.y = as_vector(y, "y", low=0, whole=True).astype(int)
        self.index = labels_of(y)
        if X is None:
            return
        if self.index is None:
            self.index = labels_of(X)
        X = aligned(X, "X", self.index, "y")
        self.design = design_matrix(X, len(self.y))
        self.X, self.predictors, self.baselines, self.redundant, *_ = self.design

    @override
    def build_model(self):
        values, position = np.unique(self.y, return_inverse=True)
        with pm.Model() as model:
            # PyMC would narrow whole numbers to 32 bits; floats hold them exactly.
            values = pm.Data("values", values.astype(float))
            position = pm.Data("position", position)
            log_mu = pm.CustomDist(
                "log_mu", logp=log_prior_of_centre, random=draw_centre
            )
            inverse_phi = pm.HalfCauchy("inverse_phi", 5)
            phi = pm.Deterministic("phi", 1 / inverse_phi)
            if self.X is None:
                mu = pm.Deterministic("mu", pm.math.exp(log_mu))
                # Equal counts share one evaluation of the density.
                counts = pm.NegativeBinomial.dist(mu=mu, alpha=phi)
                self.add_likelihood(pm.logp(counts, values)[position])
            else:
                log_odds = self._log_mean(log_mu) - pt.log(phi)
                # So they do of what depends on the count and phi alone.
                own = pt.gammaln(values + phi) - pt.gammaln(values + 1)
                logp = own[position] - pt.gammaln(phi) + values[position] * log_odds
                logp -= (values[position] + phi) * pt.log1p(pt.exp(log_odds))
                self.add_likelihood(logp)
        return model

    def _log_mean(self, centre):
        """Write the predictors' part of the model; return log mu, shape (n,)."""
        pm.modelcontext(None).add_coord("predictor", self.predictors)
        mean, sd = self.X[:, 1:].mean(axis=0), self.X[:, 1:].std(axis=0)
        Z = (self.X[:, 1:] - mean) / sd
        # Along principal components coefficients hardly depend on each other, and their
        # prior is the same, as it is in all directions.
        directions = pm.Data("directions", np.linalg.eigh(Z.T @ Z)[1])
        mean, sd = pm.Data("mean", mean), pm.Data("sd", sd)
        tau = pm.HalfStudentT("tau", nu=3, sigma=1)
        principal = pm.Normal("principal", 0, tau, shape=len(self.predictors) - 1)
        slope = directions @ principal / sd
        beta = pt.concatenate([[centre - mean @ slope], slope])
        pm.Deterministic("beta", beta, dims="predictor")
        return centre + (pm.Data("X", self.X)[:, 1:] - mean) @ slope

    @override
    def draw_dataset(self, parameters, rng, X=None):
        phi = parameters["phi"]
        mu = parameters["mu"] if X is None else np.exp(X @ parameters["beta"])
        return rng.negative_binomial(phi, phi / (phi + mu), size=len(self.y))


class PoissonSynthesizer(Synthesizer):
    r"""Poisson model for counts, with mean :math:`\mu \sim` Gamma(shape, rate).

    Its pseudo posterior is known: Gamma(shape + :math:`\sum_i \alpha_i y_i`, rate +
    :math:`\sum_i \alpha_i`). It is here to be compared with, and sampled all the same.

    Parameters
    ----------
    y : array-like of int, shape (n,)
        Confidential counts, from 0 to :math:`2^{53}`.
    shape, rate : float
        Prior parameters, above 0; by default close to the Jeffreys prior.

    Raises
    ------
    ValueError
        If a count is missing, negative, fractional or too large, there are none, or a
        parameter is not positive.

    References
    ----------
    P3, appendix D.
    Book: :ref:`pseudo-posterior`.

    Examples
    --------
    >>> import numpy as np
    >>> import pseudopost as pp
    >>> y, weights = np.array([2, 4, 9]), np.array([1, 1, 0.5])
    >>> fit = pp.PoissonSynthesizer(y).fit(weights)
    >>> exact = (0.5 + weights @ y) / (0.001 + weights.sum())
    >>> bool(abs(fit["posterior"]["mu"].mean() - exact) < 0.3)
    True
    """

    def __init__(self, y, shape=0.5, rate=0.001):
        self.y = as_vector(y, "y", low=0, whole=True).astype(int)
        self.index = labels_of(y)
        self.shape = as_number(shape, "shape", low=0, open_low=True)
        self.rate = as_number(rate, "rate", low=0, open_low=True)

    @override
    def build_model(self):
        values, position = np.unique(self.y, return_inverse=True)
        with pm.Model() as model:
            # PyMC would narrow whole numbers to 32 bits; floats hold them exactly.
            values = pm.Data("values", values.astype(float))
            position = pm.Data("position", position)
            mu = pm.Gamma("mu", self.shape, self.rate)
            logp = pm.logp(pm.Poisson.dist(mu=mu), values)[position]
            self.add_likelihood(logp)
        return model

    @override
    def draw_dataset(self, parameters, rng):
        return rng.poisson(parameters["mu"], size=len(self.y))
