from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import whack_a_mole as wam

import pseudopost as pp
from pseudopost.risk import ball_ends

RNG = np.random.default_rng(1)
GOOD = {"Data": 0.99, "Unweighted": 0.1, "Marginal": 0.01, "Top-coded": 0.6}


def change(values, **changes):
    return pd.Series(
        values | {name.replace("_", "-"): v for name, v in changes.items()}
    )


def summary(**changes):
    """Means and largest risks of two files with the order of P2."""
    rows = {
        "Data": (0.85, 0.99, 0),
        "Unweighted": (0.2, 0.6, 1),
        "Marginal": (0.15, 0.5, 2),
        "Top-coded": (0.8, 0.99, 4),
    } | {name.replace("_", "-"): row for name, row in changes.items()}
    table = pd.DataFrame(rows, index=["mean", "largest", "exactly 0 (%)"]).T
    return pd.concat({1: table, 2: table}, names=["file", "release"])


def long_run(own, outside, z=None):
    return wam.LongRun.of(np.ones(own.shape) if z is None else z, own, outside)


@pytest.fixture
def study():
    """Forty records in two patterns, with a loss, and 20 files of two fits."""
    data = pd.DataFrame({"group": np.repeat(["a", "b"], 20)})
    y = np.append(RNG.integers(5, 200, size=39) * 1000.0, -4000.0)
    z = {name: y * RNG.lognormal(0, 0.3, size=(20, 40)) for name in wam.FITS}
    z |= {"Data": y, "Top-coded": pp.top_code(y, np.quantile(y, 0.94))}
    weights = {"Marginal": pp.pairwise_weights(y, patterns=data["group"], order=1)}
    return SimpleNamespace(
        y=y,
        data=data,
        known=["group"],
        radius=0.2,
        z=z,
        weights=weights,
        model=SimpleNamespace(shift=10_000),
        risk={k: pp.identification_risk(y, v, patterns=data) for k, v in z.items()},
    )


@pytest.fixture
def found(study):
    """Factors of the risk in 100 files of the two fits, and once more of one."""
    low, high = ball_ends(study.y, 0.2)
    found = {}
    for name in (*wam.FITS, "Unweighted again"):
        z = study.y * RNG.lognormal(0, 0.3, size=(100, 40))
        own = (low <= z) & (z <= high)
        outside = RNG.uniform(0.5, 1, size=z.shape).astype(np.float32)
        found[name] = wam.LongRun.of(z, own, outside)
    return found | {"error": np.full(40, 0.01), "widening": 1.3}


def test_long_run_averages_over_files():
    own = RNG.random((100, 3)) < 0.5
    outside = RNG.random((100, 3))
    z = RNG.lognormal(10, 1, size=(100, 3)) - 9_000
    found = long_run(own, outside, z)
    assert found.risk == pytest.approx(
        [np.mean(own[:, i] * outside[:, i]) for i in range(3)]
    )
    assert pytest.approx(own.mean(axis=0)) == found.T
    assert found.outside == pytest.approx(outside.mean(axis=0))
    assert found.most_by_cover == pytest.approx(found.T - found.risk)
    assert found.releases.shape == (5, 3)
    assert found.releases.mean(axis=0) == pytest.approx(found.risk)
    assert found.above[1] == pytest.approx(((own * outside) > 0.5).sum() / 100)
    assert found.above[100] == (found.risk > 0.5).sum()
    assert found.centre == pytest.approx(
        np.median(np.log(z + 10_000), axis=0), abs=0.01
    )
    assert found.spread == pytest.approx(np.log(np.maximum(z + 10_000, 1)).std(axis=0))


def test_every_file_is_dealt_once():
    risk = np.arange(12.0).reshape(6, 2)
    releases = wam.deal(risk, 3)
    assert releases.shape == (2, 2)
    assert releases[0] == pytest.approx(risk[[0, 2, 4]].mean(axis=0))
    assert wam.deal(risk, 1) == pytest.approx(risk)


def test_ten_records(study):
    table = wam.ten_records(study)
    assert table["list"].to_list() == ["riskiest"] * 10 + ["largest"] * 10
    largest = table[table["list"] == "largest"]
    assert largest["value"].to_list() == sorted(study.y, reverse=True)[:10]
    assert (study.risk["Data"][largest["row"]] == largest["Data"]).all()
    assert table["Data"].iloc[0] == study.risk["Data"].max()
    for value, band in zip(table["value"], table["income"], strict=True):
        assert value <= wam.BANDS[band]


