import sys
from pathlib import Path

import pytest
from docutils import nodes

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import terms  # noqa: E402


@pytest.mark.parametrize(
    ("formula", "typed"),
    [
        (r"\lvert y_i \rvert", "| y_i |"),
        (r"m\, \epsilon", "m epsilon"),
        (r"\epsilon_{\mathbf{x}}", "epsilon_ x"),
        (r"\exp\{u\}", "expu"),
        (r"0 \le \alpha_i \le 1", "0 <= alpha_i <= 1"),
        (r"p(y \mid \theta)", "p(y | theta)"),
    ],
)
def test_formulas_are_typed(formula, typed):
    paragraph = nodes.paragraph("", "It is ", nodes.math("", formula), nodes.Text("."))
    assert terms.plain(paragraph) == f"It is {typed}."


def test_lines_are_joined():
    assert terms.plain(nodes.paragraph("", "Two\n lines.")) == "Two lines."
