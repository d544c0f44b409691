import json

import numpy as np
import pandas as pd
import pytest

from whyflag.encoding import Encoding, MissingValuesError

NORMAL = pd.DataFrame(
    {
        "id": ["p", "q", "r", "s"],
        "size": [1.0, 2.0, 3.0, 6.0],
        "colour": ["red", "blue", "red", "red"],
        "grade": [1, 2, 1, 1],
        "open": [True, False, True, True],
    },
    index=[1, 2, 3, 4],
)


@pytest.fixture
def encoding():
    return Encoding.of(NORMAL, categorical=["grade"], id_column="id")


def test_text_and_named_columns_become_one_hot_players(encoding):
    assert encoding.columns == ("size", "colour", "grade", "open")
    assert encoding.encoded_columns == (
        *("size", "colour=blue", "colour=red", "grade=1", "grade=2", "open"),
    )
    assert encoding.players == {
        "colour": ["colour=blue", "colour=red"],
        "grade": ["grade=1", "grade=2"],
    }
    assert encoding.encode(NORMAL).rows.values.tolist() == [
        [1, 0, 1, 1, 0, 1],
        [2, 1, 0, 0, 1, 0],
        [3, 0, 1, 1, 0, 1],
        [6, 0, 1, 1, 0, 1],
    ]


def test_columns_are_matched_by_name(encoding):
    turned = NORMAL[NORMAL.columns[::-1]]
    encoded = encoding.encode(turned, where="t.csv")
    assert encoded.rows.values.tolist() == encoding.encode(NORMAL).rows.values.tolist()
    assert encoded.notes == ("t.csv: columns stand in another order; they are matched by name.",)
    assert encoding.encode(NORMAL).notes == ()


def test_what_is_extra_or_new_is_said(encoding):
    table = NORMAL.assign(colour=["red", "green", "red", "red"], more=1)
    encoded = encoding.encode(table, where="t.csv")
    assert encoded.notes == (
        "t.csv: not in the model, so left aside: 'more'.",
        "t.csv: not seen before in 'colour': 'green'.",
    )
    assert encoded.rows.values[1, 1:3].tolist() == [0, 0]


def test_a_missing_column_is_an_error_with_those_that_are_there(encoding):
    with pytest.raises(ValueError, match=r"t\.csv has no column 'size'; it has 'id', 'colour'"):
        encoding.encode(NORMAL.drop(columns="size"), where="t.csv")


def test_a_float_and_an_integer_are_the_same_category(encoding):
    table = NORMAL.assign(grade=[1.0, 2.0, 1.0, np.nan])
    encoded = encoding.encode(table, missing="drop")
    assert encoded.rows.values[:, 3:5].tolist() == [[1, 0], [0, 1], [1, 0]]


def gappy():
    return NORMAL.assign(
        size=[1.0, np.nan, 3.0, 6.0], colour=["red", "blue", None, "red"], more=1
    ).drop(columns="more")


def test_a_gap_is_an_error_with_its_place_and_a_way_out(encoding):
    with pytest.raises(MissingValuesError, match=r"no value in row 2, column 'size'\. Such rows"):
        encoding.encode(gappy(), where="t.csv")


def test_rows_with_gaps_can_be_left_out(encoding):
    encoded = encoding.encode(gappy(), missing="drop", where="t.csv")
    assert encoded.kept.tolist() == [True, False, False, True]
    assert encoded.rows.values[:, 0].tolist() == [1, 6]
    assert encoded.notes == ("t.csv: rows with missing values left out: 2.",)


def test_gaps_can_be_filled_with_what_is_typical(encoding):
    encoded = encoding.encode(gappy(), missing="median", where="t.csv")
    assert encoded.rows.values[1, 0] == 2.5
    assert encoded.rows.values[2, 1:3].tolist() == [0, 1]
    assert "filled with typical values" in encoded.notes[0]


def test_text_where_numbers_were_is_an_error_with_its_place(encoding):
    table = NORMAL.assign(size=["1", "2", "three", "4"])
    with pytest.raises(ValueError, match=r"column 'size' held numbers .* got 'three' in row 3"):
        encoding.encode(table)


def test_infinity_counts_as_missing(encoding):
    with pytest.raises(ValueError, match="no value in row 1, column 'size'"):
        encoding.encode(NORMAL.assign(size=[np.inf, 1, 2, 3]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["size", "weight"]}, "has no column 'weight'"),
        ({"id_column": "name"}, "has no column 'name'"),
        ({"columns": ["id", "size"], "id_column": "id"}, "names the rows"),
    ],
)
def test_columns_that_are_not_there_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Encoding.of(NORMAL, **options)


def test_many_texts_are_no_categories():
    table = pd.DataFrame({"customer no": [f"c{i}" for i in range(60)], "size": range(60)})
    with pytest.raises(ValueError, match=r"60 different texts.*say that it is the id column"):
        Encoding.of(table)


def test_a_column_without_values_is_refused():
    with pytest.raises(ValueError, match="'size' of the table has no value at all"):
        Encoding.of(NORMAL.assign(size=np.nan))


def test_an_encoding_survives_json(encoding):
    again = Encoding.from_json(json.loads(json.dumps(encoding.to_json())))
    assert again == encoding


def test_an_unknown_way_with_gaps_is_refused(encoding):
    with pytest.raises(ValueError, match="got 'mean'"):
        encoding.encode(NORMAL, missing="mean")
