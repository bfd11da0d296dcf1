import numpy as np
import xarray as xr

from pseudopost.fits import Fit


def tree(**attrs):
    parameters = {
        name: (("chain", "draw"), np.full((2, 4), 77.0)) for name in ("mu", "phi")
    }
    occupied = {"occupied": (("chain", "draw"), [[3, 3, 4, 4], [2, 2, 2, 2]])}
    made = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(parameters),
            "sample_stats": xr.Dataset(occupied),
        }
    )
    made.attrs = attrs
    return made


def test_a_fit_prints_names_and_sizes_and_no_value():
    fit = Fit.of(tree(synthesizer="MixtureSynthesizer", not_converged=""))
    assert str(fit).splitlines() == [
        "Fit of a MixtureSynthesizer (confidential; values are shown by group)",
        "  posterior     mu, phi (chain: 2, draw: 4)",
        "  sample_stats  occupied (chain: 2, draw: 4)",
        "  components with records, by chain: 3.5, 2.0",
        "  no convergence problem found",
    ]
    assert "77" not in repr(fit)


def test_a_fit_tells_its_problems_and_shortens_long_lists():
    made = tree(not_converged="R-hat 1.3 of <mu>")
    made["posterior"] = xr.Dataset(
        {f"parameter_{k}": ("draw", [1.0]) for k in range(9)}
    )
    del made["sample_stats"]
    fit = Fit.of(made)
    assert str(fit).splitlines() == [
        "Fit of a model (confidential; values are shown by group)",
        "  posterior  parameter_0, parameter_1, parameter_2, parameter_3, [...] (draw: 1)",
        "  R-hat 1.3 of <mu>",
    ]
    assert "R-hat 1.3 of &lt;mu&gt;" in fit._repr_html_()


def test_an_empty_fit_prints():
    assert str(Fit.of(xr.DataTree())).endswith("no convergence problem found")
