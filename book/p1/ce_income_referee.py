"""A referee's check of the incomes: figures, numbers for the text, checks of claims."""

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from income_runs import (
    COLOURS,
    HIGHEST,
    KS,
    MEASURES,
    MIDDLE,
    PEAK,
    RISKIEST,
    SPREAD,
    STYLES,
    SYNTHESIZERS,
    WIDTHS,
    T,
    both,
    clearly,
    in_words,
    over_files,
)
from scipy import stats

import pseudopost as pp
from companion import widening

CHAINS = pp.MixtureSynthesizer.default_chains
# Where the risks of the ten riskiest are looked up: where they were picked, and twice
# more.
STAGES = {"Unweighted": "picked", "again": "drawn\nagain", "Vector": "Vector"}
# Compared between the synthesizers.
RISKS, FAN = ("mean risk", HIGHEST), (SPREAD, *WIDTHS)
# Drawn chain by chain, with their labels.
PANELS = {
    "mean risk": "Mean risk",
    HIGHEST: "Highest 1% of risks",
    T: "Share with T = 1",
    SPREAD: "Sd of log ratio, 25K to 100K",
    KS: "Kolmogorov-Smirnov",
    PEAK: "Main peak / data",
}


# What the chapter computes with.


def mixing(s, name):
    """How well the chains of a fit agree."""
    judged = s.fits[name]["label_invariant"].to_dataset()
    pi = s.fits[name]["posterior"]["pi"]
    return {
        "components above 1%": (pi > 0.01).sum("component").mean().item(),
        "mean weight": s.weights[name].mean(),
        "smallest weight": s.weights[name].min(),
        "largest R-hat": max(float(v.max()) for v in az.rhat(judged).values()),
        "smallest ESS": min(
            float(v.min()) for v in az.ess(judged, method="bulk").values()
        ),
    }


def nearer(y, unweighted, vector):
    """Records whose synthetic incomes are on average nearer the real one under Vector.

    Percentages of the records: nearer at all, clearly so (by two standard errors), and
    clearly farther.
    """
    away = [np.abs(z - y) for z in (unweighted, vector)]
    gap = away[0].mean(axis=0) - away[1].mean(axis=0)
    error = np.sqrt(
        sum(widening(a) ** 2 * a.var(axis=0, ddof=1) / len(a) for a in away)
    )
    return {
        "nearer": 100 * np.mean(gap > 0),
        "clearly nearer": 100 * np.mean(gap > 2 * error),
        "clearly farther": 100 * np.mean(gap < -2 * error),
    }


def shuffled(y, groups, rng):
    """Deal the values out again within groups."""
    dealt = np.empty(len(y))
    dealt[np.argsort(groups, kind="stable")] = y[
        np.lexsort((rng.random(len(y)), groups))
    ]
    return dealt


def each_chain(studies):
    """Compute what verdicts rest on from the data sets of each chain of each fit.

    Returns
    -------
    DataFrame, indexed by seed, synthesizer and chain
    """
    rows = {
        (seed, name, chain): {m: MEASURES[m](s, z) for m in PANELS}
        for seed, s in studies.items()
        for name in SYNTHESIZERS
        for chain, z in enumerate(np.split(s.more[name], CHAINS), start=1)
    }
    names = ["seed", "synthesizer", "chain"]
    return pd.DataFrame(rows).T.rename_axis(names)


def from_unweighted(table):
    """Compute each chain of Vector less the mean of Unweighted's, in parts of it."""
    mean = table.xs("Unweighted", level="synthesizer").groupby("seed").mean()
    vector = table.xs("Vector", level="synthesizer")
    return vector.div(mean, level="seed") - 1


def same_in_each_chain(table):
    """Whether all chains of Vector are on one side of Unweighted, by file and measure."""
    side = np.sign(from_unweighted(table)).groupby("seed")
    return side.min() == side.max()


def falls_of_ten(studies):
    """Fall of the mean risk of the ten riskiest, as a share, by file and in P1."""
    rows = {
        f"file {seed}": {name: s.risk[name][s.riskiest].mean() for name in STAGES}
        for seed, s in studies.items()
    }
    rows["published"] = RISKIEST[list(SYNTHESIZERS)].mean()
    table = pd.DataFrame(rows).T[list(STAGES)]
    return 1 - table.div(table["Unweighted"], axis=0)


# Figures.


def plot_ten(studies):
    """Risks of the ten riskiest where they were picked, drawn again, under Vector."""
    panels = {
        f"file {seed}": {name: s.risk[name][s.riskiest] for name in STAGES}
        for seed, s in studies.items()
    }
    panels["P1, Table 20"] = {n: RISKIEST[n].to_numpy() for n in SYNTHESIZERS}
    _, axes = plt.subplots(
        1, len(panels), figsize=(9.5, 3.6), sharey=True, layout="constrained"
    )
    for ax, (title, risks) in zip(axes, panels.items(), strict=True):
        places = [[*STAGES].index(name) for name in risks]
        values = np.array([*risks.values()])
        ax.plot(places, values, "-", color="0.7", linewidth=0.8)
        ax.plot(places, values.mean(axis=1), "o-", color="black", linewidth=2)
        ax.set(title=title, xlim=(-0.3, 2.3))
        ax.set_xticks(places, [STAGES[name] for name in risks])
    axes[0].set(ylabel="Identification risk", ylim=(0, None))


