"""Exact membership tests for Poisson counts, figures and numbers of the chapter."""

from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import optimize, stats
from scipy.special import logsumexp

import pseudopost as pp

COLOURS = pp.plots.PALETTE | {"Ceiling": "black"}
SHAPE, RATE = 0.5, 0.001  # of the package's prior
POINTS = 20_000  # quantiles that stand for a distribution


class Pair(NamedTuple):
    """Pseudo posteriors of a Poisson mean: with a record, and without it.

    Attributes
    ----------
    shape, rate : tuple of float
        Of the two gamma distributions.
    weight : float
        Of the record.
    epsilon : float
        Twice the largest bound of the file with the record.
    """

    shape: tuple
    rate: tuple
    weight: float
    epsilon: float

    def log_ratio(self, mu):
        """Log density with the record less that without it."""
        densities = [
            stats.gamma.logpdf(mu, shape, scale=1 / rate)
            for shape, rate in zip(self.shape, self.rate, strict=True)
        ]
        return densities[0] - densities[1]

    def quantiles(self, which):
        """Equally likely values of the mean, with the record (0) or without it (1)."""
        share = (np.arange(POINTS) + 0.5) / POINTS
        return stats.gamma.ppf(share, self.shape[which], scale=1 / self.rate[which])

    def log_ratio_of_totals(self, totals, n):
        """Log probability of totals with the record less that without it, summed."""
        parts = [
            stats.nbinom.logpmf(totals, shape, rate / (rate + n))
            for shape, rate in zip(self.shape, self.rate, strict=True)
        ]
        return (parts[0] - parts[1]).sum(axis=-1)


def gamma_quantiles(values, weight):
    """Equally likely means under the total weight of each value."""
    share = (np.arange(POINTS) + 0.5) / POINTS
    return stats.gamma.ppf(
        share, SHAPE + weight @ values, scale=1 / (RATE + weight.sum())
    )


def expected_bounds(values, weight, size):
    """Expected largest absolute log-likelihood of each value over `size` draws."""
    mu = gamma_quantiles(values, weight)
    return pp.expected_bounds(stats.poisson.logpmf(values, mu[:, None]), size)()


def weights_of(values, counts, kind, size, ceiling=None):
    """Weight of each distinct value of a file.

    Parameters
    ----------
    values : ndarray of int, shape (V,)
    counts : ndarray of int, shape (V,)
        How often each occurs, 1 or more.
    kind : str
        "Unweighted", "LW", "LW_final", "CW" or "Ceiling".
    size : int
        Draws over which bounds are expected.
    ceiling : float, optional
        In nats.
    """
    if kind == "Unweighted":
        return np.ones(len(values))
    if kind == "CW":
        every = np.repeat(values, counts)
        return pp.count_weights(every)[np.cumsum(counts) - 1]
    f = expected_bounds(values, counts, size)
    if kind == "Ceiling":
        return np.minimum(1, ceiling / f)
    weights = pp.lipschitz_weights(-f[None])
    if kind == "LW":
        return weights
    bounds = weights * expected_bounds(values, weights * counts, size)
    return pp.reweight(weights, bounds)


def pair_of(y, target, kind, size, ceiling=None):
    """Pseudo posteriors of a file with one record of a value, and without it.

    Parameters
    ----------
    y : ndarray of int, shape (n,)
        The file with the record.
    target : int
        Value of the record.
    kind, size, ceiling
        As of :func:`weights_of`.
    """
    shapes, rates = [], []
    for file in (y, np.delete(y, np.flatnonzero(y == target)[0])):
        values, counts = np.unique(file, return_counts=True)
        weights = weights_of(values, counts, kind, size, ceiling)
        shapes.append(SHAPE + (weights * counts) @ values)
        rates.append(RATE + weights @ counts)
        if len(shapes) == 1:
            weight = weights[values == target][0]
            f = expected_bounds(values, weights * counts, size)
            epsilon = 2 * (weights * f).max()
    return Pair(tuple(shapes), tuple(rates), weight, epsilon)


