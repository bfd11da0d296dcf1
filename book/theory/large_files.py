"""Large files of a normal mean: its pseudo posterior, weights of A2, and the rate.

Shared by the chapters on consistency and contraction: the normal example, weights that
meet condition A2, and means of simulated values with their errors.
"""

import numpy as np
from scipy import stats

POINTS = np.linspace(-12, 12, 4801)
NORMAL = stats.norm.pdf(POINTS) / stats.norm.pdf(POINTS).sum()


def mean_and_error(values):
    """Mean of simulated values, and its standard error."""
    return np.mean(values), stats.sem(values)


def standard_errors_off(result, value):
    """How far a mean is from a value, in standard errors of the mean."""
    mean, error = result
    return abs(mean - value) / error


def normal_posterior(data, alpha):
    """Mean and standard deviation of the pseudo posterior of the normal mean.

    Parameters
    ----------
    data : ndarray, shape (n,) or (files, n)
    alpha : ndarray, shape (n,)
    """
    precision = alpha.sum() + 0.01
    return data @ alpha / precision, precision**-0.5


def xi(n):
    """The rate, the root of log(n) / n."""
    return np.sqrt(np.log(n) / n)


def a2(values):
    """Weights that meet A2: ceil(sqrt n) largest records get 0.5, the rest nearly 1."""
    n, n_A = len(values), int(np.ceil(np.sqrt(len(values))))
    weights = np.full(n, 1 - xi(n) / np.sqrt(n - n_A))
    weights[np.argsort(values, kind="stable")[n - n_A :]] = 0.5
    return weights
