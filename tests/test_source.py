"""What counts as a change of the code, and for which class."""

import ast
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import pseudopost as pp
from pseudopost import _source

TEXT = '''
"""A module."""

LIMIT = 3  # of steps


class Walk:
    """A walk."""

    def step(self, length=1):
        """Go on."""
        far = length * LIMIT
        return far + 1


def stay():
    """Do nothing."""
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A module."""', '"""Another\n\nmodule."""'),
        ('"""A module."""', ""),
        ('    """A walk."""\n', ""),
        ('"""Go on."""', '"""Go on for `length`."""'),
        ('    """Do nothing."""', "    pass"),
        ("# of steps", "# of days"),
        ("  # of steps", ""),
        ("length * LIMIT", "(length\n            * LIMIT)"),
        ("\n\nclass", "\n\n\n\nclass"),
        ("far + 1", "far  +  1  # metres"),
    ],
)
def test_docstrings_comments_and_layout_do_not_count(old, new):
    assert old in TEXT
    changed = _source.digest_of_text(TEXT.replace(old, new))
    assert changed == _source.digest_of_text(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("LIMIT = 3", "LIMIT = 3.0"),
        ("length=1", "length=2"),
        ("length * LIMIT", "LIMIT * length"),
        ("        far = length * LIMIT\n", ""),
        ("far", "near"),
        ("Walk", "Run"),
        ("def step(self", "def _step(self"),
        ("return far + 1", 'return """Go on."""'),
    ],
)
def test_code_counts(old, new):
    assert old in TEXT
    changed = _source.digest_of_text(TEXT.replace(old, new))
    assert changed != _source.digest_of_text(TEXT)


CLASSES = ("MixtureSynthesizer", "PoissonSynthesizer")
MIXTURE = CLASSES[:1]
# A module, what is replaced there by what, and the classes that this is a change of.
CHANGES = {
    "start": ("mixture_starts", "max_steps=100", "max_steps=101", MIXTURE),
    "sweep": ("mixture_sweeps", "TURNS = 4", "TURNS = 5", MIXTURE),
    "exchange": ("mixture_exchanges", "STEPS, CLOSE = 5", "STEPS, CLOSE = 6", MIXTURE),
    "chains": ("mixture_chains", "ADDED = (3.0", "ADDED = (4.0", MIXTURE),
    "design": ("design", "SMALL = 1e-7", "SMALL = 1e-6", CLASSES),
    "mixture": ("mixture", "default_chains = 5", "default_chains = 3", MIXTURE),
    "sampler": ("synthesizers", "save_warmup=False", "save_warmup=True", CLASSES),
    "convergence": ("convergence", "MAX_RHAT = 1.05", "MAX_RHAT = 1.01", CLASSES),
    "likelihood": ("likelihood", "weights * logp", "logp * weights", CLASSES),
    "counts": ("counts", "nu=3", "nu=4", CLASSES[1:]),
    "docstring": ("mixture_sweeps", '"""Exponential of', '"""Power of', ()),
    "comment": ("mixture_sweeps", "# Of the exponential", "# Of it", ()),
    "risk": ("risk", "def top_code(", "def top_codes(", ()),
    "plots": ("plots", "PALETTE = {", "PALETTE = {'': 'red',", ()),
}
PACKAGE = Path(pp.__file__).parent
DIGESTS = cache(_source.digest_of_text)


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the package, which digests are taken of."""
    ignored = shutil.ignore_patterns("__pycache__")
    folder = shutil.copytree(PACKAGE, tmp_path / "pseudopost", ignore=ignored)
    monkeypatch.setattr(_source, "PACKAGE", folder)
    monkeypatch.setattr(_source, "digest_of_text", DIGESTS)
    _source.digest_of_modules.cache_clear()
    yield folder
    _source.digest_of_modules.cache_clear()


def edit(folder, module, old, new):
    file = folder / f"{module}.py"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    _source.digest_of_modules.cache_clear()


def digests():
    """By class, and of the whole package."""
    found = {name: _source.digest_of_class(getattr(pp, name)) for name in CLASSES}
    return found | {"all": _source.digest_of_modules()}


@pytest.fixture(scope="module")
def before():
    return digests()


def test_a_copy_has_the_digests_of_the_original(before, copy):
    assert digests() == before
    assert len(set(before.values())) == 3


@pytest.mark.parametrize("name", CHANGES)
def test_a_class_changes_with_what_it_imports(before, copy, name):
    module, old, new, changed = CHANGES[name]
    edit(copy, module, old, new)
    after = digests()
    expected = {*changed} if name in ("docstring", "comment") else {*changed, "all"}
    assert {key for key in before if before[key] != after[key]} == expected


def test_imports_are_followed(copy):
    digest = _source.digest_of_modules("pseudopost.mixture_chains")
    edit(copy, "mixture", "default_chains = 5", "default_chains = 3")
    assert _source.digest_of_modules("pseudopost.mixture_chains") == digest
    edit(copy, "mixture_starts", "max_steps=100", "max_steps=101")
    changed = _source.digest_of_modules("pseudopost.mixture_chains")
    assert changed != digest
    # By mixture_sweeps.
    edit(copy, "compiled", "def function(", "def functions(")
    assert _source.digest_of_modules("pseudopost.mixture_chains") != changed


class Own(pp.PoissonSynthesizer):
    def draw_dataset(self, parameters, rng):
        return rng.poisson(parameters["mu"], size=3)


class Other(pp.PoissonSynthesizer):
    def draw_dataset(self, parameters, rng):
        return rng.poisson(parameters["mu"], size=4)


def test_a_class_elsewhere_has_its_own_text_and_the_modules_of_its_bases(copy):
    before = [_source.digest_of_class(cls) for cls in (Own, Other)]
    assert len({*before, *digests().values()}) == 5
    assert _source.origin_of_class(Own) == _source.origin_of_class(
        pp.PoissonSynthesizer
    )
    edit(copy, "mixture", "default_chains = 5", "default_chains = 3")
    assert [_source.digest_of_class(cls) for cls in (Own, Other)] == before
    edit(copy, "counts", "nu=3", "nu=4")
    after = [_source.digest_of_class(cls) for cls in (Own, Other)]
    assert not set(after) & set(before)


def typed(result):
    """A class without source code."""
    space = {"Poisson": pp.PoissonSynthesizer, "__name__": "prompt"}
    text = f"class Typed(Poisson):\n  def draw_dataset(self, *_): return {result}"
    exec(text, space)
    return space["Typed"]


@pytest.mark.parametrize("other", ["a.x + 2", "a.x - 1", "a.y + 1", "b.x + 1"])
def test_a_class_typed_at_a_prompt_is_known_by_what_it_was_compiled_to(other):
    digest = _source.digest_of_class(typed("a.x + 1"))
    assert _source.digest_of_class(typed("a.x + 1")) == digest
    assert _source.digest_of_class(typed(other)) != digest


SCRIPT = """
import pseudopost as pp
from pseudopost import _source
print({name: _source.digest_of_class(getattr(pp, name)) for name in %r})
"""


@pytest.mark.slow
def test_another_process_finds_the_same_digests(before, copy, tmp_path):
    edit(copy, *CHANGES["start"][:3])
    command = [sys.executable, "-c", SCRIPT % (CLASSES,)]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    text = subprocess.check_output(command, env=environment, cwd=tmp_path, text=True)
    found = ast.literal_eval(text)
    assert found.items() <= digests().items()
    assert found["MixtureSynthesizer"] != before["MixtureSynthesizer"]
    assert found["PoissonSynthesizer"] == before["PoissonSynthesizer"]
