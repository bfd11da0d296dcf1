"""What the chapter on real households prepares, fits, tells and counts.

Its rules, which were written before its results, are those of `households_rules`.
"""

import warnings
from pathlib import Path
from typing import NamedTuple

import arviz as az
import households_rules as rules
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
from p2_tables import (
    PUBLISHED,
    PUBLISHED_LOW,
    PUBLISHED_MEAN_RISK,
    PUBLISHED_MEANS,
    PUBLISHED_NAMES,
    QUANTITIES,
)
from scipy import stats

import pseudopost as pp
from companion import SEED, Study, density, shuffled
from replication import FITS, between_fits

DATA = Path(__file__).parents[2] / "data"
QUARTERS = {"2016Q1": "ce2016q1", "2014Q1": "ce2014q1"}
# Columns of the survey that no model sees.
SURVEY = {"FINLWT21": "weight", "CID": "cluster", "CUTENURE": "tenure"}
OWNERS = [1, 2, 3]  # with a mortgage, without, not known
# How the ledger calls the files that count.
WHERE = {name: f"in {name}" for name in QUARTERS}
COLOURS = pp.plots.PALETTE | {"Lifted": "#997700"}
NAMES = ("Unweighted", "Vector", "Marginal", "Pairwise", "Lifted", "Scalar")
# An income that so many share is an atom.
SHARED_BY = 10
# What an earlier search for Scalar came to; the next begins there, and so has fewer steps.
FIRST = {"2016Q1": 0.2485, "2014Q1": 0.376}


# Files


class File(NamedTuple):
    """A confidential file, and what stands beside it.

    Attributes
    ----------
    all : DataFrame
        As read.
    of : Households
        Those with a positive income and a known place.
    survey : DataFrame or None
        Weight, cluster, tenure, and in 2014 whether a component was top-coded, of
        these.
    """

    all: pd.DataFrame
    of: rules.Households
    survey: pd.DataFrame | None


def quarter(name, step=1):
    """Read a quarter, or every so many-th row of it."""
    path = DATA / f"{QUARTERS[name]}.csv.gz"
    people = pp.datasets.read_consumer_expenditure(path)
    survey = pd.read_csv(path, dtype={"CID": str}).rename(columns=SURVEY)
    if "FINCBT_X" in survey:
        survey["top-coded"] = survey["FINCBT_X"] == "T"
    kept = survey.columns.intersection([*SURVEY.values(), "top-coded"])
    both = pd.concat([people, survey[kept]], axis=1).iloc[::step]
    known = rules.usable(both)
    of = rules.Households(known[people.columns[1:]], known["income"].to_numpy())
    return File(both[people.columns], of, known[kept])


def stand_in(seed=SEED, step=1):
    """Make the stand-in, prepared in the same way."""
    people = pp.datasets.consumer_expenditure(random_seed=seed).iloc[::step]
    known = rules.usable(people)
    of = rules.Households(known.drop(columns="income"), known["income"].to_numpy())
    return File(people, of, None)


def shared(y, by=SHARED_BY):
    """Say of each value whether so many records have it."""
    _, place, count = np.unique(y, return_inverse=True, return_counts=True)
    return count[place] >= by


def left_by_regression(of, shift=rules.SHIFT):
    """What one regression on all predictors leaves of the logarithms, shape (n,)."""
    X = sm.add_constant(pd.get_dummies(of.people, drop_first=True, dtype=float))
    X, log_y = X.to_numpy(), np.log(of.y + shift)
    return log_y - X @ np.linalg.lstsq(X, log_y)[0]


def described(file):
    """Describe a file in numbers."""
    income, y = file.all["income"], file.of.y
    known = (file.all["region"] != "Suppressed") & (file.all["cbsa"] != "Suppressed")
    return pd.Series(
        {
            "records": len(income),
            "income 0 (%)": 100 * (income == 0).mean(),
            "losses": (income < 0).sum(),
            "place suppressed (%)": 100 * (~known).mean(),
            "kept": len(y),
            "mean": y.mean(),
            "median": np.median(y),
            "90% quantile": np.quantile(y, 0.9),
            "largest": y.max(),
            "up to 10,000 (%)": 100 * np.mean(y <= 10_000),
            f"shared by {SHARED_BY} and more (%)": 100 * shared(y).mean(),
            "multiples of 1,000 (%)": 100 * np.mean(y % 1000 == 0),
            "residual sd of the logarithm": left_by_regression(file.of).std(),
        }
    )


