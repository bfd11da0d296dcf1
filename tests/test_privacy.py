import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import stats
from scipy.special import logsumexp

import pseudopost as pp

# Rows are draws, columns records. By hand: f = (3, 4, 5), so f~ = (0, 1/2, 1).
LOG_LIKELIHOOD = np.array([[-1.0, -4.0, -2.0], [-3.0, -2.0, -5.0]])
TO_MATRIX = [np.asarray, np.ndarray.tolist, pd.DataFrame, xr.DataArray]


def data_array(values):
    return xr.DataArray(list(values), dims="record")


TO_VECTOR = [np.asarray, list, tuple, pd.Series, data_array]

# Far enough from overflow and underflow for relative rounding errors to hold.
MODERATE = st.one_of(
    st.sampled_from([0.0, -1.0, 1.0, -2.0]),
    st.floats(1e-90, 1e90),
    st.floats(-1e90, -1e-90),
)
EXTREME = st.one_of(
    st.sampled_from([0.0, -0.0, -1.0, 1.0, 5e-324, -5e-324, 1e308, -1.7e308]),
    st.floats(-1.7e308, 1.7e308),
)
WEIGHT = st.one_of(st.sampled_from([0.0, 1.0, 0.5]), st.floats(1e-3, 1))


def matrices(elements):
    return arrays(
        float, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=elements
    )


@st.composite
def weighted(draw, elements=MODERATE, weight=WEIGHT):
    log_likelihood = draw(matrices(elements))
    return log_likelihood, draw(arrays(float, log_likelihood.shape[1], elements=weight))


def message(text):
    return re.escape(text) + "$"


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

    @pytest.mark.parametrize("container", TO_MATRIX)
    @pytest.mark.parametrize("vector", TO_VECTOR)
    def test_containers(self, container, vector):
        bounds = pp.lipschitz_bounds(
            container(LOG_LIKELIHOOD), vector([0.5, 1.0, 0.25])
        )
        assert type(bounds) is np.ndarray
        np.testing.assert_array_equal(bounds, [1.5, 4, 1.25])

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
        ],
    )
    def test_errors(self, bounds, text):
        with pytest.raises(ValueError, match=text):
            pp.epsilon(bounds)


