"""Repeated incomes: what three ways to treat them do to agreement, risk and utility.

A floor of sigma; intervals, in which a value that was rounded lies anywhere; atoms,
drawn as such, with the mixture for all other records. On a quarter, weights of 1. What
is found is stored in data/atoms.csv.

Run from the repository root: python benchmarks/atoms.py --data ce2016q1
"""

import argparse
import os
from datetime import date
from pathlib import Path
from unittest import mock

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
from scipy import special
from sweeps import FILES, KNOWN, VARYING, measures, read, timed, tiny_fit

import pseudopost as pp
from pseudopost import mixture_chains

STORE = Path("data/atoms.csv")
K, CHAINS, TUNE, DRAWS, FILES_RELEASED = 6, 5, 200, 400, 100
OFTEN = 10  # records with the same value that make it an atom
CELLS = ["earner", "age"]  # atoms are drawn given these
SEED = 1


def main():
    """Print and store what each treatment does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", choices=["ce2016q1", "ce2014q1"], default="ce2016q1")
    name = parser.parse_args().data
    y, X = read(name, 1)
    values, of, count = np.unique(y, return_inverse=True, return_counts=True)
    atom = np.where(count[of] >= OFTEN, of, -1)
    print(
        f"{name}, n {len(y)}; {(count >= OFTEN).sum()} atoms hold {(atom >= 0).sum()} "
        f"records; K {K}, {' and '.join(VARYING)} vary, {CHAINS} chains",
        flush=True,
    )
    tiny_fit()
    shift = FILES[name][1]
    treatments = {
        f"floor {floor}": lambda floor=floor: by_floor(y, X, shift, floor)
        for floor in (0.01, 0.05, 0.2)
    }
    treatments["intervals"] = lambda: by_intervals(y, X, shift)
    treatments["atoms"] = lambda: by_atoms(y, X, shift, atom, values)
    for treatment, fit_and_release in treatments.items():
        agreement, released = fit_and_release()
        by_chain = pd.DataFrame(
            [
                judged(y, X, np.round(files), atom, values)
                for files in np.split(released, CHAINS)
            ]
        )
        found = pd.DataFrame(
            {
                "value": pd.concat([pd.Series(agreement), by_chain.mean()]),
                "standard_error": by_chain.sem(),
            }
        ).loc[[*agreement, *by_chain]]
        print(f"\n{treatment}\n{found.to_string()}", flush=True)
        store(found.drop(index="seconds").rename_axis("measure"), name, treatment)


def store(found, name, treatment):
    """Put what was found in the place of what is stored of this file and treatment."""
    found = found.reset_index()
    found.insert(0, "file", name)
    found.insert(1, "treatment", treatment)
    found["measured"] = date.today()
    if STORE.exists():
        old = pd.read_csv(STORE)
        same = (old["file"] == name) & (old["treatment"] == treatment)
        found = pd.concat([old[~same], found])
    found.to_csv(STORE, index=False, float_format="%.5g")


def of_fit(fit, seconds):
    """Agreement of the chains of a fit."""
    found = measures(fit)
    return {
        "seconds": seconds,
        "worst R-hat": found["R-hat"].max(),
        "smallest bulk ESS": found["bulk ESS"].min(),
        "sweeps a draw": fit["sample_stats"].attrs["sweeps_per_draw"],
        "components with records": fit["sample_stats"]["occupied"].mean().item(),
    }


def by_floor(y, X, shift, floor):
    """Fit and release the smaller model with this floor."""
    synthesizer = pp.MixtureSynthesizer(y, X, K, floor, shift, VARYING)
    fit, seconds = timed(
        synthesizer, np.ones(len(y)), draws=DRAWS, tune=TUNE, random_seed=SEED
    )
    released = synthesizer.synthesize(fit, FILES_RELEASED, SEED)
    return of_fit(fit, seconds), released.to_numpy()


def by_atoms(y, X, shift, atom, values):
    """Draw for each record an atom or none given its cell; if none, from the mixture.

    The probabilities of a cell are Dirichlet draws, whose prior is the whole file. A
    record that leaves its atom gets a component by the shares, having no value that
    would speak for one.
    """
    own = atom < 0
    synthesizer = pp.MixtureSynthesizer(y[own], _used(X[own]), K, 0.05, shift, VARYING)
    fit, seconds = timed(
        synthesizer, np.ones(own.sum()), draws=DRAWS, tune=TUNE, random_seed=SEED
    )
    rng = np.random.default_rng(SEED)
    released = synthesizer.synthesize(fit, FILES_RELEASED, SEED).to_numpy()
    files = np.empty((FILES_RELEASED, len(y)))
    files[:, own] = released
    posterior = fit["posterior"].to_dataset().stack(sample=("chain", "draw"))  # noqa: PD013
    size = posterior.sizes["sample"]
    spaced = ((np.arange(FILES_RELEASED) + 0.5) * size / FILES_RELEASED).astype(int)
    columns = {name: j for j, name in enumerate(synthesizer.predictors)}
    design, predictors, *_ = pp.design_matrix(X, len(y))
    here = np.zeros((len(y), len(columns)))
    for j, predictor in enumerate(predictors):
        if predictor in columns:
            here[:, columns[predictor]] = design[:, j]
    kinds, kind = np.unique(atom, return_inverse=True)
    whole = np.bincount(kind) / len(y)
    cells = X.groupby(CELLS, observed=True).ngroup().to_numpy()
    for m, place in enumerate(spaced):
        draw = posterior.isel(sample=place)
        beta = draw["beta"].transpose("component", "predictor").to_numpy()
        pi, sigma = draw["pi"].to_numpy(), draw["sigma"].to_numpy()
        k = rng.choice(K, size=len(y), p=pi / pi.sum())
        mean = np.einsum("ir,ir->i", here, beta[k])
        drawn = np.exp(rng.normal(mean, sigma[k])) - shift
        files[m, ~own] = drawn[~own]
        for cell in range(cells.max() + 1):
            rows = np.flatnonzero(cells == cell)
            counts = np.bincount(kind[rows], minlength=len(kinds))
            chosen = kinds[
                rng.choice(
                    len(kinds), size=len(rows), p=rng.dirichlet(counts + 5 * whole)
                )
            ]
            files[m, rows[chosen >= 0]] = values[chosen[chosen >= 0]]
    return of_fit(fit, seconds), files


def _used(X):
    return X.apply(lambda column: column.cat.remove_unused_categories())


def half_width(y):
    """Say how far from `y` a value may have been: half the unit of its rounding."""
    units = [1000, 100, 10]
    rounded = [np.isclose(y % unit, 0) for unit in units]
    return np.select(rounded, [unit / 2 for unit in units], 0.5)


def by_intervals(y, X, shift):
    """Fit with values that are known up to their rounding, by sweeps that draw them."""
    half = half_width(y)
    low, high = np.log(y + shift - half), np.log(y + shift + half)
    sweep_once, of_chain = mixture_chains.run, {}

    def run(data, state, extra, sweeps, rng):
        at = of_chain.setdefault(id(state.z), data.y.copy())
        for _ in range(sweeps):
            sweep_once(data._replace(y=at), state, extra, 1, rng)
            centre = state.mean[state.z, np.arange(len(y))] + data.Z @ state.slope
            scale = state.sigma[state.z]
            below, above = (special.ndtr((e - centre) / scale) for e in (low, high))
            level = below + (above - below) * rng.random(len(y))
            new = centre + scale * special.ndtri(level)
            at[:] = np.where(np.isfinite(new), np.clip(new, low, high), at)

    with mock.patch.object(mixture_chains, "run", run):
        return by_floor(y, X, shift, floor=0.001)


def judged(y, X, released, atom, values):
    """Risk of an intruder of P2, in atoms and outside, and what the files preserve."""
    risk = pp.identification_risk(y, released, 0.2, X[KNOWN])
    levels = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])
    quantiles, own = np.quantile(released, levels, axis=1), np.quantile(y, levels)
    error = np.abs(quantiles.mean(axis=1) / own - 1)
    in_atom, earns = atom >= 0, X["earner"].to_numpy() == X["earner"].mode()[0]
    near = np.abs(released - y) <= 0.2 * y
    gap = released[:, earns].mean(axis=1) / released[:, ~earns].mean(axis=1)
    return {
        "mean risk": risk.mean(),
        "mean risk, in an atom": risk[in_atom].mean(),
        "mean risk, outside": risk[~in_atom].mean(),
        "within 20% of the own (%), in an atom": 100 * near[:, in_atom].mean(),
        "within 20% of the own (%), outside": 100 * near[:, ~in_atom].mean(),
        "on an atom (%), data": 100 * in_atom.mean(),
        "on an atom (%), released": 100
        * np.isin(released, values[np.unique(atom[in_atom])]).mean(),
        "own value released (%), in an atom": 100
        * (released[:, in_atom] == y[in_atom]).mean(),
        "error of seven quantiles (%)": 100 * error.mean(),
        "largest of them (%)": 100 * error.max(),
        "earners' mean over others', error (%)": 100
        * (gap.mean() / (y[earns].mean() / y[~earns].mean()) - 1),
    }


if __name__ == "__main__":
    main()
