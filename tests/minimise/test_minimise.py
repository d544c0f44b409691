from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds
from scipy.optimize import minimize as scipy_minimize

import whyflag.minimise as module
from benchmarks.adam import CASES, compare
from benchmarks.worlds import random_covariance, random_mixture
from helpers import FEW, SWITCH, SWITCHED, Counted, random_coalitions, switched
from whyflag import Domain, as_score
from whyflag.minimise import Limits, minimise
from whyflag.outcome import Outcome
from whyflag.score import Ability, Curvature, Gradient, Score
from whyflag.score.mixture import MixtureEnergy


def with_gradient(energy):
    """The same score, with its gradient but without its curvature."""
    return as_score(
        lambda X: energy(X), lambda X: energy.value_and_grad(X)[1], n_features=energy.n_features
    )


def without_gradient(energy):
    return as_score(lambda X: energy(X), n_features=energy.n_features)


KINDS = {"curved": lambda energy: energy, "gradient": with_gradient, "search": without_gradient}


def gaussian(d, condition=20.0, seed=0):
    rng = np.random.default_rng(seed)
    return MixtureEnergy(
        np.zeros(1), rng.normal(size=(1, d)), random_covariance(d, condition, rng)[None]
    ).to_score()


def gaussian_minimum(energy, x, keep):
    """Closed form: P_FF y_F = P_FF μ_F + P_FS (μ_S − x_S)."""
    precision, mean = np.linalg.inv(energy.function.covariances[0]), energy.function.means[0]
    free = ~keep
    y = x.copy()
    lhs = precision[np.ix_(free, free)]
    rhs = (
        precision[np.ix_(free, free)] @ mean[free]
        + precision[np.ix_(free, keep)] @ (mean - x)[keep]
    )
    y[free] = np.linalg.solve(lhs, rhs)
    return y


@pytest.mark.parametrize("kind", KINDS)
def test_one_gaussian_has_its_closed_form(kind):
    energy = gaussian(5)
    X = np.random.default_rng(1).normal(size=(20, 5)) * 3
    keep = random_coalitions(20, 5, seed=2)
    found = minimise(KINDS[kind](energy), X, keep, Domain(5))
    assert found.converged.all()
    for x, kept, point in zip(X, keep, found.point, strict=True):
        expected = gaussian_minimum(energy, x, kept)
        np.testing.assert_allclose(point, expected, atol=1e-4 if kind == "search" else 1e-6)
        np.testing.assert_allclose(energy(point[None]), energy(expected[None]), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_distance_holds_a_minimum_back_as_scipy_finds_it(kind):
    energy = gaussian(5)
    X = np.random.default_rng(1).normal(size=(20, 5)) * 3
    keep = random_coalitions(20, 5, seed=2)
    gamma = 0.5
    found = minimise(KINDS[kind](energy), X, keep, Domain(5), gamma=gamma)
    for x, kept, loss in zip(X, keep, found.loss, strict=True):
        free = ~kept

        def of_free(v, x=x, free=free):
            y = x.copy()
            y[free] = v
            away = (v - x[free]) ** 2
            return energy(y[None])[0] + gamma * (away / (1 + away / 9)).sum() / max(1, free.sum())

        starts = [x[free], energy.function.means[0][free]]
        expected = min(scipy_minimize(of_free, start).fun for start in starts)
        assert loss <= expected + 1e-6


def test_scale_is_the_unit_of_distance():
    energy = gaussian(3)
    scale = np.array([0.01, 1.0, 50.0])
    stretched = MixtureEnergy(
        np.zeros(1), energy.function.means, energy.function.covariances, np.zeros(3), scale
    ).to_score()
    X = np.random.default_rng(0).normal(size=(6, 3))
    keep = random_coalitions(6, 3, seed=1)
    plain = minimise(energy, X, keep, Domain(3), gamma=0.3)
    other = minimise(stretched, X * scale, keep, Domain(3, scale=scale), gamma=0.3)
    np.testing.assert_allclose(other.point / scale, plain.point, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 6),
    k=st.integers(1, 3),
    gamma=st.sampled_from([0.0, 0.01, 1.0]),
    bounded=st.booleans(),
    radius=st.sampled_from([None, 0.5]),
    shape=st.sampled_from(["box", "ball"]),
)
def test_what_every_minimum_keeps(kind, seed, d, k, gamma, bounded, radius, shape):
    rng = np.random.default_rng(seed)
    energy = random_mixture(d, k, 100.0, seed)
    X = rng.normal(size=(4, d)) * 2
    keep = rng.random((4, d)) < 0.4
    domain = Domain(
        d,
        scale=rng.uniform(0.5, 2, size=d),
        lower=-2.5 if bounded else -np.inf,
        upper=2.0 if bounded else np.inf,
        fixed=rng.random(d) < 0.2,
        center=np.zeros(d),
    )
    found = minimise(KINDS[kind](energy), X, keep, domain, gamma=gamma, radius=radius, shape=shape)
    still = keep | domain.fixed
    assert (found.point[still] == X[still]).all()
    assert np.isfinite(found.point).all()
    assert (found.loss <= energy(X) + 1e-12 * np.abs(energy(X))).all()
    penalty = gamma / np.maximum((~still).sum(axis=1), 1)
    squares = ((found.point - X) / domain.scale) ** 2
    distance = (squares / (1 + squares / 9)).sum(axis=1)
    np.testing.assert_allclose(found.loss, energy(found.point) + penalty * distance, rtol=1e-9)
    moved = found.point != X
    assert (found.point >= domain.lower)[moved].all()
    assert (found.point <= domain.upper)[moved].all()
    if radius is not None:
        move = (
            found.point - np.where(still, X, np.clip(X, domain.lower, domain.upper))
        ) / domain.scale
        norm = np.linalg.norm(move, ord=2 if shape == "ball" else np.inf, axis=1)
        stayed = ~moved.any(axis=1)
        assert (stayed | (norm <= radius * (1 + 1e-9))).all()


