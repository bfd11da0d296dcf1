import numpy as np
import pandas as pd
import pytest
import sdr_salary
import xarray as xr

import pseudopost as pp

TOP = sdr_salary.TOP
NAMES = ["Unweighted", "LW", "CW", "LW_final", "CW_final"]
SALARIES = np.array([0, 40_000, 90_000, 95_000, 110_000, TOP])


def verdicts(claims):
    return {name: bool(holds) for name, (_, holds) in claims.items()}


def failing(claims):
    return {name for name, holds in verdicts(claims).items() if not holds}


def set_to(table, row, column, value):
    changed = table.copy()
    changed.loc[row, column] = value
    return changed


# Tables


@pytest.mark.parametrize(
    ("value", "printed"),
    [(0, "0"), (0.126, "0.13"), (99.9, "99.90"), (509_000, "509,000"), (np.nan, "")],
)
def test_rounded(value, printed):
    assert sdr_salary.rounded(value) == printed


def test_percent_is_by_file():
    assert sdr_salary.percent(np.array([True, False])) == 50
    files = np.array([[True, True], [True, False]])
    assert list(sdr_salary.percent(files)) == [100, 50]


def test_described():
    table = sdr_salary.described(SALARIES)
    assert table.loc["records"].tolist() == ["6.00", "1,000", "74,429"]
    assert table.loc["zeros (%)", "stand-in"] == "16.67"
    assert table.loc["zeros (%)", "paper's sample"] == ""
    assert table.loc["largest"].tolist() == ["509,000"] * 3


def test_largest():
    found = sdr_salary.largest(np.array([1, 2, 9, 3, 3, 3]), SALARIES)
    assert found == {
        "largest bound": 9,
        "of a salary of": 90_000,
        "median bound": 3,
    }


def test_features_of_data_and_of_files():
    of_data = sdr_salary.features_of_data(SALARIES)["value"]
    assert of_data["within 500 of 0 (%)"] == "16.67"
    assert of_data["multiples of 1,000 (%)"] == "100"
    assert of_data["500,000 to 518,000 (%)"] == "16.67"
    assert of_data["median"] == "92,500"
    files = np.array([SALARIES, SALARIES + 1000])
    checked = sdr_salary.predictive_check(files)
    assert checked.loc["largest", "mean"] == "509,500"
    assert checked.loc["largest", "95% of files"] == "509,025 to 509,975"
    assert checked.loc["within 500 of 0 (%)", "mean"] == "8.33"
    assert list(checked.index) == list(of_data.index)


# Runs


def test_spread():
    weights, bounds = np.array([0, 0.5, 0.5, 1]), np.array([0, 2, 4, 8])
    assert sdr_salary.spread(weights, bounds) == np.std([0.25, 0.5])
    assert np.isnan(sdr_salary.spread(np.ones(4), bounds))


def fit_with(phi):
    posterior = xr.Dataset({"phi": (("chain", "draw"), np.full((2, 3), phi))})
    return {"posterior": posterior}


@pytest.fixture
def runs():
    """Two runs: in the second all bounds before re-weighting are twice as large."""
    weights = {
        "Unweighted": np.ones(6),
        "LW": np.array([0, 0.5, 0.6, 0.7, 0.8, 0.2]),
        "CW": np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1]),
        "LW_final": np.array([0, 0.6, 0.7, 0.8, 0.9, 0.1]),
        "CW_final": np.array([0.2, 0.3, 0.4, 0.4, 0.1, 0.1]),
    }
    bounds = {
        "Unweighted": np.array([9, 2, 3, 4, 5, 8.0]),
        "LW": np.array([0, 1, 2, 3, 4, 5.0]),
        "CW": np.array([1, 1, 2, 3, 4, 2.0]),
    }
    final = {"LW_final": np.full(6, 4.0), "CW_final": np.full(6, 2.0)}
    fit = {name: fit_with(phi) for phi, name in enumerate(NAMES)}
    doubled = {name: 2 * b for name, b in bounds.items()}
    return {1: (weights, fit, bounds | final), 2: (weights, fit, doubled | final)}


