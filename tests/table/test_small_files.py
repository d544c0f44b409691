"""Small files as people have them, each with what must come out: values, or a message."""

import bz2
import gzip
import io
import json
import lzma
import zipfile
from datetime import date
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from whyflag.table.reading import read_sheets
from whyflag.table.schema import Schema
from whyflag.table.sheet import Sheet

N = 24
A = [f"{20 + (7 * i) % 11 / 4:.2f}" for i in range(N)]
B = [str(30 + (5 * i) % 13) for i in range(N)]


def lines(head, row, n=N, foot=()):
    """A file with a row for each i."""
    return "\n".join([*head, *(row(i) for i in range(n)), *foot]) + "\n"


# What becomes of the columns, by their first letters (i: the id, -: left out), the first numbers
# and the first name of a row.
READ = {
    "plain": (lines(["x,a,b"], lambda i: f"r{i},{A[i]},{B[i]}"), "inn", [20.0, 30], "r0"),
    "ids with zeros": (lines(["x,a"], lambda i: f"{i:03d},{A[i]}"), "in", [20.0], "000"),
    "ids with decimals": (lines(["x,a"], lambda i: f"1.{i:02d},{A[i]}"), "nn", [1.0, 20.0], 1),
    "ids of four digits": (lines(["x,a"], lambda i: f"{i:04d},{A[i]}"), "in", [20.0], "0000"),
    "huge ids": (
        lines(["x,a"], lambda i: f"{9007199254740993 + 2 * i},{A[i]}"),
        *("in", [20.0], "9007199254740993"),
    ),
    "codes": (
        lines(["x,a"], lambda i: f"0{i % 3 + 1},{A[i]}"),
        *("cn", [1, 0, 0, 20.0], 1),
    ),
    "semicolons and decimal commas": (
        lines(["a;b"], lambda i: f"{A[i].replace('.', ',')};{B[i]}"),
        *("nn", [20.0, 30], 1),
    ),
    "decimal commas and exponents": (
        lines(["a;b"], lambda i: f"5,{432 + i}E+07;{B[i]}"),
        *("nn", [5.432e7, 30], 1),
    ),
    "quoted decimal commas and exponents": (
        lines(["a,b"], lambda i: f'"5,{432 + i}E+07",{B[i]}'),
        *("nn", [5.432e7, 30], 1),
    ),
    "German thousands": (
        lines(["a;b"], lambda i: f"19.{800 + i};{A[i].replace('.', ',')}"),
        *("nn", [19800, 20.0], 1),
    ),
    "thousands": (lines(["a,b"], lambda i: f'"19,{800 + i}",{B[i]}'), "nn", [19800, 30], 1),
    "dollars": (lines(["a,b"], lambda i: f'"$1,{900 + i}.50",{B[i]}'), "nn", [1900.5, 30], 1),
    "dollars in parentheses": (
        lines(["a,b"], lambda i: f'"$(1,{900 + i}.50)",{B[i]}'),
        *("nn", [-1900.5, 30], 1),
    ),
    "Indian thousands": (
        lines(["a,b"], lambda i: f'"1,89,{600 + i}",{B[i]}'),
        *("nn", [189600, 30], 1),
    ),
    "per cent": (lines(["a,b"], lambda i: f"{A[i]}%,{B[i]}"), "nn", [20.0, 30], 1),
    "names of countries": (
        lines(["x,a"], lambda i: f"{('NA', 'DE', 'FR', 'None')[i % 4]},{A[i]}"),
        *("cn", [0, 0, 1, 0, 20.0], 1),
    ),
    "gaps by many marks": (
        lines(["a,b"], lambda i: f"{('NA', A[i], A[i])[i % 3]},{B[i]}"),
        *("nn", [20.75, 30], 1),
    ),
    "a word in a number": (
        lines(["a,b"], lambda i: f"{'broken' if i == 5 else A[i]},{B[i]}"),
        *("nn", [20.0, 30], 1),
    ),
    "truths": (lines(["x,a"], lambda i: f"{i % 2 == 0},{A[i]}"), "cn", [0, 1, 20.0], 1),
    "times": (
        lines(["x,a"], lambda i: f"2024-01-01 {i:02d}:30,{A[i]}"),
        *("tn", [0.5, 20.0], "2024-01-01 00:30"),
    ),
    "times of the day": (
        lines(["x,a"], lambda i: f"{7 * i % 24:02d}:{i:02d},{A[i]}"),
        *("tn", [0.0, 20.0], 1),
    ),
    "days in digits": (
        lines(["x,a"], lambda i: f"202401{i + 1:02d},{A[i]}"),
        *("tn", [1, 0, 0, 0, 0, 0, 0, 20.0], "20240101"),
    ),
    "days first": (
        lines(["x,a"], lambda i: f"{i + 1}/01/2024,{A[i]}"),
        *("tn", [1, 0, 0, 0, 0, 0, 0, 20.0], "1/01/2024"),
    ),
    "numbers of rows without a name": (
        lines([",a,b"], lambda i: f"{i},{A[i]},{B[i]}"),
        *("inn", [20.0, 30], "0"),
    ),
    "names of rows without a name": (
        lines(["a,b"], lambda i: f"r{i},{A[i]},{B[i]}"),
        *("inn", [20.0, 30], "r0"),
    ),
    "more columns without names than with": (
        lines(["a,,"], lambda i: f"{A[i]},{B[i]},{i % 3}"),
        *("nnn", [20.0, 30, 0], 1),
    ),
    "commas at the ends": (lines(["a,b,"], lambda i: f"{A[i]},{B[i]},"), "nn", [20.0, 30], 1),
    "titles": (
        lines(["Line 3, today", "", "x,a,b"], lambda i: f"r{i},{A[i]},{B[i]}"),
        *("inn", [20.0, 30], "r0"),
    ),
    "units": (
        lines(["x,a,b", ",kg,m"], lambda i: f"r{i},{A[i]},{B[i]}"),
        *("inn", [20.0, 30], "r0"),
    ),
    "no header": (lines([], lambda i: f"r{i},{A[i]},{B[i]}"), "inn", [20.0, 30], "r0"),
    "empty lines": (
        lines(["a,b", ""], lambda i: f"{A[i]},{B[i]}\n", foot=["", ""]),
        *("nn", [20.0, 30], 1),
    ),
    "quotes with line ends": (
        lines(["x,a"], lambda i: f'"r\n{i}",{A[i]}'),
        *("in", [20.0], "r\n0"),
    ),
    "always the same": (lines(["a,b"], lambda i: f"5,{B[i]}"), "nn", [5, 30], 1),
    "nothing in a column": (lines(["a,x"], lambda i: f"{A[i]},"), "n-", [20.0], 1),
    "texts of many kinds": (
        lines(["x,a"], lambda i: f"text {2 * i // 3},{A[i]}"),
        *("-n", [20.0], 1),
    ),
    "JSON": (
        lines([], lambda i: f'{{"x": "{i:03d}", "a": {A[i]}}}'),
        *("in", [20.0], "000"),
    ),
    "JSON with codes": (
        lines([], lambda i: f'{{"x": "0{i % 3}", "a": {A[i]}, "t": {1700000000 + 7 * i % 50}}}'),
        *("cnn", [1, 0, 0, 20.0, 1700000000], 1),
    ),
}


