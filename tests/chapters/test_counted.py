import counted
import numpy as np
import pytest
import xarray as xr
from scipy import stats


def test_shares_without_smoothing():
    found = counted.shares(np.array([3, 3, 5, 900]), width=1)
    assert len(found) == counted.LAST + 1
    assert found[[3, 5, counted.LAST]].tolist() == [0.5, 0.25, 0.25]
    assert found.sum() == 1


def test_shares_count_records_by_weight():
    y, weights = np.array([3, 3, 5]), np.array([0.5, 0.5, 1])
    assert counted.shares(y, weights, width=1)[[3, 5]].tolist() == [0.5, 0.5]
    smooth = counted.shares(np.array([100]), width=5)
    assert np.allclose(smooth[97:104], [0, 0.2, 0.2, 0.2, 0.2, 0.2, 0])


def test_predictive_is_the_mean_over_draws():
    dims = ("chain", "draw")
    draws = {
        "mu": (dims, np.full((2, 20), 90.0)),
        "phi": (dims, np.tile([[5.0], [20.0]], 20)),
    }
    found = counted.predictive({"posterior": xr.Dataset(draws)})
    expected = [stats.nbinom.pmf(80, phi, phi / (phi + 90)) for phi in (5, 20)]
    assert found[80] == pytest.approx(np.mean(expected))
