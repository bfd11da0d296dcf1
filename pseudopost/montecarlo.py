"""Simulations that are repeated many times, in parallel, and resumed when killed."""

import functools
import inspect
import json
import numbers
import os
import warnings
from pathlib import Path
from pickle import PicklingError
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from pseudopost._checks import as_array, as_count, as_flag, as_number, as_seed, quoted
from pseudopost.convergence import ConvergenceWarning
from pseudopost.privacy import lipschitz_bounds
from pseudopost.weights import lipschitz_weights, reweight

STATISTICS = {
    "mean": np.mean,
    "median": np.median,
    "q15": functools.partial(np.quantile, q=0.15),
    "q90": functools.partial(np.quantile, q=0.9),
}


def local_to_global(
    generate,
    make_synthesizer,
    n_databases=100,
    random_seed=None,
    *,
    k=0.95,
    n_datasets=20,
    store=None,
    n_jobs=-1,
    progressbar=True,
    **settings,
):
    r"""Largest Lipschitz bound in each of many databases from one population.

    Each database is fitted three times: without weights (``"Unweighted"``), under LW
    weights from that fit (``"LW"``), and under those re-weighted (``"LW_final"``). The
    three fits share a seed.

    Parameters
    ----------
    generate : callable
        Takes a ``numpy.random.Generator`` and returns the records of a database.
    make_synthesizer : callable
        Takes them and returns a :class:`~pseudopost.Synthesizer`; usually a class.
    n_databases : int
        Number of databases, R.
    random_seed : int, optional
        As in :func:`replicate`; database r uses the r-th spawned child.
    k : float
        Of :func:`~pseudopost.reweight`.
    n_datasets : int
        m, synthetic files drawn from each fit.
    store, n_jobs, progressbar
        As in :func:`replicate`.
    **settings
        Of the fits: ``draws``, ``tune``, ``chains``.

    Returns
    -------
    pandas.DataFrame, shape (4 R, 7)
        Index: ``database``, and ``synthesizer``, which is ``"Data"`` for the database
        itself. Columns: ``delta``, :math:`\Delta_{\alpha, x_r}` in nats, and
        ``mean_weight``, both missing for ``"Data"``; ``converged``, True for
        ``"Data"``; and ``mean``, ``median``, ``q15``, ``q90``, of the synthetic files
        on average.

    Raises
    ------
    ValueError
        If an argument is out of range, or `store` belongs to another study.

    Warns
    -----
    ConvergenceWarning
        If fits have not converged; the column ``converged`` says which.

    References
    ----------
    P3, appendix D.
    Book: :ref:`local-to-global`.

    Examples
    --------
    One database of three counts:

    >>> import pseudopost as pp
    >>> table = pp.local_to_global(
    ...     lambda rng: rng.poisson(100, size=3),
    ...     pp.PoissonSynthesizer,
    ...     n_databases=1,
    ...     n_jobs=1,
    ... )
    >>> table.index.get_level_values("synthesizer").to_list()
    ['Data', 'Unweighted', 'LW', 'LW_final']
    >>> table.columns.to_list()
    ['delta', 'mean_weight', 'converged', 'mean', 'median', 'q15', 'q90']
    """
    task = functools.partial(
        _bounds_of_one,
        generate=generate,
        make_synthesizer=make_synthesizer,
        k=as_number(k, "k", low=0, high=1, open_low=True),
        n_datasets=as_count(n_datasets, "n_datasets"),
        settings=settings,
    )
    wide = replicate(
        task,
        as_count(n_databases, "n_databases"),
        random_seed,
        store=store,
        n_jobs=n_jobs,
        progressbar=progressbar,
    )
    parts = {
        name: wide.filter(regex=f"^{name} ").rename(columns=lambda c: c.split()[1])
        for name in ("Data", "Unweighted", "LW", "LW_final")
    }
    order = pd.MultiIndex.from_product(
        [wide.index, parts], names=["database", "synthesizer"]
    )
    table = pd.concat(parts).swaplevel().reindex(order)
    table.attrs["random_seed"] = wide.attrs["random_seed"]
    failed = int((~table["converged"]).sum())
    if failed:
        warnings.warn(
            f"{failed} of {3 * len(wide)} fits have not converged; see the column "
            "'converged'",
            ConvergenceWarning,
            stacklevel=2,
        )
    return table


