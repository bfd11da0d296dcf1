import re
import warnings

import arviz as az
import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import xarray as xr
from pytensor.link.numba.dispatch.basic import numba_funcify_and_cache_key
from scipy import stats
from scipy.special import expit, logsumexp

import pseudopost as pp
from pseudopost import compiled
from pseudopost.mixture import (
    design_matrix,
)
from pseudopost.mixture_coordinates import (
    coefficients,
    log_count_of,
    log_half_t,
)
from pseudopost.mixture_kernels import (
    NormalMixture,
    NormalMixturePullback,
    PrecisionMap,
    PrecisionMapPullback,
    exp_of_negative,
    mixture_log_density,
    normal_mixture,
    normal_mixture_pullback,
    plain_mixture_log_density,
    plain_precision_map,
    precision_map,
)
from pseudopost.mixture_starts import (
    expectation_maximization,
    start_of_sampling,
)


def refused(text):
    return pytest.raises(ValueError, match=f"^{re.escape(text)}$")


def numerical_jacobian(function, x, step=1e-3):
    """Central differences of sixth order, shape (outputs, inputs)."""
    x = np.asarray(x, dtype=float)
    columns = []
    for direction in np.eye(len(x)) * step:
        differences = [
            np.ravel(function(x + j * direction) - function(x - j * direction))
            for j in (1, 2, 3)
        ]
        columns.append(np.array([45, -9, 1]) @ differences / (60 * step))
    return np.column_stack(columns)


# Density of the mixture


def records(n=7, K=3, seed=1):
    """y, mean, log_pi, log_sigma and weights g, one of which is 0."""
    rng = np.random.default_rng(seed)
    log_pi = np.log(rng.dirichlet(np.ones(K)))
    log_sigma = rng.uniform(np.log(0.3), np.log(2), size=K)
    g = rng.uniform(size=n) * (np.arange(n) != n // 2)
    return rng.normal(size=n), rng.normal(size=(K, n)), log_pi, log_sigma, g


def replaced(case, **changes):
    names = ("y", "mean", "log_pi", "log_sigma", "g")
    return tuple(
        changes.get(name, value) for name, value in zip(names, case, strict=True)
    )


def far_records():
    y, mean, log_pi, log_sigma, g = records()
    far = mean + (np.exp(log_sigma) * np.array([40.0, -40.0, 38.0]))[:, None]
    far[:, 0] = mean[:, 0]
    return y, far, log_pi, log_sigma, g


CASES = {
    "ordinary": records(),
    "many": records(n=200, K=20),
    "one component": records(K=1),
    "one record": replaced(records(n=1), g=np.array([0.7])),
    "one of each": replaced(records(n=1, K=1), g=np.array([0.7])),
    "tiny share": replaced(
        records(), log_pi=np.array([-700, np.log(0.3), np.log(0.7)])
    ),
    "narrow": replaced(records(), log_sigma=np.log([0.05, 0.06, 0.05])),
    "narrow and wide": replaced(records(), log_sigma=np.log([0.05, 50, 1])),
    "far": far_records(),
    "all weights 0": replaced(records(), g=np.zeros(7)),
}
NO_SHARE = replaced(records(), log_pi=np.array([-np.inf, np.log(0.3), np.log(0.7)]))


def by_scipy(y, mean, log_pi, log_sigma):
    terms = log_pi[:, None] + stats.norm.logpdf(y, mean, np.exp(log_sigma)[:, None])
    logp = logsumexp(terms, axis=0)
    return logp, np.exp(terms - logp)


@pytest.mark.parametrize("case", [*CASES.values(), NO_SHARE], ids=[*CASES, "no share"])
def test_density_and_shares(case):
    logp, share = normal_mixture(*case[:4])
    expected_logp, expected_share = by_scipy(*case[:4])
    np.testing.assert_allclose(logp, expected_logp, rtol=1e-12)
    np.testing.assert_allclose(share, expected_share, rtol=1e-10, atol=1e-16)
    np.testing.assert_allclose(share.sum(axis=0), 1, rtol=1e-14)


def test_a_component_without_share_changes_nothing():
    y, mean, log_pi, log_sigma, g = NO_SHARE
    logp, share = normal_mixture(y, mean, log_pi, log_sigma)
    rest = slice(1, None)
    alone, share_alone = normal_mixture(y, mean[rest], log_pi[rest], log_sigma[rest])
    np.testing.assert_array_equal(logp, alone)
    np.testing.assert_array_equal(share, np.vstack([0 * y, share_alone]))
    for gradient in normal_mixture_pullback(g, y, mean, log_sigma, share):
        assert (gradient[0] == 0).all()


def test_exponential_of_negative_numbers():
    x = np.concatenate([-np.linspace(0, 40, 10_001), [-40.1, -800, -1e6, -np.inf]])
    actual = np.array([exp_of_negative(value) for value in x])
    np.testing.assert_allclose(actual[:-4], np.exp(x[:-4]), rtol=5e-14)
    assert actual[0] == 1
    assert (actual[-4:] == 0).all()
    assert np.isnan(exp_of_negative(np.nan))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_mean_that_is_not_finite_is_not_hidden(bad):
    y, mean, log_pi, log_sigma, g = records()
    mean[1, 2] = bad
    logp, share = normal_mixture(y, mean, log_pi, log_sigma)
    by_mean, *_ = normal_mixture_pullback(g, y, mean, log_sigma, share)
    assert np.isnan(logp[2]) == np.isnan(bad)
    assert np.isnan(by_mean[1, 2])
    assert np.isfinite(np.delete(logp, 2)).all()


@pytest.mark.parametrize(
    "op",
    [NormalMixture(), NormalMixturePullback(), PrecisionMap(), PrecisionMapPullback()],
)
def test_compiled_code_of_another_version_is_not_used(monkeypatch, op):
    _, key = numba_funcify_and_cache_key(op)
    assert numba_funcify_and_cache_key(op)[1] == key
    monkeypatch.setattr(compiled, "digest_of_modules", lambda *names: "another")
    assert numba_funcify_and_cache_key(op)[1] != key


@pytest.fixture(scope="module")
def symbols():
    y, g = pt.dvectors("y", "g")
    mean = pt.dmatrix("mean")
    log_pi, log_sigma = pt.dvectors("log_pi", "log_sigma")
    return y, mean, log_pi, log_sigma, g


def value_and_gradients(density, symbols, mode):
    y, mean, log_pi, log_sigma, g = symbols
    logp = density(y, mean, log_pi, log_sigma)
    gradients = pt.grad((g * logp).sum(), [mean, log_pi, log_sigma])
    return pytensor.function(list(symbols), [logp, *gradients], mode=mode)


@pytest.fixture(scope="module")
def plain(symbols):
    return value_and_gradients(plain_mixture_log_density, symbols, "FAST_COMPILE")


@pytest.fixture(scope="module", params=["FAST_COMPILE", "NUMBA"])
def quick(request, symbols):
    return value_and_gradients(mixture_log_density, symbols, request.param)


def assert_close_to_the_largest(actual, expected):
    largest = np.abs(expected).max(initial=0)
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12 * largest)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_density_and_gradients_equal_those_of_the_plain_form(quick, plain, case):
    value, *gradients = quick(*case)
    expected, *expected_gradients = plain(*case)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for gradient, wanted in zip(gradients, expected_gradients, strict=True):
        assert_close_to_the_largest(gradient, wanted)


