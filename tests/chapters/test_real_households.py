from types import SimpleNamespace

import companion
import households_rules as rules
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import real_households as study
import statsmodels.api as sm
from replication import FITS

import pseudopost as pp

MEDIAN = 50_000


@pytest.fixture(scope="module")
def file():
    "A made-up quarter of 600 households, in 20 clusters of two weights."
    rng = np.random.default_rng(1)
    stand_in = study.stand_in(step=10)
    n = len(stand_in.of.y)
    survey = pd.DataFrame(
        {
            "weight": rng.choice([10_000.0, 30_000.0], n),
            "cluster": rng.integers(20, size=n).astype(str),
            "tenure": rng.choice([1, 2, 4, 5], n),
            "top-coded": stand_in.of.y > 100_000,
        }
    )
    return stand_in._replace(survey=survey)


def blurred(y, sd, seed, m=2 * FITS):
    "Incomes times a factor, another in each file."
    return y * np.exp(np.random.default_rng(seed).normal(0, sd, (m, len(y))))


@pytest.fixture(scope="module")
def released(file):
    "Releases in place of fits, each more blurred than the one before."
    y = file.of.y
    z = {name: blurred(y, 0.1 * (k + 1), k) for k, name in enumerate(study.NAMES)}
    weights = {name: np.full(len(y), 1 - 0.1 * k) for k, name in enumerate(z)}
    risk = {name: rules.risk(file.of, each) for name, each in z.items()}
    return SimpleNamespace(z=z, weights=weights, risk=risk)


@pytest.mark.parametrize("name", study.QUARTERS)
class TestQuarter:
    def test_rows_stay_together(self, name):
        quarter = study.quarter(name)
        people, y = quarter.of
        assert len(people) == len(y) == len(quarter.survey)
        assert (y > 0).all()
        assert "income" not in people
        assert not (people == "Suppressed").any(axis=None)
        # Each kept household has the weight that stands in its row of the file.
        raw = pd.read_csv(study.DATA / f"{study.QUARTERS[name]}.csv.gz")
        kept = (quarter.all["income"] > 0) & (quarter.all["region"] != "Suppressed")
        kept &= quarter.all["cbsa"] != "Suppressed"
        np.testing.assert_array_equal(quarter.survey["weight"], raw["FINLWT21"][kept])
        np.testing.assert_array_equal(y, raw["FINCBTAX"][kept])
        assert quarter.survey["tenure"].isin(range(1, 7)).all()

    def test_every_so_many_rows(self, name):
        some = study.quarter(name, step=11)
        assert len(some.all) == len(range(0, len(study.quarter(name).all), 11))
        assert len(some.of.y) == len(some.survey)


def test_only_2014_has_flags():
    flagged = [("top-coded" in study.quarter(q).survey) for q in ("2016Q1", "2014Q1")]
    assert flagged == [False, True]


def test_shared_values():
    y = np.array([5.0] * 10 + [6.0] * 9 + [7.0])
    np.testing.assert_array_equal(study.shared(y), y == 5)


def test_description(file):
    found = study.described(file)
    assert found["records"] == 621
    assert found["kept"] == len(file.of.y)
    assert found["median"] == np.median(file.of.y)
    # One regression of all predictors, as statsmodels does it.
    X = sm.add_constant(pd.get_dummies(file.of.people, drop_first=True, dtype=float))
    fit = sm.OLS(np.log(file.of.y + rules.SHIFT), X).fit()
    assert found["residual sd of the logarithm"] == pytest.approx(fit.resid.std(ddof=0))


def test_a_larger_shift_takes_off_the_lower_tail(file):
    table = study.shifts(file.of, (1, 1000, 10_000))
    assert table.index.to_list() == ["1", "1,000", "10,000"]
    assert table["residual sd"].is_monotonic_decreasing
    assert table["skewness"].is_monotonic_increasing
    assert table.loc["1,000", "residual sd"] == pytest.approx(
        study.left_by_regression(file.of).std()
    )


