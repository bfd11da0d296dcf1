from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import other_rulers as chapter
import pandas as pd
import pytest
from scipy import stats

import pseudopost as pp


@pytest.fixture(scope="module")
def grid():
    rng = np.random.default_rng(1)
    y = np.r_[rng.negative_binomial(14, 14 / 114, size=300), 30, 260]
    return chapter.file_of_counts(y, 40, 15)


def test_controls():
    rng = np.random.default_rng(1)
    y, codes = rng.lognormal(10, 1, 50), rng.integers(4, size=50)
    found = chapter.controls(y, codes, 3, rng)
    assert (found["Confidential"] == y).all()
    assert found["Noisy"].shape == (3, 50)
    assert 0.03 < np.log(found["Noisy"] / y).std() < 0.07
    for file in found["Permuted"]:
        assert (file != y).any()
        for code in range(4):
            np.testing.assert_array_equal(
                np.sort(file[codes == code]), np.sort(y[codes == code])
            )


def test_totals_under_the_truth_are_those_of_the_file(grid):
    for kind in ("CW", "LW"):
        totals = grid.totals(30, kind)
        own = np.flatnonzero(grid.guesses == 30)[0]
        expected = grid.counts * grid.weights(grid.counts, kind)
        np.testing.assert_allclose(totals[own], expected)
        assert totals.shape == (len(grid.guesses), len(grid.values))
        assert abs(totals[0] - expected).max() > 0.005


def test_prior_is_the_predictive_of_the_others(grid):
    prior = grid.prior(260)
    assert prior.sum() == pytest.approx(1)
    others = np.delete(grid.y, np.flatnonzero(grid.y == 260)[0])
    tally = np.bincount(others, minlength=1000)
    log_mass = grid.log_prior + grid.table @ tally
    mass = np.exp(log_mass - log_mass.max())
    expected = (mass / mass.sum()) @ np.exp(grid.table[:, grid.guesses])
    expected *= np.gradient(grid.guesses * 1.0)
    np.testing.assert_allclose(prior, expected / expected.sum())


def test_exact_evidence_by_hand():
    log_posteriors = np.log([[0.5, 0.5], [0.2, 0.8]])
    draws = chapter.exact_evidence(log_posteriors, 0)
    np.testing.assert_allclose(draws, np.log([[1, 0.4], [1, 1.6]]))
    # A file with densities 1 and 3 at the two points: 2 and 2.6.
    files = chapter.exact_evidence(log_posteriors, 0, np.log([[1, 3]]))
    np.testing.assert_allclose(files, np.log([[1, 1.3]]))


def test_log_release_is_that_of_the_counts():
    table = chapter.log_densities([90.0, 100], [14.0, 20])
    files = np.array([[80, 120, 80], [1, 2, 300]])
    found = chapter.log_release(files, table)
    for p, (mu, phi) in enumerate([(90, 14), (100, 20)]):
        expected = stats.nbinom.logpmf(files, phi, phi / (phi + mu)).sum(axis=1)
        np.testing.assert_allclose(found[:, p], expected)


def test_what_is_learned_of_a_count(grid):
    rng = np.random.default_rng(1)
    plain = chapter.learned_of_count(grid, 260, "Unweighted", 60, rng)
    crowd = chapter.learned_of_count(grid, 260, "CW", 60, rng)
    # Information cannot be negative in expectation, and files say less than draws.
    assert plain["nats, draws"].mean() > plain["nats, files"].mean() > 0.2
    assert abs(crowd["nats, draws"].mean()) < 0.1
    assert plain["draws"].between(0, 1).all()
    targets = chapter.targets_of(grid)
    assert targets["smallest"] == grid.y.min()
    assert targets["largest"] == 260


def test_riskiest_of_files():
    found = chapter.riskiest_of_files([1, 2], 40, 11, 5, np.random.default_rng(1))
    assert found.index.tolist() == [1, 2]
    assert (found["gap"] >= 0).all()
    numbers = chapter.numbers_of_files(found)
    assert numbers["files-n"] == 2
    assert numbers["files-worse"] + numbers["files-better"] <= 2


@pytest.fixture(scope="module")
def mixture():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"x": rng.normal(size=60)})
    y = np.round(np.exp(10 + 0.3 * X["x"] + rng.normal(0, 0.6, 60)), 2).to_numpy()
    model = pp.MixtureSynthesizer(y, X, 2, shift=1000)
    S = 5 * 40
    pi = rng.dirichlet([8, 8], size=S)
    beta = rng.normal([[10, 0.3], [10.5, 0.2]], 0.05, size=(S, 2, 2))
    sigma = rng.uniform(0.5, 0.8, size=(S, 2))
    return model, [pi, beta, sigma]


