"""Tables of P2, figures, values for the text and checks of the chapter."""

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patheffects import withStroke
from p2_tables import PUBLISHED as OF_TABLES_4_AND_5
from scipy import special, stats
from tuning_variants import (
    COLOURS,
    FAMILIES,
    MC,
    MG,
    PC,
    PG,
    M,
    P,
    is_unchanged,
    weighted_quantile,
)

import pseudopost as pp

# In the order of g; the key of their numbers.
STEPS = {"Pairwise, g = -0.1": "gm", P: "p"}
QUANTITIES = ["mean", "median", "90% quantile", "Earner 2"]
JUDGED = QUANTITIES[1:]
ERROR, DISTANCE = "error of three estimates (%)", "distance of distributions (%)"
MEAN_RISK, TAIL_RISK = "mean risk", "risk of the riskiest 1%"
LABELS = {
    "u": "Unweighted",
    "m": M,
    "mc": MC,
    "mg": MG,
    "p": P,
    "pc": PC,
    "pg": PG,
    "o4": "order 4",
    "s": "Scalar, 0.27",
}

# P2, Tables 4 to 7, and Tables 1 to 4 of the supplement: estimate, low and high.
PUBLISHED = {
    **{
        name: OF_TABLES_4_AND_5.loc[name].to_numpy()
        for name in ("Data", "Unweighted", P)
    },
    PC: (
        (71695.49, 69780.83, 73708.90),
        (51791.43, 50339.41, 53283.75),
        (145299.70, 140864.00, 149948.70),
        (-43544.92, -47654.14, -39435.71),
    ),
    PG: (
        (72421.46, 70393.96, 74544.11),
        (51403.06, 49975.29, 52869.75),
        (149157.80, 144024.70, 154207.60),
        (-44827.57, -49289.40, -40365.73),
    ),
    M: OF_TABLES_4_AND_5.loc[M].to_numpy(),
    MC: (
        (71527.38, 69352.11, 73889.61),
        (54376.32, 53081.17, 55702.35),
        (132463.70, 129035.50, 136299.90),
        (-37687.76, -42755.65, -32619.88),
    ),
    MG: (
        (72950.40, 70645.43, 75375.39),
        (52664.07, 51309.78, 54073.17),
        (142526.50, 138046.80, 147128.40),
        (-40759.53, -46084.41, -35434.64),
    ),
}


# Tables


def convergence(fit):
    """R-hat and effective sample size of the hardest label-invariant quantity."""
    judged = fit["label_invariant"].to_dataset()
    return {
        "largest R-hat": max(float(v.max()) for v in az.rhat(judged).values()),
        "smallest ESS": min(float(v.min()) for v in az.ess(judged).values()),
    }


def convergence_by_file(studies):
    """Convergence of every fit, one column for each file."""
    judged = {
        f"file {seed}": pd.DataFrame(
            {name: convergence(fit) for name, fit in study.fits.items()}
        ).T
        for seed, study in studies.items()
    }
    return pd.concat(judged, axis=1).swaplevel(axis=1).sort_index(axis=1)


def interval_in_thousands(interval):
    """Estimate and interval as text, in 1,000 dollars."""
    estimate, low, high = (
        f"{v:,.1f}" if abs(v) < 1e6 else f"{v:.1e}" for v in np.asarray(interval) / 1000
    )
    return f"{estimate} [{low}, {high}]"


def beside_published(ours, family):
    """Published and own estimates of a family, in 1,000 dollars.

    `ours` has by file and name what `PUBLISHED` has by name.
    """
    rows = {
        (quantity, name): {"published": PUBLISHED[name][k]}
        | {f"file {seed}": ours[seed][name][k] for seed in ours}
        for k, quantity in enumerate(QUANTITIES)
        for name in ("Data", "Unweighted", *FAMILIES[family])
    }
    return pd.DataFrame(rows).T.map(interval_in_thousands)


def published_estimates():
    """Published estimates of the four quantities, by name."""
    return pd.DataFrame(
        {name: np.array(rows)[:, 0] for name, rows in PUBLISHED.items()}, QUANTITIES
    ).T


