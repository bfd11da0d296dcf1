"""Weights from counts: figures, P3's row, numbers for the text, checks of claims."""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import pseudopost as pp

# P3, Table 1, CW: low and high ends of the intervals of the four statistics.
COLUMNS = ("q15", "q90", "mean", "median")
PUBLISHED = np.array([(77.2, 128.5, 100.6, 98.7), (80.8, 134.0, 103.3, 102.4)])


def four_statistics(x, axis=-1):
    """The statistics of P3's Table 1: two quantiles, mean and median."""
    q15, q90, median = np.quantile(x, [0.15, 0.9, 0.5], axis=axis)
    return np.stack([q15, q90, np.mean(x, axis=axis), median])


def rank_correlation(bounds, weights):
    """Rank correlation of two risks: bounds, and the shares outside the balls."""
    return stats.spearmanr(bounds, 1 - weights).statistic


def share_outside(y, radius=0.2):
    """Share of the file outside each ball, pair by pair."""
    away, reach = np.abs(y - y[:, None]), radius * y[:, None]
    return np.mean(away > reach + 1e-9, axis=1)


# Figures.


def plot_weights(y, weights):
    """Weights of each kind by the value of the count."""
    _, ax = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
    for (name, w), marker in zip(weights.items(), "os", strict=True):
        ax.scatter(
            y,
            w,
            s=14,
            marker=marker,
            color=pp.plots.PALETTE[name],
            label=name,
            linewidth=0,
        )
    ax.set(xlabel="Count", ylabel="Weight", ylim=(-0.03, 1.03))
    ax.legend()


def plot_radii(radii):
    """Mean weight and largest bound by radius, for both shifts."""
    _, axes = plt.subplots(1, 2, figsize=(8.5, 3.2), layout="constrained")
    for (shift, part), style in zip(radii.groupby("g"), ("o-", "s--"), strict=True):
        for ax, column in zip(axes, ("mean weight", "bound"), strict=True):
            ax.plot(
                100 * part.index.get_level_values("r"),
                part[column],
                style,
                color=pp.plots.PALETTE["CW"],
                label=f"g = {shift:g}",
            )
            ax.set(xlabel="Radius (% of the value)")
    axes[0].set_ylabel("Mean weight")
    axes[1].set_ylabel("Largest Lipschitz bound (nats)")
    for ax in axes:
        ax.set_ylim(bottom=0)
    axes[0].legend()


# Numbers for the text.


def text_on_weights(y, lw, cw):
    """Weights of both kinds at a small and at a large count."""
    return {"cw-max": cw.max(), "sd-data": y.std()} | {
        f"{name}-{count}": weights[np.argmin(np.abs(y - count))]
        for name, weights in (("cw", cw), ("lw", lw))
        for count in (40, 160)
    }


def text_on_fits(summary):
    """The fit under CW beside the one without weights."""
    cw = summary.loc["CW"]
    return {
        "cw-bound": cw["bound"],
        "cw-epsilon": 2 * cw["bound"],
        "cw-mean": cw["mean weight"],
        "phi-Unweighted": summary.loc["Unweighted", "phi"],
        "phi-CW": cw["phi"],
        "sd-CW": cw["sd"],
    }


def text_on_price(y, price, files):
    """Risk and distance with and without CW, and synthetic counts near the median."""
    found = {}
    (low,), (high,) = pp.ball_ends([np.median(y)], 0.2)
    for name in ("Unweighted", "CW"):
        row, z = price.loc[name], files[name]
        found |= {
            f"risk-{name}": row["mean risk, 200 files"],
            f"distance-{name}": row["distance from the data"],
            f"close-{name}": 100 * ((low <= z) & (z <= high)).mean(),
        }
    return found


def text_on_radii(radii):
    """The setting that comes nearest to P3's row, and the distance without a shift."""
    g, r = radii["distance"].idxmin()
    return {
        "best-g": g,
        "best-percent": 100 * r,
        "best-distance": radii["distance"].min(),
        "best-unshifted": radii.loc[0, "distance"].min(),
    }


# Checks of claims.


def is_share_outside(risk, outside):
    """Whether a risk is the share outside the balls, and never quite 1."""
    return np.allclose(risk, outside) and risk.max() < 1


def lowers_bounds(bounds, unweighted):
    """Whether bounds are finite and below the one without weights."""
    return np.isfinite(bounds).all() and (bounds < unweighted).all()


def claims(y, risk, summary, radii, correlation):
    """By id of the ledger: what was found, in words, and whether the statement holds."""
    bound, unweighted = summary.loc[["CW", "Unweighted"], "bound"]
    return {
        "P3-EqU09": (
            f"{risk.min():.2f} to {risk.max():.3f}",
            is_share_outside(risk, share_outside(y)),
        ),
        "P3-Alg3": (f"{bound:.1f}", bound < unweighted),
        "P3-Claim31": (f"{correlation:.2f}", correlation > 0.5),
        "P3-Claim37": (
            f"epsilon {2 * bound:.1f}; finite for all {len(radii)} settings",
            lowers_bounds(radii["bound"], unweighted),
        ),
    }
