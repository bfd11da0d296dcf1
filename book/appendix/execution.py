"""Running times and versions for the page about them."""

import platform
import re
from importlib.metadata import version
from pathlib import Path

import pandas as pd

TIMES = Path(__file__).parents[2] / "data" / "running_times.csv"
PACKAGES = (
    "pseudopost",
    "pymc",
    "pytensor",
    "nutpie",
    "numba",
    "arviz",
    "numpy",
    "scipy",
    "pandas",
    "matplotlib",
    "jupyter-book",
)
HEAD = """\
| chapter | nothing stored (s) | fits stored (s) | small run (s) |
|---|---:|---:|---:|
"""


def read_times():
    """Seconds by chapter, and what the file says of their measurement."""
    measured = TIMES.read_text().splitlines()[0].removeprefix("# ")
    return pd.read_csv(TIMES, comment="#", index_col="chapter"), measured


def split_measured(measured):
    """Separate when and where the times were measured, and notes on single chapters."""
    when, notes = re.fullmatch(r"(.*? cores)(?:, (.*))?", measured).groups(default="")
    return when, notes


def as_notes(notes):
    """Write the notes as Markdown to stand below the table; nothing if there are none."""
    lines = [f"- {note[0].upper()}{note[1:]}." for note in notes.split("; ") if note]
    head = "\n\nHow single chapters were measured:\n\n" if lines else ""
    return head + "\n".join(lines)


def time_values(times):
    """Total times in minutes, and how they spread over the chapters."""
    first = times["nothing stored"]
    return {
        "nothing-stored": first.sum() / 60,
        "fits-stored": times["fits stored"].sum() / 60,
        "small-run": times["small run"].sum() / 60,
        "longest": 100 * first.nlargest(5).sum() / first.sum(),
        "quick": int((first < 120).sum()),
        "chapters": len(times),
    }


def as_table(times):
    """Write the times as a Markdown table with references to the chapters."""
    return HEAD + "\n".join(
        f"| {{ref}}`{chapter}` | {first:,} | {second:,} | {small:,} |"
        for chapter, first, second, small in times.itertuples()
    )


def versions():
    """List Python and the packages that make the pages, with their versions."""
    found = {"Python": platform.python_version()} | {p: version(p) for p in PACKAGES}
    return pd.Series(found, name="version").to_frame()
