import io
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from whyflag.files.reading import read_chunks

TABLE = pd.DataFrame({"Größe": [1.5, 2.25, 3.0], "Sorte": ["rot", "grün", "rot"]})


def read(path, **options):
    return pd.concat(list(read_chunks(path, **options))).reset_index(drop=True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize(("sep", "decimal"), [(",", "."), (";", ","), ("\t", "."), ("|", ",")])
def test_csv_of_any_usual_kind(tmp_path, encoding, sep, decimal):
    TABLE.to_csv(tmp_path / "t.csv", sep=sep, decimal=decimal, encoding=encoding, index=False)
    pd.testing.assert_frame_equal(read(tmp_path / "t.csv"), TABLE)


def test_parquet_and_json_lines_are_known_by_their_content(tmp_path):
    TABLE.to_parquet(tmp_path / "a.bin")
    TABLE.to_json(tmp_path / "b.bin", orient="records", lines=True)
    for name in ("a.bin", "b.bin"):
        pd.testing.assert_frame_equal(read(tmp_path / name), TABLE, check_dtype=False)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_chunks_are_numbered_through(tmp_path, kind):
    path = tmp_path / "t"
    table = pd.DataFrame({"a": np.arange(10.0) + 0.5})
    if kind == "csv":
        table.to_csv(path, index=False)
    elif kind == "parquet":
        table.to_parquet(path)
    else:
        table.to_json(path, orient="records", lines=True)
    chunks = list(read_chunks(path, chunk_rows=4))
    assert [len(chunk) for chunk in chunks] == [4, 4, 2]
    assert [*pd.concat(chunks).index] == list(range(1, 11))
    assert pd.concat(chunks)["a"].tolist() == table["a"].tolist()


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a;b\n1,5;2\n")))
    assert read("-").to_dict("list") == {"a": [1.5], "b": [2]}


def test_parquet_from_standard_input(monkeypatch):
    buffer = io.BytesIO()
    TABLE.to_parquet(buffer)
    buffer.seek(0)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=buffer))
    pd.testing.assert_frame_equal(read("-"), TABLE)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "t is empty"),
        (b"\n \n", "t is empty"),
        (b"a,b\n", "has column names, but no rows"),
        (b"a,b,a\n1,2,3\n", "several columns of the name 'a'"),
        (b"a,b\n1,2\n1,2,3\n", "Expected 2 fields in line 3, saw 3"),
        (b'{"a": 1}\n{"a": \n', "can not be read"),
        (b"PAR1 is not all that Parquet is", "can not be read"),
    ],
)
def test_what_can_not_be_read_is_said_with_the_name(tmp_path, content, message):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        read(tmp_path / "t")
    assert str(tmp_path / "t") in str(error.value)


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv does not exist"):
        read(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read(tmp_path)
