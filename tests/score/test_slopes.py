import numpy as np
import pytest
import torch

from whyflag import Explainer, as_score
from whyflag.adapters import torch_score

X = np.random.default_rng(0).normal(size=(100, 4))


def squares(X):
    return (X**2).sum(axis=1)


WRONG = {
    "sign": lambda X: -2 * X,
    "half": lambda X: X,
    "zero": lambda X: 0 * X,
    "constant": lambda X: np.full_like(X, 0.7),
    "columns reversed": lambda X: 2 * X[:, ::-1],
    "one column zero": lambda X: 2 * X * [1, 1, 0, 1],
}
ROWS = {
    "many": X,
    "one": X[:1],
    "whole numbers": np.round(3 * X),
    "one gross value": np.vstack([[1e6, 0.1, 0.2, 0.3], X]),
    "rarely not zero": X * (np.random.default_rng(1).random(X.shape) < 0.05),
}
RIGHT = {
    "squares": (squares, lambda X: 2 * X),
    "kink": (lambda X: np.abs(X).sum(axis=1), np.sign),
    "rectifier": (lambda X: np.maximum(X, 0).sum(axis=1), lambda X: (X > 0) * 1.0),
    "largest": (lambda X: X.max(axis=1), lambda X: np.eye(4)[X.argmax(axis=1)]),
    "constant": (lambda X: np.full(len(X), 3.0), np.zeros_like),
    "nothing": (lambda X: np.zeros(len(X)), np.zeros_like),
    "on top of much": (lambda X: 1e8 + np.sin(X).sum(axis=1), np.cos),
    "huge": (lambda X: 1e200 * squares(X), lambda X: 2e200 * X),
    "tiny": (lambda X: 1e-200 * squares(X), lambda X: 2e-200 * X),
    "wiggly": (lambda X: np.sin(50 * X).sum(axis=1), lambda X: 50 * np.cos(50 * X)),
    "flat in the middle": (
        lambda X: np.maximum(np.abs(X) - 1, 0).sum(axis=1),
        lambda X: np.sign(X) * (np.abs(X) > 1),
    ),
    "infinite slope": (squares, lambda X: 2 * X + [0, 0, 0, np.inf]),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_gradient_is_refused_with_row_column_and_both_numbers(kind, rows):
    score = as_score(squares, gradient=WRONG[kind])
    message = r"got \S+ at row \d+, column \d, where differences of the score give \S+\."
    with pytest.raises(ValueError, match=message):
        score(ROWS[rows])


@pytest.mark.parametrize("much", [1e4, 1e8, 1e12])
@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_gradient_is_refused_on_top_of_much(kind, much):
    """Over short steps rounding hides all slopes, and would let any pass for one of a kink."""
    with pytest.raises(ValueError, match="must be that of the score"):
        as_score(lambda X: much + squares(X), gradient=WRONG[kind])(X)


@pytest.mark.parametrize("much", [2e8, 8e8])
def test_a_difference_that_is_mostly_rounding_agrees_with_nothing(much):
    """Over a millionth of the spread the rounding of these scores is as large as the slope."""
    score = as_score(lambda X: much + X.sum(axis=1), gradient=lambda X: np.full_like(X, 0.5))
    with pytest.raises(ValueError, match="must be that of the score"):
        score(X)


@pytest.mark.parametrize(("row", "seen"), [(1023, True), (1024, False)])
def test_the_first_1024_rows_are_looked_at(row, seen):
    rows = np.random.default_rng(0).normal(size=(1100, 4))
    rows[row] = 9.0
    score = as_score(squares, gradient=lambda X: np.where(X > 8, X, 2 * X))
    if seen:
        with pytest.raises(ValueError, match=f"got 9 at row {row}, column 0"):
            score(rows)
    else:
        score(rows)


@pytest.mark.parametrize("nothing", [np.nan, np.inf, -np.inf])
def test_a_gradient_that_never_has_a_number_is_refused_once_enough_rows_are_seen(nothing):
    score = as_score(squares, gradient=lambda X: np.full_like(X, nothing))
    score(X[:3])
    with pytest.raises(ValueError, match=r"finite at normal rows, got no finite slope.*Leave"):
        score(X[3:4])


def zeros_only(X):
    return np.where((X == 0).all(axis=1)[:, None], 2 * X, np.nan)


def test_a_gradient_that_has_a_number_in_one_row_of_many_is_not_refused():
    X_odd = np.vstack([X, np.zeros(4)])
    score = as_score(squares, gradient=zeros_only)
    np.testing.assert_array_equal(score(X_odd[-1:]), [0.0])
    np.testing.assert_array_equal(score(X_odd), squares(X_odd))


def test_the_numbers_are_those_of_the_row_and_the_column():
    rows = np.array([[0.0, 5.0], [0.0, 5.0]])
    score = as_score(squares, gradient=lambda X: X)
    with pytest.raises(ValueError, match=r"got 5 at row 0, column 1, where .* give 10\."):
        score.value_and_grad(rows)


@pytest.mark.parametrize("unit", [1.0, 1e9, 1e-9])
@pytest.mark.parametrize("rows", [*ROWS, "zeros"])
@pytest.mark.parametrize("kind", RIGHT)
def test_a_right_gradient_is_never_refused(kind, rows, unit):
    function, gradient = RIGHT[kind]
    score = as_score(lambda X: function(X / unit), gradient=lambda X: gradient(X / unit) / unit)
    chosen = unit * ({**ROWS, "zeros": np.zeros((1, 4))}[rows])
    with np.errstate(all="ignore"):
        for moved in (chosen, 1.1 * chosen, chosen - unit):
            _, accepted = score.value_and_grad(moved)
            np.testing.assert_array_equal(accepted, gradient(moved / unit) / unit)


@pytest.mark.parametrize("cast", [np.float32, np.float16])
@pytest.mark.parametrize("kind", ["squares", "kink", "rectifier", "constant", "wiggly"])
def test_nor_is_that_of_a_function_in_another_precision(kind, cast):
    function, gradient = RIGHT[kind]
    for function_in in (
        lambda X: function(X.astype(cast)),
        lambda X: function(X.astype(cast)).astype(float),
    ):
        accepted = as_score(function_in, gradient=gradient)(X)
        np.testing.assert_array_equal(accepted, function_in(X))


@pytest.mark.parametrize("kind", WRONG)
def test_single_precision_hides_no_wrong_gradient(kind):
    with pytest.raises(ValueError, match="The gradient must be"):
        as_score(lambda X: squares(X.astype(np.float32)), gradient=WRONG[kind])(X)


def test_a_gradient_is_audited_until_rows_have_come():
    score = as_score(squares, gradient=lambda X: 2 * X * [1, 1, 1, 0])
    score(np.zeros((1, 4)))  # where nothing shows
    with pytest.raises(ValueError, match="column 3"):
        score(X)


def test_a_function_that_fails_beside_its_rows_is_judged_by_the_others():
    def fussy(X):
        if (X < 0).any():
            raise RuntimeError("only positive numbers")
        return X.sum(axis=1)

    score = as_score(fussy, gradient=np.ones_like)
    assert score(np.abs(X)).shape == (100,)


DTYPES = [torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_partial_detach_is_refused(dtype):
    def halved(rows):
        return (rows * rows.detach()).sum(dim=1)

    with pytest.raises(ValueError, match=r"differences of the score.*detach"):
        Explainer(torch_score(halved, 4, dtype=dtype), X)(X[:2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_detach_in_one_column_is_refused(dtype):
    def partly(rows):
        return (rows[:, :3] ** 2).sum(dim=1) + rows[:, 3].detach() ** 2

    with pytest.raises(ValueError, match="column 3"):
        torch_score(partly, 4, dtype=dtype)(X)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("out", [1, 8], ids=["score", "reconstruction"])
def test_a_network_of_rectifiers_is_no_false_alarm(dtype, out, seed):
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(8, 256), torch.nn.ReLU(), torch.nn.Linear(256, out)]
    score = as_score(torch.nn.Sequential(*layers).to(dtype), n_features=8)
    rows = np.random.default_rng(seed).normal(size=(50, 8)) * [0.1, 1.0, 10.0][seed % 3]
    assert score(rows).shape == (50,)


def refused(function, gradient, rows=X):
    try:
        as_score(function, gradient=gradient)(rows)
    except ValueError as error:
        return "differences of the score" in str(error)
    return False


@pytest.mark.parametrize(("factor", "wrong"), [(1.005, False), (0.995, False), (1.03, True)])
def test_a_gradient_may_be_off_by_a_hundredth(factor, wrong):
    assert refused(squares, lambda X: 2 * factor * X) is wrong


# A step counts by how far a column spreads: a slope of 1e-4 of the steepest hardly changes a score.
@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("part", "wrong"), [(1e-4, False), (1e-2, True)])
def test_slopes_that_hardly_change_the_score_may_be_wrong(part, wrong, spread):
    scale = np.array([1.0, 1.0, 1.0, spread])
    slope = np.array([1.0, 1.0, 1.0, part / spread])

    def claimed(X):
        return np.tile(slope * [1, 1, 1, 0], (len(X), 1))

    assert refused(lambda X: X @ slope, claimed, X * scale) is wrong


@pytest.mark.parametrize(
    ("claimed", "wrong"), [(-1.0, False), (0.5, False), (1.0, False), (1.5, True), (-1.5, True)]
)
def test_at_a_kink_any_slope_between_those_of_both_sides_is_right(claimed, wrong):
    rows = np.vstack([np.zeros((1, 2)), X[:, :2]])

    def gradient(X):
        return np.where(X == 0, claimed, np.sign(X))

    assert refused(lambda X: np.abs(X).sum(axis=1), gradient, rows) is wrong


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("claimed", "wrong"), [(3.0, False), (-3.0, True), (2.0, True)])
def test_at_the_edge_of_where_a_function_works_there_is_one_side(claimed, wrong, side):
    def half(X):
        return np.where((side * X < 0).any(axis=1), np.nan, 3 * X.sum(axis=1))

    rows = side * np.abs(np.vstack([np.zeros((1, 2)), X[:20, :2]]))

    def gradient(X):
        return np.where(X == 0, claimed, 3.0)

    assert refused(half, gradient, rows) is wrong


@pytest.mark.parametrize("extreme", ["argmin", "argmax"])
@pytest.mark.parametrize("column", range(4))
def test_each_columns_smallest_and_largest_value_is_looked_at(column, extreme):
    rows = X[:64]
    row = getattr(rows, extreme)(axis=0)[column]

    def gradient(X):
        slope = 2 * X
        slope[X[:, column] == rows[row, column], column] *= -1
        return slope

    message = f"got {-2 * rows[row, column]:.6g} at row {row}, column {column},"
    with pytest.raises(ValueError, match=message):
        as_score(squares, gradient=gradient)(rows)


def test_rows_that_occur_again_are_counted_where_they_first_stand():
    rows = np.vstack([np.ones((5, 4)), X[:1], np.ones((3, 4)), X[1:3]])

    def gradient(rows):
        return np.where(rows == X[2], -2 * rows, 2 * rows)

    with pytest.raises(ValueError, match="at row 10, "):
        as_score(squares, gradient=gradient)(rows)


def test_a_gradient_is_trusted_once_four_different_rows_were_right():
    asked = []

    def gradient(X):
        asked.append(len(X))
        return 2 * X

    score = as_score(squares, gradient=gradient)
    for n in (1, 2, 1, 3, 3):
        score(X[:n])
    # One row, two more, one more; what is known of a row is not kept.
    assert asked == [1, 2, 1]


def test_a_right_gradient_costs_two_points_for_each_slope_that_is_looked_at():
    asked = []

    def counted(X):
        asked.append(len(X))
        return squares(X)

    score = as_score(counted, gradient=lambda X: 2 * X)
    score(X)
    looked = asked[4:]  # after the audit of the function
    assert looked[0] == 64
    assert len(looked) == 2
    assert looked[1] <= 2 * 4 * 4


def test_a_column_that_never_changes_is_no_excuse_for_a_wrong_slope():
    rows = X * [1, 1, 1, 0] + [0, 0, 0, 7.0]
    assert not refused(squares, lambda X: 2 * X, rows)
    assert refused(squares, lambda X: 2 * X * [1, 1, 1, 0], rows)
    assert refused(squares, lambda X: 2 * X * [1, 1, 1, -1], rows)
