import json

import pandas as pd
import pytest

from whyflag.files.writing import Writer

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


def test_parquet_needs_a_file_and_unknown_kinds_are_refused():
    with pytest.raises(ValueError, match="name one with -o"):
        Writer(None, "parquet", COLUMNS)
    with pytest.raises(ValueError, match="got 'xlsx'"):
        Writer(None, "xlsx", COLUMNS)
