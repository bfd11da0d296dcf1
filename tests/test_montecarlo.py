import json
import math
import os
import subprocess
import sys
import time
import warnings
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pseudopost as pp
from pseudopost import compiled, montecarlo, synthesizers

SCRIPT = """
import json, sys, time
from pathlib import Path
import pseudopost as pp

def slow(rng):
    time.sleep(0.4)
    return {"value": rng.normal()}

if __name__ == "__main__":
    table = pp.replicate(slow, 12, 5, store=sys.argv[1], n_jobs=int(sys.argv[2]))
    Path(sys.argv[1]).with_name("values.json").write_text(json.dumps(list(table["value"])))
"""


STUDY = """
import sys
import joblib
import pseudopost as pp

def poisson(rng):
    return rng.poisson(100, size=40)

def study(store=None, n_jobs=-1):
    return pp.local_to_global(
        poisson, pp.PoissonSynthesizer, 24, 5, n_datasets=2, store=store,
        n_jobs=n_jobs, draws=500, tune=200,
    )

if __name__ == "__main__":
    store, table, n_jobs, how = sys.argv[1:]
    if how == "dask":
        from distributed import Client, LocalCluster
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True,
                dashboard_address=None, local_directory=table + ".dask",
            ) as cluster,
            Client(cluster),
            joblib.parallel_config("dask"),
        ):
            study(store).to_pickle(table)
    else:
        study(store, int(n_jobs)).to_pickle(table)
"""


def mixed(rng, shift=0.0):
    return {
        "x": rng.normal() + shift,
        "whole": int(rng.integers(10)),
        "numpy": np.float64(rng.random()),
        "yes": np.bool_(rng.random() < 0.5),
        "infinite": np.inf,
    }


def with_text(rng):
    return {"x": "one"}


def transformed(rng, f):
    return {"x": float(f(rng.random()))}


def identity(x):
    return x


def abs_value(x):
    return abs(x)


class Shifted:
    """A function with a parameter of its own."""

    def __init__(self, shift):
        self.shift = shift

    def __call__(self, x):
        return x + self.shift


def counts(rng, n=30):
    return rng.poisson(50, size=n)


