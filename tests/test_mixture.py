import re

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import xarray as xr
from mixtures import by_scipy, numerical_jacobian, small_file
from pytensor.graph.replace import graph_replace
from scipy import stats

import pseudopost as pp


def refused(text):
    return pytest.raises(ValueError, match=f"^{re.escape(text)}$")


# Density


def compile_density(model, K, R):
    """One function: free values as a vector to gamma, pi, ... and log density."""
    shapes = {
        "gamma": (),
        "pi": (K - 1,),
        "chol": (R * (R + 1) // 2,),
        "beta": (K, R),
        "excess": (K,),
    }
    assert {rv.name for rv in model.free_RVs} == set(shapes)
    values, size, x = {}, 0, pt.dvector("all")
    for name, shape in shapes.items():
        count = int(np.prod(shape))
        part = x[size : size + count].reshape(shape)
        values[model.rvs_to_values[model[name]]] = part
        size += count
    outputs = [model[name] for name in ("gamma", "pi", "sigma", "beta", "s")]
    outputs.append(pm.math.expand_packed_triangular(R, model["chol"]))
    outputs = [*model.replace_rvs_by_values(outputs), model.logp()]
    outputs = graph_replace(outputs, values, strict=False)
    return pytensor.function([x], outputs, mode="FAST_COMPILE"), size


def log_density(synthesizer, weights, gamma, pi, sigma, beta, s, correlation):
    """Log density of log gamma, log pi_k / pi_1, log(sigma - floor), beta, log s and correlations."""
    K, R = beta.shape
    excess = sigma - synthesizer.min_sigma
    log_likelihood, _ = by_scipy(
        synthesizer.log_y, beta @ synthesizer.X.T, np.log(pi), np.log(sigma)
    )
    return (
        stats.expon.logpdf(gamma)
        + np.log(gamma)
        + stats.dirichlet.logpdf(pi, np.full(K, gamma / K))
        + np.log(pi).sum()
        + (stats.t.logpdf(excess, 3) + np.log(excess)).sum()
        + (stats.t.logpdf(s, 3) + np.log(s)).sum()
        + max(K - R, 0) / 2 * np.linalg.slogdet(correlation)[1]
        + stats.multivariate_normal(cov=s * correlation * s[:, None]).logpdf(beta).sum()
        + weights @ log_likelihood
    )


SIZES = pytest.mark.parametrize(
    ("K", "R"), [(1, 1), (1, 3), (2, 2), (2, 3), (3, 3), (4, 1), (5, 2), (6, 4)]
)


@pytest.mark.slow
@SIZES
def test_density_of_the_model(K, R):
    synthesizer = pp.MixtureSynthesizer(*small_file(R), K, min_sigma=0.2)
    weights = np.random.default_rng(7).uniform(size=30)
    synthesizer.model["y_weights"].set_value(weights)
    evaluate, size = compile_density(synthesizer.model, K, R)
    below = np.tril_indices(R, -1)

    def parts(x):
        *others, s, chol, logp = evaluate(x)
        correlation = chol @ chol.T / s / s[:, None]
        return (*others, s, correlation), logp

    def coordinates(x):
        (gamma, pi, sigma, beta, s, correlation), _ = parts(x)
        return np.concatenate(
            [
                np.atleast_1d(np.log(gamma)),
                np.log(pi[1:] / pi[0]),
                np.log(sigma - 0.2),
                beta.ravel(),
                np.log(s),
                correlation[below],
            ]
        )

    rng = np.random.default_rng(6)
    differences = []
    for x in rng.normal(size=(6, size)):
        known, logp = parts(x)
        jacobian = numerical_jacobian(coordinates, x)
        assert jacobian.shape == (size, size)
        expected = log_density(synthesizer, weights, *known)
        differences.append(logp - expected - np.linalg.slogdet(jacobian)[1])
    np.testing.assert_allclose(differences, differences[0], rtol=0, atol=1e-8)


@pytest.mark.slow
@SIZES
def test_models_of_any_size_have_draws(K, R):
    synthesizer = pp.MixtureSynthesizer(*small_file(R), K)
    with pytest.warns(pp.ConvergenceWarning):
        fit = synthesizer.fit(draws=4, tune=20, random_seed=1)
    assert fit["posterior"]["beta"].shape == (5, 4, K, R)
    for group in ("posterior", "label_invariant"):
        for values in fit[group].data_vars.values():
            assert np.isfinite(values).all()


# Directions


def test_directions_of_levels_and_numbers():
    """What exchanges move: the mean of one level, or a slope around the mean."""
    people = pd.DataFrame(
        {
            "size": [1.0, 4, 2, 5, 3, 3],
            "region": list("NSSWNN"),
            "old": pd.Categorical(["no", "no", "yes", "no", "yes", "no"]),
        }
    )
    model = pp.MixtureSynthesizer(range(1, 7), people, varying=["size", "region"])
    assert model.predictors == ["intercept", "size", "region=S", "region=W", "old=yes"]
    moved = model._directions @ model.X[:, model.varies].T
    expected = [
        [-2, 1, -1, 2, 0, 0],
        [1, 0, 0, 0, 1, 1],
        [0, 1, 1, 0, 0, 0],
        [0, 0, 0, 1, 0, 0],
    ]
    np.testing.assert_allclose(moved, expected)


def test_a_number_is_not_fitted_as_the_level_that_looks_like_it():
    level = pd.DataFrame({"x": list("abab")})
    number = pd.DataFrame({"x=b": [0.0, 1, 0, 1]})
    made = [pp.MixtureSynthesizer([1, 2, 3, 4], X) for X in (level, number)]
    np.testing.assert_array_equal(*(model.X for model in made))
    assert made[0]._fingerprint != made[1]._fingerprint


# Constructor


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"y": [3, np.nan, 1]}, "y must be finite; record 1 has nan"),
        ({"y": [3, 2, np.inf]}, "y must be finite; record 2 has inf"),
        ({"y": [3, None, 1]}, "y must be finite; record 1 has nan"),
        ({"y": ["a", "b", "c"]}, "y must be numbers; record 0 has 'a'"),
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


