"""Bayesian pseudo posterior synthesis for privacy.

Where a docstring says P1, P2 or P3, it means one of the three papers that the book
walks through; "Book:" is followed by the label of the chapter or section that explains
the name.
"""

__version__ = "0.1.0"

from pseudopost import cache, datasets, plots
from pseudopost.asymptotics import (
    Information,
    PseudoMLE,
    adjust_draws,
    information,
    pseudo_mle,
)
from pseudopost.audit import epsilon_lower_bound, epsilon_lower_bound_one_run
from pseudopost.calibration import (
    Calibration,
    calibrate_reweighting,
    match_scalar_weight,
)
from pseudopost.censoring import Censored, censored
from pseudopost.convergence import ConvergenceWarning
from pseudopost.counts import NegativeBinomialSynthesizer, PoissonSynthesizer
from pseudopost.deletion import deletion_loss, expected_bounds, privacy_loss
from pseudopost.design import Design, design_matrix
from pseudopost.divergence import affinity, renyi_divergence
from pseudopost.guesses import guess_evidence, guess_probabilities
from pseudopost.likelihood import pointwise_log_likelihood, weighted_likelihood
from pseudopost.mixture import MixtureSynthesizer
from pseudopost.montecarlo import Coverage, coverage, local_to_global, replicate
from pseudopost.privacy import epsilon, lipschitz_bounds
from pseudopost.risk import (
    MatchRates,
    ball_ends,
    identification_risk,
    match_rates,
    top_code,
)
from pseudopost.survey import design_covariance
from pseudopost.synthesizers import Synthesizer
from pseudopost.tracing import cheapest_weights, trace_weights
from pseudopost.utility import (
    Combined,
    ECDFDistance,
    Interval,
    PropensityScore,
    bootstrap_interval,
    combine_partially_synthetic,
    ecdf_distance,
    interval_overlap,
    propensity_score_mse,
)
from pseudopost.weights import (
    adjust_weights,
    count_weights,
    lipschitz_weights,
    marginal_weights,
    pairwise_weights,
    reweight,
    sigmoid_weights,
)

__all__ = [
    "Calibration",
    "Censored",
    "Combined",
    "ConvergenceWarning",
    "Coverage",
    "Design",
    "ECDFDistance",
    "Information",
    "Interval",
    "MatchRates",
    "MixtureSynthesizer",
    "NegativeBinomialSynthesizer",
    "PoissonSynthesizer",
    "PropensityScore",
    "PseudoMLE",
    "Synthesizer",
    "adjust_draws",
    "adjust_weights",
    "affinity",
    "ball_ends",
    "bootstrap_interval",
    "cache",
    "calibrate_reweighting",
    "censored",
    "cheapest_weights",
    "combine_partially_synthetic",
    "count_weights",
    "coverage",
    "datasets",
    "deletion_loss",
    "design_covariance",
    "design_matrix",
    "ecdf_distance",
    "epsilon",
    "epsilon_lower_bound",
    "epsilon_lower_bound_one_run",
    "expected_bounds",
    "guess_evidence",
    "guess_probabilities",
    "identification_risk",
    "information",
    "interval_overlap",
    "lipschitz_bounds",
    "lipschitz_weights",
    "local_to_global",
    "marginal_weights",
    "match_rates",
    "match_scalar_weight",
    "pairwise_weights",
    "plots",
    "pointwise_log_likelihood",
    "privacy_loss",
    "propensity_score_mse",
    "pseudo_mle",
    "renyi_divergence",
    "replicate",
    "reweight",
    "sigmoid_weights",
    "top_code",
    "trace_weights",
    "weighted_likelihood",
]
