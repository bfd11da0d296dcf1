import numpy as np
import pandas as pd
import pymc as pm
import pytest

import pseudopost as pp

RNG = np.random.default_rng(3)
VALUES = RNG.normal(size=(12, 2))
CLUSTERS = list("aabbccaabbcc")
STRATA = [1] * 6 + [2] * 6


def by_hand(values, clusters, strata):
    """Sum the definition over strata and clusters, one after the other."""
    table = pd.DataFrame(values).assign(c=clusters, h=strata)
    found = 0
    for _, stratum in table.groupby("h"):
        totals = stratum.drop(columns="h").groupby("c").sum()
        found = found + len(totals) * np.cov(totals.T)
    return found


def test_is_the_definition():
    expected = by_hand(VALUES, CLUSTERS, STRATA)
    found = pp.design_covariance(VALUES, CLUSTERS, STRATA)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # The same labels in another stratum are other clusters.
    one = pp.design_covariance(VALUES, CLUSTERS)
    np.testing.assert_allclose(one, by_hand(VALUES, CLUSTERS, [1] * 12), rtol=1e-12)
    assert abs(one / found - 1).max() > 0.1
    single = pp.design_covariance(VALUES[:, 1], CLUSTERS, STRATA)
    assert single == pytest.approx(expected[1, 1], rel=1e-12)


def test_independent_records_are_clusters_of_one():
    found = pp.design_covariance(VALUES)
    np.testing.assert_allclose(found, 12 * np.cov(VALUES.T), rtol=1e-12)
    again = pp.design_covariance(VALUES, clusters=range(12))
    np.testing.assert_array_equal(found, again)


def test_order_of_the_records_and_names_do_not_count():
    order = RNG.permutation(12)
    names = pd.Series(CLUSTERS).map({"a": "z", "b": "y", "c": "x"}).to_numpy()
    found = pp.design_covariance(VALUES[order], names[order], np.array(STRATA)[order])
    np.testing.assert_allclose(found, by_hand(VALUES, CLUSTERS, STRATA), rtol=1e-12)


def test_labels_are_found():
    values = pd.Series(VALUES[:, 0], range(100, 112))
    clusters = pd.Series(CLUSTERS, range(100, 112)).sample(frac=1, random_state=1)
    found = pp.design_covariance(values, clusters)
    assert found == pytest.approx(pp.design_covariance(VALUES[:, 0], CLUSTERS))
    with pytest.raises(ValueError, match="clusters must have the labels of values"):
        pp.design_covariance(values, clusters.rename({100: 99}))


def test_is_unbiased_over_two_stage_samples():
    # Two strata with 5 and 4 sampled clusters of 3 records each, drawn from infinitely
    # many; the variance of the sum is known.
    rng, R = np.random.default_rng(5), 4000
    between, within = 0.5, 1.0
    sizes = np.array([5, 4])
    cluster = np.repeat(np.arange(9), 3)
    strata = np.repeat([0, 1], 3 * sizes)
    truth = sizes.sum() * (9 * between + 3 * within)
    found = []
    for _ in range(R):
        y = 10.0 * strata + rng.normal(scale=between**0.5, size=9)[cluster]
        y += rng.normal(scale=within**0.5, size=27)
        found.append(pp.design_covariance(y, cluster, strata))
    # Seven degrees of freedom each: a relative error of 53% / sqrt(R).
    assert np.mean(found) == pytest.approx(truth, rel=4 * 0.53 / R**0.5)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"clusters": list("aabb"), "strata": ["N", "N", "S", "S"]},
            "clusters must be two or more in each stratum; stratum 'N' has one",
        ),
        ({"clusters": list("aaaa")}, "clusters must be two or more .*; in all there"),
        ({"clusters": list("aab")}, "clusters must have length 4; got length 3"),
        ({"strata": [1, 1, None, 2]}, "strata must not be missing; that of record 2"),
        ({"strata": {1, 2, 3, 4}}, "strata must be in the order of values"),
        ({"clusters": np.zeros((4, 2))}, "clusters must be 4 labels, one per record"),
    ],
)
def test_refuses(settings, text):
    with pytest.raises(ValueError, match=f"^{text}"):
        pp.design_covariance([1, 2, 3, 4], **settings)


