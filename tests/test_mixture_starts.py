import numpy as np
import pytest
from mixtures import two_groups

from pseudopost.mixture_chains import run
from pseudopost.mixture_starts import expectation_maximization, start
from pseudopost.mixture_sweeps import Records, draw_of

pytestmark = pytest.mark.slow


def objective_after(steps, weights, K):
    log_y, X, _ = two_groups()
    return expectation_maximization(
        log_y, X, weights, K, 0.05, 0, max_steps=steps, tolerance=-np.inf
    )[0]


@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_never_falls(K, weighted):
    weights = np.random.default_rng(9).uniform(size=120) if weighted else np.ones(120)
    path = np.array([objective_after(steps, weights, K) for steps in range(1, 30)])
    # The stopping rule takes smaller changes for none.
    assert (np.diff(path) > -1e-6 * np.abs(path[1:])).all()


def test_one_component_is_ridge_regression():
    log_y, X, _ = two_groups()
    weights = np.random.default_rng(9).uniform(size=120)
    _, pi, (beta,), (sigma,) = expectation_maximization(
        log_y, X, weights, 1, 0.05, 0, tolerance=-np.inf
    )
    assert pi == 1
    ridge = np.diag([0.01, 4, 4])
    gram = (X * weights[:, None]).T @ X
    np.testing.assert_allclose(
        beta,
        np.linalg.solve(gram + ridge * sigma**2, X.T @ (weights * log_y)),
        rtol=1e-8,
    )
    squares = weights @ (log_y - X @ beta) ** 2
    np.testing.assert_allclose(
        sigma, np.sqrt((squares + 0.1) / (weights.sum() + 1)), rtol=1e-6
    )


def best_of_three(*given, **settings):
    fits = (expectation_maximization(*given, seed, **settings) for seed in range(3))
    return max(fits, key=lambda found: found[0])


def test_two_groups_are_found():
    log_y, X, second = two_groups()
    _, pi, beta, sigma = best_of_three(log_y, X, np.ones(120), 2, 0.05)
    np.testing.assert_allclose(pi, [2 / 3, 1 / 3], atol=1e-6)
    for k, group in enumerate((~second, second)):
        alone = np.linalg.lstsq(X[group], log_y[group])[0]
        np.testing.assert_allclose(beta[k], alone, atol=0.02)
        residuals = log_y[group] - X[group] @ alone
        np.testing.assert_allclose(sigma[k], residuals.std(), rtol=0.05)


@pytest.mark.parametrize("K", [1, 2])
def test_records_of_weight_zero_do_not_move_the_fit(K):
    log_y, X, _ = two_groups()
    weights = (np.arange(120) >= 30).astype(float)
    moved = log_y + 5 * (weights == 0) * np.sin(np.arange(120))
    fits = [
        best_of_three(values, X, weights, K, 0.05, tolerance=-np.inf)
        for values in (log_y, moved)
    ]
    for first, other in zip(*fits, strict=True):
        np.testing.assert_allclose(first, other, rtol=1e-6, atol=1e-8)


def test_sigma_starts_above_its_floor():
    log_y, X, _ = two_groups()
    heaped = np.where(np.arange(120) < 60, 1.0, log_y)
    *_, sigma = expectation_maximization(heaped, X, np.ones(120), 3, 0.2, 0)
    assert (sigma >= 1.2 * 0.2).all()


@pytest.fixture(scope="module", params=[0, 0.5, 1])
def data(request):
    log_y, X, _ = two_groups()
    return Records(log_y, X, np.full(120, request.param), 0.05)


@pytest.mark.parametrize("occupied", [1, 2, 5])
def test_a_chain_starts_with_the_components_of_the_fit(data, occupied):
    state = start(data, 5, occupied, seed=1)
    _, pi, beta, sigma = expectation_maximization(*data[:3], occupied, 0.05, seed=1)
    share = np.exp(state.log_share)
    np.testing.assert_allclose(share[:occupied], pi)
    np.testing.assert_array_equal(state.beta[:occupied], beta)
    np.testing.assert_array_equal(state.sigma[:occupied], sigma)
    # The others have a share of .01 together, and are no narrower.
    np.testing.assert_allclose(share[occupied:], 0.01 / max(5 - occupied, 1))
    assert (state.sigma[occupied:] == sigma.max()).all()


@pytest.mark.parametrize(("K", "occupied"), [(1, 1), (5, 1), (5, 5)])
def test_state_at_the_start(data, K, occupied):
    state = start(data, K, occupied, seed=1)
    shapes = {
        "log_share": (K,),
        "beta": (K, 3),
        "sigma": (K,),
        "gamma": (1,),
        "log_t": (3,),
        "T": (K, K),
        "mean": (K, 120),
        "z": (120,),
        "size": (K,),
        "slope": (0,),
        "log_scale": (0,),
    }
    assert {name: value.shape for name, value in state._asdict().items()} == shapes
    assert all(np.isfinite(value).all() for value in state)
    assert (state.size == 0).all()
    np.testing.assert_array_equal(state.mean, state.beta @ data.X.T)
    run(data, state, 0.0, 3, np.random.default_rng(1))
    assert all(np.isfinite(value).all() for value in draw_of(state).values())


def test_a_seed_determines_the_start():
    log_y, X, _ = two_groups()
    data = Records(log_y, X, np.ones(120), 0.05)
    first, again, other = (start(data, 5, 5, seed) for seed in (1, 1, 2))
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first.sigma, other.sigma)
