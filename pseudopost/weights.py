"""Record weights: from risk, from log-likelihood bounds, and from other weights."""

import warnings

import numpy as np
from scipy import special

from pseudopost._checks import aligned, as_number, as_vector, labels_of
from pseudopost.privacy import lipschitz_bounds
from pseudopost.risk import identification_risk, joint_risk


def marginal_weights(risk, scale=1.0, offset=0.0):
    r"""Weights that fall linearly with risk.

    Parameters
    ----------
    risk : array-like, shape (n,)
        Risks in [0, 1].
    scale, offset : float
        c, 0 or more, and g of the papers.

    Returns
    -------
    ndarray, shape (n,)
        :math:`c (1 - IR_i) + g`, clipped to [0, 1].

    Raises
    ------
    ValueError
        If a risk is missing or outside [0, 1], or c is negative.

    References
    ----------
    P2, Eq 9, and Eq 2 of its supplement, which print only the upper limit; P3,
    Algorithms 2 and 3, step 4, which print none.
    Book: :ref:`whack-a-mole`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> pp.marginal_weights([0, 0.5, 0.9])
    array([1. , 0.5, 0.1])
    >>> pp.marginal_weights([0, 0.5, 0.9], scale=1.5, offset=-0.25)
    array([1. , 0.5, 0. ])
    """
    return adjust_weights(1 - as_vector(risk, "risk", low=0, high=1), scale, offset)


def pairwise_weights(
    y,
    synthetic=None,
    radius=0.2,
    patterns=None,
    order=2,
    ball="absolute",
    alone=None,
):
    r"""Weights that fall with the risk a record shares with the others of its pattern.

    Parameters
    ----------
    y, synthetic
        As in :func:`identification_risk`; by default the confidential values are taken
        as released, as in P2's application.
    radius, patterns, ball
        As in :func:`identification_risk`, of one column or several.
    order : int
        2 for pairs, as in P2; 1 gives the marginal weights, 3 joins triples, and so on.
    alone : float, optional
        Risk, in [0, 1], of a record whose pattern has fewer than `order` records (for
        order 1, of a record alone) and that is close to its own value: its weight is 1
        less that. By default 0, with a warning: from order 2 on, P2's definition
        divides by zero there. In a pattern of exactly `order` records, 2 or more, the
        weights are 1 by that definition, however far apart the values are.

    Returns
    -------
    ndarray, shape (n,)
        :math:`\tilde\alpha_i = 1 - \sum_{j \ne i} IR_{i,j} / (|M_i| - 1)`, averaged
        over data sets, in [0, 1].

    Raises
    ------
    ValueError
        As in :func:`identification_risk`, or if `order` is below 1.

    Warns
    -----
    UserWarning
        If patterns are too small and `alone` is not given.

    References
    ----------
    P2, Eqs 11-14. :math:`T_{i,j}`, not defined there, is :math:`T_i T_j`.
    Book: :ref:`pairwise-weights`.

    Examples
    --------
    No record lies outside two balls of which one is the third record's own: its weight
    is 1, although alone it is the one of highest risk.

    >>> import pseudopost as pp
    >>> pp.pairwise_weights([10, 11, 50]).round(2)
    array([0.83, 0.83, 1.  ])
    >>> pp.pairwise_weights([10, 11, 50], order=1).round(2)
    array([0.67, 0.67, 0.33])
    """
    synthetic = y if synthetic is None else synthetic
    return 1 - joint_risk(y, synthetic, radius, patterns, order, ball, alone)


