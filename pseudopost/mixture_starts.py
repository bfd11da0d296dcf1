"""Where the chains of the mixture start."""

import numpy as np

from pseudopost.mixture_sweeps import State, normal_mixture


def start(data, K, occupied, seed):
    """Start from a weighted maximum likelihood fit of fewer components, or as many.

    Parameters
    ----------
    data : Records
    K : int
    occupied : int
        Components of that fit, at most K; the others start empty.
    seed : int
        Seed of the fit's own start.

    Returns
    -------
    State
    """
    y, slope = data.y, np.empty(0)
    if data.Z.size:
        design = np.column_stack([data.X, data.Z])
        slope = np.linalg.lstsq(design, y)[0][data.X.shape[1] :]
        y = y - data.Z @ slope
    _, pi, beta, sigma = expectation_maximization(
        y, data.X, data.weights, occupied, data.floor, seed
    )
    empty = K - occupied
    pi = np.concatenate([pi, np.full(empty, 0.01 / max(empty, 1))])
    beta = np.concatenate([beta, np.repeat(beta[:1], empty, axis=0)])
    return State(
        log_share=np.log(pi),
        beta=beta,
        sigma=np.concatenate([sigma, np.full(empty, sigma.max())]),
        gamma=np.ones(1),
        log_t=np.log(np.maximum(np.sqrt((beta**2).mean(axis=0)), 0.05)),
        T=np.eye(K),
        mean=beta @ data.X.T,
        z=np.full(len(y), -1),
        size=np.zeros(K, dtype=np.int64),
        slope=slope,
        log_scale=np.log(np.maximum(abs(slope), 0.05)),
    )


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
    return objective, pi[largest], beta[largest], sigma[largest]
