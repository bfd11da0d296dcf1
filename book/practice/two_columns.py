"""What the chapter on two confidential columns fits, measures and draws."""

from typing import override

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from linearmodels.datasets import meps
from scipy.special import expit

import pseudopost as pp
from companion import by_profile, standard_error

LEVELS = np.array(["0", "1", "2", "3", "4 or more"], dtype=object)
COLOURS = dict(zip(("in turn", "side by side"), ("#0077bb", "#cc3311"), strict=True))
COLOURS |= {"Data": pp.plots.PALETTE["Data"]}


class OrderedSynthesizer(pp.Synthesizer):
    """Proportional odds: levels in an order, given predictors.

    Level k or one below has the probability expit(cut_k - x' slope).

    Parameters
    ----------
    y : ndarray of int, shape (n,)
        Place of each record's level, from 0 to the number of cuts.
    X : DataFrame, shape (n, columns)
    """

    default_chains = 5

    def __init__(self, y, X):
        self.y = y
        self.design = pp.design_matrix(X, len(y))

    @override
    def build_model(self):
        cuts, coords = int(self.y.max()), {"predictor": self.design.predictors[1:]}
        with pm.Model(coords=coords) as model:
            slope = pm.Normal("slope", 0, 1, dims="predictor")
            cut = pm.Normal(
                "cut",
                0,
                3,
                shape=cuts,
                transform=pm.distributions.transforms.ordered,
                initval=np.arange(cuts) - cuts / 2,
            )
            eta = pm.Data("X", self.design.X[:, 1:]) @ slope
            level = pm.Data("level", self.y)
            ends = pt.concatenate([[-np.inf], cut, [np.inf]])
            below, up_to = (pm.math.sigmoid(ends[level + k] - eta) for k in (0, 1))
            self.add_likelihood(pm.math.log(up_to - below))
        return model

    @override
    def draw_dataset(self, parameters, rng, X):
        up_to = expit(parameters["cut"] - (X[:, 1:] @ parameters["slope"])[:, None])
        return np.sum(rng.uniform(size=(len(X), 1)) > up_to, axis=1)


def survey():
    """Read the example of the chapter on your own data.

    Returns
    -------
    people : DataFrame, shape (n, 5)
    level : ndarray of int, shape (n,)
        Place of the number of conditions in `LEVELS`.
    y : ndarray, shape (n,)
        Expenditure, in dollars.
    """
    survey = meps.load()
    survey = survey.sample(by_profile(1500, len(survey)), random_state=1).sort_index()
    bands = pd.cut(survey["age"], [64, 69, 74, 79, 84, np.inf]).cat
    health = survey[["vegood", "good", "fair", "poor"]]
    people = pd.DataFrame(
        {
            "sex": np.where(survey["female"] == 1, "female", "male"),
            "age": bands.rename_categories(["65-69", "70-74", "75-79", "80-84", "85+"]),
            "black_or_hispanic": np.where(survey["blhisp"] == 1, "yes", "no"),
            "married": np.where(survey["marry"] == 1, "yes", "no"),
            "health": health.idxmax(axis=1).where(health.any(axis=1), "excellent"),
        }
    ).reset_index(drop=True)
    level = survey["totchr"].clip(upper=len(LEVELS) - 1).to_numpy(int)
    return people, level, survey["drugexp"].to_numpy(float)


def described(file):
    """Describe expenditure by number of conditions."""
    groups = pd.Series(file["expenditure"]).groupby(file["conditions"])
    found = groups.agg(records="size", mean="mean", median="median")
    return found.rename_axis("conditions")


def means(release):
    """Mean expenditure by number of conditions, in each file: shape (m, 5)."""
    conditions, y = (
        np.atleast_2d(release[name]) for name in ("conditions", "expenditure")
    )
    return np.stack(
        [
            [z[row == level].mean() for level in LEVELS]
            for row, z in zip(*np.broadcast_arrays(conditions, y), strict=True)
        ]
    )


def ratio(release):
    """Mean expenditure with most conditions over that with none, in each file."""
    found = means(release)
    return found[:, -1] / found[:, 0]


def shares(release):
    """Share of each number of conditions, in each file: shape (m, 5)."""
    rows = np.atleast_2d(release["conditions"])
    return np.stack([[np.mean(row == level) for level in LEVELS] for row in rows])


