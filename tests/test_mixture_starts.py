import numpy as np
import pytest
from mixtures import two_groups

from pseudopost.mixture_starts import expectation_maximization, start_of_sampling

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
    _, pi, (beta,), (sigma,), (design,) = expectation_maximization(
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
    np.testing.assert_allclose(design, gram / weights.sum(), rtol=1e-6)


def test_two_groups_are_found():
    log_y, X, second = two_groups()
    _, pi, beta, sigma, design = max(
        (
            expectation_maximization(log_y, X, np.ones(120), 2, 0.05, j)
            for j in range(3)
        ),
        key=lambda found: found[0],
    )
    np.testing.assert_allclose(pi, [2 / 3, 1 / 3], atol=1e-6)
    for k, group in enumerate((~second, second)):
        alone = np.linalg.lstsq(X[group], log_y[group])[0]
        np.testing.assert_allclose(beta[k], alone, atol=0.02)
        residuals = log_y[group] - X[group] @ alone
        np.testing.assert_allclose(sigma[k], residuals.std(), rtol=0.05)
        np.testing.assert_allclose(
            design[k], X[group].T @ X[group] / group.sum(), atol=1e-4
        )


@pytest.mark.parametrize("K", [1, 2])
def test_records_of_weight_zero_do_not_move_the_start(K):
    log_y, X, _ = two_groups()
    weights = (np.arange(120) >= 30).astype(float)
    moved = log_y + 5 * (weights == 0) * np.sin(np.arange(120))
    fits = [
        max(
            (
                expectation_maximization(
                    values, X, weights, K, 0.05, j, tolerance=-np.inf
                )
                for j in range(3)
            ),
            key=lambda found: found[0],
        )
        for values in (log_y, moved)
    ]
    for first, other in zip(*fits, strict=True):
        np.testing.assert_allclose(first, other, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("K", [1, 2, 5])
@pytest.mark.parametrize("at", [0, 0.5, 1])
def test_start_of_sampling(K, at):
    log_y, X, _ = two_groups()
    weights = np.full(120, at)
    start = start_of_sampling(log_y, X, weights, K, 0.05)
    expected = {
        "start_total": (),
        "start_share": (K,),
        "start_log_sigma": (K,),
        "start_z": (K,),
        "start_log_t": (3,),
        "start_xi": (K, 3),
        "start_design": (K, 3, 3),
        "start_pull": (K, 3),
    }
    assert {name: np.shape(values) for name, values in start.items()} == expected
    assert all(np.isfinite(values).all() for values in start.values())
    assert start["start_total"] == max(120 * at, 1)
    again = start_of_sampling(log_y, X, weights, K, 0.05)
    for name, values in start.items():
        np.testing.assert_array_equal(values, again[name])
