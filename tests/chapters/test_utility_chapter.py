from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import utility
from scipy import stats

import pseudopost as pp

SIZES = (2, 3, 5, 10, 20)
RELEASES = ["Unweighted", "Pairwise", "Marginal", "Top-coded", "Permuted", "Noisy"]


def verdicts(claims):
    return {name: bool(holds) for name, (_, holds) in claims.items()}


def set_to(table, row, column, value):
    changed = table.copy()
    changed.loc[row, column] = value
    return changed


# Releases and intervals


def test_bootstrap_means_are_means_of_resampled_files():
    files = np.array([[0.0, 1.0, 5.0], [2.0, 2.0, 2.0]])
    means = utility.bootstrap_means(files, 2000, np.random.default_rng(1))
    assert means.shape == (2, 2000)
    assert set(np.round(3 * means[0], 9)) <= {0, 1, 2, 3, 5, 6, 7, 10, 11, 15}
    assert means[0].mean() == pytest.approx(2, abs=0.15)
    assert np.allclose(means[1], 2)


def test_bootstrap_with_shared_resampling_is_the_package_s():
    assert utility.bootstrap_apart(random_seed=3, n_resamples=3000) < 0.02


def test_combined_ends_are_the_rule_s():
    q, u = np.array([[1.0, 2.0, 4.0], [0.0, 0.5, 0.0]]), np.full((2, 3), 0.3)
    low, high = utility.combined_ends(q, u)
    for k in range(2):
        rule = pp.combine_partially_synthetic(q[k], u[k])
        assert (low[k], high[k]) == (rule.low, rule.high)
        assert utility.combined(q[k], u[k]) == (rule.estimate, rule.low, rule.high)


def test_a_single_file_has_a_normal_interval():
    ends = utility.combined(np.array([3.0]), np.array([4.0]))
    assert np.allclose(ends, [3, 3 - 3.92, 3 + 3.92])


def test_coverage_counts_intervals_that_contain_0():
    def intervals(y, rng):
        mean = y.mean(axis=1)
        half = stats.t.ppf(0.975, y.shape[1] - 1) * stats.sem(y, axis=1)
        return {
            "t": (mean - half, mean + half),
            "never": (mean + 5, mean + 6),
            "at the end": (np.zeros(len(y)), np.ones(len(y))),
        }

    found = utility.coverage(intervals, 10, 2000, random_seed=1)
    assert found.loc["t", "covers"] == pytest.approx(0.95, abs=0.02)
    assert found.loc["never", "covers"] == 0
    assert found.loc["at the end", "covers"] == 1
    assert np.allclose(found.loc[["never", "at the end"], "width"], 1)


def test_normal_coverage():
    assert utility.normal_coverage(1) == pytest.approx(0.95, abs=1e-4)
    assert utility.normal_coverage(1 / 3) == pytest.approx(0.742, abs=1e-3)


def test_coefficient_and_its_variance_are_least_squares():
    rng = np.random.default_rng(1)
    design = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    values = rng.normal(size=(2, 40)) + 3 * design["b"].to_numpy()
    estimates, variances = utility.coefficient(design, "b", values)
    rest = np.column_stack([np.ones(40), design["a"]])
    for k in range(2):
        # After Frisch, Waugh and Lovell: residuals on residuals.
        x, v = (
            u - rest @ np.linalg.lstsq(rest, u)[0] for u in (design["b"], values[k])
        )
        slope = x @ v / (x @ x)
        assert estimates[k] == pytest.approx(slope)
        assert variances[k] == pytest.approx(
            ((v - slope * x) ** 2).sum() / 37 / (x @ x)
        )
    alone = utility.coefficient(design, "b", values[0])
    assert np.allclose(alone, (estimates[0], variances[0]))


def test_noise_of_synthesis():
    each = [
        pp.Interval(np.array([q]), np.array([q - 1.96]), np.array([q + 1.96]))
        for q in (1.0, 3.0, 5.0)
    ]
    assert np.allclose(utility.noise_of_synthesis(each), 4)


# Measures


def test_a_column_for_the_tail_is_refused_without_a_tail():
    y = np.random.default_rng(1).exponential(size=400)
    z = np.random.default_rng(2).exponential(size=400)
    assert not utility.refused(y, z)
    assert utility.refused(y, np.minimum(y, np.quantile(y, 0.94)))


