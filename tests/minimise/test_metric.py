import numpy as np
import pytest

from benchmarks.worlds import random_mixture
from whyflag import Domain
from whyflag.minimise.metric import Metric
from whyflag.minimise.problem import Problems
from whyflag.score import Curvature

D = 13


def expected(problems, row, regime, vector, loose):
    scale = problems.domain.scale
    curvature = problems.score.need(Curvature).matrices[regime] * np.outer(scale, scale)
    curvature = curvature + 2 * (problems.gamma / D + problems.leash[row]) * np.eye(D)
    free = problems.free[row] & loose
    result = np.zeros(D)
    result[free] = np.linalg.solve(curvature[np.ix_(free, free)], vector[free])
    return result


@pytest.mark.parametrize("most_kept", [0, 1, D // 2, D])
def test_it_inverts_the_free_block_of_the_ruling_curvature(most_kept):
    rng = np.random.default_rng(most_kept)
    b = 12
    keep = np.zeros((b, D), dtype=bool)
    for row in range(b):
        keep[row, rng.permutation(D)[: rng.integers(most_kept + 1)]] = True
    keep[0] = np.arange(D) < most_kept
    domain = Domain(D, scale=rng.uniform(0.5, 2.0, D))
    problems = Problems(random_mixture(D, 3, 100.0, 0), rng.normal(size=(b, D)), keep, domain)
    problems = problems.on_leash(rng.choice([0.0, 3.0], size=b), problems.entry)
    regime = rng.integers(3, size=b)
    metric = Metric(problems.spectra, problems, regime)
    vector = np.where(problems.free, rng.normal(size=(b, D)), 0.0)
    loose = rng.random((b, D)) < 0.7  # what no bound holds

    def check(metric, rows, regime):
        everything = metric.apply(vector[rows])
        part = metric.apply(np.where(loose, vector, 0.0)[rows], loose[rows])
        for position, row in enumerate(rows):
            wanted = expected(problems, row, regime[row], vector[row], np.ones(D, dtype=bool))
            np.testing.assert_allclose(everything[position], wanted, atol=1e-8)
            wanted = expected(problems, row, regime[row], vector[row], loose[row])
            np.testing.assert_allclose(part[position], wanted, atol=1e-8)

    check(metric, np.arange(b), regime)
    other = (regime + rng.integers(2, size=b)) % 3
    np.testing.assert_array_equal(metric.update(other), other != regime)
    check(metric, np.arange(b), other)
    some = rng.random(b) < 0.5
    metric = metric.select(np.flatnonzero(some))
    check(metric, np.flatnonzero(some), other)


@pytest.mark.parametrize("gamma", [0.0, 2.0])
def test_the_bottom_of_a_parabola_is_the_conditional_mean(gamma):
    """γ adds to the curvature of every column; without it, this is the Gaussian's own."""
    rng = np.random.default_rng(0)
    energy, b = random_mixture(D, 3, 100.0, 0), 10
    scale = rng.uniform(0.5, 2.0, D)
    keep = rng.random((b, D)) < np.linspace(0, 1, b)[:, None]
    X = rng.normal(size=(b, D))
    problems = Problems(energy, X, keep, Domain(D, scale=scale), gamma=gamma)
    regime = rng.integers(3, size=b)
    away = rng.normal(size=(b, D))
    bottom = Metric(problems.spectra, problems, regime).bottom(away)
    for row, (free, held) in enumerate(zip(~keep, keep, strict=True)):
        precision = np.linalg.inv(energy.function.covariances[regime[row]]) * np.outer(scale, scale)
        covariance = np.linalg.inv(precision + 2 * gamma / D * np.eye(D))
        gain = covariance[np.ix_(free, held)] @ np.linalg.inv(covariance[np.ix_(held, held)])
        np.testing.assert_allclose(bottom[row, free], gain @ away[row, held], atol=1e-8)
        np.testing.assert_array_equal(bottom[row, held], away[row, held])
