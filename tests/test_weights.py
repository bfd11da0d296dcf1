import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
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
    (["high"], "risk must be numbers; got ['high']"),
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
        (["low"], "weights must be numbers; got ['low']"),
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


# --- Matched scalar weight ------------------------------------------------------------

SETTINGS = {"draws": 40, "tune": 30, "chains": 3, "random_seed": 17}
N = 5


class FakeSynthesizer:
    """Releases values that say under which weight, or at which step, they were drawn."""

    def __init__(self):
        self.y = np.arange(N)
        self.fits = []
        self.draws = []

    def fit(self, weights=None, progressbar=True, **settings):
        self.fits.append((weights, progressbar, settings))
        return SimpleNamespace(
            attrs={**settings, "model": "fake"}, weight=weights[0], step=len(self.fits)
        )

    def synthesize(self, fit, n_datasets=20, random_seed=1, **settings):
        self.draws.append((fit, n_datasets, random_seed))
        self.settings = settings
        return np.full((n_datasets, N), [fit.weight] * N) + 10 * fit.step


UNWEIGHTED = SimpleNamespace(attrs={**SETTINGS, "model": "fake"}, weight=1.0, step=0)
# Their mean is 0: the file-level risk is the mean of the records' risks.
SPREAD = np.array([-0.2, -0.1, 0, 0.1, 0.2])


def risk_by_weight(response):
    return lambda synthetic: response(synthetic[0, 0] % 10) + SPREAD


