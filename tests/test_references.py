"""The bibliography: complete entries, all of them cited, with a DOI where one exists."""

import re
from pathlib import Path

import nbformat
import pytest
from pybtex.database import parse_file

BOOK = Path(__file__).parents[1] / "book"
ENTRIES = parse_file(str(BOOK / "references.bib")).entries
REQUIRED = {
    "article": {"journal", "volume", "pages"},
    "inproceedings": {"booktitle", "pages"},
    "book": {"publisher"},
    "misc": set(),
}
WITHOUT_DOI = {
    "Hu2019": "a working paper",
    "Hu2025": "a manuscript",
    "Rubin1993": "the journal gave none in 1993",
    "Little1993": "the journal gave none in 1993",
    "Savitsky2022": "the journal gives none",
    "Vehtari2024": "the journal gives none",
}


def markdown():
    for path in BOOK.rglob("*.md"):
        yield path.read_text()
    for path in BOOK.rglob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            yield cell.source


def cited():
    for text in markdown():
        for keys in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", text):
            yield from (key.strip() for key in keys.split(","))


def test_every_citation_has_an_entry_and_every_entry_is_cited():
    assert set(cited()) == set(ENTRIES)


@pytest.mark.parametrize("key", ENTRIES)
def test_entries_are_complete(key):
    entry = ENTRIES[key]
    assert {"title", "year"} | REQUIRED[entry.type] <= set(entry.fields)
    assert all(p.first_names and p.last_names for p in entry.persons["author"])
    assert re.fullmatch(r"\d{4}", entry.fields["year"])
    assert re.fullmatch(r"\d+--\d+", entry.fields.get("pages", "1--2"))
    if entry.type == "article" and key in WITHOUT_DOI:
        assert entry.fields["url"].startswith("https://")


@pytest.mark.parametrize("key", ENTRIES)
def test_doi(key):
    doi = ENTRIES[key].fields.get("doi")
    assert (doi is None) == (key in WITHOUT_DOI)
    assert doi is None or re.fullmatch(r"10\.\d{4,5}/[\w./-]+", doi)


def test_no_doi_twice():
    dois = [e.fields["doi"].lower() for e in ENTRIES.values() if "doi" in e.fields]
    assert len(dois) == len(set(dois))
