"""Every public function, with numbers of every kind: right, wrong, missing and extreme.

What a parameter takes is read from its docstring, so that a new function needs only a
valid call in `calls.py` to have all of its arguments tested.
"""

import inspect
import os
import re
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
import nutpie
import pandas as pd
import pyarrow as pa
import pytest
import xarray as xr
from calls import (
    CALLS,
    COMPILES,
    COMPILES_FIRST,
    NO_NUMBERS,
    OTHER,
    PUBLIC,
    Y,
    call,
    documented,
    kind_of,
    numbers_of,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_checks import CASES, REFUSED

import pseudopost as pp

MORE = 10 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 1


SLOW = COMPILES_FIRST | {name for name in CALLS if name.startswith("plots.")}


def examples(n):
    return settings(max_examples=n * MORE, suppress_health_check=[HealthCheck.too_slow])


def cases(*kinds, refused=False):
    """Return functions and their arguments of these kinds, for parametrize."""
    found = []
    for name in sorted(CALLS):
        slow = name in SLOW or (name in COMPILES and not refused)
        marks = [pytest.mark.slow] if slow else []
        for parameter, text in documented(name).items():
            if kind_of(parameter, text) in kinds:
                case = pytest.param(name, parameter, marks=marks)
                found.append(case)
    return pytest.mark.parametrize(("name", "parameter"), found)


def outcome(name, **changed):
    """Return the numbers of a result; else what the error or warning says."""
    try:
        return numbers_of(call(name, **changed))
    except (ValueError, RuntimeError, UserWarning) as problem:
        found = problem
    if isinstance(found, RuntimeError):
        assert "\nRuntimeError\n" in inspect.getdoc(PUBLIC[name])
    elif isinstance(found, ValueError):
        assert re.match(rf"({'|'.join(documented(name))})\b", str(found)), found
    else:
        assert "\nWarns\n" in inspect.getdoc(PUBLIC[name])
    return str(found)


def assert_equal(found, expected):
    assert isinstance(found, str) == isinstance(expected, str), (found, expected)
    if not isinstance(found, str):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def assert_refused(name, parameter, value):
    with pytest.raises(ValueError, match=rf"^{parameter}\b"):
        call(name, **{parameter: value})


@pytest.fixture
def _nothing_is_compiled(monkeypatch, request):
    def compile_pymc_model(*args, **settings):
        pytest.fail("a bad argument got as far as the compiler")

    monkeypatch.setattr(nutpie, "compile_pymc_model", compile_pymc_model)


refuses = pytest.mark.usefixtures("_nothing_is_compiled")


def test_every_public_name_has_a_call():
    assert set(PUBLIC) == set(CALLS) | set(NO_NUMBERS)


@pytest.mark.parametrize("name", CALLS)
def test_the_docstring_says_what_every_parameter_is(name):
    named = list(inspect.signature(PUBLIC[name]).parameters.values())
    passed_on = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    named = [p.name for p in named if p.kind not in passed_on and p.name != "self"]
    assert sorted(documented(name)) == sorted(named)
    for parameter, text in documented(name).items():
        kind = kind_of(parameter, text)
        assert not kind or parameter in CALLS[name], f"{parameter} is never given"


FLOATS = ("f2", "f4", "f8", "g")
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
DECIMAL = pd.ArrowDtype(pa.decimal128(9, 3))
PANDAS = ("Float32", "Float64", "float32", "double[pyarrow]", DECIMAL)
PANDAS_INTEGERS = ("Int8", "UInt64", "Int64", "int64[pyarrow]")
BOOLS = ("boolean", "bool")
# How finely values are drawn: floats of every size hold eighths exactly.
STEPS = {"eighths": 8, "whole": 1, "truth values": 1}
IN_UNIT = {"candidates", "weights", "risk", "before", "after", "start", "theta"}
SUM_TO_ONE = {"mass", "shares"}
objects = np.vectorize(lambda value, of: of(value), otypes=[object])


def values_of(name, parameter, grid):
    """Draw other values for an array argument, most of them valid."""
    base = np.array(CALLS[name][parameter], dtype=float)
    if parameter in SUM_TO_ONE:
        one = base if grid == "eighths" else np.eye(base.size)[0]
        return st.permutations(one).map(np.array)
    high = 1 if parameter in IN_UNIT or grid == "truth values" else 100
    integers = st.integers(0, high * STEPS[grid])
    return st.lists(integers, min_size=base.size, max_size=base.size).map(
        lambda drawn: np.reshape(drawn, base.shape) / STEPS[grid]
    )


def containers(array, grid, files):
    """Return the same numbers in everything that is taken as numbers."""

    def pandas(values, dtype=None):
        if array.ndim == 1:
            return pd.Series(values, dtype=dtype)
        # Of synthetic data sets, a data frame has one in each column.
        return pd.DataFrame(values.T if files else values, dtype=dtype)

    made = {
        "list": array.tolist(),
        **{dtype: array.astype(dtype) for dtype in FLOATS},
        "masked": np.ma.array(array, mask=np.zeros(array.shape)),
        "Decimal": objects(array, Decimal),
        "Fraction": objects(array, Fraction),
        "xarray": xr.DataArray(array),
    }
    if grid != "eighths":
        made |= {dtype: array.astype(dtype) for dtype in INTEGERS}
        made["integers"] = array.astype(int).tolist()
    if grid == "truth values":
        made |= {"truth values": array.astype(bool), "True": (array == 1).tolist()}
    if array.ndim == 0:
        return made
    made["tuple"] = tuple(array.tolist())
    made |= {dtype: pandas(array, dtype) for dtype in PANDAS}
    made["sparse"] = pandas(array, pd.SparseDtype(float))
    made["objects"] = pandas(objects(array, Fraction))
    if grid != "eighths":
        made |= {dtype: pandas(array.astype(int), dtype) for dtype in PANDAS_INTEGERS}
        made["sparse integers"] = pandas(array.astype(int), pd.SparseDtype(int))
    if grid == "truth values":
        made |= {dtype: pandas(array.astype(bool), dtype) for dtype in BOOLS}
    return made


@cases("array", "counts")
@examples(2)
@given(data=st.data())
def test_numbers_may_come_in_anything(name, parameter, data):
    grids = list(STEPS)
    if kind_of(parameter, documented(name)[parameter]) == "counts":
        grids = ["whole"]
    grid = data.draw(st.sampled_from(grids))
    values = data.draw(values_of(name, parameter, grid))
    expected = outcome(name, **{parameter: values})
    made = containers(values, grid, files=parameter == "synthetic")
    for kind, value in made.items():
        before = np.asarray(value).tolist()
        found = outcome(name, **{parameter: value})
        assert np.asarray(value).tolist() == before, f"{kind} was changed"
        assert_equal(found, expected)
        if isinstance(value, (np.ndarray, pd.Series)) and not isinstance(found, str):
            for array in found:
                assert not np.may_share_memory(array, np.asarray(value)), kind


@cases("array", "counts", refused=True)
@refuses
def test_what_is_no_number_is_refused(name, parameter):
    for value, expected in CASES.values():
        if expected is REFUSED:
            assert_refused(name, parameter, value)
    if kind_of(parameter, documented(name)[parameter]) == "counts":
        assert_refused(name, parameter, [True, False])


NO_NUMBER = ["1", b"1", 1j, pd.Timestamp("2026-01-01"), pd.Timedelta("1D"), {1}, 2**64]


def with_one(name, parameter, value, dtype=object):
    """Put a value at each place of an array argument, one place after the other."""
    base = CALLS[name][parameter]
    for place in np.ndindex(np.shape(base)):
        array = np.array(base, dtype=dtype)
        array[place] = value
        yield array


@cases("array", "counts", refused=True)
@refuses
def test_one_that_is_no_number_is_refused(name, parameter):
    for value in NO_NUMBER:
        for array in with_one(name, parameter, value):
            assert_refused(name, parameter, array)
            assert_refused(name, parameter, array.tolist())


# Documented results that are not finite.
INFINITE = {
    "lipschitz_bounds": "infinite for a record whose log-likelihood is not finite",
    "epsilon": "infinite if a bound is",
    "combine_partially_synthetic": "(infinite if b is tiny)",
    "privacy_loss": "infinity if one outweighs all",
    "deletion_loss": "may be minus infinity or infinity",
    "trace_weights": "minus infinity or infinity are possible",
    "cheapest_weights": "``k_hat`` is minus infinity for a fit of its own",
}


def assert_sound(name, found):
    """Raise if a result has NaN, or an infinity that is not documented."""
    if isinstance(found, str):
        return
    text = " ".join(inspect.getdoc(PUBLIC[name]).split())
    assert INFINITE.get(name, "") in text
    for array in found:
        bad = np.isnan(array) if name in INFINITE else ~np.isfinite(array)
        assert not bad.any(), found


MISSING = (np.nan, np.inf, -np.inf, None, pd.NA)


@cases("array", "counts")
def test_missing_and_infinite_values_do_not_get_through(name, parameter):
    for value in MISSING:
        for array in with_one(name, parameter, value):
            assert_sound(name, outcome(name, **{parameter: array}))


EXTREMES = (1e308, -1e308, 1.7e308, 5e-324, 1e-160, 0.0, -0.0, 2.0**53, 1e16, -1.0)


@st.composite
def arguments_with_extremes(draw, name):
    """Change some numbers, in any of the arguments."""
    changed = {}
    for parameter, text in documented(name).items():
        kind = kind_of(parameter, text)
        if kind == "number" and draw(st.booleans()):
            changed[parameter] = draw(st.sampled_from(EXTREMES))
        if kind in ("array", "counts"):
            array = np.array(CALLS[name][parameter], dtype=float)
            places = st.integers(0, array.size - 1)
            for place in draw(st.lists(places, max_size=3, unique=True)):
                array.flat[place] = draw(st.sampled_from(EXTREMES))
            changed[parameter] = array
    return changed


WITH_NUMBERS = [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name in sorted(set(CALLS) - COMPILES)
]


@pytest.mark.parametrize("name", WITH_NUMBERS)
@examples(20)
@given(data=st.data())
def test_extreme_numbers_are_named_or_have_sound_results(name, data):
    changed = data.draw(arguments_with_extremes(name))
    assert_sound(name, outcome(name, **changed))


NO_SINGLE_NUMBER = (
    st.sampled_from([True, False, np.True_, 1j, np.nan, np.inf, -np.inf, pd.NA, pd.NaT])
    | st.text(max_size=3)
    | st.integers(-99, 99).map(str)
    | st.binary(max_size=2)
    | st.complex_numbers()
    | st.lists(st.floats(), max_size=2)
    | st.sets(st.integers(), max_size=2)
    | st.floats().map(lambda x: np.array([x]))
    | st.dates()
    | st.timedeltas()
    | st.integers(min_value=10**310)
)
NO_COUNT = NO_SINGLE_NUMBER | st.floats() | st.integers(max_value=0)
WRONG = {
    "number": NO_SINGLE_NUMBER,
    "whole": NO_COUNT.filter(lambda x: not isinstance(x, int) or x < 1),
    "seed": NO_SINGLE_NUMBER
    | st.floats()
    | st.integers(max_value=-1)
    | st.integers(min_value=2**63),
    "flag": st.sampled_from(["no", "", 0, 1, 1.0, None, pd.NA, [True]]) | st.text(),
    "choice": st.sampled_from([None, 0, True, ["a"], {"a": 1}]) | st.text(max_size=3),
}


@cases(*WRONG, refused=True)
@refuses
@examples(8)
@given(data=st.data())
def test_a_wrong_single_value_is_refused(name, parameter, data):
    text = documented(name)[parameter]
    wrong = WRONG[kind_of(parameter, text)]
    if "optional" not in text:
        wrong = st.none() | wrong
    assert_refused(name, parameter, data.draw(wrong))


@cases("whole", refused=True)
@refuses
def test_requests_without_end_are_refused(name, parameter):
    if name not in COMPILES:
        assert_sound(name, outcome(name, **{parameter: 2**70}))


LABELS = list("abcdef")
ALIGNED = {
    "identification_risk": ("y", "synthetic", "patterns"),
    "pairwise_weights": ("y", "synthetic", "patterns"),
    "lipschitz_bounds": ("log_likelihood", "weights"),
    "reweight": ("weights", "bounds"),
    "affinity": ("weights", "log_ratio"),
    "renyi_divergence": ("weights", "log_ratio"),
    "MixtureSynthesizer": ("y", "X"),
    "pseudo_mle": ("model", "weights", "mass"),
    "information": ("model", "weights", "mass"),
    "adjust_draws": ("model", "weights"),
    "propensity_score_mse": ("confidential", "synthetic", "unchanged"),
}
PAIRS = [
    pytest.param(name, *pair, marks=[pytest.mark.slow] if name in SLOW else [])
    for name, parameters in ALIGNED.items()
    for pair in combinations(parameters, 2)
]


def labelled(name, parameter, order, kind):
    """Return an argument with labels, its records in this order."""
    if parameter == "model":
        return LABELLED
    array = np.array(CALLS[name][parameter])
    across = np.ndim(array) == 2 and parameter in ("log_likelihood", "synthetic")
    if across and kind == "xarray":
        return xr.DataArray(array, [("dataset", [0, 1]), ("record", LABELS)])[:, order]
    if across:
        table = pd.DataFrame(array.T, LABELS).iloc[order]
        return table.T if parameter == "log_likelihood" else table
    made = pd.Series if array.ndim == 1 else pd.DataFrame
    return made(array, LABELS).iloc[order]


LABELLED = pp.PoissonSynthesizer(pd.Series(Y, LABELS))


@pytest.mark.parametrize(("name", "first", "second"), PAIRS)
@examples(3)
@given(data=st.data())
def test_records_are_found_by_their_labels(name, first, second, data):
    kind = data.draw(st.sampled_from(["pandas", "xarray"]))
    order = data.draw(st.permutations(range(6)))
    expected, found = (
        numbers_of(
            call(
                name,
                **{
                    first: labelled(name, first, range(6), kind),
                    second: labelled(name, second, its_order, kind),
                },
            )
        )
        for its_order in (range(6), order)
    )
    assert expected
    assert_equal(found, expected)


@examples(5)
@given(order=st.permutations(["a", "b"]))
def test_columns_are_found_by_their_names(order):
    confidential = pd.DataFrame({"a": Y, "b": [1, 9, 2, 7, 4, 4]})
    synthetic = pd.DataFrame({"a": OTHER, "b": [5, 1, 8, 3, 3, 9]})
    found, expected = (
        pp.propensity_score_mse(confidential, synthetic[names])
        for names in (order, ["a", "b"])
    )
    assert found == expected


NEARLY_NUMBERS = {
    "bytes": ("ball_ends", "radius", bytearray(b"1")),
    "a list of bytes": ("lipschitz_bounds", "log_likelihood", [bytearray(b"1")]),
    "a truth value in an array": ("ball_ends", "radius", np.array(True)),
    "text in an array": ("ball_ends", "radius", np.array("0.2")),
    "a complex number": ("ball_ends", "radius", np.complex128(1)),
    "a masked number": ("ball_ends", "radius", np.ma.masked),
    "beyond 2**53": ("ball_ends", "radius", 2**53 + 1),
    "a word for a flag": ("replicate", "progressbar", "no"),
}


@pytest.mark.parametrize("case", NEARLY_NUMBERS.values(), ids=NEARLY_NUMBERS)
def test_what_nearly_passes_as_a_number_is_refused(case):
    assert_refused(*case)


def test_truth_values_of_arrow():
    found = pp.adjust_weights(pd.Series([True, False], dtype="bool[pyarrow]"))
    np.testing.assert_array_equal(found, [1, 0])
