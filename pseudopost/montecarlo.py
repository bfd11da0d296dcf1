"""Simulations that are repeated many times, in parallel, and resumed when killed."""

import functools
import inspect
import json
import numbers
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from pseudopost._checks import as_count, as_seed


def replicate(task, n_replicates, random_seed=1, *, store=None, n_jobs=-1):
    """Run `task` many times, each time with random numbers of its own.

    The result does not depend on the number of workers, nor on how often the run was
    killed and started again.

    Parameters
    ----------
    task : callable
        Takes a ``numpy.random.Generator`` and returns a dict of numbers. It runs in a
        process of its own, with one thread.
    n_replicates : int
        R. A stored run of fewer replicates is continued.
    random_seed : int
        Non-negative; replicate r uses its r-th spawned child.
    store : path-like, optional
        A file that receives every row as soon as it is there. A later call with the
        same task and seed reads it and runs only what it lacks. A task is known by its
        own source, and by its arguments if it is a ``functools.partial``: delete the
        file when something else that it uses has changed.
    n_jobs : int
        Processes; by default one per core. Within ``joblib.parallel_config`` the
        backend is the one chosen there.

    Returns
    -------
    pandas.DataFrame, shape (R, ...)
        One row per replicate.

    Raises
    ------
    ValueError
        If `store` was written for another task or seed, or is damaged, or a value in a
        row is no number.
    """
    seeds = np.random.SeedSequence(as_seed(random_seed)).spawn(
        as_count(n_replicates, "n_replicates")
    )
    file = _Store(store, {"task": _identity(task), "random_seed": random_seed})
    arriving = joblib.Parallel(n_jobs, return_as="generator_unordered")(
        joblib.delayed(_run)(task, r, seeds[r])
        for r in range(len(seeds))
        if r not in file.rows
    )
    for r, row in arriving:
        file.add(r, row)
    index = pd.RangeIndex(len(seeds), name="replicate")
    return pd.DataFrame([file.rows[r] for r in index], index)


def _run(task, r, seed):
    with threadpool_limits(1):
        row = task(np.random.default_rng(seed))
    values = {}
    for name, value in row.items():
        value = value.item() if hasattr(value, "item") else value
        if not isinstance(value, numbers.Real):
            raise ValueError(f"task must return numbers; {name!r} is {value!r:.80}")
        values[name] = value
    return r, values


class _Store:
    """Rows by replicate, in memory and, if there is a path, line by line in a file."""

    def __init__(self, path, header):
        self.rows, self.path = {}, None if path is None else Path(path)
        if self.path is None:
            return
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(header) + "\n")
        text = self.path.read_text()
        # What a killed run was writing has no end of line.
        whole = text[: text.rfind("\n") + 1]
        try:
            found, *lines = map(json.loads, whole.splitlines())
            self.rows = {r: row for r, row in lines}
        except (TypeError, ValueError) as error:
            raise ValueError(f"store is damaged: {self.path}") from error
        if found != header:
            raise ValueError(
                f"store must come from the same task and seed; {self.path} holds "
                f"{found}, wanted {header}"
            )
        if whole != text:
            self.path.write_text(whole)

    def add(self, r, row):
        self.rows[r] = row
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps([r, row]) + "\n")


def _identity(task):
    """Name a task by its source, and by the arguments that it was given beforehand."""
    if isinstance(task, functools.partial):
        return joblib.hash((_identity(task.func), task.args, task.keywords))
    try:
        return joblib.hash(inspect.getsource(task))
    except (OSError, TypeError):
        return f"{type(task).__module__}.{type(task).__qualname__}"