def plot_chains(table):
    """Measures of the data sets of each chain, by file and synthesizer."""
    seeds = table.index.unique("seed")
    figure, axes = plt.subplots(
        2, 3, figsize=(8, 5.2), sharey=True, layout="constrained"
    )
    for ax, (measure, label) in zip(axes.flat, PANELS.items(), strict=True):
        for row, seed in enumerate(seeds):
            for name, lift, marker in zip(
                SYNTHESIZERS, (-0.15, 0.15), "os", strict=True
            ):
                found = table.loc[(seed, name), measure]
                ax.plot(
                    found,
                    np.full(len(found), row + lift),
                    marker,
                    color=COLOURS[name],
                    markersize=4,
                    alpha=0.7,
                    label=name if row == 0 else None,
                )
        ax.set(xlabel=label, yticks=range(len(seeds)))
        ax.locator_params(axis="x", nbins=4)
    axes[0, 0].set_yticklabels([f"file {seed}" for seed in seeds])
    axes[0, 0].invert_yaxis()
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=2)


def plot_fan(s):
    """Quantiles of the synthetic income of records with similar incomes."""
    groups = np.array_split(np.argsort(s.y, kind="stable"), 60)
    centre = np.array([np.median(s.y[g]) for g in groups])
    keep = centre > 2000
    _, ax = plt.subplots(figsize=(6, 4.8), layout="constrained")
    ax.fill_between(
        centre[keep],
        0.8 * centre[keep],
        1.2 * centre[keep],
        color="#F0E442",
        alpha=0.7,
        linewidth=0,
        label="ball, 20%",
    )
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    for name in SYNTHESIZERS:
        curves = np.transpose([np.quantile(s.more[name][:, g], levels) for g in groups])
        for level, curve in zip(levels, curves, strict=True):
            ax.plot(
                centre[keep],
                curve[keep],
                STYLES[name],
                color=COLOURS[name],
                linewidth=2 if level == 0.5 else 1,
                label=name if level == 0.5 else None,
            )
    ax.set(
        xscale="log",
        xlabel="Confidential income (dollars)",
        ylabel="Synthetic income (dollars)",
    )
    ax.set_yscale("symlog", linthresh=5000, linscale=0.5)
    ticks = [5000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000]
    labels = ["5K", "10K", "20K", "50K", "100K", "200K", "500K"]
    ax.set_xticks(ticks, labels)
    ax.set_yticks([0, *ticks, 1_000_000], ["0", *labels, "1M"])
    ax.set_ylim(-2000, 1_100_000)
    ax.minorticks_off()
    ax.legend(loc="upper left")


def plot_radii(by_radius):
    """Mean risk of each release at several radii."""
    _, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    for name in by_radius:
        ax.plot(
            100 * by_radius.index,
            by_radius[name],
            "o" + STYLES[name],
            color=COLOURS[name],
            markersize=4,
            label=name,
        )
    ax.axvline(20, color="black", linewidth=0.8, linestyle=":")
    ax.set(
        xscale="log",
        xlabel="Radius (% of the income)",
        ylabel="Mean identification risk",
        ylim=(0, 1),
    )
    ax.set_xticks([2, 5, 10, 20, 30, 50, 80], ["2", "5", "10", "20", "30", "50", "80"])
    ax.minorticks_off()
    ax.legend(loc="upper right")


# Numbers for the text.


def text_on_ten(studies):
    """How far the risks of the ten riskiest fall, here and in P1."""
    falls = falls_of_ten(studies)
    ours = falls.drop("published").mean()
    return {
        "share-again": ours["again"],
        "share-vector": ours["Vector"],
        "share-published": falls.loc["published", "Vector"],
    }


def text_on_fits(fits, studies):
    """How well the chains agree, and the mean risks by chain of the worst fit."""
    seed, name = fits["largest R-hat"].idxmax()
    s = studies[seed]
    chains = s.fits[name]["posterior"].sizes["chain"]
    by_chain = [s.risk_of(z).mean() for z in np.split(s.more[name], chains)]
    return {
        "rhat": fits["largest R-hat"].max(),
        "chain-low": min(by_chain),
        "chain-high": max(by_chain),
        "n-fits": len(fits),
        "unsettled": sum(
            bool(fit.attrs["not_converged"])
            for study in studies.values()
            for fit in study.fits.values()
        ),
    }


