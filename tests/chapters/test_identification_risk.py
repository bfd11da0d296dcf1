import time
from fractions import Fraction

import identification_risk as chapter
import numpy as np
import pandas as pd
import pytest

import pseudopost as pp
from pseudopost.risk import ball_ends, joint_risk


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def definition(y, released):
    low, high = ball_ends(y)
    outside = (released < low[:, None]) | (released > high[:, None])
    return ~outside.diagonal() * outside.mean(axis=1)


@pytest.mark.parametrize("counts", [(2, 10, 54), (3, 9, 71), (7, 5, 54), (8, 4, 71)])
def test_betty_file(counts):
    inside, outside, own = counts
    true, released, patterns = chapter.betty_file(*counts)
    hers = np.array(patterns) == "Betty's"
    assert hers.sum() == 13
    assert len(true) == len(released) == 18
    close = (released >= 40) & (released <= 60)
    assert close[1:13].sum() == inside
    assert (~close[1:13]).sum() == outside
    assert (true[0], released[0]) == (50, own)
    assert (released[~hers] == 50).all()


def test_thirteenths():
    assert chapter.thirteenths([10 / 13, 0, 0.3846153846]) == [
        Fraction(10, 13),
        Fraction(0),
        Fraction(5, 13),
    ]


def test_households(rng):
    people, income = chapter.households(3000, rng)
    assert people.shape == (3000, 5)
    assert people.nunique().to_list() == [2, 5, 4, 5, 4]
    assert (income < 0).sum() == 12
    assert (income == np.round(income)).all()
    earned = income > 0
    by_education = pd.Series(income[earned]).groupby(
        people["education"].to_numpy()[earned]
    )
    assert by_education.median().is_monotonic_increasing
    assert pd.Series(income).skew() > 1


def test_simulated_searches(rng):
    close = np.array([[4, 1, 0], [2, 1, 3]])
    own = np.array([[True, True, False], [True, True, False]])
    share, error = chapter.simulated_searches(close, own, rng, repetitions=500)
    assert 0 < error < 0.02
    assert abs(share - (1 / 4 + 1 + 1 / 2 + 1) / 6) < 5 * error


def test_seconds(rng):
    calls = []

    def function(y, released, rest=0):
        calls.append((len(y), len(released), rest))
        time.sleep(0.01)

    assert 0.01 <= chapter.seconds(function, 7, rng, rest=0.5) < 1
    assert calls == [(7, 7, 0.5)] * 3


def test_lost():
    before, after = (
        np.array([True, True, True, True]),
        np.array([True, False, True, True]),
    )
    assert chapter.lost(before, after) == 25


def test_two_radii(rng):
    kept, rises, dropped = chapter.two_radii(rng, repetitions=20)
    assert rises == kept
    assert 0 < dropped <= 800 - kept


def test_same_as_definition(rng):
    assert chapter.same_as_definition(joint_risk, {1: definition}, rng)
    wrong = {1: lambda y, released: definition(y, released) + 0.01}
    assert not chapter.same_as_definition(joint_risk, wrong, rng)


def test_release_numbers():
    table = pd.DataFrame(
        [[0.9, 0.25, 0.2, 0.01]],
        ["Noisy"],
        [chapter.OUTSIDE, chapter.OWN, chapter.RISK, chapter.GUESS],
    )
    assert chapter.release_numbers(table) == {
        "outside-Noisy": 0.9,
        "own-Noisy": 25,
        "risk-Noisy": 0.2,
        "guess-Noisy": 0.01,
    }


def test_knowledge_numbers():
    columns = [
        *("patterns", "alone", "risk, confidential", "guess, confidential"),
        *("risk, synthetic", "guess, synthetic"),
    ]
    table = pd.DataFrame(
        [[1, 0, 0.9, 0.1, 0.2, 0.01], [9, 3, 0.5, 0.6, 0.15, 0.3]], columns=columns
    )
    values = chapter.knowledge_numbers(table)
    assert values["risk-known-none"] == 0.9
    assert values["guess-known-all"] == 0.6
    assert values["synthetic-known-none"] == 0.2
    assert values["synthetic-guess-all"] == 0.3
    assert values["alone-all"] == 3


