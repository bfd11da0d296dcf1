"""What the chapter on measures of utility computes, draws and checks."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import pseudopost as pp
from companion import standard_error

COLOURS = pp.plots.PALETTE
# An overlap is to be at least its line, a distance at most.
LINES = {"overlap": 0.8, "largest": 0.025, "pMSE": 2}


# Measures


def between_fits(study, main, full):
    """Standard errors of means over files, from the five chains of each fit.

    Parameters
    ----------
    study : Study
    main, full : dict
        By release: pMSE ratios of its files, with main effects and interactions.
    """
    rows = {
        name: {
            "largest |F* - F|": [pp.ecdf_distance(study.y, z).largest for z in files],
            "pMSE ratio, main effects": main[name],
            "pMSE ratio, interactions": full[name],
            "mean risk": [study.risk_of(z[None]).mean() for z in files],
        }
        for name, files in study.z.items()
    }
    return pd.DataFrame(rows).map(standard_error)


def rare_ratio(y, released, predictors, shift):
    """Ratio of the pMSE with products for the rare levels too; NaN if refused."""
    logs = (np.log(values + shift)[:, None] for values in (y, released))
    columns = [np.hstack([u, u**2, u * predictors]) for u in logs]
    try:
        return pp.propensity_score_mse(*columns, predictors).ratio
    except ValueError:  # in a small file rare levels can be told apart
        return np.nan


def refused(y, released):
    """Whether a column for incomes above the 99% quantile leaves no maximum."""
    top = np.quantile(y, 0.99)
    columns = [np.column_stack([values, values > top]) for values in (y, released)]
    try:
        pp.propensity_score_mse(*columns)
    except ValueError:
        return True
    return False


def within_lines(measures):
    """Whether each measure but the risk is on the good side of its line."""
    kept = {}
    for measure, values in measures.drop(index="mean risk").iterrows():
        kind = next(kind for kind in LINES if measure.startswith(kind))
        line = LINES[kind]
        kept[measure] = values >= line if kind == "overlap" else values <= line
    return pd.DataFrame(kept).T


def with_crosses(measures, passed):
    """Print the measures, with a cross where one has not passed."""
    shown = measures.map("{:.2f}".format)
    close = "largest |F* - F|"
    shown.loc[close] = measures.loc[close].map("{:.3f}".format)
    return shown.where(
        passed.reindex(measures.index, fill_value=True), shown + "\u00a0✗"
    )


# Numbers for the text


def distance_numbers(distance, n):
    """Distances of four releases, and the largest of two independent files."""
    values = {"ks-right": np.sqrt(np.pi / 2) * np.log(2) * np.sqrt(2 / n)}
    for name in ("Unweighted", "Pairwise", "Marginal", "Top-coded"):
        values[f"ks-{name}"] = distance.loc[name, "largest"]
        values[f"ms-{name}"] = 1e4 * distance.loc[name, "mean squared"]
    return values


def pmse_numbers(pmse, marginal):
    """Ratios of all releases, and the range over the marginal files."""
    short = {
        "main": "main effects",
        "full": "interactions",
        "all": "interactions, all counted",
    }
    return {
        f"{label}-{name}": pmse.loc[name, column]
        for name in pmse.index
        for label, column in short.items()
    } | {"main-marginal-low": marginal.min(), "main-marginal-high": marginal.max()}


def far_numbers(far):
    """What ten enormous incomes do to the mean, and to the ratios."""
    return {
        "ten-mean": far["mean income, ten times 100"] / far["mean income, data"],
        "ten-main": far["pMSE ratio, main effects"],
        "ten-full": far["pMSE ratio, interactions"],
    }


def table_numbers(measures, passed, ends):
    """How many measures the releases pass, and what the text says of some."""
    short = {
        "noisy": "Noisy",
        "permuted": "Permuted",
        "cells": "Permuted in cells",
        "unweighted": "Unweighted",
    }
    ours, data = (ends[name][0][2] for name in ("Unweighted", "Data"))
    return {
        f"{label}-passed": int(passed[name].sum()) for label, name in short.items()
    } | {
        "all-passed": len(passed),
        "noisy-risk": measures.loc["mean risk", "Noisy"],
        "unweighted-q90": measures.loc["overlap, 90% quantile", "Unweighted"],
        "unweighted-q90-percent": 100 * (1 - ours / data),
    }


def mean_numbers(tail, means, y):
    """The mean of income in many releases of one fit."""
    marginal = means[means["release"] == "Marginal"]
    mean, low, high = (marginal[column] for column in ("mean", "low", "high"))
    above = mean > y.mean()
    lopsided = (high - mean) / (mean - low)
    return {
        f"above-{name}": value
        for name, value in tail["above 5 million (% of files)"].items()
    } | {
        "n-releases": len(marginal),
        "data-mean": y.mean(),
        "data-q90": np.quantile(y, 0.9),
        "marginal-mean-median": mean.median(),
        "marginal-mean-min": mean.min(),
        "marginal-mean-max": mean.max() / 1e6,
        "marginal-above": int(above.sum()),
        "marginal-low-above": int((low > y.mean()).sum()),
        "marginal-q90-max": marginal["90% quantile"].max(),
        "marginal-q90-min": marginal["90% quantile"].min(),
        "asymmetry-above": lopsided[above].median(),
        "asymmetry-below": lopsided[~above].median(),
        "marginal-medians": np.ptp(marginal["median of means"]),
    }


# Figures


def draw_distributions(y, released, shift):
    """Distribution functions of four releases, less that of the data."""
    grid = np.geomspace(3_000, 2_000_000, 600) - shift
    below = {
        name: np.searchsorted(np.sort(z, axis=None), grid, "right") / z.size
        for name, z in {"Data": y, **released}.items()
    }
    _, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
    for name in ("Unweighted", "Marginal", "Pairwise", "Top-coded"):
        ax.plot(
            (grid + shift) / 1000,
            100 * (below[name] - below["Data"]),
            color=COLOURS[name],
            label=name,
            linewidth=1.8,
        )
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set(
        xscale="log",
        xlabel="Income plus 10,000 (thousand dollars)",
        ylabel="$F^* - F$ (percentage points)",
    )
    ticks = [5, 10, 20, 50, 100, 200, 500, 1000]
    ax.set_xticks(ticks, [str(t) for t in ticks])
    ax.minorticks_off()
    ax.legend()


def draw_means(largest, means, y):
    """Largest incomes of single files, and the mean of income in marginal releases."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for name, values in largest.items():
        left.plot(
            np.sort(values)[::-1] / 1e6,
            100 * np.arange(1, len(values) + 1) / len(values),
            color=COLOURS[name],
            label=name,
        )
    left.axvline(y.max() / 1e6, color=COLOURS["Data"], linestyle="--", label="Data")
    left.set(
        xscale="log",
        yscale="log",
        xlim=(0.5, 1e4),
        xlabel="Largest income in a file (million dollars)",
        ylabel="Files with a larger one (%)",
    )
    ticks = [1, 10, 100, 1000, 10_000]
    left.set_xticks(ticks, [f"{t:,}" for t in ticks])
    left.set_yticks([1, 10, 100], ["1", "10", "100"])
    left.legend()
    marginal = means[means["release"] == "Marginal"].sort_values("mean")
    place = np.arange(len(marginal))
    low, mean, high = (marginal[column] / 1000 for column in ("low", "mean", "high"))
    right.vlines(place, low, high, color=COLOURS["Marginal"], linewidth=3)
    right.plot(place, mean, "o", color="black", markersize=4)
    right.axhline(y.mean() / 1000, color=COLOURS["Data"], linestyle="--")
    right.set(
        yscale="log",
        xlabel="Releases, in order of the mean",
        ylabel="Mean income (thousand dollars)",
        ylim=(50, 2000),
    )
    right.set_xticks([])
    ticks = [50, 100, 200, 500, 1000, 2000]
    right.set_yticks(ticks, [str(t) for t in ticks])
    right.minorticks_off()


