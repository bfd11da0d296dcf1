"""Draws that are resampled for other weights follow the pseudo posterior of these."""

import arviz as az
import numpy as np
import pytest
import xarray as xr
from exact import poisson_gamma
from test_mechanism import CAP, Capped, grid

import pseudopost as pp
from pseudopost.importance import resampled

COUNTS = np.append(np.random.default_rng(1).poisson(10, size=50), 60)
PRIOR = {"shape": 0.5, "rate": 0.001}
WEIGHTS = np.append(np.ones(50), 0.1)


def last(weight):
    return np.append(WEIGHTS[:-1], weight)


@pytest.fixture(scope="module")
def poisson():
    return pp.PoissonSynthesizer(COUNTS, **PRIOR)


@pytest.fixture(scope="module")
def fit(poisson):
    return poisson.fit(WEIGHTS, draws=10_000, chains=4, random_seed=1)


def assert_moments(draws, mean, sd):
    """Compare within 4 standard errors, of which copies have their part."""
    for power, expected in ((1, mean), (2, mean**2 + sd**2)):
        values = draws**power
        error = float(values.std()) / np.sqrt(float(az.ess(values)))
        assert abs(float(values.mean()) - expected) < 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("weight", [0.0, 0.2, 0.4])
def test_draws_follow_the_exact_posterior(poisson, fit, weight):
    near = poisson.resample(fit, last(weight), random_seed=1)
    exact = poisson_gamma(COUNTS, last(weight), **PRIOR)
    assert near["posterior"].sizes == fit["posterior"].sizes
    assert near.attrs["k_hat"] < 0.5
    assert_moments(near["posterior"]["mu"], *exact)
    before = poisson_gamma(COUNTS, WEIGHTS, **PRIOR)
    with pytest.raises(AssertionError):
        assert_moments(near["posterior"]["mu"], *before)


@pytest.mark.slow
def test_the_same_weights_leave_the_draws(poisson, fit):
    same = poisson.resample(fit, WEIGHTS, random_seed=1)
    assert same.attrs["k_hat"] == -np.inf
    xr.testing.assert_identical(
        same["posterior"].to_dataset(), fit["posterior"].to_dataset()
    )


@pytest.mark.slow
def test_what_a_resampled_fit_tells(poisson, fit):
    poisson.synthesize(fit, 2, random_seed=7)
    near = poisson.resample(fit, last(0.2), random_seed=5)
    np.testing.assert_array_equal(near["constant_data"]["weights"], last(0.2))
    np.testing.assert_array_equal(fit["constant_data"]["weights"], WEIGHTS)
    assert near.attrs["resampling_seed"] == 5
    assert near.attrs["random_seed"] == 1
    assert "synthesis_seeds" not in near.attrs
    assert near.attrs["not_converged"] == ""
    assert poisson.log_likelihood(near).shape == (4, 10_000, 51)
    assert poisson.synthesize(near, 3, random_seed=1).shape == (3, 51)
    assert repr(near).startswith("Fit of a PoissonSynthesizer")


@pytest.mark.slow
def test_a_seed_determines_what_is_chosen(poisson, fit):
    first, again, other = (
        poisson.resample(fit, last(0.2), random_seed=seed)["posterior"]["mu"]
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.slow
def test_weights_too_far_are_refused(poisson, fit):
    text = (
        r"weights must be near those of fit, k-hat at most 0\.70 for 40000 draws; got "
        r"[\d.]+: fit them"
    )
    with pytest.raises(ValueError, match=text):
        poisson.resample(fit, np.full(51, 0.01))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pseudopost.ConvergenceWarning")
def test_a_fit_of_few_draws_is_refused(poisson):
    fit = poisson.fit(WEIGHTS, draws=24, chains=1, random_seed=1)
    with pytest.raises(ValueError, match="at least 25 draws, of all chains; got 24"):
        poisson.resample(fit, last(0.2))


@pytest.mark.slow
def test_few_draws_that_are_left_are_said(poisson):
    fit = poisson.fit(WEIGHTS, draws=300, random_seed=1)
    with pytest.warns(pp.ConvergenceWarning, match="effective sample size"):
        near = poisson.resample(fit, last(0.6), random_seed=1)
    assert "effective sample size" in near.attrs["not_converged"]


@pytest.mark.slow
def test_every_group_of_a_mixture_goes_with_its_draws():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 1))
    y = np.exp(X[:, 0] + rng.normal(scale=0.3, size=60))
    mixture = pp.MixtureSynthesizer(y, X, n_components=2)
    fit = mixture.fit(np.full(60, 0.5), draws=200, tune=100, random_seed=1)
    near = mixture.resample(fit, np.full(60, 0.48), random_seed=1)
    assert (near["posterior"]["gamma"] != fit["posterior"]["gamma"]).any()
    xr.testing.assert_allclose(
        near["label_invariant"].to_dataset(),
        mixture._label_invariant(near["posterior"].to_dataset()),
    )
    places = {
        gamma: place
        for place, gamma in np.ndenumerate(fit["posterior"]["gamma"].to_numpy())
    }
    for place, gamma in np.ndenumerate(near["posterior"]["gamma"].to_numpy()):
        occupied = fit["sample_stats"]["occupied"].to_numpy()[places[gamma]]
        assert near["sample_stats"]["occupied"].to_numpy()[place] == occupied


