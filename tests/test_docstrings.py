"""Every public name has examples that run, and a chapter; every chapter links back."""

import doctest
import inspect
import re
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pytest
from test_checks import REFUSED, ROWS

import pseudopost as pp

BOOK = Path(__file__).parents[1] / "book"
CHAPTERS = sorted(
    p for p in BOOK.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts
)
INDEX = BOOK / "api" / "index.md"
PAGES = [
    INDEX.with_stem(stem) for stem in re.findall(r"`api-(\w+)`", INDEX.read_text())
]
# An example would fit a mixture, which takes minutes; Synthesizer's own has one.
WITHOUT_EXAMPLES = {"MixtureSynthesizer.synthesize"}
# What a synthesizer of one's own may replace; the class has an example of that.
WITHOUT_EXAMPLES |= {
    f"Synthesizer.{name}"
    for name in (
        "build_model",
        "draw_dataset",
        "record_term",
        "draw_posterior",
        "complete_fit",
        "add_likelihood",
    )
}


def text(path):
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


TEXTS = {path.stem: text(path) for path in CHAPTERS}
# Chapter by label.
LABELS = {
    label: chapter
    for chapter, source in TEXTS.items()
    for label in re.findall(r"^\((\S+)\)=$", source, flags=re.M)
}


def public_names():
    """Return functions and classes by name, as in `pseudopost.<name>`."""
    names = {}
    for name in pp.__all__:
        item = getattr(pp, name)
        if not inspect.ismodule(item):
            names[name] = item
            continue
        for inner, function in inspect.getmembers(item, inspect.isfunction):
            if not inner.startswith("_") and function.__module__ == item.__name__:
                names[f"{name}.{inner}"] = function
    return names


PUBLIC = public_names()
METHODS = {
    f"{name}.{inner}": method
    for name, item in PUBLIC.items()
    if inspect.isclass(item)
    for inner, method in vars(item).items()
    if inspect.isfunction(method) and not inner.startswith("_")
}
DOCUMENTED = PUBLIC | METHODS
INHERITED = {name for name, method in METHODS.items() if method.__doc__ is None}
RESULTS = {
    name
    for name, item in PUBLIC.items()
    if inspect.isclass(item) and issubclass(item, tuple)
}


def label_of(name):
    labels = re.findall(r"Book: :ref:`([\w-]+)`", inspect.getdoc(DOCUMENTED[name]))
    return labels[0] if len(labels) == 1 else None


def role(name):
    item = PUBLIC[name]
    if not inspect.isclass(item):
        return "func"
    return "exc" if issubclass(item, Exception) else "class"


def entries(page):
    return re.findall(r"^\.\. auto\w+:: pseudopost\.(\S+)$", page.read_text(), re.M)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_names_a_section_of_the_book(name):
    assert label_of(name) in LABELS


@pytest.mark.parametrize("name", sorted(INHERITED))
def test_what_is_overridden_is_documented_where_it_was_first(name):
    cls, _, method = name.partition(".")
    bases = PUBLIC[cls].__mro__[1:]
    (first,) = [base for base in bases if vars(base).get(method)]
    assert f"{first.__name__}.{method}" in set(METHODS) - INHERITED
    assert inspect.getdoc(METHODS[name]) == inspect.getdoc(vars(first)[method])


def test_names_without_examples_exist_and_have_none():
    for name in WITHOUT_EXAMPLES:
        assert "Examples\n----" not in DOCUMENTED[name].__doc__


WITH_EXAMPLES = set(DOCUMENTED) - RESULTS - INHERITED - WITHOUT_EXAMPLES
COMPILES = re.compile(
    r"\.fit\(|pm\.Model\(|pp\.(pseudo_mle|adjust_draws|local_to_global)\("
)


def slow_if_it_compiles(name):
    slow = COMPILES.search(inspect.getdoc(DOCUMENTED[name]))
    return pytest.param(name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("name", [*map(slow_if_it_compiles, sorted(WITH_EXAMPLES))])
def test_examples_run(name):
    (test,) = doctest.DocTestFinder(recurse=False).find(
        DOCUMENTED[name], name, globs={}
    )
    assert test.examples
    assert "\nExamples\n--------\n" in inspect.getdoc(DOCUMENTED[name])
    printed = []
    doctest.DocTestRunner(verbose=False).run(test, out=printed.append)
    plt.close("all")
    assert not printed, "".join(printed)


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_results_name_their_functions(name):
    first = r"\AWhat :func:`(\w+)`(?: returns| and :func:`(\w+)` return)\b"
    (functions,) = re.findall(first, PUBLIC[name].__doc__)
    for function in filter(None, functions):
        assert f"\nReturns\n-------\n{name}\n" in inspect.getdoc(PUBLIC[function])


def test_reference_lists_every_name_once_in_one_order():
    listed = [name for page in PAGES for name in entries(page)]
    assert sorted(listed) == sorted(PUBLIC)
    table = re.findall(r"^   ([\w.]+)$", INDEX.read_text(), flags=re.M)
    assert [name for name in table if name not in METHODS] == listed
    assert {p.name for p in (BOOK / "api").iterdir()} == {
        p.name for p in (INDEX, *PAGES)
    }


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - RESULTS))
def test_chapter_links_to_the_reference(name):
    chapter = LABELS[label_of(name)]
    assert re.search(
        rf"\{{{role(name)}\}}`~?pseudopost\.{re.escape(name)}`", TEXTS[chapter]
    )


def test_reference_names_every_colour():
    entry = (BOOK / "api" / "tools.md").read_text().partition("py:data:: PALETTE")[2]
    named = re.findall(r'``"([\w-]+)"``', entry.partition("```")[0])
    assert named == list(pp.plots.PALETTE)


def test_the_table_of_numbers_has_the_rows_that_are_tested():
    rows = re.findall(r"^\| (.*) \| (.*) \|$", INDEX.read_text(), flags=re.M)
    table = {given: taken for given, taken in rows if given != "given"}
    assert list(table) == list(ROWS)
    for given, taken in table.items():
        outcomes = {outcome is REFUSED for _, outcome in ROWS[given].values()}
        assert (outcomes == {True}) == (taken == "refused")