# Checks of the chapter's statements: what was found, and whether the statement holds


def null_claim(null):
    """Judge the mean ratios of right models, by four standard errors."""
    gap = (null["mean ratio"] - null["theory"]).abs()
    return {
        "pMSE ratio is 1, or 2 with draws": (
            ", ".join(f"{v:.2f}" for v in null["mean ratio"]),
            (gap < 4 * null["s.e."]).all(),
        )
    }


def permuted_claims(measures):
    """Judge what the measures see of the two permuted releases."""
    bad = measures[["Permuted", "Permuted in cells"]]
    gap, main, full = (
        bad.loc[row]
        for row in (
            "largest |F* - F|",
            "pMSE ratio, main effects",
            "pMSE ratio, interactions",
        )
    )
    in_cells = bad["Permuted in cells"].filter(like="overlap")
    unplanned = in_cells.pop("overlap, coefficient of a degree")
    return {
        "permuted: F exact, main effects blind": (
            f"{gap['Permuted']:.0f} and {main['Permuted']:.0f}",
            (gap == 0).all() and (main < 1e-6).all(),
        ),
        "permuted: interactions see it": (
            f"ratios {full.iloc[0]:.0f} and {full.iloc[1]:.0f}",
            full.min() > 10,
        ),
        "permuted in cells: planned analyses intact": (
            f"overlaps {in_cells.min():.2f} or more; unplanned {unplanned:.2f}",
            in_cells.min() > 0.8 and unplanned < 0.1,
        ),
    }


