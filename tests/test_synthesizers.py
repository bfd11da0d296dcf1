import os
import pickle
import re
import signal
import threading
from importlib.metadata import version
from pathlib import Path

import arviz as az
import joblib
import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from by_hand import made_by_hand
from exact import (
    log_prior_of_log_mu,
    negative_binomial,
    normal_mean,
    poisson_gamma,
)
from scipy import stats

import pseudopost as pp
from pseudopost import compiled

PRIOR = {"shape": 500.0, "rate": 10.0}
SYNTHESIZERS = {
    "negative binomial": pp.NegativeBinomialSynthesizer,
    "Poisson": pp.PoissonSynthesizer,
}


def vector_with_zeros(n):
    rng = np.random.default_rng(6)
    return rng.uniform(size=n) * (rng.uniform(size=n) > 0.3)


WEIGHTS = {
    "ones": np.ones,
    "scalar": lambda n: np.full(n, 0.3),
    "vector": vector_with_zeros,
}


class NormalSynthesizer(pp.Synthesizer):
    """Normal data with standard deviation 1 and mean ~ Normal(1, 0.5)."""

    def __init__(self, y):
        self.y = np.asarray(y, dtype=float)

    def build_model(self):
        with pm.Model() as model:
            logp = pm.logp(pm.Normal.dist(pm.Normal("mean", 1, 0.5), 1), self.y)
            self.add_likelihood(logp)
        return model

    def draw_dataset(self, parameters, rng):
        return rng.normal(float(parameters["mean"]), 1, size=len(self.y))


class Echo(pp.PoissonSynthesizer):
    """Returns the parameter as data, so that the data tell the draw."""

    def draw_dataset(self, parameters, rng):
        return np.full(len(self.y), int(parameters["mu"]))


@pytest.fixture(scope="module")
def poisson(counts):
    return pp.PoissonSynthesizer(counts, **PRIOR)


@pytest.fixture(scope="module")
def normal():
    return NormalSynthesizer(np.random.default_rng(7).normal(3, 1, size=40))


@pytest.fixture(scope="module")
def poisson_fit(poisson):
    return poisson.fit(random_seed=1)


@pytest.fixture(params=WEIGHTS)
def weights(request, counts):
    return WEIGHTS[request.param](len(counts))


def refused(text):
    return pytest.raises(ValueError, match=f"^{re.escape(text)}$")


def samples(fit, name):
    return fit["posterior"][name].to_numpy()


def rows(by_draw):
    """Return an array with a row for each draw, chain after chain."""
    assert by_draw.dims == ("chain", "draw", "record")
    return by_draw.to_numpy().reshape(-1, by_draw.sizes["record"])


def assert_moments(fit, name, exact):
    """Compare mean and standard deviation, within 4 Monte Carlo standard errors."""
    values = samples(fit, name)
    for method, estimate, truth in (
        ("mean", values.mean(), exact.mean),
        ("sd", values.std(), exact.sd),
    ):
        mcse = float(az.mcse(fit, var_names=name, method=method)[name])
        assert abs(estimate - truth) < 4 * mcse, f"{method} of {name}"


def assert_centred(values):
    """Compare the mean of independent values with 0, within 4 standard errors."""
    assert abs(values.mean()) < 4 * values.std() / np.sqrt(len(values))


# Exact answers


@pytest.mark.slow
@pytest.mark.parametrize(
    "finer", [{"size": 320}, {"size": 320, "reach": 18}], ids=["doubled", "widened"]
)
def test_the_grid_has_converged(counts, weights, finer):
    coarse, fine = (
        negative_binomial(counts, weights),
        negative_binomial(counts, weights, **finer),
    )
    for name in ("mu", "phi"):
        np.testing.assert_allclose(coarse[name], fine[name], rtol=1e-6)


@pytest.mark.slow
def test_poisson_fit_is_the_gamma_posterior(poisson, counts, weights):
    fit = poisson.fit(weights, chains=4, random_seed=1)
    assert_moments(fit, "mu", poisson_gamma(counts, weights, **PRIOR))


@pytest.mark.slow
def test_negative_binomial_fit_is_the_posterior_on_the_grid(
    synthesizer, counts, weights
):
    fit = synthesizer.fit(weights, chains=4, random_seed=1)
    exact = negative_binomial(counts, weights)
    assert_moments(fit, "mu", exact["mu"])
    assert_moments(fit, "phi", exact["phi"])


@pytest.mark.slow
def test_weight_zero_equals_deletion(synthesizer, poisson, counts):
    kept = counts <= 130
    rest = counts[kept], np.ones(kept.sum())
    fit = synthesizer.fit(kept, chains=4, random_seed=1)
    exact = negative_binomial(*rest)
    assert_moments(fit, "mu", exact["mu"])
    assert_moments(fit, "phi", exact["phi"])
    assert_moments(
        poisson.fit(kept, chains=4, random_seed=1), "mu", poisson_gamma(*rest, **PRIOR)
    )


@pytest.mark.slow
def test_own_synthesizer(normal):
    weights = vector_with_zeros(40)
    fit = normal.fit(weights, chains=4, random_seed=1)
    assert fit.attrs["synthesizer"] == "NormalSynthesizer"
    assert_moments(fit, "mean", normal_mean(normal.y, weights, 1, 1, 0.5))
    mean = samples(fit, "mean").reshape(-1, 1)
    np.testing.assert_allclose(
        rows(normal.log_likelihood(fit)),
        stats.norm.logpdf(normal.y, mean, 1),
        rtol=1e-10,
    )
    assert_centred(
        normal.synthesize(fit, 4000, random_seed=1).mean(axis=1) - mean[:, 0]
    )


def test_a_synthesizer_must_say_how_to_build_and_to_draw():
    class Unfinished(pp.Synthesizer):
        pass

    with pytest.raises(TypeError, match=r"'build_model', 'draw_dataset'"):
        Unfinished()


def observed_negative_binomial(y):
    with pm.Model() as model:
        s = pm.HalfStudentT("s", nu=3, sigma=1)
        log_mu = pm.Normal("log_mu", mu=0, sigma=s)
        inverse_phi = pm.HalfCauchy("inverse_phi", beta=5)
        pm.NegativeBinomial(
            "y", mu=pm.math.exp(log_mu), alpha=1 / inverse_phi, observed=y
        )
    return model


