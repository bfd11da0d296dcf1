import numpy as np
import pytest
from scipy import stats

import pseudopost as pp


def test_limits_are_those_of_clopper_and_pearson():
    low = stats.binomtest(90, 100).proportion_ci(0.95, method="exact").low
    high = stats.binomtest(12, 110).proportion_ci(0.95, method="exact").high
    expected = max(np.log(low / high), np.log((1 - high) / (1 - low)))
    assert pp.epsilon_lower_bound(90, 100, 12, 110) == pytest.approx(expected)


def test_a_perfect_attack_says_as_much_as_its_trials_allow():
    for n in (100, 10_000):
        found = pp.epsilon_lower_bound(n, n, 0, n)
        assert found == pytest.approx(np.log(n / 3.7), abs=0.05)


def test_an_attack_that_guesses_says_nothing():
    assert pp.epsilon_lower_bound(50, 100, 50, 100) == 0
    assert pp.epsilon_lower_bound(0, 100, 100, 100) == 0
    assert pp.epsilon_lower_bound(0, 5, 0, 5) == 0
    assert pp.epsilon_lower_bound(5, 5, 5, 5) == 0


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_bound_holds_for_randomised_response(epsilon):
    # The answer is true with the largest probability that is epsilon-private.
    rng = np.random.default_rng(1)
    right = np.exp(epsilon) / (1 + np.exp(epsilon))
    n, repetitions = 400, 2000
    positives = rng.binomial(n, right, repetitions)
    false = rng.binomial(n, 1 - right, repetitions)
    found = np.array(
        [
            pp.epsilon_lower_bound(t, n, f, n)
            for t, f in zip(positives, false, strict=True)
        ]
    )
    # At least 95 in 100 times, within three standard errors; and not for nothing.
    assert (found > epsilon).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / repetitions)
    assert found.mean() > 0.6 * epsilon


def test_delta_is_taken_off_both_rates_of_success():
    # "In" with probability .3 if it is there and never if it is not: all is delta.
    assert pp.epsilon_lower_bound(300, 1000, 0, 1000) > 2
    assert pp.epsilon_lower_bound(300, 1000, 0, 1000, delta=0.3) == 0
    # The same the other way round.
    assert pp.epsilon_lower_bound(1000, 1000, 700, 1000) > 2
    assert pp.epsilon_lower_bound(1000, 1000, 700, 1000, delta=0.3) == 0


def test_more_confidence_says_less():
    bounds = [
        pp.epsilon_lower_bound(80, 100, 20, 100, confidence=c) for c in (0.5, 0.9)
    ]
    assert bounds[0] > bounds[1] > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"true_positives": 11}, "true_positives must"),
        ({"false_positives": -1}, "false_positives must"),
        ({"trials_with": 0}, "trials_with must"),
        ({"trials_without": 2.5}, "trials_without must"),
        ({"delta": 1.0}, "delta must"),
        ({"confidence": 1.0}, "confidence must"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    given = {
        "true_positives": 5,
        "trials_with": 10,
        "false_positives": 2,
        "trials_without": 10,
    }
    with pytest.raises(ValueError, match=message):
        pp.epsilon_lower_bound(**given | change)


def test_one_run_without_exceptions_is_a_limit_of_a_proportion():
    for right in (120, 150, 199, 200):
        low = stats.binomtest(right, 200).proportion_ci(0.9, method="exact").low
        found = pp.epsilon_lower_bound_one_run(right, 200, 300)
        assert found == pytest.approx(np.log(low / (1 - low)))


def test_a_perfect_run_says_as_much_as_its_guesses_allow():
    for r in (100, 10_000):
        found = pp.epsilon_lower_bound_one_run(r, r, r)
        assert found == pytest.approx(np.log(r / 3), abs=0.02)


def test_a_run_of_guesses_by_chance_says_nothing():
    for right, r in ((50, 100), (0, 100), (0, 1), (1, 1)):
        assert pp.epsilon_lower_bound_one_run(right, r, 100) == 0


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("delta", [0.0, 5e-4])
def test_one_run_holds_for_randomised_response_with_exceptions(epsilon, delta):
    # The largest chance of a right guess: an exception tells the truth.
    rng = np.random.default_rng(2)
    m, repetitions = 300, 2000
    right = delta + (1 - delta) * np.exp(epsilon) / (1 + np.exp(epsilon))
    correct, which = np.unique(rng.binomial(m, right, repetitions), return_inverse=True)
    bounds = [pp.epsilon_lower_bound_one_run(v, m, m, delta) for v in correct]
    found = np.array(bounds)[which]
    assert (found > epsilon).mean() < 0.05 + 3 * np.sqrt(0.05 * 0.95 / repetitions)
    assert found.mean() > 0.5 * epsilon


def test_exceptions_count_by_canary_and_not_by_guess():
    bounds = [pp.epsilon_lower_bound_one_run(90, 100, m, 1e-3) for m in (100, 1000)]
    assert pp.epsilon_lower_bound_one_run(90, 100, 1000) > bounds[0] > bounds[1] > 0
    # By hand: 3 right of 4 at epsilon = log 3, where a guess is right 3 times in 4.
    q, m, delta = 0.75, 5, 1e-2
    w = [stats.binom.pmf(k, 4, q) for k in range(5)]
    most = max(w[2], (w[2] + w[1]) / 2, (w[2] + w[1] + w[0]) / 3)
    chance = w[3] + w[4] + 2 * m * delta * most
    found = pp.epsilon_lower_bound_one_run(3, 4, m, delta, confidence=1 - chance)
    assert found == pytest.approx(np.log(3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"correct": 11}, "correct must"),
        ({"correct": -1}, "correct must"),
        ({"guesses": 21}, "guesses must"),
        ({"guesses": 0}, "guesses must"),
        ({"canaries": 9.5}, "canaries must"),
        ({"delta": 1.0}, "delta must"),
        ({"confidence": 0.0}, "confidence must"),
    ],
)
def test_wrong_arguments_of_one_run_are_refused(change, message):
    given = {"correct": 8, "guesses": 10, "canaries": 20}
    with pytest.raises(ValueError, match=message):
        pp.epsilon_lower_bound_one_run(**given | change)
