"""The page on how the package is built says what the code does."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "book" / "appendix" / "architecture.md").read_text()
MODULES = {path.stem: path.read_text() for path in (ROOT / "pseudopost").glob("*.py")}
# Purpose and imports, in the words of the page, by module.
TABLE = {
    name: (purpose, re.findall(r"`(\w+)`", imports))
    for name, purpose, imports in re.findall(
        r"^\| `(\w+)` \| (.*) \| (.*) \|$", PAGE, flags=re.M
    )
}
LAYERS = [
    line.split()[1:]
    for line in re.search(r"```text\n(.*?)```", PAGE, flags=re.S)[1].splitlines()
]
# From the top to the bottom, and in a line from left to right.
ORDER = [name for layer in LAYERS for name in layer]
module = pytest.mark.parametrize("name", sorted(set(MODULES) - {"__init__"}))


def imported(name):
    """Modules of the package that a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name])):
        if isinstance(node, ast.Import):
            full = {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            full = {f"{node.module}.{alias.name}" for alias in node.names}
        else:
            full = {"pseudopost.relative"} if isinstance(node, ast.ImportFrom) else ()
        found |= {m[1] for text in full if (m := re.match(r"pseudopost\.(\w+)", text))}
    return found


def test_every_module_is_listed_once():
    listed = re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.M)
    assert sorted(listed) == sorted(MODULES)
    assert sorted(ORDER) == sorted(MODULES)
    assert listed == ORDER


@module
def test_purpose_and_imports_are_those_of_the_code(name):
    purpose, imports = TABLE[name]
    assert purpose == ast.get_docstring(ast.parse(MODULES[name])).splitlines()[0]
    assert sorted(imports) == sorted(imported(name))


@module
def test_nothing_imports_upward(name):
    assert all(ORDER.index(other) > ORDER.index(name) for other in imported(name))


def test_there_are_no_circles():
    graph = {name: imported(name) - {"__init__"} for name in MODULES}
    assert set(TopologicalSorter(graph).static_order()) == set(MODULES)


def test_a_chapter_imports_no_module_of_another():
    modules = {
        path.stem
        for path in (ROOT / "book").rglob("*.py")
        if path.with_stem(path.stem.replace("_", "-")).with_suffix(".ipynb").exists()
    }
    assert len(modules) > 10
    for path in (ROOT / "book").rglob("*.py"):
        names = re.findall(r"^(?:from|import) (\w+)", path.read_text(), flags=re.M)
        assert not modules & set(names), path.name
    for path in (ROOT / "book").rglob("*.ipynb"):
        names = re.findall(r"^ *\"(?:from|import) (\w+)", path.read_text(), flags=re.M)
        own = {path.stem.replace("-", "_")}
        assert not modules & set(names) - own, path.name
