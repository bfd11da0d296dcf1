import errno
import os
import shutil
import subprocess
import sys
import warnings
from importlib.util import find_spec, module_from_spec
from pathlib import Path

import arviz as az
import filelock
import joblib
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import pseudopost as pp
from pseudopost import convergence, synthesizers

Y = (4, 4, 6)
WEIGHTS = (1, 0.5, 0.25)


class Subclass(pp.PoissonSynthesizer):
    """The same model under another name."""


def normal_synthesizer(prior_sd, scale):
    """Return a synthesizer of a class that was written anew, as in a notebook."""

    class Normal(pp.Synthesizer):
        y = np.array(Y, dtype=float)

        def build_model(self):
            with pm.Model() as model:
                mu = pm.Normal("mu", 0, prior_sd)
                pm.Deterministic("scaled", scale * mu)
                logp = pm.logp(pm.Normal.dist(mu, 1.0), self.y)
                pp.weighted_likelihood("y", logp, np.ones(3))
            return model

        def draw_dataset(self, parameters, rng):
            raise NotImplementedError

    return Normal()


def poisson_fit(
    cls=pp.PoissonSynthesizer,
    y=Y,
    weights=WEIGHTS,
    prior=(),
    random_seed=1,
    **settings,
):
    return cls(y, *prior).fit(weights, random_seed=random_seed, **settings)


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path)


def test_off_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PSEUDOPOST_CACHE", str(tmp_path))
    spec = find_spec("pseudopost.cache")
    fresh = module_from_spec(spec)
    spec.loader.exec_module(fresh)
    calls = []
    for _ in range(2):
        fresh.stored("key", lambda: calls.append(1))
    assert len(calls) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_stored_fit_is_not_sampled_again(synthesizer, sample_calls, folder):
    pp.cache.on(folder)
    first, second = synthesizer.fit(random_seed=1), synthesizer.fit(random_seed=1)
    assert len(sample_calls) == 1
    xr.testing.assert_identical(first, second)
    assert first.attrs == second.attrs
    np.testing.assert_array_equal(
        synthesizer.log_likelihood(first), synthesizer.log_likelihood(second)
    )
    np.testing.assert_array_equal(
        synthesizer.synthesize(first, random_seed=1),
        synthesizer.synthesize(second, random_seed=1),
    )


def test_a_fresh_synthesizer_reads_without_compiling(fake_nutpie, folder):
    pp.cache.on(folder)
    poisson_fit()
    poisson_fit(y=np.array(Y, dtype=float), weights=np.array(WEIGHTS))
    poisson_fit(progressbar=False)
    assert len(fake_nutpie.calls) == 1
    assert fake_nutpie.compiled == 1


def test_no_weights_are_weights_of_one(fake_nutpie, folder):
    pp.cache.on(folder)
    poisson_fit(weights=None)
    poisson_fit(weights=[1, 1, 1])
    assert len(fake_nutpie.calls) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"weights": None},
        {"weights": (1, 0.5, 0)},
        {"weights": (0.25, 0.5, 1)},
        {"y": (4, 4, 7)},
        {"y": (4, 6, 6)},
        {"y": (6, 4, 4)},
        {"y": (4, 4, 6, 6), "weights": (1, 0.5, 0.25, 0)},
        {"draws": 999},
        {"tune": 999},
        {"chains": 3},
        {"random_seed": 2},
        {"cls": Subclass},
        {"cls": pp.NegativeBinomialSynthesizer},
        {"prior": (0.6,)},
        {"prior": (0.5, 0.002)},
    ],
    ids="-".join,
)
def test_every_change_is_a_new_fit(fake_nutpie, folder, change):
    pp.cache.on(folder)
    poisson_fit()
    poisson_fit(**change)
    assert len(fake_nutpie.calls) == 2
    poisson_fit(**change)
    poisson_fit()
    assert len(fake_nutpie.calls) == 2


