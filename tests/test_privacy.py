import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from draws import (
    EXTREME,
    LOG_LIKELIHOOD,
    TO_MATRIX,
    TO_VECTOR,
    matrices,
    message,
    weighted,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import logsumexp

import pseudopost as pp


class TestLipschitzBounds:
    def test_by_hand(self):
        np.testing.assert_array_equal(pp.lipschitz_bounds(LOG_LIKELIHOOD), [3, 4, 5])

    def test_by_hand_with_weights(self):
        bounds = pp.lipschitz_bounds(LOG_LIKELIHOOD, [0.5, 1, 0.2])
        np.testing.assert_allclose(bounds, [1.5, 4, 1], rtol=1e-15)

    @given(matrices(EXTREME))
    def test_sign_does_not_matter(self, log_likelihood):
        np.testing.assert_array_equal(
            pp.lipschitz_bounds(log_likelihood), pp.lipschitz_bounds(-log_likelihood)
        )

    @given(matrices(EXTREME))
    def test_is_the_largest_absolute_value(self, log_likelihood):
        bounds = pp.lipschitz_bounds(log_likelihood)
        assert bounds.tolist() == [
            max(map(abs, record)) for record in log_likelihood.T.tolist()
        ]

    @given(weighted(EXTREME, st.floats(0, 1)))
    def test_weights_never_raise_it(self, case):
        log_likelihood, weights = case
        bounds = pp.lipschitz_bounds(log_likelihood, weights)
        plain = pp.lipschitz_bounds(log_likelihood)
        assert (bounds >= 0).all()
        assert (bounds <= plain).all()
        assert pp.epsilon(bounds / 2) <= pp.epsilon(plain / 2)

    @given(matrices(EXTREME), st.integers(1, 6))
    def test_more_draws_never_lower_it(self, log_likelihood, first):
        assert (
            pp.lipschitz_bounds(log_likelihood[:first])
            <= pp.lipschitz_bounds(log_likelihood)
        ).all()

    @pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan])
    @pytest.mark.parametrize("draw", [0, 1])
    def test_not_finite(self, value, draw):
        log_likelihood = LOG_LIKELIHOOD.copy()
        log_likelihood[draw, 1] = value
        np.testing.assert_array_equal(
            pp.lipschitz_bounds(log_likelihood), [3, np.inf, 5]
        )
        np.testing.assert_array_equal(
            pp.lipschitz_bounds(log_likelihood, [1, 0.5, 0]), [3, np.inf, 0]
        )
        np.testing.assert_array_equal(
            pp.lipschitz_bounds(log_likelihood, [1, 0, 1]), [3, 0, 5]
        )

    def test_weights_are_found_by_their_labels(self):
        labels = ["a", "b", "c"]
        log_likelihood = xr.DataArray(
            LOG_LIKELIHOOD[None], {"record": labels}, ("chain", "draw", "record")
        )
        weights = pd.Series([0.5, 1.0, 0.25], labels).iloc[[2, 0, 1]]
        for table in (log_likelihood, pd.DataFrame(LOG_LIKELIHOOD, columns=labels)):
            bounds = pp.lipschitz_bounds(table, weights)
            np.testing.assert_array_equal(bounds, [1.5, 4, 1.25])
            with pytest.raises(ValueError, match="weights must have the labels of log"):
                pp.lipschitz_bounds(table, weights.rename({"a": "d"}))

    @pytest.mark.parametrize("container", TO_MATRIX)
    @pytest.mark.parametrize("vector", TO_VECTOR)
    def test_containers(self, container, vector):
        bounds = pp.lipschitz_bounds(
            container(LOG_LIKELIHOOD), vector([0.5, 1.0, 0.25])
        )
        assert type(bounds) is np.ndarray
        np.testing.assert_array_equal(bounds, [1.5, 4, 1.25])

    @pytest.mark.parametrize(
        "dims",
        [
            ("chain", "draw", "record"),
            ("record", "draw", "chain"),
            ("draw", "record", "chain"),
        ],
    )
    def test_records_of_a_data_array_lie_along_their_dim(self, dims):
        values = np.random.default_rng(1).normal(size=(2, 5, 3))
        by_draw = xr.DataArray(values, dims=("chain", "draw", "record"))
        expected = pp.lipschitz_bounds(values.reshape(10, 3), [1, 0.5, 0])
        found = pp.lipschitz_bounds(by_draw.transpose(*dims), [1, 0.5, 0])
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)

    def test_one_draw_of_a_data_array(self):
        one = xr.DataArray([-1.0, 3.0], dims="record")
        np.testing.assert_array_equal(pp.lipschitz_bounds(one), [1, 3])

    def test_input_is_kept(self):
        log_likelihood = np.array([[np.nan, -1.0]])
        pp.lipschitz_bounds(log_likelihood, [0, 1])
        np.testing.assert_array_equal(log_likelihood, [[np.nan, -1]])


