"""Descent by parabolas: few calls of a score without a gradient."""

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from benchmarks.worlds import random_covariance
from whyflag import Domain, Explainer
from whyflag.minimise.finite_difference import FiniteDifference
from whyflag.minimise.newton import FEW, descend_by_parabolas, least_in_box
from whyflag.minimise.problem import Problems
from whyflag.score import Score


class Asked:
    """A function of rows that counts its calls and its rows."""

    def __init__(self, value):
        self.value, self.calls = value, []

    def __call__(self, X):
        self.calls.append(len(X))
        return self.value(X)


def descended(value, X, domain, most=30, keep=None, gamma=0.0):
    X = np.atleast_2d(np.asarray(X, float))
    score = Score(Asked(value))
    keep = np.zeros(X.shape, bool) if keep is None else keep
    problems = Problems(score, X, keep, domain, gamma=gamma)
    sloped = FiniteDifference(score, domain, single=False)
    found = descend_by_parabolas(problems, sloped, most, 1e-10)
    return found, problems.points(found.u), score.function.calls


def bowl(d, seed=0):
    precision = np.linalg.inv(random_covariance(d, 30.0, np.random.default_rng(seed)))
    return lambda X: np.einsum("nd,de,ne->n", X, precision, X)


def test_a_parabola_takes_three_calls():
    X = np.random.default_rng(0).normal(size=(7, 5)) * 3
    found, points, calls = descended(bowl(5), X, Domain(5))
    assert found.converged.all()
    np.testing.assert_allclose(points, 0.0, atol=1e-9)
    assert len(calls) <= 3
    assert found.n_evaluations.sum() == sum(calls)


CONVEX = {
    "quartic": lambda X: (X**4).sum(axis=1) + bowl(3)(X),
    "cosine": lambda X: 3 * np.log(np.cosh(X @ np.array([[1.0, 2.0, 0.5]]).T)[:, 0]) + bowl(3)(X),
}
RIMS = {
    "saddle": lambda X: (X[:, 0] ** 2 - 4) ** 2 + X[:, 1] ** 2 + (X[:, 2] - X[:, 0]) ** 2,
    "heavy tails": lambda X: np.log1p(bowl(3)(X)),
}


@pytest.mark.parametrize("name", [*CONVEX, *RIMS])
@pytest.mark.parametrize("bounds", [{}, {"lower": -1.0, "upper": [0.7, 5.0, 5.0]}])
def test_smooth_scores_end_where_scipy_ends(name, bounds):
    value, domain = (CONVEX | RIMS)[name], Domain(3, **bounds)
    X = np.random.default_rng(1).uniform(-0.9, 0.7, size=(9, 3))
    keep = np.random.default_rng(2).random((9, 3)) < 0.3
    found, points, calls = descended(value, X, domain, keep=keep)
    assert found.converged.all() or name in RIMS  # where descent by slopes goes on
    assert len(calls) <= 25
    assert (points[keep] == X[keep]).all()
    limits = list(zip(domain.lower, domain.upper, strict=True))
    for x, kept, point, arrived in zip(X, keep, points, found.converged, strict=True):
        fixed = [(v, v) if k else limit for v, k, limit in zip(x, kept, limits, strict=True)]
        best = scipy_minimize(
            lambda y: value(y[None])[0], x, bounds=fixed, options={"ftol": 1e-15, "gtol": 1e-9}
        )
        if arrived:
            assert value(point[None])[0] <= best.fun + 1e-7 * max(1, abs(best.fun))


def test_one_that_meets_a_kink_has_not_converged_and_is_no_higher_than_it_began():
    turned = np.random.default_rng(0).normal(size=(4, 4))

    def kinks(X):
        return np.abs(X @ turned).sum(axis=1)

    X = np.random.default_rng(1).normal(size=(6, 4)) * 3
    found, points, _ = descended(kinks, X, Domain(4))
    assert not found.converged.any()
    assert (found.loss <= kinks(X)).all()
    np.testing.assert_allclose(found.loss, kinks(points))


def test_from_a_rim_between_valleys_it_goes_nowhere():
    found, points, _ = descended(RIMS["saddle"], [[0.5, 1.0, 0.0], [1.5, 1.0, 0.0]], Domain(3))
    assert found.converged.tolist() == [False, True]
    assert points[0].tolist() == [0.5, 1.0, 0.0]
    np.testing.assert_allclose(points[1], [2.0, 0.0, 2.0], atol=1e-6)