def test_one_record_of_many_is_a_new_fit(fake_nutpie, folder):
    pp.cache.on(folder)
    y = np.arange(3000) % 50
    other = y.copy()
    other[1500:1502] = other[1501], other[1500]
    for counts in (y, other, y, other):
        pp.PoissonSynthesizer(counts).fit(random_seed=1)
    assert len(fake_nutpie.calls) == 2


@pytest.mark.parametrize(
    "package", ["pseudopost", "pymc", "pytensor", "nutpie", "numba"]
)
def test_another_version_is_a_new_fit(fake_nutpie, folder, monkeypatch, package):
    pp.cache.on(folder)
    poisson_fit()
    monkeypatch.setitem(synthesizers.VERSIONS, package, "0.0.1")
    assert poisson_fit().attrs[f"{package}_version"] == "0.0.1"
    assert len(fake_nutpie.calls) == 2


@pytest.mark.parametrize(("prior_sd", "scale"), [(11, 2), (10, 3)])
def test_another_model_of_the_same_name_is_a_new_fit(
    fake_nutpie, folder, prior_sd, scale
):
    pp.cache.on(folder)
    normal_synthesizer(10, 2).fit(random_seed=1)
    normal_synthesizer(prior_sd, scale).fit(random_seed=1)
    assert len(fake_nutpie.calls) == 2
    normal_synthesizer(10, 2).fit(random_seed=1)
    assert len(fake_nutpie.calls) == 2


def judge_another_group(patch):
    def complete_fit(self, fit):
        fit["other"] = fit["posterior"].to_dataset()

    patch.setattr(pp.PoissonSynthesizer, "complete_fit", complete_fit)
    patch.setattr(pp.PoissonSynthesizer, "judged_group", "other")


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(
            pp.PoissonSynthesizer, "sampler_settings", {"target_accept": 0.9}
        ),
        lambda patch: patch.setattr(convergence, "MAX_RHAT", 1.02),
        lambda patch: patch.setattr(convergence, "MIN_ESS_PER_CHAIN", 90),
        judge_another_group,
    ],
    ids=["sampler", "R-hat", "effective sample size", "group"],
)
def test_another_way_to_sample_or_to_judge_is_a_new_fit(
    fake_nutpie, folder, monkeypatch, change
):
    pp.cache.on(folder)
    poisson_fit()
    with monkeypatch.context() as patch:
        change(patch)
        poisson_fit()
        poisson_fit()
        assert len(fake_nutpie.calls) == 2
    poisson_fit()
    assert len(fake_nutpie.calls) == 2


@pytest.mark.parametrize("name", ["origin_of_class", "digest_of_class"])
def test_another_code_is_a_new_fit(fake_nutpie, folder, monkeypatch, name):
    pp.cache.on(folder)
    poisson_fit()
    other = {
        "origin_of_class": lambda cls: ("PoissonSynthesizer", "f" * 64),
        "digest_of_class": lambda cls: "f" * 64,
    }
    monkeypatch.setattr(synthesizers, name, other[name])
    poisson_fit()
    poisson_fit()
    assert len(fake_nutpie.calls) == 2


def test_labels_are_those_of_the_synthesizer_that_asks(fake_nutpie, folder):
    pp.cache.on(folder)
    for labels in (["a", "b", "c"], [7, 8, 9], None):
        y = Y if labels is None else pd.Series(Y, labels)
        synthesizer = pp.PoissonSynthesizer(y)
        fit = synthesizer.fit(WEIGHTS, random_seed=1)
        for result in (fit["constant_data"], synthesizer.synthesize(fit, 2)):
            assert result["record"].to_numpy().tolist() == (labels or [0, 1, 2])
    assert len(fake_nutpie.calls) == 1


@pytest.mark.slow
def test_another_process_reads_the_fit(fake_nutpie, folder):
    pp.cache.on(folder)
    fit = poisson_fit()
    code = f"""
import nutpie
nutpie.compile_pymc_model = nutpie.sample = None
import pseudopost as pp
pp.cache.on({folder!r})
fit = pp.PoissonSynthesizer({Y}).fit({WEIGHTS}, random_seed=1)
print(float(fit["posterior"]["mu"].sum()))
"""
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) == float(fit["posterior"]["mu"].sum())


