import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import seven_releases as seven
import utility
from judged import set_to, verdicts
from scipy import stats

import pseudopost as pp

SIZES = (2, 3, 5, 10, 20)


# Intervals


def test_bootstrap_with_shared_resampling_is_the_package_s():
    assert utility.bootstrap_apart(random_seed=3, n_resamples=3000) < 0.02


def test_combined_ends_are_the_rule_s():
    q, u = np.array([[1.0, 2.0, 4.0], [0.0, 0.5, 0.0]]), np.full((2, 3), 0.3)
    low, high = utility.combined_ends(q, u)
    for k in range(2):
        rule = pp.combine_partially_synthetic(q[k], u[k])
        assert (low[k], high[k]) == (rule.low, rule.high)
        assert seven.combined(q[k], u[k]) == (rule.estimate, rule.low, rule.high)


def test_coverage_counts_intervals_that_contain_0():
    def intervals(y, rng):
        mean = y.mean(axis=1)
        half = stats.t.ppf(0.975, y.shape[1] - 1) * stats.sem(y, axis=1)
        return {
            "t": (mean - half, mean + half),
            "never": (mean + 5, mean + 6),
            "at the end": (np.zeros(len(y)), np.ones(len(y))),
        }

    found = utility.coverage(intervals, 10, 2000, random_seed=1)
    assert found.loc["t", "covers"] == pytest.approx(0.95, abs=0.02)
    assert found.loc["never", "covers"] == 0
    assert found.loc["at the end", "covers"] == 1
    assert np.allclose(found.loc[["never", "at the end"], "width"], 1)


def test_normal_coverage():
    assert utility.normal_coverage(1) == pytest.approx(0.95, abs=1e-4)
    assert utility.normal_coverage(1 / 3) == pytest.approx(0.742, abs=1e-3)


@pytest.fixture
def ends():
    """Five analyses of three releases; the standard error of the data is 2."""
    data = np.array([np.zeros(5), np.full(5, -3.92), np.full(5, 3.92)])
    return {
        "Data": data,
        "Permuted": data + 10,
        "Top-coded": data - 4,
        "Permuted in cells": 2 * data + np.arange(5),
    }


def test_shifts_in_standard_errors_of_the_data(ends):
    found = utility.in_errors(ends, "coefficient of a degree")
    assert np.allclose(found["Data"], [0, -1.96, 1.96])
    assert np.allclose(found["Permuted"], [5, 3.04, 6.96])
    assert np.allclose(found["Permuted in cells"], [2, -1.92, 5.92])
    numbers = utility.analysis_numbers(ends)
    assert numbers["permuted-earner"] == pytest.approx(5)
    assert numbers["top-earner"] == pytest.approx(-2)
    assert numbers["cells-degree"] == pytest.approx(2)


def test_figure_of_analyses_has_a_row_for_each_release(ends):
    utility.draw_analyses(ends)
    axes = plt.gcf().axes
    assert [ax.get_title() for ax in axes] == [*utility.PANELS.values()]
    assert [t.get_text() for t in axes[0].get_yticklabels()] == [*ends]
    plt.close("all")


def test_noise_of_synthesis():
    each = [
        pp.Interval(np.array([q]), np.array([q - 1.96]), np.array([q + 1.96]))
        for q in (1.0, 3.0, 5.0)
    ]
    assert np.allclose(utility.noise_of_synthesis(each), 4)


# Numbers for the text


def test_numbers_under_weights():
    cases = ["scalar 0.2, n = 100", "tail 0.2, n = 100", "tail 0.2, n = 400"]
    wrong = pd.DataFrame(0.5, index=["Combining rule", "Bootstrap"], columns=cases)
    found = utility.weight_numbers(
        wrong, lambda y: np.where(y > 1, 0.2, 1.0), random_seed=1
    )
    # 0.8 of the density at 1, over the total weight.
    exact = -0.8 * stats.norm.pdf(1) / (1 - 0.8 * stats.norm.sf(1))
    assert found["tail-centre"] == pytest.approx(exact, abs=0.005)
    assert found["tail-errors-400"] == 2 * found["tail-errors-100"]


def test_numbers_on_the_noise():
    noise = pd.DataFrame({"Marginal": {"mean": 1.0, "median": 20.0}})
    found = utility.noise_numbers(noise)
    assert found["noise-Marginal"] == 20
    assert found["noise-width"] == pytest.approx(100 * (1 - 1 / np.sqrt(2)))


def test_published_numbers():
    found = utility.overlap_numbers()
    assert found["published-shift"] == pytest.approx(5.45, abs=0.01)
    assert found["published-narrow"] == 0
    assert found["published-overlap"] == pytest.approx(0.413, abs=0.001)


# Verdicts


@pytest.fixture
def share():
    rows = {
        "Combining rule": [0.93, 0.95, 0.95, 0.95, 0.95],
        "Bootstrap, pooled": [0.9, 0.94, 0.97, 0.98, 0.99],
        "Bootstrap": [0.83, 0.87, 0.9, 0.92, 0.94],
        "One file": [0.74] * 5,
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=SIZES)


def coverage_verdicts(share):
    error = np.sqrt(share * (1 - share) / 4000)
    return verdicts(utility.coverage_claims(share, error))


def test_coverage_claims_hold(share):
    assert all(coverage_verdicts(share).values())


@pytest.mark.parametrize(
    ("claim", "row", "m", "value"),
    [
        ("combining rule covers 95%, m of 3 or more", "Combining rule", 10, 0.93),
        ("one file covers 74%", "One file", 5, 0.78),
        ("bootstrap covers too little, m = 2", "Bootstrap", 2, 0.89),
        ("bootstrap loses at most 3 points, m = 20", "Bootstrap", 20, 0.91),
        ("pooled bootstrap covers too much, m = 20", "Bootstrap, pooled", 20, 0.98),
    ],
)
def test_coverage_claims_can_fail(share, claim, row, m, value):
    found = coverage_verdicts(set_to(share, row, m, value))
    assert [name for name, holds in found.items() if not holds] == [claim]


def test_two_files_may_cover_less(share):
    assert all(coverage_verdicts(set_to(share, "Combining rule", 2, 0.8)).values())


@pytest.mark.parametrize(("apart", "holds"), [(0.004, True), (0.006, False)])
def test_bootstrap_claim(apart, holds):
    assert list(verdicts(utility.bootstrap_claim(apart)).values()) == [holds]


def test_weight_claims():
    wrong = pd.DataFrame(
        {"scalar 0.2, n = 100": 0.95, "tail 0.2, n = 400": 0.1},
        index=["Confidential file", "Combining rule", "Bootstrap"],
    )
    wrong.loc["Confidential file", "tail 0.2, n = 400"] = 0.95
    scalar, tail = utility.weight_claims(wrong)
    assert verdicts(utility.weight_claims(wrong)) == {scalar: True, tail: True}
    low = set_to(wrong, "Combining rule", "scalar 0.2, n = 100", 0.93)
    assert verdicts(utility.weight_claims(low)) == {scalar: False, tail: True}
    high = set_to(wrong, "Bootstrap", "tail 0.2, n = 400", 0.3)
    assert verdicts(utility.weight_claims(high)) == {scalar: True, tail: False}


def test_overlap_claim():
    overlaps = {
        name: pp.interval_overlap(ends, utility.REFERENCE)
        for name, ends in utility.INTERVALS.items()
    }
    assert all(verdicts(utility.overlap_claim(overlaps)).values())
    overlaps["Shifted by two"] = 0.6
    assert not any(verdicts(utility.overlap_claim(overlaps)).values())
