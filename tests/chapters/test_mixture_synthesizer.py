import mixture_synthesizer as chapter
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import pseudopost as pp

PI = np.array([0.6, 0.3, 0.1])
BETA = np.array([[1.0, 0.5], [2.0, -1.0], [0.0, 0.3]])
SIGMA = np.array([0.5, 1.0, 2.0])


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def X(rng):
    return np.column_stack([np.ones(40), rng.normal(size=40)])


@pytest.fixture
def draws():
    # Two draws of one chain: the second has the first two components exchanged.
    order = [1, 0, 2]
    return xr.Dataset(
        {
            "pi": (("draw", "component"), [PI, PI[order]]),
            "beta": (("draw", "component", "predictor"), [BETA, BETA[order]]),
            "sigma": (("draw", "component"), [SIGMA, SIGMA[order]]),
        }
    )


def mixture(y, mean):
    return stats.norm.pdf(y, mean, SIGMA) @ PI


def test_quantile_error():
    income = np.arange(1.0, 102)
    levels = np.array([0.25, 0.5])
    np.testing.assert_allclose(
        chapter.quantile_ratio([income, 3 * income], income, levels), 2
    )
    assert chapter.quantile_error([1.1 * income], income, levels) == pytest.approx(10)
    found = chapter.distances(np.array([income, income + 200]), income)
    assert found[chapter.GAP] == pytest.approx(0.5)


def test_shape():
    found = chapter.shape(np.array([-1.0, 0, 0, 1]))
    assert list(found.values()) == pytest.approx([-1, 1, 0, -1])


def test_log_dirichlet(rng):
    log_share = chapter.log_dirichlet(np.full(20_000, 3.0), 4, rng)
    shares = np.exp(log_share)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    beta = stats.beta(0.75, 2.25)
    assert stats.kstest(shares[:, 0], beta.cdf).pvalue > 1e-3
    tiny = chapter.log_dirichlet(np.array([1e-4]), 200, rng)
    assert np.isfinite(tiny).all()
    assert tiny.min() < -1000


def test_occupied_table():
    occupied = {2: np.array([1, 1, 2, 2]), np.inf: np.array([1, 2, 2, 3])}
    table = chapter.occupied_table(occupied, {2: 1.4, np.inf: 2.1})
    assert list(table.index) == ["K = 2", "K = infinity"]
    assert table["mean, simulated"].to_list() == [1.5, 2]
    assert table[chapter.LIMIT].to_list() == [0.25, 0]
    assert table[chapter.FORMULA].to_list() == [1.4, 2.1]


def plain_mixture(y, mean, log_pi, log_sigma):
    density = stats.norm.pdf(y, mean, np.exp(log_sigma)[:, None])
    return np.log(np.exp(log_pi) @ density), None


def test_densities_of_draws(draws, X, rng, monkeypatch):
    monkeypatch.setattr(chapter, "normal_mixture", plain_mixture)  # no compilation
    y = rng.normal(size=40)
    expected = np.array([mixture(v, BETA @ x) for v, x in zip(y, X, strict=True)])
    assert chapter.file_log_likelihood(draws, y, X) == pytest.approx(
        np.log(expected).sum()
    )
    grid = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(
        chapter.average_density(draws, X, grid),
        [np.mean([mixture(v, BETA @ x) for x in X]) for v in grid],
    )


def test_heap_table():
    sigma = np.array([0.01, 0.1, 1])
    gains = pd.DataFrame(
        {"a": -2 * np.log(sigma) - 1, "b": [-1.0, -2, -3]}, index=sigma
    )
    rows = np.arange(3)
    cases = {"a": (rows, 1.0, 2.0), "b": (rows, 1.0, 5.0)}
    table = chapter.heap_table(
        cases, gains, lambda rows, value, density, sigma: density, np.ones((4, 2))
    )
    assert table.loc["a"].to_list() == pytest.approx([3, 1, -2, 2, 0.1])
    assert table.loc["b", "gain at 0.05"] == 5
    assert np.isnan(table.loc["b", "worth it below"])
    values = chapter.heap_numbers(table)
    assert values["heap-round"] == 3
    assert values["rank-coded"] == 1
    assert values["gain-coded"] == 5
    assert values["worth-round"] == 0.1


def fit_with(mean):
    rng = np.random.default_rng(2)
    group = xr.Dataset(
        {
            name: (
                ("chain", "draw", f"{name}_at"),
                rng.normal(size=(2, 100, len(labels))),
            )
            for name, labels in chapter.LABELS.items()
        }
    )
    group["mean"] = group["mean"] + xr.DataArray([0.0, mean], dims="chain")
    return xr.DataTree.from_dict({"label_invariant": group})


