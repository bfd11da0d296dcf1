import numpy as np
import pandas as pd
import xarray as xr

import pseudopost as pp


def calibration(problem=""):
    path = pd.DataFrame(
        {"constant": [0.95, 0.475, 0.7125], "difference": [0.3, -0.0123, -0.2]}
    )
    fit = xr.DataTree()
    fit.attrs["not_converged"] = problem
    weights = np.array([0.12345, 0.5, 1])
    return pp.Calibration(0.475, weights, fit, path)


def test_prints_three_lines_and_no_record():
    assert repr(calibration()).splitlines() == [
        "Calibration: constant 0.475, mean weight 0.541",
        "step 2 of 3, difference from the target -0.0123",
        "the fit has converged",
    ]
    assert "0.12345" not in str(calibration())


def test_prints_what_kept_a_fit_from_converging():
    problem = "the fit has not converged: R-hat 1.210 above 1.05"
    assert repr(calibration(problem)).splitlines()[2] == problem
