"""Incomes, synthesized: P1's application on a file, its tables, figures, checks."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from income_runs import (
    COLOURS,
    CORRELATION,
    ERROR,
    GIVEN,
    KS,
    PEAK,
    PUBLISHED,
    STYLES,
    SYNTHESIZERS,
    TAIL,
    TOP_PEAK,
    WINDOWS,
    T,
    both,
    clearly,
    in_words,
    over_files,
    own_close,
)

import pseudopost as pp
from companion import earner

RANGES = {
    "(-10K, 50K)": 50_000,
    "(50K, 100K)": 100_000,
    "(100K, 250K)": 250_000,
    "(250K, 3,000K)": 3_000_000,
}
MEASURED = ["Unweighted", "again", "Vector", "TC 20%"]
LARGEST = pd.DataFrame(
    [
        ("(250K, 3,000K)", 0.0000, 0.0486, 0.0000),
        ("(250K, 3,000K)", 0.0482, 0.1446, 0.0000),
        ("(250K, 3,000K)", 0.0000, 0.2473, 0.0000),
        ("(250K, 3,000K)", 0.0000, 0.1440, 0.0000),
        ("(250K, 3,000K)", 0.0496, 0.0987, 0.0000),
        ("(250K, 3,000K)", 0.0967, 0.0000, 0.9565),
        ("(250K, 3,000K)", 0.0986, 0.0989, 0.0000),
        ("(250K, 3,000K)", 0.0000, 0.0986, 0.0000),
        ("(250K, 3,000K)", 0.0987, 0.0000, 0.0000),
        ("(250K, 3,000K)", 0.0000, 0.0000, 0.0000),
    ],
    columns=PUBLISHED,
)
QUARTER = "top-coded, 25%"
BANDS = {
    "to 10K": 10_000,
    "10K to 25K": 25_000,
    "25K to 50K": 50_000,
    "50K to 100K": 100_000,
    "100K to 250K": 250_000,
    "above": np.inf,
}


# What the chapter computes with.


def by_band(y, columns):
    """Mean of each column in bands of income, and the number of records there."""
    band = pd.cut(y, [-np.inf, *BANDS.values()], labels=list(BANDS))
    groups = pd.DataFrame(columns).groupby(band, observed=False)
    table = groups.mean().rename_axis("income")
    table.insert(0, "records", groups.size())
    return table


def statistics(people, released):
    """What an analyst may want of incomes: the median over several releases."""
    values = np.atleast_2d(released)
    return pd.Series(
        {
            "mean": np.median(values.mean(axis=1)),
            "median": np.median(np.median(values, axis=1)),
            "90% quantile": np.median(np.quantile(values, 0.9, axis=1)),
            "99% quantile": np.median(np.quantile(values, 0.99, axis=1)),
            "standard deviation": np.median(values.std(axis=1)),
            "coefficient": np.median(earner(people, values)[0]),
        }
    )


def beside_published(s, rows, published):
    """Risks of ten records of a file beside the published ones."""
    ranges = pd.cut(s.y[rows], [-10_000, *RANGES.values()], labels=list(RANGES))
    ours = {name: s.risk[name][rows] for name in MEASURED}
    return pd.concat(
        {
            "this file": pd.DataFrame({"income range": ranges} | ours),
            "published": published.reset_index(drop=True),
        },
        axis=1,
    ).set_axis(range(1, len(rows) + 1))


def four_digits(entry):
    """Write a risk with four digits, and a range of incomes without a break."""
    return entry.replace(" ", "\u00a0") if isinstance(entry, str) else f"{entry:.4f}"


def means_of_ten(studies, ten, published):
    """Mean risks of ten records of each file, and of the published ones."""
    table = {
        f"file {seed}": {name: s.risk[name][ten(s)].mean() for name in MEASURED}
        for seed, s in studies.items()
    }
    table["published"] = published[PUBLISHED[1:]].mean()
    return pd.DataFrame(table).T[MEASURED]


# Figures.


def plot_weights(s):
    """Risk, and the weight made from it, by income."""
    _, axes = plt.subplots(2, 1, figsize=(9, 5.6), layout="constrained", sharex=True)
    groups = np.array_split(np.argsort(s.y, kind="stable"), 40)
    for ax, values, name, label in (
        (axes[0], s.risk["Unweighted"], "Unweighted", "Identification risk"),
        (axes[1], s.weights["Vector"], "Vector", "Weight"),
    ):
        ax.scatter(
            s.y,
            values,
            s=5,
            color=COLOURS[name],
            alpha=0.4,
            linewidth=0,
            rasterized=True,
        )
        ax.plot(
            [np.median(s.y[g]) for g in groups],
            [values[g].mean() for g in groups],
            color="black",
            linewidth=1.6,
            label="mean of 40 groups",
        )
        ax.axvline(s.top, color="black", linestyle="--", linewidth=1)
        ax.set_ylabel(label)
    axes[0].legend(loc="upper left")
    axes[1].set_ylim(0.2, 1.03)
    axes[1].set_xscale("symlog", linthresh=1000, linscale=0.7)
    axes[1].set_xticks(
        [0, 1000, 10_000, 100_000, 1_000_000], ["0", "1K", "10K", "100K", "1M"]
    )
    axes[1].minorticks_off()
    axes[1].set_xlim(-9000, 2_400_000)
    axes[1].set_xlabel("Income (dollars; linear between -1K and 1K)")


def plot_densities(s):
    """Densities of the data and the synthetic files in P1's windows."""
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    for ax, (window, (grid, _)) in zip(axes, WINDOWS.items(), strict=True):
        for name in ("Data", *SYNTHESIZERS):
            curve = s.curves[name][window].mean(axis=0)
            ax.plot(
                grid / 1000, 1e5 * curve, STYLES[name], color=COLOURS[name], label=name
            )
        ax.set(xlabel="Income (1,000 dollars)", xlim=(grid[0] / 1000, grid[-1] / 1000))
    axes[0].set(ylabel="Records (% per 1,000 dollars)", ylim=0)
    axes[1].set(yscale="log", ylim=(1e-6, 0.1))
    axes[0].legend()


