"""Sums over the points in boxes, and numbers of boxes around points."""

from itertools import product

import numpy as np

# Comparisons held in memory at once where there are three dimensions or more.
AT_ONCE = 10**7


def sums_inside(points, weight, low, high):
    """Sum the weights of the points in each box, both ends of which belong to it.

    Every number of dimensions is made of corners: what is below the high end in a
    dimension, less what is below the low one. In O(n log n) for one or two dimensions,
    in O(n^2) for more.

    Parameters
    ----------
    points : sequence of ndarray, shape (n,)
        By dimension; anything that NumPy sorts.
    weight : ndarray, shape (n,)
    low, high : sequence of ndarray, shape (boxes,)
        By dimension, not above each other.

    Returns
    -------
    ndarray, shape (boxes,)
    """
    ranks, ends = [], []
    for values, begin, end in zip(points, low, high, strict=True):
        order = np.argsort(values, kind="stable")
        rank = np.empty(len(values), dtype=np.int64)
        rank[order] = np.arange(len(values))
        ranks.append(rank)
        values = values[order]
        ends.append(
            (
                np.searchsorted(values, end, "right"),
                np.searchsorted(values, begin, "left"),
            )
        )
    return sum(
        (-1) ** sum(lower) * _sums_below(ranks, weight, _chosen(ends, lower))
        for lower in product((0, 1), repeat=len(ranks))
    )


def boxes_around(points, low, high):
    """Count the boxes that each point lies in; the rest as in :func:`sums_inside`.

    Returns
    -------
    ndarray of int, shape (n,)
    """
    sides = []
    for values, begin, end in zip(points, low, high, strict=True):
        both = []
        for ends, side in ((begin, "right"), (end, "left")):
            order = np.argsort(ends, kind="stable")
            rank = np.empty(len(ends), dtype=np.int64)
            rank[order] = np.arange(len(ends))
            both.append((rank, np.searchsorted(ends[order], values, side)))
        sides.append(both)
    each = np.ones(len(low[0]), dtype=np.int64)
    found = 0
    for ended in product((0, 1), repeat=len(sides)):
        ranks, corners = zip(*_chosen(sides, ended), strict=True)
        found = found + (-1) ** sum(ended) * _sums_below(ranks, each, corners)
    return found


def _chosen(pairs, which):
    return [pair[one] for pair, one in zip(pairs, which, strict=True)]


def _sums_below(ranks, weight, corners):
    """Sum the weights of the points whose ranks are below a corner in all dimensions.

    Ranks of a dimension are 0 to n - 1, each of them once.
    """
    n = len(weight)
    if len(ranks) > 2:
        found = np.zeros(len(corners[0]), dtype=weight.dtype)
        rows = max(AT_ONCE // max(n, 1), 1)
        for begin in range(0, len(found), rows):
            some = slice(begin, begin + rows)
            below = np.ones((len(found[some]), n), dtype=bool)
            for rank, corner in zip(ranks, corners, strict=True):
                below &= rank < corner[some, None]
            found[some] = below @ weight
        return found
    order = np.empty(n, dtype=np.int64)
    order[ranks[0]] = np.arange(n)
    if len(ranks) == 1:
        return _from_zero(weight[order])[corners[0]]
    # A wavelet matrix: the points in the order of the first rank are sorted by the
    # second, bit by bit from the highest, stably; ranges of points follow them.
    rank, weight = ranks[1][order], weight[order]
    first, last = np.zeros_like(corners[0]), corners[0]
    found = np.zeros(len(first), dtype=weight.dtype)
    for bit in reversed(range(n.bit_length())):
        one = (rank >> bit) & 1 == 1
        zeros = _from_zero(~one)
        sums = _from_zero(np.where(one, 0, weight))
        above = (corners[1] >> bit) & 1 == 1
        found += np.where(above, sums[last] - sums[first], 0)
        first, last = (
            np.where(above, zeros[-1] + at - zeros[at], zeros[at])
            for at in (first, last)
        )
        rank, weight = (np.concatenate([v[~one], v[one]]) for v in (rank, weight))
    return found


def _from_zero(values):
    """Cumulative sums that begin with 0."""
    kind = values.dtype if values.dtype != bool else np.int64
    return np.concatenate([np.zeros(1, dtype=kind), np.cumsum(values, dtype=kind)])
