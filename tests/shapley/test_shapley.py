import tracemalloc
from functools import partial
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyflag.shapley import Exact, Kernel
from whyflag.shapley.coalitions import numbered, sample_of_size
from whyflag.shapley.design import design
from whyflag.shapley.interactions import Interactions
from whyflag.shapley.plan import n_plans, plan_of


class TableGame:
    """Random values for every coalition."""

    def __init__(self, p, n=3, seed=0):
        self.n_rows, self.n_players = n, p
        self.table = np.random.default_rng(seed).normal(size=(n, 2**p)) * 100

    def __call__(self, coalitions, rows=None):
        table = self.table if rows is None else self.table[rows]
        return table[:, coalitions @ (1 << np.arange(self.n_players))]


class FunctionGame:
    def __init__(self, p, function, n=1):
        self.n_rows, self.n_players, self.function = n, p, function

    def __call__(self, coalitions, rows=None):
        n = self.n_rows if rows is None else len(rows)
        return np.tile(self.function(coalitions), (n, 1))


class SumGame:
    """A game that says what it is the sum of."""

    def __init__(self, *parts):
        self.parts = parts
        self.n_rows, self.n_players = parts[0].n_rows, parts[0].n_players

    def __call__(self, coalitions, rows=None):
        return sum(part(coalitions, rows) for part in self.parts)


def by_permutations(game):
    """The definition: the average marginal contribution over all orders."""
    p = game.n_players
    total = np.zeros((game.n_rows, p))
    orders = list(permutations(range(p)))
    for order in orders:
        chain = np.zeros((p + 1, p), dtype=bool)
        for position, player in enumerate(order):
            chain[position + 1 :, player] = True
        total[:, order] += np.diff(game(chain), axis=1)
    return total / len(orders)


SOLVERS = [Exact(), Kernel()]


@pytest.mark.parametrize("solver", SOLVERS, ids=["exact", "kernel"])
@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 6])
def test_equals_the_average_over_all_orders(solver, p):
    game = TableGame(p, seed=p)
    np.testing.assert_allclose(solver.solve(game).values, by_permutations(game), atol=1e-10)


@pytest.mark.parametrize("solver", SOLVERS, ids=["exact", "kernel"])
def test_unanimity_games_split_evenly(solver):
    team = np.array([True, False, True, True, False, False, False])
    game = FunctionGame(7, lambda z: (z | ~team).all(axis=1).astype(float))
    np.testing.assert_allclose(solver.solve(game).values, [team / 3], atol=1e-12)


@pytest.mark.parametrize("p", [1, 2, 5, 8, 10, 11])
def test_kernel_with_a_full_budget_equals_exact(p):
    game = TableGame(p)
    exact, kernel = Exact().solve(game), Kernel(budget=2**p).solve(game)
    np.testing.assert_allclose(kernel.values, exact.values, atol=1e-8)
    np.testing.assert_array_equal(kernel.empty, exact.empty)
    np.testing.assert_array_equal(kernel.full, exact.full)
    np.testing.assert_array_equal(exact.n_coalitions, 2**p)
    np.testing.assert_array_equal(kernel.n_coalitions, 2**p)
    assert not exact.standard_errors.any()
    assert not kernel.standard_errors.any()


def test_the_default_budget_is_the_papers_and_exact_up_to_11_players():
    assert (Kernel().solve(TableGame(11)).n_coalitions == 2**11).all()
    assert (Kernel().solve(TableGame(12)).n_coalitions <= 2 * 12 + 2048 + 2).all()


@settings(max_examples=40)
@given(p=st.integers(2, 14), seed=st.integers(0, 10**6), budget=st.integers(28, 600))
def test_values_add_up_whatever_the_budget(p, seed, budget):
    shapley = Kernel(budget=budget, seed=seed).solve(TableGame(p, seed=seed))
    gain = shapley.full - shapley.empty
    np.testing.assert_allclose(shapley.values.sum(axis=1), gain, rtol=0, atol=1e-11)