def shifts(of, values):
    """What one regression leaves under several shifts: spread, tails, skewness."""
    rows = {}
    for shift in values:
        left = left_by_regression(of, shift)
        z = left / left.std()
        rows[f"{shift:,}"] = {
            "residual sd": left.std(),
            "skewness": stats.skew(left),
            "below -4 sd (%)": 100 * np.mean(z < -4),
            "above 4 sd (%)": 100 * np.mean(z > 4),
        }
    return pd.DataFrame(rows).T.rename_axis("shift")


def left_out(of):
    """What the package leaves out of the design, and says when it does."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = pp.MixtureSynthesizer(of.y, of.people, 2, shift=rules.SHIFT)
    return model.redundant, [str(each.message) for each in said]


# Synthesizers


def study_of(of, sampling, first=None):
    """Fit and release all six synthesizers, by the rules.

    Parameters
    ----------
    of : Households
    sampling : dict
        ``draws`` and ``tune``.
    first : float, optional
        Weight that the search for Scalar begins with; the mean weight of Pairwise,
        unless given.

    Returns
    -------
    Study
        Its files are 20 of each chain, chain after chain.
    """
    data = of.people.assign(income=of.y)
    with warnings.catch_warnings():
        # The chapter says which, by `left_out`.
        warnings.filterwarnings("ignore", "left out of X")
        s = Study(
            data,
            "income",
            rules.KNOWN["P2"],
            6,
            shift=rules.SHIFT,
            alone=1.0,
            varying=["earner", "marital"],
            random_seed=SEED,
            **sampling,
        )
    release = {"n_datasets": 20 * FITS, "random_seed": SEED + 1}
    s.add("Unweighted", **release)
    at_risk = rules.risk(of, s.synthesize("Unweighted", 20), "P1")
    known = {"patterns": of.people[rules.KNOWN["P2"]], "ball": "signed", "alone": 1.0}
    marginal, pairwise = (
        pp.pairwise_weights(of.y, order=order, **known) for order in (1, 2)
    )
    line = np.polynomial.Polynomial.fit(marginal, pairwise, 1).convert()
    s.add("Vector", pp.sigmoid_weights(at_risk), **release)
    s.add("Marginal", marginal, **release)
    s.add("Pairwise", pairwise, **release)
    lifted = pp.adjust_weights(marginal, line.coef[1], line.coef[0])
    s.add("Lifted", lifted, **release)
    _add_scalar(of, s, first or pairwise.mean(), release)
    return s


def _add_scalar(of, s, first, release):
    """Find the weight with the mean risk of Pairwise, and release under it.

    It is 1 where weights of 1 have no higher mean risk than that, up to its error.
    """
    by_fit = [rules.risk(of, z).mean() for z in np.split(s.z["Pairwise"], FITS)]
    target, tolerance = np.mean(by_fit), between_fits(by_fit)
    found, steps = rules.risk(of, s.z["Unweighted"]).mean(), 0
    s.weights["Scalar"], s.fits["Scalar"] = (
        s.weights["Unweighted"],
        s.fits["Unweighted"],
    )
    if found - target > tolerance:
        with warnings.catch_warnings():
            # Of steps on the way, and of a target that was missed, which is told below.
            warnings.simplefilter("ignore")
            match = pp.match_scalar_weight(
                s.model,
                s.model.fit(progressbar=False, **s.sampling),
                risk=lambda z: rules.risk(of, z),
                target=target,
                tolerance=tolerance,
                first=first,
                n_datasets=release["n_datasets"],
            )
        s.weights["Scalar"], s.fits["Scalar"] = match.weights, s.fit(match.weights)
        found = match.path.set_index("constant")["found"][match.constant]
        steps = len(match.path)
    s.z["Scalar"] = s.synthesize("Scalar", **release)
    s.risk["Scalar"] = s.risk_of(s.z["Scalar"])
    print(
        f"Scalar: {s.weights['Scalar'][0]:.3f}, found in {steps} steps; mean risk "
        f"{found:.4f}, of Pairwise {target:.4f} ± {tolerance:.4f}"
    )


def warned(s):
    """Synthesizers whose fits warn."""
    return [name for name in NAMES if s.fits[name].attrs["not_converged"]]


def convergence(s):
    """How far the chains of each fit agree."""
    rows = {}
    for name in NAMES:
        judged = s.fits[name]["label_invariant"].to_dataset()
        rows[name] = {
            "mean weight": s.weights[name].mean(),
            "smallest weight": s.weights[name].min(),
            "draws a chain": judged.sizes["draw"],
            "largest R-hat": max(float(v.max()) for v in az.rhat(judged).values()),
            "smallest bulk ESS": min(
                float(v.min()) for v in az.ess(judged, method="bulk").values()
            ),
            "components": s.fits[name]["sample_stats"]["occupied"].mean().item(),
        }
    return pd.DataFrame(rows).T


def risks(of, s):
    """Mean and highest risks for both intruders, and their errors between chains.

    "Shuffled" deals the incomes of each pattern out again, as often as there are
    releases: such files tell an intruder nothing of a household but its pattern.

    Returns
    -------
    values, errors : DataFrame
        By synthesizer, and by intruder and measure; the file and its shuffles have no
        error.
    """
    measures = {"mean": np.mean, "highest 1%": rules.highest}
    values, errors = {}, {}
    for paper, known in rules.KNOWN.items():
        patterns = of.people.groupby(known, observed=True).indices.values()
        dealt = shuffled(of.y, patterns, 20 * FITS, np.random.default_rng(SEED))
        released = {"Shuffled": dealt} | {name: s.z[name] for name in NAMES}
        risk = {"Data": [rules.risk(of, of.y, paper)]} | {
            name: [rules.risk(of, each, paper) for each in np.split(z, FITS)]
            for name, z in released.items()
        }
        for label, measure in measures.items():
            column = f"{paper}'s intruder", label
            each = {name: [measure(one) for one in r] for name, r in risk.items()}
            values[column] = {name: np.mean(m) for name, m in each.items()}
            errors[column] = {name: between_fits(each[name]) for name in NAMES}
    values = pd.DataFrame(values)
    return values, pd.DataFrame(errors).reindex(values.index)


def blind(fit):
    """Copy a fit for ``allocation="weighted"`` with weights of 0.

    Each record then draws its component by the shares, and not by its own value.
    """
    other = fit.copy()
    constant = fit["constant_data"].to_dataset()
    other["constant_data"] = constant.assign(weights=0 * constant["weights"])
    return other


def by_component(of, s):
    """Risk for P2's intruder and errors of estimates, by how components are drawn.

    Returns
    -------
    values, errors : DataFrame
        By synthesizer and rule: mean risk; the largest relative error of the four
        estimates of the rules, in percent; and the largest income of all files, in
        millions, which has no error.
    """
    release = {"n_datasets": 20 * FITS, "random_seed": SEED + 1}
    measures = {
        "mean risk": lambda z: rules.risk(of, z).mean(),
        "largest error (%)": lambda z: 100 * np.abs(rules.errors(of, z)).max(),
    }
    rows, largest = {}, {}
    for name in ("Unweighted", "Marginal", "Pairwise"):
        weighted = {"allocation": "weighted", **release}
        drawn = {
            "density": s.z[name],
            "weighted density": s.synthesize(name, **weighted),
            "share": s.model.synthesize(blind(s.fits[name]), **weighted).to_numpy(),
        }
        for rule, z in drawn.items():
            rows[name, rule] = {
                label: [measure(one) for one in np.split(z, FITS)]
                for label, measure in measures.items()
            }
            largest[name, rule] = z.max() / 1e6
    each = pd.DataFrame(rows).T
    top = {"largest income (millions)": pd.Series(largest)}
    values, errors = each.map(np.mean), each.map(between_fits)
    return values.assign(**top), errors.reindex(columns=[*each, *top])


def with_errors(values, errors):
    """Write values with their errors, where they have one, on one line of a table."""

    def write(number):
        return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3f}"

    errors = ("\u00a0±\u00a0" + errors.map(write)).where(errors.notna(), "")
    return values.map(write) + errors


def sampling_protects(file):
    """Households like those of the file, in it and in the country.

    Those of a pattern, and those of a pattern with an income within 20% of the record's.
    """
    y, weight, rows = file.of.y, file.survey["weight"].to_numpy(), {}
    for paper, known in rules.KNOWN.items():
        size, stands_for = np.empty((2, len(y)))
        groups = file.of.people.groupby(known, observed=True).indices.values()
        for of_group in groups:
            own = y[of_group]
            close = np.abs(own - own[:, None]) <= rules.RADIUS * own[:, None]
            size[of_group], stands_for[of_group] = (
                close.sum(axis=1),
                close @ weight[of_group],
            )
        rows[paper] = {
            "patterns": len(groups),
            "patterns of one record": sum(len(each) == 1 for each in groups),
            "smallest pattern stands for": min(weight[each].sum() for each in groups),
            "alone with their income (%)": 100 * np.mean(size == 1),
            "fewest with a close income": stands_for.min(),
        }
    return pd.DataFrame(rows).T


def panel(of, s, interviews=4):
    """Released values within 20% of the own, of one release and of several, in percent.

    Of several it is the mean of the logarithms. "Regression" is no release, but what one
    regression on all predictors says, fitted to the file itself.

    A household is interviewed in up to four quarters. If each quarter is synthesized,
    whoever knows which rows belong together can take their mean; here the rows of as
    many data sets of one quarter, since no income of theirs would have changed.
    """
    predicted = np.exp(np.log(of.y + rules.SHIFT) - left_by_regression(of))
    alone = 100 * np.mean(np.abs(predicted - rules.SHIFT - of.y) <= rules.RADIUS * of.y)
    rows = {"Regression": {"one release": alone, f"mean of {interviews}": alone}}
    for name in NAMES:
        several = s.z[name].reshape(-1, interviews, len(of.y))
        rows[name] = {
            label: 100 * np.mean(np.abs(z - of.y) <= rules.RADIUS * of.y)
            for label, z in (
                ("one release", several),
                (
                    f"mean of {interviews}",
                    np.exp(rules.logs(several).mean(axis=1)) - rules.SHIFT,
                ),
            )
        }
    return pd.DataFrame(rows).T


def as_top_coded(file, share=0.025):
    """Where the Bureau's flags are, and where P1's imitation is."""
    flagged, y = file.survey["top-coded"].to_numpy(), file.of.y
    above = y > np.quantile(y, 1 - share)
    return pd.Series(
        {
            "flagged (%)": 100 * flagged.mean(),
            "flagged, of those above P1's threshold (%)": 100 * flagged[above].mean(),
            "below P1's threshold, of the flagged (%)": 100 * (~above)[flagged].mean(),
            "smallest income flagged": y[flagged].min(),
        }
    )


# What the model makes of the file


FEATURES = {
    "up to 10,000 (%)": lambda z: 100 * np.mean(z <= 10_000, axis=1),
    "median": lambda z: np.median(z, axis=1),
    "mean": lambda z: z.mean(axis=1),
    "90% quantile": lambda z: np.quantile(z, 0.9, axis=1),
    "99% quantile": lambda z: np.quantile(z, 0.99, axis=1),
    "largest": lambda z: z.max(axis=1),
    f"shared by {SHARED_BY} and more (%)": lambda z: np.array(
        [100 * shared(np.round(each)).mean() for each in z]
    ),
    "multiples of 1,000 (%)": lambda z: 100 * np.mean(np.round(z) % 1000 == 0, axis=1),
}


def predictive_check(files, released):
    """Features of files, and of synthetic ones: means, and the middle 95%.

    Released values are rounded to a dollar, as those of the files are.
    """
    table = {}
    for name, file in files.items():
        for feature, f in FEATURES.items():
            values = f(released[name])
            low, high = np.quantile(values, [0.025, 0.975])
            write = ("{:,.1f}" if feature.endswith("(%)") else "{:,.0f}").format
            table.setdefault((name, "data"), {})[feature] = write(f(file.of.y[None])[0])
            table.setdefault((name, "Unweighted"), {})[feature] = (
                f"{write(values.mean())} ({write(low)} to {write(high)})"
            )
    return pd.DataFrame(table)


# Estimates for all households


def weighted_quantile(values, weights, level):
    """Smallest value that so large a part of the weights is at or below."""
    order = np.argsort(values, kind="stable")
    part = np.cumsum(weights[order]) / weights.sum()
    return values[order][np.searchsorted(part, level)]


def regressed(y, X, survey):
    """Weighted least squares, with the clusters of the survey in the errors.

    Returns
    -------
    coefficients, variances : ndarray, shape (columns,)
    """
    groups = pd.factorize(survey["cluster"])[0]
    fit = sm.WLS(y, X, weights=survey["weight"].to_numpy()).fit(
        cov_type="cluster", cov_kwds={"groups": groups}
    )
    return fit.params, np.diag(fit.cov_params())


def estimates(file, y):
    """Four estimates for all households, and their variances.

    Mean income; percentage of households below half of the median; coefficient of not
    earning, on region, urban and earner; and the difference in the share of owners, in
    points, between incomes above and below the median.
    """
    survey, people = file.survey, file.of.people
    one = np.ones((len(y), 1))
    median = weighted_quantile(y, survey["weight"].to_numpy(), 0.5)
    X = pd.get_dummies(
        people[["region", "urban", "earner"]], drop_first=True, dtype=float
    )
    earns = 1 + X.columns.get_loc("earner_Not an earner")
    owner = survey["tenure"].isin(OWNERS).to_numpy()
    above = sm.add_constant((y > median).astype(float))
    found = {
        "mean income (1,000 dollars)": (y / 1000, one, 0),
        "below half of the median (%)": (100.0 * (y < median / 2), one, 0),
        "not an earner (1,000 dollars)": (
            y / 1000,
            sm.add_constant(X).to_numpy(),
            earns,
        ),
        "owners, above less below the median (points)": (100.0 * owner, above, 1),
    }
    return {
        name: tuple(each[k] for each in regressed(values, X, survey))
        for name, (values, X, k) in found.items()
    }


def intervals(file, s, step=5):
    """Estimates with 95% intervals: of the data, and of every fifth file of a release.

    Returns
    -------
    dict of dict of tuple
        By estimate and name: estimate, low and high.
    """
    half = stats.norm.ppf(0.975)
    found = {
        name: {"Data": (value, value - half * v**0.5, value + half * v**0.5)}
        for name, (value, v) in estimates(file, file.of.y).items()
    }
    for name in NAMES:
        each = [estimates(file, z) for z in s.z[name][::step]]
        for label, of_data in found.items():
            values, variances = np.transpose([one[label] for one in each])
            combined = pp.combine_partially_synthetic(values, variances)
            of_data[name] = combined.estimate, combined.low, combined.high
    return found


def contained(estimated):
    """How many of the intervals have the estimate of the data in them."""
    return pd.DataFrame(
        {
            quarter: {
                name: sum(
                    table[name][1] <= table["Data"][0] <= table[name][2]
                    for table in found.values()
                )
                for name in NAMES
            }
            for quarter, found in estimated.items()
        }
    )


def off_the_data(of, released):
    """P2's four estimates of released files less those of the file, in percent.

    Incomes are capped at the largest of the file. Returns the means over the fits and
    their errors, by estimate.
    """
    capped = np.minimum(released, of.y.max())
    off = [100 * rules.errors(of, z) for z in np.split(capped, FITS)]
    return np.mean(off, axis=0), np.apply_along_axis(between_fits, 0, off)


def beside_published(files, studies):
    """P2's estimates under three synthesizers, off the data in percent, and ours."""
    published = PUBLISHED["estimate"]
    rows, values = {}, {}
    for name in PUBLISHED_NAMES:
        value = 100 * (published[name] / published["Data"] - 1)[QUANTITIES]
        rows[name, "published"] = [f"{v:+.1f}" for v in value]
        values[name, "published"] = value.to_numpy()
        for file, s in studies.items():
            off, error = off_the_data(files[file].of, s.z[name])
            pairs = zip(off, error, strict=True)
            rows[name, file] = [f"{v:+.1f} ± {e:.1f}" for v, e in pairs]
            values[name, file] = off
    index = ["synthesizer", "file"]
    return tuple(
        pd.DataFrame(part, QUANTITIES)
        .T.rename_axis(index)
        .rename_axis(columns="quantity")
        for part in (rows, values)
    )


