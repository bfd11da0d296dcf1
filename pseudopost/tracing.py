"""Many weight vectors from few fits, and the cheapest of them that keeps a limit."""

import numpy as np
import pandas as pd

from pseudopost._checks import (
    aligned,
    as_array,
    as_count,
    as_number,
    as_vector,
    check_finite,
)
from pseudopost.calibration import Calibration
from pseudopost.deletion import finite_rows, smoothed
from pseudopost.importance import MIN_DRAWS

# Consecutive draws whose sums give an error of a mean.
BATCHES = 25


def trace_weights(log_likelihood, weights, candidates, measures=None, size=1000):
    r"""Epsilon and utility under many weight vectors, from one fit.

    The draws of the fit count by their Pareto smoothed importance ratios,
    :math:`\exp \sum_i (\alpha'_i - \alpha_i) \log p(y_i \mid \theta_s)`, which for all
    candidates are one matrix product.

    Parameters
    ----------
    log_likelihood : array-like, shape (S, n), or xarray.DataArray
        As of :func:`lipschitz_bounds`, at the draws of the fit under `weights`.
    weights : array-like, shape (n,)
        Record weights in [0, 1] of the fit.
    candidates : DataFrame or array-like, shape (R, n)
        Other record weights in [0, 1], a row for each vector.
    measures : DataFrame or array-like, shape (S, K), optional
        Of each draw: losses of utility, risks, or whatever is to be averaged.
    size : int
        Number of draws that epsilon is over, from 1 to S.

    Returns
    -------
    DataFrame
        A row for each candidate.

        - ``mean_weight``;
        - ``epsilon``: P3's, in nats, as expected over `size` independent draws;
        - ``ess``: the effective number of draws that is left, from 1 to S;
        - ``k_hat``: as of :func:`privacy_loss`; minus infinity or infinity are
          possible. Above :math:`\min(1 - 1 / \log_{10} S, 0.7)` the row means nothing;
        - a column for each measure, its mean, and one with ``error`` after its name,
          the standard error by the draws, from batches of consecutive ones.

    Raises
    ------
    ValueError
        If `log_likelihood` is not S draws of n records, or not finite, S is below 25, a
        weight is outside [0, 1], a shape does not fit, or `size` is out of range.

    Warns
    -----
    ConvergenceWarning
        If the draws come from a fit that has not converged.

    References
    ----------
    P3, section 1.3, for epsilon.
    Book: :ref:`frontier-one-fit`.

    Examples
    --------
    >>> import numpy as np
    >>> import pseudopost as pp
    >>> log_likelihood = np.random.default_rng(1).normal(-15, 3, size=(4000, 3))
    >>> candidates = [[1, 1, 1], [1, 1, 0.9], [0, 0, 0]]
    >>> table = pp.trace_weights(log_likelihood, [1, 1, 1], candidates)
    >>> table["mean_weight"].round(2).tolist()
    [1.0, 0.97, 0.0]
    >>> (table["k_hat"] < 0.7).tolist()
    [True, True, False]
    """
    rows, labels = finite_rows(log_likelihood)
    S, n = rows.shape
    if S < MIN_DRAWS:
        raise ValueError(
            f"log_likelihood must have at least {MIN_DRAWS} draws; got {S}"
        )
    size = as_count(size, "size", high=S)
    weights = aligned(weights, "weights", labels, "log_likelihood")
    weights = as_vector(weights, "weights", length=n, low=0, high=1)
    candidates = _as_candidates(candidates, labels, n, "log_likelihood")
    names, measures = _as_measures(measures, S)
    with np.errstate(over="ignore", invalid="ignore"):
        change = rows @ (candidates - weights).T
        check_finite(change, "log_likelihood", "a sum of them")
    log_share, k_hat = smoothed(change, "log_likelihood")
    absolute, found = np.abs(rows), []
    low, high = absolute.min(axis=0), absolute.max(axis=0)
    for alpha, share in zip(candidates, np.exp(log_share).T, strict=True):
        # No other record can have the largest term of a draw.
        may = alpha * high >= (alpha * low).max()
        terms = (alpha[may] * absolute[:, may]).max(axis=1)
        largest = expected_largest(terms, share, size)
        mean = share @ measures
        with np.errstate(over="ignore"):
            check_finite(2 * largest, "log_likelihood", "twice the largest")
            parts = np.array_split(share[:, None] * (measures - mean), BATCHES)
            error = np.sqrt(sum(part.sum(axis=0) ** 2 for part in parts))
        check_finite([mean, error], "measures", "an error")
        found.append([alpha.mean(), 2 * largest, 1 / (share @ share), *mean, *error])
    columns = ["mean_weight", "epsilon", "ess", *names, *(f"{a} error" for a in names)]
    table = pd.DataFrame(found, columns=columns)
    table.insert(3, "k_hat", k_hat)
    return table