def test_what_is_left_out():
    redundant, said = study.left_out(study.quarter("2016Q1", step=20).of)
    assert "urban_type=Rural" in redundant
    assert "urban_type=Rural" in said[0]


@pytest.fixture(scope="module")
def found(file, released):
    "Risks of the made-up releases."
    return study.risks(file.of, released)


class TestRisks:
    def test_risks_are_those_of_the_rules(self, file, released, found):
        values, errors = found
        own = rules.risk(file.of, file.of.y, "P1")
        assert values.loc["Data", ("P1's intruder", "mean")] == own.mean()
        assert errors.loc["Data"].isna().all()
        each = [rules.risk(file.of, z) for z in np.split(released.z["Scalar"], FITS)]
        for label, measure in {"mean": np.mean, "highest 1%": rules.highest}.items():
            of_chains = [measure(one) for one in each]
            cell = "Scalar", ("P2's intruder", label)
            assert values.loc[cell] == pytest.approx(np.mean(of_chains))
            error = np.std(of_chains, ddof=1) / np.sqrt(FITS)
            assert errors.loc[cell] == pytest.approx(error)

    def test_a_shuffle_tells_the_pattern_alone(self, file, found):
        "The chance to draw a close income, times the share of the others."
        y, patterns = (
            file.of.y,
            file.of.people.groupby(rules.KNOWN["P2"], observed=True),
        )
        expected = np.empty(len(y))
        for rows in patterns.indices.values():
            close = np.abs(y[rows] - y[rows, None]) <= rules.RADIUS * y[rows, None]
            share = close.mean(axis=1)
            lone = len(rows) == 1
            expected[rows] = 1.0 if lone else share * (1 - share)
        mean = found[0].loc["Shuffled", ("P2's intruder", "mean")]
        assert mean == pytest.approx(expected.mean(), abs=0.003)

    def test_written_with_errors(self, found):
        table = study.with_errors(*found)
        value, error = (each.loc["Vector"].iloc[0] for each in found)
        assert table.loc["Vector"].iloc[0] == f"{value:.3f}\u00a0±\u00a0{error:.3f}"
        assert table.loc["Data"].iloc[0] == f"{found[0].loc['Data'].iloc[0]:.3f}"

    def test_numbers_of_the_text(self, found):
        numbers = study.risk_numbers({"2016Q1": found})
        mean = found[0]["P2's intruder", "mean"]
        assert numbers["Marginal-P2-16"] == mean["Marginal"]
        # All the way is 100.
        way = mean["Data"] - mean["Shuffled"]
        left = way * (1 - numbers["gone-16"] / 100)
        assert mean["Shuffled"] + left == pytest.approx(mean["Unweighted"])
        after = mean["Unweighted"] - left * numbers["won-16"] / 100
        assert after == pytest.approx(mean["Marginal"])
        of_p1 = found[0]["P1's intruder", "mean"]
        left = of_p1["Unweighted"] * (1 - numbers["vector-16"] / 100)
        assert left == pytest.approx(of_p1["Vector"])


def test_patterns_stand_for_households(file):
    table = study.sampling_protects(file)
    groups = file.of.people.groupby(rules.KNOWN["P2"], observed=True)
    assert table.loc["P2", "patterns"] == groups.ngroups
    assert table.loc["P1", "patterns of one record"] > 0
    smallest = min(file.survey.loc[rows.index, "weight"].sum() for _, rows in groups)
    assert table.loc["P2", "smallest pattern stands for"] == smallest
    alone, stands_for = [], []
    for _, rows in groups:
        own = file.of.y[rows.index]
        for y in own:
            close = np.abs(own - y) <= rules.RADIUS * y
            alone.append(close.sum() == 1)
            stands_for.append(file.survey.loc[rows.index[close], "weight"].sum())
    said = table.loc["P2", "alone with their income (%)"]
    assert said == pytest.approx(100 * np.mean(alone))
    said = table.loc["P2", "fewest with a close income"]
    assert said == pytest.approx(min(stands_for))