def shown_in_plane(both):
    """Columns of the table of all variants, each in a format of its own."""
    forms = dict.fromkeys(("ordinary share", "mean weight"), "{:z.3f}")
    forms |= dict.fromkeys((MEAN_RISK, TAIL_RISK, "risk of the largest 5%"), "{:.3f}")
    forms |= dict.fromkeys((ERROR, DISTANCE), "{:.1f}")
    forms |= dict.fromkeys(("90% quantile", "spread over files"), "{:,.0f}")
    forms |= {"largest R-hat": "{:.2f}"}
    table = pd.DataFrame({name: both[name].map(f.format) for name, f in forms.items()})
    return table.rename(columns={ERROR: "error (%)", DISTANCE: "distance (%)"})


def one_by_one(z):
    """Means and largest incomes of synthetic files, taken one by one."""
    means, largest = z.mean(axis=1), z.max(axis=1)
    return {
        "lowest mean": means.min(),
        "median of the means": np.median(means),
        "average of the means": means.mean(),
        "highest mean": means.max(),
        "largest income": largest.max(),
        "its share of that file (%)": 100 * (largest / z.sum(axis=1)).max(),
    }


def steps_by_file(risk_by_file):
    """What c and g change in the risks of each file."""
    by_name = risk_by_file.swaplevel()
    steps = {
        f"{name} less {base}": by_name.loc[name] - by_name.loc[base]
        for base, (_, *others) in FAMILIES.items()
        for name in others
    }
    columns = ["mean", "riskiest 1%", "99% quantile", "largest"]
    return pd.concat(steps)[columns].map("{:z.4f}".format)


def error_of_means(errors):
    """Standard errors of means over files, from those by file and name."""
    table = pd.DataFrame(errors).T.groupby(level=1, sort=False)
    return table.agg(lambda by_file: np.sqrt(np.sum(by_file**2)) / len(by_file))


def error_of_step(error, variant, base):
    """Standard errors of the differences of two independent fits."""
    return np.hypot(error.loc[variant], error.loc[base])


def steps_with_error(plane, error):
    """What c and g change, and P's step from Unweighted, with two standard errors."""
    pairs = [(name, names[0]) for names in FAMILIES.values() for name in names[1:]]
    pairs += [(PG, MG), (PC, MC), (P, M), (P, "Unweighted"), ("Scalar, 0.27", P)]
    digits = dict.fromkeys((ERROR, DISTANCE), 2)
    rows = {
        f"{variant}, less {base}": {
            column: f"{plane.loc[variant, column] - plane.loc[base, column]:+.{d}f} "
            f"({2 * error_of_step(error, variant, base)[column]:.{d}f})"
            for column in plane
            for d in [digits.get(column, 4)]
        }
        for variant, base in pairs
    }
    return pd.DataFrame(rows).T


def nearly_empty(study, name, limit=0.001, draws=100):
    """Records drawn from components of a small share, and how wide these are."""
    posterior = study.fits[name]["posterior"].to_dataset()
    flat = posterior.stack(sample=("chain", "draw"))  # noqa: PD013
    rows = np.linspace(0, flat.sizes["sample"] - 1, draws).astype(int)
    flat = flat.isel(sample=rows).transpose("sample", "component", ...)
    records, widths = [], []
    for pi, beta, sigma in zip(
        *(flat[v].to_numpy() for v in ("pi", "beta", "sigma")), strict=True
    ):
        small = pi < limit
        means = study.model.X @ beta.T
        log_density = stats.norm.logpdf(study.model.log_y[:, None], means, sigma)
        log_pi = np.log(np.maximum(pi, 1e-300))
        share = special.softmax(log_pi + log_density, axis=1)
        records.append(share[:, small].sum())
        widths.extend(sigma[small])
    return {
        "records per synthetic file": np.mean(records),
        "sigma, median": np.median(widths),
        "sigma, 99% quantile": np.quantile(widths, 0.99),
        "mean weight": study.weights[name].mean(),
    }


def nearer(error, variant, base, quantities):
    """In how many quantities the variant has the smaller error."""
    return int((error.loc[variant, quantities] < error.loc[base, quantities]).sum())


