import numpy as np
import pandas as pd
import pytest
import re_weighting as chapter

import pseudopost as pp

FIVE = chapter.FIVE


def verdicts(claims):
    return {name: bool(holds) for name, (_, holds) in claims.items()}


def failing(claims):
    return {name for name, holds in verdicts(claims).items() if not holds}


@pytest.fixture
def weights():
    rng = np.random.default_rng(1)
    lw, cw = rng.uniform(0.5, 0.9, 50), rng.uniform(0.1, 0.5, 50)
    return {
        "Unweighted": np.ones(50),
        "LW": lw,
        "LW_final": np.minimum(1, lw + 0.1),
        "CW": cw,
        "CW_final": cw + 0.3,
    }


@pytest.fixture
def bounds():
    """Flatter after, and higher but for the largest."""
    slope = np.linspace(0, 1, 50)
    return {
        "LW": 5 - 2 * slope,
        "LW_final": 5 - 0.2 * slope,
        "CW": 3 - 2 * slope,
        "CW_final": 3 - 0.9 * slope,
    }


@pytest.fixture
def changes():
    return {"LW": [-2.5, -1.5], "CW": [-1, 2]}


@pytest.fixture
def errors():
    """All statistics nearer after re-weighting."""
    columns = {"Unweighted": 0.5, "LW": -2, "LW_final": 1, "CW": 6, "CW_final": -1.0}
    return pd.DataFrame(columns, index=FIVE)


def repeated(errors, noise=0.01):
    """Four fits with these mean errors, and a little noise, which a gain has twice."""
    wave = noise * np.array([1.0, -1, -1, 1])[:, None]
    return {name: errors[name].to_numpy() + wave for name in errors}


@pytest.fixture
def mu():
    means = {"Unweighted": 100, "LW": 99, "LW_final": 99.5, "CW": 103, "CW_final": 100}
    return {name: np.array([mean - 1, mean + 1]) for name, mean in means.items()}


def path(*differences, last_k=0.95, mean_weight=0.9):
    return pd.DataFrame(
        {"constant": last_k, "difference": differences, "mean_weight": mean_weight}
    )


# Tables and numbers


def test_distance_of_the_best_step():
    paths = {"LW": path(-0.5, 0.1, -0.2)}
    assert chapter.nearest(paths, {"LW": np.array([1, 5])}) == {"LW": pytest.approx(2)}


def interval_of(pairs):
    low, high = np.transpose(pairs)
    return pp.utility.Interval((low + high) / 2, low, high)


def test_ours_above_the_published():
    interval = {
        name: interval_of(np.array(pairs) + 1)
        for name, pairs in chapter.PUBLISHED.items()
    }
    table = chapter.beside_published(interval)
    assert table.loc[("CW", "paper"), "mean"] == "[100.6, 103.3]"
    assert table.loc[("CW", "ours"), "mean"] == "[101.6, 104.3]"


def test_numbers_of_weights():
    weights = {
        "LW": np.array([0.5, 1.0]),
        "LW_final": np.array([0.4, 1.0]),
        "CW": np.array([0.2, 0.4]),
        "CW_final": np.array([0.3, 0.5]),
    }
    found = chapter.numbers_of_weights(weights, {"LW": [-4, -2], "CW": [1, 3]})
    assert (found["LW-lowered"], found["CW-lowered"]) == (1, 0)
    assert (found["LW-change"], found["CW-change"]) == (-3, 2)
    assert found["change-sd"] == pytest.approx(2**0.5)
    assert (found["LW-below-before"], found["CW-max-after"]) == (50, 0.5)


def test_numbers_of_table():
    published = chapter.PUBLISHED
    interval = {name: interval_of(published[name]) for name in ("LW", "LW_final")}
    interval["LW"] = interval_of(np.array(published["LW"]) + 0.3)
    final = np.array(published["LW_final"])
    half = (final[:, 1] - final[:, 0]) / 2
    pooled = interval_of(final + 0.2 * np.column_stack([-half, half]))
    by_file = {"LW": np.array([[1.0, 3.0]]), "LW_final": np.array([[1.0, 1.0]])}
    found = chapter.numbers_of_table(interval, pooled, by_file)
    assert found["averaged-wider"] == pytest.approx(0)
    assert found["pooled-wider"] == pytest.approx(20)
    assert found["tab-difference"] == pytest.approx(0.3)
    assert found["tab-se"] == pytest.approx(1)


