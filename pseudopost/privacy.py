"""Lipschitz bounds and epsilon (P3)."""

import warnings

import numpy as np
import pandas as pd
import xarray as xr

from pseudopost._checks import aligned, as_array, as_vector, check_finite, labels_of
from pseudopost.convergence import ConvergenceWarning


def as_rows(log_likelihood):
    """Return log-likelihoods with a row for each draw, and the records' labels."""
    if getattr(log_likelihood, "attrs", {}).get("not_converged"):
        warnings.warn(
            log_likelihood.attrs["not_converged"], ConvergenceWarning, stacklevel=3
        )
    if isinstance(log_likelihood, pd.DataFrame):
        labels = log_likelihood.columns
    else:
        labels = labels_of(log_likelihood)
    if isinstance(log_likelihood, xr.DataArray) and "record" in log_likelihood.dims:
        by_record = log_likelihood.transpose(..., "record").to_numpy()
        log_likelihood = by_record.reshape(-1, by_record.shape[-1])
    rows = as_array(log_likelihood, "log_likelihood")
    if rows.ndim != 2 or 0 in rows.shape:
        raise ValueError(f"log_likelihood must have shape (S, n); got {rows.shape}")
    return rows, labels


def lipschitz_bounds(log_likelihood, weights=None):
    r"""Largest absolute weighted log-likelihood of each record over the draws.

    The supremum over all parameter values is replaced by the maximum over S draws, so
    the result grows with S: state S wherever a bound is stated.

    Parameters
    ----------
    log_likelihood : array-like, shape (S, n), or xarray.DataArray
        Unweighted, pointwise; a data array has records along ``record`` and draws along
        its other dims. Draws of the weighted fit for the bounds of that fit.
    weights : array-like, shape (n,), optional
        Record weights in [0, 1]; by default all 1, as with what
        :meth:`Synthesizer.record_terms` returns.

    Returns
    -------
    ndarray, shape (n,)
        :math:`\max_s \alpha_i |\log p(y_i \mid \theta_s)|`, 0 or more; infinite for a
        record whose log-likelihood is not finite under some draw, unless its weight is
        0.

    Raises
    ------
    ValueError
        If `log_likelihood` is not S draws of n records, or a weight is outside [0, 1].

    Warns
    -----
    ConvergenceWarning
        If the draws come from a fit that has not converged.

    References
    ----------
    P3, Algorithm 2, steps 6-7.
    Book: :ref:`lipschitz-weights`.

    Examples
    --------
    Two draws of two records:

    >>> import pseudopost as pp
    >>> log_likelihood = [[-1, -4], [-2, -3]]
    >>> pp.lipschitz_bounds(log_likelihood)
    array([2., 4.])
    >>> pp.lipschitz_bounds(log_likelihood, weights=[1, 0.25])
    array([2., 1.])
    """
    log_likelihood, labels = as_rows(log_likelihood)
    bounds = np.maximum(log_likelihood.max(axis=0), -log_likelihood.min(axis=0))
    bounds[np.isnan(bounds)] = np.inf
    if weights is None:
        return bounds
    weights = aligned(weights, "weights", labels, "log_likelihood")
    weights = as_vector(weights, "weights", length=len(bounds), low=0, high=1)
    return np.multiply(weights, bounds, out=np.zeros_like(bounds), where=weights > 0)


def epsilon(bounds):
    r"""P3's epsilon :math:`\epsilon_x = 2 \max_i \Delta_{\alpha, x_i}`, of one file.

    Parameters
    ----------
    bounds : array-like, shape (n,)
        From :func:`lipschitz_bounds`, of the fit whose draws are used for release.

    Returns
    -------
    float
        In nats, 0 or more; infinite if a bound is.

    Raises
    ------
    ValueError
        If a bound is missing or negative, or finite and too large to be doubled.

    Notes
    -----
    The number is for one draw of the parameters, for records taken out of this file,
    and for weights that are kept. It is no guarantee of differential privacy.

    References
    ----------
    P3, section 1.3.
    Book: :ref:`lipschitz-weights`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> pp.epsilon([2.0, 4.0])
    8.0
    """
    largest = float(as_vector(bounds, "bounds", low=0, finite=False).max())
    if np.isfinite(largest):
        check_finite(2 * largest, "bounds", "twice the largest")
    return 2 * largest
