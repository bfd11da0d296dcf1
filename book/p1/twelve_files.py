"""Of P1's simulation on many files: findings, spreads, figures, checks of the claims.

The files are kept by seed, each a study as in the chapter on one file.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats
from simulation_runs import (
    COLOURS,
    COMPONENTS,
    NAMES,
    PUBLISHED,
    RATIO,
    RULES,
    WINDOWS,
    add_scalars,
    by_rule,
    density_measures,
    displaced,
    from_mode,
    highest,
    places,
    probability_higher,
    released_again,
    study,
    ten_records,
    utility,
)

import pseudopost as pp

CHAINS = pp.MixtureSynthesizer.default_chains
UTILITY = [
    "density error, low",
    "density error, high",
    "Kolmogorov-Smirnov",
    "Wasserstein, log",
    "quantiles, log",
    "coefficients",
]
# Measures that the text names, by label of their number.
CLEAR = {
    "high": "density error, high",
    "ks": "Kolmogorov-Smirnov",
    "quantiles": "quantiles, log",
}
# Of which release, and how it is computed from the file and synthetic data sets.
MEASURED = {
    "ten riskiest, vector": ("Vector", lambda s, z: of_ten(s, s.risk_of(z))),
    "ten riskiest, scalar": ("Scalar", lambda s, z: of_ten(s, s.risk_of(z))),
    "ten largest, vector": (
        "Vector",
        lambda s, z: s.risk_of(z)[highest(s.y)].mean(),
    ),
    "density error, vector": (
        "Vector",
        lambda s, z: density_measures(s.y, z)["density error, high"],
    ),
}
IN_P1 = {
    "ten riskiest, vector": PUBLISHED["riskiest"]["Vector"].mean(),
    "ten riskiest, scalar": PUBLISHED["riskiest"]["Scalar"].mean(),
    "ten largest, vector": PUBLISHED["largest"]["Vector"].mean(),
}


# --- Findings on one file -------------------------------------------------------------


def findings(s, rule):
    """Which findings of P1's section 5 hold on one file, by a rule of allocation."""
    utility, risk = by_rule(s.utility, rule), by_rule(s.risk, rule)
    found = {
        **findings_on_densities(utility),
        **findings_on_records(s.y, risk, utility),
        **findings_on_ten(s.y, risk, s.weights["Vector"]),
        **findings_on_low_risks(risk),
    }
    return {finding: bool(holds) for finding, holds in found.items()}


def findings_on_densities(utility):
    """Whose density is nearer to that of the data, and whose peaks are lower."""
    unweighted, vector, scalar = (pd.Series(utility[name]) for name in NAMES)
    low, high = "density error, low", "density error, high"
    peaks = ["peak ratio, low", "peak ratio, high"]
    return {
        "unweighted is closest, 0 to 0.5": unweighted[low]
        < min(vector[low], scalar[low]),
        "unweighted is closest, 0.5 to 5": unweighted[high]
        < min(vector[high], scalar[high]),
        "vector is closer than scalar, 0 to 0.5": vector[low] < scalar[low],
        "vector is closer than scalar, 0.5 to 5": vector[high] < scalar[high],
        "vector raises the peak at 0.1": vector[peaks[0]] > 1,
        "vector raises the peak at 1": vector[peaks[1]] > 1,
        "vector thins the upper tail": vector["share above the 97.5% quantile"] < 0.025,
        "scalar lowers both peaks": scalar[peaks].max() < 1,
    }


def findings_on_records(y, risk, utility):
    """Which records move, and which are risky."""
    unweighted, vector, scalar = (utility[name] for name in NAMES)
    spread, safe = "sd of the log ratio", "the same, safer half"
    at_mode = from_mode(y) < 1.2
    before = risk["Unweighted"]
    largest = max(risk["Vector"].max(), risk["Scalar"].max())
    return {
        "scalar spreads the records": scalar[spread] > unweighted[spread],
        "scalar spreads safe records more than vector": scalar[safe] > vector[safe],
        "risk is higher off the modes": before[~at_mode].mean()
        > before[at_mode].mean(),
        "vector pulls in the largest 1%": vector[RATIO] < unweighted[RATIO],
        "vector halves the largest 1%, unweighted keeps it": vector[RATIO] < 0.5
        and unweighted[RATIO] > 0.8,
        "both lower the largest risk": largest < before.max(),
    }


