"""Design matrices: columns of numbers and of levels as predictors of full rank."""

import numbers
import warnings
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype

from pseudopost._checks import as_array, as_count, as_vector, check_finite, quoted
from pseudopost._source import PACKAGE

# Kinds of columns, as pandas infers them, that are numbers and not levels.
NUMBERS = ("complex", "decimal", "floating", "integer", "mixed-integer-float")
# A predictor is a sum of others if they leave no more than such a part of it; terms of
# a sum that are as small a part of it are none.
SMALL = 1e-7


class Design(NamedTuple):
    """What :func:`design_matrix` returns.

    Attributes
    ----------
    X : ndarray, shape (n, R)
        Of full rank.
    predictors : list of str
        Names of its columns, the intercept first.
    baselines : dict
        Baseline level by categorical column.
    redundant : dict of dict
        Predictors that were left out, because those before them determine them, by
        name: the coefficients of the sum that each one is, by name.
    columns : list
        Column that each predictor was made from; of the intercept, none.

    References
    ----------
    Book: :ref:`mixture-synthesizer`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> design = pp.design_matrix([[1], [4], [2]], 3)
    >>> design.predictors, design.columns
    (['intercept', 'x0'], [None, 'x0'])
    """

    X: np.ndarray
    predictors: list[str]
    baselines: dict
    redundant: dict
    columns: list[Any]


def design_matrix(X, n):
    """Intercept, numeric columns as they are, and indicators of other columns' levels.

    Predictors that those before them determine are left out, with a warning: the level
    of a place that is also a level of its region, or parts beside their total.

    Parameters
    ----------
    X : DataFrame or array-like, shape (n, columns)
        Of an array, the columns are called x0, x1 and so on. Of a categorical column
        the first level is the baseline.
    n : int
        Number of records wanted.

    Returns
    -------
    Design

    Raises
    ------
    ValueError
        If `X` has missing values, another length than `n`, a constant column, a level
        that does not occur, two predictors of one name, or more coefficients than
        records.

    Warns
    -----
    UserWarning
        If predictors are left out; it names them, and the sums that they are.

    References
    ----------
    Book: :ref:`mixture-synthesizer`.

    Examples
    --------
    >>> import pandas as pd
    >>> import pseudopost as pp
    >>> people = pd.DataFrame({"size": [1, 4, 2], "region": ["S", "N", "S"]})
    >>> design = pp.design_matrix(people, 3)
    >>> design.predictors, design.baselines
    (['intercept', 'size', 'region=S'], {'region': 'N'})
    >>> design.X
    array([[1., 1., 1.],
           [1., 4., 0.],
           [1., 2., 1.]])
    """
    n = as_count(n, "n")
    if not isinstance(X, pd.DataFrame):
        X = as_array(X, "X")
        if X.ndim != 2:
            raise ValueError(f"X must have shape ({n}, columns); got {X.shape}")
        X = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    if len(X) != n:
        raise ValueError(f"X must have {n} rows, as y has; got {len(X)}")
    made, baselines, source = {"intercept": np.ones(n)}, {}, {"intercept": None}

    def add(name, values, column):
        if name in made:
            raise ValueError(f"X must give distinct names; {name!r} is there twice")
        with np.errstate(over="ignore"):
            spread = np.ptp(values)
        check_finite(spread, "X", f"the spread of column {name!r}")
        if spread == 0:
            raise ValueError(f"X must vary; column {name!r} is constant: remove it")
        made[name], source[name] = values, column

    for name, column in X.items():
        missing = column.isna().to_numpy()
        if missing.any():
            raise ValueError(
                f"X must not be missing; record {np.argmax(missing)} of {name!r} is: "
                "leave the record out, or make a level of what is missing"
            )
        if _has_numbers(column):
            add(str(name), as_vector(column, f"X[{name!r}]"), name)
            continue
        column = column.astype("category")
        counts = column.value_counts()
        if (counts == 0).any():
            raise ValueError(
                "X must hold every level of its columns; "
                f"{quoted(counts.idxmin())} of {name!r} does not occur: "
                "use .cat.remove_unused_categories()"
            )
        baselines[name], *others = column.cat.categories
        for level in others:
            add(f"{name}={level}", (column == level).to_numpy(float), name)
        if not others:
            add(str(name), np.ones(n), name)
    if len(made) > n:
        raise ValueError(
            f"X must have no more coefficients than records; got {len(made)} for {n}: "
            "merge levels or remove columns"
        )
    redundant = _redundant(made)
    if redundant:
        sums = "; ".join(f"{name!r} is {_sum(redundant[name])}" for name in redundant)
        warnings.warn(
            f"left out of X, because other columns determine it: {sums}",
            skip_file_prefixes=(str(PACKAGE),),
        )
    kept = [name for name in made if name not in redundant]
    return Design(
        np.column_stack([made[name] for name in kept]),
        kept,
        baselines,
        redundant,
        [source[name] for name in kept],
    )


def _redundant(made):
    """Find the predictors that are sums of those before them, and these sums.

    Predictors are taken around their means; the intercept makes that good.
    """
    found, kept, lengths, directions = {}, [], [], np.empty((len(made["intercept"]), 0))
    around = np.empty_like(directions)
    for name, values in made.items():
        if name == "intercept":
            continue
        size = np.abs(values).max()
        centred = values / size - np.mean(values / size)
        length = np.linalg.norm(centred)
        own = rest = centred / length
        for _ in range(2):  # the second time takes away what rounding has left
            rest = rest - directions @ (directions.T @ rest)
        left = np.linalg.norm(rest)
        if left > SMALL:
            kept.append(name)
            lengths.append(length * size)
            around = np.column_stack([around, own])
            directions = np.column_stack([directions, rest / left])
            continue
        parts = np.linalg.lstsq(around, own)[0] * (length * size / np.array(lengths))
        constant = values[0] - sum(
            part * made[other][0] for part, other in zip(parts, kept, strict=True)
        )
        terms = zip(["intercept", *kept], [constant, *parts], strict=True)
        found[name] = {
            other: float(part)
            for other, part in terms
            if abs(part) * np.abs(made[other]).max() > SMALL * size
        }
    return found


def _sum(coefficients):
    """Write a sum of predictors."""
    text = ""
    for name, value in coefficients.items():
        size = f"{abs(value):.6g}"
        if name != "intercept":
            size = repr(name) if size == "1" else f"{size} {name!r}"
        sign = "-" if value < 0 else "+"
        text += f" {sign} {size}" if text else f"{sign.strip('+')}{size}"
    return text


def _has_numbers(column):
    kind = infer_dtype(column)
    return kind in NUMBERS or (
        kind.startswith("mixed")
        and all(isinstance(value, (numbers.Real, Decimal)) for value in column)
    )
