import every_file as chapter
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import pseudopost as pp

Y = np.minimum(pp.datasets.negative_binomial_mixture(200, random_seed=1), 400)
COUNTS = np.bincount(Y, minlength=401)


@pytest.fixture(scope="module")
def grid():
    return chapter.Grid(60, 8)


def test_grid_has_the_likelihood_of_each_count(grid):
    at = np.flatnonzero(np.isclose(grid.phi, 200))[3]
    model = stats.nbinom(200, 200 / (200 + grid.mu[at]))
    assert grid.log_likelihood[at, 37] == pytest.approx(model.logpmf(37))
    assert (grid.mu.min(), grid.mu.max()) == pytest.approx((10, 1000))
    assert (grid.log_likelihood <= grid.highest).all()


def test_draws_are_quantiles_of_the_posterior(grid):
    own = chapter.log_posterior(grid.log_likelihood, COUNTS)
    assert np.exp(own).sum() == pytest.approx(1)
    at = grid.draws(own, 4000)
    share = np.bincount(at, minlength=len(own)) / 4000
    assert np.abs(share - np.exp(own)).max() < 1 / 4000 + 1e-9


def test_files_come_from_the_grid(grid):
    point = np.log((np.arange(len(grid.mu)) == 200) + 1e-300)
    files = grid.files(point, 500, 100, np.random.default_rng(1))
    mu, phi = grid.mu[200], grid.phi[200]
    sd = np.sqrt(mu + mu**2 / phi)
    assert files.mean() == pytest.approx(mu, abs=4 * sd / np.sqrt(50_000))


