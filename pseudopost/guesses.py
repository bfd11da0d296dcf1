"""What an intruder learns of one record's value from a release."""

import numpy as np
from scipy.special import logsumexp

from pseudopost._checks import as_array, as_vector, check_finite
from pseudopost.deletion import as_change, log_losses


def guess_evidence(change, log_release=None):
    r"""Compare how likely a release is under guesses of a value and under the truth.

    The intruder knows every record but one value, the model, and the rule for the
    weights. Under a guess of the value she knows the whole file, and so its pseudo
    posterior; this function gets it from the draws of one fit, by importance sampling.

    Parameters
    ----------
    change : array-like, shape (S, G)
        For each draw of the fit and each of G guesses, the logarithm of the
        unnormalised pseudo posterior density of the file with the guess, minus that of
        the file itself. With kept weights :math:`\alpha_i \{\log p(y^*_g \mid
        \theta_s) - \log p(y_i \mid \theta_s)\}`.
    log_release : array-like, shape (m, S) or (S,), optional
        Log density of each released file at each draw, each up to a constant of its
        own. By default the draws themselves are released, each as a file.

    Returns
    -------
    ndarray, shape (m, G), or (S, G) without `log_release`
        :math:`\log p(Z_l \mid y^*_g) - \log p(Z_l \mid y_i)` in nats, for each file or
        draw. Files from independent draws add up.

    Raises
    ------
    ValueError
        If an argument is not finite or has another shape, or S is below 25.

    Notes
    -----
    The means over draws are Pareto smoothed. :func:`privacy_loss` of the same `change`
    has ``k_hat``, which says of each guess whether one fit is enough. A file of many
    records may fit a few draws alone; the effective number of draws is that of the
    weights ``exp(log_release)``, and where it is small, take the evidence
    of the draws: on average no file says more of the value than the draw that it came
    from, if it depends on the value through the draw alone.

    References
    ----------
    P2, section 2.1, on attribute disclosure.
    Book: :ref:`other-rulers`.

    Examples
    --------
    Draws from Normal(0, 1), and a guess that would move their mean to 0.5. A file whose
    density is highest at large draws speaks for the guess:

    >>> import numpy as np
    >>> import pseudopost as pp
    >>> draws = np.random.default_rng(1).normal(size=4000)
    >>> evidence = pp.guess_evidence(0.5 * draws[:, None], -0.5 * (draws - 2) ** 2)
    >>> evidence.round(1)
    array([[0.4]])
    """
    change = as_change(change, "G", "guess")
    evidence = -log_losses(change, "change")[0]
    if log_release is None:
        return evidence
    log_release = np.atleast_2d(as_array(log_release, "log_release"))
    if log_release.ndim != 2 or log_release.shape[1] != len(change):
        raise ValueError(
            f"log_release must have shape (m, {len(change)}); got {log_release.shape}"
        )
    if 0 in log_release.shape or not np.isfinite(log_release).all():
        raise ValueError("log_release must be finite, with at least one file")
    with np.errstate(over="ignore"):
        log_share = log_release - log_release.max(axis=1, keepdims=True)
        check_finite(log_share, "log_release", "a difference of draws")
        log_share -= logsumexp(log_share, axis=1, keepdims=True)
        rows = [logsumexp(row[:, None] + evidence, axis=0) for row in log_share]
    check_finite(np.array(rows), "change", "the evidence of a file")
    return np.array(rows)


def guess_probabilities(evidence, prior):
    r"""Probability of each guess of a value after a release.

    Parameters
    ----------
    evidence : array-like, shape (m, G) or (G,)
        Of files that are released together, as of :func:`guess_evidence`; further
        evidence of the same guesses, as from the record's own row, is added to it.
    prior : array-like, shape (G,)
        Probability of each guess without the release, 0 or more, up to a constant.

    Returns
    -------
    ndarray, shape (G,)
        Sums to 1. The sum over guesses that are close to the truth is the *attribute
        risk*; the same sum over the prior is what the intruder had without the release.

    Raises
    ------
    ValueError
        If lengths differ, a number is not finite, or `prior` is negative or 0
        everywhere.

    References
    ----------
    P2, section 2.1, on attribute disclosure.
    Book: :ref:`other-rulers`.

    Examples
    --------
    Two files, each of which makes the first guess twice as likely as the others:

    >>> import numpy as np
    >>> import pseudopost as pp
    >>> evidence = np.log([[2, 1, 1], [2, 1, 1]])
    >>> pp.guess_probabilities(evidence, prior=[0.2, 0.4, 0.4]).round(3)
    array([0.5 , 0.25, 0.25])
    """
    prior = as_vector(prior, "prior", low=0)
    evidence = np.atleast_2d(as_array(evidence, "evidence"))
    if evidence.ndim != 2 or evidence.shape[1] != len(prior):
        raise ValueError(
            f"evidence must have shape (m, {len(prior)}), as prior has {len(prior)} "
            f"guesses; got {evidence.shape}"
        )
    if not np.isfinite(evidence).all():
        raise ValueError("evidence must be finite")
    if not prior.any():
        raise ValueError("prior must be above 0 for some guess; it is 0 for all")
    with np.errstate(over="ignore", divide="ignore"):
        total = evidence.sum(axis=0)
        check_finite(total, "evidence", "a sum over files")
        log_posterior = np.log(prior) + total
    return np.exp(log_posterior - logsumexp(log_posterior))
