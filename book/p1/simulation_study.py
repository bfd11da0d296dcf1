"""Of the simulation study: measures, findings, figures, and checks of the claims.

Results of one file are kept by name of the synthesizer, "Unweighted", or by name and
rule of allocation, such as ("Vector", "weighted"); a study has them as attributes.
"""

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

import pseudopost as pp
from companion import contrasts, density

COLOURS = pp.plots.PALETTE
RULES = ("density", "weighted")
NAMES = ("Unweighted", "Vector", "Scalar")
MODES = np.array([0.1, 1.0])
WINDOWS = {"low": "0 to 0.5", "high": "0.5 to 5"}
GRIDS = {"low": np.linspace(0.005, 0.5, 100), "high": np.linspace(0.5, 5, 226)}
WIDTHS = {"low": 0.01, "high": 0.1}  # standard deviation of the kernel
PEAKS = {"low": (0.05, 0.2), "high": (0.7, 1.3)}
RATIO = "largest 1%: median ratio"
UTILITY = [
    "density error, low",
    "density error, high",
    "Kolmogorov-Smirnov",
    "Wasserstein, log",
    "quantiles, log",
    "coefficients",
]

# P1, Figures 12 and 13: risks under Synthesizer, Weights_V and Weights_S.
PUBLISHED = {
    "riskiest": pd.DataFrame(
        [
            (0.5959832, 0.9311, 0.0486, 0.2338),
            (0.4713665, 0.8756, 0.0000, 0.1936),
            (3.3694715, 0.9256, 0.0000, 0.0000),
            (2.4854301, 0.8264, 0.0000, 0.0972),
            (0.6002610, 0.9118, 0.0000, 0.2382),
            (0.5880128, 0.8264, 0.0486, 0.1917),
            (0.5348753, 0.8500, 0.0000, 0.0957),
            (2.9259830, 0.9194, 0.0000, 0.0484),
            (0.6818285, 0.8952, 0.0000, 0.5194),
            (2.4694975, 0.9212, 0.0000, 0.0000),
        ],
        columns=["value", *NAMES],
    ).sort_values("Unweighted", ascending=False, kind="stable"),
    "largest": pd.DataFrame(
        [
            (1.710438, 0.3818, 0.1455, 0.1439),
            (3.369471, 0.9256, 0.0000, 0.0000),
            (2.485430, 0.8264, 0.0000, 0.0972),
            (1.665322, 0.7155, 0.0488, 0.0952),
            (2.963501, 0.7266, 0.0000, 0.0484),
            (2.245890, 0.6811, 0.0000, 0.1946),
            (2.091579, 0.6290, 0.0484, 0.1935),
            (2.925983, 0.9194, 0.0000, 0.0484),
            (2.469497, 0.9212, 0.0000, 0.0000),
            (2.005061, 0.8130, 0.0000, 0.1891),
        ],
        columns=["value", *NAMES],
    ).sort_values("value", ascending=False),
}


# --- Records and synthesizers ---------------------------------------------------------


def shape(y):
    """What P1 says of its values in words and figures: modes, largest, skewness."""
    return {
        "lower mode": mode(y, "low"),
        "upper mode": mode(y, "high"),
        "largest": y.max(),
        "skewness": stats.skew(y),
    }


def shapes_of(upper, seeds):
    """The same of simulated files with this share at the upper mode, a row each."""
    files = {
        seed: pp.datasets.lognormal_mixture(upper=upper, random_seed=seed)
        for seed in seeds
    }
    return pd.DataFrame({seed: shape(file["value"]) for seed, file in files.items()}).T


def described(y, X, sizes):
    """Describe a file: y, the design matrix, and the sizes of the patterns."""
    return pd.Series(
        {
            "records": len(y),
            "coefficients of a regression on all columns": X.shape[1],
            "patterns": len(sizes),
            "records of the smallest pattern": sizes.min(),
            "records of the largest pattern": sizes.max(),
            "largest value": y.max().round(2),
            "skewness": stats.skew(y).round(2),
        },
        name="this file",
        dtype=object,
    ).to_frame()


def highest(values, n=10):
    """Rows of the n highest values, the highest first."""
    return np.argsort(-values, kind="stable")[:n]


def from_mode(y):
    """Factor by which each value is away from the nearer mode."""
    return np.exp(np.abs(np.log(y[:, None] / MODES)).min(axis=1))


def places(y):
    """Where each value is: at a mode, on a slope, at a foot, or far off."""
    labels = [
        "at a mode (to 1.2)",
        "slope (1.2 to 1.6)",
        "foot (1.6 to 2.2)",
        "far off",
    ]
    return pd.cut(
        from_mode(y), [1, 1.2, 1.6, 2.2, np.inf], labels=labels, include_lowest=True
    )


def by_rule(results, rule):
    """Results of the three synthesizers, the weighted ones by one rule."""
    return {
        name: results[name if name == "Unweighted" else (name, rule)] for name in NAMES
    }


