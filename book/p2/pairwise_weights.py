"""Pairwise weights: the chapter's figures, its numbers, and the rules of its checks."""

import time
from fractions import Fraction

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
from p2_tables import PUBLISHED, PUBLISHED_NAMES, QUANTITIES  # noqa: F401
from scipy import stats

import pseudopost as pp
from companion import earner, standard_error

COLOURS = pp.plots.PALETTE
WEIGHTED = ["Marginal", "Pairwise"]
# Colour, line and marker of each synthesizer.
STYLE = {
    "Unweighted": ("Unweighted", "-", "o"),
    "Marginal": ("Marginal", "-", "o"),
    "Scaled": ("Marginal", ":", "s"),
    "Lifted": ("Marginal", "--", "^"),
    "Own pattern": ("Marginal", "-.", "v"),
    "Whole file": ("Marginal", "-.", "<"),
    "Pairwise": ("Pairwise", "-", "o"),
    "Order 3": ("Pairwise", "--", "D"),
    "Order 4": ("Pairwise", ":", "P"),
}
# Synthesizers that pairs are held against.
RIVALS = ["Marginal", "Scaled", "Lifted", "Whole file", "Own pattern"]


def independent(marginal, y, patterns=None):
    """Pairwise weights as if the balls of two records had nothing to do with each other.

    The mean risk of a partner is that of the pattern, or without patterns of the file.
    Losses have no ball and keep weight 1.
    """
    risk = pd.Series(1 - marginal).where(y >= 0)
    mean = risk.mean()
    if patterns is not None:
        codes = patterns.groupby(list(patterns), observed=True).ngroup()
        mean = risk.groupby(codes.to_numpy()).transform("mean")
    return 1 - (risk * mean).fillna(0).to_numpy()


# The definition, checked


