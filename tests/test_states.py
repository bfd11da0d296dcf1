"""Fits, their cache, interruptions and damage, in random order."""

import os
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import nutpie
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import pseudopost as pp

pytestmark = pytest.mark.slow
MORE = 10 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 1
DATA = ((4, 4, 6, 9), (0, 3, 3, 7, 12, 30))
SHARES = (1, 0.5, 0.25, 0, 0.75, 1)
SETTINGS = {"draws": 10, "tune": 20, "chains": 2, "progressbar": False}
# Posterior draws by model, weights and seed, as they were the first time.
FIRST = {}

models = st.integers(0, len(DATA) - 1)
fits = {"model": models, "weighted": st.booleans(), "seed": st.integers(0, 1)}


class Interrupted:
    """A sampling run that the user stops."""

    def __init__(self, run):
        self.cancel = run.cancel

    def wait(self):
        raise KeyboardInterrupt


def truncate(file, victim):
    file.write_bytes(file.read_bytes()[:-100])


def flip(file, victim):
    content = bytearray(file.read_bytes() or b"0")
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def swap(file, victim):
    others = sorted(set(file.parent.glob("*.fit")) - {file})
    source = next((other for other in others if not other.is_symlink()), victim)
    file.write_bytes(source.read_bytes())


def link(file, victim):
    file.unlink()
    file.symlink_to(victim)


def link_where_it_is_written(file, victim):
    file.unlink()
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)
    part.symlink_to(victim)


def plant(folder):
    for suffix in (".fit", ".part", ".aside"):
        file = folder / f"Foreign-{'0' * 12}-{'0' * 32}{suffix}"
        file.unlink(missing_ok=True)
        file.write_text("foreign")
        file.chmod(0o600)


def lose_the_key(folder):
    (folder / "key").unlink(missing_ok=True)


def shorten_the_key(folder):
    key = folder / "key"
    if key.exists():
        key.write_bytes(b"short")


def close(folder):
    folder.chmod(0o500)


OF_FITS = (truncate, flip, swap, link, link_where_it_is_written)
OF_FOLDERS = (plant, lose_the_key, shorten_the_key, close, shutil.rmtree)


class Sessions(RuleBasedStateMachine):
    """What users, their disks and others may do."""

    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.folder = self.place / "fits"
        self.victim = self.place / "victim.txt"
        self.victim.write_text("mine" * 100)
        self.victim.chmod(0o640)
        self.seen = []
        self.switch("on")
        self.synthesizers = [pp.PoissonSynthesizer(y) for y in DATA]

    def teardown(self):
        pp.cache.off()
        if self.folder.exists():
            self.folder.chmod(0o700)
        shutil.rmtree(self.place)

    def files(self, pattern="*"):
        files = sorted(self.folder.glob(pattern)) if self.folder.exists() else []
        return [file for file in files if file.is_file() and not file.is_symlink()]

    def weights(self, model, weighted):
        n = len(DATA[model])
        return np.array(SHARES[:n] if weighted else np.ones(n))

    @rule(action=st.sampled_from(["on", "off", "clear", "on again"]))
    def switch(self, action):
        if action == "clear":
            try:
                pp.cache.clear()
            except PermissionError:
                assert not self.folder.stat().st_mode & 0o200
            else:
                assert not (self.on and self.files("*.fit"))
            return
        self.on = action != "off"
        pp.cache.on(self.folder) if self.on else pp.cache.off()

    @rule(**fits)
    def fit(self, model, weighted, seed):
        self.seen = [*dict.fromkeys([*self.seen, (model, weighted, seed)])]
        weights = self.weights(model, weighted)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit = self.synthesizers[model].fit(weights, random_seed=seed, **SETTINGS)
        said = [str(warning.message) for warning in caught]
        known = ("has not converged", "set aside", "could not be stored")
        assert all(any(text in line for text in known) for line in said), said
        draws = fit["posterior"]["mu"].to_numpy()
        assert draws.shape == (2, 10)
        assert np.isfinite(draws).all()
        np.testing.assert_array_equal(fit["constant_data"]["weights"], weights)
        assert fit.attrs["random_seed"] == seed
        first = FIRST.setdefault((model, weighted, seed), draws)
        np.testing.assert_array_equal(draws, first)
        if self.on and not any("could not be stored" in line for line in said):
            assert self.files("*.fit")
            assert not list(self.folder.glob("*.part"))

    @rule(**fits)
    def interrupt(self, model, weighted, seed):
        before = self.files("*.fit")
        weights = self.weights(model, weighted)
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sample = nutpie.sample
            patch.setattr(
                nutpie, "sample", lambda *a, **k: Interrupted(sample(*a, **k))
            )
            try:
                self.synthesizers[model].fit(weights, random_seed=seed, **SETTINGS)
            except KeyboardInterrupt:
                assert set(self.files("*.fit")) <= set(before)
            else:  # it was stored before
                assert self.on

    @rule(model=models, change=st.booleans())
    def start_again(self, model, change):
        synthesizer = self.synthesizers[model]
        if change:
            synthesizer._check_unchanged()  # its first use, if there was none
            synthesizer.y[0] += 1
            with pytest.raises(ValueError, match="must stay as they were"):
                synthesizer.fit(random_seed=0, **SETTINGS)
        self.synthesizers[model] = pp.PoissonSynthesizer(DATA[model])

    @precondition(lambda self: self.folder.exists())
    @rule(harm=st.sampled_from(OF_FITS + OF_FOLDERS))
    def harm(self, harm):
        self.folder.chmod(0o700)
        if harm in OF_FOLDERS:
            harm(self.folder)
        else:
            for file in self.files("*.fit"):
                harm(file, self.victim)
        for fit in self.seen:
            self.fit(*fit)

    @invariant()
    def files_are_for_their_owner_alone(self):
        if self.folder.exists():
            assert self.folder.stat().st_mode & 0o777 in (0o500, 0o700)
        assert {file.stat().st_mode & 0o777 for file in self.files()} <= {0o600}

    @invariant()
    def nothing_else_was_written(self):
        assert {file.name for file in self.place.iterdir()} <= {"fits", "victim.txt"}
        assert self.victim.read_text() == "mine" * 100
        assert self.victim.stat().st_mode & 0o777 == 0o640


TestSessions = Sessions.TestCase
TestSessions.settings = settings(
    max_examples=40 * MORE,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
