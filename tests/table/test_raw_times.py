"""Times as a detector takes them, and as people should see them."""

import datetime

import numpy as np
import pandas as pd
import pytest

from whyflag.table.holders import columns_of
from whyflag.table.raw_times import RawTimes, time_cells, zone_of


def column(*texts):
    return RawTimes.of(np.array([pd.Timedelta(each).to_timedelta64() for each in texts]))


@pytest.mark.parametrize(
    ("texts", "value", "said"),
    [
        (("2min", "1h"), 27.0175769, "00:27:00"),
        (("2s", "1h"), 1621.054616, "00:27:01"),
        (("2s", "1h"), 1621.25, "00:27:01.25"),  # somebody wrote it: nobody computes such a one
        (("2s", "1h"), -1621.054616, "-00:27:01"),
        (("2s", "1h"), 93_784.0, "1 day 02:03:04"),
        (("1D", "9D"), 3.0, "3 days"),
        (("1D", "9D"), 0.0, "0 days"),
        (("1.5s", "2s"), 1621054.616, "00:27:01.055"),
        (("1.0000013s", "3s"), 1621054616123.0, "00:27:01.05"),
        (("1.0000013s", "3s"), 0.0, "00:00:00"),
    ],
)
def test_spans_are_written_as_precisely_as_their_column(texts, value, said):
    assert column(*texts).write(np.array([value])) == said


def test_a_computed_moment_is_written_as_precisely_as_its_column():
    moments = RawTimes.of(np.array(["2024-01-01 10:00", "2024-01-01 10:01"], dtype="M8[us]"))
    assert moments.write(np.array([moments.typical + 0.123456])) == "2024-01-01 10:00:00"
    half = np.array([moments.typical + 0.5])
    assert moments.write(half) == "2024-01-01 10:00:30"


TOKYO = pd.date_range("2024-03-01 09:00", periods=20, freq="h", tz="Asia/Tokyo")


def in_tokyo(convert):
    columns, _ = columns_of(convert(pd.DataFrame({"login": TOKYO})))
    return columns["login"]


def of_arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


def of_polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


@pytest.mark.parametrize("convert", [lambda frame: frame, of_arrow, of_polars])
def test_moments_with_a_zone_are_shown_by_the_clock_of_that_zone(convert):
    column = in_tokyo(convert)
    codec = RawTimes.from_json(RawTimes.of(time_cells(column), zone_of(column)).to_json())
    (first, *_) = codec.read(codec.cells_in("login", column)).values
    assert codec.write(first) == "2024-03-01 09:00:00+09:00"
    assert codec.raw(first) == TOKYO[0]
    assert str(codec.raw(first).tz) == "Asia/Tokyo"


@pytest.mark.parametrize("zone", ["+05:30", datetime.timezone(datetime.timedelta(hours=-3))])
def test_a_zone_may_be_a_difference(zone):
    column = pd.Series(TOKYO).dt.tz_convert(zone)
    codec = RawTimes.of(time_cells(column), zone_of(column))
    assert codec.write(np.array([codec.typical])) == str(column.sort_values().iloc[9])


def test_a_moment_of_an_hour_that_comes_twice_is_rounded():
    twice = pd.Series(pd.to_datetime(["2024-10-27 00:10", "2024-10-27 01:20"], utc=True))
    column = twice.dt.tz_convert("Europe/Berlin")
    codec = RawTimes.of(time_cells(column), zone_of(column))
    assert codec.write(np.array([codec.typical + 0.123456])) == "2024-10-27 02:10:00+02:00"


def test_a_gap_among_moments_with_a_zone_is_one():
    column = pd.Series([*TOKYO, pd.NaT])
    codec = RawTimes.of(time_cells(column), zone_of(column))
    gap = codec.read(time_cells(column)).values[-1]
    assert codec.write(gap) == "no value"
    assert codec.raw(gap) is pd.NaT
