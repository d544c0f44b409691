"""Several basins: which one a minimisation ends in, and what that costs."""

from dataclasses import replace

import numpy as np
import pytest

import whyflag.minimise as module
from benchmarks.worlds import random_covariance
from helpers import Counted
from whyflag import Domain, as_score
from whyflag.minimise import minimise
from whyflag.score.mixture import MixtureEnergy

CENTERS = np.array([[2.0, 0.0], [12.0, 0.0], [0.0, 20.0], [-9.0, 0.0], [0.0, -15.0], [9.0, 9.0]])


def wells(centers, depths, gradient=True):
    """The lowest of some bowls |x − c|² − depth, each of which rules around its centre."""
    centers, depths = np.asarray(centers, float), np.asarray(depths, float)

    def bowls(X):
        return ((X[:, None] - centers) ** 2).sum(axis=2) - depths

    def slope(X):
        return 2 * (X - centers[bowls(X).argmin(axis=1)])

    def score(X):
        return bowls(X).min(axis=1)

    return as_score(score, slope if gradient else None, n_features=centers.shape[1])


def ends(score, X, typical, basin="lowest", keep=None, **limits):
    X = np.atleast_2d(np.asarray(X, float))
    keep = np.zeros(X.shape, bool) if keep is None else np.asarray(keep)
    domain = Domain(X.shape[1], typical=typical, **limits)
    return minimise(score, X, keep, domain, basin=basin)


@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize("deepest", range(len(CENTERS)))
def test_the_lowest_of_many_basins_is_found_wherever_its_typical_row_stands(deepest, gradient):
    depths = np.array([1.0, 5.0, 2.0, 6.0, 3.0, 4.0])
    depths[deepest] = 9.0
    found = ends(wells(CENTERS, depths, gradient), [[0.0, 0.0]], CENTERS + 0.5)
    np.testing.assert_allclose(found.point, CENTERS[[deepest]], atol=1e-5)
    assert found.loss[0] == pytest.approx(-9.0)


def test_a_basin_without_a_typical_row_is_found_from_the_row_itself():
    found = ends(wells(CENTERS, [9, 1, 1, 1, 1, 1]), [[0.0, 0.0]], CENTERS[1:])
    np.testing.assert_allclose(found.point, CENTERS[:1], atol=1e-6)


# From (0, 5), the second column kept, the near basin gains 4, and both are above typical rows. One
# that gains more than twice as much is the only normal one.
@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize(("depth", "chosen"), [(3.9, 2.0), (4.1, 12.0)])
def test_the_nearest_basin_is_normal_if_it_gains_half_of_what_can_be_gained(
    depth, chosen, gradient
):
    score = wells(CENTERS[:2], [0.0, depth], gradient)
    row = {"X": [[0.0, 5.0]], "typical": CENTERS[1:2], "keep": [[False, True]]}
    np.testing.assert_allclose(
        ends(score, **row, basin="nearest").point, [[chosen, 5.0]], atol=1e-5
    )
    assert ends(score, **row).loss[0] == pytest.approx(25 - depth)


@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize(("highest", "chosen"), [(0.1, 0), (0.0, 0), (-1e-9, 0), (-0.1, 1)])
@pytest.mark.parametrize("last", [True, False])
def test_a_basin_as_low_as_typical_rows_are_is_normal(highest, chosen, last, gradient):
    """Typical rows of the deep basin score from −10 up to about what the near one does."""
    score = wells(CENTERS[:2], [0.0, 10.0], gradient)
    score = replace(score, unit=10.0)  # so that none of them is an outlier
    typical = CENTERS[1] + np.array([[0.0, 0.0], [0.0, np.sqrt(10 + highest)]])
    found = ends(score, [[0.0, 0.0]], typical if last else typical[::-1], basin="nearest")
    np.testing.assert_allclose(found.point, CENTERS[[chosen]], atol=1e-5)


@pytest.mark.parametrize(("deep", "chosen"), [(1.9, 0), (2.1, 1)])
def test_a_typical_row_far_above_another_is_an_outlier_and_not_normal(deep, chosen):
    """Scores of normal rows vary by √(d/2) units; here d is 2, and twice that is allowed."""
    score = wells(CENTERS[:2], [0.0, deep])
    found = ends(score, [[0.0, 0.0]], CENTERS[:2], basin="nearest")
    np.testing.assert_allclose(found.point, CENTERS[[chosen]], atol=1e-5)