def roc(inside, outside):
    """False and true positive rates of the test "ratio above a threshold".

    Parameters
    ----------
    inside, outside : ndarray
        Log ratios of equally likely outputs, with the record and without it.
    """
    every = np.sort(np.concatenate([inside, outside]))
    false = 1 - np.searchsorted(np.sort(outside), every, side="left") / len(outside)
    true = 1 - np.searchsorted(np.sort(inside), every, side="left") / len(inside)
    return np.r_[1, false, 0], np.r_[1, true, 0]


def advantage(inside, outside):
    """Largest true positive rate less false positive rate: the total variation."""
    false, true = roc(inside, outside)
    return (true - false).max()


def advantage_at_zero(inside, outside):
    """Share of positive log ratios with the record less that without it.

    Zero is the best threshold. For simulated ratios this has the right expectation,
    which the largest difference over all thresholds has not.
    """
    return (inside > 0).mean() - (outside > 0).mean()


def riskiest_of(y, size):
    """Value of the record with the largest bound, and how far it is from the next.

    Parameters
    ----------
    y : ndarray of int, shape (n,)
    size : int
        Draws over which bounds are expected.
    """
    values, counts = np.unique(y, return_counts=True)
    f = expected_bounds(values, counts, size)
    ordered = np.sort(np.repeat(f, counts))
    return int(values[f.argmax()]), ordered[-1] - ordered[-2]


def epsilon_at(pair, delta):
    """Smallest epsilon, on both sides, with exceptions of probability delta.

    By integration of the two gamma densities over twelve standard deviations.
    """
    mean = np.divide(pair.shape, pair.rate)
    sd = np.sqrt(pair.shape) / pair.rate
    mu = np.linspace(max((mean - 12 * sd).min(), 1e-9), (mean + 12 * sd).max(), 200_001)
    ratio = pair.log_ratio(mu)
    densities = [
        stats.gamma.pdf(mu, shape, scale=1 / rate)
        for shape, rate in zip(pair.shape, pair.rate, strict=True)
    ]

    def excess(epsilon):
        return (
            max(
                np.trapezoid(density * np.maximum(0, -np.expm1(epsilon - loss)), mu)
                for density, loss in zip(densities, (ratio, -ratio), strict=True)
            )
            - delta
        )

    if excess(0) <= 0:
        return 0.0
    return optimize.brentq(excess, 0, np.abs(ratio).max())


def audited(pair, trials, rng, delta):
    """Lower bound of epsilon from an attack on draws; half of them choose its rule.

    Parameters
    ----------
    pair : Pair
    trials : int
        With the record, and as many without it.
    rng : numpy.random.Generator
    delta : float
        Probability of an exception.
    """
    with_it, without = (
        pair.log_ratio(rng.gamma(shape, 1 / rate, size=trials))
        for shape, rate in zip(pair.shape, pair.rate, strict=True)
    )
    half = trials // 2
    thresholds = np.quantile(
        np.r_[with_it[:half], without[:half]], np.arange(0.005, 1, 0.005)
    )

    def bound(threshold, part):
        said = [(ratios[part] >= threshold).sum() for ratios in (with_it, without)]
        n = len(with_it[part])
        return pp.epsilon_lower_bound(said[0], n, said[1], n, delta)

    best = max(thresholds, key=lambda threshold: bound(threshold, slice(half)))
    return bound(best, slice(half, None))


# Figures


def show_files(table, names):
    """Advantage against the riskiest record of each file, by its lead."""
    _, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
    for name in names:
        style = {"color": COLOURS[name], "label": name, "ms": 5, "clip_on": False}
        ax.plot(table["lead"], table[name], "o", **style)
    ax.set(
        xlabel="Bound of the riskiest record less that of the next (nats)",
        ylabel="Advantage of the best test",
    )
    ax.set_ylim(bottom=0)
    ax.legend()


def show_canaries(table):
    """Advantage of the best test against a draw, by the count of the target."""
    _, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
    for name, line in table.items():
        ax.plot(table.index, line, "o-", markersize=3, color=COLOURS[name], label=name)
    ax.set(xlabel="Count of the target", ylabel="Advantage of the best test")
    ax.set_ylim(bottom=0)
    ax.legend()


