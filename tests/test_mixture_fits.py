import warnings
from types import MappingProxyType

import arviz as az
import joblib
import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from mixtures import by_scipy, small_file
from scipy import stats
from scipy.special import logsumexp
from tqdm import tqdm

import pseudopost as pp
from pseudopost import mixture_chains
from pseudopost.mixture_chains import sample
from pseudopost.mixture_exchanges import levels_of
from pseudopost.mixture_sweeps import Records

pytestmark = pytest.mark.slow


# Draws from the prior


def prior_draws(K, R, size, min_sigma=0.05, seed=11):
    """Independent draws, shape (1, size, ...), of what a fit holds."""
    rng = np.random.default_rng(seed)
    gamma = rng.exponential(size=size)
    shape = gamma[:, None] / K
    # Shares of a small shape underflow, unless drawn as logarithms.
    log_share = np.log(rng.gamma(np.repeat(shape, K, axis=1) + 1))
    log_share += np.log(rng.uniform(size=(size, K))) / shape
    pi = np.exp(log_share - logsumexp(log_share, axis=1, keepdims=True))
    s = np.abs(rng.standard_t(3, size=(size, R)))
    U = uniform_on_the_sphere(rng, sphere_dimensions(K, R), (size, R))
    W = rng.normal(size=(size, U.shape[-1], K))
    beta = np.swapaxes(s[..., None] * (U @ W), 1, 2)
    sigma = min_sigma + np.abs(rng.standard_t(3, size=(size, K)))
    draws = {"gamma": gamma, "pi": pi, "s": s, "beta": beta, "sigma": sigma}
    return {name: values[None] for name, values in draws.items()}


def sphere_dimensions(K, R):
    """D, where the correlation matrix is U U' with rows uniform on the sphere in D dimensions."""
    return max(R, K) + 1


def uniform_on_the_sphere(rng, dimensions, shape):
    point = rng.normal(size=(*shape, dimensions))
    return point / np.linalg.norm(point, axis=-1, keepdims=True)


def statistics_of_prior(draws, min_sigma=0.05):
    gamma, pi, s, beta, sigma = (
        np.asarray(draws[name]) for name in ("gamma", "pi", "s", "beta", "sigma")
    )
    rows = beta / s[:, :, None, :]
    return {
        "gamma": gamma,
        "largest pi": pi.max(axis=-1),
        "log of the first pi": np.log(np.maximum(pi[..., 0], 1e-300)),
        "log of the last pi": np.log(np.maximum(pi[..., -1], 1e-300)),
        "first s": s[..., 0],
        "last s": s[..., -1],
        "first sigma": sigma[..., 0] - min_sigma,
        "last sigma": sigma[..., -1] - min_sigma,
        "first coefficient": beta[..., 0, 0],
        "last coefficient": beta[..., -1, -1],
        "first over s": rows[..., 0, 0],
        "last over s": rows[..., -1, -1],
        "length of the first row": np.linalg.norm(rows[..., 0], axis=-1),
        "length of the last row": np.linalg.norm(rows[..., -1], axis=-1),
        "product within a component": rows[..., 0, 0] * rows[..., 0, 1],
        "product between components": rows[..., 0, 0] * rows[..., -1, 0],
        "product of rows": (rows[..., 0] * rows[..., 1]).sum(axis=-1),
        "product of s and s": s[..., 0] * s[..., 1],
    }


def assert_same_distribution(
    draws, independent, probabilities=(0.05, 0.25, 0.5, 0.75, 0.95)
):
    """Compare by quantile, within 4 standard errors, and list every statistic that differs."""
    differ = []
    for name, values in draws.items():
        for level in probabilities:
            below = values < np.quantile(independent[name], level)
            size = ess(below)
            error = np.sqrt(
                level * (1 - level) * (1 / size + 1 / independent[name].size)
            )
            if not size > 50 or abs(below.mean() - level) > 4 * error:
                differ.append(f"{name}: {below.mean():.3f} for {level}, ESS {size:.0f}")
    assert not differ, "\n".join(differ)


def ess(values):
    """Effective number of draws of an array of shape (chain, draw)."""
    values = np.asarray(values, dtype=float)
    return float(az.ess(values, method="mean")) if np.ptp(values) else np.nan


