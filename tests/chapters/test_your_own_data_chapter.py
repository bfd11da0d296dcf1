import importlib.util
import sys
import warnings

import companion
import numpy as np
import pandas as pd
import pytest
import your_own_data as own

import pseudopost as pp

TABLE = pd.DataFrame(
    {
        "sex": ["f", "f", "m", "m"],
        "income": ["10.5", "20", "30.25", "99999.75"],
    }
)


def set_to(table, row, column, value):
    changed = table.copy()
    changed.loc[row, column] = value
    return changed


def test_a_copy_outside_the_book_needs_nothing_of_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "companion", None)
    spec = importlib.util.spec_from_file_location("copied", own.__file__)
    copied = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copied)
    assert copied.numbers({"n": 1}) is None
    assert copied.numbers.__module__ == "copied"
    with warnings.catch_warnings():
        assert copied.sizes_of_example(6, 400, 300) == (6, 400, 300)
        assert warnings.showwarning is not companion.print_convergence
    assert capsys.readouterr().out == ""


# Reading and settings


def test_levels_are_read_as_they_are(tmp_path):
    (tmp_path / "a.csv").write_text("\ufeffcode,x\n01, NA\n 2 ,1.50\n3\n", "utf-8")
    table = own.read_as_text(tmp_path / "a.csv")
    assert table.to_dict("list") == {"code": ["01", "2", "3"], "x": ["NA", "1.50", ""]}


@pytest.mark.parametrize(("profile", "n"), [("class", 1500), ("book", 10_391)])
def test_the_example_is_read_as_it_was_written(tmp_path, monkeypatch, profile, n):
    pytest.importorskip("linearmodels")
    monkeypatch.setattr(companion, "PROFILE", profile)
    table = own.read_as_text(own.write_example(tmp_path / "meps.csv"))
    assert table.shape == (n, 7)
    assert set(table["age"]) == {"65-69", "70-74", "75-79", "80-84", "85+"}
    assert set(table["conditions"]) == {"0", "1", "2", "3", "4 or more"}
    assert pd.to_numeric(table["drug_expenditure"]).min() >= 1


@pytest.mark.parametrize(
    ("texts", "needed"),
    [(["10", "2e3"], 0), (["1.50", "2"], 1), (["0.10", "-0.125"], 3)],
)
def test_decimals(texts, needed):
    assert own.decimals(texts) == needed


def test_a_folder_with_files_stops(tmp_path):
    folder = own.empty_folder(tmp_path / "new" / "deep")
    assert folder.is_dir()
    assert own.empty_folder(folder) == folder
    assert not any(own.empty_folder(None).iterdir())
    (folder / "old.csv").write_text("1")
    with pytest.raises(ValueError, match="OUTPUT must be a new or empty folder"):
        own.empty_folder(folder)


# Utility


def test_pmse_range():
    rng = np.random.default_rng(1)
    x, *files = rng.normal(size=(4, 200, 1))
    ratios = [pp.propensity_score_mse(x, z).ratio for z in files]
    assert own.pmse_range(x, files, None) == (min(ratios), max(ratios))


def test_a_failed_regression_has_no_pmse(capsys):
    x = np.arange(10.0)[:, None]
    assert np.isnan(own.pmse_range(x, [x + 100], None)).all()
    assert "pMSE not computed" in capsys.readouterr().out


def estimates_of(**values):
    """A table of estimates and ends of the mean, by file."""
    return pd.concat(
        {
            name: pd.DataFrame(
                {"estimate": [v], "low": [v - 1], "high": [v + 1]}, ["mean"]
            )
            for name, v in values.items()
        },
        axis=1,
    )


def test_error():
    table = estimates_of(Data=200.0, Pairwise=150.0)
    assert own.error(table, "mean", "Pairwise") == -25
    assert own.error(table, "mean", "Data") == 0


def test_numbers_of_risks():
    risk = {
        "Data": np.array([1.0, 0.5]),
        "Unweighted": np.array([0.2, 0.1]),
        "Pairwise": np.array([0.5, 0.0]),
    }
    found = own.risk_numbers(risk, "Pairwise")
    assert (found["risk-data"], found["risk-weighted"]) == (0.75, 0.25)
    assert found["up"] == 1


