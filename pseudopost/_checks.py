"""Input checks: every message names the argument, the rule and the offending value."""

import numbers
import os
import secrets
from decimal import Decimal

import numpy as np
import pandas as pd
import xarray as xr


def quoted(value, form=None):
    """Return a value as text for a message, unless ``PSEUDOPOST_QUOTE`` is ``off``."""
    if os.environ.get("PSEUDOPOST_QUOTE") == "off":
        return "a value that is not shown"
    return f"{value!r:.80}" if form is None else f"{value:{form}}"


def as_array(values, name, bools=True):
    """Return a copy of `values` as floats, with NaN for what is missing, or raise.

    The first page of the reference has a table of what is taken as a number.
    """
    try:
        array, whole = _floats(values, bools)
    except (OverflowError, TypeError, ValueError):
        raise ValueError(f"{name} must be numbers; {_none(values, bools)}") from None
    _check_exact(whole, name)
    return array


def _none(values, bools):
    """Say which of the records has no number, or else what was given."""
    several = isinstance(values, (list, tuple)) or getattr(values, "ndim", 0) == 1
    for record, value in enumerate(values if several else ()):
        if isinstance(value, (list, tuple, np.ndarray)):
            break
        try:
            _number(value, bools)
        except (OverflowError, TypeError):
            value = value.item() if isinstance(value, np.generic) else value
            return f"record {record} has {quoted(value)}"
    return f"got {quoted(values)}"


def _floats(values, bools):
    """Return numbers as floats, and those that were whole numbers as they are."""
    parts = values if isinstance(values, (list, tuple)) else [values]
    if any(isinstance(part, (bytes, bytearray)) for part in parts):
        raise TypeError  # NumPy would take their codes
    given = _from_pandas(values)
    if given.dtype.kind == "O":
        flat = np.where(np.ma.getmaskarray(given), None, given.data).ravel()
        array = np.array([_number(value, bools) for value in flat], dtype=float)
        whole = [value for value in flat if isinstance(value, numbers.Integral)]
        return array.reshape(given.shape), whole
    if given.dtype.kind not in ("biuf" if bools else "iuf"):
        raise TypeError
    array = np.ma.filled(np.ma.array(given, dtype=float, copy=True), np.nan)
    return array, given.compressed() if given.dtype.kind in "iu" else ()


def _check_exact(whole, name):
    """Raise if a whole number has neighbours that are no floats."""
    if len(whole):
        largest = max(np.max(whole), np.min(whole), key=lambda value: abs(int(value)))
        if abs(int(largest)) > 2**53:
            rule = f"{name} must not exceed 2**53"
            raise ValueError(f"{rule}; got {quoted(int(largest))}")


def _from_pandas(values):
    """Return a masked array, whatever kind of array it was."""
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, pd.api.extensions.ExtensionDtype):
        if isinstance(dtype, pd.SparseDtype):
            return np.ma.asarray(np.asarray(values))
        kinds = pd.api.types
        if not (kinds.is_numeric_dtype(dtype) or kinds.is_bool_dtype(dtype)):
            raise TypeError  # text, categories, dates
        series = pd.Series(values)
        plain = series.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return np.ma.array(plain, mask=series.isna().to_numpy())
    return np.ma.asarray(values)


def _number(value, bools):
    """Return an object as a float, NaN if it stands for a missing value, or raise."""
    if value is None or value is pd.NA:
        return np.nan
    if isinstance(value, (bool, np.bool_)) and not bools:
        raise TypeError
    if isinstance(value, (numbers.Real, Decimal, np.bool_)):
        return float(value)
    raise TypeError


def as_vector(
    values, name, *, length=None, low=None, high=None, whole=False, finite=True
):
    """Return a copy of `values` as a finite float vector, or raise.

    Parameters
    ----------
    values : array-like, shape (n,)
    name : str
        What the caller calls the argument; it opens the error message.
    length : int, optional
        Number of records wanted.
    low, high : float, optional
        Closed bounds.
    whole : bool
        Whether the values must be whole numbers; truth values are none.
    finite : bool
        Whether infinite values are refused; missing ones always are.
    """
    vector = as_array(values, name, bools=not whole)
    if vector.ndim != 1 or vector.size == 0:
        raise ValueError(
            f"{name} must hold one value per record; got shape {vector.shape}"
        )
    if length is not None and vector.size != length:
        raise ValueError(f"{name} must have length {length}; got length {vector.size}")
    if finite:
        _refuse(~np.isfinite(vector), vector, f"{name} must be finite")
    _refuse(np.isnan(vector), vector, f"{name} must not be missing")
    if low is not None and high is not None:
        _refuse(
            (vector < low) | (vector > high),
            vector,
            f"{name} must lie in [{low}, {high}]",
        )
    elif low is not None:
        _refuse(vector < low, vector, f"{name} must be at least {low}")
    if whole:
        _refuse(np.abs(vector) > 2**53, vector, f"{name} must not exceed 2**53")
        _refuse(vector != np.floor(vector), vector, f"{name} must be whole numbers")
    return vector