@pytest.mark.parametrize("kind", ["Published", "One side", "Centred", "Scaled"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_losses_are_those_of_refitted_neighbours_and_keep_the_promise(
    grid, kind, epsilon
):
    terms = chapter.terms_of(grid, kind, epsilon)
    added, deleted = chapter.losses(terms, COUNTS)
    own = chapter.log_posterior(terms, COUNTS)
    for count, change, found in ((400, 1, added), (Y.max(), -1, deleted)):
        other = COUNTS.copy()
        other[count] += change
        loss = np.abs(chapter.log_posterior(terms, other) - own).max()
        assert found[count] == pytest.approx(loss, abs=1e-9)
    assert np.isnan(deleted[COUNTS == 0]).all()
    assert max(added.max(), np.nanmax(deleted)) <= epsilon + 1e-9


def test_scaled_terms_are_centred_ones_with_a_weight(grid):
    fall = grid.log_likelihood - grid.highest
    expected = np.clip(fall * 0.5, -3, 0)
    np.testing.assert_allclose(chapter.terms_of(grid, "Scaled", 3.0), expected)
    published = chapter.terms_of(grid, "Published", 3.0, weights=0.5)
    np.testing.assert_allclose(published, np.clip(grid.log_likelihood * 0.5, -1.5, 1.5))


def test_noise_has_the_scale_that_the_promise_needs():
    rng = np.random.default_rng(2)
    # Cells with very many records show the noise alone, relative to them.
    counts = np.zeros(401, dtype=int)
    counts[[5, 105]] = 1000, 1000
    files = chapter.noisy_histogram(counts, 50_000, 0.5, 300, rng)
    share = (files // 10 == 0).mean(axis=1)
    cells = np.add.reduceat(counts, np.arange(0, 401, 10))
    epsilon, k = 0.5, np.arange(-200, 201)
    mass = np.exp(-epsilon * abs(k))
    mass /= mass.sum()
    # Of the 39 empty cells the positive noise remains, so their share tells its scale.
    total = 2000 + (len(cells) - 2) * (mass @ np.maximum(k, 0))
    assert share.mean() == pytest.approx(1000 / total, rel=0.003)


def test_noisy_moments_without_noise_are_the_moments():
    rng = np.random.default_rng(3)
    files = chapter.noisy_moments(COUNTS, 20_000, 1e9, 5, rng)
    assert files.mean() == pytest.approx(Y.mean(), rel=0.01)
    assert files.std() == pytest.approx(Y.std(), rel=0.03)
    spread = chapter.noisy_moments(COUNTS, 200, 1.0, 200, rng).mean(axis=1).std()
    # The sum has noise of scale 3 x 400, the number of records of scale 3.
    expected = np.sqrt(2 * (1200 / 200) ** 2 + 2 * (3 * Y.mean() / 200) ** 2)
    assert spread == pytest.approx(np.hypot(expected, Y.std() / np.sqrt(200)), rel=0.3)


def test_distances_of_a_shifted_file():
    found = chapter.distances(Y, np.array([Y, Y + 3, Y[::-1]]))
    np.testing.assert_allclose(found["distance"], [0, 3, 0])
    np.testing.assert_allclose(found[["mean", "q90"]].iloc[1], 3)
    other = np.random.default_rng(4).permutation(Y) * 2
    expected = stats.wasserstein_distance(other, Y)
    assert chapter.distances(Y, other[None])["distance"][0] == pytest.approx(expected)


def test_weights_are_those_of_the_package(grid):
    at = grid.draws(chapter.log_posterior(grid.log_likelihood, COUNTS), 4000)
    bounds = pp.expected_bounds(grid.log_likelihood[at][:, Y], 1000)()
    lw = chapter.weights_of(grid, COUNTS, "LW", None)
    np.testing.assert_allclose(lw[Y], pp.lipschitz_weights(-bounds[None]), atol=1e-12)
    ceiling = chapter.weights_of(grid, COUNTS, "Ceiling", 7.0)
    np.testing.assert_allclose(ceiling[Y], np.minimum(1, 3.5 / bounds))


def test_recomputed_weights_are_those_of_each_file(grid):
    found = chapter.recomputed_losses(grid, COUNTS, "LW", 10.0, [(400, 1)])

    def posterior(file):
        weights = chapter.weights_of(grid, file, "LW", 10.0)
        terms = np.clip(weights * grid.log_likelihood, -5, 5)
        return chapter.log_posterior(terms, file)

    other = COUNTS + (np.arange(401) == 400)
    expected = np.abs(posterior(other) - posterior(COUNTS)).max()
    assert found == pytest.approx([expected])


def test_a_chain_comes_to_its_target():
    target = stats.norm.logpdf(np.arange(30), 12, 3)
    expected = np.exp(target) / np.exp(target).sum()
    found = chapter.unfinished(target, 2, 3, [0, 1, 500])
    assert found[0][2] == 1
    assert set(np.flatnonzero(found[1])) <= set(range(6))
    np.testing.assert_allclose(found[500], expected, atol=1e-6)
    for at in found.values():
        assert at.sum() == pytest.approx(1)


def test_exceptions_are_those_of_the_definition():
    p, q = np.array([0.7, 0.3, 0.0]), np.array([0.2, 0.4, 0.4])
    assert chapter.exceptions(p, q, 0) == pytest.approx(0.5)
    assert chapter.exceptions(p, q, np.log(2)) == pytest.approx(0.4)
    assert chapter.exceptions(q, p, np.log(2)) == pytest.approx(0.4)


def test_utility_numbers_and_figures(grid):
    rng = np.random.default_rng(5)
    file = np.resize(Y, chapter.ROWS)
    table = chapter.utility(grid, [file, file[::-1]], (0.5, 5.0), 3, rng)
    assert len(table) == 7 * 2 * 2
    numbers = chapter.numbers_of_utility(table)
    part = table[(table["mechanism"] == "Centred") & (table["epsilon"] == 0.5)]
    assert numbers["Centred-0.5"] == pytest.approx(part["distance"].mean())
    assert numbers["Centred-0.5-error"] == pytest.approx(part["distance"].sem())
    assert numbers["Published-0.5"] > numbers["Scaled-5"]
    chapter.show_utility(table, {"distance": "Distance", "q90": "Quantile"})
    chapter.show_terms(grid, 1, (60, 100, 150), 15)
    loss = {"epsilon": [1, 2] * 2, "loss": [1.0, 2, 3, 4], "weights": list("aabb")}
    chapter.show_broken(pd.DataFrame(loss))
    deltas = {(file, reach): [0.1, 0.0] for file in "ab" for reach in (1, 4)}
    chapter.show_unfinished(pd.DataFrame(deltas, index=[1, 9]))
    plt.close("all")


def test_the_claim_fails_if_a_loss_exceeds_epsilon_or_nothing_is_lost():
    promise = pd.DataFrame({0.1: [0.1, 0.05], 1.0: [0.4, 1.0]})
    names = ["No promise", "Published", "Scaled"]
    distance = dict(zip(names, (2.4, 180.0, 8.0), strict=True))
    table = pd.DataFrame(
        [
            {"mechanism": name, "epsilon": epsilon, "distance": d}
            for name, d in distance.items()
            for epsilon in (0.1, 1.0)
        ]
    )
    words, holds = chapter.claims_of_promise(promise, table)["P3-Fut3"]
    assert holds
    assert words == (
        "largest loss over epsilon 1.00; distance at 0.1 nats: Published 180, "
        "Scaled 8, without a promise 2.4"
    )
    assert not chapter.claims_of_promise(promise * 1.01, table)["P3-Fut3"][1]
    table.loc[table["mechanism"] == "Scaled", "distance"] = 2.3
    assert not chapter.claims_of_promise(promise, table)["P3-Fut3"][1]


def test_predicted_incomes_do_not_look_at_the_confidential_ones():
    data = pp.datasets.consumer_expenditure(300, random_seed=1)
    X = data.drop(columns="income")
    models = [
        pp.MixtureSynthesizer(y, X, 2, shift=10_000)
        for y in (data["income"], np.full(300, 50_000.0))
    ]
    p = models[0].X.shape[1]
    beta = np.zeros((1, 4, 2, p))
    beta[..., 0] = 11, 9.3
    posterior = xr.Dataset(
        {
            "pi": (("chain", "draw", "k"), np.tile([0.7, 0.3], (1, 4, 1))),
            "beta": (("chain", "draw", "k", "p"), beta),
            "sigma": (("chain", "draw", "k"), np.tile([0.2, 0.01], (1, 4, 1))),
        }
    )
    fit = xr.DataTree.from_dict({"posterior": posterior})
    first, second = (
        chapter.predicted(model, fit, 4, np.random.default_rng(1)) for model in models
    )
    np.testing.assert_array_equal(first, second)
    logs = np.log(first + 10_000)
    assert (np.abs(logs - 9.3) < 0.05).mean() == pytest.approx(0.3, abs=0.05)
    assert logs[np.abs(logs - 9.3) > 0.05].mean() == pytest.approx(11, abs=0.03)


def test_noisy_incomes_keep_the_distribution_and_no_relation():
    data = pp.datasets.consumer_expenditure(2000, random_seed=1)
    y = data["income"].to_numpy(dtype=float)
    files = chapter.noisy_incomes(y, 100.0, 20, np.random.default_rng(2))
    cells = np.floor(4 * np.log(y + 10_000))
    share = (np.floor(4 * np.log(files + 10_000)) == np.median(cells)).mean()
    assert share == pytest.approx((cells == np.median(cells)).mean(), rel=0.05)
    table = chapter.kept(data, {"same": np.tile(y, (20, 1)), "noisy": files})
    assert (table.loc["same"] == 0).all()
    assert table.loc["noisy", ("earner", "off")] > 20_000
    found = chapter.numbers_of_kept(table.rename({"noisy": "Noise, as given"}))
    assert found["Noise- given-q90-error"] == table.loc["noisy", ("q90", "error")]
    assert found["Noise- given-mean-off"] == abs(table.loc["noisy", ("mean", "off")])
