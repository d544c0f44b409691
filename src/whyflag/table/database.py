"""Rows that a database answers a query with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whyflag.extras import require
from whyflag.table.sheet import Sheet, refuse_repeated, text_cells

ROWS = 20_000  # that are read at a time
NO_ROWS = "the query finds no rows: it should begin with SELECT"
_ADDRESS = re.compile(r"[a-z][a-z0-9_+]*://", re.I)
_PASSWORD = re.compile(r"(://[^/:@]*:)[^/]*(?=@)|([?&](?:password|passwd|pwd)=)[^&]*", re.I)
# Behind comments. What begins otherwise may change the database, and some keep that at once.
_ASKS = re.compile(
    r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*+(?:select|with|values|table)\b", re.I | re.S
)


def is_database(source: str | Path) -> bool:
    """Whether a source is the address of a database, such as "sqlite:///sales.db"."""
    return _ADDRESS.match(str(source)) is not None


def without_password(source: str) -> str:
    """The address of a database as it may be shown.

    >>> without_password("postgresql://ann:secret@host/sales")
    'postgresql://ann:***@host/sales'
    """
    return _PASSWORD.sub(r"\1\2***", source)


def read_database(source: str, query: str | None, expected: Sequence[str]) -> Iterator[Sheet]:
    """Read what a query finds. One that does not ask for rows is refused, and not run.

    Args:
        source: The address of the database, as SQLAlchemy takes it.
        query: SQL; the whole table, if there is one only, if nothing is said.
        expected: Names that columns should have: which table it is, if there are several.
    """
    sql: Any = require("sqlalchemy", "Reading databases", extra="sql")
    url = sql.make_url(source)
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).is_file():
        # SQLite would make it.
        raise FileNotFoundError(f"{url.database} does not exist.")
    if query and not _ASKS.match(query):
        raise ValueError(NO_ROWS)
    engine = sql.create_engine(url)
    try:
        with engine.connect() as connection:
            chosen = sql.text(query) if query else _only_table(sql, connection, expected)
            found = connection.execution_options(stream_results=True).execute(chosen)
            if not found.returns_rows:
                raise ValueError(NO_ROWS)
            names = list(map(str, found.keys()))
            refuse_repeated(names, "What the query finds")
            n_rows = 0
            for some in found.partitions(ROWS):
                columns = zip(*some, strict=True)
                cells = {
                    name: text_cells([_plain(value) for value in values])
                    for name, values in zip(names, columns, strict=True)
                }
                yield Sheet(cells, np.arange(n_rows + 1, n_rows + len(some) + 1))
                n_rows += len(some)
    finally:
        engine.dispose()


def _only_table(sql: Any, connection: Any, expected: Sequence[str]) -> Any:
    """All rows of the only table; of several, of the only one that has the expected columns."""
    known = sql.inspect(connection)
    names = [*known.get_table_names(), *known.get_view_names()]
    has = {name: {column["name"] for column in known.get_columns(name)} for name in names}
    able = [name for name in names if expected and has[name].issuperset(expected)] or names
    if len(able) != 1:
        listed = ", ".join(able) or "none"
        raise ValueError(f"say with a query which table is meant (--query): it has {listed}")
    return sql.select(sql.text("*")).select_from(sql.table(able[0]))


def _plain(value: Any) -> Any:
    if isinstance(value, (bytes, memoryview)):
        raise ValueError("a column holds bytes, which are no values: leave it out of the query")
    return value