@settings(max_examples=20)
@given(p=st.integers(2, 300), seed=st.integers(0, 10**6))
def test_additive_games_are_exact_at_every_budget(p, seed):
    worth = np.random.default_rng(seed).normal(size=p)
    game = FunctionGame(p, lambda z: z @ worth + 5)
    shapley = Kernel(budget=2 * p + 30, seed=seed).solve(game)
    np.testing.assert_allclose(shapley.values, [worth], atol=1e-9)


@settings(max_examples=20)
@given(p=st.integers(3, 30), seed=st.integers(0, 10**6))
def test_pairs_make_interactions_of_two_players_exact(p, seed):
    """What pairing is for: the odd part of v is all that matters, and here it is linear."""
    synergy = np.triu(np.random.default_rng(seed).normal(size=(p, p)), 1)
    game = FunctionGame(p, lambda z: np.einsum("mi,ij,mj->m", z, synergy, z))
    shapley = Kernel(budget=2 * p + 40, seed=seed).solve(game)
    expected = (synergy.sum(axis=0) + synergy.sum(axis=1)) / 2
    np.testing.assert_allclose(shapley.values, [expected], atol=1e-8)


def test_kernel_comes_closer_with_a_larger_budget():
    p = 14
    strength = np.random.default_rng(0).normal(size=p)
    game = FunctionGame(p, lambda z: np.tanh(z @ strength) * 10 + (z.sum(axis=1) % 3 == 0))
    exact = Exact().solve(game).values
    errors = [
        np.mean([np.abs(Kernel(b, seed=s).solve(game).values - exact).mean() for s in range(10)])
        for b in (100, 1000, 8000)
    ]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_what_seeds_have_in_common_is_small_against_what_they_differ_by():
    """Values lean towards a game that is likely, by less than standard errors can see."""
    p = 14
    game = FunctionGame(p, lambda z: (z[:, :4].all(axis=1) * 1.0) + z[:, 5] * z[:, 6] * z[:, 7])
    exact = Exact().solve(game).values
    runs = np.array([Kernel(300, seed=s).solve(game).values for s in range(300)])
    error = runs.mean(axis=0) - exact
    assert np.sqrt((error**2).mean() / runs.var(axis=0).mean()) <= 0.25


def test_a_regression_without_interactions_is_unbiased_beyond_what_it_enumerates(monkeypatch):
    monkeypatch.setattr(Interactions, "of", classmethod(lambda *_: None))
    plan_of.cache_clear()
    p = 14
    game = FunctionGame(p, lambda z: (z[:, :4].all(axis=1) * 1.0) + z[:, 5] * z[:, 6] * z[:, 7])
    exact = Exact().solve(game).values
    runs = np.array([Kernel(300, seed=s).solve(game).values for s in range(300)])
    plan_of.cache_clear()
    error = runs.mean(axis=0) - exact
    standard_error = runs.std(axis=0) / np.sqrt(len(runs))
    assert (np.abs(error) <= 4.5 * standard_error + 1e-12).all()


def test_kernel_takes_a_thousand_players():
    synergy = np.triu(np.random.default_rng(0).normal(size=(1000, 1000)), 1)
    game = FunctionGame(1000, lambda z: ((z @ synergy) * z).sum(axis=1), n=2)
    shapley = Kernel().solve(game)
    assert (shapley.n_coalitions == 4048 + 2).all()
    gain = shapley.full - shapley.empty
    np.testing.assert_allclose(shapley.values.sum(axis=1), gain, atol=1e-10)
    expected = (synergy.sum(axis=0) + synergy.sum(axis=1)) / 2
    np.testing.assert_allclose(shapley.values[1], expected, atol=1e-7)


def test_rows_share_one_set_of_coalitions():
    seen = []

    def function(z):
        seen.append(len(z))
        return z.sum(axis=1) ** 2.0

    Kernel(200).solve(FunctionGame(20, function, n=50))
    assert seen == [2 + 200]