def comparisons(published, error, error_by_file):
    """In how many quantities an adjusted variant is nearer to the data than another."""
    pairs = ((PG, P), (PC, P), (MG, M), (MC, M), (PG, MG), (PC, MC))
    rows = {
        f"{variant}, nearer to the data than {base}": {
            "published, of 4": nearer(published, variant, base, QUANTITIES),
            "ours, of 3": nearer(error, variant, base, JUDGED),
        }
        | {
            f"file {seed}, of 3": nearer(by_file.droplevel(0), variant, base, JUDGED)
            for seed, by_file in error_by_file.groupby(level=0)
        }
        for variant, base in pairs
    }
    return pd.DataFrame(rows).T


# Values for the text


def by_label(prefix, values, labels):
    """Values of some variants under the names ``prefix-label``."""
    return {f"{prefix}-{label}": values[LABELS[label]] for label in labels.split()}


def numbers_of_convergence(fits):
    """Best and worst of the fits."""
    rhat, ess = fits["largest R-hat"], fits["smallest ESS"]
    return {
        "rhat-worst": rhat.max().max(),
        "rhat-median": np.median(rhat),
        "ess-worst": ess.min().min(),
        "worst-rhat": f"{rhat.max(axis=1).idxmax()}, {rhat.max().idxmax()}",
        "worst-ess": f"{ess.min(axis=1).idxmin()}, {ess.min().idxmin()}",
    }


def numbers_of_means(spread, empty):
    """Enormous incomes, and the widths of nearly empty components."""
    file, name = worst = spread["highest mean"].idxmax()
    records = empty["records per synthetic file"]
    marginal = ["Marginal", "Marginal, c = 1.5"]
    return {
        "empty-m": records[marginal[0]],
        "empty-others": records.drop(marginal).max(),
        "worst-mean": f"{name}, {file}",
        "worst-mean-value": spread["highest mean"].max() / 1000,
        "worst-mean-median": spread.loc[worst, "median of the means"] / 1000,
        "factor": np.exp(1.5 * 3),
    }


def numbers_of_errors(error):
    """Errors of the variants in per cent."""
    return {
        **by_label("median", 100 * error["median"], "p"),
        **by_label("q90", 100 * error["90% quantile"], "p pg m mg u"),
    }


def numbers_of_risks(risk):
    """Levels of the risks, the steps by c and g, and the way back to Unweighted."""
    weighted = risk["mean"].filter(regex="Marginal|Pairwise|order")
    found = {
        "mean-weighted": weighted.mean(),
        "mean-range": np.ptp(weighted),
        "mean-unweighted": risk.loc["Unweighted", "mean"],
    }
    for label, name in (("c", PC), ("g", PG)):
        found[f"way-{label}"] = 100 * way_back(risk, name, P, "riskiest 1%")
        found[f"way-mean-{label}"] = 100 * way_back(risk, name, P, "mean")
    for label, name, base in (
        ("pc", PC, P),
        ("pg", PG, P),
        ("mc", MC, M),
        ("mg", MG, M),
    ):
        step = risk.loc[name] - risk.loc[base]
        found[f"up-tail-{label}"] = step["riskiest 1%"]
    return found | {"up-mean-pc": risk.loc[PC, "mean"] - risk.loc[P, "mean"]}


def numbers_of_plane(plane, error):
    """Coordinates of the variants, and two standard errors of what c and g do."""
    steps = {"pc": (PC, P), "pg": (PG, P), "mc": (MC, M), "mg": (MG, M)}
    return {
        f"sure-tail-{label}": 2 * error_of_step(error, *pair)[TAIL_RISK]
        for label, pair in steps.items()
    } | {
        "sure-err-pc": 2 * error_of_step(error, PC, P)[ERROR],
        **by_label("err", plane[ERROR], "m p pc pg o4 s"),
        **by_label("risk", plane[MEAN_RISK], "s"),
        **by_label("tail", plane[TAIL_RISK], "s u"),
        **by_label("big", plane["risk of the largest 5%"], "m p s u"),
    }


def numbers_of_steps(steps):
    """Lowest and highest 90% quantile of a chain, in 1,000 dollars, below 0 and at 0."""
    return {
        f"step-{end}-{short}": value / 1000
        for name, short in STEPS.items()
        for end, value in (("low", steps[name].min()), ("high", steps[name].max()))
    }


