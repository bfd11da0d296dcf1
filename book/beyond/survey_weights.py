"""Samples in clusters and strata, the real quarter, figures and numbers of the chapter."""

from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import optimize, stats

import pseudopost as pp

FILE = Path(__file__).parents[2] / "data" / "ce2016q1.csv.gz"
Z = stats.norm.ppf(0.975)
# The simulated population has mean 0 and variance 1; these are parts of the variance.
BETWEEN_STRATA, ELSEWHERE = 0.1, 0.9
STRATA, CLUSTERS = 10, 4
MEANS = np.linspace(-1, 1, STRATA)
MEANS *= np.sqrt(BETWEEN_STRATA / MEANS.var())
METHODS = {
    "unweighted": ("grey", "x"),
    "naive": ("tab:blue", "o"),
    "independent": ("tab:orange", "s"),
    "clusters": ("tab:green", "^"),
    "design": ("black", "D"),
}
NAMES = {
    "unweighted": "no survey weights",
    "naive": "naive",
    "independent": "J of independent records",
    "clusters": "J with clusters",
    "design": "J with clusters and strata",
}
KINDS = {
    "none": "No record weights",
    "value": "By the value alone",
    "product": "By the value and its survey weight",
}


# A two-stage sample


def sample(rng, icc, clusters=CLUSTERS, records=20, slope=0.1, noise=0.4):
    """Draw clusters in each of ten strata, and records in each cluster, informatively.

    In the population a value is the mean of its stratum, plus an effect of its cluster,
    plus an effect of its own, both normal. The chance of a cluster to be drawn is
    proportional to ``exp(slope * effect)``. So is that of a record, times the
    exponential of `noise` times a standard normal variable that has nothing to do with
    the value. In a population without end this moves the means of normal effects, and
    nothing else.

    Parameters
    ----------
    rng : numpy.random.Generator
    icc : float
        Variance between the clusters of a stratum, in [0, 0.9]; that of all values
        is 1.
    clusters, records : int
        Clusters in a stratum; records in a cluster.
    slope, noise : float

    Returns
    -------
    y, w : ndarray, shape (n,)
        Values; survey weights, with mean 1.
    cluster, stratum : ndarray of int, shape (n,)
    """
    cluster = np.repeat(np.arange(STRATA * clusters), records)
    stratum = cluster // clusters
    own = ELSEWHERE - icc
    effects = rng.normal(slope * icc, np.sqrt(icc), size=STRATA * clusters)[cluster]
    effects += rng.normal(slope * own, np.sqrt(own), size=len(cluster))
    luck = rng.normal(noise, 1, size=len(cluster))
    w = np.exp(-slope * effects - noise * luck)
    return MEANS[stratum] + effects, w / w.mean(), cluster, stratum


def coverage_of(samples):
    """Coverage of 95% intervals, by correlation, record weights and method.

    Parameters
    ----------
    samples : dict of DataFrame
        By correlation within clusters: a row for each sample, with columns
        "kind/estimate", "kind/total" (the sum of all weights) and "kind/method", a
        standard error; "none/plain" is the estimate without survey weights.

    Returns
    -------
    DataFrame
        Columns ``icc``, ``kind``, ``method``, ``target`` ("truth", which is 0, or
        "own", the point that the estimate goes to), ``coverage``, ``error``.
    """
    rows = []
    for icc, table in samples.items():
        for kind in KINDS:
            own = own_target(table, kind)
            for method in METHODS:
                if f"{kind}/{method}" not in table:
                    continue
                plain = method == "unweighted"
                estimate = table[f"{kind}/{'plain' if plain else 'estimate'}"]
                half = Z * table[f"{kind}/{method}"]
                targets = {"truth": 0.0} if plain else {"truth": 0.0, "own": own}
                for target, value in targets.items():
                    found = pp.coverage(estimate - half, estimate + half, value)
                    rows.append((icc, kind, method, target, *found))
    columns = ["icc", "kind", "method", "target", "coverage", "error"]
    return pd.DataFrame(rows, columns=columns)


