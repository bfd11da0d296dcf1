"""Checks of the errata.

A function is about one entry. It returns what the printed form gives, what the
corrected form gives, and whether only the latter holds.
"""

import numpy as np
import pandas as pd
from scipy import integrate, optimize, stats

import pseudopost as pp

GRID = np.linspace(-12, 16, 20_001)
STEP = GRID[1] - GRID[0]
MIXTURE = 0.8 * stats.norm.pdf(GRID) + 0.2 * stats.norm.pdf(GRID, 3)

# P1, Figure 21: Synthesizer, Weights_V, TC 20%.
TABLE_21 = np.array(
    [
        (0.0000, 0.0486, 0.0000),
        (0.0482, 0.1446, 0.0000),
        (0.0000, 0.2473, 0.0000),
        (0.0000, 0.1440, 0.0000),
        (0.0496, 0.0987, 0.0000),
        (0.0967, 0.0000, 0.9565),
        (0.0986, 0.0989, 0.0000),
        (0.0000, 0.0986, 0.0000),
        (0.0987, 0.0000, 0.0000),
        (0.0000, 0.0000, 0.0000),
    ]
)
# P1, Figure 20, the ten risks under top-coding.
TOP_CODED = (0.9762, 0.8312, 0.8108, 0.8889, 0.7738, 0.8788, 0.94, 0.8214, 0.908)
TOP_CODED += (0.7113,)
# P2, Tables 2 and 3, Data and Topcoding, where both are above 0.
BOTH_COLUMNS = (
    (0.9944, 0.9894),
    (0.9921, 0.9582),
    (0.9915, 0.9926),
    (0.9913, 0.9852),
    (0.9913, 0.9707),
    (0.9910, 0.9894),
    (0.9565, 0.9955),
)
# P2, estimates and intervals of the mean, the median, the 90% quantile, Earner 2.
UTILITY = {
    "Data": [
        (72090.26, 70127.02, 74053.50),
        (50225.15, 48995.01, 52000.00),
        (153916.30, 147582.40, 159603.80),
        (-45826.20, -49816.29, -41836.11),
    ],
    "Marginal": [
        (76641.95, 72638.03, 81817.03),
        (54229.08, 52877.58, 55537.29),
        (134582.40, 130716.50, 138516.00),
        (-34738.85, -46792.90, -22684.81),
    ],
    "Marginal, c = 1.5": [
        (71527.38, 69352.11, 73889.61),
        (54376.32, 53081.17, 55702.35),
        (132463.70, 129035.50, 136299.90),
        (-37687.76, -42755.65, -32619.88),
    ],
    "Marginal, g = 0.1": [
        (72950.40, 70645.43, 75375.39),
        (52664.07, 51309.78, 54073.17),
        (142526.50, 138046.80, 147128.40),
        (-40759.53, -46084.41, -35434.64),
    ],
    "Pairwise": [
        (73184.83, 70887.88, 75626.18),
        (51692.10, 50235.51, 53052.61),
        (145968.90, 141137.70, 150867.30),
        (-44028.77, -49340.69, -38716.85),
    ],
    "Pairwise, c = 1.5": [
        (71695.49, 69780.83, 73708.90),
        (51791.43, 50339.41, 53283.75),
        (145299.70, 140864.00, 149948.70),
        (-43544.92, -47654.14, -39435.71),
    ],
}
UTILITY = {name: np.array(rows) for name, rows in UTILITY.items()}
# P3, Table 1, intervals of the 90th quantile, the mean, the median.
TABLE_1 = {
    "Data": [(132.0, 140.0), (98.8, 102.3), (96.0, 101.0)],
    "LW": [(132.1, 139.0), (98.0, 101.4), (95.6, 99.7)],
    "LW_final": [(133.1, 140.3), (98.7, 102.0), (96.0, 100.0)],
}
TABLE_1 = {name: np.array(rows) for name, rows in TABLE_1.items()}


def table(findings, paper):
    """The findings on one paper."""
    rows = {k: v for k, v in findings.items() if k.startswith(f"{paper}.")}
    columns = ["printed form", "corrected form", "confirmed"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).astype(
        {"confirmed": bool}
    )


# P1, definitions


def minimum_for_maximum(printed, corrected):
    """P1.1, the weights of Equation 9."""
    return (
        f"weights {printed.min():.2f} to {printed.max():.2f}",
        f"weights {corrected.min():.2f} to {corrected.max():.2f}",
        printed.max() <= 0 and corrected.min() == 0 and corrected.max() == 1,
    )


