import lipschitz_weights as chapter
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats


def failing(claims):
    return {name for name, (_, holds) in claims.items() if not holds}


@pytest.fixture
def weights():
    return {
        "Unweighted": np.ones(4),
        "LW": np.array([1, 0.9, 0.8, 0]),
        "CW": np.array([0.5, 0.4, 0.2, 0.1]),
    }


@pytest.fixture
def bounds():
    return {
        "Unweighted": np.array([4.0, 5.0, 6.0, 14.0]),
        "LW": np.array([4.0, 4.5, 4.8, 0.0]),
        "CW": np.array([2.0, 1.9, 0.9, 0.7]),
    }


@pytest.fixture
def tradeoff():
    return pd.DataFrame(
        {"bound": [0.4, 5.0, 12.0], "distance": [10.0, 2.0, 1.7]}, [-0.9, 0.0, 0.9]
    )


# Numbers for the text


def test_slope_and_low_bounds(weights, bounds):
    assert chapter.slope(np.array([0, 0.5, 1]), np.array([4, 3, 2])) == -0.5
    assert chapter.rise(np.array([0, 0.5, 1]), np.array([0, 3, 2])) == 2
    assert chapter.similar(1.0, 1.9)
    assert not chapter.similar(1.0, 2.1)
    assert not chapter.similar(-1.0, 1.0)
    assert chapter.low(bounds["LW"]) == 0.25
    assert chapter.low(bounds["CW"]) == 0.5
    found = chapter.numbers_of_both(weights, bounds)
    assert (found["LW-low"], found["CW-low"]) == (25, 50)
    assert found["LW-middle"] == pytest.approx(4.25 / 4.8)
    assert found["cw-mean-weight"] == pytest.approx(0.3)


def test_contributions_add_up():
    y, means = np.array([3, 7, 5]), np.array([4.0, 6.0])
    change, own = chapter.contributions(y, [2, 0], means)
    assert np.allclose(own, stats.poisson.logpmf([[5], [3]], means))
    assert np.allclose(change, own)


def test_an_impossible_record_has_weight_0_and_the_bound_is_finite():
    log_likelihood = np.array([[-1.0, -4.0, -2.0], [-2.0, -3.0, -1.0]])
    weight, bound = chapter.with_an_impossible_record(log_likelihood, 0)
    assert weight == 0
    assert bound == 2
    assert np.isfinite(log_likelihood).all()


def test_numbers_of_unweighted():
    found = chapter.numbers_of_unweighted(np.array([10, 2, 20]), np.array([4, 9, 7.0]))
    assert found == {"riskiest-count": 2, "bound-max": 9, "unweighted-epsilon": 18}


def test_numbers_of_lw():
    found = chapter.numbers_of_lw(
        np.array([10, 2, 20]),
        np.array([4.0, 8.0, 6.0]),
        np.array([1, 0, 0.5]),
        np.array([4.0, 0.0, 3.0]),
    )
    assert found["lw-predicted"] == 4
    assert (found["lw-peak-count"], found["lw-peak-weight"]) == (10, 1)
    assert (found["lw-delta"], found["lw-epsilon"]) == (4, 8)


def test_numbers_of_deletion():
    table = pd.DataFrame({"recomputed": [1.0, 20.0], "privacy loss": [3.0, 2.0]})
    assert chapter.numbers_of_deletion(table, np.array([5.0, 4.0]), 0.1) == {
        "deletion-ratio": 4,
        "deletion-loss": 3,
        "deletion-noise": 0.1,
    }


# Rules


def test_promise():
    assert chapter.claims_of_promise(1.21, 1.0) == {
        "P3-Def1.1": ("loss 1.21, epsilon 2", True),
        "P3-Def1.2": ("loss 1.21, 2 Delta = 2", True),
    }
    assert failing(chapter.claims_of_promise(2.1, 1.0)) == {"P3-Def1.1", "P3-Def1.2"}


def test_deletion():
    found = chapter.claims_of_deletion(3.1, 10.9)
    assert found["P3-Def1.3"] == ("seven deletions: loss 3.1, epsilon 10.9", True)
    assert failing(found) == set()
    assert failing(chapter.claims_of_deletion(11, 10.9)) == {"P3-Def1.3", "P3-Eq1.3"}