def test_a_fit_can_be_modified_without_changing_the_stored_one(fake_nutpie, folder):
    pp.cache.on(folder)
    expected = poisson_fit().copy(deep=True)
    for _ in range(2):
        fit = poisson_fit()
        xr.testing.assert_identical(fit, expected)
        fit["posterior"]["mu"][:] = 0
        fit["constant_data"]["weights"][:] = 0
        fit.attrs["not_converged"] = "modified"
        del fit["sample_stats"]
    assert len(fake_nutpie.calls) == 1


def test_a_new_fit_can_be_modified_without_changing_the_stored_one(fake_nutpie, folder):
    pp.cache.on(folder)
    fit = poisson_fit()
    expected = fit.copy(deep=True)
    fit["posterior"]["mu"][:] = 0
    xr.testing.assert_identical(poisson_fit(), expected)


def test_off_neither_reads_nor_writes(fake_nutpie, folder):
    pp.cache.on(folder)
    poisson_fit()
    pp.cache.off()
    poisson_fit()
    poisson_fit(random_seed=2)
    assert len(fake_nutpie.calls) == 3
    pp.cache.on(folder)
    poisson_fit()
    assert len(fake_nutpie.calls) == 3
    poisson_fit(random_seed=2)
    assert len(fake_nutpie.calls) == 4


def test_clear_deletes_the_stored_fits(fake_nutpie, folder):
    pp.cache.on(folder)
    poisson_fit()
    assert stored_files(folder)
    pp.cache.clear()
    assert not stored_files(folder)
    poisson_fit()
    poisson_fit()
    assert len(fake_nutpie.calls) == 2


def test_clear_while_off_deletes_nothing(fake_nutpie, folder):
    pp.cache.on(folder)
    poisson_fit()
    pp.cache.off()
    pp.cache.clear()
    assert stored_files(folder)


def stored_files(folder):
    return list(Path(folder).rglob("*.fit"))


def test_folders_in_order_of_precedence(fake_nutpie, tmp_path, monkeypatch):
    given, environment, user = (
        str(tmp_path / name) for name in ("given", "environment", "user")
    )
    monkeypatch.setattr(pp.cache, "user_cache_dir", lambda name: f"{user}/{name}")
    monkeypatch.delenv("PSEUDOPOST_CACHE", raising=False)
    pp.cache.on()
    poisson_fit()
    assert stored_files(f"{user}/pseudopost")
    monkeypatch.setenv("PSEUDOPOST_CACHE", environment)
    pp.cache.on()
    poisson_fit()
    assert stored_files(environment)
    assert not stored_files(given)
    pp.cache.on(given)
    poisson_fit()
    assert stored_files(given)
    assert len(fake_nutpie.calls) == 3


def test_a_failed_fit_is_not_stored(fake_nutpie, folder, monkeypatch):
    pp.cache.on(folder)
    with monkeypatch.context() as patch:
        patch.setattr(fake_nutpie, "with_data", None)
        with pytest.raises(TypeError):
            poisson_fit()
    poisson_fit()
    assert len(fake_nutpie.calls) == 1


def test_clear_leaves_other_files_alone(fake_nutpie, tmp_path):
    other = tmp_path / "folder" / "important.txt"
    other.parent.mkdir()
    other.write_text("keep")
    pp.cache.on(tmp_path)
    poisson_fit()
    pp.cache.clear()
    assert other.read_text() == "keep"
    assert not stored_files(tmp_path)


def test_paths_and_strings_are_the_same_folder(fake_nutpie, tmp_path):
    for folder in (tmp_path, str(tmp_path)):
        pp.cache.on(folder)
        poisson_fit()
    assert len(fake_nutpie.calls) == 1


def test_no_part_of_a_file_is_left(fake_nutpie, tmp_path):
    pp.cache.on(tmp_path)
    poisson_fit()
    left = {file.name for file in tmp_path.iterdir() if file.suffix != ".fit"}
    (file,) = stored_files(tmp_path)
    assert left == {"key", "key.lock", file.with_suffix(".lock").name}
    pp.cache.clear()
    assert list(tmp_path.iterdir()) == []


