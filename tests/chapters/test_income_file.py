import income_file
import numpy as np
import pandas as pd
import pytest

import pseudopost as pp

KNOWN = ["gender", "age", "region"]


@pytest.fixture(scope="module")
def people():
    return pp.datasets.consumer_expenditure(random_seed=1)


@pytest.fixture(scope="module")
def income(people):
    return people["income"].to_numpy()


@pytest.fixture(scope="module")
def cut(income):
    return pp.top_code(income, np.quantile(income, 0.975))


@pytest.fixture
def ours():
    return dict(income_file.PUBLISHED)


@pytest.fixture
def by_seed():
    return pd.DataFrame(
        {
            "10": [90, 80],
            "50": [80, 70],
            "1%": [70, 60],
            "10 below 50K": [8, 6],
            "quantile": [270_000, 260_000],
        }
    )


def test_variables(people):
    table = income_file.variables(people)
    assert table["levels"].to_dict() == income_file.LEVELS
    assert table.loc["earner", "last"] == "Not an earner"
    smallest = people["region"].value_counts().min()
    assert table.loc["region", "records in the smallest level"] == smallest


def test_file_values(people, income):
    values = income_file.file_values(people, KNOWN)
    sizes = people[KNOWN].value_counts()
    assert values["R"] == 1 + sum(k - 1 for k in income_file.LEVELS.values())
    assert (values["patterns"], values["pattern-min"]) == (len(sizes), sizes.min())
    assert values["negative"] == sum(income < 0)


def test_income_values():
    values = income_file.income_values(np.array([1, 1, 1, 5]))
    assert (values["mean"], values["median"], values["above-mean"]) == (2, 1, 25)
    assert values["skewness"] > 0


def test_heaps():
    people = pd.DataFrame(
        {"known": ["a", "a", "a", "b", "b"], "income": [50, 50, 70, 50, -3]}
    )
    values = income_file.heap_values(people, ["known"])
    assert (values["most"], values["most-count"]) == (50, 3)
    assert values["unique-pair"] == pytest.approx(60)


def test_top_coding_values(income, cut):
    rows = ["mean", "standard deviation", "largest", "coefficient of not earning"]
    names = ["confidential", "top-coded, 2.5%", "top-coded, 6%"]
    table = pd.DataFrame(np.arange(12).reshape(4, 3), index=rows, columns=names)
    values = income_file.top_coding_values(table, income)
    assert (values["mean-a"], values["sd-b"], values["threshold-b"]) == (1, 5, 8)
    assert (values["coef"], values["coef-b"], values["sd"]) == (9, 11, 3)
    top = income[income > np.quantile(income, 0.975)]
    assert values["top-share"] == pytest.approx(100 * top.sum() / income.sum())


def test_riskiest_below():
    income = np.append(
        np.repeat(100.0, 990), [1, 3, 9, 20, 40, 200, 400, 800, 1600, 3200]
    )
    people = pd.DataFrame({"income": income, "known": "all"})
    found = income_file.riskiest_below(people, ["known"])
    assert found == {"10": 50, "50": 90, "1%": 50, "10 below 50K": 10, "quantile": 100}


def test_riskiest_values(by_seed):
    bands = pd.DataFrame(
        {
            "records": [10, 20, 60, 10],
            "mean risk": [0.9, 0.6, 0.5, 0.8],
            "among the riskiest 1%": [3, 2, 1, 4],
        }
    )
    values = income_file.riskiest_values(by_seed, bands)
    assert (values["below-1%"], values["below-min"], values["below-max"]) == (
        70,
        60,
        70,
    )
    assert (values["low-records"], values["low-share"]) == (30, 50)
    assert (values["tail-risk"], values["tail-share"], values["n-riskiest"]) == (
        0.8,
        40,
        10,
    )
    assert values["rest-risk"] == pytest.approx((9 + 12 + 30) / 90)


def test_losses_are_safe_as_printed():
    income = np.array([-5.0, 0, 10, 11])
    risk = pp.identification_risk(income, income)
    values = income_file.loss_values(income, risk, np.zeros(4))
    assert values == {"loss-risk": 0.75, "loss-signed": 0, "zero-risk": 0.75}


def test_effect_values():
    income = np.array([10.0, 20, 90, 99, 200])
    files = {"confidential": income, "top-coded, 2.5%": pp.top_code(income, 80)}
    files["top-coded, 6%"] = files["top-coded, 2.5%"]
    risk = {name: np.array([0.99, 0.9, 0.5, 0.5, 0]) for name in files}
    riskiest = np.array([True, True, False, False, False])
    values = income_file.effect_values(income, files, risk, riskiest)
    assert values["still"] == pytest.approx(200 / 3)
    assert values["reach"] == pytest.approx(100)
    assert values["kept-a"] == 50
    assert values["mean-risk-b"] == pytest.approx(0.578)