class TestLipschitzWeights:
    @pytest.mark.parametrize(
        ("scale", "offset", "weights"),
        [
            (1, 0, [1, 0.5, 0]),
            (0.5, 0.25, [0.75, 0.5, 0.25]),
            (0.5, 0, [0.5, 0.25, 0]),
            (0, 0.5, [0.5, 0.5, 0.5]),
            (1, 0.25, [1, 0.75, 0.25]),
            (1, -0.25, [0.75, 0.25, 0]),
            (4, 0, [1, 1, 0]),
            (4, -1.5, [1, 0.5, 0]),
            (1, -2, [0, 0, 0]),
            (1, 2, [1, 1, 1]),
        ],
    )
    def test_by_hand(self, scale, offset, weights):
        ours = pp.lipschitz_weights(LOG_LIKELIHOOD, scale, offset)
        np.testing.assert_array_equal(ours, weights)
        np.testing.assert_array_equal(
            pp.lipschitz_weights(-LOG_LIKELIHOOD, scale, offset), weights
        )

    def test_density_above_one(self):
        # |f| = (2, 1, 4): the record with the density e^4 is the most risky one.
        weights = pp.lipschitz_weights([[2.0, -1.0, 4.0], [1.0, 0.5, -3.0]])
        np.testing.assert_allclose(weights, [2 / 3, 1, 0], rtol=1e-15)

    def test_algorithm_2(self):
        weights = pp.lipschitz_weights(LOG_LIKELIHOOD)
        # Steps 5 to 7, with other draws: |f| = (2, 6, 8), times (1, 1/2, 0).
        bounds = pp.lipschitz_bounds([[-2.0, -4.0, -8.0], [-1.0, -6.0, -7.0]], weights)
        np.testing.assert_array_equal(bounds, [2, 3, 0])
        assert pp.epsilon(bounds) == 6

    @given(matrices(EXTREME))
    def test_falls_from_one_to_zero(self, log_likelihood):
        bounds = pp.lipschitz_bounds(log_likelihood)
        weights = pp.lipschitz_weights(log_likelihood)
        assert (np.diff(weights[np.argsort(bounds)]) <= 0).all()
        assert (weights[bounds == bounds.min()] == 1).all()
        if bounds.max() > bounds.min():
            assert (weights[bounds == bounds.max()] == 0).all()

    @given(matrices(EXTREME), st.floats(0, 100), st.floats(-100, 100))
    def test_stays_in_range(self, log_likelihood, scale, offset):
        weights = pp.lipschitz_weights(log_likelihood, scale, offset)
        assert (weights >= 0).all()
        assert (weights <= 1).all()

    @pytest.mark.parametrize("value", [0.0, -3.0, 3.0, 5e-324, 1.7e308])
    @pytest.mark.parametrize("n", [1, 4])
    @pytest.mark.parametrize(
        ("scale", "offset", "weight"), [(1, 0, 1), (0.5, 0.25, 0.75), (1, -0.5, 0.5)]
    )
    def test_equal_bounds(self, value, n, scale, offset, weight):
        weights = pp.lipschitz_weights(np.full((2, n), value), scale, offset)
        np.testing.assert_array_equal(weights, np.full(n, weight))

    @pytest.mark.parametrize(
        ("scale", "offset", "weights"),
        [(1, 0, [1, 0, 0.5, 0, 0, 0]), (0.5, 0.5, [1, 0, 0.75, 0, 0, 0.5])],
    )
    def test_not_finite(self, scale, offset, weights):
        log_likelihood = [
            [-1, -np.inf, -2, np.nan, -1, -3],
            [-1, -1, -1, -1, np.inf, -1],
        ]
        with pytest.warns(
            UserWarning, match="not finite for 3 records, first 1; their weights are 0"
        ):
            ours = pp.lipschitz_weights(log_likelihood, scale, offset)
        np.testing.assert_array_equal(ours, weights)

    @pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan])
    def test_nothing_finite(self, value):
        with pytest.warns(UserWarning, match="not finite for 2 records, first 0"):
            weights = pp.lipschitz_weights([[value, -1], [-1, value]], 0.5, 0.5)
        np.testing.assert_array_equal(weights, [0, 0])

    @pytest.mark.parametrize("container", TO_MATRIX)
    def test_containers(self, container):
        weights = pp.lipschitz_weights(container(LOG_LIKELIHOOD))
        assert type(weights) is np.ndarray
        np.testing.assert_array_equal(weights, [1, 0.5, 0])

    @pytest.mark.parametrize(
        ("scale", "offset", "name"),
        [(-1, 0, "scale"), (np.nan, 0, "scale"), (1, None, "offset")],
    )
    def test_errors(self, scale, offset, name):
        value = scale if name == "scale" else offset
        with pytest.raises(
            ValueError, match=f"{name} must be a finite number in .*; got {value}$"
        ):
            pp.lipschitz_weights(LOG_LIKELIHOOD, scale, offset)


class TestCountWeights:
    # r = 0.2. Balls: [80, 120] holds 3 of 5, [96, 144] holds 2; [64, 96], [160, 240]
    # and [8, 12] hold only their own.
    y = (100, 80, 120, 200, 10)

    @pytest.mark.parametrize(
        ("scale", "offset", "weights"),
        [
            (1, 0, [0.6, 0.2, 0.4, 0.2, 0.2]),
            (0.5, 0.1, [0.4, 0.2, 0.3, 0.2, 0.2]),
            (2, 0, [1, 0.4, 0.8, 0.4, 0.4]),
            (1, -0.3, [0.3, 0, 0.1, 0, 0]),
            (1, 0.7, [1, 0.9, 1, 0.9, 0.9]),
        ],
    )
    @pytest.mark.parametrize("container", TO_VECTOR)
    def test_by_hand(self, scale, offset, weights, container):
        ours = pp.count_weights(container(self.y), 0.2, scale, offset)
        assert type(ours) is np.ndarray
        np.testing.assert_allclose(ours, weights, rtol=0, atol=1e-15)

    def test_default_radius(self):
        np.testing.assert_array_equal(
            pp.count_weights(self.y), pp.count_weights(self.y, 0.2)
        )

    def test_wider_ball(self):
        # r = 1: [0, 200] holds 5, [0, 160] 4, [0, 240] 5, [0, 400] 5, [0, 20] 1.
        np.testing.assert_allclose(
            pp.count_weights(self.y, 1), [1, 0.8, 1, 1, 0.2], rtol=0, atol=1e-15
        )

    def test_algorithm_3(self):
        weights = pp.count_weights(self.y, 0.2)
        # Steps 5 to 7: |f| = (5, 5, 10, 20, 15), times the weights above.
        bounds = pp.lipschitz_bounds(
            [[-5, -1, -10, -20, -15], [-1, -5, -1, -2, -3]], weights
        )
        np.testing.assert_allclose(bounds, [3, 1, 4, 4, 3], rtol=1e-14)
        assert pp.epsilon(bounds) == pytest.approx(8, rel=1e-14)

    @pytest.mark.parametrize("radius", [0, -0.2, np.inf, np.nan, None])
    def test_radius(self, radius):
        with pytest.raises(
            ValueError,
            match=message(f"radius must be a finite number in (0, inf]; got {radius}"),
        ):
            pp.count_weights(self.y, radius)

    def test_missing_value(self):
        with pytest.raises(ValueError, match="y must be finite; record 1 has nan"):
            pp.count_weights([1, np.nan])


