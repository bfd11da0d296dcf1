"""Pictures of who does what with which file; they need no fit."""

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch, Rectangle

import pseudopost as pp

GREY = "#444444"
BLUE, ORANGE, GREEN = (pp.plots.PALETTE[name] for name in ("Unweighted", "LW", "CW"))
# Some rows of a release: age, region, released income (thousand dollars).
RELEASE = (
    ("30-39", "North", 54),
    ("30-39", "North", 43),
    ("30-39", "North", 58),
    ("30-39", "North", 88),
    ("30-39", "North", 29),
    ("30-39", "North", 18),
    ("40-49", "North", 50),
    ("30-39", "South", 52),
    ("60-69", "South", 47),
)


def canvas(width, height):
    """Axes on which an inch is an inch, so that letters keep their size."""
    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    return ax


def box(ax, x, y, title, text, colour, width=2.2, height=0.95):
    """Draw a box with its centre at (x, y): a title and what it means."""
    corner = x - width / 2, y - height / 2
    style = "round,pad=0,rounding_size=0.1"
    ax.add_patch(
        FancyBboxPatch(corner, width, height, style, fc="white", ec=colour, lw=2)
    )
    lines = text.count("\n") + 1
    ax.text(x, y + 0.1 * lines, title, ha="center", va="center", weight="bold", size=11)
    ax.text(x, y - 0.14, text, ha="center", va="center", size=10)


def wall(ax, left, bottom, width, height, title):
    """Draw the wall of the agency, with its title in the upper left corner."""
    style = "round,pad=0,rounding_size=0.15"
    shape = FancyBboxPatch(
        (left, bottom), width, height, style, fc="#f2f2f2", ec="#777777", lw=1.5
    )
    shape.set(linestyle="--")
    ax.add_patch(shape)
    ax.text(left + 0.15, bottom + height - 0.22, title, size=11, style="italic")


def arrow(ax, start, end, **style):
    """Draw an arrow between two points."""
    look = {"arrowstyle": "-|>", "lw": 1.5, "color": GREY} | style
    ax.annotate("", end, start, arrowprops=look)


def show_path():
    """Draw the path from the confidential file to the release, and the wall between."""
    ax = canvas(5.6, 7)
    wall(ax, 0.05, 1.5, 5.5, 5.45, "Inside the agency")
    left, right, rows = 1.35, 4.25, (5.95, 4.2, 2.45)
    box(ax, left, rows[0], "Confidential file", "n records", GREY)
    box(ax, right, rows[0], "Fit without weights", "what the model learns", BLUE)
    box(ax, right, rows[1], "Risk of each record", "unlikely, or alone?", ORANGE)
    box(ax, left, rows[1], "Weight of each record", "from 1 down to 0", ORANGE)
    box(ax, left, rows[2], "Weighted fit", "each record counts\nby its weight", GREEN)
    box(ax, right, rows[2], "Synthetic files", "drawn from the fit", GREEN)
    box(ax, right, 0.6, "Release", "all that users see", GREY)
    arrow(ax, (left + 1.12, rows[0]), (right - 1.12, rows[0]))
    arrow(ax, (right, rows[0] - 0.5), (right, rows[1] + 0.5))
    arrow(ax, (right - 1.12, rows[1]), (left + 1.12, rows[1]))
    arrow(ax, (left, rows[1] - 0.5), (left, rows[2] + 0.5))
    arrow(ax, (left + 1.12, rows[2]), (right - 1.12, rows[2]))
    arrow(ax, (right, rows[2] - 0.5), (right, 0.6 + 0.5))
    arrow(ax, (0.13, rows[0] - 0.2), (0.13, rows[2] + 0.2), linestyle="--")
    ax.text(0.22, 5.08, "the same\nrecords again", size=10, va="center")
    ax.text(
        0.2, 0.6, "Weights, risks, fits\nand seeds stay inside.", size=11, va="center"
    )