def test_convergence():
    agree, apart = (chapter.convergence(fit_with(mean)) for mean in (0, 5))
    assert len(agree) == 24
    assert agree["R-hat"].max() < 1.05
    assert apart["R-hat"].idxmax() == ("mean", "")
    assert chapter.worst(fit_with(5)) == {
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


def test_tables_of_incomes():
    income = np.array([-1.0, 0, 0, 5, 96])
    found = chapter.summary(income)
    assert found["50%"] == 0
    assert found["mean"] == 20
    assert found["largest"] == 96
    assert found["negative (records)"] == 1
    assert found["exactly 0 (records)"] == 2
    z = np.array([[1.0, 2, 3], [5, 6, 100]])
    found = chapter.incomes(z)
    assert found["mean income"] == 19.5
    assert found["median income"] == 4


def test_compared_with_data():
    interval = pp.utility.Interval
    row = {
        "Data": interval(10, 8, 12),
        "Synthetic": interval(11, 10, 14),
        "Top-coded": interval(7, 7, 7),
    }
    table = chapter.compared_with_data({"mean": row})
    assert table.loc["mean"].to_list() == [10, 11, 7, 0.5, 0]
    assert chapter.relative_error(table, "mean", "Top-coded") == pytest.approx(-0.3)


def test_weight_levels():
    w = np.array([0.1, 0.2, 0.3, 1])
    levels = chapter.weight_levels(
        dict.fromkeys(("confidential", chapter.SIGNED, "synthetic"), w), w < 0.25
    )
    assert levels.loc["synthetic"].to_list() == pytest.approx([0.1, 0.25, 1, 0.15, 1])
    values = chapter.weight_numbers(levels)
    assert values["pw-signed-ones"] == 1
    assert values["pw-syn-median"] == pytest.approx(0.25)


def drawn_by_hand(rng, n=4000):
    share = np.tile([[0.7], [0.3]], n)
    mean, sigma = np.array([np.zeros(n), np.full(n, 2.0)]), np.array([0.5, 1])
    component = (rng.random(n) > 0.7).astype(int)
    value = rng.normal(mean[component, np.arange(n)], sigma[component])
    return np.exp(value) - 3, share, mean, sigma


def test_standardised_files(rng):
    by_hand = [drawn_by_hand(rng) for _ in range(20)]
    z = np.array([drawn[0] for drawn in by_hand])
    standard = chapter.standardised_files(z, by_hand, shift=3)
    assert chapter.is_standard(standard)
    assert not chapter.is_standard(standard + 0.1)
    assert not chapter.is_standard(1.1 * standard)
    assert chapter.synthetic_files(z, standard)[1]
    assert not chapter.synthetic_files(z[:10], standard[:10])[1]
    assert not chapter.synthetic_files(z, standard + 0.1)[1]
    shares = [drawn[1] for drawn in by_hand]
    table = pd.DataFrame(
        {"package": [0.19], "by hand, Equation 7": [0.195]}, ["mean risk"]
    )
    assert chapter.allocation_by_equation_7(shares, standard, table)[1]
    assert not chapter.allocation_by_equation_7(shares, standard + 0.1, table)[1]
    assert not chapter.allocation_by_equation_7([1.01 * shares[0]], standard, table)[1]
    table["package"] = 0.21
    assert not chapter.allocation_by_equation_7(shares, standard, table)[1]


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


def found_in(values):
    """What `benchmarks/atoms.py` stores, with these values for every treatment."""
    rows = {
        (file, treatment, measure): {"value": value, "standard_error": error}
        for file in chapter.QUARTERS
        for treatment in chapter.TREATMENTS
        for measure, (value, error) in values.items()
    }
    found = pd.DataFrame(rows).T
    return found.rename_axis(["file", "treatment", "measure"])


def test_repeated_agreement():
    nothing = float("nan")
    table = chapter.repeated_agreement(
        found_in(
            {
                "worst R-hat": (1.0042, nothing),
                "smallest bulk ESS": (1234.6, nothing),
                "sweeps a draw": (120, nothing),
            }
        )
    )
    assert list(table.index) == chapter.TREATMENTS
    assert table.loc["atoms", ("R-hat", "2016")] == "1.004"
    assert table.loc["intervals", ("ESS", "2014")] == "1,235"
    assert table.loc["floor 0.05", ("sweeps a draw", "2014")] == "120"


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [
        (0.13926, 0.0051, "0.139 ± 0.010"),
        (12.345, 0.61, "12.3 ± 1.2"),
        (-4.21, 6.3, "-4 ± 13"),
        (797.3, 804, "797 ± 1,608"),
        (26.04, 0, "26.0"),
        (26.04, 2e-19, "26.0"),
        (26.04, float("nan"), "26.0"),
    ],
)
def test_with_two_errors(value, error, expected):
    assert chapter.with_two_errors(value, error) == expected


