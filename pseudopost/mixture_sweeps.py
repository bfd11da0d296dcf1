r"""Gibbs sweeps over the mixture of regressions, exact under record weights.

With :math:`S_i = \sum_k \pi_k \phi_k(y_i)` the pseudo posterior is the marginal of

.. math::

    p(\theta) \prod_i S_i^{\alpha_i} \, p(z_i \mid \theta), \quad
    p(z_i = k \mid \theta) = \pi_k \phi_k(y_i) / S_i,

so allocations z are drawn as without weights. Given them, the coefficients of a
component have the weighted conjugate normal density times
:math:`\prod_i p(z_i \mid \theta)^{1 - \alpha_i}`: an elliptical slice. With weights of
1 the second factor is 1, and all is Gibbs sampling.

The correlations of Eq 5 stay integrated out (:func:`triangular_factor`): given T and a
predictor's t, its coefficients have the density :math:`(1 + |g|^2 / D)^{-(D - 1) / 2}
(1 + s^2 / 3)^{-2}`, a mixture of normals over two gamma variables.

Components die easily and are born rarely. So replicas are run at several levels, whose
Dirichlet shapes are :math:`\gamma / K` and more; the more, the more components have
records. Neighbours swap levels, and the lowest, with nothing added, is the posterior.
"""

import math
from typing import NamedTuple

import numpy as np

from pseudopost.compiled import compiled
from pseudopost.mixture_kernels import exp_of_negative
from pseudopost.mixture_starts import expectation_maximization

# Of 2 artanh(z) / z in powers of z**2, the highest first; more are not vectorised.
ARTANH = tuple(2 / (2 * j + 1) for j in range(12, -1, -1))
# Log of 0 where an infinity would make NaN of a difference.
NOTHING = -1e300


class Records(NamedTuple):
    """What is fitted: log y (n,), X (n, R), weights (n,) and the floor of sigma.

    ``left`` is 1 less the weights, or empty where all weights are 1.
    """

    y: np.ndarray
    X: np.ndarray
    weights: np.ndarray
    left: np.ndarray
    floor: float


class Replicas(NamedTuple):
    """Where the L replicas are; the sum of exp(log_share) means nothing."""

    log_share: np.ndarray  # (L, K)
    beta: np.ndarray  # (L, K, R)
    sigma: np.ndarray  # (L, K)
    gamma: np.ndarray  # (L,)
    log_t: np.ndarray  # (L, R)
    T: np.ndarray  # (L, K, K)
    mean: np.ndarray  # (L, K, n)
    size: np.ndarray  # (L, K), records of each component
    level: np.ndarray  # (L,), a permutation


def records(log_y, X, weights, min_sigma):
    """Collect what is fitted, as the compiled sweeps take it."""
    left = 1.0 - weights
    return Records(
        np.ascontiguousarray(log_y, dtype=float),
        np.ascontiguousarray(X, dtype=float),
        np.ascontiguousarray(weights, dtype=float),
        left if left.any() else left[:0],
        float(min_sigma),
    )


def replicas(data, K, occupied, levels, seed, starts=3):
    """Start all replicas from one weighted maximum likelihood fit.

    Parameters
    ----------
    data : Records
    K : int
    occupied : int
        Components of that fit, at most K; the others start empty.
    levels : int
    seed : int
        Seed of the fit's random starts.
    starts : int
        The best of so many is taken.

    Returns
    -------
    Replicas
    """
    fits = [
        expectation_maximization(
            data.y, data.X, data.weights, occupied, data.floor, seed + j
        )
        for j in range(starts)
    ]
    _, pi, beta, sigma, _ = max(fits, key=lambda fit: fit[0])
    empty = K - occupied
    share = np.concatenate([pi, np.full(empty, 0.01 / max(empty, 1))])
    beta = np.concatenate([beta, np.repeat(beta[:1], empty, axis=0)])
    sigma = np.concatenate([sigma, np.full(empty, sigma.max())])
    log_t = np.log(np.clip(np.sqrt((beta**2).mean(axis=0)), 0.05, None))
    one = (np.log(share), beta, sigma, 1.0, log_t, np.eye(K), beta @ data.X.T)
    stacked = [np.repeat(np.asarray(v)[None], levels, axis=0) for v in one]
    return Replicas(*stacked, np.zeros((levels, K), dtype=np.int64), np.arange(levels))