def sum_for_mean(per_set):
    """P1.2, risks of a record that is found in every synthetic set."""
    one = per_set[0] / len(per_set)
    return (
        f"found in {len(per_set)} sets: risk {per_set.sum():.1f}",
        f"{per_set.mean():.3f}; found in one: {one:.4f}",
        per_set.sum() > 1 >= per_set.mean() and round(one, 4) == 0.0486,
    )


def outside_ball(y, released):
    """Share of the records of each released file outside the ball of each value."""
    far = [(np.abs(z - y[:, None]) > 0.2 * y[:, None]).mean(1) for z in released]
    return np.array(far)


def circular_indicator(y, released, risk):
    """P1.3, where `risk` is the average risk of each record."""
    own = np.abs(released - y) <= 0.2 * y  # T, as meant
    literal = np.abs(y - y) <= 0.2 * y  # T, as printed
    outside = outside_ball(y, released)
    return (
        f"T = 1 for {literal.mean():.0%}, mean risk {(outside * literal).mean():.2f}",
        f"T = 1 for {own.mean():.0%}, mean risk {(outside * own).mean():.2f}",
        literal.all() and np.allclose((outside * own).mean(0), risk),
    )


def shape_of_curve(plain, curve, weights, expected):
    """P1.4, two curves from risk 0 to 1; the package's weights and Equation 9's."""
    return (
        f"plain logistic: {plain[0]:.2f} to {plain[-1]:.2f}",
        f"{curve[0]:.4f} to {curve[-1]:.4f}",
        plain[0] > 1.2
        and plain[-1] < 1.4
        and curve[0] < 1.001
        and curve[-1] > 1.499
        and np.allclose(weights, expected),
    )


def unscaled_probabilities(parts):
    """P1.5, Equation 7."""
    return (
        f"sum {parts.sum():.2f}",
        f"sum {(parts / parts.sum()).sum():.2f}",
        abs(parts.sum() - 1) > 0.1,
    )


def closed_interval(weights):
    """P1.7, weights at the risks 0, 0.68 and 0.9."""
    zero, middle, high = weights
    return (
        "0 < weight < 1",
        f"weight {zero:.0f} at risk 0, {middle:.0f} at 0.68, {high:.0f} at 0.9",
        zero == 1 and middle == high == 0,
    )


def scale_of_ball(on_logs, on_dollars):
    """P1.11, mean risks of the confidential file."""
    return (
        f"confidential file, log scale: mean risk {on_logs:.2f}",
        f"dollar scale: {on_dollars:.2f}",
        on_logs < 0.1 and on_dollars > 0.7,
    )


def alone_in_pattern(as_printed, with_choice):
    """P1.12, risks of a record that is alone."""
    return (
        f"alone in the pattern, released as it is: risk {as_printed:.0f}",
        f"with alone=1: {with_choice:.0f}",
        as_printed == 0 and with_choice == 1,
    )


def number_for_proportion(inside, size):
    """P1.15, records in the ball and in the pattern."""
    return (
        f"{inside} of {size} in the ball: {1 - inside}",
        f"{1 - inside / size:.2f}",
        1 - inside < 0,
    )


# P1, theory


def sparse_weights(n):
    """Weights that meet A2, xi, and the number of records in A, which come first."""
    xi = np.sqrt(np.log(n) / n)
    n_A = int(np.ceil(np.sqrt(n)))
    a = np.full(n, 1 - xi / np.sqrt(n - n_A))
    a[:n_A] = 0.5
    return a, xi, n_A


def far_mass_is_small(n, n_files, random_seed, D=2, t=1):
    """Whether the far set of Theorem 1 has at most its bound, in each file."""
    a, xi, n_A = sparse_weights(n)
    x = np.random.default_rng(random_seed).normal(size=(n_files, n))
    centre, sd = x @ a / (a.sum() + 0.01), 1 / np.sqrt(a.sum() + 0.01)
    # D_i = a_i theta^2 / 2, so the far set is |theta| >= radius.
    divided = 0.5 * a[:n_A].sum() + (1 - a[-1]) * a[n_A:].sum()
    radius = np.sqrt(2 * (D + 3 * t) * n * xi**2 / divided)
    log_mass = np.logaddexp(
        stats.norm.logsf((radius - centre) / sd),
        stats.norm.logcdf((-radius - centre) / sd),
    )
    return log_mass <= -t * n * xi**2


def at_least_for_at_most(small):
    """P1.18, whether the mass is at most the bound, in each of many data sets."""
    return (
        f"at least: in {(~small).sum():,} of {small.size:,} data sets",
        f"at most: in {small.sum():,}",
        small.all(),
    )


def falling(x):
    """Weights that fall with x."""
    return 1 / (1 + np.exp(x - 2))


