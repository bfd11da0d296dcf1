"""Coordinates in which the mixture of regressions is quick to sample."""

import numpy as np
import pytensor.tensor as pt

from pseudopost.mixture_kernels import PrecisionMap, Product, SolveTransposed

# Components that sampling starts from; the others start empty.
OCCUPIED = 4
# Log of the smallest share of its starting variance that moves the intercept.
FLOOR = -4.0


def log_count_of(x, a):
    """Map the real line to the log of expected counts, so that x has unit scale.

    A count v far above 1 has a posterior standard deviation near its root, so v is
    quadratic in x; near 1 it is exponential; and far below, where only the prior of
    shape `a` is left, log v moves 1 / a times as fast as x.

    Parameters
    ----------
    x : TensorVariable
    a : TensorVariable
        Shape of the Dirichlet prior.

    Returns
    -------
    log_count, log_jacobian : TensorVariable
    """
    tail = -x - 2
    bent = x - (1 / a - 1) * pt.softplus(tail)
    # The softplus and its logarithm would underflow far below 0, where they are linear.
    half = pt.maximum(bent, -60) / 2
    log_root = pt.switch(bent < -60, bent / 2, pt.log(pt.softplus(half)))
    jacobian = pt.log1p((1 / a - 1) * pt.sigmoid(tail)) - pt.softplus(-half)
    return 2 * log_root, jacobian + pt.minimum(bent + 60, 0) / 2 - log_root


def log_half_t(value):
    """Log density of the half-t(3, 0, 1), bar a constant."""
    return -2 * pt.log1p(value**2 / 3)


def triangular_factor(log_d, o, K, D):
    r"""Draw what is left of the correlations of the coefficients.

    A matrix :math:`\Omega \sim \mathrm{LKJ}(1)` is :math:`U U'` with R rows drawn
    uniformly on the sphere in :math:`D = R + 1` dimensions; D must be above K, and a
    larger D gives :math:`\mathrm{LKJ}((D - R + 1) / 2)`. So the :math:`R \times K`
    matrix of coefficients is :math:`\mathrm{diag}(s) U W` with standard normal W. Split
    W into orthonormal columns times a triangular K by K matrix T: row r becomes
    :math:`s_r v_r T`, with :math:`v_r` the first K coordinates of a uniform point on
    the sphere, and :math:`T'T \sim \mathrm{Wishart}(D, I)`.

    Parameters
    ----------
    log_d : TensorVariable, shape (K,)
        Log of the diagonal over its typical size, in standard deviations.
    o : TensorVariable, shape (K (K - 1) / 2,)
        Standard normal: the elements above the diagonal.
    K, D : int

    Returns
    -------
    T : TensorVariable, shape (K, K)
        Divided by the root of D.
    log_prior : TensorVariable
        Of `log_d`, bar a constant.
    """
    degrees = D - np.arange(K)
    log_diagonal = log_d / np.sqrt(2 * degrees) + 0.5 * np.log(degrees)
    T = pt.diag(pt.exp(log_diagonal))[np.triu_indices(K, 1)].set(o) / np.sqrt(D)
    return T, (degrees * log_diagonal - 0.5 * pt.exp(2 * log_diagonal)).sum()


def coefficients(
    xi, log_information, design, pull, log_t, log_scale, T, K, first=OCCUPIED
):
    r"""Move coefficients from where they have unit scale to where the model needs them.

    A component of many records is known to its standard errors, an empty one only to
    its prior. With :math:`P_k = \lambda_k M_k + \mathrm{diag}(t)^{-2} = L_k L_k'` the
    map :math:`\beta_k = P_k^{-1} \lambda_k M_k b_k + L_k'^{-1} \xi_k` follows it from
    one to the other as its information :math:`\lambda_k` grows. The components that
    start occupied come first; the others have the prior that T gives them then.

    Parameters
    ----------
    xi : TensorVariable, shape (K, R)
    log_information : TensorVariable, shape (K,)
        Log of :math:`\lambda_k`, expected count over variance.
    design : TensorVariable, shape (K, R, R)
        :math:`M_k`, mean outer product of the component's predictors.
    pull : TensorVariable, shape (K, R)
        :math:`M_k b_k`, with its estimated coefficients :math:`b_k`.
    log_t : TensorVariable, shape (R,)
        Log of the prior scales.
    log_scale : TensorVariable, shape (R,)
        What takes their place in :math:`P_k` for the components that start occupied.
    T : TensorVariable, shape (K, K)
        From :func:`triangular_factor`.
    K : int
    first : int
        Number of components that start occupied.

    Returns
    -------
    beta : TensorVariable, shape (K, R)
    log_jacobian : TensorVariable
    """
    prior = pt.exp(-2 * pt.where(np.arange(K)[:, None] < first, log_scale, log_t))
    push = pt.exp(log_information)[:, None] * pull
    given = (log_information, design, prior)
    move = PrecisionMap()
    beta, log_jacobian, _ = move(xi[:first], push[:first], *(v[:first] for v in given))
    log_jacobian = log_jacobian.sum()
    if first < K:
        g = SolveTransposed()(T[:first, :first], beta)
        prior_mean = Product()(T[:first, first:].T, g) * pt.exp(-2 * log_t)
        rest = T[first:, first:]
        others, jacobian_of_others, _ = move(
            Product()(rest.T, xi[first:]),
            push[first:] + prior_mean,
            *(v[first:] for v in given),
        )
        beta = pt.concatenate([beta, others])
        log_jacobian += jacobian_of_others.sum()
        log_jacobian += log_t.shape[0] * pt.log(pt.diagonal(rest)).sum()
    return beta, log_jacobian


def log_prior_of_coefficients(beta, log_t, T, D):
    r"""Log prior of the coefficients and of their scales, given T.

    Parameters
    ----------
    beta : TensorVariable, shape (K, R)
    log_t : TensorVariable, shape (R,)
        Log of :math:`t_r = s_r \sqrt{1 - |v_r|^2}`.
    T : TensorVariable, shape (K, K)
        From :func:`triangular_factor`.
    D : int

    Returns
    -------
    log_prior : TensorVariable
        Bar a constant.
    s : TensorVariable, shape (R,)
        Prior scales :math:`s_r`.
    """
    K, R = beta.shape
    g = SolveTransposed()(T, beta) * pt.exp(-log_t)
    q = 1 + (g**2).sum(axis=0) / D
    s = pt.exp(log_t) * pt.sqrt(q)
    rows = -0.5 * (D - 1) * pt.log(q) + log_half_t(s) + (1 - K) * log_t
    return rows.sum() - R * pt.log(pt.diagonal(T)).sum(), s
