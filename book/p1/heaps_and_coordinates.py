"""Heaps and coordinates: figures, numbers for the text, checks of statements."""

import warnings
from pathlib import Path

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from income_mixture import worst

import pseudopost as pp

COLOURS = pp.plots.PALETTE
DATA = Path(__file__).parents[2] / "data"
QUARTER, ATOMS = DATA / "ce2016q1.csv.gz", DATA / "atoms.csv"
# Ways to treat repeated incomes, and the quarters on which they were compared.
TREATMENTS = ["floor 0.01", "floor 0.05", "floor 0.2", "intervals", "atoms"]
QUARTERS = {"ce2016q1": "2016", "ce2014q1": "2014"}


# What the chapter computes with.


def heap_table(cases, gains, log_gain, X):
    """What the records of each heap gain by a component of their own."""
    sigma = gains.index.to_numpy()
    slope = gains.diff().iloc[1] / np.diff(np.log(sigma))[0]
    slope = slope.round(6) + 0.0  # without -0.0
    return pd.DataFrame(
        {
            name: {
                "records": len(case[0]),
                "rank": np.linalg.matrix_rank(X[case[0]]),
                "slope at 0": slope[name],
                "gain at 0.05": log_gain(*case, 0.05),
                "worth it below": gains.index[gains[name] > 0].max(),
            }
            for name, case in cases.items()
        }
    ).T


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
    table = pd.DataFrame(table).sort_index(
        key=lambda rows: rows.str.startswith("elpd, chain"), kind="stable"
    )
    whole = table.index.str.contains("ESS|elpd|records with")
    shown = table.map("{:.3f}".format)
    shown[whole] = table[whole].map("{:,.0f}".format)
    return shown


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


def repeated_values(quarter, known=("gender", "age", "region"), often=10):
    """Count the incomes that many share, those not rounded, and the largest share.

    Of the largest that is not rounded: who has twice as much, but for 2 dollars. The
    last is the largest part of a pattern of `known`, of at least `often` records,
    that has one and the same income.
    """
    count = quarter["income"].value_counts()
    atoms = count[count >= often]
    unrounded = atoms[atoms.index % 10 != 0]
    top = unrounded.index.max()
    patterns = quarter.groupby(list(known), observed=True)["income"]
    most = patterns.agg(lambda values: values.value_counts().iloc[0])
    return {
        "repeat-atoms": len(atoms),
        "repeat-share": 100 * atoms.sum() / len(quarter),
        "repeat-unrounded": f"{unrounded.index[0]:,.0f}",
        "repeat-unrounded-count": int(unrounded.iloc[0]),
        "repeat-top": f"{top:,.0f}",
        "repeat-twice": int(quarter["income"].sub(2 * top).abs().le(2).sum()),
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


def spread(loo):
    """Distance of the largest and the smallest sum of log predictive densities."""
    elpd = [one.elpd for one in loo]
    return max(elpd) - min(elpd)


def shared_by(income, often=10):
    """Incomes that at least `often` records share, and by how many records."""
    count = pd.Series(income).value_counts()
    return count[count >= often].sort_index()


# Numbers for the text.


def threshold(sigma):
    """Sigma below which a heap is worth a component, to one digit, as text."""
    if np.isnan(sigma):  # worth it at none of them
        return "any that was tried"
    return np.format_float_positional(sigma, precision=1, fractional=False)


def heap_numbers(heaps):
    """Size, rank and gain of the rounding heap and of the top code."""
    columns = {"heap": "records", "rank": "rank"}
    values = {}
    for label, (_, row) in zip(("round", "coded"), heaps.iterrows(), strict=True):
        values |= {
            f"{key}-{label}": int(row[column]) for key, column in columns.items()
        }
        values[f"worth-{label}"] = threshold(row["worth it below"])
        values[f"gain-{label}"] = row["gain at 0.05"]
    return values


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


# Figures.


def repeats_plot(files):
    """Every income that ten or more records share, by file."""
    _, axes = plt.subplots(
        1, len(files), figsize=(9.5, 3.4), sharex=True, layout="constrained"
    )
    for ax, (name, income) in zip(axes, files.items(), strict=True):
        count = shared_by(income)
        whole = count.index % 1000 == 0
        for some, colour, label in (
            (count[whole], "Data", "a multiple of 1,000"),
            (count[~whole], "LW_final", "any other"),
        ):
            ax.vlines(
                some.index / 1000,
                0,
                some,
                color=COLOURS[colour],
                linewidth=1.5,
                label=label,
            )
        ax.set(title=name, xlabel="Income (1,000 dollars)", ylim=(0, None))
    axes[0].set(ylabel="Records with this income", xlim=(-8, 260))
    axes[-1].legend()


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
        1, len(panels), figsize=(9.5, 4.2), sharey=True, layout="constrained"
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
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.08)}
        ax.legend(fontsize=9, ncols=2, columnspacing=1, handletextpad=0.2, **below)


# Checks of statements: what was found, in words, and whether it holds.
def slopes(heaps):
    """Whether the gain of each heap falls with log sigma by its records less the rank."""
    expected = heaps["rank"] - heaps["records"]
    return (
        ", ".join(
            f"{slope:.1f} of {exact:.0f}"
            for slope, exact in zip(heaps["slope at 0"], expected, strict=True)
        ),
        bool((abs(heaps["slope at 0"] - expected) < 0.5).all()),
    )


def floor_decides(heaps, gain_low):
    """Neither heap pays at a floor of 0.05; that of a top code does at 0.005."""
    return (
        f"gain {heaps['gain at 0.05'].max():.0f} at most, and {gain_low:.0f}",
        bool(heaps["gain at 0.05"].max() < 0 < gain_low),
    )


def agreement(fits):
    """Chains with fewer coordinates agree better than those of the printed model."""
    largest = {name: worst(fit)["largest R-hat"] for name, fit in fits.items()}
    return (
        ", ".join(f"{name} {value:.3f}" for name, value in largest.items()),
        max(largest, key=largest.get) == "as printed",
    )


def prediction(loo):
    """The printed model predicts better than the two that agree."""
    elpd = {name: one.elpd for name, one in loo.items()}
    return (
        ", ".join(f"{name} {value:,.0f}" for name, value in elpd.items()),
        max(elpd, key=elpd.get) == "as printed",
    )


def treatments(found):
    """Floors and intervals leave one risk in an atom; atoms drawn as such a lower one."""
    by_treatment = found.pivot_table("value", ["file", "measure"], "treatment")
    risk = by_treatment.xs("mean risk, in an atom", level="measure")
    others = risk.drop(columns="atoms")
    gap = np.ptp(others, axis=1).max()
    return (
        f"floors and intervals within {gap:.3f}; atoms lower by "
        f"{(others.min(axis=1) - risk['atoms']).min():.3f}",
        bool(gap < 0.005 and (risk["atoms"] < others.min(axis=1) - 0.02).all()),
    )


def statements(checks):
    """Statements of our own, what was found, and whether they hold."""
    table = pd.DataFrame.from_dict(checks, orient="index", columns=["ours", "holds"])
    return table.astype({"holds": bool})
