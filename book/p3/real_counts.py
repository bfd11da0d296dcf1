"""What the chapter on doctor visits prepares, draws, tells and counts.

Its rules, which were written before its results, are those of `counts_rules`.
"""

import counts_rules
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
from counts_rules import NAMES
from scipy import stats

import pseudopost as pp
from replication import between_fits

PLANS = ["free", "25%", "50%", "95%", "deductible, free", "deductible, 95%"]
COLOURS = pp.plots.PALETTE
OF_PERSONS = ("LW of persons", "LW_final of persons")
# Of the two models, in the ledger.
WHERE = {"visits alone": "without predictors", "with predictors": "with predictors"}


# The file


def every(file, step):
    """Keep the rows of every so many-th person."""
    return file[file["person"] % step == 0].reset_index(drop=True)


def plan_of(file):
    """Name the plan of each row."""
    paid = file["coinsurance"].map({0: "free", 25: "25%", 50: "50%", 95: "95%"})
    deductible = np.where(
        file["coinsurance"] == 0, "deductible, free", "deductible, 95%"
    )
    return paid.where(file["deductible"] == 0, pd.Series(deductible, file.index))


def pairs_of_years(person):
    """Places of rows that are followed by another of the same person."""
    person = np.asarray(person)
    return np.flatnonzero(person[1:] == person[:-1])


def correlation(values, person):
    """Correlation of the visits of a person in two years that follow each other.

    Parameters
    ----------
    values : array-like, shape (m, n)
    person : array-like, shape (n,)

    Returns
    -------
    ndarray, shape (m,)
    """
    at = pairs_of_years(person)
    return np.array([np.corrcoef(z[at], z[at + 1])[0, 1] for z in np.asarray(values)])


def ratio(values, plan):
    """Mean visits of the free plan over those of the plan that leaves 95%."""
    values, plan = np.asarray(values), np.asarray(plan)
    free, paid = (values[..., plan == p].mean(axis=-1) for p in ("free", "95%"))
    return free / paid


def described(file):
    """Describe the file in numbers."""
    y, years = file["visits"], file.groupby("person").size()
    return pd.Series(
        {
            "rows": len(y),
            "persons": len(years),
            "rows a person, most": years.max(),
            "visits, mean": y.mean(),
            "standard deviation": y.std(),
            "none (%)": 100 * (y == 0).mean(),
            "more than 20 (%)": 100 * (y > 20).mean(),
            "largest": y.max(),
        }
    )


# Models


FEATURES = {
    "none (%)": lambda z, file: 100 * np.mean(z == 0, axis=1),
    "mean": lambda z, file: z.mean(axis=1),
    "standard deviation": lambda z, file: z.std(axis=1),
    "99% quantile": lambda z, file: np.quantile(z, 0.99, axis=1),
    "largest": lambda z, file: z.max(axis=1),
    "free over 95%": lambda z, file: ratio(z, plan_of(file)),
    "correlation of two years": lambda z, file: correlation(z, file["person"]),
}


def predictive_check(file, released):
    """Features of the file, and of synthetic files: means, and the middle 95%.

    Parameters
    ----------
    file : DataFrame, shape (n, ...)
    released : dict of ndarray, shape (m, n)
        By model.
    """
    rows = {}
    for feature, f in FEATURES.items():
        rows[feature] = {"data": f"{f(file['visits'].to_numpy()[None], file)[0]:.2f}"}
        for model, z in released.items():
            values = f(z, file)
            low, high = np.quantile(values, [0.025, 0.975])
            rows[feature][model] = f"{values.mean():z.2f} ({low:z.2f} to {high:z.2f})"
    return pd.DataFrame(rows).T


# Runs


def of_runs(runs, measure):
    """Mean of a measure over runs, and its standard error between them."""
    values = [measure(run) for run in runs]
    return np.mean(values), between_fits(values)


def properties(y, runs):
    """Five synthesizers in one file, means over the runs."""
    measures = {
        "epsilon": lambda each: 2 * each.bounds.max(),
        "mean weight": lambda each: each.weights.mean(),
        "weights below 0.5 (%)": lambda each: 100 * np.mean(each.weights < 0.5),
        "none (%)": lambda each: 100 * np.mean(each.released == 0),
        "mean visits": lambda each: each.released.mean(),
        "distance": lambda each: counts_rules.distance(y, each),
    }
    return pd.DataFrame(
        {
            name: {
                label: np.mean([measure(run[name]) for run in runs])
                for label, measure in measures.items()
            }
            for name in NAMES
        }
    ).T