def show_roc(curves, epsilons):
    """ROC curves of the best test, one for each weighting."""
    _, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
    for name, (false, true) in curves.items():
        label = f"{name}, epsilon {epsilons[name]:.1f}"
        ax.plot(false, true, color=COLOURS[name], label=label)
    ax.plot([0, 1], [0, 1], color="grey", lw=1.5, ls=":", label="guessing", zorder=3)
    ax.set(
        xlabel="False positive rate",
        ylabel="True positive rate",
        xlim=(0, 1),
        ylim=(0, 1),
    )
    ax.legend(loc="lower right")


def show_releases(table):
    """Advantage by the number of releases: draws, and files."""
    _, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
    for ax, (what, part) in zip(axes, table.groupby("release"), strict=True):
        for name, line in part.groupby("weights", sort=False):
            ax.plot(line["m"], line["advantage"], "o-", color=COLOURS[name], label=name)
        ax.set(xscale="log", xlabel=f"Number of {what}", ylim=(-0.03, 1))
        ax.set_xticks([1, 10, 100], ["1", "10", "100"])
    axes[0].set_ylabel("Advantage of the best test")
    axes[1].legend()


def show_between(tables):
    """What is stated, what is true, and what an attack has proved, by weighting."""
    marks = {
        "stated": (">", "none", "stated: epsilon of the file"),
        "largest loss": ("D", "black", "exact: largest loss over 1,000 draws"),
        "exact": ("o", "black", "exact: epsilon with rare exceptions"),
        "attack on a draw": ("<", "none", "proved by the attack"),
    }
    _, axes = plt.subplots(
        1, len(tables), figsize=(9, 3.8), layout="constrained", sharex=True, sharey=True
    )
    for ax, (target, table) in zip(axes, tables.items(), strict=True):
        place = np.arange(len(table))[::-1]
        ax.hlines(place, table["attack on a draw"], table["stated"], color="grey", lw=1)
        for column, (marker, face, label) in marks.items():
            ax.plot(table[column], place, marker, color="black", mfc=face, label=label)
        ax.set(yticks=place, yticklabels=table.index, xlabel="Nats")
        ax.set_title(f"Count of {target}")
        ax.set_xscale("symlog", linthresh=0.01)
        ax.set_xlim(-0.002, 1000)
    axes[0].figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2
    )


# Numbers for the text


