from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import tuning_experiments as experiments
import xarray as xr
from scipy import stats
from tuning_variants import FAMILIES

P, PC, PG = FAMILIES["Pairwise"]
M, MC, MG = FAMILIES["Marginal"]


def verdicts(found):
    return {claim: bool(holds) for claim, (_, holds) in found.items()}


@pytest.fixture
def average():
    """Estimates equal to the published ones."""
    return experiments.published_estimates()


@pytest.fixture
def error():
    """Relative errors under which every statement on utility is true."""
    tail = {P: 0.10, PC: 0.08, PG: 0.05, M: 0.20, MC: 0.18, MG: 0.12}
    return pd.DataFrame({q: tail for q in experiments.QUANTITIES})


@pytest.fixture
def risk():
    """Risks under which every statement on them is true but two, on tails."""
    table = pd.DataFrame(
        {
            "Unweighted": (0.20, 0.50, 0.6),
            P: (0.16, 0.40, 0.5),
            PC: (0.17, 0.41, 0.5),
            PG: (0.16, 0.43, 0.6),
            M: (0.16, 0.42, 0.5),
            MC: (0.17, 0.43, 0.5),
            MG: (0.16, 0.44, 0.5),
        },
        index=["mean", "riskiest 1%", "largest"],
    )
    return table.T


def changed(table, row, column, value):
    table = table.copy()
    table.loc[row, column] = value
    return table


# Helpers


def test_a_published_estimate_is_the_first_of_its_three():
    table = experiments.published_estimates()
    assert table.loc[MG, "90% quantile"] == 142526.50
    assert list(table.columns) == experiments.QUANTITIES


def test_large_values_are_written_as_powers():
    assert experiments.interval_in_thousands((1_000, 900, 2e10)) == "1.0 [0.9, 2.0e+07]"


def test_own_estimates_stand_beside_the_published():
    ours = {3: {name: np.full((4, 3), 1_000) for name in experiments.PUBLISHED}}
    table = experiments.beside_published(ours, "Marginal")
    assert table.shape == (20, 2)
    assert table.loc[("median", MC), "published"] == "54.4 [53.1, 55.7]"
    assert (table["file 3"] == "1.0 [1.0, 1.0]").all()


def test_nearer_counts_quantities(error):
    assert experiments.nearer(error, PG, P, experiments.JUDGED) == 3
    assert experiments.nearer(error, P, PG, experiments.JUDGED) == 0
    assert (
        experiments.nearer(changed(error, PG, "median", 1), PG, P, experiments.JUDGED)
        == 2
    )


def test_comparisons_judge_each_file(error):
    by_file = pd.concat({1: error, 2: changed(error, PG, experiments.JUDGED, 1)})
    row = experiments.comparisons(error, error, by_file).iloc[0]
    assert row.to_list() == [4, 3, 3, 0]


def test_nearly_empty_components_by_bayes_theorem():
    rng = np.random.default_rng(1)
    log_y, X = rng.normal(11, 1, size=30), np.ones((30, 1))
    pi, beta, sigma = [0.9995, 0.0005], [[11.0], [12.0]], [1.0, 3.0]
    draws = {
        "pi": (("chain", "draw", "component"), [[pi, pi]]),
        "beta": (("chain", "draw", "component", "column"), [[beta, beta]]),
        "sigma": (("chain", "draw", "component"), [[sigma, sigma]]),
    }
    study = SimpleNamespace(
        fits={"Marginal": {"posterior": xr.DataTree(xr.Dataset(draws))}},
        model=SimpleNamespace(log_y=log_y, X=X),
        weights={"Marginal": np.full(30, 0.2)},
    )
    found = experiments.nearly_empty(study, "Marginal", draws=2)
    wide, narrow = (
        0.0005 * stats.norm(12, 3).pdf(log_y),
        0.9995 * stats.norm(11, 1).pdf(log_y),
    )
    assert found["records per synthetic file"] == pytest.approx(
        (wide / (wide + narrow)).sum()
    )
    assert found["sigma, median"] == found["sigma, 99% quantile"] == 3
    assert found["mean weight"] == pytest.approx(0.2)


