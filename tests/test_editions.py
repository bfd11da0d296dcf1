import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
from docutils import nodes
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import editions as tools  # noqa: E402

CONFIG = """
title: A small book
execute: {execute_notebooks: force}
parse:
  myst_enable_extensions: [amsmath, colon_fence, deflist, dollarmath, substitution]
  myst_substitutions: {animal: wombat}
html: {use_multitoc_numbering: true}
repository: {url: https://github.com/small/book}
sphinx:
  extra_extensions: [sphinx_exercise, sphinx_proof]
  config:
    nb_execution_raise_on_error: true
    nb_render_markdown_format: myst
    numfig: true
    numfig_secnum_depth: 1
    math_numfig: true
    math_eqref_format: "({number})"
"""
TOC = """
format: jb-book
root: book/intro
parts:
  - numbered: true
    chapters:
      - file: book/p1/first
      - file: book/p1/second
"""
INTRO = """(intro)=
# A small book

```{glossary}
ball
sphere
  All points *near* a point.
```
"""
FIRST = r"""(first)=
# The first chapter

% A comment that nobody sees.
Text with a {term}`ball`, a link to {ref}`second`, one to {ref}`here <first-more>`,
2 * 3 < 7, $5 or \$6, a_b and \_c\_, and a {{ animal }}.

$$
f(x) = \lvert x \rvert, \qquad
g(x) = x
$$ (eq-f)

By {eq}`eq-f` and {eq}`eq-g`, see {numref}`fig-line`, {prf:ref}`thm-x` and {numref}`lst-add`.

```{prf:theorem} Of x
:label: thm-x

If $a$
then

$$
a \\
b
$$ (eq-split)
```

```{prf:proof}
Easy.
```

```{literalinclude} ../../add.py
:pyobject: add
:caption: Adding, {eq}`eq-f`
:name: lst-add
```

```{list-table}
:header-rows: 1

* - a | b
  - note
* - $\|x\| + |y|$
  - `c | d`

    next
```

:::{admonition} A warning
Take care.
:::

(first-more)=
## More

1. one
2. two

   $$
   1 +
   2
   $$
"""
EXERCISES = """## Exercises

```{exercise-start}
:label: ex-one
```

*Easy.* What is {glue:text}`two:.1f`?

```{exercise-end}
```

````{solution-start} ex-one
:class: dropdown
````

The secret of the first.
"""
END = """The secret end.

````{solution-end}
````

```{exercise} Named
:label: ex-two

*Hard.* And now?
```

```{solution} ex-two
:class: dropdown

The secret of the second.
```

See {ref}`more <first-more>` and {ref}`first-more`.
"""
FIGURE = {
    "mystnb": {
        "figure": {"name": "fig-line", "caption": "A line, as in {eq}`eq-f`."},
        "image": {"alt": "A line that rises from 0 to 1."},
    },
    "tags": ["hide-input"],
}


def hidden(source):
    return new_code_cell(source, metadata={"tags": ["remove-cell"]})


def write_book(folder, first=FIRST):
    (folder / "tools").mkdir()
    (folder / "data").mkdir()
    (folder / "book" / "p1").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "editions.py", folder / "tools")
    (folder / "_config.yml").write_text(CONFIG)
    (folder / "_toc.yml").write_text(TOC)
    (folder / "add.py").write_text("def add(a, b):\n    return a + b\n")
    (folder / "requirements.txt").write_text("numpy\n")
    (folder / ".python-version").write_text("3.13\n")
    (folder / "book" / "ledger.csv").write_text("id\n")
    (folder / "book" / "companion.py").write_text("WORDS = 'shared'\n")
    pages = {
        "intro": [new_markdown_cell(INTRO)],
        "p1/first": [
            new_markdown_cell(first),
            new_code_cell("from myst_nb import glue\ntwo = 2"),
            hidden("glue('two', two, display=False)"),
            new_markdown_cell("A figure:"),
            new_code_cell(
                "import matplotlib.pyplot as plt\nplt.plot([0, 1])\nplt.show()",
                metadata=FIGURE,
            ),
            new_markdown_cell(EXERCISES),
            new_code_cell("secret = two"),
            hidden("glue('secret', secret, display=False)"),
            new_markdown_cell(END),
            hidden("three = two + 1"),
            new_markdown_cell("After."),
            new_code_cell("print(three)"),
        ],
        "p1/second": [
            new_markdown_cell("(second)=\n# The second\n\n$$\ng\n$$ (eq-g)"),
            new_code_cell(
                "from IPython.display import Markdown\n"
                "Markdown('| a |\\n|---|\\n| {eq}`eq-f` |')"
            ),
        ],
    }
    for name, cells in pages.items():
        nbformat.write(new_notebook(cells=cells), folder / "book" / f"{name}.ipynb")


