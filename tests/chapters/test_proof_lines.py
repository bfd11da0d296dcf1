"""What the chapter on the lines of the proofs computes, and how it judges."""

import normal_example
import numpy as np
import pandas as pd
import proof_lines
import pytest
from scipy import integrate, special, stats

E = normal_example.example(100)


def test_mean_over_the_normal_distribution():
    assert proof_lines.mean(proof_lines.z**2) == pytest.approx(1)


def test_jensen_gaps_are_positive():
    gaps = proof_lines.jensen_gaps(E, 50, random_seed=1)
    assert len(gaps) == 50
    assert gaps.min() > 0


def test_variance_lines_against_simulation():
    rng = np.random.default_rng(1)
    lines, b = proof_lines.variance_lines(E), E.edge
    f = b * rng.normal(size=(20_000, 100)) - b**2 / 2
    u = f @ (E.weights - 1) / 10
    v = (f + b**2 / 2).sum(1) / 10
    for name, values in (
        ("33 left: E (u + v)^2", (u + v) ** 2),
        ("E uv", u * v),
        ("33 right: E u^2 + E v^2", u**2 + v**2),
        ("34a with G_n: E v^2", v**2),
        ("35a to 35c: E u^2", u**2),
        ("34d", f**2),
    ):
        assert lines[name] == pytest.approx(values.mean() / E.xi2, rel=0.06), name
    assert lines["34d"] == pytest.approx(1)
    assert lines["35d"] == pytest.approx(lines["35a to 35c: E u^2"])
    assert proof_lines.double_sum(E) == pytest.approx(lines["35a to 35c: E u^2"])


def test_mean_size_of_a_log_ratio():
    direct = proof_lines.mean(np.abs(0.4 * proof_lines.z - 0.08))
    assert proof_lines.mean_size(0.4) == pytest.approx(direct, rel=1e-6)


def test_integrals_of_the_pseudo_likelihood():
    cut, S = 0.5, 3.0

    def integrand(theta):
        likelihood = np.exp(S * theta - E.weights.sum() * theta**2 / 2)
        return likelihood * stats.norm.pdf(theta, scale=10)

    far, whole = proof_lines.log_integrals(E, S, cut)
    direct = integrate.quad(integrand, -3, 3, points=[0])[0]
    assert np.exp(whole) == pytest.approx(direct, rel=1e-6)
    outside = (
        integrate.quad(integrand, cut, 3)[0] + integrate.quad(integrand, -3, -cut)[0]
    )
    assert np.exp(far) == pytest.approx(outside, rel=1e-6)
    by_quadrature = proof_lines.log_posterior_by_quadrature(E, S, cut)
    assert by_quadrature == pytest.approx(far - whole, rel=1e-3)


def test_tail_and_probabilities():
    def integrand(theta):
        return np.exp(-2 * theta**2) * stats.norm.pdf(theta, scale=10)

    direct = 2 * integrate.quad(integrand, 0.5, 20)[0]
    assert np.exp(proof_lines.log_tail(4, 0.5)) == pytest.approx(direct)
    S, log_mass = proof_lines.log_mass_of_sums(E)
    assert special.logsumexp(log_mass) == pytest.approx(0, abs=1e-9)
    sd = np.sqrt(E.weights @ E.weights)
    below = proof_lines.log_probability(log_mass, -sd >= S)
    assert below == pytest.approx(stats.norm.logcdf(-1), abs=0.01)
    assert proof_lines.log_probability(log_mass, S > 1e9) == -np.inf


def test_affinity():
    direct = proof_lines.mean(np.exp(0.6 * (proof_lines.z * np.sqrt(2) - 0.5)))
    assert proof_lines.affinity(0.6, variance=2) == pytest.approx(direct)


def test_student_t_model():
    x, h = np.array([-3.0, 0.2, 1.0]), 1e-4
    for shift in (0.3, -1.2):
        direct = stats.t.logpdf(x - shift, 5) - stats.t.logpdf(x, 5)
        np.testing.assert_allclose(proof_lines.log_ratio(x, shift), direct)
    up, down = proof_lines.log_ratio(x, h), proof_lines.log_ratio(x, -h)
    np.testing.assert_allclose(proof_lines.score(x), (up - down) / (2 * h), rtol=1e-5)
    np.testing.assert_allclose(proof_lines.curvature(x), -(up + down) / h**2, rtol=1e-4)


