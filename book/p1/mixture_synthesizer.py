"""A mixture of regressions: figures, numbers for the text, checks of claims."""

import warnings
from itertools import pairwise
from pathlib import Path

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import logsumexp

import pseudopost as pp
from pseudopost.mixture_chains import WIDE, in_c_order, residual_sd, run
from pseudopost.mixture_starts import start
from pseudopost.mixture_sweeps import Records, draw_of, log_half_t, normal_mixture

COLOURS = pp.plots.PALETTE
DATA = Path(__file__).parents[2] / "data"
QUARTER, ATOMS = DATA / "ce2016q1.csv.gz", DATA / "atoms.csv"
# Ways to treat repeated incomes, and the quarters on which they were compared.
TREATMENTS = ["floor 0.01", "floor 0.05", "floor 0.2", "intervals", "atoms"]
QUARTERS = {"ce2016q1": "2016", "ce2014q1": "2014"}
GAP = "gap of distribution functions"
BULK, TAIL = "error of quantiles, 5% to 95%", "error of quantiles, 99% to 99.9%"
CLOSE, RISK, TOP = "share with T = 1", "mean risk", "mean risk, top 1%"
ABOVE, FORMULA, LIMIT = (
    "components above 1%",
    "mean, formula",
    "distance from the limit",
)
LIKELIHOOD = "log-likelihood of the file"
SIGNED = "confidential, signed ball"
# Of the group label_invariant of a fit: the records, and the quantiles of the data.
RECORDS = [
    "smallest",
    "0.1%",
    "1%",
    "10%",
    "30%",
    "50%",
    "70%",
    "90%",
    "99%",
    "largest",
]
LABELS = {
    "log_likelihood": RECORDS,
    "mean": [""],
    "distribution": ["1%", "5%", "25%", "50%", "75%", "95%", "99%"],
    "released_quantile": ["5%", "25%", "50%", "75%", "95%"],
    "released_near_own": [""],
}
WORDS = {
    "log_likelihood": "the log-likelihood of the record at",
    "mean": "the mean",
    "distribution": "the distribution function at",
    "released_quantile": "the released quantile at",
    "released_near_own": "the share of released incomes within 20% of the own",
}


# What the chapter computes with.


def shape(residual):
    """Extremes, skewness and excess kurtosis of residuals."""
    return {
        "smallest residual": residual.min(),
        "largest residual": residual.max(),
        "skewness": stats.skew(residual),
        "excess kurtosis": stats.kurtosis(residual),
    }


def quantile_ratio(z, income, levels):
    """Quantiles of synthetic files, mean over the files, over those of the data."""
    return np.quantile(z, levels, axis=1).mean(axis=1) / np.quantile(income, levels)


def quantile_error(z, income, levels):
    """Mean absolute error of synthetic quantiles, in percent."""
    return 100 * np.abs(quantile_ratio(z, income, levels) - 1).mean()


def distances(z, income):
    """Distances of synthetic files from the data."""
    return {
        GAP: np.mean([stats.ks_2samp(file, income).statistic for file in z]),
        BULK: quantile_error(z, income, np.linspace(0.05, 0.95, 91)),
        TAIL: quantile_error(z, income, np.linspace(0.99, 0.999, 10)),
    }


def log_dirichlet(gamma, n_components, rng):
    """Log of Dirichlet(gamma / K, ...) shares, one row for each gamma.

    Shares this small underflow, so the gamma(a) variables are made on the log scale: as
    gamma(a + 1) variables times uniform ones to the power 1 / a.
    """
    a, shape = gamma[:, None] / n_components, (len(gamma), n_components)
    log_g = np.log(rng.gamma(a + 1, size=shape)) + np.log(rng.random(shape)) / a
    return log_g - logsumexp(log_g, axis=1, keepdims=True)


def probabilities(occupied):
    """Relative frequencies of 0, 1, 2, ... occupied components."""
    return np.bincount(occupied, minlength=80)[:80] / len(occupied)


def occupied_table(occupied, formula):
    """Simulated numbers of occupied components, with their means by the formula."""
    limit = probabilities(occupied[np.inf])
    return pd.DataFrame(
        {
            "K = infinity" if k == np.inf else f"K = {k}": {
                FORMULA: formula[k],
                "mean, simulated": simulated.mean(),
                "5% quantile": np.quantile(simulated, 0.05),
                "95% quantile": np.quantile(simulated, 0.95),
                LIMIT: 0.5 * np.abs(probabilities(simulated) - limit).sum(),
            }
            for k, simulated in occupied.items()
        }
    ).T


def density_arguments(draw, X):
    """Means, log shares and log sigmas of one draw, as the density takes them."""
    pi, beta, sigma = (draw[name].to_numpy() for name in ("pi", "beta", "sigma"))
    return beta @ X.T, np.log(np.maximum(pi, np.finfo(float).tiny)), np.log(sigma)


def heap_table(cases, gains, log_gain, X):
    """What the records of each heap gain by a component of their own."""
    sigma = gains.index.to_numpy()
    return pd.DataFrame(
        {
            name: {
                "records": len(case[0]),
                "rank": np.linalg.matrix_rank(X[case[0]]),
                "slope at 0": np.diff(gains[name])[0] / np.diff(np.log(sigma))[0],
                "gain at 0.05": log_gain(*case, 0.05),
                "worth it below": gains.index[gains[name] > 0].max(),
            }
            for name, case in cases.items()
        }
    ).T