def displaced(y, before, after):
    """Which records' synthetic values are far off, by half, more often than before."""

    def far_off(z):
        return (np.abs(np.log(z / y)) > np.log(1.6)).mean(axis=0)

    return far_off(after) - far_off(before) > 0.5


def probability_higher(values, chosen):
    """Probability that a random chosen record has a higher value than another."""
    test = stats.mannwhitneyu(values[chosen], values[~chosen], method="asymptotic")
    return test.statistic / (chosen.sum() * (~chosen).sum())


def rank_correlation(a, b):
    """Spearman's correlation; not a number if one of the two is constant."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    return stats.spearmanr(a, b).statistic


# --- Fits, files and tables -----------------------------------------------------------


def summary(fit, weights, risk):
    """Describe a fit: weights, occupied components, convergence, risks."""
    occupied = (fit["posterior"]["pi"] > 1 / len(weights)).sum("component")
    judged = fit["label_invariant"].to_dataset()
    return {
        "mean weight": weights.mean(),
        "weights of 0": (weights == 0).sum(),
        "occupied components": occupied.median().item(),
        "largest R-hat": max(float(v.max()) for v in az.rhat(judged).values()),
        "smallest ESS": min(float(v.min()) for v in az.ess(judged).values()),
        "mean risk": risk.mean(),
        "largest risk": risk.max(),
    }


def ten_records(s, rows, again, published):
    """Risks of ten records of a file, beside the published ones."""
    ours = {"value": s.y, "Unweighted": s.risk["Unweighted"], "again": again}
    table = {("this file", "", name): column[rows] for name, column in ours.items()}
    for rule in RULES:
        for name in ("Vector", "Scalar"):
            table["this file", rule, name] = s.risk[name, rule][rows]
    table["this file", "weighted", "Scalar 0.455"] = s.risk[
        "Published scalar", "weighted"
    ][rows]
    for name in published:
        table["published", "", name] = published[name].to_numpy()
    return pd.DataFrame(table, index=range(1, 11))


# --- Measures of utility --------------------------------------------------------------


def smoothed(values, window):
    """Density of values on the grid of a window."""
    return density(values, GRIDS[window], WIDTHS[window])


def mode(values, window):
    """Where the density is highest in a window."""
    return GRIDS[window][np.argmax(smoothed(values, window))]


def density_measures(y, z):
    """Squared error of the density, and height of its peak, in either window."""
    result = {}
    for window, grid in GRIDS.items():
        data = smoothed(y, window)
        curves = np.array([smoothed(values, window) for values in z])
        squares = ((curves - data) ** 2).sum(axis=1)
        result[f"density error, {window}"] = squares.mean() * (grid[1] - grid[0])
        low, high = PEAKS[window]
        near = (low <= grid) & (grid <= high)
        peaks = curves[:, near].max(axis=1)
        result[f"peak ratio, {window}"] = peaks.mean() / data[near].max()
    return result


def coefficient_error(X, log_y, log_z):
    """Mean error of the coefficients of regressions on X, in standard errors."""
    beta, residual = np.linalg.lstsq(X, log_y)[:2]
    variance = residual / (len(X) - X.shape[1])
    error = np.sqrt(variance * np.linalg.inv(X.T @ X).diagonal())
    return (np.abs(np.linalg.lstsq(X, log_z.T)[0].T - beta) / error).mean()


def record_measures(y, z, risk):
    """How far records move; the safer half has an unweighted risk below the median."""
    log_y, log_z = np.log(y), np.log(z)
    tail = highest(y, len(y) // 100)
    return {
        "share above the 97.5% quantile": (z > np.quantile(y, 0.975)).mean(),
        "correlation with the data, log": np.mean(
            [np.corrcoef(values, log_y)[0, 1] for values in log_z]
        ),
        "sd of the log ratio": (log_z - log_y).std(),
        "the same, safer half": (log_z - log_y)[:, risk < np.median(risk)].std(),
        RATIO: np.median(z[:, tail] / y[tail]),
    }


# --- Findings on one file -------------------------------------------------------------


def findings(s, rule):
    """Which findings of P1's section 5 hold on one file, by a rule of allocation."""
    utility, risk = by_rule(s.utility, rule), by_rule(s.risk, rule)
    found = {
        **findings_on_densities(utility),
        **findings_on_records(s.y, risk, utility),
        **findings_on_ten(s.y, risk, s.weights["Vector"]),
        **findings_on_low_risks(risk),
    }
    return {finding: bool(holds) for finding, holds in found.items()}


def findings_on_densities(utility):
    """Whose density is nearer to that of the data, and whose peaks are lower."""
    unweighted, vector, scalar = (pd.Series(utility[name]) for name in NAMES)
    low, high = "density error, low", "density error, high"
    peaks = ["peak ratio, low", "peak ratio, high"]
    return {
        "unweighted is closest, 0 to 0.5": unweighted[low]
        < min(vector[low], scalar[low]),
        "unweighted is closest, 0.5 to 5": unweighted[high]
        < min(vector[high], scalar[high]),
        "vector is closer than scalar, 0 to 0.5": vector[low] < scalar[low],
        "vector is closer than scalar, 0.5 to 5": vector[high] < scalar[high],
        "vector raises the peak at 0.1": vector[peaks[0]] > 1,
        "vector raises the peak at 1": vector[peaks[1]] > 1,
        "vector thins the upper tail": vector["share above the 97.5% quantile"] < 0.025,
        "scalar lowers both peaks": scalar[peaks].max() < 1,
    }


