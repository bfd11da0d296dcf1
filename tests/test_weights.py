import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import pseudopost as pp

RISKS = st.lists(st.floats(0, 1), min_size=1, max_size=10)
SCALES = st.floats(0, 1e6)
SHIFTS = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("scale", "shift", "weights"),
    [
        (1, 0, [1, 0.75, 0.5, 0]),
        (0.5, 0, [0.5, 0.375, 0.25, 0]),
        (0.5, 0.25, [0.75, 0.625, 0.5, 0.25]),
        (2, 0, [1, 1, 1, 0]),
        (2, -0.75, [1, 0.75, 0.25, 0]),
        (1, 0.5, [1, 1, 1, 0.5]),
        (1, -0.5, [0.5, 0.25, 0, 0]),
        (0, 0.5, [0.5, 0.5, 0.5, 0.5]),
        (0, 0, [0, 0, 0, 0]),
    ],
)
def test_by_hand(scale, shift, weights):
    np.testing.assert_array_equal(
        pp.marginal_weights([0, 0.25, 0.5, 1], scale, shift), weights
    )


def test_defaults():
    np.testing.assert_array_equal(pp.marginal_weights([0, 0.25, 1]), [1, 0.75, 0])


@given(RISKS, SCALES, SHIFTS)
def test_formula(risk, scale, shift):
    expected = [min(1.0, max(0.0, scale * (1 - r) + shift)) for r in risk]
    assert pp.marginal_weights(risk, scale, shift).tolist() == expected


@given(RISKS, SCALES, SHIFTS)
def test_falls_with_risk(risk, scale, shift):
    weights = pp.marginal_weights(sorted(risk), scale, shift)
    assert (np.diff(weights) <= 0).all()


@pytest.mark.parametrize(
    "container", [np.asarray, list, tuple, pd.Series, xr.DataArray]
)
def test_containers(container):
    weights = pp.marginal_weights(container([0.25, 0.5]))
    assert type(weights) is np.ndarray
    np.testing.assert_array_equal(weights, [0.75, 0.5])


def test_input_is_kept():
    risk = np.array([0.25, 0.5])
    pp.marginal_weights(risk, 2, 1)
    np.testing.assert_array_equal(risk, [0.25, 0.5])


@pytest.mark.parametrize(
    ("risk", "text"),
    [
        ([0.5, 1.2], "risk must lie in [0, 1]; record 1 has 1.2"),
        ([-0.5], "risk must lie in [0, 1]; record 0 has -0.5"),
        ([0.5, np.nan], "risk must be finite; record 1 has nan"),
        ([np.inf], "risk must be finite; record 0 has inf"),
        ([None, 0.5], "risk must be finite; record 0 has nan"),
        ([], "risk must hold one value per record; got shape (0,)"),
        ([[0.5]], "risk must hold one value per record; got shape (1, 1)"),
        (["high"], "risk must be numbers; got ['high']"),
    ],
)
def test_risk_errors(risk, text):
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        pp.marginal_weights(risk)


@pytest.mark.parametrize("value", [-1, -1e-9, np.nan, np.inf, None])
def test_scale_errors(value):
    with pytest.raises(
        ValueError,
        match=re.escape(f"scale must be a finite number in [0, inf]; got {value}"),
    ):
        pp.marginal_weights([0.5], scale=value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, None])
def test_shift_errors(value):
    with pytest.raises(
        ValueError,
        match=re.escape(f"shift must be a finite number in [-inf, inf]; got {value}"),
    ):
        pp.marginal_weights([0.5], shift=value)
