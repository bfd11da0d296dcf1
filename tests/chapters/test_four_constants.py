import json

import four_constants as chapter
import frontier
import numpy as np
import pytest

import pseudopost as pp

COUNTS = np.random.default_rng(1).negative_binomial(5, 0.05, size=150)


@pytest.fixture(scope="module")
def file():
    return frontier.File(COUNTS, points=31, size=200)


@pytest.fixture(scope="module")
def table(file):
    return json.loads(chapter.table(file))


def test_unweighted_bounds_weights_and_distance_are_those_of_the_frontier(file):
    in_ball = chapter.chance_in_ball(file)
    epsilon, _, mean, distance = chapter.at_setting(file, 0, 1, 0, 0, in_ball)
    known = file.point("LW", 1, loss=False)
    assert [epsilon, mean, distance] == pytest.approx(
        [known["epsilon"], known["mean weight"], known["distance"]]
    )
    final = chapter.at_setting(file, 0, 1, 0, 0.9, in_ball)
    known = file.point("LW_final", 0.9, loss=False)
    assert final[0] == pytest.approx(known["epsilon"])
    assert final[2] == pytest.approx(known["mean weight"])


def test_scale_and_shift_of_cw_are_those_of_the_package(file):
    found = chapter.first_weights(file, 0.2, 1.5, 0.1)
    place = np.searchsorted(file.values, COUNTS)
    assert np.allclose(found[place], pp.count_weights(COUNTS, 0.2, 1.5, 0.1))


def test_risk_is_that_of_releases_without_a_pattern(file):
    in_ball = chapter.chance_in_ball(file)
    _, risk, *_ = chapter.measured(file, np.ones(len(file.values)), in_ball)
    mass = np.exp(file.log_posterior(file.counts))
    rng = np.random.default_rng(1)
    at = rng.choice(len(mass), size=4000, p=mass / mass.sum())
    phi, mu = file.phi[at, None], file.mu[at, None]
    released = rng.negative_binomial(phi, phi / (phi + mu), (4000, len(COUNTS)))
    simulated = pp.identification_risk(COUNTS, released, radius=0.2).mean()
    assert risk == pytest.approx(simulated, abs=0.002)


@pytest.mark.parametrize("place", [(0, 3, 1, 0), (3, 5, 3, 4), (5, 2, 4, 5)])
def test_the_table_has_each_setting_in_its_place(file, table, place):
    shape = [len(values) for values in table["lists"]]
    found = np.array(table["found"], float).reshape(*shape, 4)[place]
    setting = [values[k] for values, k in zip(table["lists"], place, strict=True)]
    expected = chapter.at_setting(file, *setting, chapter.chance_in_ball(file))
    assert found == pytest.approx(np.array(expected), abs=5.1e-4)
    weights = chapter.first_weights(file, *setting[:3])
    bounds = file.expected_bounds(weights * file.counts)
    at = np.searchsorted(file.values, table["counts"])
    row = np.ravel_multi_index(place[:3], shape[:3])
    drawn = np.array(table["bounds"]).reshape(-1, len(at))[row]
    assert drawn == pytest.approx(bounds[at], abs=5.1e-3)
    assert table["largest"][row] == pytest.approx((weights * bounds).max(), abs=5.1e-4)


def test_what_the_grid_does_not_hold_is_missing(file):
    nothing = np.zeros(len(file.values))
    assert np.isnan(chapter.measured(file, nothing, chapter.chance_in_ball(file))).all()
    assert chapter.rounded(np.array([np.nan, 2.0, 0.12345]), 3) == [None, 2, 0.123]


def test_the_table_is_small(table):
    assert len(json.dumps(table, separators=(",", ":"))) < 100_000
    first = np.array(table["first"], float)
    assert first.shape == (len(chapter.RADII), len(table["counts"]))
    assert first.min() >= 0
    assert first.max() <= 1


def test_numbers_of_the_text(file, table):
    found = chapter.numbers_of_text(file, json.dumps(table))
    assert found["n-settings"] == np.prod([len(x) for x in table["lists"]])
    assert 0 < found["risk-low"] < found["risk-high"] < 0.5
    assert found["lw-epsilon"] < found["shifted-epsilon"]
