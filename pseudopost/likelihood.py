"""Record weights on the likelihood of any PyMC model."""

from weakref import WeakKeyDictionary

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from pytensor.graph.replace import vectorize_graph

from pseudopost._checks import as_vector

DRAWS_PER_CALL = 100
# Compiled log-likelihoods, as long as their models live.
COMPILED = WeakKeyDictionary()


def weighted_likelihood(name, logp, weights, dims=None):
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

    Returns
    -------
    TensorVariable, shape (n,)
        The weighted contributions; PyMC adds their sum to the log density.

    Raises
    ------
    ValueError
        If `logp` is not a vector, a weight is missing, not finite or outside [0, 1], or
        `name` is taken.

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
    weights = as_vector(weights, "weights", length=logp.type.shape[0], low=0, high=1)
    if name in pm.modelcontext(None).named_vars:
        raise ValueError(f"name must be new in the model; {name!r} is taken")
    weights = pm.Data(f"{name}_weights", weights, dims=dims)
    return pm.Potential(name, pt.switch(weights > 0, weights * logp, 0.0), dims=dims)


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
    xarray.DataArray, shape (S, n)
        Dims ``sample`` (chain after chain) and ``record``; a warning that `fit` carries
        about its convergence stays in the attribute ``not_converged``.

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
    >>> pp.pointwise_log_likelihood(model, fit).values.round(2)
    array([[-0.92, -2.92],
           [-1.42, -1.42]])
    """
    if f"{name}_weights" not in model.named_vars:
        raise ValueError(f"name must be that of a weighted likelihood; got {name!r}")
    draws = fit["posterior"].to_dataset().stack(sample=("chain", "draw"))
    missing = [rv.name for rv in model.free_RVs if rv.name not in draws]
    if missing:
        raise ValueError(
            f"fit must hold every parameter of the model; it lacks {missing}"
        )
    rows = _rows(model, name)
    values = [
        draws[rv.name].transpose("sample", ...).to_numpy() for rv in model.free_RVs
    ]
    chunks = [
        rows(*(value[start : start + DRAWS_PER_CALL] for value in values))
        for start in range(0, draws.sizes["sample"], DRAWS_PER_CALL)
    ]
    attrs = {key: fit.attrs[key] for key in ("not_converged",) if key in fit.attrs}
    return xr.DataArray(np.concatenate(chunks), dims=("sample", "record"), attrs=attrs)


def _rows(model, name):
    """Compile the pointwise log-likelihood of a batch of draws, once per model."""
    key = (name, *model.free_RVs)
    if key not in COMPILED.setdefault(model, {}):
        weights = model[f"{name}_weights"]
        batches = [
            pt.tensor(rv.name, dtype=rv.dtype, shape=(None, *rv.type.shape))
            for rv in model.free_RVs
        ]
        swaps = dict(zip(model.free_RVs, batches, strict=True)) | {
            weights: pt.ones_like(weights)
        }
        COMPILED[model][key] = pytensor.function(
            batches,
            vectorize_graph(model[name], swaps),
            mode="FAST_COMPILE",
            on_unused_input="ignore",
        )
    return COMPILED[model][key]
