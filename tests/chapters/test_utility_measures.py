from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import utility_measures as chapter
from judged import set_to, verdicts

import pseudopost as pp

RELEASES = ["Unweighted", "Pairwise", "Marginal", "Top-coded", "Permuted", "Noisy"]


# Measures


def test_a_column_for_the_tail_is_refused_without_a_tail():
    y = np.random.default_rng(1).exponential(size=400)
    z = np.random.default_rng(2).exponential(size=400)
    assert not chapter.refused(y, z)
    assert chapter.refused(y, np.minimum(y, np.quantile(y, 0.94)))


def test_products_with_rare_levels():
    rng = np.random.default_rng(1)
    y, z = rng.exponential(size=(2, 300))
    x = (np.arange(300) % 2)[:, None].astype(float)
    columns = [
        np.column_stack([u, u**2, u * x[:, 0]]) for u in (np.log(y + 1), np.log(z + 1))
    ]
    expected = pp.propensity_score_mse(*columns, x).ratio
    assert chapter.rare_ratio(y, z, x, 1) == pytest.approx(expected)
    rare = np.column_stack([x, np.arange(300) < 1])
    assert np.isnan(chapter.rare_ratio(y, z, rare, 1))


@pytest.fixture
def measures():
    """Measures of releases of which all are good."""
    rows = {
        "overlap, mean": 0.8,
        "overlap, median": 1.0,
        "overlap, 90% quantile": 0.9,
        "overlap, coefficient of not earning": 0.9,
        "overlap, coefficient of a degree": 0.85,
        "largest |F* - F|": 0.025,
        "pMSE ratio, main effects": 2.0,
        "pMSE ratio, interactions": 1.5,
        "mean risk": 0.9,
    }
    return pd.DataFrame(dict.fromkeys([*RELEASES, "Permuted in cells"], rows))


def test_lines(measures):
    assert "mean risk" not in chapter.within_lines(measures).index
    assert chapter.within_lines(measures).all(axis=None)
    for row, worse in (
        ("overlap, mean", 0.79),
        ("largest |F* - F|", 0.026),
        ("pMSE ratio, main effects", 2.1),
        ("pMSE ratio, interactions", 2.1),
    ):
        passed = chapter.within_lines(set_to(measures, row, "Noisy", worse))
        assert not passed.loc[row, "Noisy"]
        assert (~passed).sum(axis=None) == 1


def test_crosses_mark_what_has_not_passed(measures):
    measures.loc["overlap, mean", "Noisy"] = 0.5
    shown = chapter.with_crosses(measures, chapter.within_lines(measures))
    assert shown.loc["overlap, mean", "Noisy"] == "0.50\u00a0✗"
    assert shown.loc["mean risk", "Noisy"] == "0.90"
    assert shown.loc["largest |F* - F|", "Noisy"] == "0.025"
    assert shown.map(lambda text: text.endswith("✗")).sum(axis=None) == 1


def test_errors_between_fits():
    study = SimpleNamespace(
        y=np.arange(5.0),
        z={"A": np.arange(50.0).reshape(10, 5) / 10},
        risk_of=lambda z: z[0] / 10,
    )
    ratios = {"A": np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 2)}
    found = chapter.between_fits(study, ratios, {"A": 2 * ratios["A"]})["A"]
    assert found["pMSE ratio, main effects"] == pytest.approx(np.sqrt(2.5 / 5))
    assert found["pMSE ratio, interactions"] == pytest.approx(2 * np.sqrt(2.5 / 5))
    assert found["mean risk"] == pytest.approx(0.1 * np.sqrt(2.5 / 5))
    assert found["largest |F* - F|"] > 0


# Numbers for the text


def test_numbers_on_the_marginal_means():
    y = np.array([1.0, 2.0, 3.0])
    means = pd.DataFrame(
        {
            "release": ["Unweighted", "Marginal", "Marginal", "Marginal"],
            "mean": [2.0, 1.0, 1.5, 4.0],
            "low": [1.0, 0.5, 1.0, 3.0],
            "high": [3.0, 1.5, 3.0, 6.0],
            "90% quantile": [9.0, 2.0, 3.0, 4.0],
            "median of means": [9.0, 5.0, 6.0, 8.0],
        }
    )
    tail = pd.DataFrame({"above 5 million (% of files)": {"Marginal": 7.0}})
    found = chapter.mean_numbers(tail, means, y)
    assert found["above-Marginal"] == 7
    assert (found["n-releases"], found["marginal-above"]) == (3, 1)
    assert found["marginal-low-above"] == 1
    assert found["asymmetry-above"] == 2
    assert found["asymmetry-below"] == 2  # median of 1 and 3
    assert found["marginal-medians"] == 3
    assert found["marginal-mean-median"] == 1.5