def test_risks_of_one_pattern():
    assert wam.one_pattern(0.9944, 0.9888)  # 1 and 2 of 178
    assert not wam.one_pattern(0.9944, 0.9894)
    assert wam.one_pattern(0.5, 0.25, sizes=[4])
    assert not wam.one_pattern(0.5, 0.25, sizes=[2])


def test_real_changes_are_beyond_three_errors():
    parts = pd.DataFrame({"change": [0.4, 0.2, -0.2, -0.4]})
    assert list(wam.really(parts, np.full(4, 0.1))) == [
        "really up",
        "neither",
        "neither",
        "really down",
    ]


def test_reasons_split_the_real_rises():
    before = long_run(np.ones((100, 3)), np.full((100, 3), 0.5))
    after = before._replace(outside=np.array([0.6, 0.5, 0.4]))
    parts = pd.DataFrame(
        {
            "change": [0.3, 0.1, -0.1],
            "own value": [0.4, 0.05, 0],
            "cover": [-0.1, 0.05, -0.1],
            "joint": [0, 0, 0],
        }
    )
    found = {"Unweighted": before, "Marginal": after, "error": np.full(3, 0.02)}
    row = wam.reasons(parts, found)
    assert row["really up (%)"] == pytest.approx(200 / 3)
    assert row["really down (%)"] == pytest.approx(100 / 3)
    assert row["up by more than 0.25"] == 1
    assert row["of the rises: own value"] == pytest.approx(0.45 / 0.4)
    assert row["of the rises: cover"] == pytest.approx(-0.05 / 0.4)
    assert row["largest rise by cover alone"] == pytest.approx(0.1)
    assert row["bound on such a rise"] == pytest.approx(0.5)
    values = wam.reason_values(pd.DataFrame({1: row, 2: row}), 1000)
    assert values["why-bound"] == 0.5
    assert values["chance-up"] == pytest.approx(1.35, abs=0.01)


def test_records_by_the_direction_of_their_change(study, found):
    parts = pd.DataFrame({"change": np.repeat([0.1, -0.1], [10, 30])})
    table = wam.by_direction(study, found, parts)
    up = table.loc["really up"]
    assert up["records"] == 10
    assert up["income"] == np.median(study.y[:10])
    assert up["T, Marginal"] == pytest.approx(found["Marginal"].T[:10].mean())
    values = wam.mover_values(table, {1: study}, {1: found}, {1: parts})
    assert values["up-T-Marginal"] == up["T, Marginal"]
    assert values["up-low"] == np.quantile(study.y[:10], 0.1)


def test_four_records(study):
    parts = pd.DataFrame({"change": np.zeros(40), "cover": np.zeros(40)})
    parts.loc[39, "change"] = 0.5
    parts.loc[3, "change"] = 0.2
    parts.loc[7, "cover"] = 0.1
    chosen = wam.four_records(study, parts)
    assert chosen["largest real rise"] == 39
    assert chosen["largest real rise, no loss"] == 3
    assert chosen["most lost by cover"] == 7
    rose = study.risk["Marginal"] - study.risk["Unweighted"]
    assert rose[chosen["largest yellow rise"]] == rose[study.y >= 0].max()


def price_of(releases):
    rows = {
        (file, name, statistic): (value, value - reach, value + reach)
        for file in (1, 2)
        for name, (value, reach) in releases.items()
        for statistic in wam.STATISTICS
    }
    price = pd.DataFrame(rows, index=["estimate", "low", "high"]).T
    return price.rename_axis(["file", "release", "statistic"])


def test_intervals_that_contain_the_value_of_the_data():
    price = price_of({"Data": (10, 1), "Unweighted": (12, 3), "Marginal": (12, 1)})
    assert wam.inside(price, "Unweighted").to_list() == [2, 2, 2, 2]
    assert wam.inside(price, "Marginal").to_list() == [0, 0, 0, 0]
    price.loc[(1, "Unweighted", "median"), "low"] = 11
    assert wam.inside(price, "Unweighted")["median"] == 1
    estimate = price.pivot_table("estimate", "statistic", "release")
    values = wam.price_values(estimate, price)
    assert values["Data-90-quantile"] == 10
    assert values["inside-median"] == 1


def test_weight_values(study):
    levels = {"mean": 0.1, "sum": 4, "99% quantile": 0.3, "exactly 1 (records)": 1.0}
    table = pd.DataFrame({"confidential": levels, "synthetic": levels}).T
    values = wam.weight_values(study, table, pd.Series([20, 20]))
    assert values["losses"] == 1
    assert values["size-min"] == 20
    x, w = np.log(study.y + 10_000), study.weights["Marginal"]
    spread = np.average((x - np.average(x, weights=w)) ** 2, weights=w)
    assert values["sd-weighted"] == pytest.approx(np.sqrt(spread), rel=0.05)


