"""Checks of the book as built in _build/pdf; `make pdf` builds it and runs these."""

import re
from functools import reduce
from pathlib import Path

import nbformat
import pytest
import yaml

ROOT = Path(__file__).parents[2]
PDF = ROOT / "_build" / "pdf" / "pseudopost.pdf"
LATEX = ROOT / "_build" / "latex"
SOURCES = [ROOT / "_toc.yml", ROOT / "_config.yml", *(ROOT / "book").rglob("*.ipynb")]

if not PDF.exists():
    pytest.skip("no PDF: run make pdf, which needs LaTeX", allow_module_level=True)
if PDF.stat().st_mtime < max(path.stat().st_mtime for path in SOURCES):
    pytest.skip("the PDF is older than the book: run make pdf", allow_module_level=True)


def written(suffix):
    return (LATEX / f"pseudopost.{suffix}").read_text(errors="replace")


def sizes(kind):
    """By how many points each box of this kind is too large."""
    return [
        float(s)
        for s in re.findall(rf"Overfull \\{kind} \((\d+\.\d+)pt", written("log"))
    ]


def test_pages():
    assert PDF.read_bytes().startswith(b"%PDF")
    pages = re.search(
        r"Output written on pseudopost\.\w+ \((\d+) pages", written("log")
    )
    assert int(pages[1]) > 400


def test_every_chapter_is_in_the_contents():
    entries = re.findall(
        r"\\contentsline \{chapter\}\{\\numberline \{\d+\}(.*)\}\{\d+\}\{",
        written("toc"),
    )
    # As LaTeX writes hyphens, apostrophes and percents.
    printed = {
        r"\sphinxhyphen {}": "-",
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        r"\%": "%",
    }
    listed = [reduce(lambda t, p: t.replace(*p), printed.items(), e) for e in entries]
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    files = [c["file"] for part in toc["parts"] for c in part["chapters"]]
    assert len(listed) == len(files)
    for file, title in zip(files, listed, strict=True):
        assert heading(file) == title


def heading(file):
    path = ROOT / f"{file}.md"
    if path.exists():
        text = path.read_text()
    else:
        cells = nbformat.read(path.with_suffix(".ipynb"), as_version=4).cells
        text = "\n".join(c.source for c in cells if c.cell_type == "markdown")
    return re.search(r"^# (.*)$", text, flags=re.M)[1].replace("`", "")


def test_no_reference_is_unresolved():
    assert not re.findall(r"(?:Hyper reference|Reference|Citation) `.*", written("log"))
    assert "multiply defined" not in written("log")


def test_every_character_is_in_its_font():
    assert not re.findall("Missing character: .*", written("log"))


def test_nothing_runs_off_the_page():
    assert max(sizes("hbox"), default=0) < 30
    assert max(sizes("vbox"), default=0) < 30


def test_no_leaked_markup():
    code = r"\\begin\{sphinxVerbatim\}.*?\\end\{sphinxVerbatim\}"
    text = re.sub(code, "", written("tex"), flags=re.S)
    assert "object at 0x" not in written("tex")
    assert "Styler at 0x" not in written("tex")
    for leak in (
        # LaTeX writes a brace of the text with a backslash.
        r"\{glue",
        r"\{term",
        r"\{ref",
        r"\{numref",
        ":::",
        "np.float64(",
        "Traceback",
    ):
        assert leak not in text
