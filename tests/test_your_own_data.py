import itertools
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import your_own_data

import pseudopost as pp

pytestmark = pytest.mark.slow
CHAPTER = Path(__file__).parents[1] / "book" / "practice" / "your-own-data.ipynb"
CODE = [c for c in nbformat.read(CHAPTER, as_version=4).cells if c.cell_type == "code"]
N_DATASETS = 3
PREDICTORS = ["branch", "size class"]
SETTINGS = {
    "VARIABLE": "profit",
    "PREDICTORS": PREDICTORS,
    "KNOWN": ["branch"],
    "SHIFT": 2000.0,
    "LOWEST": None,
    "N_DATASETS": N_DATASETS,
    "COMPONENTS": 2,
    "DRAWS": 20,
    "TUNE": 20,
    "SEED": 1,
}


def firms(n=300, random_seed=1):
    """Profits with cents, some losses and zeros, and two columns of text."""
    rng = np.random.default_rng(random_seed)
    branch = rng.choice(["Käse, Milch", "01", "NA"], n, p=[0.6, 0.37, 0.03])
    profit = np.exp(rng.normal(8, 1, n)) - 500
    profit[:5], profit[5] = 0, 123456.78
    return pd.DataFrame(
        {
            "branch": branch,
            "profit": [f"{value:.2f}" for value in profit],
            "size class": rng.choice(["small", "large"], n),
        }
    )


def draw_quickly(self, weights, settings, progressbar):
    """Draws around the weighted least-squares fit, where sampling would take a minute."""
    rng = np.random.default_rng(settings["random_seed"])
    root = np.sqrt(weights)
    beta = np.linalg.lstsq(root[:, None] * self.X, root * self.log_y)[0]
    shape = settings["chains"], settings["draws"], self.n_components
    dims = "chain", "draw", "component"
    sigma = np.std(self.log_y - self.X @ beta)
    posterior = {
        "pi": (dims, np.full(shape, 1 / self.n_components)),
        "beta": ((*dims, "predictor"), rng.normal(beta, 0.02, (*shape, len(beta)))),
        "sigma": (dims, np.full(shape, sigma)),
    }
    fit = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(posterior),
            "constant_data": xr.Dataset({"weights": ("record", weights)}),
        }
    )
    mark = self._mark(settings["random_seed"])
    fit.attrs = {"model": mark, "not_converged": "", **settings}
    return fit


def code_with(text):
    """The chapter's one code cell that has this text."""
    (found,) = (cell.source for cell in CODE if text in cell.source)
    return found


def read(path, **given):
    """The namespace after the chapter has read a file."""
    namespace = {}
    for cell in CODE[:2]:
        exec(cell.source, namespace)
    namespace |= {"CSV": str(path)} | given
    exec(code_with("own.read_as_text(path"), namespace)
    return namespace


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The chapter's namespace and output folder, run on the firms as papermill does."""
    folder = tmp_path_factory.mktemp("own")
    file = firms()
    file["profit"] += "0"  # more decimals than the values have
    file.to_csv(folder / "firms.csv", index=False)
    output = folder / "output"
    given = SETTINGS | {"CSV": str(folder / "firms.csv"), "OUTPUT": str(output)}
    namespace = {}
    pp.cache.on(folder / "stored")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plt, "show", lambda: plt.close("all"))
        patch.setattr(pp.MixtureSynthesizer, "_sample", draw_quickly)
        for cell in CODE:
            exec(cell.source, namespace)
            if "parameters" in cell.metadata.get("tags", []):
                assert set(given) <= set(namespace)
                namespace |= given
    return namespace, output


def synthetic_files(output):
    return [
        pd.read_csv(path, dtype=str, keep_default_na=False)
        for path in sorted(output.glob("*.csv"))
    ]


def as_written(value):
    """Ways in which a report may print a number."""
    return {f"{value:.2f}", f"{value:,.2f}", f"{value:.6g}", f"{value:,.10g}"}


def test_exactly_the_expected_files_are_written(run):
    assert {path.name for path in run[1].iterdir()} == {
        "report.html",
        *(f"synthetic-{k + 1:02d}.csv" for k in range(N_DATASETS)),
    }


def test_no_fit_is_stored_even_if_the_cache_was_on(run):
    assert not (run[1].parent / "stored").exists()


