"""PyMC models that are fitted under record weights and draw synthetic data."""

import os
import warnings
from abc import ABC, abstractmethod
from functools import cached_property
from importlib.metadata import version
from types import MappingProxyType

import arviz as az
import joblib
import numpy as np
import nutpie
import pymc as pm
import xarray as xr
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors
from pytensor.printing import debugprint
from pytensor.tensor.sharedvar import TensorSharedVariable
from threadpoolctl import threadpool_limits

from pseudopost import __version__, cache
from pseudopost._checks import as_count, as_number, as_seed, as_vector
from pseudopost.likelihood import pointwise_log_likelihood, weighted_likelihood

# Chance alone takes R-hat beyond 1.02 now and then in two chains of 500 draws.
MAX_RHAT = 1.05
MIN_ESS_PER_CHAIN = 100
# Compiled models by form, to serve other data too; the oldest goes when a ninth comes.
COMPILED = {}
MAX_COMPILED = 8
PACKAGES = ("pymc", "pytensor", "nutpie", "numba", "numpy")
VERSIONS = {"pseudopost": __version__} | {name: version(name) for name in PACKAGES}


class ConvergenceWarning(UserWarning):
    """The chains of a fit disagree, move too slowly, or diverged.

    References
    ----------
    Book: :ref:`mixture-convergence`.

    Examples
    --------
    Ten draws are too few; a filter turns the warning into an error:

    >>> import warnings
    >>> import pseudopost as pp
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", pp.ConvergenceWarning)
    ...     fit = pp.PoissonSynthesizer([2, 4, 9]).fit(draws=10)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    pseudopost.synthesizers.ConvergenceWarning: the fit has not converged: ...
    """


