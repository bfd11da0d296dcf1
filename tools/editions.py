"""Write the book as plain Jupyter notebooks, for readers, students and instructors.

Usage: python tools/editions.py

Sphinx has parsed every page and resolved every number and reference. This reads the
pages it stored when the book was built and writes them down again, as Markdown that
any notebook program shows and as the code cells of the source.
"""

import os
import re
import shutil
import sys
from pathlib import Path, PurePosixPath
from textwrap import indent

import nbformat
import yaml
from docutils import nodes
from jupyter_book.config import get_final_config
from nbformat.v4 import new_code_cell, new_markdown_cell
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils
from sphinx_exercise.nodes import exercise_enumerable_node, solution_node
from sphinx_proof.nodes import proof_node

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "_build"
EDITIONS = {
    "reader": "Everything in the book. Solutions are folded; click to open them.",
    "student": "The book without its solutions, with room for answers.",
    "instructor": "Everything in the book, with the solutions open.",
}
SETUP = """\
# Set-up; for small sizes, of a few minutes a chapter, write "class" in place of "book".
import os
import sys
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("PSEUDOPOST_PROFILE", "book")
if "google.colab" in sys.modules and not Path("pseudopost-book").exists():
    !git clone --quiet --depth 1 --branch {edition} {url} pseudopost-book
    %cd pseudopost-book/{folder}
    %pip install --quiet git+{url} linearmodels statsmodels
sys.path.append(str(Path("{up}book").resolve()))
if not find_spec("companion"):
    sys.exit("Download the whole folder of notebooks: this one needs its neighbours.")
if not find_spec("pseudopost"):
    sys.exit("Install what requirements.txt lists, then start the notebook again.")"""
FOLD = "<details>\n<summary>{head}</summary>\n\n{text}\n\n</details>"
# Pages that say what comes out in class.
FOR_TEACHERS = {"book/practice/teaching", "book/practice/session-sheets"}
LEAKS = (
    r"\{[\w:.+-]+\}`",  # role
    r"(?:`{3,}|:{3,}|~{3,})\s*\{",  # directive
    r"^\s*:::",
    r"^\s*\([\w.-]+\)=",  # label
    r"\$\$ *\([\w.-]+\)",  # label of an equation
    r"^\s*:(?:label|class|name|caption|pyobject|lines|header-rows|widths):",
    r"^% ",  # comment
    r"\{\{.*?\}\}",  # substitution
    r"\{(?:ref|eq|numref|term|doc|glue|cite|prf)\b",
)


