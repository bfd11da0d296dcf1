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
    levels : dict of pandas.Index
        Levels by categorical column, the baseline first.

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
    levels: dict

    def encode(self, X):
        """Write other rows by the same predictors.

        Parameters
        ----------
        X : DataFrame or array-like, shape (rows, columns)
            With the columns that the design was made from; of a data frame, in any
            order and beside others.

        Returns
        -------
        ndarray, shape (rows, R)

        Raises
        ------
        ValueError
            If a column is not there, a value is missing, or a level is a new one.

        References
        ----------
        Book: :ref:`two-columns`.

        Examples
        --------
        >>> import pandas as pd
        >>> import pseudopost as pp
        >>> design = pp.design_matrix(pd.DataFrame({"region": ["S", "N", "S"]}), 3)
        >>> design.encode(pd.DataFrame({"region": ["N", "S"]}))
        array([[1., 0.],
               [1., 1.]])
        """
        X = _as_frame(X, "rows")
        made = {None: {"intercept": np.ones(len(X))}}
        for name in dict.fromkeys(self.columns[1:]):
            if name not in X:
                raise ValueError(
                    f"X must have the columns of the design; {name!r} is not among "
                    f"{[*X]}"
                )
            made[name] = dict(_predictors_of(X[name], name, self.levels.get(name)))
        parts = zip(self.columns, self.predictors, strict=True)
        return np.column_stack([made[column][name] for column, name in parts])


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
    X = _as_frame(X, n)
    if len(X) != n:
        raise ValueError(f"X must have {n} rows, as y has; got {len(X)}")
    made, levels, source = {"intercept": np.ones(n)}, {}, {"intercept": None}

    def add(name, values, column):
        if name in made:
            raise ValueError(f"X must give distinct names; {name!r} is there twice")
        with np.errstate(over="ignore"):
            spread = np.ptp(values)
        check_finite(spread, "X", f"the spread of column {name!r}")
        if spread == 0:
            raise ValueError(f"X must vary; column {name!r} is constant: remove it")
        made[name], source[name] = values, column

    for column, values in X.items():
        if not _has_numbers(values):
            levels[column] = _levels_of(values, column)
        found = _predictors_of(values, column, levels.get(column))
        for name, each in found or [(str(column), np.ones(n))]:
            add(name, each, column)
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
        {column: each[0] for column, each in levels.items()},
        redundant,
        [source[name] for name in kept],
        levels,
    )


def _as_frame(X, rows):
    if isinstance(X, pd.DataFrame):
        return X
    X = as_array(X, "X")
    if X.ndim != 2:
        raise ValueError(f"X must have shape ({rows}, columns); got {X.shape}")
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def _levels_of(values, column):
    """Return the levels of a categorical column, each of which has to occur."""
    values = values.astype("category")
    counts = values.value_counts()
    if (counts == 0).any():
        raise ValueError(
            "X must hold every level of its columns; "
            f"{quoted(counts.idxmin())} of {column!r} does not occur: "
            "use .cat.remove_unused_categories()"
        )
    return values.cat.categories


def _predictors_of(values, column, levels):
    """Return what a column gives, with names: itself, or an indicator of each level."""
    missing = values.isna().to_numpy()
    if missing.any():
        raise ValueError(
            f"X must not be missing; record {np.argmax(missing)} of {column!r} is: "
            "leave the record out, or make a level of what is missing"
        )
    if levels is None:
        return [(str(column), as_vector(values, f"X[{column!r}]"))]
    strange = ~values.isin(levels).to_numpy()
    if strange.any():
        raise ValueError(
            f"X[{column!r}] must have levels of the design; record "
            f"{np.argmax(strange)} has {quoted(values.iloc[np.argmax(strange)])}"
        )
    return [
        (f"{column}={each}", (values == each).to_numpy(float)) for each in levels[1:]
    ]


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
