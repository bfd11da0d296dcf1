r"""Exchanges of the means that two components of the mixture have at one level.

Where two components overlap, either can have the higher mean at one level of a
predictor, and nearly all records of that level would have to change sides, one by one,
for a sweep to get from one arrangement to the other. An exchange goes there at once.
Coefficients of the two components a and b move along one direction d, by
:math:`t_a` and :math:`t_b`:

.. math:: \beta_a + t_a d, \quad \beta_b + t_b d.

They begin where each has the other's mean at the level and climb by a few steps of
Newton's method, allocations summed out. A draw from the normal around the top is
proposed. The way back begins at the proposal and is computed in the same manner, so the
rule of Metropolis and Hastings is exact under any weights, wherever the climbs end.
"""

import math

import numpy as np

from pseudopost.compiled import compiled
from pseudopost.mixture_sweeps import (
    NOTHING,
    Levels,
    add_part,
    dimensions,
    log_add_and_share,
    log_prior_of_row,
    takes_part,
)

# Steps of a climb, which ends before one that would gain less than so many nats.
STEPS, CLOSE = 5, 0.02
# By how many nats the top may be below where the exchange set out; components whose
# shares are below such a part of the largest do not exchange.
BELOW, LARGE = 12.0, 0.003


def levels_of(X, directions):
    """Prepare exchanges along directions of the coefficients.

    Parameters
    ----------
    X : ndarray, shape (n, R)
    directions : ndarray, shape (L, R)
        Not orthogonal to all records.

    Returns
    -------
    Levels
    """
    along = directions @ X.T
    level, record = np.nonzero(along)
    return Levels(
        directions,
        along @ X / np.sum(along**2, axis=1, keepdims=True),
        np.searchsorted(level, np.arange(len(directions) + 1)),
        record,
        along[level, record],
    )


@compiled()
def at_records(a, b, records):
    """Log-likelihood where the means moved by (a, b) times d, bar a constant.

    Returns
    -------
    height, slope_a, slope_b : float
    complete_a, complete_b : float
        Minus its second derivatives if the allocations were known.
    missing_a, missing_b, missing_ab : float
        To be subtracted from these.
    """
    weight, d, residual_a, residual_b, rest, (shift_a, u), (shift_b, v) = records
    height = slope_a = slope_b = complete_a = complete_b = 0.0
    missing_a = missing_b = missing_ab = 0.0
    for i in range(len(d)):
        one, other = residual_a[i] - a * d[i], residual_b[i] - b * d[i]
        log_a = shift_a - 0.5 * u * one * one
        log_b = shift_b - 0.5 * v * other * other
        both, of_both = log_add_and_share(log_a, log_b)
        total, share_of_both = log_add_and_share(both, rest[i])
        share_a = of_both * share_of_both
        share_b = (1 - of_both) * share_of_both
        score_a, score_b = u * one * d[i], v * other * d[i]
        height += weight[i] * total
        slope_a += weight[i] * share_a * score_a
        slope_b += weight[i] * share_b * score_b
        complete_a += weight[i] * share_a * u * d[i] * d[i]
        complete_b += weight[i] * share_b * v * d[i] * d[i]
        missing_a += weight[i] * share_a * (1 - share_a) * score_a * score_a
        missing_b += weight[i] * share_b * (1 - share_b) * score_b * score_b
        missing_ab -= weight[i] * share_a * share_b * score_a * score_b
    return (
        height,
        slope_a,
        slope_b,
        complete_a,
        complete_b,
        missing_a,
        missing_b,
        missing_ab,
    )


@compiled()
def at_prior(a, b, prior):
    """Log prior of the coefficients that move, its slopes and a normal's curvature.

    That normal touches the prior from below, so a step by it always climbs.
    """
    step, log_t, square, push_a, push_b, (aa, ab, bb), D, K = prior
    height = slope_a = slope_b = curvature = 0.0
    for r in range(len(step)):
        u = push_a[r] + step[r] * (aa * a + ab * b)
        v = push_b[r] + step[r] * (ab * a + bb * b)
        there = square[r] + step[r] * (a * (push_a[r] + u) + b * (push_b[r] + v))
        s2 = math.exp(2 * log_t[r]) + there / D
        precision = step[r] * ((D - 1) / s2 + 4 / (3 + s2)) / D
        height += log_prior_of_row(log_t[r], there, D, K)
        slope_a -= precision * u
        slope_b -= precision * v
        curvature += precision * step[r]
    return height, slope_a, slope_b, curvature * aa, curvature * ab, curvature * bb


@compiled()
def terms(a, b, records, prior):
    """Log posterior at (a, b), its slopes, and a positive definite curvature.

    The curvature is Newton's where that is positive definite, and EM's elsewhere.
    """
    height, slope_a, slope_b, aa, bb, lost_a, lost_b, lost_ab = at_records(
        a, b, records
    )
    prior_height, prior_a, prior_b, prior_aa, prior_ab, prior_bb = at_prior(a, b, prior)
    aa, ab, bb = aa + prior_aa, prior_ab, bb + prior_bb
    newton_a, newton_b, newton_ab = aa - lost_a, bb - lost_b, ab - lost_ab
    if newton_a > 0 and newton_a * newton_b > newton_ab**2:
        aa, ab, bb = newton_a, newton_ab, newton_b
    return height + prior_height, slope_a + prior_a, slope_b + prior_b, (aa, ab, bb)


