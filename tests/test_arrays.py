import numpy as np
import pandas as pd
import pytest

from whyflag.arrays import check_coalitions, check_rows, evenly
from whyflag.table import read_table


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (np.zeros(3), ValueError, r"shape \(n, 3\), got \(3,\).*single row"),
        (np.zeros((2, 2)), ValueError, r"shape \(n, 3\), got \(2, 2\)"),
        (np.zeros((2, 3, 1)), ValueError, r"shape \(n, 3\), got \(2, 3, 1\)"),
        (np.zeros((0, 3)), ValueError, r"at least one row.*got \(0, 3\)"),
        ([[1, 2, np.nan]], ValueError, r"finite, got nan at row 0, column 2 \('c'\)"),
        ([[0, 0, 0], [1, -np.inf, 3]], ValueError, r"got -inf at row 1, column 1 \('b'\)"),
        ([["a", "b", "c"]], TypeError, r"must hold numbers in shape \(n, 3\), got list"),
        ([[1.0, 2.0, 3j]], TypeError, r"must hold numbers .* complex numbers have no order"),
        (None, ValueError, r"shape \(n, 3\), got \(\)"),
    ],
)
def test_bad_rows_are_refused_with_what_was_expected_and_what_came(X, error, message):
    with pytest.raises(error, match=message):
        check_rows(X, 3, columns=("a", "b", "c"))


def test_integer_rows_become_floats():
    assert check_rows([[1, 2]]).dtype == np.float64


def test_a_frames_columns_are_matched_by_name():
    frame = pd.DataFrame({"b": [1.0], "a": [2.0]}, index=["r"])
    table = read_table(frame, columns=("a", "b"))
    assert table.values.tolist() == [[2.0, 1.0]]
    assert table.columns == ("a", "b")
    assert table.index == ("r",)


def test_missing_and_unexpected_columns_are_named():
    with pytest.raises(ValueError, match=r"missing: \['b'\], unexpected: \['c'\]"):
        read_table(pd.DataFrame({"a": [1.0], "c": [2.0]}), columns=("a", "b"))


def test_a_repeated_column_is_named():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match=r"distinct column names, got \['a'\]"):
        read_table(frame)


def test_a_text_column_is_named_with_a_way_out():
    with pytest.raises(TypeError, match=r"column 'city'.*one-hot"):
        read_table(pd.DataFrame({"age": [1.0], "city": ["Bern"]}))


def test_a_missing_value_in_a_frame_is_named_by_its_column():
    with pytest.raises(ValueError, match=r"nan at row 1, column 0 \('age'\)"):
        read_table(pd.DataFrame({"age": [1.0, None]}))


def test_a_missing_value_of_pandas_own_kind_is_named_too():
    frame = pd.DataFrame({"n": pd.array([1, None], dtype="Int64")})
    with pytest.raises(ValueError, match=r"nan at row 1, column 0 \('n'\)"):
        read_table(frame)


def test_without_names_columns_are_matched_by_position():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["b", "a"])
    assert read_table(frame, n_columns=2).values.tolist() == [[1.0, 2.0]]
    with pytest.raises(ValueError, match=r"shape \(n, 3\), got \(1, 2\)"):
        read_table(frame, n_columns=3)


def test_bool_columns_are_numbers():
    assert read_table(pd.DataFrame({"on": [True, False]})).values.tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize("z", [np.zeros((2, 3)), np.zeros((2, 2), bool), np.zeros(3, bool)])
def test_bad_coalitions_are_refused(z):
    with pytest.raises(ValueError, match=r"bool of shape \(m, 3\), got"):
        check_coalitions(z, 3)


@pytest.mark.parametrize(
    ("n", "most", "positions"),
    [(5, 10, [0, 1, 2, 3, 4]), (5, 3, [0, 2, 4]), (101, 2, [0, 100]), (1, 4, [0])],
)
def test_positions_are_spread_evenly(n, most, positions):
    assert evenly(n, most).tolist() == positions
