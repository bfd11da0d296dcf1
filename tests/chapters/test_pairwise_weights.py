from types import SimpleNamespace

import numpy as np
import pairwise_weights as chapter
import pandas as pd
import pytest

import pseudopost as pp

SIX = np.array([30, 34, 40, 44, 50, 90])
SERIES = ["Unweighted", "Marginal", "Pairwise", "Scaled", "Lifted", "Order 3"]
SERIES += ["Own pattern", "Whole file"]
FILES = (1, 2, 3)


def verdicts(claims):
    return {name: bool(holds) for name, (_, holds) in claims.items()}


def table(**columns):
    """Three files, ten releases: each series has the given mean, and a little noise."""
    rng = np.random.default_rng(1)
    index = pd.MultiIndex.from_product(
        [FILES, SERIES, range(10)], names=["file", "series", "release"]
    )
    series = index.get_level_values("series")
    return pd.DataFrame(
        {
            name.replace("_", " "): series.map(dict(zip(SERIES, means, strict=False)))
            + 1e-4 * rng.normal(size=len(index))
            for name, means in columns.items()
        },
        index,
    )


def changed(frame, name, series, value, files=FILES):
    levels = [frame.index.get_level_values(k) for k in ("file", "series")]
    here = levels[0].isin(files) & (levels[1] == series)
    return frame.assign(**{name: frame[name].mask(here, value)})


@pytest.fixture
def risks():
    frame = table(
        IQR=(0.14, 0.16, 0.15, 0.16, 0.155, 0.15, 0.155, 0.155),
        below=(70, 80, 85, 80, 80, 85, 80, 80),
        above=(5, 4, 3, 4, 4, 3, 4, 4),
        up=(70, 50, 40, 50, 45, 35, 45, 45),
        level=(0.39, 0.38, 0.37, 0.38, 0.38, 0.37, 0.38, 0.38),
        largest=(0.55, 0.54, 0.52, 0.54, 0.54, 0.5, 0.54, 0.54),
        q99=(0.41, 0.4, 0.39, 0.4, 0.4, 0.39, 0.4, 0.4),
        mean=(0.2, 0.16, 0.16, 0.16, 0.16, 0.16, 0.16, 0.16),
    )
    return frame.rename(
        columns={
            "below": "below .25 (%)",
            "above": "above .5",
            "up": "up by more than .25",
            "level": "mean risk of these",
            "q99": "99% quantile",
            "mean": "mean risk",
        }
    )


@pytest.fixture
def shares():
    """Percent off the data: nearest Unweighted, farthest Marginal."""
    frame = table(
        mean=(-1, 11, -5),
        median=(1, 6, 4),
        q90=(-4, -24, -13),
        q975=(-5, -35, -20),
        earner=(-3, -29, -16),
    )
    return frame.rename(
        columns={
            "q90": "90% quantile",
            "q975": "97.5% quantile",
            "earner": "Earner 2",
        }
    )


@pytest.fixture
def containing():
    """Marginal intervals exclude the data, the others contain them."""
    rows = pd.MultiIndex.from_product(
        [["published", "file 1", "file 2"], chapter.PUBLISHED_NAMES],
        names=["file", "series"],
    )
    frame = pd.DataFrame(True, rows, chapter.QUANTITIES)
    frame.loc[(slice(None), "Marginal"), :] = False
    return frame


# The definition


def outside_of(values):
    return (np.abs(values - values[:, None]) > 0.2 * values[:, None]).astype(float)


def test_triples_by_definition_are_the_package_s():
    assert np.allclose(
        chapter.triple_weights(outside_of(SIX)), pp.pairwise_weights(SIX, order=3)
    )


def test_composition_gives_the_pairwise_weights():
    values = np.random.default_rng(1).lognormal(0, 0.5, 40)
    for y in (SIX, values, np.array([5.0])):
        weights = pp.pairwise_weights(y, alone=0)
        assert np.allclose(chapter.composed(outside_of(y)), weights)


