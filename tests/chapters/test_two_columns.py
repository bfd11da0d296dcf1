import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import two_columns as study
import your_own_data as own
from by_hand import made_by_hand
from companion import standard_error
from scipy.special import expit

import pseudopost as pp

LEVELS = study.LEVELS


def made(n=400, seed=1):
    "Persons, the place of their level, and an amount that rises with it."
    rng = np.random.default_rng(seed)
    people = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": rng.normal(size=n)})
    eta = (people["sex"] == "m") - 0.5 * people["age"]
    up_to = expit(np.array([-1.0, 0, 1, 2]) - eta.to_numpy()[:, None])
    level = np.sum(rng.uniform(size=(n, 1)) > up_to, axis=1)
    return people, level, np.exp(rng.normal(4 + 0.5 * level, 0.3))


@pytest.fixture(scope="module")
def release():
    "A file, and 20 releases that move some of its levels and all amounts."
    _, level, y = made()
    rng = np.random.default_rng(2)
    moved = np.clip(level + rng.integers(-1, 2, (20, len(y))), 0, 4)
    z = y * np.exp(rng.normal(0, 0.2, (20, len(y))))
    file = {"conditions": LEVELS[level], "expenditure": y}
    return file, {"conditions": LEVELS[moved], "expenditure": z}


class TestOrderedSynthesizer:
    def test_density_is_that_of_the_levels(self):
        people, level, _ = made()
        synthesizer = study.OrderedSynthesizer(level, people)
        cut, slope = np.array([-1.0, 0.2, 1, 3]), np.array([0.4, -0.7])
        fit = made_by_hand(synthesizer, cut=cut[None, None], slope=slope[None, None])
        found = synthesizer.log_likelihood(fit).to_numpy()[0, 0]
        X = np.column_stack([people["sex"] == "m", people["age"]])
        up_to = expit(np.append(cut, np.inf) - (X @ slope)[:, None])
        shares = np.diff(up_to, prepend=0)
        np.testing.assert_allclose(
            found, np.log(shares[np.arange(len(level)), level]), rtol=1e-9
        )

    def test_levels_are_drawn_with_their_probabilities(self):
        people, level, _ = made(50)
        synthesizer = study.OrderedSynthesizer(level, people)
        cut, slope = np.array([-1.0, 0.2, 1, 3]), np.array([0.4, -0.7])
        rng = np.random.default_rng(3)
        X = synthesizer.design.encode(people.assign(age=people["age"] + 1))
        given = {"cut": cut, "slope": slope}
        drawn = np.stack([synthesizer.draw_dataset(given, rng, X) for _ in range(4000)])
        up_to = expit(cut - (X[:, 1:] @ slope)[:, None])
        for k in range(4):
            error = np.sqrt(up_to[:, k] * (1 - up_to[:, k]) / 4000)
            found = np.mean(drawn <= k, axis=0)
            assert (abs(found - up_to[:, k]) < 4.5 * error + 1e-9).all()
        assert drawn.max() == 4

    @pytest.mark.slow
    def test_fit_finds_what_made_the_levels(self):
        people, level, _ = made(3000)
        synthesizer = study.OrderedSynthesizer(level, people)
        fit = synthesizer.fit(draws=200, tune=300, random_seed=1, progressbar=False)
        assert fit.attrs["not_converged"] == ""
        posterior = fit["posterior"].to_dataset()
        for name, true in {"slope": [1, -0.5], "cut": [-1, 0, 1, 2]}.items():
            mean = posterior[name].mean(("chain", "draw"))
            sd = posterior[name].std(("chain", "draw"))
            assert (abs(mean - true) < 3.5 * sd).all()
        z = synthesizer.synthesize(fit, 20, random_seed=1).to_numpy()
        own = np.bincount(level) / len(level)
        np.testing.assert_allclose(np.bincount(z.ravel()) / z.size, own, atol=0.02)


def test_survey_is_the_example_of_your_own_data():
    people, level, y = study.survey()
    with tempfile.TemporaryDirectory() as folder:
        table = own.read_as_text(own.write_example(Path(folder) / "meps.csv"))
    for name in ("sex", "age", "black_or_hispanic", "married"):
        assert people[name].astype(str).tolist() == table[name].tolist()
    said = people["health"].replace("vegood", "very good")
    assert said.tolist() == table["health"].tolist()
    assert LEVELS[level].tolist() == table["conditions"].tolist()
    np.testing.assert_array_equal(y, table["drug_expenditure"].astype(float))


