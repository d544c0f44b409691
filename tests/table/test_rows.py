import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from whyflag.records import select_rows
from whyflag.table import Table, read_table

FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]}, index=["mon", "tue"])


def test_an_array_has_no_names():
    table = read_table([[1, 2], [3, 4]])
    assert table.values.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert table.values.dtype == np.float64
    assert (table.columns, table.index, table.shown, len(table)) == (None, None, None, 2)


def test_a_frame_brings_its_names():
    table = read_table(FRAME)
    assert table.values.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert (table.columns, table.index) == (("a", "b"), ("mon", "tue"))


def test_a_table_is_one_already():
    table = Table(np.ones((2, 2)), ("a", "b"), (0, 1), ({}, {"a": "gap"}))
    again = read_table(table)
    assert (again.columns, again.index, again.shown) == (table.columns, table.index, table.shown)


def test_columns_are_matched_by_name():
    table = read_table(FRAME, columns=["b", "a"])
    assert table.columns == ("b", "a")
    assert table.values.tolist() == [[3.0, 1.0], [4.0, 2.0]]


def test_columns_of_an_array_are_matched_by_position():
    assert read_table([[1, 2]], columns=["b", "a"]).values.tolist() == [[1.0, 2.0]]


def test_columns_that_differ_are_named():
    with pytest.raises(
        ValueError, match=r"`X` must have the columns \['a', 'c'\]; missing: \['c'\], unex.*'b'\]"
    ):
        read_table(FRAME, columns=["a", "c"])


def test_many_columns_are_not_all_named():
    with pytest.raises(ValueError, match=r"'c7', … 12 more\]; missing: \['c0'"):
        read_table(FRAME, columns=[f"c{i}" for i in range(20)])


def test_another_number_of_columns_is_refused():
    with pytest.raises(ValueError, match=r"`rows` must have shape \(n, 3\), got \(1, 2\)"):
        read_table([[1, 2]], name="rows", n_columns=3)


def test_names_that_are_not_distinct_are_refused():
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", 1, "1"])
    with pytest.raises(ValueError, match=r"distinct column names, got \['1'\] repeatedly"):
        read_table(frame)


@pytest.mark.parametrize(
    "column",
    [["x", "y"], pd.Categorical(["x", "y"]), pd.to_datetime(["2024-01-01", "2024-01-02"])],
    ids=["text", "category", "date"],
)
def test_columns_that_hold_no_numbers_are_named(column):
    with pytest.raises(TypeError, match=r"must hold numbers, got dtype .* in column 'b'"):
        read_table(FRAME.assign(b=column))


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "bool", "int8", "float32"])
def test_numbers_of_any_type_are_read(dtype):
    assert read_table(pd.DataFrame({"a": pd.array([1, 0], dtype)})).values.tolist() == [[1], [0]]


def test_a_gap_of_pandas_own_types_is_found():
    with pytest.raises(ValueError, match=r"nan at row 1, column 0 \('a'\)"):
        read_table(pd.DataFrame({"a": pd.array([1, None], "Int64")}))


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array", "coo_array", "dok_array"])
def test_sparse_matrices_get_their_zeros(kind):
    rows = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
    assert read_table(getattr(sparse, kind)(rows)).values.tolist() == rows.tolist()


def test_a_sparse_matrix_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match=r"1000000 x 300000 numbers, 2235 GiB: .*, 894 at most"):
        read_table(sparse.csr_array((1_000_000, 300_000)))


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_others_are_read(convert):
    frame = pd.DataFrame({"a": [1.0, None], "b": [3, 4], "c": [True, False]})
    table = read_table(convert(frame), gaps=True)
    assert table.columns == ("a", "b", "c")
    assert table.values[0].tolist() == [1.0, 3.0, 1.0]
    assert np.isnan(table.values[1, 0])
    lazy = read_table(pl.from_pandas(frame[["b"]]).lazy())
    assert lazy.values.tolist() == [[3.0], [4.0]]


def test_rows_are_selected_with_their_names():
    table = Table(np.eye(2), ("a", "b"), ("mon", "tue"), ({}, {"a": "gap"}))
    part = select_rows(table, np.array([1]))
    assert part.values.tolist() == [[0.0, 1.0]]
    assert (part.columns, part.index, part.shown) == (("a", "b"), ("tue",), ({"a": "gap"},))
