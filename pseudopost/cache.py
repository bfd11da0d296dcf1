"""Fits on disk: off by default, since a fit of confidential data is confidential."""

import os
from pathlib import Path

import joblib
from filelock import FileLock
from platformdirs import user_cache_dir

from pseudopost._source import digest_of_modules

_folder = None


def on(folder=None):
    """Keep every fit in `folder`, and read it when the same fit is asked for again.

    A fit is the same if all that determines it is: the model and its data, weights,
    settings and seed, the code of the synthesizer and of what it uses in this package,
    the limits of the convergence checks, and the versions of PyMC, PyTensor, nutpie,
    Numba and NumPy. Not seen are functions that a class outside this package calls, and
    the threads and the processor, which may change last digits. The number of cores
    changes nothing. When the code of a synthesizer has changed, its older fits are
    deleted.

    A fit is as confidential as its data, and so is the folder.

    Parameters
    ----------
    folder : path-like, optional
        By default the environment variable ``PSEUDOPOST_CACHE``, or else the user's
        cache folder.

    References
    ----------
    Book: :ref:`quickstart`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pseudopost as pp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pp.cache.on(folder)
    ...     _ = pp.PoissonSynthesizer([2, 4, 9]).fit(random_seed=1)
    ...     stored = len(list(Path(folder).glob("*.fit")))
    ...     pp.cache.off()
    >>> stored
    1
    """
    global _folder
    folder = folder or os.environ.get("PSEUDOPOST_CACHE")
    _folder = Path(folder or user_cache_dir("pseudopost"))


def off():
    """Keep no fit on disk (the default), and read none from there.

    PyTensor keeps compiled models in a cache of its own, with every constant in them:
    see :func:`~pseudopost.weighted_likelihood`.

    References
    ----------
    Book: :ref:`quickstart`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> pp.cache.off()
    """
    global _folder
    _folder = None


def clear():
    """Delete every stored fit of the folder in use.

    References
    ----------
    Book: :ref:`quickstart`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pseudopost as pp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pp.cache.on(folder)
    ...     _ = pp.cache.stored("answer", lambda: 42)
    ...     pp.cache.clear()
    ...     left = list(Path(folder).glob("*.fit"))
    ...     pp.cache.off()
    >>> left
    []
    """
    if _folder is not None:
        for file in _folder.glob("*.fit"):
            _delete(file)


def stored(key, compute, *, made_by=None):
    """Return ``compute()``, or what it returned when `key` was last seen.

    A process that asks for what another one is computing waits for it.

    Parameters
    ----------
    key : object
        Everything that determines the result, bar the code of this package; anything
        that joblib can hash.
    compute : callable
        Called without arguments.
    made_by : tuple of str, optional
        A name, and a hash of the code behind it; results of the same name and other
        code are deleted. By default the code of the whole package, without docstrings
        and comments.

    References
    ----------
    Book: :ref:`quickstart`.

    Examples
    --------
    >>> import tempfile
    >>> import pseudopost as pp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pp.cache.on(folder)
    ...     first = pp.cache.stored("answer", lambda: 42)
    ...     again = pp.cache.stored("answer", lambda: 1 / 0)
    ...     pp.cache.off()
    >>> first, again
    (42, 42)
    """
    if _folder is None:
        return compute()
    name, code = made_by or ("value", digest_of_modules())
    file = _folder / f"{name}-{code[:12]}-{joblib.hash(key)}.fit"
    if file.exists():
        return joblib.load(file)
    _folder.mkdir(parents=True, exist_ok=True)
    with FileLock(file.with_suffix(".lock")):
        if file.exists():
            return joblib.load(file)
        result = compute()
        # A run may be killed while it writes: only whole files get the final name.
        part = file.with_suffix(".part")
        joblib.dump(result, part)
        part.replace(file)
    for old in _folder.glob("*.fit"):
        if _is_older(old.stem, name, code):
            _delete(old)
    return result


def _is_older(stem, name, code):
    """Whether a file has no code in its name, or another than `code` for this name."""
    theirs = stem.rsplit("-", 2)
    return len(theirs) != 3 or (theirs[0] == name and theirs[1] != code[:12])


def _delete(file):
    file.unlink(missing_ok=True)
    file.with_suffix(".lock").unlink(missing_ok=True)
