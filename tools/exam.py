"""Make an examination whose numbers come from a seed, and what marks it.

Usage: python tools/exam.py SEED [BANK]

In _build/exam/SEED are the students' notebook, a key, and autograder.zip, with which
otter-grader marks a notebook that was handed in:

    otter run -a autograder.zip handed-in.ipynb
"""

import contextlib
import io
import shutil
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import nbformat
import numpy as np
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_raw_cell,
)
from otter.assign import main as assign

ROOT = Path(__file__).parents[1]
EXAM = ROOT / "_build" / "exam"
BANK = ROOT / "exam" / "bank.py"
OPENING = """\
# Examination {seed}

Each question asks for one number. Write it in place of the three dots, to three \
significant digits or more, or let Python compute it. Paper, the book and the package \
are allowed. All questions count the same."""
NEAR = 0.002  # relative; three significant digits


def read(bank):
    """Return the questions of a file."""
    spec = spec_from_file_location("bank", bank)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.QUESTIONS


def questions(bank, seed):
    """Return texts and answers; each question has random numbers of its own."""
    made = [
        question(np.random.default_rng([seed, k]))
        for k, question in enumerate(read(bank))
    ]
    return [(text, float(answer)) for text, answer in made]


def master(made, seed):
    """Return the notebook from which otter makes those of students and the key."""
    config = "# ASSIGNMENT CONFIG\nname: exam-{}\ngenerate: true\nexport_cell: false\n"
    cells = [
        new_raw_cell(config.format(seed)),
        new_markdown_cell(OPENING.format(seed=seed)),
    ]
    for k, (text, answer) in enumerate(made, start=1):
        name = f"answer_{k}"
        given = f"assert isinstance({name}, (int, float)) or hasattr({name}, 'dtype')"
        right = (
            "# HIDDEN\n"
            f"assert abs({name} - {answer!r}) <= {NEAR} * abs({answer!r}) + 1e-9"
        )
        cells += [
            new_raw_cell(
                f"# BEGIN QUESTION\nname: q{k}\npoints: 1\nall_or_nothing: true"
            ),
            new_markdown_cell(f"**Question {k}.** {text}"),
            new_raw_cell("# BEGIN SOLUTION"),
            new_code_cell(f"{name} = {answer!r} # SOLUTION"),
            new_raw_cell("# END SOLUTION"),
            new_raw_cell("# BEGIN TESTS"),
            new_code_cell(given),
            new_code_cell(right),
            new_raw_cell("# END TESTS"),
            new_raw_cell("# END QUESTION"),
        ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def main(seed, bank=BANK):
    """Write the examination of a seed, and return its folder."""
    folder = EXAM / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "work"
    work.mkdir(parents=True)
    source = work / f"exam-{seed}.ipynb"
    nbformat.write(master(questions(bank, int(seed)), seed), source)
    with contextlib.redirect_stdout(io.StringIO()):
        assign(str(source), str(work / "made"), no_pdfs=True)
    made = work / "made"
    shutil.copy(made / "student" / source.name, folder / f"student-{seed}.ipynb")
    shutil.copy(made / "autograder" / source.name, folder / f"key-{seed}.ipynb")
    (grader,) = (made / "autograder").glob("*.zip")
    shutil.copy(grader, folder / "autograder.zip")
    shutil.rmtree(work)
    return folder


if __name__ == "__main__":
    if len(sys.argv) < 2 or not sys.argv[1].isdigit():
        sys.exit("make exam SEED=...: SEED must be a whole number, 0 or more")
    print(main(*sys.argv[1:]))