def test_refuses_values_that_are_none():
    with pytest.raises(ValueError, match="values must be finite; those of record 1"):
        pp.design_covariance([[1, 2], [np.inf, 3], [4, np.nan]])
    with pytest.raises(ValueError, match=r"values must have shape \(n,\) or \(n, d\)"):
        pp.design_covariance(3.0)
    with pytest.raises(ValueError, match="values must not be so large"):
        pp.design_covariance([1e200, -1e200])


class Weighted(pp.NegativeBinomialSynthesizer):
    """Negative binomial counts whose likelihood has survey weights."""

    def __init__(self, y, survey):
        super().__init__(y)
        self.survey = survey

    def add_likelihood(self, logp):
        super().add_likelihood(pm.Data("survey", self.survey) * logp)


@pytest.mark.slow
class TestInformation:
    n = 60
    y = np.random.default_rng(8).negative_binomial(2, 0.1, size=60)
    survey = np.random.default_rng(9).uniform(0.3, 3, size=60)
    alpha = np.random.default_rng(10).uniform(0.2, 1, size=60)
    clusters = np.arange(60) // 5
    strata = np.arange(60) // 20

    def test_variance_of_a_weighted_mean_is_that_of_linearisation(self):
        model = Weighted(self.y, self.survey)
        best = pp.pseudo_mle(model, self.alpha)
        w = self.survey * self.alpha
        mean = w @ self.y / w.sum()
        assert best.values["mu"] == pytest.approx(mean, rel=1e-8)
        found = pp.information(
            model, best.theta, self.alpha, clusters=self.clusters, strata=self.strata
        )
        linear = w * (self.y - mean) / w.sum()
        expected = by_hand(linear[:, None], self.clusters, self.strata)
        variance = mean**2 * found.sandwich.loc["log_mu", "log_mu"] / self.n
        assert variance == pytest.approx(float(expected), rel=1e-6)

    def test_independent_records_have_the_j_of_before(self):
        model = Weighted(self.y, self.survey)
        theta = pp.pseudo_mle(model, self.alpha).theta
        plain = pp.information(model, theta, self.alpha)
        one = pp.information(model, theta, self.alpha, strata=np.zeros(self.n))
        np.testing.assert_allclose(one.J, plain.J * self.n / (self.n - 1), rtol=1e-7)
        np.testing.assert_array_equal(one.H, plain.H)

    def test_jackknife_with_a_design(self):
        model = Weighted(self.y, self.survey)
        theta = pp.pseudo_mle(model, self.alpha).theta
        design = {"clusters": self.clusters, "strata": self.strata}
        fixed = pp.information(model, theta, self.alpha, **design)
        jackknife = pp.information(
            model, theta, self.alpha, weight_map=lambda kept: self.alpha[kept], **design
        )
        np.testing.assert_allclose(jackknife.J, fixed.J, rtol=1e-7)

    def test_labels_and_mass(self):
        labels = [f"r{i}" for i in range(self.n)]
        model = Weighted(pd.Series(self.y, labels), self.survey)
        theta = pp.pseudo_mle(model).theta
        clusters = pd.Series(self.clusters, labels)
        found = pp.information(model, theta, clusters=clusters.iloc[::-1])
        expected = pp.information(model, theta, clusters=self.clusters)
        np.testing.assert_array_equal(found.J, expected.J)
        with pytest.raises(ValueError, match="clusters must have the labels of y"):
            pp.information(model, theta, clusters=clusters.rename({"r0": "q"}))
        mass = np.full(self.n, 1 / self.n)
        with pytest.raises(ValueError, match="clusters and strata are for a file"):
            pp.information(model, theta, mass=mass, strata=self.strata)

    def test_adjusted_draws_have_the_spread_of_the_design(self):
        model = Weighted(self.y, self.survey)
        fit = model.fit(self.alpha, draws=500, random_seed=1)
        design = {"clusters": self.clusters, "strata": self.strata}
        moved = pp.adjust_draws(model, fit, self.alpha, **design)
        draws = fit["posterior"].to_dataset()
        centre = [
            float(np.log(draws["mu"]).mean()),
            float(np.log(draws["inverse_phi"]).mean()),
        ]
        sandwich = pp.information(model, centre, self.alpha, **design).sandwich
        spread = float(np.log(moved["mu"]).var(ddof=1))
        assert spread == pytest.approx(sandwich.iloc[0, 0] / self.n, rel=0.02)
        plain = pp.adjust_draws(model, fit, self.alpha)
        assert abs(float(np.log(plain["mu"]).var(ddof=1)) / spread - 1) > 0.1
