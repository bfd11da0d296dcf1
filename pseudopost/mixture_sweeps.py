r"""Gibbs sweeps over the mixture of regressions, exact under record weights.

With :math:`S_i = \sum_k \pi_k \phi_k(y_i)` the pseudo posterior is
:math:`p(\theta) \prod_i S_i^{\alpha_i}`. In each sweep a record counts with probability
:math:`\alpha_i`, and if it does, it is allocated to a component as without weights,
:math:`p(z_i = k) = \pi_k \phi_k(y_i) / S_i`. Given who counts and the allocations,

.. math::

    p(\theta) \prod_{i \text{ counts}} \pi_{z_i} \phi_{z_i}(y_i)
    \prod_i S_i^{\alpha_i - 1(i \text{ counts})},

whose sum over both is the pseudo posterior again. The first product is that of a Gibbs
sampler. The exponents of the second have mean 0; it is left to slices: an elliptical
one for the coefficients of a component, around their conjugate normal. With weights of
1 it is 1, and all is Gibbs sampling.

The correlations of Eq 5 are integrated out. A matrix :math:`\Omega \sim
\mathrm{LKJ}(1)` is :math:`U U'` with R rows drawn uniformly on the sphere in
:math:`D = R + 1` dimensions; D must be above K, and a larger D gives
:math:`\mathrm{LKJ}((D - R + 1) / 2)`. So the :math:`R \times K` matrix of coefficients
is :math:`\mathrm{diag}(s) U W` with standard normal W. Split W into orthonormal columns
times a triangular K by K matrix T: row r becomes :math:`s_r v_r T`, with :math:`v_r`
the first K coordinates of a uniform point on the sphere, and :math:`T'T \sim
\mathrm{Wishart}(D, I)`. With :math:`t_r = s_r \sqrt{1 - |v_r|^2}` and
:math:`g_r = t_r^{-1} \beta_r T^{-1}`, a row has the density
:math:`(1 + |g_r|^2 / D)^{-(D - 1) / 2} (1 + s_r^2 / 3)^{-2}`, where T is divided by
:math:`\sqrt D`: a mixture of normals over two gamma variables.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from scipy import special

from pseudopost.compiled import compiled

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
# Of the exponential in powers of x, and of 2 artanh(z) / z in powers of z**2 up to 1/9,
# the highest first: shares and logs are within 1e-13, also shares far below that.
EXPONENTIAL = tuple(1 / math.factorial(j) for j in range(7, -1, -1))
ARTANH = tuple(
    Chebyshev.interpolate(
        lambda square: 2 * np.arctanh(np.sqrt(square)) / np.sqrt(square), 7, [0, 1 / 9]
    )
    .convert(kind=Polynomial)
    .coef[::-1]
)
# Of erfc(x) exp(x**2) (1 + 2 x) in powers of (x - 3) / (x + 3): within 1e-10.
ERFC = tuple(
    Chebyshev.interpolate(
        lambda u: special.erfcx(3 * (1 + u) / (1 - u)) * (1 + 6 * (1 + u) / (1 - u)), 14
    )
    .convert(kind=Polynomial)
    .coef[::-1]
)
# Log of 0 where an infinity would make NaN of a difference.
NOTHING = -1e300
# Turns of the ellipse in a sweep, for a component with more records than coefficients.
TURNS = 4
# How often a component without records is updated, and how often shared slopes are:
# they cost much, and little depends on them.
EMPTY, SHARED = 0.25, 0.3
# With weights of 1 no records come to or leave components whose shares are below such a
# part of the largest, until their shares are above it.
NEGLIGIBLE = 1e-6


class Levels(NamedTuple):
    """Directions of the coefficients, such as one for each level of a predictor."""

    direction: np.ndarray  # (L, R)
    # (L, R), of coefficients their mean at the level, or their slope along a number
    projection: np.ndarray
    begin: np.ndarray  # (L + 1,), where in the next two each direction begins
    record: np.ndarray  # records that it moves
    value: np.ndarray  # X times the direction there


NO_LEVELS = Levels(
    *np.empty((2, 0, 0)), np.zeros(1, int), np.empty(0, int), np.empty(0)
)


class Rows(NamedTuple):
    """What is not 0 in each row of a matrix; empty where that is more than half."""

    count: np.ndarray  # (n,)
    # (n, largest count), small so that more of it stays at hand
    place: np.ndarray
    value: np.ndarray  # (n, largest count)


NO_ROWS = Rows(np.empty(0, int), np.empty((0, 0), np.uint32), np.empty((0, 0)))


class Records(NamedTuple):
    """What is fitted."""

    y: np.ndarray  # (n,), log y
    X: np.ndarray  # (n, R), predictors whose coefficients differ by component
    weights: np.ndarray  # (n,)
    floor: float  # of sigma
    # (n, P), predictors whose coefficients the components share
    Z: np.ndarray = np.empty((0, 0))
    levels: Levels = NO_LEVELS
    rows: Rows = NO_ROWS  # of X; without them products are of all that is in X


class State(NamedTuple):
    """Where a chain is; the sum of exp(log_share) means nothing."""

    log_share: np.ndarray  # (K,)
    beta: np.ndarray  # (K, R)
    sigma: np.ndarray  # (K,)
    gamma: np.ndarray  # (1,)
    log_t: np.ndarray  # (R,)
    T: np.ndarray  # (K, K)
    # (K, n); not kept up where a component has no records and takes no part.
    mean: np.ndarray
    z: np.ndarray  # (n,), the component of each record, -1 where it does not count
    size: np.ndarray  # (K,), records of each component
    slope: np.ndarray  # (P,), coefficients of Z
    log_scale: np.ndarray  # (P,), logs of their prior scales


def draw_of(state):
    """Copy what a fit keeps from where a chain is."""
    share = np.exp(state.log_share - state.log_share.max())
    g = np.linalg.solve(state.T.T, state.beta) * np.exp(-state.log_t)
    q = 1 + (g**2).sum(axis=0) / dimensions(*g.shape)
    return {
        "gamma": float(state.gamma[0]),
        "pi": share / share.sum(),
        "beta": state.beta.copy(),
        "sigma": state.sigma.copy(),
        "s": np.exp(state.log_t) * np.sqrt(q),
        "slope": state.slope.copy(),
        "scale": np.exp(state.log_scale),
    }


@compiled()
def dimensions(K, R):
    """Return D, which the correlations were integrated out in."""
    return max(R, K) + 1


@compiled(inline="always")
def exp_of_negative(x):
    """Exponential of a number of 0 or less, written so that it is vectorised.

    Below -40 it is 0: in a sum with exp(0) the term is lost in rounding.
    """
    value = 0.0
    for coefficient in EXPONENTIAL:
        value = value * (x / 128) + coefficient
    for _ in range(7):
        value *= value
    return 0.0 if x < -40.0 else value


@compiled(nogil=True)
def normal_mixture(y, mean, log_pi, log_sigma):
    """Log density of each value, shape (n,), and its share per component, (K, n)."""
    K, n = mean.shape
    share, largest, total = np.empty((K, n)), np.full(n, -np.inf), np.zeros(n)
    constant = log_pi - log_sigma - HALF_LOG_2PI
    inverse = np.exp(-log_sigma)
    for k in range(K):
        for i in range(n):
            z = (y[i] - mean[k, i]) * inverse[k]
            share[k, i] = constant[k] - 0.5 * z * z
            largest[i] = max(largest[i], share[k, i])
    for k in range(K):
        for i in range(n):
            share[k, i] = exp_of_negative(share[k, i] - largest[i])
            total[i] += share[k, i]
    share /= total
    return largest + np.log(total), share


@compiled()
def expected_below(share, mean, scale, point):
    """Sum of shares of normals below a point each, and of their densities there.

    The sds are 1 / (sqrt(2) scale). Written so that it is vectorised.
    """
    below = density = 0.0
    for i in range(len(share)):
        z = (point[i] - mean[i]) * scale
        far = min(abs(z), 10.0)
        u, at = (far - 3) / (far + 3), exp_of_negative(-far * far)
        value = 0.0
        for coefficient in ERFC:
            value = value * u + coefficient
        beyond = 0.5 * value * at / (1 + 2 * far)
        below += share[i] * (beyond if z < 0 else 1 - beyond)
        density += share[i] * at
    return below, density * scale / math.sqrt(math.pi)


@compiled(nogil=True)
def released(share, mean, sigma, points, low, high):
    """Distribution of released logarithms, given the confidential ones.

    Returns
    -------
    distribution, density : ndarray, shape (points,)
        Averaged over the records.
    between : float
        Mean chance to be between the record's own `low` and `high`.
    """
    K, n = share.shape
    distribution, density, between = np.zeros(len(points)), np.zeros(len(points)), 0.0
    for k in range(K):
        own = np.flatnonzero(share[k] > 1e-9)
        part, middle = share[k][own], mean[k][own]
        scale = 1 / (math.sqrt(2.0) * sigma[k])
        between += expected_below(part, middle, scale, high[own])[0]
        between -= expected_below(part, middle, scale, low[own])[0]
        for j, point in enumerate(points):
            point = np.full(len(own), point)
            below, there = expected_below(part, middle, scale, point)
            distribution[j] += below
            density[j] += there
    return distribution / n, density / n, between / n


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
def add_part(total, log_share, sigma, residual):
    """Log of exp(total) and what one component adds to each record's likelihood."""
    shift, h = log_share - math.log(sigma), 0.5 / sigma**2
    found = np.empty_like(total)
    for i in range(len(total)):
        found[i] = log_add(total[i], shift - h * residual[i] ** 2)
    return found


