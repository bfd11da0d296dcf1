"""Tables, figures and checks of the chapter on intervals."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from count_files import FIXED, PARAMETERS, SHORT, WEIGHTINGS, colour_of, key
from scipy import stats

import pseudopost as pp


def total_variation(axes, grid, centre, covariance):
    """Distance of a posterior on a grid from a normal distribution."""
    places = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    cell = np.prod(axes[:, 1] - axes[:, 0])
    normal = stats.multivariate_normal.pdf(places, centre, covariance) * cell
    return 1 - np.minimum(normal, grid).sum()


def bootstrap_table(data, boot, n):
    """Variances times n: over files, by the sandwich, and by the bootstrap."""
    rows = {}
    for name in ("CW", "LW"):
        for p, parameter in enumerate(PARAMETERS):
            rows[name, parameter] = {
                "files": n * data[name, "estimate"].iloc[:, p].var(),
                "sandwich, weights fixed": data[name, "sandwich"].iloc[:, p].mean(),
                "bootstrap": boot[f"{name}/{p}"].mean(),
                "sd of bootstrap": boot[f"{name}/{p}"].std(),
            }
    return pd.DataFrame(rows).T.rename_axis(["weights", "parameter"])


def bootstrap_values(table, n_files):
    """The table of the bootstrap, for the text."""
    last = table.loc[("LW", "log phi")]
    error = last["sd of bootstrap"] / n_files**0.5
    return (
        {
            f"boot-{name}-{parameter[4:]}": row["bootstrap"] / row["files"]
            for (name, parameter), row in table.iterrows()
        }
        | {
            f"files-sandwich-{name}-{parameter[4:]}": row["files"]
            / row["sandwich, weights fixed"]
            for (name, parameter), row in table.iterrows()
        }
        | {
            "moved-mu": table.loc[("CW", "log mu"), "files"],
            "moved-phi": table.loc[("CW", "log phi"), "files"],
            "boot-error": 100 * error / last["bootstrap"],
            "boot-fixed": last["sandwich, weights fixed"] / last["files"],
            "boot-n": n_files,
        }
    )


def coverage_table(files, points, predicted, truths, n):
    """Shares of intervals that cover: as they are, and adjusted to the sandwich.

    Parameters
    ----------
    files : dict
        By population: the simulated files.
    points, predicted : dict
        By population and weighting: what to cover, and how often it should be covered.
    truths : dict
        By population: the true parameters, missing where the model has none.
    n : int
        Records in a file.
    """
    rows = {}
    for population, data in files.items():
        for name in WEIGHTINGS:
            box = data[name]
            centre = box["estimate"].to_numpy()
            half = 1.96 * np.sqrt(box["sandwich"].to_numpy() / n)
            wide = np.full(half.shape, np.nan)
            if name == "CW":
                wide = 1.96 * np.sqrt(box["full sandwich"].to_numpy() / n)
            for p, parameter in enumerate(PARAMETERS):
                pairs = {
                    "": (box["low"].iloc[:, p], box["high"].iloc[:, p]),
                    "adjusted ": around(centre[:, p], half[:, p]),
                    "full adjusted ": around(centre[:, p], wide[:, p]),
                }
                rows[population, name, parameter] = {
                    "predicted": predicted.get((population, name), [np.nan] * 2)[p]
                } | shares(pairs, points[population, name][p], truths[population][p])
    return pd.DataFrame(rows).T.rename_axis(["population", "weights", "parameter"])


def around(centre, half):
    """Ends of intervals from their centres and half-widths."""
    return centre - half, centre + half


def shares(pairs, point, truth):
    """Share of each kind of intervals that covers the point, and the truth."""
    row = {}
    for kind, (low, high) in pairs.items():
        if np.isnan(low).any():
            continue
        counted = pp.coverage(low, high, point)
        row[f"{kind}covers the point"] = counted.estimate
        row[f"{kind}error"] = counted.standard_error
        if np.isfinite(truth):
            row[f"{kind}covers the truth"] = pp.coverage(low, high, truth).estimate
    return row


def coverage_values(coverage):
    """The table of coverage, for the text."""
    names = {
        "cover": "covers the point",
        "truth": "covers the truth",
        "adjusted": "adjusted covers the point",
        "adjusted-truth": "adjusted covers the truth",
        "full": "full adjusted covers the point",
    }
    fixed = coverage.index.get_level_values("weights").isin(FIXED)
    return {
        f"{short}-{key(population, name)}-{parameter[4:]}": row[column]
        for (population, name, parameter), row in coverage.iterrows()
        for short, column in names.items()
    } | {
        "largest-error": coverage["error"].max(),
        "largest-fixed-error": coverage.loc[fixed, "adjusted error"].max(),
    }


def draw_bernstein_von_mises(places, grid, theta, H, n):
    """Marginals of a posterior on a grid, and two normal distributions."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for p, ax in enumerate(axes):
        marginal = grid.sum(1 - p) / (places[p][1] - places[p][0])
        sd = np.sqrt(np.diag(np.linalg.inv(H)) / n)[p]
        printed = stats.norm.pdf(places[p], theta[p], np.sqrt(H[p, p]))
        right = stats.norm.pdf(places[p], theta[p], sd)
        colour = colour_of("CW")
        ax.fill_between(
            places[p], marginal, color=colour, alpha=0.5, label="pseudo posterior"
        )
        ax.plot(places[p], right, "k-", label="covariance $H^{-1}/n$")
        ax.plot(places[p], printed, "k:", lw=2, label="covariance $H$, as printed")
        ax.set(
            xlabel=("log μ", "log φ")[p],
            ylabel="Density",
            xlim=theta[p] + np.array([-5, 5]) * sd,
        )
    axes[0].legend(loc="upper left", fontsize=8)
    axes[0].set_ylim(0, 15)


