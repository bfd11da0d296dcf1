"""Log-likelihoods and weights that tests of bounds and of weights share."""

import re

import numpy as np
import pandas as pd
import xarray as xr
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

# Rows are draws, columns records. By hand: f = (3, 4, 5), so f~ = (0, 1/2, 1).
LOG_LIKELIHOOD = np.array([[-1.0, -4.0, -2.0], [-3.0, -2.0, -5.0]])
TO_MATRIX = [np.asarray, np.ndarray.tolist, pd.DataFrame, xr.DataArray]


def data_array(values):
    return xr.DataArray(list(values), dims="record")


TO_VECTOR = [np.asarray, list, tuple, pd.Series, data_array]

# Far enough from overflow and underflow for relative rounding errors to hold.
MODERATE = st.one_of(
    st.sampled_from([0.0, -1.0, 1.0, -2.0]),
    st.floats(1e-90, 1e90),
    st.floats(-1e90, -1e-90),
)
EXTREME = st.one_of(
    st.sampled_from([0.0, -0.0, -1.0, 1.0, 5e-324, -5e-324, 1e308, -1.7e308]),
    st.floats(-1.7e308, 1.7e308),
)
WEIGHT = st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(1e-3, 1))


def matrices(elements):
    return arrays(
        float, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=elements
    )


@st.composite
def weighted(draw, elements=MODERATE, weight=WEIGHT):
    log_likelihood = draw(matrices(elements))
    return log_likelihood, draw(arrays(float, log_likelihood.shape[1], elements=weight))


def message(text):
    return re.escape(text) + "$"
