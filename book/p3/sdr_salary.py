"""What the chapter on doctorate salaries summarizes, draws and checks.

A *run* is what the chapter's `pipeline` returns: weights, fits and bounds, each by name
of the synthesizer; `runs` has one by seed.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

import pseudopost as pp

TOP = 509_000
# Largest salary of the file below the top value.
BELOW_TOP = 362_000
# How far from a heap, in dollars, a component on it may be centred.
NEAR_HEAP = {0: 500, TOP: 15_000}
PAIRS = ("LW", "CW")
SHORT = {
    "15th quantile": "q15",
    "90th quantile": "q90",
    "mean": "mean",
    "median": "median",
    "95th quantile": "q95",
    "99th quantile": "q99",
    "mu": "mu",
}
TAILS = ("15th quantile", "90th quantile")
CENTRE = ("mean", "median")
STATISTICS = (*TAILS, *CENTRE)
FAR_TAILS = ("95th quantile", "99th quantile")
PAPER = {
    "records": 1000,
    "mean": 107_609,
    "median": 95_000,
    "sd": 69_718,
    "smallest": 0,
    "largest": TOP,
}
PUBLIC_FILE = {
    "records": 74_429,
    "mean": 107_244,
    "median": 95_000,
    "sd": 73_429,
    "smallest": 0,
    "largest": TOP,
    "zeros (%)": 100 * 426 / 74_429,
    "at the top value (%)": 100 * 862 / 74_429,
    "90% quantile": 185_000,
    "99% quantile": TOP,
}
FEATURES = {
    "within 500 of 0 (%)": lambda z: percent(np.abs(z) <= 500),
    "below 0 (%)": lambda z: percent(z < 0),
    "multiples of 1,000 (%)": lambda z: percent(z % 1000 == 0),
    "multiples of 5,000 (%)": lambda z: percent(z % 5000 == 0),
    "362,001 to 499,999 (%)": lambda z: percent((z > BELOW_TOP) & (z < 500_000)),
    "500,000 to 518,000 (%)": lambda z: percent((z >= 500_000) & (z <= 518_000)),
    "above 518,000 (%)": lambda z: percent(z > 518_000),
    "largest": lambda z: z.max(axis=-1),
    "sd": lambda z: z.std(axis=-1, ddof=1),
    "5th quantile": lambda z: np.quantile(z, 0.05, axis=-1),
    "15th quantile": lambda z: np.quantile(z, 0.15, axis=-1),
    "median": lambda z: np.median(z, axis=-1),
    "90th quantile": lambda z: np.quantile(z, 0.9, axis=-1),
    "99th quantile": lambda z: np.quantile(z, 0.99, axis=-1),
}


# Tables


def rounded(value):
    """Whole numbers from 100 on, two decimals below; nothing for a missing value."""
    if np.isnan(value):
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 or value == 0 else f"{value:.2f}"


def percent(condition):
    """Percentage of the records of each file."""
    return 100 * np.mean(condition, axis=-1)


def described(y):
    """Describe the salaries beside the paper's sample and the public file."""
    ours = {
        "records": len(y),
        "mean": y.mean(),
        "median": np.median(y),
        "sd": y.std(ddof=1),
        "smallest": y.min(),
        "largest": y.max(),
        "zeros (%)": percent(y == 0),
        "at the top value (%)": percent(y == TOP),
        "90% quantile": np.quantile(y, 0.9),
        "99% quantile": np.quantile(y, 0.99),
    }
    return pd.DataFrame(
        {"stand-in": ours, "paper's sample": PAPER, "public file": PUBLIC_FILE}
    ).map(rounded)


def largest(bounds, y):
    """Largest bound, the salary that has it, and the median bound."""
    return {
        "largest bound": bounds.max(),
        "of a salary of": y[bounds.argmax()],
        "median bound": np.median(bounds),
    }


def features_of_data(y):
    """Every feature of the data, printed."""
    return pd.DataFrame({"value": {k: rounded(f(y)) for k, f in FEATURES.items()}})