def findings_on_records(y, risk, utility):
    """Which records move, and which are risky."""
    unweighted, vector, scalar = (utility[name] for name in NAMES)
    spread, safe = "sd of the log ratio", "the same, safer half"
    at_mode = from_mode(y) < 1.2
    before = risk["Unweighted"]
    largest = max(risk["Vector"].max(), risk["Scalar"].max())
    return {
        "scalar spreads the records": scalar[spread] > unweighted[spread],
        "scalar spreads safe records more than vector": scalar[safe] > vector[safe],
        "risk is higher off the modes": before[~at_mode].mean()
        > before[at_mode].mean(),
        "vector pulls in the largest 1%": vector[RATIO] < unweighted[RATIO],
        "vector halves the largest 1%, unweighted keeps it": vector[RATIO] < 0.5
        and unweighted[RATIO] > 0.8,
        "both lower the largest risk": largest < before.max(),
    }


def findings_on_ten(y, risk, weights):
    """What becomes of the ten riskiest and of the ten largest records."""
    top, largest = highest(risk["Unweighted"]), highest(y)
    before, vector, scalar = (risk[name][top] for name in NAMES)
    large_before, large_vector, large_scalar = (risk[name][largest] for name in NAMES)
    rank = rank_correlation(weights[largest], large_vector)
    return {
        "ten riskiest: vector 0 for six or more": (vector == 0).sum() >= 6,
        "ten riskiest: vector below 0.15": vector.max() < 0.15,
        "ten riskiest: vector < scalar < unweighted": vector.mean()
        < scalar.mean()
        < before.mean(),
        "ten largest: vector never above unweighted": (
            large_vector <= large_before
        ).all(),
        "ten largest: vector mean below scalar mean": large_vector.mean()
        < large_scalar.mean(),
        "ten largest: vector mean at most half of unweighted": large_vector.mean()
        <= 0.5 * large_before.mean(),
        "ten largest: higher weight, higher risk": rank > 0,
    }


def findings_on_low_risks(risk):
    """Whether the vector has the most risks near 0."""
    low = {name: (values < 0.05).sum() for name, values in risk.items()}
    return {
        "risks below 0.05: more under vector than unweighted": low["Vector"]
        > low["Unweighted"],
        "risks below 0.05: more under vector than scalar": low["Vector"]
        > low["Scalar"],
    }


# --- Many files -----------------------------------------------------------------------


def risks_by_file(studies):
    """Mean risks, and the scalar weights whose mean risk is nearest to the vector's."""
    rows = {}
    for seed, s in studies.items():
        rows[seed] = {
            "ten riskiest, unweighted": s.risk["Unweighted"][
                highest(s.risk["Unweighted"])
            ].mean(),
            "mean risk, unweighted": s.risk["Unweighted"].mean(),
            **{f"vector, {rule}": s.risk["Vector", rule].mean() for rule in RULES},
            **{f"scalar, {rule}": s.risk["Scalar", rule].mean() for rule in RULES},
            **{f"scalar weight, {rule}": s.nearest[rule] for rule in RULES},
        }
    return pd.DataFrame(rows).T.rename_axis("seed")


def numbers_of_files(held, seeds):
    """Files of the given seeds in which findings hold, beside the skewed ones."""
    table = {"60%": held["weighted"][list(seeds)], "30%": held["skewed"]}
    counts = pd.DataFrame({share: files.sum(axis=1) for share, files in table.items()})
    return counts.rename_axis(columns="at the upper mode")


def marks(weighted, printed):
    """By which rule findings hold: b both, w the weighted, p the printed, - neither."""
    letters = np.select([weighted & printed, weighted, printed], ["b", "w", "p"], "-")
    return pd.DataFrame(letters, weighted.index, weighted.columns)


def average_utility(studies):
    """Means over the files of the measures of utility, by the weighted rule."""
    tables = [pd.DataFrame(by_rule(s.utility, "weighted")) for s in studies.values()]
    return sum(tables) / len(tables)


def with_risky_records(by_file):
    """Seeds of the files whose ten riskiest records have a mean risk of .8, as P1's.

    `by_file` is the table of :func:`risks_by_file`.
    """
    means = by_file["ten riskiest, unweighted"]
    return list(means.index[means >= 0.8])


def scalar_less_vector(studies):
    """By file, how much larger the density errors are under the scalar weight."""
    return pd.DataFrame(
        {
            window: [
                s.utility["Scalar", "weighted"][f"density error, {window}"]
                - s.utility["Vector", "weighted"][f"density error, {window}"]
                for s in studies.values()
            ]
            for window in WINDOWS
        }
    )