def test_repeated_incomes_are_stored_for_every_treatment():
    found = chapter.repeated()
    numbers = chapter.repeated_numbers(found)
    assert len(numbers) == 2 * 5 * 8
    assert not [key for key, value in numbers.items() if "nan" in value]
    assert chapter.repeated_agreement(found).shape == (5, 6)
    own = found.xs("own value released (%), in an atom", level="measure")["value"]
    drawn, spread = (own.xs(t, level="treatment") for t in ("atoms", "floor 0.05"))
    assert (drawn > spread).all()


def test_repeated_values():
    quarter = pd.DataFrame(
        {
            "income": np.repeat([24_000, 1462, 50, 7], [12, 11, 10, 9]),
            "group": [*"a" * 12, *"b" * 20, *"c" * 9, "b"],
        }
    )
    found = chapter.repeated_values(quarter, ["group"])
    assert found == {
        "repeat-atoms": 3,
        "repeat-share": pytest.approx(100 * 33 / 42),
        "repeat-unrounded": "1,462",
        "repeat-unrounded-count": 11,
        "repeat-pattern": 100,  # of group a; group c is too small
    }
    without_a = quarter[quarter["group"] != "a"]
    found = chapter.repeated_values(without_a, ["group"])
    assert found["repeat-pattern"] == pytest.approx(100 * 11 / 21)


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


def measures(gap, bulk, tail, close, risk, top):
    return pd.Series(
        {
            chapter.GAP: gap,
            chapter.BULK: bulk,
            chapter.TAIL: tail,
            chapter.CLOSE: close,
            chapter.RISK: risk,
            chapter.TOP: top,
        }
    )


ONE = measures(0.05, 5, 20, 0.2, 0.15, 0.03)
MANY = measures(0.02, 2, 4, 0.25, 0.19, 0.09)


def test_numbers_of_the_argument():
    values = chapter.argument_numbers(ONE, MANY)
    assert len(values) == 13
    assert values["gap-one"] == 0.05
    assert values["t-many"] == 0.25
    assert values["top-ratio"] == pytest.approx(3)
    names = ("package", "by hand, Equation 7", "by hand, from the shares")
    table = pd.DataFrame(dict(zip(names, (MANY, ONE, 2 * ONE), strict=True)))
    assert chapter.allocation_numbers(table) == {
        "tail-package": 4,
        "tail-hand": 20,
        "top-seven": 0.09,
        "top-shares": 0.06,
        "gap-seven": 0.02,
        "gap-shares": 0.1,
    }


@pytest.mark.parametrize(
    ("row", "value", "holds"),
    [
        (chapter.TOP, 0.09, True),
        (chapter.TOP, 0.05, False),
        (chapter.GAP, 0.06, False),
        (chapter.BULK, 6, False),
        (chapter.TAIL, 21, False),
    ],
)
def test_flexible_or_parametric(row, value, holds):
    many = MANY.copy()
    many[row] = value
    words, verdict = chapter.flexible_or_parametric(
        pd.DataFrame({"K = 1": ONE, "K = 10": many})
    )
    assert verdict == holds
    assert words.startswith("K = 1 and 10: top 1% risk 0.03, ")


@pytest.mark.parametrize(
    ("gap", "close", "holds"),
    [(0.02, 0.25, True), (0.02, 0.6, False), (0.05, 0.25, False)],
)
def test_mixed_values(gap, close, holds):
    assert chapter.mixed_values(measures(gap, 2, 4, close, 0.2, 0.1))[1] == holds


def test_normal_component():
    values, means = np.array([1.0, 2]), np.array([0.5, 2.5])
    right = stats.norm.logpdf(values, means, 0.3)
    assert chapter.normal_component(right, values, means, 0.3)[1]
    # With the variance as the second argument of the density.
    wrong = stats.norm.logpdf(values, means, 0.09)
    assert not chapter.normal_component(wrong, values, means, 0.3)[1]


def test_prior_checks(rng):
    correlations = 2 * rng.beta(18, 18, 2000) - 1
    checks = chapter.prior_checks(rng.gamma(1, size=20_000), correlations, 36, rng)
    assert [bool(holds) for _, holds in checks] == [True] * 5


def test_priors_that_fail(rng):
    labels = rng.choice(3, 10_000, p=PI)
    assert chapter.multinomial_labels(labels, PI)[1]
    assert not chapter.multinomial_labels(labels, PI[::-1])[1]
    shares = rng.dirichlet(np.full(10, 0.2), 5000)
    assert chapter.dirichlet_shares(shares, gamma=2)[1]
    assert not chapter.dirichlet_shares(shares, gamma=20)[1]
    assert not chapter.dirichlet_shares(shares**2, gamma=2)[1]
    assert not chapter.gamma_prior(rng.gamma(1.2, size=5000))[1]
    # A Wishart matrix of few degrees of freedom has wider correlations.
    assert not chapter.uniform_correlations(2 * rng.beta(2, 2, 2000) - 1, 36)[1]
    grid = np.linspace(0.1, 5)
    assert chapter.half_t_prior(stats.t(3).logpdf(grid) + 7, grid)[1]
    assert not chapter.half_t_prior(stats.norm.logpdf(grid), grid)[1]