def log_densities(values, weights, difference=(3.0, 4.0)):
    """Change of the pseudo log posterior of a mean: by the package, and written out."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 2)
        density = pm.logp(pm.Normal.dist(mu, 0.5), values)
        pp.weighted_likelihood("y", density, weights)
    compiled = model.compile_logp()

    def by_hand(mu):
        squares = (values - mu) ** 2
        return -(weights @ squares) / (2 * 0.5**2) - mu**2 / (2 * 2**2)

    def by_package(mu):
        return float(compiled({"mu": mu}))

    low, high = difference
    return [f(high) - f(low) for f in (by_package, by_hand)]


def symmetric_and_bounded(pairs, single):
    """Whether pairwise risks are symmetric, and never above those of either record."""
    return bool(
        np.allclose(pairs, pairs.T)
        and (pairs <= np.minimum(single[:, None], single) + 1e-12).all()
    )


def triple_weights(outside):
    """Weights of order 3, by definition, from the table of who is outside which ball.

    For confidential values of one pattern, each of them in its own ball.
    """
    size = len(outside)
    sums = np.empty(size)
    for i in range(size):
        missed = outside[:, outside[i] == 1]
        missed = np.delete(missed, i, axis=0)
        table = missed @ missed.T  # outside the balls of i, j and k, for all j and k
        sums[i] = (table.sum() - table.trace()) / 2
    return 1 - sums / size / ((size - 1) * (size - 2) / 2)


def seconds(function, *args, **kwargs):
    """Shortest of three runs."""
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        function(*args, **kwargs)
        taken.append(time.perf_counter() - start)
    return min(taken)


def seconds_by_order(y, codes, copies, rng):
    """Times of the package for orders 1 to 4 and files of several sizes.

    A larger file has several copies of each record, times a random factor.
    """
    times = {}
    for c in copies:
        n = c * len(y)
        values = y if c == 1 else np.tile(y, c) * np.exp(rng.normal(0, 0.1, n))
        known = {"patterns": np.tile(codes, c), "alone": 0}
        times[f"n = {n:,}"] = {
            order: seconds(pp.pairwise_weights, values, order=order, **known)
            for order in (1, 2, 3, 4)
        }
    return pd.DataFrame(times).rename_axis("order")


def explained(target, predictor, codes):
    """Share of the variance that lines explain, one a pattern, all with one slope."""
    columns = np.column_stack([np.eye(codes.max() + 1)[codes], predictor])
    fitted = columns @ np.linalg.lstsq(columns, target)[0]
    return 1 - np.var(target - fitted) / np.var(target)


def composed(outside):
    """Pairwise weights of one pattern by their composition: constant, factor, own."""
    inside = 1 - outside
    cover = inside.sum(axis=0) / max(len(inside) - 1, 1)
    own = inside @ cover / inside.sum(axis=1)
    return cover.mean() + inside.mean(axis=1) * (1 - own)


def risk_by_definition(y, released, groups, radius=0.2):
    """Identification risk, averaged over files, from the definition."""
    low, high = y - radius * np.abs(y), y + radius * np.abs(y)
    own = (low <= released) & (released <= high)
    share_outside = np.empty(released.shape)
    for rows in groups:
        values = released[:, None, rows]
        missed = (values < low[rows, None]) | (values > high[rows, None])
        share_outside[:, rows] = missed.mean(axis=2)
    return (own * share_outside).mean(axis=0)


# Tables


def of_fits(studies):
    """Weights and diagnostics of each fit of each file."""
    rows = {}
    for seed, study in studies.items():
        for name, fit in study.fits.items():
            weights = study.weights[name]
            judged = fit["label_invariant"].to_dataset()
            share = fit["posterior"]["pi"].mean(("chain", "draw"))
            rows[seed, name] = {
                "mean weight": weights.mean(),
                "smallest": weights.min(),
                "median": np.median(weights),
                "sd of the weights": weights.std(),
                "components above 1%": int((share > 0.01).sum()),
                "largest R-hat": max(float(v.max()) for v in az.rhat(judged).values()),
                "smallest ESS": min(float(v.min()) for v in az.ess(judged).values()),
            }
    return pd.DataFrame(rows).T.rename_axis(["file", "series"])


def of_risks(risk, before):
    """What the figures and tables show of risks, and of their rises."""
    rise = risk - before
    up = rise > 0.25
    return {
        "mean risk": risk.mean(),
        "IQR": stats.iqr(risk),
        "99% quantile": np.quantile(risk, 0.99),
        "largest": risk.max(),
        "below .25 (%)": 100 * (risk < 0.25).mean(),
        "above .5": (risk > 0.5).sum(),
        "up by more than .25": up.sum(),
        "mean risk of these": risk[up].mean() if up.any() else np.nan,
        "up by more than .1": (rise > 0.1).sum(),
        "largest rise": rise.max(),
    }


def risks_by_release(risk, before):
    """Statistics of each release's risks, rises against one other release each."""
    return pd.DataFrame(
        {
            (seed, name, k): of_risks(now, then)
            for (seed, name), releases in risk.items()
            for k, (now, then) in enumerate(zip(releases, before[seed], strict=True))
        }
    ).T.rename_axis(["file", "series", "release"])


def risks_in_the_long_run(risk, before):
    """Statistics of the risks averaged over all releases."""
    table = pd.DataFrame(
        {
            (seed, name): of_risks(releases.mean(axis=0), before[seed].mean(axis=0))
            for (seed, name), releases in risk.items()
        }
    ).T.rename_axis(["file", "series"])
    shown = ["IQR", "99% quantile", "largest"]
    rising = ["up by more than .25", "up by more than .1", "largest rise"]
    return table[shown + rising]


def measures(people, income):
    """Means over one file or several of four statistics and one coefficient."""
    income = np.atleast_2d(income)
    return pd.Series(
        {
            "mean": income.mean(),
            "median": np.median(income, axis=1).mean(),
            "90% quantile": np.quantile(income, 0.9, axis=1).mean(),
            "97.5% quantile": np.quantile(income, 0.975, axis=1).mean(),
            "Earner 2": earner(people, income)[0].mean(),
        }
    )


def percent_off(study, released):
    """Differences from the data in percent, of incomes capped at their largest."""
    measured, truth = (
        measures(study.data, np.minimum(income, study.y.max()))
        for income in (released, study.y)
    )
    return 100 * (measured / truth - 1)


def contain_the_estimate_of_the_data(tables):
    """Whether each interval contains the estimate of the data, by file and series."""
    rows = {}
    for file, table in tables.items():
        truth = table.loc["Data", "estimate"]
        for name in PUBLISHED_NAMES:
            low, high = table.loc[name, "low"], table.loc[name, "high"]
            rows[file, name] = (low <= truth) & (truth <= high)
    return pd.DataFrame(rows).T.rename_axis(["file", "series"])


