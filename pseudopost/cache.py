"""Fits on disk: off by default, since a fit of confidential data is confidential."""

import hmac
import io
import json
import os
import re
import secrets
import warnings
from contextlib import ExitStack
from pathlib import Path

import joblib
import pandas as pd
import xarray as xr
from filelock import FileLock, Timeout
from platformdirs import user_cache_dir

from pseudopost._source import digest_of_modules

# Names of the files in a folder of fits: made by what, of which code, for which key.
# Version 0.1.0 had the last of the three alone.
OWN = re.compile(
    r"key|(key|[0-9a-f]{32}|\w+-[0-9a-f]{12}-[0-9a-f]{32})\.(fit|part|lock|aside)"
)
TAG = 32  # bytes at the end of a file that only the owner of the key can have written
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

    A fit is as confidential as its data, and so is the folder. Files are for their
    owner alone. Their names and contents are signed with a random key, the file
    ``key`` in the folder: without it, a name does not tell whether a guess at the data
    is right, and a file that was damaged, or written by somebody else, is set aside
    unread.

    Parameters
    ----------
    folder : path-like, optional
        By default the environment variable ``PSEUDOPOST_CACHE``, or else the user's
        cache folder. A relative path is taken from where the process is now.

    Raises
    ------
    ValueError
        If `folder` is no path.

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
    if folder is None:
        folder = os.environ.get("PSEUDOPOST_CACHE") or user_cache_dir("pseudopost")
    if not isinstance(folder, (str, os.PathLike)) or not os.fspath(folder).strip():
        raise ValueError(f"folder must be a path; got {folder!r:.80}")
    _folder = Path(folder).expanduser().absolute()


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
    """Delete what is stored in the folder in use, and what killed runs left there.

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
    ...     _ = pp.PoissonSynthesizer([2, 4, 9]).fit()
    ...     pp.cache.clear()
    ...     left = list(Path(folder).glob("*.fit"))
    ...     pp.cache.off()
    >>> left
    []
    """
    if _folder is not None and _folder.is_dir():
        for file in _own_files():
            file.unlink(missing_ok=True)


def stored(key, compute, *, made_by=None):
    """Return ``compute()``, or what it returned when `key` was last seen.

    A process that asks for what another one is computing waits for it.

    Parameters
    ----------
    key : object
        Everything that determines the result, bar the code of this package; anything
        that joblib can hash.
    compute : callable
        Called without arguments; returns an ``xarray.DataTree`` or a
        ``pandas.DataFrame``.
    made_by : tuple of str, optional
        A name, and a hash of the code behind it; results of the same name and other
        code are deleted. By default the code of the whole package, without docstrings
        and comments.

    Returns
    -------
    xarray.DataTree or pandas.DataFrame

    Raises
    ------
    TypeError
        If the cache is on and `compute` returns something else.

    Warns
    -----
    UserWarning
        If a file was set aside, or the result could not be stored.

    References
    ----------
    Book: :ref:`quickstart`.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import pseudopost as pp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pp.cache.on(folder)
    ...     first = pp.cache.stored("answer", lambda: pd.DataFrame({"answer": [42]}))
    ...     again = pp.cache.stored("answer", lambda: 1 / 0)
    ...     pp.cache.off()
    >>> first.equals(again)
    True
    """
    if _folder is None:
        return compute()
    name, code = made_by or ("value", digest_of_modules())
    code = code[:12]
    with ExitStack() as stack:
        try:
            _folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _tidy(name, code)
            secret = _secret()
            digest = hmac.digest(secret, joblib.hash(key).encode(), "sha256").hex()
            file = _folder / f"{name}-{code}-{digest[:32]}.fit"
            stack.enter_context(_lock(file))
            value = _read(file, secret)
        except OSError as error:
            return _not_stored(compute(), error)
        if value is None:
            value = compute()
            tree = _as_tree(value)
            try:
                data = bytes(tree.to_netcdf(engine="h5netcdf"))
                _write(file, data, _tag(secret, file, data))
            except Exception as error:  # a full disk, or what netCDF cannot hold
                return _not_stored(value, error)
    return value


