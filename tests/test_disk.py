"""Compiled models stay on disk: they must hold no data."""

import importlib
from pathlib import Path

import numpy as np
import pymc as pm
import pytest
from pytensor.link.numba import cache

import pseudopost as pp
from pseudopost import _source, compiled, mixture_chains
from pseudopost.mixture_starts import start
from pseudopost.mixture_sweeps import Records


class Leaky(pp.PoissonSynthesizer):
    def build_model(self):
        with pm.Model() as model:
            mu = pm.Exponential("mu", 0.01)
            logp = pm.logp(pm.Poisson.dist(mu), self.y)
            pp.weighted_likelihood("y", logp, np.ones(len(self.y)))
        return model


def test_a_function_is_kept_on_disk_once_it_is_compiled(tmp_path, monkeypatch):
    module = tmp_path / "numbers_of_mine.py"
    module.write_text("def add_one(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    function = importlib.import_module("numbers_of_mine").add_one
    kept = compiled.kept_on_disk(function)
    assert kept(1) == 2
    assert list(Path(kept.stats.cache_path).glob("numbers_of_mine.add_one_*.nbc"))
    again = compiled.kept_on_disk(function)
    assert again(1) == 2
    assert sum(again.stats.cache_hits.values()) == 1
    assert kept.targetoptions["nogil"]


@pytest.mark.slow
def test_what_is_kept_is_known_by_the_modules_that_it_was_made_from():
    rng = np.random.default_rng(1)
    records = Records(rng.normal(size=30), np.ones((30, 1)), np.ones(30), 0.05)
    data = mixture_chains.in_c_order(records)
    mixture_chains.run(data, start(data, 2, 2, 1), 0.0, 1, rng)
    digest = _source.digest_of_modules("pseudopost.mixture_chains")
    kept = Path(mixture_chains.run.stats.cache_path)
    names = [path.name for path in kept.glob("mixture_chains.run_*")]
    assert mixture_chains.run.py_func.__qualname__ == f"run_{digest[:12]}"
    assert any(name.startswith(f"mixture_chains.run_{digest[:12]}-") for name in names)


def test_without_a_file_of_its_own_a_function_is_compiled_all_the_same():
    space = {"__name__": "prompt"}
    exec("def add_one(x): return x + 1", space)
    with pytest.raises(RuntimeError, match="no locator available"):
        compiled.compiled(cache=True)(space["add_one"])
    function = compiled.kept_on_disk(space["add_one"])
    assert function(1) == 2
    assert function.targetoptions["nogil"]


def test_the_sweeps_are_kept_on_disk():
    assert mixture_chains.run.stats.cache_path


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