def of_cases(cases, pattern_sizes):
    """Risk of the confidential file, and mean weights, for each kind of ball."""
    return pd.DataFrame(
        {
            name: {
                "mean risk": 1 - marginal.mean(),
                "alone in their ball (%)": 100
                * (marginal * pattern_sizes < 1.5).mean(),
                "mean marginal weight": marginal.mean(),
                "mean pairwise weight": pairwise.mean(),
            }
            for name, (marginal, pairwise) in cases.items()
        }
    ).T


def beside_published(tables):
    """Published intervals beside those of the first file, and the others' estimates."""

    def in_full(row):
        return f"{row['estimate']:,.0f} [{row['low']:,.0f}, {row['high']:,.0f}]"

    published, first, *others = tables
    columns = {
        "published": tables[published].apply(in_full, axis=1),
        "first file": tables[first].apply(in_full, axis=1),
    } | {
        f"estimate, {file}": tables[file]["estimate"].map("{:,.0f}".format)
        for file in others
    }
    names = tables[published].index.unique(0)
    order = pd.MultiIndex.from_product([QUANTITIES, names])
    rows = pd.DataFrame(columns).swaplevel().loc[order]
    return rows.rename_axis(["dollars", "series"])


# Figures


def draw_two_balls(values, outside, pair, radius=0.2):
    """Balls as bars, and below them the values, crossed if outside both of a pair."""
    _, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    missed = outside[list(pair)].all(axis=0)
    for place, value in enumerate(values):
        ax.plot(
            [value - radius * value, value + radius * value],
            [place + 1, place + 1],
            linewidth=7,
            solid_capstyle="butt",
            color=COLOURS["Pairwise"] if place in pair else COLOURS["Data"],
            alpha=1 if place in pair else 0.35,
        )
        ax.plot(value, place + 1, "o", color="black", markersize=4)
        ax.axvline(value, color="black", linewidth=0.6, linestyle=":")
    ax.plot(values[missed], np.zeros(missed.sum()), "X", color="black", markersize=10)
    ax.plot(
        values[~missed], np.zeros((~missed).sum()), "o", color="black", markersize=6
    )
    ax.set(
        xlabel="Income (1,000 dollars)",
        ylim=(-0.6, 6.7),
        xlim=(22, 110),
        yticks=range(7),
        yticklabels=["incomes", *(f"ball of {value}" for value in values)],
    )


def draw_composition(y, marginal, pairwise, line):
    """Pairwise against marginal weights, with a line; both against income."""
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    inside, shown = y >= 0, y > 500
    axes[0].scatter(
        marginal[inside],
        pairwise[inside],
        s=6,
        color=COLOURS["Pairwise"],
        alpha=0.5,
        linewidth=0,
    )
    grid = np.array([0, 0.35])
    axes[0].plot(grid, grid, ":", color="black", label="equal")
    axes[0].plot(
        grid, line.intercept + line.slope * grid, color="black", label="least squares"
    )
    axes[0].set(xlabel="Marginal weight", ylabel="Pairwise weight")
    axes[0].set(xlim=(-0.01, 0.42), ylim=(0, 0.6))
    axes[0].legend(loc="lower right")
    for name, weights in (("Marginal", marginal), ("Pairwise", pairwise)):
        axes[1].scatter(
            y[shown] / 1000,
            weights[shown],
            s=5,
            color=COLOURS[name],
            alpha=0.4,
            linewidth=0,
        )
        axes[1].plot([], [], "o", color=COLOURS[name], label=name)
    axes[1].set(
        xscale="log",
        xlabel="Income (1,000 dollars)",
        ylabel="Weight",
        ylim=(0, 0.6),
    )
    axes[1].legend(loc="upper left")


def draw_violins(risk):
    """Risks of the confidential file and of three releases."""
    _, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
    pp.plots.violins(
        {name: risk[name] for name in ("Data", *PUBLISHED_NAMES)},
        ylabel="Identification risk",
        middle="mean",
        ax=ax,
    )
    ax.axhline(0.25, color="black", linewidth=0.6, linestyle=":")
    ax.set(ylim=(-0.03, 1.03))
    ax.legend(loc="upper right")


def draw_rises(risk):
    """Risks under Marginal and under Pairwise against those under Unweighted."""
    _, axes = plt.subplots(1, 2, figsize=(9, 4.3), layout="constrained", sharey=True)
    for ax, name in zip(axes, WEIGHTED, strict=True):
        pp.plots.risks_before_after(risk["Unweighted"], risk[name], name=name, ax=ax)
        ax.set(xlim=(-0.02, 0.72), ylim=(-0.02, 0.72), title=name)
        ax.legend(loc="upper left", fontsize=8)


