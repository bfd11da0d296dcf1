import re
import sys
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import yaml
from ledger import VERDICTS

import pseudopost as pp

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import execute  # noqa: E402
import notebooks as tools  # noqa: E402

CHAPTERS = {p.stem: nbformat.read(p, as_version=4) for p in tools.CHAPTERS}
LEDGER = pd.read_csv(tools.LEDGER, dtype=str, keep_default_na=False)
chapter = pytest.mark.parametrize("name", CHAPTERS)

GRADES = ("Easy", "Medium", "Project")
EXERCISE = re.compile(
    r"\{exercise(?:-start)?\}.*\n:label: (\S+)\n(?::.*\n)*(?:`+\n)?\n?\*(\w+)"
)
WITHOUT_EXERCISES = {
    "about",
    "agreement",
    "bibliography",
    "errata",
    "execution",
    "intro",
    "ledger",
    "notation",
    "session-sheets",
    "teaching",
}
# The first thirty minutes: words a minute, and minutes for a page's pictures.
SHORT = (
    "one-record",
    "bettys-intruder",
    "how-risk-becomes-weight",
    "before-and-after",
    "what-is-promised",
)
READING, LOOKING = 200, 2
WITHOUT_EXERCISES |= {*SHORT}
# Lines of code that a reader can be asked to look at, blank ones not counted.
FIRST_CELL, CELL, VISIBLE, HIDDEN = 8, 25, 250, 250
HIDDEN_IN_ALL = 3068  # a third of what there was before the chapters had modules
HIDING = {"hide-cell", "hide-input", "remove-cell", "remove-input"}
# Equations of P1 whose lines have letters of their own, and the last letter.
LETTERED = dict(zip((26, 27, 31, 34, 35, 36, 38, 39, 44), "cdeegcebe", strict=True))
EVIDENCE = {"mathematics", "example", "published data", "simulation", "stand-in"}
# Everything in the three papers.
COVERED = [
    *(f"P1-Eq{k:02d}" for k in range(1, 46) if k not in LETTERED),
    *(
        f"P1-Eq{k}{letter}"
        for k, last in LETTERED.items()
        for letter in "abcdefg"
        if letter <= last
    ),
    *(f"P1-EqU{k:02d}" for k in range(1, 11)),
    *(f"P1-Set{k:02d}" for k in range(1, 15)),
    *(f"P1-Fig{k:02d}" for k in (*range(2, 12), *range(14, 20))),
    *(f"P1-Claim{k:02d}" for k in range(1, 41)),
    *(f"P1-Tab{k:02d}" for k in (1, 12, 13, 20, 21)),
    *("P1-AlgU1", "P1-Fut1", "P1-Fut2", "P1-Fut3", "P1-Lem1"),
    *(f"P1-Thm{k}" for k in range(1, 5)),
    *(f"P1-A{k}" for k in range(1, 6)),
    *(f"P2-Eq{k:02d}" for k in range(1, 18)),
    *(f"P2-EqU{k:02d}" for k in range(1, 7)),
    *(f"P2-Set{k:02d}" for k in range(1, 13)),
    *(f"P2-Fig{k:02d}" for k in range(1, 14)),
    *(f"P2-Claim{k:02d}" for k in range(1, 40)),
    *(f"P2-Tab{k:02d}" for k in range(1, 8)),
    *(f"P2-SuppFig{k:02d}" for k in range(1, 10)),
    *(f"P2-SuppTab{k:02d}" for k in range(1, 5)),
    *("P2-SuppEq01", "P2-SuppEq02", "P2-AlgU1", "P2-AlgU2", "P2-AlgU3"),
    *(f"P2-Toy{k}" for k in range(1, 8)),
    *(f"P2-Fut{k}" for k in range(1, 6)),
    *(f"P3-Def1.{k}" for k in (1, 2, 3)),
    *("P3-Eq1.1", "P3-Eq1.2", "P3-Eq1.3", "P3-Eq2.1"),
    *(f"P3-EqU0{k}" for k in range(1, 10)),
    *("P3-Alg1", "P3-Alg2", "P3-Alg3", "P3-AlgU4", "P3-Tab01"),
    *("P3-Fig01", "P3-Fig02", "P3-Fig03a", "P3-Fig03b"),
    *(f"P3-Fig0{k}{panel}" for k in (4, 5, 7, 8) for panel in "abcd"),
    *("P3-Fig06a", "P3-Fig06b"),
    *(f"P3-Fig09{panel}" for panel in "abcdef"),
    *("P3-Fig10", "P3-Fig11a", "P3-Fig11b", "P3-Fig12", "P3-Fig13a", "P3-Fig13b"),
    *(f"P3-Set0{k}" for k in range(1, 10)),
    *(f"P3-Claim{k:02d}" for k in range(1, 38)),
    *(f"P3-Fut{k}" for k in (1, 2, 3)),
]


