from dataclasses import replace

import numpy as np
import pytest
import shap

import whyflag.games.base
import whyflag.minimise
from benchmarks.worlds import random_covariance, random_mixture
from helpers import FEW, SWITCH, SWITCHED, Counted, every_game, switched
from whyflag import Domain, as_score
from whyflag.games import Background, LocalMinimum, Nearest, NeighborhoodMinimum, RelaxedMinimum
from whyflag.minimise import minimise
from whyflag.outcome import Outcome
from whyflag.score.mixture import MixtureEnergy
from whyflag.shapley import Exact
from whyflag.shapley.coalitions import numbered

D = 4
ALL = numbered(0, 2**D, D)
X = np.random.default_rng(7).normal(size=(6, D)) * 2


@pytest.fixture
def energy():
    return random_mixture(D, 3, 20.0, seed=2)


@pytest.fixture
def gaussian():
    rng = np.random.default_rng(0)
    covariance = random_covariance(D, 20.0, rng)
    return MixtureEnergy(np.zeros(1), rng.normal(size=(1, D)), covariance[None]).to_score()


def domains():
    return {
        "plain": Domain(D),
        "scaled": Domain(D, scale=[0.5, 1, 2, 3]),
        "bounded": Domain(D, lower=-1.5, upper=1.5),
        "fixed": Domain(D, fixed=[1]),
        "players": Domain(D, players={"pair": [0, 2]}),
    }


GAMES = every_game(D)


@pytest.mark.parametrize("kind", domains())
@pytest.mark.parametrize("name", GAMES)
def test_everyone_present_is_the_score_and_more_rows_are_more_games(name, kind, energy):
    domain = domains()[kind]
    p = domain.n_players
    game = GAMES[name].bind(energy, domain, X)
    values = game(numbered(0, 2**p, p))
    assert values.shape == (len(X), 2**p)
    np.testing.assert_allclose(values[:, -1], energy(X), rtol=1e-12)
    assert (game.n_evaluations > 0).all()


@pytest.mark.parametrize("kind", domains())
@pytest.mark.parametrize("name", ["relaxed", "local", "box", "ball"])
def test_with_no_one_present_the_score_is_never_higher(name, kind, energy):
    domain = domains()[kind]
    game = GAMES[name].bind(energy, domain, X)
    empty = game(np.zeros((1, domain.n_players), bool))[:, 0]
    assert (empty <= energy(X)).all()
    np.testing.assert_allclose(empty, energy(game.reference))
    assert not game.ended.any()


def test_local_minimum_of_one_gaussian_is_the_conditional_mean(gaussian):
    values = LocalMinimum(gamma=0.0).bind(gaussian, Domain(D), X)(ALL)
    mean, covariance = gaussian.function.means[0], gaussian.function.covariances[0]
    for coalition, value in zip(ALL, values.T, strict=True):
        free = ~coalition
        y = X.copy()
        gain = covariance[np.ix_(free, coalition)] @ np.linalg.inv(
            covariance[np.ix_(coalition, coalition)]
        )
        y[:, free] = mean[free] + (X - mean)[:, coalition] @ gain.T
        np.testing.assert_allclose(value, gaussian(y), atol=1e-6)


def test_relaxed_minimum_is_what_the_papers_text_says(energy):
    """z is x on S; elsewhere the average of x*(∅) and of x*({i}), i in S."""
    domain = Domain(D, scale=[0.5, 1, 2, 3])
    game = RelaxedMinimum(gamma=0.1).bind(energy, domain, X)
    values = game(ALL)
    sound = np.ones(len(X), bool) if game.fallback is None else ~game.fallback
    assert sound.mean() > 0.5
    for row, x in zip(np.flatnonzero(sound), X[sound], strict=True):

        def star(members, x=x):
            keep = np.isin(np.arange(D), members)[None]
            return minimise(energy, x[None], keep, domain, gamma=0.1, basin="nearest").point[0]

        for column, coalition in enumerate(ALL):
            members = np.flatnonzero(coalition)
            z = np.mean([star([]), *(star([i]) for i in members)], axis=0)
            z[members] = x[members]
            assert values[row, column] == pytest.approx(energy(z[None])[0], abs=1e-7)


