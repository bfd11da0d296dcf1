"""Weights under the constants c and g, figures, values for the text and checks."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from tuning_variants import (
    COLOURS,
    FAMILIES,
    MC,
    MG,
    PC,
    PG,
    VARIANTS,
    M,
    P,
    is_unchanged,
    weighted_quantile,
)

import pseudopost as pp

SETTINGS = ((1, 0), (1.5, 0), (1, 0.1))  # c and g of a family


# Files and weights


def levels(income, weights):
    """Levels of the weights of a file, by variant."""
    w, losses = pd.DataFrame(weights), income < 0
    return pd.DataFrame(
        {
            "smallest": w.min(),
            "median": w.median(),
            "largest below 1": w[w < 1].max(),
            "median, top 5% of incomes": w[income > np.quantile(income, 0.95)].median(),
            "exactly 1": (w == 1).sum(),
            "of these losses": (w[losses] == 1).sum(),
            "mean": w.mean(),
        }
    )


# Values for the text


def numbers_of_levels(levels):
    """Levels of the weights, and what it takes to lift or clip them."""
    pairwise, marginal = levels.loc[P], levels.loc[M]
    top = "median, top 5% of incomes"
    return {
        "pw-median": pairwise["median"],
        "pw-min": pairwise["smallest"],
        "pw-top": pairwise[top],
        "ones": int(pairwise["exactly 1"]),
        "m-top": marginal[top],
        "m-mean": marginal["mean"],
        "c-all": 1 / marginal["smallest"],
        "c-all-pw": 1 / pairwise["smallest"],
        "c-clip": 1 / pairwise["largest below 1"],
        "loss-ratio": 1 / pairwise["median"],
    }


def numbers_of_shares(seen):
    """Ordinary shares, the line of Pairwise, and the weighted quantiles."""
    line, share = seen.loc[P], 100 * seen["ordinary share"]
    quantile = seen["weighted 90% quantile"]
    return {
        "share-mg": share[MG],
        "share-p": share[P],
        "line-a": line["a"],
        "line-b": line["b"],
        "line-r2": 100 * line["R squared"],
        "line-ratio": line["a"] / line["b"],
        "order4-r2": seen.loc["order 4", "R squared"],
        "seen-q90-m": quantile[M],
        "seen-q90-mc": quantile[MC],
        "seen-q90-u": quantile["Unweighted"],
    }


# Figures


def show_constants(income, raw):
    """What c and g do to a weight, and what a fit is then told."""
    left, right = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")[1]
    grid = np.linspace(0, 1, 201)
    settings = {(1, 0): "-", (1.5, 0): "--", (1, 0.1): ":", (1, -0.1): "-."}
    for (c, g), style in settings.items():
        adjusted = pp.adjust_weights(grid, c, g)
        label = f"c = {c:g}, g = {g:g}"
        left.plot(grid, adjusted, style, color="black", label=label)
    left.set(xlabel="Weight", ylabel="Adjusted weight", aspect="equal")
    left.legend(loc="lower right", fontsize=8)
    for order, family in enumerate((M, P), start=1):
        base = raw[order]
        ways = {
            "c": ("--", [(c, 0) for c in np.geomspace(1, 1 / base.min(), 80)]),
            "g": (":", [(1, g) for g in np.linspace(0, 1, 80)]),
        }
        for constant, (style, settings) in ways.items():
            moved = [pp.adjust_weights(base, *setting) for setting in settings]
            right.plot(
                [weights.mean() for weights in moved],
                [weighted_quantile(income, weights) / 1000 for weights in moved],
                style,
                color=COLOURS[family],
                label=f"{family}, {constant} raised",
            )
        start = weighted_quantile(income, base) / 1000
        right.plot(base.mean(), start, "o", color=COLOURS[family])
    right.set(xlabel="Mean weight", ylabel="Weighted 90% quantile (1,000 dollars)")
    right.legend(loc=(0.22, 0.12), fontsize=8)


def show_weights(income, weights, family):
    """Weights of the three settings of a family against income."""
    axes = plt.subplots(1, 3, figsize=(9.5, 3.4), layout="constrained", sharey=True)[1]
    for ax, name in zip(axes, FAMILIES[family], strict=True):
        pp.plots.weights_against_values(
            income / 1000,
            weights[name],
            name=family,
            xlabel="Income (1,000 dollars)",
            ax=ax,
        )
        ax.set_xscale("symlog", linthresh=10, linscale=0.6)
        ax.set_xticks([-5, 0, 10, 100, 1000], ["-5", "0", "10", "100", "1,000"])
        ax.minorticks_off()
        ax.set_title(name, fontsize=10)
    axes[1].set_ylabel("")
    axes[2].set_ylabel("")
    axes[0].legend(loc="upper right", fontsize=8)


# Checks of the claims


def is_adjusted(weights, losses, family):
    """Whether the variants are the family scaled and shifted, with only losses at 1."""
    return all(
        np.allclose(weights[name], np.minimum(c * weights[family] + g, 1))
        and np.array_equal(weights[name] == 1, losses)
        for name, (c, g) in zip(FAMILIES[family], SETTINGS, strict=True)
    )


def is_adjusted_everywhere(weights, incomes, family):
    """Whether they are in every file."""
    return all(
        is_adjusted(weights[seed], incomes[seed] < 0, family) for seed in incomes
    )


def share_near_quarter(pairwise):
    """Share of the pairwise weights within 0.10 of 0.25."""
    return (np.abs(pairwise - 0.25) < 0.1).mean()


def has_published_levels(pairwise, income):
    """Whether pairwise weights have the levels that P2 reports."""
    return bool(
        share_near_quarter(pairwise) > 0.75
        and 0.05 <= pairwise.min() <= 0.15
        and pairwise[income > np.quantile(income, 0.99)].max() < 0.2
        and np.array_equal(pairwise == 1, income < 0)
    )


def range_of_weights(weights):
    """Range, median and number of weights of 1, in words."""
    return (
        f"{weights.min():.3f} to {weights[weights < 1].max():.2f}, "
        f"median {np.median(weights):.2f}; {(weights == 1).sum()} at 1"
    )


def claims_on_equations(toy, weights, incomes, data_risk, unchanged):
    """Equations 16 and 17, and Equation 2 of the supplement."""
    pairwise = is_adjusted_everywhere(weights, incomes, P)
    marginal = all(
        np.allclose(
            weights[seed][MC][income >= 0],
            pp.marginal_weights(data_risk[seed], 1.5)[income >= 0],
        )
        for seed, income in incomes.items()
    )
    stretched, lowered = toy["c = 1.5, g = 0"], toy["c = 1, g = -0.1"]
    return {
        "P2-Eq16": (
            "equal on every file and in the toy table",
            pairwise and np.allclose(stretched, [0, 0.075, 0.3, 0.75, 1, 1]),
        ),
        "P2-Eq17": (
            "equal; clipped at 0 as well",
            pairwise and unchanged and np.allclose(lowered, [0, 0, 0.1, 0.4, 0.6, 0.9]),
        ),
        "P2-SuppEq02": (
            "equal on every file",
            is_adjusted_everywhere(weights, incomes, M) and marginal,
        ),
    }


def gains_of_toy(toy, setting):
    """What the weights 0.2 and 0.5 gain under a setting."""
    return toy.set_index("weight").loc[[0.2, 0.5], setting].to_numpy() - [0.2, 0.5]


def claims_on_toys(toy):
    """P2's two examples."""
    small, large = gains_of_toy(toy, "c = 1.5, g = 0")
    return {
        "P2-Toy2": (f"0.5 to {0.5 + large:.2f}", np.isclose(large, 0.25)),
        "P2-Toy3": (f"0.2 to {0.2 + small:.2f}", np.isclose(small, 0.1)),
    }