def test_sensitivity():
    def fails(deletions=1, delta_u=1.0, rescaled=0.25):
        return failing(
            chapter.claims_of_sensitivity(
                {"deletions": deletions, "changes": 1}, delta_u, {0.5: rescaled}
            )
        )

    assert fails() == set()
    assert fails(deletions=2) == {"P3-EqU01"}
    assert fails(delta_u=2.0) == {"P3-EqU02"}
    assert fails(rescaled=0.5) == {"P3-EqU03"}


def test_claim_of_contributions():
    own = np.array([[-1.0, -2.0]])
    assert failing(chapter.claim_of_contributions(own, own)) == set()
    assert failing(chapter.claim_of_contributions(own + 0.1, own)) == {"P3-EqU04"}


def test_weights(weights, bounds):
    weighted = np.array([[-4, -4.5, -4.8, 0], [-3.5, -4, 1, 0]])

    def fails(weights=weights, bounds=bounds, weighted=weighted):
        return failing(chapter.claims_of_weights(weights, bounds, weighted))

    assert fails() == set()
    assert fails(weights | {"LW": np.array([0.9, 1, 0.8, 0])}) == {"P3-EqU05"}
    assert fails(weights | {"LW": np.array([1, 0.9, 0.8, 0.1])}) == {"P3-EqU08"}
    high = bounds | {"LW": bounds["LW"] * 2.5}
    assert fails(bounds=high, weighted=2.5 * weighted) == {"P3-Alg2"}
    high = bounds | {"LW": bounds["LW"] * 3}
    assert fails(bounds=high, weighted=3 * weighted) == {"P3-EqU06", "P3-Alg2"}
    assert fails(weighted=weighted / 2) == {"P3-EqU07"}


def test_figures(weights, bounds):
    found = chapter.claims_of_figures(weights, bounds)
    assert found["P3-Fig01"][0] == (
        "Unweighted 14.0, LW 4.8, CW 2.0; median by maximum LW 0.89, CW 0.70"
    )
    assert failing(found) == set()
    high = bounds | {"CW": bounds["CW"] * 5}
    assert failing(chapter.claims_of_figures(weights, high)) == {"P3-Fig01"}
    low = bounds | {"LW": np.array([4.8, 2.0, 2.0, 0.0])}
    found = chapter.claims_of_figures(weights, low)
    assert failing(found) == {"P3-Fig01", "P3-Fig02"}
    apart = bounds | {"LW": np.array([3.0, 3.0, 3.0, 4.8])}
    assert failing(chapter.claims_of_figures(weights, apart)) == {"P3-Fig01"}
    heavy = weights | {"CW": np.ones(4)}
    assert failing(chapter.claims_of_figures(heavy, bounds)) == {"P3-Fig02"}


def test_setting():
    shifted = [np.array([0.0, 0.4]), np.array([0.5, 1.0])]
    fit = {"constant_data": {"weights": 1}, "posterior": {"mu": 1}}
    assert failing(chapter.claims_of_setting(shifted, fit)) == set()
    beyond = [np.array([-0.2, 0.4]), np.array([0.5, 1.2])]
    assert failing(chapter.claims_of_setting(beyond, fit)) == {"P3-Set07"}
    released = fit | {"posterior": {"mu": 1, "weights": 1}}
    assert failing(chapter.claims_of_setting(shifted, released)) == {"P3-Set09"}
    missing = fit | {"constant_data": {}}
    assert failing(chapter.claims_of_setting(shifted, missing)) == {"P3-Set09"}