def test_one_model():
    model = object.__new__(pp.MixtureSynthesizer)
    assert chapter.one_model([model, model], ("", True))[1]
    assert not chapter.one_model([model], ("", True), ("", False))[1]
    assert not chapter.one_model([model, object()], ("", True))[1]


def test_labels_summed_out(draws, X, rng):
    y = rng.normal(size=40)
    arguments = chapter.density_arguments(draws.isel(draw=0), X)
    density = np.log([mixture(v, BETA @ x) for v, x in zip(y, X, strict=True)])
    assert chapter.labels_summed_out(density, density, density, y, arguments)[1]
    for wrong in range(3):
        found = [density + 1e-6 * (place == wrong) for place in range(3)]
        assert not chapter.labels_summed_out(*found, y, arguments)[1]


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
    for wrong in (
        prior_of([5.0, 7, 8, 9, 8.6], distance),
        prior_of(means, [0.4, 0.1, 0.2, 0.03, 0]),
        prior_of(means, [0.4, 0.2, 0.1, 0.09, 0]),
        prior.assign(**{"mean, simulated": 1.1 * prior[chapter.FORMULA]}),
    ):
        assert not chapter.number_of_components(wrong, above)[1]
    values = chapter.prior_numbers(prior)
    assert values["occupied-20"] == 7
    assert values["occupied-dp"] == 9
    assert values["limit-50"] == 0.1


def test_better_than_topcoding():
    names = ["mean", "median", "90% quantile", "99% quantile", "earner coefficient"]
    table = pd.DataFrame(
        {"Data": 100.0, "Synthetic": 99.0, "Top-coded": 80.0}, index=names
    )
    words, holds = chapter.better_than_topcoding(table)
    assert holds
    assert words.startswith("mean -1.0% (top-coded -20.0%), 99% quantile -1.0%")
    values = chapter.inference_numbers(table)
    assert values["q99-Top-coded"] == pytest.approx(20)
    assert values["coef-Synthetic"] == pytest.approx(1)
    # The 90% quantile plays no part: top-coding leaves it alone.
    table.loc["90% quantile", "Top-coded"] = 100
    assert chapter.better_than_topcoding(table)[1]
    table.loc["99% quantile", "Synthetic"] = 70
    assert not chapter.better_than_topcoding(table)[1]


def test_source_of_weights():
    income = np.array([-5.0, 10, 20, 30, 900])
    top = income > 100

    def weights(**changes):
        return {
            "confidential": np.array([0.27, 0.25, 0.25, 0.3, 0.1]),
            chapter.SIGNED: np.array([1, 0.25, 0.25, 0.3, 0.1]),
            "synthetic": np.array([0.9, 0.95, 0.97, 0.99, 0.8]),
        } | changes

    words, holds = chapter.source_of_weights(weights(), income, top)
    assert holds
    assert words == (
        "confidential, signed ball 0.10/0.25/1.00, synthetic 0.80/0.95/0.99"
    )
    for change in (
        {"confidential": np.array([0.4, 0.4, 0.4, 0.4, 0.1])},
        {"confidential": np.array([0.25, 0.25, 0.25, 0.25, 0.2])},
        {chapter.SIGNED: np.array([1, 1, 0.25, 0.3, 0.1])},
        {"synthetic": np.full(5, 0.7)},
    ):
        assert not chapter.source_of_weights(weights(**change), income, top)[1]


def test_claims():
    equations = [(f"equation {i}", i != 3) for i in range(1, 8)]
    found = chapter.claims(
        equations,
        files=("files", True),
        setup=("setup", True),
        software=("software", True),
        findings={"P2-Set11": ("weights", True), "P1-Claim02": ("tail", False)},
    )
    assert list(found) == [
        *(f"P1-Eq0{i}" for i in range(1, 8)),
        *("P1-EqU10", "P1-Set04", "P1-Set14", "P1-Claim02"),
        *(f"P2-Eq0{i}" for i in range(1, 8)),
        *("P2-Set10", "P2-Set11"),
    ]
    assert found["P1-Eq03"] == found["P2-Eq03"] == ("equation 3", False)
    assert found["P1-Set14"] == found["P2-Set10"] == ("software", True)
    assert found["P1-Claim02"] == ("tail", False)
