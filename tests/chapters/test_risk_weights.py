import numpy as np
import pandas as pd
import pytest
import risk_weights as chapter
from scipy import stats

import pseudopost as pp


def failing(checks):
    return {claim for claim, (_, holds) in checks.items() if not holds}


# The negative binomial synthesizer without simulation


def test_grid_under_weights_of_0_is_the_prior():
    phi, share, mass = chapter.posterior_grid(np.array([3, 5]), np.zeros(2), size=60)
    assert mass.shape == (60, 60)
    assert share.shape == (60, 60, 1)
    assert mass.sum() == pytest.approx(1)
    below = mass.sum(axis=0)[1 / phi[:, 0] <= 5].sum()
    assert below == pytest.approx(stats.halfcauchy.cdf(5, scale=5), abs=0.05)


def test_grid_agrees_with_a_finer_one():
    y = pp.datasets.negative_binomial_mixture(n=60, random_seed=3)
    values, totals = np.unique(y, return_counts=True)
    means = []
    for size in (40, 80):
        phi, share, mass = chapter.posterior_grid(values, totals, size=size)
        mu = phi[:, 0] * (1 - share[..., 0]) / share[..., 0]
        means.append([(mass @ phi).sum(), (mass * mu).sum()])
    assert np.allclose(*means, rtol=1e-3)
    assert means[0][1] == pytest.approx(y.mean(), rel=0.05)


def test_grid_is_spread_around_the_mass():
    axis, mass = np.arange(10.0), np.array([0, 0, 0, 1e-12, 1, 2, 0, 0, 0, 0])
    assert chapter.around(axis, mass, 5).tolist() == [3, 3.75, 4.5, 5.25, 6]
    assert chapter.around(axis, np.ones(10), 3).tolist() == [0, 4.5, 9]


# Values for the text


def test_extremes_are_half_at_either_end():
    y = np.random.default_rng(1).permutation(1000)
    chosen = chapter.extremes(y)
    assert sorted(y[chosen]) == [*range(20), *range(980, 1000)]


def test_numbers_of_chance():
    before = np.linspace(0, 0.5, 200)
    after, again = before[::-1], before + 0.01
    found = chapter.numbers_of_chance(before, after, again)
    assert found["fallen"] == 50
    assert found["fallen-again"] == 0
    assert found["top-before"] == pytest.approx(before[100:].mean())
    assert found["top-after"] == pytest.approx(before[:100].mean())
    assert found["top-again"] == pytest.approx(before[100:].mean() + 0.01)
    weights = [pp.sigmoid_weights(risk) for risk in (before, again)]
    assert found["seed-correlation"] == np.corrcoef(*weights)[0, 1]


def test_numbers_of_refit():
    y = np.arange(100)
    tails = np.isin(y, [0, 1, 98, 99])
    exact_risk = {
        "Unweighted": np.where(tails, 0.0, 0.2),
        "Vector": np.where(tails, 0.1, 0.2),
    }
    weights = np.where(tails, 1.0, 0.6)
    found = chapter.numbers_of_refit(
        y, exact_risk, {"Unweighted": 9, "Vector": 7}, weights
    )
    assert found["tail-before"] == 0
    assert found["tail-after"] == pytest.approx(0.1)
    assert (found["tail-weight"], found["crowd-weight"]) == (1, pytest.approx(0.6))
    assert found["exact-Vector"] == pytest.approx(0.96 * 0.2 + 0.04 * 0.1)
    assert (found["phi-Unweighted"], found["phi-Vector"]) == (9, 7)


def path_of(means, largest=None):
    """Risks of two records by scalar weight, with given means and largest risks."""
    alphas = (1, 0.1, 0.01, 0)
    largest = np.multiply(means, 1.2) if largest is None else largest
    return {
        alpha: np.array([2 * mean - high, high])
        for alpha, mean, high in zip(alphas, means, largest, strict=True)
    }


FALLING = path_of([0.2, 0.19, 0.1, 0.01])


def test_records_with_a_higher_risk_are_counted():
    path = path_of([0.2, 0.19, 0.1, 0.01], largest=[0.3, 0.25, 0.2, 0.015])
    assert chapter.risen(path, 0.1) == 1
    assert chapter.risen(path, 1) == 0


# Claims


def test_claims_have_one_order():
    groups = [{claim: k} for k, claim in enumerate(reversed(chapter.ORDER))]
    assert list(chapter.claims(*groups)) == list(chapter.ORDER)


GRID = np.linspace(0, 1, 1001)


def curve_of(c_min=1, c_max=1.5, slope=0.8):
    multiplier = c_min + (c_max - c_min) / (1 + np.exp(-slope * (20 * GRID - 10)))
    return multiplier, np.maximum(0, 1 - multiplier * GRID)


PRINTED = np.array([0.0, 0.0, -0.4])


def test_claims_on_curve():
    found = chapter.claims_on_curve(PRINTED, GRID, *curve_of(), 0.679)
    assert not failing(found)
    assert found["P1-EqU02"][0] == "c(0) = 1.0002, c(0.5) = 1.2500, c(1) = 1.4998"
    assert found["P1-Eq09"][0] == "printed: largest weight 0; meant: 0 to 1"


