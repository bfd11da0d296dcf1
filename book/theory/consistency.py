"""Negative binomial, figures and checks of the chapter on consistency."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from large_files import NORMAL, POINTS, normal_posterior, standard_errors_off, xi
from scipy import optimize, special, stats

import pseudopost as pp

COUNTS = np.arange(601)
COLOURS = pp.plots.PALETTE


def negative_binomial(mu, phi):
    """Probabilities of all counts."""
    return stats.nbinom.pmf(COUNTS, phi, phi / (phi + mu))


def model_sd(mu, phi):
    """Standard deviation of the negative binomial distribution."""
    return np.sqrt(mu + mu**2 / phi)


def normal_point(weights):
    """Mean and variance at which the expected weighted loss is smallest.

    The truth is the standard normal distribution; the weights belong to `POINTS`. The
    search does not use the closed form.
    """

    def loss(parameters):
        mu, log_sigma = parameters
        return -(NORMAL * weights) @ stats.norm.logpdf(POINTS, mu, np.exp(log_sigma))

    mu, log_sigma = optimize.minimize(loss, [0.2, 0.2], tol=1e-10).x
    return mu, np.exp(2 * log_sigma)


def normal_error():
    """Largest error of a numerical search, in the chapter's table of points."""
    weights = {
        (0, 1): np.full(len(POINTS), 0.3),
        (0, 1 / 2): np.exp(-(POINTS**2) / 2),
        (-1 / np.sqrt(np.pi), 1 - 1 / np.pi): stats.norm.cdf(-POINTS),
    }
    found = {exact: normal_point(w) for exact, w in weights.items()}
    return max(np.abs(np.subtract(*pair)).max() for pair in found.items())


def reversed_point(mass):
    """Mu and phi at which the divergence is smallest, its arguments as printed."""

    def divergence(parameters):
        mu, phi = np.exp(parameters)
        log_p = stats.nbinom.logpmf(COUNTS, phi, phi / (phi + mu))
        return negative_binomial(mu, phi) @ (log_p - np.log(mass))

    return np.exp(optimize.minimize(divergence, np.log([100, 12]), tol=1e-9).x)


def mean_score_for_phi(weights, mass, mu, phi, step=1e-4):
    """Mean weighted score of phi, by a difference."""
    up, down = (
        stats.nbinom.logpmf(COUNTS, p, p / (p + mu)) for p in (phi + step, phi - step)
    )
    return (mass * weights) @ (up - down) / (2 * step)


def estimates(weighted_counts):
    """Pseudo MLE of mu and phi; each row is a file, its sums of weights by count.

    Mu is the weighted mean; phi is the root of its score, by bisection.
    """
    share = weighted_counts / weighted_counts.sum(axis=1, keepdims=True)
    mu = share @ COUNTS
    low, high = np.full((2, len(mu)), np.log([[0.1], [1e5]]))
    for _ in range(45):
        middle = (low + high) / 2
        phi = np.exp(middle)[:, None]
        growth = special.digamma(COUNTS + phi) - special.digamma(phi)
        score = (share * growth).sum(axis=1) + np.log(phi[:, 0] / (phi[:, 0] + mu))
        low = np.where(score > 0, middle, low)
        high = np.where(score > 0, high, middle)
    return mu, np.exp(middle)


def posterior_draws(y, rng, S=500):
    """Draws of mu and phi from the normal approximation of the unweighted posterior."""
    n, counts = len(y), np.bincount(y, minlength=len(COUNTS))
    (mu,), (phi,) = estimates(counts[None])
    bend = special.polygamma(1, phi) - special.polygamma(1, COUNTS + phi)
    curvature = counts @ bend / n - 1 / phi + 1 / (phi + mu)
    mus = mu * np.exp(rng.normal(0, np.sqrt((phi + mu) / (n * phi * mu)), (S, 1)))
    phis = phi * np.exp(rng.normal(0, 1 / (phi * np.sqrt(n * curvature)), (S, 1)))
    return mus, phis