def test_description(release):
    file, _ = release
    found = study.described(file)
    assert found["records"].sum() == 400
    first = file["expenditure"][file["conditions"] == "0"]
    assert found.loc["0"].tolist() == [len(first), first.mean(), np.median(first)]


def test_means_by_level(release):
    file, moved = release
    one = {"conditions": LEVELS[[0, 0, 1, 2, 3, 4]], "expenditure": np.arange(1.0, 7)}
    assert study.means(one).tolist() == [[1.5, 3, 4, 5, 6]]
    assert study.ratio(one).tolist() == [4]
    assert study.means(moved).shape == (20, 5)
    # Columns of one file and of several go together.
    kept = {"conditions": file["conditions"], "expenditure": moved["expenditure"]}
    found = study.means(kept)
    assert found.shape == (20, 5)
    at = file["conditions"] == "2"
    np.testing.assert_allclose(found[:, 2], moved["expenditure"][:, at].mean(axis=1))


def test_shares_of_levels(release):
    file, moved = release
    found = study.shares(moved)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert found[3, 1] == np.mean(moved["conditions"][3] == "1")
    assert study.shares(file).shape == (1, 5)


def test_file_by_file(release):
    file, moved = release
    kept = {"conditions": file["conditions"], "expenditure": moved["expenditure"]}
    files = list(study.each_file(kept))
    assert len(files) == 20
    for at, each in enumerate(files):
        np.testing.assert_array_equal(each["conditions"], file["conditions"])
        np.testing.assert_array_equal(each["expenditure"], moved["expenditure"][at])


def test_comparison(release):
    file, moved = release

    def of_both(each):
        return pp.identification_risk(file, each)

    def of_one(each):
        return pp.identification_risk(file["expenditure"], each["expenditure"])

    found = study.measured({"in turn": moved}, of_both, of_one)
    table = study.compared(found)
    both = pp.identification_risk(file, moved)
    by_file = [of_both(each).mean() for each in study.each_file(moved)]
    assert np.mean(by_file) == pytest.approx(both.mean())
    assert table.loc["in turn", "risk, both"] == (
        f"{both.mean():.4f}\u00a0±\u00a0{standard_error(by_file):.4f}"
    )
    assert table.loc["in turn", "its highest 1%"] == f"{np.sort(both)[-4:].mean():.3f}"
    one = pp.identification_risk(file["expenditure"], moved["expenditure"])
    told = table.loc["in turn", "risk, expenditure"]
    assert told.startswith(f"{one.mean():.4f}\u00a0±\u00a0")
    values = study.numbers_of(found)
    assert values["both-turn"] == pytest.approx(both.mean())
    assert values["one-turn"] == pytest.approx(one.mean())
    assert values["ratio-turn"] == study.ratio(moved).mean()
    assert values["none-turn"] == 100 * np.mean(moved["conditions"] == "0")


def test_rises_in_standard_errors():
    rng = np.random.default_rng(4)
    base, other = ({of: rng.normal(size=20) for of in ("both", "one")} for _ in "ab")
    found = study.rises({"Unweighted": base, "other": other})
    for value, of in zip(found, ("both", "one"), strict=True):
        error = np.hypot(standard_error(base[of]), standard_error(other[of]))
        assert value == pytest.approx((other[of].mean() - base[of].mean()) / error)


def test_figures(release):
    file, moved = release
    study.draw_relation(file, {"in turn": moved, "side by side": moved})
    lines = plt.gca().get_lines()
    np.testing.assert_allclose(lines[0].get_ydata(), study.means(file)[0])
    np.testing.assert_allclose(lines[1].get_ydata(), study.means(moved).mean(axis=0))
    _, level, y = made()
    weights = {name: np.linspace(0, 1, len(y)) for name in ("one", "both")}
    study.draw_weights(y, level, weights)
    one, both = plt.gcf().axes
    assert [one.get_title(), both.get_title()] == ["one", "both"]
    assert sum(len(c.get_offsets()) for c in both.collections) == len(y)
    plt.close("all")
