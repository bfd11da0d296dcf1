"""A mechanism that is not weight times log-likelihood: each record's term is capped."""

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from scipy import stats

import pseudopost as pp

pytestmark = pytest.mark.slow

Y = np.array([-0.5, 0.3, 1.1, 1.8, 2.4, 9.0])
WEIGHTS = np.array([1, 0.7, 1, 0.4, 0, 1])
CAP = 2.5


class Capped(pp.Synthesizer):
    """Normal data with standard deviation 1; a record's term has a largest size."""

    def __init__(self, y, cap):
        self.y, self.cap = np.asarray(y, dtype=float), cap

    def build_model(self):
        with pm.Model() as model:
            values = pm.Data("values", self.y)
            logp = pm.logp(pm.Normal.dist(pm.Normal("mean", 0, 3), 1), values)
            self.add_likelihood(logp)
        return model

    def draw_dataset(self, parameters, rng):
        return rng.normal(parameters["mean"], 1, size=len(self.y))

    def record_term(self, log_likelihood, weights):
        return weights * pt.clip(log_likelihood, -self.cap, self.cap)


class CappedMixture(pp.MixtureSynthesizer):
    cap = CAP
    record_term = Capped.record_term


def grid(y, weights, cap):
    """Points, and their probabilities under the capped pseudo posterior."""
    mean = np.linspace(-12, 12, 100_001)
    terms = np.clip(stats.norm.logpdf(y, mean[:, None], 1), -cap, cap)
    log_density = stats.norm.logpdf(mean, 0, 3) + terms @ weights
    density = np.exp(log_density - log_density.max())
    return mean, density / density.sum()


def assert_follows(draws, points, probability):
    """Compare probabilities of intervals and the mean, within 4 standard errors."""
    cumulative = probability.cumsum()
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        below = (draws < points[np.searchsorted(cumulative, level)]).astype(float)
        error = np.sqrt(level * (1 - level) / float(az.ess(below.to_numpy())))
        assert abs(float(below.mean()) - level) < 4 * error, level
    error = float(az.mcse(draws.to_numpy(), method="mean"))
    assert abs(float(draws.mean()) - points @ probability) < 4 * error


def bounds(synthesizer, fit):
    return pp.lipschitz_bounds(synthesizer.record_terms(fit))


@pytest.fixture(scope="module")
def capped():
    return Capped(Y, CAP)


@pytest.fixture(scope="module")
def capped_fit(capped):
    return capped.fit(WEIGHTS, draws=4000, random_seed=1)


def test_the_density_is_the_capped_one(capped):
    weights = capped.model["y_weights"]
    weights.set_value(WEIGHTS)
    logp = capped.model.compile_logp(mode="FAST_COMPILE")
    mean = np.array([-3.0, 0.4, 5.0])
    terms = np.clip(stats.norm.logpdf(Y, mean[:, None], 1), -CAP, CAP)
    expected = stats.norm.logpdf(mean, 0, 3) + terms @ WEIGHTS
    found = np.array([logp({"mean": value}) for value in mean])
    # PyTensor rounds the logarithm of 3 in the prior.
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-12)
    weights.set_value(np.ones(len(Y)))


def test_the_fit_is_the_capped_pseudo_posterior(capped_fit):
    assert capped_fit.attrs["not_converged"] == ""
    points, probability = grid(Y, WEIGHTS, CAP)
    assert_follows(capped_fit["posterior"]["mean"], points, probability)
    # The last record would pull the mean of the pseudo posterior up.
    uncapped = grid(Y, WEIGHTS, np.inf)
    assert points @ probability < uncapped[0] @ uncapped[1] - 1


def test_bounds_and_epsilon_respect_the_cap(capped, capped_fit):
    found = bounds(capped, capped_fit)
    assert (found <= CAP * WEIGHTS).all()
    assert found[-1] == CAP
    assert pp.epsilon(found) == 2 * CAP
    with_likelihood = pp.lipschitz_bounds(capped.log_likelihood(capped_fit), WEIGHTS)
    assert (found <= with_likelihood).all()
    assert with_likelihood.max() > 4 * CAP


def test_terms_are_those_of_the_draws(capped, capped_fit):
    terms, mean = capped.record_terms(capped_fit), capped_fit["posterior"]["mean"]
    assert terms.dims == ("chain", "draw", "record")
    log_likelihood = stats.norm.logpdf(Y, mean.to_numpy()[..., None], 1)
    expected = WEIGHTS * np.clip(log_likelihood, -CAP, CAP)
    np.testing.assert_allclose(terms, expected, rtol=1e-10)


def test_the_log_likelihood_is_not_capped(capped, capped_fit):
    mean = capped_fit["posterior"]["mean"].to_numpy()[..., None]
    found = capped.log_likelihood(capped_fit)
    np.testing.assert_allclose(found, stats.norm.logpdf(Y, mean, 1), rtol=1e-10)


def test_weight_zero_removes_a_record():
    y = np.array([0.2, 3.0, 1.4])
    some, rest = Capped(y, 1), Capped(y[[0, 2]], 1)
    some.model["y_weights"].set_value([1.0, 0.0, 0.5])
    rest.model["y_weights"].set_value([1.0, 0.5])
    ours, theirs = (
        synthesizer.model.compile_logp(mode="FAST_COMPILE")
        for synthesizer in (some, rest)
    )
    for mean in (-2.0, 0.3, 4.0):
        assert ours({"mean": mean}) == pytest.approx(theirs({"mean": mean}), rel=1e-12)