def weight_and_risk(studies):
    """By file, the rank correlation of weight and risk of the ten largest records."""
    return [
        rank_correlation(s.weights["Vector"][rows], s.risk["Vector", "weighted"][rows])
        for s in studies.values()
        for rows in [highest(s.y)]
    ]


def means_of_ten(studies):
    """Mean risks of the ten riskiest and the ten largest records, over the files."""
    table = pd.DataFrame(
        {
            seed: {
                f"ten {which}, {name}": ir[rows].mean()
                for which, rows in (
                    ("riskiest", highest(s.risk["Unweighted"])),
                    ("largest", highest(s.y)),
                )
                for name, ir in by_rule(s.risk, "weighted").items()
            }
            for seed, s in studies.items()
        }
    )
    return pd.DataFrame(
        {"mean": table.mean(axis=1), "standard error": table.sem(axis=1)}
    )


def means_beside_published(groups):
    """Mean risks of ten records for groups of files, by name, and in P1's tables."""
    table = {name: means_of_ten(files) for name, files in groups.items()}
    published = {
        f"ten {which}, {name}": risks[name].mean()
        for which, risks in PUBLISHED.items()
        for name in NAMES
    }
    return pd.concat(table | {"P1": pd.Series(published).to_frame("mean")}, axis=1)


def more_low_risks(studies):
    """By file, by how much more of the risks are below .05 under the vector."""
    shares = pd.DataFrame(
        {
            seed: {
                name: (ir < 0.05).mean()
                for name, ir in by_rule(s.risk, "weighted").items()
            }
            for seed, s in studies.items()
        }
    ).T
    return shares[["Unweighted", "Scalar"]].rsub(shares["Vector"], axis=0)


def in_standard_errors(table):
    """Means over the files in units of their standard errors."""
    return table.mean() / table.sem()


# --- Numbers for the text -------------------------------------------------------------


def excess_of_published(s):
    """Mean risk under the published scalar weight over that of the vector, less 1.

    With its standard error between fits.
    """
    released = [s.z[name, "weighted"] for name in ("Vector", "Published scalar")]
    compared = contrasts(
        [(s, *released)], {"risk": lambda s, z: s.risk_of(z).mean()}
    ).loc["risk"]
    return compared[["difference", "standard error"]] / compared["first"]


def numbers_of_fits(fits, search, target, excess):
    """Of the table of the fits and the search for the scalar weight."""
    path = search.path
    near = path.loc[path["difference"].abs() < 0.1 * target, "constant"]
    return {
        "mean-risk-Unweighted": fits.loc["Unweighted", "mean risk"],
        "mean-risk-Vector": fits.loc["Vector", "mean risk"],
        "ess-Unweighted": fits.loc["Unweighted", "smallest ESS"],
        "ess-Vector": fits.loc["Vector", "smallest ESS"],
        "mean-weight": fits.loc["Vector", "mean weight"],
        "occupied": round(fits.loc["Unweighted", "occupied components"]),
        "rhat": fits["largest R-hat"].max(),
        "scalar": search.constant,
        "steps": len(path),
        "near-low": near.min(),
        "near-high": near.max(),
        "above-published": 100 * excess["difference"],
        "above-error": 200 * excess["standard error"],
    }


def numbers_of_places(by_place):
    """Of the table by distance from the nearer mode."""
    columns = {
        "outside": "share outside",
        "own": "share with T = 1",
        "place-risk": "mean risk",
    }
    return {
        f"{label}-{place}": by_place[column].iloc[row]
        for label, column in columns.items()
        for row, place in enumerate(("mode", "slope", "foot", "far"))
    }


def numbers_of_tables(riskiest, ten_largest, weights):
    """Of the two tables of ten records; `weights` are those of the ten largest."""
    top, large = riskiest["this file"], ten_largest["this file"]
    vector = large["weighted", "Vector"].to_numpy()
    low = large["", "Unweighted"].argmin()
    return {
        "top-before": top["", "Unweighted"].mean(),
        "top-again": top["", "again"].mean(),
        "top-Vector-density-zeros": (top["density", "Vector"] == 0).sum(),
        "top-Vector-density-max": top["density", "Vector"].max(),
        "top-Vector-weighted-zeros": (top["weighted", "Vector"] == 0).sum(),
        "top-Vector-weighted-max": top["weighted", "Vector"].max(),
        "top-Vector-weighted-mean": top["weighted", "Vector"].mean(),
        "top-Scalar-weighted-mean": top["weighted", "Scalar"].mean(),
        "top-Published-weighted-mean": top["weighted", "Scalar 0.455"].mean(),
        "top-Scalar-in-p1": PUBLISHED["riskiest"]["Scalar"].mean(),
        "big-Vector-weighted-mean": vector.mean(),
        "big-Scalar-weighted-mean": large["weighted", "Scalar"].mean(),
        "big-low-value": large["", "value"].iloc[low],
        "big-low-before": large["", "Unweighted"].iloc[low],
        "big-low-weight": weights[low],
        "big-low-after": vector[low],
        "big-rank": rank_correlation(weights, vector),
        "published-weight": pp.sigmoid_weights([0.3818])[0],
    }


