"""What the chapter on intervals computes, and how it judges."""

import count_files
import intervals
import numpy as np
import pandas as pd
import pytest
from judged import normal_estimates
from scipy import stats


def test_total_variation_between_normal_distributions():
    axis = np.linspace(-8, 8, 161)
    p = stats.norm.pdf(axis) * 0.1
    grid, axes = np.outer(p, p), np.array([axis, axis])
    same = intervals.total_variation(axes, grid, [0, 0], np.eye(2))
    apart = intervals.total_variation(axes, grid, [1, 0], np.eye(2))
    assert same == pytest.approx(0, abs=1e-6)
    assert apart == pytest.approx(2 * stats.norm.cdf(0.5) - 1, abs=1e-2)


@pytest.fixture(scope="module")
def files():
    return dict.fromkeys(count_files.SHORT, normal_estimates())


@pytest.fixture(scope="module")
def coverage(files):
    pairs = [(p, name) for p in files for name in count_files.WEIGHTINGS]
    return intervals.coverage_table(
        files,
        dict.fromkeys(pairs, np.zeros(2)),
        {pair: [0.7, 0.7] for pair in pairs if pair[1] != "LW"},
        {"Right model": [0, 1], "Wrong model": [0, np.nan]},
        100,
    )


def test_bootstrap_table(files):
    data = files["Right model"]
    boot = pd.DataFrame({f"{w}/{p}": [1.0, 3.0] for w in ("CW", "LW") for p in (0, 1)})
    table = intervals.bootstrap_table(data, boot, 100)
    row = table.loc[("LW", "log phi")]
    assert row["bootstrap"] == 2
    assert row["sd of bootstrap"] == pytest.approx(np.sqrt(2))
    values = intervals.bootstrap_values(table, n_files=2)
    assert values["boot-error"] == pytest.approx(50)
    assert values["boot-LW-phi"] == pytest.approx(2 / row["files"])


def test_coverage_table(coverage):
    row = coverage.loc[("Right model", "CW", "log mu")]
    assert row["covers the point"] == pytest.approx(0.67, abs=0.06)
    assert row["adjusted covers the point"] == pytest.approx(0.95, abs=0.03)
    assert row["full adjusted covers the point"] == pytest.approx(1, abs=0.01)
    assert row["covers the truth"] == row["covers the point"]
    assert coverage.loc[("Right model", "CW", "log phi"), "covers the truth"] == 0
    assert np.isnan(coverage.loc[("Wrong model", "CW", "log phi"), "covers the truth"])
    assert np.isnan(coverage.loc[("Right model", "LW", "log mu"), "predicted"])
    values = intervals.coverage_values(coverage)
    assert values["cover-right-cw-mu"] == row["covers the point"]
    assert values["largest-error"] == coverage["error"].max()
    assert values["largest-fixed-error"] < values["largest-error"]


def of_coverage(corrected=(0.2, 0.1, 0.05), printed=0.9, sd=1.0, shift=0.0, off=0.03):
    pairs = [
        (population, name, parameter)
        for population in count_files.SHORT
        for name in count_files.WEIGHTINGS
        for parameter in count_files.PARAMETERS
    ]
    table = pd.DataFrame(
        {"covers the point": 0.95, "predicted": 0.95, "error": 0.005},
        index=pd.MultiIndex.from_tuples(pairs),
    )
    for row, value in ((pairs[2], 0.95 + off), (pairs[8], 0.95 - off)):
        table.loc[row, ["covers the point", "predicted"]] = value
    table.loc[pairs[2], "covers the point"] += shift
    table.loc[pairs[9], "predicted"] = np.nan
    distances = pd.DataFrame({"corrected": corrected, "printed": printed})
    deviations = pd.DataFrame({"sd of draws": [sd], "theory": [1.0]})
    scalar = 0.95 + off
    return intervals.claims_on_coverage(distances, table, scalar, deviations)


@pytest.mark.parametrize(
    ("claim", "true", "false"),
    [
        ("P1-Eq28", lambda: of_coverage(printed=0.05), lambda: of_coverage()),
        ("P1-Thm4", lambda: of_coverage(), lambda: of_coverage((0.2, 0.3, 0.05))),
        ("P1-Thm4", lambda: of_coverage(), lambda: of_coverage((0.4, 0.3, 0.2))),
        ("P1-Thm4", lambda: of_coverage(), lambda: of_coverage(sd=1.2)),
        ("P1-Thm4", lambda: of_coverage(), lambda: of_coverage(shift=0.015)),
        ("P1-Claim30", lambda: of_coverage(), lambda: of_coverage(shift=0.03)),
        ("P1-Claim30", lambda: of_coverage(), lambda: of_coverage(off=0.01)),
    ],
)
def test_a_claim_holds_and_fails(claim, true, false):
    assert true()[claim][1]
    assert not false()[claim][1]


def test_words_hold_the_numbers():
    assert of_coverage()["P1-Eq28"][0] == (
        "distance at n = 1600: 0.05 corrected, 0.90 printed"
    )
