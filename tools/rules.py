"""What decides the rows of the ledger, by chapter, and whether it was refreshed since.

`data/refreshed.csv` has a line for each chapter with checks: the day of its last
refresh, a hash of its rules then, and one of the sampler if it fits mixtures. The rules
of a chapter are all statements, in its cells and in the book's modules, that its checks
depend on, and the data files that these name. The package itself is not among them.
"""

import ast
import builtins
import hashlib
import re
import symtable
import sys
from collections import defaultdict
from datetime import date

import execute

sys.path.insert(0, str(execute.BOOK / "appendix"))
import ledger

# Variables of a chapter in which it keeps what it found of rows of the ledger.
FOUND = ("checked", "real_files")
# Methods that leave what they are called on as it is: a cell ends with them.
DISPLAY = {"round", "map", "rename_axis", "style", "format", "head", "to_frame"}


def root_of(node):
    """Name at the root of attributes, subscripts and calls; None if there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def changed(node):
    """Names whose values a statement changes in place, by assignment or by a call."""
    names = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute | ast.Subscript):
            if not isinstance(part.ctx, ast.Load):
                names.add(root_of(part))
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            method = part.value.func
            if not (isinstance(method, ast.Attribute) and method.attr in DISPLAY):
                names.add(root_of(method))
        elif targets_of(part) and targets_of(part) & set().union(
            *map(changed, part.body)
        ):
            names.add(root_of(part.iter))
    return names - {None, *dir(builtins)}


def names_in(node):
    """Nodes of names in a node."""
    return [part for part in ast.walk(node) if isinstance(part, ast.Name)]


def targets_of(node):
    """Variables of a loop; of another statement none."""
    return {n.id for n in names_in(node.target)} if isinstance(node, ast.For) else set()


def inner_names(node):
    """Nodes of names that stand for the items of comprehensions."""
    parts = (part for part in ast.walk(node) if isinstance(part, ast.comprehension))
    return [name for part in parts for name in names_in(part.target)]


def assigned(node):
    """Names that a statement assigns a value, bar variables of loops."""
    inner = set(map(id, inner_names(node)))
    stored = (n for n in names_in(node) if isinstance(n.ctx, ast.Store))
    return {n.id for n in stored if id(n) not in inner} - targets_of(node)


def global_names(node, text):
    """Names that a statement reads, bar those that are local to a function in it."""
    names, waiting = set(), [symtable.symtable(text, "", "exec")]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        names |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_referenced()
            and (symbol.is_global() or table.get_type() == "module")
        }
    names -= {name.id for name in inner_names(node)}
    return names | ({node.name} if isinstance(node, ast.FunctionDef) else set())


class Space:
    """Statements of a text by the names that they bind, and where others come from."""

    def __init__(self, name, text):
        self.name, self.bound, self.imports = name, defaultdict(list), {}
        body = ast.parse(re.sub(r"^\s*[%!].*$", "pass", text, flags=re.M)).body
        for node in ast.walk(ast.Module(body, [])):
            if isinstance(node, ast.Import):
                for each in node.names:
                    self.imports[each.asname or each.name] = each.name, None
            elif isinstance(node, ast.ImportFrom):
                for each in node.names:
                    self.imports[each.asname or each.name] = node.module, each.name
        generators = set()  # of random numbers, which every draw changes
        for place, node in enumerate(body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                continue
            plain = as_hashed(node)
            reads = global_names(node, plain)
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                binds = {node.name} | (changed(node) & reads)
            else:
                binds = assigned(node)
                if "default_rng" in plain:
                    generators |= binds
                binds |= (changed(node) - self.imports.keys()) | (generators & reads)
            modules = {
                (part.value.id, part.attr)
                for part in ast.walk(node)
                if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)
            }
            statement = (name, place), plain, reads, modules
            for each in binds:
                self.bound[each].append(statement)


def as_hashed(node):
    """Write a statement without docstrings, comments and the sizes of small runs."""
    tree = ast.parse(ast.unparse(node))
    for part in ast.walk(tree):
        if isinstance(part, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(part):
            part.body = part.body[1:] or [ast.Pass()]
        elif (
            isinstance(part, ast.Call) and getattr(part.func, "id", "") == "by_profile"
        ):
            part.args[0] = ast.Constant(None)
    return ast.unparse(tree)


def statements_of(path):
    """All that the checks of a chapter depend on, in order; none without checks."""
    code = execute.code_of(path)
    files = execute.modules_of(code, path.parent)
    books = {file.stem: text for file, text in files.items()}
    spaces = {name: Space(name, text) for name, text in ({"": code} | books).items()}
    found, seen = {}, set()
    waiting = [("", name) for name in FOUND if name in spaces[""].bound]
    while waiting:
        place, name = waiting.pop()
        if (place, name) in seen:
            continue
        seen.add((place, name))
        space = spaces[place]
        for at, text, reads, attributes in space.bound.get(name, []):
            found[at] = text
            waiting += [(place, each) for each in reads]
            for root, attribute in attributes:
                module, original = space.imports.get(root, (None, None))
                if module in books and original is None:
                    waiting.append((module, attribute))
        module, original = space.imports.get(name, (None, None))
        if module in books and original and name not in space.bound:
            waiting.append((module, original))
    return [found[at] for at in sorted(found)]


def rules_of(path):
    """Hash what the checks of a chapter depend on, and the sampler if they do on it.

    Returns
    -------
    rules, sampler : str
        Empty where the chapter has no checks, or fits no mixture.
    """
    text = "\n".join(statements_of(path))
    if not text:
        return "", ""
    hashed = hashlib.sha256(text.encode())
    for file in sorted(execute.DATA.iterdir()):
        if file.name in text:
            hashed.update(file.read_bytes())
    fits = ledger.sampler() if "MixtureSynthesizer" in text else ""
    return hashed.hexdigest()[:12], fits


def store(paths):
    """Store that chapters were refreshed today."""
    table = ledger.read_refreshed()
    for path in paths:
        rules, fits = rules_of(path)
        if rules:
            table.loc[path.stem] = f"{date.today()}", rules, fits
    order = [path.stem for path in execute.CHAPTERS if path.stem in table.index]
    table.loc[order].to_csv(ledger.REFRESHED)