def test_several_releases_say_more_than_one(file):
    y = file.of.y
    z = {name: blurred(y, 0.3, k, m=12) for k, name in enumerate(study.NAMES)}
    table = study.panel(file.of, SimpleNamespace(z=z), interviews=4)
    assert list(table.index) == ["Regression", *study.NAMES]
    for name in study.NAMES:
        near = np.abs(z[name] - y) <= rules.RADIUS * y
        assert table.loc[name, "one release"] == pytest.approx(100 * near.mean())
        four = [rules.logs(z[name][k : k + 4]).mean(axis=0) for k in (0, 4, 8)]
        four = np.exp(four) - rules.SHIFT
        near = np.abs(four - y) <= rules.RADIUS * y
        assert table.loc[name, "mean of 4"] == pytest.approx(100 * near.mean())
    # Noise that is independent from release to release is averaged away.
    releases = table.drop("Regression")
    assert (releases["mean of 4"] > releases["one release"] + 10).all()


def test_a_regression_predicts_without_releases(file):
    y = file.of.y
    left = study.left_by_regression(file.of)
    predicted = (y + rules.SHIFT) / np.exp(left) - rules.SHIFT
    near = np.abs(predicted - y) <= rules.RADIUS * y
    made_up = SimpleNamespace(z={name: y[None].repeat(4, 0) for name in study.NAMES})
    table = study.panel(file.of, made_up)
    assert table.loc["Regression", "one release"] == pytest.approx(100 * near.mean())
    assert (table.loc[[*study.NAMES]] == 100).all(axis=None)


def test_survey_weights_of_their_own(file):
    weight = file.survey["weight"].to_numpy(copy=True)
    weight[:5] = [1.0, 2.0, 2.0, 3.0, 3.0]
    survey = file.survey.assign(weight=weight)
    found = study.survey_numbers({"2016Q1": file._replace(survey=survey)})
    assert found["own-weight-16"] == pytest.approx(100 / len(weight))


def test_flags_and_the_imitation(file):
    found = study.as_top_coded(file, share=0.025)
    y = file.of.y
    assert found["flagged (%)"] == pytest.approx(100 * np.mean(y > 100_000))
    assert found["flagged, of those above P1's threshold (%)"] == 100
    assert found["smallest income flagged"] == y[y > 100_000].min()
    below = np.mean(y[y > 100_000] <= np.quantile(y, 0.975))
    assert found["below P1's threshold, of the flagged (%)"] == pytest.approx(
        100 * below
    )


def test_predictive_check(file):
    z = np.tile(file.of.y, (4, 1))
    table = study.predictive_check({"made": file}, {"made": z})
    data, model = table["made", "data"], table["made", "Unweighted"]
    for feature in study.FEATURES:
        assert model[feature].split(" (")[0] == data[feature]
    # Half a dollar more on every value, and no atom is lost by rounding.
    again = study.predictive_check({"made": file}, {"made": z + 0.4})
    atoms = f"shared by {study.SHARED_BY} and more (%)"
    assert again.loc[atoms, ("made", "Unweighted")] == model[atoms]


def test_weighted_quantile():
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0])
    levels = {0.2: 1, 0.25: 1, 0.26: 2, 0.75: 2, 0.76: 3, 1.0: 3}
    for level, value in levels.items():
        assert study.weighted_quantile(values, weights, level) == value


