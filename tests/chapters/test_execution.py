import re

import execution
import pandas as pd
import pytest


@pytest.fixture
def times():
    return pd.DataFrame(
        {
            "nothing stored": [1200, 60, 60, 60, 60, 60],
            "fits stored": [30] * 6,
            "small run": [10] * 6,
        },
        index=pd.Index(list("abcdef"), name="chapter"),
    )


def test_time_values(times):
    assert execution.time_values(times) == {
        "nothing-stored": 25,
        "fits-stored": 3,
        "small-run": 1,
        "longest": pytest.approx(96),
        "quick": 5,
        "chapters": 6,
    }


def test_table(times):
    first, *_ = execution.as_table(times).removeprefix(execution.HEAD).splitlines()
    assert first == "| {ref}`a` | 1,200 | 30 | 10 |"


def test_stored_times():
    times, measured = execution.read_times()
    assert list(times) == ["nothing stored", "fits stored", "small run"]
    when, notes = execution.split_measured(measured)
    assert re.fullmatch(r"measured on .*20\d\d on \d+ cores", when)
    assert measured in {when, f"{when}, {notes}"}


@pytest.mark.parametrize(
    ("measured", "when", "listed"),
    [
        ("measured on 1 May 2026 on 2 cores", "measured on 1 May 2026 on 2 cores", []),
        (
            "on 4 cores, one, alone; two beside",
            "on 4 cores",
            ["- One, alone.", "- Two beside."],
        ),
    ],
)
def test_notes_on_times(measured, when, listed):
    found, notes = execution.split_measured(measured)
    assert found == when
    assert execution.as_notes(notes).splitlines()[4:] == listed
    assert bool(execution.as_notes(notes)) == bool(listed)


def test_versions():
    table = execution.versions()
    assert table.index[0] == "Python"
    assert table["version"].str.match(r"\d+\.\d+").all()