def findings_on_ten(y, risk, weights):
    """What becomes of the ten riskiest and of the ten largest records."""
    top, largest = highest(risk["Unweighted"]), highest(y)
    before, vector, scalar = (risk[name][top] for name in NAMES)
    large_before, large_vector, large_scalar = (risk[name][largest] for name in NAMES)
    rank = rank_correlation(weights[largest], large_vector)
    return {
        "ten riskiest: vector 0 for six or more": (vector == 0).sum() >= 6,
        "ten riskiest: vector below 0.15": vector.max() < 0.15,
        "ten riskiest: vector < scalar < unweighted": vector.mean()
        < scalar.mean()
        < before.mean(),
        "ten largest: vector never above unweighted": (
            large_vector <= large_before
        ).all(),
        "ten largest: vector mean below scalar mean": large_vector.mean()
        < large_scalar.mean(),
        "ten largest: vector mean at most half of unweighted": large_vector.mean()
        <= 0.5 * large_before.mean(),
        "ten largest: higher weight, higher risk": rank > 0,
    }


def findings_on_low_risks(risk):
    """Whether the vector has the most risks near 0."""
    low = {name: (values < 0.05).sum() for name, values in risk.items()}
    return {
        "risks below 0.05: more under vector than unweighted": low["Vector"]
        > low["Unweighted"],
        "risks below 0.05: more under vector than scalar": low["Vector"]
        > low["Scalar"],
    }


# --- Many files -----------------------------------------------------------------------


def rank_correlation(a, b):
    """Spearman's correlation; not a number if one of the two is constant."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan
    return stats.spearmanr(a, b).statistic


def risks_by_file(studies):
    """Mean risks, and the scalar weights whose mean risk is nearest to the vector's."""
    rows = {}
    for seed, s in studies.items():
        rows[seed] = {
            "ten riskiest, unweighted": s.risk["Unweighted"][
                highest(s.risk["Unweighted"])
            ].mean(),
            "mean risk, unweighted": s.risk["Unweighted"].mean(),
            **{f"vector, {rule}": s.risk["Vector", rule].mean() for rule in RULES},
            **{f"scalar, {rule}": s.risk["Scalar", rule].mean() for rule in RULES},
            **{f"scalar weight, {rule}": s.nearest[rule] for rule in RULES},
        }
    return pd.DataFrame(rows).T.rename_axis("seed")


def numbers_of_files(held, seeds):
    """Files of the given seeds in which findings hold, beside the skewed ones."""
    table = {"60%": held["weighted"][list(seeds)], "30%": held["skewed"]}
    counts = pd.DataFrame({share: files.sum(axis=1) for share, files in table.items()})
    return counts.rename_axis(columns="at the upper mode")


def marks(weighted, printed):
    """By which rule findings hold: b both, w the weighted, p the printed, - neither."""
    letters = np.select([weighted & printed, weighted, printed], ["b", "w", "p"], "-")
    return pd.DataFrame(letters, weighted.index, weighted.columns)


def average_utility(studies):
    """Means over the files of the measures of utility, by the weighted rule."""
    tables = [pd.DataFrame(by_rule(s.utility, "weighted")) for s in studies.values()]
    return sum(tables) / len(tables)


def with_risky_records(by_file):
    """Seeds of the files whose ten riskiest records have a mean risk of .8, as P1's.

    `by_file` is the table of :func:`risks_by_file`.
    """
    means = by_file["ten riskiest, unweighted"]
    return list(means.index[means >= 0.8])


def scalar_less_vector(studies):
    """By file, how much larger the density errors are under the scalar weight."""
    return pd.DataFrame(
        {
            window: [
                s.utility["Scalar", "weighted"][f"density error, {window}"]
                - s.utility["Vector", "weighted"][f"density error, {window}"]
                for s in studies.values()
            ]
            for window in WINDOWS
        }
    )


def weight_and_risk(studies):
    """By file, the rank correlation of weight and risk of the ten largest records."""
    return [
        rank_correlation(s.weights["Vector"][rows], s.risk["Vector", "weighted"][rows])
        for s in studies.values()
        for rows in [highest(s.y)]
    ]


def means_of_ten(studies):
    """Mean risks of the ten riskiest and the ten largest records, over the files."""
    table = pd.DataFrame(
        {
            seed: {
                f"ten {which}, {name}": ir[rows].mean()
                for which, rows in (
                    ("riskiest", highest(s.risk["Unweighted"])),
                    ("largest", highest(s.y)),
                )
                for name, ir in by_rule(s.risk, "weighted").items()
            }
            for seed, s in studies.items()
        }
    )
    return pd.DataFrame(
        {"mean": table.mean(axis=1), "standard error": table.sem(axis=1)}
    )