@compiled()
def log_rest(log_share, residual, sigma):
    """Log of what the components from the k-th on add to each record's likelihood."""
    K, n = residual.shape
    rest = np.full((K + 1, n), NOTHING)
    for k in range(K - 1, -1, -1):
        rest[k] = add_part(rest[k + 1], log_share[k], sigma[k], residual[k])
    return rest


@compiled(inline="always")
def log_add_and_share(u, v):
    """Log of exp(u) + exp(v), and the share that exp(u) has in it."""
    x = exp_of_negative(-abs(u - v))
    z, part = x / (2 + x), 1 / (1 + x)
    value, square = 0.0, z * z
    for coefficient in ARTANH:
        value = value * square + coefficient
    return max(u, v) + z * value, part if u > v else x * part


@compiled()
def likelihood_left(left, rest, shift, h, residual):
    """Sum of left * log(exp(rest) + a) over the records, a one component's part."""
    total = 0.0
    for i in range(len(left)):
        total += left[i] * log_add(rest[i], shift - h * residual[i] ** 2)
    return total


@compiled()
def log_half_t(value):
    """Log density of the half-t(3, 0, 1), bar a constant."""
    return -2 * math.log1p(value * value / 3)


@compiled()
def allocate(log_share, residual, sigma, power, rng):
    """Draw the component of every record given its value, by pi_k phi_k(y) ** power."""
    K, n = residual.shape
    share, largest = np.empty((K, n)), np.full(n, -np.inf)
    level, below = rng.random(n), np.zeros(n)
    z = np.zeros(n, dtype=np.int64)
    for k in range(K):
        log_sigma, h = math.log(sigma[k]), 0.5 / sigma[k] ** 2
        for i in range(n):
            share[k, i] = log_share[k] - power[i] * (
                log_sigma + h * residual[k, i] ** 2
            )
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
def takes_part(log_share, weighted):
    """Say of each component whether records may come to it and leave it."""
    return (log_share > log_share.max() + math.log(NEGLIGIBLE)) | weighted


