import pickle
from functools import partial

import local_to_global as study
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pseudopost as pp


def verdicts(found):
    return {claim: bool(holds) for claim, (_, holds) in found.items()}


def spread_around(levels, widths, n=20):
    """Bounds of n databases, evenly spread around a level for each synthesizer."""
    steps = np.linspace(-1, 1, n)
    return pd.DataFrame(
        {
            name: level + width * steps
            for name, level, width in zip(study.NAMES, levels, widths, strict=True)
        }
    )


@pytest.fixture
def delta():
    """Bounds of two populations for which every statement holds."""
    return {
        "Poisson": spread_around((10, 3.5, 3.4), (3, 0.5, 0.4)),
        "NB mixture": spread_around((18, 6.0, 5.8), (6, 1.0, 0.9)),
    }


@pytest.fixture
def gaps():
    row = {"mean": -1.0, "median": 0.5, "q15": -2.0, "q90": 1.0}
    table = pd.DataFrame(dict.fromkeys(study.NAMES, row)).T
    return {"Poisson": table, "NB mixture": table.copy()}


@pytest.fixture
def by_mean():
    return pd.DataFrame(
        {"median of LW": [2.5, 3.4, 3.6], "share above 3.5": [0.0, 0.04, 0.6]},
        index=[5, 50, 100],
    )


def sizes_with(rise, ratio, grid=(1000, 1_000_000)):
    """Medians and spreads of two sizes, the same for all synthesizers."""
    values = {"median": [4.0, 4.0 + rise], "standard deviation": [0.5, 0.5 * ratio]}
    return pd.DataFrame(
        {(what, name): v for what, v in values.items() for name in study.NAMES},
        index=pd.Index(grid, name="n"),
    )


# Simulation


def test_approximation_is_centred_at_the_mode():
    y = stats.nbinom.rvs(20, 20 / 120, size=100_000, random_state=1)
    values, counts = np.unique(y, return_counts=True)
    rng = np.random.default_rng(1)
    mu, phi = study.normal_approximation(values, 1.0 * counts, rng, size=4000)
    assert np.log(mu).mean() == pytest.approx(np.log(y.mean()), abs=1e-3)
    assert mu.std() == pytest.approx(y.std() / np.sqrt(len(y)), rel=0.05)
    mode = np.exp(np.log(phi).mean())

    def log_likelihood(phi):
        return counts @ stats.nbinom.logpmf(values, phi, phi / (phi + y.mean()))

    assert log_likelihood(mode) > log_likelihood(0.98 * mode)
    assert log_likelihood(mode) > log_likelihood(1.02 * mode)
    # One standard deviation away, the log-likelihood is half a unit lower.
    away = mode * np.exp(np.log(phi).std())
    assert log_likelihood(mode) - log_likelihood(away) == pytest.approx(0.5, rel=0.1)


def test_approximation_is_wider_under_smaller_weights():
    values, counts = np.arange(50, 151), np.full(101, 10.0)

    def spread(weight):
        rng = np.random.default_rng(1)
        draws = study.normal_approximation(values, weight, rng, size=2000)
        return np.log(draws).std(axis=1)

    assert spread(counts / 4) == pytest.approx(2 * spread(counts), rel=0.01)


def test_workers_can_import_the_approximation():
    again = pickle.loads(pickle.dumps(study.normal_approximation))
    assert again is study.normal_approximation


def task(rng, size, scale):
    return {"value": scale(rng.normal(size=size).mean())}


def double(value):
    return 2 * value


def triple(value):
    return 3 * value


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """What pp.replicate was called with, while a cache is on."""
    made = []

    def replicate(task, n_databases, random_seed):
        made.append((task, n_databases, random_seed))
        return pd.DataFrame({"run": [len(made)]})

    monkeypatch.setattr(pp, "replicate", replicate)
    pp.cache.on(tmp_path)
    return made


def test_replicates_come_from_disk_the_second_time(calls):
    once = partial(task, size=3, scale=double)
    same = partial(task, size=3, scale=double)
    for given in (once, same):
        assert study.replicate_once(given, 4, 1).loc[0, "run"] == 1
    assert calls == [(once, 4, 1)]