class Synthesizer(ABC):
    """What all synthesizers share: weights in, posterior and synthetic data out.

    A subclass writes the model (`_build`, which calls
    :func:`~pseudopost.weighted_likelihood` with the name ``"y"``) and one draw of the
    data (`_draw`).

    References
    ----------
    Book: :ref:`risk-weights-any`.

    Examples
    --------
    A model of your own, here a normal distribution with a known variance:

    >>> import numpy as np
    >>> import pymc as pm
    >>> import pseudopost as pp
    >>> class NormalSynthesizer(pp.Synthesizer):
    ...     def __init__(self, y):
    ...         self.y = np.asarray(y, dtype=float)
    ...
    ...     def _build(self):
    ...         with pm.Model() as model:
    ...             mu = pm.Normal("mu", 0, 10)
    ...             values = pm.Data("values", self.y)  # a constant stays on disk
    ...             logp = pm.logp(pm.Normal.dist(mu, 1), values)
    ...             pp.weighted_likelihood("y", logp, np.ones(len(self.y)))
    ...         return model
    ...
    ...     def _draw(self, parameters, rng):
    ...         return rng.normal(parameters["mu"], 1, size=len(self.y))
    >>> synthesizer = NormalSynthesizer([1, 3, 8])
    >>> round(float(pp.pseudo_mle(synthesizer, [1, 1, 0]).values["mu"]), 2)
    2.0
    """

    # Stored parameters (None: all), the group that convergence is judged on, and
    # further settings of the sampler.
    _kept = None
    _judged = "posterior"
    _settings = MappingProxyType({})

    @abstractmethod
    def _build(self):
        """Return the PyMC model, with all weights 1."""

    @abstractmethod
    def _draw(self, parameters, rng):
        """Return one data set, shape (n,), from one draw: a dict of arrays by name."""

    @cached_property
    def model(self):
        """The PyMC model, built on first use."""
        return self._build()

    @cached_property
    def _compiled(self):
        if self._form not in COMPILED:
            model = nutpie.compile_pymc_model(self.model, var_names=self._kept)
            if len(COMPILED) == MAX_COMPILED:
                del COMPILED[next(iter(COMPILED))]
            COMPILED[self._form] = model
        return COMPILED[self._form]

    @cached_property
    def _graph(self):
        return [self.model.logp(), *self.model.deterministics]

    @cached_property
    def _shared(self):
        inputs = ancestors(self._graph)
        return [v for v in inputs if isinstance(v, TensorSharedVariable)]

    @cached_property
    def _form(self):
        """Hash of the model without its data: equal forms share a compiled model."""
        graph = debugprint(self._graph, file="str", print_type=True)
        constants = [
            np.asarray(v.data)
            for v in ancestors(self._graph)
            if isinstance(v, Constant)
        ]
        # Data of another length need another model only if a parameter's length does.
        parameters = [*self.model.free_RVs, *self.model.deterministics]
        shapes = [v.get_value().shape for v in self._shared]
        if all(None not in v.type.shape for v in parameters):
            shapes = None
        coords = {k: np.asarray(v) for k, v in self.model.coords.items()}
        name = type(self).__name__
        return joblib.hash((name, graph, constants, shapes, coords, self._kept))

    @cached_property
    def _fingerprint(self):
        """Hash of the model and its data: equal models, equal hashes."""
        return joblib.hash((self._form, [v.get_value() for v in self._shared]))

    def __getstate__(self):
        built = ("model", "_compiled", "_graph", "_shared", "_form", "_fingerprint")
        return {
            name: value for name, value in self.__dict__.items() if name not in built
        }

    def fit(
        self,
        weights=None,
        draws=1000,
        tune=1000,
        chains=2,
        random_seed=1,
        progressbar=True,
    ):
        """Sample the pseudo posterior with NUTS.

        The model is compiled at the first fit and re-used for every later weight
        vector, and by models of the same form.

        Parameters
        ----------
        weights : array-like, shape (n,), optional
            Record weights in [0, 1]; by default all 1, the ordinary posterior.
        draws, tune, chains : int
            Kept draws and tuning steps per chain, and the number of chains.
        random_seed : int
            Non-negative seed below 2**63; the result does not depend on the number of
            cores.
        progressbar : bool
            Whether to show progress; the environment variable
            ``PSEUDOPOST_PROGRESS=off`` silences every fit.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior``, ``sample_stats`` and ``constant_data`` (the weights,
            dim ``record``); settings and versions in the attributes. It is as
            confidential as the data: it holds the weights.

        Raises
        ------
        ValueError
            If a weight is missing, not finite or outside [0, 1], or a setting is out of
            range.

        Warns
        -----
        ConvergenceWarning
            If an R-hat exceeds 1.05, a bulk effective sample size is below 100 per
            chain, or a transition diverged. The text is kept in the attribute
            ``not_converged``.

        References
        ----------
        P3, Eq 1.2.
        Book: :ref:`pseudo-posterior`.

        Examples
        --------
        A record with weight 0 plays no part: the mean of the other two is 3.

        >>> import pseudopost as pp
        >>> fit = pp.PoissonSynthesizer([2, 4, 9]).fit([1, 1, 0])
        >>> dict(fit["posterior"].sizes)
        {'chain': 2, 'draw': 1000}
        >>> round(float(fit["posterior"]["mu"].mean()))
        3
        """
        n = len(self.y)
        weights = (
            np.ones(n)
            if weights is None
            else as_vector(weights, "weights", length=n, low=0, high=1)
        )
        settings = {
            "draws": as_count(draws, "draws", low=4),
            "tune": as_count(tune, "tune"),
            "chains": as_count(chains, "chains"),
            "random_seed": as_seed(random_seed),
        }
        progressbar = progressbar and os.environ.get("PSEUDOPOST_PROGRESS") != "off"
        key = (self._fingerprint, weights, settings, VERSIONS)
        fit = cache.stored(key, lambda: self._sample(weights, settings, progressbar))
        if fit.attrs["not_converged"]:
            warnings.warn(fit.attrs["not_converged"], ConvergenceWarning, stacklevel=2)
        return fit

    def _data(self, weights):
        """Return the model's data by name; a subclass adds its own."""
        data = {variable.name: variable.get_value() for variable in self._shared}
        return data | {"y_weights": weights}

    def _complete(self, fit):
        """Return `fit` with what a subclass adds."""
        return fit

    def _sample(self, weights, settings, progressbar):
        data = self._data(weights)
        known = [variable.name for variable in self._compiled.shared_var_keys]
        # Chains run side by side; linear algebra in threads of its own only slows them.
        with threadpool_limits(1):
            fit = nutpie.sample(
                self._compiled.with_data(**{name: data[name] for name in known}),
                draws=settings["draws"],
                tune=settings["tune"],
                chains=settings["chains"],
                seed=settings["random_seed"],
                cores=min(settings["chains"], joblib.effective_n_jobs()),
                save_warmup=False,
                progress_bar=progressbar,
                **self._settings,
            )
        if fit["posterior"].sizes["draw"] < settings["draws"]:
            raise KeyboardInterrupt("the fit was interrupted")
        if self._kept:
            fit["posterior"] = fit["posterior"].to_dataset()[list(self._kept)]
        stats = fit["sample_stats"].to_dataset()
        fit["sample_stats"] = stats[
            [name for name in stats if stats[name].dtype != object]
        ]
        fit["constant_data"] = xr.Dataset(
            {"weights": ("record", weights)}, {"record": np.arange(len(weights))}
        )
        fit = self._complete(fit)
        fit.attrs = {
            "synthesizer": type(self).__name__,
            "model": self._fingerprint,
            **settings,
            **{f"{name}_version": number for name, number in VERSIONS.items()},
            "not_converged": _convergence_problems(fit, self._judged),
        }
        return fit

    def log_likelihood(self, fit):
        """Unweighted log-likelihood of every record under every draw of `fit`.

        Parameters
        ----------
        fit : xarray.DataTree
            From :meth:`fit`.

        Returns
        -------
        xarray.DataArray, shape (S, n)
            S is draws times chains.

        Raises
        ------
        ValueError
            If `fit` comes from another model or other data.

        References
        ----------
        P3, Algorithm 2, steps 1-2.
        Book: :ref:`lipschitz-weights`.

        Examples
        --------
        >>> import pseudopost as pp
        >>> synthesizer = pp.PoissonSynthesizer([2, 4, 9])
        >>> synthesizer.log_likelihood(synthesizer.fit()).shape
        (2000, 3)
        """
        self._check_fit(fit)
        return pointwise_log_likelihood(self.model, fit)

    def synthesize(self, fit, n_datasets=20, random_seed=1, **settings):
        """Draw synthetic data sets, each from another, evenly spaced posterior draw.

        Parameters
        ----------
        fit : xarray.DataTree
            From :meth:`fit`.
        n_datasets : int
            m, at most the number of draws.
        random_seed : int
            Non-negative seed.
        **settings
            Of the model's own way to draw a data set.

        Returns
        -------
        ndarray, shape (m, n)
            On the released scale.

        Raises
        ------
        ValueError
            If `fit` comes from another model or other data, has fewer draws than
            `n_datasets`, or if the seed is out of range.

        References
        ----------
        Book: :ref:`pseudo-posterior`.

        Examples
        --------
        >>> import pseudopost as pp
        >>> synthesizer = pp.PoissonSynthesizer([2, 4, 9])
        >>> synthesizer.synthesize(synthesizer.fit(), n_datasets=4).shape
        (4, 3)
        """
        self._check_fit(fit)
        draws = fit["posterior"].to_dataset().stack(sample=("chain", "draw"))
        m, S = as_count(n_datasets, "n_datasets"), draws.sizes["sample"]
        if m > S:
            raise ValueError(
                f"n_datasets must be at most the {S} draws of the fit; got {m}"
            )
        rng = np.random.default_rng(as_seed(random_seed))
        spaced = draws.isel(sample=((np.arange(m) + 0.5) * S / m).astype(int))
        columns = {
            name: spaced[name].transpose("sample", ...).to_numpy() for name in spaced
        }
        rows = ({name: values[i] for name, values in columns.items()} for i in range(m))
        return np.stack([self._draw(row, rng, **settings) for row in rows])

    def _check_fit(self, fit):
        if fit.attrs.get("model") != self._fingerprint:
            theirs = fit.attrs.get("synthesizer", "elsewhere")
            raise ValueError(
                f"fit must come from this {type(self).__name__}, with the same data; "
                f"it comes from {theirs}"
            )