def test_mixed_quantile_goes_from_the_weighted_to_the_ordinary_one():
    income, marginal = np.arange(1.0, 101), np.r_[np.ones(50), np.zeros(50)]
    assert experiments.mixed_quantile(income, marginal, 0) == 45
    assert experiments.mixed_quantile(income, marginal, 1) == pytest.approx(90, abs=1)
    assert 45 < experiments.mixed_quantile(income, marginal, 0.5) < 90


def test_way_back_is_1_at_unweighted(risk):
    for base, variant in ((P, PC), (M, MC)):
        assert experiments.way_back(risk, "Unweighted", base, "mean") == 1
        assert experiments.way_back(risk, variant, base, "mean") == pytest.approx(0.25)


def test_numbers_of_means():
    spread = pd.DataFrame(
        {
            "highest mean": [70_000.0, 800_000.0],
            "median of the means": [69_000.0, 66_000.0],
        },
        index=pd.MultiIndex.from_tuples(
            [("file 1", "Pairwise"), ("file 2", "Marginal")]
        ),
    )
    empty = pd.DataFrame(
        {
            "records per synthetic file": [3.5, 1.1, 0.2, 0.4],
        },
        index=["Marginal", "Marginal, c = 1.5", "Pairwise", "Unweighted"],
    )
    found = experiments.numbers_of_means(spread, empty)
    assert found["worst-mean"] == "Marginal, file 2"
    assert found["worst-mean-median"] == 66
    assert [found[f"empty-{k}"] for k in ("m", "others")] == [3.5, 0.4]


def test_numbers_of_risks(risk):
    found = experiments.numbers_of_risks(risk)
    assert found["way-g"] == pytest.approx(30)
    assert found["up-tail-mc"] == pytest.approx(0.01)
    assert found["mean-range"] == pytest.approx(0.01)


def test_numbers_are_named_by_variant():
    values = pd.Series({P: 1, "order 4": 2})
    assert experiments.by_label("err", values, "p o4") == {"err-p": 1, "err-o4": 2}


# Claims


@pytest.mark.parametrize(
    ("again", "base", "unchanged", "holds"),
    [
        (1, 0, True, True),
        (2, 0, True, False),
        (1, 1, True, False),
        (1, 0, False, False),
    ],
)
def test_procedure(again, base, unchanged, holds):
    synthetic = {PG: np.full((2, 3), 1.0), P: np.full((2, 3), float(base))}
    found = experiments.claims_on_procedure(
        34, np.full((2, 3), again), synthetic, unchanged
    )
    assert found["P2-AlgU3"][0].startswith("run 34 times")
    assert verdicts(found) == {"P2-AlgU3": holds}


def test_pairwise_tables(average, error):
    found = experiments.claims_on_pairwise_tables(average, error)
    assert found["P2-Tab06"][0] == (
        "mean 73.2, 71.7, 72.4; data 72.1; off the published changes by 0.0 points, "
        "unaltered data by 0.8; median 51.7, 51.8, 51.4; data 50.2; off the published "
        "changes by 0.0 points, unaltered data by 2.8"
    )
    assert verdicts(found) == {"P2-Tab06": True, "P2-Tab07": True}


@pytest.mark.parametrize(
    ("claim", "row", "quantity", "factor"),
    [
        ("P2-Tab06", PC, "mean", 1.16),
        ("P2-Tab06", P, "median", 0.9),
        ("P2-Tab06", P, "median", 1.16),
        ("P2-Tab07", PG, "90% quantile", 0.84),
        ("P2-Tab07", PG, "90% quantile", 1.1),
        ("P2-Tab07", P, "Earner 2", 0.79),
        ("P2-Tab07", P, "Earner 2", 1.1),
    ],
)
def test_pairwise_tables_fail_far_from_the_published(
    average, error, claim, row, quantity, factor
):
    average.loc[row, quantity] *= factor
    assert not verdicts(experiments.claims_on_pairwise_tables(average, error))[claim]