def plot_released(s):
    """Released against confidential income, one file of each release."""
    _, axes = plt.subplots(1, 3, figsize=(10, 3.8), layout="constrained", sharey=True)
    released = {name: s.z[name][0] for name in SYNTHESIZERS} | {"Top-coded": s.coded}
    for ax, (name, values) in zip(axes, released.items(), strict=True):
        pp.plots.synthetic_against_data(
            s.y / 1000, values / 1000, name=name, unit="1,000 dollars", ax=ax
        )
        ax.set(xlim=(-20, 800), ylim=(-20, 800))
    for ax in axes[1:]:
        ax.set_ylabel("")


def plot_risks(s):
    """Risks of both synthesizers and of the top-coded file."""
    ax = pp.plots.violins(
        {name: s.risk[name] for name in (*SYNTHESIZERS, "TC 5%", "TC 10%", "TC 20%")},
        ylabel="Identification risk",
    )
    for body in ax.collections[2:5]:
        body.set_facecolor(COLOURS["Top-coded"])
    ax.set_ylim(-0.03, 1.05)
    ax.legend(loc="upper left")


# Numbers for the text.


def text_on_intruder(intruder):
    """Records alone in their pattern, in the first file and in each."""
    first = intruder.iloc[:, 0]
    riskiest = intruder.loc["among the ten riskiest"]
    return {
        "patterns": first["patterns"],
        "alone": first["records alone"],
        "alone-riskiest": ", ".join(f"{v:.0f}" for v in riskiest),
    }


def text_on_bands(bands, weights):
    """How often a record's own income is close, and how many weights are low."""
    close = bands[T]
    return {
        "t-low": close.iloc[0],
        "t-middle": close.iloc[3],
        "t-high": close.iloc[-1],
        "weight-half": (weights < 0.5).sum(),
    }


def text_on_utility(compared):
    """Utility, mean over the files."""
    means = over_files(compared)
    return {
        "ks-Vector": means.loc[KS, "Vector"],
        "error-Unweighted": means.loc[ERROR, "Unweighted"],
        "error-Vector": means.loc[ERROR, "Vector"],
        "peak-Vector": means.loc[PEAK, "Vector"],
        "given-peak-Vector": means.loc[GIVEN, "Vector"],
    }