def table_of_run(scores, coins):
    """Guesses that are right, and what they prove, by weighting, release and canaries.

    Parameters
    ----------
    scores : dict of ndarray, shape (S, m)
        By weighting; the first half of the canaries are rich, the others in debt.
    coins : ndarray of bool, shape (m,)
        Who is there.
    """
    m, rows = len(coins), {}
    kinds = {"rich": np.arange(m) < m // 2, "losses": np.arange(m) >= m // 2}
    kinds["all"] = kinds["rich"] | kinds["losses"]
    for name, score in scores.items():
        spaced = score[np.linspace(0, len(score) - 1, 20).astype(int)]
        for release, total in (("a draw", spaced[0]), ("20 draws", spaced.sum(axis=0))):
            for kind, part in kinds.items():
                right, said = guesses(total[part], coins[part])
                rows[name, release, kind] = {
                    "guesses": said,
                    "right": right,
                    "epsilon above": pp.epsilon_lower_bound_one_run(
                        right, said, part.sum()
                    ),
                }
    table = pd.DataFrame(rows).T.rename_axis(["weights", "release", "canaries"])
    return table.astype({"guesses": int, "right": int})


def numbers_of_run(table):
    """Right guesses and lower bounds, by weighting, release and canaries."""
    return {
        f"run-{name}-{release.split()[0]}-{kind}-{what.split()[0]}": value
        for (name, release, kind), row in table.iterrows()
        for what, value in row.items()
    }


def numbers_of_roc(curves, pairs):
    """Advantage, weight of the target and epsilon of the file, by weighting."""
    found = {}
    for name, (false, true) in curves.items():
        found[f"advantage-{name}"] = (true - false).max()
        found[f"weight-{name}"] = pairs[name].weight
        found[f"epsilon-{name}"] = pairs[name].epsilon
    return found


def numbers_of_files(table, names):
    """In how many files a weighting is worse than none, and medians."""
    found = {"files": len(table)}
    for name in names:
        found[f"files-worse-{name}"] = int((table[name] > table["Unweighted"]).sum())
        found[f"files-median-{name}"] = table[name].median()
    worse = table.loc[table["LW"] > table["Unweighted"], "lead"]
    return found | {"lead-worse": worse.min()}


def numbers_of_canaries(table):
    """Advantage against the largest target, and where LW_final is worse than nothing."""
    above = table.index > 150
    worse = table.index[above & (table["LW_final"] > table["Unweighted"])]
    found = {f"canary-{name}": table[name].iloc[-1] for name in table}
    return found | {
        "canary-count": int(table.index[-1]),
        "canary-low": int(worse.min()),
        "canary-high": int(worse.max()),
    }


def numbers_of_releases(table):
    """Advantage by release, weighting and number."""
    return {
        f"{row.release}-{row.weights}-{row.m}": row.advantage
        for row in table.itertuples()
    }


def numbers_of_between(table):
    """Stated, true and proved epsilons, and how far the first is from the second."""
    found = {
        f"{column.split()[0]}-{name}": table.loc[name, column]
        for name in table.index
        for column in table
    }
    return found | {"least-ratio": (table["stated"] / table["largest loss"]).min()}


# One run with many canaries


def strange_households(households, m, rng):
    """Canaries: the rich and the losses, half each, with predictors of real records.

    Parameters
    ----------
    households : DataFrame
        With a column ``income``.
    m : int
        Even.
    rng : numpy.random.Generator

    Returns
    -------
    DataFrame, shape (m, ...)
        The first half have half a million to fifty millions, the others lose 5,000 to
        9,999 dollars; both are spread evenly on the log scale of the model.
    """
    found = households.iloc[rng.integers(len(households), size=m)].copy()
    rich = np.geomspace(5e5, 5e7, m // 2)
    losses = np.geomspace(1, 5000, m // 2) - 10_000
    found["income"] = np.r_[rich, losses].round()
    return found


def weights_in_run(y, codes, there, order):
    """Record weights of the file that is there, and 0 for who is not.

    Parameters
    ----------
    y, codes : ndarray, shape (n,)
        Incomes and patterns.
    there : ndarray of bool, shape (n,)
    order : int
        0 for weights of 1, 1 for marginal and 2 for pairwise weights of P2.
    """
    found = there.astype(float)
    if order:
        found[there] = pp.pairwise_weights(
            y[there],
            None,
            patterns=codes[there],
            radius=0.2,
            order=order,
            ball="signed",
            alone=1.0,
        )
    return found


def weights_if_there(y, codes, households, canaries, order):
    """Weight that each canary would have in the file without any other canary.

    Parameters
    ----------
    y, codes : ndarray, shape (n,)
    households : ndarray of bool, shape (n,)
    canaries : ndarray of int, shape (m,)
        Places.
    order : int
        As of :func:`weights_in_run`.
    """
    found = []
    for canary in canaries:
        there = (households & (codes == codes[canary])) | (np.arange(len(y)) == canary)
        found.append(weights_in_run(y, codes, there, order)[canary])
    return np.array(found)


def scores(ours, hers, weights):
    """Log ratio of each draw with a canary and without it, shape (S, m).

    Parameters
    ----------
    ours : ndarray, shape (S, m)
        Log-likelihood of the canaries at draws of the run.
    hers : ndarray, shape (S', m)
        The same at draws of a run in which none of them was.
    weights : ndarray, shape (m,)
    """
    constant = logsumexp(weights * hers, axis=0) - np.log(len(hers))
    return weights * ours - constant


def guesses(score, coins, share=0.5):
    """Say "in" for the highest scores and "out" for the lowest, and count.

    Parameters
    ----------
    score : ndarray, shape (m,)
    coins : ndarray of bool, shape (m,)
    share : float
        Of the canaries for which something is said, half of them "in".

    Returns
    -------
    correct, guesses : int
    """
    each = int(share * len(score) / 2)
    order = np.argsort(score, kind="stable")
    return int(coins[order[-each:]].sum() + (~coins[order[:each]]).sum()), 2 * each
