"""Tables, values, figures and checks of the chapter on the income file."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

import pseudopost as pp
from companion import density

COLOURS = pp.plots.PALETTE
KNOWN_P1 = ["gender", "age", "education", "marital", "earner"]
DESCRIPTION = {
    "gender": "Gender of the reference person",
    "age": "Age of the reference person",
    "education": "Education of the reference person",
    "region": "Region",
    "urban": "Urban status",
    "marital": "Marital status of the reference person",
    "urban_type": "Type of urban area",
    "cbsa": "Core-based statistical area (CBSA)",
    "family_size": "Number of people",
    "earner": "Whether the reference person earns",
}
LEVELS = {  # P1, Table 1
    "gender": 2,
    "age": 5,
    "education": 8,
    "region": 4,
    "urban": 2,
    "marital": 5,
    "urban_type": 3,
    "cbsa": 3,
    "family_size": 11,
    "earner": 2,
}
PUBLISHED = {  # the standard deviation from the width of the mean's interval
    "mean": 72090.26,
    "standard deviation": (74053.50 - 70127.02) / (2 * 1.96) * np.sqrt(6208),
    "median": 50225.15,
    "90% quantile": 153916.30,
    "97.5% quantile": 270_000,
    "smallest": -7000,
    "largest": 1_800_000,
    "coefficient of not earning": -45826.20,
}
TOLERANCES = {  # relative
    "mean": 0.005,
    "standard deviation": 0.035,
    "median": 0.01,
    "90% quantile": 0.01,
    "97.5% quantile": 0.01,
    "coefficient of not earning": 0.12,
}
TOP_CODED = {"a": "top-coded, 2.5%", "b": "top-coded, 6%"}


def variables(people):
    """Describe the ten predictors and count their levels."""
    rows = {}
    for name, text in DESCRIPTION.items():
        levels = people[name].cat.categories
        rows[name] = {
            "description": text,
            "levels": people[name].nunique(),
            "first (baseline)": levels[0],
            "last": levels[-1],
            "records in the smallest level": people[name].value_counts().min(),
        }
    return pd.DataFrame(rows).T


def regressors(people):
    """Build the matrix of a regression on all ten predictors."""
    return pp.design_matrix(people[list(DESCRIPTION)], len(people))[0]


def bands_of_p2(income):
    """Put incomes into the bands of P2's tables."""
    return pd.cut(
        income,
        [-10_000, 50_000, 100_000, 1_000_000, 2_000_000],
        labels=["(-10K, 50K)", "(50K, 100K)", "(100K, 1000K)", "(1000K, 2000K)"],
    )


def riskiest_below(people, known):
    """Percentages of a file's riskiest 10, 50 and 1% below its 97.5% quantile."""
    y = people["income"].to_numpy()
    risk = pp.identification_risk(y, y, radius=0.2, patterns=people[known])
    top, by_risk = np.quantile(y, 0.975), y[np.argsort(-risk, kind="stable")]
    below = by_risk <= top
    return {
        "10": 100 * below[:10].mean(),
        "50": 100 * below[:50].mean(),
        "1%": 100 * below[: round(0.01 * len(y))].mean(),
        "10 below 50K": (by_risk[:10] < 50_000).sum(),
        "quantile": top,
    }


# Values for the text


def file_values(people, known):
    """Coefficients of a full regression, patterns, and incomes without a logarithm."""
    sizes = people.groupby(known, observed=True).size()
    return {
        "R": regressors(people).shape[1],
        "patterns": len(sizes),
        "pattern-min": int(sizes.min()),
        "pattern-max": int(sizes.max()),
        "negative": int((people["income"] < 0).sum()),
        "zero": int((people["income"] == 0).sum()),
    }


def income_values(income):
    """Mean, median, and how skewed the incomes are."""
    return {
        "skewness": stats.skew(income),
        "mean": income.mean(),
        "median": np.median(income),
        "above-mean": 100 * (income > income.mean()).mean(),
    }


def heap_values(people, known):
    """Find the most frequent positive income, and rows with an income of their own."""
    positive = people["income"][people["income"] > 0].value_counts()
    alone = ~people.duplicated([*known, "income"], keep=False)
    return {
        "most": int(positive.idxmax()),
        "most-count": int(positive.max()),
        "unique-pair": 100 * alone.mean(),
    }