def observed_poisson(y):
    with pm.Model() as model:
        pm.Poisson("y", mu=pm.Gamma("mu", alpha=500, beta=10), observed=y)
    return model


def integrated(logp, dlogp, point):
    """Log density and derivatives of P3's model with its scale s integrated out."""
    at_1 = point | {"s_log__": np.zeros(())}
    value, step = point["log_mu"], 1e-5
    found = log_prior_of_log_mu(value + np.array([-step, 0, step]))
    prior = stats.norm.logpdf(value) + stats.t.logpdf(1, 3) + np.log(2)
    _, centre, other = dlogp(at_1)
    slope = (found[2] - found[0]) / (2 * step)
    return logp(at_1) - prior + found[1], [centre + value + slope, other]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "observed"),
    [("synthesizer", observed_negative_binomial), ("poisson", observed_poisson)],
)
def test_density_equals_that_of_the_observed_model(name, observed, counts, request):
    model, other = request.getfixturevalue(name).model, observed(counts)
    logp, other_logp = (m.compile_logp(mode="FAST_COMPILE") for m in (model, other))
    dlogp, other_dlogp = (m.compile_dlogp(mode="FAST_COMPILE") for m in (model, other))
    rng = np.random.default_rng(8)
    for _ in range(5):
        point = {k: np.asarray(rng.normal()) for k in model.initial_point()}
        if name == "poisson":
            expected = other_logp(point), other_dlogp(point)
        else:
            expected = integrated(other_logp, other_dlogp, point)
        np.testing.assert_allclose(logp(point), expected[0], rtol=1e-10)
        np.testing.assert_allclose(dlogp(point), expected[1], rtol=1e-7)


LARGE = [3, 2**31 - 1, 2**31, 2**32 + 7, 2**53 - 1, 2**53]


@pytest.mark.parametrize("cls", SYNTHESIZERS.values(), ids=SYNTHESIZERS)
@pytest.mark.parametrize(
    "given",
    [
        LARGE,
        np.array(LARGE),
        np.array(LARGE, dtype=np.uint64),
        np.array(LARGE, dtype=float),
        np.array(LARGE, dtype=object),
        pd.Series(LARGE, dtype="Int64"),
        pd.Series(LARGE, dtype="UInt64"),
    ],
    ids=lambda given: f"{type(given).__name__} {getattr(given, 'dtype', '')}",
)
def test_large_counts_are_held_exactly(cls, given):
    synthesizer = cls(given)
    assert synthesizer.y.tolist() == LARGE
    assert synthesizer.model["values"].get_value().tolist() == LARGE


@pytest.mark.slow
def test_a_large_count_is_the_riskiest_record():
    rng = np.random.default_rng(1)
    y = np.r_[rng.poisson(100, size=199), 2**32 + 100]
    weights = np.r_[np.ones(199), 0]
    synthesizer = pp.PoissonSynthesizer(y)
    fit = synthesizer.fit(weights, random_seed=1)
    log_likelihood = rows(synthesizer.log_likelihood(fit))
    mu = samples(fit, "mu").reshape(-1, 1)
    np.testing.assert_allclose(log_likelihood, stats.poisson.logpmf(y, mu), rtol=1e-9)
    lw = pp.lipschitz_weights(log_likelihood)
    assert lw[-1] == 0
    assert lw[:-1].min() > 0.9


@pytest.mark.slow
def test_the_negative_binomial_density_of_large_counts():
    y, mu, phi = [2**31 + 5, 2**32 + 7], 2.0**32, 0.5
    model = pp.NegativeBinomialSynthesizer(y).model
    values = {"log_mu": np.log(mu), "inverse_phi": 1 / phi}
    draws = xr.Dataset({k: (("chain", "draw"), [[v]]) for k, v in values.items()})
    fit = xr.DataTree.from_dict({"posterior": draws})
    np.testing.assert_allclose(
        rows(pp.pointwise_log_likelihood(model, fit))[0],
        stats.nbinom.logpmf(y, phi, phi / (phi + mu)),
        rtol=1e-6,
    )


# Fits


@pytest.mark.slow
def test_the_model_is_compiled_once(monkeypatch, counts):
    models, compile_model = [], nutpie.compile_pymc_model

    def counted(model, **settings):
        models.append(model)
        return compile_model(model, **settings)

    monkeypatch.setattr(nutpie, "compile_pymc_model", counted)
    monkeypatch.setattr(compiled, "SAMPLERS", {})
    poisson = pp.PoissonSynthesizer(counts, **PRIOR)
    assert models == []
    means = [
        samples(poisson.fit(weights, random_seed=1), "mu").mean()
        for weights in (None, counts > 100, counts < 100, None)
    ]
    assert models == [poisson.model]
    assert means[2] < means[0] == means[3] < means[1]


@pytest.mark.slow
def test_structure_of_a_fit(synthesizer, counts):
    weights = vector_with_zeros(1000)
    fit = synthesizer.fit(weights, draws=600, tune=400, chains=3, random_seed=5)
    assert isinstance(fit, xr.DataTree)
    assert set(fit.children) == {"posterior", "sample_stats", "constant_data"}
    posterior = fit["posterior"].to_dataset()
    assert set(posterior.data_vars) == {"log_mu", "inverse_phi", "mu", "phi"}
    for group in ("posterior", "sample_stats"):
        dataset = fit[group].to_dataset()
        np.testing.assert_array_equal(dataset["chain"], np.arange(3))
        np.testing.assert_array_equal(dataset["draw"], np.arange(600))
        assert all(v.dims[:2] == ("chain", "draw") for v in dataset.data_vars.values())
    assert fit["sample_stats"]["diverging"].dtype == bool
    stored = fit["constant_data"]["weights"]
    assert stored.dims == ("record",)
    np.testing.assert_array_equal(stored, weights)
    np.testing.assert_array_equal(stored["record"], np.arange(1000))
    packages = ("pymc", "pytensor", "nutpie", "numba", "numpy")
    assert fit.attrs == {
        "synthesizer": "NegativeBinomialSynthesizer",
        "model": synthesizer._mark(5),
        "draws": 600,
        "tune": 400,
        "chains": 3,
        "random_seed": 5,
        "pseudopost_version": pp.__version__,
        **{f"{package}_version": version(package) for package in packages},
        "not_converged": "",
    }
    np.testing.assert_allclose(posterior["mu"], np.exp(posterior["log_mu"]))
    np.testing.assert_allclose(posterior["phi"], 1 / posterior["inverse_phi"])


