from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import tuning_variants
import tuning_weights as tuning

import pseudopost as pp

P, PC, PG = tuning_variants.FAMILIES["Pairwise"]
M, MC, MG = tuning_variants.FAMILIES["Marginal"]
VARIANTS = {
    **{name: (2, *s) for name, s in zip((P, PC, PG), tuning.SETTINGS, strict=True)},
    **{name: (1, *s) for name, s in zip((M, MC, MG), tuning.SETTINGS, strict=True)},
}


def verdicts(found):
    return {claim: bool(holds) for claim, (_, holds) in found.items()}


@pytest.fixture
def toy():
    table = pd.DataFrame({"weight": [0, 0.05, 0.2, 0.5, 0.7, 1]})
    for c, g in ((1.5, 0), (1, 0.1), (1, -0.1), (100, 0)):
        table[f"c = {c:g}, g = {g:g}"] = pp.adjust_weights(table["weight"], c, g)
    return table


@pytest.fixture
def incomes():
    return {1: np.concatenate([[-5.0], np.linspace(1_000, 400_000, 199)])}


@pytest.fixture
def raw(incomes):
    """Marginal and pairwise weights: 1 for the loss, and falling with income."""
    income = incomes[1]
    falling = np.linspace(1, 0, 200)
    marginal, pairwise = 0.01 + 0.2 * falling, 0.11 + 0.2 * falling
    return {
        1: {1: np.where(income < 0, 1, marginal), 2: np.where(income < 0, 1, pairwise)}
    }


@pytest.fixture
def weights(raw):
    return {
        1: {
            name: pp.adjust_weights(raw[1][order], c, g)
            for name, (order, c, g) in VARIANTS.items()
        }
    }


def changed(table, row, column, value):
    table = table.copy()
    table.loc[row, column] = value
    return table


# Files, weights and values


def test_the_variants_have_the_settings_of_the_two_families():
    assert {k: tuning_variants.VARIANTS[k] for k in VARIANTS} == VARIANTS


def test_order_1_gives_marginal_weights_of_each_file_and_order_2_higher_ones():
    data = pp.datasets.consumer_expenditure(200, random_seed=1)
    y, known = data["income"].to_numpy(), ["gender", "age", "region"]
    study = SimpleNamespace(data=data, y=y, known=known)
    raw, weights = tuning_variants.make_weights({4: study})
    risk = pp.identification_risk(y, y, 0.2, data[known], alone=1.0, ball="signed")
    gains = y >= 0
    assert np.allclose(raw[4][1][gains], 1 - risk[gains])
    assert (raw[4][2] >= raw[4][1] - 1e-12).all()
    assert np.allclose(weights[4][PG], np.minimum(raw[4][2] + 0.1, 1))
    assert (weights[4]["Unweighted"] == 1).all()
    assert (weights[4]["Scalar, 0.27"] == 0.27).all()


def test_line_of_adjusted_marginal_weights_is_exact():
    marginal = np.array([0.1, 0.2, 0.3, 1.0])
    found = tuning_variants.line(marginal, pp.adjust_weights(marginal, 1.5, 0.1))
    assert (found["a"], found["b"]) == (pytest.approx(0.1), pytest.approx(1.5))
    assert found["ordinary share"] == pytest.approx(0.1 / 0.4)
    assert found["R squared"] == pytest.approx(1)
    assert tuning_variants.line(marginal, np.full(4, 0.3))[
        "ordinary share"
    ] == pytest.approx(1)


def test_levels_count_the_losses(weights, incomes):
    found = tuning.levels(incomes[1], weights[1])
    assert found.loc[P, ["exactly 1", "of these losses"]].tolist() == [1, 1]
    assert found.loc[P, "largest below 1"] == weights[1][P][1]
    values = tuning.numbers_of_levels(found)
    assert values["ones"] == 1
    assert values["c-all"] == pytest.approx(100)


def test_numbers_of_shares():
    seen = pd.DataFrame(
        {
            "a": 0.2,
            "b": 0.8,
            "ordinary share": 0.5,
            "R squared": 0.9,
            "weighted 90% quantile": np.arange(5),
        },
        [M, MC, MG, P, "order 4"],
    )
    seen.loc["Unweighted"] = seen.loc[M] + 7
    found = tuning.numbers_of_shares(seen)
    assert found["line-ratio"] == 0.25
    assert (found["share-p"], found["seen-q90-mc"]) == (50, 1)


def test_raising_c_leaves_the_weighted_quantile_until_weights_are_clipped(raw, incomes):
    income, base = incomes[1], raw[1][1].copy()
    base[0] = 0.1  # no loss, so that all weights are scaled
    quantile = [
        tuning_variants.weighted_quantile(income, pp.adjust_weights(base, c))
        for c in (1, 4, 40)
    ]
    assert quantile[0] == quantile[1] < quantile[2]


# Claims


def test_equations_hold_for_weights_as_defined(toy, weights, incomes, raw):
    risk = {1: 1 - raw[1][1]}
    unchanged = tuning_variants.is_unchanged(weights, raw)
    found = tuning.claims_on_equations(toy, weights, incomes, risk, unchanged)
    assert all(verdicts(found).values())


