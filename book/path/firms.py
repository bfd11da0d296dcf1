"""A file of firms before and after: its figures, numbers for the text, claims."""

from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

import pseudopost as pp
from companion import SEED, by_profile

SAMPLE = Path(__file__).parents[2] / "data" / "p3_table1_sample.csv"
FILES = 200
STATISTICS = {
    "mean": np.mean,
    "median": np.median,
    "90% quantile": partial(np.quantile, q=0.9),
    "standard deviation": partial(np.std, ddof=1),
    "largest": np.max,
}
SYNTHESIZERS = {
    "without weights": ("Unweighted", "o"),
    "with weights": ("LW", "s"),
    "re-weighted": ("CW", "^"),
    "one scalar": ("Data", "D"),
}


def study():
    """Fit without weights, with LW, re-weighted, and with a scalar of the same epsilon.

    The scalar is found in three steps, as epsilon is nearly proportional to it.

    Returns a dict: the counts `y`, and by synthesizer `fits`, `weights`, `bounds` and
    `files`.
    """
    pp.cache.on()
    y = pd.read_csv(SAMPLE)["outcome"].to_numpy()
    synthesizer = pp.NegativeBinomialSynthesizer(y)
    sampling = {"draws": by_profile(500, 500, 2500), "random_seed": SEED}
    plain = synthesizer.fit(**sampling)
    weights = pp.lipschitz_weights(synthesizer.log_likelihood(plain))
    weighted = synthesizer.fit(weights, **sampling)
    final = pp.calibrate_reweighting(synthesizer, weighted, weights, tolerance=0.1)

    def largest(fit, w):
        return pp.lipschitz_bounds(synthesizer.log_likelihood(fit), w).max()

    limit, scalar, scaled = largest(weighted, weights), np.ones(len(y)), plain
    for _ in range(3):
        scalar = scalar * limit / largest(scaled, scalar)
        scaled = synthesizer.fit(scalar, **sampling)
    fits = dict(zip(SYNTHESIZERS, (plain, weighted, final.fit, scaled), strict=True))
    vectors = (np.ones(len(y)), weights, final.weights, scalar)
    of = dict(zip(SYNTHESIZERS, vectors, strict=True))
    return {
        "y": y,
        "fits": fits,
        "weights": of,
        "bounds": {
            name: pp.lipschitz_bounds(synthesizer.log_likelihood(fit), of[name])
            for name, fit in fits.items()
        },
        "files": {
            name: synthesizer.synthesize(
                fit, n_datasets=FILES, random_seed=SEED
            ).to_numpy()
            for name, fit in fits.items()
        },
    }


def predictive(fit, grid):
    """Density of a count under a negative binomial fit, mean over every fifth draw."""
    mu, phi = (fit["posterior"][v].to_numpy().ravel()[::5, None] for v in ("mu", "phi"))
    return stats.nbinom.pmf(grid, phi, phi / (phi + mu)).mean(axis=0)


def draw_three_steps(study):
    """Risk, weight, and the models fitted without and with the weights."""
    _, axes = plt.subplots(3, 1, figsize=(5, 7), sharex=True, layout="constrained")
    blue, orange, grey = (pp.plots.PALETTE[k] for k in ("Unweighted", "LW", "Data"))
    y, largest = study["y"], study["y"].argmax()
    upper = (
        (
            study["bounds"]["without weights"],
            blue,
            "1. Measure the risk",
            "Bound (nats)",
        ),
        (study["weights"]["with weights"], orange, "2. Weight each firm", "Weight"),
    )
    for ax, (values, colour, title, label) in zip(axes, upper, strict=False):
        ax.scatter(y, values, s=14, color=colour)
        ax.plot(y[largest], values[largest], "v", color="black", ms=10)
        ax.set(title=title, ylabel=label, ylim=(-0.03 * values.max(), None))
    grid = np.arange(0, 260)
    axes[2].hist(
        y, bins=np.arange(0, 260, 8), density=True, color=grey, alpha=0.3, label="data"
    )
    for name in ("without weights", "with weights"):
        colour = pp.plots.PALETTE[SYNTHESIZERS[name][0]]
        density = predictive(study["fits"][name], grid)
        axes[2].plot(grid, density, color=colour, linewidth=2.5, label=name)
    axes[2].set(title="3. Fit again, and draw", xlabel="Employees", ylabel="Density")
    axes[2].legend()


