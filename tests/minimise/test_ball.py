"""Minima within a ball, where trust regions have their closed forms."""

import numpy as np
import pytest
from scipy.optimize import brentq

from benchmarks.worlds import random_covariance, random_mixture
from helpers import random_coalitions
from whyflag import Domain, as_score
from whyflag.minimise import minimise
from whyflag.minimise.ball import within_ball
from whyflag.minimise.problem import Problems
from whyflag.minimise.quasi_newton import descend
from whyflag.score.mixture import MixtureEnergy


def gaussian(d, seed=0):
    rng = np.random.default_rng(seed)
    return MixtureEnergy(
        np.zeros(1), rng.normal(size=(1, d)), random_covariance(d, 50.0, rng)[None]
    ).to_score()


def trust_region(energy, x, free, radius):
    """The lowest point of a parabola in a ball: (P + λ)(y − x) = P (μ − x), |y − x| = radius."""
    precision = np.linalg.inv(energy.function.covariances[0])
    part = precision[np.ix_(free, free)]
    pull = (precision @ (energy.function.means[0] - x))[free]

    def move(price):
        return np.linalg.solve(part + price * np.eye(len(part)), pull)

    y = x.copy()
    if np.linalg.norm(move(0.0)) <= radius:
        y[free] += move(0.0)
    else:
        price = brentq(lambda p: np.linalg.norm(move(p)) - radius, 0.0, 1e6, xtol=1e-14)
        y[free] += move(price)
    return y


@pytest.mark.parametrize("radius", [1e-3, 0.3, 1.0, 3.0, 100.0])
def test_a_parabola_in_a_ball_has_its_closed_form(radius):
    energy = gaussian(4)
    X = np.random.default_rng(1).normal(size=(12, 4)) * 2
    keep = random_coalitions(12, 4, seed=2)
    keep[:, 0] = False
    found = minimise(energy, X, keep, Domain(4), radius=radius, shape="ball")
    assert found.converged.all()
    for x, kept, point in zip(X, keep, found.point, strict=True):
        expected = trust_region(energy, x, ~kept, radius)
        np.testing.assert_allclose(point, expected, atol=1e-5 * min(radius, 1.0))
        np.testing.assert_allclose(energy(point[None]), energy(expected[None]), atol=1e-8)


def test_a_ball_is_round_in_scales_of_the_columns():
    slope = np.array([1.0, 1.0])
    score = as_score(lambda X: X @ slope, lambda X: np.tile(slope, (len(X), 1)))
    domain = Domain(2, scale=[3.0, 4.0])
    found = minimise(
        score, np.zeros((1, 2)), np.zeros((1, 2), bool), domain, radius=5, shape="ball"
    )
    # In scales the slope is (3, 4), of length 5: the move is −(3, 4), in the columns −(9, 16).
    np.testing.assert_allclose(found.point, [[-9.0, -16.0]], rtol=1e-8)
    assert found.converged.all()


def test_a_ball_is_round_the_point_at_which_a_row_enters_the_bounds():
    score = as_score(lambda X: X.sum(axis=1), lambda X: np.ones_like(X))
    domain = Domain(2, upper=1.0)
    X = np.array([[4.0, 0.0]])
    found = minimise(score, X, np.zeros((1, 2), bool), domain, radius=2**0.5, shape="ball")
    np.testing.assert_allclose(found.point, [[0.0, -1.0]], atol=1e-8)


def test_nothing_free_is_solved_in_a_ball():
    X = np.ones((2, 4))
    found = minimise(gaussian(4), X, np.ones((2, 4), bool), Domain(4), radius=1.0, shape="ball")
    assert found.point.tolist() == X.tolist()
    assert found.converged.all()


def test_a_row_at_the_bottom_stays_there():
    energy = gaussian(3)
    found = minimise(
        energy, energy.function.means, np.zeros((1, 3), bool), Domain(3), radius=1e-2, shape="ball"
    )
    np.testing.assert_allclose(found.point, energy.function.means, atol=1e-9)
    assert found.converged.all()


@pytest.mark.parametrize("radius", [0.1, 1.0, 10.0])
def test_few_pulls_bring_a_move_to_the_radius(radius):
    """Each of them solves the problem once."""
    energy = gaussian(4)
    X = energy.function.means + np.array([[30.0, 0, 0, 0], [0, -20.0, 20.0, 0], [9, 9, 9, 9]])
    problems = Problems(energy, X, np.zeros((3, 4), bool), Domain(4))
    solves = []

    def solve(some):
        solves.append(len(some))
        return descend(some, 2000)

    found = within_ball(problems, radius, solve)
    assert found.converged.all()
    np.testing.assert_allclose(np.linalg.norm(found.u, axis=1), radius, rtol=1e-8)
    assert len(solves) <= 20


def test_a_move_that_no_price_makes_as_long_as_allowed_ends_inside():
    """Between two basins the length of the move leaps: the ball ends in the gap."""
    centers, depths = np.array([0.5, 10.0]), np.array([0.0, 200.0])

    def bowls(X):
        return (X - centers) ** 2 - depths

    def slope(X):
        return 2 * (X - centers[bowls(X).argmin(axis=1)][:, None])

    score = as_score(lambda X: bowls(X).min(axis=1), slope, n_features=1)
    edge = (100.0 - 200.0 - 0.25) / (2 * 9.5)  # where one bowl takes over from the other
    X = np.array([[edge - 3.0]])
    found = minimise(
        score, X, np.zeros((1, 1), bool), Domain(1, typical=[[10.0]]), radius=2.0, shape="ball"
    )
    assert abs(found.point[0, 0] - X[0, 0]) <= 2.0 * (1 + 1e-9)
    assert found.loss[0] <= score(X + 2.0)[0] + 1e-6


def test_problems_in_company_end_as_they_do_alone():
    energy = random_mixture(3, 2, 20.0, seed=0)
    X = np.random.default_rng(0).normal(size=(8, 3)) * np.geomspace(0.1, 9, 8)[:, None]
    none = np.zeros((8, 3), bool)
    together = minimise(energy, X, none, Domain(3), radius=1.0, shape="ball")
    for i in range(8):
        alone = minimise(energy, X[[i]], none[[i]], Domain(3), radius=1.0, shape="ball")
        np.testing.assert_allclose(together.point[i], alone.point[0], atol=1e-7)
        assert together.n_evaluations[i] == pytest.approx(alone.n_evaluations[0], rel=0.1)
        assert together.converged[i] == alone.converged[0]
