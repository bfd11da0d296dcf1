"""What must hold of the two-part synthesizer, and with other numbers of any other.

Run with ``python -m pytest test_two_part.py``.
"""

import numpy as np
import pandas as pd
import pytest
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors
from scipy import stats
from two_part import TwoPartSynthesizer

import pseudopost as pp

N, USUAL = 400, 300.0
TRUTH = {"share": 0.65, "mu": 6.0, "sigma": 0.9}
NAMES = [f"P{i}" for i in range(N)]


@pytest.fixture(scope="module")
def y():
    blank = TwoPartSynthesizer(np.zeros(N), USUAL)
    values = blank.draw_dataset(TRUTH, np.random.default_rng(1))
    return pd.Series(values, NAMES)


@pytest.fixture(scope="module")
def synthesizer(y):
    return TwoPartSynthesizer(y, USUAL)


@pytest.fixture(scope="module")
def fit(synthesizer):
    return synthesizer.fit(random_seed=1)


@pytest.fixture(scope="module")
def draws(fit):
    return fit["posterior"].to_dataset().expand_dims(record=1, axis=-1)


def test_parameters_are_recovered(fit, draws):
    assert fit.attrs["not_converged"] == ""
    for name, truth in TRUTH.items():
        assert abs(draws[name].mean() - truth) < 4 * draws[name].std()


def test_log_likelihood_is_that_of_scipy(synthesizer, fit, draws, y):
    paid, log_y = y.to_numpy() > 0, np.log(y.where(y > 0, 1)).to_numpy()
    density = stats.norm.logpdf(log_y, draws["mu"], draws["sigma"])
    expected = np.where(
        paid, np.log(draws["share"]) + density, np.log1p(-draws["share"])
    )
    np.testing.assert_allclose(synthesizer.log_likelihood(fit), expected, rtol=1e-9)


def test_weights_of_zero_leave_the_prior(synthesizer):
    prior = synthesizer.fit(np.zeros(N), draws=2000, random_seed=1)["posterior"]
    for values, known in (
        (prior["share"], stats.uniform()),
        (prior["mu"], stats.norm(np.log(USUAL), 2)),
        (prior["sigma"], stats.lognorm(1)),
    ):
        assert stats.kstest(np.ravel(values), known.cdf).statistic < 0.06


def test_a_weight_of_zero_removes_its_record(synthesizer, y):
    kept = y < y.max()
    weighted = pp.pseudo_mle(synthesizer, kept).values
    without = pp.pseudo_mle(TwoPartSynthesizer(y[kept], USUAL)).values
    for name in TRUTH:
        assert weighted[name] == pytest.approx(without[name], rel=1e-5)


def test_synthetic_files_look_like_the_data(synthesizer, fit, y):
    files = synthesizer.synthesize(fit, n_datasets=200, random_seed=1).to_numpy()
    for statistic in (lambda v: np.mean(v > 0), lambda v: np.log(v[v > 0]).mean()):
        found = np.array([statistic(file) for file in files])
        assert abs(found.mean() - statistic(y)) < 2 * found.std()


def test_synthetic_records_have_nothing_of_their_own(synthesizer, y):
    other = TwoPartSynthesizer(y[::-1], USUAL)
    one, two = (
        s.draw_dataset(TRUTH, np.random.default_rng(2)) for s in (synthesizer, other)
    )
    np.testing.assert_array_equal(one, two)


def test_labels_survive(synthesizer, fit):
    for result in (
        synthesizer.synthesize(fit, 2, random_seed=1),
        synthesizer.record_terms(fit),
    ):
        assert list(result["record"].to_numpy()) == NAMES


def test_the_model_holds_no_data_as_constants(synthesizer):
    graph = ancestors([synthesizer.model.logp()])
    assert all(v.data.size < N for v in graph if isinstance(v, Constant))


@pytest.mark.parametrize("bad", [-1, np.nan, np.inf])
def test_bad_amounts_are_refused(bad):
    with pytest.raises(ValueError, match="amounts of 0 or more"):
        TwoPartSynthesizer([1, bad], USUAL)
