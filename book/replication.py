"""What the replications on real files share: findings, and how they are decided."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

# Independent fits of everything: chains of a mixture, or runs with a seed each.
FITS = 5


class Finding(NamedTuple):
    """What the book found, and how it is looked for.

    Attributes
    ----------
    name : str
    rows : tuple of str
        Rows of the ledger that say so.
    needs : tuple of str
        Synthesizers that the measure takes; none if it is about the file.
    measure : callable
        Takes what is known of a file and, for each needed synthesizer, what one fit
        gave; returns a number, positive where the finding holds.
    """

    name: str
    rows: tuple
    needs: tuple
    measure: callable


def closer_than(margin, difference):
    """Positive where a difference is smaller than the margin."""
    return margin - abs(difference)


def between_fits(values):
    """Standard error of a mean over the fits, one value of each."""
    return np.std(values, ddof=1) / np.sqrt(len(values))


def decided(values):
    """Say whether a finding is seen, from one value of its measure a fit.

    Its mean has to be as many standard errors from 0 as the 97.5% point of Student's t.

    Returns
    -------
    str
        "seen", "not seen" or "undecided".
    """
    mean, error = np.mean(values), between_fits(values)
    limit = stats.t.ppf(0.975, len(values) - 1)
    if mean > limit * error:
        return "seen"
    return "not seen" if mean < -limit * error else "undecided"


def looked_for(findings, of, fits, warned=()):
    """Look for findings in one file.

    Parameters
    ----------
    findings : list of Finding
    of : object
        What is known of the file.
    fits : dict of sequence
        By synthesizer, what each fit gave.
    warned : collection of str
        Synthesizers of which a fit warns.

    Returns
    -------
    DataFrame
        Indexed by finding: the mean of its measure, its standard error between fits,
        empty for a finding about the file alone, and the decision.
    """
    rows = {}
    for finding in findings:
        if not finding.needs:
            value = finding.measure(of)
            rows[finding.name] = value, np.nan, "seen" if value > 0 else "not seen"
            continue
        each = zip(*(fits[name] for name in finding.needs), strict=True)
        values = np.array([finding.measure(of, *one) for one in each], dtype=float)
        said = "undecided" if set(finding.needs) & set(warned) else decided(values)
        rows[finding.name] = values.mean(), between_fits(values), said
    return pd.DataFrame(rows, index=["measure", "standard error", "decision"]).T
