"""Lipschitz bounds, epsilon, and the record weights that lower them (P3)."""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from pseudopost._checks import as_array, as_count, as_number, as_vector
from pseudopost.risk import identification_risk
from pseudopost.synthesizers import ConvergenceWarning
from pseudopost.weights import marginal_weights


def lipschitz_bounds(log_likelihood, weights=None):
    r"""Largest absolute weighted log-likelihood of each record over the draws.

    The supremum over all parameter values is replaced by the maximum over S draws, so
    the result grows with S: state S wherever a bound is stated.

    Parameters
    ----------
    log_likelihood : array-like, shape (S, n)
        Unweighted, pointwise. Draws of the weighted fit for the bounds of that fit.
    weights : array-like, shape (n,), optional
        Record weights in [0, 1]; by default all 1.

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
    if getattr(log_likelihood, "attrs", {}).get("not_converged"):
        warnings.warn(
            log_likelihood.attrs["not_converged"], ConvergenceWarning, stacklevel=2
        )
    size = as_array(log_likelihood, "log_likelihood")
    if size.ndim != 2 or 0 in size.shape:
        raise ValueError(f"log_likelihood must have shape (S, n); got {size.shape}")
    bounds = np.maximum(size.max(axis=0), -size.min(axis=0))
    bounds[np.isnan(bounds)] = np.inf
    if weights is None:
        return bounds
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
        In nats, 0 or more.

    Raises
    ------
    ValueError
        If a bound is missing or negative.

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
    return 2 * float(as_vector(bounds, "bounds", low=0, finite=False).max())


def lipschitz_weights(log_likelihood, scale=1.0, shift=0.0):
    r"""Weights that fall linearly from the least to the most risky record (LW).

    Parameters
    ----------
    log_likelihood : array-like, shape (S, n)
        From the unweighted fit.
    scale, shift : float
        c, 0 or more, and g of the paper.

    Returns
    -------
    ndarray, shape (n,)
        :math:`c (1 - \tilde f_i) + g`, clipped to [0, 1], with :math:`\tilde f_i` the
        bound rescaled to [0, 1]. If all bounds are equal, no record stands out and
        every :math:`\tilde f_i` is 0.

    Raises
    ------
    ValueError
        If `log_likelihood` is not S draws of n records, or c is negative.

    Warns
    -----
    UserWarning
        If a record has a non-finite log-likelihood: its weight is 0, whatever c and g.
    ConvergenceWarning
        If the draws come from a fit that has not converged.

    References
    ----------
    P3, Algorithm 2, steps 1-4; the clipping is not printed there.
    Book: :ref:`lipschitz-weights`.

    Examples
    --------
    The bounds of the three records are 2, 4 and 2.5:

    >>> import pseudopost as pp
    >>> log_likelihood = [[-1, -4, -2.5], [-2, -3, -2]]
    >>> pp.lipschitz_weights(log_likelihood)
    array([1.  , 0.  , 0.75])
    >>> pp.lipschitz_weights(log_likelihood, scale=0.5, shift=0.25)
    array([0.75 , 0.25 , 0.625])
    """
    bounds = lipschitz_bounds(log_likelihood)
    finite = np.isfinite(bounds)
    if not finite.all():
        records = np.flatnonzero(~finite)
        warnings.warn(
            f"log_likelihood is not finite for {len(records)} records, "
            f"first {records[0]}; their weights are 0",
            stacklevel=2,
        )
    if not finite.any():
        return np.zeros(len(bounds))
    low, high = bounds[finite].min(), bounds[finite].max()
    risk = (np.where(finite, bounds, high) - low) / ((high - low) or 1.0)
    return np.where(finite, marginal_weights(risk, scale, shift), 0.0)


def count_weights(y, radius=0.2, scale=1.0, shift=0.0):
    r"""Weights that fall with the share of the file outside a record's ball (CW).

    Parameters
    ----------
    y : array-like, shape (n,)
        Confidential values on the released scale.
    radius : float
        r, above 0: the ball of record i is the closed interval from :math:`y_i - r
        |y_i|` to :math:`y_i + r |y_i|`.
    scale, shift : float
        c and g of the paper.

    Returns
    -------
    ndarray, shape (n,)
        :math:`c (1 - IR_i) + g`, clipped to [0, 1].

    Raises
    ------
    ValueError
        If a value is missing or not finite, or the radius is not positive.

    References
    ----------
    P3, Algorithm 3, steps 1-4; the clipping is not printed there.
    Book: :ref:`count-weights`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> pp.count_weights([10, 11, 50]).round(2)
    array([0.67, 0.67, 0.33])
    """
    return marginal_weights(identification_risk(y, y, radius, alone=0), scale, shift)


def reweight(weights, bounds, k=0.95):
    r"""Raise the weights of records whose bound is below k times the largest one.

    Parameters
    ----------
    weights : array-like, shape (n,)
        Record weights in [0, 1].
    bounds : array-like, shape (n,)
        Bounds of the fit under `weights`.
    k : float
        In (0, 1]; the record with the largest bound gets k times its weight.

    Returns
    -------
    ndarray, shape (n,)
        :math:`\min(1, k \alpha_i \Delta_\alpha / \Delta_{\alpha, x_i})`; a weight of 0
        stays 0.

    Raises
    ------
    ValueError
        If a weight is outside [0, 1], a bound negative or infinite, or k outside (0,
        1].

    References
    ----------
    P3, Eq 2.1; the minimum with 1 is not printed there.
    Book: :ref:`re-weighting`.

    Examples
    --------
    The second record has the largest bound; the others' weights may rise:

    >>> import pseudopost as pp
    >>> pp.reweight([0.4, 0.2, 0.5], bounds=[2, 4, 3]).round(2)
    array([0.76, 0.19, 0.63])
    """
    weights = as_vector(weights, "weights", low=0, high=1)
    bounds = as_vector(bounds, "bounds", length=len(weights), low=0)
    k = as_number(k, "k", low=0, high=1, open_low=True)
    raised = k * weights * bounds.max()
    # A positive weight over a bound of 0 has no limit to respect, and becomes 1.
    cap = np.divide(raised, bounds, out=np.ones_like(bounds), where=bounds > 0)
    return np.where(weights > 0, np.minimum(1, cap), 0.0)


class Reweighting(NamedTuple):
    """What :func:`calibrate_reweighting` returns.

    Attributes
    ----------
    weights : ndarray, shape (n,)
        Re-weighted weights of the best step.
    fit : xarray.DataTree
        The fit under them.
    k : float
        Their constant.
    path : pandas.DataFrame
        One row per step: ``k``, ``delta``, ``difference`` from the target,
        ``mean_weight``.

    References
    ----------
    Book: :ref:`re-weighting`.
    """

    weights: np.ndarray
    fit: xr.DataTree
    k: float
    path: pd.DataFrame


def calibrate_reweighting(
    synthesizer, fit, weights, tolerance=0.1, k=0.95, max_steps=10
):
    """Find the constant k for which re-weighting keeps the overall Lipschitz bound.

    Every step refits with the seed and settings of `fit` (common random numbers),
    because the bound is a maximum over draws and therefore noisy. k is searched by
    bisection between 0 and 1: lower if the bound is above the target, else higher.

    Parameters
    ----------
    synthesizer : Synthesizer
    fit : xarray.DataTree
        The fit under `weights`.
    weights : array-like, shape (n,)
        Record weights in [0, 1] of any scheme.
    tolerance : float
        tau, above 0, on the scale of the bound.
    k : float
        First constant, in (0, 1].
    max_steps : int
        Largest number of refits.

    Returns
    -------
    Reweighting
        The step with the smallest difference, and the whole path.

    Raises
    ------
    ValueError
        If `fit` was made under other weights, or a number is out of range.

    Warns
    -----
    UserWarning
        If no step came within the tolerance.

    References
    ----------
    P3, Algorithm 1.
    Book: :ref:`re-weighting`.

    Examples
    --------
    A wide tolerance, to stop after one step:

    >>> import pseudopost as pp
    >>> synthesizer, weights = pp.PoissonSynthesizer([2, 4, 9]), [0.9, 0.5, 0.1]
    >>> fit = synthesizer.fit(weights)
    >>> final = pp.calibrate_reweighting(synthesizer, fit, weights, 10)
    >>> final.k, len(final.path)
    (0.95, 1)
    >>> final.weights.shape
    (3,)
    """
    weights = as_vector(weights, "weights", low=0, high=1)
    tolerance = as_number(tolerance, "tolerance", low=0, open_low=True)
    max_steps = as_count(max_steps, "max_steps")
    if not np.array_equal(weights, fit["constant_data"]["weights"]):
        raise ValueError("weights must be those that fit was made under; they differ")
    settings = {
        name: fit.attrs[name] for name in ("draws", "tune", "chains", "random_seed")
    }
    bounds = lipschitz_bounds(synthesizer.log_likelihood(fit), weights)
    target, low, high = bounds.max(), 0.0, 1.0
    path, best = [], None
    for _ in range(max_steps):
        candidate = reweight(weights, bounds, k)
        refit = synthesizer.fit(candidate, progressbar=False, **settings)
        delta = lipschitz_bounds(synthesizer.log_likelihood(refit), candidate).max()
        path.append((k, delta, delta - target, candidate.mean()))
        if best is None or abs(delta - target) < abs(best[-1] - target):
            best = candidate, refit, k, delta
        low, high = (low, k) if delta > target else (k, high)
        if abs(delta - target) < tolerance or low == high:
            break
        k = (low + high) / 2
    if not abs(best[-1] - target) < tolerance:
        warnings.warn(
            f"no step came within tolerance {tolerance:g} of the bound {target:g}; "
            f"the nearest of {len(path)} is {best[-1]:g}",
            stacklevel=2,
        )
    path = pd.DataFrame(path, columns=["k", "delta", "difference", "mean_weight"])
    return Reweighting(*best[:3], path.rename_axis("step"))
