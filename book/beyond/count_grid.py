"""Exact pseudo posteriors of the negative binomial model of counts, on a grid."""

import numpy as np
from scipy import stats
from scipy.special import logsumexp

import pseudopost as pp
from pseudopost.tracing import expected_largest, largest_of_falling


class Grid:
    """Pseudo posteriors of the package's negative binomial model, exact but for a grid.

    Parameters
    ----------
    values : ndarray of int, shape (V,)
        Distinct counts. A file is how often each of them occurs.
    log_mu, inverse_phi : ndarray
        Parameter values, whose pairs are the G points.
    size : int
        Draws over which largest values are expected.

    Attributes
    ----------
    mu, phi, log_prior : ndarray, shape (G,)
    log_likelihood, absolute : ndarray, shape (G, V)
    ceiling : float
        In nats, for the weights of this name; to be set.
    """

    ceiling = None

    def __init__(self, values, log_mu, inverse_phi, size=1000):
        self.values, self.size = values, size
        self.shape = len(log_mu), len(inverse_phi)
        of_phi = stats.halfcauchy.logpdf(inverse_phi, scale=5)
        self.log_prior = np.add.outer(log_prior(log_mu), of_phi).ravel()
        log_mu, inverse_phi = np.meshgrid(log_mu, inverse_phi, indexing="ij")
        self.mu, self.phi = np.exp(log_mu).ravel(), 1 / inverse_phi.ravel()
        share = self.phi / (self.phi + self.mu)
        self.log_likelihood = stats.nbinom.logpmf(
            values, self.phi[:, None], share[:, None]
        )
        self.absolute = np.abs(self.log_likelihood)
        self._order = np.argsort(-self.absolute, axis=0)
        self._falling = np.take_along_axis(self.absolute, self._order, axis=0)

    def log_posterior(self, totals):
        """Log probability of each point under total weights of the values.

        Parameters
        ----------
        totals : ndarray, shape (..., V)

        Returns
        -------
        ndarray, shape (..., G)
        """
        found = self.log_prior + totals @ self.log_likelihood.T
        return found - logsumexp(found, axis=-1, keepdims=True)

    def edge(self, log_posterior):
        """Largest probability of an edge of the grid."""
        mass = np.exp(log_posterior).reshape(self.shape)
        return max(mass[[0, -1]].sum(axis=1).max(), mass[:, [0, -1]].sum(axis=0).max())

    def expected_bounds(self, totals):
        """Expected largest absolute log-likelihood of each value, itself unweighted.

        The draws are those under total weights of the values, shape (V,).
        """
        mass = np.exp(self.log_posterior(totals))
        return largest_of_falling(self._falling, mass[self._order], self.size)

    def expected_largest(self, values, log_posterior):
        """Expected largest absolute value of functions of the point, shape (..., G)."""
        return expected_largest(np.abs(values).T, np.exp(log_posterior).T, self.size)

    def weights(self, counts, kind, f=None):
        """Weight of each value in a file, 0 for those that it does not hold.

        Parameters
        ----------
        counts : ndarray, shape (V,)
            How often each value occurs.
        kind : str
            "Unweighted", "LW", "CW" or "Ceiling".
        f : ndarray, shape (V,), optional
            Expected bounds of the file without weights, where they are known.
        """
        there = counts > 0
        if kind == "Unweighted":
            return there * 1.0
        if kind == "CW":
            return there * within(self.values, counts)
        f = self.expected_bounds(counts) if f is None else f
        if kind == "Ceiling":
            return there * np.minimum(1, self.ceiling / f)
        found = np.zeros(len(f))
        found[there] = pp.lipschitz_weights(-f[None, there])
        return found


def within(values, counts, radius=0.2):
    """Share of a file's records within the radius of each value."""
    low, high = pp.ball_ends(values, radius)
    inside = (values >= low[:, None]) & (values <= high[:, None])
    return inside @ counts / counts.sum()


def log_prior(log_mu):
    """Log density of Normal(0, s) with s ~ half-t(3, 0, 1), by quadrature."""
    s = np.exp(np.linspace(-6, 12, 2001))
    parts = (
        stats.t.logpdf(s, 3) + np.log(2 * s) + stats.norm.logpdf(log_mu[:, None], 0, s)
    )
    return logsumexp(parts, axis=1) + np.log(np.diff(np.log(s[:2]))[0])