def test_averages(runs):
    found = sdr_salary.averages(runs, SALARIES)
    assert list(found.index) == NAMES
    assert found.loc["LW", "mean weight"] == pytest.approx(2.8 / 6)
    assert found.loc["LW", "largest bound"] == 7.5  # of 5 and 10
    assert found.loc["CW", "median bound"] == 3  # of 2 and 4
    assert found.loc["CW", "weight of 0"] == 0.1
    assert found.loc["LW", "weight of the top"] == 0.2
    # Below half of the largest weight of CW, 0.15.
    assert found.loc["CW", "low weights (%)"] == pytest.approx(100 / 3)
    assert found["phi"].tolist() == [0, 1, 2, 3, 4]
    assert np.isnan(found.loc["Unweighted", "spread"])


def test_changes(runs):
    mean, error = sdr_salary.changes(runs)
    assert mean.loc["LW", "largest bound (%)"] == pytest.approx(-40)  # -20 and -60
    assert error.loc["LW", "largest bound (%)"] == pytest.approx(20)
    assert mean.loc["LW", "mean weight"] == pytest.approx(0.3 / 6)
    assert mean.loc["CW", "raised (%)"] == pytest.approx(100 * 4 / 6)
    assert mean.loc["CW", "lowered"] == 1


def test_largest_without(runs):
    assert sdr_salary.largest_without(runs, SALARIES, [0]) == 12  # of 8 and 16
    assert sdr_salary.largest_without(runs, SALARIES, [0, TOP]) == 7.5


def test_numbers_of_runs(runs):
    for _, fit, _ in runs.values():
        for name in fit:
            fit[name] = Fit(fit[name]["posterior"], "R-hat" if name == "LW" else "")
    found = sdr_salary.run_numbers(
        runs, sdr_salary.averages(runs, SALARIES), *sdr_salary.changes(runs)
    )
    assert (found["S"], found["seeds"], found["fits"]) == (6, 2, 10)
    assert found["missed"] == 2
    assert found["bound-LW"] == 7.5
    assert found["change-LW"] == pytest.approx(-40)


class Fit(dict):
    def __init__(self, posterior, not_converged):
        super().__init__(posterior=posterior)
        self.attrs = {"not_converged": not_converged}


def test_numbers_of_groups(runs):
    average = sdr_salary.averages(runs, SALARIES)
    average["phi"] = 2.0
    likelihood = -np.array([[10.0, 1, 1, 1, 1, 1], [8.0, 2, 2, 2, 2, 2]])
    found = sdr_salary.group_numbers(runs, average, SALARIES, likelihood)
    assert found["limit-weight"] == pytest.approx(0.95 * 5 / 10)
    # A negative binomial gives 0 the probability {phi / (phi + mu)} ** phi.
    assert found["logf0"] == pytest.approx(2 * np.log(2 / (2 + SALARIES.mean())))
    assert (found["no-zeros"], found["no-spikes"]) == (12, 7.5)


# The mixture


def mixture_of(*components):
    """One draw of components with a share, a sigma and a centre in dollars."""
    pi, sigma, centre = np.array(components, dtype=float).T
    values = {"pi": pi, "sigma": sigma, "beta": np.log(centre + 1000)[:, None]}
    dims = {"pi": ["k"], "sigma": ["k"], "beta": ["k", "r"]}
    posterior = {
        name: xr.DataArray(value[None, None], dims=("chain", "draw", *dims[name]))
        for name, value in values.items()
    }
    return {"posterior": xr.Dataset(posterior)}


def test_components_on_a_heap():
    def sits(*component):
        return sdr_salary.sitting(mixture_of(component), TOP, shift=1000).item()

    assert sits(0.008, 0.01, TOP + 10_000)
    assert not sits(0.008, 0.01, TOP + 20_000)
    assert not sits(0.008, 0.3, TOP)
    assert not sits(0.1, 0.01, TOP)
    fit = mixture_of((0.008, 0.01, TOP))
    table = sdr_salary.chains(fit, np.array([[1.0, 2.0]]), 1000)
    assert table.loc[1].tolist() == [3, 100, 0]
    table.loc[2] = [4, 60, 30]
    assert sdr_salary.chain_numbers(table) == {"sits-top": 60, "sits-zero": 0}


# Verdicts


def test_data_claim():
    y = pp.datasets.doctorate_salary(n=1000, random_seed=1)
    assert not failing(sdr_salary.data_claim(y))
    for changed in (1.02 * y, np.where(y == TOP, TOP - 1000, y), y + 1):
        assert failing(sdr_salary.data_claim(changed)) == {"P3-Set04"}
    spread_out = y.copy()
    spread_out[np.argsort(y)[-30:-10]] += 100_000
    spread_out[np.argsort(y)[50:150]] -= 20_000
    assert failing(sdr_salary.data_claim(spread_out)) == {"P3-Set04"}


