"""The worlds: tables as people write them, with decimals, whole numbers, categories and years."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from benchmarks.culprits import worlds
from benchmarks.culprits.worlds import World
from whyflag.arrays import Matrix

DIGITS = 2  # significant ones of a deviation: more is seldom measured


def written(world: World) -> World:
    """The same world with its made values rounded, as a person or a sensor writes them."""
    size = np.where(world.deviation > 0, world.deviation, 1.0)
    decimals = np.maximum(DIGITS - np.floor(np.log10(size)).astype(int), 0)
    hot = world.membership[world.membership.sum(axis=1) > 1].any(axis=0)

    def rounded(rows: Matrix) -> Matrix:
        columns = [np.round(column, k) for column, k in zip(rows.T, decimals, strict=True)]
        return np.where(hot, rows, np.array(columns).T)

    return replace(world, train=rounded(world.train), held_out=rounded(world.held_out))


def dated(n: int, rng: np.random.Generator) -> Matrix:
    """Machines: year, power, weight, price, doors; what is newer is stronger and dearer."""
    year = rng.integers(1985, 2025, size=n)
    power = 60 + 2.5 * (year - 1985) + rng.normal(0, 15, n)
    weight = 800 + 6 * power + rng.normal(0, 80, n)
    price = np.exp(8 + 0.03 * (year - 1985) + 0.004 * power + rng.normal(0, 0.15, n))
    doors = np.where(weight > 1400, 5, rng.choice([3, 5], size=n))
    return np.column_stack([year, power.round(), weight.round(), price.round(), doors])


KINDS = (5, 4, 3)  # values of the categories of "goods"


def goods(n: int, rng: np.random.Generator) -> Matrix:
    """Goods of five kinds: six measures that go by the kind, and categories that do, mostly."""
    kind = rng.integers(KINDS[0], size=n)
    centres = 2 * rng.normal(size=(KINDS[0], 6))
    bonds = rng.normal(size=(2, 6))
    measures = centres[kind] + rng.normal(size=(n, 2)) @ bonds + 0.4 * rng.normal(size=(n, 6))
    hot = [np.eye(KINDS[0])[kind]]
    for size in KINDS[1:]:
        usual = rng.integers(size, size=KINDS[0])[kind]
        other = rng.random(n) < 0.02
        hot.append(np.eye(size)[np.where(other, rng.integers(size, size=n), usual)])
    return np.hstack([measures, *hot])


def with_kinds() -> World:
    """The world of goods, whose categories are three players."""
    ends = 6 + np.cumsum(KINDS)
    groups = {
        f"category {i}": tuple(range(end - size, end))
        for i, (size, end) in enumerate(zip(KINDS, ends.tolist(), strict=True))
    }
    return written(worlds.drawn(goods, name="goods 18", groups=groups))


WORLDS: dict[str, Callable[[], World]] = {
    **{
        name: lambda name=name: worlds.load_world(name)  # type: ignore[misc]
        for name in ("wine", "iris", "tumours", "diabetes", "digits", "integers 10")
    },
    **{
        name: lambda name=name: written(worlds.load_world(name))  # type: ignore[misc]
        for name in (
            "gaussian 6",
            "curved 8",
            "mixed 20",
            "gaussian 20",
            "clusters 10",
            "heavy 8",
            "collinear 12",
            "mixed 40",
        )
    },
    "dated 5": lambda: worlds.drawn(dated, name="dated 5"),
    "goods 18": with_kinds,
}
# Settings were chosen on these; the others took no part in it.
CHOOSING = ("wine", "iris", "gaussian 6", "curved 8", "mixed 20", "integers 10")


@lru_cache(maxsize=2)
def load_world(name: str) -> World:
    """A world by its name."""
    return WORLDS[name]()
