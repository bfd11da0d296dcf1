from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import quickstart

FALLS, KEEPS = (
    "epsilon falls by more than a third",
    "re-weighting keeps the bound within 3%",
)


@pytest.fixture
def comparison():
    rows = {
        ("mean", "data"): (100, 98, 102),
        ("mean", "synthetic"): (97, 95, 99),
        ("standard deviation", "data"): (30, 29, 31),
        ("standard deviation", "synthetic"): (27, 26, 28),
    }
    return pd.DataFrame(rows, index=["estimate", "low", "high"], dtype=float).T


@pytest.mark.parametrize(
    ("weighted", "final", "falls", "keeps"),
    [(6, 6.1, True, True), (7, 7, False, True), (6, 6.3, True, False)],
)
def test_epsilon_claims(weighted, final, falls, keeps):
    bounds, weighted, final = (np.array([1, v]) for v in (10, weighted, final))
    found = quickstart.epsilon_claims(bounds, weighted, final)
    assert found == {FALLS: falls, KEEPS: keeps}


@pytest.mark.parametrize("rise", [0.1, -0.1])
def test_weight_claims(rise):
    weights = np.array([0.2, 0.6])
    (found,) = quickstart.weight_claims(weights, weights + rise).values()
    assert found == (rise > 0)


def test_file_claims(comparison):
    y, synthetic = np.array([1, 9]), np.array([[1, 8], [2, 7], [9, 10]])
    assert all(quickstart.file_claims(y, synthetic, comparison, 20).values())
    comparison.loc[("mean", "synthetic"), "high"] = 97.5
    found = quickstart.file_claims(y, synthetic + 1, comparison, 19)
    assert not any(found.values())


def test_numbers_of_the_text(comparison):
    found = quickstart.text_on_files(
        np.array([1, 9]), np.array([[1, 8], [2, 7], [9, 10]]), comparison
    )
    assert found == {
        "largest-data": 9,
        "largest-synthetic": 8,
        "mean-data": 100,
        "mean-synthetic": 97,
        "standard deviation-data": 30,
        "standard deviation-synthetic": 27,
    }


def test_the_way_of_a_record_is_its_own():
    vectors = {
        "y": np.array([5, 7, 9]),
        "bounds": np.array([1.0, 4, 2]),
        "weights": np.array([1, 0.25, 0.75]),
        "weighted": np.array([1, 1.5, 2]),
        "final": SimpleNamespace(weights=np.array([1, 0.5, 1])),
        "final_bounds": np.array([1.1, 1.9, 2]),
        "synthetic": np.array([[7, 1, 1], [1, 1, 1], [2, 7, 7]]),
    }
    steps = quickstart.way(1, **vectors)
    assert [found for *_, found in steps] == [
        "7 employees",
        "4.0 nats",
        "0.250",
        "1.5 nats",
        "0.500",
        "1.9 nats",
        "1 in the data, 1.0 in a file",
    ]
    assert "1" in steps[0][0]
