import numpy as np
import pytest
import shap

import whyflag.games.base
import whyflag.minimise
from benchmarks.worlds import random_covariance, random_mixture
from helpers import SWITCH, SWITCHED, Counted, every_game, switched
from whyflag import Domain, as_score
from whyflag.games import Background, LocalMinimum, Nearest, NeighborhoodMinimum, RelaxedMinimum
from whyflag.minimise import minimise
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
    game = GAMES[name](energy, domain).bind(X)
    values = game(numbered(0, 2**p, p))
    assert values.shape == (len(X), 2**p)
    np.testing.assert_allclose(values[:, -1], energy(X), rtol=1e-12)
    assert (game.n_evaluations > 0).all()


@pytest.mark.parametrize("kind", domains())
@pytest.mark.parametrize("name", ["relaxed", "local", "box", "ball"])
def test_with_no_one_present_the_score_is_never_higher(name, kind, energy):
    domain = domains()[kind]
    game = GAMES[name](energy, domain).bind(X)
    empty = game(np.zeros((1, domain.n_players), bool))[:, 0]
    assert (empty <= energy(X)).all()
    np.testing.assert_allclose(empty, energy(game.reference))
    assert game.converged.all()


def test_local_minimum_of_one_gaussian_is_the_conditional_mean(gaussian):
    values = LocalMinimum(gaussian, Domain(D), gamma=0.0).bind(X)(ALL)
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
    game = RelaxedMinimum(energy, domain, gamma=0.1).bind(X)
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
    game = LocalMinimum(energy, domain).bind(X)
    columns = LocalMinimum(energy, Domain(D)).bind(X)
    pair_only = game(np.array([[True, False, False]]))
    np.testing.assert_allclose(pair_only, columns(np.array([[True, False, True, False]])))


def test_a_wider_neighbourhood_is_never_higher(gaussian):
    for shape in ("box", "ball"):
        values = [
            NeighborhoodMinimum(gaussian, Domain(D), radius, shape).bind(X)(ALL)
            for radius in (0.3, 1.0, 3.0)
        ]
        assert (values[1] <= values[0] + 1e-6).all()
        assert (values[2] <= values[1] + 1e-6).all()


def test_a_ball_lies_within_its_box(gaussian):
    box = NeighborhoodMinimum(gaussian, Domain(D), 1.0, "box").bind(X)(ALL)
    ball = NeighborhoodMinimum(gaussian, Domain(D), 1.0, "ball").bind(X)(ALL)
    assert (box <= ball + 1e-6).all()


def test_a_neighbourhood_that_holds_the_minimum_is_the_local_minimum(gaussian):
    near = NeighborhoodMinimum(gaussian, Domain(D), 1e3).bind(X)(ALL)
    np.testing.assert_allclose(near, LocalMinimum(gaussian, Domain(D), 0.0).bind(X)(ALL), atol=1e-6)


def test_background_equals_shaps_exact_explainer(energy):
    rows = np.random.default_rng(3).normal(size=(10, D))
    ours = Exact().solve(Background(energy, rows).bind(X))
    explainer = shap.explainers.ExactExplainer(energy, shap.maskers.Independent(rows))
    theirs = explainer(X)
    np.testing.assert_allclose(ours.values, theirs.values, atol=1e-8)
    np.testing.assert_allclose(ours.empty, theirs.base_values, atol=1e-8)


def test_additive_scores_have_their_closed_form():
    slope, reference = np.array([1.0, -2.0, 0.0, 3.0]), np.array([0.5, 0.0, 1.0, 2.0])
    score = as_score(lambda X: X @ slope)
    shapley = Exact().solve(Background(score, reference).bind(X))
    np.testing.assert_allclose(shapley.values, slope * (X - reference), atol=1e-12)


def test_background_weights_are_those_of_repeated_rows(energy):
    rows = np.random.default_rng(0).normal(size=(2, D))
    repeated = Background(energy, rows[[0, 0, 0, 1]]).bind(X)(ALL)
    np.testing.assert_allclose(Background(energy, rows, weights=[3, 1]).bind(X)(ALL), repeated)


def test_background_is_the_sum_of_its_parts(energy):
    d = energy.n_features
    rng = np.random.default_rng(0)
    game = Background(energy, rng.normal(size=(3, d)), [1, 2, 3]).bind(rng.normal(size=(4, d)))
    coalitions = numbered(0, 2**d, d)[:9]
    whole = game(coalitions)
    parts = [part(coalitions, np.array([1, 3])) for part in game.parts]
    np.testing.assert_allclose(sum(parts), whole[[1, 3]], rtol=1e-12)
    np.testing.assert_array_equal(game.n_evaluations, [27, 54, 27, 54])


def test_rows_chosen_for_each_query(energy):
    rows = np.random.default_rng(0).normal(size=(50, D))
    domain = Domain(D, scale=[1, 2, 3, 4])
    values = Background(energy, Nearest(rows, domain, k=5), domain=domain).bind(X)(ALL)
    for x, value in zip(X, values, strict=True):
        near = np.argsort((((rows - x) / domain.scale) ** 2).sum(axis=1))[:5]
        np.testing.assert_allclose(value, Background(energy, rows[near]).bind(x[None])(ALL)[0])


