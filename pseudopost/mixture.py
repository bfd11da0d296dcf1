"""The mixture of regressions of P1 and P2."""

from concurrent.futures import ThreadPoolExecutor
from typing import override

import joblib
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from scipy.special import logsumexp, ndtr
from tqdm import tqdm

from pseudopost._checks import (
    aligned,
    as_count,
    as_number,
    as_vector,
    check_finite,
    labels_of,
    quoted,
)
from pseudopost.design import design_matrix
from pseudopost.likelihood import by_draw, draws_of
from pseudopost.mixture_chains import sample
from pseudopost.mixture_exchanges import levels_of
from pseudopost.mixture_sweeps import (
    HALF_LOG_2PI,
    Records,
    allocate,
    normal_mixture,
    released,
    rows_of,
)
from pseudopost.synthesizers import Synthesizer

ALLOCATIONS = ("density", "weighted")
# What convergence is judged on: ranks of records, quantiles of log y, levels released.
RANKS = (0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1)
BELOW = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
# Their dimensions and units.
JUDGED = {
    "log_likelihood": (["rank"], "nats"),
    "mean": ([], "of the logarithm"),
    "distribution": (["below"], "share"),
    "released_quantile": (["level"], "units of y"),
    "released_near_own": ([], "chance to be within 20%"),
}


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

    With `varying`, only the coefficients of those columns, the intercept and sigma
    differ by component. All components share the others, :math:`b \sim \mathrm{Normal}
    (0, \mathrm{diag}(s)^2)`, whose predictors enter as differences from their means. On
    real incomes, where many components of many coefficients fit about as well, chains
    then agree sooner.

    The posterior is sampled by Gibbs sweeps; a subclass with another
    :meth:`Synthesizer.record_term`, by NUTS. The chains start from maximum likelihood
    fits of different numbers of components, from K down to 1, and those from few get
    help with the birth of components in the first half of tuning, and no narrow ones in
    three quarters of it. After each sweep, two components try to exchange the means
    that they have at one level, or their slopes along one number. A draw is at first 5
    sweeps, or 30 where all weights are 1. If the effective sample size is less than 100
    per chain, and less than a quarter of the draws, the chains go on for as long as
    what is missing asks for, up to 160 sweeps a draw, or 480; the first draws then
    count as tuning, and later ones are thinned.
    ``sample_stats`` has the number of components with records, ``occupied``, and the
    attribute ``sweeps_per_draw``.

    The order of the components means nothing and may change within a chain, so
    convergence is judged on what does not depend on it (group ``label_invariant`` of a
    fit): log-likelihoods of ten records, mean and distribution function of the data,
    expected quantiles of released values, and the expected share of released values
    within 20% of the record's own.

    Parameters
    ----------
    y : array-like, shape (n,)
        Confidential values on the released scale, above ``-shift``.
    X : DataFrame or array-like, shape (n, columns)
        Predictors, released as they are. Of a data frame, columns that are not numbers
        become indicators of their levels; the first level is the baseline. An intercept
        is added.
    n_components : int
        K, the largest number of components, at most 1000; unneeded ones stay empty.
    min_sigma : float
        :math:`\sigma_{\min}`, above 0: with 0.05 a component is never narrower than
        about 5% of a value.
    shift : float
        Added to `y` before its logarithm is taken, and subtracted from synthetic
        values. Values of 0 or less need one. It also helps where a few values are tiny:
        their logarithms are far out, and chains take long to settle on them.
    varying : list of str, optional
        Columns of `X` whose coefficients differ by component; if an array, they are
        called x0, x1 and so on. By default all, as printed.

    Attributes
    ----------
    predictors : list of str
        Names of the R coefficients, the intercept first.
    baselines : dict
        Baseline level of each categorical column.
    redundant : dict of dict
        Predictors left out, as of :func:`design_matrix`.
    varies : ndarray of bool, shape (R,)
        Which coefficients differ by component.

    Raises
    ------
    ValueError
        If a value of `y` is missing or not above ``-shift``; if `X` is refused by
        :func:`design_matrix`; if `varying` names no column of `X`, or one that was left
        out; or if a number is out of range.

    Warns
    -----
    UserWarning
        As of :func:`design_matrix`, if predictors are left out.

    References
    ----------
    P1, Eqs 1-6; P2, Eqs 1-6.
    Book: :ref:`mixture-synthesizer`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> people = pp.datasets.consumer_expenditure(random_seed=1)
    >>> synthesizer = pp.MixtureSynthesizer(
    ...     people["income"], people[["gender", "earner"]], shift=8000
    ... )
    >>> synthesizer.predictors
    ['intercept', 'gender=Female', 'earner=Not an earner']
    >>> synthesizer.baselines
    {'gender': 'Male', 'earner': 'Earner'}
    """

    kept_parameters = ("gamma", "pi", "beta", "sigma", "s")
    judged_group = "label_invariant"
    default_chains = 5

    def __init__(self, y, X, n_components=20, min_sigma=0.05, shift=0.0, varying=None):
        self.y = as_vector(y, "y")
        self.index = labels_of(X) if labels_of(y) is None else labels_of(y)
        self.shift = as_number(shift, "shift")
        self.n_components = as_count(n_components, "n_components", high=1000)
        self.min_sigma = as_number(min_sigma, "min_sigma", low=0, open_low=True)
        with np.errstate(over="ignore"):
            check_finite(self.y + self.shift, "shift", "a value plus it")
        low = int(np.argmin(self.y))
        if self.y[low] + self.shift <= 0:
            raise ValueError(
                f"y + shift must be above 0; record {low} has "
                f"{quoted(self.y[low], 'g')} + {self.shift:g}: "
                f"choose a shift above {quoted(abs(self.y[low]), 'g')}"
            )
        X = aligned(X, "X", self.index, "y")
        self.design = design_matrix(X, len(self.y))
        self.X, self.predictors, self.baselines, self.redundant, *_ = self.design
        columns = self.design.columns
        self.varies = _varies(columns, varying)
        self._directions = _directions(self.X, columns, self.baselines, self.varies)
        self.log_y = np.log(self.y + self.shift)
        distinct, left = len(np.unique(self.y)), len(np.unique(self.log_y))
        if 2 * left < distinct:
            raise ValueError(
                f"shift must leave values distinct; of {distinct} in y there are "
                f"{left} left after {self.shift:g} has been added"
            )

    @override
    def build_model(self):
        R, K = int(self.varies.sum()), self.n_components
        coords = {"component": np.arange(K), "predictor": self.predictors}
        with pm.Model(coords=coords) as model:
            log_y = pm.Data("log_y", self.log_y)
            X = pm.Data("X", self.X)
            gamma = pm.Gamma("gamma", 1, 1)
            pi = pm.Dirichlet("pi", gamma / K * np.ones(K), dims="component")
            chol, _, s = pm.LKJCholeskyCov(
                "chol",
                n=R,
                eta=1 + max(K - R, 0) / 2,
                sd_dist=pm.HalfStudentT.dist(3, 1, shape=R),
                store_in_trace=False,
            )
            if self.varies.all():
                dims = ("component", "predictor")
                beta = pm.MvNormal("beta", 0, chol=chol, dims=dims)
                pm.Deterministic("s", s, dims="predictor")
            else:
                beta = self._partly_shared(
                    pm.MvNormal("own", 0, chol=chol, shape=(K, R)), s
                )
            excess = pm.HalfStudentT("excess", 3, 1, dims="component")
            sigma = pm.Deterministic("sigma", self.min_sigma + excess, dims="component")
            mixture = pm.NormalMixture.dist(pi, X @ beta.T, sigma)
            self.add_likelihood(pm.logp(mixture, log_y))
        return model

    def _partly_shared(self, own, s):
        """Put the coefficients that the components share beside their own."""
        shared = np.flatnonzero(~self.varies)
        scale = pm.HalfStudentT("scale", 3, 1, shape=len(shared))
        slope = pm.Normal("slope", 0, scale, shape=len(shared))
        beta = pt.repeat(slope[None], self.n_components, axis=0)
        beta = pt.concatenate([own, beta], axis=1)[:, self._places()]
        at_means = self.X[:, shared].mean(axis=0) @ slope
        dims = ("component", "predictor")
        beta = pm.Deterministic(
            "beta", pt.inc_subtensor(beta[:, 0], -at_means), dims=dims
        )
        pm.Deterministic(
            "s", pt.concatenate([s, scale])[self._places()], dims="predictor"
        )
        return beta

    def _places(self):
        """Where each predictor is if those that vary come first."""
        return np.argsort(np.argsort(~self.varies, kind="stable"))

    @override
    def _contents(self):
        return (
            super()._contents(),
            self.X,
            self.log_y,
            self.varies,
            self._directions,
        )

    @override
    def draw_posterior(self, weights, settings, progressbar):
        if type(self).record_term is not Synthesizer.record_term:
            return super().draw_posterior(weights, settings, progressbar)
        draws, tune, chains = (settings[name] for name in ("draws", "tune", "chains"))
        bar = tqdm(
            desc=f"{type(self).__name__}: {chains} chains",
            total=chains * (tune + draws),
            unit="draw",
            mininterval=1,
            disable=not progressbar,
        )
        # Rows with as many values that are not 0 follow each other: loops over them are
        # then foreseen, and so sooner done.
        order = np.argsort(np.count_nonzero(self.X, axis=1), kind="stable")
        X, Z = self.X[order][:, self.varies], self.X[order][:, ~self.varies]
        records = Records(
            self.log_y[order],
            X,
            weights[order],
            self.min_sigma,
            Z - Z.mean(axis=0),
            levels_of(X, self._directions),
            rows_of(X),
        )
        with bar:
            found, judged, sweeps = sample(
                records,
                self.n_components,
                draws,
                tune,
                chains,
                settings["random_seed"],
                min(chains, joblib.effective_n_jobs()),
                bar,
                lambda found: self._judged(**self._with_shared(found)),
            )
        dims = {"pi": ["component"], "sigma": ["component"], "s": ["predictor"]}
        dims |= {"gamma": [], "beta": ["component", "predictor"]}
        places = {"chain": np.arange(chains), "draw": np.arange(draws)}
        posterior = xr.Dataset(
            {
                name: ([*places, *dims[name]], values)
                for name, values in self._with_shared(found).items()
            },
            places
            | {"component": np.arange(self.n_components), "predictor": self.predictors},
        )
        stats = xr.Dataset({"occupied": ([*places], found["occupied"])}, places)
        stats.attrs["sweeps_per_draw"] = sweeps
        groups = {"posterior": posterior, "sample_stats": stats}
        return xr.DataTree.from_dict(groups | {"label_invariant": _labelled(judged)})

    def _with_shared(self, found):
        """Put shared coefficients beside those of each component, for X as given."""
        means = self.X[:, ~self.varies].mean(axis=0)
        slope, places = found["slope"], self._places()
        shared = np.broadcast_to(
            slope[..., None, :], (*found["beta"].shape[:-1], len(means))
        )
        beta = np.concatenate([found["beta"], shared], axis=-1)[..., places]
        beta[..., 0] -= (slope @ means)[..., None]
        s = np.concatenate([found["s"], found["scale"]], axis=-1)[..., places]
        return {name: found[name] for name in ("gamma", "pi", "sigma")} | {
            "beta": beta,
            "s": s,
        }

    @override
    def complete_fit(self, fit):
        if "label_invariant" not in fit:
            fit["label_invariant"] = self._label_invariant(
                fit["posterior"].to_dataset()
            )

    def _label_invariant(self, posterior):
        """Compute what does not depend on the order of the components."""
        values = {
            name: posterior[name].transpose("chain", "draw", ...).to_numpy()
            for name in ("pi", "beta", "sigma")
        }
        return _labelled(self._judged(**values))

    def _judged(self, pi, beta, sigma, **_):
        return self._densities(pi, beta, sigma) | self._released(pi, beta, sigma)

    def _densities(self, pi, beta, sigma):
        """Log-likelihoods of records by their rank, mean and distribution of log y."""
        n = len(self.log_y)
        order = np.argsort(self.log_y, kind="stable")
        extremes = order[np.round(np.array(RANKS) * (n - 1)).astype(int)]
        spaced = order[np.linspace(0, n - 1, min(n, 60)).astype(int)]
        with np.errstate(divide="ignore"):
            log_pi = np.log(pi)[..., None, :]
        sigma = sigma[..., None, :]

        def residuals(y, rows):
            return (y - np.einsum("ir,cskr->csik", self.X[rows], beta)) / sigma

        density = log_pi - np.log(sigma) - HALF_LOG_2PI
        log_likelihood = logsumexp(
            density - 0.5 * residuals(self.log_y[extremes, None], extremes) ** 2,
            axis=-1,
        )
        mean = np.einsum("csk,ir,cskr->cs", pi, self.X[spaced], beta) / len(spaced)
        distribution = [
            (np.exp(log_pi) * ndtr(residuals(point, spaced))).sum(-1).mean(-1)
            for point in np.quantile(self.log_y, BELOW)
        ]
        return {
            "log_likelihood": log_likelihood,
            "mean": mean,
            "distribution": np.stack(distribution, axis=-1),
        }

    def _released(self, pi, beta, sigma):
        """Quantiles of released values, and the chance to be within 20% of one's own.

        Both are expectations given the confidential values. A quantile is that of the
        data plus one step of Newton's, at most 1 in log y.
        """
        points, reach = np.quantile(self.log_y, LEVELS), 0.2 * np.abs(self.y)
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = (np.log(self.y + self.shift + r) for r in (-reach, reach))
            log_pi = np.log(pi)
        low = np.where(np.isfinite(low), low, -np.inf)

        def judge(at):
            mean = beta[at] @ self.X.T
            _, share = normal_mixture(self.log_y, mean, log_pi[at], np.log(sigma[at]))
            return released(share, mean, sigma[at], points, low, high)

        chains, draws = pi.shape[:2]
        with ThreadPoolExecutor(joblib.effective_n_jobs()) as pool:
            found = pool.map(judge, np.ndindex(chains, draws))
            distribution, density, near = (
                np.reshape(v, (chains, draws, *np.shape(v[0])))
                for v in zip(*found, strict=True)
            )
        # Far from the data, as under weights of 0, the density can be 0.
        step = (np.array(LEVELS) - distribution) / np.maximum(density, 1e-9)
        quantiles = np.exp(points + np.clip(step, -1, 1)) - self.shift
        return {"released_quantile": quantiles, "released_near_own": near}

    def _pointwise(self, fit):
        posterior = fit["posterior"].to_dataset()
        with np.errstate(divide="ignore"):
            log_pi = np.log(draws_of(posterior, "pi"))
        beta, sigma = (draws_of(posterior, name) for name in ("beta", "sigma"))
        rows = [
            normal_mixture(self.log_y, b @ self.X.T, p, np.log(s))[0]
            for p, b, s in zip(log_pi, beta, sigma, strict=True)
        ]
        return by_draw(rows, fit)

    def synthesize(
        self, fit, n_datasets=20, random_seed=None, *, X=None, allocation="density"
    ):
        r"""Draw synthetic data sets, each from another, evenly spaced posterior draw.

        For each record a component is drawn given its confidential value and
        predictors, and then a new value from that component, given the released ones.

        Parameters
        ----------
        fit : xarray.DataTree
            From :meth:`Synthesizer.fit`.
        n_datasets : int
            m, at most the number of draws.
        random_seed : int, optional
            As in :meth:`Synthesizer.synthesize`.
        X : sequence of DataFrame or array-like, shape (n, columns), optional
            As in :meth:`Synthesizer.synthesize`.
        allocation : {"density", "weighted"}
            Probability of component k: proportional to :math:`\pi_k \phi_k(y_i)`, as
            printed, or to :math:`\pi_k \phi_k(y_i)^{\alpha_i}`, so that a record with
            a low weight is placed by the mixture rather than by its own value. The
            papers do not say which is meant under weights.

        Returns
        -------
        xarray.DataArray, shape (m, n)
            As in :meth:`Synthesizer.synthesize`.

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
        self._check_fit(fit)
        weights = fit["constant_data"]["weights"].to_numpy()
        power = weights if allocation == "weighted" else np.ones_like(weights)
        return super().synthesize(fit, n_datasets, random_seed, X=X, power=power)

    @override
    def draw_dataset(self, parameters, rng, power, X):
        pi, sigma = parameters["pi"], parameters["sigma"]
        beta = np.asarray(parameters["beta"])
        mean = beta @ self.X.T
        with np.errstate(divide="ignore"):
            log_pi = np.log(pi)
        k = allocate(log_pi, self.log_y - mean, sigma, power, rng)
        if X is not self.X:
            mean = beta @ X.T
        log_value = rng.normal(mean[k, np.arange(len(k))], sigma[k])
        return np.exp(log_value) - self.shift


