import mixture_prior
import mixture_synthesizer as chapter
import numpy as np
import pandas as pd
import pytest
from component_draws import PI, X, draws, mixture
from income_mixture import density_arguments
from scipy import stats

import pseudopost as pp


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_shape():
    found = chapter.shape(np.array([-1.0, 0, 0, 1]))
    assert list(found.values()) == pytest.approx([-1, 1, 0, -1])


def test_log_dirichlet(rng):
    log_share = mixture_prior.log_dirichlet(np.full(20_000, 3.0), 4, rng)
    shares = np.exp(log_share)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    beta = stats.beta(0.75, 2.25)
    assert stats.kstest(shares[:, 0], beta.cdf).pvalue > 1e-3
    tiny = mixture_prior.log_dirichlet(np.array([1e-4]), 200, rng)
    assert np.isfinite(tiny).all()
    assert tiny.min() < -1000


def test_occupied_table():
    occupied = {2: np.array([1, 1, 2, 2]), np.inf: np.array([1, 2, 2, 3])}
    table = mixture_prior.occupied_table(occupied, {2: 1.4, np.inf: 2.1})
    assert list(table.index) == ["K = 2", "K = infinity"]
    assert table["mean, simulated"].to_list() == [1.5, 2]
    assert table[mixture_prior.LIMIT].to_list() == [0.25, 0]
    assert table[mixture_prior.FORMULA].to_list() == [1.4, 2.1]


def test_expected_occupied(rng):
    assert mixture_prior.expected_occupied(1.0, 2, 2) == pytest.approx(1.25)
    assert mixture_prior.expected_occupied(0.7, 5, 1) == pytest.approx(1)
    limit = mixture_prior.expected_occupied(0.7, np.inf, 30)
    assert limit == pytest.approx((0.7 / (0.7 + np.arange(30))).sum())
    assert mixture_prior.expected_occupied(0.7, 10_000, 30) == pytest.approx(
        limit, rel=1e-3
    )
    gamma, occupied = mixture_prior.simulated_prior(40, rng)
    assert gamma.mean() == pytest.approx(1, abs=0.05)
    for k, mean in mixture_prior.mean_occupied(occupied, 40).items():
        assert occupied[k].mean() == pytest.approx(mean, rel=0.03)


def test_prior_numbers():
    names = ["K = 10", "K = 20", "K = 50", "K = 200", "K = infinity"]
    prior = pd.DataFrame(
        {
            mixture_prior.FORMULA: [5.0, 7, 8, 8.6, 9],
            mixture_prior.LIMIT: [0.4, 0.2, 0.1, 0.03, 0],
        },
        names,
    )
    values = chapter.prior_numbers(prior)
    assert values["occupied-20"] == 7
    assert values["occupied-dp"] == 9
    assert values["limit-50"] == 0.1


def test_summary():
    income = np.array([-1.0, 0, 0, 5, 96])
    found = chapter.summary(income)
    assert found["50%"] == 0
    assert found["mean"] == 20
    assert found["largest"] == 96
    assert found["negative (records)"] == 1
    assert found["exactly 0 (records)"] == 2


def test_compared_with_data():
    interval = pp.utility.Interval
    row = {
        "Data": interval(10, 8, 12),
        "Synthetic": interval(11, 10, 14),
        "Top-coded": interval(7, 7, 7),
    }
    table = chapter.compared_with_data({"mean": row})
    assert table.loc["mean"].to_list() == [10, 11, 7, 0.5, 0]
    assert chapter.relative_error(table, "mean", "Top-coded") == pytest.approx(-0.3)


def test_weight_levels():
    w = np.array([0.1, 0.2, 0.3, 1])
    levels = chapter.weight_levels(
        dict.fromkeys(("confidential", chapter.SIGNED, "synthetic"), w), w < 0.25
    )
    assert levels.loc["synthetic"].to_list() == pytest.approx([0.1, 0.25, 1, 0.15, 1])
    values = chapter.weight_numbers(levels)
    assert values["pw-signed-ones"] == 1
    assert values["pw-syn-median"] == pytest.approx(0.25)


def drawn_by_hand(rng, n=4000):
    share = np.tile([[0.7], [0.3]], n)
    mean, sigma = np.array([np.zeros(n), np.full(n, 2.0)]), np.array([0.5, 1])
    component = (rng.random(n) > 0.7).astype(int)
    value = rng.normal(mean[component, np.arange(n)], sigma[component])
    return np.exp(value) - 3, share, mean, sigma