def own_target(table, kind):
    """The point that estimates of a kind go to in large samples: a ratio of sums."""
    total = table[f"{kind}/total"]
    return (table[f"{kind}/estimate"] * total).sum() / total.sum()


# The real quarter


class Quarter(NamedTuple):
    """Households of the first quarter of 2016.

    Attributes
    ----------
    y : ndarray of int, shape (n,)
        Income in thousands of dollars, rounded; losses count as 0.
    w : ndarray, shape (n,)
        Survey weights, with mean 1.
    clusters, regions : ndarray, shape (n,)
        Labels; the region is that of most households of the cluster.
    certain : ndarray of bool, shape (n,)
        Whether the area is in every sample.
    """

    y: np.ndarray
    w: np.ndarray
    clusters: np.ndarray
    regions: np.ndarray
    certain: np.ndarray


def quarter():
    """Read the quarter."""
    table = pd.read_csv(FILE, dtype={"CID": str, "PSU": str})
    weight = table["FINLWT21"]
    region = table["REGION"].fillna(0).astype(int)
    return Quarter(
        np.rint(table["FINCBTAX"].clip(lower=0) / 1000).astype(int).to_numpy(),
        (weight / weight.mean()).to_numpy(),
        table["CID"].to_numpy(),
        region.groupby(table["CID"]).transform(lambda r: r.mode()[0]).to_numpy(),
        table["PSU"].notna().to_numpy(),
    )


def influence(y, w):
    """What each record adds to the error of a weighted mean, to first order."""
    return w * (y - w @ y / w.sum()) / w.sum()


def standard_errors(values, data):
    """Standard errors of a sum over the quarter, under what may be its design.

    Parameters
    ----------
    values : ndarray, shape (n,)
        What each record adds, as of :func:`influence`.
    data : Quarter

    Returns
    -------
    Series
    """
    # The one cluster whose region is not given joins the largest region.
    regions = np.where(data.regions == 0, 3, data.regions)
    records = np.arange(len(values)).astype(str)
    designs = {
        "independent": (None, None),
        "clusters": (data.clusters, None),
        "regions": (data.clusters, regions),
        "certain": (
            np.where(data.certain, records, data.clusters),
            np.where(data.certain, data.clusters, "other"),
        ),
    }
    return pd.Series(
        {
            name: pp.design_covariance(values, *design) ** 0.5
            for name, design in designs.items()
        }
    )


def negative_binomial(y, weight):
    """Log-likelihoods of counts at their weighted maximum likelihood estimate."""
    mu, counts = np.average(y, weights=weight), np.bincount(y, weight)
    values = np.arange(len(counts))

    def log_pmf(log_phi):
        phi = np.exp(log_phi)
        return stats.nbinom.logpmf(values, phi, phi / (phi + mu))

    best = optimize.minimize_scalar(
        lambda log_phi: -counts @ log_pmf(log_phi), bounds=(-5, 5), method="bounded"
    )
    return log_pmf(best.x)[y]


def jackknife(data, ceiling):
    """Standard errors of the mean under a ceiling on the product, by the jackknife.

    A cluster at a time is left out, and the record weights of the others are kept, or
    made again from an estimate without it. Bounds are log-likelihoods at the estimate.

    Returns
    -------
    kept, remade : float
    """
    y, w, labels = data.y, data.w, np.unique(data.clusters)
    every = np.minimum(1, ceiling / np.abs(w * negative_binomial(y, w)))
    means = []
    for label in labels:
        rest = w * (data.clusters != label)
        again = np.minimum(1, ceiling / np.abs(w * negative_binomial(y, rest)))
        means.append([np.average(y, weights=rest * a) for a in (every, again)])
    share = (len(labels) - 1) ** 2 / len(labels)
    return np.sqrt(share * np.var(means, axis=0, ddof=1))


