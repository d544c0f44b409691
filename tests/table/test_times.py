import numpy as np
import pandas as pd
import pytest

from whyflag.table.codec import State
from whyflag.table.sheet import text_cells
from whyflag.table.times import Times, forms_of, seconds

DAY = 86_400.0


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (["1970-01-02", "1970-02-03"], DAY),
        (["1970-01-02 06:00:00", "1970-02-03 07:30:00"], 1.25 * DAY),
        (["1970-01-02T06:00:00Z", "1970-02-03T07:30:00.5Z"], 1.25 * DAY),
        (["02.01.1970", "03.02.1970"], DAY),
        (["02/01/1970", "13/02/1970"], DAY),
        (["01/02/1970", "02/13/1970"], DAY),
        (["2-Jan-1970", "3-Feb-1970"], DAY),
        (["Jan 2, 1970", "Feb 3, 1970"], DAY),
        pytest.param(
            ["1970-01-02", "9999-12-31"],
            DAY,
            marks=pytest.mark.skipif(
                pd.__version__ < "3", reason="pandas 2 has no times after 2262"
            ),
        ),
    ],
)
def test_times_are_read_as_people_write_them(texts, first):
    assert seconds(texts, forms_of(texts)[0])[0] == first


@pytest.mark.parametrize("texts", [["red", "blue"], ["12A", "13B"], ["R-1", "R-2"]])
def test_other_texts_are_no_times(texts):
    assert forms_of(texts) == []


def test_what_varies_counts():
    hourly = Times.of(np.arange(48) * 3600.0, "ISO8601", ())
    daily = Times.of(np.arange(900) * DAY, "ISO8601", ())
    monthly = Times.of(np.arange(60) * 30.5 * DAY // DAY * DAY, "ISO8601", ())
    assert [each.parts for each in (hourly, daily, monthly)] == [
        ("hour",),
        ("weekday", "month"),
        ("month",),
    ]


def test_the_numbers_of_a_time_are_its_hour_weekday_and_month():
    codec = Times("ISO8601", (), ("hour", "weekday", "month"), 0.0, 0.0, 10 * 366 * DAY)
    read = codec.read(text_cells(["1970-03-01 06:30:00"]))  # a Sunday
    assert read.values[0, 0] == 6.5
    assert np.flatnonzero(read.values[0, 1:]).tolist() == [6, 7 + 2]
    assert codec.write(read.values[0]) == "Sun Mar 06:30"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("1975-01-01", State.USUAL),
        ("1995-01-01", State.USUAL),  # within twenty years
        ("1875-01-01", State.FAR),
        ("2075-01-01", State.FAR),
        ("", State.GAP),
        ("NA", State.GAP),
        ("n/a", State.UNREADABLE),
    ],
)
def test_a_time_far_from_all_is_no_usual_one(text, state):
    codec = Times("ISO8601", ("NA",), (), 0.0, 0.0, 10 * 366 * DAY)
    assert codec.read(text_cells([text])).states.tolist() == [state]