def test_synthetic_files_look_like_the_confidential_one(run):
    confidential = firms()
    for file in synthetic_files(run[1]):
        assert list(file) == list(confidential)
        assert len(file) == len(confidential)
        same = confidential[PREDICTORS].value_counts().sort_index()
        assert file[PREDICTORS].value_counts().sort_index().equals(same)
        assert file["profit"].str.fullmatch(r"-?\d+\.\d\d").all()
        assert set(file["profit"]) != set(confidential["profit"])


def test_rows_of_the_synthetic_files_are_in_an_order_of_their_own(run):
    for file in synthetic_files(run[1]):
        numbers = file.assign(profit=file["profit"].astype(float))
        in_order = numbers.sort_values([*PREDICTORS, "profit"])
        assert in_order.index.is_monotonic_increasing


def test_no_file_holds_weights_or_risks_of_records(run):
    namespace, output = run
    text = "".join(path.read_text(encoding="utf-8") for path in output.iterdir())
    per_record = [
        namespace["weights"],
        namespace["raw_weights"],
        *namespace["risk"].values(),
        *namespace["bounds"].values(),
    ]
    for values in per_record:
        assert len(values) == 300
        for value in set(map(float, values)):
            # Shorter ones, such as 0.25, are no trace of a record.
            if len(repr(value)) > 6:
                assert repr(value) not in text
                assert f"{value:.6f}" not in text


def test_the_report_holds_no_confidential_value(run):
    page = (run[1] / "report.html").read_text(encoding="utf-8")
    assert "Käse, Milch" in page
    numbers = set(re.findall(r"-?[\d,]*\.?\d+", page))
    for value in firms()["profit"].astype(float):
        if value:
            assert not as_written(value) & numbers


def test_numbers_of_the_report_have_three_digits(run):
    for title, part in run[0]["report"].items():
        for text in part.to_numpy().ravel():
            for number in re.findall(r"[\d,.]+\d", text):
                digits = re.sub(r"[,.]", "", number).strip("0")
                assert title == "Settings" or len(digits) <= 3


def test_the_report_holds_no_number_of_a_small_cell(run):
    counts, by_group = firms()["branch"].value_counts(), run[0]["report"]
    by_group = by_group["Mean of profit by group"]
    assert counts["NA"] < run[0]["SMALL_CELL"]
    assert set(by_group.loc[("branch", "NA")]) == {"not shown"}
    # The smallest of the others goes too, or subtraction would give the mean.
    assert set(by_group.loc[("branch", "01")]) == {"not shown"}
    assert "not shown" not in set(by_group.loc[("branch", "Käse, Milch")])


ALL = {"mean": slice(None)}


def hidden(people, y, windows=ALL, small=10):
    sets = your_own_data.sets_of(pd.DataFrame(people), windows, np.asarray(y, float))
    return your_own_data.hidden_sets(sets, np.asarray(y, float), small)


def test_a_group_with_one_dominant_record_is_hidden():
    y, people = np.ones(300), firms()[["size class"]]
    assert hidden(people, y) == set()
    y[np.argmax(people["size class"] == "large")] = 1000
    assert hidden(people, y) == {("estimates", "mean"), ("size class", "large")}


@pytest.mark.parametrize(
    ("sizes", "largest", "expected"),
    [
        # Two small groups: the mean of their 7 records is that of a small cell.
        ({"a": 3, "b": 4, "c": 30, "d": 60}, 1, {"a", "b", "c"}),
        ({"a": 12, "b": 14, "c": 30, "d": 60}, 20, {"a", "b"}),
        ({"a": 10, "b": 10}, 1, set()),
        ({"a": 9, "b": 11}, 1, {"a", "b"}),
    ],
)
def test_hidden_groups_are_safe_together(sizes, largest, expected):
    groups = np.repeat(list(sizes), list(sizes.values()))
    y = np.ones(len(groups))
    y[np.argmax(groups == "a")] = largest
    assert hidden({"group": groups}, y) == {("group", name) for name in expected}


def test_two_groups_that_differ_in_one_record_are_not_both_shown():
    # 11 records with mean 148, and 10 of them with mean 102: the last one has 608.
    people = {"a": ["x"] * 11 + ["y"] * 20, "b": ["u"] * 10 + ["v"] * 21}
    y = np.r_[np.full(10, 102), 613, 50 + np.arange(20)]
    assert hidden(people, y) == {("a", "x"), ("a", "y")}