def means_beside_published(groups):
    """Mean risks of ten records for groups of files, by name, and in P1's tables."""
    table = {name: means_of_ten(files) for name, files in groups.items()}
    published = {
        f"ten {which}, {name}": risks[name].mean()
        for which, risks in PUBLISHED.items()
        for name in NAMES
    }
    return pd.concat(table | {"P1": pd.Series(published).to_frame("mean")}, axis=1)


def more_low_risks(studies):
    """By file, by how much more of the risks are below .05 under the vector."""
    shares = pd.DataFrame(
        {
            seed: {
                name: (ir < 0.05).mean()
                for name, ir in by_rule(s.risk, "weighted").items()
            }
            for seed, s in studies.items()
        }
    ).T
    return shares[["Unweighted", "Scalar"]].rsub(shares["Vector"], axis=0)


def in_standard_errors(table):
    """Means over the files in units of their standard errors."""
    return table.mean() / table.sem()


def of_ten(s, ir):
    """Mean risk of the records that are the ten riskiest without weights."""
    return ir[highest(s.risk["Unweighted"])].mean()


def spread(studies):
    """Numbers of a release by the weighted rule, file by file, and their errors.

    Returns
    -------
    values, errors : DataFrame
        A row for each file. The standard errors are those between fits to one file,
        with the synthetic data sets that are drawn from them.
    """
    values, errors = {}, {}
    for seed, s in studies.items():
        released = by_rule(s.z, "weighted")
        found = {
            label: [measure(s, z) for z in np.split(released[name], CHAINS)]
            for label, (name, measure) in MEASURED.items()
        }
        values[seed] = {label: np.mean(each) for label, each in found.items()}
        errors[seed] = {label: stats.sem(each) for label, each in found.items()}
    tables = (pd.DataFrame(table).T for table in (values, errors))
    return tuple(table.rename_axis("seed") for table in tables)


def spread_table(values, errors):
    """Mean over files, standard deviation between them, and error between fits."""
    between_fits = np.sqrt((errors**2).mean())
    return pd.DataFrame(
        {
            "mean": values.mean(),
            "sd between files": values.std(),
            "standard error between fits": between_fits,
            "share of the fits in the variance": (between_fits / values.std()) ** 2,
            "P1": pd.Series(IN_P1),
        }
    ).loc[list(values)]


# --- Numbers for the text -------------------------------------------------------------


def numbers_of_seeds(held, by_file, risky, average):
    """Of the table by seed; `by_file` is the table of :func:`risks_by_file`."""
    top_means = by_file["ten riskiest, unweighted"]
    others = top_means.index.difference(risky)
    count = {rule: table.sum(axis=1) for rule, table in held.items()}
    halved = "vector halves the largest 1%, unweighted keeps it"
    result = {
        "files": len(top_means),
        "risky-files": len(risky),
        "other-files": ", ".join(map(str, others)) or "none",
        "other-top": (top_means[others] if len(others) else top_means).mean(),
        "zeros-density": count["density"]["ten riskiest: vector 0 for six or more"],
        "ratio-weighted": count["weighted"][
            "ten largest: vector never above unweighted"
        ],
        "halved-weighted": count["weighted"][halved],
        "halved-density": count["density"][halved],
        "average-correlation": average.loc[
            "correlation with the data, log", "Unweighted"
        ],
    }
    for window, values in WINDOWS.items():
        result[f"nearer-{window}"] = count["weighted"][
            f"vector is closer than scalar, {values}"
        ]
        for name in ("Unweighted", "Vector"):
            result[f"average-peak-{window}-{name}"] = average.loc[
                f"peak ratio, {window}", name
            ]
    return result


def numbers_of_skewed(tens, held):
    """Of the skewed files, and of the ten largest records under the vector."""
    large = tens.loc["ten largest, Vector"]
    error = large["30%", "standard error"]
    return {
        "skewed-files": held.shape[1],
        "skewed-thins": held.loc["vector thins the upper tail"].sum(),
        "skewed-large": large["30%", "mean"],
        "skewed-large-error": f"{error:.3f}" if error >= 0 else "not known of one file",
        "ordinary-large": large["60%", "mean"],
        "p1-large": large["P1", "mean"],
    }