@compiled()
def residuals_of(components, y, mean):
    """Compute what the means of some components leave of each value, (those, n)."""
    found = np.empty((len(components), len(y)))
    for j, k in enumerate(components):
        for i in range(len(y)):
            found[j, i] = y[i] - mean[k, i]
    return found


@compiled()
def reallocate(z, taking_part, log_share, y, mean, sigma, rng):
    """Draw components among those that take part, of the records that are in one."""
    among = np.flatnonzero(taking_part)
    residual, power = residuals_of(among, y, mean), np.ones(len(z))
    new = among[allocate(log_share[among], residual, sigma[among], power, rng)]
    for i in range(len(z)):
        if z[i] < 0 or taking_part[z[i]]:
            z[i] = new[i]


@compiled()
def by_component(z, K):
    """Sort the records by component, and say where each component begins."""
    begin = np.zeros(K + 1, dtype=np.int64)
    for k in z:
        if k >= 0:
            begin[k + 1] += 1
    begin = np.cumsum(begin)
    at, order = begin[:-1].copy(), np.empty(begin[-1], dtype=np.int64)
    for i in range(len(z)):
        if z[i] >= 0:
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
    precision, square = np.empty(R), np.sum(beta * (inverse_W @ beta), axis=0)
    for r in range(R):
        old = log_prior_of_row(log_t[r], square[r], D, K)
        for _ in range(3):
            proposed = log_t[r] + 0.5 * rng.standard_normal()
            new = log_prior_of_row(proposed, square[r], D, K)
            if -rng.standard_exponential() < new - old:
                log_t[r], old = proposed, new
        t2 = math.exp(2 * log_t[r])
        q = 1 + square[r] / (t2 * D)
        one = rng.standard_gamma(0.5 * (D - 1)) / q
        two = rng.standard_gamma(2.0) / (1 + t2 * q / 3)
        precision[r] = 2 * (one + two * t2 / 3) / (D * t2)
    return precision


