"""What an intruder learns of a value, controls, figures and numbers of the chapter."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from count_grid import Grid
from scipy import stats
from scipy.special import logsumexp

import pseudopost as pp
from companion import shuffled
from pseudopost.deletion import log_losses

COLOURS = pp.plots.PALETTE | {"Ceiling": "black"}


def controls(y, codes, files, rng):
    """Releases whose danger is known: the file itself, noise, and incomes dealt out.

    Parameters
    ----------
    y : ndarray, shape (n,)
    codes : ndarray of int, shape (n,)
        Pattern of each record.
    files : int
    rng : numpy.random.Generator

    Returns
    -------
    dict of ndarray, shape (files, n); the file itself is (1, n)
    """
    groups = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    return {
        "Confidential": y[None].astype(float),
        "Noisy": y * np.exp(rng.normal(0, 0.05, (files, len(y)))),
        "Permuted": shuffled(y, groups, files, rng),
    }


# Counts, on a grid


class Counts(Grid):
    """Pseudo posteriors under every guess of a count.

    Parameters
    ----------
    y : ndarray of int, shape (n,)
    guesses : ndarray of int
    points : int
        Of each side of the grid of parameters.
    size : int
        Draws over which the bounds of LW are expected.

    Attributes
    ----------
    values, counts : ndarray, shape (V,)
        All counts that occur or are guessed, and how often each occurs.
    table : ndarray, shape (G, 1000)
        Log density of every count below a thousand.
    """

    def __init__(self, y, guesses, points, size):
        self.y, self.guesses = y, np.asarray(guesses)
        values = np.union1d(y, guesses)
        self.counts = np.array([(y == value).sum() for value in values], float)
        sides = np.linspace(4.5, 4.72, points), np.linspace(0.03, 0.13, points)
        super().__init__(values, *sides, size)
        self.table = log_densities(self.mu, self.phi)

    def totals(self, target, kind):
        """Weight times count of each value under each guess of one record, (G, V)."""
        rows = []
        for guess in self.guesses:
            file = self.counts.copy()
            file[self.values == target] -= 1
            file[self.values == guess] += 1
            rows.append(file * self.weights(file, kind))
        return np.array(rows)

    def prior(self, target):
        """Probability of each guess given all other records, without weights."""
        others = self.counts - (self.values == target)
        at = np.searchsorted(self.values, self.guesses)
        log_mass = self.log_posterior(others)[:, None] + self.log_likelihood[:, at]
        mass = np.exp(logsumexp(log_mass, axis=0)) * np.gradient(self.guesses * 1.0)
        return mass / mass.sum()

    def close(self, target):
        """Which guesses are within 20% of the truth."""
        low, high = pp.ball_ends([target])
        return (self.guesses >= low) & (self.guesses <= high)

    def files(self, log_posterior, m, rng):
        """Draw m points, and a file of counts from each."""
        points = rng.choice(len(self.mu), size=m, p=np.exp(log_posterior))
        phi = self.phi[points, None]
        share = phi / (phi + self.mu[points, None])
        return points, rng.negative_binomial(phi, share, size=(m, len(self.y)))


def log_densities(mu, phi):
    """Log density of every count below a thousand at each point, (P, 1000)."""
    mu, phi = (np.ravel(a)[:, None] for a in (mu, phi))
    return stats.nbinom.logpmf(np.arange(1000), phi, phi / (phi + mu))


def log_release(files, table):
    """Log density of files of counts at each point, shape (m, P).

    Parameters
    ----------
    files : ndarray of int, shape (m, n)
    table : ndarray, shape (P, 1000)
        As of :func:`log_densities`.
    """
    tally = np.array([np.bincount(file, minlength=1000) for file in files])
    return tally @ table.T


def exact_evidence(log_posteriors, own, log_release=None):
    """Log probability of files under each guess less that under the truth, (m, G).

    Parameters
    ----------
    log_posteriors : ndarray, shape (G, P)
    own : int
        Which guess is the truth.
    log_release : ndarray, shape (m, P), optional
        By default each point of the grid is itself released, and m = P.
    """
    ratio = (log_posteriors - log_posteriors[own]).T
    if log_release is None:
        return ratio
    log_share = log_release + log_posteriors[own]
    share = np.exp(log_share - logsumexp(log_share, axis=1, keepdims=True))
    return np.log(share @ np.exp(ratio))


def learned_of_count(model, target, kind, repeats, rng, m=20):
    """What the intruder learns of a count from m draws, and from m files.

    Parameters
    ----------
    model : Counts
    target : int
        Count of the record that she guesses, one of the guesses.
    kind : str
        As of :meth:`Counts.weights`.
    repeats : int
        Releases that are simulated.
    rng : numpy.random.Generator
    m : int

    Returns
    -------
    DataFrame
        A row for each release: probability of a guess that is close, ``draws`` and
        ``files``, and the log of the factor by which that of the truth rises, in nats.
    """
    posteriors = model.log_posterior(model.totals(target, kind))
    prior, close = model.prior(target), model.close(target)
    own = int(np.flatnonzero(model.guesses == target)[0])
    of_draws = exact_evidence(posteriors, own)
    rows = []
    for _ in range(repeats):
        points, files = model.files(posteriors[own], m, rng)
        evidence = {
            "draws": of_draws[points],
            "files": exact_evidence(posteriors, own, log_release(files, model.table)),
        }
        row = {}
        for what, values in evidence.items():
            after = pp.guess_probabilities(values, prior)
            row |= {
                what: after[close].sum(),
                f"nats, {what}": np.log(after[own] / prior[own]),
            }
        rows.append(row)
    return pd.DataFrame(rows)


def targets_of(model):
    """The smallest count, the next, the middle one and the largest of a file."""
    ordered = np.sort(model.y)
    names = "smallest", "second smallest", "middle", "largest"
    places = 0, 1, len(ordered) // 2, -1
    return {n: int(ordered[k]) for n, k in zip(names, places, strict=True)}


def file_of_counts(y, step, points, size=1000):
    """Return the counts with the guesses for its targets, and the ceiling of LW."""
    ordered = np.sort(y)
    targets = ordered[[0, 1, len(y) // 2, -1]]
    guesses = np.union1d(np.arange(0, 361, step), targets)
    model = Counts(y, guesses, points, size)
    weights = model.weights(model.counts, "LW")
    bounds = model.expected_bounds(weights * model.counts)
    model.ceiling = (weights * bounds).max()  # half of the epsilon of LW
    return model


def riskiest_of_files(seeds, step, points, repeats, rng):
    """What twenty draws give away of the riskiest count, in files of P3's population.

    Parameters
    ----------
    seeds : sequence of int
    step : int
        Between guesses.
    points, repeats : int
        As of :class:`Counts` and :func:`learned_of_count`.
    rng : numpy.random.Generator

    Returns
    -------
    DataFrame
        By seed: ``count``, ``gap`` between its expected bound and the next, and the
        mean log factor in nats, ``Unweighted`` and ``LW``, with standard errors.
    """
    rows = {}
    for seed in seeds:
        y = np.asarray(pp.datasets.negative_binomial_mixture(1000, random_seed=seed))
        model = file_of_counts(y, step, points)
        f = model.expected_bounds(model.counts)
        there = np.repeat(np.arange(len(f)), model.counts.astype(int))
        first, second = there[np.argsort(-f[there], kind="stable")[:2]]
        rows[seed] = {"count": int(model.values[first]), "gap": f[first] - f[second]}
        for kind in ("Unweighted", "LW"):
            nats = learned_of_count(model, model.values[first], kind, repeats, rng)[
                "nats, draws"
            ]
            rows[seed] |= {kind: nats.mean(), f"{kind}, se": nats.sem()}
    return pd.DataFrame(rows).T.astype({"count": int}).rename_axis("seed")


# Households


def as_arrays(fit, thin=1):
    """Parameters of a mixture, draw after draw: pi, beta and sigma."""
    kept = fit["posterior"].to_dataset().isel(draw=slice(None, None, thin))
    found = []
    for name in ("pi", "beta", "sigma"):
        values = kept[name].transpose("chain", "draw", "component", ...).to_numpy()
        found.append(values.reshape(-1, *values.shape[2:]))
    return found


def log_normal(value, mean, sd):
    """Log density of a normal distribution."""
    return -0.5 * ((value - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)


class Household:
    """One household in one fit of the mixture, under all guesses of its income.

    Parameters
    ----------
    model : MixtureSynthesizer
    parameters : list of ndarray
        As of :func:`as_arrays`.
    i : int
        Place of the household.
    t : ndarray, shape (G,)
        Guesses of the logarithm of its income plus the shift.

    Attributes
    ----------
    log_density : ndarray, shape (S, G)
        Of each guess at each draw.
    at_truth : ndarray, shape (S,)
    """

    def __init__(self, model, parameters, i, t):
        pi, beta, self.sigma = parameters
        with np.errstate(divide="ignore"):
            log_pi = np.log(pi)
        self.mean, self.log_pi = beta @ model.X[i], log_pi
        self._truth = log_normal(model.log_y[i], self.mean, self.sigma)
        self._guesses = log_normal(t[:, None], self.mean[:, None], self.sigma[:, None])
        self.at_truth = logsumexp(log_pi + self._truth, axis=1)
        self.log_density = logsumexp(log_pi[:, None] + self._guesses, axis=2)

    def own_row(self, rng, power=1.0):
        """Log density of the household's own synthetic value under each guess, (S, G).

        One value for each draw: a component given the confidential income, as the
        package and P1 allocate records, and a value from it. With a `power` below 1 the
        income counts less, as with ``allocation="weighted"``.
        """
        share = self.log_pi + power * self._truth
        upto = np.cumsum(np.exp(share - share.max(axis=1, keepdims=True)), axis=1)
        k = (upto < rng.random((len(upto), 1)) * upto[:, -1:]).sum(axis=1)
        s = np.arange(len(k))
        value = rng.normal(self.mean[s, k], self.sigma[s, k])
        log_new = log_normal(value[:, None], self.mean, self.sigma)
        share = self.log_pi[:, None] + power * self._guesses
        return logsumexp(share + log_new[:, None], axis=2) - logsumexp(share, axis=2)


def weights_under(y, mates, i, incomes, order):
    """Weights of the pattern of a household under each guess of its income.

    Parameters
    ----------
    y : ndarray, shape (n,)
    mates : ndarray of int, shape (p,)
        Records of the pattern, the household's own last.
    i : int
        The household, the last of `mates`.
    incomes : ndarray, shape (G,)
    order : int
        0 for no weights, 1 for marginal ones, 2 for pairwise ones.

    Returns
    -------
    ndarray, shape (G, p)
    """
    if order == 0:
        return np.ones((len(incomes), len(mates)))
    rows = []
    for income in incomes:
        file = np.r_[y[mates[:-1]], income]
        rows.append(pp.pairwise_weights(file, None, order=order, **WEIGHTING))
    return np.array(rows)


WEIGHTING = {"radius": 0.2, "ball": "signed", "alone": 1.0}


def learned_of_household(model, parameters, log_likelihood, i, codes, orders, t, rng):
    """What the intruder learns of one income from the releases of several fits.

    Parameters
    ----------
    model : MixtureSynthesizer
    parameters, log_likelihood : dict
        By name of the fit, the unweighted one first: as of :func:`as_arrays`, and log
        densities of all records at the draws, shape (S, n).
    i : int
    codes : ndarray of int, shape (n,)
    orders : dict of int
        By name of the fit, as of :func:`weights_under`.
    t : ndarray, shape (G,)
    rng : numpy.random.Generator

    Returns
    -------
    list of dict
        A row for each fit, number of files, and chain: probability of a close guess,
        ``before`` and after the ``parameters``, the ``own row`` and ``both``, and
        ``k_hat``, the largest over guesses that matter.
    """
    y, incomes = model.y, np.exp(t) - model.shift
    low, high = pp.ball_ends(y[[i]])
    close = (incomes >= low) & (incomes <= high)
    mates = np.append(np.setdiff1d(np.flatnonzero(codes == codes[i]), [i]), i)
    rows, prior = [], None
    for name, order in orders.items():
        here = Household(model, parameters[name], i, t)
        change = here.log_density - here.at_truth[:, None]
        if prior is None:
            log_mean = (change + log_losses(change, "change")[0])[0]
            prior = np.exp(log_mean - logsumexp(log_mean))
        if order:
            old = weights_under(y, mates, i, y[[i]], order)[0]
            new = weights_under(y, mates, i, incomes, order)
            others = (new - old)[:, :-1] @ log_likelihood[name][:, mates[:-1]].T
            change = here.log_density * new[:, -1] + others.T
            change -= (old[-1] * here.at_truth)[:, None]
        # As of guess_evidence, which does not return k-hat.
        losses, k_hat = log_losses(change, "change")
        evidence, k_hat = -losses, k_hat[prior > 1e-3].max()
        own = here.own_row(rng)
        seen = {"parameters": evidence, "own row": own, "both": evidence + own}
        chains = model.default_chains
        for m in (1, 20):
            # Draws that are released together lie far apart in a chain.
            after = {
                what: close_after(values.reshape(chains, m, -1, len(t)), prior, close)
                for what, values in seen.items()
            }
            rows += [
                {
                    "record": i,
                    "fit": name,
                    "files": m,
                    "chain": chain,
                    "weight": old[-1] if order else 1.0,
                    "before": prior[close].sum(),
                    "k_hat": k_hat,
                }
                | {what: values[chain] for what, values in after.items()}
                for chain in range(chains)
            ]
    return rows


def close_after(evidence, prior, close):
    """Mean probability of a close guess by chain: evidence (chains, m, sets, G)."""
    total = evidence.sum(axis=1) + np.log(np.maximum(prior, 1e-300))
    share = np.exp(total - logsumexp(total, axis=-1, keepdims=True))
    return share[..., close].sum(axis=-1).mean(axis=1)


def pooled(table):
    """Mean over households, and its standard error between chains, by fit and files."""
    what = ["before", "parameters", "own row", "both"]
    by_chain = table.groupby(["fit", "files", "chain"], sort=False)[what].mean()
    grouped = by_chain.groupby(level=["fit", "files"], sort=False)
    error = grouped.std() / np.sqrt(grouped.size().iloc[0])
    return grouped.mean(), error


# Rulers


def matching(y, releases, risk_of, radius, patterns):
    """Identification risk beside the measures of matching, by release and file.

    Parameters
    ----------
    y : ndarray, shape (n,)
    releases : dict of ndarray, shape (m, n)
    risk_of : callable
        Takes a file and returns the identification risk of each record.
    radius : float
    patterns : DataFrame, shape (n, ...)

    Returns
    -------
    DataFrame
        Columns ``release``, ``file``, ``risk``, the mean, ``expected``, expected
        matches as a share of the records, ``true`` and ``false``.
    """
    rows = []
    for name, files in releases.items():
        rates = pp.match_rates(y, files, radius, patterns)
        for file, z in enumerate(files):
            rows.append(
                {
                    "release": name,
                    "file": file,
                    "risk": risk_of(z).mean(),
                    "expected": rates.expected[file] / len(y),
                    "true": rates.true_rate[file],
                    "false": rates.false_rate[file],
                }
            )
    return pd.DataFrame(rows)


def means_and_errors(values):
    """Mean over the files of each release, and its standard error, by ruler.

    Parameters
    ----------
    values : DataFrame
        Columns ``release``, ``file``, ``ruler`` and ``value``.
    """

    def table(how):
        found = values.pivot_table(
            "value", "ruler", "release", how, sort=False, dropna=False
        )
        return found.fillna(0)

    return table("mean"), table("sem")


def scaled(mean, error, worst="Confidential", best="Permuted"):
    """Put rulers on one scale: 1 for the confidential file, 0 for the best control.

    A ruler that does not tell these two apart, by three standard errors of their
    difference, gets no numbers.

    Parameters
    ----------
    mean, error : DataFrame
        A row for each ruler, a column for each release.
    """
    width = mean[worst] - mean[best]
    blind = width.abs() <= 3 * np.hypot(error[worst], error[best])
    width = width.mask(blind | (width == 0))
    return mean.sub(mean[best], axis=0).div(width, axis=0), error.div(
        width.abs(), axis=0
    )


def of_attack(table, files):
    """Gain of the intruder of one income, of what was left to gain: 1 if all is known.

    Parameters
    ----------
    table : DataFrame
        As of :func:`learned_of_household`.
    files : int

    Returns
    -------
    mean, error : Series
        By release. Confidential and permuted files give all away to her; so, nearly,
        does noise of 5%.
    """
    found = table[table["files"] == files]
    by_chain = found.groupby(["fit", "chain"], sort=False)[["before", "both"]].mean()
    gain = (by_chain["both"] - by_chain["before"]) / (1 - by_chain["before"])
    grouped = gain.groupby(level="fit", sort=False)
    mean, error = grouped.mean(), grouped.sem()
    low, high = np.log(0.8) / np.sqrt(2) / 0.05, np.log(1.2) / np.sqrt(2) / 0.05
    known = {
        "Confidential": 1.0,
        "Permuted": 1.0,
        "Noisy": stats.norm.cdf(high) - stats.norm.cdf(low),
    }
    return (
        pd.concat([mean, pd.Series(known)]),
        pd.concat([error, pd.Series(dict.fromkeys(known, 0.0))]),
    )


# Figures


def show_counts(learned):
    """How much likelier the truth becomes, by record and weighting, for two releases."""
    people = list(dict.fromkeys(who for who, _ in learned))
    kinds = list(dict.fromkeys(kind for _, kind in learned))
    _, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for ax, what in zip(axes, ("draws", "files"), strict=True):
        for k, kind in enumerate(kinds):
            nats = [learned[who, kind][f"nats, {what}"] for who in people]
            ax.errorbar(
                np.arange(len(people)) + 0.15 * (k - 1.5),
                [values.mean() for values in nats],
                2 * np.array([values.sem() for values in nats]),
                fmt="o",
                color=COLOURS[kind],
                label=kind,
            )
        ax.axhline(0, color="black", lw=0.5)
        ax.set_xticks(range(len(people)), people)
        ax.set(title=f"Twenty {what}", xlabel="Count that she guesses")
    axes[0].set_ylabel("Log factor of the truth (nats)")
    axes[0].legend()


def show_households(y, table, files=20):
    """Chance of a close guess before and after a release, by income and synthesizer."""
    found = table[table["files"] == files]
    means = found.groupby(["fit", "record"], sort=False).mean(numeric_only=True)
    fits = list(dict.fromkeys(found["fit"]))
    _, axes = plt.subplots(
        1, len(fits), figsize=(10, 4), layout="constrained", sharey=True
    )
    for ax, name in zip(axes, fits, strict=True):
        of_fit = means.loc[name]
        income = y[of_fit.index]
        for what, style in (
            ("before", {"color": "black", "ls": ":"}),
            ("parameters", {"color": COLOURS[name], "ls": "-", "marker": "o"}),
            ("own row", {"color": COLOURS[name], "ls": "--", "marker": "^"}),
        ):
            ax.plot(income, of_fit[what], label=what, markersize=4, **style)
        ax.set_xscale("symlog", linthresh=10_000)
        ax.set(title=name, xlabel="Income (dollars)")
        ax.legend()
    axes[0].set_ylabel("Chance of a close guess")


def show_rulers(mean, error):
    """Rulers by release, each from 0, the permuted file, to 1, the confidential one."""
    names = {
        "Noisy": ("#999999", "s"),
        "Permuted": ("black", "x"),
        "Confidential": ("black", "D"),
        "Unweighted": (COLOURS["Unweighted"], "o"),
        "Marginal": (COLOURS["Marginal"], "v"),
        "Pairwise": (COLOURS["Pairwise"], "^"),
    }
    _, ax = plt.subplots(figsize=(6, 7), layout="constrained")
    places = np.arange(len(mean))[::-1]
    for k, (name, (colour, marker)) in enumerate(names.items()):
        ax.errorbar(
            mean[name],
            places + 0.13 * (2.5 - k),
            xerr=2 * error[name],
            fmt=marker,
            color=colour,
            label=name,
            markersize=5,
        )
    for place, blind in zip(places, mean["Unweighted"].isna(), strict=True):
        if blind:
            ax.text(0.5, place, "cannot tell the two apart", ha="center", va="center")
    for x in (0, 1):
        ax.axvline(x, color="black", lw=0.5)
    ax.set_yticks(places, mean.index.str.replace(": ", ":\n"))
    ax.set_xlabel("0: permuted file (attack: no release)\n1: confidential file")
    ax.figure.legend(loc="outside lower center", ncols=3)


# Numbers for the text


def numbers_of_counts(learned, model, targets):
    """Log factors by record and weighting, chances, and the records' counts."""

    def nats(who, kind, what="draws"):
        return learned[who, kind][f"nats, {what}"]

    first, second, middle, last = targets
    before = {
        who: model.prior(target)[model.close(target)].sum()
        for who, target in targets.items()
    }
    return {
        "count-smallest": targets[first],
        "count-second": targets[second],
        "count-largest": targets[last],
        "middle-before": before[middle],
        "middle-after": learned[middle, "Unweighted"]["draws"].mean(),
        "middle-error": learned[middle, "Unweighted"]["draws"].sem(),
        "nats-plain": nats(first, "Unweighted").mean(),
        "nats-plain-error": nats(first, "Unweighted").sem(),
        "nats-LW": nats(first, "LW").mean(),
        "nats-LW-error": nats(first, "LW").sem(),
        "nats-LW-files": nats(first, "LW", "files").mean(),
        "nats-LW-files-error": nats(first, "LW", "files").sem(),
        "chance-before": 1e4 * before[first],
        "chance-LW": 100 * learned[first, "LW"]["draws"].mean(),
        "chance-LW-error": 100 * learned[first, "LW"]["draws"].sem(),
        "second-plain": nats(second, "Unweighted").mean(),
        "second-LW": nats(second, "LW").mean(),
        "last-plain": nats(last, "Unweighted").mean(),
        "last-LW": nats(last, "LW").mean(),
        "nats-Ceiling": nats(first, "Ceiling").mean(),
        "second-Ceiling": nats(second, "Ceiling").mean(),
        "nats-CW": max(abs(nats(who, "CW").mean()) for who in (first, second, last)),
    }


