import numpy as np
import pytest

from whyflag import as_score
from whyflag.score import Gradient
from whyflag.score.audit import COPIES
from whyflag.score.function import from_function

X = np.random.default_rng(0).normal(size=(20, 3))


def squares(X):
    return (X**2).sum(axis=1)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X: X, r"map rows \(20, 3\) to shape \(20,\), got \(20, 3\)"),
        (lambda X: X.sum(), r"map rows \(20, 3\) to shape \(20,\), got \(\)"),
        (lambda X: np.where(X[:, 0] == X[3, 0], np.nan, 0.0), "finite, got nan at row 3"),
        (lambda X: np.full(len(X), np.inf), "finite, got inf at row 0"),
        (lambda X: np.random.default_rng().normal(size=len(X)), "is random"),
        (lambda X: squares(X) - squares(X).mean(), "depends on the other rows"),
        (lambda X: squares(X) / len(X), "depends on the other rows"),
    ],
    ids=["matrix", "scalar", "nan", "inf", "random", "centred by the batch", "size of the batch"],
)
def test_a_score_that_is_none_is_refused(function, message):
    with pytest.raises(ValueError, match=message):
        as_score(function)(X)


def test_dependence_on_the_batch_shows_with_a_single_row_too():
    with pytest.raises(ValueError, match="among copies of itself"):
        as_score(lambda X: squares(X) / len(X))(X[:1])


def test_the_audit_goes_on_until_a_row_has_company():
    score = as_score(lambda X: squares(X) - squares(X).mean())
    score(X[:1])  # alone or among copies of itself, every row scores 0
    with pytest.raises(ValueError, match="depends on the other rows"):
        score(X)


@pytest.mark.parametrize("row", [0, -1])
def test_what_depends_on_the_place_in_a_batch_is_refused(row):
    def unfair(X):
        values = squares(X)
        values[row] += len(X) > COPIES
        return values

    with pytest.raises(ValueError, match="in two batches"):
        as_score(unfair)(X)


@pytest.mark.parametrize(("size", "difference"), [(1.0, 1e-5), (1e4, 0.1)])
def test_answers_may_differ_by_rounding_alone(size, difference):
    """By a hundred-thousandth of the largest score, or of 1."""

    def score(by):
        return as_score(lambda X: np.full(len(X), size) + by * (len(X) == 1))

    assert score(0.5 * difference)(X).shape == (20,)
    with pytest.raises(ValueError, match="depends on the other rows"):
        score(2 * difference)(X)


def test_a_score_whose_low_values_are_anomalous_is_turned_with_its_gradient():
    score = as_score(squares, lambda X: 2 * X, higher_is_anomalous=False)
    value, gradient = score.value_and_grad(X)
    np.testing.assert_array_equal(score(X), -squares(X))
    np.testing.assert_array_equal(value, -squares(X))
    np.testing.assert_array_equal(gradient, -2 * X)


def test_unless_told_otherwise_high_values_are_the_anomalous_ones():
    with_slope = from_function(squares, lambda X: 2 * X)
    for score in (from_function(squares), with_slope):
        np.testing.assert_array_equal(score(X), squares(X))
    np.testing.assert_array_equal(with_slope.value_and_grad(X)[1], 2 * X)


def test_the_number_of_columns_is_known_if_it_is_told():
    assert from_function(squares, n_features=3).n_features == 3
    assert from_function(squares, lambda X: 2 * X, n_features=3).n_features == 3
    assert from_function(squares).n_features is None


def test_single_precision_inside_is_no_dependence():
    weights = np.random.default_rng(1).normal(size=(3, 50)).astype(np.float32)
    score = as_score(lambda X: (X.astype(np.float32) @ weights).sum(axis=1) * 1e4)
    assert score(X).shape == (20,)


def test_a_function_that_writes_into_its_rows_does_not_reach_ours():
    def careless(X):
        X *= 2
        return X.sum(axis=1)

    rows = X.copy()
    as_score(careless)(rows)
    np.testing.assert_array_equal(rows, X)


def test_a_gradient_of_the_wrong_shape_is_refused():
    score = as_score(squares, gradient=lambda X: X[:, 0])
    assert score.find(Gradient) is not None
    with pytest.raises(ValueError, match=r"gradient must map rows \(20, 3\).*got \(20,\)"):
        score.value_and_grad(X)


def test_an_error_inside_the_score_says_what_it_was_called_with():
    with pytest.raises(AttributeError) as caught:
        as_score(lambda X: X.norm(dim=1))(X)
    assert "float64 array of shape (20, 3)" in caught.value.__notes__[0]
    assert "torch_score" in caught.value.__notes__[0]


def test_a_score_that_fails_on_a_row_alone_is_refused():
    def lonely(X):
        if len(X) == 1:
            raise IndexError("no neighbour")
        return squares(X)

    with pytest.raises(ValueError, match="fails on a row alone: IndexError: no neighbour"):
        as_score(lonely)(X)