def test_fits_of_older_code_are_deleted(fake_nutpie, folder, monkeypatch):
    pp.cache.on(folder)
    with monkeypatch.context() as patch:
        patch.setattr(
            synthesizers, "origin_of_class", lambda cls: (cls.__name__, "f" * 64)
        )
        poisson_fit()
        poisson_fit(random_seed=2)
        poisson_fit(cls=pp.NegativeBinomialSynthesizer)
    older = stored_files(folder)
    assert len(older) == 3
    poisson_fit()
    poisson_fit(random_seed=2)
    assert len(stored_files(folder)) == 3
    (kept,) = set(older) & set(stored_files(folder))
    assert kept.name.startswith("NegativeBinomialSynthesizer-ffffffffffff-")
    poisson_fit()
    poisson_fit(random_seed=2)
    assert len(fake_nutpie.calls) == 5


NEW, OLD, KEY = "a" * 12, "b" * 12, "7" * 32


def answer(value=42):
    return pd.DataFrame({"answer": [value]})


def test_only_older_files_of_its_own_are_deleted(tmp_path):
    kept = [
        "notes.txt",
        "results.fit",
        f"Other-{OLD}-{KEY}.fit",
        f"Mine-{NEW}-{KEY}.fit",
        f"Mine-{OLD}-{KEY}.aside",
    ]
    deleted = [f"{KEY}.fit", f"Mine-{OLD}-{KEY}.fit", f"Other-{OLD}-{KEY}.part"]
    for name in kept + deleted:
        (tmp_path / name).touch()
    pp.cache.on(tmp_path)
    pp.cache.stored("key", answer, made_by=("Mine", NEW))
    left = {f.name for f in tmp_path.iterdir() if not f.name.startswith("key")}
    (own,) = left - {*kept} - {f for f in left if f.endswith(".lock")}
    assert own.startswith(f"Mine-{NEW}-")
    assert left >= {*kept}
    pp.cache.clear()
    assert {file.name for file in tmp_path.iterdir()} == {*kept[:2]}


def test_values_are_known_by_the_code_of_the_package(tmp_path, monkeypatch):
    pp.cache.on(tmp_path)
    assert pp.cache.stored("key", answer).equals(answer())
    monkeypatch.setattr(pp.cache, "digest_of_modules", lambda: "f" * 64)
    assert pp.cache.stored("key", lambda: answer(2)).equals(answer(2))
    (file,) = stored_files(tmp_path)
    assert file.name.startswith("value-ffffffffffff-")


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([3, 1]),
        pd.Index(["b", "a"], name="replicate"),
        pd.MultiIndex.from_tuples([(3, "LW"), (1, "CW")], names=["database", None]),
    ],
    ids=["numbers", "named", "two levels"],
)
def test_a_table_comes_back_as_it_was(tmp_path, index):
    table = pd.DataFrame(
        {
            "a b": [0.1, np.nan],
            "whole": [1, 2**62],
            "so": [True, False],
            "text": ["x", "y"],
        },
        index,
    )
    table.attrs["random_seed"] = 2**63 - 1
    pp.cache.on(tmp_path)
    pp.cache.stored("key", lambda: table)
    again = pp.cache.stored("key", lambda: 1 / 0)
    pd.testing.assert_frame_equal(again, table)
    assert again.attrs == table.attrs


@pytest.mark.parametrize(
    "value", [42, "text", {"a": 1}, pd.DataFrame({("a", "b"): [1]})], ids=type
)
def test_what_cannot_be_stored_is_refused(tmp_path, value):
    pp.cache.on(tmp_path)
    with pytest.raises(
        TypeError, match=r"must return an xarray\.DataTree, or a pandas"
    ):
        pp.cache.stored("key", lambda: value)


def test_settings_of_a_stored_fit_are_plain_numbers(fake_nutpie, folder):
    pp.cache.on(folder)
    kinds = [{k: type(v) for k, v in poisson_fit().attrs.items()} for _ in range(2)]
    assert kinds[0] == kinds[1]
    assert kinds[1]["random_seed"] is int


