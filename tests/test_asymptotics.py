import gc
import weakref

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from mixtures import by_scipy, numerical_jacobian
from scipy import stats
from scipy.special import polygamma

import pseudopost as pp
from pseudopost import compiled

pytestmark = pytest.mark.slow

N = 200
RNG = np.random.default_rng(7)
X = np.column_stack([np.ones(N), RNG.normal(size=(N, 3))])
COUNTS = RNG.negative_binomial(5, 5 / 25, size=N)
VALUES = X @ [1.0, -2.0, 0.5, 3.0] + RNG.normal(scale=1.5, size=N)
WEIGHTS = RNG.uniform(0.05, 1, size=N)
MASS = RNG.dirichlet(np.ones(N))


@pytest.fixture(scope="module")
def normal_mean():
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 10)
        pp.weighted_likelihood("y", pm.logp(pm.Normal.dist(mu, 2.0), VALUES), WEIGHTS)
    return model


@pytest.fixture(scope="module")
def poisson():
    with pm.Model() as model:
        log_mu = pm.Normal("log_mu", 0, 10)
        pm.Deterministic("mu", pm.math.exp(log_mu))
        logp = pm.logp(pm.Poisson.dist(pm.math.exp(log_mu)), COUNTS)
        pp.weighted_likelihood("y", logp, WEIGHTS)
    return model


@pytest.fixture(scope="module")
def regression():
    with pm.Model(coords={"predictor": list("abcd")}) as model:
        beta = pm.Normal("beta", 0, 10, dims="predictor")
        sigma = pm.HalfNormal("sigma", 5)
        scale = pm.HalfNormal("scale", 5)
        pm.Normal("unused", 0, scale)
        logp = pm.logp(pm.Normal.dist(pm.math.dot(X, beta), sigma), VALUES)
        pp.weighted_likelihood("y", logp, WEIGHTS)
    return model


@pytest.fixture(scope="module")
def negative_binomial():
    with pm.Model() as model:
        counts = pm.Data("counts", COUNTS)
        log_mu, log_phi = pm.Normal("log_mu", 0, 9), pm.Normal("log_phi", 0, 9)
        dist = pm.NegativeBinomial.dist(
            mu=pm.math.exp(log_mu), alpha=pm.math.exp(log_phi)
        )
        pp.weighted_likelihood("y", pm.logp(dist, counts), np.ones(N))
    return model


def regression_estimate(w):
    beta = np.linalg.solve(X.T @ (w[:, None] * X), X.T @ (w * VALUES))
    return beta, np.sqrt(w @ (VALUES - X @ beta) ** 2 / w.sum())


def as_fit(**draws):
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(
                {
                    name: (("chain", "draw", "predictor")[: value.ndim], value)
                    for name, value in draws.items()
                },
                {"chain": [0, 1]},
            )
        }
    )


@pytest.fixture(scope="module")
def regression_fit():
    rng = np.random.default_rng(5)
    beta, sigma = regression_estimate(WEIGHTS)
    return as_fit(
        beta=beta + 0.1 * rng.normal(size=(2, 500, 4)),
        sigma=sigma * np.exp(0.05 * rng.normal(size=(2, 500))),
        scale=np.ones((2, 500)),
        unused=np.zeros((2, 500)),
    )


