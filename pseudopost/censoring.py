"""Contributions of records that are capped by a number fixed beforehand."""

from typing import override

import numpy as np
import pytensor.tensor as pt

from pseudopost._checks import as_array, as_number
from pseudopost.synthesizers import Synthesizer


def censored(log_likelihood, epsilon, weights=1.0, reference=0.0):
    r"""Cap what a record contributes, so that its range is at most epsilon.

    .. math:: c_\theta(x) = \max\bigl\{-\epsilon,\;
              \min\{0,\; \alpha(x) [\log p(x \mid \theta) - h(x)]\}\bigr\}

    If the weight :math:`\alpha` and the reference h are functions of the record alone,
    fixed before the file is seen, and the prior is proper, an exact draw from the
    density proportional to :math:`p(\theta) \exp \sum_i c_\theta(x_i)` is
    :math:`\epsilon`-private for added and deleted records, whatever the file. For a
    record that is replaced it is :math:`2 \epsilon`-private.

    Parameters
    ----------
    log_likelihood : array-like or TensorVariable, shape (..., n)
        Unweighted.
    epsilon : float
        Above 0, in nats.
    weights, reference : array-like or TensorVariable, shape (n,) or ()
        :math:`\alpha`, 0 or more, and h in nats. Without a cap the reference would
        change nothing; with it, it decides which parameters a record can tell apart.
        What is published caps to both sides, at :math:`\pm \epsilon / 2`, which is a
        reference of :math:`\epsilon / (2 \alpha)`, bar a constant.

    Returns
    -------
    ndarray or TensorVariable, shape (..., n)
        From :math:`-\epsilon` to 0.

    Raises
    ------
    ValueError
        If `epsilon` is not a positive number, a weight is negative, or any number is
        missing or infinite, or one of `weights` and `reference` has another length.

    References
    ----------
    P3, section 1.5; Hu, Williams and Savitsky (2025), with another window.
    Book: :ref:`every-file`.

    Examples
    --------
    At a log-likelihood as high as can be a record contributes nothing, far from it as
    much as is allowed:

    >>> import pseudopost as pp
    >>> pp.censored([-3.0, -3.5, -9.0], epsilon=1.0, reference=-3.0).tolist()
    [0.0, -0.5, -1.0]
    """
    epsilon = as_number(epsilon, "epsilon", low=0, open_low=True)
    if hasattr(log_likelihood, "owner"):
        return (weights * (log_likelihood - reference)).clip(-epsilon, 0.0)
    log_likelihood = as_array(log_likelihood, "log_likelihood")
    _check_finite(log_likelihood, "log_likelihood")
    n = log_likelihood.shape[-1] if log_likelihood.ndim else 1
    reference = _for_records(reference, "reference", n)
    weights = _for_records(weights, "weights", n)
    if (weights < 0).any():
        raise ValueError(f"weights must be 0 or more; got {weights.min()}")
    with np.errstate(over="ignore", invalid="ignore"):
        terms = weights * (log_likelihood - reference)
    if np.isnan(terms).any():
        raise ValueError("reference must not be so far from log_likelihood")
    return terms.clip(-epsilon, 0.0)


def _for_records(values, name, n):
    """Return finite numbers, one for all records or one for each of n, or raise."""
    values = as_array(values, name)
    if values.shape not in ((), (n,)):
        raise ValueError(
            f"{name} must have shape () or ({n},), one number for all records or one "
            f"for each; got {values.shape}"
        )
    _check_finite(values, name)
    return values


def _check_finite(values, name):
    wrong = values[~np.isfinite(values)]
    if wrong.size:
        raise ValueError(f"{name} must be finite; got {wrong[0]}")


class Censored(Synthesizer):
    r"""Put :func:`censored` into a synthesizer: to be inherited before its class.

    Parameters
    ----------
    *arguments, **settings
        Of the synthesizer.
    epsilon : float
        Above 0, in nats.
    reference : array-like, shape (n,) or ()
        h, in nats.

    Raises
    ------
    ValueError
        If `epsilon` is not a positive number, `reference` is not finite or has another
        length, or the synthesizer refuses its own arguments.

    Notes
    -----
    The promise of :func:`censored` is for exact draws, and for weights of
    :meth:`Synthesizer.fit`, a reference, a prior and settings that do not depend on the
    file. A sampler's draws are exact up to its error, which no promise covers.

    References
    ----------
    Hu, Williams and Savitsky (2025). Book: :ref:`every-file`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> class CensoredSynthesizer(pp.Censored, pp.PoissonSynthesizer):
    ...     pass
    >>> synthesizer = CensoredSynthesizer([2, 4, 9], epsilon=1.0, reference=-1.5)
    >>> synthesizer.epsilon
    1.0
    """

    def __init__(self, *arguments, epsilon, reference=0.0, **settings):
        super().__init__(*arguments, **settings)
        self.epsilon = as_number(epsilon, "epsilon", low=0, open_low=True)
        self.reference = _for_records(reference, "reference", len(self.y))

    @override
    def record_term(self, log_likelihood, weights):
        reference = pt.as_tensor_variable(self.reference)
        return censored(log_likelihood, self.epsilon, weights, reference)