def fitted(synthesizer, *args, random_seed=1, **settings):
    """Fit whether or not it converges or warns; what it says is tested on its own."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = synthesizer.fit(*args, random_seed=random_seed, **settings)
    fit.attrs["warned"] = [
        str(warning.message)
        for warning in caught
        if warning.category is not pp.ConvergenceWarning
    ]
    return fit


def test_off_diagonals_of_products_of_points_on_a_sphere_are_lkj():
    rng = np.random.default_rng(12)
    for R in (2, 3, 5):
        U = uniform_on_the_sphere(rng, R + 1, (20_000, R))
        correlation = U @ np.swapaxes(U, 1, 2)
        for i, j in ((1, 0), (R - 1, R - 2)):
            marginal = stats.beta(R / 2, R / 2, loc=-1, scale=2)
            assert stats.kstest(correlation[:, i, j], marginal.cdf).pvalue > 1e-4


def correlations_by_vine(rng, R, size):
    """LKJ(1) by partial correlations, as Lewandowski, Kurowicka and Joe (2009) define it."""
    correlation = np.tile(np.eye(R), (size, 1, 1))
    partial = np.zeros((size, R, R))
    for k in range(R - 1):
        shape = 1 + (R - 2 - k) / 2
        for i in range(k + 1, R):
            partial[:, k, i] = p = 2 * rng.beta(shape, shape, size=size) - 1
            for j in range(k - 1, -1, -1):
                first, second = partial[:, j, i], partial[:, j, k]
                p = p * np.sqrt((1 - first**2) * (1 - second**2)) + first * second
            correlation[:, k, i] = correlation[:, i, k] = p
    return correlation


def test_products_of_points_on_a_sphere_are_the_lkj_of_a_vine():
    rng = np.random.default_rng(12)
    for R in (3, 4):
        U = uniform_on_the_sphere(rng, R + 1, (20_000, R))
        correlation = U @ np.swapaxes(U, 1, 2)
        other = correlations_by_vine(rng, R, 20_000)
        for statistic in (
            np.linalg.det,
            lambda matrix: matrix[:, 0, 1] * matrix[:, 1, 2] * matrix[:, 0, 2],
            lambda matrix: np.linalg.eigvalsh(matrix)[:, -1],
        ):
            pvalue = stats.ks_2samp(statistic(correlation), statistic(other)).pvalue
            assert pvalue > 1e-4


@pytest.fixture(scope="module")
def heaped():
    """Two thirds of the records have the same value."""
    rng = np.random.default_rng(13)
    log_y = np.where(np.arange(60) < 40, np.log(50_000), rng.normal(10.5, 1, size=60))
    return pp.MixtureSynthesizer(
        np.exp(log_y), rng.normal(size=(60, 2)), n_components=3
    )


@pytest.fixture(scope="module")
def heaped_prior(heaped):
    return fitted(heaped, np.zeros(60), draws=6000)


def assert_prior(fit, K, R):
    draws = {
        name: fit["posterior"][name] for name in ("gamma", "pi", "s", "beta", "sigma")
    }
    assert_same_distribution(
        statistics_of_prior(draws), statistics_of_prior(prior_draws(K, R, 400_000))
    )


def test_weights_of_zero_leave_the_prior(heaped_prior):
    assert_prior(heaped_prior, 3, 3)


def test_a_fit_without_data_warns_of_nothing_but_its_chains(heaped_prior):
    assert heaped_prior.attrs["warned"] == []


def test_weights_of_zero_leave_the_prior_of_more_components_than_coefficients():
    synthesizer = pp.MixtureSynthesizer(*small_file(2), n_components=4)
    assert_prior(fitted(synthesizer, np.zeros(30), draws=6000), 4, 2)


def test_an_intercept_alone_is_enough():
    y = np.exp(np.random.default_rng(17).normal(10, 0.5, size=200))
    synthesizer = pp.MixtureSynthesizer(y, np.empty((200, 0)), n_components=3)
    fit = fitted(synthesizer)
    assert fit.attrs["warned"] == []
    assert not fit.attrs["not_converged"]
    z = np.log(synthesizer.synthesize(fit, n_datasets=200, random_seed=1))
    assert abs(z.mean() - np.log(y).mean()) < 4 * 0.5 / np.sqrt(200)


# Heaped data


def test_heaped_values_do_not_make_the_fit_collapse(heaped):
    fit = fitted(heaped, draws=2500)
    assert fit.attrs["warned"] == []
    assert not fit.attrs["not_converged"]
    assert float(fit["posterior"]["sigma"].min()) >= 0.05
    highest = -np.log(0.05) - 0.5 * np.log(2 * np.pi)
    log_likelihood = heaped.log_likelihood(fit)
    assert np.isfinite(log_likelihood).all()
    assert float(log_likelihood.max()) <= highest
    # The heap has two thirds of the records, so its own component has about that share.
    assert float(log_likelihood[..., :40].mean()) > highest + np.log(0.5) - 0.5


# An independent model


@pytest.fixture(scope="module")
def textbook(K=2, min_sigma=0.05):
    """The model as P1 writes it, z summed out, for two coefficients, compiled."""
    with pm.Model() as model:
        log_y, X = pm.Data("log_y", np.zeros(60)), pm.Data("X", np.ones((60, 2)))
        weights = pm.Data("weights", np.ones(60))
        gamma = pm.Gamma("gamma", 1, 1)
        pi = pm.Dirichlet("pi", pt.repeat(gamma / K, K))
        s = pm.HalfStudentT("s", nu=3, sigma=1, shape=2)
        correlation = pm.Uniform("correlation", -1, 1)
        z = pm.Normal("z", 0, 1, shape=(K, 2))
        slope = correlation * z[:, 0] + pt.sqrt(1 - correlation**2) * z[:, 1]
        beta = pm.Deterministic("beta", s * pt.stack([z[:, 0], slope], axis=1))
        excess = pm.HalfStudentT("excess", nu=3, sigma=1, shape=K)
        sigma = pm.Deterministic("sigma", min_sigma + excess)
        mixture = pm.NormalMixture.dist(w=pi, mu=X @ beta.T, sigma=sigma)
        pm.Potential("y", (weights * pm.logp(mixture, log_y)).sum())
    return nutpie.compile_pymc_model(model)


def sample_textbook_model(textbook, log_y, X, weights):
    return nutpie.sample(
        textbook.with_data(log_y=log_y, X=X, weights=weights),
        draws=6000,
        tune=1500,
        chains=2,
        cores=2,
        target_accept=0.97,
        seed=15,
        save_warmup=False,
        progress_bar=False,
    )


def invariant_quantities(posterior, log_y, X):
    """Quantities of shape (chain, draw) that no order of the components changes."""
    gamma, pi, s, beta, sigma = (
        posterior[name].to_numpy() for name in ("gamma", "pi", "s", "beta", "sigma")
    )
    quantities = {
        "gamma": gamma,
        "log s of the intercept": np.log(s[..., 0]),
        "log s of the slope": np.log(s[..., 1]),
        "largest pi": pi.max(axis=-1),
        "log of the product of the sigmas": np.log(sigma).sum(axis=-1),
        "log of the smallest sigma": np.log(sigma.min(axis=-1)),
    }
    for at in (-1.0, 1.0):
        mean = beta @ np.array([1, at])
        quantities[f"mean at {at:g}"] = (pi * mean).sum(axis=-1)
        for level in (0.05, 0.25, 0.5, 0.75, 0.95):
            point = np.quantile(log_y, level)
            below = (pi * stats.norm.cdf(point, mean, sigma)).sum(axis=-1)
            quantities[f"share below the quantile of {level} at {at:g}"] = below
    for i in (0, 17, 33):
        terms = stats.norm.logpdf(log_y[i], beta @ X[i], sigma)
        quantities[f"log density of record {i}"] = logsumexp(
            terms + np.log(np.maximum(pi, 1e-300)), axis=-1
        )
    return quantities


def standard_error(values):
    return values.std() / np.sqrt(ess(values))


def assert_same_posterior(quantities, others):
    differ = []
    for name, values in quantities.items():
        other = others[name]
        for label, function in (("mean", np.asarray), ("square", np.square)):
            first, second = (
                function(values - other.mean()),
                function(other - other.mean()),
            )
            error = np.hypot(standard_error(first), standard_error(second))
            if not abs(first.mean() - second.mean()) < 4 * error:
                z = (first.mean() - second.mean()) / error
                differ.append(f"{label} of {name}: {z:.1f} standard errors")
    assert not differ, "\n".join(differ)


@pytest.fixture(scope="module")
def overlapping():
    """Two regressions that overlap, in 60 records."""
    rng = np.random.default_rng(14)
    x = rng.normal(size=60)
    second = rng.uniform(size=60) < 0.4
    mean = np.where(second, 2.5 - 0.4 * x, 0.5 + 0.6 * x)
    log_y = rng.normal(mean, np.where(second, 0.7, 0.4))
    return pp.MixtureSynthesizer(np.exp(log_y), x[:, None], n_components=2)


def weights_of(kind):
    rng = np.random.default_rng(16)
    return {
        "scalar": np.ones(60),
        "vector": rng.uniform(size=60),
        "deletion": (np.arange(60) % 4 > 0).astype(float),
        "small": rng.uniform(0, 0.1, size=60),
    }[kind]


@pytest.mark.parametrize("kind", ["scalar", "vector", "deletion", "small"])
def test_fit_is_the_posterior_of_the_textbook_model(overlapping, textbook, kind):
    log_y, X, weights = overlapping.log_y, overlapping.X, weights_of(kind)
    fit = fitted(overlapping, weights, draws=6000)
    assert fit.attrs["warned"] == []
    kept = weights > 0
    other = sample_textbook_model(textbook, log_y[kept], X[kept], weights[kept])
    assert_same_posterior(
        invariant_quantities(fit["posterior"], log_y, X),
        invariant_quantities(other["posterior"], log_y, X),
    )


class ByNUTS(pp.MixtureSynthesizer):
    """The same model, whose mechanism the sweeps do not know."""

    sampler_settings = MappingProxyType({"target_accept": 0.97})

    def record_term(self, log_likelihood, weights):
        return weights * log_likelihood


def test_fit_is_the_posterior_of_its_own_model(overlapping):
    log_y, X, weights = overlapping.log_y, overlapping.X, weights_of("scalar")
    own = ByNUTS(overlapping.y, X[:, 1:], n_components=2)
    by_nuts = fitted(own, weights, draws=3000, tune=1000, chains=2)
    assert "diverging" in by_nuts["sample_stats"]
    assert "occupied" not in by_nuts["sample_stats"]
    fit = fitted(overlapping, weights, draws=6000)
    found, expected = (
        invariant_quantities(each["posterior"], log_y, X) for each in (fit, by_nuts)
    )
    # With coefficients that are not divided by s, NUTS hardly reaches s near 0, where
    # small weights let coefficients be. The textbook model divides them.
    for name in ("log s of the intercept", "log s of the slope"):
        del found[name]
    assert_same_posterior(found, expected)


@pytest.fixture(scope="module")
def textbook_of_shared_slopes(K=2, min_sigma=0.05):
    """An intercept and a slope by component, and a slope that they share."""
    with pm.Model() as model:
        log_y, X = pm.Data("log_y", np.zeros(60)), pm.Data("X", np.ones((60, 3)))
        weights = pm.Data("weights", np.ones(60))
        gamma = pm.Gamma("gamma", 1, 1)
        pi = pm.Dirichlet("pi", pt.repeat(gamma / K, K))
        s = pm.HalfStudentT("s", nu=3, sigma=1, shape=3)
        correlation = pm.Uniform("correlation", -1, 1)
        z, common = pm.Normal("z", 0, 1, shape=(K, 2)), pm.Normal("common", 0, 1)
        slope = correlation * z[:, 0] + pt.sqrt(1 - correlation**2) * z[:, 1]
        intercept, shared = s[0] * z[:, 0], s[2] * common
        mean = intercept + X[:, 1, None] * (s[1] * slope)
        mean = mean + ((X[:, 2] - X[:, 2].mean()) * shared)[:, None]
        columns = [
            intercept - X[:, 2].mean() * shared,
            s[1] * slope,
            pt.repeat(shared, K),
        ]
        pm.Deterministic("beta", pt.stack(columns, axis=1))
        excess = pm.HalfStudentT("excess", nu=3, sigma=1, shape=K)
        sigma = pm.Deterministic("sigma", min_sigma + excess)
        mixture = pm.NormalMixture.dist(w=pi, mu=mean, sigma=sigma)
        pm.Potential("y", (weights * pm.logp(mixture, log_y)).sum())
    return nutpie.compile_pymc_model(model)


def shares_a_slope(overlapping, kind=pp.MixtureSynthesizer):
    """A file with a predictor more, far from 0, that moves both groups alike."""
    rng = np.random.default_rng(19)
    u = rng.normal(2, 1, size=60)
    X = np.column_stack([u, overlapping.X[:, 1]])
    y = np.exp(overlapping.log_y + 0.5 * (u - 2))
    return kind(y, X, n_components=2, varying=["x1"])


def quantities_of_shared_slopes(posterior, log_y, X):
    """What no order changes, with the shared slope and at its predictor's mean."""
    values = {
        name: posterior[name].to_numpy()
        for name in ("gamma", "pi", "s", "beta", "sigma")
    }
    slope, s = values["beta"][..., 0, 2], values["s"]
    own = values["beta"][..., :2].copy()
    own[..., 0] += X[:, 2].mean() * slope[..., None]
    values |= {"beta": own, "s": s[..., :2]}
    arrays = {name: xr.DataArray(value) for name, value in values.items()}
    quantities = invariant_quantities(arrays, log_y, X[:, :2])
    return quantities | {
        "shared slope": slope,
        "log of its scale": np.log(s[..., 2]),
    }


