"""What the chapters share: set-up, sizes, numbers for the text, claims, tables.

It lies beside the chapters, and so in every edition. A chapter's own functions are in
a module of its own beside it: figures, checks of claims, and whatever would hide the
idea of a cell.
"""

import os
import warnings
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd
from IPython.display import Markdown, display
from scipy import stats

import pseudopost as pp
from pseudopost.convergence import share_of_wanted

try:
    from myst_nb import glue
except ImportError:  # only the built book puts numbers into its text
    glue = None

SEED = 1
PROFILES = ("class", "book", "paper")
PROFILE = os.environ.get("PSEUDOPOST_PROFILE", "book")
if PROFILE not in PROFILES:
    raise ValueError(f"PSEUDOPOST_PROFILE must be one of {PROFILES}; it is {PROFILE!r}")
LEDGER = Path(__file__).with_name("ledger.csv")
SMALL_RUN = (
    "*A small run.* This page was computed with the profile `class`, which has fewer "
    "records, draws or repetitions wherever those of the book take long. Its numbers "
    "may differ from the book's, and so may its verdicts."
)


def start():
    """Keep fits on disk, print plainly, and say so if the run is a small one."""
    pp.cache.on()
    np.set_printoptions(legacy="1.25")  # print 1.5, not np.float64(1.5)
    pd.set_option("display.max_colwidth", None)
    print_what_fits_say()
    say_if_small()


def print_what_fits_say():
    """Print what a fit says about its convergence below the cell that makes it."""
    warnings.simplefilter("default", pp.ConvergenceWarning)
    warnings.showwarning = print_convergence


def print_convergence(message, category, *place, shown=warnings.showwarning):
    """Show a warning, or print it if it is about convergence."""
    if issubclass(category, pp.ConvergenceWarning):
        print(fill(str(message), 72))
    else:
        shown(message, category, *place)


def say_if_small():
    """Say on the page that its numbers are those of a small run, if they are."""
    if PROFILE == "class":
        display(Markdown(SMALL_RUN))


def by_profile(small, book, paper=None):
    """Choose a size: for a class, for the book, or as in the papers."""
    paper = book if paper is None else paper
    return dict(zip(PROFILES, (small, book, paper), strict=True))[PROFILE]


def numbers(values):
    """Put values into the text of the chapter, by name."""
    if glue is None:
        return
    for name, value in values.items():
        glue(name, value.item() if hasattr(value, "item") else value, display=False)


def claims(checks):
    """Set the ledger's statements beside what was found.

    Parameters
    ----------
    checks : dict
        By id of the ledger: what was found, in words, and whether the statement holds.

    Returns
    -------
    DataFrame
        Columns ``what``, ``published``, ``ours``, ``holds``.
    """
    found = pd.DataFrame.from_dict(checks, orient="index", columns=["ours", "holds"])
    ledger = pd.read_csv(LEDGER, index_col="id")
    table = ledger.loc[found.index, ["what", "published"]].rename_axis(None)
    return table.join(found.astype({"holds": bool}))


def styled(table, default="{:.3f}", rows=None, columns=None):
    """Format a table, by row or by column where one format does not serve all."""
    style = table.style.set_table_attributes('class="dataframe"').format(default)
    for name, form in (rows or {}).items():
        style = style.format(form, subset=([name], slice(None)))
    for name, form in (columns or {}).items():
        style = style.format(form, subset=[name])
    return style


def density(values, grid, width):
    """Kernel density on a grid; `width` is the standard deviation of the kernel."""
    return stats.gaussian_kde(values, width / np.std(values, ddof=1))(grid)


def earner(people, income, weights=None):
    """Coefficient of not earning: income on region, urban status and earner.

    Parameters
    ----------
    people : DataFrame, shape (n, ...)
    income : array-like, shape (n,) or (m, n)
        One file or several.
    weights : array-like, shape (n,), optional
        Of weighted least squares.

    Returns
    -------
    coefficient, variance : float or ndarray, shape (m,)
    """
    X = pd.get_dummies(
        people[["region", "urban", "earner"]], drop_first=True, dtype=float
    )
    X.insert(0, "intercept", 1.0)
    k, X = X.columns.get_loc("earner_Not an earner"), X.to_numpy()
    income = np.asarray(income, dtype=float)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights)
    bread = np.linalg.inv((X.T * weights) @ X)
    beta = (income * weights) @ X @ bread
    residual = income - beta @ X.T
    variance = residual**2 @ weights / (X.shape[0] - X.shape[1]) * bread[k, k]
    return beta[..., k], variance


def shuffled(values, groups, n_files, rng):
    """Deal values out at random within groups of records, once for each file.

    Parameters
    ----------
    values : array-like, shape (n,)
    groups : iterable of ndarray of int
        Places of the records of each group.
    n_files : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray, shape (n_files, n)
    """
    files = np.tile(np.asarray(values, dtype=float), (n_files, 1))
    for file in files:
        for places in groups:
            file[places] = rng.permutation(file[places])
    return files


def in_rows(log_likelihood):
    """Log-likelihoods with one row for each draw, chain after chain, shape (S, n)."""
    return log_likelihood.to_numpy().reshape(-1, log_likelihood.sizes["record"])


