"""Long-run risks, tables, figures and checks of the chapter on marginal weights.

A study is a `companion.Study`; `files` are studies by seed, and `long` has what
`LongRun` holds of each, by seed and name of the fit.
"""

from typing import NamedTuple

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from p2_tables import PUBLISHED_MEANS  # noqa: F401
from scipy import stats

import pseudopost as pp
from companion import widening

COLOURS = pp.plots.PALETTE
RELEASES = ["Data", "Unweighted", "Marginal", "Top-coded"]
FITS = ["Unweighted", "Marginal"]
STATISTICS = ["mean", "median", "90% quantile", "coefficient"]
BANDS = {
    "(-10K, 50K)": 50_000,
    "(50K, 100K)": 100_000,
    "(100K, 1000K)": 1_000_000,
    "(1000K, 2000K)": 2_000_000,
}
# P2, Tables 2 and 3: the risks under Data and Topcoding that are not at 0.
PUBLISHED_PAIRS = [
    (0.9944, 0.9894),
    (0.9921, 0.9582),
    (0.9915, 0.9926),
    (0.9913, 0.9852),
    (0.9913, 0.9707),
    (0.9910, 0.9894),
    (0.9565, 0.9955),
]


class LongRun(NamedTuple):
    """Means over many synthetic files of a fit, record by record.

    Attributes
    ----------
    T, outside, risk : ndarray, shape (n,)
        Share of files with the own value in the ball, share of the pattern outside the
        ball, and mean of the product of the two in a file.
    most_by_cover : ndarray, shape (n,)
        By how much the risk would rise if everybody else left the ball.
    releases : ndarray, shape (files / 20, n)
        Risks in releases of 20 files.
    above : dict of int to float
        Records above the limit in a release, on average, by its number of files.
    centre, spread : ndarray, shape (n,)
        Median and standard deviation of the own values, shifted and on the log scale.
    """

    T: np.ndarray
    outside: np.ndarray
    risk: np.ndarray
    most_by_cover: np.ndarray
    releases: np.ndarray
    above: dict
    centre: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, z, own, outside, shift=10_000, limit=0.5):
        """Average T (`own`) and the share outside over synthetic files z."""
        risk = own * outside
        return cls(
            T=own.mean(axis=0),
            outside=outside.mean(axis=0, dtype=float),
            risk=risk.mean(axis=0, dtype=float),
            most_by_cover=(own * (1 - outside)).mean(axis=0, dtype=float),
            releases=deal(risk, 20),
            above={
                size: (deal(risk, size) > limit).sum(axis=1).mean()
                for size in (1, 5, 20, 100, len(z))
            },
            centre=np.log(np.median(z, axis=0) + shift),
            spread=np.log(np.maximum(z + shift, 1)).std(axis=0),
        )


def deal(risk, size):
    """Deal risks by file into releases of `size` files, and average each release."""
    return risk.reshape(size, -1, risk.shape[1]).mean(axis=0)


def diagnosis(fit):
    """Say how good a fit is: weights, components in use, convergence."""
    weights = fit["constant_data"]["weights"].to_numpy()
    judged = fit["label_invariant"].to_dataset()
    occupied = fit["posterior"].to_dataset()["pi"] > 1 / len(weights)
    return {
        "mean weight": weights.mean(),
        "occupied components": occupied.sum("component").median().item(),
        "largest R-hat": max(float(v.max()) for v in az.rhat(judged).values()),
        "smallest ESS": min(float(v.min()) for v in az.ess(judged).values()),
    }


def ten_records(study):
    """Risks of the ten riskiest records of the data, and of the ten largest incomes."""
    tables = {}
    for name, key in (("riskiest", study.risk["Data"]), ("largest", study.y)):
        top = np.argsort(-key, kind="stable")[:10]
        band = pd.cut(study.y[top], [-10_000, *BANDS.values()], labels=list(BANDS))
        risks = {release: study.risk[release][top] for release in RELEASES}
        rest = {"row": top, "value": study.y[top]}
        tables[name] = pd.DataFrame({"list": name, "income": band} | risks | rest)
    return pd.concat(tables.values())


def one_pattern(first, second, sizes=range(2, 600)):
    """Whether both risks, of four digits, can come from a pattern of one size."""
    return any(
        all(round(round(risk * size) / size, 4) == risk for risk in (first, second))
        for size in sizes
    )