def files_of(draws, n, m, rng):
    """Draw m files of n negative binomial counts, each from a draw of its own.

    Parameters
    ----------
    draws : xarray.Dataset
        With ``mu`` and ``phi``, by chain and draw.
    n, m : int
    rng : numpy.random.Generator
    """
    mu, phi = (draws[name].to_numpy().ravel() for name in ("mu", "phi"))
    chosen = rng.choice(len(mu), size=(m, 1), replace=False)
    mu, phi = mu[chosen], phi[chosen]
    return rng.negative_binomial(phi, phi / (phi + mu), size=(m, n))


def as_a_user(files, w, clusters):
    """Weighted mean and its standard error, as a user of synthetic files would.

    Returns
    -------
    dict
        The mean over the files and its Monte Carlo error; standard errors by the rules
        for partially and for fully synthetic data.
    """
    estimates = files @ w / w.sum()
    variances = [pp.design_covariance(influence(y, w), clusters) for y in files]
    partial = pp.combine_partially_synthetic(estimates, variances)
    m, between = len(files), estimates.var(ddof=1)
    full = (1 + 1 / m) * between - np.mean(variances)
    return {
        "mean": estimates.mean(),
        "error": np.sqrt(between / m),
        "partially synthetic": np.sqrt(partial.variance),
        "fully synthetic": np.sqrt(max(full, 0)),
        # That of a variance of m normal values, for its square root.
        "its error": between / np.sqrt(2 * (m - 1) * max(full, 1e-9)),
    }


def share_within(ratio):
    """Percent of samples that a 95% interval covers if its error is off by a ratio."""
    return 100 * (2 * stats.norm.cdf(Z * ratio) - 1)


# Figures


def show_coverage(table):
    """Coverage of 95% intervals of the mean, by the variance between clusters."""
    _, axes = plt.subplots(1, 3, figsize=(10, 4), layout="constrained", sharey=True)
    part = table[table["target"] == "truth"]
    for ax, (kind, title) in zip(axes, KINDS.items(), strict=True):
        of_kind = part[part["kind"] == kind]
        for method, (colour, marker) in METHODS.items():
            line = of_kind[of_kind["method"] == method]
            if len(line):
                ax.errorbar(
                    line["icc"],
                    line["coverage"],
                    2 * line["error"],
                    color=colour,
                    marker=marker,
                    ms=4,
                    capsize=2,
                    label=NAMES[method],
                )
        ax.axhline(0.95, color="grey", lw=1, ls=":")
        ax.set(xlabel="Variance between clusters (share)", title=title)
    own = table[(table["target"] == "own") & (table["kind"] == "product")]
    own = own[own["method"] == "design"]
    axes[2].plot(own["icc"], own["coverage"], "D--", color="black", mfc="none", ms=4)
    axes[2].plot(
        [], [], "D--", color="black", mfc="none", label="the same, of $\\theta^*$"
    )
    axes[0].set_ylabel("Coverage of the mean")
    handles = {
        text: handle
        for ax in axes
        for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    axes[0].figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=3
    )