@compiled()
def solve_triangle(T, beta, g, first):
    """Solve T'g = beta in place, in the rows from `first` on, given those before."""
    K, R = beta.shape
    for k in range(first, K):
        for r in range(R):
            g[k, r] = beta[k, r]
        for j in range(k):
            for r in range(R):
                g[k, r] -= T[j, k] * g[j, r]
        for r in range(R):
            g[k, r] /= T[k, k]


@compiled()
def log_prior_of_T(T, g, log_t, D):
    """Log prior of T and, given T and t, of the coefficients T'g, bar a constant."""
    K, R = g.shape
    logp, square = 0.0, np.zeros(R)
    for k in range(K):
        diagonal = T[k, k] * math.sqrt(D)
        logp += (D - k - 1) * math.log(diagonal) - 0.5 * diagonal**2
        logp -= R * math.log(T[k, k])
        for j in range(k + 1, K):
            logp -= 0.5 * D * T[k, j] ** 2
        for r in range(R):
            square[r] += g[k, r] ** 2
    for r in range(R):
        logp += log_prior_of_row(log_t[r], square[r], D, K)
    return logp


@compiled()
def move_T(T, beta, log_t, D, rng):
    """Metropolis steps for the triangle that correlates the components.

    They go by columns: before a column the rows of g stay as they are.
    """
    g = np.empty_like(beta)
    solve_triangle(T, beta, g, 0)
    tried = g.copy()
    old, step = log_prior_of_T(T, g, log_t, D), 1 / math.sqrt(D)
    for j in range(len(T)):
        for k in range(j + 1):
            kept, noise = T[k, j], step * rng.standard_normal()
            T[k, j] = kept * math.exp(noise) if j == k else kept + noise
            solve_triangle(T, beta, tried, j)
            new = log_prior_of_T(T, tried, log_t, D)
            jacobian = noise if j == k else 0.0
            if -rng.standard_exponential() < new - old + jacobian:
                old = new
                g[j:] = tried[j:]
            else:
                T[k, j] = kept
                tried[j:] = g[j:]


@compiled()
def log_gamma_draw(shape, rng):
    """Log of a Gamma(shape, 1) draw, which may be far below what a float can hold."""
    return math.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential() / shape


@compiled()
def log_prior_of_gamma(gamma, extra, K, occupied, log_shares, total):
    """Log density of gamma, what the empty components have integrated out."""
    a = gamma / K + extra
    return (
        -gamma
        + math.lgamma(K * a)
        - math.lgamma(K * a + total)
        + (math.lgamma(occupied * a + total) if occupied else 0.0)
        - occupied * math.lgamma(a)
        + a * log_shares
    )


@compiled()
def scale_shares(log_share, size):
    """Give the components with records a sum of 1; return the sum of their logs."""
    occupied = np.sum(size > 0)
    if occupied == 0:
        return 0.0, 0
    largest, total, sum_of_logs = -np.inf, 0.0, 0.0
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
    return sum_of_logs, occupied


@compiled()
def draw_empty_shares(log_share, a, size, occupied, total, rng):
    """Draw the shares of the components without records, where the others sum to 1."""
    scale = log_gamma_draw(occupied * a + total, rng) if occupied else 0.0
    new = log_share.copy()
    for k in range(len(size)):
        if size[k] == 0:
            new[k] = log_gamma_draw(a, rng) - scale
    return new


@compiled()
def log_of_sum(log_share, size, residual, sigma, empty, rest):
    """Log of exp(rest) and the parts of the empty, or of the other, components."""
    total = rest
    for k in range(len(size)):
        if (size[k] == 0) == empty:
            total = add_part(total, log_share[k], sigma[k], residual[k])
    return total