def test_defaults_of_a_fit(fit):
    attrs = {k: fit.attrs[k] for k in ("draws", "tune", "chains", "random_seed")}
    assert attrs == {"draws": 1000, "tune": 1000, "chains": 2, "random_seed": 1}
    assert (fit["constant_data"]["weights"] == 1).all()


def test_a_seed_determines_the_draws(synthesizer, fit):
    same, other = synthesizer.fit(random_seed=1), synthesizer.fit(random_seed=2)
    xr.testing.assert_equal(
        same["posterior"].to_dataset(), fit["posterior"].to_dataset()
    )
    assert not np.isin(samples(other, "mu"), samples(fit, "mu")).any()


def test_settings_reach_the_sampler(fake_nutpie):
    settings = {"draws": 501, "tune": 302, "chains": 3}
    pp.PoissonSynthesizer([4, 5, 6]).fit(**settings, random_seed=7)
    (call,) = fake_nutpie.calls
    assert {name: call[name] for name in settings} == settings
    assert call["seed"] == 7


class Five(pp.PoissonSynthesizer):
    default_chains = 5


@pytest.mark.parametrize(
    ("make", "given", "chains"),
    [
        (pp.PoissonSynthesizer, {}, 2),
        (Five, {}, 5),
        (Five, {"chains": None}, 5),
        (Five, {"chains": 1}, 1),
    ],
)
def test_number_of_chains(fake_nutpie, make, given, chains):
    fit = make([4, 5, 6]).fit(random_seed=1, **given)
    assert [call["chains"] for call in fake_nutpie.calls] == [chains]
    assert fit.attrs["chains"] == chains


def test_a_mixture_has_five_chains_and_others_two():
    assert pp.Synthesizer.default_chains == 2
    assert pp.MixtureSynthesizer.default_chains == 5


class Conjugate(pp.PoissonSynthesizer):
    """Independent draws of its posterior, and what it was called with."""

    def draw_posterior(self, weights, settings, progressbar):
        self.called = weights, settings, progressbar
        shape, rate = self.shape + weights @ self.y, self.rate + weights.sum()
        size = settings["chains"], settings["draws"]
        rng = np.random.default_rng(settings["random_seed"])
        mu = rng.gamma(shape, 1 / rate, size=size)
        return az.from_dict({"posterior": {"mu": mu}, "sample_stats": {"mine": mu}})


def test_a_sampler_of_its_own(fake_nutpie, tmp_path):
    pp.cache.on(tmp_path)
    synthesizer, weights = Conjugate([4, 5, 6]), [1, 0.5, 0.25]
    settings = {"draws": 400, "tune": 3, "chains": 2, "random_seed": 7}
    fit = synthesizer.fit(weights, **settings)
    given, settings_given, progressbar = synthesizer.called
    np.testing.assert_array_equal(given, weights)
    assert settings_given == settings
    assert progressbar is False
    assert fake_nutpie.compiled == 0
    assert fit.attrs["not_converged"] == ""
    assert fit.attrs.items() >= settings.items()
    assert set(fit.children) == {"posterior", "sample_stats", "constant_data"}
    exact = poisson_gamma(synthesizer.y, np.array(weights), 0.5, 0.001)
    assert_moments(fit, "mu", exact)
    del synthesizer.called
    xr.testing.assert_identical(synthesizer.fit(weights, **settings), fit)
    assert not hasattr(synthesizer, "called")
    assert synthesizer.synthesize(fit, random_seed=1).shape == (20, 3)


