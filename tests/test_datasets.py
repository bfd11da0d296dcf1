import re
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pseudopost as pp
from pseudopost.datasets import (
    consumer_expenditure,
    lognormal_mixture,
    negative_binomial_mixture,
    read_consumer_expenditure,
)

DATA = Path(__file__).parents[1] / "data"
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
    return negative_binomial_mixture(N, random_seed=1)


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
    y = negative_binomial_mixture(N, **options, random_seed=1)
    assert y.mean() == pytest.approx(mean, abs=4 * np.sqrt(variance / N))
    fourth = np.mean((y - y.mean()) ** 4)
    assert y.var() == pytest.approx(
        variance, abs=4 * np.sqrt((fourth - variance**2) / N)
    )


@CASES
def test_distribution(options):
    y = negative_binomial_mixture(N, **options, random_seed=1)
    k = np.arange(y.max() + 1)
    observed = np.searchsorted(np.sort(y), k, "right") / N
    # A larger distance has probability below 1e-6 (Dvoretzky-Kiefer-Wolfowitz-Massart).
    assert np.abs(observed - cdf(options, k)).max() < np.sqrt(np.log(2e6) / (2 * N))


def test_defaults(large):
    same = negative_binomial_mixture(N, **DEFAULT, random_seed=1)
    np.testing.assert_array_equal(large, same)
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
    swapped = negative_binomial_mixture(N, phi=(20, 5), random_seed=1)
    fourth = np.mean((swapped - swapped.mean()) ** 4)
    assert swapped.var() == pytest.approx(1800, abs=4 * np.sqrt((fourth - 1800**2) / N))


def test_component_with_share_zero():
    y = negative_binomial_mixture(
        2000, mu=(1, 1e6), phi=(5, 5), shares=(1, 0), random_seed=1
    )
    assert y.max() < 100


@pytest.mark.parametrize("n", [1, 7])
def test_returns_counts(n):
    y = negative_binomial_mixture(n)
    assert isinstance(y, pd.Series)
    assert y.name == "count"
    assert y.index.tolist() == list(range(n))
    assert np.issubdtype(y.dtype, np.integer)


@pytest.mark.parametrize(
    "generate",
    [
        negative_binomial_mixture,
        lognormal_mixture,
        consumer_expenditure,
        pp.datasets.doctorate_salary,
    ],
)
def test_a_seed_of_its_own_is_drawn_and_kept(generate):
    files = [generate(50) for _ in range(2)]
    seeds = [file.attrs["random_seed"] for file in files]
    assert seeds[0] != seeds[1]
    assert not files[0].equals(files[1])
    for file, seed in zip(files, seeds, strict=True):
        again = generate(50, random_seed=seed)
        assert again.equals(file)
        assert again.attrs == file.attrs == {"random_seed": seed}


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
    file = lognormal_mixture(random_seed=1)
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
        random_seed=1,
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
    sharp = {"spread": [0, 0], "noise": [0, 0], "random_seed": 1}
    value = lognormal_mixture(n, shares=[0.3, 0.7], **sharp)["value"].to_numpy()
    for level, share in ((0.1, 0.3 * 0.4), (1.0, 0.3 * 0.6), (0.75, 0.7)):
        error = 4 * np.sqrt(share * (1 - share) / n)
        assert np.isclose(value, level).mean() == pytest.approx(share, abs=error)


@pytest.mark.parametrize("upper", [0, 0.3, 1])
def test_share_of_the_upper_mode(upper):
    sharp = {"shares": [1, 0], "spread": [0, 0], "noise": [0, 0], "random_seed": 1}
    value = lognormal_mixture(50_000, upper=upper, **sharp)["value"].to_numpy()
    error = 4 * np.sqrt(upper * (1 - upper) / 50_000)
    assert np.isclose(value, 1).mean() == pytest.approx(upper, abs=error)
    assert np.isclose(value, 0.1).mean() == pytest.approx(1 - upper, abs=error)


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
        ({"upper": 1.1}, "upper must be a finite number in [0, 1]; got 1.1"),
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
    X, names, *_ = pp.design_matrix(households.drop(columns="income"), 6208)
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
    X, names, *_ = pp.design_matrix(households[["region", "urban", "earner"]], 6208)
    coefficients = np.linalg.lstsq(X, households["income"].to_numpy())[0]
    # The standard deviation over seeds is about 1,100.
    assert "earner" in names[-1]
    assert coefficients[-1] == pytest.approx(-45826.20, abs=5000)


