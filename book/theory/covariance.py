"""Models by hand, tables, figures and checks of the chapter on covariance."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
from count_files import (
    COUNTS,
    FIXED,
    PARAMETERS,
    WEIGHTINGS,
    colour_of,
    derivatives,
    key,
    log_likelihood,
)
from matplotlib.patches import Ellipse
from scipy import stats

import pseudopost as pp


def difference(a, b):
    """Largest absolute difference of two arrays."""
    return np.abs(np.asarray(a) - np.asarray(b)).max()


def normal_mean(x, alpha):
    """Model of a normal mean; pseudo MLE, H and J by hand."""
    with pm.Model() as model:
        theta = pm.Normal("theta", 0, 10)
        pp.weighted_likelihood("y", pm.logp(pm.Normal.dist(theta, 1), x), alpha)
    best = alpha @ x / alpha.sum()
    return model, [best], [[alpha.mean()]], [[np.mean(alpha**2 * (x - best) ** 2)]]


def regression(x, X, alpha, sd=0.5):
    """Model of a regression on X with known noise; pseudo MLE, H and J by hand."""
    with pm.Model() as model:
        beta = pm.Normal("beta", 0, 10, shape=2)
        pp.weighted_likelihood("y", pm.logp(pm.Normal.dist(X @ beta, sd), x), alpha)
    gram = X.T @ (alpha[:, None] * X)
    best = np.linalg.solve(gram, X.T @ (alpha * x))
    noise = X * (alpha * (x - X @ best) / sd**2)[:, None]
    return model, best, gram / sd**2 / len(x), noise.T @ noise / len(x)


def count_model():
    """The negative binomial of every count, as a PyMC model."""
    with pm.Model() as model:
        mu = pm.math.exp(pm.Normal("log_mu", 0, 10))
        phi = pm.math.exp(pm.Normal("log_phi", 0, 10))
        logp = pm.logp(pm.NegativeBinomial.dist(mu=mu, alpha=phi), COUNTS)
        pp.weighted_likelihood("y", logp, np.ones(len(COUNTS)))
    return model


def steepness(star, width=0.1, points=5):
    """How steep the log-likelihood of every count is near a point.

    Returns the largest change per distance over all pairs from a grid, and the largest
    length of the score on that grid.
    """
    steps = np.linspace(-width, width, points)
    offsets = np.array([(a, b) for a in steps for b in steps])
    near = np.array([log_likelihood(COUNTS, star + h) for h in offsets])
    first, second = np.triu_indices(len(offsets), 1)
    distance = np.linalg.norm(offsets[first] - offsets[second], axis=1)
    change = np.abs(near[first] - near[second]) / distance[:, None]
    return change.max(0), np.max([score_length(star + h) for h in offsets], axis=0)


def score_length(theta):
    """Length of the score of every count."""
    return np.linalg.norm(derivatives(COUNTS, theta)[0], axis=1)


def numerical_curvature(function, theta, step=1e-4):
    """Minus the second derivatives of a function, by differences."""
    signs = [(a, b) for a in (1, -1) for b in (1, -1)]

    def second(u, v):
        corners = [a * b * function(theta + step * (a * u + b * v)) for a, b in signs]
        return -sum(corners) / (4 * step**2)

    axes = np.eye(len(theta))
    return np.array([[second(u, v) for u in axes] for v in axes])


def root_mean_square(values):
    """Root of the mean square."""
    return np.sqrt(np.mean(np.square(values)))


def remainders(expansion):
    """What the expansion leaves over, with either sign, by the size of the files."""
    return pd.DataFrame(
        {
            size: {
                "plus": root_mean_square(deviation - linear),
                "minus": root_mean_square(deviation + linear),
                "left side": root_mean_square(deviation),
            }
            for size, (deviation, linear) in expansion.items()
        }
    ).T.rename_axis("n")


def falling_rate(values, times):
    """Power of n at which values fall when n is multiplied by `times`."""
    return np.log(values[-1] / values[0]) / np.log(times)


def a2_weights(draws, centre=100):
    """Weights that satisfy A2: some far records at 0.5, all others close to 1."""
    n = len(draws)
    far = np.argsort(-np.abs(draws - centre), kind="stable")[: int(np.ceil(n**0.5))]
    weights = np.full(n, 1 - np.sqrt(np.log(n) / n) / np.sqrt(n - len(far)))
    weights[far] = 0.5
    return weights


def variances_over_files(files, theory, n):
    """Variances of estimates over files, of the MLE and of the sandwich: their ratios.

    Where the weights are not fixed, the sandwich is the mean of those of the files.
    """
    rows = {}
    for population, data in files.items():
        base = np.diag(theory[population, "Unweighted"]["sandwich"])
        for name in WEIGHTINGS:
            moved = n * data[name, "estimate"].var().to_numpy()
            sandwich = data[name, "sandwich"].mean().to_numpy()
            if name in FIXED:
                sandwich = np.diag(theory[population, name]["sandwich"])
            rows[population, name] = [*moved / base, *moved / sandwich]
            rows[population, name] += [*sandwich / base]
    ratios = ["files / MLE", "files / sandwich", "sandwich / MLE"]
    columns = pd.MultiIndex.from_product([ratios, PARAMETERS])
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    table.index = pd.MultiIndex.from_tuples(table.index)
    return table


def normality(estimates, theory, n):
    """P-values of both parameters: are estimates normal as the theory has it?"""
    errors = np.sqrt(np.diag(theory["sandwich"]) / n)
    standard = (np.asarray(estimates) - theory["star"]) / errors
    return [stats.kstest(column, "norm").pvalue for column in standard.T]


def spread_values(spread):
    """The table of variances, for the text."""
    names = {"files / sandwich": "moved", "files / MLE": "mle"}
    names["sandwich / MLE"] = "theory"
    return {
        f"{key(population, name)}-{names[ratio]}-{parameter[4:]}": value
        for (population, name), row in spread.iterrows()
        for (ratio, parameter), value in row.items()
    }


def draw_expansion(expansion, table):
    """Both sides of the expansion, and what it leaves over."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    deviation, linear = expansion[1000]
    axes[0].scatter(linear, deviation, s=8, color=colour_of("CW"))
    axes[0].axline((0, 0), slope=1, color="black", lw=1, label="slope +1")
    axes[0].axline(
        (0, 0), slope=-1, color="black", lw=1, ls=":", label="slope -1, as printed"
    )
    axes[0].set(
        xlabel="Average of weighted scores, right side",
        ylabel=r"$\sqrt{n}$ (estimate - point), left side",
        xlim=(-4.5, 4.5),
        ylim=(-4.5, 4.5),
    )
    axes[0].legend(loc="lower center")
    for name, style, label, colour in (
        ("left side", "--", "left side itself", "black"),
        ("minus", "s:", "remainder with minus", "black"),
        ("plus", "o-", "remainder with plus", colour_of("CW")),
    ):
        axes[1].loglog(table.index, table[name], style, label=label, color=colour)
    axes[1].set_xticks([250, 1000, 4000], ["250", "1,000", "4,000"])
    axes[1].set_yticks([0.03, 0.1, 0.3, 1, 3], ["0.03", "0.1", "0.3", "1", "3"])
    axes[1].minorticks_off()
    axes[1].set(xlabel="Number of records", ylabel="Root mean square", ylim=(0.02, 5))
    axes[1].legend(loc="center right", bbox_to_anchor=(1, 0.58))