SAMPLED_GAMES = {
    "saturating": lambda z, s: np.tanh(z @ s) * 10 + (z.sum(axis=1) % 3 == 0),
    "maximum": lambda z, s: (z * np.abs(s)).max(axis=1),
    "triples": lambda z, s: z[:, :4].all(axis=1) + 2.0 * z[:, 5] * z[:, 6] * z[:, 7],
    "rectifiers": lambda z, s: np.maximum(z[:, ::2] @ s[::2], z[:, 1::2] @ s[1::2]),
}


@pytest.mark.parametrize("name", SAMPLED_GAMES)
@pytest.mark.parametrize("p", [11, 12, 13, 14, 15, 16])
def test_standard_errors_cover_the_exact_value_as_often_as_they_say(p, name):
    strength = np.random.default_rng(p).normal(size=p)
    game = FunctionGame(p, lambda z: SAMPLED_GAMES[name](z, strength))
    exact = Exact().solve(game).values
    runs = [Kernel(400, seed=s).solve(game) for s in range(100)]
    error = np.array([np.abs(run.values - exact) for run in runs])
    sigma = np.array([run.standard_errors for run in runs])
    assert (sigma > 0).all()
    # Of 100 runs x p players; players of one run are not independent.
    assert np.mean(error <= 1.96 * sigma) == pytest.approx(0.95, abs=0.035)
    assert np.mean(error <= sigma) == pytest.approx(0.683, abs=0.07)


@pytest.mark.parametrize("name", SAMPLED_GAMES)
def test_parts_have_coalitions_of_their_own(name):
    """Eight equal parts: eight times the coalitions, so errors fall by √8; and they are known."""
    p = 14
    strength = np.random.default_rng(p).normal(size=p)
    part = FunctionGame(p, lambda z: SAMPLED_GAMES[name](z, strength) / 8)
    summed = SumGame(*[part] * 8)
    whole = FunctionGame(p, summed)
    exact = Exact().solve(whole).values
    by_part = [Kernel(400, seed=s).solve(summed) for s in range(100)]
    at_once = [Kernel(400, seed=s).solve(whole) for s in range(100)]
    error = np.array([np.abs(run.values - exact) for run in by_part])
    sigma = np.array([run.standard_errors for run in by_part])
    fall = np.mean([run.standard_errors for run in at_once]) / np.mean(sigma)
    assert fall == pytest.approx(np.sqrt(8), rel=0.02)
    assert np.mean(error <= 1.96 * sigma) == pytest.approx(0.95, abs=0.035)
    assert np.mean(error <= sigma) == pytest.approx(0.683, abs=0.07)
    assert all((run.n_coalitions == 402).all() for run in by_part)


def test_parts_are_exact_where_the_whole_is():
    games = [TableGame(6, seed=s) for s in range(3)]
    summed = SumGame(*games)
    expected = by_permutations(summed)
    found = Kernel().solve(summed)
    np.testing.assert_allclose(found.values, expected, atol=1e-10)
    assert not found.standard_errors.any()


def test_parts_together_are_as_one_by_one(monkeypatch):
    strengths = np.random.default_rng(0).normal(size=(5, 12))
    saturating = SAMPLED_GAMES["saturating"]
    parts = [FunctionGame(12, partial(saturating, s=s)) for s in strengths]
    together = Kernel(200).solve(SumGame(*parts))
    monkeypatch.setattr("whyflag.shapley.kernel.TOGETHER", 2)
    in_pairs = Kernel(200).solve(SumGame(*parts))
    np.testing.assert_allclose(in_pairs.values, together.values, rtol=1e-10)
    np.testing.assert_allclose(in_pairs.standard_errors, together.standard_errors, rtol=1e-10)
    # Which part is solved with which does not matter, but each has roles of its own.
    turned = Kernel(200).solve(SumGame(*parts[::-1]))
    assert np.abs(turned.values - together.values).max() > 1e-6


