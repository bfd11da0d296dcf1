"""Record weights on the likelihood of any PyMC model."""

import math

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from pytensor.gradient import jacobian
from pytensor.graph.basic import Constant
from pytensor.graph.replace import graph_replace, vectorize_graph
from pytensor.graph.rewriting.utils import rewrite_graph
from pytensor.graph.traversal import ancestors, explicit_graph_inputs
from pytensor.tensor.sharedvar import TensorSharedVariable

from pseudopost import compiled
from pseudopost._checks import aligned, as_mass, as_vector

DRAWS_PER_CALL = 100


def weighted_likelihood(name, logp, weights, dims=None, term=None):
    r"""Add a weighted log-likelihood to the PyMC model on the context stack.

    The term is :math:`\sum_i \alpha_i \log p(y_i \mid \theta)`.
    The weights become the mutable ``pm.Data`` called ``{name}_weights``, so that a
    model compiled once serves every weight vector. A weight of 0 removes its record
    even where the record's log-likelihood is not finite.

    Parameters
    ----------
    name : str
        Name of the potential.
    logp : TensorVariable, shape (n,)
        Pointwise log-likelihood, from ``pm.logp`` or written out. Confidential values
        go in as ``pm.Data``: PyTensor keeps compiled models on disk, with every
        constant in them.
    weights : array-like, shape (n,)
        Record weights in [0, 1].
    dims : str, optional
        Name of the record dimension, where the model has one.
    term : callable, optional
        Takes `logp` and the weights as tensors, and returns each record's term; by
        default their product.

    Returns
    -------
    TensorVariable, shape (n,)
        The weighted contributions; PyMC adds their sum to the log density.

    Raises
    ------
    ValueError
        If `logp` is not a vector, `weights` has another length, a weight is missing,
        not finite or outside [0, 1], or `name` is taken.

    References
    ----------
    P3, Eq 1.2; P1, Eq 10; P2, Eq 10.
    Book: :ref:`pseudo-posterior`.

    Examples
    --------
    >>> import pymc as pm
    >>> import pseudopost as pp
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    ...     values = pm.Data("values", [0.0, 2.0])
    ...     logp = pm.logp(pm.Normal.dist(mu, 1), values)
    ...     term = pp.weighted_likelihood("y", logp, [1, 0.5])
    >>> term.eval({mu: 0.0}).round(2)
    array([-0.92, -1.46])
    """
    logp = pt.as_tensor_variable(logp)
    if logp.ndim != 1:
        raise ValueError(
            f"logp must be a vector with one value per record; got {logp.ndim} dims"
        )
    weights = as_vector(weights, "weights", length=_length(logp), low=0, high=1)
    if name in pm.modelcontext(None).named_vars:
        raise ValueError(f"name must be new in the model; {name!r} is taken")
    weights = pm.Data(f"{name}_weights", weights, dims=dims)
    terms = weights * logp if term is None else term(logp, weights)
    potential = pm.Potential(name, pt.switch(weights > 0, terms, 0.0), dims=dims)
    potential.tag.log_likelihood = logp
    return potential


def _length(logp):
    """Return the number of records, or None where more than data determine it."""
    length = rewrite_graph(logp.shape[0], include=("ShapeOpt", "canonicalize"))
    roots = [v for v in ancestors([length]) if v.owner is None]
    if all(isinstance(v, (Constant, TensorSharedVariable)) for v in roots):
        return int(compiled.function([], length)())
    return None


def pointwise_log_likelihood(model, fit, name="y"):
    """Unweighted log-likelihood of every record under every draw.

    Parameters
    ----------
    model : pm.Model
        A model that calls :func:`weighted_likelihood`.
    fit : xarray.DataTree
        Its posterior, in the group ``posterior`` with dims ``chain`` and ``draw``.
    name : str
        The name given to :func:`weighted_likelihood`.

    Returns
    -------
    xarray.DataArray, shape (chains, draws, n)
        Dims ``chain``, ``draw`` and ``record``; a warning that `fit` carries about its
        convergence stays in the attribute ``not_converged``.

    Raises
    ------
    ValueError
        If the model has no weighted likelihood called `name`, or `fit` lacks one of its
        parameters.

    References
    ----------
    P3, Algorithm 2, steps 1-2.
    Book: :ref:`pseudo-posterior`.

    Examples
    --------
    Two records under two draws, 0 and 1, of their mean:

    >>> import pymc as pm
    >>> import xarray as xr
    >>> import pseudopost as pp
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    ...     values = pm.Data("values", [0.0, 2.0])
    ...     logp = pm.logp(pm.Normal.dist(mu, 1), values)
    ...     _ = pp.weighted_likelihood("y", logp, [1, 0.5])
    >>> draws = xr.Dataset({"mu": (("chain", "draw"), [[0.0, 1.0]])})
    >>> fit = xr.DataTree.from_dict({"posterior": draws})
    >>> pp.pointwise_log_likelihood(model, fit).sel(chain=0).values.round(2)
    array([[-0.92, -2.92],
           [-1.42, -1.42]])
    """
    if f"{name}_weights" not in model.named_vars:
        raise ValueError(f"name must be that of a weighted likelihood; got {name!r}")
    posterior = fit["posterior"].to_dataset()
    missing = [rv.name for rv in model.free_RVs if rv.name not in posterior]
    if missing:
        raise ValueError(
            f"fit must hold every parameter of the model; it lacks {missing}"
        )
    rows = compiled.once(
        model, ("rows", name, *model.free_RVs), lambda: _compile_rows(model, name)
    )
    values = [draws_of(posterior, rv.name) for rv in model.free_RVs]
    chunks = [
        rows(*(value[start : start + DRAWS_PER_CALL] for value in values))
        for start in range(0, len(values[0]), DRAWS_PER_CALL)
    ]
    return by_draw(np.concatenate(chunks), fit)


