from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import simulation_study as chapter
from scipy import stats

import pseudopost as pp

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


def verdicts(checks):
    return {claim: bool(holds) for claim, (_, holds) in checks.items()}


def failing(checks):
    return {claim for claim, holds in verdicts(checks).items() if not holds}


def set_to(table, row, column, value):
    changed = table.copy()
    changed.loc[row, column] = value
    return changed


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
        chapter.RATIO: 0.9,
    }
    vector = unweighted | {
        "density error, low": 2.0,
        "density error, high": 2.0,
        "peak ratio, low": 1.1,
        "peak ratio, high": 1.1,
        "sd of the log ratio": 0.5,
        "share above the 97.5% quantile": 0.02,
        "correlation with the data, log": 0.8,
        chapter.RATIO: 0.4,
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


def file_of_twenty():
    """Ten values at the modes and ten, large and risky, off them."""
    y = np.concatenate([np.full(10, 0.1), np.linspace(2, 3, 10)])
    risk = {
        "Unweighted": np.repeat([0.2, 0.9], 10),
        "Vector": np.concatenate([np.full(10, 0.1), np.zeros(8), [0.1, 0.12]]),
        "Scalar": np.repeat([0.1, 0.3], 10),
    }
    weights = np.concatenate([np.full(10, 0.8), np.zeros(8), [0.1, 0.2]])
    return y, risk, weights


# Records and synthesizers


def test_highest_values_come_first_and_ties_keep_their_order():
    values = np.array([1.0, 5.0, 3.0, 5.0, 2.0])
    assert chapter.highest(values, 3).tolist() == [1, 3, 2]


def test_distance_from_the_nearer_mode_is_a_factor():
    y = np.array([0.1, 1.0, 0.05, 0.2, 2.0, 0.5])
    assert np.allclose(chapter.from_mode(y), [1, 1, 2, 2, 2, 2])


def test_places_by_distance():
    places = chapter.places(np.array([0.1, 1.15, 1.5, 0.5, 3.0]))
    assert [place.split(" (")[0] for place in places] == [
        "at a mode",
        "at a mode",
        "slope",
        "foot",
        "far off",
    ]


def test_results_by_one_rule():
    results = {"Unweighted": 0, ("Vector", "weighted"): 1, ("Scalar", "weighted"): 2}
    results |= {("Vector", "density"): 3, ("Scalar", "density"): 4}
    assert list(chapter.by_rule(results, "density").items()) == [
        ("Unweighted", 0),
        ("Vector", 3),
        ("Scalar", 4),
    ]


def test_displaced_records_are_far_off_more_often_than_before():
    y = np.ones(3)
    before = np.array([[1.0, 1.0, 9.0]] * 4)
    after = np.array([[9.0, 1.0, 9.0]] * 3 + [[1.0, 9.0, 9.0]])
    assert chapter.displaced(y, before, after).tolist() == [True, False, False]


def test_probability_of_a_higher_value_counts_pairs():
    rng = np.random.default_rng(1)
    values, chosen = rng.integers(0, 6, 40).astype(float), rng.random(40) < 0.3
    pairs = values[chosen][:, None] - values[~chosen]
    expected = ((pairs > 0) + 0.5 * (pairs == 0)).mean()
    assert chapter.probability_higher(values, chosen) == pytest.approx(expected)


def test_rank_correlation_needs_variation():
    a, b = np.array([1.0, 2.0, 4.0, 3.0]), np.array([2.0, 5.0, 3.0, 9.0])
    assert chapter.rank_correlation(a, b) == stats.spearmanr(a, b).statistic
    assert np.isnan(chapter.rank_correlation(a, np.ones(4)))


# Tables


def test_published_tables_are_sorted():
    riskiest, largest = chapter.PUBLISHED["riskiest"], chapter.PUBLISHED["largest"]
    assert (np.diff(riskiest["Unweighted"]) <= 0).all()
    assert (np.diff(largest["value"]) < 0).all()
    assert (riskiest["Vector"] == 0).sum() == 8
    assert largest["Vector"].max() == 0.1455


def study_of(y, risk, weights, utility=None):
    rules = [(name, rule) for name in ("Vector", "Scalar") for rule in chapter.RULES]
    return SimpleNamespace(
        y=y,
        risk={"Unweighted": risk["Unweighted"]}
        | {key: risk[key[0]] for key in rules}
        | {("Published scalar", "weighted"): risk["Scalar"] + 0.01},
        weights={"Vector": weights},
        utility=None
        if utility is None
        else {"Unweighted": utility["Unweighted"]}
        | {key: utility[key[0]] for key in rules},
        nearest={"density": 0.2, "weighted": 0.35},
    )


def test_table_of_ten_records():
    y, risk, weights = file_of_twenty()
    s = study_of(y, risk, weights)
    rows = chapter.highest(y)
    published = chapter.PUBLISHED["largest"]
    table = chapter.ten_records(s, rows, risk["Unweighted"] / 2, published)
    assert table.index.tolist() == list(range(1, 11))
    assert (table["this file", "", "value"] == y[rows]).all()
    assert (table["this file", "", "again"] == 0.45).all()
    assert (table["this file", "density", "Vector"] == risk["Vector"][rows]).all()
    at_455 = table["this file", "weighted", "Scalar 0.455"]
    assert (at_455 == risk["Scalar"][rows] + 0.01).all()
    assert table["published", "", "value"].iloc[0] == 3.369471


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


# Measures of utility


def test_density_measures_of_the_data_themselves():
    y = pp.datasets.lognormal_mixture(n=200, random_seed=2)["value"].to_numpy()
    result = chapter.density_measures(y, np.stack([y, y]))
    assert result["density error, low"] == result["density error, high"] == 0
    assert result["peak ratio, low"] == result["peak ratio, high"] == 1
    assert 0.05 < chapter.mode(y, "low") < 0.2


def test_density_error_is_the_integral_of_the_squared_difference():
    rng = np.random.default_rng(3)
    y, z = rng.lognormal(0, 0.3, 300), rng.lognormal(0.1, 0.4, 300)
    grid = chapter.GRIDS["high"]

    def curve(values):
        return stats.norm.pdf(grid[:, None], values, 0.1).mean(axis=1)

    result = chapter.density_measures(y, z[None])
    expected = ((curve(z) - curve(y)) ** 2).sum() * 0.02
    assert result["density error, high"] == pytest.approx(expected)
    assert result["peak ratio, high"] == pytest.approx(curve(z).max() / curve(y).max())


def test_coefficient_error_is_in_standard_errors():
    rng = np.random.default_rng(4)
    x, log_y = rng.normal(size=50), rng.normal(size=50)
    X = np.column_stack([np.ones(50), x])
    slope = stats.linregress(x, log_y)
    moved = log_y + 2 * slope.stderr * x
    error = chapter.coefficient_error(X, log_y, np.stack([log_y, moved]))
    assert error == pytest.approx(np.mean([0, 0, 0, 2]))


def test_measures_of_records():
    y = np.geomspace(0.1, 10, 200)
    z = np.stack([y, y])
    z[:, -1] /= 4
    risk = np.linspace(0, 1, 200)
    result = chapter.record_measures(y, z, risk)
    assert result[chapter.RATIO] == np.median([1, 0.25])
    assert result["the same, safer half"] == pytest.approx(0, abs=1e-12)
    change = np.zeros(200)
    change[-1] = np.log(4)
    assert result["sd of the log ratio"] == pytest.approx(change.std())
    assert result["share above the 97.5% quantile"] == 4 / 200
    expected = np.corrcoef(np.log(y), np.log(z[0]))[0, 1]
    assert result["correlation with the data, log"] == pytest.approx(expected)


# Findings


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
        ("vector pulls in the largest 1%", "Vector", {chapter.RATIO: 0.9}),
        (
            "vector halves the largest 1%, unweighted keeps it",
            "Vector",
            {chapter.RATIO: 0.6},
        ),
        (
            "vector halves the largest 1%, unweighted keeps it",
            "Unweighted",
            {chapter.RATIO: 0.7},
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


# Many files


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


def test_description_of_a_file():
    y, X = np.array([1.0, 2.0, 9.0]), np.ones((3, 2))
    table = chapter.described(y, X, pd.Series([1, 2]))["this file"]
    assert table.tolist() == [3, 2, 2, 1, 2, 9.0, stats.skew(y).round(2)]


def test_shapes_of_files():
    shapes = chapter.shapes_of(0.3, [2, 5])
    assert shapes.index.tolist() == [2, 5]
    y = pp.datasets.lognormal_mixture(upper=0.3, random_seed=5)["value"]
    assert shapes.loc[5].to_dict() == pytest.approx(chapter.shape(y))
    assert (shapes["skewness"] > chapter.shapes_of(0.6, [2, 5])["skewness"]).all()


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
    rows = chapter.highest(studies[1].y)
    s = studies[1]
    expected = stats.spearmanr(
        s.weights["Vector"][rows], s.risk["Vector", "weighted"][rows]
    )
    assert ranks[0] == expected.statistic
    assert np.isnan(ranks[1])  # all weights are equal


def test_means_in_standard_errors():
    table = pd.DataFrame({"a": [1.0, 2.0, 6.0], "b": [-1.0, 0.0, 0.5]})
    score = chapter.in_standard_errors(table)
    for name in table:
        expected = table[name].mean() / stats.sem(table[name])
        assert score[name] == pytest.approx(expected)


# Numbers for the text


def path_of(*steps, target=0.3):
    table = pd.DataFrame(steps, columns=["constant", "found"])
    return table.assign(difference=table["found"] - target)


EXCESS = pd.Series({"difference": 0.019, "standard error": 0.006})


def fits_table():
    return pd.DataFrame(
        {
            "mean weight": [1.0, 0.5, 0.4],
            "occupied components": [4.0, 3.0, 5.0],
            "largest R-hat": [1.01, 1.03, 1.02],
            "smallest ESS": [100.0, 200.0, 300.0],
            "mean risk": [0.35, 0.3, 0.301],
        },
        index=chapter.NAMES,
    )


def test_excess_of_the_published_weight_comes_with_the_error_between_chains():
    chains = np.repeat([[0.3], [0.2], [0.3], [0.4], [0.3]], 4, axis=0)
    study = SimpleNamespace(
        z={
            ("Vector", "weighted"): chains,
            ("Published scalar", "weighted"): 1.1 * chains,
        },
        risk_of=lambda z: z.mean(axis=0),
    )
    found = chapter.excess_of_published(study)
    assert found["difference"] == pytest.approx(0.1)
    spread = np.std([0.3, 0.2, 0.3, 0.4, 0.3], ddof=1) / np.sqrt(5) / 0.3
    assert found["standard error"] == pytest.approx(spread * np.hypot(1, 1.1))


def test_numbers_of_fits():
    search = SimpleNamespace(
        constant=0.4, path=path_of((0.6, 0.34), (0.4, 0.31), (0.2, 0.28))
    )
    found = chapter.numbers_of_fits(fits_table(), search, 0.3, EXCESS)
    assert (found["near-low"], found["near-high"], found["steps"]) == (0.2, 0.4, 3)
    assert found["rhat"] == 1.03
    assert found["occupied"] == 4
    assert found["above-published"] == pytest.approx(1.9)
    assert found["above-error"] == pytest.approx(1.2)


def places_table(*risks):
    table = pd.DataFrame({"share outside": range(4), "share with T = 1": range(4, 8)})
    return table.assign(**{"mean risk": risks})


def test_numbers_of_places():
    found = chapter.numbers_of_places(places_table(0.4, 0.3, 0.5, 0.8))
    assert found["outside-slope"] == 1
    assert found["own-mode"] == 4
    assert found["place-risk-far"] == 0.8


def table_of_ten(before, vector, scalar, **others):
    columns = {
        ("", "value"): others.get("value", np.arange(10.0)),
        ("", "Unweighted"): before,
        ("", "again"): others.get("again", before),
        ("weighted", "Vector"): vector,
        ("weighted", "Scalar"): scalar,
        ("weighted", "Scalar 0.455"): others.get("published", scalar),
        ("density", "Vector"): others.get("density", vector),
    }
    return pd.DataFrame(
        {("this file", *key): np.broadcast_to(v, 10) for key, v in columns.items()}
    )


def test_numbers_of_tables():
    vector = np.array([0.0] * 8 + [0.1, 0.3])
    riskiest = table_of_ten(0.9, vector, 0.1, again=0.8, density=0.2, published=0.3)
    before = np.where(np.arange(10) == 9, 0.4, 0.7)
    weights = np.linspace(0, 0.9, 10)
    found = chapter.numbers_of_tables(
        riskiest, table_of_ten(before, vector, 0.2), weights
    )
    assert found["top-Vector-weighted-zeros"] == 8
    assert found["top-Vector-density-zeros"] == 0
    assert found["top-Vector-weighted-max"] == 0.3
    assert found["top-again"] == pytest.approx(0.8)
    assert found["top-Published-weighted-mean"] == pytest.approx(0.3)
    assert found["top-Scalar-in-p1"] == pytest.approx(0.1618, abs=1e-4)
    assert found["big-low-value"] == 9
    assert found["big-low-before"] == 0.4
    assert found["big-low-weight"] == 0.9
    assert found["big-low-after"] == 0.3
    assert found["big-rank"] == stats.spearmanr(weights, vector).statistic
    assert found["published-weight"] == pytest.approx(0.5932, abs=1e-4)


def all_hold(*broken, files=SEEDS, in_files=2):
    """Findings by seed, all true but for some in the first files."""
    table = pd.DataFrame(True, index=FINDINGS, columns=list(files))
    for finding in broken:
        table.loc[finding, list(files)[:in_files]] = False
    return {"weighted": table, "density": table.copy(), "skewed": table.copy()}


def test_numbers_of_seeds():
    held = all_hold("vector is closer than scalar, 0 to 0.5")
    top_means = pd.Series([0.9, 0.85, 0.8, 0.6], index=SEEDS)
    average = chapter.average_utility(two_studies())
    found = chapter.numbers_of_seeds(held, top_means, RISKY, average)
    assert (found["files"], found["risky-files"], found["other-files"]) == (4, 3, "4")
    assert found["other-top"] == 0.6
    assert (found["nearer-low"], found["nearer-high"]) == (2, 4)
    assert found["average-peak-high-Vector"] == pytest.approx(1.1)
    found = chapter.numbers_of_seeds(held, top_means, SEEDS, average)
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
    gap = gaps["mean", "weighted"]["Kolmogorov-Smirnov"]
    assert found["t-ks-weighted"] == pytest.approx(gap.mean() / stats.sem(gap))
    assert found["t-ten-min"] < found["t-ten-max"]


# Claims


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


def test_groups_of_claims_are_merged_in_order():
    groups = (
        {"P1-Claim01": 1, "P1-Set05": 2},
        {"P1-Tab12": 3, "P1-Fig06": 4, "P1-Fig05": 5},
    )
    assert list(chapter.claims(*groups)) == [
        "P1-Fig05",
        "P1-Fig06",
        "P1-Tab12",
        "P1-Set05",
        "P1-Claim01",
    ]


def shapes_of(n=4, **changes):
    """Files that are as P1 describes its own; changes are to the first of them."""
    like_p1 = {"lower mode": 0.1, "upper mode": 1.0, "largest": 3.4, "skewness": 1.7}
    shapes = pd.DataFrame([like_p1] * n)
    for name, value in changes.items():
        shapes.loc[0, name.replace("_", " ")] = value
    return shapes


DATA = pd.DataFrame({"value": np.ones(1000), **{f"x{j}": 0 for j in range(1, 16)}})
SIZES = np.full(32, 31)
FOUND = np.full((20, 1000), 0.6)


def test_shape_of_a_file():
    y = np.concatenate([np.full(60, 0.1), np.full(40, 0.9), [3.0]])
    assert chapter.shape(y) == {
        "lower mode": pytest.approx(0.1, abs=0.005),
        "upper mode": pytest.approx(0.9, abs=0.02),
        "largest": 3.0,
        "skewness": stats.skew(y),
    }


def test_claims_on_file():
    found = chapter.claims_on_file(DATA, SIZES, FOUND, 0.3, shapes_of(skewness=1))
    assert not failing(found)  # three of every four files are enough
    assert found["P1-Fig05"][0] == (
        "3 of 4 files with upper = 0.3; medians: modes 0.10 and 1.00, largest 3.4, "
        "skewness 1.7"
    )


@pytest.mark.parametrize(
    ("data", "sizes", "own", "broken"),
    [
        (DATA[:900], SIZES, FOUND, {"P1-Set05"}),
        (DATA, SIZES[:-1], FOUND, {"P1-Set05"}),
        (DATA, SIZES + 10, FOUND, {"P1-Set05"}),
        (DATA, SIZES, FOUND - 0.2, {"P1-Set05"}),
    ],
)
def test_claims_on_file_can_fail(data, sizes, own, broken):
    found = chapter.claims_on_file(data, sizes, own, 0.3, shapes_of())
    assert failing(found) == broken


@pytest.mark.parametrize(
    "change",
    [
        {"lower_mode": 0.3},
        {"upper_mode": 1.5},
        {"largest": 6.0},
        {"largest": 2.0},
        {"skewness": 1.4},
    ],
)
def test_files_that_are_not_as_in_p1(change):
    found = chapter.claims_on_file(DATA, SIZES, FOUND, 0.3, shapes_of(2, **change))
    assert failing(found) == {"P1-Fig05"}


def test_claims_on_risk():
    outside = np.full((20, 1000), 0.5)
    released = np.zeros((20, 1000))
    risk = np.full(1000, 0.3)
    assert not failing(chapter.claims_on_risk(released, FOUND, outside, risk))
    assert failing(chapter.claims_on_risk(released[1:], FOUND, outside, risk))
    assert failing(chapter.claims_on_risk(released, FOUND, outside, risk + 0.01))


def test_claims_on_fits():
    fits = fits_table()
    assert not failing(chapter.claims_on_fits(fits, 12, 0.3, EXCESS))
    assert failing(chapter.claims_on_fits(fits, 10, 0.3, EXCESS)) == {"P1-Set07"}
    off = set_to(fits, "Scalar", "mean risk", 0.32)
    assert failing(chapter.claims_on_fits(off, 12, 0.3, EXCESS)) == {
        "P1-Set10",
        "P1-Claim19",
    }
    for difference in (0.021, -0.021):
        other = pd.Series(dict(EXCESS) | {"difference": difference})
        assert failing(chapter.claims_on_fits(fits, 12, 0.3, other)) == {"P1-Claim19"}


DEVIATION = pd.DataFrame({"low": [1.0, 1.1, 0.9, 1.0], "high": [2.0, 2.1, 1.9, 2.0]})
AVERAGE = pd.DataFrame(measures())
RANKS = [0.5, np.nan, 0.4, 0.6]
MORE_LOW = pd.DataFrame({"Unweighted": [0.1, 0.12, 0.11], "Scalar": [0.05, 0.06, 0.05]})
PLACES = places_table(0.4, 0.3, 0.5, 0.8)
NOT_CHOSEN = np.array([0.0] * 8 + [0.05, 0.06])


def claims_about(held, risky=ALL):
    """All claims that rest on findings in many files, with good other inputs."""
    riskiest = table_of_ten(0.9, NOT_CHOSEN, 0.1)
    return chapter.claims(
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
        (set_to(AVERAGE, chapter.RATIO, "Vector", 0.6), 0.9, 0.95, {"P1-Fig09"}),
        (set_to(AVERAGE, chapter.RATIO, "Unweighted", 0.7), 0.9, 0.95, {"P1-Fig09"}),
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


SCORES = pd.Series([0.3, -0.2])
CHANGE, PATTERN = np.array([0.05, 0.0, 0.01, 0.0]), np.array([0, 1, 0, 1])


@pytest.mark.parametrize(
    ("inputs", "holds"),
    [
        ({}, True),
        ({"scores": SCORES / 4}, False),
        ({"fixed_score": 0.1}, False),
        ({"redrawn": 0.005}, False),
        ({"change": -CHANGE}, False),
        ({"change": CHANGE + np.array([0, 0.1, 0, 0])}, False),
    ],
)
def test_weights_are_random(inputs, holds):
    good = {
        "scores": SCORES,
        "fixed_score": 1e-9,
        "redrawn": 0.1,
        "change": CHANGE,
        "one": 0,
        "pattern": PATTERN,
    }
    found = chapter.claims_on_random_weights(**(good | inputs))
    assert verdicts(found) == {"P1-Claim40": holds}
