"""Where the chains of the mixture start."""

import math

import numpy as np

from pseudopost.mixture_coordinates import FLOOR, OCCUPIED
from pseudopost.mixture_kernels import normal_mixture


def start_of_sampling(log_y, X, weights, K, min_sigma, starts=3, seed=0):
    """Where the chains start: the best of several weighted maximum likelihood fits.

    Parameters
    ----------
    log_y : ndarray, shape (n,)
    X : ndarray, shape (n, R)
    weights : ndarray, shape (n,)
    K : int
    min_sigma : float
    starts : int
        Number of fits with random starts.
    seed : int
        Seed of the starts: the same for all fits, so that only the data matter.

    Returns
    -------
    dict of ndarray
        Values of the model's ``start_...`` data.
    """
    R = X.shape[1]
    total = max(weights.sum(), 1.0)
    fits = [
        expectation_maximization(
            log_y, X, weights, min(K, OCCUPIED), min_sigma, seed + j
        )
        for j in range(starts)
    ]
    _, pi, beta, sigma, design = max(fits, key=lambda fit: fit[0])
    occupied, empty = len(pi), K - len(pi)
    # Empty components start from one regression for all records.
    _, _, beta_1, sigma_1, design_1 = expectation_maximization(
        log_y, X, weights, 1, min_sigma, seed
    )
    pi = np.concatenate([pi, np.full(empty, 0.002 / max(empty, 1))])
    beta = np.concatenate([beta, np.repeat(beta_1, empty, axis=0)])
    sigma = np.concatenate([sigma, np.repeat(sigma_1, empty)])
    design = np.concatenate([design, np.repeat(design_1, empty, axis=0)])
    pi /= pi.sum()
    t = np.clip(np.sqrt((beta[:occupied] ** 2).mean(axis=0)), 0.05, None)
    pull = np.einsum("krs,ks->kr", design, beta)
    xi = np.zeros((K, R))
    prior = t**-2
    prior[0] /= 1 + math.exp(FLOOR)
    for k in range(occupied):
        information = total * pi[k] / sigma[k] ** 2
        precision = information * design[k] + np.diag(prior)
        centre = np.linalg.solve(precision, information * pull[k])
        xi[k] = np.linalg.cholesky(precision).T @ (beta[k] - centre)
    root = np.sqrt(total * pi)
    log_sigma = np.log(sigma - min_sigma)
    return {
        "start_total": total,
        # Inverse of log_count_of, for counts above those where its tail begins.
        "start_share": np.maximum(2 * (root + np.log(-np.expm1(-root))), -1),
        "start_log_sigma": log_sigma,
        "start_z": log_sigma / np.sqrt(1 + 2 * total * pi),
        "start_log_t": np.log(t),
        "start_xi": xi,
        "start_design": design,
        "start_pull": pull,
    }


def expectation_maximization(
    log_y, X, weights, K, min_sigma, seed, max_steps=100, tolerance=1e-6
):
    """Penalised weighted maximum likelihood of a mixture of regressions.

    Parameters
    ----------
    log_y : ndarray, shape (n,)
    X : ndarray, shape (n, R)
    weights : ndarray, shape (n,)
    K : int
    min_sigma : float
    seed : int
    max_steps : int
    tolerance : float
        Relative change of the objective at which to stop.

    Returns
    -------
    objective : float
    pi : ndarray, shape (K,)
    beta : ndarray, shape (K, R)
    sigma : ndarray, shape (K,)
    design : ndarray, shape (K, R, R)
        Mean outer product of each component's predictors.
    """
    n, R = X.shape
    rng = np.random.default_rng(seed)
    # A weak prior: standard deviation .5 for the coefficients, 10 for the intercept.
    ridge = np.diag(np.r_[0.01, np.full(R - 1, 4.0)])
    residual = log_y - X @ np.linalg.lstsq(X, log_y)[0]
    share = np.full((K, n), 0.3 / K)
    share[(residual.argsort().argsort() * K) // n, np.arange(n)] += 0.7
    share *= rng.gamma(2, size=share.shape)
    share /= share.sum(axis=0)
    sigma, objective = np.full(K, residual.std() + min_sigma), -np.inf
    for _ in range(max_steps):
        weight = weights * share
        count = weight.sum(axis=1) + 1e-6
        pi = count / count.sum()
        gram = np.stack([(X * row[:, None]).T @ X for row in weight])
        beta = np.stack(
            [
                np.linalg.solve(gram[k] + ridge * sigma[k] ** 2, X.T @ (row * log_y))
                for k, row in enumerate(weight)
            ]
        )
        mean = beta @ X.T
        squares = (log_y - mean) ** 2
        sigma = np.sqrt(((weight * squares).sum(axis=1) + 0.1) / (count + 1))
        sigma = np.maximum(sigma, 1.2 * min_sigma)
        logp, share = normal_mixture(log_y, mean, np.log(pi), np.log(sigma))
        last, objective = (
            objective,
            weights @ logp - 0.5 * np.sum((beta @ ridge) * beta),
        )
        if objective - last < tolerance * abs(objective):
            break
    largest = np.argsort(-pi)
    design = gram[largest] / count[largest, None, None]
    return objective, pi[largest], beta[largest], sigma[largest], design
