"""Pseudo maximum likelihood, H, J, sandwich and Rényi divergence (P1, section 4)."""

import math
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
from pytensor.gradient import jacobian
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors, explicit_graph_inputs
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from pseudopost._checks import as_array, as_vector

COMPILED = WeakKeyDictionary()
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
    likelihood = _likelihood(model, name)
    weights, mass = likelihood.measure(weights, mass)
    theta = likelihood.start
    if start is not None:
        theta = as_vector(start, "start", length=len(theta))
    share = mass * weights / (mass @ weights)

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
        ended = dict(zip(likelihood.labels, theta.round(3).tolist(), strict=True))
        raise RuntimeError(
            f"no maximum of the weighted likelihood was found; the search ended at "
            f"{ended}"
        )
    return PseudoMLE(pd.Series(theta, likelihood.labels), likelihood.values(theta))


def information(model, theta, weights=None, *, mass=None, reweigh=None, name="y"):
    r"""H and J, by automatic differentiation.

    Parameters
    ----------
    model : Synthesizer or pm.Model
        As in :func:`pseudo_mle`.
    theta : array-like, shape (d,)
        Where, on the unconstrained scale: ``pseudo_mle(...).theta``.
    weights, mass : array-like, shape (n,), optional
        As in :func:`pseudo_mle`.
    reweigh : callable, optional
        How the weights were made from the file: takes the positions of n - 1 records
        and returns the weights that they would have as a file of their own, shape (n -
        1,). J then has the noise of the weights in it, by the jackknife; the weights
        must be a smooth function of the file, such as risks, not such as maxima.
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
    fixed, even if the file made them. With `reweigh`, J is the covariance of the
    pseudo-values :math:`n g - (n - 1) g_{(i)}`, where g is the mean weighted score and
    :math:`g_{(i)}` that of the file without record i.

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
    if mass is not None and reweigh is not None:
        raise ValueError("reweigh is for a file of records; leave out mass")
    likelihood = _likelihood(model, name)
    weights, mass = likelihood.measure(weights, mass)
    theta = as_vector(theta, "theta", length=len(likelihood.labels))
    labels = likelihood.labels
    H = -likelihood.curvature(theta, mass * weights)
    scores = likelihood.scores(theta, mass)
    if reweigh is None:
        scores = weights[:, None] * scores
        J = scores.T @ (mass[:, None] * scores)
    else:
        J = _jackknife(scores, weights, reweigh)
    return Information(
        pd.DataFrame((H + H.T) / 2, labels, labels), pd.DataFrame(J, labels, labels)
    )


def adjust_draws(model, fit, weights, *, reweigh=None, name="y"):
    r"""Rescale posterior draws so that their covariance is the sandwich.

    Credible intervals of the result cover :math:`\theta^*` as often as they promise, in
    large files, if J is right: where the file made the weights, only with `reweigh`.
    They do not cover the true parameter where weights move :math:`\theta^*` away.

    Parameters
    ----------
    model : Synthesizer or pm.Model
        As in :func:`pseudo_mle`.
    fit : xarray.DataTree
        Its posterior under `weights`.
    weights : array-like, shape (n,)
        Record weights in [0, 1], those of `fit`.
    reweigh : callable, optional
        As in :func:`information`; wanted wherever the file made the weights.
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
        If `fit` lacks a parameter or has too few draws, or an argument is out of range.
    RuntimeError
        If H is singular at the mean of the draws.

    Notes
    -----
    On the unconstrained scale, a draw :math:`\theta` becomes :math:`\bar\theta + L
    C^{-1} (\theta - \bar\theta)`, with the Cholesky factors C of the covariance of
    the draws and L of the sandwich.

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
    likelihood = _likelihood(model, name)
    draws = likelihood.unconstrained(fit)
    S, d = draws.shape
    if d >= S:
        raise ValueError(f"fit must have more draws than the {d} parameters; got {S}")
    centre = draws.mean(axis=0)
    sandwich = information(model, centre, weights, reweigh=reweigh, name=name).sandwich
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
        If shapes do not fit, a weight is outside [0, 1], or `mass` does not sum to 1.

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
    weights = as_vector(weights, "weights", low=0, high=1)
    log_ratio = as_array(log_ratio, "log_ratio")
    if log_ratio.ndim not in (1, 2) or log_ratio.shape[:-1] not in ((), weights.shape):
        raise ValueError(
            f"log_ratio must have shape (q,) or ({len(weights)}, q); got "
            f"{log_ratio.shape}"
        )
    mass = _as_mass(mass, log_ratio.shape[-1])
    return np.exp(weights[:, None] * log_ratio) @ mass


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
    weights = as_vector(weights, "weights", low=0, high=1)
    if (weights == 1).any():
        record = int(np.argmax(weights == 1))
        raise ValueError(f"weights must lie in [0, 1); record {record} has 1")
    return np.log(affinity(log_ratio, weights, mass=mass)) / (weights - 1)