@pytest.mark.parametrize(
    ("p", "budget", "times"),
    [
        (1, 0, 1),
        (30, 2108, 1),
        (30, 4096, 1),
        (30, 4216, 2),
        (274, 4216, 1),
        (15, 2**13, 1),
        (30, 2**15, 8),
    ],
)
def test_large_budgets_are_cut_where_many_coalitions_are_left(p, budget, times):
    assert n_plans(p, budget) == times


def test_several_plans_have_one_budget_and_standard_errors_that_hold(monkeypatch):
    monkeypatch.setattr("whyflag.shapley.plan.MOST_PAIRS", 128)
    strength = np.random.default_rng(0).normal(size=16)
    game = FunctionGame(16, lambda z: SAMPLED_GAMES["saturating"](z, strength))
    exact = Exact().solve(game)
    runs = [Kernel(512, seed=s).solve(game) for s in range(100)]
    sigma = np.array([run.standard_errors for run in runs])
    error = np.array([np.abs(run.values - exact.values) for run in runs])
    assert np.mean(error <= 1.96 * sigma) == pytest.approx(0.95, abs=0.035)
    for run in runs:
        assert run.n_coalitions == pytest.approx(514, abs=2)
        np.testing.assert_allclose([run.empty, run.full], [exact.empty, exact.full])


@pytest.mark.parametrize("budget", [80, 150, 1000])
def test_standard_errors_hold_for_few_pairs_and_for_most(budget):
    p = 12
    strength = np.random.default_rng(0).normal(size=p)
    game = FunctionGame(p, lambda z: SAMPLED_GAMES["saturating"](z, strength))
    exact = Exact().solve(game).values
    runs = [Kernel(budget, seed=s).solve(game) for s in range(200)]
    error = np.array([np.abs(run.values - exact) for run in runs])
    sigma = np.array([run.standard_errors for run in runs])
    assert np.mean(error <= 1.96 * sigma) == pytest.approx(0.95, abs=0.04)


def test_standard_errors_equal_the_sum_over_neighbours_written_out():
    p, budget = 12, 46  # too few for interactions
    game = TableGame(p)
    shapley = Kernel(budget, seed=3).solve(game)
    half, weights, unseen = design(p, budget, np.random.default_rng(3))
    gain = (shapley.full - shapley.empty)[:, None]
    x = half - half.mean(axis=1)[:, None]
    over = game(half) - game(~half) - gain * (2 * half.mean(axis=1) - 1)
    inverse = np.linalg.pinv(2 * (x.T * weights) @ x)
    beyond = shapley.values - gain / p
    hat = 2 * weights * np.einsum("hi,ij,hj->h", x, inverse, x)
    residual = (over - 2 * beyond @ x.T) / (1 - hat)
    drawn = unseen > 0
    parts = np.einsum("h,rh,ij,hj->rih", np.sqrt(unseen) * weights, residual, inverse, x)
    jumps = np.diff(parts[:, :, drawn], axis=2)
    variance = drawn.sum() / (drawn.sum() - 1) * (jumps**2).sum(axis=2) / 2
    np.testing.assert_allclose(shapley.standard_errors, np.sqrt(variance), rtol=1e-6)


@pytest.mark.parametrize(("p", "budget"), [(20, 40), (20, 42), (6, 13)])
def test_errors_that_nothing_tells_are_not_called_none(p, budget):
    """Single players take the whole budget, or leave one pair: the values are not exact."""
    game = FunctionGame(p, lambda z: np.sin(z.sum(axis=1) * 1.0), n=2)
    found = Kernel(budget).solve(game)
    assert np.isinf(found.standard_errors).all()
    assert found.converged.all()  # no precision was asked for