def test_of_normal_basins_the_nearest_counts_and_not_the_lowest():
    score = wells(CENTERS, [0, 3, 3, 3, 3, 3.5])
    score = replace(score, unit=2.0)
    found = ends(score, [[0.0, 0.0], [-6.0, 0.0], [0.0, 18.0]], CENTERS, basin="nearest")
    np.testing.assert_allclose(found.point, CENTERS[[0, 3, 2]], atol=1e-6)
    lowest = ends(score, [[0.0, 0.0], [-6.0, 0.0], [0.0, 18.0]], CENTERS)
    np.testing.assert_allclose(lowest.point, CENTERS[[5, 5, 5]], atol=1e-6)


@pytest.mark.parametrize("gradient", [True, False])
def test_a_normal_plateau_is_entered_where_it_begins(gradient):
    """The row has no slope to go down, and on the plateau every point is as good as the place."""

    def plateau(X):
        return np.where(X[:, 0] < 2.5, 10.0, 0.0) + 0 * X[:, 0]

    score = as_score(plateau, (lambda X: np.zeros_like(X)) if gradient else None, n_features=1)
    found = ends(score, [[0.0], [5.0]], [[8.0]], basin="nearest")
    assert found.point.tolist() == [[3.0], [5.0]]  # 3/8 of the way, and none of it
    assert ends(score, [[0.0]], [[8.0]]).point.tolist() == [[8.0]]
    # A row out of bounds goes the way from where it enters them.
    entering = ends(score, [[-4.0]], [[8.0]], basin="nearest", lower=0.0, upper=10.0)
    assert entering.point.tolist() == [[3.0]]


def test_near_is_counted_in_scales_of_the_columns():
    score = wells([[3.0, 0.0], [0.0, 4.0]], [5.0, 5.0])
    typical = np.array([[3.0, 0.0], [0.0, 4.0]])
    plain = ends(score, [[0.0, 0.0]], typical, basin="nearest")
    np.testing.assert_allclose(plain.point, [[3.0, 0.0]], atol=1e-6)
    scaled = ends(score, [[0.0, 0.0]], typical, basin="nearest", scale=[1.0, 100.0])
    np.testing.assert_allclose(scaled.point, [[0.0, 4.0]], atol=1e-6)


@pytest.mark.parametrize("basin", ["lowest", "nearest"])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_of_equal_basins_the_rows_own_counts(side, basin):
    """Also if rounding would say that the other one is lower by a trillionth."""
    score = wells([[-3.0], [3.0]], [1.0, 1.0 + 1e-12 * side])
    found = ends(score, [[-side]], [[3.0], [-3.0]], basin=basin)
    np.testing.assert_allclose(found.point, [[-3.0 * side]], atol=1e-6)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_of_equal_basins_elsewhere_the_first_typical_one_counts(order):
    """On a plateau the row itself gets nowhere."""
    centers = np.array([[-30.0], [30.0]])

    def bowls(X):
        return np.minimum(((X - centers.T) ** 2).min(axis=1) - 9, 0.0)

    def slope(X):
        nearest = centers[np.abs(X - centers.T).argmin(axis=1)]
        return np.where(np.abs(X - nearest) < 3, 2 * (X - nearest), 0.0)

    score = as_score(bowls, slope, n_features=1)
    found = ends(score, [[0.0]], centers[order])
    np.testing.assert_allclose(found.point, centers[order[:1]], atol=1e-6)
    assert found.converged.all()
    alone = ends(score, [[0.0]], None)
    assert alone.point.tolist() == [[0.0]]


def test_each_problem_of_a_batch_ends_in_its_own_basin_with_its_kept_columns():
    score = wells(CENTERS, [0, 3, 3.1, 3.2, 3.3, 3.5])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) * 8
    keep = rng.random((40, 2)) < 0.4
    found = ends(score, X, CENTERS, keep=keep)
    for x, kept, point, loss in zip(X, keep, found.point, found.loss, strict=True):
        y = np.where(kept, x, CENTERS)  # each bowl's lowest point with the kept columns
        best = score(y).argmin()
        assert loss == pytest.approx(score(y)[best], abs=1e-8)
        assert (point[kept] == x[kept]).all()
        np.testing.assert_allclose(point, y[best], atol=1e-6)


def test_typical_rows_beyond_the_bounds_are_brought_inside():
    score = wells([[0.0, 0.0], [10.0, 0.0]], [0.0, 30.0])
    found = ends(score, [[0.5, 0.0]], [[10.0, 0.0]], upper=8.0)
    assert found.point.tolist() == [[8.0, 0.0]]
    assert found.loss[0] == pytest.approx(4.0 - 30.0)


def separated(d=3, seed=0):
    """A mixture of four components that hardly touch, of different weights and shapes."""
    rng = np.random.default_rng(seed)
    means = 40.0 * np.vstack([np.zeros(d), np.eye(d)])[:4]
    covariances = np.array([random_covariance(d, 10.0, rng) for _ in means])
    return MixtureEnergy(np.log([0.1, 0.2, 0.3, 0.4]), means, covariances).to_score()