def numbers_at_equal_risk(gaps, studies, average):
    """Of the comparison at the same risk, and of the scalar weights 0.5 and 0.1."""

    def top_risk(name):
        return np.mean(
            [
                s.risk[name, "weighted"][highest(s.risk["Unweighted"])].mean()
                for s in studies.values()
            ]
        )

    error = "density error, high"
    score = {key: in_standard_errors(table) for key, table in gaps.items()}
    at_ten = score["ten riskiest", "weighted"]
    return {
        "half-high": np.mean(
            [s.utility[0.5, "weighted"][error] for s in studies.values()]
        ),
        "vector-high": average.loc[error, "Vector"],
        "half-top": top_risk(0.5),
        "lowest-top": top_risk(0.1),
        "vector-top": top_risk("Vector"),
        "t-ten-min": at_ten.min(),
        "t-ten-max": at_ten.max(),
        "t-quantiles-density": score["mean", "density"]["quantiles, log"],
        **{
            f"t-{label}-weighted": score["mean", "weighted"][measure]
            for label, measure in CLEAR.items()
        },
    }


def numbers_of_spread(table):
    """Of the table of spreads."""
    large = table.loc["ten largest, vector"]
    share = table["share of the fits in the variance"]
    return {
        "large-mean": large["mean"],
        "large-files": large["sd between files"],
        "large-fits": large["standard error between fits"],
        "fit-share-low": 100 * share.min(),
        "fit-share-high": 100 * share.max(),
    }


# --- Figures --------------------------------------------------------------------------


def draw_spread(values, errors):
    """By file: values with two standard errors between fits; their mean, and P1's."""
    size = {"figsize": (8.5, 4), "layout": "constrained", "sharey": True}
    figure, axes = plt.subplots(1, values.shape[1], **size)
    rows = np.arange(len(values))
    for ax, label in zip(axes, values, strict=True):
        colour = COLOURS[MEASURED[label][0]]
        style = {"xerr": 2 * errors[label], "color": colour, "markersize": 5}
        ax.errorbar(values[label], rows, fmt="o", **style)
        ax.axvline(values[label].mean(), color="grey", linewidth=1, label="mean")
        if label in IN_P1:
            ax.axvline(IN_P1[label], color="black", linestyle=":", label="P1")
        what = "Error" if "error" in label else "Mean risk"
        ax.set_title(label.replace(", ", "\n"), fontsize=11)
        ax.set_xlabel(what)
        ax.set_xlim(left=-0.03 * ax.get_xlim()[1])
        ax.locator_params(axis="x", nbins=3)
    axes[0].set_ylabel("Seed")
    axes[0].set_yticks(rows, values.index)
    axes[0].invert_yaxis()
    lines = axes[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=2)