def predictive_check(files):
    """Mean of every feature over the files, and the range of the middle 95%."""
    rows = {}
    for feature, f in FEATURES.items():
        values = f(files)
        low, high = np.quantile(values, [0.025, 0.975])
        rows[feature] = {
            "mean": rounded(values.mean()),
            "95% of files": f"{rounded(low)} to {rounded(high)}",
        }
    return pd.DataFrame(rows).T


# Runs


def spread(weights, bounds):
    """How level bounds are: deviation relative to the largest, weights in (0, 1)."""
    inside = (weights > 0) & (weights < 1)
    return (bounds[inside] / bounds.max()).std() if inside.any() else np.nan


def averages(runs, y):
    """Properties of the synthesizers, means over the runs."""
    rows = [
        {
            "synthesizer": name,
            "mean weight": w[name].mean(),
            "largest bound": b[name].max(),
            "median bound": np.median(b[name]),
            "spread": spread(w[name], b[name]),
            "weight of 0": w[name][y == 0].max(),
            "weight of the top": w[name][y == TOP].mean(),
            "low weights (%)": percent(w[name] < w["CW"].max() / 2),
            "phi": float(f[name]["posterior"]["phi"].mean()),
        }
        for w, f, b in runs.values()
        for name in w
    ]
    return pd.DataFrame(rows).groupby("synthesizer", sort=False).mean()


def changes(runs):
    """What re-weighting changes in LW and CW: means over the runs, standard errors."""
    rows = []
    for w, _, b in runs.values():
        for name in PAIRS:
            before, after = w[name], w[f"{name}_final"]
            rows.append(
                {
                    "synthesizer": name,
                    "largest bound (%)": 100
                    * (b[f"{name}_final"].max() / b[name].max() - 1),
                    "mean weight": after.mean() - before.mean(),
                    "raised (%)": percent(after > before),
                    "lowered": (after < before).sum(),
                }
            )
    by_name = pd.DataFrame(rows).groupby("synthesizer")
    return by_name.mean(), by_name.sem()


def largest_without(runs, y, values):
    """Largest unweighted bound among records without these salaries, mean over runs."""
    keep = ~np.isin(y, values)
    return np.mean([b["Unweighted"][keep].max() for _, _, b in runs.values()])


def below_third(weights):
    """Percentage of weights below 0.3."""
    return percent(weights < 0.3)


# The mixture


def sitting(fit, value, shift):
    """Which components sit on a heap, by chain, draw and component.

    Such a component is narrow, holds 0.2 to 2% of the records, and is centred near
    the heap's value.
    """
    posterior = fit["posterior"]
    centre = np.exp(posterior["beta"].to_numpy()[..., 0]) - shift
    pi, sigma = posterior["pi"].to_numpy(), posterior["sigma"].to_numpy()
    near = np.abs(centre - value) < NEAR_HEAP[value]
    return near & (sigma < 0.25) & (pi > 0.002) & (pi < 0.02)


def chains(fit, log_likelihood, shift):
    """What each chain of the mixture has found."""
    n_chains = fit["posterior"].sizes["chain"]
    of_chains = log_likelihood.sum(axis=1).reshape(n_chains, -1).mean(axis=1)
    on = {
        f"a component on {value:,} (% of draws)": percent(
            sitting(fit, value, shift).any(axis=-1)
        )
        for value in (TOP, 0)
    }
    return pd.DataFrame(
        {"log-likelihood of the file": of_chains} | on,
        index=pd.Index(range(1, n_chains + 1), name="chain"),
    )


# Numbers for the text


def data_numbers(y):
    """Spike, heaps and top value."""
    return {
        "zeros": int((y == 0).sum()),
        "tops": int((y == TOP).sum()),
        "heap-10": percent(y % 10_000 == 0),
        "data-mean": y.mean(),
        "mean-se": y.std() / np.sqrt(len(y)),
        "sigma-top": (y == TOP).mean() / np.sqrt(2 * np.pi),
    }


