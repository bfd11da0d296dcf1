"""What the chapter on consistency computes, and how it judges."""

import consistency
import large_files
import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

CORRECT = consistency.negative_binomial(100, 10)


def test_standard_deviation_of_the_model():
    mean = CORRECT @ consistency.COUNTS
    variance = CORRECT @ (consistency.COUNTS - mean) ** 2
    assert consistency.model_sd(100, 10) ** 2 == pytest.approx(variance)


def test_points_of_the_normal_model():
    tails = np.exp(-(consistency.POINTS**2) / 2)
    assert consistency.normal_point(tails) == pytest.approx((0, 0.5), abs=1e-4)
    assert consistency.normal_error() < 1e-4


def test_reversed_point_of_a_correct_model_is_the_truth():
    mass = CORRECT / CORRECT.sum()
    assert consistency.reversed_point(mass) == pytest.approx([100, 10], rel=1e-3)


def test_mean_score_is_zero_at_the_truth_only():
    ones = np.ones(len(CORRECT))
    at_truth = consistency.mean_score_for_phi(ones, CORRECT, 100, 10)
    narrower = consistency.mean_score_for_phi(ones, CORRECT, 100, 20)
    assert at_truth == pytest.approx(0, abs=1e-9)
    assert narrower < -1e-3


def test_estimates_are_those_of_a_direct_search():
    y = np.random.default_rng(1).choice(consistency.COUNTS, 50, p=CORRECT)
    weights = np.linspace(0.1, 1, 50)
    sums = np.bincount(y, weights, minlength=len(consistency.COUNTS))

    def loss(log_phi):
        mu, phi = np.average(y, weights=weights), np.exp(log_phi)
        return -weights @ stats.nbinom.logpmf(y, phi, phi / (phi + mu))

    best = optimize.minimize_scalar(loss, bounds=(0, 5), method="bounded").x
    (mu,), (phi,) = consistency.estimates(sums[None])
    assert mu == pytest.approx(np.average(y, weights=weights))
    assert phi == pytest.approx(np.exp(best), rel=1e-3)


def test_posterior_draws_have_the_spread_of_a_large_file():
    rng = np.random.default_rng(1)
    y = rng.negative_binomial(10, 10 / 110, size=2000)
    mus, phis = consistency.posterior_draws(y, rng, S=4000)
    assert mus.shape == phis.shape == (4000, 1)
    assert mus.std() == pytest.approx(np.sqrt(1100 / 2000), rel=0.1)

    (mu,), (phi,) = consistency.estimates(np.bincount(y, minlength=601)[None])

    def value(p):
        return stats.nbinom.logpmf(y, p, p / (p + mu)).sum()

    bend = (value(phi + 0.1) - 2 * value(phi) + value(phi - 0.1)) / 0.1**2
    assert phis.std() == pytest.approx((-bend) ** -0.5, rel=0.1)


def test_lipschitz_values_of_two_draws():
    y = np.array([50, 100, 150])
    mus, phis = np.array([[90.0], [110.0]]), np.array([[10.0], [12.0]])
    values = consistency.lipschitz_values(y, mus, phis)
    bounds = np.abs(stats.nbinom.logpmf(y, phis, phis / (phis + mus))).max(0)
    assert values["plain-bound"] == pytest.approx(bounds.max())
    assert values["lw-bound"] < values["plain-bound"]
    ratio = values["lw-bound"] / values["plain-bound"]
    assert values["scalar-kept"] == pytest.approx(ratio)


def test_release_of_a_regression():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    file = pd.DataFrame({"value": np.exp(1 + 2 * x + 0.1 * rng.normal(size=300))})
    file["x"], file["group"] = x, pd.Categorical(rng.choice(["a", "b"], 300))
    released = consistency.regression_release(file, rng, m=3)
    assert released.shape == (3, 300)
    noise = np.log(released) - 1 - 2 * x
    assert noise.std() == pytest.approx(0.1, rel=0.15)
    assert abs(noise.mean()) < 0.05


def test_prior_mass():
    radius = large_files.xi(100)
    end = np.sqrt(2 * (np.sqrt(1 + radius**2) - 1))
    exact = 1 - 2 * stats.norm.sf(end / 10)
    assert consistency.prior_mass_by_quadrature(radius) == pytest.approx(exact, 0.02)


@pytest.mark.parametrize(
    ("n_below", "common", "meets"),
    [(10, 0.99999, True), (11, 0.99999, False), (10, 0.97, False)],
)
def test_condition_a2(n_below, common, meets):
    assert consistency.meets_a2(np.repeat([0.5, common], [n_below, 100 - n_below])) == (
        meets
    )


