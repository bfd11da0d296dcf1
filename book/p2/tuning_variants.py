"""P2's variants of its weights, and the studies to which both chapters on tuning apply them."""

import numpy as np

import pseudopost as pp
from companion import Study, by_profile

FAMILIES = {
    family: (family, f"{family}, c = 1.5", f"{family}, g = 0.1")
    for family in ("Pairwise", "Marginal")
}
P, PC, PG = FAMILIES["Pairwise"]
M, MC, MG = FAMILIES["Marginal"]
COLOURS = pp.plots.PALETTE
# Order of the joint risk, c and g. With c = 0 every record has the weight g.
VARIANTS = {
    "Unweighted": (1, 0, 1),
    "Marginal": (1, 1, 0),
    "Marginal, c = 1.5": (1, 1.5, 0),
    "Marginal, g = 0.1": (1, 1, 0.1),
    "Pairwise": (2, 1, 0),
    "Pairwise, c = 1.5": (2, 1.5, 0),
    "Pairwise, g = 0.1": (2, 1, 0.1),
    "order 3": (3, 1, 0),
    "order 4": (4, 1, 0),
    "Scalar, 0.27": (1, 0, 0.27),
}


def make_studies():
    """Three simulated files, before any fit, by seed."""
    return {
        seed: Study(
            pp.datasets.consumer_expenditure(by_profile(1000, 6208), random_seed=seed),
            response="income",
            known=["gender", "age", "region"],
            n_components=by_profile(4, 10, 20),
            shift=10_000,
            radius=0.2,
            alone=1.0,
            draws=by_profile(80, 400, 2000),
            tune=by_profile(80, 200, 1000),
            random_seed=seed,
        )
        for seed in range(1, by_profile(2, 4))
    }


def weights_of_order(study, order):
    """Weights from the joint risk of so many records; order 1 gives the marginal ones."""
    patterns = study.data[study.known]
    return pp.pairwise_weights(
        study.y, patterns=patterns, order=order, ball="signed", alone=1.0
    )


def make_weights(studies):
    """Weights by order of the joint risk, and by name of the variant, of each file."""
    raw = {
        seed: {order: weights_of_order(study, order) for order in (1, 2, 3, 4)}
        for seed, study in studies.items()
    }
    weights = {
        seed: {
            name: pp.adjust_weights(raw[seed][order], c, g)
            for name, (order, c, g) in VARIANTS.items()
        }
        for seed in studies
    }
    return raw, weights


def line(marginal, weights):
    """Least-squares line of weights on the marginal ones, losses left out."""
    x, w = marginal[marginal < 1], weights[marginal < 1]
    b, a = np.polyfit(x, w, 1)
    r2 = 1.0 if np.ptp(w) < 1e-9 else np.corrcoef(x, w)[0, 1] ** 2
    return {"a": a, "b": b, "ordinary share": a / w.mean(), "R squared": r2}


def weighted_quantile(income, weights):
    """90% quantile of a file under weights."""
    return np.quantile(income, 0.9, weights=weights, method="inverted_cdf")


def is_unchanged(weights, raw):
    """Whether c = 1 and g = 0 leave the pairwise weights as they were."""
    return all(
        np.array_equal(pp.adjust_weights(raw[seed][2], 1, 0), weights[seed][P])
        for seed in weights
    )
