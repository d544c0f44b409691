import numpy as np

from whyflag import Domain
from whyflag.repair.expected import Expected
from whyflag.repair.second_look import SecondLook

RNG = np.random.default_rng(0)


def test_about_one_normal_row_in_a_hundred_is_odd():
    rows = RNG.normal(size=(1000, 3))
    domain = Domain.infer(rows)
    fresh = RNG.normal(size=(2000, 3))
    odd = SecondLook(Expected(rows, domain), domain).is_odd(fresh)
    assert 0.003 < odd.mean() < 0.03


def test_a_row_in_a_hole_is_odd_although_each_value_is_normal():
    angle = RNG.uniform(0, 2 * np.pi, 1000)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.02 * RNG.normal(size=(1000, 2))
    domain = Domain.infer(ring)
    look = SecondLook(Expected(ring, domain), domain)
    assert look.is_odd(np.array([[0.0, 0.0], [1.0, 0.0]])).tolist() == [True, False]


def test_of_a_single_row_nothing_is_odd_but_what_differs():
    domain = Domain(2)
    look = SecondLook(Expected(np.zeros((1, 2)), domain), domain)
    assert look.is_odd(np.array([[0.0, 0.0], [1.0, 0.0]])).tolist() == [False, True]


def test_a_row_is_as_far_as_its_eight_nearest_are_on_average():
    rows = RNG.normal(size=(400, 2))
    domain = Domain.infer(rows)
    look = SecondLook(Expected(rows, domain), domain)
    x = np.array([0.5, -0.5]) / domain.scale
    u = rows / domain.scale - x
    far = np.sort((u**2 / (1 + (u / 3) ** 2)).sum(axis=1))
    np.testing.assert_allclose(look._far(x), far[:8].mean())
    np.testing.assert_allclose(look._far(x, skip=1), far[1:9].mean())
