"""Minima along columns, against every cell tried out, against the search, and without numba."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor, IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from whyflag import Domain, as_score
from whyflag.minimise import line_loops, lines, minimise
from whyflag.minimise.cells import cells_of
from whyflag.minimise.lines import descend_along_columns
from whyflag.minimise.problem import Problems
from whyflag.prepared import prepare
from whyflag.score import Score, Trees
from whyflag.score.trees import Nodes

D = 6
rng = np.random.default_rng(0)
NORMAL = rng.normal(size=(300, D)) @ (np.eye(D) + 0.4 * rng.normal(size=(D, D)))
NORMAL[:, 5] = NORMAL[:, 0] > 0
ROWS = NORMAL[:8].copy()
ROWS[np.arange(8), np.arange(8) % 5] += 5 * NORMAL.std(axis=0)[np.arange(8) % 5]
ALONE = np.vstack([np.zeros((1, D), np.bool_), np.eye(D, dtype=np.bool_)])
KEEP = np.tile(ALONE, (8, 1))  # as v̲ has them: nothing kept, and each column by itself
X = np.repeat(ROWS, D + 1, axis=0)


def prepared(*steps, **settings):
    forest = IsolationForest(n_estimators=25, random_state=0, **settings)
    return prepare(make_pipeline(*steps, forest).fit(NORMAL), NORMAL)


def summed():
    """A sum over trees that is the score itself, where an isolation forest's is a power of one."""
    forest = ExtraTreesRegressor(10, max_depth=5, random_state=0).fit(
        NORMAL, (NORMAL**2).sum(axis=1)
    )
    trees = [each.tree_ for each in forest.estimators_]
    every = np.arange(D)
    nodes = Nodes.of(trees, [every] * 10, [tree.value[:, 0, 0] / 10 for tree in trees])
    score = Score(forest.predict, (Trees(nodes, None, every, np.ones(D)),), unit=1.0)
    return prepare(score, NORMAL)


FOREST = prepared()


@pytest.fixture(params=["compiled", "plain"])
def by_both(request, monkeypatch):
    """With the loops that numba compiles, and without them."""
    if request.param == "plain":
        monkeypatch.setattr(lines, "compiled", lambda loops: None)


def solved(known, **settings):
    return minimise(known.score, X, KEEP, known.domain, **{"gamma": 0.01, **settings})


def cells(known):
    return cells_of(known.score.need(Trees).nodes, D)


def test_a_cell_is_where_the_sum_does_not_change():
    known, made = FOREST, cells(FOREST)
    trees = known.score.need(Trees)
    at = made.at(trees(ROWS))
    for end in (made.low, made.high):
        slot = made.begin[:-1] + at
        there = np.where(np.isfinite(end[slot]), end[slot], ROWS)
        for j in range(D):
            moved = ROWS.copy()
            moved[:, j] = there[:, j]
            np.testing.assert_array_equal(known.score(moved), known.score(ROWS))
            np.testing.assert_array_equal(made.at(trees(moved)), at)


def test_a_point_is_in_the_box_of_one_leaf_of_each_tree():
    known, made = FOREST, cells(FOREST)
    trees = known.score.need(Trees)
    row, leaf = np.nonzero(made.outside(made.at(trees(ROWS))) == 0)
    assert (np.bincount(row) == 25).all()
    sums = np.bincount(row, made.value[leaf])
    np.testing.assert_allclose(trees.link(sums), known.score(ROWS), rtol=1e-12)


@pytest.mark.usefixtures("by_both")
@pytest.mark.parametrize(("gamma", "leash"), [(0.0, 0), (0.01, 0), (1.0, 0), (0.01, 0.1)])
@pytest.mark.parametrize(
    "known",
    [FOREST, prepared(StandardScaler()), prepared(max_features=0.5), summed()],
    ids=["forest", "scaled", "some columns", "sum"],
)
def test_no_column_alone_has_a_lower_point(known, gamma, leash):
    """Every cell of every column is tried; on a leash from where a row enters its bounds."""
    problems = Problems(known.score, X[:21], KEEP[:21], known.domain, gamma=gamma)
    problems = problems.on_leash(np.full(21, leash), problems.start)
    assert (problems.entry != 0).any()
    found = descend_along_columns(problems, known.score.need(Trees), 1000)
    assert found.converged.all()
    ends = np.unique(NORMAL, axis=0)
    for i in range(len(found.u)):
        for j in np.flatnonzero(problems.free[i]):
            values = np.linspace(*np.quantile(ends[:, j], [0, 1]), 300) if j < 5 else [0.0, 1.0]
            u = np.repeat(found.u[[i]], len(values), axis=0)
            u[:, j] = (values - problems.X[i, j]) / known.domain.scale[j]
            tried = problems.select(np.full(len(values), i)).loss(u)
            assert found.loss[i] <= tried.min() + 2 * lines.GAIN * max(1.0, abs(found.loss[i]))
    moved = problems.points(found.u)
    assert np.isin(moved[:, 5], [0.0, 1.0]).all()