def test_risk_by_definition_is_the_package_s():
    rng = np.random.default_rng(1)
    y = rng.normal(10, 8, 30)  # some are negative
    codes = np.repeat([0, 1, 2], 10)
    released = y * np.exp(rng.normal(0, 0.2, (4, 30)))
    groups = [np.flatnonzero(codes == code) for code in range(3)]
    assert np.allclose(
        chapter.risk_by_definition(y, released, groups),
        pp.identification_risk(y, released, patterns=codes),
    )


def test_pairwise_risks_are_symmetric_and_bounded():
    single = np.array([0.5, 0.4])
    assert chapter.symmetric_and_bounded(np.full((2, 2), 0.4), single)
    assert not chapter.symmetric_and_bounded(np.full((2, 2), 0.45), single)
    assert not chapter.symmetric_and_bounded(np.array([[0, 0.4], [0.3, 0]]), single)


def test_lines_by_pattern_explain_what_they_should():
    codes, x = np.repeat([0, 1], 50), np.tile(np.arange(50.0), 2)
    target = 3 * x + 1000 * codes
    assert chapter.explained(target, x, codes) == pytest.approx(1)
    assert chapter.explained(x % 2, x, codes) < 0.1


def test_seconds_by_order_times_every_size():
    y = np.arange(1.0, 21)
    codes = np.repeat([0, 1], 10)
    times = chapter.seconds_by_order(y, codes, (1, 3), np.random.default_rng(1))
    assert list(times) == ["n = 20", "n = 60"]
    assert list(times.index) == [1, 2, 3, 4]
    assert (times > 0).all(axis=None)


# Tables


def test_statistics_of_risks():
    before = np.array([0.1, 0.1, 0.2, 0.6, 0.3])
    risk = np.array([0.1, 0.4, 0.35, 0.6, 0.2])
    found = chapter.of_risks(risk, before)
    assert found["mean risk"] == pytest.approx(0.33)
    assert found["IQR"] == pytest.approx(0.2)
    assert found["largest"] == 0.6
    assert found["below .25 (%)"] == pytest.approx(40)
    assert (found["above .5"], found["up by more than .25"]) == (1, 1)
    assert found["mean risk of these"] == 0.4
    assert found["up by more than .1"] == 2
    assert found["largest rise"] == pytest.approx(0.3)
    assert np.isnan(chapter.of_risks(before, before)["mean risk of these"])


def test_releases_are_compared_with_others_one_by_one():
    before = {1: np.array([[0.1, 0.1], [0.5, 0.5]])}
    risk = {(1, "Marginal"): np.array([[0.1, 0.4], [0.5, 0.4]])}
    by_release = chapter.risks_by_release(risk, before)
    up = by_release["up by more than .25"]
    assert list(up[1, "Marginal"]) == [1, 0]
    long_run = chapter.risks_in_the_long_run(risk, before).loc[(1, "Marginal")]
    assert long_run["up by more than .25"] == 0
    assert long_run["largest rise"] == pytest.approx(0.1)


def test_percent_off_caps_incomes_at_the_largest_of_the_data():
    people = pp.datasets.consumer_expenditure(300, random_seed=1)
    study = SimpleNamespace(data=people, y=people["income"].to_numpy(float))
    assert np.allclose(chapter.percent_off(study, study.y), 0)
    enormous = study.y.copy()
    enormous[enormous.argmax()] *= 100
    assert np.allclose(chapter.percent_off(study, [enormous, study.y]), 0)
    assert np.allclose(chapter.percent_off(study, study.y * 0.9), -10)


def test_published_marginal_interval_of_the_coefficient_holds_the_data():
    containing = chapter.contain_the_estimate_of_the_data(
        {"published": chapter.PUBLISHED}
    )
    counts = containing.sum(axis=1)["published"]
    assert counts.to_dict() == {"Unweighted": 4, "Marginal": 1, "Pairwise": 2}
    assert containing.loc[("published", "Marginal"), "Earner 2"]