def test_top_code_numbers():
    income = np.arange(1.0, 1001)
    confidential = np.where((income <= 50) | (income > 850), 0.9, 0.5)
    coded = np.where(income > 980, 0, confidential)
    values = chapter.top_code_numbers(
        income, 760.0, {"Confidential": confidential, "Top-coded": coded}
    )
    assert values["top"] == 0.76
    assert values["top-escape"] == pytest.approx(0.95)
    assert values["top-coded"] == 240
    assert values["top-between"] == 190
    assert values["top-beyond"] == 50
    assert values["lowest"] == pytest.approx(12.5)
    assert values["above-top"] == 75
    assert values["top-unchanged"] == pytest.approx(98)
    between = coded[(income > 760) & (income <= 950)]
    assert values["risk-between"] == pytest.approx(between.mean())


def test_timing_numbers():
    timing = {
        "definition, single records": {10: 1e-9, 8000: 2.0},
        "definition, pairs": {10: 1e-9, 2000: 5.0},
        "package, single records": {100: 0.1, 80_000: 0.4},
        "package, pairs": {100: 0.1, 80_000: 0.6},
    }
    values = chapter.timing_numbers(timing)
    assert values["fast-largest"] == 80_000
    assert values["fast-seconds"] == 0.4
    assert values["fast-pairs-seconds"] == 0.6
    assert values["slow-minutes"] == pytest.approx(200 / 60)
    assert values["slow-years"] == pytest.approx(5 * 40**3 / (365 * 24 * 3600))


def test_three_records():
    income = np.full(6, 100.0)
    income[5] = 1000
    distance = np.array([0.5, 0.02, 0.2, 0.14, 0.7, 0.03])
    assert chapter.three_records(income, distance) == [1, 3, 0]


def test_pictures_of_betty():
    published = chapter.PUBLISHED["published"]
    risk = [10 / 13, 0.0, 5 / 13, 0.0]
    assert chapter.pictures_of_betty(risk, published) == [
        ("10/13", True),
        ("0", True),
        ("5/13", True),
        ("0", True),
    ]
    checks = chapter.pictures_of_betty([9 / 13, 1 / 13, 5 / 13, 0.0], published)
    assert [holds for _, holds in checks] == [False, False, True, True]


@pytest.fixture
def file(rng):
    """Values, three released files, and pattern size, close rows and T of each."""
    y = rng.lognormal(10, 0.5, 60)
    released = y * np.exp(rng.normal(0, 0.3, (3, 60)))
    low, high = ball_ends(y)
    close = np.array(
        [((f >= low[:, None]) & (f <= high[:, None])).sum(axis=1) for f in released]
    )
    own = (low <= released) & (released <= high)
    per_file = np.array([pp.identification_risk(y, f) for f in released])
    return y, released, (np.full(60, 60), close, own), per_file


def test_by_definition(file):
    y, released, (size, close, own), per_file = file
    first = size, close[0], own[0]
    rows, listed = np.arange(60), definition(y, released[0])

    def holds(one=per_file[0], listed=listed, search=first, agree=True):
        return chapter.by_definition(one, rows, listed, search, agree)[1]

    assert holds()
    assert not holds(agree=False)
    assert not holds(listed=listed + 0.01)
    assert not holds(search=(size, close[1], own[1]))
    # Without the record itself among those inside, the risk could reach 1.
    alone = np.ones(60)
    assert not holds(alone, alone, (size, np.zeros(60), np.ones(60, bool)))


def test_mean_not_sum(file):
    *_, per_file = file
    words, holds = chapter.mean_not_sum(per_file, per_file.mean(axis=0))
    assert holds
    assert words.startswith(f"largest mean {per_file.mean(axis=0).max():.2f}")
    assert not chapter.mean_not_sum(per_file, per_file.sum(axis=0))[1]
    assert not chapter.mean_not_sum(per_file / 9, per_file.mean(axis=0) / 9)[1]


def test_own_value(file):
    *_, search, per_file = file
    ends = ball_ends([50_000, -5000])
    words, holds = chapter.own_value(per_file, search, ends)
    assert holds
    assert words == f"T = 1 for {100 * search[2].mean():.0f}% of records and sets"
    assert not chapter.own_value(per_file + 0.01, search, ends)[1]
    assert not chapter.own_value(0 * per_file, search, ends)[1]
    signed = ball_ends([50_000, -5000], ball="signed")
    assert not chapter.own_value(per_file, search, signed)[1]