class TestEstimates:
    def test_mean_and_its_error_by_hand(self, file):
        "Linearised, with clusters drawn with replacement: sums of weighted residuals."
        value, variance = study.estimates(file, file.of.y)[
            "mean income (1,000 dollars)"
        ]
        weight, y = file.survey["weight"], file.of.y / 1000
        mean = np.average(y, weights=weight)
        assert value == pytest.approx(mean)
        totals = (weight * (y - mean)).groupby(file.survey["cluster"]).sum()
        G, n = len(totals), len(y)
        small = G / (G - 1) * (n - 1) / (n - 1)
        expected = small * (totals**2).sum() / weight.sum() ** 2
        assert variance == pytest.approx(expected)

    def test_shares(self, file):
        found = study.estimates(file, file.of.y)
        weight, y = file.survey["weight"].to_numpy(), file.of.y
        median = study.weighted_quantile(y, weight, 0.5)
        poor = np.average(100 * (y < median / 2), weights=weight)
        assert found["below half of the median (%)"][0] == pytest.approx(poor)
        owner, above = file.survey["tenure"] <= 3, y > median
        points = 100 * (
            np.average(owner[above], weights=weight[above])
            - np.average(owner[~above], weights=weight[~above])
        )
        label = "owners, above less below the median (points)"
        assert found[label][0] == pytest.approx(points)

    def test_coefficient_is_that_of_the_book(self, file):
        "With equal weights it is the regression that the other chapters use."
        from companion import earner

        equal = file._replace(survey=file.survey.assign(weight=1.0))
        coefficient = study.estimates(equal, file.of.y)["not an earner (1,000 dollars)"]
        expected, _ = earner(file.of.people, file.of.y)
        assert 1000 * coefficient[0] == pytest.approx(expected)

    def test_intervals_combine_files(self, file, released):
        found = study.intervals(file, released, step=5)
        assert len(found) == 4
        for of_data in found.values():
            assert [*of_data] == ["Data", *study.NAMES]
            assert all(low < value < high for value, low, high in of_data.values())
        label = "mean income (1,000 dollars)"
        each = [study.estimates(file, z)[label] for z in released.z["Vector"][::5]]
        combined = pp.combine_partially_synthetic(*np.transpose(each))
        assert found[label]["Vector"][0] == pytest.approx(combined.estimate)


def test_intervals_that_contain_the_estimate():
    intervals = {name: (2.0, 1.5, 2.5) for name in study.NAMES}
    high = {name: (4.0, 3.5, 4.5) for name in study.NAMES}
    data = {"Data": (2.0, 0.0, 9.0)}
    found = study.contained({"2016Q1": {"a": data | intervals, "b": data | high}})
    assert (found["2016Q1"] == 1).all()
    numbers = study.estimate_numbers(
        {"2016Q1": dict(zip("abcd", [data | high] * 4, strict=True))}
    )
    assert numbers["mean-low-Vector-16"] == 3.5
    assert numbers["owners-Data-16"] == 2


def test_estimates_off_the_data(file):
    z = np.tile(1.1 * file.of.y, (2 * FITS, 1))
    off, error = study.off_the_data(file.of, z)
    capped = np.minimum(1.1 * file.of.y, file.of.y.max())
    assert off[0] == pytest.approx(100 * (capped.mean() / file.of.y.mean() - 1))
    assert off[1:3] == pytest.approx(10)
    assert error == pytest.approx(0, abs=1e-9)
    z[-2:] *= 1.2
    assert (study.off_the_data(file.of, z)[1] > 0.5).all()


def test_beside_the_published_estimates(file):
    of_data = dict.fromkeys(study.PUBLISHED_NAMES, np.tile(file.of.y, (2 * FITS, 1)))
    of_less = {name: 0.9 * z for name, z in of_data.items()}
    releases = {"2016Q1": of_data, "2014Q1": of_less, "stand-in": of_less}
    studies = {name: SimpleNamespace(z=z) for name, z in releases.items()}
    rows, values = study.beside_published(dict.fromkeys(releases, file), studies)
    assert rows.loc[("Marginal", "published"), "90% quantile"] == "-12.6"
    assert rows.loc[("Pairwise", "2016Q1"), "median"] == "+0.0 ± 0.0"
    assert rows.loc[("Pairwise", "stand-in"), "mean"] == "-10.0 ± 0.0"
    found = study.published_numbers(values)
    assert found["off-q90-Pairwise-published"] == pytest.approx(-5.163, abs=1e-3)
    assert found["off-earner-Marginal-16"] == 0
    # P2's change is nearer to none than to a tenth less in nine of twelve.
    assert (found["nearer-16"], found["nearer-14"]) == (9, 0)


