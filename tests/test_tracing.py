from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import pseudopost as pp
from pseudopost.tracing import expected_largest

Y = np.random.default_rng(1).poisson(30, size=200)
HALF = np.full(200, 0.5)


def exact(weights):
    """Return the pseudo posterior of a Poisson mean."""
    return stats.gamma(0.5 + weights @ Y, scale=1 / (0.001 + weights.sum()))


def traced(candidates, size=100, draws=4000, measures=None):
    mu = exact(HALF).rvs(draws, random_state=2)
    log_likelihood = stats.poisson.logpmf(Y, mu[:, None])
    if measures is None:
        measures = pd.DataFrame({"mu": mu})
    return pp.trace_weights(log_likelihood, HALF, candidates, measures, size)


def vectors():
    """Return weights near those of the fit, of several kinds."""
    tilted = np.where(np.arange(200) < 100, 0.45, 0.52)
    low = np.where(Y.mean() > Y, 0.5, 0.48)
    return np.array([HALF, 0.4 + 0 * HALF, 0.8 + 0 * HALF, tilted, low])


def test_traced_means_are_those_of_the_exact_pseudo_posteriors():
    candidates = vectors()
    table = traced(candidates)
    truth = [exact(w).mean() for w in candidates]
    assert (np.abs(table["mu"] - truth) < 4 * table["mu error"]).all()
    # Without the ratios two of them would be far off.
    assert (np.abs(table["mu"].iloc[0] - truth) > 4 * table["mu error"]).any()
    np.testing.assert_allclose(table["mean_weight"], candidates.mean(axis=1))


def test_errors_are_as_large_as_they_say():
    target, found = vectors()[[2]], []
    rng = np.random.default_rng(3)
    for _ in range(200):
        mu = exact(HALF).rvs(500, random_state=rng)
        rows = stats.poisson.logpmf(Y, mu[:, None])
        row = pp.trace_weights(rows, HALF, target, mu[:, None], size=10).loc[0]
        found.append((row[0] - exact(target[0]).mean()) / row["0 error"])
    assert 0.8 < np.std(found) < 1.25


def test_errors_count_that_draws_hang_together():
    mu = np.repeat(exact(HALF).rvs(100, random_state=2), 40)  # 100 independent ones
    rows = stats.poisson.logpmf(Y, mu[:, None])
    row = pp.trace_weights(rows, HALF, [HALF], mu[:, None]).loc[0]
    alone = mu.std() / np.sqrt(len(mu))
    assert 3 < row["0 error"] / alone < 10  # the square root of 40 is 6.3


def test_epsilon_is_that_of_a_fit_of_its_own():
    candidates, size = vectors(), 100
    table = traced(candidates, size, draws=20_000)
    rng = np.random.default_rng(4)
    for w, found in zip(candidates, table["epsilon"], strict=True):
        mu = exact(w).rvs((300, size), random_state=rng)
        # Extreme values have the largest terms at either end of the draws.
        ends = np.stack([mu.min(axis=1), mu.max(axis=1)])
        terms = w * np.abs(stats.poisson.logpmf(Y, ends[..., None]))
        largest = terms.max(axis=(0, 2))
        error = 2 * largest.std() / np.sqrt(300)
        assert abs(found - 2 * largest.mean()) < 4 * error + 0.02


def test_own_weights_need_no_ratios():
    row = traced([HALF]).loc[0]
    assert row["k_hat"] == -np.inf
    assert row["ess"] == pytest.approx(4000)


def test_weights_too_far_are_noticed():
    table = traced([0.45 + 0 * HALF, 0.05 + 0 * HALF, np.where(Y > 30, 0.5, 0)])
    assert table["k_hat"].iloc[0] < 0.5
    assert (table["k_hat"].iloc[1:] > 0.7).all()
    assert (table["ess"].iloc[1:] < 400).all()


def test_expected_largest_of_a_die():
    # The largest of two throws: 161 / 36.
    faces = np.array([3.0, 1, 6, 2, 5, 4])
    assert expected_largest(faces, np.full(6, 1 / 6), 2) == pytest.approx(161 / 36)
    assert expected_largest(faces, np.full(6, 1 / 6), 1) == pytest.approx(3.5)
    loaded = np.where(faces == 2, 1.0, 0)
    assert expected_largest(faces, loaded, 5) == pytest.approx(2)


def test_expected_largest_of_columns_are_those_of_each():
    rng = np.random.default_rng(4)
    values, share = rng.normal(size=(9, 3)), rng.dirichlet(np.ones(9), size=3).T
    alone = [expected_largest(v, p, 7) for v, p in zip(values.T, share.T, strict=True)]
    np.testing.assert_allclose(expected_largest(values, share, 7), alone)
    one = [expected_largest(v, share[:, 0], 7) for v in values.T]
    np.testing.assert_allclose(expected_largest(values, share[:, 0], 7), one)