def densities(model, parameters, log_value, i):
    """Log density of a value of one record at each draw, component by component."""
    pi, beta, sigma = parameters
    return np.log(pi) + stats.norm.logpdf(log_value, beta @ model.X[i], sigma)


def test_household_densities(mixture):
    model, parameters = mixture
    t = np.array([9.0, 10, 11])
    here = chapter.Household(model, parameters, 7, t)
    for g, value in enumerate(t):
        expected = np.logaddexp.reduce(densities(model, parameters, value, 7), axis=1)
        np.testing.assert_allclose(here.log_density[:, g], expected)
    truth = densities(model, parameters, model.log_y[7], 7)
    np.testing.assert_allclose(here.at_truth, np.logaddexp.reduce(truth, axis=1))


def test_own_row_says_nothing_at_power_0_and_favours_the_truth_at_1(mixture):
    model, parameters = mixture
    i = int(np.argmax(model.y))
    t = np.linspace(8, 12.5, 60)
    here = chapter.Household(model, parameters, i, t)
    blind = here.own_row(np.random.default_rng(1), power=0.0)
    assert np.ptp(blind, axis=1).max() < 1e-9
    row = here.own_row(np.random.default_rng(1))
    # On average over the values the truth is better than any other guess.
    near = np.abs(t - model.log_y[i]).argmin()
    assert (row.mean(axis=0)[near] >= row.mean(axis=0) - 0.02).all()


def test_weights_under_guesses_are_those_of_the_changed_file(mixture):
    model, _ = mixture
    y, mates = model.y, np.r_[0:9, 20:30]
    i = mates[-1]
    incomes = np.array([y[i], 5000.0, 90_000.0])
    for order in (1, 2):
        found = chapter.weights_under(y, mates, i, incomes, order)
        for row, income in zip(found, incomes, strict=True):
            file = y.copy()
            file[i] = income
            expected = pp.pairwise_weights(
                file[mates], None, order=order, **chapter.WEIGHTING
            )
            np.testing.assert_allclose(row, expected)
        assert (found[0] != found[2]).any()
    assert (chapter.weights_under(y, mates, i, incomes, 0) == 1).all()


def test_what_is_learned_of_a_household(mixture):
    model, parameters = mixture
    codes = np.arange(60) % 4
    i = int(np.argmax(model.y))
    t = np.linspace(8, 13, 80)
    log_likelihood = np.stack(
        [
            np.logaddexp.reduce(densities(model, parameters, v, k), axis=1)
            for k, v in enumerate(model.log_y)
        ],
        axis=1,
    )
    orders = {"Unweighted": 0, "Marginal": 1}
    rows = chapter.learned_of_household(
        model,
        dict.fromkeys(orders, parameters),
        dict.fromkeys(orders, log_likelihood),
        i,
        codes,
        orders,
        t,
        np.random.default_rng(1),
    )
    table = pd.DataFrame(rows)
    assert len(table) == 2 * 2 * 5
    assert (table["before"] == table["before"].iloc[0]).all()
    # Weighted importance of the unweighted fit, by hand.
    here = chapter.Household(model, parameters, i, t)
    share = np.exp(here.log_density - here.at_truth[:, None]).mean(axis=0)
    low, high = pp.ball_ends(model.y[[i]])
    close = (np.exp(t) - 1000 >= low) & (np.exp(t) - 1000 <= high)
    assert table["before"][0] == pytest.approx(
        share[close].sum() / share.sum(), abs=0.03
    )
    mean, error = chapter.pooled(table)
    assert mean.loc[("Unweighted", 20), "parameters"] > table["before"][0]
    assert (error["before"] == 0).all()
    y = model.y
    numbers = chapter.numbers_of_households(
        pd.concat([table, table.assign(fit="Pairwise")]), i, i
    )
    assert numbers["households"] == 1
    assert numbers["top-before"] == pytest.approx(table["before"][0])
    chapter.show_households(y, table)
    gain, _ = chapter.of_attack(table, 20)
    both = table[(table["fit"] == "Marginal") & (table["files"] == 20)]["both"]
    before = table["before"][0]
    assert gain["Marginal"] == pytest.approx((both.mean() - before) / (1 - before))
    assert gain["Permuted"] == 1
    assert 0.98 < gain["Noisy"] < 1
    plt.close("all")


