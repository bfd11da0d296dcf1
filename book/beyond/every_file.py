"""Promises for every file, exactly on a grid: figures and numbers of the chapter."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import logsumexp

import pseudopost as pp
from companion import earner, standard_error

LARGEST = 400  # of a count, for methods that add noise
ROWS = 1000  # of a released file, whatever the confidential one has
BIN = 10  # width of the cells of the histogram
SPREAD = 6  # nats that are lost well off the mean, to either side
COLOURS = dict(
    zip(
        ["Published", "One side", "Centred", "Scaled", "Histogram", "Moments"],
        ["#E69F00", "#CC79A7", "#56B4E9", "#0072B2", "#009E73", "#999999"],
        strict=True,
    )
)


class Grid:
    """A negative binomial model on a grid that is fixed before any file is seen.

    Parameters
    ----------
    means, dispersions : int
        Points for the mean, from 10 to 1,000, and for the dispersion, from 1 to 200,
        each with the same prior probability on the log scale.

    Attributes
    ----------
    log_likelihood : ndarray, shape (G, V)
        Of the counts 0, ..., V - 1.
    highest : ndarray, shape (V,)
        Largest log-likelihood of each count on the grid.
    """

    def __init__(self, means, dispersions):
        mu = np.geomspace(10, 1000, means)
        phi = np.geomspace(1, 200, dispersions)
        self.mu, self.phi = (a.ravel() for a in np.meshgrid(mu, phi, indexing="ij"))
        share = self.phi / (self.phi + self.mu)
        self.log_likelihood = stats.nbinom.logpmf(
            np.arange(LARGEST + 1), self.phi[:, None], share[:, None]
        )
        self.highest = self.log_likelihood.max(axis=0)

    def draws(self, log_posterior, size):
        """Equally spaced quantiles of the posterior, as places on the grid."""
        total = np.exp(log_posterior).cumsum()
        places = np.searchsorted(total, (np.arange(size) + 0.5) / size * total[-1])
        return np.minimum(places, len(total) - 1)

    def files(self, log_posterior, n, size, rng):
        """Files of n counts, each from an exact draw; shape (size, n)."""
        at = rng.choice(len(self.mu), size=size, p=np.exp(log_posterior))
        mu, phi = self.mu[at, None], self.phi[at, None]
        return rng.negative_binomial(phi, phi / (phi + mu), size=(size, n))


def log_posterior(terms, counts):
    """Log probabilities of the grid under the terms of the records.

    Parameters
    ----------
    terms : ndarray, shape (G, V)
        What a record with each count contributes.
    counts : ndarray, shape (V,)
        How often each count occurs.
    """
    found = terms @ counts
    return found - logsumexp(found)


def terms_of(grid, kind, epsilon, weights=1.0):
    """What a record contributes at every point, by its count, shape (G, V).

    Parameters
    ----------
    grid : Grid
    kind : str
        "No promise", "Published", "One side", "Centred", or "Scaled", which is centred
        with a scalar weight.
    epsilon : float
    weights : float or ndarray, shape (V,)
        Of "Published".
    """
    ll = grid.log_likelihood
    if kind == "No promise":
        return ll
    if kind == "Published":
        return np.clip(weights * ll, -epsilon / 2, epsilon / 2)
    if kind == "One side":
        return pp.censored(ll, epsilon)
    if kind == "Centred":
        return pp.censored(ll, epsilon, reference=grid.highest)
    weight = min(1, epsilon / SPREAD)
    return pp.censored(ll, epsilon, weights=weight, reference=grid.highest)


def losses(terms, counts):
    """Largest privacy loss over the grid, for each neighbour of a file.

    The terms are the same with the neighbour, as they are if weights and cap are fixed.

    Returns
    -------
    added : ndarray, shape (V,)
        For one more record with each count.
    deleted : ndarray, shape (V,)
        For one record less; NaN where there is none.
    """
    own = log_posterior(terms, counts)[:, None]
    added = terms - logsumexp(own + terms, axis=0)
    deleted = -terms - logsumexp(own - terms, axis=0)
    deleted = np.where(counts > 0, np.abs(deleted).max(axis=0), np.nan)
    return np.abs(added).max(axis=0), deleted


def noisy_histogram(counts, n, epsilon, size, rng):
    """Files from a histogram with noise; epsilon-private for records added or deleted.

    The noise is two-sided geometric. Cells below 0 are emptied, and values are uniform
    within a cell.
    """
    cells = np.add.reduceat(counts, np.arange(0, LARGEST + 1, BIN))
    stay = 1 - np.exp(-epsilon)
    noise = np.subtract(*rng.geometric(stay, size=(2, size, len(cells))))
    return from_cells(cells + noise, n, rng)


def from_cells(cells, n, rng):
    """Files of n counts from noisy cells, shape (size, C)."""
    cells = np.maximum(cells, 0).astype(float)
    cells[cells.sum(axis=1) == 0] = 1
    share = cells / cells.sum(axis=1, keepdims=True)
    drawn = np.array([rng.choice(len(p), size=n, p=p) for p in share])
    return np.minimum(drawn * BIN + rng.integers(BIN, size=drawn.shape), LARGEST)


def noisy_moments(counts, n, epsilon, size, rng):
    """Files from a negative binomial model with noisy moments; epsilon-private.

    A third of epsilon each is for the number of records, their sum, and the sum of
    their squares.
    """
    values = np.arange(LARGEST + 1)
    sums = np.array([counts.sum(), counts @ values, counts @ values**2])
    scale = 3 / epsilon * np.array([1, LARGEST, LARGEST**2])
    records, first, second = (sums + rng.laplace(0, scale, size=(size, 3))).T
    records = np.maximum(records, 1)
    mean = np.clip(first / records, 1, LARGEST)
    variance = np.clip(second / records - mean**2, mean * 1.01, None)
    phi = (mean**2 / (variance - mean))[:, None]
    share = phi / (phi + mean[:, None])
    return np.minimum(rng.negative_binomial(phi, share, size=(size, n)), LARGEST)


def utility(grid, files, epsilons, size, rng):
    """Distance of releases from their files, at equal promise.

    Parameters
    ----------
    grid : Grid
    files : list of ndarray, shape (1000,)
    epsilons : sequence of float
    size : int
        Releases of each file, by each mechanism, at each epsilon.
    rng : numpy.random.Generator

    Returns
    -------
    DataFrame
        ``mechanism``, ``epsilon``, ``file`` and the means of :func:`distances`.
    """
    rows = []
    for epsilon in epsilons:
        for mechanism in ("No promise", *COLOURS):
            make = {"Histogram": noisy_histogram, "Moments": noisy_moments}
            if mechanism not in make:
                terms = terms_of(grid, mechanism, epsilon)
            for place, y in enumerate(files):
                counts = np.bincount(y, minlength=LARGEST + 1)
                if mechanism in make:
                    z = make[mechanism](counts, ROWS, epsilon, size, rng)
                else:
                    z = grid.files(log_posterior(terms, counts), ROWS, size, rng)
                found = distances(y, z).mean()
                rows.append(
                    {"mechanism": mechanism, "epsilon": epsilon, "file": place, **found}
                )
    return pd.DataFrame(rows)


def distances(y, files):
    """What is lost in each file: Wasserstein distance, and errors of two numbers.

    Parameters
    ----------
    y : ndarray, shape (n,)
    files : ndarray, shape (m, n)

    Returns
    -------
    DataFrame
        ``distance`` in counts; ``mean`` and ``q90``, absolute errors in counts.
    """
    ordered = np.sort(files, axis=1)
    return pd.DataFrame(
        {
            "distance": np.abs(ordered - np.sort(y)).mean(axis=1),
            "mean": np.abs(files.mean(axis=1) - y.mean()),
            "q90": np.abs(np.quantile(files, 0.9, axis=1) - np.quantile(y, 0.9)),
        }
    )


def weights_of(grid, counts, kind, epsilon, size=1000):
    """Weight of each count, from the file: computed anew for each file.

    Parameters
    ----------
    grid : Grid
    counts : ndarray, shape (V,)
    kind : str
        "LW", or "Ceiling" of half of epsilon. Counts that do not occur get the weight
        that they would have.
    epsilon : float
    size : int
        Draws over which bounds are expected.
    """
    at = grid.draws(log_posterior(grid.log_likelihood, counts), 4 * size)
    bounds = pp.expected_bounds(grid.log_likelihood[at], size)()
    if kind == "Ceiling":
        return np.minimum(1, epsilon / 2 / bounds)
    there = bounds[counts > 0]
    return np.clip((there.max() - bounds) / np.ptp(there), 0, 1)


def recomputed_losses(grid, counts, kind, epsilon, neighbours):
    """Largest privacy loss if the weights inside the published cap are computed anew.

    Parameters
    ----------
    grid : Grid
    counts : ndarray, shape (V,)
    kind : str
        As of :func:`weights_of`.
    epsilon : float
        Twice the cap.
    neighbours : list of tuple of int
        A count, and 1 or -1 for a record more or less.

    Returns
    -------
    list of float
        In nats, over the whole grid.
    """

    def posterior(file):
        weights = weights_of(grid, file, kind, epsilon)
        return log_posterior(terms_of(grid, "Published", epsilon, weights), file)

    own, found = posterior(counts), []
    for count, change in neighbours:
        other = counts.copy()
        other[count] += change
        found.append(np.abs(posterior(other) - own).max())
    return found


def unfinished(log_target, start, reach, steps):
    """Distribution of a random-walk Metropolis chain after each of some steps.

    Parameters
    ----------
    log_target : ndarray, shape (G,)
    start : int
    reach : int
        A proposal is uniform over so many places on either side.
    steps : sequence of int
        In rising order.

    Returns
    -------
    dict of ndarray, shape (G,)
    """
    n = len(log_target)
    move = np.zeros((n, n))
    for step in [*range(-reach, 0), *range(1, reach + 1)]:
        here = np.arange(max(0, -step), min(n, n - step))
        ratio = np.exp(np.minimum(0, log_target[here + step] - log_target[here]))
        move[here, here + step] = ratio / (2 * reach)
    move[np.arange(n), np.arange(n)] = 1 - move.sum(axis=1)
    at, done, found = np.eye(n)[start], 0, {}
    for step in steps:
        for _ in range(step - done):
            at = at @ move
        done, found[step] = step, at
    return found


def exceptions(first, second, epsilon):
    """Smallest delta with which two distributions are epsilon-close, on both sides."""
    return max(
        np.maximum(p - np.exp(epsilon) * q, 0).sum()
        for p, q in ((first, second), (second, first))
    )


def predicted(model, fit, m, rng):
    """Incomes given the released predictors alone, shape (m, n).

    Components are drawn from their shares, and not given the confidential incomes. The
    files come from evenly spaced draws, chain after chain.

    Parameters
    ----------
    model : MixtureSynthesizer
    fit : xarray.DataTree
    m : int
    rng : numpy.random.Generator
    """
    posterior = fit["posterior"]
    pi, beta, sigma = (
        posterior[name].to_numpy().reshape(-1, *posterior[name].shape[2:])
        for name in ("pi", "beta", "sigma")
    )
    files, n = [], len(model.y)
    for s in (np.arange(m) + 0.5) / m * len(pi):
        share, scale = pi[int(s)], sigma[int(s)]
        component = rng.choice(len(share), size=n, p=share / share.sum())
        mean = (model.X * beta[int(s)][component]).sum(axis=1)
        files.append(np.exp(rng.normal(mean, scale[component])) - model.shift)
    return np.array(files)


def noisy_incomes(y, epsilon, m, rng, shift=10_000):
    """Incomes from a noisy histogram on the log scale, dealt out at random, (m, n).

    As :func:`noisy_histogram`, in 60 cells of width 0.25 of log(y + shift), from 0.
    """
    edges = np.arange(61) / 4
    cells = np.histogram(np.log(y + shift), edges)[0]
    stay = 1 - np.exp(-epsilon)
    noisy = np.maximum(cells + np.subtract(*rng.geometric(stay, (2, m, 60))), 0)
    drawn = np.array([rng.choice(60, size=len(y), p=c / c.sum()) for c in noisy])
    return np.exp(edges[drawn] + rng.random(drawn.shape) / 4) - shift


def kept(households, released):
    """What files keep of the confidential incomes, less what these have, in dollars.

    Parameters
    ----------
    households : DataFrame
        With a column ``income``.
    released : dict of ndarray, shape (m, n)

    Returns
    -------
    DataFrame
        Mean, 90% quantile and coefficient of not earning: the mean over files, and its
        standard error, by chain of a fit where there is one.
    """
    income = households["income"].to_numpy(dtype=float)

    def measured(files):
        values = {"mean": files.mean(axis=1), "q90": np.quantile(files, 0.9, axis=1)}
        return values | {"earner": earner(households, files)[0]}

    own, rows = measured(income[None]), {}
    for name, files in released.items():
        off = {key: value - own[key] for key, value in measured(files).items()}
        rows[name] = {
            (measure, part): how(values)
            for measure, values in off.items()
            for part, how in (("off", np.mean), ("error", standard_error))
        }
    return pd.DataFrame(rows).T


# Figures


def show_terms(grid, epsilon, means, dispersion):
    """What a record contributes by its count, at some parameters, with four windows."""
    kinds = ["Published", "One side", "Centred", "Scaled"]
    _, axes = plt.subplots(
        2, 2, figsize=(8, 5), layout="constrained", sharex=True, sharey=True
    )
    styles = ["-", "--", ":"]
    for ax, kind in zip(axes.flat, kinds, strict=True):
        terms = terms_of(grid, kind, epsilon)
        for mean, style in zip(means, styles, strict=True):
            off = np.abs(np.log(grid.mu / mean)) + np.abs(np.log(grid.phi / dispersion))
            label = f"mean {mean}"
            ax.plot(
                terms[off.argmin(), :301], color=COLOURS[kind], ls=style, label=label
            )
        ax.set(title=kind)
    for ax in axes[:, 0]:
        ax.set_ylabel("Contribution (nats)")
    for ax in axes[-1]:
        ax.set_xlabel("Count of the record")
    axes[0, 1].legend()


def show_utility(table, measures):
    """Distance by epsilon for each mechanism, mean over files and its error."""
    _, axes = plt.subplots(1, len(measures), figsize=(10, 4.2), layout="constrained")
    for ax, (measure, label) in zip(axes, measures.items(), strict=True):
        by = table.groupby(["mechanism", "epsilon"])[measure]
        mean, error = by.mean(), by.sem()
        for mechanism, colour in COLOURS.items():
            line, bar = mean[mechanism], 1.96 * error[mechanism]
            ax.errorbar(
                line.index,
                line,
                bar,
                fmt="o-",
                ms=3,
                color=colour,
                capsize=2,
                label=mechanism,
            )
        floor = mean["No promise"]
        ax.plot(floor.index, floor, color="black", ls=":", label="No promise")
        ax.set(xscale="log", yscale="log", xlabel="Epsilon, for every file (nats)")
        ax.set_ylabel(label)
    axes[0].figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7
    )


def show_broken(table):
    """Largest privacy loss by epsilon where weights are computed anew, and fixed."""
    styles = {"LW": ("o", "#D55E00"), "Ceiling": ("s", "black")}
    _, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
    for kind, part in table.groupby("weights", sort=False):
        marker, colour = styles.get(kind, ("D", COLOURS["Scaled"]))
        largest = part.groupby("epsilon")["loss"].max()
        ax.plot(largest.index, largest, color=colour, marker=marker, label=kind)
    ends = [table["epsilon"].min(), table["epsilon"].max()]
    ax.plot(ends, ends, color="lightgrey", lw=6, label="what was promised", zorder=0)
    ax.set(xscale="log", yscale="log", xlabel="Epsilon, twice the cap (nats)")
    ax.set_ylabel("Largest loss found (nats)")
    ax.legend()


def show_unfinished(table):
    """Probability of an exception by the steps of a chain, by file and proposal."""
    figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
    colours = dict(zip(table.columns.unique(0), ["black", "#0072B2"], strict=True))
    for (file, reach), line in table.items():
        style = "o-" if reach == 1 else "s--"
        ax.plot(line.index, line.clip(lower=1e-12), style, color=colours[file], ms=4)
        ax.lines[-1].set_label(f"{file}, steps of up to {reach}")
    ax.set(xscale="log", yscale="log", xlabel="Steps of the chain", ylabel="Delta")
    figure.legend(loc="outside lower center", ncols=2)


# Claims and numbers for the text


def claims_of_promise(promise, utility):
    """P3, section 1.5: a guarantee without asymptotics, at a loss of utility.

    Parameters
    ----------
    promise : DataFrame
        Largest losses, by file and window; the columns are values of epsilon.
    utility : DataFrame
        As of :func:`utility`.
    """
    share = (promise / promise.columns.to_numpy(dtype=float)).max(axis=None)
    mean = utility.pivot_table("distance", "epsilon", "mechanism")
    lost = mean[["Published", "Scaled"]].sub(mean["No promise"], axis=0)
    at = lost.index[0]
    return {
        "P3-Fut3": (
            f"largest loss over epsilon {share:.2f}; distance at {at} nats: "
            f"Published {mean.loc[at, 'Published']:.0f}, "
            f"Scaled {mean.loc[at, 'Scaled']:.0f}, "
            f"without a promise {mean.loc[at, 'No promise']:.1f}",
            share <= 1 + 1e-9 and bool((lost.loc[at] > 0).all()),
        )
    }


def numbers_of_utility(table):
    """Mean distance, and its standard error between files, by mechanism and epsilon."""
    by = table.groupby(["mechanism", "epsilon"])["distance"]
    found = {
        f"{mechanism}-{epsilon:g}": mean
        for (mechanism, epsilon), mean in by.mean().items()
    }
    return found | {
        f"{mechanism}-{epsilon:g}-error": error
        for (mechanism, epsilon), error in by.sem().items()
    }


def numbers_of_kept(table):
    """Sizes of differences from the file, and their errors, by release and measure."""
    return {
        f"{name.split(',')[0]}-{name[-6:]}-{measure}-{part}": abs(value)
        for name, row in table.iterrows()
        for (measure, part), value in row.items()
    }
