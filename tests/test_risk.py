import re
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import assume, given
from hypothesis import strategies as st

import pseudopost as pp
from pseudopost.risk import ball_ends, joint_risk, pattern_codes

VECTORS = Path(__file__).parent / "vectors"
PERCENTAGES = [5, 10, 15, 20, 25, 30, 35, 40, 50]

TIES = st.sampled_from([0.0, -0.0, 1.0, -1.0, 80.0, 100.0, 120.0, -100.0, -120.0])
FLOATS = st.one_of(TIES, st.floats(-1e100, 1e100), st.floats(-10, 10))
NORMAL = st.one_of(TIES, st.floats(1e-100, 1e100), st.floats(-1e100, -1e-100))
INTEGERS = st.one_of(
    st.integers(-40, 40).map(lambda v: 10 * v), st.integers(-100_000, 100_000)
)
RADII = st.one_of(st.sampled_from([0.1, 0.2, 0.25, 1.0]), st.floats(1e-3, 10))
BALLS = st.sampled_from(["absolute", "signed"])
ORDERS = st.integers(1, 4)


@st.composite
def releases(draw, values=FLOATS, max_records=7, max_sets=3, labels="abc"):
    """Confidential values, data sets that often repeat them, and patterns."""
    n = draw(st.integers(1, max_records))
    y = draw(st.lists(values, min_size=n, max_size=n))
    released = st.tuples(
        *(st.one_of(st.just(v), st.just(v), st.sampled_from(y), values) for v in y)
    )
    synthetic = draw(st.lists(released, min_size=1, max_size=max_sets))
    patterns = draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n))
    return y, synthetic, patterns


def in_ball(center, value, radius, ball="absolute"):
    reach = radius * (abs(center) if ball == "absolute" else center)
    return center - reach <= value <= center + reach


def by_definition(y, synthetic, radius, patterns, order=1, ball="absolute"):
    """P2, Eqs 8 and 11-14, set by set, with T_J the product of the T_j."""
    n = len(y)
    risk = [Fraction(0)] * n
    for released in synthetic:
        holds = [
            [in_ball(y[j], released[h], radius, ball) for h in range(n)]
            for j in range(n)
        ]
        for i in range(n):
            members = [h for h in range(n) if patterns[h] == patterns[i]]
            sets = [J for J in combinations(members, order) if i in J]
            for J in sets:
                if all(holds[j][j] for j in J):
                    outside = sum(not any(holds[j][h] for j in J) for h in members)
                    risk[i] += Fraction(
                        outside, len(members) * len(sets) * len(synthetic)
                    )
    return risk


def assert_close(actual, expected, atol=1e-12):
    np.testing.assert_allclose(
        actual, [float(value) for value in expected], rtol=0, atol=atol
    )


# --- Against the definition -----------------------------------------------------------


def test_by_hand():
    # Balls: [80, 120] holds 3 of 5, [64, 96] its own, [96, 144] 2, the others their own.
    y = [100, 80, 120, 200, 10]
    assert pp.identification_risk(y, y).tolist() == [2 / 5, 4 / 5, 3 / 5, 4 / 5, 4 / 5]


def test_by_hand_with_patterns():
    # Pattern a: [80, 120] holds 2 of 3; 130 is outside [80, 120]; [240, 360] its own.
    y = [100, 100, 300, 100, 115]
    synthetic = [90, 130, 250, 200, 119]
    risk = pp.identification_risk(y, synthetic, 0.2, ["a", "a", "a", "b", "b"])
    assert risk.tolist() == [2 / 3, 0, 2 / 3, 0, 1 / 2]


def test_negative_values():
    # Balls: [-120, -80] and [-144, -96] hold 2 of 4, [80, 120] and [-60, -40] only
    # their own.
    y = [-100, -120, 100, -50]
    assert pp.identification_risk(y, y).tolist() == [0.5, 0.5, 0.75, 0.75]


@pytest.mark.slow
@given(releases(max_records=12), RADII, BALLS)
def test_risk_is_the_definition(release, radius, ball):
    y, synthetic, patterns = release
    risk = pp.identification_risk(y, synthetic, radius, patterns, ball, alone=0)
    assert_close(risk, by_definition(y, synthetic, radius, patterns, 1, ball))


@pytest.mark.slow
@given(releases(max_records=12, max_sets=1), RADII, BALLS)
def test_risk_in_one_data_set_is_exact(release, radius, ball):
    y, synthetic, patterns = release
    risk = pp.identification_risk(y, synthetic, radius, patterns, ball, alone=0)
    exact = by_definition(y, synthetic, radius, patterns, 1, ball)
    assert risk.tolist() == [float(share) for share in exact]


@pytest.mark.slow
@given(releases(), RADII, BALLS, ORDERS)
def test_joint_risk_is_the_definition(release, radius, ball, order):
    y, synthetic, patterns = release
    risk = joint_risk(y, synthetic, radius, patterns, order, ball, alone=0)
    assert_close(risk, by_definition(y, synthetic, radius, patterns, order, ball))


@pytest.mark.parametrize("ball", ["absolute", "signed"])
@pytest.mark.parametrize("order", [1, 2])
def test_larger_heaped_file(order, ball):
    rng = np.random.default_rng(1)
    y = np.append(np.round(rng.lognormal(10, 1, 90), -3), [-5e3, -2e4, 0])
    synthetic = np.round(y * rng.uniform(0.7, 1.3, (2, 93)), -3)
    patterns = rng.choice(["f", "m", "x"], 93)
    assert_close(
        joint_risk(y, synthetic, 0.2, patterns, order, ball),
        by_definition(
            y.tolist(), synthetic.tolist(), 0.2, patterns.tolist(), order, ball
        ),
    )