def convergence(fit):
    """R-hat and effective sample size of what does not depend on labels."""
    values = fit["label_invariant"].to_dataset()
    found = {"R-hat": az.rhat(values), "ESS": az.ess(values, method="bulk")}
    return pd.DataFrame(
        {
            name: pd.concat(
                {
                    q: pd.Series(np.ravel(v[q].to_numpy()), at)
                    for q, at in LABELS.items()
                }
            )
            for name, v in found.items()
        }
    ).rename_axis(["quantity", "at"])


def worst(fit):
    """Largest R-hat and smallest effective sample size of what has no labels."""
    table = convergence(fit)
    return {"largest R-hat": table["R-hat"].max(), "smallest ESS": table["ESS"].min()}


def path(model, occupied, added, seed, wide=0, sweeps=30):
    """One chain of sweeps, weights of 1: log-likelihood, components with records.

    Parameters
    ----------
    model : MixtureSynthesizer
    occupied : int
        Components that the chain starts from.
    added : array-like, shape (steps,)
        What is added to the Dirichlet parameters at each step.
    seed : int
    wide : int
        Number of first steps in which sigma has the floor of a fit's tuning.
    sweeps : int
        Number of sweeps at each step.

    Returns
    -------
    DataFrame, shape (steps, 2)
    """
    n, K = len(model.log_y), model.n_components
    data = in_c_order(Records(model.log_y, model.X, np.ones(n), model.min_sigma))
    wider = data._replace(floor=max(data.floor, WIDE * residual_sd(data)))
    state, rng = start(data, K, occupied, seed), np.random.default_rng(seed)
    rows = []
    for step, extra in enumerate(added):
        given = data
        if step < wide:
            given = wider
            np.maximum(state.sigma, 1.01 * wider.floor, out=state.sigma)
        run(given, state, extra, sweeps, rng)
        draw = draw_of(state)
        log_pi = np.log(np.maximum(draw["pi"], np.finfo(float).tiny))
        density, _ = normal_mixture(
            model.log_y, draw["beta"] @ model.X.T, log_pi, np.log(draw["sigma"])
        )
        rows.append((density.sum(), (state.size > 0).sum()))
    return pd.DataFrame(rows, columns=["log-likelihood", "components"])


def evenly_spaced(draws, number=25):
    """Some draws of one chain."""
    places = np.linspace(0, draws.sizes["draw"] - 1, number).astype(int)
    return [draws.isel(draw=place) for place in places]


def average_density(draws, X, grid):
    """Density on a grid, averaged over records and over 25 draws of one chain."""
    total = np.zeros(len(grid))
    for draw in evenly_spaced(draws):
        mean, log_pi, log_sigma = density_arguments(draw, X)
        z = (grid[:, None, None] - mean) / np.exp(log_sigma)[:, None]
        total += stats.norm.pdf(z).mean(axis=2) @ np.exp(log_pi - log_sigma)
    return total / 25


def file_log_likelihood(draws, log_y, X):
    """Log-likelihood of the file, mean over 25 draws of one chain."""
    return np.mean(
        [
            normal_mixture(log_y, *density_arguments(draw, X))[0].sum()
            for draw in evenly_spaced(draws)
        ]
    )


def component_sizes(posterior, n):
    """How many components have how many of n records, averaged over the draws."""
    pi = posterior["pi"].to_numpy()
    return {
        "components above 10%": (pi > 0.1).sum(axis=-1).mean(),
        ABOVE: (pi > 0.01).sum(axis=-1).mean(),
        "components above 1 record": (pi > 1 / n).sum(axis=-1).mean(),
        "records in the largest": n * pi.max(axis=-1).mean(),
        "gamma": posterior["gamma"].to_numpy().mean(),
    }


def incomes(z):
    """Mean, median and 99% quantile of synthetic files."""
    return {
        "mean income": z.mean(),
        "median income": np.median(z, axis=1).mean(),
        "99% quantile": np.quantile(z, 0.99, axis=1).mean(),
    }


def summary(income):
    """Quantiles, moments, and numbers of special values of one file."""
    levels = (0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.975, 0.99, 0.999)
    return {f"{100 * q:g}%": np.quantile(income, q) for q in levels} | {
        "mean": income.mean(),
        "standard deviation": income.std(),
        "largest": income.max(),
        "negative (records)": (income < 0).sum(),
        "exactly 0 (records)": (income == 0).sum(),
    }


def compared_with_data(estimates):
    """Estimates by release, and overlaps of their intervals with that of the data."""

    def overlap(interval, data):
        return (
            pp.interval_overlap(interval, data) if interval.high > interval.low else 0.0
        )

    return pd.DataFrame(
        {
            name: {label: interval.estimate for label, interval in row.items()}
            | {
                f"{label}, overlap": overlap(row[label], row["Data"])
                for label in row
                if label != "Data"
            }
            for name, row in estimates.items()
        }
    ).T


def weight_levels(weights, top):
    """Levels of weights by source, and of those of the largest incomes."""
    return pd.DataFrame(
        {
            name: {
                "smallest": w.min(),
                "median": np.median(w),
                "largest": w.max(),
                "median, top 1% of incomes": np.median(w[top]),
                "exactly 1 (records)": (w == 1).sum(),
            }
            for name, w in weights.items()
        }
    ).T


