"""Numbers that are sound by themselves and too large together, and requests without end."""

import numpy as np
import pandas as pd
import pytest

import pseudopost as pp
from pseudopost._checks import check_finite

Y = np.arange(1.0, 7.0)
HUGE = 1e308


def mixture(**settings):
    return pp.MixtureSynthesizer(Y, Y[:, None] ** 2, **{"n_components": 2} | settings)


TOO_LARGE = {
    "affinity": (
        lambda: pp.affinity([800, 1], [1.0]),
        "log_ratio must not be so large: the exponential of a weight times it",
    ),
    "divergence": (
        lambda: pp.renyi_divergence([800, 1], [0.95]),
        "log_ratio must not be so large: the exponential of a weight times it",
    ),
    "overlap": (
        lambda: pp.interval_overlap((-HUGE, HUGE), (0, 1)),
        "interval must not be so large: its length is not finite",
    ),
    "combined": (
        lambda: pp.combine_partially_synthetic([HUGE, -HUGE], [1, 1]),
        "estimates and variances must not be so large: their mean or variance",
    ),
    "top-coded": (
        lambda: pp.top_code([HUGE, HUGE, 1], 10, "mean"),
        "y must not be so large: the mean above the threshold is not finite",
    ),
    "shift": (
        lambda: mixture(shift=1e300),
        r"shift must leave values distinct; of 6 in y there are 1 left after 1e\+300",
    ),
}


@pytest.mark.parametrize(("use", "text"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_what_overflows_is_named(use, text):
    with pytest.raises(ValueError, match=rf"^{text}"):
        use()


def test_finite_values_pass():
    check_finite([0, HUGE], "y", "nothing")


def test_a_shift_may_join_a_few_values():
    y = np.r_[Y, 1 + 1e-12]
    joined = pp.MixtureSynthesizer(y, np.arange(7.0)[:, None], 2, shift=1e6).log_y
    assert len(np.unique(joined)) == 6


WITHOUT_END = {
    "draws": (
        lambda: pp.PoissonSynthesizer([1, 2]).fit(draws=2**63),
        "draws must be at most 10000000",
    ),
    "tune": (
        lambda: pp.PoissonSynthesizer([1, 2]).fit(tune=10**8),
        "tune must be at most 10000000",
    ),
    "chains": (
        lambda: pp.PoissonSynthesizer([1, 2]).fit(chains=10**5),
        "chains must be at most 10000",
    ),
    "components": (
        lambda: mixture(n_components=10**9),
        "n_components must be at most 1000",
    ),
    "resamples": (
        lambda: pp.bootstrap_interval(Y, np.mean, n_resamples=10**15),
        "n_resamples must be at most 10000000",
    ),
    "replicates": (
        lambda: pp.replicate(lambda rng: {"a": 1.0}, 10**15, n_jobs=1),
        "n_replicates must be at most 10000000",
    ),
}


@pytest.mark.parametrize(("use", "text"), WITHOUT_END.values(), ids=WITHOUT_END)
def test_requests_without_end_are_refused(use, text):
    with pytest.raises(ValueError, match=rf"^{text}; got \d+$"):
        use()


def test_an_order_beyond_every_pattern_ends_at_once():
    patterns = [1, 1, 1, 2, 2, 2]
    settings = {"radius": 3.0, "patterns": patterns, "alone": 0.25}
    found, all_three = (
        pp.pairwise_weights(Y, order=order, **settings) for order in (10**9, 4)
    )
    np.testing.assert_array_equal(found, all_three)
    np.testing.assert_array_equal(found, 0.75)


def test_patterns_without_an_order_are_refused():
    with pytest.raises(ValueError, match=r"^patterns must be in the order of y; got {"):
        pp.identification_risk(Y, Y, patterns={1, 2, 3, 4, 5, 6})


@pytest.mark.parametrize("pooled", ["no", 1, None, pd.NA])
def test_a_flag_is_true_or_false(pooled):
    with pytest.raises(ValueError, match=r"^pooled must be True or False; got"):
        pp.bootstrap_interval(Y, np.mean, pooled=pooled)