class NegativeBinomialSynthesizer(Synthesizer):
    r"""Negative binomial model for counts, with variance :math:`\mu + \mu^2 / \phi`.

    Priors: :math:`\log \mu \sim \mathrm{Normal}(0, s)` with :math:`s \sim
    \text{half-}t(3, 0, 1)`, and :math:`1 / \phi \sim \text{half-Cauchy}(0, 5)`.

    Parameters
    ----------
    y : array-like of int, shape (n,)
        Confidential counts, 0 or more.

    Raises
    ------
    ValueError
        If a count is missing, negative or fractional, or there are none.

    References
    ----------
    P3, section 2.1.
    Book: :ref:`lipschitz-weights`.

    Examples
    --------
    >>> import pseudopost as pp
    >>> y = pp.datasets.negative_binomial_mixture()
    >>> synthesizer = pp.NegativeBinomialSynthesizer(y)
    >>> [variable.name for variable in synthesizer.model.free_RVs]
    ['s', 'log_mu', 'inverse_phi']
    """

    def __init__(self, y):
        self.y = as_vector(y, "y", low=0, whole=True).astype(int)

    def _build(self):
        values, position = np.unique(self.y, return_inverse=True)
        with pm.Model(coords={"record": np.arange(len(self.y))}) as model:
            values = pm.Data("values", values)
            position = pm.Data("position", position)
            s = pm.HalfStudentT("s", nu=3, sigma=1)
            log_mu = pm.Normal("log_mu", 0, s)
            inverse_phi = pm.HalfCauchy("inverse_phi", 5)
            mu = pm.Deterministic("mu", pm.math.exp(log_mu))
            phi = pm.Deterministic("phi", 1 / inverse_phi)
            # Equal counts share one evaluation of the density.
            logp = pm.logp(pm.NegativeBinomial.dist(mu=mu, alpha=phi), values)[position]
            weighted_likelihood("y", logp, np.ones(len(self.y)), dims="record")
        return model

    def _draw(self, parameters, rng):
        mu, phi = parameters["mu"], parameters["phi"]
        return rng.negative_binomial(phi, phi / (phi + mu), size=len(self.y))


