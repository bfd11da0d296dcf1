from types import SimpleNamespace

import ce_income
import income_runs
import numpy as np
import pandas as pd
import pytest
from companion import LEDGER
from judged import verdicts
from scipy import stats

import pseudopost as pp

N = 400
SEEDS = (1, 2)
FILES = pd.MultiIndex.from_product([SEEDS, income_runs.SYNTHESIZERS])


def file_of_incomes():
    "A file on which every statement holds."
    y = np.append(np.linspace(1000, 300_000, N - 10), np.linspace(500_000, 600_000, 10))
    top = np.quantile(y, 0.975)
    below = y <= top
    levels = {"Unweighted": 0.3, "again": 0.2, "Vector": 0.1}
    coded = {"TC 5%": 0.93, "TC 10%": 0.87, "TC 20%": 0.78}
    return SimpleNamespace(
        y=y,
        top=top,
        coded=pp.top_code(y, top),
        risk={name: np.full(N, v) for name, v in levels.items()}
        | {name: np.where(below, v, 0) for name, v in coded.items()},
        risk_more={
            "Unweighted": np.full(N, 0.2),
            "Vector": np.where(y >= np.sort(y)[-6], 0.3, 0.1),
        },
        weights={"Unweighted": np.ones(N), "Vector": np.linspace(0.3, 1, N)},
        z={name: np.zeros((20, N)) for name in income_runs.SYNTHESIZERS},
        more={name: np.zeros((200, N)) for name in income_runs.SYNTHESIZERS},
        riskiest=np.arange(10),
        largest=income_runs.highest(y, 10),
        risk_of=lambda released, radius=0.2: np.full(N, 0.1),
    )


def table(rows, columns=FILES):
    return pd.DataFrame(rows, index=columns).T


@pytest.fixture
def case():
    "What every statement holds for."
    studies = {seed: file_of_incomes() for seed in SEEDS}
    errors = {"mean, error": 30.0, "median, error": 1.0, "99% quantile, error": 9.0}
    releases = (ce_income.QUARTER, "top-coded, 2.5%", "Vector")
    return {
        "studies": studies,
        "intruder": pd.DataFrame(
            {"patterns": [300, 310], "records alone": [90, 95]}, index=SEEDS
        ).T,
        "compared": table(
            {
                income_runs.ERROR: [2.0, 3.0] * 2,
                income_runs.PEAK: [0.9, 1.1] * 2,
                income_runs.TOP_PEAK: [0.9, 1.2] * 2,
                income_runs.GIVEN: [0.9, 1.3] * 2,
                income_runs.KS: [0.02, 0.03] * 2,
                income_runs.TAIL: [3.0, 3.1] * 2,
            }
        ),
        "fan": table(
            {
                income_runs.T: [0.2, 0.2] * 2,
                income_runs.CORRELATION: [0.6, 0.6] * 2,
            }
        ),
        "ten_means": ce_income.means_of_ten(
            studies, lambda s: s.riskiest, income_runs.RISKIEST
        ),
        "largest_means": pd.DataFrame(
            {"Unweighted": 0.02, "again": 0.02, "Vector": 0.08, "TC 20%": 0.0},
            index=["file 1", "file 2", "published"],
        ),
        "between_fits": pd.DataFrame(
            {"difference": 0.1, "standard error": 0.04}, index=[income_runs.ERROR]
        ),
        "by_release": table(
            {"mean risk": [0.6, 0.8, 0.1] * 2}
            | {row: [v] * 6 for row, v in errors.items()},
            pd.MultiIndex.from_product([SEEDS, releases]),
        ),
    }


def test_every_statement_holds_where_it_should(case):
    found = ce_income.claims(**case)
    assert set(found) <= set(pd.read_csv(LEDGER)["id"])
    assert all(verdicts(found).values())
    assert found["P1-Tab21"][0].endswith("6, 6 of 10")


