"""How close analyses of synthetic data come to those of the data."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from pseudopost._checks import as_array, as_count, as_number, as_seed, as_vector

VALUES_AT_ONCE = 10_000_000


class Interval(NamedTuple):
    """A point estimate and its interval: floats, or arrays over statistics."""

    estimate: float | np.ndarray
    low: float | np.ndarray
    high: float | np.ndarray


def bootstrap_interval(
    synthetic, statistic, *, level=0.95, n_resamples=1000, pooled=False, random_seed=1
):
    """Percentile bootstrap interval of a statistic, averaged over synthetic data sets.

    Each data set is resampled on its own; the two ends are then averaged over the data
    sets. This is the convention that agrees with P3, Table 1. With ``pooled=True`` the
    resampled values of all data sets are put together first, so that the interval also
    holds their differences.

    Parameters
    ----------
    synthetic : array-like, shape (m, n) or (n,)
        m synthetic data sets, or one data set (the confidential one, for comparison).
    statistic : callable
        ``statistic(x)``, or ``statistic(x, axis=-1)``, which is faster; it may return
        several statistics along a new first axis. See :func:`scipy.stats.bootstrap`.
    level : float
        Coverage in (0, 1).
    n_resamples : int
        Bootstrap samples per data set.
    pooled : bool
        See above.
    random_seed : int
        Non-negative seed.

    Returns
    -------
    Interval
        Mean over the data sets of the statistic, and the two ends.

    Raises
    ------
    ValueError
        If a value is missing or not finite, or an argument is out of range.

    References
    ----------
    P3, Table 1; P2, Tables 4-7.
    """
    synthetic = np.atleast_2d(as_array(synthetic, "synthetic"))
    if synthetic.ndim != 2 or synthetic.size == 0 or synthetic.shape[1] < 2:
        raise ValueError(
            "synthetic must have shape (m, n) with n of at least 2; "
            f"got {synthetic.shape}"
        )
    if not np.isfinite(synthetic).all():
        raise ValueError(
            "synthetic must be finite; it holds missing or infinite values"
        )
    level = as_number(level, "level", low=0, high=1, open_low=True, open_high=True)
    n_resamples = as_count(n_resamples, "n_resamples", low=2)
    rng = np.random.default_rng(as_seed(random_seed))
    batch = max(1, VALUES_AT_ONCE // synthetic.shape[1])
    replicates = [
        stats.bootstrap(
            (data,),
            statistic,
            n_resamples=n_resamples,
            batch=batch,
            method="percentile",
            rng=rng,
        ).bootstrap_distribution
        for data in synthetic
    ]
    tails = [(1 - level) / 2, (1 + level) / 2]
    if pooled:
        low, high = np.quantile(np.concatenate(replicates, axis=-1), tails, axis=-1)
    else:
        low, high = np.mean(
            [np.quantile(r, tails, axis=-1) for r in replicates], axis=0
        )
    return Interval(np.mean([statistic(data) for data in synthetic], axis=0), low, high)


def interval_overlap(interval, reference):
    """Mean share of two intervals that is common to both.

    Parameters
    ----------
    interval, reference : sequence
        Ends (low, high), or an :class:`Interval`; scalars or arrays.

    Returns
    -------
    float or ndarray
        1 for equal intervals, 0 for disjoint ones.

    Raises
    ------
    ValueError
        If an upper end is not above the lower end.
    """
    (low, high), (low_0, high_0) = (
        np.asarray(i[-2:], dtype=float) for i in (interval, reference)
    )
    if not (np.all(high > low) and np.all(high_0 > low_0)):
        raise ValueError(
            "interval and reference must have upper ends above their lower ends; "
            f"got {interval!r:.80} and {reference!r:.80}"
        )
    common = np.maximum(0, np.minimum(high, high_0) - np.maximum(low, low_0))
    return (common / (high - low) + common / (high_0 - low_0)) / 2


class Combined(NamedTuple):
    """Inference from m partially synthetic data sets."""

    estimate: float
    variance: float
    df: float
    low: float
    high: float


def combine_partially_synthetic(estimates, variances, *, level=0.95):
    r"""Combine the estimates from m partially synthetic data sets.

    Parameters
    ----------
    estimates, variances : array-like, shape (m,)
        m of at least 2; variances of the estimates, above 0 on average.
    level : float
        Coverage in (0, 1) of the t interval.

    Returns
    -------
    Combined
        Mean :math:`\bar q`, variance :math:`T = \bar u + b / m`, its degrees of freedom
        :math:`(m - 1) (1 + m \bar u / b)^2` (infinite if b is 0), and the two ends.

    Raises
    ------
    ValueError
        If there are fewer than two estimates, a value is not finite or a variance
        negative.

    References
    ----------
    Reiter and Raghunathan 2007, section 3; P2, section 3.3.2.
    """
    estimates = as_vector(estimates, "estimates")
    m = len(estimates)
    if m < 2:
        raise ValueError(f"estimates must come from at least 2 data sets; got {m}")
    variances = as_vector(variances, "variances", length=m, low=0)
    level = as_number(level, "level", low=0, high=1, open_low=True, open_high=True)
    mean, between, within = estimates.mean(), estimates.var(ddof=1), variances.mean()
    variance = within + between / m
    df = (m - 1) * (1 + m * within / between) ** 2 if between > 0 else np.inf
    half = stats.t.ppf((1 + level) / 2, df) * np.sqrt(variance)
    return Combined(
        float(mean), float(variance), float(df), float(mean - half), float(mean + half)
    )