def text_on_fan(fan):
    """The fan of the unweighted synthesizer, mean over the files."""
    unweighted = over_files(fan)["Unweighted"]
    return {"t": unweighted[T], "corr": unweighted[CORRELATION]}


def text_on_top_coding(s, replacement):
    """What both replacements leave close, and what they do to the mean."""
    close = replacement.loc["replaced incomes close at 20% (%)"]
    return {
        "top": s.top,
        "reach": s.top / 0.8,
        "still-threshold": close["threshold"],
        "still-mean": close["mean"],
        "mean-coded": replacement.loc["mean income", "threshold"],
        "mean-data": s.y.mean(),
    }


def text_on_risks(s):
    """Where the risks of the top-coded first file are high, and where they are 0."""
    replaced, tc = s.y > s.top, s.risk["TC 20%"]
    return {
        "tc-above": 100 * (tc[~replaced] > 0.6).mean(),
        "tc-zero": 100 * (tc[replaced] == 0).mean(),
        "tc-zero-5": 100 * (s.risk["TC 5%"][replaced] == 0).mean(),
    }


def text_on_riskiest(s):
    """How the ten riskiest of the first file compare with the published ten."""
    ours = {name: s.risk[name][s.riskiest] for name in PUBLISHED[1:]}
    return {
        "high-ten": (s.y[s.riskiest] > 250_000).sum(),
        "worse-ten": (ours["TC 20%"] > ours["Unweighted"]).sum(),
        "lower-ten": (ours["Vector"] < ours["Unweighted"]).sum(),
    }


def raised_of_ten(studies):
    """How many of the ten largest incomes have a higher risk under Vector, by file."""
    return [
        (s.risk_more["Vector"] > s.risk_more["Unweighted"])[s.largest].sum()
        for s in studies.values()
    ]


def text_on_largest(largest_means, studies):
    """How many of the ten largest incomes have a higher risk under Vector."""
    higher = [
        s.risk_more["Vector"] > s.risk_more["Unweighted"] for s in studies.values()
    ]
    return {
        "published-raised": (LARGEST["Vector"] > LARGEST["Unweighted"]).sum(),
        "published-large-U": largest_means.loc["published", "Unweighted"],
        "published-large-V": largest_means.loc["published", "Vector"],
        "raised": ", ".join(map(str, raised_of_ten(studies))),
        "risen-all": 100 * np.mean([rows.mean() for rows in higher]),
    }


def text_on_releases(tradeoff):
    """Risk and errors of top-coded and synthetic files."""
    quarter, vector = tradeoff.loc[QUARTER], tradeoff.loc["Vector"]
    return {
        "quarter-risk": quarter["mean risk"],
        "quarter-mean": quarter["mean, error"],
        "usual-99": tradeoff.loc["top-coded, 2.5%", "99% quantile, error"],
        "vector-risk": vector["mean risk"],
        "vector-99": vector["99% quantile, error"],
    }


# Checks of claims.


def of_one(table, row, name):
    """A row of a table for one synthesizer, by file."""
    return table.loc[row].xs(name, level=1)


def above_data(compared, row):
    """Whether a peak of Vector is higher than that of the data, mean over the files."""
    return over_files(compared).loc[row, "Vector"] > 1


def near_the_data(compared, between_fits):
    """Whether Vector is near the data in every file, and Unweighted nearer."""
    vector_near = (of_one(compared, KS, "Vector") < 0.05).all()
    return clearly(between_fits, [ERROR], +1) and vector_near


def mixed(fan, compared):
    """Whether Unweighted keeps the distribution and mixes the records, in every file."""
    return (
        (of_one(fan, CORRELATION, "Unweighted") < 0.8).all()
        and (of_one(fan, T, "Unweighted") < 0.5).all()
        and (of_one(compared, KS, "Unweighted") < 0.03).all()
    )


def only_the_tail(y, coded, top):
    """Whether top-coding sets what is above the threshold to it, and nothing else."""
    return np.array_equal(coded, np.where(y > top, top, y))


def falling_with_radius(risk, below):
    """Whether no risk below the threshold is higher at a larger radius."""
    by_radius = np.array([risk[f"TC {r}%"][below] for r in (5, 10, 20)])
    return (np.diff(by_radius, axis=0) <= 0).all()