@pytest.mark.slow
@given(releases(max_records=9, labels="a"), RADII, ORDERS)
def test_joint_risk_is_the_definition_in_one_pattern(release, radius, order):
    y, synthetic, patterns = release
    risk = joint_risk(y, synthetic, radius, None, order, alone=0)
    assert_close(risk, by_definition(y, synthetic, radius, patterns, order))


@pytest.mark.slow
@given(releases(), RADII, BALLS, ORDERS)
def test_pairwise_weights_are_the_definition(release, radius, ball, order):
    y, synthetic, patterns = release
    weights = pp.pairwise_weights(y, synthetic, radius, patterns, order, ball, alone=0)
    exact = by_definition(y, synthetic, radius, patterns, order, ball)
    assert_close(weights, [1 - share for share in exact])


@pytest.mark.slow
@given(releases(), RADII)
def test_pairwise_weights_are_means_of_pair_weights(release, radius):
    # P2, Eqs 12 and 13, where Eq 14 is used elsewhere.
    y, synthetic, patterns = release
    weights = pp.pairwise_weights(y, synthetic[0], radius, patterns, alone=0)
    for i, weight in enumerate(weights):
        members = [h for h in range(len(y)) if patterns[h] == patterns[i]]
        others = [j for j in members if j != i]
        pairs = []
        for j in others:
            both = all(in_ball(y[h], synthetic[0][h], radius) for h in (i, j))
            outside = [
                not in_ball(y[i], synthetic[0][h], radius)
                and not in_ball(y[j], synthetic[0][h], radius)
                for h in members
            ]
            pairs.append(1 - both * Fraction(sum(outside), len(members)))
        if others:
            assert abs(weight - sum(pairs) / len(others)) <= 1e-12


@pytest.mark.slow
@given(
    releases(INTEGERS, max_records=12, max_sets=1, labels="ab"),
    st.sampled_from(PERCENTAGES),
)
def test_integers_at_exactly_the_radius(release, percent):
    y, synthetic, patterns = release
    exact = by_definition(y, synthetic, Fraction(percent, 100), patterns)
    risk = pp.identification_risk(y, synthetic, percent / 100, patterns, alone=0)
    assert risk.tolist() == [float(share) for share in exact]


@pytest.mark.parametrize("percent", PERCENTAGES)
@pytest.mark.parametrize("sign", [1, -1])
def test_both_ends_belong_to_the_ball(percent, sign):
    for y in range(100, 10_001, 100):
        reach = y * percent // 100
        file = sign * np.array([y, y - reach, y + reach, y - reach - 1, y + reach + 1])
        assert pp.identification_risk(file, file, percent / 100)[0] == 0.4


