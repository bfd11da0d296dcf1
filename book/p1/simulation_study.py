"""Of P1's simulation on one file: the study, measures, figures, checks of the claims.

Results of one file are kept by name of the synthesizer, "Unweighted", or by name and
rule of allocation, such as ("Vector", "weighted"); a study has them as attributes.
"""

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats
from simulation_runs import (
    COLOURS,
    GRIDS,
    PUBLISHED,
    WINDOWS,
    by_rule,
    highest,
    smoothed,
)

import pseudopost as pp
from companion import contrasts

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


# --- Measures of utility --------------------------------------------------------------


def mode(values, window):
    """Where the density is highest in a window."""
    return GRIDS[window][np.argmax(smoothed(values, window))]


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
    _, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
    for window, grid in GRIDS.items():
        curve = smoothed(y, window)
        ax.plot(grid, curve, color=COLOURS["Data"])
        ax.fill_between(grid, curve, color=COLOURS["Data"], alpha=0.35, linewidth=0)
    ax.plot(y, np.full(len(y), -0.25), "|", color="black", markersize=5, alpha=0.4)
    ax.set(xlabel="Value", ylabel="Density", xlim=(0, 5))


def draw_risky(y, risk):
    """Risk by value, with the ten riskiest and the ten largest records marked."""
    _, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
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
    ax.legend(loc="upper left")


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
