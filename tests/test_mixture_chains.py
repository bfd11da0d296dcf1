import threading

import numpy as np
import pytest
from mixtures import two_groups

from pseudopost import mixture_chains
from pseudopost.mixture_chains import added_to_shapes, occupied_at_start, sample
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


@pytest.fixture(scope="module")
def data():
    log_y, X, _ = two_groups()
    weights = np.random.default_rng(7).uniform(size=120)
    return Records(log_y, X, weights, 0.05)


def sampled(data, step=lambda: None, **changes):
    settings = {"K": 3, "draws": 5, "tune": 4, "chains": 3, "seed": 1, "cores": 2}
    return sample(data, step=step, **settings | changes)


def assert_equal(found, other):
    assert found.keys() == other.keys()
    for name in found:
        np.testing.assert_array_equal(found[name], other[name])


@pytest.mark.slow
def test_what_chains_return(data):
    found = sampled(data)
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
    assert_equal(sampled(data, cores=1), sampled(data, cores=2))


@pytest.mark.slow
def test_a_seed_determines_the_draws(data):
    first, again, other = (sampled(data, seed=seed) for seed in (1, 1, 2))
    assert_equal(first, again)
    assert not np.isin(first["gamma"], other["gamma"]).any()


@pytest.mark.slow
def test_chains_from_the_same_place_differ(data):
    assert len(np.unique(sampled(data, K=1)["gamma"])) == 15


@pytest.mark.slow
@pytest.mark.parametrize("tune", [0, 1])
def test_little_tuning_is_allowed(data, tune):
    assert sampled(data, tune=tune)["gamma"].shape == (3, 5)


@pytest.mark.slow
def test_every_draw_and_step_of_tuning_is_told(data):
    told = []
    sampled(data, lambda: told.append(1))
    assert len(told) == 3 * (5 + 4)


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("cores", [1, 2])
def test_an_exception_stops_all_chains(data, error, cores):
    told, before = [], threading.active_count()

    def step():
        told.append(1)
        if len(told) == 10:
            raise error

    with pytest.raises(error):
        sampled(data, step, draws=1_000_000, cores=cores)
    assert len(told) < 1000
    assert threading.active_count() <= before  # others may end meanwhile


@pytest.mark.slow
@pytest.mark.parametrize("at", [1.0, 0.5])
def test_sweeps_by_draw(data, monkeypatch, at):
    seen = []

    def run(data, state, extra, sweeps, rng):
        seen.append(sweeps)
        state.size[:] = 1

    monkeypatch.setattr(mixture_chains, "run", run)
    sampled(data._replace(weights=np.full(120, at)))
    assert seen == [16 if at < 1 else 50] * 27


@pytest.mark.slow
def test_help_is_given_before_the_first_draw_alone(data, monkeypatch):
    seen, run = [], mixture_chains.run

    def counted(data, state, extra, sweeps, rng):
        seen.append(extra)
        run(data, state, extra, sweeps, rng)

    monkeypatch.setattr(mixture_chains, "run", counted)
    sampled(data, tune=4, cores=1)
    three, two, one = np.reshape(seen, (3, 9))
    assert (three == 0).all()
    for extra, occupied in ((two, 2), (one, 1)):
        np.testing.assert_array_equal(extra[:4], added_to_shapes(3, occupied, 4))
        assert (extra[4:] == 0).all()
