"""Compiled models stay on disk: they must hold no data."""

import numpy as np
import pymc as pm
import pytest
from pytensor.link.numba import cache

import pseudopost as pp
from pseudopost import compiled


class Leaky(pp.PoissonSynthesizer):
    def build_model(self):
        with pm.Model() as model:
            mu = pm.Exponential("mu", 0.01)
            logp = pm.logp(pm.Poisson.dist(mu), self.y)
            pp.weighted_likelihood("y", logp, np.ones(len(self.y)))
        return model


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "leaks"),
    [
        (pp.NegativeBinomialSynthesizer, False),
        (Leaky, True),
    ],
)
@pytest.mark.filterwarnings("ignore::pseudopost.ConvergenceWarning")
def test_compiled_models_on_disk_hold_no_data(model, leaks, monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "NUMBA_CACHE_PATH", tmp_path)
    monkeypatch.setattr(compiled, "SAMPLERS", {})
    y = np.sort(np.random.default_rng(1).integers(100, 10_000, size=40))
    synthesizer = model(y)
    synthesizer.log_likelihood(
        synthesizer.fit(draws=4, tune=4, chains=1, random_seed=1)
    )
    kept = [path.read_bytes() for path in tmp_path.iterdir()]
    assert kept
    values = [v.tobytes() for v in (y, y.astype(float), np.log(y))]
    assert any(v in code for v in values for code in kept) == leaks
