from collections.abc import Iterator
from dataclasses import fields, replace
from typing import get_type_hints

import numpy as np
import pandas as pd
import pytest
from made import alarming, make

from whyflag import Attribution, Domain, Explainer
from whyflag.attribution import concatenate
from whyflag.detectors import GMM
from whyflag.outcome import Outcome
from whyflag.repair import Repairer
from whyflag.score import Score
from whyflag.table.codec import State
from whyflag.table.originals import Originals


def test_how_far_above_the_alarm_a_row_is():
    attribution = replace(make(), threshold=float(make().scores.min()))
    np.testing.assert_array_equal(attribution.excess, attribution.scores - attribution.threshold)
    np.testing.assert_array_equal(attribution.flagged, attribution.excess > 0)
    with pytest.raises(ValueError, match=r"no threshold.*as_score\(detector, threshold="):
        make().excess  # noqa: B018


def per_row_fields(record=Attribution):
    return [each.name for each in fields(record) if each.metadata.get("per_row")]


def filled():
    """Something else for each of three rows in each field that has an entry for each row."""
    one = replace(
        make(),
        standard_errors=np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]),
        refit_spread=np.array([[0.7, 0.8, 0.9], [1.0, 1.1, 1.2]]),
        refit_first=np.array([[0.2, 0.4, 0.4], [0.6, 0.0, 0.4]]),
        ended=np.array([Outcome.OUT_OF_BUDGET, Outcome.NO_BOTTOM]),
        fallback=np.array([True, False]),
        shown=({"age": "old"}, {}),
        added=np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]]),
        states=np.array([[0, 1, 0], [2, 0, 0]], dtype=np.int8),
        originals=Originals(cells=({"x1": None}, {}), told=({}, {"x0": 7}), players={}, ask=len),
    )
    repairer = Repairer(Score(lambda X: X.sum(axis=1), threshold=99.0), Domain(3), None)
    repaired = repairer(one.data, one.data.sum(axis=1), one.shares, one.row_names)
    repaired = replace(repaired, gaps=one.states == State.GAP)
    three = concatenate([replace(one, repaired=repaired)[rows] for rows in ([0, 1], 0)])
    return replace(three, row_names=("r1", "r2", "r3"), scores=np.array([8.0, 9.0, 10.0]))


def assert_rows(part, whole, positions):
    for name in per_row_fields(type(part)):
        entries, expected = getattr(part, name), getattr(whole, name)
        if name in ("repaired", "originals"):
            assert_rows(entries, expected, positions)
            continue
        assert len(entries) == len(positions), name
        for entry, i in zip(entries, positions, strict=True):
            np.testing.assert_equal(entry, expected[i], err_msg=name)


@pytest.mark.parametrize(
    ("rows", "positions"),
    [
        (1, [1]),
        (-1, [2]),
        (np.int64(2), [2]),
        (slice(1, None), [1, 2]),
        (slice(None, None, -1), [2, 1, 0]),
        (slice(0, 0), []),
        ([2, 0], [2, 0]),
        ([1, 1], [1, 1]),
        ([], []),
        ([-1], [2]),
        (np.array([True, False, True]), [0, 2]),
        (pd.Series([False, True, False], index=list("abc")), [1]),
    ],
    ids=str,
)
def test_slices_keep_what_belongs_to_the_rows(rows, positions):
    whole = replace(filled(), members=(filled(), filled()))
    part = whole[rows]
    assert_rows(part, whole, positions)
    assert len(part.members) == 2
    for member in part.members:
        assert_rows(member, filled(), positions)


def test_slices_keep_what_belongs_to_all_rows():
    whole = replace(filled(), method="ASH", settings={"a": 1}, threshold=2.0, unit=3.0)
    part = whole[0]
    for each in fields(Attribution):
        if each.name not in per_row_fields():
            assert getattr(part, each.name) is getattr(whole, each.name), each.name


def test_slices_keep_that_there_is_nothing():
    part = make(reference=False)[1]
    absent = ("reference", "standard_errors", "ended", "fallback", "shown", "added", "states")
    absent = (*absent, "converged")
    assert [getattr(part, name) for name in absent] == [None] * len(absent)


