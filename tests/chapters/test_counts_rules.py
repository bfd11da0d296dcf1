import counts_rules as rules
import numpy as np
import pandas as pd
import pytest
import replication
from companion import LEDGER

import pseudopost as pp

Y = np.r_[np.zeros(20), np.arange(1, 81)]


def made(scale=1.0, bounds=None, weights=None, warns=False):
    """A run whose releases are the values times a factor."""
    bounds = np.linspace(1, 2, 100) if bounds is None else bounds
    weights = np.full(100, 0.5) if weights is None else weights
    return rules.Run(weights, np.asarray(bounds), np.stack([Y * scale] * 3), warns)


def measured(begin, *given):
    [finding] = [f for f in rules.FINDINGS if f.name.startswith(begin)]
    return finding.measure(Y, *given)


def test_rows_of_the_ledger_are_those_of_paper_3():
    rows = [row for finding in rules.FINDINGS for row in finding.rows]
    assert set(rows) <= set(pd.read_csv(LEDGER)["id"])
    assert all(row.startswith("P3-") for row in rows)
    names = [finding.name for finding in rules.FINDINGS]
    assert len(set(names)) == len(names) == 18
    needed = {name for finding in rules.FINDINGS for name in finding.needs}
    assert needed == {*rules.NAMES}


def test_measures_of_bounds():
    low, high = made(bounds=np.linspace(1, 2, 100)), made(bounds=np.linspace(1, 4, 100))
    assert measured("LW lowers", high, low) == pytest.approx(0.5)
    assert measured("CW lowers", low, high) == pytest.approx(-1)
    # Of 1 to 2 none is below 1, of 1 to 4 a third is below 2.
    found = measured("The bounds of LW are nearer", low, high)
    assert found == pytest.approx(1 / 3, abs=0.01)
    assert measured("Re-weighting keeps the largest bound of LW", low, low) == 0.1
    assert measured("Re-weighting keeps the largest bound of CW", low, high) == -0.9
    flat = made(bounds=np.full(100, 2.0))
    assert measured("The bounds of LW become", low, flat) > 0
    assert measured("The bounds of CW become", flat, low) < 0


def test_records_of_weight_0_and_1_do_not_count_as_level():
    weights = np.r_[0, 1, np.full(98, 0.5)]
    each = made(bounds=np.r_[0, 5, np.full(98, 2.0)], weights=weights)
    assert rules.spread(each) == pytest.approx(0)


def test_measures_of_weights():
    half, more = made(), made(weights=np.full(100, 0.6))
    assert measured("Re-weighting raises the mean weight of LW", half, more) > 0.09
    assert measured("Re-weighting raises the mean weight of CW", more, half) < 0
    assert measured("No weight", half, more) > 0
    one_less = made(weights=np.r_[0.4, np.full(99, 0.6)])
    assert measured("No weight", half, one_less) < 0
    rising, falling = (made(weights=np.linspace(*e, 100)) for e in ((0, 1), (1, 0)))
    assert measured("The two kinds", rising, rising) == pytest.approx(1)
    assert measured("The two kinds", rising, falling) == pytest.approx(-1)


def test_measures_of_utility():
    exact, low, lower = made(), made(0.8), made(0.5)
    assert measured("LW is nearer to the data than CW", low, lower) > 0
    assert measured("LW is nearer to the data than Unweighted", exact, low) < 0
    assert measured("Re-weighting brings all four", lower, low) == pytest.approx(0.3)
    assert measured("Re-weighting brings mean", exact, low) == pytest.approx(-0.2)
    assert measured("Re-weighting brings CW", low, exact, lower, low) == pytest.approx(
        rules.distance(Y, lower) - 2 * rules.distance(Y, low)
    )
    assert measured("Weights lose", exact, low) == pytest.approx(0.2)
    assert measured("Weights lose", exact, made(1.2)) == 0
    assert measured("Re-weighting reduces", lower, low) == pytest.approx(0.3)


def test_all_findings_are_looked_for_and_a_warning_leaves_them_open():
    weights = np.linspace(0.2, 0.8, 100)
    runs = [
        {name: made(1 + s / 100, weights=weights) for name in rules.NAMES}
        for s in range(5)
    ]
    found = rules.looked_for(Y, runs)
    assert list(found.index) == [finding.name for finding in rules.FINDINGS]
    assert found.loc["Re-weighting keeps the largest bound of LW within 10%"].tolist()[
        0
    ] == pytest.approx(0.1)
    runs[3]["CW"] = made(weights=weights, warns=True)
    again = rules.looked_for(Y, runs)["decision"]
    for finding in rules.FINDINGS:
        if "CW" in finding.needs:
            assert again[finding.name] == "undecided"


@pytest.mark.slow
def test_a_run_is_the_procedure_of_the_paper():
    y = pp.datasets.negative_binomial_mixture(n=60, random_seed=1)
    found = rules.run(pp.NegativeBinomialSynthesizer(y), 1, draws=60, n_datasets=4)
    assert list(found) == list(rules.NAMES)
    assert any(each.warns for each in found.values())
    assert (found["Unweighted"].weights == 1).all()
    np.testing.assert_array_equal(found["CW"].weights, pp.count_weights(y, 0.2))
    final = pp.reweight(found["LW"].weights, found["LW"].bounds, k=0.95)
    np.testing.assert_array_equal(found["LW_final"].weights, final)
    for each in found.values():
        assert each.released.shape == (4, 60)
        assert each.bounds.max() < 100


@pytest.mark.parametrize(("fits", "limit"), [(2, 12.706), (5, 2.776)])
def test_limit_of_the_decisions(fits, limit):
    values = np.linspace(-1, 1, fits)
    error = replication.between_fits(values)
    assert replication.decided(values + 0.999 * limit * error) == "undecided"
    assert replication.decided(values + 1.001 * limit * error) == "seen"
    assert replication.decided(values - 1.001 * limit * error) == "not seen"