def numbers_of_utility(utility):
    """Of the table of utility on the first file."""
    weighted = by_rule(utility, "weighted")
    result = {}
    for name, measures in weighted.items():
        result[f"sd-{name}"] = measures["sd of the log ratio"]
        result[f"sd-safe-{name}"] = measures["the same, safer half"]
        for window in WINDOWS:
            result[f"peak-{window}-{name}"] = measures[f"peak ratio, {window}"]
    return result


def numbers_of_seeds(held, top_means, risky, average):
    """Of the table by seed; `top_means` are mean risks of the ten riskiest, by seed."""
    others = top_means.index.difference(risky)
    count = {rule: table.sum(axis=1) for rule, table in held.items()}
    halved = "vector halves the largest 1%, unweighted keeps it"
    result = {
        "files": len(top_means),
        "risky-files": len(risky),
        "other-files": ", ".join(map(str, others)) or "none",
        "other-top": (top_means[others] if len(others) else top_means).mean(),
        "zeros-density": count["density"]["ten riskiest: vector 0 for six or more"],
        "ratio-weighted": count["weighted"][
            "ten largest: vector never above unweighted"
        ],
        "halved-weighted": count["weighted"][halved],
        "halved-density": count["density"][halved],
    }
    for window, values in WINDOWS.items():
        result[f"nearer-{window}"] = count["weighted"][
            f"vector is closer than scalar, {values}"
        ]
        for name in NAMES:
            result[f"average-peak-{window}-{name}"] = average.loc[
                f"peak ratio, {window}", name
            ]
    return result


def numbers_of_skewed(tens, held):
    """Of the skewed files, and of the ten largest records under the vector."""
    large = tens.loc["ten largest, Vector"]
    return {
        "skewed-files": held.shape[1],
        "skewed-thins": held.loc["vector thins the upper tail"].sum(),
        "skewed-large": large["30%", "mean"],
        "skewed-large-error": large["30%", "standard error"],
        "ordinary-large": large["60%", "mean"],
        "p1-large": large["P1", "mean"],
    }


def numbers_at_equal_risk(gaps, studies, average):
    """Of the comparison at the same risk, and of the scalar weights 0.5 and 0.1."""

    def top_risk(name):
        return np.mean(
            [
                s.risk[name, "weighted"][highest(s.risk["Unweighted"])].mean()
                for s in studies.values()
            ]
        )

    error = "density error, high"
    labels = ("low", "high", "ks", "wasserstein", "quantiles", "coefficients")
    score = {key: in_standard_errors(table) for key, table in gaps.items()}
    at_ten = score["ten riskiest", "weighted"]
    return {
        "half-high": np.mean(
            [s.utility[0.5, "weighted"][error] for s in studies.values()]
        ),
        "vector-high": average.loc[error, "Vector"],
        "half-top": top_risk(0.5),
        "lowest-top": top_risk(0.1),
        "vector-top": top_risk("Vector"),
        "t-ten-min": at_ten.min(),
        "t-ten-max": at_ten.max(),
        "t-quantiles-density": score["mean", "density"]["quantiles, log"],
        **{
            f"t-{label}-weighted": value
            for label, value in zip(labels, score["mean", "weighted"], strict=True)
        },
    }


def numbers_of_toy(toy):
    """Of the table for one component."""
    peak, score = toy["peak, weighted / unweighted"], toy["mean weighted score"]
    return {
        "toy-peak": peak[0.22, 0.6, "drawn anew"],
        "toy-peak-narrow": peak[0.1, 1, "drawn anew"],
        "toy-peak-single": peak[0.22, 1, "drawn anew"],
        "toy-peak-always": peak[0.22, 1, "always 1"],
        "toy-score": score[0.22, 0.6, "drawn anew"],
        "toy-score-always": score[0.22, 1, "always 1"],
    }


# --- Figures --------------------------------------------------------------------------


def draw_file(y):
    """Density of the values, with a tick for each."""
    _, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
    for window, grid in GRIDS.items():
        curve = smoothed(y, window)
        ax.plot(grid, curve, color=COLOURS["Data"])
        ax.fill_between(grid, curve, color=COLOURS["Data"], alpha=0.35, linewidth=0)
    ax.plot(y, np.full(len(y), -0.25), "|", color="black", markersize=5, alpha=0.4)
    ax.set(xlabel="Value", ylabel="Density", xlim=(0, 5))


def draw_risky(y, risk):
    """Risk by value, with the ten riskiest and the ten largest records marked."""
    _, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
    ax.scatter(y, risk, s=9, color=COLOURS["Unweighted"], alpha=0.6, linewidth=0)
    for rows, marker, label in (
        (highest(risk), "o", "ten riskiest"),
        (highest(y), "s", "ten largest"),
    ):
        style = {"s": 60, "marker": marker, "facecolor": "none", "edgecolor": "black"}
        ax.scatter(y[rows], risk[rows], label=label, **style)
    ax.set(
        xscale="log", xlabel="Value", ylabel="Identification risk", ylim=(-0.03, 1.03)
    )
    ticks = [0.05, 0.1, 0.2, 0.5, 1, 2, 5]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.legend(loc="lower right")