def test_published_and_ours_stand_beside_each_other():
    tables = {"published": chapter.PUBLISHED, "file 1": chapter.PUBLISHED + 1}
    tables["file 2"] = chapter.PUBLISHED + 2
    beside = chapter.beside_published(tables)
    assert list(beside) == ["published", "first file", "estimate, file 2"]
    assert list(beside.loc[("median", "Data")]) == [
        "50,225 [48,995, 52,000]",
        "50,226 [48,996, 52,001]",
        "50,227",
    ]


def test_two_dimensions_are_summed_up():
    cases = {"income": np.array([[0.5, 0.5, 0.25], [0.6, 0.6, 0.3]])}
    row = chapter.of_cases(cases, np.array([2, 4, 4])).loc["income"]
    assert row["mean risk"] == pytest.approx(1 - 1.25 / 3)
    assert row["alone in their ball (%)"] == pytest.approx(200 / 3)
    assert row["mean pairwise weight"] == pytest.approx(0.5)


# Numbers for the text


def test_names_of_numbers():
    frame = pd.DataFrame({"IQR": [0.1, 0.2]}, index=["Marginal", "Order 3"])
    assert chapter.by_series(frame, {"IQR": "iqr"}) == {
        "iqr-Marginal": 0.1,
        "iqr-Order-3": 0.2,
    }


def test_shares_of_the_gain(shares):
    errors = shares.abs()
    errors = changed(errors, "90% quantile", "Lifted", 13)
    errors = changed(errors, "90% quantile", "Whole file", 24)
    found = chapter.numbers_of_level(errors)
    assert found["Lifted-share-q90"] == pytest.approx(100, abs=0.1)
    assert found["Whole-file-share-q90"] == pytest.approx(0, abs=0.1)


def test_largest_incomes_and_intervals_that_hold_the_data(shares, containing):
    studies = {
        k: SimpleNamespace(y=np.array([1e6, k * 1e6]), z={"Marginal": np.array([k])})
        for k in (1, 2)
    }
    means = shares.groupby("series").mean()
    found = chapter.numbers_of_utility(means, containing, studies)
    assert (found["data-max"], found["tail-max"]) == (2, 2e-6)
    assert (found["contains-Marginal"], found["contains-Pairwise"]) == (0, 8)
    assert found["contains-all"] == 8


def test_weights_as_if_balls_were_independent():
    y = np.array([1.0, 2, 3, 4, -1])
    marginal = np.array([0.1, 0.3, 0.2, 0.6, 1])
    patterns = pd.DataFrame({"a": list("xxyyx"), "b": 1}, index=range(5, 10))
    risk = 1 - marginal
    expected = np.append(1 - risk[:4] * [0.8, 0.8, 0.6, 0.6], 1)
    found = chapter.independent(marginal, y, patterns)
    np.testing.assert_allclose(found, expected)
    found = chapter.independent(marginal, y)
    np.testing.assert_allclose(found, np.append(1 - risk[:4] * 0.7, 1))


def test_differences_to_rivals_come_with_their_errors(risks, shares):
    found = chapter.against_rivals(risks, shares.abs())
    assert list(found.index) == [f"less {name}" for name in chapter.RIVALS]
    gap, error = found.loc["less Marginal", "IQR"].split(" ± ")
    assert (gap, error) == ("-0.0100", "0.0000")
    gaps, error = chapter.difference(risks, "Pairwise", "Marginal", "IQR")
    one, two = (risks.xs(name, level="series")["IQR"] for name in chapter.WEIGHTED)
    expected = two.groupby("file").mean() - one.groupby("file").mean()
    np.testing.assert_allclose(gaps, expected)
    assert 0 < error < 1e-4


# Rules


def test_lower_needs_every_file_and_two_standard_errors(risks):
    assert chapter.lower(risks, "Pairwise", "Marginal", "IQR")
    assert not chapter.lower(risks, "Marginal", "Pairwise", "IQR")
    one_file = changed(risks, "IQR", "Pairwise", 0.17, files=[2])
    assert not chapter.lower(one_file, "Pairwise", "Marginal", "IQR")
    noise = 0.5 * np.random.default_rng(1).normal(size=len(risks))
    noisy = risks.assign(IQR=risks["IQR"] + noise - noise.mean())
    assert not chapter.lower(noisy, "Pairwise", "Marginal", "IQR")