class TestReweight:
    weights = (0.5, 0.75, 0.0, 0.25, 0.5, 0.0)
    bounds = (2.0, 1.0, 0.0, 4.0, 0.0, 3.0)

    @pytest.mark.parametrize(
        ("k", "new"),
        [
            # Delta = 4: 0.5 * 4 / 2 = 1, 0.75 * 4 / 1 = 3 is clipped, 0.25 * 4 / 4;
            # all times k.
            (1, [1, 1, 0, 0.25, 1, 0]),
            (0.5, [0.5, 1, 0, 0.125, 1, 0]),
            (0.25, [0.25, 0.75, 0, 0.0625, 1, 0]),
        ],
    )
    @pytest.mark.parametrize("container", TO_VECTOR)
    def test_by_hand(self, k, new, container):
        ours = pp.reweight(container(self.weights), container(self.bounds), k)
        assert type(ours) is np.ndarray
        np.testing.assert_array_equal(ours, new)

    def test_default_constant(self):
        np.testing.assert_array_equal(
            pp.reweight(self.weights, self.bounds),
            pp.reweight(self.weights, self.bounds, 0.95),
        )

    def test_all_bounds_zero(self):
        np.testing.assert_array_equal(
            pp.reweight([0.5, 0, 1], [0, 0, 0], 0.5), [1, 0, 1]
        )

    def test_one_record(self):
        np.testing.assert_array_equal(pp.reweight([0.5], [7], 0.5), [0.25])

    @given(weighted(), st.floats(0.01, 1))
    def test_frozen_draws(self, case, k):
        log_likelihood, weights = case
        before = pp.lipschitz_bounds(log_likelihood, weights)
        new = pp.reweight(weights, before, k)
        after = pp.lipschitz_bounds(log_likelihood, new)
        assert (new >= 0).all()
        assert (new <= 1).all()
        np.testing.assert_array_equal(new == 0, weights == 0)
        np.testing.assert_array_equal(new[(weights > 0) & (before == 0)], 1)
        limited = (new < 1) & (new > 0)
        np.testing.assert_allclose(after[limited], k * before.max(), rtol=1e-13)
        assert after.max() <= k * before.max() * (1 + 1e-13)

    @given(weighted(), st.floats(0.01, 1))
    def test_raised_where_the_bound_is_below_k_times_the_largest(self, case, k):
        log_likelihood, weights = case
        bounds = pp.lipschitz_bounds(log_likelihood, weights)
        limit = k * bounds.max()
        new = pp.reweight(weights, bounds, k)
        free = (
            (weights > 0)
            & (weights < 1)
            & ~np.isclose(bounds, limit, rtol=1e-12, atol=0)
        )
        np.testing.assert_array_equal((new > weights)[free], (bounds < limit)[free])
        np.testing.assert_array_equal((new < weights)[free], (bounds > limit)[free])

    @given(weighted(), st.floats(0.01, 1))
    def test_largest_gets_k_times_its_weight(self, case, k):
        log_likelihood, weights = case
        bounds = pp.lipschitz_bounds(log_likelihood, weights)
        assume(bounds.max() > 0)
        largest = bounds == bounds.max()
        np.testing.assert_allclose(
            pp.reweight(weights, bounds, k)[largest], k * weights[largest], rtol=1e-14
        )

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(1e-300, 1))
    def test_equal_bounds(self, weights, k):
        new = pp.reweight(weights, np.full(len(weights), 3.0), k)
        np.testing.assert_allclose(new, k * np.array(weights), rtol=1e-15, atol=1e-323)

    @pytest.mark.parametrize("k", [0, 1.1, -1, np.nan, None, "a"])
    def test_constant(self, k):
        with pytest.raises(
            ValueError, match=message(f"k must be a finite number in (0, 1]; got {k!r}")
        ):
            pp.reweight([0.5], [1], k)

    @pytest.mark.parametrize(
        ("bounds", "text"),
        [
            ([1, -1], "bounds must be at least 0; record 1 has -1"),
            ([np.nan, 1], "bounds must be finite; record 0 has nan"),
            ([1, np.inf], "bounds must be finite; record 1 has inf"),
            ([1, 2, 3], "bounds must have length 2; got length 3"),
            ([[1, 2]], "bounds must hold one value per record; got shape (1, 2)"),
        ],
    )
    def test_bounds(self, bounds, text):
        with pytest.raises(ValueError, match=message(text)):
            pp.reweight([0.5, 0.5], bounds)


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
            (["a", "b", "c"], "weights must be numbers; got ['a', 'b', 'c']"),
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


