"""How isolated a record is for an intruder: balls, patterns, identification risk."""

import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from pseudopost._checks import (
    aligned,
    as_array,
    as_count,
    as_number,
    as_vector,
    by_file,
    check_finite,
    labels_of,
    quoted,
)
from pseudopost.boxes import boxes_around, sums_inside

BALLS = ("absolute", "signed")
REPLACEMENTS = ("threshold", "mean")
LARGEST = np.finfo(float).max


def identification_risk(
    y, synthetic, radius=0.2, patterns=None, ball="absolute", alone=None
):
    r"""How isolated each record is for an intruder: the papers' identification risk.

    The intruder knows a record's value, its pattern of other variables, and that it is
    in the file. The risk is
    the share of the pattern whose released value is not close, if the record's own is,
    and 0 otherwise. It is not the probability that a guess among the close ones is
    right.

    Parameters
    ----------
    y : array-like, shape (n,), or DataFrame or dict of such, by column
        Confidential values on the released scale. Of several columns, those that are
        not numbers are categories.
    synthetic : array-like, shape (m, n) or (n,), or DataFrame or dict of such
        Released values, record by record; `y` itself for the risk of the confidential
        file, or :func:`top_code` of it. Of several columns, under the same names.
    radius : float or dict of float
        r, above 0, a share of the record's value. Of several columns, one for all that
        are numbers, or for each of them its own.
    patterns : array-like, shape (n,) or (n, columns), optional
        What the intruder knows of each record: labels, or columns of a data frame. By
        default nothing, so that the whole file is one pattern.
    ball : {"absolute", "signed"}
        The ball of record i is the closed interval from :math:`y_i - r |y_i|` to
        :math:`y_i + r |y_i|`. With ``"signed"`` r is multiplied by the value itself, as
        P2 prints, and the ball of a negative value is empty. The value is compared with
        the two ends, which keeps whole numbers at exactly the radius, for whole
        percentages up to 50.
    alone : float, optional
        Risk, in [0, 1], of a record that is alone in its pattern and close to its own
        value. By default 0, as the definition gives, with a warning.

    Returns
    -------
    ndarray, shape (n,)
        The mean over data sets of :math:`T_i |\{h \in M_i: y^*_h \notin B_i\}| / |M_i|`
        with :math:`T_i = 1` if the record's own released value lies in its ball
        :math:`B_i`; record i itself is counted in its pattern :math:`M_i`. Of several
        columns the ball is that of every number, and the category of every category:
        a record is close if it is in all of them. Two numbers take O(n log n), as one
        does, with a factor of about ten; three or more take O(n^2).

    Raises
    ------
    ValueError
        If a value is missing or not finite, lengths or columns differ, a radius is not
        positive, or `alone` lies outside [0, 1].

    Warns
    -----
    UserWarning
        If records are alone in their pattern and `alone` is not given.

    References
    ----------
    P1, Eq 8; P2, Eq 8, and section 4 for several columns.
    Book: :ref:`identification-risk`.

    Examples
    --------
    The third record stands out. A released value outside the record's own ball gives it
    no risk, and may raise that of others:

    >>> import pseudopost as pp
    >>> y = [10, 11, 50]
    >>> pp.identification_risk(y, y).round(2)
    array([0.33, 0.33, 0.67])
    >>> pp.identification_risk(y, [10, 14, 50]).round(2)
    array([0.67, 0.  , 0.67])

    With a category beside the value, the first two are told apart:

    >>> both = {"income": y, "tenure": ["owner", "renter", "owner"]}
    >>> pp.identification_risk(both, both).round(2)
    array([0.67, 0.67, 0.67])
    """
    return joint_risk(y, synthetic, radius, patterns, 1, ball, alone)