def test_going_through_gives_one_row_after_another():
    whole = replace(filled(), members=(filled(),))
    each = list(whole)
    assert [one.row_names for one in each] == [("r1",), ("r2",), ("r3",)]
    for i, one in enumerate(each):
        assert_rows(one, whole, [i])
        assert_rows(one.members[0], whole.members[0], [i])
    assert get_type_hints(Attribution.__iter__)["return"] == Iterator[Attribution]


@pytest.mark.parametrize("rows", [True, None, [[0, 1]], np.ones((2, 2), bool)], ids=str)
def test_rows_of_rows_are_refused(rows):
    with pytest.raises(IndexError):
        make()[rows]


def test_a_name_in_place_of_a_position_is_refused():
    with pytest.raises(IndexError, match=r"by position; `row\('r1'\)` finds one by its name"):
        make()["r1"]


def test_a_row_is_found_by_its_name():
    row = filled().row("r2")
    assert_rows(row, filled(), [1])


def test_rows_that_share_a_name_are_found_together():
    shared = replace(filled(), row_names=("a", "b", "a"))
    assert_rows(shared.row("a"), shared, [0, 2])


@pytest.mark.parametrize("name", [("a", 1), pd.Timestamp("2024-02-29"), 7, None], ids=str)
def test_a_name_may_be_anything(name):
    assert replace(make(), row_names=("other", name)).row(name).row_names == (name,)


def test_a_name_that_no_row_has_is_refused():
    with pytest.raises(KeyError, match="There is no row 'r9'; the first names are 'r1', 'r2'"):
        make().row("r9")


def test_a_row_that_is_not_there_is_refused():
    with pytest.raises(IndexError):
        make()[2]


def test_parts_make_a_whole():
    whole = replace(filled(), members=(filled(),))
    joined = concatenate([whole[:2], whole[2]])
    assert_rows(joined, whole, [0, 1, 2])
    assert_rows(joined.members[0], whole.members[0], [0, 1, 2])
    assert joined.n_evaluations == whole.n_evaluations == 40
    assert concatenate([make()[0], make()[1]]).standard_errors is None


def test_parts_of_other_features_make_no_whole():
    other = replace(make(), feature_names=("age", "rate", "dose"))
    with pytest.raises(ValueError, match="the same features in the same order"):
        concatenate([make(), other])


def test_no_parts_make_no_whole():
    with pytest.raises(ValueError, match="at least one attribution, got none"):
        concatenate([])


def test_of_many_names_the_first_five_are_told():
    several = make()[[0, 1, 0, 1, 0, 1]]
    several = replace(several, row_names=tuple("abcdef"))
    with pytest.raises(KeyError, match="the first names are 'a', 'b', 'c', 'd', 'e'\\."):
        several.row("z")