@pytest.mark.parametrize("kind", ["scalar", "vector", "small"])
def test_fit_of_shared_slopes_is_the_posterior_of_the_textbook_model(
    overlapping, textbook_of_shared_slopes, kind
):
    synthesizer, weights = shares_a_slope(overlapping), weights_of(kind)
    X, log_y = synthesizer.X[:, [0, 2, 1]], synthesizer.log_y
    fit = fitted(synthesizer, weights, draws=6000)
    other = sample_textbook_model(textbook_of_shared_slopes, log_y, X, weights)
    found = fit["posterior"].to_dataset().isel(predictor=[0, 2, 1])
    assert_same_posterior(
        quantities_of_shared_slopes(found, log_y, X),
        quantities_of_shared_slopes(other["posterior"], log_y, X),
    )


def test_shared_slopes_are_the_posterior_of_their_own_model(overlapping):
    own, weights = shares_a_slope(overlapping, ByNUTS), weights_of("scalar")
    X, log_y = own.X[:, [0, 2, 1]], own.log_y
    by_nuts = fitted(own, weights, draws=3000, tune=1000, chains=2)
    fit = fitted(shares_a_slope(overlapping), weights, draws=6000)
    found, expected = (
        quantities_of_shared_slopes(
            each["posterior"].to_dataset().isel(predictor=[0, 2, 1]), log_y, X
        )
        for each in (fit, by_nuts)
    )
    for name in ("log s of the intercept", "log s of the slope", "log of its scale"):
        del found[name]
    assert_same_posterior(found, expected)


