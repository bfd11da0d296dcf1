"""What the verdicts of a chapter depend on, and that it was refreshed since."""

import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import execute  # noqa: E402
import ledger  # noqa: E402
import rules  # noqa: E402

MODULE = '''"""Rules."""

LIMIT = 3
LABEL = "risk"


def plot(x):
    """Draw."""
    return x + 1


def above(x):
    """Whether it is above."""
    return x > LIMIT


def claims(x, found, *others):
    """Check."""
    note = found.note
    return {"A": (f"{x}", above(x)), "B": (note, True)}
'''
CELLS = [
    "import few_rules as few\nimport numpy as np\nfrom companion import claims",
    "x = 3\nfound, other = few.Found(), by_profile(1, 2)\nfound.note = 'n'",
    "%matplotlib inline\nfew.plot(x)\nother.append(3)\nfound.round(2)",
    "for k in range(2):\n    found.add(k)",
    "def run(k):\n    results[k] = k + 10",
    "results = {}\nrun(4)",
    "rng = np.random.default_rng(1)\nunused = rng.normal(5)\nx += rng.normal()",
    "parts = [found, other]\nfor part in parts:\n    part.scale = 7",
    "table = few.read('counts.csv')",
    "checked = claims(few.claims(x, found, results, parts, table))",
    "y = x + 1\nexercise = [x for x in range(6)]",
]


@pytest.mark.parametrize("path", execute.CHAPTERS, ids=lambda path: path.stem)
def test_rows_are_refreshed_after_a_change_of_their_rules(path):
    now, _ = rules.rules_of(path)
    stored = ledger.read_refreshed()["rules"].get(path.stem, "")
    assert stored == now, (
        f"what {path.stem} checks depends on code that has changed: "
        f"tools/notebooks.py refresh {path.stem}"
    )


@pytest.fixture
def rules_after(tmp_path, monkeypatch):
    """Hash the rules of a small chapter, in whose cells or module a text is replaced."""
    monkeypatch.setattr(execute, "BOOK", tmp_path)
    monkeypatch.setattr(execute, "DATA", tmp_path)
    (tmp_path / "counts.csv").write_text("1\n")
    (tmp_path / "another.csv").write_text("1\n")
    (tmp_path / "companion.py").write_text("def claims(checks):\n    return checks\n")

    def changed(old="", new="", cells=CELLS):
        texts = [MODULE, *cells]
        assert not old or sum(old in text for text in texts) == 1
        module, *cells = (text.replace(old, new) if old else text for text in texts)
        (tmp_path / "few_rules.py").write_text(module)
        path = tmp_path / "few.ipynb"
        nbformat.write(new_notebook(cells=[*map(new_code_cell, cells)]), path)
        return rules.rules_of(path)[0]

    return changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Whether it is above.", "If above."),
        ("    return x + 1", "    return x + 2"),
        ('"risk"', '"weight"'),
        ("few.plot(x)", "few.plot(x, 2)"),
        ("y = x + 1", "y = x + 2"),
        ("range(6)", "range(7)"),
        ("found.round(2)", "found.round(3)"),
        ("x = 3", "x = 3  # records"),
        ('"risk"', '"the risk"'),
        ("by_profile(1, 2)", "by_profile(0, 2)"),
    ],
)
def test_what_decides_nothing_does_not_count(rules_after, old, new):
    assert rules_after(old, new) == rules_after()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x > LIMIT", "x >= LIMIT"),
        ("LIMIT = 3", "LIMIT = 4"),
        ("above(x))", "not above(x))"),
        ("x = 3", "x = 4"),
        ("found.note = 'n'", "found.note = 'm'"),
        ("found.add(k)", "found.add(k + 1)"),
        ("few.claims(x,", "few.claims(x + 1,"),
        ("k + 10", "k + 11"),
        ("run(4)", "run(5)"),
        ("unused = rng.normal(5)", "unused = rng.normal(6)"),
        ("default_rng(1)", "default_rng(2)"),
        ("part.scale = 7", "part.scale = 8"),
        ("other.append(3)", "other.append(4)"),
        ("note = found.note", "note = found.other"),
        ("by_profile(1, 2)", "by_profile(1, 3)"),
    ],
)
def test_what_decides_a_row_counts(rules_after, old, new):
    assert rules_after(old, new) != rules_after()


def test_the_order_and_number_of_statements_count(rules_after):
    swapped = [*CELLS[:4], CELLS[5], CELLS[4], *CELLS[6:]]
    assert rules_after(cells=swapped) != rules_after()
    twice = [*CELLS[:6], CELLS[5], *CELLS[6:]]
    assert rules_after(cells=twice) != rules_after()


def test_data_files_that_are_named_count(rules_after, tmp_path):
    before = rules_after()
    (tmp_path / "another.csv").write_text("2\n")
    assert rules_after() == before
    (tmp_path / "counts.csv").write_text("2\n")
    assert rules_after() != before


def test_a_chapter_without_checks_has_no_rules(rules_after):
    assert rules_after("checked =", "seen =") == ""


def test_the_sampler_counts_where_mixtures_are_fitted():
    paths = {path.stem: path for path in execute.CHAPTERS}
    assert rules.rules_of(paths["ce-income"])[1] == ledger.sampler()
    assert rules.rules_of(paths["income-file"])[1] == ""
