import language_model as model
import numpy as np
import pandas as pd
import pytest

RNG = np.random.default_rng(1)
SOURCE = RNG.dirichlet(np.full(27, 0.3), size=27)


def test_stationary_shares_stay():
    shares = model.stationary(SOURCE)
    assert shares.sum() == pytest.approx(1)
    np.testing.assert_allclose(shares @ SOURCE, shares)


def test_documents_are_those_of_the_source():
    pairs = model.documents(SOURCE, 4000, np.random.default_rng(2))
    lengths = pairs.sum(axis=(1, 2))
    assert lengths.min() >= 5
    assert lengths.mean() == pytest.approx(53, rel=0.05)
    assert lengths.mean() > 1.1 * np.median(lengths)
    total = pairs.sum(axis=0)
    found = total / total.sum(axis=1, keepdims=True)
    often = total.sum(axis=1) > 2000
    assert often.sum() > 10
    error = np.sqrt(SOURCE * (1 - SOURCE) / total.sum(axis=1, keepdims=True))
    assert (np.abs(found - SOURCE) < 5 * error + 1e-3)[often].all()


def test_fit_is_the_dirichlet_posterior():
    pairs = model.documents(SOURCE, 60, np.random.default_rng(3))
    weights = np.random.default_rng(4).uniform(size=60)
    log_likelihood, mean = model.fit(pairs, weights, 4000, np.random.default_rng(5))
    counted = sum(w * p for w, p in zip(weights, pairs, strict=True))
    row = 1 + counted[3]
    np.testing.assert_allclose(mean[3], row / row.sum())
    assert log_likelihood.shape == (4000, 60)
    # A document of one pair only has the log of one probability, a beta variable.
    one = np.zeros((1, 27, 27), int)
    one[0, 2, 5] = 1
    draws, mean = model.fit(one, np.ones(1), 20_000, np.random.default_rng(6))
    assert np.exp(draws).mean() == pytest.approx(2 / 28, rel=0.03)
    assert mean[2, 5] == pytest.approx(2 / 28)


def test_extra_loss_is_none_for_the_source_and_more_for_others():
    assert model.extra_loss(SOURCE, SOURCE) == pytest.approx(0, abs=1e-12)
    even = np.full((27, 27), 1 / 27)
    by_hand = model.stationary(SOURCE) @ (SOURCE * np.log(27 * SOURCE)).sum(axis=1)
    assert model.extra_loss(even, SOURCE) == pytest.approx(by_hand)


def test_study_weighs_and_is_repeated_by_its_seed():
    found = model.study(1, n=80, size=100)
    assert found.index.tolist() == ["Unweighted", "LW", "LW_final"]
    assert found["weight"]["Unweighted"] == 1
    assert found["weight"]["LW"] < found["weight"]["LW_final"] < 1
    assert found["bound"]["LW"] < found["bound"]["Unweighted"]
    pd.testing.assert_frame_equal(found, model.study(1, n=80, size=100))


@pytest.mark.parametrize("column", [None, "bound", "weight", "loss"])
def test_the_claim_needs_all_three(column):
    rows = [
        {"weights": name, "seed": seed, "bound": b, "weight": w, "loss": loss}
        for seed in range(4)
        for name, b, w, loss in (
            ("Unweighted", 300, 1, 0.01),
            ("LW", 80 + seed, 0.5, 0.02),
            ("LW_final", 77 + seed, 0.6, 0.015 - 0.0002 * seed),
        )
    ]
    results = pd.DataFrame(rows).set_index("weights")
    if column:
        results.loc["LW_final", column] = results.loc["LW", column].to_numpy()
    ours, holds = model.claim(results)["P3-Fut2"]
    assert holds == (column is None)
    if holds:
        assert ours == "bound -4%, mean weight +0.10, extra loss 0.0200 to 0.0147"
        numbers = model.numbers_of(results)
        assert numbers["language-share"] == pytest.approx(53)
        assert numbers["language-collections"] == 4
