"""Rows of files that keep their columns apart: Parquet, Arrow and Feather."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from whyflag.extras import require
from whyflag.table.sheet import Sheet, arrow_cells

ROWS = 50_000  # that are read at a time


def read_columnar(stream: io.BufferedReader, *, is_parquet: bool) -> Iterator[Sheet]:
    """Read a file of columns; numbers have a type there, and all else is read as texts."""
    pa: Any = require("pyarrow", "Reading Parquet, Arrow and Feather", extra="parquet")
    from pyarrow import feather, parquet

    whole: Any = stream if stream.seekable() else io.BytesIO(stream.read())  # its index is last
    if is_parquet:
        batches = parquet.ParquetFile(whole).iter_batches(batch_size=ROWS)
    else:
        batches = feather.read_table(whole).to_batches(max_chunksize=ROWS)
    n_rows = 0
    for batch in batches:
        names = np.arange(n_rows + 1, n_rows + batch.num_rows + 1)
        table = pa.Table.from_batches([batch])
        # What pandas keeps of its index is no column.
        kept = [name for name in table.column_names if not name.startswith("__index_level_")]
        yield Sheet(arrow_cells(table.select(kept)), names)
        n_rows += batch.num_rows
