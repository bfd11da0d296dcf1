import attack_it as chapter
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pseudopost as pp

Y = np.random.default_rng(1).poisson(20, size=80)
NAMES = ["Unweighted", "LW", "LW_final", "CW", "Ceiling"]


@pytest.fixture(scope="module")
def pairs():
    return {
        name: chapter.pair_of(Y, Y.max(), name, size=200, ceiling=3.0) for name in NAMES
    }


def test_pair_is_made_of_the_exact_pseudo_posteriors(pairs):
    pair = pairs["Unweighted"]
    rest = np.delete(Y, Y.argmax())
    assert pair.shape == (0.5 + Y.sum(), 0.5 + rest.sum())
    assert pair.rate == pytest.approx((80.001, 79.001))
    assert pair.weight == 1
    for kind, weights in (("CW", pp.count_weights(Y)), ("CW", pp.count_weights(rest))):
        file = Y if len(weights) == 80 else rest
        which = 0 if len(weights) == 80 else 1
        assert pairs[kind].shape[which] == pytest.approx(0.5 + weights @ file)
        assert pairs[kind].rate[which] == pytest.approx(0.001 + weights.sum())
    assert pairs["LW"].weight == 0


def test_bounds_are_expected_maxima_over_draws():
    rng = np.random.default_rng(2)
    values, counts = np.unique(Y, return_counts=True)
    found = chapter.expected_bounds(values, counts, size=100)
    mu = rng.gamma(0.5 + Y.sum(), 1 / 80.001, size=(2000, 100, 1))
    largest = np.abs(stats.poisson.logpmf(values, mu)).max(axis=1)
    assert np.abs(found - largest.mean(axis=0)).max() < 0.03


def test_roc_and_advantage_of_two_normals():
    share = (np.arange(20_000) + 0.5) / 20_000
    for d in (0.0, 0.5, 2.0):
        inside, outside = (
            d * stats.norm.ppf(share, mean) - d**2 / 2 for mean in (d, 0.0)
        )
        expected = 2 * stats.norm.cdf(d / 2) - 1
        assert chapter.advantage(inside, outside) == pytest.approx(expected, abs=2e-3)
        false, true = chapter.roc(inside, outside)
        assert (false[0], true[0], false[-1], true[-1]) == (1, 1, 0, 0)
        assert (np.diff(false) <= 0).all()
        assert (np.diff(true) <= 0).all()


def test_epsilon_with_exceptions_is_that_of_the_definition(pairs):
    pair = pairs["Unweighted"]
    epsilon = chapter.epsilon_at(pair, delta=0.01)
    mu = np.linspace(12, 30, 400_001)
    densities = [
        stats.gamma.pdf(mu, shape, scale=1 / rate)
        for shape, rate in zip(pair.shape, pair.rate, strict=True)
    ]
    excess = [
        np.trapezoid(np.maximum(0, a - np.exp(epsilon) * b), mu)
        for a, b in (densities, densities[::-1])
    ]
    assert max(excess) == pytest.approx(0.01, rel=0.01)
    assert chapter.epsilon_at(pair, delta=0.9) == 0


def test_totals_of_files_have_their_exact_distribution(pairs):
    pair = pairs["CW"]
    totals = np.array([[1500], [1700]])
    mu = np.random.default_rng(3).gamma(
        np.array(pair.shape)[:, None], 1 / np.array(pair.rate)[:, None], (2, 200_000)
    )
    simulated = [stats.poisson.pmf(totals, 80 * draws).mean(axis=1) for draws in mu]
    found = pair.log_ratio_of_totals(totals, 80)
    assert found == pytest.approx(np.log(simulated[0] / simulated[1]), abs=0.02)
    two = pair.log_ratio_of_totals(np.array([[1500, 1700]]), 80)
    assert two == pytest.approx(found.sum())


def test_what_an_attack_proves_is_below_the_truth(pairs):
    rng = np.random.default_rng(4)
    for pair in pairs.values():
        with_it = pair.log_ratio(pair.quantiles(0))
        without = pair.log_ratio(pair.quantiles(1))
        truth = max(np.abs(with_it).max(), np.abs(without).max())
        assert chapter.audited(pair, 4000, rng, delta=0) <= truth
    far = chapter.Pair((100.0, 4000.0), (1.0, 20.0), 1.0, 9.0)
    assert chapter.audited(far, 4000, rng, delta=0) > 5


def test_figures_and_numbers(pairs):
    ratios = {
        name: [pair.log_ratio(pair.quantiles(which)) for which in (0, 1)]
        for name, pair in pairs.items()
    }
    curves = {name: chapter.roc(*both) for name, both in ratios.items()}
    found = chapter.numbers_of_roc(curves, pairs)
    assert found["advantage-LW"] == pytest.approx(chapter.advantage(*ratios["LW"]))
    chapter.show_roc(curves, {name: pair.epsilon for name, pair in pairs.items()})
    canaries = pd.DataFrame(
        {"LW": [0.2, 0.3], "Unweighted": [0.1, 0.4]}, index=[30, 40]
    )
    canaries = pd.concat(
        [canaries, canaries.rename(columns={"LW": "LW_final"})], axis=1
    )
    canaries = canaries.loc[:, ~canaries.columns.duplicated()].set_axis([160, 180])
    numbers = chapter.numbers_of_canaries(canaries)
    assert numbers["canary-LW"] == 0.3
    assert (numbers["canary-count"], numbers["canary-low"]) == (180, 160)
    assert numbers["canary-high"] == 160
    chapter.show_canaries(canaries)
    releases = pd.DataFrame(
        {
            "release": ["draws", "files"] * 2,
            "weights": "LW",
            "m": [1, 1, 20, 20],
            "advantage": [0.2, 0.1, 0.6, 0.4],
        }
    )
    assert chapter.numbers_of_releases(releases)["files-LW-20"] == 0.4
    chapter.show_releases(releases)
    between = pd.DataFrame(
        {
            "stated": [20.0, 9.0],
            "largest loss": [2.0, 3.0],
            "exact": [1.0, 2.0],
            "attack on a draw": [0.5, 0.0],
        },
        index=["Unweighted", "LW"],
    )
    numbers = chapter.numbers_of_between(between)
    assert numbers["least-ratio"] == 3
    assert numbers["attack-LW"] == 0
    chapter.show_between({300: between, 148: between})
    files = pd.DataFrame({name: [0.1, 0.2, 0.3] for name in NAMES}).assign(
        LW=[0.05, 0.3, 0.4], lead=[0.1, 2.0, 3.0]
    )
    of_files = chapter.numbers_of_files(files, NAMES)
    assert (of_files["files"], of_files["files-worse-LW"]) == (3, 2)
    assert of_files["lead-worse"] == 2
    assert of_files["files-worse-CW"] == 0
    chapter.show_files(files, NAMES)
    plt.close("all")


