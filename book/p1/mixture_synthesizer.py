"""A mixture of regressions: figures, numbers for the text, checks of claims."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from income_mixture import BULK, CLOSE, GAP, RISK, TAIL, TOP, quantile_ratio
from mixture_prior import FORMULA, LIMIT, log_dirichlet, probabilities
from scipy import stats
from scipy.special import logsumexp

import pseudopost as pp
from pseudopost.mixture_sweeps import log_half_t

COLOURS = pp.plots.PALETTE
SIGNED = "confidential, signed ball"


# What the chapter computes with.


def shape(residual):
    """Extremes, skewness and excess kurtosis of residuals."""
    return {
        "smallest residual": residual.min(),
        "largest residual": residual.max(),
        "skewness": stats.skew(residual),
        "excess kurtosis": stats.kurtosis(residual),
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
    axes[1].set(
        xlabel="Income (1,000 dollars)",
        ylabel="Records per 1,000 dollars",
        ylim=(0, 1.25 * counts[0].max()),
    )
    axes[1].legend(loc="upper right")


def topcoding_plot(estimates):
    """Four estimates with their intervals."""
    names = ("mean", "90% quantile", "99% quantile", "earner coefficient")
    _, axes = plt.subplots(1, 4, figsize=(9, 2.6), layout="constrained", sharey=True)
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
    ax.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.64, 1))


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
