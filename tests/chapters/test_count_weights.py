import count_weights
import numpy as np
import pandas as pd
import pytest
from companion import LEDGER

import pseudopost as pp

Y = np.array([10, 95, 100, 124, 300])


@pytest.fixture
def case():
    "What every statement holds for."
    summary = pd.DataFrame(
        {"bound": [9.0, 5.0, 4.0], "mean weight": [1, 0.9, 0.4], "phi": [14, 15, 20]}
        | {"sd": [29, 28, 22]},
        index=["Unweighted", "LW", "CW"],
    )
    grid = pd.MultiIndex.from_product([(0, 0.1), (0.1, 0.2)], names=["g", "r"])
    radii = pd.DataFrame(
        {"bound": [1.0, 4.0, 2.0, 5.0], "distance": [3.0, 2.0, 0.5, 1.0]}, index=grid
    )
    return {
        "y": Y,
        "risk": 1 - pp.count_weights(Y, radius=0.2),
        "summary": summary,
        "radii": radii,
        "correlation": 0.8,
    }


def failing(case):
    found = count_weights.claims(**case)
    return {key for key, (_, holds) in found.items() if not holds}


def test_every_statement_holds_where_it_should(case):
    assert not failing(case)
    assert set(count_weights.claims(**case)) <= set(pd.read_csv(LEDGER)["id"])


def test_statements_fail_where_they_should(case):
    assert failing(case | {"risk": case["risk"] + 0.1}) == {"P3-EqU09"}
    assert failing(case | {"correlation": 0.4}) == {"P3-Claim31"}
    case["radii"].loc[(0.1, 0.1), "bound"] = np.inf
    assert failing(case) == {"P3-Claim37"}
    case["summary"].loc["CW", "bound"] = 9.5
    assert failing(case) == {"P3-Alg3", "P3-Claim37"}


def test_a_radius_may_not_raise_the_bound(case):
    case["radii"].loc[(0.1, 0.2), "bound"] = 9.5
    assert failing(case) == {"P3-Claim37"}


def test_a_risk_of_one_is_refused():
    assert not count_weights.is_share_outside(np.array([0.5, 1.0]), np.array([0.5, 1]))


def test_share_outside_by_hand():
    outside = count_weights.share_outside(Y)
    assert np.allclose(outside, [4 / 5, 3 / 5, 3 / 5, 3 / 5, 4 / 5])
    assert np.allclose(outside, 1 - pp.count_weights(Y, radius=0.2))


def test_four_statistics_of_each_file():
    x = np.random.default_rng(1).poisson(100, (3, 50))
    found = count_weights.four_statistics(x)
    assert found.shape == (4, 3)
    expected = [*np.quantile(x[1], [0.15, 0.9]), x[1].mean(), np.median(x[1])]
    assert np.allclose(found[:, 1], expected)


def test_rank_correlation_is_with_the_share_outside():
    assert np.isclose(count_weights.rank_correlation([1, 2, 9], np.array([3, 2, 1])), 1)


def test_numbers_of_the_text(case):
    found = count_weights.text_on_radii(case["radii"])
    assert found == {
        "best-g": 0.1,
        "best-percent": 10,
        "best-distance": 0.5,
        "best-unshifted": 2,
    }
    assert count_weights.text_on_fits(case["summary"])["cw-epsilon"] == 8
    found = count_weights.text_on_weights(Y, np.arange(5), 10 * np.arange(5))
    assert (found["cw-160"], found["lw-40"], found["cw-max"]) == (30, 0, 40)


def test_numbers_of_the_price():
    columns = ["mean risk, 200 files", "distance from the data"]
    table = [[0.22, 1.8], [0.21, 2.0], [0.19, 6.8]]
    price = pd.DataFrame(table, ["Unweighted", "LW", "CW"], columns)
    files = {"Unweighted": np.array([[79, 81, 119, 121]]), "CW": np.array([[90, 200]])}
    found = count_weights.text_on_price(Y, price, files)
    assert found == {
        "risk-Unweighted": 0.22,
        "distance-Unweighted": 1.8,
        "close-Unweighted": 50,
        "risk-CW": 0.19,
        "distance-CW": 6.8,
        "close-CW": 50,
    }
