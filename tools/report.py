"""Write the reproduction report from the ledger.

Usage: python tools/report.py

It becomes _build/report.md: what was asked, how often it came out, and every statement
that did not come out whole, with its numbers.
"""

from pathlib import Path

import pandas as pd
import yaml

ROOT = Path(__file__).parents[1]
REPORT = ROOT / "_build" / "report.md"
PAPERS = {
    "P1": "Hu, Savitsky and Williams (2019). Bayesian pseudo posterior synthesis for "
    "data privacy protection. Working paper.",
    "P2": "Hu, Savitsky and Williams (2022). Risk-efficient Bayesian data synthesis "
    "for privacy protection. Journal of Survey Statistics and Methodology 10, "
    "1370-1399.",
    "P3": "Hu, Savitsky and Williams (2025). Maximizing utility for vector-weighted "
    "pseudo posterior mechanisms under differential privacy. Manuscript.",
}
# From what holds to what does not, as on the page of the ledger.
VERDICTS = (
    "reproduced",
    "holds in part",
    "definition",
    "not testable",
    "misprint",
    "not found",
    "contradicted",
)
TOLD = {
    "contradicted": "Contradicted",
    "not found": "Looked for and not found",
    "holds in part": "Hold in part",
    "misprint": "Misprints",
    "not testable": "Not testable here",
}
OPENING = """\
# Three papers, run again: a reproduction report

Version {version} of the companion, {rows} statements. Every number below was computed \
from the book's ledger (`book/ledger.csv`). Each of its rows has a rule that a cell of \
the book checks, and a test refuses a verdict that the rule does not allow.

The papers:

{papers}

None of the confidential files is public. What the papers say of them is asked of a \
simulated stand-in and of two public quarters of the Consumer Expenditure Surveys. \
What they say of simulations and of published samples is asked of just these. What \
they prove is checked by algebra, by counter-examples and by brute force. So \
*contradicted* means false by mathematics, by the paper's own numbers, or on data that \
could well have shown it; *not found* may be the fault of our data.

## Counts

{counts}

Of the {asked} statements that could fail, {held} came out as stated and {part} in part.
"""
ROW = """\
**{id}** ({section}). {what}

- Published: {published}
- Found: {ours}
- {note}
"""


def escape(text):
    return text.replace("\n", " ").replace("|", r"\|")


def table(counts):
    """Write a table of counts in Markdown."""
    head = [counts.index.name, *counts.columns]
    rows = [[name, *map(str, row)] for name, row in counts.iterrows()]
    rows = [[str(cell) for cell in row] for row in rows]
    rule = ["---", *["---:"] * len(counts.columns)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows])


def report(ledger, version):
    """Return the report.

    Parameters
    ----------
    ledger : DataFrame of str
        The rows of ``book/ledger.csv``.
    version : str
    """
    counts = pd.crosstab(ledger["paper"], ledger["verdict"]).reindex(
        columns=VERDICTS, fill_value=0
    )
    counts.loc["all"] = counts.sum()
    total = counts.loc["all"]
    asked = total.sum() - total["definition"] - total["not testable"]
    text = OPENING.format(
        version=version,
        rows=len(ledger),
        papers="\n".join(f"- {name}: {title}" for name, title in PAPERS.items()),
        counts=table(counts.rename_axis("paper").assign(all=counts.sum(axis=1))),
        asked=asked,
        held=total["reproduced"],
        part=total["holds in part"],
    )
    for verdict, title in TOLD.items():
        rows = ledger[ledger["verdict"] == verdict]
        text += f"\n## {title} ({len(rows)})\n\n"
        for row in rows.to_dict("records"):
            told = {name: escape(value) for name, value in row.items()}
            told["note"] = told["note"] or "No note."
            if told["power"]:
                told["note"] += f" Could it have been seen? {told['power']}"
            text += ROW.format(**told) + "\n"
    return text


def main():
    ledger = pd.read_csv(ROOT / "book" / "ledger.csv", dtype=str, keep_default_na=False)
    version = yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"]
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(report(ledger, version))
    print(REPORT)


if __name__ == "__main__":
    main()
