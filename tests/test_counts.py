"""The negative binomial model with predictors."""

import re

import numpy as np
import pandas as pd
import pytensor.tensor as pt
import pytest
import statsmodels.api as sm
import xarray as xr
from by_hand import made_by_hand
from exact import log_prior_of_log_mu
from scipy import stats

import pseudopost as pp
from pseudopost.counts import draw_centre, log_prior_of_centre


def visits(n=1500):
    """Counts with known coefficients, predictors of two kinds, and labels."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {"age": rng.integers(20, 80, n), "plan": rng.choice(["free", "paid"], n)},
        index=[f"r{i}" for i in range(n)],
    )
    mu = np.exp(-0.5 + 0.03 * X["age"] - 0.6 * (X["plan"] == "paid"))
    y = rng.negative_binomial(1.5, 1.5 / (1.5 + mu))
    return pd.Series(y, X.index), X


@pytest.fixture(scope="module")
def synthesizer():
    return pp.NegativeBinomialSynthesizer(*visits())


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(4).uniform(0.2, 1, 1500)


@pytest.fixture(scope="module")
def fit(synthesizer, weights):
    return synthesizer.fit(weights, random_seed=1, progressbar=False)


def point(rng):
    return {
        "log_mu": rng.normal(),
        "inverse_phi": rng.uniform(0.2, 2),
        "tau": rng.uniform(0.5, 2),
        "principal": rng.normal(size=2),
    }


@pytest.mark.slow
def test_density_is_that_of_the_distribution(synthesizer):
    rng = np.random.default_rng(5)
    values = point(rng)
    draws = xr.Dataset(
        {k: (("chain", "draw", *["d"][: np.ndim(v)]), [[v]]) for k, v in values.items()}
    )
    given = xr.DataTree.from_dict({"posterior": draws})
    found = pp.pointwise_log_likelihood(synthesizer.model, given).to_numpy()[0, 0]
    X = synthesizer.X[:, 1:]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    slope = np.linalg.eigh(Z.T @ Z)[1] @ values["principal"]
    eta = values["log_mu"] + Z @ slope
    phi = 1 / values["inverse_phi"]
    expected = stats.nbinom.logpmf(synthesizer.y, phi, phi / (phi + np.exp(eta)))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("value", [-0.02, 0.1, 0.4, -3.0, 11.0, 36.0])
def test_prior_of_the_centre(value):
    found = log_prior_of_centre(pt.constant(value)).eval()
    assert found == pytest.approx(log_prior_of_log_mu(np.array([value]))[0], abs=1e-7)


def test_draws_of_the_centre_are_from_its_prior():
    draws = draw_centre(np.random.default_rng(7), 20_000)
    grid = np.arange(-60, 60.001, 0.01)
    log_density = log_prior_of_centre(pt.constant(grid + 0.005)).eval()
    below = np.cumsum(np.exp(log_density)) * 0.01
    assert below[-1] == pytest.approx(1 - 0.002, abs=3e-4)
    below /= below[-1]
    assert stats.kstest(draws, lambda x: np.interp(x, grid + 0.01, below)).pvalue > 0.01


@pytest.mark.slow
def test_no_funnel_where_the_mean_is_1():
    y = stats.nbinom.ppf((np.arange(8000) + 0.5) / 8000, 0.31, 0.31 / 1.31)
    fit = pp.NegativeBinomialSynthesizer(y).fit(random_seed=1, progressbar=False)
    assert abs(np.log(y.mean())) < 0.01
    assert not fit["sample_stats"]["diverging"].any()


@pytest.mark.slow
def test_priors(synthesizer):
    model, rng = synthesizer.model, np.random.default_rng(6)
    logp = model.compile_logp(vars=model.free_RVs, mode="FAST_COMPILE", jacobian=False)
    for _ in range(5):
        values = point(rng)
        half_t = stats.t(3)
        expected = (
            half_t.logpdf(values["tau"])
            + np.log(2)
            + log_prior_of_log_mu(np.array([values["log_mu"]]))[0]
            + stats.norm.logpdf(values["principal"], 0, values["tau"]).sum()
            + stats.halfcauchy.logpdf(values["inverse_phi"], 0, 5)
        )
        unbounded = {
            f"{name}_log__" if name in ("tau", "inverse_phi") else name: (
                np.log(v) if name in ("tau", "inverse_phi") else v
            )
            for name, v in values.items()
        }
        assert logp(unbounded) == pytest.approx(expected, rel=1e-8)


@pytest.mark.slow
def test_coefficients_are_near_the_largest_weighted_likelihood(
    synthesizer, weights, fit
):
    y, _ = visits()
    whole = np.repeat(np.arange(1500), np.round(20 * weights).astype(int))
    found = sm.NegativeBinomial(y.to_numpy()[whole], synthesizer.X[whole]).fit(
        disp=0, method="bfgs", maxiter=500
    )
    posterior = fit["posterior"].to_dataset()
    assert synthesizer.predictors == ["intercept", "age", "plan=paid"]
    assert posterior["beta"]["predictor"].to_numpy().tolist() == synthesizer.predictors
    ours = posterior["beta"].mean(("chain", "draw")).to_numpy()
    sd = posterior["beta"].std(("chain", "draw")).to_numpy()
    assert (abs(ours - np.asarray(found.params)[:3]) < 0.5 * sd).all()
    # The repeated file is 20 times as large.
    np.testing.assert_allclose(sd, np.asarray(found.bse)[:3] * np.sqrt(20), rtol=0.15)
    phi = float(posterior["phi"].mean())
    assert phi == pytest.approx(1 / np.asarray(found.params)[3], rel=0.1)
    assert fit.attrs["not_converged"] == ""


@pytest.mark.slow
def test_synthetic_counts_follow_the_predictors(synthesizer, fit):
    y, X = visits()
    released = synthesizer.synthesize(fit, 200, random_seed=2)
    assert released["record"].to_index().equals(y.index)
    for plan in ("free", "paid"):
        own = (X["plan"] == plan).to_numpy()
        means = released.to_numpy()[:, own].mean(axis=1)
        assert abs(y[own].mean() - means.mean()) < 3 * means.std()
    beta = fit["posterior"]["beta"].mean(("chain", "draw")).to_numpy()
    mu = np.exp(synthesizer.X @ beta)
    np.testing.assert_allclose(released.mean(), mu.mean(), rtol=0.05)


@pytest.mark.slow
def test_synthetic_counts_follow_released_predictors(synthesizer, fit):
    _, X = visits()
    paid = X.assign(plan="paid", of_no_use=1)
    tables = [paid if at % 2 else X[::-1] for at in range(200)]
    released = synthesizer.synthesize(fit, 200, random_seed=2, X=tables).to_numpy()
    own = synthesizer.synthesize(fit, 200, random_seed=2).to_numpy()
    np.testing.assert_array_equal(released[::2][:1], own[::2][:1])
    free = (X["plan"] == "free").to_numpy()
    effect = fit["posterior"]["beta"].sel(predictor="plan=paid").mean().item()
    ratio = np.log(released[1::2][:, free].mean() / own[::2][:, free].mean())
    assert ratio == pytest.approx(effect, abs=0.05)


@pytest.mark.parametrize(
    ("tables", "rule"),
    [
        (lambda X: X, "X must be 2 tables, one for each data set; got one"),
        (lambda X: [X] * 3, "X must be 2 tables, one for each data set; got 3"),
        (
            lambda X: [X.reset_index(drop=True)[:39]] * 2,
            "X must have the labels of y, each of them once",
        ),
        (
            lambda X: [X.to_numpy()[:39]] * 2,
            "X must have 40 rows in each table, as y has; got 39",
        ),
        (lambda X: [X.assign(plan="none")] * 2, "X['plan'] must have levels of the"),
    ],
)
def test_released_predictors_that_do_not_fit_are_refused(tables, rule):
    y, X = visits(40)
    made = pp.NegativeBinomialSynthesizer(y, X)
    fit = made_by_hand(made, beta=np.zeros((2, 5, 3)), phi=np.ones((2, 5)))
    with pytest.raises(ValueError, match=f"^{re.escape(rule)}"):
        made.synthesize(fit, 2, X=tables(X))


def test_a_model_without_predictors_takes_none():
    made = pp.NegativeBinomialSynthesizer([2, 4, 9])
    fit = made_by_hand(made, mu=np.ones((2, 5)), phi=np.ones((2, 5)))
    rule = "X must be None; NegativeBinomialSynthesizer has no design"
    with pytest.raises(ValueError, match=rule):
        made.synthesize(fit, 2, X=[[[1.0]] * 3] * 2)


def test_columns_that_others_determine_are_left_out():
    y, X = visits(40)
    with pytest.warns(UserWarning, match="'months' is 12 'age'") as told:
        made = pp.NegativeBinomialSynthesizer(y, X.assign(months=12 * X["age"]))
    assert told[0].filename == __file__
    assert made.predictors == ["intercept", "age", "plan=paid"]
    assert made.redundant == {"months": pytest.approx({"age": 12})}


def test_predictors_are_found_by_their_labels():
    y, X = visits(40)
    made = pp.NegativeBinomialSynthesizer(y, X)
    order = np.random.default_rng(1).permutation(40)
    again = pp.NegativeBinomialSynthesizer(y, X.iloc[order])
    np.testing.assert_array_equal(again.X, made.X)
    assert pp.NegativeBinomialSynthesizer(y.to_numpy(), X).index.equals(X.index)


def test_other_predictors_make_another_model():
    y, X = visits(40)
    first, second = (
        pp.NegativeBinomialSynthesizer(y, data)
        for data in (X, X.assign(age=X["age"][::-1].to_numpy()))
    )
    assert first._fingerprint != second._fingerprint
    assert first._form == second._form


@pytest.mark.parametrize(
    ("X", "text"),
    [
        ([[1], [2]], "X must have 3 rows, as y has; got 2"),
        ([[1], [1], [1]], "X must vary; column 'x0' is constant: remove it"),
    ],
)
def test_bad_predictors_are_refused(X, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        pp.NegativeBinomialSynthesizer([1, 2, 3], X)