def at_lowest(state):
    """Copy what a fit keeps from the replica that is at the lowest level."""
    r = int(np.flatnonzero(state.level == 0)[0])
    log_share, beta, T = state.log_share[r], state.beta[r].copy(), state.T[r]
    share = np.exp(log_share - log_share.max())
    g = np.linalg.solve(T.T, beta) * np.exp(-state.log_t[r])
    q = 1 + (g**2).sum(axis=0) / dimensions(*beta.shape)
    return {
        "gamma": float(state.gamma[r]),
        "pi": share / share.sum(),
        "beta": beta,
        "sigma": state.sigma[r].copy(),
        "s": np.exp(state.log_t[r]) * np.sqrt(q),
    }


@compiled()
def dimensions(K, R):
    """Return D of :func:`triangular_factor`."""
    return max(R, K) + 1


@compiled(inline="always")
def log_add(u, v):
    """Log of exp(u) + exp(v), written so that it is vectorised."""
    x = exp_of_negative(-abs(u - v))
    z = x / (2 + x)
    value, square = 0.0, z * z
    for coefficient in ARTANH:
        value = value * square + coefficient
    return max(u, v) + z * value


@compiled()
def log_rest(log_share, residual, sigma):
    """Log of what the components from the k-th on add to each record's likelihood."""
    K, n = residual.shape
    rest = np.full((K + 1, n), NOTHING)
    for k in range(K - 1, -1, -1):
        shift, h = log_share[k] - math.log(sigma[k]), 0.5 / sigma[k] ** 2
        for i in range(n):
            rest[k, i] = log_add(rest[k + 1, i], shift - h * residual[k, i] ** 2)
    return rest


@compiled()
def log_of_others(c, rest, shift, h, residual):
    """Sum of c log(exp(rest) + a) over the records, a one component's part."""
    total = 0.0
    for i in range(len(c)):
        total += c[i] * log_add(rest[i], shift - h * residual[i] ** 2)
    return total


@compiled()
def log_half_t(value):
    """Log density of the half-t(3, 0, 1), bar a constant."""
    return -2 * math.log1p(value * value / 3)


@compiled()
def allocate(log_share, residual, sigma, rng):
    """Draw the component of every record given its value."""
    K, n = residual.shape
    share, largest = np.empty((K, n)), np.full(n, -np.inf)
    level, below = rng.random(n), np.zeros(n)
    z = np.zeros(n, dtype=np.int64)
    for k in range(K):
        shift, h = log_share[k] - math.log(sigma[k]), 0.5 / sigma[k] ** 2
        for i in range(n):
            share[k, i] = shift - h * residual[k, i] ** 2
            largest[i] = max(largest[i], share[k, i])
    for k in range(K):
        for i in range(n):
            share[k, i] = exp_of_negative(share[k, i] - largest[i])
            below[i] += share[k, i]
    level *= below
    below[:] = 0
    for k in range(K - 1):
        for i in range(n):
            below[i] += share[k, i]
            z[i] += below[i] < level[i]
    return z


@compiled()
def by_component(z, K):
    """Sort the records by component, and say where each component begins."""
    begin = np.zeros(K + 1, dtype=np.int64)
    for k in z:
        begin[k + 1] += 1
    begin = np.cumsum(begin)
    at, order = begin[:-1].copy(), np.empty(len(z), dtype=np.int64)
    for i in range(len(z)):
        order[at[z[i]]] = i
        at[z[i]] += 1
    return order, begin