def test_expansions_shrink():
    rng = np.random.default_rng(1)
    small = proof_lines.expansions(100, 200, rng)
    large = proof_lines.expansions(1600, 200, rng)
    assert small.shape == (3, 200)
    assert small[2].max() < 1e-8
    for few, many in zip(small[:2], large[:2], strict=True):
        assert (
            proof_lines.root_mean_square(many)[0]
            < proof_lines.root_mean_square(few)[0] / 2
        )


def test_root_mean_square_and_error():
    values = np.random.default_rng(1).normal(size=(400, 1000))
    rms = [proof_lines.root_mean_square(row) for row in values]
    assert np.mean([error for _, error in rms]) == pytest.approx(
        np.std([value for value, _ in rms]), rel=0.1
    )


def test_matrices_of_the_regression():
    m = proof_lines.matrices(E)
    Z, p = proof_lines.regression(E)
    np.testing.assert_allclose(np.log(p / (1 - p)), Z[:, 1] - 0.5)
    information = [
        np.outer(row, row) * q * (1 - q) for row, q in zip(Z, p, strict=True)
    ]
    np.testing.assert_allclose(m["H"], np.mean(information, axis=0))
    weighted = [w**2 * i for w, i in zip(E.weights, information, strict=True)]
    np.testing.assert_allclose(m["J weighted"], np.mean(weighted, axis=0))
    bounded = [
        (E.largest_A if k < E.n_A else E.largest) ** 2 * i
        for k, i in enumerate(information)
    ]
    np.testing.assert_allclose(m["44c"], np.mean(bounded, axis=0))
    np.testing.assert_allclose(m["44e"], E.largest**2 * m["J"])


def test_comparisons_of_matrices():
    assert proof_lines.smallest_eigenvalue(np.array([[2, 4], [0, 2]])) == pytest.approx(
        0
    )
    A, B = np.array([[4.4, 0], [0, 1]]), np.array([[4.0, 0.5], [0.5, 1]])
    assert proof_lines.relative_difference(A, B) == pytest.approx(0.25)


COLUMNS = pd.MultiIndex.from_product(
    [normal_example.SIZES, ["largest in A", "largest"]], names=["n", "alpha_m"]
)
LINES = {
    "31a": -5.0,
    "31b": -4.5,
    "31c": -4.5,
    "31d": -3.0,
    "31e": -3.5,
    "31c as printed": -50.0,
    "31d as printed": -60.0,
    "31e as printed": -40.0,
    "(c), weighted centring": -3.0,
    "(e), bound": -1.0,
}
FILES = {n: normal_example.example(n) for n in normal_example.SIZES}
VARIANCE = pd.DataFrame({n: proof_lines.variance_lines(e) for n, e in FILES.items()})
SAME = proof_lines.variance_lines(proof_lines.alike(400))
WIDE = proof_lines.variance_lines(
    normal_example.example(10_000, x=20, low=(0.5, 0.5), C1=2)
)
THEOREM = {
    "38a": -20.0,
    "38b, c": -20.0,
    "38d": -18.0,
    "38e": -10.0,
    "39a": -15.0,
    "39b, first bound": -0.5,
    "posterior of U above exp(-t x)": -30.0,
}
LOEWNER = {"44b to 44c": 0.1, "44c to 44e": 0.1, "44e as printed": -0.2, "45": 0.1}


def lines31(**changes):
    return pd.DataFrame({c: LINES | changes for c in COLUMNS}).rename_axis(
        columns=COLUMNS.names
    )


def on_31(**changes):
    return proof_lines.claims_on_31(lines31(**changes))


def on_32(probability=0.1, bound=0.001, **changes):
    return proof_lines.claim_on_32(
        lines31(**changes), VARIANCE, FILES, probability, bound
    )


def scaled(line, factor):
    """The table of lines 33 to 36, with one line multiplied."""
    table = VARIANCE.copy()
    table.loc[line] *= factor
    return table


def on_33(table=VARIANCE, seen=(1.2, 1.0)):
    return proof_lines.claims_on_33_and_34(table, seen)


def on_35(table=VARIANCE, wide=WIDE, same=SAME, summed=None, differ=None):
    summed = proof_lines.double_sum(FILES[100]) if summed is None else summed
    differ = differ or {"35a": 20, "35g": 2}
    return proof_lines.claims_on_35(table, wide, same, summed, differ)