@pytest.mark.parametrize("name", [name for name in CASES if name != "many"])
def test_gradients_equal_finite_differences(name):
    y, mean, log_pi, log_sigma, g = case = CASES[name]
    K, n = mean.shape

    def weighted_sum(x):
        logp, _ = normal_mixture(
            y, x[: n * K].reshape(K, n), x[n * K : -K].copy(), x[-K:].copy()
        )
        return np.array([g @ logp])

    by_differences = numerical_jacobian(
        weighted_sum, np.concatenate([mean.ravel(), log_pi, log_sigma]), step=2e-4
    )
    _, share = normal_mixture(*case[:4])
    gradient = np.concatenate(
        [
            np.ravel(part)
            for part in normal_mixture_pullback(g, y, mean, log_sigma, share)
        ]
    )
    largest = np.abs(gradient).max()
    size = np.abs(weighted_sum(np.concatenate([mean.ravel(), log_pi, log_sigma])))[0]
    # Rounding of the sum, over the step, and truncation.
    tolerance = 1e-7 * largest + 1e-15 * size / 2e-4
    np.testing.assert_allclose(gradient, by_differences[0], rtol=1e-7, atol=tolerance)


def test_gradients_of_unweighted_records_are_zero():
    y, mean, log_pi, log_sigma, g = records()
    _, share = normal_mixture(y, mean, log_pi, log_sigma)
    by_mean, by_pi, by_sigma = normal_mixture_pullback(g, y, mean, log_sigma, share)
    kept = g > 0
    assert (by_mean[:, ~kept] == 0).all()
    rest = normal_mixture_pullback(
        g[kept], y[kept], mean[:, kept], log_sigma, share[:, kept]
    )
    np.testing.assert_allclose(by_mean[:, kept], rest[0], rtol=1e-14)
    np.testing.assert_allclose(by_pi, rest[1], rtol=1e-14)
    np.testing.assert_allclose(by_sigma, rest[2], rtol=1e-13)


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


@pytest.fixture(scope="module", params=["FAST_COMPILE", "NUMBA"])
def precision_maps(request):
    """The quick map and the plain one, with gradients of a sum of their outputs."""
    noise, push, prior, by_beta = pt.dmatrices("noise", "push", "prior", "by_beta")
    log_information, by_jacobian = pt.dvectors("log_information", "by_jacobian")
    design = pt.dtensor3("design")
    inputs = [noise, push, log_information, design, prior]
    functions = []
    for form, mode in (
        (PrecisionMap(), request.param),
        (plain_precision_map, "FAST_COMPILE"),
    ):
        beta, log_jacobian = form(*inputs)[:2]
        total = (by_beta * beta).sum() + (by_jacobian * log_jacobian).sum()
        gradients = pt.grad(total, [noise, push, log_information, prior])
        functions.append(
            pytensor.function(
                [*inputs, by_beta, by_jacobian], [beta, log_jacobian, *gradients], mode
            )
        )
    return functions


@pytest.mark.parametrize("R", [1, 2, 7, 36])
def test_precision_map_and_its_gradients_equal_those_of_the_plain_form(
    precision_maps, R
):
    rng = np.random.default_rng(R)
    A = rng.normal(size=(5, 40, R))
    log_information = np.array([-800, -20, 0, 3, 12.0])
    given = [
        rng.normal(size=(5, R)),
        10 * rng.normal(size=(5, R)),
        log_information,
        np.einsum("kir,kis->krs", A, A) / 40,
        np.exp(rng.normal(size=(5, R))),
        rng.normal(size=(5, R)),
        rng.normal(size=5),
    ]
    quick, plain = (function(*given) for function in precision_maps)
    for actual, expected in zip(quick, plain, strict=True):
        assert_close_to_the_largest(actual, expected)


def test_precision_that_is_not_positive_definite_is_not_hidden():
    eye = np.eye(2)
    beta, log_jacobian, _ = precision_map(
        np.ones((1, 2)), np.ones((1, 2)), np.zeros(1), -eye[None], 0.5 * np.ones((1, 2))
    )
    assert np.isnan(beta).all()
    assert np.isnan(log_jacobian).all()


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


# Prior


def sphere_dimensions(K, R):
    """D, where the correlation matrix is U U' with rows uniform on the sphere in D dimensions."""
    return max(R, K) + 1


def small_file(R, n=30):
    rng = np.random.default_rng(5)
    return np.exp(rng.normal(1, 1.5, size=n)), rng.normal(size=(n, R - 1))


def without_data(K, R, at):
    """Model with all weights 0, whose coordinates are made for weights `at`."""
    synthesizer = pp.MixtureSynthesizer(*small_file(R), K)
    for name, values in synthesizer._sampling_data(np.full(30, at)).items():
        synthesizer.model[name].set_value(values)
    synthesizer.model["y_weights"].set_value(np.zeros(30))
    return synthesizer.model


def parameters_and_density(model):
    """Compile one function: free values as a vector to s, pi, ... and log density."""
    values, size = {}, 0
    x = pt.dvector("all")
    start = model.initial_point()
    for rv in model.free_RVs:
        value = model.rvs_to_values[rv]
        shape = start[value.name].shape
        count = int(np.prod(shape))
        values[value] = x[size : size + count].reshape(shape)
        size += count
    outputs = [
        model[name] for name in ("gamma", "pi", "sigma", "beta", "s", "log_d", "o")
    ]
    shares = model["start_share"] + model["x"]
    log_count, _ = log_count_of(shares, model["gamma"] / shares.shape[0])
    outputs.append(pt.logsumexp(log_count))
    outputs = [*model.replace_rvs_by_values(outputs), model.logp()]
    outputs = pytensor.graph.replace.graph_replace(outputs, values, strict=False)
    return pytensor.function([x], outputs, mode="FAST_COMPILE"), size


def log_prior(gamma, pi, sigma, beta, s, T, min_sigma=0.05):
    """Log density of log gamma, log pi_k / pi_1, log(sigma - min_sigma), beta, log s and T."""
    K, R = beta.shape
    D = sphere_dimensions(K, R)
    excess = sigma - min_sigma
    # Row r of the coefficients is s_r v_r T, with v_r part of a point on the sphere.
    v = np.linalg.solve(T.T, beta) / s
    return (
        stats.expon.logpdf(gamma)
        + np.log(gamma)
        + stats.dirichlet.logpdf(pi, np.full(K, gamma / K))
        + np.log(pi).sum()
        + (stats.t.logpdf(excess, 3) + np.log(excess)).sum()
        + (stats.t.logpdf(s, 3) + np.log(s)).sum()
        + ((D - K) / 2 - 1) * np.log1p(-(v**2).sum(axis=0)).sum()
        - (K * np.log(s) + np.linalg.slogdet(T)[1]).sum()
        + stats.chi.logpdf(np.diag(T), D - np.arange(K)).sum()
        + stats.norm.logpdf(T[np.triu_indices(K, 1)]).sum()
    )


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize(
    ("K", "R"), [(1, 1), (1, 3), (2, 2), (2, 3), (3, 3), (4, 4), (4, 5)]
)
def test_density_of_the_prior(K, R, at):
    model = without_data(K, R, at)
    evaluate, size = parameters_and_density(model)
    total = model["start_total"].get_value()
    D = sphere_dimensions(K, R)
    degrees = D - np.arange(K)
    above = np.triu_indices(K, 1)

    def parts(x):
        gamma, pi, sigma, beta, s, log_d, o, log_sum, logp = evaluate(x)
        T = np.diag(np.sqrt(degrees) * np.exp(log_d / np.sqrt(2 * degrees)))
        T[above] = o
        return (gamma, pi, sigma, beta, s, T), log_sum, logp

    def coordinates(x):
        (gamma, pi, sigma, beta, s, T), log_sum, _ = parts(x)
        return np.concatenate(
            [
                np.atleast_1d(np.log(gamma)),
                np.log(pi[1:] / pi[0]),
                np.atleast_1d(log_sum),
                np.log(sigma - 0.05),
                beta.ravel(),
                np.log(s),
                np.diag(T),
                T[above],
            ]
        )

    rng = np.random.default_rng(6)
    differences = []
    for x in rng.normal(size=(6, size)):
        known, log_sum, logp = parts(x)
        logp -= total * log_sum - np.exp(log_sum)
        jacobian = numerical_jacobian(coordinates, x)
        assert jacobian.shape == (size, size)
        differences.append(logp - log_prior(*known) - np.linalg.slogdet(jacobian)[1])
    np.testing.assert_allclose(differences, differences[0], rtol=0, atol=1e-8)