def joint_risk(
    y, synthetic, radius=0.2, patterns=None, order=2, ball="absolute", alone=None
):
    r"""Mean, over the other records of its pattern, of each record's joint risk.

    The joint risk of a pair is :math:`T_i T_j |\{h \in M: y^*_h \notin B_i \cup B_j\}|
    / |M|`, and so on for more. It is summed without forming pairs: record h is outside
    the balls of :math:`c_h` records with T = 1, so that :math:`|M| \sum_J IR_{i,J} =
    T_i \sum_{h \notin B_i} \binom{c_h - 1}{k - 1}`, in O(n log n).

    Parameters
    ----------
    y, synthetic, radius, patterns, ball
        As in :func:`identification_risk`.
    order : int
        k: 1 for single records, 2 for pairs, 3 for triples.
    alone : float, optional
        Risk, in [0, 1], of a record whose pattern has fewer than `order` records, or
        than 2, and that is close to its own value. By default 0, with a warning.

    Returns
    -------
    ndarray, shape (n,)
        :math:`\sum_J IR_{i,J} / \binom{|M| - 1}{k - 1}`, averaged over data sets.

    References
    ----------
    P2, Eqs 11-14.
    """
    columns, labels, other = _columns(y, synthetic, radius, ball)
    n = len(columns[0].own)
    order = as_count(order, "order")
    codes = pattern_codes(aligned(patterns, "patterns", labels, other), n)
    close = np.logical_and.reduce([column.close for column in columns])
    size = np.bincount(codes)[codes]
    numbers = [column for column in columns if column.low is not None]
    categories = [column for column in columns if column.low is None]
    cells, released_cells = _cells(codes, categories, len(close))
    if not numbers:
        nothing = np.zeros(n)
        numbers = [Column(nothing, np.zeros(close.shape), nothing, nothing, close)]
    # Complex numbers sort by their real part first: one cell after the other.
    low, high = ([getattr(c, end) for c in numbers] for end in ("low", "high"))
    low[0], high[0] = cells + 1j * low[0], cells + 1j * high[0]
    # Sorted once by pattern and value, the searches below run through memory in order.
    sort = np.lexsort((numbers[0].own, codes))
    low, high = ([end[sort] for end in ends] for ends in (low, high))
    codes, size_in_order = codes[sort], size[sort]
    total = 0
    for at in range(len(close)):
        points = [column.released[at] for column in numbers]
        points[0] = released_cells[at] + 1j * points[0]
        points = [values[sort] for values in points]
        given = close[at][sort], codes, size_in_order, order
        total = total + _joint_risk_of_one(low, high, points, *given)
    risk = np.empty(n)
    risk[sort] = total / len(close)
    few = size < max(order, 2)
    if alone is None and few.any():
        _warn_alone(few, max(order, 2))
    alone = as_number(0 if alone is None else alone, "alone", low=0, high=1)
    risk[few] = alone * close[:, few].mean(axis=0)
    # Rounding can leave a risk of 0 a little below.
    return np.maximum(risk, 0)


def _joint_risk_of_one(low, high, points, close, codes, size, order):
    """Joint risk in one data set, all patterns at once."""
    covering = boxes_around(points, [e[close] for e in low], [e[close] for e in high])
    others = np.bincount(codes, close)[codes] - covering - 1
    share = np.ones(len(codes))
    for t in range(min(order - 1, size.max())):  # then nobody is left
        share *= np.maximum(others - t, 0) / np.maximum(size - 1 - t, 1)
    inside = sums_inside(points, share, low, high)
    return np.where(close, np.bincount(codes, share)[codes] - inside, 0) / size


class Column(NamedTuple):
    """One confidential column; a category has no ends."""

    own: np.ndarray  # (n,)
    released: np.ndarray  # (m, n)
    low: np.ndarray | None  # (n,)
    high: np.ndarray | None  # (n,)
    close: np.ndarray  # (m, n), whether a record's released value is near its own