def numbers_of_both(both):
    """What c below 1 and g below 0 do, and the scatter between files of a scalar."""
    names = {"c07": "Pairwise, c = 0.7", "gm": "Pairwise, g = -0.1"}
    spread = both["spread over files"]
    return {
        **{f"here-err-{label}": both.loc[name, ERROR] for label, name in names.items()},
        **{
            f"here-tail-{label}": both.loc[name, TAIL_RISK]
            for label, name in names.items()
        },
        **by_label("here-sd", spread, "s u"),
    }


# Figures


def colour_of(name):
    """Colour of a variant: that of its family."""
    return COLOURS[P if "order" in name else name.split(",")[0]]


def show_risks(risk, family):
    """Risks of the data, the unweighted synthesizer and the settings of a family."""
    ax = plt.subplots(figsize=(6, 3.8), layout="constrained")[1]
    names = ("Data", "Unweighted", *FAMILIES[family])
    pp.plots.violins(
        {name.replace(", ", ",\n"): risk[name] for name in names},
        ylabel="Identification risk",
        middle="mean",
        ax=ax,
    )
    for body in ax.collections[2:5]:
        body.set_facecolor(COLOURS[family])
    ax.set_ylim(-0.03, 1.03)
    ax.legend(loc="upper right")


def show_plane(plane, points, error):
    """Variants by two errors and two risks, single files, and errors between fits."""
    marks = {"Marginal": "o", "Pairwise": "o", "c = 1.5": "^", "g = 0.1": "s"}
    marks |= {"order 3": "P", "order 4": "X", "Unweighted": "D", "0.27": "*"}
    fig, axes = plt.subplots(2, 2, figsize=(9.5, 8), layout="constrained")
    pairs = [(y, x) for y in (ERROR, DISTANCE) for x in (MEAN_RISK, TAIL_RISK)]
    for ax, (y, x) in zip(axes.flat, pairs, strict=True):
        for name, row in plane.iterrows():
            cloud = points.xs(name, level=1)
            ax.plot(cloud[x], cloud[y], ".", color=colour_of(name), alpha=0.45)
            ax.errorbar(
                row[x],
                row[y],
                xerr=2 * error.loc[name, x],
                yerr=2 * error.loc[name, y],
                color="black",
                linewidth=0.8,
            )
            ax.plot(
                row[x],
                row[y],
                marker=marks[name.split(", ")[-1]],
                linestyle="",
                color=colour_of(name),
                markeredgecolor="black",
                markeredgewidth=0.8,
                markersize=9,
                label=name,
            )
        ax.set(xlabel=x.capitalize(), ylabel=y.capitalize())
        ax.set_ylim(bottom=0)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3)


def show_quantile_by_share(income, marginal, both):
    """90% quantiles by the ordinary share, and those of the weighted data."""
    ax = plt.subplots(figsize=(6, 4.6), layout="constrained")[1]
    mixing = np.linspace(0, 1, 60)
    ax.plot(
        100 * mixing,
        np.array([mixed_quantile(income, marginal, lam) for lam in mixing]) / 1000,
        color="black",
        linewidth=1,
        label="weighted confidential file",
    )
    markers = {"order 3": "P", "order 4": "X"}
    texts = {name: name for name in both.index}
    texts |= {P: "Pairwise, c = 0.7, 1, 1.5", M: "Marginal, c = 1, 1.5"}
    texts |= dict.fromkeys(("Pairwise, c = 0.7", PC, MC, *markers), "")
    places = {
        P: (8, -14, "left"),
        "Pairwise, c = 1.3, g = -0.05": (7, -10, "left"),
        "Pairwise, g = -0.1": (-7, 3, "right"),
        "Pairwise, g = 0.4": (7, 5, "left"),
        M: (7, -25, "left"),
    }
    for name, row in both.iterrows():
        x, y = 100 * row["ordinary share"], row["90% quantile"] / 1000
        ax.plot(
            x,
            y,
            markers.get(name, "o"),
            color=colour_of(name),
            label=name if name in markers else None,
            markeredgecolor="black",
            markersize=7,
            zorder=3,
        )
        usual = (7, -3, "left") if x > 95 else (6, -10, "left")
        *offset, side = places.get(name, usual)
        ax.annotate(
            texts[name],
            (x, y),
            xytext=offset,
            ha=side,
            textcoords="offset points",
            fontsize=9,
            path_effects=[withStroke(linewidth=4, foreground="white")],
            zorder=2.5,
        )
    ax.set(
        xlabel="Ordinary share of the weights (%)",
        ylabel="90% quantile (1,000 dollars)",
        xlim=(-5, 130),
        xticks=range(0, 101, 20),
    )
    ax.legend(loc="lower right", fontsize=9)