START = np.array([0.2, 0.2, 0.2])  # Delta_i = (2, 4, 8)
SETTINGS = {"draws": 123, "tune": 45, "chains": 3, "random_seed": 67}


class FakeSynthesizer:
    """Refits have `factor` times the log-likelihood -(10, 20, 40) of the first fit."""

    def __init__(self, factor=lambda weights: 1.0, start=START, attrs=None):
        self.factor, self.start, self.attrs = factor, np.array(start), attrs
        self.calls = []
        self.first = self._tree(self.start)

    def _tree(self, weights):
        constant = xr.Dataset({"weights": ("record", weights)})
        tree = xr.DataTree.from_dict({"constant_data": constant})
        tree.attrs = dict(SETTINGS, synthesizer="FakeSynthesizer", not_converged="")
        return tree

    def fit(self, weights, **settings):
        self.calls.append((weights.copy(), settings))
        return self._tree(weights)

    def log_likelihood(self, fit):
        weights = fit["constant_data"]["weights"].to_numpy()
        factor = 1.0 if np.array_equal(weights, self.start) else self.factor(weights)
        values = factor * np.array([[-10.0, -20, -40], [-1, -2, -3]])
        return xr.DataArray(values, dims=("draw", "record"), attrs=self.attrs)

    def record_terms(self, fit):
        return self.log_likelihood(fit) * fit["constant_data"]["weights"]

    def calibrate(self, **options):
        return pp.calibrate_reweighting(self, self.first, self.start, **options)


def twice(weights):
    return 2.0