def top_coding_values(summaries, income):
    """Summaries of the top-coded files, and the income of the top 2.5%."""
    values = {}
    for label, name in TOP_CODED.items():
        values[f"mean-{label}"] = summaries.loc["mean", name]
        values[f"sd-{label}"] = summaries.loc["standard deviation", name]
    deviation, coefficient = (
        summaries.loc[row]
        for row in ("standard deviation", "coefficient of not earning")
    )
    top = income > np.quantile(income, 0.975)
    return values | {
        "threshold-b": summaries.loc["largest", "top-coded, 6%"],
        "coef-b": coefficient["top-coded, 6%"],
        "sd": deviation["confidential"],
        "coef": coefficient["confidential"],
        "top-share": 100 * income[top].sum() / income.sum(),
    }


def riskiest_values(by_seed, bands):
    """Where the riskiest records are, in this file (the first row) and in others."""
    here, low, tail = by_seed.iloc[0], bands.iloc[:2], bands.iloc[-1]
    n, riskiest = bands["records"].sum(), bands["among the riskiest 1%"].sum()
    rest = bands.iloc[:-1]
    return {
        "below-1%": here["1%"],
        "below-min": by_seed["1%"].min(),
        "below-max": by_seed["1%"].max(),
        "ten-50K": int(here["10 below 50K"]),
        "ten-50K-min": int(by_seed["10 below 50K"].min()),
        "ten-50K-max": int(by_seed["10 below 50K"].max()),
        "files": len(by_seed),
        "tail-risk": tail["mean risk"],
        "tail-share": 100 * tail["among the riskiest 1%"] / riskiest,
        "rest-risk": np.average(rest["mean risk"], weights=rest["records"]),
        "low-records": 100 * low["records"].sum() / n,
        "low-share": 100 * low["among the riskiest 1%"].sum() / riskiest,
        "n-riskiest": int(riskiest),
    }


def loss_values(income, risk, patterns):
    """Risks of losses and zeros, with the ball of the book and as P2 prints it."""
    printed = pp.identification_risk(
        income, income, radius=0.2, patterns=patterns, ball="signed"
    )
    return {
        "loss-risk": risk[income < 0].mean(),
        "loss-signed": printed[income < 0].max(),
        "zero-risk": risk[income == 0].mean(),
    }


def effect_values(income, files, released_risk, riskiest):
    """Risks under top-coding, and replaced incomes that are close all the same."""
    cut = files["top-coded, 2.5%"]
    low, _ = pp.ball_ends(income, radius=0.2)
    values = {
        "still": 100 * (low <= cut)[cut != income].mean(),
        "reach": cut.max() / 0.8,
        "mean-risk-0": released_risk["confidential"].mean(),
    }
    for label, name in TOP_CODED.items():
        values[f"kept-{label}"] = 100 * (released_risk[name][riskiest] > 0.95).mean()
        values[f"mean-risk-{label}"] = released_risk[name].mean()
    return values


def knowledge_values(people):
    """Patterns of the five columns that P1's intruder knows."""
    sizes = people.groupby(KNOWN_P1, observed=True).size()
    return {"p1-patterns": len(sizes), "p1-alone": int((sizes == 1).sum())}


# Figures