def test_figures(risks):
    up = {
        "Unweighted": np.repeat([0.0, 0.2, 0.3], [4, 1, 6]),
        "Marginal": np.repeat([0.3, 0.6, 0.1], [4, 1, 6]),
    }
    claims = chapter.claims_of_figures(risks, [up])
    assert all(verdicts(claims).values())
    assert claims["P2-Fig08"][0] == (
        "5 records up by more than 0.25; 55% lower than under Unweighted; 1 above 0.5"
    )
    for record, value in ((0, 0.2), (4, 0.46), (10, 0.35)):
        other = up | {"Marginal": up["Marginal"].copy()}
        other["Marginal"][record] = value
        assert not verdicts(chapter.claims_of_figures(risks, [other]))["P2-Fig08"]
    for name, series, value in (
        ("IQR", "Pairwise", 0.2),
        ("IQR", "Unweighted", 0.4),
        ("mean risk", "Pairwise", 0.2),
        ("below .25 (%)", "Marginal", 60),
    ):
        other = changed(risks, name, series, value)
        assert not verdicts(chapter.claims_of_figures(other, [up]))["P2-Fig07"]
    for name, value in (
        ("up by more than .25", 60),
        ("mean risk of these", 0.4),
        ("above .5", 6),
    ):
        other = changed(risks, name, "Pairwise", value)
        assert not verdicts(chapter.claims_of_figures(other, [up]))["P2-Fig09"]


def test_tables(shares, containing):
    def holds(shares, containing):
        return verdicts(chapter.claims_of_tables(shares.abs(), shares, containing))

    assert all(holds(shares, containing).values())
    for name, claim in (
        ("mean", "P2-Tab04"),
        ("median", "P2-Tab04"),
        ("90% quantile", "P2-Tab05"),
        ("Earner 2", "P2-Tab05"),
    ):
        assert not holds(changed(shares, name, "Pairwise", 40), containing)[claim]
    below = changed(shares, "mean", "Marginal", -11)
    assert not holds(below, containing)["P2-Tab04"]
    inside = containing.copy()
    inside.loc[("file 2", "Marginal"), ["median", "90% quantile"]] = True
    assert not any(holds(shares, inside).values())
    inside = containing.copy()
    inside.loc[("published", "Marginal"), :] = True
    assert all(holds(shares, inside).values())


@pytest.fixture
def definitions():
    outside = outside_of(SIX)
    pairs = outside @ outside.T / 6
    total = pairs.sum(axis=1) - pairs.diagonal()
    by_hand = pd.DataFrame(
        {"sum of the pairwise risks": total, "pairwise weight": 1 - total / 5},
        index=SIX,
    )
    return {
        "by_hand": by_hand,
        "pairs": pairs,
        "equal": {"confidential": True, "two noisy files": True},
        "bounded": [True, True],
        "log_density": (1.5, 1.5),
        "pairwise": np.array([0.2, 1]),
    }


def test_definitions(definitions):
    claims = chapter.claims_of_definitions(**definitions)
    assert all(verdicts(claims).values())
    assert claims["P2-Eq12"][0] == "pair of 30 and 90: 1/2"

    def fails(**other):
        found = verdicts(chapter.claims_of_definitions(**definitions | other))
        return {name for name, holds in found.items() if not holds}

    assert fails(bounded=[True, False]) == {"P2-Eq11"}
    unequal = {"confidential": True, "two noisy files": False}
    assert fails(equal=unequal) == {"P2-Eq11", "P2-Eq12", "P2-Eq13", "P2-EqU02"}
    assert fails(pairs=definitions["pairs"] / 2) == {"P2-Eq12"}
    by_hand = definitions["by_hand"]
    assert fails(by_hand=by_hand.assign(**{"sum of the pairwise risks": 1})) == {
        "P2-Eq14"
    }
    assert fails(by_hand=by_hand + 0.1) == {"P2-Eq13", "P2-Eq14"}
    assert fails(log_density=(1.5, 1.6)) == {"P2-Eq15"}
    assert fails(pairwise=np.array([0.2, 1.1])) == {"P2-EqU03"}