def standardised(released, share, mean, sigma, shift):
    """Compare a synthetic file with its expectation, in its standard deviations."""
    expected = (share * mean).sum(axis=0)
    variance = (share * (sigma[:, None] ** 2 + mean**2)).sum(axis=0) - expected**2
    return (np.log(released + shift) - expected) / np.sqrt(variance)


def standardised_files(z, by_hand, shift):
    """All synthetic files, with the shares, means and sigmas they were drawn with."""
    return np.array(
        [
            standardised(file, *drawn[1:], shift)
            for file, drawn in zip(z, by_hand, strict=True)
        ]
    )


# Numbers for the text.


def argument_numbers(one, many):
    """Measures of one regression and of the mixture."""
    keys = {
        "gap": GAP,
        "bulk": BULK,
        "tail": TAIL,
        "t": CLOSE,
        "risk": RISK,
        "top": TOP,
    }
    return {
        f"{key}-{name}": column[row]
        for key, row in keys.items()
        for name, column in (("one", one), ("many", many))
    } | {"top-ratio": many[TOP] / one[TOP]}


def prior_numbers(table):
    """Prior mean and distance from the limit, for some numbers of components."""
    return {
        "occupied-20": table.loc["K = 20", FORMULA],
        "occupied-dp": table.loc["K = infinity", FORMULA],
    } | {f"limit-{k}": table.loc[f"K = {k}", LIMIT] for k in (10, 20, 50)}


def heap_numbers(heaps):
    """Size, rank and gain of the rounding heap and of the top code."""
    columns = {"heap": "records", "rank": "rank"}
    values = {}
    for label, (_, row) in zip(("round", "coded"), heaps.iterrows(), strict=True):
        values |= {
            f"{key}-{label}": int(row[column]) for key, column in columns.items()
        }
        values[f"worth-{label}"] = row["worth it below"]
        values[f"gain-{label}"] = row["gain at 0.05"]
    return values


def convergence_numbers(diagnostics):
    """Worst of the label-free quantities, and one in the middle."""
    quantity, at = diagnostics["ESS"].idxmin()
    return {
        "worst-rhat": diagnostics["R-hat"].max(),
        "worst-ess": diagnostics["ESS"].min(),
        "worst-at": f"{WORDS[quantity]} {at}".strip(),
        "middle-ess": diagnostics.loc[("distribution", "50%"), "ESS"],
    }


def allocation_numbers(table):
    """What the allocation of components does to the tail."""
    package, shares = table["package"], table["by hand, from the shares"]
    return {
        "tail-package": package[TAIL],
        "tail-hand": table.loc[TAIL, "by hand, Equation 7"],
        "top-seven": package[TOP],
        "top-shares": shares[TOP],
        "gap-seven": package[GAP],
        "gap-shares": shares[GAP],
    }


def count_numbers(table):
    """The fits with the fewest and with the most components."""
    values = {}
    for end, column in (("few", table.columns[0]), ("lots", table.columns[-1])):
        values |= {f"above-{end}": table.loc[ABOVE, column]}
        values |= {f"risk-{end}": table.loc[RISK, column]}
    return values | {
        "smallest-k": table.columns[0].removeprefix("K = "),
        "largest-k": table.columns[-1].removeprefix("K = "),
    }