def tens_of(of):
    """Ten records: those that are riskiest in the file, and the largest incomes."""
    return {
        "riskiest": np.argsort(-rules.risk(of, of.y, "P2"), kind="stable")[:10],
        "largest": np.argsort(-of.y, kind="stable")[:10],
    }


def risks_of_tens(of, s):
    """For P2's intruder: the mean risk, and those of ten records, fit by fit."""
    tens, found = tens_of(of), {}
    for name in ("Unweighted", "Marginal"):
        each = [rules.risk(of, z, "P2") for z in np.split(s.z[name], FITS)]
        found["all", name] = [risk.mean() for risk in each]
        for which, ten in tens.items():
            found[which, name] = [risk[ten].mean() for risk in each]
    return found


def risks_beside_published(files, studies):
    """P2's mean risks, and ours with their errors between fits.

    Returns
    -------
    rows, values : DataFrame
        By records and synthesizer, and file; written with errors, and as numbers.
    """
    values = {"published": {("all", "Unweighted"): PUBLISHED_MEAN_RISK}}
    for which, means in PUBLISHED_MEANS.iterrows():
        for name in ("Unweighted", "Marginal"):
            values["published"][which, name] = means[name]
    errors = {}
    for file, s in studies.items():
        found = risks_of_tens(files[file].of, s)
        values[file] = {key: np.mean(each) for key, each in found.items()}
        errors[file] = {key: between_fits(each) for key, each in found.items()}
    values = pd.DataFrame(values).loc[list(found)].rename_axis(["records", "release"])
    rows = with_errors(values, pd.DataFrame(errors).reindex_like(values))
    return rows.mask(values.isna(), ""), values