@pytest.mark.parametrize(
    ("claim", "row", "quantity", "factor"),
    [
        ("P2-SuppTab01", MG, "mean", 0.95),
        ("P2-SuppTab01", MC, "mean", 0.84),
        ("P2-SuppTab02", M, "median", 0.9),
        ("P2-SuppTab02", M, "median", 1.3),
        ("P2-SuppTab03", MC, "90% quantile", 1.17),
        ("P2-SuppTab03", MG, "90% quantile", 1.1),
        ("P2-SuppTab04", M, "Earner 2", 0.2),
        ("P2-SuppTab04", MG, "Earner 2", 1.19),
    ],
)
def test_marginal_tables(average, error, claim, row, quantity, factor):
    assert verdicts(experiments.claims_on_marginal_tables(average, error))[claim]
    average.loc[row, quantity] *= factor
    assert not verdicts(experiments.claims_on_marginal_tables(average, error))[claim]


def test_unaltered_data_are_near_no_published_change(average, error):
    average.loc[:] = average.loc["Data"].to_numpy()
    for quantity in average:
        for family in FAMILIES:
            assert not experiments.is_near(average, family, quantity)
    ours, unaltered = experiments.distances(average * 7, M, "median")
    published = experiments.published_estimates()["median"]
    off = 100 * (published[[M, MC, MG]] / published["Data"] - 1).abs().mean()
    assert ours == pytest.approx(off)
    assert unaltered == pytest.approx(off)


@pytest.mark.parametrize(
    ("claims", "row", "quantity", "claim"),
    [
        (experiments.claims_on_pairwise_tables, PG, "90% quantile", "P2-Tab07"),
        (experiments.claims_on_marginal_tables, MG, "90% quantile", "P2-SuppTab03"),
        (experiments.claims_on_marginal_tables, MG, "Earner 2", "P2-SuppTab04"),
    ],
)
def test_tables_ask_for_a_shift_that_helps(
    average, error, claims, row, quantity, claim
):
    worse = changed(error, row, quantity, 0.5)
    assert not verdicts(claims(average, worse))[claim]


@pytest.mark.parametrize("measure", ["mean", "riskiest 1%"])
@pytest.mark.parametrize(("claim", "row"), [("P2-Fig13", PC), ("P2-SuppFig09", MG)])
def test_violins(risk, claim, row, measure):
    assert verdicts(experiments.claims_on_violins(risk))[claim]
    risk.loc[row, measure] = 0.7
    assert not verdicts(experiments.claims_on_violins(risk))[claim]


@pytest.mark.parametrize(
    ("claim", "published", "ours"),
    [
        ("P2-Claim20", (PG, "mean", 0.5), None),
        ("P2-Claim21", (PC, ["mean", "median"], 0.5), (PC, "Earner 2", 0.12)),
    ],
)
def test_pairwise_errors(error, claim, published, ours):
    found = experiments.claims_on_pairwise_errors
    assert verdicts(found(error, error))[claim]
    assert not verdicts(found(changed(error, *published), error))[claim]
    if ours is not None:  # Claim 20 is about the published tables alone
        assert not verdicts(found(error, changed(error, *ours)))[claim]


@pytest.mark.parametrize(
    ("claim", "published", "ours"),
    [
        ("P2-Claim25", (MC, "mean", 0.21), None),
        ("P2-Claim25", (MG, "mean", 0.19), None),
        ("P2-Claim26", (PG, "mean", 0.5), (PG, "median", 0.14)),
        ("P2-Claim26", (PG, "mean", 0.5), (PC, "median", 0.20)),
    ],
)
def test_marginal_errors(error, claim, published, ours):
    found = experiments.claims_on_marginal_errors
    assert verdicts(found(error, error))[claim]
    assert not verdicts(found(changed(error, *published), error))[claim]
    if ours is not None:
        assert not verdicts(found(error, changed(error, *ours)))[claim]


