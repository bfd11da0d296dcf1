"""What the chapter on one simulated file computes, and how it judges."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import simulation_runs
import simulation_study as chapter
from judged import set_to, verdicts
from scipy import stats
from simulated import failing, file_of_twenty, places_table, study_of, table_of_ten

import pseudopost as pp


def test_highest_values_come_first_and_ties_keep_their_order():
    values = np.array([1.0, 5.0, 3.0, 5.0, 2.0])
    assert simulation_runs.highest(values, 3).tolist() == [1, 3, 2]


def test_distance_from_the_nearer_mode_is_a_factor():
    y = np.array([0.1, 1.0, 0.05, 0.2, 2.0, 0.5])
    assert np.allclose(simulation_runs.from_mode(y), [1, 1, 2, 2, 2, 2])


def test_places_by_distance():
    places = simulation_runs.places(np.array([0.1, 1.15, 1.5, 0.5, 3.0]))
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
    assert list(simulation_runs.by_rule(results, "density").items()) == [
        ("Unweighted", 0),
        ("Vector", 3),
        ("Scalar", 4),
    ]


def test_displaced_records_are_far_off_more_often_than_before():
    y = np.ones(3)
    before = np.array([[1.0, 1.0, 9.0]] * 4)
    after = np.array([[9.0, 1.0, 9.0]] * 3 + [[1.0, 9.0, 9.0]])
    assert simulation_runs.displaced(y, before, after).tolist() == [True, False, False]


def test_probability_of_a_higher_value_counts_pairs():
    rng = np.random.default_rng(1)
    values, chosen = rng.integers(0, 6, 40).astype(float), rng.random(40) < 0.3
    pairs = values[chosen][:, None] - values[~chosen]
    expected = ((pairs > 0) + 0.5 * (pairs == 0)).mean()
    assert simulation_runs.probability_higher(values, chosen) == pytest.approx(expected)


def test_published_tables_are_sorted():
    riskiest, largest = (
        simulation_runs.PUBLISHED["riskiest"],
        simulation_runs.PUBLISHED["largest"],
    )
    assert (np.diff(riskiest["Unweighted"]) <= 0).all()
    assert (np.diff(largest["value"]) < 0).all()
    assert (riskiest["Vector"] == 0).sum() == 8
    assert largest["Vector"].max() == 0.1455


def test_table_of_ten_records():
    y, risk, weights = file_of_twenty()
    s = study_of(y, risk, weights)
    rows = simulation_runs.highest(y)
    published = simulation_runs.PUBLISHED["largest"]
    table = simulation_runs.ten_records(s, rows, risk["Unweighted"] / 2, published)
    assert table.index.tolist() == list(range(1, 11))
    assert (table["this file", "", "value"] == y[rows]).all()
    assert (table["this file", "", "again"] == 0.45).all()
    assert (table["this file", "density", "Vector"] == risk["Vector"][rows]).all()
    at_455 = table["this file", "weighted", "Scalar 0.455"]
    assert (at_455 == risk["Scalar"][rows] + 0.01).all()
    assert table["published", "", "value"].iloc[0] == 3.369471


def test_density_measures_of_the_data_themselves():
    y = pp.datasets.lognormal_mixture(n=200, random_seed=2)["value"].to_numpy()
    result = simulation_runs.density_measures(y, np.stack([y, y]))
    assert result["density error, low"] == result["density error, high"] == 0
    assert result["peak ratio, low"] == result["peak ratio, high"] == 1
    assert 0.05 < chapter.mode(y, "low") < 0.2


def test_density_error_is_the_integral_of_the_squared_difference():
    rng = np.random.default_rng(3)
    y, z = rng.lognormal(0, 0.3, 300), rng.lognormal(0.1, 0.4, 300)
    grid = simulation_runs.GRIDS["high"]

    def curve(values):
        return stats.norm.pdf(grid[:, None], values, 0.1).mean(axis=1)

    result = simulation_runs.density_measures(y, z[None])
    expected = ((curve(z) - curve(y)) ** 2).sum() * 0.02
    assert result["density error, high"] == pytest.approx(expected)
    assert result["peak ratio, high"] == pytest.approx(curve(z).max() / curve(y).max())


def test_coefficient_error_is_in_standard_errors():
    rng = np.random.default_rng(4)
    x, log_y = rng.normal(size=50), rng.normal(size=50)
    X = np.column_stack([np.ones(50), x])
    slope = stats.linregress(x, log_y)
    moved = log_y + 2 * slope.stderr * x
    error = simulation_runs.coefficient_error(X, log_y, np.stack([log_y, moved]))
    assert error == pytest.approx(np.mean([0, 0, 0, 2]))


def test_measures_of_records():
    y = np.geomspace(0.1, 10, 200)
    z = np.stack([y, y])
    z[:, -1] /= 4
    risk = np.linspace(0, 1, 200)
    result = simulation_runs.record_measures(y, z, risk)
    assert result[simulation_runs.RATIO] == np.median([1, 0.25])
    assert result["the same, safer half"] == pytest.approx(0, abs=1e-12)
    change = np.zeros(200)
    change[-1] = np.log(4)
    assert result["sd of the log ratio"] == pytest.approx(change.std())
    assert result["share above the 97.5% quantile"] == 4 / 200
    expected = np.corrcoef(np.log(y), np.log(z[0]))[0, 1]
    assert result["correlation with the data, log"] == pytest.approx(expected)


def test_description_of_a_file():
    y, X = np.array([1.0, 2.0, 9.0]), np.ones((3, 2))
    table = chapter.described(y, X, pd.Series([1, 2]))["this file"]
    assert table.tolist() == [3, 2, 2, 1, 2, 9.0, stats.skew(y).round(2)]


def test_numbers_of_a_file():
    y = np.array([1.0, 2.0, 9.0])
    found = chapter.numbers_of_file(y, shapes_of(skewness=1))
    assert found == {"skewness": stats.skew(y), "shape-files": 4, "as-in-p1": 3}


def test_numbers_of_utility():
    names = ("Unweighted", ("Vector", "weighted"), ("Scalar", "weighted"))
    measures = {
        "the same, safer half": 0.2,
        "peak ratio, low": 1,
        "peak ratio, high": 2,
    }
    found = chapter.numbers_of_utility({name: measures for name in names})
    assert found["sd-safe-Scalar"] == 0.2
    assert found["peak-high-Vector"] == 2
    assert "peak-high-Scalar" not in found


def test_utility_of_the_data_themselves():
    rng = np.random.default_rng(6)
    y, X = rng.lognormal(size=200), np.ones((200, 1))
    s = SimpleNamespace(
        y=y, model=SimpleNamespace(X=X), risk={"Unweighted": rng.random(200)}
    )
    found = simulation_runs.utility(s, np.stack([y, y]))
    distances = ["Kolmogorov-Smirnov", "Wasserstein, log", "quantiles, log"]
    assert [found[name] for name in distances] == [0, 0, 0]
    assert found["coefficients"] == pytest.approx(0, abs=1e-9)
    assert found["peak ratio, low"] == 1


def test_shapes_of_files():
    shapes = chapter.shapes_of(0.3, [2, 5])
    assert shapes.index.tolist() == [2, 5]
    y = pp.datasets.lognormal_mixture(upper=0.3, random_seed=5)["value"]
    assert shapes.loc[5].to_dict() == pytest.approx(chapter.shape(y))
    assert (shapes["skewness"] > chapter.shapes_of(0.6, [2, 5])["skewness"]).all()


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
        index=simulation_runs.NAMES,
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
    assert (found["near-low"], found["near-high"]) == (0.2, 0.4)
    assert (found["scalar"], found["mean-weight"]) == (0.4, 0.5)
    assert found["above-published"] == pytest.approx(1.9)
    assert found["above-error"] == pytest.approx(1.2)


def test_numbers_of_places():
    found = chapter.numbers_of_places(places_table(0.4, 0.3, 0.5, 0.8))
    assert found == {
        "place-risk-mode": 0.4,
        "place-risk-slope": 0.3,
        "place-risk-far": 0.8,
    }


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
    assert found["top-again"] == pytest.approx(0.8)
    assert found["top-Published-weighted-mean"] == pytest.approx(0.3)
    assert found["top-Scalar-in-p1"] == pytest.approx(0.1618, abs=1e-4)
    assert found["big-low-weight"] == 0.9
    assert found["big-low-after"] == 0.3
    assert found["big-Vector-in-p1"] == pytest.approx(0.02425, abs=1e-4)
    assert found["published-weight"] == pytest.approx(0.5932, abs=1e-4)


def test_groups_of_claims_are_merged_in_order():
    groups = (
        {"P1-Claim01": 1, "P1-Set05": 2},
        {"P1-Tab12": 3, "P1-Fig06": 4, "P1-Fig05": 5},
    )
    assert list(simulation_runs.claims(*groups)) == [
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
