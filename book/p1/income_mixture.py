"""The stand-in for the file of incomes, and the mixture that is fitted to it.

Shared by the three chapters on the mixture: the file, the settings of a fit, and how far
synthetic files are from the data.
"""

import arviz as az
import numpy as np
import pandas as pd
from scipy import stats

import pseudopost as pp
from companion import by_profile

SHIFT = 10_000  # some incomes have no logarithm
K = by_profile(4, 10, 20)
DRAWS, TUNE = by_profile((40, 40), (400, 200), (2000, 1000))
PATTERN = ["gender", "age", "region"]  # what an intruder knows
GAP = "gap of distribution functions"
BULK, TAIL = "error of quantiles, 5% to 95%", "error of quantiles, 99% to 99.9%"
CLOSE, RISK, TOP = "share with T = 1", "mean risk", "mean risk, top 1%"


def file(random_seed):
    """Incomes, shape (n,), and the predictors of the same households."""
    ce = pp.datasets.consumer_expenditure(
        by_profile(1000, 6208), random_seed=random_seed
    )
    return ce["income"].to_numpy(), ce.drop(columns="income")


def fitted(income, people, n_components, random_seed):
    """A synthesizer, its fit, and 20 synthetic files."""
    model = pp.MixtureSynthesizer(income, people, n_components, shift=SHIFT)
    fit = model.fit(draws=DRAWS, tune=TUNE, random_seed=random_seed)
    files = model.synthesize(fit, n_datasets=20, random_seed=random_seed)
    return model, fit, files.to_numpy()


def top(income):
    """Which incomes are among the largest 1%."""
    return income >= np.quantile(income, 0.99)


def risk_of(z, income, people):
    """Identification risk of each record in synthetic files."""
    known = people[PATTERN]
    return pp.identification_risk(income, z, radius=0.2, patterns=known, alone=0)


def quantile_ratio(z, income, levels):
    """Quantiles of synthetic files, mean over the files, over those of the data."""
    return np.quantile(z, levels, axis=1).mean(axis=1) / np.quantile(income, levels)


def quantile_error(z, income, levels):
    """Mean absolute error of synthetic quantiles, in percent."""
    return 100 * np.abs(quantile_ratio(z, income, levels) - 1).mean()


def distances(z, income):
    """Distances of synthetic files from the data."""
    return {
        GAP: np.mean([stats.ks_2samp(file, income).statistic for file in z]),
        BULK: quantile_error(z, income, np.linspace(0.05, 0.95, 91)),
        TAIL: quantile_error(z, income, np.linspace(0.99, 0.999, 10)),
    }


def judged(z, income, people):
    """How far synthetic files are from the data, and how risky they are."""
    risk = risk_of(z, income, people)
    return distances(z, income) | {
        CLOSE: (np.abs(z - income) <= 0.2 * np.abs(income)).mean(),
        RISK: risk.mean(),
        TOP: risk[top(income)].mean(),
    }


def density_arguments(draw, X):
    """Means, log shares and log sigmas of one draw, as the density takes them."""
    pi, beta, sigma = (draw[name].to_numpy() for name in ("pi", "beta", "sigma"))
    return beta @ X.T, np.log(np.maximum(pi, np.finfo(float).tiny)), np.log(sigma)


# Of the group label_invariant of a fit: the records, and the quantiles of the data.
RECORDS = [
    "smallest",
    "0.1%",
    "1%",
    "10%",
    "30%",
    "50%",
    "70%",
    "90%",
    "99%",
    "largest",
]
LABELS = {
    "log_likelihood": RECORDS,
    "mean": [""],
    "distribution": ["1%", "5%", "25%", "50%", "75%", "95%", "99%"],
    "released_quantile": ["5%", "25%", "50%", "75%", "95%"],
    "released_near_own": [""],
}


def convergence(fit):
    """R-hat and effective sample size of what does not depend on labels."""
    values = fit["label_invariant"].to_dataset()
    found = {"R-hat": az.rhat(values), "ESS": az.ess(values, method="bulk")}
    return pd.DataFrame(
        {
            name: pd.concat(
                {
                    q: pd.Series(np.ravel(v[q].to_numpy()), at)
                    for q, at in LABELS.items()
                }
            )
            for name, v in found.items()
        }
    ).rename_axis(["quantity", "at"])


def worst(fit):
    """Largest R-hat and smallest effective sample size of what has no labels."""
    table = convergence(fit)
    return {"largest R-hat": table["R-hat"].max(), "smallest ESS": table["ESS"].min()}
