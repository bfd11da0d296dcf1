"""The code that a result depends on; docstrings and comments do not count."""

import ast
import hashlib
import inspect
import textwrap
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent


def digest_of_text(text):
    """Hash of Python code without its docstrings, comments and layout."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


@cache
def digest_of_modules(*names):
    """Hash of modules of this package, and of those that they import, or all.

    Parameters
    ----------
    *names : str
        Such as ``"pseudopost.mixture"``; without any, the whole package.
    """
    files, waiting = {}, set(names) or {f.stem for f in PACKAGE.glob("*.py")}
    while waiting:
        name = waiting.pop().removeprefix("pseudopost.")
        file = PACKAGE / f"{name}.py"
        if name in files or not file.exists():
            continue
        text = file.read_text()
        files[name] = digest_of_text(text)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module == "pseudopost":
                waiting.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                waiting.add(node.module or "")
    return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()


def origin_of_class(cls):
    """Name of the nearest class of this package, and the hash of its modules."""
    here = [base for base in cls.__mro__ if base.__module__.startswith("pseudopost.")]
    modules = sorted({base.__module__ for base in here})
    return here[0].__name__, digest_of_modules(*modules)


def digest_of_class(cls):
    """Hash of the code of a class: its modules here, its own text elsewhere."""
    known = ("abc", "builtins", "typing")
    elsewhere = [
        _text_of_class(base)
        for base in cls.__mro__
        if not base.__module__.startswith("pseudopost.")
        and base.__module__ not in known
    ]
    return hashlib.sha256(repr([*origin_of_class(cls), elsewhere]).encode()).hexdigest()


def _text_of_class(cls):
    try:
        return digest_of_text(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, SyntaxError, TypeError):  # typed at a prompt, say
        functions = [f for f in vars(cls).values() if inspect.isfunction(f)]
        codes = [f.__code__ for f in functions]
        return [(c.co_code, c.co_names, repr(c.co_consts)) for c in codes]