@pytest.mark.parametrize(
    ("given", "n_databases", "seed", "depends_on"),
    [
        ({"size": 4}, 4, 1, ()),
        ({"scale": triple}, 4, 1, ()),
        ({}, 5, 1, ()),
        ({}, 4, 2, ()),
        ({}, 4, 1, (double,)),
        ({}, 4, 1, (1000,)),
    ],
)
def test_replicates_run_again_when_anything_changes(
    calls, given, n_databases, seed, depends_on
):
    study.replicate_once(partial(task, size=3, scale=double), 4, 1)
    other = partial(task, **{"size": 3, "scale": double} | given)
    again = study.replicate_once(other, n_databases, seed, *depends_on)
    assert again.loc[0, "run"] == 2


def poisson_likelihood(values, weight, rng):
    mean = rng.gamma(weight @ values, 1 / weight.sum(), size=50)
    return stats.poisson.logpmf(values, mean[:, None])


def test_the_median_database_is_drawn_again():
    share = stats.poisson.pmf(np.arange(40), 10)

    def one(rng):
        counts = rng.multinomial(200, share / share.sum())
        values = np.flatnonzero(counts)
        f = np.abs(poisson_likelihood(values, 1.0 * counts[values], rng)).max(axis=0)
        return {"largest": f.max()}

    largest = pp.replicate(one, 5, random_seed=7, n_jobs=1)["largest"]
    f, bounds = study.records_of_median_database(
        largest, share, 200, poisson_likelihood, 7
    )
    assert f.max() == largest.median()
    assert bounds[f.argmax()] == 0
    assert bounds[f.argmin()] == pytest.approx(f.min(), rel=0.1)


# Tables


def test_summary_by_synthesizer(delta):
    lw = study.summary(delta["Poisson"]).loc["LW"]
    steps = pd.Series(3.5 + 0.5 * np.linspace(-1, 1, 20))
    assert lw["95%"] == pytest.approx(steps.quantile(0.95))
    assert lw["5%"] == pytest.approx(7 - lw["95%"])
    assert lw["largest - smallest"] == pytest.approx(1)
    assert lw["standard deviation"] == pytest.approx(steps.std())


def test_height_of_top_is_the_largest_value_of_the_parabola():
    table = pd.DataFrame({"Unweighted": [8.0, 11.0], "smallest": [3.0, 3.2]})
    for top, (high, low) in zip(
        study.height_of_top(table), table.to_numpy(), strict=True
    ):
        f = np.linspace(low, high, 100_001)
        assert top == pytest.approx((f * (high - f) / (high - low)).max())


def test_standard_error_of_median_by_simulation():
    x = np.random.default_rng(1).normal(scale=2, size=(4000, 101))
    expected = np.median(x, axis=1).std()
    assert study.standard_error_of_median(2, 101) == pytest.approx(expected, rel=0.05)


def test_growth():
    grown = study.growth(sizes_with(rise=0.7, ratio=0.8), n_databases=100)
    assert grown["rise"] == pytest.approx(0.7)
    assert grown["sd ratio"] == pytest.approx(0.8)
    assert grown["standard error"] == pytest.approx(1.25 * np.hypot(0.5, 0.4) / 10)


# Values for the text


def test_share_above_is_in_per_cent(delta):
    found = study.numbers_of_bounds({(k, 1000): d for k, d in delta.items()})
    assert found["poisson-LW-above"] == 50
    assert found["nb-Unweighted-max"] == 24


def test_tops_follow_the_logarithm():
    grid = [200, 1000, 5000]
    f = {n: np.log(n) + np.array([3.0, 3.1, 3.3]) for n in grid}
    large = {}
    for name in study.SHORT:
        for n in grid:
            table = pd.DataFrame({"Unweighted": f[n], "smallest": 3.0})
            large[name, n] = table.assign(LW=study.height_of_top(table) - 0.25)
    medians = {n: t[["Unweighted", "LW"]].median() for (_, n), t in large.items()}
    sizes = pd.concat({"median": pd.DataFrame(medians).T}, axis=1)
    found = study.numbers_of_tops(dict.fromkeys(study.SHORT, sizes), large)
    assert found["correlation-min"] == pytest.approx(1)
    assert found["nb-shortfall"] == pytest.approx(0.25)
    assert found["poisson-slope"] == pytest.approx(1)
    assert found["gumbel-sd"] == pytest.approx(np.pi / np.sqrt(6))


