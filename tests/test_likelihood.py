import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.special import expit

import pseudopost as pp

X = np.random.default_rng(1).normal(size=(12, 2))
Y = X @ [1.0, -0.5] + np.random.default_rng(2).normal(size=12)
COUNTS = np.array([0, 3, 1, 7, 2, 0, 12, 4])
GROUP = np.arange(12) % 3
EFFECTS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
ERRORS = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


class Case(NamedTuple):
    """A model in PyMC and its pointwise log-likelihood in SciPy.

    `declare` takes the records to keep, and returns the distribution of the records and its arguments.
    `sizes` are the shapes of the parameters.
    """

    y: np.ndarray
    declare: Callable
    logp: Callable
    sizes: dict


def declare_poisson(rows):
    return pm.Poisson, {"mu": pm.Gamma("mu", 2, 0.5)}


def poisson_logp(mu):
    return stats.poisson.logpmf(COUNTS, mu)


def declare_regression(rows):
    intercept = pm.Normal("intercept", 0, 10)
    slopes = pm.Normal("slopes", 0, 2, shape=2)
    return pm.Normal, {
        "mu": intercept + pt.dot(X[rows], slopes),
        "sigma": pm.HalfNormal("sigma", 3),
    }


def regression_logp(intercept, slopes, sigma):
    return stats.norm.logpdf(Y, intercept + X @ slopes, sigma)


def declare_schools(rows):
    mean = pm.Normal("mean", 0, 5)
    spread = pm.HalfCauchy("spread", 5)
    offset = pm.Normal("offset", 0, 1, shape=8)
    effect = pm.Deterministic("effect", mean + spread * offset)
    return pm.Normal, {"mu": effect[rows], "sigma": ERRORS[rows]}


def schools_logp(mean, spread, offset):
    return stats.norm.logpdf(EFFECTS, mean + spread * offset, ERRORS)


def declare_groups(rows):
    coefficients = pm.Normal("coefficients", 0, 1, shape=(3, 2))
    mu = (coefficients[GROUP[rows]] * X[rows]).sum(axis=1)
    return pm.Logistic, {"mu": mu, "s": pm.HalfNormal("scale", 1)}


def groups_logp(coefficients, scale):
    return stats.logistic.logpdf(Y, (coefficients[GROUP] * X).sum(axis=1), scale)


def declare_normal_mixture(rows):
    share = pm.Beta("share", 2, 2)
    mu = pm.Normal("mu", 0, 1, shape=2)
    sigma = pm.HalfNormal("sigma", 1, shape=2)
    return pm.NormalMixture, {
        "w": pt.stack([share, 1 - share]),
        "mu": mu,
        "sigma": sigma,
    }


def normal_mixture_logp(share, mu, sigma):
    components = stats.norm.logpdf(Y[:, None], mu, sigma)
    return np.logaddexp(
        np.log(share) + components[:, 0], np.log(1 - share) + components[:, 1]
    )


def declare_count_mixture(rows):
    mu = pm.Gamma("mu", 2, 0.5)
    alpha = pm.HalfNormal("alpha", 2)
    components = [pm.Poisson.dist(mu=1), pm.NegativeBinomial.dist(mu=mu, alpha=alpha)]
    return pm.Mixture, {"w": [0.3, 0.7], "comp_dists": components}


def count_mixture_logp(mu, alpha):
    second = stats.nbinom.logpmf(COUNTS, alpha, alpha / (alpha + mu))
    return np.logaddexp(
        np.log(0.3) + stats.poisson.logpmf(COUNTS, 1), np.log(0.7) + second
    )


CASES = {
    "Poisson": Case(COUNTS, declare_poisson, poisson_logp, {"mu": ()}),
    "regression": Case(
        Y,
        declare_regression,
        regression_logp,
        {"intercept": (), "slopes": (2,), "sigma": ()},
    ),
    "schools": Case(
        EFFECTS,
        declare_schools,
        schools_logp,
        {"mean": (), "spread": (), "offset": (8,)},
    ),
    "groups": Case(
        Y, declare_groups, groups_logp, {"coefficients": (3, 2), "scale": ()}
    ),
    "normal mixture": Case(
        Y,
        declare_normal_mixture,
        normal_mixture_logp,
        {"share": (), "mu": (2,), "sigma": (2,)},
    ),
    "count mixture": Case(
        COUNTS, declare_count_mixture, count_mixture_logp, {"mu": (), "alpha": ()}
    ),
}
# Enough for the rounding of a sum of a dozen terms.
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def build(case, weights=None, rows=None, potential=False):
    """Return the model of `rows` of the data: weighted or, by default, with an observed variable."""
    rows = np.arange(len(case.y)) if rows is None else rows
    with pm.Model() as model:
        distribution, arguments = case.declare(rows)
        if weights is None:
            distribution("y", **arguments, observed=case.y[rows])
        else:
            pp.weighted_likelihood(
                "y", pm.logp(distribution.dist(**arguments), case.y[rows]), weights
            )
        if potential:
            pm.Potential("soft", -((model.free_RVs[0] - 1) ** 2))
    return model