@pytest.mark.parametrize("name", GAMES)
def test_tiles_do_not_change_values(name, energy, monkeypatch):
    whole = GAMES[name](energy, Domain(D)).bind(X)(ALL)
    monkeypatch.setattr(whyflag.games.base, "CHUNK", 3 * D)
    np.testing.assert_allclose(GAMES[name](energy, Domain(D)).bind(X)(ALL), whole, atol=1e-6)


@pytest.mark.parametrize("name", GAMES)
def test_no_coalitions_have_no_values(name, energy):
    assert GAMES[name](energy, Domain(D)).bind(X)(ALL[:0]).shape == (len(X), 0)


def test_evaluations_are_counted():
    calls = []

    def score(X):
        calls.append(len(X))
        return (X**2).sum(axis=1)

    counted = as_score(score)
    counted(X)  # the audit
    for function in (
        RelaxedMinimum(counted, Domain(D)),
        LocalMinimum(counted, Domain(D)),
        Background(counted, np.zeros((3, D))),
    ):
        calls.clear()
        game = function.bind(X)
        game(ALL)
        assert game.n_evaluations.sum() == sum(calls)


MINIMA = {
    "relaxed": lambda score, domain: RelaxedMinimum(score, domain),
    "local": lambda score, domain: LocalMinimum(score, domain),
    "box": lambda score, domain: NeighborhoodMinimum(score, domain, 10.0),
    "ball": lambda score, domain: NeighborhoodMinimum(score, domain, 10.0, "ball"),
}


@pytest.mark.usefixtures("few_evaluations")
@pytest.mark.parametrize("name", MINIMA)
def test_a_row_has_converged_only_if_each_of_its_minimisations_has(name):
    """Without anyone the second row does not arrive; with the first column kept it does."""
    game = MINIMA[name](switched(), SWITCH).bind(SWITCHED)
    assert game.converged.tolist() == [True, False, True]
    game(np.array([[True, False, False]]))
    assert game.converged.tolist() == [True, False, True]


@pytest.mark.parametrize("name", ["local", "box", "ball"])
def test_a_coalition_that_does_not_arrive_later_is_told_of_its_row_alone(name, monkeypatch):
    game = MINIMA[name](switched(), SWITCH).bind(SWITCHED)
    assert game.converged.all()
    monkeypatch.setattr(whyflag.minimise, "MAX_GRADIENTS", 12)
    coalitions = np.array([[False, False, False], [True, False, False]])
    game(coalitions, np.array([0, 2]))
    assert game.converged.all()
    game(coalitions, np.array([0, 1]))
    assert game.converged.tolist() == [True, False, True]


@pytest.mark.parametrize("name", GAMES)
def test_each_row_counts_the_evaluations_that_it_takes(name, energy):
    domain = Domain(D, lower=-1.5, upper=1.5)  # some rows are outside
    counted = Counted(energy)
    together = GAMES[name](counted.score, domain).bind(X)
    together(ALL)
    assert together.n_evaluations.sum() == counted.count
    for row, count in zip(X, together.n_evaluations, strict=True):
        alone = GAMES[name](energy, domain).bind(row[None])
        alone(ALL)
        assert count == pytest.approx(alone.n_evaluations[0], rel=0.02)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda e: Background(e, [[1.0, 2.0]]), r"`rows` must have shape \(n, 4\), got \(1, 2\)"),
        (lambda e: Background(e, np.zeros(D), weights=[1, 2]), "`weights` must be 1 numbers"),
        (lambda e: Background(e, np.zeros((2, D)), weights=[0, 0]), "not all zero"),
        (lambda e: Background(e, lambda X: X), r"must have shape \(6, k, 4\), got \(6, 4\)"),
        (lambda e: Background(as_score(lambda X: X[:, 0]), lambda X: X[:, None]), "`domain`"),
        (lambda e: RelaxedMinimum(e, Domain(3)), r"shape \(n, 3\), got \(6, 4\)"),
        (lambda e: LocalMinimum(e, Domain(D), gamma=-0.1), "`gamma` must be a finite number"),
        (lambda e: RelaxedMinimum(e, Domain(D), gamma=-0.1), "`gamma` must be a finite number"),
        (lambda e: NeighborhoodMinimum(e, Domain(D), radius=0), "`radius` must be a finite number"),
    ],
)
def test_bad_games_are_refused(make, message, energy):
    with pytest.raises(ValueError, match=message):
        make(energy).bind(X)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda e: LocalMinimum(e, Domain(D), gamma=-0.1),
        lambda e: RelaxedMinimum(e, Domain(D), gamma=-0.1),
        lambda e: NeighborhoodMinimum(e, Domain(D), radius=0),
        lambda e: NeighborhoodMinimum(e, Domain(D), shape="cone"),
    ],
)
def test_bad_settings_are_refused_before_any_row_comes(wrong, energy):
    with pytest.raises(ValueError, match=r"`(gamma|radius|shape)` must be"):
        wrong(energy)


@pytest.mark.parametrize("name", GAMES)
def test_bad_coalitions_are_refused(name, energy):
    with pytest.raises(ValueError, match=r"bool of shape \(m, 4\)"):
        GAMES[name](energy, Domain(D)).bind(X)(np.zeros((1, 3), bool))


def test_a_score_without_an_answer_among_the_references_is_named():
    def score(X):
        return np.where(X[:, 0] < 0, np.nan, X[:, 0])

    game = Background(as_score(score), [[-1.0]]).bind(np.array([[1.0], [2.0]]))
    with pytest.raises(ValueError, match="finite, got nan"):
        game(np.array([[False]]))
