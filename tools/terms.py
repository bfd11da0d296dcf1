"""Sphinx extension: the definition of a term appears when the pointer rests on it."""

import re
from functools import lru_cache

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform


class TermTitles(SphinxPostTransform):
    """Give links to the glossary the first paragraph of its entry as their title."""

    default_priority = 20  # references are resolved at 10
    formats = ("html",)

    def run(self, **kwargs):
        for reference in self.document.findall(nodes.reference):
            if any(
                "std-term" in node["classes"]
                for node in reference.findall(nodes.inline)
            ):
                _, _, target = reference.get("refuri", "").partition("#")
                found = definitions(self.env).get(target or reference.get("refid"))
                if found:
                    reference["reftitle"] = found


@lru_cache(1)
def definitions(env):
    """Return the first paragraph of each entry of the glossary, by the term's id."""
    found = {}
    for name in sorted(env.found_docs):
        for glossary in env.get_doctree(name).findall(addnodes.glossary):
            for item in glossary.findall(nodes.definition_list_item):
                *terms, definition = item.children
                text = plain(definition.next_node(nodes.paragraph))
                found |= {term: text for node in terms for term in node["ids"]}
    return found


TYPED = {
    r"\cdot": "*",
    r"\ge": ">=",
    r"\le": "<=",
    r"\lvert": "|",
    r"\mid": "|",
    r"\rvert": "|",
    r"\times": "x",
    r"\to": "->",
}


def typed(formula):
    """Return a formula of LaTeX as it would be typed."""
    text = re.sub(r"\\(?:mathrm|mathbf|boldsymbol|text)\b|\\[,;! ]", " ", formula)
    text = re.sub(r"\\[a-z]+", lambda word: TYPED.get(word[0], word[0][1:]), text)
    return re.sub(r"[\\{}]", "", text)


def plain(paragraph):
    """Return the text of a paragraph, with formulas as they would be typed."""
    text = paragraph.astext()
    for formula in paragraph.findall(nodes.math):
        text = text.replace(formula.astext(), typed(formula.astext()))
    return " ".join(text.split())


def setup(app):
    app.add_post_transform(TermTitles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