@pytest.mark.parametrize(("K", "R"), [(2, 1), (3, 2), (4, 3), (5, 2)])
def test_prior_of_many_components_is_proper(K, R):
    """At fixed coefficients, t = s sqrt(1 - |v|^2) can only be so near to 0."""
    model = without_data(K, R, 0)
    logp = model.compile_logp(mode="FAST_COMPILE")
    point = model.initial_point()

    def log_density(log_t):
        changed = {"log_t": np.full(R, log_t), "xi": np.full((K, R), np.exp(-log_t))}
        return logp(point | changed) - K * R * log_t

    assert log_density(-40) < log_density(-20) - 10


# Design matrix


def frame():
    return pd.DataFrame(
        {
            "age": [30, 41, 55, 38, 62, 47],
            "sex": ["m", "f", "f", "m", "f", "m"],
            "urban": [True, False, True, True, False, False],
            "school": pd.Categorical(
                ["none", "degree", "some", "none", "some", "degree"],
                ["none", "some", "degree"],
                ordered=True,
            ),
        },
        index=[5, 4, 9, 8, 7, 6],
    )


def test_design_matrix_of_mixed_columns():
    X, predictors, baselines = design_matrix(frame(), 6)
    assert predictors == [
        "intercept",
        "age",
        "sex=m",
        "urban=True",
        "school=some",
        "school=degree",
    ]
    assert baselines == {"sex": "f", "urban": False, "school": "none"}
    np.testing.assert_array_equal(
        X.T,
        [
            [1, 1, 1, 1, 1, 1],
            [30, 41, 55, 38, 62, 47],
            [1, 0, 0, 1, 0, 1],
            [1, 0, 1, 1, 0, 0],
            [0, 0, 1, 0, 1, 0],
            [0, 1, 0, 0, 0, 1],
        ],
    )
    assert X.dtype == float


def test_the_first_category_is_the_baseline():
    column = pd.Categorical(["a", "b", "c", "a"], ["c", "a", "b"])
    _, predictors, baselines = design_matrix(pd.DataFrame({"level": column}), 4)
    assert baselines == {"level": "c"}
    assert predictors == ["intercept", "level=a", "level=b"]


def test_categories_of_numbers_are_categories():
    column = pd.Categorical([3, 1, 2, 1])
    X, predictors, baselines = design_matrix(pd.DataFrame({"size": column}), 4)
    assert baselines == {"size": 1}
    assert predictors == ["intercept", "size=2", "size=3"]
    np.testing.assert_array_equal(X[:, 1:].T, [[0, 0, 1, 0], [1, 0, 0, 0]])


@pytest.mark.parametrize("dtype", [object, "str", "category"])
def test_strings_are_sorted(dtype):
    column = pd.Series(["w", "n", "e", "n"], dtype=dtype)
    _, predictors, baselines = design_matrix(pd.DataFrame({"region": column}), 4)
    assert baselines == {"region": "e"}
    assert predictors == ["intercept", "region=n", "region=w"]


@pytest.mark.parametrize("dtype", ["Int64", "Float32", "uint8", object])
def test_numbers_stay_numbers(dtype):
    data = pd.DataFrame({"age": pd.Series([30, 41, 55], dtype=dtype)})
    X, predictors, baselines = design_matrix(data, 3)
    if dtype is object:
        assert baselines == {"age": 30}
        return
    assert (predictors, baselines) == (["intercept", "age"], {})
    np.testing.assert_array_equal(X[:, 1], [30, 41, 55])


@pytest.mark.parametrize("dtype", [bool, "boolean", object])
def test_truth_values_become_an_indicator(dtype):
    data = pd.DataFrame({"urban": pd.Series([True, False, True], dtype=dtype)})
    X, predictors, baselines = design_matrix(data, 3)
    assert predictors == ["intercept", "urban=True"]
    assert baselines == {"urban": False}
    np.testing.assert_array_equal(X[:, 1], [1, 0, 1])


@pytest.mark.parametrize("as_other", [list, np.array, xr.DataArray])
def test_design_matrix_of_an_array(as_other):
    X, predictors, baselines = design_matrix(as_other([[1, 5.5], [2, 3], [4, 0]]), 3)
    assert (predictors, baselines) == (["intercept", "x0", "x1"], {})
    np.testing.assert_array_equal(X, [[1, 1, 5.5], [1, 2, 3], [1, 4, 0]])


@pytest.mark.parametrize("empty", [np.empty((3, 0)), pd.DataFrame(index=range(3))])
def test_an_intercept_alone(empty):
    X, predictors, baselines = design_matrix(empty, 3)
    assert (predictors, baselines) == (["intercept"], {})
    np.testing.assert_array_equal(X, np.ones((3, 1)))


def test_the_design_matrix_is_a_copy():
    array = np.array([[1.0], [2], [3]])
    X, _, _ = design_matrix(array, 3)
    array[0] = 100
    np.testing.assert_array_equal(X[:, 1], [1, 2, 3])


def levels(values, categories):
    return pd.DataFrame({"sex": pd.Categorical(values, categories)})