def test_numbers_of_utility():
    rows = ["mean", "25% quantile", "90% quantile"]
    one = estimates_of(Data=100.0, Unweighted=101.0, Pairwise=80.0)
    utility = pd.concat([one] * 3).set_axis(rows)
    utility.loc["90% quantile", ("Pairwise", "estimate")] = 70
    found = own.utility_numbers(utility, "Pairwise")
    assert found["mean-weighted"] == found["q25-weighted"] == pytest.approx(-20)
    assert found["q90-weighted"] == pytest.approx(-30)


def test_numbers_of_forecasts():
    index = pd.MultiIndex.from_tuples([(1, 0), (1, 0.4)])
    tuning = pd.DataFrame({"90% quantile": [28, 30]}, index)
    utility = estimates_of(Pairwise=7.0).set_axis(tuning.columns)
    found = own.forecast_numbers(tuning, utility, "Pairwise")
    assert (found["q90-forecast"], found["q90-shifted"]) == (28, 30)
    assert found["q90-fit"] == 7


# The report


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (123456.0, "123,000"),
        (0.012345, "0.0123"),
        (-1.005e6, "-1,000,000"),
        (np.nan, "not computed"),
        (np.inf, "not computed"),
    ],
)
def test_three_digits(value, printed):
    assert own.three_digits(value) == printed


def test_hidden_estimates_are_those_of_the_data():
    found = {
        "Data": pp.Interval([1.0, 2.0], [0.5, 1.5], [1.5, 2.5]),
        "Pairwise": pp.Interval([3.0, 4.0], [2.5, 3.5], [3.5, 4.5]),
    }
    shown = own.estimates(found, ["mean", "median"], {("estimates", "mean")})
    assert shown["Data"].tolist() == ["not shown", "2 (1.5 to 2.5)"]
    assert shown["Pairwise"].tolist() == ["3 (2.5 to 3.5)", "4 (3.5 to 4.5)"]


def test_hidden_groups_have_no_mean_in_any_file():
    groups = pd.MultiIndex.from_tuples([("sex", "f"), ("sex", "m"), ("age", "f")])
    means = pd.DataFrame({"Data": [1.2345, 2, 3], "Pairwise": [4.0, 5, 6]}, groups)
    shown = own.group_means(means, {("sex", "m")})
    assert shown["Data"].tolist() == ["1.23", "not shown", "3"]
    assert shown["Pairwise"].tolist() == ["4", "not shown", "6"]


def test_counts_are_rounded_in_the_table_of_risks():
    risk = {
        "Data": np.repeat([0.9, 0.1], 50),
        "Pairwise": np.repeat([0.9, 0.1], [7, 93]),
    }
    shown = own.risks(risk, np.max, small=10)
    assert shown.loc["Data"].tolist() == ["0.50", "0.90", "50.0%"]
    assert shown.loc["Pairwise", "records above 0.5"] == "10.0%"


def test_the_page_escapes_and_cuts_nothing():
    long = "word " * 40
    page = own.page("a<b", {"Mean of a<b": pd.DataFrame({"value": [long, "<i>"]})}, 10)
    assert "<h2>Mean of a&lt;b</h2>" in page
    assert "a<b" not in page
    assert "&lt;i&gt;" in page
    assert long.strip() in page
    assert "No guarantee of differential privacy is claimed." in page


# The last check


@pytest.fixture
def release(tmp_path):
    """A folder in which everything is as it should be, and what it is judged by."""
    for k in (1, 2):
        TABLE.assign(income=["11.00", "21.00", "31.00", "41.00"]).to_csv(
            tmp_path / f"synthetic-{k:02d}.csv", index=False
        )
    (tmp_path / "report.html").write_text("<p>mean 40,000</p>")
    return {
        "folder": tmp_path,
        "table": TABLE,
        "variable": "income",
        "predictors": ["sex"],
        "limits": (0, None),
        "n_datasets": 2,
        "weights": np.array([0.1234567891, 0.5, 1, 0]),
        "report": {
            "Mean of income": pd.DataFrame({"value": ["40,000 (30,000 to 50,000)"]})
        },
        "shown": {},
        "small": 2,
    }


def broken(release):
    """The places of the rules that do not hold."""
    held = own.required(**release).values()
    assert all(type(holds) is bool for holds in held)
    return [k for k, holds in enumerate(held) if not holds]