def mixed_quantile(income, marginal, share):
    """90% quantile under marginal weights mixed with equal ones."""
    weights = share / len(income) + (1 - share) * marginal / marginal.sum()
    return weighted_quantile(income, weights)


# Checks of the claims


def changes(estimates, family, quantity):
    """What the variants of a family are off their own data by, in percent."""
    values = estimates[quantity]
    return 100 * (values[list(FAMILIES[family])] / values["Data"] - 1)


def distances(average, family, quantity):
    """Mean distance from the published changes: of ours, and of no change at all."""
    published = changes(published_estimates(), family, quantity)
    ours = changes(average, family, quantity)
    return (ours - published).abs().mean(), published.abs().mean()


def is_near(average, family, quantity):
    """Whether ours are nearer to the published changes than unaltered data are."""
    ours, unaltered = distances(average, family, quantity)
    return bool(ours < unaltered)


def on_side(average, family, quantity, sign):
    """Whether all variants are larger (1) or smaller (-1) in size than the data."""
    size = average[quantity].abs()
    return bool((sign * (size[list(FAMILIES[family])] - size["Data"]) > 0).all())


def shift_helps(error, family, quantity):
    """Whether g = 0.1 is nearer to the data than g = 0."""
    return bool(error.loc[FAMILIES[family][2], quantity] < error.loc[family, quantity])


def estimates_in_words(average, family, quantity):
    """Estimates of a family and of the data, in 1,000 dollars."""
    thousands = average[quantity] / 1000
    values = ", ".join(f"{thousands[name]:.1f}" for name in FAMILIES[family])
    ours, unaltered = distances(average, family, quantity)
    return (
        f"{quantity} {values}; data {thousands['Data']:.1f}; off the published changes "
        f"by {ours:.1f} points, unaltered data by {unaltered:.1f}"
    )


def improves(error, variant, base):
    """Whether the mean error is clearly smaller, and none of the three much larger."""
    gain = error.loc[base, JUDGED] - error.loc[variant, JUDGED]
    return bool(gain.mean() >= 0.005 and gain.min() > -0.01)


def errors_in_words(error, *names):
    """Mean of the three errors of some variants."""
    mean = 100 * error[JUDGED].mean(axis=1)
    return "mean error (%): " + "; ".join(f"{name}: {mean[name]:.1f}" for name in names)


def rise(risk, variant, base, measure):
    """How much higher a measure of risk is under a variant than under its base."""
    return risk.loc[variant, measure] - risk.loc[base, measure]


def rise_in_words(risk, variant, base):
    """Rise in the mean, in the tail and in the largest risk."""
    mean, tail, largest = (
        rise(risk, variant, base, measure)
        for measure in ("mean", "riskiest 1%", "largest")
    )
    return (
        f"{variant}: mean {mean:+.4f}, riskiest 1% {tail:+.4f}, largest {largest:+.3f}"
    )


def tail_moves(risk, variant, base, sign):
    """Whether the tail is longer (1) or shorter (-1)."""
    return bool(sign * rise(risk, variant, base, "riskiest 1%") > 0)


def is_safer(risk, family):
    """Whether all variants are below Unweighted in the mean and in the tail."""
    return all(
        rise(risk, name, "Unweighted", measure) < 0
        for name in FAMILIES[family]
        for measure in ("mean", "riskiest 1%")
    )


def risks_in_words(risk, family):
    """Mean and tail of Unweighted and of a family."""
    rows = risk.loc[["Unweighted", *FAMILIES[family]]]
    means = ", ".join(f"{v:.3f}" for v in rows["mean"])
    tails = ", ".join(f"{v:.3f}" for v in rows["riskiest 1%"])
    return f"means {means}; tails {tails}"


def way_back(risk, variant, base, measure):
    """How much of what `base` has gained over Unweighted a variant of it gives back."""
    return rise(risk, variant, base, measure) / rise(risk, "Unweighted", base, measure)


