"""What the chapter on contraction computes, and how it judges."""

import contraction
import large_files
import numpy as np
import pandas as pd
import pytest
from scipy import stats


def test_factors_are_products_of_powers():
    files, alpha = np.array([[0.5, -1.0], [2.0, 0.0]]), np.array([0.3, 0.9])
    ratio = stats.norm.pdf(files, 0.6) / stats.norm.pdf(files)
    direct = (ratio**alpha).prod(axis=1)
    np.testing.assert_allclose(contraction.factors(0.6, alpha, files), direct)


def test_radius_of_the_theorem_is_the_edge_of_the_far_set():
    alpha = large_files.a2(np.arange(400))
    low = alpha == 0.5
    radius = contraction.theorem_radius(400, D=4, t=1)
    divergence = alpha * radius**2 / 2
    weighted = 0.5 * divergence[low].sum() + (1 - alpha.max()) * divergence[~low].sum()
    assert weighted / 400 == pytest.approx((4 + 3) * np.log(400) / 400)
    assert contraction.kappa(400, low=1.0, C3=0.0) == 0


def test_actual_radius_against_simulated_files():
    rng = np.random.default_rng(1)
    alpha = np.full(100, 1 - large_files.xi(100) / np.sqrt(90))
    alpha[:10] = 0.5
    centre = rng.normal(size=(20_000, 100)) @ alpha / alpha.sum()
    theta = centre + rng.normal(size=20_000) / np.sqrt(alpha.sum())
    inside = np.abs(theta) < contraction.actual_radius(100)
    assert inside.mean() == pytest.approx(0.99, abs=0.003)


def test_values_for_the_text():
    values = contraction.process_values({"weighted": (-6, 0.1), "plain": (0, 0.2)}, 9)
    assert values["process-se"] == 0.1
    values = contraction.contraction_values(check())
    assert values["mass-orders"] == 7
    assert values["rho-1600"] == 3.0


def divergence(**changes):
    affinities = np.array([0.9, 0.8])
    plain = {
        "gap": 1e-12,
        "at_itself": 0.0,
        "affinities": affinities,
        "exact": affinities,
        "exponent": np.log(0.72),
        "simulated": (0.721, 0.001),
    }
    return contraction.claims_on_divergence(**plain | changes)


def process(gap=0.0, weighted=(-6.01, 0.01), plain=(0.01, 0.01)):
    return contraction.claims_on_process(gap, weighted, plain)


def check(most=1.0, least=0.0, promised=0.8):
    return pd.DataFrame(
        {
            "radius": 3.0,
            "log10 of the bound": [-3.2, -3.2],
            "log10 of the largest mass": [-10.5, -20.0],
            "share at most": most,
            "share at least": least,
            "promised": promised,
        },
        index=pd.MultiIndex.from_tuples([(1600, 4, 1), (1600, 5, 1)]),
    )


def theorem(by_weight=(1, 2), by_size=(2, 1), **changes):
    return contraction.claims_on_contraction(check(**changes), by_weight, by_size)


def terms(*ratio):
    table = pd.DataFrame({"ratio": ratio, "ratio, with xi_n": [3.0, 300.0]})
    return contraction.claim_on_terms(table)


@pytest.mark.parametrize(
    ("claim", "true", "false"),
    [
        ("P1-Eq14", divergence(), divergence(gap=0.1)),
        ("P1-Eq14", divergence(), divergence(at_itself=0.1)),
        ("P1-Eq15", divergence(), divergence(exact=[0.9, 0.81])),
        ("P1-EqU06", divergence(), divergence(exponent=-1.0)),
        ("P1-EqU06", divergence(), divergence(simulated=(0.73, 0.001))),
        ("P1-Eq16", process(), process(gap=0.1)),
        ("P1-EqU05", process(), process(weighted=(-5.9, 0.01))),
        ("P1-EqU05", process(), process(plain=(0.1, 0.01))),
        ("P1-Thm1", theorem(), theorem(most=0.7)),
        ("P1-Thm1", theorem(), theorem(promised=0.4)),
        ("P1-Thm1", theorem(), theorem(by_weight=(2, 1))),
        ("P1-Thm1", theorem(), theorem(by_size=(1, 2))),
        ("P1-Eq25", theorem(least=0.9), theorem()),
        ("P1-Claim27", terms(0.5, 1.0), terms(0.5, 0.6)),
    ],
)
def test_a_claim_holds_and_fails(claim, true, false):
    assert true[claim][1]
    assert not false[claim][1]


def test_words_hold_the_numbers():
    assert process()["P1-EqU05"][0] == ("mean -6.01 under fixed weights, 0.01 without")
    assert terms(0.5, 0.6)["P1-Claim27"][0] == (
        "ratio 0.50, then 0.60; with xi_n 3.0, then 300"
    )