def reversed_point():
    """Point of a normal model at which the divergence to the mixture is smallest."""

    def divergence(theta):
        ratio = stats.norm.logpdf(GRID, theta) - np.log(MIXTURE)
        return (stats.norm.pdf(GRID, theta) * ratio).sum() * STEP

    return optimize.minimize_scalar(divergence, bounds=(-2, 4), method="bounded").x


def weighted_mean(density, weights):
    """Mean of a weighted density on the grid."""
    return (density * weights * GRID).sum() / (density * weights).sum()


def point_of_contraction(backwards, unweighted, weighted, mle):
    """P1.19, three points, and the pseudo MLE of a large file."""
    return (
        f"{backwards:.2f}; in the usual order {unweighted:.2f}",
        f"{weighted:.3f}; pseudo MLE of 200,000 records {mle:.3f}",
        abs(mle - weighted) < 0.02
        and min(abs(mle - backwards), abs(mle - unweighted)) > 0.1,
    )


def expectation(function, mean=0, sd=1, points=None):
    """Expectation over a normal distribution; the function has kinks at `points`."""
    density, ends = stats.norm(mean, sd).pdf, (mean - 12 * sd, mean + 12 * sd)
    return integrate.quad(lambda x: function(x) * density(x), *ends, points=points)[0]


def divergence(theta, alpha, sd):
    """Rényi divergence of N(theta, 1) from N(0, 1), where the truth is N(0, sd^2)."""
    affinity = expectation(lambda x: np.exp(alpha * (theta * x - theta**2 / 2)), sd=sd)
    return np.log(affinity) / (alpha - 1)


def sign_of_divergence(found, formula):
    """P1.20, divergences for a right model and for one with too small a variance."""
    return (
        "D is 0 or more",
        f"alpha = 0.5, theta = 1: D = {found[0]:.2f} for s = 1, "
        f"{found[1]:.2f} for s = 2",
        np.allclose(found, formula) and formula[1] < 0,
    )


def random_weights(random, fixed):
    """P1.21, affinities."""
    return (
        f"affinity with a weight that depends on X: {random:.2f}",
        f"with any fixed weight at most {fixed:.3f}",
        random > 1 > fixed,
    )


def sign_of_expansion(left, term):
    """P1.22, both sides of the expansion in many files."""
    minus, plus = np.abs(left + term).max(), np.abs(left - term).max()
    return (
        f"minus: largest difference {minus:.1f}",
        "plus: equal to rounding",
        plus < 1e-10 and minus > 1,
    )


def factor_n(printed, corrected, estimates):
    """P1.23, two sandwiches, and root n times the deviations of many estimates."""
    return (
        f"n = 400: sandwich {printed:.4f}",
        f"{corrected:.3f}; variance over {len(estimates):,} data sets "
        f"{estimates.var():.3f}",
        abs(estimates.var() / corrected - 1) < 0.08 and printed < 0.01,
    )


def total_variation(sd_1, sd_2):
    """Distance of two normal distributions with the same mean."""
    z = np.linspace(-8, 8, 400_001) * max(sd_1, sd_2)
    gap = np.abs(stats.norm.pdf(z, 0, sd_1) - stats.norm.pdf(z, 0, sd_2))
    return gap.sum() * (z[1] - z[0]) / 2


def covariance_of_limit(with_H, with_inverse, corrected):
    """P1.24, distances from the pseudo posterior."""
    return (
        f"n = 400: distance {with_H:.2f} with H, {with_inverse:.2f} with its inverse",
        f"{corrected:.5f}",
        min(with_H, with_inverse) > 0.5 and corrected < 0.001,
    )


def which_maximum(weights, n_A):
    """P1.25, weights of 1,600 records, those in A first."""
    overall, in_A = weights.max(), weights[:n_A].max()
    return (
        f"n = 1600, over all records: 1 / (1 - alpha_m) = {1 / (1 - overall):.0f}",
        f"over A_n: {1 / (1 - in_A):.0f}",
        overall > in_A,
    )


def missing_division(printed, corrected, n):
    """P1.26, H of 400 records."""
    return (
        f"n = 400: {printed:.0f}",
        f"{corrected:.3f}",
        np.isclose(printed / corrected, n),
    )


def two_rates(at_100, at_1600):
    """P1.27, the constants C3 that the first rate needs."""
    return (
        f"at the first rate C3 must be {at_100:.1f} for n = 100, {at_1600:.1f} for "
        "n = 1600",
        "1 at the second",
        at_1600 > 2 * at_100,
    )


def few_below_one(weights):
    """P1.29, the weights of a file of incomes."""
    n = len(weights)
    return (
        f"at most about {np.sqrt(n):.0f} of {n:,}",
        f"stand-in for P2's file, pairwise: {(weights < 1).sum():,} below 1",
        (weights < 1).mean() > 0.95,
    )