def cells(name, kind):
    return [cell for cell in CHAPTERS[name].cells if cell.cell_type == kind]


def text(name):
    return "\n".join(cell.source for cell in cells(name, "markdown"))


def tags(cell):
    return cell.metadata.get("tags", [])


def checked_rows(name):
    """Ids and truth values that the chapter's checked cell has stored."""
    printed = "".join(
        output.text
        for cell in cells(name, "code")
        if tools.CHECKED in tags(cell)
        for output in cell.outputs
    )
    return dict(re.findall(r"^(P\d-\S+) +(True|False)$", printed, flags=re.M))


def test_contents_and_files_agree():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    listed = {
        toc["root"],
        *(c["file"] for part in toc["parts"] for c in part["chapters"]),
    }
    files = [*tools.CHAPTERS, *(ROOT / "book").rglob("*.md")]
    assert listed == {str(p.relative_to(ROOT).with_suffix("")) for p in files}


@chapter
def test_only_checked_cells_keep_outputs(name):
    for cell in cells(name, "code"):
        assert bool(cell.outputs) == (tools.CHECKED in tags(cell)), cell.source
        # nbval does not compare a cell that counts as never run.
        assert bool(cell.outputs) == bool(cell.execution_count), cell.source


@chapter
def test_long_chapters_have_a_checked_cell(name):
    code = cells(name, "code")
    assert len(code) <= 3 or any(tools.CHECKED in tags(cell) for cell in code)


def lines_of_code(name):
    """Non-blank lines of the cells: visible, of solutions, hidden."""
    found = {"visible": [], "solutions": [], "hidden": []}
    solution = False
    for cell in CHAPTERS[name].cells:
        if cell.cell_type == "markdown":
            for mark in re.findall(r"\{solution-(start|end)\}", cell.source):
                solution = mark == "start"
        elif cell.cell_type == "code":
            lines = sum(bool(line.strip()) for line in cell.source.splitlines())
            kind = "solutions" if solution else "visible"
            found["hidden" if HIDING & set(tags(cell)) else kind].append(lines)
    return found


@chapter
def test_a_chapter_shows_ideas_and_little_plumbing(name):
    lines = lines_of_code(name)
    assert all(count <= FIRST_CELL for count in lines["visible"][:1])
    assert all(count <= CELL for count in lines["visible"] + lines["solutions"])
    assert sum(lines["visible"]) <= VISIBLE
    assert sum(lines["hidden"]) <= HIDDEN


def test_little_code_is_hidden():
    total = sum(sum(lines_of_code(name)["hidden"]) for name in CHAPTERS)
    assert total <= HIDDEN_IN_ALL


def test_five_short_pages_come_first_and_take_half_an_hour():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    first = [Path(each["file"]).stem for each in toc["parts"][0]["chapters"]]
    assert first == [*SHORT]
    words = {name: len(re.findall(r"\w\S*", text(name))) for name in SHORT}
    assert all(400 <= count <= 1000 for count in words.values()), words
    assert sum(words.values()) / READING + LOOKING * len(SHORT) <= 30


@pytest.mark.parametrize("name", SHORT)
def test_a_short_page_shows_no_code_says_it_in_short_and_asks(name):
    assert not lines_of_code(name)["visible"]
    assert not any("hide-input" in tags(cell) for cell in cells(name, "code"))
    assert text(name).count("```{admonition} In short\n:class: tip") == 1
    assert text(name).count("````{admonition} Check yourself\n:class: check") == 1
    assert text(name).count("```{admonition} Answer\n:class: dropdown") == 3
    assert f"*Page {SHORT.index(name) + 1} of 5.*" in text(name)
    picture = min(
        k for k, cell in enumerate(CHAPTERS[name].cells) if cell.cell_type == "code"
    )
    assert picture == 1


