"""The negative binomial model with predictors."""

import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import xarray as xr
from scipy import stats

import pseudopost as pp


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
        "s": rng.uniform(0.5, 2),
        "log_mu": rng.normal(),
        "inverse_phi": rng.uniform(0.2, 2),
        "tau": rng.uniform(0.5, 2),
        "slope": rng.normal(size=2),
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
    eta = values["log_mu"] + (X - X.mean(axis=0)) / X.std(axis=0) @ values["slope"]
    phi = 1 / values["inverse_phi"]
    expected = stats.nbinom.logpmf(synthesizer.y, phi, phi / (phi + np.exp(eta)))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.slow
def test_priors(synthesizer):
    model, rng = synthesizer.model, np.random.default_rng(6)
    logp = model.compile_logp(vars=model.free_RVs, mode="FAST_COMPILE", jacobian=False)
    for _ in range(5):
        values = point(rng)
        half_t = stats.t(3)
        expected = (
            half_t.logpdf([values["s"], values["tau"]]).sum()
            + 2 * np.log(2)
            + stats.norm.logpdf(values["log_mu"], 0, values["s"])
            + stats.norm.logpdf(values["slope"], 0, values["tau"]).sum()
            + stats.halfcauchy.logpdf(values["inverse_phi"], 0, 5)
        )
        unbounded = {
            f"{name}_log__" if name in ("s", "tau", "inverse_phi") else name: (
                np.log(v) if name in ("s", "tau", "inverse_phi") else v
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
