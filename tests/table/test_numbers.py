import pandas as pd
import pytest

from whyflag.table.codec import State
from whyflag.table.schema import Schema


@pytest.mark.parametrize(
    ("normal", "text", "value"),
    [
        ("{},23", "1.012,50", 1012.5),
        ("{},23 €", "1 012,50 €", 1012.5),
        ("{},23", "-1.012.345,5", -1012345.5),
        ("{}.23", "1,012.50", 1012.5),
        ("{}.23", "1'012.50", 1012.5),
        ("{}", "1,012.50", 1012.5),
    ],
)
def test_thousands_are_read_though_no_normal_number_has_any(normal, text, value):
    texts = [normal.format(i) for i in range(300, 700, 2)]
    schema = Schema.of(pd.DataFrame({"a": texts}), types={"a": "number"})
    read = schema.encode(pd.DataFrame({"a": [text]})).rows
    assert read.values[0, 0] == abs(value)
    assert read.states[0, 0] == (State.NEGATIVE if value < 0 else State.USUAL)


@pytest.mark.parametrize("text", ["1.012", "1.01,50", "1.0123,50", "1,012.50", "10.12.2024", "1.2"])
def test_what_may_be_something_else_than_thousands_is_not_read_as_such(text):
    schema = Schema.of(pd.DataFrame({"a": [f"{i},23" for i in range(300, 700, 2)]}))
    read = schema.encode(pd.DataFrame({"a": [text]})).rows
    assert read.states[0, 0] == State.UNREADABLE


@pytest.mark.parametrize(
    "texts",
    [
        ["1,89,663", "89,663", "500"],
        ["EUR 1.481,30", "EUR 12,00", "EUR 7,50"],
        ["kr 5.25", "kr 7.50"],
        ["Rs. 5.25", "Rs. 7.50"],
        ["(50,02)", "12,50", "(7,50)"],
        ["50.02-", "12.50"],
        ["-$50.02", "$12.50"],
        ["$-50.02", "$12.50"],
        ["($50.02)", "$12.50"],
        ["$(50.02)", "$1,012.50"],
        ["(50,02) €", "12,50 €"],
        ["(50,02 €)", "12,50 €"],
        ["-EUR 50.02", "EUR 12.50"],
    ],
    ids=lambda texts: texts[0],
)
def test_a_number_that_was_read_is_written_as_it_was(texts):
    cells = 4 * texts
    table = pd.DataFrame({"a": cells, "b": range(0, 10 * len(cells), 10)})
    schema = Schema.of(table, id_column="b", types={"a": "number"})
    rows = schema.encode(table).rows
    assert [rows.codecs["a"].write(row) for row in rows.values] == cells
