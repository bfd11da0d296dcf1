"""Show one chapter as a page.

Usage: python tools/preview.py CHAPTER

The chapter is executed if it needs it. Once the book has been built, its other pages
are there too, and only what changed is rendered; before that, the page stands alone,
and references to other chapters lead nowhere.
"""

import sys
import time

import execute
from execute import BOOK, BUILD, ROOT
from jupyter_book.config import get_final_config
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

PAGES = {p.stem: p for p in BOOK.rglob("*") if p.suffix in (".ipynb", ".md")}


def render(page):
    """Write the page of a chapter, and return its file."""
    whole = (BUILD / ".doctrees" / "environment.pickle").exists()
    html = BUILD / ("html" if whole else "preview")
    config, _ = get_final_config(
        user_yaml=ROOT / "_config.yml",
        cli_config={
            "external_toc_path": str(ROOT / "_toc.yml"),
            "latex_individualpages": False,
        },
        sourcedir=ROOT,
        use_external_toc=True,
    )
    name = str(page.relative_to(ROOT).with_suffix(""))
    if not whole:
        others = [p for p in PAGES.values() if p not in (page, BOOK / "intro.ipynb")]
        config["exclude_patterns"] += [str(p.relative_to(ROOT)) for p in others]
        config["suppress_warnings"] = ["*"]
    trees = BUILD / ".doctrees" if whole else BUILD / ".preview"
    with patch_docutils(None), docutils_namespace():
        app = Sphinx(ROOT, None, html, trees, "html", config, status=None)
        app.build(filenames=[str(page)] if whole else None)
    return html / f"{name}.html"


def main(name=""):
    if name not in PAGES:
        sys.exit(f"make preview CHAPTER=...: one of {', '.join(sorted(PAGES))}")
    start = time.monotonic()
    if PAGES[name].suffix == ".ipynb":
        execute.main(name)
    print(f"{render(PAGES[name])}, after {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