def test_yellow_records_regress_to_the_mean(study, found):
    study.risk = {"Unweighted": np.zeros(40), "Marginal": np.eye(40)[5]}
    values = wam.yellow_values({1: study}, {1: found})
    assert values["fig-long-before"] == found["Unweighted"].risk[5]
    assert values["fig-long-after"] == found["Marginal"].risk[5]


def test_mean_rises_weigh_files_alike():
    rises = {"pair": {1: np.array([1, 3]), 2: np.array([6])}}
    assert wam.mean_rises(rises) == {"pair": 4}


def test_limit_values():
    sizes = ["1", "5", "20", "100"]
    limit = pd.DataFrame({name: [8.0, 6, 4, 2] for name in wam.FITS}, sizes)
    values = wam.limit_values(limit, 40)
    assert values["limit-20-Marginal"] == 4
    assert values["limit-share-1-Unweighted"] == pytest.approx(20)


def test_values_of_tables():
    overall = summary().loc[1]
    assert wam.release_values(overall, 80)["escape"] == pytest.approx(100)
    figure = pd.DataFrame(
        {
            "lower than before (%)": [50, 60],
            "up by more than 0.25": [3, 4],
            "their risk before, mean": [0.1, 0.2],
            "their risk after, mean": [0.4, 0.5],
        }
    )
    values = wam.figure_values(figure)
    assert (values["fig-up"], values["fig-up-all"]) == (3, 7)
    tens = pd.DataFrame(
        {
            "list": ["riskiest"] * 4,
            "Marginal": [0, 0, 0.1, 0.1],
            "value": [1, 9e4, 1, 1],
        },
        index=pd.Index([1, 1, 2, 2], name="file"),
    )
    means = pd.DataFrame(0.5, index=["riskiest", "largest"], columns=wam.RELEASES)
    values = wam.ten_values(tens, means)
    assert values["small-ten"] == 1.5
    assert (values["pairs"], values["agree"]) == (7, 0)


def test_four_values():
    rows = ["income", "weight", "part by cover"]
    rows += [f"risk, 20 files, {name}" for name in wam.FITS]
    rows += [f"long-run risk, {name}" for name in wam.FITS]
    four = pd.DataFrame(np.arange(28).reshape(7, 4), index=rows, columns=list("abcd"))
    values = wam.four_values(four)
    assert (values["real-weight"], values["cover-by-cover"]) == (7, 10)
    assert (values["yellow-20-before"], values["gain-long-after"]) == (12, 25)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (-5000, "-5K"), (200_000, "200K"), (1_000_000, "1M")]
)
def test_thousands(value, text):
    assert wam.thousands(value) == text


def test_weights_are_one_minus_risk():
    y, signed = np.array([-1.0, 5, 6]), np.array([0, 0.7, 0.8])
    absolute = np.array([0.9, 0.7, 0.8])
    assert wam.weights_are_one_minus_risk(1 - signed, y, signed, absolute)[1]
    assert not wam.weights_are_one_minus_risk(1 - signed / 2, y, signed, absolute)[1]
    assert not wam.weights_are_one_minus_risk(1 - signed, y, signed, absolute / 2)[1]


def test_toy_weight():
    assert wam.weight_of_a_risk_of_seven_tenths() == ("0.3", True)


def test_weights_in_the_fit():
    weights = np.array([0.2, 0.4])
    small = pd.DataFrame({"weighted": [1.0, 2], "unweighted": [1, 3]})
    assert wam.weights_are_in_the_fit(weights, weights, small)[1]
    assert not wam.weights_are_in_the_fit(np.ones(2), weights, small)[1]
    assert not wam.weights_are_in_the_fit(weights, weights, small * 0)[1]
    assert wam.weights_are_plugged_in(weights, weights, ["pi", "beta"])[1]
    assert not wam.weights_are_plugged_in(weights, weights, ["pi", "weight"])[1]
    assert not wam.weights_are_plugged_in(np.ones(2), weights, ["pi"])[1]


def test_anti_prior():
    small = pd.DataFrame({"weighted": [1.0, 2], "with anti-prior": [1.0, 2]})
    assert wam.anti_prior_is_the_same(small)[1]
    small.loc[1, "weighted"] = 2.1
    assert not wam.anti_prior_is_the_same(small)[1]


