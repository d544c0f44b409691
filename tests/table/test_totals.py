import pandas as pd
import pytest

from whyflag.table.sheet import Sheet
from whyflag.table.totals import without_totals

REGIONS = ["N", "S", "E", "W"]
UNITS = ["1.200,50", "900", "40", "7"]


def sheet(last):
    rows = [*zip(REGIONS, UNITS, ["1", "2", "1", "2"], strict=True), last]
    return Sheet.of(pd.DataFrame(rows, columns=["region", "units", "class"], dtype=str))


@pytest.mark.parametrize("word", ["Total", "TOTAL:", "Summe"])
def test_a_last_row_that_says_total_and_is_one_is_left_out_and_that_is_said(word):
    found = without_totals(sheet((word, "2.147,50", "")))
    assert found.cells["region"].tolist() == REGIONS
    assert found.numbers.tolist() == [1, 2, 3, 4]
    assert found.notes == (
        f"taken for totals, not for a row: the last one, which says {word!r} and has the sum of "
        "'units'",
    )


@pytest.mark.parametrize(
    "last",
    [
        ("N", "2.147,50", "6"),
        ("Total", "310", "2"),
        ("Total", "", ""),
        ("Total cost", "2147,5", ""),
    ],
    ids=["no word", "no sum", "no number", "another word"],
)
def test_any_other_last_row_is_a_row(last):
    assert len(without_totals(sheet(last))) == 5
