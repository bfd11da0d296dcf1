"""PyMC models that are fitted under record weights and draw synthetic data."""

import hmac
import os
import sys
import warnings
from abc import ABC, abstractmethod
from functools import cached_property
from importlib.metadata import version
from types import MappingProxyType

import joblib
import numpy as np
import nutpie
import pandas as pd
import pytensor.tensor as pt
import xarray as xr
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors
from pytensor.printing import debugprint
from pytensor.tensor.sharedvar import TensorSharedVariable
from threadpoolctl import threadpool_limits

from pseudopost import cache, compiled, convergence
from pseudopost._checks import aligned, as_count, as_flag, as_seed, as_vector
from pseudopost._source import digest_of_class, origin_of_class
from pseudopost.fits import Fit
from pseudopost.importance import MIN_DRAWS, resampled
from pseudopost.likelihood import pointwise_log_likelihood, weighted_likelihood

PACKAGES = ("pseudopost", "pymc", "pytensor", "nutpie", "numba", "numpy")
VERSIONS = {name: version(name) for name in PACKAGES}
# What the dims and variables beside the records are called.
TAKEN = ("chain", "dataset", "draw", "record", "weights", "y")


class Synthesizer(ABC):
    """What all synthesizers share: weights in, posterior and synthetic data out.

    A subclass sets ``self.y``, the confidential values, and writes two methods:
    :meth:`build_model` and :meth:`draw_dataset`. Everything else has a default that it
    may replace.

    Attributes
    ----------
    y : array-like, shape (n,)
        Confidential values. Once the model is in use, a change of them, or of the data
        in the model, is refused: make a new synthesizer for other data.
    index : pandas.Index or None
        Labels of the records, which results carry; None for their positions.
    design : Design or None
        Of a model with predictors. :meth:`draw_dataset` then takes their matrix as `X`,
        and :meth:`synthesize` other predictors than the confidential ones.
    kept_parameters : tuple of str or None
        Parameters and deterministics that a fit stores; None for all.
    judged_group : str
        Group of a fit that convergence is judged on. A subclass whose parameters may
        be permuted adds a group that does not depend on their order, in
        :meth:`complete_fit`.
    sampler_settings : mapping
        Further settings of ``nutpie.sample``, such as ``target_accept``.
    default_chains : int
        Number of chains where :meth:`fit` is not told.

    References
    ----------
    Book: :ref:`add-synthesizer`.

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
    ...     def build_model(self):
    ...         with pm.Model() as model:
    ...             mu = pm.Normal("mu", 0, 10)
    ...             values = pm.Data("values", self.y)  # a constant stays on disk
    ...             self.add_likelihood(pm.logp(pm.Normal.dist(mu, 1), values))
    ...         return model
    ...
    ...     def draw_dataset(self, parameters, rng):
    ...         return rng.normal(parameters["mu"], 1, size=len(self.y))
    >>> synthesizer = NormalSynthesizer([1, 3, 8])
    >>> round(float(pp.pseudo_mle(synthesizer, [1, 1, 0]).values["mu"]), 2)
    2.0
    """

    index = None
    design = None
    kept_parameters = None
    judged_group = "posterior"
    sampler_settings = MappingProxyType({})
    default_chains = 2

    @abstractmethod
    def build_model(self):
        """Write the model; for a subclass.

        Returns
        -------
        pm.Model
            With the data in ``pm.Data``, since PyTensor keeps compiled models on disk
            with every constant in them, and with one call of :meth:`add_likelihood`.

        References
        ----------
        Book: :ref:`add-synthesizer`.
        """

    @abstractmethod
    def draw_dataset(self, parameters, rng, **settings):
        """Draw one data set from one posterior draw; for a subclass.

        Parameters
        ----------
        parameters : dict of ndarray
            One draw of what a fit stores, by name.
        rng : numpy.random.Generator
        **settings
            A subclass may have some; :meth:`synthesize` passes them on, and of a model
            with a ``design`` the matrix `X` of the released predictors, shape (n, R).

        Returns
        -------
        ndarray, shape (n,)
            On the released scale, in the order of the records.

        References
        ----------
        Book: :ref:`add-synthesizer`.
        """

    def record_term(self, log_likelihood, weights):
        r"""Write what a record adds to the log density of the pseudo posterior.

        By default the weight times the log-likelihood. A subclass with another
        mechanism, such as a capped likelihood, replaces it; bounds, epsilon and
        searches follow. A record with weight 0 adds nothing, whatever the term.

        Parameters
        ----------
        log_likelihood : TensorVariable, shape (..., n)
            Unweighted.
        weights : TensorVariable, shape (n,)

        Returns
        -------
        TensorVariable, shape (..., n)
            :func:`pseudo_mle` and :func:`information` take it as linear in the weights.

        References
        ----------
        Book: :ref:`add-synthesizer`.
        """
        return weights * log_likelihood

    def draw_posterior(self, weights, settings, progressbar):
        """Draw from the pseudo posterior; by default with NUTS, by nutpie.

        Parameters
        ----------
        weights : ndarray, shape (n,)
        settings : dict of int
            ``draws``, ``tune``, ``chains`` and ``random_seed``, as in :meth:`fit`.
        progressbar : bool

        Returns
        -------
        xarray.DataTree
            Groups ``posterior`` and ``sample_stats``.

        References
        ----------
        Book: :ref:`add-synthesizer`.
        """

        def say(text):
            if progressbar:
                print(f"{type(self).__name__}: {text}", file=sys.stderr, flush=True)

        model = compiled.sampler(self._form, self.model, self.kept_parameters, say)
        data = {variable.name: variable.get_value() for variable in self._shared}
        data["y_weights"] = weights
        known = [variable.name for variable in model.shared_var_keys]
        sampling = nutpie.sample(
            model.with_data(**{name: data[name] for name in known}),
            draws=settings["draws"],
            tune=settings["tune"],
            chains=settings["chains"],
            seed=settings["random_seed"],
            cores=min(settings["chains"], joblib.effective_n_jobs()),
            save_warmup=False,
            progress_bar=progressbar,
            blocking=False,
            **self.sampler_settings,
        )
        try:
            fit = sampling.wait()
        except BaseException:
            sampling.cancel()
            raise
        if self.kept_parameters:
            posterior = fit["posterior"].to_dataset()
            fit["posterior"] = posterior[list(self.kept_parameters)]
        stats = fit["sample_stats"].to_dataset()
        fit["sample_stats"] = stats[
            [name for name in stats if stats[name].dtype != object]
        ]
        return fit

    def complete_fit(self, fit):  # noqa: B027
        """Add groups of its own to a new fit, in place; by default none.

        Parameters
        ----------
        fit : xarray.DataTree

        References
        ----------
        Book: :ref:`add-synthesizer`.
        """

    def add_likelihood(self, logp):
        """Add the records' terms to the PyMC model on the context stack.

        Parameters
        ----------
        logp : TensorVariable, shape (n,)
            Pointwise log-likelihood.

        Returns
        -------
        TensorVariable, shape (n,)
            As of :func:`weighted_likelihood`, with the name ``"y"`` and weights of 1.

        References
        ----------
        Book: :ref:`add-synthesizer`.
        """
        weights = np.ones(len(self.y))
        return weighted_likelihood("y", logp, weights, term=self.record_term)

    @cached_property
    def model(self):
        """The PyMC model, built on first use."""
        return self.build_model()

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
        named = (type(self).__name__, self.kept_parameters)
        return joblib.hash((*named, graph, constants, shapes, coords))

    @cached_property
    def _fingerprint(self):
        """Hash of the model and its data, at first use: equal models, equal hashes."""
        return joblib.hash((self._form, self._contents()))

    def _contents(self):
        """Collect the data, in the model and beside it."""
        return [v.get_value() for v in self._shared], np.asarray(self.y)

    def _mark(self, seed):
        """Sign a fit; nobody without its seed can confirm a guess at the data by it."""
        key, message = str(seed).encode(), self._fingerprint.encode()
        return hmac.digest(key, message, "sha256").hex()

    def _check_unchanged(self):
        if joblib.hash((self._form, self._contents())) != self._fingerprint:
            raise ValueError(
                f"the data of a {type(self).__name__} must stay as they were when it "
                "was first used; make a new one for other data"
            )

    def __getstate__(self):
        built = ("model", "_graph", "_shared", "_form", "_fingerprint")
        return {
            name: value for name, value in self.__dict__.items() if name not in built
        }

    def fit(
        self,
        weights=None,
        draws=1000,
        tune=1000,
        chains=None,
        random_seed=None,
        progressbar=True,
    ):
        """Sample the pseudo posterior, by :meth:`Synthesizer.draw_posterior`.

        What has to be compiled is compiled at the first fit and re-used for every later
        weight vector, and by models of the same form.

        Parameters
        ----------
        weights : array-like, shape (n,), optional
            Record weights in [0, 1]; by default all 1, the ordinary posterior.
        draws, tune : int
            Kept draws and tuning steps per chain, at most ten million.
        chains : int, optional
            Number of chains, at most ten thousand; by default ``default_chains``.
        random_seed : int, optional
            Seed from 0 to 2**63 - 1; by default a new one from the operating system,
            which the fit keeps in the attribute ``random_seed``. The result does not
            depend on the number of cores.
        progressbar : bool
            Whether to show progress and say when the model is compiled; the environment
            variable ``PSEUDOPOST_PROGRESS=off`` silences every fit.

        Returns
        -------
        xarray.DataTree
            Groups ``posterior``, ``sample_stats`` and ``constant_data`` (the weights,
            dim ``record``); settings, seed and versions in the attributes. It is as
            confidential as the data: it holds the weights, and the seed. Printed, it
            shows names and sizes; values are there by group.

        Raises
        ------
        ValueError
            If a weight is missing, not finite or outside [0, 1], a setting is out of
            range, or the data were changed after their first use.

        Warns
        -----
        ConvergenceWarning
            If an R-hat exceeds 1.05, a bulk or tail effective sample size is below 100
            per chain, or a transition diverged. It names the worst quantity, with its
            mean in each chain, and is kept in the attribute ``not_converged``.

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
        self._check_unchanged()
        weights = self._as_weights(np.ones(len(self.y)) if weights is None else weights)
        settings = {
            "draws": as_count(draws, "draws", low=4, high=10**7),
            "tune": as_count(tune, "tune", high=10**7),
            "chains": as_count(
                self.default_chains if chains is None else chains, "chains", high=10**4
            ),
            "random_seed": as_seed(random_seed),
        }
        progressbar = as_flag(progressbar, "progressbar")
        progressbar = progressbar and os.environ.get("PSEUDOPOST_PROGRESS") != "off"
        key = {
            "model": self._fingerprint,
            "weights": weights,
            "settings": settings,
            "sampler": dict(self.sampler_settings),
            "judged": (self.judged_group, *convergence.limits()),
            "code": digest_of_class(type(self)),
            "versions": VERSIONS,
        }
        fit = cache.stored(
            key,
            lambda: self._sample(weights, settings, progressbar),
            made_by=origin_of_class(type(self)),
        )
        fit = Fit.of(fit)
        fit["constant_data"] = (
            fit["constant_data"].to_dataset().assign_coords(self._labels())
        )
        _warn_of(fit)
        return fit

    def resample(self, fit, weights, random_seed=None):
        r"""Turn a fit into one under weights near its own, without sampling again.

        The ratio of the two pseudo posteriors at a draw,
        :math:`\exp \sum_i (\alpha'_i - \alpha_i) \log p(y_i \mid \theta_s)` by default,
        says how often the draw should be there. The ratios are smoothed (Pareto
        smoothed importance sampling), and each chain is resampled by them.

        Parameters
        ----------
        fit : xarray.DataTree
            From :meth:`fit`.
        weights : array-like, shape (n,)
            Other record weights in [0, 1].
        random_seed : int, optional
            Seed from 0 to 2**63 - 1; by default a new one from the operating system.

        Returns
        -------
        xarray.DataTree
            As from :meth:`fit`, with as many draws, some of them more than once, and
            the attributes ``k_hat``, the shape of the tail of the ratios, and
            ``resampling_seed``.

        Raises
        ------
        ValueError
            If a weight is missing, not finite or outside [0, 1], `fit` comes from
            another model or other data or has fewer than 25 draws, or the weights are
            too far: k-hat above 0.7, or above :math:`1 - 1 / \log_{10} S` for S draws.

        Warns
        -----
        ConvergenceWarning
            As :meth:`fit`, of what is left: copies of a draw say nothing new.

        References
        ----------
        Book: :ref:`near-weights`.

        Examples
        --------
        >>> import pseudopost as pp
        >>> synthesizer = pp.PoissonSynthesizer([2, 4, 9])
        >>> fit = synthesizer.fit([1, 1, 0.5])
        >>> near = synthesizer.resample(fit, [1, 1, 0.4])
        >>> bool(near["posterior"]["mu"].mean() < fit["posterior"]["mu"].mean())
        True
        """
        self._check_fit(fit)
        weights, seed = self._as_weights(weights), as_seed(random_seed)
        draws = fit["posterior"].sizes["chain"] * fit["posterior"].sizes["draw"]
        if draws < MIN_DRAWS:
            raise ValueError(
                f"fit must have at least {MIN_DRAWS} draws, of all chains; got {draws}"
            )
        log_likelihood = self._pointwise(fit).to_numpy()
        old = fit["constant_data"]["weights"].to_numpy()
        change = self._terms(log_likelihood, weights) - self._terms(log_likelihood, old)
        chosen, k_hat, limit = resampled(change.sum(axis=-1), seed)
        if not k_hat <= limit:
            raise ValueError(
                f"weights must be near those of fit, k-hat at most {limit:.2f} for "
                f"{draws} draws; got {k_hat:.2f}: fit them"
            )
        place = xr.DataArray(chosen, dims=("chain", "draw"))
        chain = xr.DataArray(np.arange(len(chosen)), dims="chain")
        groups = {name: group.to_dataset() for name, group in fit.children.items()}
        for name, group in groups.items():
            if "draw" in group.dims:
                at = {dim: group[dim] for dim in place.dims if dim in group.coords}
                moved = group.drop_vars(at).isel(chain=chain, draw=place)
                groups[name] = moved.assign_coords(at)
        groups["constant_data"] = groups["constant_data"].assign(
            weights=("record", weights)
        )
        near = Fit.of(xr.DataTree.from_dict(groups))
        near.attrs = {**fit.attrs, "k_hat": k_hat, "resampling_seed": seed}
        near.attrs.pop("synthesis_seeds", None)
        near.attrs["not_converged"] = self._problems(near)
        _warn_of(near)
        return near

    def _as_weights(self, weights):
        weights = aligned(weights, "weights", self.index, "y")
        return as_vector(weights, "weights", length=len(self.y), low=0, high=1)

    def _labels(self):
        """Coordinates of the records, whatever the index and its levels are called."""
        labels = np.arange(len(self.y)) if self.index is None else self.index
        if not isinstance(labels, pd.MultiIndex):
            return {"record": ("record", labels)}
        names = [None if name in TAKEN else name for name in labels.names]
        return xr.Coordinates.from_pandas_multiindex(labels.set_names(names), "record")

    def _sample(self, weights, settings, progressbar):
        # Chains run side by side; linear algebra in threads of its own only slows them.
        with threadpool_limits(1):
            fit = self.draw_posterior(weights, settings, progressbar)
        fit["constant_data"] = xr.Dataset({"weights": ("record", weights)})
        self.complete_fit(fit)
        fit.attrs = {
            "synthesizer": type(self).__name__,
            "model": self._mark(settings["random_seed"]),
            **settings,
            **{f"{name}_version": number for name, number in VERSIONS.items()},
            "not_converged": self._problems(fit),
        }
        return fit

    def _problems(self, fit):
        """Say what is wrong with a fit, and from what, if it has learned nothing."""
        problems = convergence.problems(fit, self.judged_group)
        if problems and not fit["constant_data"]["weights"].any():
            return f"all weights are 0, so this is the prior; {problems}"
        return problems

    def log_likelihood(self, fit):
        """Unweighted log-likelihood of every record under every draw of `fit`.

        Parameters
        ----------
        fit : xarray.DataTree
            From :meth:`fit`.

        Returns
        -------
        xarray.DataArray, shape (chains, draws, n)
            Dims ``chain``, ``draw`` and ``record``. Set into the fit as
            ``fit["log_likelihood/y"]`` it is where ArviZ looks for it, as in
            ``az.loo(fit)``.

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
        >>> dict(synthesizer.log_likelihood(synthesizer.fit()).sizes)
        {'chain': 2, 'draw': 1000, 'record': 3}
        """
        self._check_fit(fit)
        return self._pointwise(fit).assign_coords(self._labels())

    def _pointwise(self, fit):
        return pointwise_log_likelihood(self.model, fit)

    def record_terms(self, fit):
        r"""Terms of the records in the log pseudo posterior, under every draw of `fit`.

        Their largest absolute values are the bounds of the mechanism, whatever its
        :meth:`record_term`.

        Parameters
        ----------
        fit : xarray.DataTree
            From :meth:`fit`.

        Returns
        -------
        xarray.DataArray, shape (chains, draws, n)
            By default :math:`\alpha_i \log p(y_i \mid \theta_s)`, with the weights of
            `fit`.

        Raises
        ------
        ValueError
            If `fit` comes from another model or other data.

        References
        ----------
        P3, Algorithm 2, step 6.
        Book: :ref:`add-synthesizer`.

        Examples
        --------
        >>> import numpy as np
        >>> import pseudopost as pp
        >>> synthesizer, weights = pp.PoissonSynthesizer([2, 4, 9]), [1, 0.5, 0]
        >>> fit = synthesizer.fit(weights)
        >>> bounds = pp.lipschitz_bounds(synthesizer.record_terms(fit))
        >>> of_weights = pp.lipschitz_bounds(synthesizer.log_likelihood(fit), weights)
        >>> np.array_equal(bounds, of_weights)
        True
        """
        log_likelihood = self.log_likelihood(fit)
        weights = fit["constant_data"]["weights"].to_numpy()
        terms = self._terms(log_likelihood.to_numpy(), weights)
        return log_likelihood.copy(data=terms)

    def _terms(self, values, weights):
        if type(self).record_term is Synthesizer.record_term:  # nothing to compile
            zeros = np.zeros_like(values)
            return np.multiply(values, weights, out=zeros, where=weights > 0)
        return compiled.once(self.model, "terms", self._compile_terms)(values, weights)

    def _compile_terms(self):
        log_likelihood, weights = pt.dtensor3("log_likelihood"), pt.dvector("weights")
        terms = pt.switch(weights > 0, self.record_term(log_likelihood, weights), 0.0)
        return compiled.function([log_likelihood, weights], terms)

    def synthesize(self, fit, n_datasets=20, random_seed=None, *, X=None, **settings):
        """Draw synthetic data sets, each from another, evenly spaced posterior draw.

        Parameters
        ----------
        fit : xarray.DataTree
            From :meth:`fit`. The seed is added to its attribute ``synthesis_seeds``.
        n_datasets : int
            m, at most the number of draws.
        random_seed : int, optional
            Seed from 0 to 2**63 - 1; by default a new one from the operating system.
        X : sequence of DataFrame or array-like, shape (n, columns), optional
            Predictors as released with each data set, where some are synthetic
            themselves; by default the confidential ones, for all.
        **settings
            Of the model's own way to draw a data set.

        Returns
        -------
        xarray.DataArray, shape (m, n)
            Dims ``dataset`` and ``record``, on the released scale, with the labels of
            the records. It does not hold the seed, with which one could repeat the
            random numbers behind a release.

        Raises
        ------
        ValueError
            If `fit` comes from another model or other data, has fewer draws than
            `n_datasets`, if the seed is out of range, or if `X` is not one table for
            each data set, or refused by :meth:`pseudopost.Design.encode`.

        References
        ----------
        Book: :ref:`pseudo-posterior`; :ref:`two-columns`, for `X`.

        Examples
        --------
        >>> import pseudopost as pp
        >>> synthesizer = pp.PoissonSynthesizer([2, 4, 9])
        >>> synthesizer.synthesize(synthesizer.fit(), n_datasets=4).shape
        (4, 3)
        """
        self._check_fit(fit)
        draws = fit["posterior"].to_dataset()
        draws = draws.stack(sample=("chain", "draw"))  # noqa: PD013
        m, S = as_count(n_datasets, "n_datasets"), draws.sizes["sample"]
        if m > S:
            raise ValueError(
                f"n_datasets must be at most the {S} draws of the fit; got {m}"
            )
        matrices = self._matrices(X, m)
        seed = as_seed(random_seed)
        fit.attrs["synthesis_seeds"] = [*fit.attrs.get("synthesis_seeds", []), seed]
        rng = np.random.default_rng(seed)
        spaced = draws.isel(sample=((np.arange(m) + 0.5) * S / m).astype(int))
        columns = {
            name: spaced[name].transpose("sample", ...).to_numpy() for name in spaced
        }
        rows = ({name: values[i] for name, values in columns.items()} for i in range(m))
        return xr.DataArray(
            np.stack(
                [
                    self.draw_dataset(row, rng, **matrix, **settings)
                    for row, matrix in zip(rows, matrices, strict=True)
                ]
            ),
            dims=("dataset", "record"),
            coords={"dataset": np.arange(m)},
            name="y",
        ).assign_coords(self._labels())

    def _matrices(self, X, m):
        """Return the predictors of m data sets as :meth:`draw_dataset` takes them."""
        if self.design is None:
            if X is not None:
                raise ValueError(f"X must be None; {type(self).__name__} has no design")
            return [{}] * m
        if X is None:
            return [{"X": self.design.X}] * m
        if isinstance(X, pd.DataFrame) or len(X) != m:
            given = "one" if isinstance(X, pd.DataFrame) else f"{len(X)}"
            raise ValueError(
                f"X must be {m} tables, one for each data set; got {given}"
            )
        tables = [aligned(table, "X", self.index, "y") for table in X]
        wrong = [len(table) for table in tables if len(table) != len(self.y)]
        if wrong:
            raise ValueError(
                f"X must have {len(self.y)} rows in each table, as y has; got "
                f"{wrong[0]}"
            )
        return [{"X": self.design.encode(table)} for table in tables]

    def _check_fit(self, fit):
        self._check_unchanged()
        if fit.attrs.get("model") != self._mark(fit.attrs.get("random_seed")):
            theirs = fit.attrs.get("synthesizer", "elsewhere")
            raise ValueError(
                f"fit must come from this {type(self).__name__}, with the same data; "
                f"it comes from {theirs}"
            )


def _warn_of(fit):
    """Warn whoever called a method that made a fit, if something is wrong with it."""
    if fit.attrs["not_converged"]:
        warnings.warn(
            fit.attrs["not_converged"], convergence.ConvergenceWarning, stacklevel=3
        )