def test_windows_count_as_known():
    # Ten of eleven records of a group are those around a quantile.
    y = np.arange(60.0) + 1
    people = {"a": np.where((y > 20) & (y <= 31), "x", "y")}
    windows = ALL | {"median": slice(20, 30)}
    assert hidden(people, y, windows) == {("a", "x"), ("a", "y")}
    assert hidden(people, y) == set()


def test_a_group_with_the_name_of_an_estimate_is_refused():
    people = {"estimates": ["mean"] * 15 + ["other"] * 15}
    with pytest.raises(ValueError, match="must not have the level 'mean'"):
        hidden(people, np.ones(30))


def totals_that_expose(sets, y, small, factors=(-1, 0, 1)):
    """All sums of totals, with these factors, in which a record counts for too much."""
    members = np.array(list(sets.values()), dtype=float)
    chosen = np.array(list(itertools.product(factors, repeat=len(members))))
    found = np.abs(chosen @ members)
    amounts = found * np.abs(y)
    many = found.max(axis=1) * small > found.sum(axis=1) + 1e-9
    large = amounts.max(axis=1) * 2 > amounts.sum(axis=1) + 1e-9
    return chosen[many | large]


@pytest.mark.parametrize("seed", range(12))
def test_no_sum_of_what_is_shown_exposes_a_record(seed):
    rng = np.random.default_rng(seed)
    n, small = 60, 4
    nested = rng.integers(0, 3, n)
    people = pd.DataFrame(
        {
            "a": nested,
            "b": np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), nested),
            "c": rng.integers(0, 2, n),
        }
    ).astype(str)
    y = np.exp(rng.normal(0, 1 + seed / 6, n))
    windows = ALL | {"median": slice(28, 32)}
    sets = your_own_data.sets_of(people, windows, y)
    shown = {key: sets[key] for key in set(sets) - hidden(people, y, windows, small)}
    assert len(totals_that_expose(sets, y, small))
    if shown:
        assert not len(totals_that_expose(shown, y, small))


@pytest.mark.parametrize("seed", range(12))
def test_what_is_hidden_would_expose_a_record(seed):
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(rng.integers(0, 3, (40, 2)).astype(str), columns=["a", "b"])
    y, small = np.exp(rng.normal(0, 1.5, 40)), 6
    sets = your_own_data.sets_of(people, ALL, y)
    concealed = your_own_data.hidden_sets(sets, y, small)
    shown = {key: value for key, value in sets.items() if key not in concealed}
    for key in concealed:
        assert your_own_data.exposing(shown | {key: sets[key]}, y, small)


def test_a_sum_that_is_found_exposes_a_record():
    rng = np.random.default_rng(1)
    people = pd.DataFrame(rng.integers(0, 4, (80, 2)).astype(str), columns=["a", "b"])
    sets, y = your_own_data.sets_of(people, ALL, np.ones(80)), np.ones(80)
    factors = your_own_data.exposing(sets, y, small=25)
    found = np.abs(sum(factor * sets[key] for key, factor in factors.items()))
    assert found.sum() < 25 * found.max()


@pytest.mark.parametrize(("n", "levels"), [(60, 3), (200, 5)])
def test_the_quick_bound_is_below_the_program(n, levels):
    rng = np.random.default_rng(n)
    members = np.r_[
        [np.ones(n)], *(rng.integers(0, levels, n) == np.arange(levels)[:, None],) * 2
    ]
    rows, cell = np.unique(members.T, axis=0, return_inverse=True)
    amounts = np.bincount(cell, rng.random(n))
    bounds = your_own_data.least_amounts(rows, amounts, np.arange(len(rows)))
    for k, bound in enumerate(bounds):
        factors = your_own_data.cheapest(rows, amounts, k)
        least = np.abs(rows @ factors) @ amounts
        assert 0 < bound <= least + 1e-3


@pytest.mark.parametrize(
    ("row", "alone"), [("mean", 299), ("25% quantile", 79), ("90% quantile", 274)]
)
def test_an_estimate_with_one_dominant_record_is_hidden(run, tmp_path, row, alone):
    y = np.zeros(300)
    y[alone:] = np.geomspace(1000, 1100, 300 - alone)
    namespace = run[0] | {"y": y, "folder": tmp_path}
    exec(code_with("sets = own.sets_of(people"), namespace)
    exec(code_with("report = {"), namespace)
    estimates = namespace["report"]["profit: estimates and 95% bootstrap intervals"]
    assert list(estimates.index[estimates["Data"] == "not shown"]) == [row]