def claims_on_procedure(n_fits, again, synthetic, unchanged):
    """The algorithm: refitted, repeatable, and with another result than before."""
    return {
        "P2-AlgU3": (
            f"run {n_fits} times; the same seed gives the same files",
            np.array_equal(again, synthetic[PG])
            and unchanged
            and not np.allclose(synthetic[PG], synthetic[P]),
        )
    }


def claims_on_pairwise_tables(average, error):
    """Tables 6 and 7."""
    mean, median, tail, earner = (
        estimates_in_words(average, P, quantity) for quantity in QUANTITIES
    )
    return {
        "P2-Tab06": (
            f"{mean}; {median}",
            is_near(average, P, "mean")
            and is_near(average, P, "median")
            and on_side(average, P, "median", 1),
        ),
        "P2-Tab07": (
            f"{tail}; {earner}",
            is_near(average, P, "90% quantile")
            and is_near(average, P, "Earner 2")
            and on_side(average, P, "90% quantile", -1)
            and on_side(average, P, "Earner 2", -1)
            and shift_helps(error, P, "90% quantile"),
        ),
    }


def claims_on_marginal_tables(average, error):
    """Tables 1 to 4 of the supplement."""
    mean, data = average["mean"], average.loc["Data", "mean"]
    holds = {
        "mean": is_near(average, M, "mean") and mean[M] > data < mean[MG],
        "median": is_near(average, M, "median") and on_side(average, M, "median", 1),
        "90% quantile": is_near(average, M, "90% quantile")
        and on_side(average, M, "90% quantile", -1)
        and shift_helps(error, M, "90% quantile"),
        "Earner 2": is_near(average, M, "Earner 2")
        and on_side(average, M, "Earner 2", -1)
        and shift_helps(error, M, "Earner 2"),
    }
    return {
        f"P2-SuppTab0{k}": (estimates_in_words(average, M, quantity), holds[quantity])
        for k, quantity in enumerate(QUANTITIES, start=1)
    }


def claims_on_violins(risk):
    """Both families are safer than Unweighted."""
    return {
        "P2-Fig13": (risks_in_words(risk, P), is_safer(risk, P)),
        "P2-SuppFig09": (risks_in_words(risk, M), is_safer(risk, M)),
    }


def claims_on_pairwise_errors(published, error):
    """The constant g improves every measure of Pairwise, and c improves it too."""
    by_shift = nearer(published, PG, P, QUANTITIES)
    by_scale = nearer(published, PC, P, QUANTITIES)
    return {
        "P2-Claim20": (
            f"published: nearer in {by_shift} of 4; ours: "
            f"{errors_in_words(error, P, PG)}",
            by_shift == 4,
        ),
        "P2-Claim21": (
            f"published: nearer in {by_scale} of 4; ours: "
            f"{errors_in_words(error, P, PC)}",
            by_scale > 2 and improves(error, PC, P),
        ),
    }


def claims_on_pairwise_risks(risk):
    """Mean and tail of Pairwise as c and g go up, against Pairwise and Unweighted."""
    return {
        "P2-Claim22": (
            rise_in_words(risk, PC, P),
            rise(risk, PC, P, "mean") > 0 and tail_moves(risk, PC, P, -1),
        ),
        "P2-Claim23": (
            rise_in_words(risk, PG, P),
            abs(rise(risk, PG, P, "mean")) < 0.03 and tail_moves(risk, PG, P, 1),
        ),
        "P2-Claim24": (risks_in_words(risk, P), is_safer(risk, P)),
    }


def claims_on_marginal_errors(published, error):
    """The order of the Marginal variants, and of the two families."""
    nearest = sum(
        published.loc[list(FAMILIES[M]), quantity].idxmin() == MG
        for quantity in QUANTITIES
    )
    by_scale = nearer(published, MC, M, QUANTITIES)
    return {
        "P2-Claim25": (
            f"published: g = 0.1 nearest in {nearest} of 4, c = 1.5 nearer in "
            f"{by_scale} of 4; ours: {errors_in_words(error, M, MC, MG)}",
            nearest == by_scale == 4,
        ),
        "P2-Claim26": (
            errors_in_words(error, PC, MC, PG, MG),
            nearer(published, PG, MG, QUANTITIES) == 4
            and improves(error, PG, MG)
            and improves(error, PC, MC),
        ),
    }


