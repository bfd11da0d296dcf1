import count_grid as module
import numpy as np
import pytest

import pseudopost as pp

VALUES = np.array([0, 2, 4, 5, 9])
COUNTS = np.array([0, 10, 20, 12, 1])
Y = np.repeat(VALUES, COUNTS)


@pytest.fixture(scope="module")
def grid():
    return module.Grid(VALUES, np.linspace(0.5, 2.3, 61), np.linspace(0.01, 2, 71), 200)


def test_grid_has_the_posterior_of_the_package(grid):
    log_posterior = grid.log_posterior(COUNTS)
    assert np.exp(log_posterior).sum() == pytest.approx(1)
    logp = pp.NegativeBinomialSynthesizer(Y).model.compile_logp(jacobian=False)
    mu, inverse_phi = grid.mu, 1 / grid.phi
    found = [
        logp({"log_mu": np.log(mu[k]), "inverse_phi_log__": np.log(inverse_phi[k])})
        for k in (1500, 2200)
    ]
    expected = log_posterior[1500] - log_posterior[2200]
    assert found[0] - found[1] == pytest.approx(expected, abs=1e-3)


def test_several_totals_are_each_by_itself(grid):
    totals = np.array([COUNTS, COUNTS / 2])
    both = grid.log_posterior(totals)
    for found, one in zip(both, totals, strict=True):
        np.testing.assert_allclose(found, grid.log_posterior(one))


def test_edge_is_that_of_the_side_with_most(grid):
    mass = np.zeros(grid.shape)
    mass[30, 30], mass[30, 70], mass[0, 5] = 0.6, 0.3, 0.1
    with np.errstate(divide="ignore"):
        assert grid.edge(np.log(mass.ravel())) == pytest.approx(0.3)


def test_expected_bounds_are_those_of_draws(grid):
    mass = np.exp(grid.log_posterior(COUNTS))
    draws = np.random.default_rng(1).choice(len(mass), size=(2000, 200), p=mass)
    for place in (0, 2, 4):
        largest = grid.absolute[draws, place].max(axis=1)
        error = largest.std() / np.sqrt(2000)
        found = grid.expected_bounds(COUNTS)[place]
        assert abs(found - largest.mean()) < 4 * error
        of_loss = grid.expected_largest(
            grid.log_likelihood[:, place], grid.log_posterior(COUNTS)
        )
        assert of_loss == pytest.approx(found)


def test_weights_of_distinct_counts_are_those_of_the_package(grid):
    grid.ceiling = 2.4
    f = grid.expected_bounds(COUNTS)
    for kind, expected in {
        "Unweighted": np.ones(len(Y)),
        "LW": pp.lipschitz_weights(-np.repeat(f, COUNTS)[None]),
        "CW": pp.count_weights(Y),
        "Ceiling": np.minimum(1, 2.4 / np.repeat(f, COUNTS)),
    }.items():
        found = grid.weights(COUNTS, kind)
        np.testing.assert_allclose(np.repeat(found, COUNTS), expected)
        np.testing.assert_array_equal(grid.weights(COUNTS, kind, f), found)
        assert (found[COUNTS == 0] == 0).all()
