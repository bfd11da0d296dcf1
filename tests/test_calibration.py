import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from draws import TO_VECTOR, message

import pseudopost as pp


def calibration(problem=""):
    path = pd.DataFrame(
        {"constant": [0.95, 0.475, 0.7125], "difference": [0.3, -0.0123, -0.2]}
    )
    fit = xr.DataTree()
    fit.attrs["not_converged"] = problem
    weights = np.array([0.12345, 0.5, 1])
    return pp.Calibration(0.475, weights, fit, path)


def test_prints_three_lines_and_no_record():
    assert repr(calibration()).splitlines() == [
        "Calibration: constant 0.475, mean weight 0.541",
        "step 2 of 3, difference from the target -0.0123",
        "the fit has converged",
    ]
    assert "0.12345" not in str(calibration())


def test_prints_what_kept_a_fit_from_converging():
    problem = "the fit has not converged: R-hat 1.210 above 1.05"
    assert repr(calibration(problem)).splitlines()[2] == problem


# --- Constant of re-weighting -----------------------------------------------------------

START = np.array([0.2, 0.2, 0.2])  # Delta_i = (2, 4, 8)
SETTINGS = {"draws": 123, "tune": 45, "chains": 3, "random_seed": 67}


class FakeRefits:
    """Refits have `factor` times the log-likelihood -(10, 20, 40) of the first fit."""

    def __init__(self, factor=lambda weights: 1.0, start=START, attrs=None):
        self.factor, self.start, self.attrs = factor, np.array(start), attrs
        self.calls = []
        self.first = self._tree(self.start)

    def _tree(self, weights):
        constant = xr.Dataset({"weights": ("record", weights)})
        tree = xr.DataTree.from_dict({"constant_data": constant})
        tree.attrs = dict(SETTINGS, synthesizer="FakeRefits", not_converged="")
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
        fake = FakeRefits(lambda weights: factor)
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
        fake = FakeRefits(lambda weights: factor)
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
        fake = FakeRefits(twice)
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
            result = FakeRefits(twice).calibrate(tolerance=0.1, max_steps=1)
        assert len(result.path) == 1
        assert result.constant == 0.95

    def test_last_step_within_tolerance_does_not_warn(self):
        assert len(FakeRefits(twice).calibrate(tolerance=0.5, max_steps=2).path) == 2

    def test_difference_as_large_as_the_tolerance_is_within_it(self):
        # k = 1/2 gives 4, at a distance of exactly 4.
        result = FakeRefits().calibrate(tolerance=4, k=0.5)
        assert list(result.path["constant"]) == [0.5]

    def test_first_constant_of_one(self):
        assert list(FakeRefits().calibrate(k=1).path["difference"]) == [0]

    def test_a_constant_of_one_cannot_grow(self):
        with pytest.warns(UserWarning, match="the nearest of 1 is 4"):
            result = FakeRefits(lambda weights: 0.5).calibrate(k=1)
        assert list(result.path["constant"]) == [1]

    def test_clipped_weights(self):
        # Delta_i = (5, 10, 8) and k Delta = 9.5: 0.5 * 9.5 / 5 = 0.95, 0.475, 0.2375.
        result = FakeRefits(start=[0.5, 0.5, 0.2]).calibrate(tolerance=1)
        np.testing.assert_allclose(result.weights, [0.95, 0.475, 0.2375], rtol=1e-14)
        # Delta_i = (9, 2, 8) and k Delta = 8.55: 0.9 * 8.55 / 9 = 0.855, lowered.
        result = FakeRefits(start=[0.9, 0.1, 0.2]).calibrate(tolerance=1)
        np.testing.assert_allclose(result.weights, [0.855, 0.4275, 0.21375], rtol=1e-14)
        # Delta_i = (1, 20, 0) and k Delta = 19: 0.1 * 19 / 1 is clipped, 0 stays.
        result = FakeRefits(start=[0.1, 1, 0]).calibrate(tolerance=2)
        np.testing.assert_allclose(result.weights, [1, 0.95, 0], rtol=1e-14)

    def test_infinite_bound_is_too_large(self):
        fake = FakeRefits(lambda weights: np.inf if weights.max() > 0.6 else 2.0)
        result = fake.calibrate(tolerance=0.5)
        np.testing.assert_allclose(result.path["found"], [np.inf, 7.6], rtol=1e-14)
        assert result.constant == 0.475

    def test_all_weights_zero(self):
        result = FakeRefits(start=np.zeros(3)).calibrate()
        np.testing.assert_array_equal(result.weights, 0)
        assert list(result.path["difference"]) == [0]

    def test_refits_keep_settings_and_seed(self):
        fake = FakeRefits(twice)
        fake.calibrate(tolerance=0.5)
        assert [settings for _, settings in fake.calls] == [
            SETTINGS | {"progressbar": False}
        ] * 2

    @pytest.mark.parametrize("container", TO_VECTOR)
    def test_containers(self, container):
        fake = FakeRefits()
        result = pp.calibrate_reweighting(
            fake, fake.first, container(fake.start), tolerance=0.5
        )
        np.testing.assert_allclose(result.weights, [0.76, 0.38, 0.19], rtol=1e-14)

    def test_fit_that_has_not_converged(self):
        fake = FakeRefits(
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
        fake = FakeRefits()
        with pytest.raises(ValueError, match=message(text)):
            fake.calibrate(**options)
        assert fake.calls == []

    @pytest.mark.parametrize(
        "weights", [[0.2, 0.2, 0.3], [0.2, 0.2], [0.2, 0.2, 0.2, 0.2]]
    )
    def test_weights_of_another_fit(self, weights):
        fake = FakeRefits()
        with pytest.raises(
            ValueError,
            match="weights must be those that fit was made under; they differ",
        ):
            pp.calibrate_reweighting(fake, fake.first, weights)

    def test_weights_are_found_by_the_labels_of_the_fit(self):
        fake = FakeRefits()
        labels = ["a", "b", "c"]
        own = fake.first["constant_data"].to_dataset().assign_coords(record=labels)
        fake.first["constant_data"] = own
        weights = pd.Series(own["weights"].to_numpy(), labels)[["c", "a", "b"]]
        found = pp.calibrate_reweighting(fake, fake.first, weights, tolerance=100)
        assert found.weights.shape == (3,)
        with pytest.raises(ValueError, match="weights must have the labels of fit"):
            pp.calibrate_reweighting(fake, fake.first, weights.rename({"a": "d"}))

    def test_weights_out_of_range(self):
        fake = FakeRefits()
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


# --- Matched scalar weight ------------------------------------------------------------

SAMPLING = {"draws": 40, "tune": 30, "chains": 3, "random_seed": 17}
N = 5


class FakeFit(SimpleNamespace):
    """A fit under one weight."""

    def __getitem__(self, group):
        return {"weights": np.full(N, self.weight)}


class FakeReleases:
    """Releases values that say under which weight, or at which step, they were drawn."""

    def __init__(self):
        self.y = np.arange(N)
        self.fits = []
        self.draws = []

    def fit(self, weights=None, progressbar=True, **settings):
        self.fits.append((weights, progressbar, settings))
        return FakeFit(
            attrs={**settings, "model": "fake"}, weight=weights[0], step=len(self.fits)
        )

    def synthesize(self, fit, n_datasets=20, random_seed=1, **settings):
        self.draws.append((fit, n_datasets, random_seed))
        self.settings = settings
        return np.full((n_datasets, N), [fit.weight] * N) + 10 * fit.step


UNWEIGHTED = FakeFit(attrs={**SAMPLING, "model": "fake"}, weight=1.0, step=0)
# Their mean is 0: the file-level risk is the mean of the records' risks.
SPREAD = np.array([-0.2, -0.1, 0, 0.1, 0.2])


def risk_by_weight(response):
    return lambda synthetic: response(synthetic[0, 0] % 10) + SPREAD


def risk_by_step(risks):
    return lambda synthetic: risks[int(synthetic[0, 0] // 10)] + SPREAD


def match(risk, target, synthesizer=None, **settings):
    return pp.match_scalar_weight(
        synthesizer or FakeReleases(), UNWEIGHTED, risk, target, **settings
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


def test_matched_weight_from_a_first_guess_by_hand():
    # Lines from (1/2, 1/4) to (1, 1), and from (3/4, 9/16) to (1, 13/16), half of the
    # distance having been taken away, meet 5/8 at these weights.
    found = match(risk_by_weight(lambda w: w**2), 5 / 8, tolerance=0.04, first=0.5)
    np.testing.assert_allclose(found.path.constant, [1 / 2, 3 / 4, 13 / 16])


@pytest.mark.parametrize("first", [0, 1, 1.5, np.nan, "half"])
def test_first_weight_errors(first):
    text = f"first must be a finite number in (0, 1); got {first!r}"
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        match(risk_by_weight(lambda w: w), 0.5, first=first)


def test_linear_risk_is_matched_in_one_step():
    found = match(risk_by_weight(lambda w: 0.8 * w), 0.2)
    assert found.constant == pytest.approx(0.25)
    assert len(found.path) == 1


def test_every_step_repeats_seed_and_settings():
    synthesizer = FakeReleases()
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
        assert settings == SAMPLING
    assert synthesizer.draws[0][0] is UNWEIGHTED
    assert {(m, seed) for _, m, seed in synthesizer.draws} == {(7, 17)}
    assert len(synthesizer.draws) == 1 + len(found.path)


def test_twenty_data_sets_by_default():
    synthesizer = FakeReleases()
    match(risk_by_weight(lambda w: w), 0.5, synthesizer)
    assert [m for _, m, _ in synthesizer.draws] == [20, 20]


def test_settings_of_synthesize_are_passed_on():
    synthesizer = FakeReleases()
    match(risk_by_weight(lambda w: w), 0.5, synthesizer, allocation="weighted")
    assert synthesizer.settings == {"allocation": "weighted"}


def test_flat_risk_is_matched_in_few_steps():
    found = match(risk_by_weight(lambda w: 0.9 * w**0.1), 0.5, max_steps=12)
    assert abs(found.path.difference.iloc[-1]) <= 0.005


def test_path():
    found = match(risk_by_step([0.8, 0.6, 0.2, 0.41, 0.4]), 0.4, tolerance=0.02)
    columns = ["constant", "found", "difference", "mean_weight"]
    assert list(found.path.columns) == columns
    assert found.path.index.tolist() == [0, 1, 2]
    assert found.path.index.name == "step"
    np.testing.assert_allclose(found.path.found, [0.6, 0.2, 0.41])
    np.testing.assert_allclose(found.path.difference, [0.2, -0.2, 0.01], atol=1e-12)
    # Halfway from 0 to 1; from 0, with risk 0, to that; halfway back to it.
    np.testing.assert_allclose(found.path.constant, [1 / 2, 1 / 3, 5 / 12])
    np.testing.assert_allclose(found.path.mean_weight, found.path.constant, rtol=1e-14)
    assert isinstance(found, pp.Calibration)


@pytest.mark.parametrize(("tolerance", "steps"), [(0.3, 1), (0.15, 2), (0.05, 3)])
def test_stops_at_the_tolerance(tolerance, steps):
    synthesizer = FakeReleases()
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


def test_a_weighted_fit_is_refused():
    weighted = FakeFit(attrs=UNWEIGHTED.attrs, weight=0.25, step=0)
    with pytest.raises(
        ValueError, match=r"^fit must be unweighted; it has weights down to 0\.25$"
    ):
        pp.match_scalar_weight(FakeReleases(), weighted, lambda z: SPREAD, 0.2)


def test_step_cap_is_ten_by_default():
    synthesizer = FakeReleases()
    with pytest.warns(UserWarning, match="nearest of 10"):
        match(risk_by_step([0.8] + [0.6] * 10), 0.4, synthesizer)
    assert len(synthesizer.fits) == 10


@pytest.mark.parametrize("target", [0, -0.1, 0.5, 0.7, np.nan, None, "low"])
def test_target_errors(target):
    synthesizer = FakeReleases()
    text = f"target must be a finite number in (0, 0.5); got {target!r}"
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        match(risk_by_weight(lambda w: 0.5 * w), target, synthesizer)
    assert not synthesizer.fits


@pytest.mark.parametrize("tolerance", [0, -0.1, np.nan, np.inf, None, "small"])
def test_tolerance_errors(tolerance):
    synthesizer = FakeReleases()
    text = f"tolerance must be a finite number in (0, inf]; got {tolerance!r}"
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        match(risk_by_weight(lambda w: w), 0.5, synthesizer, tolerance=tolerance)
    assert not synthesizer.fits


@pytest.mark.parametrize("steps", [0, -1, 1.5, None, "many", True])
def test_step_cap_errors(steps):
    synthesizer = FakeReleases()
    text = f"max_steps must be a whole number of at least 1; got {steps!r}"
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        match(risk_by_weight(lambda w: w), 0.5, synthesizer, max_steps=steps)
    assert not synthesizer.fits


@pytest.mark.parametrize("risks", [[np.nan, 0.4], [0.8, np.nan]])
def test_missing_risk(risks):
    with pytest.raises(ValueError, match=r"risk.* nan"):
        match(risk_by_step(risks), 0.4, max_steps=1)


@pytest.mark.slow
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
    again = synthesizer.synthesize(found.fit, 20, fit.attrs["random_seed"])
    difference = risk(again).mean() - start / 2
    assert abs(difference) < 0.02
    assert found.path.difference.iloc[-1] == difference
    assert (found.weights == found.constant).all()
    assert (found.fit["constant_data"]["weights"] == found.constant).all()