def test_synthesis():
    rng = np.random.default_rng(1)
    y = rng.normal(50, 10, 400)
    names = chapter.PUBLISHED_NAMES
    study = SimpleNamespace(
        y=y,
        z={name: np.tile(y, (20, 1)) for name in names},
        risk={name: np.full(400, 0.2) for name in ("Data", *names)},
    )
    half = 1.96 * y.std() / 20
    findings = {
        "again": np.tile(y, (20, 1)),
        "risk_again": np.full(400, 0.2),
        "sizes": [3, 4],
        "interval": pd.Series({"low": 50 - half, "high": 50 + half}),
    }

    def fails(study=study, **other):
        found = verdicts(chapter.claims_of_synthesis(study, **findings | other))
        return {name for name, holds in found.items() if not holds}

    assert fails() == set()
    assert fails(again=np.tile(y + 1, (20, 1))) == {"P2-AlgU2"}
    assert fails(risk_again=np.full(400, 0.21)) == {"P2-AlgU2"}
    assert fails(sizes=[3, 3]) == {"P2-AlgU2"}
    wide = pd.Series({"low": 50 - 2 * half, "high": 50 + 2 * half})
    assert fails(interval=wide) == {"P2-Set06"}
    del study.risk["Data"]
    assert fails() == {"P2-Set05"}


def test_risks(risks):
    claims = chapter.claims_of_risks(risks)
    assert all(verdicts(claims).values())
    assert "by chance alone 70" in claims["P2-Claim10"][0]

    def fails(name, value):
        other = changed(risks, name, "Pairwise", value)
        found = verdicts(chapter.claims_of_risks(other))
        return {claim for claim, holds in found.items() if not holds}

    assert fails("IQR", 0.17) == {"P2-Claim04"}
    assert fails("mean risk", 0.2) == {"P2-Claim05"}
    assert fails("largest", 0.6) == {"P2-Claim06"}
    assert fails("99% quantile", 0.5) == {"P2-Claim06"}
    assert fails("above .5", 4.5) == {"P2-Claim07"}
    assert fails("below .25 (%)", 60) == {"P2-Claim09"}
    assert fails("up by more than .25", 55) == {"P2-Claim10"}
    assert fails("mean risk of these", 0.4) == {"P2-Claim10"}


def test_intervals(containing):
    claims = chapter.claims_of_intervals(containing)
    assert verdicts(claims) == {"P2-Claim13": True, "P2-Claim14": True}
    assert claims["P2-Claim13"][0] == "published: 4 of 4 exclude; ours by file: 4, 4"
    one = containing.copy()
    one.loc[("published", "Marginal"), "Earner 2"] = True
    one.loc[("file 1", "Pairwise"), "mean"] = False
    claims = chapter.claims_of_intervals(one)
    assert verdicts(claims) == {"P2-Claim13": False, "P2-Claim14": False}
    assert claims["P2-Claim14"][0] == "published: 4 of 4 contain; ours by file: 3, 4"


def test_tail_and_balance(risks, shares):
    def holds(risks, shares):
        errors = shares.abs()
        tail = chapter.claim_of_the_tail(risks, errors, shares)
        return verdicts(tail | chapter.claim_of_balance(risks, errors, shares))

    assert holds(risks, shares) == {"P2-Claim15": True, "P2-Claim38": True}
    far = changed(shares, "90% quantile", "Pairwise", -40)
    assert not any(holds(risks, far).values())
    far = changed(shares, "97.5% quantile", "Pairwise", -40)
    assert holds(risks, far) == {"P2-Claim15": False, "P2-Claim38": True}
    far = changed(shares, "median", "Pairwise", 10)
    assert holds(risks, far) == {"P2-Claim15": True, "P2-Claim38": False}
    higher = changed(risks, "mean risk", "Pairwise", 0.25)
    assert not any(holds(higher, shares).values())
    for name in ("99% quantile", "largest"):
        tail = changed(risks, name, "Pairwise", 0.9)
        assert holds(tail, shares)["P2-Claim38"] is False