@compiled()
def log_prior_of_row(log_t, square, D, K):
    """Log prior of a predictor's coefficients and of log t, given their square."""
    q = 1 + square * math.exp(-2 * log_t) / D
    s = math.exp(log_t) * math.sqrt(q)
    return -0.5 * (D - 1) * math.log(q) + log_half_t(s) - (K - 1) * log_t


@compiled()
def draw_scales(beta, inverse_W, log_t, D, rng):
    """Draw log t by Metropolis steps, then the precision of each predictor's row."""
    K, R = beta.shape
    precision = np.empty(R)
    for r in range(R):
        b = np.ascontiguousarray(beta[:, r])
        square = np.sum(b * (inverse_W @ b))
        old = log_prior_of_row(log_t[r], square, D, K)
        for _ in range(3):
            proposed = log_t[r] + 0.5 * rng.standard_normal()
            new = log_prior_of_row(proposed, square, D, K)
            if -rng.standard_exponential() < new - old:
                log_t[r], old = proposed, new
        t2 = math.exp(2 * log_t[r])
        q = 1 + square / (t2 * D)
        one = rng.standard_gamma(0.5 * (D - 1)) / q
        two = rng.standard_gamma(2.0) / (1 + t2 * q / 3)
        precision[r] = 2 * (one + two * t2 / 3) / (D * t2)
    return precision


@compiled()
def log_prior_of_T(T, beta, log_t, D):
    """Log prior of T and of the coefficients given T and t, bar a constant."""
    K, R = beta.shape
    logp = 0.0
    for k in range(K):
        diagonal = T[k, k] * math.sqrt(D)
        logp += (D - k - 1) * math.log(diagonal) - 0.5 * diagonal**2
        logp -= R * math.log(T[k, k]) + 0.5 * D * np.sum(T[k, k + 1 :] ** 2)
    g, square = np.empty((K, R)), np.zeros(R)
    for k in range(K):
        g[k] = beta[k]
        for j in range(k):
            g[k] -= T[j, k] * g[j]
        g[k] /= T[k, k]
        square += g[k] ** 2
    for r in range(R):
        logp += log_prior_of_row(log_t[r], square[r], D, K)
    return logp


@compiled()
def move_T(T, beta, log_t, D, rng):
    """Metropolis steps for the triangle that correlates the components."""
    K = len(T)
    old, step = log_prior_of_T(T, beta, log_t, D), 1 / math.sqrt(D)
    for k in range(K):
        for j in range(k, K):
            kept, noise = T[k, j], step * rng.standard_normal()
            T[k, j] = kept * math.exp(noise) if j == k else kept + noise
            new = log_prior_of_T(T, beta, log_t, D)
            jacobian = noise if j == k else 0.0
            if -rng.standard_exponential() < new - old + jacobian:
                old = new
            else:
                T[k, j] = kept


@compiled()
def log_gamma_draw(shape, rng):
    """Log of a Gamma(shape, 1) draw, which may be far below what a float can hold."""
    return math.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential() / shape


@compiled()
def log_prior_of_gamma(gamma, extra, K, occupied, log_shares, C):
    """Log density of gamma, what the empty components have integrated out."""
    a = gamma / K + extra
    return (
        -gamma
        + math.lgamma(K * a)
        - math.lgamma(K * a + C)
        + math.lgamma(occupied * a + C)
        - occupied * math.lgamma(a)
        + a * log_shares
    )


@compiled()
def scale_shares(log_share, size):
    """Give the components with records a sum of 1; return the sum of their logs."""
    largest, total, sum_of_logs, occupied = -np.inf, 0.0, 0.0, 0
    for k in range(len(size)):
        if size[k] > 0:
            largest = max(largest, log_share[k])
    for k in range(len(size)):
        if size[k] > 0:
            total += math.exp(log_share[k] - largest)
    log_share -= largest + math.log(total)
    for k in range(len(size)):
        if size[k] > 0:
            sum_of_logs += log_share[k]
            occupied += 1
    return sum_of_logs, occupied


