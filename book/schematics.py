"""Pictures of the whole path that need no numbers."""

from itertools import pairwise

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

import pseudopost as pp

WIDTH, HEIGHT = 2.7, 1.15


def box(ax, x, y, title, text, colour):
    """Draw a box with its centre at (x, y): a title and what it means."""
    corner = x - WIDTH / 2, y - HEIGHT / 2
    style = "round,pad=0,rounding_size=0.12"
    ax.add_patch(
        FancyBboxPatch(corner, WIDTH, HEIGHT, style, fc="white", ec=colour, lw=2)
    )
    ax.text(x, y + 0.24, title, ha="center", va="center", weight="bold", size=11)
    ax.text(x, y - 0.2, text, ha="center", va="center", size=9)


def arrow(ax, start, end, **style):
    """Draw an arrow between two points."""
    look = {"arrowstyle": "-|>", "lw": 1.5, "color": "#444444"} | style
    ax.annotate("", end, start, arrowprops=look)


def show_path():
    """Draw the path from the confidential file to the release, and the wall between."""
    _, ax = plt.subplots(figsize=(9, 5.2), layout="constrained")
    blue, orange, green = (
        pp.plots.PALETTE[name] for name in ("Unweighted", "LW", "CW")
    )
    wall = FancyBboxPatch(
        (-1.7, -0.95),
        10.2,
        4.4,
        "round,pad=0,rounding_size=0.2",
        fc="#f2f2f2",
        ec="#777",
    )
    wall.set(linestyle="--", lw=1.5)
    ax.add_patch(wall)
    ax.text(-1.5, 3.12, "Inside the agency", size=11, style="italic")
    columns, (top, bottom) = (0, 3.4, 6.8), (2.2, 0)
    first = ("Confidential file", "n records", "#444444")
    fit = ("Fit without weights", "what the model learns", blue)
    risk = ("Risk of each record", "near others, or apart?", orange)
    weight = ("Weight of each record", "from 1 down to 0", orange)
    refit = ("Weighted fit", "each record counts\nby its weight", green)
    synthetic = ("Synthetic files", "drawn from the fit", green)
    for x, each in zip(columns, (first, fit, risk), strict=True):
        box(ax, x, top, *each)
    for x, each in zip(columns, (synthetic, refit, weight), strict=True):
        box(ax, x, bottom, *each)
    gap = WIDTH / 2 + 0.04
    for left, right in pairwise(columns):
        arrow(ax, (left + gap, top), (right - gap, top))
        arrow(ax, (right - gap, bottom), (left + gap, bottom))
    half = HEIGHT / 2 + 0.04
    arrow(ax, (columns[2], top - half), (columns[2], bottom + half))
    arrow(
        ax,
        (columns[0] + 0.9, top - half),
        (columns[1] - 0.9, bottom + half),
        linestyle="--",
    )
    ax.text(2.15, 1.22, "the same\nrecords again", size=9, ha="left", va="center")
    box(ax, columns[0], -2.1, "Release", "all that users see", "#444444")
    arrow(ax, (columns[0], bottom - half), (columns[0], -2.1 + half))
    ax.text(
        1.6, -2.1, "Weights, risks, fits and seeds\nstay inside.", size=10, va="center"
    )
    ax.set(xlim=(-1.9, 8.7), ylim=(-2.8, 3.6), aspect="equal")
    ax.axis("off")
