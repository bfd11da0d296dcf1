"""What the tests of the two chapters on P1's simulation share."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import simulation_runs
from judged import verdicts


def failing(checks):
    return {claim for claim, holds in verdicts(checks).items() if not holds}


def file_of_twenty():
    """Ten values at the modes and ten, large and risky, off them."""
    y = np.concatenate([np.full(10, 0.1), np.linspace(2, 3, 10)])
    risk = {
        "Unweighted": np.repeat([0.2, 0.9], 10),
        "Vector": np.concatenate([np.full(10, 0.1), np.zeros(8), [0.1, 0.12]]),
        "Scalar": np.repeat([0.1, 0.3], 10),
    }
    weights = np.concatenate([np.full(10, 0.8), np.zeros(8), [0.1, 0.2]])
    return y, risk, weights


def study_of(y, risk, weights, utility=None):
    rules = [
        (name, rule) for name in ("Vector", "Scalar") for rule in simulation_runs.RULES
    ]
    return SimpleNamespace(
        y=y,
        risk={"Unweighted": risk["Unweighted"]}
        | {key: risk[key[0]] for key in rules}
        | {("Published scalar", "weighted"): risk["Scalar"] + 0.01},
        weights={"Vector": weights},
        utility=None
        if utility is None
        else {"Unweighted": utility["Unweighted"]}
        | {key: utility[key[0]] for key in rules},
        nearest={"density": 0.2, "weighted": 0.35},
    )


def places_table(*risks):
    table = pd.DataFrame({"share outside": range(4), "share with T = 1": range(4, 8)})
    return table.assign(**{"mean risk": risks})


def table_of_ten(before, vector, scalar, **others):
    columns = {
        ("", "value"): others.get("value", np.arange(10.0)),
        ("", "Unweighted"): before,
        ("", "again"): others.get("again", before),
        ("weighted", "Vector"): vector,
        ("weighted", "Scalar"): scalar,
        ("weighted", "Scalar 0.455"): others.get("published", scalar),
        ("density", "Vector"): others.get("density", vector),
    }
    return pd.DataFrame(
        {("this file", *key): np.broadcast_to(v, 10) for key, v in columns.items()}
    )
