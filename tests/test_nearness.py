import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whyflag.nearness import bend, distance, slope

MOVES = st.floats(-1e6, 1e6)


def test_small_moves_count_by_their_squares():
    u = np.array([-1e-3, 1e-4, 0.0])
    np.testing.assert_allclose(distance(u), u**2, rtol=1e-6)


@given(MOVES, MOVES)
def test_further_is_never_nearer_and_no_move_counts_more_than_nine(one, other):
    near, far = sorted([abs(one), abs(other)])
    assert distance(np.array(near)) <= distance(np.array(far)) <= 9.0


@given(MOVES)
def test_the_slope_is_that_of_the_distance(u):
    step = 1e-6 * max(1.0, abs(u))
    measured = (distance(np.array(u + step)) - distance(np.array(u - step))) / (2 * step)
    np.testing.assert_allclose(slope(np.array(u)), measured, atol=1e-7)


def test_the_largest_numbers_there_are_count_nine():
    largest = np.array([-1.7e308, 1e155])
    np.testing.assert_allclose(distance(largest), 9.0)
    np.testing.assert_allclose(slope(largest), 0.0, atol=1e-100)


def test_the_bend_is_that_of_the_slope():
    u, step = np.linspace(-20, 20, 81), 1e-5
    differences = (slope(u + step) - slope(u - step)) / (2 * step)
    np.testing.assert_allclose(bend(u), differences, rtol=1e-6, atol=1e-8)
