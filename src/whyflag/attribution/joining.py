"""Attributions of several batches of rows as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whyflag.attribution.base import Attribution
from whyflag.records import join_rows, select_rows
from whyflag.table.originals import Originals

NONE = np.zeros(0, dtype=np.int64)


def concatenate(parts: Sequence[Attribution]) -> Attribution:
    """Put attributions by the same method under one another."""
    if not parts:
        raise ValueError("There must be at least one attribution, got none.")
    for part in parts:
        if part.feature_names != parts[0].feature_names:
            raise ValueError(
                "Attributions under one another must have the same features in the same order, got "
                f"{list(parts[0].feature_names)} and {list(part.feature_names)}."
            )
        for name in ("method", "threshold", "unit"):
            one, other = getattr(parts[0], name), getattr(part, name)
            if one != other:
                raise ValueError(
                    "Attributions under one another must be of one detector, by one method: their "
                    f"`{name}` must be the same, got {one!r} and {other!r}."
                )
    if any(part.repaired is not None for part in parts):
        able = all(part.can_be_repaired for part in parts)
        parts = [replace(part, repaired=part.repair if able else None) for part in parts]
    if any(map(_has_cells, parts)):
        known = [part.originals for part in parts if part.originals is not None]
        none = select_rows(known[0], NONE) if known else None
        parts = [_with_cells(part, none) for part in parts]
    members = tuple(
        concatenate(same) for same in zip(*(part.members for part in parts), strict=True)
    )
    return replace(join_rows(parts), members=members)


def _has_cells(part: Attribution) -> bool:
    return part.added is not None or part.states is not None or part.shown is not None


def _with_cells(part: Attribution, originals: Originals | None) -> Attribution:
    """The attribution with what is said of cells that are not usual, where it has none."""
    if part.originals is None and originals is not None:
        part = replace(part, originals=originals.at(NONE, len(part)))
    usual = np.zeros(part.values.shape)
    return replace(
        part,
        added=usual if part.added is None else part.added,
        states=usual.astype(np.int8) if part.states is None else part.states,
        shown=({},) * len(part) if part.shown is None else part.shown,
    )