class TestPseudoMLE:
    def test_normal_mean(self, normal_mean):
        found = pp.pseudo_mle(normal_mean)
        expected = WEIGHTS @ VALUES / WEIGHTS.sum()
        np.testing.assert_allclose(found.theta, [expected], rtol=1e-10)
        assert found.theta.index.tolist() == ["mu"]

    def test_poisson_and_its_deterministic(self, poisson):
        found = pp.pseudo_mle(poisson)
        expected = WEIGHTS @ COUNTS / WEIGHTS.sum()
        assert found.values["mu"] == pytest.approx(expected, rel=1e-10)
        assert found.values["log_mu"] == pytest.approx(np.log(expected), rel=1e-10)

    @pytest.mark.parametrize("w", [np.ones(N), WEIGHTS, (WEIGHTS > 0.5) * 1.0])
    def test_regression(self, regression, w):
        found = pp.pseudo_mle(regression, w)
        beta, sigma = regression_estimate(w)
        np.testing.assert_allclose(found.values["beta"], beta, rtol=1e-9)
        assert found.values["sigma"] == pytest.approx(sigma, rel=1e-9)

    def test_only_the_parameters_of_the_likelihood_are_estimated(self, regression):
        found = pp.pseudo_mle(regression)
        labels = [*(f"beta[{i}]" for i in range(4)), "sigma_log__"]
        assert found.theta.index.tolist() == labels
        assert set(found.values) == {"beta", "sigma"}

    def test_kl_point_by_quadrature(self):
        points = np.arange(400)
        mass = stats.nbinom.pmf(points, 5, 5 / 25)
        alpha = 1 / (1 + points / 20)
        with pm.Model() as model:
            mu = pm.Gamma("mu", 1, 0.01)
            logp = pm.logp(pm.Poisson.dist(mu), points)
            pp.weighted_likelihood("y", logp, alpha)
        found = pp.pseudo_mle(model, mass=mass)
        expected = mass * alpha @ points / (mass @ alpha)
        assert found.values["mu"] == pytest.approx(expected, rel=1e-9)

    def test_mass_counts_records(self, regression):
        times = np.random.default_rng(3).integers(1, 5, size=N)
        rows = np.repeat(np.arange(N), times)
        found = pp.pseudo_mle(regression, mass=times / times.sum())
        w = WEIGHTS[rows]
        beta = np.linalg.solve(
            X[rows].T @ (w[:, None] * X[rows]), X[rows].T @ (w * VALUES[rows])
        )
        np.testing.assert_allclose(found.values["beta"], beta, rtol=1e-9)

    def test_scalar_weight_changes_nothing(self, negative_binomial):
        full = pp.pseudo_mle(negative_binomial, np.ones(N)).theta
        for scalar in (0.455, 1e-6):
            some = pp.pseudo_mle(negative_binomial, np.full(N, scalar)).theta
            np.testing.assert_allclose(some, full, rtol=1e-8)

    def test_weight_zero_removes_a_record_of_likelihood_zero(self):
        y = np.array([1.0, 2.0, -5.0, 6.0])
        with pm.Model() as model:
            rate = pm.Gamma("rate", 1, 1)
            logp = pm.logp(pm.Exponential.dist(rate), y)
            pp.weighted_likelihood("y", logp, [1, 1, 0, 1])
        found = pp.pseudo_mle(model)
        assert found.values["rate"] == pytest.approx(1 / 3, rel=1e-9)
        assert np.isfinite(pp.information(model, found.theta).sandwich).to_numpy().all()

    def test_new_data_in_the_same_model(self, negative_binomial):
        other = np.random.default_rng(9).negative_binomial(8, 8 / 38, size=N)
        pm.set_data({"counts": other}, model=negative_binomial)
        found = pp.pseudo_mle(negative_binomial)
        pm.set_data({"counts": COUNTS}, model=negative_binomial)
        assert np.exp(found.theta.iloc[0]) == pytest.approx(other.mean(), rel=1e-8)
        back = pp.pseudo_mle(negative_binomial)
        assert np.exp(back.theta.iloc[0]) == pytest.approx(COUNTS.mean(), rel=1e-8)

    def test_start_does_not_matter(self, negative_binomial):
        one = pp.pseudo_mle(negative_binomial, start=[1.0, 3.0]).theta
        two = pp.pseudo_mle(negative_binomial, start=[5.0, -1.0]).theta
        np.testing.assert_allclose(one, two, rtol=1e-8)

    def test_takes_a_synthesizer(self):
        synthesizer = pp.PoissonSynthesizer(COUNTS)
        found = pp.pseudo_mle(synthesizer, WEIGHTS)
        expected = WEIGHTS @ COUNTS / WEIGHTS.sum()
        assert found.values["mu"] == pytest.approx(expected, rel=1e-9)

    def test_says_so_where_no_maximum_exists(self):
        x = np.array([-2.0, -1.0, 1.0, 2.0])
        with pm.Model() as separated:
            slope = pm.Normal("slope", 0, 10)
            logp = pm.logp(pm.Bernoulli.dist(logit_p=slope * x), x > 0)
            pp.weighted_likelihood("y", logp, np.ones(4))
        with pytest.raises(RuntimeError, match=r"no maximum.*'slope'"):
            pp.pseudo_mle(separated)

    def test_says_so_where_parameters_are_not_identified(self):
        with pm.Model() as model:
            a, b = pm.Normal("a"), pm.Normal("b")
            pp.weighted_likelihood("y", pm.logp(pm.Normal.dist(a + b), VALUES), WEIGHTS)
        with pytest.raises(RuntimeError, match="no maximum"):
            pp.pseudo_mle(model)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"weights": np.ones(N - 1)}, f"weights must have length {N}"),
            (
                {"weights": np.full(N, 1.5)},
                r"weights must lie in \[0, 1\]; record 0 has 1.5",
            ),
            ({"weights": np.zeros(N)}, "weights must not all be 0"),
            ({"mass": np.ones(N)}, "mass must sum to 1; it sums to 200"),
            ({"mass": [1.0]}, "mass must have length 200"),
            (
                {"mass": np.arange(N) == 0, "weights": np.arange(N) == 1},
                "mass must not be 0 wherever weights are above 0",
            ),
            ({"start": [0.0, 1.0]}, "start must have length 1"),
            ({"name": "z"}, "model must have a weighted likelihood called 'z'"),
        ],
    )
    def test_refuses(self, normal_mean, changed, message):
        with pytest.raises(ValueError, match=message):
            pp.pseudo_mle(normal_mean, **changed)

    def test_refuses_a_model_that_cannot_be_differentiated_twice(self):
        opaque = pytensor.wrap_py(itypes=[pt.dscalar], otypes=[pt.dscalar])(np.asarray)
        with pm.Model() as model:
            logp = pm.logp(pm.Normal.dist(opaque(pm.Normal("mu"))), VALUES)
            pp.weighted_likelihood("y", logp, WEIGHTS)
        message = (
            "^model must have a likelihood 'y' that PyTensor can differentiate twice"
        )
        with pytest.raises(ValueError, match=message):
            pp.pseudo_mle(model)

    def test_refuses_what_is_no_model(self):
        with pytest.raises(ValueError, match="model must have a weighted likelihood"):
            pp.pseudo_mle(VALUES)

    def test_forgets_a_model_that_is_gone(self):
        with pm.Model() as model:
            pp.weighted_likelihood(
                "y", pm.logp(pm.Normal.dist(pm.Normal("a")), VALUES), WEIGHTS
            )
        pp.pseudo_mle(model)
        gone = weakref.ref(model)
        del model
        gc.collect()
        assert gone() is None


