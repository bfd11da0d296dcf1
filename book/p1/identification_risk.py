"""Identification risk: files, figures, numbers for the text, checks of claims."""

import time
from fractions import Fraction
from itertools import cycle, islice

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import pseudopost as pp
from betty import betty_file

COLOURS = pp.plots.PALETTE
OWN, OUTSIDE = "share with T = 1", "share outside"
RISK, GUESS = "mean risk", "chance of a right guess"
# Betty's risk in the figures of P2 and of its supplement.
PUBLISHED = pd.DataFrame(
    {
        "P2": ["Figure 2", "Figure 4", "Figure 3", "none"],
        "supplement": ["Figure 2", "Figure 5", "Figure 3", "Figure 4"],
        "published": [Fraction(10, 13), Fraction(0), Fraction(5, 13), Fraction(0)],
    }
)


# What the chapter computes with.


def thirteenths(values):
    """Write risks in a pattern of thirteen as fractions."""
    return [Fraction(value).limit_denominator(13) for value in values]


def households(n, rng):
    """Simulate households: five real columns, and an income with twelve losses."""
    people = pd.DataFrame(
        {
            "gender": rng.choice(2, n),
            "age": rng.choice(5, n, p=[0.1, 0.25, 0.3, 0.2, 0.15]),
            "region": rng.choice(4, n, p=[0.2, 0.25, 0.35, 0.2]),
            "education": rng.choice(5, n, p=[0.1, 0.25, 0.3, 0.25, 0.1]),
            "marital": rng.choice(4, n, p=[0.5, 0.25, 0.15, 0.1]),
        }
    )
    centre = (
        10.2
        + 0.35 * people["education"].to_numpy()
        + np.array([-0.5, 0, 0.3, 0.2, -0.3])[people["age"]]
        + np.array([0.3, 0, -0.2, -0.3])[people["marital"]]
    )
    spread = np.where(rng.random(n) < 0.1, 1.2, 0.6)
    income = np.round(np.exp(rng.normal(centre, spread)))
    income[rng.choice(n, 12, replace=False)] = -np.round(rng.exponential(3000, 12))
    return people, income


def simulated_searches(close, own, rng, repetitions=50):
    """Share of searches that end at the right row, and its standard error."""
    picks = [
        (hit & (rng.random(len(hit)) < 1 / np.maximum(count, 1))).mean()
        for _ in range(repetitions)
        for count, hit in zip(close, own, strict=True)
    ]
    return np.mean(picks), np.std(picks) / np.sqrt(len(picks))


def seconds(function, n, rng, **arguments):
    """Shortest of three runs on n skewed values (one run if it is slow)."""
    y, released = rng.lognormal(10, 1, (2, n))
    taken = []
    while len(taken) < 3 and sum(taken) < 1:
        start = time.perf_counter()
        function(y, released, **arguments)
        taken.append(time.perf_counter() - start)
    return min(taken)


def lost(before, after):
    """Share of the close records, in percent, whose T becomes 0."""
    return 100 * (1 - after.sum() / before.sum())


def two_radii(rng, repetitions=200):
    """Compare the risks of small files under two radii.

    Returns
    -------
    kept, rises, dropped : int
        Records with the same T; of these, how many do not lose risk when the radius
        shrinks; records with another T that do.
    """
    kept, rises, dropped = 0, 0, 0
    for _ in range(repetitions):
        y, released = rng.lognormal(10, 1, (2, 40))
        labels = rng.choice(3, 40)
        radii = np.sort(rng.uniform(0.01, 2, 2))
        ends = [pp.ball_ends(y, r) for r in radii]
        stays = np.equal(
            *((low <= released) & (released <= high) for low, high in ends)
        )
        change = np.subtract(
            *(pp.identification_risk(y, released, r, labels) for r in radii)
        )
        kept += stays.sum()
        rises += (change[stays] >= 0).sum()
        dropped += (change[~stays] < 0).sum()
    return kept, rises, dropped


def same_as_definition(function, definitions, rng):
    """Whether a function agrees with the definition of each order on random files."""
    files = [rng.lognormal(10, 1, (2, k)) for k in (50, 400)]
    return all(
        np.allclose(function(*file, order=order), definition(*file))
        for file in files
        for order, definition in definitions.items()
    )


# Numbers for the text.


