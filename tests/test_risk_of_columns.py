"""Risk of several confidential columns, against the definition set by set."""

import re
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import pseudopost as pp
from pseudopost.risk import joint_risk

VALUES = st.sampled_from([0.0, 1.0, -1.0, 80.0, 100.0, 120.0, -100.0])
LEVELS = st.sampled_from(["own", "rent", "free"])
RADII = {"a": 0.2, "b": 0.25, "c": 1.0}


@st.composite
def files(draw, max_records=6, max_sets=2):
    """Columns of numbers and of categories, data sets of them, and patterns."""
    numbers, categories = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    names = [*"abc"[:numbers], *"de"[: max(categories, numbers == 0)]]
    n, m = draw(st.integers(1, max_records)), draw(st.integers(1, max_sets))
    y, synthetic = {}, {}
    for name in names:
        values = VALUES if name in RADII else LEVELS
        y[name] = own = draw(st.lists(values, min_size=n, max_size=n))
        kept = st.tuples(*(st.one_of(st.just(v), st.just(v), values) for v in own))
        synthetic[name] = [list(draw(kept)) for _ in range(m)]
    patterns = draw(st.lists(st.sampled_from("uv"), min_size=n, max_size=n))
    return y, synthetic, patterns


def is_close(name, own, released):
    if name not in RADII:
        return own == released
    reach = RADII[name] * abs(own)
    return own - reach <= released <= own + reach


def by_definition(y, synthetic, patterns, order):
    """P2, Eqs 8 and 11-14, with balls of several dimensions."""
    n, m = len(patterns), len(next(iter(synthetic.values())))
    risk = [Fraction(0)] * n
    for at in range(m):
        holds = [
            [
                all(is_close(k, y[k][j], synthetic[k][at][h]) for k in y)
                for h in range(n)
            ]
            for j in range(n)
        ]
        for i in range(n):
            members = [h for h in range(n) if patterns[h] == patterns[i]]
            sets = [J for J in combinations(members, order) if i in J]
            for J in sets:
                if all(holds[j][j] for j in J):
                    outside = sum(not any(holds[j][h] for j in J) for h in members)
                    risk[i] += Fraction(outside, len(members) * len(sets) * m)
    return [float(value) for value in risk]


def radii(y):
    return {name: RADII[name] for name in y if name in RADII}


@given(files(), st.integers(1, 3))
def test_risk_is_the_definition(file, order):
    y, synthetic, patterns = file
    found = joint_risk(y, synthetic, radii(y), patterns, order, alone=0)
    expected = by_definition(y, synthetic, patterns, order)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@given(files(), st.integers(1, 3))
def test_pairwise_weights_are_the_definition(file, order):
    y, synthetic, patterns = file
    found = pp.pairwise_weights(y, synthetic, radii(y), patterns, order, alone=0)
    expected = by_definition(y, synthetic, patterns, order)
    np.testing.assert_allclose(found, 1 - np.array(expected), rtol=0, atol=1e-12)


def household(n=300, m=3):
    rng = np.random.default_rng(2)
    income = np.round(rng.lognormal(10, 1, n), -3)
    visits = rng.poisson(2, n)
    tenure = rng.choice(["own", "rent"], n)
    y = pd.DataFrame({"income": income, "visits": visits, "tenure": tenure})
    released = {
        "income": np.round(income * rng.uniform(0.7, 1.3, (m, n)), -3),
        "visits": np.where(rng.random((m, n)) < 0.5, visits, rng.poisson(2, (m, n))),
        "tenure": np.where(rng.random((m, n)) < 0.8, tenure, "rent"),
    }
    return y, released, rng.choice(["f", "m"], n)


@pytest.mark.parametrize("order", [1, 2])
def test_a_larger_file(order, monkeypatch):
    y, released, patterns = household(60, 2)
    monkeypatch.setitem(RADII, "income", 0.2)
    monkeypatch.setitem(RADII, "visits", 0.2)
    found = joint_risk(y, released, 0.2, patterns, order)
    columns = {name: y[name].tolist() for name in y}
    expected = by_definition(columns, released, patterns.tolist(), order)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("ball", ["absolute", "signed"])
def test_one_column_in_a_frame_is_that_column(ball):
    y, released, patterns = household()
    given = {"patterns": patterns, "ball": ball}
    alone = pp.identification_risk(y["income"], released["income"], 0.3, **given)
    framed = pp.identification_risk(
        y[["income"]], {"income": released["income"]}, {"income": 0.3}, **given
    )
    np.testing.assert_array_equal(framed, alone)