def test_risks_beside_published(file, released):
    files, studies = {"2016Q1": file}, {"2016Q1": released}
    rows, values = study.risks_beside_published(files, studies)
    assert rows.loc[("all", "Unweighted"), "published"] == "0.250"
    assert rows.loc[("all", "Marginal"), "published"] == ""
    assert values.loc[("riskiest", "Unweighted"), "published"] == 0.06378
    # The ten riskiest and the ten largest, one record and one release after the other.
    of, y = file.of, file.of.y
    in_file = study.rules.risk(of, y, "P2")
    for which, order in (("riskiest", in_file), ("largest", y)):
        ten = sorted(range(len(y)), key=lambda i: (-order[i], i))[:10]
        risk = study.rules.risk(of, released.z["Marginal"], "P2")
        expected = np.mean([risk[i] for i in ten])
        assert values.loc[(which, "Marginal"), "2016Q1"] == pytest.approx(expected)
    every = study.rules.risk(of, released.z["Unweighted"], "P2").mean()
    assert values.loc[("all", "Unweighted"), "2016Q1"] == pytest.approx(every)
    found = study.published_risk_numbers(files, values)
    assert found["ir-riskiest-Unweighted-published"] == 0.06378
    assert "ir-all-Marginal-published" not in found
    assert found["ten-low-published"] == 6
    riskiest = sorted(range(len(y)), key=lambda i: (-in_file[i], i))[:10]
    assert found["ten-low-16"] == sum(y[i] <= 50_000 for i in riskiest)
    assert found["hits"] == pytest.approx(12.756)
    assert found["hits-sd"] == pytest.approx(3.572, abs=1e-3)


