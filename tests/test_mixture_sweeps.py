"""The compiled parts of a sweep; whole sweeps are compared with models in test_mixture_fits."""

from itertools import pairwise

import numpy as np
import pytest
from mixtures import by_scipy, two_groups
from scipy import stats
from scipy.special import expit

from pseudopost import mixture_sweeps as sweeps
from pseudopost.compiled import compiled
from pseudopost.mixture_chains import run
from pseudopost.mixture_starts import start

pytestmark = pytest.mark.slow


# Densities and shares


def values(n=7, K=3):
    """y, mean, log_pi and log_sigma."""
    rng = np.random.default_rng(1)
    log_pi = np.log(rng.dirichlet(np.ones(K)))
    log_sigma = rng.uniform(np.log(0.3), np.log(2), size=K)
    return rng.normal(size=n), rng.normal(size=(K, n)), log_pi, log_sigma


def replaced(case, **changes):
    names = ("y", "mean", "log_pi", "log_sigma")
    return tuple(changes.get(k, v) for k, v in zip(names, case, strict=True))


def far_values():
    y, mean, log_pi, log_sigma = values()
    far = mean + (np.exp(log_sigma) * np.array([40.0, -40.0, 38.0]))[:, None]
    far[:, 0] = mean[:, 0]
    return y, far, log_pi, log_sigma


