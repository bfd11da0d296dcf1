"""What is said of a fit that has not converged."""

import arviz as az
import numpy as np
import pytest
import xarray as xr

from pseudopost.convergence import problems, share_of_wanted

MIXED = np.random.default_rng(1).normal(5, 0.1, size=(2, 1000))
SHIFTED = MIXED + np.array([[0], [0.1]])
# Bursts that reach far out come rarely, and as often in both halves of a chain.
BURSTS = 5 + (MIXED - 5) * np.where(np.arange(1000) // 50 % 4 == 0, 10, 1)
DIMS = ("chain", "draw")


def judged(variables, coords=None, **stats):
    return xr.DataTree.from_dict(
        {
            "group": xr.Dataset(variables, coords),
            "sample_stats": xr.Dataset({k: (DIMS, v) for k, v in stats.items()}),
        }
    )


def said(variables, coords=None, **stats):
    return problems(judged(variables, coords, **stats), "group")


def stacked(*draws):
    return np.stack(draws, axis=-1)


def test_nothing_is_said_of_a_fit_that_has_converged():
    assert said({"a": (DIMS, MIXED)}, occupied=np.ones((2, 1000))) == ""


def test_the_tails_are_judged_too():
    tail = float(az.ess(xr.Dataset({"a": (DIMS, BURSTS)}), method="tail")["a"])
    assert said({"a": (DIMS, BURSTS)}).startswith(
        "the fit has not converged: "
        f"tail effective sample size {tail:.0f} below 200, of a ("
    )


def test_the_worst_quantity_is_named_with_its_mean_in_each_chain():
    variables = {
        "fine": (DIMS, MIXED),
        "density": (
            (*DIMS, "rank", "of"),
            stacked(MIXED, SHIFTED, MIXED, MIXED).reshape(2, 1000, 2, 2),
            {"unit": "nats"},
        ),
    }
    text = said(variables, {"rank": [0.25, 0.75]})
    first, second = SHIFTED.mean(axis=1)
    where = f"density at rank 0.25, 1 ({first:.4g}, {second:.4g} nats by chain)"
    assert text.startswith("the fit has not converged: R-hat 1.176 above 1.05, bulk")
    assert text.endswith(f", of {where}")
    assert text.count("density") == 1


def test_means_in_the_thousands_are_whole_numbers():
    text = said({"income": (DIMS, 1000 * SHIFTED, {"unit": "dollars"})})
    first, second = 1000 * SHIFTED.mean(axis=1)
    assert f"income ({first:,.0f}, {second:,.0f} dollars by chain)" in text


def test_each_problem_has_its_own_quantity():
    slightly = MIXED + np.array([[0], [0.04]])
    text = said({"bursts": (DIMS, BURSTS), "slightly": (DIMS, slightly)})
    bulk, tail = text.removeprefix("the fit has not converged: ").split("; ")
    assert bulk.startswith("bulk effective sample size ")
    assert " below 200, of slightly (" in bulk
    assert tail.startswith("tail effective sample size ")
    assert " below 200, of bursts (" in tail


@pytest.mark.parametrize("place", [0, 1])
def test_a_number_that_is_missing_is_the_worst(place):
    missing = np.where(np.arange(1000) < 1, np.nan, MIXED)
    both = [SHIFTED, SHIFTED]
    both[place] = missing
    text = said({"a": ((*DIMS, "of"), stacked(*both)), "b": (DIMS, SHIFTED)})
    assert text.startswith(
        "the fit has not converged: R-hat nan above 1.05, "
        "bulk effective sample size nan below 200, "
        f"tail effective sample size nan below 200, of a at {place} ("
    )
    assert ";" not in text


def test_one_chain_has_no_r_hat():
    text = said({"a": (DIMS, np.sort(MIXED[:1]))})
    assert text.startswith("the fit has not converged: bulk effective sample size ")
    assert " below 100, tail effective sample size " in text
    assert "R-hat" not in text


def test_divergences_are_counted():
    diverging = np.zeros((2, 1000), dtype=bool)
    assert said({"a": (DIMS, MIXED)}, diverging=diverging) == ""
    diverging[0, :3] = True
    text = said({"a": (DIMS, MIXED)}, diverging=diverging)
    assert text == "the fit has not converged: 3 divergent transitions"


def test_what_is_empty_is_not_judged():
    nothing = np.empty((2, 1000, 0))
    assert said({"a": (DIMS, MIXED), "none": ((*DIMS, "of"), nothing)}) == ""


@pytest.mark.parametrize("draws", [1000, 200])
def test_share_of_the_size_that_is_wanted(draws):
    values = {"a": MIXED[:, :draws], "b": stacked(BURSTS, MIXED)[:, :draws]}
    sizes = [
        az.ess(xr.Dataset({"x": (DIMS, v)}), method=method)["x"]
        for v in (values["a"], *np.moveaxis(values["b"], 2, 0))
        for method in ("bulk", "tail")
    ]
    wanted = 2 * min(100, draws / 4)
    assert share_of_wanted(values) == pytest.approx(min(map(float, sizes)) / wanted)


def test_a_size_that_is_missing_is_no_share():
    values = {"a": np.where(np.arange(1000) < 1, np.nan, MIXED), "b": MIXED}
    assert np.isnan(share_of_wanted(values))