def run_numbers(runs, average, change, change_error):
    """The five synthesizers, and how many fits have not converged."""
    fits = [fit for _, by_name, _ in runs.values() for fit in by_name.values()]
    sizes = fits[0]["posterior"].sizes
    values = {
        "S": sizes["draw"] * sizes["chain"],
        "seeds": len(runs),
        "fits": len(fits),
        "missed": sum(bool(fit.attrs["not_converged"]) for fit in fits),
    }
    labels = {
        "weight": "mean weight",
        "bound": "largest bound",
        "phi": "phi",
    }
    for label, column in labels.items():
        values |= {f"{label}-{name}": v for name, v in average[column].items()}
    for name in PAIRS:
        values[f"change-{name}"] = change.loc[name, "largest bound (%)"]
        values[f"change-se-{name}"] = change_error.loc[name, "largest bound (%)"]
    return values


def group_numbers(runs, average, y, lw_likelihood):
    """Who sets epsilon, and the weight that a zero would get.

    Parameters
    ----------
    lw_likelihood : array-like, shape (draws, n)
        Log-likelihood of the first run's LW fit.
    """
    _, _, bounds = next(iter(runs.values()))
    phi = average.loc["Unweighted", "phi"]
    of_zero = pp.lipschitz_bounds(lw_likelihood)[y == 0].max()
    return {
        "no-zeros": largest_without(runs, y, [0]),
        "no-spikes": largest_without(runs, y, [0, TOP]),
        "limit-weight": 0.95 * bounds["LW"].max() / of_zero,
        "logf0": stats.nbinom.logpmf(0, phi, phi / (phi + y.mean())),
    }


def distance_numbers(distance, salaries_cw, counts_cw):
    """Distances on salaries and counts, and the weights of CW on both."""
    return {
        f"d-{kind}-{name}": value
        for kind in ("salaries", "counts")
        for name, value in distance.loc[(kind, "distance")].items()
    } | {
        "cw-low-salaries": below_third(salaries_cw),
        "cw-low-counts": below_third(counts_cw),
    }


def change_numbers(average, change):
    """What re-weighting does to bounds and weights."""
    values = {}
    for name in PAIRS:
        values[f"raised-{name}"] = change.loc[name, "raised (%)"]
        for m in (name, f"{name}_final"):
            values[f"spread-{m}"] = average.loc[m, "spread"]
    return values


def error_numbers(errors, to_unweighted):
    """Every error, and every distance from the unweighted synthesizer."""
    lost = errors["CW_final"].abs() - errors["CW"].abs()
    return {
        f"{letter}-{name}-{SHORT[row]}": value
        for letter, table in (("e", errors), ("u", to_unweighted))
        for name, column in table.items()
        for row, value in column.items()
    } | {"mean-loss": lost["mean"]}


def check_numbers(replicated):
    """What the unweighted synthesizer makes of zeros, gap and top value."""
    return {
        "ppc-gap": FEATURES["362,001 to 499,999 (%)"](replicated).mean(),
        "ppc-zero-files": int((replicated == 0).any(axis=1).sum()),
    }


def chain_numbers(table):
    """Percentages of the chain in which a component sits on a heap least."""
    top, zero = table.filter(like="a component on").min()
    return {"sits-top": top, "sits-zero": zero}


def scale_numbers(scales):
    """Bounds of one mixture in three units."""
    mixture = scales.loc["mixture, density per"]
    units = {"log dollars": "log", "1 dollar": "one", "1,000 dollars": "thousand"}
    discrete = scales.loc["negative binomial, probability of"]
    return {
        f"{label}-{short}": mixture.loc[unit, column]
        for unit, short in units.items()
        for label, column in (("scale", "largest bound"), ("median", "median bound"))
    } | {
        "nb-median-thousand": discrete.loc["1,000 dollars", "median bound"],
    }


