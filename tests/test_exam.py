import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import nbformat
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of ipylab, for otter
    import exam

NAMES = [question.__name__ for question in exam.read(exam.BANK)]


def test_a_seed_gives_the_same_examination_and_another_one_another():
    first, again, other = (exam.questions(exam.BANK, seed) for seed in (7, 7, 8))
    assert first == again
    assert all(a[0] != b[0] for a, b in zip(first[:-1], other[:-1], strict=True))


@pytest.mark.parametrize("k", range(len(NAMES)), ids=NAMES)
def test_questions_have_answers_that_are_numbers(k):
    for seed in range(25):
        text, answer = exam.questions(exam.BANK, seed)[k]
        assert np.isfinite(answer)
        assert text.endswith("?")
        assert "nan" not in text
    answers = {exam.questions(exam.BANK, seed)[k][1] for seed in range(25)}
    assert len(answers) > 3


def by_hand(name, numbers):
    """Answers of three questions, computed from their texts in another way."""
    if name == "half_records":
        n, total, _, value, weight, shape, rate = numbers
        return (total + shape + value * weight) / (n + rate + weight)
    if name == "odds":
        epsilon, draws, before = numbers
        return 1 / (1 + (1 - before) / before * np.exp(-draws * epsilon))
    *estimates, within = numbers
    mean = sum(estimates) / 5
    between = sum((each - mean) ** 2 for each in estimates) / 4
    return (within + between / 5) ** 0.5


@pytest.mark.parametrize("name", ["half_records", "odds", "combined"])
def test_answers_are_those_by_hand(name):
    for seed in range(5):
        text, answer = exam.questions(exam.BANK, seed)[NAMES.index(name)]
        words = text.replace(",", "").replace("?", "").replace("%", "").split()
        numbers = []
        for word in words:
            try:
                numbers.append(float(word.rstrip(".")))
            except ValueError:
                continue
        assert answer == pytest.approx(by_hand(name, numbers))


def run(script, *arguments):
    """Run a script in a process of its own: otter leaves sockets of kernels open."""
    command = [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tools")}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


MAKE = """
import sys, exam
from pathlib import Path
exam.EXAM = Path(sys.argv[1])
print(exam.main(7))
"""
MARK = """
import json, sys
from otter.api import grade_submission
found = grade_submission(sys.argv[1], sys.argv[2], quiet=True)
scores = {name: result.score for name, result in found.results.items()}
print(json.dumps([found.total, found.possible, scores]))
"""


@pytest.mark.slow
def test_otter_marks_right_and_wrong_answers(tmp_path):
    folder = Path(run(MAKE, tmp_path))
    made = exam.questions(exam.BANK, 7)
    student = nbformat.read(folder / "student-7.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in student.cells)
    for k, (question, answer) in enumerate(made, start=1):
        assert question in text
        assert f"answer_{k} = ..." in text
        if len(repr(answer)) > 8:
            assert repr(answer) not in nbformat.writes(student)

    def handed_in(name, wrong):
        for k, (_, answer) in enumerate(made, start=1):
            given = answer + 0.1 if k in wrong else float(f"{answer:.4g}")
            for cell in student.cells:
                if cell.source.startswith(f"answer_{k} = "):
                    cell.source = f"answer_{k} = {given}"
        nbformat.write(student, tmp_path / name)
        return json.loads(run(MARK, tmp_path / name, folder / "autograder.zip"))

    total, possible, _ = handed_in("right.ipynb", wrong=())
    assert total == possible == len(made)
    total, _, scores = handed_in("wrong.ipynb", wrong=(2, 5))
    assert total == len(made) - 2
    assert {name for name, score in scores.items() if not score} == {"q2", "q5"}


def test_a_seed_that_is_none_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["exam.py", "x"])
    source = (ROOT / "tools" / "exam.py").read_text()
    with pytest.raises(SystemExit, match="SEED must be a whole number"):
        exec(
            compile(source, "exam.py", "exec"),
            {"__name__": "__main__", "__file__": str(ROOT / "tools" / "exam.py")},
        )
