"""What the chapter on covariance computes, and how it judges."""

import count_files
import covariance
import numpy as np
import pandas as pd
import pytest
from judged import normal_estimates
from scipy import optimize, stats

THETA = np.log([100.0, 10.0])


def test_models_by_hand():
    """Against derivatives, by differences, of log-likelihoods written anew."""
    rng = np.random.default_rng(1)
    x, alpha = rng.normal(size=20), rng.uniform(size=20)
    X = np.column_stack([np.ones(20), rng.normal(size=20)])
    for answer, mean, sd in (
        (covariance.normal_mean(x, alpha), lambda theta: theta[0], 1),
        (covariance.regression(x, X, alpha), lambda theta: X @ theta, 0.5),
    ):

        def log_density(theta, mean=mean, sd=sd):
            return stats.norm.logpdf(x, mean(theta), sd)

        _, best, H, J = answer
        score = optimize.approx_fprime(best, log_density)
        curvature = covariance.numerical_curvature(
            lambda theta, f=log_density: alpha @ f(theta) / 20, np.array(best)
        )
        np.testing.assert_allclose(alpha @ score, 0, atol=1e-5)
        np.testing.assert_allclose(H, curvature, atol=1e-6)
        noise = alpha[:, None] * score
        np.testing.assert_allclose(J, noise.T @ noise / 20, atol=1e-5)


def test_difference_is_the_largest():
    assert covariance.difference([[1, 2]], [[1.5, 0]]) == 2


def test_steepness_is_below_the_envelope_and_above_a_single_pair():
    steep, envelope = covariance.steepness(THETA, width=0.1, points=3)
    ends = [count_files.log_likelihood(count_files.COUNTS, THETA + s) for s in (0.1, 0)]
    pair = np.abs(ends[0] - ends[1]) / np.hypot(0.1, 0.1)
    assert (steep >= pair - 1e-9).all()
    assert (envelope >= covariance.score_length(THETA)).all()
    assert (steep <= envelope * (1 + 1e-9)).all()


def test_numerical_curvature_of_a_parabola():
    A = np.array([[3.0, 1.0], [1.0, 2.0]])
    found = covariance.numerical_curvature(lambda t: -t @ A @ t / 2, np.ones(2), 1e-3)
    np.testing.assert_allclose(found, A, atol=1e-6)


def test_remainders_and_their_rate():
    table = covariance.remainders({10: (np.array([3, 1]), np.array([1, 1]))})
    assert table.loc[10].tolist() == pytest.approx(
        [np.sqrt(2), np.sqrt(10), np.sqrt(5)]
    )
    assert covariance.falling_rate([1, 0.5, 0.25], 16) == pytest.approx(-0.5)


def test_a2_weights_put_the_far_counts_at_a_half():
    weights = covariance.a2_weights(np.array([100, 200, 10, 99, 101, 98, 120, 95, 90]))
    assert np.flatnonzero(weights == 0.5).tolist() == [1, 2, 6]
    assert weights[0] == pytest.approx(1 - np.sqrt(np.log(9) / 9) / np.sqrt(6))


@pytest.fixture(scope="module")
def files():
    return dict.fromkeys(count_files.SHORT, normal_estimates())


@pytest.fixture(scope="module")
def spread(files):
    one = {"sandwich": np.eye(2)}
    two = {"sandwich": 2 * np.eye(2)}
    theory = {
        (p, name): two if name == "Scalar" else one
        for p in files
        for name in count_files.FIXED
    }
    return covariance.variances_over_files(files, theory, 100)


def test_variances_over_files(files, spread):
    for p, parameter in enumerate(count_files.PARAMETERS):
        moved = 100 * files["Right model"]["Scalar", "estimate", str(p)].var()
        row = spread.loc[("Right model", "Scalar")].xs(parameter, level=1)
        assert row.tolist() == pytest.approx([moved, moved / 2, 2])
    values = covariance.spread_values(spread)
    assert len(values) == 60
    assert values["wrong-cw-known-theory-mu"] == 1


def test_normality():
    rng = np.random.default_rng(1)
    theory = {"sandwich": np.diag([1.0, 4.0]), "star": np.array([5.0, 0.0])}
    draws = [5, 0] + rng.normal(size=(500, 2)) * [0.1, 0.1]
    right, wrong = covariance.normality(draws, theory, n=100)
    assert right > 0.01 > wrong


NUMBERS = {250: 1.3, 1000: 1.3, 4000: 1.3}


def matrices(**changes):
    plain = {
        "expansion": {k: (np.full(3, v), np.full(3, v)) for k, v in NUMBERS.items()},
        "numeric": np.eye(2),
        "H": np.eye(2),
        "J": 2 * np.eye(2),
        "score_covariance": 0.002 * np.eye(2),
        "closed": pd.DataFrame({"H": [1e-12], "J": [1e-12]}),
        "gap": 1e-9,
    }
    return covariance.claims_on_matrices(**plain | changes)


def conditions(**changes):
    plain = {
        "exceeds": 0.5,
        "envelope_holds": True,
        "quadratic": pd.DataFrame({"corrected": [0.9, 1.0], "printed": [3.0, 40.0]}),
        "slopes": pd.DataFrame({"without": [0.0, 30.0], "weighted": [20.0, 0.0]}),
    }
    return covariance.claims_on_conditions(**plain | changes)


