"""v̲ where it holds, v̂ where it is broken: two columns that go together, in closed form."""

from dataclasses import replace

import numpy as np
import pytest

import whyflag.games.relaxed_minimum as module
import whyflag.minimise
from benchmarks.worlds import random_mixture
from whyflag import Domain
from whyflag.games import LocalMinimum, RelaxedMinimum
from whyflag.minimise import Limits
from whyflag.outcome import Outcome
from whyflag.score import Curvature
from whyflag.score.mixture import MixtureEnergy
from whyflag.shapley.coalitions import numbered

ALL = numbered(0, 4, 2)
# The first and the last are far along the bond: an average of 0 and of their values breaks it.
X = np.array([[3.0, 3.0], [3.0, -3.0], [-2.0, 2.0], [2.5, 2.4]])
BROKEN = np.array([True, False, False, True])


def bond(correlation, unit=None):
    covariance = np.array([[1.0, correlation], [correlation, 1.0]])
    energy = MixtureEnergy(np.zeros(1), np.zeros((1, 2)), covariance[None]).to_score()
    return replace(energy, unit=unit)


@pytest.fixture
def energy():
    return bond(0.99)


def test_limits_are_not_shown():
    assert repr(RelaxedMinimum(gamma=0.5)) == "RelaxedMinimum(gamma=0.5)"


def test_broken_rows_have_the_values_of_the_local_minimum_and_the_others_their_own(energy):
    game = RelaxedMinimum(gamma=0.0).bind(energy, Domain(2), X)
    assert game.fallback.tolist() == BROKEN.tolist()
    values = game(ALL)
    local = LocalMinimum(gamma=0.0).bind(energy, Domain(2), X[BROKEN])
    np.testing.assert_allclose(values[BROKEN], local(ALL), atol=1e-9)
    np.testing.assert_allclose(game.reference[BROKEN], local.reference, atol=1e-9)
    # x̂*(∅) = 0, and x̂*({0}) = (x0, 0.99 x0): half of it goes into the average.
    for (x, y), value in zip(X[~BROKEN], values[~BROKEN], strict=True):
        expected = energy(np.array([[0, 0], [x, 0.99 * x / 2], [0.99 * y / 2, y], [x, y]]))
        by_coalition = {tuple(z): v for z, v in zip(ALL.tolist(), value, strict=True)}
        order = [(False, False), (True, False), (False, True), (True, True)]
        np.testing.assert_allclose([by_coalition[z] for z in order], expected, atol=1e-6)
    np.testing.assert_allclose(game.reference[~BROKEN], 0.0, atol=1e-6)


# With ρ² / (4 (1 − ρ²)) = k, of a row (a, ρa): v̲({0}) exceeds e(x) by k a²/2, and a²/2 is what can
# be gained at all. Half of that is allowed, or of twice what normal scores vary by: √(2d) units.
@pytest.mark.parametrize(
    ("a", "correlation", "unit", "broken"),
    [
        (3.0, 0.80, None, False),  # k = 0.44
        (3.0, 0.83, None, True),  # k = 0.55
        (1.0, 0.93, None, False),  # 1.60 · 0.5 is less than a unit
        (1.0, 0.96, None, True),  # 2.94 · 0.5 is more
        (1.0, 0.83, 0.1, True),
        (3.0, 0.83, 10.0, False),
    ],
)
def test_half_of_the_gain_breaks_nothing(a, correlation, unit, broken):
    row = np.array([[a, correlation * a]])
    game = RelaxedMinimum(gamma=0.0).bind(bond(correlation, unit), Domain(2), row)
    assert game.fallback.tolist() == [broken]


@pytest.mark.parametrize("rows", [[3, 1, 0], [1], [0], [0, 3], [2, 1], [3, 2, 1, 0]])
def test_rows_may_be_asked_for_in_any_order(rows, energy):
    game = RelaxedMinimum().bind(energy, Domain(2), X)
    whole = game(ALL)
    before = game.n_evaluations.copy()
    np.testing.assert_allclose(game(ALL, np.array(rows)), whole[rows], atol=1e-9)
    asked = game.n_evaluations - before
    broken = np.isin(np.arange(len(X)), rows) & BROKEN
    assert (asked[broken] >= len(ALL)).all()
    assert (asked[~broken] == 0).all()  # of so few players v̲ of all coalitions is known