def test_income_given_the_predictors(households):
    some = households[households["income"] > 0]
    X = pp.design_matrix(some.drop(columns="income"), len(some)).X
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
    file = consumer_expenditure(30, random_seed=1)
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


# --- Public interview files -----------------------------------------------------------

UNIT = {
    "NEWID": "03600014",
    "AGE_REF": "44",
    "SEX_REF": "2",
    "EDUC_REF": "13",
    "REGION": "3",
    "BLS_URBN": "1",
    "MARITAL1": "3",
    "POPSIZE": "4",
    "SMSASTAT": "1",
    "FAM_SIZE": "3",
    "EARNCOMP": "4",
    "INCNONW1": "",
    "FINCBTXM": "50123.4",
    "FINCBTAX": "48000",
}
UNIT_READ = {
    "income": 50123.4,
    "gender": "Female",
    "age": "35 to 49",
    "education": "Some college",
    "region": "South",
    "urban": "Urban",
    "marital": "Divorced",
    "urban_type": "Urbanized area",
    "cbsa": "Medium area",
    "family_size": "3",
    "earner": "Earner",
}
AGES = {
    **dict.fromkeys(["0", "16", "24", "24.0"], "Under 25"),
    **dict.fromkeys(["25", "34"], "25 to 34"),
    **dict.fromkeys(["35", "49"], "35 to 49"),
    **dict.fromkeys(["50", "64"], "50 to 64"),
    **dict.fromkeys(["65", "87", "99"], "65 and over"),
}
SIZES = {str(size): str(size) for size in range(1, 11)}
SIZES |= dict.fromkeys(["11", "12", "29"], "11 or more")
MARITAL_CODES = {
    "1": "Married",
    "2": "Widowed",
    "3": "Divorced",
    "4": "Separated",
    "5": "Never married",
}
SIZE_OF_PLACE = {
    "1": "Large area",
    "2": "Large area",
    "3": "Medium area",
    "4": "Medium area",
    "5": "Small area",
    "": "Suppressed",
}
# By the Bureau's dictionary: column read, better columns to leave out, codes.
CODES = {
    "gender": [
        ("SEX_REF", [], {"1": "Male", "2": "Female"}),
        ("SEX", ["SEX_REF"], {"M": "Male", "F": "Female"}),
    ],
    "age": [("AGE_REF", [], AGES), ("AGE", ["AGE_REF"], AGES)],
    "education": [
        (
            "EDUC_REF",
            [],
            {
                "00": "None",
                "10": "Grades 1 to 8",
                "11": "Grades 9 to 12",
                "12": "High school",
                "13": "Some college",
                "14": "Associate's degree",
                "15": "Bachelor's degree",
                "16": "Graduate degree",
                "17": "Graduate degree",
            },
        ),
        (
            "EDUCA",
            ["EDUC_REF"],
            {
                "1": "None",
                "2": "Grades 1 to 8",
                "3": "Grades 9 to 12",
                "4": "High school",
                "5": "Some college",
                "6": "Associate's degree",
                "7": "Bachelor's degree",
                "8": "Graduate degree",
            },
        ),
    ],
    "region": [
        (
            "REGION",
            [],
            {
                "1": "Northeast",
                "2": "Midwest",
                "3": "South",
                "4": "West",
                "": "Suppressed",
            },
        )
    ],
    "urban": [("BLS_URBN", [], {"1": "Urban", "2": "Rural"})],
    "marital": [
        ("MARITAL1", [], MARITAL_CODES),
        ("MARITAL", ["MARITAL1"], MARITAL_CODES),
        (
            "FAM_TYPE",
            ["MARITAL1"],
            dict.fromkeys("12345", "Married") | dict.fromkeys("6789", "Not married"),
        ),
    ],
    "urban_type": [
        (
            "SMSASTAT",
            [],
            {"1": "Urbanized area", "2": "Urban cluster", "": "Suppressed"},
        ),
        (
            "POPSIZE",
            ["SMSASTAT"],
            dict.fromkeys("1234", "Urbanized area")
            | {"5": "Urban cluster", "": "Suppressed"},
        ),
    ],
    "cbsa": [("POPSIZE", [], SIZE_OF_PLACE)],
    "family_size": [("FAM_SIZE", [], SIZES)],
    "earner": [
        (
            "EARNCOMP",
            [],
            dict.fromkeys("1234", "Earner") | dict.fromkeys("5678", "Not an earner"),
        ),
        ("EARNER", ["EARNCOMP"], {"Y": "Earner", "N": "Not an earner"}),
        (
            "INCNONW1",
            ["EARNCOMP"],
            {"": "Earner"} | dict.fromkeys("123456", "Not an earner"),
        ),
    ],
}


