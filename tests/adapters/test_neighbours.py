"""Scores by neighbours: the library's own, with loops that are compiled and without."""

import pickle

import numpy as np
import pytest
from pyod.models.knn import KNN
from pyod.models.lof import LOF
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

import whyflag.score.distances as module
from whyflag import Explainer, as_score
from whyflag.score import Distances, score_moves
from whyflag.score.function import from_function

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(300, 7)) @ (np.eye(7) + 0.4 * rng.normal(size=(7, 7)))
ODD = ROWS[:12] + np.where(np.eye(12, 7), 4.0, 0.0)
GROSS = ODD + np.where(np.eye(12, 7), 1e6, 0.0)
WHOLE = np.round(2 * ROWS)  # many rows are equally near


@pytest.fixture(params=["compiled", "plain"])
def by_both(request, monkeypatch):
    """With the loops that numba compiles, and without them."""
    if request.param == "plain":
        monkeypatch.setattr(module, "compiled", lambda loops: None)


def theirs(detector, X):
    return (
        detector.decision_function(X)
        if "pyod" in type(detector).__module__
        else -(detector.score_samples(X))
    )


DETECTORS = {
    "LOF": lambda: LocalOutlierFactor(novelty=True),
    "LOF, one": lambda: LocalOutlierFactor(1, novelty=True),
    "LOF, nearly all": lambda: LocalOutlierFactor(299, novelty=True),
    "LOF, brute": lambda: LocalOutlierFactor(novelty=True, algorithm="brute"),
    "PyOD LOF": lambda: LOF(10),
    "KNN": lambda: KNN(),
    "KNN, mean": lambda: KNN(method="mean"),
    "KNN, median": lambda: KNN(method="median"),
}


@pytest.mark.usefixtures("by_both")
@pytest.mark.parametrize("name", DETECTORS)
def test_scores_are_the_librarys(name):
    detector = DETECTORS[name]()
    detector.fit(ROWS)
    score = as_score(detector)
    assert score.find(Distances) is not None
    for X in (ODD, GROSS, ROWS[:5]):
        np.testing.assert_allclose(score(X), theirs(detector, X), rtol=1e-12)


@pytest.mark.usefixtures("by_both")
@pytest.mark.parametrize("make", [DETECTORS["LOF"], DETECTORS["KNN"], DETECTORS["PyOD LOF"]])
def test_of_equally_near_rows_the_librarys_are_taken(make):
    detector = make().fit(WHOLE)
    X = WHOLE[:40] + 1.0
    np.testing.assert_allclose(as_score(detector)(X), theirs(detector, X), rtol=1e-12)


@pytest.mark.parametrize("d", range(1, 9))
@pytest.mark.parametrize("n", [9, 64, 71, 320, 1000])
def test_loops_find_the_nearest_rows(n, d):
    rows, X = rng.normal(size=(n, d)), rng.normal(size=(20, d))
    pytest.importorskip("numba")
    stored = module.Neighbours(rows, 5, None, None)
    squares, which = stored._search(module.compiled(module.nearest), module.POINTS, X)
    squares, which = squares[:, :5], which[:, :5]
    every = ((X[:, None] - rows) ** 2).sum(axis=2)
    np.testing.assert_array_equal(which, every.argsort(axis=1)[:, :5])
    np.testing.assert_allclose(squares, np.sort(every, axis=1)[:, :5], rtol=1e-13)


@pytest.mark.parametrize("d", [1, 4, 9])
@pytest.mark.parametrize("n", [71, 1500])
def test_loops_find_the_nearest_rows_of_moves_and_of_mixtures(n, d):
    """Of many rows as well, where only those within a bound are looked at."""
    pytest.importorskip("numba")
    rows, X = rng.normal(size=(n, d)), 2 * rng.normal(size=(6, d))
    stored = module.Neighbours(rows, 5, None, None)
    loops = module.compiled(module.nearest)
    row, column = (each.ravel() for each in np.indices((6, d)))
    value = 3 * rng.normal(size=len(row))
    moved = X[row]
    moved[np.arange(len(row)), column] = value
    x, r = X[:2]
    keep = rng.random((40, d)) < 0.5
    table = np.vstack([(x[:, None] - rows.T) ** 2, (r[:, None] - rows.T) ** 2])
    index = np.where(keep, np.arange(d), np.arange(d, 2 * d))
    cases = (
        (moved, stored._search(loops, module.MOVES, X, moves=(row, column, value))),
        (
            np.where(keep, x, r),
            stored._search(
                loops, module.SUMS, np.stack([x, r]), sums=(table.astype(np.float32), index, keep)
            ),
        ),
    )
    for points, (squares, which) in cases:
        every = ((points[:, None] - rows) ** 2).sum(axis=2)
        np.testing.assert_array_equal(which[:, :5], every.argsort(axis=1)[:, :5])
        np.testing.assert_allclose(squares[:, :5], np.sort(every, axis=1)[:, :5], rtol=1e-12)