def _bounds_of_one(rng, generate, make_synthesizer, k, n_datasets, settings):
    y = generate(rng)
    seed = int(rng.integers(2**31))
    model = make_synthesizer(y)
    row = {}

    def report(name, delta, mean_weight, converged, files):
        values = {"delta": delta, "mean_weight": mean_weight, "converged": converged}
        values |= {key: f(files, axis=1).mean() for key, f in STATISTICS.items()}
        row.update({f"{name} {key}": value for key, value in values.items()})

    def fit(name, weights):
        fitted = model.fit(weights, random_seed=seed, progressbar=False, **settings)
        log_likelihood = model.log_likelihood(fitted)
        bounds = lipschitz_bounds(model.record_terms(fitted))
        synthetic = model.synthesize(fitted, n_datasets, seed).to_numpy()
        converged = not fitted.attrs["not_converged"]
        report(name, bounds.max(), weights.mean(), converged, synthetic)
        return log_likelihood, bounds

    report("Data", np.nan, np.nan, True, np.asarray(y)[None])
    with warnings.catch_warnings():
        # The row says so, and the parent process says it once.
        warnings.simplefilter("ignore", ConvergenceWarning)
        log_likelihood, _ = fit("Unweighted", np.ones(len(y)))
        weights = lipschitz_weights(log_likelihood)
        _, bounds = fit("LW", weights)
        fit("LW_final", reweight(weights, bounds, k))
    return row


def replicate(
    task, n_replicates, random_seed=None, *, store=None, n_jobs=-1, progressbar=True
):
    """Run `task` many times, each time with random numbers of its own.

    The result does not depend on the number of workers, nor on how often the run was
    killed and started again.

    Parameters
    ----------
    task : callable
        Takes a ``numpy.random.Generator`` and returns a dict of numbers. It runs with
        one thread, in a worker process unless `n_jobs` is 1.
    n_replicates : int
        Number of replicates, R. A stored run of fewer is continued.
    random_seed : int, optional
        Seed from 0 to 2**63 - 1; replicate r uses its r-th spawned child. By default
        that of the `store`, if it exists, or else a new one from the operating system.
        The table keeps it in ``attrs["random_seed"]``.
    store : path-like, optional
        A file for its owner alone that receives every row as soon as it is there. A
        later call with the same task and seed reads it and runs only what it lacks. A
        task is known by its own source, and by its arguments if it is a
        ``functools.partial``; what varies must be given in that way. Delete the file
        when something else that the task uses has changed.
    n_jobs : int
        Processes; by default one per core. Within ``joblib.parallel_config`` the
        backend is the one chosen there, such as a Dask cluster.
    progressbar : bool
        Whether to show progress; the environment variable ``PSEUDOPOST_PROGRESS=off``
        silences every run.

    Returns
    -------
    pandas.DataFrame, shape (R, ...)
        One row per replicate.

    Raises
    ------
    ValueError
        If `store` was written for another task or seed, or is damaged, the source of
        the task cannot be read, or a value in a row is no number.

    References
    ----------
    Book: :ref:`local-to-global-machines`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> def mean_of_nine(rng):
    ...     return {"mean": rng.normal(size=9).mean()}
    >>> table = pp.replicate(mean_of_nine, 4, n_jobs=1)
    >>> table.shape
    (4, 1)
    >>> seed = table.attrs["random_seed"]
    >>> table.equals(pp.replicate(mean_of_nine, 4, seed, n_jobs=1))
    True
    """
    n_replicates = as_count(n_replicates, "n_replicates", high=10**7)
    progressbar = as_flag(progressbar, "progressbar")
    file = _Store(store, task, random_seed)
    seeds = np.random.SeedSequence(file.random_seed).spawn(n_replicates)
    # Without a limit of bytes, joblib would write large arguments to files.
    arriving = joblib.Parallel(
        n_jobs, return_as="generator_unordered", max_nbytes=None
    )(
        joblib.delayed(_run)(task, r, seeds[r])
        for r in range(len(seeds))
        if r not in file.rows
    )
    progressbar = progressbar and os.environ.get("PSEUDOPOST_PROGRESS") != "off"
    with tqdm(total=len(seeds), initial=len(file.rows), disable=not progressbar) as bar:
        for r, row in arriving:
            file.add(r, row)
            bar.update()
    index = pd.RangeIndex(len(seeds), name="replicate")
    table = pd.DataFrame([file.rows[r] for r in index], index)
    table.attrs["random_seed"] = file.random_seed
    return table


def _run(task, r, seed):
    # One thread: the chains of a fit and linear algebra stay within this process.
    with joblib.parallel_config("sequential"), threadpool_limits(1):
        row = task(np.random.default_rng(seed))
    values = {}
    for name, value in row.items():
        value = (
            value.item() if np.size(value) == 1 and hasattr(value, "item") else value
        )
        if not isinstance(value, numbers.Real):
            raise ValueError(f"task must return numbers; {name!r} is {quoted(value)}")
        values[name] = value
    return r, values


