import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from mixtures import numerical_jacobian
from scipy import stats
from scipy.special import expit

from pseudopost.mixture_coordinates import coefficients, log_count_of, log_half_t

pytestmark = pytest.mark.slow


# Counts


@pytest.fixture(scope="module")
def count_of():
    x, a = pt.dvector("x"), pt.dscalar("a")
    return pytensor.function([x, a], log_count_of(x, a), mode="FAST_COMPILE")


SHAPES = pytest.mark.parametrize("a", [0.05, 0.1, 0.7, 1, 3])


@SHAPES
def test_log_count_rises(count_of, a):
    log_count, _ = count_of(np.linspace(-30, 60, 2001), a)
    assert (np.diff(log_count) > 0).all()


@SHAPES
def test_jacobian_of_log_count(count_of, a):
    x = np.linspace(-30, 60, 181)
    _, log_jacobian = count_of(x, a)
    slope = np.diag(numerical_jacobian(lambda at: count_of(at, a)[0], x))
    np.testing.assert_allclose(np.exp(log_jacobian), slope, rtol=1e-7)


@SHAPES
def test_large_counts_are_quadratic(count_of, a):
    x = np.array([60.0, 200.0, 2000.0])
    log_count, log_jacobian = count_of(x, a)
    np.testing.assert_allclose(log_count, 2 * np.log(x / 2), rtol=1e-10)
    np.testing.assert_allclose(np.exp(log_jacobian), 2 / x, rtol=1e-10)


@SHAPES
def test_small_log_counts_move_as_fast_as_the_prior_wants(count_of, a):
    x = -50 * a - np.array([25.0, 20.0])
    log_count, log_jacobian = count_of(x, a)
    np.testing.assert_allclose(np.exp(log_jacobian), 1 / a, rtol=1e-6)
    np.testing.assert_allclose(np.diff(log_count) / np.diff(x), 1 / a, rtol=1e-6)


def test_log_count_of_shape_one_is_the_square_of_a_softplus(count_of):
    x = np.linspace(-30, 60, 50)
    log_count, log_jacobian = count_of(x, 1)
    root = np.logaddexp(0, x / 2)
    np.testing.assert_allclose(log_count, 2 * np.log(root), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        log_jacobian, np.log(expit(x / 2) / root), rtol=1e-9, atol=1e-12
    )


def test_log_count_stays_finite_where_gamma_is_small(count_of):
    log_count, log_jacobian = count_of(np.array([-12.0, -9.0]), 0.1 / 20)
    assert np.isfinite(log_count).all()
    assert np.isfinite(log_jacobian).all()


def test_log_half_t_is_that_of_scipy():
    value = np.array([0, 1e-6, 0.1, 1, 3, 50, 1e4])
    difference = log_half_t(pt.as_tensor(value)).eval() - stats.t.logpdf(value, 3)
    np.testing.assert_allclose(difference, difference[0], rtol=1e-12)


# Coefficients

INFORMATION = pytest.mark.parametrize(
    "information", [[0, 0, 0], [1, 0.3, 5], [1e6, 1e6, 1e6], [0, 1e6, 1]], ids=str
)
FIRST = pytest.mark.parametrize("first", [1, 2, 3, 5])


def coefficient_inputs(R=4, K=3):
    rng = np.random.default_rng(4)
    A = rng.normal(size=(K, 6, R))
    return {
        "xi": rng.normal(size=(K, R)),
        "design": np.einsum("kir,kis->krs", A, A) / 6,
        "pull": rng.normal(size=(K, R)),
        "log_t": rng.normal(size=R),
        "log_scale": rng.normal(size=R),
        "T": np.triu(rng.normal(size=(K, K)), 1) + np.diag([0.7, 1.3, 0.9]),
    }


@pytest.fixture(scope="module")
def coefficients_of():
    """One compiled function for each number of components that start occupied."""
    xi = pt.tensor("xi", shape=(3, 4), dtype="float64")
    design, pull, T = pt.dtensor3("design"), pt.dmatrix("pull"), pt.dmatrix("T")
    vectors = pt.dvectors("log_information", "log_t", "log_scale")
    log_information, log_t, log_scale = vectors
    inputs = [xi, log_information, design, pull, log_t, log_scale, T]
    functions = {
        first: pytensor.function(
            inputs,
            coefficients(*inputs, 3, first=first),
            mode="FAST_COMPILE",
            on_unused_input="ignore",
        )
        for first in (1, 2, 3, 5)
    }

    def evaluate(first, information, **given):
        with np.errstate(divide="ignore"):
            return functions[first](log_information=np.log(information), **given)

    return evaluate


@FIRST
@INFORMATION
def test_coefficients_are_centred_and_scaled(coefficients_of, information, first):
    given = coefficient_inputs()
    beta, _ = coefficients_of(first, information, **given)
    T = given["T"]
    g = np.linalg.solve(T[:first, :first].T, beta[:first])
    for k, weight in enumerate(information):
        noise, prior_mean = given["xi"][k], 0
        inverse_square = np.exp(-2 * given["log_scale" if k < first else "log_t"])
        if k >= first:
            noise = T[first:, k] @ given["xi"][first:]
            prior_mean = T[:first, k] @ g
        precision = weight * given["design"][k] + np.diag(inverse_square)
        right = weight * given["pull"][k] + inverse_square * prior_mean
        right = right + np.linalg.cholesky(precision) @ noise
        np.testing.assert_allclose(
            precision @ beta[k], right, rtol=1e-8, atol=1e-9 * np.abs(right).max()
        )


@FIRST
@INFORMATION
def test_jacobian_of_the_coefficients(coefficients_of, information, first):
    given = coefficient_inputs()

    def beta_of(x):
        return coefficients_of(first, information, **given | {"xi": x.reshape(3, 4)})[0]

    _, log_jacobian = coefficients_of(first, information, **given)
    jacobian = numerical_jacobian(beta_of, given["xi"].ravel(), step=0.1)
    np.testing.assert_allclose(log_jacobian, np.linalg.slogdet(jacobian)[1], rtol=1e-7)


def test_empty_components_follow_the_triangular_factor(coefficients_of):
    given = coefficient_inputs()
    beta, _ = coefficients_of(2, [3, 5, 0], **given)
    g = np.linalg.solve(given["T"].T, beta) / np.exp(given["log_t"])
    np.testing.assert_allclose(g[2], given["xi"][2], rtol=1e-10)