@compiled()
def draw_gamma(log_share, gamma, extra, size, total, left, residual, sigma, rng):
    """Draw gamma and the shares of the components without records."""
    K = len(size)
    log_shares, occupied = scale_shares(log_share, size)
    rest = np.full(len(left), NOTHING)
    rest = log_of_sum(log_share, size, residual, sigma, False, rest)
    old = log_prior_of_gamma(gamma, extra, K, occupied, log_shares, total)
    old_left = np.sum(left * log_of_sum(log_share, size, residual, sigma, True, rest))
    for _ in range(1 if len(left) else 4):
        noise = 0.7 * rng.standard_normal()
        proposed = gamma * math.exp(noise)
        new = log_prior_of_gamma(proposed, extra, K, occupied, log_shares, total)
        shares = draw_empty_shares(
            log_share, proposed / K + extra, size, occupied, total, rng
        )
        new_left = np.sum(left * log_of_sum(shares, size, residual, sigma, True, rest))
        if -rng.standard_exponential() < new - old + noise + new_left - old_left:
            gamma, old, old_left = proposed, new, new_left
            log_share[:] = shares
    # Their sum is free; with this one the shares are independent given allocations.
    largest = np.max(log_share)
    log_share -= largest + math.log(np.sum(np.exp(log_share - largest)))
    log_share += log_gamma_draw(gamma + K * extra + total, rng)
    return gamma


@compiled()
def solve_transposed(root, x):
    """Solve root' x = the given x, in place; return it."""
    for r in range(len(x) - 1, -1, -1):
        x[r] /= root[r, r]
        for c in range(r):
            x[c] -= root[r, c] * x[r]
    return x


@compiled()
def solve(root, push):
    """Solve P x = push, with the Cholesky root of P."""
    x = push.copy()
    for r in range(len(x)):
        total = 0.0
        for c in range(r):
            total += root[r, c] * x[c]
        x[r] = (x[r] - total) / root[r, r]
    return solve_transposed(root, x)


@compiled()
def draw_around(root, rng):
    """Draw from the normal of mean 0 whose precision has this Cholesky root."""
    return solve_transposed(root, rng.standard_normal(len(root)))


@compiled()
def cross_products(own, X, y):
    """Sum the products of predictors, and y, with each other over some records."""
    n, R = len(own), X.shape[1]
    both = np.empty((n, R + 1))
    for i, j in enumerate(own):
        both[i, R] = y[j]
        for r in range(R):
            both[i, r] = X[j, r]
    return both.T @ both


def rows_of(X):
    """Find what is not 0 in each row."""
    count = np.count_nonzero(X, axis=1)
    width = count.max()
    if 2 * width > X.shape[1]:
        return NO_ROWS
    place = np.argsort(X == 0, axis=1, kind="stable")[:, :width]
    value = np.take_along_axis(X, place, axis=1)
    return Rows(count, place.astype(np.uint32), value)


@compiled()
def sparse_cross_products(own, rows, y, R):
    """Compute :func:`cross_products` from what is not 0."""
    found = np.zeros((R + 1, R + 1))
    for j in own:
        place, value = rows.place[j], rows.value[j]
        for p in range(rows.count[j]):
            row = found[place[p]]
            for q in range(p, rows.count[j]):
                row[place[q]] += value[p] * value[q]
            row[R] += value[p] * y[j]
        found[R, R] += y[j] ** 2
    for r in range(R + 1):
        found[r:, r] = found[r, r:]
    return found


@compiled()
def gram_of(data):
    """Products of X with X, Z and y, (R, R + P + 1); empty if a weight is below 1."""
    R, P = data.X.shape[1], data.Z.shape[1]
    if data.weights.min() < 1:
        return np.empty((0, 0))
    found = np.empty((R, R + P + 1))
    found[:, :R], found[:, R + P] = data.X.T @ data.X, data.y @ data.X
    if P:
        found[:, R : R + P] = data.X.T @ data.Z
    return found


