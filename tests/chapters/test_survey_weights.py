import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import survey_weights as chapter
import xarray as xr
from scipy import stats

import pseudopost as pp


@pytest.fixture(scope="module")
def data():
    return chapter.quarter()


def many(icc, records=20, **settings):
    """Draw one very large sample, so that its means are nearly expectations."""
    rng = np.random.default_rng(1)
    return chapter.sample(rng, icc, clusters=5000, records=records, **settings)


def test_survey_weights_lead_back_to_the_population():
    y, w, cluster, stratum = many(0.1, slope=0.2)
    assert (len(y), cluster.max() + 1, stratum.max()) == (1_000_000, 50_000, 9)
    assert w.mean() == pytest.approx(1)
    mean = w @ y / w.sum()
    error = pp.design_covariance(chapter.influence(y, w), cluster, stratum) ** 0.5
    assert abs(mean) < 4 * error
    assert w @ y**2 / w.sum() == pytest.approx(1, abs=0.01)
    # Without them the mean is off by the slope times the variance within strata.
    assert y.mean() == pytest.approx(0.2 * 0.9, abs=4 * error)


def test_a_sample_has_the_correlation_that_it_is_asked_for():
    y, _, cluster, stratum = many(0.15, slope=0)
    inside = y - chapter.MEANS[stratum]
    table = inside.reshape(-1, 20)
    within = table.var(axis=1, ddof=1).mean()
    between = table.mean(axis=1).var(ddof=1) - within / 20
    assert between == pytest.approx(0.15, abs=0.01)
    assert within == pytest.approx(0.75, abs=0.01)
    assert (np.diff(cluster) >= 0).all()
    assert chapter.MEANS.var() == pytest.approx(0.1)


def test_coverage_and_targets_of_made_up_samples():
    table = pd.DataFrame(
        {
            f"{kind}/{name}": values
            for kind in chapter.KINDS
            for name, values in {
                "estimate": [0.0, 0.1, 3.0, 3.1],
                "total": [1.0, 1.0, 3.0, 3.0],
                "naive": 0.04,
                "independent": 0.06,
                "clusters": 10.0,
                "design": 1.0,
            }.items()
        }
    ).assign(**{"none/plain": [3.0, 0.0, 9.0, 9.0], "none/unweighted": 0.1})
    own = (0.1 + 9 + 9.3) / 8
    assert chapter.own_target(table, "value") == pytest.approx(own)
    found = chapter.coverage_of({0: table, 0.2: table})
    at = found[found["icc"] == 0].set_index(["kind", "method", "target"])["coverage"]
    assert at["none", "unweighted", "truth"] == 0.25
    assert at["value", "naive", "truth"] == 0.25
    assert at["value", "independent", "truth"] == 0.5
    assert at["value", "clusters", "truth"] == 1
    assert at["value", "design", "truth"] == 0.5
    assert at["value", "design", "own"] == 0.5
    assert ("value", "unweighted", "truth") not in at.index
    numbers = chapter.numbers_of_coverage(found, {0: table, 0.2: table})
    assert numbers["cover-value-naive-0.2"] == 25
    assert numbers["own-low-product"] == numbers["own-high-product"] == 50
    assert numbers["target-product"] == pytest.approx(own)
    assert numbers["target-plain"] == 5.25
    assert numbers["target-share"] == pytest.approx(100 * own / 5.25)
    # 30 degrees of freedom.
    assert numbers["cover-t"] == pytest.approx(94.07, abs=0.01)
    chapter.show_coverage(found)
    plt.close("all")


def test_the_quarter_is_the_file(data):
    assert len(data.y) == 6426
    assert data.w.mean() == pytest.approx(1)
    assert data.w.max() == pytest.approx(4.374, abs=1e-3)
    assert (data.y.min(), data.y.max()) == (0, 1156)
    assert len(set(data.clusters)) == 73
    assert len(set(data.clusters[data.certain])) == 23
    regions = pd.Series(data.regions).groupby(data.clusters).nunique()
    assert (regions == 1).all()
    assert len(set(data.clusters[data.regions == 0])) == 1


