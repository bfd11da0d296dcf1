import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import pseudopost as pp


@pytest.fixture(scope="module")
def poisson():
    """Draws of a weighted Poisson mean, and the exact gamma under every guess."""
    rng = np.random.default_rng(1)
    y = np.r_[rng.poisson(20, size=40), 38]
    weights = rng.uniform(0.3, 1, size=len(y))
    weights[-1] = 0.8
    guesses = np.arange(10, 45, 4)

    def shape_and_rate(guess):
        # The rule for the weights looks at the guess, too.
        new = np.minimum(1, weights * (1 + 0.002 * (guess - y[-1])))
        return 0.5 + new[:-1] @ y[:-1] + new[-1] * guess, 0.001 + new.sum(), new

    A, B, _ = shape_and_rate(y[-1])
    mu = rng.gamma(A, 1 / B, size=60_000)
    change = np.empty((len(mu), len(guesses)))
    for g, guess in enumerate(guesses):
        *_, new = shape_and_rate(guess)
        file = np.r_[y[:-1], guess]
        change[:, g] = (
            stats.poisson.logpmf(file, mu[:, None]) @ new
            - stats.poisson.logpmf(y, mu[:, None]) @ weights
        )
    exact = [shape_and_rate(guess)[:2] for guess in guesses]
    return y, mu, guesses, change, exact, (A, B)


def test_evidence_of_draws_is_the_ratio_of_the_exact_densities(poisson):
    _, mu, _, change, exact, (A, B) = poisson
    found = pp.guess_evidence(change)
    assert found.shape == change.shape
    own = stats.gamma.logpdf(mu, A, scale=1 / B)
    for column, (shape, rate) in zip(found.T, exact, strict=True):
        expected = stats.gamma.logpdf(mu, shape, scale=1 / rate) - own
        error = 4 * np.exp(expected).std() / np.sqrt(len(mu))
        assert error < 0.1
        np.testing.assert_allclose(column, expected, atol=error)


def test_evidence_of_files_is_the_ratio_of_negative_binomials(poisson):
    y, mu, guesses, change, exact, own = poisson
    n, rng = len(y), np.random.default_rng(2)
    files = rng.poisson(rng.gamma(own[0], 1 / own[1], size=3)[:, None], size=(3, n))
    log_release = stats.poisson.logpmf(files[:, None], mu[:, None]).sum(axis=2)
    found = pp.guess_evidence(change, log_release)
    assert found.shape == (3, len(guesses))

    def log_density(total, shape, rate):
        return stats.nbinom.logpmf(total, shape, rate / (rate + n))

    for row, file in zip(found, files, strict=True):
        total = file.sum()
        expected = [log_density(total, *e) - log_density(total, *own) for e in exact]
        np.testing.assert_allclose(row, expected, atol=0.03)
        assert np.ptp(expected) > 0.1
    prior = stats.poisson.pmf(guesses, 20)
    posterior = pp.guess_probabilities(found, prior)
    expected = np.log(prior) + [
        sum(log_density(file.sum(), *e) for file in files) for e in exact
    ]
    np.testing.assert_allclose(
        posterior, np.exp(expected - logsumexp(expected)), atol=0.005
    )
    assert abs(posterior - prior / prior.sum()).max() > 0.01


def test_the_guess_that_is_the_truth_has_no_evidence(poisson):
    _, _, guesses, change, *_ = poisson
    (truth,) = np.flatnonzero(guesses == 38)
    np.testing.assert_allclose(change[:, truth], 0, atol=1e-9)
    np.testing.assert_allclose(pp.guess_evidence(change)[:, truth], 0, atol=1e-9)


def test_constants_of_files_do_not_matter(poisson):
    change = poisson[3][:2000]
    log_release = np.random.default_rng(1).normal(size=(2, 2000))
    one = pp.guess_evidence(change, log_release)
    np.testing.assert_allclose(
        pp.guess_evidence(change, log_release + np.array([[500], [-900]])),
        one,
        atol=1e-9,
    )
    # A single file may come as a vector; one that says nothing of the draws, nothing.
    np.testing.assert_allclose(pp.guess_evidence(change, log_release[0]), one[:1])
    np.testing.assert_allclose(pp.guess_evidence(change, np.zeros(2000)), 0, atol=0.01)


def test_probabilities_by_hand():
    evidence = np.log([[4, 1, 1], [1, 1, 2]])
    found = pp.guess_probabilities(evidence, [1, 2, 0])
    np.testing.assert_allclose(found, [2 / 3, 1 / 3, 0])
    np.testing.assert_allclose(pp.guess_probabilities([0, 0], [3, 1]), [0.75, 0.25])
    # Far apart, nothing over- or underflows.
    np.testing.assert_allclose(pp.guess_probabilities([0, 2000], [1, 1]), [0, 1])


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (lambda: pp.guess_evidence([1.0, 2.0]), r"change must have shape \(S, G\)"),
        (
            lambda: pp.guess_evidence(np.full((30, 2), np.inf)),
            "change must be finite; that of draw 0 and guess 0 is not",
        ),
        (lambda: pp.guess_evidence(np.zeros((24, 2))), "at least 25 draws; got 24"),
        (
            lambda: pp.guess_evidence(np.zeros((30, 2)), np.zeros((2, 29))),
            r"log_release must have shape \(m, 30\); got \(2, 29\)",
        ),
        (
            lambda: pp.guess_evidence(np.zeros((30, 2)), np.full(30, np.nan)),
            "log_release must be finite",
        ),
        (
            lambda: pp.guess_probabilities([[0, 0]], [1, 1, 1]),
            r"evidence must have shape \(m, 3\)",
        ),
        (lambda: pp.guess_probabilities([np.inf, 0], [1, 1]), "evidence must be fin"),
        (lambda: pp.guess_probabilities([0, 0], [0, 0]), "it is 0 for all"),
        (lambda: pp.guess_probabilities([0, 0], [1, -1]), "prior must be"),
    ],
)
def test_what_is_refused(use, text):
    with pytest.raises(ValueError, match=text):
        use()
