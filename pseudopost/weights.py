"""From risk to weight."""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special

from pseudopost._checks import as_count, as_number, as_vector
from pseudopost.risk import joint_risk


def marginal_weights(risk, scale=1.0, shift=0.0):
    r"""Weights that fall linearly with risk.

    Parameters
    ----------
    risk : array-like, shape (n,)
        Risks in [0, 1].
    scale, shift : float
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
    >>> pp.marginal_weights([0, 0.5, 0.9], scale=1.5, shift=-0.25)
    array([1. , 0.5, 0. ])
    """
    return adjust_weights(1 - as_vector(risk, "risk", low=0, high=1), scale, shift)


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
    y : array-like, shape (n,)
        Confidential values on the released scale.
    synthetic : array-like, shape (m, n) or (n,), optional
        Released values; by default the confidential ones, as in P2's application.
    radius, patterns, ball
        As in :func:`identification_risk`.
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
        :math:`\max(0, 1 - c_i IR_i)`, at most 1, where :math:`c_i = c_{min} + (c_{max}
        - c_{min}) / (1 + e^{-a (20 IR_i - 10)})` with the slope a.

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
    factor = c_min + (c_max - c_min) * special.expit(slope * (20 * risk - 10))
    return np.clip(1 - factor * risk, 0, 1)


def adjust_weights(weights, scale=1.0, shift=0.0):
    r"""Stretch and shift weights to trade risk against utility.

    Parameters
    ----------
    weights : array-like, shape (n,)
        Record weights in [0, 1].
    scale, shift : float
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
    >>> pp.adjust_weights([0.2, 0.5, 1], shift=-0.3)
    array([0. , 0.2, 0.7])
    """
    weights = as_vector(weights, "weights", low=0, high=1)
    scale = as_number(scale, "scale", low=0)
    return np.clip(scale * weights + as_number(shift, "shift"), 0, 1)


class ScalarMatch(NamedTuple):
    """What :func:`match_scalar_weight` returns.

    Attributes
    ----------
    weight : float
        The one weight of all records, of the best step.
    fit : xarray.DataTree
        The fit under it.
    synthetic : ndarray, shape (m, n)
        Its synthetic data sets.
    path : pandas.DataFrame
        One row per step: ``weight``, ``risk``, ``difference`` from the target.

    References
    ----------
    Book: :ref:`simulation-equal-risk`.
    """

    weight: float
    fit: xr.DataTree
    synthetic: np.ndarray
    path: pd.DataFrame


def match_scalar_weight(
    synthesizer,
    fit,
    risk,
    target,
    tolerance=0.005,
    max_steps=10,
    n_datasets=20,
    **settings,
):
    """Find the one weight for all records whose file-level risk is the target.

    Every step refits with the seed and settings of `fit` (common random numbers). The
    next weight is where the line between the two nearest risks, one on either side,
    meets the target; the difference of an end that stays twice counts half each time
    (Illinois rule), since the risk is often nearly flat below weight 1.

    Parameters
    ----------
    synthesizer : Synthesizer
    fit : xarray.DataTree
        The unweighted fit.
    risk : callable
        Takes synthetic data, shape (m, n), and returns the risks, shape (n,), whose
        mean is the file-level risk.
    target : float
        File-level risk wanted, below that of `fit`.
    tolerance : float
        Largest difference from the target, above 0.
    max_steps : int
        Largest number of refits.
    n_datasets : int
        m, the number of synthetic data sets that a risk is measured on.
    **settings
        Passed on to `synthesizer.synthesize`.

    Returns
    -------
    ScalarMatch
        The step with the smallest difference, and the whole path.

    Raises
    ------
    ValueError
        If the target is not between 0 and the risk of `fit`, a risk is missing, or a
        number is out of range.

    Warns
    -----
    UserWarning
        If no step came within the tolerance.

    References
    ----------
    P1, section 5, where the weight found is 0.455.
    Book: :ref:`simulation-equal-risk`.

    Examples
    --------
    A wide tolerance, to stop after one step:

    >>> import pseudopost as pp
    >>> y = [2, 4, 9]
    >>> synthesizer = pp.PoissonSynthesizer(y)
    >>> match = pp.match_scalar_weight(
    ...     synthesizer,
    ...     synthesizer.fit(),
    ...     risk=lambda z: pp.identification_risk(y, z, radius=0.5),
    ...     target=0.05,
    ...     tolerance=0.5,
    ... )
    >>> 0 < match.weight < 1
    True
    >>> match.path.columns.to_list()
    ['weight', 'risk', 'difference']
    """
    tolerance = as_number(tolerance, "tolerance", low=0, open_low=True)
    sampling = {
        name: fit.attrs[name] for name in ("draws", "tune", "chains", "random_seed")
    }

    def measure(fit):
        synthetic = synthesizer.synthesize(
            fit, n_datasets, sampling["random_seed"], **settings
        )
        risks = as_vector(risk(synthetic), "risk")
        return synthetic, float(risks.mean())

    start = measure(fit)[1]
    target = as_number(
        target, "target", low=0, high=start, open_low=True, open_high=True
    )
    # Weights and differences of the two ends. The risk under weight 0 is that of the
    # prior, and taken as 0.
    ends, values = [0.0, 1.0], [-target, start - target]
    path, best, moved = [], None, None
    for _ in range(as_count(max_steps, "max_steps")):
        weight = float(np.interp(0, values, ends))
        fit = synthesizer.fit(
            np.full(len(synthesizer.y), weight), progressbar=False, **sampling
        )
        synthetic, found = measure(fit)
        difference = found - target
        path.append((weight, found, difference))
        if best is None or abs(difference) < abs(best[0]):
            best = difference, ScalarMatch(weight, fit, synthetic, None)
        if abs(difference) <= tolerance:
            break
        end = int(difference > 0)
        if end == moved:
            values[1 - end] /= 2
        ends[end], values[end], moved = weight, difference, end
    if abs(best[0]) > tolerance:
        warnings.warn(
            f"no step came within tolerance {tolerance:g} of the risk {target:g}; "
            f"the nearest of {len(path)} is {target + best[0]:g}",
            stacklevel=2,
        )
    path = pd.DataFrame(path, columns=["weight", "risk", "difference"])
    return best[1]._replace(path=path.rename_axis("step"))