def cell(name, row, column, value):
    "A change of one cell of a table."

    def change(case):
        case[name].loc[row, column] = value

    return change


def of_file(attribute, value, rows=slice(None), key=None):
    "A change of an array of the second file."

    def change(case):
        array = getattr(case["studies"][2], attribute)
        (array if key is None else array[key])[rows] = value

    return change


def no_incomes_on_the_line(case):
    case["studies"][2].coded[0] += 1


def found_by_synthesis(case):
    case["studies"][2].risk_of = lambda released, radius: np.full(N, 0.45)


def fewer_files(case):
    case["studies"][2].z["Vector"] = np.zeros((19, N))


UNWEIGHTED, VECTOR = (2, "Unweighted"), (2, "Vector")
TAIL_ONLY = ("P1-Fig18", "P1-Claim23")
MIXED = ("P1-Fig16", "P1-Claim20")
FALLING = ("P1-Fig19", "P1-Set12")


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        (cell("between_fits", income_runs.ERROR, "difference", 0.07), ("P1-Fig14",)),
        (cell("compared", income_runs.KS, VECTOR, 0.06), ("P1-Fig14",)),
        (cell("compared", income_runs.PEAK, VECTOR, 0.8), ("P1-Claim21",)),
        (cell("compared", income_runs.TOP_PEAK, VECTOR, 0.7), ("P1-Fig15",)),
        (cell("compared", income_runs.KS, UNWEIGHTED, 0.04), MIXED),
        (cell("fan", income_runs.CORRELATION, UNWEIGHTED, 0.9), MIXED),
        (cell("fan", income_runs.T, UNWEIGHTED, 0.6), MIXED),
        (no_incomes_on_the_line, TAIL_ONLY),
        (of_file("risk", 0.5, [0], "TC 5%"), FALLING),
        (of_file("risk", 0.6, key="Vector"), ("P1-Fig19", "P1-Tab20")),
        (of_file("risk", 0.02, slice(-10, None), "TC 5%"), ("P1-Fig19",)),
        (of_file("risk", 0.1, [0, 1], "Unweighted"), ("P1-Tab20",)),
        (of_file("y", 260_000, [5]), ("P1-Tab20", *TAIL_ONLY, "P1-Claim25")),
        (cell("ten_means", "file 2", "Vector", 0.3), ("P1-Tab20",)),
        (of_file("risk", 0.1, slice(-3, None), "TC 20%"), ("P1-Tab21", "P1-Claim25")),
        (cell("largest_means", "file 2", "Vector", 0.2), ("P1-Tab21",)),
        (of_file("risk_more", 0.1, slice(-6, None), "Vector"), ("P1-Tab21",)),
        (of_file("weights", 1.1, [0], "Vector"), ("P1-Set11",)),
        (fewer_files, ("P1-Set11",)),
        (cell("intruder", "patterns", 2, 801), ("P1-Set12",)),
        (of_file("risk", 0.5, slice(0, 150), "TC 20%"), ("P1-Claim25",)),
        (found_by_synthesis, ("P1-Claim26",)),
        (cell("by_release", "mean risk", VECTOR, 0.4), ("P1-Fut2",)),
    ],
)
def test_a_statement_fails_where_it_should(case, change, fails):
    change(case)
    assert {
        key for key, holds in verdicts(ce_income.claims(**case)).items() if not holds
    } == set(fails)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_highest_keeps_the_order_of_ties():
    assert income_runs.highest(np.array([1, 3, 2, 3]), 3).tolist() == [1, 3, 2]


def test_own_close_at_the_ends_and_below_zero():
    y = np.array([100.0, -100.0, 0.0])
    released = np.array([[80, -120, 0], [79, -121, 1], [120, -80, 0]])
    expected = [[True] * 3, [False] * 3, [True] * 3]
    assert income_runs.own_close(y, released).tolist() == expected