class TestInformation:
    def test_normal_mean(self, normal_mean):
        theta = 0.7
        found = pp.information(normal_mean, [theta], mass=MASS)
        J = MASS @ (WEIGHTS * (VALUES - theta) / 4) ** 2
        np.testing.assert_allclose(found.H, [[MASS @ WEIGHTS / 4]], rtol=1e-10)
        np.testing.assert_allclose(found.J, [[J]], rtol=1e-10)

    def test_poisson(self, poisson):
        mu = 17.0
        found = pp.information(poisson, [np.log(mu)])
        J = (WEIGHTS**2 * (COUNTS - mu) ** 2).mean()
        np.testing.assert_allclose(found.H, [[WEIGHTS.mean() * mu]], rtol=1e-10)
        np.testing.assert_allclose(found.J, [[J]], rtol=1e-10)

    def test_regression(self, regression):
        beta, sigma = np.array([0.5, -1.5, 1.0, 2.0]), 2.5
        found = pp.information(regression, [*beta, np.log(sigma)])
        residual = (VALUES - X @ beta) / sigma
        scores = WEIGHTS[:, None] * np.column_stack(
            [residual[:, None] * X / sigma, residual**2 - 1]
        )
        H = np.zeros((5, 5))
        H[:4, :4] = X.T @ (WEIGHTS[:, None] * X) / sigma**2 / N
        H[:4, 4] = H[4, :4] = 2 * (WEIGHTS * residual) @ X / sigma / N
        H[4, 4] = 2 * (WEIGHTS @ residual**2) / N
        np.testing.assert_allclose(found.H, H, atol=1e-10)
        np.testing.assert_allclose(found.J, scores.T @ scores / N, atol=1e-10)

    def test_negative_binomial(self, negative_binomial):
        mu, phi = 18.0, 4.0
        found = pp.information(negative_binomial, np.log([mu, phi]), WEIGHTS)
        y, w = COUNTS, WEIGHTS
        by_mu = phi * (y - mu) / (mu + phi)
        by_phi = phi * (
            polygamma(0, y + phi)
            - polygamma(0, phi)
            + np.log(phi / (mu + phi))
            + (mu - y) / (mu + phi)
        )
        scores = np.column_stack([by_mu, by_phi])
        np.testing.assert_allclose(
            found.J, scores.T @ (w[:, None] ** 2 * scores) / N, rtol=1e-9
        )
        expected = w @ ((mu * phi) * (phi + y) / (mu + phi) ** 2) / N
        assert found.H.iloc[0, 0] == pytest.approx(expected, rel=1e-9)

    def test_is_labelled_and_symmetric(self, regression):
        found = pp.information(regression, pp.pseudo_mle(regression).theta)
        for matrix in (
            found.H,
            found.J,
            found.sandwich,
        ):
            assert matrix.index[-1] == matrix.columns[-1] == "sigma_log__"
            np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)

    @given(st.floats(0.01, 1))
    def test_scalar_weight(self, poisson, scalar):
        full = pp.information(poisson, [3.0], np.ones(N))
        some = pp.information(poisson, [3.0], np.full(N, scalar))
        np.testing.assert_allclose(some.H, scalar * full.H, rtol=1e-9)
        np.testing.assert_allclose(some.J, scalar**2 * full.J, rtol=1e-9)
        np.testing.assert_allclose(some.sandwich, full.sandwich, rtol=1e-9)
        np.testing.assert_allclose(some.inverse_H, full.inverse_H / scalar, rtol=1e-9)

    def test_sandwich_is_made_of_H_and_J(self, regression):
        found = pp.information(regression, pp.pseudo_mle(regression).theta)
        inverse = np.linalg.inv(found.H)
        np.testing.assert_allclose(found.inverse_H, inverse, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            found.sandwich,
            inverse @ found.J @ inverse,
            rtol=1e-8,
            atol=1e-12,
        )

    def test_sandwich_is_the_spread_of_the_pseudo_mle(self, negative_binomial):
        rng = np.random.default_rng(11)
        points = np.arange(3000)
        mass = stats.nbinom.pmf(points, 5, 5 / 25)
        alpha = 0.2 + 0.8 / (1 + (points / 20) ** 2)
        with pm.Model() as population:
            log_mu, log_phi = pm.Normal("log_mu"), pm.Normal("log_phi")
            dist = pm.NegativeBinomial.dist(
                mu=pm.math.exp(log_mu), alpha=pm.math.exp(log_phi)
            )
            pp.weighted_likelihood("y", pm.logp(dist, points), alpha)
        star = pp.pseudo_mle(population, mass=mass).theta
        expected = pp.information(population, star, mass=mass).sandwich / N
        estimates = []
        for _ in range(300):
            y = rng.negative_binomial(5, 5 / 25, size=N)
            pm.set_data({"counts": y}, model=negative_binomial)
            estimates.append(
                pp.pseudo_mle(negative_binomial, alpha[y], start=star).theta
            )
        pm.set_data({"counts": COUNTS}, model=negative_binomial)
        ratio = np.var(estimates, axis=0, ddof=1) / np.diag(expected)
        # Standard error of a variance of 300: 8%.
        np.testing.assert_allclose(ratio, 1, atol=0.33)

    def test_weight_map_with_fixed_weights_changes_little(self, regression):
        theta = pp.pseudo_mle(regression).theta
        fixed = pp.information(regression, theta)
        found = pp.information(regression, theta, weight_map=lambda kept: WEIGHTS[kept])
        np.testing.assert_allclose(found.J, fixed.J, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(found.H, fixed.H)

    def test_weight_map_adds_the_noise_of_the_weights(self, normal_mean):
        # All weights are the mean of the file's logistic values: H and the estimate
        # do not care, and at the estimate the scores sum to 0.
        share = 1 / (1 + np.exp(-VALUES))
        weights = np.full(N, share.mean())
        found, fixed = (
            pp.information(normal_mean, [0.5], weights, weight_map=weight_map)
            for weight_map in (lambda kept: np.full(N - 1, share[kept].mean()), None)
        )
        score = (VALUES - 0.5) / 4
        influence = share.mean() * score + (share - share.mean()) * score.mean()
        np.testing.assert_allclose(found.J, [[influence.var()]], rtol=0.02)
        assert abs(found.J.iloc[0, 0] / fixed.J.iloc[0, 0] - 1) > 0.05

    def test_weight_map_gives_the_spread_of_a_pseudo_mle_whose_file_makes_the_weights(
        self,
    ):
        rng, n = np.random.default_rng(21), 100
        with pm.Model() as model:
            counts = pm.Data("counts", np.ones(n, dtype=int))
            log_mu = pm.Normal("log_mu", 5, 5)
            logp = pm.logp(pm.Poisson.dist(pm.math.exp(log_mu)), counts)
            pp.weighted_likelihood("y", logp, np.ones(n))
        estimates, plain, jackknife = [], [], []
        for _ in range(300):
            y = rng.poisson(20, size=n)
            pm.set_data({"counts": y}, model=model)
            w = pp.count_weights(y, 0.1)
            theta = pp.pseudo_mle(model, w, start=[3.0]).theta
            estimates.append(theta.iloc[0])
            plain.append(pp.information(model, theta, w).sandwich.iloc[0, 0] / n)
            if len(jackknife) < 20:
                found = pp.information(
                    model,
                    theta,
                    w,
                    weight_map=lambda kept, y=y: pp.count_weights(y[kept], 0.1),
                )
                jackknife.append(found.sandwich.iloc[0, 0] / n)
        spread = np.var(estimates, ddof=1)
        assert np.mean(jackknife) == pytest.approx(spread, rel=0.33)
        assert np.mean(plain) < 0.6 * spread

    def test_weight_map_is_not_for_a_population(self, poisson):
        with pytest.raises(ValueError, match="weight_map is for a file of records"):
            pp.information(
                poisson, [3.0], mass=MASS, weight_map=lambda kept: WEIGHTS[kept]
            )

    def test_refuses_what_reweigh_returns(self, poisson):
        with pytest.raises(ValueError, match=r"weight_map\(...\) must have length 199"):
            pp.information(poisson, [3.0], weight_map=lambda kept: WEIGHTS)

    def test_singular_h_is_named(self):
        with pm.Model() as model:
            a, b = pm.Normal("a"), pm.Normal("b")
            pp.weighted_likelihood("y", pm.logp(pm.Normal.dist(a * b), VALUES), WEIGHTS)
        found = pp.information(model, [0.0, 0.0])
        with pytest.raises(
            RuntimeError, match="H must be positive definite; its smallest"
        ):
            _ = found.sandwich
        with pytest.raises(RuntimeError, match="H must be positive definite"):
            _ = found.inverse_H

    def test_theta_and_weights_are_found_by_their_labels(self, regression):
        theta = pp.pseudo_mle(regression).theta
        found = pp.information(regression, theta[::-1]).H
        pd.testing.assert_frame_equal(found, pp.information(regression, theta).H)
        other = theta.rename({"sigma_log__": "sigma"})
        with pytest.raises(ValueError, match="theta must have the labels of the param"):
            pp.information(regression, other)
        model = pp.PoissonSynthesizer(pd.Series([2, 4, 9], ["a", "b", "c"]))
        weights = pd.Series([0.0, 1.0, 1.0], ["c", "a", "b"])
        estimate = pp.pseudo_mle(model, weights)
        assert estimate.values["mu"] == pytest.approx(3, rel=1e-6)
        with pytest.raises(ValueError, match="weights must have the labels of y"):
            pp.pseudo_mle(model, weights.rename({"a": "d"}))

    def test_refuses_theta_of_another_length(self, poisson):
        with pytest.raises(ValueError, match="theta must have length 1; got length 2"):
            pp.information(poisson, [1.0, 2.0])

    # PyTensor compiles products of matrices for its initial point.
    @pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS")
    def test_mixture_of_regressions(self):
        rng = np.random.default_rng(9)
        second = rng.uniform(size=N) < 0.4
        log_y = np.where(second, 2 + X[:, 1], -X[:, 1]) + 0.7 * rng.normal(size=N)
        model = pp.MixtureSynthesizer(np.exp(log_y), X[:, 1:2], n_components=2)
        theta = pp.pseudo_mle(model, WEIGHTS).theta
        assert theta.index.tolist() == [
            "pi_simplex__[0]",
            *(f"beta[{k}, {r}]" for k in (0, 1) for r in (0, 1)),
            "excess_log__[0]",
            "excess_log__[1]",
        ]

        def value(x):
            log_pi = -np.logaddexp(0, np.array([-2, 2]) * x[0])
            mean = x[1:5].reshape(2, 2) @ X[:, :2].T
            log_sigma = np.log(0.05 + np.exp(x[5:]))
            return WEIGHTS @ by_scipy(log_y, mean, log_pi, log_sigma)[0] / N

        def score(x):
            return numerical_jacobian(value, x)[0]

        np.testing.assert_allclose(score(theta), 0, atol=1e-7)
        H = pp.information(model, theta, WEIGHTS).H
        curvature = numerical_jacobian(score, theta)
        np.testing.assert_allclose(-H, curvature, rtol=1e-5, atol=1e-6)
        assert (np.linalg.eigvalsh(H) > 0.01).all()


class TestAdjustDraws:
    @staticmethod
    def unconstrained(draws):
        sigma = np.log(draws["sigma"].to_numpy())[..., None]
        return np.concatenate([draws["beta"].to_numpy(), sigma], -1).reshape(1000, 5)

    def test_covariance_is_the_sandwich_at_the_mean(self, regression, regression_fit):
        before = self.unconstrained(regression_fit["posterior"])
        after = self.unconstrained(pp.adjust_draws(regression, regression_fit, WEIGHTS))
        np.testing.assert_allclose(after.mean(0), before.mean(0), rtol=1e-10)
        sandwich = pp.information(regression, before.mean(0), WEIGHTS).sandwich / N
        np.testing.assert_allclose(np.cov(after.T), sandwich, rtol=1e-8, atol=1e-14)

    def test_weights_are_those_passed_in(self, regression, regression_fit):
        after = self.unconstrained(
            pp.adjust_draws(regression, regression_fit, np.ones(N))
        )
        at = self.unconstrained(regression_fit["posterior"]).mean(0)
        sandwich = pp.information(regression, at, np.ones(N)).sandwich / N
        np.testing.assert_allclose(np.cov(after.T), sandwich, rtol=1e-8, atol=1e-14)

    def test_weight_map_is_passed_on(self, regression, regression_fit):
        def weight_map(kept):
            return WEIGHTS[kept] * (0.5 + 0.5 * X[kept, 1].mean() ** 2)

        fit = regression_fit
        after = self.unconstrained(
            pp.adjust_draws(regression, fit, WEIGHTS, weight_map=weight_map)
        )
        at = self.unconstrained(fit["posterior"]).mean(0)
        found = pp.information(regression, at, WEIGHTS, weight_map=weight_map)
        np.testing.assert_allclose(np.cov(after.T), found.sandwich / N, rtol=1e-8)

    def test_keeps_names_dims_and_order(self, regression, regression_fit):
        adjusted = pp.adjust_draws(regression, regression_fit, WEIGHTS)
        assert set(adjusted) == {"beta", "sigma"}
        assert adjusted["beta"].dims == ("chain", "draw", "predictor")
        np.testing.assert_array_equal(adjusted.chain, [0, 1])
        assert (adjusted["sigma"] > 0).all()
        moved = self.unconstrained(adjusted)[:, 0]
        kept = self.unconstrained(regression_fit["posterior"])[:, 0]
        assert np.corrcoef(moved, kept)[0, 1] > 0.999

    def test_nothing_moves_where_the_covariance_is_right(
        self, regression, regression_fit
    ):
        once = pp.adjust_draws(regression, regression_fit, WEIGHTS)
        again = as_fit(
            **{name: once[name].to_numpy() for name in once},
            scale=np.ones((2, 500)),
            unused=np.zeros((2, 500)),
        )
        twice = pp.adjust_draws(regression, again, WEIGHTS)
        xr.testing.assert_allclose(twice.drop_vars("chain"), once.drop_vars("chain"))

    def test_deterministics_follow(self, poisson):
        draws = 3 + 0.1 * np.random.default_rng(2).normal(size=(2, 300))
        fit = as_fit(log_mu=draws, mu=np.exp(draws))
        adjusted = pp.adjust_draws(poisson, fit, WEIGHTS)
        np.testing.assert_allclose(
            adjusted["mu"], np.exp(adjusted["log_mu"]), rtol=1e-12
        )
        assert adjusted["log_mu"].std() < 0.5 * fit["posterior"]["log_mu"].std()

    def test_takes_a_fit_of_a_synthesizer(self, synthesizer):
        fit = synthesizer.fit(draws=300, tune=300, random_seed=1)
        adjusted = pp.adjust_draws(synthesizer, fit, np.ones(1000))
        before = fit["posterior"].to_dataset()
        # One negative binomial cannot follow the mixture: the posterior is too narrow.
        assert np.log(adjusted["phi"]).std() > 1.2 * np.log(before["phi"]).std()
        assert "s" not in adjusted
        np.testing.assert_allclose(adjusted["phi"], 1 / adjusted["inverse_phi"])
        with pytest.raises(ValueError, match="weights must be those that fit was made"):
            pp.adjust_draws(synthesizer, fit, np.full(1000, 0.5))
        other = pp.NegativeBinomialSynthesizer(np.arange(1000))
        with pytest.raises(ValueError, match="fit must come from this NegativeBinom"):
            pp.adjust_draws(other, fit, np.ones(1000))

    def test_names_missing_parameters(self, regression, regression_fit):
        less = as_fit(beta=regression_fit["posterior"]["beta"].to_numpy())
        with pytest.raises(ValueError, match=r"fit must hold every parameter.*'sigma'"):
            pp.adjust_draws(regression, less, WEIGHTS)

    def test_needs_more_draws_than_parameters(self, regression, regression_fit):
        few = regression_fit.isel(draw=slice(2))
        with pytest.raises(ValueError, match="fit must have more draws than the 5 par"):
            pp.adjust_draws(regression, few, WEIGHTS)


def test_compiled_once(normal_mean):
    pp.pseudo_mle(normal_mean)
    before = compiled.FUNCTIONS[normal_mean]["derivatives", "y"]
    pp.information(normal_mean, [0.0])
    assert compiled.FUNCTIONS[normal_mean]["derivatives", "y"] is before