def survey_numbers(table, change, runs, y, survey_weights):
    """Survey weights under privacy weights."""
    values = {
        "survey-mean": np.average(y, weights=survey_weights),
        "survey-files": table.loc["Unweighted", "mean of the files"],
        "survey-seeds": len(runs),
        "survey-stopped": np.mean(
            [percent(w["LW_final"] == 1) for w, _, _ in runs.values()]
        ),
    }
    for name, row in table.iterrows():
        values[f"survey-low-{name}"] = row["share of the low"]
    for name in PAIRS:
        values[f"survey-change-{name}"] = change.loc[name, "largest bound (%)"]
        values[f"survey-rise-{name}"] = change.loc[name, "mean weight"]
    return values


# Figures


def _in_thousands(axis):
    axis.set_major_formatter(lambda value, _: f"{value / 1000:.0f}")


def draw_data(y):
    """Salaries in three windows."""
    windows = {
        "A spike at zero": (-500, 20_500),
        "Heaps at round salaries": (69_500, 160_500),
        "A gap and a top value": (299_500, 520_500),
    }
    colour = pp.plots.PALETTE["Data"]
    _, axes = plt.subplots(1, 3, figsize=(9.5, 3), layout="constrained")
    for ax, (title, (low, high)) in zip(axes, windows.items(), strict=True):
        ax.hist(y, bins=np.arange(low, high + 1, 1000), color=colour, ec=colour)
        ax.set(title=title, xlabel="Salary (1,000 dollars)")
        _in_thousands(ax.xaxis)
    axes[0].set_ylabel("Records per 1,000 dollars")


def draw_before(weights, bounds):
    """Weights and bounds before re-weighting."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    pp.plots.violins({m: weights[m] for m in PAIRS}, ylabel="Weight", ax=left)
    left.set_ylim(-0.03, 1.03)
    pp.plots.violins(
        {m: bounds[m] for m in ("Unweighted", *PAIRS)},
        ylabel="Lipschitz bound (nats)",
        ax=right,
    )
    right.set_ylim(bottom=0)
    left.set_title("A: weights")
    right.set_title("B: bounds")


def draw_intervals(interval, names, titles):
    """Intervals of the four statistics, in 1,000 dollars."""
    _, axes = plt.subplots(2, 2, figsize=(9, 5.4), layout="constrained", sharey=True)
    for k, (ax, statistic) in enumerate(zip(axes.flat, STATISTICS, strict=True)):
        pp.plots.intervals(
            {m: [part[k] / 1000 for part in interval[m]] for m in ("Data", *names)},
            xlabel=f"{statistic.capitalize()} (1,000 dollars)",
            ax=ax,
        )
    for ax, title in zip(axes[:, 0], titles, strict=True):
        ax.set_title(title, loc="left")


def draw_parameter_and_data(fit, y, synthetic, names, titles):
    """Posterior of mu, and the distribution of data and synthetic data."""
    _, axes = plt.subplots(
        1, 2, figsize=(9.5, 3.8), layout="constrained", width_ratios=[5, 6]
    )
    pp.plots.violins(
        {m: fit[m]["posterior"]["mu"].to_numpy().ravel() / 1000 for m in names},
        ylabel="$\\mu$ (1,000 dollars)",
        ax=axes[0],
    )
    pp.plots.violins(
        {"Data": y / 1000} | {m: synthetic[m] / 1000 for m in names},
        ylabel="Salary (1,000 dollars)",
        ax=axes[1],
    )
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, loc="left")
        ax.tick_params(axis="x", labelsize=8)


def draw_bounds_and_weights(weights, bounds, names):
    """Bounds against weights, before and after re-weighting."""
    _, axes = plt.subplots(2, 2, figsize=(9, 6.6), layout="constrained", sharey="row")
    for ax, name in zip(axes.flat, names, strict=True):
        pp.plots.bounds_against_weights(weights[name], bounds[name], name=name, ax=ax)
    axes[0, 0].legend(loc="lower right")


def draw_after(weights, bounds, names):
    """Bounds and weights before and after re-weighting."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    pp.plots.violins(
        {m: bounds[m] for m in names}, ylabel="Lipschitz bound (nats)", ax=left
    )
    left.set_ylim(bottom=0)
    pp.plots.violins({m: weights[m] for m in names}, ylabel="Weight", ax=right)
    right.set_ylim(-0.03, 1.03)
    left.set_title("A: bounds", loc="left")
    right.set_title("C and D: weights", loc="left")