def test_triples_must_improve_little_and_take_longer():
    index = pd.MultiIndex.from_product(
        [FILES, ["Marginal", "Pairwise", "Order 3"]], names=["file", "series"]
    )

    def holds(third, triples_equal=True, ratio=3.0):
        expected = pd.DataFrame({"up by more than .1": [30, 10, third] * 3}, index)
        (claim,) = chapter.claim_of_triples(expected, triples_equal, ratio).values()
        return claim

    assert holds(9) == (
        "rises by more than 0.1 fall by 20.0, then 1.0; time 3.0 times that of pairs",
        True,
    )
    assert not holds(0)[1]
    assert not holds(9, triples_equal=False)[1]
    assert not holds(9, ratio=1.0)[1]


def test_dependence_must_beat_what_knows_of_no_pair(risks):
    index = pd.MultiIndex.from_product(
        [FILES, ["Marginal", "Pairwise"]], names=["file", "series"]
    )
    fits = pd.DataFrame({"sd of the weights": [0.09, 0.07] * 3}, index)

    def holds(risks, fits=fits):
        return verdicts(chapter.claim_of_dependence(risks, fits))["P2-Claim17"]

    assert holds(risks)
    for rival in ("Own pattern", "Whole file"):
        assert not holds(changed(risks, "IQR", rival, 0.15))
        assert not holds(changed(risks, "up by more than .25", rival, 30))
    assert holds(changed(risks, "IQR", "Lifted", 0.15))  # which is fitted to Pairwise
    assert not holds(risks, fits[::-1].set_axis(index))


def test_composition():
    def holds(lift, never_below=True, composition_holds=True):
        claims = chapter.claim_of_composition(
            np.array(lift), never_below, composition_holds
        )
        return verdicts(claims)["P2-Claim37"]

    assert holds([0.1, 0.2])
    assert not holds([-0.1, 0.2])
    assert not holds([0.1, 0.2], never_below=False)
    assert not holds([0.1, 0.2], composition_holds=False)


def test_later_work():
    radius = pd.DataFrame(
        {"10%": [0.1, 0.2], "20%": [0.2, 0.3], "30%": [0.3, 0.4]},
        index=["mean pairwise weight", "mean risk, Unweighted"],
    )
    names = ["income", "income and spending, box", "income and spending, ellipse"]
    two = pd.DataFrame({"mean pairwise weight": [0.3, 0.1, 0.08]}, index=names)
    by_record = {names[0]: np.array([0.3, 0.2]), names[1]: np.array([0.1, 0.2])}

    def holds(radius=radius, by_record=by_record, as_in_package=True):
        return verdicts(
            chapter.claims_of_later_work(radius, two, by_record, as_in_package)
        )

    assert holds() == {"P2-Fut1": True, "P2-Fut2": True}
    for row in radius.index:
        flat = radius.copy()
        flat.loc[row, "30%"] = flat.loc[row, "20%"]
        assert not holds(flat)["P2-Fut1"]
    higher = by_record | {names[1]: np.array([0.1, 0.3])}
    assert not holds(by_record=higher)["P2-Fut2"]
    assert not holds(as_in_package=False)["P2-Fut2"]


def test_a_release_is_of_one_chain():
    z = np.arange(60).repeat(3).reshape(60, 3)  # 12 files of each of five chains
    dealt = chapter.of_one_chain(z, 10)
    for k in range(10):
        release = dealt[k::10, 0]
        assert len(release) == 6
        assert set(release // 12) == {k // 2}
    assert sorted(dealt[:, 0]) == list(range(60))
