import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pseudopost as pp


class TestRenyi:
    @staticmethod
    def quadrature(scale=1.0, points=80):
        x, mass = np.polynomial.hermite_e.hermegauss(points)
        return scale * x, mass / mass.sum()

    @given(st.floats(-2, 2), st.floats(0, 0.99))
    def test_normal_mean(self, theta, alpha):
        x, mass = self.quadrature()
        log_ratio = theta * x - theta**2 / 2
        A = pp.affinity(log_ratio, [alpha], mass=mass)
        D = pp.renyi_divergence(log_ratio, [alpha], mass=mass)
        assert A[0] == pytest.approx(
            np.exp(-alpha * (1 - alpha) * theta**2 / 2), rel=1e-9
        )
        assert D[0] == pytest.approx(alpha * theta**2 / 2, abs=1e-9)

    def test_one_value_per_record(self):
        x, mass = self.quadrature()
        alpha = np.array([0.1, 0.5, 0.9])
        shifts = np.array([0.3, 1.0, -2.0])
        rows = shifts[:, None] * x - shifts[:, None] ** 2 / 2
        D = pp.renyi_divergence(rows, alpha, mass=mass)
        np.testing.assert_allclose(D, alpha * shifts**2 / 2, rtol=1e-8)
        log_A = np.log(pp.affinity(rows, alpha, mass=mass))
        assert log_A.sum() == pytest.approx(((alpha - 1) * D).sum())

    def test_negative_where_the_model_is_wrong(self):
        s, alpha, theta = 1.5, 0.8, 0.4
        x, mass = self.quadrature(s)
        D = pp.renyi_divergence(theta * x - theta**2 / 2, [alpha], mass=mass)
        expected = alpha * theta**2 * (1 - alpha * s**2) / (2 * (1 - alpha))
        assert D[0] == pytest.approx(expected)
        assert D[0] < 0

    def test_default_mass_is_the_sample(self):
        x = np.array([0.0, 1.0, 4.0])
        assert pp.affinity(x, [0.5])[0] == pytest.approx(np.exp(x / 2).mean())

    def test_refuses_weight_one(self):
        with pytest.raises(
            ValueError, match=r"weights must lie in \[0, 1\); record 1 has 1"
        ):
            pp.renyi_divergence([0.0], [0.5, 1.0])

    @pytest.mark.parametrize("shape", [(), (2, 4), (3, 1, 1)])
    def test_refuses_other_shapes(self, shape):
        with pytest.raises(
            ValueError, match=r"log_ratio must have shape \(q,\) or \(3, q\)"
        ):
            pp.affinity(np.zeros(shape), [0.1, 0.2, 0.3])

    def test_refuses_mass_of_another_length(self):
        with pytest.raises(ValueError, match="mass must have length 2"):
            pp.affinity([0.0, 1.0], [0.5], mass=[1.0])
