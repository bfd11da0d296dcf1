"""What the errata compute, and how they judge."""

import errata
import numpy as np
import pytest
from scipy import integrate, stats

import pseudopost as pp

HALF = np.array([0.0, 0.5, 1.0])
TRUE, FALSE = np.array([True, True]), np.array([False, False])
SPARSE = np.repeat([0.5, 0.99], [2, 8])
FEW = np.array([0.95, 0.9, 1.0])  # weights, and what is made of them
BOUNDS = np.array([9.0, 2.0, 3.0])


def tables(**changed):
    """P2's published numbers, those of some synthesizers changed."""
    return errata.UTILITY | changed


def like_data(name):
    """P2's tables if one synthesizer had the estimates and intervals of the data."""
    return tables(**{name: errata.UTILITY["Data"]})


def files(risk=None):
    y, released = np.array([10.0, 11, 30, 50]), np.array([[10.0, 20, 29, 90]])
    risk = pp.identification_risk(y, released) if risk is None else risk
    return y, released, risk


def curve(plain_end=1.35, weight=1.0):
    return [1.25, plain_end], [1.0, 1.5], [weight], [1.0]


def events(**changes):
    shares = {"b": 4, "c": 4, "c as printed": 1, "d": 6, "e": 3} | changes
    return ({name: np.arange(10) < count for name, count in shares.items()},)


def log_likelihoods(sign=-1):
    return sign * np.array([[9.0, 2.0, 3.0], [8.0, 2.5, 3.5]])


def reweighted(top=0.95, other=0.8):
    return np.array([top * FEW[0], other, 1.0]), FEW, BOUNDS


def poor():
    """P2's tables if Marginal had half of all estimates and ends of intervals."""
    return tables(Marginal=errata.UTILITY["Data"] / 2)


