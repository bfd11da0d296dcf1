"""Privacy loss by deleting a record, for every record, from one fit."""

import numpy as np
import pandas as pd
import xarray as xr

from pseudopost._checks import aligned, as_array, as_count, as_vector, check_finite
from pseudopost.importance import MIN_DRAWS
from pseudopost.privacy import as_rows

# Records whose deletions are one matrix product.
BLOCK = 256
# Of the largest of many draws, what lies beyond this many expected ones is left out.
BEYOND = 40


def privacy_loss(change):
    r"""Privacy loss at the draws of one fit, against neighbours of its file.

    Parameters
    ----------
    change : array-like, shape (S, R)
        For each draw and each of R neighbours, the logarithm of the neighbour's
        unnormalised pseudo posterior density minus that of the file's own.

    Returns
    -------
    DataFrame
        A row for each neighbour.

        - ``largest``: :math:`\max_s |L_s|` in nats, of the loss :math:`L_s = \log
          \xi(\theta_s \mid x) - \log \xi(\theta_s \mid y)`. As any largest value over
          draws it grows with S, and draws of the neighbour can show more.
        - ``mean``: the mean of :math:`L_s`, an estimate of the Kullback-Leibler
          divergence.
        - ``k_hat``: the shape of the tail of the importance ratios; minus infinity if
          all of the tail are the same, infinity if one outweighs all. Above
          :math:`\min(1 - 1 / \log_{10} S, 0.7)` the neighbour has to be fitted.

    Raises
    ------
    ValueError
        If `change` is not S draws of R neighbours, or not finite, or S is below 25.

    Notes
    -----
    The normalising constants differ by the mean of the ratios, the exponentials of
    `change`, which is Pareto smoothed.

    References
    ----------
    P3, Definition 1.3, for one pair of databases.
    Book: :ref:`delete-every-record`.

    Examples
    --------
    A neighbour whose density differs by a constant is the same distribution:

    >>> import pseudopost as pp
    >>> pp.privacy_loss([[2.0, 0.0]] * 50)["largest"].tolist()
    [0.0, 0.0]
    """
    return _loss(as_change(change, "R", "neighbour"), "change")


def deletion_loss(log_likelihood, weights, recompute=None):
    r"""Privacy loss by deleting a record, for each record of the file.

    Parameters
    ----------
    log_likelihood : array-like, shape (S, n), or xarray.DataArray
        As of :func:`lipschitz_bounds`, at the draws of the fit under `weights`.
    weights : array-like, shape (n,)
        Record weights in [0, 1].
    recompute : callable, optional
        Takes the position of a record and returns the weights, shape (n,), of the file
        without it; what stands at its own place does not matter. By default the other
        records keep their weights.

    Returns
    -------
    DataFrame
        As of :func:`privacy_loss`, a row for each record, with their labels; ``k_hat``
        may be minus infinity or infinity.

    Raises
    ------
    ValueError
        If `log_likelihood` is not S draws of n records, or not finite, S is below 25,
        or a weight is outside [0, 1].

    Warns
    -----
    ConvergenceWarning
        If the draws come from a fit that has not converged.

    Notes
    -----
    The memory is S times 256 numbers beside the arguments.

    References
    ----------
    P3, Definition 1.3, for the database at hand and its neighbours.
    Book: :ref:`delete-every-record`.

    Examples
    --------
    A record with weight 0 loses nothing if the others keep theirs, and may lose much if
    they do not:

    >>> import numpy as np
    >>> import pseudopost as pp
    >>> rng = np.random.default_rng(1)
    >>> log_likelihood = -np.abs(rng.normal([3, 4, 5], 1, size=(500, 3)))
    >>> weights = np.array([1, 0.5, 0])
    >>> bool(pp.deletion_loss(log_likelihood, weights)["largest"][2] == 0)
    True
    >>> again = pp.deletion_loss(log_likelihood, weights, lambda i: np.ones(3))
    >>> bool(again["largest"][2] > 1)
    True
    """
    log_likelihood, labels = finite_rows(log_likelihood)
    n = log_likelihood.shape[1]
    weights = aligned(weights, "weights", labels, "log_likelihood")
    weights = as_vector(weights, "weights", length=n, low=0, high=1)
    parts = []
    for begin in range(0, n, BLOCK):
        records = np.arange(begin, min(begin + BLOCK, n))
        new = np.tile(weights, (len(records), 1))
        for row, record in zip(new, records, strict=True):
            if recompute is not None:
                row[:] = as_vector(
                    recompute(int(record)),
                    "recompute's weights",
                    length=n,
                    low=0,
                    high=1,
                )
            row[record] = 0
        with np.errstate(over="ignore", invalid="ignore"):
            change = log_likelihood @ (new - weights).T
        check_finite(change, "log_likelihood", "a sum of them")
        parts.append(_loss(change, "log_likelihood"))
    found = pd.concat(parts, ignore_index=True)
    return found if labels is None else found.set_axis(labels)


