"""Of the chapter on weights from risks: exact posterior, figures, checks of claims."""

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import pseudopost as pp

COLOURS = pp.plots.PALETTE
# Multipliers by risk, to four places; 0.3818 and 0.6258 are risks in P1's tables.
MULTIPLIERS = {
    0: 1.0002,
    0.25: 1.0090,
    0.3818: 1.0656,
    0.5: 1.25,
    0.6258: 1.4411,
    1: 1.4998,
}
ORDER = (
    "P1-Eq09",
    "P1-Eq10",
    "P1-EqU02",
    "P1-Set09",
    "P1-AlgU1",
    "P1-Claim35",
    "P1-Claim33",
    "P1-Claim34",
    "P2-Claim33",
)


# --- The negative binomial synthesizer without simulation -----------------------------


def log_prior(log_mu, log_inverse_phi):
    """Log prior density of the synthesizer on a grid, up to a constant."""
    scales = np.exp(np.linspace(-9, 9, 300))
    mixed = stats.norm.pdf(log_mu[:, None], 0, scales) * stats.t.pdf(scales, 3) * scales
    over_phi = stats.halfcauchy.logpdf(np.exp(log_inverse_phi), scale=5)
    return np.log(mixed.sum(axis=1))[:, None] + over_phi + log_inverse_phi


def around(axis, mass, size):
    """Spread `size` points over the part of an axis that has the mass."""
    kept = np.flatnonzero(mass > 1e-9 * mass.max())
    ends = max(kept[0] - 1, 0), min(kept[-1] + 1, len(axis) - 1)
    return np.linspace(*axis[list(ends)], size)


def posterior_grid(values, totals, size=40):
    """Pseudo posterior of the negative binomial model on a grid.

    The grid is drawn three times more closely around the mass that it has found.

    Parameters
    ----------
    values : ndarray of int, shape (v,)
        The counts that occur.
    totals : ndarray, shape (v,)
        Sum of the weights of the records with each of them.
    size : int
        Points of the last grid, in either direction.

    Returns
    -------
    phi : ndarray, shape (size, 1)
    share : ndarray, shape (size, size, 1)
        Probability in SciPy's form of the distribution, by mean and phi.
    mass : ndarray, shape (size, size)
        Probability of each point.
    """
    log_mu, log_inverse_phi = np.linspace(-12, 16, 60), np.linspace(-10, 14, 60)
    for zoom in range(4):
        phi = np.exp(-log_inverse_phi)[:, None]
        share = phi / (phi + np.exp(log_mu)[:, None, None])
        mass = log_prior(log_mu, log_inverse_phi)
        if totals.any():
            mass = mass + stats.nbinom.logpmf(values, phi, share) @ totals
        mass = np.exp(mass - mass.max())
        if zoom < 3:
            log_mu, log_inverse_phi = (
                around(log_mu, mass.sum(axis=1), size),
                around(log_inverse_phi, mass.sum(axis=0), size),
            )
    return phi, share, mass / mass.sum()


# --- Values for the text --------------------------------------------------------------


def numbers_of_chance(before, after, again):
    """Of risks without weights, after the refit, and drawn again without weights."""
    top = np.argsort(-before, kind="stable")[:100]
    weights, weights_again = pp.sigmoid_weights(before), pp.sigmoid_weights(again)
    return {
        "fallen": 100 * (after < before).mean(),
        "fallen-again": 100 * (again < before).mean(),
        "top-before": before[top].mean(),
        "top-after": after[top].mean(),
        "top-again": again[top].mean(),
        "seed-correlation": np.corrcoef(weights, weights_again)[0, 1],
    }


def numbers_of_refit(y, exact_risk, exact_phi, weights):
    """Of the exact posteriors without and under weights, in the tails and elsewhere."""
    tails = extremes(y)
    before, after = exact_risk["Unweighted"], exact_risk["Vector"]
    return {
        "exact-Unweighted": before.mean(),
        "exact-Vector": after.mean(),
        "phi-Unweighted": exact_phi["Unweighted"],
        "phi-Vector": exact_phi["Vector"],
        "tail-before": before[tails].mean(),
        "tail-after": after[tails].mean(),
        "tail-weight": weights[tails].mean(),
        "crowd-weight": weights[~tails].mean(),
    }


def extremes(y, share=0.04):
    """Which records are the most extreme: half of the share at either end."""
    rank = stats.rankdata(y, method="ordinal") - 1
    return np.abs(rank - (len(y) - 1) / 2) > (1 - share) / 2 * len(y)


def risen(path, alpha):
    """Records with a higher risk under the scalar weight alpha than under 1."""
    return (path[alpha] > path[1] + 1e-6).sum()


# --- Figures --------------------------------------------------------------------------