@pytest.mark.parametrize(
    ("entry", "confirmed", "refuted"),
    [
        (errata.minimum_for_maximum, (-HALF, HALF), (HALF, HALF)),
        (errata.sum_for_mean, (np.full(20, 35 / 36),), (np.full(20, 1 / 36),)),
        (errata.circular_indicator, files(), files(risk=0)),
        (errata.shape_of_curve, curve(), curve(plain_end=1.5)),
        (errata.shape_of_curve, curve(), curve(weight=0.5)),
        (
            errata.unscaled_probabilities,
            (np.array([2.0, 0.4]),),
            (np.array([0.6, 0.4]),),
        ),
        (errata.closed_interval, ([1, 0, 0],), ([1, 0.1, 0],)),
        (errata.scale_of_ball, (0.05, 0.8), (0.8, 0.8)),
        (errata.alone_in_pattern, (0, 1), (0, 0)),
        (errata.number_for_proportion, (3, 13), (1, 13)),
        (errata.at_least_for_at_most, (TRUE,), (~TRUE,)),
        (errata.point_of_contraction, (0.2, 0.6, 0.4, 0.41), (0.2, 0.6, 0.4, 0.6)),
        (errata.point_of_contraction, (0.2, 0.6, 0.4, 0.41), (0.2, 0.45, 0.4, 0.41)),
        (
            errata.sign_of_divergence,
            ([0.2, -0.5], [0.2, -0.5]),
            ([0.2, 0.5], [0.2, 0.5]),
        ),
        (
            errata.sign_of_divergence,
            ([0.2, -0.5], [0.2, -0.5]),
            ([0.2, -0.4], [0.2, -0.5]),
        ),
        (errata.random_weights, (1.2, 0.99), (0.9, 0.99)),
        (errata.sign_of_expansion, (2 * HALF, 2 * HALF), (2 * HALF, -2 * HALF)),
        (
            errata.factor_n,
            (0.002, 1.0, np.array([-1.0, 1.0])),
            (0.002, 0.5, np.array([-1.0, 1.0])),
        ),
        (errata.covariance_of_limit, (0.9, 0.9, 1e-05), (0.1, 0.9, 1e-05)),
        (errata.covariance_of_limit, (0.9, 0.9, 1e-05), (0.9, 0.9, 0.1)),
        (errata.which_maximum, (SPARSE, 2), (SPARSE, 10)),
        (errata.missing_division, (380, 0.95, 400), (1, 0.95, 400)),
        (errata.two_rates, (4, 15), (4, 6)),
        (errata.few_below_one, (SPARSE,), (np.ones(10),)),
        (errata.score_as_bound, (0.04, 0.2), (0.3, 0.2)),
        (errata.sign_of_parabola, (0.5, -0.5), (0.5, 0.5)),
        (
            errata.vectors_move_the_point,
            ((-0.2, -0.1, 0), (0, 0, 0)),
            ((-0.2, -0.1, 0), (-0.1, 0, 0)),
        ),
        (
            errata.vectors_move_the_point,
            ((-0.2, -0.1, 0), (0, 0, 0)),
            ((0, -0.1, 0), (0, 0, 0)),
        ),
        (errata.smallest_constant, (0.5, 0.5), (2, 2)),
        (
            errata.bounds_of_the_proof,
            (np.array([0.1, 0.5]), 4, 1),
            (np.array([0.99]), 0, 0),
        ),
        (errata.square_of_threshold, (5, 1, 1), (5, 2, 1)),
        (errata.direction_of_jensen, (HALF + 1, HALF), (0 * HALF, HALF)),
        (errata.probability_measure, (FALSE, TRUE, 0.7, -0.3), (TRUE, TRUE, 0.7, -0.3)),
        (
            errata.probability_measure,
            (FALSE, TRUE, 0.7, -0.3),
            (FALSE, TRUE, -0.2, -0.3),
        ),
        (errata.scale_and_sign, events(), events(b=5)),
        (errata.scale_and_sign, events(), events(**{"c as printed": 3})),
        (errata.scale_and_sign, events(), events(d=3)),
        (errata.scale_and_sign, events(), events(e=5)),
        (errata.denominator, (0.1, 2, 2), (2, 0.1, 2)),
        (errata.factor_two, (1.5, 0.2, 1.0), (1.1, 0.2, 1.0)),
        (errata.order_of_steps, (0.01, -0.1, 9), (0.01, -0.1, 1)),
        (
            errata.pairs_between,
            (10, 2, -0.005, 400, 0.12),
            (10, 1000000.0, -0.005, 400, 0.12),
        ),
        (errata.pairs_between, (10, 2, -0.005, 400, 0.12), (10, 2, -0.5, 400, 0.12)),
        (errata.product_for_sum, (1, 3, 3), (3, 3, 3)),
        (errata.product_for_sum, (1, 3, 3), (1, 3, 4)),
        (errata.second_inequality, (1.0, 0.1), (0.1, 1.0)),
        (errata.missing_root, (0.01, 4, 400), (4, 4, 400)),
        (errata.inflation, (1, 1.1, 0.995), (1.1, 1.1, 0.995)),
        (errata.inflation, (1, 1.1, 0.995), (1, 1.1, 0.95)),
        (errata.raised_risks, (errata.TABLE_21,), (errata.TABLE_21[:, ::-1],)),
        (errata.only_one_in_ball, (errata.TOP_CODED,), ((0.95, 0.7113),)),
        (
            errata.source_of_weights,
            (np.array([0.8, 0.9, 1]), np.array([0.1, 0.2, 1])),
            (np.array([0.1, 0.2, 1]), np.array([0.1, 0.2, 1])),
        ),
        (
            errata.radius_of_a_loss,
            (HALF, np.array([2 / 3, 0.5, 1])),
            (HALF + 2 / 3, np.array([2 / 3, 0.5, 1])),
        ),
        (
            errata.intersection_of_balls,
            (np.arange(5) < 2, np.arange(5) > 3),
            (np.arange(4) < 2, np.arange(4) < 2),
        ),
        (errata.clipped_below, (-0.1, 0), (0, 0)),
        (errata.weight_of_zero, (0.0,), (1.0,)),
        (errata.level_of_weights, (HALF + 0.1, HALF), (HALF - 0.1, HALF)),
        (errata.level_of_weights, (HALF + 0.1, HALF), (HALF, HALF)),
        (errata.kinds_of_intervals, (tables(),), (poor(),)),
        (errata.missed_by_marginal, (tables(),), (poor(),)),
        (errata.unchanged_by_pairwise, (tables(),), (like_data("Pairwise"),)),
        (errata.improved_by_scale, (tables(),), (like_data("Pairwise, c = 1.5"),)),
        (errata.best_in_every_measure, (tables(),), (like_data("Marginal, g = 0.1"),)),
        (
            errata.two_columns,
            (errata.BOTH_COLUMNS,),
            ([*errata.BOTH_COLUMNS, (0.9, 0.9)],),
        ),
        (errata.single_value, (0.9582, 0.9707), (0.95, 0.9707)),
        (errata.shrinks_to_the_modes, (tables(),), (poor(),)),
        (errata.second_component, (HALF + 5.3, HALF + 4), (HALF + 4, HALF + 5.3)),
        (
            errata.no_truncation,
            (np.array([1.2, 0.5]), np.array([1.0, 0.5])),
            (np.array([0.9, 0.5]), np.array([0.9, 0.5])),
        ),
        (
            errata.no_truncation,
            (np.array([1.2, 0.5]), np.array([1.0, 0.5])),
            (np.array([1.2, 0.5]), np.array([1.2, 0.5])),
        ),
        (errata.higher_for_every_record, reweighted(), reweighted(top=1.0)),
        (errata.higher_for_every_record, reweighted(), reweighted(top=1.0, other=0.95)),
        (errata.leave_one_out, (0, 500, 6), (0, 10, 6)),
        (errata.leave_one_out, (0, 500, 6), (3, 500, 6)),
        (errata.every_event, (1, 0, 10), (1, 0.5, 10)),
        (errata.weights_above_one, (1.5 * HALF, HALF), (HALF, HALF)),
        (
            errata.plain_maximum,
            (log_likelihoods(), np.array([0, 1, 0.8])),
            (log_likelihoods(sign=1), np.array([0, 1, 0.8])),
        ),
        (
            errata.near_for_far,
            (np.r_[[0.001] * 3, np.linspace(0.2, 0.4, 200)],),
            (np.linspace(0.2, 0.4, 200),),
        ),
        (errata.inverse_risk, (HALF + 0.5, HALF), (HALF, HALF)),
        (
            errata.ends_of_the_map,
            (BOUNDS, np.array([0, 1, 0.8])),
            (BOUNDS / 9, np.array([0, 1, 0.8])),
        ),
        (
            errata.ends_of_the_map,
            (BOUNDS, np.array([0, 1, 0.8])),
            (BOUNDS, np.array([0.1, 1, 0.8])),
        ),
        (errata.maximum_over_draws, (6, 7), (7, 7)),
        (
            errata.better_by_reweighting,
            (errata.TABLE_1,),
            (errata.TABLE_1 | {"LW_final": errata.TABLE_1["Data"]},),
        ),
        (errata.depends_on_the_mean, (0.0, 0.6), (0.0, 0.1)),
        (errata.spread_of_bounds, (5 + 2 * HALF,), (6 + 0 * HALF,)),
    ],
)
def test_an_entry_is_confirmed_or_not(entry, confirmed, refuted):
    assert entry(*confirmed)[-1]
    assert not entry(*refuted)[-1]