def show_search(target=("30-39", "North"), income=50, radius=0.2):
    """Draw an intruder's search for the first row of `RELEASE`."""
    ax = canvas(5.6, 5.9)
    box(
        ax,
        2.8,
        5.35,
        "What the intruder knows of Betty",
        f"age {target[0]}, region {target[1]}, income {income}",
        GREY,
        width=5.2,
    )
    ax.text(0.15, 4.5, "The release", size=11, style="italic")
    columns = (0.15, 1.15, 2.1, 3.55, 4.95)
    heads = ("age", "region", "income", "1. her pattern?", "2. close?")
    for x, head in zip(columns, heads, strict=True):
        centred = {} if x < 3 else {"ha": "center"}
        ax.text(x, 4.15, head, size=11, weight="bold", va="center", **centred)
    for k, (age, region, released) in enumerate(RELEASE):
        y = 3.78 - 0.37 * k
        same = (age, region) == target
        close = same and abs(released - income) <= radius * income
        if close:
            ax.add_patch(
                Rectangle((0.05, y - 0.17), 5.5, 0.34, fc=ORANGE, alpha=0.3, lw=0)
            )
        look = {"size": 11, "va": "center", "color": "black" if same else "#777777"}
        for x, value in zip(columns, (age, region, released), strict=False):
            ax.text(x, y, str(value), **look)
        for x, said, asked in ((3.55, same, True), (4.95, close, same)):
            if asked:
                ax.text(x, y, "yes" if said else "no", ha="center", **look)
    ax.text(0.15, 0.3, "3. She picks one of the coloured rows.", size=11, weight="bold")


def show_what_leaves():
    """Draw what stays inside the agency and what a board may let out."""
    ax = canvas(5.6, 5.6)
    wall(ax, 0.05, 2.75, 5.5, 2.8, "Stays inside")
    inside = (
        "the confidential file, and tables made from it",
        "risk and weight of each record",
        "log-likelihoods, fits and draws of parameters",
        "the epsilon of this file, and its mean weight",
        "seeds, notebooks with outputs, stored fits",
    )
    for k, line in enumerate(inside):
        ax.text(0.35, 4.9 - 0.42 * k, line, size=11, va="center")
    box(
        ax, 2.8, 2.05, "A board decides", "which files, and how many", ORANGE, width=3.2
    )
    arrow(ax, (2.8, 2.75), (2.8, 2.56))
    arrow(ax, (2.8, 1.55), (2.8, 1.38))
    box(
        ax,
        2.8,
        0.75,
        "Leaves",
        "the synthetic files, what is computed from\nthem alone, and settings fixed beforehand",
        GREEN,
        width=5.3,
        height=1.2,
    )


def show_weights():
    """Draw the weights of the three papers on one map."""
    ax = canvas(5.6, 9.3)
    left, right, width = 1.4, 4.2, 2.6
    box(ax, 2.8, 8.8, "How exposed is this record?", "two ways to ask", GREY, width=4)
    kinds = (
        (left, 7.5, "Who is near it?", "values within its ball", BLUE),
        (left, 6.25, "Own risk (P1)", "S-shaped curve", BLUE),
        (left, 5.15, "Marginal (P2)", "own risk, straight line", BLUE),
        (left, 4.05, "Pairwise (P2)", "risk of its pairs", BLUE),
        (left, 2.95, "CW (P3)", "counts neighbours", BLUE),
        (right, 7.5, "How unlikely is it?", "under each draw of the model", ORANGE),
        (right, 6.25, "LW (P3)", "falls with the bound", ORANGE),
    )
    for x, y, title, text, colour in kinds:
        box(ax, x, y, title, text, colour, width)
    for x, last in ((left, 2.95), (right, 6.25)):
        arrow(ax, (2.8, 8.32), (x, 7.99))
        arrow(ax, (x, 7.01), (x, 6.74))
        arrow(ax, (x, last - 0.48), (x, 2.27))
    box(
        ax,
        2.8,
        1.66,
        "Adjusted afterwards",
        "scale and shift (P2); raised again as far as the\nlargest bound allows (re-weighting, P3)",
        GREEN,
        width=5.4,
        height=1.2,
    )
    box(ax, 2.8, 0.5, "Scalar", "nobody is asked: one weight for all", GREY, width=5.4)


def show_way(steps):
    """Draw a record's way: in each step a title, a call and what came out."""
    ax = canvas(5.6, 0.85 * len(steps) + 0.1)
    height = 0.85 * len(steps)
    colours = (GREY, BLUE, ORANGE, GREEN, ORANGE, GREEN, GREY)
    for k, (title, call, found) in enumerate(steps):
        y = height - 0.4 - 0.85 * k
        ax.add_patch(
            FancyBboxPatch(
                (0.05, y - 0.3),
                5.5,
                0.6,
                "round,pad=0,rounding_size=0.1",
                fc="white",
                ec=colours[k % len(colours)],
                lw=2,
            )
        )
        ax.text(0.2, y + 0.12, title, size=11, weight="bold", va="center")
        ax.text(0.2, y - 0.14, call, size=10, family="monospace", va="center")
        ax.text(5.4, y, found, size=13, ha="right", va="center")
        if k:
            arrow(ax, (2.8, y + 0.55), (2.8, y + 0.32))
