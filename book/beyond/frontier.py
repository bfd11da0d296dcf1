"""Frontiers without a sampler, contrasts between files, figures of the chapter."""

import warnings
from functools import cached_property
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from count_grid import Grid, within
from scipy import stats

import pseudopost as pp

VECTOR_SCALAR = "Vector-scalar"
COLOURS = pp.plots.PALETTE | {"Ceiling": "#000000", VECTOR_SCALAR: "#332288"}
SCALES = np.geomspace(0.08, 1, 16)
CEILINGS = np.array([4.5, 4.75, 5, 5.25, 5.5, 6, 6.5, 7, 8, 9, 10, 12])
CONSTANTS = {
    "Scalar": np.geomspace(0.08, 1, 24),
    "LW": np.r_[0.02, 0.03, 0.05, np.linspace(0.1, 2, 20)],
    "LW_final": np.linspace(0.3, 1, 15),
    "CW": np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6]),
    "Ceiling": CEILINGS,
}
MEASURES = {
    "distance": "Distance (counts)",
    "mean": "Error of the mean (counts)",
    "quantile": "Error of the 90% quantile (counts)",
}
RULERS = {"epsilon": "Epsilon of the file (nats)", "loss": "Largest loss (nats)"}


class State(NamedTuple):
    """What the weights of a file are computed from, for each distinct count."""

    counts: np.ndarray
    f: np.ndarray
    lw: np.ndarray
    lw_bounds: np.ndarray