def test_no_value_is_a_negative_zero(run, monkeypatch):
    namespace, _ = run
    model = SimpleNamespace(synthesize=lambda *_, **__: xr.DataArray([[-0.001]]))
    monkeypatch.setitem(namespace, "model", model)
    assert not np.signbit(namespace["released"](None)).any()


def test_a_file_that_was_not_expected_stops_the_release(run, tmp_path):
    namespace, output = run
    folder = shutil.copytree(output, tmp_path / "output")
    (folder / "weights.csv").write_text("1\n")
    with pytest.raises(ValueError, match="files are written': False"):
        exec(code_with("required = own.required("), namespace | {"folder": folder})


def test_a_maximum_in_the_report_stops_the_release(run):
    namespace, _ = run
    report = namespace["report"] | {"Mean of profit": pd.DataFrame(["123,456.78"])}
    with pytest.raises(ValueError, match="maximum of few records': False"):
        exec(code_with("required = own.required("), namespace | {"report": report})


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0.0%"), (4, "0.0%"), (6, "10.0%"), (93, "90.0%")]
)
def test_counts_are_rounded_to_multiples_of_a_small_cell(count, shown):
    assert your_own_data.rounded_share(count, 100, small=10) == shown


def test_a_group_that_should_be_hidden_stops_the_release(run):
    namespace, _ = run
    with pytest.raises(ValueError, match="exposes a record': False"):
        exec(
            code_with("required = own.required("),
            namespace | {"shown": namespace["sets"]},
        )


def test_what_is_shown_is_read_from_the_report(run):
    namespace, _ = run
    assert set(namespace["sets"]) - set(namespace["shown"]) == namespace["hidden"]
    assert ("branch", "NA") in namespace["hidden"]


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1+2", "'+1+2"),
        ("-SUM(A1)", "'-SUM(A1)"),
        ("@x", "'@x"),
        ("-5", "-5"),
        ("+1.5", "+1.5"),
        ("a=1", "a=1"),
        ("", ""),
    ],
)
def test_formulas_of_spreadsheets_are_neutralised(text, safe):
    table = pd.DataFrame({text: [text]})
    expected = pd.DataFrame({safe: [safe]})
    pd.testing.assert_frame_equal(your_own_data.without_formulas(table), expected)


def release_of(file, folder, **given):
    """The chapter's namespace, run on a file up to the last check of its release."""
    file.to_csv(folder / "firms.csv", index=False)
    given = SETTINGS | {"OUTPUT": str(folder / "output")} | given
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plt, "show", lambda: plt.close("all"))
        patch.setattr(pp.MixtureSynthesizer, "_sample", draw_quickly)
        namespace = {}
        for cell in CODE:
            exec(cell.source, namespace)
            if "parameters" in cell.metadata.get("tags", []):
                namespace |= given | {"CSV": str(folder / "firms.csv")}
            if "required = own.required(" in cell.source:
                break
    return namespace


def test_survey_weights_are_released_as_they_are(tmp_path, capsys):
    rng = np.random.default_rng(1)
    file = firms().assign(weight=rng.choice(["1.50", "3", "20"], 300))
    run = release_of(file, tmp_path, SURVEY_WEIGHT="weight")
    unchanged = [*PREDICTORS, "weight"]
    same = file[unchanged].value_counts().sort_index()
    for released in synthetic_files(tmp_path / "output"):
        assert list(released) == list(file)
        assert released[unchanged].value_counts().sort_index().equals(same)
    assert (
        run["report"]["Settings"]
        .loc["released unchanged", "value"]
        .endswith(", weight")
    )
    by_hand = np.average(
        file["profit"].astype(float), weights=file["weight"].astype(float)
    )
    assert f"{by_hand:.3f}" in capsys.readouterr().out


def test_estimates_for_the_population():
    files = np.array([[1.0, 2.0, 9.0], [4.0, 5.0, 6.0]])
    weight = np.array([1.0, 1.0, 2.0])
    found = your_own_data.for_population({"Data": files[0], "z": files}, weight, [0.5])
    # As if the last record stood in the file twice.
    twice = files[:, [0, 1, 2, 2]]
    assert found.loc["mean", "Data"] == twice[0].mean()
    assert found.loc["mean", "z"] == twice.mean()
    assert found.loc["50% quantile", "Data"] == 2
    assert found.loc["50% quantile", "z"] == (2 + 5) / 2


