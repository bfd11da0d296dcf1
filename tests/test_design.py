"""Design matrices: what columns become, and which of them are left out."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import pseudopost as pp
from pseudopost.design import design_matrix

MISSING = ": leave the record out, or make a level of what is missing"


def refused(text):
    return pytest.raises(ValueError, match=f"^{re.escape(text)}$")


def frame():
    return pd.DataFrame(
        {
            "age": [30, 41, 55, 38, 62, 47],
            "sex": ["m", "f", "f", "m", "f", "m"],
            "urban": [True, False, True, True, False, False],
            "school": pd.Categorical(
                ["none", "degree", "some", "none", "some", "degree"],
                ["none", "some", "degree"],
                ordered=True,
            ),
        },
        index=[5, 4, 9, 8, 7, 6],
    )


def test_design_matrix_of_mixed_columns():
    X, predictors, baselines, *_ = design_matrix(frame(), 6)
    assert predictors == [
        "intercept",
        "age",
        "sex=m",
        "urban=True",
        "school=some",
        "school=degree",
    ]
    assert baselines == {"sex": "f", "urban": False, "school": "none"}
    np.testing.assert_array_equal(
        X.T,
        [
            [1, 1, 1, 1, 1, 1],
            [30, 41, 55, 38, 62, 47],
            [1, 0, 0, 1, 0, 1],
            [1, 0, 1, 1, 0, 0],
            [0, 0, 1, 0, 1, 0],
            [0, 1, 0, 0, 0, 1],
        ],
    )
    assert X.dtype == float


def test_the_first_category_is_the_baseline():
    column = pd.Categorical(["a", "b", "c", "a"], ["c", "a", "b"])
    _, predictors, baselines, *_ = design_matrix(pd.DataFrame({"level": column}), 4)
    assert baselines == {"level": "c"}
    assert predictors == ["intercept", "level=a", "level=b"]


def test_categories_of_numbers_are_categories():
    column = pd.Categorical([3, 1, 2, 1])
    X, predictors, baselines, *_ = design_matrix(pd.DataFrame({"size": column}), 4)
    assert baselines == {"size": 1}
    assert predictors == ["intercept", "size=2", "size=3"]
    np.testing.assert_array_equal(X[:, 1:].T, [[0, 0, 1, 0], [1, 0, 0, 0]])


@pytest.mark.parametrize("dtype", [object, "str", "category"])
def test_strings_are_sorted(dtype):
    column = pd.Series(["w", "n", "e", "n"], dtype=dtype)
    _, predictors, baselines, *_ = design_matrix(pd.DataFrame({"region": column}), 4)
    assert baselines == {"region": "e"}
    assert predictors == ["intercept", "region=n", "region=w"]


@pytest.mark.parametrize("dtype", ["Int64", "Float32", "uint8", object])
def test_numbers_stay_numbers(dtype):
    data = pd.DataFrame({"age": pd.Series([30, 41, 55], dtype=dtype)})
    X, predictors, baselines, *_ = design_matrix(data, 3)
    assert (predictors, baselines) == (["intercept", "age"], {})
    np.testing.assert_array_equal(X[:, 1], [30, 41, 55])


def test_numbers_as_objects_are_no_levels():
    data = pd.DataFrame(
        {
            "decimal": [Decimal("1.5"), Decimal(2), Decimal(4)],
            "object": np.array([1, 2.5, 4], dtype=object),
        }
    )
    X, predictors, baselines, *_ = design_matrix(data, 3)
    assert predictors == ["intercept", "decimal", "object"]
    assert baselines == {}
    np.testing.assert_array_equal(X[:, 1], [1.5, 2, 4])


@pytest.mark.parametrize("dtype", [bool, "boolean", object])
def test_truth_values_become_an_indicator(dtype):
    data = pd.DataFrame({"urban": pd.Series([True, False, True], dtype=dtype)})
    X, predictors, baselines, *_ = design_matrix(data, 3)
    assert predictors == ["intercept", "urban=True"]
    assert baselines == {"urban": False}
    np.testing.assert_array_equal(X[:, 1], [1, 0, 1])


@pytest.mark.parametrize("as_other", [list, np.array, xr.DataArray])
def test_design_matrix_of_an_array(as_other):
    X, predictors, baselines, *_ = design_matrix(
        as_other([[1, 5.5], [2, 3], [4, 0]]), 3
    )
    assert (predictors, baselines) == (["intercept", "x0", "x1"], {})
    np.testing.assert_array_equal(X, [[1, 1, 5.5], [1, 2, 3], [1, 4, 0]])


@pytest.mark.parametrize("empty", [np.empty((3, 0)), pd.DataFrame(index=range(3))])
def test_an_intercept_alone(empty):
    X, predictors, baselines, *_ = design_matrix(empty, 3)
    assert (predictors, baselines) == (["intercept"], {})
    np.testing.assert_array_equal(X, np.ones((3, 1)))


def test_the_design_matrix_is_a_copy():
    array = np.array([[1.0], [2], [3]])
    X = design_matrix(array, 3).X
    array[0] = 100
    np.testing.assert_array_equal(X[:, 1], [1, 2, 3])


def levels(values, categories):
    return pd.DataFrame({"sex": pd.Categorical(values, categories)})


@pytest.mark.parametrize(
    ("X", "text"),
    [
        (
            pd.DataFrame({"age": [30, 40, np.nan]}),
            "X must not be missing; record 2 of 'age' is" + MISSING,
        ),
        (
            pd.DataFrame({"age": [1, 2, 3], "sex": ["m", None, "f"]}),
            "X must not be missing; record 1 of 'sex' is" + MISSING,
        ),
        (
            levels(["m", "f", None], ["f", "m"]),
            "X must not be missing; record 2 of 'sex' is" + MISSING,
        ),
        (
            pd.DataFrame({"age": pd.array([1, pd.NA, 3], dtype="Int64")}),
            "X must not be missing; record 1 of 'age' is" + MISSING,
        ),
        (
            [[1, 2], [3, np.nan], [4, 4]],
            "X must not be missing; record 1 of 'x1' is" + MISSING,
        ),
        (
            pd.DataFrame({"age": [30, np.inf, 3]}),
            "X['age'] must be finite; record 1 has inf",
        ),
        (
            levels(["m", "f", "m"], ["f", "m", "x"]),
            "X must hold every level of its columns; 'x' of 'sex' does not occur: "
            "use .cat.remove_unused_categories()",
        ),
        ([[1, 2], [3, 2], [4, 2]], "X must vary; column 'x1' is constant: remove it"),
        (
            pd.DataFrame({"sex": ["m", "m", "m"]}),
            "X must vary; column 'sex' is constant: remove it",
        ),
        (
            pd.DataFrame({"urban": [True, True, True]}),
            "X must vary; column 'urban' is constant: remove it",
        ),
        (
            np.arange(9.0).reshape(3, 3) ** 2,
            "X must have no more coefficients than records; got 4 for 3: "
            "merge levels or remove columns",
        ),
        (
            pd.DataFrame({"id": ["a", "b", "c"], "age": [1, 2, 4]}),
            "X must have no more coefficients than records; got 4 for 3: "
            "merge levels or remove columns",
        ),
        (pd.DataFrame({"age": [1, 2]}), "X must have 3 rows, as y has; got 2"),
        (np.ones((4, 2)), "X must have 3 rows, as y has; got 4"),
        ([1, 2, 3], "X must have shape (3, columns); got (3,)"),
        (pd.Series([1, 2, 3]), "X must have shape (3, columns); got (3,)"),
        (np.ones((3, 2, 2)), "X must have shape (3, columns); got (3, 2, 2)"),
        (
            [["a"], ["b"], ["c"]],
            "X must be numbers; got [['a'], ['b'], ['c']]",
        ),
    ],
)
def test_bad_predictors_are_refused(X, text):
    with refused(text):
        pp.MixtureSynthesizer([1, 2, 3], X)


def test_a_column_called_intercept_does_not_replace_the_intercept():
    data = pd.DataFrame({"intercept": [1, 2, 4], "age": [3, 1, 7]})
    with pytest.raises(ValueError, match="intercept"):
        design_matrix(data, 3)


def test_columns_of_one_name_are_not_dropped():
    data = pd.DataFrame([[1, 5], [2, 3], [4, 0]], columns=["age", "age"])
    with pytest.raises(ValueError, match="age"):
        design_matrix(data, 3)


def test_an_indicator_does_not_replace_another_column():
    data = pd.DataFrame({"sex=m": [1, 2, 4], "sex": ["m", "f", "m"]})
    with pytest.raises(ValueError, match="sex=m"):
        design_matrix(data, 3)


# Rank


def household(n=200):
    """Places of three levels within regions, parts and their sum, and a late year."""
    rng = np.random.default_rng(3)
    place = rng.choice(["city", "town", "village"], size=n)
    data = pd.DataFrame(
        {
            "place": place,
            "rural": np.where(place == "village", "yes", "no"),
            "wage": rng.integers(0, 50_000, n) * 1.0,
            "rent": rng.integers(0, 900, n) / 7,
        }
    )
    return data.assign(total=data["wage"] + 12 * data["rent"] - 100)


def designed(data):
    with pytest.warns(UserWarning, match="^left out of X") as told:
        return design_matrix(data, len(data)), str(told[0].message)


def test_what_other_columns_determine_is_left_out():
    data = household()
    design, told = designed(data)
    assert design.predictors == [
        *("intercept", "place=town", "place=village", "wage", "rent")
    ]
    assert design.columns == [None, "place", "place", "wage", "rent"]
    assert set(design.redundant) == {"rural=yes", "total"}
    assert design.redundant["rural=yes"] == pytest.approx({"place=village": 1})
    expected = {"intercept": -100, "wage": 1, "rent": 12}
    assert design.redundant["total"] == pytest.approx(expected)
    assert told == (
        "left out of X, because other columns determine it: 'rural=yes' is "
        "'place=village'; 'total' is -100 + 'wage' + 12 'rent'"
    )
    assert design.baselines == {"place": "city", "rural": "no"}


def test_other_rows_are_encoded_by_the_same_predictors():
    data = household()
    design, _ = designed(data)
    np.testing.assert_array_equal(design.encode(data), design.X)
    some = data[::-1].iloc[:7]
    other = some[[*data][::-1]].assign(beside="of no use").reset_index(drop=True)
    np.testing.assert_array_equal(design.encode(other), design.X[::-1][:7])
    # What others determined among the first rows plays no part in these.
    np.testing.assert_array_equal(
        design.encode(other.assign(total=0.0)), design.encode(other)
    )
    assert list(design.levels) == ["place", "rural"]
    assert [*design.levels["place"]] == ["city", "town", "village"]


def test_an_array_is_encoded_by_the_same_predictors():
    design = design_matrix([[1.0, 5], [2, 1], [4, 3]], 3)
    np.testing.assert_array_equal(design.encode([[7.0, 8]]), [[1, 7, 8]])


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        (
            {"place": "hamlet"},
            "X['place'] must have levels of the design; record 0 has ",
        ),
        ({"wage": "low"}, "X['wage'] must be numbers; record 0 has 'low'"),
        ({"rent": np.nan}, "X must not be missing; record 0 of 'rent' is"),
    ],
)
def test_rows_that_do_not_fit_the_design_are_refused(changed, rule):
    design, _ = designed(household())
    with pytest.raises(ValueError, match=f"^{re.escape(rule)}"):
        design.encode(household().iloc[:3].assign(**changed))


def test_a_column_of_the_design_must_be_there():
    rule = "X must have the columns of the design; 'rent' is not among ['wage']"
    with pytest.raises(ValueError, match=re.escape(rule)):
        design_matrix(household()[["wage", "rent"]], 200).encode(household()[["wage"]])


def test_the_first_of_two_columns_stays():
    data = household()[["rural", "place"]]
    design, told = designed(data)
    assert design.predictors == ["intercept", "rural=yes", "place=town"]
    assert told.endswith("it: 'place=village' is 'rural=yes'")


def test_the_sums_are_what_was_left_out():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 4)) * [1, 1e-9, 1e9, 1]
    sums = X @ rng.normal(size=(4, 2)) + [3, -2]
    data = pd.DataFrame(np.column_stack([X, sums]), columns=list("abcdef"))
    design, _ = designed(data)
    assert design.predictors == ["intercept", *"abcd"]
    for name, terms in design.redundant.items():
        again = sum(
            value * (1.0 if other == "intercept" else data[other])
            for other, value in terms.items()
        )
        np.testing.assert_allclose(again, data[name], rtol=1e-6)


@pytest.mark.parametrize("size", [1e-100, 1.0, 1e100])
def test_units_do_not_matter(size):
    rng = np.random.default_rng(4)
    first, second, third = rng.normal(size=(3, 30))
    X = np.column_stack([first * size, second, first / size, second + 1e-5 * third])
    with pytest.warns(UserWarning, match="left out of X"):
        assert design_matrix(X, 30).predictors == ["intercept", "x0", "x1", "x3"]


def test_a_number_far_from_zero_is_not_the_intercept():
    X = 1e9 + np.random.default_rng(4).normal(size=(30, 2))
    assert design_matrix(X, 30).predictors == ["intercept", "x0", "x1"]


def test_rank_is_that_of_the_columns():
    """As many predictors stay as a singular value decomposition finds directions."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        X = rng.integers(0, 2, size=(12, 9)) * 1.0
        X = X[:, np.ptp(X, axis=0) > 0]
        whole = np.column_stack([np.ones(12), X])
        rank = np.linalg.matrix_rank(whole)
        if rank == whole.shape[1]:
            assert design_matrix(X, 12).redundant == {}
            continue
        with pytest.warns(UserWarning, match="left out of X"):
            design = design_matrix(X, 12)
        assert np.linalg.matrix_rank(design.X) == design.X.shape[1] == rank


def test_the_warning_points_to_the_caller():
    data = household()
    with pytest.warns(UserWarning, match="left out of X") as told:
        model = pp.MixtureSynthesizer(np.arange(1.0, 201), data)
    assert told[0].filename == __file__
    assert set(model.redundant) == {"rural=yes", "total"}
    assert model.X.shape == (200, 5)


def test_a_single_name_is_no_list_of_columns():
    with pytest.raises(
        TypeError, match="varying must be a list of columns of X; got 'age'"
    ):
        pp.MixtureSynthesizer(np.arange(1.0, 7), frame(), varying="age")


def test_a_column_that_was_left_out_cannot_vary():
    text = (
        "varying must name columns that X has and the model does not leave out; "
        "'rural' is none"
    )
    with pytest.warns(UserWarning, match="left out of X"), refused(text):
        pp.MixtureSynthesizer(np.arange(1.0, 201), household(), varying=["rural"])
