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
    fit.attrs = {"model": self._fingerprint, "not_converged": "", **settings}
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


def test_a_group_with_one_dominant_record_is_hidden(run, monkeypatch):
    namespace, _ = run
    assert namespace["hidden_groups"]("size class") == set()
    y = np.ones(300)
    y[np.argmax(firms()["size class"] == "large")] = 1000
    monkeypatch.setitem(namespace, "y", y)
    assert namespace["hidden_groups"]("size class") == {"large", "small"}


@pytest.mark.parametrize(
    ("sizes", "largest", "hidden"),
    [
        # Two small groups: the mean of their 7 records is that of a small cell.
        ({"a": 3, "b": 4, "c": 30, "d": 60}, 1, {"a", "b", "c"}),
        # One record makes up most of any groups that are hidden with its own.
        ({"a": 50, "b": 12, "c": 30}, 1e9, {"a", "b", "c"}),
        ({"a": 12, "b": 14, "c": 30, "d": 60}, 20, {"a", "b"}),
    ],
)
def test_hidden_groups_are_safe_together(run, monkeypatch, sizes, largest, hidden):
    namespace, _ = run
    groups = np.repeat(list(sizes), list(sizes.values()))
    y = np.ones(len(groups))
    y[np.argmax(groups == "a")] = largest
    monkeypatch.setitem(namespace, "table", pd.DataFrame({"group": groups}))
    monkeypatch.setitem(namespace, "y", y)
    assert namespace["hidden_groups"]("group") == hidden


@pytest.mark.parametrize(
    ("row", "alone"), [("mean", 299), ("25% quantile", 79), ("90% quantile", 274)]
)
def test_an_estimate_with_one_dominant_record_is_hidden(run, tmp_path, row, alone):
    y = np.zeros(300)
    y[alone:] = np.geomspace(1000, 1100, 300 - alone)
    namespace = run[0] | {"y": y, "folder": tmp_path}
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


@pytest.mark.parametrize("n_datasets", [1, 41])
def test_impossible_numbers_of_files_stop(run, n_datasets):
    with pytest.raises(ValueError, match=f"from 2 to 40; got {n_datasets}$"):
        exec(code_with("y, findings = own.check("), run[0] | {"N_DATASETS": n_datasets})


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0.0%"), (9, "not shown"), (10, "10.0%"), (92, "not shown")],
)
def test_shares_of_few_records_are_hidden(count, shown):
    assert your_own_data.count_or_hidden(count, 100, small=10) == shown


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
            "column 'size class' must be VARIABLE or in PREDICTORS; it is neither and "
            "would be released: remove from the file size class",
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
        (
            whole("size class", firms()["branch"].replace("NA", "01")),
            "column 'size class=Käse, Milch' must say something new; the columns before "
            "it determine it",
        ),
    ],
)
def test_bad_files_stop(change, message):
    file = firms()
    change(file)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        checked(file)


def test_a_file_of_few_records_stops():
    message = "^column 'profit' must have at least 100 records; it has 99$"
    with pytest.raises(ValueError, match=message):
        checked(firms(99))
