import numpy as np
import pandas as pd
import pytest
import seven_releases as seven

import pseudopost as pp


@pytest.fixture(scope="module")
def data():
    return pp.datasets.consumer_expenditure(600, random_seed=2)


def test_cells_agree_on_the_columns_of_the_regression(data):
    places = seven.cells(data)
    assert sorted(np.concatenate(places)) == [*range(len(data))]
    columns = data[["region", "urban", "earner"]]
    for rows in places:
        assert len(columns.iloc[rows].drop_duplicates()) == 1
    assert len(places) == len(columns.drop_duplicates())


def test_shuffling_in_cells_keeps_the_planned_coefficient_and_loses_the_other(data):
    y = data["income"].to_numpy(dtype=float)
    moved = y.copy()
    for rows in seven.cells(data):
        moved[rows] = np.random.default_rng(1).permutation(y[rows])
    (planned, _), (degree, _) = seven.regressions(data, np.stack([y, moved]))
    assert planned[0] == pytest.approx(planned[1])
    assert degree[0] != pytest.approx(degree[1], rel=0.01)
    assert seven.DEGREE in seven.predictors(data)


def test_three_are_mean_median_and_quantile():
    files = np.array([[1.0, 2.0, 6.0], [0.0, 0.0, 3.0]])
    assert np.allclose(seven.three(files), [[3, 1], [2, 0], [5.2, 2.4]])


def test_answers_average_the_ends_and_combine_the_coefficients(data):
    y = data["income"].to_numpy(dtype=float)
    files = np.stack([y, y[::-1], np.roll(y, 7)])
    each = seven.bootstraps(files, random_seed=1, n_resamples=50)
    estimate, low, high = found = seven.answers(data, files, each)
    assert found.shape == (3, len(seven.STATISTICS))
    assert np.allclose(estimate[:3], seven.three(y))
    assert np.allclose(low[:3], np.mean([i.low for i in each], axis=0))
    q, u = seven.regressions(data, files)[1]
    rule = pp.combine_partially_synthetic(q, u)
    assert found[:, 4] == pytest.approx([rule.estimate, rule.low, rule.high])
    assert (low <= estimate).all()
    assert (estimate <= high).all()


def test_bootstrap_means_are_means_of_resampled_files():
    files = np.array([[0.0, 1.0, 5.0], [2.0, 2.0, 2.0]])
    means = seven.bootstrap_means(files, 2000, np.random.default_rng(1))
    assert means.shape == (2, 2000)
    assert set(np.round(3 * means[0], 9)) <= {0, 1, 2, 3, 5, 6, 7, 10, 11, 15}
    assert means[0].mean() == pytest.approx(2, abs=0.15)
    assert np.allclose(means[1], 2)


def test_coefficient_and_its_variance_are_least_squares():
    rng = np.random.default_rng(1)
    design = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    values = rng.normal(size=(2, 40)) + 3 * design["b"].to_numpy()
    estimates, variances = seven.coefficient(design, "b", values)
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
    alone = seven.coefficient(design, "b", values[0])
    assert np.allclose(alone, (estimates[0], variances[0]))


def test_a_single_file_has_a_normal_interval():
    ends = seven.combined(np.array([3.0]), np.array([4.0]))
    assert np.allclose(ends, [3, 3 - 3.92, 3 + 3.92])