def test_products_with_rare_levels():
    rng = np.random.default_rng(1)
    y, z = rng.exponential(size=(2, 300))
    x = (np.arange(300) % 2)[:, None].astype(float)
    columns = [
        np.column_stack([u, u**2, u * x[:, 0]]) for u in (np.log(y + 1), np.log(z + 1))
    ]
    expected = pp.propensity_score_mse(*columns, x).ratio
    assert utility.rare_ratio(y, z, x, 1) == pytest.approx(expected)
    rare = np.column_stack([x, np.arange(300) < 1])
    assert np.isnan(utility.rare_ratio(y, z, rare, 1))


@pytest.fixture
def measures():
    """Measures of releases of which all are good."""
    rows = {
        "overlap, mean": 0.8,
        "overlap, median": 1.0,
        "overlap, 90% quantile": 0.9,
        "overlap, coefficient of not earning": 0.9,
        "overlap, coefficient of a degree": 0.85,
        "largest |F* - F|": 0.025,
        "pMSE ratio, main effects": 2.0,
        "pMSE ratio, interactions": 1.5,
        "mean risk": 0.9,
    }
    return pd.DataFrame(dict.fromkeys([*RELEASES, "Permuted in cells"], rows))


def test_lines(measures):
    assert "mean risk" not in utility.within_lines(measures).index
    assert utility.within_lines(measures).all(axis=None)
    for row, worse in (
        ("overlap, mean", 0.79),
        ("largest |F* - F|", 0.026),
        ("pMSE ratio, main effects", 2.1),
        ("pMSE ratio, interactions", 2.1),
    ):
        passed = utility.within_lines(set_to(measures, row, "Noisy", worse))
        assert not passed.loc[row, "Noisy"]
        assert (~passed).sum(axis=None) == 1


def test_crosses_mark_what_has_not_passed(measures):
    measures.loc["overlap, mean", "Noisy"] = 0.5
    shown = utility.with_crosses(measures, utility.within_lines(measures))
    assert shown.loc["overlap, mean", "Noisy"] == "0.50 ✗"
    assert shown.loc["mean risk", "Noisy"] == "0.90"
    assert (shown == shown.map("{:.4}".format)).sum(axis=None) == shown.size - 1


# Numbers for the text


def test_numbers_on_the_marginal_means():
    y = np.array([1.0, 2.0, 3.0])
    means = pd.DataFrame(
        {
            "release": ["Unweighted", "Marginal", "Marginal", "Marginal"],
            "mean": [2.0, 1.0, 1.5, 4.0],
            "low": [1.0, 0.5, 1.0, 3.0],
            "high": [3.0, 1.5, 3.0, 6.0],
            "90% quantile": [9.0, 2.0, 3.0, 4.0],
            "median of means": [9.0, 5.0, 6.0, 8.0],
        }
    )
    tail = pd.DataFrame({"above 5 million (% of files)": {"Marginal": 7.0}})
    found = utility.mean_numbers(tail, means, y)
    assert found["above-Marginal"] == 7
    assert (found["n-releases"], found["marginal-above"]) == (3, 1)
    assert found["marginal-low-above"] == 1
    assert found["asymmetry-above"] == 2
    assert found["asymmetry-below"] == 2  # median of 1 and 3
    assert found["marginal-medians"] == 3
    assert found["marginal-mean-median"] == 1.5


def test_numbers_under_weights():
    cases = ["scalar 0.2, n = 100", "tail 0.2, n = 100", "tail 0.2, n = 400"]
    wrong = pd.DataFrame(0.5, index=["Combining rule", "Bootstrap"], columns=cases)
    found = utility.weight_numbers(
        wrong, lambda y: np.where(y > 1, 0.2, 1.0), random_seed=1
    )
    # 0.8 of the density at 1, over the total weight.
    exact = -0.8 * stats.norm.pdf(1) / (1 - 0.8 * stats.norm.sf(1))
    assert found["tail-centre"] == pytest.approx(exact, abs=0.005)
    assert found["tail-errors-400"] == 2 * found["tail-errors-100"]


def test_numbers_on_the_noise():
    noise = pd.DataFrame({"Marginal": {"mean": 1.0, "median": 20.0}})
    found = utility.noise_numbers(noise)
    assert found["noise-Marginal"] == 20
    assert found["noise-width"] == pytest.approx(100 * (1 - 1 / np.sqrt(2)))


