import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import pseudopost as pp


def share_outside(y, radius=0.2):
    return pp.identification_risk(y, y, radius, alone=0)


TIES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 80.0, 100.0, 120.0, -100.0])
FLOATS = st.one_of(TIES, st.floats(-1e100, 1e100), st.floats(-10, 10))
NORMAL = st.one_of(TIES, st.floats(1e-100, 1e100), st.floats(-1e100, -1e-100))
INTEGERS = st.one_of(
    st.integers(-200, 200).map(lambda v: 10 * v), st.integers(-100_000, 100_000)
)
RADII = st.one_of(st.sampled_from([0.1, 0.2, 0.3, 1.0]), st.floats(1e-3, 10))


def files(elements, max_size=12):
    return st.lists(elements, min_size=1, max_size=max_size).map(np.array)


def by_definition(y, radius):
    counts = [
        sum(not (a - radius * abs(a) <= b <= a + radius * abs(a)) for b in y) for a in y
    ]
    return np.array(counts) / len(y)


def test_by_hand():
    # Balls: [80, 120] holds 3 of 5, [96, 144] holds 2, and [64, 96], [160, 240]
    # and [8, 12] only their own.
    np.testing.assert_allclose(
        share_outside([100, 80, 120, 200, 10]), [0.4, 0.8, 0.6, 0.8, 0.8], rtol=1e-15
    )


def test_negative_values():
    # Balls: [-120, -80] and [-144, -96] hold 2 of 4, [80, 120] and [-60, -40] only
    # their own.
    np.testing.assert_array_equal(
        share_outside([-100, -120, 100, -50], 0.2), [0.5, 0.5, 0.75, 0.75]
    )


@given(files(FLOATS), RADII)
def test_brute_force(y, radius):
    np.testing.assert_allclose(
        share_outside(y, radius), by_definition(y.tolist(), radius), rtol=0, atol=1e-15
    )


@given(files(INTEGERS), st.sampled_from([5, 10, 15, 20, 25, 30, 35, 40, 50]))
def test_integers_at_exactly_the_radius(y, percent):
    exact = by_definition([int(v) for v in y], Fraction(percent, 100))
    np.testing.assert_allclose(
        share_outside(y, percent / 100), exact, rtol=0, atol=1e-15
    )


@pytest.mark.parametrize("percent", [5, 10, 15, 20, 25, 30, 35, 40, 50])
def test_both_ends_belong_to_the_ball(percent):
    for y in range(100, 10_001, 100):
        reach = y * percent // 100
        file = [y, y - reach, y + reach, y - reach - 1, y + reach + 1]
        assert share_outside(file, percent / 100)[0] == 0.4


@given(files(NORMAL), RADII, st.integers(-60, 60))
def test_scale_invariant(y, radius, power):
    np.testing.assert_array_equal(
        share_outside(y * 2.0**power, radius), share_outside(y, radius)
    )


@given(files(FLOATS), RADII)
def test_sign_symmetric(y, radius):
    np.testing.assert_array_equal(share_outside(-y, radius), share_outside(y, radius))


@given(st.data(), files(FLOATS), RADII)
def test_follows_the_order(data, y, radius):
    order = np.array(data.draw(st.permutations(range(len(y)))))
    np.testing.assert_array_equal(
        share_outside(y[order], radius), share_outside(y, radius)[order]
    )


@given(files(FLOATS), RADII)
def test_record_is_in_its_own_ball(y, radius):
    share = share_outside(y, radius)
    assert (share >= 0).all()
    assert (share <= 1 - 1 / len(y)).all()


@given(files(FLOATS), RADII, st.floats(1, 5))
def test_falls_with_the_radius(y, radius, times):
    assert (share_outside(y, times * radius) <= share_outside(y, radius)).all()


@given(FLOATS, st.integers(1, 8), RADII)
def test_equal_values(value, n, radius):
    np.testing.assert_array_equal(share_outside([value] * n, radius), 0)


@pytest.mark.parametrize("radius", [0.2, 1, 50])
def test_ball_of_zero_holds_only_zeros(radius):
    share = share_outside([0.0, -0.0, 5e-324, -1e-300, 3, -5, 0, 8], radius)
    np.testing.assert_array_equal(share[[0, 1, 6]], 5 / 8)


@pytest.mark.parametrize(
    "container", [np.asarray, list, tuple, pd.Series, xr.DataArray]
)
def test_containers(container):
    share = share_outside(container([100, 120, 300, 300]))
    assert type(share) is np.ndarray
    np.testing.assert_array_equal(share, [0.5, 0.5, 0.5, 0.5])


def test_input_is_kept():
    y = np.array([3.0, 1.0, 2.0])
    share_outside(y)
    np.testing.assert_array_equal(y, [3, 1, 2])


@pytest.mark.parametrize("radius", [0, -1, np.nan, np.inf, None, "wide"])
def test_radius_errors(radius):
    text = f"radius must be a finite number in (0, inf]; got {radius!r}"
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        share_outside([1, 2], radius)


@pytest.mark.parametrize(
    ("y", "text"),
    [
        ([1, np.nan], "y must be finite; record 1 has nan"),
        ([-np.inf, 1], "y must be finite; record 0 has -inf"),
        (pd.Series([1, None, 3], dtype="Int64"), "y must be finite; record 1 has nan"),
        ([], "y must hold one value per record; got shape (0,)"),
        ([[1, 2]], "y must hold one value per record; got shape (1, 2)"),
    ],
)
def test_value_errors(y, text):
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        share_outside(y)
