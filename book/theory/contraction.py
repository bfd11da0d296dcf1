"""Radii, figures and checks of the chapter on contraction."""

import matplotlib.pyplot as plt
import numpy as np
from large_files import standard_errors_off, xi
from scipy import stats

import pseudopost as pp

COLOURS = pp.plots.PALETTE


def factors(theta, alpha, files):
    """Product over the records of each file of (p_theta / p_0) to the weight."""
    log_ratio = stats.norm.logpdf(files, theta) - stats.norm.logpdf(files)
    return np.exp(log_ratio @ alpha)


def kappa(n, low=0.5, C3=1.0):
    """What the weights of A2 take away from a record, on average, in units of theta^2/2.

    The ceil(sqrt n) records of the set A have the weight `low`.
    """
    n_A = np.ceil(np.sqrt(n))
    gap = C3 * xi(n) / np.sqrt(n - n_A)
    return ((1 - low) * n_A * low + gap * (n - n_A) * (1 - gap)) / n


def theorem_radius(n, D, t, low=0.5, C3=1.0):
    """Radius outside which Theorem 1 puts a mass of at most n to the power of -t."""
    return xi(n) * np.sqrt(2 * (D + 3 * t) / kappa(n, low, C3))


def actual_radius(n, low=0.5, C3=1.0):
    """Radius with 99% of the pseudo posterior, on average over files.

    The variances of the centre and around the centre are added.
    """
    n_A = np.ceil(np.sqrt(n))
    rest = 1 - C3 * xi(n) / np.sqrt(n - n_A)
    total = low * n_A + rest * (n - n_A)
    squares = low**2 * n_A + rest**2 * (n - n_A)
    return stats.norm.ppf(0.995) * np.sqrt(squares / total**2 + 1 / total)


def process_values(process, n_files):
    """Means and errors of the empirical process, for the text."""
    (mean, error), (plain, plain_error) = process["weighted"], process["plain"]
    return {
        "process-reps": n_files,
        "process-mean": mean,
        "process-se": error,
        "process-plain": plain,
        "process-plain-se": plain_error,
    }


def contraction_values(check):
    """The check of Theorem 1, for the text."""
    orders = check["log10 of the bound"] - check["log10 of the largest mass"]
    return {
        "promised-low": 100 * check["promised"].min(),
        "promised-high": 100 * check["promised"].max(),
        "mass-orders": np.floor(orders.min()),
        "rho-1600": check.loc[(1600, 4, 1), "radius"],
    }


