"""Two packages that measure the privacy of synthetic files, on releases of the book.

anonymeter and SDMetrics ask for older versions of NumPy and pandas than the book's, so
they are in a folder of their own; CONTENTS of `data/README.md` say how it was made.
"""

import argparse
import sys
import warnings
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

import pseudopost as pp

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "book"), str(ROOT / "book" / "beyond")]
KNOWN = ["gender", "age", "region"]
ROWS = 300  # whose distances are computed


def releases_of(n, components, tune, draws, files):
    """Make the stand-in, a file of other people, and the releases, (files, n) each."""
    from companion import Study
    from other_rulers import controls

    data = pp.datasets.consumer_expenditure(n, random_seed=1)
    others = pp.datasets.consumer_expenditure(n, random_seed=2)
    sampling = {"draws": draws, "tune": tune, "random_seed": 1}
    study = Study(data, "income", KNOWN, components, shift=10_000, **sampling)
    codes = data.groupby(KNOWN, observed=True).ngroup().to_numpy()
    # Neither package takes categories of pandas throughout.
    data, others = (
        d.astype({name: object for name in d.columns if name != "income"})
        for d in (data, others)
    )
    found = controls(study.y, codes, files, np.random.default_rng(1))
    # The packages draw, too: of one release they see as many as of the others.
    found["Confidential"] = np.tile(found["Confidential"], (files, 1))
    for order, name in enumerate(("Unweighted", "Marginal", "Pairwise")):
        w = None
        if order:
            w = pp.pairwise_weights(
                study.y, None, patterns=codes, order=order, ball="signed", alone=1.0
            )
        study.fits[name] = study.fit(w)
        # Twenty, as elsewhere, of which some are measured: one from each chain.
        z = study.synthesize(name, 20)
        found[name] = z[np.linspace(0, 19, files).round().astype(int)]
    return data, others, found


def anonymeter(data, released, others, attacks, seed):
    """Risks of anonymeter: the share of right guesses beyond that on other people."""
    from anonymeter.evaluators import (
        InferenceEvaluator,
        LinkabilityEvaluator,
        SinglingOutEvaluator,
    )

    names = [name for name in data.columns if name != "income"]
    alike = {"ori": data, "syn": released, "control": others, "n_attacks": attacks}
    single = SinglingOutEvaluator(**alike, n_cols=4, seed=seed)
    single.evaluate(mode="multivariate")
    link = LinkabilityEvaluator(**alike, aux_cols=(names[:5], names[5:]))
    link.evaluate()
    with_income = LinkabilityEvaluator(**alike, aux_cols=(names, ["income"]))
    with_income.evaluate()
    infer = InferenceEvaluator(
        **alike, aux_cols=names, secret="income", regression=True
    )
    infer.evaluate()
    found = {
        "singling out": single,
        "linkability, predictors": link,
        "linkability, income": with_income,
        "inference of income": infer,
    }
    return {f"anonymeter: {name}": e.risk().value for name, e in found.items()}


def sdmetrics(data, released, others, seed):
    """Scores of SDMetrics: 1 for the safest."""
    from sdmetrics.single_table import (
        DCRBaselineProtection,
        DCROverfittingProtection,
        DisclosureProtection,
    )

    names = [name for name in data.columns if name != "income"]
    # Its distances compare whole numbers sooner than words.
    every = pd.concat([data, released, others], keys=[0, 1, 2])
    every[names] = every[names].apply(lambda column: pd.factorize(column)[0])
    data, released, others = (every.loc[k] for k in range(3))
    columns = {name: {"sdtype": "categorical"} for name in names}
    columns["income"] = {"sdtype": "numerical"}
    metadata = {"tables": {"people": {"columns": columns}}}
    np.random.seed(seed)  # noqa: NPY002, SDMetrics has no other
    alike = {"metadata": metadata, "table_name": "people"}
    # Some released rows against the whole file. Its own argument for this,
    # num_rows_subsample, also takes a part of the file, without most of the rows that
    # were copied: a release that is the file then looks safe.
    some = released.sample(ROWS, random_state=seed)
    return {
        "SDMetrics: DisclosureProtection": DisclosureProtection.compute(
            data,
            released,
            known_column_names=KNOWN,
            sensitive_column_names=["income"],
            continuous_column_names=["income"],
        ),
        "SDMetrics: DCRBaselineProtection": DCRBaselineProtection.compute_breakdown(
            data, some, **alike
        )["score"],
        "SDMetrics: DCROverfittingProtection": (
            DCROverfittingProtection.compute_breakdown(data, some, others, **alike)[
                "score"
            ]
        ),
    }


def main():
    """Measure every release, and store what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=6208)
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--tune", type=int, default=200)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--files", type=int, default=2)
    parser.add_argument("--attacks", type=int, default=500)
    parser.add_argument("--out", default=ROOT / "data" / "rulers.csv")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    pp.cache.on()
    data, others, releases = releases_of(
        given.n, given.components, given.tune, given.draws, given.files
    )
    rows = []
    for file in range(given.files):
        for name, z in releases.items():
            income = z[file]
            released = data.assign(income=income)
            of = {"release": name, "file": file}
            values = anonymeter(data, released, others, given.attacks, seed=file)
            values |= sdmetrics(data, released, others, seed=file)
            rows += [of | {"ruler": k, "value": round(v, 5)} for k, v in values.items()]
            print(name, file, values, flush=True)
        # After each file, so that a run that is stopped leaves whole ones.
        versions = ", ".join(
            f"{p} {version(p)}" for p in ("anonymeter", "sdmetrics", "numpy", "pandas")
        )
        made = f"{versions}; {datetime.now(UTC).date().isoformat()}"
        table = pd.DataFrame(rows).assign(attacks=given.attacks, made=made)
        table.to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