def by_chain(values):
    """Means over the synthetic files of each chain of a fit, shape (chains, ...).

    The chains of a mixture start apart and have seeds of their own, so they are as many
    independent fits.

    Parameters
    ----------
    values : array-like, shape (m, ...)
        By synthetic file, in order; m is a multiple of the number of chains.
    """
    values = np.asarray(values, dtype=float)
    chains = pp.MixtureSynthesizer.default_chains
    return values.reshape(chains, -1, *values.shape[1:]).mean(axis=1)


def standard_error(values):
    """Standard error of a mean over the synthetic files of a fit, from its chains."""
    means = by_chain(values)
    return means.std(axis=0, ddof=1) / np.sqrt(len(means))


def contrasts(released, measures):
    """Two synthesizers, their difference, and its standard error between fits.

    Parameters
    ----------
    released : list of tuple
        By simulated file: what the measures need of it, and synthetic files of the one
        and of the other synthesizer, shape (m, n), as of :func:`by_chain`.
    measures : dict of callable
        By label: a number from what is known of a file and some synthetic files of it.

    Returns
    -------
    DataFrame
        A row for each measure. The standard error counts each chain as a fit, and does
        not count that there could have been other simulated files.
    """
    chains, rows = pp.MixtureSynthesizer.default_chains, {}
    for label, measure in measures.items():
        values = np.array(
            [
                [[measure(of, z) for z in np.split(each, chains)] for each in both]
                for of, *both in released
            ]
        )
        first, second = values.mean(axis=(0, 2))
        variance = (values.var(axis=2, ddof=1) / chains).sum()
        rows[label] = {
            "first": first,
            "second": second,
            "difference": second - first,
            "standard error": np.sqrt(variance) / len(values),
        }
    return pd.DataFrame(rows).T


def widening(values):
    """What the fit adds to standard errors over synthetic files: a factor, at least 1.

    One fit gives the standard error of a single record with four degrees of freedom, so
    the variances of all records are put together.

    Parameters
    ----------
    values : ndarray, shape (m, n)
    """
    between = np.mean(standard_error(values) ** 2)
    return max(1.0, np.sqrt(between / np.mean(values.var(axis=0) / len(values))))


class Study:
    """One file, the mixture synthesizers that were fitted to it, and their risks.

    Parameters
    ----------
    data : DataFrame
        Predictors and, in the column `response`, the confidential values.
    response : str
    known : list of str
        Columns that the intruder knows.
    n_components : int
    shift : float
    radius : float
    alone : float, optional
        As in :func:`pseudopost.identification_risk`.
    varying : list of str, optional
        As in :class:`pseudopost.MixtureSynthesizer`.
    **sampling
        ``draws``, ``tune`` and ``random_seed`` of every fit; the seed is also that of
        the synthetic files.

    Attributes
    ----------
    y : ndarray, shape (n,)
    model : MixtureSynthesizer
    weights, fits, z, risk : dict
        By name of the synthesizer: record weights, fit, synthetic files, shape (m, n),
        and risks, shape (n,).
    """

    def __init__(
        self,
        data,
        response,
        known,
        n_components,
        *,
        shift=0.0,
        radius=0.2,
        alone=None,
        varying=None,
        **sampling,
    ):
        self.data, self.known, self.sampling = data, known, sampling
        self.radius, self.alone = radius, alone
        self.y = data[response].to_numpy()
        self.model = pp.MixtureSynthesizer(
            self.y,
            data.drop(columns=response),
            n_components,
            shift=shift,
            varying=varying,
        )
        self.weights, self.fits, self.z, self.risk = {}, {}, {}, {}

    def add(self, name, weights=None, n_datasets=20, **settings):
        """Fit under weights, by default 1; draw synthetic files; measure their risk."""
        self.weights[name] = np.ones(len(self.y)) if weights is None else weights
        self.fits[name] = self.fit(weights)
        self.z[name] = self.synthesize(name, n_datasets, **settings)
        self.risk[name] = self.risk_of(self.z[name])

    def fit(self, weights=None):
        """Fit under weights; once more with twice the draws if these can be enough.

        More draws do not bring chains together that disagree, and twice as many are not
        enough where less than half was found, so such fits stay as they are, and so
        does a small run.
        """
        fit = self.model.fit(weights, progressbar=False, **self.sampling)
        problems = fit.attrs["not_converged"]
        if not problems or "R-hat" in problems or PROFILE == "class":
            return fit
        judged = {name: v.to_numpy() for name, v in fit["label_invariant"].items()}
        if share_of_wanted(judged) < 0.5:
            return fit
        twice = 2 * self.sampling["draws"]
        print(f"fitted once more, with {twice} draws in place of {twice // 2}")
        settings = self.sampling | {"draws": twice}
        return self.model.fit(weights, progressbar=False, **settings)

    def synthesize(self, name, n_datasets, random_seed=None, **settings):
        """Draw more synthetic files from a fit."""
        seed = self.sampling["random_seed"] if random_seed is None else random_seed
        return self.model.synthesize(
            self.fits[name], n_datasets, random_seed=seed, **settings
        ).to_numpy()

    def risk_of(self, released, radius=None, alone=None):
        """Identification risk of each record in released files."""
        return pp.identification_risk(
            self.y,
            released,
            self.radius if radius is None else radius,
            self.data[self.known],
            alone=self.alone if alone is None else alone,
        )
