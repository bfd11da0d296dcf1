from types import SimpleNamespace

import intro_figures
import numpy as np
import pytest
from scipy import stats

BOUNDS = np.array([4.0, 10.0])


@pytest.mark.parametrize(
    ("largest", "weights", "holds"),
    [(4, 0.95, (True, True)), (6, 0.95, (False, True)), (4, 0.85, (True, False))],
)
def test_claims(largest, weights, holds):
    found = intro_figures.claims(BOUNDS, np.array([1, largest]), np.full(2, weights))
    assert tuple(found.values()) == holds


def test_numbers_of_the_text():
    found = intro_figures.text_on_idea(BOUNDS, np.array([4, 3]), np.array([1, 0.5]))
    assert list(found.values()) == [20, 8, 0.75, 0.4]


def test_predictive_averages_every_fifth_draw():
    mu, phi = np.linspace(80, 120, 10), np.linspace(5, 9, 10)
    posterior = {
        "mu": SimpleNamespace(to_numpy=lambda: mu.reshape(2, 5)),
        "phi": SimpleNamespace(to_numpy=lambda: phi.reshape(2, 5)),
    }
    grid = np.arange(60, 140)
    found = intro_figures.predictive({"posterior": posterior}, grid)
    p = phi / (phi + mu)
    each = [stats.nbinom.pmf(grid, phi[k], p[k]) for k in (0, 5)]
    assert np.allclose(found, np.mean(each, axis=0))
