"""Boxes of several dimensions against every point compared with every box."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pseudopost import boxes

ENDS = st.integers(-4, 4)


@st.composite
def cases(draw):
    """Points, weights, and the ends of boxes, on few places so that they coincide."""
    q, n, b = draw(st.integers(1, 4)), draw(st.integers(0, 9)), draw(st.integers(0, 9))
    points = np.reshape(draw(st.lists(ENDS, min_size=q * n, max_size=q * n)), (q, n))
    low = np.reshape(draw(st.lists(ENDS, min_size=q * b, max_size=q * b)), (q, b))
    width = draw(st.lists(st.integers(0, 5), min_size=q * b, max_size=q * b))
    weight = draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n))
    high = low + np.reshape(width, (q, b))
    return points * 1.0, np.array(weight, dtype=float), low * 1.0, high * 1.0


def compared(points, low, high):
    """Which points (columns) lie in which boxes (rows)."""
    above = points[:, None, :] >= low[:, :, None]
    return np.all(above & (points[:, None, :] <= high[:, :, None]), axis=0)


@given(cases())
def test_sums_and_numbers_are_those_of_all_comparisons(case):
    points, weight, low, high = case
    inside = compared(points, low, high)
    found = boxes.sums_inside(points, weight, low, high)
    np.testing.assert_array_equal(found, inside @ weight)
    around = boxes.boxes_around(points, low, high)
    np.testing.assert_array_equal(around, inside.sum(axis=0))


@pytest.mark.parametrize("q", [1, 2, 3])
def test_many_points(q, monkeypatch):
    monkeypatch.setattr(boxes, "AT_ONCE", 5000)
    rng = np.random.default_rng(1)
    points, low = rng.normal(size=(2, q, 600))
    weight, high = rng.random(600), low + rng.exponential(size=(q, 600))
    inside = compared(points, low, high)
    found = boxes.sums_inside(points, weight, low, high)
    np.testing.assert_allclose(found, inside @ weight, atol=1e-10)
    around = boxes.boxes_around(points, low, high)
    np.testing.assert_array_equal(around, inside.sum(axis=0))


def test_cells_come_first_in_complex_numbers():
    points = [np.array([0, 0, 1, 1]) + 1j * np.array([5.0, -2, 5, -2])]
    low, high = [np.array([0, 1]) - 3j], [np.array([0, 1]) + 4j]
    found = boxes.sums_inside(points, np.ones(4), low, high)
    assert found.tolist() == [1, 1]
