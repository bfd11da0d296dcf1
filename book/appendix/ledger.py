"""The claims ledger as Markdown."""

import re

ROLES = {
    "eq": "eq",
    "fig": "numref",
    "alg": "prf:ref",
    "def": "prf:ref",
    "lem": "prf:ref",
    "thm": "prf:ref",
}
HEAD = """\
| id | status, where | statement, *our note* | published | ours |
|---|---|---|---|---|
"""


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
    """Write one row of the table; what real files say comes after the note."""
    status = f"**{row.status}**" if row.status == "contradicted" else row.status
    statement = f"{row.what} *{row.note}*" if row.note else row.what
    if row.real_files:
        statement += f" **On real files.** {row.real_files}."
    parts = row.id, f"{status}, {place(row)}", statement, published(row), row.ours
    return "| " + " | ".join(part.replace("|", r"\|") for part in parts) + " |"


def as_table(rows):
    """Write all rows as a table."""
    return HEAD + "\n".join(line(row) for row in rows.itertuples())


def as_list(rows):
    """Write rows as a list: the statement, what was found, and the note."""
    return "\n".join(
        f"- **{row.id}.** {row.what} Found: {row.ours}. {row.note}"
        for row in rows.itertuples()
    )
