import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pseudopost.datasets import lognormal_mixture, negative_binomial_mixture

N = 200_000
SINGLE = {"mu": (50,), "phi": (4,), "shares": (1,)}
THREE = {"mu": (2, 30, 80), "phi": (0.5, 10, 3), "shares": (0.5, 0.3, 0.2)}
DEFAULT = {"mu": (100, 100), "phi": (5, 20), "shares": (0.2, 0.8)}
CASES = pytest.mark.parametrize(
    "options", [DEFAULT, SINGLE, THREE], ids=["default", "single", "three"]
)


def components(options):
    mu, phi = np.array(options["mu"]), np.array(options["phi"])
    return stats.nbinom(phi, phi / (phi + mu))


def cdf(options, k):
    return components(options).cdf(np.reshape(k, (-1, 1))) @ options["shares"]


@pytest.fixture(scope="module")
def large():
    return negative_binomial_mixture(N)


@pytest.mark.parametrize(
    ("options", "mean", "variance"),
    [
        # 100 + 0.2 * 100^2 / 5 + 0.8 * 100^2 / 20
        (DEFAULT, 100, 900),
        # 50 + 50^2 / 4
        (SINGLE, 50, 675),
    ],
)
def test_moments(options, mean, variance):
    y = negative_binomial_mixture(N, **options)
    assert y.mean() == pytest.approx(mean, abs=4 * np.sqrt(variance / N))
    fourth = np.mean((y - y.mean()) ** 4)
    assert y.var() == pytest.approx(
        variance, abs=4 * np.sqrt((fourth - variance**2) / N)
    )


@CASES
def test_distribution(options):
    y = negative_binomial_mixture(N, **options)
    k = np.arange(y.max() + 1)
    observed = np.searchsorted(np.sort(y), k, "right") / N
    # A larger distance has probability below 1e-6 (Dvoretzky-Kiefer-Wolfowitz-Massart).
    assert np.abs(observed - cdf(options, k)).max() < np.sqrt(np.log(2e6) / (2 * N))


def test_defaults(large):
    np.testing.assert_array_equal(large, negative_binomial_mixture(N, **DEFAULT))
    assert len(negative_binomial_mixture()) == 1000


@pytest.mark.parametrize(("level", "value"), [(0.15, 71), (0.5, 98), (0.9, 137)])
def test_quantiles(large, level, value):
    below, at = cdf(DEFAULT, [value - 1, value])
    assert below < level <= at
    # Four standard errors are at most 0.7 of a count.
    error = np.sqrt(level * (1 - level) / N) / (at - below)
    assert 4 * error < 0.7
    assert np.quantile(large, level) == pytest.approx(value, abs=1)


def test_dispersions_belong_to_their_shares():
    # With phi = 5 for 80%: 100 + 0.8 * 100^2 / 5 + 0.2 * 100^2 / 20.
    swapped = negative_binomial_mixture(N, phi=(20, 5))
    fourth = np.mean((swapped - swapped.mean()) ** 4)
    assert swapped.var() == pytest.approx(1800, abs=4 * np.sqrt((fourth - 1800**2) / N))


def test_component_with_share_zero():
    y = negative_binomial_mixture(2000, mu=(1, 1e6), phi=(5, 5), shares=(1, 0))
    assert y.max() < 100


@pytest.mark.parametrize("n", [1, 7])
def test_returns_counts(n):
    y = negative_binomial_mixture(n)
    assert y.shape == (n,)
    assert np.issubdtype(y.dtype, np.integer)


def test_seed():
    first, again, other = (
        negative_binomial_mixture(random_seed=seed) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"shares": (0.2, 0.7)}, r"shares must sum to 1; they sum to 0\.9$"),
        ({"shares": (0.5, 0.6)}, r"shares must sum to 1; they sum to 1\.1$"),
        (
            {"shares": (-0.5, 1.5)},
            re.escape("shares must lie in [0, 1]; record 0 has -0.5"),
        ),
        ({"shares": (1,)}, "mu must have length 1; got length 2"),
        ({"mu": (100,)}, "mu must have length 2; got length 1"),
        ({"phi": (5, 20, 30)}, "phi must have length 2; got length 3"),
        ({"phi": (5, 0)}, "phi must .*; record 1 has 0"),
        ({"phi": (-5, 1)}, "phi must .*; record 0 has -5"),
        ({"mu": (0, 100)}, "mu must .*; record 0 has 0"),
        ({"mu": (100, np.nan)}, "mu must be finite; record 1 has nan"),
        ({"phi": (np.inf, 5)}, "phi must be finite; record 0 has inf"),
        ({"n": 0}, "n must be a whole number of at least 1; got 0"),
        ({"n": 10.0}, r"n must be a whole number of at least 1; got 10\.0"),
        (
            {"random_seed": -1},
            "random_seed must be a whole number of at least 0; got -1",
        ),
    ],
)
def test_errors(options, text):
    with pytest.raises(ValueError, match=text):
        negative_binomial_mixture(**options)


def test_two_modes_and_a_long_tail():
    file = lognormal_mixture()
    assert file.shape == (1000, 16)
    log_value = np.log(file["value"].to_numpy())
    density = stats.gaussian_kde(log_value, 0.2)
    grid = np.linspace(-4, 2, 601)
    height = density(grid)
    peaks = np.exp(
        grid[1:-1][(height[1:-1] > height[:-2]) & (height[1:-1] > height[2:])]
    )
    assert len(peaks) == 2
    np.testing.assert_allclose(peaks, [0.1, 1], rtol=0.15)
    assert 2.5 < file["value"].max() < 5


def test_levels_and_patterns():
    file = lognormal_mixture()
    assert [file[f"x{j}"].nunique() for j in range(1, 16)] == [2] * 5 + [3] * 10
    sizes = file.groupby([f"x{j}" for j in range(1, 6)], observed=True).size()
    assert len(sizes) == 32
    assert sizes.between(15, 50).all()


@pytest.mark.parametrize("spread", [0.1, 0.35])
@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_variance_that_the_columns_explain(spread, noise):
    one = {"medians": [1, 1], "shares": [1, 0]}
    file = lognormal_mixture(20_000, spread=spread, noise=noise, **one)
    log_value = np.log(file["value"].to_numpy())
    X = pd.get_dummies(file.drop(columns="value"), dtype=float).to_numpy()
    fitted = X @ np.linalg.lstsq(X, log_value)[0]
    error = 4 / np.sqrt(len(file))
    np.testing.assert_allclose(fitted.std(), spread, rtol=0, atol=error * noise)
    residual = (log_value - fitted).std()
    np.testing.assert_allclose(residual, noise, rtol=error)


def test_seed_of_the_lognormal_mixture():
    same = [lognormal_mixture(50, random_seed=s) for s in (3, 3, 4)]
    pd.testing.assert_frame_equal(same[0], same[1])
    assert not same[0].equals(same[2])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n": 1}, "n must be a whole number of at least 2; got 1"),
        ({"medians": [1, 0]}, "medians must be at least"),
        ({"medians": [1, 2, 3]}, "medians must have length 2; got length 3"),
        ({"shares": [0.5, 0.6]}, "shares must sum to 1; they sum to 1.1"),
        ({"shares": [1.5, -0.5]}, "shares must lie in [0, 1]; record 0 has 1.5"),
        ({"spread": -1}, "spread must be a finite number in [0, inf]; got -1"),
        ({"noise": np.nan}, "noise must be a finite number in [0, inf]; got nan"),
    ],
)
def test_errors_of_the_lognormal_mixture(options, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        lognormal_mixture(**options)
