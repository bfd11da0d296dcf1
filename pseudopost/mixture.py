"""The mixture of regressions of P1 and P2, and what makes it quick to sample."""

import math
import zlib
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numba
import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key
from scipy.special import logsumexp, ndtr

from pseudopost._checks import as_array, as_count, as_number, as_vector
from pseudopost.likelihood import weighted_likelihood
from pseudopost.synthesizers import Synthesizer

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
# Of the exponential, the highest power first.
TAYLOR = tuple(1 / math.factorial(j) for j in range(12, -1, -1))
# Components that sampling starts from; the others start empty.
OCCUPIED = 4
# Log of the smallest share of its starting variance that moves the intercept.
FLOOR = -4.0
ALLOCATIONS = ("density", "weighted")


class MixtureSynthesizer(Synthesizer):
    r"""Mixture of normal regressions for the logarithm of a skewed variable.

    .. math::

        \log y_i \mid z_i = k &\sim \mathrm{Normal}(x_i' \beta_k, \sigma_k), \quad
        z_i \mid \pi \sim \mathrm{Categorical}(\pi) \\
        \pi \mid \gamma &\sim \mathrm{Dirichlet}(\gamma / K, \dots, \gamma / K), \quad
        \gamma \sim \mathrm{Gamma}(1, 1) \\
        \beta_k &\sim \mathrm{Normal}_R(0, \mathrm{diag}(s)\, \Omega\,
        \mathrm{diag}(s)) \\
        \Omega &\sim \mathrm{LKJ}(1), \quad s_r \sim \text{half-}t(3, 0, 1) \\
        \sigma_k - \sigma_{\min} &\sim \text{half-}t(3, 0, 1)

    with z summed out; where K > R, :math:`\Omega \sim \mathrm{LKJ}(1 + (K - R) / 2)`.
    The papers have no floor :math:`\sigma_{\min}`. Without one their posterior is
    improper on rounded or top-coded values: a component can fit R equal values exactly,
    and its density grows without limit as its sigma goes to 0.

    The order of the components means nothing and may change within a chain, so
    convergence is judged on what does not depend on it: the log-likelihoods of ten
    records, and the mean and the distribution function of the data (group
    ``label_invariant`` of a fit). The chains start from the same weighted maximum
    likelihood fit; they can agree and still miss another split into components.

    Parameters
    ----------
    y : array-like, shape (n,)
        Confidential values on the released scale, above ``-shift``.
    X : DataFrame or array-like, shape (n, columns)
        Predictors, released as they are. Of a data frame, columns that are not numbers
        become indicators of their levels; the first level is the baseline. An intercept
        is added.
    n_components : int
        K, the largest number of components; unneeded ones stay empty.
    min_sigma : float
        :math:`\sigma_{\min}`, above 0: with 0.05 a component is never narrower than
        about 5% of a value.
    shift : float
        Added to `y` before its logarithm is taken, and subtracted from synthetic
        values. Values of 0 or less need one. It also helps where a few values are tiny:
        their logarithms are far out, and chains take long to settle on them.

    Attributes
    ----------
    predictors : list of str
        Names of the R coefficients, the intercept first.
    baselines : dict
        Baseline level of each categorical column.

    Raises
    ------
    ValueError
        If a value of `y` is missing or not above ``-shift``; if `X` has missing values,
        another length than `y`, a constant column, a level that does not occur, or more
        coefficients than records; or if a number is out of range.

    References
    ----------
    P1, Eqs 1-6; P2, Eqs 1-6.
    Book: :ref:`mixture-synthesizer`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> people = pp.datasets.consumer_expenditure()
    >>> synthesizer = pp.MixtureSynthesizer(
    ...     people["income"], people[["gender", "earner"]], shift=8000
    ... )
    >>> synthesizer.predictors
    ['intercept', 'gender=Female', 'earner=Not an earner']
    >>> synthesizer.baselines
    {'gender': 'Male', 'earner': 'Earner'}
    """

    _kept = ("gamma", "pi", "beta", "sigma", "s")
    _judged = "label_invariant"
    _settings = MappingProxyType({"target_accept": 0.9, "maxdepth": 8})

    def __init__(self, y, X, n_components=20, min_sigma=0.05, shift=0.0):
        self.y = as_vector(y, "y")
        self.shift = as_number(shift, "shift")
        self.K = as_count(n_components, "n_components")
        self.min_sigma = as_number(min_sigma, "min_sigma", low=0, open_low=True)
        low = int(np.argmin(self.y))
        if self.y[low] + self.shift <= 0:
            raise ValueError(
                f"y + shift must be above 0; record {low} has {self.y[low]:g} + "
                f"{self.shift:g}: choose a shift above {abs(self.y[low]):g}"
            )
        self.X, self.predictors, self.baselines = design_matrix(X, len(self.y))
        self.log_y = np.log(self.y + self.shift)

    def _build(self):
        n, R = self.X.shape
        K = self.K
        D = max(R, K) + 1
        coords = {
            "record": np.arange(n),
            "component": np.arange(K),
            "predictor": self.predictors,
        }
        with pm.Model(coords=coords) as model:
            start = {
                name: pm.Data(name, np.zeros(shape), shape=shape)
                for name, shape in self._start_shapes.items()
            }
            total = pm.Data("start_total", 1.0)
            log_y = pm.Data("log_y", self.log_y, shape=(n,))
            X = pm.Data("X", self.X, shape=(n, R))

            # Eqs 3 and 4, by expected counts. Their sum means nothing; with a
            # Gamma(total, 1) prior on it they hardly depend on each other.
            gamma = pm.Gamma("gamma", 1, 1)
            a = gamma / K
            log_count, jacobian = log_count_of(
                start["start_share"] + pm.Flat("x", shape=K), a
            )
            log_sum = pt.logsumexp(log_count)
            log_pi = log_count - log_sum
            pm.Potential(
                "pi_prior",
                (a * log_pi + jacobian).sum()
                + pt.gammaln(gamma)
                - K * pt.gammaln(a)
                + total * log_sum
                - pt.exp(log_sum),
            )
            pm.Deterministic("pi", pt.exp(log_pi), dims="component")

            # Eq 6. A component of many records starts at its own estimate.
            count = total * pt.exp(log_pi)
            precision = 1 + 2 * count
            z = pm.Flat("z", shape=K)
            log_excess = (2 * count * start["start_log_sigma"]) / precision + (
                z + start["start_z"]
            ) / pt.sqrt(precision)
            excess = pt.exp(log_excess)
            sigma = pm.Deterministic("sigma", self.min_sigma + excess, dims="component")
            pm.Potential(
                "sigma_prior",
                (log_half_t(excess) + log_excess - 0.5 * pt.log(precision)).sum(),
            )

            # Eq 5, with the correlation matrix integrated out.
            T, chi = triangular_factor(
                pm.Flat("log_d", shape=K),
                pm.Normal("o", 0, 1, shape=K * (K - 1) // 2),
                K,
                D,
            )
            log_t = start["start_log_t"] + pm.Flat("log_t", shape=R)
            beta, jacobian = coefficients(
                start["start_xi"] + pm.Flat("xi", shape=(K, R)),
                pt.log(count) - 2 * pt.log(sigma),
                start["start_design"],
                start["start_pull"],
                log_t,
                # The intercept is far from 0, however much of its scale T accounts for.
                log_t[0].set(
                    pt.logaddexp(2 * log_t[0], 2 * start["start_log_t"][0] + FLOOR) / 2
                ),
                T,
                K,
            )
            pm.Deterministic("beta", beta, dims=("component", "predictor"))
            rows, s = log_prior_of_coefficients(beta, log_t, T, D)
            pm.Deterministic("s", s, dims="predictor")
            pm.Potential("beta_prior", chi + rows + jacobian)

            mean = pt.dot(beta, X.T)
            weighted_likelihood(
                "y",
                mixture_log_density(log_y, mean, log_pi, pt.log(sigma)),
                np.ones(n),
                dims="record",
            )
        return model

    @property
    def _start_shapes(self):
        K, R = self.K, self.X.shape[1]
        return {
            "start_share": (K,),
            "start_log_sigma": (K,),
            "start_z": (K,),
            "start_log_t": (R,),
            "start_xi": (K, R),
            "start_design": (K, R, R),
            "start_pull": (K, R),
        }

    def _data(self, weights):
        return super()._data(weights) | start_of_sampling(
            self.log_y, self.X, weights, self.K, self.min_sigma
        )

    def _complete(self, fit):
        posterior = fit["posterior"].to_dataset()
        fit["label_invariant"] = xr.Dataset(
            {
                name: (("chain", "draw", name + "_at"), values)
                for name, values in self._label_invariant(posterior).items()
            }
        )
        return fit

    def _label_invariant(self, posterior):
        """Compute what does not depend on the order of the components."""
        n = len(self.log_y)
        ranks = np.array([0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1])
        order = np.argsort(self.log_y, kind="stable")
        extremes = order[np.round(ranks * (n - 1)).astype(int)]
        spaced = order[np.linspace(0, n - 1, min(n, 60)).astype(int)]
        pi, beta, sigma = (
            posterior[name].transpose("chain", "draw", "component", ...).to_numpy()
            for name in ("pi", "beta", "sigma")
        )
        with np.errstate(divide="ignore"):
            log_pi = np.log(pi)[..., None, :]
        sigma = sigma[..., None, :]

        def residuals(y, rows):
            return (y - np.einsum("ir,cskr->csik", self.X[rows], beta)) / sigma

        density = log_pi - np.log(sigma) - HALF_LOG_2PI
        points = np.quantile(self.log_y, [0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
        return {
            "log_likelihood": logsumexp(
                density - 0.5 * residuals(self.log_y[extremes, None], extremes) ** 2,
                axis=-1,
            ),
            "mean": np.einsum("csk,ir,cskr->cs", pi, self.X[spaced], beta)[..., None]
            / len(spaced),
            "distribution": np.stack(
                [
                    (np.exp(log_pi) * ndtr(residuals(point, spaced))).sum(-1).mean(-1)
                    for point in points
                ],
                axis=-1,
            ),
        }

    def log_likelihood(self, fit):
        """Unweighted log-likelihood of every record under every draw of `fit`.

        Parameters
        ----------
        fit : xarray.DataTree
            From :meth:`Synthesizer.fit`.

        Returns
        -------
        xarray.DataArray, shape (S, n)
            Of the logarithm of the shifted value. S is draws times chains.

        Raises
        ------
        ValueError
            If `fit` comes from another model or other data.

        References
        ----------
        Book: :ref:`mixture-synthesizer`.
        """
        self._check_fit(fit)
        posterior = fit["posterior"].to_dataset()
        draws = posterior.stack(sample=("chain", "draw"))  # noqa: PD013
        pi, beta, sigma = (
            draws[name].transpose("sample", "component", ...).to_numpy()
            for name in ("pi", "beta", "sigma")
        )
        with np.errstate(divide="ignore"):
            log_pi = np.log(pi)
        rows = [
            normal_mixture(self.log_y, b @ self.X.T, p, np.log(s))[0]
            for p, b, s in zip(log_pi, beta, sigma, strict=True)
        ]
        attrs = {key: fit.attrs[key] for key in ("not_converged",) if key in fit.attrs}
        return xr.DataArray(np.stack(rows), dims=("sample", "record"), attrs=attrs)

    def synthesize(self, fit, n_datasets=20, random_seed=1, allocation="density"):
        r"""Draw synthetic data sets, each from another, evenly spaced posterior draw.

        For each record a component is drawn given its confidential value, and then a
        new value from that component.

        Parameters
        ----------
        fit : xarray.DataTree
            From :meth:`Synthesizer.fit`.
        n_datasets : int
            m, at most the number of draws.
        random_seed : int
            Non-negative seed.
        allocation : {"density", "weighted"}
            Probability of component k: proportional to :math:`\pi_k \phi_k(y_i)`, as
            printed, or to :math:`\pi_k \phi_k(y_i)^{\alpha_i}`, so that a record with
            a low weight is placed by the mixture rather than by its own value. The
            papers do not say which is meant under weights.

        Returns
        -------
        ndarray, shape (m, n)
            On the released scale.

        Raises
        ------
        ValueError
            As in :meth:`Synthesizer.synthesize`, or if `allocation` is another.

        References
        ----------
        P1, Eq 7; P2, Eq 7.
        Book: :ref:`mixture-draw`.
        """
        if allocation not in ALLOCATIONS:
            raise ValueError(
                f"allocation must be one of {ALLOCATIONS}; got {allocation!r}"
            )
        weights = fit["constant_data"]["weights"].to_numpy()
        power = weights if allocation == "weighted" else np.ones_like(weights)
        return super().synthesize(fit, n_datasets, random_seed, power=power)

    def _draw(self, parameters, rng, power):
        mean = self.X @ parameters["beta"].T
        sigma = parameters["sigma"]
        log_density = -0.5 * ((self.log_y[:, None] - mean) / sigma) ** 2 - np.log(sigma)
        with np.errstate(divide="ignore"):
            score = np.log(parameters["pi"]) + power[:, None] * log_density
        # The largest of the scores plus Gumbel noise is a draw from their softmax.
        k = np.argmax(score + rng.gumbel(size=score.shape), axis=1)
        log_value = rng.normal(mean[np.arange(len(k)), k], sigma[k])
        return np.exp(log_value) - self.shift


def design_matrix(X, n):
    """Intercept, numeric columns as they are, and indicators of other columns' levels.

    Parameters
    ----------
    X : DataFrame or array-like, shape (n, columns)
    n : int
        Number of records wanted.

    Returns
    -------
    X : ndarray, shape (n, R)
    predictors : list of str
    baselines : dict
        Baseline level by categorical column.

    Raises
    ------
    ValueError
        As in :class:`MixtureSynthesizer`.
    """
    if not isinstance(X, pd.DataFrame):
        X = as_array(X, "X")
        if X.ndim != 2:
            raise ValueError(f"X must have shape ({n}, columns); got {X.shape}")
        X = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    if len(X) != n:
        raise ValueError(f"X must have {n} rows, as y has; got {len(X)}")
    columns, baselines = {"intercept": np.ones(n)}, {}

    def add(name, values):
        if name in columns:
            raise ValueError(f"X must give distinct names; {name!r} is there twice")
        if np.ptp(values) == 0:
            raise ValueError(f"X must vary; column {name!r} is constant")
        columns[name] = values

    for name, column in X.items():
        missing = column.isna().to_numpy()
        if missing.any():
            raise ValueError(
                f"X must not be missing; record {np.argmax(missing)} of {name!r} is"
            )
        if is_numeric_dtype(column) and not is_bool_dtype(column):
            add(str(name), as_vector(column, f"X[{name!r}]"))
            continue
        column = column.astype("category")
        counts = column.value_counts()
        if (counts == 0).any():
            raise ValueError(
                f"X must hold every level of its columns; {counts.idxmin()!r} of "
                f"{name!r} does not occur"
            )
        baselines[name], *others = column.cat.categories
        for level in others:
            add(f"{name}={level}", (column == level).to_numpy(float))
        if not others:
            add(str(name), np.ones(n))
    if len(columns) > n:
        raise ValueError(
            f"X must have no more coefficients than records; got {len(columns)} for {n}"
        )
    return np.column_stack(list(columns.values())), list(columns), baselines


def log_count_of(x, a):
    """Map the real line to the log of expected counts, so that x has unit scale.

    A count v far above 1 has a posterior standard deviation near its root, so v is
    quadratic in x; near 1 it is exponential; and far below, where only the prior of
    shape `a` is left, log v moves 1 / a times as fast as x.

    Parameters
    ----------
    x : TensorVariable
    a : TensorVariable
        Shape of the Dirichlet prior.

    Returns
    -------
    log_count, log_jacobian : TensorVariable
    """
    tail = -x - 2
    bent = x - (1 / a - 1) * pt.softplus(tail)
    # The softplus and its logarithm would underflow far below 0, where they are linear.
    half = pt.maximum(bent, -60) / 2
    log_root = pt.switch(bent < -60, bent / 2, pt.log(pt.softplus(half)))
    jacobian = pt.log1p((1 / a - 1) * pt.sigmoid(tail)) - pt.softplus(-half)
    return 2 * log_root, jacobian + pt.minimum(bent + 60, 0) / 2 - log_root


def log_half_t(value):
    """Log density of the half-t(3, 0, 1), bar a constant."""
    return -2 * pt.log1p(value**2 / 3)


def triangular_factor(log_d, o, K, D):
    r"""Draw what is left of the correlations of the coefficients.

    A matrix :math:`\Omega \sim \mathrm{LKJ}(1)` is :math:`U U'` with R rows drawn
    uniformly on the sphere in :math:`D = R + 1` dimensions; D must be above K, and a
    larger D gives :math:`\mathrm{LKJ}((D - R + 1) / 2)`. So the :math:`R \times K`
    matrix of coefficients is :math:`\mathrm{diag}(s) U W` with standard normal W. Split
    W into orthonormal columns times a triangular K by K matrix T: row r becomes
    :math:`s_r v_r T`, with :math:`v_r` the first K coordinates of a uniform point on
    the sphere, and :math:`T'T \sim \mathrm{Wishart}(D, I)`.

    Parameters
    ----------
    log_d : TensorVariable, shape (K,)
        Log of the diagonal over its typical size, in standard deviations.
    o : TensorVariable, shape (K (K - 1) / 2,)
        Standard normal: the elements above the diagonal.
    K, D : int

    Returns
    -------
    T : TensorVariable, shape (K, K)
        Divided by the root of D.
    log_prior : TensorVariable
        Of `log_d`, bar a constant.
    """
    degrees = D - np.arange(K)
    log_diagonal = log_d / np.sqrt(2 * degrees) + 0.5 * np.log(degrees)
    T = pt.diag(pt.exp(log_diagonal))[np.triu_indices(K, 1)].set(o) / np.sqrt(D)
    return T, (degrees * log_diagonal - 0.5 * pt.exp(2 * log_diagonal)).sum()


def coefficients(
    xi, log_information, design, pull, log_t, log_scale, T, K, first=OCCUPIED
):
    r"""Move coefficients from where they have unit scale to where the model needs them.

    A component of many records is known to its standard errors, an empty one only to
    its prior. With :math:`P_k = \lambda_k M_k + \mathrm{diag}(t)^{-2} = L_k L_k'` the
    map :math:`\beta_k = P_k^{-1} \lambda_k M_k b_k + L_k'^{-1} \xi_k` follows it from
    one to the other as its information :math:`\lambda_k` grows. The components that
    start occupied come first; the others have the prior that T gives them then.

    Parameters
    ----------
    xi : TensorVariable, shape (K, R)
    log_information : TensorVariable, shape (K,)
        Log of :math:`\lambda_k`, expected count over variance.
    design : TensorVariable, shape (K, R, R)
        :math:`M_k`, mean outer product of the component's predictors.
    pull : TensorVariable, shape (K, R)
        :math:`M_k b_k`, with its estimated coefficients :math:`b_k`.
    log_t : TensorVariable, shape (R,)
        Log of the prior scales.
    log_scale : TensorVariable, shape (R,)
        What takes their place in :math:`P_k` for the components that start occupied.
    T : TensorVariable, shape (K, K)
        From :func:`triangular_factor`.
    K : int
    first : int
        Number of components that start occupied.

    Returns
    -------
    beta : TensorVariable, shape (K, R)
    log_jacobian : TensorVariable
    """
    prior = pt.exp(-2 * pt.where(np.arange(K)[:, None] < first, log_scale, log_t))
    push = pt.exp(log_information)[:, None] * pull
    given = (log_information, design, prior)
    move = PrecisionMap()
    beta, log_jacobian, _ = move(xi[:first], push[:first], *(v[:first] for v in given))
    log_jacobian = log_jacobian.sum()
    if first < K:
        g = pt.linalg.solve_triangular(T[:first, :first].T, beta, lower=True)
        prior_mean = pt.dot(T[:first, first:].T, g) * pt.exp(-2 * log_t)
        rest = T[first:, first:]
        others, jacobian_of_others, _ = move(
            pt.dot(rest.T, xi[first:]),
            push[first:] + prior_mean,
            *(v[first:] for v in given),
        )
        beta = pt.concatenate([beta, others])
        log_jacobian += jacobian_of_others.sum()
        log_jacobian += log_t.shape[0] * pt.log(pt.diagonal(rest)).sum()
    return beta, log_jacobian


def log_prior_of_coefficients(beta, log_t, T, D):
    r"""Log prior of the coefficients and of their scales, given T.

    Parameters
    ----------
    beta : TensorVariable, shape (K, R)
    log_t : TensorVariable, shape (R,)
        Log of :math:`t_r = s_r \sqrt{1 - |v_r|^2}`.
    T : TensorVariable, shape (K, K)
        From :func:`triangular_factor`.
    D : int

    Returns
    -------
    log_prior : TensorVariable
        Bar a constant.
    s : TensorVariable, shape (R,)
        Prior scales :math:`s_r`.
    """
    K, R = beta.shape
    g = pt.linalg.solve_triangular(T.T, beta, lower=True) * pt.exp(-log_t)
    q = 1 + (g**2).sum(axis=0) / D
    s = pt.exp(log_t) * pt.sqrt(q)
    rows = -0.5 * (D - 1) * pt.log(q) + log_half_t(s) + (1 - K) * log_t
    return rows.sum() - R * pt.log(pt.diagonal(T)).sum(), s


def plain_mixture_log_density(y, mean, log_pi, log_sigma):
    """Log density of each value under a normal mixture, as one would write it.

    Parameters
    ----------
    y : array-like, shape (n,)
    mean : TensorVariable, shape (K, n)
    log_pi, log_sigma : TensorVariable, shape (K,)

    Returns
    -------
    TensorVariable, shape (n,)
    """
    logp = pm.logp(pm.Normal.dist(mean, pt.exp(log_sigma)[:, None]), pt.as_tensor(y))
    return pt.logsumexp(log_pi[:, None] + logp, axis=0)


def mixture_log_density(y, mean, log_pi, log_sigma):
    """Compute :func:`plain_mixture_log_density` in compiled loops over the records.

    Parameters
    ----------
    y : array-like, shape (n,)
    mean : TensorVariable, shape (K, n)
    log_pi, log_sigma : TensorVariable, shape (K,)

    Returns
    -------
    TensorVariable, shape (n,)
    """
    return NormalMixture()(pt.as_tensor(y), mean, log_pi, log_sigma)[0]


def plain_precision_map(noise, push, log_information, design, prior):
    r"""Map noise to :math:`P^{-1} push + L'^{-1} noise`, for k matrices P = L L'.

    Parameters
    ----------
    noise, push : TensorVariable, shape (k, R)
    log_information : TensorVariable, shape (k,)
    design : TensorVariable, shape (k, R, R)
    prior : TensorVariable, shape (k, R)
        :math:`P = \exp(log\_information)\, design + \mathrm{diag}(prior)`.

    Returns
    -------
    beta : TensorVariable, shape (k, R)
    log_jacobian : TensorVariable, shape (k,)
        Of the map, :math:`-\log |L|`.
    """
    information = pt.exp(log_information)[:, None, None]
    root = pt.linalg.cholesky(
        information * design + prior[:, :, None] * pt.eye(prior.shape[1])
    )
    centred = pt.linalg.solve_triangular(root, push[..., None], lower=True)
    beta = pt.linalg.solve_triangular(
        pt.swapaxes(root, 1, 2), centred + noise[..., None], lower=False
    )[..., 0]
    return beta, -pt.log(pt.diagonal(root, axis1=1, axis2=2)).sum(axis=1)


compiled = partial(
    numba.njit, error_model="numpy", fastmath={"contract", "nsz", "reassoc", "arcp"}
)


@compiled(inline="always")
def exp_of_negative(x):
    """Exponential of a number of 0 or less, written so that it is vectorised.

    Below -40 it is 0: in a sum with exp(0) the term is lost in rounding.
    """
    value = 0.0
    for coefficient in TAYLOR:
        value = value * (x / 128) + coefficient
    for _ in range(7):
        value *= value
    return 0.0 if x < -40.0 else value


@compiled()
def normal_mixture(y, mean, log_pi, log_sigma):
    """Log density of each value, shape (n,), and its share per component, (K, n)."""
    K, n = mean.shape
    share, largest, total = np.empty((K, n)), np.full(n, -np.inf), np.zeros(n)
    constant = log_pi - log_sigma - HALF_LOG_2PI
    inverse = np.exp(-log_sigma)
    for k in range(K):
        for i in range(n):
            z = (y[i] - mean[k, i]) * inverse[k]
            share[k, i] = constant[k] - 0.5 * z * z
            largest[i] = max(largest[i], share[k, i])
    for k in range(K):
        for i in range(n):
            share[k, i] = exp_of_negative(share[k, i] - largest[i])
            total[i] += share[k, i]
    share /= total
    return largest + np.log(total), share


@compiled()
def normal_mixture_pullback(g, y, mean, log_sigma, share):
    """Gradients of sum_i g_i logp_i in the means, the log shares and the log sigmas."""
    K, n = mean.shape
    by_mean, by_pi, by_sigma = np.empty((K, n)), np.empty(K), np.empty(K)
    inverse = np.exp(-log_sigma)
    for k in range(K):
        total, squares = 0.0, 0.0
        for i in range(n):
            weight = g[i] * share[k, i]
            z = (y[i] - mean[k, i]) * inverse[k]
            by_mean[k, i] = weight * z * inverse[k]
            total += weight
            squares += weight * z * z
        by_pi[k], by_sigma[k] = total, squares - total
    return by_mean, by_pi, by_sigma


@compiled()
def precision_map(noise, push, log_information, design, prior):
    """Compute :func:`plain_precision_map`, and the inverse of each root, (k, R, R)."""
    K, R = noise.shape
    beta, log_jacobian = np.empty((K, R)), np.zeros(K)
    inverse, push = np.zeros((K, R, R)), np.ascontiguousarray(push)
    for k in range(K):
        P = np.exp(log_information[k]) * design[k]
        for i in range(R):
            P[i, i] += prior[k, i]
            inverse[k, i, i] = 1
        # Gaussian elimination of P and the identity: P becomes L', the identity 1 / L.
        for j in range(R):
            pivot = np.sqrt(P[j, j])
            log_jacobian[k] -= np.log(pivot)
            right, left = P[j], inverse[k, j]
            for c in range(j, R):
                right[c] /= pivot
            for c in range(j + 1):
                left[c] /= pivot
            for i in range(j + 1, R):
                factor, right_i, left_i = right[i], P[i], inverse[k, i]
                for c in range(i, R):
                    right_i[c] -= factor * right[c]
                for c in range(j + 1):
                    left_i[c] -= factor * left[c]
        beta[k] = inverse[k].T @ (inverse[k] @ push[k] + noise[k])
    return beta, log_jacobian, inverse


@compiled()
def precision_map_pullback(by_beta, by_jacobian, noise, push, prior, inverse):
    r"""Gradients in the noise, the push, the log information and the prior.

    With :math:`A` the lower triangle of :math:`L' \bar L`, its diagonal halved, the
    gradient in P is :math:`L'^{-1} A L^{-1}`. Its diagonal is the gradient in the
    prior; its product with :math:`\lambda M = P - \mathrm{diag}(prior)`, the gradient
    in :math:`\log \lambda`, needs no more than that, and the trace of A.
    """
    K, R = noise.shape
    by_noise, by_push, by_prior = np.empty((3, K, R))
    by_information = np.zeros(K)
    by_beta, push = np.ascontiguousarray(by_beta), np.ascontiguousarray(push)
    inverse = np.ascontiguousarray(inverse)
    for k in range(K):
        u, c = inverse[k] @ by_beta[k], inverse[k] @ push[k]
        w = c + noise[k]
        u_below, c_below, total = np.zeros(R), np.zeros(R), np.zeros(R)
        for i in range(R):
            row = inverse[k, i]
            diagonal = -0.5 * (by_jacobian[k] + u[i] * (w[i] + c[i]))
            total += row * (diagonal * row - w[i] * u_below - u[i] * c_below)
            u_below += u[i] * row
            c_below += c[i] * row
            by_information[k] += diagonal
        by_noise[k], by_push[k], by_prior[k] = u, u_below, total
        by_information[k] -= np.sum(prior[k] * total)
    return by_noise, by_push, by_information, by_prior


class CompiledOp(Op):
    """PyTensor's wrapper around a function that Numba compiles."""

    __props__ = ()

    def make_node(self, *inputs):
        """Declare the outputs."""
        inputs = [pt.as_tensor(value) for value in inputs]
        return Apply(self, inputs, [kind() for kind in self.outputs(*inputs)])

    def perform(self, node, inputs, outputs):
        """Run without compilation."""
        for output, value in zip(outputs, self.function(*inputs), strict=True):
            output[0] = value


class NormalMixture(CompiledOp):
    """Wrap :func:`normal_mixture`."""

    function = staticmethod(normal_mixture)

    def outputs(self, y, mean, *_):
        """Types of the log density and the shares."""
        return y.type, mean.type

    def plain(self, *inputs):
        """Write the outputs in a form that has second derivatives."""
        return [plain_mixture_log_density(*inputs)]

    def pullback(self, inputs, outputs, gradients):
        """Declare the gradients."""
        y, mean, _, log_sigma = inputs
        gradients = NormalMixturePullback()(
            gradients[0], y, mean, log_sigma, outputs[1]
        )
        return [pt.zeros_like(y), *gradients]


class NormalMixturePullback(CompiledOp):
    """Wrap :func:`normal_mixture_pullback`."""

    function = staticmethod(normal_mixture_pullback)

    def outputs(self, g, y, mean, log_sigma, share):
        """Types of the gradients."""
        return mean.type, log_sigma.type, log_sigma.type


class PrecisionMap(CompiledOp):
    """Wrap :func:`precision_map`."""

    function = staticmethod(precision_map)

    def outputs(self, noise, push, log_information, design, prior):
        """Types of the coefficients, their log Jacobians and the inverse roots."""
        return noise.type, log_information.type, design.type

    def plain(self, *inputs):
        """Write the outputs in a form that has second derivatives."""
        return plain_precision_map(*inputs)

    def pullback(self, inputs, outputs, gradients):
        """Declare the gradients."""
        noise, push, _, design, prior = inputs
        by_noise, by_push, by_information, by_prior = PrecisionMapPullback()(
            *gradients[:2], noise, push, prior, outputs[2]
        )
        return [by_noise, by_push, by_information, pt.zeros_like(design), by_prior]


class PrecisionMapPullback(CompiledOp):
    """Wrap :func:`precision_map_pullback`."""

    function = staticmethod(precision_map_pullback)

    def outputs(self, by_beta, by_jacobian, noise, push, prior, inverse):
        """Types of the gradients."""
        return noise.type, push.type, by_jacobian.type, prior.type


# PyTensor keeps compiled code on disk, and would use it after a change of this file.
STAMP = zlib.crc32(Path(__file__).read_bytes())


@register_funcify_default_op_cache_key(CompiledOp)
def _compile(op, **kwargs):
    return op.function, STAMP


def start_of_sampling(log_y, X, weights, K, min_sigma, starts=3, seed=0):
    """Where the chains start: the best of several weighted maximum likelihood fits.

    Parameters
    ----------
    log_y : ndarray, shape (n,)
    X : ndarray, shape (n, R)
    weights : ndarray, shape (n,)
    K : int
    min_sigma : float
    starts : int
        Number of fits with random starts.
    seed : int
        Seed of the starts: the same for all fits, so that only the data matter.

    Returns
    -------
    dict of ndarray
        Values of the model's ``start_...`` data.
    """
    R = X.shape[1]
    total = max(weights.sum(), 1.0)
    fits = [
        expectation_maximization(
            log_y, X, weights, min(K, OCCUPIED), min_sigma, seed + j
        )
        for j in range(starts)
    ]
    _, pi, beta, sigma, design = max(fits, key=lambda fit: fit[0])
    occupied, empty = len(pi), K - len(pi)
    # Empty components start from one regression for all records.
    _, _, beta_1, sigma_1, design_1 = expectation_maximization(
        log_y, X, weights, 1, min_sigma, seed
    )
    pi = np.concatenate([pi, np.full(empty, 0.002 / max(empty, 1))])
    beta = np.concatenate([beta, np.repeat(beta_1, empty, axis=0)])
    sigma = np.concatenate([sigma, np.repeat(sigma_1, empty)])
    design = np.concatenate([design, np.repeat(design_1, empty, axis=0)])
    pi /= pi.sum()
    t = np.clip(np.sqrt((beta[:occupied] ** 2).mean(axis=0)), 0.05, None)
    pull = np.einsum("krs,ks->kr", design, beta)
    xi = np.zeros((K, R))
    prior = t**-2
    prior[0] /= 1 + math.exp(FLOOR)
    for k in range(occupied):
        information = total * pi[k] / sigma[k] ** 2
        precision = information * design[k] + np.diag(prior)
        centre = np.linalg.solve(precision, information * pull[k])
        xi[k] = np.linalg.cholesky(precision).T @ (beta[k] - centre)
    root = np.sqrt(total * pi)
    log_sigma = np.log(sigma - min_sigma)
    return {
        "start_total": total,
        # Inverse of log_count_of, for counts above those where its tail begins.
        "start_share": np.maximum(2 * (root + np.log(-np.expm1(-root))), -1),
        "start_log_sigma": log_sigma,
        "start_z": log_sigma / np.sqrt(1 + 2 * total * pi),
        "start_log_t": np.log(t),
        "start_xi": xi,
        "start_design": design,
        "start_pull": pull,
    }


def expectation_maximization(
    log_y, X, weights, K, min_sigma, seed, max_steps=100, tolerance=1e-6
):
    """Penalised weighted maximum likelihood of a mixture of regressions.

    Parameters
    ----------
    log_y : ndarray, shape (n,)
    X : ndarray, shape (n, R)
    weights : ndarray, shape (n,)
    K : int
    min_sigma : float
    seed : int
    max_steps : int
    tolerance : float
        Relative change of the objective at which to stop.

    Returns
    -------
    objective : float
    pi : ndarray, shape (K,)
    beta : ndarray, shape (K, R)
    sigma : ndarray, shape (K,)
    design : ndarray, shape (K, R, R)
        Mean outer product of each component's predictors.
    """
    n, R = X.shape
    rng = np.random.default_rng(seed)
    # A weak prior: standard deviation .5 for the coefficients, 10 for the intercept.
    ridge = np.diag(np.r_[0.01, np.full(R - 1, 4.0)])
    residual = log_y - X @ np.linalg.lstsq(X, log_y)[0]
    share = np.full((K, n), 0.3 / K)
    share[(residual.argsort().argsort() * K) // n, np.arange(n)] += 0.7
    share *= rng.gamma(2, size=share.shape)
    share /= share.sum(axis=0)
    sigma, objective = np.full(K, residual.std() + min_sigma), -np.inf
    for _ in range(max_steps):
        weight = weights * share
        count = weight.sum(axis=1) + 1e-6
        pi = count / count.sum()
        gram = np.stack([(X * row[:, None]).T @ X for row in weight])
        beta = np.stack(
            [
                np.linalg.solve(gram[k] + ridge * sigma[k] ** 2, X.T @ (row * log_y))
                for k, row in enumerate(weight)
            ]
        )
        mean = beta @ X.T
        squares = (log_y - mean) ** 2
        sigma = np.sqrt(((weight * squares).sum(axis=1) + 0.1) / (count + 1))
        sigma = np.maximum(sigma, 1.2 * min_sigma)
        logp, share = normal_mixture(log_y, mean, np.log(pi), np.log(sigma))
        last, objective = (
            objective,
            weights @ logp - 0.5 * np.sum((beta @ ridge) * beta),
        )
        if objective - last < tolerance * abs(objective):
            break
    largest = np.argsort(-pi)
    design = gram[largest] / count[largest, None, None]
    return objective, pi[largest], beta[largest], sigma[largest], design