GROWING = pd.DataFrame(
    {
        "bias": [-0.2, -0.1, -0.05, -0.3, -0.3, -0.3],
        "mass outside": [0.5, 0.2, 0.01, 0.8, 0.9, 1.0],
        "covers 0": [0.9] * 6,
    },
    index=pd.MultiIndex.from_product(
        [["sqrt(n) largest (A2)", "30% largest"], [250, 1000, 4000]]
    ),
)


def test_values_for_the_text():
    population = {
        (truth, name): (100, phi)
        for truth in ("mixture", "NB(100, 10)")
        for name, phi in (("weights 1", 12), ("CW", 34))
    }
    values = consistency.point_values(population, {"Unweighted": (12.5, 0.1)})
    assert values["phi-correct-CW"] == 34
    assert values["large-plain-se"] == 0.1
    values = consistency.growing_values(GROWING)
    assert values == {"covers-a2-250": 90, "covers-a2-4000": 90}
    sd = {("NB(100, 10)", n, name): n for n in (250, 16_000) for name in ("LW", "A2")}
    values = consistency.table_values(pd.Series(sd, name="sd").to_frame())
    assert values["nb-LW-250"] == 250
    assert values["nb-A2-16000"] == 16_000


def forms(**changes):
    names = ("product", "forms", "closed form", "ratio", "ratio at theta*")
    return consistency.claims_on_forms(dict.fromkeys(names, 0.0) | changes)


def point(printed=13.9, cw=34.0):
    large = {"Unweighted": (12.5, 0.02), "CW": (34.0, 0.1)}
    return consistency.claim_on_point(printed, 12.5, cw, large)


def prior(mass=(0.02, 0.02, 0.01, 0.01), quadrature=None):
    a1 = {"prior mass": mass, "by quadrature": quadrature or mass}
    return consistency.claims_on_prior(
        pd.DataFrame(a1 | {"bound 1/n": [0.04, 0.01, 0.0025, 0.0006]})
    )


def growth(weights=(0.5, 0.5, 1, 1, 1, 1), **changes):
    growing = GROWING.copy()
    for column, values in changes.items():
        growing[column.replace("_", " ")] = values
    return consistency.claims_on_growth(growing, [np.array(weights)])


def falling(later):
    rows = {500: [0.1, 0.8, 0.9], 8000: [0.02, *later]}
    return consistency.claim_on_shares(pd.DataFrame(rows, ["Constructed", "LW", "CW"]))


def vectors(lw, scalar):
    phi = pd.Series({"scalar 0.455": 10.1, "LW": lw, "CW": 21.0})
    return consistency.claim_on_vectors(phi, scalar, 11.0)


@pytest.mark.parametrize(
    ("claim", "true", "false"),
    [
        ("P1-Eq11", forms(), forms(product=1e-3)),
        ("P1-Eq12", forms(), forms(forms=1e-3)),
        ("P1-Eq12", forms(), forms(**{"closed form": 0.1})),
        ("P1-EqU04", forms(), forms(ratio=1e-3)),
        ("P1-EqU04", forms(), forms(**{"ratio at theta*": 1e-3})),
        ("P1-Eq13", point(printed=12.5), point()),
        ("P1-Eq13", point(printed=12.5), point(printed=12.5, cw=35)),
        ("P1-Eq23", prior(), prior(quadrature=(0.03, 0.02, 0.01, 0.01))),
        ("P1-Eq24", prior(), prior(mass=(0.02, 0.005, 0.01, 0.01))),
        ("P1-A1", prior(), prior(quadrature=(0.02, 0.005, 0.01, 0.01))),
        ("P1-A2", growth(), growth(weights=(0.5, 0.5, 0.5, 1, 1, 1))),
        ("P1-A2", growth(), growth(bias=-0.2)),
        ("P1-A2", growth(), growth(bias=[0.2, 0.1, 0.05, 0.3, 0.2, 0.1])),
        ("P1-Claim28", growth(), growth(bias=[0.1, 0.2, 0.05, 0.3, 0.3, 0.3])),
        ("P1-Claim28", growth(), growth(mass_outside=1.0)),
        ("P1-Claim28", growth(), growth(mass_outside=0.0)),
        ("P1-Claim36", falling([0.4, 0.3]), falling([0.5, 0.3])),
        ("P1-Claim31", vectors(12, scalar=12), vectors(12, scalar=0)),
        ("P1-Claim31", vectors(12, scalar=12), vectors(25, scalar=12)),
    ],
)
def test_a_claim_holds_and_fails(claim, true, false):
    assert true[claim][1]
    assert not false[claim][1]