def leaks(markdown):
    """Pieces of MyST that a notebook program would show as they are."""
    text = re.sub(r"^([> ]*)(`{3,})\w*\n.*?^[> ]*\2$", "", markdown, flags=re.M | re.S)
    # Code that follows a brace is kept: it is the argument of a role.
    text = re.sub(r"(?<![\\`}])(``?)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.S)
    text = re.sub(
        r"(?<!\\)\$(?!\$)[^$]*\$(?!\$)|\$\$[^$]*\$\$(?! *\([\w.-]+\))", "", text
    )
    return [match[0] for leak in LEAKS for match in re.finditer(leak, text, re.M)]


class _Page:
    """The cells of one page in one edition."""

    def __init__(self, edition, name, document, app, names, url):
        self.edition, self.name, self.names, self.env = edition, name, names, app.env
        self.formats = app.config.numfig_format
        self.source = nbformat.read(ROOT / f"{name}.ipynb", as_version=4).cells
        self.solved = _inside_solutions(self.source)
        self.cells, self.origin, self.place, self.done = [], None, 0, 0
        self.solution, self.tight, self.in_table = None, 0, False
        self.sections(document, 1)
        self.pending(len(self.source))
        self.cells[:1] = self.opening(self.cells[0].source, url)
        kept = {cell.id for cell in self.source}
        for k, cell in enumerate(self.cells):
            cell.id = cell.id if cell.id in kept else f"edition-{k}"

    # Cells

    def opening(self, text, url):
        """Title, edition and setup, before the rest of the first cell."""
        title, _, rest = text.partition("\n\n")
        up = "../" * (len(PurePosixPath(self.name).parts) - 1)
        note = (
            f"{title}\n\n*{self.edition.capitalize()} edition* of "
            f"[Pseudo posterior synthesis]({url}). {EDITIONS[self.edition]} Numbers in "
            "the text are those of the book; run the cells to get your own."
        )
        folder = PurePosixPath(self.name).parent
        setup = SETUP.format(up=up, url=url, folder=folder, edition=self.edition)
        first = [new_markdown_cell(note)]
        if any(cell.cell_type == "code" for cell in self.cells):
            first.append(new_code_cell(setup))
        return first + [new_markdown_cell(rest)] * bool(rest)

    def text(self, markdown):
        """Add Markdown, to the last cell if that comes from the same source cell."""
        origin = (len(self.cells), self.place, self.solution)
        if self.origin == origin:
            self.cells[-1].source += f"\n\n{markdown}"
            return
        self.cells.append(new_markdown_cell(markdown))
        self.origin = (len(self.cells), self.place, self.solution)

    def code(self, index):
        """Add the code cell with this index in the source."""
        original, solved = self.source[index], self.solved[index]
        self.done = index + 1
        if solved and self.edition == "student":
            return
        cell = new_code_cell(original.source, id=original.id)
        cell.metadata = original.metadata.copy()
        tags = cell.metadata.get("tags", [])
        title = "Numbers for the text" if "remove-cell" in tags else None
        if solved:
            cell.metadata["tags"] = [*tags, "solution"]
            title = "Code of the solution" if self.edition == "reader" else title
        if title:
            cell.source = f"# @title {title}\n{cell.source}"
            cell.metadata["cellView"] = "form"
            cell.metadata["jupyter"] = {"source_hidden": True, "outputs_hidden": True}
        elif "hide-input" in tags:
            cell.metadata["jupyter"] = {"source_hidden": True}
        self.cells.append(cell)

    def pending(self, index):
        """Add the code cells before this one that the book does not show."""
        for k in range(self.done, index):
            if self.source[k].cell_type == "code":
                self.code(k)

    # Parts of a page

    def sections(self, parent, level):
        for node in parent.children:
            # MyST-NB counts lines from 10,000 times the number of the cell.
            line = getattr(node, "line", None) or 0
            self.place = max(self.place, line // 10000 - 1)
            self.pending(self.place)
            if isinstance(node, nodes.section):
                self.sections(node, level + 1)
            elif isinstance(node, nodes.title):
                anchor = "" if level == 2 else f"#{parent['ids'][0]}"
                number = self.env.toc_secnumbers.get(self.name, {}).get(anchor, ())
                number = f"{'.'.join(map(str, number))}. " if number else ""
                self.text(f"{'#' * (level - 1)} {number}{self.inline(node)}")
            elif "cell" in node.get("classes", []):
                self.code_cell(node)
            elif isinstance(node, exercise_enumerable_node):
                self.exercise(node)
            elif isinstance(node, solution_node):
                self.solve(node)
            elif blocks := self.block(node):
                self.text(blocks)

    def code_cell(self, node):
        index = node["cell_index"]
        self.place = index
        self.pending(index)
        parts = (p for p in node.children if "cell_output" in p["classes"])
        output = [n for part in parts for n in part.children]
        markdown = [n for n in output if isinstance(n, nodes.table | nodes.bullet_list)]
        if markdown:
            # The cell prints MyST, which only the book can show.
            self.done = index + 1
            self.text(self.blocks(markdown))
            return
        self.code(index)
        for figure in (n for n in output if isinstance(n, nodes.figure)):
            image, caption = figure.children
            self.text(f"**{self.number(figure, 'figure')}.** {self.inline(caption)}")
            described = escape(image["alt"])
            self.text(FOLD.format(head="Description of the figure", text=described))

    def exercise(self, node):
        title, content = node.children
        number = self.number(node, "exercise", "Exercise %s")
        name = self.inline(title).replace("%s", "").strip()
        self.text(f"### {number} {name}".strip())
        self.sections(content, 6)
        if self.edition == "student":
            answer = new_markdown_cell(f"**Your answer to {number}:**")
            self.cells += [answer, new_code_cell("")]

    def solve(self, node):
        if self.edition == "student":
            return
        title, content = node.children
        self.solution = escape(title.astext())
        first = len(self.cells)
        if self.edition == "instructor":
            self.text(f"### {self.solution}")
        self.sections(content, 6)
        if self.edition == "reader":
            texts = [c for c in self.cells[first:] if c.cell_type == "markdown"]
            for k, cell in enumerate(texts):
                head = self.solution + ", continued" * (k > 0)
                cell.source = FOLD.format(head=f"<b>{head}</b>", text=cell.source)
        self.solution = None

    # Blocks

    def blocks(self, children):
        return "\n\n".join(text for child in children if (text := self.block(child)))

    def block(self, node):
        match node:
            case nodes.target() | nodes.comment() | nodes.compound():
                return ""
            case nodes.paragraph():
                text = self.inline(node).strip()
                return re.sub(r"^(\d+)([.)] )|^([-+#>] )", r"\1\\\2\3", text)
            case nodes.math_block():
                return self.equation(node)
            case nodes.literal_block():
                language = node.get("language", "")
                language = "python" if language == "default" else language
                return f"```{language}\n{node.astext().rstrip()}\n```"
            case nodes.bullet_list():
                return self.items(node, "- ")
            case nodes.enumerated_list():
                return self.items(node, "{}. ", node.get("start", 1))
            case nodes.table():
                return self.table(node)
            case nodes.definition_list_item():
                *terms, definition = node.children
                names = ", ".join(self.inline(term) for term in terms)
                return f"**{names}**\n\n{self.blocks(definition.children)}"
            case nodes.citation():
                label, *reference = node.children
                return f"[{label.astext()}] {self.blocks(reference)}"
            case nodes.container() if "literal-block-wrapper" in node["classes"]:
                caption, listing = node.children
                number = self.number(node, "code-block")
                return f"**{number}.** {self.inline(caption)}\n\n{self.block(listing)}"
            case nodes.block_quote():
                return self.quote("", node.children)
            case nodes.container() | nodes.definition_list() | addnodes.glossary():
                return self.blocks(node.children)
            case proof_node():
                text = self.quote("", node.children[0].children)
                return re.sub(r"^> Proof\.", "> **Proof.**", text)
            case nodes.admonition():
                title, *content = node.children
                if "dropdown" in node["classes"]:
                    text = self.blocks(content)
                    return FOLD.format(head=self.inline(title), text=text)
                return self.quote(self.inline(title), content)
        if kind := node.get("realtype"):
            title, content = node.children
            number = self.number(node, node["countertype"], f"{kind.capitalize()} %s")
            return self.quote(f"{number}{self.inline(title)}", content.children)
        self.unknown(node)

    def quote(self, head, content):
        """Return a blockquote under a bold head."""
        self.tight += 1
        text = f"**{head}**\n\n" * bool(head) + self.blocks(content)
        self.tight -= 1
        return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))

    def items(self, node, mark, start=1):
        self.tight += 1
        lines = []
        for k, item in enumerate(node.children, start):
            bullet = mark.format(k)
            text = self.blocks(item.children)
            lines.append(bullet + indent(text, " " * len(bullet)).lstrip())
        self.tight -= 1
        loose = any(len(item.children) > 1 for item in node.children)
        return ("\n\n" if loose else "\n").join(lines)

    def table(self, node):
        self.in_table = True
        rows = [
            "| " + " | ".join(self.entry(entry) for entry in row.children) + " |"
            for row in node.findall(nodes.row)
        ]
        self.in_table = False
        (head,) = next(node.findall(nodes.thead)).children
        return "\n".join([rows[0], "|" + "---|" * len(head.children), *rows[1:]])

    def entry(self, node):
        text = "<br>".join(self.block(child) for child in node.children)
        return text if "\n" not in text else self.unknown(node)

    def equation(self, node):
        text = node.astext().strip()
        if "\n\n" in text or node.get("nowrap"):
            self.unknown(node)
        if r"\\" in text and r"\begin{" not in text:
            text = rf"\begin{{split}}{text}\end{{split}}"
        if node.get("number"):
            text = rf"{text} \tag{{{self.number(node, 'displaymath', '%s')}}}"
        # Line breaks inside a quote or a list would reach MathJax with their marks.
        return f"$${' '.join(text.split())}$$" if self.tight else f"$$\n{text}\n$$"

    def number(self, node, kind, form=None):
        """Return the number as the book prints it."""
        number = self.env.toc_fignumbers[self.name][kind][node["ids"][0]]
        return (form or self.formats[kind]) % ".".join(map(str, number))

    # Inline

    def inline(self, node):
        return "".join(self.part(child) for child in node.children)

    def part(self, node):
        match node:
            case nodes.Text():
                return escape(" ".join(re.split(r"\s*\n\s*", node)), self.in_table)
            case nodes.math():
                text = " ".join(node.astext().split())
                if self.in_table:
                    text = text.replace(r"\|", r"\Vert ").replace("|", r"\vert ")
                return f"${text}$"
            case nodes.literal() if self.resolved(node):
                text = node.astext()
                if self.in_table:
                    text = text.replace("|", r"\|")
                return f"`{text}`" if "`" not in text else f"`` {text} ``"
            case nodes.emphasis():
                return f"*{self.inline(node)}*"
            case nodes.strong():
                return f"**{self.inline(node)}**"
            case nodes.reference() | addnodes.number_reference():
                return self.link(node)
            case nodes.inline() if self.resolved(node):
                return self.inline(node)
            case nodes.target() | addnodes.index():
                return ""
        self.unknown(node)

    def resolved(self, node):
        return "xref" not in node["classes"] or isinstance(node.parent, nodes.reference)

    def link(self, node):
        text, target = self.inline(node), node.get("refuri", "")
        if isinstance(node, addnodes.download_reference):
            return f"[{text}]({node['reftarget']})"
        if "://" in target:
            return f"[{text}]({target})"
        path = target.partition("#")[0].removesuffix(".html")
        folder = PurePosixPath(self.name).parent
        if path and os.path.normpath(folder / path) in self.names:
            return f"[{text}]({path}.ipynb)"
        is_title = any("std-ref" in n["classes"] for n in node.findall(nodes.inline))
        return f"*{text}*" if is_title else text

    def unknown(self, node):
        raise ValueError(
            f"{self.name}: editions.py has no rule for {type(node).__name__}, "
            f"or it is unresolved: {node.astext()[:200]!r}"
        )