def draw_sigmoid(grid, multiplier, curve, zero):
    """Multiplier and weight by risk."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    axes[0].plot(grid, multiplier, color=COLOURS["Vector"])
    axes[0].axhline(1, color="black", linestyle="--", linewidth=1)
    axes[0].set(xlabel="Identification risk", ylabel="Multiplier c", ylim=(0.95, 1.55))
    axes[1].plot(grid, curve, color=COLOURS["Vector"], label="S-shaped multiplier (P1)")
    line = {"color": "black", "linestyle": "--", "linewidth": 1}
    axes[1].plot(grid, pp.marginal_weights(grid), label="straight line (P2)", **line)
    axes[1].annotate(
        f"0 from {zero:.2f}", (zero, 0), xytext=(-76, 4), textcoords="offset points"
    )
    axes[1].set(xlabel="Identification risk", ylabel="Weight", ylim=(-0.03, 1.03))
    axes[1].legend()


def draw_one_record(ends, synthetic, alphas, paths):
    """Synthetic income of a record under some weights, and its risk by its weight."""
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    dollars = np.geomspace(8_000, 900_000, 500)
    axes[0].axvspan(*np.exp(ends), color=COLOURS["CW"], alpha=0.25, linewidth=0)
    for (alpha, distribution), style in zip(
        synthetic.items(), ("-", "--", "-.", ":"), strict=True
    ):
        density = distribution.pdf(np.log(dollars))
        axes[0].plot(dollars, density, style, color="black", label=f"weight {alpha:g}")
    axes[0].set(
        xscale="log",
        xlabel="Synthetic income of the record (dollars)",
        ylabel="Density on the log scale",
        ylim=(0, None),
        title="Flexible synthesizer",
    )
    axes[0].legend()
    for (name, path), style in zip(paths.items(), ("-", "--", ":"), strict=True):
        axes[1].plot(alphas, path, style, color="black", label=name)
    axes[1].set(
        xlabel="Weight of the record", ylabel="Identification risk", ylim=(0, 1.25)
    )
    axes[1].legend(loc="upper left")


def draw_risks_again(before, refitted, drawn_again):
    """Risk of each record in 20 files against its risk in 20 other files."""
    _, axes = plt.subplots(1, 2, figsize=(8.6, 4.1), layout="constrained", sharey=True)
    limits = (-0.02, 0.5)
    for ax, after, name, title in (
        (axes[0], refitted, "Vector", "Refitted under the weights"),
        (axes[1], drawn_again, "Unweighted", "Same fit, drawn again"),
    ):
        ax.axline((0, 0), slope=1, color="black", linewidth=0.8, linestyle=":")
        ax.scatter(before, after, s=9, color=COLOURS[name], alpha=0.6, linewidth=0)
        ax.set(xlabel="Risk, unweighted", title=title, xlim=limits, ylim=limits)
    axes[0].set_ylabel("Risk in 20 other files")


def draw_exact(y, measured, exact, closeness):
    """Exact risks by count, and on the curve of the probability of a close value."""
    by_value = np.argsort(y, kind="stable")
    before, after = exact["Unweighted"], exact["Vector"]
    colour = COLOURS["Unweighted"]
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    points = {"s": 8, "alpha": 0.35, "linewidth": 0}
    axes[0].scatter(y, measured, color=colour, label="20 files", **points)
    axes[0].plot(y[by_value], before[by_value], color="black", label="exact")
    refit = {"color": COLOURS["LW_final"], "label": "exact, after the refit"}
    axes[0].plot(y[by_value], after[by_value], "--", **refit)
    axes[0].set(xlabel="Count", ylabel="Identification risk", ylim=(-0.015, 0.62))
    axes[0].legend(loc="upper right")
    a = np.linspace(0, 1, 200)
    axes[1].plot(a, a * (1 - a), color="black", linewidth=1)
    axes[1].plot(closeness, before, "o", markersize=4, color=colour)
    axes[1].set(
        xlabel="Probability A of a value in the ball",
        ylabel="Identification risk, exact",
        ylim=(0, 0.28),
    )


def draw_scalar_path(y, path, sampled):
    """Risk of the file and of some records as a scalar weight falls to 0."""
    alphas = [alpha or 0.0001 for alpha in path]
    by_value = np.argsort(y, kind="stable")
    _, ax = plt.subplots(figsize=(5.6, 3.7), layout="constrained")
    low, high = (by_value[int(q * len(y))] for q in (0.02, 0.99))
    for label, risk_of, marks, style in (
        ("mean over the file", np.mean, "o-", {"color": COLOURS["Scalar"]}),
        ("riskiest record", np.max, "^-", {"color": "black", "linewidth": 1}),
        ("count at the 2% quantile", lambda r: r[low], ":", {"color": "black"}),
        ("count at the 99% quantile", lambda r: r[high], "--", {"color": "black"}),
    ):
        ax.plot(
            alphas, [risk_of(r) for r in path.values()], marks, label=label, **style
        )
    squares = {"markersize": 9, "fillstyle": "none", "color": "black"}
    ax.plot(
        *zip(*sampled.items(), strict=True), "s", label="synthetic files", **squares
    )
    ax.set(
        xscale="log",
        xlabel="Scalar weight",
        ylabel="Identification risk",
        ylim=(-0.005, 0.27),
    )
    ax.set_xticks([1, 0.1, 0.01, 0.001, 0.0001], ["1", "0.1", "0.01", "0.001", "0"])
    ax.invert_xaxis()
    ax.legend(fontsize=9)


# --- Checks of the claims: what was found, in words, and whether it holds -------------


def claims(*groups):
    """Checks of the functions below, in one order."""
    found = {claim: check for group in groups for claim, check in group.items()}
    return {claim: found[claim] for claim in ORDER}


def claims_on_curve(printed, grid, multiplier, curve, zero):
    """The weight as printed and as meant, the multiplier, and where the weight ends.

    Parameters
    ----------
    printed : ndarray
        Weights by the printed formula.
    grid, multiplier, curve : ndarray, shape (g,)
        Risks with their multipliers and weights.
    zero : float
        Smallest risk with weight 0.
    """
    risks, expected = map(np.array, zip(*MULTIPLIERS.items(), strict=True))
    weights = np.interp(risks, grid, curve)
    implied = (1 - weights[1:4]) / risks[1:4]  # elsewhere 0 / 0, or no weight left
    at_half, published = np.interp([0.5, 0.3818], grid, curve)
    words = [f"c({r:g}) = {np.interp(r, grid, multiplier):.4f}" for r in (0, 0.5, 1)]
    return {
        "P1-Eq09": (
            f"printed: largest weight {printed.max():.0f}; meant: {curve.min():.0f} to "
            f"{curve.max():.0f}",
            printed.max() <= 0
            and np.allclose(curve, np.maximum(0, 1 - multiplier * grid))
            and np.isclose(published, 0.5932, atol=1e-4),
        ),
        "P1-EqU02": (
            ", ".join(words),
            np.allclose(np.interp(risks, grid, multiplier), expected, atol=1e-4)
            and np.allclose(implied, expected[1:4], atol=1e-4),
        ),
        "P1-Set09": (
            f"weight {at_half:.3f} at 0.5, 0 from {zero:.3f}",
            np.isclose(at_half, 0.375) and np.isclose(zero, 0.679, atol=1e-3),
        ),
    }


def claims_on_mixture(ordinary, at_one, weighted, by_hand, steps, of_record):
    """Log densities of the mixture, where the power is outside the sum.

    Parameters
    ----------
    ordinary, at_one : float
        Of the ordinary posterior, and under weights of 1.
    weighted, by_hand : float
        Under some weights, by the model and by the formula.
    steps : dict
        By weight of one record.
    of_record : float
        Log density of that record, the expected slope.
    """
    slopes = np.diff(list(steps.values())) / np.diff(list(steps))
    return {
        "P1-Eq10": (
            f"log density {at_one:.3f} and {ordinary:.3f}",
            np.isclose(at_one, ordinary)
            and np.isclose(weighted, by_hand)
            and np.allclose(slopes, of_record),
        )
    }


def claims_on_procedure(fit, synthetic, weights, risk, exact_risk):
    """The procedure from end to end; all inputs by name of the synthesizer."""
    before, after = exact_risk["Unweighted"].mean(), exact_risk["Vector"].mean()
    used = fit["Vector"]["constant_data"]["weights"]
    n = len(weights["Vector"])
    return {
        "P1-AlgU1": (
            f"exact mean risk {before:.3f}, then {after:.3f}",
            synthetic["Unweighted"].shape == synthetic["Vector"].shape == (20, n)
            and fit["Unweighted"].attrs["model"] == fit["Vector"].attrs["model"]
            and np.array_equal(used, weights["Vector"])
            and abs(risk["Vector"].mean() - after) < 0.03,
        )
    }


def claims_on_order(risk, weights, multiplier, log_likelihood):
    """Weights fall as the risk rises, and shrink what records contribute."""
    order = np.argsort(risk, kind="stable")
    size = np.abs(log_likelihood)
    return {
        "P1-Claim35": (
            f"weights {weights.max():.2f} to {weights.min():.2f}, decreasing",
            (np.diff(weights[order]) <= 0).all()
            and (np.diff(multiplier) > 0).all()
            and (np.abs(log_likelihood * weights) <= size).all(),
        )
    }


def claims_on_path(path):
    """Exact risks of the records by scalar weight, from 1 down to 0."""
    means = np.array([risks.mean() for risks in path.values()])
    largest = np.array([risks.max() for risks in path.values()])
    return {
        "P1-Claim34": (
            f"mean {means[0]:.3f} to {means[-1]:.3f}; at weight 0.1 higher for "
            f"{risen(path, 0.1)} of {len(path[1]):,} records",
            (np.diff(means) < 0).all()
            and (np.diff(largest) < 0).all()
            and means[-1] < 0.05,
        )
    }


def claims_on_generality(table):
    """Four kinds of weights under two synthesizers."""
    ran = len(table) == 8 and np.isfinite(table.to_numpy()).all()
    return {
        "P1-Claim33": ("runs for two synthesizers; see P1-AlgU1 for the risk", ran),
        "P2-Claim33": ("marginal and pairwise weights, two synthesizers", ran),
    }
