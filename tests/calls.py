"""A valid call of everything public that takes numbers, and what its arguments are."""

import inspect
import re

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import pseudopost as pp


def by_hand(synthesizer, weights, draws=4):
    """Return a fit that was not sampled."""
    mu = np.linspace(8, 14, 2 * draws).reshape(2, draws)
    fit = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset({"mu": (("chain", "draw"), mu)}),
            "constant_data": xr.Dataset({"weights": ("record", weights)}),
            "sample_stats": xr.Dataset(),
        }
    )
    sampling = {"draws": draws, "tune": 4, "chains": 2, "random_seed": 1}
    fit.attrs = {"model": synthesizer._mark(1), "not_converged": "", **sampling}
    return fit


def weighted_likelihood(**arguments):
    with pm.Model() as model:
        pp.weighted_likelihood(**arguments)
    return model["y_weights"].get_value()


def on_new_axes(plot):
    return lambda **arguments: plot(ax=Figure().add_subplot(), **arguments)


class CensoredPoisson(pp.Censored, pp.PoissonSynthesizer):
    pass


Y = [2, 4, 9, 12, 20, 21]
OTHER = [3, 4, 8, 15, 19, 30]
UNIT = [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
POISSON = pp.PoissonSynthesizer(Y)
FIT = by_hand(POISSON, np.ones(6))
WEIGHTED = by_hand(POISSON, UNIT)
MANY = by_hand(POISSON, UNIT, draws=20)
SAMPLING = {"draws": 4, "tune": 4, "chains": 1}
FILES = [OTHER, Y]
DRAWS = [[x + draw**1.5 / 9 for x in OTHER] for draw in range(30)]
RATIOS = [*zip(Y, OTHER, strict=True)]
BALL = {"radius": 0.2, "ball": "absolute"}
PATTERNS = {"patterns": list("uuvuvv")}
LINE = {"scale": 1.5, "offset": -0.25}
ASKED = {"model": POISSON, "weights": UNIT, "mass": [0.0, 0.0, 0.25, 0.25, 0.25, 0.25]}
QUIET = {"random_seed": 1, "progressbar": False}
RUN = {**QUIET, "n_jobs": 1}
# A valid call of everything public that takes numbers.
CALLS = {
    "NegativeBinomialSynthesizer": {"y": Y, "X": [[x] for x in OTHER]},
    "PoissonSynthesizer": {"y": Y, "shape": 0.5, "rate": 0.001},
    "MixtureSynthesizer": {
        "y": Y,
        "X": [[x] for x in OTHER],
        "n_components": 2,
        "min_sigma": 0.05,
        "shift": 1.0,
    },
    "Synthesizer.fit": {"weights": UNIT, **SAMPLING, **QUIET},
    "Synthesizer.resample": {"fit": MANY, "weights": UNIT, "random_seed": 1},
    "Synthesizer.synthesize": {"fit": FIT, "n_datasets": 2, "random_seed": 1},
    "adjust_draws": {"model": POISSON, "fit": WEIGHTED, "weights": UNIT},
    "adjust_weights": {"weights": UNIT, **LINE},
    "affinity": {"log_ratio": RATIOS, "weights": UNIT, "mass": [0.25, 0.75]},
    "ball_ends": {"y": Y, **BALL},
    "bootstrap_interval": {
        "synthetic": FILES,
        "statistic": np.mean,
        "level": 0.9,
        "n_resamples": 4,
        "pooled": False,
        "random_seed": 1,
    },
    "calibrate_reweighting": {
        "synthesizer": POISSON,
        "fit": WEIGHTED,
        "weights": UNIT,
        "tolerance": 100.0,
        "k": 0.95,
        "max_steps": 1,
    },
    "Censored": {
        "y": Y,
        "epsilon": 0.5,
        "reference": [-2.0, -1.75, -2.25, -2.5, -3, -2],
    },
    "censored": {
        "log_likelihood": [[-3.0, -2.5, -2.25, -4.0, -9.0, -2.0], [-2.0] * 6],
        "epsilon": 0.5,
        "weights": UNIT,
        "reference": [-2.0, -1.75, -2.25, -2.5, -3, -2],
    },
    "cheapest_weights": {
        "synthesizer": POISSON,
        "candidates": [UNIT, [0.5, 0.5, 0.75, 0.75, 1.0, 1.0]],
        "loss": lambda z: abs(z.mean(axis=1) - 9),
        "limit": 1000.0,
        "risk": lambda z: np.full(len(z), 0.5),
        "size": 4,
        "max_fits": 1,
        "draws": 20,
        "tune": 20,
        "chains": 2,
        "random_seed": 1,
    },
    "combine_partially_synthetic": {"estimates": Y, "variances": OTHER, "level": 0.9},
    "count_weights": {"y": Y, "radius": 0.2, **LINE},
    "coverage": {"low": [-1] * 6, "high": [101] * 6, "truth": 10},
    "datasets.consumer_expenditure": {"n": 9, "random_seed": 1},
    "datasets.doctorate_salary": {"n": 9, "random_seed": 1},
    "datasets.lognormal_mixture": {
        "n": 9,
        "shares": [0.75, 0.25],
        "spread": [0.1, 0.7],
        "noise": [0.2, 0.1],
        "upper": 0.5,
        "random_seed": 1,
    },
    "datasets.negative_binomial_mixture": {
        "n": 9,
        "mu": [9, 4],
        "phi": [5, 20],
        "shares": [0.75, 0.25],
        "random_seed": 1,
    },
    "design_covariance": {"values": RATIOS, "clusters": list("uuvvww")},
    "design_matrix": {"X": [[x] for x in Y], "n": 6},
    "ecdf_distance": {"y": Y, "synthetic": FILES},
    "epsilon": {"bounds": Y},
    "deletion_loss": {"log_likelihood": DRAWS, "weights": UNIT},
    "epsilon_lower_bound": {
        "true_positives": 9,
        "trials_with": 10,
        "false_positives": 2,
        "trials_without": 12,
        "delta": 0.01,
        "confidence": 0.9,
    },
    "epsilon_lower_bound_one_run": {
        "correct": 19,
        "guesses": 20,
        "canaries": 24,
        "delta": 0.001,
        "confidence": 0.9,
    },
    "expected_bounds": {"log_likelihood": DRAWS, "size": 2},
    "privacy_loss": {"change": DRAWS},
    "guess_evidence": {"change": DRAWS, "log_release": [[*range(30)]]},
    "guess_probabilities": {"evidence": FILES, "prior": UNIT},
    "match_rates": {"y": Y, "synthetic": FILES, **BALL, **PATTERNS},
    "identification_risk": {"y": Y, "synthetic": FILES, **BALL, **PATTERNS, "alone": 0},
    "information": {**ASKED, "theta": [2.0]},
    "interval_overlap": {"interval": [0, 50], "reference": [30, 101]},
    "lipschitz_bounds": {"log_likelihood": FILES, "weights": UNIT},
    "lipschitz_weights": {"log_likelihood": FILES, **LINE},
    "local_to_global": {
        "generate": lambda rng: np.arange(3),
        "make_synthesizer": pp.PoissonSynthesizer,
        "n_databases": 1,
        "k": 0.95,
        "n_datasets": 2,
        **RUN,
    },
    "marginal_weights": {"risk": UNIT, **LINE},
    "match_scalar_weight": {
        "synthesizer": POISSON,
        "fit": FIT,
        "risk": lambda z: np.full(6, 0.5),
        "target": 0.25,
        "tolerance": 0.5,
        "max_steps": 1,
        "n_datasets": 2,
        "first": 0.5,
    },
    "pairwise_weights": {
        "y": Y,
        "synthetic": FILES,
        **BALL,
        **PATTERNS,
        "order": 2,
        "alone": 0,
    },
    "propensity_score_mse": {"confidential": Y, "synthetic": OTHER, "unchanged": UNIT},
    "pseudo_mle": {**ASKED, "start": [2.0]},
    "renyi_divergence": {
        "log_ratio": RATIOS,
        "weights": [w / 2 for w in UNIT],
        "mass": [0.25, 0.75],
    },
    "replicate": {"task": lambda rng: {"a": rng.random()}, "n_replicates": 2, **RUN},
    "reweight": {"weights": UNIT, "bounds": Y, "k": 0.95},
    "sigmoid_weights": {"risk": UNIT, "c_min": 1.0, "c_max": 1.5, "slope": 0.8},
    "top_code": {"y": Y, "threshold": 10.0, "replacement": "mean"},
    "trace_weights": {
        "log_likelihood": DRAWS,
        "weights": UNIT,
        "candidates": [UNIT, [0.5, 0.5, 0.75, 0.75, 1.0, 1.0]],
        "measures": [[draw[0], draw[5]] for draw in DRAWS],
        "size": 2,
    },
    "weighted_likelihood": {"name": "y", "logp": pt.zeros(6), "weights": UNIT},
    "plots.bounds_against_weights": {"weights": UNIT, "bounds": Y, "name": "LW"},
    "plots.risks_before_after": {
        "before": UNIT,
        "after": UNIT,
        "name": "LW",
        "rise": 0.25,
        "limit": 0.5,
    },
    "plots.synthetic_against_data": {
        "y": Y,
        "released": OTHER,
        "name": "LW",
        "unit": "dollars",
    },
    "plots.weights_against_values": {
        "y": Y,
        "weights": UNIT,
        "name": "LW",
        "xlabel": "Income",
    },
    "plots.weights_before_after": {"before": UNIT, "after": UNIT, "name": "LW"},
}
NO_NUMBERS = {
    "Synthesizer": "abstract",
    "Synthesizer.log_likelihood": "takes a fit",
    "Synthesizer.record_terms": "takes a fit",
    "MixtureSynthesizer.synthesize": "takes the numbers of Synthesizer.synthesize",
    "pointwise_log_likelihood": "takes a fit",
    "plots.intervals": "takes a table of what bootstrap_interval returns",
    "plots.violins": "takes a dict of series",
    "cache.on": "takes a path",
    "cache.off": "takes nothing",
    "cache.clear": "takes nothing",
    "cache.stored": "takes a key and a function",
    "datasets.health_insurance_experiment": "takes nothing",
    "datasets.read_consumer_expenditure": "takes a path",
    "datasets.read_doctorate_recipients": "takes a path",
} | {
    f"Synthesizer.{name}": "called by the package alone, with what it has checked"
    for name in (
        "add_likelihood",
        "build_model",
        "complete_fit",
        "draw_dataset",
        "record_term",
        "draw_posterior",
    )
}
# A valid call compiles; bad numbers are refused before, unless they follow the model.
COMPILES = {
    "Synthesizer.fit",
    "calibrate_reweighting",
    "cheapest_weights",
    "local_to_global",
    "match_scalar_weight",
}
COMPILES_FIRST = {"adjust_draws", "information", "pseudo_mle"}
# Documented types that are no numbers, or have tests of their own.
NO_NUMBER_TYPES = {
    "Synthesizer",
    "Synthesizer or pm.Model",
    "TensorVariable, shape (n,)",
    "callable",
    "callable, optional",
    "list of str, optional",
    "path-like, optional",
    "sequence of DataFrame or array-like, shape (n, columns), optional",
    "str",
    "str, optional",
    "xarray.DataTree",
    "matplotlib.axes.Axes, optional",
}
KINDS = {
    r"((DataFrame|float) or )?array-like( or TensorVariable)?(, shape.*)?$": "array",
    r"array-like of int, shape \(n,\)$": "counts",
    r"float( or dict of float)?(, optional)?$": "number",
    r"int(, optional)?$": "whole",
    r"bool$": "flag",
    r"\{.*\}$": "choice",
}
# Where the name says more than the type.
KIND_OF_NAME = {
    "random_seed": "seed",
    "patterns": None,  # labels
    "clusters": None,
    "strata": None,
    "interval": "array",
    "reference": "array",
    "n_jobs": None,  # joblib's
}


def public_names():
    """Return what `pseudopost` shows: functions, classes and documented methods."""
    names = {}
    for name in pp.__all__:
        item = getattr(pp, name)
        if inspect.ismodule(item):
            for inner, function in inspect.getmembers(item, inspect.isfunction):
                if not inner.startswith("_") and function.__module__ == item.__name__:
                    names[f"{name}.{inner}"] = function
        elif not (inspect.isclass(item) and issubclass(item, (tuple, Warning))):
            names[name] = item
            methods = vars(item).items() if inspect.isclass(item) else ()
            for inner, method in methods:
                shown = inspect.isfunction(method) and not inner.startswith("_")
                if shown and method.__doc__:
                    names[f"{name}.{inner}"] = method
    return names


PUBLIC = public_names()


def documented(name):
    """Return the types of all parameters, by name, as its docstring has them."""
    text = inspect.getdoc(PUBLIC[name])
    parts = re.split(r"^(\w+)\n-+\n", text, flags=re.M)
    section = dict(zip(parts[1::2], parts[2::2], strict=True)).get("Parameters", "")
    types = {}
    entries = re.findall(r"^(\w.*?)(?: : (.*))?\n((?: .*\n)*)", section + "\n", re.M)
    for names, kind, text in entries:
        for parameter in names.split(", "):
            if not kind:
                (other,) = re.findall(r"As in :func:`(\w+)`", text)
                types[parameter] = documented(other)[parameter]
            else:
                types[parameter] = kind
    return types


def kind_of(parameter, documented_type):
    """Return a kind of numbers, or None; raise if the type is not understood."""
    if parameter in KIND_OF_NAME:
        return KIND_OF_NAME[parameter]
    if documented_type in NO_NUMBER_TYPES:
        return None
    (kind,) = (k for pattern, k in KINDS.items() if re.match(pattern, documented_type))
    return kind


# What is called in their place.
BY_HAND = {"Censored": CensoredPoisson, "weighted_likelihood": weighted_likelihood}


def call(name, **changed):
    owner, _, method = name.partition(".")
    if owner == "Synthesizer":
        function = getattr(POISSON, method)
    elif owner == "plots":
        function = on_new_axes(PUBLIC[name])
    else:
        function = BY_HAND.get(name, PUBLIC[name])
    return function(**CALLS[name] | changed)


HELD = ("y", "X", "log_y", "shape", "rate", "epsilon", "reference")


def numbers_of(result):
    """Return every number in a result, in arrays."""
    if isinstance(result, pp.Synthesizer):
        result = [vars(result).get(k) for k in HELD]
    if isinstance(result, pp.Design):
        result = result.X
    if isinstance(result, Axes):
        result = [c.get_offsets() for c in result.collections]
    if isinstance(result, xr.DataTree):
        result = result["posterior"].to_dataset()
    if isinstance(result, xr.Dataset):
        result = [result[key].to_numpy() for key in result]
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, pd.DataFrame):
        result = [result[key].to_numpy() for key in result]
    if isinstance(result, (list, tuple)):
        return [array for part in result for array in numbers_of(part)]
    if result is None or isinstance(result, str):
        return []
    array = np.asarray(result)
    return [array] if array.dtype.kind in "iuf" else []
