"""Keep the book's notebooks small and honest.

Usage: python tools/notebooks.py strip | refresh [CHAPTER ...] | times
"""

import ast
import os
import re
import shutil
import sys
from base64 import b64decode
from datetime import date
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from execute import (
    BUILD,
    CHAPTERS,
    LEDGER,
    PROFILE,
    ROOT,
    TIMES,
    keep,
    main,
    outputs,
    profile_of,
)
from rules import store

PICTURE = ROOT / "book" / "_static" / "idea.png"
CHECKED = "nbval-check-output"
# Verdicts that a row of the ledger can have, by whether its rule holds.
VERDICTS = {
    True: {"reproduced", "holds in part", "definition", "misprint"},
    False: {"holds in part", "misprint", "not found", "contradicted"},
}
TO_DECIDE = "to be decided"
LISTING = re.compile(
    r"(\{literalinclude\} [./]*/pseudopost/(\w+\.py)\n:pyobject: (\w+)\n"
    r"(?::.*\n)*?:lines: )(.*)"
)


def strip():
    """Remove the outputs of all cells but the checked ones, and realign listings."""
    for path in CHAPTERS:
        notebook = nbformat.read(path, as_version=4)
        _tidy(notebook)
        nbformat.write(notebook, path)


def listing_lines(file, name):
    """Lines of the function `name`, counted from its first, without the docstring."""
    tree = ast.parse((ROOT / "pseudopost" / file).read_text())
    (function,) = (n for n in ast.walk(tree) if getattr(n, "name", None) == name)
    docstring, start = function.body[0], function.lineno
    first = f"1-{docstring.lineno - start}" if docstring.lineno - start > 1 else "1"
    return f"{first}, {docstring.end_lineno - start + 2}-"


def _realign(match):
    return f"{match[1]}{listing_lines(match[2], match[3])}"


def refresh(*names):
    """Execute the chapters that need it; store what they print, found and draw.

    That is, the outputs of checked cells, the ledger, with the day and a hash of the
    rules, and README's picture.
    """
    if {profile_of(path) for path in CHAPTERS} != {"book"}:
        sys.exit("make refresh stores the numbers of the book: PROFILE must be book")
    with outputs() as cache:
        for record in cache.list_cache_records():
            if "real_files" not in record.data:  # executed by nbval
                cache.remove_cache(record.pk)
    main(*names)
    chosen = [path for path in CHAPTERS if not names or path.stem in names]
    store(chosen)
    for path in chosen:
        with outputs() as cache:
            record = cache.match_cache_file(path)
            _, notebook = cache.merge_match_into_file(path)
        _update_ledger(record.data["checked"], record.data["real_files"])
        for cell in notebook.cells:
            if "readme-figure" in cell.metadata.get("tags", []):
                PICTURE.write_bytes(b64decode(cell.outputs[0].data["image/png"]))
        _tidy(notebook)
        nbformat.write(notebook, path)


def times():
    """Store the seconds of every chapter in the build, and in a run with its fits.

    In profile ``class``, those in the build alone.
    """
    table = pd.read_csv(TIMES, comment="#", index_col="chapter")
    if PROFILE == "class":
        table["small run"] = _seconds()
    else:
        table["nothing stored"] = _seconds()
        shutil.rmtree(BUILD / ".jupyter_cache")
        main()
        table["fits stored"] = _seconds()
    day = f"{date.today():%d %B %Y}".lstrip("0")
    note = f"# measured on {day} on {os.cpu_count()} cores\n"
    text = np.ceil(table).astype(int).to_csv(index_label="chapter")
    TIMES.write_text(note + text)


def _seconds():
    """Return the seconds that each chapter took when it was executed last."""
    with outputs() as cache:
        return pd.Series(
            {
                Path(record.uri).stem: record.data["execution_seconds"]
                for record in cache.list_cache_records()
            }
        )


def _update_ledger(results, real_files):
    ledger = pd.read_csv(LEDGER, dtype=str, keep_default_na=False).set_index("id")
    # Two chapters check statements of their own, which are no rows of the ledger.
    for row in ledger.index.intersection(list(results)):
        result = results[row]
        ledger.loc[row, "ours"] = result["ours"]
        if ledger.loc[row, "verdict"] not in VERDICTS[result["holds"]]:
            how = "holds" if result["holds"] else "fails"
            print(f"{row}: its rule {how} now; its verdict is {TO_DECIDE}")
            ledger.loc[row, "verdict"] = TO_DECIDE
    for row, said in real_files.items():
        ledger.loc[row, "real_files"] = said
    ledger.reset_index().to_csv(LEDGER, index=False)


def _set_profile(path):
    profile = profile_of(path)
    os.environ["PSEUDOPOST_PROFILE"] = profile  # for kernels that start from here
    return profile


def pytest_collection_modifyitems(items):
    """Under `pytest -p tools.notebooks`, compare checked cells in profile book only."""
    for item in items:
        if _set_profile(item.path) != "book":
            item.options["check"] = False


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Start the kernel of a chapter in its profile."""
    _set_profile(item.path)


def pytest_runtest_teardown(item, nextitem):
    """Keep what nbval executes, for the book build.

    After a cell that failed the chapter is left to ``execute.py``.
    """
    chapter = item.parent
    item.cell.outputs = item.test_outputs or []
    if nextitem is not None and nextitem.parent is chapter:
        return
    outputs = [o for cell in chapter.nb.cells for o in cell.get("outputs", [])]
    if all(output.output_type != "error" for output in outputs):
        keep(chapter.nb, chapter.path)


def _tidy(notebook):
    notebook.metadata = {
        "kernelspec": {
            "display_name": "Python 3",
            "language": "python",
            "name": "python3",
        },
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = LISTING.sub(_realign, cell.source)
        if cell.cell_type == "code":
            cell.metadata.pop("execution", None)
            if CHECKED not in cell.metadata.get("tags", []):
                cell.outputs = []
            # nbval compares only cells that look as if they had been run.
            cell.execution_count = 1 if cell.outputs else None


if __name__ == "__main__":
    commands = {f.__name__: f for f in (strip, refresh, times)}
    commands[sys.argv[1]](*sys.argv[2:])