# Verdicts


def test_null_claim():
    null = pd.DataFrame(
        {"theory": [1, 2], "mean ratio": [1.1, 1.9], "s.e.": [0.03] * 2}
    )
    assert all(verdicts(chapter.null_claim(null)).values())
    far = set_to(null, 1, "mean ratio", 1.8)
    assert not any(verdicts(chapter.null_claim(far)).values())


@pytest.fixture
def permuted(measures):
    columns = ["Permuted", "Permuted in cells"]
    measures.loc["largest |F* - F|", columns] = 0
    measures.loc["pMSE ratio, main effects", columns] = 1e-9
    measures.loc["pMSE ratio, interactions", columns] = 30, 11
    measures.loc["overlap, mean", columns] = 0.95
    measures.loc["overlap, coefficient of a degree", columns] = 0
    return measures


def test_permuted_claims_hold(permuted):
    assert all(verdicts(chapter.permuted_claims(permuted)).values())


@pytest.mark.parametrize(
    ("claim", "row", "column", "value"),
    [
        (0, "largest |F* - F|", "Permuted", 0.001),
        (0, "pMSE ratio, main effects", "Permuted in cells", 0.1),
        (1, "pMSE ratio, interactions", "Permuted in cells", 9),
        (2, "overlap, coefficient of not earning", "Permuted in cells", 0.7),
        (2, "overlap, coefficient of a degree", "Permuted in cells", 0.2),
    ],
)
def test_permuted_claims_can_fail(permuted, claim, row, column, value):
    found = verdicts(chapter.permuted_claims(set_to(permuted, row, column, value)))
    assert list(found.values()) == [k != claim for k in range(3)]


def test_noisy_claim(measures):
    def holds(table):
        passed = chapter.within_lines(table)
        return list(verdicts(chapter.noisy_claim(table, passed)).values()) == [True]

    assert holds(measures)
    assert not holds(set_to(measures, "mean risk", "Noisy", 0.5))
    assert not holds(set_to(measures, "overlap, mean", "Noisy", 0.5))
    assert holds(set_to(measures, "overlap, mean", "Marginal", 0.5))


@pytest.fixture
def distance():
    return pd.DataFrame(
        {
            "largest": [0.01, 0.03, 0.06, 0.05],
            "mean squared": [1e-4, 3e-4, 9e-4, 1e-4],
        },
        index=RELEASES[:4],
    )


def test_distance_claim(distance):
    assert all(verdicts(chapter.distance_claim(distance)).values())
    for column, value in (("largest", 0.035), ("mean squared", 2.5e-4)):
        same = set_to(distance, "Top-coded", column, value)
        assert not any(verdicts(chapter.distance_claim(same)).values())


def test_tail_claims():
    far = pd.Series(
        {
            "mean income, data": 100.0,
            "mean income, ten times 100": 250.0,
            "largest |F* - F|": 0.002,
            "pMSE ratio, main effects": 0.9,
            "pMSE ratio, interactions": 1.1,
        }
    )
    assert list(verdicts(chapter.tail_claims(True, far)).values()) == [True, True]
    assert list(verdicts(chapter.tail_claims(False, far)).values()) == [False, True]
    for changed in (
        {"pMSE ratio, interactions": 2.5},
        {"mean income, ten times 100": 150.0},
    ):
        seen = pd.Series({**far, **changed})
        assert list(verdicts(chapter.tail_claims(True, seen)).values()) == [True, False]


def test_order_claim(distance):
    pmse = pd.DataFrame({"interactions": [1.0, 2.0, 4.0]}, index=RELEASES[:3])
    measures = ["pMSE ratio, interactions", "largest |F* - F|"]
    small = pd.DataFrame(1e-4, index=measures, columns=RELEASES[:3])
    assert all(verdicts(chapter.order_claim(pmse, distance, small)).values())
    close = set_to(pmse, "Marginal", "interactions", 2.5)
    assert not any(verdicts(chapter.order_claim(close, distance, small)).values())
    swapped = set_to(distance, "Marginal", "largest", 0.02)
    assert not any(verdicts(chapter.order_claim(pmse, swapped, small)).values())
    for measure in measures:
        large = set_to(small, measure, "Pairwise", 0.6)
        assert not any(verdicts(chapter.order_claim(pmse, distance, large)).values())


def test_draws_claim():
    largest = {"Unweighted": np.array([1.0, 2.0]), "Marginal": np.array([0.5, 30.0])}
    assert all(verdicts(chapter.draws_claim(largest)).values())
    largest["Marginal"] = largest["Marginal"] / 2
    assert not any(verdicts(chapter.draws_claim(largest)).values())