def sigmoid_weights(risk, c_min=1.0, c_max=1.5, slope=0.8):
    r"""Weights that fall faster where risk is higher.

    Parameters
    ----------
    risk : array-like, shape (n,)
        Risks in [0, 1].
    c_min, c_max : float
        Limits of the factor on the risk, 0 <= c_min <= c_max.
    slope : float
        Steepness of the rise from `c_min` to `c_max`, above 0.

    Returns
    -------
    ndarray, shape (n,)
        :math:`\max(0, 1 - c_i IR_i)`, at most 1, where :math:`c_i = c_{\min} +
        (c_{\max} - c_{\min}) / (1 + e^{-a (20 IR_i - 10)})` with the slope a.

    Raises
    ------
    ValueError
        If a risk is missing or outside [0, 1], or a limit or the slope is out of range.

    References
    ----------
    P1, Eq 9 and section 5; Eq 9 prints a minimum where the maximum is meant.
    Book: :ref:`risk-weights`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> pp.sigmoid_weights([0, 0.5, 0.9]).round(3)
    array([1.   , 0.375, 0.   ])
    >>> pp.sigmoid_weights([0, 0.5, 0.9], c_max=1).round(3)
    array([1. , 0.5, 0.1])
    """
    risk = as_vector(risk, "risk", low=0, high=1)
    c_min = as_number(c_min, "c_min", low=0)
    c_max = as_number(c_max, "c_max", low=c_min)
    slope = as_number(slope, "slope", low=0, open_low=True)
    with np.errstate(over="ignore"):
        share = special.expit(slope * (20 * risk - 10))
    factor = c_min + (c_max - c_min) * share
    return np.clip(1 - factor * risk, 0, 1)


def adjust_weights(weights, scale=1.0, offset=0.0):
    r"""Stretch and move weights to trade risk against utility.

    Parameters
    ----------
    weights : array-like, shape (n,)
        Record weights in [0, 1].
    scale, offset : float
        c, 0 or more, and g of the papers.

    Returns
    -------
    ndarray, shape (n,)
        :math:`c \alpha_i + g`, clipped to [0, 1].

    Raises
    ------
    ValueError
        If a weight is missing or outside [0, 1], or c is negative.

    References
    ----------
    P2, Eqs 16-17. The clipping at 0 is not printed there.
    Book: :ref:`tuning-weights`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> pp.adjust_weights([0.2, 0.5, 1], scale=2)
    array([0.4, 1. , 1. ])
    >>> pp.adjust_weights([0.2, 0.5, 1], offset=-0.3)
    array([0. , 0.2, 0.7])
    """
    weights = as_vector(weights, "weights", low=0, high=1)
    scale = as_number(scale, "scale", low=0)
    offset = as_number(offset, "offset")
    with np.errstate(over="ignore"):
        return np.clip(scale * weights + offset, 0, 1)


def lipschitz_weights(log_likelihood, scale=1.0, offset=0.0):
    r"""Weights that fall linearly from the least to the most risky record (LW).

    Parameters
    ----------
    log_likelihood : array-like, shape (S, n)
        From the unweighted fit.
    scale, offset : float
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
    >>> pp.lipschitz_weights(log_likelihood, scale=0.5, offset=0.25)
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
    return np.where(finite, marginal_weights(risk, scale, offset), 0.0)


def count_weights(y, radius=0.2, scale=1.0, offset=0.0):
    r"""Weights that fall with the share of the file outside a record's ball (CW).

    Parameters
    ----------
    y : array-like, shape (n,)
        Confidential values on the released scale.
    radius : float
        r, above 0: the ball of record i is the closed interval from :math:`y_i - r
        |y_i|` to :math:`y_i + r |y_i|`.
    scale, offset : float
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
    return marginal_weights(identification_risk(y, y, radius, alone=0), scale, offset)


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
    bounds = aligned(bounds, "bounds", labels_of(weights), "weights")
    weights = as_vector(weights, "weights", low=0, high=1)
    bounds = as_vector(bounds, "bounds", length=len(weights), low=0)
    k = as_number(k, "k", low=0, high=1, open_low=True)
    raised = k * weights * bounds.max()
    # A positive weight over a bound of 0 has no limit to respect, and becomes 1.
    with np.errstate(over="ignore"):
        cap = np.divide(raised, bounds, out=np.ones_like(bounds), where=bounds > 0)
    return np.where(weights > 0, np.minimum(1, cap), 0.0)