def points(model, how_many=3):
    """Return random points on the sampler's unconstrained scale."""
    rng = np.random.default_rng(3)
    start = model.initial_point()
    return [
        {
            name: np.asarray(rng.normal(size=value.shape))
            for name, value in start.items()
        }
        for _ in range(how_many)
    ]


def constrain(point):
    """Return the parameters at a point."""
    parameters = {}
    for name, value in point.items():
        if name.endswith("_log__"):
            parameters[name.removesuffix("_log__")] = np.exp(value)
        elif name.endswith("_logodds__"):
            parameters[name.removesuffix("_logodds__")] = expit(value)
        else:
            parameters[name] = value
    return parameters


def compiled(model, what="logp", **kwargs):
    """Compile `what` of a model in Python: it saves a minute."""
    return getattr(model, f"compile_{what}")(mode="FAST_COMPILE", **kwargs)


def assert_same_density(model, other):
    for what in ("logp", "dlogp"):
        ours, theirs = compiled(model, what), compiled(other, what)
        for point in points(model):
            assert np.isfinite(ours(point)).all()
            np.testing.assert_allclose(ours(point), theirs(point), **EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("potential", [False, True])
def test_weights_of_one_give_pymc_s_own_density(case, potential):
    weighted = build(case, np.ones(len(case.y)), potential=potential)
    assert_same_density(weighted, build(case, potential=potential))


@pytest.mark.slow
def test_swapped_weights_act_without_rebuilding(case):
    n = len(case.y)
    model = build(case, np.ones(n), potential=True)
    logp, dlogp = compiled(model), compiled(model, "dlogp")
    rest = compiled(
        model,
        vars=[*model.free_RVs, model["soft"]],
    )
    gradient_of_rest = compiled(build(case, np.zeros(n), potential=True), "dlogp")
    gradient_of_all = compiled(build(case, potential=True), "dlogp")
    for weights in (
        np.random.default_rng(4).uniform(size=n),
        np.eye(n)[1],
        np.zeros(n),
        np.ones(n),
    ):
        pm.set_data({"y_weights": weights}, model=model)
        for point in points(model):
            expected = rest(point) + weights @ case.logp(**constrain(point))
            np.testing.assert_allclose(logp(point), expected, rtol=1e-10, atol=1e-10)
    pm.set_data({"y_weights": np.full(n, 0.25)}, model=model)
    for point in points(model):
        expected = 0.75 * gradient_of_rest(point) + 0.25 * gradient_of_all(point)
        np.testing.assert_allclose(dlogp(point), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
def test_weight_zero_equals_deletion(case):
    kept = np.arange(len(case.y)) % 3 > 0
    assert_same_density(
        build(case, kept.astype(float)), build(case, rows=np.flatnonzero(kept))
    )


@pytest.mark.slow
def test_copies_that_share_a_weight_equal_one_record(case):
    copies = np.resize([1, 2, 4], len(case.y))
    rows = np.repeat(np.arange(len(case.y)), copies)
    assert_same_density(build(case, 1 / copies[rows], rows), build(case))


IMPOSSIBLE = {
    "negative count": (-1, lambda mu: pm.Poisson.dist(pm.math.exp(mu))),
    "negative overdispersed count": (
        -3,
        lambda mu: pm.NegativeBinomial.dist(mu=pm.math.exp(mu), alpha=2),
    ),
    "outside a uniform": (50.0, lambda mu: pm.Uniform.dist(0, 5 + pm.math.exp(-mu))),
    "negative lognormal": (-2.0, lambda mu: pm.LogNormal.dist(mu, 1)),
    "zero lognormal": (0.0, lambda mu: pm.LogNormal.dist(mu, 1)),
    "below a Pareto": (
        0.001,
        lambda mu: pm.Pareto.dist(1.5, 0.1 * pm.math.exp(mu) / (1 + pm.math.exp(mu))),
    ),
    "missing": (np.nan, lambda mu: pm.Normal.dist(mu, 1)),
    "infinite": (np.inf, lambda mu: pm.Normal.dist(mu, 1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_weight_zero_removes_a_record_without_finite_density(name):
    value, distribution = IMPOSSIBLE[name]
    y = np.array([1, value, 2])

    def density(y, weights):
        with pm.Model() as model:
            mu = pm.Normal("mu", 0, 1)
            pp.weighted_likelihood("y", pm.logp(distribution(mu), y), weights)
        return model

    without = density(np.delete(y, 1), [1, 0.5])
    assert_same_density(density(y, [1, 0, 0.5]), without)
    counted = compiled(density(y, [1, 0.1, 0.5]))
    assert not any(np.isfinite(counted(point)) for point in points(without))


@pytest.fixture(scope="module")
def regression():
    case = CASES["regression"]
    model = build(case, np.ones(12))
    return model, compiled(model), compiled(model, vars=model.free_RVs)


@pytest.mark.slow
@given(
    weights=arrays(float, 12, elements=st.floats(0, 1)),
    values=arrays(float, 4, elements=st.floats(-5, 5)),
)
def test_any_weights_at_any_point(regression, weights, values):
    model, logp, prior = regression
    point = {"intercept": values[0], "slopes": values[1:3], "sigma_log__": values[3]}
    pm.set_data({"y_weights": weights}, model=model)
    expected = prior(point) + weights @ regression_logp(**constrain(point))
    np.testing.assert_allclose(logp(point), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
def test_contributions_are_returned(case):
    weights = np.linspace(0, 1, len(case.y))
    with pm.Model() as model:
        distribution, arguments = case.declare(np.arange(len(case.y)))
        contributions = pp.weighted_likelihood(
            "y", pm.logp(distribution.dist(**arguments), case.y), weights
        )
    (values,) = model.replace_rvs_by_values([contributions])
    contributions_at = model.compile_fn(values, mode="FAST_COMPILE")
    for point in points(model):
        expected = weights * case.logp(**constrain(point))
        np.testing.assert_allclose(
            contributions_at(point), expected, rtol=1e-10, atol=1e-10
        )


def test_a_term_of_ones_own_takes_the_place_of_the_product():
    with pm.Model():
        logp = pt.as_tensor([-1.0, -2.0, -np.inf])
        contributions = pp.weighted_likelihood(
            "y", logp, [1, 0.5, 0], term=lambda logp, weights: weights**2 * logp - 3
        )
    # A record of weight 0 adds nothing.
    np.testing.assert_array_equal(contributions.eval(), [-4, -3.5, 0])


def test_dims_label_weights_and_contributions():
    with pm.Model(coords={"person": list("abc")}) as model:
        pp.weighted_likelihood(
            "y",
            pm.logp(pm.Normal.dist(pm.Normal("mu"), 1), Y[:3]),
            np.ones(3),
            "person",
        )
    assert model.named_vars_to_dims["y"] == ("person",)
    assert model.named_vars_to_dims["y_weights"] == ("person",)


@pytest.mark.slow
@pytest.mark.parametrize(
    "weights",
    [
        [0, 1, 1],
        (0.0, 1.0, 1.0),
        [False, True, True],
        pd.Series([0, 1, 1], index=[7, 8, 9]),
        xr.DataArray([0, 1, 1]),
    ],
    ids=["integers", "tuple", "booleans", "Series", "DataArray"],
)
def test_weights_may_be_any_array_of_numbers(weights):
    case = CASES["Poisson"]
    assert_same_density(
        build(case, weights, rows=np.arange(3)), build(case, rows=np.array([1, 2]))
    )


BAD_WEIGHTS = {
    "too short": ([1, 1], "weights must have length 3; got length 2"),
    "too long": ([1, 1, 1, 1], "weights must have length 3; got length 4"),
    "two-dimensional": (
        [[1, 1, 1]],
        "weights must hold one value per record; got shape (1, 3)",
    ),
    "data frame": (
        pd.DataFrame({"w": [1, 1, 1]}),
        "weights must hold one value per record; got shape (3, 1)",
    ),
    "a number": (0.5, "weights must hold one value per record; got shape ()"),
    "empty": ([], "weights must hold one value per record; got shape (0,)"),
    "above 1": ([1, 1.3, 2], "weights must lie in [0, 1]; record 1 has 1.3"),
    "below 0": ([1, 1, -0.25], "weights must lie in [0, 1]; record 2 has -0.25"),
    "NaN": ([1, np.nan, 1], "weights must be finite; record 1 has nan"),
    "None": ([1, 1, None], "weights must be finite; record 2 has nan"),
    "missing in a Series": (
        pd.Series([1, pd.NA, 1], dtype="Int64"),
        "weights must be finite; record 1 has nan",
    ),
    "masked": (
        np.ma.array([1, 1, 1], mask=[1, 0, 0]),
        "weights must be finite; record 0 has nan",
    ),
    "infinite": ([np.inf, 1, 1], "weights must be finite; record 0 has inf"),
    "strings": (["one", "1", "1"], "weights must be numbers; record 0 has 'one'"),
}


@pytest.fixture(params=BAD_WEIGHTS)
def bad_weights(request):
    return BAD_WEIGHTS[request.param]


def refused(text):
    return pytest.raises(ValueError, match=f"^{re.escape(text)}$")


def test_bad_weights_are_refused_and_leave_the_model_alone(bad_weights):
    weights, expected = bad_weights
    with pm.Model() as model:
        logp = pm.logp(pm.Normal.dist(pm.Normal("mu"), 1), Y[:3])
        with refused(expected):
            pp.weighted_likelihood("y", logp, weights)
        assert set(model.named_vars) == {"mu"}
        assert model.potentials == []
        assert model.data_vars == []
        pp.weighted_likelihood("y", logp, np.ones(3))
    assert set(model.named_vars) == {"mu", "y", "y_weights"}


@pytest.mark.parametrize(("shape", "dims"), [((), 0), ((3, 1), 2)])
def test_log_likelihood_that_is_no_vector_is_refused(shape, dims):
    text = f"logp must be a vector with one value per record; got {dims} dims"
    with pm.Model() as model, refused(text):
        pp.weighted_likelihood("y", pt.zeros(shape), np.ones(3))
    assert not model.named_vars


def draws_of(case, chains=3, draws=83, seed=5):
    """Return a posterior with S = 249 draws: neither one chunk nor a whole number of them."""
    rng = np.random.default_rng(seed)
    return {
        name: rng.uniform(0.1, 0.9, size=(chains, draws, *shape))
        for name, shape in case.sizes.items()
    }


def tree(parameters):
    posterior = {
        name: (
            ("chain", "draw", *(f"{name}_{k}" for k in range(value.ndim - 2))),
            value,
        )
        for name, value in parameters.items()
    }
    return xr.DataTree.from_dict({"posterior": xr.Dataset(posterior)})


@pytest.mark.slow
@pytest.mark.parametrize("in_model", [0.0, 0.4, 1.0])
def test_pointwise_log_likelihood_is_unweighted_and_chain_after_chain(case, in_model):
    parameters = draws_of(case)
    result = pp.pointwise_log_likelihood(
        build(case, np.full(len(case.y), in_model)), tree(parameters)
    )
    expected = [
        case.logp(**{name: value[chain, draw] for name, value in parameters.items()})
        for chain in range(3)
        for draw in range(83)
    ]
    assert result.dims == ("chain", "draw", "record")
    assert result.shape == (3, 83, len(case.y))
    np.testing.assert_array_equal(result["record"], np.arange(len(case.y)))
    np.testing.assert_allclose(
        result.to_numpy().reshape(249, -1), expected, rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("draws", [1, 99, 100, 101, 200])
def test_pointwise_log_likelihood_of_any_number_of_draws(draws):
    mu = draws_of(CASES["Poisson"], chains=1, draws=draws)["mu"]
    result = pp.pointwise_log_likelihood(
        build(CASES["Poisson"], np.ones(8)), tree({"mu": mu})
    )
    np.testing.assert_allclose(
        result, stats.poisson.logpmf(COUNTS, mu[:, :, None]), rtol=1e-10
    )


def test_pointwise_log_likelihood_takes_any_order_of_dims_and_other_variables():
    case = CASES["groups"]
    model, fit = build(case, np.ones(12)), tree(draws_of(case))
    expected = pp.pointwise_log_likelihood(model, fit)
    turned = (
        fit["posterior"]
        .to_dataset()
        .transpose("coefficients_0", "draw", "coefficients_1", "chain")
    )
    fit = xr.DataTree.from_dict({"posterior": turned.assign(other=("thing", [1, 2]))})
    xr.testing.assert_equal(pp.pointwise_log_likelihood(model, fit), expected)


def test_pointwise_log_likelihood_keeps_impossible_records():
    with pm.Model() as model:
        pp.weighted_likelihood(
            "y", pm.logp(pm.Poisson.dist(pm.Gamma("mu", 2, 2)), [1, -1]), [1, 0]
        )
    result = pp.pointwise_log_likelihood(model, tree({"mu": np.full((2, 4), 3.0)}))
    np.testing.assert_allclose(result[..., 0], stats.poisson.logpmf(1, 3))
    assert (result[..., 1] == -np.inf).all()


def test_two_weighted_likelihoods_in_one_model():
    weights = {"y": np.linspace(0, 1, 12), "z": np.linspace(1, 0, 8)}
    with pm.Model() as model:
        mu = pm.Gamma("mu", 2, 2)
        pp.weighted_likelihood("y", pm.logp(pm.Normal.dist(mu, 1), Y), weights["y"])
        pp.weighted_likelihood("z", pm.logp(pm.Poisson.dist(mu), COUNTS), weights["z"])
    logp, prior = compiled(model), compiled(model, vars=model.free_RVs)
    fit = tree({"mu": np.full((1, 1), 1.5)})
    point = {"mu_log__": np.log(1.5)}
    y, z = stats.norm.logpdf(Y, 1.5), stats.poisson.logpmf(COUNTS, 1.5)
    np.testing.assert_allclose(
        logp(point), prior(point) + weights["y"] @ y + weights["z"] @ z
    )
    np.testing.assert_allclose(pp.pointwise_log_likelihood(model, fit), [[y]])
    np.testing.assert_allclose(pp.pointwise_log_likelihood(model, fit, "z"), [[z]])


@pytest.mark.parametrize(
    "attrs", [{}, {"not_converged": ""}, {"not_converged": "R-hat 1.90 above 1.05"}]
)
def test_pointwise_log_likelihood_carries_the_convergence_warning_on(attrs):
    fit = tree(draws_of(CASES["Poisson"]))
    fit.attrs = {"seed": 1, **attrs}
    assert (
        pp.pointwise_log_likelihood(build(CASES["Poisson"], np.ones(8)), fit).attrs
        == attrs
    )


def test_missing_parameters_are_named():
    case = CASES["regression"]
    model = build(case, np.ones(12))
    parameters = draws_of(case)
    fit = tree({"intercept": parameters["intercept"]})
    with refused(
        "fit must hold every parameter of the model; it lacks ['slopes', 'sigma']"
    ):
        pp.pointwise_log_likelihood(model, fit)


def test_a_taken_name_is_refused_with_nothing_half_done():
    with pm.Model() as model:
        pm.Normal("y")
        with pytest.raises(ValueError, match="name must be new in the model; 'y' is"):
            pp.weighted_likelihood("y", pt.zeros(2), [1, 1])
    assert set(model.named_vars) == {"y"}


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="name must be that of a weighted likelihood"):
        pp.pointwise_log_likelihood(pm.Model(), xr.DataTree(), "z")


@pytest.mark.parametrize("n", [1, 2, 4])
def test_weights_of_another_length_than_the_data_are_refused(n):
    with pm.Model():
        mu, X = pm.Normal("mu", shape=2), pm.Data("X", np.ones((3, 2)))
        logp = pm.logp(pm.Normal.dist(X @ mu, 1), pm.Data("values", np.zeros(3)))
        with refused(f"weights must have length 3; got length {n}"):
            pp.weighted_likelihood("y", logp, np.ones(n))
        pp.weighted_likelihood("y", logp, np.ones(3))


def test_weights_of_a_length_that_only_parameters_tell():
    with pm.Model() as model:
        count = pm.Poisson("count", 3)
        logp = pm.logp(pm.Normal.dist(0, 1), pt.zeros(count))
        pp.weighted_likelihood("y", logp, np.ones(3))
    assert model["y"].eval({count: 3}).shape == (3,)