def draw_divergence(thetas, divergence):
    """Rényi divergence by theta; `divergence` has a table by weight for each truth."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
    looks = {0.2: "Unweighted", 0.5: "Vector", 0.8: "Scalar"}
    for ax, (s, by_weight) in zip(axes, divergence.items(), strict=True):
        for weight, look in looks.items():
            label, colour = f"weight {weight}", COLOURS[look]
            ax.plot(thetas, by_weight[weight], color=colour, label=label)
        ax.axhline(0, color=COLOURS["Data"], linewidth=0.8)
        title = f"truth N(0, {s**2:.3g}), model N($\\theta$, 1)"
        ax.set(xlabel="$\\theta$", title=title)
        ax.set_xticks([-1, -0.5, 0, 0.5, 1])
    axes[0].set_ylabel("Rényi divergence of a record (nats)")
    axes[0].legend()


def draw_sharpness():
    """The radius of Theorem 1 and the actual one, by n and by the weight in A."""
    sizes = np.logspace(2, 8, 40)
    missing = np.logspace(np.log10(0.5), -5, 60)
    colours = [COLOURS[look] for look in ("Marginal", "Data", "Unweighted")]
    theorem, rate, actual = ({"color": colour} for colour in colours)
    actual["label"] = "actual, 99% of the mass"

    _, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.8), layout="constrained", sharey=True
    )
    left.plot(sizes, theorem_radius(sizes, 4, 1), label="Theorem 1", **theorem)
    left.plot(sizes, xi(sizes), ":", label="rate $\\xi_n$", **rate)
    left.plot(sizes, actual_radius(sizes), **actual)
    left.set(
        xscale="log",
        yscale="log",
        xlabel="n (records)",
        ylabel="Distance from $\\theta^*$",
    )
    left.legend(fontsize="small", loc="lower left")
    alone = theorem_radius(1600, 4, 1, 1 - missing, 0.0)
    both = theorem_radius(1600, 4, 1, 1 - missing)
    right.plot(missing, alone, "--", label="Theorem 1, first term alone", **theorem)
    right.plot(missing, both, label="Theorem 1", **theorem)
    right.plot(missing, actual_radius(1600, 1 - missing), **actual)
    right.set(xscale="log", xlabel="1 - weight in $A_n$, at n = 1,600")
    right.invert_xaxis()
    right.legend(fontsize="small", loc="lower right")


def claims_on_divergence(gap, at_itself, affinities, exact, exponent, simulated):
    """Equations 14 and 15, and the product of affinities.

    Parameters
    ----------
    gap, at_itself : float
        Divergences: largest difference from closed forms, and value at the point.
    affinities, exact : array-like, shape (n,)
        Affinities of the records, by quadrature and by the closed form.
    exponent : float
        Sum of the weighted divergences, the logarithm of the product of affinities.
    simulated : tuple
        Mean and standard error of the product.
    """
    return {
        "P1-Eq14": (
            "closed form and quadrature equal; 0 at theta*",
            gap < 1e-8 and at_itself < 1e-12,
        ),
        "P1-Eq15": (
            "closed form and quadrature equal",
            np.allclose(affinities, exact, rtol=1e-9),
        ),
        "P1-EqU06": (
            "product of five and a simulated expectation agree",
            np.isclose(np.log(affinities).sum(), exponent)
            and standard_errors_off(simulated, affinities.prod()) < 4,
        ),
    }


def claims_on_process(empirical_gap, weighted, plain):
    """Equation 16 and the empirical process: means and errors under both weights."""
    off = max(standard_errors_off(weighted, -6), standard_errors_off(plain, 0))
    return {
        "P1-Eq16": ("masses weight / n; sums agree", empirical_gap < 1e-12),
        "P1-EqU05": (
            f"mean {weighted[0]:.2f} under fixed weights, {plain[0]:z.2f} without",
            off < 4,
        ),
    }


def claims_on_contraction(check, by_weight, by_size):
    """Theorem 1 and Equation 25.

    Parameters
    ----------
    check : DataFrame
        Shares of files with a mass of at most, and at least, the bound; promised share.
    by_weight, by_size : array-like
        Radius of the theorem as the weight rises to 1, and as n grows.
    """
    most, least, promised = (
        check[name] for name in ("share at most", "share at least", "promised")
    )
    return {
        "P1-Thm1": (
            f"holds in {100 * most.min():.0f}% of the files, promised "
            f"at most {100 * promised.max():.0f}%",
            (most >= promised).all()
            and promised.max() > 0.5
            and (np.diff(by_weight) > 0).all()
            and (np.diff(by_size) < 0).all(),
        ),
        "P1-Eq25": (
            f"printed direction in {100 * least.max():.0f}% of the files",
            (least >= promised).all(),
        ),
    }


def claim_on_terms(terms):
    """Does the first term dominate? Table of both terms, by n."""
    loose, strict = terms["ratio"], terms["ratio, with xi_n"]
    return {
        "P1-Claim27": (
            f"ratio {loose.iloc[0]:.2f}, then {loose.iloc[-1]:.2f}; with xi_n "
            f"{strict.iloc[0]:.1f}, then {strict.iloc[-1]:.0f}",
            loose.iloc[-1] >= 2 * loose.iloc[0],
        )
    }
