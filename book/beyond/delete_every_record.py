"""Exact pseudo posteriors on a grid, figures and numbers of the chapter on deletions."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from count_grid import Grid
from scipy.special import logsumexp

import pseudopost as pp

COLOURS = pp.plots.PALETTE | {"kept": "#999999"}


def largest_of_both(grid, own, other):
    """Expected largest loss over draws from the one or the other distribution."""
    return max(grid.expected_largest(own - other, side) for side in (own, other))


def epsilon_of(grid, counts, weights):
    """P3's epsilon, from the draws of the weighted fit."""
    return 2 * (weights * grid.expected_bounds(weights * counts)).max()


def files_of_population(seeds, n, points, size):
    """Deletion of the riskiest record under LW, in files from P3's population.

    Parameters
    ----------
    seeds : sequence of int
    n : int
        Records of a file.
    points : int
        Of each side of the grid.
    size : int
        Draws over which bounds are expected.

    Returns
    -------
    DataFrame
        By seed: ``count`` of the record, ``gap`` between its bound and the next,
        ``loss`` and ``epsilon``, in nats.
    """
    rows = {}
    for seed in seeds:
        y = pp.datasets.negative_binomial_mixture(n, random_seed=seed)
        values, counts = np.unique(y, return_counts=True)
        grid = Grid(
            values, np.linspace(4.5, 4.7, points), np.linspace(0.02, 0.13, points), size
        )
        f = grid.expected_bounds(counts)
        riskiest = f.argmax()
        weights = grid.weights(counts, "LW", f)
        loss = exact_losses(grid, counts, [(riskiest, -1)], "LW").loc[0]
        ordered = np.sort(np.repeat(f, counts))
        rows[seed] = {
            "count": values[riskiest],
            "gap": ordered[-1] - ordered[-2],
            "loss": loss["recomputed"],
            "epsilon": epsilon_of(grid, counts, weights),
            "edge": loss["edge"],
        }
    return pd.DataFrame(rows).T.astype({"count": int}).rename_axis("seed")


def exact_losses(grid, counts, changes, kind):
    """Privacy loss by changing a file, with the weights recomputed and with them kept.

    Parameters
    ----------
    grid : Grid
    counts : ndarray, shape (V,)
    changes : sequence of (int, int)
        Place of a value, and -1 to take a record with it out or 1 to put one in.
    kind : str
        As of :meth:`Grid.weights`.

    Returns
    -------
    DataFrame
        Columns ``count``, ``change``, ``weight`` (in the larger file), ``kept`` and
        ``recomputed``, the expected largest loss over draws, the larger of those with
        and without the record, ``own side``, that over draws for the file itself,
        ``mean``, its mean loss with recomputed weights, and ``edge``.
    """

    weights = grid.weights(counts, kind)
    own = grid.log_posterior(weights * counts)
    rows = []
    for place, step in changes:
        changed = counts.astype(float)
        changed[place] += step
        new = grid.weights(changed, kind)
        other = grid.log_posterior(new * changed)
        weight = (weights if step < 0 else new)[place]
        kept = weights * counts
        kept[place] += step * weight
        frozen = grid.log_posterior(kept)
        rows.append(
            {
                "count": grid.values[place],
                "change": step,
                "weight": weight,
                "kept": largest_of_both(grid, own, frozen),
                "recomputed": largest_of_both(grid, own, other),
                "own side": grid.expected_largest(own - other, own),
                "mean": np.exp(own) @ (own - other),
                "edge": max(grid.edge(own), grid.edge(other)),
            }
        )
    return pd.DataFrame(rows)


def pattern_weights(y, codes, order):
    """Weights of P2 from the confidential values, and those without a record.

    Parameters
    ----------
    y : ndarray, shape (n,)
    codes : ndarray of int, shape (n,)
        Pattern of each record.
    order : int
        1 for marginal weights, 2 for pairwise ones.

    Returns
    -------
    weights : ndarray, shape (n,)
    without : callable
        Takes the position of a record; only the weights of its pattern change.
    """
    settings = {"radius": 0.2, "order": order, "ball": "signed", "alone": 1.0}
    weights = pp.pairwise_weights(y, None, patterns=codes, **settings)

    def without(record):
        others = np.flatnonzero(codes == codes[record])
        others = others[others != record]
        found = weights.copy()
        if len(others):
            found[others] = pp.pairwise_weights(y[others], None, **settings)
        return found

    return weights, without


def normaliser_from_both_sides(change, change_there):
    """Log of the ratio of two normalising constants, from either fit.

    Parameters
    ----------
    change : ndarray, shape (S,)
        Log density of the neighbour less that of the file, at draws for the file.
    change_there : ndarray, shape (S,)
        The same at draws for the neighbour.
    """

    def log_mean(values):
        return logsumexp(values) - np.log(len(values))

    return log_mean(change), -log_mean(-change_there)


def summary(y, losses, kept):
    """Median and largest losses of each weighting, and where one fit is not enough."""
    return pd.DataFrame(
        {
            name: {
                "median": table["largest"].median(),
                "largest": table["largest"].max(),
                "largest, weights kept": kept[name]["largest"].max(),
                "largest, income 0 or more": table.loc[y >= 0, "largest"].max(),
                "largest mean loss": table["mean"].max(),
                "k-hat above 0.7": (table["k_hat"] > 0.7).sum(),
            }
            for name, table in losses.items()
        }
    ).T.astype({"k-hat above 0.7": int})


# Figures