def on_36(table=VARIANCE):
    return proof_lines.claims_on_36(table)


def theorem(**changes):
    return pd.DataFrame(dict.fromkeys(normal_example.SIZES, THEOREM | changes))


def on_38(table=None, seen=(0.9, 0.8), affinities=(1.1, 1.1), left=-1.0):
    sides = {"log of 38c at theta = 1": left, "log of 38d at theta = 1": -2.0}
    divergences = pd.DataFrame({2.0: sides})
    table = theorem() if table is None else table
    return proof_lines.claims_on_38(table, seen, affinities, divergences)


def on_39(table=None, usual=0.3, extreme=0.9):
    sides = pd.DataFrame(
        {"left": [usual, extreme], "right": [0.2, 0.5]},
        index=pd.MultiIndex.from_tuples([(2, 0.05, 20), (1000, 0.001, 2)]),
    )
    return proof_lines.claims_on_39(theorem() if table is None else table, sides)


def expansion(falling=(0.8, 0.4, 0.2, 0.1), printed=0.8, average=1e-3, **changes):
    sizes = (100, 400, 1600, 6400)
    rows = ["line 41", "line 42", "mean, times n"]
    rows += ["mean as printed, times n", "42 as printed"]
    fixed = pd.DataFrame(
        {
            (1, n): dict(zip(rows, [f, f, average, printed, printed], strict=True))
            for n, f in zip(sizes, falling, strict=True)
        }
    )
    random = {100: {"line 42": 0.4, "last step": 1e-12}}
    random |= {1600: {"line 42": 0.1, "last step": 1e-12} | changes}
    return proof_lines.claims_on_expansion(fixed, pd.DataFrame(random))


def variances(left=1.0, **changes):
    errors = {"43": 0.02, "44a": 0.02, "44b": 0.02} | changes
    matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    return proof_lines.claims_on_variances(
        left * matrix, left * matrix / 100, matrix, errors
    )


def order(seen=1.5, **changes):
    loewner = pd.DataFrame(dict.fromkeys(normal_example.SIZES, LOEWNER | changes))
    return proof_lines.claims_on_order(loewner, seen, 0.02, 1.0)


def jensen(gaps=(0.2, 0.1)):
    return proof_lines.claim_on_30(gaps)


def on_37(closed=-3.0):
    return proof_lines.claim_on_37(closed, -3.0)


def combination(printed=0.5, table=None):
    table = theorem() if table is None else table
    return proof_lines.claim_on_combination(table, printed, 1.0)


