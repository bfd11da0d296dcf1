"""A bank of questions whose numbers come from a seed.

Each function takes a random generator and returns the text of a question and its
answer. To keep questions to yourself, write a file of your own like this one, with a
list QUESTIONS, and give it to `make exam BANK=...`.
"""

import numpy as np
from scipy import stats

import pseudopost as pp


def listed(values, digits=0):
    """Write numbers as a list in a sentence."""
    return ", ".join(f"{value:,.{digits}f}" for value in values)


def isolated(rng):
    """Identification risk in one release, by hand."""
    own = int(rng.integers(40, 60))
    released = np.append(own + rng.integers(-4, 5), rng.integers(20, 95, size=9))
    text = (
        f"Betty earns {own} thousand dollars. Her pattern has ten records. For her "
        f"{released[0]} is released, for the other nine {listed(released[1:])}. What "
        "is her identification risk in this release, with a radius of 20%?"
    )
    true = np.append(own, released[1:])
    return text, pp.identification_risk(true, released, radius=0.2)[0]


def right_guess(rng):
    """Chance that the intruder's pick is right, over several releases."""
    close = rng.integers(1, 7, size=4)
    inside = rng.permutation([1, 1, 0, 1])
    rows = "; ".join(
        f"{count} rows, Betty's {'among' if there else 'not among'} them"
        for count, there in zip(close, inside, strict=True)
    )
    text = (
        "In four releases the intruder keeps these rows of Betty's pattern: "
        f"{rows}. What is the average chance that her random pick is Betty's row?"
    )
    return text, np.mean(inside / close)


def shifted_weight(rng):
    """Weight from a risk by scale and shift, clipped."""
    risk = rng.uniform(0.1, 0.9)
    scale, shift = rng.choice([0.5, 1.5, 2]), rng.choice([-0.1, 0.1, 0.2])
    text = (
        f"A record has an identification risk of {risk:.3f}. What is its marginal "
        f"weight under a scale of {scale:g} and a shift of {shift:g}?"
    )
    return text, pp.marginal_weights([round(risk, 3)], scale, shift)[0]


def pairs(rng):
    """Pairwise weight of a record in a pattern of five."""
    incomes = np.sort(rng.choice(np.arange(20, 100), size=5, replace=False))
    which = int(rng.integers(5))
    text = (
        f"A pattern has the confidential incomes {listed(incomes)}, in thousands of "
        "dollars. With a radius of 20%, what is the pairwise weight of "
        f"{incomes[which]}?"
    )
    return text, pp.pairwise_weights(incomes)[which]


def half_records(rng):
    """Mean of a pseudo posterior of a Poisson mean."""
    total, n = int(rng.integers(300, 700)), int(rng.integers(40, 60))
    value, weight = int(rng.integers(40, 90)), round(rng.uniform(0.1, 0.9), 2)
    text = (
        f"{n} Poisson counts add up to {total}, each with weight 1. One more record "
        f"has the count {value} and weight {weight}. The prior of the mean is Gamma "
        "with shape 2 and rate 0.1. What is the mean of the pseudo posterior?"
    )
    return text, (2 + total + weight * value) / (0.1 + n + weight)


def bounds_by_hand(rng):
    """Epsilon of a file after LW weights, with the log-likelihoods kept."""
    table = -np.round(rng.uniform(2, 14, size=(2, 4)), 1)
    rows = "; ".join(f"draw {k + 1}: {listed(row, 1)}" for k, row in enumerate(table))
    text = (
        f"Two draws and four records have these log-likelihoods. {rows}. Make LW "
        "weights (scale 1, shift 0), and suppose that the fit under them has the same "
        "log-likelihoods. What is P3's epsilon of the file after weighting?"
    )
    bounds = pp.lipschitz_bounds(table, pp.lipschitz_weights(table))
    return text, pp.epsilon(bounds)


def raised(rng):
    """Mean weight after re-weighting, with the draws kept."""
    largest = np.sort(np.round(rng.uniform(3, 20, size=4), 1))
    weights = np.sort(np.round(rng.uniform(0.1, 0.95, size=4), 2))[::-1]
    k = rng.choice([0.9, 0.95])
    text = (
        f"Four records have the weights {listed(weights, 2)}. In the weighted fit "
        "their largest absolute log-likelihoods, not yet times the weight, are "
        f"{listed(largest, 1)}. Keep the draws. What is the mean weight after "
        f"re-weighting with k = {k:g}?"
    )
    return text, pp.reweight(weights, weights * largest, k).mean()


def odds(rng):
    """Probability that somebody may come to after several releases."""
    epsilon, draws = round(rng.uniform(0.2, 1.2), 1), int(rng.integers(2, 6))
    before = round(rng.uniform(0.05, 0.6), 2)
    text = (
        f"A pure promise of epsilon = {epsilon} holds for each of {draws} independent "
        f"releases. Somebody believes with probability {before} that Betty is in the "
        "file. What is the highest probability that all of them may bring her to?"
    )
    ratio = before / (1 - before) * np.exp(epsilon * draws)
    return text, ratio / (1 + ratio)


def combined(rng):
    """Rule that combines the estimates of partially synthetic files."""
    estimates = np.round(rng.normal(70, 1, size=5), 2)
    within = round(rng.uniform(0.5, 2), 2)
    text = (
        f"Five partially synthetic files give the means {listed(estimates, 2)}, each "
        f"with an estimated variance of {within}. What is the standard error of their "
        "average by the combining rule?"
    )
    return text, np.sqrt(within + estimates.var(ddof=1) / 5)


def scalar_interval(rng):
    """Coverage of a 95% interval of a scalar-weighted posterior, right model."""
    weight = rng.choice([0.3, 0.4, 0.6, 0.7])
    text = (
        f"In a large file, with a right model, all records have the weight {weight:g}. "
        "How often does a central 95% interval of the pseudo posterior of the "
        "parameter hold the truth?"
    )
    return text, 2 * stats.norm.cdf(1.959964 / np.sqrt(weight)) - 1


QUESTIONS = [
    isolated,
    right_guess,
    shifted_weight,
    pairs,
    half_records,
    bounds_by_hand,
    raised,
    odds,
    combined,
    scalar_interval,
]
