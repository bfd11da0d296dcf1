"""Figures, errors of sampling and checks of the chapter on weighted likelihoods."""

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
from scipy import special, stats

import pseudopost as pp

COLOURS = pp.plots.PALETTE
NEAR = (
    "mean, grid",
    "mean, resampled",
    "gap in errors",
    "sd, grid",
    "sd, resampled",
    "k-hat",
    "answer",
)


def sampled_moments(fit):
    """Mean and sd of mu, then of phi, and the Monte Carlo errors of the four."""
    posterior = fit["posterior"].to_dataset()[["mu", "phi"]]

    def in_order(mean, sd):
        return [float(part[name]) for name in ("mu", "phi") for part in (mean, sd)]

    return (
        in_order(posterior.mean(), posterior.std()),
        in_order(az.mcse(posterior), az.mcse(posterior, method="sd")),
    )


def largest_gaps(agreement, errors):
    """Largest difference from the grid by weighting, in Monte Carlo errors."""
    return {
        name: np.abs(
            (agreement.loc[(name, "PyMC")] - agreement.loc[(name, "grid")]) / error
        ).max()
        for name, error in errors.items()
    }


def near(synthesizer, fit, weights, exact, seed):
    """What the resampled draws of `fit` say of phi under other weights, and the grid.

    A gap is in Monte Carlo errors.
    """
    row = dict.fromkeys(NEAR, np.nan)
    row |= {"mean, grid": exact[2], "sd, grid": exact[3], "answer": "refused"}
    try:
        resampled = synthesizer.resample(fit, weights, random_seed=seed)
    except ValueError as refusal:
        if "k-hat" not in str(refusal):
            raise
        return row
    found, error = sampled_moments(resampled)
    return row | {
        "mean, resampled": found[2],
        "gap in errors": (found[2] - exact[2]) / error[2],
        "sd, resampled": found[3],
        "k-hat": resampled.attrs["k_hat"],
        "answer": "with a warning" if resampled.attrs["not_converged"] else "taken",
    }


def largest_gap_of_means(draws, exact):
    """Largest difference of a mean of draws from the exact one, in standard errors."""
    return max(
        abs(draws[name].mean() - distribution.mean())
        / (distribution.std() / np.sqrt(az.ess(draws[name].reshape(2, -1))))
        for name, distribution in exact.items()
    )


def observed_model(y):
    """Write P3's synthesizer with an observed variable, and so without weights."""
    with pm.Model() as model:
        s = pm.HalfStudentT("s", nu=3, sigma=1)
        inverse = pm.HalfCauchy("inverse_phi", 5)
        mu = pm.math.exp(pm.Normal("log_mu", 0, s))
        pm.NegativeBinomial("y", mu=mu, alpha=1 / inverse, observed=y)
    return model


def log_densities(observed, synthesizer, rng):
    """Log density of each model at the same five points, drawn from `rng`.

    The package's has no s, so that of the observed model is summed over s.
    """
    points = [
        {"log_mu": a, "inverse_phi_log__": b}
        for a, b in rng.normal([4.5, -2.5], 0.5, (5, 2))
    ]
    log_s, step = np.linspace(-6, 9, 150, retstep=True)
    joint, marginal = observed.compile_logp(), synthesizer.compile_logp()
    summed = [
        special.logsumexp([joint(each | {"s_log__": u}) for u in log_s]) + np.log(step)
        for each in points
    ]
    return summed, [float(marginal(each)) for each in points]


def smooth(counts, width=15, largest=250):
    """Moving average of the share of records at each count."""
    clipped = counts.ravel().clip(0, largest)
    share = np.bincount(clipped, minlength=largest + 1) / counts.size
    return np.convolve(share, np.ones(width) / width, mode="same")


def spread_values(y, synthetic):
    """Mean standard deviation within the data and the synthetic files."""
    return {"sd-Data": y.std()} | {
        f"sd-{name}": files.std(axis=1).mean() for name, files in synthetic.items()
    }