def claim_on_marginal_tail(risk):
    """Both constants make the tail of Marginal shorter."""
    return {
        "P2-Claim27": (
            f"{rise_in_words(risk, MC, M)}; {rise_in_words(risk, MG, M)}",
            tail_moves(risk, MC, M, -1) and tail_moves(risk, MG, M, -1),
        )
    }


def claim_on_way_back(risk):
    """Small adjustments do not undo the risk profile."""
    way = {
        name: [
            way_back(risk, name, base, measure) for measure in ("mean", "riskiest 1%")
        ]
        for base, variants in ((P, (PC, PG)), (M, (MC, MG)))
        for name in variants
    }
    shares = "; ".join(
        f"{name}, mean {100 * mean:.0f}, tail {100 * tail:.0f}"
        for name, (mean, tail) in way.items()
    )
    return {
        "P2-Claim32": (
            f"part of the way back to Unweighted (%): {shares}",
            all(max(shares) < 0.5 for shares in way.values()),
        )
    }


def claim_on_advice(published, error, risk):
    """The constant g buys more utility at more risk, and c is moderate in both."""
    tail = {name: rise(risk, name, P, "riskiest 1%") for name in (PC, PG)}
    return {
        "P2-Claim36": (
            f"{errors_in_words(error, P, PC, PG)}; {rise_in_words(risk, PC, P)}; "
            f"{rise_in_words(risk, PG, P)}",
            nearer(published, PC, P, QUANTITIES) > 2
            and improves(error, PC, P)
            and improves(error, PG, P)
            and tail[PG] > tail[PC] > 0,
        )
    }


def claim_on_family(published, error):
    """Adjusted Pairwise is nearer to the data than adjusted Marginal."""
    in_both = nearer(published, PG, MG, QUANTITIES) + nearer(
        published, PC, MC, QUANTITIES
    )
    return {
        "P2-Claim39": (
            errors_in_words(error, PC, MC, PG, MG),
            in_both == 8 and improves(error, PG, MG) and improves(error, PC, MC),
        )
    }


def claim_on_both(quantiles, weights):
    """The 90% quantile goes up with g, also below 0, and the weights stay weights.

    `quantiles` has a row for each chain: no step may hang on the chain that is taken.
    That to g = 0.4 is not asked for: the chains of its fit do not agree.
    """
    steps = quantiles[["Pairwise, g = -0.1", P]]
    low, high = steps.min().to_numpy(), steps.max().to_numpy()
    return {
        "P2-Fut4": (
            "90% quantile by chain "
            + ", ".join(
                f"{name} {a / 1000:.0f} to {b / 1000:.0f}"
                for name, a, b in zip(steps, low, high, strict=True)
            ),
            (high[:-1] < low[1:]).all()
            and all(0 <= w.min() <= w.max() <= 1 for w in weights.values()),
        )
    }


def claims(studies, weights, raw, again, centre, error, risk, published, steps):
    """What was found and whether it holds, for every claim of the chapter.

    Parameters
    ----------
    studies, weights, raw, centre : dict
        By seed of the file: study; weights by name; weights by order; estimates.
    again : ndarray
        Files that the first study has drawn once more, under Pairwise with g = 0.1.
    error, published : DataFrame
        Relative errors by name and quantity, ours and published.
    risk : DataFrame
        Measures of risk by name.
    steps : DataFrame
        90% quantile of the first file by chain and variant.
    """
    main = studies[min(studies)]
    unchanged = is_unchanged(weights, raw)
    n_fits = sum(len(study.fits) for study in studies.values())
    average = pd.concat(centre).groupby(level=1, sort=False).mean()
    return {
        **claims_on_procedure(n_fits, again, main.z, unchanged),
        **claims_on_pairwise_tables(average, error),
        **claims_on_marginal_tables(average, error),
        **claims_on_violins(risk),
        **claims_on_pairwise_errors(published, error),
        **claims_on_pairwise_risks(risk),
        **claims_on_marginal_errors(published, error),
        **claim_on_marginal_tail(risk),
        **claim_on_way_back(risk),
        **claim_on_advice(published, error, risk),
        **claim_on_family(published, error),
        **claim_on_both(steps, main.weights),
    }