# The same in other bytes.
PLAIN = READ["plain"][0]
TYPED = pa.table(
    {
        "x": [f"{i:03d}" for i in range(N)],
        "a": pa.array([Decimal(each) for each in A], pa.decimal128(8, 2)),
        "d": [date(2024, 1, 1 + i) for i in range(N)],
        "t": [i % 3 == 0 for i in range(N)],
        "g": pa.array([None if i % 4 == 3 else i % 7 for i in range(N)]),
    }
)


def bytes_of(write):
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def archive(**files):
    def write(buffer):
        with zipfile.ZipFile(buffer, "w") as whole:
            for name, content in files.items():
                whole.writestr(name.replace("_", "."), content)

    return bytes_of(write)


def workbook(buffer):
    rows = [{"x": f"r{i}", "a": float(A[i]), "b": int(B[i])} for i in range(N)]
    pd.DataFrame(rows).to_excel(buffer, index=False)


TYPED_ROW = "intcn", [20.0, *[1.0, 0, 0, 0, 0, 0, 0], 0, 1, 0.0], "000"
PLAIN_ROW = "inn", [20.0, 30], "r0"

READ |= {
    "gz": (gzip.compress(PLAIN.encode()), *PLAIN_ROW),
    "bz2": (bz2.compress(PLAIN.encode()), *PLAIN_ROW),
    "xz": (lzma.compress(PLAIN.encode()), *PLAIN_ROW),
    "zst": (pa.compress(PLAIN.encode(), codec="zstd", asbytes=True), *PLAIN_ROW),
    "zip": (archive(data_csv=PLAIN), *PLAIN_ROW),
    "gz in zip": (archive(data_csv_gz=gzip.compress(PLAIN.encode())), *PLAIN_ROW),
    "Excel": (bytes_of(workbook), *PLAIN_ROW),
    "Parquet": (bytes_of(lambda to: parquet.write_table(TYPED, to)), *TYPED_ROW),
    "Feather": (bytes_of(lambda to: feather.write_feather(TYPED, to)), *TYPED_ROW),
    "UTF-16": (PLAIN.encode("utf-16"), *PLAIN_ROW),
    "UTF-32": (PLAIN.encode("utf-32"), *PLAIN_ROW),
    "UTF-16 without a mark": (PLAIN.encode("utf-16-le"), *PLAIN_ROW),
    "UTF-8 with a mark": (PLAIN.encode("utf-8-sig"), *PLAIN_ROW),
    "Windows-1252": (
        lines(["x,a"], lambda i: f"Käse {i},{A[i]}").encode("cp1252"),
        *("in", [20.0], "Käse 0"),
    ),
    "tabs": (PLAIN.replace(",", "\t"), *PLAIN_ROW),
    "bars": (PLAIN.replace(",", "|"), *PLAIN_ROW),
    "line ends of Windows": (PLAIN.replace("\n", "\r\n"), *PLAIN_ROW),
    "line ends of old": (PLAIN.replace("\n", "\r"), *PLAIN_ROW),
    "what Excel writes first": ("sep=;\n" + PLAIN.replace(",", ";"), *PLAIN_ROW),
    "comments": ("# made by hand\n# today\n" + PLAIN, *PLAIN_ROW),
    "infinity": (
        lines(["a,b"], lambda i: f"{'inf' if i == 5 else A[i]},{B[i]}"),
        *("nn", [20.0, 30], 1),
    ),
    "too large for a number": (
        lines(["a,b"], lambda i: f"{'1e400' if i == 5 else A[i]},{B[i]}"),
        *("nn", [20.0, 30], 1),
    ),
    "a zero byte": (
        lines(["a,b"], lambda i: f"{'2' + chr(0) + '1' if i == 5 else A[i]},{B[i]}"),
        *("nn", [20.0, 30], 1),
    ),
    "parentheses": (lines(["a,b"], lambda i: f"({A[i]}),{B[i]}"), "nn", [-20.0, 30], 1),
    "a minus behind": (lines(["a,b"], lambda i: f"{A[i]}-,{B[i]}"), "nn", [-20.0, 30], 1),
    "a real minus": (lines(["a,b"], lambda i: f"\u2212{A[i]},{B[i]}"), "nn", [-20.0, 30], 1),
    "apostrophes": (lines(["a,b"], lambda i: f"19'{800 + i},{B[i]}"), "nn", [19800, 30], 1),
    "spaces between thousands": (
        lines(["a;b"], lambda i: f"19\u00a0{800 + i},5;{B[i]}"),
        *("nn", [19800.5, 30], 1),
    ),
    "kilograms": (lines(["a,b"], lambda i: f"{A[i]} kg,{B[i]}"), "nn", [20.0, 30], 1),
    "exponents": (lines(["a,b"], lambda i: f"{float(A[i]):e},{B[i]}"), "nn", [20.0, 30], 1),
    "moments with a zone": (
        lines(["x,a"], lambda i: f"2024-01-01T{i:02d}:30:00+02:00,{A[i]}"),
        *("tn", [0.5, 20.0], "2024-01-01T00:30:00+02:00"),
    ),
    "afternoons": (
        lines(["x,a"], lambda i: f"1/{1 + i}/2024 {1 + i % 12}:30 PM,{A[i]}"),
        *("tn", [13.5, 1, 0, 0, 0, 0, 0, 0, 20.0], "1/1/2024 1:30 PM"),
    ),
    "seconds since 1970": (
        lines(["x,a"], lambda i: f"{1700000000 + 60 * (7 * i % 24)},{A[i]}"),
        *("nn", [1700000000, 20.0], 1),
    ),
    "quotes in quotes": (
        lines(["x,a"], lambda i: f'"say ""{i}""",{A[i]}'),
        *("in", [20.0], 'say "0"'),
    ),
    "other separators in quoted lines": (
        lines(["x;a;b"], lambda i: f'"{i:02d}\n,u,\n,v,\n";{A[i]};{B[i]}'),
        *("inn", [20.0, 30], "00\n,u,\n,v,\n"),
    ),
    "formulas": (lines(["x,a"], lambda i: f"=cmd{i},{A[i]}"), "in", [20.0], "=cmd0"),
    "a name with a comma": (lines(['"x, y",a'], lambda i: f"{B[i]},{A[i]}"), "nn", [30, 20.0], 1),
    "a JSON array": (
        json.dumps([{"x": f"r{i}", "a": float(A[i]), "b": int(B[i])} for i in range(N)]),
        *PLAIN_ROW,
    ),
    "JSON in JSON": (
        lines([], lambda i: json.dumps({"x": f"r{i}", "m": {"a": float(A[i]), "b": int(B[i])}})),
        *PLAIN_ROW,
    ),
    "JSON with huge ids": (
        lines([], lambda i: f'{{"x": {9007199254740993 + 2 * i}, "a": {A[i]}}}'),
        *("in", [20.0], "9007199254740993"),
    ),
    "JSON without a key": (
        lines([], lambda i: json.dumps({"a": float(A[i])} | ({"b": int(B[i])} if i % 4 else {}))),
        *("nn", [20.0, 36], 1),
    ),
}