def owners(file, y, groups=10):
    """Share of owners in tenths of the income, of all households."""
    weight = file.survey["weight"].to_numpy()
    owner = file.survey["tenure"].isin(OWNERS).to_numpy()
    order = np.argsort(y, kind="stable")
    part = np.minimum(
        (np.cumsum(weight[order]) / weight.sum() * groups).astype(int), groups - 1
    )
    sums = np.bincount(part, weight[order], groups)
    return np.bincount(part, (weight * owner)[order], groups) / sums


# Figures


def draw_files(files):
    """Incomes of the files, and how often the most frequent ones occur."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    grid = np.linspace(np.log(1_000), np.log(600_000), 300)
    for (name, file), style in zip(files.items(), ("-", "--", ":"), strict=True):
        logs = np.log(file.of.y + rules.SHIFT)
        left.plot(np.exp(grid), density(logs, grid, 0.08), style, label=name)
        count = np.sort(np.unique(file.of.y, return_counts=True)[1])[::-1][:60]
        right.plot(np.arange(1, len(count) + 1), count, style, label=name)
    left.set(
        xscale="log",
        xlabel="Income plus 1,000 dollars",
        ylabel="Density of the logarithm",
    )
    right.set(xlabel="Rank of an income by frequency", ylabel="Records", ylim=0)
    left.legend()


def draw_weights(of, s):
    """Weights by income, of those that differ by record."""
    names = ("Vector", "Marginal", "Pairwise")
    _, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained", sharey=True)
    for ax, name in zip(axes, names, strict=True):
        ax.scatter(
            of.y,
            s.weights[name],
            s=5,
            linewidth=0,
            alpha=0.5,
            color=COLOURS[name],
            rasterized=True,
        )
        ax.set(title=name, xscale="log", xlabel="Income (dollars)", ylim=(-0.03, 1.03))
    axes[0].set_ylabel("Weight")


def draw_risks(files, studies):
    """Risks of the records of each quarter for P2's intruder."""
    _, axes = plt.subplots(
        len(files), 1, figsize=(9, 3 * len(files)), layout="constrained", sharex=True
    )
    for ax, (name, file) in zip(np.atleast_1d(axes), files.items(), strict=True):
        samples = {"Data": rules.risk(file.of, file.of.y)} | studies[name].risk
        pp.plots.violins(
            {each: samples[each] for each in ("Data", *NAMES)},
            ylabel="Risk",
            middle="mean",
            ax=ax,
        )
        ax.set_title(name)