def interview(**columns):
    """Interview file that repeats UNIT in the other columns; one of None is left out."""
    columns = {k: v for k, v in (UNIT | columns).items() if v is not None}
    n = max([len(v) for v in columns.values() if isinstance(v, list)], default=1)
    return pd.DataFrame(columns, index=range(n)).to_csv(index=False)


def every_code(n):
    """Interview file of n consumer units with every code of every column."""
    codes = {reads[0][0]: [*reads[0][2]][::-1] for reads in CODES.values()}
    codes["BLS_URBN"] = ["2", "1", "1", "1", "1", "1", "1"]
    return interview(
        FINCBTXM=[str(1000 + 10 * i) for i in range(n)],
        **{column: [of[i % len(of)] for i in range(n)] for column, of in codes.items()},
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fmli171x.csv"


@pytest.fixture
def read(path):
    def read(text):
        path.write_text(text)
        return read_consumer_expenditure(path)

    return read


def test_one_consumer_unit(read):
    file = read(interview())
    assert file.to_dict("records") == [UNIT_READ]
    assert [*file] == [*consumer_expenditure(1)]


@pytest.mark.parametrize(
    ("name", "column", "without", "codes"),
    [(name, *how) for name, reads in CODES.items() for how in reads],
)
def test_codes_of_the_bureau(read, name, column, without, codes):
    columns = dict.fromkeys(without) | {column: [*codes]}
    assert read(interview(**columns))[name].tolist() == [*codes.values()]


@pytest.mark.parametrize("without", [{}, {"SMSASTAT": None}])
def test_rural_units_are_rural_whatever_the_place(read, without):
    file = read(
        interview(
            BLS_URBN="2",
            **{"SMSASTAT": ["1", "2", "", "1"]} | without,
            POPSIZE=[*"135", ""],
        )
    )
    assert file["urban_type"].tolist() == ["Rural"] * 4
    assert file["cbsa"].tolist() == [
        SIZE_OF_PLACE[code] for code in ["1", "3", "5", ""]
    ]


def test_income(read):
    incomes = ["-638000", "0", "1259.25", " 1403749 ", "007", "-0.5"]
    values = [-638000, 0, 1259.25, 1403749, 7, -0.5]
    assert read(interview(FINCBTXM=incomes))["income"].tolist() == values
    file = read(interview(FINCBTXM=None, FINCBTAX=incomes))
    assert file["income"].tolist() == values


def test_best_column_is_read(read):
    worse = {
        "FINCBTAX": "1",
        "AGE": "20",
        "SEX": "M",
        "EDUCA": "1",
        "MARITAL": "5",
        "FAM_TYPE": "1",
        "EARNER": "N",
        "INCNONW1": "1",
    }
    assert read(interview(**worse)).to_dict("records") == [UNIT_READ]
    second = read(
        interview(**worse | {"MARITAL1": None, "EARNCOMP": None, "EARNER": "Y"})
    )
    assert second["marital"].tolist() == ["Never married"]
    assert second["earner"].tolist() == ["Earner"]


@pytest.mark.parametrize(
    ("name", "column", "spellings", "level"),
    [
        ("gender", "SEX_REF", ["1", "01", "1.0", " 1 ", "001", "01.0"], "Male"),
        ("education", "EDUC_REF", ["00", "0", "0.0", "000"], "None"),
        ("education", "EDUC_REF", ["10", "10.0", "010"], "Grades 1 to 8"),
        ("region", "REGION", ["", "NA", " .", " NA"], "Suppressed"),
        ("cbsa", "POPSIZE", ["", "NA", " .", " NA"], "Suppressed"),
        ("urban_type", "SMSASTAT", ["", "NA", " .", " NA"], "Suppressed"),
    ],
)
def test_spellings_of_a_code(read, name, column, spellings, level):
    file = read(interview(**{column: spellings}))
    assert file[name].tolist() == [level] * len(spellings)


def test_blank_reason_is_an_earner(read):
    file = read(interview(EARNCOMP=None, INCNONW1=["", "NA", ".", "1"]))
    assert file["earner"].tolist() == ["Earner"] * 3 + ["Not an earner"]


def quoted(text):
    return re.sub("[^,\n]+", r'"\g<0>"', text)


def with_row_names(text):
    header, *rows = text.splitlines()
    return "\n".join([header, *(f"unit {i},{row}" for i, row in enumerate(rows))])


@pytest.mark.parametrize(
    "variant",
    [
        str.lower,
        quoted,
        with_row_names,
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("NEWID", "DIRACC,DIRACC_,NEWID").replace(
            "03600014", "1,D,03600014"
        ),
    ],
    ids=["lower case", "quoted", "row names", "mark", "carriage returns", "more"],
)
def test_variants_of_the_format(path, variant):
    path.write_bytes(variant(interview(SEX_REF=["1", "2"])).encode())
    file = read_consumer_expenditure(path)
    assert file.to_dict("records") == [UNIT_READ | {"gender": "Male"}, UNIT_READ]


@pytest.mark.parametrize("variant", [str, with_row_names])
def test_records_are_numbered(read, variant):
    file = read(variant(interview(SEX_REF=["1", "2", "1"])))
    assert file.index.equals(pd.RangeIndex(3))


def test_open_files(path):
    path.write_text(interview())
    with path.open() as file:
        assert read_consumer_expenditure(file).to_dict("records") == [UNIT_READ]
    with path.open("rb") as file:
        assert read_consumer_expenditure(file).to_dict("records") == [UNIT_READ]
    assert read_consumer_expenditure(str(path)).to_dict("records") == [UNIT_READ]


@pytest.fixture
def year(tmp_path):
    with zipfile.ZipFile(tmp_path / "intrvw17.zip", "w") as year:
        year.writestr("intrvw17/fmli171x.csv", interview())
        year.writestr("intrvw17/mtbi171x.csv", "NEWID,UCC,COST\n1,2,3\n")
    return tmp_path / "intrvw17.zip"


def test_file_inside_of_a_zip_file(year):
    with zipfile.ZipFile(year) as file, file.open("intrvw17/fmli171x.csv") as quarter:
        assert read_consumer_expenditure(quarter).to_dict("records") == [UNIT_READ]


def test_zip_file_of_a_year(year):
    with pytest.raises(ValueError, match=re.escape("intrvw17/fmli171x.csv")):
        read_consumer_expenditure(year)


def test_levels_of_an_interview_file(read):
    public, own = read(every_code(60)), consumer_expenditure(random_seed=1)
    places = {
        "region": [*own["region"].cat.categories, "Suppressed"],
        "urban_type": [*own["urban_type"].cat.categories, "Suppressed"],
        "cbsa": ["Large area", "Medium area", "Small area", "Suppressed"],
    }
    for name in CE_LEVELS:
        levels = places.get(name, [*own[name].cat.categories])
        assert [*public[name].cat.categories] == levels
        assert public[name].cat.ordered == own[name].cat.ordered


def test_levels_that_do_not_occur_are_left_out(read):
    file = read(interview(REGION=["", "4", "2"], AGE_REF=["70", "30", "30"]))
    assert [*file["region"].cat.categories] == ["Midwest", "West", "Suppressed"]
    assert [*file["age"].cat.categories] == ["25 to 34", "65 and over"]
    assert [*file["cbsa"].cat.categories] == ["Medium area"]


def test_levels_of_the_type_of_family(read):
    file = read(interview(MARITAL1=None, FAM_TYPE=["8", "1"]))
    assert [*file["marital"].cat.categories] == ["Married", "Not married"]


def test_interview_file_can_be_synthesized(read):
    file = read(every_code(200))
    with pytest.warns(UserWarning, match="'urban_type=Rural' is 'urban=Rural'"):
        model = pp.MixtureSynthesizer(file["income"], file.drop(columns="income"))
    assert model.baselines == {
        "gender": "Male",
        "age": "Under 25",
        "education": "Graduate degree",
        "region": "Northeast",
        "urban": "Urban",
        "marital": "Married",
        "urban_type": "Urbanized area",
        "cbsa": "Large area",
        "family_size": "1",
        "earner": "Earner",
    }


def ce_error(text):
    return pytest.raises(ValueError, match="^" + re.escape(text) + "$")


@pytest.mark.parametrize(
    ("without", "text"),
    [
        (["SEX_REF"], "SEX_REF or SEX"),
        (["POPSIZE"], "POPSIZE"),
        (["FAM_SIZE", "REGION"], "FAM_SIZE, no REGION"),
        (["FINCBTXM", "FINCBTAX"], "FINCBTXM or FINCBTAX"),
        (["EARNCOMP", "INCNONW1"], "EARNCOMP or EARNER or INCNONW1"),
        (["SMSASTAT", "POPSIZE"], "SMSASTAT or POPSIZE, no POPSIZE"),
    ],
)
def test_missing_columns(read, without, text):
    with ce_error(f"path must be an interview file (fmli); it has no column {text}"):
        read(interview(**dict.fromkeys(without)))


def test_file_without_records(read):
    with pytest.raises(ValueError, match=r"^path must have records; got none in "):
        read(interview().splitlines()[0] + "\n")


@pytest.mark.parametrize(
    "text", ["NEWID,UCC,COST,GIFT\n03600014,790220,120.5,2\n", "some\ntext\n"]
)
def test_file_of_another_kind(read, text):
    with ce_error(
        "path must be an interview file (fmli); it has no column FINCBTXM or FINCBTAX, "
        "no AGE_REF or AGE, no FAM_SIZE, no SEX_REF or SEX, no EDUC_REF or EDUCA, no "
        "REGION, no BLS_URBN, no MARITAL1 or MARITAL or FAM_TYPE, no SMSASTAT or "
        "POPSIZE, no POPSIZE, no EARNCOMP or EARNER or INCNONW1"
    ):
        read(text)


RULES = {
    "SEX_REF": "one of 1, 2",
    "EDUC_REF": "one of 0, 10, 11, 12, 13, 14, 15, 16, 17",
    "REGION": "one of 1, 2, 3, 4",
    "BLS_URBN": "one of 1, 2",
    "MARITAL1": "one of 1, 2, 3, 4, 5",
    "POPSIZE": "one of 1, 2, 3, 4, 5",
    "SMSASTAT": "one of 1, 2",
    "EARNCOMP": "one of 1, 2, 3, 4, 5, 6, 7, 8",
    "AGE_REF": "a finite number",
    "FAM_SIZE": "a finite number",
    "FINCBTXM": "a finite number",
}


@pytest.mark.parametrize("column", RULES)
@pytest.mark.parametrize("value", ["other", "1.5.0", "1-"])
def test_unknown_values(read, column, value):
    with ce_error(f"{column} must be {RULES[column]}; record 2 has {value!r}"):
        read(interview(**{column: [UNIT[column]] * 2 + [value] * 2}))


@pytest.mark.parametrize(
    "column", [c for c in RULES if c not in ("REGION", "POPSIZE", "SMSASTAT")]
)
@pytest.mark.parametrize("blank", ["", "NA"])
def test_blanks_that_are_no_places(read, column, blank):
    with ce_error(f"{column} must be {RULES[column]}; record 1 has {blank!r}"):
        read(interview(**{column: [UNIT[column], blank, UNIT[column]]}))


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"SEX_REF": "3"}, "SEX_REF must be one of 1, 2; record 0 has '3'"),
        ({"REGION": "0"}, "REGION must be one of 1, 2, 3, 4; record 0 has '0'"),
        ({"MARITAL1": "6"}, "MARITAL1 must be one of 1, 2, 3, 4, 5; record 0 has '6'"),
        ({"SEX_REF": None, "SEX": "1"}, "SEX must be one of M, F; record 0 has '1'"),
        (
            {"EARNCOMP": None, "INCNONW1": "7"},
            "INCNONW1 must be one of blank, 1, 2, 3, 4, 5, 6; record 0 has '7'",
        ),
        (
            {"AGE_REF": "-1"},
            "AGE_REF must be a whole number of at least 0; record 0 has '-1'",
        ),
        ({"AGE_REF": "inf"}, "AGE_REF must be a finite number; record 0 has 'inf'"),
        (
            {"FAM_SIZE": "0"},
            "FAM_SIZE must be a whole number of at least 1; record 0 has '0'",
        ),
        (
            {"FAM_SIZE": "2.7"},
            "FAM_SIZE must be a whole number of at least 1; record 0 has '2.7'",
        ),
        (
            {"AGE_REF": "40.5"},
            "AGE_REF must be a whole number of at least 0; record 0 has '40.5'",
        ),
        ({"FINCBTXM": "nan"}, "FINCBTXM must be a finite number; record 0 has 'nan'"),
        ({"FINCBTXM": "-inf"}, "FINCBTXM must be a finite number; record 0 has '-inf'"),
        (
            {"FINCBTXM": "50,000"},
            "FINCBTXM must be a finite number; record 0 has '50,000'",
        ),
        (
            {"FINCBTXM": None, "FINCBTAX": "T"},
            "FINCBTAX must be a finite number; record 0 has 'T'",
        ),
    ],
)
def test_wrong_values(read, columns, text):
    with ce_error(text):
        read(interview(**columns))