def noisy_claim(measures, passed):
    """Judge the release that is useful and protects nobody."""
    risk = measures.loc["mean risk", "Noisy"]
    return {
        "noisy: passes everything, protects nobody": (
            f"mean risk {risk:.2f}",
            passed["Noisy"].all() and risk > 0.7,
        )
    }


def distance_claim(distance):
    """Judge whether the two distances put two releases in opposite orders."""
    top, pairs = distance.loc["Top-coded"], distance.loc["Pairwise"]
    return {
        "top-coded and Pairwise: distances disagree": (
            f"largest {top['largest']:.3f}, {pairs['largest']:.3f}",
            top["largest"] > 1.2 * pairs["largest"]
            and top["mean squared"] < 0.7 * pairs["mean squared"],
        )
    }


def tail_claims(indicator_refused, far):
    """Judge what can and cannot be seen of the far tail."""
    times = far["mean income, ten times 100"] / far["mean income, data"]
    unseen = far.drop(["mean income, data", "mean income, ten times 100"])
    ratios = unseen.filter(like="pMSE")
    return {
        "tail indicator: no maximum when top-coded": ("refused", indicator_refused),
        "ten incomes times 100: not seen": (
            f"mean times {times:.1f}; ratios " + ", ".join(f"{v:.1f}" for v in ratios),
            times > 2 and unseen.max() < 2,
        ),
    }


def order_claim(pmse, distance, error):
    """Judge the order of the three synthesizers, each by a factor of 1.3.

    The differences are also larger than two standard errors between fits.
    """
    order = ["Unweighted", "Pairwise", "Marginal"]
    ratios = pmse.loc[order, "interactions"]
    judged = {
        "pMSE ratio, interactions": ratios,
        "largest |F* - F|": distance.loc[order, "largest"],
    }
    return {
        "Unweighted, Pairwise, Marginal in order": (
            "ratios " + ", ".join(f"{v:.1f}" for v in ratios),
            all(
                1.3 * values[better] < values[worse]
                and values[worse] - values[better]
                > 2 * np.hypot(*error.loc[measure, [better, worse]])
                for measure, values in judged.items()
                for better, worse in pairwise(order)
            ),
        )
    }


def draws_claim(largest):
    """Judge the largest of all marginal incomes."""
    times = largest["Marginal"].max() / largest["Unweighted"].max()
    return {"Marginal draws far larger incomes": (f"{times:,.0f} times", times > 10)}