class Coverage(NamedTuple):
    """What :func:`coverage` returns: the share of intervals that contain the truth.

    Attributes
    ----------
    estimate : float or ndarray, shape (p,)
        In [0, 1].
    standard_error : float or ndarray, shape (p,)
        Above 0 even where every interval covers, or none.

    References
    ----------
    Book: :ref:`covariance-coverage`.
    """

    estimate: float | np.ndarray
    standard_error: float | np.ndarray


def coverage(low, high, truth):
    r"""Estimate how often intervals contain the truth.

    Parameters
    ----------
    low, high : array-like, shape (R,) or (R, p)
        Ends of the closed intervals of R simulated files, for p parameters.
    truth : float or array-like, shape (p,)
        What they should contain: :math:`\theta^*`, or :math:`\theta_0`.

    Returns
    -------
    Coverage

    Raises
    ------
    ValueError
        If the shapes differ, an end is missing, or `low` exceeds `high`.

    Notes
    -----
    The standard error is the standard deviation of the Beta(k + 1/2, R - k + 1/2)
    distribution, with k the number of intervals that cover.

    References
    ----------
    P1, section 4.2, after Theorem 4.
    Book: :ref:`covariance-coverage`.

    Examples
    --------
    Two of three intervals contain 1.5:

    >>> import pseudopost as pp
    >>> result = pp.coverage([0, 1, 3], [2, 4, 5], truth=1.5)
    >>> print(*(round(float(value), 2) for value in result))
    0.67 0.22
    """
    low, high = as_array(low, "low"), as_array(high, "high")
    truth = as_array(truth, "truth")
    if low.ndim not in (1, 2) or low.size == 0 or high.shape != low.shape:
        raise ValueError(
            f"low and high must both have shape (R,) or (R, p); got {low.shape} and "
            f"{high.shape}"
        )
    if truth.shape not in ((), low.shape[1:]):
        raise ValueError(
            f"truth must have one value per parameter, shape {low.shape[1:]}; got "
            f"{truth.shape}"
        )
    for name, value in (("low", low), ("high", high), ("truth", truth)):
        if np.isnan(value).any():
            raise ValueError(f"{name} must not be missing")
    if (low > high).any():
        replicate = int(np.argwhere(low > high)[0][0])
        raise ValueError(f"low must not exceed high; it does in replicate {replicate}")
    R = len(low)
    k = ((low <= truth) & (truth <= high)).sum(axis=0)
    variance = (k + 0.5) * (R - k + 0.5) / ((R + 1) ** 2 * (R + 2))
    return Coverage(k / R, np.sqrt(variance))