def _columns(y, synthetic, radius, ball):
    """Check confidential columns; return them, and labels and what those are of."""
    several = Mapping, pd.DataFrame
    if not isinstance(y, several):
        if isinstance(synthetic, Mapping):
            raise ValueError("synthetic must be one array, as y is; got columns")
        released, labels, other = _released(synthetic, labels_of(y))
        y = as_vector(y, "y")
        return (
            [_number(y, _as_data_sets(released, len(y)), radius, ball)],
            labels,
            other,
        )
    if len(names := [*y]) == 0:
        raise ValueError("y must have at least one column; got none")
    if not isinstance(synthetic, several) or {*synthetic} != {*names}:
        given = [*synthetic] if isinstance(synthetic, several) else "no columns"
        raise ValueError(f"synthetic must have the columns of y, {names}; got {given}")
    numbers = [name for name in names if _has_numbers(y[name])]
    radii = _radii(radius, numbers)
    labels = next((x for name in names if (x := labels_of(y[name])) is not None), None)
    found, other = [], "y"
    for name in names:
        own = aligned(y[name], f"y[{name!r}]", labels, "y")
        released, labels, of = _released(synthetic[name], labels)
        other = of if not found else other
        length = len(found[0].own) if found else None
        if name in numbers:
            own = as_vector(own, f"y[{name!r}]", length=length)
            released = _as_data_sets(released, len(own))
            found.append(_number(own, released, radii[name], ball))
        else:
            own = _as_categories(own, f"y[{name!r}]", (1, length))[0]
            released = _as_categories(released, "synthetic", (None, len(own)))
            close = released == own
            found.append(Column(own, released, None, None, close))
        if len(found[-1].released) != len(found[0].released):
            raise ValueError(
                "synthetic must have as many data sets of each column; got "
                f"{len(found[0].released)} and, of {name!r}, {len(found[-1].released)}"
            )
    return found, labels, other


def _released(synthetic, labels):
    """Return data sets in the order of labels, these or its own, and whose they are."""
    synthetic = by_file(synthetic, labels)
    if labels is not None:
        return synthetic, labels, "y"
    frame = isinstance(synthetic, pd.DataFrame)
    return synthetic, synthetic.columns if frame else labels_of(synthetic), "synthetic"


def _number(own, released, radius, ball):
    low, high = ball_ends(own, radius, ball)
    return Column(own, released, low, high, (low <= released) & (released <= high))


def _has_numbers(values):
    kind = pd.Series(values).dtype
    return pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)


def _radii(radius, names):
    """Return the radius of each column of numbers."""
    if not isinstance(radius, Mapping):
        return dict.fromkeys(names, radius)
    if {*radius} != {*names}:
        raise ValueError(
            f"radius must be one number, or one for each column of numbers, {names}; "
            f"got some for {[*radius]}"
        )
    return radius


def _as_categories(values, name, shape):
    """Return labels as an array, a row for each data set, or raise."""
    array = np.atleast_2d(np.asarray(values, dtype=object))
    if array.ndim != 2 or any(
        wanted not in (None, found)
        for wanted, found in zip(shape, array.shape, strict=True)
    ):
        raise ValueError(
            f"{name} must have a label for each record; got shape {np.shape(values)}"
        )
    if pd.isna(array).any():
        record = np.argwhere(pd.isna(array))[0][1]
        raise ValueError(f"{name} must not be missing; record {record} is")
    return array


def _cells(codes, categories, m):
    """Split patterns by category, own and released: shapes (n,) and (m, n)."""
    released = np.broadcast_to(codes, (m, len(codes)))
    for column in categories:
        both = np.concatenate([column.own[None], column.released])
        found, levels = pd.factorize(both.ravel())
        found = found.reshape(both.shape)
        codes = codes * len(levels) + found[0]
        released = released * len(levels) + found[1:]
    return codes, released


class MatchRates(NamedTuple):
    """What :func:`match_rates` returns: the intruder who matches, over all records.

    Attributes
    ----------
    expected : ndarray, shape (m,)
        Expected match risk: the expected number of right matches, if each target is
        matched with one of the rows that fit, at random.
    true_rate : ndarray, shape (m,)
        Share of all records with a single row that fits, which is their own.
    false_rate : ndarray, shape (m,)
        Of the records with a single row that fits, the share for which it is another's;
        0 if there are none.

    References
    ----------
    Reiter and Mitra (2009), as of :func:`match_rates`.
    Book: :ref:`other-rulers`.
    """

    expected: np.ndarray
    true_rate: np.ndarray
    false_rate: np.ndarray