# What is judged


def test_releases_near_a_shift_are_judged_on_the_scale_of_the_values():
    y = np.array([-4.9, 0.0, 2.0, 8.0])
    synthesizer = pp.MixtureSynthesizer(y, [[1], [2], [0], [5]], 2, shift=5)
    pi, sigma = np.array([0.3, 0.7]), np.array([0.8, 1.5])
    beta = np.array([[0.5, 0.1], [1.5, 0.2]])
    posterior = {
        "pi": (("chain", "draw", "component"), pi[None, None]),
        "sigma": (("chain", "draw", "component"), sigma[None, None]),
        "beta": (("chain", "draw", "component", "predictor"), beta[None, None]),
    }
    judged = synthesizer._label_invariant(xr.Dataset(posterior))
    mean = beta @ synthesizer.X.T
    _, share = by_scipy(synthesizer.log_y, mean, np.log(pi), np.log(sigma))
    released = stats.lognorm(sigma[:, None], loc=-5, scale=np.exp(mean))
    near = released.cdf(y + 0.2 * abs(y)) - released.cdf(y - 0.2 * abs(y))
    assert near[:, 1].tolist() == [0, 0]
    np.testing.assert_allclose(
        judged["released_near_own"], [[(share * near).sum() / 4]]
    )
    points = np.quantile(synthesizer.log_y, judged["level"])
    on_log_scale = stats.norm(mean, sigma[:, None])
    below, density = (
        np.array([(share * function(point)).sum() / 4 for point in points])
        for function in (on_log_scale.cdf, on_log_scale.pdf)
    )
    step = (judged["level"].to_numpy() - below) / density
    assert (abs(step) > 1).any()
    assert (abs(step) < 1).any()
    expected = np.exp(points + np.clip(step, -1, 1)) - 5
    np.testing.assert_allclose(judged["released_quantile"][0, 0], expected)
    assert judged["released_quantile"].attrs["unit"] == "units of y"


# Synthetic data

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
            "/": xr.Dataset(attrs={"model": synthesizer._mark(None)}),
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
    synthetic = synthetic.to_numpy()
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


def test_components_are_drawn_at_confidential_and_values_at_released_predictors(
    placed,
):
    synthesizer, fit = placed
    x = synthesizer.X[:, 1:]
    own, same, moved = (
        np.log(synthesizer.synthesize(fit, 50, random_seed=1, X=X).to_numpy() + 5)
        for X in (None, [x] * 50, [x + 0.5 * (at % 2) for at in range(50)])
    )
    np.testing.assert_array_equal(same, own)
    slope = np.where(own > 9, *PLACED["beta"][::-1, 1])
    np.testing.assert_allclose(moved[::2], own[::2], rtol=1e-12)
    np.testing.assert_allclose((moved - own)[1::2], 0.5 * slope[1::2], rtol=1e-8)


@pytest.mark.slow
def test_a_component_without_share_gets_no_record(placed):
    synthesizer, fit = placed
    fit = fit.copy(deep=True)
    fit["posterior"]["pi"][:] = [1.0, 0.0]
    assert (np.log(synthesizer.synthesize(fit, 100, random_seed=1) + 5) < 9).all()
    expected = stats.norm.logpdf(synthesizer.log_y, synthesizer.X @ PLACED["beta"][0])
    log_likelihood = synthesizer.log_likelihood(fit)[0, 0]
    np.testing.assert_allclose(log_likelihood, expected, rtol=1e-10)


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
                synthesizer.X,
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
