"""What the chapter on utility measures, draws and checks."""

from itertools import pairwise

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from p2_tables import PUBLISHED as TABLES
from p2_tables import PUBLISHED_NAMES
from scipy import special

import pseudopost as pp
from companion import standard_error

COLOURS = pp.plots.PALETTE
# P2, Table 5, coefficient of not earning: estimate, low, high.
PUBLISHED = {
    name: tuple(TABLES.loc[(name, "Earner 2")]) for name in ("Data", *PUBLISHED_NAMES)
}
# Estimate, low, high.
REFERENCE = (0, -1, 1)
INTERVALS = {
    "Reference": REFERENCE,
    "Twice as wide": (0, -2, 2),
    "Ten times as wide": (0, -10, 10),
    "A tenth as wide": (0, -0.1, 0.1),
    "Shifted by half a standard error": (0.25, -0.75, 1.25),
    "Shifted by one standard error": (0.51, -0.49, 1.51),
    "Shifted by two": (1.02, 0.02, 2.02),
    "Shifted by two, ten times as wide": (1.02, -8.98, 11.02),
    "Shifted by five": (2.55, 1.55, 3.55),
}
# An overlap is to be at least its line, a distance at most.
LINES = {"overlap": 0.8, "largest": 0.025, "pMSE": 2}


# Releases and fits


def convergence(study):
    """Mean weight, largest R-hat and smallest effective sample size of each fit."""
    rows = {}
    for name, fit in study.fits.items():
        judged = fit["label_invariant"].to_dataset()
        rows[name] = {
            "mean weight": study.weights[name].mean(),
            "largest R-hat": max(float(v.max()) for v in az.rhat(judged).values()),
            "smallest ESS": min(float(v.min()) for v in az.ess(judged).values()),
        }
    return pd.DataFrame(rows).T


# Intervals


def bootstrap_means(files, n_resamples, rng):
    """Means of resampled files, the same resampling for all; adds an axis at the end."""
    n = files.shape[-1]
    return files @ (rng.multinomial(n, np.full(n, 1 / n), n_resamples).T / n)


def combined_ends(estimates, variances):
    """Ends of the combining rule's intervals, one for each row of m estimates."""
    pairs = zip(estimates, variances, strict=True)
    return np.array([pp.combine_partially_synthetic(*pair)[-2:] for pair in pairs]).T