def error_of(change):
    """Standard error of the mean over synthetic files, and how much fits widen it."""
    wider = widening(change)
    return wider * change.std(axis=0, dtype=float) / np.sqrt(len(change)), wider


def really(parts, error):
    """Direction of each long-run change: beyond three standard errors, or neither."""
    return np.select(
        [parts["change"] > 3 * error, parts["change"] < -3 * error],
        ["really up", "really down"],
        "neither",
    )


def reasons(parts, found, rise=0.25):
    """Count the real changes, and split the rises into their three parts."""
    change, before = parts["change"], found["Unweighted"]
    direction = really(parts, found["error"])
    total = parts[direction == "really up"].sum()
    by_cover = before.T * (found["Marginal"].outside - before.outside)
    return {
        "really down (%)": 100 * (direction == "really down").mean(),
        "really up (%)": 100 * (direction == "really up").mean(),
        "up by more than 0.25": (change > rise).sum(),
        "99.9% quantile of the changes": change.quantile(0.999),
        **{
            f"of the rises: {part}": total[part] / total["change"]
            for part in ("own value", "cover", "joint")
        },
        "largest rise by cover alone": by_cover.max(),
        "bound on such a rise": before.most_by_cover.max(),
    }


def by_direction(study, found, parts):
    """Means (of income the median) of the records that rose, fell, or did neither."""
    target = np.log(study.y + study.model.shift)
    columns = {
        "records": 1.0,
        "income": study.y,
        "weight": study.weights["Marginal"],
        **{f"risk, {name}": found[name].risk for name in FITS},
        **{f"T, {name}": found[name].T for name in FITS},
        **{f"outside, {name}": found[name].outside for name in FITS},
        **{f"distance, {k}": np.abs(found[k].centre - target) for k in FITS},
        **{f"spread, {name}": found[name].spread for name in FITS},
    }
    how = dict.fromkeys(columns, "mean") | {"records": "sum", "income": "median"}
    return pd.DataFrame(columns).groupby(really(parts, found["error"])).agg(how)


def four_records(study, parts):
    """Choose four records: which rose most, in 20 files and really, and by cover."""
    gain = study.y >= 0
    rose = study.risk["Marginal"] - study.risk["Unweighted"]
    return {
        "largest yellow rise": int(np.argmax(np.where(gain, rose, -1))),
        "largest real rise, no loss": int(
            np.argmax(np.where(gain, parts["change"], -1))
        ),
        "most lost by cover": int(np.argmax(parts["cover"])),
        "largest real rise": int(np.argmax(parts["change"])),
    }


def inside(price, name):
    """Files whose interval of a release contains the value of the data."""
    truth = price["estimate"].xs("Data", level="release")
    found = price.xs(name, level="release")
    contains = (found["low"] <= truth) & (truth <= found["high"])
    return contains.groupby(level="statistic").sum().loc[STATISTICS]


# Values for the text


def weight_values(study, levels, sizes):
    """Levels of the weights, patterns, and how much narrower a weighted file is."""
    confidential = next(iter(levels.to_dict("index").values()))
    log_y = np.log(study.y + study.model.shift)
    weighted = np.sqrt(np.cov(log_y, aweights=study.weights["Marginal"]))
    return {
        "w-mean": confidential["mean"],
        "w-sum": confidential["sum"],
        "w-99": confidential["99% quantile"],
        "w-ones": int(confidential["exactly 1 (records)"]),
        "losses": int((study.y < 0).sum()),
        "patterns": len(sizes),
        "size-mean": sizes.mean(),
        "size-min": int(sizes.min()),
        "sd-data": log_y.std(),
        "sd-weighted": float(weighted),
        **{f"sd-{k}": np.log(study.z[k] + study.model.shift).std() for k in FITS},
    }


def release_values(overall, threshold):
    """Mean risks of three releases, and who escapes the top-coding."""
    return {
        **{f"mean-{name}": overall.loc[name, "mean"] for name in ("Data", *FITS)},
        "threshold": threshold,
        "escape": threshold / 0.8,
    }