def test_right_search():
    words, holds = chapter.right_search(0.0312, 0.0002, 0.0315)
    assert holds
    assert words == "simulated searches right 3.12%, formula 3.15%"
    assert not chapter.right_search(0.0312, 0.00005, 0.0315)[1]


@pytest.mark.parametrize(
    ("rises", "dropped", "betty", "holds"),
    [
        (10, 3, [0.5, 0.6, 0.8, 0], True),
        (9, 3, [0.5, 0.6, 0.8, 0], False),
        (10, 0, [0.5, 0.6, 0.8, 0], False),
        (10, 3, [0.5, 0.8, 0.6, 0], False),
        (10, 3, [0.5, 0.6, 0.8, 0.9], False),
    ],
)
def test_smaller_radius(rises, dropped, betty, holds):
    assert chapter.smaller_radius(10, rises, dropped, betty)[1] == holds


def test_smaller_radius_in_words():
    words, _ = chapter.smaller_radius(1234, 1234, 5, [9 / 13, 10 / 13, 11 / 13, 0])
    assert words == "no fall in 1,234 records with equal T; Betty 9/13, 10/13, 11/13, 0"


def test_inversely_related():
    assert chapter.inversely_related(-1.0, 0.3) == (
        "correlation -1.00 given T = 1; +0.30 over 20 sets",
        True,
    )
    assert not chapter.inversely_related(-0.9, 0.3)[1]


def test_three_markers():
    assert chapter.three_markers(["a", "b", "c"]) == ("3 kinds of marker", True)
    assert not chapter.three_markers(["a", "b", "b"])[1]


@pytest.mark.parametrize(
    ("rises", "noisy", "holds"), [(10, 4, True), (9, 4, False), (10, 26, False)]
)
def test_flips_where_values_mix(rises, noisy, holds):
    flips = {"Noisy": noisy, "Synthetic": 52, "Shuffled": 50}
    words, verdict = chapter.flips_where_values_mix(10, rises, flips)
    assert verdict == holds
    assert words.endswith("Synthetic 52%, Shuffled 50%")


def test_weights_of_attribute_risk(rng):
    attribute, files = rng.random(50), np.ones((20, 50))
    weights = pp.marginal_weights(attribute)
    assert chapter.weights_of_attribute_risk(weights, attribute, files, files)[1]
    assert not chapter.weights_of_attribute_risk(
        weights[::-1], attribute, files, files
    )[1]
    assert not chapter.weights_of_attribute_risk(weights, attribute, files[:10], files)[
        1
    ]


def test_one_file():
    per_file = np.array([[0.1, 0.2], [0.11, 0.21]])
    words, holds = chapter.one_file(per_file[0], per_file, per_file.mean(axis=0))
    assert holds
    assert words == "mean 0.150 in one set, 0.155 over 2"
    assert not chapter.one_file(per_file[1], per_file, per_file.mean(axis=0))[1]
    assert not chapter.one_file(per_file[0], per_file, per_file.mean(axis=0) + 0.1)[1]


def test_claims():
    names = (
        *("markers", "definition", "average", "own", "search", "radius"),
        *("attribute", "flips", "weights", "single"),
    )
    checks = {name: (name, name != "markers") for name in names}
    betty = [("poor", True), ("poor far", True), ("well", False), ("well far", True)]
    found = chapter.claims(betty=betty, **checks)
    assert len(found) == 27
    assert found["P2-Fig02"] == found["P2-Toy4"] == ("poor", True)
    assert found["P2-Fig03"] == found["P2-SuppFig03"] == ("well", False)
    assert found["P2-Fig04"] == found["P2-SuppFig05"] == ("poor far", True)
    assert found["P2-SuppFig04"] == found["P2-Toy6"] == ("well far", True)
    assert found["P2-SuppFig01"] == ("as P2-Fig01", False)
    assert found["P1-Eq08"] == found["P2-SuppEq01"] == ("definition", True)
    assert found["P2-EqU05"][1]
