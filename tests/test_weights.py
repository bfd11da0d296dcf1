import math
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
from hypothesis import assume, given
from hypothesis import strategies as st

import pseudopost as pp

RISKS = st.lists(st.floats(0, 1), min_size=1, max_size=10)
SCALES = st.floats(0, 1e6)
SHIFTS = st.floats(-1e6, 1e6)


@pytest.mark.parametrize(
    ("scale", "shift", "weights"),
    [
        (1, 0, [1, 0.75, 0.5, 0]),
        (0.5, 0, [0.5, 0.375, 0.25, 0]),
        (0.5, 0.25, [0.75, 0.625, 0.5, 0.25]),
        (2, 0, [1, 1, 1, 0]),
        (2, -0.75, [1, 0.75, 0.25, 0]),
        (1, 0.5, [1, 1, 1, 0.5]),
        (1, -0.5, [0.5, 0.25, 0, 0]),
        (0, 0.5, [0.5, 0.5, 0.5, 0.5]),
        (0, 0, [0, 0, 0, 0]),
    ],
)
def test_by_hand(scale, shift, weights):
    np.testing.assert_array_equal(
        pp.marginal_weights([0, 0.25, 0.5, 1], scale, shift), weights
    )


@pytest.mark.parametrize(("risk", "weight"), [(0.7, 0.3), (0, 1), (10 / 13, 3 / 13)])
def test_marginal_weight_as_published(risk, weight):
    # P2, section 2.2.
    assert pp.marginal_weights([risk])[0] == pytest.approx(weight, abs=1e-15)


def test_attribute_risk_can_be_weighted_too():
    # P2, section 2.1: the share of close records, where that is the concern.
    y = [100, 110, 300, 310, 320]
    shares = [2 / 5, 2 / 5, 3 / 5, 3 / 5, 3 / 5]
    np.testing.assert_allclose(
        pp.marginal_weights(shares), pp.identification_risk(y, y), rtol=1e-15
    )


def test_defaults():
    np.testing.assert_array_equal(pp.marginal_weights([0, 0.25, 1]), [1, 0.75, 0])


@given(RISKS, SCALES, SHIFTS)
def test_formula(risk, scale, shift):
    expected = [min(1.0, max(0.0, scale * (1 - r) + shift)) for r in risk]
    assert pp.marginal_weights(risk, scale, shift).tolist() == expected


@given(RISKS, SCALES, SHIFTS)
def test_falls_with_risk(risk, scale, shift):
    weights = pp.marginal_weights(sorted(risk), scale, shift)
    assert (np.diff(weights) <= 0).all()


@pytest.mark.parametrize(
    "container", [np.asarray, list, tuple, pd.Series, xr.DataArray]
)
def test_containers(container):
    weights = pp.marginal_weights(container([0.25, 0.5]))
    assert type(weights) is np.ndarray
    np.testing.assert_array_equal(weights, [0.75, 0.5])


def test_input_is_kept():
    risk = np.array([0.25, 0.5])
    pp.marginal_weights(risk, 2, 1)
    np.testing.assert_array_equal(risk, [0.25, 0.5])


RISK_ERRORS = [
    ([0.5, 1.2], "risk must lie in [0, 1]; record 1 has 1.2"),
    ([-0.5], "risk must lie in [0, 1]; record 0 has -0.5"),
    ([0.5, np.nan], "risk must be finite; record 1 has nan"),
    ([np.inf], "risk must be finite; record 0 has inf"),
    ([None, 0.5], "risk must be finite; record 0 has nan"),
    ([], "risk must hold one value per record; got shape (0,)"),
    ([[0.5]], "risk must hold one value per record; got shape (1, 1)"),
    (["high"], "risk must be numbers; record 0 has 'high'"),
]


@pytest.mark.parametrize(("risk", "text"), RISK_ERRORS)
def test_risk_errors(risk, text):
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        pp.marginal_weights(risk)


@pytest.mark.parametrize("value", [-1, -1e-9, np.nan, np.inf, None])
def test_scale_errors(value):
    with pytest.raises(
        ValueError,
        match=re.escape(f"scale must be a finite number in [0, inf]; got {value}"),
    ):
        pp.marginal_weights([0.5], scale=value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, None])
def test_shift_errors(value):
    with pytest.raises(
        ValueError,
        match=re.escape(f"offset must be a finite number in [-inf, inf]; got {value}"),
    ):
        pp.marginal_weights([0.5], offset=value)


# --- Sigmoid weights ------------------------------------------------------------------


def sigmoid(risk, c_min=1.0, c_max=1.5, slope=0.8):
    factor = c_min + (c_max - c_min) / (1 + math.exp(-slope * (20 * risk - 10)))
    return max(0.0, min(1.0, 1 - factor * risk))


