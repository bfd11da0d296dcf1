"""Betty and twelve others of her pattern: in closed form, and as in P2's figures."""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import pseudopost as pp

BETTY, RADIUS, SPREAD = 50, 0.2, 0.1
OTHERS = np.array([12, 14, 15, 17, 18, 19, 20, 21, 23, 24, 26, 29])
PLAIN, WEIGHTED = (pp.plots.PALETTE[name] for name in ("Unweighted", "LW"))


def betty_file(inside, outside, own):
    """True values, released values and patterns; Betty is record 0.

    Twelve others share her pattern: so many of them inside her ball and so many
    outside. Five records of another pattern are released at her true value.
    """
    others = [43, 58, 46, 51, 48, 56, 41, 53][:inside]
    others += [88, 77, 64, 36, 33, 29, 25, 22, 18, 12][:outside]
    true, released = ([first, *others, *[50] * 5] for first in (50, own))
    return np.array(true), np.array(released), ["Betty's"] * 13 + ["other"] * 5


def pattern():
    """What a picture with sliders has to know of the twelve others."""
    logs = np.log(OTHERS)
    others = " ".join(map(str, OTHERS))
    return {"others": others, "mean": logs.mean(), "variance": logs.var(ddof=1)}


def released_log_income(weight, income=BETTY, spread=SPREAD):
    """Distribution of the log of the income that is released for Betty.

    Her log income varies by `spread` around a centre of its own. The centres of the
    pattern are normal, with the mean and the rest of the variance of the twelve others.
    """
    logs = np.log(OTHERS)
    between = logs.var(ddof=1) - spread**2
    precision = 1 / between + weight / spread**2
    centre = (logs.mean() / between + weight * np.log(income) / spread**2) / precision
    return stats.norm(centre, np.sqrt(spread**2 + 1 / precision))


def chance_of_close(weight, income=BETTY, spread=SPREAD):
    """Chance that the income released for Betty lies within 20% of her own."""
    ball = np.log(income) + np.log([1 - RADIUS, 1 + RADIUS])
    return np.diff(released_log_income(weight, income, spread).cdf(ball))[0]


def identification_risk(weight):
    """Betty's expected identification risk in a release where the others have weight 1."""
    others = [
        np.diff(released_log_income(1, each).cdf(np.log(BETTY) + np.log([0.8, 1.2])))[0]
        for each in OTHERS
    ]
    outside = 1 - (1 + sum(others)) / (1 + len(OTHERS))
    return chance_of_close(weight) * outside


def draw_two_weights(low=0.1):
    """The incomes that are released for Betty, with weight 1 and with a low one."""
    _, ax = plt.subplots(figsize=(5.4, 2.6), layout="constrained")
    grid = np.linspace(8, 72, 600)
    ends = BETTY * (1 - RADIUS), BETTY * (1 + RADIUS)
    ax.axvspan(*ends, color="#e4e4e4")
    looks = ((1, PLAIN, "-", 47.5, "left"), (low, WEIGHTED, "--", 20.5, "right"))
    for weight, colour, style, place, side in looks:
        density = released_log_income(weight).pdf(np.log(grid)) / grid
        name = f"released,\nweight {weight:g}"
        ax.plot(grid, density, style, color=colour, linewidth=2.5, label=name)
        shift = 1 if side == "left" else -1
        ax.text(place + shift, np.interp(place, grid, density), name, ha=side, size=11)
    ax.plot(OTHERS, np.zeros(12), "o", color="#777777", ms=9)
    ax.plot(BETTY, 0, "D", color="black", ms=11, clip_on=False)
    ax.text(8.2, 0.006, "the\ntwelve\nothers", size=11, color="#555555")
    ax.text(ends[1] + 0.6, 0.007, "Betty's own\nincome, and\n20% around", size=11)
    ax.set(xlabel="Income (thousand dollars)", yticks=[], ylim=(-0.006, None))
    ax.set_xlim(7, 78)
    ax.spines[["left", "top", "right"]].set_visible(False)


def draw_powers(weights=(1, 0.5, 0.1, 0)):
    """What Betty's answer says about her centre, raised to a power."""
    _, ax = plt.subplots(figsize=(5, 2.8), layout="constrained")
    grid = np.linspace(20, 110, 600)
    said = np.exp(-0.5 * ((np.log(grid) - np.log(BETTY)) / SPREAD) ** 2)
    looks = (PLAIN, "-"), ("0.45", "-."), (WEIGHTED, "--"), ("0.45", ":")
    for weight, (colour, style) in zip(weights, looks, strict=True):
        label = f"weight {weight:g}"
        ax.plot(grid, said**weight, style, color=colour, linewidth=2.5, label=label)
    ax.set(xlabel="Her centre (thousand dollars)", ylabel="Likelihood", yticks=[0, 1])
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=10)


def draw_curves():
    """From risk to weight: P2's straight line, P1's curve, and Betty on both."""
    _, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
    risk = np.linspace(0, 1, 501)
    lines = {
        "straight line": (pp.marginal_weights, PLAIN, "-"),
        "S-shaped (P1)": (pp.sigmoid_weights, WEIGHTED, "--"),
    }
    own = np.array([identification_risk(1)])
    for name, (weights, colour, style) in lines.items():
        ax.plot(risk, weights(risk), style, color=colour, linewidth=2.5, label=name)
        ax.plot(own, weights(own), "D", color="black", ms=9)
    on_line = own[0], pp.marginal_weights(own)[0]
    ax.annotate("Betty", on_line, (8, 6), textcoords="offset points", size=11)
    ax.set(xlabel="Identification risk", ylabel="Weight", ylim=(-0.03, 1.05))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=10)
