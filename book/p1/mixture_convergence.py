"""Convergence of a mixture: figures, numbers for the text, checks of claims."""

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from income_mixture import RISK, density_arguments
from mixture_prior import FORMULA, LIMIT, probabilities
from scipy import stats

import pseudopost as pp
from pseudopost.mixture_chains import WIDE, in_c_order, residual_sd, run
from pseudopost.mixture_starts import start
from pseudopost.mixture_sweeps import Records, draw_of, normal_mixture

COLOURS = pp.plots.PALETTE
ABOVE, LIKELIHOOD = "components above 1%", "log-likelihood of the file"
WORDS = {
    "log_likelihood": "the log-likelihood of the record at",
    "mean": "the mean",
    "distribution": "the distribution function at",
    "released_quantile": "the released quantile at",
    "released_near_own": "the share of released incomes within 20% of the record's own",
}
INCOMES = {end: f"the {end} income" for end in ("smallest", "largest")}


# What the chapter computes with.


def path(model, occupied, added, seed, wide=0, sweeps=30):
    """One chain of sweeps, weights of 1: log-likelihood, components with records.

    Parameters
    ----------
    model : MixtureSynthesizer
    occupied : int
        Components that the chain starts from.
    added : array-like, shape (steps,)
        What is added to the Dirichlet parameters at each step.
    seed : int
    wide : int
        Number of first steps in which sigma has the floor of a fit's tuning.
    sweeps : int
        Number of sweeps at each step.

    Returns
    -------
    DataFrame, shape (steps, 2)
    """
    n, K = len(model.log_y), model.n_components
    data = in_c_order(Records(model.log_y, model.X, np.ones(n), model.min_sigma))
    wider = data._replace(floor=max(data.floor, WIDE * residual_sd(data)))
    state, rng = start(data, K, occupied, seed), np.random.default_rng(seed)
    rows = []
    for step, extra in enumerate(added):
        given = data
        if step < wide:
            given = wider
            np.maximum(state.sigma, 1.01 * wider.floor, out=state.sigma)
        run(given, state, extra, sweeps, rng)
        draw = draw_of(state)
        log_pi = np.log(np.maximum(draw["pi"], np.finfo(float).tiny))
        density, _ = normal_mixture(
            model.log_y, draw["beta"] @ model.X.T, log_pi, np.log(draw["sigma"])
        )
        rows.append((density.sum(), (state.size > 0).sum()))
    return pd.DataFrame(rows, columns=["log-likelihood", "components"])


def evenly_spaced(draws, number=25):
    """Some draws of one chain."""
    places = np.linspace(0, draws.sizes["draw"] - 1, number).astype(int)
    return [draws.isel(draw=place) for place in places]


def average_density(draws, X, grid):
    """Density on a grid, averaged over records and over 25 draws of one chain."""
    total = np.zeros(len(grid))
    for draw in evenly_spaced(draws):
        mean, log_pi, log_sigma = density_arguments(draw, X)
        z = (grid[:, None, None] - mean) / np.exp(log_sigma)[:, None]
        total += stats.norm.pdf(z).mean(axis=2) @ np.exp(log_pi - log_sigma)
    return total / 25


def file_log_likelihood(draws, log_y, X):
    """Log-likelihood of the file, mean over 25 draws of one chain."""
    return np.mean(
        [
            normal_mixture(log_y, *density_arguments(draw, X))[0].sum()
            for draw in evenly_spaced(draws)
        ]
    )


def component_sizes(posterior, n):
    """How many components have how many of n records, averaged over the draws."""
    pi = posterior["pi"].to_numpy()
    return {
        "components above 10%": (pi > 0.1).sum(axis=-1).mean(),
        ABOVE: (pi > 0.01).sum(axis=-1).mean(),
        "components above 1 record": (pi > 1 / n).sum(axis=-1).mean(),
        "records in the largest": n * pi.max(axis=-1).mean(),
        "gamma": posterior["gamma"].to_numpy().mean(),
    }


def incomes(z):
    """Mean, median and 99% quantile of synthetic files."""
    return {
        "mean income": z.mean(),
        "median income": np.median(z, axis=1).mean(),
        "99% quantile": np.quantile(z, 0.99, axis=1).mean(),
    }


# Numbers for the text.


def convergence_numbers(diagnostics):
    """Worst of the label-free quantities, and one in the middle."""
    quantity, at = diagnostics["ESS"].idxmin()
    return {
        "worst-rhat": diagnostics["R-hat"].max(),
        "worst-ess": diagnostics["ESS"].min(),
        "worst-at": f"{WORDS[quantity]} {INCOMES.get(at, at)}".strip(),
        "middle-ess": diagnostics.loc[("distribution", "50%"), "ESS"],
    }


def count_numbers(table):
    """The fits with the fewest and with the most components."""
    values = {}
    for end, column in (("few", table.columns[0]), ("lots", table.columns[-1])):
        values |= {f"above-{end}": table.loc[ABOVE, column]}
        values |= {f"risk-{end}": table.loc[RISK, column]}
    return values | {
        "smallest-k": table.columns[0].removeprefix("K = "),
        "largest-k": table.columns[-1].removeprefix("K = "),
    }


