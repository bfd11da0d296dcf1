import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pseudopost as pp


@pytest.fixture(scope="module")
def poisson():
    """Counts, weights, and draws from their pseudo posterior, which is known."""
    rng = np.random.default_rng(1)
    y = np.r_[rng.poisson(20, size=60), 45]
    weights = rng.uniform(0.3, 1, size=len(y))
    A, B = 0.5 + weights @ y, 0.001 + weights.sum()
    mu = rng.gamma(A, 1 / B, size=40_000)
    return y, weights, mu, stats.poisson.logpmf(y, mu[:, None])


def error_of(loss):
    """Four standard errors of the constant from the same draws, in nats."""
    return 4 * np.exp(-loss).std() / np.sqrt(len(loss))


def exact_loss(y, weights, new, mu):
    """Losses at draws, from the two densities."""
    own = stats.gamma.logpdf(mu, 0.5 + weights @ y, scale=1 / (0.001 + weights.sum()))
    other = stats.gamma.logpdf(mu, 0.5 + new @ y, scale=1 / (0.001 + new.sum()))
    return own - other


def test_losses_with_kept_weights_are_those_of_the_exact_densities(poisson):
    y, weights, mu, log_likelihood = poisson
    found = pp.deletion_loss(log_likelihood, weights)
    for i in (0, 30, 60):
        new = np.where(np.arange(len(y)) == i, 0, weights)
        loss = exact_loss(y, weights, new, mu)
        error = error_of(loss)
        assert error < 0.05
        assert found.loc[i, "largest"] == pytest.approx(np.abs(loss).max(), abs=error)
        assert found.loc[i, "mean"] == pytest.approx(loss.mean(), abs=error)


def test_losses_with_recomputed_weights_are_those_of_the_exact_densities(poisson):
    y, weights, mu, log_likelihood = poisson

    def without(record):
        # Every other record speaks a little louder, and the own entry is nonsense.
        found = np.minimum(1, weights * (1 + 0.001 * y[record]))
        found[record] = 0.77
        return found

    found = pp.deletion_loss(log_likelihood, weights, without)
    kept = pp.deletion_loss(log_likelihood, weights)
    for i in (0, 60):
        new = without(i)
        new[i] = 0
        loss = exact_loss(y, weights, new, mu)
        error = error_of(loss)
        assert error < 0.05
        assert found.loc[i, "largest"] == pytest.approx(np.abs(loss).max(), abs=error)
        assert found.loc[i, "mean"] == pytest.approx(loss.mean(), abs=error)
    assert (found["largest"] != kept["largest"]).all()


def test_blocks_do_not_show(poisson, monkeypatch):
    *_, log_likelihood = poisson
    whole = pp.deletion_loss(log_likelihood, np.full(61, 0.5))
    monkeypatch.setattr("pseudopost.deletion.BLOCK", 7)
    parts = pp.deletion_loss(log_likelihood, np.full(61, 0.5))
    pd.testing.assert_frame_equal(whole, parts)
    assert whole.index.tolist() == list(range(61))


def test_labels_are_kept_and_weights_are_put_in_their_order(poisson):
    y, weights, _, log_likelihood = poisson
    labels = [f"firm {i}" for i in range(len(y))]
    frame = pd.DataFrame(log_likelihood, columns=labels)
    found = pp.deletion_loss(frame, pd.Series(weights, labels).iloc[::-1])
    assert found.index.tolist() == labels
    plain = pp.deletion_loss(log_likelihood, weights)
    np.testing.assert_allclose(found["largest"], plain["largest"])


def test_a_constant_change_is_no_loss_and_needs_no_refit():
    found = pp.privacy_loss(np.column_stack([np.full(100, 3.7), np.zeros(100)]))
    assert found["largest"].tolist() == [0, 0]
    assert found["mean"].tolist() == [0, 0]
    assert (found["k_hat"] == -np.inf).all()


def test_loss_does_not_depend_on_constants():
    change = np.random.default_rng(1).normal(size=(500, 3))
    first, again = pp.privacy_loss(change), pp.privacy_loss(change + 800)
    np.testing.assert_allclose(first, again, rtol=1e-8)


