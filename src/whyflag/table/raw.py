"""Columns as a detector takes them, with their gaps: what all kinds of them have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whyflag.arrays import Matrix, Vector
from whyflag.table.codec import GAP, Codec, Read, State
from whyflag.table.sheet import Cells

if TYPE_CHECKING:
    from whyflag.table.holders import Series


class RawColumn(Codec):
    """A column of values that are no texts, or texts that a detector takes as they are.

    Cells are an array of numbers, of times, or of objects, where None is a gap.
    """

    has_gaps: bool

    @abstractmethod
    def cells_in(self, name: str, column: Series) -> Cells:
        """The cells of a column as `read` takes them."""

    @abstractmethod
    def cells(self, values: Matrix) -> Cells:
        """Cells with these numbers: (n, k) -> (n,)."""

    @abstractmethod
    def raw(self, values: Vector) -> Any:
        """The one cell with these numbers, (k,)."""

    @abstractmethod
    def without_gaps(self) -> RawColumn:
        """The same, but for gaps, which have no place of their own any more."""

    @property
    def usual(self) -> Vector | None:
        """Numbers of a cell that every detector takes, (k,); None: those that `read` gives."""
        return None

    def gap(self, name: str) -> str:
        """The name of the 0/1 column that says that there is no value."""
        return f"{name}: {GAP}"


def object_cells(column: Series) -> Cells:
    """Cells as they are; None is a gap."""
    cells = column.astype(object).to_numpy(copy=True)
    cells[column.isna().to_numpy()] = None
    return cells


def gaps_in(cells: Cells) -> NDArray[np.bool_]:
    """Where cells have no value."""
    if cells.dtype.kind in "iub":
        return np.zeros(len(cells), dtype=np.bool_)
    if cells.dtype.kind == "f":
        return np.isnan(cells)
    return np.array([each is None or each != each for each in cells.tolist()], dtype=np.bool_)


def with_others(cells: Cells, which: Sequence[int], others: Sequence[Any]) -> Cells:
    """Cells with others in some places: what is neither a number nor a gap, as it came."""
    import pandas as pd

    gaps = [bool(pd.isna(each)) for each in others]
    if cells.dtype.kind in "mM" and all(gaps):
        found, others = cells.copy(), [np.array("NaT", dtype=cells.dtype)] * len(gaps)
    elif cells.dtype.kind == "f" and all(
        is_gap or isinstance(each, Real) for each, is_gap in zip(others, gaps, strict=True)
    ):
        found = cells.copy()
        others = [np.nan if gap else each for each, gap in zip(others, gaps, strict=True)]
    else:
        found = cells.astype(object)
    for i, each in zip(which, others, strict=True):
        found[i] = each
    return found


def states_of(known: NDArray[np.bool_], gaps: NDArray[np.bool_]) -> NDArray[np.int8]:
    """What cells are that are known, gaps, or neither."""
    return np.where(known, State.USUAL, np.where(gaps, State.GAP, State.UNREADABLE)).astype(np.int8)


def with_gaps(values: Vector, states: NDArray[np.int8], has_gaps: bool) -> Read:
    """Values, and a column that says where there are none if gaps have a place."""
    if not has_gaps:
        return Read(values[:, None], states)
    gaps = states == State.GAP
    return Read(
        np.column_stack([values, gaps]), np.where(gaps, State.USUAL, states).astype(np.int8)
    )