def score_as_bound(difference, distance):
    """P1.30, a difference of log-likelihoods at x = theta*, where the score is 0."""
    return (
        f"x = theta* = 0: {difference:.2f} <= 0",
        f"with m(x) = |x| + 1: {difference:.2f} <= {distance:.2f}",
        0 < difference <= distance,
    )


def sign_of_parabola(parabola, integral):
    """P1.31, half the squared distance, and the expected log ratio."""
    return (
        f"{parabola:+.3f}",
        f"{-parabola:+.3f}; integral {integral:+.3f}",
        np.isclose(integral, -parabola),
    )


def mean_score(weights):
    """Point of a right normal model under weights, and mean weighted scores.

    The latter are those at the truth and at the point.
    """
    density = stats.norm.pdf(GRID)
    point = weighted_mean(density, weights)
    return point, *(
        (weights * (GRID - theta) * density).sum() * STEP for theta in (0, point)
    )


def vectors_move_the_point(vector, scalar):
    """P1.32, from :func:`mean_score`."""
    (moved, at_truth, at_point), kept = vector, abs(scalar[0])
    return (
        f"model right: theta* - theta_0 = {moved:.3f} (vector), {kept:.3f} (scalar)",
        f"mean weighted score {at_truth:+.3f} at theta_0, {abs(at_point):.3f} at the "
        "weighted point",
        moved < -0.05 and kept < 1e-9 and abs(at_point) < 1e-9,
    )


def smallest_constant(C1, C3):
    """P1.33, C1* for small constants."""
    constant = np.sqrt(2 + C1**2 + C3**2)
    return "2", f"C1 = C3 = {C1}: {constant:.2f}", constant < 2


def bounds_of_the_proof(low, C1, C3):
    """P1.34, smallest weights and constants of many settings."""
    squared = 2 + C1**2 + C3**2
    proof = (1 - low) ** 2 * (1 + C1**2) + C3**2 + 1  # 34e and 35g, in units of xi^2
    too_small, enough = 1 + low**2 * squared < proof, (1 + low**2) * squared >= proof
    return (
        f"last display too small in {too_small.mean():.0%}; Thm 1 larger by 1.5 to 2",
        f"an upper bound in {enough.mean():.0%} of {len(low):,} settings",
        enough.all() and too_small.any() and ((2 + low**2) / (1 + low**2) > 1.5).all(),
    )


def square_of_threshold(printed, corrected, chebyshev):
    """P1.35, bounds."""
    return (
        f"D + t = 5: {printed:.2f}",
        f"{corrected:.2f}; Chebyshev {chebyshev:.2f}",
        np.isclose(corrected, chebyshev) and printed > 2 * chebyshev,
    )


def direction_of_jensen(log_mean, mean_log):
    """P1.37, logarithms of means and means of logarithms."""
    printed, corrected = log_mean <= mean_log, log_mean >= mean_log
    return (
        f"holds in {printed.mean():.0%} of {len(printed):,}",
        f"in {corrected.mean():.0%}",
        corrected.all() and not printed.any(),
    )


def probability_measure(small_mass, full_mass, with_mass, without):
    """P1.38, where Jensen's inequality holds, and exponents of the last display."""
    return (
        f"Jensen, mass 0.1: {small_mass.mean():.0%}; D = 2, t = 0.1, alpha_m = 0.9: "
        f"exponent {with_mass:+.2f}",
        f"mass 1: {full_mass.mean():.0%}; exponent {without:+.2f}, at most -0.10",
        not small_mass.all() and full_mass.all() and with_mass > -0.1 >= without,
    )


def events_of_line_31(n, theta, n_files, random_seed, D=2, t=0.1, alpha_m=0.5):
    """Which files are in the events of lines 31b to 31e, and in the printed 31c."""
    a, _, _ = sparse_weights(n)
    xi_2 = theta**2 + theta**4 / 4  # theta is then in B_n
    x = np.random.default_rng(random_seed).normal(size=(n_files, n))
    f = theta * x - theta**2 / 2
    process = np.sqrt(n) * ((f @ a) / n + theta**2 / 2)
    cut, centring = alpha_m * (D + t) * xi_2, np.sqrt(n) * theta**2 / 2
    return {
        "b": f @ a <= -cut * n,
        "c": process <= -cut * np.sqrt(n) + centring,
        "c as printed": process <= -cut * n + centring,
        "d": process <= -(alpha_m * (D + t) - 1) * np.sqrt(n) * xi_2,
        "e": process <= -alpha_m * (D + t - 1) * np.sqrt(n) * xi_2,
    }


