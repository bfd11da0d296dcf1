"""The densities and linear maps of the mixture that take most of its time, compiled."""

import math

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from pseudopost.compiled import CompiledOp, compiled

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
# Of the exponential, the highest power first.
TAYLOR = tuple(1 / math.factorial(j) for j in range(12, -1, -1))


def plain_mixture_log_density(y, mean, log_pi, log_sigma):
    """Log density of each value under a normal mixture, as one would write it.

    Parameters
    ----------
    y : array-like, shape (n,)
    mean : TensorVariable, shape (K, n)
    log_pi, log_sigma : TensorVariable, shape (K,)

    Returns
    -------
    TensorVariable, shape (n,)
    """
    logp = pm.logp(pm.Normal.dist(mean, pt.exp(log_sigma)[:, None]), pt.as_tensor(y))
    return pt.logsumexp(log_pi[:, None] + logp, axis=0)


def mixture_log_density(y, mean, log_pi, log_sigma):
    """Compute :func:`plain_mixture_log_density` in compiled loops over the records.

    Parameters
    ----------
    y : array-like, shape (n,)
    mean : TensorVariable, shape (K, n)
    log_pi, log_sigma : TensorVariable, shape (K,)

    Returns
    -------
    TensorVariable, shape (n,)
    """
    return NormalMixture()(pt.as_tensor(y), mean, log_pi, log_sigma)[0]


def plain_precision_map(noise, push, log_information, design, prior):
    r"""Map noise to :math:`P^{-1} push + L'^{-1} noise`, for k matrices P = L L'.

    Parameters
    ----------
    noise, push : TensorVariable, shape (k, R)
    log_information : TensorVariable, shape (k,)
    design : TensorVariable, shape (k, R, R)
    prior : TensorVariable, shape (k, R)
        :math:`P = \exp(log\_information)\, design + \mathrm{diag}(prior)`.

    Returns
    -------
    beta : TensorVariable, shape (k, R)
    log_jacobian : TensorVariable, shape (k,)
        Of the map, :math:`-\log |L|`.
    """
    information = pt.exp(log_information)[:, None, None]
    root = pt.linalg.cholesky(
        information * design + prior[:, :, None] * pt.eye(prior.shape[1])
    )
    centred = pt.linalg.solve_triangular(root, push[..., None], lower=True)
    beta = pt.linalg.solve_triangular(
        pt.swapaxes(root, 1, 2), centred + noise[..., None], lower=False
    )[..., 0]
    return beta, -pt.log(pt.diagonal(root, axis1=1, axis2=2)).sum(axis=1)


@compiled()
def product(a, b):
    """Product of two matrices; PyTensor's own takes a minute to compile."""
    return np.ascontiguousarray(a) @ np.ascontiguousarray(b)


@compiled()
def means(beta, X):
    """Mean of every record in every component, shape (K, n)."""
    return np.ascontiguousarray(beta) @ np.ascontiguousarray(X).T


@compiled()
def solve_transposed(T, b):
    """Solve T' x = b for an upper triangular T of shape (K, K) and b of (K, R)."""
    x = b.copy()
    for i in range(len(T)):
        for j in range(i):
            x[i] -= T[j, i] * x[j]
        x[i] /= T[i, i]
    return x


@compiled()
def solve_transposed_pullback(g, T, x):
    """Gradients of sum(g x) in the upper triangle of T, and in b."""
    by_T, by_b = np.zeros_like(T), g.copy()
    for i in range(len(T) - 1, -1, -1):
        for j in range(i + 1, len(T)):
            by_b[i] -= T[i, j] * by_b[j]
        by_b[i] /= T[i, i]
        for j in range(i + 1):
            by_T[j, i] = -np.sum(x[j] * by_b[i])
    return by_T, by_b


@compiled(inline="always")
def exp_of_negative(x):
    """Exponential of a number of 0 or less, written so that it is vectorised.

    Below -40 it is 0: in a sum with exp(0) the term is lost in rounding.
    """
    value = 0.0
    for coefficient in TAYLOR:
        value = value * (x / 128) + coefficient
    for _ in range(7):
        value *= value
    return 0.0 if x < -40.0 else value