@pytest.mark.parametrize(
    ("gains", "holds"),
    [
        ((0.005, 0.005, 0.005), True),
        ((0.004, 0.004, 0.004), False),
        ((0.030, 0.030, -0.009), True),
        ((0.030, 0.030, -0.011), False),
    ],
)
def test_improvement_is_half_a_point_and_no_loss_of_a_point(gains, holds):
    error = pd.DataFrame({P: 1.0, PC: 1 - np.array(gains) - 1e-9}, experiments.JUDGED).T
    assert experiments.improves(error, PC, P) == holds


@pytest.mark.parametrize(
    ("claim", "row", "measure", "value"),
    [
        ("P2-Claim22", PC, "riskiest 1%", 0.39),
        ("P2-Claim23", PG, "mean", 0.20),
        ("P2-Claim23", PG, "riskiest 1%", 0.39),
        ("P2-Claim24", P, "mean", 0.21),
    ],
)
def test_pairwise_risks(risk, claim, row, measure, value):
    before = verdicts(experiments.claims_on_pairwise_risks(risk))[claim]
    risk.loc[row, measure] = value
    after = verdicts(experiments.claims_on_pairwise_risks(risk))[claim]
    assert (before, after) == (
        (False, True) if claim == "P2-Claim22" else (True, False)
    )


def test_marginal_tail(risk):
    assert not verdicts(experiments.claim_on_marginal_tail(risk))["P2-Claim27"]
    risk.loc[[MC, MG], "riskiest 1%"] = 0.41
    assert verdicts(experiments.claim_on_marginal_tail(risk))["P2-Claim27"]


@pytest.mark.parametrize("measure", ["mean", "riskiest 1%"])
@pytest.mark.parametrize(("base", "variant"), [(P, PG), (M, MC)])
def test_way_back(risk, base, variant, measure):
    text, holds = experiments.claim_on_way_back(risk)["P2-Claim32"]
    assert holds
    assert f"{PC}, mean 25, tail 10; {PG}, mean 0, tail 30; {MC}, mean 25" in text
    risk.loc[variant, measure] = (
        0.4 * risk.loc[base, measure] + 0.6 * risk.loc["Unweighted", measure]
    )
    assert not verdicts(experiments.claim_on_way_back(risk))["P2-Claim32"]


def test_advice(error, risk):
    def holds(published=error, error=error, risk=risk):
        return verdicts(experiments.claim_on_advice(published, error, risk))[
            "P2-Claim36"
        ]

    assert holds()
    assert not holds(published=changed(error, PC, ["mean", "median"], 1))
    assert not holds(error=changed(error, PC, "median", 0.2))
    assert not holds(error=changed(error, PG, "median", 0.2))
    assert not holds(risk=changed(risk, PC, "riskiest 1%", 0.44))
    assert not holds(risk=changed(risk, PC, "riskiest 1%", 0.39))


def test_family(error):
    def holds(published=error, error=error):
        return verdicts(experiments.claim_on_family(published, error))["P2-Claim39"]

    assert holds()
    assert not holds(published=changed(error, MC, "mean", 0))
    assert not holds(error=changed(error, MC, "median", 0))


def test_worst_fits_are_named_with_their_own_numbers():
    columns = pd.MultiIndex.from_product(
        [["largest R-hat", "smallest ESS"], ["file 1", "file 2"]]
    )
    fits = pd.DataFrame(
        [[1.0, 1.02, 900, 800], [1.01, 1.0, 300, 700]], [P, PG], columns
    )
    assert experiments.numbers_of_convergence(fits) == {
        "rhat-worst": 1.02,
        "rhat-median": 1.005,
        "worst-rhat": f"{P}, file 2",
        "ess-worst": 300,
        "worst-ess": f"{PG}, file 1",
    }