@chapter
def test_no_checked_cell_failed(name):
    expected = set(LEDGER.loc[LEDGER["verdict"].isin(tools.VERDICTS[False]), "id"])
    assert {
        row for row, holds in checked_rows(name).items() if holds == "False"
    } <= expected


@chapter
def test_figures_have_name_caption_and_alt_text(name):
    for cell in cells(name, "code"):
        if "plt.show()" in cell.source:
            mystnb = cell.metadata["mystnb"]
            assert mystnb["figure"]["name"].startswith("fig-")
            assert len(mystnb["figure"]["caption"]) > 40
            assert len(mystnb["image"]["alt"]) > 40
            assert mystnb["image"]["alt"] != mystnb["figure"]["caption"]


@chapter
def test_terms_are_in_the_glossary(name):
    glossary = re.search(r"```\{glossary\}\n(.*?)```", text("notation"), flags=re.S)[1]
    defined = {
        line.strip().lower()
        for line in glossary.splitlines()
        if line and not line[0].isspace()
    }
    used = re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`", text(name))
    assert {term.lower() for term in used} <= defined


# Statements about privacy that stood here once and were wrong, or promised too much.
OVERSOLD = re.compile(
    r"not private at all"
    r"|(?:the|a) measure of privacy"
    r"|(?<!pure )promises (?:of this kind )?add up"
    r"|costs nothing but draws"
    r"|spend \d+ nats"
    r"|a weak promise would"
    r"|approaches a (?:\{term\}`)?global guarantee"
    r"|upper limit for the logarithm of such a ratio(?!, at the parameters)"
    r"|(?:file|data|table|microdata|record)s? (?:is|are|was|were) (?:\w+ )?private\b"
    r"|at the same bound the synthetic counts",
    flags=re.IGNORECASE,
)


@chapter
def test_no_page_oversells_privacy(name):
    assert [m[0] for m in OVERSOLD.finditer(text(name))] == []


@pytest.mark.parametrize(
    "said",
    [
        "It is not private at all: the ratio goes to 0.",
        "{term}`epsilon`, the measure of privacy",
        "Promises of this kind add up.",
        "An agency may spend 20 nats in all.",
        "the {term}`local guarantee` approaches a {term}`global guarantee`",
        "an upper limit for the logarithm of such a ratio. How far",
        "Synthetic data are differentially private.",
    ],
)
def test_what_oversells_privacy_is_noticed(said):
    assert OVERSOLD.search(said)


@chapter
def test_listings_show_the_function_without_its_docstring(name):
    for _, file, function, lines in tools.LISTING.findall(text(name)):
        assert lines == tools.listing_lines(file, function), (
            f"run make strip ({function})"
        )


@chapter
def test_exercises_have_solutions(name):
    exercises = set(
        re.findall(r"\{exercise(?:-start)?\}[^\n]*\n:label: (\S+)", text(name))
    )
    solutions = set(re.findall(r"\{solution(?:-start)?\} (\S+)", text(name)))
    assert exercises == solutions


@chapter
def test_exercises_are_graded(name):
    graded = EXERCISE.findall(text(name))
    assert len(graded) == len(re.findall(r"\{exercise(?:-start)?\}", text(name)))
    if name not in WITHOUT_EXERCISES:
        assert 4 <= len(graded) <= 8
        assert {grade for _, grade in graded} == set(GRADES)


def test_instructors_find_every_exercise_under_its_grade():
    rows = re.findall(r"^\| \{ref\}`(\S+)` \|(.*)\|$", text("teaching"), flags=re.M)
    table = {
        (name, label, grade)
        for name, row in rows
        for grade, column in zip(GRADES, row.split("|"), strict=True)
        for label in re.findall(r"`(\S+)`", column)
    }
    assert table == {
        (name, label, grade)
        for name in CHAPTERS
        for label, grade in EXERCISE.findall(text(name))
    }


def test_code_names_of_the_notation_exist():
    names = set(re.findall(r"`pp\.([\w.]+)", text("notation")))
    assert len(names) > 10
    for name in names:
        item = pp
        for part in name.split("."):
            item = getattr(item, part)


