"""The bound: what Bayes finds with the true density, against counting and against draws."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from benchmarks.culprits.bound import KINDS, Truth, log_odds, planted, truth_of
from benchmarks.culprits.worlds import World, load_world
from whyflag.metrics import mean_reciprocal_rank

NAME = "gaussian 6"
SHAPE = np.array([[1.0, 0.8], [0.8, 1.0]])


def test_the_truth_is_what_rows_were_drawn_from():
    world, truth = load_world(NAME), truth_of(NAME)
    deviation = np.sqrt(np.diag(truth.covariance))
    np.testing.assert_allclose(world.train.mean(axis=0), truth.mean, atol=0.2 * deviation.max())
    correlation = truth.covariance / np.outer(deviation, deviation)
    np.testing.assert_allclose(np.corrcoef(world.train.T), correlation, atol=0.1)


def test_what_the_others_tell_is_the_conditional_normal():
    expected, spread = Truth(np.zeros(2), SHAPE).given_others(np.array([[1.0, -3.0]]))
    np.testing.assert_allclose(expected, [[-2.4, 0.8]])
    np.testing.assert_allclose(spread, 0.6)


def test_odds_of_noise_are_those_of_an_integral():
    """Over what the value may have been before one to two deviations were added."""
    rows = np.random.default_rng(0).multivariate_normal(np.zeros(2), SHAPE, 500)
    world, truth, x = World("own", rows, rows[:0]), Truth(np.zeros(2), SHAPE), np.array([1.5, -0.5])
    density = multivariate_normal(np.zeros(2), SHAPE).pdf

    def before(i, step):
        return density(x - step * world.deviation * np.eye(2)[i])

    expected = [
        sum(quad(lambda s, sign=sign, i=i: before(i, sign * s), 1, 2)[0] for sign in (-1, 1))
        for i in range(2)
    ]
    odds = log_odds(world, truth, "noise", x[None])[0]
    assert odds[0] - odds[1] == pytest.approx(np.log(expected[0] / expected[1]), abs=1e-6)


def test_odds_of_a_swap_are_those_of_two_densities():
    rows = np.random.default_rng(0).multivariate_normal(np.zeros(2), SHAPE, 20_000)
    world, truth, x = (
        World("own", rows, rows[:0]),
        Truth(np.zeros(2), SHAPE),
        np.array([[2.0, 0.5]]),
    )
    # The other value is as it was, and this one is any of its column: the same for both.
    odds = log_odds(world, truth, "swap", x)[0]
    assert odds[0] == pytest.approx(odds[1], abs=0.05)
    expected = norm.logpdf(2.0) - norm.logpdf(2.0, 0.4, 0.6)
    assert odds[0] == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_above_the_largest_deviation(kind):
    world = load_world(NAME)
    X, guilty = planted(world, kind)
    best = mean_reciprocal_rank(log_odds(world, truth_of(NAME), kind, X), guilty)
    largest = mean_reciprocal_rank(np.abs(X - world.mean) / world.deviation, guilty)
    assert best.value > largest.value
