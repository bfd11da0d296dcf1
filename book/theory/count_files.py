"""Files of counts under the negative binomial, and five weightings of their records.

Shared by the chapters on covariance and intervals. Several functions take a file or a
population as a list of values `x` and their probabilities `mass`. Parameters are
theta = (log mu, log phi).
"""

import functools

import numpy as np
import pandas as pd
from scipy import special, stats

import pseudopost as pp

COUNTS = np.arange(700)
PARAMETERS = ["log mu", "log phi"]
WEIGHTINGS = ["Unweighted", "Scalar", "CW, known", "CW", "LW"]
FIXED = WEIGHTINGS[:3]
SHORT = {"Right model": "right", "Wrong model": "wrong"}
POPULATIONS = {
    "Right model": stats.nbinom.pmf(COUNTS, 10, 10 / 110),
    "Wrong model": 0.2 * stats.nbinom.pmf(COUNTS, 5, 5 / 105)
    + 0.8 * stats.nbinom.pmf(COUNTS, 20, 20 / 120),
}
POPULATIONS = {name: mass / mass.sum() for name, mass in POPULATIONS.items()}


def log_likelihood(x, theta):
    """Log-likelihood of every count in x."""
    mu, phi = np.exp(theta)
    return stats.nbinom.logpmf(x, phi, phi / (mu + phi))


def derivatives(x, theta):
    """Score and second derivatives of the log-likelihood of every count in x."""
    mu, phi = np.exp(theta)
    total = mu + phi
    slope = special.digamma(x + phi) - special.digamma(phi)
    slope += np.log(phi / total) + 1 - (x + phi) / total
    score = np.stack([phi * (x - mu) / total, phi * slope], axis=-1)
    curvature = np.empty((len(x), 2, 2))
    curvature[:, 0, 0] = -phi * mu * (x + phi) / total**2
    curvature[:, 0, 1] = curvature[:, 1, 0] = phi * mu * (x - mu) / total**2
    bend = special.polygamma(1, x + phi) - special.polygamma(1, phi) + 1 / phi
    bend += -1 / total - (mu - x) / total**2
    curvature[:, 1, 1] = phi * slope + phi**2 * bend
    return score, curvature


def estimate(x, mass, alpha):
    """Pseudo MLE: mu is the weighted mean, and Newton's method finds log phi."""
    mass = mass * alpha / (mass @ alpha)
    mu = mass @ x
    theta = np.log([mu, mu**2 / (mass @ (x - mu) ** 2 - mu)])
    for _ in range(50):
        score, curvature = derivatives(x, theta)
        step = mass @ score[:, 1] / (mass @ curvature[:, 1, 1])
        theta[1] -= step
        if abs(step) < 1e-10:
            return theta
    raise RuntimeError("Newton's method did not converge")


def h_and_j(x, mass, alpha, theta, extra=0.0):
    """H and J; `extra` is what the making of the weights adds to the scores."""
    score, curvature = derivatives(x, theta)
    noise = alpha[:, None] * score + extra
    H = -np.einsum("i,ijk->jk", mass * alpha, curvature)
    return H, noise.T @ (mass[:, None] * noise)


def sandwich(H, J):
    """Covariance of the pseudo MLE, times n."""
    return np.linalg.inv(H) @ J @ np.linalg.inv(H)


def in_ball(x, radius=0.2):
    """Entry [i, j]: does the ball of value i hold value j?"""
    return (x >= (x - radius * x)[:, None]) & (x <= (x + radius * x)[:, None])


def lent(x, mass, theta):
    """What a value adds to the slope by raising the weights of others, under CW."""
    return in_ball(x).T @ (mass[:, None] * derivatives(x, theta)[0])


def file_weights(name, x, mass, population):
    """Weights of the values x of a file, or of a population."""
    if name in ("Unweighted", "Scalar"):
        return np.full(len(x), {"Unweighted": 1.0, "Scalar": 0.455}[name])
    if name == "CW, known":
        return (in_ball(COUNTS) @ POPULATIONS[population])[x]
    if name == "CW":
        return in_ball(x) @ mass
    bound = -log_likelihood(x, estimate(x, mass, np.ones(len(x))))
    return (bound.max() - bound) / (bound.max() - bound.min())