def test_numbers_of_sizes(delta):
    bounds = {(k, 1000): d for k, d in delta.items()}
    large = {
        (k, n): d[study.NAMES].assign(smallest=3.0) + 0.1
        for k, d in delta.items()
        for n in (200, 1000, 100_000)
    }
    sizes = sizes_with(rise=0.7, ratio=0.8, grid=(1000, 100_000))
    found = study.numbers_of_sizes(dict.fromkeys(study.SHORT, sizes), large, bounds)
    assert found["agree"] == pytest.approx(0.1)
    assert found["poisson-100000-median"] == pytest.approx(4.7)
    assert found["usual-loss"] == pytest.approx(90)
    assert (found["arch"], found["arch-files"], found["large-R"]) == (0, 80, 20)
    large["Poisson", 1000].loc[:1, "smallest"] = 9
    large["Poisson", 200].loc[:1, "smallest"] = 9
    found = study.numbers_of_sizes(dict.fromkeys(study.SHORT, sizes), large, bounds)
    assert found["arch"] == 2


# Claims


def test_narrow_in_spread_and_in_range():
    assert study.is_narrow(spread_around((10, 4, 4), (3, 1.4, 1)))
    assert not study.is_narrow(spread_around((10, 4, 4), (3, 1.6, 1)))
    lonely = spread_around((10, 4, 4), (3, 0.1, 1))
    lonely.loc[0, "LW"] = 7.5
    assert lonely["LW"].std() < lonely["Unweighted"].std() / 2
    assert not study.is_narrow(lonely)


def test_procedure(delta):
    found = study.claim_on_procedure(delta, 20)
    assert found["P3-AlgU4"] == (
        "Poisson: LW 4.0 at most, range 1.0; NB mixture: LW 7.0 at most, range 2.0",
        True,
    )
    assert not verdicts(study.claim_on_procedure(delta, 100))["P3-AlgU4"]
    delta["Poisson"]["LW"] = delta["Poisson"]["Unweighted"]
    assert not verdicts(study.claim_on_procedure(delta, 20))["P3-AlgU4"]


@pytest.mark.parametrize(
    ("intended", "printed", "holds"),
    [(5.9, 5.0, True), (6.4, 5.0, True), (5.2, 5.0, False), (5.0, 5.9, False)],
)
def test_dispersions(intended, printed, holds):
    found = study.claim_on_dispersions(intended, printed, 100)
    assert verdicts(found) == {"P3-Set06": holds}
    assert found["P3-Set06"][0].startswith("R = 100, n = 1,000; median of LW")


def test_bounds(delta):
    found = study.claims_on_bounds(delta)
    assert verdicts(found) == {"P3-Fig10": True, "P3-Fig12": True}
    # A change of scale alone makes it narrow, but not relative to its level.
    scaled = delta["Poisson"].assign(LW=0.4 * delta["Poisson"]["Unweighted"])
    scaled *= 3.5 / scaled["LW"].median()
    assert study.is_narrow(scaled)
    assert not verdicts(study.claims_on_bounds(delta | {"Poisson": scaled}))["P3-Fig10"]
    lower = delta | {"Poisson": delta["Poisson"] - 0.3}
    assert not verdicts(study.claims_on_bounds(lower))["P3-Fig10"]
    wide = delta["NB mixture"] * [1, 1, 1]
    wide["LW"] = delta["NB mixture"]["Unweighted"] - 12
    found = study.claims_on_bounds({"Poisson": wide, "NB mixture": wide})
    assert verdicts(found) == {"P3-Fig10": False, "P3-Fig12": False}
    high = delta | {"NB mixture": delta["NB mixture"] + 1.5}
    assert verdicts(study.claims_on_bounds(high)) == {
        "P3-Fig10": True,
        "P3-Fig12": False,
    }


@pytest.mark.parametrize(
    ("claim", "name", "column", "value"),
    [
        ("P3-Fig11a", "Poisson", "mean", 2.1),
        ("P3-Fig11b", "Poisson", "q90", -5.1),
        ("P3-Fig13a", "NB mixture", "median", -3.1),
        ("P3-Fig13b", "NB mixture", "q15", 6.1),
    ],
)
def test_utility(gaps, claim, name, column, value):
    found = study.claims_on_utility(gaps)
    assert found["P3-Fig11b"][0] == "15% quantile 2.0%, 90% quantile 1.0%"
    assert all(verdicts(found).values())
    gaps[name].loc["Unweighted", column] = value
    assert all(verdicts(study.claims_on_utility(gaps)).values())
    gaps[name].loc["LW", column] = value
    failed = [k for k, v in verdicts(study.claims_on_utility(gaps)).items() if not v]
    assert failed == [claim]