def test_widths_of_ends(rng):
    y, z = rng.permutation(300.0 * np.arange(300)), rng.normal(0, 1e4, (50, 300))
    found = income_runs.widths_of_ends(y, z)
    low, high = np.quantile(z[:, y >= 300 * 297], [0.25, 0.75])
    assert np.isclose(
        found["highest 1%: width of 50% (1,000 dollars)"] * 1000, high - low
    )
    low, high = np.quantile(z[:, y < 900], [0.025, 0.975])
    assert np.isclose(
        found["lowest 1%: width of 95% (1,000 dollars)"] * 1000, high - low
    )


def test_by_band_closes_bands_above():
    y = np.array([-5, 10_000, 10_001, 300_000])
    found = ce_income.by_band(y, {"risk": [0.1, 0.3, 0.5, 0.7]})
    assert found["records"].tolist() == [2, 1, 0, 0, 0, 1]
    assert np.allclose(found["risk"].dropna(), [0.2, 0.5, 0.7])


def test_densities_integrate_to_the_share_in_the_window(rng):
    y = np.exp(rng.normal(10.8, 0.5, 2000))
    found = income_runs.densities(y)
    assert found[income_runs.LOW].shape == (1, 261)
    assert abs(found[income_runs.LOW].sum() * 1000 - np.mean(y < 250_000)) < 0.01


def test_peak_and_squared_error_are_means_over_files():
    data, found = np.array([[1.0, 2.0]]), np.array([[2.0, 2.0], [1.0, 4.0]])
    assert income_runs.peak(found, data) == 1.5
    assert income_runs.squared_error(found, data) == 2.5


def test_distances_are_means_over_files(rng):
    y, z = rng.normal(size=60), rng.normal(size=(3, 60))
    ks = [stats.ks_2samp(v, y).statistic for v in z]
    assert np.isclose(income_runs.kolmogorov_smirnov(z, y), np.mean(ks))
    r = [stats.pearsonr(v, y).statistic for v in z]
    assert np.isclose(income_runs.mean_correlation(z, y), np.mean(r))


def test_resampled_draws_from_the_data():
    found = income_runs.resampled(np.arange(9), 1)
    assert found.shape == (20, 9)
    assert set(found.ravel()) == set(range(9))


def test_each_synthesizer_draws_from_random_numbers_of_its_own():
    s = SimpleNamespace(fits={"Unweighted": 1, "Vector": 2, "Combined": 3})
    s.synthesize = lambda name, m, random_seed: (name, m, random_seed)
    assert income_runs.drawn_apart(s, 200, 101) == {
        "Unweighted": ("Unweighted", 200, 101),
        "Vector": ("Vector", 200, 151),
        "Combined": ("Combined", 200, 201),
    }


def test_density_error_is_relative_to_resampled_data():
    data = np.array([[1.0, 2.0]])
    s = SimpleNamespace(curves={"Data": {income_runs.LOW: data}}, error=5.0)
    assert income_runs.density_error(s, data + 1) == pytest.approx(2 / 5)


def test_statistics_of_several_releases(rng):
    people = pd.DataFrame(
        {
            "region": rng.choice(["South", "West"], 80),
            "urban": rng.choice(["Urban", "Rural"], 80),
            "earner": rng.choice(["Earner", "Not an earner"], 80),
        }
    )
    z = rng.normal(size=(3, 80))
    single = [ce_income.statistics(people, v) for v in z]
    assert np.allclose(ce_income.statistics(people, z), np.median(single, axis=0))
    # One enormous income in one release decides nothing.
    z[1, 5] = 1e30
    limits = np.sort([single[0], single[2]], axis=0)
    several = ce_income.statistics(people, z)
    assert np.allclose(several, np.clip(several, *limits))
    assert np.isclose(single[0]["90% quantile"], np.quantile(z[0], 0.9))
    X = np.column_stack([np.ones(80)] + [people[c] == people[c].max() for c in people])
    assert np.isclose(single[0]["coefficient"], np.linalg.lstsq(X, z[0])[0][3])


