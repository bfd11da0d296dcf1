import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pseudopost.datasets import (
    consumer_expenditure,
    lognormal_mixture,
    negative_binomial_mixture,
)
from pseudopost.mixture import design_matrix

N = 200_000
SINGLE = {"mu": (50,), "phi": (4,), "shares": (1,)}
THREE = {"mu": (2, 30, 80), "phi": (0.5, 10, 3), "shares": (0.5, 0.3, 0.2)}
DEFAULT = {"mu": (100, 100), "phi": (5, 20), "shares": (0.2, 0.8)}
CASES = pytest.mark.parametrize(
    "options", [DEFAULT, SINGLE, THREE], ids=["default", "single", "three"]
)


def components(options):
    mu, phi = np.array(options["mu"]), np.array(options["phi"])
    return stats.nbinom(phi, phi / (phi + mu))


def cdf(options, k):
    return components(options).cdf(np.reshape(k, (-1, 1))) @ options["shares"]


@pytest.fixture(scope="module")
def large():
    return negative_binomial_mixture(N)


@pytest.mark.parametrize(
    ("options", "mean", "variance"),
    [
        # 100 + 0.2 * 100^2 / 5 + 0.8 * 100^2 / 20
        (DEFAULT, 100, 900),
        # 50 + 50^2 / 4
        (SINGLE, 50, 675),
    ],
)
def test_moments(options, mean, variance):
    y = negative_binomial_mixture(N, **options)
    assert y.mean() == pytest.approx(mean, abs=4 * np.sqrt(variance / N))
    fourth = np.mean((y - y.mean()) ** 4)
    assert y.var() == pytest.approx(
        variance, abs=4 * np.sqrt((fourth - variance**2) / N)
    )


@CASES
def test_distribution(options):
    y = negative_binomial_mixture(N, **options)
    k = np.arange(y.max() + 1)
    observed = np.searchsorted(np.sort(y), k, "right") / N
    # A larger distance has probability below 1e-6 (Dvoretzky-Kiefer-Wolfowitz-Massart).
    assert np.abs(observed - cdf(options, k)).max() < np.sqrt(np.log(2e6) / (2 * N))


def test_defaults(large):
    np.testing.assert_array_equal(large, negative_binomial_mixture(N, **DEFAULT))
    assert len(negative_binomial_mixture()) == 1000


@pytest.mark.parametrize(("level", "value"), [(0.15, 71), (0.5, 98), (0.9, 137)])
def test_quantiles(large, level, value):
    below, at = cdf(DEFAULT, [value - 1, value])
    assert below < level <= at
    # Four standard errors are at most 0.7 of a count.
    error = np.sqrt(level * (1 - level) / N) / (at - below)
    assert 4 * error < 0.7
    assert np.quantile(large, level) == pytest.approx(value, abs=1)


def test_dispersions_belong_to_their_shares():
    # With phi = 5 for 80%: 100 + 0.8 * 100^2 / 5 + 0.2 * 100^2 / 20.
    swapped = negative_binomial_mixture(N, phi=(20, 5))
    fourth = np.mean((swapped - swapped.mean()) ** 4)
    assert swapped.var() == pytest.approx(1800, abs=4 * np.sqrt((fourth - 1800**2) / N))


def test_component_with_share_zero():
    y = negative_binomial_mixture(2000, mu=(1, 1e6), phi=(5, 5), shares=(1, 0))
    assert y.max() < 100


@pytest.mark.parametrize("n", [1, 7])
def test_returns_counts(n):
    y = negative_binomial_mixture(n)
    assert y.shape == (n,)
    assert np.issubdtype(y.dtype, np.integer)


def test_seed():
    first, again, other = (
        negative_binomial_mixture(random_seed=seed) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"shares": (0.2, 0.7)}, r"shares must sum to 1; they sum to 0\.9$"),
        ({"shares": (0.5, 0.6)}, r"shares must sum to 1; they sum to 1\.1$"),
        (
            {"shares": (-0.5, 1.5)},
            re.escape("shares must lie in [0, 1]; record 0 has -0.5"),
        ),
        ({"shares": (1,)}, "mu must have length 1; got length 2"),
        ({"mu": (100,)}, "mu must have length 2; got length 1"),
        ({"phi": (5, 20, 30)}, "phi must have length 2; got length 3"),
        ({"phi": (5, 0)}, "phi must .*; record 1 has 0"),
        ({"phi": (-5, 1)}, "phi must .*; record 0 has -5"),
        ({"mu": (0, 100)}, "mu must .*; record 0 has 0"),
        ({"mu": (100, np.nan)}, "mu must be finite; record 1 has nan"),
        ({"phi": (np.inf, 5)}, "phi must be finite; record 0 has inf"),
        ({"n": 0}, "n must be a whole number of at least 1; got 0"),
        ({"n": 10.0}, r"n must be a whole number of at least 1; got 10\.0"),
        (
            {"random_seed": -1},
            "random_seed must be a whole number of at least 0; got -1",
        ),
    ],
)
def test_errors(options, text):
    with pytest.raises(ValueError, match=text):
        negative_binomial_mixture(**options)