def as_number(
    value, name, *, low=-np.inf, high=np.inf, open_low=False, open_high=False
):
    """Return `value` as a finite float within its bounds, or raise."""
    ends = "(" if open_low else "[", ")" if open_high else "]"
    rule = f"{name} must be a finite number in {ends[0]}{low}, {high}{ends[1]}"
    try:
        array, whole = _floats(value, bools=False)
        if array.ndim:
            raise TypeError
    except (OverflowError, TypeError, ValueError):
        raise ValueError(f"{rule}; got {quoted(value)}") from None
    _check_exact(whole, name)
    number = float(array)
    too_low = number <= low if open_low else number < low
    too_high = number >= high if open_high else number > high
    if not np.isfinite(number) or too_low or too_high:
        raise ValueError(f"{rule}; got {quoted(value)}")
    return number


def as_count(value, name, low=1, high=np.inf):
    """Return `value` as a whole number in [`low`, `high`], or raise."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < low:
        rule = f"{name} must be a whole number of at least {low}"
        raise ValueError(f"{rule}; got {quoted(value)}")
    if value > high:
        raise ValueError(f"{name} must be at most {high}; got {quoted(value)}")
    return int(value)


def as_flag(value, name):
    """Return `value` as a bool, or raise; words such as "no" are truths to Python."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False; got {quoted(value)}")
    return bool(value)


def check_finite(values, name, cause):
    """Raise unless computed values are finite: for overflow of sound arguments."""
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must not be so large: {cause} is not finite")


def as_seed(value):
    """Return `value` as a random seed, or raise; None: a new one from the system."""
    if value is None:
        return secrets.randbits(63)
    return as_count(value, "random_seed", low=0, high=2**63 - 1)


def labels_of(values):
    """Return the labels of the records, or None: an array has only positions.

    So has what a synthesizer of unlabelled values returns, whose records are counted.
    """
    if isinstance(values, (pd.Series, pd.DataFrame)):
        return values.index
    if isinstance(values, xr.DataArray) and "record" in values.indexes:
        index = values.indexes["record"]
        counted = pd.RangeIndex(len(index))
        return None if index.equals(counted) else index.rename(None)
    return None


def aligned(values, name, labels, other):
    """Return `values` in the order of the labels of another argument, or raise.

    Positions count where one of the two has no labels.

    Parameters
    ----------
    values : array-like
        With a row for each record.
    name, other : str
        What the caller calls this argument, and the one that the labels are of.
    labels : pandas.Index or None
    """
    own = labels_of(values)
    if own is None or labels is None or own.equals(labels):
        return values
    same = len(own) == len(labels) and own.isin(labels).all()
    if not (same and own.is_unique and labels.is_unique):
        raise ValueError(
            f"{name} must have the labels of {other}, each of them once or all in the "
            f"same order; there are {len(own)} and {len(labels)}, which begin with "
            f"{quoted(list(own[:3]))} and {quoted(list(labels[:3]))}"
        )
    order = own.get_indexer(labels)
    if isinstance(values, xr.DataArray):
        return values.isel(record=order)
    return values.iloc[order]


def by_file(synthetic, labels=None):
    """Return synthetic data sets with a row for each, the records in a given order.

    In a data frame the data sets are columns, unless its axes have the names that a
    synthesizer gives them.
    """
    if isinstance(synthetic, pd.DataFrame):
        if "record" not in synthetic.columns.names:
            synthetic = synthetic.T
        return aligned(synthetic.T, "synthetic", labels, "y").T
    if isinstance(synthetic, xr.DataArray) and "record" in synthetic.dims:
        synthetic = synthetic.transpose(..., "record")
    return aligned(synthetic, "synthetic", labels, "y")


def check_weights_of(fit, weights):
    """Return `weights` as a vector, or raise unless `fit` was made under them."""
    own = fit["constant_data"]["weights"]
    weights = aligned(weights, "weights", labels_of(own), "fit")
    weights = as_vector(weights, "weights", low=0, high=1)
    if not np.array_equal(weights, own):
        raise ValueError("weights must be those that fit was made under; they differ")
    return weights


def as_mass(mass, length):
    """Return probabilities that sum to 1, by default 1/n each, or raise."""
    if mass is None:
        return np.full(length, 1 / length)
    mass = as_vector(mass, "mass", length=length, low=0, high=1)
    if not np.isclose(mass.sum(), 1, rtol=0, atol=1e-6):
        raise ValueError(f"mass must sum to 1; it sums to {mass.sum():g}")
    return mass


def _refuse(bad, vector, rule):
    if bad.any():
        record = int(np.argmax(bad))
        raise ValueError(f"{rule}; record {record} has {quoted(vector[record], 'g')}")