def run(folder, *command):
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def build(folder):
    code = "from jupyter_book.cli.main import main; main()"
    result = run(folder, "-c", code, "build", "-n", "-W", "--keep-going", ".")
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    write_book(folder)
    build(folder)
    result = run(folder, "tools/editions.py")
    assert result.returncode == 0, result.stderr
    return folder


def cells(book, edition, name="p1/first", kind=None):
    path = book / "_build" / "editions" / edition / "book" / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    return [c for c in notebook.cells if kind in (None, c.cell_type)]


def text(book, edition="reader", name="p1/first"):
    return "\n\n".join(c.source for c in cells(book, edition, name, "markdown"))


def code(book, edition):
    return [c.source for c in cells(book, edition, kind="code")]


def test_title_edition_and_setup_come_first(book):
    first, setup, rest = cells(book, "student")[:3]
    assert first.source.startswith("# 1. The first chapter\n\n*Student edition* of [")
    assert "https://github.com/small/book" in first.source
    assert "clone --quiet --depth 1 --branch student https://github.com/small/book" in (
        setup.source
    )
    assert "%cd pseudopost-book/book/p1" in setup.source
    assert 'sys.path.append(str(Path("../../book").resolve()))' in setup.source
    assert rest.source.startswith("Text with")
    assert "setup" not in [c.cell_type for c in cells(book, "student", "intro")]


def imported_by(code):
    """Name the packages that some code imports."""
    for node in ast.walk(ast.parse(re.sub(r"^\s*[%!].*$", "pass", code, flags=re.M))):
        if isinstance(node, ast.ImportFrom):
            yield node.module.split(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)