def draw_change_of_weights(weights):
    """Weights after against weights before re-weighting."""
    _, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for ax, name in zip(axes, PAIRS, strict=True):
        pp.plots.weights_before_after(
            weights[name], weights[f"{name}_final"], name=name, ax=ax
        )
    axes[0].legend(loc="lower right")


def draw_models(y, models):
    """Density of data and models in three windows, per 1,000 records and dollars."""
    windows = {
        "near zero": (-5500, 30_500, 1000),
        "the whole": (0, 400_001, 10_000),
        "the top": (300_000, 620_001, 10_000),
    }
    styles = {
        "negative binomial": {
            "color": pp.plots.PALETTE["Unweighted"],
            "linestyle": "-",
        },
        "mixture": {"color": pp.plots.PALETTE["Vector"], "linestyle": "--"},
    }
    _, axes = plt.subplots(1, 3, figsize=(9.5, 3.2), layout="constrained")
    for ax, (title, (low, high, step)) in zip(axes, windows.items(), strict=True):
        edges = np.arange(low, high + 1, step)

        def height(values, edges=edges, step=step):
            return np.histogram(values, edges)[0] / np.size(values) * 1e6 / step

        ax.stairs(height(y), edges, fill=True, color="#BBBBBB", label="Data")
        for name, files in models.items():
            ax.stairs(height(files), edges, label=name, **styles[name])
        ax.set(title=title, xlabel="Salary (1,000 dollars)")
        _in_thousands(ax.xaxis)
    axes[0].set_ylabel("Records per 1,000 dollars")
    axes[1].legend(loc="upper right", fontsize=8)


def settings_numbers(settings, weights):
    """Statements on errors with the largest radius, and low weights there, in percent.

    `weights` are those of CW with it, by scale and shift.
    """
    errors = settings.drop(index="P3-Fig09a")
    largest = settings.columns.get_level_values("r").max()
    wide = errors.xs(largest, level="r", axis=1).all(axis=1)
    others = errors.drop(columns=largest, level="r").any(axis=1)
    low = [below_third(w) for w in weights]
    return {
        "wide": largest,
        "wide-all": int(wide.sum()),
        "wide-only": int((wide & ~others).sum()),
        "wide-low-least": min(low),
        "wide-low-most": max(low),
        "low-holds": int(settings.loc["P3-Fig09a"].sum()),
    }


def mean_errors(found, columns):
    """Error of the mean under CW and CW_final, with its standard error, by setting.

    `found` are results of :func:`other_errors`, whose third statistic is the mean.
    """
    rows = {
        setting: {
            name: f"{errors[name][2]:+,.0f} ± {noise[name][2]:,.0f}" for name in errors
        }
        for setting, (errors, noise) in zip(columns, found, strict=True)
    }
    return pd.DataFrame(rows).T.rename_axis(columns.names)


# Checks of the paper's statements: what was found, and whether the statement holds