def test_a_precision_does_not_stop_at_errors_that_are_not_known():
    game = TanhGame(16, np.random.default_rng(0).normal(size=16), scale=np.array([1.0]))
    found = Kernel(32, precision=0.05).solve(game)
    assert found.converged.all()
    assert found.n_coalitions[0] > 34
    assert (found.standard_errors > 0).all()


def test_a_precision_is_reached_and_each_row_stops_on_its_own():
    p = 16
    strength = np.random.default_rng(0).normal(size=p)
    game = TanhGame(p, strength, scale=np.array([0.01, 3.0, 30.0]))
    alone = [TanhGame(p, strength, scale=game.scale[[i]]) for i in range(3)]
    solver = Kernel(200, precision=0.05)
    together = solver.solve(game)
    assert together.converged.all()
    assert (together.standard_errors <= 0.05).all()
    assert together.n_coalitions[0] < together.n_coalitions[1] < together.n_coalitions[2]
    for i in range(3):
        np.testing.assert_allclose(
            together.values[i], solver.solve(alone[i]).values[0], rtol=1e-12, atol=1e-14
        )
    exact = Exact().solve(game).values
    assert (np.abs(together.values - exact) < 0.2).all()


def test_a_precision_costs_little_more_than_the_budget_it_takes():
    p = 16
    game = TanhGame(p, np.random.default_rng(0).normal(size=p), scale=np.array([1.0]))
    known = Kernel(4000).solve(game).standard_errors.max()
    found = Kernel(200, precision=1.05 * known).solve(game)
    assert found.converged.all()
    assert found.n_coalitions[0] < 3 * 4000


def test_a_precision_out_of_reach_ends_at_the_cap_and_says_so():
    game = TanhGame(16, np.random.default_rng(0).normal(size=16), scale=np.array([1.0, 1e-9]))
    capped = Kernel(200, precision=1e-6, max_budget=1000).solve(game)
    np.testing.assert_array_equal(capped.converged, [False, True])
    assert capped.n_coalitions[0] <= 200 + 800 + 1000 + 2
    assert capped.standard_errors[0].max() > 1e-6
    np.testing.assert_allclose(capped.values.sum(axis=1), capped.full - capped.empty, atol=1e-12)


