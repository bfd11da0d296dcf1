"""The ledger's numbers against those of this run, for chapters that run in full."""

import re
import sys
from pathlib import Path

import pandas as pd
import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import execute  # noqa: E402

LEDGER = pd.read_csv(execute.LEDGER, dtype=str, keep_default_na=False)
OURS = LEDGER.set_index("id")["ours"]
IN_FULL = [p for p in execute.CHAPTERS if execute.profile_of(p) == "book"]
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def numbers_of(text):
    """Numbers of a text, each with the unit of its last digit."""
    for number in NUMBER.findall(text):
        plain = number.replace(",", "")
        digits, _, exponent = plain.partition("e")
        decimals = len(digits.partition(".")[2])
        yield float(plain), 10.0 ** (int(exponent or 0) - decimals)


def agree(found, stored):
    """Whether two texts have the same words and nearly the same numbers.

    Fits on another computer differ by Monte Carlo error: by a tenth of a number here, or
    by a thousandth of the largest one in the text, a difference of two large ones.
    """
    if NUMBER.sub("#", found) != NUMBER.sub("#", stored):
        return False
    pairs = list(zip(numbers_of(found), numbers_of(stored), strict=True))
    largest = max((abs(value) for _, (value, _) in pairs), default=0)
    return all(
        abs(one - other) <= 1.001 * unit + 0.1 * abs(other) + 0.001 * largest + 1e-9
        for (one, _), (other, unit) in pairs
    )


@pytest.mark.parametrize(
    ("found", "stored", "agreed"),
    [
        ("mean 0.947 to 0.962", "mean 0.947 to 0.961", True),
        ("q99 -32,484, CW +54", "q99 -32,466, CW +58", True),
        ("differ by 9e-16", "differ by 4e-16", True),
        ("2 of 40", "2 of 40", True),
        ("mean 0.947 to 0.80", "mean 0.947 to 0.96", False),
        ("mean 0.05", "mean -0.05", False),
        ("7 of 9", "9 of 9", False),
        ("mean 0.947", "median 0.947", False),
        ("1, 2", "1, 2, 3", False),
    ],
)
def test_what_counts_as_the_same(found, stored, agreed):
    assert agree(found, stored) == agreed


def found_in(notebook):
    """What a chapter found, by id, from the table that it shows."""
    found = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            for table in BeautifulSoup(html, "html.parser").find_all("table"):
                head = [th.get_text() for th in table.thead.find_all("th")]
                if head[1:] == ["what", "published", "ours", "holds"]:
                    for row in table.tbody.find_all("tr"):
                        cells = [td.get_text() for td in row.find_all("td")]
                        found[row.th.get_text()] = cells[2]
    return found


@pytest.mark.parametrize("path", IN_FULL, ids=lambda path: path.stem)
def test_numbers_of_the_ledger_are_those_of_this_run(path):
    with execute.outputs() as cache:
        _, notebook = cache.merge_match_into_file(path)
    found = found_in(notebook)
    own = LEDGER.query("chapter == @path.stem and verdict != 'not testable'")["id"]
    assert set(own) <= set(found)
    off = {row: found[row] for row in own if not agree(found[row], OURS[row])}
    assert not off, {row: (said, OURS[row]) for row, said in off.items()}
