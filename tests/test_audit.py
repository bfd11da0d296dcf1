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