def coverage(intervals, n, repeats, random_seed, block=50):
    """How often intervals for the mean 0 of normal values contain it, and their widths.

    Parameters
    ----------
    intervals : callable
        ``intervals(y, rng)`` returns, by name, the lower and the upper ends of
        intervals from `block` files of `n` values.
    """
    rng = np.random.default_rng(random_seed)
    found = []
    for _ in range(repeats // block):
        ends = intervals(rng.normal(size=(block, n)), rng)
        found.append(np.stack(list(ends.values()), axis=1))
    low, high = np.concatenate(found, axis=2)
    return pd.DataFrame(
        {
            "covers": ((low <= 0) & (high >= 0)).mean(axis=1),
            "width": (high - low).mean(axis=1),
        },
        index=list(ends),
    )


def normal_coverage(ratio):
    """Coverage of an interval whose variance is a multiple of the right one."""
    return 2 * special.ndtr(1.96 * np.sqrt(ratio)) - 1


def coefficient(design, name, values):
    """Least-squares coefficient of a column in each file, and its variance."""
    X = np.column_stack([np.ones(len(design)), design])
    k = design.columns.get_loc(name) + 1
    inverse = np.linalg.inv(X.T @ X)
    beta = values @ X @ inverse
    residual = values - beta @ X.T
    variance = (residual**2).sum(axis=-1) / (X.shape[0] - X.shape[1]) * inverse[k, k]
    return beta[..., k], variance


def combined(estimates, variances):
    """Estimate and ends by the combining rule, or of a single file by itself."""
    if len(estimates) > 1:
        rule = pp.combine_partially_synthetic(estimates, variances)
        return rule.estimate, rule.low, rule.high
    return estimates[0] + np.array([0, -1.96, 1.96]) * np.sqrt(variances[0])


def noise_of_synthesis(each):
    """Variance of the estimates over their mean sampling variance, by statistic.

    Parameters
    ----------
    each : list of Interval
        Bootstrap intervals of the files; their widths give the sampling variance.
    """
    within = np.mean([((i.high - i.low) / 3.92) ** 2 for i in each], axis=0)
    return np.var([i.estimate for i in each], axis=0, ddof=1) / within


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
    return shown.where(passed.reindex(measures.index, fill_value=True), shown + " ✗")


# Numbers for the text


def coverage_numbers(share, width, repeats):
    """Coverage in percent of the intervals when the synthesizer is right."""
    labels = {
        "one": "One file",
        "stacked": "All stacked",
        "boot": "Bootstrap",
        "pooled": "Bootstrap, pooled",
        "rule": "Combining rule",
    }
    pooled, rule = width.loc["Bootstrap, pooled"], width.loc["Combining rule"]
    return {
        f"{label}-{m}": 100 * share.loc[name, m]
        for label, name in labels.items()
        for m in (2, 5, 20)
    } | {
        "repeats": repeats,
        "theory-one": 100 * normal_coverage(1 / 3),
        "pooled-wider": pooled[20] / rule[20],
        "rule-wider-2": rule[2] / width.loc["Confidential file", 2],
    }


def weight_numbers(wrong, weight, random_seed):
    """Coverage in percent under weights, and where a weighted mean is centred."""
    rule = 100 * wrong.loc["Combining rule"]
    many = np.random.default_rng(random_seed).normal(size=1_000_000)
    centre = np.average(many, weights=weight(many))
    return {
        "scalar-rule": rule["scalar 0.2, n = 100"],
        "scalar-boot": 100 * wrong.loc["Bootstrap", "scalar 0.2, n = 100"],
        "tail-100": rule["tail 0.2, n = 100"],
        "tail-400": rule["tail 0.2, n = 400"],
        "tail-centre": centre,
        "tail-errors-100": abs(centre) * 10,
        "tail-errors-400": abs(centre) * 20,
    }


def overlap_numbers():
    """P2's Marginal coefficient: shift, overlap, and overlap with the data's width."""
    estimate, low, high = PUBLISHED["Data"]
    marginal = PUBLISHED["Marginal"]
    narrow = marginal[0] + np.array([-0.5, 0.5]) * (high - low)
    return {
        "published-shift": 3.92 * (marginal[0] - estimate) / (high - low),
        "published-overlap": pp.interval_overlap(marginal, (low, high)),
        "published-narrow": pp.interval_overlap(narrow, (low, high)),
    }


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


def noise_numbers(noise):
    """Noise of synthesis in the median, and how much it narrows an interval."""
    median = noise.loc["median"]
    return {f"noise-{name}": value for name, value in median.items()} | {
        "noise-width": 100 * (1 - 1 / np.sqrt(1 + median["Marginal"] / 20))
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


def draw_coverage(share):
    """Coverage of five intervals over the number of synthetic files."""
    styles = {
        "Combining rule": ("#000000", "o-"),
        "Bootstrap, pooled": ("#009E73", "s--"),
        "Bootstrap": ("#D55E00", "^-"),
        "One file": ("#0072B2", "v:"),
        "All stacked": ("#CC79A7", "D-."),
    }
    _, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
    for name, (colour, style) in styles.items():
        ax.plot(share.columns, 100 * share.loc[name], style, color=colour, label=name)
    ax.axhline(95, color="black", linewidth=0.8, linestyle=":")
    ax.set(
        xscale="log",
        xlabel="Number of synthetic files, m",
        ylabel="Intervals that contain the mean (%)",
        ylim=(25, 101),
    )
    ax.set_xticks(share.columns, [str(m) for m in share.columns])
    ax.minorticks_off()
    ax.legend(loc="lower left", ncols=2)


def draw_overlaps(overlaps):
    """Intervals against the reference, with their overlaps."""
    _, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
    pp.plots.intervals(
        {f"{name}: {overlaps[name]:.2f}": i for name, i in INTERVALS.items()},
        xlabel="Half-widths of the reference interval",
        ax=ax,
    )
    ax.set_xlim(-4, 4)


def draw_distributions(y, released, shift):
    """Distribution functions of four releases, less that of the data."""
    grid = np.geomspace(3_000, 2_000_000, 600) - shift
    below = {
        name: np.searchsorted(np.sort(z, axis=None), grid, "right") / z.size
        for name, z in {"Data": y, **released}.items()
    }
    _, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
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


def coverage_claims(share, error):
    """Judge the coverage under a right synthesizer, by four standard errors."""

    def percent(name, m):
        return f"{100 * share.loc[name, m]:.1f}%"

    def near(name, m, target):
        distance = abs(share.loc[name, m] - target)
        return distance < 4 * max(error.loc[name, m], 0.003)

    rule = share.loc["Combining rule", [3, 5, 10, 20]]
    return {
        "combining rule covers 95%, m of 3 or more": (
            f"{100 * rule.min():.1f}% or more",
            all(near("Combining rule", m, 0.95) for m in rule.index),
        ),
        "one file covers 74%": (
            percent("One file", 5),
            near("One file", 5, normal_coverage(1 / 3)),
        ),
        "bootstrap covers too little, m = 2": (
            percent("Bootstrap", 2),
            share.loc["Bootstrap", 2] < 0.88,
        ),
        "bootstrap loses at most 3 points, m = 20": (
            percent("Bootstrap", 20),
            share.loc["Bootstrap", 20] > 0.92,
        ),
        "pooled bootstrap covers too much, m = 20": (
            percent("Bootstrap, pooled", 20),
            share.loc["Bootstrap, pooled", 20] > 0.985,
        ),
    }


def bootstrap_apart(random_seed, n_resamples=20_000):
    """Difference of the bootstrap with shared resampling from the package's."""
    files = np.random.default_rng(random_seed).normal(size=(5, 100))
    means = bootstrap_means(files, n_resamples, np.random.default_rng(random_seed))
    shared = np.quantile(means, [0.025, 0.975], axis=1).mean(axis=1)
    own = pp.bootstrap_interval(
        files, np.mean, n_resamples=n_resamples, random_seed=random_seed
    )
    return np.abs(shared - own[1:]).max()


def bootstrap_claim(apart):
    """Judge the bootstrap with shared resampling by the package's."""
    return {
        "vectorised bootstrap is the package's": (f"{apart:.4f} apart", apart < 0.005)
    }


def weight_claims(wrong):
    """Judge the coverage under weights."""
    scalar = wrong.loc["Combining rule", "scalar 0.2, n = 100"]
    highest = wrong.drop("Confidential file")["tail 0.2, n = 400"].max()
    return {
        "scalar weight: the rule still covers": (
            f"{100 * scalar:.1f}%",
            abs(scalar - 0.95) < 0.014,
        ),
        "tail weight: no interval covers": (
            f"{100 * highest:.1f}% at most",
            highest < 0.2,
        ),
    }


def overlap_claim(overlaps):
    """Judge a useless interval against a shifted one."""
    wide, shifted = overlaps["Ten times as wide"], overlaps["Shifted by two"]
    return {
        "overlap prefers ten times too wide": (
            f"{wide:.2f} and {shifted:.2f}",
            wide > shifted,
        )
    }


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
    return {"Marginal draws far larger incomes": (f"{times:.1g} times", times > 10)}