def test_no_formula_is_released(tmp_path):
    file = firms()
    file["branch"] = file["branch"].replace("01", "=HYPERLINK(1)")
    namespace = release_of(file, tmp_path)
    for file in synthetic_files(tmp_path / "output"):
        assert set(file["branch"]) == {"Käse, Milch", "'=HYPERLINK(1)", "NA"}
    found = namespace["findings"].set_index("check").loc["Formulas"]
    assert found["found"].startswith("1 columns")


# The settings


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("SHIFT", np.nan, "must be a number from -inf to inf; got nan"),
        ("SHIFT", np.inf, "must be a number from -inf to inf; got inf"),
        ("SHIFT", 10**301, f"must be a number from -inf to inf; got {10**301}"),
        ("SHIFT", "100", "must be a number from -inf to inf; got '100'"),
        ("SMALL_CELL", -5, "must be a whole number from 3 to 1000; got -5"),
        ("SMALL_CELL", 10.0, "must be a whole number from 3 to 1000; got 10.0"),
        ("RADIUS", True, "must be a number from 0 to 100; got True"),
        ("ALONE", 1.5, "must be a number from 0 to 1; got 1.5"),
        ("WEIGHT_SCALE", -1, "must be a number from 0 to 100; got -1"),
        ("WEIGHT_SHIFT", np.inf, "must be a number from -1 to 1; got inf"),
        ("WEIGHTS", "Pairwise", "must be 'pairwise' or 'marginal'; got 'Pairwise'"),
        ("LOWEST", np.nan, "must be a number from -inf to inf; got nan"),
        ("N_DATASETS", 1, "must be a whole number from 2 to 40; got 1"),
        ("N_DATASETS", 41, "must be a whole number from 2 to 40; got 41"),
        ("DRAWS", 10**8, "must be a whole number from 4 to 10000000; got 100000000"),
        ("TUNE", 0, "must be a whole number from 1 to 10000000; got 0"),
        ("COMPONENTS", 0, "must be a whole number from 1 to 1000; got 0"),
        ("SEED", -1, f"must be a whole number from 0 to {2**63 - 1}; got -1"),
        ("PREDICTORS", "branch", "must be a list of names; got 'branch'"),
        ("KNOWN", [1], "must be a list of names; got [1]"),
        ("SURVEY_WEIGHT", ["w"], "must be a name or None; got ['w']"),
    ],
)
def test_impossible_settings_stop(run, name, value, rule):
    with pytest.raises(ValueError, match=f"^{name} {re.escape(rule)}$"):
        exec(code_with("y, findings = own.check("), run[0] | {name: value})


def test_limits_in_the_wrong_order_stop(run):
    message = r"^HIGHEST, beside LOWEST, must be a number from 5 to inf; got 4$"
    with pytest.raises(ValueError, match=message):
        exec(
            code_with("y, findings = own.check("),
            run[0] | {"LOWEST": 5, "HIGHEST": 4},
        )


# Reading the file


def test_nobody_knows_the_seed_of_a_file_of_ones_own(tmp_path):
    firms().to_csv(tmp_path / "firms.csv", index=False)
    seeds = {read(tmp_path / "firms.csv", OUTPUT=tmp_path)["SEED"] for _ in range(2)}
    assert len(seeds) == 2


def test_a_release_needs_a_folder(tmp_path):
    with pytest.raises(ValueError, match="OUTPUT must name a folder"):
        read(tmp_path / "firms.csv")


def test_lines_with_more_values_than_names_stop(tmp_path):
    (tmp_path / "shifted.csv").write_text("sex,income\nf,1,\nm,2,\n")
    with pytest.raises(ValueError, match="CSV must not have more values"):
        read(tmp_path / "shifted.csv", OUTPUT=tmp_path)


def test_spaces_make_no_second_level(tmp_path):
    (tmp_path / "spaces.csv").write_text("sex,income\nf,1\n f,2\nf ,3\n")
    assert set(read(tmp_path / "spaces.csv", OUTPUT=tmp_path)["table"]["sex"]) == {"f"}


# The check of the file


def checked(file, **changes):
    given = {
        "variable": "profit",
        "predictors": PREDICTORS,
        "known": ["branch"],
        "shift": 2000,
    }
    return your_own_data.check(file, **(given | changes))