def draw_estimates(found):
    """Estimates for all households, in the data and the releases."""
    _, axes = plt.subplots(2, 2, figsize=(10, 6), layout="constrained")
    for ax, (name, table) in zip(axes.flat, found.items(), strict=True):
        pp.plots.intervals(table, xlabel=name[0].upper() + name[1:], ax=ax)


def draw_owners(file, s):
    """Share of owners by tenth of the income."""
    _, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    tenths = np.arange(1, 11)
    ax.plot(
        tenths, 100 * owners(file, file.of.y), "o-", color=COLOURS["Data"], label="Data"
    )
    for name, marker in (("Unweighted", "s"), ("Marginal", "^"), ("Pairwise", "v")):
        curve = np.mean([owners(file, z) for z in s.z[name]], axis=0)
        ax.plot(tenths, 100 * curve, marker=marker, color=COLOURS[name], label=name)
    ax.set(
        xlabel="Tenth of the income", ylabel="Owners (%)", xticks=tenths, ylim=(0, 100)
    )
    ax.legend()


# Numbers for the text


SHORT = {"2016Q1": "16", "2014Q1": "14", "stand-in": "in"}


def survey_numbers(quarters):
    """Households with a weight of their own, in percent."""
    values = {}
    for name, file in quarters.items():
        weight = file.survey["weight"]
        values[f"own-weight-{SHORT[name]}"] = 100 * np.mean(
            ~weight.duplicated(keep=False)
        )
    return values


