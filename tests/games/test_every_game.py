import numpy as np
import pytest

import whyflag.games.base as module
from benchmarks.worlds import random_mixture
from helpers import every_game
from whyflag import Domain
from whyflag.games.base import tiles
from whyflag.shapley.coalitions import numbered

D = 3
ALL = numbered(0, 2**D, D)
X = np.random.default_rng(0).normal(size=(5, D)) * 2
GAMES = every_game(D)


@pytest.mark.parametrize("points", [1, 3, 1000])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 7), (50, 2), (2, 300), (4, 0), (0, 4)])
def test_tiles_cover_every_pair_once_and_none_is_larger_than_a_call_may_be(
    n, m, points, monkeypatch
):
    monkeypatch.setattr(module, "CALL", 600)
    monkeypatch.setattr(module, "FEWEST", 10)
    covered = np.zeros((n, m), dtype=int)
    for rows, coalitions in tiles(n, m, 20, points):
        assert rows.stop <= n
        assert coalitions.stop <= m
        covered[rows, coalitions] += 1
        pairs = (rows.stop - rows.start) * (coalitions.stop - coalitions.start)
        assert pairs == 1 or 20 * points * pairs <= 1.5 * 600  # a row more at most, of few
    assert (covered == 1).all()


def test_tiles_are_as_large_as_a_call_may_be(monkeypatch):
    monkeypatch.setattr(module, "CALL", 600)
    monkeypatch.setattr(module, "FEWEST", 10)
    assert len(list(tiles(100, 10, 20))) == 34  # 3 rows x 10 coalitions of 20 numbers
    assert len(list(tiles(100, 10, 600))) == 100  # no fewer than 10 points
    assert len(list(tiles(100, 10, 20, points=3))) == 100


@pytest.mark.parametrize("name", GAMES)
def test_a_player_that_cannot_move_changes_nothing_by_being_present(name):
    energy = random_mixture(D, 2, 10.0, seed=0)
    game = GAMES[name].bind(energy, Domain(D, fixed=[1]), X)
    without_it = ALL[~ALL[:, 1]]
    with_it = without_it | [False, True, False]
    np.testing.assert_allclose(game(with_it), game(without_it), atol=1e-9)


@pytest.mark.parametrize("name", GAMES)
def test_rows_may_be_asked_for_in_any_order(name):
    energy = random_mixture(D, 2, 10.0, seed=0)
    game = GAMES[name].bind(energy, Domain(D), X)
    whole = game(ALL)
    rows = np.array([4, 0, 2])
    before = game.n_evaluations.copy()
    np.testing.assert_allclose(game(ALL[1:4], rows), whole[rows, 1:4], atol=1e-7)
    asked = game.n_evaluations - before
    # Of few players v̲ knows all coalitions by then.
    assert (asked[rows] >= (0 if name == "relaxed" else 3)).all()
    assert (asked[[1, 3]] == 0).all()