def test_published_90th_quantile_of_lw_gets_worse():
    before, after = (
        chapter.published_error(name, "90th quantile") for name in ("LW", "LW_final")
    )
    assert before == pytest.approx(0.45)
    assert after == pytest.approx(0.70)


def test_numbers_of_any_weights():
    weights = {f"{name}_final": np.array([0.4, 0.6]) for name in ("Random", "Scalar")}
    bounds = {
        name: np.array([1, largest])
        for name, largest in (
            ("Random", 4),
            ("Random_final", 3),
            ("Scalar", 4),
            ("Scalar_final", 5),
        )
    }
    found = chapter.numbers_of_any_weights(weights, bounds)
    assert (found["Random-drift"], found["Scalar-drift"]) == (-25, 25)
    assert found["Random-after"] == 0.5


# Rules


def test_setting(weights, changes):
    y = pp.datasets.negative_binomial_mixture(random_seed=1)
    assert failing(chapter.claims_of_setting(y, weights, changes)) == set()
    for other in (y + 10, 2 * y - 100, 200 - y):
        found = chapter.claims_of_setting(other, weights, changes)
        assert failing(found) == {"P3-Set01"}
    same = weights | {"CW_final": weights["CW"]}
    assert failing(chapter.claims_of_setting(y, same, changes)) == {"P3-Set02"}
    moved = changes | {"CW": [6, 7]}
    found = chapter.claims_of_setting(y, weights, moved)
    assert failing(found) == {"P3-Set03"}
    assert found["P3-Set03"][0] == "LW -2.0%, CW +6.5%"


def test_rule(weights, bounds):
    for name in chapter.STARTS:
        weights[name][0] = bounds[name][0] = 0
        weights[f"{name}_final"] = pp.reweight(weights[name], bounds[name], k=0.95)
    assert verdicts(chapter.claim_of_rule(weights, bounds)) == {"P3-Eq2.1": True}
    assert failing(chapter.claim_of_rule(weights, bounds, k=0.9)) == {"P3-Eq2.1"}


def test_search(weights, bounds):
    paths = {"LW": path(0.5, 0.1, last_k=0.975), "CW": path(-0.05)}
    found = chapter.claim_of_search(paths, weights, bounds)
    assert found == {
        "P3-Alg1": (
            "tolerance 3% of the bound: LW: k = 0.975 after 2, CW: k = 0.950 after 1",
            True,
        )
    }
    lower = path(0.5, 0.1, mean_weight=[0.9, weights["LW"].mean() - 0.01])
    for other in ({"CW": path(-0.2)}, {"LW": lower}):
        assert failing(chapter.claim_of_search(paths | other, weights, bounds))


def test_bounds_and_weights(weights, bounds, changes):
    def fails(weights=weights, bounds=bounds, changes=changes):
        return failing(chapter.claims_of_bounds_and_weights(weights, bounds, changes))

    assert fails() == set()
    steep = bounds | {"LW_final": bounds["LW"] ** 2}
    assert fails(bounds=steep) == {"P3-Fig03a"}
    steep = bounds | {"CW_final": bounds["CW"] ** 3}
    assert fails(bounds=steep) == {"P3-Fig03b"}
    assert fails(bounds=bounds | {"CW_final": 0.4 * bounds["CW_final"]}) == {
        "P3-Fig04a"
    }
    assert fails(changes={"LW": [-4], "CW": [0]}) == {"P3-Fig04a"}
    some = bounds | {"LW_final": 5 - 0.45 * np.linspace(0, 1, 50)}
    assert fails(bounds=some) == {"P3-Fig03a"}  # a quarter, and still above .02
    some = bounds | {"CW_final": 3 - 1.1 * np.linspace(0, 1, 50)}
    assert fails(bounds=some) == {"P3-Fig03b"}  # more than a half
    one = weights["CW_final"].copy()
    one[0] = 0
    assert fails(weights | {"CW_final": one}) == {"P3-Fig04b"}
    lower = weights | {"LW_final": weights["LW"] - 0.01}
    assert fails(lower) == {"P3-Fig04b", "P3-Fig04c"}
    little = weights | {"CW_final": weights["CW"] + 0.01}
    assert fails(little) == {"P3-Fig04d"}


def test_weights_of_0_and_1_do_not_count_in_the_spread():
    weights = {"LW": np.array([0, 0.5, 0.6, 1])}
    bounds = {"LW": np.array([0, 2, 4, 1])}
    assert chapter.spread(weights, bounds, "LW") == np.std([0.5, 1])