def test_parameters_of_a_fit_are_in_the_order_of_its_draws():
    import xarray as xr

    pi = np.arange(2 * 4 * 3.0).reshape(2, 4, 3)
    beta = np.arange(2 * 4 * 3 * 2.0).reshape(2, 4, 3, 2)
    posterior = xr.Dataset(
        {
            "pi": (("chain", "draw", "component"), pi),
            "sigma": (("chain", "draw", "component"), pi),
            "beta": (("chain", "draw", "component", "predictor"), beta),
        }
    )
    found = chapter.as_arrays(xr.DataTree.from_dict({"posterior": posterior}), 2)
    np.testing.assert_array_equal(found[0], pi[:, ::2].reshape(4, 3))
    np.testing.assert_array_equal(found[1], beta[:, ::2].reshape(4, 3, 2))


def test_rulers_are_moved_and_those_that_see_nothing_are_left_out():
    values = pd.DataFrame(
        [
            (ruler, release, file, value + 0.01 * file)
            for ruler, of in {
                "sees": {"Confidential": 0.9, "Permuted": 0.1, "Noisy": 0.5},
                "safe is high": {"Confidential": 0.0, "Permuted": 0.8, "Noisy": 0.2},
                "blind": {"Confidential": 0.4, "Permuted": 0.4, "Noisy": 0.1},
            }.items()
            for release, value in of.items()
            for file in range(2)
        ],
        columns=["ruler", "release", "file", "value"],
    )
    raw = chapter.means_and_errors(values)
    mean, error = chapter.scaled(*raw)
    assert mean.loc["sees", "Noisy"] == pytest.approx(0.5)
    assert mean.loc["safe is high", "Noisy"] == pytest.approx(0.75)
    assert (mean.loc[["sees", "safe is high"], "Confidential"] == 1).all()
    assert mean.loc["blind"].isna().all()
    assert error.loc["sees", "Noisy"] == pytest.approx(0.005 / 0.8)


def test_matching_and_its_numbers():
    rng = np.random.default_rng(1)
    y, codes = rng.lognormal(10, 0.5, 60), rng.integers(3, size=60)
    releases = chapter.controls(y, codes, 4, rng)
    releases |= {"Unweighted": releases["Noisy"], "Marginal": releases["Permuted"]}
    patterns = pd.DataFrame({"p": codes})

    def risk_of(z):
        return pp.identification_risk(y, z, 0.2, patterns)

    found = chapter.matching(y, releases, risk_of, 0.2, patterns)
    assert len(found) == 1 + 4 * 4
    numbers = chapter.numbers_of_matching(found)
    assert numbers["risk-Permuted"] < numbers["risk-Confidential"]
    rates = pp.match_rates(y, y, 0.2, patterns)
    assert numbers["expected-Confidential"] == pytest.approx(
        100 * rates.expected[0] / 60
    )


def test_stored_rulers_and_figures(grid):
    stored = pd.read_csv(Path(__file__).parents[2] / "data" / "rulers.csv")
    assert set(stored["release"]) == {
        "Confidential",
        "Noisy",
        "Permuted",
        "Unweighted",
        "Marginal",
        "Pairwise",
    }
    assert stored["value"].between(0, 1).all()
    raw = chapter.means_and_errors(stored)
    mean, error = chapter.scaled(*raw)
    mean.loc["exact attack"], error.loc["exact attack"] = 0.5, 0.01
    found = chapter.numbers_of_packages(raw[0], mean)
    assert found["attack-Marginal"] == 0.5
    assert found["infer-Confidential"] > found["infer-Permuted"]
    chapter.show_rulers(mean, error)
    rng = np.random.default_rng(1)
    targets = chapter.targets_of(grid)
    kinds = ("Unweighted", "LW", "CW", "Ceiling")
    learned = {
        (who, kind): pd.DataFrame(
            rng.uniform(size=(4, 4)),
            columns=["draws", "nats, draws", "files", "nats, files"],
        )
        for who in targets
        for kind in kinds
    }
    chapter.show_counts(learned)
    numbers = chapter.numbers_of_counts(learned, grid, targets)
    assert numbers["count-largest"] == 260
    assert numbers["nats-LW"] == learned["smallest", "LW"]["nats, draws"].mean()
    plt.close("all")
