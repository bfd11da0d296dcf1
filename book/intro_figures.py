"""The first page: its figure, numbers for its text, checks of what it says."""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import pseudopost as pp


def predictive(fit, grid):
    """Density of a count under a negative binomial fit, mean over every fifth draw."""
    mu, phi = (fit["posterior"][v].to_numpy().ravel()[::5, None] for v in ("mu", "phi"))
    return stats.nbinom.pmf(grid, phi, phi / (phi + mu)).mean(axis=0)


def plot_idea(y, bounds, weights, unweighted, weighted):
    """Risk, weight, and the models fitted without and with the weights."""
    _, axes = plt.subplots(1, 3, figsize=(11, 3.3), layout="constrained")
    blue, orange, grey = (pp.plots.PALETTE[k] for k in ("Unweighted", "LW", "Data"))
    axes[0].scatter(y, bounds, s=10, color=blue)
    axes[0].set(
        title="1. Measure the risk",
        xlabel="Count",
        ylabel="Risk (nats)",
        ylim=(0, None),
    )
    axes[1].scatter(y, weights, s=10, color=orange)
    axes[1].set(
        title="2. Weight each record",
        xlabel="Count",
        ylabel="Weight",
        ylim=(-0.03, 1.05),
    )
    bins, grid = np.arange(0, 260, 8), np.arange(0, 260)
    axes[2].hist(y, bins=bins, density=True, color=grey, alpha=0.3, label="Data")
    for name, fit, colour in (
        ("Unweighted", unweighted, blue),
        ("Weighted", weighted, orange),
    ):
        axes[2].plot(grid, predictive(fit, grid), color=colour, linewidth=2, label=name)
    axes[2].set(
        title="3. Fit and synthesize", xlabel="Count", ylabel="Density", ylim=(0, None)
    )
    axes[2].legend()


def text_on_idea(bounds, weighted_bounds, weights):
    """Epsilon before and after, the mean weight, and one weight that does the same."""
    return {
        "epsilon-before": pp.epsilon(bounds),
        "epsilon-after": pp.epsilon(weighted_bounds),
        "mean-weight": weights.mean(),
        "scalar-weight": weighted_bounds.max() / bounds.max(),
    }


def claims(bounds, weighted_bounds, weights):
    """What the page says of its example."""
    return {
        "epsilon falls by more than half": pp.epsilon(weighted_bounds)
        < pp.epsilon(bounds) / 2,
        "mean weight above 0.9": weights.mean() > 0.9,
    }