def test_claim_of_the_ledger():
    assert errata.claim_on_largest(errata.TABLE_21)["P1-Claim39"][1]
    assert not errata.claim_on_largest(errata.TABLE_21[1:])["P1-Claim39"][1]


def test_words_hold_the_numbers():
    assert errata.raised_risks(errata.TABLE_21)[1] == "7 higher, 2 lower, 1 equal"
    assert errata.sum_for_mean(np.full(20, 35 / 36))[:2] == (
        "found in 20 sets: risk 19.4",
        "0.972; found in one: 0.0486",
    )


def test_table_of_one_paper():
    findings = {"P1.1": ("a", "b", np.True_), "P1.2": ("c", "d", False), "P2.1": "xyz"}
    table = errata.table(findings, "P1")
    assert table["confirmed"].tolist() == [True, False]
    assert table.loc["P1.2", "printed form"] == "c"


def test_outside_ball():
    y = np.array([10.0, 100.0])
    outside = errata.outside_ball(y, np.array([[9.0, 11.0]]))
    np.testing.assert_allclose(outside, [[0, 1]])


def test_sparse_weights():
    a, xi, n_A = errata.sparse_weights(100)
    assert n_A == (a == 0.5).sum() == 10
    assert a[-1] == pytest.approx(1 - xi / np.sqrt(90))
    assert xi == pytest.approx(np.sqrt(np.log(100) / 100))


def test_far_mass_is_small():
    assert errata.far_mass_is_small(100, 50, random_seed=1).all()
    assert not errata.far_mass_is_small(100, 50, random_seed=1, D=-3).any()


def test_points_of_the_mixture():
    unweighted = errata.weighted_mean(errata.MIXTURE, 1)
    assert unweighted == pytest.approx(0.6)
    theta = errata.reversed_point()

    def divergence(theta):
        density = stats.norm(theta).pdf

        def integrand(x):
            truth = 0.8 * stats.norm.pdf(x) + 0.2 * stats.norm.pdf(x, 3)
            return density(x) * np.log(density(x) / truth)

        return integrate.quad(integrand, -12, 14)[0]

    assert divergence(theta) < min(divergence(theta + 0.01), divergence(theta - 0.01))