def ten_values(tens, means):
    """Means over the ten records, and what the published pairs of risks allow."""
    riskiest = tens[tens["list"] == "riskiest"]
    return {
        **{f"riskiest-{name}": means.loc["riskiest", name] for name in FITS},
        "pairs": len(PUBLISHED_PAIRS),
        "agree": sum(one_pattern(*pair) for pair in PUBLISHED_PAIRS),
        "small-ten": (riskiest["value"] < 50_000).groupby("file").sum().mean(),
    }


def figure_values(figure):
    """Records below and far above the line in the scatter plots of all files."""
    up = figure["up by more than 0.25"]
    return {
        "fig-lower": figure["lower than before (%)"].mean(),
        "fig-up": int(up.iloc[0]),
        "fig-up-all": int(up.sum()),
        "fig-before": figure["their risk before, mean"].mean(),
        "fig-after": figure["their risk after, mean"].mean(),
    }


def mean_rises(rises):
    """Mean number of records that rise, over releases and files, by kind of pair."""
    return {
        label: np.mean([count.mean() for count in counts.values()])
        for label, counts in rises.items()
    }


def yellow_values(files, long, rise=0.25):
    """Mean long-run risks of the records that rose in 20 files."""
    drawn = []
    for seed, study in files.items():
        up = study.risk["Marginal"] - study.risk["Unweighted"] > rise
        kept = {
            "fig-long-before": long[seed]["Unweighted"].risk[up],
            "fig-long-after": long[seed]["Marginal"].risk[up],
        }
        drawn.append(pd.DataFrame(kept))
    return pd.concat(drawn).mean().to_dict()


def reason_values(reasons, n):
    """Real changes and their parts, over the files."""
    mean = reasons.mean(axis=1)
    return {
        "why-down": mean["really down (%)"],
        "why-up": mean["really up (%)"],
        "why-q999": mean["99.9% quantile of the changes"],
        "why-own": mean["of the rises: own value"],
        "why-cover": mean["of the rises: cover"],
        "why-cover-max": reasons.loc["largest rise by cover alone"].max(),
        "why-bound": np.ceil(1000 * reasons.loc["bound on such a rise"].max()) / 1000,
        "chance-up": n * stats.norm.sf(3),
    }


def mover_values(movers, files, long, parts):
    """How often the records that rose are found, and where most of their incomes are."""
    incomes = [
        study.y[really(parts[seed], long[seed]["error"]) == "really up"]
        for seed, study in files.items()
    ]
    low, high = np.quantile(np.concatenate(incomes), [0.1, 0.9])
    return {
        **{f"up-T-{name}": movers.loc["really up", f"T, {name}"] for name in FITS},
        "up-low": low,
        "up-high": high,
    }


def four_values(four):
    """Risks of the four records, the weight of one and the lost cover of another."""
    yellow, gain, cover, real = (four[label] for label in four)
    values = {"cover-by-cover": cover["part by cover"], "real-weight": real["weight"]}
    for when, name in (("before", "Unweighted"), ("after", "Marginal")):
        values[f"yellow-20-{when}"] = yellow[f"risk, 20 files, {name}"]
        for key, record in (
            ("yellow", yellow),
            ("gain", gain),
            ("cover", cover),
            ("real", real),
        ):
            values[f"{key}-long-{when}"] = record[f"long-run risk, {name}"]
    return values


def limit_values(limit, n):
    """Records above the limit in 20 files, and their share of all n in one."""
    return {
        **{f"limit-20-{name}": limit.loc["20", name] for name in FITS},
        **{f"limit-share-1-{name}": 100 * limit.loc["1", name] / n for name in FITS},
    }


def price_values(estimate, price):
    """Mean estimates by release, and files whose interval has the value of the data."""
    plain = {label: label.replace(" ", "-").replace("%", "") for label in STATISTICS}
    contained = inside(price, "Unweighted")
    return {
        **{
            f"{name}-{plain[label]}": estimate.loc[label, name]
            for name in ("Data", "Marginal")
            for label in ("median", "90% quantile")
        },
        **{f"inside-{plain[label]}": int(contained[label]) for label in STATISTICS},
    }


# Figures