def draw_density(income):
    """Density of the incomes in dollars, and of the positive ones on log scales."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    grid = np.linspace(-20_000, 500_000, 600)
    curve = 1e5 * density(income, grid, 5000)
    axes[0].fill_between(
        grid / 1000, curve, color=COLOURS["Data"], alpha=0.35, linewidth=0
    )
    axes[0].plot(grid / 1000, curve, color=COLOURS["Data"])
    for value, style, label in (
        (np.median(income), ":", "median"),
        (income.mean(), "--", "mean"),
        (np.quantile(income, 0.975), "-", "97.5% quantile"),
    ):
        axes[0].axvline(
            value / 1000, color="black", linewidth=1, linestyle=style, label=label
        )
    axes[0].set(
        xlabel="Income (1,000 dollars)",
        ylabel="Records (% per 1,000 dollars)",
        xlim=(-20, 500),
        ylim=0,
    )
    axes[0].legend(fontsize=9, loc="upper right")
    logs, grid = np.log10(income[income > 0]), np.linspace(2, 6.5, 400)
    low, middle, high = np.quantile(logs, [0.25, 0.5, 0.75])
    normal = stats.norm(middle, (high - low) / 1.349)
    axes[1].plot(
        10**grid,
        100 * density(logs, grid, 0.06),
        color=COLOURS["Data"],
        label="this file",
    )
    axes[1].plot(
        10**grid,
        100 * normal.pdf(grid),
        ":",
        color="black",
        label="normal, with the same quartiles",
    )
    axes[1].set(
        xscale="log",
        yscale="log",
        xlabel="Income (dollars)",
        ylabel="Records (% per factor of 10)",
        ylim=(0.05, 2000),
    )
    axes[1].legend(fontsize=8, loc="upper left")


def draw_rounded(income):
    """Histogram of incomes between 39,000 and 62,000 dollars, in steps of 200."""
    _, ax = plt.subplots(figsize=(5.6, 2.8), layout="constrained")
    near = income[(income > 38_900) & (income < 62_100)]
    ax.hist(
        near / 1000, bins=np.arange(38.9, 62.2, 0.2), color=COLOURS["Data"], linewidth=0
    )
    ax.set(xlabel="Income (1,000 dollars)", ylabel="Records", xlim=(38.9, 62.1))
    ax.set_xticks(range(40, 63, 5))


def draw_top_coding(files):
    """Densities of the files in three windows."""
    _, axes = plt.subplots(
        1, 3, figsize=(9, 3.4), layout="constrained", width_ratios=(2, 3, 3.4)
    )
    windows = (150, 250, 4), (250, 500, 4), (500, 3000, 40)
    for ax, (low, high, width) in zip(axes, windows, strict=True):
        grid = np.linspace(1000 * low, 1000 * high, 600)
        for (name, file), style in zip(files.items(), ("-", "--", ":"), strict=True):
            confidential = name == "confidential"
            ax.plot(
                grid / 1000,
                1e5 * density(file, grid, 1000 * width),
                style,
                color=COLOURS["Data"] if confidential else "black",
                linewidth=2.5 if confidential else 1.3,
                label=name,
            )
        ax.set(xlabel="Income (1,000 dollars)", xlim=(low, high), ylim=0)
    axes[0].set_ylabel("Records (% per 1,000 dollars)")
    axes[1].legend(loc="upper right")


def draw_risk(income, risk, riskiest):
    """Risk against income, with the riskiest records and the 97.5% quantile marked."""
    _, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    shared = {"markeredgewidth": 0, "rasterized": True}
    ax.plot(
        income[~riskiest],
        risk[~riskiest],
        ".",
        color=COLOURS["Data"],
        markersize=3,
        alpha=0.35,
        label="all other records",
        **shared,
    )
    ax.plot(
        income[riskiest],
        risk[riskiest],
        "^",
        color=COLOURS["LW_final"],
        markersize=5,
        label="1% of records with the highest risk",
        **shared,
    )
    top = np.quantile(income, 0.975)
    ax.axvline(top, color="black", linestyle="--", linewidth=1)
    ax.annotate(
        "97.5% quantile",
        (top, 0.6),
        xytext=(-4, 0),
        textcoords="offset points",
        ha="right",
    )
    ax.set_xscale("symlog", linthresh=1000, linscale=0.7)
    ax.set_xticks(
        [-1000, 0, 1000, 10_000, 100_000, 1_000_000],
        ["-1K", "0", "1K", "10K", "100K", "1M"],
    )
    ax.minorticks_off()
    ax.set_xlim(-9000, 2_400_000)
    ax.set(
        xlabel="Income (dollars; linear between -1K and 1K)",
        ylabel="Identification risk",
    )
    ax.legend(loc="lower left", markerscale=2)


# Claims: what was found, in words, and whether the statement holds


def has_the_variables(people):
    """P1-Tab01, P2-Tab01: levels, coefficients of a regression on all, and range."""
    X, levels = regressors(people), people[list(DESCRIPTION)].nunique()
    return (
        f"{', '.join(str(v) for v in levels)}; {X.shape[1]} coefficients",
        levels.to_dict() == LEVELS
        and list(people)[1:] == list(LEVELS)
        and in_range(people["income"])
        and X.shape[1] == np.linalg.matrix_rank(X) == 36,
    )


def in_range(income):
    """Whether the incomes run from the published smallest to the published largest."""
    published = PUBLISHED["smallest"], PUBLISHED["largest"]
    return (income.min(), income.max()) == published


def has_published_summaries(income, ours):
    """P1-Set01: number of records, range, a negative one, and published summaries."""
    near = all(
        abs(ours[name] / PUBLISHED[name] - 1) < tolerance
        for name, tolerance in TOLERANCES.items()
    )
    return (
        f"{len(income):,} records, {income.min():,.0f} to {income.max():,.0f}, "
        f"{(income < 0).sum()} negative",
        near and len(income) == 6208 and in_range(income) and (income < 0).any(),
    )


def has_patterns_of_p2(income, ours, sizes):
    """P2-Set01: published summaries, and patterns of more than one record."""
    return (
        f"mean {ours['mean']:,.0f}, median {ours['median']:,.0f}, "
        f"90% quantile {ours['90% quantile']:,.0f}, "
        f"coefficient {ours['coefficient of not earning']:,.0f}, {len(sizes)} patterns",
        has_published_summaries(income, ours)[1]
        and len(sizes) == 40
        and sizes.min() > 1,
    )


def is_skewed(income):
    """P1-Fig02: skewed to the right, with a 97.5% quantile near 270,000."""
    skewness, mean, median = stats.skew(income), income.mean(), np.median(income)
    return (
        f"skewness {skewness:.1f}, mean {mean:,.0f}, median {median:,.0f}",
        near_270_000(np.quantile(income, 0.975)) and skewness > 2 and mean > median,
    )


def near_270_000(quantile):
    """Whether a 97.5% quantile is as P1 describes it."""
    return 255_000 <= quantile <= 285_000


def quantile_is_as_published(income, quantiles):
    """P1-Claim03: in this file, and the 97.5% quantiles of other files."""
    return (
        f"97.5% quantile {np.quantile(income, 0.975):,.0f}, "
        f"skewness {stats.skew(income):.1f}",
        is_skewed(income)[1] and all(near_270_000(q) for q in quantiles),
    )


def files_part_at_the_top(income, cut):
    """Whether top-coding leaves all below the quantile, and moves what is above."""
    top = np.quantile(income, 0.975)
    below, grid = income <= top, np.linspace(250_000, 500_000, 600)
    gap = np.abs(density(income, grid, 4000) - density(cut, grid, 4000)).mean()
    return (
        np.array_equal(cut[below], income[below])
        and (cut[~below] == top).all()
        and gap * np.ptp(grid) > 0.01
        and (income > 500_000).any()
        and not (cut > 500_000).any()
    )


def middle_window(income, parts):
    """P1-Fig03: the files part (`parts`), and about 2.5% of the records are above."""
    top = np.quantile(income, 0.975)
    above = (income > top).mean()
    return (
        f"equal up to {top:,.0f}; {100 * above:.1f}% of records at the top code",
        parts and 0.02 < above < 0.03,
    )


def right_window(income, cut, parts):
    """P1-Fig04: beyond 500,000 dollars only the confidential file has records."""
    return (
        f"above 500,000: {100 * (income > 500_000).mean():.2f}% of the confidential "
        f"incomes, {100 * (cut > 500_000).mean():.0f}% of the top-coded",
        parts,
    )


def thresholds_change_their_shares(income, cut, lower, parts):
    """P1-Set02: the files top-coded at 2.5% and at 6%."""
    changed = [100 * (file != income).mean() for file in (cut, lower)]
    return (
        f"thresholds {cut.max():,.0f} and {lower.max():,.0f} "
        f"change {changed[0]:.1f}% and {changed[1]:.1f}%",
        parts and abs(changed[1] - 6) < 1,
    )


def most_of_the_riskiest_are_below(by_seed):
    """P1-Claim04: among the riskiest 10, 50 and 1% of every file; this one first."""
    here, files = by_seed.iloc[0], len(by_seed)
    return (
        f"below the 97.5% quantile: {here['10']:.0f}% of the riskiest 10, "
        f"{here['50']:.0f}% of 50, {here['1%']:.0f}% of 1%; over {files} files "
        f"{by_seed['1%'].min():.0f} to {by_seed['1%'].max():.0f}% of 1%",
        (by_seed[["10", "50", "1%"]] > 50).all(axis=None),
    )


def riskiest_ten_have_little(by_seed):
    """P2-Claim34: at least five of the ten below 50,000 dollars, in every file."""
    little = by_seed["10 below 50K"]
    return (
        f"{little.iloc[0]:.0f} of the riskiest ten below 50,000; "
        f"{little.min():.0f} to {little.max():.0f} over {len(by_seed)} files",
        (little >= 5).all() and (by_seed["10"] > 50).all(),
    )


def claims(people, known, ours, files, by_seed):
    """Check the chapter's claims, by their ids; `ours` are the file's summaries."""
    income, cut, lower = files.values()
    sizes = people.groupby(known, observed=True).size()
    parts = files_part_at_the_top(income, cut)
    table = has_the_variables(people)
    return {
        "P1-Tab01": table,
        "P1-Fig02": is_skewed(income),
        "P1-Fig03": middle_window(income, parts),
        "P1-Fig04": right_window(income, cut, parts),
        "P1-Set01": has_published_summaries(income, ours),
        "P1-Set02": thresholds_change_their_shares(income, cut, lower, parts),
        "P1-Claim03": quantile_is_as_published(income, by_seed["quantile"]),
        "P1-Claim04": most_of_the_riskiest_are_below(by_seed),
        "P2-Tab01": table,
        "P2-Set01": has_patterns_of_p2(income, ours, sizes),
        "P2-Claim34": riskiest_ten_have_little(by_seed),
    }