def test_two_outcomes_by_hand():
    # Ratios of e and 1: the mean is (e + 1) / 2.
    change = np.repeat([[1.0], [0.0]], 5000, axis=0)
    found = pp.privacy_loss(change).loc[0]
    log_mean = np.log((np.e + 1) / 2)
    assert found["largest"] == pytest.approx(log_mean, abs=1e-3)
    assert found["mean"] == pytest.approx(log_mean - 0.5, abs=1e-3)


def test_k_hat_says_where_a_few_draws_rule():
    rng = np.random.default_rng(1)
    near, far = rng.normal(size=2000), 2 * rng.standard_exponential(2000)
    k_hat = pp.privacy_loss(np.column_stack([0.1 * near, far]))["k_hat"]
    assert k_hat[0] < 0.5 < 0.7 < k_hat[1]


def test_one_draw_that_outweighs_all_is_never_trusted():
    change = np.random.default_rng(1).normal(size=(100, 1))
    change[5] = 1e6
    assert pp.privacy_loss(change).loc[0, "k_hat"] == np.inf


def between(batches):
    """Standard error of the mean of independent batches."""
    return np.std(batches, axis=0, ddof=1) / np.sqrt(len(batches))


def test_expected_bounds_are_expected_maxima():
    rng = np.random.default_rng(1)
    batches = -rng.gamma([[[2, 5, 9]]], size=(20, 10_000, 3))
    found = [pp.expected_bounds(batch, size=200)() for batch in batches]
    simulated = rng.gamma([[2, 5, 9]], size=(4000, 200, 3)).max(axis=1)
    error = np.hypot(between(found), between(simulated))
    assert (np.abs(np.mean(found, axis=0) - simulated.mean(axis=0)) < 4 * error).all()


def test_bounds_without_a_record_are_those_of_its_deletion(poisson):
    y, *_ = poisson
    rng = np.random.default_rng(2)
    total, n = 0.5 + y.sum(), 0.001 + len(y)
    found, kept = [], []
    for mu in rng.gamma(total, 1 / n, size=(10, 20_000)):
        bounds = pp.expected_bounds(stats.poisson.logpmf(y, mu[:, None]), size=500)
        found.append(bounds(60)[:-1])
        kept.append(bounds()[:-1])
    mu = rng.gamma(total - y[-1], 1 / (n - 1), size=(500, 500))
    largest = np.abs(stats.poisson.logpmf(y[:-1], mu[..., None])).max(axis=1)
    error = np.hypot(between(found), between(largest))
    expected = largest.mean(axis=0)
    assert (np.abs(np.mean(found, axis=0) - expected) < 4 * error).all()
    # The bounds of the whole file are other ones.
    assert (np.abs(np.mean(kept, axis=0) - expected) > 4 * error).all()


def test_expectation_over_one_draw_is_the_mean_of_all():
    log_likelihood = np.array([[-1.0, -4.0], [-2.0, -3.0], [-6.0, -2.0]])
    found = pp.expected_bounds(log_likelihood, size=1)
    np.testing.assert_allclose(found(), [3, 3])
    share = np.exp([1, 2, 6]) / np.exp([1, 2, 6]).sum()
    np.testing.assert_allclose(found(0)[1], share @ [4, 3, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (np.zeros(4), r"change must have shape \(S, R\); got \(4,\)"),
        (np.zeros((0, 2)), "change must have shape"),
        (np.zeros((24, 2)), "change must have at least 25 draws; got 24"),
        ([[0.0, 1.0], [0.0, np.inf]], "draw 1 and neighbour 1 is not"),
    ],
)
def test_wrong_changes_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        pp.privacy_loss(change)


def test_wrong_arguments_of_deletions_are_refused(poisson):
    *_, log_likelihood = poisson
    broken = log_likelihood.copy()
    broken[3, 8] = -np.inf
    with pytest.raises(ValueError, match="that of record 8 is not"):
        pp.deletion_loss(broken, np.ones(61))
    with pytest.raises(ValueError, match="that of record 8 is not"):
        pp.expected_bounds(broken, size=10)
    with pytest.raises(ValueError, match="weights must"):
        pp.deletion_loss(log_likelihood, np.full(61, 1.5))
    with pytest.raises(ValueError, match="recompute's weights must"):
        pp.deletion_loss(log_likelihood, np.ones(61), lambda i: np.full(61, 2.0))
    with pytest.raises(ValueError, match="size must"):
        pp.expected_bounds(log_likelihood, size=40_001)
