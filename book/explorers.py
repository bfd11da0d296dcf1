"""Pictures with sliders, which `_static/explore.js` computes in the page."""

import json
from base64 import b64encode
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from scipy import stats

import betty
import pseudopost as pp

FIRST, SECOND = (pp.plots.PALETTE[name] for name in ("Unweighted", "LW"))
SAID = "In the online book this picture has sliders; here it stands still."


def explorer(name, **given):
    """Show a picture with sliders in the online book, and elsewhere one that stands.

    Parameters
    ----------
    name : str
        One of the explorers of ``_static/explore.js``, and of :data:`DRAWN`.
    **given
        What it has to know, as its data attributes.
    """
    _, ax = plt.subplots(figsize=(6, 2.7), layout="constrained")
    described = DRAWN[name](ax, **given)
    ax.spines[["top", "right"]].set_visible(False)
    picture = BytesIO()
    ax.figure.savefig(picture, format="png")
    plt.close(ax.figure)
    encoded = b64encode(picture.getvalue()).decode()
    data = "".join(f" data-{key}='{value}'" for key, value in given.items())
    image = f'<img alt="{described}" src="data:image/png;base64,{encoded}">'
    html = f'<div data-explorer="{name}"{data}>{image}<p>{SAID}</p></div>'
    bundle = {"text/html": html, "image/png": encoded, "text/plain": SAID}
    display(bundle, raw=True)


def draw_weight(ax, n, total, shape, rate):
    """Pseudo posterior of a Poisson mean, with a record of 60 and without it."""
    mean = np.linspace(8, 12.5, 400)
    for count, look, name in ((6, "-", "with the record"), (0, "--", "without it")):
        law = stats.gamma(shape + total + count, scale=1 / (rate + n + count / 60))
        colour = FIRST if count else SECOND
        ax.plot(mean, law.pdf(mean), look, color=colour, lw=2.5, label=name)
    ax.set(xlabel="Mean of the counts", yticks=[])
    ax.legend()
    return "Two bell curves that nearly agree: a record of 60 with weight 0.1, or none."


def draw_record(ax, others, mean, variance):
    """Income that is released for Betty with weight 1, and with weight 0."""
    income = np.linspace(1, 100, 500)
    for weight, look, colour in ((1, "-", FIRST), (0, "--", SECOND)):
        density = betty.released_log_income(weight).pdf(np.log(income)) / income
        name = f"released for Betty, weight {weight}"
        ax.plot(income, density, look, color=colour, lw=2.5, label=name)
    dots = [float(each) for each in others.split()]
    ax.plot(dots, np.zeros(len(dots)), "o", mfc="none", color="#777777")
    ax.plot(betty.BETTY, 0, "o", color="black", ms=9)
    ax.axvspan(0.8 * betty.BETTY, 1.2 * betty.BETTY, color=FIRST, alpha=0.15)
    ax.set(xlabel="Income (thousand dollars)", yticks=[])
    ax.legend()
    return "Two curves of released incomes: near Betty's own, and among the others."


def draw_ball(ax, others):
    """Betty's ball, and what is released for her and for the others."""
    dots = [float(each) for each in others.split()]
    ax.axvspan(40, 60, color=FIRST, alpha=0.15)
    heights = 0.2 + 0.1 * (np.arange(len(dots)) % 5)
    ax.plot(dots, heights, "o", mfc="none", color="#777777", label="others, released")
    ax.plot(54, 0.85, "s", color=FIRST, ms=9, label="Betty, released")
    ax.plot(50, 0.05, "o", color=SECOND, ms=9, label="Betty, true")
    ax.set(xlabel="Income (thousand dollars)", yticks=[], xlim=(0, 100), ylim=(0, 1))
    ax.legend(loc="upper right")
    return "Betty's ball from 40 to 60: her released income and two others are inside."


def draw_odds(ax):
    """What a promise allows somebody to conclude who was undecided."""
    epsilon = np.linspace(0, 8, 200)
    for sign, look, colour, name in (
        (1, "-", FIRST, "at most"),
        (-1, "--", SECOND, "at least"),
    ):
        after = 100 / (1 + np.exp(-sign * epsilon))
        ax.plot(epsilon, after, look, color=colour, lw=2.5, label=name)
    ax.set(xlabel="Epsilon of a draw (nats)", ylabel="Probability after (%)")
    ax.legend()
    return "From one half the probability may rise to nearly 1, or fall to nearly 0."


def draw_settings(ax, table):
    """Weights and weighted bounds by count, at the first setting."""
    found = json.loads(table)
    radius, scale, shift, _ = found["start"]
    c, g = found["lists"][1][scale], found["lists"][2][shift]
    weights = np.clip(c * np.array(found["first"][radius]) + g, 0, 1)
    counts = np.array(found["counts"])
    shape = [len(values) for values in found["lists"][:3]] + [len(counts)]
    bounds = np.reshape(found["bounds"], shape)[radius, scale, shift]
    ax.plot(counts, weights, color=FIRST, lw=2.5, label="weight")
    ax.plot(counts, weights * bounds / 15, "--", color=SECOND, lw=2.5)
    ax.plot([], [], "--", color=SECOND, lw=2.5, label="weighted bound, of 15 nats")
    ax.set(xlabel="Count", xlim=(0, 250), ylim=(0, 1.05))
    ax.legend()
    return "LW weights by count, and weighted bounds, largest on both sides."


DRAWN = {
    "ball": draw_ball,
    "odds": draw_odds,
    "record": draw_record,
    "settings": draw_settings,
    "weight": draw_weight,
}