def test_settings():
    files = RNG.random((20, 3))
    assert wam.files_repeat(files, files.copy())[1]
    assert not wam.files_repeat(files, files + 1)[1]
    assert wam.patterns_have_company(pd.Series([2] * 40))[1]
    assert not wam.patterns_have_company(pd.Series([2] * 39))[1]
    assert not wam.patterns_have_company(pd.Series([2] * 39 + [1]))[1]
    assert wam.twenty_files([files, files])[1]
    assert not wam.twenty_files([files, files[:5]])[1]
    assert wam.four_releases(dict.fromkeys(wam.RELEASES))[1]
    assert not wam.four_releases({"Data": 0})[1]
    assert wam.six_percent_changed([5.9, 6.1]) == ("6.0% changed", True)
    assert not wam.six_percent_changed([4.9, 6.1])[1]
    assert not wam.six_percent_changed([5.9, 7.1])[1]


def test_rise_and_limit():
    before, after = np.array([0.1, 0.2, 0.3]), np.array([0.4, 0.6, 0.4])
    counted = {"up by more than 0.25": 2, "above 0.5 after": 1}
    assert wam.rise_and_limit(counted, before, after)[1]
    assert not wam.rise_and_limit(counted | {"above 0.5 after": 2}, before, after)[1]
    assert not wam.rise_and_limit(counted, before, before)[1]


def test_order_of_the_means():
    assert wam.means_in_order(summary()) == (
        "Data 0.85, Unweighted 0.20, Marginal 0.15, Top-coded 0.80",
        True,
    )
    assert not wam.means_in_order(summary(Marginal=(0.21, 0.5, 2)))[1]
    assert not wam.means_in_order(summary(Top_coded=(0.1, 0.5, 2)))[1]
    one_file = summary()
    one_file.loc[(2, "Marginal"), "mean"] = 0.3
    assert not wam.means_in_order(one_file)[1]


def test_figure_5():
    def holds(changed=6.0, **releases):
        table = summary(**releases)
        n_files = len(table.groupby("file"))
        return wam.violins_as_in_figure_5(table, [changed] * n_files)[1]

    zeros = {"Top_coded": (0.8, 0.99, 2.5)}
    assert holds(**zeros)
    assert not holds(changed=7.0, **zeros)
    assert not holds(Marginal=(0.21, 0.5, 2), **zeros)
    assert not holds(Marginal=(0.15, 0.995, 2), **zeros)


def test_mean_risk_without_weights():
    assert wam.mean_risk_near_a_quarter(summary()) == ("0.20", True)
    assert not wam.mean_risk_near_a_quarter(summary(Unweighted=(0.36, 1, 1)))[1]


def test_top_coding_protects_the_top_only():
    y = np.array([10.0, 20, 78, 95, 200, 300])
    coded = pp.top_code(y, 80)
    confidential = pp.identification_risk(y, y)
    risk = pp.identification_risk(y, coded)
    assert wam.top_coding_protects_the_top_only(y, coded, confidential, risk)
    assert not wam.top_coding_protects_the_top_only(
        y, coded, confidential, confidential
    )
    assert not wam.top_coding_protects_the_top_only(y, coded, confidential, risk * 0)


def test_long_run_risks_of_the_ten(found):
    index = pd.Index([1, 1, 2], name="file")
    tens = pd.DataFrame({"list": ["a", "b", "a"], "row": [3, 4, 5]}, index=index)
    means = wam.long_run_of_ten(tens, {1: found, 2: found})
    risk = found["Marginal"].risk
    assert means.loc["a", "Marginal"] == pytest.approx((risk[3] + risk[5]) / 2)
    assert means.loc["b", "Marginal"] == risk[4]


def test_tables_2_and_3():
    falls, rises = (
        {"Unweighted": 0.1, "Marginal": 0.05},
        {"Unweighted": 0.1, "Marginal": 0.2},
    )
    assert wam.table_2(change(GOOD), falls, [True, True])[1]
    assert not wam.table_2(change(GOOD), rises, [True, True])[1]
    assert not wam.table_2(change(GOOD), falls, [True, False])[1]
    assert not wam.table_2(change(GOOD, Unweighted=0.21), falls, [True])[1]
    assert not wam.table_2(change(GOOD, Data=0.97), falls, [True])[1]
    assert wam.table_3(change(GOOD, Data=0.96), falls, [10, 8])[1]
    assert not wam.table_3(change(GOOD), rises, [10, 8])[1]
    assert not wam.table_3(change(GOOD), falls, [10, 7])[1]
    assert not wam.table_3(change(GOOD, Unweighted=0.16), falls, [10])[1]
    assert not wam.table_3(change(GOOD, Data=0.94), falls, [10])[1]
    text, _ = wam.table_2(change(GOOD), falls, [True])
    assert text == (
        "means Data 0.990, Unweighted 0.100, Marginal 0.010, Top-coded 0.600; "
        "in the long run 0.100, then 0.050"
    )


