import income_mixture
import mixture_convergence as chapter
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from component_draws import X, draws, mixture
from scipy import stats

import pseudopost as pp


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def plain_mixture(y, mean, log_pi, log_sigma):
    density = stats.norm.pdf(y, mean, np.exp(log_sigma)[:, None])
    return np.log(np.exp(log_pi) @ density), None


def test_densities_of_draws(rng, monkeypatch):
    monkeypatch.setattr(chapter, "normal_mixture", plain_mixture)  # no compilation
    y = rng.normal(size=40)
    expected = np.array([mixture(v, x) for v, x in zip(y, X, strict=True)])
    assert chapter.file_log_likelihood(draws(), y, X) == pytest.approx(
        np.log(expected).sum()
    )
    grid = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(
        chapter.average_density(draws(), X, grid),
        [np.mean([mixture(v, x) for x in X]) for v in grid],
    )


def fit_with(mean):
    rng = np.random.default_rng(2)
    group = xr.Dataset(
        {
            name: (
                ("chain", "draw", f"{name}_at"),
                rng.normal(size=(2, 100, len(labels))),
            )
            for name, labels in income_mixture.LABELS.items()
        }
    )
    group["mean"] = group["mean"] + xr.DataArray([0.0, mean], dims="chain")
    return xr.DataTree.from_dict({"label_invariant": group})


def test_convergence():
    agree, apart = (income_mixture.convergence(fit_with(mean)) for mean in (0, 5))
    assert len(agree) == 24
    assert agree["R-hat"].max() < 1.05
    assert apart["R-hat"].idxmax() == ("mean", "")
    assert income_mixture.worst(fit_with(5)) == {
        "largest R-hat": apart["R-hat"].max(),
        "smallest ESS": apart["ESS"].min(),
    }
    values = chapter.convergence_numbers(apart)
    assert values["worst-at"] == "the mean"
    assert values["middle-ess"] == apart.loc[("distribution", "50%"), "ESS"]
    apart.loc[("log_likelihood", "99%"), "ESS"] = 0
    assert chapter.convergence_numbers(apart)["worst-at"] == (
        "the log-likelihood of the record at 99%"
    )


def test_component_sizes():
    posterior = xr.Dataset(
        {
            "pi": (
                ("chain", "draw", "component"),
                [[[0.9, 0.095, 0.005], [0.7, 0.3, 0.0]]],
            ),
            "gamma": (("chain", "draw"), [[1.0, 2.0]]),
        }
    )
    sizes = chapter.component_sizes(posterior, 1000)
    assert list(sizes.values()) == pytest.approx([1.5, 2, 2.5, 800, 1.5])


def test_incomes():
    z = np.array([[1.0, 2, 3], [5, 6, 100]])
    found = chapter.incomes(z)
    assert found["mean income"] == 19.5
    assert found["median income"] == 4


def test_numbers_of_fits():
    table = pd.DataFrame(
        {"K = 5": [3.0, 0.1, 1.0], "K = 20": [4.0, 0.2, 1.3]},
        [chapter.ABOVE, chapter.RISK, "largest R-hat"],
    )
    assert chapter.count_numbers(table) == {
        "above-few": 3,
        "risk-few": 0.1,
        "above-lots": 4,
        "risk-lots": 0.2,
        "smallest-k": "5",
        "largest-k": "20",
    }
    by_chain = {
        f"K = 20, chain {c}": {chapter.LIKELIHOOD: value}
        for c, value in ((1, 3), (2, 9), (3, 5))
    }
    assert chapter.alarm_numbers(20, table, by_chain) == {
        "alarm-k": 20,
        "alarm-gap": 6,
        "alarm-rhat": 1.3,
    }


def test_path_numbers():
    rng = np.random.default_rng(3)

    def path(mean):
        return pd.DataFrame({"log-likelihood": mean + rng.normal(size=300)})

    many = [path(80), path(80), path(95)]  # the last one keeps a narrow component
    many[0].loc[:99, "log-likelihood"] = 1000  # before it has come down
    levels = {"from 2": (0, 0, 80), "with help": (80, 95), "and a floor": (80, 79)}
    paths = {name: [path(level) for level in of] for name, of in levels.items()}
    values = chapter.path_numbers(paths, many)
    assert values["path-chains"] == 3
    assert (values["many-above"], values["help-above"]) == (1, 1)
    assert values["trap-gap"] == pytest.approx(80, abs=0.5)
    assert values["help-gap"] == pytest.approx(15, abs=0.5)
    assert values["floor-gap"] == pytest.approx(1, abs=0.5)
    arrived = [values[f"{name}-arrived"] for name in ("trap", "help", "floor")]
    assert arrived == [1, 1, 2]
    assert values["trap-rhat"] > 1.5
    assert values["lowest-rhat"] < 1.1
    paths["from 2"][0].loc[200:] -= 5
    assert chapter.path_numbers(paths, many)["lowest-rhat"] > 1.5
    paths["from 2"] = [path(0), path(0)]
    assert chapter.path_numbers(paths, many)["trap-rhat"] < 1.1


def test_path():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(80, 1))
    log_y = np.where(np.arange(80) % 2 == 0, 3, 0) + x[:, 0] + rng.normal(0, 0.2, 80)
    model = pp.MixtureSynthesizer(np.exp(log_y), x, n_components=3)
    one, two = (chapter.path(model, k, np.zeros(4), 1, sweeps=1) for k in (1, 2))
    assert one.shape == (4, 2)
    assert (two["log-likelihood"] > one["log-likelihood"].iloc[0]).all()
    assert two["components"].between(2, 3).all()
    wide = chapter.path(model, 2, np.zeros(4), 1, wide=4, sweeps=1)
    assert wide["log-likelihood"].max() < two["log-likelihood"].min()


def prior_of(means, distance):
    return pd.DataFrame(
        {
            chapter.FORMULA: means,
            "mean, simulated": means,
            chapter.LIMIT: distance,
        },
        ["K = 10", "K = 20", "K = 50", "K = 200", "K = infinity"],
    )


def test_number_of_components():
    means, distance = [5.0, 7, 8, 8.6, 9], [0.4, 0.2, 0.1, 0.03, 0]
    prior = prior_of(means, distance)
    above = pd.Series({"K = 10": 3.9, "K = 20": 4.0})
    words, holds = chapter.number_of_components(prior, above)
    assert holds
    assert words == (
        "prior means 5.0 to 8.6, limit 9.0; above 1% in the posterior: 3.9 to 4.0 "
        "(K = 10, K = 20)"
    )
    for wrong in ([3, 4.5], [10.5, 10.8], [1.5, 2.2]):
        assert not chapter.number_of_components(
            prior, pd.Series(wrong, index=above.index)
        )[1]
    assert not chapter.number_of_components(prior, above[:1])[1]
    assert not chapter.number_of_components(prior, above[:0])[1]
    for wrong in (
        prior_of([5.0, 7, 8, 9, 8.6], distance),
        prior_of(means, [0.4, 0.1, 0.2, 0.03, 0]),
        prior_of(means, [0.4, 0.2, 0.1, 0.09, 0]),
        prior.assign(**{"mean, simulated": 1.1 * prior[chapter.FORMULA]}),
    ):
        assert not chapter.number_of_components(wrong, above)[1]
