"""Tables, written chunk by chunk."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd

from whyflag.extras import require

FORMATS = ("csv", "jsonl", "parquet")
# What a spreadsheet takes for a formula: all that begins like one, but for numbers.
_FORMULA = re.compile(r"(?![-+]?[\d.,]+(?:[eE][-+]?\d+)?%?$)[=+\-@\t\r]")


@final
class Writer:
    """Writes records, chunk by chunk, as CSV, JSON Lines or Parquet.

    Texts of a CSV that a spreadsheet would run as a formula get an apostrophe in front.

    Args:
        path: A file.
        kind: "csv", "jsonl" or "parquet".
        columns: The columns of CSV and Parquet, in this order; Parquet with their types.
        raw: Whether texts of a CSV stay as they are.

    Attributes:
        n_quoted: How many texts got an apostrophe so far.
    """

    def __init__(
        self, path: Path, kind: str, columns: Mapping[str, type], *, raw: bool = False
    ) -> None:
        if kind not in FORMATS:
            raise ValueError(f"A table is written as one of {', '.join(FORMATS)}, got {kind!r}.")
        self._kind, self._raw = kind, raw
        self.n_quoted = 0
        self._columns = dict(columns)
        self._begun = False
        self._parquet: Any = None
        if kind == "parquet":
            self._parquet = self._open_parquet(path)
        else:
            self._file: Any = path.open("w", encoding="utf-8", newline="")
            self._lines = csv.writer(self._file, lineterminator="\n")

    def write(self, records: Sequence[Mapping[str, Any]] | pd.DataFrame) -> None:
        """Write records below those before; a table of them is written faster."""
        if self._kind == "jsonl":
            each = records.to_dict("records") if isinstance(records, pd.DataFrame) else records
            for record in each:
                self._file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
            return
        if self._parquet is not None:
            table = pd.DataFrame(records, columns=list(self._columns))
            self._parquet.write_table(self._arrow(table))
        else:
            if not self._begun:
                self._lines.writerow(self._columns)
            self._lines.writerows(self._fields(records))
        self._begun = True

    def close(self, *, complete: bool = True) -> None:
        """Finish the table; a complete one without records has its column names."""
        if complete and not self._begun and self._kind != "jsonl":
            self.write([])
        if self._parquet is not None:
            self._parquet.close()
        else:
            self._file.close()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self.close(complete=error is None)

    def _fields(self, records: Sequence[Mapping[str, Any]] | pd.DataFrame) -> Iterable[Any]:
        """The fields of each line of a CSV."""
        if isinstance(records, pd.DataFrame):
            fields = [_values(records[name]) for name in self._columns]
        else:
            fields = [[each[name] for each in records] for name in self._columns]
        for values, kind in zip(fields, self._columns.values(), strict=True):
            if kind is str and not self._raw:
                values[:] = [each and self._harmless(each) for each in values]
        return zip(*fields, strict=True)

    def _harmless(self, text: str) -> str:
        if not _FORMULA.match(text):
            return text
        self.n_quoted += 1
        return f"'{text}"

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


def _values(column: pd.Series[Any]) -> list[Any]:
    values, gaps = column.tolist(), column.isna()
    for i in np.flatnonzero(gaps):
        values[i] = None
    return values
