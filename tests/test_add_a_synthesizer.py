"""The tests that a chapter shows run; its file and its checks are what it says."""

import add_a_synthesizer as add
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import pseudopost as pp

pytest.register_assert_rewrite("test_two_part")

from test_two_part import *  # noqa: E402, F403

pytestmark = pytest.mark.slow


@pytest.fixture
def checks():
    return {
        "coverage": pp.Coverage(np.array([0.9, 1, 0.97]), np.full(3, 0.03)),
        "difference": 0.0,
        "prior_distance": 0.03,
        "removed": 1e-6,
        "bounds": {"Unweighted": [9, 1], "LW": [3, 1], "Capped": [6, 1]},
        "cap": 6.0,
        "stored": [1, 1, 1, 2, 3, 4],
    }


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        (None, None),
        ("coverage", pp.Coverage(np.array([0.9, 0.5, 0.97]), np.full(3, 0.03))),
        ("difference", 1e-3),
        ("prior_distance", 0.5),
        ("removed", 0.1),
        ("bounds", {"Unweighted": [9, 1], "LW": [9, 1], "Capped": [6, 1]}),
        ("bounds", {"Unweighted": [9, 1], "LW": [3, 1], "Capped": [7, 1]}),
        ("stored", [1, 2, 3, 4, 5, 6]),
    ],
)
def test_each_check_can_fail(checks, name, wrong):
    found = add.claims(**checks | ({name: wrong} if name else {}))
    assert len(found) == 7
    assert list(found.values()).count(False) == (name is not None)


def test_the_file_has_zeros_labels_and_cents():
    y = add.overtime(2000, random_seed=1)
    assert list(y.index[:2]) == ["P000", "P001"]
    assert y.index.is_unique
    assert abs((y == 0).mean() - 0.4) < 4 * np.sqrt(0.24 / 2000)
    assert y[y > 0].min() >= 0.01
    np.testing.assert_array_equal(y, y.round(2))
    pd.testing.assert_series_equal(y, add.overtime(2000, random_seed=1))


def test_description_and_numbers_of_the_text():
    table = pd.DataFrame({"Data": add.described([[0, 0, 1, 2], [0, 0, 3, 100]])}).T
    assert list(table.loc["Data"][:2]) == [50, 2.5]
    assert table.loc["Data", "99% quantile"] > table.loc["Data", "90% quantile"] > 3
    bounds = {"LW": np.array([1, 4.0]), "Capped": np.array([6, 6, 2.0])}
    found = add.text(bounds, 6.0, table)
    assert found["at-cap"] == 2
    assert (found["epsilon-LW"], found["epsilon-Capped"]) == (8, 12)
    assert found["paid-Data"] == 2.5


def test_an_interval_that_misses_is_orange():
    chosen = np.array([[0.1, 1], [0.5, 2]])
    low, high = chosen - 0.05, chosen + 0.05
    low[1, 0] = 0.52
    add.draw_recovery(chosen, low, high, ["share", "sigma"])
    first, second = (ax.collections[0].get_colors() for ax in plt.gcf().axes)
    plt.close("all")
    assert not np.array_equal(first[0], first[1])
    np.testing.assert_array_equal(second[0], second[1])