def path_numbers(paths, many):
    """How many chains have arrived, and whether R-hat shows it.

    They have where their log-likelihood in the last third is that of most of the chains
    from the largest number of components: within two standard deviations of the median.

    Parameters
    ----------
    paths : dict of list of DataFrame
        Chains from two components: ``from 2``, ``with help``, ``and a floor``.
    many : list of DataFrame
        Chains from the largest number of components.
    """
    third = len(many[0]) // 3
    ends = {
        name: np.stack([path["log-likelihood"][-third:] for path in some])
        for name, some in {**paths, "many": many}.items()
    }
    level = np.median(ends["many"].mean(axis=1))
    near = 2 * np.median(ends["many"].std(axis=1))
    gaps = {name: each.mean(axis=1) - level for name, each in ends.items()}
    few = np.stack([path["log-likelihood"][third:] for path in paths["from 2"]])
    lowest = few[gaps["from 2"].argmin()]
    return {
        "path-chains": len(many),
        "many-above": (gaps["many"] > near).sum(),
        "trap-arrived": (abs(gaps["from 2"]) < near).sum(),
        "trap-gap": -gaps["from 2"].min(),
        "trap-rhat": float(az.rhat(few)),
        "lowest-rhat": float(az.rhat(lowest[: len(lowest) // 2 * 2].reshape(2, -1))),
        "help-arrived": (abs(gaps["with help"]) < near).sum(),
        "help-above": (gaps["with help"] > near).sum(),
        "help-gap": gaps["with help"].max(),
        "floor-arrived": (abs(gaps["and a floor"]) < near).sum(),
        "floor-gap": abs(gaps["and a floor"]).max(),
    }


def alarm_numbers(alarm, table, by_chain):
    """The fit with the largest R-hat, and how far its chains are apart."""
    return {
        "alarm-k": alarm,
        "alarm-gap": np.ptp([chain[LIKELIHOOD] for chain in by_chain.values()]),
        "alarm-rhat": table.loc["largest R-hat", f"K = {alarm}"],
    }


def real_quarter(n=None):
    """Incomes above 0 in a known region, first quarter of 2016, and their predictors.

    Urban type is left out: it is not published, and here it would repeat ``urban``.
    """
    quarter = pp.datasets.read_consumer_expenditure(QUARTER)
    known = (quarter["income"] > 0) & (quarter["region"] != "Suppressed")
    quarter = quarter[known].reset_index(drop=True).head(n or len(quarter))
    households = quarter.drop(columns=["income", "urban_type"])
    return quarter, households.apply(lambda c: c.cat.remove_unused_categories())


def real_table(fits, loo, loo_by_chain):
    """Agreement of chains, and prediction, by model."""
    table = {}
    for name, fit in fits.items():
        near = near_own(fit).mean("draw").to_numpy()
        rows = worst(fit) | {
            "components with records": fit["sample_stats"]["occupied"].mean().item(),
            "elpd, leave-one-out": loo[name].elpd,
            "records with k-hat above 0.7": int((loo[name].pareto_k > 0.7).sum()),
        }
        for chain, (share, one) in enumerate(
            zip(near, loo_by_chain[name], strict=True)
        ):
            rows[f"within 20%, chain {chain + 1}"] = share
            rows[f"elpd, chain {chain + 1}"] = one.elpd
        table[name] = rows
    return (
        pd.DataFrame(table)
        .sort_index(key=lambda rows: rows.str.startswith("elpd, chain"), kind="stable")
        .map(lambda v: f"{v:,.0f}" if abs(v) > 100 else f"{v:.3f}")
    )


def near_own(fit):
    """Expected share of released values within 20% of the own one, by chain and draw."""
    return fit["label_invariant"]["released_near_own"]


def predicted(model, fit):
    """Leave-one-out cross-validation by Pareto smoothed importance sampling.

    Of all draws, and of those of each chain.
    """
    fit = fit.copy()
    fit["log_likelihood/y"] = model.log_likelihood(fit)
    with warnings.catch_warnings():  # the table has the number of such records
        warnings.filterwarnings("ignore", message="Estimated shape parameter of Pareto")
        return az.loo(fit), [az.loo(fit.sel(chain=[c])) for c in fit["posterior"].chain]


def real_numbers(fits, loo, loo_by_chain):
    """How far the chains of the printed model are apart, and what agreement costs."""
    printed = fits["as printed"]
    by_chain = 100 * near_own(printed).mean("draw")
    numbers = {
        "real-r": printed["posterior"].sizes["predictor"],
        "real-low": by_chain.min().item(),
        "real-high": by_chain.max().item(),
        "real-occupied": printed["sample_stats"]["occupied"].mean().item(),
        "real-elpd-chains": spread(loo_by_chain["as printed"]),
        "real-elpd-chains-two": spread(loo_by_chain["two components"]),
    }
    keys = {"as printed": "", "shared slopes": "-shared", "two components": "-two"}
    for name, key in keys.items():
        rhat, ess = worst(fits[name]).values()
        numbers |= {"real-rhat" + key: rhat, "real-ess" + key: ess}
        if name != "as printed":
            loss = (loo["as printed"].elpd_i - loo[name].elpd_i).to_numpy()
            numbers["real-elpd" + key] = loss.sum()
            numbers["real-elpd-se" + key] = loss.std() * np.sqrt(len(loss))
    return numbers


def repeated_values(quarter, known=("gender", "age", "region"), often=10):
    """Count the incomes that many share, the first not rounded, and the largest share.

    The last is the largest part of a pattern of `known`, of at least `often` records,
    that has one and the same income.
    """
    count = quarter["income"].value_counts()
    atoms = count[count >= often]
    unrounded = atoms[atoms.index % 10 != 0]
    patterns = quarter.groupby(list(known), observed=True)["income"]
    most = patterns.agg(lambda values: values.value_counts().iloc[0])
    return {
        "repeat-atoms": len(atoms),
        "repeat-share": 100 * atoms.sum() / len(quarter),
        "repeat-unrounded": f"{unrounded.index[0]:,.0f}",
        "repeat-unrounded-count": int(unrounded.iloc[0]),
        "repeat-pattern": 100
        * (most / patterns.size())[patterns.size() >= often].max(),
    }


def repeated():
    """Results of `benchmarks/atoms.py`, by quarter, treatment and measure."""
    found = pd.read_csv(ATOMS, index_col=["file", "treatment", "measure"])
    return found.loc[list(QUARTERS)]


def repeated_agreement(found):
    """How far the chains agree, and after how many sweeps, by treatment and quarter."""
    values = found.pivot_table("value", ["file", "treatment"], "measure")
    table = pd.DataFrame(
        {
            "R-hat": values["worst R-hat"].map("{:.3f}".format),
            "ESS": values["smallest bulk ESS"].map("{:,.0f}".format),
            "sweeps a draw": values["sweeps a draw"].map("{:.0f}".format),
        }
    )
    by_quarter = {
        (measure, year): table.loc[file, measure]
        for measure in table
        for file, year in QUARTERS.items()
    }
    by_quarter = pd.DataFrame(by_quarter).loc[TREATMENTS]
    return by_quarter.rename_axis(columns=["", "first quarter of"])


def repeated_numbers(found):
    """Values by quarter and treatment, as text with two standard errors where known."""
    keys = {
        "risk-in": "mean risk, in an atom",
        "risk-out": "mean risk, outside",
        "own": "own value released (%), in an atom",
        "error": "error of seven quantiles (%)",
        "largest": "largest of them (%)",
        "earners": "earners' mean over others', error (%)",
        "on-data": "on an atom (%), data",
        "on-released": "on an atom (%), released",
    }
    return {
        f"repeat-{key}-{treatment.replace(' ', '-')}-{year}": with_two_errors(
            *found.loc[(file, treatment, measure), ["value", "standard_error"]]
        )
        for file, year in QUARTERS.items()
        for treatment in TREATMENTS
        for key, measure in keys.items()
    }


def with_two_errors(value, error):
    """Value, with two standard errors unless it has none, to two digits of these."""
    if not error > 1e-9:  # chains may agree by chance
        return f"{value:.1f}"
    digits = max(0, 1 - int(np.floor(np.log10(2 * error))))
    return f"{value:,.{digits}f} ± {2 * error:,.{digits}f}"


def spread(loo):
    """Distance of the largest and the smallest sum of log predictive densities."""
    elpd = [one.elpd for one in loo]
    return max(elpd) - min(elpd)


def inference_numbers(table):
    """Errors of the estimates, in percent."""
    keys = {
        "mean": "mean",
        "q90": "90% quantile",
        "q99": "99% quantile",
        "coef": "earner coefficient",
        "median": "median",
    }
    return {
        f"{key}-{release}": 100 * abs(relative_error(table, row, release))
        for key, row in keys.items()
        for release in ("Synthetic", "Top-coded")
    }


def relative_error(table, statistic, release):
    """Error of an estimate, as a share of the estimate from the data."""
    return table.loc[statistic, release] / table.loc[statistic, "Data"] - 1


def weight_numbers(levels):
    """Levels of the weights from confidential and from synthetic values."""
    rows = {"conf": levels.loc["confidential"], "syn": levels.loc["synthetic"]}
    return {
        f"pw-{label}-{key}": row[key]
        for label, row in rows.items()
        for key in ("smallest", "median", "largest")
    } | {
        "pw-conf-top": rows["conf"]["median, top 1% of incomes"],
        "pw-signed-ones": int(levels.loc[SIGNED, "exactly 1 (records)"]),
    }


# Figures.


def residual_plot(residual):
    """Residuals in order against the quantiles of the normal distribution."""
    _, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
    normal = stats.norm.ppf((np.arange(len(residual)) + 0.5) / len(residual))
    ax.plot(normal, np.sort(residual), ".", color=COLOURS["Data"], markersize=4)
    ax.axline((0, 0), slope=1, color="black", linewidth=0.8)
    ax.set(
        xlabel="Quantile of the normal distribution",
        ylabel="Residual (standard deviations)",
    )


def one_or_many_plot(synthetic, risk, income):
    """Quantiles and mean risks by place in the order of incomes, for two synthesizers."""
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.7), layout="constrained")
    levels = stats.norm.cdf(np.linspace(-2.2, 3.1, 200))
    place = np.argsort(np.argsort(income)) / len(income)
    bins = stats.norm.cdf(np.linspace(-2.2, 2.6, 25))
    middles = np.linspace(-2.1, 2.5, 24)
    for name, style in zip(synthetic, ("--", "-"), strict=True):
        look = {"linestyle": style, "color": COLOURS["Unweighted"], "label": name}
        ratio = quantile_ratio(synthetic[name], income, levels)
        axes[0].plot(stats.norm.ppf(levels), ratio, **look)
        means = [
            risk[name][(place >= a) & (place < b)].mean() for a, b in pairwise(bins)
        ]
        axes[1].plot(middles, means, **look)
    axes[0].axhline(1, color=COLOURS["Data"], linewidth=1)
    axes[0].set(ylabel="Synthetic quantile / quantile of the data", ylim=(0.5, 1.4))
    axes[1].set(ylabel="Mean identification risk", ylim=(0, None))
    ticks = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975, 0.999)
    for ax in axes:
        ax.set_xticks(
            stats.norm.ppf(ticks), [f"{100 * t:g}" for t in ticks], fontsize=8
        )
        ax.set_xlabel("Place in the order of incomes (%)")
        ax.legend()
    axes[0].set_xlim(-2.3, 3.2)
    axes[1].set_xlim(-2.3, 2.7)


