import json

import pandas as pd
import pytest

from whyflag.table.writing import Writer

COLUMNS = {"row": int, "name": str, "score": float, "flagged": bool}
RECORDS = [
    {"row": 1, "name": "a, b", "score": 0.5, "flagged": True},
    {"row": 2, "name": "ü", "score": None, "flagged": False},
]


def write(path, kind, *parts):
    with Writer(path, kind, COLUMNS) as writer:
        for part in parts:
            writer.write(part)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_written_in_parts_are_read_as_one(tmp_path, kind):
    write(tmp_path / "t", kind, RECORDS[:1], RECORDS[1:])
    read = pd.read_csv if kind == "csv" else pd.read_parquet
    expected = pd.DataFrame(RECORDS)
    pd.testing.assert_frame_equal(read(tmp_path / "t"), expected, check_dtype=False)


def test_json_lines_are_objects(tmp_path):
    write(tmp_path / "t", "jsonl", RECORDS[:1], RECORDS[1:])
    lines = (tmp_path / "t").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == RECORDS


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_no_records_are_a_table_with_names(tmp_path, kind):
    write(tmp_path / "t", kind)
    read = pd.read_csv if kind == "csv" else pd.read_parquet
    assert list(read(tmp_path / "t").columns) == list(COLUMNS)


def test_unknown_kinds_are_refused(tmp_path):
    with pytest.raises(ValueError, match="got 'xlsx'"):
        Writer(tmp_path / "t", "xlsx", COLUMNS)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=cmd|' /C calc'!A24", "'=cmd|' /C calc'!A24"),
        ("@SUM(1)", "'@SUM(1)"),
        ("-abc", "'-abc"),
        ("+1+2", "'+1+2"),
        ("\tx", "'\tx"),
        ("-5", "-5"),
        ("+1.5e-3", "+1.5e-3"),
        ("-12,5%", "-12,5%"),
        ("a=1", "a=1"),
        (None, None),
    ],
)
def test_no_text_of_a_csv_is_a_formula(tmp_path, text, written):
    record = {"row": 1, "name": text, "score": -1.0, "flagged": True}
    for name, raw in (("safe", False), ("raw", True)):
        with Writer(tmp_path / name, "csv", COLUMNS, raw=raw) as writer:
            writer.write([record])
    as_text = {"dtype": {"name": "str"}}
    safe, raw = (pd.read_csv(tmp_path / name, **as_text).iloc[0] for name in ("safe", "raw"))
    assert [None if pd.isna(each["name"]) else each["name"] for each in (safe, raw)] == [
        written,
        text,
    ]
    assert safe["score"] == -1


def test_a_table_is_written_like_its_records(tmp_path):
    for name, content in (("a", RECORDS), ("b", pd.DataFrame(RECORDS))):
        for kind in ("csv", "jsonl"):
            write(tmp_path / f"{name}.{kind}", kind, content)
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