def bulb_of_the_tail(risk, below):
    """Whether most of the top-coded, and hardly any others, are in the bulb at 0."""
    return (risk[~below] == 0).mean() > 0.5 and (risk[below] < 0.05).mean() < 0.01


def synthetic_at_the_bottom(mean_risk):
    """Whether the means ascend: Vector, Unweighted, top-coded from 20 to 5%."""
    names = ["Vector", "Unweighted", "TC 20%", "TC 10%", "TC 5%"]
    return bool((np.diff(mean_risk[names]) > 0).all())


def halved(means):
    """Whether Vector has at most half of the mean of Unweighted."""
    return means["Vector"] <= 0.5 * means["Unweighted"]


def ordered_as_published(risk, income):
    """Whether nine of ten risks are ordered as in Table 20, and no income is large."""
    ordered = (risk["Vector"] < risk["Unweighted"]) & (
        risk["Unweighted"] < risk["TC 20%"]
    )
    return ordered.sum() >= 9 and (income < 250_000).all()


def large_incomes_safe(coded_risks, largest_means):
    """Whether top-coding frees eight of ten from risk, and synthesis leaves little."""
    synthetic = largest_means.loc[:, list(SYNTHESIZERS)].drop("published")
    freed = all((risk == 0).sum() >= 8 for risk in coded_risks)
    return freed and (synthetic < 0.15).all(axis=None)


def as_in_section_6(released, weights):
    """Whether there are 20 data sets, and weights from 0 to 1."""
    return len(released) == 20 and weights.min() >= 0 and weights.max() <= 1


def top_coding_protects_its_own(y, coded, risk, top):
    """Whether top-coding frees incomes far above the threshold, and no others."""
    below = y <= top
    return (
        (risk[y > top / 0.8] == 0).all()
        and own_close(y, coded)[below].all()
        and (risk[below] > 0.6).mean() > 0.75
    )


def half_of_top_coding(s):
    """Whether both synthesizers have less than half the mean risk of top-coding."""
    return all(
        s.risk_of(s.z[name], r / 100).mean() < 0.5 * s.risk[f"TC {r}%"].mean()
        for name in SYNTHESIZERS
        for r in (5, 10, 20)
    )


def far_above_vector(by_release):
    """Whether a quarter top-coded still has twice the mean risk of Vector."""
    quarter, vector = (of_one(by_release, "mean risk", n) for n in (QUARTER, "Vector"))
    return (quarter > 2 * vector).all()


