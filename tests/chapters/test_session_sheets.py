import re
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
import session_sheets

BOOK = Path(__file__).parents[2] / "book"
# The chapter whose code each sheet changes, in the order of the sheets.
CHANGED = (
    "foundations/pseudo-posterior",
    "p1/identification-risk",
    "p1/risk-weights",
    "p2/pairwise-weights",
    "p3/lipschitz-weights",
    "p3/re-weighting",
)


def read(name):
    return nbformat.read(BOOK / f"{name}.ipynb", as_version=4).cells


@pytest.fixture(scope="module")
def sheets():
    text = "\n".join(
        cell.source
        for cell in read("practice/session-sheets")
        if cell.cell_type == "markdown"
    )
    return re.split(r"^## Session ", text, flags=re.M)[1:]


def test_every_sheet_has_its_parts_and_ninety_minutes(sheets):
    assert len(sheets) == 6
    for sheet in sheets:
        minutes = re.findall(r"^\| (\d+) \|", sheet, flags=re.M)
        assert sum(map(int, minutes)) == 90
        for part in (
            "**Change",
            "**Ask before:**",
            "**What to say.**",
            "**Closing question:**",
            "**Without installation:**",
        ):
            assert sheet.count(part) == 1, part


@pytest.mark.parametrize("number", range(6))
def test_the_line_to_change_is_in_the_chapter(sheets, number):
    line = re.search(r"\*\*Change\S* .*?`([^`]+)`", sheets[number])[1]
    code = [c.source for c in read(CHANGED[number]) if c.cell_type == "code"]
    assert any(line in source for source in code), line
    chapter = CHANGED[number].split("/")[1]
    assert f"{{ref}}`{chapter}`" in sheets[number]


def test_tables_that_need_no_fit():
    idea = session_sheets.idea()
    counts = np.random.default_rng(1).poisson(10, size=50)
    mean = (0.5 + counts.sum() + 60) / (0.001 + 51)
    assert idea.loc[1, "mean"] == round(mean, 2)
    assert session_sheets.risk().iloc[0, 1] == round(10 / 13, 2)
    assert session_sheets.weights().loc[0.5].tolist() == [0.38, 0.5]
    moles = session_sheets.moles()
    assert moles["marginal", "last at 90"].iloc[-1] == round(1 / 6, 2)


def test_claims_can_fail(monkeypatch):
    table = pd.DataFrame(
        {
            "mean weight": [0.9, 0.9],
            "epsilon after": [10, 9],
            "weight of record 0": 0.5,
        },
        index=["as it is", "with 2,000"],
    )
    constants = pd.DataFrame(
        {"mean weight": [0.9, 0.95, 0.8, 0.9], "epsilon": [10, 11, 9, 12]},
        index=["LW", "k = 0.8", "k = 0.95", "k = 1"],
    )
    monkeypatch.setattr(session_sheets, "bounds", lambda: table)
    monkeypatch.setattr(session_sheets, "utility", lambda: constants)
    found = session_sheets.claims()
    assert found.sum() == 9
    assert not found.iloc[-5:].any()
