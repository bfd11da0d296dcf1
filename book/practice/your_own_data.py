"""What the chapter on your own data reads, checks, tabulates and writes.

Copy this file together with the notebook; it needs nothing else of the book.
"""

import html
import numbers as kinds
import re
import tempfile
import warnings
from decimal import Decimal
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import linprog

import pseudopost as pp

try:
    from companion import by_profile, numbers, print_what_fits_say, say_if_small
except ImportError:  # a copy outside the book has one size, and no text for numbers

    def by_profile(small, book):
        """Return what the book takes."""
        return book

    def print_what_fits_say():
        """Leave warnings as they are."""

    def say_if_small():
        """Say nothing."""

    def numbers(values):
        """Do nothing with the values."""


MAX_LEVELS = 30
PER_COEFFICIENT = 10  # records, at the very least
HIDDEN = "not shown"
STYLE = (
    "body{font:15px sans-serif;max-width:50em;margin:2em auto}"
    "table{border-collapse:collapse}td,th{padding:.1em .8em;text-align:left}"
    "tr{border-bottom:1px solid #ddd}"
)


# Reading


def write_example(path):
    """Write the public example as a CSV file, and return its path.

    A small run of the book takes 1,500 of its persons.
    """
    from linearmodels.datasets import meps

    survey = meps.load()
    survey = survey.sample(by_profile(1500, len(survey)), random_state=1).sort_index()
    health = ["vegood", "good", "fair", "poor"]
    pd.DataFrame(
        {
            "sex": np.where(survey["female"] == 1, "female", "male"),
            "age": pd.cut(
                survey["age"],
                [64, 69, 74, 79, 84, np.inf],
                labels=["65-69", "70-74", "75-79", "80-84", "85+"],
            ),
            "black_or_hispanic": np.where(survey["blhisp"] == 1, "yes", "no"),
            "married": np.where(survey["marry"] == 1, "yes", "no"),
            "health": np.select(
                [survey[name] == 1 for name in health],
                ["very good", "good", "fair", "poor"],
                "excellent",
            ),
            "conditions": survey["totchr"]
            .clip(upper=4)
            .map(dict(enumerate(["0", "1", "2", "3", "4 or more"]))),
            "drug_expenditure": survey["drugexp"].astype(int),
        }
    ).to_csv(path, index=False)
    return path


def sizes_of_example(*sizes):
    """Return the settings as they are, or those of a small run of the book."""
    print_what_fits_say()
    say_if_small()
    return by_profile((2, 100, 100), sizes)


