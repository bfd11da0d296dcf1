"""Pseudo maximum likelihood, H, J and the sandwich (P1, section 4)."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from pseudopost._checks import (
    aligned,
    as_vector,
    check_finite,
    check_weights_of,
    labels_of,
)
from pseudopost.likelihood import derivatives_of
from pseudopost.survey import design_covariance

# The search has converged when Newton's next step changes no parameter by more than
# this (and by more than this share), and gains less than this, in nats per record.
MAX_CHANGE = 1e-7
MAX_GAIN = 1e-16
MAX_STEPS = 20


class PseudoMLE(NamedTuple):
    """What :func:`pseudo_mle` returns: where a weighted log-likelihood is largest.

    Attributes
    ----------
    theta : pandas.Series, shape (d,)
        On the unconstrained scale of the sampler, for :func:`information`.
    values : dict
        The parameters and deterministics of the model, on their own scale.

    References
    ----------
    Book: :ref:`consistency-star`.
    """

    theta: pd.Series
    values: dict


class Information(NamedTuple):
    r"""What :func:`information` returns: H and J of P1, per record.

    Attributes
    ----------
    H : pandas.DataFrame, shape (d, d)
        Mean of :math:`-\alpha_i \ddot\ell_\theta(x_i)`.
    J : pandas.DataFrame, shape (d, d)
        Mean of :math:`\alpha_i^2 \dot\ell_\theta(x_i) \dot\ell_\theta(x_i)^T`.

    References
    ----------
    Book: :ref:`covariance-sandwich`.
    """

    H: pd.DataFrame
    J: pd.DataFrame

    @property
    def inverse_H(self):
        r"""Covariance of the pseudo posterior times n, :math:`H^{-1}`.

        References
        ----------
        Book: :ref:`covariance-bvm`.
        """
        return _inverse(self.H)

    @property
    def sandwich(self):
        r"""Covariance of the pseudo MLE times n, :math:`H^{-1} J H^{-1}`.

        References
        ----------
        Book: :ref:`covariance-sandwich`.
        """
        return self.inverse_H @ self.J @ self.inverse_H


def pseudo_mle(model, weights=None, *, mass=None, start=None, name="y"):
    r"""Maximise a weighted log-likelihood.

    With the probabilities of a population in `mass`, the result is the point
    :math:`\theta^*` around which the pseudo posterior of large files concentrates.

    Parameters
    ----------
    model : Synthesizer or pm.Model
        A model that calls :func:`~pseudopost.weighted_likelihood`. It is compiled at
        the first call; ``pm.set_data`` may change its data before the next.
    weights : array-like, shape (n,), optional
        Record weights in [0, 1]; by default those in the model.
    mass : array-like, shape (n,), optional
        Probability of each record; they sum to 1. By default 1/n.
    start : array-like, shape (d,), optional
        On the unconstrained scale; by default the initial point of the model.
    name : str
        The name given to :func:`~pseudopost.weighted_likelihood`.

    Returns
    -------
    PseudoMLE

    Raises
    ------
    ValueError
        If an argument is out of range, or the model has no such likelihood.
    RuntimeError
        If no maximum was found, as where the data do not identify a parameter.

    Notes
    -----
    :math:`\hat\theta = \arg\max_\theta \sum_i m_i \alpha_i \log p(x_i \mid
    \theta)`. The prior plays no part.

    References
    ----------
    P1, Eqs 11, 13 and 17; Eq 13 is printed without weights.
    Book: :ref:`consistency-star`.

    Examples
    --------
    A record with weight 0 plays no part: the mean of the other two is 3.

    >>> import pseudopost as pp
    >>> estimate = pp.pseudo_mle(pp.PoissonSynthesizer([2, 4, 9]), [1, 1, 0])
    >>> round(float(estimate.values["mu"]), 2)
    3.0
    """
    likelihood = derivatives_of(model, name)
    weights, mass = likelihood.measure(*_in_order(model, weights, mass))
    theta = likelihood.start
    if start is not None:
        theta = likelihood.point(start, "start")
    if not mass @ weights > 0:
        raise ValueError("mass must not be 0 wherever weights are above 0")
    share = mass * weights / (mass @ weights)
    if start is not None:
        check_finite(likelihood.curvature(theta, share), "start", "the curvature there")

    def negative(function):
        return lambda theta: -function(theta, share)

    with np.errstate(all="ignore"):
        theta = minimize(
            negative(likelihood.value),
            theta,
            jac=negative(likelihood.score),
            hess=negative(likelihood.curvature),
            method="trust-exact",
            options={"gtol": 1e-5, "maxiter": 500},
        ).x
        # The value has no digits left to compare; the last steps are plain Newton's.
        for _ in range(MAX_STEPS):
            score = likelihood.score(theta, share)
            try:
                factor = cho_factor(-likelihood.curvature(theta, share))
            except (LinAlgError, ValueError):
                converged = False
                break
            step = cho_solve(factor, score)
            small = np.abs(step) <= MAX_CHANGE * (1 + np.abs(theta))
            converged = small.all() and score @ step <= MAX_GAIN
            theta = theta + step
            if converged:
                break
    if not converged:
        ended = (f"{value:.4g}" for value in theta)
        raise RuntimeError(
            "no maximum of the weighted likelihood was found; the search ended at "
            f"{dict(zip(likelihood.labels, map(float, ended), strict=True))}"
        )
    return PseudoMLE(pd.Series(theta, likelihood.labels), likelihood.values(theta))


def information(
    model,
    theta,
    weights=None,
    *,
    mass=None,
    weight_map=None,
    clusters=None,
    strata=None,
    name="y",
):
    r"""H and J, by automatic differentiation.

    Parameters
    ----------
    model : Synthesizer or pm.Model
        As in :func:`pseudo_mle`.
    theta : array-like, shape (d,)
        Where, on the unconstrained scale: ``pseudo_mle(...).theta``.
    weights, mass : array-like, shape (n,), optional
        As in :func:`pseudo_mle`.
    weight_map : callable, optional
        How the weights were made from the file: takes the positions of n - 1 records
        and returns the weights that they would have as a file of their own, shape (n -
        1,). J then has the noise of the weights in it, by the jackknife; the weights
        must be a smooth function of the file, such as risks, not such as maxima.
    clusters, strata : array-like of labels, shape (n,), optional
        The design of the survey, as in :func:`design_covariance`, for J. Survey weights
        belong in the likelihood of the model. By default records are independent.
    name : str
        The name given to :func:`~pseudopost.weighted_likelihood`.

    Returns
    -------
    Information
        Its `inverse_H` and `sandwich` are n times the covariances of the pseudo
        posterior and of the pseudo MLE.

    Raises
    ------
    ValueError
        If an argument is out of range, or the model has no such likelihood.

    Notes
    -----
    :math:`H = -\sum_i m_i \alpha_i \ddot\ell_\theta(x_i)` and :math:`J = \sum_i
    m_i \alpha_i^2 \dot\ell_\theta(x_i) \dot\ell_\theta(x_i)^T`: the weights count as
    fixed, even if the file made them. With `weight_map`, J is the covariance of the
    pseudo-values :math:`n g - (n - 1) g_{(i)}`, where g is the mean weighted score and
    :math:`g_{(i)}` that of the file without record i. With a design, J is
    :func:`design_covariance` of these, or of the weighted scores, divided by n.

    References
    ----------
    P1, Eqs 18, 20, 22 and 27b. Eq 19 lacks 1/n, and Eqs 21 and 22 lack a factor n.
    Book: :ref:`covariance-sandwich`.

    Examples
    --------
    For Poisson counts, by the logarithm of their mean, H is the mean weight times the
    mean:

    >>> import pseudopost as pp
    >>> model, weights = pp.PoissonSynthesizer([2, 4, 9]), [1, 1, 0]
    >>> theta = pp.pseudo_mle(model, weights).theta
    >>> found = pp.information(model, theta, weights)
    >>> found.H.to_numpy().round(2), found.J.to_numpy().round(2)
    (array([[2.]]), array([[0.67]]))
    >>> found.sandwich.to_numpy().round(2)
    array([[0.17]])
    """
    if mass is not None and weight_map is not None:
        raise ValueError("weight_map is for a file of records; leave out mass")
    by_design = clusters is not None or strata is not None
    if mass is not None and by_design:
        raise ValueError("clusters and strata are for a file; leave out mass")
    likelihood = derivatives_of(model, name)
    records = getattr(model, "index", None)
    clusters = aligned(clusters, "clusters", records, "y")
    strata = aligned(strata, "strata", records, "y")
    weights, mass = likelihood.measure(*_in_order(model, weights, mass))
    theta = likelihood.point(theta, "theta")
    labels = likelihood.labels
    H = -likelihood.curvature(theta, mass * weights)
    scores = likelihood.scores(theta, mass)
    with np.errstate(over="ignore", invalid="ignore"):
        if weight_map is None:
            noise = weights[:, None] * scores
        else:
            noise = _jackknife(scores, weights, weight_map)
        if by_design:
            J = design_covariance(noise, clusters, strata) / len(noise)
        elif weight_map is None:
            J = noise.T @ (mass[:, None] * noise)
        else:
            J = np.atleast_2d(np.cov(noise, rowvar=False, bias=True))
    check_finite([H, J], "theta", "H or J")
    return Information(
        pd.DataFrame((H + H.T) / 2, labels, labels), pd.DataFrame(J, labels, labels)
    )


def adjust_draws(
    model, fit, weights, *, weight_map=None, clusters=None, strata=None, name="y"
):
    r"""Rescale posterior draws so that their covariance is the sandwich.

    Credible intervals of the result cover :math:`\theta^*` as often as they promise, in
    large files, if J is right: where the file made the weights, only with `weight_map`,
    and where it was drawn in clusters, only with `clusters`. They do not cover the true
    parameter where weights move :math:`\theta^*` away.

    Parameters
    ----------
    model : Synthesizer or pm.Model
        As in :func:`pseudo_mle`.
    fit : xarray.DataTree
        Its posterior under `weights`.
    weights : array-like, shape (n,)
        Record weights in [0, 1], those of `fit`.
    weight_map : callable, optional
        As in :func:`information`; wanted wherever the file made the weights.
    clusters, strata : array-like of labels, shape (n,), optional
        As in :func:`information`; wanted wherever records were drawn together.
    name : str
        The name given to :func:`~pseudopost.weighted_likelihood`.

    Returns
    -------
    xarray.Dataset
        Draws of all parameters in the likelihood and of the deterministics that depend
        on no others, with dims ``chain`` and ``draw``.

    Raises
    ------
    ValueError
        If `fit` comes from another synthesizer or was made under other weights, lacks a
        parameter or has too few draws, or if an argument is out of range.
    RuntimeError
        If H is singular at the mean of the draws.

    Notes
    -----
    On the unconstrained scale, a draw :math:`\theta` becomes :math:`\bar\theta + L
    C^{-1} (\theta - \bar\theta)`, with the Cholesky factors C of the covariance of
    the draws and L of the sandwich. All three look at the file again, so no epsilon of
    the fit is one of the adjusted draws: they are for intervals, not for releases.

    References
    ----------
    P1, Theorems 3 and 4; Williams and Savitsky (2021).
    Book: :ref:`covariance-adjustment`.

    Examples
    --------
    Three draws written by hand, on the log scale. The counts vary more than those of a
    Poisson distribution, and the draws move apart:

    >>> import numpy as np
    >>> import xarray as xr
    >>> import pseudopost as pp
    >>> mu = np.exp([[1.35, 1.6, 1.85]])
    >>> draws = xr.Dataset({"mu": (("chain", "draw"), mu)})
    >>> fit = xr.DataTree.from_dict({"posterior": draws})
    >>> model = pp.PoissonSynthesizer([2, 4, 9])
    >>> moved = pp.adjust_draws(model, fit, np.ones(3))
    >>> np.log(moved["mu"].to_numpy()).round(2)
    array([[1.26, 1.6 , 1.94]])
    """
    likelihood = derivatives_of(model, name)
    if hasattr(model, "_check_fit") and "model" in fit.attrs:
        model._check_fit(fit)
    weights, _ = _in_order(model, weights)
    if "constant_data" in fit.children:
        weights = check_weights_of(fit, weights)
    weights = as_vector(weights, "weights", low=0, high=1)
    draws = likelihood.unconstrained(fit)
    S, d = draws.shape
    if d >= S:
        raise ValueError(f"fit must have more draws than the {d} parameters; got {S}")
    centre = draws.mean(axis=0)
    sandwich = information(
        model,
        centre,
        weights,
        weight_map=weight_map,
        clusters=clusters,
        strata=strata,
        name=name,
    ).sandwich
    present = np.linalg.cholesky(np.atleast_2d(np.cov(draws, rowvar=False)))
    target = np.linalg.cholesky(sandwich / np.size(weights))
    moved = centre + (draws - centre) @ np.linalg.solve(present.T, target.T)
    rows = [likelihood.values(theta) for theta in moved]
    posterior = fit["posterior"].to_dataset()
    return posterior[[key for key in rows[0] if key in posterior]].map(
        lambda old: old.copy(
            data=np.reshape([row[old.name] for row in rows], old.shape)
        )
    )


def _in_order(model, weights, mass=None):
    """Return both in the order of the records of the model, if these have labels."""
    labels = getattr(model, "index", None)
    weights = aligned(weights, "weights", labels, "y")
    if labels is None:
        return weights, aligned(mass, "mass", labels_of(weights), "weights")
    return weights, aligned(mass, "mass", labels, "y")


def _inverse(matrix):
    try:
        inverse = cho_solve(cho_factor(matrix), np.eye(len(matrix)))
    except (LinAlgError, ValueError):
        raise RuntimeError(
            "H must be positive definite; its smallest eigenvalue is "
            f"{np.linalg.eigvalsh(matrix)[0]:.3g}"
        ) from None
    return pd.DataFrame(inverse, matrix.index, matrix.columns)


def _jackknife(scores, weights, weight_map):
    """Pseudo-values of the mean weighted score, shape (n, d)."""
    n = len(weights)
    total = weights @ scores
    values = np.empty_like(scores)
    for i in range(n):
        kept = np.delete(np.arange(n), i)
        without = as_vector(
            weight_map(kept), "weight_map(...)", length=n - 1, low=0, high=1
        )
        values[i] = total - without @ scores[kept]
    return values