def text_on_fall(lower, table):
    """How far risks fall over many data sets, and by how many standard errors."""
    means = over_files(lower.T)
    rise = lower["mean"].xs("Vector", level=1) - lower["mean"].xs("Unweighted", level=1)
    ten = means.loc["the ten riskiest of before"]
    score = -table["difference"] / table["standard error"]
    return {
        "fell": (rise < 0).sum(),
        "fall": 1 - means.loc["mean", "Vector"] / means.loc["mean", "Unweighted"],
        "ten-Unweighted": ten["Unweighted"],
        "ten-Vector": ten["Vector"],
        "se-mean": score["mean risk"],
        "se-top": score[HIGHEST],
    }


def text_on_chains(table):
    """In how many comparisons the chains agree, and the least fall of the mean risk."""
    same = same_in_each_chain(table)
    return {
        "sides": same.size,
        "sides-same": int(same.to_numpy().sum()),
        "chain-closest": -from_unweighted(table)["mean risk"].max(),
    }


def text_on_envelope(closer, table):
    """How much the fan widens, and percentages of the records that come nearer."""
    means = closer.mean(axis=1)
    spread = table.loc[SPREAD]
    return {
        "se-spread": spread["difference"] / spread["standard error"],
        "nearer": means["nearer"],
        "clearly-nearer": means["clearly nearer"],
        "clearly-farther": means["clearly farther"],
        "by-chance": 100 * stats.norm.sf(2),
    }


def text_on_radii(by_radius):
    """How many times the mean risk of Vector top-coding has, at 5 and 20%."""
    small, usual = by_radius.loc[0.05], by_radius.loc[0.2]
    return {
        "factor-5": small["Top-coded"] / small["Vector"],
        "factor-20": usual["Top-coded"] / usual["Vector"],
    }


# Checks of claims.


def wide_fan_with_narrow_ends(between_fits):
    """Whether Vector fans out more in the middle and less at both ends."""
    return clearly(between_fits, [SPREAD], +1) and clearly(
        between_fits, list(WIDTHS), -1
    )


def ranked(by_radius):
    """Whether top-coding is above Unweighted, and that above Vector, at each radius."""
    return (
        (by_radius["Top-coded"] > by_radius["Unweighted"])
        & (by_radius["Unweighted"] > by_radius["Vector"])
    ).all()


def claims(fan, closer, lower, between_fits, chains, floor, together, by_radius):
    """By id of the ledger: what was found, in words, and whether the statement holds."""
    risks = over_files(lower.T)
    weight = together.loc["mean weight"]
    steps = together.loc["mean risk", [*SYNTHESIZERS, "Combined"]]
    radii = by_radius.loc[[0.05, 0.1, 0.2, 0.3]]

    is_wide = wide_fan_with_narrow_ends(between_fits)
    fall = risks.loc[["mean", "mean of the highest 1%"]]
    lower_risk = (
        (fall["Vector"] < fall["Unweighted"]).all()
        and clearly(between_fits, ["mean risk", HIGHEST], -1)
        and (from_unweighted(chains)[["mean risk", HIGHEST]] < 0).all(axis=None)
    )
    envelope = (
        "95% width in 1,000 dollars, Unweighted and Vector: "
        f"lowest 1% {both(fan, WIDTHS[0], '{:.3g}')}, "
        f"highest 1% {both(fan, WIDTHS[1], '{:,.0f}')}"
    )
    sure = closer.mean(axis=1)
    return {
        "P1-Fig17": (
            f"sd of the log ratio in the middle {both(fan, MIDDLE, '{:.3g}')}; "
            f"{envelope}",
            is_wide,
        ),
        "P1-Claim22": (
            f"{envelope}; clearly nearer {sure['clearly nearer']:.1f}% of the records, "
            f"clearly farther {sure['clearly farther']:.0f}%",
            is_wide and (closer.loc["clearly nearer"] > 100 * stats.norm.sf(2)).all(),
        ),
        "P1-Claim24": (
            f"mean {fall.loc['mean', 'Unweighted']:.3f} to "
            f"{fall.loc['mean', 'Vector']:.3f}, highest 1% "
            f"{fall.iloc[1]['Unweighted']:.3f} to {fall.iloc[1]['Vector']:.3f}",
            lower_risk,
        ),
        "P1-Claim38": (
            f"one model: mean risk {in_words(steps, '{:.3f}')}; "
            f"shuffled in the file {floor.loc['shuffled in the file'].mean():.3f}",
            (np.diff(steps) < 0).all() and lower_risk,
        ),
        "P1-Fut1": (
            f"weights {weight['Combined'] / weight['Vector']:g} times Vector's: "
            f"mean risk {steps['Vector']:.3f} to {steps['Combined']:.3f}, {KS} {together.loc[KS, 'Vector']:.3f} to "
            f"{together.loc[KS, 'Combined']:.3f}",
            steps["Combined"] < steps["Vector"],
        ),
        "P1-Fut3": (
            "mean risk at 5, 10, 20, 30%: "
            + "; ".join(f"{name} {in_words(radii[name], '{:.3f}')}" for name in radii),
            ranked(radii),
        ),
    }