@compiled()
def draw_empty_shares(log_share, a, size, occupied, C, rng):
    """Draw the shares of the components without records, where the others sum to 1."""
    H = log_gamma_draw(occupied * a + C, rng)
    new = log_share.copy()
    for k in range(len(size)):
        if size[k] == 0:
            new[k] = log_gamma_draw(a, rng) - H
    return new


@compiled()
def likelihood_left(log_share, size, c, residual, sigma, empty, rest):
    """Sum of c log(likelihood): of the occupied components, or `rest` and the empty."""
    total = rest.copy()
    for k in range(len(size)):
        shift, h = log_share[k] - math.log(sigma[k]), 0.5 / sigma[k] ** 2
        if (size[k] == 0) == empty:
            for i in range(len(c)):
                total[i] = log_add(total[i], shift - h * residual[k, i] ** 2)
    return total


@compiled()
def draw_gamma(log_share, gamma, extra, size, C, c, residual, sigma, rng):
    """Draw gamma and the shares of the components without records."""
    K = len(size)
    log_shares, occupied = scale_shares(log_share, size)
    rest = np.full(len(c), NOTHING)
    rest = likelihood_left(log_share, size, c, residual, sigma, False, rest)
    old = log_prior_of_gamma(gamma, extra, K, occupied, log_shares, C)
    left = np.sum(c * likelihood_left(log_share, size, c, residual, sigma, True, rest))
    for step in range(3):
        noise = 0.7 * rng.standard_normal() if step else 0.0
        proposed = gamma * math.exp(noise)
        new = log_prior_of_gamma(proposed, extra, K, occupied, log_shares, C)
        if -rng.standard_exponential() >= new - old + noise:
            continue
        shares = draw_empty_shares(
            log_share, proposed / K + extra, size, occupied, C, rng
        )
        new_left = np.sum(
            c * likelihood_left(shares, size, c, residual, sigma, True, rest)
        )
        if -rng.standard_exponential() < left - new_left:
            gamma, old, left = proposed, new, new_left
            log_share[:] = shares
    # Their sum is free; with this one the shares are independent given allocations.
    largest = np.max(log_share)
    log_share -= largest + math.log(np.sum(np.exp(log_share - largest)))
    log_share += log_gamma_draw(gamma + K * extra + C, rng)
    return gamma


@compiled()
def draw_normal(P, push, rng):
    """Mean of a normal of precision P, and a draw of what is around it."""
    R = len(push)
    root = np.linalg.cholesky(P)
    upper = np.ascontiguousarray(root.T)
    centre, around = push.copy(), rng.standard_normal(R)
    for r in range(R):
        centre[r] = (centre[r] - np.sum(root[r, :r] * centre[:r])) / root[r, r]
    for r in range(R - 1, -1, -1):
        tail = upper[r, r + 1 :]
        centre[r] = (centre[r] - np.sum(tail * centre[r + 1 :])) / root[r, r]
        around[r] = (around[r] - np.sum(tail * around[r + 1 :])) / root[r, r]
    return centre, around


@compiled()
def draw_coefficients(k, own, data, beta, mean, sigma, shift, rest, prior, rng):
    """Draw the coefficients of one component given allocations, in place."""
    y, X, w, c, _ = data
    n, R = X.shape
    inverse_W, precision = prior
    X_k, y_k = np.empty((len(own), R)), np.empty(len(own))
    for i, j in enumerate(own):
        root = math.sqrt(w[j]) / sigma
        y_k[i] = root * y[j]
        for r in range(R):
            X_k[i, r] = root * X[j, r]
    P, push = X_k.T @ X_k, X_k.T @ y_k
    for r in range(R):
        others = np.sum(inverse_W[k] * beta[:, r]) - inverse_W[k, k] * beta[k, r]
        push[r] -= precision[r] * others
        P[r, r] += precision[r] * inverse_W[k, k]
    centre, new = draw_normal(P, push, rng)
    if len(c) == 0:
        beta[k] = centre + new
        mean[:] = X @ beta[k]
        return
    old = beta[k] - centre
    mean_centre, mean_new = X @ centre, X @ new
    mean_old = mean - mean_centre
    inside = np.zeros(n)
    inside[own] = 1
    h, residual = 0.5 / sigma**2, y - mean_centre
    level = log_remainder(
        c, inside, rest, shift, h, residual, mean_old, mean_new, 1.0, 0.0
    )
    level -= rng.standard_exponential()
    angle = 2 * math.pi * rng.random()
    low, high = angle - 2 * math.pi, angle
    while True:
        cos, sin = math.cos(angle), math.sin(angle)
        found = log_remainder(
            c, inside, rest, shift, h, residual, mean_old, mean_new, cos, sin
        )
        if found >= level:
            beta[k] = centre + cos * old + sin * new
            mean[:] = mean_centre + cos * mean_old + sin * mean_new
            return
        if angle < 0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * rng.random()


