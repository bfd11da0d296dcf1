import numpy as np
import pandas as pd
import pseudo_posterior
import pytest
import xarray as xr
from scipy import stats


@pytest.fixture
def draws():
    return np.random.default_rng(1).normal(10, 2, size=2000)


def test_moments_and_their_errors(draws):
    chains = ("chain", "draw"), draws.reshape(2, 1000)
    posterior = xr.Dataset({"mu": chains, "phi": (chains[0], 3 * chains[1])})
    fit = xr.DataTree.from_dict({"posterior": posterior})
    moments, errors = pseudo_posterior.sampled_moments(fit)
    assert moments[:2] == pytest.approx([draws.mean(), draws.std()])
    assert moments[2:] == pytest.approx([3 * draws.mean(), 3 * draws.std()])
    assert errors[0] == pytest.approx(2 / np.sqrt(2000), rel=0.1)
    assert errors[2:] == pytest.approx([3 * errors[0], 3 * errors[1]])


def test_gaps_are_in_monte_carlo_errors():
    rows = {("LW", "grid"): [1, 2], ("LW", "PyMC"): [1.1, 1.7]}
    agreement = pd.DataFrame(rows, index=["mu", "phi"]).T
    gaps = pseudo_posterior.largest_gaps(agreement, {"LW": [0.1, 0.1]})
    assert gaps == {"LW": pytest.approx(3)}


def test_gap_of_means(draws):
    gap = pseudo_posterior.largest_gap_of_means
    assert gap({"a": draws}, {"a": stats.norm(10, 2)}) < 4
    assert gap({"a": draws + 1}, {"a": stats.norm(10, 2)}) > 4
    shifted = {"a": stats.norm(draws.mean() + 0.2, 2)}
    assert gap({"a": draws}, shifted) == pytest.approx(0.1 * np.sqrt(2000), rel=0.1)


class Model:
    """A model whose log density is the sum of its values, and normal in log s."""

    def compile_logp(self):
        return lambda point: (
            stats.norm.logpdf(point["s_log__"])
            + point["log_mu"]
            + point["inverse_phi_log__"]
            if "s_log__" in point
            else sum(point.values())
        )


def test_models_are_compared_at_the_same_points():
    rng = np.random.default_rng(1)
    first, second = pseudo_posterior.log_densities(Model(), Model(), rng)
    points = np.random.default_rng(1).normal([4.5, -2.5], 0.5, (5, 2))
    assert second == pytest.approx(points.sum(axis=1))
    assert first == pytest.approx(second, abs=1e-8)


def test_observed_model_has_the_parameters_of_the_synthesizer():
    model = pseudo_posterior.observed_model(np.array([1, 2, 3]))
    names = {variable.name for variable in model.value_vars}
    assert names == {"s_log__", "log_mu", "inverse_phi_log__"}


def test_smooth_is_a_moving_average():
    shares = pseudo_posterior.smooth(np.array([100, 100, 100, 300]))
    assert len(shares) == 251
    assert shares[100] == shares[93] == pytest.approx(0.75 / 15)
    assert shares[92] == pytest.approx(0)
    assert shares[250] == pytest.approx(0.25 / 15)


def test_spread_is_within_files():
    files = np.array([[0, 2], [10, 14]])
    values = pseudo_posterior.spread_values(np.array([1, 3]), {"LW": files})
    assert values == {"sd-Data": 1, "sd-LW": 1.5}


def test_claims(draws):
    exact = {"a": stats.norm(10, 2)}
    equal, unequal = ([1.0, 2.0], [1.0, 2.0]), ([1.0, 2.0], [1.0, 2.1])

    def verdicts(gaps, exact, densities):
        checks = pseudo_posterior.claims(gaps, {"a": draws}, exact, densities)
        return [bool(holds) for _, holds in checks.values()]

    good = {"Unweighted": 2.0, "LW": 3.0}
    assert verdicts(good, exact, equal) == [True, True, True, True]
    assert verdicts(good | {"LW": 5}, exact, equal) == [True, False, True, True]
    assert verdicts(good | {"Unweighted": 5}, exact, equal) == [False] * 2 + [
        True,
        False,
    ]
    assert verdicts(good, exact, unequal) == [True, True, False, True]
    far = {"a": stats.norm(11, 2)}
    assert verdicts(good, far, equal) == [True, False, True, True]
