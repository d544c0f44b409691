"""Tables, written chunk by chunk."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final

import pandas as pd

from whyflag.extras import require

FORMATS = ("csv", "jsonl", "parquet")


@final
class Writer:
    """Writes records, chunk by chunk, as CSV, JSON Lines or Parquet.

    Args:
        path: A file, or None for standard output.
        kind: "csv", "jsonl" or "parquet".
        columns: The columns of CSV and Parquet, in this order; Parquet with their types.
    """

    def __init__(self, path: Path | None, kind: str, columns: Mapping[str, type]) -> None:
        if kind not in FORMATS:
            raise ValueError(f"A table is written as one of {', '.join(FORMATS)}, got {kind!r}.")
        self._kind = kind
        self._columns = dict(columns)
        self._begun = False
        self._parquet: Any = None
        if kind == "parquet":
            if path is None:
                raise ValueError("Parquet is written to a file: name one with -o.")
            self._parquet = self._open_parquet(path)
        else:
            self._file: Any = (
                sys.stdout if path is None else path.open("w", encoding="utf-8", newline="")
            )
        self._path = path

    def write(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Write records below those before."""
        if self._kind == "jsonl":
            for record in records:
                self._file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
            return
        table = pd.DataFrame.from_records(list(records), columns=list(self._columns))
        if self._parquet is not None:
            self._parquet.write_table(self._arrow(table))
        else:
            table.to_csv(self._file, index=False, header=not self._begun, lineterminator="\n")
        self._begun = True

    def close(self, *, complete: bool = True) -> None:
        """Finish the table; a complete one without records has its column names."""
        if complete and not self._begun and self._kind != "jsonl":
            self.write([])
        if self._parquet is not None:
            self._parquet.close()
        elif self._path is not None:
            self._file.close()
        else:
            self._file.flush()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self.close(complete=error is None)

    def _open_parquet(self, path: Path) -> Any:
        require("pyarrow", "Writing Parquet", extra="parquet")
        import pyarrow as pa
        from pyarrow import parquet

        types = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
        self._schema = pa.schema([(name, types[kind]) for name, kind in self._columns.items()])
        return parquet.ParquetWriter(path, self._schema)

    def _arrow(self, table: pd.DataFrame) -> Any:
        import pyarrow as pa

        return pa.Table.from_pandas(table, schema=self._schema, preserve_index=False)