@pytest.mark.parametrize(
    ("risk", "weight"),
    # P1, Eq 9, with the factors 1.0002, 1.0090, 1.0656, 1.25, 1.4411 and 1.4998.
    [
        (0, 1),
        (0.25, 1 - 1.0090 * 0.25),
        (0.3818, 0.5932),
        (0.5, 0.375),
        (0.6258, 1 - 1.4411 * 0.6258),
        (0.679, 0),
        (1, 0),
    ],
)
def test_sigmoid_as_published(risk, weight):
    np.testing.assert_allclose(pp.sigmoid_weights([risk]), weight, rtol=0, atol=5e-5)


def test_sigmoid_is_zero_only_above_the_root():
    weights = pp.sigmoid_weights([0.67, 0.678, 0.679, 0.9])
    assert (weights[:2] > 0).all()
    assert weights[2:].tolist() == [0, 0]


@given(RISKS, st.floats(0, 3), st.floats(0, 3), st.floats(0.01, 30))
def test_sigmoid_formula(risk, c_min, rise, slope):
    weights = pp.sigmoid_weights(risk, c_min, c_min + rise, slope)
    expected = [sigmoid(r, c_min, c_min + rise, slope) for r in risk]
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-12)


@given(RISKS, st.floats(0, 100), st.floats(0, 100), st.floats(0.01, 1e6))
def test_sigmoid_falls_with_risk(risk, c_min, rise, slope):
    weights = pp.sigmoid_weights(sorted(risk), c_min, c_min + rise, slope)
    assert (np.diff(weights) <= 1e-12).all()
    assert (weights >= 0).all()
    assert (weights <= 1).all()


def test_sigmoid_augments_high_risks_more():
    risk = np.linspace(0.05, 0.65, 13)
    factor = (1 - pp.sigmoid_weights(risk)) / risk
    assert (np.diff(factor) > 0).all()
    assert factor.min() > 1
    assert factor.max() < 1.5
    assert (np.diff(pp.sigmoid_weights(risk)) < 0).all()


@given(RISKS, st.floats(0, 3), st.floats(0.01, 30))
def test_sigmoid_of_one_limit_is_linear(risk, c, slope):
    weights = pp.sigmoid_weights(risk, c, c, slope)
    expected = [max(0, 1 - c * r) for r in risk]
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-15)


def test_sigmoid_of_limit_one_is_marginal():
    risk = np.linspace(0, 1, 11)
    np.testing.assert_array_equal(
        pp.sigmoid_weights(risk, 1, 1), pp.marginal_weights(risk)
    )


def test_steep_sigmoid_is_a_step():
    weights = pp.sigmoid_weights([0.25, 0.4999, 0.5, 0.5001, 0.75], 0.5, 1, slope=1e6)
    expected = [0.875, 1 - 0.5 * 0.4999, 0.625, 1 - 0.5001, 0.25]
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-15)


def test_flat_sigmoid_is_linear():
    weights = pp.sigmoid_weights([0, 0.25, 0.5], 0.5, 1.5, slope=1e-12)
    np.testing.assert_allclose(weights, [1, 0.75, 0.5], rtol=0, atol=1e-9)


@pytest.mark.parametrize(("risk", "text"), RISK_ERRORS)
def test_sigmoid_risk_errors(risk, text):
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        pp.sigmoid_weights(risk)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"c_min": -0.1}, "c_min must be a finite number in [0, inf]; got -0.1"),
        ({"c_min": np.nan}, "c_min must be a finite number in [0, inf]; got nan"),
        ({"c_min": "one"}, "c_min must be a finite number in [0, inf]; got 'one'"),
        ({"c_max": 0.9}, "c_max must be a finite number in [1.0, inf]; got 0.9"),
        ({"c_min": 2}, "c_max must be a finite number in [2.0, inf]; got 1.5"),
        ({"c_max": np.inf}, "c_max must be a finite number in [1.0, inf]; got inf"),
        ({"slope": 0}, "slope must be a finite number in (0, inf]; got 0"),
        ({"slope": -1}, "slope must be a finite number in (0, inf]; got -1"),
        ({"slope": np.inf}, "slope must be a finite number in (0, inf]; got inf"),
        ({"slope": None}, "slope must be a finite number in (0, inf]; got None"),
    ],
)
def test_sigmoid_errors(arguments, text):
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        pp.sigmoid_weights([0.5], **arguments)


# --- Adjusted weights -----------------------------------------------------------------


@pytest.mark.parametrize(("weight", "scaled"), [(0.5, 0.75), (0.2, 0.3)])
def test_scaling_as_published(weight, scaled):
    # P2, section 3.4.1: c is 1.5.
    assert pp.adjust_weights([weight], 1.5)[0] == pytest.approx(scaled, abs=1e-15)


def test_shift_as_published():
    # P2, Figure 12: g is 0.1.
    weights = pp.adjust_weights([0, 0.25, 0.95, 1], offset=0.1)
    np.testing.assert_allclose(weights, [0.1, 0.35, 1, 1], rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("scale", "shift", "weights"),
    [
        (1, 0, [0, 0.25, 0.5, 1]),
        (2, 0, [0, 0.5, 1, 1]),
        (2, -0.75, [0, 0, 0.25, 1]),
        (0.5, 0.75, [0.75, 0.875, 1, 1]),
        (0, 0.5, [0.5] * 4),
        (0, -1, [0] * 4),
        (0, 2, [1] * 4),
    ],
)
def test_adjust_by_hand(scale, shift, weights):
    adjusted = pp.adjust_weights([0, 0.25, 0.5, 1], scale, shift)
    assert adjusted.tolist() == weights


