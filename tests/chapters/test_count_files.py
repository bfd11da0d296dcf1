"""What the chapters on covariance and intervals share."""

import count_files
import covariance
import numpy as np
import pytest
from scipy import optimize, stats

THETA = np.log([100.0, 10.0])
X = np.array([40, 80, 100, 130, 190])
MASS = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
ALPHA = np.array([0.2, 0.7, 1.0, 0.7, 0.2])


def test_derivatives_are_those_of_the_log_likelihood():
    score, curvature = count_files.derivatives(X, THETA)
    for k, x in enumerate(X):

        def value(theta, x=x):
            return count_files.log_likelihood(np.array([x]), theta)[0]

        np.testing.assert_allclose(
            score[k], optimize.approx_fprime(THETA, value, 1e-6), rtol=1e-3, atol=1e-4
        )
        np.testing.assert_allclose(
            curvature[k], -covariance.numerical_curvature(value, THETA), atol=1e-3
        )


def test_estimate_is_where_the_slope_is_zero():
    theta = count_files.estimate(X, MASS, ALPHA)
    slope = (MASS * ALPHA) @ count_files.derivatives(X, theta)[0]
    np.testing.assert_allclose(slope, 0, atol=1e-9)


def test_grid_is_the_posterior():
    weight = 50 * MASS
    centre = count_files.estimate(X, MASS, np.ones(5))
    axes, grid = count_files.posterior_grid(X, weight, centre, np.array([0.1, 0.3]), 5)
    assert axes[:, 0] == pytest.approx(centre - [0.6, 1.8])
    direct = np.array(
        [
            [
                weight @ count_files.log_likelihood(X, (a, b))
                + stats.norm.logpdf([a, b], 0, 10).sum()
                for b in axes[1]
            ]
            for a in axes[0]
        ]
    )
    direct = np.exp(direct - direct.max())
    np.testing.assert_allclose(grid, direct / direct.sum(), atol=1e-12)


def test_intervals_of_a_normal_grid():
    axis = np.linspace(-6, 6, 2001)
    p = stats.norm.pdf(axis) / stats.norm.pdf(axis).sum()
    low, high = count_files.credible_intervals(
        np.array([axis, 10 + axis]), np.outer(p, p)
    )
    np.testing.assert_allclose(low, [-1.96, 8.04], atol=1e-3)
    np.testing.assert_allclose(high, [1.96, 11.96], atol=1e-3)


def test_populations_are_distributions_of_the_same_mean():
    for mass in count_files.POPULATIONS.values():
        assert mass.sum() == pytest.approx(1)
        assert mass @ count_files.COUNTS == pytest.approx(100, rel=1e-6)


def test_weights_of_a_file():
    def weights(name):
        return count_files.file_weights(name, X, MASS, "Right model")

    assert (weights("Unweighted") == 1).all()
    assert (weights("Scalar") == 0.455).all()
    # The ball of 100 holds 80 to 120, that of 130 reaches from 104 to 156.
    assert weights("CW")[[2, 3]] == pytest.approx([0.6, 0.2])
    known = count_files.POPULATIONS["Right model"]
    assert weights("CW, known")[2] == pytest.approx(known[80:121].sum())
    lw = weights("LW")
    assert (lw.min(), lw.max()) == (0, 1)


def test_making_of_the_weights_is_the_change_of_the_slope():
    """Against the slope in a file with a little more of one value, weights made anew."""
    at = count_files.estimate(X, MASS, count_files.in_ball(X) @ MASS)
    score = count_files.derivatives(X, at)[0]

    def slope(mass):
        return (mass * (count_files.in_ball(X) @ mass)) @ score

    own = (count_files.in_ball(X) @ MASS)[:, None] * score
    psi = own + count_files.lent(X, MASS, at)
    for k in range(len(X)):
        more = MASS + 1e-6 * (np.arange(len(X)) == k)
        change = (slope(more) - slope(MASS)) / 1e-6
        np.testing.assert_allclose(psi[k], change, rtol=1e-4, atol=1e-4)


def test_sandwich_of_a_right_model_without_weights_is_the_inverse():
    theory = count_files.in_large_files()
    plain = theory["Right model", "Unweighted"]
    np.testing.assert_allclose(plain["star"], THETA, rtol=1e-6)
    np.testing.assert_allclose(plain["J"], plain["H"], rtol=1e-4, atol=1e-6)
    known, made = theory["Right model", "CW, known"], theory["Right model", "CW"]
    np.testing.assert_allclose(known["star"], made["star"])
    assert (np.diag(made["sandwich"]) > 3 * np.diag(known["sandwich"])).all()


def test_simulated_files():
    files = count_files.simulate(4, seed=1, n=200)
    assert [len(data) for data in files.values()] == [4, 2]
    again = count_files.simulate(4, seed=1, n=200, intervals=True)
    for population, data in files.items():
        found = again[population]
        np.testing.assert_array_equal(data["CW", "estimate"], found["CW", "estimate"])
        low, high = found["LW", "low"], found["LW", "high"]
        assert (low < found["LW", "estimate"]).all(axis=None)
        assert (high > found["LW", "estimate"]).all(axis=None)
    assert "low" not in files["Right model"]["CW"]
