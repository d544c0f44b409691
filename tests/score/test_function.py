import numpy as np
import pytest

from whyflag import as_score
from whyflag.score import DifferentiableScore

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
    assert isinstance(score, DifferentiableScore)
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
