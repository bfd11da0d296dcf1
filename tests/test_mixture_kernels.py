import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from mixtures import by_scipy, numerical_jacobian
from pytensor.link.numba.dispatch.basic import numba_funcify_and_cache_key

from pseudopost import compiled
from pseudopost.mixture_kernels import (
    Means,
    NormalMixture,
    NormalMixturePullback,
    PrecisionMap,
    PrecisionMapPullback,
    Product,
    SolveTransposed,
    SolveTransposedPullback,
    exp_of_negative,
    means,
    mixture_log_density,
    normal_mixture,
    normal_mixture_pullback,
    plain_mixture_log_density,
    plain_precision_map,
    precision_map,
    product,
    solve_transposed,
)

pytestmark = pytest.mark.slow


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
    [
        Means(),
        NormalMixture(),
        NormalMixturePullback(),
        PrecisionMap(),
        PrecisionMapPullback(),
        Product(),
        SolveTransposed(),
        SolveTransposedPullback(),
    ],
)
def test_compiled_code_of_another_version_is_not_used(monkeypatch, op):
    _, key = numba_funcify_and_cache_key(op)
    assert numba_funcify_and_cache_key(op)[1] == key
    monkeypatch.setattr(compiled, "digest_of_modules", lambda *names: "f" * 64)
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


# Precision map


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


# Products and solutions


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
@pytest.mark.parametrize(
    ("op", "shapes"),
    [
        (Product(), [(3, 4), (4, 5)]),
        (Product(), [(1, 4), (4, 1)]),
        (Means(), [(3, 4), (50, 4)]),
        (SolveTransposed(), [(4, 4), (4, 6)]),
        (SolveTransposed(), [(1, 1), (1, 2)]),
    ],
)
def test_linear_maps_and_their_gradients_equal_those_of_the_plain_form(
    op, shapes, mode
):
    rng = np.random.default_rng(1)
    given = [rng.normal(size=shape) for shape in shapes]
    inputs = [pt.dmatrix(), pt.dmatrix()]
    used = inputs
    if isinstance(op, SolveTransposed):
        given[0] += 3 * np.eye(len(given[0]))
        used = [pt.triu(inputs[0]), inputs[1]]  # what is below never enters
    g = pt.dmatrix()
    outputs = []
    for form in (op, lambda *values: op.plain(*values)[0]):
        value = form(*used)
        outputs.append([value, *pt.grad((g * value).sum(), inputs)])
    given.append(
        rng.normal(size=outputs[0][0].eval(dict(zip(inputs, given, strict=True))).shape)
    )
    actual = pytensor.function([*inputs, g], outputs[0], mode)(*given)
    expected = pytensor.function([*inputs, g], outputs[1], "FAST_COMPILE")(*given)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_linear_maps_take_views():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 6, 6))
    T = np.triu(a) + 3 * np.eye(6)
    np.testing.assert_allclose(product(a[1:4, ::2].T, b[1:4]), a[1:4, ::2].T @ b[1:4])
    np.testing.assert_allclose(means(a[:, ::2], b[:, 3:]), a[:, ::2] @ b[:, 3:].T)
    x = solve_transposed(T[:4, :4], b[:4])
    np.testing.assert_allclose(T[:4, :4].T @ x, b[:4], rtol=1e-12)
