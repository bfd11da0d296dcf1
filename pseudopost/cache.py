"""Fits on disk: off by default, since a fit of confidential data is confidential."""

import os
from pathlib import Path

import joblib
from platformdirs import user_cache_dir

_folder = None


def on(folder=None):
    """Keep every fit in `folder`, and read it when the same fit is asked for again.

    Parameters
    ----------
    folder : path-like, optional
        By default the environment variable ``PSEUDOPOST_CACHE``, or else the user's
        cache folder.
    """
    global _folder
    folder = folder or os.environ.get("PSEUDOPOST_CACHE")
    _folder = Path(folder or user_cache_dir("pseudopost"))


def off():
    """Keep nothing on disk (the default), and read nothing from there."""
    global _folder
    _folder = None


def clear():
    """Delete every stored fit of the folder in use."""
    if _folder is not None:
        for file in _folder.glob("*.fit"):
            file.unlink(missing_ok=True)


def stored(key, compute):
    """Return ``compute()``, or what it returned when `key` was last seen.

    Parameters
    ----------
    key : object
        Everything that determines the result; anything that joblib can hash.
    compute : callable
        Called without arguments.
    """
    if _folder is None:
        return compute()
    file = _folder / f"{joblib.hash(key)}.fit"
    if file.exists():
        return joblib.load(file)
    result = compute()
    _folder.mkdir(parents=True, exist_ok=True)
    # Another process may be writing the same fit: only whole files get the final name.
    part = file.with_suffix(f".{os.getpid()}.part")
    joblib.dump(result, part)
    part.replace(file)
    return result