def test_published_numbers():
    found = utility.overlap_numbers()
    assert found["published-shift"] == pytest.approx(5.45, abs=0.01)
    assert found["published-narrow"] == 0
    assert found["published-overlap"] == pytest.approx(0.413, abs=0.001)


# Verdicts


@pytest.fixture
def share():
    rows = {
        "Combining rule": [0.93, 0.95, 0.95, 0.95, 0.95],
        "Bootstrap, pooled": [0.9, 0.94, 0.97, 0.98, 0.99],
        "Bootstrap": [0.83, 0.87, 0.9, 0.92, 0.94],
        "One file": [0.74] * 5,
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=SIZES)


def coverage_verdicts(share):
    error = np.sqrt(share * (1 - share) / 4000)
    return verdicts(utility.coverage_claims(share, error))


def test_coverage_claims_hold(share):
    assert all(coverage_verdicts(share).values())


@pytest.mark.parametrize(
    ("claim", "row", "m", "value"),
    [
        ("combining rule covers 95%, m of 3 or more", "Combining rule", 10, 0.93),
        ("one file covers 74%", "One file", 5, 0.78),
        ("bootstrap covers too little, m = 2", "Bootstrap", 2, 0.89),
        ("bootstrap loses at most 3 points, m = 20", "Bootstrap", 20, 0.91),
        ("pooled bootstrap covers too much, m = 20", "Bootstrap, pooled", 20, 0.98),
    ],
)
def test_coverage_claims_can_fail(share, claim, row, m, value):
    found = coverage_verdicts(set_to(share, row, m, value))
    assert [name for name, holds in found.items() if not holds] == [claim]


def test_two_files_may_cover_less(share):
    assert all(coverage_verdicts(set_to(share, "Combining rule", 2, 0.8)).values())


@pytest.mark.parametrize(("apart", "holds"), [(0.004, True), (0.006, False)])
def test_bootstrap_claim(apart, holds):
    assert list(verdicts(utility.bootstrap_claim(apart)).values()) == [holds]


def test_weight_claims():
    wrong = pd.DataFrame(
        {"scalar 0.2, n = 100": 0.95, "tail 0.2, n = 400": 0.1},
        index=["Confidential file", "Combining rule", "Bootstrap"],
    )
    wrong.loc["Confidential file", "tail 0.2, n = 400"] = 0.95
    scalar, tail = utility.weight_claims(wrong)
    assert verdicts(utility.weight_claims(wrong)) == {scalar: True, tail: True}
    low = set_to(wrong, "Combining rule", "scalar 0.2, n = 100", 0.93)
    assert verdicts(utility.weight_claims(low)) == {scalar: False, tail: True}
    high = set_to(wrong, "Bootstrap", "tail 0.2, n = 400", 0.3)
    assert verdicts(utility.weight_claims(high)) == {scalar: True, tail: False}


def test_overlap_claim():
    overlaps = {
        name: pp.interval_overlap(ends, utility.REFERENCE)
        for name, ends in utility.INTERVALS.items()
    }
    assert all(verdicts(utility.overlap_claim(overlaps)).values())
    overlaps["Shifted by two"] = 0.6
    assert not any(verdicts(utility.overlap_claim(overlaps)).values())


def test_null_claim():
    null = pd.DataFrame(
        {"theory": [1, 2], "mean ratio": [1.1, 1.9], "s.e.": [0.03] * 2}
    )
    assert all(verdicts(utility.null_claim(null)).values())
    far = set_to(null, 1, "mean ratio", 1.8)
    assert not any(verdicts(utility.null_claim(far)).values())


@pytest.fixture
def permuted(measures):
    columns = ["Permuted", "Permuted in cells"]
    measures.loc["largest |F* - F|", columns] = 0
    measures.loc["pMSE ratio, main effects", columns] = 1e-9
    measures.loc["pMSE ratio, interactions", columns] = 30, 11
    measures.loc["overlap, mean", columns] = 0.95
    measures.loc["overlap, coefficient of a degree", columns] = 0
    return measures


def test_permuted_claims_hold(permuted):
    assert all(verdicts(utility.permuted_claims(permuted)).values())


