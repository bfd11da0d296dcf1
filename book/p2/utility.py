"""What the chapter on utility draws, counts and checks."""

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seven_releases as seven
from p2_tables import PUBLISHED as TABLES
from p2_tables import PUBLISHED_NAMES
from scipy import special

import pseudopost as pp

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
# Analyses of the first figure, and what they are called there.
PANELS = {
    "median": "Median",
    "coefficient of not earning": "Coefficient of not earning",
    "coefficient of a degree": "Coefficient of a degree",
}


# Fits


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


def in_errors(ends, statistic):
    """Estimate and ends by release, from the data's estimate, in its standard errors.

    Parameters
    ----------
    ends : dict of ndarray, shape (3, 5)
        By release: estimates, lower and upper ends of the five analyses.
    statistic : str
        One of the five.
    """
    k = seven.STATISTICS.index(statistic)
    estimate, low, high = ends["Data"][:, k]
    return {
        name: 3.92 * (rows[:, k] - estimate) / (high - low)
        for name, rows in ends.items()
    }


def noise_of_synthesis(each):
    """Variance of the estimates over their mean sampling variance, by statistic.

    Parameters
    ----------
    each : list of Interval
        Bootstrap intervals of the files; their widths give the sampling variance.
    """
    within = np.mean([((i.high - i.low) / 3.92) ** 2 for i in each], axis=0)
    return np.var([i.estimate for i in each], axis=0, ddof=1) / within


# Numbers for the text


def analysis_numbers(ends):
    """Shifts of three coefficients, in standard errors of the data."""
    earner, degree = (in_errors(ends, name) for name in seven.STATISTICS[3:])
    return {
        "permuted-earner": earner["Permuted"][0],
        "top-earner": earner["Top-coded"][0],
        "cells-degree": degree["Permuted in cells"][0],
    }


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


def noise_numbers(noise):
    """Noise of synthesis in the median, and how much it narrows an interval."""
    median = noise.loc["median"]
    return {f"noise-{name}": value for name, value in median.items()} | {
        "noise-width": 100 * (1 - 1 / np.sqrt(1 + median["Marginal"] / 20))
    }


# Figures


def draw_analyses(ends):
    """Intervals of three analyses in the data and in all releases, side by side."""
    _, axes = plt.subplots(1, 3, figsize=(9, 3.4), sharey=True, layout="constrained")
    for (statistic, title), ax in zip(PANELS.items(), axes, strict=True):
        pp.plots.intervals(
            in_errors(ends, statistic), xlabel="Standard errors of the data", ax=ax
        )
        ax.set_title(title)
        ax.set_xlim(-8, 24)


def draw_coverage(share):
    """Coverage of five intervals over the number of synthetic files."""
    styles = {
        "Combining rule": ("#000000", "o-"),
        "Bootstrap, pooled": ("#009E73", "s--"),
        "Bootstrap": ("#D55E00", "^-"),
        "One file": ("#0072B2", "v:"),
        "All stacked": ("#CC79A7", "D-."),
    }
    _, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
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
    _, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    pp.plots.intervals(
        {f"{name}: {overlaps[name]:.2f}": i for name, i in INTERVALS.items()},
        xlabel="Half-widths of the reference interval",
        ax=ax,
    )
    ax.set_xlim(-4, 4)


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
    rng = np.random.default_rng(random_seed)
    means = seven.bootstrap_means(files, n_resamples, rng)
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
