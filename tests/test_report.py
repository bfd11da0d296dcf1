import re
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import notebooks  # noqa: E402
import report  # noqa: E402

LEDGER = pd.read_csv(notebooks.LEDGER, dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def text():
    return report.report(LEDGER, "1.2.3")


def test_the_report_counts_every_row(text):
    (last,) = [line for line in text.splitlines() if line.startswith("| all |")]
    counts = [int(cell) for cell in last.strip("| ").split("|")[1:]]
    assert counts[-1] == len(LEDGER) == sum(counts[:-1])
    for verdict, count in zip(report.VERDICTS, counts, strict=False):
        assert count == (LEDGER["verdict"] == verdict).sum()
    assert f"Version 1.2.3 of the companion, {len(LEDGER)} statements." in text


@pytest.mark.parametrize("verdict", report.TOLD)
def test_what_did_not_come_out_whole_is_told_with_its_numbers(text, verdict):
    rows = LEDGER[LEDGER["verdict"] == verdict]
    assert len(rows)
    for row in rows.to_dict("records"):
        assert text.count(f"**{row['id']}** (") == 1
        assert f"- Published: {report.escape(row['published'])}\n" in text
        assert report.escape(row["note"]) in text


def test_what_was_reproduced_is_counted_and_not_listed(text):
    whole = LEDGER.loc[LEDGER["verdict"].isin(["reproduced", "definition"]), "id"]
    assert not any(f"**{name}** (" in text for name in whole)


def test_the_verdicts_are_those_of_the_ledger():
    assert set(LEDGER["verdict"]) == set(report.VERDICTS)


def test_the_paper_cites_what_its_list_has():
    paper = (ROOT / "paper" / "paper.md").read_text()
    listed = re.findall(
        r"^@\w+\{([\w]+),", (ROOT / "paper" / "paper.bib").read_text(), flags=re.M
    )
    assert set(re.findall(r"@([A-Za-z]\w+)", paper)) == set(listed)
    assert len(listed) == len(set(listed))
    assert f"{len(LEDGER)} statements" in paper
    for part in ("Statement of need", "State of the field", "Design", "Limits"):
        assert f"\n# {part}\n" in paper
