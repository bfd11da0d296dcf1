import ledger
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from companion import LEDGER

ROW = {
    "id": "P1-Eq01",
    "paper": "P1",
    "chapter": "risk-weights",
    "label": "eq-power",
    "verdict": "reproduced",
    "evidence": "mathematics",
    "slip": "",
    "power": "",
    "what": "A power.",
    "published": "p^a",
    "ours": "a | b",
    "note": "",
    "real_files": "",
    "since": "",
}


@pytest.fixture(scope="module")
def rows():
    rows = pd.read_csv(LEDGER, keep_default_na=False)
    return ledger.with_age(rows, ledger.checked_when(rows, ledger.read_refreshed()))


def row(**changes):
    (found,) = pd.DataFrame([ROW | changes]).itertuples()
    return found


@pytest.mark.parametrize(
    ("label", "reference"),
    [
        ("eq-power", "{eq}`eq-power`"),
        ("fig-risk", "{numref}`fig-risk`"),
        ("thm-limit", "{prf:ref}`thm-limit`"),
        ("some-section", "{ref}`risk-weights <some-section>`"),
    ],
)
def test_place(label, reference):
    assert ledger.place(row(label=label)) == reference


def test_only_formulas_of_the_theory_are_code():
    assert ledger.published(row()) == "`p^a`"
    assert ledger.published(row(published="0.25")) == "0.25"
    assert ledger.published(row(id="P1-Claim01")) == "p^a"


def test_line():
    assert ledger.line(row()) == (
        r"| P1-Eq01 | reproduced · mathematics · {eq}`eq-power` | A power. | `p^a` "
        r"| a \| b |"
    )
    setting = ledger.line(row(verdict="definition", evidence=""))
    assert "| definition · {eq}`eq-power` |" in setting
    contradicted = ledger.line(row(verdict="contradicted", note="Not so."))
    assert "| **contradicted** · mathematics" in contradicted
    assert "| A power. *Not so.* |" in contradicted
    weak = ledger.line(row(verdict="not found", power="No: too few."))
    assert "| A power. **Could it have been seen?** No: too few. |" in weak
    real = ledger.line(row(real_files="Seen"))
    assert "| A power. **On real files.** Seen. |" in real


def test_every_row_is_a_line(rows):
    head, rule, *lines = ledger.as_table(rows).splitlines()
    assert len(lines) == len(rows)
    assert head.count("|") == rule.count("|") == 6
    items = ledger.as_list(rows).splitlines()
    assert len(items) == len(rows)
    assert items[0].startswith(f"- **{rows['id'][0]}.** {rows['what'][0]} Found: ")


def test_misprints_are_listed_once_by_slip(rows):
    lines = ledger.as_slips(rows).splitlines()
    assert len(lines) == rows.loc[rows["slip"] != "", "slip"].nunique()
    ids = [
        name for text in lines for name in text.rstrip(".").split(": ")[1].split(", ")
    ]
    assert sorted(ids) == sorted(rows.loc[rows["verdict"] == "misprint", "id"])
    sizes = [text.count(",") for text in lines]
    assert sizes == sorted(sizes, reverse=True)


def test_counts():
    names = ["reproduced", "misprint", "misprint"]
    some = pd.DataFrame(
        [
            ROW | {"paper": p, "verdict": v, "evidence": e}
            for p, v, e in zip(
                ["P1", "P1", "P2"], names, ["stand-in", "", "stand-in"], strict=True
            )
        ]
    )
    counts = ledger.counted(some)
    assert list(counts) == [*ledger.VERDICTS, "all"]
    assert counts.loc["P1", ["reproduced", "misprint", "all"]].to_list() == [1, 1, 2]
    assert counts.loc["all", ["reproduced", "misprint", "all"]].to_list() == [1, 2, 3]
    evidence = ledger.by_evidence(some)
    assert evidence.loc["stand-in"].to_dict() == {"reproduced": 1, "misprint": 1}


def test_picture_has_every_row(rows):
    ledger.draw(rows)
    ax = plt.gca()
    widths = [bar.get_width() for bars in ax.containers for bar in bars]
    assert sum(widths) == len(rows)
    assert [bars.get_label() for bars in ax.containers] == [*ledger.VERDICTS]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["P3", "P2", "P1"]
    plt.close("all")


def test_rows_tell_since_when_they_were_not_checked_with_the_present_sampler():
    refreshed = pd.DataFrame(
        {
            "day": ["2026-11-03", "2026-11-12", "2026-11-20"],
            "sampler": ["another", ledger.sampler(), ""],
        },
        ["older", "newer", "without"],
    )
    chapters = ["older", "newer", "without", "older", "none"]
    rows = pd.DataFrame([ROW | {"chapter": name} for name in chapters])
    when = ledger.checked_when(rows, refreshed)

    def day(number):
        return f"{number}\u00a0November\u00a02026"

    assert when.to_dict("index") == {
        "older": {"rows": 2, "day": day(3), "sampler": "earlier"},
        "newer": {"rows": 1, "day": day(12), "sampler": "present"},
        "without": {"rows": 1, "day": day(20), "sampler": ""},
    }
    aged = ledger.with_age(rows, when)
    assert aged["since"].tolist() == [day(3), "", "", day(3), ""]
    said = "**Last run in full** on 3 November 2026, with an earlier sampler. |"
    assert said in ledger.line(row(since="3 November 2026"))
    assert f"| {{ref}}`newer` | 1 | {day(12)} | present |" in ledger.as_days(when)


def test_every_chapter_with_rows_was_refreshed(rows):
    decided = rows.loc[rows["verdict"] != "not testable", "chapter"]
    assert set(decided) <= set(ledger.read_refreshed().index)


def test_gaps_have_the_numbers_of_their_rows(rows):
    head, rule, *lines = ledger.as_gaps(rows).splitlines()
    assert head.count("|") == rule.count("|") == 5
    assert len(lines) == len(ledger.GAPS)
    by_id = rows.set_index("id")
    for name, line in zip(ledger.GAPS, lines, strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[:3] == [name, *by_id.loc[name, ["published", "ours"]]]
        assert cells[3] == ledger.GAPS[name]