@compiled()
def normal_mixture(y, mean, log_pi, log_sigma):
    """Log density of each value, shape (n,), and its share per component, (K, n)."""
    K, n = mean.shape
    share, largest, total = np.empty((K, n)), np.full(n, -np.inf), np.zeros(n)
    constant = log_pi - log_sigma - HALF_LOG_2PI
    inverse = np.exp(-log_sigma)
    for k in range(K):
        for i in range(n):
            z = (y[i] - mean[k, i]) * inverse[k]
            share[k, i] = constant[k] - 0.5 * z * z
            largest[i] = max(largest[i], share[k, i])
    for k in range(K):
        for i in range(n):
            share[k, i] = exp_of_negative(share[k, i] - largest[i])
            total[i] += share[k, i]
    share /= total
    return largest + np.log(total), share


@compiled()
def normal_mixture_pullback(g, y, mean, log_sigma, share):
    """Gradients of sum_i g_i logp_i in the means, the log shares and the log sigmas."""
    K, n = mean.shape
    by_mean, by_pi, by_sigma = np.empty((K, n)), np.empty(K), np.empty(K)
    inverse = np.exp(-log_sigma)
    for k in range(K):
        total, squares = 0.0, 0.0
        for i in range(n):
            weight = g[i] * share[k, i]
            z = (y[i] - mean[k, i]) * inverse[k]
            by_mean[k, i] = weight * z * inverse[k]
            total += weight
            squares += weight * z * z
        by_pi[k], by_sigma[k] = total, squares - total
    return by_mean, by_pi, by_sigma


@compiled()
def precision_map(noise, push, log_information, design, prior):
    """Compute :func:`plain_precision_map`, and the inverse of each root, (k, R, R)."""
    K, R = noise.shape
    beta, log_jacobian = np.empty((K, R)), np.zeros(K)
    inverse, push = np.zeros((K, R, R)), np.ascontiguousarray(push)
    for k in range(K):
        P = np.exp(log_information[k]) * design[k]
        for i in range(R):
            P[i, i] += prior[k, i]
            inverse[k, i, i] = 1
        # Gaussian elimination of P and the identity: P becomes L', the identity 1 / L.
        for j in range(R):
            pivot = np.sqrt(P[j, j])
            log_jacobian[k] -= np.log(pivot)
            right, left = P[j], inverse[k, j]
            for c in range(j, R):
                right[c] /= pivot
            for c in range(j + 1):
                left[c] /= pivot
            for i in range(j + 1, R):
                factor, right_i, left_i = right[i], P[i], inverse[k, i]
                for c in range(i, R):
                    right_i[c] -= factor * right[c]
                for c in range(j + 1):
                    left_i[c] -= factor * left[c]
        beta[k] = inverse[k].T @ (inverse[k] @ push[k] + noise[k])
    return beta, log_jacobian, inverse


@compiled()
def precision_map_pullback(by_beta, by_jacobian, noise, push, prior, inverse):
    r"""Gradients in the noise, the push, the log information and the prior.

    With :math:`A` the lower triangle of :math:`L' \bar L`, its diagonal halved, the
    gradient in P is :math:`L'^{-1} A L^{-1}`. Its diagonal is the gradient in the
    prior; its product with :math:`\lambda M = P - \mathrm{diag}(prior)`, the gradient
    in :math:`\log \lambda`, needs no more than that, and the trace of A.
    """
    K, R = noise.shape
    by_noise, by_push, by_prior = np.empty((3, K, R))
    by_information = np.zeros(K)
    by_beta, push = np.ascontiguousarray(by_beta), np.ascontiguousarray(push)
    inverse = np.ascontiguousarray(inverse)
    for k in range(K):
        u, c = inverse[k] @ by_beta[k], inverse[k] @ push[k]
        w = c + noise[k]
        u_below, c_below, total = np.zeros(R), np.zeros(R), np.zeros(R)
        for i in range(R):
            row = inverse[k, i]
            diagonal = -0.5 * (by_jacobian[k] + u[i] * (w[i] + c[i]))
            total += row * (diagonal * row - w[i] * u_below - u[i] * c_below)
            u_below += u[i] * row
            c_below += c[i] * row
            by_information[k] += diagonal
        by_noise[k], by_push[k], by_prior[k] = u, u_below, total
        by_information[k] -= np.sum(prior[k] * total)
    return by_noise, by_push, by_information, by_prior