def test_players_move_together(energy):
    domain = Domain(D, players={"pair": [0, 2]})
    game = LocalMinimum().bind(energy, domain, X)
    columns = LocalMinimum().bind(energy, Domain(D), X)
    pair_only = game(np.array([[True, False, False]]))
    np.testing.assert_allclose(pair_only, columns(np.array([[True, False, True, False]])))


def test_a_wider_neighbourhood_is_never_higher(gaussian):
    for shape in ("box", "ball"):
        values = [
            NeighborhoodMinimum(radius, shape).bind(gaussian, Domain(D), X)(ALL)
            for radius in (0.3, 1.0, 3.0)
        ]
        assert (values[1] <= values[0] + 1e-6).all()
        assert (values[2] <= values[1] + 1e-6).all()


def test_a_ball_lies_within_its_box(gaussian):
    box = NeighborhoodMinimum(1.0, "box").bind(gaussian, Domain(D), X)(ALL)
    ball = NeighborhoodMinimum(1.0, "ball").bind(gaussian, Domain(D), X)(ALL)
    assert (box <= ball + 1e-6).all()


def test_a_neighbourhood_that_holds_the_minimum_is_the_local_minimum(gaussian):
    near = NeighborhoodMinimum(1e3).bind(gaussian, Domain(D), X)(ALL)
    np.testing.assert_allclose(near, LocalMinimum(0.0).bind(gaussian, Domain(D), X)(ALL), atol=1e-6)


def test_background_equals_shaps_exact_explainer(energy):
    rows = np.random.default_rng(3).normal(size=(10, D))
    ours = Exact().solve(Background(rows).bind(energy, Domain(D), X))
    explainer = shap.explainers.ExactExplainer(energy, shap.maskers.Independent(rows))
    theirs = explainer(X)
    np.testing.assert_allclose(ours.values, theirs.values, atol=1e-8)
    np.testing.assert_allclose(ours.empty, theirs.base_values, atol=1e-8)


def test_additive_scores_have_their_closed_form():
    slope, reference = np.array([1.0, -2.0, 0.0, 3.0]), np.array([0.5, 0.0, 1.0, 2.0])
    score = as_score(lambda X: X @ slope)
    shapley = Exact().solve(Background(reference).bind(score, Domain(D), X))
    np.testing.assert_allclose(shapley.values, slope * (X - reference), atol=1e-12)


def test_background_weights_are_those_of_repeated_rows(energy):
    rows = np.random.default_rng(0).normal(size=(2, D))
    repeated = Background(rows[[0, 0, 0, 1]]).bind(energy, Domain(D), X)(ALL)
    weighted = Background(rows, weights=[3, 1]).bind(energy, Domain(D), X)(ALL)
    np.testing.assert_allclose(weighted, repeated)


def test_background_is_the_sum_of_its_parts(energy):
    d = energy.n_features
    rng = np.random.default_rng(0)
    rows, X = rng.normal(size=(3, d)), rng.normal(size=(4, d))
    game = Background(rows, [1, 2, 3]).bind(energy, Domain(d), X)
    coalitions = numbered(0, 2**d, d)[:9]
    whole = game(coalitions)
    parts = [part(coalitions, np.array([1, 3])) for part in game.parts]
    np.testing.assert_allclose(sum(parts), whole[[1, 3]], rtol=1e-12)
    np.testing.assert_array_equal(game.n_evaluations, [27, 54, 27, 54])


def test_rows_chosen_for_each_query(energy):
    rows = np.random.default_rng(0).normal(size=(50, D))
    domain = Domain(D, scale=[1, 2, 3, 4])
    values = Background(Nearest(rows, domain, k=5)).bind(energy, domain, X)(ALL)
    for x, value in zip(X, values, strict=True):
        near = np.argsort((((rows - x) / domain.scale) ** 2).sum(axis=1))[:5]
        near_rows = Background(rows[near]).bind(energy, Domain(D), x[None])
        np.testing.assert_allclose(value, near_rows(ALL)[0])


@pytest.mark.parametrize("name", GAMES)
def test_tiles_do_not_change_values(name, energy, monkeypatch):
    whole = GAMES[name].bind(energy, Domain(D), X)(ALL)
    monkeypatch.setattr(whyflag.games.base, "CALL", 3 * D)
    np.testing.assert_allclose(GAMES[name].bind(energy, Domain(D), X)(ALL), whole, atol=1e-6)


@pytest.mark.parametrize("name", GAMES)
def test_no_coalitions_have_no_values(name, energy):
    assert GAMES[name].bind(energy, Domain(D), X)(ALL[:0]).shape == (len(X), 0)


