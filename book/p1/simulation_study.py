"""Of P1's simulation on one file: the study, measures, figures, checks of the claims.

Results of one file are kept by name of the synthesizer, "Unweighted", or by name and
rule of allocation, such as ("Vector", "weighted"); a study has them as attributes.
"""

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

import pseudopost as pp
from companion import Study, by_profile, contrasts, density

COLOURS = pp.plots.PALETTE
KNOWN = ["x1", "x2", "x3", "x4", "x5"]
COMPONENTS, DRAWS = by_profile((4, 80), (20, 400), (20, 2000))
RULES = ("density", "weighted")
NAMES = ("Unweighted", "Vector", "Scalar")
MODES = np.array([0.1, 1.0])
WINDOWS = {"low": "0 to 0.5", "high": "0.5 to 5"}
GRIDS = {"low": np.linspace(0.005, 0.5, 100), "high": np.linspace(0.5, 5, 226)}
WIDTHS = {"low": 0.01, "high": 0.1}  # standard deviation of the kernel
PEAKS = {"low": (0.05, 0.2), "high": (0.7, 1.3)}
LEVELS = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]
RATIO = "largest 1%: median ratio"

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


# --- Fits, files and tables -----------------------------------------------------------


def release(s, name):
    """Draw 20 files from a fit by either rule, and measure their risks."""
    for rule in RULES:
        s.z[name, rule] = s.synthesize(name, n_datasets=20, allocation=rule)
        s.risk[name, rule] = s.risk_of(s.z[name, rule])


def study(seed, n_components, **options):
    """The unweighted and the vector-weighted synthesizer on the file of a seed."""
    data = pp.datasets.lognormal_mixture(random_seed=seed, **options)
    sampling = {"draws": DRAWS, "tune": DRAWS, "random_seed": seed}
    s = Study(data, "value", KNOWN, n_components, radius=0.2, **sampling)
    s.add("Unweighted", n_datasets=20)
    s.weights["Vector"] = pp.sigmoid_weights(s.risk["Unweighted"])
    s.fits["Vector"] = s.fit(s.weights["Vector"])
    release(s, "Vector")
    return s


def add_scalars(s):
    """Add the scalar weight with the mean risk of the vector, and P1's; the search."""
    target = s.risk["Vector", "weighted"].mean()
    search = pp.match_scalar_weight(
        s.model,
        s.fits["Unweighted"],
        s.risk_of,
        target,
        tolerance=0.02 * target,
        allocation="weighted",
    )
    s.weights["Scalar"] = np.full(len(s.y), search.constant)
    s.fits["Scalar"] = search.fit
    s.fits["Published scalar"] = s.fit(np.full(len(s.y), 0.455))
    for name in ("Scalar", "Published scalar"):
        release(s, name)
    return search


def released_again(s):
    """Risks in 20 more data sets from the unweighted fit."""
    seed = s.sampling["random_seed"] + 100
    return s.risk_of(s.synthesize("Unweighted", 20, random_seed=seed))


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


def utility(s, z):
    """What the claims are about, for one synthesizer, averaged over its data sets."""
    log_y, log_z = np.log(s.y), np.log(z)
    quantiles = np.quantile(log_z, LEVELS, axis=1).T - np.quantile(log_y, LEVELS)
    return {
        **density_measures(s.y, z),
        "Kolmogorov-Smirnov": np.mean([stats.ks_2samp(v, s.y).statistic for v in z]),
        "Wasserstein, log": np.mean(
            [stats.wasserstein_distance(v, log_y) for v in log_z]
        ),
        "quantiles, log": np.abs(quantiles).mean(),
        "coefficients": coefficient_error(s.model.X, log_y, log_z),
        **record_measures(s.y, z, s.risk["Unweighted"]),
    }


# --- Numbers for the text -------------------------------------------------------------


def numbers_of_file(y, shapes):
    """Of the file, and of files that are more skewed, a row each of `shapes`."""
    return {
        "skewness": stats.skew(y),
        "shape-files": len(shapes),
        "as-in-p1": is_as_in_p1(shapes).sum(),
    }


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
        "mean-weight": fits.loc["Vector", "mean weight"],
        "scalar": search.constant,
        "near-low": near.min(),
        "near-high": near.max(),
        "above-published": 100 * excess["difference"],
        "above-error": 200 * excess["standard error"],
    }


def numbers_of_places(by_place):
    """Of the table by distance from the nearer mode."""
    return {
        f"place-risk-{place}": by_place["mean risk"].iloc[row]
        for row, place in enumerate(("mode", "slope", "foot", "far"))
        if place != "foot"
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
        "top-Vector-weighted-zeros": (top["weighted", "Vector"] == 0).sum(),
        "top-Vector-weighted-mean": top["weighted", "Vector"].mean(),
        "top-Scalar-weighted-mean": top["weighted", "Scalar"].mean(),
        "top-Published-weighted-mean": top["weighted", "Scalar 0.455"].mean(),
        "top-Scalar-in-p1": PUBLISHED["riskiest"]["Scalar"].mean(),
        "big-Vector-weighted-mean": vector.mean(),
        "big-Vector-in-p1": PUBLISHED["largest"]["Vector"].mean(),
        "big-low-weight": weights[low],
        "big-low-after": vector[low],
        "published-weight": pp.sigmoid_weights([0.3818])[0],
    }


def numbers_of_utility(utility):
    """Of the table of utility on the first file."""
    result = {}
    for name, measures in by_rule(utility, "weighted").items():
        result[f"sd-safe-{name}"] = measures["the same, safer half"]
        if name != "Scalar":
            for window in WINDOWS:
                result[f"peak-{window}-{name}"] = measures[f"peak ratio, {window}"]
    return result


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


# --- Checks of the claims: what was found, in words, and whether it holds -------------


def claims(*groups):
    """Checks of several functions below, in the order of the ledger."""
    found = {claim: check for group in groups for claim, check in group.items()}
    kinds = ("Fig", "Tab", "Set", "Claim")
    order = sorted(found, key=lambda claim: (kinds.index(claim[3:-2]), claim))
    return {claim: found[claim] for claim in order}


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