@pytest.mark.parametrize(
    ("claim", "true", "false"),
    [
        ("P1-Eq30", jensen((0.2, -0.1)), jensen()),
        ("P1-Eq31a", on_31(), on_31(**{"31a": 0.0})),
        ("P1-Eq31b", on_31(), on_31(**{"31a": -4.0})),
        ("P1-Eq31c", on_31(**{"31c as printed": -4.5}), on_31()),
        ("P1-Eq31c", on_31(**{"31c": -4.0}), on_31()),
        ("P1-Eq31d", on_31(**{"31d as printed": -50.0}), on_31()),
        ("P1-Eq31d", on_31(**{"31d": -6.0}), on_31()),
        ("P1-Eq31e", on_31(**{"31e as printed": -60.0}), on_31()),
        ("P1-Eq31e", on_31(**{"31e": -3.0}), on_31()),
        ("P1-Eq31e", on_31(**{"(c), weighted centring": -5.0}), on_31()),
        ("P1-Eq32", on_32(), on_32(probability=0.0)),
        ("P1-Eq32", on_32(), on_32(**{"31e as printed": 0.5})),
        ("P1-Eq33", on_33(), on_33(seen=(0.9, 1.0))),
        ("P1-Eq33", on_33(), on_33(scaled("E uv", -1))),
        ("P1-Eq33", on_33(), on_33(scaled("33 left: E (u + v)^2", 3))),
        ("P1-Eq34a", on_33(), on_33(scaled("34a with G_n: E v^2", 1.1))),
        ("P1-Eq34b", on_33(), on_33(scaled("34b as printed", 0.1))),
        ("P1-Eq34c", on_33(), on_33(scaled("34c", 0.1))),
        ("P1-Eq34d", on_33(scaled("34c", 0.5)), on_33()),
        ("P1-Eq34e", on_33(), on_33(scaled("34d", 1.1))),
        ("P1-Eq35a", on_35(), on_35(summed=0.0)),
        ("P1-Eq35b", on_35(), on_35(summed=0.0)),
        ("P1-Eq35c", on_35(), on_35(summed=0.0)),
        ("P1-Eq35d", on_35(scaled("35d as printed", 0.1)), on_35()),
        ("P1-Eq35d", on_35(wide=VARIANCE[400]), on_35()),
        ("P1-Eq35e", on_35(same=VARIANCE[400]), on_35()),
        ("P1-Eq35f", on_35(differ={"35a": 1, "35g": 2}), on_35()),
        ("P1-Eq35f", on_35(scaled("35f", 0.01)), on_35()),
        ("P1-Eq35g", on_35(), on_35(scaled("35g", 0.01))),
        ("P1-Eq36a", on_36(scaled("36a as printed", 10)), on_36()),
        ("P1-Eq36a", on_36(scaled("36a", 2)), on_36()),
        ("P1-Eq36b", on_36(), on_36(scaled("36a", 2))),
        ("P1-Eq36b", on_36(), on_36(scaled("36a as printed", 10))),
        ("P1-Eq36c", on_36(), on_36(scaled("36c", 0.1))),
        ("P1-Eq37", on_37(), on_37(closed=-2.0)),
        ("P1-Eq38a", on_38(), on_38(theorem(**{"38a": -19.0}))),
        ("P1-Eq38b", on_38(), on_38(seen=(0.8, 0.8))),
        ("P1-Eq38b", on_38(), on_38(theorem(**{"38a": -19.0}))),
        ("P1-Eq38c", on_38(), on_38(affinities=(1.1, 1.2))),
        ("P1-Eq38d", on_38(), on_38(left=-3.0)),
        ("P1-Eq38d", on_38(), on_38(theorem(**{"38d": -25.0}))),
        ("P1-Eq38e", on_38(), on_38(theorem(**{"38e": -25.0}))),
        ("P1-Eq39a", on_39(), on_39(theorem(**{"39a": -0.1}))),
        ("P1-Eq39b", on_39(usual=0.21), on_39()),
        ("P1-Eq39b", on_39(extreme=0.4), on_39()),
        ("P1-EqU09", combination(printed=0.95), combination()),
        (
            "P1-EqU09",
            combination(table=theorem(**{"posterior of U above exp(-t x)": 0.2})),
            combination(),
        ),
        ("P1-Eq41", expansion(), expansion(falling=(0.8, 0.4, 0.3, 0.1))),
        ("P1-EqU08", expansion(average=0.1), expansion()),
        ("P1-EqU08", expansion(printed=0.1), expansion()),
        ("P1-Eq42", expansion(falling=(0.8, 0.4, 0.3, 0.1)), expansion()),
        ("P1-Eq42", expansion(printed=0.1), expansion()),
        ("P1-Eq42", expansion(**{"line 42": 0.3}), expansion()),
        ("P1-Eq42", expansion(**{"last step": 1e-3}), expansion()),
        ("P1-Eq43", variances(**{"43": 0.2}), variances()),
        ("P1-Eq43", variances(left=3.0), variances()),
        ("P1-Eq44a", variances(), variances(**{"44a": 0.2})),
        ("P1-Eq44b", variances(), variances(**{"44b": 0.2})),
        ("P1-Eq44c", order(), order(**{"44b to 44c": -0.1})),
        ("P1-Eq44d", order(), order(**{"44c to 44e": -0.1})),
        ("P1-Eq44d", order(), order(seen=1.1)),
        ("P1-Eq44e", order(**{"44e as printed": 0.1}), order()),
        ("P1-Eq45", order(), order(**{"45": -0.1})),
    ],
)
def test_a_claim_holds_and_fails(claim, true, false):
    assert true[claim][1]
    assert not false[claim][1]


def test_words_hold_the_numbers():
    assert on_31()["P1-Eq31c"][0] == "log10 -4.5; printed -50"
    assert variances()["P1-Eq43"][0] == (
        "within 2% by simulation; printed smaller by a factor 100 (n = 100)"
    )