@compiled()
def products_by_component(order, begin, data, slope, gram):
    """Cross products of X and what `slope` leaves of y, by component, in `data`.

    Shape (K, R + 1, R + 1). Where all records count, those of the largest component are
    what the others leave of `gram`, which is of y itself.
    """
    K, R = len(begin) - 1, data.X.shape[1]
    found, largest = np.zeros((K, R + 1, R + 1)), -1
    if len(gram):
        largest = np.argmax(begin[1:] - begin[:-1])
        found[largest, :R, :R] = gram[:, :R]
        push = gram[:, -1].copy()
        for p in range(len(slope)):
            push -= slope[p] * gram[:, R + p]
        found[largest, :R, R] = found[largest, R, :R] = push
        found[largest, R, R] = np.sum(data.y**2)
    for k in range(K):
        own = order[begin[k] : begin[k + 1]]
        if k != largest and len(own):
            if len(data.rows.count):
                found[k] = sparse_cross_products(own, data.rows, data.y, R)
            else:
                found[k] = cross_products(own, data.X, data.y)
            if len(gram):
                found[largest] -= found[k]
    return found


@compiled()
def pull_of_others(k, beta, inverse_W):
    """Sum what the other components add to the prior's mean of one's coefficients."""
    K, R = beta.shape
    found = np.zeros(R)
    for j in range(K):
        if j != k:
            for r in range(R):
                found[r] -= inverse_W[k, j] * beta[j, r]
    return found


@compiled()
def conjugate(k, products, beta, sigma, prior):
    """Cholesky root of the precision of a component's coefficients, and their mean."""
    R = beta.shape[1]
    inverse_W, precision = prior
    P, push = products[:R, :R] / sigma**2, products[:R, R] / sigma**2
    pull = pull_of_others(k, beta, inverse_W)
    for r in range(R):
        push[r] += precision[r] * pull[r]
        P[r, r] += precision[r] * inverse_W[k, k]
    root = np.linalg.cholesky(P)
    return root, solve(root, push)


@compiled()
def draw_from_prior(k, beta, prior, rng):
    """Draw the coefficients of a component that has no records, in place."""
    inverse_W, precision = prior
    centre = pull_of_others(k, beta, inverse_W) / inverse_W[k, k]
    noise = rng.standard_normal(len(centre))
    beta[k] = centre + noise / np.sqrt(precision * inverse_W[k, k])


@compiled()
def squared_residuals(products, coefficients):
    """Sum of the squared residuals of the records that the cross products are of."""
    R = len(coefficients)
    total = products[R, R]
    for r in range(R):
        row = np.sum(products[r, :R] * coefficients) - 2 * products[r, R]
        total += coefficients[r] * row
    return max(total, 0.0)


def ellipse_sampler(log_likelihood):
    """Return a function that moves coefficients by slices of `log_likelihood`."""

    @compiled()
    def turn(old, mean_old, turns, X, given, rng):
        """Turn towards each row of `turns` (Murray, Adams and MacKay 2010).

        Coefficients are differences from their normal's centre, and means are X times
        them. Returns both.
        """
        means = turns @ X.T
        found = log_likelihood(mean_old, mean_old, 1.0, 0.0, *given)
        for t in range(len(turns)):
            new, mean_new = turns[t], means[t]
            level = found - rng.standard_exponential()
            angle = 2 * math.pi * rng.random()
            low, high = angle - 2 * math.pi, angle
            while True:
                cos, sin = math.cos(angle), math.sin(angle)
                found = log_likelihood(mean_old, mean_new, cos, sin, *given)
                if found >= level:
                    break
                if angle < 0:
                    low = angle
                else:
                    high = angle
                angle = low + (high - low) * rng.random()
            old = cos * old + sin * new
            mean_old = cos * mean_old + sin * mean_new
        return old, mean_old

    return turn


@compiled()
def likelihood_on_ellipse(old, new, cos, sin, left, rest, shift, h, residual):
    """Compute :func:`likelihood_left` where the mean is cos old + sin new."""
    total = 0.0
    for i in range(len(left)):
        there = residual[i] - cos * old[i] - sin * new[i]
        total += left[i] * log_add(rest[i], shift - h * there * there)
    return total


turn_component = ellipse_sampler(likelihood_on_ellipse)


@compiled()
def draw_coefficients(
    k, size, products, data, beta, mean, sigma, shift, rest, left, prior, rng
):
    """Draw the coefficients of one component given allocations, in place.

    The means are updated only where something is left. Returns the sum of the squared
    residuals of the component's own records.
    """
    if size == 0 and len(left) == 0:
        draw_from_prior(k, beta, prior, rng)
        return 0.0
    root, centre = conjugate(k, products, beta, sigma, prior)
    if len(left) == 0:
        beta[k] = centre + draw_around(root, rng)
        return squared_residuals(products, beta[k])
    mean_centre = data.X @ centre
    turns = np.empty((TURNS if size > len(centre) else 1, len(centre)))
    for new in turns:
        new[:] = draw_around(root, rng)
    given = left, rest, shift, 0.5 / sigma**2, data.y - mean_centre
    old, mean_old = turn_component(
        beta[k] - centre, mean - mean_centre, turns, data.X, given, rng
    )
    beta[k], mean[:] = centre + old, mean_centre + mean_old
    return squared_residuals(products, beta[k])