@pytest.fixture
def average():
    return pd.DataFrame(
        {
            "mean weight": [1, 0.95, 0.2, 0.96, 0.26],
            "largest bound": [24, 13, 3.6, 12.5, 3.5],
            "median bound": [12, 11.8, 2.7, 12.1, 3.4],
            "spread": [np.nan, 0.02, 0.3, 0.005, 0.1],
            "low weights (%)": [0, 1, 30, 1, 5],
        },
        index=NAMES,
    )


@pytest.fixture
def change():
    return pd.DataFrame(
        {
            "largest bound (%)": [-1.3, -1.9],
            "mean weight": [0.01, 0.06],
            "raised (%)": [92.0, 94.0],
        },
        index=["LW", "CW"],
    )


@pytest.fixture
def change_error():
    return pd.DataFrame({"largest bound (%)": [0.5, 0.3]}, index=["LW", "CW"])


def test_bound_claims(average, change, change_error):
    claims = sdr_salary.bound_claims(average, change, change_error, 0.15)
    assert len(claims) == 7
    assert not failing(claims)


@pytest.mark.parametrize(
    ("row", "column", "value", "claims"),
    [
        ("LW_final", "spread", 0.015, {"P3-Fig06a"}),
        ("CW_final", "spread", 0.2, {"P3-Fig06b"}),
        ("CW_final", "median bound", 2.6, {"P3-Fig07a"}),
        ("CW_final", "low weights (%)", 31, {"P3-Fig07d"}),
    ],
)
def test_bound_claims_can_fail(
    average, change, change_error, row, column, value, claims
):
    average = set_to(average, row, column, value)
    found = sdr_salary.bound_claims(average, change, change_error, 0.15)
    assert failing(found) == claims


@pytest.mark.parametrize(
    ("row", "column", "value", "claims"),
    [
        ("LW", "largest bound (%)", -9.0, {"P3-Set05", "P3-Fig07a"}),
        ("CW", "raised (%)", 89.0, {"P3-Fig07b"}),
        ("LW", "mean weight", 0.055, {"P3-Fig07c"}),
        ("LW", "mean weight", -0.01, {"P3-Fig07c"}),
        ("CW", "mean weight", 0.005, {"P3-Fig07d"}),
    ],
)
def test_claims_on_changes_can_fail(
    average, change, change_error, row, column, value, claims
):
    change = set_to(change, row, column, value)
    found = sdr_salary.bound_claims(average, change, change_error, 0.15)
    assert failing(found) == claims


def test_kept_claims(change, change_error):
    assert not failing(sdr_salary.kept_claims(change, change_error))
    for row, column, value, claim in (
        ("CW", "mean weight", 0.015, "P3-Claim20"),
        ("LW", "mean weight", -0.001, "P3-Claim20"),
        ("LW", "largest bound (%)", -4.3, "P3-Claim21"),
    ):
        changed = set_to(change, row, column, value)
        assert failing(sdr_salary.kept_claims(changed, change_error)) == {claim}
    noisy = change_error + 3
    assert failing(sdr_salary.kept_claims(change, noisy)) == {"P3-Claim21"}


@pytest.fixture
def errors():
    """Errors of which all claims on errors hold."""
    rows = list(sdr_salary.SHORT)
    return pd.DataFrame(
        {
            "Unweighted": 0.0,
            "LW": -2000.0,
            "LW_final": -1000.0,
            "CW": 9000.0,
            "CW_final": 4000.0,
        },
        index=rows,
    )


@pytest.fixture
def standard_error(errors):
    return 0 * errors + 100


def test_noise(standard_error):
    error = set_to(standard_error, "mu", "LW", 0)
    assert sdr_salary.noise(error, "mu", "LW", "CW") == 300
    assert sdr_salary.noise(error, "mean", "LW", "CW") == pytest.approx(
        300 * np.sqrt(2)
    )


ALL_OF = (
    sdr_salary.after_claims,
    sdr_salary.before_claims,
    sdr_salary.gain_claims,
)


def failing_errors(errors, standard_error):
    return set().union(*(failing(claims(errors, standard_error)) for claims in ALL_OF))