CASES = {
    "ordinary": values(),
    "many": values(n=200, K=20),
    "one component": values(K=1),
    "one record": values(n=1),
    "one of each": values(n=1, K=1),
    "tiny share": replaced(values(), log_pi=np.log([1e-300, 0.3, 0.7])),
    "no share": replaced(values(), log_pi=np.array([-np.inf, *np.log([0.3, 0.7])])),
    "narrow": replaced(values(), log_sigma=np.log([0.05, 0.06, 0.05])),
    "narrow and wide": replaced(values(), log_sigma=np.log([0.05, 50, 1])),
    "far": far_values(),
    "huge": replaced(values(), y=1e8 * values()[0]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_density_and_shares(case):
    logp, share = sweeps.normal_mixture(*case)
    expected_logp, expected_share = by_scipy(*case)
    np.testing.assert_allclose(logp, expected_logp, rtol=1e-12)
    np.testing.assert_allclose(share, expected_share, rtol=0, atol=1e-13)
    np.testing.assert_allclose(share.sum(axis=0), 1, rtol=1e-14)


def test_a_component_without_share_changes_nothing():
    y, mean, log_pi, log_sigma = CASES["no share"]
    logp, share = sweeps.normal_mixture(y, mean, log_pi, log_sigma)
    alone, share_alone = sweeps.normal_mixture(y, mean[1:], log_pi[1:], log_sigma[1:])
    np.testing.assert_array_equal(logp, alone)
    np.testing.assert_array_equal(share, np.vstack([0 * y, share_alone]))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_mean_that_is_not_finite_is_not_hidden(bad):
    y, mean, log_pi, log_sigma = values()
    mean[1, 2] = bad
    logp, _ = sweeps.normal_mixture(y, mean, log_pi, log_sigma)
    assert np.isnan(logp[2]) == np.isnan(bad)
    assert np.isfinite(np.delete(logp, 2)).all()


def test_exponential_of_negative_numbers():
    x = np.concatenate([-np.linspace(0, 40, 10_001), [-40.1, -800, -1e6, -np.inf]])
    actual = np.array([sweeps.exp_of_negative(value) for value in x])
    np.testing.assert_allclose(actual[:-4], np.exp(x[:-4]), rtol=0, atol=5e-14)
    assert actual[0] == 1
    assert (actual[-4:] == 0).all()
    assert np.isnan(sweeps.exp_of_negative(np.nan))


def test_log_add():
    rng = np.random.default_rng(1)
    u, v = rng.normal(0, 20, size=(2, 1000))
    v[:3] = sweeps.NOTHING, u[1], u[2] - 800
    ours = [sweeps.log_add(a, b) for a, b in zip(u, v, strict=True)]
    np.testing.assert_allclose(ours, np.logaddexp(u, v), rtol=1e-13, atol=1e-13)


def test_log_of_the_rest():
    rng = np.random.default_rng(2)
    log_share, sigma = np.log(rng.dirichlet(np.ones(4))), rng.uniform(0.1, 2, size=4)
    residual = rng.normal(size=(4, 9))
    rest = sweeps.log_rest(log_share, residual, sigma)
    for k in range(4):
        expected, _ = by_scipy(0.0, residual[k:], log_share[k:], np.log(sigma[k:]))
        constant = 0.5 * np.log(2 * np.pi)
        np.testing.assert_allclose(rest[k], expected + constant, rtol=0, atol=1e-13)
    assert (rest[4] == sweeps.NOTHING).all()


def test_log_of_a_sum_and_the_share_in_it():
    rng = np.random.default_rng(1)
    u, v = rng.normal(0, 20, size=(2, 1000))
    v[:3] = sweeps.NOTHING, u[1], u[2] - 800
    pairs = list(zip(u, v, strict=True))
    ours = np.array([sweeps.log_add_and_share(a, b) for a, b in pairs])
    np.testing.assert_array_equal(ours[:, 0], [sweeps.log_add(a, b) for a, b in pairs])
    np.testing.assert_allclose(ours[:, 1], expit(u - v), rtol=0, atol=1e-13)


def test_what_is_expected_below_a_point():
    z = np.concatenate([np.linspace(-8, 8, 4001), [-50, 50, -np.inf, np.inf]])
    for value in z:
        below, density = sweeps.expected_below(
            np.array([0.3]), np.array([1.0]), 0.5, np.array([1.0 + value])
        )
        normal = stats.norm(0, np.sqrt(2))
        np.testing.assert_allclose(below, 0.3 * normal.cdf(value), rtol=0, atol=1e-10)
        np.testing.assert_allclose(density, 0.3 * normal.pdf(value), rtol=0, atol=1e-14)


def test_distribution_of_released_values():
    y, mean, log_pi, log_sigma = values(n=50, K=4)
    log_pi[1] = -np.inf
    sigma, points = np.exp(log_sigma), np.array([-1.0, 0.2, 2.0])
    low, high = y - 0.3, y + 0.2
    low[0] = -np.inf
    _, share = by_scipy(y, mean, log_pi, log_sigma)
    component = stats.norm(mean, sigma[:, None])
    expected = (
        [(share * component.cdf(point)).sum() / 50 for point in points],
        [(share * component.pdf(point)).sum() / 50 for point in points],
        (share * (component.cdf(high) - component.cdf(low))).sum() / 50,
    )
    found = sweeps.released(share, mean, sigma, points, low, high)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7)  # leaves out shares of 1e-9


# Allocations


@pytest.mark.parametrize("power", [1.0, 0.3, 0.0])
def test_allocations_follow_the_shares_of_the_components(power):
    rng = np.random.default_rng(3)
    log_share, sigma = np.log([0.2, 0.5, 0.3]), np.array([0.5, 1.0, 2.0])
    residual = np.array([1.0, -0.5, 3.0])
    score = np.exp(log_share) * stats.norm.pdf(residual, 0, sigma) ** power
    share = score / score.sum()
    z = sweeps.allocate(
        log_share,
        np.repeat(residual[:, None], 60_000, axis=1),
        sigma,
        np.full(60_000, power),
        rng,
    )
    error = np.sqrt(share * (1 - share) / 60_000)
    assert (abs(np.bincount(z) / 60_000 - share) < 4 * error).all()


def test_every_record_has_its_own_power():
    log_share, sigma = np.log([0.5, 0.5]), np.array([1.0, 1.0])
    residual, power = np.array([[0.0] * 4000, [30.0] * 4000]), np.tile([0.0, 1.0], 2000)
    z = sweeps.allocate(log_share, residual, sigma, power, np.random.default_rng(3))
    assert (z[1::2] == 0).all()
    assert abs(z[::2].mean() - 0.5) < 4 * np.sqrt(0.25 / 2000)


def test_a_component_takes_part_unless_its_share_is_negligible():
    log_share = np.log([1e-9, 0.7, 0.3, 1e-5, 6e-7]) + 4
    assert sweeps.takes_part(log_share, False).tolist() == [0, 1, 1, 1, 0]
    assert sweeps.takes_part(log_share, True).all()


def test_records_move_among_components_that_take_part():
    rng = np.random.default_rng(3)
    z = np.tile([-1, 0, 1, 2], 30_000)
    before, part = z.copy(), np.array([True, False, True])
    # The last component is at all values as the first is, the other is nearer.
    log_share, y = np.log([0.2, 0.5, 0.3]), rng.normal(size=len(z))
    mean = np.stack([y + 1, y, y - 1])
    sweeps.reallocate(z, part, log_share, y, mean, np.ones(3), rng)
    stays = before == 1
    assert (z[stays] == 1).all()
    assert not (z[~stays] == 1).any()
    share = (z[~stays] == 0).reshape(-1, 3).mean(axis=0)
    assert (abs(share - 0.4) < 4 * np.sqrt(0.24 / 30_000)).all()


@pytest.mark.parametrize("weighted", [True, False])
def test_which_components_move(weighted):
    log_share, size = np.log([0.9, 1e-9, 1e-3, 1e-9]), np.array([60, 9, 0, 0])
    rng, often = np.random.default_rng(3), sweeps.EMPTY
    moves = [sweeps.which_move(log_share, size, weighted, rng) for _ in range(4000)]
    expected = [1, 1, often if weighted else 1, often]
    error = np.sqrt(often * (1 - often) / 4000)
    np.testing.assert_allclose(np.mean(moves, axis=0), expected, atol=4 * error)


def test_who_counts():
    weights = np.tile([0.0, 0.2, 0.7, 1.0], 20_000)
    z = np.arange(80_000) % 5
    allocated = z.copy()
    left = sweeps.who_counts(z, weights, np.random.default_rng(4))
    counts = z >= 0
    np.testing.assert_array_equal(z[counts], allocated[counts])
    assert (z[~counts] == -1).all()
    np.testing.assert_array_equal(left, weights - counts)
    error = np.sqrt(weights[:4] * (1 - weights[:4]) / 20_000)
    assert (abs(left.reshape(-1, 4).mean(axis=0)) <= 4 * error).all()


def test_with_weights_of_one_all_count_and_nothing_is_left():
    z = np.array([2, 0, 1])
    left = sweeps.who_counts(z, np.ones(3), np.random.default_rng(4))
    assert left.shape == (0,)
    assert z.tolist() == [2, 0, 1]


def test_records_by_component():
    z = np.array([2, 0, -1, 2, 2, 0, 3, -1])
    order, begin = sweeps.by_component(z, 5)
    assert begin.tolist() == [0, 2, 2, 5, 6, 6]
    assert [sorted(order[a:b]) for a, b in pairwise(begin)] == [
        [1, 5],
        [],
        [0, 3, 4],
        [6],
        [],
    ]


def test_log_of_a_gamma_draw_of_any_shape():
    rng = np.random.default_rng(4)
    draws = [sweeps.log_gamma_draw(0.7, rng) for _ in range(20_000)]
    assert stats.kstest(np.exp(draws), stats.gamma(0.7).cdf).pvalue > 1e-4
    assert sweeps.log_gamma_draw(1e-6, rng) < -1000


# Coefficients


def test_conjugate_normal_of_the_coefficients():
    rng = np.random.default_rng(5)
    y, X, beta = rng.normal(size=9), rng.normal(size=(9, 3)), rng.normal(size=(2, 3))
    own, sigma, precision = np.array([0, 3, 4, 8]), 0.4, np.array([0.5, 1.0, 3.0])
    W = np.array([[2.0, 0.6], [0.6, 1.0]])
    prior = np.linalg.inv(W), precision
    products = sweeps.cross_products(own, X, y)
    root, mean = sweeps.conjugate(0, products, beta, sigma, prior)
    # Row r has covariance W / precision[r], so the first given the second is regression.
    P = np.diag(precision / (W[0, 0] - W[0, 1] ** 2 / W[1, 1]))
    push = P @ (W[0, 1] / W[1, 1] * beta[1]) + X[own].T @ y[own] / sigma**2
    P += X[own].T @ X[own] / sigma**2
    np.testing.assert_allclose(root @ root.T, P, rtol=1e-12)
    np.testing.assert_allclose(mean, np.linalg.solve(P, push), rtol=1e-12)


def sparse(n=40, R=7):
    """A matrix with at most 3 of 7 values that are not 0 in a row; one has none."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(n, R)) * (rng.random((n, R)).argsort(axis=1) < 3)
    X[4], X[5, :2] = 0, 0
    return X


def test_rows_of_what_is_not_zero():
    X = sparse()
    rows = sweeps.rows_of(X)
    assert rows.place.shape == rows.value.shape == (40, 3)
    again = np.zeros_like(X)
    for i, count in enumerate(rows.count):
        again[i, rows.place[i, :count]] = rows.value[i, :count]
    np.testing.assert_array_equal(again, X)
    assert len(sweeps.rows_of(X[:, :5]).count) == 0  # more than half


@pytest.mark.parametrize("slopes", [0, 2])
@pytest.mark.parametrize("all_count", [True, False])
@pytest.mark.parametrize("by_rows", [True, False])
def test_cross_products_by_component(all_count, by_rows, slopes):
    rng, X = np.random.default_rng(9), sparse()
    y, Z = rng.normal(9, 1, size=40), rng.normal(size=(40, slopes))
    slope, weights = rng.normal(size=slopes), np.ones(40)
    z = rng.choice([0, 2, 3] if all_count else [-1, 0, 2, 3], size=40)
    weights[z < 0] = 0.5
    rows = {"rows": sweeps.rows_of(X)} if by_rows else {}
    data = sweeps.Records(y, X, weights, 0.05, Z, **rows)
    gram = sweeps.gram_of(data)
    assert len(gram) == (7 if all_count else 0)
    data = data._replace(y=y - Z @ slope)
    order, begin = sweeps.by_component(z, 5)
    found = sweeps.products_by_component(order, begin, data, slope, gram)
    both = np.column_stack([X, data.y])
    for k in range(5):
        expected = both[z == k].T @ both[z == k]
        np.testing.assert_allclose(found[k], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize("which", [[], [2], [0, 8], [1, 2, 5], [0, 3, 4, 7], range(9)])
def test_means_of_some_components(which, by_rows):
    rng, X = np.random.default_rng(9), sparse()
    rows = {"rows": sweeps.rows_of(X)} if by_rows else {}
    data = sweeps.Records(np.zeros(40), X, np.ones(40), 0.05, **rows)
    beta, chosen = rng.normal(size=(9, 7)), np.isin(np.arange(9), which)
    mean = np.full((9, 40), 5.0)
    sweeps.update_means(chosen, data, beta, mean)
    np.testing.assert_allclose(mean[chosen], beta[chosen] @ X.T, atol=1e-14)
    assert (mean[~chosen] == 5).all()


def test_coefficients_without_records_are_draws_from_their_conditional_prior():
    rng = np.random.default_rng(11)
    W, precision = np.array([[2, 0.6, 0.1], [0.6, 1, 0], [0.1, 0, 0.5]]), [0.5, 3.0]
    prior = np.linalg.inv(W), np.array(precision)
    beta = rng.normal(size=(3, 2))
    others, draws = beta[[0, 2]].copy(), np.empty((20_000, 2))
    for s in range(len(draws)):
        sweeps.draw_from_prior(1, beta, prior, rng)
        draws[s] = beta[1]
    np.testing.assert_array_equal(beta[[0, 2]], others)
    # Row r has covariance W / precision[r].
    regression = np.linalg.solve(W[np.ix_([0, 2], [0, 2])], W[[0, 2], 1])
    sd = np.sqrt((W[1, 1] - W[1, [0, 2]] @ regression) / prior[1])
    for r in range(2):
        normal = stats.norm(regression @ others[:, r], sd[r])
        assert stats.kstest(draws[:, r], normal.cdf).pvalue > 1e-4


@pytest.mark.parametrize("n_left", [0, 9])
def test_squared_residuals_are_those_of_the_new_coefficients(n_left):
    rng = np.random.default_rng(6)
    y, X, beta = rng.normal(size=9), rng.normal(size=(9, 2)), np.zeros((3, 2))
    data, own = sweeps.Records(y, X, np.ones(9), 0.05), np.array([1, 4, 8])
    rest, left = np.zeros((2, n_left))
    mean, prior = np.zeros(9), (np.eye(3), np.ones(2))
    products = sweeps.cross_products(own, X, y)
    squares = sweeps.draw_coefficients(
        1, 3, products, data, beta, mean, 0.4, 0.0, rest, left, prior, rng
    )
    assert (beta[1] != 0).all()
    np.testing.assert_allclose(squares, np.sum((y - X @ beta[1])[own] ** 2))
    if n_left:
        np.testing.assert_allclose(mean, X @ beta[1])


def log_prior_of_triangle(T, beta, log_t, D):
    """T'T is a Wishart of mean 1, and coefficients follow given it."""
    K, R = beta.shape
    scaled = T.T @ T * D
    # T in place of T'T: the Jacobian of Bartlett's decomposition, from the right.
    logp = stats.wishart(D, np.eye(K)).logpdf(scaled)
    logp += np.sum((K - np.arange(K)) * np.log(np.diag(T)))
    g = np.linalg.solve(T.T, beta)
    logp -= R * np.log(np.diag(T)).sum()
    for t, x in zip(log_t, g.T, strict=True):
        logp += sweeps.log_prior_of_row(t, x @ x, D, K)
    return logp


def triangle(K=4, R=3):
    rng = np.random.default_rng(12)
    T = np.triu(rng.normal(0, 0.3, size=(K, K)), 1) + np.diag(rng.uniform(0.5, 1.5, K))
    return T, rng.normal(size=(K, R)), rng.normal(size=R), sweeps.dimensions(K, R)


def test_prior_of_the_triangle():
    T, beta, log_t, D = triangle()
    differences = []
    for place in [(0, 0), (1, 1), (3, 3), (0, 3), (1, 2)]:
        moved, g = T.copy(), np.zeros_like(beta)
        moved[place] += 0.4
        sweeps.solve_triangle(moved, beta, g, 0)
        np.testing.assert_allclose(moved.T @ g, beta, atol=1e-13)
        found = sweeps.log_prior_of_T(moved, g, log_t, D)
        differences.append(found - log_prior_of_triangle(moved, beta, log_t, D))
    np.testing.assert_allclose(differences, differences[0], rtol=0, atol=1e-10)


def test_a_column_changes_only_what_follows_it():
    T, beta, *_ = triangle()
    g, again = np.zeros((2, *beta.shape))
    sweeps.solve_triangle(T, beta, g, 0)
    T[:3, 2] += 0.3
    sweeps.solve_triangle(T, beta, again, 0)
    np.testing.assert_array_equal(g[:2], again[:2])
    sweeps.solve_triangle(T, beta, g, 2)
    np.testing.assert_array_equal(g, again)


@compiled()
def moved_triangles(n_draws, T, beta, log_t, D, rng):
    found = np.empty((n_draws, 3))
    for s in range(n_draws):
        sweeps.move_T(T, beta, log_t, D, rng)
        found[s] = T[0, 0], T[0, 1], T[1, 1]
    return found


def test_moves_of_the_triangle_against_a_grid():
    _, beta, log_t, D = triangle(2, 2)
    draws = moved_triangles(
        200_000, np.eye(2), beta, log_t, D, np.random.default_rng(13)
    )
    diagonal = np.exp(np.linspace(np.log(0.05), np.log(4), 61))
    off = np.linspace(-3, 3, 61)
    p, g = np.empty((61, 61, 61)), np.empty_like(beta)
    for a, b, c in np.ndindex(p.shape):
        T = np.array([[diagonal[a], off[b]], [0, diagonal[c]]])
        sweeps.solve_triangle(T, beta, g, 0)
        p[a, b, c] = sweeps.log_prior_of_T(T, g, log_t, D)
        p[a, b, c] += np.log(diagonal[a] * diagonal[c])  # the grid is of its log
    p = np.exp(p - p.max())
    p /= p.sum()
    first, second, third = np.meshgrid(diagonal, off, diagonal, indexing="ij")
    for name, grid, drawn in [
        ("first", first, draws[:, 0]),
        ("size", abs(second), abs(draws[:, 1])),
        ("third", third, draws[:, 2]),
        ("product", first * second, draws[:, 0] * draws[:, 1]),
    ]:
        error = drawn.reshape(100, -1).mean(axis=1).std() / 10
        assert abs(drawn.mean() - np.sum(p * grid)) < 4 * error, name
        assert error < 0.02, name


@compiled()
def two_intercepts(n_draws, data, log_share, sigma, precision, rng):
    """Draw the intercepts of two components, everything else fixed."""
    beta, identity = np.zeros((2, 1)), np.eye(2)
    draws, power = np.empty((n_draws, 2)), np.ones(len(data.y))
    for s in range(n_draws):
        mean = beta @ data.X.T
        z = sweeps.allocate(log_share, data.y - mean, sigma, power, rng)
        left = sweeps.who_counts(z, data.weights, rng)
        order, begin = sweeps.by_component(z, 2)
        for k in range(2):
            own = order[begin[k] : begin[k + 1]]
            other = 1 - k
            constant = log_share[other] - np.log(sigma[other])
            rest = constant - 0.5 * ((data.y - mean[other]) / sigma[other]) ** 2
            shift = log_share[k] - np.log(sigma[k])
            sweeps.draw_coefficients(
                k,
                len(own),
                sweeps.cross_products(own, data.X, data.y),
                data,
                beta,
                mean[k],
                sigma[k],
                shift,
                rest[: len(left)],
                left,
                (identity, precision),
                rng,
            )
        draws[s] = beta[:, 0]
    return draws


@pytest.mark.parametrize("high", [0.6, 1.0, None])
def test_two_weighted_intercepts_against_a_grid(high):
    rng = np.random.default_rng(5)
    y = np.concatenate([rng.normal(-0.3, 0.7, 25), rng.normal(0.7, 1, 15)])
    weights = np.ones(40) if high is None else rng.uniform(0.05, high, 40)
    pi, sigma, sd = np.array([0.6, 0.4]), np.array([0.7, 1.0]), 2.0
    grid = np.linspace(-7, 7, 561)
    first, second = (stats.norm.pdf(y[:, None], grid, s) for s in sigma)
    logp = np.stack(
        [weights @ np.log(pi[0] * first[:, [j]] + pi[1] * second) for j in range(561)]
    )
    logp += stats.norm.logpdf(grid, 0, sd)[:, None] + stats.norm.logpdf(grid, 0, sd)
    p = np.exp(logp - logp.max())
    p /= p.sum()
    exact = (
        [
            p.sum(axis=1 - k) @ function(grid)
            for k in (0, 1)
            for function in (np.abs, np.square)
        ]
        + [p.sum(axis=1 - k) @ grid for k in (0, 1)]
        + [grid @ p @ grid]
    )
    data = sweeps.Records(y, np.ones((40, 1)), weights, 0.05)
    draws = two_intercepts(
        80_000, data, np.log(pi), sigma, np.array([sd**-2]), np.random.default_rng(6)
    )
    found = np.stack(
        [f(draws[:, k]) for k in (0, 1) for f in (np.abs, np.square)]
        + [*draws.T, draws.prod(axis=1)]
    )
    batches = found.reshape(len(exact), 80, 1000).mean(axis=2)
    error = batches.std(axis=1) / np.sqrt(80)
    assert (abs(found.mean(axis=1) - exact) < 4 * error).all()
    # Labels change now and then, so means take longest.
    assert (error < 0.1).all()


# Shares


@compiled()
def shares_and_gamma(n_draws, data, residual, sigma, extra, rng):
    """Draw gamma and the shares of components, everything else fixed."""
    K, n = residual.shape
    log_share, gamma, power = np.zeros(K), 1.0, np.ones(n)
    draws = np.empty((n_draws, K + 1))
    for s in range(n_draws):
        z = sweeps.allocate(log_share, residual, sigma, power, rng)
        left = sweeps.who_counts(z, data.weights, rng)
        _, begin = sweeps.by_component(z, K)
        size, total = begin[1:] - begin[:-1], np.sum(data.weights)
        gamma = sweeps.draw_gamma(
            log_share, gamma, extra, size, total, left, residual, sigma, rng
        )
        for k in range(K):
            if size[k] == 0:
                continue
            others = np.arange(K) != k
            rest = sweeps.log_rest(
                log_share[others], residual[others][:, : len(left)], sigma[others]
            )[0]
            shape = gamma / K + extra + size[k]
            log_share[k] = sweeps.draw_share(
                log_share[k], shape, sigma[k], left, rest, residual[k], rng
            )
        share = np.exp(log_share - log_share.max())
        draws[s, 0], draws[s, 1:] = gamma, share / share.sum()
    return draws


@pytest.mark.parametrize("extra", [0.0, 0.4])
@pytest.mark.parametrize(
    "weights",
    [np.ones(6), np.array([0.9, 0.1, 0.6, 0.3, 1.0, 0.5]), np.full(6, 0.15)],
    ids=["1", "any", "small"],
)
def test_shares_and_gamma_against_draws_from_their_prior(weights, extra):
    rng = np.random.default_rng(10)
    sigma, n_prior = np.array([0.3, 0.6, 1.0]), 1_000_000
    residual = rng.normal(0, 1, size=(3, 6))
    data = sweeps.Records(np.zeros(6), np.ones((6, 1)), weights, 0.05)
    draws = shares_and_gamma(200_000, data, residual, sigma, extra, rng)
    gamma = rng.exponential(size=n_prior)
    shape = np.repeat(gamma[:, None] / 3 + extra, 3, axis=1)
    log_w = (
        np.log(rng.gamma(shape + 1)) + np.log(rng.uniform(size=(n_prior, 3))) / shape
    )
    pi = np.exp(log_w - log_w.max(axis=1, keepdims=True))
    pi /= pi.sum(axis=1, keepdims=True)
    density = stats.norm.pdf(residual, 0, sigma[:, None])
    importance = np.exp(np.log(pi @ density) @ weights)
    importance /= importance.sum()

    def functions(gamma, pi):
        return np.stack(
            [
                gamma,
                np.sqrt(gamma),
                *pi.T,
                *(pi**2).T,
                pi.max(axis=1),
                pi[:, 0] * pi[:, 1],
            ]
        )

    found, prior = functions(draws[:, 0], draws[:, 1:]), functions(gamma, pi)
    expected = prior @ importance
    batches = found.reshape(len(found), 100, -1).mean(axis=2)
    error = np.hypot(
        batches.std(axis=1) / np.sqrt(100),
        np.sqrt(((prior - expected[:, None]) ** 2) @ importance**2),
    )
    assert (abs(found.mean(axis=1) - expected) < 4 * error).all()
    assert (error < 0.01).all()


# Whole sweeps


def groups(weights):
    log_y, X, _ = two_groups()
    return sweeps.Records(log_y, X, np.broadcast_to(weights, 120).copy(), 0.05)


@pytest.fixture(scope="module")
def weighted():
    return groups(np.random.default_rng(7).uniform(size=120))


def swept(data, seed, K=4, extra=0.0, n_sweeps=20):
    state = start(data, K, min(K, 2), 1)
    run(data, state, extra, n_sweeps, np.random.default_rng(seed))
    return state


def test_a_seed_determines_the_sweeps(weighted):
    first, again, other = (swept(weighted, seed) for seed in (1, 1, 2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.isin(first.sigma, other.sigma).any()


def test_sweeps_go_on_where_they_were(weighted):
    whole = swept(weighted, 1, n_sweeps=20)
    state, rng = start(weighted, 4, 2, 1), np.random.default_rng(1)
    for _ in range(2):
        run(weighted, state, 0.0, 10, rng)
    for a, b in zip(whole, state, strict=True):
        np.testing.assert_array_equal(a, b)


CERTAIN = np.where(np.arange(120) < 30, 0.0, 1.0)


@pytest.mark.parametrize("K", [1, 4])
@pytest.mark.parametrize(
    "weights", [1.0, 0.5, 1e-9, 0.0, CERTAIN], ids=["1", "0.5", "1e-9", "0", "0 and 1"]
)
def test_where_a_chain_is(weights, K):
    data = groups(weights)
    state = swept(data, 3, K, n_sweeps=200)
    kept = sweeps.draw_of(state)
    for found in (*state, *kept.values()):
        assert np.isfinite(found).all()
    np.testing.assert_array_equal(
        state.size, np.bincount(state.z[state.z >= 0], minlength=K)
    )
    weighted = data.weights.min() < 1
    kept_up = (state.size > 0) | sweeps.takes_part(state.log_share, weighted)
    mean = state.beta @ data.X.T
    np.testing.assert_allclose(
        state.mean[kept_up], mean[kept_up], rtol=1e-9, atol=1e-12
    )
    assert (state.sigma > 0.05).all()
    if np.isin(data.weights, [0, 1]).all():
        assert state.size.sum() == data.weights.sum()
    elif data.weights.max() < 1e-3:
        assert state.size.sum() == 0
    else:
        assert 0 < state.size.sum() < 120
    np.testing.assert_array_equal(kept["beta"], state.beta)
    np.testing.assert_array_equal(kept["sigma"], state.sigma)
    np.testing.assert_allclose(kept["pi"].sum(), 1)
    # Row r of the coefficients is s v' T with |v| below 1.
    D = max(K, 3) + 1
    v = np.linalg.solve(state.T.T, kept["beta"]) / kept["s"] / np.sqrt(D)
    assert (np.linalg.norm(v, axis=0) < 1).all()


def test_a_draw_is_a_copy(weighted):
    state = swept(weighted, 1)
    kept = sweeps.draw_of(state)
    before = {name: np.copy(value) for name, value in kept.items()}
    run(weighted, state, 0.0, 5, np.random.default_rng(1))
    for name, value in kept.items():
        np.testing.assert_array_equal(value, before[name])


@pytest.mark.parametrize("weights", [1.0, 0.5])
def test_larger_shapes_give_more_components_records(weights):
    data, means = groups(weights), []
    for extra in (0.0, 3.0):
        state, rng = start(data, 10, 2, 1), np.random.default_rng(8)
        sizes = []
        for _ in range(200):
            run(data, state, extra, 5, rng)
            sizes.append((state.size > 0).sum())
        means.append(np.mean(sizes))
    assert means[0] + 1 < means[1]