@pytest.mark.parametrize(
    ("X", "text"),
    [
        (
            pd.DataFrame({"age": [30, 40, np.nan]}),
            "X must not be missing; record 2 of 'age' is",
        ),
        (
            pd.DataFrame({"age": [1, 2, 3], "sex": ["m", None, "f"]}),
            "X must not be missing; record 1 of 'sex' is",
        ),
        (
            levels(["m", "f", None], ["f", "m"]),
            "X must not be missing; record 2 of 'sex' is",
        ),
        (
            pd.DataFrame({"age": pd.array([1, pd.NA, 3], dtype="Int64")}),
            "X must not be missing; record 1 of 'age' is",
        ),
        ([[1, 2], [3, np.nan], [4, 4]], "X must not be missing; record 1 of 'x1' is"),
        (
            pd.DataFrame({"age": [30, np.inf, 3]}),
            "X['age'] must be finite; record 1 has inf",
        ),
        (
            levels(["m", "f", "m"], ["f", "m", "x"]),
            "X must hold every level of its columns; 'x' of 'sex' does not occur",
        ),
        ([[1, 2], [3, 2], [4, 2]], "X must vary; column 'x1' is constant"),
        (
            pd.DataFrame({"sex": ["m", "m", "m"]}),
            "X must vary; column 'sex' is constant",
        ),
        (
            pd.DataFrame({"urban": [True, True, True]}),
            "X must vary; column 'urban' is constant",
        ),
        (
            np.arange(9.0).reshape(3, 3) ** 2,
            "X must have no more coefficients than records; got 4 for 3",
        ),
        (
            pd.DataFrame({"id": ["a", "b", "c"], "age": [1, 2, 4]}),
            "X must have no more coefficients than records; got 4 for 3",
        ),
        (pd.DataFrame({"age": [1, 2]}), "X must have 3 rows, as y has; got 2"),
        (np.ones((4, 2)), "X must have 3 rows, as y has; got 4"),
        ([1, 2, 3], "X must have shape (3, columns); got (3,)"),
        (pd.Series([1, 2, 3]), "X must have shape (3, columns); got (3,)"),
        (np.ones((3, 2, 2)), "X must have shape (3, columns); got (3, 2, 2)"),
        (
            [["a"], ["b"], ["c"]],
            "X must be numbers; got [['a'], ['b'], ['c']]",
        ),
    ],
)
def test_bad_predictors_are_refused(X, text):
    with refused(text):
        pp.MixtureSynthesizer([1, 2, 3], X)


def test_a_column_called_intercept_does_not_replace_the_intercept():
    data = pd.DataFrame({"intercept": [1, 2, 4], "age": [3, 1, 7]})
    with pytest.raises(ValueError, match="intercept"):
        design_matrix(data, 3)


def test_columns_of_one_name_are_not_dropped():
    data = pd.DataFrame([[1, 5], [2, 3], [4, 0]], columns=["age", "age"])
    with pytest.raises(ValueError, match="age"):
        design_matrix(data, 3)


def test_an_indicator_does_not_replace_another_column():
    data = pd.DataFrame({"sex=m": [1, 2, 4], "sex": ["m", "f", "m"]})
    with pytest.raises(ValueError, match="sex=m"):
        design_matrix(data, 3)


# Constructor


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"y": [3, np.nan, 1]}, "y must be finite; record 1 has nan"),
        ({"y": [3, 2, np.inf]}, "y must be finite; record 2 has inf"),
        ({"y": [3, None, 1]}, "y must be finite; record 1 has nan"),
        ({"y": ["a", "b", "c"]}, "y must be numbers; got ['a', 'b', 'c']"),
        (
            {"y": [3, 0, 1]},
            "y + shift must be above 0; record 1 has 0 + 0: choose a shift above 0",
        ),
        (
            {"y": [3, 1, -5]},
            "y + shift must be above 0; record 2 has -5 + 0: choose a shift above 5",
        ),
        (
            {"y": [-5, 2, 1], "shift": 5},
            "y + shift must be above 0; record 0 has -5 + 5: choose a shift above 5",
        ),
        (
            {"n_components": 0},
            "n_components must be a whole number of at least 1; got 0",
        ),
        (
            {"n_components": 2.5},
            "n_components must be a whole number of at least 1; got 2.5",
        ),
        ({"min_sigma": 0}, "min_sigma must be a finite number in (0, inf]; got 0"),
        ({"min_sigma": -1}, "min_sigma must be a finite number in (0, inf]; got -1"),
        (
            {"min_sigma": None},
            "min_sigma must be a finite number in (0, inf]; got None",
        ),
        ({"shift": np.nan}, "shift must be a finite number in [-inf, inf]; got nan"),
    ],
)
def test_bad_arguments_are_refused(changes, text):
    given = {"y": [1, 2, 3], "X": [[1], [2], [4]]} | changes
    with refused(text):
        pp.MixtureSynthesizer(**given)


def test_the_data_are_copied():
    y = np.array([1.0, 2, 3])
    synthesizer = pp.MixtureSynthesizer(y, [[1], [2], [4]])
    y[0] = 100
    np.testing.assert_array_equal(synthesizer.y, [1, 2, 3])


def test_the_shift_moves_the_logarithm():
    synthesizer = pp.MixtureSynthesizer([-4, 2, 1], [[1], [2], [4]], shift=5)
    np.testing.assert_array_equal(synthesizer.log_y, np.log([1, 7, 6]))


# Start of sampling


def two_groups(n=120):
    """log y and X of two regressions far apart, and which record is of the second."""
    rng = np.random.default_rng(8)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    second = np.arange(n) % 3 == 0
    beta = np.array([[1, 0.5, -0.3], [5, -0.2, 0.2]])
    log_y = (X * beta[second.astype(int)]).sum(axis=1) + 0.3 * rng.normal(size=n)
    return log_y, X, second


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


@pytest.mark.parametrize(("K", "R"), [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (20, 3)])
def test_models_of_any_size_have_a_density_at_the_start(K, R):
    log_y, X, _ = two_groups()
    synthesizer = pp.MixtureSynthesizer(np.exp(log_y), X[:, 1:R], K)
    model = synthesizer.model
    for name, values in synthesizer._sampling_data(np.ones(120)).items():
        model[name].set_value(values)
    point = model.initial_point()
    assert np.isfinite(model.compile_logp(mode="FAST_COMPILE")(point))
    assert np.isfinite(model.compile_dlogp(mode="FAST_COMPILE")(point)).all()


def test_sampling_starts_at_the_maximum_likelihood_fit():
    log_y, X, _ = two_groups()
    synthesizer = pp.MixtureSynthesizer(np.exp(log_y), X[:, 1:], 2)
    for name, values in synthesizer._sampling_data(np.ones(120)).items():
        synthesizer.model[name].set_value(values)
    evaluate, size = parameters_and_density(synthesizer.model)
    _, pi, sigma, beta, *_ = evaluate(np.zeros(size))
    found = max(
        (
            expectation_maximization(log_y, X, np.ones(120), 2, 0.05, j)
            for j in range(3)
        ),
        key=lambda fit: fit[0],
    )
    np.testing.assert_allclose(pi, found[1], rtol=1e-6)
    np.testing.assert_allclose(beta, found[2], rtol=1e-6)
    np.testing.assert_allclose(sigma, found[3], rtol=1e-6)


# Draws from the prior


def prior_draws(K, R, size, min_sigma=0.05, seed=11):
    """Independent draws, shape (1, size, ...), of what a fit holds."""
    rng = np.random.default_rng(seed)
    gamma = rng.exponential(size=size)
    shape = gamma[:, None] / K
    # Shares of a small shape underflow, unless drawn as logarithms.
    log_share = np.log(rng.gamma(np.repeat(shape, K, axis=1) + 1))
    log_share += np.log(rng.uniform(size=(size, K))) / shape
    pi = np.exp(log_share - logsumexp(log_share, axis=1, keepdims=True))
    s = np.abs(rng.standard_t(3, size=(size, R)))
    U = uniform_on_the_sphere(rng, sphere_dimensions(K, R), (size, R))
    W = rng.normal(size=(size, U.shape[-1], K))
    beta = np.swapaxes(s[..., None] * (U @ W), 1, 2)
    sigma = min_sigma + np.abs(rng.standard_t(3, size=(size, K)))
    draws = {"gamma": gamma, "pi": pi, "s": s, "beta": beta, "sigma": sigma}
    return {name: values[None] for name, values in draws.items()}


