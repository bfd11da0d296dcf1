"""What decides the rows of the ledger, by chapter, and whether it was refreshed since.

`data/refreshed.csv` has a line for each chapter with checks: the day of its last
refresh, a hash of its rules then, and one of the sampler if it fits mixtures. The rules
of a chapter are all statements, in its cells and in the book's modules, that its checks
depend on.
"""

import ast
import hashlib
import re
import sys
from datetime import date

import execute

sys.path.insert(0, str(execute.BOOK / "appendix"))
import ledger

# Variables of a chapter in which it keeps what it found of rows of the ledger.
FOUND = {"checked", "real_files"}


def bound(node, imported):
    """Names that a statement gives a value, or whose value it changes."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return set()
    names = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
        changed = None
        if isinstance(part, ast.Attribute | ast.Subscript):
            changed = part if isinstance(part.ctx, ast.Store) else None
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            changed = part.value.func
        if isinstance(changed, ast.Attribute | ast.Subscript):
            while isinstance(changed, ast.Attribute | ast.Subscript):
                changed = changed.value
            if isinstance(changed, ast.Name):
                names.add(changed.id)
    return names - imported


def mentioned(node):
    """Names that a statement reads, attributes among them."""
    return {
        part.id if isinstance(part, ast.Name) else part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Name | ast.Attribute)
        and not (isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
    }


def statements_of(path):
    """Statements of a chapter and of its modules, by the names that they bind."""
    code, found = execute.code_of(path), {}
    for text in (code, *execute.modules_of(code, path.parent).values()):
        body = ast.parse(re.sub(r"^\s*[%!].*$", "pass", text, flags=re.M)).body
        imported = {
            (alias.asname or alias.name).partition(".")[0]
            for node in body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        for node in body:
            for name in bound(node, imported):
                found.setdefault(name, []).append(node)
    return found


def without_docstrings(node):
    """Write a statement without docstrings and comments."""
    tree = ast.parse(ast.unparse(node))
    for part in ast.walk(tree):
        if isinstance(part, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(part):
            part.body = part.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def rules_of(path):
    """Hash what the checks of a chapter depend on, and the sampler if they do on it.

    Returns
    -------
    rules, sampler : str
        Empty where the chapter has no checks, or fits no mixture.
    """
    statements = statements_of(path)
    waiting, texts = FOUND & statements.keys(), set()
    if not waiting:
        return "", ""
    while waiting:
        for node in statements.pop(waiting.pop()):
            texts.add(without_docstrings(node))
            waiting |= mentioned(node) & statements.keys()
    text = "\n".join(sorted(texts))
    fits = ledger.sampler() if "MixtureSynthesizer" in text else ""
    return hashlib.sha256(text.encode()).hexdigest()[:12], fits


def store(paths):
    """Store that chapters were refreshed today."""
    table = ledger.read_refreshed()
    for path in paths:
        rules, fits = rules_of(path)
        if rules:
            table.loc[path.stem] = f"{date.today()}", rules, fits
    order = [path.stem for path in execute.CHAPTERS if path.stem in table.index]
    table.loc[order].to_csv(ledger.REFRESHED)