def test_knowledge_values(people):
    sizes = people[income_file.KNOWN_P1].value_counts()
    sizes = sizes[sizes > 0]
    values = income_file.knowledge_values(people)
    assert values == {"p1-patterns": len(sizes), "p1-alone": (sizes == 1).sum()}


def test_bands_of_p2():
    bands = income_file.bands_of_p2(np.array([-7000, 50_000, 50_001, 1_800_000]))
    assert list(bands) == [
        "(-10K, 50K)",
        "(-10K, 50K)",
        "(50K, 100K)",
        "(1000K, 2000K)",
    ]


def test_the_variables(people):
    text, holds = income_file.has_the_variables(people)
    assert holds
    assert text == "2, 5, 8, 4, 2, 5, 3, 3, 11, 2; 36 coefficients"
    few = people[people["region"] != people["region"].iloc[0]].copy()
    few["region"] = few["region"].cat.remove_unused_categories()
    assert not income_file.has_the_variables(few)[1]
    assert not income_file.has_the_variables(people.assign(income=0))[1]


def test_published_summaries(people, income, ours):
    sizes = people.groupby(KNOWN, observed=True).size()
    assert income_file.has_published_summaries(income, ours)[1]
    assert not income_file.has_published_summaries(income[:-1], ours)[1]
    assert not income_file.has_published_summaries(income + 1, ours)[1]
    assert income_file.has_patterns_of_p2(income, ours, sizes)[1]
    assert not income_file.has_patterns_of_p2(income, ours, sizes[:39])[1]
    assert not income_file.has_patterns_of_p2(income, ours, sizes // sizes.min())[1]
    for name, tolerance in income_file.TOLERANCES.items():
        changed = ours | {name: ours[name] * (1 + 1.1 * tolerance)}
        assert not income_file.has_published_summaries(income, changed)[1]
        assert not income_file.has_patterns_of_p2(income, changed, sizes)[1]


def test_skewness(income):
    assert income_file.is_skewed(income)[1]
    assert not income_file.is_skewed(2 * income)[1]
    assert not income_file.is_skewed(270_000 + 0 * income - np.arange(len(income)))[1]
    assert income_file.quantile_is_as_published(income, [256_000, 284_000])[1]
    assert not income_file.quantile_is_as_published(income, [256_000, 290_000])[1]
    assert not income_file.quantile_is_as_published(income / 2, [256_000])[1]


def test_top_coded_files_part_at_the_top(income):
    few = np.sort(income)[::-20]
    cut, lower = (pp.top_code(few, np.quantile(few, q)) for q in (0.975, 0.94))
    assert income_file.files_part_at_the_top(few, cut)
    assert not income_file.files_part_at_the_top(few, few)
    assert not income_file.files_part_at_the_top(few, lower)


def test_windows_and_thresholds(income, cut):
    lower = pp.top_code(income, np.quantile(income, 0.94))
    assert income_file.middle_window(income, True)[1]
    assert not income_file.middle_window(income, False)[1]
    assert not income_file.middle_window(0 * income, True)[1]
    assert income_file.right_window(income, cut, True)[1]
    assert not income_file.right_window(income, cut, False)[1]
    assert income_file.thresholds_change_their_shares(income, cut, lower, True)[1]
    assert not income_file.thresholds_change_their_shares(income, cut, cut, True)[1]
    assert not income_file.thresholds_change_their_shares(income, cut, lower, False)[1]


def test_most_of_the_riskiest_are_below(by_seed):
    text, holds = income_file.most_of_the_riskiest_are_below(by_seed)
    assert holds
    assert text.endswith("70% of 1%; over 2 files 60 to 70% of 1%")
    by_seed.loc[1, "50"] = 50
    assert not income_file.most_of_the_riskiest_are_below(by_seed)[1]


def test_riskiest_ten(by_seed):
    assert income_file.riskiest_ten_have_little(by_seed)[1]
    assert not income_file.riskiest_ten_have_little(by_seed.assign(**{"10": 50}))[1]
    by_seed.loc[1, "10 below 50K"] = 4
    assert not income_file.riskiest_ten_have_little(by_seed)[1]


def test_all_claims_are_checked(people, income, cut, ours, by_seed):
    lower = pp.top_code(income, np.quantile(income, 0.94))
    files = {"confidential": income, "2.5%": cut, "6%": lower}
    checks = income_file.claims(people, KNOWN, ours, files, by_seed)
    assert len(checks) == 11
    assert all(holds for _, holds in checks.values())
