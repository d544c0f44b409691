import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest

from whyflag import Domain, Explainer, as_score
from whyflag.detectors import GMM
from whyflag.prepared import Prepared, prepare
from whyflag.score import unit_from

ROWS = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 10.0, 0.1]
FRAME = pd.DataFrame(ROWS, columns=["a", "b", "c"])
TURNED = FRAME[["c", "a", "b"]]


def energy(X):
    return (X**2).sum(axis=1)


def assert_same_rows(found, rows):
    np.testing.assert_array_equal(np.unique(found, axis=0), np.unique(rows, axis=0))


@pytest.fixture(scope="module")
def detector():
    return GMM(1, random_state=0).fit(FRAME)


def test_normal_rows_tell_the_domain():
    prepared = prepare(energy, ROWS)
    assert_same_rows(prepared.rows, ROWS)
    np.testing.assert_array_equal(prepared.domain.lower, ROWS.min(axis=0))
    np.testing.assert_array_equal(prepared.domain.upper, ROWS.max(axis=0))
    np.testing.assert_allclose(prepared.domain.scale, ROWS.std(axis=0))
    assert not prepared.domain.named


def test_normal_rows_stand_in_an_order_of_their_own():
    rng = np.random.default_rng(1)
    choices = np.eye(4)[rng.integers(4, size=300)]
    rows = np.hstack([choices, rng.integers(3, size=(300, 2)), rng.normal(size=(300, 1))])
    rows = np.vstack([rows, rows[:20]])
    one, other = (prepare(energy, rows[order]) for order in (slice(None), rng.permutation(320)))
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.domain.typical, other.domain.typical)
    assert one.score.unit == other.score.unit
    far = np.abs((one.rows - np.median(rows, axis=0)) / rows.std(axis=0)).sum(axis=1)
    assert far[:100].mean() < far[-100:].mean()  # the innermost first


def test_players_and_fixed_columns_go_into_the_domain():
    domain = prepare(energy, FRAME, players={"pair": ["a", "c"]}, fixed=["b"]).domain
    assert domain.player_names == ("pair", "b")
    assert domain.fixed.tolist() == [False, True, False]


@pytest.mark.parametrize("background", [FRAME, TURNED, ROWS], ids=["frame", "turned", "array"])
def test_columns_stand_as_the_detector_was_fitted(detector, background):
    prepared = prepare(detector, background)
    assert prepared.domain.columns == ("a", "b", "c")
    assert_same_rows(prepared.rows, ROWS)


def test_columns_stand_as_in_the_domain():
    prepared = prepare(energy, TURNED, domain=Domain(["a", "b", "c"]))
    assert_same_rows(prepared.rows, ROWS)


def test_a_domain_without_names_gets_those_of_the_rows():
    assert prepare(energy, TURNED, domain=Domain(3)).domain.columns == ("c", "a", "b")


def test_a_domain_without_names_gets_those_of_the_detector(detector):
    prepared = prepare(detector, TURNED, domain=Domain(3))
    assert prepared.domain.columns == ("a", "b", "c")
    assert_same_rows(prepared.rows, ROWS)


def test_rows_are_read_in_the_order_of_the_domain(detector):
    table = prepare(detector, FRAME).read(TURNED)
    np.testing.assert_array_equal(table.values, ROWS)
    assert table.columns == ("a", "b", "c")


def test_a_unit_that_is_not_known_is_measured():
    expected = pytest.approx(unit_from(energy(ROWS), 3))
    assert prepare(energy, ROWS).score.unit == expected
    assert prepare(energy, ROWS, domain=Domain(3)).score.unit == expected


def test_a_unit_is_measured_over_a_thousand_rows_at_most():
    seen = []

    def counted(X):
        seen.append(len(X))
        return energy(X)

    many = np.random.default_rng(0).normal(size=(5000, 3))
    score = as_score(counted, n_features=3)
    seen.clear()
    assert prepare(score, many).score.unit > 0
    assert max(seen) == 1000


def test_a_unit_that_is_known_is_kept(detector):
    assert prepare(detector, FRAME).score.unit == 1.0


def test_without_rows_no_unit_is_measured():
    prepared = prepare(energy, domain=Domain(3))
    assert prepared.score.unit is None
    assert prepared.rows is None
    with pytest.raises(ValueError, match="There are no normal rows"):
        _ = prepared.background


def test_a_threshold_is_the_detectors_own_unless_one_is_given():
    forest = IsolationForest(n_estimators=5, random_state=0).fit(ROWS)
    assert prepare(forest, ROWS).score.threshold == -forest.offset_
    assert prepare(energy, ROWS).score.threshold is None
    assert prepare(energy, ROWS, threshold=0.0).score.threshold == 0.0


def test_what_is_prepared_is_taken_as_it_is(detector):
    prepared = prepare(detector, FRAME)
    assert prepare(prepared) is prepared


@pytest.mark.parametrize(
    "given",
    [
        {"background": ROWS},
        {"domain": Domain(3)},
        {"threshold": 0.0},
        {"players": {"pair": [0, 1]}},
        {"fixed": [0]},
        {"fixed": np.array([True, False, False])},
    ],
    ids=str,
)
def test_what_is_prepared_takes_nothing_else(given):
    prepared = Prepared(as_score(energy, n_features=3), Domain(3))
    with pytest.raises(ValueError, match="brings its background, domain and threshold"):
        prepare(prepared, **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "What is normal must be known: give normal rows as `background`, or a `domain`"),
        ({"domain": "a"}, "`domain` must be a Domain, got 'a'"),
        ({"domain": Domain(3), "players": {"p": [0]}}, "`players` goes into the `domain`"),
        ({"domain": Domain(3), "fixed": [0]}, "`fixed` goes into the `domain`"),
        ({"domain": Domain(list("acb"))}, r"that the detector was fitted with, \['a', 'b', 'c'\]"),
        ({"background": FRAME.rename(columns={"b": "z"})}, r"missing: \['b'\], unex.*\['z'\]"),
        ({"background": ROWS[:, :2]}, "3 features, got n_features=2"),
        ({"background": ROWS[:0]}, "at least one row"),
        ({"background": ROWS[:, :2], "domain": Domain(3)}, r"shape \(n, 3\), got \(50, 2\)"),
        ({"background": ROWS, "threshold": np.nan}, "`threshold` must be a finite number"),
        ({"background": ROWS, "players": {"p": ["z"]}}, r"`players\['p'\]` must name columns"),
        ({"background": ROWS, "fixed": ["z"]}, "`fixed` must name columns"),
    ],
)
def test_what_can_not_be_prepared_is_refused(detector, given, message):
    with pytest.raises(ValueError, match=message):
        prepare(detector, **given)


def test_what_is_written_into_normal_rows_later_changes_nothing():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    explain = Explainer(lambda X: (X**2).sum(axis=1), rows)
    before = explain([[4.0, 0.5]]).values
    rows[:] = 0.0
    np.testing.assert_array_equal(explain([[4.0, 0.5]]).values, before)
