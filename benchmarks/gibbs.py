"""Gibbs sweeps for the mixture with weights of 1, from few and from many components.

An experiment towards another sampler, not a part of the package. Prints the
log-likelihood and the number of occupied components as sweeps go on. The model is that
of MixtureSynthesizer, its correlations of coefficients integrated out. Run from the
repository root: python benchmarks/gibbs.py --data ce2016q1 --starts 2 6 10
"""

import argparse
import math
import time

import numpy as np
from numba import njit

import pseudopost as pp
from pseudopost.mixture_starts import expectation_maximization

SHIFT = {"consumer_expenditure": 10_000, "ce2016q1": 1000, "ce2014q1": 1000}


@njit
def log_half_t(value):
    """Log density of the half-t(3, 0, 1), bar a constant."""
    return -2 * math.log1p(value * value / 3)


@njit
def log_sigma_posterior(x, floor, count, squares):
    """Log density of x = log(sigma - floor), given a component's residuals."""
    sigma = floor + math.exp(x)
    fit = -count * math.log(sigma) - 0.5 * squares / sigma**2
    return fit + log_half_t(math.exp(x)) + x


@njit
def draw_sigma(sigma, floor, count, squares):
    """Slice sampling, with steps as wide as the posterior is."""
    x = math.log(sigma - floor)
    width = 0.5 / math.sqrt(1 + count / 20) + 0.02 if count else 2.0
    for _ in range(2):
        level = log_sigma_posterior(x, floor, count, squares)
        level += math.log(np.random.random())  # noqa: NPY002
        low = x - width * np.random.random()  # noqa: NPY002
        high = low + width
        while log_sigma_posterior(low, floor, count, squares) > level:
            low -= width
        while log_sigma_posterior(high, floor, count, squares) > level:
            high += width
        while True:
            new = low + (high - low) * np.random.random()  # noqa: NPY002
            if log_sigma_posterior(new, floor, count, squares) >= level:
                x = new
                break
            low, high = (new, high) if new < x else (low, new)
    return floor + math.exp(x)


@njit(fastmath=True)
def allocate(y, mean, log_pi, sigma, z):
    """Draw the component of every record; return the log-likelihood."""
    K, n = mean.shape
    share, total_log = np.empty(K), 0.0
    constant, inverse = log_pi - np.log(sigma), 1 / sigma
    for i in range(n):
        largest = -np.inf
        for k in range(K):
            scaled = (y[i] - mean[k, i]) * inverse[k]
            share[k] = constant[k] - 0.5 * scaled * scaled
            largest = max(largest, share[k])
        total = 0.0
        for k in range(K):
            if share[k] - largest > -30:
                total += math.exp(share[k] - largest)
            share[k] = total
        total_log += largest + math.log(total)
        u = total * np.random.random()  # noqa: NPY002
        k = 0
        while share[k] < u:
            k += 1
        z[i] = k
    return total_log - 0.5 * n * math.log(2 * math.pi)


@njit
def draw_components(y, X, z, beta, sigma, floor, inverse_W, precision):
    """Draw coefficients and sigma of one component after the other.

    Given T and two gamma scales for each predictor, the coefficients of a predictor
    are normal with precision `precision` times the inverse of W = T' T.
    """
    K, R = beta.shape
    count = np.zeros(K)
    for k in range(K):
        own = np.flatnonzero(z == k)
        count[k] = len(own)
        X_k, y_k = X[own], y[own]
        P = (X_k.T @ X_k) / sigma[k] ** 2
        push = (X_k.T @ y_k) / sigma[k] ** 2
        for r in range(R):
            others = inverse_W[k] @ np.ascontiguousarray(beta[:, r])
            push[r] -= precision[r] * (others - inverse_W[k, k] * beta[k, r])
            P[r, r] += precision[r] * inverse_W[k, k]
        root = np.linalg.cholesky(P)
        noise = np.random.normal(0, 1, R)  # noqa: NPY002
        beta[k] = np.linalg.solve(root.T, np.linalg.solve(root, push) + noise)
        residual = y_k - X_k @ beta[k]
        sigma[k] = draw_sigma(sigma[k], floor, count[k], residual @ residual)
    return count


@njit
def draw_shares(count, gamma, log_pi):
    """Draw the shares, and gamma with the shares integrated out."""
    K, n = len(count), count.sum()
    for k in range(K):
        shape = gamma / K + count[k]
        log_pi[k] = math.log(np.random.gamma(shape + 1, 1.0))  # noqa: NPY002
        log_pi[k] += math.log(np.random.random()) / shape  # noqa: NPY002
    log_pi -= log_pi.max()
    log_pi -= math.log(np.exp(log_pi).sum())
    for _ in range(5):
        new = gamma * math.exp(0.7 * np.random.normal())  # noqa: NPY002
        change = 0.0
        for value, sign in ((new, 1.0), (gamma, -1.0)):
            logp = math.lgamma(value) - math.lgamma(value + n) - value + math.log(value)
            for k in range(K):
                logp += math.lgamma(value / K + count[k]) - math.lgamma(value / K)
            change += sign * logp
        if math.log(np.random.random()) < change:  # noqa: NPY002
            gamma = new
    return gamma


@njit
def log_prior_row(t, square, D, K):
    """Log prior of a predictor's coefficients and of t; `square` is b' W^-1 b."""
    q = 1 + square / (t * t * D)
    return (
        -0.5 * (D - 1) * math.log(q)
        + log_half_t(t * math.sqrt(q))
        - (K - 1) * (math.log(t))
    )