def prior_plot(occupied, prior, x, log_y):
    """Occupied components under the prior; densities of one household."""
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    for k, style in zip((10, 20, 50, np.inf), (":", "-.", "--", "-"), strict=True):
        label = "Dirichlet process" if k == np.inf else f"K = {k}"
        share = probabilities(occupied[k])[1:31]
        axes[0].plot(np.arange(1, 31), share, style, color="black", label=label)
    axes[0].set(
        xlabel="Occupied components", ylabel="Prior probability", ylim=(0, None)
    )
    axes[0].legend()
    grid = np.linspace(-15, 25, 1000)
    for draw in prior:
        terms = draw["log_pi"] + stats.norm.logpdf(
            grid[:, None], draw["beta"] @ x, draw["sigma"]
        )
        axes[1].plot(
            grid,
            np.exp(logsumexp(terms, axis=1)),
            color=COLOURS["Unweighted"],
            linewidth=1,
        )
    axes[1].hist(
        log_y, bins=40, density=True, color=COLOURS["Data"], alpha=0.6, label="data"
    )
    axes[1].set(
        xlabel="Log of shifted income",
        ylabel="Density for one household",
        ylim=(0, 1.2),
    )
    axes[1].legend()


def paths_plot(paths, many, sweeps):
    """Log-likelihood of the file along chains from two components, and from many."""
    _, axes = plt.subplots(
        1,
        len(paths),
        figsize=(9.5, 3.4),
        sharex=True,
        sharey=True,
        layout="constrained",
    )
    at = sweeps * (1 + np.arange(len(many[0]))) / 1000
    for ax, (name, some) in zip(axes, paths.items(), strict=True):
        for colour, chains in (("Unweighted", many), ("LW_final", some)):
            for path in chains:
                look = {"color": COLOURS[colour], "linewidth": 0.6}
                ax.plot(at, path["log-likelihood"], **look)
        ax.set(title=name.capitalize(), xlabel="Sweeps (thousands)")
    highest = max(path["log-likelihood"].max() for path in many)
    axes[0].set(ylabel="Log-likelihood of the file", ylim=(None, highest))


