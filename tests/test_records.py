from dataclasses import dataclass

import numpy as np
import pytest

from whyflag.records import join_rows, per_row, positions, select_rows


@dataclass(frozen=True)
class Inner:
    points: np.ndarray = per_row()
    n_steps: int = 0


@dataclass(frozen=True)
class Record:
    array: np.ndarray = per_row()
    names: tuple = per_row()
    inner: Inner = per_row()
    absent: np.ndarray | None = per_row(default=None)
    setting: str = "a"


def make(*entries, **others):
    points = np.array([[entry, -entry] for entry in entries])
    return Record(np.array(entries), tuple(map(str, entries)), Inner(points, 5), **others)


def assert_is(record, *entries):
    assert record.array.tolist() == list(entries)
    assert record.names == tuple(map(str, entries))
    assert record.inner.points.tolist() == [[entry, -entry] for entry in entries]
    assert record.absent is None


def test_rows_are_selected_in_every_field_that_has_them():
    assert_is(select_rows(make(1, 2, 3), np.array([2, 0, 2])), 3, 1, 3)


def test_what_is_not_per_row_stays():
    part = select_rows(make(1, 2, setting="b"), np.array([0]))
    assert (part.setting, part.inner.n_steps) == ("b", 5)


def test_records_are_joined_in_their_order():
    joined = join_rows([make(1, 2), make(3), make(4, 5, setting="b")])
    assert_is(joined, 1, 2, 3, 4, 5)
    assert joined.setting == "a"


def test_one_record_is_joined_to_itself():
    assert_is(join_rows([make(1, 2)]), 1, 2)


@pytest.mark.parametrize("turn", [1, -1])
def test_records_of_which_some_lack_a_field_are_not_joined(turn):
    """Else what is known of some rows is lost without a word."""
    records = [make(1), make(2, absent=np.array([7]))][::turn]
    with pytest.raises(ValueError, match="if all have `absent`, or none has"):
        join_rows(records)


def test_a_field_without_the_mark_is_no_row_field():
    assert select_rows(make(1, 2, setting="ab"), np.array([1])).setting == "ab"


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [(-1, [3]), (slice(1, 3), [1, 2]), ([2, 0], [2, 0]), ([True, False, False, True], [0, 3])],
)
def test_rows_are_chosen_by_position(rows, chosen):
    assert positions(rows, 4).tolist() == chosen


@pytest.mark.parametrize("rows", ["B004", [[0]]])
def test_what_is_no_position_is_refused(rows):
    with pytest.raises(IndexError, match="Rows are chosen by position"):
        positions(rows, 4)