class File(Grid):
    """A file of counts and its negative binomial pseudo posteriors, on a grid.

    Parameters
    ----------
    y : ndarray of int, shape (n,)
    points : int
        Of each side of the grid.
    size : int
        Draws over which a largest value is expected.

    Attributes
    ----------
    counts : ndarray, shape (V,)
        How often each distinct count occurs.
    measures : dict of ndarray, shape (G,)
        Losses of utility at each point of the grid.
    """

    def __init__(self, y, points, size=1000):
        n, mean, self.y = len(y), y.mean(), y
        values, self.counts = np.unique(y, return_counts=True)
        inverse_phi = (y.var() - mean) / mean**2
        sd = np.sqrt((1 / mean + inverse_phi) / n), inverse_phi * np.sqrt(2 / n)
        # Wide enough for a scalar weight of 0.08 and for weights that hide the tails.
        side = np.linspace(-1, 1, points) * (0.06 + 18 * sd[0])
        ends = 0.12 * inverse_phi, 1.2 * inverse_phi + 20 * sd[1]
        super().__init__(values, np.log(mean) + side, np.linspace(*ends, points), size)
        self.measures = measures_of(y, self.mu, self.phi)

    def state(self, counts):
        """Prepare the weights of a file with these counts."""
        f = self.expected_bounds(counts)
        lw = self.weights(counts, "LW", f)
        return State(counts, f, lw, lw * self.expected_bounds(lw * counts))

    @cached_property
    def own(self):
        """The state of the file itself."""
        return self.state(self.counts)

    @cached_property
    def neighbours(self):
        """States without a record: of the extreme values, and of twelve others."""
        places = np.arange(len(self.values))
        tried = {*places[:3], *places[-3:], *places[:: max(1, len(places) // 12)]}
        return [self.state(self.counts - (places == i)) for i in sorted(tried)]

    def weights_at(self, state, family, constant, scale=1.0):
        """Weight of each value, 0 where no record is left.

        Parameters
        ----------
        state : State
        family : str
            A key of :data:`CONSTANTS`.
        constant : float
            Of the family: the weight, c, k, the radius, or the ceiling in nats.
        scale : float
            s of vector-scalar weights.
        """
        if family == "Scalar":
            found = np.full(len(state.f), float(constant))
        elif family == "LW":
            found = pp.adjust_weights(state.lw, constant)
        elif family == "LW_final":
            found = pp.reweight(state.lw, state.lw_bounds, constant)
        elif family == "Ceiling":
            found = np.minimum(1, constant / state.f)
        else:
            found = within(self.values, state.counts, constant)
        return scale * found * (state.counts > 0)

    def point(self, family, constant, scale=1.0, loss=True):
        """Both rulers and all measures under one weighting."""
        w = self.weights_at(self.own, family, constant, scale)
        own = self.log_posterior(w * self.counts)
        mass = np.exp(own)
        largest = (self.absolute * w).max(axis=1)
        row = {"epsilon": 2 * self.expected_largest(largest, own)}
        if loss:
            totals = [
                self.weights_at(state, family, constant, scale) * state.counts
                for state in self.neighbours
            ]
            others = self.log_posterior(np.array(totals))
            sides = [
                self.expected_largest(own - others, side) for side in (own, others)
            ]
            row["loss"] = np.max(sides)
        row |= {name: mass @ values for name, values in self.measures.items()}
        row |= {"mean weight": w @ self.counts / self.counts.sum()}
        return row | {
            "mu": mass @ self.mu,
            "phi": mass @ self.phi,
            "edge": self.edge(own),
        }

    def trace(self, every=1, loss=True):
        """Both rulers and all measures along every family, vector-scalar included.

        Parameters
        ----------
        every : int
            As of :func:`settings`.
        loss : bool
            Whether to delete records.
        """
        return pd.DataFrame(
            [
                {"family": name, "constant": c, "scale": s}
                | self.point(family, c, s, loss)
                for name, family, c, s in settings(every)
            ]
        )

    def candidates(self, every=1):
        """Weights of the records along every family, a row for each point."""
        record = np.searchsorted(self.values, self.y)
        rows = [self.weights_at(self.own, *setting[1:]) for setting in settings(every)]
        return np.array(rows)[:, record]


def settings(every=1):
    """Name, family, constant and scale of each point.

    Parameters
    ----------
    every : int
        Only every so many constants of a family, counted from the last one.
    """
    found = [
        (name, name, c, 1.0)
        for name, constants in CONSTANTS.items()
        for c in constants[::-every][::-1]
    ]
    return found + [
        (VECTOR_SCALAR, "Ceiling", c, s)
        for c in CEILINGS[::-every][::-1]
        for s in SCALES[::-every][::-1]
    ]


def measures_of(y, mu, phi):
    """Distance of drawn distributions from a file, and errors of two of its statistics.

    Parameters
    ----------
    y : ndarray of int, shape (n,)
    mu, phi : ndarray, shape (S,)

    Returns
    -------
    dict of ndarray, shape (S,)
        ``distance`` is the area between the distribution functions (Wasserstein).
    """
    share = phi / (phi + mu)
    top = int(1.6 * y.max())
    grid = np.unique(np.linspace(0, top, min(top, 160) + 1).astype(int))
    below = np.searchsorted(np.sort(y), grid, side="right") / len(y)
    gap = np.abs(stats.nbinom.cdf(grid, phi[:, None], share[:, None]) - below)
    middle = (gap[:, 1:] + gap[:, :-1]) / 2
    quantile = stats.nbinom.ppf(0.9, phi, share)
    return {
        "distance": middle @ np.diff(grid),
        "mean": np.abs(mu - y.mean()),
        "quantile": np.abs(quantile - np.quantile(y, 0.9)),
    }


def cheapest(table, ruler, limit, measure):
    """Least loss of utility of each family that keeps a limit.

    Between neighbouring constants both are interpolated.

    Parameters
    ----------
    table : DataFrame
        From :meth:`File.trace`.
    ruler, measure : str
        Columns of it.
    limit : float

    Returns
    -------
    Series
        By family; missing where no point keeps the limit.
    """
    found = {}
    for name, part in table.groupby("family", sort=False):
        paths = (
            [p for _, p in part.groupby("constant")]
            if name == VECTOR_SCALAR
            else [part]
        )
        best = np.inf
        for path in paths:
            at = np.arange(0, len(path) - 0.99, 0.02)
            x, u = (
                np.interp(at, np.arange(len(path)), path[column])
                for column in (ruler, measure)
            )
            best = min(best, u[x <= limit].min(initial=np.inf))
        found[name] = best
    return pd.Series(found).replace(np.inf, np.nan)


def files_of(population, n, seeds):
    """Files of counts from P3's mixture, or from the model itself.

    Parameters
    ----------
    population : str
        "mixture", as of P3, or "model": one negative binomial distribution with the
        same mean and variance.
    n : int
    seeds : sequence of int
    """
    if population == "mixture":
        return [
            pp.datasets.negative_binomial_mixture(n, random_seed=seed).to_numpy()
            for seed in seeds
        ]
    return [
        np.random.default_rng(seed).negative_binomial(12.5, 1 / 9, size=n)
        for seed in seeds
    ]


def costs(tables, share):
    """Cost of each family at a share of what the unweighted synthesizer has.

    Parameters
    ----------
    tables : dict of DataFrame
        By population, size and seed, from :meth:`File.trace`.
    share : float
        Of the unweighted epsilon, or loss, that is the limit.

    Returns
    -------
    DataFrame
        A row for each file, ruler and measure: least loss of utility of each family
        within the limit, less that of the unweighted synthesizer.
    """
    rows = []
    for (population, n, seed), table in tables.items():
        full = table[(table["family"] == "Scalar") & (table["constant"] == 1)].iloc[0]
        for ruler in RULERS:
            for measure in MEASURES:
                least = cheapest(table, ruler, share * full[ruler], measure)
                key = {"population": population, "n": n, "seed": seed}
                key |= {"ruler": ruler, "measure": measure}
                rows.append(key | (least - full[measure]).to_dict())
    return pd.DataFrame(rows)


def against_scalar(table):
    """Mean difference of each family from the scalar weights, paired by file.

    Parameters
    ----------
    table : DataFrame
        From :func:`costs`.

    Returns
    -------
    DataFrame
        Columns ``difference``, ``error`` (standard error between files) and ``files``,
        those in which the family keeps the limit.
    """
    keys = ["population", "n", "ruler", "measure"]
    families = [*CONSTANTS, VECTOR_SCALAR]
    gaps = table[families].sub(table["Scalar"], axis=0).join(table[keys])
    long = gaps.melt(keys, families[1:], var_name="family", value_name="gap")
    by_family = long.groupby([*keys, "family"], sort=False)["gap"]
    return by_family.agg(difference="mean", error="sem", files="count")


def scores(traced, exact, names):
    """How many standard errors each traced mean is from the exact one."""
    return pd.DataFrame(
        {name: (traced[name] - exact[name]) / traced[f"{name} error"] for name in names}
    )


# Risk against utility, with the mixture


def risk_path(study, name, factors, n_datasets=20):
    """Mean risk, that of the riskiest, and utility along s times the weights of a fit.

    Parameters
    ----------
    study : Study
        With fits, and the risk of ``"Unweighted"``.
    name : str
        Of the fit.
    factors : sequence of float
        What its weights are multiplied with.

    Returns
    -------
    DataFrame
        A row for each factor; with ``k_hat`` alone where the fit does not reach.
    """
    fit, weights, rows = study.fits[name], study.weights[name], []
    ten = np.argsort(-study.risk["Unweighted"])[:10]
    log_y = np.sort(np.log(study.y))
    candidates = np.outer(factors, weights)
    with warnings.catch_warnings():
        # The fit has said so once.
        warnings.simplefilter("ignore", pp.ConvergenceWarning)
        log_likelihood = study.model.log_likelihood(fit)
        S = log_likelihood.sizes["chain"] * log_likelihood.sizes["draw"]
        reach = pp.trace_weights(log_likelihood, weights, candidates, size=100)
        for w, k_hat in zip(candidates, reach["k_hat"], strict=True):
            rows.append({"fit": name, "mean weight": w.mean(), "k_hat": k_hat})
            if k_hat > min(1 - 1 / np.log10(S), 0.7):
                continue
            near = study.model.resample(fit, w, random_seed=1)
            z = study.model.synthesize(near, n_datasets, 1)
            risk = study.risk_of(z.to_numpy())
            distance = np.abs(np.sort(np.log(z.to_numpy()), axis=1) - log_y).mean(
                axis=1
            )
            rows[-1] |= {
                "mean": risk.mean(),
                "ten": risk[ten].mean(),
                "distance": float(distance.mean()),
                "error": float(distance.std(ddof=1)) / n_datasets**0.5,
            }
    return pd.DataFrame(rows).assign(factor=factors)


def at_same_risk(paths, level, scheme, other="Scalar"):
    """Distance of a scheme less that of another at the same risk, for each file.

    Parameters
    ----------
    paths : DataFrame
        Of :func:`risk_path`, with columns ``seed`` and ``scheme``.
    level : str
        "mean" or "ten".
    scheme, other : str

    Returns
    -------
    Series
        By seed: the mean over the points of the scheme that lie within the range of the
        other's risks.
    """
    found = {}
    for seed, part in paths.dropna().groupby("seed"):
        theirs = part[part["scheme"] == other].sort_values(level)
        ours = part[part["scheme"] == scheme]
        ours = ours[ours[level].between(theirs[level].min(), theirs[level].max())]
        there = np.interp(ours[level], theirs[level], np.log(theirs["distance"]))
        found[seed] = (ours["distance"] - np.exp(there)).mean()
    return pd.Series(found, dtype=float)


# Figures


def show_frontiers(table, limits, measure="distance"):
    """Utility against both rulers, along each family of weights."""
    figure, axes = plt.subplots(
        1, 2, figsize=(8.5, 4.6), layout="constrained", sharey=True
    )
    for ax, (ruler, label) in zip(axes, RULERS.items(), strict=True):
        for name, part in table.groupby("family", sort=False):
            colour = COLOURS[name]
            if name == VECTOR_SCALAR:
                ax.plot(part[ruler], part[measure], ".", ms=4, color=colour, label=name)
            else:
                ax.plot(
                    part[ruler], part[measure], "o-", ms=3, color=colour, label=name
                )
        ax.axvline(limits[ruler], color="black", lw=0.8, ls=":")
        ax.set(xscale="log", xlabel=label)
        ticks = [3, 5, 10, 20] if ruler == "epsilon" else [0.2, 0.5, 1, 2, 3]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
    axes[0].set(yscale="log", ylabel=MEASURES[measure])
    axes[0].set_yticks([2, 3, 5, 8], ["2", "3", "5", "8"])
    axes[0].minorticks_off()
    handles = axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=6, columnspacing=1)


def show_against_scalar(found, measure="distance"):
    """Cost of each family less that of scalar weights, by population, size and ruler."""
    figure, axes = plt.subplots(
        2, 2, figsize=(8.5, 6), layout="constrained", sharex=True
    )
    names = [*CONSTANTS, VECTOR_SCALAR][1:]
    rows = found.xs(measure, level="measure").reset_index()
    for i, population in enumerate(rows["population"].unique()):
        for j, ruler in enumerate(RULERS):
            ax = axes[i, j]
            ax.axhline(0, color=COLOURS["Scalar"], lw=1.5)
            here = rows[(rows["population"] == population) & (rows["ruler"] == ruler)]
            for k, (n, part) in enumerate(here.groupby("n")):
                part = part.set_index("family").loc[names]
                ax.errorbar(
                    np.arange(len(names)) + 0.2 * (k - 0.5),
                    part["difference"],
                    2 * part["error"],
                    fmt="so"[k],
                    color=["#888888", "black"][k],
                    capsize=2,
                    label=f"{n:,} records",
                )
            ax.set(yscale="symlog", title=f"{population}, by {ruler}")
            ax.set_yticks([-1, 0, 1, 5], ["-1", "0", "1", "5"])
            ax.set_xticks(range(len(names)), [n.replace("-", "-\n") for n in names])
    for ax in axes[:, 0]:
        ax.set_ylabel("Cost less that of scalar")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2)


def show_traced(exact, traced, fitted, reached, measure="distance"):
    """Traced points with error bars, the fits that they came from, and the truth."""
    figure, ax = plt.subplots(figsize=(6, 5), layout="constrained")
    for name, part in exact.groupby("family", sort=False):
        rows = part.index[reached[part.index]]
        if name != VECTOR_SCALAR:
            ax.plot(part["epsilon"], part[measure], color=COLOURS[name], lw=1)
        ax.errorbar(
            traced.loc[rows, "epsilon"],
            traced.loc[rows, measure],
            2 * traced.loc[rows, f"{measure} error"],
            fmt=".",
            ms=4,
            lw=0.8,
            color=COLOURS[name],
            label=name,
        )
    at = traced.loc[fitted]
    ax.plot(
        at["epsilon"], at[measure], "o", ms=9, mfc="none", color="black", label="fit"
    )
    ax.set(xlabel=RULERS["epsilon"], ylabel=MEASURES[measure], yscale="log")
    ax.set_yticks([2, 3, 5, 8], ["2", "3", "5", "8"])
    ax.minorticks_off()
    figure.legend(loc="outside lower center", ncols=4)


def show_risk(paths):
    """Distance of the synthetic files against their risk, for each simulated file."""
    seeds = paths["seed"].unique()
    columns = min(len(seeds), 4)
    rows_of_files = -(-len(seeds) // columns)
    figure, axes = plt.subplots(
        2 * rows_of_files,
        columns,
        figsize=(8.5, 2 + 3.6 * rows_of_files),
        layout="constrained",
        squeeze=False,
    )
    for j in range(len(seeds), rows_of_files * columns):
        for i in (0, 1):
            axes[2 * (j // columns) + i, j % columns].remove()
    for j, seed in enumerate(seeds):
        top, column = 2 * (j // columns), j % columns
        for i, (level, label) in enumerate(
            {"mean": "Mean risk", "ten": "Ten riskiest"}.items()
        ):
            ax = axes[top + i, column]
            part = paths[paths["seed"] == seed].dropna()
            for scheme, rows in part.groupby("scheme", sort=False):
                rows = rows.sort_values(level)
                ax.errorbar(
                    rows[level],
                    rows["distance"],
                    2 * rows["error"],
                    fmt="o-",
                    ms=4,
                    lw=1,
                    color=COLOURS[scheme],
                    label=scheme,
                )
            ax.set(xlabel=label)
            ax.locator_params("x", nbins=3 if columns > 2 else 6, steps=[1, 2, 5, 10])
            ax.locator_params("y", nbins=4)
        axes[top, column].set_title(f"File {seed}")
    figure.supylabel("Distance (log value)")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3)


# Steps and numbers for the text


def middle_of_longest(left):
    """Place in the middle of the longest run of points that are left."""
    places = np.flatnonzero(left)
    runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    longest = max(runs, key=len)
    return int(longest[len(longest) // 2])


# Formats of numbers that a small run may lack.
LACKING = {
    "loss-LW": ".2f",
    "model-small-epsilon-Ceiling": "+.2f",
    "model-small-epsilon-Ceiling-error": ".2f",
    "Vector-mean-error": ".4f",
    "end-error": ".4f",
    "others-before": ".2f",
    "Pairwise-mean-error": ".4f",
    "Pairwise-ten-error": ".4f",
    "scaled-mean-error": ".4f",
    "scaled-distance-error": ".4f",
}


def in_words(values):
    """Numbers for the text: those of :data:`LACKING` as text, "unknown" if missing."""
    words = {
        name: "unknown" if np.isnan(values[name]) else format(values[name], style)
        for name, style in LACKING.items()
        if name in values
    }
    return values | words


def numbers_of_sample(table, limits):
    """Least distance of each family at half of either ruler, and the least losses."""
    found = {"half-epsilon": limits["epsilon"], "half-loss": limits["loss"]}
    for ruler in RULERS:
        for name, value in cheapest(table, ruler, limits[ruler], "distance").items():
            found[f"{ruler}-{name}"] = value
    for name, part in table.groupby("family"):
        found[f"least-loss-{name}"] = part["loss"].min()
    full = table[(table["family"] == "Scalar") & (table["constant"] == 1)].iloc[0]
    lw = table[table["family"] == "LW"]
    one = lw.iloc[(lw["constant"] - 1).abs().argmin()]
    return found | {
        "points": len(table),
        "full-epsilon": full["epsilon"],
        "full-loss": full["loss"],
        "full-distance": full["distance"],
        "lw-loss": one["loss"],
    }


def numbers_of_contrasts(found, measure="distance"):
    """Differences from the scalar weights, by population, size, ruler and family."""
    rows = found.xs(measure, level="measure")
    sizes = sorted(rows.index.unique("n"))
    values = {"small-n": sizes[0], "large-n": sizes[1]}
    for (population, n, ruler, name), row in rows.iterrows():
        key = f"{population}-{'small' if n == sizes[0] else 'large'}-{ruler}-{name}"
        values |= {key: row["difference"], f"{key}-error": row["error"]}
        values |= {f"{key}-files": int(row["files"])}
    return values


def numbers_of_costs(table):
    """Mean cost of the scalar weights themselves, by population, size and ruler."""
    sizes = sorted(table["n"].unique())
    part = table[table["measure"] == "distance"]
    means = part.groupby(["population", "n", "ruler"])["Scalar"].mean()
    return {
        f"cost-{population}-{'small' if n == sizes[0] else 'large'}-{ruler}": value
        for (population, n, ruler), value in means.items()
    }


def numbers_of_traced(traced, reached, fitted, off, refits):
    """How many points came from how many fits, and how far they are from the truth."""
    sizes = off[reached].abs().to_numpy().ravel()
    return {
        "candidates": len(traced),
        "reached": int(reached.sum()),
        "fits": len(fitted),
        "within-two": 100 * (sizes < 2).mean(),
        "from-two": traced["fit"].value_counts().iloc[:2].sum(),
        "farthest": sizes.max(),
        "refits": len(refits),
        "refit-farthest": refits.abs().to_numpy().max(),
        "ess-low": traced.loc[reached, "ess"].min(),
    }


def numbers_of_risk(paths):
    """Differences at the same risk, how far fits reach, and the lowest risks."""
    found = {"risk-files": paths["seed"].nunique()}
    for scheme in ("Vector", "Pairwise"):
        for level in ("mean", "ten"):
            gap = at_same_risk(paths, level, scheme)
            found[f"{scheme}-{level}"] = gap.mean()
            found[f"{scheme}-{level}-error"] = gap.sem()
            found[f"{scheme}-{level}-files"] = gap.notna().sum()
    lost = paths["mean"].isna()
    found |= {"risk-points": int((~lost).sum()), "risk-lost": int(lost.sum())}
    found["risk-fits"] = int((paths["factor"] == 1).sum())
    least = paths[~lost].groupby("fit")["factor"].min()
    found |= {f"factor-{name}": value for name, value in least.items()}
    least_ten = paths[~lost].pivot_table("ten", "seed", "scheme", "min")
    ten, odd = least_ten.mean(), least_ten.loc[least_ten["Vector"].idxmax()]
    found["ten-lower"] = int((least_ten["Vector"] < least_ten["Scalar"]).sum())
    found |= {f"odd-{name}": odd[name] for name in ("Vector", "Scalar")}
    plain = paths[(paths["fit"] == "Unweighted") & (paths["factor"] == 1)]
    before = plain.set_index("seed")["ten"]
    found["odd-before"] = before[odd.name]
    found["others-before"] = before.drop(odd.name).min()
    ends = paths[~lost & (paths["fit"] == "Vector")].groupby("seed")
    moves = ends[["mean", "distance"]].agg(lambda part: part.iloc[-1] - part.iloc[0])
    for name, of in moves.items():
        found |= {f"scaled-{name}": of.mean(), f"scaled-{name}-error": of.sem()}
    found |= {f"ten-{name}": value for name, value in ten.items()}
    scalar = paths[~lost & (paths["scheme"] == "Scalar")]
    ends = scalar.loc[scalar.groupby("seed")["ten"].idxmin()].set_index("seed")
    full = paths[(paths["fit"] == "Vector") & (paths["factor"] == 1)]
    gap = full.set_index("seed")["distance"] - ends["distance"]
    found |= {"end": gap.mean(), "end-error": gap.sem()}
    return found | {"vector-distance": full["distance"].mean()}