def sheet_of(tmp_path, text):
    (tmp_path / "t").write_bytes(text.encode() if isinstance(text, str) else text)
    return Sheet.join(list(read_sheets(tmp_path / "t")))


@pytest.mark.parametrize(("text", "kinds", "numbers", "name"), READ.values(), ids=READ)
def test_what_comes_out(tmp_path, text, kinds, numbers, name):
    sheet = sheet_of(tmp_path, text)
    schema = Schema.of(sheet)
    known = {each.name: each.codec.kind[0] for each in schema.columns}
    names = {schema.id_column: "i"} | known
    assert "".join(names.get(column, "-") for column in sheet.columns) == kinds
    rows = schema.encode(sheet).rows
    assert (len(sheet), rows.values[0].tolist(), rows.index[0]) == (N, numbers, name)


REFUSED = {
    "a field too few": (lines(["a,b"], lambda i: A[i] if i == 8 else f"{A[i]},{B[i]}"), "line 10"),
    "a field too many": (
        lines(["a,b"], lambda i: f"{A[i]},{B[i]}{',5' * (i == 8)}"),
        "line 10 has 3",
    ),
    "all at once": (
        lines(["a,b"], lambda i: f"{A[i]},{B[i]}{',5' * (i % 5 == 2)}"),
        "line 4 has 3, line 9 has 3, line 14 has 3, and so have 2 more",
    ),
    "one name for two": (lines(["a,a"], lambda i: f"{A[i]},{B[i]}"), "several columns of the name"),
    "an open quote": (
        lines(["a,b"], lambda i: f"{chr(34) * (i == 5)}{A[i]},{B[i]}"),
        "line 7 has a quote that is opened and not closed",
    ),
    "fields set apart by spaces": (PLAIN.replace(",", "  "), "3 fields that spaces set apart"),
    "nothing": ("", "it is empty"),
    "names alone": ("a,b\n", "it has names of columns, but no rows"),
    "half a packed file": (gzip.compress(PLAIN.encode())[:60], "ended before the end"),
    "half a Parquet file": (
        bytes_of(lambda to: parquet.write_table(TYPED, to))[:300],
        "Parquet magic bytes not found",
    ),
    "two files in one": (archive(a_csv=PLAIN, b_csv=PLAIN), "this one holds 2: a.csv, b.csv"),
    "a page": ("<!doctype html><html></html>", "it is HTML or XML"),
    "a PDF": ("%PDF-1.4\n", "it is a PDF"),
    "a picture": (b"\x89PNG\r\n\x1a\n\x00", "it is a picture"),
    "a pickle": (b"\x80\x04\x95\x00", "it is a pickle, which could run code: it is not read"),
    "a database": (b"SQLite format 3\x00" + bytes(100), "name it as sqlite:///PATH"),
    "bytes that are no text": (b"a,b\n1,\x81\x8d\n" * 9, "a byte that is no text .0x81"),
    "rows in an object": (
        json.dumps({"n": 2, "rows": [{"a": 1}, {"a": 2}]}),
        "one object that has rows in 'rows': write an array of objects",
    ),
    "columns in an object": ('{"a": [1, 2], "b": [3, 4]}', "one object of columns"),
    "an array of numbers": ("[1, 2, 3]", "entry 1 of the array should be an object"),
    "JSON without an end": ("[" * 100_000, "it is nested too deeply"),
    "a JSON line": (lines([], lambda i: '{"a": 1' if i == 8 else '{"a": 1}'), "line 9 is no JSON"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_said_with_its_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        sheet_of(tmp_path, text)