def lipschitz_values(y, mus, phis):
    """Largest bounds with and without LW weights, the mean weight, and the scalar."""
    log_likelihood = stats.nbinom.logpmf(y, phis, phis / (phis + mus))
    weights = pp.lipschitz_weights(log_likelihood)
    plain = pp.lipschitz_bounds(log_likelihood).max()
    weighted = pp.lipschitz_bounds(log_likelihood, weights).max()
    return {
        "lw-bound": weighted,
        "plain-bound": plain,
        "lw-kept": weights.mean(),
        "scalar-kept": weighted / plain,
    }


def regression_release(file, rng, m=20):
    """Synthetic values from a linear regression of the log value on all columns."""
    log_value = np.log(file["value"].to_numpy())
    columns = pd.get_dummies(file.drop(columns="value"), drop_first=True, dtype=float)
    design = np.column_stack([np.ones(len(file)), columns])
    beta, (rss,), _, _ = np.linalg.lstsq(design, log_value, rcond=None)
    root = np.linalg.cholesky(np.linalg.inv(design.T @ design))
    released = []
    for _ in range(m):
        sigma = np.sqrt(rss / rng.chisquare(len(file) - design.shape[1]))
        drawn = beta + sigma * root @ rng.normal(size=len(beta))
        released.append(np.exp(design @ drawn + sigma * rng.normal(size=len(file))))
    return np.array(released)


def prior_mass_by_quadrature(radius, points=4001):
    """Prior mass of the neighbourhood of A1 for the normal mean.

    Both moments come from quadrature at each parameter, the mass from summation.
    """
    thetas = np.linspace(-1, 1, points)
    ratio = thetas[:, None] ** 2 / 2 - thetas[:, None] * POINTS[::20]
    mass = NORMAL[::20] / NORMAL[::20].sum()
    inside = (ratio @ mass <= radius**2) & (ratio**2 @ mass <= radius**2)
    return stats.norm.pdf(thetas, 0, 10)[inside].sum() * (thetas[1] - thetas[0])


def meets_a2(weights):
    """Whether A2 holds in one file, with both constants 1 and one weight below 1."""
    n, common = len(weights), weights.max()
    below = (weights < common).sum()
    missing = xi(n) / np.sqrt(n - below)
    return bool(below <= np.sqrt(n) and 1 - common <= missing + 1e-12)


def point_values(population, large):
    """Phi at points of populations, and its mean in large files, for the text."""
    truths = {"phi-mixture": "mixture", "phi-correct": "NB(100, 10)"}
    values = {}
    for name, truth in truths.items():
        values[name] = population[truth, "weights 1"][1]
        values[f"{name}-CW"] = population[truth, "CW"][1]
    for name, (mean, error) in large.items():
        short = name.replace("Unweighted", "plain")
        values |= {f"large-{short}": mean, f"large-{short}-se": error}
    return values


def growing_values(growing):
    """Coverage under A2, in per cent, from the table of growing files, for the text."""
    covers = growing.loc["sqrt(n) largest (A2)", "covers 0"]
    return {f"covers-a2-{n}": 100 * covers[n] for n in (250, 4000)}


def table_values(table):
    """Standard deviation of the model in small and large files, for the text."""
    return {
        f"nb-{name}-{n}": table.loc[("NB(100, 10)", n, name), "sd"]
        for name in ("LW", "A2")
        for n in (250, 16_000)
    }


