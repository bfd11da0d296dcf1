from types import SimpleNamespace

import ce_income_referee as referee
import income_runs
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from companion import LEDGER
from judged import verdicts

N = 400
SEEDS = (1, 2)
FILES = pd.MultiIndex.from_product([SEEDS, income_runs.SYNTHESIZERS])


def table(rows):
    return pd.DataFrame(rows, index=FILES).T


def chains_of(levels):
    "Both risks, the same in each of five chains of both files."
    names = ["seed", "synthesizer", "chain"]
    index = pd.MultiIndex.from_product([SEEDS, levels, range(1, 6)], names=names)
    risk = np.array([levels[name] for _, name, _ in index])
    return pd.DataFrame({"mean risk": risk, income_runs.HIGHEST: risk}, index)


@pytest.fixture
def case():
    "What every statement holds for."
    differences = {
        "mean risk": -0.1,
        income_runs.HIGHEST: -0.1,
        income_runs.SPREAD: 0.1,
        **dict.fromkeys(income_runs.WIDTHS, -0.1),
    }
    return {
        "fan": table(
            {
                income_runs.MIDDLE: [0.6, 0.7] * 2,
                income_runs.WIDTHS[0]: [50.0, 40.0] * 2,
                income_runs.WIDTHS[1]: [800.0, 700.0] * 2,
            }
        ),
        "closer": pd.DataFrame(
            {"nearer": [50, 45], "clearly nearer": [3, 3], "clearly farther": [9, 9]},
            index=SEEDS,
        ).T,
        "lower": table(
            {
                "mean": [0.2, 0.1] * 2,
                "mean of the highest 1%": [0.4, 0.3] * 2,
                "the ten riskiest of before": [0.3, 0.2] * 2,
            }
        ).T,
        "between_fits": pd.DataFrame(
            {"difference": differences, "standard error": 0.04}
        ),
        "chains": chains_of({"Unweighted": 0.2, "Vector": 0.1}),
        "floor": pd.DataFrame(0.1, index=["shuffled in the file"], columns=SEEDS),
        "together": pd.DataFrame(
            {"Unweighted": [1, 0.3, 0.02], "Vector": [0.8, 0.2, 0.03]}
            | {"Combined": [0.2, 0.1, 0.09]},
            index=["mean weight", "mean risk", income_runs.KS],
        ),
        "by_radius": pd.DataFrame(
            {"Top-coded": 0.8, "Unweighted": 0.2, "Vector": 0.1},
            index=[0.02, 0.05, 0.1, 0.2, 0.3, 0.5],
        ),
    }


def test_every_statement_holds_where_it_should(case):
    found = referee.claims(**case)
    assert set(found) <= set(pd.read_csv(LEDGER)["id"])
    assert all(verdicts(found).values())
    assert found["P1-Fut1"][0].startswith("weights 0.25 times Vector's: mean risk 0.2")
    assert found["P1-Fut3"][0].endswith("Vector 0.100, 0.100, 0.100, 0.100")


def cell(name, row, column, value):
    "A change of one cell of a table."

    def change(case):
        case[name].loc[row, column] = value

    return change


def riskier_in_one_file(case):
    case["chains"].loc[(2, "Vector"), "mean risk"] = 0.21


VECTOR = (2, "Vector")
LOWER = ("P1-Claim24", "P1-Claim38")
WIDE = ("P1-Fig17", "P1-Claim22")


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        (cell("chains", (2, "Vector", 3), "mean risk", 0.21), LOWER),
        (cell("chains", (2, "Vector", 3), income_runs.HIGHEST, 0.21), LOWER),
        (riskier_in_one_file, LOWER),
        (cell("between_fits", income_runs.SPREAD, "difference", -0.1), WIDE),
        (cell("between_fits", income_runs.WIDTHS[0], "standard error", 0.06), WIDE),
        (cell("between_fits", income_runs.WIDTHS[1], "difference", 0.1), WIDE),
        (cell("closer", "clearly nearer", 2, 2), ("P1-Claim22",)),
        (cell("lower", VECTOR, "mean", 0.4), LOWER),
        (cell("between_fits", "mean risk", "standard error", 0.06), LOWER),
        (cell("between_fits", income_runs.HIGHEST, "difference", 0.1), LOWER),
        (cell("together", "mean risk", "Combined", 0.25), ("P1-Claim38", "P1-Fut1")),
        (cell("together", "mean risk", "Unweighted", 0.15), ("P1-Claim38",)),
        (cell("by_radius", 0.3, "Vector", 0.25), ("P1-Fut3",)),
        (cell("by_radius", 0.5, "Vector", 0.25), ()),
    ],
)
def test_a_statement_fails_where_it_should(case, change, fails):
    change(case)
    assert {
        key for key, holds in verdicts(referee.claims(**case)).items() if not holds
    } == set(fails)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_shuffled_within_groups(rng):
    y, groups = np.arange(100.0), rng.integers(0, 4, 100)
    dealt = referee.shuffled(y, groups, rng)
    assert not np.array_equal(dealt, y)
    for group in range(4):
        assert set(dealt[groups == group]) == set(y[groups == group])


