"""What the tests of the mixture share."""

import numpy as np
from scipy import stats
from scipy.special import logsumexp


def numerical_jacobian(function, x, step=1e-3):
    """Central differences of sixth order, shape (outputs, inputs)."""
    x = np.asarray(x, dtype=float)
    columns = []
    for direction in np.eye(len(x)) * step:
        differences = [
            np.ravel(function(x + j * direction) - function(x - j * direction))
            for j in (1, 2, 3)
        ]
        columns.append(np.array([45, -9, 1]) @ differences / (60 * step))
    return np.column_stack(columns)


def by_scipy(y, mean, log_pi, log_sigma):
    terms = log_pi[:, None] + stats.norm.logpdf(y, mean, np.exp(log_sigma)[:, None])
    logp = logsumexp(terms, axis=0)
    return logp, np.exp(terms - logp)


def two_groups(n=120):
    """log y and X of two regressions far apart, and which record is of the second."""
    rng = np.random.default_rng(8)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    second = np.arange(n) % 3 == 0
    beta = np.array([[1, 0.5, -0.3], [5, -0.2, 0.2]])
    log_y = (X * beta[second.astype(int)]).sum(axis=1) + 0.3 * rng.normal(size=n)
    return log_y, X, second


def small_file(R, n=30):
    rng = np.random.default_rng(5)
    return np.exp(rng.normal(1, 1.5, size=n)), rng.normal(size=(n, R - 1))