@compiled()
def log_remainder(c, inside, rest, shift, h, residual, old, new, cos, sin):
    """Compute what the conjugate normal leaves out, at one point of the ellipse."""
    total = 0.0
    for i in range(len(c)):
        there = residual[i] - cos * old[i] - sin * new[i]
        term = shift - h * there * there
        total += c[i] * (inside[i] * term - log_add(rest[i], term))
    return total


@compiled()
def slice_draw(log_density, x, width, given, rng):
    """Move x by slice sampling, with at most 20 steps outwards (Neal 2003)."""
    level = log_density(x, *given) - rng.standard_exponential()
    low = x - width * rng.random()
    high = low + width
    left = int(20 * rng.random())
    right = 19 - left
    while left > 0 and log_density(low, *given) > level:
        low -= width
        left -= 1
    while right > 0 and log_density(high, *given) > level:
        high += width
        right -= 1
    while True:
        new = low + (high - low) * rng.random()
        if log_density(new, *given) >= level:
            return new
        if new < x:
            low = new
        else:
            high = new


@compiled()
def log_sigma_posterior(x, floor, size, squares, log_share, c, rest, residual):
    """Log density of x = log(sigma - floor) given allocations."""
    excess = math.exp(x)
    sigma = floor + excess
    logp = log_half_t(excess) + x - size * math.log(sigma) - 0.5 * squares / sigma**2
    if len(c):
        shift = log_share - math.log(sigma)
        logp -= log_of_others(c, rest, shift, 0.5 / sigma**2, residual)
    return logp


@compiled()
def draw_sigma(sigma, floor, size, squares, log_share, c, rest, residual, rng):
    """Draw sigma, in steps as wide as its posterior is."""
    x = math.log(sigma - floor)
    width = 1.0 / math.sqrt(1 + size / 10) + 0.02 if size else 2.0
    given = floor, size, squares, log_share, c, rest, residual
    return floor + math.exp(slice_draw(log_sigma_posterior, x, width, given, rng))


@compiled()
def log_share_posterior(x, shape, c, rest, shift, h, residual):
    """Log density of the log of a share given allocations."""
    logp = shape * x - math.exp(x)
    if len(c):
        logp -= log_of_others(c, rest, x + shift, h, residual)
    return logp


@compiled()
def draw_share(x, shape, sigma, c, rest, residual, rng):
    """Draw the log of a share."""
    if len(c) == 0:
        return math.log(rng.standard_gamma(shape))
    given = shape, c, rest, -math.log(sigma), 0.5 / sigma**2, residual
    return slice_draw(log_share_posterior, x, 3 / math.sqrt(shape), given, rng)