def test_a_stored_fit_is_a_netcdf_file(fake_nutpie, folder):
    pp.cache.on(folder)
    fit = poisson_fit()
    (file,) = stored_files(folder)
    mu = az.from_netcdf(file)["posterior"]["mu"]
    np.testing.assert_array_equal(mu, fit["posterior"]["mu"])


# A store of confidential fits


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_files_are_for_their_owner_alone_from_the_first_byte(
    fake_nutpie, tmp_path, monkeypatch
):
    seen, replace = [], Path.replace

    def spied(part, file):
        seen.append(part.stat().st_mode & 0o777)
        return replace(part, file)

    monkeypatch.setattr(Path, "replace", spied)
    umask = os.umask(0)
    try:
        pp.cache.on(tmp_path / "made" / "here")
        poisson_fit()
    finally:
        os.umask(umask)
    folder = tmp_path / "made" / "here"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(list(folder.iterdir())) == 4
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    assert set(seen) == {0o600}


def test_a_name_confirms_no_guess_at_the_data(fake_nutpie, tmp_path):
    names = []
    for folder in ("one", "other"):
        pp.cache.on(tmp_path / folder)
        poisson_fit()
        names += [file.name for file in stored_files(tmp_path / folder)]
    assert names[0] != names[1]
    (tmp_path / "third").mkdir()
    shutil.copy(tmp_path / "one" / "key", tmp_path / "third")
    pp.cache.on(tmp_path / "third")
    poisson_fit()
    assert [file.name for file in stored_files(tmp_path / "third")] == names[:1]


class Planted:
    def __init__(self, witness):
        self.witness = witness

    def __reduce__(self):
        return Path.touch, (self.witness,)


def truncate(file):
    file.write_bytes(file.read_bytes()[:-100])


def empty(file):
    file.write_bytes(b"")


def flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def plant(file):
    joblib.dump(Planted(file.parent / "witness"), file)


def swap(file):
    poisson_fit(random_seed=2)
    (other,) = set(stored_files(file.parent)) - {file}
    shutil.copy(other, file)


def link(file):
    target = file.parent / "elsewhere"
    file.rename(target)
    file.symlink_to(target)


def folder_of_that_name(file):
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    "damage", [truncate, empty, flip, plant, swap, link, folder_of_that_name]
)
def test_what_is_damaged_or_foreign_is_set_aside_unread(fake_nutpie, tmp_path, damage):
    pp.cache.on(tmp_path)
    fit = poisson_fit()
    (file,) = stored_files(tmp_path)
    damage(file)
    with pytest.warns(UserWarning, match=r"set aside as .*\.aside, and computed again"):
        again = poisson_fit()
    xr.testing.assert_identical(again, fit)
    assert file.with_suffix(".aside").exists()
    assert not (tmp_path / "witness").exists()
    calls = len(fake_nutpie.calls)
    poisson_fit()
    assert len(fake_nutpie.calls) == calls


def test_another_key_makes_all_files_foreign(fake_nutpie, tmp_path):
    pp.cache.on(tmp_path)
    poisson_fit()
    (tmp_path / "key").write_bytes(b"short")
    poisson_fit()
    poisson_fit()
    assert len(fake_nutpie.calls) == 2


@pytest.mark.parametrize("suffix", [".part", ".lock"])
def test_no_link_is_followed_when_writing(fake_nutpie, tmp_path, suffix):
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    pp.cache.on(tmp_path / "fits")
    poisson_fit()
    (file,) = stored_files(tmp_path / "fits")
    file.unlink()
    file.with_suffix(suffix).unlink(missing_ok=True)
    file.with_suffix(suffix).symlink_to(victim)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        poisson_fit()
    assert victim.read_text() == "mine"
    # A link in place of a lock is refused, and so nothing is stored.
    assert bool(stored_files(tmp_path / "fits")) == (suffix == ".part")
    messages = [str(warning.message) for warning in caught]
    assert any("could not be stored" in m for m in messages) == (suffix == ".lock")


