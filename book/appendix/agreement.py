"""Short chains and long ones: headline numbers, their errors, figure, text."""

from datetime import date
from importlib.metadata import version
from pathlib import Path

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

import pseudopost as pp

STORED = Path(__file__).parents[2] / "data" / "headline_paper.csv"
KEY = ["paper", "synthesizer", "number"]
FILES = 1000  # synthetic files of a fit of the mixture
RUNS = 8  # of the counts, each from its own seed
S = 1000  # draws that a bound is the maximum over


def with_diagnostics(values, chains):
    """Mean of values in the order of the chains, its Monte Carlo error, and R-hat."""
    by_chain = values.reshape(chains, -1)
    return {
        "value": values.mean(),
        "error": float(az.mcse(by_chain)),
        "R-hat": float(az.rhat(by_chain)),
    }


def headline_numbers(paper, study):
    """Risk and quantiles over many synthetic files of every fit that has converged."""
    rows = {}
    for name, fit in study.fits.items():
        if fit.attrs["not_converged"]:
            continue
        z, chains = study.synthesize(name, FILES), fit["posterior"].sizes["chain"]
        of_files = {
            "mean risk": np.array([study.risk_of(one[None]).mean() for one in z]),
            "median": np.quantile(z, 0.5, axis=1),
            "90% quantile": np.quantile(z, 0.9, axis=1),
        }
        for number, values in of_files.items():
            rows[paper, name, number] = with_diagnostics(values, chains)
    index = pd.MultiIndex.from_tuples(rows, names=KEY)
    return pd.DataFrame(rows.values(), index, ["value", "error", "R-hat"])


def spaced(draws):
    """Evenly spaced rows, as many as a bound is the maximum over."""
    return draws[np.linspace(0, len(draws) - 1, S).round().astype(int)]


def keep(numbers):
    """Store numbers of profile `paper`, with the versions that computed them."""
    made_with = ", ".join(f"{p} {version(p)}" for p in ("pseudopost", "pymc", "nutpie"))
    new = numbers.assign(**{"made with": f"{made_with}, {date.today()}"})
    old = pd.read_csv(STORED, index_col=KEY) if STORED.exists() else new[:0]
    table = pd.concat([new, old.drop(index=new.index, errors="ignore")])
    table.to_csv(STORED, float_format="%.6g", lineterminator="\n")


def kept(index):
    """Numbers of profile `paper`, for the rows of a table."""
    return pd.read_csv(STORED, index_col=KEY).loc[index]


def with_error(row):
    """A value and its error, to two digits of the error."""
    digits = max(0, 1 - int(np.floor(np.log10(row["error"]))))
    value, error = (f"{row[name]:,.{digits}f}" for name in ("value", "error"))
    return f"{value}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{error}"


def plot_differences(scaled, limit):
    """Differences in units of their Monte Carlo errors, and the band of chance."""
    rows = scaled.rename("z").reset_index()
    _, ax = plt.subplots(figsize=(5.6, 6), layout="constrained")
    ax.axvspan(-limit, limit, color="0.93", zorder=0)
    ax.axvline(0, color="0.5", linewidth=1)
    ax.scatter(
        rows["z"],
        rows[KEY].agg(", ".join, axis=1),
        c=rows["synthesizer"].map(pp.plots.PALETTE),
        zorder=2,
    )
    ax.set(xlabel="Difference / Monte Carlo error")
    ax.invert_yaxis()


def text_on_agreement(scaled, limit, relative):
    """How many differences are large, and how large the largest are."""
    key = relative.index.get_level_values
    of_incomes = relative[(key("paper") == "P2") & (key("number") != "mean risk")]
    return {
        "how-many": len(scaled),
        "beyond-two": (scaled.abs() > 2).sum(),
        "expected": 2 * stats.norm.sf(2) * len(scaled),
        "largest": scaled.abs().max(),
        "limit": limit,
        "largest-relative": relative.abs().max(),
        "quantiles": len(of_incomes),
        "lower": (of_incomes < 0).sum(),
        "shortfall": -of_incomes.min() if len(of_incomes) else 0.0,
    }
