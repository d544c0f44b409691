"""The worlds: normal rows to train on, and normal rows to spoil."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import final
from zlib import crc32

import numpy as np
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine

from benchmarks.culprits import made
from benchmarks.worlds import benign_tumours
from whyflag.arrays import BoolMatrix, BoolVector, Matrix, Vector

N_TRAIN, N_HELD_OUT = 600, 30  # at most
SHARE = 0.7  # of the rows, to train on


@final
@dataclass(frozen=True, eq=False)
class World:
    """Normal rows, and what is known of their columns.

    Attributes:
        name: As in the table.
        train: Rows to train on, (n, d).
        held_out: Normal rows to spoil, (m, d).
        groups: Columns of one player, by its name: the one-hot columns of a category.
        whole: Whether all values are whole numbers.
        unseen: Columns that the detector never sees.
    """

    name: str
    train: Matrix
    held_out: Matrix
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    whole: bool = False
    unseen: tuple[int, ...] = ()

    @property
    def n_columns(self) -> int:
        """The number of columns, d."""
        return self.train.shape[1]

    @property
    def seen(self) -> tuple[int, ...]:
        """Columns that the detector sees."""
        return tuple(j for j in range(self.n_columns) if j not in self.unseen)

    @cached_property
    def membership(self) -> BoolMatrix:
        """The columns of each player, in the order of their first columns: p x d."""
        owned = {j for group in self.groups.values() for j in group}
        single = [(j,) for j in range(self.n_columns) if j not in owned]
        players = sorted([*single, *self.groups.values()])
        masks = np.zeros((len(players), self.n_columns), dtype=np.bool_)
        for mask, columns in zip(masks, players, strict=True):
            mask[list(columns)] = True
        return masks

    @property
    def n_players(self) -> int:
        """The number of players, p."""
        return len(self.membership)

    @cached_property
    def mean(self) -> Vector:
        """Mean of each column."""
        return np.asarray(self.train.mean(axis=0))

    @cached_property
    def deviation(self) -> Vector:
        """Standard deviation of each column; zero where rounding is all there is."""
        deviation = self.train.std(axis=0)
        return np.where(deviation > 1e-12 * np.abs(self.train).max(axis=0), deviation, 0.0)

    @cached_property
    def real(self) -> BoolVector:
        """Columns that are no part of a category, that vary, and that the detector sees: d."""
        real = self.deviation > 0
        for group in self.groups.values():
            real[list(group)] = False
        real[list(self.unseen)] = False
        return real


def divided(name: str, rows: Matrix, **known: object) -> World:
    """A world of normal rows, some to train on and some to spoil."""
    rows = np.random.default_rng(0).permutation(np.asarray(rows, dtype=np.float64))
    cut = min(N_TRAIN, int(SHARE * len(rows)))
    return World(name, rows[:cut], rows[cut : cut + N_HELD_OUT], **known)  # type: ignore[arg-type]


def drawn(make: Callable[..., Matrix], *settings: object, name: str, **known: object) -> World:
    """A world of made rows."""
    rng = np.random.default_rng(crc32(name.encode()))
    return divided(name, make(N_TRAIN + 300, *settings, rng), **known)


def mixed(name: str, n_real: int, sizes: tuple[int, ...]) -> World:
    """A world of reals and categories."""
    ends = n_real + np.cumsum(sizes)
    groups = {
        f"category {i}": tuple(range(end - size, end))
        for i, (size, end) in enumerate(zip(sizes, ends.tolist(), strict=True))
    }
    return drawn(made.mixed, n_real, sizes, name=name, groups=groups)


def of_paper(name: str) -> World:
    """The training and the validation rows of a data set of the paper; its test rows stay out."""
    from whyflag_paper.datasets import load, split

    dataset = load(name)
    parts = split(dataset, seed=0)
    position = {column: j for j, column in enumerate(dataset.columns)}
    groups = {key: tuple(position[c] for c in columns) for key, columns in dataset.groups.items()}
    return World(name, parts.train[:N_TRAIN], parts.valid[:N_HELD_OUT], groups)


def blind(name: str, world: str, n_unseen: int) -> World:
    """A world with columns of noise that the detector never sees."""
    known, rng = load_world(world), np.random.default_rng(crc32(name.encode()))
    train, held_out = (
        np.hstack([rows, rng.normal(size=(len(rows), n_unseen))])
        for rows in (known.train, known.held_out)
    )
    unseen = tuple(range(known.n_columns, known.n_columns + n_unseen))
    return replace(known, name=name, train=train, held_out=held_out, unseen=unseen)


# What has two members is in both halves (halves.py), so the order is part of the design.
WORLDS: dict[str, Callable[..., World]] = {
    "wine": lambda name: divided(name, load_wine().data),
    "tumours": lambda name: divided(name, benign_tumours()),
    "diabetes": lambda name: divided(name, load_diabetes(scaled=False).data),
    "digits": lambda name: divided(name, load_digits().data, whole=True),
    "iris": lambda name: divided(name, load_iris().data),
    "Thyroid": of_paper,
    "Musk": of_paper,
    "Arrhythmia": of_paper,
    "BreastW": of_paper,
    "U2R": of_paper,
    "Lympho": of_paper,
    "gaussian 6": lambda name: drawn(made.gaussian, 6, name=name),
    "gaussian 20": lambda name: drawn(made.gaussian, 20, name=name),
    "gaussian 60": lambda name: drawn(made.gaussian, 60, name=name),
    "gaussian 200": lambda name: drawn(made.gaussian, 200, name=name),
    "curved 24": lambda name: drawn(made.curved, 24, name=name),
    "curved 8": lambda name: drawn(made.curved, 8, name=name),
    "clusters 10": lambda name: drawn(made.clusters, 10, name=name),
    "clusters 30": lambda name: drawn(made.clusters, 30, name=name),
    "heavy 40": lambda name: drawn(made.heavy, 40, name=name),
    "heavy 8": lambda name: drawn(made.heavy, 8, name=name),
    "mixed 20": partial(mixed, n_real=8, sizes=(3, 4, 5)),
    "mixed 40": partial(mixed, n_real=18, sizes=(3, 4, 4, 5, 6)),
    "integers 10": lambda name: drawn(made.integers, 10, name=name, whole=True),
    "integers 32": lambda name: drawn(made.integers, 32, name=name, whole=True),
    "collinear 100": lambda name: drawn(made.collinear, 100, name=name),
    "collinear 12": lambda name: drawn(made.collinear, 12, name=name),
    "blind gaussian": partial(blind, world="gaussian 6", n_unseen=2),
    "blind wine": partial(blind, world="wine", n_unseen=1),
    "blind tumours": partial(blind, world="tumours", n_unseen=3),
    "blind clusters": partial(blind, world="clusters 30", n_unseen=3),
}
OF_PAPER = frozenset(name for name, make in WORLDS.items() if make is of_paper)


@lru_cache(maxsize=2)
def load_world(name: str) -> World:
    """A world by its name."""
    return WORLDS[name](name)


def missing_worlds() -> dict[str, str]:
    """The worlds whose rows are not on this machine, and why."""
    from whyflag_paper.datasets.catalogue import DATASETS
    from whyflag_paper.datasets.raw_files import find

    return {
        name: "no raw data: set WHYFLAG_DATA"
        for name in WORLDS
        if name in OF_PAPER and not all(find(file) for file in DATASETS[name].files)
    }