@pytest.mark.parametrize("seed", range(1, 6))
def test_two_modes_and_a_long_tail(seed):
    file = lognormal_mixture(random_seed=seed)
    assert file.shape == (1000, 16)
    log_value = np.log(file["value"].to_numpy())
    density = stats.gaussian_kde(log_value, 0.2)
    grid = np.linspace(-4, 2, 601)
    height = density(grid)
    peaks = np.exp(
        grid[1:-1][(height[1:-1] > height[:-2]) & (height[1:-1] > height[2:])]
    )
    assert len(peaks) == 2
    np.testing.assert_allclose(peaks, [0.1, 1], rtol=0.15)
    assert 2.5 < file["value"].max() < 5.5


def test_levels_and_patterns():
    file = lognormal_mixture()
    assert [file[f"x{j}"].nunique() for j in range(1, 16)] == [2] * 6 + [3] * 9
    sizes = file.groupby([f"x{j}" for j in range(1, 6)], observed=True).size()
    assert len(sizes) == 32
    assert sizes.between(15, 50).all()


@pytest.mark.parametrize("component", [0, 1])
@pytest.mark.parametrize("spread", [0.1, 0.7])
@pytest.mark.parametrize("noise", [0.05, 0.2])
def test_variance_that_the_columns_explain(component, spread, noise):
    # The other component gets other values, which must not matter.
    file = lognormal_mixture(
        20_000,
        shares=np.eye(2)[component],
        spread=np.where(np.arange(2) == component, spread, 9),
        noise=np.where(np.arange(2) == component, noise, 9),
    )
    log_value = np.log(file["value"].to_numpy())
    X = pd.get_dummies(file.drop(columns="value"), dtype=float).to_numpy()
    fitted = X @ np.linalg.lstsq(X, log_value)[0]
    error = 4 / np.sqrt(len(file))
    np.testing.assert_allclose((log_value - fitted).std(), noise, rtol=error)
    if component == 0:
        fitted -= np.where(file["x6"] == 1, 0, np.log(0.1))
        assert abs(np.mean(fitted)) < error * noise + 0.01
    else:
        assert np.exp(fitted.mean()) == pytest.approx(0.75, rel=error * noise)
    np.testing.assert_allclose(fitted.std(), spread, rtol=0, atol=error * noise)


def test_shares_of_the_components():
    n = 50_000
    sharp = {"spread": [0, 0], "noise": [0, 0]}
    value = lognormal_mixture(n, shares=[0.3, 0.7], **sharp)["value"].to_numpy()
    for level, share in ((0.1, 0.3 * 0.4), (1.0, 0.3 * 0.6), (0.75, 0.7)):
        error = 4 * np.sqrt(share * (1 - share) / n)
        assert np.isclose(value, level).mean() == pytest.approx(share, abs=error)