@compiled()
def sweep(r, data, state, extra, rng):
    """One pass over everything in a replica."""
    y, _, w, c, floor = data
    log_share, beta, sigma = state.log_share[r], state.beta[r], state.sigma[r]
    mean, size, T, log_t = state.mean[r], state.size[r], state.T[r], state.log_t[r]
    K, R = beta.shape
    D = dimensions(K, R)
    inverse_W = np.linalg.inv(T.T @ T)
    prior = inverse_W, draw_scales(beta, inverse_W, log_t, D, rng)
    residual = y - mean
    order, begin = by_component(allocate(log_share, residual, sigma, rng), K)
    size[:] = begin[1:] - begin[:-1]
    state.gamma[r] = draw_gamma(
        log_share, state.gamma[r], extra, size, np.sum(w), c, residual, sigma, rng
    )
    after = log_rest(log_share, residual[:, : len(c)], sigma)
    before = np.full(len(c), NOTHING)
    rest = before.copy()
    for k in range(K):
        own = order[begin[k] : begin[k + 1]]
        for i in range(len(c)):
            rest[i] = log_add(before[i], after[k + 1, i])
        shift = log_share[k] - math.log(sigma[k])
        draw_coefficients(
            k, own, data, beta, mean[k], sigma[k], shift, rest, prior, rng
        )
        residual_k = y - mean[k]
        squares = np.sum(residual_k[own] ** 2)
        sigma[k] = draw_sigma(
            sigma[k], floor, len(own), squares, log_share[k], c, rest, residual_k, rng
        )
        if len(own):
            shape = state.gamma[r] / K + extra + len(own)
            log_share[k] = draw_share(
                log_share[k], shape, sigma[k], c, rest, residual_k, rng
            )
        shift, h = log_share[k] - math.log(sigma[k]), 0.5 / sigma[k] ** 2
        for i in range(len(c)):
            before[i] = log_add(before[i], shift - h * residual_k[i] ** 2)
    if rng.random() < 0.25:  # dear, and the data say little about it
        move_T(T, beta, log_t, D, rng)


@compiled()
def swap(i, j, data, state, levels, rng):
    """Let two replicas exchange levels, their empty components drawn anew."""
    y, _, w, c, _ = data
    (_, K), C, change = state.log_share.shape, np.sum(w), 0.0
    shares = np.empty((2, K))
    for r, a, b in ((0, i, j), (1, j, i)):
        log_share, sigma, size = state.log_share[a], state.sigma[a], state.size[a]
        gamma, residual = state.gamma[a], y - state.mean[a]
        ours, theirs = levels[state.level[a]], levels[state.level[b]]
        logs, occupied = scale_shares(log_share, size)
        change += log_prior_of_gamma(gamma, theirs, K, occupied, logs, C)
        change -= log_prior_of_gamma(gamma, ours, K, occupied, logs, C)
        shares[r] = draw_empty_shares(
            log_share, gamma / K + theirs, size, occupied, C, rng
        )
        rest = np.full(len(c), NOTHING)
        rest = likelihood_left(log_share, size, c, residual, sigma, False, rest)
        for sign, share in ((1, log_share), (-1, shares[r])):
            with_empty = likelihood_left(share, size, c, residual, sigma, True, rest)
            change += sign * np.sum(c * with_empty)
    if -rng.standard_exponential() >= change:
        return False
    state.log_share[i], state.log_share[j] = shares[0], shares[1]
    state.level[i], state.level[j] = state.level[j], state.level[i]
    return True


@compiled(nogil=True)
def run(data, state, levels, sweeps, rng):
    """Sweep all replicas so often, in place, with swaps after each sweep.

    Parameters
    ----------
    data : Records
    state : Replicas
    levels : ndarray, shape (L,)
        What is added to the Dirichlet shape of each component; the first is 0.
    sweeps : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (L - 1,)
        Swaps between a level and the next.
    """
    L = len(levels)
    swaps, at = np.zeros(L - 1, dtype=np.int64), np.empty(L, dtype=np.int64)
    for s in range(sweeps):
        for r in range(L):
            sweep(r, data, state, levels[state.level[r]], rng)
        for r in range(L):
            at[state.level[r]] = r
        for level in range(s % 2, L - 1, 2):
            swaps[level] += swap(at[level], at[level + 1], data, state, levels, rng)
    return swaps