def test_a_good_file_passes_and_its_oddities_are_found():
    y, findings = checked(firms())
    found = findings.set_index("check")["found"]
    assert np.allclose(y, firms()["profit"].astype(float))
    assert found["Equal to 0"] == "5"
    assert found["Below 0"] == str((y < 0).sum())
    assert found["Rare levels"] == "branch=NA (7)"
    assert found["Most frequent value"].startswith("0, with 1.7%")


def test_advice_depends_on_what_is_found():
    file = firms()
    file.loc[:99, "profit"] = "2500"
    file.loc[100, "branch"] = "alone"
    advice = checked(file)[1].set_index("check")["what to do"]
    assert "synthesize first" in advice["Most frequent value"]
    assert "smoothed" in advice["Heaping"]
    assert "coarsen" in advice["Patterns"]
    pair = firms()
    pair["branch"] = ["pair"] * 2 + ["other"] * 298
    found = checked(pair)[1].set_index("check").loc["Patterns"]
    assert "records alone: 0, patterns of fewer than 10: 1" in found["found"]
    assert "coarsen" in found["what to do"]
    assert "lower SHIFT" in checked(file, shift=1e6)[1].to_string()
    file["profit"] = "5000"
    file.loc[:3, "profit"] = "0.001"
    assert "raise SHIFT" in checked(file, shift=0)[1].to_string()
    assert "set LOWEST = 0" in checked(file)[1].to_string()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"variable": "sales"},
            "column 'sales' must be in the file; it has branch, profit, size class",
        ),
        (
            {"predictors": ["branch"]},
            "column 'size class' must be VARIABLE, SURVEY_WEIGHT or in PREDICTORS; it is "
            "none of them and would be released: remove from the file size class",
        ),
        (
            {"predictors": ["branch", "size class", "branch"]},
            "PREDICTORS must be distinct; got ['branch', 'size class', 'branch']",
        ),
        (
            {"known": ["size class", "age"]},
            "column 'age' must be in the file; it has branch, profit, size class",
        ),
        (
            {"predictors": ["branch"], "known": ["size class"]},
            "column 'size class' of KNOWN must be in PREDICTORS too; it is not",
        ),
        (
            {"predictors": [*PREDICTORS, "profit"]},
            "column 'profit' must not be in PREDICTORS; it is VARIABLE",
        ),
        (
            {"survey_weight": "weight"},
            "column 'weight' must be in the file; it has branch, profit, size class",
        ),
        (
            {"survey_weight": "branch"},
            "column 'branch' must be one of VARIABLE, PREDICTORS and SURVEY_WEIGHT; it "
            "is SURVEY_WEIGHT and another: give a predictor a banded copy",
        ),
        (
            {"known": []},
            "PREDICTORS and KNOWN must name a column each; got ['branch', 'size class'] "
            "and []",
        ),
        (
            {"shift": 100},
            "column 'profit' must lie above -SHIFT, which is -100; line 297 has "
            "'-363.02': choose a larger, round SHIFT",
        ),
        (
            {"limits": (-3000, None)},
            "column 'profit' needs LOWEST above -SHIFT; they are -3000, -2000",
        ),
        (
            {"limits": (None, 100_000)},
            "column 'profit' must lie between LOWEST and HIGHEST, -inf and 100000; "
            "line 7 has '123456.78': this is no limit",
        ),
    ],
)
def test_bad_parameters_stop(changes, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        checked(firms(), **changes)


def cell(column, row, value):
    def change(file):
        file.loc[row, column] = value

    return change


def whole(column, values):
    def change(file):
        file[column] = values

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            cell("profit", 17, ""),
            "column 'profit' must have no empty cells, and has 1; line 19 has '': "
            "impute it, or give it a level",
        ),
        (
            cell("branch", [17, 20], " "),
            "column 'branch' must have no empty cells, and has 2; line 19 has ' ': "
            "impute it, or give it a level",
        ),
        (
            cell("profit", 17, "1,234.50"),
            "column 'profit' must hold numbers only, with a decimal point, without "
            "units or thousands separators; line 19 has '1,234.50'",
        ),
        (
            cell("profit", 17, "none"),
            "column 'profit' must hold numbers only, with a decimal point, without "
            "units or thousands separators; line 19 has 'none'",
        ),
        (
            cell("profit", 17, "inf"),
            "column 'profit' must hold numbers only, with a decimal point, without "
            "units or thousands separators; line 19 has 'inf'",
        ),
        (
            whole("profit", "5"),
            "column 'profit' must vary; all 300 records have 5",
        ),
        (
            whole("branch", "x"),
            "column 'branch' must vary; all records have 'x': remove it",
        ),
        (
            whole("branch", [str(k) for k in range(300)]),
            "column 'branch' must have at most 30 levels, and has 300; '299' has 1 "
            "record(s): group the levels, or remove an identifier",
        ),
        (
            whole("branch", [str(k % 30) for k in range(300)]),
            "column 'branch' has 30 levels, the most of any predictor; 300 records are "
            "too few for 31 coefficients, 10 each: merge levels or remove predictors",
        ),
    ],
)
def test_bad_files_stop(change, message):
    file = firms()
    change(file)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        checked(file)