def test_setup_fetches_what_the_chapters_import():
    paths = [p for p in (ROOT / "book").rglob("*.ipynb") if p.parts[-2][0] != "."]
    chapters = [nbformat.read(path, as_version=4).cells for path in paths]
    code = [c.source for cells in chapters for c in cells if "outputs" in c]
    modules = [path.read_text() for path in (ROOT / "book").rglob("*.py")]
    imported = {name for text in code + modules for name in imported_by(text)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = {re.match(r"\w+", line)[0] for line in project["dependencies"]}
    here = {path.stem for path in (ROOT / "book").rglob("*.py")}
    # IPython is wherever a notebook runs; the companion does without myst_nb; pytest
    # runs the tests that a chapter shows.
    known = sys.stdlib_module_names | found | here | {"IPython", "myst_nb", "pytest"}
    missing = imported - known
    assert missing == {"pseudopost", "linearmodels", "statsmodels"}
    assert "git+{url} linearmodels statsmodels" in tools.SETUP


def run_setup(folder, notebook):
    """Run the set-up cell of a notebook in a folder, without its shell commands."""
    source = nbformat.read(notebook, as_version=4).cells[1].source
    source = re.sub(r"^    [!%].*$", "    pass", source, flags=re.M)
    code = f"{source}\nimport companion"
    return run(folder, "-c", code)


def test_setup_finds_what_lies_beside_a_notebook(book):
    folder = book / "_build" / "editions" / "student" / "book" / "p1"
    result = run_setup(folder, folder / "first.ipynb")
    assert result.returncode == 0, result.stderr


def test_setup_alone_stops_with_one_sentence(book, tmp_path):
    folder = book / "_build" / "editions" / "student" / "book" / "p1"
    place = tmp_path / "one" / "book" / "p1"
    place.mkdir(parents=True)
    source = nbformat.read(folder / "first.ipynb", as_version=4).cells[1].source
    source = re.sub(r"^    [!%].*$", "    pass", source, flags=re.M)
    # -S: without what is installed, so that the companion is nowhere.
    result = run(place, "-S", "-c", source)
    assert result.returncode == 1
    assert result.stderr.strip() == (
        "Download the whole folder of notebooks: this one needs its neighbours."
    )


@pytest.mark.parametrize(
    "expected",
    [
        "a [ball](../intro.ipynb), a link to [The second](second.ipynb), one to *here*",
        r"2 \* 3 &lt; 7, \$5 or \$6, a_b and \_c\_, and a wombat.",
        "$$\nf(x) = \\lvert x \\rvert, \\qquad\ng(x) = x \\tag{1.1}\n$$",
        "By (1.1) and [(2.1)](second.ipynb), see Fig. 1.1, Theorem 1.1 and Listing 1.1.",
        "> **Theorem 1.1 (Of x)**\n>\n> If $a$ then\n>\n"
        r"> $$\begin{split}a \\ b\end{split} \tag{1.2}$$",
        "> **Proof.** Easy.",
        "**Listing 1.1.** Adding, (1.1)\n\n```python\ndef add(a, b):\n    return a + b\n```",
        r"| a \| b | note |" + "\n|---|---|\n"
        r"| $\Vert x\Vert  + \vert y\vert $ | `c \| d`<br>next |",
        "> **A warning**\n>\n> Take care.",
        "## 1.1. More\n\n1. one\n\n2. two\n\n   $$1 + 2$$",
        "**Fig. 1.1.** A line, as in (1.1).\n\n<details>\n"
        "<summary>Description of the figure</summary>\n\nA line that rises from 0 to 1.",
        "### Exercise 1.1\n\n*Easy.* What is 2.0?",
        "See *more* and *More*.",
    ],
)
def test_markup_becomes_markdown(book, expected):
    assert expected in text(book)


def test_nothing_is_left_of_comments_and_labels(book):
    for edition in tools.EDITIONS:
        assert "nobody" not in text(book, edition)
        assert not tools.leaks(text(book, edition))


def test_glossary(book):
    assert "**ball, sphere**\n\nAll points *near* a point." in text(book, name="intro")


def test_a_cell_that_prints_myst_is_replaced_by_what_the_book_shows(book):
    assert "| a |\n|---|\n| [(1.1)](first.ipynb) |" in text(book, name="p1/second")
    assert cells(book, "reader", "p1/second", "code") == []


def test_instructor_sees_solutions_and_reader_opens_them(book):
    open_, folded = text(book, "instructor"), text(book, "reader")
    head = (
        "<details>\n<summary><b>Solution to Exercise 1.1{}</b></summary>\n\nThe secret"
    )
    assert "### Solution to Exercise 1.1\n\nThe secret of the first." in open_
    assert f"{head.format('')} of the first.\n\n</details>" in folded
    assert f"{head.format(', continued')} end.\n\n</details>" in folded
    assert "Solution to Exercise 1.2 (Named)" in open_
    assert "The secret of the second.\n\n</details>" in folded
    cell = next(c for c in cells(book, "reader") if "secret = two" in c.source)
    assert cell.source == "# @title Code of the solution\nsecret = two"
    assert cell.metadata.cellView == "form"
    assert cell.metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}
    cell = next(c for c in cells(book, "instructor") if c.source == "secret = two")
    assert cell.metadata == {"tags": ["solution"]}


def test_student_gets_room_instead_of_solutions(book):
    everything = "\n".join(c.source for c in cells(book, "student"))
    assert "secret" not in everything
    assert "Solution to" not in everything
    sources = [c.source for c in cells(book, "student")]
    for number in ("Exercise 1.1", "Exercise 1.2 (Named)"):
        assert any(f"### {number}\n\n" in source for source in sources)
        answer = f"**Your answer to {number.removesuffix(' (Named)')}:**"
        assert sources[sources.index(answer) + 1] == ""


