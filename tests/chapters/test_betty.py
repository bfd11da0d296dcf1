import betty
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

import pseudopost as pp

LOGS = np.log(betty.OTHERS)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("weight", [0, 0.1, 0.5, 1])
@pytest.mark.parametrize("spread", [0.1, 0.2])
def test_released_income_is_drawn_from_the_pseudo_posterior(weight, spread):
    between = np.sqrt(LOGS.var(ddof=1) - spread**2)
    centre = np.linspace(1, 6, 20_001)
    said = stats.norm.pdf(np.log(betty.BETTY), centre, spread) ** weight
    posterior = stats.norm.pdf(centre, LOGS.mean(), between) * said
    posterior /= posterior.sum()
    found = betty.released_log_income(weight, spread=spread)
    mean = posterior @ centre
    variance = posterior @ (centre - mean) ** 2 + spread**2
    assert found.mean() == pytest.approx(mean)
    assert found.std() == pytest.approx(np.sqrt(variance))
    ball = np.log([40, 60])
    inside = (
        posterior @ np.diff(stats.norm.cdf(ball[:, None], centre, spread), axis=0)[0]
    )
    assert betty.chance_of_close(weight, spread=spread) == pytest.approx(inside)


def test_without_a_weight_she_is_one_of_the_others():
    found = betty.released_log_income(0)
    assert found.mean() == pytest.approx(LOGS.mean())
    assert found.std() == pytest.approx(LOGS.std(ddof=1))


@pytest.mark.parametrize("weight", [0.3, 1])
def test_identification_risk_is_that_of_simulated_releases(weight):
    rng = np.random.default_rng(1)
    true = np.append(betty.BETTY, betty.OTHERS)
    weights = [weight, *[1] * 12]
    laws = map(betty.released_log_income, weights, true)
    released = np.exp([law.rvs(20_000, random_state=rng) for law in laws]).T
    risk = pp.identification_risk(true, released, radius=betty.RADIUS)[0]
    assert betty.identification_risk(weight) == pytest.approx(risk, abs=0.01)


def test_pattern_is_what_the_sliders_need():
    pattern = betty.pattern()
    assert list(map(int, pattern["others"].split())) == list(betty.OTHERS)
    assert pattern["mean"] == LOGS.mean()
    assert pattern["variance"] == LOGS.var(ddof=1)


def test_curves_of_the_first_page_are_densities_of_incomes():
    betty.draw_two_weights()
    ax = plt.gca()
    for line, weight in zip(ax.lines, (1, 0.1), strict=False):
        x, density = line.get_data()
        law = betty.released_log_income(weight)
        mass = np.sum((density[1:] + density[:-1]) / 2 * np.diff(x))
        assert mass == pytest.approx(np.diff(law.cdf(np.log(x[[0, -1]])))[0], abs=1e-3)
        assert f"weight {weight:g}" in line.get_label()


def test_powers_have_their_tops_at_her_income():
    betty.draw_powers()
    for line, weight in zip(plt.gca().lines, (1, 0.5, 0.1, 0), strict=True):
        x, y = line.get_data()
        at_her_income = np.interp(betty.BETTY, x, y)
        assert at_her_income == pytest.approx(1, abs=1e-3)
        assert np.interp(20, x, y) == pytest.approx(
            np.exp(-0.5 * weight * (np.log(20 / 50) / betty.SPREAD) ** 2), rel=1e-6
        )


def test_diamonds_are_her_weights():
    betty.draw_curves()
    risk = betty.identification_risk(1)
    diamonds = [line for line in plt.gca().lines if line.get_marker() == "D"]
    found = [line.get_ydata()[0] for line in diamonds]
    assert found == [pp.marginal_weights([risk])[0], pp.sigmoid_weights([risk])[0]]
    assert all(line.get_xdata()[0] == risk for line in diamonds)
