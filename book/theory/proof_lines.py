"""Examples, figures and checks of the chapter on the printed lines of the proofs."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from normal_example import D, every, example, t
from scipy import integrate, special, stats

import pseudopost as pp

COLOURS = pp.plots.PALETTE
TINY = 1e-9
z = np.linspace(-12, 12, 240_001)
DENSITY = stats.norm.pdf(z)


def mean(values):
    """Expectation over N(0, 1) of a function, from its values at the points z."""
    return integrate.trapezoid(values * DENSITY, z)


def jensen_gaps(e, n_files, random_seed):
    """Left minus right side of line 30, Pi uniform on [b/2, b], in simulated files."""
    rng = np.random.default_rng(random_seed)
    S = rng.normal(size=n_files) * np.sqrt(e.weights @ e.weights)
    theta = np.linspace(e.edge / 2, e.edge, 401)
    exponents = np.multiply.outer(S, theta) - e.weights.sum() * theta**2 / 2
    return np.log(np.exp(exponents).mean(1)) - exponents.mean(1)


def variance_lines(e):
    """Both sides of lines 33 to 36 at the edge of B_n, in units of xi^2."""
    n, w, gap = e.n, e.weights, 1 - e.weights
    average, var = -(e.edge**2) / 2, e.edge**2
    square = average**2
    second = var + square
    pairs = gap.sum() ** 2 - gap @ gap
    n_Q, low, top = n - e.n_A, (1 - e.smallest) ** 2, (1 - e.largest) ** 2
    pairs_A, pairs_Q = e.n_A * (e.n_A - 1), n_Q * (n_Q - 1)
    deviation = low * (1 + e.C1**2) + e.C3**2
    values = {
        "33 left: E (u + v)^2": w @ w / n * var + n * (1 - w.mean()) ** 2 * square,
        "E uv": -gap.mean() * var,
        "33 right: E u^2 + E v^2": (gap @ gap * second + pairs * square) / n + var,
        "34a with G_n: E v^2": var,
        "34b as printed": w @ w / n * var + n * w.mean() ** 2 * square,
        "34c": var + n * square,
        "34d": second,
        "35a to 35c: E u^2": (gap @ gap * var + gap.sum() ** 2 * square) / n,
        "35d": (gap @ gap * second + pairs * square) / n,
        "35d as printed": (gap @ gap * second + pairs * mean_size(e.edge) ** 2) / n,
        "35e": low * second + (low * pairs_A + top * pairs_Q) * square / n,
        "35f": (low + low * (e.C1**2 - e.C1 / np.sqrt(n)) + e.C3**2) * e.xi2,
        "35g": deviation * e.xi2,
        "36a": (deviation + 1) * e.xi2,
        "36a as printed": low**2 * e.C1**2 * e.xi2**2 + e.xi2,
        "36c, middle": (e.C_star2 + (1 + e.C1**2) * e.smallest**2) * e.xi2,
        "36c": (1 + e.smallest**2) * e.C_star2 * e.xi2,
        "36c as printed": (1 + e.smallest) ** 2 * e.C_star2 * e.xi2,
        "weighted centring": w @ w / n * var,
    }
    return pd.Series(values) / e.xi2


def mean_size(theta):
    """Expected absolute log ratio of a record."""
    return stats.foldnorm.mean(theta / 2, scale=theta)


def double_sum(e):
    """E u^2 as the sum over all pairs of records, in units of xi^2."""
    gap, average = 1 - e.weights, -(e.edge**2) / 2
    moments = np.full((e.n, e.n), average**2) + np.eye(e.n) * e.edge**2
    return gap @ moments @ gap / e.n / e.xi2


def log_integrals(e, S, cut):
    """Log integrals of exp(-r) over the far set, and over all theta.

    S is the weighted sum of the records, the far set begins at `cut`, and the prior is
    N(0, 10^2).
    """
    precision = e.weights.sum() + 0.01
    whole = S**2 / (2 * precision) - np.log(10 * np.sqrt(precision))
    centre, scale = S / precision, 1 / np.sqrt(precision)
    outside = np.logaddexp(
        stats.norm.logsf((cut - centre) / scale),
        stats.norm.logcdf((-cut - centre) / scale),
    )
    return whole + outside, whole


def log_posterior_by_quadrature(e, S, cut):
    """Log pseudo posterior probability of the far set, both integrals as sums."""

    def log_integral(low, high):
        theta = np.linspace(low, high, 400_001)
        g = S * theta - e.weights.sum() * theta**2 / 2
        g += stats.norm.logpdf(theta, scale=10)
        return special.logsumexp(g) + np.log(theta[1] - theta[0])

    above, below = log_integral(cut, cut + 1), log_integral(-cut - 1, -cut)
    return np.logaddexp(above, below) - log_integral(-2, 2)


def log_tail(c, cut):
    """Log integral of exp(-c theta^2 / 2) over the far set, under the prior."""
    precision = c + 0.01
    outside = stats.norm.logsf(cut * np.sqrt(precision))
    return np.log(2) - np.log(10 * np.sqrt(precision)) + outside


def log_mass_of_sums(e):
    """Values of the weighted sum on a fine grid, and their log probabilities."""
    sd = np.sqrt(e.weights @ e.weights)
    S = np.linspace(-250, 250, 100_001) * sd
    return S, stats.norm.logpdf(S, scale=sd) + np.log(S[1] - S[0])


def log_probability(log_mass, event):
    """Log probability of an event, given for each value of the grid."""
    return special.logsumexp(np.where(event, log_mass, -np.inf))


def affinity(alpha, variance):
    """E exp(alpha f) at theta = 1, where the data have another variance."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(60)
    return mass @ np.exp(alpha * (nodes * np.sqrt(variance) - 0.5)) / mass.sum()