@pytest.mark.parametrize("when", ["before", "while writing"])
def test_a_fit_that_cannot_be_stored_is_returned(
    fake_nutpie, tmp_path, monkeypatch, when
):
    if when == "before":
        (tmp_path / "file").touch()
        pp.cache.on(tmp_path / "file" / "folder")
    else:
        pp.cache.on(tmp_path / "fits")
        poisson_fit(random_seed=2)
        write = pp.cache._write

        def full(file, *parts):
            write(file.with_name("key"), *parts[:1])  # something is written
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(pp.cache, "_write", full)
    with pytest.warns(UserWarning, match="the result could not be stored"):
        fit = poisson_fit()
    assert fit["posterior"]["mu"].shape == (2, 1000)


def test_a_fit_that_netcdf_cannot_hold_is_returned(fake_nutpie, folder, monkeypatch):
    def complete_fit(self, fit):
        fit["own"] = xr.Dataset(attrs={"settings": {"a": 1}})

    monkeypatch.setattr(pp.PoissonSynthesizer, "complete_fit", complete_fit)
    pp.cache.on(folder)
    with pytest.warns(UserWarning, match="could not be stored: Object dtype"):
        fit = poisson_fit()
    assert fit["own"].attrs == {"settings": {"a": 1}}
    assert not stored_files(folder)


@pytest.mark.slow
def test_what_a_killed_run_left_is_removed(fake_nutpie, tmp_path):
    code = f"""
import os, signal
import pandas as pd
from pathlib import Path
import pseudopost as pp
pp.cache.on({str(tmp_path)!r})
pp.cache.stored("other", lambda: pd.DataFrame({{"a": [1]}}))
Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
pp.cache.stored("key", lambda: pd.DataFrame({{"a": [1]}}))
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    assert [file.suffix for file in tmp_path.iterdir()].count(".part") == 1
    pp.cache.on(tmp_path)
    poisson_fit()
    assert [file.suffix for file in tmp_path.iterdir()].count(".part") == 0


def test_a_file_that_is_being_written_is_left_alone(tmp_path):
    part = tmp_path / f"Other-{OLD}-{KEY}.part"
    part.touch()
    pp.cache.on(tmp_path)
    with filelock.FileLock(part.with_suffix(".lock")):
        pp.cache.stored("key", answer)
        assert part.exists()
    pp.cache.stored("key", answer)
    assert not part.exists()


@pytest.mark.parametrize("folder", [False, True, 0, "", " ", ["a"]])
def test_what_is_no_path_is_refused(folder):
    with pytest.raises(ValueError, match=r"folder must be a path; got"):
        pp.cache.on(folder)


def test_home_and_relative_paths_are_settled_at_once(
    fake_nutpie, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    for folder, place in {"~/fits": "home/fits", "fits": "here/fits"}.items():
        monkeypatch.chdir(tmp_path / "here")
        pp.cache.on(folder)
        monkeypatch.chdir(tmp_path)
        poisson_fit()
        assert len(stored_files(tmp_path / place)) == 1


@pytest.mark.slow
def test_two_processes_that_want_the_same_compute_it_once(tmp_path):
    code = f"""
import time, uuid
import pandas as pd
from pathlib import Path
import pseudopost as pp
here = Path({str(tmp_path)!r})
pp.cache.on(here / "fits")

def compute():
    (here / uuid.uuid4().hex).touch()
    time.sleep(1)
    return pd.DataFrame({{"answer": [7]}})

(here / f"{{uuid.uuid4().hex}}.ready").touch()
while len(list(here.glob("*.ready"))) < 2:
    time.sleep(0.01)
print(pp.cache.stored("key", compute).loc[0, "answer"])
"""
    command = [sys.executable, "-c", code]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    assert [run.communicate(timeout=120)[0].strip() for run in runs] == [b"7", b"7"]
    computed = [f for f in tmp_path.iterdir() if f.is_file() and not f.suffix]
    assert len(computed) == 1
