import time

import numpy as np
import pandas as pd
import pytest

from whyflag.table.codec import State
from whyflag.table.schema import Schema
from whyflag.table.sheet import text_cells
from whyflag.table.times import Times, forms_of, seconds, zones_of

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
        (["01/02/1970 06:00AM", "02/13/1970 11:02PM"], 1.25 * DAY),
        (["1/2/1970, 6:00:00\u202fAM", "2/13/1970, 11:02:08\u202fPM"], 1.25 * DAY),
        (["02.01.1970 06:00:00.000", "13.02.1970 23:02:08.125"], 1.25 * DAY),
        (["02.01.1970, 06:00", "13.02.1970, 23:02"], 1.25 * DAY),
        (["1970-01-02 06:00:00 UTC", "1970-02-13 23:02:08 UTC"], 1.25 * DAY),
        (["1970-01-02 6:00 AM", "1970-02-13 11:02 PM"], 1.25 * DAY),
        (["02/Jan/1970:06:00:00 +0000", "13/Feb/1970:23:02:08 +0000"], 1.25 * DAY),
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


@pytest.mark.parametrize(
    ("text", "form", "found"),
    [
        ("02.01.1970, 06:00", "%d.%m.%Y, %H:%M", 1.25 * DAY),
        ("02.01.1970 06:00:00.5", "%d.%m.%Y %H:%M:%S.%f", 1.25 * DAY + 0.5),
        ("02.01.1970 06:00:00,5 +0200", "%d.%m.%Y %H:%M:%S,%f %z", 1.25 * DAY + 0.5),
        ("1/2/1970 6:00PM", "%m/%d/%Y %I:%M%p", 1.75 * DAY),
        ("1970-01-02T060000.25", "%Y-%m-%dT%H%M%S.%f", 1.25 * DAY + 0.25),
        ("060000.5 02.01.1970", "%H%M%S.%f %d.%m.%Y", 1.25 * DAY + 0.5),
        ("12:34.5 02.01.1970", "%M:%S.%f %d.%m.%Y", DAY + 12 * 60 + 34.5),
    ],
)
def test_a_form_that_is_told_is_that_of_the_texts(text, form, found):
    assert seconds([text], form).tolist() == [found]


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


@pytest.mark.parametrize(
    ("written", "zone"),
    [
        ("2024-03-05T03:12:00+09:00", "+09:00"),
        ("2024-03-05 03:12:00.5-0330", "-03:30"),
        ("2024-03-05 03:12-05", "-05:00"),
        ("20240305T031200Z", "UTC"),
        ("2024-03-05 03:12:00 UTC", "UTC"),
        ("2024-03-05T03:12:00+00:00", "UTC"),
        ("2024-03-05 03:12", ""),
        ("2024-03-05", ""),
    ],
)
def test_the_clock_of_a_time_is_that_which_is_written(written, zone):
    codec = Times("ISO8601", (), ("hour", "weekday"), 0.0, 0.0, 60 * 366 * DAY)
    hour, *days = codec.read(text_cells([written])).values[0]
    assert hour == pytest.approx(0 if written == "2024-03-05" else 3.2, abs=1e-3)
    assert np.argmax(days) == 1  # a Tuesday, there
    assert zones_of([written]) == (zone,)


def logins(zones):
    times = [f"2024-03-{1 + i % 28:02d}T{9 + i % 8:02d}:15:00" for i in range(60)]
    return pd.DataFrame(
        {
            "login": [f"{time}{zones[i % len(zones)]}" for i, time in enumerate(times)],
            "size": np.arange(60) % 7,
        }
    )


def test_zones_that_differ_are_said():
    def assumed(zones):
        return " ".join(Schema.of(logins(zones)).assumed)

    assert "zone" not in assumed(["+09:00"]) + assumed([""])
    said = "by the clock as it is written: zones are +01:00 and +02:00"
    assert said in assumed(["+01:00", "+02:00"])
    assert "zones are none and UTC" in assumed(["Z", ""])


def test_other_zones_than_those_learnt_from_are_said():
    schema = Schema.of(logins(["+09:00"]))
    assert schema.encode(logins(["+09:00"])).notes == ()
    again = Schema.from_json(schema.to_json())
    assert again.encode(logins(["Z"])).notes == (
        "X: 'login': zones are UTC, and those learnt from +09:00; "
        "the clock counts as it is written.",
    )


def test_a_column_of_moments_with_a_zone_has_the_hours_of_that_zone():
    moments = pd.date_range("2024-03-01 09:00", periods=60, freq="7h", tz="Asia/Tokyo")
    frame = pd.DataFrame({"login": moments, "size": np.arange(60) % 7})
    found = Schema.of(frame, types={"login": "time"}).encode(frame).rows
    hours = found.values[:, found.columns.index("login: hour")]
    assert hours.tolist() == moments.hour.tolist()


@pytest.mark.parametrize(
    "text", [" " * 30_000 + "x", "2024-03-05 03:12" + " " * 30_000 + "x", "1 " * 20_000 + "x"]
)
def test_long_texts_that_are_no_times_are_told_at_once(text):
    begin = time.process_time()
    assert np.isnan(seconds([text], "%Y-%m-%d %H:%M")).all()
    assert zones_of([text]) == ("",)
    assert time.process_time() - begin < 1
