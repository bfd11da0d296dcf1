"""Adding a synthesizer: the chapter's file, its figures, its numbers, its checks."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import StrMethodFormatter

import pseudopost as pp

COLOURS = {**pp.plots.PALETTE, "Capped": pp.plots.PALETTE["CW_final"]}
STATISTICS = ("zeros (%)", "median of those paid", "90% quantile", "99% quantile")
SYMBOLS = {"share": r"$\pi$", "mu": r"$\mu$", "sigma": r"$\sigma$"}


def overtime(n, random_seed):
    """Draw what `n` invented employees were paid for overtime: often nothing."""
    rng = np.random.default_rng(random_seed)
    pay = 400 * np.exp(0.6 * rng.standard_t(4, size=n))  # longer tails than lognormal
    pay = np.where(rng.uniform(size=n) < 0.6, pay.round(2).clip(0.01), 0)
    return pd.Series(pay, [f"P{i:03d}" for i in range(n)], name="overtime")


def described(values):
    """Share of zeros and three quantiles, over one file or several."""
    values = np.asarray(values)
    paid = values[values > 0]
    found = 100 * np.mean(values == 0), *np.quantile(paid, 0.5, keepdims=True)
    return dict(
        zip(STATISTICS, (*found, *np.quantile(values, (0.9, 0.99))), strict=True)
    )


# Figures


def draw_data(y):
    """The zeros as a bar, the amounts as a histogram on a log scale."""
    _, ax = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
    _draw_amounts(ax, y, "Data", histtype="stepfilled", alpha=0.35)
    ax.set_ylabel("Records")


def draw_files(y, files):
    """Data and one synthetic file; share of zeros and largest value of all files."""
    _, axes = plt.subplots(
        1, 3, figsize=(9, 3), width_ratios=(2, 1, 1), layout="constrained"
    )
    _draw_amounts(axes[0], y, "Data", histtype="stepfilled", alpha=0.35)
    _draw_amounts(axes[0], files[0], "Unweighted", shift=0.1, histtype="step")
    axes[0].set_ylabel("Records")
    axes[0].legend(loc="upper center")
    for ax, values, own, label in (
        (axes[1], 100 * (files == 0).mean(axis=1), 100 * np.mean(y == 0), "Zeros (%)"),
        (axes[2], files.max(axis=1), y.max(), "Largest amount"),
    ):
        ax.hist(values, 15, color=COLOURS["Unweighted"], alpha=0.6)
        ax.axvline(own, color=COLOURS["Data"], linewidth=2)
        ax.set(xlabel=label, ylabel="Files")
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        ax.locator_params(axis="x", nbins=3)


def _draw_amounts(ax, y, name, shift=0.0, **style):
    """Bar of the zeros, beside a histogram of the amounts on a log scale."""
    y = np.asarray(y)
    label = "data" if name == "Data" else "one synthetic file"
    ax.bar(0.25 + shift, np.sum(y == 0), 0.1, color=COLOURS[name], alpha=0.6)
    bins = np.geomspace(1, 100_000, 41)
    ax.hist(y[y > 0], bins, color=COLOURS[name], label=label, linewidth=2, **style)
    ax.set(xscale="log", xlabel="Overtime pay, log scale, and the zeros")
    ax.set_xticks([0.3, 1, 100, 10_000], ["0", "1", "100", "10,000"])
    ax.minorticks_off()


def draw_recovery(chosen, low, high, names):
    """One interval for each simulated file, at the parameter that it was drawn with."""
    _, axes = plt.subplots(1, len(names), figsize=(9, 3.2), layout="constrained")
    for ax, name, x, *ends in zip(axes, names, chosen.T, low.T, high.T, strict=True):
        missed = (ends[0] > x) | (ends[1] < x)
        colours = np.where(missed, COLOURS["LW_final"], COLOURS["Unweighted"])
        ax.vlines(x, *ends, colors=colours)
        ax.axline((x.min(), x.min()), (x.max(), x.max()), color=COLOURS["Data"])
        ax.set(xlabel=f"{SYMBOLS[name]}, as chosen")
        if name == "sigma":
            ax.set(xscale="log", yscale="log")
    axes[0].set_ylabel("As found")


def draw_terms(y, bounds):
    """Bound of every record under each mechanism, against its amount."""
    y = np.where(np.asarray(y) > 0, y, 0.3)
    _, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    for name, values in bounds.items():
        ax.scatter(y, values, s=9, color=COLOURS[name], label=name)
    ax.set(
        xscale="log",
        xlabel="Overtime pay, log scale, and the zeros",
        ylabel="Bound (nats)",
    )
    ax.set_xticks([0.3, 1, 100, 10_000], ["0", "1", "100", "10,000"])
    ax.minorticks_off()
    ax.legend(loc="upper center")


# Numbers of the text, and what it says of them


def text(bounds, cap, table):
    """Numbers by name."""
    at_cap = np.isclose(bounds["Capped"], cap)
    found = {"cap": cap, "at-cap": int(at_cap.sum())}
    found |= {f"epsilon-{name}": pp.epsilon(values) for name, values in bounds.items()}
    short = dict(zip(STATISTICS, ("zeros", "paid", "q90", "q99"), strict=True))
    return found | {
        f"{label}-{name}": table.loc[name, statistic]
        for name in table.index
        for statistic, label in short.items()
    }


def claims(coverage, difference, prior_distance, removed, bounds, cap, stored):
    """Judge what the chapter says of its checks and mechanisms.

    Parameters
    ----------
    coverage : Coverage
        Of the intervals over simulated files, by parameter.
    difference : float
        Largest difference from SciPy's log-likelihood.
    prior_distance : float
        Largest difference of the distribution functions of draws under weights of 0
        and of the prior.
    removed : float
        Largest difference of an estimate under a weight of 0, and without the record.
    bounds : dict of ndarray
        By mechanism.
    cap : float
    stored : list of int
        Number of stored fits after each request.
    """
    epsilon = {name: pp.epsilon(values) for name, values in bounds.items()}
    return {
        "parameters are recovered": bool(
            (np.abs(coverage.estimate - 0.95) < 4 * coverage.standard_error).all()
        ),
        "log-likelihood is that of SciPy": difference < 1e-9,
        "weights of 0 leave the prior": prior_distance < 0.1,
        "a weight of 0 removes a record": removed < 1e-4,
        "weights lower epsilon": epsilon["LW"] < epsilon["Unweighted"],
        "a cap bounds epsilon": epsilon["Capped"] <= 2 * cap,
        "six requests, four fits": stored == [1, 1, 1, 2, 3, 4],
    }