def test_a_column_that_another_determines_is_a_finding():
    file = firms()
    whole("size class", firms()["branch"].replace("NA", "01"))(file)
    _, findings = checked(file)
    row = findings.set_index("check").loc["Predictor size class=Käse, Milch"]
    assert row["found"] == "determined by branch=Käse, Milch"
    assert "leaves it out" in row["what to do"]


def test_a_file_of_few_records_stops():
    message = "^column 'profit' must have at least 100 records; it has 99$"
    with pytest.raises(ValueError, match=message):
        checked(firms(99))


def test_survey_weights_of_their_own_are_a_finding():
    file = firms().assign(weight=[f"{k % 299 + 1}.5" for k in range(300)])
    row = checked(file, survey_weight="weight")[1].set_index("check")
    row = row.loc["Survey weight"]
    assert row["found"] == "299 different ones; 298 records have one of their own"
    assert "round or group it" in row["what to do"]
    file["weight"] = ["2", "3"] * 150
    row = checked(file, survey_weight="weight")[1].set_index("check")
    row = row.loc["Survey weight"]
    assert row["found"] == "2 different ones; 0 records have one of their own"
    assert not row["what to do"]


@pytest.mark.parametrize("text", ["0", "-1.5"])
def test_survey_weights_are_above_0(text):
    file = firms().assign(weight="2")
    file.loc[17, "weight"] = text
    message = f"^column 'weight' must be above 0; line 19 has '{text}'$"
    with pytest.raises(ValueError, match=message):
        checked(file, survey_weight="weight")


# A real file: a quarter of the Consumer Expenditure Surveys, as it was published


@pytest.fixture(scope="module")
def quarter(tmp_path_factory):
    path = Path(__file__).parents[1] / "data" / "ce2016q1.csv.gz"
    people = pp.datasets.read_consumer_expenditure(path)
    survey = pd.read_csv(path, dtype=str)["FINLWT21"]
    path = tmp_path_factory.mktemp("quarter") / "quarter.csv"
    people.assign(weight=survey).to_csv(path, index=False)
    return your_own_data.read_as_text(path)


INCOME = {"variable": "income", "known": ["gender", "age", "region"], "shift": 100_000}


def checked_quarter(quarter, **changes):
    predictors = [name for name in quarter if name not in ("income", "weight")]
    given = INCOME | {"predictors": predictors, "survey_weight": "weight"}
    return checked(quarter, **given | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"survey_weight": None}, "column 'weight' must be VARIABLE, SURVEY_WEIGHT or"),
        ({"shift": 0}, "column 'income' must lie above -SHIFT, which is 0; line"),
        ({"limits": (0, None)}, "column 'income' must lie between LOWEST and HIGHEST"),
    ],
)
def test_what_stops_a_real_quarter(quarter, changes, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        checked_quarter(quarter, **changes)


def test_what_is_found_in_a_real_quarter(quarter):
    y, findings = checked_quarter(quarter)
    found = findings.set_index("check")
    assert found.loc["Equal to 0", "found"] == f"{(y == 0).sum():,}"
    assert "judge these by hand" in found.loc["Equal to 0", "what to do"]
    assert (y < 0).sum() == int(found.loc["Below 0", "found"]) > 0
    assert "synthesize first" in found.loc["Most frequent value", "what to do"]
    assert "records have one of their own" in found.loc["Survey weight", "found"]
    assert found.index.str.startswith("Predictor ").any()