@pytest.mark.parametrize(
    ("printed", "multiplier", "curve", "zero", "broken"),
    [
        (PRINTED + 0.1, *curve_of(), 0.679, {"P1-Eq09"}),
        (PRINTED, curve_of()[0], curve_of()[1] ** 2, 0.679, None),
        (PRINTED, *curve_of(slope=1), 0.679, {"P1-Eq09", "P1-EqU02"}),
        (PRINTED, *curve_of(c_max=2), 0.679, {"P1-Eq09", "P1-EqU02", "P1-Set09"}),
        (PRINTED, *curve_of(), 0.69, {"P1-Set09"}),
    ],
)
def test_claims_on_curve_can_fail(printed, multiplier, curve, zero, broken):
    found = chapter.claims_on_curve(printed, GRID, multiplier, curve, zero)
    assert failing(found) == (broken or set(found))


STEPS = {0: -10.0, 0.25: -10.5, 0.5: -11.0, 1: -12.0}


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({}, True),
        ({"at_one": -15.4}, False),
        ({"by_hand": -11.9}, False),
        ({"of_record": -1.9}, False),
        ({"steps": STEPS | {0.5: -11.2}}, False),
    ],
)
def test_power_outside_the_sum(change, holds):
    good = {
        "ordinary": -15.3,
        "at_one": -15.3,
        "weighted": -12.1,
        "by_hand": -12.1,
        "steps": STEPS,
        "of_record": -2.0,
    }
    found = chapter.claims_on_mixture(**(good | change))
    assert bool(found["P1-Eq10"][1]) is holds


class Fit(dict):
    """As much of a fit as the check looks at."""

    def __init__(self, weights, model="NegativeBinomialSynthesizer"):
        super().__init__(constant_data={"weights": weights})
        self.attrs = {"model": model}


def procedure(**changes):
    weights, exact = np.array([1.0, 0.5, 0.7]), np.array([0.1, 0.2, 0.3])
    inputs = {
        "fit": {"Unweighted": Fit(np.ones(3)), "Vector": Fit(weights)},
        "synthetic": {"Unweighted": np.zeros((20, 3)), "Vector": np.zeros((20, 3))},
        "weights": {"Vector": weights},
        "risk": {"Vector": exact + 0.01},
        "exact_risk": {"Unweighted": exact + 0.05, "Vector": exact},
    }
    for name, change in changes.items():
        inputs[name] = inputs[name] | {"Vector": change}
    return chapter.claims_on_procedure(**inputs)["P1-AlgU1"]


def test_procedure():
    assert procedure()[1]
    assert procedure()[0] == "exact mean risk 0.250, then 0.200"


@pytest.mark.parametrize(
    "change",
    [
        {"fit": Fit(np.ones(3))},
        {"fit": Fit(np.array([1.0, 0.5, 0.7]), "PoissonSynthesizer")},
        {"synthetic": np.zeros((19, 3))},
        {"risk": np.array([0.2, 0.3, 0.4])},
    ],
)
def test_procedure_can_fail(change):
    assert not procedure(**change)[1]


RISK = np.array([0.3, 0.1, 0.2])
LOG_LIKELIHOOD = np.array([[-1.0, -2.0, -3.0], [-2.0, -2.0, 1.0]])


@pytest.mark.parametrize(
    ("weights", "multiplier", "holds"),
    [
        ([0.6, 0.9, 0.8], [1, 1.2, 1.5], True),
        ([0.6, 0.8, 0.9], [1, 1.2, 1.5], False),
        ([0.6, 0.9, 0.8], [1, 1.5, 1.2], False),
        ([0.6, 1.1, 0.8], [1, 1.2, 1.5], False),
    ],
)
def test_weights_keep_the_order(weights, multiplier, holds):
    found = chapter.claims_on_order(RISK, np.array(weights), multiplier, LOG_LIKELIHOOD)
    assert bool(found["P1-Claim35"][1]) is holds


@pytest.mark.parametrize(
    ("path", "holds"),
    [
        (FALLING, True),
        (path_of([0.2, 0.21, 0.1, 0.01], largest=[0.3, 0.25, 0.2, 0.015]), False),
        (path_of([0.2, 0.19, 0.1, 0.01], largest=[0.2, 0.25, 0.15, 0.015]), False),
        (path_of([0.2, 0.19, 0.1, 0.06]), False),
    ],
)
def test_risk_falls_down_to_the_prior(path, holds):
    assert bool(chapter.claims_on_path(path)["P1-Claim34"][1]) is holds


def test_words_about_the_path():
    path = path_of([0.2, 0.19, 0.1, 0.01], largest=[0.3, 0.25, 0.2, 0.015])
    words = chapter.claims_on_path(path)["P1-Claim34"][0]
    assert words == "mean 0.200 to 0.010; at weight 0.1 higher for 1 of 2 records"


def test_generality_needs_every_run():
    table = pd.DataFrame(np.ones((8, 3)))
    assert not failing(chapter.claims_on_generality(table))
    both = {"P1-Claim33", "P2-Claim33"}
    assert failing(chapter.claims_on_generality(table[1:])) == both
    table.loc[3, 1] = np.nan
    assert failing(chapter.claims_on_generality(table)) == both
