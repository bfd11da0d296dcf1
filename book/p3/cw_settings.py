"""Radius, scale and shift of CW, which P3 does not give, and what hangs on them."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import pseudopost as pp

RADII = (0.05, 0.1, 0.2, 0.3, 0.5)
MAPS = ((1, 0), (1, 0.1), (1.5, 0))  # pairs of scale and shift


def under_each(checks, y):
    """Check statements with CW made at every radius, scale and shift.

    Parameters
    ----------
    checks : callable
        Returns, given CW, by statement what was found and whether it holds.
    y : ndarray, shape (n,)

    Returns
    -------
    DataFrame of bool
        Indexed by statement; columns are c, g and r.
    """
    holds = {}
    for c, g in MAPS:
        for r in RADII:
            found = checks(pp.count_weights(y, r, c, g))
            holds[c, g, r] = {name: bool(held) for name, (_, held) in found.items()}
    return pd.DataFrame(holds).rename_axis(columns=["c", "g", "r"])


def hinging(settings):
    """Statements that hold under some settings and not under others."""
    return settings[settings.any(axis=1) & ~settings.all(axis=1)]


def with_settings(checks, settings):
    """Say of statements that hinge, or fail, under how many settings they hold."""
    hinge = hinging(settings).index
    return {
        name: (
            f"{ours}; holds in {settings.loc[name].sum()} of {settings.shape[1]} "
            "settings of CW"
            if name in hinge or (name in settings.index and not holds)
            else ours,
            holds,
        )
        for name, (ours, holds) in checks.items()
    }


def draw(settings):
    """Mark the settings under which a statement holds, of those that hinge."""
    shown = hinging(settings)
    _, ax = plt.subplots(figsize=(6.5, 1.3 + 0.3 * len(shown)), layout="constrained")
    for held, marker, label in ((True, "s", "holds"), (False, "x", "does not")):
        row, column = np.nonzero(shown.to_numpy() == held)
        colour = pp.plots.PALETTE["CW"] if held else "0.5"
        ax.plot(column, row, marker, color=colour, markersize=8, label=label)
    for k, (c, g) in enumerate(MAPS):
        middle = len(RADII) * (k + 0.5) - 0.5
        ax.text(middle, -1, f"c = {c:g}, g = {g:g}", ha="center")
        ax.axvline(len(RADII) * k - 0.5, color="0.8")
    ax.set_xticks(range(shown.shape[1]), [f"{r:g}" for *_, r in shown])
    ax.set_yticks(range(len(shown)), shown.index)
    ax.set(xlabel="Radius r", xlim=(-0.5, shown.shape[1] - 0.5))
    ax.set_ylim(len(shown) - 0.5, -1.5)
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)


def counted(settings):
    """Count settings, statements, and those that hold under all, none or some."""
    return {
        "settings": settings.shape[1],
        "statements": len(settings),
        "statements-all": int(settings.all(axis=1).sum()),
        "statements-none": int((~settings.any(axis=1)).sum()),
        "statements-hinge": len(hinging(settings)),
    }