def log_ratio(x, shift):
    """Log-likelihood of a shift in the Student t model, minus that of 0."""
    return -3 * np.log1p(((x - shift) ** 2 - x**2) / (5 + x**2))


def score(x):
    """Score at 0 in the Student t model."""
    return 6 * x / (5 + x**2)


def curvature(x):
    """Minus the second derivative at 0."""
    return 6 * (5 - x**2) / (5 + x**2) ** 2


def expansions(n, n_files, rng, block=100):
    """Line 42 at the pseudo MLE of simulated normal files, in the Student t model.

    Returns its remainders, the distances of the two maximisers, and the last steps of
    the search.
    """
    w, H = example(n).weights, mean(curvature(z))
    found = []
    for _ in range(n_files // block):
        x = rng.normal(size=(block, n))
        estimate = (x @ w / w.sum())[:, None]
        for _ in range(25):
            step = (score(x - estimate) @ w) / (curvature(x - estimate) @ w)
            estimate = estimate + step[:, None]
            if np.abs(step).max() < 1e-10:
                break
        h, H_w = np.sqrt(n) * estimate[:, 0], w.mean() * H
        G = score(x) @ w / np.sqrt(n)
        remainder = log_ratio(x, estimate) @ w - h * G + h**2 * H_w / 2
        found.append([remainder, h - G / H_w, np.abs(step)])
    return np.concatenate(found, axis=1)


def root_mean_square(values):
    """Root of the mean square, and its Monte Carlo error."""
    rms = np.sqrt(np.mean(values**2))
    return rms, (values**2).std() / np.sqrt(values.size) / (2 * rms)


def regression(e):
    """Design and probabilities of a logistic regression; large values are in A."""
    Z = np.c_[np.ones(e.n), stats.norm.isf((np.arange(e.n) + 0.5) / e.n)]
    return Z, special.expit(Z @ [-0.5, 1.0])


def matrices(e):
    """H and J of the logistic regression, and the bounds of line 44."""
    Z, p = regression(e)

    def total(values):
        return (Z.T * (values * p * (1 - p))) @ Z / e.n

    largest = np.where(np.arange(e.n) < e.n_A, e.largest_A, e.largest)
    return {
        "H": total(np.ones(e.n)),
        "H weighted": total(e.weights),
        "J": total(np.ones(e.n)),
        "J weighted": total(e.weights**2),
        "44c": total(largest**2),
        "44e": e.largest**2 * total(np.ones(e.n)),
    }


def smallest_eigenvalue(M):
    """Smallest eigenvalue of the symmetric part."""
    return np.linalg.eigvalsh((M + M.T) / 2).min()


def relative_difference(A, B):
    """Largest difference of entries, on the scale of correlations."""
    scale = np.sqrt(np.diag(B))
    return np.abs((A - B) / np.outer(scale, scale)).max()


def draw_chain(lines):
    """Probabilities along lines 31a to 31e for one n: a proof may only go up."""
    printed, repaired = lines["largest in A"], lines["largest"]
    upright = ["31a", "31b", "31c", "31d", "31e"]
    chains = {
        "as printed": (printed[upright[:2] + [f"31{c} as printed" for c in "cde"]]),
        "scale and sign put right": printed[upright],
        "centred with the weights": repaired[
            ["31a", "31b", "31b", "(c), weighted centring", "(c), weighted centring"]
        ],
    }
    _, ax = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
    looks = (("LW_final", "o:"), ("Unweighted", "s--"), ("CW_final", "^-"))
    for (label, chain), (colour, form) in zip(chains.items(), looks, strict=True):
        ax.semilogy(range(5), -chain, form, color=COLOURS[colour], label=label)
    ax.set_xticks(range(5), upright)
    ax.set_yticks([1, 10, 100, 1000], [f"$10^{{-{k}}}$" for k in (1, 10, 100, 1000)])
    ax.minorticks_off()
    ax.invert_yaxis()
    ax.set(xlabel="Line", ylabel="Probability")
    ax.legend()


def draw_variance(lines):
    """The quantities of lines 33 to 36, as they should be printed."""
    shown = lines.drop([k for k in lines.index if "printed" in k or k == "E uv"])
    looks = {"33": "Data", "34": "Unweighted", "35": "LW", "36": "Vector"}
    looks["we"] = "CW_final"
    colour = [COLOURS[looks[name[:2]]] for name in shown.index]
    position = np.arange(len(shown))[::-1]
    _, ax = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
    ax.hlines(position, 0.01, shown, color=colour, lw=1)
    ax.scatter(shown, position, color=colour, zorder=3)
    ax.axvline(1, color="0.7", lw=0.8)
    ax.set_xscale("log")
    ax.set_xlim(0.01, 10)
    names = shown.index.str.replace("^2", "²", regex=False)
    ax.set_yticks(position, names.str.replace("G_n", "$G_n$"))
    ax.set_xlabel(r"Value in units of $\xi_n^2$")


def draw_expansion(fixed, random):
    """The remainder of line 42 against n, for fixed h and at the pseudo MLE."""
    _, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
    for h, marker in ((1, "o"), (2, "s")):
        right, printed = fixed.loc["line 42", h], fixed.loc["42 as printed", h]
        plain, dotted = COLOURS["Unweighted"], COLOURS["LW_final"]
        ax.loglog(right.index, right, f"{marker}-", color=plain, label=f"h = {h}")
        label = f"h = {h}, printed sign"
        ax.loglog(printed.index, printed, f"{marker}:", color=dotted, label=label)
    ax.errorbar(
        random.columns,
        random.loc["line 42"],
        2 * random.loc["its error"],
        fmt="^-",
        color=COLOURS["CW_final"],
        label="at the pseudo MLE",
    )
    ax.set(xlabel="Number of records n", ylabel="Root mean square (nats)")
    ax.legend(ncols=2, fontsize=9)
    ax.set_ylim(0.002, 200)


def claim_on_30(jensen):
    """Line 30; `jensen` has its left minus its right side."""
    return {
        "P1-Eq30": (
            f"left minus right at least {np.min(jensen):.1e} in 500 files",
            not np.min(jensen) > 0,
        )
    }


def claims_on_31(lines):
    """Lines 31a to 31e; log10 probabilities, columns by n and maximum."""
    at = lines[400, "largest in A"]
    in_A = lines.xs("largest in A", axis=1, level="alpha_m")
    ours = lines.xs("largest", axis=1, level="alpha_m")
    c, d, e = (lines.loc[f"31{line} as printed"] for line in "cde")
    wrong_e = every(e > d + 1) and every(in_A.loc["31e"] < in_A.loc["31d"] - 0.1)
    right_e = every(ours.loc["(c), weighted centring"] >= ours.loc["31b"])
    right_c = np.allclose(lines.loc["31c"], lines.loc["31b"])
    right_d = every(lines.loc["31d"] >= lines.loc["31c"])
    return {
        "P1-Eq31a": (
            f"log10 probability {at['31a']:.1f}",
            every(lines.loc["31a"] < 0),
        ),
        "P1-Eq31b": (
            f"{at['31a']:.1f} <= {at['31b']:.1f}",
            every(lines.loc["31a"] <= lines.loc["31b"]),
        ),
        "P1-Eq31c": (
            f"log10 {at['31b']:.1f}; printed {at['31c as printed']:.0f}",
            not (every(c < lines.loc["31b"] - 1) and right_c),
        ),
        "P1-Eq31d": (
            f"log10 {at['31d']:.1f}; printed {at['31d as printed']:.0f}, below its 31c",
            not (every(d < c - 1) and right_d),
        ),
        "P1-Eq31e": (
            f"log10 from {at['31d']:.1f} to {at['31e']:.1f} with scale and sign "
            "put right",
            not (wrong_e and right_e),
        ),
    }


def claim_on_32(lines, variance, files, probability, bound):
    """Line 32: the printed events, and what n^2 would make of the lemma."""
    limits = {
        (n, name): variance.loc["33 left: E (u + v)^2", n]
        * e.xi2
        / ((alpha * (D + t - 1)) ** 2 * e.x**2)
        for n, e in files.items()
        for name, alpha in (("largest in A", e.largest_A), ("largest", e.largest))
    }
    chebyshev = lines.loc["31e as printed"] <= np.log10(pd.Series(limits))
    return {
        "P1-Eq32": (
            f"right for its own threshold; with n^2 the lemma would say "
            f"{probability:.4f} <= {bound:.4f} (n = 1600, x = 2)",
            every(chebyshev) and probability > bound,
        )
    }


def claims_on_33_and_34(variance, seen):
    """Lines 33 and 34.

    Parameters
    ----------
    variance : DataFrame
        From :func:`variance_lines`, columns by n.
    seen : tuple
        Both sides of line 33 for weights that look at the data.
    """
    v = variance[400]
    left, right = (
        variance.loc[k] for k in ("33 left: E (u + v)^2", "33 right: E u^2 + E v^2")
    )
    sampling = variance.loc["34a with G_n: E v^2"]
    cross = left - variance.loc["35a to 35c: E u^2"] - sampling
    b, c, d = (variance.loc[k] for k in ("34b as printed", "34c", "34d"))
    return {
        "P1-Eq33": (
            f"E uv = {v['E uv']:.3f}, E(u+v)^2 = {left[400]:.3f} <= {right[400]:.3f}",
            every(left <= right)
            and np.allclose(cross, 2 * variance.loc["E uv"], atol=TINY)
            and every(variance.loc["E uv"] < 0)
            and seen[0] > seen[1],
        ),
        "P1-Eq34a": (f"{sampling[400]:.3f} xi^2", every(sampling <= 1 + TINY)),
        "P1-Eq34b": (f"{left[400]:.2f} <= {b[400]:.2f}", every(left <= b)),
        "P1-Eq34c": (f"{b[400]:.2f} <= {c[400]:.2f}", every(b <= c)),
        "P1-Eq34d": (
            f"{c[400]:.2f} <= {d[400]:.2f} is false; with centring {sampling[400]:.3f}",
            not (every(c > 1.5 * d) and every(sampling <= d)),
        ),
        "P1-Eq34e": (f"{d[400]:.3f} xi^2", np.allclose(d, 1)),
    }


def alike(n):
    """A file whose weights are all those outside A."""
    common = example(n).largest
    return example(n, low=(common, common))


def claims_on_35(variance, wide, same, summed, differ):
    """Lines 35a to 35g.

    Parameters
    ----------
    variance : DataFrame
        From :func:`variance_lines`, columns by n.
    wide, same : Series
        The same for a larger A, and for weights that are all alike.
    summed : float
        The double sum for n = 100.
    differ : dict
        For records that differ.
    """
    v, direct = variance[400], variance.loc["35a to 35c: E u^2"]
    expanded = np.isclose(summed, direct[100], atol=TINY)
    d, printed = variance.loc["35d"], variance.loc["35d as printed"]
    e, f, g = (variance.loc[k] for k in ("35e", "35f", "35g"))
    return {
        "P1-Eq35a": (f"{direct[100]:.4f} xi^2 (n = 100)", expanded),
        "P1-Eq35b": ("equal to 35a", expanded),
        "P1-Eq35c": (f"double sum {summed:.4f} xi^2 (n = 100)", expanded),
        "P1-Eq35d": (
            f"{v['35d']:.3f}; printed {v['35d as printed']:.3f}; with C1 = 2 printed "
            f"{wide['35d as printed']:.2f} > 35e {wide['35e']:.2f}",
            not (
                np.allclose(d, direct)
                and every(printed > 2 * d)
                and wide["35d as printed"] > wide["35e"] > wide["35d"]
            ),
        ),
        "P1-Eq35e": (
            f"{v['35d']:.3f} <= {v['35e']:.3f}; all weights alike: 35d is "
            f"{same['35d'] / same['35e']:.2f} times 35e, and within 35f",
            not (
                every(d <= e)
                and wide["35d"] <= wide["35e"]
                and same["35e"] < same["35d"] <= same["35f"]
            ),
        ),
        "P1-Eq35f": (
            f"alike: {v['35e']:.2f} <= {v['35f']:.2f}; records that differ: "
            f"{differ['35a']:.1f} > {differ['35g']:.1f}",
            not (every(e <= f) and differ["35a"] > 2 * differ["35g"]),
        ),
        "P1-Eq35g": (f"{v['35f']:.3f} <= {v['35g']:.3f}", every(f <= g)),
    }


def claims_on_36(variance):
    """Lines 36a to 36c, where the smallest weight is 0.3."""
    v, printed = variance[400], variance.loc["36a as printed"]
    total = variance.loc["34d"] + variance.loc["35g"]
    chain = variance.loc[["36a", "36c, middle", "36c", "36c as printed"]]
    return {
        "P1-Eq36a": (
            f"sum {v['36a']:.2f}; printed {v['36a as printed']:.2f}",
            not (
                np.allclose(variance.loc["36a"], total) and every(printed < 0.7 * total)
            ),
        ),
        "P1-Eq36b": (
            f"{v['36a']:.2f}",
            np.allclose((1 - 2 * 0.3 + 0.3**2) * (1 + 1) + 1 + 1, variance.loc["36a"])
            and every(printed <= variance.loc["36a"]),
        ),
        "P1-Eq36c": (
            f"{v['36a']:.2f} <= {v['36c, middle']:.2f} <= {v['36c']:.2f} "
            f"(printed {v['36c as printed']:.2f})",
            every(np.diff(chain, axis=0) >= 0),
        ),
    }


def claim_on_37(closed, by_quadrature):
    """Equation 37: log probability of the far set, found in two ways."""
    return {
        "P1-Eq37": (
            f"log {closed:.2f}, by quadrature {by_quadrature:.2f}",
            np.isclose(closed, by_quadrature, rtol=1e-4),
        )
    }


def claims_on_38(theorem, weights_seen, affinities, divergences):
    """Lines 38a to 38e.

    Parameters
    ----------
    theorem : DataFrame
        Logarithms by line, columns by n.
    weights_seen : tuple
        Expectation and product for weights that look at the data.
    affinities : tuple
        By quadrature and by the closed form.
    divergences : DataFrame
        Both sides of 38d, columns by the variance of the data.
    """
    at, wide = theorem[400], divergences[2.0]
    equal = every(np.abs(theorem.loc["38a"] - theorem.loc["38b, c"]) < 1e-6)
    left, right = wide["log of 38c at theta = 1"], wide["log of 38d at theta = 1"]
    return {
        "P1-Eq38a": (f"log {at['38a']:.3f}", equal),
        "P1-Eq38b": (
            f"log {at['38b, c']:.3f}",
            equal and not np.isclose(*weights_seen, rtol=0.01),
        ),
        "P1-Eq38c": (
            f"affinity {affinities[0]:.4f}, exp(-(1-a)D) {affinities[1]:.4f}",
            np.isclose(*affinities) and equal,
        ),
        "P1-Eq38d": (
            f"log {at['38b, c']:.2f} <= {at['38d']:.2f}; data variance 2: "
            f"{left:.1f} > {right:.1f}",
            every(theorem.loc["38b, c"] <= theorem.loc["38d"]) and left > right,
        ),
        "P1-Eq38e": (
            f"log {at['38d']:.2f} <= {at['38e']:.2f}",
            every(theorem.loc["38d"] <= theorem.loc["38e"]),
        ),
    }


def claims_on_39(theorem, sides):
    """Lines 39a and 39b; `sides` has both sides of the latter, by D, t and x."""
    markov = every(theorem.loc["39a"] <= theorem.loc["39b, first bound"])
    usual, extreme = sides.loc[(2, 0.05, 20)], sides.loc[(1000, 0.001, 2)]
    return {
        "P1-Eq39a": (
            f"log {theorem[400]['39a']:.1f} <= {theorem[400]['39b, first bound']:.2f}",
            markov,
        ),
        "P1-Eq39b": (
            f"D = 2, t = 0.05, x = 20: {usual['left']:.2f} > {usual['right']:.2f}",
            not (
                usual["left"] > 1.2 * usual["right"]
                and extreme["left"] > extreme["right"]
                and markov
            ),
        ),
    }


def claim_on_combination(theorem, last_printed, last_sum):
    """The last display of the proof of Theorem 1.

    Parameters
    ----------
    theorem : DataFrame
        Logarithms by line, columns by n.
    last_printed, last_sum : float
        The last bound times x: as printed, and the sum that it stands for.
    """
    x = np.log(theorem.columns.to_numpy())
    promised = np.exp(-t * x) + 1 / ((D + t - 1) ** 2 * x)
    return {
        "P1-EqU09": (
            f"printed {last_printed:.2f} / x, sum of its parts {last_sum:.2f} / x",
            not (
                last_printed < 0.9 * last_sum
                and every(
                    np.exp(theorem.loc["posterior of U above exp(-t x)"]) <= promised
                )
            ),
        )
    }


def claims_on_expansion(fixed, random):
    """Lines 41 and 42 of Theorem 2, and the display between them.

    Parameters
    ----------
    fixed : DataFrame
        Remainders for fixed h, columns by h and n.
    random : DataFrame
        Remainders at the pseudo MLE, columns by n.
    """
    tangent = fixed.loc["line 41", 1].to_numpy()
    falls = fixed.loc["line 42", 1].to_numpy()
    first, last = fixed[1, 100], fixed[1, 6400]
    average, printed = last["mean, times n"], last["mean as printed, times n"]
    return {
        "P1-Eq41": (
            f"h = 1: {first['line 41']:.4f} to {last['line 41']:.4f}",
            every(tangent[:-1] / tangent[1:] > 1.8),
        ),
        "P1-EqU08": (
            f"n times the mean, h = 1, n = 6400: {average:.0e}; printed sign "
            f"{printed:.2f}",
            not (average < 0.01 and printed > 0.3),
        ),
        "P1-Eq42": (
            f"remainder, h = 1, n = 6400: {last['line 42']:.4f}; printed sign "
            f"{last['42 as printed']:.2f}",
            not (
                every(falls[:-1] / falls[1:] > 1.8)
                and last["42 as printed"] > 0.3
                and random.loc["line 42", 1600] < 0.5 * random.loc["line 42", 100]
                and random.loc["last step"].max() < 1e-8
            ),
        ),
    }


def claims_on_variances(left, printed, right, errors):
    """Lines 43, 44a and 44b, where variances over files are simulated.

    Parameters
    ----------
    left, printed, right : array-like, shape (2, 2)
        Variance in 43, without its factor n, and the sandwich.
    errors : dict
        Relative differences by line.
    """
    return {
        "P1-Eq43": (
            f"within {100 * errors['43']:.0f}% by simulation; printed smaller by a "
            f"factor {(left / printed)[0, 0]:.0f} (n = 100)",
            not (errors["43"] < 0.1 and (printed / right).max() < 0.02),
        ),
        "P1-Eq44a": (
            f"within {100 * errors['44a']:.2f}% by simulation",
            errors["44a"] < 0.1,
        ),
        "P1-Eq44b": (
            f"within {100 * errors['44b']:.0f}% by simulation",
            errors["44b"] < 0.1,
        ),
    }


def claims_on_order(loewner, seen, error, diagonal):
    """Lines 44c to 45.

    Parameters
    ----------
    loewner : DataFrame
        Smallest eigenvalues by line, columns by n.
    seen, error, diagonal : float
        J for weights that look at the data, its error, and J without cross terms.
    """
    at, ordered = loewner[400], every(loewner.loc["44c to 44e"] > 0)
    return {
        "P1-Eq44c": (
            f"smallest eigenvalue {at['44b to 44c']:.1e}",
            every(loewner.loc["44b to 44c"] > 0),
        ),
        "P1-Eq44d": (
            f"smallest eigenvalue {at['44c to 44e']:.1e}; weights from the data: "
            f"{seen:.2f}, without cross terms {diagonal:.2f}",
            ordered and seen - diagonal > 10 * error,
        ),
        "P1-Eq44e": (
            f"smallest eigenvalue {at['44e as printed']:.2f} with J as printed",
            not (every(loewner.loc["44e as printed"] < -0.01) and ordered),
        ),
        "P1-Eq45": (
            f"smallest eigenvalue {at['45']:.2f}",
            every(loewner.loc["45"] > 0),
        ),
    }
