"""Lower bounds of epsilon from attacks that were carried out."""

import numpy as np
from scipy import optimize, special, stats

from pseudopost._checks import as_count, as_number


def epsilon_lower_bound(
    true_positives,
    trials_with,
    false_positives,
    trials_without,
    delta=0.0,
    confidence=0.95,
):
    r"""Lower bound of epsilon from an attack on the membership of one record.

    A mechanism that is :math:`(\epsilon, \delta)`-private cannot have an attack with
    :math:`\text{TPR} > e^\epsilon\, \text{FPR} + \delta`, nor one with :math:`1 -
    \text{FPR} > e^\epsilon (1 - \text{TPR}) + \delta`. Both rates are bounded by
    Clopper-Pearson limits, each with half of the error probability.

    Parameters
    ----------
    true_positives, trials_with : int
        How often the attack said "in", of all trials with the record.
    false_positives, trials_without : int
        The same without the record. The trials must be independent, each a run of its
        own and not a draw of one chain, and the rule of the attack fixed before them.
    delta : float
        In [0, 1).
    confidence : float
        Least probability, above 0 and below 1, with which the bound does not exceed the
        mechanism's epsilon at this `delta`, over repetitions of the trials.

    Returns
    -------
    float
        In nats, 0 or more. With N trials of each kind it cannot exceed about
        :math:`\log(N / 3.7)` at a confidence of 0.95, however bad the mechanism is.

    Raises
    ------
    ValueError
        If a count exceeds its trials or is no whole number, or `delta` or `confidence`
        is out of range.

    References
    ----------
    Book: :ref:`attack-it`.

    Examples
    --------
    An attack that is right 90 times in 100, with the record and without:

    >>> import pseudopost as pp
    >>> round(pp.epsilon_lower_bound(90, 100, 10, 100), 2)
    1.54
    """
    trials_with = as_count(trials_with, "trials_with", high=2**53)
    trials_without = as_count(trials_without, "trials_without", high=2**53)
    true_positives = as_count(true_positives, "true_positives", 0, trials_with)
    false_positives = as_count(false_positives, "false_positives", 0, trials_without)
    delta = as_number(delta, "delta", low=0, high=1, open_high=True)
    confidence = as_number(
        confidence, "confidence", low=0, high=1, open_low=True, open_high=True
    )
    error = (1 - confidence) / 2
    true_low, _ = _limits(true_positives, trials_with, error)
    _, false_high = _limits(false_positives, trials_without, error)
    odds = [
        (true_low - delta) / false_high,
        (1 - false_high - delta) / (1 - true_low),
    ]
    return float(np.log(max(1.0, *odds)))


def epsilon_lower_bound_one_run(correct, guesses, canaries, delta=0.0, confidence=0.95):
    r"""Lower bound of epsilon from one run with many canaries.

    Each of m canaries, records of one's choice, is put into the file by a fair coin of
    its own, the mechanism runs once, and for r of them it is guessed whether they are
    in. If the mechanism is :math:`\epsilon`-private for added and deleted records,
    each guess is right with probability at most :math:`e^\epsilon / (1 + e^\epsilon)`
    whatever the others are, so that the number of right ones is stochastically at most
    binomial. Guesses may depend on the coins through the release alone, and the coins
    must be independent of the random numbers of the mechanism.

    Parameters
    ----------
    correct : int
        How many of the guesses are right.
    guesses : int
        r, at least 1.
    canaries : int
        m, at least r. For the others nothing was guessed; which ones may depend on the
        release. How many guesses are made must be fixed before the release is seen.
    delta : float
        In [0, 1).
    confidence : float
        As in :func:`epsilon_lower_bound`.

    Returns
    -------
    float
        In nats, 0 or more. With many guesses it cannot exceed about
        :math:`\log(r / 3)` at a confidence of 0.95.

    Raises
    ------
    ValueError
        If a count exceeds the next larger one or is no whole number, or `delta` or
        `confidence` is out of range.

    Notes
    -----
    The bound is the :math:`\epsilon` at which as many right guesses or more have the
    probability 1 - `confidence`. An exception of probability :math:`\delta` a canary
    adds at most :math:`2 m \delta \max_i P(v - i \le W < v) / i`, with v right
    guesses and W binomial.

    References
    ----------
    Steinke, Nasr and Jagielski (2023), "Privacy auditing with one (1) training run",
    Theorem 5.2. Book: :ref:`attack-one-run`.

    Examples
    --------
    Three quarters of 200 guesses are right:

    >>> import pseudopost as pp
    >>> round(pp.epsilon_lower_bound_one_run(150, 200, canaries=200), 2)
    0.82
    """
    canaries = as_count(canaries, "canaries", high=2**53)
    guesses = as_count(guesses, "guesses", high=canaries)
    correct = as_count(correct, "correct", 0, guesses)
    delta = as_number(delta, "delta", low=0, high=1, open_high=True)
    confidence = as_number(
        confidence, "confidence", low=0, high=1, open_low=True, open_high=True
    )
    error, fewer = 1 - confidence, np.arange(1, correct + 1)

    def excess(epsilon):
        right = stats.binom(guesses, special.expit(epsilon))
        below = np.cumsum(right.pmf(correct - fewer)) / fewer
        exceptions = 2 * canaries * delta * below.max(initial=0)
        return right.sf(correct - 1) + exceptions - error

    if excess(0.0) >= 0:
        return 0.0
    # That of an attack that never fails, and more than enough.
    high = min(special.logit(error ** (1 / guesses)) + 1, 700)
    return float(optimize.brentq(excess, 0, high))


def _limits(successes, trials, error):
    """Clopper-Pearson limits, each exceeded with at most the error probability."""
    low = stats.beta.ppf(error, successes, trials - successes + 1) if successes else 0.0
    failures = trials - successes
    high = stats.beta.isf(error, successes + 1, failures) if failures else 1.0
    return low, high