def test_record_of_a_file_with_row_names(read):
    with ce_error("SEX_REF must be one of 1, 2; record 1 has '9'"):
        read(with_row_names(interview(SEX_REF=["1", "9"])))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        interview().encode("utf-16"),
        (interview() + "1,2,3" * 20).encode(),
        b'"' + interview().encode(),
    ],
    ids=["empty", "blank lines", "picture", "UTF-16", "long record", "open quote"],
)
def test_files_that_are_not_text_of_columns(path, content):
    path.write_bytes(content)
    with ce_error(f"path must be a comma-separated file; got {path}"):
        read_consumer_expenditure(path)


def test_zip_file_under_another_name(year):
    path = year.rename(year.with_suffix(".csv"))
    with ce_error(f"path must be a comma-separated file; got {path}"):
        read_consumer_expenditure(path)


def test_file_that_does_not_exist(path):
    with pytest.raises(FileNotFoundError, match=re.escape(str(path))):
        read_consumer_expenditure(path)


@pytest.mark.parametrize("seed", range(5))
def test_published_salaries(seed):
    y = pp.datasets.doctorate_salary(random_seed=seed)
    assert isinstance(y, pd.Series)
    assert y.name == "salary"
    assert y.index.tolist() == list(range(1000))
    assert y.dtype == np.int64
    assert y.mean() == pytest.approx(107_609, rel=0.01)
    assert np.median(y) == 95_000
    assert y.std(ddof=1) == pytest.approx(69_718, rel=0.02)
    assert (y.min(), y.max()) == (0, 509_000)
    assert 5 <= (y == 0).sum() <= 7
    assert 7 <= (y == 509_000).sum() <= 9


