import threading
from collections import deque

import numpy as np
import pytest
from mixtures import two_groups

from pseudopost import mixture_chains
from pseudopost.mixture_chains import (
    added_to_shapes,
    longer,
    occupied_at_start,
    sample,
    side_by_side,
)
from pseudopost.mixture_sweeps import Records


@pytest.mark.parametrize(
    ("K", "chains", "expected"),
    [
        (20, 4, [20, 14, 7, 1]),
        (20, 2, [20, 1]),
        (20, 1, [20]),
        (2, 4, [2, 2, 1, 1]),
        (1, 3, [1, 1, 1]),
        (1, 1, [1]),
    ],
)
def test_chains_start_from_k_components_down_to_one(K, chains, expected):
    assert occupied_at_start(K, chains).tolist() == expected


@pytest.mark.parametrize("tune", [0, 1, 2, 7, 1000])
@pytest.mark.parametrize(("K", "occupied"), [(1, 1), (5, 1), (20, 7), (20, 20)])
def test_help_with_births(K, occupied, tune):
    added = added_to_shapes(K, occupied, tune)
    assert added.shape == (tune,)
    assert (np.diff(added) <= 0).all()
    assert (added[tune // 2 :] == 0).all()
    assert (added[: tune // 2] > 0).all() == (occupied < K or tune < 2)
    if occupied == K:
        assert (added == 0).all()


def test_a_chain_from_fewer_components_gets_more_help():
    one, seven, fourteen = (added_to_shapes(20, k, 1000) for k in (1, 7, 14))
    assert (one[:500] > seven[:500]).all()
    assert (seven[:500] > fourteen[:500]).all()
    assert set(one) == {*mixture_chains.ADDED, 0}


def counting(told, name, steps):
    for step in range(steps):
        told.append((name, step))
        yield
    return name


@pytest.mark.parametrize("workers", [1, 2, 9])
@pytest.mark.parametrize("steps", [[3, 3, 3], [0, 1, 5], [4], []])
def test_values_are_in_the_order_of_the_tasks(steps, workers):
    told, names = [], "abc"[: len(steps)]
    tasks = [counting(told, *task) for task in zip(names, steps, strict=True)]
    assert side_by_side(tasks, workers) == list(names)
    assert sorted(told) == [
        (k, i) for k, n in zip(names, steps, strict=True) for i in range(n)
    ]


def test_a_step_of_each_task_in_turn():
    told = []
    side_by_side([counting(told, name, 2) for name in "abc"], 1)
    assert "".join(name for name, _ in told) == "abcabc"


def test_a_worker_that_finds_nothing_left_leaves_the_rest_to_others(monkeypatch):
    class Overtaken(deque):
        """Says that something waits when another worker has just taken it."""

        def __bool__(self):
            return True

    monkeypatch.setattr(mixture_chains, "deque", Overtaken)
    told = []
    tasks = [counting(told, name, 3) for name in "ab"]
    assert side_by_side(tasks, 3) == ["a", "b"]
    assert len(told) == 6


@pytest.fixture(scope="module")
def data():
    log_y, X, _ = two_groups()
    weights = np.random.default_rng(7).uniform(size=120)
    return Records(log_y, X, weights, 0.05)


class Bar:
    """What chains tell of their progress."""

    def __init__(self, total=0):
        self.total, self.done = total, 0

    def update(self):
        self.done += 1


def independent(found):
    """Values of which every draw says something new."""
    shape = found["gamma"].shape
    return {"x": np.random.default_rng(1).normal(size=shape)}


def stuck(found):
    """Values that never change in a chain."""
    chains, draws = found["gamma"].shape
    return {"x": np.repeat(np.arange(chains), draws).reshape(chains, draws)}


def sampled(data, bar=None, **changes):
    settings = {"K": 3, "draws": 5, "tune": 4, "chains": 3, "seed": 1, "cores": 2}
    settings |= {"bar": bar or Bar(), "judged": independent}
    return sample(data, **settings | changes)


def drawn(data, **changes):
    return sampled(data, **changes)[0]


def assert_equal(found, other):
    assert found.keys() == other.keys()
    for name in found:
        np.testing.assert_array_equal(found[name], other[name])


@pytest.mark.slow
def test_what_chains_return(data):
    found = drawn(data)
    shapes = {
        "gamma": (3, 5),
        "pi": (3, 5, 3),
        "beta": (3, 5, 3, 3),
        "sigma": (3, 5, 3),
        "s": (3, 5, 3),
        "slope": (3, 5, 0),
        "scale": (3, 5, 0),
        "occupied": (3, 5),
    }
    assert {name: values.shape for name, values in found.items()} == shapes
    assert ((found["occupied"] >= 1) & (found["occupied"] <= 3)).all()
    assert len(np.unique(found["gamma"])) == 15


@pytest.mark.slow
def test_draws_do_not_depend_on_the_number_of_cores(data):
    assert_equal(drawn(data, cores=1), drawn(data, cores=2))


@pytest.mark.slow
def test_a_seed_determines_the_draws(data):
    first, again, other = (drawn(data, seed=seed) for seed in (1, 1, 2))
    assert_equal(first, again)
    assert not np.isin(first["gamma"], other["gamma"]).any()


@pytest.mark.slow
def test_the_order_of_arrays_in_memory_compiles_nothing_and_changes_nothing(data):
    expected, compiled = drawn(data), mixture_chains.run.signatures
    strided = np.repeat(data.y, 2)[::2]
    assert not strided.flags.contiguous
    places = np.zeros((120, 2), dtype=data.rows.place.dtype)
    rows = data.rows._replace(place=np.asfortranarray(places))
    other = data._replace(y=strided, X=np.asfortranarray(data.X), rows=rows)
    assert_equal(drawn(other), expected)
    assert mixture_chains.run.signatures == compiled


@pytest.mark.slow
def test_chains_from_the_same_place_differ(data):
    assert len(np.unique(drawn(data, K=1)["gamma"])) == 15


@pytest.mark.slow
@pytest.mark.parametrize("tune", [0, 1])
def test_little_tuning_is_allowed(data, tune):
    assert drawn(data, tune=tune)["gamma"].shape == (3, 5)


@pytest.mark.slow
def test_every_draw_and_step_of_tuning_is_told(data):
    bar = Bar()
    sampled(data, bar)
    assert bar.done == 3 * (5 + 4)


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("cores", [1, 2])
def test_an_exception_stops_all_chains(data, error, cores):
    before = threading.active_count()

    class Interrupted(Bar):
        def update(self):
            super().update()
            if self.done == 10:
                raise error

    bar = Interrupted()
    with pytest.raises(error):
        sampled(data, bar, draws=1_000_000, cores=cores)
    assert bar.done < 1000
    assert threading.active_count() <= before  # others may end meanwhile


@pytest.fixture
def counted(monkeypatch):
    """Chains that do nothing but count their sweeps; what they are called with."""
    monkeypatch.setattr(mixture_chains, "SWEEPS", (10, 5, 8))
    calls = []

    def run(data, state, extra, sweeps, rng):
        calls.append(sweeps)
        state.size[:] = 1
        state.gamma[0] += sweeps

    monkeypatch.setattr(mixture_chains, "run", run)
    return calls


@pytest.mark.slow
@pytest.mark.parametrize(("at", "tuning", "each"), [(1.0, 60, 30), (0.5, 10, 5)])
def test_sweeps_by_draw(data, counted, at, tuning, each):
    *_, sweeps = sampled(data._replace(weights=np.full(120, at)))
    assert sorted(counted) == [each] * 15 + [tuning] * 12
    assert sweeps == each


@pytest.mark.slow
def test_first_draws_that_say_too_little_count_as_tuning(data, counted):
    bar = Bar(total=3 * (20 + 4))
    found, judged, sweeps = sampled(data, bar, draws=20, judged=stuck)
    assert sweeps == 40
    before = 4 * 10 + 20 * 5
    assert sum(counted) == 3 * (before + 20 * 40)
    assert bar.done == bar.total == len(counted)
    assert judged["x"].shape == (3, 20)
    expected = 1 + before + 40 * np.arange(1, 21)
    np.testing.assert_array_equal(found["gamma"], np.tile(expected, (3, 1)))


@pytest.mark.parametrize(
    ("times", "part", "expected"),
    [(1, 0.99, 2), (1, 0.5, 3), (2, 0.9, 3), (5, 0.9, 7), (3, 0.2, 12), (3, 0, 12)],
)
def test_how_much_longer(times, part, expected):
    assert longer(times, part) == expected


def test_how_much_longer_where_nothing_is_known():
    assert longer(2, np.nan) == 8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draws", "parts", "each"),
    [
        (7, [0.9, 1.0], 10),
        (8, [0.2, 0.8, 1.0], 30),
        (1, [0.6, 0.2], 40),
        (3, [0.4, 0.9, 0.9, 1.0], 25),
    ],
)
def test_later_draws_are_thinned(data, counted, monkeypatch, draws, parts, each):
    said = iter(parts)
    monkeypatch.setattr(mixture_chains, "share_of_wanted", lambda judged: next(said))
    bar = Bar(total=3 * draws)
    found, judged, _ = sampled(
        data,
        bar,
        draws=draws,
        tune=0,
        judged=lambda found: {"copy": found["gamma"], "x": found["pi"]},
    )
    at = each * np.arange(1, draws + 1)
    expected = np.tile(1 + 5 * draws + at, (3, 1))
    assert sum(counted) == 3 * draws * (5 + each)
    np.testing.assert_array_equal(found["gamma"], expected)
    np.testing.assert_array_equal(judged["copy"], expected)
    assert {v.shape[:2] for v in [*found.values(), *judged.values()]} == {(3, draws)}
    assert bar.done == bar.total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([1.0], 5),
        ([0.6, 0.9, 1.2], 15),
        ([0.4, 0.9, 1.0], 20),
        ([0.25, 0.2], 40),
        ([np.nan, np.nan], 40),
    ],
)
def test_sweeps_grow_with_what_is_missing(data, counted, monkeypatch, parts, expected):
    said = iter(parts)
    monkeypatch.setattr(mixture_chains, "share_of_wanted", lambda judged: next(said))
    assert sampled(data, tune=0)[2] == expected
    assert next(said, None) is None


@pytest.mark.slow
def test_what_is_judged_goes_with_its_draw(data, monkeypatch):
    monkeypatch.setattr(mixture_chains, "SWEEPS", (10, 5, 8))
    found, judged, sweeps = sampled(
        data, draws=20, judged=lambda found: stuck(found) | {"copy": found["gamma"]}
    )
    assert sweeps == 40
    np.testing.assert_array_equal(judged["copy"], found["gamma"])


@pytest.mark.slow
def test_help_is_given_before_the_first_draw_alone(data, monkeypatch):
    seen, floors, run = [], [], mixture_chains.run

    def counted(data, state, extra, sweeps, rng):
        seen.append(extra)
        floors.append(data.floor)
        assert (state.sigma > data.floor).all()
        run(data, state, extra, sweeps, rng)

    monkeypatch.setattr(mixture_chains, "run", counted)
    sampled(data, tune=4, cores=1)
    by_chain = np.reshape(seen[:12], (4, 3)).T  # a step of each in turn
    for extra, occupied in zip(by_chain, (3, 2, 1), strict=True):
        np.testing.assert_array_equal(extra, added_to_shapes(3, occupied, 4))
    assert seen[12:] == [0] * 15
    wide = mixture_chains.WIDE * mixture_chains.residual_sd(data)
    assert wide > data.floor
    assert floors == [data.floor, wide, wide] * 3 + [data.floor] * (3 + 15)


def test_residual_sd():
    rng = np.random.default_rng(1)
    X, Z = np.column_stack([np.ones(9), rng.normal(size=9)]), rng.normal(size=(9, 1))
    y = rng.normal(size=9)
    design = np.column_stack([X, Z])
    left = y - design @ np.linalg.solve(design.T @ design, design.T @ y)
    data = Records(y, X, np.ones(9), 0.05, Z)
    assert mixture_chains.residual_sd(data) == pytest.approx(np.sqrt(np.mean(left**2)))


def test_a_floor_that_is_wide_already_stays(data):
    wide = data._replace(floor=10.0)
    assert (drawn(wide, tune=4)["sigma"] > 10).all()
