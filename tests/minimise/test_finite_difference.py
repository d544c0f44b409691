import numpy as np
import pytest

from benchmarks.worlds import random_mixture
from whyflag import Domain
from whyflag.minimise.finite_difference import Character, FiniteDifference


class Function:
    def __init__(self, value):
        self.value, self.asked = value, []

    def __call__(self, X):
        self.asked.append(len(X))
        return self.value(X)


@pytest.mark.parametrize("chunk", [2**20, 1])
def test_differences_are_the_gradient(chunk, monkeypatch):
    monkeypatch.setattr("whyflag.batches.WORK", chunk)
    energy = random_mixture(4, 2, 10.0, seed=0)
    X = np.random.default_rng(0).normal(size=(7, 4))
    value, gradient = FiniteDifference(energy, Domain(4)).value_and_grad(X)
    np.testing.assert_array_equal(value, energy(X))
    np.testing.assert_allclose(gradient, energy.value_and_grad(X)[1], atol=1e-6)


def test_a_call_holds_as_many_numbers_as_a_step_may_keep(monkeypatch):
    """Ten rows of four columns, with two points for each column, are 320 numbers."""
    monkeypatch.setattr("whyflag.batches.WORK", 320)
    score = Function(lambda X: X.sum(axis=1))
    FiniteDifference(score, Domain(4)).value_and_grad(np.zeros((50, 4)))
    assert score.asked == [50, 80, 80, 80, 80, 80]


def test_binary_and_fixed_columns_have_no_slope_and_are_not_asked():
    score = Function(lambda X: X @ [1.0, 2.0, 4.0, 8.0])
    sloped = FiniteDifference(score, Domain(4, binary=[1], fixed=[2]))
    _, gradient = sloped.value_and_grad(np.zeros((3, 4)))
    np.testing.assert_allclose(gradient, np.tile([1.0, 0.0, 0.0, 8.0], (3, 1)))
    assert sloped.n_calls == 5
    assert sum(score.asked) == 3 * sloped.n_calls


def test_where_no_column_has_a_slope_there_is_none():
    score = Function(lambda X: X.sum(axis=1))
    sloped = FiniteDifference(score, Domain(2, binary=[0, 1]))
    _, gradient = sloped.value_and_grad(np.ones((3, 2)))
    assert gradient.tolist() == [[0.0, 0.0]] * 3
    assert sum(score.asked) == 3 * sloped.n_calls == 3


def test_steps_are_short_so_that_those_of_a_staircase_are_not_straddled():
    score = Function(lambda X: np.floor(X[:, 0]) + 1 / 3)  # not a number of single precision
    X = np.array([[0.5], [1e-3], [1.0 - 1e-3]])
    _, gradient = FiniteDifference(score, Domain(1)).value_and_grad(X)
    assert gradient.tolist() == [[0.0]] * 3


def test_single_precision_gets_steps_that_its_rounding_does_not_drown():
    score = Function(lambda X: (100 + X[:, 0] ** 2).astype(np.float32).astype(float))
    X = np.array([[3.0], [-1.0]])
    _, gradient = FiniteDifference(score, Domain(1)).value_and_grad(X)
    np.testing.assert_allclose(gradient, [[6.0], [-2.0]], rtol=0.05)


@pytest.mark.parametrize("far", [1e9, 1e12, 1e15])
def test_far_from_zero_steps_are_not_lost_in_the_rounding_of_the_value(far):
    score = Function(lambda X: ((X[:, 0] - 3) / far) ** 2 / 3)
    _, gradient = FiniteDifference(score, Domain(1)).value_and_grad(np.array([[far], [-far]]))
    np.testing.assert_allclose(gradient * far, [[2 / 3], [-2 / 3]], rtol=1e-3)


def test_scores_beyond_single_precision_are_no_warning():
    score = Function(lambda X: 1e200 * X[:, 0] / 3)
    _, gradient = FiniteDifference(score, Domain(1)).value_and_grad(np.array([[2.0]]))
    np.testing.assert_allclose(gradient, [[1e200 / 3]], rtol=1e-6)


ROWS = np.random.default_rng(1).normal(size=(8, 3))
LEVELS = np.random.default_rng(2).normal(size=3)


@pytest.mark.parametrize(
    ("value", "rough"),
    [
        (lambda X: (X**2).sum(axis=1), False),
        (lambda X: np.abs(X - ROWS[0]).sum(axis=1), False),  # a kink, at a row
        (lambda X: np.maximum(X @ LEVELS, 0.0), False),
        (lambda X: (X**2).sum(axis=1).astype(np.float32), False),
        (lambda X: np.zeros(len(X)), False),
        (lambda X: np.where(X[:, 0] > 5, np.nan, X[:, 0]), False),
        (lambda X: (ROWS[3] + 0.005 < X).sum(axis=1) * 1.0, True),  # a step beside a row
        (lambda X: (X**2).sum(axis=1) + (X[:, 1] > ROWS[5, 1] + 0.005), True),
    ],
    ids=["bowl", "kink", "rectifier", "single", "flat", "no answer", "stairs", "jump"],
)
def test_a_score_is_rough_if_it_jumps_beside_a_row(value, rough):
    score = Function(value)
    assert Character.of(score, Domain(3, typical=ROWS)).rough == rough
    assert len(score.asked) == 1


def test_without_rows_or_columns_that_slope_nothing_is_rough():
    stairs = Function(lambda X: np.floor(100 * X).sum(axis=1))
    assert Character.of(stairs, Domain(3, typical=ROWS)).rough
    assert not Character.of(stairs, Domain(3)).rough
    flags = Domain(3, binary=[0, 1, 2], typical=np.ones((2, 3)))
    assert not Character.of(stairs, flags).rough


def test_roughness_does_not_depend_on_units():
    """A tall step in one column, seen in the unit of each."""
    unit = np.array([1e-6, 1.0, 1e6])
    jump = Function(lambda X: ((X / unit) ** 2).sum(axis=1) + (X[:, 0] / 1e-6 > ROWS[5, 0] + 0.005))
    assert Character.of(jump, Domain(3, scale=unit, typical=ROWS * unit)).rough


def test_values_tell_whether_a_score_is_single():
    domain = Domain(3, typical=ROWS)
    assert Character.of(Function(lambda X: X.sum(axis=1)), domain).single is False
    single = Function(lambda X: X.sum(axis=1).astype(np.float32).astype(float))
    assert Character.of(single, domain).single is True
    assert Character.of(single, Domain(3)).single is None


@pytest.mark.parametrize("single", [False, True])
def test_a_gradient_is_one_call_where_the_precision_is_known(single):
    score = Function(lambda X: (X**2).sum(axis=1))
    X = np.array([[3.0, 1.0], [-1.0, 0.0]])
    value, gradient = FiniteDifference(score, Domain(2), single).value_and_grad(X)
    assert score.asked == [2 * 5]
    assert value.tolist() == [10.0, 1.0]
    np.testing.assert_allclose(gradient, 2 * X, atol=1e-8)
