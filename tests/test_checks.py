from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import pseudopost as pp
from pseudopost._checks import as_array, as_number, as_seed, as_vector

ONES = [1.0, 1.0]
REFUSED = None
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
DAYS = pd.to_datetime(["2026-01-01", "2026-01-02"])
# By the row of the table: examples that are all 1 and 1, or what they come to.
ROWS = {
    "floating-point numbers of any size": {
        **{kind: (np.ones(2, dtype=kind), ONES) for kind in ("f2", "f4", "f8", "g")},
        "list": ([1.0, 1.0], ONES),
        "series": (pd.Series([1.0, 1.0]), ONES),
    },
    "whole numbers of any size, signed or not": {
        **{kind: (np.ones(2, dtype=kind), ONES) for kind in INTEGERS},
        "list": ([1, 1], ONES),
        "largest": ([2**53, -(2**53)], [2.0**53, -(2.0**53)]),
        **{
            f"beyond: {type(values).__name__} {getattr(values, 'dtype', '')}": (
                values,
                REFUSED,
            )
            for values in (
                [1, 2**53 + 1],
                [1, -(2**53) - 1],
                [1, 2**64],
                np.array([1, 2**53 + 1]),
                np.array([1, 2**63], dtype="u8"),
                pd.Series([1, 2**53 + 1]),
                pd.Series([1, 2**53 + 1], dtype="Int64"),
                pd.Series([None, 2**53 + 1], dtype=object),
            )
        },
    },
    "truth values": {
        "list": ([True, True], ONES),
        "array": (np.ones(2, dtype=bool), ONES),
        "object": (np.array([True, np.True_], dtype=object), ONES),
    },
    "nullable numbers of pandas, numbers of Arrow": {
        **{
            kind: (pd.Series([1, None], dtype=kind), [1.0, np.nan])
            for kind in ("Int8", "UInt64", "Float32", "boolean")
        },
        "array": (pd.array([1, None], dtype="Int64"), [1.0, np.nan]),
        "index": (pd.Index([1, 1], dtype="Int64"), ONES),
    },
    "masked arrays of NumPy": {
        "float": (np.ma.array([1.0, 5.0], mask=[False, True]), [1.0, np.nan]),
        "int": (np.ma.array([1, 5], mask=[False, True]), [1.0, np.nan]),
        "object": (
            np.ma.array([1, "text"], mask=[False, True], dtype=object),
            [1.0, np.nan],
        ),
    },
    "sparse columns of pandas": {
        "float": (pd.Series(pd.arrays.SparseArray([0.0, 1.0])), [0.0, 1.0]),
        "int": (pd.Series(pd.arrays.SparseArray([0, 1])), [0.0, 1.0]),
    },
    "`Decimal`, `Fraction`": {
        "Decimal": ([Decimal("1.0"), Decimal(1)], ONES),
        "Fraction": (pd.Series([Fraction(1), Fraction(2, 2)]), ONES),
    },
    "`None`, `NaN`": {
        "None": ([1, None], [1.0, np.nan]),
        "NaN": ([1, np.nan], [1.0, np.nan]),
        "NA": (np.array([1, pd.NA], dtype=object), [1.0, np.nan]),
    },
    "text, even if it reads like a number": {
        "list": (["1", "1"], REFUSED),
        "bytes": ([b"1", b"1"], REFUSED),
        "object": (np.array([1, "1"], dtype=object), REFUSED),
        "series": (pd.Series(["1", "1"]), REFUSED),
        "series of objects": (pd.Series(["1", "1"], dtype=object), REFUSED),
        "string": (pd.Series(["1", "1"], dtype="string"), REFUSED),
    },
    "dates and spans of time": {
        "series": (pd.Series(DAYS), REFUSED),
        "zone": (pd.Series(DAYS.tz_localize("UTC")), REFUSED),
        "index": (DAYS, REFUSED),
        "array": (DAYS.to_numpy(), REFUSED),
        "object": (DAYS.to_numpy(dtype=object), REFUSED),
        "no time": ([1, pd.NaT], REFUSED),
        "span": (pd.Series(DAYS - DAYS[0]), REFUSED),
        "period": (pd.Series(DAYS.to_period("D")), REFUSED),
    },
    "complex numbers": {
        "array": (np.ones(2, dtype=complex), REFUSED),
        "series": (pd.Series([1j, 1j]), REFUSED),
        "object": ([1, 1j, None], REFUSED),
    },
    "categories, even of numbers": {
        "numbers": (pd.Series([1, 1], dtype="category"), REFUSED),
        "text": (pd.Series(["1", "1"], dtype="category"), REFUSED),
        "array": (pd.Categorical([1, 1]), REFUSED),
    },
    "sets, and sparse matrices of SciPy": {
        "set": ({1, 2}, REFUSED),
        "matrix": (scipy.sparse.csr_array(np.eye(2)), REFUSED),
    },
}
CASES = {
    f"{row}: {case}": example
    for row, examples in ROWS.items()
    for case, example in examples.items()
}


@pytest.mark.parametrize(("given", "expected"), CASES.values(), ids=CASES)
def test_what_is_taken_as_a_number(given, expected):
    if expected is REFUSED:
        with pytest.raises(
            ValueError, match=r"^y must (be numbers|not exceed 2\*\*53)"
        ):
            as_array(given, "y")
        return
    array = as_array(given, "y")
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, expected)
    assert not np.shares_memory(array, np.asarray(given))


@pytest.mark.parametrize(
    "given",
    [
        [1, 2, "unknown"],
        (1.5, None, "unknown"),
        np.array(["1", "2", "unknown"], dtype=object)[2:].repeat(3),
        np.array(["unknown", "unknown", "unknown"]),
        pd.Series([1, 2, "unknown"], ["a", "b", "c"]),
    ],
    ids=repr,
)
def test_a_record_without_a_number_is_named(given):
    first = next(k for k, value in enumerate(given) if value == "unknown")
    with pytest.raises(
        ValueError, match=f"^y must be numbers; record {first} has 'unk"
    ):
        as_array(given, "y")


@pytest.mark.parametrize(
    "given",
    [
        [True, False],
        np.array([True, False]),
        np.array([1, True], dtype=object),
        pd.Series([True, False], dtype="boolean"),
    ],
    ids=repr,
)
def test_truth_values_are_no_counts(given):
    with pytest.raises(ValueError, match=r"^y must be numbers"):
        as_vector(given, "y", whole=True)
    with pytest.raises(ValueError, match=r"^y must be numbers"):
        pp.PoissonSynthesizer(given)


@pytest.mark.parametrize(
    "given", [True, np.True_, "0.2", b"1", None, 1j, [1], {1}, 10**400]
)
def test_what_is_no_single_number(given):
    with pytest.raises(
        ValueError, match=r"^radius must be a finite number in \[0, 1\]"
    ):
        as_number(given, "radius", low=0, high=1)


@pytest.mark.parametrize(
    "given", [1, 1.0, np.float32(1), np.int64(1), Decimal(1), Fraction(1), np.array(1)]
)
def test_a_single_number(given):
    assert as_number(given, "radius", low=0, high=1) == 1.0


def test_seeds():
    assert as_seed(0) == 0
    assert as_seed(2**63 - 1) == 2**63 - 1
    assert 0 <= as_seed(None) < 2**63
    assert as_seed(None) != as_seed(None)
    for wrong in (2**63, -1, 1.5, "1"):
        with pytest.raises(ValueError, match="random_seed must"):
            as_seed(wrong)