def draw_ellipse(ax, covariance, **style):
    """Draw the region that holds 95% of a normal distribution centred at 0."""
    size, axes = np.linalg.eigh(covariance)
    width, height = 2 * np.sqrt(stats.chi2.ppf(0.95, 2) * size)
    angle = np.degrees(np.arctan2(axes[1, 0], axes[0, 0]))
    ax.add_patch(Ellipse((0, 0), width, height, angle=angle, fill=False, **style))


def draw_three_covariances(moves, fixed, full):
    """Estimates of many files, and the regions that should hold 95% of them.

    Parameters
    ----------
    moves, fixed : dict
        By weighting: deviations from the point, and its H and sandwich.
    full : array-like, shape (2, 2)
        The sandwich of CW with the making of the weights.
    """
    fig, axes = plt.subplots(
        1, 4, figsize=(11, 4.2), sharex=True, sharey=True, layout="constrained"
    )
    label = "sandwich, weights from the file"
    for ax, name in zip(axes, moves, strict=True):
        ax.scatter(*moves[name].T, s=2, color=colour_of(name), alpha=0.5)
        inverse = np.linalg.inv(fixed[name]["H"])
        sandwich = fixed[name]["sandwich"]
        draw_ellipse(ax, sandwich, lw=1.8, label="sandwich, weights fixed")
        draw_ellipse(ax, inverse, lw=1.5, ls="--", label="pseudo posterior")
        edge = "red" if name == "CW" else "none"
        draw_ellipse(ax, full, lw=1.8, ls=":", edgecolor=edge, label=label)
        ax.set(
            title=name if name != "CW" else "CW, from the file",
            xlabel=r"$\sqrt{n}$ (log μ - point)",
            xlim=(-1.5, 1.5),
            ylim=(-9, 9),
        )
    axes[0].set_ylabel(r"$\sqrt{n}$ (log φ - point)")
    handles = axes[3].get_legend_handles_labels()
    fig.legend(*handles, loc="outside lower center", ncols=3)