def test_records_are_found_by_their_labels():
    rng, labels = np.random.default_rng(5), list("abc")
    rows = rng.normal([-5, -6, -7], 0.1, size=(100, 3))
    table = pd.DataFrame(rows, columns=labels)
    w, new = pd.Series([1, 0.5, 0.2], labels), pd.DataFrame([[1, 0.6, 0.1]])
    new.columns = labels
    expected = pp.trace_weights(rows, w.to_numpy(), new.to_numpy(), size=50)
    found = pp.trace_weights(table, w[::-1], new[["c", "a", "b"]], size=50)
    pd.testing.assert_frame_equal(found, expected)


def test_what_does_not_fit_is_refused():
    rows = np.random.default_rng(5).normal(-5, 0.1, size=(40, 3))
    ones = np.ones(3)
    for candidates, changed, message in (
        ([1, 1, 1], {}, r"^candidates must have shape \(R, 3\)"),
        ([[1, 1]], {}, r"^candidates must have shape \(R, 3\)"),
        (np.empty((0, 3)), {}, r"^candidates must have shape \(R, 3\)"),
        ([[1, 1, 2]], {}, r"^candidates must lie in \[0, 1\]"),
        ([ones], {"measures": rows[:5]}, r"^measures must have shape \(40, K\)"),
        ([ones], {"measures": rows * np.inf}, "^measures must be finite"),
        ([ones], {"size": 41}, "^size must be at most 40"),
    ):
        with pytest.raises(ValueError, match=message):
            pp.trace_weights(rows, ones, candidates, **({"size": 10} | changed))
    with pytest.raises(ValueError, match=r"^log_likelihood must have at least 25"):
        pp.trace_weights(rows[:20], ones, [ones], size=10)


class Gamma:
    """Stands for a synthesizer: exact draws of a Poisson mean."""

    def __init__(self):
        self.y, self.index, self.fitted = Y, None, []

    def fit(self, weights, progressbar, draws=500, random_seed=1):
        self.fitted.append(weights)
        mu = exact(weights).rvs((2, draws), random_state=random_seed)
        attrs = {"random_seed": random_seed, "not_converged": ""}
        return SimpleNamespace(mu=mu, attrs=attrs)

    def log_likelihood(self, fit):
        values = stats.poisson.logpmf(Y, fit.mu[..., None])
        return xr.DataArray(values, dims=("chain", "draw", "record"))

    def synthesize(self, fit, n_datasets, random_seed):
        rng = np.random.default_rng(random_seed)
        assert n_datasets == fit.mu.size
        return xr.DataArray(rng.poisson(fit.mu.reshape(-1, 1), (n_datasets, len(Y))))


SCALARS = np.outer(np.geomspace(0.01, 1, 30), np.ones(200))


def off(z):
    return np.abs(z.mean(axis=1) - Y.mean())


def test_the_cheapest_scalar_is_the_largest_that_keeps_the_limit():
    model = Gamma()
    # A Poisson count of 200 has its largest bound near 12; epsilon is about linear in s.
    chosen = pp.cheapest_weights(model, SCALARS, off, limit=6, size=500)
    found = chosen.path.loc[chosen.constant, "found"]
    assert found <= 6
    assert chosen.path.loc[chosen.constant, "k_hat"] == -np.inf
    np.testing.assert_array_equal(chosen.weights, SCALARS[chosen.constant])
    # The next one would break it, or costs as much up to noise.
    keeps = chosen.path[chosen.path["found"] <= 6]
    assert chosen.constant >= keeps.index.max() - 3
    assert len(model.fitted) < 8
    assert len(chosen.path) == 30
    assert "difference from the target" in repr(chosen)


def test_a_risk_may_be_limited_in_place_of_epsilon():
    # A risk that falls with the spread of the files' means.
    chosen = pp.cheapest_weights(
        Gamma(), SCALARS, off, limit=0.2, risk=lambda z: off(z) < 0.3
    )
    assert chosen.path.loc[chosen.constant, "found"] <= 0.2
    assert (chosen.path["found"] > 0.2).any()


def test_a_choice_that_breaks_the_limit_when_fitted_is_dropped():
    model, broken = Gamma(), []

    def risk(z):
        # As if the first confirmation showed more than was traced.
        late = len(model.fitted) > 1 and not broken
        if late:
            broken.append(len(model.fitted))
        return np.full(len(z), 0.9 if late else 0.1)

    candidates = SCALARS[-6:]
    chosen = pp.cheapest_weights(model, candidates, off, limit=0.5, risk=risk)
    assert broken
    dropped = chosen.path[np.isclose(chosen.path["found"].astype(float), 0.9)]
    assert len(dropped) == 1
    assert chosen.constant not in dropped.index


def test_no_candidate_keeps_the_limit():
    with pytest.raises(ValueError, match=r"^limit must be kept by one"):
        pp.cheapest_weights(Gamma(), SCALARS[-3:], off, limit=0.5)


def test_few_fits_reach_what_they_reach():
    model = Gamma()
    chosen = pp.cheapest_weights(model, SCALARS, off, limit=6, size=500, max_fits=1)
    assert len(chosen.path) < 30
    assert (chosen.path["k_hat"] <= 0.7).all()


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match=r"^loss must have length 1000"):
        pp.cheapest_weights(Gamma(), SCALARS, lambda z: [1.0], limit=6)