def test_claims_on_errors_hold(errors, standard_error):
    assert not failing_errors(errors, standard_error)
    # Only the size of an error counts, but for the loss of the tail under LW.
    turned = errors * [1, 1, 1, -1, -1]
    assert not failing_errors(turned, standard_error)


@pytest.mark.parametrize(
    ("row", "name", "value", "claims"),
    [
        # Less than three standard errors closer.
        ("90th quantile", "CW_final", 8700, {"P3-Fig08a", "P3-Claim22"}),
        ("mean", "CW_final", -9500, {"P3-Fig08b", "P3-Claim22"}),
        ("95th quantile", "LW_final", -1900, {"P3-Fig08d", "P3-Claim23"}),
        ("mu", "LW_final", -2500, {"P3-Fig08c"}),
        ("mu", "CW", 1000, {"P3-Fig08c", "P3-Fig09e", "P3-Claim22"}),
        ("15th quantile", "LW", -9500, {"P3-Fig09c"}),
        ("median", "LW", -9500, {"P3-Fig09d"}),
        ("99th quantile", "LW", 2000, {"P3-Fig09f"}),
        ("95th quantile", "LW", -9500, {"P3-Fig09f"}),
        ("99th quantile", "LW_final", -2500, {"P3-Fig08d", "P3-Claim23", "P3-Claim35"}),
        ("99th quantile", "CW_final", 7900, {"P3-Claim35"}),
    ],
)
def test_claims_on_errors_can_fail(errors, standard_error, row, name, value, claims):
    changed = set_to(errors, row, name, value)
    assert failing_errors(changed, standard_error) == claims


def test_mu_is_compared_with_the_unweighted_synthesizer(errors, standard_error):
    moved = errors.copy()
    moved.loc["mu"] += 50_000
    assert not failing(sdr_salary.after_claims(moved, standard_error))


def test_weight_claims(average):
    weights = {"LW": np.array([0.2, 0.9, 1]), "CW": np.array([0.1, 0.2, 0.4])}
    assert not failing(sdr_salary.weight_claims(weights, average))
    high = weights | {"CW": np.array([0.1, 0.4, 0.4])}
    assert failing(sdr_salary.weight_claims(high, average)) == {"P3-Fig09a"}
    low = weights | {"LW": np.array([0.1, 0.2, 0.4])}
    assert failing(sdr_salary.weight_claims(low, average)) == {"P3-Fig09a"}
    close = set_to(average, "LW", "largest bound", 20)
    assert failing(sdr_salary.weight_claims(weights, close)) == {"P3-Fig09b"}


@pytest.fixture
def distance():
    table = pd.DataFrame(
        {"Unweighted": [0.16, 0.01], "LW": [0.08, 0.005], "CW": [0.3, 0.01]},
        index=["distance", "standard error"],
    )
    counts = table.copy()
    counts.loc["distance"] = 0.2, 0.03, 0.2
    return pd.concat({"salaries": table, "counts": counts})


def test_distance_claims(distance):
    low, high = np.array([0.1, 0.2, 0.2]), np.array([0.2, 0.5, 0.6])
    assert not failing(sdr_salary.distance_claims(distance, low, high))
    assert failing(sdr_salary.distance_claims(distance, low, low)) == {"P3-Claim19"}
    for kind, name, value, claim in (
        ("salaries", "Unweighted", 0.11, "P3-Claim18"),
        ("counts", "LW", 0.05, "P3-Claim18"),
        ("counts", "CW", 0.27, "P3-Claim19"),
    ):
        changed = set_to(distance, (kind, "distance"), name, value)
        assert failing(sdr_salary.distance_claims(changed, low, high)) == {claim}


def test_survey_claim(change):
    assert not failing(sdr_salary.survey_claim(change))
    for column, value in (("largest bound (%)", 11), ("mean weight", -0.1)):
        changed = set_to(change, "LW", column, value)
        assert failing(sdr_salary.survey_claim(changed)) == {"P3-Fut1"}