def test_synthetic_data_and_utility(errors, mu):
    def fails(errors=errors, noise=0.01, mu=mu):
        repeats = repeated(errors, noise)
        return failing(
            chapter.claims_of_synthetic_data(repeats, mu)
            | chapter.claims_of_utility(repeats, mu)
        )

    def worse(statistic, name):
        other = errors.copy()
        other.loc[statistic, f"{name}_final"] = other.loc[statistic, name]
        return fails(other)

    assert fails() == set()
    assert fails(noise=1.0) >= {"P3-Fig05b", "P3-Claim14", "P3-Claim15", "P3-Claim17"}
    assert worse("15th quantile", "CW") == {"P3-Fig05a", "P3-Claim13"}
    assert worse("15th quantile", "LW") == set()
    assert worse("mean", "LW") == {"P3-Fig05b", "P3-Claim14"}
    assert worse("mean", "CW") == {"P3-Fig05b", "P3-Claim13"}
    assert worse("median", "LW") == {"P3-Fig05b", "P3-Claim14", "P3-Claim15"}
    assert worse("99th quantile", "LW") == {"P3-Fig05d", "P3-Claim17"}
    far = mu | {"LW_final": mu["LW_final"] - 2}
    assert fails(mu=far) == {"P3-Fig05c", "P3-Claim16"}
    less = mu | {"CW_final": mu["CW"] - 0.2}
    assert fails(mu=less) == {"P3-Claim16"}


def test_the_noise_of_the_gain_counts(errors):
    repeats = repeated(errors)
    assert chapter.nearer(repeats, "LW", ["mean"])
    assert not chapter.nearer(repeated(errors, noise=1.0), "LW", ["mean"])
    # Noise that both have in common does not.
    common = np.array([-3.0, 0, 1, 2])[:, None]
    final = -(1 + 0.9 * common) * np.ones(5)
    shared = repeats | {"LW": repeats["LW"] - common, "LW_final": final}
    errors_now = chapter.errors_of(shared)
    assert errors_now.loc["mean", "LW_final"] == pytest.approx(-1)
    assert chapter.nearer(shared, "LW", ["mean"])
    # Each statistic is judged by its own.
    loud = repeats["CW"].copy()
    loud[:, -1] += [0, 30, -30, 0]
    assert chapter.nearer(repeats | {"CW": loud}, "CW", chapter.STATISTICS)
    assert not chapter.nearer(repeats | {"CW": loud}, "CW", ["99th quantile"])


def test_table():
    interval = {"Data": interval_of(np.array(chapter.PUBLISHED["Data"]) + 0.1)}
    overlap = pd.DataFrame({"CW": [0.0, 0.2], "CW_final": [0.4, 0.5]})
    found = chapter.claim_of_table(interval, overlap)
    assert found["P3-Tab01"][0].endswith("CW overlaps 0.00 to 0.40, 0.20 to 0.50")
    assert verdicts(found) == {"P3-Tab01": True}
    assert failing(chapter.claim_of_table(interval, overlap * 0))
    far = {"Data": interval_of(np.array(chapter.PUBLISHED["Data"]) + 0.2)}
    assert failing(chapter.claim_of_table(far, overlap)) == {"P3-Tab01"}


def test_bound(weights, bounds, changes):
    def fails(weights=weights, bounds=bounds, changes=changes, frozen=4.75):
        return failing(chapter.claims_of_bound(weights, bounds, changes, frozen))

    assert fails() == set()
    assert fails(frozen=5) == {"P3-Claim08"}
    assert fails(changes={"LW": [-4], "CW": [0]}) == {"P3-Claim09"}
    steep = bounds | {"LW_final": 5 - 4 * np.linspace(0, 1, 50) ** 4}
    assert fails(bounds=steep) == {"P3-Claim10"}
    low = bounds | {"LW_final": bounds["LW_final"] / 2}
    assert fails(bounds=low) == {"P3-Claim11"}
    one = weights["LW_final"].copy()
    one[0] = 0
    assert fails(weights | {"LW_final": one}) == {"P3-Claim12"}


