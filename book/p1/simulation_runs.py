"""What both chapters on P1's simulation run and measure, on one file or on twelve."""

import numpy as np
import pandas as pd
from scipy import stats

import pseudopost as pp
from companion import Study, by_profile, density

COLOURS = pp.plots.PALETTE
KNOWN = ["x1", "x2", "x3", "x4", "x5"]
COMPONENTS, DRAWS = by_profile((4, 80), (20, 400), (20, 2000))
RULES = ("density", "weighted")
NAMES = ("Unweighted", "Vector", "Scalar")
MODES = np.array([0.1, 1.0])
WINDOWS = {"low": "0 to 0.5", "high": "0.5 to 5"}
GRIDS = {"low": np.linspace(0.005, 0.5, 100), "high": np.linspace(0.5, 5, 226)}
WIDTHS = {"low": 0.01, "high": 0.1}  # standard deviation of the kernel
PEAKS = {"low": (0.05, 0.2), "high": (0.7, 1.3)}
LEVELS = [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]
RATIO = "largest 1%: median ratio"
# P1, Figures 12 and 13: risks under Synthesizer, Weights_V and Weights_S.
PUBLISHED = {
    "riskiest": pd.DataFrame(
        [
            (0.5959832, 0.9311, 0.0486, 0.2338),
            (0.4713665, 0.8756, 0.0000, 0.1936),
            (3.3694715, 0.9256, 0.0000, 0.0000),
            (2.4854301, 0.8264, 0.0000, 0.0972),
            (0.6002610, 0.9118, 0.0000, 0.2382),
            (0.5880128, 0.8264, 0.0486, 0.1917),
            (0.5348753, 0.8500, 0.0000, 0.0957),
            (2.9259830, 0.9194, 0.0000, 0.0484),
            (0.6818285, 0.8952, 0.0000, 0.5194),
            (2.4694975, 0.9212, 0.0000, 0.0000),
        ],
        columns=["value", *NAMES],
    ).sort_values("Unweighted", ascending=False, kind="stable"),
    "largest": pd.DataFrame(
        [
            (1.710438, 0.3818, 0.1455, 0.1439),
            (3.369471, 0.9256, 0.0000, 0.0000),
            (2.485430, 0.8264, 0.0000, 0.0972),
            (1.665322, 0.7155, 0.0488, 0.0952),
            (2.963501, 0.7266, 0.0000, 0.0484),
            (2.245890, 0.6811, 0.0000, 0.1946),
            (2.091579, 0.6290, 0.0484, 0.1935),
            (2.925983, 0.9194, 0.0000, 0.0484),
            (2.469497, 0.9212, 0.0000, 0.0000),
            (2.005061, 0.8130, 0.0000, 0.1891),
        ],
        columns=["value", *NAMES],
    ).sort_values("value", ascending=False),
}


def highest(values, n=10):
    """Rows of the n highest values, the highest first."""
    return np.argsort(-values, kind="stable")[:n]


def from_mode(y):
    """Factor by which each value is away from the nearer mode."""
    return np.exp(np.abs(np.log(y[:, None] / MODES)).min(axis=1))


def places(y):
    """Where each value is: at a mode, on a slope, at a foot, or far off."""
    labels = [
        "at a mode (to 1.2)",
        "slope (1.2 to 1.6)",
        "foot (1.6 to 2.2)",
        "far off",
    ]
    return pd.cut(
        from_mode(y), [1, 1.2, 1.6, 2.2, np.inf], labels=labels, include_lowest=True
    )


def by_rule(results, rule):
    """Results of the three synthesizers, the weighted ones by one rule."""
    return {
        name: results[name if name == "Unweighted" else (name, rule)] for name in NAMES
    }


def displaced(y, before, after):
    """Which records' synthetic values are far off, by half, more often than before."""

    def far_off(z):
        return (np.abs(np.log(z / y)) > np.log(1.6)).mean(axis=0)

    return far_off(after) - far_off(before) > 0.5


def probability_higher(values, chosen):
    """Probability that a random chosen record has a higher value than another."""
    test = stats.mannwhitneyu(values[chosen], values[~chosen], method="asymptotic")
    return test.statistic / (chosen.sum() * (~chosen).sum())


def release(s, name):
    """Draw 20 files from a fit by either rule, and measure their risks."""
    for rule in RULES:
        s.z[name, rule] = s.synthesize(name, n_datasets=20, allocation=rule)
        s.risk[name, rule] = s.risk_of(s.z[name, rule])