def each_file(release):
    """Give a release file by file."""
    m = max(len(np.atleast_2d(values)) for values in release.values())
    for at in range(m):
        yield {
            name: np.atleast_2d(values)[at % len(np.atleast_2d(values))]
            for name, values in release.items()
        }


def highest(risk, share=0.01):
    """Mean of the highest values, a share of them."""
    return np.sort(risk)[-round(share * len(risk)) :].mean()


def told(values, form="{:.4f}"):
    """Write a mean over files, with its error between chains."""
    return f"{form}\u00a0±\u00a0{form}".format(np.mean(values), standard_error(values))


def measured(releases, risk_of_both, risk_of_one):
    """Measure risks, the relation and the tail of each release.

    Parameters
    ----------
    releases : dict of dict
        By name: ``conditions`` and ``expenditure`` of 20 files.
    risk_of_both, risk_of_one : callable
        Risk of every record in one file; of expenditure alone.

    Returns
    -------
    dict of dict
        By name of the release and of the measure: its value in each file, and of the
        highest risks, which need all files, one.
    """
    found = {}
    for name, release in releases.items():
        both, one = (
            np.stack([risk(file) for file in each_file(release)])
            for risk in (risk_of_both, risk_of_one)
        )
        found[name] = {
            "both": both.mean(axis=1),
            "highest": highest(both.mean(axis=0)),
            "one": one.mean(axis=1),
            "ratio": ratio(release),
            "none": 100 * shares(release)[:, 0],
            "q90": np.quantile(release["expenditure"], 0.9, axis=1),
        }
    return found


def compared(found):
    """Show risks and the relation by release, from what :func:`measured` found."""
    return pd.DataFrame(
        {
            name: {
                "risk, both": told(each["both"]),
                "its highest 1%": f"{each['highest']:.3f}",
                "risk, expenditure": told(each["one"]),
                "ratio of means": told(each["ratio"], "{:.2f}"),
                "90% quantile": told(each["q90"], "{:,.0f}"),
            }
            for name, each in found.items()
        }
    ).T


def rises(found, base="Unweighted"):
    """Rises of both mean risks above those of a release, in standard errors."""
    return np.array(
        [
            (np.mean(each[of]) - np.mean(found[base][of]))
            / np.hypot(standard_error(each[of]), standard_error(found[base][of]))
            for name, each in found.items()
            if name != base
            for of in ("both", "one")
        ]
    )


def draw_relation(file, releases):
    """Mean expenditure by number of conditions."""
    _, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    ax.plot(LEVELS, means(file)[0], "o-", color=COLOURS["Data"], label="Data")
    for (name, release), marker in zip(releases.items(), "sv", strict=True):
        found = means(release)
        ax.errorbar(
            LEVELS,
            found.mean(axis=0),
            yerr=found.std(axis=0),
            marker=marker,
            capsize=3,
            color=COLOURS[name],
            label=name,
        )
    ax.set(xlabel="Conditions", ylabel="Mean expenditure (dollars)", ylim=0)
    ax.legend()


def draw_weights(y, level, weights):
    """Weights from one column and from both, against expenditure."""
    figure, axes = plt.subplots(
        1, 2, figsize=(8.5, 3.9), layout="constrained", sharey=True
    )
    colours = plt.cm.viridis(np.linspace(0, 0.9, len(LEVELS)))
    for ax, (name, values) in zip(axes, weights.items(), strict=True):
        for place, colour in enumerate(colours):
            at = level == place
            ax.scatter(
                y[at],
                values[at],
                s=4,
                linewidth=0,
                color=colour,
                label=LEVELS[place],
                rasterized=True,
            )
        ax.set(title=name, xscale="log", xlabel="Expenditure (dollars)")
    axes[0].set(ylabel="Weight", ylim=0)
    marks = axes[1].get_legend_handles_labels()
    style = {"title": "Conditions", "markerscale": 3, "ncols": len(LEVELS)}
    figure.legend(*marks, loc="outside lower center", **style)


# Numbers for the text


SHORT = {"conditions as they are": "kept", "side by side": "side", "in turn": "turn"}
SHORT |= {"Unweighted": "un", "expenditure alone": "one", "both columns": "both"}
SHORT |= {"both, scaled": "scaled"}


def numbers_of(found):
    """Means over the files of each release."""
    return {
        f"{measure}-{SHORT[name]}": np.mean(values)
        for name, each in found.items()
        for measure, values in each.items()
    }
