import frontier as chapter
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pseudopost as pp

COUNTS = np.random.default_rng(1).negative_binomial(5, 0.2, size=150)


@pytest.fixture(scope="module")
def file():
    return chapter.File(COUNTS, points=31, size=200)


@pytest.fixture(scope="module")
def table(file):
    return file.trace(every=8)


def test_the_grid_has_the_posterior_of_the_model(file):
    mass = np.exp(file.log_posterior(file.counts))
    assert mass.sum() == pytest.approx(1)
    assert file.edge(file.log_posterior(file.counts)) < 1e-4
    # Far above 0 the prior of log mu is flat, so mu is near the mean of the file.
    assert mass @ file.mu == pytest.approx(COUNTS.mean(), rel=0.02)
    sd = np.sqrt(mass @ file.mu**2 - (mass @ file.mu) ** 2)
    assert sd == pytest.approx(COUNTS.std() / np.sqrt(len(COUNTS)), rel=0.15)
    # A scalar weight of a quarter doubles it.
    wide = np.exp(file.log_posterior(file.counts / 4))
    wider = np.sqrt(wide @ file.mu**2 - (wide @ file.mu) ** 2)
    assert wider == pytest.approx(2 * sd, rel=0.15)


def test_weights_by_value_are_those_of_the_package(file):
    state, f = file.own, np.repeat(file.own.f, file.counts)
    ordered = np.sort(COUNTS)
    lw = pp.lipschitz_weights(-f[None])
    for family, c, expected in (
        ("Scalar", 0.3, np.full(150, 0.3)),
        ("LW", 0.5, pp.lipschitz_weights(-f[None], scale=0.5)),
        ("Ceiling", 3.0, np.minimum(1, 3 / f)),
        ("CW", 0.2, pp.count_weights(ordered)),
        (
            "LW_final",
            0.9,
            pp.reweight(lw, np.repeat(state.lw_bounds, file.counts), 0.9),
        ),
    ):
        found = np.repeat(file.weights_at(state, family, c), file.counts)
        np.testing.assert_allclose(found, expected)
        half = np.repeat(file.weights_at(state, family, c, 0.5), file.counts)
        np.testing.assert_allclose(half, expected / 2)


def test_candidates_are_in_the_order_of_the_records(file):
    names = chapter.settings(every=8)
    rows = file.candidates(every=8)
    assert rows.shape == (len(names), 150)
    (place,) = [i for i, s in enumerate(names) if s[0] == "Ceiling" and s[2] == 12]
    f = file.own.f[np.searchsorted(file.values, COUNTS)]
    np.testing.assert_allclose(rows[place], np.minimum(1, 12 / f))


def test_a_point_is_that_of_its_pseudo_posterior(file):
    row = file.point("Scalar", 0.5)
    mass = np.exp(file.log_posterior(0.5 * file.counts))
    assert row["mean"] == pytest.approx(mass @ np.abs(file.mu - COUNTS.mean()))
    draws = np.random.default_rng(2).choice(len(mass), size=(400, 200), p=mass)
    largest = file.absolute.max(axis=1)[draws].max(axis=1).mean()
    assert row["epsilon"] == pytest.approx(largest, rel=0.02)  # twice a half
    assert row["mean weight"] == pytest.approx(0.5)


def test_loss_of_a_scalar_falls_like_its_root(file):
    full, quarter = (file.point("Scalar", c) for c in (1, 0.25))
    assert quarter["loss"] / full["loss"] == pytest.approx(0.5, abs=0.1)
    assert quarter["epsilon"] / full["epsilon"] == pytest.approx(0.27, abs=0.03)


def test_distance_of_a_distribution_from_its_own_file():
    rng = np.random.default_rng(3)
    y = rng.negative_binomial(5, 0.2, size=20_000)
    found = chapter.measures_of(y, np.array([20.0, 23.0]), np.array([5.0, 5.0]))
    assert found["distance"][0] < 0.3
    # With the same shape, three more on average are three counts to the right.
    assert found["distance"][1] == pytest.approx(3, abs=0.3)
    assert found["mean"][1] == pytest.approx(23 - y.mean())
    exact = stats.nbinom.ppf(0.9, 5, 0.2) - np.quantile(y, 0.9)
    assert found["quantile"][0] == pytest.approx(abs(exact))