def risk_by_step(risks):
    return lambda synthetic: risks[int(synthetic[0, 0] // 10)] + SPREAD


def match(risk, target, synthesizer=None, **settings):
    return pp.match_scalar_weight(
        synthesizer or FakeSynthesizer(), UNWEIGHTED, risk, target, **settings
    )


@pytest.mark.parametrize(
    ("response", "target", "weight"),
    [
        (lambda w: 0.8 * w, 0.2, 0.25),
        (lambda w: 0.8 * w**2, 0.2, 0.5),
        (lambda w: 0.6 * w**3, 0.075, 0.5),
        (lambda w: 0.9 * w**0.5, 0.3, 1 / 9),
        (lambda w: 1 - math.exp(-5 * w), 0.5, math.log(2) / 5),
        (lambda w: 0.3 + 0.5 * w, 0.5, 0.4),
    ],
)
def test_matched_weight(response, target, weight):
    found = match(risk_by_weight(response), target, tolerance=1e-9, max_steps=200)
    assert found.constant == pytest.approx(weight, abs=1e-8)
    assert found.fit.weight == found.constant
    assert abs(found.path.difference.iloc[-1]) < 1e-9
    assert (found.path.difference.iloc[:-1].abs() >= 1e-9).all()


def test_matched_weight_by_hand():
    # Lines from (0, 0) and (1/4, 1/16) to (1, 1), and from (2/5, 4/25) to (1, 5/8),
    # half of its distance having been taken away, meet 1/4 at these weights.
    found = match(risk_by_weight(lambda w: w**2), 0.25, tolerance=0.04)
    np.testing.assert_allclose(found.path.constant, [1 / 4, 2 / 5, 16 / 31], rtol=1e-12)
    np.testing.assert_allclose(
        found.path.found, np.square(found.path.constant), rtol=1e-12
    )


def test_matched_weight_by_hand_from_above():
    # Lines from (0, 0) to (1, 1) and (1/4, 1/2), and from (0, 1/8), half of the distance
    # having been taken away, to (1/8, 8^-1/2), meet 1/4 at these weights.
    with pytest.warns(UserWarning, match="no step"):
        found = match(risk_by_weight(lambda w: w**0.5), 0.25, max_steps=3)
    np.testing.assert_allclose(
        found.path.constant, [1 / 4, 1 / 8, 1 / (8**1.5 - 8)], rtol=1e-9
    )


def test_linear_risk_is_matched_in_one_step():
    found = match(risk_by_weight(lambda w: 0.8 * w), 0.2)
    assert found.constant == pytest.approx(0.25)
    assert len(found.path) == 1


def test_every_step_repeats_seed_and_settings():
    synthesizer = FakeSynthesizer()
    found = match(
        risk_by_weight(lambda w: 0.8 * w**2),
        0.2,
        synthesizer,
        tolerance=1e-3,
        n_datasets=7,
    )
    assert len(synthesizer.fits) == len(found.path) > 2
    for (weights, progressbar, settings), weight in zip(
        synthesizer.fits, found.path.constant, strict=True
    ):
        assert np.asarray(weights).tolist() == [weight] * N
        assert not progressbar
        assert settings == SETTINGS
    assert synthesizer.draws[0][0] is UNWEIGHTED
    assert {(m, seed) for _, m, seed in synthesizer.draws} == {(7, 17)}
    assert len(synthesizer.draws) == 1 + len(found.path)


def test_twenty_data_sets_by_default():
    synthesizer = FakeSynthesizer()
    found = match(risk_by_weight(lambda w: w), 0.5, synthesizer)
    assert found.synthetic.shape == (20, N)
    assert [m for _, m, _ in synthesizer.draws] == [20, 20]


def test_settings_of_synthesize_are_passed_on():
    synthesizer = FakeSynthesizer()
    match(risk_by_weight(lambda w: w), 0.5, synthesizer, allocation="weighted")
    assert synthesizer.settings == {"allocation": "weighted"}


def test_flat_risk_is_matched_in_few_steps():
    found = match(risk_by_weight(lambda w: 0.9 * w**0.1), 0.5, max_steps=12)
    assert abs(found.path.difference.iloc[-1]) <= 0.005


def test_path():
    found = match(risk_by_step([0.8, 0.6, 0.2, 0.41, 0.4]), 0.4, tolerance=0.02)
    assert list(found.path.columns) == ["weight", "risk", "difference"]
    assert found.path.index.tolist() == [0, 1, 2]
    assert found.path.index.name == "step"
    np.testing.assert_allclose(found.path.found, [0.6, 0.2, 0.41])
    np.testing.assert_allclose(found.path.difference, [0.2, -0.2, 0.01], atol=1e-12)
    # Halfway from 0 to 1; from 0, with risk 0, to that; halfway back to it.
    np.testing.assert_allclose(found.path.constant, [1 / 2, 1 / 3, 5 / 12])
    assert isinstance(found, pp.Calibration)


@pytest.mark.parametrize(("tolerance", "steps"), [(0.3, 1), (0.15, 2), (0.05, 3)])
def test_stops_at_the_tolerance(tolerance, steps):
    synthesizer = FakeSynthesizer()
    risk = risk_by_step([0.8, 0.2, 0.5, 0.41, 0.4])
    found = match(risk, 0.4, synthesizer, tolerance=tolerance)
    assert len(found.path) == len(synthesizer.fits) == steps
    assert found.fit.step == steps


def test_default_tolerance():
    assert len(match(risk_by_step([0.8, 0.4061, 0.396, 0.4]), 0.4).path) == 2


def test_difference_as_large_as_the_tolerance_is_within_it():
    found = match(
        lambda z: np.array([[1, 0.75, 0.5][int(z[0, 0] // 10)]]), 0.5, tolerance=0.25
    )
    assert len(found.path) == 1


def test_best_step_is_returned():
    with pytest.warns(UserWarning, match="no step came within") as caught:
        found = match(risk_by_step([0.8, 0.6, 0.42, 0.37, 0.5, 0.45]), 0.4, max_steps=5)
    assert len(found.path) == 5
    assert found.fit.step == 2
    assert found.constant == found.path.constant[1] == found.fit.weight
    np.testing.assert_array_equal(found.weights, np.full(N, found.constant))
    assert str(caught[0].message) == (
        "no step came within tolerance 0.005 of the target 0.4; the nearest of 5 is 0.42"
    )
    assert [warning.filename for warning in caught] == [__file__]


def test_best_step_may_be_below_the_target():
    with pytest.warns(UserWarning, match=r"0\.4; the nearest of 3 is 0\.39$"):
        found = match(risk_by_step([0.8, 0.7, 0.39, 0.5]), 0.4, max_steps=3)
    assert found.fit.step == 2


def test_step_cap_is_ten_by_default():
    synthesizer = FakeSynthesizer()
    with pytest.warns(UserWarning, match="nearest of 10"):
        match(risk_by_step([0.8] + [0.6] * 10), 0.4, synthesizer)
    assert len(synthesizer.fits) == 10


@pytest.mark.parametrize("target", [0, -0.1, 0.5, 0.7, np.nan, None, "low"])
def test_target_errors(target):
    synthesizer = FakeSynthesizer()
    text = f"target must be a finite number in (0, 0.5); got {target!r}"
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        match(risk_by_weight(lambda w: 0.5 * w), target, synthesizer)
    assert not synthesizer.fits


@pytest.mark.parametrize("tolerance", [0, -0.1, np.nan, np.inf, None, "small"])
def test_tolerance_errors(tolerance):
    synthesizer = FakeSynthesizer()
    text = f"tolerance must be a finite number in (0, inf]; got {tolerance!r}"
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        match(risk_by_weight(lambda w: w), 0.5, synthesizer, tolerance=tolerance)
    assert not synthesizer.fits


@pytest.mark.parametrize("steps", [0, -1, 1.5, None, "many", True])
def test_step_cap_errors(steps):
    synthesizer = FakeSynthesizer()
    text = f"max_steps must be a whole number of at least 1; got {steps!r}"
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        match(risk_by_weight(lambda w: w), 0.5, synthesizer, max_steps=steps)
    assert not synthesizer.fits


@pytest.mark.parametrize("risks", [[np.nan, 0.4], [0.8, np.nan]])
def test_missing_risk(risks):
    with pytest.raises(ValueError, match=r"risk.* nan"):
        match(risk_by_step(risks), 0.4, max_steps=1)


@pytest.mark.filterwarnings("ignore::pseudopost.ConvergenceWarning")
def test_matched_weight_of_a_real_synthesizer():
    y = pp.datasets.negative_binomial_mixture(150, random_seed=1)
    synthesizer = pp.NegativeBinomialSynthesizer(y)
    fit = synthesizer.fit(draws=200, tune=300, random_seed=1)

    def risk(synthetic):
        return pp.identification_risk(y, synthetic)

    start = risk(synthesizer.synthesize(fit, random_seed=1)).mean()
    found = pp.match_scalar_weight(
        synthesizer, fit, risk, start / 2, tolerance=0.02, max_steps=20
    )
    assert 0 < found.constant < 1
    assert abs(risk(found.synthetic).mean() - start / 2) < 0.02
    weights = found.fit["constant_data"]["weights"]
    assert (weights == found.constant).all()
    again = synthesizer.synthesize(found.fit, 20, fit.attrs["random_seed"])
    np.testing.assert_array_equal(found.synthetic, again)
