from dataclasses import replace

import numpy as np
import pytest

from benchmarks.worlds import random_mixture
from helpers import FEW, SWITCH, SWITCHED, switched
from whyflag import Domain, Explainer, as_score
from whyflag.games import (
    Background,
    CharacteristicFunction,
    LocalMinimum,
    NeighborhoodMinimum,
    RelaxedMinimum,
)
from whyflag.methods import ASH, COMP, get_method
from whyflag.minimise import minimise
from whyflag.outcome import Outcome
from whyflag.prepared import Prepared
from whyflag.shapley import Exact, Kernel, ShapleySolver

ENERGY = random_mixture(3, 2, 10.0, seed=0)
PREPARED = Prepared(ENERGY, Domain(3))
X = np.random.default_rng(0).normal(size=(4, 3)) * 2


@pytest.mark.parametrize("name", ["ash", "ASH", "Ash"])
def test_names_are_the_papers_in_any_case(name):
    assert get_method(name) == ASH()


def test_a_configured_method_is_itself():
    method = COMP(gamma=3.0)
    assert get_method(method) is method


@pytest.mark.parametrize("name", ["lime", "", 3, None, ASH])
def test_what_is_no_method_is_refused_with_the_names(name):
    with pytest.raises(
        ValueError, match=r"one of marg, SFE, ACE, IG, KSH, wKSH, comp, ASH, near or a conf.*got"
    ):
        get_method(name)


@pytest.mark.parametrize(
    "game",
    [
        RelaxedMinimum(gamma=0.2),
        LocalMinimum(gamma=0.2),
        NeighborhoodMinimum(radius=0.5),
        NeighborhoodMinimum(radius=0.5, shape="ball"),
    ],
)
def test_ash_is_nothing_but_a_game_and_a_solver(game):
    ash = ASH(game).bind(PREPARED).attribute(X)
    composed = Kernel().solve(game.bind(ENERGY, Domain(3), X))
    np.testing.assert_array_equal(ash.values, composed.values)
    assert ASH(game).settings["game"] is game


def test_a_game_of_ones_own_is_taken():
    """Here absent means zero: the Shapley values of a sum are its parts."""

    class Zero(CharacteristicFunction):
        def _bind(self, score, domain, X):
            return Background(np.zeros(X.shape[1])).bind(score, domain, X)

    total = as_score(lambda X: X.sum(axis=1), n_features=3)
    found = ASH(Zero()).bind(Prepared(total, Domain(3))).attribute(X)
    np.testing.assert_allclose(found.values, X, atol=1e-12)


def test_what_is_no_game_is_refused():
    with pytest.raises(ValueError, match=r"`game` must be .*, got 'local'"):
        ASH(game="local")


def test_the_solver_can_be_chosen():
    exact = ASH(solver=Exact()).bind(PREPARED).attribute(X)
    kernel = ASH(solver=Kernel()).bind(PREPARED).attribute(X)
    np.testing.assert_allclose(exact.values, kernel.values, atol=1e-9)


def test_comp_is_the_move_to_the_normal_point_in_scales():
    domain = Domain(3, scale=[1.0, 10.0, 0.1])
    attribution = COMP(gamma=0.5).bind(Prepared(ENERGY, domain)).attribute(X)
    nothing = np.zeros(X.shape, bool)
    point = minimise(ENERGY, X, nothing, domain, gamma=0.5, basin="nearest").point
    np.testing.assert_allclose(attribution.values, np.abs(point - X) / domain.scale)


def test_comp_of_a_group_is_the_norm_of_its_columns():
    single = COMP().bind(PREPARED).attribute(X).values
    group = COMP().bind(Prepared(ENERGY, Domain(3, players={"g": [0, 2]}))).attribute(X).values
    np.testing.assert_allclose(group[:, 0], np.hypot(single[:, 0], single[:, 2]))


@pytest.mark.parametrize(
    "method",
    [ASH(RelaxedMinimum(limits=FEW)), ASH(LocalMinimum(limits=FEW)), COMP(limits=FEW)],
    ids=["v̲", "v̂", "comp"],
)
def test_a_row_whose_minimum_was_not_reached_says_so(method):
    attribution = Explainer(switched(), domain=SWITCH, method=method)(SWITCHED)
    assert attribution.converged.tolist() == [True, False, True]
    assert attribution.ended.tolist() == [0, Outcome.OUT_OF_BUDGET, 0]
    assert repr(attribution).count("3 features, 1 not converged") == 1
    assert "stopped at its limit" in attribution.remarks[1]


def test_minima_and_draws_must_both_have_converged():
    class Doubtful(ShapleySolver):
        def solve(self, game):
            return replace(Exact().solve(game), converged=np.array([True, True, False]))

    method = ASH(RelaxedMinimum(limits=FEW), Doubtful())
    attribution = method.bind(Prepared(switched(), SWITCH)).attribute(SWITCHED)
    assert attribution.converged.tolist() == [True, False, False]


def test_comp_counts_the_evaluations_of_each_row():
    seen = []

    def score(X):
        seen.append(len(X))
        return ENERGY(X)

    bound = COMP().bind(Prepared(as_score(score), Domain(3)))
    bound.attribute(X)  # the audit
    seen.clear()
    attribution = bound.attribute(X)
    assert attribution.evaluations.sum() == sum(seen)


def test_comp_is_finite_for_the_largest_numbers():
    rows = np.random.default_rng(0).normal(size=(200, 3))
    explain = Explainer(lambda X: np.tanh(np.abs(X).max(axis=1)), rows, "comp", threshold=0.999)
    values = explain([[1e300, 0.0, 0.0]]).values
    assert np.isfinite(values).all()
    assert values.argmax() == 0