@pytest.mark.parametrize(
    ("claim", "row", "column", "value"),
    [
        (0, "largest |F* - F|", "Permuted", 0.001),
        (0, "pMSE ratio, main effects", "Permuted in cells", 0.1),
        (1, "pMSE ratio, interactions", "Permuted in cells", 9),
        (2, "overlap, coefficient of not earning", "Permuted in cells", 0.7),
        (2, "overlap, coefficient of a degree", "Permuted in cells", 0.2),
    ],
)
def test_permuted_claims_can_fail(permuted, claim, row, column, value):
    found = verdicts(utility.permuted_claims(set_to(permuted, row, column, value)))
    assert list(found.values()) == [k != claim for k in range(3)]


def test_noisy_claim(measures):
    def holds(table):
        passed = utility.within_lines(table)
        return list(verdicts(utility.noisy_claim(table, passed)).values()) == [True]

    assert holds(measures)
    assert not holds(set_to(measures, "mean risk", "Noisy", 0.5))
    assert not holds(set_to(measures, "overlap, mean", "Noisy", 0.5))
    assert holds(set_to(measures, "overlap, mean", "Marginal", 0.5))


@pytest.fixture
def distance():
    return pd.DataFrame(
        {
            "largest": [0.01, 0.03, 0.06, 0.05],
            "mean squared": [1e-4, 3e-4, 9e-4, 1e-4],
        },
        index=RELEASES[:4],
    )


def test_distance_claim(distance):
    assert all(verdicts(utility.distance_claim(distance)).values())
    for column, value in (("largest", 0.035), ("mean squared", 2.5e-4)):
        same = set_to(distance, "Top-coded", column, value)
        assert not any(verdicts(utility.distance_claim(same)).values())


def test_tail_claims():
    far = pd.Series(
        {
            "mean income, data": 100.0,
            "mean income, ten times 100": 250.0,
            "largest |F* - F|": 0.002,
            "pMSE ratio, main effects": 0.9,
            "pMSE ratio, interactions": 1.1,
        }
    )
    assert list(verdicts(utility.tail_claims(True, far)).values()) == [True, True]
    assert list(verdicts(utility.tail_claims(False, far)).values()) == [False, True]
    for changed in (
        {"pMSE ratio, interactions": 2.5},
        {"mean income, ten times 100": 150.0},
    ):
        seen = pd.Series({**far, **changed})
        assert list(verdicts(utility.tail_claims(True, seen)).values()) == [True, False]


def test_order_claim(distance):
    pmse = pd.DataFrame({"interactions": [1.0, 2.0, 4.0]}, index=RELEASES[:3])
    measures = ["pMSE ratio, interactions", "largest |F* - F|"]
    small = pd.DataFrame(1e-4, index=measures, columns=RELEASES[:3])
    assert all(verdicts(utility.order_claim(pmse, distance, small)).values())
    close = set_to(pmse, "Marginal", "interactions", 2.5)
    assert not any(verdicts(utility.order_claim(close, distance, small)).values())
    swapped = set_to(distance, "Marginal", "largest", 0.02)
    assert not any(verdicts(utility.order_claim(pmse, swapped, small)).values())
    for measure in measures:
        large = set_to(small, measure, "Pairwise", 0.6)
        assert not any(verdicts(utility.order_claim(pmse, distance, large)).values())


def test_errors_between_fits():
    study = SimpleNamespace(
        y=np.arange(5.0),
        z={"A": np.arange(50.0).reshape(10, 5) / 10},
        risk_of=lambda z: z[0] / 10,
    )
    ratios = {"A": np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 2)}
    found = utility.between_fits(study, ratios, {"A": 2 * ratios["A"]})["A"]
    assert found["pMSE ratio, main effects"] == pytest.approx(np.sqrt(2.5 / 5))
    assert found["pMSE ratio, interactions"] == pytest.approx(2 * np.sqrt(2.5 / 5))
    assert found["mean risk"] == pytest.approx(0.1 * np.sqrt(2.5 / 5))
    assert found["largest |F* - F|"] > 0


def test_draws_claim():
    largest = {"Unweighted": np.array([1.0, 2.0]), "Marginal": np.array([0.5, 30.0])}
    assert all(verdicts(utility.draws_claim(largest)).values())
    largest["Marginal"] = largest["Marginal"] / 2
    assert not any(verdicts(utility.draws_claim(largest)).values())
