import bz2
import gzip
import io
import json
import lzma
import sys
import zipfile
from datetime import datetime
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from whyflag.table import lines
from whyflag.table.reading import read_sheets
from whyflag.table.sheet import Sheet, texts_of

TABLE = pd.DataFrame({"Größe": ["1.5", "2.25", "3.0"], "Sorte": ["rot", "grün", "rot"]})
CSV = TABLE.to_csv(index=False)


def read(path, **options):
    sheet = Sheet.join(list(read_sheets(path, **options)))
    return pd.DataFrame(
        {name: texts_of(cells) for name, cells in sheet.cells.items()}, dtype=object
    )


def assert_same(found, expected=TABLE):
    assert found.to_dict("list") == expected.to_dict("list")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_csv_of_any_usual_kind(tmp_path, encoding, sep, end):
    text = TABLE.to_csv(sep=sep, index=False, lineterminator=end)
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    assert_same(read(tmp_path / "t.csv"))


def zipped(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("t.csv", content)
    return buffer.getvalue()


def zst(content):
    return pytest.importorskip("pyarrow").compress(content, "zstd", asbytes=True)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zipped, zst])
def test_what_is_packed_is_unpacked(tmp_path, pack):
    (tmp_path / "t").write_bytes(pack(CSV.encode()))
    assert_same(read(tmp_path / "t"))


def test_json_is_known_by_its_content_and_its_numbers_keep_their_digits(tmp_path):
    records = [
        {"id": "007", "n": 9007199254740993, "x": 1.10, "deep": {"a": True, "b": [1]}},
        {"id": "1.10", "n": None, "x": 1e400, "more": "yes"},
    ]
    expected = {
        "id": ["007", "1.10"],
        "n": ["9007199254740993", ""],
        "x": ["1.1", "Infinity"],
        "deep.a": ["True", ""],
        "deep.b": ["[1]", ""],
        "more": ["", "yes"],
    }
    (tmp_path / "array").write_text(json.dumps(records, indent=1))
    (tmp_path / "lines").write_text("\n".join(map(json.dumps, records)))
    for name in ("array", "lines"):
        assert read(tmp_path / name).to_dict("list") == expected
    (tmp_path / "exact").write_text('{"x": 1.10}\n{"x": 1e400}\n{"x": 1700000000}')
    assert read(tmp_path / "exact")["x"].tolist() == ["1.10", "1e400", "1700000000"]


def test_files_of_columns_are_known_by_their_content(tmp_path):
    pytest.importorskip("pyarrow")
    from decimal import Decimal

    table = pd.DataFrame(
        {
            "n": [1.5, np.nan],
            "big": [9007199254740993, 2],
            "yes": [True, False],
            "when": pd.to_datetime(["2024-01-02 03:04:05", "2024-01-03 00:00:00"]),
            "price": [Decimal("1.10"), Decimal("2.00")],
            "kind": pd.Categorical(["a", "b"]),
        }
    )
    expected = {
        "n": ["1.5", ""],
        "big": ["9007199254740993", "2"],
        "yes": ["True", "False"],
        "when": ["2024-01-02 03:04:05", "2024-01-03 00:00:00"],
        "price": ["1.10", "2.00"],
        "kind": ["a", "b"],
    }
    table.to_parquet(tmp_path / "parquet")
    table.to_feather(tmp_path / "feather")
    for name in ("parquet", "feather"):
        assert read(tmp_path / name).to_dict("list") == expected