def numbers_of_files(files):
    """In how many files LW gives the riskiest count away, and how much."""
    error = np.hypot(files["LW, se"], files["Unweighted, se"])
    return {
        "files-n": len(files),
        "files-worse": int((files["LW"] - files["Unweighted"] > 2 * error).sum()),
        "files-better": int((files["Unweighted"] - files["LW"] > 2 * error).sum()),
        "files-lowest": files["LW"].min(),
        "files-highest": files["LW"].max(),
    }


def numbers_of_households(table, lowest, highest):
    """Chances of a close guess before and after releases, and two households' own."""
    mean, error = pooled(table)
    found = {
        "households": table["record"].nunique(),
        "before": mean["before"].iloc[0],
        "one-both": mean.loc[("Unweighted", 1), "both"],
    }
    for name in ("Unweighted", "Marginal", "Pairwise"):
        for what in ("parameters", "own row", "both"):
            key = f"{name}-{what.replace(' ', '-')}"
            found[key] = mean.loc[(name, 20), what]
            if what == "both":
                found[f"{key}-error"] = error.loc[(name, 20), what]
        of_two = table[(table["fit"] == name) & (table["files"] == 20)]
        top = of_two[of_two["record"] == highest]
        found[f"top-{name}-parameters"] = top["parameters"].mean()
        found[f"top-{name}-row"] = top["own row"].mean()
        found[f"top-{name}-row-error"] = top["own row"].sem()
        low = of_two[of_two["record"] == lowest]
        found[f"low-{name}-parameters"] = low["parameters"].mean()
    for end, record in (("low", lowest), ("top", highest)):
        found[f"{end}-k"] = table.loc[table["record"] == record, "k_hat"].max()
    found["low-before"] = low["before"].mean()
    found["top-before"] = top["before"].mean()
    return found


