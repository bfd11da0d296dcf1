import ledger
import pandas as pd
import pytest
from companion import LEDGER

ROW = {
    "id": "P1-Eq01",
    "chapter": "risk-weights",
    "label": "eq-power",
    "status": "reproduced",
    "what": "A power.",
    "published": "p^a",
    "ours": "a | b",
    "note": "",
    "real_files": "",
}


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
        r"| P1-Eq01 | reproduced, {eq}`eq-power` | A power. | `p^a` | a \| b |"
    )
    contradicted = ledger.line(row(status="contradicted", note="Not so."))
    assert "| **contradicted**, {eq}`eq-power` | A power. *Not so.* |" in contradicted
    real = ledger.line(row(real_files="Seen"))
    assert "| A power. **On real files.** Seen. |" in real


def test_every_row_is_a_line():
    rows = pd.read_csv(LEDGER, keep_default_na=False)
    head, rule, *lines = ledger.as_table(rows).splitlines()
    assert len(lines) == len(rows)
    assert head.count("|") == rule.count("|") == 6
    items = ledger.as_list(rows).splitlines()
    assert len(items) == len(rows)
    assert items[0].startswith(f"- **{rows['id'][0]}.** {rows['what'][0]} Found: ")