@pytest.mark.slow
def test_ratios_are_those_of_the_mechanism():
    y = np.array([-3.0, 0, 0.5, 4])
    capped, new = Capped(y, CAP), np.array([0.5, 1, 0.8, 0.3])
    fit = capped.fit(np.full(4, 0.5), draws=10_000, chains=4, random_seed=1)
    near = capped.resample(fit, new, random_seed=1)
    points, probability = grid(y, new, CAP)
    mean = points @ probability
    sd = np.sqrt((points - mean) ** 2 @ probability)
    assert_moments(near["posterior"]["mean"], mean, sd)


def test_each_chain_is_chosen_from_in_its_order():
    log_ratio = np.random.default_rng(1).normal(scale=0.5, size=(3, 200))
    log_ratio[1] += 3  # of one chain, which says nothing of the draws in it
    chosen, _, _ = resampled(log_ratio, 1)
    assert (np.diff(chosen, axis=1) >= 0).all()
    for chain, ratio in zip(chosen, np.exp(log_ratio), strict=True):
        expected = 200 * ratio / ratio.sum()
        assert (abs(np.bincount(chain, minlength=200) - expected) < 1.5).all()


@pytest.mark.parametrize(("draws", "limit"), [(25, 0.5), (250, 2 / 3), (10_000, 0.7)])
def test_the_limit_depends_on_the_number_of_draws(draws, limit):
    log_ratio = np.random.default_rng(1).normal(size=(4, draws))
    assert resampled(log_ratio, 1)[2] == pytest.approx(limit)


def test_a_heavy_tail_is_known_by_its_shape():
    rng = np.random.default_rng(1)
    for shape in (0.2, 0.5, 0.9):  # of Pareto ratios, whose k is known
        _, k_hat, _ = resampled(-shape * np.log(rng.random((4, 25_000))), 1)
        assert k_hat == pytest.approx(shape, abs=0.1)


@pytest.mark.parametrize("added", [0, 3000, -3000])
def test_a_constant_of_the_log_ratio_does_not_matter(added):
    log_ratio = np.random.default_rng(1).normal(size=(2, 50))
    chosen, k_hat, limit = resampled(log_ratio, 1)
    again = resampled(log_ratio + added, 1)
    np.testing.assert_array_equal(again[0], chosen)
    assert again[1] == pytest.approx(k_hat)
    assert again[2] == limit == 1 - 1 / np.log10(100)


def test_equal_ratios_choose_each_draw_once():
    chosen, k_hat, _ = resampled(np.full((2, 50), 7.0), 1)
    np.testing.assert_array_equal(chosen, [np.arange(50)] * 2)
    assert k_hat == -np.inf


@pytest.mark.parametrize("far", [-2000.0, 2000.0])
def test_resampling_does_not_depend_on_a_constant(far):
    log_ratio = np.random.default_rng(1).normal(size=(2, 200))
    chosen, k_hat, _ = resampled(log_ratio, 1)
    again, k_hat_again, _ = resampled(log_ratio + far, 1)
    np.testing.assert_array_equal(again, chosen)
    assert k_hat_again == pytest.approx(k_hat, abs=1e-6)