def numbers_of_matching(matches):
    """Mean identification risk, and matches in percent of the records."""
    mean = matches.groupby("release")[["risk", "expected", "true", "false"]].mean()
    return {
        "risk-Confidential": mean.loc["Confidential", "risk"],
        "risk-Noisy": mean.loc["Noisy", "risk"],
        "risk-Permuted": mean.loc["Permuted", "risk"],
        "risk-Unweighted": mean.loc["Unweighted", "risk"],
        "risk-Marginal": mean.loc["Marginal", "risk"],
        "expected-Confidential": 100 * mean.loc["Confidential", "expected"],
        "expected-Noisy": 100 * mean.loc["Noisy", "expected"],
        "expected-Permuted": 100 * mean.loc["Permuted", "expected"],
        "expected-Unweighted": 100 * mean.loc["Unweighted", "expected"],
        "expected-Marginal": 100 * mean.loc["Marginal", "expected"],
        "false-Unweighted": 100 * mean.loc["Unweighted", "false"],
        "false-Permuted": 100 * mean.loc["Permuted", "false"],
    }


def numbers_of_packages(raw, mean):
    """Scores of the packages as they come, and the exact attack on its own scale."""
    infer = raw.loc["anonymeter: inference of income"]
    single = raw.loc["anonymeter: singling out"]
    base = raw.loc["SDMetrics: DCRBaselineProtection"]
    disclosure = raw.loc["SDMetrics: DisclosureProtection"]
    found = {f"infer-{name}": value for name, value in infer.items()}
    attack = mean.loc["exact attack", ["Unweighted", "Marginal", "Pairwise"]]
    found |= {f"attack-{name}": value for name, value in attack.items()}
    names = "Confidential", "Permuted", "Marginal"
    found |= {f"dp-{name}": disclosure[name] for name in names}
    return found | {
        "single-Permuted": single["Permuted"],
        "single-least": single.min(),
        "over-Permuted": raw.loc["SDMetrics: DCROverfittingProtection", "Permuted"],
        "base-most": base.max(),
        "base-Confidential": base["Confidential"],
        "link-Confidential": raw.loc["anonymeter: linkability, income", "Confidential"],
        "link-Noisy": raw.loc["anonymeter: linkability, income", "Noisy"],
        "link-most": raw.loc["anonymeter: linkability, predictors"].max(),
    }