@pytest.fixture
def interruptible():
    """A shell starts what runs in the background with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("name", ["Poisson", "mixture"])
def test_an_interrupted_fit_raises_and_is_not_stored(tmp_path, name):
    pp.cache.on(tmp_path)
    synthesizer = EVERY[name]([4, 5, 6])
    synthesizer.fit(draws=500, random_seed=1)  # compiles
    before = {file.name for file in tmp_path.iterdir()}
    # Sent to the thread that waits; sent to another it would not wake it.
    to_main = threading.main_thread().ident, signal.SIGINT
    interrupt = threading.Timer(0.5, signal.pthread_kill, to_main)
    # One core: the chains come one after the other, and some of them are whole.
    interrupt.start()
    with joblib.parallel_config("sequential"), pytest.raises(KeyboardInterrupt):
        synthesizer.fit(draws=5000, chains=1000, random_seed=1)
    new = {file.name for file in tmp_path.iterdir()} - before
    assert {Path(name).suffix for name in new} <= {".lock"}


def test_a_sampler_that_fails_is_cancelled(fake_nutpie, monkeypatch):
    monkeypatch.setattr(fake_nutpie, "wait", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pp.PoissonSynthesizer([4, 5, 6]).fit()
    assert fake_nutpie.cancelled


def test_a_fit_keeps_its_own_weights(fake_nutpie):
    weights = np.array([1, 0.5, 0.25])
    fit = pp.PoissonSynthesizer([4, 5, 6]).fit(weights, random_seed=1)
    weights[0] = 0
    np.testing.assert_array_equal(fit["constant_data"]["weights"], [1, 0.5, 0.25])


def test_chains_differ(fit):
    first, second = samples(fit, "mu")
    assert not np.isin(first, second).any()


def test_draws_do_not_depend_on_the_number_of_cores(
    monkeypatch, synthesizer, fit, sample_calls
):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    one_core = synthesizer.fit(random_seed=1)
    assert sample_calls[0]["cores"] == 1
    xr.testing.assert_equal(
        one_core["posterior"].to_dataset(), fit["posterior"].to_dataset()
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "as_other", [list, pd.Series, xr.DataArray], ids=["list", "Series", "DataArray"]
)
def test_weights_may_be_any_array_of_numbers(poisson, as_other):
    weights = vector_with_zeros(1000)
    expected, result = (
        poisson.fit(weights, random_seed=1),
        poisson.fit(as_other(weights), random_seed=1),
    )
    xr.testing.assert_equal(
        result["posterior"].to_dataset(), expected["posterior"].to_dataset()
    )


@pytest.mark.parametrize(
    ("environment", "progressbar", "shown"),
    [
        ("off", True, False),
        (None, True, True),
        (None, False, False),
        ("on", True, True),
    ],
)
def test_progress(monkeypatch, fake_nutpie, environment, progressbar, shown):
    monkeypatch.delenv("PSEUDOPOST_PROGRESS")
    if environment:
        monkeypatch.setenv("PSEUDOPOST_PROGRESS", environment)
    pp.PoissonSynthesizer([4, 5, 6]).fit(progressbar=progressbar, random_seed=1)
    assert [call["progress_bar"] for call in fake_nutpie.calls] == [shown]


@pytest.mark.slow
def test_a_synthesizer_can_be_pickled_after_a_fit(poisson, poisson_fit):
    copy = pickle.loads(pickle.dumps(poisson))
    np.testing.assert_array_equal(copy.y, poisson.y)
    xr.testing.assert_equal(
        copy.fit(random_seed=1)["posterior"].to_dataset(),
        poisson_fit["posterior"].to_dataset(),
    )


# Convergence


def test_a_fit_that_has_not_converged_warns_wherever_it_is_used(
    synthesizer, tmp_path, sample_calls
):
    pp.cache.on(str(tmp_path))
    text = r"^the fit has not converged: R-hat \d\.\d{3} above 1\.05, .*"
    text += r"effective sample size \d+ below 200, of \w+ \(.* by chain\)$"
    with pytest.warns(pp.ConvergenceWarning, match=text) as caught:
        bad = synthesizer.fit(draws=10, tune=10, random_seed=1)
    assert caught[0].filename == __file__
    assert str(caught[0].message) == bad.attrs["not_converged"]
    same = f"^{re.escape(bad.attrs['not_converged'])}$"
    log_likelihood = synthesizer.log_likelihood(bad)
    with pytest.warns(pp.ConvergenceWarning, match=same):
        pp.lipschitz_bounds(log_likelihood)
    with pytest.warns(pp.ConvergenceWarning, match=same):
        pp.lipschitz_weights(log_likelihood)
    with pytest.warns(pp.ConvergenceWarning, match=same):
        synthesizer.fit(draws=10, tune=10, random_seed=1)
    assert len(sample_calls) == 1


MIXED = np.random.default_rng(1).normal(5, 0.1, size=(2, 1000))
SHIFTED = MIXED + np.array([[0], [0.1]])
ONE_STUCK = np.where([[True], [False]], 5, MIXED)
SLOW = 5 + np.random.default_rng(1).normal(0, 0.01, size=(1, 1000)).cumsum(axis=1)
RHAT = "R-hat {rhat:.3f} above 1.05"
BULK = "bulk effective sample size {bulk:.0f} below {wanted}"
TAIL = "tail effective sample size {tail:.0f} below {wanted}"
DIVERGED = "3 divergent transitions"


@pytest.mark.parametrize(
    ("bad", "diverging", "problems"),
    [
        (MIXED, 0, []),
        (MIXED[:1], 0, []),
        (ONE_STUCK, 0, [RHAT, TAIL]),
        (SLOW, 0, [BULK, TAIL]),
        (SHIFTED, 0, [RHAT, BULK, TAIL]),
        (MIXED, 3, [DIVERGED]),
        (SHIFTED, 3, [RHAT, BULK, TAIL, DIVERGED]),
    ],
    ids=["none", "one chain", "R-hat", "slow", "shifted", "divergences", "all"],
)
def test_each_problem_is_named_with_its_number(fake_nutpie, bad, diverging, problems):
    chains = len(bad)
    fake_nutpie.posterior = {"good": MIXED[:chains], "bad": bad}
    fake_nutpie.diverging = np.zeros((chains, 1000), dtype=bool)
    fake_nutpie.diverging[0, :diverging] = True
    poisson = pp.PoissonSynthesizer([4, 5, 6])
    if not problems:
        assert poisson.fit(chains=chains, random_seed=1).attrs["not_converged"] == ""
        return
    draws = made_by_hand(pp.PoissonSynthesizer([1]), bad=bad)
    numbers = {
        "rhat": float(az.rhat(draws)["bad"]) if chains > 1 else None,
        "bulk": float(az.ess(draws, method="bulk")["bad"]),
        "tail": float(az.ess(draws, method="tail")["bad"]),
        "wanted": 100 * chains,
    }
    of_bad = ", ".join(problem for problem in problems if problem != DIVERGED)
    if of_bad:
        means = ", ".join(f"{mean:.4g}" for mean in bad.mean(axis=1))
        of_bad = f"{of_bad.format(**numbers)}, of bad ({means} by chain)"
    text = "; ".join(filter(None, [of_bad, DIVERGED if diverging else ""]))
    with pytest.warns(pp.ConvergenceWarning) as caught:
        fit = poisson.fit(chains=chains, random_seed=1)
    assert str(caught[0].message) == f"the fit has not converged: {text}"
    assert fit.attrs["not_converged"] == f"the fit has not converged: {text}"


# Log-likelihood


def test_log_likelihood_of_the_negative_binomial(synthesizer, counts, fit):
    mu, phi = (samples(fit, name).reshape(-1, 1) for name in ("mu", "phi"))
    result = rows(synthesizer.log_likelihood(fit))
    expected = stats.nbinom.logpmf(counts, phi, phi / (phi + mu))
    np.testing.assert_allclose(result, expected, rtol=1e-10)


@pytest.mark.slow
def test_log_likelihood_of_the_poisson(poisson, counts, poisson_fit):
    mu = samples(poisson_fit, "mu").reshape(-1, 1)
    result = rows(poisson.log_likelihood(poisson_fit))
    np.testing.assert_allclose(result, stats.poisson.logpmf(counts, mu), rtol=1e-10)


@pytest.mark.slow
def test_log_likelihood_is_unweighted(poisson, counts):
    fit = poisson.fit(vector_with_zeros(1000), random_seed=1)
    mu = samples(fit, "mu").reshape(-1, 1)
    expected = stats.poisson.logpmf(counts, mu)
    np.testing.assert_allclose(rows(poisson.log_likelihood(fit)), expected, rtol=1e-10)


# Synthetic data


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "its_fit"), [("synthesizer", "fit"), ("poisson", "poisson_fit")]
)
def test_synthetic_data_are_counts(name, its_fit, counts, request):
    synthesizer, fit = request.getfixturevalue(name), request.getfixturevalue(its_fit)
    synthetic = synthesizer.synthesize(fit, random_seed=1)
    assert synthetic.shape == (20, len(counts))
    assert np.issubdtype(synthetic.dtype, np.integer)
    assert synthetic.min() >= 0
    assert len(np.unique(synthetic, axis=0)) == 20


def test_a_seed_determines_the_synthetic_data(synthesizer, fit):
    first = synthesizer.synthesize(fit, 3, random_seed=1)
    np.testing.assert_array_equal(synthesizer.synthesize(fit, 3, random_seed=1), first)
    other = synthesizer.synthesize(fit, 3, random_seed=2)
    assert (other != first).mean() > 0.5


def test_synthetic_data_follow_the_posterior_predictive(synthesizer, fit):
    mu, phi = (samples(fit, name).ravel() for name in ("mu", "phi"))
    synthetic = synthesizer.synthesize(fit, n_datasets=2000, random_seed=1)
    assert_centred(synthetic.mean(axis=1) - mu)
    assert_centred(synthetic.var(axis=1, ddof=1) - (mu + mu**2 / phi))


@pytest.mark.slow
def test_synthetic_data_of_the_poisson(poisson, poisson_fit):
    mu = samples(poisson_fit, "mu").ravel()
    synthetic = poisson.synthesize(poisson_fit, n_datasets=2000, random_seed=1)
    assert_centred(synthetic.mean(axis=1) - mu)
    assert_centred(synthetic.var(axis=1, ddof=1) - mu)


@pytest.mark.parametrize("m", [1, 2, 7, 20, 299, 300])
def test_synthetic_data_come_from_evenly_spaced_draws(m):
    draws = np.arange(300).reshape(3, 100)
    echo = Echo([1, 2])
    synthetic = echo.synthesize(made_by_hand(echo, mu=draws), m, random_seed=1)
    used = synthetic[:, 0]
    np.testing.assert_array_equal(synthetic[:, 1], used)
    middles = (np.arange(m) + 0.5) * 300 / m
    assert (abs(used + 0.5 - middles) <= 0.5).all()


def test_more_data_sets_than_draws_are_refused():
    echo = Echo([1, 2])
    fit = made_by_hand(echo, mu=np.ones((2, 5)))
    with refused("n_datasets must be at most the 10 draws of the fit; got 11"):
        echo.synthesize(fit, 11, random_seed=1)


@pytest.mark.parametrize("method", ["synthesize", "log_likelihood", "record_terms"])
@pytest.mark.parametrize(
    "other",
    [
        pp.NegativeBinomialSynthesizer([1, 2]),
        pp.PoissonSynthesizer([1, 2, 3]),
        pp.PoissonSynthesizer([1, 3]),
        pp.PoissonSynthesizer([1, 2], rate=1),
    ],
    ids=["class", "length", "data", "prior"],
)
def test_a_fit_of_another_synthesizer_is_refused(method, other):
    fit = made_by_hand(other, mu=np.ones((2, 5)))
    text = "fit must come from this PoissonSynthesizer, with the same data; it comes"
    with refused(f"{text} from {type(other).__name__}"):
        getattr(pp.PoissonSynthesizer([1, 2]), method)(fit)


EVERY = {
    **SYNTHESIZERS,
    "mixture": lambda y: pp.MixtureSynthesizer(y, [[1], [2], [4]], n_components=2),
    "own": NormalSynthesizer,
}


@pytest.mark.parametrize("method", ["synthesize", "log_likelihood", "record_terms"])
@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
def test_a_tree_from_elsewhere_is_refused(make, method):
    synthesizer = make([1, 2, 3])
    with refused(
        f"fit must come from this {type(synthesizer).__name__}, with the same data; "
        "it comes from elsewhere"
    ):
        getattr(synthesizer, method)(xr.DataTree())


# Data that change

USES = {
    "fit": lambda synthesizer, fit: synthesizer.fit(),
    "log_likelihood": lambda synthesizer, fit: synthesizer.log_likelihood(fit),
    "synthesize": lambda synthesizer, fit: synthesizer.synthesize(fit, 2),
}


def change_y(synthesizer):
    synthesizer.y[0] += 1


def change_y_and_back(synthesizer):
    synthesizer.y[0] += 1
    synthesizer.y[0] -= 1


def change_the_model(synthesizer):
    name = "log_y" if "log_y" in synthesizer.model.named_vars else "values"
    values = synthesizer.model[name].get_value()
    pm.set_data({name: values + 1}, model=synthesizer.model)


def change_the_logarithms(synthesizer):
    synthesizer.log_y[0] += 1


def change_the_predictors(synthesizer):
    synthesizer.X[0, 1] += 1


CHANGES = {
    "counts": (pp.PoissonSynthesizer, change_y),
    "counts in the model": (pp.PoissonSynthesizer, change_the_model),
    "amounts": (EVERY["mixture"], change_y),
    "amounts in the model": (EVERY["mixture"], change_the_model),
    "logarithms": (EVERY["mixture"], change_the_logarithms),
    "predictors": (EVERY["mixture"], change_the_predictors),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize(("make", "change"), CHANGES.values(), ids=CHANGES)
def test_data_that_changed_after_their_first_use_are_noticed(make, change, use):
    synthesizer = make([1, 2, 3])
    fit = made_by_hand(synthesizer, mu=np.ones((2, 5)))
    change(synthesizer)
    with refused(
        f"the data of a {type(synthesizer).__name__} must stay as they were when it "
        "was first used; make a new one for other data"
    ):
        use(synthesizer, fit)


@pytest.mark.slow
def test_data_that_are_as_they_were_are_welcome(fit, synthesizer):
    change_y_and_back(synthesizer)
    assert synthesizer.synthesize(fit, 2).shape == (2, 1000)


# Labels of the records

NAMES = ["Ann", "Bo", "Cy"]
LABELS = {
    "strings": pd.Index(NAMES),
    "named": pd.Index(NAMES, name="person"),
    "dates": pd.date_range("2026-01-01", periods=3),
    "duplicates": pd.Index([7, 7, 2]),
    "two levels": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
    "named levels": pd.MultiIndex.from_arrays(
        [["a", "a", "b"], NAMES], names=["house", "person"]
    ),
    "names taken": pd.MultiIndex.from_arrays(
        [NAMES, NAMES, NAMES], names=["record", "weights", "draw"]
    ),
}


def labels_of_results(synthesizer, fit):
    """Labels of all that `synthesizer` makes of a fit, which claims to be its own."""
    results = (
        synthesizer.log_likelihood(fit),
        synthesizer.record_terms(fit),
        synthesizer.synthesize(fit, 2),
    )
    return [result["record"].to_index() for result in results]


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_the_records_are_kept(fake_nutpie, labels):
    synthesizer = pp.PoissonSynthesizer(pd.Series([4, 5, 6], labels))
    fit = synthesizer.fit(random_seed=1)
    found = [fit["constant_data"]["record"].to_index()]
    found += labels_of_results(synthesizer, fit)
    for index in found:
        assert index.equals(labels)
    assert fit["constant_data"]["weights"].dims == ("record",)


@pytest.mark.slow
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("carrier", ["y", "X", "both"])
def test_labels_of_values_or_predictors_are_kept(labels, carrier):
    y, X = pd.Series([1, 2, 3], labels), pd.DataFrame({"age": [30, 41, 55]}, labels)
    y = y.to_numpy() if carrier == "X" else y
    X = X.to_numpy() if carrier == "y" else X
    synthesizer = pp.MixtureSynthesizer(y, X, n_components=1)
    by_draw, one = ("chain", "draw"), ("component",)
    posterior = {
        "pi": ((*by_draw, *one), np.ones((2, 3, 1))),
        "sigma": ((*by_draw, *one), np.ones((2, 3, 1))),
        "beta": ((*by_draw, *one, "predictor"), np.ones((2, 3, 1, 2))),
    }
    fit = made_by_hand(synthesizer)
    fit["posterior"] = xr.Dataset(posterior)
    fit["constant_data"] = xr.Dataset({"weights": ("record", np.ones(3))})
    for index in labels_of_results(synthesizer, fit):
        assert index.equals(labels)


def test_records_without_labels_are_numbered(fake_nutpie):
    synthesizer = pp.PoissonSynthesizer([4, 5, 6])
    fit = synthesizer.fit(random_seed=1)
    for index in (
        fit["constant_data"]["record"].to_index(),
        *labels_of_results(synthesizer, fit),
    ):
        assert index.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["a", "b", "c"], ["c", "b", "d"]),
        (["a", "b", "b"], ["b", "a", "b"]),
        ([0, 1, 2], [5, 6, 7]),
        ([0, 1, 2], ["0", "1", "2"]),
    ],
)
def test_values_and_predictors_of_other_records_are_refused(first, second):
    y, X = pd.Series([1, 2, 3], first), pd.DataFrame({"age": [30, 41, 55]}, second)
    with refused(
        "X must have the labels of y, each of them once or all in the same order; "
        f"there are 3 and 3, which begin with {list(X.index)} and {list(y.index)}"
    ):
        pp.MixtureSynthesizer(y, X)


def test_predictors_and_weights_are_found_by_their_labels(fake_nutpie):
    y, order = pd.Series([1, 2, 3], ["a", "b", "c"]), ["c", "a", "b"]
    X = pd.DataFrame({"age": [30, 41, 55]}, y.index).loc[order]
    synthesizer = pp.MixtureSynthesizer(y, X)
    assert synthesizer.X[:, 1].tolist() == [30, 41, 55]
    assert synthesizer.index.equals(y.index)
    weights = pd.Series([1, 0.5, 0.25], y.index).loc[order]
    fit = pp.PoissonSynthesizer(y).fit(weights)
    assert fit["constant_data"]["weights"].to_numpy().tolist() == [1, 0.5, 0.25]
    with refused(
        "weights must have the labels of y, each of them once or all in the same "
        "order; there are 3 and 3, which begin with [0, 1, 2] and ['a', 'b', 'c']"
    ):
        pp.PoissonSynthesizer(y).fit(pd.Series([1, 0.5, 0.25]))


# Seeds


def test_a_seed_of_its_own_is_drawn_and_kept(fake_nutpie):
    poisson = pp.PoissonSynthesizer([4, 5, 6])
    seeds = [poisson.fit().attrs["random_seed"] for _ in range(3)]
    assert len(set(seeds)) == 3
    assert [call["seed"] for call in fake_nutpie.calls] == seeds
    assert all(0 <= seed < 2**63 for seed in seeds)
    poisson.fit(random_seed=seeds[1])
    assert fake_nutpie.calls[-1] == fake_nutpie.calls[1]


@pytest.mark.slow
def test_a_seed_that_was_drawn_repeats_the_fit(poisson):
    fit = poisson.fit(draws=500, tune=300)
    again = poisson.fit(draws=500, tune=300, random_seed=fit.attrs["random_seed"])
    xr.testing.assert_equal(
        fit["posterior"].to_dataset(), again["posterior"].to_dataset()
    )


def test_the_fit_keeps_every_seed_of_its_synthetic_data():
    poisson = pp.PoissonSynthesizer([4, 5, 6])
    fit = made_by_hand(poisson, mu=np.full((2, 50), 5.0))
    files = [poisson.synthesize(fit, 20) for _ in range(2)]
    seeds = fit.attrs["synthesis_seeds"]
    assert len(set(seeds)) == 2
    assert not np.array_equal(*files)
    for file, seed in zip(files, seeds, strict=True):
        xr.testing.assert_identical(poisson.synthesize(fit, 20, seed), file)
    assert fit.attrs["synthesis_seeds"] == seeds * 2


def test_synthetic_data_hold_no_seed(fake_nutpie):
    synthesizer = pp.PoissonSynthesizer(pd.Series([4, 5, 6], NAMES))
    fit = synthesizer.fit()
    file = synthesizer.synthesize(fit)
    assert set(file.coords) == {"dataset", "record"}
    for part in (file, *file.coords.values()):
        assert part.attrs == part.encoding == {}
    held = str(file.to_dict(encoding=True))
    for seed in (fit.attrs["random_seed"], *fit.attrs["synthesis_seeds"]):
        assert str(seed) not in held


# ArviZ


@pytest.mark.slow
def test_leave_one_out_of_arviz(poisson, counts, poisson_fit):
    fit = poisson_fit.copy()
    fit["log_likelihood/y"] = poisson.log_likelihood(fit)
    found = az.loo(fit, pointwise=True)
    shape = PRIOR["shape"] + counts.sum() - counts
    rate = PRIOR["rate"] + len(counts) - 1
    exact = stats.nbinom.logpmf(counts, shape, rate / (rate + 1))
    assert found.elpd == pytest.approx(exact.sum(), abs=0.5)
    np.testing.assert_allclose(found.elpd_i, exact, atol=0.05)


class SharedData(NormalSynthesizer):
    """The data are in pm.Data instead of a constant."""

    def build_model(self):
        with pm.Model() as model:
            y = pm.Data("obs", self.y)
            logp = pm.logp(pm.Normal.dist(pm.Normal("mean", 1, 0.5), 1), y)
            pp.weighted_likelihood("y", logp, np.ones(len(self.y)))
        return model


def test_models_with_other_shared_data_differ():
    fingerprints = {SharedData([y, 1.0])._fingerprint for y in (0, 0, 100)}
    assert len(fingerprints) == 2


class EffectsOfData(SharedData):
    """The length of a parameter is that of the data."""

    def build_model(self):
        with super().build_model() as model:
            pm.Normal("effect", shape=model["obs"].shape[0])
        return model


@pytest.mark.slow
def test_models_of_one_form_share_a_compiled_model(monkeypatch):
    monkeypatch.setattr(compiled, "SAMPLERS", {})
    first, second, longer = (SharedData(y) for y in ([0.0, 1], [5.0, 6], [5.0, 6, 7]))
    first.fit(draws=500, tune=200, random_seed=1)
    fits = [model.fit(draws=500, tune=200, random_seed=1) for model in (second, longer)]
    assert [*compiled.SAMPLERS] == [first._form]
    for y, fit in zip(([5.0, 6], [5.0, 6, 7]), fits, strict=True):
        compiled.SAMPLERS.clear()
        alone = SharedData(y).fit(draws=500, tune=200, random_seed=1)
        assert len(compiled.SAMPLERS) == 1
        xr.testing.assert_equal(
            fit["posterior"].to_dataset(), alone["posterior"].to_dataset()
        )


@pytest.mark.slow
def test_parameters_of_another_length_need_another_compiled_model(monkeypatch):
    monkeypatch.setattr(compiled, "SAMPLERS", {})
    for y in ([0.0, 1], [5.0, 6, 7]):
        fit = EffectsOfData(y).fit(draws=500, tune=200, random_seed=1)
        assert fit["posterior"]["effect"].shape == (2, 500, len(y))
    assert len(compiled.SAMPLERS) == 2


@pytest.mark.parametrize("synthesizer_class", SYNTHESIZERS.values(), ids=SYNTHESIZERS)
def test_counts_share_a_compiled_model(synthesizer_class):
    counts = ([0, 3, 3, 3], [5, 1, 9, 700], [5, 1, 9], [2])
    models = [synthesizer_class(y) for y in counts]
    assert len({model._form for model in models}) == 1
    assert len({model._fingerprint for model in models}) == len(models)


@pytest.mark.slow
def test_counts_of_another_length_have_their_own_fit(monkeypatch):
    monkeypatch.setattr(compiled, "SAMPLERS", {})
    y, other = [4, 5, 6, 9, 1], [30, 20]
    pp.PoissonSynthesizer(y).fit(draws=500, tune=200, random_seed=1)
    shared = pp.PoissonSynthesizer(other).fit(draws=500, tune=200, random_seed=1)
    assert len(compiled.SAMPLERS) == 1
    compiled.SAMPLERS.clear()
    alone = pp.PoissonSynthesizer(other).fit(draws=500, tune=200, random_seed=1)
    xr.testing.assert_equal(
        shared["posterior"].to_dataset(), alone["posterior"].to_dataset()
    )


def test_the_oldest_compiled_model_is_given_up(fake_nutpie):
    models = [pp.PoissonSynthesizer([1, 2], shape=k) for k in range(1, 10)]
    for model in models:
        model.fit()
    assert fake_nutpie.compiled == 9
    assert set(compiled.SAMPLERS) == {model._form for model in models[1:]}


# Input


@pytest.mark.parametrize("synthesizer_class", SYNTHESIZERS.values(), ids=SYNTHESIZERS)
@pytest.mark.parametrize(
    ("y", "text"),
    [
        ([3, 0, -1], "y must be at least 0; record 2 has -1"),
        ([3, 0.5, 1], "y must be whole numbers; record 1 has 0.5"),
        ([3, 0, np.nan], "y must be finite; record 2 has nan"),
        ([3, 0, np.inf], "y must be finite; record 2 has inf"),
        ([None, 0, 1], "y must be finite; record 0 has nan"),
        (pd.Series([3, None, 1]), "y must be finite; record 1 has nan"),
        (pd.Series([3, pd.NA, 1], dtype="Int64"), "y must be finite; record 1 has nan"),
        (pd.Series([3, pd.NA, 1], dtype=object), "y must be finite; record 1 has nan"),
        (np.ma.array([3, 0, 1], mask=[0, 0, 1]), "y must be finite; record 2 has nan"),
        ([], "y must hold one value per record; got shape (0,)"),
        (7, "y must hold one value per record; got shape ()"),
        ([[3, 0, 1]], "y must hold one value per record; got shape (1, 3)"),
        (
            pd.DataFrame({"y": [3, 0]}),
            "y must hold one value per record; got shape (2, 1)",
        ),
        (["three", "0"], "y must be numbers; record 0 has 'three'"),
    ],
)
def test_bad_counts_are_refused(synthesizer_class, y, text):
    with refused(text):
        synthesizer_class(y)


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "a", None, [1, 2]])
@pytest.mark.parametrize("name", ["shape", "rate"])
def test_bad_prior_parameters_are_refused(name, value):
    with refused(f"{name} must be a finite number in (0, inf]; got {value!r}"):
        pp.PoissonSynthesizer([1, 2], **{name: value})


@pytest.mark.slow
@pytest.mark.parametrize("synthesizer_class", SYNTHESIZERS.values(), ids=SYNTHESIZERS)
@pytest.mark.parametrize(
    "y",
    [
        (3, 0, 12),
        np.array([3, 0, 12], dtype=np.uint8),
        np.array([3.0, 0.0, 12.0]),
        pd.Series([3, 0, 12], index=[9, 8, 7]),
        pd.Series([3, 0, 12], dtype="Int64"),
        xr.DataArray([3, 0, 12], dims="person"),
    ],
    ids=["tuple", "uint8", "floats", "Series", "Int64", "DataArray"],
)
def test_counts_may_be_any_array_of_whole_numbers(synthesizer_class, y):
    result, expected = synthesizer_class(y), synthesizer_class([3, 0, 12])
    np.testing.assert_array_equal(result.y, [3, 0, 12])
    assert result.y.dtype == expected.y.dtype
    assert_same_logp(result.model, expected.model)


def assert_same_logp(model, other):
    point = model.initial_point()
    logp, other_logp = (m.compile_logp(mode="FAST_COMPILE") for m in (model, other))
    assert logp(point) == other_logp(point)


def test_the_data_are_copied():
    y = np.array([3, 0, 12])
    synthesizer = pp.PoissonSynthesizer(y)
    y[0] = 100
    np.testing.assert_array_equal(synthesizer.y, [3, 0, 12])


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ([1, 1], "weights must have length 3; got length 2"),
        ([[1, 1, 1]], "weights must hold one value per record; got shape (1, 3)"),
        (0.3, "weights must hold one value per record; got shape ()"),
        ([1, 1, 1.5], "weights must lie in [0, 1]; record 2 has 1.5"),
        ([-0.5, 1, 1], "weights must lie in [0, 1]; record 0 has -0.5"),
        ([1, np.nan, 1], "weights must be finite; record 1 has nan"),
        ([1, 1, np.inf], "weights must be finite; record 2 has inf"),
        (["a", "b", "c"], "weights must be numbers; record 0 has 'a'"),
    ],
)
def test_bad_weights_are_refused(fake_nutpie, weights, text):
    with refused(text):
        pp.PoissonSynthesizer([1, 2, 3]).fit(weights, random_seed=1)
    assert fake_nutpie.calls == []


@pytest.mark.parametrize(
    ("name", "low", "bad"),
    [
        *(("draws", 4, bad) for bad in (0, 3, -5, 10.0, "10", None, True, np.nan)),
        *(("tune", 1, bad) for bad in (0, 1.5, True)),
        *(("chains", 1, bad) for bad in (0, 1.5, True)),
        *(("random_seed", 0, bad) for bad in (-1, 1.5, True)),
    ],
)
def test_bad_settings_are_refused(fake_nutpie, name, low, bad):
    with refused(f"{name} must be a whole number of at least {low}; got {bad!r}"):
        pp.PoissonSynthesizer([1, 2, 3]).fit(**{name: bad})
    assert fake_nutpie.calls == []


@pytest.mark.parametrize(
    ("name", "low", "bad"),
    [
        *(("n_datasets", 1, bad) for bad in (0, -1, 2.0, True, None)),
        *(("random_seed", 0, bad) for bad in (-1, 1.5, True)),
    ],
)
def test_bad_settings_of_synthesize_are_refused(name, low, bad):
    echo = Echo([1, 2])
    fit = made_by_hand(echo, mu=np.ones((2, 50)))
    with refused(f"{name} must be a whole number of at least {low}; got {bad!r}"):
        echo.synthesize(fit, **{name: bad})


@pytest.mark.slow
def test_a_seed_too_large_is_refused(synthesizer):
    largest = synthesizer.fit(random_seed=2**63 - 1)
    assert largest.attrs["random_seed"] == 2**63 - 1
    with refused(f"random_seed must be at most {2**63 - 1}; got {2**64}"):
        synthesizer.fit(random_seed=2**64)


@pytest.mark.slow
def test_fit_keeps_its_weights_when_the_caller_changes_theirs(synthesizer, counts):
    weights = np.full(len(counts), 0.5)
    fit = synthesizer.fit(weights, random_seed=1)
    weights[:] = 0
    assert (fit["constant_data"]["weights"] == 0.5).all()


@pytest.mark.parametrize(
    "y",
    [
        ["1", "2"],
        pd.Series(["a", "b"]),
        np.array(["2026-01-01"], dtype="datetime64[D]"),
        np.array([1j]),
        [2**63],
        [1e300],
        [2**53 + 1],
        np.array([2**53 + 1]),
        np.array([2**53 + 1, None]),
        pd.Series([2**53 + 1]),
        pd.Series([2**53 + 1, None], dtype="UInt64"),
        pd.Series([1, -(2**53) - 1]),
    ],
    ids=str,
)
def test_what_is_no_count_is_refused(y):
    with pytest.raises(ValueError, match=r"^y must (be numbers|not exceed 2\*\*53)"):
        pp.PoissonSynthesizer(y)


def test_a_weight_of_0_silences_an_impossible_record():
    synthesizer = pp.PoissonSynthesizer([2, 4, 9])
    terms = synthesizer._terms(
        np.array([[[-1.0, -np.inf, -2.0]]]), np.array([1, 0, 0.5])
    )
    assert terms.tolist() == [[[-1, 0, -1]]]
