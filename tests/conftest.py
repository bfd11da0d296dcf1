import os
from types import MappingProxyType

import matplotlib as mpl
import numpy as np
import nutpie
import pytest
import xarray as xr
from hypothesis import settings

import pseudopost as pp
from pseudopost import compiled

os.environ["PSEUDOPOST_PROGRESS"] = "off"
mpl.use("Agg")
for profile, examples in (("usual", 100), ("thorough", 1000)):
    settings.register_profile(
        profile,
        deadline=None,
        derandomize=True,
        database=None,
        max_examples=examples,
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))


@pytest.fixture(autouse=True)
def _cache_off():
    pp.cache.off()
    yield
    pp.cache.off()


@pytest.fixture(scope="session")
def counts():
    return pp.datasets.negative_binomial_mixture(random_seed=1).to_numpy()


@pytest.fixture(scope="session")
def synthesizer(counts):
    return pp.NegativeBinomialSynthesizer(counts)


@pytest.fixture(scope="session")
def fit(synthesizer):
    return synthesizer.fit(random_seed=1)


# Files of a minute or more: they go first, so that no worker is left alone with one.
LONGEST = {
    "test_mixture_fits.py",
    "test_reference_posteriors.py",
    "test_montecarlo.py",
    "test_mixture_exchanges.py",
    "test_synthesizers.py",
    "test_properties.py",
    "test_states.py",
    "test_mixture_starts.py",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name not in LONGEST)
    for item in items:
        if {"fit", "sample_calls"} & set(item.fixturenames):  # they sample
            item.add_marker("slow")


class FakeNutpie:
    """Compiles nothing, returns what the test puts in `posterior` and `diverging`, and keeps every call."""

    shared_var_keys = MappingProxyType({})

    def __init__(self):
        self.posterior = {"mu": np.random.default_rng(1).normal(5, 0.1, size=(2, 1000))}
        self.diverging = np.zeros((2, 1000), dtype=bool)
        self.compiled = 0
        self.cancelled = False
        self.calls = []

    def compile_pymc_model(self, model, **settings):
        self.compiled += 1
        return self

    def with_data(self):
        return self

    def sample(self, compiled, **settings):
        self.calls.append(settings)
        return self

    def cancel(self):
        self.cancelled = True

    def wait(self):
        dims = ("chain", "draw")
        posterior = xr.Dataset(
            {name: (dims, value) for name, value in self.posterior.items()}
        )
        return xr.DataTree.from_dict(
            {
                "posterior": posterior,
                "sample_stats": xr.Dataset({"diverging": (dims, self.diverging)}),
            }
        )


@pytest.fixture
def fake_nutpie(monkeypatch):
    """Nutpie replaced where only the calls matter, not the draws."""
    fake = FakeNutpie()
    monkeypatch.setattr(compiled, "SAMPLERS", {})
    monkeypatch.setattr(nutpie, "compile_pymc_model", fake.compile_pymc_model)
    monkeypatch.setattr(nutpie, "sample", fake.sample)
    return fake


@pytest.fixture
def sample_calls(monkeypatch):
    """One entry for every call of the real nutpie.sample."""
    calls, sample = [], nutpie.sample

    def counted(*args, **kwargs):
        calls.append(kwargs)
        return sample(*args, **kwargs)

    monkeypatch.setattr(nutpie, "sample", counted)
    return calls