def draw_densities(y, released):
    """Density of the data and of one synthetic file each, in both windows."""
    shown = {"Data": y} | {name: z[0] for name, z in released.items()}
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    for ax, (window, grid) in zip(axes, GRIDS.items(), strict=True):
        for (name, values), line in zip(
            shown.items(), ("-", "-", "-", "--"), strict=True
        ):
            ax.plot(
                grid, smoothed(values, window), line, color=COLOURS[name], label=name
            )
        ax.set(xlabel="Value", xlim=grid[[0, -1]], ylim=(0, None))
    axes[1].set_xlim(0.5, 3)
    axes[0].set_ylabel("Density")
    axes[1].legend()


def draw_scatter(y, released):
    """One synthetic file each against the data."""
    _, axes = plt.subplots(1, 3, figsize=(10, 3.8), layout="constrained", sharey=True)
    for ax, (name, z) in zip(axes, released.items(), strict=True):
        ax.axline((1, 1), (2, 2), color="black", linewidth=0.8)
        ax.scatter(y, z[0], s=8, color=COLOURS[name], alpha=0.6, linewidth=0)
        ax.set(xscale="log", yscale="log", xlim=(0.04, 6), ylim=(0.02, 20))
        ax.set(xlabel="Real value", title=name)
    axes[0].set_ylabel("Synthetic value")


