"""The papers' figures as functions of data: each returns the axes it drew on."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import make_smoothing_spline

from pseudopost._checks import (
    aligned,
    as_array,
    as_number,
    as_vector,
    labels_of,
    quoted,
)

# Okabe and Ito's colours, which most colour-blind readers can tell apart.
PALETTE = {
    "Data": "#555555",
    "Unweighted": "#0072B2",
    "LW": "#E69F00",
    "LW_final": "#D55E00",
    "CW": "#56B4E9",
    "CW_final": "#009E73",
    "Scalar": "#CC79A7",
    "Vector": "#332288",
    "Marginal": "#AA0044",
    "Pairwise": "#88CC55",
    "Top-coded": "#BB7744",
}
# What has a scale of its own, and what Matplotlib can put on an axis.
RANGES = {name: {"low": 0, "high": 1} for name in ("weights", "before", "after")}
DRAWN = {"low": -1e300, "high": 1e300}
MIDDLES = {"median": np.median, "mean": np.mean}


def violins(samples, *, ylabel, middle="median", ax=None):
    """One violin per series, with its median or mean and its largest value marked.

    Parameters
    ----------
    samples : dict of str to array-like
        Values by series; a name of :data:`PALETTE` has its own colour.
    ylabel : str
        Quantity and unit.
    middle : {"median", "mean"}
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If `middle` is neither, there are no samples, or a value is missing or not
        finite.

    References
    ----------
    P1, Figures 11 and 19; P2, Figures 5, 7 and 13; P3, Figures 1, 4a, 4c, 4d, 5c and
    5d.
    Book: :ref:`lipschitz-weights`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> ax = pp.plots.violins({"Data": [1, 2, 9], "LW": [2, 3]}, ylabel="Count")
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['Data', 'LW']
    """
    if middle not in MIDDLES:
        raise ValueError(f"middle must be one of {(*MIDDLES,)}; got {middle!r}")
    values = [_finite(v, f"samples[{name!r}]").ravel() for name, v in samples.items()]
    if not values:
        raise ValueError("samples must have a series; got none")
    ax = _axes(ax)
    places = np.arange(len(values))
    parts = ax.violinplot(values, places, widths=0.8, showextrema=False)
    for body, name in zip(parts["bodies"], samples, strict=True):
        body.set(facecolor=_colour(name), edgecolor="black", alpha=0.8, linewidth=0.6)
    ax.scatter(
        places,
        [MIDDLES[middle](v) for v in values],
        marker="_",
        s=220,
        color="black",
        label=middle,
    )
    ax.scatter(
        places,
        [v.max() for v in values],
        marker="v",
        s=22,
        color="black",
        label="largest",
    )
    ax.set_xticks(places, list(samples))
    ax.set_ylabel(ylabel)
    return ax


def bounds_against_weights(weights, bounds, *, name, ax=None):
    """Lipschitz bounds against weights, a smooth curve, and the largest bound.

    Parameters
    ----------
    weights, bounds : array-like, shape (n,)
        Weights in [0, 1].
    name : str
        Series, for colour and title.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the two have other lengths or labels, or a value is missing or out of range.

    References
    ----------
    P3, Figures 2, 3a and 3b.
    Book: :ref:`lipschitz-weights`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> ax = pp.plots.bounds_against_weights([1, 0.5], [2, 1.5], name="LW")
    >>> ax.get_ylabel()
    'Lipschitz bound (nats)'
    """
    weights, bounds = _pairs(weights=weights, bounds=bounds)
    ax = _axes(ax)
    ax.scatter(weights, bounds, s=9, color=_colour(name), alpha=0.6, linewidth=0)
    x, place, count = np.unique(
        weights.round(6), return_inverse=True, return_counts=True
    )
    if len(x) >= 5 and np.ptp(x) > 1e-6:
        smooth = make_smoothing_spline(
            x, np.bincount(place, bounds) / count, w=count, lam=1e-3
        )
        grid = np.linspace(x[0], x[-1], 200)
        ax.plot(grid, smooth(grid), color="black", linewidth=1.4, label="smooth curve")
    ax.axhline(
        bounds.max(), color="black", linestyle="--", linewidth=1, label="largest bound"
    )
    ax.set(xlabel="Weight", ylabel="Lipschitz bound (nats)", title=name)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(bottom=0)
    return ax


def weights_before_after(before, after, *, name, ax=None):
    """Weights after a change against weights before, with the line of no change.

    Parameters
    ----------
    before, after : array-like, shape (n,)
        Weights in [0, 1].
    name : str
        Series, for colour and title.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the two have other lengths or labels, or a value is missing or out of range.

    References
    ----------
    P3, Figure 4b.
    Book: :ref:`re-weighting`.

    Examples
    --------
    One weight that rises, and one that falls:

    >>> import pseudopost as pp
    >>> ax = pp.plots.weights_before_after([0.4, 0.2], [0.8, 0.19], name="LW")
    >>> [len(points.get_offsets()) for points in ax.collections]
    [1, 1]
    """
    before, after = _pairs(before=before, after=after)
    ax = _axes(ax)
    ax.axline((0, 0), slope=1, color="black", linewidth=0.8, linestyle=":")
    lower = after < before
    ax.scatter(
        before[~lower], after[~lower], s=12, color=_colour(name), label="same or higher"
    )
    ax.scatter(
        before[lower], after[lower], s=26, marker="x", color="black", label="lower"
    )
    ax.set(xlabel="Weight before", ylabel="Weight after", title=name)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.03, 1.03)
    return ax


def risks_before_after(before, after, *, name, rise=0.25, limit=0.5, ax=None):
    """Risks after weighting against risks before, with the records made worse.

    Parameters
    ----------
    before, after : array-like, shape (n,)
        Identification risks in [0, 1].
    name : str
        Series of `after`, for colour and label.
    rise : float
        Records whose risk rises by more are marked; in [-1, 1].
    limit : float
        A risk in [0, 1] that should not be exceeded, drawn as a horizontal line.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the two have other lengths or labels, or a value is missing or out of range.

    References
    ----------
    P2, Figures 6, 8 and 9.
    Book: :ref:`whack-a-mole-figure`.

    Examples
    --------
    The risk of the second record rises by more than 0.25, and it is marked:

    >>> import pseudopost as pp
    >>> ax = pp.plots.risks_before_after([0.9, 0.1], [0.5, 0.6], name="LW")
    >>> [len(points.get_offsets()) for points in ax.collections]
    [1, 1]
    """
    before, after = _pairs(before=before, after=after)
    rise = as_number(rise, "rise", low=-1, high=1)
    limit = as_number(limit, "limit", low=0, high=1)
    ax = _axes(ax)
    worse = after - before > rise
    ax.scatter(before[~worse], after[~worse], s=6, color=_colour(name), alpha=0.35)
    ax.scatter(
        before[worse],
        after[worse],
        s=26,
        color="#F0E442",
        edgecolor="black",
        linewidth=0.6,
        label=f"up by more than {rise:g}",
    )
    ax.axline((0, 0), slope=1, color="#0072B2", linewidth=1.2, label="no change")
    ax.axhline(
        limit, color="black", linewidth=0.8, linestyle="--", label=f"limit {limit:g}"
    )
    ax.set(xlabel="Risk, Unweighted", ylabel=f"Risk, {name}")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    return ax


def weights_against_values(y, weights, *, name, xlabel, ax=None):
    """Record weights against confidential values, those with a weight of 1 marked.

    Parameters
    ----------
    y, weights : array-like, shape (n,)
        Weights in [0, 1].
    name : str
        Series, for the colour.
    xlabel : str
        Quantity and unit of `y`.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the two have other lengths or labels, or a value is missing or out of range.

    References
    ----------
    P2, Figures 10-12, and 6-8 of the supplement.
    Book: :ref:`tuning-income`.

    Examples
    --------
    Two weights below 1, and one of 1, which is marked:

    >>> import pseudopost as pp
    >>> ax = pp.plots.weights_against_values(
    ...     [10, 11, 50], [0.8, 1, 0.3], name="Pairwise", xlabel="Income"
    ... )
    >>> [len(points.get_offsets()) for points in ax.collections]
    [2, 1]
    """
    y, weights = _pairs(y=y, weights=weights)
    ax = _axes(ax)
    full = weights == 1
    ax.scatter(
        y[~full], weights[~full], s=8, color=_colour(name), alpha=0.5, linewidth=0
    )
    ax.scatter(
        y[full], weights[full], s=26, marker="x", color="black", label="weight 1"
    )
    ax.set(xlabel=xlabel, ylabel="Weight")
    ax.set_ylim(-0.03, 1.03)
    return ax


def synthetic_against_data(y, released, *, name, unit, ax=None):
    """Released values against confidential ones, with the line of equal values.

    Parameters
    ----------
    y, released : array-like, shape (n,)
    name : str
        Series, for colour and title.
    unit : str
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the two have other lengths or labels, or a value is missing or out of range.

    References
    ----------
    P1, Figures 8-10 and 16-18.
    Book: :ref:`ce-topcoding`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> ax = pp.plots.synthetic_against_data(
    ...     [1, 5], pp.top_code([1, 5], 4), name="Top-coded", unit="dollars"
    ... )
    >>> ax.get_xlabel()
    'Confidential value (dollars)'
    """
    y, released = _pairs(y=y, released=released)
    ax = _axes(ax)
    ax.scatter(y, released, s=8, color=_colour(name), alpha=0.5, linewidth=0)
    ax.axline((0, 0), slope=1, color="black", linewidth=0.8, linestyle=":")
    ax.set(
        xlabel=f"Confidential value ({unit})",
        ylabel=f"Released value ({unit})",
        title=name,
    )
    return ax


def intervals(table, *, xlabel, ax=None):
    """Estimates with their intervals, one row per series.

    Parameters
    ----------
    table : dict of str to (estimate, low, high)
        The first series is the reference, whose interval is shaded.
    xlabel : str
        Quantity and unit.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If there are no series, or one is not three finite numbers with low <= high.

    References
    ----------
    P3, Figures 5a and 5b, Table 1.
    Book: :ref:`re-weighting`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> table = {"Data": (5, 4, 6), "LW": (7, 5, 9)}
    >>> ax = pp.plots.intervals(table, xlabel="Mean (dollars)")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['Data', 'LW']
    """
    if not table:
        raise ValueError("table must have a series; got none")
    table = {name: _interval(row, f"table[{name!r}]") for name, row in table.items()}
    ax = _axes(ax)
    reference = next(iter(table.values()))
    ax.axvspan(
        reference[1], reference[2], color=_colour("Data"), alpha=0.15, linewidth=0
    )
    for place, (name, (estimate, low, high)) in enumerate(table.items()):
        ax.plot(
            [low, high],
            [place, place],
            color=_colour(name),
            linewidth=3,
            solid_capstyle="butt",
        )
        ax.plot(estimate, place, "o", color="black", markersize=4)
    ax.set_yticks(range(len(table)), list(table))
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.set_xlabel(xlabel)
    return ax


def _pairs(**vectors):
    """Return two vectors of the same records, in the order of the first, or raise."""
    (name, first), (other, second) = vectors.items()
    second = aligned(second, other, labels_of(first), name)
    first = as_vector(first, name, **RANGES.get(name, DRAWN))
    length = len(first)
    return first, as_vector(second, other, length=length, **RANGES.get(other, DRAWN))


def _finite(values, name):
    values = as_array(values, name)
    bad = ~(np.abs(values) <= DRAWN["high"])
    if values.size == 0 or bad.any():
        found = quoted(values[bad][0], "g") if values.size else "none"
        raise ValueError(f"{name} must be finite values; got {found}")
    return values


def _interval(row, name):
    row = _finite(row, name)
    if row.shape != (3,) or row[1] > row[2]:
        raise ValueError(f"{name} must be (estimate, low, high); got {quoted(row)}")
    return tuple(row)


def _axes(ax):
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _colour(name):
    return PALETTE.get(name, "#999999")
