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


def claims(x, found):
    """Check."""
    return {"A": (f"{x}", above(x)), "B": (found.note, True)}
'''
CELLS = [
    "import few_rules as few\nfrom companion import claims",
    "x = 3\nfound, other = few.Found(), 8\nfound.note = 'n'",
    "%matplotlib inline\nfew.plot(x)\nother.append(3)",
    "for k in range(2):\n    found.add(k)",
    "checked = claims(few.claims(x, found))",
    "y = x + 1",
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
    (tmp_path / "companion.py").write_text("def claims(checks):\n    return checks\n")

    def changed(old="", new=""):
        texts = [MODULE, *CELLS]
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
        ("other.append(3)", "other.append(4)"),
        ("y = x + 1", "y = x + 2"),
        ("x = 3", "x = 3  # records"),
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
        ("few.claims(x, found)", "few.claims(x + 1, found)"),
    ],
)
def test_what_decides_a_row_counts(rules_after, old, new):
    assert rules_after(old, new) != rules_after()


def test_a_chapter_without_checks_has_no_rules(rules_after):
    assert rules_after("checked =", "seen =") == ""


def test_the_sampler_counts_where_mixtures_are_fitted():
    by_name = {path.stem: rules.rules_of(path)[1] for path in execute.CHAPTERS}
    assert by_name["ce-income"] == ledger.sampler()
    assert by_name["income-file"] == by_name["intro"] == ""