def test_weights_of_zero_leave_the_prior_of_shared_slopes(overlapping):
    synthesizer = shares_a_slope(overlapping)
    posterior = fitted(synthesizer, np.zeros(60), draws=6000)["posterior"]
    slope, s = posterior["beta"][..., 0, 1], posterior["s"].to_numpy()
    own = {name: posterior[name] for name in ("gamma", "pi", "sigma")}
    own["s"] = s[..., [0, 2]]
    own["beta"] = posterior["beta"].to_numpy()[..., [0, 2]]
    own["beta"][..., 0] += synthesizer.X[:, 1].mean() * slope.to_numpy()[..., None]
    rng = np.random.default_rng(3)
    scale = np.abs(rng.standard_t(3, size=(1, 400_000)))
    prior = statistics_of_prior(prior_draws(2, 2, 400_000))
    prior |= {"slope": rng.normal(0, scale), "scale": scale}
    draws = statistics_of_prior(own) | {"slope": slope, "scale": s[..., 1]}
    assert_same_distribution(draws, prior)


# Calibration by simulation


@pytest.mark.parametrize("varying", [None, ["x0"]])
def test_simulation_based_calibration(varying, monkeypatch):
    """Ranks of true values among draws given data simulated from them (Talts et al. 2018)."""
    n, K, replications, thinned, rng = 12, 2, 1000, 19, np.random.default_rng(20)
    monkeypatch.setattr(mixture_chains, "SWEEPS_UNWEIGHTED", (5, 5, 1))
    X = rng.normal(size=(n, 2 if varying else 1))
    design = np.column_stack([np.ones(n), X])
    truth = {name: draws[0] for name, draws in prior_draws(K, 2, replications).items()}
    scale = np.abs(rng.standard_t(3, size=replications))
    slope = rng.normal(0, scale)
    ranks = []
    for j in range(replications):
        true = {name: draws[j] for name, draws in truth.items()}
        own = np.ascontiguousarray(design[:, :2])
        Z = design[:, 2:] - design[:, 2:].mean(axis=0)
        k = rng.choice(K, size=n, p=true["pi"])
        mean = (own * true["beta"][k]).sum(axis=1)
        if varying:
            mean += Z[:, 0] * slope[j]
            true |= {"slope": slope[j : j + 1], "scale": scale[j : j + 1]}
        log_y = rng.normal(mean, true["sigma"][k])
        levels = levels_of(own, np.array([[-own[:, 1].mean(), 1]]))
        data = Records(log_y, own, np.ones(n), 0.05, Z, levels)
        bar = tqdm(disable=True)
        found, _, _ = sample(data, K, 8 * thinned, 60, 1, j, 1, bar, lambda _: {})
        draws = {name: values[0, 7::8] for name, values in found.items()}
        functions = calibrated(draws, own, Z, log_y)
        expected = calibrated({n: v[None] for n, v in true.items()}, own, Z, log_y)
        ranks.append({f: (functions[f] < expected[f]).sum() for f in functions})
    for name, ranked in pd.DataFrame(ranks).items():
        counts = np.bincount(ranked, minlength=thinned + 1)
        assert stats.chisquare(counts).pvalue > 1e-4, name


