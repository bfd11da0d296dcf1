"""Draws of a small mixture of three regressions, which the tests of its chapters share."""

import numpy as np
import xarray as xr
from scipy import stats

PI = np.array([0.6, 0.3, 0.1])
BETA = np.array([[1.0, 0.5], [2.0, -1.0], [0.0, 0.3]])
SIGMA = np.array([0.5, 1.0, 2.0])
X = np.column_stack([np.ones(40), np.random.default_rng(5).normal(size=40)])


def draws():
    """Two draws of one chain: the second has the first two components exchanged."""
    order = [1, 0, 2]
    return xr.Dataset(
        {
            "pi": (("draw", "component"), [PI, PI[order]]),
            "beta": (("draw", "component", "predictor"), [BETA, BETA[order]]),
            "sigma": (("draw", "component"), [SIGMA, SIGMA[order]]),
        }
    )


def mixture(y, x):
    """Density of a record."""
    return stats.norm.pdf(y, BETA @ x, SIGMA) @ PI