def test_a_term_of_weight_zero_is_zero():
    class Odd(Capped):
        """Adds something even to a record of weight 0."""

        def record_term(self, log_likelihood, weights):
            return super().record_term(log_likelihood, weights) + 1

    odd = Odd(Y, CAP)
    terms = odd.record_terms(by_hand(odd, WEIGHTS, mean=np.zeros((2, 3))))
    expected = WEIGHTS * np.clip(stats.norm.logpdf(Y), -CAP, CAP) + (WEIGHTS > 0)
    np.testing.assert_allclose(terms, np.broadcast_to(expected, (2, 3, 6)), rtol=1e-12)


def test_another_cap_is_another_model(capped, capped_fit):
    other = Capped(Y, 2 * CAP)
    assert other._form != capped._form
    with pytest.raises(ValueError, match="fit must come from this Capped, with the"):
        other.record_terms(capped_fit)


def test_reweighting_is_calibrated_with_the_capped_bounds(capped, capped_fit):
    weights = np.array([0.5, 0.7, 0.5, 0.4, 0, 0.6])
    fit = capped.fit(weights, draws=500, random_seed=1)
    found = pp.calibrate_reweighting(capped, fit, weights, tolerance=0.2)
    before, after = bounds(capped, fit), bounds(capped, found.fit)
    assert before.max() <= CAP * weights.max()
    np.testing.assert_array_equal(
        found.weights, pp.reweight(weights, before, found.constant)
    )
    row = found.path.iloc[found.path["difference"].abs().argmin()]
    assert row["found"] == after.max()
    assert row["difference"] == after.max() - before.max()
    assert abs(row["difference"]) <= 0.2


class CappedCounts(pp.PoissonSynthesizer):
    cap = 5.0
    record_term = Capped.record_term


def test_another_model_of_the_package_is_capped_too():
    y = np.append(np.random.default_rng(5).poisson(30, size=40), 200)
    synthesizer = CappedCounts(y, shape=2, rate=0.1)
    fit = synthesizer.fit(draws=4000, random_seed=1)
    mu = np.linspace(10, 60, 20_001)
    terms = np.clip(stats.poisson.logpmf(y, mu[:, None]), -5, 5).sum(axis=1)
    log_density = stats.gamma.logpdf(mu, 2, scale=10) + terms
    density = np.exp(log_density - log_density.max())
    assert_follows(fit["posterior"]["mu"], mu, density / density.sum())
    assert bounds(synthesizer, fit).max() == 5


def by_hand(synthesizer, weights, **draws):
    """A fit with these draws that claims to be from `synthesizer`."""
    posterior = {
        name: (("chain", "draw", "component", "predictor")[: values.ndim], values)
        for name, values in draws.items()
    }
    return xr.DataTree.from_dict(
        {
            "/": xr.Dataset(attrs={"model": synthesizer._mark(None)}),
            "posterior": xr.Dataset(posterior),
            "constant_data": xr.Dataset({"weights": ("record", weights)}),
        }
    )


def test_terms_of_a_capped_mixture():
    rng = np.random.default_rng(3)
    log_y, x = rng.normal(10, 1, size=6), rng.normal(size=(6, 1))
    log_y[-1] = 20
    capped, plain = (
        cls(np.exp(log_y), x, n_components=2)
        for cls in (CappedMixture, pp.MixtureSynthesizer)
    )
    draws = {
        "pi": rng.dirichlet([2, 2], size=(2, 5)),
        "beta": rng.normal([[10, 0], [9, 0.5]], 0.1, size=(2, 5, 2, 2)),
        "sigma": rng.uniform(0.5, 1.5, size=(2, 5, 2)),
    }
    fit, same = (by_hand(model, WEIGHTS, **draws) for model in (capped, plain))
    log_likelihood = plain.log_likelihood(same)
    xr.testing.assert_equal(capped.log_likelihood(fit), log_likelihood)
    terms = capped.record_terms(fit)
    expected = WEIGHTS * np.clip(log_likelihood.to_numpy(), -CAP, CAP)
    np.testing.assert_allclose(terms, expected, rtol=1e-12)
    assert (bounds(capped, fit) <= CAP * WEIGHTS).all()
    assert pp.epsilon(bounds(capped, fit)) == 2 * CAP
    assert bounds(plain, same).max() > 4 * CAP


def test_terms_in_the_density_of_a_capped_mixture():
    rng = np.random.default_rng(4)
    y = np.exp(rng.normal(10, 2, size=6))
    model = CappedMixture(y, rng.normal(size=(6, 1)), n_components=1).model
    model["y_weights"].set_value(WEIGHTS)
    outputs = [model["y"], model["y"].tag.log_likelihood]
    outputs = model.replace_rvs_by_values(outputs)
    evaluate = model.compile_fn(
        outputs, mode="FAST_COMPILE", on_unused_input="ignore", inputs=model.value_vars
    )
    point = {
        "gamma_log__": 0.0,
        "pi_simplex__": np.zeros(0),
        "chol_cholesky-cov-packed__": np.zeros(3),
        "beta": np.zeros((1, 2)),
        "excess_log__": np.zeros(1),
    }
    terms, log_likelihood = evaluate(point)
    assert (log_likelihood < -CAP).any()
    expected = WEIGHTS * np.clip(log_likelihood, -CAP, CAP)
    np.testing.assert_allclose(terms, expected, rtol=1e-12)