def test_owners_by_tenths(file):
    survey = file.survey.assign(weight=1.0)
    equal = file._replace(survey=survey)
    found = study.owners(equal, file.of.y)
    assert len(found) == 10
    order = np.argsort(file.of.y, kind="stable")
    owner = survey["tenure"].isin(study.OWNERS).to_numpy()[order]
    assert found[0] == pytest.approx(owner[: len(owner) // 10].mean(), abs=0.02)
    # A release of other values in the same order gives the same curve.
    np.testing.assert_allclose(study.owners(equal, 2 * file.of.y), found)


def test_figures(file, released):
    for draw, given, axes in (
        (study.draw_files, (dict.fromkeys("abc", file),), 2),
        (study.draw_weights, (file.of, released), 3),
        (study.draw_risks, ({"a": file}, {"a": released}), 1),
        (study.draw_estimates, (study.intervals(file, released),), 4),
        (study.draw_owners, (file, released), 1),
    ):
        draw(*given)
        assert len(plt.gcf().axes) == axes
        plt.close("all")


def test_numbers_of_the_text(file, released):
    found = study.file_numbers({"2016Q1": file, "stand-in": file})
    assert found["low-16"] == found["low-in"] == 100 * np.mean(file.of.y <= 10_000)
    table = study.sampling_protects(file)
    numbers = study.sampling_numbers({"2014Q1": table})
    assert numbers["patterns-P2-14"] == table.loc["P2", "patterns"]
    assert numbers["close-P1-14"] == table.loc["P1", "fewest with a close income"]
    several = study.panel(file.of, released, interviews=2)
    numbers = study.panel_numbers({"2016Q1": several})
    assert numbers["one-release-16"] == several.loc["Unweighted", "one release"]
    assert numbers["regression-16"] == several.loc["Regression", "mean of 2"]
    assert numbers["several-16"] == several.loc["Unweighted", "mean of 2"]


def test_numbers_of_fits():
    fitted = pd.DataFrame(
        {
            "mean weight": np.arange(12) / 12,
            "draws a chain": 400,
            "largest R-hat": 1 + np.arange(12) / 1000,
            "smallest bulk ESS": 450 + np.arange(12),
            "components": 2 + np.arange(12) / 4,
        },
        index=pd.MultiIndex.from_product([["2016Q1", "stand-in"], study.NAMES]),
    )
    numbers = study.fit_numbers(fitted)
    assert numbers["smallest-ess"] == 450
    assert numbers["weight-Marginal-in"] == 8 / 12


def test_numbers_of_findings():
    "Only seen against not seen counts, in one quarter or in both."
    names = [finding.name for finding in rules.FINDINGS]

    def table(*first):
        decisions = [*first, *["seen"] * (len(names) - len(first))]
        return pd.DataFrame(
            {"measure": np.arange(len(names)), "decision": decisions}, index=names
        )

    looked = {
        "2016Q1": table("not seen", "undecided", "seen", "not seen"),
        "2014Q1": table("not seen", "seen", "seen", "seen"),
        "stand-in": table("seen", "not seen", "undecided", "not seen"),
    }
    numbers = study.finding_numbers(looked)
    assert numbers["differ"] == 3
    assert numbers["tail-16"] == 50  # the measure is the share below, above a half
    assert numbers["rises-14"] == 7


def test_scalar_is_one_where_unweighted_has_no_higher_risk(file, capsys, monkeypatch):
    monkeypatch.setattr(study.pp, "match_scalar_weight", None)  # must not be called
    blurs = {"Unweighted": 0.8, "Pairwise": 0.3}  # the second is the riskier
    z = {name: blurred(file.of.y, sd, seed=3) for name, sd in blurs.items()}
    s = SimpleNamespace(
        z=z,
        risk={},
        weights={"Unweighted": np.ones(len(file.of.y))},
        fits={"Unweighted": "a fit"},
        synthesize=lambda name, **release: z["Unweighted"],
        risk_of=lambda released: rules.risk(file.of, released),
    )
    study._add_scalar(file.of, s, 0.2, {"n_datasets": 2 * FITS})
    assert (s.weights["Scalar"] == 1).all()
    assert s.fits["Scalar"] == "a fit"
    assert "Scalar: 1.000, found in 0 steps" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pseudopost.ConvergenceWarning")
def test_six_synthesizers_by_the_rules(capsys, monkeypatch):
    monkeypatch.setattr(companion, "PROFILE", "class")  # no fit is made once more
    of = study.stand_in(step=40).of
    s = study.study_of(of, {"draws": 20, "tune": 20})
    assert [*s.z] == [*study.NAMES]
    assert all(z.shape == (20 * FITS, len(of.y)) for z in s.z.values())
    assert (s.weights["Unweighted"] == 1).all()
    assert len(set(s.weights["Scalar"])) == 1
    assert (s.weights["Pairwise"] >= s.weights["Marginal"] - 1e-12).all()
    lifted = s.weights["Lifted"] < 1  # a line, but for what is cut off at 1
    line = np.corrcoef(s.weights["Lifted"][lifted], s.weights["Marginal"][lifted])
    assert line[0, 1] == pytest.approx(1)
    own = rules.risk(of, s.synthesize("Unweighted", 20), "P1")
    factor = 1 + 0.5 / (1 + np.exp(-0.8 * (20 * own - 10)))  # P1, Eq 9
    np.testing.assert_allclose(s.weights["Vector"], np.maximum(0, 1 - factor * own))
    assert "Scalar: " in capsys.readouterr().out
    table = study.convergence(s)
    assert (table["draws a chain"] == 20).all()
    assert set(study.warned(s)) <= set(study.NAMES)
    values, errors = study.by_component(of, s)
    assert (
        values.loc["Unweighted", "density"] == values.loc["Unweighted"].iloc[1]
    ).all()
    numbers = study.component_numbers({"stand-in": (values, errors)})
    share = s.model.synthesize(
        study.blind(s.fits["Pairwise"]), 20 * FITS, 2, allocation="weighted"
    )
    expected = np.mean([rules.risk(of, z).mean() for z in np.split(share, FITS)])
    assert numbers["by-Pairwise-share-in"] == pytest.approx(expected)
    largest = ("Pairwise", "share"), "largest income (millions)"
    assert values.loc[largest] == float(share.max()) / 1e6
    assert np.isnan(errors.loc[largest])
    own = s.fits["Pairwise"]["constant_data"]["weights"]  # were not changed
    np.testing.assert_array_equal(own, s.weights["Pairwise"])
