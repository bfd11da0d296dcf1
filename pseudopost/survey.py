"""Covariances of totals under the design of a survey: clusters and strata."""

import numpy as np
import pandas as pd

from pseudopost._checks import aligned, as_array, check_finite, labels_of, quoted


def design_covariance(values, clusters=None, strata=None):
    r"""Covariance of a sum over the records of a survey, from its design.

    Clusters (primary sampling units) count as drawn with replacement within each
    stratum, however records are drawn within them.

    Parameters
    ----------
    values : array-like, shape (n,) or (n, d)
        What is summed, with survey weights in it.
    clusters : array-like of labels, shape (n,), optional
        Of each record; a label in two strata stands for two clusters. By default each
        record is a cluster of its own.
    strata : array-like of labels, shape (n,), optional
        Of each record; by default all are in one stratum.

    Returns
    -------
    float or ndarray, shape (d, d)
        In squared units of `values`.

    Raises
    ------
    ValueError
        If a value is not finite, `clusters` or `strata` are not n labels, or a stratum
        has a single cluster, whose variance cannot be seen.

    Notes
    -----
    With the totals :math:`t_{hc}` of the :math:`C_h` clusters in stratum h, and their
    mean :math:`\bar t_h`, it is :math:`\sum_h \frac{C_h}{C_h - 1} \sum_c (t_{hc} -
    \bar t_h)(t_{hc} - \bar t_h)^T`. There is no finite population correction.

    References
    ----------
    Binder (1983); Williams and Savitsky (2021).
    Book: :ref:`survey-design`.

    Examples
    --------
    Two clusters with totals 3 and 7: twice the squared distances from their mean 5.

    >>> import pseudopost as pp
    >>> pp.design_covariance([1, 2, 3, 4], clusters=["a", "a", "b", "b"])
    16.0

    Taken as four independent records, the sum would seem to vary less:

    >>> round(pp.design_covariance([1, 2, 3, 4]), 2)
    6.67
    """
    labels, values = labels_of(values), as_array(values, "values")
    if values.ndim not in (1, 2) or 0 in values.shape:
        raise ValueError(f"values must have shape (n,) or (n, d); got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(
            "values must be finite; those of record "
            f"{np.argwhere(~np.isfinite(values))[0][0]} are not"
        )
    n = len(values)
    cluster, _ = _codes(clusters, "clusters", labels, np.arange(n))
    stratum, names = _codes(strata, "strata", labels, np.zeros(n, dtype=int))
    width = cluster.max() + 1
    units, unit = np.unique(stratum * width + cluster, return_inverse=True)
    stratum = units // width
    sizes = np.bincount(stratum)
    if (sizes < 2).any():
        alone = "in all there is one"
        if strata is not None:
            alone = f"stratum {quoted(names[np.argmin(sizes)])} has one"
        raise ValueError(f"clusters must be two or more in each stratum; {alone}")
    with np.errstate(over="ignore", invalid="ignore"):
        totals = _sums(values.reshape(n, -1), unit)
        centred = totals - (_sums(totals, stratum) / sizes[:, None])[stratum]
        factor = (sizes / (sizes - 1))[stratum, None]
        found = centred.T @ (factor * centred)
    check_finite(found, "values", "the covariance of their sum")
    return float(found[0, 0]) if values.ndim == 1 else found


def _sums(values, groups):
    """Sum the rows of each group, shape (groups, d)."""
    return np.stack([np.bincount(groups, column) for column in values.T], axis=1)


def _codes(groups, name, labels, default):
    """Give each group a number, and each record that of its own; name the groups."""
    if groups is None:
        return default, None
    n = len(default)
    if isinstance(groups, (set, frozenset)):
        raise ValueError(f"{name} must be in the order of values; got a set")
    try:
        groups = pd.Series(aligned(groups, name, labels, "values"))
    except ValueError as error:
        if str(error).startswith(name):
            raise
        raise ValueError(f"{name} must be {n} labels, one per record") from error
    if len(groups) != n:
        raise ValueError(f"{name} must have length {n}; got length {len(groups)}")
    if groups.isna().any():
        record = int(np.argmax(groups.isna()))
        raise ValueError(f"{name} must not be missing; that of record {record} is")
    return pd.factorize(groups)
