"""Checks of the notebooks in _build/editions, which `make book` writes."""

import re
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import editions as tools  # noqa: E402
import kit  # noqa: E402

FOLDER = ROOT / "_build" / "editions"
NAMES = sorted(
    str(path.relative_to(ROOT).with_suffix(""))
    for path in (ROOT / "book").rglob("*.ipynb")
    if ".ipynb_checkpoints" not in path.parts
)
FOR_STUDENTS = sorted({*NAMES} - tools.FOR_TEACHERS)
GIVEN = {e: FOR_STUDENTS if e == "student" else NAMES for e in tools.EDITIONS}
name = pytest.mark.parametrize("name", NAMES)
edition = pytest.mark.parametrize("edition", tools.EDITIONS)
edition_and_name = pytest.mark.parametrize(
    ("edition", "name"), [(e, name) for e, names in GIVEN.items() for name in names]
)


@pytest.fixture(scope="module", autouse=True)
def _editions_are_of_this_book():
    inputs = [ROOT / "tools" / "editions.py", *(ROOT / f"{n}.ipynb" for n in NAMES)]
    for pattern in ("pseudopost/*.py", "data/*", "_build/html/book/**/*.html"):
        inputs += ROOT.glob(pattern)
    written = min((p.stat().st_mtime for p in FOLDER.rglob("*.ipynb")), default=0)
    newer = [str(p.relative_to(ROOT)) for p in inputs if p.stat().st_mtime > written]
    assert not newer, "_build/editions is older than these: run make book"


@cache
def read(where, name):
    folder = ROOT if where == "source" else FOLDER / where
    return nbformat.read(folder / f"{name}.ipynb", as_version=4).cells


@cache
def page(name):
    html = (ROOT / "_build" / "html" / f"{name}.html").read_text()
    return BeautifulSoup(html, "html.parser").find("article")


def numbers(name, kind):
    """Texts of the numbers of one kind on the page of the book."""
    return [found.get_text().strip("()#\n ") for found in page(name).select(kind)]


def cells(where, name, kind=None):
    return [c for c in read(where, name) if kind in (None, c.cell_type)]


def text(where, name):
    return "\n\n".join(cell.source for cell in cells(where, name, "markdown"))


def code(where, name):
    """Sources of the code cells, without the titles under which some are folded."""
    found = cells(where, name, "code")
    return [re.sub(r"^# @title .*\n", "", cell.source) for cell in found]


def solutions(name):
    """Text and code of the solutions in the source."""
    words, programs, inside = [], [], False
    for cell in cells("source", name):
        if cell.cell_type == "code":
            programs += [cell.source] * inside
            continue
        source = re.sub(
            r"^```\{solution\} \S+\n(?::[^\n]*\n)*(.*?)^```$",
            lambda match: words.append(match[1]) or "",
            cell.source,
            flags=re.M | re.S,
        )
        for piece in re.split(
            r"^(`{3,}\{solution-(?:start|end)\}.*)$", source, flags=re.M
        ):
            if "{solution-" in piece:
                inside = "start" in piece
            elif inside:
                words.append(piece)
    return words, programs


def plain(markdown):
    """Drop what the conversion may change: curly quotes and spaces."""
    for curly, straight in zip("‘’“”", "''\"\"", strict=True):  # noqa: RUF001
        markdown = markdown.replace(curly, straight)
    return " ".join(markdown.split())


def fragments(markdown):
    """Runs of plain words that are long enough to be found nowhere else."""
    runs = re.split(
        r"\{[\w:]+\}`[^`]*`|\$[^$]*\$|[`*\[\]<>|\\\"']|^:.*$|---*|\.\.\.",
        markdown,
        flags=re.M,
    )
    return [run for run in map(plain, runs) if len(run) > 30]


@edition
def test_every_chapter_is_there_and_valid(edition):
    paths = [*(FOLDER / edition).rglob("*.ipynb")]
    found = [str(p.relative_to(FOLDER / edition).with_suffix("")) for p in paths]
    assert sorted(found) == GIVEN[edition]
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert notebook.metadata.kernelspec.name == "python3"
        assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
        assert not any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.parametrize("name", FOR_STUDENTS)
