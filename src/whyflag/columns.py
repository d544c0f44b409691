"""Columns by name or position, and the players that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from whyflag.arrays import BoolMatrix, BoolVector, Vector
from whyflag.checks import check_whole

Columns = Sequence[str] | Sequence[int] | Sequence[bool] | BoolVector


@final
@dataclass(frozen=True)
class Names:
    """The names of d columns, and what is said of columns by name, by position or of each.

    >>> Names.of(["age", "height"]).mask(["height"], "fixed")
    array([False,  True])
    """

    names: tuple[str, ...]

    @classmethod
    def of(cls, columns: Sequence[str] | int) -> Names:
        """Read names, or make as many."""
        if isinstance(columns, (int, np.integer)):
            check_whole("columns", columns, at_least=1)
            columns = [f"x{i}" for i in range(int(columns))]
        _refuse_no_list("columns", columns)
        names = tuple(str(name) for name in columns)
        if not names or len(set(names)) < len(names):
            raise ValueError(f"`columns` must be distinct names, at least one, got {list(names)}.")
        return cls(names)

    def position(self, column: Any, what: str) -> int:
        """Where a column stands."""
        if isinstance(column, str) and column in self.names:
            return self.names.index(column)
        if (
            isinstance(column, (int, np.integer))
            and not isinstance(column, bool)
            and 0 <= column < len(self.names)
        ):
            return int(column)
        raise ValueError(
            f"`{what}` must name columns or give positions from 0 to {len(self.names) - 1}, "
            f"got {column!r}."
        )

    def mask(self, chosen: Columns, what: str) -> BoolVector:
        """Which columns are chosen, (d,)."""
        _refuse_no_list(what, chosen)
        given = np.asarray(chosen)
        if given.dtype == np.bool_ and given.shape == (len(self.names),):
            return given.copy()
        mask = np.zeros(len(self.names), dtype=np.bool_)
        for column in chosen:
            mask[self.position(column, what)] = True
        return mask

    def numbers(self, value: ArrayLike, what: str) -> Vector:
        """A number for each column, (d,)."""
        d, given = len(self.names), np.asarray(value, dtype=np.float64)
        if given.shape not in ((), (d,)):
            raise ValueError(f"`{what}` must be a number or have shape ({d},), got {given.shape}.")
        return np.broadcast_to(given, (d,)).copy()


def _refuse_no_list(what: str, given: Any) -> None:
    # The letters of a text may be names too.
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"`{what}` must be a list of columns, got {given!r}.")


def read_players(
    columns: tuple[str, ...], groups: Mapping[str, BoolVector]
) -> tuple[tuple[str, ...], BoolMatrix]:
    """The players' names, and which columns each has: the groups, and all other columns: p x d."""
    masks = dict(groups)
    for name, mask in masks.items():
        if not mask.any():
            raise ValueError(f"A player must have at least one column, {name!r} has none.")
    owners = np.sum(list(masks.values()), axis=0) if masks else np.zeros(len(columns))
    if (owners > 1).any():
        column = columns[int(np.argmax(owners > 1))]
        raise ValueError(f"A column must belong to one player, {column!r} belongs to several.")
    for i in np.flatnonzero(owners == 0):
        if columns[i] in masks:
            raise ValueError(f"Player {columns[i]!r} has the name of a column outside it.")
        masks[columns[i]] = np.arange(len(columns)) == i
    # Players stand in the order of their first columns, so that one column each is no change.
    ordered = sorted(masks.items(), key=lambda item: int(np.argmax(item[1])))
    return tuple(name for name, _ in ordered), np.array([mask for _, mask in ordered])


def read_categories(
    given: Mapping[str, Sequence[str]], groups: Mapping[str, BoolVector]
) -> dict[str, tuple[str, ...]]:
    """The names of the columns of each player that is a category."""
    for name, known in given.items():
        group = groups.get(name)
        if group is None or group.sum() != len(known):
            raise ValueError(
                f"`categories` must name the columns of a player in `players`, one by one, got "
                f"{list(known)} for {name!r}."
            )
    return {name: tuple(map(str, known)) for name, known in given.items()}