def test_seed_of_the_lognormal_mixture():
    same = [lognormal_mixture(50, random_seed=s) for s in (3, 3, 4)]
    pd.testing.assert_frame_equal(same[0], same[1])
    assert not same[0].equals(same[2])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n": 1}, "n must be a whole number of at least 2; got 1"),
        ({"shares": [1]}, "shares must have length 2; got length 1"),
        ({"shares": [0.5, 0.6]}, "shares must sum to 1; they sum to 1.1"),
        ({"shares": [1.5, -0.5]}, "shares must lie in [0, 1]; record 0 has 1.5"),
        ({"spread": [1, -1]}, "spread must be at least 0; record 1 has -1"),
        ({"noise": [np.nan, 1]}, "noise must be finite; record 0 has nan"),
    ],
)
def test_errors_of_the_lognormal_mixture(options, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        lognormal_mixture(**options)


# P1, section 1.1; P2, Table 1.
CE_LEVELS = {
    "gender": 2,
    "age": 5,
    "education": 8,
    "region": 4,
    "urban": 2,
    "marital": 5,
    "urban_type": 3,
    "cbsa": 3,
    "family_size": 11,
    "earner": 2,
}
# An interval of P2's Table 4 is 1.96 standard errors to each side of the mean.
CE_SD = (74053.50 - 70127.02) / (2 * 1.96) * np.sqrt(6208)


@pytest.fixture(scope="module", params=range(1, 7))
def households(request):
    return consumer_expenditure(random_seed=request.param)


def test_columns_of_the_consumer_file(households):
    assert [*households] == ["income", *CE_LEVELS]
    assert len(households) == 6208
    for name, count in CE_LEVELS.items():
        assert isinstance(households[name].dtype, pd.CategoricalDtype)
        assert len(households[name].cat.categories) == count
        assert households[name].nunique() == count
    assert [households[name].cat.categories[0] for name in ("gender", "earner")] == [
        "Male",
        "Earner",
    ]


def test_design_matrix_of_the_consumer_file(households):
    X, names, _ = design_matrix(households.drop(columns="income"), 6208)
    assert len(names) == 36
    assert np.linalg.matrix_rank(X) == 36
    assert np.linalg.cond(X) < 200


def test_patterns_of_the_consumer_file(households):
    sizes = households.groupby(["gender", "age", "region"], observed=True).size()
    assert len(sizes) == 40
    assert sizes.between(10, 450).all()


def test_published_incomes(households):
    income = households["income"].to_numpy()
    # The order of incomes differs between seeds, their distribution hardly: the mean
    # has a standard deviation of about 30 over seeds.
    assert income.mean() == pytest.approx(72090.26, abs=200)
    assert income.std() == pytest.approx(CE_SD, rel=0.035)
    quantiles = np.quantile(income, [0.5, 0.9, 0.975])
    np.testing.assert_allclose(quantiles, [50225.15, 153916.30, 270_000], rtol=0.01)
    assert (income.min(), income.max()) == (-7000, 1_800_000)
    # P2, Table 3.
    assert 3 <= (income > 1e6).sum() <= 4
    assert 5 <= (income < 0).sum() <= 15
    assert 10 <= (income == 0).sum() <= 25


def test_published_coefficient(households):
    X, names, _ = design_matrix(households[["region", "urban", "earner"]], 6208)
    coefficients = np.linalg.lstsq(X, households["income"].to_numpy())[0]
    # The standard deviation over seeds is about 1,100.
    assert "earner" in names[-1]
    assert coefficients[-1] == pytest.approx(-45826.20, abs=5000)


def test_income_given_the_predictors(households):
    some = households[households["income"] > 0]
    X, _, _ = design_matrix(some.drop(columns="income"), len(some))
    log_income = np.log(some["income"].to_numpy())
    residual = log_income - X @ np.linalg.lstsq(X, log_income)[0]
    assert 0.6 < residual.std() < 0.9
    assert 0.3 < 1 - residual.var() / log_income.var() < 0.5
    # More unusually low incomes than one normal distribution has.
    assert stats.skew(residual) < -1


def test_relations_between_columns(households):
    married = households["marital"] == "Married"
    single = households["family_size"] == "1"
    assert single[married].mean() < 0.05 < 0.5 < single[~married].mean()
    old = households["age"] == "65 and over"
    idle = households["earner"] == "Not an earner"
    assert idle[~old].mean() < 0.2 < 0.6 < idle[old].mean()
    rural = households["urban"] == "Rural"
    assert (households.loc[rural, "urban_type"] == "Rural").all()
    assert 0.03 < rural.mean() < 0.08
    outside = households["cbsa"] == "Outside a CBSA"
    assert rural[~outside].mean() < 0.02 < 0.2 < rural[outside].mean() < 0.6


def test_rounded_incomes(households):
    income = households["income"].to_numpy()
    assert income.dtype == np.int64
    for step, share in [(1000, 0.36), (5000, 0.13), (10_000, 0.075)]:
        assert (income % step == 0).mean() == pytest.approx(share, abs=0.02)
    # Incomes below 5,000 dollars are not rounded.
    small = income[(income > 0) & (income < 4000)]
    assert (small % 1000 == 0).mean() < 0.02
    assert (income == 50_000).sum() > 30


def test_few_households():
    file = consumer_expenditure(30)
    assert file.shape == (30, 11)
    for name in CE_LEVELS:
        assert file[name].nunique() == len(file[name].cat.categories)
    assert consumer_expenditure(1).shape == (1, 11)


def test_seed_of_the_consumer_file():
    first, again, other = (consumer_expenditure(500, seed) for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(first, again)
    assert (first["income"] != other["income"]).any()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n": 0}, "n must be a whole number of at least 1; got 0"),
        ({"n": 10.5}, "n must be a whole number of at least 1; got 10.5"),
        ({"random_seed": -1}, "random_seed must be a whole number of at least 0"),
    ],
)
def test_errors_of_the_consumer_file(options, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        consumer_expenditure(**options)