class TestCalibrateReweighting:
    # Refits have bounds k * 8 * factor for every record, and mean weight
    # k * 0.2 * (4 + 2 + 1) / 3.
    @pytest.mark.parametrize(
        ("factor", "tolerance", "constants"),
        [
            (1, 0.5, [0.95]),
            (1, 0.25, [0.95, 0.975]),
            (1, 0.06, [0.95, 0.975, 0.9875, 0.99375]),
            (2, 0.5, [0.95, 0.475]),
            (2, 0.1, [0.95, 0.475, 0.7125, 0.59375, 0.534375, 0.5046875]),
        ],
    )
    def test_path(self, factor, tolerance, constants):
        fake = FakeSynthesizer(lambda weights: factor)
        result = fake.calibrate(tolerance=tolerance)
        k = np.array(constants)
        assert list(result.path.columns) == [
            "constant",
            "found",
            "difference",
            "mean_weight",
        ]
        assert result.path.index.name == "step"
        assert list(result.path.index) == list(range(len(k)))
        np.testing.assert_allclose(result.path["constant"], k, rtol=1e-15)
        np.testing.assert_allclose(result.path["found"], factor * 8 * k, rtol=1e-14)
        np.testing.assert_allclose(
            result.path["difference"], factor * 8 * k - 8, rtol=1e-12
        )
        np.testing.assert_allclose(result.path["mean_weight"], k * 1.4 / 3, rtol=1e-14)
        assert len(fake.calls) == len(k)

    @pytest.mark.parametrize(("factor", "tolerance"), [(1, 0.5), (1, 0.06), (2, 0.1)])
    def test_best_step(self, factor, tolerance):
        fake = FakeSynthesizer(lambda weights: factor)
        result = fake.calibrate(tolerance=tolerance)
        best = result.path["difference"].abs().idxmin()
        assert best == len(result.path) - 1
        assert result.constant == result.path["constant"][best]
        np.testing.assert_array_equal(result.weights, fake.calls[best][0])
        np.testing.assert_array_equal(
            result.weights, pp.reweight(fake.start, [2, 4, 8], result.constant)
        )
        np.testing.assert_array_equal(
            result.weights, result.fit["constant_data"]["weights"]
        )

    def test_nearest_step_when_none_is_near_enough(self):
        fake = FakeSynthesizer(twice)
        text = (
            "no step came within tolerance 0.1 of the target 8; the nearest of 4 is 7.6"
        )
        with pytest.warns(UserWarning, match=message(text)):
            result = fake.calibrate(tolerance=0.1, max_steps=4)
        np.testing.assert_allclose(
            result.path["found"], [15.2, 7.6, 11.4, 9.5], rtol=1e-14
        )
        assert result.constant == 0.475
        np.testing.assert_array_equal(result.weights, fake.calls[1][0])
        np.testing.assert_array_equal(
            result.fit["constant_data"]["weights"], fake.calls[1][0]
        )

    def test_cap_at_one_step(self):
        with pytest.warns(UserWarning, match=r"the nearest of 1 is 15\.2"):
            result = FakeSynthesizer(twice).calibrate(tolerance=0.1, max_steps=1)
        assert len(result.path) == 1
        assert result.constant == 0.95

    def test_last_step_within_tolerance_does_not_warn(self):
        assert (
            len(FakeSynthesizer(twice).calibrate(tolerance=0.5, max_steps=2).path) == 2
        )

    def test_difference_as_large_as_the_tolerance_is_within_it(self):
        # k = 1/2 gives 4, at a distance of exactly 4.
        result = FakeSynthesizer().calibrate(tolerance=4, k=0.5)
        assert list(result.path["constant"]) == [0.5]

    def test_first_constant_of_one(self):
        assert list(FakeSynthesizer().calibrate(k=1).path["difference"]) == [0]

    def test_a_constant_of_one_cannot_grow(self):
        with pytest.warns(UserWarning, match="the nearest of 1 is 4"):
            result = FakeSynthesizer(lambda weights: 0.5).calibrate(k=1)
        assert list(result.path["constant"]) == [1]

    def test_clipped_weights(self):
        # Delta_i = (5, 10, 8) and k Delta = 9.5: 0.5 * 9.5 / 5 = 0.95, 0.475, 0.2375.
        result = FakeSynthesizer(start=[0.5, 0.5, 0.2]).calibrate(tolerance=1)
        np.testing.assert_allclose(result.weights, [0.95, 0.475, 0.2375], rtol=1e-14)
        # Delta_i = (9, 2, 8) and k Delta = 8.55: 0.9 * 8.55 / 9 = 0.855, lowered.
        result = FakeSynthesizer(start=[0.9, 0.1, 0.2]).calibrate(tolerance=1)
        np.testing.assert_allclose(result.weights, [0.855, 0.4275, 0.21375], rtol=1e-14)
        # Delta_i = (1, 20, 0) and k Delta = 19: 0.1 * 19 / 1 is clipped, 0 stays.
        result = FakeSynthesizer(start=[0.1, 1, 0]).calibrate(tolerance=2)
        np.testing.assert_allclose(result.weights, [1, 0.95, 0], rtol=1e-14)

    def test_infinite_bound_is_too_large(self):
        fake = FakeSynthesizer(lambda weights: np.inf if weights.max() > 0.6 else 2.0)
        result = fake.calibrate(tolerance=0.5)
        np.testing.assert_allclose(result.path["found"], [np.inf, 7.6], rtol=1e-14)
        assert result.constant == 0.475

    def test_all_weights_zero(self):
        result = FakeSynthesizer(start=np.zeros(3)).calibrate()
        np.testing.assert_array_equal(result.weights, 0)
        assert list(result.path["difference"]) == [0]

    def test_refits_keep_settings_and_seed(self):
        fake = FakeSynthesizer(twice)
        fake.calibrate(tolerance=0.5)
        assert [settings for _, settings in fake.calls] == [
            SETTINGS | {"progressbar": False}
        ] * 2

    @pytest.mark.parametrize("container", TO_VECTOR)
    def test_containers(self, container):
        fake = FakeSynthesizer()
        result = pp.calibrate_reweighting(
            fake, fake.first, container(fake.start), tolerance=0.5
        )
        np.testing.assert_allclose(result.weights, [0.76, 0.38, 0.19], rtol=1e-14)

    def test_fit_that_has_not_converged(self):
        fake = FakeSynthesizer(
            attrs={
                "not_converged": "the fit has not converged: 3 divergent transitions"
            }
        )
        with pytest.warns(pp.ConvergenceWarning, match="3 divergent"):
            fake.calibrate(tolerance=0.5)

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"tolerance": 0}, "tolerance must be a finite number in (0, inf]; got 0"),
            (
                {"tolerance": -1},
                "tolerance must be a finite number in (0, inf]; got -1",
            ),
            (
                {"tolerance": np.nan},
                "tolerance must be a finite number in (0, inf]; got nan",
            ),
            ({"max_steps": 0}, "max_steps must be a whole number of at least 1; got 0"),
            (
                {"max_steps": 1.5},
                "max_steps must be a whole number of at least 1; got 1.5",
            ),
            (
                {"max_steps": True},
                "max_steps must be a whole number of at least 1; got True",
            ),
            ({"k": 0}, "k must be a finite number in (0, 1]; got 0"),
            ({"k": 1.1}, "k must be a finite number in (0, 1]; got 1.1"),
            ({"k": None}, "k must be a finite number in (0, 1]; got None"),
        ],
    )
    def test_numbers(self, options, text):
        fake = FakeSynthesizer()
        with pytest.raises(ValueError, match=message(text)):
            fake.calibrate(**options)
        assert fake.calls == []

    @pytest.mark.parametrize(
        "weights", [[0.2, 0.2, 0.3], [0.2, 0.2], [0.2, 0.2, 0.2, 0.2]]
    )
    def test_weights_of_another_fit(self, weights):
        fake = FakeSynthesizer()
        with pytest.raises(
            ValueError,
            match="weights must be those that fit was made under; they differ",
        ):
            pp.calibrate_reweighting(fake, fake.first, weights)

    def test_weights_out_of_range(self):
        fake = FakeSynthesizer()
        with pytest.raises(
            ValueError, match=message("weights must lie in [0, 1]; record 1 has 1.3")
        ):
            pp.calibrate_reweighting(fake, fake.first, [0.2, 1.3, 0.2])

    @pytest.mark.filterwarnings(
        "ignore::pseudopost.ConvergenceWarning", "ignore:no step came within"
    )
    def test_negative_binomial(self, synthesizer, fit):
        weights = pp.lipschitz_weights(synthesizer.log_likelihood(fit))
        weighted_fit = synthesizer.fit(
            weights, draws=200, tune=200, chains=1, random_seed=3
        )
        first, second = (
            pp.calibrate_reweighting(synthesizer, weighted_fit, weights, max_steps=3)
            for _ in range(2)
        )
        pd.testing.assert_frame_equal(first.path, second.path, check_exact=True)
        np.testing.assert_array_equal(first.weights, second.weights)
        best = first.path["difference"].abs().idxmin()
        before = pp.lipschitz_bounds(synthesizer.log_likelihood(weighted_fit), weights)
        after = pp.lipschitz_bounds(
            synthesizer.log_likelihood(first.fit), first.weights
        )
        assert after.max() == first.path["found"][best]
        assert after.max() - before.max() == first.path["difference"][best]
        assert first.constant == first.path["constant"][best]
        np.testing.assert_array_equal(
            first.weights, pp.reweight(weights, before, first.constant)
        )
        np.testing.assert_array_equal(
            first.fit["constant_data"]["weights"], first.weights
        )
        assert {
            name: first.fit.attrs[name]
            for name in ("draws", "tune", "chains", "random_seed")
        } == {
            "draws": 200,
            "tune": 200,
            "chains": 1,
            "random_seed": 3,
        }


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        (np.r_[np.ones(1000), -1], "bounds must be at least 0; record 1000 has -1"),
        ([1, np.nan], "bounds must not be missing; record 1 has nan"),
        (["a"], "bounds must be numbers; got ['a']"),
    ],
)
def test_epsilon_names_the_record(bounds, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        pp.epsilon(bounds)


def test_masked_draws_are_missing():
    draws = np.ma.array([[-1.0, -2.0]], mask=[[False, True]])
    np.testing.assert_array_equal(pp.lipschitz_bounds(draws), [1, np.inf])
