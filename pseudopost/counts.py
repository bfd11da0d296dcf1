"""Models for counts."""

from typing import override

import numpy as np
import pymc as pm

from pseudopost._checks import as_number, as_vector, labels_of
from pseudopost.synthesizers import Synthesizer


class NegativeBinomialSynthesizer(Synthesizer):
    r"""Negative binomial model for counts, with variance :math:`\mu + \mu^2 / \phi`.

    Priors: :math:`\log \mu \sim \mathrm{Normal}(0, s)` with :math:`s \sim
    \text{half-}t(3, 0, 1)`, and :math:`1 / \phi \sim \text{half-Cauchy}(0, 5)`.

    Parameters
    ----------
    y : array-like of int, shape (n,)
        Confidential counts, from 0 to :math:`2^{53}`.

    Raises
    ------
    ValueError
        If a count is missing, negative, fractional or too large, or there are none.

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
    ['s', 'log_mu', 'inverse_phi']
    """

    def __init__(self, y):
        self.y = as_vector(y, "y", low=0, whole=True).astype(int)
        self.index = labels_of(y)

    @override
    def build_model(self):
        values, position = np.unique(self.y, return_inverse=True)
        with pm.Model() as model:
            # PyMC would narrow whole numbers to 32 bits; floats hold them exactly.
            values = pm.Data("values", values.astype(float))
            position = pm.Data("position", position)
            s = pm.HalfStudentT("s", nu=3, sigma=1)
            log_mu = pm.Normal("log_mu", 0, s)
            inverse_phi = pm.HalfCauchy("inverse_phi", 5)
            mu = pm.Deterministic("mu", pm.math.exp(log_mu))
            phi = pm.Deterministic("phi", 1 / inverse_phi)
            # Equal counts share one evaluation of the density.
            logp = pm.logp(pm.NegativeBinomial.dist(mu=mu, alpha=phi), values)[position]
            self.add_likelihood(logp)
        return model

    @override
    def draw_dataset(self, parameters, rng):
        mu, phi = parameters["mu"], parameters["phi"]
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
