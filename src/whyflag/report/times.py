"""When rows are from, where a column, or their names, say so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import final

import numpy as np

from whyflag.arrays import Vector
from whyflag.attribution import Attribution
from whyflag.attribution.display import is_redacted, state_of
from whyflag.table.codec import State
from whyflag.table.times import Times, seconds


@final
@dataclass(frozen=True)
class When:
    """Times of rows.

    Attributes:
        name: The column that they are from.
        seconds: Since 1970, n; NaN where a row has no usable time.
        first: When the first row is from, as it is written.
        last: The same of the last.
    """

    name: str
    seconds: Vector
    first: str
    last: str


def times_of(attribution: Attribution) -> When | None:
    """When rows are from; None if nothing says so, or all are from the same time."""
    name, found, texts = "", np.full(len(attribution), np.nan), [""] * len(attribution)
    for j, feature in enumerate(attribution.feature_names):
        codec = attribution.codecs.get(feature)
        is_hidden = is_redacted(attribution, j)
        if not (isinstance(codec, Times) and codec.has_days):
            continue  # times of the day alone are no place in history
        if attribution.shown is not None and not is_hidden:
            # Years that are far from all others would leave no room for these.
            usual = [state_of(attribution, i, j) == State.USUAL for i in range(len(attribution))]
            texts = [str(row.get(feature, "")) for row in attribution.shown]
            found = np.where(usual, seconds(texts, codec.form), np.nan)
            name = feature
            break
    else:
        names = attribution.row_names
        if any(not isinstance(each, (datetime, np.datetime64)) for each in names):
            return None
        found = np.array([np.datetime64(each, "s").astype(np.int64) for each in names], float)
        texts = [str(each) for each in names]
    known = np.flatnonzero(np.isfinite(found))
    if len(known) < 2 or found[known].min() == found[known].max():
        return None
    first, last = (texts[known[k(found[known])]] for k in (np.argmin, np.argmax))
    return When(name, found, first, last)
