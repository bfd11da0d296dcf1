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
    assert measured.startswith("measured on ")


def test_versions():
    table = execution.versions()
    assert table.index[0] == "Python"
    assert table["version"].str.match(r"\d+\.\d+").all()