def test_a_good_release_passes(release):
    assert broken(release) == []


def test_another_file_stops(release):
    (release["folder"] / "weights.csv").write_text("1\n")
    assert broken(release) == [0]


def rewrite(release, change):
    path = release["folder"] / "synthetic-02.csv"
    change(pd.read_csv(path, dtype=str)).to_csv(path, index=False)


def test_other_columns_stop(release):
    rewrite(release, lambda file: file.assign(risk="0"))
    assert broken(release) == [1]


def test_other_predictors_stop(release):
    rewrite(release, lambda file: file.iloc[::-1])
    assert broken(release) == []
    rewrite(release, lambda file: set_to(file, 0, "sex", "f"))
    assert broken(release) == [2]


def test_values_beyond_the_limits_stop(release):
    assert broken(release | {"limits": (12, None)}) == [3]
    assert broken(release | {"limits": (None, 40)}) == [3]
    assert broken(release | {"limits": (None, None)}) == []


def test_a_weight_in_a_file_stops(release):
    (release["folder"] / "report.html").write_text("0.1234567891")
    assert broken(release) == [4]
    (release["folder"] / "report.html").write_text("0.5")  # no trace of a record
    assert broken(release) == []


def test_a_maximum_of_few_stops(release):
    shown = pd.DataFrame({"value": ["99,999.75"]})
    assert broken(release | {"report": {"Mean of income": shown}}) == [5]
    assert broken(release | {"report": {"Settings": shown}}) == []
    assert broken(release | {"report": {"Mean of income": shown}, "small": 1}) == []


def test_a_group_that_exposes_a_record_stops(release):
    sets = own.sets_of(TABLE[["sex"]], {"mean": slice(None)}, np.arange(4.0))
    assert broken(release | {"shown": sets}) == [6]  # 99,999.75 is all of it
    women = {("sex", "f"): sets["sex", "f"]}
    assert broken(release | {"shown": women}) == [6]  # 20 of 30.5
    assert (
        broken(release | {"shown": women, "table": set_to(TABLE, 0, "income", "20")})
        == []
    )


def test_formulas_are_compared_as_they_are_written(release):
    for file in sorted(release["folder"].glob("*.csv")):
        written = pd.read_csv(file, dtype=str).replace({"f": "'=1+1"})
        written.to_csv(file, index=False)
    table = TABLE.replace({"f": "=1+1"})
    assert broken(release | {"table": table}) == []


# Verdicts on the example


@pytest.fixture
def overview():
    return pd.DataFrame(
        {"mean risk": [0.9, 0.2, 0.15], "mean of the riskiest 1%": [1, 0.7, 0.6]},
        index=["Data", "Unweighted", "Pairwise"],
    )


def verdicts(overview, epsilon=(20.0, 5.0), tail_error=-5.0):
    return [
        bool(v) for v in own.claims(overview, pd.Series(epsilon), tail_error).values()
    ]


def test_claims_hold(overview):
    assert all(verdicts(overview))


def test_claims_can_fail(overview):
    def failing(*arguments):
        return [k for k, holds in enumerate(verdicts(*arguments)) if not holds]

    assert failing(set_to(overview, "Unweighted", "mean risk", 0.5)) == [0]
    assert failing(set_to(overview, "Pairwise", "mean risk", 0.3)) == [1]
    assert failing(set_to(overview, "Pairwise", "mean of the riskiest 1%", 0.8)) == [2]
    assert failing(overview, (5.0, 20.0)) == [3]
    assert failing(overview, (20.0, 5.0), 1.0) == [4]


@pytest.mark.parametrize(
    ("profile", "sizes"),
    [("class", (2, 100, 100)), ("book", (6, 400, 300)), ("paper", (6, 400, 300))],
)
def test_the_example_is_smaller_in_a_small_run_and_says_so(
    monkeypatch, capsys, profile, sizes
):
    monkeypatch.setattr(companion, "PROFILE", profile)
    with warnings.catch_warnings():
        assert own.sizes_of_example(6, 400, 300) == sizes
        assert bool(capsys.readouterr().out) == (profile == "class")
        # A page with anything on stderr is refused, and a small run does not converge.
        warnings.warn("R-hat 3", pp.ConvergenceWarning, stacklevel=1)
    assert capsys.readouterr() == ("R-hat 3\n", "")