def expected_bounds(log_likelihood, size):
    r"""Expect Lipschitz bounds over fewer draws, with and without each record.

    The bound of a record is a maximum over draws, and so random. This is its
    expectation over `size` independent draws, from a fit with more of them; without a
    record, the draws count by their importance ratios :math:`1 / p(y_i \mid \theta_s)`.

    Parameters
    ----------
    log_likelihood : array-like, shape (S, n), or xarray.DataArray
        Finite, unweighted, at the draws of the unweighted fit. Let S be several times
        `size`.
    size : int
        Number of draws whose maximum is expected, from 1 to S.

    Returns
    -------
    callable
        Without an argument it returns the bounds of the file, shape (n,); with the
        position of a record, those of the file without it, whose own is of no use.

    Raises
    ------
    ValueError
        If `log_likelihood` is not S draws of n records, or not finite, or `size` is out
        of range.

    Warns
    -----
    ConvergenceWarning
        If the draws come from a fit that has not converged.

    Notes
    -----
    The ratios are neither smoothed nor checked. :func:`privacy_loss` of minus
    `log_likelihood`, as an array of S rows, has their ``k_hat``.

    References
    ----------
    P3, Algorithm 2, steps 1-2, repeated without a record.
    Book: :ref:`delete-every-record`.

    Examples
    --------
    >>> import numpy as np
    >>> import pseudopost as pp
    >>> log_likelihood = np.random.default_rng(1).normal(-5, 1, size=(4000, 3))
    >>> bounds = pp.expected_bounds(log_likelihood, size=100)
    >>> bool((abs(bounds() - 7.5) < 0.3).all())
    True
    """
    log_likelihood, _ = finite_rows(log_likelihood)
    S = len(log_likelihood)
    size = as_count(size, "size", high=S)
    # Twice as many as are needed while all draws count the same.
    top = min(S, 2 * BEYOND * S // size)
    absolute = np.abs(log_likelihood)
    order = np.argsort(-absolute, axis=0, kind="stable")[:top]
    largest = np.take_along_axis(absolute, order, axis=0)

    def bounds(record=None):
        own = np.zeros(S) if record is None else -log_likelihood[:, record]
        share = np.exp(own - own.max())
        beyond = np.cumsum((share / share.sum())[order], axis=0)
        # Probability that none of the draws is among the largest so far.
        none = np.clip(1 - beyond, 0, 1) ** size
        none[-1] = 0
        return (-np.diff(none, axis=0, prepend=1) * largest).sum(axis=0)

    return bounds


def finite_rows(log_likelihood):
    """Return what :func:`as_rows` does, or raise where it is not finite."""
    rows, labels = as_rows(log_likelihood)
    if not np.isfinite(rows).all():
        record = np.argwhere(~np.isfinite(rows))[0][1]
        raise ValueError(
            f"log_likelihood must be finite; that of record {record} is not"
        )
    return rows, labels


def as_change(change, length, target):
    """Check log ratios at S draws, of so many targets; a column is one target."""
    change = as_array(change, "change")
    if change.ndim != 2 or 0 in change.shape:
        raise ValueError(f"change must have shape (S, {length}); got {change.shape}")
    if not np.isfinite(change).all():
        draw, column = np.argwhere(~np.isfinite(change))[0]
        raise ValueError(
            f"change must be finite; that of draw {draw} and {target} {column} is not"
        )
    return change


def smoothed(change, name):
    """Pareto smoothed importance ratios, from their logarithms.

    Parameters
    ----------
    change : ndarray, shape (S, R)
        Log ratios at S draws, of R targets.
    name : str
        Of the argument that they come from.

    Returns
    -------
    log_share : ndarray, shape (S, R)
        Logarithms of ratios that sum to 1 for each target.
    k_hat : ndarray, shape (R,)
    """
    S, R = change.shape
    highest = change.max(axis=0)
    with np.errstate(over="ignore"):
        check_finite(change.min(axis=0) - highest, name, "a difference of draws")
    k_hat = np.full(R, -np.inf)
    log_share = change - highest
    log_share -= np.log(np.exp(log_share).sum(axis=0))
    # ArviZ fits a tail of this length, and refuses one of equal values.
    tail = int(3 * S**0.5) if S > 225 else S // 5
    spread = np.ptp(np.sort(change, axis=0)[-tail:], axis=0)
    moves = np.flatnonzero(spread >= np.finfo(float).tiny)
    if len(moves):
        # ArviZ takes minus the log of a ratio.
        found, k_hat[moves] = xr.DataArray(
            -change[:, moves], dims=("draw", "target")
        ).azstats.psislw(dim="draw")
        log_share[:, moves] = found.transpose("draw", "target").to_numpy()
        # No number where one draw outweighs all.
        k_hat[np.isnan(k_hat)] = np.inf
    return log_share, k_hat


def log_losses(change, name):
    """Privacy losses at all draws, shape (S, R), and k-hat, from a finite argument."""
    S, R = change.shape
    if S < MIN_DRAWS:
        raise ValueError(f"{name} must have at least {MIN_DRAWS} draws; got {S}")
    log_share, k_hat = smoothed(change, name)
    # The smallest ratio is never smoothed.
    least = change.argmin(axis=0), np.arange(R)
    log_mean = change[least] - (log_share[least] + np.log(S))
    return log_mean - change, k_hat


def _loss(change, name):
    """Privacy losses from changes that come from the argument of a name."""
    loss, k_hat = log_losses(change, name)
    with np.errstate(over="ignore"):
        mean = loss.mean(axis=0)
    check_finite(mean, name, "a mean loss")
    return pd.DataFrame(
        {"largest": np.abs(loss).max(axis=0), "mean": mean, "k_hat": k_hat}
    )