@njit
def draw_scales(beta, inverse_W, t, D):
    """Draw t, then the gamma scales; return the precisions that they give."""
    K, R = beta.shape
    precision = np.empty(R)
    for r in range(R):
        b = np.ascontiguousarray(beta[:, r])
        square = b @ (inverse_W @ b)
        for _ in range(3):
            new = t[r] * math.exp(0.5 * np.random.normal())  # noqa: NPY002
            change = log_prior_row(new, square, D, K) - log_prior_row(
                t[r], square, D, K
            )
            if math.log(np.random.random()) < change:  # noqa: NPY002
                t[r] = new
        q = 1 + square / (t[r] ** 2 * D)
        one = np.random.gamma(0.5 * (D - 1), 1.0) / q  # noqa: NPY002
        two = np.random.gamma(2.0, 1.0) / (1 + t[r] ** 2 * q / 3)  # noqa: NPY002
        precision[r] = 2 * (one + two * t[r] ** 2 / 3) / (D * t[r] ** 2)
    return precision


@njit
def log_prior_of_T(T, beta, t, D):
    """Log prior of T and of the coefficients given T and t, bar a constant."""
    K, R = beta.shape
    logp = 0.0
    for k in range(K):
        diagonal = T[k, k] * math.sqrt(D)
        logp += (D - k - 1) * math.log(diagonal) - 0.5 * diagonal**2
        logp -= R * math.log(T[k, k]) + 0.5 * D * (T[k, k + 1 :] ** 2).sum()
    g = np.empty(K)
    for r in range(R):
        for i in range(K):
            g[i] = (beta[i, r] - T[:i, i] @ g[:i]) / T[i, i]
        logp += log_prior_row(t[r], g @ g, D, K)
    return logp


@njit
def move_T(T, beta, t, D, step=0.15):
    """Metropolis steps for the triangle that correlates the components."""
    K = len(T)
    old = log_prior_of_T(T, beta, t, D)
    for k in range(K):
        for j in range(k, K):
            kept, noise = T[k, j], step * np.random.normal()  # noqa: NPY002
            T[k, j] = kept * math.exp(noise) if j == k else kept + noise
            new = log_prior_of_T(T, beta, t, D)
            jacobian = noise if j == k else 0.0
            if math.log(np.random.random()) < new - old + jacobian:  # noqa: NPY002
                old = new
            else:
                T[k, j] = kept


@njit
def seed_numba(seed):
    """Seed the generator of compiled code."""
    np.random.seed(seed)  # noqa: NPY002


def read(data):
    """Return the synthesizer's file: positive incomes of places that are known."""
    if data == "consumer_expenditure":
        people = pp.datasets.consumer_expenditure(random_seed=1)
    else:
        people = pp.datasets.read_consumer_expenditure(f"data/{data}.csv.gz")
        people = people[(people["income"] > 0) & (people["region"] != "Suppressed")]
        people = people.drop(columns="urban_type")  # repeats urban
    X = people.drop(columns="income")
    X = X.apply(lambda column: column.cat.remove_unused_categories())
    return people["income"].to_numpy(), X


def sample(log_y, X, K, occupied, sweeps, floor=0.05, seed=1):
    """Yield the log-likelihood and the number of components above 1%."""
    n, R = X.shape
    D = max(R, K) + 1
    seed_numba(seed)
    fits = [
        expectation_maximization(log_y, X, np.ones(n), occupied, floor, seed * 100 + j)
        for j in range(3)
    ]
    _, pi, beta, sigma, _ = max(fits, key=lambda fit: fit[0])
    empty = K - occupied
    log_pi = np.log(np.r_[0.99 * pi, np.full(empty, 0.01 / max(empty, 1))])
    beta = np.concatenate([beta, np.repeat(beta[:1], empty, axis=0)])
    sigma = np.r_[sigma, np.full(empty, sigma.max())]
    t, T, gamma = np.full(R, 0.3), 0.7 * np.eye(K), 1.0
    z, by_column = np.zeros(n, dtype=np.int64), np.ascontiguousarray(X.T)
    for step in range(sweeps):
        inverse_W = np.linalg.inv(T.T @ T)
        precision = draw_scales(beta, inverse_W, t, D)
        logp = allocate(log_y, beta @ by_column, log_pi, sigma, z)
        count = draw_components(log_y, X, z, beta, sigma, floor, inverse_W, precision)
        gamma = draw_shares(count, gamma, log_pi)
        if step % 5 == 0:
            move_T(T, beta, t, D)
        yield logp, (count > 0.01 * n).sum()


def main():
    """Print ten lines for each start."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", choices=SHIFT, default="consumer_expenditure")
    parser.add_argument("--starts", type=int, nargs="+", default=[2, 8])
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--sweeps", type=int, default=20_000)
    args = parser.parse_args()
    y, X = read(args.data)
    model = pp.MixtureSynthesizer(y, X, args.components, shift=SHIFT[args.data])
    X = np.ascontiguousarray(model.X)
    for occupied in args.starts:
        print(f"{args.data}, {X.shape}: from {occupied} components", flush=True)
        start, found = time.process_time(), []
        for state in sample(model.log_y, X, args.components, occupied, args.sweeps):
            found.append(state)
            if len(found) % (args.sweeps // 10) == 0:
                last = np.array(found[-(args.sweeps // 10) :])
                print(
                    f"{len(found):7d}  log-likelihood {last[:, 0].mean():.1f} "
                    f"(sd {last[:, 0].std():.1f}), occupied {last[:, 1].mean():.2f}, "
                    f"{time.process_time() - start:.0f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
