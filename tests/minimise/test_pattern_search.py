"""The search on scores that have steps and no slopes."""

import numpy as np
import pytest

from whyflag import Domain
from whyflag.minimise.moves import Moves
from whyflag.minimise.pattern_search import search
from whyflag.minimise.problem import Problems
from whyflag.score import Score


class Steps:
    """A function of rows that counts what it is asked for, row by row."""

    def __init__(self, value):
        self.value, self.asked = value, []
        self.score = Score(self)

    def __call__(self, X):
        self.asked.append(X.copy())
        return self.value(X)

    @property
    def rows(self):
        return np.vstack(self.asked)


def staircase(width=1.0, at=0.0):
    return Steps(lambda X: np.floor(np.abs(X - at) / width).sum(axis=1))


def run(score, X, domain, rounds=100, keep=None, gamma=0.0):
    X = np.atleast_2d(np.asarray(X, float))
    keep = np.zeros(X.shape, bool) if keep is None else np.asarray(keep)
    problems = Problems(score.score, X, keep, domain, gamma=gamma)
    begin = Moves.none(problems)
    begin.loss[:] = problems.loss(problems.start)
    if hasattr(score, "asked"):
        score.asked.clear()
    found = search(problems, begin, rounds)
    return found, problems.points(found.u)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_staircase_is_descended_either_way(sign):
    score = staircase()
    found, points = run(score, [[sign * 7.5, -3.2], [0.1, sign * 40.0]], Domain(2))
    assert score.value(points).tolist() == [0.0, 0.0]
    assert found.loss.tolist() == [0.0, 0.0]
    assert found.converged.all()


def test_moves_that_go_well_are_made_longer():
    """A thousand steps down take far fewer rounds than a thousand."""
    score = staircase()
    found, points = run(score, [[1000.5, 700.5]], Domain(2), rounds=50)
    assert score.value(points).tolist() == [0.0]
    assert found.converged.all()


def test_a_jump_to_the_typical_value_crosses_a_barrier():
    """Only exactly there is it lower; half-way is another such place."""
    score = Steps(lambda X: 5.0 - 3 * (X[:, 0] == 33.0) - 2 * (X[:, 1] == -8.0))
    domain = Domain(2, center=[33.0, -16.0], scale=[2.0, 4.0])
    found, points = run(score, [[1.0, 0.0]], domain)
    assert points.tolist() == [[33.0, -8.0]]
    assert found.loss.tolist() == [0.0]


def test_the_way_back_to_the_row_is_tried():
    """Of values that score the same, the row's own is nearest."""
    score = Steps(lambda X: np.where(np.abs(X[:, 0] - 3) < 0.4, 0.0, 1.0) + 0.0 * X[:, 1])
    domain = Domain(2, center=[3.0, 9.0])
    problems = Problems(score.score, np.zeros((1, 2)), np.zeros((1, 2), bool), domain, gamma=0.01)
    begin = Moves.none(problems)
    begin.u[:] = [[3.0, 5.3]]  # where a descent might have led
    begin.loss[:] = problems.loss(begin.u)
    found = search(problems, begin, 100)
    assert found.u[0, 1] == 0.0
    assert found.u[0, 0] == pytest.approx(2.6, abs=0.02)


def test_several_columns_move_in_one_round():
    """Eight flips: together they take a round, one at a time eight."""
    score = Steps(lambda X: X.sum(axis=1))
    domain = Domain(8, binary=np.arange(8))
    found, points = run(score, np.ones((1, 8)), domain, rounds=1)
    assert points.tolist() == [[0.0] * 8]
    assert found.loss.tolist() == [0.0]


def test_columns_that_spoil_one_another_move_alone():
    """Either flip helps, both together do not."""
    score = Steps(lambda X: np.where(X.sum(axis=1) == 1, X[:, 0], 2.0))
    found, points = run(score, [[0.0, 0.0], [1.0, 1.0]], Domain(2, binary=[0, 1]))
    assert points.tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert found.loss.tolist() == [0.0, 0.0]


def test_the_best_column_is_tried_together_with_the_last_move():
    """(1, 0) comes first, then (1, 1); the move before it leads to (2, 1) at once."""
    table = {(1.0, 0.0): 9.0, (1.0, 1.0): 8.0, (2.0, 1.0): 5.0}
    score = Steps(lambda X: np.array([table.get(tuple(x), 10.0) for x in X]))
    found, points = run(score, [[0.0, 0.0]], Domain(2), rounds=2)
    assert points.tolist() == [[2.0, 1.0]]
    assert found.loss.tolist() == [5.0]


def test_no_flip_is_left_that_would_help():
    """Any score of four flags, by the numbers in a table."""
    flags = np.array(list(np.ndindex(2, 2, 2, 2)), float)
    for seed in range(5):
        table = np.random.default_rng(seed).permutation(16).astype(float)
        score = Steps(lambda X, table=table: table[(X @ [8, 4, 2, 1]).astype(int)])

        def best_flip(x, score=score):
            return score.value(np.abs(x - np.eye(4))).min()

        once, _ = run(score, flags, Domain(4, binary=np.arange(4)), rounds=1)
        best = np.array([best_flip(x) for x in flags])
        assert (once.loss <= np.minimum(best, score.value(flags))).all()
        found, points = run(score, flags, Domain(4, binary=np.arange(4)))
        assert (found.loss < [best_flip(x) for x in points]).all()
        np.testing.assert_array_equal(found.loss, score.value(points))