def scale_and_sign(events):
    """P1.39, from :func:`events_of_line_31`."""
    share = {name: event.mean() for name, event in events.items()}
    return (
        f"31b {share['b']:.2f}, printed 31c {share['c as printed']:.2f}; "
        f"31e {share['e']:.2f}",
        f"31c {share['c']:.2f}; 31d {share['d']:.2f}",
        (events["b"] == events["c"]).all()
        and share["c as printed"] < share["b"] / 2
        and (events["d"] >= events["c"]).all()
        and share["d"] > 1.5 * share["e"],
    )


def denominator(printed, corrected, chebyshev):
    """P1.40, bounds from Equation 32."""
    return (
        f"with n^2: {printed:.4f}",
        f"with n: {corrected:.2f}, as P1.35",
        np.isclose(corrected, chebyshev),
    )


def factor_two(whole, first, second):
    """P1.41, the squared process, and the squares of its two parts."""
    return (
        f"with G_n, no factors: {whole:.2f} <= {first + second:.2f}",
        f"with them: {whole:.2f} <= {2 * (first + second):.2f}",
        first + second < whole <= 2 * (first + second),
    )


def order_of_steps(variance, mean, n):
    """P1.42, moments of a log ratio."""
    bound, cross = variance + mean**2, variance + n * mean**2
    return (
        f"{cross:.4f} <= {bound:.6f}",
        f"centred: {variance:.6f} <= {bound:.6f}",
        cross > bound >= variance,
    )


def pairs_between(lost_A, lost_Q, mean, n, xi):
    """P1.43, weights lost in A and in Q, mean log ratio, size and radius."""
    between, cap = 2 * lost_A * lost_Q * mean**2 / n, 2 * xi**3
    second = mean**2 - 2 * mean  # of the log ratio; theta is in B_n
    return (
        "pairs between A_n and Q_n: 0",
        f"n = 400: {between:.1e}, at most {cap:.1e}",
        0 < between <= cap and second <= xi**2,
    )


def product_for_sum(printed, summed, line_36b):
    """P1.44, values of line 36a."""
    return (
        f"{printed:.4f}",
        f"{summed:.4f}; 36b {line_36b:.4f}",
        printed < summed / 2 and np.isclose(summed, line_36b),
    )


def second_inequality(left, right):
    """P1.45, both sides of Equation 39b."""
    return (
        f"D = 1000, t = 0.001: {left:.3f} <= {right:.6f}",
        f"{left:.3f}",
        left > right,
    )


def missing_root(printed, corrected, n):
    """P1.46, the two sides of Equation 43 for 400 records."""
    return (
        f"n = 400: {printed:.4f} = {corrected:.3f}",
        f"{n * printed:.3f} = {corrected:.3f}",
        np.isclose(n * printed, corrected),
    )


def inflation(scalar, vector, coverage):
    """P1.47, sandwich over that of the MLE, and coverage under the scalar weight."""
    return (
        "sandwich wider than that of the MLE",
        f"ratio {scalar:.3f} (scalar 0.455), {vector:.3f} (vector); posterior, scalar: "
        f"95% regions cover {coverage:.3f}",
        np.isclose(scalar, 1) and vector > 1.001 and coverage > 0.99,
    )


# P1, numbers and prose


def raised_risks(table):
    """P1.48, risks of Synthesizer and Weights_V."""
    change = table[:, 1] - table[:, 0]
    higher, lower, equal = (change > 0).sum(), (change < 0).sum(), (change == 0).sum()
    return (
        "lower",
        f"{higher} higher, {lower} lower, {equal} equal",
        (higher, lower, equal) == (7, 2, 1),
    )


def claim_on_largest(table):
    """The count in P1's Table 21."""
    return {"P1-Claim39": raised_risks(table)[1:]}


def possible(risk, largest):
    """Sizes of a pattern, and records in the ball, that give a published risk."""
    size = np.arange(2, largest)
    inside = np.round(size * (1 - risk))
    fits = (np.abs(1 - inside / size - risk) <= 0.5e-4 + 1e-12) & (inside >= 1)
    return size[fits], inside[fits].astype(int)


def fewest_in_ball(risk):
    """Smallest number of records in the ball, in a pattern of at most 300."""
    return int(possible(risk, 301)[1].min())


def only_one_in_ball(top_coded):
    """P1.49, published risks under top-coding; the last is 0.7113."""
    inside = [fewest_in_ball(risk) for risk in top_coded]
    return (
        "one record in each ball",
        f"possible for {sum(k == 1 for k in inside)} of ten; 0.7113 needs {inside[-1]} "
        "or more",
        round(69 / 97, 4) == top_coded[-1]
        and inside[-1] == 28
        and sum(k > 1 for k in inside) >= 5,
    )


# P2


