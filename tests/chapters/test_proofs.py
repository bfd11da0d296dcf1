"""How the chapter on the repaired proofs judges."""

import pandas as pd
import proofs
import pytest
from normal_example import edge_probability, example


def test_lemma_as_printed_and_repaired():
    e = example(10_000, x=400, low=(0.2, 0.2))
    found = proofs.lemma(e)
    assert found["printed event"] == edge_probability(e, 0.2)
    assert found["event"] == edge_probability(e, e.weights.max())
    assert found["bound"] == pytest.approx(1 / (1.1**2 * 400))
    assert found["printed bound"] == pytest.approx(found["bound"] * 1.04 * 4 / 0.2**2)


FAILING = {
    "printed event": 1.0,
    "printed bound": 0.3,
    "event": 1e-30,
    "bound": 1e-3,
}
LOW = FAILING | {"printed event": 0.2}
MASS = {
    "event of Eq. 40, prior mass exp(-x)": 0.5,
    "printed bound": 0.05,
    "event with the factor Pi(B_n)": 1e-9,
    "bound of the lemma": 0.01,
}


def lemma(above=0.0, failing=FAILING, uniform=-5.0):
    curves = pd.DataFrame({"event": [1e-3 + above], "bound": [0.01]})
    sizes = pd.DataFrame({100: {"probability": uniform, "bound": -1.0}})
    return proofs.claims_on_lemma(failing, 0.5, curves, sizes)


def far_set(around=(1.0, 1.1)):
    return proofs.claim_on_far_set(2.0, around, 1.05)


def denominator(failing=FAILING, **changes):
    return proofs.claim_on_denominator(MASS | changes, failing)


@pytest.mark.parametrize(
    ("claim", "true", "false"),
    [
        ("P1-Lem1", lemma(failing=LOW), lemma()),
        ("P1-Lem1", lemma(above=1.0), lemma()),
        ("P1-Eq29", lemma(uniform=0.0), lemma()),
        ("P1-EqU07", far_set(), far_set(around=(1.1, 1.2))),
        (
            "P1-Eq40",
            denominator(**{"event of Eq. 40, prior mass exp(-x)": 0.06}),
            denominator(),
        ),
        ("P1-Eq40", denominator(failing=LOW), denominator()),
        ("P1-Eq40", denominator(**{"bound of the lemma": 0.0}), denominator()),
    ],
)
def test_a_claim_holds_and_fails(claim, true, false):
    assert true[claim][1]
    assert not false[claim][1]


def test_words_hold_the_numbers():
    assert lemma()["P1-Eq29"][0] == "1.00 > 0.50 (with the square 0.30)"
    assert far_set()["P1-EqU07"][0] == "complement is |theta| < 2.00"
