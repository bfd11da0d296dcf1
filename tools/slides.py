"""Make six decks of slides from the built book, one for each session of the course.

Usage: python tools/slides.py

Each is one file that needs no network, shown by reveal.js: figures and boxes of the
chapters, and of the sheet of the session what to ask, what comes out and the closing
question. Notes for the speaker (press s) have the plan and what to say.
"""

import re
import sys
from base64 import b64encode
from html import escape
from pathlib import Path

import sphinx_revealjs
from bs4 import BeautifulSoup
from terms import typed

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "_build"
REVEAL = Path(sphinx_revealjs.__file__).parent / "_static" / "revealjs"
SHEETS = "practice/session-sheets"
# By session: pages and their figures, and the page whose box "In short" is shown.
SESSIONS = (
    (
        (
            ("intro", "fig-idea"),
            ("path/one-record", "fig-powers"),
            ("foundations/pseudo-posterior", "fig-poisson-gamma"),
        ),
        "path/one-record",
    ),
    (
        (
            ("path/bettys-intruder", "fig-search"),
            ("p1/identification-risk", "fig-betty"),
            ("p1/identification-risk", "fig-risk-guess"),
        ),
        "path/bettys-intruder",
    ),
    (
        (
            ("path/how-risk-becomes-weight", "fig-curves"),
            ("p1/risk-weights", "fig-one-weight"),
            ("p1/twelve-files", "fig-simulation-tradeoff"),
        ),
        "path/how-risk-becomes-weight",
    ),
    (
        (
            ("path/how-risk-becomes-weight", "fig-map"),
            ("p2/whack-a-mole", "fig-wam-noise"),
            ("p2/pairwise-weights", "fig-pairwise-moles"),
        ),
        None,
    ),
    (
        (
            ("p3/lipschitz-weights", "fig-bounds-by-count"),
            ("p3/lipschitz-weights", "fig-bounds-weights"),
            ("path/what-is-promised", "fig-leaves"),
        ),
        "path/what-is-promised",
    ),
    (
        (
            ("path/before-and-after", "fig-three-steps"),
            ("path/before-and-after", "fig-path-errors"),
            ("p3/re-weighting", "fig-weights-scatter"),
        ),
        "path/before-and-after",
    ),
)
STYLE = """
.reveal { font-family: sans-serif; font-size: 30px; color: #222; background: #fff; }
.reveal h1 { font-size: 56px; } .reveal h2 { font-size: 38px; margin: 0 0 16px; }
.reveal img { max-width: 900px; max-height: 460px; }
.reveal p { margin: 12px 0; } .reveal .caption { font-size: 20px; color: #444; }
.reveal ul, .reveal ol { display: block; text-align: left; }
.reveal table { margin: 12px auto; border-collapse: collapse; font-size: 24px; }
.reveal :is(td, th) { padding: 4px 14px; border-bottom: 1px solid #999; }
.reveal td { text-align: right; }
.reveal code { font-family: monospace; font-size: 80%; }
"""
DECK = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div class="reveal"><div class="slides">
{slides}
</div></div>
<script>{reveal}</script>
<script>{notes}</script>
<script>
Reveal.initialize({{hash: true, slideNumber: true, plugins: [RevealNotes]}});
</script>
</body>
</html>
"""


class Book:
    """The pages of the built book."""

    def __init__(self, html):
        self.html, self.pages = html, {}

    def page(self, name):
        """Return a page, parsed."""
        if name not in self.pages:
            file = self.html / "book" / f"{name}.html"
            self.pages[name] = BeautifulSoup(file.read_text(), "html.parser").article
        return self.pages[name]

    def figure(self, name, label):
        """Return a slide of a figure, with its description for the speaker."""
        page = self.page(name)
        figure = page.find("figure", id=label)
        image, caption = figure.img, figure.select_one(".caption-text")
        file = (self.html / "book" / name).parent / image["src"]
        encoded = b64encode(file.read_bytes()).decode()
        shown = (
            f'<img alt="{escape(image["alt"])}" src="data:image/png;base64,{encoded}">'
            f'<p class="caption">{plain(caption)}</p>'
        )
        return slide(heading(page.h1), shown, escape(image["alt"]))

    def in_short(self, name):
        """Return a slide of what a page says in short."""
        page = self.page(name)
        for box in page.select("div.admonition.tip"):
            if box.p.get_text() == "In short":
                return slide("In short", plain(box.ul), heading(page.h1))
        sys.exit(f"slides: {name} has no box that says it in short")

    def sheet(self, number):
        """Return the parts of a sheet: its title, plan, tables and paragraphs."""
        section = self.page(SHEETS).find_all("section")[1:][number]
        plan, *outputs = section.find_all("table")
        parts = {}
        for paragraph in section.find_all("p"):
            if paragraph.strong and paragraph.contents[0] is paragraph.strong:
                name = paragraph.strong.get_text().strip(":. ")
                parts[name.split()[0]] = plain(paragraph)
        parts["title"] = re.sub(r"^[\d.]+ ", "", heading(section.h2))
        return parts | {"plan": plain(plan), "outcome": plain(outputs[0])}


def plain(node):
    """Return HTML without links, numbers of sections and attributes; formulas typed."""
    node = BeautifulSoup(str(node), "html.parser")
    for math in node.select(".math"):
        math.string = typed(re.sub(r"\\[()]", "", math.get_text()))
    for extra in node.select(".headerlink, style"):
        extra.decompose()
    for tag in node.find_all(True):
        tag.attrs = {}
        if tag.name in ("a", "span", "div"):
            tag.unwrap()
    return str(node)


def heading(node):
    """Return the text of a heading without its number and its link."""
    node = BeautifulSoup(str(node), "html.parser")
    for extra in node.select(".headerlink, .section-number"):
        extra.decompose()
    return escape(node.get_text().strip())


def slide(title, shown, notes):
    """Return one slide."""
    return (
        f"<section><h2>{title}</h2>{shown}"
        f'<aside class="notes">{notes}</aside></section>'
    )


def deck(book, number):
    """Return the file of a session, counted from 0."""
    figures, short = SESSIONS[number]
    sheet = book.sheet(number)
    slides = [
        f"<section><h1>{sheet['title']}</h1>"
        f'<aside class="notes">{sheet["plan"]}</aside></section>',
        *(book.figure(*each) for each in figures),
        slide("Before we change it", sheet["Ask"], sheet["Change"]),
        slide("What comes out", sheet["outcome"], sheet["What"]),
        *([book.in_short(short)] if short else []),
        slide("To end with", question(sheet["Closing"]), sheet["Closing"]),
    ]
    scripts = {
        name: (REVEAL / file).read_text().replace("</script", r"<\/script")
        for name, file in (
            ("reveal", "dist/reveal.js"),
            ("notes", "plugin/notes/notes.js"),
        )
    }
    style = (REVEAL / "dist" / "reveal.css").read_text() + STYLE
    title = sheet["title"]
    return DECK.format(title=title, style=style, slides="\n".join(slides), **scripts)


def question(paragraph):
    """Return the question alone, without what to listen for."""
    return re.sub(r"\s*Listen for.*", "</p>", paragraph, flags=re.S)


def main():
    html, slides = BUILD / "html", BUILD / "slides"
    if not html.exists():
        sys.exit("slides: there is no built book in _build; run make book first")
    slides.mkdir(exist_ok=True)
    book = Book(html)
    for number in range(len(SESSIONS)):
        file = slides / f"session-{number + 1}.html"
        file.write_text(deck(book, number))
        print(file)


if __name__ == "__main__":
    main()