def persons(model, run, of_persons, rows_of, seed, draws):
    """Bounds of persons under the weights of rows, and weights of persons.

    Parameters
    ----------
    model : NegativeBinomialSynthesizer
    run : dict of Run
        As of `counts_rules.run` with the same seed and draws.
    of_persons : callable
        Sums terms of rows under weights, shape (draws, persons).
    rows_of : callable
        Gives each row the value of its person.
    seed, draws : int

    Returns
    -------
    dict of tuple
        By name of the weights, of rows and of persons: a `Run`, and the largest bound
        of a person.
    """
    found = {}

    def look(name, weights):
        each, terms = counts_rules.weighed(model, weights, seed, draws)
        bounds = pp.lipschitz_bounds(of_persons(terms, weights))
        found[name] = each, bounds.max()
        return terms, bounds

    ones = run["Unweighted"].weights
    terms, _ = look("Unweighted", ones)
    for name in ("LW", "LW_final"):
        look(name, run[name].weights)
    weights = pp.lipschitz_weights(of_persons(terms, ones))
    _, bounds = look(OF_PERSONS[0], rows_of(weights))
    look(OF_PERSONS[1], rows_of(pp.reweight(weights, bounds, k=counts_rules.K)))
    return found


def rows_and_persons(y, plan, found):
    """Epsilon of rows and of persons and utility, means over the runs."""
    measures = {
        "epsilon of a row": lambda each, bound: 2 * each.bounds.max(),
        "epsilon of a person": lambda each, bound: 2 * bound,
        "mean weight": lambda each, bound: each.weights.mean(),
        "distance": lambda each, bound: counts_rules.distance(y, each),
        "free over 95%": lambda each, bound: ratio(each.released, plan).mean(),
    }
    return pd.DataFrame(
        {
            name: {
                label: np.mean([measure(*run[name]) for run in found])
                for label, measure in measures.items()
            }
            for name in found[0]
        }
    ).T


# The question of the experiment


def effect(file, values):
    """Log ratio of mean visits, free over 95%, and its variance, persons as clusters.

    Parameters
    ----------
    file : DataFrame, shape (n, ...)
    values : array-like, shape (n,) or (m, n)

    Returns
    -------
    estimates, variances : ndarray, shape (m,)
    """
    plan = plan_of(file)
    keep = plan.isin(["free", "95%"]).to_numpy()
    X = sm.add_constant((plan[keep] == "free").astype(float).to_numpy())
    groups = {"groups": file.loc[keep, "person"].to_numpy()}
    fits = [
        sm.GLM(z[keep], X, sm.families.Poisson()).fit(
            cov_type="cluster", cov_kwds=groups
        )
        for z in np.atleast_2d(values)
    ]
    return np.array([[fit.params[1], fit.bse[1] ** 2] for fit in fits]).T


def effects(file, releases):
    """Ratios of mean visits with their intervals.

    Parameters
    ----------
    file : DataFrame, shape (n, ...)
    releases : dict of ndarray, shape (m, n)

    Returns
    -------
    dict of tuple
        Of the data, by their own standard error, and of each release, combined.
    """
    [estimate], [variance] = effect(file, file["visits"].to_numpy())
    half = stats.norm.ppf(0.975) * np.sqrt(variance)
    found = {"Data": (estimate, estimate - half, estimate + half)}
    for name, z in releases.items():
        combined = pp.combine_partially_synthetic(*effect(file, z))
        found[name] = combined.estimate, combined.low, combined.high
    return {name: tuple(np.exp(values)) for name, values in found.items()}


# Figures