def claims_on_settings(variants):
    """Constants of the two families."""
    used = {
        family: [variants[name][1:] for name in names]
        for family, names in FAMILIES.items()
    }
    return {
        claim: (
            ", ".join(f"({c:g}, {g:g})" for c, g in used[family]),
            used[family] == list(SETTINGS),
        )
        for claim, family in (("P2-Set07", P), ("P2-Set08", M))
    }


def claims_on_weight_figures(weights, incomes):
    """Levels of the weights of both families."""
    first = weights[min(weights)]
    level = all(has_published_levels(weights[k][P], incomes[k]) for k in incomes)
    lower = all((weights[k][M] < weights[k][P])[incomes[k] >= 0].all() for k in incomes)
    pairwise, marginal = (is_adjusted_everywhere(weights, incomes, f) for f in (P, M))
    return {
        "P2-Fig10": (range_of_weights(first[P]), level),
        "P2-Fig11": (range_of_weights(first[PC]), level and pairwise),
        "P2-Fig12": (range_of_weights(first[PG]), level and pairwise),
        "P2-SuppFig06": (range_of_weights(first[M]), lower),
        "P2-SuppFig07": (range_of_weights(first[MC]), lower and marginal),
        "P2-SuppFig08": (range_of_weights(first[MG]), lower and marginal),
    }


def claim_on_constants(toy, pairwise):
    """The constant c stretches, g shifts, and a large c leads to weights of 1."""
    stretched = gains_of_toy(toy, "c = 1.5, g = 0")
    moved = gains_of_toy(toy, "c = 1, g = 0.1")
    grown = pp.adjust_weights(pairwise, 1 / pairwise.min())
    return {
        "P2-Claim18": (
            f"0.2 and 0.5 gain {stretched[0]:.2f} and {stretched[1]:.2f} by c, "
            f"{moved[0]:.2f} and {moved[1]:.2f} by g",
            stretched[1] > stretched[0]
            and np.allclose(moved, 0.1)
            and (grown == 1).all()
            and toy.set_index("weight").loc[0, "c = 100, g = 0"] == 0,
        )
    }


def claim_on_levels(weights, incomes):
    """Levels of the pairwise weights."""
    first = weights[min(weights)][P]
    quarter = np.mean([share_near_quarter(weights[k][P]) for k in incomes])
    return {
        "P2-Claim19": (
            f"{100 * quarter:.0f}% within 0.10 of 0.25; smallest {first.min():.3f}; "
            f"{(first == 1).sum()} at 1",
            all(has_published_levels(weights[k][P], incomes[k]) for k in incomes),
        )
    }


def claims(toy, studies, weights, raw):
    """What was found and whether it holds, for every claim of the chapter.

    Parameters
    ----------
    toy : DataFrame
        Six weights under four settings.
    studies, weights, raw : dict
        By seed of the file: study; weights by name; weights by order.
    """
    incomes = {seed: study.y for seed, study in studies.items()}
    data_risk = {seed: study.risk_of(study.y) for seed, study in studies.items()}
    unchanged = is_unchanged(weights, raw)
    return {
        **claims_on_equations(toy, weights, incomes, data_risk, unchanged),
        **claims_on_toys(toy),
        **claims_on_settings(VARIANTS),
        **claims_on_weight_figures(weights, incomes),
        **claim_on_constants(toy, weights[min(weights)][P]),
        **claim_on_levels(weights, incomes),
    }