@pytest.mark.parametrize("function", [pp.lipschitz_bounds, pp.lipschitz_weights])
class TestLogLikelihood:
    @pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (0, 3), (3, 0)])
    def test_shape(self, function, shape):
        with pytest.raises(
            ValueError,
            match=message(f"log_likelihood must have shape (S, n); got {shape}"),
        ):
            function(np.zeros(shape))

    def test_fit_that_has_not_converged(self, function):
        attrs = {"not_converged": "the fit has not converged: R-hat 1.50 above 1.05"}
        with pytest.warns(pp.ConvergenceWarning, match=r"R-hat 1\.50"):
            function(xr.DataArray(LOG_LIKELIHOOD, attrs=attrs))

    def test_fit_that_has_converged(self, function):
        function(xr.DataArray(LOG_LIKELIHOOD, attrs={"not_converged": ""}))


class TestEpsilon:
    @pytest.mark.parametrize(
        ("bounds", "value"),
        [([3, 1], 6), ([0], 0), ([0.25, 0.5], 1), ([1, np.inf], np.inf)],
    )
    @pytest.mark.parametrize("container", TO_VECTOR)
    def test_is_twice_the_largest(self, bounds, value, container):
        assert pp.epsilon(container(bounds)) == value

    def test_is_a_float(self):
        assert type(pp.epsilon(np.array([1, 2]))) is float

    @pytest.mark.parametrize(
        ("bounds", "text"),
        [
            ([1.0, -2.0], r"bounds must .*at least 0; .*-2"),
            ([1.0, np.nan], "bounds must .*nan"),
            ([], r"bounds must "),
            ([[1.0, 2.0]], r"bounds must "),
            (3.0, r"bounds must "),
            ([1.0, 1e308], r"bounds .*twice the largest"),
        ],
    )
    def test_errors(self, bounds, text):
        with pytest.raises(ValueError, match=text):
            pp.epsilon(bounds)


class TestWeightsArgument:
    @pytest.mark.parametrize(
        "function",
        [
            lambda w: pp.lipschitz_bounds(LOG_LIKELIHOOD, w),
            lambda w: pp.reweight(w, [1, 2, 3]),
        ],
    )
    @pytest.mark.parametrize(
        ("weights", "text"),
        [
            ([1, 1.3, 1], "weights must lie in [0, 1]; record 1 has 1.3"),
            ([1, 1, -0.1], "weights must lie in [0, 1]; record 2 has -0.1"),
            ([np.nan, 1, 1], "weights must be finite; record 0 has nan"),
            ([1, 1, np.inf], "weights must be finite; record 2 has inf"),
            ([], "weights must hold one value per record; got shape (0,)"),
            (0.5, "weights must hold one value per record; got shape ()"),
            (["a", "b", "c"], "weights must be numbers; record 0 has 'a'"),
        ],
    )
    def test_values(self, function, weights, text):
        with pytest.raises(ValueError, match=message(text)):
            function(weights)

    @pytest.mark.parametrize("n", [2, 4])
    def test_length(self, n):
        with pytest.raises(
            ValueError, match=f"weights must have length 3; got length {n}"
        ):
            pp.lipschitz_bounds(LOG_LIKELIHOOD, np.ones(n))


class TestLeaveOneOut:
    """With the weights of the other records kept."""

    @pytest.fixture(
        params=[
            ([3, 0, 7, 25], [0.9, 1.0, 0.5, 0.1]),
            ([4, 4, 4], [1, 1, 1]),
            ([60, 2], [0.3, 0]),
        ],
        ids=["skewed", "equal", "weight 0"],
    )
    def grid(self, request):
        y, weights = map(np.array, request.param)
        mu = np.linspace(0.5, 40, 400)
        log_prior = stats.gamma.logpdf(mu, 2, scale=5)
        return log_prior, stats.poisson.logpmf(y, mu[:, None]), weights

    def test_log_likelihood(self, grid):
        _, log_likelihood, weights = grid
        bounds = pp.lipschitz_bounds(log_likelihood, weights)
        total = log_likelihood @ weights
        for i, bound in enumerate(bounds):
            without = np.delete(log_likelihood, i, axis=1) @ np.delete(weights, i)
            # Rounding of the sums, not of the difference.
            assert np.abs(total - without).max() == pytest.approx(
                bound, abs=1e-12 * np.abs(total).max()
            )

    def test_posterior(self, grid):
        log_prior, log_likelihood, weights = grid
        bounds = pp.lipschitz_bounds(log_likelihood, weights)
        posterior = log_prior + log_likelihood @ weights
        posterior -= logsumexp(posterior)
        ratios = []
        for i in range(len(weights)):
            other = log_prior + np.delete(log_likelihood, i, axis=1) @ np.delete(
                weights, i
            )
            ratios.append(np.abs(posterior - (other - logsumexp(other))).max())
        assert (np.array(ratios) <= 2 * bounds + 1e-12).all()
        assert max(ratios) <= pp.epsilon(bounds)
        assert max(ratios) > pp.epsilon(bounds) / 4


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        (np.r_[np.ones(1000), -1], "bounds must be at least 0; record 1000 has -1"),
        ([1, np.nan], "bounds must not be missing; record 1 has nan"),
        (["a"], "bounds must be numbers; record 0 has 'a'"),
    ],
)
def test_epsilon_names_the_record(bounds, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        pp.epsilon(bounds)


def test_masked_draws_are_missing():
    draws = np.ma.array([[-1.0, -2.0]], mask=[[False, True]])
    np.testing.assert_array_equal(pp.lipschitz_bounds(draws), [1, np.inf])