class _Store:
    """Rows by replicate, in memory and, if there is a path, line by line in a file."""

    def __init__(self, path, task, random_seed):
        self.rows, self.path = {}, None if path is None else Path(path)
        if self.path is None:
            self.random_seed = as_seed(random_seed)
            return
        task = _identity(task)
        # A run that was killed at once leaves an empty file.
        if not self.path.exists() or not self.path.stat().st_size:
            header = {"task": task, "random_seed": as_seed(random_seed)}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch(mode=0o600)
            self.path.write_text(json.dumps(header) + "\n")
        text = self.path.read_text()
        # What a killed run was writing has no end of line.
        whole = text[: text.rfind("\n") + 1]
        try:
            found, *lines = map(json.loads, whole.splitlines())
            self.random_seed = found["random_seed"]
            self.rows = {r: row for r, row in lines}
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"store is damaged: {self.path}") from error
        seed = self.random_seed if random_seed is None else as_seed(random_seed)
        wanted = {"task": task, "random_seed": seed}
        if found != wanted:
            raise ValueError(
                f"store must come from the same task and seed; {self.path} holds "
                f"{found}, wanted {wanted}"
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
        given = [*task.args, *sorted(task.keywords.items())]
        return joblib.hash([_identity(task.func), *map(_identity, given)])
    if inspect.ismethod(task):
        return joblib.hash([_identity(task.__func__), task.__self__])
    if isinstance(task, tuple):
        return [_identity(part) for part in task]
    if not callable(task):
        return task
    try:
        # What is typed after `python -c`, or evaluated from text, has no lines of its
        # own: Python would return those of something else.
        code = getattr(task, "__code__", None)
        if getattr(code, "co_filename", None) == "<string>":
            raise OSError
        return joblib.hash(inspect.getsource(task))
    except (OSError, TypeError):
        try:
            return joblib.hash(task)  # a class, or built in
        except PicklingError:
            raise ValueError(
                "task must be written in a file or a notebook if there is a store, "
                f"which knows it by its source; got {task!r:.80}"
            ) from None


class Coverage(NamedTuple):
    """What :func:`coverage` returns: the share of intervals that contain the truth.

    Attributes
    ----------
    estimate : float or ndarray, shape (p,)
        In [0, 1].
    standard_error : float or ndarray, shape (p,)
        Above 0 even where every interval covers, or none.

    References
    ----------
    Book: :ref:`covariance-coverage`.
    """

    estimate: float | np.ndarray
    standard_error: float | np.ndarray


def coverage(low, high, truth):
    r"""Estimate how often intervals contain the truth.

    Parameters
    ----------
    low, high : array-like, shape (R,) or (R, p)
        Ends of the closed intervals of R simulated files, for p parameters.
    truth : float or array-like, shape (p,)
        What they should contain: :math:`\theta^*`, or :math:`\theta_0`.

    Returns
    -------
    Coverage

    Raises
    ------
    ValueError
        If the shapes differ, an end is missing, or `low` exceeds `high`.

    Notes
    -----
    The standard error is the standard deviation of the Beta(k + 1/2, R - k + 1/2)
    distribution, with k the number of intervals that cover.

    References
    ----------
    P1, section 4.2, after Theorem 4.
    Book: :ref:`covariance-coverage`.

    Examples
    --------
    Two of three intervals contain 1.5:

    >>> import pseudopost as pp
    >>> result = pp.coverage([0, 1, 3], [2, 4, 5], truth=1.5)
    >>> print(*(round(float(value), 2) for value in result))
    0.67 0.22
    """
    low, high = as_array(low, "low"), as_array(high, "high")
    truth = as_array(truth, "truth")
    if low.ndim not in (1, 2) or low.size == 0 or high.shape != low.shape:
        raise ValueError(
            f"low and high must both have shape (R,) or (R, p); got {low.shape} and "
            f"{high.shape}"
        )
    if truth.shape not in ((), low.shape[1:]):
        raise ValueError(
            f"truth must have one value per parameter, shape {low.shape[1:]}; got "
            f"{truth.shape}"
        )
    for name, value in (("low", low), ("high", high), ("truth", truth)):
        if np.isnan(value).any():
            raise ValueError(f"{name} must not be missing")
    if (low > high).any():
        replicate = int(np.argwhere(low > high)[0][0])
        raise ValueError(f"low must not exceed high; it does in replicate {replicate}")
    R = len(low)
    k = ((low <= truth) & (truth <= high)).sum(axis=0)
    variance = (k + 0.5) * (R - k + 0.5) / ((R + 1) ** 2 * (R + 2))
    return Coverage(k / R, np.sqrt(variance))