@pytest.mark.parametrize("percent", range(1, 51))
def test_own_value_at_exactly_the_radius_is_close(percent):
    y = np.arange(100, 10_001, 100)
    for synthetic in (y - y * percent // 100, y + y * percent // 100):
        file = np.append(y, 10**9), np.append(synthetic, 0)
        assert (pp.identification_risk(*file, percent / 100)[:-1] > 0).all()


@pytest.mark.parametrize("n", [50, 100])
def test_risk_is_that_of_the_published_code(n):
    published = pd.read_csv(VECTORS / f"published_code_n{n}.csv", comment="#")
    assert len(published) == n
    for radius in (0.15, 0.2, 0.3):
        risk = pp.identification_risk(published.y, published.y, radius)
        assert_close(risk, published[f"IR_r{radius:.2f}"])


@pytest.mark.parametrize("n", [50, 100])
def test_pairwise_weights_are_those_of_the_published_code(n):
    published = pd.read_csv(VECTORS / f"published_code_n{n}.csv", comment="#")
    assert_close(pp.pairwise_weights(published.y), published["alphapw_r0.20"])


@pytest.mark.parametrize(
    ("bettys", "inside", "risk"),
    [(110, 2, 10 / 13), (110, 7, 5 / 13), (150, 8, 0), (150, 3, 0)],
)
def test_betty(bettys, inside, risk):
    # P2's supplement, Figures 2-5: 13 records, of which 10, 5, 5 and 10 are outside.
    y = [100, *range(200, 1400, 100), 100]
    close = [80, 85, 90, 95, 105, 115, 118, 120][:inside]
    far = [60, 70, 79, 121, 130, 140, 160, 170, 180, 190][: 12 - inside]
    synthetic = [bettys, *close, *far, 100]
    patterns = ["Betty's"] * 13 + ["another"]
    assert pp.identification_risk(y, synthetic, 0.2, patterns, alone=0)[0] == risk


def test_pairs_by_hand():
    # Outside the balls of 100 and 110 is 300; outside those of 100 and 300, or of 110
    # and 300, is nothing.
    assert_close(pp.pairwise_weights([100, 110, 300]), [5 / 6, 5 / 6, 1])


def test_pairs_by_hand_when_one_is_not_close():
    weights = pp.pairwise_weights([100, 110, 300], [100, 200, 300])
    assert_close(weights, [5 / 6, 1, 5 / 6])


def test_triples_by_hand():
    # Only 900 is outside three balls: those of any three of the four records at 100.
    risk = joint_risk([100, 100, 100, 100, 900], [100, 100, 100, 100, 900], order=3)
    assert_close(risk, [3 / 5 / 6] * 4 + [0])


# --- Balls ----------------------------------------------------------------------------


def test_ball_ends():
    low, high = ball_ends([100, -100, 0], 0.25)
    assert low.tolist() == [75, -125, 0]
    assert high.tolist() == [125, -75, 0]


def test_signed_ball_of_a_negative_value_is_empty():
    low, high = ball_ends([100, -100, 0], 0.25, "signed")
    assert low.tolist() == [75, -75, 0]
    assert high.tolist() == [125, -125, 0]


def test_negative_values_are_safe_in_signed_balls():
    y = [-100, -100, -500, 100, 300, 0]
    risk = pp.identification_risk(y, y, ball="signed")
    assert risk.tolist() == [0, 0, 0, 5 / 6, 5 / 6, 5 / 6]
    weights = pp.pairwise_weights(y, ball="signed")
    assert weights[:3].tolist() == [1, 1, 1]
    assert (weights[3:] < 1).all()
    assert (pp.pairwise_weights(y)[:3] < 1).all()


@pytest.mark.slow
@given(releases(st.floats(0, 1e6)), RADII, ORDERS)
def test_balls_agree_above_zero(release, radius, order):
    y, synthetic, patterns = release
    kinds = [
        joint_risk(y, synthetic, radius, patterns, order, ball, alone=0)
        for ball in ("absolute", "signed")
    ]
    np.testing.assert_array_equal(*kinds)


@pytest.mark.parametrize("radius", [0.2, 1, 50])
def test_ball_of_zero_holds_only_zeros(radius):
    y = [0.0, -0.0, 5e-324, -1e-300, 3, -5, 0, 8]
    risk = pp.identification_risk(y, y, radius)
    assert risk[[0, 1, 6]].tolist() == [5 / 8] * 3


@pytest.mark.parametrize(
    ("radius", "risk"), [(0.9, [0.75, 0.75, 0.5, 0.75]), (1, [0.25, 0.75, 0.5, 0.75])]
)
def test_values_near_the_largest_float(radius, risk):
    y = [1e308, -1e308, 5, 1]
    assert pp.identification_risk(y, y, radius).tolist() == risk


# --- What the definition implies ------------------------------------------------------


@pytest.mark.slow
@given(releases(), RADII, BALLS)
def test_largest_possible_risk(release, radius, ball):
    y, synthetic, patterns = release
    risk = pp.identification_risk(y, synthetic, radius, patterns, ball, alone=0)
    size = np.array([patterns.count(label) for label in patterns])
    assert (risk >= 0).all()
    assert (risk <= 1 - 1 / size + 1e-15).all()


@given(st.lists(FLOATS, min_size=2, max_size=12, unique=True))
def test_isolated_records_have_the_largest_risk(y):
    radius = 1e-9
    assume(not any(in_ball(a, b, radius) for a in y for b in y if a != b))
    risk = pp.identification_risk(y, y, radius)
    assert risk.tolist() == [(len(y) - 1) / len(y)] * len(y)


@pytest.mark.slow
@given(releases(max_sets=1), RADII)
def test_risk_of_a_close_record_is_the_share_that_is_not(release, radius):
    # P1, section 3.1: identification risk falls as attribute risk, this share, rises.
    y, [released], patterns = release
    risk = pp.identification_risk(y, released, radius, patterns, alone=0)
    for i, label in enumerate(patterns):
        close = [
            in_ball(y[i], value, radius)
            for value, other in zip(released, patterns, strict=True)
            if other == label
        ]
        own = in_ball(y[i], released[i], radius)
        assert risk[i] == (close.count(False) / len(close) if own else 0)


@pytest.mark.slow
@given(releases(), RADII, st.floats(1, 5), BALLS)
def test_smaller_radius_raises_risk_unless_a_record_leaves_its_ball(
    release, radius, times, ball
):
    y, synthetic, patterns = release
    small, large = (
        pp.identification_risk(y, synthetic[:1], r, patterns, ball, alone=0)
        for r in (radius, times * radius)
    )
    still = [
        in_ball(a, b, radius, ball) == in_ball(a, b, times * radius, ball)
        for a, b in zip(y, synthetic[0], strict=True)
    ]
    assert (small >= large)[still].all()


def test_smaller_radius_can_lower_risk():
    y, synthetic = [100, 50, 300], [115, 50, 300]
    wide = pp.identification_risk(y, synthetic, 0.2)
    narrow = pp.identification_risk(y, synthetic, 0.1)
    assert [wide[0], narrow[0]] == [2 / 3, 0]


@pytest.mark.slow
@given(releases(), RADII, BALLS)
def test_order_one_is_identification_risk(release, radius, ball):
    y, synthetic, patterns = release
    risk = pp.identification_risk(y, synthetic, radius, patterns, ball, alone=0)
    joint = joint_risk(y, synthetic, radius, patterns, 1, ball, alone=0)
    weights = pp.pairwise_weights(y, synthetic, radius, patterns, 1, ball, alone=0)
    np.testing.assert_array_equal(joint, risk)
    np.testing.assert_array_equal(weights, pp.marginal_weights(risk))


@pytest.mark.slow
@given(releases(), RADII, st.integers(1, 3))
def test_joint_risk_falls_with_the_order(release, radius, order):
    y, synthetic, patterns = release
    single, joint = (
        joint_risk(y, synthetic, radius, patterns, k, alone=0)
        for k in (order, order + 1)
    )
    assert (joint <= single + 1e-12).all()


@pytest.mark.slow
@given(releases(), RADII)
def test_pairwise_weight_is_at_least_the_marginal(release, radius):
    y, synthetic, patterns = release
    risk = pp.identification_risk(y, synthetic, radius, patterns, alone=0)
    weights = pp.pairwise_weights(y, synthetic, radius, patterns, alone=0)
    assert (weights >= 1 - risk - 1e-12).all()


@pytest.mark.slow
@given(releases(), RADII, ORDERS)
def test_largest_possible_joint_risk(release, radius, order):
    y, synthetic, patterns = release
    risk = joint_risk(y, synthetic, radius, patterns, order, alone=0)
    size = np.array([patterns.count(label) for label in patterns])
    assert (risk <= np.maximum(1 - order / size, 0) + 1e-12).all()


@pytest.mark.slow
@given(st.lists(FLOATS, min_size=3, max_size=8), RADII)
def test_pair_risks_are_symmetric(y, radius):
    # Three records give three sums of two pair risks, hence the three pair risks.
    for trio in combinations(range(len(y)), 3):
        values = [y[i] for i in trio]
        sums = 2 * joint_risk(values, values, radius)
        pairs = sums.sum() / 2 - sums[::-1]
        for (i, j), pair in zip(combinations(values, 2), pairs, strict=True):
            outside = [
                not in_ball(i, h, radius) and not in_ball(j, h, radius) for h in values
            ]
            assert abs(pair - sum(outside) / 3) <= 1e-12


def test_joint_risk_is_not_below_zero():
    # Every record is in the ball of 80; sums of thirds leave a rounding error.
    y = [50, 50, 50, 50, 80, 100, 100, 110, 110, 110]
    patterns = [0, 0, 1, 1, 1, 1, 1, 1, 0, 0]
    assert (joint_risk(y, y, 0.4, patterns) >= 0).all()


@pytest.mark.slow
@given(releases(NORMAL), RADII, st.integers(-60, 60), BALLS, ORDERS)
def test_scale_invariant(release, radius, power, ball, order):
    y, synthetic, patterns = release
    plain, scaled = (
        joint_risk(
            np.multiply(y, c),
            np.multiply(synthetic, c),
            radius,
            patterns,
            order,
            ball,
            0,
        )
        for c in (1, 2.0**power)
    )
    np.testing.assert_array_equal(scaled, plain)


@pytest.mark.slow
@given(releases(), RADII)
def test_sign_symmetric(release, radius):
    y, synthetic, patterns = release
    np.testing.assert_array_equal(
        pp.identification_risk(
            np.negative(y), np.negative(synthetic), radius, patterns, alone=0
        ),
        pp.identification_risk(y, synthetic, radius, patterns, alone=0),
    )


@pytest.mark.slow
@given(st.data(), releases(), RADII, BALLS, ORDERS)
def test_follows_the_records(data, release, radius, ball, order):
    y, synthetic, patterns = map(np.array, release)
    moved = np.array(data.draw(st.permutations(range(len(y)))))
    assert_close(
        joint_risk(
            y[moved], synthetic[:, moved], radius, patterns[moved], order, ball, 0
        ),
        joint_risk(y, synthetic, radius, patterns, order, ball, 0)[moved],
    )


@pytest.mark.slow
@given(releases(max_sets=4), RADII, ORDERS)
def test_mean_over_data_sets(release, radius, order):
    y, synthetic, patterns = release
    singles = [
        joint_risk(y, released, radius, patterns, order, alone=0)
        for released in synthetic
    ]
    np.testing.assert_array_equal(
        joint_risk(y, synthetic[:1], radius, patterns, order, alone=0), singles[0]
    )
    assert_close(
        joint_risk(y, synthetic, radius, patterns, order, alone=0),
        np.mean(singles, axis=0),
    )


def test_one_data_set_of_twenty():
    # P1: a record close once in 20 data sets has at most a twentieth of the risk.
    y = np.arange(1, 37) * 1000.0
    synthetic = np.vstack([y, np.zeros((19, 36))])
    risk = pp.identification_risk(y, synthetic, 1e-6)
    assert_close(risk, np.full(36, 35 / 36 / 20))


@given(st.lists(FLOATS, min_size=2, max_size=12), RADII)
def test_records_are_in_their_own_balls_in_the_confidential_file(y, radius):
    risk = pp.identification_risk(y, y, radius)
    shares = [sum(not in_ball(a, b, radius) for b in y) / len(y) for a in y]
    assert risk.tolist() == shares


@given(FLOATS, st.integers(2, 8), RADII)
def test_equal_values(value, n, radius):
    y = [value] * n
    assert pp.identification_risk(y, y, radius).tolist() == [0] * n
    assert pp.pairwise_weights(y, radius=radius).tolist() == [1] * n


# --- Patterns -------------------------------------------------------------------------


@pytest.mark.slow
@given(releases(), releases(), RADII, BALLS, ORDERS)
def test_patterns_do_not_see_each_other(first, second, radius, ball, order):
    y, synthetic, patterns = (
        [*first[0], *second[0]],
        np.concatenate([first[1][0], second[1][0]]),
        [*first[2], *(label + "2" for label in second[2])],
    )
    apart = [
        joint_risk(y, synthetic[0], radius, patterns, order, ball, alone=0)
        for y, synthetic, patterns in (first, second)
    ]
    together = joint_risk(y, synthetic, radius, patterns, order, ball, alone=0)
    assert_close(together, np.concatenate(apart))


@pytest.mark.slow
@given(releases(), RADII, ORDERS, st.permutations([3, 1, 2]))
def test_names_of_patterns_do_not_matter(release, radius, order, names):
    y, synthetic, patterns = release
    renamed = [names["abc".index(label)] for label in patterns]
    assert_close(
        joint_risk(y, synthetic, radius, renamed, order, alone=0),
        joint_risk(y, synthetic, radius, patterns, order, alone=0),
    )


def test_no_patterns_is_one_pattern():
    y = [100, 100, 300, 500]
    np.testing.assert_array_equal(
        pp.identification_risk(y, y), pp.identification_risk(y, y, patterns=["x"] * 4)
    )
    assert pattern_codes(None, 3).tolist() == [0, 0, 0]


LABELS = ["b", "a", "b", "c"]
CODES = [0, 1, 0, 2]
COLUMNS = {"sex": ["f", "f", "f", "m"], "region": [1, 2, 1, 1]}


@pytest.mark.parametrize(
    "patterns",
    [
        LABELS,
        tuple(LABELS),
        np.array(LABELS),
        [7, 2, 7, -1],
        [0.5, 0.25, 0.5, np.inf],
        [True, "a", True, "c"],
        pd.Series(LABELS, index=[3, 2, 1, 0]),
        pd.Categorical(LABELS, categories=["c", "b", "never", "a"]),
        pd.Series(LABELS, dtype="category"),
        pd.Series(LABELS, dtype="string"),
        pd.Series([7, 2, 7, 1], dtype="Int64"),
        xr.DataArray(LABELS, dims="record"),
        COLUMNS,
        pd.DataFrame(COLUMNS),
        pd.DataFrame(COLUMNS, index=[3, 2, 1, 0]),
        pd.DataFrame(COLUMNS).astype("category"),
        pd.DataFrame(COLUMNS).to_numpy(),
        [("f", 1), ("f", 2), ("f", 1), ("m", 1)],
        [[1], [2], [1], [3]],
        np.array([[1, 0, 2], [1, 1, 2], [1, 0, 2], [1, 0, 3]]),
    ],
)
def test_containers_of_patterns(patterns):
    assert pattern_codes(patterns, 4).tolist() == CODES
    y, synthetic = [100, 100, 500, 100], [110, 90, 500, 100]
    risk = pp.identification_risk(y, synthetic, patterns=patterns, alone=0)
    assert risk.tolist() == [0.5, 0, 0.5, 0]


def test_columns_are_not_run_together():
    frame = pd.DataFrame({"a": ["1", "11"], "b": ["11", "1"]})
    assert pattern_codes(frame, 2).tolist() == [0, 1]


@pytest.mark.parametrize("column", ["sex", ["sex"], ["sex", "region"]])
def test_index_named_like_a_column(column):
    frame = pd.DataFrame(COLUMNS).set_index("sex", drop=False)
    same = pd.DataFrame(COLUMNS)[column]
    assert pattern_codes(frame[column], 4).tolist() == pattern_codes(same, 4).tolist()


def test_columns_of_the_same_name():
    frame = pd.DataFrame([["f", 1], ["f", 2], ["f", 1], ["m", 1]], columns=["x", "x"])
    assert pattern_codes(frame, 4).tolist() == CODES


# --- Lone records ---------------------------------------------------------------------


def test_lone_records_warn():
    y = [100, 100, 200, 300]
    with pytest.warns(UserWarning, match="alone") as caught:
        risk = pp.identification_risk(y, y, patterns=["a", "b", "a", "c"])
    assert risk.tolist() == [0.5, 0, 0.5, 0]
    assert len(caught) == 1
    assert re.match(
        r"patterns: 2 records .* risk is set to 0: records 1, 3; .*alone=",
        str(caught[0].message),
    )
    assert caught[0].filename == __file__


def test_pairwise_weights_of_lone_records_warn():
    with pytest.warns(
        UserWarning, match="patterns: 2 records .*: records 1, 3; "
    ) as caught:
        weights = pp.pairwise_weights(
            [100, 100, 200, 300], patterns=["a", "b", "a", "c"]
        )
    assert weights.tolist() == [1, 1, 1, 1]
    assert [warning.filename for warning in caught] == [__file__]


def test_only_the_first_lone_records_are_named():
    y = np.arange(1, 8)
    with pytest.warns(
        UserWarning, match=r"7 records .*: records 0, 1, 2, 3, 4, \.\.\.;"
    ):
        pp.identification_risk(y, y, patterns=y)
    with pytest.warns(UserWarning, match=r"5 records .*: records 0, 1, 2, 3, 4;"):
        pp.identification_risk(y[:5], y[:5], patterns=y[:5])


def test_order_needs_as_many_records():
    y = np.array([100, 300, 500, 700, 900, 1100, 1300])
    patterns = ["a", "a", "b", "b", "b", "c", "d"]
    with pytest.warns(UserWarning, match="patterns: 2 records .*: records 5, 6;"):
        joint_risk(y, y, 0.2, patterns, 2)
    with pytest.warns(UserWarning, match="patterns: 4 records .*: records 0, 1, 5, 6;"):
        weights = pp.pairwise_weights(y, None, 0.2, patterns, order=3)
    assert weights.tolist() == [1] * 7
    with pytest.warns(UserWarning, match="patterns: 7 records"):
        joint_risk(y, y, 0.2, patterns, 4)


@pytest.mark.parametrize("function", [pp.identification_risk, pp.pairwise_weights])
@pytest.mark.parametrize("alone", [0, 0.25, 1, np.float64(0.5)])
def test_alone_silences_the_warning(function, alone):
    y = [100, 100, 300]
    result = function(y, y, patterns=["a", "b", "a"], alone=alone)
    assert result[1] == (alone if function is pp.identification_risk else 1 - alone)


def test_lone_record_is_at_risk_only_when_close():
    y = [100, 100, 200]
    synthetic = [[100, 100, 200], [100, 130, 200], [100, 90, 200], [100, 70, 0]]
    arguments = {"patterns": ["a", "b", "a"], "alone": 0.5}
    risk = pp.identification_risk(y, synthetic, **arguments)
    assert risk.tolist() == [0.5, 0.5 * 2 / 4, 0.5 * 3 / 4]
    weights = pp.pairwise_weights(y, synthetic, **arguments)
    assert weights.tolist() == [1, 1 - 0.5 * 2 / 4, 1]


def test_alone_is_the_risk_of_patterns_too_small_for_the_order():
    y = [100, 300, 500, 700, 900]
    synthetic = [[100, 300, 500, 700, 900], [0, 300, 500, 700, 0]]
    patterns = ["a", "a", "b", "b", "b"]
    risk = joint_risk(y, synthetic, 0.2, patterns, 3, alone=0.5)
    assert risk.tolist() == [0.25, 0.5, 0, 0, 0]
    risk = joint_risk(y, synthetic, 0.2, patterns, 2, alone=0.5)
    assert_close(risk, [0, 0, 1 / 4, 1 / 4, 1 / 6])


def test_negative_lone_record_is_safe_in_a_signed_ball():
    risk = pp.identification_risk([-100], [-100], ball="signed", alone=1)
    assert risk.tolist() == [0]
    assert pp.identification_risk([-100], [-100], alone=1).tolist() == [1]


def test_file_of_one_record():
    with pytest.warns(UserWarning, match="records 0;"):
        assert pp.identification_risk([5], [5]).tolist() == [0]


# --- Top-coding -----------------------------------------------------------------------


def test_top_code():
    coded = pp.top_code([100, 250, -5, 200, 1000], 200)
    assert coded.tolist() == [100, 200, -5, 200, 200]


def test_top_code_does_not_round():
    y = [0.1, 1e300, -1e300, 5e-324]
    assert pp.top_code(y, 1e301).tolist() == y
    assert pp.top_code(y, -1).tolist() == [-1, -1, -1e300, -1]


@pytest.mark.parametrize("replacement", ["threshold", "mean"])
def test_top_code_keeps_its_input(replacement):
    y = np.array([1.0, 5.0, 6.0])
    pp.top_code(y, 2, replacement)
    assert y.tolist() == [1, 5, 6]


@pytest.mark.parametrize(
    ("replacement", "coded"),
    [("threshold", [100, 200, -5, 200, 200]), ("mean", [100, 625, -5, 200, 625])],
)
def test_replacements(replacement, coded):
    y = [100, 250, -5, 200, 1000]
    assert pp.top_code(y, 200, replacement=replacement).tolist() == coded


@pytest.mark.parametrize("replacement", ["threshold", "mean"])
@pytest.mark.parametrize("y", [[3, 3, -1], [3], [-2, 2.5]])
def test_nothing_above_the_threshold(replacement, y):
    assert pp.top_code(y, 3, replacement).tolist() == y


def test_mean_of_one_value_is_that_value():
    assert pp.top_code([5, 5, 9], 5, "mean").tolist() == [5, 5, 9]
    assert pp.top_code([-3, -1, -2], -2.5, "mean").tolist() == [-3, -1.5, -1.5]


@pytest.mark.slow
@given(st.data())
def test_replacements_of_any_values(data):
    y = np.array(data.draw(st.lists(FLOATS, min_size=1, max_size=8)))
    threshold = data.draw(st.one_of(st.sampled_from(y.tolist()), FLOATS))
    above = y > threshold
    by_threshold = pp.top_code(y, threshold)
    assert by_threshold.max() <= threshold or not above.any()
    assert (by_threshold[above] == threshold).all()
    by_mean = pp.top_code(y, threshold, "mean")
    for coded in (by_threshold, by_mean):
        assert (coded[~above] == y[~above]).all()
    assert len(set(by_mean[above])) <= 1
    error = 1e-14 * np.abs(y).max()
    assert abs(by_mean.mean() - y.mean()) <= error


def test_top_coding_saves_only_those_far_above():
    y = [100, 240, 260, 1000]
    risk = pp.identification_risk(y, pp.top_code(y, 200))
    assert risk.tolist() == [3 / 4, 1 / 4, 0, 0]


@pytest.mark.parametrize("threshold", [np.nan, np.inf, None, "high"])
def test_threshold_errors(threshold):
    text = f"threshold must be a finite number in [-inf, inf]; got {threshold!r}"
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        pp.top_code([1, 2], threshold)


@pytest.mark.parametrize("replacement", ["threshold", "mean"])
def test_top_code_errors(replacement):
    with pytest.raises(ValueError, match="y must be finite; record 1 has nan"):
        pp.top_code([1, np.nan], 1, replacement)


@pytest.mark.parametrize("replacement", ["median", "", None, 1])
def test_replacement_errors(replacement):
    text = f"replacement must be one of ('threshold', 'mean'); got {replacement!r}"
    with pytest.raises(ValueError, match=re.escape(text) + "$"):
        pp.top_code([1, 2], 3, replacement)


# --- Input ----------------------------------------------------------------------------


def data_array(values):
    return xr.DataArray(values, dims=["data_set", "record"][-np.ndim(values) :])


def nullable(values):
    if np.ndim(values) == 1:
        return pd.Series(values, dtype="Int64")
    return pd.DataFrame(np.transpose(values), dtype="Int64")


CONTAINERS = [
    np.asarray,
    list,
    tuple,
    data_array,
    nullable,
    lambda values: np.array(values, dtype=np.int16),
    lambda values: np.array(values, dtype=np.float32),
    lambda values: np.array(values, dtype=object),
    lambda values: np.ma.masked_array(values),
]


@pytest.mark.parametrize("container", [*CONTAINERS, pd.Series, pd.Index, pd.array])
def test_containers_of_values(container):
    risk = pp.identification_risk(container([100, 120, 300, 300]), [100, 190, 300, 119])
    assert type(risk) is np.ndarray
    assert risk.dtype == float
    assert risk.tolist() == [0.5, 0, 0.75, 0]
    weights = pp.pairwise_weights(container([100, 110, 300]))
    assert type(weights) is np.ndarray
    assert_close(weights, [5 / 6, 5 / 6, 1])


def in_columns(values):
    """Write data sets as README does: a row for each record."""
    return pd.DataFrame(np.transpose(values))


def in_named_rows(values):
    return data_array(values).rename("y").to_pandas()


@pytest.mark.parametrize("container", [*CONTAINERS, in_columns, in_named_rows])
def test_containers_of_data_sets(container):
    risk = pp.identification_risk(
        [100, 120, 300], container([[100, 190, 300], [119, 120, 0]])
    )
    assert type(risk) is np.ndarray
    assert_close(risk, [(2 / 3 + 1 / 3) / 2, 1 / 3 / 2, 2 / 3 / 2])


@pytest.mark.parametrize("container", [*CONTAINERS, pd.Series, pd.Index, pd.array])
def test_containers_of_one_data_set(container):
    risk = pp.identification_risk([100, 120, 300], container([100, 190, 300]))
    assert_close(risk, [2 / 3, 0, 2 / 3])


LABELS = ["a", "b", "c"]
ORDER = [2, 0, 1]


def labelled(values, labels=LABELS):
    return pd.Series(values, labels)


LABELLED = {
    "series": lambda values: labelled(values),
    "shuffled series": lambda values: labelled(values).iloc[ORDER],
    "shuffled files": lambda values: labelled(values).to_frame().iloc[ORDER],
    "shuffled array": lambda values: xr.DataArray(
        [values], {"record": LABELS}, ("dataset", "record")
    ).isel(record=ORDER),
    "array": lambda values: np.array(values),
    "list": list,
    "array without labels": lambda values: xr.DataArray(
        [values], {"record": range(3)}, ("dataset", "record")
    ),
}


@pytest.mark.parametrize("synthetic", LABELLED.values(), ids=LABELLED)
def test_synthetic_values_are_found_by_their_labels(synthetic):
    y = labelled([100, 120, 300])
    risk = pp.identification_risk(y, synthetic([100, 190, 300]))
    assert_close(risk, [2 / 3, 0, 2 / 3])


@pytest.mark.parametrize(
    "patterns",
    [
        labelled([1, 2, 1]).iloc[ORDER],
        labelled([1, 2, 1]).to_frame().iloc[ORDER],
        [1, 2, 1],
    ],
    ids=["series", "frame", "list"],
)
def test_patterns_are_found_by_their_labels(patterns):
    risk = pp.identification_risk(
        labelled([100, 120, 300]), [100, 190, 300], patterns=patterns, alone=0.5
    )
    assert_close(risk, [1 / 2, 0, 1 / 2])


@pytest.mark.parametrize(
    "labels", [["a", "b", "d"], ["a", "b", "b"], [0, 1, 2]], ids=str
)
def test_labels_of_other_records_are_refused(labels):
    y, other = labelled([100, 120, 300]), labelled([100, 190, 300], labels)
    text = (
        "must have the labels of y, each of them once or all in the same order; there "
        f"are 3 and 3, which begin with {labels} and {LABELS}"
    )
    with pytest.raises(ValueError, match=message(f"synthetic {text}")):
        pp.identification_risk(y, other)
    with pytest.raises(ValueError, match=message(f"patterns {text}")):
        pp.identification_risk(y, [100, 190, 300], patterns=other)


def test_labels_that_come_twice_are_positions_if_all_are_in_order():
    twice = ["a", "a", "b"]
    y, z = labelled([100, 120, 300], twice), labelled([100, 190, 300], twice)
    assert_close(pp.identification_risk(y, z), [2 / 3, 0, 2 / 3])
    with pytest.raises(ValueError, match="synthetic must have the labels of y"):
        pp.identification_risk(y, z.iloc[ORDER])


def test_input_is_kept():
    y, synthetic = np.array([3.0, 1.0, 2.0]), np.array([[9.0, 1.0, 2.0]])
    patterns = pd.DataFrame({"a": [2, 1, 2]})
    pp.pairwise_weights(y, synthetic, patterns=patterns, alone=0)
    assert y.tolist() == [3, 1, 2]
    assert synthetic.tolist() == [[9, 1, 2]]
    assert patterns.equals(pd.DataFrame({"a": [2, 1, 2]}))


FUNCTIONS = pytest.mark.parametrize(
    "function", [pp.identification_risk, joint_risk, pp.pairwise_weights]
)


def message(text):
    return re.escape(text) + "$"


@FUNCTIONS
@pytest.mark.parametrize("radius", [0, -1, np.nan, np.inf, None, "wide"])
def test_radius_errors(function, radius):
    text = f"radius must be a finite number in (0, inf]; got {radius!r}"
    with pytest.raises(ValueError, match=message(text)):
        function([1, 2], [1, 2], radius)


@FUNCTIONS
@pytest.mark.parametrize(
    ("y", "text"),
    [
        ([1, np.nan], "y must be finite; record 1 has nan"),
        ([-np.inf, 1], "y must be finite; record 0 has -inf"),
        (pd.Series([1, None, 3], dtype="Int64"), "y must be finite; record 1 has nan"),
        ([], "y must hold one value per record; got shape (0,)"),
        ([[1, 2]], "y must hold one value per record; got shape (1, 2)"),
        (5, "y must hold one value per record; got shape ()"),
        (["low", "high"], "y must be numbers; record 0 has 'low'"),
    ],
)
def test_value_errors(function, y, text):
    with pytest.raises(ValueError, match=message(text)):
        function(y, [1, 2])


@FUNCTIONS
@pytest.mark.parametrize(
    ("synthetic", "text"),
    [
        ([1, 2, np.nan], "be finite; record 2 of data set 0 has nan"),
        ([[1, 2, 3], [1, -np.inf, 3]], "be finite; record 1 of data set 1 has -inf"),
        (
            pd.Series([1, 2, None], dtype="Float64"),
            "be finite; record 2 of data set 0 has nan",
        ),
        (["a", "b", "c"], "be numbers; record 0 has 'a'"),
        ([1, 2], "have shape (m, 3) or (3,); got (2,)"),
        ([[1, 2], [1, 2], [1, 2]], "have shape (m, 3) or (3,); got (3, 2)"),
        ([], "have shape (m, 3) or (3,); got (0,)"),
        (np.empty((0, 3)), "have shape (m, 3) or (3,); got (0, 3)"),
        (np.ones((2, 1, 3)), "have shape (m, 3) or (3,); got (2, 1, 3)"),
        (np.ones((2, 3, 3)), "have shape (m, 3) or (3,); got (2, 3, 3)"),
        (5, "have shape (m, 3) or (3,); got ()"),
    ],
)
def test_data_set_errors(function, synthetic, text):
    with pytest.raises(ValueError, match=message(f"synthetic must {text}")):
        function([1, 2, 3], synthetic)


@FUNCTIONS
@pytest.mark.parametrize("ball", ["abs", "", None, 1])
def test_ball_errors(function, ball):
    text = f"ball must be one of ('absolute', 'signed'); got {ball!r}"
    with pytest.raises(ValueError, match=message(text)):
        function([1, 2], [1, 2], ball=ball)


@FUNCTIONS
@pytest.mark.parametrize(
    ("patterns", "text"),
    [
        ([1, np.nan, 1], "not be missing; record 1 has one"),
        (["a", "b", None], "not be missing; record 2 has one"),
        (pd.Series([None, 1, 1], dtype="Int64"), "not be missing; record 0 has one"),
        (pd.Categorical(["a", None, "b"]), "not be missing; record 1 has one"),
        ([("a", 1), ("b", 1), ("a", None)], "not be missing; record 2 has one"),
        (["a", "b"], "have 3 rows, as y has; got 2"),
        (["a"] * 4, "have 3 rows, as y has; got 4"),
        ([[1, 2, 3], [1, 2, 3]], "have 3 rows, as y has; got 2"),
        (pd.DataFrame(index=range(3)), "have at least one column; got none"),
        (np.empty((3, 0)), "have at least one column; got none"),
        ([], "have at least one column; got none"),
    ],
)
def test_pattern_errors(function, patterns, text):
    with pytest.raises(ValueError, match=message(f"patterns must {text}")):
        function([1, 2, 3], [1, 2, 3], patterns=patterns)


@pytest.mark.parametrize("patterns", [5, "abc", np.zeros((3, 1, 1))])
def test_shape_of_patterns_errors(patterns):
    with pytest.raises(ValueError, match="patterns must"):
        pp.identification_risk([1, 2, 3], [1, 2, 3], patterns=patterns)


@pytest.mark.parametrize("function", [joint_risk, pp.pairwise_weights])
@pytest.mark.parametrize("order", [0, -1, 1.5, 2.0, np.nan, None, "2", True])
def test_order_errors(function, order):
    text = f"order must be a whole number of at least 1; got {order!r}"
    with pytest.raises(ValueError, match=message(text)):
        function([1, 2], [1, 2], order=order)


ALONE = [-0.1, 1.1, np.nan, np.inf, "no"]


@FUNCTIONS
@pytest.mark.parametrize("alone", ALONE)
def test_alone_errors(function, alone):
    text = f"alone must be a finite number in [0, 1]; got {alone!r}"
    with pytest.raises(ValueError, match=message(text)):
        function([1, 2], [1, 2], patterns=[1, 2], alone=alone)


@pytest.mark.parametrize("alone", ALONE)
def test_alone_errors_when_no_record_is(alone):
    text = f"alone must be a finite number in [0, 1]; got {alone!r}"
    with pytest.raises(ValueError, match=message(text)):
        pp.identification_risk([1, 2], [1, 2], alone=alone)


def test_match_rates_are_those_of_a_plain_count():
    rng = np.random.default_rng(3)
    y = rng.lognormal(3, 1, size=80) * rng.choice([1, 1, -1], size=80)
    z = np.concatenate([y[None], rng.lognormal(3, 1, size=(2, 80))])
    codes = rng.integers(12, size=80)
    for ball in ("absolute", "signed"):
        found = pp.match_rates(y, z, 0.3, codes, ball)
        low, high = pp.ball_ends(y, 0.3, ball)
        for file, *of_file in zip(z, *found, strict=True):
            expected, true, false, single = 0, 0, 0, 0
            for i in range(80):
                fits = [
                    h
                    for h in range(80)
                    if codes[h] == codes[i] and low[i] <= file[h] <= high[i]
                ]
                expected += 1 / len(fits) if i in fits else 0
                single += len(fits) == 1
                true += fits == [i]
                false += len(fits) == 1 and fits != [i]
            assert of_file == pytest.approx(
                [expected, true / 80, false / max(single, 1)]
            )
        assert found.false_rate[1:].max() > 0


def test_match_rates_of_what_nobody_fits():
    rates = pp.match_rates([10, 20], [[1, 1], [10, 20]])
    assert rates.expected.tolist() == [0, 2]
    assert rates.true_rate.tolist() == [0, 1]
    assert rates.false_rate.tolist() == [0, 0]