def release_numbers(comparison):
    """What the search finds in each release."""
    columns = {"outside": OUTSIDE, "own": OWN, "risk": RISK, "guess": GUESS}
    return {
        f"{key}-{name}": row[column] * (100 if key == "own" else 1)
        for name, row in comparison.iterrows()
        for key, column in columns.items()
    }


def knowledge_numbers(knowledge):
    """The intruder who knows nothing, and the one who knows all columns."""
    columns = {
        "risk-known": "risk, confidential",
        "guess-known": "guess, confidential",
        "synthetic-known": "risk, synthetic",
        "synthetic-guess": "guess, synthetic",
    }
    return {
        f"{key}-{label}": knowledge[column].iloc[place]
        for label, place in (("none", 0), ("all", -1))
        for key, column in columns.items()
    } | {"alone-all": int(knowledge["alone"].iloc[-1])}


def top_code_numbers(income, top, risk):
    """Where the riskiest records are, and what the top code does to the risk."""
    riskiest = income[np.argsort(-risk["Confidential"], kind="stable")[:200]]
    between = (income > top) & (income <= top / 0.8)
    same = np.isclose(risk["Top-coded"], risk["Confidential"])
    return {
        "lowest": 100 * (riskiest < np.quantile(income, 0.025)).mean(),
        "above-top": 100 * (riskiest > top).mean(),
        "top": top / 1000,
        "top-escape": top / 0.8 / 1000,
        "top-coded": (income > top).sum(),
        "top-between": between.sum(),
        "top-beyond": (income > top / 0.8).sum(),
        "risk-between": risk["Top-coded"][between].mean(),
        "top-unchanged": 100 * same.mean(),
    }


def timing_numbers(timing):
    """Time for the largest file, by the package and, extrapolated, by the definition."""

    def definition(what, power):
        n, taken = max(timing[f"definition, {what}"].items())
        return taken * (largest / n) ** power

    largest = max(timing["package, pairs"])
    return {
        "fast-largest": largest,
        "fast-seconds": timing["package, single records"][largest],
        "fast-pairs-seconds": timing["package, pairs"][largest],
        "slow-minutes": definition("single records", 2) / 60,
        "slow-years": definition("pairs", 3) / 3600 / 24 / 365,
    }


# Figures.