def show_exact(table, epsilon):
    """Loss of deleting each count: weights kept and recomputed, and what P3 states."""
    _, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
    ax.axhline(epsilon, color="black", ls="--", lw=1, label="epsilon of the file")
    for how, marker, colour in (("kept", "o", "kept"), ("recomputed", ".", "LW")):
        ax.plot(
            table["count"],
            table[how].clip(lower=1e-3),
            marker,
            color=COLOURS[colour],
            fillstyle="none" if how == "kept" else "full",
            label=f"weights {how}",
        )
    ax.set(
        xlabel="Count of the deleted record",
        ylabel="Largest privacy loss (nats)",
        yscale="log",
    )
    ax.legend()


def show_sizes(table):
    """Loss of deleting the smallest count by the size of the file, and epsilon."""
    figure, ax = plt.subplots(figsize=(5.6, 4.8), layout="constrained")
    for k, (name, part) in enumerate(table.groupby("weights", sort=False)):
        colour, n = COLOURS.get(name, "black"), 1000 * part["copies"]
        ax.plot(n, part["recomputed"], "o-", color=colour, label=f"{name}, loss")
        # The dashes of one line in the gaps of the other, where two are close.
        dashes = (2 * k, (4, 4))
        label = f"{name}, epsilon"
        ax.plot(n, part["epsilon"], ls=dashes, color=colour, label=label)
    ax.set(xscale="log", yscale="log", xlabel="Records", ylabel="Nats")
    figure.legend(loc="outside lower center", ncols=3)


def show_additions(tables):
    """Loss of adding a record, by its count, for several weightings."""
    _, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
    for name, table in tables.items():
        ax.plot(
            table["count"],
            table["recomputed"],
            "o-",
            markersize=3,
            color=COLOURS.get(name, "black"),
            label=name,
        )
    ax.set(
        xlabel="Count of the added record",
        ylabel="Largest privacy loss (nats)",
        yscale="log",
    )
    ax.legend()


def show_estimates(exact, estimated):
    """Losses from one fit against exact ones: the largest, and the mean."""
    _, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for ax, what, of in zip(
        axes, ("largest", "mean"), ("own side", "mean"), strict=True
    ):
        ax.plot(exact[of], estimated[what], ".", color=COLOURS["LW"])
        ends = exact[of].min(), exact[of].max()
        ax.plot(ends, ends, color="black", lw=1)
        ax.set(
            xscale="log",
            yscale="log",
            xlabel=f"Exact (nats), {what} loss",
            ylabel="From one fit (nats)",
        )


def show_mixture(y, losses):
    """Loss of deleting each household, by income, for each weighting."""
    _, axes = plt.subplots(
        1, len(losses), figsize=(10, 3.8), layout="constrained", sharey=True
    )
    for ax, (name, found) in zip(axes, losses.items(), strict=True):
        ax.scatter(
            y, found["largest"], s=5, linewidth=0, alpha=0.5, color=COLOURS[name]
        )
        ax.set(xlabel="Income (dollars)", title=name)
        ax.set_xscale("symlog", linthresh=10_000)
    axes[0].set(yscale="log", ylabel="Largest privacy loss (nats)")


# Numbers for the text


def numbers_of_exact(table, epsilon):
    """Which record stands out, and how far."""
    worst = table.loc[table["recomputed"].idxmax()]
    others = table.drop(index=table["recomputed"].idxmax())
    return {
        "exact-epsilon": epsilon,
        "exact-worst-count": int(worst["count"]),
        "exact-worst": worst["recomputed"],
        "exact-others": others["recomputed"].max(),
        "exact-others-gap": (others["recomputed"] - others["kept"]).abs().max(),
    }


def numbers_of_sizes(table):
    """Loss and epsilon by weighting and how often the file was copied."""
    found = {}
    for row in table.itertuples():
        key = f"size-{row.weights}-{row.copies}"
        found[key] = row.recomputed
        found[f"{key}-mean"] = row.mean
        found[f"{key}-epsilon"] = row.epsilon
    return found


def numbers_of_files(files):
    """How near the losses come to epsilon in files of the population."""
    return {
        "files": len(files),
        "files-above": int((files["loss"] > files["epsilon"]).sum()),
        "files-low": files["loss"].min(),
        "files-high": files["loss"].max(),
        "files-epsilon-low": files["epsilon"].min(),
        "files-epsilon-high": files["epsilon"].max(),
    }


def numbers_of_additions(tables):
    """Largest losses by adding a record, and at which count."""
    found = {}
    for name, table in tables.items():
        worst = table.loc[table["recomputed"].idxmax()]
        found[f"add-{name}"] = worst["recomputed"]
        found[f"add-{name}-count"] = int(worst["count"])
        found[f"add-{name}-zero"] = table.set_index("count")["recomputed"][0]
    return found


def numbers_of_estimates(exact, estimated):
    """How far the estimates are off, the worst record and all others."""
    worst = exact["recomputed"].idxmax()
    off = (estimated["largest"] - exact["own side"]).abs()
    return {
        "estimate-worst": estimated.loc[worst, "largest"],
        "exact-worst-side": exact.loc[worst, "own side"],
        "estimate-off": off.drop(index=worst).max(),
        "estimate-k": estimated["k_hat"].max(),
    }


def numbers_of_mixture(y, losses):
    """Median losses, and the largest of households that made no loss."""
    found = {}
    for name, table in losses.items():
        found |= {
            f"mix-{name}-median": table["largest"].median(),
            f"mix-{name}-rest": table.loc[y >= 0, "largest"].max(),
        }
    return found


def numbers_of_refit(losses, constants, from_refit, name, record):
    """How many deletions want a fit of their own, and what that of one says."""
    return {
        "mix-refits": sum((table["k_hat"] > 0.7).sum() for table in losses.values()),
        "refit-off": abs(constants[1] - constants[0]),
        "refit-here": losses[name].loc[record, "largest"],
        "refit-largest": from_refit["largest"],
    }