@given(RISKS, SCALES, SHIFTS)
def test_adjust_formula(weights, scale, shift):
    expected = [min(1.0, max(0.0, scale * w + shift)) for w in weights]
    assert pp.adjust_weights(weights, scale, shift).tolist() == expected


@given(RISKS)
def test_adjust_does_nothing_by_default(weights):
    assert pp.adjust_weights(weights).tolist() == weights


@given(RISKS, SCALES, SHIFTS, st.floats(0, 10), st.floats(0, 1))
def test_adjust_is_monotone(weights, scale, shift, more_scale, more_shift):
    adjusted = pp.adjust_weights(sorted(weights), scale, shift)
    assert (np.diff(adjusted) >= 0).all()
    larger = pp.adjust_weights(sorted(weights), scale + more_scale, shift + more_shift)
    assert (larger >= adjusted).all()


@given(RISKS, SCALES, SHIFTS)
def test_marginal_weights_are_adjusted_ones(risk, scale, shift):
    np.testing.assert_array_equal(
        pp.marginal_weights(risk, scale, shift),
        pp.adjust_weights(1 - np.array(risk), scale, shift),
    )


def test_largest_scale_gives_every_record_weight_one():
    assert pp.adjust_weights([0, 1e-9, 0.5, 1], 1e12).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ([0.5, 1.3], "weights must lie in [0, 1]; record 1 has 1.3"),
        ([-0.1], "weights must lie in [0, 1]; record 0 has -0.1"),
        ([1, np.nan], "weights must be finite; record 1 has nan"),
        ([], "weights must hold one value per record; got shape (0,)"),
        ([[0.5]], "weights must hold one value per record; got shape (1, 1)"),
        (0.5, "weights must hold one value per record; got shape ()"),
        (["low"], "weights must be numbers; record 0 has 'low'"),
    ],
)
def test_adjust_errors(weights, text):
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        pp.adjust_weights(weights)


@pytest.mark.parametrize("value", [-1, -1e-9, np.nan, np.inf, None])
def test_adjust_scale_errors(value):
    text = f"scale must be a finite number in [0, inf]; got {value}"
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        pp.adjust_weights([0.5], scale=value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, None])
def test_adjust_shift_errors(value):
    text = f"offset must be a finite number in [-inf, inf]; got {value}"
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        pp.adjust_weights([0.5], offset=value)


# --- Pairwise weights; test_risk.py compares them with their definition ---------------


def test_pairwise_weights_are_of_the_data_by_default():
    y = [100, 110, 300, 310, 900]
    np.testing.assert_array_equal(pp.pairwise_weights(y), pp.pairwise_weights(y, y))
    np.testing.assert_array_equal(
        pp.pairwise_weights(y, None, 0.05, [1, 1, 2, 2, 2], 2, "signed"),
        pp.pairwise_weights(y, [y, y], 0.05, [1, 1, 2, 2, 2], 2, "signed"),
    )


def test_pairwise_weights_of_isolated_records():
    # With every record alone in its ball, IR is 1 - 2/n for pairs.
    y = 10.0 ** np.arange(8)
    np.testing.assert_allclose(pp.pairwise_weights(y), [2 / 8] * 8, rtol=1e-12)
    np.testing.assert_allclose(pp.pairwise_weights(y, order=3), [3 / 8] * 8, rtol=1e-12)
    np.testing.assert_allclose(pp.pairwise_weights(y, order=1), [1 / 8] * 8, rtol=1e-12)


def test_pairwise_weights_can_weight_a_likelihood():
    # Every record is in the ball of 80; sums of thirds leave a rounding error.
    y = [50, 50, 50, 50, 80, 100, 100, 110, 110, 110]
    patterns = [0, 0, 1, 1, 1, 1, 1, 1, 0, 0]
    weights = pp.pairwise_weights(y, radius=0.4, patterns=patterns)
    np.testing.assert_allclose(pp.adjust_weights(weights), weights, rtol=1e-12)


# --- Weights from log-likelihoods and counts, and from other weights ---------------------


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
    def test_bounds_are_found_by_their_labels(self):
        labels = ["a", "b", "c"]
        weights = pd.Series([0.4, 0.2, 0.5], labels)
        bounds = pd.Series([2, 4, 3], labels).iloc[[2, 0, 1]]
        np.testing.assert_array_equal(
            pp.reweight(weights, bounds), pp.reweight([0.4, 0.2, 0.5], [2, 4, 3])
        )
        with pytest.raises(ValueError, match="bounds must have the labels of weights"):
            pp.reweight(weights, bounds.rename({"a": "d"}))

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