def claims_on_matrices(expansion, numeric, H, J, score_covariance, closed, gap):
    """Equations 17 to 22: the deviation, H and J.

    Parameters
    ----------
    expansion : dict
        By size of the files: deviations of log phi, and their expansion.
    numeric, H, J : array-like, shape (2, 2)
        Curvature by differences; the two matrices.
    score_covariance : array-like, shape (2, 2)
        Covariance over files of 1,000 records of the mean weighted score.
    closed : DataFrame
        Columns ``H`` and ``J``: differences from closed forms.
    gap : float
        Largest difference of the package from sums over counts.
    """
    scale = {size: root_mean_square(d) for size, (d, _) in expansion.items()}
    summed = 1000 * np.asarray(numeric)
    scaled = 1000 * np.diag(score_covariance) / np.diag(J)
    without_n = np.allclose(scaled / 1000, 1, rtol=0.1)
    return {
        "P1-Eq17": (
            "rms of h_n for log phi: "
            + ", ".join(f"{v:.2f} (n = {k})" for k, v in scale.items()),
            max(scale.values()) < 1.15 * min(scale.values()),
        ),
        "P1-Eq18": ("numerical curvature equal", difference(numeric, H) < 1e-4),
        "P1-Eq19": (
            f"sum without 1/n is {summed[0, 0] / H[0, 0]:.0f} times H",
            np.allclose(summed, H, rtol=0.1),
        ),
        "P1-Eq20": (
            "package, closed forms and sums equal",
            gap < 1e-6 and closed["H"].max() < 1e-6,
        ),
        "P1-Eq21": (
            f"n Var / J = {scaled[0]:.2f}, {scaled[1]:.2f}; as printed 1/1000 of it",
            without_n,
        ),
        "P1-Eq22": (
            "as Eq 21; with the factor n, closed forms of 27b differ by "
            f"{closed['J'].max():.0e}",
            without_n,
        ),
    }


def claims_on_conditions(exceeds, envelope_holds, quadratic, slopes):
    """A3 to A5, as printed.

    Parameters
    ----------
    exceeds : float
        Share of records steeper than their score at the point.
    envelope_holds : bool
        Whether no record is steeper than the envelope.
    quadratic : DataFrame
        Ratios to the parabola at shrinking distances: corrected, printed.
    slopes : DataFrame
        Mean scores at the truth and at the point, in standard errors: without weights,
        weighted.
    """
    corrected, printed = quadratic.iloc[-1]
    unweighted, weighted = slopes.iloc[1].abs()
    return {
        "P1-A3": (
            f"score at the point exceeded for {100 * exceeds:.0f}% of records; "
            "envelope for none",
            exceeds == 0 or not envelope_holds,
        ),
        "P1-A4": (
            f"ratio {corrected:.3f} corrected, {printed:.0f} printed",
            abs(printed - 1) < 0.05,
        ),
        "P1-A5": (
            f"standard errors from 0 at the point: {weighted:.1f} weighted, "
            f"{unweighted:.0f} as printed",
            unweighted < 4,
        ),
    }