def source_of_weights(synthetic, confidential):
    """P2.1, weights from synthetic and from confidential values."""
    low, median, high = np.quantile(synthetic, [0, 0.5, 1])
    ours = np.quantile(confidential, [0, 0.5, 1])
    return (
        f"synthetic values: smallest {low:.2f}, median {median:.2f}, largest {high:.2f}",
        "confidential: " + ", ".join(f"{w:.2f}" for w in ours),
        median > 0.8 and ours[1] < 0.35 and ours[2] == 1,
    )


def radius_of_a_loss(signed, absolute):
    """P2.3, risks of a loss and two incomes under the two balls."""
    return (
        f"a loss, released as it is: risk {signed[0]:.2f}",
        f"{absolute[0]:.2f}",
        signed[0] == 0
        and np.isclose(absolute[0], 2 / 3)
        and np.allclose(signed[1:], absolute[1:]),
    )


def intersection_of_balls(first, second):
    """P2.4, which records are in each of two balls."""
    both, neither = (first & second).mean(), (~first & ~second).mean()
    return (
        f"toy pattern, in both balls: {both:.1f}",
        f"outside both (Eq. 11): {neither:.1f}",
        both != neither and 1 - both != neither,
    )


def clipped_below(printed, corrected):
    """P2.5, a weight of 0.1 with a shift of -0.2."""
    return (
        f"weight 0.1, g = -0.2: {printed:.1f}",
        f"{corrected:.1f}",
        printed < 0 == corrected,
    )


def weight_of_zero(scaled):
    """P2.7, a weight of 0 times a large scale."""
    return "1", f"weight 0, c = 1,000,000: {scaled:.0f}", scaled == 0


def level_of_weights(pairwise, marginal):
    """P2.8, weights from confidential values."""
    smallest = (pairwise - marginal).min()
    return (
        "-",
        f"stand-in: mean {pairwise.mean():.2f} against {marginal.mean():.2f} "
        f"(marginal), smallest difference {abs(smallest):.3f}",
        smallest > -1e-12 and pairwise.mean() > marginal.mean() + 0.05,
    )


def kinds_of_intervals(utility):
    """P2.9, estimates and intervals by synthesizer."""
    weighted = [v for name, v in utility.items() if name != "Data"]
    lopsided = np.array([np.abs(v[:, 1:].mean(1) - v[:, 0]) for v in weighted])
    coefficient, mean = lopsided[:, 3].max(), lopsided[:, 0].max()
    return (
        "bootstrap",
        f"centre of the interval less estimate: coefficient at most {coefficient:.3f}, "
        f"mean up to {mean:.0f} dollars",
        coefficient < 0.011 and lopsided[:, :3].min() > 0.5,
    )


def contained(utility, name):
    """Which intervals contain the estimate of the data."""
    estimate, (_, low, high) = utility["Data"][:, 0], utility[name].T
    return (low <= estimate) & (estimate <= high)


def distance(utility, name):
    """How far estimates are from those of the data."""
    return np.abs(utility[name][:, 0] - utility["Data"][:, 0])


def missed_by_marginal(utility):
    """P2.11."""
    inside = contained(utility, "Marginal")
    return (
        "none of 4",
        f"{inside.sum()} of 4, Earner 2",
        inside.tolist() == [False, False, False, True],
    )


def unchanged_by_pairwise(utility):
    """P2.12."""
    inside = contained(utility, "Pairwise")
    missed = utility["Pairwise"][1, 1] - utility["Data"][1, 0]
    return (
        "all 4",
        f"{inside.sum()} of 4; the median is missed by {missed:.0f} dollars",
        inside.tolist() == [True, False, False, True],
    )


def improved_by_scale(utility):
    """P2.13."""
    nearer = distance(utility, "Pairwise, c = 1.5") < distance(utility, "Pairwise")
    return (
        "nearer in 4 of 4",
        f"in {nearer.sum()}, the mean",
        nearer.tolist() == [True, False, False, False],
    )


def best_in_every_measure(utility):
    """P2.14."""
    variants = ("Marginal", "Marginal, c = 1.5", "Marginal, g = 0.1")
    best = np.argmin([distance(utility, name) for name in variants], axis=0)
    return (
        "g = 0.1 nearest in 4 of 4",
        f"in {(best == 2).sum()}; c = 1.5 for the mean",
        best.tolist() == [1, 2, 2, 2],
    )


def two_columns(pairs):
    """P2.15, risks of the data and under top-coding."""
    sizes = [[set(possible(risk, 600)[0]) for risk in pair] for pair in pairs]
    common = sum(bool(data & coded) for data, coded in sizes)
    return (
        "equal",
        f"equal in {sum(data == coded for data, coded in pairs)} of {len(pairs)}; "
        f"one pattern size below 600 for both: {common} of {len(pairs)}",
        common == 0 and all(data and coded for data, coded in sizes),
    )


