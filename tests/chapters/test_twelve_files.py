"""What the chapter on twelve simulated files computes, and how it judges."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import simulation_runs
import twelve_files as chapter
from judged import set_to, verdicts
from scipy import stats
from simulated import failing, file_of_twenty, places_table, study_of, table_of_ten

SEEDS = (1, 2, 3, 4)
RISKY = (1, 2, 3)
ALL = SEEDS, SEEDS
WITH_RISK = RISKY, RISKY
FINDINGS = [
    "unweighted is closest, 0 to 0.5",
    "unweighted is closest, 0.5 to 5",
    "vector is closer than scalar, 0 to 0.5",
    "vector is closer than scalar, 0.5 to 5",
    "vector raises the peak at 0.1",
    "vector raises the peak at 1",
    "vector thins the upper tail",
    "scalar lowers both peaks",
    "scalar spreads the records",
    "scalar spreads safe records more than vector",
    "risk is higher off the modes",
    "vector pulls in the largest 1%",
    "vector halves the largest 1%, unweighted keeps it",
    "both lower the largest risk",
    "ten riskiest: vector 0 for six or more",
    "ten riskiest: vector below 0.15",
    "ten riskiest: vector < scalar < unweighted",
    "ten largest: vector never above unweighted",
    "ten largest: vector mean below scalar mean",
    "ten largest: vector mean at most half of unweighted",
    "ten largest: higher weight, higher risk",
    "risks below 0.05: more under vector than unweighted",
    "risks below 0.05: more under vector than scalar",
]


def measures(**changes):
    """Measures of utility under which every finding about densities holds."""
    unweighted = {
        "density error, low": 1.0,
        "density error, high": 1.0,
        "peak ratio, low": 0.95,
        "peak ratio, high": 0.95,
        "sd of the log ratio": 0.3,
        "the same, safer half": 0.2,
        "share above the 97.5% quantile": 0.025,
        "correlation with the data, log": 0.95,
        simulation_runs.RATIO: 0.9,
    }
    vector = unweighted | {
        "density error, low": 2.0,
        "density error, high": 2.0,
        "peak ratio, low": 1.1,
        "peak ratio, high": 1.1,
        "sd of the log ratio": 0.5,
        "share above the 97.5% quantile": 0.02,
        "correlation with the data, log": 0.8,
        simulation_runs.RATIO: 0.4,
    }
    scalar = vector | {
        "density error, low": 3.0,
        "density error, high": 3.0,
        "peak ratio, low": 0.9,
        "peak ratio, high": 0.9,
        "the same, safer half": 0.4,
    }
    utility = {"Unweighted": unweighted, "Vector": vector, "Scalar": scalar}
    for name, change in changes.items():
        utility[name] = utility[name] | change
    return utility


def test_rank_correlation_needs_variation():
    a, b = np.array([1.0, 2.0, 4.0, 3.0]), np.array([2.0, 5.0, 3.0, 9.0])
    assert chapter.rank_correlation(a, b) == stats.spearmanr(a, b).statistic
    assert np.isnan(chapter.rank_correlation(a, np.ones(4)))


def test_risks_by_file():
    s = study_of(*file_of_twenty())
    table = chapter.risks_by_file({7: s})
    assert table.loc[7].round(9).tolist() == [
        0.9,
        0.55,
        0.061,
        0.061,
        0.2,
        0.2,
        0.2,
        0.35,
    ]


def test_every_finding_can_hold():
    y, risk, weights = file_of_twenty()
    risk["Vector"][:5] = 0.01  # at least one more risk below 0.05 than under the scalar
    s = study_of(y, risk, weights, measures())
    found = chapter.findings(s, "weighted")
    assert list(found) == FINDINGS
    assert all(holds is True for holds in found.values())


@pytest.mark.parametrize(
    ("finding", "name", "change"),
    [
        ("unweighted is closest, 0 to 0.5", "Unweighted", {"density error, low": 2.5}),
        ("unweighted is closest, 0.5 to 5", "Scalar", {"density error, high": 0.5}),
        ("vector is closer than scalar, 0 to 0.5", "Vector", {"density error, low": 4}),
        (
            "vector is closer than scalar, 0.5 to 5",
            "Scalar",
            {"density error, high": 2},
        ),
        ("vector raises the peak at 0.1", "Vector", {"peak ratio, low": 0.99}),
        ("vector raises the peak at 1", "Vector", {"peak ratio, high": 0.99}),
        (
            "vector thins the upper tail",
            "Vector",
            {"share above the 97.5% quantile": 0.026},
        ),
        ("scalar lowers both peaks", "Scalar", {"peak ratio, high": 1.01}),
    ],
)
def test_findings_on_densities(finding, name, change):
    assert chapter.findings_on_densities(measures())[finding]
    assert not chapter.findings_on_densities(measures(**{name: change}))[finding]


@pytest.mark.parametrize(
    ("finding", "name", "change"),
    [
        ("scalar spreads the records", "Scalar", {"sd of the log ratio": 0.3}),
        (
            "scalar spreads safe records more than vector",
            "Vector",
            {"the same, safer half": 0.5},
        ),
        ("vector pulls in the largest 1%", "Vector", {simulation_runs.RATIO: 0.9}),
        (
            "vector halves the largest 1%, unweighted keeps it",
            "Vector",
            {simulation_runs.RATIO: 0.6},
        ),
        (
            "vector halves the largest 1%, unweighted keeps it",
            "Unweighted",
            {simulation_runs.RATIO: 0.7},
        ),
    ],
)
def test_findings_on_moves(finding, name, change):
    y, risk, _ = file_of_twenty()
    assert chapter.findings_on_records(y, risk, measures())[finding]
    changed = measures(**{name: change})
    assert not chapter.findings_on_records(y, risk, changed)[finding]


def test_findings_on_where_the_risk_is():
    y, risk, _ = file_of_twenty()
    turned = risk | {"Unweighted": risk["Unweighted"][::-1]}
    found = chapter.findings_on_records(y, turned, measures())
    assert not found["risk is higher off the modes"]
    higher = risk | {"Scalar": np.full(20, 0.95)}
    found = chapter.findings_on_records(y, higher, measures())
    assert not found["both lower the largest risk"]


@pytest.mark.parametrize(
    ("name", "values", "broken"),
    [
        (
            "Vector",
            [0] * 5 + [0.1] * 3 + [0.12, 0.13],
            {"ten riskiest: vector 0 for six or more"},
        ),
        ("Vector", [0] * 9 + [0.16], {"ten riskiest: vector below 0.15"}),
        (
            "Scalar",
            [0] * 10,
            {
                "ten riskiest: vector < scalar < unweighted",
                "ten largest: vector mean below scalar mean",
            },
        ),
        (
            "Unweighted",
            [0.9] * 9 + [0.11],
            {"ten largest: vector never above unweighted"},
        ),
        (
            "Vector",
            [0.12, 0.1] + [0] * 8,
            {"ten largest: higher weight, higher risk"},
        ),
    ],
)
def test_findings_on_ten(name, values, broken):
    y, risk, weights = file_of_twenty()
    risk["Unweighted"][:10] = 0.05
    risk[name][10:] = values
    found = chapter.findings_on_ten(y, risk, weights)
    assert {finding for finding, holds in found.items() if not holds} == broken


def test_half_of_the_risk_of_the_largest():
    y, risk, weights = file_of_twenty()
    risk["Vector"][10:] = 0.46
    found = chapter.findings_on_ten(y, risk, weights)
    assert not found["ten largest: vector mean at most half of unweighted"]


def test_findings_on_low_risks():
    low, high = np.array([0.01, 0.02, 0.3]), np.array([0.01, 0.2, 0.3])
    found = chapter.findings_on_low_risks(
        {"Unweighted": high, "Vector": low, "Scalar": low}
    )
    assert list(found.values()) == [True, False]
    found = chapter.findings_on_low_risks(
        {"Unweighted": low, "Vector": low, "Scalar": high}
    )
    assert list(found.values()) == [False, True]


def test_marks_say_by_which_rule():
    weighted = pd.DataFrame({1: [True, True], 2: [False, False]}, index=["a", "b"])
    printed = pd.DataFrame({1: [True, False], 2: [True, False]}, index=["a", "b"])
    assert chapter.marks(weighted, printed).to_numpy().tolist() == [
        ["b", "p"],
        ["w", "-"],
    ]


def two_studies():
    y, risk, weights = file_of_twenty()
    change = {"Scalar": {"density error, low": 6.0}}
    return {
        1: study_of(y, risk, weights, measures()),
        2: study_of(y, risk, weights[::-1], measures(**change)),
    }


def test_means_of_the_ten_with_their_error():
    studies = two_studies()
    studies[2].risk["Vector", "weighted"] = studies[2].risk["Vector", "weighted"] + 0.1
    table = chapter.means_of_ten(studies)
    assert table.loc["ten riskiest, Unweighted"].tolist() == [pytest.approx(0.9), 0]
    vector = table.loc["ten largest, Vector"]
    assert vector["mean"] == pytest.approx(0.022 + 0.05)
    assert vector["standard error"] == pytest.approx(0.05)


def test_means_of_the_ten_beside_the_published_ones():
    studies = two_studies()
    table = chapter.means_beside_published({"60%": studies, "30%": {1: studies[1]}})
    pd.testing.assert_frame_equal(table["60%"], chapter.means_of_ten(studies))
    assert table["P1", "mean"].round(3).to_dict() == {
        "ten riskiest, Unweighted": 0.888,
        "ten riskiest, Vector": 0.010,
        "ten riskiest, Scalar": 0.162,
        "ten largest, Unweighted": 0.754,
        "ten largest, Vector": 0.024,
        "ten largest, Scalar": 0.101,
    }


def test_numbers_of_skewed_files():
    studies = two_studies()
    tens = chapter.means_beside_published({"60%": studies, "30%": studies})
    found = chapter.numbers_of_skewed(
        tens, all_hold("vector thins the upper tail")["skewed"]
    )
    assert (found["skewed-thins"], found["skewed-files"]) == (2, 4)
    assert found["ordinary-large"] == found["skewed-large"] == pytest.approx(0.022)
    assert found["p1-large"] == pytest.approx(0.02425, abs=1e-4)


def test_files_where_findings_hold():
    held = all_hold(FINDINGS[0])
    held["skewed"] = held["skewed"][[2, 3]]
    table = chapter.numbers_of_files(held, [1, 2])
    assert table.loc[FINDINGS[0]].tolist() == [0, 1]
    assert table.loc[FINDINGS[1]].tolist() == [2, 2]


def test_files_with_risky_records():
    studies = two_studies()
    studies[2].risk["Unweighted"] = studies[2].risk["Unweighted"] - 0.11
    assert chapter.with_risky_records(chapter.risks_by_file(studies)) == [1]


def test_tables_over_files():
    studies = two_studies()
    average = chapter.average_utility(studies)
    assert average.loc["density error, low"].tolist() == [1, 2, 4.5]
    difference = chapter.scalar_less_vector(studies)
    assert difference["low"].tolist() == [1, 4]
    assert difference["high"].tolist() == [1, 1]
    ranks = chapter.weight_and_risk(studies)
    rows = simulation_runs.highest(studies[1].y)
    s = studies[1]
    expected = stats.spearmanr(
        s.weights["Vector"][rows], s.risk["Vector", "weighted"][rows]
    )
    assert ranks[0] == expected.statistic
    assert np.isnan(ranks[1])  # all weights are equal


def test_spread_of_a_number_between_files_and_between_fits(monkeypatch):
    chains = np.arange(5.0)
    measured = {"mean": ("Vector", lambda s, z: s.level + z.mean())}
    monkeypatch.setattr(chapter, "MEASURED", measured)
    monkeypatch.setattr(chapter, "IN_P1", {"mean": 0.5})
    z = {"Unweighted": None, ("Scalar", "weighted"): None}
    z["Vector", "weighted"] = np.repeat(chains, 4)[:, None] * np.ones(3)
    studies = {
        seed: SimpleNamespace(level=level, z=z) for seed, level in ((1, 0), (2, 4))
    }
    values, errors = chapter.spread(studies)
    assert values["mean"].tolist() == [2, 6]
    assert errors["mean"].tolist() == [stats.sem(chains)] * 2
    table = chapter.spread_table(values, errors)
    assert table.loc["mean", ["mean", "P1"]].tolist() == [4, 0.5]
    assert table.loc["mean", "sd between files"] == pytest.approx(np.sqrt(8))
    share = table.loc["mean", "share of the fits in the variance"]
    assert share == pytest.approx(stats.sem(chains) ** 2 / 8)


def test_numbers_of_spread():
    rows = ["ten largest, vector", "ten riskiest, vector"]
    table = pd.DataFrame(
        {
            "mean": [0.1, 0.2],
            "sd between files": [0.05, 0.06],
            "standard error between fits": [0.01, 0.02],
            "share of the fits in the variance": [0.25, 0.5],
        },
        index=rows,
    )
    found = chapter.numbers_of_spread(table)
    assert (found["fit-share-low"], found["fit-share-high"]) == (25, 50)
    assert (found["large-mean"], found["large-fits"]) == (0.1, 0.01)


def test_what_is_asked_of_the_first_file(monkeypatch):
    s = study_of(*file_of_twenty())
    s.radius = 0.2
    s.z = {"Unweighted": np.tile(s.y, (2, 1)), ("Scalar", "weighted"): None}
    s.z["Vector", "weighted"] = np.where(s.y > 1, 0.1, s.y)[None]
    again = s.risk["Unweighted"] / 2
    monkeypatch.setattr(chapter, "released_again", lambda s: again)
    found = chapter.on_first_file(s)
    assert (found["kept"], found["auc"]) == (1, 1)
    assert found["by_place"]["mean risk"].iloc[0] == pytest.approx(0.2)
    assert found["riskiest"]["this file", "", "again"].tolist() == [0.45] * 10


def test_means_in_standard_errors():
    table = pd.DataFrame({"a": [1.0, 2.0, 6.0], "b": [-1.0, 0.0, 0.5]})
    score = chapter.in_standard_errors(table)
    for name in table:
        expected = table[name].mean() / stats.sem(table[name])
        assert score[name] == pytest.approx(expected)


def all_hold(*broken, files=SEEDS, in_files=2):
    """Findings by seed, all true but for some in the first files."""
    table = pd.DataFrame(True, index=FINDINGS, columns=list(files))
    for finding in broken:
        table.loc[finding, list(files)[:in_files]] = False
    return {"weighted": table, "density": table.copy(), "skewed": table.copy()}


def test_numbers_of_seeds():
    held = all_hold("vector is closer than scalar, 0 to 0.5")
    top_means = pd.Series([0.9, 0.85, 0.8, 0.6], index=SEEDS)
    by_file = top_means.to_frame("ten riskiest, unweighted")
    average = chapter.average_utility(two_studies())
    found = chapter.numbers_of_seeds(held, by_file, RISKY, average)
    assert (found["files"], found["risky-files"], found["other-files"]) == (4, 3, "4")
    assert found["other-top"] == 0.6
    assert (found["nearer-low"], found["nearer-high"]) == (2, 4)
    assert found["average-peak-high-Vector"] == pytest.approx(1.1)
    assert found["average-correlation"] == pytest.approx(0.95)
    found = chapter.numbers_of_seeds(held, by_file, SEEDS, average)
    assert found["other-files"] == "none"


def test_numbers_at_equal_risk():
    studies = two_studies()
    for s in studies.values():
        for alpha, risk in ((0.5, 0.4), (0.1, 0.2)):
            s.risk[alpha, "weighted"] = np.repeat([0.0, risk], 10)
        s.utility[0.5, "weighted"] = {"density error, high": 0.7}
    rng = np.random.default_rng(5)
    gaps = {
        key: pd.DataFrame(rng.normal(size=(4, 6)), columns=chapter.UTILITY)
        for key in (
            ("mean", "weighted"),
            ("mean", "density"),
            ("ten riskiest", "weighted"),
        )
    }
    average = chapter.average_utility(studies)
    found = chapter.numbers_at_equal_risk(gaps, studies, average)
    assert found["half-top"] == pytest.approx(0.4)
    assert found["lowest-top"] == pytest.approx(0.2)
    assert found["vector-top"] == pytest.approx(0.022)
    assert found["half-high"] == 0.7
    assert found["vector-high"] == 2
    assert "t-low-weighted" not in found
    gap = gaps["mean", "weighted"]["Kolmogorov-Smirnov"]
    assert found["t-ks-weighted"] == pytest.approx(gap.mean() / stats.sem(gap))
    assert found["t-ten-min"] < found["t-ten-max"]


def test_three_of_four_files_are_enough():
    finding = FINDINGS[0]
    assert chapter.holds(all_hold(finding, in_files=1), finding)
    assert not chapter.holds(all_hold(finding, in_files=2), finding)
    assert chapter.holds(all_hold(finding, in_files=2), finding, on=((3, 4), ()))
    assert not chapter.holds(all_hold(finding, in_files=2), FINDINGS[1], finding)


def test_no_file_decides_nothing():
    none = [], []
    assert not chapter.holds(all_hold(), FINDINGS[0], on=none)
    words = chapter.counts(all_hold(), {"a": FINDINGS[0]}, on=none)
    assert words == "a: 0 and 0, skewed 0 of 0 and 0 files"


def test_counts_are_by_the_weighted_and_the_printed_rule():
    held = all_hold(FINDINGS[0])
    held["density"].loc[FINDINGS[0]] = False
    held["skewed"] = held["skewed"][[1, 2, 3]]
    words = chapter.counts(held, {"a": FINDINGS[0], "b": FINDINGS[1]})
    assert words == "a: 2 and 0, skewed 1; b: 4 and 4, skewed 3 of 4 and 3 files"
    words = chapter.counts(held, {"a": FINDINGS[0]}, on=([2, 3], [3]))
    assert words == "a: 1 and 0, skewed 1 of 2 and 1 files"


DEVIATION = pd.DataFrame({"low": [1.0, 1.1, 0.9, 1.0], "high": [2.0, 2.1, 1.9, 2.0]})
AVERAGE = pd.DataFrame(measures())
RANKS = [0.5, np.nan, 0.4, 0.6]
MORE_LOW = pd.DataFrame({"Unweighted": [0.1, 0.12, 0.11], "Scalar": [0.05, 0.06, 0.05]})
PLACES = places_table(0.4, 0.3, 0.5, 0.8)
NOT_CHOSEN = np.array([0.0] * 8 + [0.05, 0.06])


def claims_about(held, risky=ALL):
    """All claims that rest on findings in many files, with good other inputs."""
    riskiest = table_of_ten(0.9, NOT_CHOSEN, 0.1)
    return simulation_runs.claims(
        chapter.claims_on_densities(held, AVERAGE, DEVIATION),
        chapter.claims_on_records(held, AVERAGE, 0.9, 0.95),
        chapter.claims_on_risks(held, PLACES, RANKS, MORE_LOW),
        chapter.claims_on_ten(held, risky, riskiest, table_of_ten(0.6, 0.1, 0.2)),
    )


BREAKS = {
    "unweighted is closest, 0 to 0.5": {"P1-Fig06", "P1-Claim08"},
    "unweighted is closest, 0.5 to 5": {"P1-Claim08"},
    "vector is closer than scalar, 0 to 0.5": {"P1-Fig06"},
    "vector raises the peak at 0.1": {"P1-Fig06", "P1-Claim10"},
    "vector raises the peak at 1": {"P1-Fig07", "P1-Claim10"},
    "vector thins the upper tail": {"P1-Fig07"},
    "scalar lowers both peaks": {"P1-Fig07", "P1-Claim13"},
    "scalar spreads the records": {"P1-Fig10", "P1-Claim13"},
    "scalar spreads safe records more than vector": {"P1-Fig10"},
    "risk is higher off the modes": {"P1-Claim11"},
    "vector pulls in the largest 1%": {"P1-Claim12"},
    "both lower the largest risk": {"P1-Fig11", "P1-Claim14"},
    "ten riskiest: vector 0 for six or more": {"P1-Tab12", "P1-Claim15"},
    "ten riskiest: vector below 0.15": {"P1-Tab12", "P1-Claim15"},
    "ten riskiest: vector < scalar < unweighted": {"P1-Tab12", "P1-Claim16"},
    "ten largest: vector never above unweighted": {"P1-Tab13"},
    "ten largest: vector mean at most half of unweighted": {"P1-Tab13"},
}


def test_claims_about_many_files_can_hold():
    assert not failing(claims_about(all_hold()))
    assert not failing(claims_about(all_hold(*FINDINGS, in_files=1)))


@pytest.mark.parametrize("finding", FINDINGS)
def test_claims_fail_with_their_findings(finding):
    assert failing(claims_about(all_hold(finding))) == BREAKS.get(finding, set())


def test_claims_about_risky_records_are_judged_on_files_that_have_them():
    about_them = [f for f in FINDINGS if f.startswith(("ten", "risks"))]
    assert not failing(claims_about(all_hold(*about_them), risky=((3, 4), SEEDS)))
    held = all_hold("both lower the largest risk")
    about_all = {"P1-Fig11", "P1-Claim14"}
    assert failing(claims_about(held, risky=((3, 4), SEEDS))) == about_all


@pytest.mark.parametrize("window", ["low", "high"])
def test_greater_deviation_of_the_scalar(window):
    assert verdicts(chapter.claims_on_densities(all_hold(), AVERAGE, DEVIATION))[
        "P1-Claim09"
    ]
    noisy = DEVIATION.assign(**{window: [1.0, -1.0, 0.5, 0.2]})
    assert failing(chapter.claims_on_densities(all_hold(), AVERAGE, noisy)) == {
        "P1-Claim09"
    }


@pytest.mark.parametrize(
    ("average", "kept", "auc", "broken"),
    [
        (AVERAGE, 0.7, 0.95, {"P1-Fig08"}),
        (AVERAGE, 0.9, 0.7, {"P1-Fig09"}),
        (
            set_to(AVERAGE, "correlation with the data, log", "Scalar", 0.96),
            0.9,
            0.95,
            {"P1-Fig08"},
        ),
        (
            set_to(AVERAGE, simulation_runs.RATIO, "Vector", 0.6),
            0.9,
            0.95,
            {"P1-Fig09"},
        ),
        (
            set_to(AVERAGE, simulation_runs.RATIO, "Unweighted", 0.7),
            0.9,
            0.95,
            {"P1-Fig09"},
        ),
    ],
)
def test_claims_on_records_can_fail(average, kept, auc, broken):
    found = chapter.claims_on_records(all_hold(), average, kept, auc)
    assert failing(found) == broken


def test_weights_and_risks_of_the_largest_go_together():
    found = chapter.claims_on_risks(all_hold(), PLACES, RANKS, MORE_LOW)
    assert found["P1-Claim18"][0] == (
        "rank correlation of weight and risk 0.50 (standard error 0.06), mean of 3 files"
    )
    noisy = [0.9, np.nan, -0.3, 0.6]
    found = chapter.claims_on_risks(all_hold(), PLACES, noisy, MORE_LOW)
    assert failing(found) == {"P1-Claim18"}


@pytest.mark.parametrize("name", ["Unweighted", "Scalar"])
def test_more_low_risks_beyond_the_error_between_files(name):
    noisy = MORE_LOW.assign(**{name: [0.3, -0.2, 0.1]})
    found = chapter.claims_on_risks(all_hold(), PLACES, RANKS, noisy)
    assert failing(found) == {"P1-Fig11", "P1-Claim17"}


def test_share_of_low_risks_by_file():
    table = chapter.more_low_risks(two_studies())
    low = (file_of_twenty()[1]["Vector"] < 0.05).mean()
    assert table.to_numpy().tolist() == [[low, low]] * 2


@pytest.mark.parametrize(
    ("before", "vector", "scalar"),
    [(0.9, 0.06, 0.1), (0.9, 0.01, 0.005), (0.1, 0.01, 0.2)],
)
def test_table_of_the_riskiest_can_fail(before, vector, scalar):
    large = table_of_ten(0.6, 0.1, 0.2)
    riskiest = table_of_ten(before, vector, scalar)
    found = chapter.claims_on_ten(all_hold(), ALL, riskiest, large)
    assert failing(found) == {"P1-Tab12"}


def test_words_about_the_ten():
    riskiest = table_of_ten(0.9, NOT_CHOSEN, 0.1)
    large = table_of_ten(0.6, 0.1, 0.2)
    found = chapter.claims_on_ten(all_hold(), WITH_RISK, riskiest, large)
    assert found["P1-Claim15"][0].startswith(
        "8 of ten at 0; six or more 0: 3 and 3, skewed 3;"
    )
    assert found["P1-Tab13"][0].startswith(
        "means Unweighted 0.60, Vector 0.10, Scalar 0.20"
    )


def gaps_with_scores(*scores):
    noise = np.array([-1.0, 1.0, -1.0, 1.0])
    sem = stats.sem(noise)
    return pd.DataFrame({k: noise + score * sem for k, score in enumerate(scores)})


@pytest.mark.parametrize(
    ("at_mean", "at_ten", "holds"),
    [
        ((-1, 9), (2.5, 8), True),
        ((-2.5, 12), (2.5, 8), False),
        ((2.5, 3), (2.5, 8), False),
        ((-1, 9), (1.5, 8), False),
    ],
)
def test_vector_at_the_same_risk(at_mean, at_ten, holds):
    found = chapter.claims_at_equal_risk(
        gaps_with_scores(*at_mean), gaps_with_scores(*at_ten)
    )
    assert verdicts(found) == {"P1-Claim01": holds}
    assert found["P1-Claim01"][0].endswith(
        f"1 {at_mean[1]:+.1f}; all together {np.mean(at_mean):+.1f}"
    )