def test_share_must_fall_for_both(weights):
    assert failing(chapter.claim_of_share(weights)) == {"P3-Claim28"}
    falls = weights | {
        f"{name}_final": np.where(np.arange(50) < 25, 1, 0.9) for name in chapter.STARTS
    }
    found = chapter.claim_of_share(falls)
    assert found == {"P3-Claim28": ("LW 100% to 50%, CW 100% to 50%", True)}


# Other settings of CW


def test_numbers_of_settings(errors):
    columns = pd.MultiIndex.from_product(
        [[1], [0, 0.1], [0.05, 0.5]], names=list("cgr")
    )
    columns = columns.append(pd.MultiIndex.from_tuples([(1.5, 0, 0.5)]))
    settings = pd.DataFrame(
        [[1, 1, 0, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]],
        ["P3-Alg1", "P3-Tab01", "P3-Claim28", "P3-Claim09"],
        columns.set_names(list("cgr")),
        dtype=bool,
    )
    shifted = {"repeats": repeated(errors)}
    scaled = {"changes": {"CW": [-6, -8]}, "weights": {"CW": np.array([1, 0.5, 1, 1])}}
    found = chapter.numbers_of_settings(settings, shifted, scaled)
    assert (found["crosses"], found["crosses-two"]) == (6, 4)
    assert (found["crosses-rest"], found["crosses-shift"]) == (2, 1)
    assert found["shifted-before"] == pytest.approx(6)
    assert found["shifted-LW"] == pytest.approx(1)
    assert (found["scaled-change"], found["scaled-ones"]) == (-7, 75)


def test_statements_in_which_cw_has_no_part_are_left_out(monkeypatch):
    rows = {name: ("", True) for name in [*chapter.FIXED, "P3-Alg1"]}
    monkeypatch.setattr(chapter, "claims", lambda **inputs: rows)
    assert list(chapter.claims_on_cw()) == ["P3-Alg1"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pseudopost.ConvergenceWarning")  # short chains
def test_another_cw_takes_the_place_of_the_first():
    rng = np.random.default_rng(1)
    y = rng.negative_binomial(10, 0.1, size=80)
    synthesizer = pp.NegativeBinomialSynthesizer(y)

    def five(x, axis=-1):
        return np.quantile(x, [0.15, 0.9, 0.5, 0.5, 0.99], axis=axis)

    def four(x, axis=-1):
        return five(x, axis)[:4]

    names = ["weights", "bounds", "changes", "paths", "mu", "repeats"]
    inputs = {name: {"LW": "kept", "CW": "replaced"} for name in names} | {
        "y": y,
        "interval": {"Data": pp.bootstrap_interval(y, four, random_seed=1)},
        "overlap": pd.DataFrame(index=chapter.STATISTICS),
        "frozen": "kept",
    }
    w = pp.count_weights(y, radius=0.3)
    sampling = {"draws": 250, "tune": 200, "random_seed": 1}
    other = chapter.other_inputs(inputs, w, synthesizer, sampling, five)
    assert other["frozen"] == "kept"
    assert all(other[name]["LW"] == "kept" for name in names)
    assert other["weights"]["CW"] is w
    bounds = other["bounds"]
    expected = pp.reweight(w, bounds["CW"], k=0.95)
    np.testing.assert_array_equal(other["weights"]["CW_final"], expected)
    assert len(other["changes"]["CW"]) == 4
    assert np.abs(other["changes"]["CW"]).max() < 30
    assert abs(bounds["CW_final"].max() / bounds["CW"].max() - 1) < 0.3
    assert list(other["overlap"]) == ["CW", "CW_final"]
    assert np.shape(other["repeats"]["CW"]) == np.shape(other["repeats"]["CW_final"])
    assert np.shape(other["repeats"]["CW"]) == (4, 5)
    assert len(other["paths"]["CW"]) >= 1


def test_any_weights(weights, bounds):
    weights |= {"Random": weights["CW"], "Random_final": weights["CW_final"]}
    bounds["Random"] = bounds["CW"]
    paths = {"LW": path(0.1), "CW": path(0.05), "Random": path(0.05)}

    def fails(weights=weights, paths=paths):
        return failing(chapter.claims_of_any_weights(weights, bounds, paths))

    assert fails() == set()
    assert fails(paths=paths | {"Random": path(0.5)}) == {"P3-Claim29"}
    assert fails(paths=paths | {"CW": path(0.5)}) == {"P3-Claim29", "P3-Claim30"}
    lower = weights | {"Random_final": weights["CW"] - 0.1}
    assert fails(lower) == {"P3-Claim29"}