def conditional_means(energy, x, keep):
    """Of each component, given the kept columns: (K, d)."""
    free = ~keep
    points = np.tile(x, (len(energy.function.means), 1))
    for point, mean, covariance in zip(
        points, energy.function.means, energy.function.covariances, strict=True
    ):
        across = covariance[np.ix_(free, keep)]
        gain = across @ np.linalg.inv(covariance[np.ix_(keep, keep)])
        point[free] = mean[free] + gain @ (x - mean)[keep]
    return points


@pytest.mark.parametrize("scale", [1.0, [0.1, 1.0, 7.0]])
def test_a_mixture_ends_in_the_conditional_mean_of_its_best_component(scale):
    energy = separated()
    rng = np.random.default_rng(1)
    X = energy.function.means[rng.integers(4, size=30)] + 3 * rng.normal(size=(30, 3))
    keep = rng.random((30, 3)) < 0.4
    found = minimise(energy, X, keep, Domain(3, scale=scale))
    assert found.converged.all()
    for x, kept, point in zip(X, keep, found.point, strict=True):
        candidates = conditional_means(energy, x, kept)
        best = candidates[energy(candidates).argmin()]
        np.testing.assert_allclose(point, best, atol=1e-5)


@pytest.mark.parametrize("scale", [1.0, [2.0, 1.0, 1.5]])
def test_the_nearest_component_of_a_mixture_counts_where_it_is_normal(scale):
    energy = separated()
    X = energy.function.means + 4.0
    found = minimise(energy, X, np.zeros((4, 3), bool), Domain(3, scale=scale), basin="nearest")
    np.testing.assert_allclose(found.point, energy.function.means, atol=1e-5)


@pytest.mark.parametrize("chunk", [2**20, 0])
@pytest.mark.parametrize("basin", ["lowest", "nearest"])
def test_evaluations_are_those_of_all_starts(basin, chunk, monkeypatch):
    """Typical rows are scored once for all problems, where it is asked what is normal."""
    monkeypatch.setattr(module, "WORK", chunk)
    X = np.random.default_rng(0).normal(size=(5, 2)) * 9
    score = wells(CENTERS, np.arange(6.0))
    score(X)  # the audit
    counted = Counted(replace(score, unit=1.0))
    found = ends(counted.score, X, CENTERS, basin=basin)
    shared = len(CENTERS) if basin == "nearest" else 0
    assert found.n_evaluations.sum() == counted.count - shared


@pytest.mark.parametrize("basin", ["lowest", "nearest"])
def test_evaluations_of_a_mixture_are_those_of_all_its_components(basin):
    counted = Counted(separated())
    X = np.random.default_rng(0).normal(size=(5, 3)) * 9
    found = minimise(counted.score, X, np.zeros((5, 3), bool), Domain(3), basin=basin)
    assert found.n_evaluations.sum() == counted.count


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("gradient", [True, False])
def test_a_typical_row_where_the_score_has_no_answer_is_no_start(gradient, first):
    """Nor does it keep those of the others from being one."""

    def gap(X):
        return np.where(X[:, 0] > 50, np.nan, (X[:, 0] - 2) ** 2 + 10 * (X[:, 0] < 0))

    def slope(X):
        return 2 * (X - 2)

    score = as_score(gap, slope if gradient else None, n_features=1)
    score(np.zeros((1, 1)))  # one that never had an answer is refused
    typical = [[60.0], [1.0]] if first else [[1.0], [60.0]]
    found = ends(score, [[-1e-3]], typical)
    np.testing.assert_allclose(found.point, [[2.0]], atol=1e-6)
    assert found.converged.all()


def no_answer_at_ten(gradient=True):
    """A bowl with its bottom at 7, without an answer from 9 to 10."""

    def score(X):
        x = X[:, 0]
        return np.where((x > 9) & (x <= 10), np.nan, (x - 7) ** 2)

    made = as_score(score, (lambda X: 2 * (X - 7)) if gradient else None, n_features=1)
    made(np.zeros((1, 1)))  # one that never had an answer is refused
    return made


@pytest.mark.parametrize("basin", ["lowest", "nearest"])
@pytest.mark.parametrize("gradient", [True, False])
def test_a_row_that_the_bounds_bring_where_there_is_no_answer_is_led_away(gradient, basin):
    found = ends(no_answer_at_ten(gradient), [[12.0]], [[6.0]], basin=basin, upper=10.0)
    np.testing.assert_allclose(found.point, [[7.0]], atol=1e-5)
    assert found.loss[0] == pytest.approx(0.0, abs=1e-9)
    assert found.converged.all()