def claims(
    studies,
    intruder,
    compared,
    fan,
    ten_means,
    largest_means,
    between_fits,
    by_release,
):
    """By id of the ledger: what was found, in words, and whether the statement holds."""
    files, first = list(studies.values()), next(iter(studies.values()))
    below = [s.y <= s.top for s in files]
    means, released = map(over_files, (fan, by_release))
    names = [*SYNTHESIZERS, "TC 5%", "TC 10%", "TC 20%"]
    mean_risk = pd.Series(
        {n: np.mean([s.risk[n].mean() for s in files]) for n in names}
    )
    riskiest = ten_means.drop("published").mean()
    largest = largest_means.drop("published").mean()

    is_mixed = mixed(fan, compared)
    tail_only = all(only_the_tail(s.y, s.coded, s.top) for s in files)
    falling = all(map(falling_with_radius, [s.risk for s in files], below))
    return {
        "P1-Fig14": (
            f"{KS} {both(compared, KS)}; "
            f"density error {both(compared, ERROR, '{:.1f}')}; "
            f"peak {both(compared, PEAK, '{:.2f}')} of the data's",
            near_the_data(compared, between_fits),
        ),
        "P1-Fig15": (
            f"share above 250K: {both(compared, TAIL, '{:.2f}')}%, "
            f"data {100 * np.mean([(s.y > 250_000).mean() for s in files]):.2f}%; "
            f"peak there {both(compared, TOP_PEAK, '{:.2f}')} of the data's",
            above_data(compared, TOP_PEAK),
        ),
        "P1-Fig16": (
            "correlation of the logarithms "
            f"{in_words(of_one(fan, CORRELATION, 'Unweighted'))}; "
            f"T = 1 for {means.loc[T, 'Unweighted']:.3g}",
            is_mixed,
        ),
        "P1-Fig18": (
            f"{100 * (first.coded == first.y).mean():.1f}% of the points on the line, "
            f"the others at {first.top:,.0f}",
            tail_only,
        ),
        "P1-Fig19": (
            "means " + ", ".join(f"{name} {v:.2f}" for name, v in mean_risk.items()),
            synthetic_at_the_bottom(mean_risk)
            and falling
            and all(map(bulb_of_the_tail, [s.risk["TC 5%"] for s in files], below)),
        ),
        "P1-Tab20": (
            "means of ten: "
            + ", ".join(f"{name} {v:.2f}" for name, v in riskiest.items()),
            halved(riskiest)
            and all(
                ordered_as_published(
                    {name: s.risk[name][s.riskiest] for name in PUBLISHED[1:]},
                    s.y[s.riskiest],
                )
                for s in files
            ),
        ),
        "P1-Tab21": (
            "means of ten: "
            + ", ".join(f"{name} {largest[name]:.3f}" for name in PUBLISHED[1:])
            + f"; higher under Vector over {len(first.more['Vector'])} data sets: "
            f"{in_words(raised_of_ten(studies), '{}')} of 10",
            large_incomes_safe(
                [s.risk["TC 20%"][s.largest] for s in files], largest_means
            )
            and all(raised > 5 for raised in raised_of_ten(studies)),
        ),
        "P1-Set11": (
            f"20 data sets from each of {2 * len(files)} fits; "
            f"weights from {min(s.weights['Vector'].min() for s in files):.2f} to 1, "
            f"mean {np.mean([s.weights['Vector'].mean() for s in files]):.2f}",
            all(as_in_section_6(s.z["Vector"], s.weights["Vector"]) for s in files),
        ),
        "P1-Set12": (
            f"{in_words(intruder.loc['patterns'], '{:.0f}')} of 800 patterns, "
            f"{in_words(intruder.loc['records alone'], '{:.0f}')} records alone; "
            "TC risks never rise with r below the threshold",
            (intruder.loc["patterns"] <= 800).all() and falling,
        ),
        "P1-Claim20": (
            f"{KS} {in_words(of_one(compared, KS, 'Unweighted'), '{:.3f}')}; "
            f"correlation of the logarithms {means.loc[CORRELATION, 'Unweighted']:.3g}",
            is_mixed,
        ),
        "P1-Claim21": (
            f"main mode {in_words(of_one(compared, PEAK, 'Vector'))} of the data's "
            f"peak; above 250K {in_words(of_one(compared, TOP_PEAK, 'Vector'))}, "
            f"as a density of its own {in_words(of_one(compared, GIVEN, 'Vector'))}",
            above_data(compared, PEAK),
        ),
        "P1-Claim23": ("no income up to the threshold changed", tail_only),
        "P1-Claim25": (
            f"risk 0 above {first.top / 0.8:,.0f}; T = 1 for all below the threshold, "
            "and a risk above 0.6 for "
            + in_words(
                [
                    100 * (s.risk["TC 20%"][rows] > 0.6).mean()
                    for s, rows in zip(files, below, strict=True)
                ],
                "{:.0f}",
            )
            + "% of them",
            all(
                top_coding_protects_its_own(s.y, s.coded, s.risk["TC 20%"], s.top)
                for s in files
            ),
        ),
        "P1-Claim26": (
            f"mean risk Vector {mean_risk['Vector']:.3f}, "
            f"top-coded {mean_risk['TC 20%']:.3f}; 99% quantile off by "
            f"{released.loc['99% quantile, error', 'Vector']:.1f}% and "
            f"{released.loc['99% quantile, error', 'top-coded, 2.5%']:.0f}%, "
            f"median by {released.loc['median, error', 'Vector']:.1f}% and 0%",
            all(map(half_of_top_coding, files)),
        ),
        "P1-Fut2": (
            f"a quarter top-coded: mean risk {released.loc['mean risk', QUARTER]:.2f}, "
            f"mean income off by {released.loc['mean, error', QUARTER]:.0f}%; "
            f"Vector {released.loc['mean risk', 'Vector']:.3f} and "
            f"{released.loc['mean, error', 'Vector']:.1f}%",
            far_above_vector(by_release),
        ),
    }