def draw_file(file):
    """Visits, and their means by plan."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
    y = file["visits"]
    left.bar(*np.unique(y, return_counts=True), color=COLOURS["Data"], width=0.9)
    left.set(xlabel="Visits in a year", ylabel="Rows", yscale="log")
    plan = plan_of(file)
    means = y.groupby(plan).mean()
    # Persons, not rows, are independent.
    totals = file.assign(plan=plan).groupby(["plan", "person"])["visits"]
    sums, years = totals.sum(), totals.size()
    residual = sums - years * means.reindex(sums.index.get_level_values("plan")).array
    errors = np.sqrt((residual**2).groupby("plan").sum()) / years.groupby("plan").sum()
    at = [name for name in PLANS if name in means.index]
    right.errorbar(
        means[at], at, xerr=1.96 * errors[at], fmt="o", color=COLOURS["Data"]
    )
    right.invert_yaxis()
    right.set(xlabel="Visits in a year, mean", ylabel="Left to the person")


def scatter(ax, y, values, name):
    """Values of rows against their visits, as a picture of small points."""
    look = {"s": 7, "linewidth": 0, "rasterized": True}
    ax.scatter(y, values, color=COLOURS[name], label=name, **look)


def draw_bounds(y, runs):
    """Bounds of rows against visits, unweighted and under LW, for both models."""
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained", sharey=True)
    for ax, (model, run) in zip(axes, runs.items(), strict=True):
        for name in ("Unweighted", "LW", "CW"):
            scatter(ax, y, run[name].bounds, name)
        ax.set(title=model, xlabel="Visits in a year")
    axes[0].set_ylabel("Bound (nats)")
    axes[0].legend(markerscale=3)


def draw_weights(y, runs):
    """Weights of rows against visits, before and after re-weighting."""
    names = ("LW", "CW")
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained", sharey=True)
    run = runs["with predictors"]
    places = ("lower left", "upper right")
    for ax, name, place in zip(axes, names, places, strict=True):
        for each in (f"{name}_final", name):
            scatter(ax, y, run[each].weights, each)
        ax.set(title=name, xlabel="Visits in a year", xscale="symlog", xlim=(-0.2, 90))
        ax.set_xticks([0, 1, 2, 5, 10, 20, 50], [0, 1, 2, 5, 10, 20, 50])
        ax.legend(loc=place, markerscale=3)
    axes[0].set_ylabel("Weight")


def draw_released(y, runs, largest=12):
    """Shares of each number of visits as released, less those in the data."""
    counts = np.arange(largest + 1)
    share = np.array([np.mean(y == count) for count in counts])
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained", sharey=True)
    run = runs["with predictors"]
    for ax, name in zip(axes, ("LW", "CW"), strict=True):
        ax.axhline(0, color=COLOURS["Data"], linewidth=0.8)
        for each, marker in (("Unweighted", "o"), (name, "s"), (f"{name}_final", "^")):
            released = [np.mean(run[each].released == count) for count in counts]
            ax.plot(
                counts,
                100 * (released - share),
                marker=marker,
                markersize=4,
                color=COLOURS[each],
                label=each,
            )
        ax.set(title=name, xlabel="Visits in a year")
        ax.legend()
    axes[0].set_ylabel("Released minus data (points)")


def draw_effects(found):
    """Ratios of mean visits with their intervals, by model."""
    _, axes = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained", sharex=True)
    for ax, (model, table) in zip(axes, found.items(), strict=True):
        pp.plots.intervals(table, xlabel="Visits, free plan over 95%", ax=ax)
        ax.axvline(1, color="black", linewidth=0.8, linestyle=":")
        ax.set_title(model)


# Numbers for the text


def file_numbers(file):
    """The file, its persons and the effect of free care."""
    y, years = file["visits"].to_numpy(), file.groupby("person").size()
    [estimate], [variance] = effect(file, y)
    half = stats.norm.ppf(0.975) * np.sqrt(variance)
    return {
        "rows": len(y),
        "persons": len(years),
        "zeros": 100 * np.mean(y == 0),
        "largest": y.max(),
        "years": correlation(y[None], file["person"])[0],
        "ratio": np.exp(estimate),
        "ratio-low": np.exp(estimate - half),
        "ratio-high": np.exp(estimate + half),
        "free": y[plan_of(file) == "free"].mean(),
        "paid": y[plan_of(file) == "95%"].mean(),
    }


def run_numbers(y, runs):
    """Synthesizers by model: epsilon, weights, distance, share of zeros."""
    short = {"visits alone": "alone", "with predictors": "given"}
    values = {}
    for model, label in short.items():
        table = properties(y, runs[model])
        for name, row in table.iterrows():
            values[f"eps-{label}-{name}"] = row["epsilon"]
            values[f"w-{label}-{name}"] = row["mean weight"]
            values[f"d-{label}-{name}"] = row["distance"]
            values[f"none-{label}-{name}"] = row["none (%)"]
        for name in ("Unweighted", "LW"):
            most = [run[name].bounds.argmax() for run in runs[model]]
            values[f"who-{label}-{name}"] = np.median(y[most])
    return values


def weight_numbers(y, radius=counts_rules.RADIUS):
    """Weights of CW by number of visits."""
    weights = pp.count_weights(y, radius)
    return {f"cw-{count}": weights[y == count][0] for count in (0, 1, 4, 5, 20)}


def person_numbers(table):
    """Epsilon of rows and persons."""
    short = dict(zip(OF_PERSONS, ("persons", "persons-final"), strict=True))
    return {
        f"{label}-{short.get(name, name)}": row[column]
        for name, row in table.iterrows()
        for label, column in (
            ("row", "epsilon of a row"),
            ("person", "epsilon of a person"),
            ("weight", "mean weight"),
            ("distance", "distance"),
            ("effect", "free over 95%"),
        )
    }


def effect_numbers(plan, runs):
    """Ratios of mean visits in every release, and errors between runs."""
    values = {}
    for model, label in (("visits alone", "alone"), ("with predictors", "given")):
        for name in NAMES:
            mean, error = of_runs(
                runs[model],
                lambda run, name=name: ratio(run[name].released, plan).mean(),
            )
            values[f"ratio-{label}-{name}"] = mean
            values[f"ratio-se-{label}-{name}"] = error
    return values