def test_binary_columns_are_flipped_and_take_no_other_value():
    score = Steps(lambda X: (X[:, 0] - 1) ** 2 + X[:, 1])
    domain = Domain(2, binary=[0, 1], center=[0.5, 0.5])
    _, points = run(score, [[0.0, 1.0], [1.0, 0.0]], domain)
    assert points.tolist() == [[1.0, 0.0], [1.0, 0.0]]
    assert set(np.unique(score.rows)) <= {0.0, 1.0}


def test_kept_columns_and_bounds_hold():
    score = staircase(at=-9.0)
    keep = np.array([[True, False]])
    _, points = run(score, [[4.0, 4.0]], Domain(2, lower=-2.5, upper=5.0), keep=keep)
    assert points[0, 0] == 4.0
    assert -2.5 <= points[0, 1] < -2.0
    assert (score.rows[:, 0] == 4.0).all()
    assert (score.rows[:, 1] >= -2.5).all()


def test_a_smooth_bottom_is_found_to_a_hundredth_of_the_scale():
    score = Steps(lambda X: ((X - 0.333) ** 2).sum(axis=1))
    found, points = run(score, [[5.0, -2.0]], Domain(2))
    np.testing.assert_allclose(points, [[0.333, 0.333]], atol=0.01)
    assert found.converged.all()


def test_a_valley_narrower_than_the_last_step_is_followed_to_its_bottom():
    score = Steps(lambda X: (((X - [0.333, 0.0]) / [1e-4, 1.0]) ** 2).sum(axis=1))
    found, points = run(score, [[5.0, -2.0]], Domain(2))
    assert points[0] == pytest.approx([0.333, 0.0], abs=1e-4)
    assert found.converged.all()


def test_a_wall_on_one_side_does_not_make_a_valley_narrow():
    """As at the edge of a bin: there is nothing finer to find."""
    score = Steps(lambda X: np.where(X[:, 0] > 0.5, 100.0, np.floor(np.abs(X[:, 0]))))
    found, _ = run(score, [[9.0]], Domain(1))
    smooth, _ = run(Steps(lambda X: np.floor(np.abs(X[:, 0]))), [[9.0]], Domain(1))
    assert found.converged.all()
    assert found.n_evaluations[0] <= smooth.n_evaluations[0] + 5


def test_what_cannot_move_both_ways_has_no_walls():
    """A kept column, a flag, and one at its bound: each round is one trial at most."""
    score = Steps(lambda X: np.abs(X).sum(axis=1))
    domain = Domain(3, binary=[1], lower=[-9.0, 0.0, 0.0])
    found, _ = run(score, np.zeros((1, 3)), domain, keep=[[True, False, False]])
    assert found.converged.all()
    rounds = 4  # with steps of 1, 1/4, 1/16 and 1/64
    assert found.n_evaluations[0] <= rounds * (2 + 6)


def test_a_valley_without_width_ends_the_search_all_the_same():
    score = Steps(lambda X: 9.0 * (X[:, 0] != 0.0))
    found, _ = run(score, [[0.0]], Domain(1))
    assert found.loss.tolist() == [0.0]
    assert found.converged.all()
    assert found.n_evaluations[0] < 100


def test_evaluations_are_those_that_were_made():
    score = staircase()
    found, _ = run(score, [[9.0, 0.3], [0.5, -30.0], [0.0, 0.0]], Domain(2, center=[0.0, 1.0]))
    assert found.n_evaluations.sum() == len(score.rows)
    assert found.n_evaluations[2] < found.n_evaluations[1]


def test_pieces_do_not_change_what_is_found(monkeypatch):
    X = np.random.default_rng(0).normal(size=(6, 3)) * 9
    whole, points = run(staircase(), X, Domain(3, center=np.zeros(3)), gamma=0.01)
    monkeypatch.setattr("whyflag.batches.WORK", 7)
    parts, others = run(staircase(), X, Domain(3, center=np.zeros(3)), gamma=0.01)
    np.testing.assert_array_equal(others, points)
    np.testing.assert_array_equal(parts.n_evaluations, whole.n_evaluations)


def test_one_that_begins_without_an_answer_takes_the_first_it_finds():
    score = Steps(lambda X: np.where(X[:, 0] > 4.5, np.nan, np.floor(X[:, 0] ** 2)))
    found, points = run(score, [[5.0], [3.0]], Domain(1))
    assert found.loss.tolist() == [0.0, 0.0]
    assert (np.abs(points) < 1).all()
    assert found.converged.all()


def test_one_that_never_has_an_answer_has_not_arrived():
    score = Steps(lambda X: np.where(X[:, 0] > 4.5, np.nan, np.floor(X[:, 0] ** 2)))
    found, points = run(score, [[500.0], [3.0]], Domain(1))
    assert found.converged.tolist() == [False, True]
    assert points[0, 0] == 500.0
    assert found.loss[0] == np.inf