def test_claims_keep_the_order_of_the_chapter(
    average, change, change_error, errors, standard_error, distance
):
    y = pp.datasets.doctorate_salary(n=1000, random_seed=1)
    weights = {"LW": np.ones(4), "CW": np.array([0.1, 0.2, 0.2, 0.4])}
    claims = sdr_salary.claims(
        y,
        weights,
        np.ones(4),
        average,
        change,
        change_error,
        errors,
        standard_error,
        distance,
        change,
    )
    assert not failing(claims)
    assert list(claims)[:3] == ["P3-Set04", "P3-Set05", "P3-Fig06a"]
    figures = [name for name in claims if "Fig" in name]
    assert figures == sorted(figures)
    assert len(claims) == 26
    assert list(claims)[-1] == "P3-Fut1"


# Numbers for the text


def test_numbers_of_the_data():
    found = sdr_salary.data_numbers(SALARIES)
    assert (found["zeros"], found["tops"]) == (1, 1)
    assert found["heap-10"] == pytest.approx(100 * 4 / 6)
    assert found["mean-se"] == SALARIES.std() / np.sqrt(6)


def test_numbers_of_errors(errors):
    found = sdr_salary.error_numbers(errors, errors.drop(columns="Unweighted") + 1)
    assert found["e-CW-q15"] == 9000
    assert found["u-CW_final-mu"] == 4001
    assert found["mean-loss"] == -5000
    assert "u-Unweighted-mu" not in found


def test_numbers_of_replicated_files():
    files = np.array([[0, 400_000, 600_000, 5], [1, 2, 3, 4]])
    found = sdr_salary.check_numbers(files)
    assert (found["ppc-gap"], found["ppc-zero-files"]) == (12.5, 1)


def test_numbers_of_survey_weights(runs, change):
    table = pd.DataFrame(
        {"share of the low": 0.5, "mean of the files": 90_000.0}, index=NAMES
    )
    w = np.array([3, 3, 3, 1, 1, 1.0])
    found = sdr_salary.survey_numbers(table, change, runs, SALARIES, w)
    assert found["survey-mean"] == pytest.approx((w @ SALARIES) / 12)
    assert (found["survey-stopped"], found["survey-rise-CW"]) == (0, 0.06)


# Other settings of CW


def test_statements_that_hold_with_the_largest_radius_alone():
    columns = pd.MultiIndex.from_product([[1, 1.5], [0], [0.2, 0.5]], names=list("cgr"))
    settings = pd.DataFrame(
        [[0, 1, 0, 1], [1, 1, 0, 1], [1, 0, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0]],
        [*"ABCD", "P3-Fig09a"],
        columns,
        dtype=bool,
    )
    weights = [np.array([0.1, 0.2, 0.8, 0.9]), np.array([0.1, 0.7, 0.8, 0.9])]
    found = sdr_salary.settings_numbers(settings, weights)
    assert found == {
        "wide": 0.5,
        "wide-all": 2,
        "wide-only": 1,
        "wide-low-least": 25,
        "wide-low-most": 50,
        "low-holds": 2,
    }


def test_errors_of_the_mean_by_setting():
    columns = pd.MultiIndex.from_tuples([(1, 0, 0.2)], names=list("cgr"))
    errors = {"CW": np.arange(4) * 1000.0, "CW_final": -np.arange(4) * 500.0}
    noise = dict.fromkeys(errors, np.array([1.0, 2, 123, 4]))
    table = sdr_salary.mean_errors([(errors, noise)], columns)
    assert table.loc[(1, 0, 0.2)].tolist() == ["+2,000 ± 123", "-1,000 ± 123"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pseudopost.ConvergenceWarning")  # short chains
def test_errors_of_another_cw_from_four_fits():
    y = np.random.default_rng(1).negative_binomial(10, 0.1, size=80)
    synthesizer = pp.NegativeBinomialSynthesizer(y)
    w = pp.count_weights(y, radius=0.3)

    def ends(z):
        return np.quantile(z, [0.1, 0.9], axis=1)

    of_data = np.append(np.quantile(y, [0.1, 0.9]), y.mean())
    errors, its_error = sdr_salary.other_errors(synthesizer, w, ends, of_data, 250)
    fit = synthesizer.fit(w, draws=250, random_seed=1)
    z = synthesizer.synthesize(fit, 500, random_seed=1).to_numpy()
    first = np.append(ends(z).mean(axis=1), fit["posterior"]["mu"].mean()) - of_data
    assert set(errors) == set(its_error) == {"CW", "CW_final"}
    assert (np.abs(errors["CW"] - first) < 6 * its_error["CW"]).all()
    assert (its_error["CW"] > 0).all()
    assert not np.allclose(errors["CW"], errors["CW_final"])
