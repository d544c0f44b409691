"""What an affine map leaves of a curvature."""

import numpy as np
import pytest

from benchmarks.worlds import random_mixture
from whyflag.score import Curvature
from whyflag.score.map import Map

RNG = np.random.default_rng(0)


class Affine(Map):
    """z = x J + c, or x times a diagonal."""

    smooth = True

    def __init__(self, jacobian, constant):
        self.n_features, self.jacobian, self.constant = len(jacobian), jacobian, constant

    def __call__(self, X):
        moved = X * self.jacobian if self.jacobian.ndim == 1 else X @ self.jacobian
        return moved + self.constant


def behind(jacobian, k):
    score = random_mixture(k, 2, 10.0, seed=0)
    step = Affine(jacobian, RNG.normal(size=k))
    return score.find(Curvature), score.after(step).find(Curvature), step


@pytest.mark.parametrize("jacobian", [RNG.normal(size=(3, 3)), np.array([0.5, -2.0, 3.0])])
def test_centres_are_the_rows_that_go_to_the_centres(jacobian):
    bare, left, step = behind(jacobian, 3)
    np.testing.assert_allclose(step(left.centers), bare.centers, atol=1e-12)


@pytest.mark.parametrize(
    "jacobian", [RNG.normal(size=(5, 3)), RNG.normal(size=(2, 3)), np.array([1.0, 0.0, 2.0])]
)
def test_where_a_centre_is_no_single_row_there_is_none(jacobian):
    _, left, _ = behind(jacobian, 3)
    assert left.centers is None


def test_the_second_derivative_is_that_of_the_chain():
    bare, left, step = behind(RNG.normal(size=(2, 3)), 3)
    expected = step.jacobian @ bare.matrices @ step.jacobian.T
    np.testing.assert_allclose(left.matrices, expected, rtol=1e-6)