def fit_numbers(fitted):
    """What the text says of the fits, from :func:`convergence` by file."""
    return {"smallest-ess": fitted["smallest bulk ESS"].min()} | {
        f"weight-{name}-{SHORT[file]}": fitted.loc[(file, name), "mean weight"]
        for file, name in fitted.index
    }


def sampling_numbers(tables):
    """What the text says of patterns, from :func:`sampling_protects` by quarter."""
    labels = {"patterns": "patterns", "fewest with a close income": "close"}
    return {
        f"{label}-{paper}-{SHORT[name]}": table.loc[paper, column]
        for name, table in tables.items()
        for paper in table.index
        for column, label in labels.items()
    }


def risk_numbers(found):
    """What the text says of mean risks, from :func:`risks` by file.

    ``gone`` is how much of the way from the file to its shuffles synthesis alone has
    gone, ``won`` how much of the rest Marginal weights go, and ``vector`` what Vector
    takes off the risk for P1's intruder, all in percent.
    """
    numbers = {}
    for file, (values, _) in found.items():
        short = SHORT[file]
        for paper in rules.KNOWN:
            mean = values[f"{paper}'s intruder", "mean"]
            numbers |= {f"{name}-{paper}-{short}": mean[name] for name in mean.index}
        mean = values["P2's intruder", "mean"]
        left = mean["Unweighted"] - mean["Shuffled"]
        way = mean["Data"] - mean["Shuffled"]
        numbers[f"gone-{short}"] = 100 * (1 - left / way)
        numbers[f"won-{short}"] = 100 * (mean["Unweighted"] - mean["Marginal"]) / left
        of_p1 = values["P1's intruder", "mean"]
        numbers[f"vector-{short}"] = 100 * (1 - of_p1["Vector"] / of_p1["Unweighted"])
    return numbers