def match_rates(y, synthetic, radius=0.2, patterns=None, ball="absolute"):
    r"""Count the matches of an intruder with the papers' knowledge, right and wrong.

    She looks for the released rows that have a record's pattern and a value in its
    ball, as in :func:`identification_risk`, and matches the record with one of them.

    Parameters
    ----------
    y : array-like, shape (n,)
        Confidential values on the released scale.
    synthetic : array-like, shape (m, n) or (n,)
        Released values, record by record.
    radius : float
        r, above 0, a share of the record's value.
    patterns : array-like, shape (n,) or (n, columns), optional
        As in :func:`identification_risk`.
    ball : {"absolute", "signed"}
        As in :func:`identification_risk`.

    Returns
    -------
    MatchRates
        Of each data set. With :math:`c_i` rows that fit record i, and :math:`T_i = 1`
        if its own is one of them: :math:`\sum_i T_i / c_i`, the share of records with
        :math:`c_i T_i = 1`, and of those with :math:`c_i = 1` the share with
        :math:`T_i = 0`.

    Raises
    ------
    ValueError
        If a value is missing or not finite, lengths differ, or the radius is not
        positive.

    References
    ----------
    Reiter and Mitra (2009), Estimating risks of identification disclosure in partially
    synthetic data, Journal of Privacy and Confidentiality 1(1), section 2.
    Book: :ref:`other-rulers`.

    Examples
    --------
    The first two rows fit the first two records. The third record has a row of its own,
    and the fourth has none:

    >>> import pseudopost as pp
    >>> rates = pp.match_rates([10, 11, 50, 90], [11, 10, 50, 70])
    >>> rates.expected, rates.true_rate, rates.false_rate
    (array([2.]), array([0.25]), array([0.]))
    """
    released, labels, other = _released(synthetic, labels_of(y))
    y = as_vector(y, "y")
    column = _number(y, _as_data_sets(released, len(y)), radius, ball)
    codes = pattern_codes(aligned(patterns, "patterns", labels, other), len(y))
    # Complex numbers sort by their real part first: one pattern after the other.
    low, high = codes + 1j * column.low, codes + 1j * column.high
    fit = np.empty(column.close.shape)
    for row, values in zip(fit, column.released, strict=True):
        ordered = np.sort(codes + 1j * values)
        row[:] = np.searchsorted(ordered, high, "right")
        row -= np.searchsorted(ordered, low, "left")
    single = (fit == 1).sum(axis=1)
    right = ((fit == 1) & column.close).sum(axis=1)
    return MatchRates(
        (column.close / np.maximum(fit, 1)).sum(axis=1),
        right / len(y),
        (single - right) / np.maximum(single, 1),
    )


def ball_ends(y, radius=0.2, ball="absolute"):
    """Return the lower and the upper end of each record's ball, both in the ball.

    Parameters
    ----------
    y : array-like, shape (n,)
        Confidential values.
    radius : float
        r, above 0, a share of the record's value.
    ball
        As in :func:`identification_risk`.

    Returns
    -------
    low, high : ndarray, shape (n,)
        Where ``low > high`` the ball is empty.

    Raises
    ------
    ValueError
        As in :func:`identification_risk`.

    References
    ----------
    P1, Eq 8; P2, Eq 8.
    Book: :ref:`identification-risk`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> low, high = pp.ball_ends([10, -5], radius=0.2)
    >>> low, high
    (array([ 8., -6.]), array([12., -4.]))
    """
    radius = as_number(radius, "radius", low=0, open_low=True)
    if ball not in BALLS:
        raise ValueError(f"ball must be one of {BALLS}; got {ball!r}")
    y = as_vector(y, "y")
    with np.errstate(over="ignore"):
        reach = radius * (np.abs(y) if ball == "absolute" else y)
        ends = np.stack([y - reach, y + reach])
    return tuple(np.clip(ends, -LARGEST, LARGEST))


