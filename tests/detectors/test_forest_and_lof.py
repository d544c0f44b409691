"""The detectors that scikit-learn has too: the same scores, and kept as arrays."""

import json
import warnings

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.utils.estimator_checks import parametrize_with_checks

from whyflag import Explainer, calibrate
from whyflag.detectors import LOF, Forest, load
from whyflag.score import Distances, Trees
from whyflag.score.isolation import IsolationArrays
from whyflag.score.trees import Nodes

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(400, 5)) * [1, 10, 0.1, 5, 2]
NEW = np.vstack([RNG.normal(size=(200, 5)), RNG.normal(size=(50, 5)) * 1e3, [[0.0] * 5]])


def test_a_forest_has_the_scores_of_scikit_learn():
    theirs = IsolationForest(n_estimators=50, max_samples=128, random_state=3).fit(ROWS)
    ours = Forest(50, max_samples=128, random_state=3).fit(ROWS)
    assert ours.score_samples(NEW) == pytest.approx(theirs.score_samples(NEW), rel=1e-12)


def test_a_local_outlier_factor_is_that_of_scikit_learn_on_standardised_rows():
    ours = LOF(10).fit(ROWS)
    theirs = LocalOutlierFactor(10, novelty=True).fit((ROWS - ROWS.mean(0)) / ROWS.std(0))
    expected = theirs.score_samples((NEW - ROWS.mean(0)) / ROWS.std(0))
    assert ours.score_samples(NEW) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("detector", [Forest(30), LOF()], ids=lambda each: type(each).__name__)
def test_what_is_kept_has_the_same_scores_to_the_bit(detector, tmp_path):
    detector.fit(ROWS).save(tmp_path)
    again = load(tmp_path)
    assert again.score_samples(NEW).tolist() == detector.score_samples(NEW).tolist()
    assert again.offset_ == detector.offset_
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".npz"}


@pytest.mark.parametrize("detector", [Forest(30), LOF()], ids=lambda each: type(each).__name__)
def test_a_row_alone_has_the_score_that_it_has_among_others(detector):
    score = detector.fit(ROWS).to_score()
    assert [score(row[None]).item() for row in NEW[:20]] == pytest.approx(
        score(NEW)[:20].tolist(), rel=1e-12
    )


@pytest.mark.parametrize(("detector", "known"), [(Forest(20), Trees), (LOF(), Distances)])
@pytest.mark.parametrize("method", ["near", "wKSH"])
def test_what_is_known_of_a_score_changes_no_value(detector, known, method):
    score = detector.fit(ROWS).to_score()
    rows = ROWS[:2] + np.array([0, 100, 0, 0, 0])
    one = Explainer(score, ROWS, method)(rows)
    other = Explainer(score.without(known), ROWS, method)(rows)
    assert score.find(known) is not None
    assert one.values == pytest.approx(other.values, abs=1e-6 * np.abs(one.values).max())
    assert (one.order[:, 0] == 1).all()


def test_lof_keeps_as_many_rows_as_it_is_told():
    assert len(LOF(max_rows=50).fit(ROWS).rows_) == 50
    assert LOF().fit(ROWS[:5]).k_ == 4


@pytest.mark.parametrize("detector", [Forest(20), LOF()], ids=lambda each: type(each).__name__)
def test_they_can_be_calibrated(detector):
    normal = calibrate(detector.fit(ROWS), ROWS, 0.05)
    assert (normal.n, normal.promised <= 0.05) == (400, True)


def test_rows_that_come_more_often_than_there_are_neighbours_are_told_once_in_our_words():
    rows = np.vstack([np.repeat(ROWS[:1], 12, axis=0), ROWS])
    before = warnings.filters[:]
    with pytest.warns(UserWarning, match="infinitely dense") as told:
        LOF(10).fit(rows)
    assert [str(each.message) for each in told] == [
        "Some rows come more than 10 times (`n_neighbors`): to a local outlier factor they are "
        "infinitely dense, and rows beside them have scores of 1e9."
    ]
    assert warnings.filters == before


def nodes(**changes):
    arrays = {
        "roots": np.array([0]),
        "left": np.array([1, -1, -1]),
        "right": np.array([2, -1, -1]),
        "column": np.array([0, -1, -1]),
        "threshold": np.zeros(3, dtype=np.float32),
        "value": np.array([0.0, -1.0, -2.0]),
    }
    return Nodes(**{**arrays, **changes})


def test_a_row_goes_left_up_to_the_threshold():
    score = IsolationArrays(nodes(), 2.0, 1, 1)
    assert score(np.array([[-1.0], [0.0], [0.1]])).tolist() == [2**-0.5, 2**-0.5, 2**-1.0]


@pytest.mark.parametrize(
    "change",
    [
        {"left": np.array([0, -1, -1])},  # a circle
        {"right": np.array([3, -1, -1])},
        {"column": np.array([1, -1, -1])},
    ],
    ids=str,
)
def test_trees_that_lead_nowhere_are_refused(change):
    with pytest.raises(ValueError, match="its trees"):
        IsolationArrays(nodes(**change), 2.0, 1, 1)


def test_a_forest_whose_trees_are_damaged_is_refused(tmp_path):
    Forest(3).fit(ROWS).save(tmp_path)
    content = json.loads((tmp_path / "detector.json").read_text())
    content["fitted"]["n_features_in_"] = 2
    (tmp_path / "detector.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match="does not fit together"):
        load(tmp_path)


@parametrize_with_checks([Forest(5), LOF()])
def test_they_are_estimators_of_scikit_learn(estimator, check):
    check(estimator)