def single_value(first, second):
    """P2.16, two published risks under top-coding."""
    fewest = fewest_in_ball(first), fewest_in_ball(second)
    return (
        "one record in each ball",
        f"top-coded {first} and {second} need {fewest[0]} and {fewest[1]} or more",
        min(fewest) > 1,
    )


def shrinks_to_the_modes(utility):
    """P2.17."""
    change = utility["Marginal"][:, 0] / utility["Data"][:, 0] - 1
    return (
        "shrinks to the modes",
        f"mean {change[0]:+.1%}, 90% quantile {change[2]:+.1%}",
        change[0] > 0.05 and change[2] < -0.1,
    )


# P3


def log_likelihood(y, draws):
    """Pointwise, for draws of (log mu, log phi), one per row."""
    mu, phi = np.exp(np.atleast_2d(draws)).T[:, :, None]
    values, position = np.unique(y, return_inverse=True)
    return stats.nbinom.logpmf(values, phi, phi / (phi + mu))[:, position]


def quick_fit(y, weights=None):
    """Maximum of the pseudo likelihood, and the inverse Hessian there."""
    values, position = np.unique(y, return_inverse=True)
    counts = np.bincount(position, weights)
    found = optimize.minimize(
        lambda p: -(counts * log_likelihood(values, p)[0]).sum(), np.log([100.0, 12.0])
    )
    return found.x, found.hess_inv


def quick_draws(y, weights, S, rng):
    """Log-likelihoods at normal draws around the maximum."""
    return log_likelihood(y, rng.multivariate_normal(*quick_fit(y, weights), size=S))


def quick_lw(y, S, rng):
    """LW weights, and the bounds of the fit under them."""
    weights = pp.lipschitz_weights(quick_draws(y, np.ones(len(y)), S, rng))
    return weights, pp.lipschitz_bounds(quick_draws(y, weights, S, rng), weights)


def local_bounds(phi, n_files, random_seed):
    """Largest bounds under LW of many simulated databases."""
    rng = np.random.default_rng(random_seed)
    files = (
        pp.datasets.negative_binomial_mixture(phi=phi, random_seed=seed).to_numpy()
        for seed in range(1, n_files + 1)
    )
    return np.array([quick_lw(y, 300, rng)[1].max() for y in files])


def second_component(with_20, with_5):
    """P3.1, largest bounds of databases with either phi."""
    n, center = len(with_20), with_20.mean()
    return (
        f"phi_2 = 5: mean bound {with_5.mean():.1f}",
        f"20: {center:.1f} ({n} databases, s.e. {with_20.std() / n**0.5:.1f}); paper 6",
        abs(center - 6) < abs(with_5.mean() - 6) - 0.3,
    )


def no_truncation(raw, weights):
    """P3.2, new weights: without the minimum, and those of the package."""
    return (
        f"largest weight {raw.max():.2f}, {(raw > 1).sum()} of {len(raw):,} above 1",
        f"largest {weights.max():.0f}",
        raw.max() > 1.05 and np.allclose(weights, np.minimum(1, raw)),
    )


def higher_for_every_record(raw, weights, bounds):
    """P3.3, new and old weights, and the old bounds."""
    lowered, top = (raw < weights - 1e-12).sum(), bounds.argmax()
    times = raw[top] / weights[top]
    return (
        f"all of {len(raw):,} higher",
        f"{lowered} lower; the record at the maximum gets {times:.2f} times its weight",
        lowered > 0 and np.isclose(times, 0.95),
    )


def deleting_the_riskiest(y, weights):
    """Change of the weighted log-likelihood: weights as they were, and recomputed."""
    theta, riskiest = quick_fit(y, weights)[0], weights.argmin()
    rest = np.delete(y, riskiest)
    ll, ll_rest = log_likelihood(y, theta)[0], log_likelihood(rest, theta)[0]
    before, after = (
        pp.lipschitz_weights(log_likelihood(file, quick_fit(file)[0]))
        for file in (y, rest)
    )
    frozen = before[riskiest] * abs(ll[riskiest])
    return frozen, abs(before @ ll - after @ ll_rest)


def leave_one_out(frozen, recomputed, largest):
    """P3.4, from :func:`deleting_the_riskiest`, and the largest bound."""
    return (
        f"deleting the riskiest record: change {frozen:.1f}, at most Delta = "
        f"{largest:.1f}",
        f"weights recomputed: {recomputed:.0f}",
        frozen == 0 and recomputed > 5 * largest,
    )