@pytest.mark.parametrize("kind", ["curved", "gradient"])
@pytest.mark.parametrize("shape", ["box", "ball"])
def test_neighbourhoods_end_where_scipys_constrained_solvers_end(kind, shape):
    energy = gaussian(4)
    score = KINDS[kind](energy)
    X = np.random.default_rng(5).normal(size=(8, 4)) * 3
    keep = random_coalitions(8, 4, seed=0)
    domain = Domain(4, lower=-4.0, upper=4.0)
    X = np.clip(X, -4.0, 4.0)
    keep[:, 0] = False  # something is free
    found = minimise(score, X, keep, domain, radius=0.8, shape=shape)
    assert found.converged.all()
    for x, kept, loss in zip(X, keep, found.loss, strict=True):
        free = ~kept

        def point(v, x=x, free=free):
            y = x.copy()
            y[free] = v
            return y[None]

        within = {
            "type": "ineq",
            "fun": lambda v, x=x, free=free: 0.64 - ((v - x[free]) ** 2).sum(),
            "jac": lambda v, x=x, free=free: -2 * (v - x[free]),
        }
        expected = scipy_minimize(
            lambda v, point=point: energy(point(v))[0],
            x[free],
            jac=lambda v, point=point, free=free: energy.value_and_grad(point(v))[1][0, free],
            method="SLSQP",
            bounds=Bounds(np.maximum(x - 0.8, -4.0)[free], np.minimum(x + 0.8, 4.0)[free]),
            constraints=[within] if shape == "ball" else [],
            options={"ftol": 1e-10},
        )
        assert expected.success
        assert loss == pytest.approx(expected.fun, abs=1e-6)


def test_a_linear_score_goes_to_the_edge_of_the_ball():
    slope = np.array([3.0, 4.0])
    score = as_score(lambda X: X @ slope, lambda X: np.tile(slope, (len(X), 1)))
    keep = np.zeros((1, 2), bool)
    found = minimise(score, np.ones((1, 2)), keep, Domain(2), radius=2.0, shape="ball")
    np.testing.assert_allclose(found.point, [[1 - 1.2, 1 - 1.6]])


def test_a_row_outside_the_bounds_is_brought_inside():
    energy = gaussian(2)
    domain = Domain(2, lower=-1.0, upper=1.0)
    X = np.array([[9.0, 0.0]])
    point = minimise(energy, X, np.zeros((1, 2), bool), domain).point
    assert (np.abs(point) <= 1).all()
    kept = minimise(energy, X, np.array([[True, False]]), domain).point
    assert kept[0, 0] == 9.0