def test_ledger_is_complete():
    assert LEDGER["id"].is_unique
    assert set(LEDGER["id"]) == set(COVERED)
    assert len(COVERED) == 402


@pytest.mark.parametrize("row", LEDGER.to_dict("records"), ids=LEDGER["id"])
def test_ledger_rows(row):
    verdict, evidence = row["verdict"], row["evidence"]
    assert row["what"]
    assert row["published"]
    assert row["note"] or verdict in {"reproduced", "definition"}
    assert (evidence in EVIDENCE) == (verdict not in {"definition", "not testable"})
    assert bool(row["slip"]) == (verdict == "misprint")
    made_data = evidence in {"simulation", "stand-in"}
    unseen = verdict == "not found" or (verdict == "contradicted" and made_data)
    assert bool(row["power"]) == unseen
    assert re.match("(Yes|No|Unknown): |$", row["power"])
    if verdict != "not testable":
        stored = checked_rows(row["chapter"])
        assert row["ours"]
        assert verdict in tools.VERDICTS[stored[row["id"]] == "True"]
    source = text(row["chapter"]) + str(
        [cell.metadata for cell in cells(row["chapter"], "code")]
    )
    assert re.search(rf"(:label: |\(|name': '){row['label']}\b", source)


def test_page_and_tools_know_the_same_verdicts():
    assert {*VERDICTS} == {"not testable"}.union(*tools.VERDICTS.values())


def test_every_checked_row_is_in_the_ledger_under_its_chapter():
    for name in CHAPTERS:
        assert set(checked_rows(name)) <= set(
            LEDGER.loc[LEDGER["chapter"] == name, "id"]
        )


def test_page_of_the_ledger_counts_the_rows_as_they_are():
    (counts,) = [
        cell for cell in cells("ledger", "code") if tools.CHECKED in tags(cell)
    ]
    _, _, *lines, _ = counts.outputs[0].text.splitlines()
    by_paper = pd.crosstab(LEDGER["paper"], LEDGER["verdict"])[[*VERDICTS]]
    assert [line.split() for line in lines] == [
        [paper, *map(str, row), str(row.sum())]
        for paper, row in zip(by_paper.index, by_paper.to_numpy(), strict=True)
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pseudopost.ConvergenceWarning")  # short chains
@pytest.mark.filterwarnings("ignore:no step came within tolerance")  # a new seed
def test_readme_examples_run(tmp_path, monkeypatch, capsys):
    first, second = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S
    )
    monkeypatch.chdir(tmp_path)
    exec(first, {})
    printed = capsys.readouterr().out
    before, after = re.search(r"epsilon (\S+) before, (\S+) after", printed).groups()
    assert float(after) < float(before) / 2
    assert re.search(r"^mean weight 0\.\d\d$", printed, flags=re.M)
    assert pd.read_csv("synthetic.csv").shape == (200, 20)

    exec(second, {})
    printed = capsys.readouterr().out
    risks = re.search(r"risk (\S+) in the data, (\S+) in the files", printed).groups()
    assert float(risks[1]) < float(risks[0]) / 2
    people = pd.read_csv("people.csv").drop(columns="id")
    known = ["gender", "region", "earner"]
    files = sorted(tmp_path.glob("synthetic-*.csv"))
    assert len(files) == 20
    for file in map(pd.read_csv, files):
        assert list(file) == [*known, "income"]
        assert file.equals(file.sort_values([*file], ignore_index=True))
        assert file.dtypes["income"].kind == "i"
        assert file.groupby(known).size().equals(people.groupby(known).size())


def test_chapters_in_a_smaller_profile_exist():
    assert {path.stem for path in tools.CHAPTERS} >= execute.LONG


def test_running_times_cover_every_chapter():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    files = [toc["root"], *(c["file"] for p in toc["parts"] for c in p["chapters"])]
    notebooks = [Path(f).stem for f in files if (ROOT / f"{f}.ipynb").exists()]
    times = pd.read_csv(tools.TIMES, comment="#", index_col="chapter")
    assert list(times.index) == [name for name in notebooks if cells(name, "code")]
    assert (times > 0).all(axis=None)


def test_one_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == pp.__version__