# Figures


def draw_one_record():
    """Likelihood of a Poisson count of 7, raised to four powers."""
    mu = np.linspace(0.01, 25, 500)
    log_ratio = stats.poisson.logpmf(7, mu) - stats.poisson.logpmf(7, 7)
    _, ax = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
    for alpha, style in ((1, "-"), (0.5, "--"), (0.1, "-."), (0, ":")):
        curve = np.exp(alpha * log_ratio)
        ax.plot(mu, curve, style, color="black", label=f"weight {alpha:g}")
    ax.set(xlabel="Mean", ylabel="Likelihood, scaled", ylim=(0, 1.45))
    ax.legend(loc="upper center", ncols=2)


def draw_poisson(draws, exact):
    """Histograms of draws of a Poisson mean, and the exact densities."""
    _, ax = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
    grid = np.linspace(8, 14, 400)
    colours = COLOURS | {"Vector": COLOURS["LW"]}
    for name in ("Unweighted", "Scalar", "Vector"):
        ax.hist(draws[name], bins=50, density=True, color=colours[name], alpha=0.35)
        ax.plot(grid, exact[name].pdf(grid), color=colours[name], label=name)
    ax.set(xlabel="Mean", ylabel="Density", xlim=(8, 14))
    ax.legend()


def draw_grid(mu, phi, probability, fits):
    """Contours of exact posteriors, 50% and 95%, and every twentieth draw."""
    _, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
    for name, p in probability.items():
        ordered = np.sort(p.ravel())[::-1]
        levels = [ordered[np.searchsorted(ordered.cumsum(), q)] for q in (0.95, 0.5)]
        draws = [
            fits[name]["posterior"][parameter].to_numpy().ravel()[::20]
            for parameter in ("mu", "phi")
        ]
        ax.scatter(*draws, s=4, alpha=0.35, color=COLOURS[name], label=name)
        ax.contour(mu, phi, p.T, levels=levels, colors=[COLOURS[name]])
    ax.set(
        xlabel=r"Mean $\mu$", ylabel=r"Dispersion $\phi$", xlim=(95, 106), ylim=(9, 22)
    )
    ax.legend(markerscale=3)


def draw_synthetic(y, synthetic):
    """Smoothed shares of the data and of synthetic counts."""
    _, ax = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
    grid = np.arange(0, 251)
    ax.plot(
        grid, smooth(y), color=COLOURS["Data"], linewidth=3, alpha=0.6, label="Data"
    )
    for (name, files), style in zip(synthetic.items(), ("-", "--", "-"), strict=True):
        ax.plot(grid, smooth(files), style, color=COLOURS[name], label=name)
    ax.set(xlabel="Count", ylabel="Share of records", ylim=(0, None))
    ax.legend()


# Claims: what was found, in words, and whether the statement holds


def posterior_is_exact(gap):
    """P3-Eq1.1, P3-Claim33: without weights the sampler agrees with the grid."""
    return f"grid and sampler within {gap:.1f} standard errors", gap < 4


def pseudo_posterior_is_exact(gaps):
    """P3-Eq1.2: so it does under weights, and with the formula for Poisson counts."""
    return f"within {max(gaps):.1f} standard errors", max(gaps) < 4


def priors_are_as_published(observed, weighted):
    """P3-Set08: the weighted model with weights 1 has the density of P3's."""
    return "equal densities", np.allclose(observed, weighted)


def claims(gaps, draws, exact, densities):
    """Check the chapter's claims, by their ids."""
    unweighted = posterior_is_exact(gaps["Unweighted"])
    every = [*gaps.values(), largest_gap_of_means(draws, exact)]
    return {
        "P3-Eq1.1": unweighted,
        "P3-Eq1.2": pseudo_posterior_is_exact(every),
        "P3-Set08": priors_are_as_published(*densities),
        "P3-Claim33": unweighted,
    }