def uniform_on_the_sphere(rng, dimensions, shape):
    point = rng.normal(size=(*shape, dimensions))
    return point / np.linalg.norm(point, axis=-1, keepdims=True)


def statistics_of_prior(draws, min_sigma=0.05):
    gamma, pi, s, beta, sigma = (
        np.asarray(draws[name]) for name in ("gamma", "pi", "s", "beta", "sigma")
    )
    rows = beta / s[:, :, None, :]
    return {
        "gamma": gamma,
        "largest pi": pi.max(axis=-1),
        "log of the first pi": np.log(np.maximum(pi[..., 0], 1e-300)),
        "log of the last pi": np.log(np.maximum(pi[..., -1], 1e-300)),
        "first s": s[..., 0],
        "last s": s[..., -1],
        "first sigma": sigma[..., 0] - min_sigma,
        "last sigma": sigma[..., -1] - min_sigma,
        "first coefficient": beta[..., 0, 0],
        "last coefficient": beta[..., -1, -1],
        "first over s": rows[..., 0, 0],
        "last over s": rows[..., -1, -1],
        "length of the first row": np.linalg.norm(rows[..., 0], axis=-1),
        "length of the last row": np.linalg.norm(rows[..., -1], axis=-1),
        "product within a component": rows[..., 0, 0] * rows[..., 0, 1],
        "product between components": rows[..., 0, 0] * rows[..., -1, 0],
        "product of rows": (rows[..., 0] * rows[..., 1]).sum(axis=-1),
        "product of s and s": s[..., 0] * s[..., 1],
    }


def assert_same_distribution(
    draws, independent, probabilities=(0.05, 0.25, 0.5, 0.75, 0.95)
):
    """Compare by quantile, within 4 standard errors, and list every statistic that differs."""
    differ = []
    for name, values in draws.items():
        for level in probabilities:
            below = values < np.quantile(independent[name], level)
            size = ess(below)
            error = np.sqrt(
                level * (1 - level) * (1 / size + 1 / independent[name].size)
            )
            if not size > 50 or abs(below.mean() - level) > 4 * error:
                differ.append(f"{name}: {below.mean():.3f} for {level}, ESS {size:.0f}")
    assert not differ, "\n".join(differ)


def ess(values):
    """Effective number of draws of an array of shape (chain, draw)."""
    values = np.asarray(values, dtype=float)
    return float(az.ess(values, method="mean")) if np.ptp(values) else np.nan


