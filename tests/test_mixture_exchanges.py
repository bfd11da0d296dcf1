"""Exchanges of one level between two components: exact draws must stay exact."""

import numpy as np
import pytest
from mixtures import numerical_jacobian
from scipy.special import logsumexp
from scipy.stats import norm

from pseudopost import mixture_exchanges as exchanges
from pseudopost.compiled import compiled
from pseudopost.mixture_sweeps import (
    Records,
    State,
    dimensions,
    log_half_t,
    log_prior_of_row,
)

pytestmark = pytest.mark.slow

K, R, LEVEL = 3, 3, 2
DIRECTIONS = {
    "level": [0.0, 0.0, 1.0],
    "baseline": [1.0, 0.0, -1.0],
    "number": [-0.4, 1.0, 0.0],
}


def case(direction, weights, slopes=0):
    """Few records of two levels, whose components overlap, and where a chain is."""
    rng = np.random.default_rng(4)
    n = 30
    X = np.column_stack([np.ones(n), rng.normal(0.4, 1, n), np.arange(n) % 2])
    Z, slope = rng.normal(size=(n, slopes)), rng.normal(size=slopes)
    y = Z @ slope if slopes else np.zeros(n)
    y += np.where(rng.random(n) < 0.5, 1.2, -1.2) * X[:, LEVEL] + rng.normal(0, 0.5, n)
    beta = rng.normal(0, 0.3, size=R) + rng.normal(0, 0.05, size=(K, R))
    data = Records(
        y,
        X,
        rng.uniform(0.3, 1, n) if weights == "any" else np.ones(n),
        0.05,
        Z,
        exchanges.levels_of(X, np.array([direction])),
    )
    state = State(
        log_share=np.log([0.45, 0.4, 0.15]) + 2,
        beta=beta,
        sigma=np.array([0.5, 0.6, 2.0]),
        gamma=np.ones(1),
        log_t=np.array([0.2, -0.5, 0.1]),
        T=np.array([[1.0, 0.2, -0.1], [0, 0.9, 0.3], [0, 0, 1.1]]),
        mean=beta @ X.T,
        z=np.arange(n) % K,
        size=np.full(K, n // K),
        slope=slope,
        log_scale=np.zeros(slopes),
    )
    return data, state


def log_density(t, data, state, pair=(0, 1)):
    """Log pseudo posterior where coefficients have moved by t, shape (..., 2)."""
    t = np.asarray(t)
    beta = np.broadcast_to(state.beta, (*t.shape[:-1], K, R)).copy()
    for k, component in enumerate(pair):
        beta[..., component, :] += t[..., [k]] * data.levels.direction[0]
    y = data.y - data.Z @ state.slope if len(state.slope) else data.y
    residual = y - beta @ data.X.T
    parts = norm.logpdf(residual, 0, state.sigma[:, None]) + state.log_share[:, None]
    logp = logsumexp(parts, axis=-2) @ data.weights
    inverse = np.linalg.inv(state.T.T @ state.T)
    square = np.einsum("...kr,kj,...jr->...r", beta, inverse, beta)
    D = dimensions(K, R)
    q = 1 + square * np.exp(-2 * state.log_t) / D
    half_t = -2 * np.log1p(np.exp(2 * state.log_t) * q / 3)
    return logp + np.sum(half_t - 0.5 * (D - 1) * np.log(q), axis=-1)


def exact_draws(data, state, size, rng):
    """Draw t of components 0 and 1 by rejection from the cells of a grid."""
    grid = np.linspace(-6, 6, 241)
    t = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    logp = log_density(t, data, state)
    edge = np.concatenate([logp[[0, -1]].ravel(), logp[:, [0, -1]].ravel()])
    assert edge.max() < logp.max() - 15
    p = np.exp(logp - logp.max()).ravel()
    top = logp.reshape(-1) + 3.0
    found = np.empty((0, 2))
    while len(found) < size:
        cell = rng.choice(len(p), size, p=p / p.sum())
        tried = t.reshape(-1, 2)[cell] + rng.uniform(-0.025, 0.025, (size, 2))
        ratio = log_density(tried, data, state) - top[cell]
        assert ratio.max() <= 0
        found = np.concatenate([found, tried[np.log(rng.random(size)) < ratio]])
    return found[:size]


@compiled()
def exchanged(start, data, state, tries, rng):
    """Try exchanges from each of many places."""
    beta, mean = state.beta.copy(), state.mean.copy()
    direction = data.levels.direction[0]
    along = np.zeros(len(data.y))
    along[data.levels.record] = data.levels.value
    found = np.empty_like(start)
    for s in range(len(start)):
        for k in range(2):
            state.beta[k] = beta[k] + start[s, k] * direction
            state.mean[k] = mean[k] + start[s, k] * along
        state.beta[2], state.mean[2] = beta[2], mean[2]
        for _ in range(tries):
            exchanges.exchange(data, state, rng)
        for k in range(2):
            moved = state.beta[k] - beta[k]
            found[s, k] = np.sum(moved * direction) / np.sum(direction**2)
    return found


def of_two(state):
    """Leave the third component a share that is too small for exchanges."""
    log_share = state.log_share.copy()
    log_share[2] = log_share.max() + np.log(0.5 * exchanges.LARGE)
    return state._replace(log_share=log_share)


@pytest.mark.parametrize("slopes", [0, 2])
@pytest.mark.parametrize("weights", ["1", "any"])
@pytest.mark.parametrize("direction", DIRECTIONS.values(), ids=DIRECTIONS)
def test_draws_stay_draws_of_the_posterior(direction, weights, slopes):
    data, state = case(direction, weights, slopes)
    state, rng = of_two(state), np.random.default_rng(5)
    start = exact_draws(data, state, 20_000, rng)
    end = exchanged(start, data, state, 3, rng)
    assert np.mean(np.any(start != end, axis=1)) > 0.2
    for function in (
        lambda t: t[:, 0],
        lambda t: t[:, 1],
        lambda t: t[:, 0] ** 2,
        lambda t: t[:, 1] ** 2,
        lambda t: t[:, 0] * t[:, 1],
        lambda t: (t[:, 0] > t[:, 1]).astype(float),
        lambda t: np.exp(-np.sum((t - [0.5, -0.5]) ** 2, axis=1)),
    ):
        change = function(end) - function(start)
        assert abs(change.mean()) < 4 * change.std() / np.sqrt(len(change))


@pytest.mark.parametrize("weights", ["1", "any"])
@pytest.mark.parametrize("direction", DIRECTIONS.values(), ids=DIRECTIONS)
def test_arrangements_change(direction, weights):
    data, state = case(direction, weights)
    state, rng = of_two(state), np.random.default_rng(5)
    start = exact_draws(data, state, 2000, rng)
    apart = np.sum(data.levels.projection[0] * (state.beta[0] - state.beta[1]))
    end = exchanged(start, data, state, 3, rng)
    before, after = (apart + t[:, 0] - t[:, 1] > 0 for t in (start, end))
    assert 0.1 < before.mean() < 0.9
    assert np.mean(before != after) > 0.1


# Terms


@pytest.mark.parametrize("weights", ["1", "any"])
@pytest.mark.parametrize("direction", DIRECTIONS.values(), ids=DIRECTIONS)
@pytest.mark.parametrize("pair", [(0, 1), (2, 0)])
def test_terms_and_their_derivatives(direction, weights, pair):
    data, state = case(direction, weights, slopes=1)
    own, d = data.levels.record, data.levels.value
    records = exchanges.records_of(own, d, *pair, data, state)
    prior = exchanges.prior_of(np.array(direction), *pair, state)

    def height(t):
        return exchanges.terms(*t, records, prior)[0]

    def exact(t):
        return log_density(t, data, state, pair)

    places = [np.zeros(2), np.array([0.4, -0.7]), np.array([-2.0, 1.0])]
    for t in places:
        # Records of the other level do not matter.
        expected = exact(t) - exact(places[0])
        assert height(t) - height(places[0]) == pytest.approx(expected, abs=1e-9)
        slopes = np.array(exchanges.terms(*t, records, prior)[1:3])
        np.testing.assert_allclose(slopes, numerical_jacobian(exact, t)[0], rtol=1e-6)
        of_records = exchanges.at_records(*t, records)
        loss = numerical_jacobian(
            lambda t: np.array(exchanges.at_records(*t, records)[1:3]), t
        )
        complete = np.diag(of_records[3:5])
        missing_a, missing_b, missing_ab = of_records[5:]
        missing = np.array([[missing_a, missing_ab], [missing_ab, missing_b]])
        np.testing.assert_allclose(complete - missing, -loss, rtol=1e-6, atol=1e-6)


def test_the_normal_of_the_prior_touches_it_from_below():
    data, state = case(DIRECTIONS["baseline"], "1")
    prior = exchanges.prior_of(data.levels.direction[0], 0, 1, state)
    for t in np.random.default_rng(1).normal(0, 2, size=(20, 2)):
        height, *slopes, aa, ab, bb = exchanges.at_prior(*t, prior)
        for step in np.random.default_rng(2).normal(0, 2, size=(20, 2)):
            bound = height + step @ slopes
            bound -= 0.5 * step @ np.array([[aa, ab], [ab, bb]]) @ step
            assert exchanges.at_prior(*(t + step), prior)[0] >= bound - 1e-9


def test_prior_of_a_row_is_that_of_the_sweeps():
    _, state = case(DIRECTIONS["level"], "1")
    direction = np.array(DIRECTIONS["level"])
    prior = exchanges.prior_of(direction, 0, 1, state)
    beta = state.beta + np.outer([0.3, -0.2, 0], direction)
    square = beta[:, LEVEL] @ np.linalg.inv(state.T.T @ state.T) @ beta[:, LEVEL]
    expected = log_prior_of_row(state.log_t[LEVEL], square, dimensions(K, R), K)
    assert exchanges.at_prior(0.3, -0.2, prior)[0] == pytest.approx(expected)
    assert log_half_t(0) == 0


def test_a_climb_ends_near_a_top():
    data, state = case(DIRECTIONS["level"], "1")
    own, d = data.levels.record, data.levels.value
    records = exchanges.records_of(own, d, 0, 1, data, state)
    prior = exchanges.prior_of(data.levels.direction[0], 0, 1, state)
    start = np.array([1.0, -1.0])
    a, b, top, curvature = exchanges.climb(*start, records, prior)
    found = exchanges.terms(a, b, records, prior)
    assert top == found[0] > exchanges.terms(*start, records, prior)[0]
    assert curvature == found[3]
    slopes, (aa, ab, bb) = np.array(found[1:3]), curvature
    left = 0.5 * slopes @ np.linalg.solve([[aa, ab], [ab, bb]], slopes)
    assert 0 < left < 0.1


def test_records_of_components_that_take_no_part_stay():
    data, state = case(DIRECTIONS["level"], "1")
    log_share = state.log_share.copy()
    log_share[2] = -30
    state, own = state._replace(log_share=log_share), data.levels.record
    weight, _, *_, rest, _, _ = exchanges.records_of(
        own, data.levels.value, 0, 1, data, state
    )
    np.testing.assert_array_equal(weight, state.z[own] != 2)
    assert (rest == exchanges.NOTHING).all()


def test_draws_near_a_top_have_the_density_that_is_computed():
    curvature, rng = (3.0, 1.2, 2.0), np.random.default_rng(3)
    draws = np.array(
        [exchanges.draw_near(1.0, -1.0, curvature, rng) for _ in range(20_000)]
    )
    expected = np.linalg.inv([[3.0, 1.2], [1.2, 2.0]])
    np.testing.assert_allclose(np.cov(draws.T), expected, atol=0.02)
    np.testing.assert_allclose(draws.mean(axis=0), [1, -1], atol=0.02)
    there, peak = (exchanges.log_normal(*t, curvature) for t in ((0.3, -0.4), (0, 0)))
    t = np.array([0.3, -0.4])
    assert there - peak == pytest.approx(-0.5 * t @ np.linalg.solve(expected, t))
    assert peak == pytest.approx(-0.5 * np.log(np.linalg.det(expected)))


# Whole exchanges


def test_means_follow_the_coefficients():
    data, state = case(DIRECTIONS["baseline"], "any", slopes=1)
    rng, beta = np.random.default_rng(2), state.beta.copy()
    accepted = [exchanges.exchange(data, state, rng) for _ in range(50)]
    assert any(accepted)
    assert (state.beta != beta).any()
    np.testing.assert_allclose(state.mean, state.beta @ data.X.T, atol=1e-12)


@pytest.mark.parametrize("without", ["levels", "a second component"])
def test_without_two_components_and_a_level_nothing_happens(without):
    data, state = case(DIRECTIONS["level"], "1")
    if without == "levels":
        data = data._replace(levels=exchanges.levels_of(data.X, np.empty((0, R))))
    else:
        state = state._replace(log_share=np.array([0.0, -9, -9]))
    beta, rng = state.beta.copy(), np.random.default_rng(2)
    assert not any(exchanges.exchange(data, state, rng) for _ in range(20))
    np.testing.assert_array_equal(state.beta, beta)


def test_levels_of():
    X = np.array([[1, 2.0, 0], [1, -1, 1], [1, 5, 1], [1, 0, 0]])
    directions = np.array([[0, 0, 1.0], [1, 0, -1], [-1.5, 1, 0]])
    levels = exchanges.levels_of(X, directions)
    assert levels.begin.tolist() == [0, 2, 4, 8]
    assert levels.record.tolist() == [1, 2, 0, 3, 0, 1, 2, 3]
    assert levels.value.tolist() == [1, 1, 1, 1, 0.5, -2.5, 3.5, -1.5]
    # The mean at a level, and the slope along a number.
    beta = np.array([0.3, 2.0, -1.0])
    np.testing.assert_allclose(
        levels.projection @ beta,
        [
            (X @ beta)[1:3].mean(),
            (X @ beta)[[0, 3]].mean(),
            np.polyfit(X[:, 1], X @ beta, 1)[0],
        ],
    )