def draw_piles(data, sizes):
    """Pseudo posterior of the normal mean in a growing file, under two weightings."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
    panels = (
        ("all weights 1/2", "Scalar", 0, np.full(len(data), 0.5)),
        ("large values weighted down", "Vector", -(np.pi**-0.5), stats.norm.cdf(-data)),
    )
    grid = np.linspace(-1, 0.5, 1501)
    for ax, (title, look, point, weights) in zip(axes, panels, strict=True):
        for n, style in zip(sizes, (":", "--", "-"), strict=True):
            centre, sd = normal_posterior(data[:n], weights[:n])
            density = stats.norm.pdf(grid, centre, sd)
            ax.plot(grid, density, style, color=COLOURS[look], label=f"n = {n:,}")
        ax.axvline(0, color="black", linewidth=0.8)
        ax.axvline(point, color=COLOURS[look], linewidth=0.8)
        ax.set(xlabel="$\\theta$", title=title)
        ax.legend()
    axes[0].set_ylabel("Pseudo posterior density")


def draw_points(steps, moving, scalar, moving_lw):
    """The Kullback-Leibler point, as weights move from none to the full weighting."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for ax, column in zip(axes, (1, 0), strict=True):
        for truth, style in (("mixture", "-"), ("NB(100, 10)", "--")):
            ax.plot(
                steps,
                moving[truth][:, column],
                style,
                color=COLOURS["CW"],
                label=f"CW, truth {truth}",
            )
        ax.plot(
            steps,
            moving_lw[:, column],
            color=COLOURS["LW"],
            label="LW, mixture, n = 1,000",
        )
        ax.plot(
            steps,
            scalar[:, column],
            ":",
            color=COLOURS["Scalar"],
            label="scalar 1 - 0.6 c, mixture",
        )
        ax.set_xlabel("Strength c of the weighting, 1 - c (1 - weight)")
    axes[0].set(ylabel="$\\phi$ at the point", ylim=(0, None))
    axes[1].set(ylabel="$\\mu$ at the point (counts)", ylim=(98.8, 101.4))
    axes[0].legend(fontsize="small", loc="upper left")


def draw_sorted_weights(weights):
    """Sorted weights of one file, for each kind of weights."""
    _, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    looks = {"Constructed": "Data", "LW": "LW", "CW": "CW"}
    looks |= {"Pairwise": "Pairwise", "Sigmoid": "Vector"}
    for name, look in looks.items():
        share = np.linspace(0, 1, len(weights[name]))
        ordered = np.sort(weights[name])
        ax.plot(share, ordered, color=COLOURS[look], label=name, linewidth=2)
    ax.set(
        xlabel="Records, from the lowest to the highest weight (share of the file)",
        ylabel="Weight",
        ylim=(-0.02, 1.05),
        xlim=(0, 1),
    )
    ax.legend(fontsize="small", ncols=3, loc="lower right")