def rows_of(coverage, population):
    """Each row of a population: its weighting, marker, height in the figure, values."""
    for k, name in enumerate(WEIGHTINGS):
        for parameter, marker, shift in (
            ("log mu", "o", -0.16),
            ("log phi", "s", 0.16),
        ):
            yield name, marker, k + shift, coverage.loc[population, name, parameter]


def draw_coverage(coverage):
    """Coverage of the point of concentration, counted and predicted."""
    fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
    for ax, population in zip(axes, SHORT, strict=True):
        for name, marker, height, row in rows_of(coverage, population):
            ax.errorbar(
                row["covers the point"],
                height,
                xerr=2 * row["error"],
                fmt=marker,
                ms=6,
                color=colour_of(name),
            )
            ax.plot(row["predicted"], height, "kx", ms=7, zorder=3)
        ax.axvline(0.95, color="black", lw=0.8, ls="--")
        ax.set(
            title=population,
            xlabel="Coverage of 95% intervals",
            xlim=(0.8, 1.01),
            xticks=[0.8, 0.85, 0.9, 0.95, 1],
        )
    axes[0].set_yticks(range(len(WEIGHTINGS)), WEIGHTINGS)
    axes[0].invert_yaxis()
    for marker, label in (("o", "log μ, simulated"), ("s", "log φ, simulated")):
        axes[1].plot([], [], marker, color="grey", label=label)
    axes[1].plot([], [], "kx", label="predicted")
    fig.legend(loc="outside lower center", ncols=3)


def draw_adjusted(coverage):
    """Coverage before and after draws are rescaled to the sandwich."""
    fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
    for ax, population in zip(axes, SHORT, strict=True):
        for name, marker, height, row in rows_of(coverage, population):
            before, after = row["covers the point"], row["adjusted covers the point"]
            colour = colour_of(name)
            ax.plot([before, after], [height] * 2, color=colour, lw=1.5)
            ax.plot(before, height, marker, mfc="white", color=colour)
            ax.plot(after, height, marker, color=colour)
            if name == "CW":
                ax.plot(row["full adjusted covers the point"], height, "r*", ms=9)
        ax.axvline(0.95, color="black", lw=0.8, ls="--")
        ax.set(title=population, xlabel="Coverage of 95% intervals", xlim=(0.66, 1.02))
    axes[0].set_yticks(range(len(WEIGHTINGS)), WEIGHTINGS)
    axes[0].invert_yaxis()
    axes[1].plot([], [], "o", mfc="white", color="grey", label="credible interval")
    axes[1].plot([], [], "o", color="grey", label="adjusted to the sandwich")
    axes[1].plot([], [], "r*", ms=9, label="adjusted, weights from the file")
    fig.legend(loc="outside lower center", ncols=3)


def claims_on_coverage(distances, coverage, scalar, deviations):
    """Theorem 4 with Equation 28, and whether intervals cover.

    Parameters
    ----------
    distances : DataFrame
        By size of the files: total variation of the corrected and the printed form.
    coverage : DataFrame
        From :func:`coverage_table`.
    scalar : float
        Coverage that the theory gives a scalar weight.
    deviations : DataFrame
        Columns ``sd of draws`` and ``theory``.
    """
    counted = coverage["covers the point"]
    under_scalar = counted["Right model", "Scalar", "log mu"]
    far = abs(deviations["sd of draws"] / deviations["theory"] - 1).max()
    corrected = distances["corrected"].to_numpy()
    missed = (counted - coverage["predicted"]).abs().dropna()
    allowed = 4 * coverage["error"] + 0.005
    off = (counted - 0.95) / coverage["error"]
    return {
        "P1-Eq28": (
            f"distance at n = 1600: {corrected[-1]:.2f} corrected, "
            f"{distances['printed'].iloc[-1]:.2f} printed",
            distances["printed"].iloc[-1] < 0.1,
        ),
        "P1-Thm4": (
            "distance "
            + ", ".join(f"{v:.2f}" for v in corrected)
            + f"; scalar weight covers {under_scalar:.3f}, theory {scalar:.3f}",
            (np.diff(corrected) < 0).all()
            and corrected[-1] < 0.1
            and far < 0.1
            and abs(under_scalar - scalar) < 0.01,
        ),
        "P1-Claim30": (
            f"scalar {under_scalar:.3f}; wrong model "
            f"{counted['Wrong model', 'Unweighted', 'log phi']:.3f}; "
            f"LW {counted['Right model', 'LW', 'log phi']:.3f}",
            (missed < allowed[missed.index]).all()
            and (off > 4).any()
            and (off < -4).any(),
        ),
    }