def test_nearer_counts_records(rng):
    y = np.zeros(4)
    far, noise = np.array([10.0, 10, 10, 1]), rng.uniform(-0.1, 0.1, (200, 4))
    vector = np.array([1.0, 1, 20, 1]) + noise
    found = referee.nearer(y, far + noise, vector)
    assert found["clearly nearer"] == 50
    assert found["clearly farther"] == 25


def test_nearer_counts_what_fits_differ_by(rng):
    y, z = np.zeros(300), rng.normal(10, 0.3, (200, 300))
    shift = np.repeat(rng.normal(0, 0.3, (5, 1)), 40, axis=0)  # from chain to chain
    found = referee.nearer(y, z, z[::-1] - 0.1 + shift)
    assert found["clearly nearer"] + found["clearly farther"] < 20
    alone = referee.nearer(y, z, rng.normal(9.9, 0.3, (200, 300)))
    assert alone["clearly nearer"] > 80


def test_sides_of_chains():
    chains = chains_of({"Unweighted": 0.2, "Vector": 0.1})
    chains.loc[(2, "Vector", 5), "mean risk"] = 0.3
    same = referee.same_in_each_chain(chains)
    assert same.to_dict("index") == {
        1: {"mean risk": True, income_runs.HIGHEST: True},
        2: {"mean risk": False, income_runs.HIGHEST: True},
    }
    found = referee.text_on_chains(chains)
    assert (found["sides"], found["sides-same"]) == (4, 3)
    assert found["chain-closest"] == pytest.approx(1 - 0.3 / 0.2)


def test_each_chain_has_its_own_data_sets():
    y = np.linspace(1000, 300_000, N)
    s = SimpleNamespace(y=y, model=SimpleNamespace(shift=1000), error=1.0)
    s.curves = {"Data": income_runs.densities(s.y)}
    s.more = {
        name: s.y * np.repeat(1 + scale * np.arange(5) / 10, 2)[:, None]
        for name, scale in (("Unweighted", 0), ("Vector", 1))
    }
    s.risk_of = lambda z: np.full(N, (z / s.y).mean())
    found = referee.each_chain({7: s})
    assert found.loc[(7, "Unweighted"), "mean risk"].to_numpy() == pytest.approx(1)
    expected = [1, 1.1, 1.2, 1.3, 1.4]
    assert found.loc[(7, "Vector"), "mean risk"].to_numpy() == pytest.approx(expected)
    assert list(found) == list(referee.PANELS)


def study_with(levels):
    "A study in which all risks are the same."
    s = SimpleNamespace(risk={name: np.full(N, v) for name, v in levels.items()})
    s.riskiest = np.arange(10)
    return s


def test_the_ten_fall_as_a_share_of_what_they_were():
    levels = {"Unweighted": 0.4, "again": 0.3, "Vector": 0.1}
    studies = {1: study_with(levels), 2: study_with(levels | {"again": 0.1})}
    found = referee.text_on_ten(studies)
    assert found["share-again"] == pytest.approx((0.25 + 0.75) / 2)
    assert found["share-vector"] == pytest.approx(0.75)
    ten = income_runs.RISKIEST
    assert found["share-published"] == pytest.approx(
        1 - ten["Vector"].mean() / ten["Unweighted"].mean()
    )


def test_figure_of_the_ten_has_no_middle_step_for_the_paper():
    referee.plot_ten({1: study_with({"Unweighted": 0.4, "again": 0.3, "Vector": 0.1})})
    first, published = plt.gcf().axes
    assert [len(line.get_xdata()) for line in first.lines] == [3] * 11
    assert [line.get_xdata().tolist() for line in published.lines] == [[0, 2]] * 11
    plt.close("all")


def test_numbers_of_the_text(case):
    fall = referee.text_on_fall(case["lower"], case["between_fits"])
    assert (fall["fell"], fall["fall"], fall["ten-Vector"]) == (2, 0.5, 0.2)
    assert fall["se-mean"] == pytest.approx(2.5)
    envelope = referee.text_on_envelope(case["closer"], case["between_fits"])
    assert envelope["clearly-nearer"] == 3
    assert envelope["se-spread"] == pytest.approx(2.5)
    radii = referee.text_on_radii(case["by_radius"])
    assert np.isclose(radii["factor-5"], 8)