def draw_growing(growing, table, sizes):
    """Mass outside an interval, and the standard deviation of the model, against n."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")

    def bars(ax, part, value, error, label, look, marker):
        ax.errorbar(
            part.index,
            part[value],
            2 * part[error],
            fmt=marker,
            color=COLOURS[look],
            label=label,
            capsize=3,
        )

    few = r"$\sqrt{n}$ largest (A2)"
    for name, label, look, marker in (
        ("sqrt(n) largest (A2)", few, "Data", "o-"),
        ("30% largest", "30% largest", "Scalar", "s-"),
        ("30% at random", "30% at random", "Unweighted", "^-"),
    ):
        part = growing.loc[name]
        bars(axes[0], part, "mass outside", "error of the mass", label, look, marker)
    axes[0].set(
        xscale="log",
        xlabel="n (records)",
        ylabel="Pseudo posterior mass outside ±0.1",
        ylim=(-0.02, 1.05),
    )
    axes[0].legend(fontsize="small", loc="center right")
    for name, label, look, marker in (
        ("CW", "CW", "CW", "v-"),
        ("sigmoid", "Sigmoid", "Vector", "D-"),
        ("fixed share", "30% largest", "Scalar", "s-"),
        ("LW", "LW", "LW", "P-"),
        ("A2", few, "Data", "o-"),
        ("Unweighted", "Unweighted", "Unweighted", "^-"),
    ):
        part = table.loc["NB(100, 10)"].xs(name, level="weights")
        bars(axes[1], part, "sd", "error of sd", label, look, marker)
    axes[1].axhline(model_sd(100, 10), color="black", linewidth=0.8, linestyle=":")
    axes[1].set(
        xscale="log",
        xlabel="n (records)",
        ylabel="Standard deviation of the model (counts)",
    )
    axes[1].legend(
        fontsize="x-small", ncols=2, loc="lower left", bbox_to_anchor=(0, 0.18)
    )
    for ax, ticks in zip(axes, ((250, 1000, 4000), sizes), strict=True):
        ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
        ax.minorticks_off()


def claims_on_forms(gaps):
    """Equations 11 and 12 and the log ratio: five differences, by name."""
    return {
        "P1-Eq11": ("product and weighted sum equal", gaps["product"] < 1e-8),
        "P1-Eq12": (
            "both forms and the closed form equal",
            gaps["forms"] < 1e-12 and gaps["closed form"] < 1e-3,
        ),
        "P1-EqU04": (
            "0 at theta*; minus the difference of log-likelihoods",
            gaps["ratio at theta*"] < 1e-10 and gaps["ratio"] < 1e-10,
        ),
    }


def claim_on_point(printed, plain, cw, large):
    """Equation 13.

    Parameters
    ----------
    printed, plain, cw : float
        Phi at the point: as printed, and as corrected without weights and under CW.
    large : dict
        By weighting: mean and standard error of phi in large files.
    """
    printed_off = standard_errors_off(large["Unweighted"], printed)
    read_off = max(
        standard_errors_off(large["Unweighted"], plain),
        standard_errors_off(large["CW"], cw),
    )
    return {
        "P1-Eq13": (
            f"phi {printed:.1f} printed; {plain:.1f} and, under CW, {cw:.1f} "
            "as corrected",
            printed_off < 4 and read_off < 4,
        )
    }


def claims_on_prior(a1):
    """Equations 23 and 24 and A1, from the table of prior masses by n = 25, 100, ..."""
    later = a1.iloc[1:]
    return {
        "P1-Eq23": (
            "interval and quadrature agree",
            np.allclose(a1["prior mass"], a1["by quadrature"], rtol=0.02),
        ),
        "P1-Eq24": (
            "at n = 100, 400, 1600: "
            + ", ".join(f"{v:.4f}" for v in later["prior mass"]),
            (later["prior mass"] > later["bound 1/n"]).all(),
        ),
        "P1-A1": (
            "met from n = 100 on, by the prior N(0, 100)",
            (later["by quadrature"] > later["bound 1/n"]).all(),
        ),
    }


def claims_on_growth(growing, constructed):
    """A2 and the growing sparsity: table of growing files, and weights to meet A2."""
    bias, outside = growing["bias"].abs(), growing["mass outside"]
    sparse, share = bias["sqrt(n) largest (A2)"], bias["30% largest"]
    few = outside["sqrt(n) largest (A2)"]
    return {
        "P1-A2": (
            f"met by constructed weights; bias {sparse[250]:.3f}, {sparse[1000]:.3f}, "
            f"{sparse[4000]:.3f}; fixed share {share[4000]:.2f}",
            all(map(meets_a2, constructed))
            and sparse[4000] < 0.5 * sparse[250]
            and share[4000] > 0.8 * share[250],
        ),
        "P1-Claim28": (
            f"mass outside {few[250]:.2f}, then {few[4000]:.2f}",
            sparse.is_monotonic_decreasing
            and few[4000] < 0.05
            and outside["30% largest"][4000] > 0.95,
        ),
    }


def claim_on_shares(below_99):
    """Do weights made from risks meet A2? Shares below 0.99, by weights and n."""
    fall = (below_99[8000] / below_99[500]).drop("Constructed")
    return {
        "P1-Claim36": (
            "share below 0.99 from 500 to 8,000 records: times "
            f"{fall.min():.2f} to {fall.max():.2f}",
            (fall <= 0.5).all(),
        )
    }


def claim_on_vectors(estimated, scalar, cw):
    """Is a vector closer to the truth, a phi of 10?

    Parameters
    ----------
    estimated : Series
        Mean estimates of phi, one under a scalar weight.
    scalar, cw : float
        Distance of the point in the population.
    """
    vectors = estimated.drop("scalar 0.455").sub(10).abs()
    return {
        "P1-Claim31": (
            f"distance of phi from its truth, 10: scalar 0, CW {cw:.1f}",
            max(vectors.max(), cw) < scalar,
        )
    }
