"""Affinity and Rényi divergence between a model and another (P1, section 4.1)."""

import numpy as np

from pseudopost._checks import (
    aligned,
    as_array,
    as_mass,
    as_vector,
    check_finite,
    labels_of,
)


def affinity(log_ratio, weights, *, mass=None):
    r"""Affinity of order alpha between two densities, under a third.

    Parameters
    ----------
    log_ratio : array-like, shape (q,) or (n, q)
        :math:`\log p_\theta(x) - \log p_{\theta^*}(x)` at q points, common to all
        records or for each.
    weights : array-like, shape (n,)
        Record weights in [0, 1], the orders.
    mass : array-like, shape (q,), optional
        Probability of each point under the true distribution; by default 1/q.

    Returns
    -------
    ndarray, shape (n,)
        :math:`A_i = \mathrm{E}\, (p_\theta / p_{\theta^*})^{\alpha_i}`.

    Raises
    ------
    ValueError
        If shapes do not fit, a weight is outside [0, 1], `mass` does not sum to 1, or
        a number is too large for its exponential.

    References
    ----------
    P1, Eq 15. It takes the weights as fixed.
    Book: :ref:`consistency-renyi`.

    Examples
    --------
    Two points of equal mass:

    >>> import numpy as np
    >>> import pseudopost as pp
    >>> pp.affinity(np.log([0.5, 1.5]), weights=[0, 0.5, 1]).round(3)
    array([1.   , 0.966, 1.   ])
    """
    if getattr(log_ratio, "ndim", 0) == 2:
        log_ratio = aligned(log_ratio, "log_ratio", labels_of(weights), "weights")
    weights = as_vector(weights, "weights", low=0, high=1)
    log_ratio = as_array(log_ratio, "log_ratio")
    if log_ratio.ndim not in (1, 2) or log_ratio.shape[:-1] not in ((), weights.shape):
        raise ValueError(
            f"log_ratio must have shape (q,) or ({len(weights)}, q); got "
            f"{log_ratio.shape}"
        )
    if np.isnan(log_ratio).any():
        raise ValueError("log_ratio must not be missing")
    mass = as_mass(mass, log_ratio.shape[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.exp(weights[:, None] * log_ratio) @ mass
    check_finite(found, "log_ratio", "the exponential of a weight times it")
    return found


def renyi_divergence(log_ratio, weights, *, mass=None):
    r"""Rényi divergence of order alpha from :math:`\theta^*` to :math:`\theta`.

    It is 0 or more where the model is correct. Where it is not, it may be negative.

    Parameters
    ----------
    log_ratio : array-like, shape (q,) or (n, q)
        :math:`\log p_\theta(x) - \log p_{\theta^*}(x)` at q points, common to all
        records or for each.
    weights : array-like, shape (n,)
        Record weights in [0, 1), the orders.
    mass : array-like, shape (q,), optional
        Probability of each point under the true distribution; by default 1/q.

    Returns
    -------
    ndarray, shape (n,)
        :math:`D_i = \log A_i / (\alpha_i - 1)`, in nats; their sum is P1's
        divergence.

    Raises
    ------
    ValueError
        As in :func:`affinity`, or if a weight is 1, where the divergence is undefined.

    References
    ----------
    P1, Eqs 14 and 15.
    Book: :ref:`consistency-renyi`.

    Examples
    --------
    >>> import numpy as np
    >>> import pseudopost as pp
    >>> pp.renyi_divergence(np.log([0.5, 1.5]), weights=[0.25, 0.5]).round(3)
    array([0.035, 0.069])
    """
    orders = as_vector(weights, "weights", low=0, high=1)
    if (orders == 1).any():
        record = int(np.argmax(orders == 1))
        raise ValueError(f"weights must lie in [0, 1); record {record} has 1")
    with np.errstate(divide="ignore"):
        found = np.log(affinity(log_ratio, weights, mass=mass)) / (orders - 1)
    check_finite(found, "log_ratio", "the logarithm of the affinity")
    return found
