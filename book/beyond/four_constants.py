"""Radius, scale, shift and k: bound, risk, weights and utility at every setting."""

import json
from itertools import product

import numpy as np
from count_grid import within
from scipy import stats

import pseudopost as pp

RADII = (0, 0.05, 0.1, 0.2, 0.3, 0.5)  # 0 stands for LW, which has no ball
SCALES = (0.25, 0.5, 0.75, 1, 1.5, 2)
SHIFTS = (-0.1, 0, 0.1, 0.2, 0.3)
CONSTANTS = (0, 0.7, 0.8, 0.9, 0.95, 1)  # 0 stands for no re-weighting
START = (0, 3, 1, 0)  # places in these lists
KNOTS = 24
EDGE = 0.01  # probability of an edge above which the grid does not hold a posterior


def first_weights(file, radius, scale, shift):
    """LW or CW weights of each distinct count under a scale and a shift."""
    base = file.own.lw if radius == 0 else within(file.values, file.counts, radius)
    return pp.adjust_weights(base, scale, shift)


def chance_in_ball(file, radius=0.2):
    """Chance of a value within the radius of each count, at each point of the grid."""
    low, high = pp.ball_ends(file.values, radius)
    share = file.phi / (file.phi + file.mu)
    below = [
        stats.nbinom.cdf(ends, file.phi[:, None], share[:, None])
        for ends in (np.ceil(low) - 1, np.floor(high))
    ]
    return below[1] - below[0]


def measured(file, weights, in_ball):
    """Epsilon, mean identification risk, mean weight, and distance, under weights.

    Without a pattern the risk of a record is the chance that its own value is close,
    times the expected share of the others that are not. All are missing where so little
    of the file is left that the grid does not hold the posterior.
    """
    own = file.log_posterior(weights * file.counts)
    if file.edge(own) > EDGE:
        return (np.nan,) * 4
    mass = np.exp(own)
    largest = (file.absolute * weights).max(axis=1)
    n = file.counts.sum()
    risk = mass @ (in_ball * (1 - in_ball)) * (n - 1) / n
    return (
        2 * file.expected_largest(largest, own),
        risk @ file.counts / n,
        weights @ file.counts / n,
        mass @ file.measures["distance"],
    )


def at_setting(file, radius, scale, shift, k, in_ball):
    """What :func:`measured` gives at one setting."""
    weights = first_weights(file, radius, scale, shift)
    if k:
        bounds = weights * file.expected_bounds(weights * file.counts)
        weights = pp.reweight(weights, bounds, k)
    return measured(file, weights, in_ball)


def knots(file):
    """Places among the distinct counts at which curves are drawn."""
    return np.unique(np.linspace(0, len(file.values) - 1, KNOTS).round().astype(int))


def table(file):
    """Everything that the picture with sliders shows, as compact JSON.

    Parameters
    ----------
    file : frontier.File

    Returns
    -------
    str
        The four lists of settings; ``counts`` at the knots; ``first``, the weights
        there by radius before scale and shift; and by radius, scale and shift
        ``bounds``, of a record with weight 1 at the knots, ``largest``, and ``found``:
        for each k what :func:`measured` gives.
    """
    in_ball, at = chance_in_ball(file), knots(file)
    bounds, largest, found = [], [], []
    for setting in product(RADII, SCALES, SHIFTS):
        weights = first_weights(file, *setting)
        unweighted = file.expected_bounds(weights * file.counts)
        bounds += rounded(unweighted[at], 2)
        largest.append((weights * unweighted).max())
        for k in CONSTANTS:
            w = pp.reweight(weights, weights * unweighted, k) if k else weights
            found += rounded(measured(file, w, in_ball), 3)
    first = [rounded(first_weights(file, radius, 1, 0)[at], 3) for radius in RADII]
    return json.dumps(
        {
            "lists": [RADII, SCALES, SHIFTS, CONSTANTS],
            "start": START,
            "counts": file.values[at].tolist(),
            "first": first,
            "bounds": bounds,
            "largest": rounded(largest, 3),
            "found": found,
        },
        separators=(",", ":"),
    )


def numbers_of_text(file, table):
    """Numbers for the text around the picture, some of them from its table."""
    in_ball = chance_in_ball(file)
    lw, shifted, cw = (
        at_setting(file, *setting, 0, in_ball)
        for setting in ((0, 1, 0), (0, 1, 0.3), (0.5, 1, 0))
    )
    found = np.array(json.loads(table)["found"], float).reshape(-1, 4)
    return {
        "n-settings": len(found),
        "lw-epsilon": lw[0],
        "lw-distance": lw[3],
        "shifted-epsilon": shifted[0],
        "shifted-distance": shifted[3],
        "cw-epsilon": cw[0],
        "cw-distance": cw[3],
        "risk-low": np.nanmin(found[:, 1]),
        "risk-high": np.nanmax(found[:, 1]),
    }


def rounded(values, digits):
    """Numbers for a page: short, without a zero after the point, None if missing."""
    return [
        None if np.isnan(v) else int(v) if v == int(v) else v
        for v in np.round(values, digits).tolist()
    ]
