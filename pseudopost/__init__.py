"""Bayesian pseudo posterior synthesis for privacy."""

__version__ = "0.1.0"

from pseudopost import cache, datasets, plots
from pseudopost.likelihood import pointwise_log_likelihood, weighted_likelihood
from pseudopost.privacy import (
    Reweighting,
    calibrate_reweighting,
    count_weights,
    epsilon,
    lipschitz_bounds,
    lipschitz_weights,
    reweight,
)
from pseudopost.synthesizers import (
    ConvergenceWarning,
    NegativeBinomialSynthesizer,
    PoissonSynthesizer,
    Synthesizer,
)
from pseudopost.utility import (
    bootstrap_interval,
    combine_partially_synthetic,
    interval_overlap,
)
from pseudopost.weights import marginal_weights

__all__ = [
    "ConvergenceWarning",
    "NegativeBinomialSynthesizer",
    "PoissonSynthesizer",
    "Reweighting",
    "Synthesizer",
    "bootstrap_interval",
    "cache",
    "calibrate_reweighting",
    "combine_partially_synthetic",
    "count_weights",
    "datasets",
    "epsilon",
    "interval_overlap",
    "lipschitz_bounds",
    "lipschitz_weights",
    "marginal_weights",
    "plots",
    "pointwise_log_likelihood",
    "reweight",
    "weighted_likelihood",
]
