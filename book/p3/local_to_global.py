"""Approximation, storage, figures, values for the text and checks of the chapter."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import optimize, stats

import pseudopost as pp

NAMES = ["Unweighted", "LW", "LW_final"]
STATISTICS = {
    "mean": "Mean",
    "median": "Median",
    "q15": "15% quantile",
    "q90": "90% quantile",
}
CENTRE, TAILS = ["mean", "median"], ["q15", "q90"]
SHORT = {"Poisson": "poisson", "NB mixture": "nb"}


# Simulation


def normal_approximation(values, weight, rng, size):
    """Draw mean and dispersion of a negative binomial under record weights.

    Their logarithms are taken as normal around the mode of the pseudo posterior,
    without the priors, and as independent.

    Parameters
    ----------
    values, weight : ndarray
        Distinct counts, and the total weight of the records of each.
    rng : numpy.random.Generator
    size : int

    Returns
    -------
    mu, phi : ndarray, shape (size,)
    """
    total, mu = weight.sum(), weight @ values / weight.sum()

    def loss(log_phi):
        phi = np.exp(log_phi)
        return -weight @ stats.nbinom.logpmf(values, phi, phi / (phi + mu))

    mode = optimize.minimize_scalar(loss, bounds=(0, 6), method="bounded").x
    step = 0.01
    curvature = (loss(mode + step) - 2 * loss(mode) + loss(mode - step)) / step**2
    phi = np.exp(mode + rng.normal(size=size) / np.sqrt(curvature))
    spread = np.sqrt((1 / mu + np.exp(-mode)) / total)
    return mu * np.exp(spread * rng.normal(size=size)), phi


def replicate_once(task, n_databases, random_seed, *depends_on):
    """Replicate a task, or read from disk what the same code has given before.

    `depends_on` holds functions and values that the task uses beside its arguments.
    """
    arguments = task.keywords.items()
    given = {name: value for name, value in arguments if not callable(value)}
    functions = [value for _, value in arguments if callable(value)]
    code = [
        inspect.getsource(part) if callable(part) else part
        for part in (task.func, *functions, *depends_on)
    ]
    key = ("exact", code, given, n_databases, random_seed, np.__version__)
    return pp.cache.stored(
        key, lambda: pp.replicate(task, n_databases, random_seed=random_seed)
    )


def records_of_median_database(largest, share, n, likelihood, random_seed):
    """Bounds of the records, unweighted and under LW, of the database in the middle.

    Parameters
    ----------
    largest : Series
        Largest unweighted bound of every database of a study with this seed.
    share : ndarray
        Probability of each count, up to a factor.
    n : int
        Records of a database.
    likelihood : callable
        Takes distinct counts, the weight of each and a generator.
    random_seed : int

    Returns
    -------
    f, bounds : ndarray
        Of the distinct counts.
    """
    r = (largest - largest.median()).abs().idxmin()
    rng = np.random.default_rng(np.random.SeedSequence(random_seed).spawn(r + 1)[r])
    counts = rng.multinomial(n, share / share.sum())
    values = np.flatnonzero(counts)
    counts = counts[values]
    f = np.abs(likelihood(values, 1.0 * counts, rng)).max(axis=0)
    weights = (f.max() - f) / (f.max() - f.min())
    refit = np.abs(likelihood(values, counts * weights, rng)).max(axis=0)
    return f, weights * refit


# Tables


def ranges(delta):
    """Largest minus smallest bound of each synthesizer."""
    return delta.max() - delta.min()


def summary(delta):
    """Quantiles, range and standard deviation of the bounds of many databases."""
    low, median, high = delta.quantile([0.05, 0.5, 0.95]).to_numpy()
    return pd.DataFrame(
        {
            "5%": low,
            "median": median,
            "95%": high,
            "smallest": delta.min(),
            "largest": delta.max(),
            "largest - smallest": ranges(delta),
            "standard deviation": delta.std(),
        }
    )


def height_of_top(table):
    """Largest value of the parabola of every database."""
    return table["Unweighted"] ** 2 / (4 * (table["Unweighted"] - table["smallest"]))


def standard_error_of_median(sd, n):
    """For a variable that is about normal."""
    return 1.25 * sd / np.sqrt(n)


def share_above(large, epsilons):
    """Share of the databases whose epsilon, twice the largest bound, exceeds another.

    Parameters
    ----------
    large : dict of DataFrame
        Bounds of databases, by population and size.
    epsilons : dict of sequence of float
        Values to exceed, by population.

    Returns
    -------
    DataFrame
        Columns ``share`` and ``error``, its standard error, by population, weighting,
        epsilon and size.
    """
    rows = {
        (population, name, epsilon, n): 2 * table[name] > epsilon
        for (population, n), table in large.items()
        for name in ("LW", "Ceiling")
        for epsilon in epsilons[population]
    }
    index = ["population", "weights", "epsilon", "n"]
    share = pd.Series({key: above.mean() for key, above in rows.items()})
    size = pd.Series({key: len(above) for key, above in rows.items()})
    found = pd.DataFrame({"share": share, "error": np.sqrt(share * (1 - share) / size)})
    return found.rename_axis(index).sort_index()


def growth(sizes, n_databases, small=1000, large=1_000_000):
    """Rise of the median of LW, its standard error, and the ratio of spreads."""
    median, sd = sizes["median", "LW"], sizes["standard deviation", "LW"]
    both = np.hypot(sd[small], sd[large])
    return {
        "rise": median[large] - median[small],
        "standard error": standard_error_of_median(both, n_databases),
        "sd ratio": sd[large] / sd[small],
    }


# Values for the text


def numbers_of_bounds(bounds):
    """Level, spread and range of the bounds at n = 1,000."""
    found = {}
    for name, short in SHORT.items():
        for synthesizer in NAMES:
            delta, start = bounds[name, 1000][synthesizer], f"{short}-{synthesizer}"
            found[f"{start}-median"] = delta.median()
            found[f"{start}-sd"] = delta.std()
            found[f"{start}-min"] = delta.min()
            found[f"{start}-max"] = delta.max()
            found[f"{start}-above"] = 100 * (delta > 3.5).mean()
    return found


def numbers_of_means(by_mean):
    """Bounds under small Poisson means."""
    small = by_mean.loc[[5, 10, 20]]
    return {
        "small-above": 100 * small["share above 3.5"].max(),
        "small-low": small["median of LW"].min(),
        "small-high": small["median of LW"].max(),
    }


def numbers_of_gaps(gaps):
    """Largest differences of LW from the data in per cent."""
    found = {}
    for name, short in SHORT.items():
        size = gaps[name].loc["LW"].abs()
        found[f"{short}-worst-gap"] = size.max()
        found[f"{short}-central-gap"] = size[CENTRE].max()
    return found


def numbers_of_sizes(sizes, large, bounds):
    """Level and spread as files grow, and how far the sampler is from its stand-in."""
    grid = sizes["Poisson"].index
    found = {
        f"{short}-{n}-{word}": sizes[name][column, "LW"][n]
        for name, short in SHORT.items()
        for n in (1000, grid[-1])
        for word, column in (("median", "median"), ("sd", "standard deviation"))
    }
    apart = [
        (delta[NAMES[1:]].median() - large[run][NAMES[1:]].median()).abs().max()
        for run, delta in bounds.items()
    ]
    fails = [
        table["Unweighted"] <= 2 * table["smallest"]
        for (_, n), table in large.items()
        if n > 200
    ]
    return found | {
        "agree": max(apart),
        "above-large": 100 * (large["Poisson", 100_000]["LW"] > 3.5).mean(),
        "arch": int(np.sum(fails)),
        "arch-files": np.size(fails),
        "usual-loss": 100 * (1 - np.sqrt(1000 / grid[-1])),
        "large-R": len(large["Poisson", 1000]),
    }


def numbers_of_tops(sizes, large):
    """How closely LW follows the top of the parabola, and the growth with log n."""
    tops = {run: height_of_top(table) for run, table in large.items()}
    grid = sizes["Poisson"].index
    found = {"correlation-min": min(tops[run].corr(large[run]["LW"]) for run in large)}
    for name, short in SHORT.items():
        gaps = [(large[name, n]["LW"] - tops[name, n]).median() for n in grid]
        medians = sizes[name]["median"]
        slopes = np.polyfit(np.log(grid), medians[["Unweighted", "LW"]], 1)[0]
        found[f"{short}-shortfall"] = np.abs(gaps).max()
        found[f"{short}-slope"], found[f"{short}-slope-LW"] = slopes
    sd = large["Poisson", 1000][["Unweighted", "LW"]].std()
    gumbel = stats.gumbel_r.std()
    return found | {
        "fmax-sd": large["Poisson", grid[-1]]["Unweighted"].std(),
        "gumbel-sd": gumbel,
        "compression": sd["Unweighted"] / sd["LW"],
        "limit-sd": gumbel / 4,
    }


def numbers_of_ceilings(ceilings):
    """Level, spread and share of lowered records under the ceiling."""
    found = {}
    for name, short in SHORT.items():
        ceiling, lw = ceilings[name]["Ceiling"], ceilings[name]["LW"]
        found[f"{short}-ceiling-sd"] = ceiling["sd"].max()
        found[f"{short}-ceiling-top"] = ceiling["median"].max()
        found[f"{short}-ceiling-bottom"] = ceiling["median"].min()
        found[f"{short}-ceiling-below"] = ceiling["below 1 (%)"].max()
        found[f"{short}-LW-below"] = lw["below 1 (%)"].min()
    return found


def numbers_of_share_above(pi, n_databases):
    """Percent of files above an epsilon that is kept, and what seeing none leaves."""
    found = {"pi-limit": 100 * (1 - 0.05 ** (1 / n_databases))}
    for population, short, epsilon in (
        ("Poisson", "poisson", 7.1),
        ("NB mixture", "nb", 14),
    ):
        share = 100 * pi.loc[population, "Ceiling", epsilon]["share"]
        found |= {f"pi-{short}-{n}": share[n] for n in (200, 1000)}
        later = 1000 if short == "nb" else 5000
        found[f"pi-{short}-larger"] = share.loc[later:].max()
    return found


# Figures


def show_bounds(delta, level=None):
    """Violins of the largest bounds, and of those of the weighted synthesizers alone."""
    _, axes = plt.subplots(
        1, 2, figsize=(9, 3.8), layout="constrained", width_ratios=[3, 2]
    )
    for ax, names in zip(axes, (NAMES, NAMES[1:]), strict=True):
        pp.plots.violins(
            {name: delta[name] for name in names},
            ylabel="Largest bound of a database (nats)",
            ax=ax,
        )
    axes[0].set_ylim(bottom=0)
    if level is not None:
        for ax in axes:
            ax.axhline(
                level,
                color="#555555",
                linestyle="--",
                linewidth=1,
                label=f"{level} nats",
            )
        axes[0].legend(loc="upper right")


def show_utility(table):
    """Violins of four statistics of the data and of the synthetic files."""
    axes = plt.subplots(1, 4, figsize=(9.5, 3.4), layout="constrained")[1]
    for ax, (column, title) in zip(axes, STATISTICS.items(), strict=True):
        values = table.pivot_table(column, "database", "synthesizer")
        pp.plots.violins(
            {name: values[name] for name in ("Data", *NAMES)}, ylabel="Count", ax=ax
        )
        ax.set_title(title)
        ax.tick_params(axis="x", rotation=60)
        ax.set_xlabel("")


def show_sizes(large, bounds):
    """Medians and bands of the bounds by the size of the file."""
    axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")[1]
    for ax, name in zip(axes, SHORT, strict=True):
        show_sizes_of_one(name, large, bounds, ax)
    axes[0].legend(loc="upper left")


def show_sizes_of_one(name, large, bounds, ax):
    """Bands without a sampler, and points with bars from the sampler."""
    grid = [n for population, n in large if population == name]
    levels = [0.05, 0.5, 0.95]
    for synthesizer in NAMES:
        colour = pp.plots.PALETTE[synthesizer]
        low, median, high = np.transpose(
            [large[name, n][synthesizer].quantile(levels) for n in grid]
        )
        ax.fill_between(grid, low, high, color=colour, alpha=0.25, lw=0)
        ax.plot(grid, median, color=colour, label=synthesizer)
        for n in [size for population, size in bounds if population == name]:
            low, median, high = bounds[name, n][synthesizer].quantile(levels)
            ax.errorbar(
                n,
                median,
                yerr=[[median - low], [high - median]],
                color=colour,
                marker="o",
                markersize=4,
                capsize=3,
            )
    ax.set(xscale="log", xlabel="Records n", ylabel="Largest bound (nats)", title=name)
    ax.set_ylim(bottom=0)


def show_share_above(pi):
    """Share of files above epsilon by size: populations beside, weightings below."""
    _, axes = plt.subplots(
        2, 2, figsize=(9, 6), layout="constrained", sharex=True, sharey=True
    )
    colours = plt.get_cmap("viridis")(np.linspace(0.1, 0.8, 3))
    for (population, name), panel in pi.groupby(["population", "weights"]):
        at = ["LW", "Ceiling"].index(name), list(SHORT).index(population)
        ax = axes[at]
        for colour, (epsilon, line) in zip(
            colours, panel.groupby("epsilon"), strict=True
        ):
            ax.errorbar(
                line.index.get_level_values("n"),
                line["share"],
                yerr=2 * line["error"],
                marker="o",
                markersize=4,
                capsize=3,
                color=colour,
                label=f"epsilon = {epsilon:g}",
            )
        ax.set(title=f"{population}, {name}", xscale="log")
        ax.legend()
    for ax in axes[1]:
        ax.set_xlabel("Records n")
    for ax in axes[:, 0]:
        ax.set_ylabel("Share of files above epsilon")


def show_parabolas(records):
    """Bounds of the records of one database of each size, and their parabolas."""
    ax = plt.subplots(figsize=(6, 4.4), layout="constrained")[1]
    colours = "#9ecae1", "#4292c6", "#08306b"
    for (n, (f, bounds)), colour in zip(records.items(), colours, strict=True):
        x = np.linspace(f.min(), f.max(), 200)
        y = x * (f.max() - x) / (f.max() - f.min())
        ax.plot(x, y, color=colour, lw=1)
        ax.scatter(f, bounds, color=colour, s=14, label=f"n = {n:,}")
        top = f.max() / 2, f.max() ** 2 / (4 * (f.max() - f.min()))
        ax.plot(*top, marker="v", color="black", markersize=7)
        ax.annotate(
            f"{top[1]:.1f}",
            top,
            xytext=(0, -16),
            textcoords="offset points",
            ha="center",
        )
    ax.set(
        xlabel="Unweighted bound of a record, f (nats)",
        ylabel="Bound under LW (nats)",
        ylim=(0, None),
    )
    ax.margins(y=0.15)
    ax.legend(loc="upper right")


# Checks of the claims


def is_narrow(delta):
    """Whether LW has less than half the spread of Unweighted, and half its range."""
    spread, width = delta.std(), ranges(delta)
    return bool(
        spread["LW"] / spread["Unweighted"] < 0.5
        and width["LW"] < width["Unweighted"] / 2
    )


def spreads_in_words(delta):
    """Standard deviations of LW and of Unweighted."""
    sd = delta.std()
    return f"sd {sd['LW']:.2f} against {sd['Unweighted']:.2f}"


def claim_on_procedure(delta, n_databases):
    """LW draws the bounds of all databases together, in both populations."""
    found = "; ".join(
        f"{name}: LW {d['LW'].max():.1f} at most, range {ranges(d)['LW']:.1f}"
        for name, d in delta.items()
    )
    holds = all(is_narrow(d) and len(d) == n_databases for d in delta.values())
    return {"P3-AlgU4": (found, holds)}


def claim_on_dispersions(intended, printed, n_databases):
    """Dispersions of 5 and 20 lead to the published bound, and 5 and 5 do not."""
    return {
        "P3-Set06": (
            f"R = {n_databases}, n = 1,000; median of LW with dispersions 5 and 20: "
            f"{intended:.1f}; with 5 and 5: {printed:.1f}",
            abs(intended - 6) < abs(printed - 6) - 0.25,
        )
    }


def claims_on_bounds(delta):
    """Figures 10 and 12: weighting draws the bounds together.

    In Figure 10 also relative to their level, which a change of scale alone would not.
    """
    poisson, mixture = delta["Poisson"], delta["NB mixture"]
    relative = poisson.std() / poisson.median()
    level = poisson["LW"].median()
    return {
        "P3-Fig10": (
            f"{spreads_in_words(poisson)}, by the median {relative['LW']:.3f} against "
            f"{relative['Unweighted']:.3f}; median of LW {level:.2f}",
            is_narrow(poisson)
            and relative["LW"] < 2 / 3 * relative["Unweighted"]
            and abs(level - 3.5) < 0.25,
        ),
        "P3-Fig12": (
            spreads_in_words(mixture),
            is_narrow(mixture) and 5 < mixture["LW"].median() < 7,
        ),
    }


def claims_on_utility(gaps):
    """Figures 11 and 13: the synthetic files keep the statistics of the data."""
    limits = {
        "P3-Fig11a": ("Poisson", CENTRE, 2),
        "P3-Fig11b": ("Poisson", TAILS, 5),
        "P3-Fig13a": ("NB mixture", CENTRE, 3),
        "P3-Fig13b": ("NB mixture", TAILS, 6),
    }
    found = {}
    for claim, (name, statistics, limit) in limits.items():
        size = gaps[name].loc["LW", statistics].abs()
        words = [f"{STATISTICS[s].lower()} {v:.1f}%" for s, v in size.items()]
        found[claim] = ", ".join(words), (size < limit).all()
    return found


def claim_on_poisson(by_mean):
    """There is a mean with nearly all bounds of LW just below 3.5 nats."""
    near = (by_mean["median of LW"] - 3.5).abs() < 0.25
    few = by_mean["share above 3.5"] < 0.05
    median, above = by_mean.loc[100, ["median of LW", "share above 3.5"]]
    return {
        "P3-Claim24": (
            f"mean 100: median {median:.2f}, {100 * above:.0f}% above 3.5",
            (near & few).any(),
        )
    }


def claim_on_mixture(delta):
    """LW contracts onto 6 nats."""
    lw = delta["LW"]
    return {
        "P3-Claim25": (
            f"median {lw.median():.2f}, from {lw.min():.1f} to {lw.max():.1f}",
            is_narrow(delta) and abs(lw.median() - 6) < 0.5,
        )
    }


def claim_on_inference(gaps):
    """Inference is reasonably preserved, in both populations."""
    worst = {name: gaps[name].loc["LW"].abs().max() for name in SHORT}
    return {
        "P3-Claim26": (
            "; ".join(f"{name} within {v:.1f}%" for name, v in worst.items()),
            worst["Poisson"] < 5 and worst["NB mixture"] < 6,
        )
    }


def claim_on_contraction(grown):
    """The bounds contract onto one value as the files grow."""
    found = "; ".join(
        f"{name}: sd times {g['sd ratio']:.2f}, median {g['rise']:+.2f} nats "
        "from n = 1,000 to 1,000,000"
        for name, g in grown.items()
    )
    holds = all(
        g["sd ratio"] < 0.5 and abs(g["rise"]) < 3 * g["standard error"]
        for g in grown.values()
    )
    return {"P3-Claim27": (found, holds)}


def claims(bounds, n_databases, gaps, by_mean, sizes, intended, printed):
    """What was found and whether it holds, for every claim of the chapter.

    Parameters
    ----------
    bounds : dict
        By population and size: largest bounds by database and synthesizer.
    n_databases : int
    gaps : dict
        By population: differences from the data in per cent.
    by_mean : DataFrame
        Bounds of LW by Poisson mean.
    sizes : dict
        By population: medians and standard deviations by size.
    intended, printed : DataFrame
        Bounds of databases with dispersions of 5 and 20, and of 5 and 5.
    """
    delta = {name: bounds[name, 1000] for name in SHORT}
    grown = {name: growth(table, len(intended)) for name, table in sizes.items()}
    medians = intended["LW"].median(), printed["LW"].median()
    figures = claims_on_bounds(delta) | claims_on_utility(gaps)
    return {
        **claim_on_procedure(delta, n_databases),
        **claim_on_dispersions(*medians, n_databases),
        **dict(sorted(figures.items())),
        **claim_on_poisson(by_mean),
        **claim_on_mixture(delta["NB mixture"]),
        **claim_on_inference(gaps),
        **claim_on_contraction(grown),
    }