def test_bounds(bounds, tradeoff):
    spread = pd.DataFrame({"std": [0.5, 0.4, 0.3]}, index=[100, 300, 1000])

    def fails(bounds=bounds, tradeoff=tradeoff, impossible=(0, 5.4), spread=spread):
        return failing(chapter.claims_of_bounds(bounds, tradeoff, impossible, spread))

    assert fails() == set()
    raised = bounds | {"CW": np.array([4.1, 1, 1, 1])}
    assert fails(bounds=raised) == {"P3-Claim01"}
    assert fails(tradeoff=tradeoff[::-1]) == {"P3-Claim02"}
    assert fails(impossible=(0.1, 5.4)) == {"P3-Claim03"}
    assert fails(impossible=(0, np.inf)) == {"P3-Claim03"}
    assert fails(spread=spread[::-1]) == {"P3-Claim04"}
    assert fails(spread=spread / 3 + 1) == {"P3-Claim04"}
    found = chapter.claims_of_bounds(bounds, tradeoff, (0, 1), spread[:2])
    assert found["P3-Claim04"] == ("sd 0.50 (n = 100), 0.40 (n = 300)", False)


def test_comparison(weights, bounds):
    found = chapter.claims_of_comparison(weights, bounds)
    assert found["P3-Claim05"] == ("LW 0.34, CW 0.14", True)
    assert found["P3-Claim06"] == (
        "below half of the largest: LW 25.0%, CW 50.0%",
        True,
    )
    assert failing(found) == set()
    opposite = weights | {"LW": 1 - weights["LW"]}
    assert failing(chapter.claims_of_comparison(opposite, bounds)) == {"P3-Claim07"}
    same = bounds | {"LW": bounds["CW"]}
    assert "P3-Claim06" in failing(chapter.claims_of_comparison(weights, same))
    high = bounds | {"LW": bounds["LW"] * 2.5}
    assert "P3-Claim05" in failing(chapter.claims_of_comparison(weights, high))


def test_tradeoff(tradeoff):
    assert chapter.claim_of_tradeoff(tradeoff) == {
        "P3-Claim32": ("bound 0.4 to 12.0", True)
    }
    assert failing(chapter.claim_of_tradeoff(tradeoff[::-1]))
    flat = tradeoff.assign(distance=[3, 2, 1.7])
    assert failing(chapter.claim_of_tradeoff(flat)) == {"P3-Claim32"}


def test_censoring():
    distance = {"LW": 2.0, "censored": 10.6}
    found = chapter.claims_of_censoring(5.4, 5.4, distance)
    assert found["P3-Claim34"] == ("bound 5.4; distance 10.6, LW 2.0", True)
    assert failing(found) == set()
    assert failing(chapter.claims_of_censoring(5.5, 5.4, distance)) == {"P3-Claim34"}
    near = distance | {"censored": 1.9}
    assert failing(chapter.claims_of_censoring(5.4, 5.4, near)) == {"P3-Claim34"}


def test_neighbours():
    same = chapter.claim_of_neighbours({"deletions": 1, "changes": 1})
    assert same == {"P3-Claim36": ("1 and 1", True)}
    assert failing(chapter.claim_of_neighbours({"deletions": 1, "changes": 2}))


def test_losses_with_kept_weights(bounds):
    loss = np.array([0.1, 0.2, 0.4, 0.0])
    found = chapter.numbers_of_losses(bounds["LW"], loss)
    assert found == {"kept-loss": 0.4, "kept-delta": 4.8}
    chapter.draw_one_delta(bounds["LW"], loss)
    ax = plt.gca()
    twice, once = (line.get_ydata()[1] for line in ax.lines)
    assert (twice, once) == (9.6, 4.8)
    np.testing.assert_array_equal(ax.collections[0].get_offsets()[:, 1], loss)
    plt.close()


def test_many_small_promises_cost_less_than_their_sum_and_large_ones_do_not():
    # Of the best order: the smallest a with m a epsilon^2 / 2 + log(1 / delta) / (a - 1).
    for epsilon, m in [(0.1, 100), (0.5, 3), (7, 20)]:
        a = 1 + np.geomspace(1e-3, 1e4, 200_001)
        best = (m * a * epsilon**2 / 2 + np.log(1e6) / (a - 1)).min()
        assert chapter.composed(epsilon, m, 1e-6) == pytest.approx(best, rel=1e-6)
    assert chapter.composed(0.1, 100, 1e-6) < 100 * 0.1
    assert chapter.composed(2, 5, 1e-6) > 5 * 2
