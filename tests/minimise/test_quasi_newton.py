"""Descents against SciPy's: where they end, how exactly, and how soon."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.optimize import rosen, rosen_der

from benchmarks.worlds import random_covariance, random_mixture
from whyflag import Domain, as_score
from whyflag.minimise.problem import Problems
from whyflag.minimise.quasi_newton import _longest_step, _turn, descend
from whyflag.score import Gradient, Score


def sloped(value, gradient):
    """A function of rows with its gradient, taken at their word."""
    return Score(value, (Gradient(lambda X: (value(X), gradient(X))),))


def bowl(curvature, center, height=0.0):
    """½ (x − c)ᵀ C (x − c) + height."""

    def value(X):
        return 0.5 * np.einsum("bi,ij,bj->b", X - center, curvature, X - center) + height

    return sloped(value, lambda X: (X - center) @ curvature)


def rosenbrock():
    return sloped(lambda X: rosen(X.T), lambda X: rosen_der(X.T).T)


def problems_of(score, X, domain=None, keep=None):
    X = np.atleast_2d(np.asarray(X, float))
    keep = np.zeros(X.shape, bool) if keep is None else keep
    return Problems(score, X, keep, domain or Domain(X.shape[1]))


def scipys(score, x, lower=None, upper=None):
    bounds = None if lower is None else list(zip(lower, upper, strict=True))
    return scipy_minimize(
        lambda v: score(v[None])[0],
        x,
        jac=lambda v: score.value_and_grad(v[None])[1][0],
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000, "maxfun": 5000},
    )


@pytest.mark.parametrize("condition", [1.0, 30.0, 1000.0])
def test_bowls_with_bounds_end_where_scipys_do(condition):
    rng = np.random.default_rng(0)
    curvature = np.linalg.inv(random_covariance(6, condition, rng))
    lower, upper = np.full(6, -0.7), np.full(6, 2.0)
    X = rng.uniform(lower, upper, size=(20, 6))
    X[0], X[1] = lower, upper  # begun at the bounds
    far = bowl(curvature, np.linspace(-1.5, 2.5, 6))  # its bottom is outside
    problems = problems_of(far, X, Domain(6, lower=lower, upper=upper))
    found = descend(problems, 2000)
    points = problems.points(found.u)
    assert found.converged.all()
    expected = scipys(far, np.zeros(6), lower, upper)
    held = (expected.x == lower) | (expected.x == upper)
    assert 0 < held.sum() < 6
    np.testing.assert_allclose(points, np.tile(expected.x, (20, 1)), atol=1e-6)
    # What a bound holds stands on it, to the bit.
    assert (points[:, held] == expected.x[held]).all()


def test_bowls_with_bounds_take_about_as_many_evaluations_as_scipys():
    rng = np.random.default_rng(1)
    lower, upper = np.full(8, -1.0), np.full(8, 1.0)
    ours, theirs = 0, 0
    for _ in range(60):  # how many SciPy takes hangs on the BLAS: of ten bowls, 145 to 171
        curvature = np.linalg.inv(random_covariance(8, 100.0, rng))
        score = bowl(curvature, rng.normal(size=8) * 1.5)
        x = rng.uniform(lower, upper)
        found = descend(problems_of(score, x, Domain(8, lower=lower, upper=upper)), 2000)
        expected = scipys(score, x, lower, upper)
        assert found.loss[0] == pytest.approx(expected.fun, abs=1e-9)
        ours, theirs = ours + found.n_evaluations[0], theirs + expected.nfev
    assert ours <= 1.2 * theirs


@pytest.mark.parametrize("d", [2, 5, 10])
def test_a_curved_valley_is_followed_about_as_fast_as_by_scipy(d):
    rng = np.random.default_rng(d)
    X = rng.uniform(-1.5, 1.5, size=(6, d))
    problems = problems_of(rosenbrock(), X)
    found = descend(problems, 2000)
    assert found.converged.all()
    slope = rosen_der(problems.points(found.u).T)
    assert np.abs(slope).max() < 1e-5
    theirs = [scipys(rosenbrock(), x).nfev for x in X]
    assert found.n_evaluations.sum() <= 1.3 * sum(theirs)


@pytest.mark.parametrize("height", [0.0, 1e3, -1e6])
def test_a_bottom_is_found_beyond_the_digits_of_its_loss(height):
    """Of a loss of a million nine digits are left: by them, x is known to four."""
    rng = np.random.default_rng(2)
    curvature = np.linalg.inv(random_covariance(5, 50.0, rng))
    center = rng.normal(size=5)
    problems = problems_of(bowl(curvature, center, height), rng.normal(size=(10, 5)) * 3)
    found = descend(problems, 2000)
    assert found.converged.all()
    np.testing.assert_allclose(problems.points(found.u), np.tile(center, (10, 1)), atol=1e-7)


def test_where_the_loss_has_no_digits_left_the_slopes_tell_how_long_a_step_is():
    """Of 1e14 the last digit is 0.02: no step shows in the loss, and all of them in the slope."""
    X = np.column_stack([np.linspace(0.01, 0.5, 7), np.linspace(0.3, -0.1, 7)])
    problems = problems_of(bowl(np.diag([1.0, 30.0]), np.zeros(2), 1e14), X)
    found = descend(problems, 2000)
    assert found.converged.all()
    np.testing.assert_allclose(problems.points(found.u), 0.0, atol=1e-9)
    assert found.n_evaluations.max() <= 12


def test_with_its_curvature_one_gaussian_takes_a_step():
    energy = random_mixture(6, 1, 1e4, seed=0)
    rng = np.random.default_rng(0)
    problems = problems_of(energy, rng.normal(size=(20, 6)) * 3, keep=rng.random((20, 6)) < 0.4)
    found = descend(problems, 2000)
    assert found.converged.all()
    assert found.n_evaluations.max() <= 4


def test_with_its_curvature_a_mixture_takes_few_steps():
    energy = random_mixture(6, 3, 100.0, seed=1)
    rng = np.random.default_rng(0)
    problems = problems_of(energy, rng.normal(size=(30, 6)) * 3)
    found = descend(problems, 2000)
    assert found.converged.all()
    slope = energy.value_and_grad(problems.points(found.u))[1]
    assert np.abs(slope).max() < 1e-6
    assert found.n_evaluations.max() <= 8


@pytest.mark.parametrize("bounded", [False, True])
def test_a_plateau_is_left_where_it_is_at_once(bounded):
    flat = sloped(lambda X: np.full(len(X), 3.0), np.zeros_like)
    domain = Domain(2, lower=-1.0, upper=1.0) if bounded else Domain(2)
    found = descend(problems_of(flat, [[0.5, 0.5], [1.0, -1.0]], domain), 2000)
    assert found.u.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert found.loss.tolist() == [3.0, 3.0]
    assert found.converged.all()
    assert found.n_evaluations.tolist() == [1, 1]


def test_nothing_free_takes_one_evaluation():
    problems = problems_of(rosenbrock(), [[-1.0, 2.0], [3.0, 0.5]], keep=np.ones((2, 2), bool))
    found = descend(problems, 2000)
    assert found.u.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert found.converged.all()
    assert found.n_evaluations.tolist() == [1, 1]
    np.testing.assert_allclose(found.loss, rosen(problems.X.T))


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_row_that_stands_against_its_bounds_stays_and_one_that_does_not_leaves(side):
    score = sloped(lambda X: side * X.sum(axis=1), lambda X: np.full_like(X, side))
    domain = Domain(2, lower=-1.0, upper=1.0)
    found = descend(problems_of(score, [[-side, -side], [side, side]], domain), 2000)
    assert found.u.tolist() == [[0.0, 0.0], [-2 * side, -2 * side]]
    assert found.converged.all()
    assert found.n_evaluations[0] == 1


def test_no_evaluation_goes_up_and_none_is_lost():
    """Each problem counts its own trials, and its loss is that of where it stands."""
    X = np.array([[-1.2, 1.0], [1.0, 1.0], [0.0, 0.0], [5.0, -3.0]])
    problems = problems_of(rosenbrock(), X)
    losses = []
    for most in (1, 2, 3, 5, 8, 13, 21, 34, 2000):
        found = descend(problems, most)
        assert (found.n_evaluations <= most).all()
        np.testing.assert_allclose(found.loss, rosen(problems.points(found.u).T))
        np.testing.assert_array_equal(found.converged | (found.n_evaluations == most), True)
        losses.append(found.loss)
    assert (np.diff(losses, axis=0) <= 0).all()
    assert found.n_evaluations[1] == 1  # begun at the bottom
    alone = [descend(problems.select(np.array([i])), 2000).n_evaluations[0] for i in range(4)]
    assert found.n_evaluations.tolist() == alone


def test_the_last_evaluation_allowed_may_be_the_one_that_arrives():
    problems = problems_of(rosenbrock(), [[-1.2, 1.0]])
    needed = int(descend(problems, 2000).n_evaluations[0])
    assert descend(problems, needed).converged.tolist() == [True]
    assert descend(problems, needed - 1).converged.tolist() == [False]


@pytest.mark.parametrize(("height", "most"), [(0.0, 400), (1e5, 200)])
def test_a_kink_is_arrived_at(height, most):
    """Σ w_i |x_i − c_i| is steep everywhere: of a high loss, less is worth following."""
    rng = np.random.default_rng(0)
    center, weight = rng.normal(size=4), np.array([1.0, 2.0, 3.0, 0.5])

    def value(X):
        return (np.abs(X - center) * weight).sum(axis=1) + height

    score = sloped(value, lambda X: np.sign(X - center) * weight)
    X = rng.normal(size=(10, 4)) * 2
    found = descend(problems_of(score, X), 2000)
    assert found.converged.all()
    assert found.n_evaluations.max() <= most
    assert np.median(found.loss - height) < 0.1 * np.median(value(X) - height)


def test_it_steps_round_where_there_is_no_answer():
    """−log(1 − x) + x² is not defined beyond 1, and the first step leads there."""

    def value(X):
        with np.errstate(invalid="ignore", divide="ignore"):
            return -np.log(1 - X[:, 0]) + 50 * (X[:, 0] - 0.99) ** 2

    def gradient(X):
        with np.errstate(divide="ignore"):
            return 1 / (1 - X) + 100 * (X - 0.99)

    found = descend(problems_of(sloped(value, gradient), [[-3.0], [0.999]]), 2000)
    expected = scipys(sloped(value, gradient), np.array([0.5]))
    assert found.converged.all()
    np.testing.assert_allclose(found.loss, expected.fun, atol=1e-9)


def test_a_row_without_an_answer_has_not_arrived():
    score = sloped(lambda X: np.where(X[:, 0] > 0, np.nan, X[:, 0] ** 2), lambda X: 2 * X)
    found = descend(problems_of(score, [[1.0], [-1.0]]), 2000)
    assert found.converged.tolist() == [False, True]
    assert found.loss[0] == np.inf
    assert found.n_evaluations[0] == 1


def test_units_of_columns_change_nothing():
    """A thousand times the scale, with a thousand times the move."""
    rng = np.random.default_rng(0)
    curvature = np.linalg.inv(random_covariance(3, 20.0, rng))
    scale = np.array([1e-3, 1.0, 1e3])
    X = rng.normal(size=(5, 3))
    plain = descend(problems_of(bowl(curvature, np.zeros(3)), X), 2000)
    stretched = bowl(curvature / np.outer(scale, scale), np.zeros(3))
    other = descend(problems_of(stretched, X * scale, Domain(3, scale=scale)), 2000)
    np.testing.assert_allclose(other.u, plain.u, atol=1e-7)


def test_a_score_as_function_ends_there_too():
    score = as_score(lambda X: rosen(X.T), lambda X: rosen_der(X.T).T, n_features=2)
    found = descend(problems_of(score, [[-1.2, 1.0]]), 2000)
    np.testing.assert_allclose(found.loss, 0.0, atol=1e-9)


def test_descent_ends_in_the_valley_it_began_in():
    """Valleys half a scale wide, steep enough that one step of a scale would cross several."""
    width = 0.5
    turns = 2 * np.pi / width
    score = sloped(
        lambda X: 10 * (1 - np.cos(turns * X)).sum(axis=1), lambda X: 10 * turns * np.sin(turns * X)
    )
    X = np.random.default_rng(0).uniform(-3, 3, size=(200, 2))
    problems = problems_of(score, X)
    found = descend(problems, 2000)
    assert found.converged.all()
    own = np.round(X / width) * width
    # Near a ridge the first step may cross it.
    inside = (np.abs(X - own) < 0.4 * width).all(axis=1)
    np.testing.assert_allclose(problems.points(found.u)[inside], own[inside], atol=1e-8)


def test_the_longest_step_doubles_where_a_gain_was_foretold_and_is_halved_where_not():
    state = SimpleNamespace(
        step=np.ones(5),  # of a parabola: half of what the slope promises comes true
        stride=np.array([0.1, 0.8, 0.8, 0.8, 0.15]),
        informed=np.array([True, True, True, False, False]),
    )
    longest = _longest_step(state, np.full(5, -1.0), np.array([0.5, 0.54, 0.56, 0.5, 0.5]))
    assert longest.tolist() == [0.2, 1.6, 0.4, 0.4, 0.1]


@pytest.mark.parametrize(("part", "taken"), [(0.5e-4, False), (2e-4, True)])
def test_a_step_that_brings_little_of_what_the_slope_promises_is_not_taken(part, taken):
    """The first step, 0.1, promises 0.1."""
    bend = 10 * (1 - part)
    score = sloped(lambda X: (bend * X**2 - X).sum(axis=1), lambda X: 2 * bend * X - 1)
    found = descend(problems_of(score, [[0.0]]), 2)
    assert found.u[0, 0] == pytest.approx(0.1 if taken else 0.0, abs=1e-15)


def test_a_step_that_a_bound_has_bent_is_tried_again_up_to_that_bound():
    """Along (1, 1) the loss falls; a step cut off in one column goes up the walls of the valley."""
    asked = []

    def value(X):
        return -X.sum(axis=1) + 100 * (X[:, 1] - X[:, 0]) ** 2

    def gradient(X):
        asked.append(X.copy())
        turn = 200 * (X[:, 1] - X[:, 0])[:, None]
        return -1 + turn * [-1.0, 1.0]

    domain = Domain(2, lower=-1.0, upper=[0.05, 9.0])
    descend(problems_of(sloped(value, gradient), np.zeros((1, 2)), domain), 3)
    np.testing.assert_allclose(np.vstack(asked), [[0, 0], [0.05, 0.1], [0.05, 0.05]], atol=1e-15)


def test_a_direction_that_rounding_has_turned_uphill_is_straight_down_instead():
    slope = np.array([[3e-3, 4e-3], [3e-3, 4e-3]])
    spoilt = SimpleNamespace(apply=lambda q, loose: q * np.array([[-1.0], [0.5]]))
    state = SimpleNamespace(
        slope=slope,
        past=[],
        metric=spoilt,
        direction=np.zeros((2, 2)),
        step=np.zeros(2),
        informed=np.zeros(2, bool),
    )
    _turn(state, None, np.ones(2, bool))
    np.testing.assert_array_equal(state.direction, slope * [[-1.0], [-0.5]])
    assert state.informed.tolist() == [False, True]
    np.testing.assert_allclose(state.step, [1 / 5e-3, 1.0])


def test_far_away_in_a_bowl_steps_grow():
    found = descend(problems_of(bowl(np.eye(3), np.zeros(3)), [[1e6, -1e5, 10.0]]), 2000)
    assert found.converged.all()
    assert found.n_evaluations[0] <= 40
