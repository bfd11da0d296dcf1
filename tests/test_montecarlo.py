import json
import subprocess
import sys
import time
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest

import pseudopost as pp

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


class TestReplicate:
    def test_each_replicate_has_its_own_spawned_seed(self):
        table = pp.replicate(mixed, 5, 3, n_jobs=1)
        seeds = np.random.SeedSequence(3).spawn(5)
        expected = [np.random.default_rng(seed).normal() for seed in seeds]
        np.testing.assert_array_equal(table["x"], expected)
        assert table["x"].nunique() == 5

    def test_table_has_a_row_per_replicate_and_keeps_types(self):
        table = pp.replicate(mixed, 4, n_jobs=1)
        assert table.index.tolist() == [0, 1, 2, 3]
        assert table.index.name == "replicate"
        assert [table[name].dtype.kind for name in table] == ["f", "i", "f", "b", "f"]

    def test_result_does_not_depend_on_the_workers(self):
        one = pp.replicate(mixed, 20, 1, n_jobs=1)
        two = pp.replicate(mixed, 20, 1, n_jobs=2)
        pd.testing.assert_frame_equal(one, two, check_exact=True)

    def test_another_seed_gives_other_numbers(self):
        one, two = (pp.replicate(mixed, 3, seed, n_jobs=1) for seed in (1, 2))
        assert (one["x"] != two["x"]).all()

    def test_backend_can_be_chosen_outside(self):
        with joblib.parallel_config("threading"):
            inside = pp.replicate(mixed, 3)
        pd.testing.assert_frame_equal(inside, pp.replicate(mixed, 3, n_jobs=1))

    def test_task_must_return_numbers(self):
        with pytest.raises(ValueError, match="task must return numbers; 'x' is 'one'"):
            pp.replicate(with_text, 1, n_jobs=1)

    @pytest.mark.parametrize("n", [0, 1.5, "3"])
    def test_refuses_a_bad_number_of_replicates(self, n):
        with pytest.raises(ValueError, match="n_replicates must be a whole number"):
            pp.replicate(mixed, n)


class TestStore:
    def test_stored_rows_are_read_not_run(self, tmp_path):
        store = tmp_path / "new" / "rows.jsonl"
        first = pp.replicate(mixed, 4, store=store, n_jobs=1)
        lines = store.read_text().splitlines()
        r, row = json.loads(lines[1])
        store.write_text(
            "\n".join([lines[0], json.dumps([r, row | {"x": 99.0}]), *lines[2:]]) + "\n"
        )
        again = pp.replicate(mixed, 4, store=store, n_jobs=1)
        assert again.loc[r, "x"] == 99
        pd.testing.assert_frame_equal(again.drop(index=r), first.drop(index=r))

    def test_read_back_is_exact(self, tmp_path):
        store = tmp_path / "rows.jsonl"
        first = pp.replicate(mixed, 30, store=store, n_jobs=1)
        again = pp.replicate(mixed, 30, store=store, n_jobs=1)
        pd.testing.assert_frame_equal(first, again, check_exact=True)

    def test_more_replicates_continue(self, tmp_path):
        store = tmp_path / "rows.jsonl"
        pp.replicate(mixed, 3, store=store, n_jobs=1)
        longer = pp.replicate(mixed, 6, store=store, n_jobs=1)
        pd.testing.assert_frame_equal(longer, pp.replicate(mixed, 6, n_jobs=1))
        assert len(store.read_text().splitlines()) == 7

    @pytest.mark.parametrize("cut", [1, 20, 100])
    def test_half_a_line_is_dropped(self, tmp_path, cut):
        store = tmp_path / "rows.jsonl"
        first = pp.replicate(mixed, 5, store=store, n_jobs=1)
        text = store.read_text()
        store.write_text(text[:-cut])
        again = pp.replicate(mixed, 5, store=store, n_jobs=1)
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

    def test_same_partial_continues(self, tmp_path):
        store = tmp_path / "rows.jsonl"
        first = pp.replicate(partial(mixed, shift=1.0), 2, store=store, n_jobs=1)
        again = pp.replicate(partial(mixed, shift=1.0), 2, store=store, n_jobs=1)
        pd.testing.assert_frame_equal(first, again)

    @pytest.mark.parametrize("text", ["a diary\n", "no line", "", "{}\n[1]\n"])
    def test_leaves_any_other_file_alone(self, tmp_path, text):
        store = tmp_path / "diary.txt"
        store.write_text(text)
        with pytest.raises(ValueError, match="store"):
            pp.replicate(mixed, 2, store=store, n_jobs=1)
        assert store.read_text() == text

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_killed_run_resumes_with_nothing_lost_or_done_twice(self, tmp_path, n_jobs):
        script = tmp_path / "simulation.py"
        script.write_text(SCRIPT)
        store = tmp_path / "rows.jsonl"
        command = [sys.executable, str(script), str(store), str(n_jobs)]
        run = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if store.exists() and len(store.read_text().splitlines()) >= 4:
                break
            time.sleep(0.02)
        run.kill()
        run.wait()
        before = store.read_text().splitlines()
        assert 4 <= len(before) < 13
        subprocess.run(command, check=True)
        after = store.read_text().splitlines()
        assert after[: len(before) - 1] == before[:-1]
        assert sorted(json.loads(line)[0] for line in after[1:]) == list(range(12))
        seeds = np.random.SeedSequence(5).spawn(12)
        expected = [np.random.default_rng(seed).normal() for seed in seeds]
        values = json.loads((tmp_path / "values.json").read_text())
        np.testing.assert_array_equal(values, expected)
