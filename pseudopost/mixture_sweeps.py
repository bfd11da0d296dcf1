"""Gibbs sweeps over the mixture of regressions, exact under record weights."""

import math

import numpy as np

from pseudopost.compiled import compiled
from pseudopost.mixture_kernels import exp_of_negative

# Of 2 artanh(z) / z in powers of z**2, the highest first.
ARTANH = tuple(2 / (2 * j + 1) for j in range(12, -1, -1))


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
    rest = np.full((K + 1, n), -1e300)
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
    """Records in the order of their components, and where each component begins."""
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
    H = math.log(rng.standard_gamma(occupied * a + C))
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
        if (size[k] == 0) == empty and shift > -200:
            for i in range(len(c)):
                total[i] = log_add(total[i], shift - h * residual[k, i] ** 2)
    return total


@compiled()
def draw_gamma(log_share, gamma, extra, size, C, c, residual, sigma, rng):
    """Draw gamma and the shares of the components without records."""
    K = len(size)
    log_shares, occupied = scale_shares(log_share, size)
    rest = np.full(len(c), -1e300)
    rest = likelihood_left(log_share, size, c, residual, sigma, False, rest)
    old = log_prior_of_gamma(gamma, extra, K, occupied, log_shares, C)
    left = np.sum(
        c * likelihood_left(log_share, size, c, residual, sigma, True, rest)
    )
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
    # The sum of the shares is free; this one makes them independent given allocations.
    a = gamma / K + extra
    log_share += math.log(rng.standard_gamma(occupied * a + C))
    return gamma


@compiled(nogil=True)
def swap(i, j, y, w, ladder, level, state, rng):
    """Let two replicas exchange their levels, their empty components drawn anew."""
    log_share, sigma, gamma, mean, size = state
    K = log_share.shape[1]
    c, C = 1 - w, np.sum(w)
    if not np.any(c > 0):
        c = c[:0]
    change, shares = 0.0, np.empty((2, K))
    for r, a, b in ((0, i, j), (1, j, i)):
        log_shares, occupied = scale_shares(log_share[a], size[a])
        for sign, extra in ((1, ladder[level[b]]), (-1, ladder[level[a]])):
            change += sign * log_prior_of_gamma(
                gamma[a], extra, K, occupied, log_shares, C
            )
        extra = ladder[level[b]]
        shares[r] = draw_empty_shares(
            log_share[a], gamma[a] / K + extra, size[a], occupied, C, rng
        )
        if len(c):
            residual = y - mean[a]
            rest = np.full(len(c), -1e300)
            rest = likelihood_left(
                log_share[a], size[a], c, residual, sigma[a], False, rest
            )
            for sign, share in ((1, log_share[a]), (-1, shares[r])):
                change += sign * np.sum(
                    c
                    * likelihood_left(share, size[a], c, residual, sigma[a], True, rest)
                )
    if -rng.standard_exponential() >= change:
        return False
    log_share[i], log_share[j] = shares[0], shares[1]
    level[i], level[j] = level[j], level[i]
    return True


@compiled()
def draw_coefficients(k, own, y, X, w, c, beta, mean, sigma, shift, rest, prior, rng):
    """Draw the coefficients of one component given allocations, by an elliptical slice.

    The ellipse is that of the weighted conjugate normal; with weights of 1 nothing else
    is left, and the draw is a new one.
    """
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
        others = np.sum(inverse_W[k] * beta[:, r])
        push[r] -= precision[r] * (others - inverse_W[k, k] * beta[k, r])
        P[r, r] += precision[r] * inverse_W[k, k]
    root = np.linalg.cholesky(P)
    noise = rng.standard_normal(R)
    for r in range(R):  # forward
        push[r] = (push[r] - np.sum(root[r, :r] * push[:r])) / root[r, r]
    upper = np.ascontiguousarray(root.T)
    centre, new = push, noise
    for r in range(R - 1, -1, -1):
        centre[r] = (centre[r] - np.sum(upper[r, r + 1 :] * centre[r + 1 :])) / root[r, r]
        new[r] = (new[r] - np.sum(upper[r, r + 1 :] * new[r + 1 :])) / root[r, r]
    if len(c) == 0:
        beta[k] = centre + new
        mean[:] = X @ beta[k]
        return 1
    old = beta[k] - centre
    mean_centre, mean_new = X @ centre, X @ new
    mean_old = mean - mean_centre
    inside = np.zeros(n)
    inside[own] = 1
    h = 0.5 / sigma**2
    level = -rng.standard_exponential() + log_remainder(
        c, inside, rest, shift, h, y, mean_centre, mean_old, mean_new, 1.0, 0.0
    )
    angle = 2 * math.pi * rng.random()
    low, high = angle - 2 * math.pi, angle
    evaluations = 1
    while True:
        cos, sin = math.cos(angle), math.sin(angle)
        evaluations += 1
        found = log_remainder(
            c, inside, rest, shift, h, y, mean_centre, mean_old, mean_new, cos, sin
        )
        if found > level:
            break
        if angle < 0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * rng.random()
    beta[k] = centre + cos * old + sin * new
    mean[:] = mean_centre + cos * mean_old + sin * mean_new
    return evaluations


