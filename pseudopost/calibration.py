"""Searches that refit: k for a given bound, one weight for a given risk."""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from pseudopost._checks import as_count, as_number, as_vector, check_weights_of
from pseudopost.privacy import lipschitz_bounds
from pseudopost.weights import reweight

SAMPLING = ("draws", "tune", "chains", "random_seed")


class Calibration(NamedTuple):
    """What :func:`calibrate_reweighting` and :func:`match_scalar_weight` return.

    :func:`cheapest_weights` returns the same: the best step of the search, and its
    path. Printed, it shows no record's weight.

    Attributes
    ----------
    constant : float
        What was searched for, at the best step: k, or the one weight of all records; of
        :func:`cheapest_weights` the row of the candidate.
    weights : ndarray, shape (n,)
        Record weights of that step.
    fit : xarray.DataTree
        The fit under them.
    path : pandas.DataFrame
        One row per step: ``constant``, ``found``, ``difference`` from the target,
        ``mean_weight``.

    References
    ----------
    Book: :ref:`re-weighting`.
    """

    constant: float
    weights: np.ndarray
    fit: xr.DataTree
    path: pd.DataFrame

    def __repr__(self):
        step = np.argmax(self.path["constant"] == self.constant)
        return "\n".join(
            [
                f"{type(self).__name__}: constant {self.constant:.4g}, mean weight "
                f"{self.weights.mean():.3f}",
                f"step {step + 1} of {len(self.path)}, difference from the target "
                f"{self.path['difference'].iloc[step]:.3g}",
                self.fit.attrs["not_converged"] or "the fit has converged",
            ]
        )


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
        tau, above 0, on the scale of the bound: the search ends when the difference is
        at most this.
    k : float
        First constant, in (0, 1].
    max_steps : int
        Largest number of refits.

    Returns
    -------
    Calibration
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
    Book: :ref:`re-weighting`; :ref:`the price of choosing <tuning-price>`: every step
    looks at the confidential file, which no epsilon counts.

    Examples
    --------
    A wide tolerance, to stop after one step:

    >>> import pseudopost as pp
    >>> synthesizer, weights = pp.PoissonSynthesizer([2, 4, 9]), [0.9, 0.5, 0.1]
    >>> fit = synthesizer.fit(weights)
    >>> final = pp.calibrate_reweighting(synthesizer, fit, weights, 10)
    >>> final.constant, len(final.path)
    (0.95, 1)
    >>> final.weights.shape
    (3,)
    """
    weights = check_weights_of(fit, weights)
    bounds = lipschitz_bounds(synthesizer.record_terms(fit))
    return _search(
        synthesizer,
        fit,
        steps=_bisection(k),
        weights_of=lambda k: reweight(weights, bounds, k),
        measure=lambda refit: lipschitz_bounds(synthesizer.record_terms(refit)).max(),
        target=bounds.max(),
        tolerance=tolerance,
        max_steps=max_steps,
    )


def match_scalar_weight(
    synthesizer,
    fit,
    risk,
    target,
    tolerance=0.005,
    max_steps=10,
    n_datasets=20,
    first=None,
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
        Above 0: the search ends when the difference from the target is at most this.
    max_steps : int
        Largest number of refits.
    n_datasets : int
        m, the number of synthetic data sets that a risk is measured on; they are drawn
        with the seed of `fit`.
    first : float, optional
        Weight to try first, between 0 and 1; where the line from risk 0 at weight 0 to
        that of `fit` at weight 1 meets the target, unless given.
    **settings
        Passed on to `synthesizer.synthesize`.

    Returns
    -------
    Calibration
        The step with the smallest difference, and the whole path.

    Raises
    ------
    ValueError
        If `fit` was made under weights, the target is not between 0 and the risk of
        `fit`, a risk is missing, or a number is out of range.

    Warns
    -----
    UserWarning
        If no step came within the tolerance.

    References
    ----------
    P1, section 5, where the weight found is 0.455.
    Book: :ref:`simulation-equal-risk`; :ref:`the price of choosing <tuning-price>`.

    Examples
    --------
    A wide tolerance, to stop after one step:

    >>> import pseudopost as pp
    >>> y = [2, 4, 9]
    >>> synthesizer = pp.PoissonSynthesizer(y)
    >>> match = pp.match_scalar_weight(
    ...     synthesizer,
    ...     synthesizer.fit(random_seed=1),
    ...     risk=lambda z: pp.identification_risk(y, z, radius=0.5),
    ...     target=0.05,
    ...     tolerance=0.5,
    ... )
    >>> 0 < match.constant < 1
    True
    >>> match.path.columns.to_list()
    ['constant', 'found', 'difference', 'mean_weight']
    """
    lowest = float(fit["constant_data"]["weights"].min())
    if lowest < 1:
        raise ValueError(f"fit must be unweighted; it has weights down to {lowest:g}")

    def measure(fit):
        seed = fit.attrs["random_seed"]
        synthetic = synthesizer.synthesize(fit, n_datasets, seed, **settings)
        return float(as_vector(risk(synthetic), "risk").mean())

    start = measure(fit)
    target = as_number(
        target, "target", low=0, high=start, open_low=True, open_high=True
    )
    if first is not None:
        first = as_number(first, "first", low=0, high=1, open_low=True, open_high=True)
    return _search(
        synthesizer,
        fit,
        steps=_illinois(start, target, first),
        weights_of=lambda weight: np.full(len(synthesizer.y), weight),
        measure=measure,
        target=target,
        tolerance=tolerance,
        max_steps=max_steps,
    )


def _search(synthesizer, fit, steps, weights_of, measure, target, tolerance, max_steps):
    """Refit until what is measured is within the tolerance of the target."""
    tolerance = as_number(tolerance, "tolerance", low=0, open_low=True)
    sampling = {name: fit.attrs[name] for name in SAMPLING}
    path, best, nearest = [], None, None
    constant = next(steps)
    for _ in range(as_count(max_steps, "max_steps")):
        weights = weights_of(constant)
        refit = synthesizer.fit(weights, progressbar=False, **sampling)
        found = measure(refit)
        difference = found - target
        path.append((constant, found, difference, weights.mean()))
        if best is None or abs(difference) < abs(nearest - target):
            best, nearest = (constant, weights, refit), found
        if abs(difference) <= tolerance:
            break
        try:
            constant = steps.send(difference)
        except StopIteration:
            break
    if not abs(nearest - target) <= tolerance:
        warnings.warn(
            f"no step came within tolerance {tolerance:g} of the target {target:g}; "
            f"the nearest of {len(path)} is {nearest:g}",
            stacklevel=3,
        )
    columns = ["constant", "found", "difference", "mean_weight"]
    return Calibration(*best, pd.DataFrame(path, columns=columns).rename_axis("step"))


def _bisection(first):
    """Halve the interval from 0 to 1, beginning with a given constant."""
    low, high, middle = 0.0, 1.0, first
    while low < high:
        difference = yield middle
        low, high = (low, middle) if difference > 0 else (middle, high)
        middle = (low + high) / 2


def _illinois(start, target, first):
    """Cross the line between two ends, beginning with the weights 0 and 1.

    The risk under weight 0 is that of the prior, and taken as 0.
    """
    ends, values, moved = [0.0, 1.0], [-target, start - target], None
    weight = first or float(np.interp(0, values, ends))
    while True:
        difference = yield weight
        end = int(difference > 0)
        if end == moved:
            values[1 - end] /= 2
        ends[end], values[end], moved = weight, difference, end
        weight = float(np.interp(0, values, ends))