def slice_sampler(log_density):
    """Return a function that moves x by slice sampling of `log_density`."""

    @compiled()
    def draw(x, width, given, rng):
        """Step out at most 20 times (Neal 2003)."""
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

    return draw


@compiled()
def log_sigma_posterior(x, floor, size, squares, log_share, left, rest, residual):
    """Log density of x = log(sigma - floor) given allocations."""
    excess = math.exp(x)
    sigma = floor + excess
    shift, h = log_share - math.log(sigma), 0.5 / sigma**2
    return (
        log_half_t(excess)
        + x
        - size * math.log(sigma)
        - h * squares
        + likelihood_left(left, rest, shift, h, residual)
    )


slice_sigma = slice_sampler(log_sigma_posterior)


@compiled()
def draw_sigma(sigma, floor, size, squares, log_share, left, rest, residual, rng):
    """Draw sigma, in steps as wide as its posterior is."""
    x = math.log(sigma - floor)
    width = 1.0 / math.sqrt(1 + size / 10) + 0.02 if size else 2.0
    given = floor, size, squares, log_share, left, rest, residual
    return floor + math.exp(slice_sigma(x, width, given, rng))


@compiled()
def log_share_posterior(x, shape, left, rest, shift, h, residual):
    """Log density of the log of a share given allocations."""
    return shape * x - math.exp(x) + likelihood_left(left, rest, x + shift, h, residual)


slice_share = slice_sampler(log_share_posterior)


@compiled()
def draw_share(x, shape, sigma, left, rest, residual, rng):
    """Draw the log of a share."""
    if len(left) == 0:
        return math.log(rng.standard_gamma(shape))
    given = shape, left, rest, -math.log(sigma), 0.5 / sigma**2, residual
    return slice_share(x, 3 / math.sqrt(shape), given, rng)


@compiled()
def log_scale_posterior(x, slope):
    """Log density of the log of the prior scale of a slope."""
    return log_half_t(math.exp(x)) - 0.5 * (slope * math.exp(-x)) ** 2


slice_scale = slice_sampler(log_scale_posterior)


@compiled()
def mixture_on_ellipse(
    old, new, cos, sin, left, residual, log_share, sigma, mean, total
):
    """Sum of left times the logs of S where all means move by cos old + sin new."""
    total[:] = NOTHING
    for k in range(len(sigma)):
        shift, h = log_share[k] - math.log(sigma[k]), 0.5 / sigma[k] ** 2
        for i in range(len(left)):
            there = residual[i] - mean[k, i] - cos * old[i] - sin * new[i]
            total[i] = log_add(total[i], shift - h * there * there)
    return np.sum(left * total)


turn_slopes = ellipse_sampler(mixture_on_ellipse)


@compiled()
def draw_slopes(order, begin, data, left, state, rng):
    """Draw the slopes that the components share, in place, and their prior scales."""
    slope, log_scale, mean, sigma = (
        state.slope,
        state.log_scale,
        state.mean,
        state.sigma,
    )
    P = len(slope)
    precision, push = np.zeros((P, P)), np.zeros(P)
    for p in range(P):
        log_scale[p] = slice_scale(log_scale[p], 2.0, (slope[p],), rng)
        precision[p, p] = math.exp(-2 * log_scale[p])
    for k in range(len(sigma)):
        own = order[begin[k] : begin[k + 1]]
        if len(own):
            products = cross_products(own, data.Z, data.y - mean[k]) / sigma[k] ** 2
            precision += products[:P, :P]
            push += products[:P, P]
    root = np.linalg.cholesky(precision)
    centre, new = solve(root, push), draw_around(root, rng)
    if len(left) == 0:
        slope[:] = centre + new
        return
    residual, total = data.y - data.Z @ centre, np.empty(len(left))
    given = left, residual, state.log_share, sigma, mean, total
    old = slope - centre
    old, _ = turn_slopes(old, data.Z @ old, new.reshape(1, P), data.Z, given, rng)
    slope[:] = centre + old


