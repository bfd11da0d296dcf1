"""Quickstart: its figure, numbers for its text, checks of what it says."""

import matplotlib.pyplot as plt
import numpy as np

import pseudopost as pp


def plot_counts(y, released):
    """Histograms of the confidential counts and of one synthetic file."""
    _, ax = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
    bins = np.arange(0, max(y.max(), released.max()) + 10, 10)
    ax.hist(
        y,
        bins,
        histtype="stepfilled",
        color=pp.plots.PALETTE["Data"],
        alpha=0.35,
        label="Data",
    )
    ax.hist(
        released,
        bins,
        histtype="step",
        color=pp.plots.PALETTE["LW_final"],
        linewidth=2,
        label="Synthetic",
    )
    ax.set(xlabel="Employees", ylabel="Records")
    ax.legend()


def way(record, y, bounds, weights, weighted, final, final_bounds, synthetic):
    """Steps of one record through the chapter: title, call, and what it gives."""
    low, high = pp.ball_ends([y[record]], radius=0.2)
    near, released = (
        ((low <= values) & (values <= high)).sum() for values in (y, synthetic)
    )
    return (
        (f"Record {record} of the file", "y", f"{y[record]} employees"),
        ("Fit, and bound", "lipschitz_bounds(...)", f"{bounds[record]:.1f} nats"),
        ("Weight", "lipschitz_weights(...)", f"{weights[record]:.3f}"),
        ("Weighted fit, and bound", "fit(weights)", f"{weighted[record]:.1f} nats"),
        (
            "Weight raised again",
            "calibrate_reweighting(...)",
            f"{final.weights[record]:.3f}",
        ),
        ("Final fit, and bound", "final.fit", f"{final_bounds[record]:.1f} nats"),
        (
            "Values within 20% of it",
            "synthesize(final.fit)",
            f"{near} in the data, {released / len(synthetic):.1f} in a file",
        ),
    )


def text_on_files(y, synthetic, comparison):
    """Mean, spread and largest value of the data and of the synthetic files."""
    return {
        "largest-data": y.max(),
        "largest-synthetic": np.median(synthetic.max(axis=1)),
    } | {
        f"{label}-{name}": comparison.loc[(label, name), "estimate"]
        for label in ("mean", "standard deviation")
        for name in ("data", "synthetic")
    }


def epsilon_claims(bounds, weighted, final):
    """What weighting and re-weighting do to the largest bound."""
    return {
        "epsilon falls by more than a third": pp.epsilon(weighted)
        < 0.67 * pp.epsilon(bounds),
        "re-weighting keeps the bound within 3%": abs(final.max() / weighted.max() - 1)
        < 0.03,
    }


def weight_claims(weights, final):
    """What re-weighting does to the weights."""
    return {"re-weighting raises the mean weight": final.mean() > weights.mean()}


def file_claims(y, synthetic, comparison, written):
    """How the synthetic files compare with the data, and whether all are written."""
    high, low = comparison.loc[("mean", "synthetic")], comparison.loc[("mean", "data")]
    return {
        "intervals of the mean overlap": high["high"] > low["low"],
        "synthetic tail is shorter": np.median(synthetic.max(axis=1)) < y.max(),
        "20 files written": written == 20,
    }
