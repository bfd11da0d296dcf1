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


def table_of(found):
    """Decisions and measures of all files, side by side.

    Parameters
    ----------
    found : dict of DataFrame
        By file, as of :func:`looked_for`.
    """
    return pd.DataFrame(
        {
            name: [_told(row) for row in table.itertuples()]
            for name, table in found.items()
        },
        index=next(iter(found.values())).index,
    )


def _told(row):
    """Say what was decided, and from which measure; one of a file has no error."""
    _, measure, error, decision = row
    told = f"{measure:.3f}" if np.isnan(error) else f"{measure:.3f} ± {error:.3f}"
    return f"{decision} ({told})"


def for_ledger(findings, found, where):
    """Say of each row of the ledger what was found of it on real files.

    Parameters
    ----------
    findings : list of Finding
    found : dict of DataFrame
        By file, as of :func:`looked_for`.
    where : dict of str
        By file that counts, how the ledger calls it.
    """
    said = {}
    for finding in findings:
        decisions = ", ".join(
            f"{found[name].loc[finding.name, 'decision']} {place}"
            for name, place in where.items()
        )
        for row in finding.rows:
            said.setdefault(row, []).append(f"{finding.name}: {decisions}")
    return {row: "; ".join(lines) for row, lines in said.items()}


def decision_numbers(found):
    """How many findings were decided how, by decision and file."""
    return {
        f"{decision.replace(' ', '-')}-{file.replace(' ', '-')}": int(
            (table["decision"] == decision).sum()
        )
        for file, table in found.items()
        for decision in ("seen", "not seen", "undecided")
    }