def betty_plot(scenarios, risk):
    """Draw the released values of Betty's pattern; return the labels of the legend."""
    fig, axes = plt.subplots(2, 2, figsize=(9, 4.4), layout="constrained", sharex=True)
    heights = list(islice(cycle([0.75, 0.35, 0.55, 0.2, 0.65, 0.45]), 12))
    shares = thirteenths(risk[scenario] for scenario in scenarios)
    for ax, counts, share in zip(axes.flat, scenarios.values(), shares, strict=True):
        true, released, _ = betty_file(*counts)
        (low,), (high,) = pp.ball_ends(true[:1], 0.2)
        ax.axvspan(low, high, color=COLOURS["CW"], alpha=0.25, linewidth=0)
        for label, x, y, marker, size, colour in (
            ("Other synthetic values", released[1:13], heights, "^", 45, "Data"),
            ("Betty's synthetic value", released[0], 0.9, "s", 55, "Unweighted"),
            ("Betty's true value", true[0], 0.05, "o", 65, "LW_final"),
        ):
            ax.scatter(x, y, marker=marker, s=size, color=COLOURS[colour], label=label)
        outside = ((released[:13] < low) | (released[:13] > high)).sum()
        own_close = int(low <= released[0] <= high)
        ax.set_title(
            f"{outside} of 13 outside, T = {own_close}: risk {share}", fontsize=10
        )
        ax.set(ylim=(-0.05, 1.05), yticks=[])
    for ax in axes[1]:
        ax.set_xlabel("Income (1,000 dollars)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=3)
    return labels


def risk_and_guess_plot():
    """Chance of a right guess against the risk, in patterns of three sizes."""
    _, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    for records, style in ((5, ":"), (13, "-"), (100, "--")):
        count = np.arange(1, records + 1)
        ax.plot(
            1 - count / records,
            1 / count,
            "o" + style,
            markersize=4 if records < 100 else 2,
            color="black",
            linewidth=1,
            label=f"{records} records",
        )
    ax.plot(10 / 13, 1 / 3, "s", color=COLOURS["LW_final"], markersize=9)
    ax.annotate("Betty", (10 / 13, 1 / 3), xytext=(-36, 8), textcoords="offset points")
    ax.plot(0, 1, "D", color=COLOURS["Unweighted"], markersize=8)
    ax.annotate(
        "alone in her pattern", (0, 1), xytext=(10, -4), textcoords="offset points"
    )
    ax.set(
        xlabel="Identification risk",
        ylabel="Chance of a right guess",
        xlim=(-0.03, 1.03),
        ylim=(0, 1.08),
    )
    ax.legend(title="Pattern of", loc="center left", bbox_to_anchor=(0.02, 0.6))


def three_records(income, distance):
    """Rows of middle incomes whose own value is about 3%, 15% and 60% away."""
    middle = np.flatnonzero(np.abs(income / np.median(income) - 1) < 0.1)
    return [middle[np.argmin(np.abs(distance[middle] - d))] for d in (0.03, 0.15, 0.6)]


def radius_plot(income, released, finer, by_record, radii, by_release):
    """Risk by radius: of three records in one file, and mean risks of releases."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
    distance = np.abs(released / income - 1)
    for i, style in zip(three_records(income, distance), ("-", "--", ":"), strict=True):
        axes[0].plot(
            100 * finer,
            by_record[:, i],
            style,
            color="black",
            label=f"own value {100 * distance[i]:.0f}% away",
        )
    axes[0].set(title="Three records, one synthetic file", ylabel="Identification risk")
    axes[0].legend(fontsize=9, loc="upper right")
    for name, colour, style in (
        ("Confidential", "Data", "-"),
        ("Noisy", "Data", "--"),
        ("Synthetic", "Unweighted", "-"),
    ):
        axes[1].plot(
            100 * radii, by_release[name], style, color=COLOURS[colour], label=name
        )
    axes[1].axvline(20, color="black", linewidth=0.8, linestyle=":")
    axes[1].set(title="Mean over the file")
    axes[1].legend(fontsize=9, loc="upper right")
    ticks = [1, 3, 10, 30, 100, 300]
    for ax in axes:
        ax.set(xscale="log", xlabel="Radius (% of the value)", ylim=(0, 1.4))
        ax.set_yticks(np.linspace(0, 1, 6))
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()


def attribute_plot(attribute_one, risk_one, own, attribute, risk):
    """Identification risk against attribute risk: in one file, and over twenty."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for value, marker, colour in ((1, "o", "Unweighted"), (0, "x", "Data")):
        axes[0].scatter(
            attribute_one[own == value],
            risk_one[own == value],
            s=10,
            marker=marker,
            color=COLOURS[colour],
            linewidth=0.6,
            label=f"T = {value}",
        )
    axes[0].set(
        title="One synthetic file", ylabel="Identification risk", ylim=(-0.03, 1)
    )
    axes[0].legend(loc="center right")
    axes[1].scatter(
        attribute, risk, s=8, color=COLOURS["Unweighted"], alpha=0.4, linewidth=0
    )
    a = np.linspace(0, attribute.max(), 100)
    axes[1].plot(a, a * (1 - a), color="black", label="A (1 - A)")
    parts = np.argsort(attribute).reshape(20, -1)
    axes[1].plot(
        attribute[parts].mean(axis=1),
        risk[parts].mean(axis=1),
        "D",
        color=COLOURS["LW_final"],
        markersize=5,
        label="mean of 200 records",
    )
    axes[1].set(title="Mean over 20 synthetic files", ylim=(-0.015, 0.62))
    axes[1].legend(loc="upper left")
    for ax in axes:
        ax.set_xlabel("Attribute risk (share of the pattern in the ball)")


def income_plot(income, risk, top):
    """Risk by confidential income in three releases."""
    _, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained", sharey=True)
    positive = income > 0
    for ax, (name, colour) in zip(
        axes,
        {
            "Confidential": "Data",
            "Top-coded": "Data",
            "Synthetic": "Unweighted",
        }.items(),
        strict=True,
    ):
        ax.scatter(
            income[positive],
            risk[name][positive],
            s=6,
            color=COLOURS[colour],
            alpha=0.5,
            linewidth=0,
        )
        ax.set(
            xscale="log",
            title=name,
            xlabel="Confidential income (dollars)",
            ylim=(-0.03, 1.03),
        )
    axes[0].set_ylabel("Identification risk")
    axes[1].axvline(top, color="black", linewidth=0.8, linestyle="--")
    axes[1].axvline(top / 0.8, color="black", linewidth=0.8, linestyle=":")


def sorted_line_plot(y, released, missed):
    """How the fast algorithm counts, for the first record and for pairs."""
    low, high = pp.ball_ends(y)
    _, axes = plt.subplots(
        2, 1, figsize=(8, 4.8), layout="constrained", sharex=True, height_ratios=[1, 2]
    )
    for ax in axes:
        ax.axvspan(low[0], high[0], color=COLOURS["CW"], alpha=0.25, linewidth=0)
        ax.set(yticks=[])
    positions_panel(axes[0], np.sort(released), low[0], high[0])
    balls_panel(axes[1], y, released, missed)


def positions_panel(ax, ordered, low, high):
    """Draw ordered values with their positions, and those of the ends of one ball."""
    near = {"textcoords": "offset points", "ha": "center"}
    ax.axhline(0, color="black", linewidth=0.8)
    ax.plot(ordered, np.zeros(len(ordered)), "^", color=COLOURS["Data"], markersize=9)
    for place, value in enumerate(ordered):
        ax.annotate(f"{place}", (value, 0), xytext=(0, 9), **near)
    left = np.searchsorted(ordered, low, "left")
    right = np.searchsorted(ordered, high, "right")
    for end, place in ((low, left), (high, right)):
        ax.annotate(
            f"position {place}",
            (end, 0),
            xytext=(0, -26),
            arrowprops={"arrowstyle": "->"},
            **near,
        )
    ax.set(
        ylim=(-1, 0.9), title=f"Inside the ball: {right} - {left} = {right - left} rows"
    )


def balls_panel(ax, y, released, missed):
    """Draw the balls of records with T = 1, and how many of them miss each row."""
    low, high = pp.ball_ends(y)
    bars = np.flatnonzero((low <= released) & (released <= high))
    bars = bars[np.argsort(y[bars])]
    for height, j in enumerate(bars, start=1):
        ax.plot(
            [low[j], high[j]],
            [height, height],
            linewidth=6,
            solid_capstyle="butt",
            color=COLOURS["Unweighted"] if j == 0 else COLOURS["Data"],
            alpha=0.9 if j == 0 else 0.5,
        )
    middle = {"ha": "center", "va": "center"}
    for value, count in zip(released, missed, strict=True):
        counted = not low[0] <= value <= high[0]
        ax.axvline(
            value, color="black", linewidth=0.8, linestyle="-" if counted else ":"
        )
        ax.text(
            value,
            -0.1,
            f"{count}",
            fontweight="bold" if counted else "normal",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            **middle,
        )
    ax.text(47, -0.1, "$c_h$ =", **middle)
    ax.set(
        xlabel="Released value",
        ylim=(-0.7, len(bars) + 0.7),
        xlim=(42, 232),
        title=f"{len(bars)} balls of records with T = 1, "
        "and how many of them miss each row",
    )


def timing_plot(timing):
    """Seconds against records, for definition and package."""
    _, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    for name, times in timing.items():
        style = "o-" if "single" in name else "s--"
        colour = COLOURS["Data" if "definition" in name else "Unweighted"]
        ax.plot(list(times), list(times.values()), style, color=colour, label=name)
    ax.set(xscale="log", yscale="log", xlabel="Number of records", ylabel="Seconds")
    ax.legend()


# Checks of claims: what was found, in words, and whether it holds.


def pictures_of_betty(risk, published):
    """Betty's risk in each scenario against the figures of P2."""
    return [
        (str(share), value == float(printed))
        for value, share, printed in zip(
            risk, thirteenths(risk), published, strict=True
        )
    ]


def by_definition(one, pattern, listed, search, agree):
    """Risks of one file: by enumeration, from the search, and their upper limit.

    Parameters
    ----------
    one : ndarray, shape (n,)
        Risks from the package.
    pattern, listed : ndarray
        Rows of one pattern, and their risks by the definition.
    search : tuple
        Pattern size, number of close rows and T, each of shape (n,).
    agree : bool
        Whether package and definition agree on random files.
    """
    size, close, own = search
    return (
        f"equal; largest {one.max():.2f}",
        np.allclose(listed, one[pattern])
        and np.allclose(one, own * (1 - close / size))
        and (one <= 1 - 1 / size).all()
        and agree,
    )


def mean_not_sum(per_file, risk):
    """Average over files, which the sum would exceed."""
    total = per_file.sum(axis=0)
    return (
        f"largest mean {per_file.mean(axis=0).max():.2f}, "
        f"largest sum {total.max():.1f}",
        np.allclose(per_file.mean(axis=0), risk) and total.max() > 1,
    )


def own_value(per_file, search, ends):
    """Risk above 0 where the own value is close and others are not; the ball's ends.

    Parameters
    ----------
    per_file : ndarray, shape (m, n)
    search : tuple
        Pattern size, shape (n,), number of close rows and T, each of shape (m, n).
    ends : array-like, shape (2, 2)
        Lower and upper ends of the balls of 50,000 and of -5,000.
    """
    size, close, own = search
    return (
        f"T = 1 for {100 * own.mean():.0f}% of records and sets",
        ((per_file > 0) <= own).all()
        and (per_file[own & (close < size)] > 0).all()
        and np.array_equal(ends, [[40_000, -6000], [60_000, -4000]]),
    )


def right_search(picked, error, formula):
    """Simulated searches against the formula."""
    return (
        f"simulated searches right {100 * picked:.2f}%, formula {100 * formula:.2f}%",
        abs(picked - formula) < 5 * error,
    )


def smaller_radius(kept, rises, dropped, betty):
    """No risk falls with the radius while T stays; some do when it does not."""
    return (
        f"no fall in {kept:,} records with equal T; "
        f"Betty {', '.join(map(str, thirteenths(betty)))}",
        rises == kept and dropped > 0 and betty[1] < betty[2] and betty[3] == 0,
    )


def inversely_related(given_t, overall):
    """Attribute risk and identification risk add up to 1, given T = 1."""
    return (
        f"correlation {given_t:.2f} given T = 1; {overall:+.2f} over 20 sets",
        np.isclose(given_t, -1),
    )


def three_markers(labels):
    """The kinds of marker of P2's Figure 1."""
    return f"{len(labels)} kinds of marker", len(set(labels)) == 3


def flips_where_values_mix(kept, rises, flips):
    """T flips more often where values are mixed than where they are disturbed."""
    return (
        "T flips from 20% to 10%: "
        + ", ".join(f"{name} {share:.0f}%" for name, share in flips.items()),
        rises == kept
        and min(flips["Synthetic"], flips["Shuffled"]) > 2 * flips["Noisy"],
    )


def weights_of_attribute_risk(weights, attribute, refitted, released):
    """Weights fall with the attribute risk, and a file can be drawn under them."""
    return (
        f"weights {weights.min():.2f} to {weights.max():.2f}",
        (np.diff(weights[np.argsort(attribute)]) <= 0).all()
        and refitted.shape == released.shape,
    )


def one_file(one, per_file, risk):
    """Risk of one released file: that of the first, with about the same mean."""
    return (
        f"mean {one.mean():.3f} in one set, {risk.mean():.3f} over {len(per_file)}",
        np.array_equal(one, per_file[0]) and abs(one.mean() - risk.mean()) < 0.02,
    )


def claims(
    *,
    betty,
    markers,
    definition,
    average,
    own,
    search,
    radius,
    attribute,
    flips,
    weights,
    single,
):
    """Arrange the checks by the ledger's ids."""
    poor, poor_far, well, well_far = betty
    return {
        "P1-Eq08": definition,
        "P1-EqU01": average,
        "P1-EqU03": own,
        "P1-Set13": search,
        "P1-Claim05": radius,
        "P1-Claim06": attribute,
        "P2-Fig01": markers,
        "P2-Fig02": poor,
        "P2-Fig03": well,
        "P2-Fig04": poor_far,
        "P2-SuppFig01": ("as P2-Fig01", markers[1]),
        "P2-SuppFig02": poor,
        "P2-SuppFig03": well,
        "P2-SuppFig04": well_far,
        "P2-SuppFig05": poor_far,
        "P2-Eq08": definition,
        "P2-SuppEq01": definition,
        "P2-EqU01": average,
        "P2-EqU05": ("40,000 to 60,000 around 50,000", own[1]),
        "P2-EqU06": own,
        "P2-Toy4": poor,
        "P2-Toy5": well,
        "P2-Toy6": well_far,
        "P2-Toy7": poor_far,
        "P2-Claim30": flips,
        "P2-Fut3": weights,
        "P2-Fut5": single,
    }