def draw_quantiles(studies):
    """Quantiles of the synthetic incomes over those of the data, mean of the files."""
    levels = np.array(
        [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995]
    )
    _, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for name in ("Unweighted", "Pairwise", "Lifted", "Scaled", "Marginal"):
        colour, line, marker = STYLE[name]
        ratio = np.mean(
            [
                np.quantile(study.z[name], levels, axis=1).mean(axis=1)
                / np.quantile(study.y, levels)
                for study in studies.values()
            ],
            axis=0,
        )
        ax.plot(
            range(len(levels)),
            100 * ratio,
            line,
            marker=marker,
            markersize=5,
            color=COLOURS[colour],
            label=name,
        )
    ax.axhline(100, color="black", linewidth=0.8)
    ax.set_xticks(range(len(levels)), [f"{100 * q:g}" for q in levels])
    ax.set(xlabel="Quantile (%)", ylabel="Synthetic over confidential (%)")
    ax.legend()


def draw_utility_against_risk(risks, errors):
    """Error of the 90% quantile against the range and the mean of the risks."""
    _, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained", sharey=True)
    for name, (colour, _, marker) in STYLE.items():
        for ax, statistic in zip(axes, ("IQR", "mean risk"), strict=True):
            x = risks.xs(name, level="series")[statistic].groupby("file").mean()
            error = errors.xs(name, level="series")["90% quantile"]
            error = error.groupby("file").mean()
            ax.plot(
                x,
                error,
                marker,
                color=COLOURS[colour],
                alpha=0.45,
                markersize=7,
                markerfacecolor="none",
            )
            ax.plot(
                x.mean(),
                error.mean(),
                marker,
                color=COLOURS[colour],
                markersize=11,
                label=name,
                markeredgewidth=2,
            )
    axes[0].set(
        xlabel="IQR of the risks",
        ylabel="Error of the 90% quantile (%)",
    )
    axes[1].set(xlabel="Mean risk")
    axes[1].legend(fontsize=9)


# Numbers for the text


def by_series(table, short):
    """Values of a table's columns, named ``<short name>-<series>``."""
    return {
        f"{label}-{series.replace(' ', '-')}": table.loc[series, column]
        for column, label in short.items()
        for series in table.index
    }


def numbers_of_six(by_hand):
    """Range of the weights of six incomes."""
    return {
        f"six-range-{kind}": np.ptp(by_hand[f"{kind} weight"])
        for kind in ("marginal", "pairwise")
    }


def numbers_of_timing(timing, slow):
    """Times of the package, of the definition, and their ratios."""
    pairs = timing.loc[2]
    return {
        "cost-ratio": slow["triples"] / slow["pairs"],
        "ms-pairs": 1000 * pairs.iloc[0],
        "s-pairs": pairs.iloc[-1],
        "package-ratio": (timing.loc[3] / pairs).min(),
    }


def numbers_of_weights(y, marginal, pairwise, lines):
    """The lift, the level and the straight line of pairwise given marginal weights."""
    lift = (pairwise - marginal)[y >= 0]
    return {
        "lift-min": lift.min(),
        "lift-max": lift.max(),
        "mean-ratio": pairwise.mean() / marginal.mean(),
        "slope": lines["slope"],
        "intercept": lines["intercept"],
        "line-r2": 100 * lines["explained, one line"],
        "losses": int((y < 0).sum()),
    }


def numbers_of_risks(mean_risks, mean_expected):
    """Risks in a release, and rises in the long run."""
    release = {
        "mean risk": "risk",
        "above .5": "above",
        "up by more than .25": "up",
        "largest": "largest",
    }
    return by_series(mean_risks, release) | by_series(
        mean_expected, {"up by more than .1": "e-up1"}
    )


def numbers_of_utility(mean_shares, containing, studies):
    """Errors in percent, intervals that hold the data, and enormous incomes."""
    values = by_series(mean_shares.abs(), {"90% quantile": "q90"}) | {
        "data-max": max(study.y.max() for study in studies.values()) / 1e6,
        "tail-max": max(s.z["Marginal"].max() for s in studies.values()) / 1e6,
    }
    for name in WEIGHTED:
        ours = containing.xs(name, level="series").drop("published").to_numpy()
        values |= {f"contains-{name}": int(ours.sum()), "contains-all": ours.size}
    return values