def calibrated(draws, X, Z, log_y):
    """Functions of draws, and of the data, that do not depend on the order of components."""
    pi, beta, sigma = draws["pi"], draws["beta"], draws["sigma"]
    mean = beta @ X.T
    functions = {}
    if Z.shape[1]:
        slope = draws["slope"][:, 0]
        mean = mean + (slope[:, None] * Z[:, 0])[:, None]
        functions = {"slope": slope, "scale": draws["scale"][:, 0]}
    with np.errstate(divide="ignore"):
        terms = np.log(pi)[..., None] + stats.norm.logpdf(log_y, mean, sigma[..., None])
    return functions | {
        "gamma": draws["gamma"],
        "first s": draws["s"][:, 0],
        "last s": draws["s"][:, -1],
        "largest pi": pi.max(axis=1),
        "smallest sigma": sigma.min(axis=1),
        "mean": (pi[..., None] * mean).sum(axis=(1, 2)),
        "log-likelihood": logsumexp(terms, axis=1).sum(axis=1),
    }


def test_two_components_leave_the_prior_without_data(overlapping):
    assert_prior(fitted(overlapping, np.zeros(60), draws=6000), 2, 2)


# Fits of simulated data

TRUE_PI = np.array([0.6, 0.4])
TRUE_BETA = np.array([[9, 0.3, 0.5, -0.2], [11, -0.2, 0.2, 0.3]])
TRUE_SIGMA = np.array([0.3, 0.5])