def test_the_first_sheet_of_a_workbook_is_read(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for record in (["Report"], [], ["name", "a", "b"], ["x", 1, 1.5], ["y", 2, None], ["z", 3, 3]):
        book.active.append(record)
    book.create_sheet("more")
    book.save(tmp_path / "t.xlsx")
    assert read(tmp_path / "t.xlsx").to_dict("list") == {
        "name": ["x", "y", "z"],
        "a": ["1", "2", "3"],
        "b": ["1.5", "", "3"],
    }
    (sheet,) = read_sheets(tmp_path / "t.xlsx")
    assert sheet.notes[1] == "only the first of 2 sheets is read: 'Sheet', not 'more'"


def test_days_of_a_workbook_have_no_clock_where_no_cell_of_the_column_has_one(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    day, hour = datetime(1924, 1, 1), datetime(2024, 1, 2, 13, 30)
    book = openpyxl.Workbook()
    for record in (["name", "born", "seen"], ["x", day, day], ["y", None, hour], ["z", "soon"]):
        book.active.append(record)
    book.save(tmp_path / "t.xlsx")
    assert read(tmp_path / "t.xlsx").to_dict("list") == {
        "name": ["x", "y", "z"],
        "born": ["1924-01-01", "", "soon"],
        "seen": ["1924-01-01 00:00:00", "2024-01-02 13:30:00", ""],
    }


@pytest.mark.parametrize("write", ["to_parquet", "to_feather"])
def test_days_of_a_file_of_columns_have_no_clock(tmp_path, write):
    pytest.importorskip("pyarrow")
    days = pd.Series(pd.to_datetime(["2024-01-02", None, "2024-01-03"]))
    table = pd.DataFrame({"day": days, "there": days.dt.tz_localize("Asia/Tokyo")})
    getattr(table, write)(tmp_path / "t")
    expected = {
        "day": ["2024-01-02", "", "2024-01-03"],
        "there": ["2024-01-02 00:00:00+09:00", "", "2024-01-03 00:00:00+09:00"],
    }
    assert read(tmp_path / "t").to_dict("list") == expected
    assert {name: each.tolist() for name, each in Sheet.of(table).cells.items()} == expected


def test_standard_input(monkeypatch):
    for content in (CSV.encode(), gzip.compress(CSV.encode()), zipped(CSV)):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        assert_same(read("-"))


def many(n):
    return pd.DataFrame({"id": [f"{i:04d}" for i in range(n)], "a": np.arange(n) + 0.5})


@pytest.mark.parametrize("text", ["0.5", "a word", '"7.1"', "inf", "1_0", ""])
@pytest.mark.parametrize("numbers", [(), ("a",)])
def test_parts_of_a_file_are_read_alike(tmp_path, monkeypatch, text, numbers):
    monkeypatch.setattr(lines, "BLOCK", 100)
    monkeypatch.setattr(lines, "CELLS", 40)
    table = many(100).astype(str)
    table.loc[70, "a"] = text.strip('"')
    content = table.to_csv(index=False)
    (tmp_path / "t").write_text(content.replace(f",{table.loc[70, 'a']}\n", f",{text}\n"))
    parts = list(read_sheets(tmp_path / "t", expected=("id", "a"), numbers=numbers))
    assert len(parts) > 5
    joined = Sheet.join(parts)
    assert texts_of(joined.cells["id"]).tolist() == table["id"].tolist()
    assert texts_of(joined.cells["a"]).tolist() == table["a"].tolist()
    assert joined.numbers.tolist() == list(range(1, 101))
    assert joined.lines.tolist() == list(range(2, 102))


@pytest.mark.parametrize("numbers", [(), ("a",)])
@pytest.mark.parametrize("block", [40, lines.BLOCK])
def test_lines_of_separators_alone_are_no_rows_and_are_said(tmp_path, monkeypatch, numbers, block):
    monkeypatch.setattr(lines, "BLOCK", block)
    monkeypatch.setattr(lines, "CELLS", block)
    content = many(30).to_csv(index=False) + "," + "\n , " * 60 + "\nlast,7.5" + "\n," * 40 + "\n"
    (tmp_path / "t").write_text(content)
    joined = Sheet.join(list(read_sheets(tmp_path / "t", expected=("id", "a"), numbers=numbers)))
    assert len(joined) == 31
    assert joined.numbers.tolist() == list(range(1, 32))
    assert joined.lines.tolist() == [*range(2, 32), 93]
    assert joined.notes == (
        "101 lines from line 32 on have nothing but separators, and are skipped",
    )


def test_a_gap_of_a_file_of_one_column_is_one(tmp_path):
    (tmp_path / "t").write_text("a,\n1,\n,\n3,\n4,\n")
    assert read(tmp_path / "t")["a"].tolist() == ["1", "", "3", "4"]


def test_one_line_of_separators_is_said_with_its_place(tmp_path):
    (tmp_path / "t").write_text("a;b\n1;2\n;\n3;4\n")
    (sheet,) = read_sheets(tmp_path / "t")
    assert sheet.notes[-1] == "line 3 has nothing but separators, and is skipped"


WRONG = {
    "nothing": (b"", "t can not be read: it is empty"),
    "blanks": (b"\n \n", "t can not be read: it is empty"),
    "only names": (b"a,b\n", "it has names of columns, but no rows"),
    "a name twice": (b"a,b,a\n1,2,3\n", "several columns of the name 'a'"),
    "a field too many": (b"a,b\n1,2\n1,2,3\n4,5\n", "line 3 has 3"),
    "a field too few": (b"a,b\n1,2\n1\n4,5\n", "line 3 has 1"),
    "a quoted field too few": (b'a,b\n"1",2\n1\n4,5\n', "line 3 has 1"),
    "several": (b"a,b\n1\n1,2\n4,5\n1,2,3\n1,2\n", "line 2 has 1, line 5 has 3"),
    "broken JSON": (b'{"a": 1}\n{"a": \n', "line 2 is no JSON object"),
    "another JSON": (b'{"a": 1}\n[1]\n', "line 2 should be a JSON object, got"),
    "a broken array": (b'[{"a": 1}, ', "it is no JSON"),
    "an array of numbers": (b"[1, 2]", "entry 1 of the array should be an object, got '1'"),
    "a deep object": (b'{"a": ' * 100_000, "line 1 is nested too deeply"),
    "no Parquet": (b"PAR1 is not all that Parquet is", "can not be read"),
    "no gz": (gzip.compress(CSV.encode())[:40], "can not be read"),
    "no zip": (b"PK\x03\x04 is not all", "can not be read"),
    "no UTF-8 further down": (b"a,b\n" + b"1,2\n" * 40_000 + b"\xff,2\n", "can not be read"),
}


@pytest.mark.parametrize(("content", "message"), WRONG.values(), ids=WRONG)
def test_what_can_not_be_read_is_said_with_the_name(tmp_path, content, message):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        read(tmp_path / "t")
    assert str(error.value).startswith(str(tmp_path / "t"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"a": {"b": 1}, "a.b": 2}', "two values for 'a.b': one of its own, one of an object"),
        ('{"a.b": 2, "a": {"b": 1}}', "two values for 'a.b': one of its own, one of an object"),
        ('{"c": 1, "a": 2, "a": 3}', "two values for 'a'"),
        ('{"c": {"a": 2, "a": 3}}', "two values for 'a'"),
        ('{"c": [{"a": 2, "a": 3}]}', "two values for 'a'"),
    ],
)
def test_json_with_two_values_for_one_column_is_refused_with_its_place(tmp_path, row, message):
    path = tmp_path / "t"
    path.write_text('{"a.b": 1}\n' + row)
    with pytest.raises(ValueError, match=f"line 2 has {message}$"):
        read(path)
    path.write_text('[{"a.b": 1}, ' + row + "]")
    with pytest.raises(ValueError, match=f"entry 2 has {message}$"):
        read(path)


def test_an_archive_of_several_tables_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "t", "w") as archive:
        for name in ("a.csv", "b.csv"):
            archive.writestr(name, CSV)
    with pytest.raises(ValueError, match=r"this one holds 2: a\.csv, b\.csv"):
        read(tmp_path / "t")


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv does not exist"):
        read(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read(tmp_path)


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LONGEST", 1000)
    monkeypatch.setattr(lines, "BLOCK", 500)
    for quote in ("", '"'):
        (tmp_path / "t").write_text(f"a,b\n1,2\n3,4\n5,{quote}{'6' * 5000}")
        with pytest.raises(ValueError, match=r"line \d has more than 1,000 characters"):
            read(tmp_path / "t")


def test_a_header_of_any_length_is_read(tmp_path):
    names = [f"a long name of column {i}" for i in range(5000)]
    content = [",".join(names), *[",".join(["1.5"] * 5000)] * 12]
    (tmp_path / "t").write_text("\n".join(content))
    assert list(read(tmp_path / "t").columns) == names


CELLS = st.text(
    st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters='",'), max_size=5
).map(str.strip)


@settings(max_examples=150)
@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=6))
@example([("=1", "007", "1.10")])
def test_cells_come_back_to_the_letter(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("any") / "t"
    rows = [("first", *row) for row in rows]  # so that no line is empty
    written = "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows)
    path.write_text('"k","one name","two","three"\n' + written, encoding="utf-8")
    names = ("k", "one name", "two", "three")
    assert read(path, expected=names).to_numpy().tolist() == [list(row) for row in rows]


@settings(max_examples=300)
@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf")
@example(b"\xff\xfe\x00")
@example(b"a\r\r\n")
def test_any_bytes_are_a_table_or_refused_in_one_line(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "t"
    path.write_bytes(content)
    said = "a table"
    try:
        assert len(read(path)) > 0
    except ValueError as error:
        said = str(error)
    assert said == "a table" or (str(path) in said and "\n" not in said)