def draw_weights(study):
    """Weights by income, and the densities of the file, weighted file and fits."""
    shift, weights = study.model.shift, study.weights["Marginal"]
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    pp.plots.weights_against_values(
        study.y, weights, name="Marginal", xlabel="Income (dollars)", ax=axes[0]
    )
    income_axis(axes[0], 10_000, 0.8, [-5000, 0, 10_000, 50_000, 200_000, 1_000_000])
    axes[0].legend()
    grid = np.linspace(np.log(3000), np.log(1_000_000), 400)
    for label, values, w, colour, style in (
        ("data", study.y, None, COLOURS["Data"], "-"),
        ("data, by weight", study.y, weights, "black", "--"),
        ("Unweighted", study.z["Unweighted"], None, COLOURS["Unweighted"], "-"),
        ("Marginal", study.z["Marginal"], None, COLOURS["Marginal"], "-"),
    ):
        every = slice(None, None, max(1, values.size // 20_000))
        kept = np.log(values.ravel() + shift)[every]
        w = None if w is None else w[every]
        curve = stats.gaussian_kde(kept, 0.08 / kept.std(), weights=w)(grid)
        axes[1].plot(grid, curve, style, color=colour, label=label)
    ticks = np.array([-5000, 0, 10_000, 50_000, 200_000, 900_000])
    axes[1].set_xticks(np.log(ticks + shift), [thousands(v) for v in ticks])
    axes[1].set(
        xlabel="Income (dollars; log of income + 10K)",
        ylabel="Density on the log scale",
        ylim=(0, None),
    )
    axes[1].legend(fontsize=8)


def draw_risks(study):
    """One violin of risks for each release."""
    _, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
    pp.plots.violins(
        {name: study.risk[name] for name in RELEASES},
        ylabel="Identification risk",
        middle="mean",
        ax=ax,
    )
    ax.set_ylim(-0.03, 1.05)
    ax.legend(loc="center right", bbox_to_anchor=(0.75, 0.72))


def draw_before_after(study):
    """Risk of each record under Marginal against its risk under Unweighted."""
    _, ax = plt.subplots(figsize=(5.6, 5), layout="constrained")
    pp.plots.risks_before_after(
        study.risk["Unweighted"], study.risk["Marginal"], name="Marginal", ax=ax
    )
    ax.set(xlim=(-0.02, 0.72), ylim=(-0.02, 0.72))
    ax.legend(loc="upper left", fontsize=9)


def draw_rises(found, rise=0.25):
    """Records with a larger rise than a given one, on 20 files and in the long run."""
    again, before, after = (
        found[name] for name in ("Unweighted again", "Unweighted", "Marginal")
    )
    _, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    sizes = np.linspace(0, 0.45, 19)
    for label, change, colour, style in (
        (
            "20 files: Unweighted, then Unweighted again",
            before.releases - again.releases,
            COLOURS["Unweighted"],
            "-",
        ),
        (
            "20 files: Unweighted, then Marginal",
            after.releases - again.releases,
            COLOURS["Marginal"],
            "-",
        ),
        (
            "long run: Unweighted, then Marginal",
            after.risk - before.risk,
            "black",
            "--",
        ),
    ):
        larger = len(before.risk) * (change.ravel()[:, None] > sizes).mean(axis=0)
        ax.plot(sizes, larger, style, color=colour, linewidth=1.6, label=label)
    ax.axvline(rise, color="black", linewidth=0.8, linestyle=":")
    ax.set(
        yscale="log",
        ylim=(0.5, 6000),
        xlim=(0, 0.45),
        xlabel="Rise of the risk",
        ylabel="Records with a larger rise",
    )
    ax.legend(fontsize=9)


def draw_factors(y, found, parts):
    """Both factors of the risk, and the change and its parts, by income."""
    columns = {"income": y} | {column: parts[column] for column in parts}
    for name in FITS:
        columns[f"T, {name}"] = found[name].T
        columns[f"outside, {name}"] = found[name].outside
    rank = stats.rankdata(y, method="ordinal")
    groups = np.minimum(rank * 40 // (len(y) + 1), 39).astype(int)
    means = pd.DataFrame(columns).groupby(groups).mean()
    _, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
    for ax, factor, label in (
        (axes[0], "T", "Share of files with T = 1"),
        (axes[1], "outside", "Share of the pattern outside"),
    ):
        for name in FITS:
            line = means[f"{factor}, {name}"]
            ax.plot(means["income"], line, color=COLOURS[name], label=name)
        ax.set_ylabel(label)
    axes[0].legend(fontsize=8, loc="lower center")
    for part, colour, style in (
        ("own value", "black", "--"),
        ("cover", COLOURS["CW"], "-"),
        ("change", COLOURS["Marginal"], "-"),
    ):
        axes[2].plot(means["income"], means[part], style, color=colour, label=part)
    axes[2].axhline(0, color="black", linewidth=0.6)
    axes[2].set_ylabel("Change of the long-run risk")
    axes[2].legend(fontsize=8, loc="lower left")
    for ax in axes:
        income_axis(ax, 10_000, 0.6, [0, 10_000, 50_000, 200_000])
        ax.set_xlim(0, 600_000)
        ax.set_xlabel("Income (dollars)")


def draw_four(study, chosen, found):
    """Draw chosen records, their balls, their pattern and their synthetic incomes."""
    y = study.y
    before, after = found["Unweighted"], found["Marginal"]
    codes = study.data.groupby(study.known, observed=True).ngroup().to_numpy()
    low, high = pp.ball_ends(y, study.radius)
    _, axes = plt.subplots(2, 2, figsize=(10, 5.4), layout="constrained")
    for ax, (label, i) in zip(axes.flat, chosen.items(), strict=True):
        mates = np.flatnonzero((codes == codes[i]) & (np.arange(len(y)) != i))
        ax.axvspan(low[i], high[i], color=COLOURS["CW"], alpha=0.3, linewidth=0)
        ax.axvline(y[i], color="black", linewidth=0.8)
        for place, name in ((1, "Unweighted"), (0, "Marginal")):
            z = study.z[name]
            jitter = 0.16 * np.sin(np.arange(len(mates)) * 2.4)
            ax.scatter(
                z[0, mates],
                place - 0.12 + jitter,
                s=6,
                color=COLOURS["Data"],
                alpha=0.6,
                linewidth=0,
            )
            ax.plot(
                z[:, i],
                np.full(len(z), place + 0.28),
                "|",
                color=COLOURS[name],
                markersize=12,
                markeredgewidth=1.6,
            )
        ax.set_title(
            f"{label}: {y[i]:,.0f} dollars\n"
            f"T {before.T[i]:.2f} to {after.T[i]:.2f}, "
            f"outside {before.outside[i]:.2f} to {after.outside[i]:.2f}",
            fontsize=9,
        )
        income_axis(ax, 10_000, 0.8, [-5000, 0, 10_000, 50_000, 200_000, 1_000_000])
        ax.set(xlim=(-11_000, 1_500_000), ylim=(-0.5, 1.5))
        ax.set_yticks([1, 0], ["Unweighted", "Marginal"])
    for ax in axes[1]:
        ax.set_xlabel("Synthetic income (dollars)")


def income_axis(ax, linear_to, linear_share, ticks):
    """Put income on a scale that is linear around 0 and logarithmic beyond."""
    ax.set_xscale("symlog", linthresh=linear_to, linscale=linear_share)
    ax.set_xticks(ticks, [thousands(value) for value in ticks])
    ax.minorticks_off()


def thousands(value):
    """Write dollars briefly.

    >>> thousands(-5000), thousands(0), thousands(1_000_000)
    ('-5K', '0', '1M')
    """
    if value == 0:
        return "0"
    return f"{value // 1000}K" if abs(value) < 1_000_000 else f"{value // 1_000_000}M"


# Claims: what was found, in words, and whether the statement holds


def weights_are_one_minus_risk(weights, y, signed, absolute):
    """P2-Eq09, from risks with the ball as printed, and with one for losses too."""
    return (
        f"weight = share inside the ball, {weights.min():.3f} to {weights.max():.0f}",
        np.allclose(weights, np.minimum(1 - signed, 1))
        and np.allclose(weights[y >= 0], 1 - absolute[y >= 0])
        and weights.min() >= 0,
    )


def weight_of_a_risk_of_seven_tenths():
    """P2-Toy1."""
    (weight,) = pp.marginal_weights([0.7])
    return f"{weight:.1f}", np.isclose(weight, 0.3)


def weights_are_in_the_fit(stored, weights, small):
    """P2-Eq10, in the fit and in the model of six incomes."""
    moved = np.ptp(small["weighted"] - small["unweighted"])
    return (
        f"weights in the fit: mean {stored.mean():.2f}",
        np.array_equal(stored, weights) and moved > 0.1,
    )


def anti_prior_is_the_same(small):
    """P2-EqU04."""
    gap = np.abs(small["weighted"] - small["with anti-prior"]).max()
    return (
        f"largest difference {gap:.0e}",
        np.allclose(small["weighted"], small["with anti-prior"]),
    )


def weights_are_plugged_in(stored, weights, parameters):
    """P2-Claim31: the weights are data of the fit, and no parameters."""
    modelled = any("weight" in name for name in parameters)
    return (
        "the fit holds the weights as given",
        np.array_equal(stored, weights) and not modelled,
    )


def files_repeat(again, released):
    """P2-AlgU1: the algorithm with the same seed makes the same files."""
    return (
        f"{again.shape[0]} files of {again.shape[1]:,}, the same again",
        np.array_equal(again, released),
    )


def patterns_have_company(sizes):
    """P2-Set02: as many patterns as in P2, and none with a single record."""
    return (
        f"{len(sizes)} patterns, mean size {sizes.mean():.1f}, smallest {sizes.min()}",
        len(sizes) == 40 and sizes.min() > 1,
    )


def twenty_files(released):
    """P2-Set03, of the synthetic files of all synthesizers."""
    return "20 files for each synthesizer", all(len(z) == 20 for z in released)


def four_releases(risk):
    """P2-Set04, of the names of the releases."""
    return ", ".join(RELEASES), set(risk) == set(RELEASES)


def rise_and_limit(figure, before, after):
    """P2-Set09: the records counted beyond the rise and the limit, for one file."""
    up, above = figure["up by more than 0.25"], figure["above 0.5 after"]
    return (
        f"rise 0.25, limit 0.5: {up:.0f} and {above:.0f} records",
        up == np.sum(after - before > 0.25) and above == np.sum(after > 0.5),
    )


def six_percent_changed(changed):
    """P2-Set12: percentages of changed records, by file."""
    return f"{np.mean(changed):.1f}% changed", min(changed) > 5 and max(changed) < 7


def means_in_order(by_file):
    """P2-Claim01: Data, Top-coded, Unweighted, Marginal, in every file."""
    means = by_file.pivot_table("mean", "file", "release")
    found = means.mean()
    return (
        ", ".join(f"{name} {found[name]:.2f}" for name in RELEASES),
        all(
            (means[higher] > means[lower]).all()
            for higher, lower in (
                ("Data", "Top-coded"),
                ("Top-coded", "Unweighted"),
                ("Unweighted", "Marginal"),
            )
        ),
    )


def violins_as_in_figure_5(by_file, changed):
    """P2-Fig05: order of the means, largest risks, and zeros of the top-coded file.

    A large part of those whose income was `changed`, in percent by file, are at 0.
    """
    means, ordered = means_in_order(by_file)
    largest = by_file.pivot_table("largest", "file", "release")
    zeros = by_file.pivot_table("exactly 0 (%)", "file", "release")["Top-coded"]
    return (
        f"means {means}; {zeros.mean():.1f}% of the top-coded file at 0",
        ordered
        and (largest["Marginal"] < largest["Data"]).all()
        and (zeros.to_numpy() > 0.4 * np.asarray(changed)).all(),
    )


def mean_risk_near_a_quarter(by_file):
    """P2-Claim12, of the unweighted release."""
    mean = by_file.pivot_table("mean", "file", "release")["Unweighted"].mean()
    return f"{mean:.2f}", abs(mean - 0.25) < 0.1


def top_coding_protects_the_top_only(y, released, confidential, risk):
    """Whether risks are 0 far above the threshold, and as they were below it."""
    threshold = released.max()
    far, below = y > threshold / 0.8, 1.2 * np.abs(y) < threshold
    return (risk[far] == 0).all() and np.allclose(risk[below], confidential[below])


def long_run_of_ten(tens, long):
    """Mean long-run risk of the ten records of each list under both fits."""
    rows = {seed: table["row"] for seed, table in tens.groupby(level="file")}
    risks = {
        name: np.concatenate([long[seed][name].risk[row] for seed, row in rows.items()])
        for name in FITS
    }
    return tens.assign(**risks).groupby("list")[FITS].mean()


def ten_means_text(means, long_means):
    """Name the means over ten records, on 20 files and in the long run."""
    found = ", ".join(f"{name} {value:.3f}" for name, value in means.items())
    return (
        f"means {found}; in the long run "
        f"{long_means['Unweighted']:.3f}, then {long_means['Marginal']:.3f}"
    )


def table_2(means, long_means, top_coding):
    """P2-Tab02: the ten riskiest; `top_coding` says, by file, if it does as it must."""
    return (
        ten_means_text(means, long_means),
        long_means["Marginal"] < long_means["Unweighted"]
        and means["Unweighted"] < 0.2
        and means["Data"] > 0.98
        and all(top_coding),
    )


def table_3(means, long_means, zeros):
    """P2-Tab03: the ten largest; `zeros` are those at risk 0 if top-coded, by file."""
    return (
        ten_means_text(means, long_means),
        long_means["Marginal"] < long_means["Unweighted"]
        and means["Unweighted"] < 0.15
        and means["Data"] > 0.95
        and min(zeros) >= 8,
    )


def synthesis_lowers_the_riskiest(means):
    """P2-Claim28."""
    return (
        f"ten riskiest: {means['Data']:.3f} to {means['Unweighted']:.3f}",
        means["Unweighted"] < 0.2 and means["Data"] > 0.98,
    )


def weights_lower_the_riskiest(means, long_means):
    """P2-Claim29: low under Marginal, and in the long run lower than without weights."""
    before, after = long_means["Unweighted"], long_means["Marginal"]
    return (
        f"ten riskiest: mean {means['Marginal']:.3f}, without weights "
        f"{means['Unweighted']:.3f}; in the long run {after:.3f} and {before:.3f}",
        means["Marginal"] < 0.05 and after < 0.75 * before,
    )


def top_coding_leaves_the_rest(changed, others, top_coding):
    """P2-Claim08: percentages changed, and mean risks of the others, by file."""
    return (
        f"{six_percent_changed(changed)[0]}; "
        f"mean risk of the others {np.mean(others):.2f}",
        all(top_coding) and six_percent_changed(changed)[1] and min(others) > 0.7,
    )


def lower_by_chance(long):
    """Percentage of lower risks from one unweighted release to another, by file."""
    return [
        100 * np.mean(found["Unweighted again"].releases < found["Unweighted"].releases)
        for found in long.values()
    ]


def scatter_as_in_figure_6(lower, by_chance, up, above):
    """P2-Fig06: percentages of lower risks by file; records up and above the limit.

    `by_chance` has the percentages between two unweighted releases.
    """
    return (
        f"{np.mean(lower):.0f}% lower (between unweighted releases "
        f"{np.mean(by_chance):.0f}%); {up:.0f} up by more than 0.25, "
        f"{above:.1f} above 0.5 in a release",
        min(lower) > 50
        and (np.asarray(lower) > by_chance).all()
        and up > 5
        and above >= 1,
    )


def rises_are_more_than_chance(up, control, cover):
    """P2-Claim02: more rises than in the control, or most of the real ones by cover."""
    return (
        f"up by more than 0.25: {up:.0f}, between two unweighted releases "
        f"{control:.0f}; due to cover: {cover:.2f} of the real rises",
        up > control or cover > 0.5,
    )


def limit_is_broken(above, in_long_run):
    """P2-Claim03: records above 0.5 by fit, in a release of 20 and in the long run."""
    return (
        f"above 0.5 in a release of 20: Marginal {above['Marginal']:.1f}, "
        f"Unweighted {above['Unweighted']:.1f}; in the long run {in_long_run:.0f}",
        above["Marginal"] >= 1 and in_long_run >= 1,
    )


def utility_without_weights(estimate, contained, n_files):
    """P2-Claim11: errors of the estimates without weights, and with them."""
    error = estimate[FITS].div(estimate["Data"], axis=0).sub(1).abs().loc[STATISTICS]
    found = ", ".join(f"{k} {100 * v:.1f}%" for k, v in error["Unweighted"].items())
    return (
        f"errors {found}; in the interval in "
        f"{', '.join(str(k) for k in contained)} of {n_files} files",
        (error["Unweighted"] < 0.1).all()
        and error["Unweighted"].mean() < error["Marginal"].mean() / 2,
    )


def narrower_to_the_right(estimate):
    """P2-Claim35: the median rises, the 90% quantile falls."""
    median, quantile = estimate.loc["median"], estimate.loc["90% quantile"]
    return (
        f"median {median['Data']:,.0f} to {median['Marginal']:,.0f}, "
        f"90% quantile {quantile['Data']:,.0f} to {quantile['Marginal']:,.0f}",
        median["Marginal"] > median["Data"] and quantile["Marginal"] < quantile["Data"],
    )


def claims(
    files,
    long,
    *,
    small,
    again,
    by_file,
    tens,
    figure,
    rises,
    reasons,
    limit,
    estimate,
    price,
):
    """Check the chapter's claims, by their ids; `again` are Marginal's files again."""
    studies = list(files.values())
    first = studies[0]
    y, weights, fit = first.y, first.weights["Marginal"], first.fits["Marginal"]
    stored = fit["constant_data"]["weights"].to_numpy()
    patterns = first.data[first.known]
    signed = pp.identification_risk(y, y, first.radius, patterns, ball="signed")
    top_coding = [
        top_coding_protects_the_top_only(
            s.y, s.z["Top-coded"], s.risk["Data"], s.risk["Top-coded"]
        )
        for s in studies
    ]
    changed = [100 * (s.z["Top-coded"] != s.y).mean() for s in studies]
    others = [s.risk["Data"][s.z["Top-coded"] == s.y].mean() for s in studies]
    means = tens.groupby("list")[RELEASES].mean()
    long_means = long_run_of_ten(tens, long)
    zeros = (tens[tens["list"] == "largest"]["Top-coded"] == 0).groupby("file").sum()
    control, up = list(mean_rises(rises).values())[:2]
    above = limit.loc["20"]
    return {
        "P2-Eq09": weights_are_one_minus_risk(weights, y, signed, first.risk["Data"]),
        "P2-Toy1": weight_of_a_risk_of_seven_tenths(),
        "P2-Eq10": weights_are_in_the_fit(stored, weights, small),
        "P2-EqU04": anti_prior_is_the_same(small),
        "P2-Claim31": weights_are_plugged_in(
            stored, weights, fit["posterior"].to_dataset()
        ),
        "P2-AlgU1": files_repeat(again, first.z["Marginal"]),
        "P2-Set02": patterns_have_company(
            first.data.groupby(first.known, observed=True).size()
        ),
        "P2-Set03": twenty_files([s.z[name] for s in studies for name in s.fits]),
        "P2-Set04": four_releases(first.risk),
        "P2-Set09": rise_and_limit(
            figure.iloc[0], first.risk["Unweighted"], first.risk["Marginal"]
        ),
        "P2-Set12": six_percent_changed(changed),
        "P2-Fig05": violins_as_in_figure_5(by_file, changed),
        "P2-Claim01": means_in_order(by_file),
        "P2-Claim12": mean_risk_near_a_quarter(by_file),
        "P2-Tab02": table_2(
            means.loc["riskiest"], long_means.loc["riskiest"], top_coding
        ),
        "P2-Tab03": table_3(means.loc["largest"], long_means.loc["largest"], zeros),
        "P2-Claim28": synthesis_lowers_the_riskiest(means.loc["riskiest"]),
        "P2-Claim29": weights_lower_the_riskiest(
            means.loc["riskiest"], long_means.loc["riskiest"]
        ),
        "P2-Claim08": top_coding_leaves_the_rest(changed, others, top_coding),
        "P2-Fig06": scatter_as_in_figure_6(
            figure["lower than before (%)"],
            lower_by_chance(long),
            up,
            above["Marginal"],
        ),
        "P2-Claim02": rises_are_more_than_chance(
            up, control, reasons.mean(axis=1)["of the rises: cover"]
        ),
        "P2-Claim03": limit_is_broken(above, limit["Marginal"].iloc[-1]),
        "P2-Claim11": utility_without_weights(
            estimate, inside(price, "Unweighted"), len(files)
        ),
        "P2-Claim35": narrower_to_the_right(estimate),
    }