def near_plot(fits, window=25):
    """Chance to be within 20% of the own value, along the chains of some fits."""
    _, axes = plt.subplots(
        1, len(fits), figsize=(9.5, 3.4), sharey=True, layout="constrained"
    )
    colours = ("Scalar", "CW_final", "Unweighted", "LW_final", "Data")
    for ax, (name, fit) in zip(axes, fits.items(), strict=True):
        values = near_own(fit).rolling(draw=window).mean()
        for chain, colour in zip(values, colours, strict=True):
            ax.plot(chain, color=COLOURS[colour], linewidth=1)
        ax.set(title=name, xlabel="Draw")
    axes[0].set_ylabel("Share within 20%")


def repeated_plot(found):
    """Risk and utility by treatment of repeated incomes, on both quarters."""
    panels = {
        "Mean identification risk": {
            "mean risk, in an atom": "in an atom",
            "mean risk, outside": "outside",
        },
        "Own income released (%)": {
            "own value released (%), in an atom": "in an atom",
        },
        "Error of seven quantiles (%)": {
            "error of seven quantiles (%)": "mean",
            "largest of them (%)": "largest",
        },
    }
    _, axes = plt.subplots(
        1, len(panels), figsize=(10, 3.4), sharey=True, layout="constrained"
    )
    rows = np.arange(len(TREATMENTS))
    for ax, (title, measures) in zip(axes, panels.items(), strict=True):
        for (file, year), colour, lift in zip(
            QUARTERS.items(), ("Unweighted", "LW_final"), (-0.15, 0.15), strict=True
        ):
            for (measure, label), marker in zip(measures.items(), "os", strict=False):
                at = found.loc[file].xs(measure, level="measure").loc[TREATMENTS]
                ax.errorbar(
                    at["value"],
                    rows + lift,
                    xerr=2 * at["standard_error"],
                    fmt=marker,
                    color=COLOURS[colour],
                    markersize=5,
                    markerfacecolor="none" if marker == "s" else None,
                    label=f"{label}, {year}",
                )
        ax.set(title=title, yticks=rows, yticklabels=TREATMENTS, ylim=(4.5, -0.5))
        ax.legend(fontsize=7, loc=(0.03 if ax is axes[0] else 0.17, 0.4))


def occupied_plot(occupied, prior, largest=12):
    """Share of the draws by number of components with records, by chain; and the prior."""
    _, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
    numbers = np.arange(1, largest + 1)
    width = 0.8 / len(occupied)
    for c, chain in enumerate(occupied):
        ax.bar(
            numbers + (c - (len(occupied) - 1) / 2) * width,
            probabilities(chain)[1 : largest + 1],
            width,
            color=COLOURS["Unweighted"],
            alpha=0.4 + 0.6 * c / len(occupied),
            label=f"chain {c + 1}",
        )
    ax.plot(
        numbers,
        probabilities(prior)[1 : largest + 1],
        "o-",
        color=COLOURS["Data"],
        markersize=3,
        label="prior",
    )
    ax.set(xlabel="Components with records", ylabel="Probability", xticks=numbers)
    ax.legend()


def heap_plot(gains):
    """Log gain of a component for a heap, by its sigma."""
    _, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    for name, style in zip(gains, ("--", "-"), strict=True):
        ax.plot(gains.index, gains[name], style, color="black", label=name)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.axvline(0.05, color=COLOURS["LW_final"], linewidth=1.5, label="floor 0.05")
    ax.set(
        xscale="log",
        xlabel="Sigma of the component",
        ylabel="Log gain",
        ylim=(-600, 1200),
    )
    ax.legend()


def chains_plot(shares, grid, densities):
    """Shares of the four largest components, and densities, of two chains."""
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    ranks = {
        "largest": "Unweighted",
        "second": "LW_final",
        "third": "CW_final",
        "fourth": "Scalar",
    }
    for chain, style in ((0, "-"), (1, ":")):
        for rank, (name, colour) in enumerate(ranks.items()):
            axes[0].plot(
                shares[chain, :, rank],
                style,
                color=COLOURS[colour],
                linewidth=1,
                label=name if chain == 0 else None,
            )
    for chain, density in enumerate(densities):
        axes[1].plot(
            grid,
            density,
            ("-", ":", "--", "-.")[chain % 4],
            color="black",
            label=f"chain {chain + 1}",
        )
    axes[0].set(xlabel="Draw", ylabel="Share of the component", ylim=(0, 1))
    axes[0].legend(ncols=2)
    axes[1].set(xlabel="Log of shifted income", ylabel="Density", ylim=(0, None))
    axes[1].legend()