def test_expectation_and_divergence():
    assert errata.expectation(lambda x: x**2, mean=1, sd=2) == pytest.approx(5)
    assert errata.expectation(abs, points=[0]) == pytest.approx(np.sqrt(2 / np.pi))
    assert errata.divergence(0.6, 0.3, 1) == pytest.approx(0.3 * 0.6**2 / 2)
    exact = 0.8 * (1 - 0.8 * 1.4**2) / (2 * 0.2)
    assert errata.divergence(1, 0.8, 1.4) == pytest.approx(exact)


def test_total_variation_of_two_widths():
    cross = np.sqrt(np.log(4) * 4 / 3)  # where N(0, 1) and N(0, 4) have equal density
    exact = 2 * (stats.norm.cdf(cross) - stats.norm.cdf(cross / 2))
    assert errata.total_variation(1, 2) == pytest.approx(exact, abs=1e-5)


def test_mean_score_is_zero_at_the_point():
    point, at_truth, at_point = errata.mean_score(errata.falling(errata.GRID))
    assert point < 0
    assert at_truth < 0
    assert at_point == pytest.approx(0, abs=1e-12)
    assert errata.falling(2) == 0.5


def test_events_of_line_31():
    shares = {
        name: event.mean()
        for name, event in errata.events_of_line_31(100, 0.15, 4000, 1).items()
    }
    a, _, _ = errata.sparse_weights(100)
    xi_2 = 0.15**2 + 0.15**4 / 4
    mean, sd = -a.sum() * 0.15**2 / 2, 0.15 * np.sqrt(a @ a)
    exact = stats.norm.cdf((-0.5 * 2.1 * 100 * xi_2 - mean) / sd)
    assert shares["b"] == shares["c"] == pytest.approx(exact, abs=0.02)


def test_possible_patterns():
    size, inside = errata.possible(0.7113, 600)
    assert set(zip(size, inside, strict=True)) >= {(97, 28)}
    for n, k in zip(size, inside, strict=True):
        assert round(1 - k / n, 4) == pytest.approx(0.7113, abs=1e-4)
    assert errata.fewest_in_ball(0.95) == 1


def test_utility_tables():
    inside = errata.contained(errata.UTILITY, "Data")
    assert inside.all()
    assert errata.distance(errata.UTILITY, "Pairwise")[0] == pytest.approx(1094.57)


def test_overlap_of_intervals():
    a, b = np.array([[0.0, 2.0], [0.0, 1.0]]), np.array([[1.0, 5.0], [0.0, 1.0]])
    np.testing.assert_allclose(errata.overlap(a, b), [(1 / 2 + 1 / 4) / 2, 1])


def test_quick_fit_and_bounds():
    y = pp.datasets.negative_binomial_mixture(200, random_seed=1)
    centre, covariance = errata.quick_fit(y)
    value = errata.log_likelihood(y, centre).sum()
    for step in np.eye(2) * 0.05:
        assert errata.log_likelihood(y, centre + step).sum() < value
    assert covariance[0, 0] > 0
    half = errata.quick_fit(y, np.full(200, 0.5))[0]
    np.testing.assert_allclose(half, centre, atol=1e-3)
    weights, bounds = errata.quick_lw(y, 20, np.random.default_rng(1))
    assert (weights.min(), weights.max()) == (0, 1)
    assert bounds[weights.argmin()] == 0
    frozen, recomputed = errata.deleting_the_riskiest(y, weights)
    assert frozen == 0
    assert recomputed > 0


def test_log_likelihood_by_record():
    y, draws = np.array([90, 110, 90]), np.log([[100.0, 10.0], [90.0, 5.0]])
    found = errata.log_likelihood(y, draws)
    assert found.shape == (2, 3)
    assert found[1, 0] == pytest.approx(stats.nbinom.logpmf(90, 5, 5 / 95))


def test_local_bounds_and_poisson_bounds():
    bounds = errata.local_bounds((5, 20), 2, random_seed=1)
    assert bounds.shape == (2,)
    assert bounds.min() > 0
    small = errata.poisson_bound(10, np.random.default_rng(1), S=50)
    large = errata.poisson_bound(1000, np.random.default_rng(1), S=50)
    assert 0 < small < large
    assert errata.poisson_above(0, 10, n_files=2, random_seed=1) == 1
