"""The claims ledger as Markdown, and its picture."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import pseudopost as pp
from pseudopost._source import origin_of_class

REFRESHED = Path(__file__).parents[2] / "data" / "refreshed.csv"
ROLES = {
    "eq": "eq",
    "fig": "numref",
    "alg": "prf:ref",
    "def": "prf:ref",
    "lem": "prf:ref",
    "thm": "prf:ref",
}
HEAD = """\
| id | verdict, evidence, where | statement, *our note* | published | ours |
|---|---|---|---|---|
"""
# From what holds to what does not; colours that are told apart without red and green.
VERDICTS = {
    "reproduced": "#117733",
    "holds in part": "#88ccee",
    "definition": "#dddddd",
    "not testable": "#ffffff",
    "misprint": "#ddcc77",
    "not found": "#cc6677",
    "contradicted": "#882255",
}
DARK = {"reproduced", "contradicted"}

# Rows that are farthest from published numbers, and why.
GAPS = {
    "P1-Fig05": "**A setting.** P1 does not say how many records are at either mode, and "
    "prints no skewness. With fewer at the upper one most simulated files are highly "
    "skewed, by our reading; with the share that we had first they are not "
    "({ref}`the file <simulation-file>`).",
    "P1-Tab12": "**A setting.** The published mean under the scalar lies between ours at "
    "P1's weight of 0.455 and at the smaller one that has the mean risk of the vector on "
    "our file ({ref}`the search for the scalar <simulation-scalar>`, "
    "{ref}`tab-simulation-riskiest`).",
    "P1-Tab13": "**One file, and the setting of P1-Fig05.** On the first file some of the "
    "ten largest are in the tail of the upper mode, where they have company and a low "
    "risk that stays. On average over more files the risk under the vector is half of "
    "that, and over skewed ones near to P1's "
    "({ref}`a table of skewed files <tab-simulation-skewed>`).",
    "P1-Tab20": "**Open, in part.** Drawn again without weights our ten fall nearly as "
    "much as under the vector, because they were selected for a high risk; how much of "
    "the published fall is selection cannot be known ({ref}`selection <ce-selection>`). "
    "An error of "
    "ours, common random numbers for both synthesizers, had halved our fall; it is "
    "mended.",
    "P2-Tab02": "**The file, in part.** Most of the ten have low incomes. Our file has "
    "fewer of these than real ones, and in two real quarters the risk under Unweighted "
    "is about twice as high ({ref}`risks beside P2's <rh-published-risks>`). The "
    "published number counts few "
    "hits, and its error is large.",
    "P2-Tab05": "**The file**, for the 90% quantile, and for the coefficient under "
    "Pairwise: real quarters are near to P2 there ({ref}`rh-published`). Under Marginal "
    "the interval that P2 prints for the coefficient is wide enough for all our values; "
    "a few enormous incomes make both what they are ({ref}`tuning-mean`).",
    "P2-Tab04": "**Chance, and a cap of ours.** The published mean rises under weights; "
    "ours, capped at the largest confidential income, falls. Without a cap its "
    "expectation is infinite under this prior, so that a few incomes can put it anywhere "
    "({ref}`tuning-mean`). The same statistic is in P2-SuppTab01.",
    "P2-Claim12": "**Open.** Two real quarters have about the mean risk of our file, "
    "all of them below P2's ({ref}`risks beside P2's <rh-published-risks>`).",
    "P3-Tab01": "**Settings.** P3 does not give scale, shift and radius of CW, and its "
    "published column is nearest with another radius and a shift; that of CW_final points "
    "to yet another setting ({ref}`count-radius`). The row says under how many settings "
    "the order holds ({ref}`re-weighting-settings`).",
}


def sampler():
    """Hash the code that fits of the mixture depend on."""
    return origin_of_class(pp.MixtureSynthesizer)[1][:12]


def read_refreshed():
    """Read when each chapter was refreshed, under which rules, with which sampler."""
    table = pd.read_csv(REFRESHED, dtype=str, keep_default_na=False)
    return table.set_index("chapter")


def checked_when(rows, refreshed):
    """Say of each row's chapter when it was refreshed, and with which sampler.

    Returns
    -------
    DataFrame
        Indexed by chapter: its rows, the day, and whether the sampler of mixtures was
        the present one; empty where none is needed.
    """
    now = {"": "", sampler(): "present"}
    table = rows["chapter"].value_counts(sort=False).to_frame("rows")
    table = table.join(refreshed[["day", "sampler"]], how="inner")
    table["day"] = pd.to_datetime(table["day"]).dt.strftime("%-d\u00a0%B\u00a0%Y")
    table["sampler"] = [now.get(fits, "earlier") for fits in table["sampler"]]
    return table


def with_age(rows, when):
    """Add to rows since when they were not checked, if the sampler has changed."""
    earlier = when["day"].where(when["sampler"] == "earlier", "")
    return rows.assign(since=rows["chapter"].map(earlier).fillna(""))


def place(row):
    """Refer to the place of a row: a numbered item, or a section of its chapter."""
    role = ROLES.get(row.label.split("-")[0])
    if role is None:
        return f"{{ref}}`{row.chapter} <{row.label}>`"
    return f"{{{role}}}`{row.label}`"


def published(row):
    """Set a formula of the theory as code, so that its signs stay as they are."""
    theory = re.match(r"P\d-(Eq|Thm|Lem|A\d)", row.id)
    formula = theory and re.search(r"[\^_]", row.published)
    return f"`{row.published}`" if formula else row.published


def line(row):
    """Write one row of the table; power and real files come after the note."""
    bold = row.verdict in {"contradicted", "not found"}
    decided = f"**{row.verdict}**" if bold else row.verdict
    where = [decided, row.evidence, place(row)]
    statement = f"{row.what} *{row.note}*" if row.note else row.what
    if row.power:
        statement += f" **Could it have been seen?** {row.power}"
    if row.real_files:
        statement += f" **On real files.** {row.real_files}."
    if row.since:
        statement += f" **Last run in full** on {row.since}, with an earlier sampler."
    parts = (
        row.id,
        " · ".join(filter(None, where)),
        statement,
        published(row),
        row.ours,
    )
    return "| " + " | ".join(part.replace("|", r"\|") for part in parts) + " |"


def as_table(rows):
    """Write all rows as a table."""
    return HEAD + "\n".join(line(row) for row in rows.itertuples())


def as_gaps(rows):
    """Write the largest distances from published numbers as a table."""
    head = (
        "| row | published | ours | what is behind the distance |\n|---|---|---|---|\n"
    )
    of = rows.set_index("id")
    return head + "\n".join(
        f"| {name} | {of.loc[name, 'published']} | {of.loc[name, 'ours']} | {why} |"
        for name, why in GAPS.items()
    )


def as_days(when):
    """Write when the rows of each chapter were checked as a table."""
    head = "| chapter | rows | checked in full | sampler |\n|---|---:|---|---|\n"
    return head + "\n".join(
        f"| {{ref}}`{chapter}` | {rows} | {day} | {fits} |"
        for chapter, rows, day, fits in when.itertuples()
    )


def as_list(rows):
    """Write rows as a list: the statement, what was found, note and power."""
    parts = (
        (
            f"- **{row.id}.** {row.what} Found: {row.ours}.",
            row.note,
            row.power and f"*Could it have been seen?* {row.power}",
        )
        for row in rows.itertuples()
    )
    return "\n".join(" ".join(filter(None, part)) for part in parts)


def as_slips(rows):
    """Write misprints as a list, those of one kind together."""
    slips = rows[rows["slip"] != ""].groupby("slip", sort=False)["id"]
    return "\n".join(
        f"- *{slip[0].upper()}{slip[1:]}*: {', '.join(ids)}."
        for slip, ids in sorted(slips, key=lambda each: -len(each[1]))
    )


def counted(rows):
    """Count rows by paper and verdict, with sums."""
    table = pd.crosstab(rows["paper"], rows["verdict"]).reindex(
        columns=[*VERDICTS], fill_value=0
    )
    table.loc["all"] = table.sum()
    return table.assign(all=table.sum(axis=1))


def by_evidence(rows):
    """Count verdicts by the evidence that they rest on, where there is any."""
    of = rows[rows["evidence"] != ""]
    table = pd.crosstab(of["evidence"], of["verdict"])
    shown = [name for name in VERDICTS if name in table]
    return table.loc[of["evidence"].value_counts().index, shown]


def draw(rows):
    """Rows by paper and verdict."""
    counts = counted(rows).drop(index="all", columns="all").iloc[::-1]
    _, ax = plt.subplots(figsize=(4.8, 2.8), layout="constrained")
    left = 0 * counts.iloc[:, 0]
    for verdict, colour in VERDICTS.items():
        bars = ax.barh(
            counts.index,
            counts[verdict],
            left=left,
            color=colour,
            edgecolor="0.3",
            linewidth=0.5,
            label=verdict,
        )
        ax.bar_label(
            bars,
            [str(n) if n > 3 else "" for n in counts[verdict]],
            label_type="center",
            color="white" if verdict in DARK else "black",
        )
        left = left + counts[verdict]
    ax.set(xlabel="Rows", xlim=(0, left.max()))
    ax.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.3), frameon=False)
