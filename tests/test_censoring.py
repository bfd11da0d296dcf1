import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import pseudopost as pp


def test_the_window_is_that_of_the_equation():
    ll = np.array([[-1.0, -2.0, -7.0], [-3.0, 0.5, -2.0]])
    found = pp.censored(ll, 1.5, weights=[1.0, 0.5, 0.25], reference=[-1.0, 0.0, -2.0])
    expected = [[0, -1, -1.25], [-1.5, 0, 0]]
    np.testing.assert_allclose(found, expected)


def test_no_cap_is_the_likelihood_but_for_a_constant():
    ll = stats.poisson.logpmf([3, 8], np.linspace(2, 12, 9)[:, None])
    found = pp.censored(ll, 1e6, weights=0.5, reference=ll.max(axis=0))
    np.testing.assert_allclose(found, 0.5 * (ll - ll.max(axis=0)))


def test_a_weight_of_zero_says_nothing():
    assert (pp.censored([-1e300, -5.0, 3.0], 1.0, weights=0.0) == 0).all()


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_the_promise_holds_for_every_neighbour_and_is_used_up(epsilon):
    mu = np.geomspace(0.5, 60, 400)
    ll = stats.poisson.logpmf(np.arange(80), mu[:, None])
    rng = np.random.default_rng(3)
    terms = pp.censored(ll, epsilon, rng.uniform(0.2, 1, 80), ll.max(axis=0))
    largest = 0
    for counts in (np.zeros(80), rng.poisson(0.4, 80), 50 * (np.arange(80) == 9)):
        own = terms @ counts
        own -= logsumexp(own)
        losses = terms - logsumexp(own[:, None] + terms, axis=0)
        assert np.abs(losses).max() <= epsilon + 1e-9
        largest = max(largest, np.abs(losses).max())
    assert largest > 0.9 * epsilon


class Censored(pp.Censored, pp.PoissonSynthesizer):
    pass


def test_synthesizer_samples_the_censored_posterior():
    y, weights = np.array([4, 6, 6, 9, 30]), np.array([0.5, 1, 1, 0.5, 1])
    mu = np.linspace(1e-3, 80, 200_001)
    ll = stats.poisson.logpmf(y, mu[:, None])
    reference = stats.poisson.logpmf(y, y)
    log_density = stats.gamma.logpdf(mu, 0.5, scale=1 / 0.1)
    log_density += pp.censored(ll, 2.0, weights, reference).sum(axis=1)
    mass = np.exp(log_density - logsumexp(log_density))
    mean = mass @ mu
    sd = np.sqrt(mass @ (mu - mean) ** 2)
    synthesizer = Censored(y, 0.5, 0.1, epsilon=2.0, reference=reference)
    fit = synthesizer.fit(weights, draws=2000, random_seed=1, progressbar=False)
    draws = fit["posterior"]["mu"]
    # About 2,000 effective draws of 4,000; four standard errors.
    assert abs(float(draws.mean()) - mean) < 4 * sd / np.sqrt(2000)
    assert float(draws.std()) == pytest.approx(sd, rel=0.1)
    # The uncapped posterior is elsewhere.
    assert abs((0.5 + weights @ y) / (0.1 + weights.sum()) - mean) > sd


def test_terms_of_a_synthesizer_stay_in_the_window():
    y = np.array([4, 6, 6, 9, 30] * 8)
    reference = stats.poisson.logpmf(y, y)
    synthesizer = Censored(y, 0.5, 0.1, epsilon=2.0, reference=reference)
    fit = synthesizer.fit(random_seed=1, progressbar=False)
    terms = synthesizer.record_terms(fit).to_numpy()
    assert terms.min() == -2
    assert terms.max() <= 0
    ll = synthesizer.log_likelihood(fit).to_numpy()
    np.testing.assert_allclose(terms, pp.censored(ll, 2.0, reference=reference))


def test_cap_and_reference_are_part_of_the_model():
    settings = ({}, {"epsilon": 2.0}, {"reference": [-1.0, -1.0, -2.0]})
    forms = {Censored([2, 4, 9], **{"epsilon": 1.0} | s)._fingerprint for s in settings}
    assert len(forms) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must"),
        ({"epsilon": np.inf}, "epsilon must"),
        ({"weights": [1.0, -0.5]}, r"weights must be 0 or more; got -0\.5"),
        ({"weights": [1.0, np.nan]}, "weights must"),
        ({"log_likelihood": "none"}, "log_likelihood must"),
        ({"reference": "none"}, "reference must"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    given = {"log_likelihood": [[-1.0, -2.0]], "epsilon": 1.0}
    with pytest.raises(ValueError, match=message):
        pp.censored(**given | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0}, "epsilon must"),
        ({"reference": [1.0, 2.0]}, r"reference must have shape \(\) or \(3,\)"),
        ({"reference": np.nan}, "reference must be finite"),
    ],
)
def test_wrong_settings_of_a_synthesizer_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Censored([2, 4, 9], **{"epsilon": 1.0} | change)


def test_a_reference_too_far_away_for_numbers_is_named():
    with pytest.raises(ValueError, match="reference must not be so far"):
        pp.censored([1e308], 1.0, weights=0.0, reference=-1e308)
    # Where the sum overflows and the weight is none, the cap says what is meant.
    assert pp.censored([-1e308], 1.0, weights=1.0, reference=1e308).tolist() == [-1.0]