def test_standard_errors_are_those_of_the_weighted_mean(data):
    y, w = data.y.astype(float), data.w
    values = chapter.influence(y, w)
    assert values.sum() == pytest.approx(0, abs=1e-10)
    found = chapter.standard_errors(values, data)
    n, mean = len(y), w @ y / w.sum()
    by_hand = np.sum((w * (y - mean)) ** 2) / n**2 * n / (n - 1)
    assert found["independent"] == pytest.approx(by_hand**0.5, rel=1e-9)
    totals = pd.Series(values).groupby(data.clusters).sum()
    by_hand = 73 * totals.var(ddof=1)
    assert found["clusters"] == pytest.approx(by_hand**0.5, rel=1e-9)
    assert found["independent"] < found["certain"] < found["regions"]
    # An influence is a derivative: the mean without a record, to first order.
    i = int(w.argmax())
    without = np.delete(w, i) @ np.delete(y, i) / np.delete(w, i).sum()
    assert mean - without == pytest.approx(values[i], rel=0.01)


def test_log_likelihoods_are_those_of_the_best_parameters():
    rng = np.random.default_rng(6)
    y, weight = rng.negative_binomial(2, 0.1, size=300), rng.uniform(0.2, 3, size=300)
    found = weight @ chapter.negative_binomial(y, weight)
    mu = weight @ y / weight.sum()
    grid = np.exp(np.linspace(-2, 3, 4001))[:, None]
    every = stats.nbinom.logpmf(y, grid, grid / (grid + mu)) @ weight
    assert 0 <= found - every.max() < 1e-4


def test_jackknife_is_near_linearisation(data):
    kept, remade = chapter.jackknife(data, 1e9)
    expected = chapter.standard_errors(chapter.influence(data.y, data.w), data)
    assert kept == remade
    assert kept == pytest.approx(expected["clusters"], rel=0.02)
    kept, remade = chapter.jackknife(data, 8)
    assert 1 < remade / kept < 1.1


def test_users_combine_files_by_both_rules():
    rng = np.random.default_rng(4)
    n, m, spread = 400, 500, 0.3
    w = np.ones(n)
    files = 5 + spread * rng.normal(size=(m, 1)) + rng.normal(size=(m, n))
    found = chapter.as_a_user(files, w, np.arange(n))
    assert found["mean"] == pytest.approx(5, abs=4 * found["error"])
    within, between = 1 / n, spread**2 + 1 / n
    partial = (within + between / m) ** 0.5
    assert found["partially synthetic"] == pytest.approx(partial, rel=0.02)
    assert abs(found["fully synthetic"] - spread) < 4 * found["its error"]
    assert found["its error"] == pytest.approx(spread / (2 * m) ** 0.5, rel=0.1)


def test_files_come_from_the_draws():
    draws = xr.Dataset(
        {name: (("chain", "draw"), [[v, v]]) for name, v in (("mu", 40), ("phi", 2))}
    )
    files = chapter.files_of(draws, 50_000, 2, np.random.default_rng(5))
    assert files.shape == (2, 50_000)
    assert files.mean() == pytest.approx(40, rel=0.02)
    assert files.var() == pytest.approx(40 + 40**2 / 2, rel=0.05)


def test_share_within():
    assert chapter.share_within(1) == pytest.approx(95)
    assert chapter.share_within(0.5) == pytest.approx(67.3, abs=0.1)


def test_figures_and_numbers(data):
    y, w = data.y[:100], data.w[:100].copy()
    w[7], plain, weighted = 9.0, np.linspace(1, 5, 100), np.linspace(9, 1, 100)
    found = chapter.numbers_of_bounds(y, w, plain, weighted)
    assert found["richest"] == y[99]
    assert found["heaviest"] == y[7]
    assert found["heaviest-own"] == pytest.approx(weighted[7] / 9)
    assert found["next"] == y[0]
    table = pd.DataFrame({"a b": [1.0, 2.0]}, index=["x", "z"])
    assert chapter.numbers_of_fits(table, ["z-a-b"]) == {"z-a-b": 2.0}
    chapter.show_bounds(y, w, plain, weighted)
    names = ["independent", "clusters", "regions", "certain"]
    chapter.show_quarter(w, pd.Series(1.0, names))
    prices = pd.DataFrame(
        {
            "way": ["trim", "ceiling", "scalar", "scalar"],
            "epsilon": [9.0, 8.0, 7.0, 6.0],
            "shift": [0.1, -1.0, 0.0, 0.0],
            "shift error": 0.1,
            "noise": [1.0, 1.0, 1.5, 2.0],
        }
    )
    chapter.show_prices(prices, 2.0)
    plt.close("all")