def test_solutions_are_only_in_their_editions(name):
    words, programs = solutions(name)
    exercises = re.findall(r"\{exercise(?:-start)?\}", text("source", name))
    assert len(re.findall(r"\{solution(?:-start)?\} ", text("source", name))) == len(
        exercises
    )
    instructor, student = plain(text("instructor", name)), plain(text("student", name))
    pieces = [piece for part in words for piece in fragments(part)]
    assert len(pieces) >= len(exercises)
    for piece in pieces:
        assert piece in instructor
        assert piece not in student
    for program in programs:
        assert program in code("instructor", name)
        assert program not in code("student", name)
    assert "Solution to" not in student


@edition_and_name
def test_exercises_have_the_numbers_of_the_book(edition, name):
    labels = numbers(name, ".exercise .caption-number")
    count = len(re.findall(r"\{exercise(?:-start)?\}", text("source", name)))
    assert len(labels) == count
    notebook = text(edition, name)
    assert re.findall(r"^### (Exercise [\d.]+)", notebook, re.M) == labels
    if edition == "student":
        answers = re.findall(r"Your answer to (Exercise [\d.]+):", notebook)
        assert answers == labels
        assert code(edition, name).count("") == count
    else:
        mark = "### " if edition == "instructor" else "<summary><b>"
        head = rf"^{mark}Solution to (Exercise [\d.]+)(?!.*, continued)"
        assert re.findall(head, notebook, re.M) == labels


@name
def test_all_other_numbers_are_those_of_the_book(name):
    notebook = text("instructor", name)
    equations = numbers(name, ".eqno")
    assert sorted(re.findall(r"\\tag\{([\d.]+)\}", notebook)) == sorted(equations)
    heads = numbers(name, ".section-number")
    assert re.findall(r"^#+ ([\d.]+\.) ", notebook, re.M) == heads
    labels = {n for n in numbers(name, ".caption-number") if n[-1].isdigit()}
    kinds = {label.split()[0] for label in labels} | {"Fig.", "Table", "Listing"}
    shown = re.findall(r"^(?:> \*\*|\*\*|### )(\S+ [\d.]*\d)\b", notebook, re.M)
    assert {label for label in shown if label.split()[0] in kinds} == labels


@name
def test_code_is_that_of_the_source(name):
    # Cells that print MyST are replaced by what the book shows.
    source = [s for s in code("source", name) if not re.search(r"^Markdown\(", s, re.M)]
    assert code("reader", name)[1:] == source


@edition_and_name
def test_relative_links_point_to_files(edition, name):
    links = re.findall(r"\]\(([^)\s]+)\)", text(edition, name))
    targets = [link for link in links if "://" not in link]
    assert targets or name == "book/appendix/bibliography"
    for target in targets:
        assert ((FOLDER / edition / name).parent / target).exists(), target


def test_students_code_uses_no_name_of_a_solution():
    command = ["ruff", "check", "--isolated", "--no-cache", "--select", "F821"]
    folder = FOLDER / "student"
    result = subprocess.run(
        [sys.executable, "-m", *command, folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_kit_has_no_solutions_and_brings_the_package(tmp_path):
    kit.main()
    archive = zipfile.ZipFile(ROOT / "_build" / f"{kit.NAME}.zip")
    archive.extractall(tmp_path)
    folder = tmp_path / kit.NAME
    names = {
        str(path.relative_to(folder).with_suffix(""))
        for path in folder.rglob("*.ipynb")
    }
    assert sorted(names) == FOR_STUDENTS
    words = [plain(path.read_text()) for path in folder.rglob("*.ipynb")]
    assert not any("Solution to" in text for text in words)
    lines = (folder / "requirements.txt").read_text().splitlines()
    (wheel,) = (line for line in lines if line.startswith("./"))
    assert not any("git+" in line for line in lines)
    assert "pseudopost/__init__.py" in zipfile.ZipFile(folder / wheel).namelist()


@pytest.mark.parametrize("edition", ["student", "instructor"])
def test_quickstart_runs(edition):
    path = FOLDER / edition / "book" / "start" / "quickstart.ipynb"
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": path.parent}}
    NotebookClient(notebook, timeout=600, resources=where).execute()
    assert sum(bool(cell.get("outputs")) for cell in notebook.cells) > 3