@compiled()
def log_remainder(c, inside, rest, shift, h, y, centre, old, new, cos, sin):
    """What the conjugate normal leaves out, at one point of the ellipse."""
    total = 0.0
    for i in range(len(c)):
        residual = y[i] - centre[i] - cos * old[i] - sin * new[i]
        term = shift - h * residual * residual
        total += c[i] * (inside[i] * term - log_add(rest[i], term))
    return total


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
    """Draw sigma by slice sampling, with steps as wide as its posterior is."""
    x = math.log(sigma - floor)
    width = 1.0 / math.sqrt(1 + size / 10) + 0.02 if size else 2.0
    level = log_sigma_posterior(x, floor, size, squares, log_share, c, rest, residual)
    level -= rng.standard_exponential()
    low = x - width * rng.random()
    high = low + width
    while (
        log_sigma_posterior(low, floor, size, squares, log_share, c, rest, residual)
        > level
    ):
        low -= width
    while (
        log_sigma_posterior(high, floor, size, squares, log_share, c, rest, residual)
        > level
    ):
        high += width
    while True:
        new = low + (high - low) * rng.random()
        if (
            log_sigma_posterior(new, floor, size, squares, log_share, c, rest, residual)
            >= level
        ):
            return floor + math.exp(new)
        if new < x:
            low = new
        else:
            high = new


@compiled()
def log_share_posterior(x, shape, c, rest, shift, h, residual):
    """Log density of the log of a share given allocations."""
    logp = shape * x - math.exp(x)
    if len(c):
        logp -= log_of_others(c, rest, x + shift, h, residual)
    return logp


@compiled()
def draw_share(x, shape, sigma, c, rest, residual, rng):
    """Draw the log of a share by slice sampling."""
    shift, h = -math.log(sigma), 0.5 / sigma**2
    if len(c) == 0:
        return math.log(rng.standard_gamma(shape))
    width = 3 / math.sqrt(shape)
    level = log_share_posterior(x, shape, c, rest, shift, h, residual)
    level -= rng.standard_exponential()
    low = x - width * rng.random()
    high = low + width
    while log_share_posterior(low, shape, c, rest, shift, h, residual) > level:
        low -= width
    while log_share_posterior(high, shape, c, rest, shift, h, residual) > level:
        high += width
    while True:
        new = low + (high - low) * rng.random()
        if log_share_posterior(new, shape, c, rest, shift, h, residual) >= level:
            return new
        if new < x:
            low = new
        else:
            high = new


@compiled(nogil=True)
def sweep(y, X, w, floor, extra, log_share, beta, sigma, gamma, log_t, T, mean, size, rng):
    """One pass over everything, in place; returns gamma and the weighted likelihood."""
    (n, R), K = X.shape, len(sigma)
    D = max(R, K) + 1
    c = 1 - w
    C = np.sum(w)
    if not np.any(c > 0):
        c = c[:0]
    inverse_W = np.linalg.inv(T.T @ T)
    precision = draw_scales(beta, inverse_W, log_t, D, rng)
    residual = y - mean
    z = allocate(log_share, residual, sigma, rng)
    order, begin = by_component(z, K)
    size[:] = begin[1:] - begin[:-1]
    gamma = draw_gamma(log_share, gamma, extra, size, C, c, residual, sigma, rng)
    after = log_rest(log_share, residual[:, : len(c)], sigma)
    before = np.full(len(c), -1e300)
    rest = before.copy()
    for k in range(K):
        own = order[begin[k] : begin[k + 1]]
        for i in range(len(c)):
            rest[i] = log_add(before[i], after[k + 1, i])
        shift = log_share[k] - math.log(sigma[k])
        draw_coefficients(
            k,
            own,
            y,
            X,
            w,
            c,
            beta,
            mean[k],
            sigma[k],
            shift,
            rest,
            (inverse_W, precision),
            rng,
        )
        residual_k = y - mean[k]
        squares = np.sum(residual_k[own] ** 2)
        sigma[k] = draw_sigma(
            sigma[k], floor, len(own), squares, log_share[k], c, rest, residual_k, rng
        )
        if len(own):
            log_share[k] = draw_share(
                log_share[k],
                gamma / K + extra + len(own),
                sigma[k],
                c,
                rest,
                residual_k,
                rng,
            )
        shift, h = log_share[k] - math.log(sigma[k]), 0.5 / sigma[k] ** 2
        for i in range(len(c)):
            before[i] = log_add(before[i], shift - h * residual_k[i] ** 2)
    if rng.random() < 0.25:
        move_T(T, beta, log_t, D, rng)
    largest = np.max(log_share)
    log_share -= largest + math.log(np.sum(np.exp(log_share - largest)))
    likelihood = log_rest(log_share, y - mean, sigma)[0]
    return gamma, np.sum(w * likelihood) - 0.5 * C * math.log(2 * math.pi)


@compiled(nogil=True)
def run(y, X, w, floor, ladder, state, sweeps, rng):
    """Sweep all replicas, and let neighbours swap; return a trace for now."""
    log_share, beta, sigma, gamma, log_t, T, mean, size, level = state
    L = len(ladder)
    trace = np.empty((sweeps, L, 3))
    swaps = np.zeros((L, 2))
    at = np.empty(L, dtype=np.int64)
    for s in range(sweeps):
        for r in range(L):
            gamma[r], logp = sweep(y, X, w, floor, ladder[level[r]], log_share[r], beta[r], sigma[r], gamma[r], log_t[r], T[r], mean[r], size[r], rng)
            trace[s, level[r], 0] = logp
            trace[s, level[r], 1] = np.sum(size[r] > 0.01 * len(y))
            trace[s, level[r], 2] = r
        for r in range(L):
            at[level[r]] = r
        for l in range(s % 2, L - 1, 2):
            swaps[l, 1] += 1
            swaps[l, 0] += swap(at[l], at[l + 1], y, w, ladder, level, (log_share, sigma, gamma, mean, size), rng)
    return trace, swaps