def draws_of(posterior, name):
    """Return the draws of a parameter, shape (S, ...), chain after chain."""
    values = posterior[name].transpose("chain", "draw", ...).to_numpy()
    return values.reshape(-1, *values.shape[2:])


def by_draw(rows, fit):
    """Give S rows over records, chain after chain, the dims of their fit."""
    posterior = fit["posterior"].to_dataset()
    sizes = posterior.sizes["chain"], posterior.sizes["draw"]
    return xr.DataArray(
        np.reshape(rows, (*sizes, -1)),
        dims=("chain", "draw", "record"),
        coords={
            **{
                d: posterior.coords[d]
                for d in ("chain", "draw")
                if d in posterior.coords
            },
            "record": np.arange(np.shape(rows)[-1]),
        },
        name="y",
        attrs={k: v for k, v in fit.attrs.items() if k == "not_converged"},
    )


def _compile_rows(model, name):
    """Compile the pointwise log-likelihood of a batch of draws."""
    batches = [
        pt.tensor(rv.name, dtype=rv.dtype, shape=(None, *rv.type.shape))
        for rv in model.free_RVs
    ]
    swaps = dict(zip(model.free_RVs, batches, strict=True))
    log_likelihood = model[name].tag.log_likelihood
    return compiled.function(batches, vectorize_graph(log_likelihood, swaps))


class Derivatives:
    """A weighted likelihood as compiled functions of the unconstrained parameters."""

    def __init__(self, model, name):
        self._weights = model[f"{name}_weights"]
        ones = {self._weights: pt.ones_like(self._weights)}
        rows = graph_replace([model[name]], ones, strict=False)
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
        try:
            score = pytensor.grad(value, theta)
            curvature = jacobian(score, theta, vectorize=True)
        except (AttributeError, NotImplementedError, TypeError) as error:
            raise ValueError(
                f"model must have a likelihood {name!r} that PyTensor can "
                f"differentiate twice; it says: {error}"
            ) from error
        self.value = compiled.function([theta, mass], value)
        self.score = compiled.function([theta, mass], score)
        self.curvature = compiled.function([theta, mass], curvature)
        # The score is linear in the mass: its derivative has a column for each record.
        self.scores = compiled.function(
            [theta, mass], jacobian(score, mass, vectorize=True).T
        )

        named = [*model.free_RVs, *model.deterministics]
        graphs = model.replace_rvs_by_values(named)
        own = {
            variable.name: graph
            for variable, graph in zip(named, graphs, strict=True)
            if set(explicit_graph_inputs([graph])) <= set(parts)
        }
        self._names = list(own)
        self._values = compiled.function(
            [theta], graph_replace(list(own.values()), swaps, strict=False)
        )
        self._free = [variable.name for variable in model.free_RVs]
        self._unconstrained = compiled.function(
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
        return weights, as_mass(mass, own.size)

    def point(self, theta, name):
        """Return a point on the unconstrained scale, checked, by label if labelled."""
        labels = pd.Index(self.labels)
        if not isinstance(getattr(theta, "index", None), pd.RangeIndex):
            theta = aligned(theta, name, labels, "the parameters")
        return as_vector(theta, name, length=len(labels))

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
        rows = zip(*(draws_of(posterior, name) for name in self._free), strict=True)
        return np.stack([self._unconstrained(*row) for row in rows])


def derivatives_of(model, name):
    """Return the :class:`Derivatives` of a weighted likelihood, compiled once."""
    model = getattr(model, "model", None) or model
    if f"{name}_weights" not in getattr(model, "named_vars", ()):
        raise ValueError(
            f"model must have a weighted likelihood called {name!r}; got {model!r:.80}"
        )
    return compiled.once(model, ("derivatives", name), lambda: Derivatives(model, name))


def _forward(transform, rv):
    return rv if transform is None else transform.forward(rv, *rv.owner.inputs)