def test_both_constants():
    steps = pd.DataFrame(
        {
            "Pairwise, g = -0.1": [128e3, 129e3],
            P: [133e3, 134e3],
        }
    )
    weights = {P: np.array([0, 1])}
    assert experiments.claim_on_both(steps, weights)["P2-Fut4"] == (
        "90% quantile by chain Pairwise, g = -0.1 128 to 129, Pairwise 133 to 134",
        True,
    )
    one_chain = steps.copy()
    one_chain.loc[1, "Pairwise, g = -0.1"] = 133.5e3
    assert not verdicts(experiments.claim_on_both(one_chain, weights))["P2-Fut4"]
    negative = {P: np.array([-0.1, 1])}
    assert not verdicts(experiments.claim_on_both(steps, negative))["P2-Fut4"]
    numbers = experiments.numbers_of_steps(steps)
    assert (numbers["step-low-gm"], numbers["step-high-p"]) == (128, 134)


def test_claims_bring_all_together(average, error, risk):
    z = {P: np.zeros((2, 3)), PG: np.ones((2, 3))}
    w = {P: np.array([0.2, 0.3]), PG: np.array([0.3, 0.4])}
    study = SimpleNamespace(fits=z, z=z, weights=w)
    found = experiments.claims(
        {1: study},
        {1: w},
        {1: {2: w[P]}},
        again=z[PG],
        centre={1: average},
        error=error,
        risk=risk,
        published=error,
        steps=pd.DataFrame({"Pairwise, g = -0.1": [1], P: [2]}),
    )
    assert len(found) == 21
    assert [k for k, (_, holds) in found.items() if not holds] == [
        "P2-Claim22",
        "P2-Claim27",
    ]


# Errors between fits


def test_standard_errors_of_means_over_files():
    errors = {
        (1, "A"): pd.Series({"x": 3.0, "y": 0.0}),
        (2, "A"): pd.Series({"x": 4.0, "y": 2.0}),
        (1, "B"): pd.Series({"x": 1.0, "y": 1.0}),
        (2, "B"): pd.Series({"x": 0.0, "y": 1.0}),
    }
    found = experiments.error_of_means(errors)
    expected = pd.DataFrame({"A": [2.5, 1], "B": [0.5, np.sqrt(0.5)]}, ["x", "y"]).T
    pd.testing.assert_frame_equal(found, expected)


def test_steps_come_with_two_standard_errors():
    names = [*FAMILIES[P], *FAMILIES[M], "Unweighted", "Scalar, 0.27"]
    plane = pd.DataFrame(
        {
            experiments.MEAN_RISK: np.arange(8) / 100,
            experiments.ERROR: np.arange(8) ** 2.0,
        },
        names,
    )
    error = pd.DataFrame({experiments.MEAN_RISK: 0.003, experiments.ERROR: 0.4}, names)
    error.loc[PC] = 0.004, 0.3
    steps = experiments.steps_with_error(plane, error)
    assert steps.loc[f"{PC}, less {P}"].tolist() == [
        "+0.0100 (0.0100)",
        "+1.00 (1.00)",
    ]
    assert (
        steps.loc[f"{P}, less Unweighted", experiments.MEAN_RISK] == "-0.0600 (0.0085)"
    )
    assert len(steps) == 9


def test_steps_by_file():
    risk = pd.DataFrame(
        {
            "mean": [0.2, 0.25, 0.3],
            "riskiest 1%": 0.5,
            "99% quantile": 0.4,
            "above 0.4 (%)": 1.0,
            "largest": 0.9,
        },
        pd.MultiIndex.from_product([["file 1"], [P, PC, PG]]),
    )
    marginal = risk.rename({P: M, PC: MC, PG: MG}, level=1)
    steps = experiments.steps_by_file(pd.concat([risk, marginal]))
    assert steps.loc[(f"{PG} less {P}", "file 1"), "mean"] == "0.1000"
    assert steps.loc[(f"{MC} less {M}", "file 1"), "mean"] == "0.0500"


def test_files_are_described_one_by_one():
    z = np.array([[1.0, 3.0], [2.0, 8.0], [1.0, 1.0]])
    found = experiments.one_by_one(z)
    assert list(found.values()) == [1, 2, pytest.approx(8 / 3), 5, 8, 80]