def pattern_codes(patterns, n):
    """Give each pattern that occurs a whole number, and each record that of its own.

    Parameters
    ----------
    patterns : array-like, shape (n,) or (n, columns), or None
        Labels, or columns whose combinations are the patterns; None for one pattern.
    n : int
        Number of records.

    Returns
    -------
    ndarray of int, shape (n,)

    Raises
    ------
    ValueError
        If there are no columns, the number of rows is not n, or a label is missing.
    """
    if isinstance(patterns, (set, frozenset)):
        raise ValueError(f"patterns must be in the order of y; got {quoted(patterns)}")
    if patterns is None:
        return np.zeros(n, dtype=np.int64)
    try:
        columns = pd.DataFrame(patterns)
    except ValueError:
        raise ValueError(
            f"patterns must be labels or columns of labels; got {quoted(patterns)}"
        ) from None
    if columns.shape[1] == 0:
        raise ValueError("patterns must have at least one column; got none")
    columns = columns.set_axis(range(columns.shape[1]), axis=1).reset_index(drop=True)
    if len(columns) != n:
        raise ValueError(f"patterns must have {n} rows, as y has; got {len(columns)}")
    missing = columns.isna().any(axis=1).to_numpy()
    if missing.any():
        raise ValueError(
            f"patterns must not be missing; record {np.argmax(missing)} has one"
        )
    return columns.groupby(list(columns), sort=False, observed=True).ngroup().to_numpy()


def top_code(y, threshold, replacement="threshold"):
    """Replace every value above the threshold.

    Parameters
    ----------
    y : array-like, shape (n,)
    threshold : float
        On the scale of `y`.
    replacement : {"threshold", "mean"}
        The threshold itself, as the papers describe it, or the mean of the values above
        it, as in the public files of the Consumer Expenditure Surveys, which leaves the
        mean of all values as it was.

    Returns
    -------
    ndarray, shape (n,)

    Raises
    ------
    ValueError
        If a value is missing or not finite, or `replacement` is another.

    References
    ----------
    P1, section 1.1; P2, section 1.1.
    Book: :ref:`income-file-top-coding`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> pp.top_code([1, 5, 9], threshold=4)
    array([1., 4., 4.])
    >>> pp.top_code([1, 5, 9], threshold=4, replacement="mean")
    array([1., 7., 7.])
    """
    y = as_vector(y, "y")
    threshold = as_number(threshold, "threshold")
    if replacement not in REPLACEMENTS:
        raise ValueError(
            f"replacement must be one of {REPLACEMENTS}; got {replacement!r}"
        )
    above = y > threshold
    if replacement == "threshold" or not above.any():
        return np.minimum(y, threshold)
    with np.errstate(over="ignore"):
        mean = y[above].mean()
    check_finite(mean, "y", "the mean above the threshold")
    return np.where(above, mean, y)


def _as_data_sets(synthetic, n):
    released = np.atleast_2d(as_array(synthetic, "synthetic"))
    if released.ndim != 2 or released.shape[1] != n or len(released) == 0:
        raise ValueError(
            f"synthetic must have shape (m, {n}) or ({n},); got {np.shape(synthetic)}"
        )
    bad = ~np.isfinite(released)
    if bad.any():
        m, i = np.argwhere(bad)[0]
        raise ValueError(
            f"synthetic must be finite; record {i} of data set {m} has "
            f"{quoted(released[m, i], 'g')}"
        )
    return released


def _warn_alone(few, wanted):
    records = np.flatnonzero(few)
    named = ", ".join(map(str, records[:5])) + (", ..." if len(records) > 5 else "")
    warnings.warn(
        f"patterns: {len(records)} records have one of fewer than {wanted} records, "
        f"so their risk is set to 0: records {named}; choose another with alone=",
        stacklevel=4,
    )