def real_synthetic_plot(income, z, shift):
    """Real and synthetic incomes: the logarithm, and a closer look at round incomes."""
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    edges = np.linspace(8, 14.5, 60)
    grey = {"color": COLOURS["Data"], "alpha": 0.5, "label": "data"}
    axes[0].hist(np.log(income + shift), edges, density=True, **grey)
    for i, file in enumerate(z):
        axes[0].stairs(
            np.histogram(np.log(file + shift), edges, density=True)[0],
            edges,
            color=COLOURS["Unweighted"],
            linewidth=0.6,
            label=None if i else "20 synthetic files",
        )
    axes[0].set(xlabel="Log of shifted income", ylabel="Density")
    axes[0].legend()
    thousands = np.arange(30.5, 70)
    counts = [np.histogram(v / 1000, thousands)[0] for v in (income, z)]
    axes[1].stairs(counts[0], thousands, fill=True, **grey)
    axes[1].stairs(
        counts[1] / len(z),
        thousands,
        color=COLOURS["Unweighted"],
        label="synthetic, mean of 20",
    )
    axes[1].set(xlabel="Income (1,000 dollars)", ylabel="Records per 1,000 dollars")
    axes[1].legend()


def topcoding_plot(estimates):
    """Four estimates with their intervals."""
    names = ("mean", "90% quantile", "99% quantile", "earner coefficient")
    _, axes = plt.subplots(1, 4, figsize=(11, 2.6), layout="constrained", sharey=True)
    for ax, name in zip(axes, names, strict=True):
        thousands = {
            label: tuple(v / 1000 for v in interval)
            for label, interval in estimates[name].items()
        }
        pp.plots.intervals(
            thousands, xlabel=f"{name.capitalize()}\n(1,000 dollars)", ax=ax
        )


def weight_source_plot(pairwise_weights):
    """Pairwise weights from confidential and from synthetic values."""
    _, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
    edges = np.linspace(0, 1, 81)
    for source, colour, alpha, label in (
        (SIGNED, "Data", 0.8, "from confidential values"),
        ("synthetic", "Unweighted", 0.6, "from synthetic values"),
    ):
        ax.hist(
            pairwise_weights[source],
            edges,
            color=COLOURS[colour],
            alpha=alpha,
            label=label,
        )
    ax.axvline(0.25, color="black", linewidth=1, linestyle=":", label="level in P2")
    ax.set(xlabel="Pairwise weight", ylabel="Records", yscale="log")
    ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.64, 1))


# Checks of claims: what was found, in words, and whether it holds.


def normal_component(log_density, values, means, sigma):
    """Density of a component against SciPy's normal with its variance."""
    normal = [
        stats.multivariate_normal.logpdf(value, mean, sigma**2)
        for value, mean in zip(values, means, strict=True)
    ]
    worst = max(1e-16, np.abs(log_density - normal).max())
    return f"equal to {worst:.0e}", np.allclose(log_density, normal, rtol=1e-10)


def multinomial_labels(labels, share):
    """Frequencies of drawn labels against the shares."""
    frequency = np.bincount(labels, minlength=len(share)) / len(labels)
    worst = np.abs(frequency - share).max()
    return f"{worst:.3f} from the shares", worst < 0.01


def dirichlet_shares(shares, gamma):
    """Mean and variance of the first of K shares, under one gamma."""
    mean, first = 1 / shares.shape[1], shares[:, 0]
    variance = mean * (1 - mean) / (gamma + 1)
    return (
        f"mean share {first.mean():.3f} of {mean:g}",
        abs(first.mean() - mean) < 0.02 and abs(first.var() - variance) < 0.006,
    )


def gamma_prior(gamma):
    """Draws of gamma against Gamma(1, 1)."""
    return (
        f"mean {gamma.mean():.2f}, variance {gamma.var():.2f}",
        stats.kstest(gamma, stats.gamma(1).cdf).pvalue > 1e-4,
    )


def uniform_correlations(correlation, R):
    """Draws of one of R (R - 1) / 2 correlations against LKJ(1)."""
    lkj = stats.beta(R / 2, R / 2)
    return (
        f"a correlation has sd {correlation.std():.3f}, LKJ(1) {1 / np.sqrt(R + 1):.3f}",
        stats.kstest((correlation + 1) / 2, lkj.cdf).pvalue > 1e-4,
    )


def half_t_prior(log_density, grid):
    """Log density against that of t(3) above 0."""
    difference = log_density - stats.t(3).logpdf(grid)
    return "equal up to a constant", np.ptp(difference) < 1e-9


def is_standard(standard):
    """Whether files, standardised by record, have means near 0 and variances near 1."""
    return bool(
        np.abs(standard.mean(axis=1)).max() < 5 / np.sqrt(standard.shape[1])
        and np.abs(standard.var(axis=1).mean() - 1) < 0.05
    )


def allocation_by_equation_7(shares, standard, table):
    """Package and hand: shares that sum to 1, the same files up to chance."""
    package, hand = table.loc[RISK, ["package", "by hand, Equation 7"]]
    sums = np.array([share.sum(axis=0) for share in shares])
    return (
        f"rows sum to 1; risk {package:.3f}, by hand {hand:.3f}",
        np.abs(sums - 1).max() < 1e-9
        and is_standard(standard)
        and abs(package - hand) < 0.01,
    )


