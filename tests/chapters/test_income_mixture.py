import income_mixture as chapter
import numpy as np
import pandas as pd
import pytest
from component_draws import BETA, PI, SIGMA, X, draws


def test_quantile_error():
    income = np.arange(1.0, 102)
    levels = np.array([0.25, 0.5])
    np.testing.assert_allclose(
        chapter.quantile_ratio([income, 3 * income], income, levels), 2
    )
    assert chapter.quantile_error([1.1 * income], income, levels) == pytest.approx(10)
    found = chapter.distances(np.array([income, income + 200]), income)
    assert found[chapter.GAP] == pytest.approx(0.5)


def test_risk_and_closeness():
    income = np.array([-100.0, 1000, 1100, 5000])
    people = pd.DataFrame(dict.fromkeys(chapter.PATTERN, ["a"] * 4))
    z = np.array([income, [0, 1500, 1000, 6000]])
    found = chapter.judged(z, income, people)
    assert found[chapter.CLOSE] == pytest.approx((1 + 0.5) / 2)
    # Own values: nobody near to the first and the last, two near to the others.
    assert chapter.risk_of(income, income, people).tolist() == [0.75, 0.5, 0.5, 0.75]
    assert found[chapter.RISK] == pytest.approx(
        chapter.risk_of(z, income, people).mean()
    )
    assert chapter.top(income).tolist() == [False, False, False, True]
    assert found[chapter.TOP] == chapter.risk_of(z, income, people)[3]


def test_density_arguments():
    mean, log_pi, log_sigma = chapter.density_arguments(draws().isel(draw=1), X)
    order = [1, 0, 2]
    np.testing.assert_allclose(mean, BETA[order] @ X.T)
    np.testing.assert_allclose(np.exp(log_pi), PI[order])
    np.testing.assert_allclose(np.exp(log_sigma), SIGMA[order])


def test_the_file_is_the_stand_in():
    income, people = chapter.file(random_seed=1)
    assert len(income) == len(people)
    assert income.min() > -chapter.SHIFT
    assert {*chapter.PATTERN} <= {*people}
