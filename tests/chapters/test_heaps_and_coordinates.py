from types import SimpleNamespace

import heaps_and_coordinates as chapter
import numpy as np
import pandas as pd
import pytest


def test_heap_table():
    sigma = np.array([0.01, 0.1, 1])
    gains = pd.DataFrame(
        {"a": -2 * np.log(sigma) - 1, "b": [-1.0, -2, -3]}, index=sigma
    )
    rows = np.arange(3)
    cases = {"a": (rows, 1.0, 2.0), "b": (rows, 1.0, 5.0)}
    table = chapter.heap_table(
        cases, gains, lambda rows, value, density, sigma: density, np.ones((4, 2))
    )
    assert table.loc["a"].to_list() == pytest.approx([3, 1, -2, 2, 0.1])
    assert table.loc["b", "gain at 0.05"] == 5
    assert np.isnan(table.loc["b", "worth it below"])
    values = chapter.heap_numbers(table)
    assert values["heap-round"] == 3
    assert values["rank-coded"] == 1
    assert values["gain-coded"] == 5
    assert values["worth-round"] == "0.1"
    assert values["worth-coded"] == "any that was tried"


@pytest.mark.parametrize(
    ("sigma", "expected"), [(2.1e-5, "0.00002"), (0.00724, "0.007"), (0.31, "0.3")]
)
def test_threshold(sigma, expected):
    assert chapter.threshold(sigma) == expected


def found_in(values):
    """What `benchmarks/atoms.py` stores, with these values for every treatment."""
    rows = {
        (file, treatment, measure): {"value": value, "standard_error": error}
        for file in chapter.QUARTERS
        for treatment in chapter.TREATMENTS
        for measure, (value, error) in values.items()
    }
    found = pd.DataFrame(rows).T
    return found.rename_axis(["file", "treatment", "measure"])


def test_repeated_agreement():
    nothing = float("nan")
    table = chapter.repeated_agreement(
        found_in(
            {
                "worst R-hat": (1.0042, nothing),
                "smallest bulk ESS": (1234.6, nothing),
                "sweeps a draw": (120, nothing),
            }
        )
    )
    assert list(table.index) == chapter.TREATMENTS
    assert table.loc["atoms", ("R-hat", "2016")] == "1.004"
    assert table.loc["intervals", ("ESS", "2014")] == "1,235"
    assert table.loc["floor 0.05", ("sweeps a draw", "2014")] == "120"


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (0.13926, 0.0051, "0.139 ± 0.010"),
        (12.345, 0.61, "12.3 ± 1.2"),
        (-4.21, 6.3, "-4 ± 13"),
        (797.3, 804, "797 ± 1,608"),
        (26.04, 0, "26.0"),
        (26.04, 2e-19, "26.0"),
        (26.04, float("nan"), "26.0"),
    ],
)
def test_with_two_errors(value, error, expected):
    assert chapter.with_two_errors(value, error) == expected


def test_repeated_incomes_are_stored_for_every_treatment():
    found = chapter.repeated()
    numbers = chapter.repeated_numbers(found)
    assert len(numbers) == 2 * 5 * 8
    assert not [key for key, value in numbers.items() if "nan" in value]
    assert chapter.repeated_agreement(found).shape == (5, 6)
    own = found.xs("own value released (%), in an atom", level="measure")["value"]
    drawn, spread = (own.xs(t, level="treatment") for t in ("atoms", "floor 0.05"))
    assert (drawn > spread).all()


def test_repeated_values():
    quarter = pd.DataFrame(
        {
            "income": np.repeat([24_000, 1462, 50, 7, 2923], [12, 11, 10, 8, 1]),
            "group": [*"a" * 12, *"b" * 20, *"c" * 9, "b"],
        }
    )
    found = chapter.repeated_values(quarter, ["group"])
    assert found == {
        "repeat-atoms": 3,
        "repeat-share": pytest.approx(100 * 33 / 42),
        "repeat-unrounded": "1,462",
        "repeat-unrounded-count": 11,
        "repeat-top": "1,462",
        "repeat-twice": 1,
        "repeat-pattern": 100,  # of group a; group c is too small
    }
    without_a = quarter[quarter["group"] != "a"]
    found = chapter.repeated_values(without_a, ["group"])
    assert found["repeat-pattern"] == pytest.approx(100 * 11 / 21)


def test_shared_by():
    count = chapter.shared_by(np.repeat([7, 3, 5], [12, 10, 9]))
    assert count.to_dict() == {3: 10, 7: 12}
    assert list(count.index) == [3, 7]


def heaps(slope, gain):
    return pd.DataFrame(
        {"records": 60, "rank": 30, "slope at 0": slope, "gain at 0.05": gain},
        ["round", "coded"],
    )


def test_slopes_and_floor():
    assert chapter.slopes(heaps([-30, -29.8], -5)) == (
        "-30.0 of -30, -29.8 of -30",
        True,
    )
    assert not chapter.slopes(heaps([-30, -20], -5))[1]
    assert chapter.floor_decides(heaps(-30, [-9, -5]), 3) == (
        "gain -5 at most, and 3",
        True,
    )
    assert not chapter.floor_decides(heaps(-30, [-9, 5]), 30)[1]
    assert not chapter.floor_decides(heaps(-30, [-9, -5]), -1)[1]


def test_agreement_and_prediction(monkeypatch):
    monkeypatch.setattr(chapter, "worst", lambda fit: {"largest R-hat": fit})
    fits = {"as printed": 1.2, "shared slopes": 1.01, "two components": 1.0}
    words, holds = chapter.agreement(fits)
    assert holds
    assert words.startswith("as printed 1.200, ")
    assert not chapter.agreement(fits | {"two components": 1.3})[1]
    loo = {
        name: SimpleNamespace(elpd=elpd)
        for name, elpd in zip(fits, (-10, -30, -20), strict=True)
    }
    assert chapter.prediction(loo)[1]
    assert not chapter.prediction(loo | {"as printed": SimpleNamespace(elpd=-25)})[1]


def test_treatments():
    risk = "mean risk, in an atom"
    found = found_in({risk: (0.18, 0.001)})
    assert not chapter.treatments(found)[1]
    atoms = found.index.get_level_values("treatment") == "atoms"
    found.loc[atoms, "value"] = 0.14
    assert chapter.treatments(found) == (
        "floors and intervals within 0.000; atoms lower by 0.040",
        True,
    )
    floor = found.index.get_level_values("treatment") == "floor 0.2"
    found.loc[floor, "value"] = 0.17
    assert not chapter.treatments(found)[1]
    assert chapter.treatments(chapter.repeated())[1]


def test_statements():
    table = chapter.statements({"a": ("words", np.True_), "b": ("more", False)})
    assert table["holds"].to_list() == [True, False]
    assert table.loc["a", "ours"] == "words"