def cheapest_weights(
    synthesizer,
    candidates,
    loss,
    limit,
    risk=None,
    size=1000,
    max_fits=8,
    **sampling,
):
    """Choose, of many weight vectors, the one that costs least and keeps a limit.

    A fit in the middle of what is left traces all candidates that it reaches
    (:func:`trace_weights`); this is repeated. Then the candidate with the smallest loss
    of those that keep the limit is fitted itself, and the next one if it does not keep
    it there.

    Parameters
    ----------
    synthesizer : Synthesizer
        Its data sets depend on the file by the draw alone, and its terms are linear in
        the weights.
    candidates : DataFrame or array-like, shape (R, n)
        Record weights in [0, 1], neighbours in neighbouring rows.
    loss : callable
        Takes synthetic data, shape (m, n), and returns the loss of utility of each data
        set, shape (m,).
    limit : float
        0 or more: of P3's epsilon in nats, or of the risk.
    risk : callable, optional
        As `loss`: the file-level risk of each data set. By default epsilon counts.
    size : int
        Number of draws that epsilon is over, at most those of a fit.
    max_fits : int
        Largest number of fits that trace; those that confirm the choice come after.
    **sampling
        Passed on to `synthesizer.fit`: ``draws``, ``tune``, ``chains`` and
        ``random_seed``.

    Returns
    -------
    Calibration
        Its constant is the row of the choice. The path has a row for each candidate
        that was reached, with ``loss``, its ``error`` by the draws, ``k_hat``, and the
        row of the ``fit`` that it was traced from; ``k_hat`` is minus infinity for a
        fit of its own.

    Raises
    ------
    ValueError
        If a weight is outside [0, 1], a number is out of range, or no candidate keeps
        the limit.

    Warns
    -----
    ConvergenceWarning
        If a fit has not converged.

    References
    ----------
    Book: :ref:`frontier-cheapest`; :ref:`the price of choosing <tuning-price>` has what
    a search on the confidential file gives away.

    Examples
    --------
    The cheapest of nine scalar weights with an epsilon of at most 8:

    >>> import numpy as np
    >>> import pseudopost as pp
    >>> y = np.random.default_rng(1).poisson(20, size=50)
    >>> chosen = pp.cheapest_weights(
    ...     pp.PoissonSynthesizer(y),
    ...     np.outer(np.linspace(0.2, 1, 9), np.ones(50)),
    ...     loss=lambda z: abs(z.mean(axis=1) - y.mean()),
    ...     limit=8,
    ...     random_seed=1,
    ... )
    >>> bool(chosen.path["found"][chosen.constant] <= 8)
    True
    >>> len(chosen.path)
    9
    """
    y = synthesizer.y
    candidates = _as_candidates(candidates, synthesizer.index, len(y), "y")
    limit = as_number(limit, "limit", low=0)
    size, max_fits = as_count(size, "size"), as_count(max_fits, "max_fits")
    fits, rows = {}, {}

    def trace_from(place):
        """Fit a candidate; trace it, and what was not reached before."""
        fit = synthesizer.fit(candidates[place], progressbar=False, **sampling)
        log_likelihood = synthesizer.log_likelihood(fit)
        S = log_likelihood.sizes["chain"] * log_likelihood.sizes["draw"]
        files = synthesizer.synthesize(fit, S, fit.attrs["random_seed"])
        files = files.to_numpy()
        measures = {"loss": as_vector(loss(files), "loss", length=S)}
        if risk is not None:
            measures["risk"] = as_vector(risk(files), "risk", length=S)
        wanted = [place, *(i for i in range(len(candidates)) if i not in rows)]
        table = trace_weights(
            log_likelihood,
            candidates[place],
            candidates[wanted],
            pd.DataFrame(measures),
            min(size, S),
        )
        near = table["k_hat"] <= min(1 - 1 / np.log10(S), 0.7)
        fits[place] = fit
        for row, i in zip(
            table[near].to_dict("records"), np.array(wanted)[near], strict=True
        ):
            rows[int(i)] = row | {"fit": place}

    def found(place):
        return rows[place]["epsilon" if risk is None else "risk"]

    while len(rows) < len(candidates) and len(fits) < max_fits:
        left = np.setdiff1d(np.arange(len(candidates)), list(rows))
        parts = np.split(left, np.flatnonzero(np.diff(left) > 1) + 1)
        longest = max(parts, key=len)
        trace_from(int(longest[len(longest) // 2]))
    for place in sorted(rows, key=lambda place: rows[place]["loss"]):
        if found(place) <= limit and place not in fits:
            trace_from(place)
        if found(place) <= limit:
            break
    else:
        lowest = min(map(found, rows))
        raise ValueError(
            f"limit must be kept by one of the candidates; it is {limit:g}, and the "
            f"lowest that was found is {lowest:g}"
        )
    path = pd.DataFrame(
        {
            i: {
                "constant": i,
                "found": found(i),
                "difference": found(i) - limit,
                "mean_weight": rows[i]["mean_weight"],
                "loss": rows[i]["loss"],
                "error": rows[i]["loss error"],
                "k_hat": rows[i]["k_hat"],
                "fit": rows[i]["fit"],
            }
            for i in sorted(rows)
        }
    ).T
    return Calibration(place, candidates[place], fits[place], path)


def _as_candidates(candidates, labels, n, other):
    if isinstance(candidates, pd.DataFrame):
        candidates = aligned(candidates.T, "candidates", labels, other).T
    array = as_array(candidates, "candidates")
    if array.ndim != 2 or len(array) == 0 or array.shape[1] != n:
        raise ValueError(
            f"candidates must have shape (R, {n}), a row for each vector; got "
            f"{array.shape}"
        )
    as_vector(array.ravel(), "candidates", low=0, high=1)
    return array


def _as_measures(measures, S):
    if measures is None:
        return [], np.empty((S, 0))
    names = getattr(measures, "columns", None)
    array = as_array(measures, "measures")
    if array.ndim != 2 or len(array) != S:
        raise ValueError(
            f"measures must have shape ({S}, K), a row for each draw; got {array.shape}"
        )
    if not np.isfinite(array).all():
        raise ValueError(
            f"measures must be finite; that of draw "
            f"{np.argwhere(~np.isfinite(array))[0][0]} is not"
        )
    return list(range(array.shape[1]) if names is None else names), array


def expected_largest(values, share, size):
    """Expect the largest of `size` independent draws, for each column of values.

    Parameters
    ----------
    values : ndarray, shape (G, ...)
    share : ndarray, shape (G,) or that of `values`
        Probabilities of the G.
    size : int
    """
    order = np.argsort(-values, axis=0)
    share = np.broadcast_to(share.T, values.T.shape).T
    falling, share = (np.take_along_axis(a, order, axis=0) for a in (values, share))
    return largest_of_falling(falling, share, size)


def largest_of_falling(values, share, size):
    """Do the same for columns of falling values, with the share of each."""
    none = np.clip(1 - np.cumsum(share, axis=0), 0, 1) ** size
    none[-1] = 0
    return (-np.diff(none, axis=0, prepend=1) * values).sum(axis=0)