def test_salaries_are_heaped_like_those_of_the_public_file():
    y = pp.datasets.doctorate_salary(74_429, random_seed=1)
    assert (y % 1000 == 0).all()
    assert not ((y > 362_000) & (y < 509_000)).any()
    between = y[(y > 0) & (y < 509_000)]
    ten = between % 10_000 == 0
    five = ~ten & (between % 5000 == 0)
    # Codebook: 36% and 17%; of those from 200,000 on 67% are multiples of 10,000.
    assert ten.mean() == pytest.approx(0.36, abs=0.03)
    assert five.mean() == pytest.approx(0.17, abs=0.03)
    assert ten[between >= 200_000].mean() == pytest.approx(0.67, abs=0.06)


@pytest.mark.parametrize(
    ("level", "salary"),
    [(0.05, 19_000), (0.25, 62_000), (0.5, 95_000), (0.75, 135_000), (0.9, 185_000)],
)
def test_quantiles_of_the_codebook(level, salary):
    y = pp.datasets.doctorate_salary(74_429, random_seed=1)
    assert np.quantile(y, level) == pytest.approx(salary, rel=0.03)


def test_seed_of_the_salaries():
    one, again, two = (pp.datasets.doctorate_salary(random_seed=k) for k in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != two).mean() > 0.9
    assert pp.datasets.doctorate_salary(1, random_seed=1).shape == (1,)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n": 0}, "n must be a whole number of at least 1; got 0"),
        (
            {"random_seed": -1},
            "random_seed must be a whole number of at least 0; got -1",
        ),
    ],
)
def test_errors_of_the_salaries(options, text):
    with pytest.raises(ValueError, match=text):
        pp.datasets.doctorate_salary(**options)