def test_evaluations_are_counted():
    calls = []

    def score(X):
        calls.append(len(X))
        return (X**2).sum(axis=1)

    counted = as_score(score)
    counted(X)  # the audit
    for function in (
        RelaxedMinimum(),
        LocalMinimum(),
        Background(np.zeros((3, D))),
    ):
        calls.clear()
        game = function.bind(counted, Domain(D), X)
        game(ALL)
        assert game.n_evaluations.sum() == sum(calls)


MINIMA = {
    "relaxed": RelaxedMinimum(),
    "local": LocalMinimum(),
    "box": NeighborhoodMinimum(10.0),
    "ball": NeighborhoodMinimum(10.0, "ball"),
}


@pytest.mark.parametrize("name", MINIMA)
def test_a_row_has_converged_only_if_each_of_its_minimisations_has(name):
    """Without anyone the second row does not arrive; with the first column kept it does."""
    game = replace(MINIMA[name], limits=FEW).bind(switched(), SWITCH, SWITCHED)
    assert game.ended.tolist() == [0, Outcome.OUT_OF_BUDGET, 0]
    game(np.array([[True, False, False]]))
    assert game.ended.tolist() == [0, Outcome.OUT_OF_BUDGET, 0]


@pytest.mark.parametrize("name", ["local", "box", "ball"])
def test_a_coalition_that_does_not_arrive_later_is_told_of_its_row_alone(name, monkeypatch):
    game = MINIMA[name].bind(switched(), SWITCH, SWITCHED)
    assert not game.ended.any()
    monkeypatch.setattr(game, "_limits", FEW)
    coalitions = np.array([[False, False, False], [True, False, False]])
    game(coalitions, np.array([0, 2]))
    assert not game.ended.any()
    game(coalitions, np.array([0, 1]))
    assert game.ended.tolist() == [0, Outcome.OUT_OF_BUDGET, 0]


@pytest.mark.parametrize("name", GAMES)
def test_each_row_counts_the_evaluations_that_it_takes(name, energy):
    domain = Domain(D, lower=-1.5, upper=1.5)  # some rows are outside
    counted = Counted(energy)
    together = GAMES[name].bind(counted.score, domain, X)
    together(ALL)
    assert together.n_evaluations.sum() == counted.count
    for row, count in zip(X, together.n_evaluations, strict=True):
        alone = GAMES[name].bind(energy, domain, row[None])
        alone(ALL)
        assert count == pytest.approx(alone.n_evaluations[0], rel=0.02)


@pytest.mark.parametrize(
    ("game", "message"),
    [
        (Background([[1.0, 2.0]]), r"`rows` must have shape \(n, 4\), got \(1, 2\)"),
        (Background(lambda X: X), r"must have shape \(6, k, 4\), got \(6, 4\)"),
    ],
)
def test_bad_references_are_refused(game, message, energy):
    with pytest.raises(ValueError, match=message):
        game.bind(energy, Domain(D), X)


@pytest.mark.parametrize("name", GAMES)
def test_rows_of_another_width_are_refused(name, energy):
    with pytest.raises(ValueError, match=r"shape \(n, 3\), got \(6, 4\)"):
        GAMES[name].bind(energy, Domain(3), X)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: LocalMinimum(gamma=-0.1),
        lambda: RelaxedMinimum(gamma=-0.1),
        lambda: NeighborhoodMinimum(radius=0),
        lambda: NeighborhoodMinimum(shape="cone"),
    ],
)
def test_bad_settings_are_refused_before_any_row_comes(wrong):
    with pytest.raises(ValueError, match=r"`(gamma|radius|shape)` must be"):
        wrong()


@pytest.mark.parametrize("name", GAMES)
def test_bad_coalitions_are_refused(name, energy):
    with pytest.raises(ValueError, match=r"bool of shape \(m, 4\)"):
        GAMES[name].bind(energy, Domain(D), X)(np.zeros((1, 3), bool))


def test_a_score_without_an_answer_among_the_references_is_named():
    def score(X):
        return np.where(X[:, 0] < 0, np.nan, X[:, 0])

    X = np.array([[1.0], [2.0]])
    game = Background([[-1.0]]).bind(as_score(score), Domain(1), X)
    with pytest.raises(ValueError, match="finite, got nan"):
        game(np.array([[False]]))
