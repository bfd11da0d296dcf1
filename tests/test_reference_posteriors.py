"""Fits of the mixture against posteriors that NUTS drew, stored with their errors."""

import json
from pathlib import Path

import arviz as az
import numpy as np
import pandas as pd
import pytest
from reference import PAIRS, made

ROOT = Path(__file__).parents[1]
STORED = json.loads((ROOT / "data" / "reference_posteriors.json").read_text())
pair = pytest.mark.parametrize("name", PAIRS)


def quantities(name):
    return pd.DataFrame(STORED[name]["quantities"]).T


@pair
def test_the_reference_can_be_believed(name):
    found = quantities(name)
    assert found["rhat"].max() <= 1.01
    assert found["ess_bulk"].min() >= 400
    assert len(found) == 24


@pair
def test_the_reference_is_of_the_pair_that_is_fitted(name):
    file, seed, K, varying, pairwise = PAIRS[name]
    stored = STORED[name]
    assert stored["file"] == file
    assert stored["file seed"] == seed
    assert stored["components"] == K
    assert stored["varying"] == varying
    assert stored["weights"] == ("pairwise" if pairwise else "1")


@pytest.mark.slow
@pair
def test_a_fit_is_the_reference(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    synthesizer, weights = made(name)
    settings = {"draws": 400, "tune": 200}  # those of the book
    fit = synthesizer.fit(weights, random_seed=1, progressbar=False, **settings)
    judged = fit["label_invariant"].to_dataset()
    ours = {
        "mean": judged.mean(("chain", "draw")),
        "sd": judged.std(("chain", "draw")),
        "mcse_mean": az.mcse(judged, method="mean"),
        "mcse_sd": az.mcse(judged, method="sd"),
    }
    found = pd.DataFrame(
        {
            label: np.concatenate([np.ravel(values[name]) for name in judged])
            for label, values in ours.items()
        }
    )
    expected = quantities(name).reset_index(drop=True)
    for statistic in ("mean", "sd"):
        error = np.hypot(found[f"mcse_{statistic}"], expected[f"mcse_{statistic}"])
        apart = (found[statistic] - expected[statistic]) / error
        assert apart.abs().max() < 4
        assert (error < 0.1 * expected["sd"]).all()