@pytest.mark.parametrize("basin", ["nearest", "lowest"])
@pytest.mark.parametrize("known", [FOREST, prepared(StandardScaler())], ids=["forest", "scaled"])
def test_minima_are_no_higher_than_those_of_the_search(known, basin):
    found = solved(known, basin=basin)
    searched = solved(replace(known, score=known.score.without(Trees)), basin=basin)
    unit = known.score.unit
    assert (found.loss <= searched.loss + 1e-7 * unit).mean() >= 0.9
    assert (found.loss <= searched.loss + 0.2 * unit).all()
    assert found.loss.mean() < searched.loss.mean()
    assert found.converged.all()


def test_numba_changes_no_minimum(monkeypatch):
    one = slice(0, D + 1)

    def found():
        box = solved(FOREST, radius=0.7, gamma=0.0)
        asked = FOREST.score, X[one], KEEP[one], FOREST.domain
        ball = minimise(*asked, radius=1.0, shape="ball")
        return np.vstack([solved(FOREST).point, box.point, ball.point])

    compiled = found()
    monkeypatch.setattr(lines, "compiled", lambda loops: None)
    np.testing.assert_array_equal(found(), compiled)


def test_loops_do_the_same_when_they_are_not_compiled(monkeypatch):
    few = slice(0, D + 1)
    asked = FOREST.score, X[few], KEEP[few], FOREST.domain
    compiled = minimise(*asked, gamma=0.01)
    monkeypatch.setattr(lines, "compiled", lambda loops: loops)
    np.testing.assert_array_equal(minimise(*asked, gamma=0.01).point, compiled.point)
    assert lines.compiled(line_loops.best) is line_loops.best


@pytest.mark.usefixtures("by_both")
def test_a_problem_does_not_depend_on_those_beside_it():
    together = solved(FOREST)
    for i in (0, 3, 20):
        alone = minimise(FOREST.score, X[[i]], KEEP[[i]], FOREST.domain, gamma=0.01)
        np.testing.assert_array_equal(alone.point[0], together.point[i])


@pytest.mark.parametrize("shape", ["box", "ball"])
def test_a_radius_is_kept_and_kept_columns_stay(shape):
    found = solved(FOREST, radius=0.7, shape=shape, gamma=0.0)
    # Around the row, or around where a row that is out of bounds enters them.
    entered = np.clip(X, FOREST.domain.lower, FOREST.domain.upper)
    assert not (entered == X).all()
    away = np.where(KEEP, 0.0, (found.point - entered) / FOREST.domain.scale)
    length = np.linalg.norm(away, axis=1) if shape == "ball" else np.abs(away).max(axis=1)
    assert (length <= 0.7 * (1 + 1e-9)).all()
    np.testing.assert_array_equal(found.point[KEEP], X[KEEP])


def test_a_gross_value_comes_back_and_a_normal_row_stays_no_worse():
    rows = np.repeat(NORMAL[:3], 3, axis=0)
    rows[:, 0] = np.tile([-9999.0, 1e9, 1e60], 3)
    nothing = np.zeros(rows.shape, dtype=np.bool_)
    found = minimise(FOREST.score, rows, nothing, FOREST.domain, gamma=0.01)
    assert (found.point >= FOREST.domain.lower).all()
    assert (found.point <= FOREST.domain.upper).all()
    assert (FOREST.score(found.point) < FOREST.score(rows)).all()
    deep = NORMAL[FOREST.score(NORMAL).argsort()[:20]]
    nothing = np.zeros(deep.shape, dtype=np.bool_)
    again = minimise(FOREST.score, deep, nothing, FOREST.domain, gamma=1.0)
    assert (again.loss <= FOREST.score(deep) * (1 + 1e-12)).all()


def test_bent_columns_are_searched():
    known = prepared(QuantileTransformer(n_quantiles=50))
    trees = known.score.need(Trees)
    assert not trees.by_column
    found = solved(known)
    searched = solved(replace(known, score=known.score.without(Trees)))
    np.testing.assert_array_equal(found.point, searched.point)


def test_without_typical_values_the_row_itself_is_the_start():
    score = as_score(IsolationForest(n_estimators=25, random_state=0).fit(NORMAL))
    nothing = np.zeros(ROWS.shape, dtype=np.bool_)
    found = minimise(score, ROWS, nothing, Domain(D, scale=NORMAL.std(axis=0)), gamma=0.001)
    assert (score(found.point) < score(ROWS)).all()
