"""What tests of chapters do with claims and tables, and files that they share."""

import count_files
import numpy as np
import pandas as pd


def verdicts(claims):
    return {name: bool(holds) for name, (_, holds) in claims.items()}


def set_to(table, row, column, value):
    changed = table.copy()
    changed.loc[row, column] = value
    return changed


def normal_estimates(n=100):
    """Files whose estimates are normal, with variance 1 / n and other values made up."""
    rng = np.random.default_rng(1)
    columns = {}
    for name in count_files.WEIGHTINGS:
        for p in "01":
            centre = rng.normal(0, 1 / np.sqrt(n), size=500)
            columns[name, "estimate", p] = centre
            columns[name, "sandwich", p] = np.full(500, 1.0)
            columns[name, "full sandwich", p] = np.full(500, 4.0)
            columns[name, "low", p] = centre - 1.96 / np.sqrt(n) / 2
            columns[name, "high", p] = centre + 1.96 / np.sqrt(n) / 2
    return pd.DataFrame(columns).sort_index(axis=1)