def test_a_row_outside_the_bounds_stays_where_inside_is_worse():
    score = as_score(lambda X: -X.sum(axis=1), lambda X: -np.ones_like(X))
    X = np.array([[5.0, 0.0]])
    found = minimise(score, X, np.array([[False, True]]), Domain(2, upper=1.0))
    assert found.point.tolist() == X.tolist()
    assert found.loss.tolist() == [-5.0]


def test_where_the_score_has_no_answer_no_one_goes():
    def gradient(X):
        return np.where(X > 0, 1 / np.where(X > 0, X, 1.0), np.nan)

    def score(X):
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.log(X).sum(axis=1)

    X = np.array([[3.0, 2.0]])
    for candidate in (as_score(score, gradient), as_score(score)):
        found = minimise(candidate, X, np.zeros((1, 2), bool), Domain(2), gamma=1.0)
        assert np.isfinite(found.point).all()
        assert found.loss[0] <= score(X)[0]


def test_a_problem_with_nothing_free_is_solved():
    energy = gaussian(3)
    found = minimise(energy, np.ones((1, 3)), np.ones((1, 3), bool), Domain(3), gamma=1.0)
    assert found.converged.all()
    assert found.point.tolist() == [[1.0, 1.0, 1.0]]


def test_the_limits_are_these_unless_others_are_given():
    """Others give other answers in hard problems: a change is one that users should know of."""
    assert asdict(Limits()) == {
        "max_gradients": 2000,
        "max_differences": 200,
        "max_rounds": 100,
        "other_descents": 4,
        "other_searches": 1,
        "flat": 1e-10,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_running_out_of_evaluations_shows(kind):
    two = Limits(max_gradients=2, max_differences=2, max_rounds=2)
    energy = random_mixture(6, 3, 100.0, seed=0)
    X = np.random.default_rng(0).normal(size=(10, 6)) * 3
    nothing = np.zeros((10, 6), bool)
    found = minimise(KINDS[kind](energy), X, nothing, Domain(6), gamma=0.01, limits=two)
    assert (found.ended == Outcome.OUT_OF_BUDGET).any()
    assert (found.loss <= energy(X) + 1e-12 * np.abs(energy(X))).all()


@pytest.mark.parametrize("shape", [None, "box", "ball"])
def test_only_the_problem_that_ran_out_has_not_converged(shape):
    limits = {} if shape is None else {"radius": 10.0, "shape": shape}
    nothing = np.zeros((3, 3), bool)
    found = minimise(switched(), SWITCHED, nothing, SWITCH, limits=FEW, **limits)
    assert found.converged.tolist() == [True, False, True]


@pytest.mark.parametrize("shape", [None, "box", "ball"])
@pytest.mark.parametrize("kind", ["curved", "search"])
def test_evaluations_are_those_that_were_made(kind, shape):
    counted = Counted(random_mixture(3, 3, 20.0, seed=0))
    X = np.random.default_rng(0).normal(size=(8, 3)) * 2
    domain = Domain(3, lower=-2.0, upper=2.0, fixed=[2])  # some rows are outside
    limits = {} if shape is None else {"radius": 1.0, "shape": shape}
    score = counted.score if kind == "curved" else counted.score.without(Ability)
    found = minimise(score, X, random_coalitions(8, 3, seed=1), domain, gamma=0.01, **limits)
    assert found.n_evaluations.sum() == counted.count
    assert (found.n_evaluations > 0).all()


def test_only_the_search_that_ran_out_of_rounds_has_not_converged():
    score = as_score(lambda X: np.floor(np.abs(X)).sum(axis=1))
    X = np.array([[0.0, 0.0], [500.0, 0.0], [0.5, 0.0]])
    few = Limits(max_rounds=6)
    found = minimise(score, X, np.zeros((3, 2), bool), Domain(2), gamma=1e-9, limits=few)
    assert found.converged.tolist() == [True, False, True]


@pytest.mark.parametrize("kind", ["curved", "gradient"])
def test_whatever_has_converged_stands_where_the_slope_is_flat(kind):
    """Also where the best of several ways down is the one that was cut short."""
    energy = random_mixture(4, 3, 100.0, seed=1)
    X = np.random.default_rng(0).normal(size=(60, 4)) * 3
    keep = np.zeros((60, 4), bool)
    arrived = []
    for cap in range(2, 40, 3):
        limits = Limits(max_gradients=cap)
        found = minimise(KINDS[kind](energy), X, keep, Domain(4), gamma=0.01, limits=limits)
        u = found.point - X
        slope = energy.value_and_grad(found.point)[1] + 0.02 / 4 * u / (1 + u**2 / 9) ** 2
        assert np.abs(slope[found.converged]).max(initial=0.0) < 1e-3
        arrived.append(found.converged.mean())
    assert arrived[0] < 0.9 < arrived[-1]


def test_a_move_that_is_still_cut_off_at_the_sphere_has_not_converged(monkeypatch):
    monkeypatch.setattr(module.ball, "MOST_PULLS", 1)
    energy = gaussian(3)
    X = np.vstack([energy.function.means[0] + 0.5, energy.function.means[0] + 5.0])
    found = minimise(energy, X, np.zeros((2, 3), bool), Domain(3), radius=2.0, shape="ball")
    assert found.converged.tolist() == [True, False]


def bottomless():
    """Scores that fall for ever along the first column, with their gradients."""
    return {
        "ramp": (
            lambda X: X[:, 1] ** 2 - X[:, 0],
            lambda X: np.stack([-np.ones(len(X)), 2 * X[:, 1]], axis=1),
        ),
        "logarithm": (
            lambda X: -np.log1p(X[:, 0] ** 2),
            lambda X: np.stack([-2 * X[:, 0] / (1 + X[:, 0] ** 2), 0 * X[:, 0]], axis=1),
        ),
        "half": (  # falls on one side of zero only
            lambda X: X[:, 1] ** 2 - np.maximum(X[:, 0], 0) + 9.0 * (X[:, 0] < 0),
            lambda X: np.stack([-1.0 * (X[:, 0] > 0), 2 * X[:, 1]], axis=1),
        ),
    }


@pytest.mark.parametrize("gamma", [0.0, 0.01])
@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize("name", bottomless())
def test_a_score_without_a_bottom_has_no_minimum_to_arrive_at(name, gradient, gamma):
    """Unless the column along which it falls is kept, or is bounded."""
    function, slope = bottomless()[name]
    score = as_score(function, slope if gradient else None, n_features=2)
    X = np.array([[1.0, 2.0], [3.0, -1.0]])
    keep = np.array([[False, False], [True, False]])
    found = minimise(score, X, keep, Domain(2), gamma=gamma)
    assert found.converged.tolist() == [False, True]
    assert found.loss[0] < function(X)[0]
    bounded = minimise(score, X, keep, Domain(2, upper=100.0, lower=-100.0), gamma=gamma)
    assert bounded.converged.all()
    near = minimise(score, X, keep, Domain(2), gamma=gamma, radius=2.0, shape="ball")
    assert near.converged.all()


def test_a_plateau_takes_as_many_evaluations_as_there_are_places_to_begin():
    """The row itself is one; typical rows are looked at first, then begun from; no more."""
    flat = as_score(lambda X: np.zeros(len(X)), np.zeros_like, n_features=2)
    X, keep = np.ones((2, 2)), np.zeros((2, 2), bool)
    assert minimise(flat, X, keep, Domain(2)).n_evaluations.tolist() == [1, 1]
    two = minimise(flat, X, keep, Domain(2, typical=[[0.0, 0.0], [2.0, 2.0]]))
    assert two.n_evaluations.tolist() == [1 + 2 * 2] * 2
    outside = minimise(flat, X, keep, Domain(2, upper=[0.0, 5.0]))
    assert outside.n_evaluations.tolist() == [2, 2]  # of which one where the row stands


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_is_very_far_away_arrives_all_the_same(kind):
    energy = MixtureEnergy(np.zeros(1), np.array([[1.0, 2.0]]), np.eye(2)[None]).to_score()
    X = np.array([[1e9, 0.0], [-1e7, 1e12], [0.0, 0.0]])
    counted = Counted(energy)
    counted_only = counted.score.without(Ability)
    score = {"curved": counted.score, "search": counted_only}.get(kind, with_gradient(energy))
    found = minimise(score, X, np.zeros((3, 2), bool), Domain(2))
    assert found.converged.all()
    np.testing.assert_allclose(found.point, np.tile([1.0, 2.0], (3, 1)), atol=1e-3)
    if kind != "gradient":
        assert found.n_evaluations.sum() == counted.count


def test_a_row_that_is_still_on_its_way_has_not_arrived_however_little_it_gains():
    """A billion scales at a steady slope: a step of one scale gains a billionth of the loss."""
    score = as_score(lambda X: -X[:, 0], lambda X: -np.ones_like(X), n_features=1)
    X = np.array([[-1e9], [-100.0]])
    found = minimise(score, X, np.zeros((2, 1), bool), Domain(1, upper=5.0))
    assert found.converged.tolist() == [False, True]
    assert found.point[1, 0] == 5.0


def test_where_the_gradient_has_no_answer_the_score_is_searched():
    """At the first row the slope is infinite, at the second it is not; both have their bottoms."""

    def score(X):
        return np.sqrt(np.abs(X[:, 0] - 5)) + X[:, 1] ** 2

    def slope(X):
        away = X[:, 0] - 5
        with np.errstate(divide="ignore", invalid="ignore"):
            first = np.sign(away) / (2 * np.sqrt(np.abs(away)))
        return np.stack([np.where(X[:, 0] == 9, np.inf, first), 2 * X[:, 1]], axis=1)

    X = np.array([[9.0, 3.0], [6.0, -2.0]])
    counted = []

    def watched(X):
        counted.append(len(X))
        return score(X)

    sloped = Score(watched, (Gradient(lambda X: (watched(X), slope(X))),), n_features=2)
    found = minimise(sloped, X, np.zeros((2, 2), bool), Domain(2, center=[5.0, 0.0]))
    assert (found.loss < 0.1).all()
    np.testing.assert_allclose(found.loss, score(found.point))
    np.testing.assert_allclose(found.point[0], [5.0, 0.0], atol=0.05)
    assert found.n_evaluations.sum() == sum(counted)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", KINDS)
def test_the_unit_of_a_score_changes_no_minimum(kind, unit):
    energy = gaussian(3)
    plain = KINDS[kind](energy)
    scaled = as_score(
        lambda X: unit * energy(X),
        None if kind == "search" else lambda X: unit * energy.value_and_grad(X)[1],
        n_features=3,
    )
    plain, scaled = replace(plain, unit=1.0), replace(scaled, unit=unit)
    X = np.random.default_rng(0).normal(size=(6, 3)) * 3
    keep = random_coalitions(6, 3, seed=1)
    domain = Domain(3, lower=-2.0, upper=2.0)  # some rows are outside
    found = minimise(plain, X, keep, domain, gamma=0.1)
    other = minimise(scaled, X, keep, domain, gamma=0.1)
    np.testing.assert_allclose(other.point, found.point, atol=1e-4)
    np.testing.assert_allclose(other.loss / unit, found.loss, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_neither_company_nor_chunks_change_a_minimum(kind, monkeypatch):
    energy = random_mixture(4, 3, 100.0, seed=3)
    score = KINDS[kind](energy)
    X = np.random.default_rng(0).normal(size=(15, 4)) * 2
    keep = random_coalitions(15, 4, seed=1)
    together = minimise(score, X, keep, Domain(4), gamma=0.01)
    monkeypatch.setattr(module, "WORK", 0)
    apart = minimise(score, X, keep, Domain(4), gamma=0.01)
    np.testing.assert_allclose(apart.point, together.point, atol=1e-6)
    alone = minimise(score, X[7:8], keep[7:8], Domain(4), gamma=0.01)
    np.testing.assert_allclose(alone.point[0], together.point[7], atol=1e-6)


# Each of five descents keeps ten moves and ten turns of four numbers; with curvature, two blocks
# as wide as there are kept columns, or free ones, whichever are fewer.
@pytest.mark.parametrize(
    ("kind", "kept", "numbers"),
    [("gradient", 0, 400), ("gradient", 2, 400), ("curved", 1, 410), ("curved", 2, 440)],
)
def test_as_many_problems_are_solved_at_once_as_a_chunk_holds(kind, kept, numbers, monkeypatch):
    asked = []

    energy = gaussian(4)

    def watched(X):
        asked.append(len(X))
        return energy.function.value_grad_regime(X)

    score = energy.having(
        Gradient(lambda X: watched(X)[:2]),
        replace(energy.need(Curvature), value_grad_regime=watched),
    )
    if kind == "gradient":
        score = score.without(Curvature)
    X = np.random.default_rng(0).normal(size=(30, 4))
    keep = np.tile(np.arange(4) < kept, (30, 1))
    for chunk, at_once in ((7 * numbers, 7), (8 * numbers - 4, 7), (100 * numbers, 30)):
        monkeypatch.setattr(module, "WORK", -(-chunk // 4))
        asked.clear()
        minimise(score, X, keep, Domain(4))
        starts = 2 if kind == "curved" else 1  # its centre, and the row itself
        assert max(asked) == at_once * starts


@pytest.mark.parametrize(("curved", "share"), [(True, 0.99), (False, 0.9)])
def test_ends_no_higher_than_2000_steps_of_adam(curved, share):
    """Without curvature or typical rows there is one start, which may miss Adam's basin."""
    results = [compare(*case, curved=curved) for case in CASES]
    problems = sum(result.problems for result in results)
    assert sum(result.no_higher for result in results) >= share * problems


def test_a_staircase_is_searched():
    """Piecewise constant, and flat around every row: no slope to follow."""
    score = as_score(lambda X: np.floor(np.abs(X) / 2).sum(axis=1))
    X = np.array([[9.0, 0.3], [0.5, -30.0], [4.5, 5.5]])
    domain = Domain(2, center=np.zeros(2))
    found = minimise(score, X, np.zeros((3, 2), bool), domain, gamma=1e-3)
    np.testing.assert_array_equal(score(found.point), 0.0)
    # The penalty keeps it on the near edge of the floor, to the search's resolution.
    np.testing.assert_allclose(np.abs(found.point[0, 0]), 2.0, atol=0.05)


def test_a_kink_is_searched_on_from_where_descent_ends():
    """The steep column's kink holds descent up, when the others are still on their way."""
    score = as_score(lambda X: np.abs(X - 1 / 3) @ [50.0, 1.0, 2.0], n_features=3)
    X = np.random.default_rng(0).normal(size=(10, 3)) * 3
    found = minimise(score, X, np.zeros((10, 3), bool), Domain(3))
    np.testing.assert_allclose(found.point, np.full((10, 3), 1 / 3), atol=0.01)
    assert found.converged.all()


def test_the_search_flips_binary_columns_and_leaves_them_whole():
    seen = []

    def score(X):
        seen.append(X[:, 1:].copy())
        return 3 * np.abs(X[:, 1] - 1) + X[:, 2] + (X[:, 0] - 1) ** 2

    X = np.array([[0.0, 0.0, 1.0]])
    domain = Domain(3, binary=[1, 2])
    found = minimise(as_score(score), X, np.zeros((1, 3), bool), domain, gamma=0.0)
    np.testing.assert_allclose(found.point, [[1.0, 1.0, 0.0]], atol=1e-5)
    assert set(np.unique(np.vstack(seen))) <= {0.0, 1.0}


def test_the_search_follows_a_smooth_score_computed_in_single_precision():
    energy = gaussian(3)
    score = as_score(lambda X: energy(X).astype(np.float32))
    X = np.random.default_rng(0).normal(size=(5, 3)) * 3
    keep = np.zeros((5, 3), bool)
    found = minimise(score, X, keep, Domain(3))
    assert energy(found.point).max() <= energy(energy.function.means)[0] + 1e-4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gamma": -1.0}, "`gamma` must be a finite number, at least 0, got -1.0"),
        ({"gamma": np.nan}, "`gamma` must be a finite number, at least 0, got nan"),
        ({"radius": 0.0}, "`radius` must be a finite number, above 0, or None, got 0.0"),
        ({"shape": "cone"}, "`shape` must be .*, got 'cone'"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        minimise(gaussian(2), np.ones((1, 2)), np.zeros((1, 2), bool), Domain(2), **arguments)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda X: (X**2).sum(axis=1), Outcome.ARRIVED),
        (lambda X: -X.sum(axis=1), Outcome.NO_BOTTOM),
        (lambda X: np.full(len(X), np.nan), Outcome.NOT_FINITE),
    ],
)
def test_why_a_problem_ended_is_said(function, why):
    score = Score(function, n_features=2)
    found = minimise(score, np.ones((1, 2)), np.zeros((1, 2), bool), Domain(2))
    assert found.ended.tolist() == [why]
    assert bool(Outcome(found.ended[0]).sentence) == (why != Outcome.ARRIVED)
