import households_rules as rules
import numpy as np
import pandas as pd
import pytest
import replication
from companion import LEDGER
from scipy import stats

import pseudopost as pp

NAMES = ["Unweighted", "Vector", "Marginal", "Pairwise", "Lifted", "Scalar"]


@pytest.fixture(scope="module")
def of():
    people = pp.datasets.consumer_expenditure(n=1200, random_seed=1)
    people = rules.usable(people)
    return rules.Households(people.drop(columns="income"), people["income"].to_numpy())


def blurred(of, sd, seed, files=replication.FITS * 4, median=0.0):
    "Incomes times a factor, another in each file."
    rng = np.random.default_rng(seed)
    return of.y * np.exp(rng.normal(median, sd, (files, len(of.y))))


def test_rows_of_the_ledger_are_those_of_papers_1_and_2():
    rows = [row for finding in rules.FINDINGS for row in finding.rows]
    assert set(rows) <= set(pd.read_csv(LEDGER)["id"])
    assert all(row.startswith(("P1-", "P2-")) for row in rows)
    names = [finding.name for finding in rules.FINDINGS]
    assert len(set(names)) == len(names) == 20
    assert {name for finding in rules.FINDINGS for name in finding.needs} == {*NAMES}


def test_zeros_losses_and_suppressed_places_are_left_out():
    people = pd.DataFrame(
        {
            "income": [5.0, 0.0, -1.0, 7.0, 8.0],
            "region": pd.Categorical(["West", "West", "West", "Suppressed", "South"]),
            "cbsa": pd.Categorical(["Large", "Large", "Large", "Large", "Suppressed"]),
        }
    )
    kept = rules.usable(people)
    assert kept["income"].to_list() == [5.0]
    assert [*kept["region"].cat.categories] == ["West"]
    assert [*kept.index] == [0]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1, 2, 1, 2, 1], "seen"),
        ([-1, -2, -1, -2, -1], "not seen"),
        ([1, -1, 1, -1, 1], "undecided"),
        ([0, 0, 0, 0, 0], "undecided"),
        ([3, 3, 3, 3, 3], "seen"),
    ],
)
def test_decision(values, said):
    assert replication.decided(values) == said


def test_one_decision_in_twenty_is_chance_where_nothing_is_true():
    values = np.random.default_rng(1).normal(size=(4000, replication.FITS))
    wrong = np.mean([replication.decided(each) != "undecided" for each in values])
    assert wrong == pytest.approx(0.05, abs=0.015)


def test_the_limit_is_that_of_a_t_test():
    values = np.random.default_rng(2).normal(0.8, 1, (300, replication.FITS))
    p = stats.ttest_1samp(values, 0, axis=1).pvalue
    decided = [replication.decided(each) != "undecided" for each in values]
    np.testing.assert_array_equal(decided, p < 0.05)


def measured(of, name, *releases):
    [finding] = [each for each in rules.FINDINGS if each.name.startswith(name)]
    return finding.measure(of, *releases)


@pytest.mark.parametrize(
    ("name", "less"),
    [
        ("Marginal weights lower the mean risk", False),
        ("Vector weights lower the mean risk", False),
        ("Vector weights lower the risk of the riskiest", False),
        ("Fewer records have a risk above .5", False),
        ("Vector weights lower the main peak", False),
        ("Vector weights spread", False),
        ("The 90% quantile is nearer", True),
        ("At the same mean risk it is nearer", True),
    ],
)
def test_comparisons_turn_with_their_synthesizers(of, name, less):
    "A file that is blurred more has lower risks, lower peaks, and more error."
    sharp, blunt = blurred(of, 0.2, 1), blurred(of, 0.8, 2)
    there, back = measured(of, name, sharp, blunt), measured(of, name, blunt, sharp)
    assert (there > 0 > back) != less
    assert there == pytest.approx(-back)


def test_comparisons_of_spread(of):
    narrow, wide = blurred(of, 2.0, 1), blurred(of, 0.3, 2)
    for name in ("Risks vary less", "Lifted weights"):
        assert measured(of, name, wide, narrow) > 0 > measured(of, name, narrow, wide)


def test_levels(of):
    name = "Synthesis alone more than halves"
    assert measured(of, name, blurred(of, 1.0, 1)) > 0
    assert measured(of, name, blurred(of, 0.05, 1)) < 0
    name = "Unweighted keeps each of four"
    assert measured(of, name, np.tile(of.y, (4, 1))) == pytest.approx(0.1)
    assert measured(of, name, np.tile(0.8 * of.y, (4, 1))) == pytest.approx(-0.1)
    for name, factor in (
        ("Marginal weights raise", 1.2),
        ("Marginal weights lower the 90%", 0.8),
    ):
        assert measured(of, name, factor * of.y[None]) == pytest.approx(0.2)
        assert measured(of, name, of.y[None] / factor) < 0
    name = "A smaller radius lowers"
    assert measured(of, name, blurred(of, 0.5, 1)) > 0
    # All balls have their own value, and fewer others if they are small.
    assert measured(of, name, of.y[None]) < 0
    name = "The mean risks under"
    same = blurred(of, 0.5, 1)
    assert measured(of, name, same, same) == 0.01
    assert measured(of, name, same, blurred(of, 0.1, 1)) < 0


def test_rises_are_counted_against_chance(of):
    name = "Fewer risks rise by .25"
    sharp, blunt = blurred(of, 0.2, 1), blurred(of, 2.0, 2)
    assert measured(of, name, blunt, sharp) < 0 < measured(of, name, sharp, blunt)


def test_intervals(of):
    "Of the mean and the coefficient: both from draws of the data, none far off."
    rng = np.random.default_rng(1)
    near = of.y * np.exp(rng.normal(0, 0.01, (20, len(of.y))))
    assert rules.in_intervals(of, near) == 2
    assert rules.in_intervals(of, 2 * near) == 0
    name = "Of two intervals"
    assert measured(of, name, near) == -0.5
    assert measured(of, name, 2 * near) == 1.5


def test_what_is_about_the_file_alone(of):
    low = measured(of, "Most of the riskiest")
    found = rules.risk(of, of.y)
    order = np.argsort(-found, kind="stable")[: round(0.01 * len(of.y))]
    assert low == np.mean(of.y[order] < np.quantile(of.y, 0.975)) - 0.5
    # Equal incomes, so that nobody is outside anybody's ball.
    equal = of._replace(y=np.full(len(of.y), 1000.0))
    assert measured(of, "Top-coding leaves most") > measured(equal, "Top-coding leaves")


def test_table(of):
    released = {name: blurred(of, 0.3, seed) for seed, name in enumerate(NAMES)}
    table = rules.looked_for(of, released, warned=["Vector"])
    assert [*table.index] == [finding.name for finding in rules.FINDINGS]
    assert set(table["decision"]) <= {"seen", "not seen", "undecided"}
    for finding in rules.FINDINGS:
        row = table.loc[finding.name]
        if not finding.needs:
            assert np.isnan(row["standard error"])
            assert row["decision"] == ("seen" if row["measure"] > 0 else "not seen")
        elif "Vector" in finding.needs:
            assert row["decision"] == "undecided"
    name = "Marginal weights lower the 90% quantile"
    by_chain = [
        -rules.errors(of, z)[2]
        for z in np.split(released["Marginal"], replication.FITS)
    ]
    assert table.loc[name, "measure"] == pytest.approx(np.mean(by_chain))
    expected = np.std(by_chain, ddof=1) / np.sqrt(replication.FITS)
    assert table.loc[name, "standard error"] == pytest.approx(expected)