@compiled()
def climb(a, b, records, prior):
    """Climb from (a, b); return where that ended, the log posterior and curvature."""
    height, slope_a, slope_b, curvature = terms(a, b, records, prior)
    for _ in range(STEPS):
        aa, ab, bb = curvature
        det = aa * bb - ab * ab
        step_a = (bb * slope_a - ab * slope_b) / det
        step_b = (aa * slope_b - ab * slope_a) / det
        if 0.5 * (step_a * slope_a + step_b * slope_b) < CLOSE:
            break
        a, b = a + step_a, b + step_b
        height, slope_a, slope_b, curvature = terms(a, b, records, prior)
    return a, b, height, curvature


@compiled()
def draw_near(a, b, curvature, rng):
    """Draw from the normal around (a, b) with this inverse covariance."""
    aa, ab, bb = curvature
    to_b = rng.standard_normal() / math.sqrt(bb - ab * ab / aa)
    to_a = rng.standard_normal() / math.sqrt(aa) - ab / aa * to_b
    return a + to_a, b + to_b


@compiled()
def log_normal(a, b, curvature):
    """Log density of (a, b) under such a normal around 0, bar a constant."""
    aa, ab, bb = curvature
    square = aa * a * a + 2 * ab * a * b + bb * b * b
    return 0.5 * math.log(aa * bb - ab * ab) - 0.5 * square


@compiled()
def records_of(own, d, a, b, data, state):
    """Gather what a climb needs to know of the records that a direction moves.

    Records in components that take no part stay there, so they have no weight.
    """
    part = takes_part(state.log_share, data.weights.min() < 1)
    weight, rest, y = data.weights[own], np.full(len(own), NOTHING), data.y[own]
    for p in range(len(state.slope)):
        y -= state.slope[p] * data.Z[own, p]
    for i, k in enumerate(state.z[own]):
        if k >= 0 and not part[k]:
            weight[i] = 0.0
    for k in np.flatnonzero(part):
        if k != a and k != b:
            there = y - state.mean[k][own]
            rest = add_part(rest, state.log_share[k], state.sigma[k], there)
    residual_a, residual_b = y - state.mean[a][own], y - state.mean[b][own]
    one = state.log_share[a] - math.log(state.sigma[a]), state.sigma[a] ** -2
    other = state.log_share[b] - math.log(state.sigma[b]), state.sigma[b] ** -2
    return weight, d, residual_a, residual_b, rest, one, other


@compiled()
def prior_of(direction, a, b, state):
    """Gather what a climb needs to know of the prior."""
    K, R = state.beta.shape
    inverse_W = np.linalg.inv(state.T.T @ state.T)
    moving = np.flatnonzero(direction)
    square, push_a, push_b = np.empty((3, len(moving)))
    for r, row in enumerate(moving):
        pushes = inverse_W @ np.ascontiguousarray(state.beta[:, row])
        square[r] = np.sum(pushes * state.beta[:, row])
        push_a[r], push_b[r] = pushes[a], pushes[b]
    inverse = inverse_W[a, a], inverse_W[a, b], inverse_W[b, b]
    step = direction[moving]
    return (
        step,
        state.log_t[moving],
        square,
        push_a,
        push_b,
        inverse,
        dimensions(K, R),
        K,
    )


@compiled()
def exchange(data, state, rng):
    """Try to exchange the means of two components at one level, in place.

    Returns
    -------
    bool
        Whether that was accepted.
    """
    log_share, beta, mean, levels = state.log_share, state.beta, state.mean, data.levels
    large = np.flatnonzero(log_share > log_share.max() + math.log(LARGE))
    if len(large) < 2 or len(levels.direction) == 0:
        return False
    one = int(len(large) * rng.random())
    other = (one + 1 + int((len(large) - 1) * rng.random())) % len(large)
    a, b = large[one], large[other]
    level = int(len(levels.direction) * rng.random())
    between = slice(levels.begin[level], levels.begin[level + 1])
    own, d = levels.record[between], levels.value[between]
    direction = levels.direction[level]
    records = records_of(own, d, a, b, data, state)
    prior = prior_of(direction, a, b, state)
    old = terms(0.0, 0.0, records, prior)[0]
    apart = np.sum(levels.projection[level] * (beta[b] - beta[a]))
    top_a, top_b, top, curvature = climb(apart, -apart, records, prior)
    if not top > old - BELOW:
        return False
    t_a, t_b = draw_near(top_a, top_b, curvature, rng)
    new = terms(t_a, t_b, records, prior)[0]
    forth = log_normal(t_a - top_a, t_b - top_b, curvature)
    top_a, top_b, top, curvature = climb(t_b + apart, t_a - apart, records, prior)
    back = log_normal(top_a, top_b, curvature)
    if (
        not top > new - BELOW
        or not -rng.standard_exponential() < new - old + back - forth
    ):
        return False
    beta[a] += t_a * direction
    beta[b] += t_b * direction
    for i, j in enumerate(own):
        mean[a, j] += t_a * d[i]
        mean[b, j] += t_b * d[i]
    return True