def claims(
    y,
    weights,
    counts_cw,
    average,
    change,
    change_error,
    errors,
    standard_error,
    distance,
    survey_change,
):
    """Judge every statement of the paper on its application.

    Parameters
    ----------
    weights : dict
        Of the run that the figures show; `counts_cw` are those of CW on the counts.
    average : DataFrame
        Of :func:`averages`; `change` and `change_error` of :func:`changes`, and
        `survey_change` the same with survey weights.
    errors, standard_error : DataFrame
        By statistic and synthesizer.
    distance : DataFrame
        Rows ``(file, "distance")`` and ``(file, "standard error")``.
    """
    return (
        data_claim(y)
        | bound_claims(average, change, change_error, weights["CW"].max() / 2)
        | after_claims(errors, standard_error)
        | weight_claims(weights, average)
        | before_claims(errors, standard_error)
        | distance_claims(distance, weights["CW"], counts_cw)
        | kept_claims(change, change_error)
        | gain_claims(errors, standard_error)
        | survey_claim(survey_change)
    )


def data_claim(y):
    """Judge the stand-in by the paper's description of its sample."""
    mean, median, sd = y.mean(), np.median(y), y.std(ddof=1)
    return {
        "P3-Set04": (
            f"mean {mean:,.0f}, median {median:,.0f}, sd {sd:,.0f}, "
            f"range {y.min()} to {y.max():,}",
            abs(mean / PAPER["mean"] - 1) < 0.01
            and abs(median / PAPER["median"] - 1) < 0.01
            and abs(sd / PAPER["sd"] - 1) < 0.02
            and (y.min(), y.max()) == (PAPER["smallest"], PAPER["largest"]),
        )
    }


def _changes(change):
    return ", ".join(f"{m} {change.loc[m, 'largest bound (%)']:+.1f}%" for m in PAIRS)


def _kept(change, change_error, percent):
    """Whether the largest bounds change by less than this, three errors included."""
    column = "largest bound (%)"  # a refit that changed nothing would give -5%
    return (change[column].abs() + 3 * change_error[column] < percent).all()


def bound_claims(average, change, change_error, half):
    """Judge bounds and weights before and after re-weighting."""
    spread, median, mean = (
        average[column] for column in ("spread", "median bound", "mean weight")
    )
    low, raised = average["low weights (%)"], change["raised (%)"]
    kept, gain = _kept(change, change_error, 3), change["mean weight"]
    return {
        "P3-Set05": (_changes(change), _kept(change, change_error, 10)),
        "P3-Fig06a": (
            f"spread {spread['LW']:.3f} to {spread['LW_final']:.3f}",
            spread["LW_final"] < spread["LW"] / 2,
        ),
        "P3-Fig06b": (
            f"spread {spread['CW']:.2f} to {spread['CW_final']:.2f}",
            spread["CW_final"] < spread["CW"] / 2,
        ),
        "P3-Fig07a": (
            ", ".join(
                f"{m} median {median[m]:.2f} to {median[f'{m}_final']:.2f}"
                for m in PAIRS
            ),
            kept and all(median[f"{m}_final"] > median[m] for m in PAIRS),
        ),
        "P3-Fig07b": (
            ", ".join(f"{m} {raised[m]:.0f}% higher" for m in PAIRS),
            (raised > 90).all(),
        ),
        "P3-Fig07c": (
            f"mean {mean['LW']:.3f} to {mean['LW_final']:.3f}",
            0 < gain["LW"] < 0.05,
        ),
        "P3-Fig07d": (
            f"mean {mean['CW']:.2f} to {mean['CW_final']:.2f}; "
            f"below {half:.2f}: {low['CW']:.0f}% to {low['CW_final']:.0f}%",
            gain["CW"] > gain["LW"] and low["CW_final"] < low["CW"],
        ),
    }


def noise(standard_error, row, a, b):
    """Three standard errors of the difference of two entries."""
    return 3 * np.hypot(standard_error.loc[row, a], standard_error.loc[row, b])


def _pair(errors, row, m):
    return f"{errors.loc[row, m]:+,.0f} to {errors.loc[row, f'{m}_final']:+,.0f}"


def _smaller(errors, standard_error, rows, a, b):
    """Whether the error of `a` is smaller than that of `b` in all rows, beyond noise."""
    gap = errors[b].abs() - errors[a].abs()
    return all(gap[row] > noise(standard_error, row, a, b) for row in rows)