def test_standardised_files(rng):
    by_hand = [drawn_by_hand(rng) for _ in range(20)]
    z = np.array([drawn[0] for drawn in by_hand])
    standard = chapter.standardised_files(z, by_hand, shift=3)
    assert chapter.is_standard(standard)
    assert not chapter.is_standard(standard + 0.1)
    assert not chapter.is_standard(1.1 * standard)
    assert chapter.synthetic_files(z, standard)[1]
    assert not chapter.synthetic_files(z[:10], standard[:10])[1]
    assert not chapter.synthetic_files(z, standard + 0.1)[1]
    shares = [drawn[1] for drawn in by_hand]
    table = pd.DataFrame(
        {"package": [0.19], "by hand, Equation 7": [0.195]}, ["mean risk"]
    )
    assert chapter.allocation_by_equation_7(shares, standard, table)[1]
    assert not chapter.allocation_by_equation_7(shares, standard + 0.1, table)[1]
    assert not chapter.allocation_by_equation_7([1.01 * shares[0]], standard, table)[1]
    table["package"] = 0.21
    assert not chapter.allocation_by_equation_7(shares, standard, table)[1]


def measures(gap, bulk, tail, close, risk, top):
    return pd.Series(
        {
            chapter.GAP: gap,
            chapter.BULK: bulk,
            chapter.TAIL: tail,
            chapter.CLOSE: close,
            chapter.RISK: risk,
            chapter.TOP: top,
        }
    )


ONE = measures(0.05, 5, 20, 0.2, 0.15, 0.03)
MANY = measures(0.02, 2, 4, 0.25, 0.19, 0.09)


def test_numbers_of_the_argument():
    values = chapter.argument_numbers(ONE, MANY)
    assert len(values) == 13
    assert values["gap-one"] == 0.05
    assert values["t-many"] == 0.25
    assert values["top-ratio"] == pytest.approx(3)
    names = ("package", "by hand, Equation 7", "by hand, from the shares")
    table = pd.DataFrame(dict(zip(names, (MANY, ONE, 2 * ONE), strict=True)))
    assert chapter.allocation_numbers(table) == {
        "tail-package": 4,
        "tail-hand": 20,
        "top-seven": 0.09,
        "top-shares": 0.06,
        "gap-seven": 0.02,
        "gap-shares": 0.1,
    }


@pytest.mark.parametrize(
    ("row", "value", "holds"),
    [
        (chapter.TOP, 0.09, True),
        (chapter.TOP, 0.05, False),
        (chapter.GAP, 0.06, False),
        (chapter.BULK, 6, False),
        (chapter.TAIL, 21, False),
    ],
)
def test_flexible_or_parametric(row, value, holds):
    many = MANY.copy()
    many[row] = value
    words, verdict = chapter.flexible_or_parametric(
        pd.DataFrame({"K = 1": ONE, "K = 10": many})
    )
    assert verdict == holds
    assert words.startswith("K = 1 and 10: top 1% risk 0.03, ")


@pytest.mark.parametrize(
    ("gap", "close", "holds"),
    [(0.02, 0.25, True), (0.02, 0.6, False), (0.05, 0.25, False)],
)
def test_mixed_values(gap, close, holds):
    assert chapter.mixed_values(measures(gap, 2, 4, close, 0.2, 0.1))[1] == holds


def test_normal_component():
    values, means = np.array([1.0, 2]), np.array([0.5, 2.5])
    right = stats.norm.logpdf(values, means, 0.3)
    assert chapter.normal_component(right, values, means, 0.3)[1]
    # With the variance as the second argument of the density.
    wrong = stats.norm.logpdf(values, means, 0.09)
    assert not chapter.normal_component(wrong, values, means, 0.3)[1]


def test_prior_checks(rng):
    correlations = 2 * rng.beta(18, 18, 2000) - 1
    checks = chapter.prior_checks(rng.gamma(1, size=20_000), correlations, 36, rng)
    assert [bool(holds) for _, holds in checks] == [True] * 5


