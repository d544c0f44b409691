"""Attributions of several batches of rows as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from whyflag.attribution.base import Attribution
from whyflag.records import join_rows


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
    parts = [_with_cells(part) for part in parts] if any(map(_has_cells, parts)) else parts
    members = tuple(
        concatenate(same) for same in zip(*(part.members for part in parts), strict=True)
    )
    return replace(join_rows(parts), members=members)


def _has_cells(part: Attribution) -> bool:
    return part.added is not None or part.states is not None or part.shown is not None


def _with_cells(part: Attribution) -> Attribution:
    """The attribution with what is said of cells that are not usual, where it has none."""
    usual = np.zeros(part.values.shape)
    return replace(
        part,
        added=usual if part.added is None else part.added,
        states=usual.astype(np.int8) if part.states is None else part.states,
        shown=({},) * len(part) if part.shown is None else part.shown,
    )
