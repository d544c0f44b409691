"""Times as a detector takes them, and as people should see them."""

import numpy as np
import pandas as pd
import pytest

from whyflag.table.raw_times import RawTimes


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