def _not_stored(value, error):
    warnings.warn(f"the result could not be stored: {error}", stacklevel=4)
    return value


def _own_files():
    return [file for file in _folder.iterdir() if OWN.fullmatch(file.name)]


def _tidy(name, code):
    """Delete results of other code, and what killed runs left."""
    for file in _own_files():
        theirs = file.stem.split("-")
        # Version 0.1.0 had one part; another class's results may be good still.
        old = len(theirs) == 1 or (theirs[0] == name and theirs[1] != code)
        if file.suffix == ".part" or (file.suffix == ".fit" and old):
            try:
                with _lock(file, timeout=0):
                    file.unlink(missing_ok=True)
            except Timeout:  # being written
                continue
            if file.suffix == ".fit":
                file.with_suffix(".lock").unlink(missing_ok=True)


def _lock(file, **settings):
    return FileLock(file.with_suffix(".lock"), mode=0o600, **settings)


def _secret():
    """Return the key of the folder; who asks for it first makes it."""
    file = _folder / "key"
    with _lock(file):
        if not file.exists():
            _write(file, secrets.token_bytes(TAG))
        return _bytes_of(file)


def _tag(secret, file, data):
    """Sign data for one place, so that a file cannot stand in for another one."""
    tag = hmac.new(secret, file.name.encode(), "sha256")
    tag.update(data)
    return tag.digest()


def _open(file, flags):
    """Open a file for its owner alone, and no link."""
    for name in ("O_NOFOLLOW", "O_BINARY"):  # not every system has both
        flags |= getattr(os, name, 0)
    return os.open(file, flags, 0o600)


def _bytes_of(file):
    with os.fdopen(_open(file, os.O_RDONLY), "rb") as stream:
        return stream.read()


def _write(file, *parts):
    """Write a new file; a run may be killed meanwhile, so only a whole one is named."""
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)
    with os.fdopen(_open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as stream:
        stream.writelines(parts)
    part.replace(file)


def _read(file, secret):
    """Return what is stored; None if nothing is, or what is there is not ours."""
    try:
        content = _bytes_of(file)
    except FileNotFoundError:
        return None
    except OSError:  # such as a link
        content = b""
    data, tag = content[:-TAG], content[-TAG:]
    if hmac.compare_digest(tag, _tag(secret, file, data)):
        settings = {"engine": "h5netcdf", "decode_times": False}
        with xr.open_datatree(io.BytesIO(data), **settings) as tree:
            return _as_value(tree.load())
    aside = file.with_suffix(".aside")
    file.replace(aside)
    warnings.warn(
        "a stored result is damaged, or was not written here; it is set aside as "
        f"{aside}, and computed again",
        stacklevel=4,
    )
    return None


def _as_tree(value):
    """Write a table as a tree."""
    if isinstance(value, xr.DataTree):
        return value
    if not isinstance(value, pd.DataFrame) or value.columns.nlevels > 1:
        kinds = "an xarray.DataTree, or a pandas.DataFrame with one level of columns"
        raise TypeError(f"compute must return {kinds}; got {type(value).__name__}")
    levels = [f"index {k}" for k in range(value.index.nlevels)]
    known = {"index": list(value.index.names), "attrs": value.attrs}
    rows = value.rename_axis(levels).reset_index().rename_axis("row")
    table = xr.Dataset.from_dataframe(rows)
    return xr.DataTree(table.assign_attrs(table=json.dumps(known)))


def _as_value(tree):
    """Undo :func:`_as_tree`."""
    if "table" not in tree.attrs:
        # A number comes back as one of NumPy's.
        for name, value in tree.attrs.items():
            tree.attrs[name] = getattr(value, "item", lambda value=value: value)()
        return tree
    known = json.loads(tree.attrs["table"])
    levels = [f"index {k}" for k in range(len(known["index"]))]
    table = tree.to_dataset().to_dataframe().set_index(levels)
    table.index.names = known["index"]
    table.attrs = known["attrs"]
    return table