def draw_tradeoff(studies, scalars):
    """Density error against mean risk on each file: scalar weights, and the vector."""
    n_rows = -(-len(studies) // 3)
    size = {"figsize": (9.5, 2.7 * n_rows), "layout": "constrained"}
    _, axes = plt.subplots(n_rows, 3, squeeze=False, **size)
    for ax, (seed, s) in zip(axes.flat, studies.items(), strict=False):

        def point(key, s=s):
            return s.risk[key].mean(), s.utility[key]["density error, high"]

        path = [
            point(key) for key in ("Unweighted", *((a, "weighted") for a in scalars))
        ]
        ax.plot(*zip(*path, strict=True), "o-", color=COLOURS["Scalar"], label="Scalar")
        style = {"color": COLOURS["Vector"], "markersize": 8, "label": "Vector"}
        ax.plot(*point(("Vector", "weighted")), "D", **style)
        ax.set_title(f"seed {seed}", fontsize=10)
        ax.margins(0.08)
        ax.set_ylim(bottom=0)
    for ax in axes[-1]:
        ax.set_xlabel("Mean risk")
    for ax in axes[:, 0]:
        ax.set_ylabel("Density error, 0.5 to 5")
    for ax in axes.flat[len(studies) :]:
        ax.remove()
    axes[0, 0].legend(fontsize=8)


# --- Checks of the claims: what was found, in words, and whether it holds -------------


def holds(held, *findings, on=None):
    """Whether findings hold in three of every four files, by the weighted rule."""
    table = held["weighted"].loc[list(findings)]
    shares = (table if on is None else table[list(on[0])]).mean(axis=1)
    return bool((shares >= 0.75).all())


def counts(held, findings, on=None):
    """Files in which findings hold, by the weighted and by the printed rule.

    And skewed files, by the weighted rule. `on` are seeds of the files and of the
    skewed files, by default all.
    """
    files, skewed = map(list, on or (held["weighted"], held["skewed"]))
    numbers = [
        f"{label}: {held['weighted'].loc[finding, files].sum():.0f} and "
        f"{held['density'].loc[finding, files].sum():.0f}, "
        f"skewed {held['skewed'].loc[finding, skewed].sum():.0f}"
        for label, finding in findings.items()
    ]
    return f"{'; '.join(numbers)} of {len(files)} and {len(skewed)} files"


def first_file(random_seed):
    """The study of one file as in the chapter before, with the scalar weights."""
    s = study(random_seed, COMPONENTS)
    add_scalars(s)
    s.utility = {name: utility(s, z) for name, z in s.z.items()}
    return s


def on_first_file(s):
    """What the checks ask of the first file beside the findings."""
    released, again = by_rule(s.z, "weighted"), released_again(s)
    top = highest(s.risk["Unweighted"])
    low, high = pp.ball_ends(s.y, s.radius)
    own = (low <= released["Unweighted"]) & (released["Unweighted"] <= high)
    moved = displaced(s.y, released["Unweighted"], released["Vector"])
    risk = pd.DataFrame({"mean risk": s.risk["Unweighted"]})
    return {
        "kept": own[:, top].mean(),
        "auc": probability_higher(s.risk["Unweighted"], moved),
        "by_place": risk.groupby(places(s.y), observed=False).mean(),
        "riskiest": ten_records(s, top, again, PUBLISHED["riskiest"]),
        "ten_largest": ten_records(s, highest(s.y), again, PUBLISHED["largest"]),
    }


def claims_on_densities(held, average, deviation):
    """Distances of the densities and heights of the peaks.

    `average` has means over the files of the measures of utility; `deviation` has, by
    file and window, how much larger the error is under the scalar than the vector.
    """
    closest = {w: f"unweighted is closest, {w}" for w in WINDOWS.values()}
    nearer = {w: f"vector is closer than scalar, {w}" for w in WINDOWS.values()}
    peaks = {at: f"vector raises the peak {at}" for at in ("at 0.1", "at 1")}
    thin, flatter = "vector thins the upper tail", "scalar lowers both peaks"
    fig06 = {
        "closest": closest[WINDOWS["low"]],
        "vector nearer": nearer[WINDOWS["low"]],
        "higher peak": peaks["at 0.1"],
    }
    fig07 = {
        "higher peak": peaks["at 1"],
        "thinner tail": thin,
        "scalar flatter": flatter,
    }
    ratios = [average.loc[f"peak ratio, {window}", "Vector"] for window in WINDOWS]
    score = in_standard_errors(deviation)
    return {
        "P1-Fig06": (counts(held, fig06), holds(held, *fig06.values())),
        "P1-Fig07": (counts(held, fig07), holds(held, *fig07.values())),
        "P1-Claim08": (counts(held, closest), holds(held, *closest.values())),
        "P1-Claim09": (
            f"{counts(held, nearer)}; mean difference "
            + " and ".join(f"{t:.1f}" for t in score)
            + " standard errors",
            score.min() > 3,
        ),
        "P1-Claim10": (
            f"{ratios[0]:.2f} and {ratios[1]:.2f} of the data; {counts(held, peaks)}",
            holds(held, *peaks.values()),
        ),
    }


def claims_on_records(held, average, kept, auc):
    """Where records go.

    `kept` is the share of the ten riskiest that the unweighted synthesizer leaves in
    their balls, and `auc` the probability that a displaced record is the riskier one.
    """
    correlation = average.loc["correlation with the data, log"]
    ratio = average.loc[RATIO]
    wider = {
        "wider": "scalar spreads the records",
        "wider for safe records": "scalar spreads safe records more than vector",
    }
    spread = {"both peaks lower": "scalar lowers both peaks", "wider": wider["wider"]}
    pulled = "vector pulls in the largest 1%"
    return {
        "P1-Fig08": (
            f"correlation of logs {correlation['Unweighted']:.2f}; "
            f"{100 * kept:.0f}% of the ten riskiest in their ball",
            correlation["Unweighted"] > correlation[["Vector", "Scalar"]].max()
            and kept > 0.8,
        ),
        "P1-Fig09": (
            f"largest 1%: {ratio['Vector']:.2f} of their value; displaced riskier than "
            f"others with probability {auc:.2f}",
            ratio["Vector"] < 0.5 and ratio["Unweighted"] > 0.8 and auc > 0.8,
        ),
        "P1-Fig10": (counts(held, wider), holds(held, *wider.values())),
        "P1-Claim12": (
            f"largest 1%: {ratio['Unweighted']:.2f} of their value, then "
            f"{ratio['Vector']:.2f}; {counts(held, {'less': pulled})}",
            holds(held, pulled),
        ),
        "P1-Claim13": (counts(held, spread), holds(held, *spread.values())),
    }


def claims_on_risks(held, by_place, ranks, more_low):
    """Where the risk is, and how far it falls.

    `ranks` are the rank correlations of weight and risk of the ten largest records, by
    file, and `more_low` by how much the share of risks below .05 is larger under the
    vector.
    """
    lower, off = "both lower the largest risk", "risk is higher off the modes"
    at_mode, slope, _, far = by_place["mean risk"]
    ranks = pd.Series(ranks).dropna()
    rank, error = ranks.mean(), ranks.sem()
    score = in_standard_errors(more_low)
    low = "risks below 0.05, in standard errors more than " + ", ".join(
        f"{name} {t:+.1f}" for name, t in score.items()
    )
    return {
        "P1-Fig11": (
            f"{counts(held, {'largest lower': lower})}; {low}",
            holds(held, lower) and score.min() > 2,
        ),
        "P1-Claim11": (
            f"mean risk {at_mode:.2f} at the modes, {slope:.2f} on the slopes, "
            f"{far:.2f} far off; {counts(held, {'higher': off})}",
            holds(held, off),
        ),
        "P1-Claim14": (counts(held, {"lower": lower}), holds(held, lower)),
        "P1-Claim17": (low, score.min() > 2),
        "P1-Claim18": (
            f"rank correlation of weight and risk {rank:.2f} (standard error "
            f"{error:.2f}), mean of {len(ranks)} files",
            rank > 2 * error,
        ),
    }


def claims_on_ten(held, risky, riskiest, ten_largest):
    """The tables of the ten riskiest and of the ten largest records.

    `risky` are the files with risky records, and the skewed ones.
    """
    keys = [("", "Unweighted"), ("weighted", "Vector"), ("weighted", "Scalar")]
    at_455 = riskiest["this file", "weighted", "Scalar 0.455"].mean()
    top, large = (table["this file"][keys].mean() for table in (riskiest, ten_largest))
    before, vector, scalar = top
    zeros = "ten riskiest: vector 0 for six or more"
    bound = "ten riskiest: vector below 0.15"
    order = "ten riskiest: vector < scalar < unweighted"
    large_records = {
        "never higher": "ten largest: vector never above unweighted",
        "halved": "ten largest: vector mean at most half of unweighted",
    }
    at_0 = (riskiest["this file", "weighted", "Vector"] == 0).sum()
    of_ten = {"six or more 0": zeros, "below 0.15": bound}
    top_means = ", ".join(f"{name} {mean:.3f}" for (_, name), mean in top.items())
    large_means = ", ".join(f"{name} {mean:.2f}" for (_, name), mean in large.items())
    return {
        "P1-Tab12": (
            f"means {top_means}; Scalar {at_455:.3f} with P1's weight of 0.455",
            vector < 0.05
            and vector < scalar < before
            and holds(held, zeros, bound, order, on=risky),
        ),
        "P1-Tab13": (
            f"means {large_means}; {counts(held, large_records, on=risky)}",
            holds(held, *large_records.values(), on=risky),
        ),
        "P1-Claim15": (
            f"{at_0} of ten at 0; {counts(held, of_ten, on=risky)}",
            holds(held, zeros, bound, on=risky),
        ),
        "P1-Claim16": (
            f"means {top_means}; {counts(held, {'in this order': order}, on=risky)}",
            holds(held, order, on=risky),
        ),
    }


def claims_at_equal_risk(at_mean, at_ten):
    """Advantage of the vector by file and measure, at either kind of the same risk.

    At the same mean risk that of all measures together counts, each in units of its
    standard deviation between files.
    """
    score = in_standard_errors(at_mean)
    together = in_standard_errors((at_mean / at_mean.std()).mean(axis=1))
    return {
        "P1-Claim01": (
            "advantage in standard errors: "
            + ", ".join(f"{measure} {t:+.1f}" for measure, t in score.items())
            + f"; all together {together:+.1f}",
            score.min() > -2 and together > 3 and in_standard_errors(at_ten).min() > 2,
        )
    }
