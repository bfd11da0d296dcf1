"""Each page's buttons open, or download, the reader's notebook of that page."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"
READER = ROOT / "_build" / "editions" / "reader"
name = pytest.mark.parametrize(
    "name",
    [
        str(p.relative_to(ROOT).with_suffix(""))
        for p in sorted((ROOT / "book").rglob("*.ipynb"))
        if ".ipynb_checkpoints" not in p.parts
    ],
)


def urls(name, buttons):
    soup = BeautifulSoup((HTML / name).with_suffix(".html").read_text(), "html.parser")
    return {a["href"] for a in soup.select(f".dropdown-{buttons}-buttons a")}


@name
def test_launch_buttons(name):
    assert urls(name, "launch") == {
        "https://mybinder.org/v2/gh/pseudopost/pseudopost/reader"
        f"?urlpath=lab/tree/{name}.ipynb",
        "https://colab.research.google.com/github/pseudopost/pseudopost/blob/reader"
        f"/{name}.ipynb",
    }


@name
def test_download_button(name):
    (url,) = urls(name, "download")
    notebook = (READER / name).with_suffix(".ipynb")
    assert ((HTML / name).parent / url).read_bytes() == notebook.read_bytes()