def test_a_broken_row_counts_both_definitions_and_the_others_one(energy):
    game = RelaxedMinimum().bind(energy, Domain(2), X)
    bound = game.n_evaluations.copy()
    game(ALL)
    for i, x in enumerate(X):
        local = LocalMinimum().bind(energy, Domain(2), x[None])
        first = local.n_evaluations[0]
        local(ALL)
        later = local.n_evaluations[0] - first
        if BROKEN[i]:
            assert game.n_evaluations[i] - bound[i] == pytest.approx(later, rel=0.1)
            assert bound[i] > first + 4
        else:
            assert game.n_evaluations[i] == bound[i]


@pytest.mark.parametrize("p", [7, 8])
def test_few_players_have_all_their_coalitions_looked_at(p):
    energy = random_mixture(p, 2, 10.0, seed=0)
    rows = np.random.default_rng(0).normal(size=(3, p))
    game = RelaxedMinimum().bind(energy, Domain(p), rows)
    assert not game.fallback.any()
    before = game.n_evaluations.copy()
    some = np.random.default_rng(1).random((40, p)) < 0.5
    values = game(some)
    assert (game.n_evaluations - before).tolist() == ([0] * 3 if p == 7 else [40] * 3)
    minima = np.array([game._minima[:, :, 0].T, *(game._minima[:, :, 1 + i].T for i in range(p))])
    for z, value in zip(some, values.T, strict=True):
        average = minima[np.append(True, z)].mean(axis=0)
        np.testing.assert_allclose(value, energy(np.where(z, rows, average)), atol=1e-9)


def test_a_row_has_converged_if_the_definition_that_it_gets_has(energy, monkeypatch):
    """The averages' own minimisations fail here; those of single coalitions do not."""

    def failing(*arguments, **options):
        found = whyflag.minimise.minimise(*arguments, **options)
        return replace(found, ended=np.ones_like(found.ended))

    monkeypatch.setattr(module, "minimise", failing)
    game = RelaxedMinimum().bind(energy, Domain(2), X)
    game(ALL)
    assert (game.ended == Outcome.ARRIVED).tolist() == BROKEN.tolist()


def test_a_coalition_that_does_not_arrive_is_told_of_broken_rows_alone(energy, monkeypatch):
    game = RelaxedMinimum().bind(energy.without(Curvature), Domain(2), X)
    assert game.fallback.tolist() == BROKEN.tolist()
    assert not game.ended.any()
    monkeypatch.setattr(game._exact, "_limits", Limits(max_gradients=2))
    game(ALL, np.array([1, 3]))
    assert game.ended.tolist() == [0, 0, 0, Outcome.OUT_OF_BUDGET]


def test_where_nothing_is_broken_no_row_falls_back(energy):
    game = RelaxedMinimum().bind(energy, Domain(2), X[~BROKEN])
    assert game.fallback.tolist() == [False, False]
    assert game(ALL).shape == (2, 4)


def test_where_everything_is_broken_every_row_falls_back(energy):
    game = RelaxedMinimum(gamma=0.0).bind(energy, Domain(2), X[BROKEN])
    assert game.fallback.tolist() == [True, True]
    local = LocalMinimum(gamma=0.0).bind(energy, Domain(2), X[BROKEN])
    np.testing.assert_allclose(game(ALL), local(ALL), atol=1e-9)


def test_a_broken_row_of_many_players_keeps_its_values_and_has_not_converged(monkeypatch, energy):
    monkeypatch.setattr(module, "MOST_PLAYERS", 1)
    game = RelaxedMinimum(gamma=0.0).bind(energy, Domain(2), X)
    assert game.ended.tolist() == np.where(BROKEN, Outcome.BROKEN_AVERAGE, 0).tolist()
    assert not game.fallback.any()
    assert (game(ALL).max(axis=1) > energy(X) + 0.1)[BROKEN].all()
