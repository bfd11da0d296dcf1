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
FOREIGN = f"Foreign-{'0' * 12}-{'0' * 32}"
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
    shutil.copyfile([*others, victim][0], file, follow_symlinks=False)


def link(file, victim):
    file.unlink()
    file.symlink_to(victim)


def link_where_it_is_written(file, victim):
    file.unlink()
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)
    part.symlink_to(victim)


DAMAGES = (truncate, flip, swap, link, link_where_it_is_written)


class Sessions(RuleBasedStateMachine):
    """What users, their disks and others may do."""

    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.folder = self.place / "fits"
        self.victim = self.place / "victim.txt"
        self.victim.write_text("mine" * 100)
        self.victim.chmod(0o640)
        self.turn_on()
        self.last = None
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

    @rule()
    def turn_on(self):
        pp.cache.on(self.folder)
        self.on = True

    @rule()
    def turn_off(self):
        pp.cache.off()
        self.on = False

    @rule()
    def clear(self):
        try:
            pp.cache.clear()
        except PermissionError:
            assert not self.folder.stat().st_mode & 0o200
        else:
            assert not (self.on and self.files("*.fit"))

    @rule(**fits)
    def fit(self, model, weighted, seed):
        self.last = model, weighted, seed
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

    @precondition(lambda self: self.last)
    @rule()
    def fit_again(self):
        self.fit(*self.last)

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

    @rule(model=models)
    def change_data(self, model):
        synthesizer = self.synthesizers[model]
        synthesizer.model  # noqa: B018
        synthesizer._check_unchanged()
        synthesizer.y[0] += 1
        with pytest.raises(ValueError, match="must stay as they were"):
            synthesizer.fit(random_seed=0, **SETTINGS)
        self.synthesizers[model] = pp.PoissonSynthesizer(DATA[model])

    @rule(model=models)
    def start_again(self, model):
        self.synthesizers[model] = pp.PoissonSynthesizer(DATA[model])

    @precondition(lambda self: self.files("*.fit"))
    @rule(damage=st.sampled_from(DAMAGES))
    def damage(self, damage):
        self.folder.chmod(0o700)
        for file in self.files("*.fit"):
            damage(file, self.victim)

    @precondition(lambda self: self.folder.exists())
    @rule(suffix=st.sampled_from([".fit", ".part", ".aside"]))
    def plant(self, suffix):
        self.folder.chmod(0o700)
        file = self.folder / (FOREIGN + suffix)
        file.write_text("foreign")
        file.chmod(0o600)

    @precondition(lambda self: self.folder.exists())
    @rule(shorten=st.booleans())
    def lose_the_key(self, shorten):
        self.folder.chmod(0o700)
        key = self.folder / "key"
        if shorten and key.exists():
            key.write_bytes(b"short")
        else:
            key.unlink(missing_ok=True)

    @precondition(lambda self: self.folder.exists())
    @rule()
    def lose_the_folder(self):
        self.folder.chmod(0o700)
        shutil.rmtree(self.folder)

    @precondition(lambda self: self.folder.exists())
    @rule(mode=st.sampled_from([0o500, 0o700]))
    def change_the_mode_of_the_folder(self, mode):
        self.folder.chmod(mode)

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
    max_examples=20 * MORE,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