def _to_unweighted(errors):
    return errors.sub(errors["Unweighted"], axis=0).abs()


def after_claims(errors, standard_error):
    """Judge errors before and after re-weighting, figure by figure."""

    def improves(rows, names):
        return all(
            _smaller(errors, standard_error, rows, f"{m}_final", m) for m in names
        )

    away = _to_unweighted(errors)
    mu = away.loc["mu"]
    return {
        "P3-Fig08a": (
            ", ".join(f"{SHORT[r]} {_pair(errors, r, 'CW')}" for r in TAILS) + " (CW)",
            improves(TAILS, ["CW"]),
        ),
        "P3-Fig08b": (
            ", ".join(f"{r} {_pair(errors, r, 'CW')}" for r in CENTRE) + " (CW)",
            improves(CENTRE, ["CW"]),
        ),
        "P3-Fig08c": (
            ", ".join(f"{m} {mu[m]:,.0f} to {mu[f'{m}_final']:,.0f}" for m in PAIRS),
            all(_smaller(away, standard_error, ["mu"], f"{m}_final", m) for m in PAIRS),
        ),
        "P3-Fig08d": (
            ", ".join(f"{m} q99 {_pair(errors, '99th quantile', m)}" for m in PAIRS),
            improves(FAR_TAILS, PAIRS),
        ),
    }


def error_claims(errors, standard_error):
    """Judge all statements that rest on errors."""
    return (
        after_claims(errors, standard_error)
        | before_claims(errors, standard_error)
        | gain_claims(errors, standard_error)
    )


def other_errors(synthesizer, w, statistics, of_data, draws):
    """Errors under weights w and after re-weighting them, from four fits.

    Parameters
    ----------
    statistics : callable
        Of synthetic files, by file; `of_data` has those of the data, the mean last.

    Returns
    -------
    errors, standard_error : dict of ndarray
        Of CW and CW_final.
    """
    found = {"CW": [], "CW_final": []}
    for seed in range(1, 5):
        weights = w
        for values in found.values():
            fit = synthesizer.fit(weights, draws=draws, random_seed=seed)
            z = synthesizer.synthesize(fit, 500, random_seed=seed).to_numpy()
            mu = fit["posterior"]["mu"].mean().item()
            values.append(np.append(statistics(z).mean(axis=1), mu) - of_data)
            bounds = pp.lipschitz_bounds(synthesizer.log_likelihood(fit), weights)
            weights = pp.reweight(weights, bounds, k=0.95)
    return (
        {name: np.mean(values, axis=0) for name, values in found.items()},
        {name: stats.sem(values) for name, values in found.items()},
    )


def low_weight_claim(weights, mean):
    """Judge the distributions of the weights before re-weighting."""
    below = {m: below_third(weights[m]) for m in PAIRS}
    return {
        "P3-Fig09a": (
            f"mean LW {mean['LW']:.2f}, CW {mean['CW']:.2f}; below 0.3: "
            f"LW {below['LW']:.1f}%, CW {below['CW']:.1f}%",
            below["CW"] > 50 > below["LW"],
        )
    }


def weight_claims(weights, average):
    """Judge weights and bounds before re-weighting."""
    mean, largest = average["mean weight"], average["largest bound"]
    return low_weight_claim(weights, mean) | {
        "P3-Fig09b": (
            ", ".join(f"{m} {largest[m]:.1f}" for m in ("Unweighted", *PAIRS)),
            all(largest[m] < 0.8 * largest["Unweighted"] for m in PAIRS),
        ),
    }