@compiled()
def who_counts(z, weights, rng):
    """Take back the allocation of records that do not count, and say what is left.

    Nothing is left, an empty array, where all weights are 1.
    """
    left = np.empty(len(z) if weights.min() < 1 else 0)
    for i in range(len(left)):
        counts = rng.random() < weights[i]
        left[i] = weights[i] - counts
        if not counts:
            z[i] = -1
    return left


@compiled()
def which_move(log_share, size, weighted, rng):
    """Say of each component whether its coefficients and sigma are drawn.

    This must not depend on them.
    """
    fresh = takes_part(log_share, False) & (not weighted)
    return (size > 0) | fresh | (rng.random(len(size)) < EMPTY)


@compiled()
def update_means(which, data, beta, mean):
    """Compute the means of some components, in place, four of them at a time."""
    which, rows = np.flatnonzero(which), data.rows
    if len(rows.count) == 0:
        found = beta[which] @ data.X.T
        for j, k in enumerate(which):
            mean[k] = found[j]
        return
    four = np.zeros((beta.shape[1], 4))
    for begin in range(0, len(which), 4):
        some = which[begin : begin + 4]
        # Some of them twice, where there are fewer.
        a, b, c, d = some[0], some[1 % len(some)], some[2 % len(some)], some[-1]
        for j, k in enumerate((a, b, c, d)):
            four[:, j] = beta[k]
        for i in range(len(rows.count)):
            one = two = three = last = 0.0
            for p in range(rows.count[i]):
                row, value = four[rows.place[i, p]], rows.value[i, p]
                one += value * row[0]
                two += value * row[1]
                three += value * row[2]
                last += value * row[3]
            mean[a, i], mean[b, i], mean[c, i], mean[d, i] = one, two, three, last


@compiled()
def sweep(data, gram, state, extra, rng):
    """One pass over everything."""
    log_share, beta, sigma, gamma, log_t, T, mean, z, size, slope, _ = state
    (K, R), total = beta.shape, np.sum(data.weights)
    D, weighted = dimensions(K, R), len(gram) == 0
    inverse_W = np.linalg.inv(T.T @ T)
    prior = inverse_W, draw_scales(beta, inverse_W, log_t, D, rng)
    given = data
    if len(slope):
        y = data.y - data.Z @ slope
        data = Records(
            y, data.X, data.weights, data.floor, data.Z, data.levels, data.rows
        )
    part = takes_part(log_share, weighted)
    reallocate(z, part, log_share, data.y, mean, sigma, rng)
    left = who_counts(z, data.weights, rng)
    n = len(left)
    residual = residuals_of(np.arange(K), data.y[:n], mean)
    order, begin = by_component(z, K)
    size[:] = begin[1:] - begin[:-1]
    gamma[0] = draw_gamma(
        log_share, gamma[0], extra, size, total, left, residual, sigma, rng
    )
    after = log_rest(log_share, residual, sigma)
    before = np.full(n, NOTHING)
    rest = before.copy()
    moves = which_move(log_share, size, weighted, rng)
    products = products_by_component(order, begin, data, slope, gram)
    for k in range(K):
        if moves[k]:
            for i in range(n):
                rest[i] = log_add(before[i], after[k + 1, i])
            shift = log_share[k] - math.log(sigma[k])
            squares = draw_coefficients(
                k,
                size[k],
                products[k],
                data,
                beta,
                mean[k],
                sigma[k],
                shift,
                rest,
                left,
                prior,
                rng,
            )
            there = data.y[:n] - mean[k, :n]
            sigma[k] = draw_sigma(
                sigma[k],
                data.floor,
                size[k],
                squares,
                log_share[k],
                left,
                rest,
                there,
                rng,
            )
            if size[k]:
                shape = gamma[0] / K + extra + size[k]
                log_share[k] = draw_share(
                    log_share[k], shape, sigma[k], left, rest, there, rng
                )
        there = data.y[:n] - mean[k, :n]
        before = add_part(before, log_share[k], sigma[k], there)
    if not weighted:
        update_means((size > 0) | takes_part(log_share, False), data, beta, mean)
    if len(slope) and rng.random() < SHARED:
        draw_slopes(order, begin, given, left, state, rng)
    if rng.random() < 0.1:  # dear, and the data say little about it
        move_T(T, beta, log_t, D, rng)