def simulated():
    rng = np.random.default_rng(17)
    n = 400
    X = pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "sex": rng.choice(["f", "m"], size=n),
            "hours": rng.uniform(size=n),
        }
    )
    design = np.column_stack([np.ones(n), X["age"], X["sex"] == "m", X["hours"]])
    k = rng.choice(2, p=TRUE_PI, size=n)
    log_y = rng.normal((design * TRUE_BETA[k]).sum(axis=1), TRUE_SIGMA[k])
    return np.exp(log_y), X, design.astype(float)


@pytest.fixture(scope="module")
def regressions():
    y, X, _ = simulated()
    return pp.MixtureSynthesizer(y, X, n_components=4)


@pytest.fixture(scope="module")
def regression_fit(regressions):
    return fitted(regressions)


def test_an_easy_fit_converges(regression_fit):
    assert not regression_fit.attrs["not_converged"]


def test_a_fit_warns_of_nothing_else(regression_fit):
    assert regression_fit.attrs["warned"] == []


def test_structure_of_a_fit(regressions, regression_fit):
    fit = regression_fit
    assert set(fit.children) == {
        "posterior",
        "sample_stats",
        "constant_data",
        "label_invariant",
    }
    assert regressions.predictors == ["intercept", "age", "sex=m", "hours"]
    posterior = fit["posterior"].to_dataset()
    dims = {
        "gamma": (),
        "pi": ("component",),
        "beta": ("component", "predictor"),
        "sigma": ("component",),
        "s": ("predictor",),
    }
    for name, wanted in dims.items():
        assert posterior[name].dims == ("chain", "draw", *wanted)
    assert (
        dict(posterior.sizes).items()
        >= {
            "chain": 5,
            "draw": 1000,
            "component": 4,
            "predictor": 4,
        }.items()
    )
    assert list(posterior["predictor"].to_numpy()) == regressions.predictors
    np.testing.assert_array_equal(fit["constant_data"]["weights"], np.ones(400))
    assert set(fit["label_invariant"].data_vars) == {
        "log_likelihood",
        "mean",
        "distribution",
        "released_quantile",
        "released_near_own",
    }
    stats = fit["sample_stats"].to_dataset()
    assert set(stats.data_vars) == {"occupied"}
    assert stats["occupied"].dims == ("chain", "draw")
    settings = {"draws": 1000, "tune": 1000, "chains": 5, "random_seed": 1}
    assert fit.attrs.items() >= settings.items()
    assert fit.attrs["synthesizer"] == "MixtureSynthesizer"


def test_a_fit_holds_no_coordinates_of_the_sampler(regression_fit):
    assert set(regression_fit["posterior"].data_vars) == {
        "gamma",
        "pi",
        "beta",
        "sigma",
        "s",
    }


def test_draws_are_in_range(regression_fit):
    posterior = regression_fit["posterior"]
    np.testing.assert_allclose(posterior["pi"].sum("component"), 1, rtol=1e-12)
    assert (posterior["pi"] >= 0).all()
    assert (posterior["sigma"] > 0.05).all()
    assert (posterior["s"] > 0).all()
    assert (posterior["gamma"] > 0).all()
    occupied = regression_fit["sample_stats"]["occupied"]
    assert ((occupied >= 1) & (occupied <= 4)).all()


def true_log_density(log_y, design):
    return by_scipy(log_y, TRUE_BETA @ design.T, np.log(TRUE_PI), np.log(TRUE_SIGMA))[0]


def test_log_density_of_the_data_is_near_the_true_one(regressions, regression_fit):
    _, _, design = simulated()
    total = regressions.log_likelihood(regression_fit).sum("record")
    gain = total - true_log_density(regressions.log_y, design).sum()
    # Of p = 11 parameters: the mean of the gain has mean 0 and variance p / 2.
    assert abs(float(gain.mean())) < 4 * np.sqrt(11 / 2)