def path_numbers(paths, many):
    """How many chains have arrived, and whether R-hat shows it.

    They have where their log-likelihood in the last third is that of most of the chains
    from the largest number of components: within two standard deviations of the median.

    Parameters
    ----------
    paths : dict of list of DataFrame
        Chains from two components: ``from 2``, ``with help``, ``and a floor``.
    many : list of DataFrame
        Chains from the largest number of components.
    """
    third = len(many[0]) // 3
    ends = {
        name: np.stack([path["log-likelihood"][-third:] for path in some])
        for name, some in {**paths, "many": many}.items()
    }
    level = np.median(ends["many"].mean(axis=1))
    near = 2 * np.median(ends["many"].std(axis=1))
    gaps = {name: each.mean(axis=1) - level for name, each in ends.items()}
    few = np.stack([path["log-likelihood"][third:] for path in paths["from 2"]])
    lowest = few[gaps["from 2"].argmin()]
    return {
        "path-chains": len(many),
        "many-above": (gaps["many"] > near).sum(),
        "trap-arrived": (abs(gaps["from 2"]) < near).sum(),
        "trap-gap": -gaps["from 2"].min(),
        "trap-rhat": float(az.rhat(few)),
        "lowest-rhat": float(az.rhat(lowest[: len(lowest) // 2 * 2].reshape(2, -1))),
        "help-arrived": (abs(gaps["with help"]) < near).sum(),
        "help-above": (gaps["with help"] > near).sum(),
        "help-gap": gaps["with help"].max(),
        "floor-arrived": (abs(gaps["and a floor"]) < near).sum(),
        "floor-gap": abs(gaps["and a floor"]).max(),
    }


def alarm_numbers(alarm, table, by_chain):
    """The fit with the largest R-hat, and how far its chains are apart."""
    return {
        "alarm-k": alarm,
        "alarm-gap": np.ptp([chain[LIKELIHOOD] for chain in by_chain.values()]),
        "alarm-rhat": table.loc["largest R-hat", f"K = {alarm}"],
    }


# Figures.


def paths_plot(paths, many, sweeps):
    """Log-likelihood of the file along chains from two components, and from many."""
    _, axes = plt.subplots(
        1,
        len(paths),
        figsize=(9.5, 3.4),
        sharex=True,
        sharey=True,
        layout="constrained",
    )
    at = sweeps * (1 + np.arange(len(many[0]))) / 1000
    for ax, (name, some) in zip(axes, paths.items(), strict=True):
        for colour, chains in (("Unweighted", many), ("LW_final", some)):
            for path in chains:
                look = {"color": COLOURS[colour], "linewidth": 0.6}
                ax.plot(at, path["log-likelihood"], **look)
        ax.set(title=name.capitalize(), xlabel="Sweeps (thousands)")
    highest = max(path["log-likelihood"].max() for path in many)
    axes[0].set(ylabel="Log-likelihood of the file", ylim=(None, highest))


def chains_plot(shares, grid, densities):
    """Shares of the four largest components, and densities, of two chains."""
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    ranks = {
        "largest": "Unweighted",
        "second": "LW_final",
        "third": "CW_final",
        "fourth": "Scalar",
    }
    for chain, style in ((0, "-"), (1, ":")):
        for rank, (name, colour) in enumerate(ranks.items()):
            axes[0].plot(
                shares[chain, :, rank],
                style,
                color=COLOURS[colour],
                linewidth=1,
                label=name if chain == 0 else None,
            )
    for chain, density in enumerate(densities):
        axes[1].plot(
            grid,
            density,
            linestyle=("-", ":", "--", "-.", (0, (5, 4)))[chain % 5],
            color="black",
            label=f"chain {chain + 1}",
        )
    axes[0].set(xlabel="Draw", ylabel="Share of the component", ylim=(0, 1))
    axes[0].legend(ncols=2)
    axes[1].set(xlabel="Log of shifted income", ylabel="Density", ylim=(0, None))
    axes[1].legend()


def occupied_plot(occupied, prior, largest=12):
    """Share of the draws by number of components with records, by chain; and the prior."""
    _, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
    numbers = np.arange(1, largest + 1)
    width = 0.8 / len(occupied)
    for c, chain in enumerate(occupied):
        ax.bar(
            numbers + (c - (len(occupied) - 1) / 2) * width,
            probabilities(chain)[1 : largest + 1],
            width,
            color=COLOURS["Unweighted"],
            alpha=0.4 + 0.6 * c / len(occupied),
            label=f"chain {c + 1}",
        )
    ax.plot(
        numbers,
        probabilities(prior)[1 : largest + 1],
        "o-",
        color=COLOURS["Data"],
        markersize=3,
        label="prior",
    )
    ax.set(xlabel="Components with records", ylabel="Probability", xticks=numbers)
    ax.legend()


# Checks of claims: what was found, in words, and whether it holds.


def number_of_components(prior, above):
    """Prior near its limit for large K; a posterior that hardly depends on K.

    `above` has the fits that have converged, two of them at least, by a label that ends
    with K. In the largest model no more than half of the components are in use.
    """
    if above.empty:
        return "no fit has converged", False
    largest = int(above.index[-1].split("=")[1])
    means, distance = prior[FORMULA].to_numpy(), prior[LIMIT].to_numpy()
    return (
        f"prior means {means[0]:.1f} to {means[-2]:.1f}, limit {means[-1]:.1f}; "
        f"above 1% in the posterior: {above.min():.1f} to {above.max():.1f} "
        f"({', '.join(above.index)})",
        len(above) > 1
        and (np.diff(means) > 0).all()
        and (np.diff(distance[:3]) < 0).all()
        and distance[3] < 0.08
        and np.allclose(means, prior["mean, simulated"], rtol=0.03)
        and above.between(2, largest / 2).all()
        and above.max() - above.min() < 1,
    )