def synthetic_files(z, standard):
    """Twenty files of all records, with the mean and variance of Equation 7."""
    m, n = z.shape
    return (
        f"{m} files of {n:,} incomes; standardised mean "
        f"{standard.mean(axis=1).mean():z.3f}, "
        f"variance {standard.var(axis=1).mean():.3f}",
        is_standard(standard) and z.shape == (20, standard.shape[1]),
    )


def one_model(models, *priors):
    """One model class for all fits, and priors that hold."""
    return (
        "one model class for all fits, with the stated priors",
        {type(model) for model in models} == {pp.MixtureSynthesizer}
        and all(holds for _, holds in priors),
    )


def labels_summed_out(stored, by_loops, by_pymc, log_y, arguments):
    """Density of a fit, of the compiled loops and of PyMC against NumPy."""
    mean, log_pi, log_sigma = arguments
    terms = stats.norm.logpdf(log_y, mean, np.exp(log_sigma)[:, None])
    by_numpy = logsumexp(log_pi[:, None] + terms, axis=0)
    return (
        f"PyMC; z summed out, equal to NumPy to {np.abs(stored - by_numpy).max():.0e}",
        all(
            np.allclose(density, by_numpy, rtol=1e-9)
            for density in (stored, by_loops, by_pymc)
        ),
    )


def flexible_or_parametric(one_or_many):
    """More risk in the tail, less distortion in the bulk, with more components."""
    (_, one), (name, many) = one_or_many.items()
    return (
        f"K = 1 and {name.removeprefix('K = ')}: top 1% risk {one[TOP]:.2f}, "
        f"{many[TOP]:.2f}; bulk error {one[BULK]:.1f}%, {many[BULK]:.1f}%",
        many[TOP] > 2 * one[TOP]
        and all(many[error] < one[error] for error in (GAP, BULK, TAIL)),
    )


def mixed_values(many):
    """T mostly 0 where the distribution is preserved."""
    return (
        f"T = 1 for {many[CLOSE]:.2f}; gap of distribution functions {many[GAP]:.3f}",
        many[CLOSE] < 0.5 and many[GAP] < 0.04,
    )


def number_of_components(prior, above):
    """Prior near its limit for large K; a posterior that hardly depends on K.

    `above` has the fits that have converged, two of them at least, by a label that ends
    with K. In the largest model no more than half of the components are in use.
    """
    largest = int(above.index[-1].split("=")[1])
    means, distance = prior[FORMULA].to_numpy(), prior[LIMIT].to_numpy()
    return (
        f"prior means {means[0]:.1f} to {means[-2]:.1f}, limit {means[-1]:.1f}; "
        f"above 1% in the posterior: {above.min():.1f} to {above.max():.1f} "
        f"({', '.join(above.index)})",
        len(above) > 1
        and (np.diff(means) > 0).all()
        and (np.diff(distance[:3]) < 0).all()
        and distance[3] < 0.08
        and np.allclose(means, prior["mean, simulated"], rtol=0.03)
        and above.between(2, largest / 2).all()
        and above.max() - above.min() < 1,
    )


def better_than_topcoding(inference):
    """Mean and 99% quantile are nearer to the data than those after top-coding."""

    def error(name, release):
        return relative_error(inference, name, release)

    return (
        ", ".join(
            f"{name} {error(name, 'Synthetic'):+.1%} "
            f"(top-coded {error(name, 'Top-coded'):+.1%})"
            for name in ("mean", "99% quantile", "90% quantile")
        ),
        all(
            abs(error(name, "Synthetic")) < abs(error(name, "Top-coded"))
            for name in ("mean", "99% quantile")
        ),
    )


def source_of_weights(weights, income, top):
    """Only confidential values with a signed radius give the published levels."""
    confidential = weights["confidential"]
    return (
        ", ".join(
            f"{name} {w.min():.2f}/{np.median(w):.2f}/{w.max():.2f}"
            for name, w in weights.items()
            if name != "confidential"
        ),
        abs(np.median(confidential) - 0.25) < 0.06
        and np.median(confidential[top]) < 0.17
        and ((weights[SIGNED] == 1) == (income < 0)).all()
        and weights["synthetic"].min() > 0.75,
    )


def prior_checks(gamma, correlation, R, rng):
    """Equations 2 to 6, from draws of the chapter and some more."""
    shares = np.exp(log_dirichlet(np.full(20_000, 2.0), 10, rng))
    labels = rng.choice(10, size=100_000, p=shares[0])
    grid = np.linspace(0.01, 20, 500)
    return [
        multinomial_labels(labels, shares[0]),
        dirichlet_shares(shares, gamma=2),
        gamma_prior(gamma),
        uniform_correlations(correlation, R),
        half_t_prior(np.array([log_half_t(value) for value in grid]), grid),
    ]


def claims(equations, files, setup, software, findings):
    """Arrange the checks by the ledger's ids.

    Parameters
    ----------
    equations : list of tuple
        Checks of Equations 1 to 7, which both papers print.
    files, setup, software : tuple
    findings : dict
        By id.
    """
    p1, p2 = (
        {f"{paper}-Eq0{i}": check for i, check in enumerate(equations, start=1)}
        for paper in ("P1", "P2")
    )
    p1 |= {"P1-EqU10": files, "P1-Set04": setup, "P1-Set14": software}
    p2 |= {"P2-Set10": software}
    for name, check in findings.items():
        (p1 if name.startswith("P1") else p2)[name] = check
    return p1 | p2