def fitted(synthesizer, *args, **settings):
    """Fit whether or not it converges or warns; what it says is tested on its own."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = synthesizer.fit(*args, **settings)
    fit.attrs["warned"] = [
        str(warning.message)
        for warning in caught
        if warning.category is not pp.ConvergenceWarning
    ]
    return fit


def test_off_diagonals_of_products_of_points_on_a_sphere_are_lkj():
    rng = np.random.default_rng(12)
    for R in (2, 3, 5):
        U = uniform_on_the_sphere(rng, R + 1, (20_000, R))
        correlation = U @ np.swapaxes(U, 1, 2)
        for i, j in ((1, 0), (R - 1, R - 2)):
            marginal = stats.beta(R / 2, R / 2, loc=-1, scale=2)
            assert stats.kstest(correlation[:, i, j], marginal.cdf).pvalue > 1e-4


def correlations_by_vine(rng, R, size):
    """LKJ(1) by partial correlations, as Lewandowski, Kurowicka and Joe (2009) define it."""
    correlation = np.tile(np.eye(R), (size, 1, 1))
    partial = np.zeros((size, R, R))
    for k in range(R - 1):
        shape = 1 + (R - 2 - k) / 2
        for i in range(k + 1, R):
            partial[:, k, i] = p = 2 * rng.beta(shape, shape, size=size) - 1
            for j in range(k - 1, -1, -1):
                first, second = partial[:, j, i], partial[:, j, k]
                p = p * np.sqrt((1 - first**2) * (1 - second**2)) + first * second
            correlation[:, k, i] = correlation[:, i, k] = p
    return correlation


def test_products_of_points_on_a_sphere_are_the_lkj_of_a_vine():
    rng = np.random.default_rng(12)
    for R in (3, 4):
        U = uniform_on_the_sphere(rng, R + 1, (20_000, R))
        correlation = U @ np.swapaxes(U, 1, 2)
        other = correlations_by_vine(rng, R, 20_000)
        for statistic in (
            np.linalg.det,
            lambda matrix: matrix[:, 0, 1] * matrix[:, 1, 2] * matrix[:, 0, 2],
            lambda matrix: np.linalg.eigvalsh(matrix)[:, -1],
        ):
            pvalue = stats.ks_2samp(statistic(correlation), statistic(other)).pvalue
            assert pvalue > 1e-4


@pytest.fixture(scope="module")
def heaped():
    """Two thirds of the records have the same value."""
    rng = np.random.default_rng(13)
    log_y = np.where(np.arange(60) < 40, np.log(50_000), rng.normal(10.5, 1, size=60))
    return pp.MixtureSynthesizer(
        np.exp(log_y), rng.normal(size=(60, 2)), n_components=3
    )


@pytest.fixture(scope="module")
def heaped_prior(heaped):
    return fitted(heaped, np.zeros(60), draws=2000)


def assert_prior(fit, K, R):
    draws = {
        name: fit["posterior"][name] for name in ("gamma", "pi", "s", "beta", "sigma")
    }
    assert_same_distribution(
        statistics_of_prior(draws), statistics_of_prior(prior_draws(K, R, 400_000))
    )


def test_weights_of_zero_leave_the_prior(heaped_prior):
    assert_prior(heaped_prior, 3, 3)


def test_a_fit_without_data_does_not_warn(heaped_prior):
    assert heaped_prior.attrs["warned"] == []
    assert heaped_prior.attrs["not_converged"] == ""


def test_weights_of_zero_leave_the_prior_of_more_components_than_coefficients():
    synthesizer = pp.MixtureSynthesizer(*small_file(2), n_components=4)
    assert_prior(fitted(synthesizer, np.zeros(30), draws=1000), 4, 2)


def test_an_intercept_alone_is_enough():
    y = np.exp(np.random.default_rng(17).normal(10, 0.5, size=200))
    synthesizer = pp.MixtureSynthesizer(y, np.empty((200, 0)), n_components=3)
    fit = fitted(synthesizer)
    assert fit.attrs["warned"] == []
    assert not fit["sample_stats"]["diverging"].any()
    z = np.log(synthesizer.synthesize(fit, n_datasets=200, random_seed=1))
    assert abs(z.mean() - np.log(y).mean()) < 4 * 0.5 / np.sqrt(200)


# Heaped data


def test_heaped_values_do_not_make_the_fit_collapse(heaped):
    # In 1,000 draws the mean, which a nearly empty component moves, has about 200
    # effective ones, the least that passes.
    fit = fitted(heaped, draws=4000)
    assert fit.attrs["warned"] == []
    assert fit.attrs["not_converged"] == ""
    assert float(fit["posterior"]["sigma"].min()) >= 0.05
    highest = -np.log(0.05) - 0.5 * np.log(2 * np.pi)
    log_likelihood = heaped.log_likelihood(fit)
    assert np.isfinite(log_likelihood).all()
    assert float(log_likelihood.max()) <= highest
    # The heap has two thirds of the records, so its own component has about that share.
    assert float(log_likelihood[:, :40].mean()) > highest + np.log(0.5) - 0.5


# An independent model


@pytest.fixture(scope="module")
def textbook(K=2, min_sigma=0.05):
    """The model as P1 writes it, z summed out, for two coefficients, compiled."""
    with pm.Model() as model:
        log_y, X = pm.Data("log_y", np.zeros(60)), pm.Data("X", np.ones((60, 2)))
        weights = pm.Data("weights", np.ones(60))
        gamma = pm.Gamma("gamma", 1, 1)
        pi = pm.Dirichlet("pi", pt.repeat(gamma / K, K))
        s = pm.HalfStudentT("s", nu=3, sigma=1, shape=2)
        correlation = pm.Uniform("correlation", -1, 1)
        z = pm.Normal("z", 0, 1, shape=(K, 2))
        slope = correlation * z[:, 0] + pt.sqrt(1 - correlation**2) * z[:, 1]
        beta = pm.Deterministic("beta", s * pt.stack([z[:, 0], slope], axis=1))
        excess = pm.HalfStudentT("excess", nu=3, sigma=1, shape=K)
        sigma = pm.Deterministic("sigma", min_sigma + excess)
        mixture = pm.NormalMixture.dist(w=pi, mu=X @ beta.T, sigma=sigma)
        pm.Potential("y", (weights * pm.logp(mixture, log_y)).sum())
    return nutpie.compile_pymc_model(model)


def sample_textbook_model(textbook, log_y, X, weights):
    return nutpie.sample(
        textbook.with_data(log_y=log_y, X=X, weights=weights),
        draws=3000,
        tune=1500,
        chains=2,
        cores=2,
        target_accept=0.97,
        seed=15,
        save_warmup=False,
        progress_bar=False,
    )


def invariant_quantities(posterior, log_y, X):
    """Quantities of shape (chain, draw) that no order of the components changes."""
    gamma, pi, s, beta, sigma = (
        posterior[name].to_numpy() for name in ("gamma", "pi", "s", "beta", "sigma")
    )
    quantities = {
        "gamma": gamma,
        "log s of the intercept": np.log(s[..., 0]),
        "log s of the slope": np.log(s[..., 1]),
        "largest pi": pi.max(axis=-1),
        "log of the product of the sigmas": np.log(sigma).sum(axis=-1),
        "log of the smallest sigma": np.log(sigma.min(axis=-1)),
    }
    for at in (-1.0, 1.0):
        mean = beta @ np.array([1, at])
        quantities[f"mean at {at:g}"] = (pi * mean).sum(axis=-1)
        for level in (0.05, 0.25, 0.5, 0.75, 0.95):
            point = np.quantile(log_y, level)
            below = (pi * stats.norm.cdf(point, mean, sigma)).sum(axis=-1)
            quantities[f"share below the quantile of {level} at {at:g}"] = below
    for i in (0, 17, 33):
        terms = stats.norm.logpdf(log_y[i], beta @ X[i], sigma)
        quantities[f"log density of record {i}"] = logsumexp(
            terms + np.log(np.maximum(pi, 1e-300)), axis=-1
        )
    return quantities


def standard_error(values):
    return values.std() / np.sqrt(ess(values))


def assert_same_posterior(quantities, others):
    differ = []
    for name, values in quantities.items():
        other = others[name]
        for label, function in (("mean", np.asarray), ("square", np.square)):
            first, second = (
                function(values - other.mean()),
                function(other - other.mean()),
            )
            error = np.hypot(standard_error(first), standard_error(second))
            if not abs(first.mean() - second.mean()) < 4 * error:
                z = (first.mean() - second.mean()) / error
                differ.append(f"{label} of {name}: {z:.1f} standard errors")
    assert not differ, "\n".join(differ)


@pytest.fixture(scope="module")
def overlapping():
    """Two regressions that overlap, in 60 records."""
    rng = np.random.default_rng(14)
    x = rng.normal(size=60)
    second = rng.uniform(size=60) < 0.4
    mean = np.where(second, 2.5 - 0.4 * x, 0.5 + 0.6 * x)
    log_y = rng.normal(mean, np.where(second, 0.7, 0.4))
    return pp.MixtureSynthesizer(np.exp(log_y), x[:, None], n_components=2)


@pytest.mark.parametrize("kind", ["scalar", "vector", "deletion"])
def test_fit_is_the_posterior_of_the_textbook_model(overlapping, textbook, kind):
    log_y, X = overlapping.log_y, overlapping.X
    rng = np.random.default_rng(16)
    weights = {
        "scalar": np.ones(60),
        "vector": rng.uniform(size=60),
        "deletion": (np.arange(60) % 4 > 0).astype(float),
    }[kind]
    fit = fitted(overlapping, weights, draws=2500)
    assert fit.attrs["warned"] == []
    kept = weights > 0
    other = sample_textbook_model(textbook, log_y[kept], X[kept], weights[kept])
    assert_same_posterior(
        invariant_quantities(fit["posterior"], log_y, X),
        invariant_quantities(other["posterior"], log_y, X),
    )


def test_two_components_leave_the_prior_without_data(overlapping):
    assert_prior(fitted(overlapping, np.zeros(60), draws=2000), 2, 2)


# Fits of simulated data

TRUE_PI = np.array([0.6, 0.4])
TRUE_BETA = np.array([[9, 0.3, 0.5, -0.2], [11, -0.2, 0.2, 0.3]])
TRUE_SIGMA = np.array([0.3, 0.5])


def simulated():
    rng = np.random.default_rng(17)
    n = 400
    X = pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "sex": rng.choice(["f", "m"], size=n),
            "hours": rng.uniform(size=n),
        }
    )
    design = np.column_stack([np.ones(n), X["age"], X["sex"] == "m", X["hours"]])
    k = rng.choice(2, p=TRUE_PI, size=n)
    log_y = rng.normal((design * TRUE_BETA[k]).sum(axis=1), TRUE_SIGMA[k])
    return np.exp(log_y), X, design.astype(float)


@pytest.fixture(scope="module")
def compilations():
    calls, compile_model = [], nutpie.compile_pymc_model

    def counted(model, **settings):
        calls.append(model)
        return compile_model(model, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nutpie, "compile_pymc_model", counted)
        patch.setattr(compiled, "SAMPLERS", {})
        yield calls


@pytest.fixture(scope="module")
def regressions(compilations):
    y, X, _ = simulated()
    return pp.MixtureSynthesizer(y, X, n_components=4)


@pytest.fixture(scope="module")
def regression_fit(regressions):
    return fitted(regressions)


def test_an_easy_fit_converges(regression_fit):
    assert not regression_fit.attrs["not_converged"]


def test_a_fit_warns_of_nothing_else(regression_fit):
    assert regression_fit.attrs["warned"] == []


def test_structure_of_a_fit(regressions, regression_fit):
    fit = regression_fit
    assert set(fit.children) == {
        "posterior",
        "sample_stats",
        "constant_data",
        "label_invariant",
    }
    assert regressions.predictors == ["intercept", "age", "sex=m", "hours"]
    posterior = fit["posterior"].to_dataset()
    dims = {
        "gamma": (),
        "pi": ("component",),
        "beta": ("component", "predictor"),
        "sigma": ("component",),
        "s": ("predictor",),
    }
    for name, wanted in dims.items():
        assert posterior[name].dims == ("chain", "draw", *wanted)
    assert (
        dict(posterior.sizes).items()
        >= {
            "chain": 2,
            "draw": 1000,
            "component": 4,
            "predictor": 4,
        }.items()
    )
    assert list(posterior["predictor"].to_numpy()) == regressions.predictors
    np.testing.assert_array_equal(fit["constant_data"]["weights"], np.ones(400))
    assert set(fit["label_invariant"].data_vars) == {
        "log_likelihood",
        "mean",
        "distribution",
    }
    settings = {"draws": 1000, "tune": 1000, "chains": 2, "random_seed": 1}
    assert fit.attrs.items() >= settings.items()
    assert fit.attrs["synthesizer"] == "MixtureSynthesizer"


def test_a_fit_holds_no_coordinates_of_the_sampler(regression_fit):
    assert set(regression_fit["posterior"].data_vars) == {
        "gamma",
        "pi",
        "beta",
        "sigma",
        "s",
    }


def test_draws_are_in_range(regression_fit):
    posterior = regression_fit["posterior"]
    np.testing.assert_allclose(posterior["pi"].sum("component"), 1, rtol=1e-12)
    assert (posterior["pi"] >= 0).all()
    assert (posterior["sigma"] > 0.05).all()
    assert (posterior["s"] > 0).all()
    assert (posterior["gamma"] > 0).all()


def true_log_density(log_y, design):
    return by_scipy(log_y, TRUE_BETA @ design.T, np.log(TRUE_PI), np.log(TRUE_SIGMA))[0]


def test_log_density_of_the_data_is_near_the_true_one(regressions, regression_fit):
    _, _, design = simulated()
    total = regressions.log_likelihood(regression_fit).sum("record")
    gain = total - true_log_density(regressions.log_y, design).sum()
    # Of p = 11 parameters: the mean of the gain has mean 0 and variance p / 2.
    assert abs(float(gain.mean())) < 4 * np.sqrt(11 / 2)


def test_distribution_of_the_data_is_found(regressions, regression_fit):
    posterior = regression_fit["posterior"]
    pi, beta, sigma = (posterior[name].to_numpy() for name in ("pi", "beta", "sigma"))
    spaced = np.s_[:, ::20]
    mean = np.einsum("ir,cskr->csik", regressions.X, beta[spaced])
    true_mean = regressions.X @ TRUE_BETA.T
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        point = np.quantile(regressions.log_y, level)
        below = stats.norm.cdf(point, mean, sigma[spaced][:, :, None])
        share = (pi[spaced][:, :, None] * below).sum(axis=-1).mean()
        truth = (
            (TRUE_PI * stats.norm.cdf(point, true_mean, TRUE_SIGMA)).sum(axis=1).mean()
        )
        assert abs(share - truth) < 4 * np.sqrt(level * (1 - level) / 400)


def test_label_invariant_quantities_of_a_fit(regressions, regression_fit):
    group = regression_fit["label_invariant"]
    log_likelihood = group["log_likelihood"].to_numpy().reshape(2000, 10)
    every = regressions.log_likelihood(regression_fit).to_numpy()
    y = regressions.log_y
    np.testing.assert_allclose(log_likelihood[:, 0], every[:, y.argmin()], rtol=1e-10)
    np.testing.assert_allclose(log_likelihood[:, -1], every[:, y.argmax()], rtol=1e-10)
    distribution = group["distribution"].to_numpy()
    assert ((distribution >= 0) & (distribution <= 1)).all()
    assert (np.diff(distribution, axis=-1) >= 0).all()
    records = np.argsort(y, kind="stable")[np.linspace(0, 399, 60).astype(int)]
    pi, beta, sigma = (
        regression_fit["posterior"][name].to_numpy()[1, 7]
        for name in ("pi", "beta", "sigma")
    )
    mean = regressions.X[records] @ beta.T
    np.testing.assert_allclose(
        group["mean"].to_numpy()[1, 7, 0], (mean @ pi).mean(), rtol=1e-10
    )
    below = stats.norm.cdf(np.quantile(y, 0.25), mean, sigma) @ pi
    np.testing.assert_allclose(distribution[1, 7, 2], below.mean(), rtol=1e-10)


def test_log_likelihood_is_that_of_the_draws(regressions, regression_fit):
    result = regressions.log_likelihood(regression_fit)
    assert result.dims == ("sample", "record")
    assert result.shape == (2000, 400)
    posterior = regression_fit["posterior"]
    for chain, draw in ((0, 0), (0, 999), (1, 0), (1, 500)):
        pi, beta, sigma = (
            posterior[name].to_numpy()[chain, draw] for name in ("pi", "beta", "sigma")
        )
        with np.errstate(divide="ignore"):  # an empty component's share may be 0
            log_pi = np.log(pi)
        expected, _ = by_scipy(
            regressions.log_y, beta @ regressions.X.T, log_pi, np.log(sigma)
        )
        np.testing.assert_allclose(result[1000 * chain + draw], expected, rtol=1e-10)


SHORT = {"draws": 20, "tune": 30}


@pytest.mark.parametrize("weights", [np.ones(400), np.full(400, True)])
def test_weights_of_one_are_the_default(regressions, weights):
    xr.testing.assert_equal(
        fitted(regressions, weights, **SHORT)["posterior"].to_dataset(),
        fitted(regressions, **SHORT)["posterior"].to_dataset(),
    )


def test_a_seed_determines_the_fit(regressions):
    first, again, other = (
        fitted(regressions, random_seed=seed, **SHORT)["posterior"].to_dataset()
        for seed in (3, 3, 4)
    )
    xr.testing.assert_equal(first, again)
    assert not np.isin(other["gamma"], first["gamma"]).any()


def test_the_model_is_compiled_once(regressions, regression_fit, compilations):
    before = list(compilations)
    group = np.arange(400) < 100
    fits = [
        fitted(regressions, weights, **SHORT) for weights in (group, 0.3 + 0 * group)
    ]
    assert compilations == before
    assert compilations.count(regressions.model) == 1
    first, second = (fit["posterior"]["gamma"].to_numpy() for fit in fits)
    assert not np.isin(first, second).any()


def test_other_data_share_the_compiled_model(regressions, regression_fit, compilations):
    y, X, _ = simulated()
    before = list(compilations)
    other = pp.MixtureSynthesizer(y[::-1], X, n_components=4)
    shared = fitted(other, **SHORT)
    assert compilations == before
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "SAMPLERS", {})
        alone = fitted(pp.MixtureSynthesizer(y[::-1], X, n_components=4), **SHORT)
    xr.testing.assert_equal(
        shared["posterior"].to_dataset(), alone["posterior"].to_dataset()
    )
    assert compilations.count(other.model) == 0


@pytest.mark.parametrize(
    "other",
    [
        lambda y, X: pp.MixtureSynthesizer(y, X, n_components=5),
        lambda y, X: pp.MixtureSynthesizer(y, X, n_components=4, min_sigma=0.1),
        lambda y, X: pp.MixtureSynthesizer(y, X.rename(columns={"age": "years"}), 4),
        lambda y, X: pp.MixtureSynthesizer(y[:-1], X[:-1], n_components=4),
    ],
    ids=["components", "min_sigma", "names", "length"],
)
def test_another_form_is_compiled_anew(regressions, other):
    y, X, _ = simulated()
    assert other(y, X)._form != regressions._form


def test_a_fit_of_other_data_is_refused(regression_fit):
    y, X, _ = simulated()
    other = pp.MixtureSynthesizer(y[::-1], X, n_components=4)
    for method in (other.synthesize, other.log_likelihood):
        with pytest.raises(ValueError, match=r"^fit must come from this MixtureSynth"):
            method(regression_fit)


@pytest.mark.parametrize(
    "changes", [{"min_sigma": 0.06}, {"n_components": 3}, {"shift": 1}], ids=str
)
def test_a_fit_with_other_settings_is_refused(regression_fit, changes):
    y, X, _ = simulated()
    other = pp.MixtureSynthesizer(y, X, **({"n_components": 4} | changes))
    with pytest.raises(ValueError, match=r"^fit must come from this MixtureSynth"):
        other.synthesize(regression_fit, random_seed=1)


# Synthetic data


def test_synthetic_data(regressions, regression_fit):
    synthetic = regressions.synthesize(regression_fit, random_seed=1)
    assert synthetic.shape == (20, 400)
    assert (synthetic > 0).all()
    assert np.isfinite(synthetic).all()
    assert len(np.unique(synthetic)) == 8000


def test_a_seed_determines_the_synthetic_data(regressions, regression_fit):
    first = regressions.synthesize(regression_fit, 3, random_seed=1)
    np.testing.assert_array_equal(
        regressions.synthesize(regression_fit, 3, random_seed=1), first
    )
    other = regressions.synthesize(regression_fit, 3, random_seed=2)
    assert not np.isin(other, first).any()


def test_synthetic_data_are_distributed_as_the_data(regressions, regression_fit):
    synthetic = regressions.synthesize(regression_fit, 200, random_seed=1)
    for level in (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95):
        below = (synthetic < np.quantile(regressions.y, level)).mean()
        assert abs(below - level) < 4 * np.sqrt(level * (1 - level) / 400)
    log_synthetic = np.log(synthetic)
    shift = log_synthetic.mean(axis=0) - regressions.log_y
    assert np.corrcoef(log_synthetic.mean(axis=0), regressions.log_y)[0, 1] > 0.9
    assert abs(shift.mean()) < 4 * shift.std() / np.sqrt(400)


def test_allocations_agree_where_all_weights_are_one(regressions, regression_fit):
    np.testing.assert_array_equal(
        regressions.synthesize(regression_fit, 5, allocation="weighted", random_seed=1),
        regressions.synthesize(regression_fit, 5, allocation="density", random_seed=1),
    )


PLACED = {
    "pi": np.array([0.3, 0.7]),
    "sigma": np.array([1.0, 1.5]),
    "beta": np.array([[0.0, 0.5], [20.0, -0.5]]),
}
PLACED_WEIGHTS = np.array([1, 0.5, 0.2, 0, 0])


@pytest.fixture(scope="module")
def placed():
    """A synthesizer, and a fit of 4,000 equal draws that claims to be its own."""
    log_y = np.array([8.2, 9.1, 7.6, 0.0, 20])
    x = np.array([[0.1], [0.2], [-0.3], [0.4], [0]])
    synthesizer = pp.MixtureSynthesizer(np.exp(log_y) - 5, x, n_components=2, shift=5)
    dims = ("component", "predictor")
    posterior = {
        name: (("chain", "draw", *dims[: value.ndim]), np.stack([[value] * 4000]))
        for name, value in PLACED.items()
    }
    fit = xr.DataTree.from_dict(
        {
            "/": xr.Dataset(attrs={"model": synthesizer._fingerprint}),
            "posterior": xr.Dataset(posterior),
            "constant_data": xr.Dataset({"weights": ("record", PLACED_WEIGHTS)}),
        }
    )
    return synthesizer, fit


@pytest.mark.parametrize(
    ("allocation", "power"), [("density", np.ones(5)), ("weighted", PLACED_WEIGHTS)]
)
def test_allocation(placed, allocation, power):
    synthesizer, fit = placed
    synthetic = synthesizer.synthesize(fit, 4000, allocation=allocation, random_seed=1)
    mean = synthesizer.X @ PLACED["beta"].T
    log_density = stats.norm.logpdf(synthesizer.log_y[:, None], mean, PLACED["sigma"])
    score = PLACED["pi"] * np.exp(power[:, None] * log_density)
    chance = score[:, 1] / score.sum(axis=1)
    # The components are so far apart that a value tells its own.
    second = np.log(synthetic + 5) > 9
    error = np.sqrt(chance * (1 - chance) / 4000)
    assert (np.abs(second.mean(axis=0) - chance) <= 4 * error + 1e-6).all()
    if allocation == "weighted":
        np.testing.assert_allclose(chance[3:], 0.7, rtol=1e-12)
    for k, rows in enumerate((~second, second)):
        standardised = (np.log(synthetic + 5) - mean[:, k]) / PLACED["sigma"][k]
        assert stats.kstest(standardised[rows], "norm").pvalue > 1e-4


def test_the_default_allocation_is_the_printed_one(placed):
    synthesizer, fit = placed
    default = synthesizer.synthesize(fit, 10, random_seed=1)
    for allocation, same in (("density", True), ("weighted", False)):
        other = synthesizer.synthesize(fit, 10, allocation=allocation, random_seed=1)
        assert np.array_equal(other, default) == same


def test_a_component_without_share_gets_no_record(placed):
    synthesizer, fit = placed
    fit = fit.copy(deep=True)
    fit["posterior"]["pi"][:] = [1.0, 0.0]
    assert (np.log(synthesizer.synthesize(fit, 100, random_seed=1) + 5) < 9).all()
    expected = stats.norm.logpdf(synthesizer.log_y, synthesizer.X @ PLACED["beta"][0])
    np.testing.assert_allclose(synthesizer.log_likelihood(fit)[0], expected, rtol=1e-10)


def test_shifted_synthetic_data_are_above_minus_the_shift():
    log_y = np.log([0.5, 1, 2, 4, 8])
    synthesizer = pp.MixtureSynthesizer(
        np.exp(log_y) - 5, np.arange(5.0)[:, None], 2, shift=5
    )
    synthetic = np.stack(
        [
            synthesizer.draw_dataset(
                {
                    "pi": np.array([0.5, 0.5]),
                    "beta": np.array([[0.0, 0], [1, 0]]),
                    "sigma": np.array([1.0, 3]),
                },
                np.random.default_rng(seed),
                np.ones(5),
            )
            for seed in range(200)
        ]
    )
    assert (synthesizer.y < 0).any()
    assert (synthetic >= -5).all()
    assert (synthetic < -4.5).any()
    assert (synthetic > 0).any()


@pytest.mark.parametrize("allocation", ["prior", None, 1])
def test_other_allocations_are_refused(placed, allocation):
    synthesizer, fit = placed
    with refused(
        f"allocation must be one of ('density', 'weighted'); got {allocation!r}"
    ):
        synthesizer.synthesize(fit, allocation=allocation, random_seed=1)
