"""How close analyses of synthetic data come to those of the data."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import optimize, special, stats

from pseudopost._checks import (
    aligned,
    as_array,
    as_count,
    as_flag,
    as_number,
    as_seed,
    as_vector,
    by_file,
    check_finite,
    labels_of,
    quoted,
)

VALUES_AT_ONCE = 10_000_000


class _Ends(NamedTuple):
    estimate: float | np.ndarray
    low: float | np.ndarray
    high: float | np.ndarray


class Interval(_Ends):
    """What :func:`bootstrap_interval` returns: floats, or arrays over statistics.

    Attributes
    ----------
    estimate, low, high : float or ndarray
        A point estimate and the ends of its interval.
    random_seed : int or None
        With which the interval was computed; it is no part of the tuple.

    References
    ----------
    Book: :ref:`utility-intervals`.
    """

    random_seed = None


def bootstrap_interval(
    synthetic,
    statistic,
    *,
    level=0.95,
    n_resamples=1000,
    pooled=False,
    random_seed=None,
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
        several statistics along a new first axis. See ``scipy.stats.bootstrap``.
    level : float
        Coverage in (0, 1).
    n_resamples : int
        Bootstrap samples per data set.
    pooled : bool
        See above.
    random_seed : int, optional
        Seed from 0 to 2**63 - 1; by default a new one from the operating system. The
        result keeps it as ``random_seed``.

    Returns
    -------
    Interval
        Mean over the data sets of the statistic, and the two ends.

    Raises
    ------
    ValueError
        If a value or the statistic is not finite, or an argument is out of range.

    References
    ----------
    P3, Table 1; P2, Tables 4-7.
    Book: :ref:`utility-intervals`.

    Examples
    --------
    The mean of the numbers from 0 to 100, and the width of its interval:

    >>> import numpy as np
    >>> import pseudopost as pp
    >>> interval = pp.bootstrap_interval(np.arange(101), np.mean)
    >>> float(interval.estimate)
    50.0
    >>> round(float(interval.high - interval.low), -1)
    10.0
    """
    synthetic = np.atleast_2d(as_array(by_file(synthetic), "synthetic"))
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
    n_resamples = as_count(n_resamples, "n_resamples", low=2, high=10**7)
    pooled = as_flag(pooled, "pooled")
    random_seed = as_seed(random_seed)
    rng = np.random.default_rng(random_seed)
    batch = max(1, VALUES_AT_ONCE // synthetic.shape[1])
    tails = [(1 - level) / 2, (1 + level) / 2]
    with np.errstate(over="ignore", invalid="ignore"):
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
        if pooled:
            low, high = np.quantile(np.concatenate(replicates, axis=-1), tails, axis=-1)
        else:
            low, high = np.mean(
                [np.quantile(r, tails, axis=-1) for r in replicates], axis=0
            )
        estimate = np.mean([statistic(data) for data in synthetic], axis=0)
    interval = Interval(estimate, low, high)
    if not np.isfinite(interval).all():
        raise ValueError(
            f"statistic must be finite for these data; got {quoted(interval)}"
        )
    interval.random_seed = random_seed
    return interval


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

    References
    ----------
    Book: :ref:`utility-overlap`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> float(pp.interval_overlap((0, 2), (1, 3)))
    0.5
    >>> float(pp.interval_overlap((0, 4), (1, 2)))
    0.625
    """
    low, high = _as_ends(interval, "interval")
    low_0, high_0 = _as_ends(reference, "reference")
    if not (np.all(high > low) and np.all(high_0 > low_0)):
        raise ValueError(
            "interval and reference must have upper ends above their lower ends; "
            f"got {quoted(interval)} and {quoted(reference)}"
        )
    with np.errstate(over="ignore"):
        length, length_0 = high - low, high_0 - low_0
    check_finite(length, "interval", "its length")
    check_finite(length_0, "reference", "its length")
    common = np.maximum(0, np.minimum(high, high_0) - np.maximum(low, low_0))
    return (common / length + common / length_0) / 2


def _as_ends(interval, name):
    """Return the last two of a few numbers or arrays, or raise."""
    ends = as_array(interval, name)
    if ends.ndim == 0 or len(ends) < 2:
        raise ValueError(f"{name} must have two ends; got {quoted(interval)}")
    return ends[-2:]


class Combined(NamedTuple):
    """What :func:`combine_partially_synthetic` returns.

    Attributes
    ----------
    estimate, variance : float
        Mean of the estimates, and its variance.
    df : float
        Degrees of freedom of the t interval; may be infinite.
    low, high : float
        Ends of the interval.

    References
    ----------
    Book: :ref:`utility-combining`.
    """

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
        :math:`(m - 1) (1 + m \bar u / b)^2` (infinite if b is tiny), and the two ends.

    Raises
    ------
    ValueError
        If there are fewer than two estimates, a value is not finite or a variance
        negative.

    References
    ----------
    Reiter and Raghunathan 2007, section 3; P2, section 3.3.2.
    Book: :ref:`utility-combining`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> combined = pp.combine_partially_synthetic([10, 12, 11], [1, 1, 1])
    >>> print(*(round(value, 2) for value in combined))
    11.0 1.33 32.0 8.65 13.35
    """
    estimates = as_vector(estimates, "estimates")
    m = len(estimates)
    if m < 2:
        raise ValueError(f"estimates must come from at least 2 data sets; got {m}")
    variances = as_vector(variances, "variances", length=m, low=0)
    level = as_number(level, "level", low=0, high=1, open_low=True, open_high=True)
    with np.errstate(over="ignore"):
        mean, within = estimates.mean(), variances.mean()
        between = estimates.var(ddof=1)
    variance = within + between / m
    check_finite([mean, variance], "estimates and variances", "their mean or variance")
    with np.errstate(over="ignore"):
        df = (m - 1) * (1 + m * within / between) ** 2 if between > 0 else np.inf
        half = stats.t.ppf((1 + level) / 2, df) * np.sqrt(variance)
        ends = mean - half, mean + half
    check_finite(ends, "estimates and variances", "an end of the interval")
    return Combined(*map(float, (mean, variance, df, *ends)))


class ECDFDistance(NamedTuple):
    """What :func:`ecdf_distance` returns, two distances in [0, 1].

    Attributes
    ----------
    largest : float
        Largest difference of the two distribution functions.
    mean_squared : float
        Mean squared difference over the pooled values.

    References
    ----------
    Book: :ref:`utility-ecdf`.
    """

    largest: float
    mean_squared: float


def ecdf_distance(y, synthetic):
    r"""Distance between empirical distribution functions, averaged over data sets.

    Parameters
    ----------
    y : array-like, shape (n,)
        Confidential values.
    synthetic : array-like, shape (m, n2) or (n2,)
        Released values; their order, and which record they belong to, play no part.

    Returns
    -------
    ECDFDistance
        The largest difference :math:`|F - F^*|` and the mean of :math:`(F - F^*)^2`
        over the n + n2 pooled values, both in [0, 1], each a mean over the data sets.
        The first is the statistic of the two-sample test of Kolmogorov and Smirnov.

    Raises
    ------
    ValueError
        If a value is missing or not finite, or there is none.

    References
    ----------
    Woo, Reiter, Oganian and Karr 2009.
    Book: :ref:`utility-ecdf`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> pp.ecdf_distance([1, 2, 3, 4], [8, 1, 2, 3]).largest
    0.25
    """
    y = np.sort(as_vector(y, "y"))
    distances = []
    synthetic = np.atleast_2d(as_array(by_file(synthetic), "synthetic"))
    for k, released in enumerate(synthetic):
        released = np.sort(as_vector(released, f"synthetic data set {k}"))
        pooled = np.concatenate([y, released])
        gap = np.searchsorted(y, pooled, "right") / y.size
        gap -= np.searchsorted(released, pooled, "right") / released.size
        distances.append((np.abs(gap).max(), np.mean(gap**2)))
    if not distances:
        raise ValueError("synthetic must hold at least 1 data set; got 0")
    return ECDFDistance(*map(float, np.mean(distances, axis=0)))


class PropensityScore(NamedTuple):
    """What :func:`propensity_score_mse` returns.

    Attributes
    ----------
    mse : float
        How well a regression tells released records from confidential ones.
    expected : float
        Its expectation if the released file comes from a model that is right.
    ratio : float
        The first divided by the second.

    References
    ----------
    Book: :ref:`utility-pmse`.
    """

    mse: float
    expected: float
    ratio: float


def propensity_score_mse(confidential, synthetic, unchanged=None):
    r"""Propensity-score mean squared error (pMSE) of one released data set.

    A logistic regression of "is released" on the columns, with an intercept, is fitted
    to the records of both files.

    Parameters
    ----------
    confidential : array-like, shape (n, p) or (n,)
        Columns of numbers: the synthesized variables, and whatever else is made of them
        that a difference may show in, such as squares and products with predictors.
    synthetic : array-like, shape (n2, p) or (n2,)
        The same columns of the released file.
    unchanged : array-like, shape (n, q) or (n,), optional
        Columns released as they are; both files then have n records, in the same order
        or with the same labels.

    Returns
    -------
    PropensityScore
        The mean over the :math:`N = n + n_2` records of :math:`(\hat p_i - c)^2` with
        :math:`c = n_2 / N`; its expectation :math:`p (1 - c)^2 c / N` if the released
        file comes from a model that is right, with parameters estimated from the
        confidential one (p is the k - 1 of the paper; columns that cannot differ are
        not counted); and their ratio. If the parameters are posterior draws, which
        adds their uncertainty, the expectation is up to 1 / (1 - c) times as large.

    Raises
    ------
    ValueError
        If a value is missing or not finite, shapes do not fit, columns are linearly
        dependent, or the regression does not converge: columns that tell records of the
        two files apart without error leave it without a maximum.

    References
    ----------
    Woo, Reiter, Oganian and Karr 2009; Snoke, Raab, Nowok, Dibben and Slavkovic
    2018.
    Book: :ref:`utility-pmse`.

    Examples
    --------
    One column of two values: 0 in three of four records, and in one of four:

    >>> import pseudopost as pp
    >>> score = pp.propensity_score_mse([0, 0, 0, 1], [0, 1, 1, 1])
    >>> print(*(round(value, 4) for value in score))
    0.0625 0.0156 4.0
    """
    frames = all(isinstance(v, pd.DataFrame) for v in (confidential, synthetic))
    if frames and not synthetic.columns.equals(confidential.columns):
        if set(synthetic) != set(confidential) or not synthetic.columns.is_unique:
            raise ValueError(
                "synthetic must have the columns of confidential; got "
                f"{list(synthetic)} for {list(confidential)}"
            )
        synthetic = synthetic[list(confidential)]
    if unchanged is not None:
        labels = labels_of(confidential)
        synthetic = aligned(synthetic, "synthetic", labels, "confidential")
        labels = labels_of(synthetic) if labels is None else labels
        unchanged = aligned(unchanged, "unchanged", labels, "the files")
    x, z = (
        _as_columns(v, name)
        for v, name in ((confidential, "confidential"), (synthetic, "synthetic"))
    )
    if z.shape[1] != x.shape[1]:
        raise ValueError(
            f"synthetic must have {x.shape[1]} columns, as confidential has; "
            f"got {z.shape[1]}"
        )
    released = np.repeat([0.0, 1.0], [len(x), len(z)])
    N, c, p = len(released), len(z) / len(released), x.shape[1]
    columns = np.concatenate([x, z])
    if unchanged is not None:
        same = _as_columns(unchanged, "unchanged")
        if not len(same) == len(x) == len(z):
            raise ValueError(
                "unchanged must have one row per record of either file; got "
                f"{len(same)} rows for {len(x)} and {len(z)}"
            )
        columns = np.column_stack([columns, np.tile(same, (2, 1))])
    # Orthonormal columns: their units and combinations do not matter to the fit.
    with np.errstate(over="ignore", invalid="ignore"):
        columns = columns - columns.mean(axis=0)
        spread = columns.std(axis=0)
    check_finite(spread, "confidential and synthetic", "the spread of a column")
    columns = columns / np.where(spread > 0, spread, 1)
    Q, R = np.linalg.qr(columns)
    if np.abs(np.diag(R)).min() < 1e-8 * np.sqrt(N):
        raise ValueError(
            "confidential and synthetic must have linearly independent columns, none "
            f"constant; of {R.shape[1]} only {np.linalg.matrix_rank(R, rtol=1e-8)} are"
        )
    Q = np.column_stack([np.ones(N), np.sqrt(N) * Q])

    def deviance(beta):
        eta = Q @ beta
        return np.mean(np.logaddexp(0, eta) - released * eta)

    def gradient(beta):
        return Q.T @ (special.expit(Q @ beta) - released) / N

    def hessian(beta):
        p_hat = special.expit(Q @ beta)
        return (Q.T * (p_hat * (1 - p_hat))) @ Q / N

    start = np.zeros(Q.shape[1])
    start[0] = special.logit(c)
    fit = optimize.minimize(
        deviance,
        start,
        jac=gradient,
        hess=hessian,
        method="trust-exact",
        options={"gtol": 1e-10},
    )
    # Without a maximum, Newton steps do not become shorter as the gradient vanishes.
    step = Q @ np.linalg.lstsq(fit.hess, fit.jac, rcond=None)[0]
    if np.abs(step).max() > 0.01:
        raise ValueError(
            "confidential and synthetic must overlap in every combination of columns, "
            "and hold no value far beyond all others; the logistic regression did not "
            f"converge in {fit.nit} steps"
        )
    mse = float(np.mean((special.expit(Q @ fit.x) - c) ** 2))
    expected = p * (1 - c) ** 2 * c / N
    return PropensityScore(mse, expected, mse / expected)


def _as_columns(values, name):
    """Return `values` as finite columns, or raise."""
    columns = as_array(values, name)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or columns.size == 0:
        raise ValueError(
            f"{name} must have shape (n, p) or (n,); got {np.shape(values)}"
        )
    bad = ~np.isfinite(columns)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise ValueError(
            f"{name} must be finite; record {i} of column {j} has "
            f"{quoted(columns[i, j], 'g')}"
        )
    return columns