def test_loops_and_plain_sums_say_the_same():
    """Sums are in single precision there; the nearest rows and their distances are not."""
    pytest.importorskip("numba")
    near = module.Neighbours(ROWS, 6, None, None)
    x, r = ODD[:2]
    keep = rng.random((30, 7)) < 0.5
    table = np.vstack([(x[:, None] - ROWS.T) ** 2, (r[:, None] - ROWS.T) ** 2])
    index = np.where(keep, np.arange(7), np.arange(7, 14))
    sums = table.astype(np.float32), index, keep
    found = near._search(module.compiled(module.nearest), module.SUMS, np.stack([x, r]), sums=sums)
    for one, other in zip(found, module._search_sums(table, index, 7), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.usefixtures("by_both")
@pytest.mark.parametrize("rows", [ROWS, WHOLE, 1e9 + ROWS], ids=["real", "ties", "far off"])
@pytest.mark.parametrize("name", ["LOF", "KNN, mean", "behind steps"])
def test_rows_with_one_column_moved_score_what_their_points_score(name, rows):
    """To the last digit, gross values and an order of columns that is not the rows' included."""
    detector = (
        make_pipeline(StandardScaler(), PowerTransformer(), LocalOutlierFactor(novelty=True))
        if name == "behind steps"
        else DETECTORS[name]()
    ).fit(rows)
    score = as_score(detector)
    X = rows[:12] + np.where(np.eye(12, 7), 4.0, 0.0)
    X[3, 2] = 1e6
    row = np.sort(rng.integers(0, 12, 90))
    column = rng.integers(0, 7, 90)
    order = np.lexsort([column, row])
    row, column = row[order], column[order]
    value = np.append(rng.normal(size=88) * 3, [1e7, 1e30]) + rows.mean()
    points = X[row]
    points[np.arange(90), column] = value
    found = score_moves(score, X, row, column, value)
    np.testing.assert_array_equal(found, score(points))
    plain = score_moves(score.without(Distances), X, row, column, value)
    np.testing.assert_array_equal(plain, score(points))


def test_rows_beyond_all_numbers_are_the_librarys_to_judge():
    detector = LocalOutlierFactor(novelty=True).fit(ROWS)
    far = np.full((2, 7), 1e200)
    score = as_score(detector)
    score(ROWS)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(score(far), -detector.score_samples(far))


@pytest.mark.parametrize(
    "detector",
    [
        LocalOutlierFactor(novelty=True, metric="manhattan"),
        LocalOutlierFactor(novelty=True, metric="cosine"),
        KNN(metric="chebyshev"),
        KNN(metric="minkowski", p=3),
    ],
    ids=str,
)
def test_other_distances_are_left_to_the_library(detector):
    detector.fit(ROWS)
    score = as_score(detector)
    assert score.find(Distances) is None
    np.testing.assert_allclose(score(ODD), theirs(detector, ODD), rtol=1e-12)


def test_more_rows_than_loops_are_quick_for_are_left_to_the_library():
    many = rng.normal(size=(5000, 1))
    assert as_score(LocalOutlierFactor(novelty=True).fit(many[:4000])).find(Distances)
    many = rng.normal(size=(5700, 1))
    assert as_score(LocalOutlierFactor(novelty=True).fit(many)).find(Distances) is None


@pytest.mark.usefixtures("by_both")
@pytest.mark.parametrize("rows", [ROWS, WHOLE], ids=["real", "ties"])
@pytest.mark.parametrize("X", [ODD, GROSS], ids=["odd", "gross"])
@pytest.mark.parametrize("method", ["near", "KSH", "wKSH"])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("name", ["LOF", "KNN", "KNN, mean"])
def test_values_are_those_of_the_plain_function(name, scaled, method, X, rows):
    """Within a billionth of the largest value, gross values and ties included."""
    detector = DETECTORS[name]()
    if scaled and name == "LOF":
        detector = make_pipeline(StandardScaler(), detector)
    detector.fit(rows)
    score = as_score(detector)
    plain = from_function(lambda Z: theirs(detector, Z), n_features=7, threshold=score.threshold)
    X = X[:3] if rows is ROWS else np.round(X[:3])
    found, without, expected = (
        Explainer(e, rows, method)(X).values for e in (score, score.without(Distances), plain)
    )
    largest = np.abs(expected).max(axis=1, keepdims=True)
    assert (np.abs(found - without) <= 1e-9 * largest).all()
    assert (np.abs(found - expected) <= 1e-9 * largest).all()


@pytest.mark.parametrize("method", ["comp", "ASH"])
@pytest.mark.parametrize("name", ["LOF", "KNN"])
def test_a_search_by_moves_of_columns_ends_where_one_by_points_does(name, method):
    score = as_score(DETECTORS[name]().fit(ROWS))
    X = np.vstack([ODD[:2], GROSS[2]])
    found, without = (Explainer(e, ROWS, method)(X) for e in (score, score.without(Distances)))
    np.testing.assert_allclose(found.reference, without.reference, rtol=1e-9)
    np.testing.assert_allclose(found.values, without.values, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(found.evaluations, without.evaluations)


def test_the_detector_may_be_fitted_again_and_the_score_be_sent_elsewhere():
    detector = LocalOutlierFactor(novelty=True).fit(ROWS)
    expected, score = -detector.score_samples(ODD), as_score(detector)
    detector.fit(ROWS[:100])
    np.testing.assert_allclose(score(ODD), expected)
    copy = pickle.loads(pickle.dumps(score))  # noqa: S301
    np.testing.assert_array_equal(copy(ODD), score(ODD))
