"""Which chapters are executed again, and what the reader of the log sees."""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import execute  # noqa: E402
import ledger  # noqa: E402
import notebooks  # noqa: E402

KERNEL = {
    "kernelspec": {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}
MODULE = '"""A module."""\n\n\ndef double(x):\n    "Twice."\n    return 2 * x\n'


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book of two chapters: the first has a module and a data file, and a claim."""
    folder = tmp_path / "book" / "p1"
    folder.mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "counts.csv").write_text("1\n2\n")
    (tmp_path / "data" / "other.csv").write_text("3\n")
    (tmp_path / "requirements.txt").write_text("numpy\n")
    (tmp_path / "book" / "ledger.csv").write_text(
        "id,chapter,what,published,verdict,ours\n"
        "A,first,a,1,reproduced,1\nB,second,b,2,holds in part,2\n"
    )
    (tmp_path / "book" / "shared.py").write_text('"""Shared."""\n\nSIZE = 4\n')
    (folder / "first_module.py").write_text(f"import shared\n\n{MODULE}")
    chapters = {
        "first": "import first_module\nprint(open('../../data/counts.csv').read())",
        "second": "print(3)",
    }
    paths = []
    for name, code in chapters.items():
        cells = [new_markdown_cell(f"# {name}"), new_code_cell(code)]
        paths.append(folder / f"{name}.ipynb")
        nbformat.write(new_notebook(cells=cells, metadata=KERNEL), paths[-1])
    build = tmp_path / "_build"
    for name, value in {
        "ROOT": tmp_path,
        "BOOK": tmp_path / "book",
        "BUILD": build,
        "DATA": tmp_path / "data",
        "CHAPTERS": paths,
        "LEDGER": tmp_path / "book" / "ledger.csv",
        "INPUTS": build / "inputs.json",
        "LOG": build / "book.log",
    }.items():
        monkeypatch.setattr(execute, name, value)
    return tmp_path


def changed(book, change):
    """Chapters that are stale after a change."""
    before = {path.stem: execute.inputs_of(path) for path in execute.CHAPTERS}
    change(book)
    return {p.stem for p in execute.CHAPTERS if execute.inputs_of(p) != before[p.stem]}


def rewrite(name, old, new):
    def change(book):
        text = (book / name).read_text()
        assert old in text
        (book / name).write_text(text.replace(old, new))

    return change


@pytest.mark.parametrize(
    ("name", "old", "new", "stale"),
    [
        ("book/p1/first_module.py", '"Twice."', '"Two times."', set()),
        ("book/p1/first_module.py", "    return", "    # A remark.\n    return", set()),
        ("book/p1/first_module.py", "2 * x", "3 * x", {"first"}),
        ("book/shared.py", '"""Shared."""', '"""For all."""', set()),
        ("book/shared.py", "4", "5", {"first"}),
        ("data/counts.csv", "2", "7", {"first"}),
        ("data/other.csv", "3", "7", set()),
        ("book/ledger.csv", "A,first,a", "A,first,c", {"first"}),
        ("book/ledger.csv", "holds in part,2", "holds in part,9", set()),
        ("book/p1/first.ipynb", "# first", "# A title", set()),
        ("requirements.txt", "numpy", "numpy==2", {"first", "second"}),
    ],
)
def test_what_a_chapter_executes_decides(book, name, old, new, stale):
    assert changed(book, rewrite(name, old, new)) == stale


def test_the_code_of_the_package_and_the_profile_count(book, monkeypatch):
    def package(book):
        monkeypatch.setattr(execute, "digest_of_modules", lambda: "another")

    assert changed(book, package) == {"first", "second"}
    assert changed(book, lambda book: monkeypatch.setattr(execute, "PROFILE", "x"))


def test_stale_outputs_and_pages_are_forgotten_and_others_kept(book):
    first, second = execute.CHAPTERS
    for path in (first, second):
        execute.forget_stale()
        execute.keep(nbformat.read(path, as_version=4), path)
    execute.forget_stale()
    assert execute.is_kept(first)
    assert execute.is_kept(second)
    page = execute.BUILD / ".doctrees" / "book" / "p1" / "first.doctree"
    page.parent.mkdir(parents=True)
    page.write_text("")
    rewrite("book/shared.py", "4", "5")(book)
    execute.forget_stale()
    assert not execute.is_kept(first)
    assert execute.is_kept(second)
    assert not page.exists()


def test_chapters_of_the_same_code_are_stored_side_by_side(book):
    execute.forget_stale()
    paths = [execute.BOOK / "p1" / f"words{j}.ipynb" for j in range(8)]
    notebook = new_notebook(cells=[new_markdown_cell("words")])
    with ThreadPoolExecutor(len(paths)) as pool:
        list(pool.map(lambda path: execute.keep(deepcopy(notebook), path), paths))


@pytest.mark.slow
def test_chapters_are_executed_once_and_a_failing_one_is_named_at_once(
    book, capsys, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", str(book / "book"))
    rewrite("book/p1/second.ipynb", "print(3)", "1 / 0")(book)
    with pytest.raises(SystemExit, match="failed: second"):
        execute.main()
    printed = capsys.readouterr().out
    assert "2 chapters to execute" in printed
    assert re.search(
        r"second: FAILED after \d+ s; .*\n.*\n(.*\n)*.*ZeroDivision", printed
    )
    assert re.search(r"first: \d+ s; \d left, until about \d\d:\d\d", printed)
    assert execute.LOG.read_text() == printed
    rewrite("book/p1/second.ipynb", "1 / 0", "1 / 1")(book)
    execute.main()
    printed = capsys.readouterr().out
    assert "1 chapters are up to date" in printed
    assert "first" not in printed
    execute.main()
    assert "2 chapters are up to date" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "processes"), [("class", 1), ("book", 2)])
def test_a_worker_keeps_its_process_in_the_small_book_but_no_names(
    book, monkeypatch, profile, processes
):
    monkeypatch.setattr(execute, "PROFILE", profile)
    monkeypatch.setenv("WORKERS", "1")
    monkeypatch.setenv("PYTHONPATH", str(book / "book"))
    code = """import os, first_module, joblib
assert "left" not in globals()
left = joblib.Parallel(2)(joblib.delayed(first_module.double)(i) for i in (1, 2))
assert left == [2, 4]
print(os.getpid())"""
    for path in execute.CHAPTERS:
        cells = [new_code_cell(f"# {path.stem}\n{code}")]
        nbformat.write(new_notebook(cells=cells, metadata=KERNEL), path)
    execute.main()
    with execute.outputs() as cache:
        chapters = [cache.match_cache_file(path) for path in execute.CHAPTERS]
        found = [cache.get_cache_bundle(record.pk).nb.cells for record in chapters]
    assert [len(cells) for cells in found] == [1, 1]
    assert len({cells[0].outputs[0].text for cells in found}) == processes


@pytest.mark.slow
def test_a_process_that_dies_is_replaced(book, capsys, monkeypatch):
    monkeypatch.setattr(execute, "PROFILE", "class")
    monkeypatch.setenv("WORKERS", "1")
    monkeypatch.setenv("PYTHONPATH", str(book / "book"))
    rewrite("book/p1/first.ipynb", "import", "import os; os._exit(1)  #")(book)
    with pytest.raises(SystemExit, match=r"failed: first$"):
        execute.main()
    assert re.search(r"first: FAILED .*\n.*Kernel died", capsys.readouterr().out)


@pytest.mark.slow
def test_refresh_stores_what_was_printed_and_found(book, capsys, monkeypatch):
    for name in ("BUILD", "CHAPTERS", "LEDGER"):
        monkeypatch.setattr(notebooks, name, getattr(execute, name))
    code = """import pandas as pd
checked = pd.DataFrame(
    {"ours": ["seen", "of its own"], "holds": [False, True]}, ["A", "no row"]
)"""
    show = new_code_cell("print(7)", metadata={"tags": [notebooks.CHECKED]})
    cells = [new_code_cell(code), show, new_code_cell("print(8)")]
    nbformat.write(new_notebook(cells=cells, metadata=KERNEL), execute.CHAPTERS[0])
    text = new_markdown_cell("Text.")
    nbformat.write(new_notebook(cells=[text], metadata=KERNEL), execute.CHAPTERS[1])
    days = book / "data" / "refreshed.csv"
    days.write_text("chapter,day,rules,sampler\n")
    monkeypatch.setattr(ledger, "REFRESHED", days)
    notebooks.refresh()
    assert list(ledger.read_refreshed().index) == ["first"]  # the other has no checks
    stored = nbformat.read(execute.CHAPTERS[0], as_version=4).cells
    assert [len(cell.outputs) for cell in stored] == [0, 1, 0]
    assert stored[1].outputs[0].text == "7\n"
    assert execute.LEDGER.read_text() == (
        "id,chapter,what,published,verdict,ours\n"
        "A,first,a,1,to be decided,seen\nB,second,b,2,holds in part,2\n"
    )
    # What is stored is what the book shows: nothing is executed again.
    capsys.readouterr()
    execute.main()
    assert "2 chapters are up to date" in capsys.readouterr().out


def test_refresh_stores_no_numbers_of_a_small_run(book, monkeypatch):
    monkeypatch.setattr(execute, "PROFILE", "class")
    with pytest.raises(SystemExit, match="PROFILE must be book"):
        notebooks.refresh()


def test_the_long_chapters_are_listed_for_a_workflow(capsys):
    execute.main("--long")
    assert set(json.loads(capsys.readouterr().out)) == execute.LONG


def test_an_unknown_chapter_is_refused(book):
    with pytest.raises(SystemExit, match="no such chapters: third"):
        execute.main("third")


def test_the_time_left_follows_the_speed_seen(book):
    execute.BUILD.mkdir()
    progress = execute.Progress(["a", "b", "c"], {"a": 10, "b": 20, "c": 40}, workers=2)
    progress.done = {"a": 20}
    progress.waiting = dict.fromkeys(["b", "c"])
    assert progress.seconds_left() == 80
    progress.workers = 1
    assert progress.seconds_left() == 120


def test_a_chapter_that_fails_first_is_told(capsys):
    expected = execute.expected_seconds()
    first, second, *_ = expected
    progress = execute.Progress([first, second], expected, workers=1)
    progress.say = print
    progress.start(first)
    progress.end(first, "    what went wrong")
    said = capsys.readouterr().out
    assert f"{first}: FAILED after 0 s; 1 left" in said
    assert "    what went wrong" in said


def test_workers_fit_into_memory(monkeypatch):
    monkeypatch.setattr(execute, "GIGABYTES_PER_WORKER", 1e9)
    assert execute.number_of_workers(8) == 1
    monkeypatch.setattr(execute, "GIGABYTES_PER_WORKER", 1e-9)
    assert execute.number_of_workers(8) == 8


def test_parts_of_a_target_are_timed(tmp_path):
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "timed.py").write_text((ROOT / "tools" / "timed.py").read_text())

    def timed(*arguments):
        command = [sys.executable, str(folder / "timed.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    timed("start")
    assert timed("good part", sys.executable, "-c", "print(1)").stdout == "1\n"
    assert (
        timed("bad part", sys.executable, "-c", "raise SystemExit(3)").returncode == 3
    )
    report = timed("report").stdout
    assert re.search(r"^good part: +passed after 0 min \d\d s$", report, re.M)
    assert re.search(r"^bad part: +failed after 0 min \d\d s$", report, re.M)