def test_the_riskiest():
    assert wam.synthesis_lowers_the_riskiest(change(GOOD))[1]
    assert not wam.synthesis_lowers_the_riskiest(change(GOOD, Unweighted=0.3))[1]
    assert not wam.synthesis_lowers_the_riskiest(change(GOOD, Data=0.9))[1]
    fall = {"Unweighted": 0.02, "Marginal": 0.01}
    assert wam.weights_lower_the_riskiest(change(GOOD), fall)[1]
    assert not wam.weights_lower_the_riskiest(change(GOOD, Marginal=0.06), fall)[1]
    none = {"Unweighted": 0.02, "Marginal": 0.016}
    assert not wam.weights_lower_the_riskiest(change(GOOD), none)[1]


def test_top_coding_leaves_the_rest():
    assert wam.top_coding_leaves_the_rest([6.0], [0.8], [True])[1]
    assert not wam.top_coding_leaves_the_rest([8.0], [0.8], [True])[1]
    assert not wam.top_coding_leaves_the_rest([6.0], [0.6], [True])[1]
    assert not wam.top_coding_leaves_the_rest([6.0], [0.8], [False])[1]


def test_figure_6():
    chance = [48, 49]
    assert wam.scatter_as_in_figure_6([51, 60], chance, 6, 1)[1]
    assert not wam.scatter_as_in_figure_6([49, 60], chance, 6, 1)[1]
    assert not wam.scatter_as_in_figure_6([51, 60], [52, 49], 6, 1)[1]
    assert not wam.scatter_as_in_figure_6([51, 60], chance, 5, 1)[1]
    assert not wam.scatter_as_in_figure_6([51, 60], chance, 6, 0.9)[1]


def test_lower_risks_by_chance():
    first = SimpleNamespace(releases=np.array([[0.1, 0.2], [0.3, 0.4]]))
    again = SimpleNamespace(releases=np.array([[0.1, 0.1], [0.2, 0.5]]))
    found = {1: {"Unweighted": first, "Unweighted again": again}}
    assert wam.lower_by_chance(found) == [50]


def test_whack_a_mole_must_be_more_than_chance():
    assert wam.rises_are_more_than_chance(60, 50, -0.2)[1]
    assert wam.rises_are_more_than_chance(40, 50, 0.6)[1]
    assert not wam.rises_are_more_than_chance(40, 50, 0.4)[1]


def test_the_limit():
    assert wam.limit_is_broken({"Marginal": 1.0, "Unweighted": 2.0}, 1)[1]
    assert not wam.limit_is_broken({"Marginal": 1.0, "Unweighted": 2.0}, 0)[1]
    assert not wam.limit_is_broken({"Marginal": 0.9, "Unweighted": 2.0}, 1)[1]


def test_utility():
    estimate = pd.DataFrame(
        {"Data": 100.0, "Unweighted": 104.0, "Marginal": 110.0}, index=wam.STATISTICS
    )
    text, holds = wam.utility_without_weights(estimate, [2, 2, 1, 2], 3)
    assert holds
    assert text.endswith("coefficient 4.0%; in the interval in 2, 2, 1, 2 of 3 files")
    one = estimate.assign(Unweighted=[104, 104, 104, 106])
    assert wam.utility_without_weights(one, [2] * 4, 3)[1]
    worse = estimate.assign(Unweighted=[104, 104, 104, 109])
    assert not wam.utility_without_weights(worse, [2] * 4, 3)[1]
    far = estimate.assign(Unweighted=111, Marginal=150)
    assert not wam.utility_without_weights(far, [2] * 4, 3)[1]
    shifted = estimate.assign(Marginal=[100, 110, 90, 100])
    assert wam.narrower_to_the_right(shifted)[1]
    assert not wam.narrower_to_the_right(estimate)[1]
    assert not wam.narrower_to_the_right(shifted.assign(Marginal=90))[1]


def test_the_error_of_a_change_counts_chains_that_differ():
    rng = np.random.default_rng(3)
    change = rng.normal(size=(100, 4000)) * np.array([1, 3]).repeat(2000)
    error, wider = wam.error_of(change)
    assert wider == pytest.approx(1, abs=0.03)
    np.testing.assert_allclose(error, wider * change.std(axis=0) / 10)
    apart = change + rng.normal(size=(5, 1)).repeat(20, axis=0)
    assert wam.error_of(apart)[1] > 2
