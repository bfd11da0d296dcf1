"""What the chapters on consistency and contraction share."""

import large_files
import numpy as np
import pytest
from scipy import stats


def test_mean_and_error():
    mean, error = large_files.mean_and_error([1.0, 2.0, 6.0])
    assert (mean, error) == pytest.approx((3, np.sqrt(7 / 3)))
    assert large_files.standard_errors_off((3, 0.5), 1) == 4


def test_pseudo_posterior_on_a_grid():
    data, alpha = np.array([0.3, -1.0, 2.0]), np.array([0.2, 0.9, 0.5])
    grid = np.linspace(-8, 8, 16_001)
    log_mass = stats.norm.logpdf(grid[:, None], data) @ alpha
    mass = np.exp(log_mass + stats.norm.logpdf(grid, 0, 10))
    mass /= mass.sum()
    centre, sd = large_files.normal_posterior(data, alpha)
    assert centre == pytest.approx(mass @ grid)
    assert sd == pytest.approx(np.sqrt(mass @ (grid - centre) ** 2))
    centres, _ = large_files.normal_posterior(np.array([data, data + 1]), alpha)
    assert centres[0] == pytest.approx(centre)


def test_rate():
    assert large_files.xi(100) == pytest.approx(0.2146, abs=1e-4)


def test_weights_of_a2():
    values = np.random.default_rng(1).normal(size=90)
    weights = large_files.a2(values)
    low = weights == 0.5
    assert low.sum() == 10
    assert values[low].min() > values[~low].max()
    missing = np.sqrt(np.log(90) / 90 / 80)
    np.testing.assert_allclose(weights[~low], 1 - missing)