@pytest.mark.parametrize("name", [*CONVEX, *RIMS])
def test_a_problem_goes_its_way_whatever_those_beside_it_do(name):
    X = np.random.default_rng(2).normal(size=(6, 3)) * np.array([[0.2], [5], [1], [3], [0.5], [8]])
    value = {**CONVEX, **RIMS}[name]
    together, _, _ = descended(value, X, Domain(3))
    for i in range(len(X)):
        alone, _, calls = descended(value, X[i], Domain(3))
        assert alone.converged[0] == together.converged[i]
        np.testing.assert_allclose(alone.u[0], together.u[i], rtol=1e-7, atol=1e-9)
        assert together.n_evaluations[i] == sum(calls)


def test_what_moves_cost_bends_the_parabola_too():
    X = np.random.default_rng(0).normal(size=(7, 3)) / 20  # where the distance is a square
    found, _, calls = descended(bowl(3), X, Domain(3), gamma=30.0)
    assert found.converged.all()
    assert len(calls) <= 5


def test_a_rim_is_one_beside_problems_that_are_much_steeper():
    def steep_elsewhere(X):
        bowl = 1e8 * ((X[:, 0] - 100) ** 2 + X[:, 1] ** 2)
        return np.where(X[:, 0] > 50, bowl, X[:, 1] ** 2 - X[:, 0] ** 2 + 0.1 * X[:, 0] ** 4)

    rows = np.array([[0.5, 1.0], [101.0, 2.0]])
    alone, _, _ = descended(steep_elsewhere, rows[:1], Domain(2))
    beside, _, _ = descended(steep_elsewhere, rows, Domain(2))
    assert not alone.converged[0]
    np.testing.assert_array_equal(beside.u[0], alone.u[0])
    assert beside.converged.tolist() == [False, True]


def test_of_two_valleys_it_ends_in_the_one_where_it_began():
    """The parabola of the rim would leap into the other."""

    def valleys(X):
        x = X[:, 0]
        return np.minimum((x + 3) ** 2, (x - 3) ** 2 - 1) + 0.0 * X[:, 1]

    _, points, _ = descended(valleys, [[-1.0, 0.0], [1.0, 0.0]], Domain(2))
    np.testing.assert_allclose(points[:, 0], [-3.0, 3.0], atol=1e-6)


def test_flags_and_fixed_columns_stay():
    domain = Domain(3, binary=[1], fixed=[2])
    _, points, _ = descended(lambda X: (X**2).sum(axis=1), [[2.0, 1.0, 5.0]], domain)
    np.testing.assert_allclose(points, [[0.0, 1.0, 5.0]], atol=1e-9)


def test_where_the_score_has_no_answer_no_one_goes():
    def gap(X):
        return np.where(X[:, 0] < 1.0, np.nan, (X[:, 0] - 0.0) ** 2)

    found, points, _ = descended(gap, [[5.0], [0.5]], Domain(1))
    assert points[0, 0] >= 1.0
    assert np.isfinite(found.loss[0])
    assert not found.converged[1]
    assert found.loss[1] == np.inf


@pytest.mark.parametrize("seed", range(5))
def test_the_least_of_a_parabola_in_a_box_is_scipys(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, FEW + 1))
    bowls = np.array([random_covariance(d, 1e3, rng) for _ in range(20)])
    gradient = rng.normal(size=(20, d)) * 3
    lower, upper = -rng.exponential(size=(20, d)), rng.exponential(size=(20, d))
    lower[:5], upper[5:10] = -np.inf, np.inf
    lower[:, 0] = upper[:, 0] = 0.0  # cannot move
    for g, H, low, high, s in zip(
        gradient, bowls, lower, upper, least_in_box(gradient, bowls, lower, upper), strict=True
    ):
        assert ((s >= low) & (s <= high)).all()
        pull = g + H @ s
        free = (s > low) & (s < high)
        np.testing.assert_allclose(pull[free], 0.0, atol=1e-7)
        assert (pull[(s == low) & (low < high)] >= -1e-7).all()
        assert (pull[(s == high) & (low < high)] <= 1e-7).all()


def test_a_slow_function_is_called_a_dozen_times():
    """ASH of five columns, with what is asked when the explainer is made."""
    rng = np.random.default_rng(0)
    mix = np.eye(5) + 0.5 * rng.normal(size=(5, 5)) / np.sqrt(5)
    rows = rng.normal(size=(1000, 5)) @ mix
    odd = rows[:1] + np.array([0.0, 5.0, 0.0, 0.0, 0.0])
    precision = np.linalg.inv(np.cov(rows.T))
    asked = Asked(lambda X: np.einsum("nd,de,ne->n", X, precision, X))
    explain = Explainer(asked, rows, method="ASH")
    assert len(asked.calls) <= 4
    asked.calls.clear()
    assert explain(odd).values[0].argmax() == 1
    assert len(asked.calls) <= 12
    near = Explainer(asked, rows)
    asked.calls.clear()
    near(odd)
    assert len(asked.calls) <= 4
