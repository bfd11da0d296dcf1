"""Negative binomial, figures and checks of the chapter on consistency."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import optimize, special, stats

import pseudopost as pp

COUNTS = np.arange(601)
POINTS = np.linspace(-12, 12, 4801)
NORMAL = stats.norm.pdf(POINTS) / stats.norm.pdf(POINTS).sum()
COLOURS = pp.plots.PALETTE


def mean_and_error(values):
    """Mean of simulated values, and its standard error."""
    return np.mean(values), stats.sem(values)


def standard_errors_off(result, value):
    """How far a mean is from a value, in standard errors of the mean."""
    mean, error = result
    return abs(mean - value) / error


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


def factors(theta, alpha, files):
    """Product over the records of each file of (p_theta / p_0) to the weight."""
    log_ratio = stats.norm.logpdf(files, theta) - stats.norm.logpdf(files)
    return np.exp(log_ratio @ alpha)


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


def xi(n):
    """The rate, the root of log(n) / n."""
    return np.sqrt(np.log(n) / n)


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
    """The table of growing files, for the text."""
    shorts = {"sqrt(n) largest (A2)": "a2", "30% largest": "share"}
    values = {}
    for name, short in shorts.items():
        for n in (250, 4000):
            row = growing.loc[(name, n)]
            values[f"bias-{short}-{n}"] = row["bias"]
            values[f"outside-{short}-{n}"] = row["mass outside"]
            values[f"covers-{short}-{n}"] = 100 * row["covers 0"]
    return values


def table_values(table):
    """Simulated files of counts, for the text."""
    lw = table.loc["mixture"].xs("LW", level="weights")
    spread = {
        f"nb-{name.replace(' ', '-')}-{n}": table.loc[("NB(100, 10)", n, name), "sd"]
        for name in ("CW", "sigmoid", "LW", "A2", "fixed share")
        for n in (250, 16_000)
    }
    phi = {f"lw-{n}": lw.loc[n, "phi"] for n in (250, 1000, 16_000)}
    return spread | phi | {"lw-1000-se": lw.loc[1000, "error"]}


def contraction_values(check):
    """The check of Theorem 1, for the text."""
    orders = check["log10 of the bound"] - check["log10 of the largest mass"]
    return {
        "promised-low": 100 * check["promised"].min(),
        "promised-high": 100 * check["promised"].max(),
        "mass-orders": np.floor(orders.min()),
        "rho-1600": check.loc[(1600, 4, 1), "radius"],
    }


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
    axes[0].set(ylabel="phi at the Kullback-Leibler point", ylim=(0, None))
    axes[1].set(ylabel="mu at the Kullback-Leibler point (counts)", ylim=(98.8, 101.4))
    axes[0].legend(fontsize="small", loc="upper left")


def draw_divergence(thetas, divergence):
    """Rényi divergence by theta; `divergence` has a table by weight for each truth."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
    looks = {0.2: "Unweighted", 0.5: "Vector", 0.8: "Scalar"}
    for ax, (s, by_weight) in zip(axes, divergence.items(), strict=True):
        for weight, look in looks.items():
            label, colour = f"weight {weight}", COLOURS[look]
            ax.plot(thetas, by_weight[weight], color=colour, label=label)
        ax.axhline(0, color=COLOURS["Data"], linewidth=0.8)
        ax.set(xlabel="theta", title=f"truth N(0, {s**2:.3g}), model N(theta, 1)")
        ax.set_xticks([-1, -0.5, 0, 0.5, 1])
    axes[0].set_ylabel("Rényi divergence of a record (nats)")
    axes[0].legend()


def draw_sorted_weights(weights):
    """Sorted weights of one file, for each kind of weights."""
    _, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
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

    for label, look, marker in (
        ("sqrt(n) largest (A2)", "Data", "o-"),
        ("30% largest", "Scalar", "s-"),
        ("30% at random", "Unweighted", "^-"),
    ):
        part = growing.loc[label]
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
        ("sigmoid", "sigmoid", "Vector", "D-"),
        ("fixed share", "30% largest", "Scalar", "s-"),
        ("LW", "LW", "LW", "P-"),
        ("A2", "sqrt(n) largest (A2)", "Data", "o-"),
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


def draw_sharpness(theorem_radius):
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
        ylabel="Distance from theta*",
    )
    left.legend(fontsize="small", loc="lower left")
    alone = theorem_radius(1600, 4, 1, 1 - missing, 0.0)
    both = theorem_radius(1600, 4, 1, 1 - missing)
    right.plot(missing, alone, "--", label="Theorem 1, first term alone", **theorem)
    right.plot(missing, both, label="Theorem 1", **theorem)
    right.plot(missing, actual_radius(1600, 1 - missing), **actual)
    right.set(xscale="log", xlabel="1 - weight in $A_n$, at n = 1,600")
    right.invert_xaxis()
    right.legend(fontsize="small", loc="center left")


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