def read_as_text(path):
    """Read a CSV file; as text, so that a level such as 01 or NA stays as it is."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    table = table.fillna("")  # rows that end too early
    if not isinstance(table.index, pd.RangeIndex):
        raise ValueError(
            "CSV must not have more values in a line than names in the first"
        )
    return table.apply(lambda column: column.str.strip())  # " a" and "a" are one level


def decimals(texts):
    """Most decimals that any of the numbers needs."""
    return max(0, *(-Decimal(text).normalize().as_tuple().exponent for text in texts))


# The check of the file


def check(
    table,
    variable,
    predictors,
    known,
    shift,
    limits=(None, None),
    small=10,
    survey_weight=None,
):
    """Return the variable as numbers, and a table of findings; or stop, and say why."""
    check_columns(table, variable, predictors, known, survey_weight)
    y = numbers_in(table, variable)
    check_range(table, variable, y, shift, limits)
    if len(y) < 10 * small:  # or the quantiles of a report would reach the largest
        _stop(variable, f"must have at least {10 * small} records", f"it has {len(y)}")
    design = check_predictors(table, predictors)
    rows = [
        about_size(*design.X.shape),
        *about_redundant(design.redundant),
        *about_values(y, shift, limits, small),
        *about_groups(table, predictors, known, small),
        *about_survey_weight(table, survey_weight),
    ]
    return y, pd.DataFrame(rows, columns=["check", "found", "what to do"])


def _stop(column, rule, found):
    raise ValueError(f"column {column!r} {rule}; {found}")


def _first(table, column, bad):
    row = int(np.argmax(bad))
    return f"line {row + 2} has {table[column].iloc[row]!r}"


def check_columns(table, variable, predictors, known, survey_weight):
    """Stop unless every column is named once, is in the file, and has no empty cell."""
    if not predictors or not known:
        raise ValueError(
            "PREDICTORS and KNOWN must name a column each; "
            f"got {predictors!r} and {known!r}"
        )
    if len(set(predictors)) < len(predictors):
        raise ValueError(f"PREDICTORS must be distinct; got {predictors!r}")
    weight = [] if survey_weight is None else [survey_weight]
    for name in [variable, *predictors, *known, *weight]:
        if name not in table:
            _stop(name, "must be in the file", f"it has {', '.join(table)}")
    if variable in predictors:
        _stop(variable, "must not be in PREDICTORS", "it is VARIABLE")
    for name in known:
        if name not in predictors:
            _stop(name, "of KNOWN must be in PREDICTORS too", "it is not")
    if survey_weight in {variable, *predictors}:
        _stop(
            survey_weight,
            "must be one of VARIABLE, PREDICTORS and SURVEY_WEIGHT",
            "it is SURVEY_WEIGHT and another: give a predictor a banded copy",
        )
    declared = {variable, *predictors, *weight}
    undeclared = [name for name in table if name not in declared]
    if undeclared:
        _stop(
            undeclared[0],
            "must be VARIABLE, SURVEY_WEIGHT or in PREDICTORS",
            "it is none of them and would be released: remove from the file "
            + ", ".join(undeclared),
        )
    for name in table:
        empty = (table[name].str.strip() == "").to_numpy()
        if empty.any():
            _stop(
                name,
                f"must have no empty cells, and has {empty.sum()}",
                f"{_first(table, name, empty)}: impute it, or give it a level",
            )


def numbers_in(table, variable):
    """Return a column as numbers, or stop."""
    y = pd.to_numeric(table[variable], errors="coerce").to_numpy(float)
    if not np.isfinite(y).all():
        _stop(
            variable,
            "must hold numbers only, with a decimal point, without units or "
            "thousands separators",
            _first(table, variable, ~np.isfinite(y)),
        )
    if np.ptp(y) == 0:
        _stop(variable, "must vary", f"all {len(y)} records have {y[0]:g}")
    return y


def check_range(table, variable, y, shift, limits):
    """Stop unless all values are above -SHIFT and within the limits."""
    if (y + shift <= 0).any():
        smallest = _first(table, variable, y == y.min())
        _stop(
            variable,
            f"must lie above -SHIFT, which is {-shift:g}",
            f"{smallest}: choose a larger, round SHIFT",
        )
    lowest, highest = (
        end if limit is None else limit
        for limit, end in zip(limits, (-np.inf, np.inf), strict=True)
    )
    if np.isfinite(lowest) and lowest + shift <= 0:
        _stop(variable, "needs LOWEST above -SHIFT", f"they are {lowest:g}, {-shift:g}")
    beyond = (y < lowest) | (y > highest)
    if beyond.any():
        _stop(
            variable,
            f"must lie between LOWEST and HIGHEST, {lowest:g} and {highest:g}",
            f"{_first(table, variable, beyond)}: this is no limit",
        )


def check_predictors(table, predictors):
    """Return the design matrix; stop if the records are too few for it."""
    counts = {name: table[name].value_counts() for name in predictors}
    for name, count in counts.items():
        if len(count) == 1:
            _stop(name, "must vary", f"all records have {count.index[0]!r}: remove it")
        if len(count) > MAX_LEVELS:
            _stop(
                name,
                f"must have at most {MAX_LEVELS} levels, and has {len(count)}",
                f"{count.index[-1]!r} has {count.iloc[-1]} record(s): group the "
                "levels, or remove an identifier",
            )
    n = len(table)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "left out of X")  # about_redundant says so
        design = pp.design_matrix(table[predictors], n)
    n_coefficients = design.X.shape[1]
    if n / n_coefficients < PER_COEFFICIENT:
        most = max(counts, key=lambda name: len(counts[name]))
        _stop(
            most,
            f"has {len(counts[most])} levels, the most of any predictor",
            f"{n} records are too few for {n_coefficients} coefficients, "
            f"{PER_COEFFICIENT} each: merge levels or remove predictors",
        )
    return design


def about_size(n, n_coefficients):
    """Finding on the number of records: its name, what was found, and what to do."""
    each = n / n_coefficients
    return (
        "Records",
        f"{n:,}, {each:.0f} for each of {n_coefficients} coefficients",
        "merge levels" if each < 50 else "",
    )


def about_redundant(redundant):
    """Findings on predictors that the model leaves out, because others say the same."""
    return [
        (
            f"Predictor {name}",
            f"determined by {', '.join(terms)}",
            "nothing: the model leaves it out, the files keep its column",
        )
        for name, terms in redundant.items()
    ]


def about_values(y, shift, limits, small):
    """Findings on signs, tails, limits and heaps of the variable."""
    logs = np.log(y + shift)
    low, high = (np.array([logs.min(), logs.max()]) - logs.mean()) / logs.std()
    if low < -5:
        advice = "raise SHIFT"
    elif shift > max(np.median(y), 0):
        advice = "lower SHIFT, which exceeds the median"
    else:
        advice = "look at the largest values: errors?" if high > 6 else ""
    counts = pd.Series(y).value_counts()
    most, shared = counts.iloc[0] / len(y), counts[counts >= small].sum() / len(y)
    unlimited = limits[0] is None and (y >= 0).all()
    return [
        (
            "Below 0",
            f"{(y < 0).sum():,}",
            "a ball reaches RADIUS of the absolute value" if (y < 0).any() else "",
        ),
        (
            "Equal to 0",
            f"{(y == 0).sum():,}",
            "the ball of a 0 is 0 itself: judge these by hand"
            if (y == 0).any()
            else "",
        ),
        (
            "After the shift",
            f"logarithms from {low:.1f} to {high:.1f} standard deviations",
            advice,
        ),
        (
            "No limit",
            "no value is below 0, and LOWEST is None",
            "set LOWEST = 0, unless a value below 0 is possible",
        )
        if unlimited
        else ("Limits", f"LOWEST {limits[0]}, HIGHEST {limits[1]}", ""),
        (
            "Most frequent value",
            f"{counts.index[0]:g}, with {most:.1%} of the records",
            "synthesize first whether a record has it, then the rest"
            if most > 0.05
            else "",
        ),
        (
            "Heaping",
            f"{shared:.0%} of the records have a value that {small} or more share",
            "heaps will be smoothed" if shared > 0.25 else "",
        ),
    ]


def about_groups(table, predictors, known, small):
    """Findings on levels and on patterns of what an intruder knows."""
    levels = table[predictors]
    executed = np.count_nonzero((without_formulas(levels) != levels).any())
    rare = [
        f"{name}={level} ({size})"
        for name in predictors
        for level, size in table[name].value_counts().items()
        if size < small
    ]
    sizes = table.groupby(known).size()
    return [
        (
            "Rare levels",
            ", ".join(rare) or f"none has fewer than {small} records",
            "merge them with others" if rare else "",
        ),
        (
            "Patterns",
            f"{len(sizes)}, of {sizes.min()} to {sizes.max()} records; "
            f"records alone: {(sizes == 1).sum()}, "
            f"patterns of fewer than {small}: {(sizes < small).sum()}",
            "coarsen KNOWN before anything else" if sizes.min() < small else "",
        ),
        (
            "Formulas",
            f"{executed} columns have levels that a spreadsheet would execute",
            "rename them, or they get an apostrophe in front" if executed else "",
        ),
    ]


def survey_weights(table, name):
    """Return survey weights as numbers, or stop."""
    found = numbers_in(table, name)
    if (found <= 0).any():
        _stop(name, "must be above 0", _first(table, name, found <= 0))
    return found


def about_survey_weight(table, name):
    """Finding on how far survey weights tell the records apart; none without them."""
    if name is None:
        return []
    counts = pd.Series(survey_weights(table, name)).value_counts()
    alone = (counts == 1).sum()
    return [
        (
            "Survey weight",
            f"{len(counts):,} different ones; {alone:,} records have one of their own",
            "round or group it: a weight of its own marks a row in every file"
            if alone
            else "",
        )
    ]


# Parameter: whether it is a whole number, and its smallest and largest value.
RANGES = {
    "SHIFT": (False, -np.inf, np.inf),
    "RADIUS": (False, 0, 100),
    "ALONE": (False, 0, 1),
    "WEIGHT_SCALE": (False, 0, 100),
    "WEIGHT_SHIFT": (False, -1, 1),
    "SMALL_CELL": (True, 3, 1000),
    "COMPONENTS": (True, 1, 1000),
    "DRAWS": (True, 4, 10**7),
    "TUNE": (True, 1, 10**7),
    "SEED": (True, 0, 2**63 - 1),
}


def check_settings(given):
    """Stop unless the parameters, by name, are what they should be."""
    for name, (whole, low, high) in RANGES.items():
        check_number(name, given[name], whole, low, high)
    for name in ("LOWEST", "HIGHEST"):
        if given[name] is not None:
            check_number(name, given[name], False, -np.inf, np.inf)
    if None not in (given["LOWEST"], given["HIGHEST"]):
        check_number(
            "HIGHEST, beside LOWEST,", given["HIGHEST"], False, given["LOWEST"], np.inf
        )
    check_number("N_DATASETS", given["N_DATASETS"], True, 2, 2 * given["DRAWS"])
    if given["WEIGHTS"] not in ("pairwise", "marginal"):
        raise ValueError(
            f"WEIGHTS must be 'pairwise' or 'marginal'; got {given['WEIGHTS']!r}"
        )
    weight = given["SURVEY_WEIGHT"]
    if not (weight is None or isinstance(weight, str)):
        raise ValueError(f"SURVEY_WEIGHT must be a name or None; got {weight!r}")
    for name in ("PREDICTORS", "KNOWN"):
        names = given[name]
        if not isinstance(names, list) or not all(isinstance(k, str) for k in names):
            raise ValueError(f"{name} must be a list of names; got {names!r}")


def check_number(name, value, whole, low, high):
    """Stop unless a parameter is a number between two others."""
    wanted = kinds.Integral if whole else kinds.Real
    is_number = isinstance(value, wanted) and not isinstance(value, bool)
    if not (is_number and low <= value <= high and abs(value) <= 1e300):
        kind = "a whole number" if whole else "a number"
        raise ValueError(f"{name} must be {kind} from {low} to {high}; got {value!r}")


def empty_folder(output):
    """Return a new or empty folder, a temporary one by default, or stop."""
    folder = Path(output or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"OUTPUT must be a new or empty folder; {folder} is not")
    return folder


# Fits, risk and utility


def described_fits(fits, weights):
    """Weights, components in use, and what the sampler says of every fit."""
    return pd.DataFrame(
        {
            "mean weight": [1.0, weights.mean()],
            "smallest": [1.0, weights.min()],
            "components above 1%": [
                (fit["posterior"]["pi"] > 0.01).sum("component").mean().item()
                for fit in fits.values()
            ],
            "sampler": [
                fit.attrs["not_converged"] or "no problem" for fit in fits.values()
            ],
        },
        index=list(fits),
    )


def for_population(values, weight, points):
    """Estimate mean and quantiles of all that the records stand for, over files.

    Parameters
    ----------
    values : dict of ndarray, shape (n,) or (m, n)
        By name: a file, or several, of which the mean is taken.
    weight : ndarray, shape (n,)
        For how many each record stands.
    points : sequence of float
        Levels of the quantiles.
    """
    table = {}
    for name, files in values.items():
        files = np.atleast_2d(files)
        quantiles = np.mean(
            [
                np.quantile(z, points, weights=weight, method="inverted_cdf")
                for z in files
            ],
            axis=0,
        )
        table[name] = [np.average(files, axis=1, weights=weight).mean(), *quantiles]
    return pd.DataFrame(table, ["mean", *(f"{p:.0%} quantile" for p in points)])


def pmse_range(confidential, files, unchanged):
    """Smallest and largest pMSE ratio over the files; none if a regression fails."""
    try:
        ratios = [
            pp.propensity_score_mse(confidential, released, unchanged).ratio
            for released in files
        ]
    except ValueError as problem:
        print("pMSE not computed:", problem)
        return np.nan, np.nan
    return min(ratios), max(ratios)


def error(utility, row, name):
    """Error of an estimate in percent."""
    estimate = utility.loc[row].xs("estimate", level=1)
    return 100 * (estimate[name] / estimate["Data"] - 1)


# Numbers for the text


def risk_numbers(risk, weighted):
    """Mean risks, and how many records weights put up."""
    return {
        "risk-data": risk["Data"].mean(),
        "risk-unweighted": risk["Unweighted"].mean(),
        "risk-weighted": risk[weighted].mean(),
        "up": int((risk[weighted] - risk["Unweighted"] > 0.25).sum()),
    }


def utility_numbers(utility, weighted):
    """Errors under the weights, in percent."""
    short = {"mean": "mean", "25% quantile": "q25", "90% quantile": "q90"}
    return {
        f"{label}-weighted": error(utility, row, weighted)
        for row, label in short.items()
    }


def forecast_numbers(tuning, utility, weighted):
    """Forecasts of the 90% quantile beside what the fit came out with."""
    row = "90% quantile"
    return {
        "q90-forecast": tuning[row].iloc[0],
        "q90-fit": utility.loc[row, (weighted, "estimate")],
        "q90-shifted": tuning[row].loc[(1, 0.4)],
    }


# Figures


def draw_weights(y, weights, name, variable, shift):
    """Weight of every record against its value."""
    _, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    pp.plots.weights_against_values(
        y + shift,
        weights,
        name=name,
        xlabel=f"{variable} + {shift:g}, log scale",
        ax=ax,
    )
    ax.set_xscale("log")
    ax.set_ylim(0, 1.1 * weights.max())


def draw_risks(risk):
    """Identification risk of all records."""
    _, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    pp.plots.violins(risk, ylabel="Identification risk", middle="mean", ax=ax)
    ax.set_ylim(-0.03, 1.03)
    ax.legend(loc="upper right")


def draw_intervals(utility, rows, variable):
    """Bootstrap intervals of some statistics."""
    _, axes = plt.subplots(1, len(rows), figsize=(9, 2.6), layout="constrained")
    for ax, row in zip(axes, rows, strict=True):
        names = utility.columns.unique(0)
        pp.plots.intervals(
            {name: tuple(utility.loc[row, name]) for name in names},
            xlabel=f"{variable}, {row}",
            ax=ax,
        )


# The files


def without_formulas(table):
    """Put an apostrophe before text that a spreadsheet would execute."""

    def safe(text):
        is_formula = text[:1] in tuple("=+-@\t\r") and not is_number(text)
        return f"'{text}" if is_formula else text

    return table.map(safe).rename(columns=safe)


def is_number(text):
    """Whether a text is a number, such as -5."""
    try:
        return np.isfinite(float(text))
    except ValueError:
        return False


# What the report may show of the confidential values


def sets_of(people, windows, y):
    """Sets of records whose mean a report may show, those to keep longest first.

    Parameters
    ----------
    people : DataFrame, shape (n, ...)
        The predictors.
    windows : dict of str to slice
        Ranks of the records behind each estimate.
    y : ndarray, shape (n,)

    Returns
    -------
    dict
        By (title, row) of the tables of the report: ndarray of bool, shape (n,).
    """
    ranks = np.argsort(np.argsort(y, kind="stable"))
    found = {}
    for row, window in windows.items():
        chosen = np.arange(len(y))[window]
        found["estimates", row] = (chosen.min() <= ranks) & (ranks <= chosen.max())
    groups = {
        (name, level): (people[name] == level).to_numpy()
        for name in people
        for level in people[name].unique()
    }
    for title, row in found.keys() & groups.keys():
        raise ValueError(
            f"column {title!r} must not have the level {row!r}: the report has a row of "
            "that name"
        )
    by_size = sorted(groups, key=lambda key: (-groups[key].sum(), key))
    return found | {key: groups[key] for key in by_size}


def hidden_sets(sets, y, small):
    """Sets not to be shown, so that no combination of the others exposes a record.

    As long as there is such a combination, the last of its sets is hidden; then those
    are shown again that did not have to be.
    """
    shown = dict(sets)
    while combination := exposing(shown, y, small):
        del shown[[key for key in shown if key in combination][-1]]
    for key in sets:
        if key not in shown and not exposing(shown | {key: sets[key]}, y, small):
            shown[key] = sets[key]
    return set(sets) - set(shown)


def exposing(sets, y, small):
    """Return a combination of the totals of some sets that exposes a record, if any.

    A combination is a sum of the totals, each times a factor of any size and sign, so
    that each record enters it with a factor of its own. It exposes a record that has
    more than 1/`small` of these factors, by absolute value, or more than half of the
    amount.

    Returns
    -------
    dict
        The sets that take part, with their factors; empty if there is no such
        combination.
    """
    if not sets:
        return {}
    members = np.array(list(sets.values()), dtype=float)
    # Records in the same sets have the same factor, whatever the combination.
    rows, cell = np.unique(members.T, axis=0, return_inverse=True)
    size = np.bincount(cell)
    amount = np.bincount(cell, np.abs(y))
    largest = np.zeros(len(size))
    np.maximum.at(largest, cell, np.abs(y))
    for amounts, limit in (
        (size.astype(float), np.full(len(size), float(small))),
        (amount, 2 * largest),
    ):
        doubtful = np.flatnonzero((amounts < limit) & rows.any(axis=1))
        certain = least_amounts(rows, amounts, doubtful)
        order = np.argsort(certain)
        for k in doubtful[order][certain[order] < limit[doubtful[order]]]:
            factors = cheapest(rows, amounts / limit[k], k)
            if np.abs(rows @ factors) @ amounts < limit[k] * (1 - 1e-6):
                used = np.abs(factors) > 1e-6
                return {key: float(factors[i]) for i, key in enumerate(sets) if used[i]}
    return {}


def cheapest(rows, amounts, k):
    """Factors of sets with the least sum of amounts if the k-th cell has factor 1.

    A linear program: the least of sum |f| times `amounts` over f = `rows` @ factors
    with f[k] = 1. Among equals it prefers few and small factors.
    """
    n_cells, n_sets = rows.shape
    matrix, one = sparse.csr_array(rows), sparse.eye_array(n_cells)
    found = linprog(
        # Factors above and below 0, then the absolute values of f.
        np.r_[np.full(2 * n_sets, 1e-5), amounts],
        A_ub=sparse.block_array([[matrix, -matrix, -one], [-matrix, matrix, -one]]),
        b_ub=np.zeros(2 * n_cells),
        A_eq=np.r_[rows[k], -rows[k], np.zeros(n_cells)][None],
        b_eq=[1],
    )
    if not found.success:
        raise RuntimeError(f"the tables could not be checked: {found.message}")
    return found.x[:n_sets] - found.x[n_sets : 2 * n_sets]


def least_amounts(rows, amounts, cells):
    """Bounds from below on the sums that :func:`cheapest` finds for some cells.

    If the row of a cell is a sum of rows with factors w, then its f, which is 1, is the
    sum of w f, and so at most max |w / amount| times the sum of |f| times the amounts.
    """
    scaled = amounts[:, None] * rows
    root = scaled @ np.linalg.pinv(scaled.T @ scaled)
    bounds = np.zeros(len(cells))
    for start in range(0, len(cells), 256):
        target = rows[cells[start : start + 256]].T
        shares = root @ target  # w / amount
        reached = np.abs(scaled.T @ shares - target).max(axis=0) < 1e-7
        most = np.abs(shares).max(axis=0)
        bounds[start : start + 256] = np.where(reached, 1 / np.maximum(most, 1e-300), 0)
    return bounds


# The report


def risks(risk, riskiest, small):
    """Print mean risks, those of the riskiest, and the share above 0.5."""
    return pd.DataFrame(
        {
            name: {
                "mean": f"{values.mean():.2f}",
                "mean of the riskiest 1%": f"{riskiest(values):.2f}",
                "records above 0.5": rounded_share(
                    (values > 0.5).sum(), len(values), small
                ),
            }
            for name, values in risk.items()
        }
    ).T


def three_digits(value):
    """Print a number rounded to three significant digits."""
    return f"{float(f'{value:.3g}'):,.10g}" if np.isfinite(value) else "not computed"


def rounded_share(count, total, small):
    """Share in percent, of a count that is rounded to a multiple of `small`."""
    return f"{round(count / small) * small / total:.1%}"


def estimates(intervals, rows, hidden):
    """Print estimates and intervals; those of the data unless they are hidden."""
    return pd.DataFrame(
        {
            name: [
                HIDDEN
                if name == "Data" and ("estimates", row) in hidden
                else "{} ({} to {})".format(*map(three_digits, ends))
                for row, *ends in zip(rows, *found, strict=True)
            ]
            for name, found in intervals.items()
        },
        rows,
    )


def group_means(means, hidden):
    """Print means by group, except in the hidden groups."""
    shown = means.map(three_digits)
    shown.loc[[group in hidden for group in means.index]] = HIDDEN
    return shown


def shown_sets(sets, estimates, group_means):
    """Those of the sets whose mean stands in the two tables of a report."""
    shown = {("estimates", row) for row in estimates.index[estimates["Data"] != HIDDEN]}
    shown |= set(group_means.index[group_means["Data"] != HIDDEN])
    return {key: members for key, members in sets.items() if key in shown}


def page(variable, report, small):
    """Put the tables of the report on one page, with notes on what they mean."""
    notes = [
        "The column of interest is synthetic in every row. All other columns are those "
        "of the confidential file, unchanged.",
        "Risk: the share of the records with the same known characteristics whose "
        "released value is not close to the confidential value of the record in "
        "question, if its own released value is; otherwise 0. It describes an intruder "
        "who knows the true value.",
        "Numbers from confidential records are rounded, counts of them to multiples of "
        f"{small}; a quantile is the mean of {small} values around it.",
        "What is not shown of the confidential values is left out so that the rest "
        "cannot be combined: in no sum or difference of the totals behind the means "
        "and quantiles of this report, with whatever factors, does one record count "
        f"for more than 1/{small}, or make up more than half. This holds for this "
        "report alone, and not against somebody who knows the values of others.",
        "No guarantee of differential privacy is claimed.",
    ]
    name = html.escape(variable)
    with pd.option_context("display.max_colwidth", None):
        tables = [part.to_html(border=0) for part in report.values()]
    return "\n".join(
        [
            "<!DOCTYPE html><html lang='en'><meta charset='utf-8'>",
            f"<title>Synthetic {name}</title>",
            f"<style>{STYLE}</style>",
            f"<h1>Risk and utility of synthetic {name}</h1>",
            *(
                f"<h2>{html.escape(title)}</h2>\n{table}"
                for title, table in zip(report, tables, strict=True)
            ),
            "<ul>",
            *(f"<li>{html.escape(note)}</li>" for note in notes),
            "</ul></html>",
        ]
    )


# The last check: what must hold before anything is released


def required(
    folder,
    table,
    variable,
    predictors,
    limits,
    n_datasets,
    weights,
    report,
    shown,
    small,
):
    """Judge what was written, and the report, by the rules of the release."""
    names = [f"synthetic-{k + 1:02d}.csv" for k in range(n_datasets)]
    written = {path.name for path in folder.iterdir()}
    files = [
        pd.read_csv(folder / name, dtype=str, keep_default_na=False) for name in names
    ]
    text = "".join(path.read_text(encoding="utf-8") for path in folder.iterdir())
    y, table = table[variable].astype(float).to_numpy(), without_formulas(table)
    return {
        "exactly the expected files are written": written == {"report.html", *names},
        "synthetic files have the columns of the CSV": all(
            list(file) == list(table) for file in files
        ),
        "predictors are unchanged, up to the order of rows": all(
            same_records(file[predictors], table[predictors]) for file in files
        ),
        "synthetic values respect the limits": all(
            within(file[variable].astype(float), limits) for file in files
        ),
        "no weight of a record is in a written file": found_in(text, weights) == 0,
        "no cell of the report is the maximum of few records": not shows_maximum(
            report, variable, y, small
        ),
        "no combination of what is shown exposes a record": not exposing(
            shown, y, small
        ),
    }


def same_records(one, other):
    """Whether two tables hold the same rows, in whatever order."""
    return one.value_counts().sort_index().equals(other.value_counts().sort_index())


def within(values, limits):
    """Whether all values are within the limits."""
    return np.array_equal(values, np.clip(values, *limits))


def found_in(text, values):
    """How many of the numbers stand in a text (short ones, such as 0.5, may)."""
    long = [repr(float(value)) for value in values if len(repr(float(value))) > 8]
    return sum(number in text for number in long)


def shows_maximum(report, variable, y, small):
    """Whether a table on the variable has its maximum, and fewer than `small` have it."""
    shown = {
        number
        for title, part in report.items()
        if variable in title
        for cell in part.to_numpy().ravel()
        for number in re.findall(r"-?[\d,]*\.?\d+", cell)
    }
    return f"{y.max():,.10g}" in shown and int((y == y.max()).sum()) < small


def claims(overview, epsilon, tail_error):
    """Judge what the chapter says of its example.

    Parameters
    ----------
    overview : DataFrame
        Risks of the data, of the unweighted and of the weighted synthesizer.
    epsilon : Series
        Of the unweighted and of the weighted synthesizer.
    tail_error : float
        Error of the 90% quantile with weights, in percent.
    """
    data, unweighted, weighted = overview["mean risk"]
    _, riskiest, riskiest_weighted = overview["mean of the riskiest 1%"]
    return {
        "mean risk falls by more than half through synthesis": unweighted < 0.5 * data,
        "mean risk is lower with weights": weighted < unweighted,
        "riskiest 1% are safer with weights": riskiest_weighted < riskiest,
        "epsilon is lower with weights": epsilon.iloc[1] < epsilon.iloc[0],
        "the tail is shorter with weights": tail_error < 0,
    }