def escape(text, in_table=False):
    """Escape what Markdown would read as markup."""
    text = re.sub(r"[\\`*$~]", r"\\\g<0>", text).replace("<", "&lt;")
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)
    return text.replace("|", r"\|") if in_table else text


def _inside_solutions(cells):
    """Which cells of the source lie between the start and the end of a solution."""
    inside, marks = False, []
    for cell in cells:
        marks.append(inside)
        if cell.cell_type == "markdown":
            for mark in re.findall(r"\{solution-(start|end)\}", cell.source):
                inside = mark == "start"
    return marks


def write(page, path):
    for cell in page.cells:
        if cell.cell_type == "markdown" and (found := leaks(cell.source)):
            raise ValueError(f"{path}: MyST is left over: {found}")
    notebook = nbformat.v4.new_notebook(cells=page.cells)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def load():
    """Return Sphinx with the pages of the book as they were built."""
    if not (BUILD / ".doctrees" / "environment.pickle").exists():
        sys.exit("editions: there is no built book in _build; run make book first")
    config, _ = get_final_config(
        user_yaml=ROOT / "_config.yml",
        cli_config={
            "external_toc_path": str(ROOT / "_toc.yml"),
            "latex_individualpages": False,
        },
        sourcedir=ROOT,
        use_external_toc=True,
    )
    html, trees = BUILD / "html", BUILD / ".doctrees"
    app = Sphinx(ROOT, None, html, trees, "html", config, status=None, warning=None)
    app.env.find_files(app.config, app.builder)
    changed = set().union(*app.env.get_outdated_files(config_changed=False))
    if changed:
        names = ", ".join(sorted(changed))
        sys.exit(f"editions: changed since the book was built, run make book: {names}")
    return app