def test_cheapest_is_read_off_the_curve():
    table = pd.DataFrame(
        {
            "family": ["Scalar"] * 3 + [chapter.VECTOR_SCALAR] * 4,
            "constant": [0.1, 0.5, 1, 5, 5, 6, 6],
            "epsilon": [2.0, 6, 10, 4, 8, 9, 12],
            "distance": [5.0, 3, 2, 2, 4, 1, 1],
        }
    )
    found = chapter.cheapest(table, "epsilon", 8, "distance")
    assert found["Scalar"] == pytest.approx(2.5)
    assert found[chapter.VECTOR_SCALAR] == 2
    assert chapter.cheapest(table, "epsilon", 1, "distance").isna().all()


def test_contrasts_are_paired_by_file(table):
    tables = {("mixture", 150, seed): table for seed in (1, 2)}
    tables |= {("model", 300, seed): table for seed in (1, 2)}
    costs = chapter.costs(tables, 0.6)
    full = table[(table["family"] == "Scalar") & (table["constant"] == 1)].iloc[0]
    row = costs.iloc[0]
    least = chapter.cheapest(table, "epsilon", 0.6 * full["epsilon"], "distance")
    assert row["Scalar"] == pytest.approx(least["Scalar"] - full["distance"])
    costs.loc[0, "LW"] += 2  # of one of two files
    found = chapter.against_scalar(costs)
    gap = found.loc[("mixture", 150, "epsilon", "distance", "LW")]
    assert gap["error"] == pytest.approx(1)
    assert gap["difference"] == pytest.approx(1 + least["LW"] - least["Scalar"])
    assert gap["files"] == 2
    numbers = chapter.numbers_of_contrasts(found)
    assert numbers["mixture-small-epsilon-LW-error"] == pytest.approx(1)
    assert numbers["large-n"] == 300
    assert "cost-model-large-loss" in chapter.numbers_of_costs(costs)
    chapter.show_against_scalar(found)
    plt.close("all")


def test_files_of_both_populations():
    for population in ("mixture", "model"):
        files = chapter.files_of(population, 20_000, [1, 2])
        assert not np.array_equal(*files)
        assert files[0].mean() == pytest.approx(100, abs=2)
        assert files[0].var() == pytest.approx(900, rel=0.1)


def test_middle_of_the_longest_run():
    left = np.array([1, 1, 0, 1, 1, 1, 0, 1], dtype=bool)
    assert chapter.middle_of_longest(left) == 4


def test_same_risk_is_read_off_the_other_curve():
    paths = pd.DataFrame(
        {
            "seed": 1,
            "scheme": ["Scalar", "Scalar", "Vector", "Vector", "Vector"],
            "fit": ["Unweighted", "Scalar", "Vector", "Vector", "Vector"],
            "factor": [1, 0.5, 1, 0.8, 0.5],
            "mean": [0.4, 0.2, 0.3, 0.1, np.nan],
            "ten": [0.9, 0.5, 0.7, 0.6, np.nan],
            "distance": [1.0, 4, 1, 9, np.nan],
            "error": 0.1,
        }
    )
    # Halfway on the scale of logarithms: 2.
    assert chapter.at_same_risk(paths, "mean", "Vector")[1] == pytest.approx(-1)
    found = chapter.numbers_of_risk(paths)
    assert found["risk-lost"] == 1
    assert found["factor-Vector"] == 0.8
    assert found["ten-Scalar"] == 0.5
    assert found["ten-lower"] == 0
    assert (found["odd-Vector"], found["odd-before"]) == (0.6, 0.9)
    assert found["end"] == pytest.approx(1 - 4)
    assert found["scaled-mean"] == pytest.approx(-0.2)
    chapter.show_risk(paths)
    plt.close("all")


def test_figures_and_numbers(table):
    limits = {"epsilon": table["epsilon"].max() / 2, "loss": table["loss"].max() / 2}
    found = chapter.numbers_of_sample(table, limits)
    assert found["points"] == len(table)
    assert found["epsilon-Scalar"] >= table["distance"].min()
    chapter.show_frontiers(table, limits)
    traced = table.assign(k_hat=0.1, ess=100.0, fit=1)
    for name in chapter.MEASURES:
        traced[f"{name} error"] = 0.5
    traced["distance"] += 1
    off = chapter.scores(traced, table, chapter.MEASURES)
    assert off["distance"].to_numpy() == pytest.approx(2)
    reached = pd.Series(True, index=table.index)
    numbers = chapter.numbers_of_traced(traced, reached, [0, 1], off, off.iloc[:3])
    assert numbers["farthest"] == pytest.approx(2)
    assert numbers["fits"] == 2
    assert numbers["from-two"] == len(table)
    assert numbers["refits"] == 3
    chapter.show_traced(table, traced, [0, 1], reached)
    plt.close("all")