def study(seed, n_components, **options):
    """The unweighted and the vector-weighted synthesizer on the file of a seed."""
    data = pp.datasets.lognormal_mixture(random_seed=seed, **options)
    sampling = {"draws": DRAWS, "tune": DRAWS, "random_seed": seed}
    s = Study(data, "value", KNOWN, n_components, radius=0.2, **sampling)
    s.add("Unweighted", n_datasets=20)
    s.weights["Vector"] = pp.sigmoid_weights(s.risk["Unweighted"])
    s.fits["Vector"] = s.fit(s.weights["Vector"])
    release(s, "Vector")
    return s


def add_scalars(s):
    """Add the scalar weight with the mean risk of the vector, and P1's; the search."""
    target = s.risk["Vector", "weighted"].mean()
    search = pp.match_scalar_weight(
        s.model,
        s.fits["Unweighted"],
        s.risk_of,
        target,
        tolerance=0.02 * target,
        allocation="weighted",
    )
    s.weights["Scalar"] = np.full(len(s.y), search.constant)
    s.fits["Scalar"] = search.fit
    s.fits["Published scalar"] = s.fit(np.full(len(s.y), 0.455))
    for name in ("Scalar", "Published scalar"):
        release(s, name)
    return search


def released_again(s):
    """Risks in 20 more data sets from the unweighted fit."""
    seed = s.sampling["random_seed"] + 100
    return s.risk_of(s.synthesize("Unweighted", 20, random_seed=seed))


def ten_records(s, rows, again, published):
    """Risks of ten records of a file, beside the published ones."""
    ours = {"value": s.y, "Unweighted": s.risk["Unweighted"], "again": again}
    table = {("this file", "", name): column[rows] for name, column in ours.items()}
    for rule in RULES:
        for name in ("Vector", "Scalar"):
            table["this file", rule, name] = s.risk[name, rule][rows]
    table["this file", "weighted", "Scalar 0.455"] = s.risk[
        "Published scalar", "weighted"
    ][rows]
    for name in published:
        table["published", "", name] = published[name].to_numpy()
    return pd.DataFrame(table, index=range(1, 11))


def smoothed(values, window):
    """Density of values on the grid of a window."""
    return density(values, GRIDS[window], WIDTHS[window])


def density_measures(y, z):
    """Squared error of the density, and height of its peak, in either window."""
    result = {}
    for window, grid in GRIDS.items():
        data = smoothed(y, window)
        curves = np.array([smoothed(values, window) for values in z])
        squares = ((curves - data) ** 2).sum(axis=1)
        result[f"density error, {window}"] = squares.mean() * (grid[1] - grid[0])
        low, high = PEAKS[window]
        near = (low <= grid) & (grid <= high)
        peaks = curves[:, near].max(axis=1)
        result[f"peak ratio, {window}"] = peaks.mean() / data[near].max()
    return result


def coefficient_error(X, log_y, log_z):
    """Mean error of the coefficients of regressions on X, in standard errors."""
    beta, residual = np.linalg.lstsq(X, log_y)[:2]
    variance = residual / (len(X) - X.shape[1])
    error = np.sqrt(variance * np.linalg.inv(X.T @ X).diagonal())
    return (np.abs(np.linalg.lstsq(X, log_z.T)[0].T - beta) / error).mean()


def record_measures(y, z, risk):
    """How far records move; the safer half has an unweighted risk below the median."""
    log_y, log_z = np.log(y), np.log(z)
    tail = highest(y, len(y) // 100)
    return {
        "share above the 97.5% quantile": (z > np.quantile(y, 0.975)).mean(),
        "correlation with the data, log": np.mean(
            [np.corrcoef(values, log_y)[0, 1] for values in log_z]
        ),
        "sd of the log ratio": (log_z - log_y).std(),
        "the same, safer half": (log_z - log_y)[:, risk < np.median(risk)].std(),
        RATIO: np.median(z[:, tail] / y[tail]),
    }


def utility(s, z):
    """What the claims are about, for one synthesizer, averaged over its data sets."""
    log_y, log_z = np.log(s.y), np.log(z)
    quantiles = np.quantile(log_z, LEVELS, axis=1).T - np.quantile(log_y, LEVELS)
    return {
        **density_measures(s.y, z),
        "Kolmogorov-Smirnov": np.mean([stats.ks_2samp(v, s.y).statistic for v in z]),
        "Wasserstein, log": np.mean(
            [stats.wasserstein_distance(v, log_y) for v in log_z]
        ),
        "quantiles, log": np.abs(quantiles).mean(),
        "coefficients": coefficient_error(s.model.X, log_y, log_z),
        **record_measures(s.y, z, s.risk["Unweighted"]),
    }


def claims(*groups):
    """Checks of several functions, in the order of the ledger."""
    found = {claim: check for group in groups for claim, check in group.items()}
    kinds = ("Fig", "Tab", "Set", "Claim")
    order = sorted(found, key=lambda claim: (kinds.index(claim[3:-2]), claim))
    return {claim: found[claim] for claim in order}
