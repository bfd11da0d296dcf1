"""Checks of the book as built in _build/html; `make test` builds it first."""

from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree

import pandas as pd
import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"
PAGES = {
    p.relative_to(HTML): BeautifulSoup(p.read_text(), "html.parser")
    for p in sorted(HTML.glob("book/**/*.html"))
}
page = pytest.mark.parametrize("path", PAGES, ids=str)


def article(path):
    return PAGES[path].find("article")


def test_every_chapter_was_built():
    sources = {
        p.relative_to(ROOT).with_suffix(".html")
        for p in (ROOT / "book").rglob("*")
        if p.suffix in {".ipynb", ".md"}
    }
    assert set(PAGES) == {p for p in sources if ".ipynb_checkpoints" not in p.parts}


@page
def test_no_errors_warnings_or_raw_markup(path):
    body = article(path)
    assert not body.select(
        ".output.stderr, .output.traceback, .system-message, .problematic"
    )
    for code in body.select("pre"):
        code.decompose()
    words = body.get_text()
    for leak in (
        "{glue",
        "{term",
        "{ref}",
        "{eq}",
        "{numref}",
        ":::",
        "np.float64(",
        "Traceback",
    ):
        assert leak not in words


@page
def test_figures_are_numbered_captioned_and_described(path):
    for image in article(path).select("img:not([data-explorer] img)"):
        assert len(image.get("alt", "")) > 40
        assert image.find_parent("figure").select_one(".caption-number")


@page
def test_internal_links_resolve(path):
    for link in article(path).find_all("a", href=True):
        url = urlparse(link["href"])
        if url.scheme or not (url.path or url.fragment):
            continue
        target = (
            (HTML / path.parent / unquote(url.path)).resolve()
            if url.path
            else HTML / path
        )
        assert target.exists(), link["href"]
        if url.fragment and target.suffix == ".html":
            soup = PAGES.get(target.relative_to(HTML))
            assert soup is None or soup.find(id=unquote(url.fragment)), link["href"]


def test_ledger_page_lists_every_row():
    ledger = pd.read_csv(ROOT / "book" / "ledger.csv")
    tables = PAGES[Path("book/appendix/ledger.html")].find_all("tr")
    first = {row.find(["td", "th"]).get_text(strip=True) for row in tables}
    assert set(ledger["id"]) <= first


def test_definitions_appear_at_their_terms():
    """As the title of a link: the first paragraph of the entry in the glossary."""
    entries = {
        term["id"]: " ".join(term.find_next("dd").p.get_text().split())[:20]
        for term in PAGES[Path("book/appendix/notation.html")].select("dl.glossary dt")
    }
    links = [
        link
        for body in PAGES.values()
        for link in body.select("article a.internal[href*='#term-']")
    ]
    assert len(links) > 100
    for link in links:
        _, _, term = link["href"].partition("#")
        assert link.get("title", "")[:20].strip("\\( ")[:5] in entries[term], link


SITE = "https://pseudopost.github.io/pseudopost/"


@page
def test_a_page_can_be_found_and_shared(path):
    def said(name):
        (found,) = PAGES[path].select(f"meta[property='{name}'], meta[name='{name}']")
        return found["content"]

    title = PAGES[path].title.get_text()
    assert said("og:title") in title
    assert 40 < len(said("description")) < 300
    assert said("og:url") == SITE + path.as_posix()
    picture = said("og:image").removeprefix(SITE)
    assert (HTML / unquote(picture)).is_file()


def test_the_map_of_the_site_has_every_page():
    found = ElementTree.parse(HTML / "sitemap.xml").findall("{*}url/{*}loc")
    listed = {location.text.removeprefix(SITE) for location in found}
    assert {path.as_posix() for path in PAGES} <= listed
