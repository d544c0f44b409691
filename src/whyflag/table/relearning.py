"""The same columns, learnt from other rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from whyflag.table.categories import Categories
from whyflag.table.codec import Codec, State, marks_in
from whyflag.table.learning import column_of
from whyflag.table.numbers import Numbers, negative_from
from whyflag.table.recognition import categories_of
from whyflag.table.schema import Schema
from whyflag.table.sheet import Cells, Sheet, texts_of
from whyflag.table.times import Times, seconds


def relearnt(schema: Schema, sheet: Sheet, rare: float) -> Schema:
    """What a schema would be, had it been learnt from these rows: columns stay of their kinds."""
    limit = rare * len(sheet) / len(schema.columns)
    columns = []
    for column in schema.columns:
        cells = sheet.cells[column.name]
        codec = _again(column.codec, cells)
        columns.append(column_of(column.name, codec, cells, limit))
    return replace(schema, columns=tuple(columns))


def _again(codec: Codec, cells: Cells) -> Codec:
    """What is learnt of a column of this kind; the same as before where no cell has a value."""
    if isinstance(codec, Categories):
        return categories_of(Counter(text.strip() for text in texts_of(cells)))
    read = codec.read(cells)
    gaps = marks_in([text.strip() for text in texts_of(cells[read.states == State.GAP])])
    known = np.flatnonzero((read.states == State.USUAL) | (read.states == State.NEW))
    if not len(known):
        return codec
    if isinstance(codec, Numbers):
        values = read.values[known, 0]
        typical, lower, upper = np.median(values), values.min(), values.max()
        return replace(
            codec,
            gaps=gaps,
            typical=float(typical),
            lower=float(lower),
            upper=float(upper),
            negative=negative_from(values),
        )
    if isinstance(codec, Times):
        times = seconds([text.strip() for text in texts_of(cells)], codec.form)
        times = times[np.isfinite(times)]
        return replace(
            codec,
            gaps=gaps,
            typical=float(np.sort(times)[len(times) // 2]),
            first=float(times.min()),
            last=float(times.max()),
        )
    raise TypeError(f"A column of {codec.kind} can not be learnt anew.")
