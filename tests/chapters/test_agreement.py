from types import SimpleNamespace

import agreement
import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_with_diagnostics_keeps_the_chains_apart(rng):
    values = np.append(rng.normal(0, 1, 200), rng.normal(3, 1, 200))
    found = agreement.with_diagnostics(values, chains=2)
    assert found["value"] == values.mean()
    assert found["error"] == float(az.mcse(values.reshape(2, 200)))
    assert found["R-hat"] > 1.5


def test_headline_numbers_are_means_over_files(rng):
    z = rng.normal(size=(100, 30))
    posterior = xr.Dataset({"mu": (("chain", "draw"), np.zeros((2, 5)))})
    fits = {
        name: xr.DataTree.from_dict(
            {"/": xr.Dataset(attrs={"not_converged": warning}), "posterior": posterior}
        )
        for name, warning in (("Vector", ""), ("Unweighted", "R-hat 3"))
    }
    study = SimpleNamespace(
        fits=fits,
        synthesize=lambda name, n_datasets: z,
        risk_of=lambda released: released[0] ** 2,
    )
    found = agreement.headline_numbers("P1", study)["value"]
    assert np.isclose(found["P1", "Vector", "mean risk"], (z**2).mean())
    assert np.isclose(
        found["P1", "Vector", "90% quantile"], np.mean([np.quantile(v, 0.9) for v in z])
    )
    assert set(found.index.get_level_values("synthesizer")) == {"Vector"}
    del fits["Vector"]
    assert agreement.headline_numbers("P1", study).empty


@pytest.mark.parametrize("n", [agreement.S, 5 * agreement.S])
def test_spaced_takes_both_ends(n):
    found = agreement.spaced(np.arange(n))
    assert (len(found), found[0], found[-1]) == (agreement.S, 0, n - 1)
    assert set(np.diff(found)) <= {n // agreement.S, n // agreement.S + 1}


def test_kept_numbers_come_back(tmp_path, monkeypatch):
    index = pd.MultiIndex.from_tuples(
        [("P1", "Vector", "median"), ("P3", "CW", "largest bound")], names=agreement.KEY
    )
    table = pd.DataFrame({"value": [1.5, 2.5], "error": [0.1, 0.2]}, index=index)
    monkeypatch.setattr(agreement, "STORED", tmp_path / "kept.csv")
    agreement.keep(table)
    agreement.keep(table[1:] + 1)  # takes the place of that row alone
    found = agreement.kept(index)
    pd.testing.assert_frame_equal(
        found[["value", "error"]], table + np.array([[0], [1]])
    )
    assert found["made with"].str.startswith("pseudopost ").all()


def test_every_stored_number_has_an_error():
    stored = pd.read_csv(agreement.STORED, index_col=agreement.KEY)
    pd.testing.assert_frame_equal(agreement.kept(stored.index), stored)
    assert (stored["error"] > 0).all()


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (13.7081, 0.0351, "13.708 ± 0.035"),
        (50702.9, 20.3, "50,703 ± 20"),
        (102.6422, 0.00098, "102.64220 ± 0.00098"),
        (5.4, 1.23, "5.4 ± 1.2"),
    ],
)
def test_with_error_has_two_digits_of_the_error(value, error, text):
    found = agreement.with_error({"value": value, "error": error})
    assert found.split() == text.split()


def test_numbers_of_the_text():
    index = pd.MultiIndex.from_tuples(
        [
            ("P1", "Vector", "median"),
            ("P2", "Marginal", "mean risk"),
            ("P2", "Marginal", "median"),
            ("P2", "Pairwise", "median"),
        ],
        names=agreement.KEY,
    )
    scaled = pd.Series([2.5, -3.0, 1.0, -1.0], index=index)
    relative = pd.Series([0.5, -2.0, 0.3, -0.4], index=index)
    found = agreement.text_on_agreement(scaled, 4.0, relative)
    assert np.isclose(found.pop("expected"), 8 * stats.norm.sf(2))
    assert found == {
        "how-many": 4,
        "beyond-two": 2,
        "largest": 3,
        "limit": 4,
        "largest-relative": 2,
        "quantiles": 2,
        "lower": 1,
        "shortfall": 0.4,
    }
    found = agreement.text_on_agreement(scaled[:1], 4.0, relative[:1])
    assert (found["quantiles"], found["shortfall"]) == (0, 0)