def numbers_of_level(errors):
    """Share of Pairwise's gain on Marginal that others have."""
    mean_errors = errors["90% quantile"].groupby("series").mean()
    gain = mean_errors["Marginal"] - mean_errors
    return {
        f"{name.replace(' ', '-')}-share-q90": 100 * gain[name] / gain["Pairwise"]
        for name in ("Lifted", "Own pattern", "Whole file")
    }


def numbers_of_radius(radius):
    """What the radius does to the report and the refit."""
    short = {
        "mean risk, Unweighted": "radius-risk",
        "refitted: 90% quantile, % off": "radius-q90",
    }
    return by_series(radius.T.rename(index=lambda r: r.rstrip("%")).abs(), short)


def numbers_of_two(two):
    """Weights and lone records with one variable, and with two in a box."""
    short = {
        "mean pairwise weight": "two-pw",
        "alone in their ball (%)": "two-alone",
    }
    rows = {"income": "one", "income and spending, box": "box"}
    return by_series(two.loc[list(rows)].rename(index=rows), short)


# Rules


def of_one_chain(z, releases):
    """Order synthetic files so that ``z[k::releases]`` are of one chain, in order."""
    chains = pp.MixtureSynthesizer.default_chains
    dealt = z.reshape(chains, -1, releases // chains, z.shape[1])
    return dealt.swapaxes(0, 1).reshape(z.shape)


def by_file(table, statistic, names):
    """Mean of a statistic over the releases, by file and series."""
    return pd.DataFrame(
        {
            name: table.xs(name, level="series")[statistic].groupby("file").mean()
            for name in names
        }
    )


def difference(table, a, b, statistic):
    """Compute a less b by file, and the standard error of the mean over the files.

    A standard error is that between the five chains of each fit.
    """
    one, two = (
        table.xs(name, level="series")[statistic].groupby("file") for name in (a, b)
    )
    variance = one.agg(standard_error) ** 2 + two.agg(standard_error) ** 2
    return one.mean() - two.mean(), np.sqrt(variance.sum()) / len(variance)


def lower(table, a, b, statistic):
    """Whether a is below b in every file, and on average by two standard errors."""
    gaps, error = difference(table, a, b, statistic)
    return bool((gaps < 0).all() and -gaps.mean() > 2 * error)


def against_rivals(risks, errors):
    """Pairwise less its rivals, with standard errors."""
    tables = {
        "IQR": (risks, "{:.4f}"),
        "up by more than .25": (risks, "{:.1f}"),
        "90% quantile": (errors, "{:.1f}"),
    }
    rows = {}
    for statistic, (table, form) in tables.items():
        for rival in RIVALS:
            gaps, error = difference(table, "Pairwise", rival, statistic)
            found = f"{form} ± {form}".format(gaps.mean(), error)
            rows.setdefault(f"less {rival}", {})[statistic] = found
    names = {"90% quantile": "90% quantile, % off"}
    return pd.DataFrame(rows).T.rename(columns=names)


def rises(risk, name, by=0.25):
    """Number of records that are up from Unweighted."""
    return int((risk[name] - risk["Unweighted"] > by).sum())


def compressed(risks):
    """Whether the range is smaller under Pairwise, and all ranges as in the papers."""
    ranges = by_file(risks, "IQR", PUBLISHED_NAMES)
    plausible = ((ranges > 0.05) & (ranges < 0.3)).all(axis=None)
    return bool(lower(risks, "Pairwise", "Marginal", "IQR") and plausible)


def equal_means(risks):
    """Whether Marginal and Pairwise have about the same mean risk in every file.

    They differ by less than a third of what Marginal has gained over Unweighted.
    """
    means = by_file(risks, "mean risk", PUBLISHED_NAMES)
    gain = means["Unweighted"] - means["Marginal"]
    return bool(((means["Pairwise"] - means["Marginal"]).abs() < gain / 3).all())


def more_below(risks):
    """Whether both weighted synthesizers have more risks below 0.25."""
    return all(lower(risks, "Unweighted", name, "below .25 (%)") for name in WEIGHTED)


def fewer_and_lower_rises(risks):
    """Whether fewer records rise under Pairwise, and these lie lower."""
    statistics = ("up by more than .25", "mean risk of these")
    return all(lower(risks, "Pairwise", "Marginal", name) for name in statistics)


def in_order(errors, quantity):
    """Whether errors rise from Unweighted over Pairwise to Marginal."""
    return lower(errors, "Unweighted", "Pairwise", quantity) and lower(
        errors, "Pairwise", "Marginal", quantity
    )


def listed(values, form):
    """Numbers in one format, with commas between."""
    return ", ".join(f"{value:{form}}" for value in values)


def of_both(table, statistic, form):
    """Marginal and Pairwise in words, mean of the files."""
    means = by_file(table, statistic, WEIGHTED).mean()
    return ", ".join(f"{name} {means[name]:{form}}" for name in WEIGHTED)


def in_percent(shares, quantities, names=PUBLISHED_NAMES):
    """Differences from the data in words, mean of the files."""
    means = shares.groupby("series").mean().loc[names]
    return f"{', '.join(names)}: " + "; ".join(
        f"{q} " + ", ".join(f"{share:+.1f}%" for share in means[q]) for q in quantities
    )


def below_in_words(risks):
    """Shares of risks below 0.25 of three synthesizers."""
    means = risks["below .25 (%)"].groupby("series").mean()
    return f"{listed(means[PUBLISHED_NAMES], '.0f')}%"


def claims_of_figures(risks, risk_by_file):
    """P2, Figures 7 to 9."""
    up = [rises(risk, "Marginal") for risk in risk_by_file]
    below = np.array(
        [(risk["Marginal"] < risk["Unweighted"]).mean() for risk in risk_by_file]
    )
    above = np.array([(risk["Marginal"] > 0.5).sum() for risk in risk_by_file])
    return {
        "P2-Fig07": (
            f"mean risk {of_both(risks, 'mean risk', '.3f')}; "
            f"IQR {of_both(risks, 'IQR', '.4f')}; below 0.25 {below_in_words(risks)}",
            compressed(risks) and equal_means(risks) and more_below(risks),
        ),
        "P2-Fig08": (
            f"{listed(up, '.0f')} records up by more than 0.25; "
            f"{listed(100 * below, '.0f')}% lower than under Unweighted; "
            f"{listed(above, '.0f')} above 0.5",
            min(up) >= 5 and below.min() > 0.5 and above.mean() >= 1,
        ),
        "P2-Fig09": (
            f"up: {of_both(risks, 'up by more than .25', '.0f')}; "
            f"their mean risk {of_both(risks, 'mean risk of these', '.3f')}; "
            f"above 0.5 {of_both(risks, 'above .5', '.1f')}",
            fewer_and_lower_rises(risks)
            and lower(risks, "Pairwise", "Marginal", "above .5"),
        ),
    }


def claims_of_tables(errors, shares, containing):
    """P2, Tables 4 and 5."""
    ours = containing.xs("Marginal", level="series").drop("published")
    mean = by_file(shares, "mean", ["Marginal"])
    return {
        "P2-Tab04": (
            in_percent(shares, ["mean", "median"]),
            in_order(errors, "mean")
            and in_order(errors, "median")
            and not ours[["mean", "median"]].any(axis=None)
            and (mean > 0).all(axis=None),
        ),
        "P2-Tab05": (
            in_percent(shares, ["90% quantile", "Earner 2"]),
            in_order(errors, "90% quantile")
            and in_order(errors, "Earner 2")
            and not ours["90% quantile"].any(),
        ),
    }


def claims_of_definitions(by_hand, pairs, equal, bounded, log_density, pairwise):
    """P2, Equations 11 to 15, the average over files and the minimum with 1.

    From the weights by hand, with the incomes as index; their table of pairs; what
    agrees with the package; the patterns whose pairwise risks are bounded; the change
    of the log density, twice; and the weights of the file.
    """
    weights, risks = by_hand["pairwise weight"], by_hand["sum of the pairwise risks"]
    pair, all_equal = 1 - pairs[0, -1], all(equal.values())
    return {
        "P2-Eq11": (
            "equal, from confidential and from synthetic values; symmetric; "
            "never above the risk of either record",
            all_equal and all(bounded),
        ),
        "P2-Eq12": (
            f"pair of {by_hand.index[0]} and {by_hand.index[-1]}: "
            f"{Fraction(pair).limit_denominator(len(pairs))}",
            np.isclose(pair, 0.5) and all_equal,
        ),
        "P2-Eq13": (
            "equal to the package's weights in all patterns",
            all_equal and np.allclose(weights, pp.pairwise_weights(by_hand.index)),
        ),
        "P2-Eq14": (
            "equal to Equation 13",
            np.allclose(1 - risks / (len(by_hand) - 1), weights),
        ),
        "P2-Eq15": (
            "log density differs by the weighted sum and the prior",
            np.isclose(*log_density),
        ),
        "P2-EqU02": ("mean over two files", equal["two noisy files"]),
        "P2-EqU03": (
            f"largest weight {pairwise.max():.0f}; the minimum never acts",
            pairwise.max() <= 1 and weights.max() < 1,
        ),
    }


def claims_of_synthesis(study, again, risk_again, sizes, interval):
    """P2's steps, done again; what it compares; how it measures utility.

    From the files and risks of a second run, the sizes of the patterns, and the
    bootstrap interval of the confidential mean.
    """
    released, y = study.z["Pairwise"], study.y
    combined = pp.combine_partially_synthetic([1, 2, 3], [0.5, 0.5, 0.5])
    half_width = (interval["high"] - interval["low"]) / 2
    return {
        "P2-AlgU2": (
            f"mean risk {risk_again.mean():.3f}, the same when repeated",
            np.array_equal(again, released)
            and np.allclose(risk_again, study.risk["Pairwise"])
            and len(set(sizes)) > 1,
        ),
        "P2-Set05": (
            "Data, Unweighted, Marginal, Pairwise on one file",
            {"Data", *PUBLISHED_NAMES} <= set(study.risk)
            and len({study.z[name].shape for name in PUBLISHED_NAMES}) == 1,
        ),
        "P2-Set06": (
            f"{len(released)} files; half-width of the mean {half_width:,.0f}; "
            f"T = {combined.variance:.3f} for estimates 1, 2, 3",
            len(released) == 20
            and np.isclose(half_width, 1.96 * y.std() / np.sqrt(len(y)), rtol=0.1)
            and np.isclose(combined.variance, 0.5 + 1 / 3),
        ),
    }


def claims_of_risks(risks):
    """P2, section 3.3.1."""
    up_by_chance = risks["up by more than .25"].groupby("series").mean()["Unweighted"]
    return {
        "P2-Claim04": (of_both(risks, "IQR", ".4f"), compressed(risks)),
        "P2-Claim05": (of_both(risks, "mean risk", ".3f"), equal_means(risks)),
        "P2-Claim06": (
            f"largest {of_both(risks, 'largest', '.2f')}; "
            f"99% quantile {of_both(risks, '99% quantile', '.3f')}",
            lower(risks, "Pairwise", "Marginal", "largest")
            and lower(risks, "Pairwise", "Marginal", "99% quantile"),
        ),
        "P2-Claim07": (
            of_both(risks, "above .5", ".1f"),
            lower(risks, "Pairwise", "Marginal", "above .5"),
        ),
        "P2-Claim09": (
            f"Unweighted, Marginal, Pairwise: {below_in_words(risks)}",
            more_below(risks),
        ),
        "P2-Claim10": (
            f"up by more than 0.25: {of_both(risks, 'up by more than .25', '.0f')}, "
            f"by chance alone {up_by_chance:.0f}; "
            f"their mean risk {of_both(risks, 'mean risk of these', '.3f')}",
            fewer_and_lower_rises(risks),
        ),
    }


def claims_of_intervals(containing):
    """P2, section 3.3.2: which intervals contain the estimate of the data."""
    counts = {
        name: containing.xs(name, level="series").sum(axis=1) for name in WEIGHTED
    }
    outside, inside = 4 - counts["Marginal"], counts["Pairwise"]
    return {
        "P2-Claim13": (
            f"published: {outside['published']} of 4 exclude; ours by file: "
            + listed(outside.drop("published"), ".0f"),
            (outside == 4).all(),
        ),
        "P2-Claim14": (
            f"published: {inside['published']} of 4 contain; ours by file: "
            + listed(inside.drop("published"), ".0f"),
            (inside == 4).all(),
        ),
    }


def claim_of_the_tail(risks, errors, shares):
    """P2, section 3.3.2: more utility, because the tail shrinks less."""
    quantiles = ["90% quantile", "97.5% quantile"]
    return {
        "P2-Claim15": (
            in_percent(shares, quantiles, WEIGHTED),
            all(lower(errors, "Pairwise", "Marginal", q) for q in quantiles)
            and equal_means(risks),
        )
    }


def claim_of_triples(expected, triples_equal, ratio):
    """P2, section 3.3.2: triples improve little, and cost more."""
    names = ["Marginal", "Pairwise", "Order 3"]
    up = by_file(expected, "up by more than .1", names).mean()
    first, second = -np.diff(up)
    return {
        "P2-Claim16": (
            f"rises by more than 0.1 fall by {first:.1f}, then {second:z.1f}; "
            f"time {ratio:.1f} times that of pairs",
            second < 0.5 * first and triples_equal and ratio > 2,
        )
    }


def claim_of_dependence(risks, fits):
    """P2, section 3.2: the dependence of the weights compresses the risks."""
    spread = by_file(fits, "sd of the weights", WEIGHTED)
    names = ["Marginal", "Whole file", "Own pattern", "Pairwise"]
    ranges = risks["IQR"].groupby("series").mean()[names]
    return {
        "P2-Claim17": (
            f"IQR {', '.join(names)}: {listed(ranges, '.4f')}",
            (spread["Pairwise"] < spread["Marginal"]).all()
            and compressed(risks)
            and all(
                lower(risks, "Pairwise", rival, statistic)
                for rival in ("Whole file", "Own pattern")
                for statistic in ("IQR", "up by more than .25")
            ),
        )
    }


def claim_of_composition(lift, never_below, composition_holds):
    """P2, section 3.2: pairwise weights are never below marginal ones."""
    return {
        "P2-Claim37": (
            f"difference {lift.min():.2f} to {lift.max():.2f}",
            never_below and composition_holds and lift.min() > 0,
        )
    }


def claim_of_balance(risks, errors, shares):
    """P2, section 4: Pairwise is the better one."""
    clear = ["mean", "90% quantile", "Earner 2"]
    return {
        "P2-Claim38": (
            in_percent(shares, QUANTITIES, WEIGHTED),
            all(lower(errors, "Pairwise", "Marginal", q) for q in clear)
            and not lower(errors, "Marginal", "Pairwise", "median")
            and equal_means(risks)
            and compressed(risks)
            and not any(
                lower(risks, "Marginal", "Pairwise", q)
                for q in ("99% quantile", "largest")
            ),
        )
    }


def claims_of_later_work(radius, two, by_record, as_in_package):
    """P2, section 4: the radius, and two variables.

    From the tables of the two sections; marginal weights by record, with one variable
    and with two in a box; and whether the package has the weights of one and of two.
    """
    weight = two["mean pairwise weight"]
    one, box = (by_record[name] for name in ("income", "income and spending, box"))
    return {
        "P2-Fut1": (
            "mean pairwise weight at 10%, 20%, 30%: "
            + listed(radius.loc["mean pairwise weight"], ".2f"),
            all(
                radius.loc[row].is_monotonic_increasing and radius.loc[row].is_unique
                for row in ("mean pairwise weight", "mean risk, Unweighted")
            ),
        ),
        "P2-Fut2": (
            f"mean pairwise weight {weight['income']:.2f}, "
            f"box {weight['income and spending, box']:.2f}, "
            f"ellipse {weight['income and spending, ellipse']:.2f}",
            as_in_package and (box <= one + 1e-12).all(),
        ),
    }


def claims(
    studies,
    fits,
    risks,
    expected,
    shares,
    containing,
    *,
    definitions,
    synthesis,
    triples,
    composition,
    later_work,
):
    """What was found for each claim of the chapter, and whether it holds.

    From the studies by seed, the chapter's tables, and the arguments of the functions
    above that need others.
    """
    errors = shares.abs()
    return (
        claims_of_figures(risks, [study.risk for study in studies.values()])
        | claims_of_tables(errors, shares, containing)
        | claims_of_definitions(**definitions)
        | claims_of_synthesis(studies[min(studies)], **synthesis)
        | claims_of_risks(risks)
        | claims_of_intervals(containing)
        | claim_of_the_tail(risks, errors, shares)
        | claim_of_triples(expected, **triples)
        | claim_of_dependence(risks, fits)
        | claim_of_composition(**composition)
        | claim_of_balance(risks, errors, shares)
        | claims_of_later_work(**later_work)
    )