class PoissonSynthesizer(Synthesizer):
    r"""Poisson model for counts, with mean :math:`\mu \sim` Gamma(shape, rate).

    Its pseudo posterior is known: Gamma(shape + :math:`\sum_i \alpha_i y_i`, rate +
    :math:`\sum_i \alpha_i`). It is here to be compared with, and sampled all the same.

    Parameters
    ----------
    y : array-like of int, shape (n,)
        Confidential counts, 0 or more.
    shape, rate : float
        Prior parameters, above 0; by default close to the Jeffreys prior.

    Raises
    ------
    ValueError
        If a count is missing, negative or fractional, there are none, or a parameter is
        not positive.

    References
    ----------
    P3, appendix D.
    Book: :ref:`pseudo-posterior`.

    Examples
    --------
    >>> import numpy as np
    >>> import pseudopost as pp
    >>> y, weights = np.array([2, 4, 9]), np.array([1, 1, 0.5])
    >>> fit = pp.PoissonSynthesizer(y).fit(weights)
    >>> exact = (0.5 + weights @ y) / (0.001 + weights.sum())
    >>> bool(abs(fit["posterior"]["mu"].mean() - exact) < 0.3)
    True
    """

    def __init__(self, y, shape=0.5, rate=0.001):
        self.y = as_vector(y, "y", low=0, whole=True).astype(int)
        self.shape = as_number(shape, "shape", low=0, open_low=True)
        self.rate = as_number(rate, "rate", low=0, open_low=True)

    def _build(self):
        values, position = np.unique(self.y, return_inverse=True)
        with pm.Model(coords={"record": np.arange(len(self.y))}) as model:
            values = pm.Data("values", values)
            position = pm.Data("position", position)
            mu = pm.Gamma("mu", self.shape, self.rate)
            logp = pm.logp(pm.Poisson.dist(mu=mu), values)[position]
            weighted_likelihood("y", logp, np.ones(len(self.y)), dims="record")
        return model

    def _draw(self, parameters, rng):
        return rng.poisson(parameters["mu"], size=len(self.y))


def _convergence_problems(fit, group):
    """Say in one line what is wrong with `fit`; the empty string if nothing is."""

    def values(statistic, **settings):
        by_name = statistic(fit, group=group, **settings).to_dataset()
        return np.concatenate([np.ravel(by_name[name]) for name in by_name])

    ess = values(az.ess, method="bulk")
    problems = []
    if fit["posterior"].sizes["chain"] > 1:
        rhat = values(az.rhat)
        if not rhat.max() <= MAX_RHAT:
            problems.append(f"R-hat {rhat.max():.3f} above {MAX_RHAT}")
    wanted = MIN_ESS_PER_CHAIN * fit["posterior"].sizes["chain"]
    if not ess.min() >= wanted:
        problems.append(f"bulk effective sample size {ess.min():.0f} below {wanted}")
    divergences = int(fit["sample_stats"]["diverging"].sum())
    if divergences:
        problems.append(f"{divergences} divergent transitions")
    return "the fit has not converged: " + "; ".join(problems) if problems else ""