def test_code_keeps_its_order_and_hidden_cells_stay(book):
    every = code(book, "instructor")[1:]
    source = nbformat.read(book / "book" / "p1" / "first.ipynb", as_version=4).cells
    title = "# @title Numbers for the text\n"
    plain = [s.removeprefix(title) for s in every]
    assert plain == [c.source for c in source if c.cell_type == "code"]
    student = code(book, "student")[1:]
    assert [s for s in student if s] == [s for s in every if "secret" not in s]
    cell = next(c for c in cells(book, "student") if "three = " in c.source)
    assert cell.source == f"{title}three = two + 1"
    assert cell.metadata.jupyter.source_hidden


def test_what_a_notebook_needs_is_beside_it(book):
    for edition in tools.EDITIONS:
        folder = book / "_build" / "editions" / edition
        assert (folder / "data").is_dir()
        assert (folder / "book" / "ledger.csv").exists()
        assert (folder / "book" / "companion.py").read_text() == "WORDS = 'shared'\n"
        assert f"{edition} edition" in (folder / "README.md").read_text()
        assert (folder / "runtime.txt").read_text() == "python-3.13\n"
        requirements = (folder / "requirements.txt").read_text()
        assert requirements.startswith("numpy\n")
        assert "pseudopost @ git+https://github.com/small/book" in requirements


def test_without_a_book_or_with_an_old_one_it_ends(book, tmp_path):
    write_book(tmp_path)
    result = run(tmp_path, "tools/editions.py")
    assert result.returncode == 1
    assert "no built book in _build; run make book first" in result.stderr
    chapter = book / "book" / "p1" / "second.ipynb"
    chapter.touch()
    result = run(book, "tools/editions.py")
    assert result.returncode == 1
    assert "run make book: book/p1/second" in result.stderr


@pytest.mark.parametrize(
    ("method", "node"),
    [
        ("block", nodes.sidebar()),
        ("block", nodes.raw("", "<br>")),
        ("block", nodes.math_block("", "a\n\nb")),
        ("part", nodes.image()),
        ("part", nodes.problematic()),
        ("part", nodes.inline("", "ball", classes=["xref"])),
        ("part", nodes.literal("", "eq-f", classes=["xref", "eq"])),
    ],
)
def test_what_has_no_rule_stops_it(method, node):
    page = object.__new__(tools._Page)
    page.name = "book/p1/first"
    with pytest.raises(
        ValueError, match=f"book/p1/first: .* no rule for {type(node).__name__}"
    ):
        getattr(page, method)(node)


@pytest.mark.parametrize(
    "leak",
    [
        "a {term}`ball` here",
        "see {prf:ref}`x <y>`",
        "{glue:text}`two:.1f`",
        "```{note}\ntext\n```",
        ":::{note}\ntext\n:::",
        "(a-label)=\n# Title",
        "$$\nx\n$$ (eq-x)",
        ":label: x",
        "a\n% comment",
        "{{ animal }}",
        "the {ref} role",
        "> {eq}`x`",
    ],
)
def test_leaks_are_found(leak):
    assert tools.leaks(leak)


@pytest.mark.parametrize(
    "clean",
    [
        "```python\nf'{x}`' # {ref}\n```",
        "`{term}` in code",
        r"$\frac{{a}}{b}$ and $$f_{ref}$$ (see above)",
        "> ```python\n> {{ x }}\n> ```",
        "100% of it, (a) = b",
    ],
)
def test_plain_markdown_is_no_leak(clean):
    assert tools.leaks(clean) == []


def test_escape():
    assert tools.escape(r"a*b_c _d $e <f> `g` \h") == r"a\*b_c \_d \$e &lt;f> \`g\` \\h"
    assert tools.escape("a|b", in_table=True) == r"a\|b"