def test_a_further_column_lowers_what_is_close():
    """Where all are close, more columns can only isolate."""
    y, _, patterns = household()
    risks = [
        pp.identification_risk(y[names], y[names], patterns=patterns)
        for names in (["income"], ["income", "visits"], ["income", "visits", "tenure"])
    ]
    assert (risks[0] <= risks[1]).all()
    assert (risks[1] <= risks[2]).all()
    assert risks[0].mean() < risks[1].mean() < risks[2].mean()


def test_a_category_is_no_key():
    """It splits who is close, not the pattern, whose size the risk is a share of."""
    y = {"income": [100, 100, 100], "tenure": ["own", "rent", "rent"]}
    assert pp.identification_risk(y, y).tolist() == [2 / 3, 1 / 3, 1 / 3]
    key = pp.identification_risk(
        y["income"], y["income"], patterns=y["tenure"], alone=0
    )
    assert key.tolist() == [0, 0, 0]


def test_numbers_that_are_categories():
    y = pd.DataFrame({"size": [10, 11, 10]})
    assert pp.identification_risk(y, y).tolist() == [0, 0, 0]
    y = y.astype("category")
    assert pp.identification_risk(y, y).tolist() == [1 / 3, 2 / 3, 1 / 3]
    truth = {"owner": [True, False, True]}
    assert pp.identification_risk(truth, truth).tolist() == [1 / 3, 2 / 3, 1 / 3]


def test_records_are_found_by_their_labels():
    y, released, patterns = household()
    plain = pp.identification_risk(y, released, patterns=patterns)
    y.index = [f"h{i}" for i in range(len(y))]
    patterns = pd.Series(patterns, y.index)
    order = np.random.default_rng(5).permutation(len(y))
    dims = ("dataset", "record")
    shuffled = {
        "income": xr.DataArray(
            released["income"][:, order], dims=dims, coords={"record": y.index[order]}
        ),
        "visits": pd.DataFrame(released["visits"].T, y.index).iloc[order],
        "tenure": released["tenure"],
    }
    found = pp.identification_risk(y, shuffled, patterns=patterns.iloc[order])
    np.testing.assert_array_equal(found, plain)
    apart = {"income": y["income"].iloc[order], "visits": y["visits"]}
    both = {name: shuffled[name] for name in apart}
    found = pp.identification_risk(apart, both)
    expected = pp.identification_risk(
        y[["income", "visits"]], {name: released[name] for name in apart}
    )
    np.testing.assert_array_equal(found, expected[order])


Y = {"income": [10.0, 20, 30], "tenure": ["own", "rent", "own"]}


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"y": {}}, "y must have at least one column; got none"),
        (
            {"synthetic": Y["income"]},
            "synthetic must have the columns of y, ['income', 'tenure']; got no columns",
        ),
        (
            {"synthetic": {"income": Y["income"]}},
            "synthetic must have the columns of y, ['income', 'tenure']; got ['income']",
        ),
        ({"y": Y["income"]}, "synthetic must be one array, as y is; got columns"),
        (
            {"radius": {"income": 0.2, "tenure": 0.1}},
            "radius must be one number, or one for each column of numbers, ['income']; "
            "got some for ['income', 'tenure']",
        ),
        (
            {"radius": {"income": 0}},
            "radius must be a finite number in (0, inf]; got 0",
        ),
        (
            {"y": Y | {"income": [10, np.nan, 30]}},
            "y['income'] must be finite; record 1 has nan",
        ),
        (
            {"y": Y | {"tenure": ["own", None, None]}},
            "y['tenure'] must not be missing; record 1 is",
        ),
        (
            {"y": Y | {"tenure": ["own", "rent"]}},
            "y['tenure'] must have a label for each record; got shape (2,)",
        ),
        (
            {"y": {"tenure": Y["tenure"], "income": [1, 2]}},
            "y['income'] must have length 3; got length 2",
        ),
        (
            {"synthetic": Y | {"tenure": [["own", "rent"]]}},
            "synthetic must have a label for each record; got shape (1, 2)",
        ),
        (
            {"synthetic": Y | {"tenure": [Y["tenure"]] * 2}},
            "synthetic must have as many data sets of each column; got 1 and, of "
            "'tenure', 2",
        ),
    ],
)
def test_bad_columns_are_refused(changed, text):
    given = {"y": Y, "synthetic": Y, "radius": 0.2} | changed
    with pytest.raises(ValueError, match=f"^{re.escape(text)}"):
        pp.identification_risk(**given)