class _Likelihood:
    """A weighted likelihood as compiled functions of the unconstrained parameters."""

    def __init__(self, model, name):
        self._weights = model[f"{name}_weights"]
        ones = {self._weights: pt.ones_like(self._weights)}
        rows = graph_replace([_differentiable(model[name])], ones, strict=False)
        (rows,) = model.replace_rvs_by_values(rows)
        inputs = set(explicit_graph_inputs([rows]))
        parts = [value for value in model.value_vars if value in inputs]
        point = model.initial_point()
        shapes = [np.shape(point[part.name]) for part in parts]
        self.start = np.concatenate([np.ravel(point[part.name]) for part in parts])
        self.labels = [
            part.name + (str(list(index)) if index else "")
            for part, shape in zip(parts, shapes, strict=True)
            for index in np.ndindex(shape)
        ]

        theta, mass = pt.dvector("theta"), pt.dvector("mass")
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        swaps = {
            part: theta[end - math.prod(shape) : end].reshape(shape)
            for part, shape, end in zip(parts, shapes, ends, strict=True)
        }
        (rows,) = graph_replace([rows], swaps, strict=False)
        value = pt.switch(mass > 0, mass * rows, 0.0).sum()
        score = pytensor.grad(value, theta)
        self.value = _function([theta, mass], value)
        self.score = _function([theta, mass], score)
        self.curvature = _function(
            [theta, mass], jacobian(score, theta, vectorize=True)
        )
        # The score is linear in the mass: its derivative has a column for each record.
        self.scores = _function([theta, mass], jacobian(score, mass, vectorize=True).T)

        named = [*model.free_RVs, *model.deterministics]
        graphs = model.replace_rvs_by_values(named)
        own = {
            variable.name: graph
            for variable, graph in zip(named, graphs, strict=True)
            if set(explicit_graph_inputs([graph])) <= set(parts)
        }
        self._names = list(own)
        self._values = _function(
            [theta], graph_replace(list(own.values()), swaps, strict=False)
        )
        self._free = [variable.name for variable in model.free_RVs]
        self._unconstrained = _function(
            model.free_RVs,
            pt.concatenate(
                [
                    _forward(model.rvs_to_transforms[rv], rv).ravel()
                    for rv in map(model.values_to_rvs.get, parts)
                ]
            ),
        )

    def measure(self, weights, mass):
        """Return both, checked; by default the weights in the model, and 1/n."""
        own = self._weights.get_value()
        weights = own if weights is None else weights
        weights = as_vector(weights, "weights", length=own.size, low=0, high=1)
        if not weights.any():
            raise ValueError("weights must not all be 0")
        return weights, _as_mass(mass, own.size)

    def values(self, theta):
        """Return parameters and deterministics by name, on their own scale."""
        return dict(zip(self._names, self._values(theta), strict=True))

    def unconstrained(self, fit):
        """Return the draws of the parameters, shape (S, d), chain after chain."""
        posterior = fit["posterior"].to_dataset()
        missing = [name for name in self._free if name not in posterior]
        if missing:
            raise ValueError(
                f"fit must hold every parameter of the model; it lacks {missing}"
            )
        draws = [
            posterior[name].transpose("chain", "draw", ...).to_numpy()
            for name in self._free
        ]
        rows = zip(*(d.reshape(-1, *d.shape[2:]) for d in draws), strict=True)
        return np.stack([self._unconstrained(*row) for row in rows])


def _likelihood(model, name):
    model = getattr(model, "model", None) or model
    if f"{name}_weights" not in getattr(model, "named_vars", ()):
        raise ValueError(
            f"model must have a weighted likelihood called {name!r}; got {model!r:.80}"
        )
    known = COMPILED.setdefault(model, {})
    if name not in known:
        known[name] = _Likelihood(model, name)
    return known[name]


def _differentiable(graph):
    """Swap operations that have first derivatives only for their plain form."""
    nodes = {
        v.owner
        for v in ancestors([graph])
        if hasattr(getattr(v.owner, "op", 0), "plain")
    }
    plain = {}
    for node in nodes:
        plain |= dict(zip(node.outputs, node.op.plain(*node.inputs), strict=False))
    return graph_replace([graph], plain, strict=False)[0]


def _forward(transform, rv):
    return rv if transform is None else transform.forward(rv, *rv.owner.inputs)


def _function(inputs, output):
    return pytensor.function(
        inputs, output, mode="FAST_COMPILE", on_unused_input="ignore"
    )


def _inverse(matrix):
    try:
        inverse = cho_solve(cho_factor(matrix), np.eye(len(matrix)))
    except (LinAlgError, ValueError):
        raise RuntimeError(
            "H must be positive definite; its smallest eigenvalue is "
            f"{np.linalg.eigvalsh(matrix)[0]:.3g}"
        ) from None
    return pd.DataFrame(inverse, matrix.index, matrix.columns)


def _jackknife(scores, weights, reweigh):
    n = len(weights)
    total = weights @ scores
    values = np.empty_like(scores)
    for i in range(n):
        kept = np.delete(np.arange(n), i)
        without = as_vector(reweigh(kept), "reweigh(...)", length=n - 1, low=0, high=1)
        values[i] = total - without @ scores[kept]
    return np.atleast_2d(np.cov(values, rowvar=False, bias=True))


def _as_mass(mass, length):
    if mass is None:
        return np.full(length, 1 / length)
    mass = as_vector(mass, "mass", length=length, low=0, high=1)
    if not np.isclose(mass.sum(), 1, rtol=0, atol=1e-6):
        raise ValueError(f"mass must sum to 1; it sums to {mass.sum():g}")
    return mass