def test_equations_fail_for_other_weights_risks_or_toys(toy, weights, incomes, raw):
    def found(toy=toy, weights=weights, risk=1 - raw[1][1], unchanged=True):
        return verdicts(
            tuning.claims_on_equations(toy, weights, incomes, {1: risk}, unchanged)
        )

    other = {1: weights[1] | {PC: weights[1][P], MC: weights[1][M]}}
    assert not any(found(weights=other).values())
    assert not found(risk=1 - raw[1][1] / 2)["P2-SuppEq02"]
    assert not found(toy=changed(toy, 4, "c = 1.5, g = 0", 1.05))["P2-Eq16"]
    assert not found(toy=changed(toy, 0, "c = 1, g = -0.1", -0.1))["P2-Eq17"]
    assert not found(unchanged=False)["P2-Eq17"]


def test_weights_of_1_are_the_losses_alone(weights, incomes):
    assert tuning.is_adjusted_everywhere(weights, incomes, P)
    assert not tuning.is_adjusted_everywhere(weights, {1: np.abs(incomes[1])}, P)


def test_unchanged_compares_with_the_raw_weights(weights, raw):
    assert tuning_variants.is_unchanged(weights, raw)
    assert not tuning_variants.is_unchanged(weights, {1: {2: raw[1][1]}})


def test_toys(toy):
    assert tuning.claims_on_toys(toy)["P2-Toy2"] == ("0.5 to 0.75", True)
    assert tuning.claims_on_toys(toy)["P2-Toy3"] == ("0.2 to 0.30", True)
    half = changed(toy, 3, "c = 1.5, g = 0", 0.7)
    assert verdicts(tuning.claims_on_toys(half)) == {"P2-Toy2": False, "P2-Toy3": True}
    fifth = changed(toy, 2, "c = 1.5, g = 0", 0.4)
    assert verdicts(tuning.claims_on_toys(fifth)) == {"P2-Toy2": True, "P2-Toy3": False}


def test_settings():
    found = tuning.claims_on_settings(VARIANTS)
    assert found["P2-Set07"] == ("(1, 0), (1.5, 0), (1, 0.1)", True)
    other = tuning.claims_on_settings(VARIANTS | {MG: (1, 1, 0.2)})
    assert verdicts(other) == {"P2-Set07": True, "P2-Set08": False}


FIGURES = ["P2-Fig10", "P2-Fig11", "P2-Fig12"]


SUPPLEMENT = ["P2-SuppFig06", "P2-SuppFig07", "P2-SuppFig08"]


def test_figures_of_weights(weights, incomes):
    found = tuning.claims_on_weight_figures(weights, incomes)
    assert found["P2-Fig10"][0] == "0.110 to 0.31, median 0.21; 1 at 1"
    assert list(found) == FIGURES + SUPPLEMENT
    assert all(verdicts(found).values())


def test_figures_fail_at_other_levels(weights, incomes):
    high = {1: {name: np.minimum(1, w + 0.3) for name, w in weights[1].items()}}
    found = verdicts(tuning.claims_on_weight_figures(high, incomes))
    assert not any(found[k] for k in FIGURES)
    swapped = {1: weights[1] | {M: weights[1][P], P: weights[1][M]}}
    found = verdicts(tuning.claims_on_weight_figures(swapped, incomes))
    assert not any(found[k] for k in SUPPLEMENT)
    unscaled = {1: weights[1] | {PC: weights[1][P]}}
    found = verdicts(tuning.claims_on_weight_figures(unscaled, incomes))
    assert [found[k] for k in FIGURES] == [True, False, False]


@pytest.mark.parametrize("change", ["far from a quarter", "rich", "no loss"])
def test_levels(weights, incomes, change):
    assert verdicts(tuning.claim_on_levels(weights, incomes)) == {"P2-Claim19": True}
    w, y = weights[1][P].copy(), incomes[1].copy()
    if change == "far from a quarter":
        w[1:100] = 0.6
    if change == "rich":
        w[-1] = 0.25
    if change == "no loss":
        y[0] = 1
    found = tuning.claim_on_levels({1: {P: w}}, {1: y})
    assert verdicts(found) == {"P2-Claim19": False}


def test_constants(toy, weights):
    found = tuning.claim_on_constants(toy, weights[1][P])
    assert found["P2-Claim18"] == (
        "0.2 and 0.5 gain 0.10 and 0.25 by c, 0.10 and 0.10 by g",
        True,
    )


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [(3, "c = 1.5, g = 0", 0.55), (2, "c = 1, g = 0.1", 0.4), (0, "c = 100, g = 0", 1)],
)
def test_constants_fail_in_other_toys(toy, weights, row, column, value):
    other = changed(toy, row, column, value)
    assert not verdicts(tuning.claim_on_constants(other, weights[1][P]))["P2-Claim18"]


def test_claims_bring_all_together(toy, weights, incomes, raw):
    study = SimpleNamespace(y=incomes[1], risk_of=lambda y: 1 - raw[1][1])
    found = tuning.claims(toy, {1: study}, weights, raw)
    assert len(found) == 15
    assert all(verdicts(found).values())