def requirements(url):
    return f"{(ROOT / 'requirements.txt').read_text()}\npseudopost @ git+{url}\n"


def readme(edition, url):
    return f"""# Pseudo posterior synthesis: {edition} edition

{EDITIONS[edition]} These are the chapters of the [book]({url}) as plain Jupyter \
notebooks, made by `make book`. Numbers, references and equations are those of the \
book; outputs are left out, because the notebooks are there to be run. Tables that \
only the book can make, such as the claims ledger, are copied from it.

To run them, install `requirements.txt` with Python 3.12 or later and open \
`book/intro.ipynb` in JupyterLab. In Colab the first code cell of a notebook fetches \
what is missing. A link goes to the notebook, not to the place in it.
"""


def main():
    url = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]
    with patch_docutils(None), docutils_namespace():
        app = load()
        shutil.rmtree(BUILD / "editions", ignore_errors=True)
        names = {n for n in app.env.found_docs if (ROOT / f"{n}.ipynb").exists()}
        for name in sorted(names):
            document = app.env.get_and_resolve_doctree(name, app.builder)
            for edition in EDITIONS:
                given = names - FOR_TEACHERS if edition == "student" else names
                if name in given:
                    page = _Page(edition, name, document, app, given, url)
                    write(page, BUILD / "editions" / edition / f"{name}.ipynb")
    for edition in EDITIONS:
        folder = BUILD / "editions" / edition
        shutil.copytree(ROOT / "data", folder / "data")
        for file in [ROOT / "book" / "ledger.csv", *(ROOT / "book").rglob("*.py")]:
            shutil.copy(file, folder / file.relative_to(ROOT))
        (folder / "requirements.txt").write_text(requirements(url))
        python = (ROOT / ".python-version").read_text().strip()
        (folder / "runtime.txt").write_text(f"python-{python}\n")  # for Binder
        (folder / "README.md").write_text(readme(edition, url))


if __name__ == "__main__":
    main()
