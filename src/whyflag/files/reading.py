"""Rows of CSV, Parquet and JSON Lines files, in chunks."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from whyflag.extras import require
from whyflag.files.dialect import dialect_of

CHUNK_ROWS = 50_000
HEAD = 2**16  # bytes by which a file is recognised
STDIN = "-"

Chunks = Generator[pd.DataFrame, None, None]


def read_chunks(source: str | Path, chunk_rows: int = CHUNK_ROWS) -> Iterator[pd.DataFrame]:
    """Read a file, or standard input as "-", as tables of at most so many rows.

    What a file is shows its content, not its name: Parquet its first bytes, JSON Lines a brace;
    all else is CSV with any usual separator, encoding and decimal mark. The rows of all chunks
    are numbered from 1.
    """
    name = name_of(source)
    with _open(source) as file:
        head = file.peek(HEAD)[:HEAD]
        if not head.strip():
            raise ValueError(f"{name} is empty: it should have a line of column names, and rows.")
        if head.startswith(b"PAR1"):
            read = _parquet
        elif head.lstrip().startswith(b"{"):
            read = _json_lines
        else:
            read = _csv
        n_rows = 0
        # What reads a file is closed before it: pandas 2 complains otherwise.
        with closing(read(file, head, chunk_rows)) as chunks:
            while (chunk := _next(chunks, name)) is not None:
                if not n_rows:
                    _refuse_repeated(list(chunk.columns), name)
                chunk.index = pd.RangeIndex(n_rows + 1, n_rows + len(chunk) + 1)
                n_rows += len(chunk)
                if len(chunk):
                    yield chunk
        if not n_rows:
            raise ValueError(f"{name} has column names, but no rows.")


def name_of(source: str | Path) -> str:
    """What a source is called in messages."""
    return "standard input" if str(source) == STDIN else str(source)


def _open(source: str | Path) -> io.BufferedReader:
    raw: Any  # how far a buffer sees ahead is its size, and that of standard input is small
    if str(source) == STDIN:
        raw = sys.stdin.buffer
        return io.BufferedReader(raw, HEAD)
    path = Path(source)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a table.")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    raw = path.open("rb", buffering=0)
    return io.BufferedReader(raw, HEAD)


def _csv(file: io.BufferedReader, head: bytes, chunk_rows: int) -> Chunks:
    dialect = dialect_of(head)
    first = head.decode(dialect.encoding, errors="replace").lstrip().splitlines()[0]
    header = next(csv.reader([first], delimiter=dialect.separator))
    # pandas would rename repeated columns, and number those without a name.
    _refuse_repeated([name for name in header if name.strip()], "the table")
    with pd.read_csv(
        file,
        encoding=dialect.encoding,
        sep=dialect.separator,
        decimal=dialect.decimal,
        chunksize=chunk_rows,
        skipinitialspace=True,
    ) as chunks:
        for chunk in chunks:
            yield chunk.rename(columns=lambda name: str(name).strip())


def _json_lines(file: io.BufferedReader, head: bytes, chunk_rows: int) -> Chunks:
    with pd.read_json(file, lines=True, chunksize=chunk_rows, encoding="utf-8") as chunks:
        yield from chunks


def _parquet(file: io.BufferedReader, head: bytes, chunk_rows: int) -> Chunks:
    require("pyarrow", "Reading Parquet", extra="parquet")
    from pyarrow import parquet

    whole: Any = file if file.seekable() else io.BytesIO(file.read())  # its index is at its end
    for batch in parquet.ParquetFile(whole).iter_batches(batch_size=chunk_rows):
        yield batch.to_pandas()


def _next(chunks: Iterator[pd.DataFrame], name: str) -> pd.DataFrame | None:
    """The next chunk, or none; what is wrong with the file is said with its name."""
    try:
        return next(chunks, None)
    except ImportError:
        raise
    except (ValueError, OSError) as error:  # pandas' and pyarrow's errors are among these
        raise ValueError(f"{name} can not be read: {str(error).strip()}") from error


def _refuse_repeated(names: Sequence[str], name: str) -> None:
    repeated = sorted({column for column in names if names.count(column) > 1})
    if repeated:
        raise ValueError(f"{name} has several columns of the name {repeated[0]!r}.")
