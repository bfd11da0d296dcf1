"""What an agency may do wrong with a real file: each time an error that says what."""

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pseudopost as pp

DATA = Path(__file__).parents[1] / "data"
KNOWN = ["gender", "age", "region"]


@pytest.fixture(scope="module")
def raw():
    return pd.read_csv(DATA / "ce2016q1.csv.gz", dtype=str, keep_default_na=False)


def read(raw):
    return pp.datasets.read_consumer_expenditure(io.StringIO(raw.to_csv(index=False)))


@pytest.fixture(scope="module")
def people(raw):
    people = read(raw)
    return people[(people["income"] > 0) & (people["region"] != "Suppressed")]


@pytest.fixture(scope="module")
def other_quarter():
    people = pp.datasets.read_consumer_expenditure(DATA / "ce2014q1.csv.gz")
    return people[(people["income"] > 0) & (people["region"] != "Suppressed")]


@pytest.fixture
def small(people):
    people = people.iloc[:80]
    return pp.MixtureSynthesizer(
        people["income"], people[["gender", "earner"]], 2, shift=1000
    )


def refused(text):
    return pytest.raises(ValueError, match=re.escape(text))


def test_renamed_columns(raw):
    with refused("it has no column FINCBTXM or FINCBTAX"):
        read(raw.rename(columns={"FINCBTAX": "INCOME", "CID": "CLUSTER"}))
    # Columns that it does not need may have any name.
    read(raw.rename(columns={"CID": "CLUSTER"}))


@pytest.mark.parametrize("text", ["n/a", "12,000", "", "1e999"])
def test_text_in_numbers_of_the_file(raw, text):
    changed = raw.assign(FINCBTAX=raw["FINCBTAX"].where(raw.index != 17, text))
    with refused(f"FINCBTAX must be a finite number; record 17 has {text!r}"):
        read(changed)


def test_text_in_numbers_of_a_frame(people):
    income = people["income"].astype(object)
    income.iloc[4] = "unknown"
    with refused("y must be numbers; record 4 has 'unknown'"):
        pp.MixtureSynthesizer(income, people[["gender"]])


def test_predictors_of_another_quarter(people, other_quarter):
    sizes = f"there are {len(other_quarter)} and {len(people)}"
    with refused(
        f"X must have the labels of y, each of them once or all in the same order; {sizes}"
    ):
        pp.MixtureSynthesizer(people["income"], other_quarter[["gender"]], shift=1000)


def test_patterns_of_another_quarter(people, other_quarter):
    y = people["income"]
    with refused(f"there are {len(other_quarter)} and {len(people)}"):
        pp.identification_risk(y, y.to_numpy()[None], patterns=other_quarter[KNOWN])


def test_weights_of_another_quarter(small, other_quarter):
    weights = pd.Series(0.5, other_quarter.index[:80])
    with refused("weights must have the labels of y"):
        small.fit(weights)


def test_a_level_without_records_is_no_pattern(people):
    y, known = people["income"], people[KNOWN]
    assert "Suppressed" in known["region"].cat.categories
    without = known.assign(region=known["region"].cat.remove_unused_categories())
    released = y.to_numpy()[None]
    np.testing.assert_array_equal(
        pp.identification_risk(y, released, patterns=known),
        pp.identification_risk(y, released, patterns=without),
    )


def test_an_empty_pattern_is_missing(people):
    known = people[KNOWN].copy()
    known.iloc[3, 1] = None
    y = people["income"]
    with refused("patterns must not be missing; record 3 has one"):
        pp.identification_risk(y, y.to_numpy()[None], patterns=known)


def test_losses_need_a_shift(raw):
    everybody = read(raw)
    lowest = everybody["income"].min()
    with refused(f"choose a shift above {-lowest:g}"):
        pp.MixtureSynthesizer(everybody["income"], everybody[["gender"]])


@pytest.mark.slow
def test_all_weights_0_are_told(small, recwarn):
    fit = small.fit(np.zeros(80), draws=20, tune=20, progressbar=False, random_seed=1)
    assert fit.attrs["not_converged"].startswith(
        "all weights are 0, so this is the prior"
    )
    # And nothing else, of which the user would not know what it means.
    assert {each.category for each in recwarn} == {pp.ConvergenceWarning}


@pytest.mark.slow
def test_nothing_half_written_is_left(small, tmp_path):
    pp.cache.on(tmp_path)
    try:
        for weights in (np.full(80, 2.0), ["a"] * 80, np.ones(79)):
            with pytest.raises(ValueError, match="weights must"):
                small.fit(weights, draws=4, tune=4, progressbar=False, random_seed=1)
        assert not list(tmp_path.glob("*.fit"))
        with refused("allocation must be one of"):
            small.synthesize(None, allocation="none")
        assert not list(tmp_path.glob("*.fit"))
    finally:
        pp.cache.off()