class Product(CompiledOp):
    """Wrap :func:`product`."""

    function = staticmethod(product)

    def outputs(self, a, b):
        """Type of the product."""
        return [pt.TensorType("float64", (a.type.shape[0], b.type.shape[1]))]

    def plain(self, *inputs):
        """Write the output in a form that has second derivatives."""
        return [pt.dot(*inputs)]

    def pullback(self, inputs, outputs, gradients):
        """Declare the gradients."""
        a, b = inputs
        return [Product()(gradients[0], b.T), Product()(a.T, gradients[0])]


class Means(CompiledOp):
    """Wrap :func:`means`."""

    function = staticmethod(means)

    def outputs(self, beta, X):
        """Type of the means."""
        return [pt.TensorType("float64", (beta.type.shape[0], X.type.shape[0]))]

    def plain(self, beta, X):
        """Write the output in a form that has second derivatives."""
        return [pt.dot(beta, X.T)]

    def pullback(self, inputs, outputs, gradients):
        """Declare the gradients."""
        beta, X = inputs
        return [Product()(gradients[0], X), Product()(gradients[0].T, beta)]


class SolveTransposed(CompiledOp):
    """Wrap :func:`solve_transposed`."""

    function = staticmethod(solve_transposed)

    def outputs(self, T, b):
        """Type of the solution."""
        return [b.type]

    def plain(self, T, b):
        """Write the output in a form that has second derivatives."""
        return [pt.linalg.solve_triangular(T.T, b, lower=True)]

    def pullback(self, inputs, outputs, gradients):
        """Declare the gradients."""
        return SolveTransposedPullback()(gradients[0], inputs[0], outputs[0])


class SolveTransposedPullback(CompiledOp):
    """Wrap :func:`solve_transposed_pullback`."""

    function = staticmethod(solve_transposed_pullback)

    def outputs(self, g, T, x):
        """Types of the gradients."""
        return T.type, g.type


class NormalMixture(CompiledOp):
    """Wrap :func:`normal_mixture`."""

    function = staticmethod(normal_mixture)

    def outputs(self, y, mean, *_):
        """Types of the log density and the shares."""
        return y.type, mean.type

    def plain(self, *inputs):
        """Write the outputs in a form that has second derivatives."""
        return [plain_mixture_log_density(*inputs)]

    def pullback(self, inputs, outputs, gradients):
        """Declare the gradients."""
        y, mean, _, log_sigma = inputs
        gradients = NormalMixturePullback()(
            gradients[0], y, mean, log_sigma, outputs[1]
        )
        return [pt.zeros_like(y), *gradients]


class NormalMixturePullback(CompiledOp):
    """Wrap :func:`normal_mixture_pullback`."""

    function = staticmethod(normal_mixture_pullback)

    def outputs(self, g, y, mean, log_sigma, share):
        """Types of the gradients."""
        return mean.type, log_sigma.type, log_sigma.type


class PrecisionMap(CompiledOp):
    """Wrap :func:`precision_map`."""

    function = staticmethod(precision_map)

    def outputs(self, noise, push, log_information, design, prior):
        """Types of the coefficients, their log Jacobians and the inverse roots."""
        return noise.type, log_information.type, design.type

    def plain(self, *inputs):
        """Write the outputs in a form that has second derivatives."""
        return plain_precision_map(*inputs)

    def pullback(self, inputs, outputs, gradients):
        """Declare the gradients."""
        noise, push, _, design, prior = inputs
        by_noise, by_push, by_information, by_prior = PrecisionMapPullback()(
            *gradients[:2], noise, push, prior, outputs[2]
        )
        return [by_noise, by_push, by_information, pt.zeros_like(design), by_prior]


class PrecisionMapPullback(CompiledOp):
    """Wrap :func:`precision_map_pullback`."""

    function = staticmethod(precision_map_pullback)

    def outputs(self, by_beta, by_jacobian, noise, push, prior, inverse):
        """Types of the gradients."""
        return noise.type, push.type, by_jacobian.type, prior.type