def of_expansion(plus=(0.4, 0.2, 0.1), minus=2.7, **changes):
    table = pd.DataFrame({"plus": plus, "minus": minus, "left side": 1.35})
    plain = {"left": 1.0, "term": 1.0, "off_centre": 20.0, "p_values": [0.3, 0.6]}
    plain["from_file"] = pd.Series([1.05, 0.95])
    return covariance.claims_on_expansion(table=table, **plain | changes)


def of_sandwich(moved=1.0, ratio=0.5, **changes):
    index = pd.MultiIndex.from_product([count_files.SHORT, count_files.WEIGHTINGS])
    spread = pd.DataFrame(
        {
            (kind, parameter): value
            for kind, value in (("files / sandwich", moved), ("sandwich / MLE", ratio))
            for parameter in count_files.PARAMETERS
        },
        index=index,
    )
    plain = {
        "closed": pd.DataFrame({"H": [1e-12], "J": [1e-12]}),
        "gap": 1e-9,
        "slack": {100: 0.3, 400: 0.5},
        "equal": np.zeros((2, 2)),
    }
    return covariance.claims_on_sandwich(spread=spread, **plain | changes)


BAD = pd.DataFrame({"H": [1e-3], "J": [1e-3]})
WRONG = {250: (np.full(3, 1.0),) * 2, 1000: (np.full(3, 2.0),) * 2}


@pytest.mark.parametrize(
    ("claim", "true", "false"),
    [
        ("P1-Eq17", lambda: matrices(), lambda: matrices(expansion=WRONG)),
        ("P1-Eq18", lambda: matrices(), lambda: matrices(numeric=1.1 * np.eye(2))),
        ("P1-Eq19", lambda: matrices(H=1000 * np.eye(2)), lambda: matrices()),
        ("P1-Eq20", lambda: matrices(), lambda: matrices(gap=1e-3)),
        ("P1-Eq20", lambda: matrices(), lambda: matrices(closed=BAD)),
        (
            "P1-Eq21",
            lambda: matrices(score_covariance=2 * np.eye(2)),
            lambda: matrices(),
        ),
        (
            "P1-Eq22",
            lambda: matrices(score_covariance=2 * np.eye(2)),
            lambda: matrices(),
        ),
        ("P1-A3", lambda: conditions(exceeds=0), lambda: conditions()),
        (
            "P1-A4",
            lambda: conditions(quadratic=pd.DataFrame({"c": [1.0], "p": [1.01]})),
            lambda: conditions(),
        ),
        (
            "P1-A5",
            lambda: conditions(slopes=pd.DataFrame({"u": [0, 3.0], "w": [9, 0.0]})),
            lambda: conditions(),
        ),
        ("P1-Eq26a", lambda: of_expansion(minus=1, term=-1.0), lambda: of_expansion()),
        ("P1-Eq26b", lambda: of_expansion(minus=1), lambda: of_expansion()),
        (
            "P1-Eq26c",
            lambda: of_expansion(minus=1, off_centre=0.5),
            lambda: of_expansion(minus=1),
        ),
        ("P1-Thm2", lambda: of_expansion(), lambda: of_expansion(p_values=[0.001, 1])),
        ("P1-Thm2", lambda: of_expansion(), lambda: of_expansion(plus=(0.4, 0.4, 0.4))),
        ("P1-Thm2", lambda: of_expansion(), lambda: of_expansion(term=0.9)),
        (
            "P1-Thm2",
            lambda: of_expansion(),
            lambda: of_expansion(from_file=pd.Series([1.0, 3.0])),
        ),
        ("P1-Eq27a", lambda: of_sandwich(), lambda: of_sandwich(moved=1.2)),
        ("P1-Eq27b", lambda: of_sandwich(moved=0.001), lambda: of_sandwich()),
        ("P1-Eq27c", lambda: of_sandwich(), lambda: of_sandwich(closed=BAD)),
        ("P1-Eq27c", lambda: of_sandwich(), lambda: of_sandwich(gap=1e-3)),
        ("P1-Eq27d", lambda: of_sandwich(), lambda: of_sandwich(slack={100: -0.1})),
        ("P1-Eq27d", lambda: of_sandwich(), lambda: of_sandwich(equal=[[0.1]])),
        ("P1-Thm3", lambda: of_sandwich(), lambda: of_sandwich(moved=0.8)),
        ("P1-Claim29", lambda: of_sandwich(ratio=1.5), lambda: of_sandwich()),
    ],
)
def test_a_claim_holds_and_fails(claim, true, false):
    assert true()[claim][1]
    assert not false()[claim][1]


def test_words_hold_the_numbers():
    assert matrices()["P1-Eq21"][0] == "n Var / J = 1.00, 1.00; as printed 1/1000 of it"
    assert of_expansion()["P1-Thm2"][0] == (
        "p = 0.30, 0.60; remainder 0.40 to 0.10; weights from the file: variance over "
        "the sandwich 1.1 and 0.9"
    )
    assert of_sandwich()["P1-Eq27b"][0] == "without the sum 1000 times too small"
