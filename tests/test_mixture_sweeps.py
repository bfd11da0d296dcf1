"""The compiled parts of a sweep; whole sweeps are tested in test_mixture_fits."""

from itertools import pairwise

import numpy as np
import pytest
from mixtures import by_scipy, two_groups
from scipy import stats

from pseudopost import mixture_sweeps as sweeps
from pseudopost.compiled import compiled

pytestmark = pytest.mark.slow


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
        np.testing.assert_allclose(rest[k], expected + constant, rtol=1e-12)
    assert (rest[4] == sweeps.NOTHING).all()


def test_allocations_follow_the_shares_of_the_components():
    rng = np.random.default_rng(3)
    log_share, sigma = np.log([0.2, 0.5, 0.3]), np.array([0.5, 1.0, 2.0])
    residual = np.repeat([[1.0], [-0.5], [3.0]], 60_000, axis=1)
    _, share = by_scipy(0.0, residual[:, :1], log_share, np.log(sigma))
    z = sweeps.allocate(log_share, residual, sigma, rng)
    error = np.sqrt(share[:, 0] * (1 - share[:, 0]) / 60_000)
    assert (abs(np.bincount(z) / 60_000 - share[:, 0]) < 4 * error).all()


def test_records_by_component():
    z = np.array([2, 0, 2, 2, 0, 3])
    order, begin = sweeps.by_component(z, 5)
    assert begin.tolist() == [0, 2, 2, 5, 6, 6]
    assert [sorted(order[a:b]) for a, b in pairwise(begin)] == [
        [1, 4],
        [],
        [0, 2, 3],
        [5],
        [],
    ]


def test_log_of_a_gamma_draw_of_any_shape():
    rng = np.random.default_rng(4)
    draws = [sweeps.log_gamma_draw(0.7, rng) for _ in range(20_000)]
    assert stats.kstest(np.exp(draws), stats.gamma(0.7).cdf).pvalue > 1e-4
    assert sweeps.log_gamma_draw(1e-6, rng) < -1000


@compiled()
def two_intercepts(n_draws, data, log_share, sigma, precision, rng):
    """Draw the intercepts of two components, everything else fixed."""
    beta, identity = np.zeros((2, 1)), np.eye(2)
    mean = beta @ data.X.T
    draws = np.empty((n_draws, 2))
    for s in range(n_draws):
        residual = data.y - mean
        z = sweeps.allocate(log_share, residual, sigma, rng)
        order, begin = sweeps.by_component(z, 2)
        for k in range(2):
            own, other = order[begin[k] : begin[k + 1]], 1 - k
            constant = log_share[other] - np.log(sigma[other])
            rest = constant - 0.5 * ((data.y - mean[other]) / sigma[other]) ** 2
            shift = log_share[k] - np.log(sigma[k])
            sweeps.draw_coefficients(
                k,
                own,
                data,
                beta,
                mean[k],
                sigma[k],
                shift,
                rest[: len(data.left)],
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
    data = sweeps.records(y, np.ones((40, 1)), weights, 0.05)
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


@pytest.fixture(scope="module")
def groups():
    log_y, X, _ = two_groups()
    weights = np.random.default_rng(7).uniform(size=len(log_y))
    return sweeps.records(log_y, X, weights, 0.05)


LEVELS = np.array([0.0, 0.5, 2.0])


def swept(data, seed, n_sweeps=20):
    state = sweeps.replicas(data, 4, 2, 3, seed=1)
    rng = np.random.default_rng(seed)
    swaps = sweeps.run(data, state, LEVELS, n_sweeps, rng)
    return state, swaps


def test_a_seed_determines_the_sweeps(groups):
    first, again, other = (swept(groups, seed)[0] for seed in (1, 1, 2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.isin(first.sigma, other.sigma).any()


def test_where_replicas_are(groups):
    state, swaps = swept(groups, 3, n_sweeps=200)
    assert sorted(state.level) == [0, 1, 2]
    assert (swaps > 0).all()
    assert (swaps <= 100).all()
    np.testing.assert_allclose(state.mean, state.beta @ groups.X.T, rtol=1e-9)
    assert (state.size.sum(axis=1) == 120).all()
    assert (state.sigma > 0.05).all()
    kept = sweeps.at_lowest(state)
    r = list(state.level).index(0)
    np.testing.assert_array_equal(kept["beta"], state.beta[r])
    np.testing.assert_allclose(kept["pi"].sum(), 1)
    # Row r of the coefficients is s v' T with |v| below 1.
    v = np.linalg.solve(state.T[r].T, kept["beta"]) / kept["s"] / np.sqrt(5)
    assert (np.linalg.norm(v, axis=0) < 1).all()


def test_replicas_start_with_as_many_components_as_asked(groups):
    for occupied in (1, 2, 4):
        state = sweeps.replicas(groups, 4, occupied, 2, seed=1)
        assert (np.exp(state.log_share) > 0.01).sum(axis=1).tolist() == [occupied] * 2
        np.testing.assert_array_equal(state.log_share[0], state.log_share[1])


def test_weights_of_one_leave_nothing_to_correct():
    log_y, X, _ = two_groups()
    assert len(sweeps.records(log_y, X, np.ones(120), 0.05).left) == 0