def component_numbers(found):
    """Mean risks and largest incomes, from :func:`by_component` by file."""
    return {
        f"{label}-{name}-{rule.split()[0]}-{SHORT[file]}": values.loc[
            (name, rule), column
        ]
        for file, (values, _) in found.items()
        for name, rule in values.index
        for label, column in (
            ("by", "mean risk"),
            ("top", "largest income (millions)"),
        )
    }


def panel_numbers(tables):
    """What the text says of Unweighted and a regression, from :func:`panel`."""
    return {
        f"{label}-{SHORT[name]}": table.loc[row].iloc[k]
        for name, table in tables.items()
        for label, row, k in (
            ("one-release", "Unweighted", 0),
            ("several", "Unweighted", 1),
            ("regression", "Regression", 0),
        )
    }


def estimate_numbers(estimated):
    """Estimates of the text, and the ends of their intervals, by quarter."""
    labels = "mean", "poor", "earner", "owners"
    ends = {"": 0, "low-": 1, "high-": 2}
    return {
        f"{label}-{end}{name}-{SHORT[quarter]}": values[name][k]
        for quarter, found in estimated.items()
        for label, values in zip(labels, found.values(), strict=True)
        for name in values
        for end, k in ends.items()
    }


def published_numbers(values):
    """Differences from the data in percent, by estimate, synthesizer and file."""
    short = {"90% quantile": "q90", "Earner 2": "earner"}

    def away(file):
        of, published = (values.xs(k, level="file") for k in (file, "published"))
        return (of - published).abs()

    nearer = {
        f"nearer-{SHORT[file]}": int((away(file) < away("stand-in")).to_numpy().sum())
        for file in QUARTERS
    }
    return nearer | {
        f"off-{short.get(quantity, quantity)}-{name}-{SHORT.get(file, file)}": values.loc[
            (name, file), quantity
        ]
        for name, file in values.index
        for quantity in QUANTITIES
    }