def test_priors_that_fail(rng):
    labels = rng.choice(3, 10_000, p=PI)
    assert chapter.multinomial_labels(labels, PI)[1]
    assert not chapter.multinomial_labels(labels, PI[::-1])[1]
    shares = rng.dirichlet(np.full(10, 0.2), 5000)
    assert chapter.dirichlet_shares(shares, gamma=2)[1]
    assert not chapter.dirichlet_shares(shares, gamma=20)[1]
    assert not chapter.dirichlet_shares(shares**2, gamma=2)[1]
    assert not chapter.gamma_prior(rng.gamma(1.2, size=5000))[1]
    # A Wishart matrix of few degrees of freedom has wider correlations.
    assert not chapter.uniform_correlations(2 * rng.beta(2, 2, 2000) - 1, 36)[1]
    grid = np.linspace(0.1, 5)
    assert chapter.half_t_prior(stats.t(3).logpdf(grid) + 7, grid)[1]
    assert not chapter.half_t_prior(stats.norm.logpdf(grid), grid)[1]


def test_one_model():
    model = object.__new__(pp.MixtureSynthesizer)
    assert chapter.one_model([model, model], ("", True))[1]
    assert not chapter.one_model([model], ("", True), ("", False))[1]
    assert not chapter.one_model([model, object()], ("", True))[1]


def test_labels_summed_out(rng):
    y = rng.normal(size=40)
    arguments = density_arguments(draws().isel(draw=0), X)
    density = np.log([mixture(v, x) for v, x in zip(y, X, strict=True)])
    assert chapter.labels_summed_out(density, density, density, y, arguments)[1]
    for wrong in range(3):
        found = [density + 1e-6 * (place == wrong) for place in range(3)]
        assert not chapter.labels_summed_out(*found, y, arguments)[1]


def test_better_than_topcoding():
    names = ["mean", "median", "90% quantile", "99% quantile", "earner coefficient"]
    table = pd.DataFrame(
        {"Data": 100.0, "Synthetic": 99.0, "Top-coded": 80.0}, index=names
    )
    words, holds = chapter.better_than_topcoding(table)
    assert holds
    assert words.startswith("mean -1.0% (top-coded -20.0%), 99% quantile -1.0%")
    values = chapter.inference_numbers(table)
    assert values["q99-Top-coded"] == pytest.approx(20)
    assert values["coef-Synthetic"] == pytest.approx(1)
    # The 90% quantile plays no part: top-coding leaves it alone.
    table.loc["90% quantile", "Top-coded"] = 100
    assert chapter.better_than_topcoding(table)[1]
    table.loc["99% quantile", "Synthetic"] = 70
    assert not chapter.better_than_topcoding(table)[1]


def test_source_of_weights():
    income = np.array([-5.0, 10, 20, 30, 900])
    top = income > 100

    def weights(**changes):
        return {
            "confidential": np.array([0.27, 0.25, 0.25, 0.3, 0.1]),
            chapter.SIGNED: np.array([1, 0.25, 0.25, 0.3, 0.1]),
            "synthetic": np.array([0.9, 0.95, 0.97, 0.99, 0.8]),
        } | changes

    words, holds = chapter.source_of_weights(weights(), income, top)
    assert holds
    assert words == (
        "confidential, signed ball 0.10/0.25/1.00, synthetic 0.80/0.95/0.99"
    )
    for change in (
        {"confidential": np.array([0.4, 0.4, 0.4, 0.4, 0.1])},
        {"confidential": np.array([0.25, 0.25, 0.25, 0.25, 0.2])},
        {chapter.SIGNED: np.array([1, 1, 0.25, 0.3, 0.1])},
        {"synthetic": np.full(5, 0.7)},
    ):
        assert not chapter.source_of_weights(weights(**change), income, top)[1]


def test_claims():
    equations = [(f"equation {i}", i != 3) for i in range(1, 8)]
    found = chapter.claims(
        equations,
        files=("files", True),
        setup=("setup", True),
        software=("software", True),
        findings={"P2-Set11": ("weights", True), "P1-Claim02": ("tail", False)},
    )
    assert list(found) == [
        *(f"P1-Eq0{i}" for i in range(1, 8)),
        *("P1-EqU10", "P1-Set04", "P1-Set14", "P1-Claim02"),
        *(f"P2-Eq0{i}" for i in range(1, 8)),
        *("P2-Set10", "P2-Set11"),
    ]
    assert found["P1-Eq03"] == found["P2-Eq03"] == ("equation 3", False)
    assert found["P1-Set14"] == found["P2-Set10"] == ("software", True)
    assert found["P1-Claim02"] == ("tail", False)
