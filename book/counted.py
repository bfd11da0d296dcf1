"""Of the chapters on weights from risks: a file with each record counted by weight."""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from pseudopost.plots import PALETTE

LAST = 260  # larger counts are drawn there


def shares(y, weights=None, width=15):
    """Share of the records, or of their weight, by count, smoothed over `width`."""
    total = np.bincount(np.minimum(y, LAST), weights, minlength=LAST + 1)
    return np.convolve(total / total.sum(), np.ones(width) / width, mode="same")


def predictive(fit):
    """Probability of every count under a negative binomial fit, shape (LAST + 1,)."""
    posterior = fit["posterior"]
    mu, phi = (posterior[v].to_numpy().ravel()[::10, None] for v in ("mu", "phi"))
    return stats.nbinom.pmf(np.arange(LAST + 1), phi, phi / (phi + mu)).mean(axis=0)


def draw_counted(y, weights, unweighted, weighted, name):
    """Counts, with and without weights, and what the model makes of them."""
    _, ax = plt.subplots(figsize=(5.6, 3.7), layout="constrained")
    for curve, label, style in (
        (shares(y), "Data", {"color": PALETTE["Data"], "lw": 3, "alpha": 0.5}),
        (shares(y, weights), "Data, counted by weight", {"color": "black", "lw": 1}),
        (
            predictive(unweighted),
            "Unweighted fit",
            {"color": PALETTE["Unweighted"], "linestyle": "--"},
        ),
        (predictive(weighted), "Weighted fit", {"color": PALETTE[name], "lw": 2}),
    ):
        ax.plot(curve, label=label, **style)
    ax.set(xlabel="Count", ylabel="Share of records", ylim=(0, None))
    ax.legend()