def sas_transport(columns):
    """Write whole numbers in the transport format of SAS, version 5."""

    def ibm(value):
        power = -(-value.bit_length() // 4)
        return bytes([64 + power if value else 0]) + (
            (value << 56 >> 4 * power).to_bytes(7)
        )

    def header(name, tail="0" * 30):
        return f"HEADER RECORD*******{name:<8}HEADER RECORD!!!!!!!{tail}  ".encode()

    def card(*parts):
        return b"".join(part.encode().ljust(width) for part, width in parts)

    def pad(data):
        return data + b" " * (-len(data) % 80)

    date = "01JAN17:00:00:00"
    system = [("9.4", 8), ("Linux", 8), ("", 24), (date, 16)]
    names = b"".join(
        struct.pack(
            ">hhhh8s40s8shhh2s8shhl52s",
            *(1, 0, 8, k, name.encode().ljust(8), b" " * 40, b" " * 8, 0, 0, 0),
            *(b"", b" " * 8, 0, 0, 8 * k, b""),
        )
        for k, name in enumerate(columns)
    )
    rows = b"".join(ibm(x) for row in zip(*columns.values(), strict=True) for x in row)
    return b"".join(
        [
            header("LIBRARY"),
            card(("SAS", 8), ("SAS", 8), ("SASLIB", 8), *system),
            card((date, 80)),
            header("MEMBER", "0" * 17 + "1600000000140"),
            header("DSCRPTR"),
            card(("SAS", 8), ("EPSD17", 8), ("SASDATA", 8), *system),
            card((date, 80)),
            header("NAMESTR", f"{len(columns):>010}" + "0" * 20),
            pad(names),
            header("OBS"),
            pad(rows),
        ]
    )


KEPT = {
    # File: consumer units, zeros, losses, the largest income, what most share.
    "ce2016q1": (6426, 619, 4, 1_156_038, (24_000, 58)),
    "ce2014q1": (6483, 850, 6, 1_403_749, (1259, 99)),
}


@pytest.mark.parametrize("name", KEPT)
class TestKeptQuarters:
    """The extracts in `data/` are what their card says."""

    def test_income(self, name):
        n, zeros, losses, largest, atom = KEPT[name]
        people = pp.datasets.read_consumer_expenditure(DATA / f"{name}.csv.gz")
        income = people["income"]
        assert people.shape == (n, 11)
        assert ((income == 0).sum(), (income < 0).sum()) == (zeros, losses)
        assert income.max() == largest
        shared = income[income > 0].value_counts()
        assert (shared.index[0], shared.iloc[0]) == atom

    def test_columns_are_those_of_the_simulated_file(self, name):
        people = pp.datasets.read_consumer_expenditure(DATA / f"{name}.csv.gz")
        simulated = pp.datasets.consumer_expenditure(n=50, random_seed=1)
        assert list(people) == list(simulated)

    def test_weights_and_clusters(self, name):
        file = pd.read_csv(DATA / f"{name}.csv.gz", dtype={"CID": str, "PSU": str})
        assert not {"NEWID", "STATE"} & set(file)
        assert file["FINLWT21"].between(1000, 100_000).all()
        assert file["FINLWT21"].sum() == pytest.approx(1.28e8, rel=0.02)
        assert file["CID"].nunique() in (70, 73)
        assert file["CUTENURE"].isin(range(1, 7)).all()
        own = file["PSU"].notna()
        assert (file.loc[own, "CID"] == file.loc[own, "PSU"]).all()

    def test_ages_end_at_82(self, name):
        file = pd.read_csv(DATA / f"{name}.csv.gz")
        age = file["AGE" if "AGE" in file else "AGE_REF"]
        assert set(age[age > 82]) == {87}


class TestDoctorateRecipients:
    SALARIES = (95_000, 9_999_998, 0, 509_000, 1000)

    @staticmethod
    def line(salary, width=400):
        text = f"{salary!s:>9}"
        assert len(text) == 9
        return ("7" * 260 + text).ljust(width, "3")

    @pytest.fixture
    def write(self, tmp_path):
        def to(lines, name="EPSD17.DAT", end="\n"):
            path = tmp_path / name
            path.write_bytes((end.join(lines) + end).encode("latin-1"))
            return path

        return to

    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    @pytest.mark.parametrize("width", [269, 400])
    def test_text_of_fixed_width(self, write, end, width):
        path = write([self.line(s, width) for s in self.SALARIES], end=end)
        y = pp.datasets.read_doctorate_recipients(path)
        np.testing.assert_array_equal(y, [95_000, 0, 509_000, 1000])
        assert y.dtype == np.int64

    def test_digits_may_be_padded_with_zeros(self, write):
        path = write([self.line("000095000"), self.line("009999998")])
        assert pp.datasets.read_doctorate_recipients(str(path)).tolist() == [95_000]

    @pytest.mark.parametrize("name", ["epsd17.xpt", "EPSD17.XPT"])
    def test_sas_transport_file(self, tmp_path, name):
        path = tmp_path / name
        path.write_bytes(sas_transport({"AGE": [40] * 5, "SALARYP": self.SALARIES}))
        y = pp.datasets.read_doctorate_recipients(path)
        np.testing.assert_array_equal(y, [95_000, 0, 509_000, 1000])
        assert y.dtype == np.int64

    # Nothing in the Python world writes the other format of SAS.
    def test_sas_file(self, tmp_path, monkeypatch):
        table = pd.DataFrame({"salaryp": np.array(self.SALARIES, float), "age": 40.0})
        monkeypatch.setattr(pd, "read_sas", {tmp_path / "a.sas7bdat": table}.get)
        y = pp.datasets.read_doctorate_recipients(tmp_path / "a.sas7bdat")
        np.testing.assert_array_equal(y, [95_000, 0, 509_000, 1000])

    def test_sas_file_without_salaries(self, monkeypatch):
        monkeypatch.setattr(pd, "read_sas", lambda path: pd.DataFrame({"AGE": [40.0]}))
        with pytest.raises(ValueError, match=r"column SALARYP; got other.sas7bdat"):
            pp.datasets.read_doctorate_recipients("other.sas7bdat")

    @pytest.mark.parametrize(
        ("salary", "text"),
        [
            (
                510_000,
                r"SALARYP must be a whole salary from 0 to 509000, or 9999998; record 1",
            ),
            (-1000, "record 1 has '-1000'"),
            ("95000.5", "record 1 has '95000.5'"),
            (9_999_999, "record 1 has '9999999'"),
            ("", "SALARYP must be a finite number; record 1 has ''"),
            ("95k", "SALARYP must be a finite number; record 1 has '95k'"),
        ],
    )
    def test_wrong_salaries(self, write, salary, text):
        path = write([self.line(95_000), self.line(salary)])
        with pytest.raises(ValueError, match=text):
            pp.datasets.read_doctorate_recipients(path)

    @pytest.mark.parametrize(
        ("lines", "text"),
        [
            (["7" * 300, "7" * 268], "at least 269 characters; record 1 has 268"),
            (["SALARYP,AGE"], "at least 269 characters; record 0 has 11"),
        ],
    )
    def test_other_files(self, write, lines, text):
        lines = [self.line(95_000) if x == "7" * 300 else x for x in lines]
        with pytest.raises(ValueError, match=text):
            pp.datasets.read_doctorate_recipients(write(lines))

    def test_empty_file(self, tmp_path):
        path = tmp_path / "EPSD17.DAT"
        path.write_text("")
        with pytest.raises(ValueError, match="at least 269 characters; it is empty"):
            pp.datasets.read_doctorate_recipients(path)

    def test_file_that_does_not_exist(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            pp.datasets.read_doctorate_recipients(tmp_path / "EPSD17.DAT")


# Doctor visits


@pytest.fixture(scope="module")
def visits():
    return pp.datasets.health_insurance_experiment()


def test_doctor_visits(visits):
    from statsmodels.datasets import randhie

    raw = randhie.load_pandas().data
    assert visits.shape == (20_190, 9)
    np.testing.assert_array_equal(visits["visits"], raw["mdvis"])
    np.testing.assert_allclose(
        np.log1p(visits["coinsurance"]), raw["lncoins"], atol=2e-6
    )
    for name, column in (("good", "hlthg"), ("fair", "hlthf"), ("poor", "hlthp")):
        np.testing.assert_array_equal(visits["health"] == name, raw[column] == 1)
    assert not visits.isna().any().any()


def test_persons_of_doctor_visits(visits):
    by_person = visits.groupby("person")
    assert by_person.size().max() == 5
    assert by_person.size().value_counts().idxmax() == 3
    same = ["coinsurance", "deductible", "limitation", "diseases", "health"]
    assert len(visits[["person", *same]].drop_duplicates()) == by_person.ngroups
    assert visits["person"].is_monotonic_increasing
    assert visits["person"].diff().dropna().isin([0, 1]).all()
    # Who is begun before five years differs from who was before.
    first = ~visits["person"].duplicated()
    size = by_person.size().to_numpy()
    begun_early = first & (np.r_[5, size[:-1]][visits["person"]] < 5)
    before = visits[same].shift()
    differs = (visits[same] != before).any(axis=1)
    assert differs[begun_early].all()


def test_without_statsmodels_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.datasets", None)
    with pytest.raises(ImportError, match="pip install statsmodels"):
        pp.datasets.health_insurance_experiment()


def test_simulated_files_are_those_of_the_book():
    """Every number of the book rests on these files: a change must be on purpose."""
    file = consumer_expenditure(random_seed=1)
    counts = {
        name: np.unique(column, return_counts=True)[1].tolist()
        for name, column in file.drop(columns="income").astype(str).items()
    }
    assert counts == {
        "gender": [2811, 3397],
        "age": [999, 1535, 1788, 1515, 371],
        "education": [548, 1245, 198, 550, 792, 1544, 20, 1311],
        "region": [1223, 1116, 2277, 1592],
        "urban": [310, 5898],
        "marital": [947, 3153, 1370, 157, 581],
        "urban_type": [949, 775, 4484],
        "cbsa": [806, 2064, 3338],
        "family_size": [1945, 21, 20, 2090, 906, 699, 302, 142, 47, 26, 10],
        "earner": [4600, 1608],
    }
    assert file["income"].mean() == pytest.approx(72088.77915592784, rel=1e-9)
    salary = pp.datasets.doctorate_salary(random_seed=1)
    assert salary.mean() == pytest.approx(107_459, rel=1e-9)
