import delete_every_record as chapter
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from count_grid import Grid

import pseudopost as pp

VALUES = np.array([0, 2, 4, 5, 9])
COUNTS = np.array([0, 10, 20, 12, 1])


@pytest.fixture(scope="module")
def grid():
    return Grid(VALUES, np.linspace(0.5, 2.3, 61), np.linspace(0.01, 2, 71), 200)


def test_losses_of_deleting_and_adding_are_two_sides_of_one_pair(grid):
    smaller = COUNTS.copy()
    smaller[4] = 0
    for kind in ("Unweighted", "CW", "LW"):
        (less,) = chapter.exact_losses(grid, COUNTS, [(4, -1)], kind).to_dict("records")
        (more,) = chapter.exact_losses(grid, smaller, [(4, 1)], kind).to_dict("records")
        assert less["weight"] == pytest.approx(more["weight"])
        # Draws from both sides count, and the pair is the same.
        assert less["recomputed"] == pytest.approx(more["recomputed"])
        assert less["own side"] <= less["recomputed"]
        assert less["mean"] >= 0
        if kind == "Unweighted":
            assert less["kept"] == pytest.approx(less["recomputed"])


def test_a_record_of_weight_0_loses_nothing_with_kept_weights(grid):
    (row,) = chapter.exact_losses(grid, COUNTS, [(4, -1)], "LW").to_dict("records")
    assert row["weight"] == 0
    assert row["kept"] == pytest.approx(0, abs=1e-12)
    assert row["recomputed"] > 0.1


def test_weights_of_a_pattern_without_a_record():
    rng = np.random.default_rng(1)
    y, codes = rng.lognormal(3, 1, size=40), rng.integers(3, size=40)
    codes[7] = 3  # alone
    for order in (1, 2):
        weights, without = chapter.pattern_weights(y, codes, order)
        for i in (0, 7):
            rest = np.delete(np.arange(40), i)
            expected = pp.pairwise_weights(
                y[rest],
                None,
                patterns=codes[rest],
                order=order,
                ball="signed",
                alone=1.0,
            )
            np.testing.assert_allclose(np.delete(without(i), i), expected)
        assert (without(0) != weights).any()


def test_two_fits_give_the_same_constant():
    rng = np.random.default_rng(1)
    # Normal(0, 1) and Normal(1, 1): change = x - 1/2 plus a constant.
    here, there = rng.normal(size=20_000), rng.normal(1, size=20_000)
    found = chapter.normaliser_from_both_sides(here + 2, there + 2)
    assert found == pytest.approx((2.5, 2.5), abs=0.05)


def test_figures_and_numbers():
    table = pd.DataFrame(
        {
            "count": [1, 5, 0],
            "weight": [1.0, 0.5, 0],
            "kept": [0.2, 0.3, 0.0],
            "recomputed": [0.25, 0.3, 2.0],
            "own side": [0.2, 0.3, 1.8],
            "mean": [0.01, 0.02, 0.5],
        }
    )
    found = chapter.numbers_of_exact(table, epsilon=6.0)
    assert found["exact-worst-count"] == 0
    assert found["exact-epsilon"] == 6
    assert found["exact-others"] == 0.3
    assert found["exact-others-gap"] == pytest.approx(0.05)
    chapter.show_exact(table, 6.0)
    sizes = pd.DataFrame(
        {
            "weights": ["LW", "CW"] * 2,
            "copies": [1, 1, 10, 10],
            "epsilon": [10.0, 5, 9, 5],
            "recomputed": [2.0, 0.1, 11, 0.01],
            "mean": [0.1, 0.0, 3, 0.0],
        }
    )
    assert chapter.numbers_of_sizes(sizes)["size-LW-10-epsilon"] == 9
    chapter.show_sizes(sizes)
    more = {"LW": table, "Unweighted": table}
    assert chapter.numbers_of_additions(more)["add-LW-zero"] == 2
    chapter.show_additions(more)
    estimated = pd.DataFrame(
        {
            "largest": [0.3, 0.2, 1.5],
            "mean": [0.01, 0.02, 0.4],
            "k_hat": [0.1, 0.2, 0.6],
        }
    )
    off = chapter.numbers_of_estimates(table, estimated)
    assert off["estimate-off"] == pytest.approx(0.1)
    assert off["exact-worst-side"] == 1.8
    assert off["estimate-worst"] == 1.5
    chapter.show_estimates(table, estimated)
    y, losses = np.array([-5.0, 10, 20]), {"Marginal": estimated, "Pairwise": estimated}
    assert chapter.numbers_of_mixture(y, losses)["mix-Marginal-rest"] == 1.5
    assert chapter.summary(y, losses, losses)["k-hat above 0.7"].tolist() == [0, 0]
    chapter.show_mixture(y, losses)
    again = pd.Series({"largest": 4.0, "mean": 1.0, "k_hat": 0.3})
    refit = chapter.numbers_of_refit(losses, (1.0, 1.3), again, "Marginal", 2)
    assert refit["refit-off"] == pytest.approx(0.3)
    assert (refit["refit-here"], refit["refit-largest"]) == (1.5, 4)
    assert refit["mix-refits"] == 0
    plt.close("all")


def test_epsilon_is_that_of_the_weighted_fit(grid):
    weights = np.array([0, 0.5, 1, 1, 0.2])
    draws = grid.expected_bounds(weights * COUNTS)
    assert chapter.epsilon_of(grid, COUNTS, weights) == pytest.approx(
        2 * (weights * draws).max()
    )
    assert (draws >= grid.expected_bounds(COUNTS)).any()


def test_files_of_the_population():
    found = chapter.files_of_population([1, 2], n=300, points=41, size=100)
    assert found.index.tolist() == [1, 2]
    assert (found["gap"] >= 0).all()
    assert (found["edge"] < 1e-3).all()
    assert (found["loss"] < found["epsilon"]).all()
    numbers = chapter.numbers_of_files(found)
    assert numbers["files"] == 2
    assert numbers["files-above"] == 0
    assert numbers["files-low"] == found["loss"].min()
