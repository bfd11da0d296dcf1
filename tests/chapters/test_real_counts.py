import counts_rules
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
import real_counts as study
import replication
from companion import LEDGER
from counts_rules import NAMES, Run

import pseudopost as pp


def made(persons=60, seed=1):
    """A file of three years a person, half of the persons under each of two plans."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(persons), 3)
    paid = person % 2 == 1
    level = np.repeat(rng.gamma(2, 1.5, persons), 3) / np.where(paid, 2, 1)
    return pd.DataFrame(
        {
            "visits": rng.poisson(level),
            "coinsurance": np.where(paid, 95, 0),
            "deductible": 0,
            "person": person,
        }
    )


def run_of(y, shift=0, seed=1):
    """A run whose synthesizers release the file, some visits more."""
    rng = np.random.default_rng(seed)
    return {
        name: Run(
            rng.uniform(size=len(y)),
            rng.uniform(1, 2, len(y)),
            np.stack([y + place + shift] * 4),
            False,
        )
        for place, name in enumerate(NAMES)
    }


def test_every_so_many_persons():
    kept = study.every(made(), 10)
    assert kept["person"].unique().tolist() == [0, 10, 20, 30, 40, 50]
    assert kept.index.tolist() == list(range(18))


def test_plans():
    file = pd.DataFrame(
        {"coinsurance": [0, 25, 50, 95, 0, 100], "deductible": [0, 0, 0, 0, 1, 1]}
    )
    assert study.plan_of(file).tolist() == study.PLANS


def test_years_of_a_person():
    person = [0, 0, 1, 2, 2, 2]
    assert study.pairs_of_years(person).tolist() == [0, 3, 4]
    values = np.array([[1, 2, 9, 3, 4, 5], [1, 2, 9, 3, 1, 3]])
    found = study.correlation(values, person)
    assert found[0] == pytest.approx(1)
    assert found[1] == pytest.approx(np.corrcoef([1, 3, 1], [2, 1, 3])[0, 1])


def test_ratio_of_means():
    plan = ["free", "95%", "25%", "free"]
    assert study.ratio([4, 2, 100, 2], plan) == 1.5
    np.testing.assert_allclose(
        study.ratio([[4, 2, 0, 2], [1, 1, 0, 1]], plan), [1.5, 1]
    )


def test_description():
    found = study.described(made())
    assert found["rows"] == 180
    assert found["persons"] == 60
    assert found["rows a person, most"] == 3


def test_predictive_check_of_the_file_itself():
    file = made()
    y = file["visits"].to_numpy()
    table = study.predictive_check(file, {"copy": np.stack([y, y])})
    for feature, row in table.iterrows():
        assert row["copy"].split()[0] == row["data"], feature


def test_effect_is_that_of_the_means():
    file = made(400)
    y = file["visits"].to_numpy()
    [estimate], [variance] = study.effect(file, y)
    assert np.exp(estimate) == pytest.approx(study.ratio(y, study.plan_of(file)))
    # Rows of a person are alike, so the error is larger than if they were not.
    shuffled = file.assign(person=np.arange(len(file)))
    [same], [smaller] = study.effect(shuffled, y)
    assert same == pytest.approx(estimate)
    assert variance > 1.2 * smaller


def test_effects_are_combined():
    file = made(100)
    y = file["visits"].to_numpy()
    found = study.effects(file, {"LW": np.stack([y, y + 1, y])})
    expected = pp.combine_partially_synthetic(
        *study.effect(file, np.stack([y, y + 1, y]))
    )
    assert found["LW"] == pytest.approx(tuple(np.exp([*expected[:1], *expected[3:]])))
    assert found["Data"][1] < found["Data"][0] < found["Data"][2]


def test_properties_are_means_over_runs():
    y = np.array([0, 1, 5, 9])
    table = study.properties(y, [run_of(y), run_of(y, 2, seed=2)])
    assert table.loc["Unweighted", "mean visits"] == y.mean() + 1
    assert table.loc["Unweighted", "none (%)"] == 12.5
    bounds = [run_of(y, seed=s)["LW"].bounds.max() for s in (1, 2)]
    assert table.loc["LW", "epsilon"] == pytest.approx(2 * np.mean(bounds))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pseudopost.ConvergenceWarning")  # short chains
def test_weights_of_persons_bound_persons():
    file = made(80)
    y, begins = file["visits"].to_numpy(), np.arange(0, 240, 3)
    model = pp.NegativeBinomialSynthesizer(y)
    run = counts_rules.run(model, 1, draws=200)

    def of_persons(terms, weights):
        return np.add.reduceat(terms * weights, begins, axis=1)

    def rows_of(values):
        return np.repeat(values, 3)

    found = study.persons(model, run, of_persons, rows_of, 1, 200)
    assert list(found) == ["Unweighted", "LW", "LW_final", *study.OF_PERSONS]
    each, bound = found["LW of persons"]
    assert (np.ptp(each.weights.reshape(80, 3), axis=1) == 0).all()
    assert each.weights.min() == 0
    assert bound < found["LW"][1] < found["Unweighted"][1]
    assert found["LW_final of persons"][0].weights.mean() > each.weights.mean()
    table = study.rows_and_persons(y, study.plan_of(file), [found, found])
    assert table.loc["LW", "epsilon of a person"] == pytest.approx(2 * found["LW"][1])
    numbers = study.person_numbers(table)
    assert numbers["person-persons"] == pytest.approx(2 * bound)


def decided(decision):
    names = [finding.name for finding in counts_rules.FINDINGS]
    columns = {"measure": 1.0, "standard error": 0.5, "decision": decision}
    return pd.DataFrame(columns, index=names)


def test_ledger_says_what_was_found_with_each_model():
    found = {"visits alone": decided("seen"), "with predictors": decided("not seen")}
    said = replication.for_ledger(counts_rules.FINDINGS, found, study.WHERE)
    assert said["P3-Claim06"] == (
        "The bounds of LW are nearer to their largest than those of CW: seen without "
        "predictors, not seen with predictors"
    )
    assert said["P3-Claim05"].count(":") == 2
    rows = {row for finding in counts_rules.FINDINGS for row in finding.rows}
    assert set(said) == rows
    table = replication.table_of(found)
    assert table.loc["LW lowers the largest bound", "visits alone"] == (
        "seen (1.000 ± 0.500)"
    )
    numbers = replication.decision_numbers(found)
    assert numbers["seen-visits-alone"] == 18
    assert numbers["not-seen-with-predictors"] == 18
    assert numbers["undecided-with-predictors"] == 0


def test_ledger_and_chapter_agree():
    path = LEDGER.parent / "p3" / "real-counts.ipynb"
    [printed] = [
        cell.outputs[0].text
        for cell in nbformat.read(path, as_version=4).cells
        if "nbval-check-output" in cell.metadata.get("tags", [])
    ]
    found = {name: {} for name in ("sample", "visits alone", "with predictors")}
    for finding in counts_rules.FINDINGS:
        [line] = [
            each for each in printed.splitlines() if each.startswith(finding.name)
        ]
        decisions = pd.Series(line.removeprefix(finding.name).split("  ")).str.strip()
        for name, decision in zip(found, decisions[decisions != ""], strict=True):
            found[name][finding.name] = decision
    tables = {name: pd.DataFrame({"decision": d}) for name, d in found.items()}
    ledger = pd.read_csv(LEDGER, index_col="id", keep_default_na=False)
    said = replication.for_ledger(counts_rules.FINDINGS, tables, study.WHERE)
    assert ledger.loc[list(said), "real_files"].to_dict() == said
    of_p3 = ledger.loc[ledger.index.str.startswith("P3-"), "real_files"]
    assert (of_p3 != "").sum() == len(said)


def test_figures():
    file = made()
    y = file["visits"].to_numpy()
    runs = {name: run_of(y) for name in study.WHERE}
    ratios = {"Data": (2, 1, 3), "LW": (1, 0.5, 2)}
    for draw, given in (
        (study.draw_file, (file,)),
        (study.draw_bounds, (y, runs)),
        (study.draw_weights, (y, runs)),
        (study.draw_released, (y, runs)),
        (study.draw_effects, (dict.fromkeys(runs, ratios),)),
    ):
        draw(*given)
        assert len(plt.gcf().axes) == 2
        plt.close("all")


def test_numbers_of_the_text():
    file = made()
    y = file["visits"].to_numpy()
    numbers = study.file_numbers(file)
    assert numbers["persons"] == 60
    assert numbers["ratio-low"] < numbers["ratio"] < numbers["ratio-high"]
    runs = {name: [run_of(y), run_of(y, 1)] for name in study.WHERE}
    assert study.run_numbers(y, runs)["none-alone-CW"] == 0
    effects = study.effect_numbers(study.plan_of(file), runs)
    assert effects["ratio-se-given-Unweighted"] > 0
    counts = np.r_[np.zeros(3, int), 1, 4, 5, 6, 20]
    weights = study.weight_numbers(counts)
    assert weights["cw-0"] == 3 / 8
    assert weights["cw-4"] == 1 / 8
    assert weights["cw-5"] == 3 / 8