def claims_on_expansion(left, term, table, off_centre, p_values, from_file):
    """Theorem 2 and the three forms of Equation 26.

    Parameters
    ----------
    left, term : float
        Both sides of the expansion for a normal mean.
    table : DataFrame
        From :func:`remainders`, for 250 to 4,000 records.
    off_centre : float
        Standard deviations by which the printed centring moves the right side.
    p_values : list of float
        Of tests of normality.
    from_file : Series
        Variance over files by the sandwich, for weights made from the file.
    """
    plus = table["plus"].to_numpy()
    rate = falling_rate(plus, 16)
    minus_holds = table["minus"].min() <= 1.5 * table["left side"].max()
    p = ", ".join(f"{value:.2f}" for value in p_values)
    return {
        "P1-Eq26a": (
            f"normal mean: exact with plus, off by {abs(left + term):.1f} with minus; "
            f"remainder falls like n^{rate:.2f}",
            abs(left + term) < 1e-9 and minus_holds,
        ),
        "P1-Eq26b": (
            f"remainder at n = 4000: {plus[-1]:.2f} plus, "
            f"{table['minus'].iloc[-1]:.1f} minus",
            minus_holds,
        ),
        "P1-Eq26c": (
            f"as 26b; and the printed centring is {abs(off_centre):.0f} sd off",
            minus_holds and abs(off_centre) < 1,
        ),
        "P1-Thm2": (
            f"p = {p}; remainder {plus[0]:.2f} to {plus[-1]:.2f}; weights from the "
            "file: variance over the sandwich "
            + " and ".join(f"{ratio:.1f}" for ratio in from_file),
            min(p_values) > 0.01
            and -0.7 < rate < -0.3
            and abs(left - term) < 1e-9
            and (from_file - 1).abs().max() < 0.1,
        ),
    }


def claims_on_sandwich(spread, closed, gap, slack, equal):
    """Theorem 3, the forms of Equation 27, and the inflation.

    Parameters
    ----------
    spread : DataFrame
        From :func:`variances_over_files`, for files of 1,000 records.
    closed, gap
        As in :func:`claims_on_matrices`.
    slack : dict
        By size of the files: smallest eigenvalue of the gap in the bound 27d, as a
        share of that of the bound.
    equal : array-like
        What the sandwich under a scalar weight differs by from that without.
    """
    moved, ratio = spread["files / sandwich"], spread["sandwich / MLE"]
    fixed = moved.loc["Right model"].loc[FIXED]
    holds = (fixed - 1).abs().max(axis=None) < 0.1
    known, made = fixed.loc["CW, known"], moved.loc["Right model", "CW"]
    too_small = 1000 * known["log mu"]
    scalar, tilted = ratio.loc["Right model"].loc[["Scalar", "CW, known"]].to_numpy()
    weighted = ratio.drop(index="Unweighted", level=1)
    return {
        "P1-Eq27a": (
            "variance over files / sandwich: "
            + ", ".join(f"{a:.2f}, {b:.2f} ({k})" for k, (a, b) in fixed.iterrows()),
            holds,
        ),
        "P1-Eq27b": (
            f"without the sum {too_small:.0f} times too small",
            abs(too_small - 1) < 0.1,
        ),
        "P1-Eq27c": (
            "equal to 27b with the sum",
            closed["J"].max() < 1e-6 and gap < 1e-6,
        ),
        "P1-Eq27d": (
            f"slack {min(slack.values()):.2f} of the bound under A2; equality for a "
            "scalar weight; without A2 it can fail",
            min(slack.values()) > 0 and np.abs(equal).max() < 1e-9,
        ),
        "P1-Thm3": (
            f"fixed weights {known['log mu']:.2f}, {known['log phi']:.2f}; "
            f"CW from the file {made['log mu']:.1f}, {made['log phi']:.1f}",
            holds,
        ),
        "P1-Claim29": (
            f"sandwich / MLE: scalar {scalar[0]:.2f}; "
            f"known CW {tilted[0]:.2f}, {tilted[1]:.2f}",
            (weighted > 1 + 1e-6).all(axis=None),
        ),
    }
