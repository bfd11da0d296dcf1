"""The normal example of the two chapters on P1's proofs."""

from dataclasses import dataclass

import numpy as np
from scipy import integrate, optimize, stats

D, t = 2.0, 0.1  # the constants of the lemma and of Theorem 1
SIZES = (100, 400, 1600)


@dataclass
class Example:
    """A file of normal records, with weights; A holds the first n_A of them.

    Attributes
    ----------
    n, n_A : int
    x : float
        The squared radius of the neighbourhood times n.
    weights : ndarray, shape (n,)
    C1, C3 : float
        Constants of condition A2.
    """

    n: int
    n_A: int
    x: float
    weights: np.ndarray
    C1: float = 1
    C3: float = 1

    @property
    def xi2(self):
        """Squared radius."""
        return self.x / self.n

    @property
    def edge(self):
        """Largest theta in the neighbourhood B_n."""
        return np.sqrt(2 * (np.sqrt(1 + self.xi2) - 1))

    @property
    def smallest(self):
        """Smallest weight."""
        return self.weights.min()

    @property
    def largest_A(self):
        """Largest weight in A."""
        return self.weights[: self.n_A].max()

    @property
    def largest(self):
        """Largest of all weights."""
        return self.weights.max()

    @property
    def C_star2(self):
        """Square of the constant of the printed lemma."""
        return 2 + self.C1**2 + self.C3**2


def example(n, x=None, low=(0.3, 0.7), C1=1, C3=1):
    """A file whose weights meet A2: `low` has the ends of those in A."""
    x = np.log(n) if x is None else x
    n_A = int(C1 * np.sqrt(n))
    common = 1 - C3 * np.sqrt(x / n / (n - n_A))
    weights = np.r_[np.linspace(*low, n_A), np.full(n - n_A, common)]
    return Example(n, n_A, x, weights, C1, C3)


class Uniform:
    """Pi uniform on [b/2, b]: every event of lines 31 is one of S = sum alpha_i X_i.

    Attributes
    ----------
    total, sd : float
        Sum of the weights, and standard deviation of S.
    slope, loss : float
        The averaged log ratio of record i is slope X_i - loss.
    """

    def __init__(self, e):
        self.n, self.edge = e.n, e.edge
        self.total, self.sd = e.weights.sum(), np.sqrt(e.weights @ e.weights)
        self.slope, self.loss = 3 * e.edge / 4, 7 * e.edge**2 / 24

    def log_integral(self, S):
        """Logarithm of the integral of exp(-r)."""
        grid = np.linspace(self.edge / 2, self.edge, 2001)
        g = grid * S - self.total * grid**2 / 2
        values = np.exp(g - g.max())
        return np.log(integrate.simpson(values, x=grid) * 2 / self.edge) + g.max()

    def integral_below(self, level):
        """log10 of the probability that the log integral is at most `level`."""
        far = 500 * self.sd
        S = optimize.brentq(lambda S: self.log_integral(S) - level, -far, far)
        return self.sum_below(S)

    def sum_below(self, S):
        """log10 of the probability of a sum of at most S."""
        return stats.norm.logcdf(S / self.sd) / np.log(10)

    def ratio_below(self, value):
        """The same for the weighted sum of averaged log ratios."""
        return self.sum_below((value + self.total * self.loss) / self.slope)

    def process_below(self, g):
        """The same for the empirical process, centred at the unweighted mean."""
        root = np.sqrt(self.n)
        return self.ratio_below(root * (g - root * self.loss))


def edge_probability(e, alpha_m, D=D, t=t):
    """Exact probability of the event of Lemma 1 when Pi sits at the edge b."""
    mean = -(e.edge**2) / 2 * e.weights.sum()
    sd = e.edge * np.sqrt(e.weights @ e.weights)
    return stats.norm.cdf((-alpha_m * (D + t) * e.x - mean) / sd)


def printed_bound(e, alpha_m, D=D, t=t):
    """Right side of Lemma 1 as printed, with the square on D + t - 1."""
    return (1 + e.smallest**2) * e.C_star2 / (alpha_m**2 * (D + t - 1) ** 2 * e.x)


def far_sum(e, theta):
    """The sum that decides whether theta is in the far set."""
    A, Q = e.weights[: e.n_A] * theta**2 / 2, e.weights[e.n_A :] * theta**2 / 2
    return (1 - e.largest_A) * A.sum() + (1 - e.largest) * Q.sum()


def every(condition):
    """Whether a condition holds in all places."""
    return bool(np.all(condition))