def every_event(x_given_x, x_given_y, epsilon):
    """P3.5, probabilities that x is released, when it is in the file and not."""
    return (
        "release of the data, whole range: 1 <= exp(epsilon)",
        f"event that x is released: {x_given_x:.0f} <= exp(epsilon) times "
        f"{x_given_y:.0f}",
        x_given_x > np.exp(epsilon) * x_given_y,
    )


def weights_above_one(printed, corrected):
    """P3.6, weights times 1.5."""
    return (
        f"c = 1.5: largest weight {printed.max():.1f}",
        f"{corrected.max():.0f}",
        printed.max() > 1 and corrected.max() == 1,
    )


def plain_maximum(ll, weights):
    """P3.7, log-likelihoods by draw, and the weights of Algorithm 2."""
    signed, bound = ll.max(0), np.abs(ll).max(0)
    wrong = 1 - (signed - signed.min()) / np.ptp(signed)
    riskiest, safest = bound.argmax(), bound.argmin()
    return (
        f"weight of the riskiest record {wrong[riskiest]:.2f}, of the safest "
        f"{wrong[safest]:.2f}",
        f"{weights[riskiest]:.2f} and {weights[safest]:.2f}",
        wrong[riskiest] > 0.95 and weights[riskiest] == 0,
    )


def near_for_far(inside):
    """P3.8, share of the file in each ball."""
    lonely = inside[inside <= np.quantile(inside, 0.01)].mean()
    median = np.median(inside)
    return (
        "isolated: many in the ball",
        f"most isolated 1%: {1000 * lonely:.0f} of 1,000 in the ball; "
        f"median record {1000 * median:.0f}",
        lonely < median / 10,
    )


def inverse_risk(inverse, linear):
    """P3.9, weights by either map."""
    return (
        f"1 / IR, scaled to at most 1: {inverse.min():.2f} to {inverse.max():.2f}",
        f"1 - IR: {linear.min():.3f} to {linear.max():.2f}",
        inverse.min() > 0.3 and linear.min() < 0.01,
    )


def ends_of_the_map(bound, weights):
    """P3.10, risks and weights of a file."""
    return (
        "weight 1 at risk 0, weight 0 at infinity",
        f"weight 1 at {bound.min():.1f} nats, 0 at {bound.max():.1f}",
        weights[bound.argmin()] == 1 and bound.min() > 1 and weights.min() == 0,
    )


def maximum_over_draws(few, many):
    """P3.12, largest bounds."""
    return (
        "one number",
        f"{few:.2f} for S = 10, {many:.2f} for S = 10,000",
        many > few,
    )


def overlap(intervals, reference):
    """Share of each interval that is common with another one, averaged over both."""
    low = np.maximum(intervals[:, 0], reference[:, 0])
    high = np.minimum(intervals[:, 1], reference[:, 1])
    lengths = np.diff([intervals, reference])[..., 0]
    return ((high - low) / lengths).mean(axis=0)


def better_by_reweighting(intervals):
    """P3.15, published intervals of Data, LW and LW_final."""
    before, after = (
        overlap(intervals[name], intervals["Data"]) for name in ("LW", "LW_final")
    )
    improved = after > before
    return (
        "better in 3 of 3",
        f"overlap with the data, 90th quantile: LW {before[0]:.3f}, LW_final "
        f"{after[0]:.3f}; better in {improved.sum()} of 3",
        improved.tolist() == [False, True, True],
    )


def poisson_bound(mean, rng, n=1000, S=300):
    """Largest bound under LW of a Poisson database; draws are exact."""
    x = rng.poisson(mean, size=n)
    values, position = np.unique(x, return_inverse=True)

    def pointwise(w):
        mu = rng.gamma(0.5 + w @ x, 1 / (0.001 + w.sum()), size=S)
        return stats.poisson.logpmf(values, mu[:, None])[:, position]

    lw = pp.lipschitz_weights(pointwise(np.ones(n)))
    return pp.lipschitz_bounds(pointwise(lw), lw).max()


def poisson_above(limit, mean, n_files, random_seed):
    """Share of Poisson databases with a bound above a limit."""
    rng = np.random.default_rng(random_seed)
    return np.mean([poisson_bound(mean, rng) > limit for _ in range(n_files)])


def depends_on_the_mean(at_10, at_100):
    """P3.16, shares of databases with a bound above 3.5."""
    return (
        "probability near 0",
        f"100 databases: {at_10:.2f} for a mean of 10, {at_100:.2f} for 100",
        at_10 < 0.1 and at_100 > 0.4,
    )


def spread_of_bounds(bounds):
    """P3.17, largest bounds of databases."""
    return (
        "one value, 6",
        f"{bounds.min():.1f} to {bounds.max():.1f}, standard deviation "
        f"{bounds.std():.1f}",
        bounds.max() - bounds.min() > 1,
    )
