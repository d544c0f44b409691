from itertools import combinations

import numpy as np
import pytest

from whyflag.shapley import Exact, Kernel, interactions
from whyflag.shapley.interactions import BY_SIZE, MOST_PAIRS, NOISE, THIRD, Interactions
from whyflag.shapley.plan import plan_of


class TermGame:
    """One row for each term: three players' signs, or a player's sign and a power of the mean."""

    def __init__(self, p, terms):
        self.n_rows, self.n_players, self.terms = len(terms), p, terms

    def __call__(self, coalitions, rows=None):
        sigma = np.where(coalitions, 1.0, -1.0)
        mean = sigma.mean(axis=1)
        return np.array(
            [sigma[:, list(players)].prod(axis=1) * mean**power for players, power in self.terms]
        )


class FunctionGame:
    n_rows = 1

    def __init__(self, p, function):
        self.n_players, self.function = p, function

    def __call__(self, coalitions, rows=None):
        return self.function(coalitions)[None]


def likely_terms(p):
    return [
        (THIRD, [(three, 0) for three in combinations(range(p), 3)]),
        (BY_SIZE, [((i,), 2) for i in range(p)]),
        (BY_SIZE, [((i,), 4) for i in range(p)]),
    ]


def over_at_fair_shares(plan, game):
    """What each coalition has over its complement, beyond what its size brings: h x rows."""
    ends, half = plan.coalitions[:2], plan.coalitions[2 : 2 + len(plan.excess)]
    empty, full = game(ends).T
    return (game(half) - game(~half)).T - np.outer(plan.size, full - empty)


def beyond_fair_shares(game):
    """Exact Shapley values less equal ones: rows x p."""
    found = Exact().solve(game)
    return found.values - (found.full - found.empty)[:, None] / game.n_players


@pytest.mark.parametrize("p", [4, 5, 8])
def test_covariances_are_sums_over_all_terms_with_their_exact_values(p):
    plan = plan_of(p, 2**p - 2, 0)
    sigma = np.where(plan.coalitions[2 : 2 + len(plan.excess)], 1.0, -1.0)
    found = list(interactions._likely(sigma))
    for (variance, own, shares), (expected, terms) in zip(found, likely_terms(p), strict=True):
        game = TermGame(p, terms)
        over = over_at_fair_shares(plan, game)
        assert variance == expected
        np.testing.assert_allclose(own, over @ over.T, atol=1e-11)
        np.testing.assert_allclose(shares, over @ beyond_fair_shares(game), atol=1e-11)


def written_out(plan):
    """What the regression leaves of all likely terms, with their variances, and their values."""
    h, p = plan.excess.shape
    columns, left, values = [], [], []
    for variance, terms in likely_terms(p):
        game = TermGame(p, terms)
        over = over_at_fair_shares(plan, game)
        rest = over - 2 * plan.excess @ (plan.influence @ over)
        unit = np.sqrt(variance * h / (rest**2).sum())
        columns.append(unit * over)
        left.append(unit * rest)
        values.append(unit * beyond_fair_shares(game))
    return np.hstack(columns), np.hstack(left), np.vstack(values)


def test_values_are_those_of_the_game_that_is_likely_and_a_regression_on_the_rest():
    p, budget = 9, 200
    game = FunctionGame(p, lambda z: np.tanh(z @ np.linspace(-1, 2, p)) + z[:, :4].all(axis=1))
    plan = plan_of(p, budget, 0)
    over = over_at_fair_shares(plan, game)[:, 0]
    columns, left, values = written_out(plan)
    residual = over - 2 * plan.excess @ (plan.influence @ over)
    ridge = left.T @ left + NOISE * np.eye(left.shape[1])
    terms = np.linalg.solve(ridge, left.T @ residual)
    expected = plan.influence @ (over - columns @ terms) + values.T @ terms
    found = Kernel(budget).solve(game)
    gain = found.full - found.empty
    np.testing.assert_allclose(found.values[0] - gain / p, expected - expected.mean(), atol=1e-12)


def test_what_is_unexpected_is_seen_by_leaving_out_one_pair_after_another():
    p, budget = 8, 120
    game = FunctionGame(p, lambda z: np.sin(z @ np.arange(1.0, p + 1)))
    plan = plan_of(p, budget, 1)
    over = over_at_fair_shares(plan, game)[:, 0]
    _, left, _ = written_out(plan)
    h = len(over)
    covariance = left @ left.T + NOISE * np.eye(h)
    basis = plan.excess[:, :-1] - plan.excess[:, -1:]  # of values that sum to nothing
    expected = np.empty(h)
    for k in range(h):
        others = np.arange(h) != k
        inverse = np.linalg.inv(covariance[np.ix_(others, others)])
        x = basis[others]
        linear = np.linalg.solve(x.T @ inverse @ x, x.T @ inverse @ over[others])
        rest = inverse @ (over[others] - x @ linear)
        expected[k] = over[k] - basis[k] @ linear - covariance[k, others] @ rest
    residual = over - 2 * plan.excess @ (plan.influence @ over)
    np.testing.assert_allclose(plan.interactions.unexpected @ residual, expected, atol=1e-10)


def test_too_few_pairs_tell_nothing_and_too_many_are_not_asked():
    assert plan_of(20, 78, 0).interactions is None
    assert plan_of(20, 80, 0).interactions is not None
    assert plan_of(20, 2 * MOST_PAIRS, 0).interactions is not None
    assert plan_of(20, 2 * MOST_PAIRS + 2, 0).interactions is None
    assert plan_of(6, 2**6 - 2, 0).interactions is None  # all are there


def errors(game, exact, budget, n=30):
    return np.sqrt(
        np.mean([(Kernel(budget, seed=s).solve(game).values - exact) ** 2 for s in range(n)])
    )


STRENGTH = np.random.default_rng(3).normal(size=14)
FACTORS = np.exp(0.3 * np.random.default_rng(4).normal(size=(14, 5)))
# A game, and how large errors of 2,000 coalitions may be in parts of those without interactions.
GAMES = {
    "saturating": (lambda z: np.tanh(z @ STRENGTH / 2), 0.75),
    "maximum": (lambda z: (z * np.abs(STRENGTH)).max(axis=1), 0.5),
    "log of products": (
        lambda z: -np.log(np.exp(z @ np.log(FACTORS) * 3).sum(axis=1)),
        0.5,
    ),
    "triples": (lambda z: z[:, :4].all(axis=1) + 2.0 * z[:, 5] * z[:, 6] * z[:, 7], 0.75),
    "no structure": (lambda z: np.sin(1e4 * (z @ STRENGTH)), 1.15),
}


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("budget", [300, 2000])
def test_errors_are_smaller_where_there_are_interactions(name, budget, monkeypatch):
    function, at_most = GAMES[name]
    game = FunctionGame(14, function)
    exact = Exact().solve(game).values
    with_them = errors(game, exact, budget)
    plan_of.cache_clear()
    monkeypatch.setattr(Interactions, "of", classmethod(lambda *_: None))
    without = errors(game, exact, budget)
    plan_of.cache_clear()
    assert with_them <= (at_most if budget == 2000 else max(at_most, 1.0)) * without
