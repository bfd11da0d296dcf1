"""Draws of one pseudo posterior made into draws of another that is near."""

import arviz  # noqa: F401, registers azstats
import numpy as np
import xarray as xr

# With fewer the tail of the ratios has fewer than five.
MIN_DRAWS = 25


def resampled(log_ratio, random_seed):
    """Choose draws in proportion to their Pareto smoothed importance ratios.

    Each chain is resampled for itself and in its order, systematically, so what is
    known of chains still holds: those that disagree go on to disagree.

    Parameters
    ----------
    log_ratio : ndarray, shape (chains, draws)
        Log density wanted minus log density drawn from, bar a constant.
    random_seed : int

    Returns
    -------
    chosen : ndarray of int, shape (chains, draws)
        Places of draws in their chains; a draw may be chosen more than once.
    k_hat : float
        Shape of the tail of the ratios; minus infinity if they are all the same.
    limit : float
        Above this `k_hat` the ratios of so few draws mean nothing.

    References
    ----------
    Book: :ref:`near-weights`.
    """
    chains, draws = log_ratio.shape
    limit = min(1 - 1 / np.log10(log_ratio.size), 0.7)
    if np.ptp(log_ratio) == 0:
        log_weights, k_hat = np.zeros_like(log_ratio), -np.inf
    else:
        # ArviZ takes minus the log of a ratio.
        smoothed, k_hat = xr.DataArray(-log_ratio).azstats.psislw(
            dim=["dim_0", "dim_1"]
        )
        log_weights = smoothed.to_numpy()
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    upto = np.cumsum(weights, axis=1)
    rng = np.random.default_rng(random_seed)
    places = (np.arange(draws) + rng.random((chains, 1))) / draws
    chosen = [np.searchsorted(u / u[-1], p) for u, p in zip(upto, places, strict=True)]
    return np.array(chosen), float(k_hat), limit