@pytest.mark.parametrize(
    ("column", "value"), [("median of LW", 3.2), ("share above 3.5", 0.06)]
)
def test_poisson(by_mean, column, value):
    found = study.claim_on_poisson(by_mean)
    assert found["P3-Claim24"][0] == "mean 100: median 3.60, 60% above 3.5"
    assert verdicts(found)["P3-Claim24"]
    by_mean.loc[50, column] = value
    assert not verdicts(study.claim_on_poisson(by_mean))["P3-Claim24"]


def test_mixture(delta):
    table = delta["NB mixture"]
    found = study.claim_on_mixture(table)
    assert found == {"P3-Claim25": ("median 6.00, from 5.0 to 7.0", True)}
    assert not verdicts(study.claim_on_mixture(table + 0.6))["P3-Claim25"]
    table["Unweighted"] = table["LW"] * 1.5
    assert not verdicts(study.claim_on_mixture(table))["P3-Claim25"]


@pytest.mark.parametrize(("name", "value"), [("Poisson", 5.1), ("NB mixture", -6.1)])
def test_inference(gaps, name, value):
    found = study.claim_on_inference(gaps)
    assert found["P3-Claim26"] == ("Poisson within 2.0%; NB mixture within 2.0%", True)
    gaps[name].loc["LW", "q90"] = value
    assert not verdicts(study.claim_on_inference(gaps))["P3-Claim26"]


@pytest.mark.parametrize(
    ("rise", "ratio", "holds"),
    [(0.01, 0.1, True), (0.01, 0.6, False), (0.5, 0.1, False), (-0.5, 0.1, False)],
)
def test_contraction(rise, ratio, holds):
    steady = study.growth(sizes_with(rise=0.0, ratio=0.1), 100)
    grown = study.growth(sizes_with(rise, ratio), 100)
    found = study.claim_on_contraction({"Poisson": steady, "NB mixture": grown})
    assert verdicts(found) == {"P3-Claim27": holds}


def test_claims_bring_all_together(delta, gaps, by_mean):
    found = study.claims(
        {(name, 1000): d for name, d in delta.items()},
        n_databases=20,
        gaps=gaps,
        by_mean=by_mean,
        sizes=dict.fromkeys(study.SHORT, sizes_with(rise=0.7, ratio=0.8)),
        intended=delta["NB mixture"],
        printed=delta["Poisson"],
    )
    assert list(found) == [
        "P3-AlgU4",
        "P3-Set06",
        "P3-Fig10",
        "P3-Fig11a",
        "P3-Fig11b",
        "P3-Fig12",
        "P3-Fig13a",
        "P3-Fig13b",
        "P3-Claim24",
        "P3-Claim25",
        "P3-Claim26",
        "P3-Claim27",
    ]
    assert [k for k, holds in verdicts(found).items() if not holds] == ["P3-Claim27"]


def test_share_of_files_above_epsilon_counts_twice_the_bound():
    bounds = pd.DataFrame({"LW": [3.0, 4, 5, 6], "Ceiling": [3.5, 3.5, 3.5, 3.6]})
    large = {
        ("Poisson", 5000): bounds.iloc[:2],
        ("Poisson", 1000): bounds,
        ("Poisson", 200): bounds,
        ("NB mixture", 1000): bounds,
        ("NB mixture", 200): bounds,
    }
    pi = study.share_above(large, {"Poisson": (7, 7.1, 8), "NB mixture": (7, 12, 14)})
    assert pi.loc["Poisson", "LW", 8, 1000]["share"] == 0.5
    assert pi.loc["Poisson", "LW", 8, 5000]["share"] == 0
    assert pi.loc["Poisson", "Ceiling", 7, 1000].tolist() == pytest.approx(
        [0.25, np.sqrt(0.25 * 0.75 / 4)]
    )
    assert pi.loc["NB mixture", "LW", 12, 1000]["share"] == 0
    found = study.numbers_of_share_above(pi, n_databases=4)
    assert found["pi-limit"] == pytest.approx(100 * (1 - 0.05 ** (1 / 4)))
    assert found["pi-poisson-200"] == 25
    assert found["pi-poisson-larger"] == 0
    assert found["pi-nb-larger"] == 0
    study.show_share_above(pi)
