"""Small files as people have them, each with what must come out: values, or a message."""

import pytest

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
    "German thousands": (
        lines(["a;b"], lambda i: f"19.{800 + i};{A[i].replace('.', ',')}"),
        *("nn", [19800, 20.0], 1),
    ),
    "thousands": (lines(["a,b"], lambda i: f'"19,{800 + i}",{B[i]}'), "nn", [19800, 30], 1),
    "dollars": (lines(["a,b"], lambda i: f'"$1,{900 + i}.50",{B[i]}'), "nn", [1900.5, 30], 1),
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
    "a JSON line": (lines([], lambda i: '{"a": 1' if i == 8 else '{"a": 1}'), "line 9 is no JSON"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_said_with_its_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        sheet_of(tmp_path, text)