def errors(study):
    """Difference of each file's statistics from the data's, in percent of the data's.

    Returns, by synthesizer, a table of files (rows) and statistics (columns).
    """
    return {
        name: pd.DataFrame(
            {
                label: 100
                * (np.array([statistic(z) for z in files]) / statistic(study["y"]) - 1)
                for label, statistic in STATISTICS.items()
            }
        )
        for name, files in study["files"].items()
    }


def draw_errors(study):
    """Show what the files lose, statistic by statistic."""
    _, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
    ax.axvline(0, color="#777777", lw=1)
    places = np.arange(len(STATISTICS))[::-1]
    for k, (name, table) in enumerate(errors(study).items()):
        colour, marker = SYNTHESIZERS[name]
        colour = pp.plots.PALETTE[colour]
        middle = table.mean()
        low, high = table.quantile(0.1), table.quantile(0.9)
        ax.errorbar(
            middle,
            places + 0.2 * (1.5 - k),
            xerr=[middle - low, high - middle],
            fmt=marker,
            color=colour,
            ms=7,
            capsize=3,
            label=name,
        )
    ax.set(yticks=places, xlabel="Difference from the data (%)")
    ax.set_yticklabels(STATISTICS)
    ax.legend(loc="upper left", fontsize=10)


def numbers_of_text(study):
    """Numbers for the page."""
    y, weights, bounds = study["y"], study["weights"], study["bounds"]
    largest, plain = y.argmax(), bounds["without weights"]
    posterior = study["fits"]["without weights"]["posterior"]
    found = {
        "largest": y.max(),
        "smallest": y[plain.argmax()],
        "draws": posterior.sizes["chain"] * posterior.sizes["draw"],
        "bound": plain[largest],
        "median-bound": np.median(plain),
        "median-weighted": np.median(bounds["with weights"]),
        "largest-weighted": bounds["with weights"].max(),
        "weight": weights["with weights"][largest],
        "mean-weight": weights["with weights"].mean(),
        "mean-weight-final": weights["re-weighted"].mean(),
        "scalar": weights["one scalar"][0],
        "mean-data": y.mean(),
        "sd-data": y.std(ddof=1),
    }
    short = dict(zip(("before", "after", "final", "scalar"), SYNTHESIZERS, strict=True))
    for name, synthesizer in short.items():
        files = study["files"][synthesizer]
        found |= {
            f"epsilon-{name}": pp.epsilon(bounds[synthesizer]),
            f"mean-{name}": files.mean(),
            f"spread-{name}": files.mean(axis=1).std(ddof=1),
            f"sd-{name}": files.std(axis=1, ddof=1).mean(),
            f"largest-{name}": files.max(axis=1).mean(),
        }
    return found


def claims(study):
    """What the page says of its example."""
    told = numbers_of_text(study)
    away = errors(study)["with weights"].mean().abs()
    before, after, final = (told[f"sd-{name}"] for name in ("before", "after", "final"))
    weights = study["weights"]["with weights"]
    between = weights[study["bounds"]["with weights"].argmax()]
    return {
        "epsilon falls by more than half": told["epsilon-after"]
        < told["epsilon-before"] / 2,
        "mean weight above 0.9": told["mean-weight"] > 0.9,
        "spread and largest further off than mean and median": away[
            ["standard deviation", "largest"]
        ].min()
        > away[["mean", "median"]].max(),
        "spread and largest value fall": after < before
        and told["largest-after"] < told["largest-before"],
        "re-weighting brings spread back": after < final < before,
        "epsilon set in between": 0.1 < between < 0.9,
        "the riskiest is the smallest, with weight 0": study["y"].argmin()
        == study["bounds"]["without weights"].argmax()
        and weights[study["y"].argmin()] == 0,
        "the scalar keeps the spread": abs(told["sd-scalar"] / before - 1) < 0.05,
        "the scalar has this epsilon within 3%": abs(
            told["epsilon-scalar"] / told["epsilon-after"] - 1
        )
        < 0.03,
    }