def test_ten_records_beside_the_published_ones():
    s = file_of_incomes()
    found = ce_income.beside_published(s, s.largest, ce_income.LARGEST)
    assert (found["this file", "income range"] == "(250K, 3,000K)").all()
    assert (found["this file", "TC 20%"] == 0).all()
    assert found["published", "Vector"].tolist()[:2] == [0.0486, 0.1446]
    means = ce_income.means_of_ten({1: s}, lambda s: s.riskiest, income_runs.RISKIEST)
    assert np.allclose(means.loc["file 1"], [0.3, 0.2, 0.1, 0.78])
    assert np.isclose(means.loc["published", "Unweighted"], 0.55058)
    assert np.isnan(means.loc["published", "again"])


def test_numbers_of_the_text(case):
    s = case["studies"][1]
    coded = ce_income.text_on_risks(s)
    assert (coded["tc-above"], coded["tc-zero"], coded["tc-zero-5"]) == (100, 100, 100)
    riskiest = ce_income.text_on_riskiest(s)
    assert (riskiest["worse-ten"], riskiest["high-ten"]) == (10, 0)
    s.risk_more["Vector"][s.largest[:4]] = 0.1
    largest = ce_income.text_on_largest(case["largest_means"], case["studies"])
    assert largest["raised"] == "2, 6"
    assert np.isclose(largest["risen-all"], 100 * (2 + 6) / 2 / N)
    assert largest["published-raised"] == 7
    assert ce_income.text_on_fan(case["fan"]) == pytest.approx({"t": 0.2, "corr": 0.6})
    utility = ce_income.text_on_utility(case["compared"])
    assert (utility["error-Unweighted"], utility["given-peak-Vector"]) == (2, 1.3)


def test_measures_of_a_study(rng):
    y = np.exp(rng.normal(10.8, 0.6, N))
    z = y * np.exp(rng.normal(0, 0.5, (200, N)))
    data = pd.DataFrame({"income": y, "known": np.arange(N) // 2})
    data.loc[0, "known"] = -1  # two records are alone
    s = SimpleNamespace(
        y=y,
        data=data,
        known=["known"],
        more={"Unweighted": z},
        z={"Unweighted": z[:20], "Vector": z[20:40]},
        risk={"Unweighted": np.arange(N) / N},
        risk_of=lambda released, radius=0.2: np.full(N, radius),
    )
    income_runs.measure(s, 1)
    assert s.lone.nonzero()[0].tolist() == [0, 1]
    assert s.riskiest[0] == N - 1
    assert y[s.largest[0]] == y.max() > s.coded.max() == s.top
    assert s.risk["TC 5%"][0] == 0.05
    fan = income_runs.spread(s, z)
    assert list(fan)[-4:-2] == list(income_runs.WIDTHS)
    ratio = np.log((z + 10_000) / (y + 10_000))
    assert np.isclose(fan[income_runs.RATIO], ratio.std())
    found = income_runs.utility(s, "Vector")
    assert np.isclose(found[income_runs.TAIL], 100 * np.mean(z[20:40] > 250_000))
    share = np.mean(y > 250_000) / np.mean(z[20:40] > 250_000)
    assert np.isclose(found[income_runs.GIVEN], found[income_runs.TOP_PEAK] * share)


def test_clearly_counts_standard_errors():
    table = pd.DataFrame(
        {"difference": [-1.0, -1.0, 1.0], "standard error": [0.4, 0.6, 0.1]},
        index=list("abc"),
    )
    assert income_runs.clearly(table, ["a"], -1)
    assert not income_runs.clearly(table, ["a", "b"], -1)
    assert not income_runs.clearly(table, ["c"], -1)
    assert income_runs.clearly(table, ["c"], +1)
    assert not income_runs.clearly(table, ["a"], +1)
