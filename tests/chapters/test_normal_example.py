"""The normal example of the chapters on the proofs: weights, exact probabilities."""

import normal_example
import numpy as np
import pytest
from scipy import stats

E = normal_example.example(100)


def test_example_meets_a2():
    e = normal_example.example(400, x=8, low=(0.2, 0.6), C1=2, C3=3)
    assert e.n_A == 40
    assert (e.smallest, e.largest_A) == (0.2, 0.6)
    assert e.largest == pytest.approx(1 - 3 * np.sqrt(0.02 / 360))
    assert e.xi2 == 0.02
    assert e.edge**2 + e.edge**4 / 4 == pytest.approx(0.02)
    assert e.C_star2 == 15


def test_uniform_measure_on_the_outer_half():
    pi, b = normal_example.Uniform(E), E.edge
    theta = np.linspace(b / 2, b, 20_001)
    S = 1.5 * pi.sd
    direct = np.exp(S * theta - pi.total * theta**2 / 2).mean()
    assert pi.log_integral(S) == pytest.approx(np.log(direct), abs=1e-4)
    assert pi.slope == pytest.approx(theta.mean())
    assert pi.loss == pytest.approx((theta**2).mean() / 2, rel=1e-3)
    assert 10 ** pi.sum_below(S) == pytest.approx(stats.norm.cdf(1.5))
    level = pi.log_integral(-pi.sd)
    assert 10 ** pi.integral_below(level) == pytest.approx(stats.norm.cdf(-1), rel=1e-4)


def test_process_has_the_unweighted_centre():
    pi = normal_example.Uniform(E)
    X = np.random.default_rng(1).normal(size=(20_000, 100))
    F = pi.slope * X - pi.loss
    process = F @ E.weights / 10 + 10 * pi.loss
    share = (process <= -0.2).mean()
    assert 10 ** pi.process_below(-0.2) == pytest.approx(share, abs=0.01)
    share = (F @ E.weights <= -1).mean()
    assert 10 ** pi.ratio_below(-1) == pytest.approx(share, abs=0.01)


def test_far_sum_adds_the_divergences():
    divergence = E.weights * 0.3**2 / 2
    A = np.arange(100) < E.n_A
    direct = 0.3 * divergence[A].sum() + (1 - E.largest) * divergence[~A].sum()
    assert normal_example.far_sum(E, 0.3) == pytest.approx(direct)


def test_probability_at_the_edge():
    draws = np.random.default_rng(1).normal(size=(20_000, 100))
    ratios = (E.edge * draws - E.edge**2 / 2) @ E.weights
    share = (ratios <= -0.1 * 2.1 * E.x).mean()
    assert normal_example.edge_probability(E, 0.1) == pytest.approx(share, abs=0.01)
    share = (ratios <= -0.2 * 1.5 * E.x).mean()
    exact = normal_example.edge_probability(E, 0.2, D=1, t=0.5)
    assert exact == pytest.approx(share, abs=0.01)


def test_printed_bound():
    e = normal_example.example(100, x=5, low=(0.5, 0.6), C1=2, C3=3)
    bound = normal_example.printed_bound(e, 0.6, D=3, t=0.5)
    assert bound == pytest.approx(1.25 * 15 / (0.36 * 2.5**2 * 5))


def test_every():
    assert normal_example.every([1 < 2, True])
    assert not normal_example.every([1 < 2, False])