def draw_tradeoff(studies, scalars):
    """Density error against mean risk on each file: scalar weights, and the vector."""
    n_rows = -(-len(studies) // 3)
    size = {"figsize": (9.5, 2.7 * n_rows), "layout": "constrained"}
    _, axes = plt.subplots(n_rows, 3, squeeze=False, **size)
    for ax, (seed, s) in zip(axes.flat, studies.items(), strict=False):

        def point(key, s=s):
            return s.risk[key].mean(), s.utility[key]["density error, high"]

        path = [
            point(key) for key in ("Unweighted", *((a, "weighted") for a in scalars))
        ]
        ax.plot(*zip(*path, strict=True), "o-", color=COLOURS["Scalar"], label="Scalar")
        style = {"color": COLOURS["Vector"], "markersize": 8, "label": "Vector"}
        ax.plot(*point(("Vector", "weighted")), "D", **style)
        ax.set_title(f"seed {seed}", fontsize=10)
        ax.margins(0.08)
        ax.set_ylim(bottom=0)
    for ax in axes[-1]:
        ax.set_xlabel("Mean risk")
    for ax in axes[:, 0]:
        ax.set_ylabel("Density error, 0.5 to 5")
    axes[0, 0].legend(fontsize=8)


# --- Checks of the claims: what was found, in words, and whether it holds -------------


def claims(*groups):
    """Checks of several functions below, in the order of the ledger."""
    found = {claim: check for group in groups for claim, check in group.items()}
    kinds = ("Fig", "Tab", "Set", "Claim")
    order = sorted(found, key=lambda claim: (kinds.index(claim[3:-2]), claim))
    return {claim: found[claim] for claim in order}


def holds(held, *findings, on=None):
    """Whether findings hold in three of every four files, by the weighted rule."""
    table = held["weighted"].loc[list(findings)]
    shares = (table if on is None else table[list(on[0])]).mean(axis=1)
    return bool((shares >= 0.75).all())


def counts(held, findings, on=None):
    """Files in which findings hold, by the weighted and by the printed rule.

    And skewed files, by the weighted rule. `on` are seeds of the files and of the
    skewed files, by default all.
    """
    files, skewed = map(list, on or (held["weighted"], held["skewed"]))
    numbers = [
        f"{label}: {held['weighted'].loc[finding, files].sum():.0f} and "
        f"{held['density'].loc[finding, files].sum():.0f}, "
        f"skewed {held['skewed'].loc[finding, skewed].sum():.0f}"
        for label, finding in findings.items()
    ]
    return f"{'; '.join(numbers)} of {len(files)} and {len(skewed)} files"


def is_as_in_p1(shapes):
    """Which of the files, a row each, have P1's modes, largest value and skewness."""
    return (
        shapes["lower mode"].between(0.05, 0.2)
        & shapes["upper mode"].between(0.7, 1.3)
        & shapes["largest"].between(2.5, 5)
        & (shapes["skewness"] > 1.5)
    )


def claims_on_file(data, sizes, own, upper, shapes):
    """Figure 5 and the setting.

    `own` is T by synthetic file and record. `shapes` describes files, a row each, with
    a share `upper` of the first component at the upper mode.
    """
    as_in_p1, middle = is_as_in_p1(shapes), shapes.median()
    return {
        "P1-Fig05": (
            f"{as_in_p1.sum()} of {len(shapes)} files with upper = {upper}; "
            f"medians: modes {middle['lower mode']:.2f} and "
            f"{middle['upper mode']:.2f}, largest {middle['largest']:.1f}, skewness "
            f"{middle['skewness']:.1f}",
            as_in_p1.mean() >= 0.75,
        ),
        "P1-Set05": (
            f"{len(data):,} values, {data.shape[1] - 1} predictors; {len(sizes)} patterns, "
            f"mean size {sizes.mean():.0f}; T = 1 for {100 * own.mean():.0f}%",
            data.shape == (1000, 16)
            and len(sizes) == 32
            and 25 < sizes.mean() < 40
            and own.mean() > 0.5,
        ),
    }


def claims_on_risk(released, own, outside, risk):
    """The setting of the risk: 20 files, and the product of its two factors."""
    product = (own * outside).mean(axis=0)
    return {
        "P1-Set08": (
            "radius 20%, 5 of 15 columns, 20 data sets",
            released.shape == (20, 1000) and np.allclose(product, risk),
        )
    }


def claims_on_fits(fits, n_components, target, excess):
    """Components, and the scalar weight that was searched for."""
    occupied = fits["occupied components"].max()
    scalar, risk = fits.loc["Scalar", ["mean weight", "mean risk"]]
    matched = np.isclose(risk, target, rtol=0.0201)
    above, error = 100 * excess
    return {
        "P1-Set07": (
            f"{occupied:.0f} of {n_components} components occupied",
            occupied < n_components / 2,
        ),
        "P1-Set10": (
            f"scalar {scalar:.2f}, mean risk {risk:.3f} and {target:.3f}",
            matched,
        ),
        "P1-Claim19": (
            f"{scalar:.2f}; at 0.455 the mean risk is {above:.1f}% above the target "
            f"(standard error {error:.1f})",
            matched and abs(above) < 2,
        ),
    }


def claims_on_densities(held, average, deviation):
    """Distances of the densities and heights of the peaks.

    `average` has means over the files of the measures of utility; `deviation` has, by
    file and window, how much larger the error is under the scalar than the vector.
    """
    closest = {w: f"unweighted is closest, {w}" for w in WINDOWS.values()}
    nearer = {w: f"vector is closer than scalar, {w}" for w in WINDOWS.values()}
    peaks = {at: f"vector raises the peak {at}" for at in ("at 0.1", "at 1")}
    thin, flatter = "vector thins the upper tail", "scalar lowers both peaks"
    fig06 = {
        "closest": closest[WINDOWS["low"]],
        "vector nearer": nearer[WINDOWS["low"]],
        "higher peak": peaks["at 0.1"],
    }
    fig07 = {
        "higher peak": peaks["at 1"],
        "thinner tail": thin,
        "scalar flatter": flatter,
    }
    ratios = [average.loc[f"peak ratio, {window}", "Vector"] for window in WINDOWS]
    score = in_standard_errors(deviation)
    return {
        "P1-Fig06": (counts(held, fig06), holds(held, *fig06.values())),
        "P1-Fig07": (counts(held, fig07), holds(held, *fig07.values())),
        "P1-Claim08": (counts(held, closest), holds(held, *closest.values())),
        "P1-Claim09": (
            f"{counts(held, nearer)}; mean difference "
            + " and ".join(f"{t:.1f}" for t in score)
            + " standard errors",
            score.min() > 3,
        ),
        "P1-Claim10": (
            f"{ratios[0]:.2f} and {ratios[1]:.2f} of the data; {counts(held, peaks)}",
            holds(held, *peaks.values()),
        ),
    }


def claims_on_records(held, average, kept, auc):
    """Where records go.

    `kept` is the share of the ten riskiest that the unweighted synthesizer leaves in
    their balls, and `auc` the probability that a displaced record is the riskier one.
    """
    correlation = average.loc["correlation with the data, log"]
    ratio = average.loc[RATIO]
    wider = {
        "wider": "scalar spreads the records",
        "wider for safe records": "scalar spreads safe records more than vector",
    }
    spread = {"both peaks lower": "scalar lowers both peaks", "wider": wider["wider"]}
    pulled = "vector pulls in the largest 1%"
    return {
        "P1-Fig08": (
            f"correlation of logs {correlation['Unweighted']:.2f}; "
            f"{100 * kept:.0f}% of the ten riskiest in their ball",
            correlation["Unweighted"] > correlation[["Vector", "Scalar"]].max()
            and kept > 0.8,
        ),
        "P1-Fig09": (
            f"largest 1%: {ratio['Vector']:.2f} of their value; displaced riskier than "
            f"others with probability {auc:.2f}",
            ratio["Vector"] < 0.5 and ratio["Unweighted"] > 0.8 and auc > 0.8,
        ),
        "P1-Fig10": (counts(held, wider), holds(held, *wider.values())),
        "P1-Claim12": (
            f"largest 1%: {ratio['Unweighted']:.2f} of their value, then "
            f"{ratio['Vector']:.2f}; {counts(held, {'less': pulled})}",
            holds(held, pulled),
        ),
        "P1-Claim13": (counts(held, spread), holds(held, *spread.values())),
    }


def claims_on_risks(held, by_place, ranks, more_low):
    """Where the risk is, and how far it falls.

    `ranks` are the rank correlations of weight and risk of the ten largest records, by
    file, and `more_low` by how much the share of risks below .05 is larger under the
    vector.
    """
    lower, off = "both lower the largest risk", "risk is higher off the modes"
    at_mode, slope, _, far = by_place["mean risk"]
    ranks = pd.Series(ranks).dropna()
    rank, error = ranks.mean(), ranks.sem()
    score = in_standard_errors(more_low)
    low = "risks below 0.05, in standard errors more than " + ", ".join(
        f"{name} {t:+.1f}" for name, t in score.items()
    )
    return {
        "P1-Fig11": (
            f"{counts(held, {'largest lower': lower})}; {low}",
            holds(held, lower) and score.min() > 2,
        ),
        "P1-Claim11": (
            f"mean risk {at_mode:.2f} at the modes, {slope:.2f} on the slopes, "
            f"{far:.2f} far off; {counts(held, {'higher': off})}",
            holds(held, off),
        ),
        "P1-Claim14": (counts(held, {"lower": lower}), holds(held, lower)),
        "P1-Claim17": (low, score.min() > 2),
        "P1-Claim18": (
            f"rank correlation of weight and risk {rank:.2f} (standard error "
            f"{error:.2f}), mean of {len(ranks)} files",
            rank > 2 * error,
        ),
    }


def claims_on_ten(held, risky, riskiest, ten_largest):
    """The tables of the ten riskiest and of the ten largest records.

    `risky` are the files with risky records, and the skewed ones.
    """
    keys = [("", "Unweighted"), ("weighted", "Vector"), ("weighted", "Scalar")]
    at_455 = riskiest["this file", "weighted", "Scalar 0.455"].mean()
    top, large = (table["this file"][keys].mean() for table in (riskiest, ten_largest))
    before, vector, scalar = top
    zeros = "ten riskiest: vector 0 for six or more"
    bound = "ten riskiest: vector below 0.15"
    order = "ten riskiest: vector < scalar < unweighted"
    large_records = {
        "never higher": "ten largest: vector never above unweighted",
        "halved": "ten largest: vector mean at most half of unweighted",
    }
    at_0 = (riskiest["this file", "weighted", "Vector"] == 0).sum()
    of_ten = {"six or more 0": zeros, "below 0.15": bound}
    top_means = ", ".join(f"{name} {mean:.3f}" for (_, name), mean in top.items())
    large_means = ", ".join(f"{name} {mean:.2f}" for (_, name), mean in large.items())
    return {
        "P1-Tab12": (
            f"means {top_means}; Scalar {at_455:.3f} with P1's weight of 0.455",
            vector < 0.05
            and vector < scalar < before
            and holds(held, zeros, bound, order, on=risky),
        ),
        "P1-Tab13": (
            f"means {large_means}; {counts(held, large_records, on=risky)}",
            holds(held, *large_records.values(), on=risky),
        ),
        "P1-Claim15": (
            f"{at_0} of ten at 0; {counts(held, of_ten, on=risky)}",
            holds(held, zeros, bound, on=risky),
        ),
        "P1-Claim16": (
            f"means {top_means}; {counts(held, {'in this order': order}, on=risky)}",
            holds(held, order, on=risky),
        ),
    }


def claims_at_equal_risk(at_mean, at_ten):
    """Advantage of the vector by file and measure, at either kind of the same risk.

    At the same mean risk that of all measures together counts, each in units of its
    standard deviation between files.
    """
    score = in_standard_errors(at_mean)
    together = in_standard_errors((at_mean / at_mean.std()).mean(axis=1))
    return {
        "P1-Claim01": (
            "advantage in standard errors: "
            + ", ".join(f"{measure} {t:+.1f}" for measure, t in score.items())
            + f"; all together {together:+.1f}",
            score.min() > -2 and together > 3 and in_standard_errors(at_ten).min() > 2,
        )
    }


def claims_on_random_weights(scores, fixed_score, redrawn, change, one, pattern):
    """Weights that are data.

    Parameters
    ----------
    scores : Series
        Mean weighted scores of one component under weights from risks.
    fixed_score : float
        The same under one fixed weight.
    redrawn : float
        Mean absolute difference of weights from two draws.
    change : ndarray, shape (n,)
        Of the weights, when a neighbour of record `one` moves to it.
    one : int
    pattern : ndarray, shape (n,)
    """
    elsewhere = pattern != pattern[one]
    return {
        "P1-Claim40": (
            f"mean weighted score {scores.max():+.2f} to {scores.min():+.2f}; "
            f"with a fixed weight {abs(fixed_score):.2f}",
            scores.abs().max() > 0.1
            and abs(fixed_score) < 1e-6
            and change[one] > 0
            and (change[elsewhere] == 0).all()
            and redrawn > 0.01,
        )
    }
