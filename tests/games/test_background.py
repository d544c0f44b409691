import numpy as np
import pytest

from benchmarks.worlds import random_mixture
from whyflag import Domain, as_score
from whyflag.games import Background, Nearest
from whyflag.shapley.coalitions import numbered

D = 3
ALL = numbered(0, 2**D, D)
X = np.random.default_rng(0).normal(size=(5, D)) * 2
ROWS = np.random.default_rng(1).normal(size=(500, D)) * [1.0, 5.0, 0.2]


def brute_force(rows, scale, x, k):
    """Positions of the k nearest, by the distance as the docstring has it; the first of equals."""
    u = (rows - x) / scale
    far = (u**2 / (1 + u**2 / 9)).sum(axis=1)
    return sorted(sorted(range(len(rows)), key=lambda i: (round(far[i], 9), i))[:k])


@pytest.mark.parametrize("k", [1, 2, 7, 100, 500, 1000])
def test_nearest_rows_are_those_of_brute_force_in_their_order(k):
    domain = Domain(D, scale=[1.0, 5.0, 0.2])
    chosen = Nearest(ROWS, domain, k)(X)
    assert chosen.shape == (5, min(k, 500), D)
    for x, near in zip(X, chosen, strict=True):
        np.testing.assert_array_equal(near, ROWS[brute_force(ROWS, domain.scale, x, k)])


def test_a_gross_value_does_not_decide_which_rows_are_near():
    rows = np.array([[0.0, 9.0], [1.0, 0.0], [-50.0, 0.1], [50.0, 8.0]])
    near = Nearest(rows, Domain(2), 2)(np.array([[-9999.0, 0.0]]))
    assert near[0].tolist() == [[1.0, 0.0], [-50.0, 0.1]]


def test_of_equally_near_rows_the_first_are_taken():
    rows = np.array([[2.0], [-1.0], [1.0], [-1.0], [0.5], [1.0]])
    near = Nearest(rows, Domain(1), 3)(np.array([[0.0]]))
    assert near[0].tolist() == [[-1.0], [1.0], [0.5]]
    # Rounding decides nothing: 0.1 + 0.2 is not 0.3, and is as far from 0.
    rows = np.array([[0.1 + 0.2, 0.0], [-0.3, 0.0], [0.0, 0.3]])
    assert Nearest(rows, Domain(2), 1)(np.zeros((1, 2)))[0].tolist() == [[0.1 + 0.2, 0.0]]


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_a_bad_number_of_rows_is_refused(k):
    with pytest.raises(ValueError, match="`k` must be a whole number, at least 1"):
        Nearest(ROWS, Domain(D), k)


def by_hand(score, rows, weights, fixed):
    """v(S; x) = Σ_r w_r e(x_S, r_Sᶜ), one coalition and one row after another."""
    values = np.empty((len(X), len(ALL)))
    for i, x in enumerate(X):
        for j, z in enumerate(ALL):
            mixed = np.where(z | fixed, x, rows)
            values[i, j] = np.average(score(mixed), weights=weights)
    return values


@pytest.mark.parametrize("fixed", [[], [1]])
@pytest.mark.parametrize("weights", [None, [1.0, 0.0, 5.0]])
def test_values_are_weighted_means_over_rows(weights, fixed):
    energy = random_mixture(D, 2, 10.0, seed=0)
    domain = Domain(D, fixed=fixed)
    game = Background(ROWS[:3], weights).bind(energy, domain, X)
    expected = by_hand(energy, ROWS[:3], weights, domain.fixed)
    np.testing.assert_allclose(game(ALL), expected, rtol=1e-12)
    assert game.n_evaluations.tolist() == [3 * len(ALL)] * 5
    some = np.array([4, 0, 2])
    np.testing.assert_allclose(game(ALL[3:5], some), expected[some, 3:5], rtol=1e-12)
    assert game.n_evaluations.tolist() == [30, 24, 30, 24, 30]


def test_a_players_columns_come_from_the_same_row():
    energy = random_mixture(D, 2, 10.0, seed=0)
    domain = Domain(D, players={"pair": [0, 2]})
    game = Background(ROWS[:3]).bind(energy, domain, X)
    columns = Background(ROWS[:3]).bind(energy, Domain(D), X)
    pair_first = np.array([[z in ("pair",) for z in domain.player_names]])
    assert pair_first.sum() == 1
    np.testing.assert_allclose(game(pair_first), columns(np.array([[True, False, True]])))


@pytest.mark.parametrize("weights", [[1, -1, 1], [np.nan, 1, 1], [np.inf, 1, 1], [1, 1], [0, 0, 0]])
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError, match="`weights` must be 3 numbers, none negative"):
        Background(ROWS[:3], weights)


@pytest.mark.parametrize("rows", [None, "a", np.nan, [[0.0, np.inf]], [[]]])
def test_bad_rows_are_refused(rows):
    with pytest.raises((TypeError, ValueError), match="`rows` must"):
        Background(rows)


@pytest.mark.parametrize(
    "choose",
    [
        lambda X: X[:, :0, None],
        lambda X: X[:1, None],
        lambda X: X[:, None, :2],
        lambda X: X[:, []],
        lambda X: np.zeros((5, 0, 3)),
    ],
)
def test_badly_chosen_rows_are_refused(choose):
    score = as_score(lambda X: X.sum(axis=1), n_features=D)
    with pytest.raises(ValueError, match=r"must have shape \(5, k, 3\)"):
        Background(choose).bind(score, Domain(D), X)


def test_chosen_rows_must_be_numbers():
    score = as_score(lambda X: X.sum(axis=1), n_features=D)
    with pytest.raises(ValueError, match="chosen rows"):
        Background(lambda X: np.full((len(X), 1, D), np.nan)).bind(score, Domain(D), X)