def published_risk_numbers(files, values):
    """Mean risks, of all records and of ten, by file.

    And how many of the ten riskiest have an income up to 50,000 dollars, and the hits
    that P2's mean of ten stands for, in 20 files.
    """
    hits = 200 * values.loc[("riskiest", "Unweighted"), "published"]
    low = {"ten-low-published": PUBLISHED_LOW} | {
        f"ten-low-{SHORT[name]}": (
            file.of.y[tens_of(file.of)["riskiest"]] <= 50_000
        ).sum()
        for name, file in files.items()
    }
    return (
        low
        | {"hits": hits, "hits-sd": hits**0.5}
        | {
            f"ir-{which}-{name}-{SHORT.get(file, file)}": value
            for file, column in values.items()
            for (which, name), value in column.dropna().items()
        }
    )


def finding_numbers(looked):
    """What the text says of single findings, and of files that are opposed.

    ``differ`` is how many findings are seen in the stand-in and not in a quarter, or
    the other way round; ``tail`` which part of the riskiest 1% has the largest 2.5% of
    the incomes, in percent.
    """
    rises = "Fewer risks rise by .25 under Marginal than between halves of a release"
    decisions = pd.DataFrame(
        {name: table["decision"] for name, table in looked.items()}
    )
    numbers = {
        f"rises-{SHORT[name]}": looked[name].loc[rises, "measure"] for name in QUARTERS
    }
    low = "Most of the riskiest 1% of the records are not in the right tail"
    numbers |= {
        f"tail-{SHORT[name]}": 100 * (0.5 - looked[name].loc[low, "measure"])
        for name in QUARTERS
    }
    opposed = {
        name: (decisions["stand-in"] != decisions[name])
        & decisions[["stand-in", name]].isin(["seen", "not seen"]).all(axis=1)
        for name in QUARTERS
    }
    return numbers | {"differ": int(pd.DataFrame(opposed).any(axis=1).sum())}


def file_numbers(files):
    """What the text says of the files."""
    labels = {
        "income 0 (%)": "zeros",
        "place suppressed (%)": "suppressed",
        "up to 10,000 (%)": "low",
        f"shared by {SHARED_BY} and more (%)": "atoms",
        "residual sd of the logarithm": "residual",
    }
    found = {name: described(file) for name, file in files.items()}
    return {
        f"{label}-{SHORT[name]}": table[row]
        for name, table in found.items()
        for row, label in labels.items()
    }
