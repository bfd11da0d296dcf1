"""Figure and checks of the chapter on the repaired proofs."""

import matplotlib.pyplot as plt
from normal_example import D, edge_probability, every, printed_bound, t

import pseudopost as pp

COLOURS = pp.plots.PALETTE


def lemma(e):
    """Exact probability and bound of Lemma 1, as printed and repaired.

    All of Pi sits at the edge of the neighbourhood.
    """
    return {
        "printed event": edge_probability(e, e.largest_A),
        "printed bound": printed_bound(e, e.largest_A),
        "event": edge_probability(e, e.largest),
        "bound": 1 / ((D + t - 1) ** 2 * e.x),
    }


def draw_lemma(curves):
    """Probabilities and bounds of Lemma 1, with either maximum."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharex=True)
    for ax, event, bound, title, place in (
        (axes[0], "printed event", "printed bound", "Largest weight in A", "upper"),
        (axes[1], "event", "bound", "Largest of all weights", "lower"),
    ):
        x = curves.index
        ax.loglog(x, curves[event], color=COLOURS["Vector"], label="exact")
        ax.loglog(x, curves[bound], "--", color=COLOURS["LW_final"], label="bound")
        ax.set(xlabel=r"$x = n \xi_n^2$", ylabel="Probability", title=title)
        ax.legend(loc=f"{place} right")
    axes[0].set_ylim(0.05, 100)
    axes[1].set_ylim(1e-12, 1)
    axes[0].axhline(1, color="0.7", lw=0.8)


def claims_on_lemma(failing, no_square, curves, sizes):
    """Lemma 1 and its Equation 29.

    Parameters
    ----------
    failing : dict
        At x = 400: probabilities and bounds, with both maxima.
    no_square : float
        The printed bound without the square.
    curves : DataFrame
        Probabilities and bounds against x.
    sizes : DataFrame
        log10 of probability and bound for Pi uniform, columns by n.
    """
    repaired = every(curves["event"] <= curves["bound"]) and every(
        sizes.loc["probability"] <= sizes.loc["bound"]
    )
    probability = failing["printed event"]
    holds = not (probability > no_square and repaired)
    return {
        "P1-Lem1": (
            f"x = 400: probability {probability:.2f}, printed bound {no_square:.2f}; "
            f"with the largest of all weights {failing['event']:.0e}",
            holds,
        ),
        "P1-Eq29": (
            f"{probability:.2f} > {no_square:.2f} (with the square "
            f"{failing['printed bound']:.2f})",
            holds,
        ),
    }


def claim_on_far_set(cut, around, level):
    """The definition of the far set.

    Parameters
    ----------
    cut : float
        Where the far set begins.
    around : tuple
        The deciding sum just inside and just outside.
    level : float
        What it has to reach.
    """
    return {
        "P1-EqU07": (
            f"complement is |theta| < {cut:.2f}",
            around[0] < level < around[1],
        )
    }


def claim_on_denominator(mass, failing):
    """Equation 40.

    Parameters
    ----------
    mass : dict
        Probabilities and bounds for a prior that puts little mass on B_n.
    failing : dict
        As in :func:`claims_on_lemma`.
    """
    event, bound = mass["event of Eq. 40, prior mass exp(-x)"], mass["printed bound"]
    repaired = mass["event with the factor Pi(B_n)"]
    return {
        "P1-Eq40": (
            f"{event:.2f} > {bound:.3f}; with Pi(B_n) {repaired:.1e}",
            not (
                event > 2 * bound
                and failing["printed event"] > 2 * failing["printed bound"]
                and repaired <= mass["bound of the lemma"]
            ),
        )
    }
