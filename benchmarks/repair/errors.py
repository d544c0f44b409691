"""Single errors, as people and machines make them, in rows that were normal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import final
from zlib import crc32

import numpy as np

from benchmarks.culprits.worlds import World
from whyflag.arrays import BoolMatrix, IntVector, Matrix, Vector

Generator = np.random.Generator
# New values of columns in a row, None where the error is no error: (world, row, columns, rng).
Spoil = Callable[[World, Vector, IntVector, Generator], Vector | None]


@final
@dataclass(frozen=True, eq=False)
class Spoilt:
    """Rows with one error each."""

    X: Matrix  # n x d
    truth: Matrix  # n x d
    guilty: BoolMatrix  # n x p: the player that is wrong; both that are swapped


def factor(by: float) -> Spoil:
    """A value in another unit."""
    return lambda world, row, columns, rng: row[columns] * by if row[columns].any() else None


def sign(world: World, row: Vector, columns: IntVector, rng: Generator) -> Vector | None:
    """A value with its sign turned."""
    return -row[columns] if row[columns].any() else None


def other_row(world: World, row: Vector, columns: IntVector, rng: Generator) -> Vector | None:
    """Another row's value."""
    value = world.train[rng.integers(len(world.train)), columns]
    return value if (value != row[columns]).any() else None


def swapped(world: World, row: Vector, columns: IntVector, rng: Generator) -> Vector | None:
    """The values of two columns in one another's place."""
    return row[columns[::-1]] if row[columns[0]] != row[columns[1]] else None


def century(world: World, row: Vector, columns: IntVector, rng: Generator) -> Vector | None:
    """A year in the wrong century."""
    return row[columns] + rng.choice([-100.0, 100.0])


ERRORS: dict[str, Spoil] = {
    "x 10": factor(10),
    "x 1000": factor(1000),
    "x 1e6": factor(1e6),
    "sign": sign,
    "other row": other_row,
    "swapped": swapped,
    "category": other_row,
    "century": century,
}
YEAR = 0  # the column of "dated" worlds that is a year


def spoil(world: World, error: str, n: int) -> Spoilt | None:
    """Spoil up to n held-out rows, once each or each category in turn; None if there are none."""
    rng = np.random.default_rng(crc32(f"{world.name} {error}".encode()))
    categories = world.membership.sum(axis=1) > 1
    players = np.flatnonzero(categories if error == "category" else ~categories)
    if error == "century":
        players = np.array([YEAR] if world.name.startswith("dated") else [], dtype=np.int64)
    # Few wrong categories raise an alarm: each of a row's is spoilt in turn.
    turns = players[:, None] if error == "category" else [players]
    spoilt, truth, guilty = [], [], []
    for row, some in product(world.held_out[:n], turns):
        for _ in range(3 * (len(some) > 0)):  # a value of zero has no sign, and no unit
            who = rng.permutation(some)[: 2 if error == "swapped" else 1]
            columns = np.flatnonzero(world.membership[who].any(axis=0))
            value = ERRORS[error](world, row, columns, rng)
            if value is not None:
                changed = row.copy()
                changed[columns] = value
                spoilt.append(changed)
                truth.append(row)
                guilty.append(np.isin(np.arange(world.n_players), who))
                break
    return Spoilt(np.array(spoilt), np.array(truth), np.array(guilty)) if spoilt else None