def test_distribution_of_the_data_is_found(regressions, regression_fit):
    posterior = regression_fit["posterior"]
    pi, beta, sigma = (posterior[name].to_numpy() for name in ("pi", "beta", "sigma"))
    spaced = np.s_[:, ::20]
    mean = np.einsum("ir,cskr->csik", regressions.X, beta[spaced])
    true_mean = regressions.X @ TRUE_BETA.T
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        point = np.quantile(regressions.log_y, level)
        below = stats.norm.cdf(point, mean, sigma[spaced][:, :, None])
        share = (pi[spaced][:, :, None] * below).sum(axis=-1).mean()
        truth = (
            (TRUE_PI * stats.norm.cdf(point, true_mean, TRUE_SIGMA)).sum(axis=1).mean()
        )
        assert abs(share - truth) < 4 * np.sqrt(level * (1 - level) / 400)


def parameters(fit, *at):
    return (fit["posterior"][name].to_numpy()[at] for name in ("pi", "beta", "sigma"))


def test_label_invariant_quantities_of_a_fit(regressions, regression_fit):
    group = regression_fit["label_invariant"]
    y = regressions.log_y
    every = regressions.log_likelihood(regression_fit).to_numpy()
    by_rank = np.argsort(y, kind="stable")[np.round(group["rank"] * 399).astype(int)]
    assert {y.argmin(), y.argmax()} <= {*by_rank}
    np.testing.assert_allclose(
        group["log_likelihood"], every[:, :, by_rank], rtol=1e-10
    )
    distribution = group["distribution"].to_numpy()
    assert ((distribution >= 0) & (distribution <= 1)).all()
    assert (np.diff(distribution, axis=-1) >= 0).all()
    records = np.argsort(y, kind="stable")[np.linspace(0, 399, 60).astype(int)]
    pi, beta, sigma = parameters(regression_fit, 1, 7)
    mean = regressions.X[records] @ beta.T
    np.testing.assert_allclose(group["mean"][1, 7], (mean @ pi).mean(), rtol=1e-10)
    below = stats.norm.cdf(np.quantile(y, 0.25), mean, sigma) @ pi
    place = list(group["below"]).index(0.25)
    np.testing.assert_allclose(distribution[1, 7, place], below.mean(), rtol=1e-10)


def test_what_a_draw_releases_is_judged(regressions, regression_fit):
    group = regression_fit["label_invariant"]
    y, log_y, levels = regressions.y, regressions.log_y, group["level"].to_numpy()
    pi, beta, sigma = parameters(regression_fit, 2, 5)
    mean = beta @ regressions.X.T
    _, share = by_scipy(log_y, mean, np.log(np.maximum(pi, 1e-300)), np.log(sigma))
    released = stats.norm(mean, sigma[:, None])
    near = released.cdf(np.log(1.2 * y)) - released.cdf(np.log(0.8 * y))
    np.testing.assert_allclose(
        group["released_near_own"][2, 5], (share * near).sum() / 400, rtol=1e-6
    )
    points = np.quantile(log_y, levels)[:, None, None]
    below, density = (
        (share * function(points)).sum(axis=(1, 2)) / 400
        for function in (released.cdf, released.pdf)
    )
    expected = np.exp(points.ravel() + (levels - below) / density)
    np.testing.assert_allclose(group["released_quantile"][2, 5], expected, rtol=1e-6)


def test_what_is_judged_is_what_is_released(regressions, regression_fit):
    group = regression_fit["label_invariant"].to_dataset().mean(("chain", "draw"))
    synthetic = regressions.synthesize(regression_fit, 400, random_seed=2).to_numpy()
    near = (abs(synthetic - regressions.y) <= 0.2 * regressions.y).mean(axis=1)
    assert abs(near.mean() - group["released_near_own"]) < 4 * near.std() / 20
    for level, quantile in zip(
        group["level"].to_numpy(), group["released_quantile"].to_numpy(), strict=True
    ):
        below = (synthetic <= quantile).mean(axis=1)
        assert abs(below.mean() - level) < 4 * below.std() / 20


def test_log_likelihood_is_that_of_the_draws(regressions, regression_fit):
    result = regressions.log_likelihood(regression_fit)
    assert result.dims == ("chain", "draw", "record")
    assert result.shape == (5, 1000, 400)
    posterior = regression_fit["posterior"]
    for chain, draw in ((0, 0), (0, 999), (1, 0), (3, 500)):
        pi, beta, sigma = (
            posterior[name].to_numpy()[chain, draw] for name in ("pi", "beta", "sigma")
        )
        with np.errstate(divide="ignore"):  # an empty component's share may be 0
            log_pi = np.log(pi)
        expected, _ = by_scipy(
            regressions.log_y, beta @ regressions.X.T, log_pi, np.log(sigma)
        )
        np.testing.assert_allclose(result[chain, draw], expected, rtol=1e-10)


SHORT = {"draws": 20, "tune": 30}