@pytest.mark.parametrize(("goal", "grows"), [(0.95, 2**0.5), (0.65, 2**1.5), (1e-3, 4.0)])
def test_a_budget_grows_as_errors_ask_by_powers_of_root_two_four_times_at_most(goal, grows):
    p = 16
    game = TanhGame(p, np.random.default_rng(0).normal(size=p), scale=np.array([1.0]))
    error = Kernel(400).solve(game).standard_errors.max()
    asked = []

    def counted(coalitions, rows=None):
        asked.append(len(coalitions) - 2)
        return game(coalitions, rows)

    Kernel(400, precision=goal * error, max_budget=2000).solve(FunctionGame(p, counted))
    assert asked[:2] == [400, int(400 * grows) // 2 * 2]
    assert asked[-1] <= 2000


def test_a_precision_is_one_of_every_player():
    game = TanhGame(16, np.random.default_rng(0).normal(size=16), scale=np.array([1.0]))
    errors = Kernel(400).solve(game).standard_errors
    precision = (errors.min() + errors.max()) / 2
    assert not Kernel(400, precision=precision, max_budget=400).solve(game).converged.any()
    assert Kernel(400, precision=precision).solve(game).standard_errors.max() <= precision


def test_the_budget_that_was_asked_for_is_spent_even_above_the_cap():
    game = TanhGame(16, np.random.default_rng(0).normal(size=16), scale=np.array([1.0]))
    capped = Kernel(400, precision=1e-9, max_budget=100).solve(game)
    assert capped.n_coalitions.tolist() == [402]
    assert not capped.converged.any()


def test_a_precision_may_take_all_coalitions():
    game = TableGame(10)
    found = Kernel(100, precision=1e-9).solve(game)
    assert found.converged.all()
    assert not found.standard_errors.any()
    np.testing.assert_allclose(found.values, Exact().solve(game).values, atol=1e-8)


def test_a_precision_must_be_positive():
    with pytest.raises(ValueError, match=r"`precision` must be a finite number, above 0, .* got 0"):
        Kernel(precision=0)


class TanhGame:
    """Rows that differ in scale only."""

    def __init__(self, p, strength, scale):
        self.n_rows, self.n_players = len(scale), p
        self.strength, self.scale = strength, scale

    def __call__(self, coalitions, rows=None):
        scale = self.scale if rows is None else self.scale[rows]
        return scale[:, None] * np.tanh(coalitions @ self.strength)


def test_same_seed_same_bits_other_seed_other_bits():
    game = TableGame(13)
    one, same, other = (Kernel(300, seed=s).solve(game).values for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    default, first = Kernel(300).solve(game).values, Kernel(300, seed=0).solve(game).values
    np.testing.assert_array_equal(default, first)


def test_pieces_do_not_change_exact_values(monkeypatch):
    game = TableGame(5)
    monkeypatch.setattr("whyflag.batches.WORK", 7 * 4 * (5 + game.n_rows))
    found = Exact().solve(game)
    np.testing.assert_allclose(found.values, by_permutations(game), atol=1e-10)
    np.testing.assert_array_equal(found.empty, game.table[:, 0])
    np.testing.assert_array_equal(found.full, game.table[:, -1])
    assert found.converged.all()


def test_exact_takes_as_many_players_as_it_says():
    game = FunctionGame(4, lambda z: z.sum(axis=1) * 1.0)
    np.testing.assert_allclose(Exact(max_players=4).solve(game).values, np.ones((1, 4)))
    with pytest.raises(ValueError, match=r"4 players takes 2\^4 coalitions, more than 2\^3"):
        Exact(max_players=3).solve(game)
    with pytest.raises(ValueError, match=r"more than 2\^20"):
        Exact().solve(FunctionGame(21, game.function))


def test_exact_refuses_what_would_not_end():
    with pytest.raises(ValueError, match=r"25 players takes 2\^25.*Use Kernel"):
        Exact().solve(FunctionGame(25, lambda z: z.sum(axis=1)))


def test_exact_keeps_memory_bounded():
    game = FunctionGame(16, lambda z: z.sum(axis=1) * 1.0)
    tracemalloc.start()
    Exact().solve(game)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**16 * 16 * 8  # less than one number for each coalition and player


def test_kernel_refuses_a_budget_that_leaves_values_open():
    with pytest.raises(ValueError, match=r"at least 40 for 20 players.*got 39"):
        Kernel(39).solve(FunctionGame(20, lambda z: z.sum(axis=1)))


def test_numbered_coalitions_are_all_of_them():
    assert len(np.unique(numbered(0, 32, 5), axis=0)) == 32


@pytest.mark.parametrize(("p", "size", "count"), [(6, 2, 14), (6, 3, 9), (30, 15, 50)])
def test_a_sample_has_the_right_size_and_no_pair_twice(p, size, count):
    drawn = sample_of_size(p, size, count, np.random.default_rng(0))
    assert (drawn.sum(axis=1) == size).all()
    both = np.vstack([drawn, ~drawn])
    assert len(drawn) == count
    assert len(np.unique(both, axis=0)) == 2 * count


def test_gross_values_have_standard_errors_that_are_numbers():
    """Though their squares are none."""
    few = FunctionGame(12, lambda z: z[:, :5].all(axis=1) * 1.0)
    gross = FunctionGame(12, lambda z: z[:, :5].all(axis=1) * 1e200)
    for game, other in ((few, gross), (SumGame(few, few), SumGame(gross, gross))):
        one, many = Kernel().solve(game), Kernel().solve(other)
        assert (one.standard_errors > 0).all()
        np.testing.assert_allclose(many.standard_errors, 1e200 * one.standard_errors, rtol=1e-9)