def before_claims(errors, standard_error):
    """Judge the errors of LW and CW before re-weighting, figure by figure."""

    def both(row):
        return f"LW {errors.loc[row, 'LW']:+,.0f}, CW {errors.loc[row, 'CW']:+,.0f}"

    def poorer(rows):
        return _smaller(errors, standard_error, rows, "LW", "CW")

    away = _to_unweighted(errors)
    mu = away.loc["mu"]
    return {
        "P3-Fig09c": (
            ", ".join(f"{SHORT[r]} {both(r)}" for r in TAILS),
            poorer(TAILS),
        ),
        "P3-Fig09d": (", ".join(f"{r} {both(r)}" for r in CENTRE), poorer(CENTRE)),
        "P3-Fig09e": (
            f"distance of mu from Unweighted: LW {mu['LW']:,.0f}, CW {mu['CW']:,.0f}",
            _smaller(away, standard_error, ["mu"], "LW", "CW"),
        ),
        "P3-Fig09f": (
            f"q99 {both('99th quantile')}",
            errors.loc["99th quantile", "LW"] < 0 and poorer(FAR_TAILS),
        ),
    }


def distance_claims(distance, salaries_cw, counts_cw):
    """Judge the distances on the salaries and on the counts."""
    d = distance.xs("distance", level=1)
    salaries, counts = d.loc["salaries"], d.loc["counts"]
    errors = distance.xs("standard error", level=1)
    clear = 3 * np.sqrt(2) * errors.max(axis=None)
    return {
        "P3-Claim18": (
            f"distance in sd: LW {salaries['LW']:.2f}, "
            f"Unweighted {salaries['Unweighted']:.2f}, CW {salaries['CW']:.2f}; "
            f"LW on the counts {counts['LW']:.2f}",
            salaries[["Unweighted", "CW"]].min() - salaries["LW"] > clear
            and salaries["LW"] - counts["LW"] > clear,
        ),
        "P3-Claim19": (
            f"mean weight {salaries_cw.mean():.2f}, on the counts "
            f"{counts_cw.mean():.2f}; distance {salaries['CW']:.2f} and "
            f"{counts['CW']:.2f} sd",
            below_third(salaries_cw) > 2 * below_third(counts_cw)
            and salaries["CW"] - counts["CW"] > clear,
        ),
    }


def kept_claims(change, change_error):
    """Judge who gains weight, and whether the largest bound is kept."""
    gain = change["mean weight"]
    return {
        "P3-Claim20": (
            f"mean weight LW {gain['LW']:+.3f}, CW {gain['CW']:+.3f}",
            gain["CW"] > 2 * gain["LW"] > 0,
        ),
        "P3-Claim21": (_changes(change), _kept(change, change_error, 3)),
    }


def gain_claims(errors, standard_error):
    """Judge the paper's summaries of what re-weighting gains."""
    gain = {
        m: (errors[m].abs() - errors[f"{m}_final"].abs())["99th quantile"]
        for m in PAIRS
    }
    clear = sum(noise(standard_error, "99th quantile", m, f"{m}_final") for m in PAIRS)
    return {
        "P3-Claim22": (
            "CW: "
            + ", ".join(f"{SHORT[r]} {_pair(errors, r, 'CW')}" for r in errors.index),
            _smaller(errors, standard_error, errors.index, "CW_final", "CW"),
        ),
        "P3-Claim23": (
            ", ".join(
                f"{m} {SHORT[r]} {_pair(errors, r, m)}"
                for m in PAIRS
                for r in FAR_TAILS
            ),
            all(
                _smaller(errors, standard_error, FAR_TAILS, f"{m}_final", m)
                for m in PAIRS
            ),
        ),
        "P3-Claim35": (
            ", ".join(f"q99 gain {m} {gain[m]:,.0f}" for m in PAIRS),
            gain["LW"] > 0 and gain["CW"] - gain["LW"] > clear,
        ),
    }


def survey_claim(change):
    """Judge bounds and weights of data with survey weights."""
    bound, rise = change["largest bound (%)"], change["mean weight"]
    return {
        "P3-Fut1": (
            ", ".join(
                f"{m} bound {bound[m]:+.0f}%, mean weight {rise[m]:+.2f}" for m in PAIRS
            ),
            (bound.abs() < 10).all() and (rise > 0).all(),
        )
    }