def in_large_files():
    """What the theory says, by population and weighting.

    The point of concentration, the weights of all counts there, H, J and the sandwich.
    CW from the file has the J that takes the making of the weights into account.
    """
    theory = {}
    for population, mass in POPULATIONS.items():
        for name in (*FIXED, "CW"):
            alpha = file_weights(name, COUNTS, mass, population)
            star = estimate(COUNTS, mass, alpha)
            extra = lent(COUNTS, mass, star) if name == "CW" else 0.0
            H, J = h_and_j(COUNTS, mass, alpha, star, extra)
            found = {"alpha": alpha, "star": star, "H": H, "J": J}
            theory[population, name] = found | {"sandwich": sandwich(H, J)}
    return theory


def posterior_grid(x, weight, centre, sd, points=61, width=6):
    """Pseudo posterior of counts x, each as often as its weight says, on a grid.

    The axes reach `width` times `sd` to both sides of the centre. Returns them and the
    probabilities of the grid; the priors are normal, with standard deviation 10.
    """
    axes = centre[:, None] + sd[:, None] * np.linspace(-width, width, points)
    mu, phi = np.exp(axes[0])[:, None], np.exp(axes[1])
    density = weight @ special.gammaln(x[:, None] + phi)
    density = density - weight.sum() * special.gammaln(phi)
    density = density + weight.sum() * phi * np.log(phi / (mu + phi))
    density = density + weight @ x * np.log(mu / (mu + phi))
    density = density - (axes[0][:, None] ** 2 + axes[1] ** 2) / 200
    density = np.exp(density - density.max())
    return axes, density / density.sum()


def ends(axis, probability):
    """Equal-tailed 95% interval from the probabilities of a grid."""
    edges = np.append(axis, 2 * axis[-1] - axis[-2]) - (axis[1] - axis[0]) / 2
    return np.interp([0.025, 0.975], np.append(0, probability.cumsum()), edges)


def credible_intervals(axes, grid):
    """Lower ends and upper ends of the 95% intervals of both parameters."""
    return np.transpose([ends(axes[p], grid.sum(1 - p)) for p in (0, 1)])


def one_file(rng, population, n, theory, intervals):
    """One file: for each weighting its estimate, variances times n, and intervals."""
    count = rng.multinomial(n, POPULATIONS[population])
    x, mass = COUNTS[count > 0], count[count > 0] / n
    row = {}
    for name in WEIGHTINGS:
        alpha = file_weights(name, x, mass, population)
        theta = estimate(x, mass, alpha)
        H, J = h_and_j(x, mass, alpha, theta)
        posterior = np.diag(np.linalg.inv(H))
        found = {"estimate": theta, "posterior": posterior}
        found["sandwich"] = np.diag(sandwich(H, J))
        if intervals:
            grid = posterior_grid(x, n * mass * alpha, theta, np.sqrt(posterior / n))
            found["low"], found["high"] = credible_intervals(*grid)
        if name == "CW, known":
            star = theory[population, name]["star"]
            found["score"] = (mass * alpha) @ derivatives(x, star)[0]
        if name == "CW":
            _, J = h_and_j(x, mass, alpha, theta, lent(x, mass, theta))
            found["full sandwich"] = np.diag(sandwich(H, J))
        row |= {f"{name}/{key}/{p}": v[p] for key, v in found.items() for p in (0, 1)}
    return row


def simulate(replicates, seed, n=1000, intervals=False):
    """Files of both populations, the right model with twice as many.

    Returns
    -------
    dict of DataFrame
        By population: a row for each file, and columns by weighting, by what it is, and
        by parameter. The 95% credible intervals are there if asked for.
    """
    files, theory = {}, in_large_files()
    for k, population in enumerate(POPULATIONS):
        task = functools.partial(
            one_file, population=population, n=n, theory=theory, intervals=intervals
        )
        rows = pp.replicate(task, replicates // (k + 1), random_seed=seed + k)
        rows.columns = pd.MultiIndex.from_tuples(c.split("/") for c in rows)
        files[population] = rows.sort_index(axis=1)
    return files


def key(population, name):
    """Name of a population and a weighting in the text."""
    return f"{SHORT[population]}-{name.replace(', ', '-').lower()}"


def colour_of(name):
    """Colour of a weighting."""
    return pp.plots.PALETTE["CW" if "CW" in name else name]