def _labelled(judged):
    """Give names to what is judged."""
    return xr.Dataset(
        {
            name: (("chain", "draw", *dims), judged[name], {"unit": unit})
            for name, (dims, unit) in JUDGED.items()
        },
        coords={"rank": list(RANKS), "below": list(BELOW), "level": list(LEVELS)},
    )


def _varies(columns, varying):
    """Say of each predictor, given the column that it came from, whether it varies."""
    if varying is None:
        return np.ones(len(columns), dtype=bool)
    if isinstance(varying, str):
        raise TypeError(f"varying must be a list of columns of X; got {varying!r}")
    unknown = [name for name in varying if name not in columns[1:]]
    if unknown:
        raise ValueError(
            f"varying must name columns that X has and the model does not leave out; "
            f"{unknown[0]!r} is none"
        )
    return np.array([name is None or name in varying for name in columns])


def _directions(X, columns, baselines, varies):
    """Directions among the coefficients that vary, (L, those).

    One for each level of a column, which moves the mean of that level alone, and one
    for each number, which moves its slope and no mean.
    """
    unit, found = np.eye(len(columns)), []
    for name in dict.fromkeys(columns[1:]):
        own = np.array([column == name for column in columns])
        if not varies[own].all():
            continue
        if name in baselines:
            found += [unit[0] - unit[own].sum(axis=0), *unit[own]]
        else:
            found += [row - X[:, own].mean() * unit[0] for row in unit[own]]
    return np.reshape(found, (-1, len(columns)))[:, varies]