def test_shares_are_of_what_is_positive():
    innocent = replace(make(), values=np.array([[1.0, 5.0, 2.0], [-3.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(make().shares, [[1 / 8, 5 / 8, 2 / 8], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(innocent.shares[1], [0.0, 0.0, 0.0])
    small = replace(make(), values=make().values * 2.0**-20)
    np.testing.assert_array_equal(small.shares, make().shares)


def test_agreement_is_the_average_over_pairs_of_members():
    shares = [[3.0, 1.0, 0.0], [1.0, 1.0, 2.0], [0.0, 4.0, 0.0]]
    members = tuple(replace(make()[0], values=np.array([share])) for share in shares)
    whole = replace(make()[0], members=members)
    np.testing.assert_allclose(whole.agreement, [(0.5 + 0.25 + 0.25) / 3])
    np.testing.assert_array_equal(replace(make(), members=(make(),)).agreement, [1.0, 1.0])


def test_order_is_from_the_most_to_the_least_to_blame():
    np.testing.assert_array_equal(make().order, [[1, 2, 0], [2, 1, 0]])


def test_unexplained_is_what_the_values_leave():
    whole = make()
    np.testing.assert_allclose(whole.unexplained, 0.0, atol=1e-12)
    off = replace(whole, scores=whole.scores + np.array([0.5, -2.0]))
    np.testing.assert_allclose(off.unexplained, [0.5, -2.0])


def test_what_is_not_additive_has_nothing_to_leave():
    with pytest.raises(ValueError, match="Values by comp are not parts of the score"):
        _ = replace(make(), additive=False, method="comp").unexplained


def test_members_are_sliced_along():
    ensemble = replace(make(), members=(make(), make(reference=False)))
    assert [len(member) for member in ensemble[1].members] == [1, 1]
    both = concatenate([ensemble[0], ensemble[1]])
    assert [len(member) for member in both.members] == [2, 2]
    np.testing.assert_array_equal(both.members[0].values, make().values)


def test_a_row_that_raises_no_alarm_has_no_normal_that_does():
    attribution = replace(make(), threshold=2.0, base_values=np.array([3.0, 3.0]))
    assert attribution.flagged.tolist() == [True, False]
    assert attribution.still_alarming.tolist() == [True, False]


def test_a_reference_that_is_the_row_itself_is_no_normal():
    itself = make().data - np.array([[1.0], [0.0]])
    assert alarming(reference=itself).still_alarming.tolist() == [True, True]
    below = alarming(reference=itself, base_values=np.zeros(2))
    assert below.still_alarming.tolist() == [False, True]


def test_what_has_no_reference_is_held_against_the_alarm_by_its_base_value():
    assert replace(make(reference=False), threshold=0.4).still_alarming.tolist() == [True, False]


def test_a_base_value_that_is_no_score_raises_no_alarm():
    attribution = alarming(scored_base=False)
    assert not attribution.still_alarming.any()
    assert attribution.remarks == ("", "")


def test_without_a_threshold_no_normal_raises_an_alarm():
    assert make().still_alarming.tolist() == [False, False]
    assert make().remarks == ("", "")


def test_fallback_follows_the_rows():
    attribution = replace(make(), fallback=np.array([False, True]))
    assert attribution[1].fallback.tolist() == [True]
    assert concatenate([attribution[1], attribution[0]]).fallback.tolist() == [True, False]
    assert repr(attribution).endswith("3 features, 1 by a slower definition>")
    assert attribution.remarks[0] == ""
    assert "another took its place" in attribution.remarks[1]


def test_what_is_rounding_in_one_row_may_be_the_whole_of_another():
    values = np.array([[1e9, 1e9, 1e-6], [1e-9, 3e-9, 0.0]])
    shares = replace(make(), values=values).shares
    np.testing.assert_allclose(shares, [[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]], rtol=1e-12)
    assert shares[0, 2] == 0.0


def test_coverage_is_the_sum_of_the_largest_shares():
    attribution = make()
    shares = np.sort(attribution.shares, axis=1)
    np.testing.assert_allclose(attribution.coverage(1), shares[:, -1])
    np.testing.assert_allclose(attribution.coverage(2), shares[:, -2:].sum(axis=1))
    np.testing.assert_allclose(attribution.coverage(99), shares.sum(axis=1))
    with pytest.raises(ValueError, match="`k` must be a whole number, at least 1, got 0"):
        attribution.coverage(0)


def test_a_repair_is_searched_for_once(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(200, 3))
    odd = np.array([[9.0, 0.0, 0.0], [0.0, 0.0, -8.0]])
    attribution = Explainer(GMM(1, random_state=0).fit(rows), rows)(odd)
    whole = attribution.repair.rows
    monkeypatch.setattr(type(attribution.repairer), "__call__", None)
    assert (attribution[1].repair.rows == whole[1]).all()
    assert [each.sentences()[0] for each in attribution] == list(attribution.sentences())
    assert concatenate(list(attribution)).repair.rows.tolist() == whole.tolist()


def test_a_repair_that_is_known_is_joined_to_one_that_is_not(tmp_path):
    rows = np.random.default_rng(0).normal(size=(200, 3))
    explain = Explainer(GMM(1, random_state=0).fit(rows), rows)
    known, other = (explain(np.eye(3)[[i]] * 9) for i in range(2))
    known.save(tmp_path / "known")
    joined = concatenate([Attribution.load(tmp_path / "known"), other])
    assert joined.repair.changed.tolist() == [[True, False, False], [False, True, False]]
    nobody = replace(other, repairer=None)
    assert not concatenate([Attribution.load(tmp_path / "known"), nobody]).can_be_repaired


@pytest.mark.parametrize("changed", [{"threshold": 50.0}, {"method": "ASH"}, {"unit": 2.0}])
def test_attributions_of_different_detectors_are_not_joined(changed):
    with pytest.raises(ValueError, match=rf"their `{next(iter(changed))}` must be the same"):
        concatenate([make(), replace(make(), **changed)])