@pytest.mark.parametrize("weights", [np.ones(400), np.full(400, True)])
def test_weights_of_one_are_the_default(regressions, weights):
    xr.testing.assert_equal(
        fitted(regressions, weights, **SHORT)["posterior"].to_dataset(),
        fitted(regressions, **SHORT)["posterior"].to_dataset(),
    )


def test_a_seed_determines_the_fit(regressions):
    first, again, other = (
        fitted(regressions, random_seed=seed, **SHORT)["posterior"].to_dataset()
        for seed in (3, 3, 4)
    )
    xr.testing.assert_equal(first, again)
    assert not np.isin(other["gamma"], first["gamma"]).any()


def test_the_result_does_not_depend_on_the_number_of_cores(regressions):
    several = fitted(regressions, **SHORT)
    with joblib.parallel_config("sequential"):
        one = fitted(regressions, **SHORT)
    xr.testing.assert_equal(
        one["posterior"].to_dataset(), several["posterior"].to_dataset()
    )


def test_weights_matter(regressions):
    group = np.arange(400) < 100
    first, second = (
        fitted(regressions, weights, **SHORT)["posterior"]["gamma"]
        for weights in (group, 0.3 + 0 * group)
    )
    assert not np.isin(first, second).any()


def test_a_fit_compiles_no_model(regressions, monkeypatch):
    monkeypatch.setattr(nutpie, "compile_pymc_model", None)
    assert fitted(regressions, **SHORT)["posterior"].sizes["chain"] == 5


def test_other_data_have_the_same_form(regressions):
    y, X, _ = simulated()
    other = pp.MixtureSynthesizer(y[::-1], X, n_components=4)
    assert other._form == regressions._form
    assert other._fingerprint != regressions._fingerprint


@pytest.mark.parametrize(
    "other",
    [
        lambda y, X: pp.MixtureSynthesizer(y, X, n_components=5),
        lambda y, X: pp.MixtureSynthesizer(y, X, n_components=4, min_sigma=0.1),
        lambda y, X: pp.MixtureSynthesizer(y, X.rename(columns={"age": "years"}), 4),
        lambda y, X: pp.MixtureSynthesizer(y[:-1], X[:-1], n_components=4),
    ],
    ids=["components", "min_sigma", "names", "length"],
)
def test_other_models_have_another_form(regressions, other):
    y, X, _ = simulated()
    assert other(y, X)._form != regressions._form


def test_a_fit_of_other_data_is_refused(regression_fit):
    y, X, _ = simulated()
    other = pp.MixtureSynthesizer(y[::-1], X, n_components=4)
    for method in (other.synthesize, other.log_likelihood):
        with pytest.raises(ValueError, match=r"^fit must come from this MixtureSynth"):
            method(regression_fit)


@pytest.mark.parametrize(
    "changes", [{"min_sigma": 0.06}, {"n_components": 3}, {"shift": 1}], ids=str
)
def test_a_fit_with_other_settings_is_refused(regression_fit, changes):
    y, X, _ = simulated()
    other = pp.MixtureSynthesizer(y, X, **({"n_components": 4} | changes))
    with pytest.raises(ValueError, match=r"^fit must come from this MixtureSynth"):
        other.synthesize(regression_fit, random_seed=1)


# Synthetic data


def test_synthetic_data(regressions, regression_fit):
    synthetic = regressions.synthesize(regression_fit, random_seed=1)
    assert synthetic.shape == (20, 400)
    assert (synthetic > 0).all()
    assert np.isfinite(synthetic).all()
    assert len(np.unique(synthetic)) == 8000


def test_a_seed_determines_the_synthetic_data(regressions, regression_fit):
    first = regressions.synthesize(regression_fit, 3, random_seed=1)
    np.testing.assert_array_equal(
        regressions.synthesize(regression_fit, 3, random_seed=1), first
    )
    other = regressions.synthesize(regression_fit, 3, random_seed=2)
    assert not np.isin(other, first).any()


def test_synthetic_data_are_distributed_as_the_data(regressions, regression_fit):
    synthetic = regressions.synthesize(regression_fit, 200, random_seed=1)
    for level in (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95):
        below = (synthetic < np.quantile(regressions.y, level)).mean()
        assert abs(below - level) < 4 * np.sqrt(level * (1 - level) / 400)
    log_synthetic = np.log(synthetic)
    shift = log_synthetic.mean(axis=0) - regressions.log_y
    assert np.corrcoef(log_synthetic.mean(axis=0), regressions.log_y)[0, 1] > 0.9
    assert abs(shift.mean()) < 4 * shift.std() / np.sqrt(400)


def test_allocations_agree_where_all_weights_are_one(regressions, regression_fit):
    np.testing.assert_array_equal(
        regressions.synthesize(regression_fit, 5, allocation="weighted", random_seed=1),
        regressions.synthesize(regression_fit, 5, allocation="density", random_seed=1),
    )