def test_riskiest_record_and_its_lead():
    value, lead = chapter.riskiest_of(Y, size=200)
    values, counts = np.unique(Y, return_counts=True)
    f = pd.Series(chapter.expected_bounds(values, counts, 200), values)
    each = f[Y].sort_values()
    assert value == each.index[-1]
    assert lead == pytest.approx(each.iloc[-1] - each.iloc[-2])
    assert chapter.riskiest_of(np.r_[Y, value], size=200)[1] == 0


def test_advantage_at_zero_is_the_advantage_where_ratios_are_exact(pairs):
    for pair in pairs.values():
        ratios = [pair.log_ratio(pair.quantiles(which)) for which in (0, 1)]
        expected = chapter.advantage(*ratios)
        assert chapter.advantage_at_zero(*ratios) == pytest.approx(expected, abs=1e-3)


def test_canaries_are_rich_or_in_debt_and_have_real_predictors():
    households = pp.datasets.consumer_expenditure(500, random_seed=1)
    found = chapter.strange_households(households, 40, np.random.default_rng(1))
    assert found["income"].iloc[:20].between(5e5, 5e7).all()
    assert found["income"].iloc[20:].between(-9_999, -5_000).all()
    there = {tuple(row) for row in households.drop(columns="income").to_numpy()}
    assert all(tuple(row) in there for row in found.drop(columns="income").to_numpy())


def test_weights_of_a_run_are_those_of_the_file_that_is_there():
    rng = np.random.default_rng(3)
    y, codes = rng.lognormal(10, 1, 60), rng.integers(3, size=60)
    there = rng.random(60) < 0.7
    found = chapter.weights_in_run(y, codes, there, 2)
    settings = {"radius": 0.2, "order": 2, "ball": "signed", "alone": 1.0}
    expected = pp.pairwise_weights(y[there], None, patterns=codes[there], **settings)
    np.testing.assert_allclose(found[there], expected)
    assert (found[~there] == 0).all()
    assert (chapter.weights_in_run(y, codes, there, 0) == there).all()


def test_weight_of_a_canary_is_that_without_the_others():
    rng = np.random.default_rng(4)
    y, codes = rng.lognormal(10, 1, 60), rng.integers(3, size=60)
    households = np.arange(60) < 50
    found = chapter.weights_if_there(y, codes, households, np.arange(50, 60), 1)
    for canary, weight in zip(range(50, 60), found, strict=True):
        there = households.copy()
        there[canary] = True
        expected = chapter.weights_in_run(y, codes, there, 1)[canary]
        assert weight == pytest.approx(expected)


def test_scores_are_log_ratios_of_two_posteriors():
    # A normal mean: without the record N(0, 1), with it, at 3, N(1.5, 1/2).
    rng = np.random.default_rng(5)
    without, with_it = rng.normal(0, 1, 100_000), rng.normal(1.5, 0.5**0.5, 50)
    found = chapter.scores(
        stats.norm.logpdf(3.0, with_it)[:, None],
        stats.norm.logpdf(3.0, without)[:, None],
        np.ones(1),
    )
    expected = stats.norm.logpdf(with_it, 1.5, 0.5**0.5) - stats.norm.logpdf(with_it)
    np.testing.assert_allclose(found[:, 0], expected, atol=0.05)
    nothing = chapter.scores(found, found[:9], np.zeros(1))
    np.testing.assert_allclose(nothing, 0, atol=1e-12)


def test_guesses_are_about_the_ends():
    score, coins = np.arange(8.0), np.array([0, 1, 0, 1, 0, 1, 1, 0], dtype=bool)
    # "Out" for 0 and 1, "in" for 6 and 7.
    assert chapter.guesses(score, coins) == (2, 4)
    assert chapter.guesses(score, coins, share=1) == (4, 8)
    assert chapter.guesses(score, coins, share=0.25) == (1, 2)


def test_table_of_a_run_counts_by_kind():
    coins = np.array([1, 0, 1, 0, 1, 0, 1, 0], dtype=bool)
    # Right about the rich in every draw, always wrong about the others.
    sign = np.r_[np.ones(4), -np.ones(4)]
    scores = {"Unweighted": np.tile(np.where(coins, 1.0, -1.0) * sign, (40, 1))}
    table = chapter.table_of_run(scores, coins)
    found = table.loc["Unweighted"].loc["20 draws"]
    assert found["guesses"].tolist() == [2, 2, 4]
    assert found.loc[["rich", "losses"], "right"].tolist() == [2, 0]
    assert found.loc["all", "epsilon above"] == 0
    assert chapter.numbers_of_run(table)["run-Unweighted-20-rich-right"] == 2
