"""Problems as solvers see them, by examples that can be checked by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from benchmarks.worlds import random_mixture
from whyflag import Domain, as_score
from whyflag.minimise.problem import Problems, rounding
from whyflag.score import Curvature, Gradient, Score


def linear(slope):
    slope = np.asarray(slope, float)
    return as_score(lambda X: X @ slope, lambda X: np.tile(slope, (len(X), 1)))


def some_problems(keep=(False, False, False), **arguments):
    domain = Domain(3, scale=[1.0, 2.0, 4.0], lower=[-1.0, -2.0, -np.inf], upper=[3.0, 2.0, 8.0])
    return Problems(linear([1, 1, 1]), np.zeros((1, 3)), np.array([keep]), domain, **arguments)


def test_bounds_are_those_of_moves_in_scales():
    problems = some_problems()
    assert problems.lower.tolist() == [[-1.0, -1.0, -np.inf]]
    assert problems.upper.tolist() == [[3.0, 1.0, 2.0]]
    assert problems.entry.tolist() == [[0.0, 0.0, 0.0]]


def test_a_half_width_narrows_them_around_the_row():
    problems = some_problems(half_width=1.5)
    assert problems.lower.tolist() == [[-1.0, -1.0, -1.5]]
    assert problems.upper.tolist() == [[1.5, 1.0, 1.5]]


def test_kept_and_fixed_columns_have_no_room():
    domain = Domain(3, lower=-1.0, upper=1.0, fixed=[1])
    keep = np.array([[True, False, False]])
    problems = Problems(linear([1, 1, 1]), np.zeros((1, 3)), keep, domain, half_width=5.0)
    assert problems.free.tolist() == [[False, False, True]]
    assert problems.lower.tolist() == [[0.0, 0.0, -1.0]]
    assert problems.upper.tolist() == [[0.0, 0.0, 1.0]]


def test_a_row_outside_the_bounds_enters_at_the_nearest_point_and_has_its_width_there():
    domain = Domain(2, scale=2.0, lower=-1.0, upper=1.0)
    X = np.array([[9.0, -5.0]])
    problems = Problems(linear([1, 1]), X, np.zeros((1, 2), bool), domain, half_width=0.25)
    assert problems.entry.tolist() == [[-4.0, 2.0]]
    assert problems.points(problems.entry).tolist() == [[1.0, -1.0]]
    assert problems.lower.tolist() == [[-4.25, 2.0]]
    assert problems.upper.tolist() == [[-4.0, 2.25]]
    kept = Problems(linear([1, 1]), X, np.array([[True, False]]), domain)
    assert kept.points(kept.entry).tolist() == [[9.0, -1.0]]


def test_what_descent_pushes_against_a_bound_is_not_loose():
    """Descent goes against the gradient: up at a lower bound, down at an upper one, it is held."""
    problems = some_problems()
    at_lower, at_upper = np.array([[-1.0, -1.0, -5.0]]), np.array([[3.0, 1.0, 2.0]])
    up, down = np.full((1, 3), 0.5), np.full((1, 3), -0.5)
    assert problems.loose(at_lower, up).tolist() == [[False, False, True]]
    assert problems.loose(at_lower, down).tolist() == [[True, True, True]]
    assert problems.loose(at_upper, down).tolist() == [[False, False, False]]
    assert problems.loose(at_upper, up).tolist() == [[True, True, True]]
    assert problems.loose(at_upper, 0 * up).tolist() == [[True, True, True]]
    assert problems.loose(0 * at_upper, up).tolist() == [[True, True, True]]


def test_what_a_direction_would_carry_over_a_bound_is_outward():
    problems = some_problems()
    at_lower, at_upper = np.array([[-1.0, -1.0, -5.0]]), np.array([[3.0, 1.0, 2.0]])
    up, down = np.full((1, 3), 0.5), np.full((1, 3), -0.5)
    assert problems.outward(at_lower, down).tolist() == [[True, True, False]]
    assert problems.outward(at_lower, up).tolist() == [[False, False, False]]
    assert problems.outward(at_upper, up).tolist() == [[True, True, True]]
    assert problems.outward(at_upper, down).tolist() == [[False, False, False]]
    assert not problems.outward(at_upper, 0 * up).any()


@pytest.mark.parametrize(
    ("direction", "reach"),
    [
        ([1.0, 1.0, 1.0], 1.0),
        ([1.0, 0.0, 0.5], 3.0),
        ([0.0, 0.0, -1.0], np.inf),
        ([-0.5, 0.0, -1.0], 2.0),
        ([0.0, -4.0, -1.0], 0.25),
        ([0.0, 0.0, 0.0], np.inf),
    ],
)
def test_a_step_reaches_the_first_bound(direction, reach):
    assert some_problems().reach(np.zeros((1, 3)), np.array([direction])).tolist() == [reach]


def test_without_bounds_everything_is_loose_and_no_step_is_too_long():
    problems = Problems(linear([1, 1]), np.zeros((2, 2)), np.zeros((2, 2), bool), Domain(2))
    u = np.array([[1e9, 0.0], [-1e9, 3.0]])
    assert problems.loose(u, u) is None
    assert problems.reach(u, u).tolist() == [np.inf, np.inf]
    np.testing.assert_array_equal(problems.project(u), u)


def test_rounding_carries_no_point_over_a_bound():
    rng = np.random.default_rng(0)
    X, scale = rng.normal(size=(200, 3)), np.array([0.1, 0.3, 7.0])
    domain = Domain(3, scale=scale, lower=-1 / 3, upper=1 / 7)
    keep = rng.random((200, 3)) < 0.5
    problems = Problems(linear([1, 1, 1]), X, keep, domain)
    for u in (problems.lower, problems.upper):
        points = problems.points(u)
        assert (points[keep] == X[keep]).all()
        assert (points[~keep] >= -1 / 3).all()
        assert (points[~keep] <= 1 / 7).all()


@pytest.mark.parametrize("kind", ["curved", "gradient"])
@pytest.mark.parametrize("unit", [None, 3.0])
def test_the_gradient_is_that_of_the_loss(kind, unit):
    """With the distance, a leash, scales, and a unit of the score; zero along kept columns."""
    rng = np.random.default_rng(0)
    energy = random_mixture(3, 2, 10.0, seed=0)
    score = energy if kind == "curved" else energy.without(Curvature)
    score = replace(score, unit=unit)
    X, keep = rng.normal(size=(5, 3)), rng.random((5, 3)) < 0.3
    domain = Domain(3, scale=[0.5, 1.0, 2.0], lower=-0.5, upper=0.5)  # some rows are outside
    problems = Problems(score, X, keep, domain, gamma=0.7)
    problems = problems.on_leash(np.array([0.0, 2.0, 0.3, 1.0, 0.0]), problems.entry)
    u = np.where(problems.free, (0.2 - X) / domain.scale, 0.0)
    loss, gradient, _ = problems.loss_and_grad(u)
    np.testing.assert_allclose(loss, problems.loss(u), rtol=1e-12)
    for row in range(5):
        one = problems.select(np.array([row]))
        measured = approx_fprime(u[row], lambda v, one=one: one.loss(v[None])[0], 1e-6)
        np.testing.assert_allclose(
            gradient[row], np.where(problems.free[row], measured, 0.0), atol=1e-4
        )


def test_the_loss_is_the_score_in_its_unit_plus_distance_plus_leash():
    score = linear([1.0, 2.0])
    score = replace(score, unit=10.0)
    domain = Domain(2, scale=[1.0, 2.0])
    X, u = np.array([[1.0, 1.0]]), np.array([[3.0, 1.0]])
    problems = Problems(score, X, np.zeros((1, 2), bool), domain, gamma=0.4)
    # e(4, 3) = 10; dist(3) = 9/2, dist(1) = 0.9
    assert problems.loss(u)[0] == pytest.approx(1.0 + 0.2 * (4.5 + 0.9))
    on_leash = problems.on_leash(np.array([0.5]), problems.entry)
    assert on_leash.loss(u)[0] == pytest.approx(1.0 + 0.2 * (4.5 + 0.9) + 0.5 * 10)


def test_the_penalty_is_shared_by_the_free_columns():
    keep = np.array([[False, False], [False, True], [True, True]])
    problems = Problems(linear([1, 1]), np.zeros((3, 2)), keep, Domain(2), gamma=0.4)
    np.testing.assert_allclose(problems.penalty, [0.2, 0.4, 0.4])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_where_score_or_slope_has_no_answer_the_loss_is_infinite_and_nothing_slopes(bad):
    def slope(X):
        return np.where(X == 1, bad, 1.0)

    score = as_score(lambda X: np.where(X[:, 0] == 3, bad, X.sum(axis=1)), slope, n_features=2)
    X = np.array([[0.0, 0.0], [3.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    score(X[:1])  # one that never had an answer is refused
    keep = np.array([[False, False]] * 3 + [[False, True]])  # a slope along it does not count
    problems = Problems(score, X, keep, Domain(2))
    loss, gradient, _ = problems.loss_and_grad(np.zeros((4, 2)))
    assert loss.tolist() == [0.0, np.inf, np.inf, 1.0]
    assert gradient.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    assert problems.loss(np.zeros((4, 2))).tolist() == [0.0, np.inf, 1.0, 1.0]


def test_the_typical_loss_is_the_highest_of_typical_rows_but_for_outliers_asked_once():
    asked = []

    def first(X):
        asked.append(len(X))
        return X[:, 0]

    score = Score(first, unit=2.0)
    X = np.zeros((3, 1))
    domain = Domain(1, typical=[[4.0], [6.0], [5.0]])
    problems = Problems(score, X, np.zeros((3, 1), bool), domain)
    assert [problems.select(np.array([i])).typical_loss for i in range(3)] == [3.0, 3.0, 3.0]
    assert asked == [3]
    heavy = Problems(score, X, np.zeros((3, 1), bool), Domain(1, typical=[[4.0], [60.0]]))
    assert heavy.typical_loss == pytest.approx(2 + np.sqrt(2))  # √(2d) units above the lowest
    none = Problems(score, X, np.zeros((3, 1), bool), Domain(1))
    assert none.typical_loss == -np.inf


def test_whether_a_score_is_rough_is_asked_once_of_typical_rows():
    asked = []

    def floor(X):
        asked.append(len(X))
        return np.floor(X[:, 0])

    stairs = Score(floor)
    X = np.zeros((2, 1))
    domain = Domain(1, typical=[[0.4], [0.995]])
    problems = Problems(stairs, X, np.zeros((2, 1), bool), domain)
    assert [problems.select(np.array([i])).character.rough for i in range(2)] == [True, True]
    assert asked == [2 + 3 * 2 * 2]  # steps of three lengths, either way
    assert not Problems(stairs, X, np.zeros((2, 1), bool), Domain(1)).character.rough
    smooth = Problems(linear([1.0]), X, np.zeros((2, 1), bool), domain)
    assert not smooth.character.rough


@pytest.mark.parametrize("seed", range(3))
def test_a_step_up_to_a_bound_ends_on_it_to_the_bit(seed):
    rng = np.random.default_rng(seed)
    b, d = 500, 3
    edges = np.sort(rng.normal(size=(2, d)) * 10.0 ** rng.integers(-3, 4, size=d), axis=0)
    X = rng.uniform(*edges, size=(b, d))
    domain = Domain(d, lower=edges[0], upper=edges[1], scale=rng.uniform(0.1, 10, size=d))
    problems = Problems(linear(np.ones(d)), X, np.zeros((b, d), bool), domain)
    u = problems.project(rng.normal(size=(b, d)) * 0.1)
    direction = rng.normal(size=(b, d))
    direction *= ~problems.outward(u, direction)
    reach = problems.reach(u, direction)
    moves = np.isfinite(reach)
    ended = problems.project(u + np.where(moves, reach, 0.0)[:, None] * direction)
    at_bound = (ended == problems.lower) | (ended == problems.upper)
    newly = at_bound & (direction != 0)
    assert newly.any(axis=1)[moves].all()


def test_what_is_further_from_a_bound_than_rounding_stays_where_it_is():
    problems = Problems(
        linear([1.0]), np.zeros((4, 1)), np.zeros((4, 1), bool), Domain(1, lower=-1.0, upper=1.0)
    )
    moves = np.array([[1 - 1e-12], [1 - 1e-15], [-1 + 1e-12], [-2.0]])
    assert problems.project(moves)[:, 0].tolist() == [1 - 1e-12, 1.0, -1 + 1e-12, -1.0]


def test_several_starts_are_the_same_problems_one_after_another():
    X = np.array([[1.0], [2.0]])
    problems = Problems(linear([1.0]), X, np.zeros((2, 1), bool), Domain(1))
    begun = problems.begun_from(np.array([[[10.0], [20.0]], [[30.0], [40.0]], [[50.0], [60.0]]]))
    assert begun.X.tolist() == [[1.0], [2.0]] * 3
    assert begun.start.tolist() == [[10.0], [20.0], [30.0], [40.0], [50.0], [60.0]]


def test_another_gradient_brings_no_curvature():
    energy = random_mixture(3, 2, 10.0, seed=0)
    problems = Problems(energy, np.zeros((1, 3)), np.zeros((1, 3), bool), Domain(3))
    values, _ = problems.spectra
    np.testing.assert_allclose(values, np.linalg.eigvalsh(energy.need(Curvature).matrices))
    other = problems.with_gradient(Gradient(lambda X: (energy(X), np.ones_like(X))))
    assert other.spectra is None
    assert other.loss_and_grad(np.zeros((1, 3)))[1].tolist() == [[1.0, 1.0, 1.0]]
    assert problems.spectra is not None


def test_curvature_counts_only_with_a_gradient():
    energy = random_mixture(3, 2, 10.0, seed=0).without(Gradient)
    assert Problems(energy, np.zeros((1, 3)), np.zeros((1, 3), bool), Domain(3)).spectra is None


def test_directions_without_curvature_get_next_to_none_but_some():
    """An eigenvalue of zero, or below by rounding, has no inverse."""
    energy = random_mixture(3, 1, 10.0, seed=0)
    flat = np.array([np.diag([4.0, 1.0, -1e-20])])
    score = energy.having(replace(energy.need(Curvature), matrices=flat))
    problems = Problems(score, np.zeros((1, 3)), np.zeros((1, 3), bool), Domain(3))
    values, _ = problems.spectra
    np.testing.assert_allclose(np.sort(values[0]), [4e-14, 1.0, 4.0])


def test_what_losses_may_differ_by_is_finite_for_every_loss():
    losses = np.array([0.0, 0.5, -200.0, np.inf, -np.inf])
    np.testing.assert_allclose(rounding(losses, 0.1), [0.1, 0.1, 20.0, 0.1, 0.1])


def test_the_loss_of_a_move_of_one_column_is_that_of_the_moved_point():
    rng = np.random.default_rng(5)
    X, keep = rng.normal(size=(3, 4)), rng.random((3, 4)) < 0.3
    score = Score(lambda Z: np.abs(Z).sum(axis=1) ** 2, n_features=4, unit=2.0)
    problems = Problems(score, X, keep, Domain(4, scale=[1, 2, 3, 4]), gamma=0.5)
    problems = problems.on_leash(np.array([0.0, 1.0, 2.0]), problems.entry)
    u = np.where(problems.free, rng.normal(size=X.shape), 0.0)
    values = rng.normal(size=(2, *X.shape))
    worth = problems.free & (rng.random(values.shape) < 0.8)
    found = problems.losses_of_columns(u, values, worth)
    assert np.isinf(found[~worth]).all()
    for s, i, j in np.argwhere(worth):
        moved = u.copy()
        moved[i, j] = values[s, i, j]
        assert found[s, i, j] == pytest.approx(problems.loss(moved)[i])