def quietly(call):
    """What `call` returns, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return call(), caught


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    def task(self, rng):
        return {"value": self.scale * rng.normal()}


def killed_after_three_rows(run, store):
    """Kill `run` once its store has a header and three rows; return the lines."""
    deadline = time.monotonic() + 600  # a busy machine is slow
    while time.monotonic() < deadline:
        if store.exists() and len(store.read_text().splitlines()) >= 4:
            break
        time.sleep(0.01)
    run.kill()
    run.wait()
    return store.read_text().splitlines()


class TestReplicate:
    def test_each_replicate_has_its_own_spawned_seed(self):
        table = pp.replicate(mixed, 5, 3, n_jobs=1)
        seeds = np.random.SeedSequence(3).spawn(5)
        expected = [np.random.default_rng(seed).normal() for seed in seeds]
        np.testing.assert_array_equal(table["x"], expected)
        assert table["x"].nunique() == 5

    def test_table_has_a_row_per_replicate_and_keeps_types(self):
        table = pp.replicate(mixed, 4, n_jobs=1, random_seed=1)
        assert table.index.tolist() == [0, 1, 2, 3]
        assert table.index.name == "replicate"
        assert [table[name].dtype.kind for name in table] == ["f", "i", "f", "b", "f"]

    @pytest.mark.slow
    def test_result_does_not_depend_on_the_workers(self):
        one = pp.replicate(mixed, 20, 1, n_jobs=1)
        two = pp.replicate(mixed, 20, 1, n_jobs=2)
        pd.testing.assert_frame_equal(one, two, check_exact=True)

    def test_another_seed_gives_other_numbers(self):
        one, two = (pp.replicate(mixed, 3, seed, n_jobs=1) for seed in (1, 2))
        assert (one["x"] != two["x"]).all()

    def test_a_seed_of_its_own_is_drawn_and_kept(self):
        one, two = (pp.replicate(mixed, 3, n_jobs=1) for _ in range(2))
        assert one.attrs["random_seed"] != two.attrs["random_seed"]
        assert (one["x"] != two["x"]).all()
        again = pp.replicate(mixed, 3, one.attrs["random_seed"], n_jobs=1)
        pd.testing.assert_frame_equal(again, one, check_exact=True)
        assert again.attrs == one.attrs

    @pytest.mark.parametrize("seed", [-1, 1.5, "3", True, 2**63])
    def test_refuses_a_bad_seed(self, seed):
        with pytest.raises(ValueError, match="random_seed must be "):
            pp.replicate(mixed, 3, seed, n_jobs=1)

    def test_backend_can_be_chosen_outside(self):
        with joblib.parallel_config("threading"):
            inside = pp.replicate(mixed, 3, random_seed=1)
        pd.testing.assert_frame_equal(
            inside, pp.replicate(mixed, 3, n_jobs=1, random_seed=1)
        )

    def test_task_must_return_numbers(self):
        with pytest.raises(ValueError, match="task must return numbers; 'x' is 'one'"):
            pp.replicate(with_text, 1, n_jobs=1, random_seed=1)

    @pytest.mark.parametrize("n", [0, 1.5, "3"])
    def test_refuses_a_bad_number_of_replicates(self, n):
        with pytest.raises(ValueError, match="n_replicates must be a whole number"):
            pp.replicate(mixed, n, random_seed=1)


class TestStore:
    def test_a_task_without_source(self, tmp_path):
        task = eval("lambda rng: {'a': 1.0}")
        one = {"n_replicates": 1, "n_jobs": 1, "progressbar": False}
        assert pp.replicate(task, **one)["a"].tolist() == [1]
        with pytest.raises(ValueError, match=r"^task must be written in a file or a n"):
            pp.replicate(task, **one, store=tmp_path / "rows")
        assert not list(tmp_path.iterdir())

    def test_a_task_from_standard_input(self, tmp_path):
        code = (
            "import pseudopost as pp\n"
            "pp.replicate(lambda rng: {'a': 1.0}, 1, n_jobs=1, store='rows')\n"
        )
        found = subprocess.run(
            [sys.executable, "-"],
            input=code,
            text=True,
            cwd=tmp_path,
            capture_output=True,
        )
        assert (
            "ValueError: task must be written in a file or a notebook" in found.stderr
        )

    def test_a_store_is_for_its_owner_alone(self, tmp_path):
        store = tmp_path / "rows"
        pp.replicate(mixed, 1, n_jobs=1, store=store, progressbar=False)
        assert store.stat().st_mode & 0o777 == 0o600

    def test_stored_rows_are_read_not_run(self, tmp_path):
        store = tmp_path / "new" / "rows.jsonl"
        first = pp.replicate(mixed, 4, store=store, n_jobs=1, random_seed=1)
        lines = store.read_text().splitlines()
        r, row = json.loads(lines[1])
        store.write_text(
            "\n".join([lines[0], json.dumps([r, row | {"x": 99.0}]), *lines[2:]]) + "\n"
        )
        again = pp.replicate(mixed, 4, store=store, n_jobs=1, random_seed=1)
        assert again.loc[r, "x"] == 99
        pd.testing.assert_frame_equal(again.drop(index=r), first.drop(index=r))

    def test_read_back_is_exact(self, tmp_path):
        store = tmp_path / "rows.jsonl"
        first = pp.replicate(mixed, 30, store=store, n_jobs=1, random_seed=1)
        again = pp.replicate(mixed, 30, store=store, n_jobs=1, random_seed=1)
        pd.testing.assert_frame_equal(first, again, check_exact=True)

    def test_more_replicates_continue(self, tmp_path):
        store = tmp_path / "rows.jsonl"
        pp.replicate(mixed, 3, store=store, n_jobs=1, random_seed=1)
        longer = pp.replicate(mixed, 6, store=store, n_jobs=1, random_seed=1)
        pd.testing.assert_frame_equal(
            longer, pp.replicate(mixed, 6, n_jobs=1, random_seed=1)
        )
        assert len(store.read_text().splitlines()) == 7

    @pytest.mark.parametrize("cut", [1, 20, 100])
    def test_half_a_line_is_dropped(self, tmp_path, cut):
        store = tmp_path / "rows.jsonl"
        first = pp.replicate(mixed, 5, store=store, n_jobs=1, random_seed=1)
        text = store.read_text()
        store.write_text(text[:-cut])
        again = pp.replicate(mixed, 5, store=store, n_jobs=1, random_seed=1)
        pd.testing.assert_frame_equal(first, again)
        assert store.read_text() == text

    @pytest.mark.parametrize(
        ("task", "seed"),
        [(mixed, 2), (partial(mixed, shift=1.0), 1), (with_text, 1)],
    )
    def test_refuses_the_store_of_another_run(self, tmp_path, task, seed):
        store = tmp_path / "rows.jsonl"
        pp.replicate(mixed, 2, 1, store=store, n_jobs=1)
        with pytest.raises(ValueError, match="store must come from the same task"):
            pp.replicate(task, 2, seed, store=store, n_jobs=1)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (identity, abs_value),
            (np.exp, np.log),
            (math.exp, math.log),
            (Shifted(1.0), Shifted(2.0)),
        ],
        ids=["source", "ufunc", "builtin", "instance"],
    )
    def test_refuses_when_a_function_that_was_given_differs(self, tmp_path, one, other):
        store = tmp_path / "rows.jsonl"
        pp.replicate(
            partial(transformed, f=one), 2, store=store, n_jobs=1, random_seed=1
        )
        with pytest.raises(ValueError, match="store must come from the same task"):
            pp.replicate(
                partial(transformed, f=other), 2, store=store, n_jobs=1, random_seed=1
            )

    def test_no_seed_is_that_of_the_store(self, tmp_path):
        store = tmp_path / "rows.jsonl"
        first = pp.replicate(mixed, 3, store=store, n_jobs=1)
        seed = first.attrs["random_seed"]
        longer = pp.replicate(mixed, 6, store=store, n_jobs=1)
        assert longer.attrs["random_seed"] == seed
        pd.testing.assert_frame_equal(longer.loc[:2], first, check_exact=True)
        pd.testing.assert_frame_equal(
            longer, pp.replicate(mixed, 6, seed, n_jobs=1), check_exact=True
        )
        given = pp.replicate(mixed, 6, seed, store=store, n_jobs=1)
        pd.testing.assert_frame_equal(given, longer, check_exact=True)

    def test_no_seed_is_that_which_the_store_was_given(self, tmp_path):
        store = tmp_path / "rows.jsonl"
        first = pp.replicate(mixed, 3, 2**62 + 1, store=store, n_jobs=1)
        again = pp.replicate(mixed, 3, store=store, n_jobs=1)
        assert again.attrs == first.attrs == {"random_seed": 2**62 + 1}
        pd.testing.assert_frame_equal(again, first, check_exact=True)

    def test_no_seed_and_another_task_are_refused(self, tmp_path):
        store = tmp_path / "rows.jsonl"
        pp.replicate(mixed, 2, store=store, n_jobs=1)
        with pytest.raises(ValueError, match="store must come from the same task"):
            pp.replicate(with_text, 2, store=store, n_jobs=1)

    def test_seed_may_be_a_numpy_number(self, tmp_path):
        store = tmp_path / "rows.jsonl"
        first = pp.replicate(mixed, 2, np.int64(3), store=store, n_jobs=1)
        again = pp.replicate(mixed, 2, 3, store=store, n_jobs=1)
        pd.testing.assert_frame_equal(first, again)

    def test_same_partial_continues(self, tmp_path):
        store = tmp_path / "rows.jsonl"
        first = pp.replicate(
            partial(mixed, shift=1.0), 2, store=store, n_jobs=1, random_seed=1
        )
        again = pp.replicate(
            partial(mixed, shift=1.0), 2, store=store, n_jobs=1, random_seed=1
        )
        pd.testing.assert_frame_equal(first, again)

    @pytest.mark.parametrize("text", ["a diary\n", "no line", "{}\n[1]\n"])
    def test_leaves_any_other_file_alone(self, tmp_path, text):
        store = tmp_path / "diary.txt"
        store.write_text(text)
        with pytest.raises(ValueError, match="store"):
            pp.replicate(mixed, 2, store=store, n_jobs=1, random_seed=1)
        assert store.read_text() == text

    def test_an_empty_file_is_a_run_that_was_killed_at_once(self, tmp_path):
        store = tmp_path / "rows.jsonl"
        store.touch()
        first = pp.replicate(mixed, 2, 1, store=store, n_jobs=1)
        assert first.equals(pp.replicate(mixed, 2, 1, n_jobs=1))
        assert len(store.read_text().splitlines()) == 3

    def test_methods_of_two_objects_are_two_tasks(self, tmp_path):
        store = tmp_path / "rows.jsonl"
        first = pp.replicate(Scaled(1).task, 2, 1, store=store, n_jobs=1)
        again = pp.replicate(Scaled(1).task, 2, 1, store=store, n_jobs=1)
        pd.testing.assert_frame_equal(first, again)
        with pytest.raises(ValueError, match="store must come from the same task"):
            pp.replicate(Scaled(2).task, 2, 1, store=store, n_jobs=1)

    @pytest.mark.slow
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_killed_run_resumes_with_nothing_lost_or_done_twice(self, tmp_path, n_jobs):
        script = tmp_path / "simulation.py"
        script.write_text(SCRIPT)
        store = tmp_path / "rows.jsonl"
        command = [sys.executable, str(script), str(store), str(n_jobs)]
        run = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        before = killed_after_three_rows(run, store)
        assert 4 <= len(before) < 13
        subprocess.run(command, check=True)
        after = store.read_text().splitlines()
        assert after[: len(before) - 1] == before[:-1]
        assert sorted(json.loads(line)[0] for line in after[1:]) == list(range(12))
        seeds = np.random.SeedSequence(5).spawn(12)
        expected = [np.random.default_rng(seed).normal() for seed in seeds]
        values = json.loads((tmp_path / "values.json").read_text())
        np.testing.assert_array_equal(values, expected)


@pytest.fixture(scope="module")
def study_table():
    return pp.local_to_global(
        counts, pp.PoissonSynthesizer, 4, 3, n_datasets=5, n_jobs=1, draws=500, tune=300
    )


@pytest.mark.slow
class TestLocalToGlobal:
    NAMES = ("Data", "Unweighted", "LW", "LW_final")

    def test_a_row_for_the_data_and_for_each_fit(self, study_table):
        assert study_table.index.names == ["database", "synthesizer"]
        assert study_table.index.tolist() == [
            (r, name) for r in range(4) for name in self.NAMES
        ]
        assert [*study_table] == [
            *("delta", "mean_weight", "converged", "mean", "median", "q15", "q90")
        ]
        assert study_table["converged"].dtype == bool
        missing = study_table[["delta", "mean_weight"]].isna().any(axis=1)
        assert (missing == (study_table.index.get_level_values(1) == "Data")).all()

    def test_rows_are_those_of_the_definitions(self, study_table):
        rng = np.random.default_rng(np.random.SeedSequence(3).spawn(4)[2])
        y = counts(rng)
        seed = int(rng.integers(2**31))
        model = pp.PoissonSynthesizer(y)
        settings = {"draws": 500, "tune": 300, "random_seed": seed}
        fits = {"Unweighted": model.fit(**settings)}
        likelihood = model.log_likelihood(fits["Unweighted"])
        weights = {"Unweighted": np.ones(30), "LW": pp.lipschitz_weights(likelihood)}
        bounds = {"Unweighted": pp.lipschitz_bounds(likelihood)}
        for name in ("LW", "LW_final"):
            fits[name] = model.fit(weights[name], **settings)
            likelihood = model.log_likelihood(fits[name])
            bounds[name] = pp.lipschitz_bounds(likelihood, weights[name])
            weights["LW_final"] = pp.reweight(weights["LW"], bounds["LW"], 0.95)
        rows = study_table.loc[2]
        statistics = {
            "mean": np.mean,
            "median": np.median,
            "q15": lambda x, axis: np.quantile(x, 0.15, axis=axis),
            "q90": lambda x, axis: np.quantile(x, 0.9, axis=axis),
        }
        for statistic, f in statistics.items():
            assert rows.loc["Data", statistic] == f(y, axis=0)
        for name, fit in fits.items():
            assert rows.loc[name, "delta"] == pytest.approx(bounds[name].max())
            assert rows.loc[name, "mean_weight"] == pytest.approx(weights[name].mean())
            files = model.synthesize(fit, 5, seed)
            for statistic, f in statistics.items():
                expected = np.mean(f(files, axis=1))
                assert rows.loc[name, statistic] == pytest.approx(expected)

    def test_the_seed_is_kept(self, study_table):
        assert study_table.attrs["random_seed"] == 3

    def test_weights_lower_the_bound_and_reweighting_raises_the_weights(
        self, study_table
    ):
        wide = study_table.reset_index().pivot_table(
            index="database", columns="synthesizer"
        )
        delta, weight = wide["delta"], wide["mean_weight"]
        assert (delta["LW"] < delta["Unweighted"]).all()
        assert (weight["LW_final"] > weight["LW"]).all()
        assert (weight["Unweighted"] == 1).all()

    def test_more_databases_keep_the_first(self, study_table):
        longer = pp.local_to_global(
            counts,
            pp.PoissonSynthesizer,
            5,
            3,
            n_datasets=5,
            n_jobs=1,
            draws=500,
            tune=300,
        )
        pd.testing.assert_frame_equal(longer.loc[:3], study_table, check_exact=True)

    def test_says_how_many_fits_have_not_converged(self):
        def call():
            return pp.local_to_global(
                counts,
                pp.PoissonSynthesizer,
                2,
                n_datasets=1,
                n_jobs=1,
                draws=4,
                tune=4,
                random_seed=1,
            )

        table, caught = quietly(call)
        failed = (~table["converged"]).sum()
        assert 0 < failed <= 6
        assert [w.category for w in caught] == [pp.ConvergenceWarning]
        assert str(caught[0].message).startswith(f"{failed} of 6 fits have not")

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"n_databases": 0}, "n_databases must be a whole number"),
            ({"k": 1.5}, "k must be a finite number in"),
            ({"n_datasets": 0}, "n_datasets must be a whole number"),
            ({"random_seed": -1}, "random_seed must be a whole number"),
        ],
    )
    def test_refuses(self, options, text):
        with pytest.raises(ValueError, match=text):
            pp.local_to_global(counts, pp.PoissonSynthesizer, **options)

    def test_one_compiled_model_serves_all_databases(self, monkeypatch):
        models = []
        compile_model = synthesizers.nutpie.compile_pymc_model
        monkeypatch.setattr(compiled, "SAMPLERS", {})
        monkeypatch.setattr(
            synthesizers.nutpie,
            "compile_pymc_model",
            lambda *args, **options: (
                models.append(1) or compile_model(*args, **options)
            ),
        )
        task = partial(
            montecarlo._bounds_of_one,
            make_synthesizer=pp.PoissonSynthesizer,
            k=0.95,
            n_datasets=1,
            settings={"draws": 10, "tune": 10},
        )
        for n, seed in ((20, 1), (20, 2), (25, 1)):
            task(np.random.default_rng(seed), partial(counts, n=n))
        assert len(models) == 1


def run_study(tmp_path, name, n_jobs=1, how="here", wait=True):
    script = tmp_path / "study.py"
    script.write_text(STUDY)
    store, table = tmp_path / f"{name}.jsonl", tmp_path / f"{name}.pickle"
    command = [sys.executable, str(script), str(store), str(table), str(n_jobs), how]
    # A pipe would stay open as long as the workers of a killed run.
    errors = tmp_path / f"{name}.txt"
    with errors.open("w") as file:
        run = subprocess.Popen(
            command, stderr=file, env=os.environ | {"PSEUDOPOST_PROGRESS": "off"}
        )
    if not wait:
        return run, store
    assert run.wait() == 0, errors.read_text()
    return pd.read_pickle(table), store


@pytest.mark.slow
def test_study_is_the_same_on_a_dask_cluster_and_on_workers_that_were_killed(tmp_path):
    dask, _ = run_study(tmp_path, "dask", how="dask")
    assert len(dask) == 24 * 4
    run, store = run_study(tmp_path, "killed", n_jobs=2, wait=False)
    before = killed_after_three_rows(run, store)
    assert 4 <= len(before) < 25
    resumed, _ = run_study(tmp_path, "killed")  # without workers
    pd.testing.assert_frame_equal(resumed, dask, check_exact=True)
    after = store.read_text().splitlines()
    assert after[: len(before) - 1] == before[:-1]
    assert sorted(json.loads(line)[0] for line in after[1:]) == list(range(24))


class TestProgress:
    def test_shows_what_was_stored_and_what_is_new(self, tmp_path, monkeypatch, capsys):
        monkeypatch.delenv("PSEUDOPOST_PROGRESS", raising=False)
        store = tmp_path / "rows.jsonl"
        pp.replicate(mixed, 3, store=store, n_jobs=1, progressbar=False, random_seed=1)
        assert capsys.readouterr().err == ""
        pp.replicate(mixed, 5, store=store, n_jobs=1, random_seed=1)
        shown = capsys.readouterr().err
        assert "3/5" in shown
        assert "5/5" in shown

    def test_environment_silences(self, monkeypatch, capsys):
        monkeypatch.setenv("PSEUDOPOST_PROGRESS", "off")
        pp.replicate(mixed, 3, n_jobs=1, random_seed=1)
        assert capsys.readouterr().err == ""


class TestCoverage:
    def test_counts_closed_intervals(self):
        found = pp.coverage([-2, 0, 1, 2, 3], [0, 1, 2, 3, 4], 1)
        assert found.estimate == 0.4
        beta = stats.beta(2.5, 3.5)
        assert found.standard_error == pytest.approx(beta.std())

    def test_one_per_parameter(self):
        low = np.array([[0.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
        found = pp.coverage(low, low + 1, [0.5, 0.5])
        np.testing.assert_allclose(found.estimate, [1, 2 / 3])

    def test_error_is_never_zero(self):
        found = pp.coverage(np.zeros(1000), np.ones(1000), 0.5)
        assert found.estimate == 1
        assert 0 < found.standard_error < 0.001

    def test_close_to_the_binomial_error(self):
        truth = np.arange(2000) < 1900
        found = pp.coverage(np.where(truth, -1, 1), np.where(truth, 1, 2), 0)
        assert found.estimate == 0.95
        assert found.standard_error == pytest.approx(
            np.sqrt(0.95 * 0.05 / 2000), rel=0.01
        )

    @pytest.mark.parametrize(
        ("low", "high", "truth", "message"),
        [
            ([0, 0], [1], 0, "low and high must both have shape"),
            (0, 1, 0, "low and high must both have shape"),
            ([], [], 0, "low and high must both have shape"),
            ([0, 2], [1, 1], 0, "low must not exceed high; it does in replicate 1"),
            ([0, np.nan], [1, 1], 0, "low must not be missing"),
            ([0], [np.nan], 0, "high must not be missing"),
            ([0], [1], np.nan, "truth must not be missing"),
            ([0], [1], [0, 1], "truth must have one value per parameter"),
            ([[0, 0]], [[1, 1]], [0, 1, 2], "truth must have one value per parameter"),
        ],
    )
    def test_refuses(self, low, high, truth, message):
        with pytest.raises(ValueError, match=message):
            pp.coverage(low, high, truth)
