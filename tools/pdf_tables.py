"""Sphinx extension for the PDF: tables that fit its pages, references and numbers.

Jupyter stores a data frame as HTML, which LaTeX does not know, and as plain text, which
for a styled frame is only its address in memory. So frames become tables here. Every
table gets widths of its columns, as LaTeX does not break the lines of a long one.
"""

import re
from pathlib import Path

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.addnodes import start_of_file, tabular_col_spec
from sphinx.builders.latex.nodes import thebibliography
from sphinx.transforms.post_transforms import SphinxPostTransform

LINE = 92  # characters in a line of a table
GAP = 3  # between two columns
LONG = 12  # rows that may not fit on the rest of a page
NUMBER = re.compile(r"|-|nan|[-+]?\d[\d.,]*(e[-+]?\d+)?%?(\s✗)?")
SPACE = re.compile(r"[\s\u200b]")  # the second is a place to break a long word


class FramesToTables(SphinxPostTransform):
    """Replace outputs that have an HTML table by tables."""

    default_priority = 3  # before MyST-NB chooses one of the stored types, at 4
    builders = ("latex",)

    def run(self, **kwargs):
        for stored in list(self.document.findall(nodes.container)):
            if stored.get("mime_type") == "text/html":
                html = BeautifulSoup(stored.astext(), "html.parser").table
                if html:
                    stored.parent.replace_self(frame(html))


class ColumnWidths(SphinxPostTransform):
    """Give widths to tables that state none; long ones may break over pages."""

    default_priority = 500  # after references have become text, at 10
    builders = ("latex",)

    def run(self, **kwargs):
        for table in list(self.document.findall(nodes.table)):
            place = table.parent.index(table)
            if not isinstance(table.parent[place - 1], tabular_col_spec):
                for text in list(table.findall(nodes.Text)):
                    if not isinstance(text.parent, nodes.math | nodes.raw):
                        text.parent.replace(text, nodes.Text(breakable(text)))
                table.parent.insert(place, tabular_col_spec(spec=columns(table)))
            if sum(1 for _ in table.findall(nodes.row)) > LONG:
                table["classes"].append("longtable")


class LabelsThatLatexHas(SphinxPostTransform):
    """Point at the labels of exercises, and at the first page, which has no heading."""

    default_priority = 21  # references are resolved at 10; sphinx-exercise acts at 22
    builders = ("latex",)

    def run(self, **kwargs):
        first = self.config.root_doc
        for reference in self.document.findall(nodes.reference):
            document, _, label = reference.get("refuri", "").partition("#")
            if label in self.env.sphinx_exercise_registry:
                reference["refid"] = label
            elif document == f"%{first}" and label == Path(first).name:
                reference["refuri"] = document


class BibliographyInItsChapter(SphinxPostTransform):
    """Undo what Sphinx does at 750: it moves the references to the end of the book."""

    default_priority = 800
    builders = ("latex",)

    def run(self, **kwargs):
        for references in list(self.document.findall(thebibliography)):
            (home,) = (
                file
                for file in self.document.findall(start_of_file)
                if file["docname"] == references[0]["docname"]
            )
            references.parent.remove(references)
            home.next_node(nodes.section).append(references)


def frame(html):
    """Make a docutils table of an HTML table that pandas wrote."""
    full = html.find("tbody").find("tr")  # later rows leave out repeated labels
    n_columns, n_labels = len(full.find_all(["th", "td"])), len(full.find_all("th"))
    head, body = (
        [texts(tr, n_columns) for tr in html.find(part).find_all("tr")]
        for part in ("thead", "tbody")
    )
    if len(head) > 1 and not any(head[-1][n_labels:]):  # the names of the index
        names = head.pop()
        head[-1][:n_labels] = names[:n_labels]
    group = nodes.tgroup(cols=n_columns)
    group += [nodes.colspec(colwidth=1) for _ in range(n_columns)]
    group += [nodes.thead("", *map(row, head)), nodes.tbody("", *map(row, body))]
    return nodes.table("", group)


def texts(tr, n_columns):
    """Fill a row without spans: the text is in the first cell, the others are empty."""
    found = []
    for cell in tr.find_all(["th", "td"]):
        found += [cell.get_text(" ", strip=True)]
        found += [""] * (int(cell.get("colspan", 1)) - 1)
    return [""] * (n_columns - len(found)) + found


def row(texts):
    return nodes.row("", *(nodes.entry("", nodes.paragraph(text=t)) for t in texts))


def columns(table):
    """Return LaTeX's column types: as wide as their text if a line holds them all."""
    (group,) = table.findall(nodes.tgroup)
    rows = [[printed(cell) for cell in line] for line in table.findall(nodes.row)]
    cells = list(zip(*(r for r in rows if len(r) == group["cols"]), strict=True))
    n_heads = sum(len(head) for head in table.findall(nodes.thead))
    numeric = [all(map(NUMBER.fullmatch, column[n_heads:])) for column in cells]
    natural = [max(map(len, column)) for column in cells]
    free = LINE - GAP * (len(cells) - 1)
    if sum(natural) <= free:
        return "".join("r" if number else "l" for number in numeric)
    word = [max(len(w) for text in c for w in [*SPACE.split(text), ""]) for c in cells]
    share = [(sum(map(len, column)) / len(column)) ** 0.75 for column in cells]
    scale = free / sum(share)
    width = [max(w, scale * s) for w, s in zip(word, share, strict=True)]
    while sum(width) > free and scale > 0.1:
        scale *= 0.95
        width = [max(w, scale * s) for w, s in zip(word, share, strict=True)]
    return "".join(
        rf">{{\ragged{'left' if number else 'right'}\arraybackslash}}"
        rf"\X{{{10 * w:.0f}}}{{{10 * sum(width):.0f}}}"
        for number, w in zip(numeric, width, strict=True)
    )


def breakable(text):
    """Let words of more than 15 characters break after signs."""
    return re.sub(
        r"\S{16,}", lambda word: re.sub(r"(?<=[_/^=(,+*.-])\b", "\u200b", word[0]), text
    )


def printed(cell):
    """Return roughly what is printed: a command of LaTeX is one letter."""
    text = cell.astext()
    for math in cell.findall(nodes.math):
        short = re.sub(r"\\[a-zA-Z]+", "x", math.astext())
        text = text.replace(math.astext(), re.sub(r"[{}^_\\ ]", "", short))
    return text


def count_chapters(app):
    """Exercises, definitions and theorems get the numbers that the pages have."""
    app.config.numfig_secnum_depth = 1


def count_parts(app, doctree, docname):
    """LaTeX counts a part as the first level, so that chapters are the second."""
    if app.builder.name == "latex":
        app.config.numfig_secnum_depth = 2


def setup(app):
    app.add_post_transform(FramesToTables)
    app.add_post_transform(ColumnWidths)
    app.add_post_transform(LabelsThatLatexHas)
    app.add_post_transform(BibliographyInItsChapter)
    app.connect("builder-inited", count_chapters, priority=900)
    app.connect("doctree-resolved", count_parts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