def show_quarter(w, errors):
    """Survey weights of the quarter, and standard errors of its mean by design."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    left.hist(w, bins=np.arange(0, 4.6, 0.1), color="tab:blue")
    left.set(xlabel="Survey weight (mean 1)", ylabel="Households", yscale="log")
    names = {
        "independent": "independent households",
        "clusters": "73 clusters",
        "regions": "clusters, regions as strata",
        "certain": "named areas as strata",
    }
    place = np.arange(len(names))[::-1]
    right.barh(place, errors[list(names)], color="tab:blue")
    right.set(yticks=place, yticklabels=names.values())
    right.set_xlabel("Standard error (thousand dollars)")


def show_bounds(y, w, plain, weighted):
    """Bounds of the households without and with survey weights, by income."""
    _, axes = plt.subplots(
        1, 2, figsize=(9, 3.8), layout="constrained", sharex=True, sharey=True
    )
    order = np.argsort(w)
    for ax, bounds, title in zip(
        axes, (plain, weighted), ("Without survey weights", "With them"), strict=True
    ):
        dots = ax.scatter(
            y[order] + 1, bounds[order], c=w[order], s=9, cmap="viridis", vmin=0, vmax=4
        )
        ax.plot(y[bounds.argmax()] + 1, bounds.max(), "o", ms=13, mfc="none", mec="red")
        ax.set(xscale="log", xlabel="Income (thousand dollars, plus 1)", title=title)
    axes[0].set_ylabel("Bound (nats)")
    axes[0].figure.colorbar(dots, ax=axes, label="Survey weight")


WAYS = {
    "trim": ("tab:green", "^", "trim survey weights"),
    "ceiling": ("tab:orange", "s", "ceiling on each bound"),
    "scalar": ("tab:blue", "o", "one record weight for all"),
}


def show_prices(table, error):
    """What three ways to a smaller epsilon do to the mean, and to its spread."""
    _, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharex=True)
    for way, (colour, marker, label) in WAYS.items():
        line = table[table["way"] == way].sort_values("epsilon")
        style = {"color": colour, "marker": marker, "ms": 5, "label": label}
        axes[0].errorbar(
            line["epsilon"], line["shift"], 2 * line["shift error"], capsize=2, **style
        )
        axes[1].plot(line["epsilon"], line["noise"], **style)
    axes[0].axhspan(-error, error, color="grey", alpha=0.2)
    axes[1].axhline(error, color="grey", ls=":")
    axes[0].set(ylabel="Shift of the mean (thousand dollars)")
    axes[1].set(ylabel="Spread of a draw (thousand dollars)", ylim=(0, None))
    for ax in axes:
        ax.set(xlabel="Epsilon of one draw (nats)")
    axes[0].legend()


# Numbers for the text

SHOWN = {
    *(f"cover-none-unweighted-{icc}" for icc in ("0", "0.2")),
    *(f"cover-none-naive-{icc}" for icc in ("0", "0.02", "0.2")),
    *(f"cover-none-design-{icc}" for icc in ("0", "0.2")),
    *(f"cover-value-naive-{icc}" for icc in ("0", "0.2")),
    "cover-none-independent-0.2",
    "cover-none-clusters-0.05",
    "cover-product-design-0",
}


def numbers_of_coverage(table, samples):
    """Coverages in percent, by record weights, method and correlation, and targets."""
    found = {
        f"cover-{row.kind}-{row.method}-{row.icc:g}": 100 * row.coverage
        for row in table[table["target"] == "truth"].itertuples()
    }
    found = {name: value for name, value in found.items() if name in SHOWN}
    design = table[(table["method"] == "design") & (table["target"] == "own")]
    part = design.loc[design["kind"] == "product", "coverage"]
    found |= {"own-low-product": 100 * part.min(), "own-high-product": 100 * part.max()}
    every = pd.concat(samples.values())
    for kind in ("value", "product"):
        found[f"target-{kind}"] = own_target(every, kind)
    found["target-plain"] = every["none/plain"].mean()
    found["target-share"] = 100 * found["target-product"] / found["target-plain"]
    df = STRATA * (CLUSTERS - 1)
    found["cover-t"] = 100 * (2 * stats.t.cdf(Z, df) - 1)
    found["target-error"] = every["none/estimate"].std() / np.sqrt(len(every))
    return found | {
        "cover-error": 100 * table["error"].max(),
        "own-error": 100 * design["error"].max(),
    }


def numbers_of_fits(table, names):
    """Numbers of a table of fits, by names of a row and a column."""
    every = {
        f"{row}-{column.replace(' ', '-')}": table.loc[row, column]
        for row in table.index
        for column in table
    }
    return {name: every[name] for name in names}


def numbers_of_bounds(y, w, plain, weighted):
    """The largest bound without survey weights, and the largest two with them."""
    richest, heaviest = plain.argmax(), w.argmax()
    others = np.where(np.arange(len(w)) == heaviest, 0, weighted)
    return {
        "richest": int(y[richest]),
        "richest-bound": plain[richest],
        "heaviest": int(y[heaviest]),
        "heaviest-w": w[heaviest],
        "heaviest-bound": weighted[heaviest],
        "heaviest-own": weighted[heaviest] / w[heaviest],
        "next": int(y[others.argmax()]),
        "next-bound": others.max(),
    }
