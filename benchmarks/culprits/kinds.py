"""The kinds of anomaly: how normal rows are spoilt, and who is guilty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final
from zlib import crc32

import numpy as np

from benchmarks.culprits.worlds import World
from whyflag.arrays import BoolMatrix, Matrix

Generator = np.random.Generator
# Values that would take the place of each column's, and where they can: (n, d) and bool (n, d).
Change = Callable[[World, Matrix, Generator], tuple[Matrix, BoolMatrix]]

N_ROWS = 12  # of a cell
FEWEST = 6  # rows that a cell needs
CLEAR = 0.5  # deviations: a value that is turned or stuck was at least so far from the mean
BOUND = 0.6  # share of a column's variance that the others predict, if there is a bond to break
LINKED = 0.5  # |correlation| of columns that are dragged along
UNSEEN = (4.0, 8.0)  # deviations of columns that the detector does not see


@final
@dataclass(frozen=True, eq=False)
class Spoilt:
    """Rows that were spoilt, and who is guilty of it."""

    X: Matrix  # n x d
    guilty: BoolMatrix  # n x p
    root: BoolMatrix  # n x p: who dragged the others along; the guilty, if nobody did


@final
@dataclass(frozen=True)
class Kind:
    """A kind of anomaly.

    Attributes:
        change: What values become.
        counts: Numbers of culprits.
        chain: Whether one culprit drags along those that are correlated with it.
    """

    change: Change
    counts: tuple[int, ...] = (1, 2, 3)
    chain: bool = False


def signs(shape: tuple[int, ...], rng: Generator) -> Matrix:
    """−1 or 1."""
    return rng.choice([-1.0, 1.0], size=shape)


def moved(world: World, rows: Matrix, by: Matrix) -> tuple[Matrix, BoolMatrix]:
    """Values moved by so many deviations; whole ones by whole numbers."""
    step = by * world.deviation
    if world.whole:
        step = np.sign(step) * np.ceil(np.abs(step))
    return rows + step, np.broadcast_to(world.real, rows.shape)


def noise(world: World, rows: Matrix, rng: Generator) -> tuple[Matrix, BoolMatrix]:
    """Noise of one to two deviations."""
    return moved(world, rows, rng.uniform(1, 2, rows.shape) * signs(rows.shape, rng))


def swap(world: World, rows: Matrix, rng: Generator) -> tuple[Matrix, BoolMatrix]:
    """Another row's value."""
    n, d = rows.shape
    values = world.train[rng.integers(len(world.train), size=(n, d)), np.arange(d)]
    return values, world.real & (values != rows)


def beyond(world: World, rows: Matrix, rng: Generator) -> tuple[Matrix, BoolMatrix]:
    """Beyond the range of normal values, by a tenth to a half of it."""
    low, high = world.train.min(axis=0), world.train.max(axis=0)
    out = (high - low) * rng.uniform(0.1, 0.5, rows.shape)
    out = np.ceil(out) if world.whole else out
    values = np.where(rng.random(rows.shape) < 0.5, low - out, high + out)
    return values, np.broadcast_to(world.real, rows.shape)


def gross(world: World, rows: Matrix, rng: Generator) -> tuple[Matrix, BoolMatrix]:
    """Twenty to a million deviations, as many for each culprit of a row."""
    size = np.exp(rng.uniform(np.log(20), np.log(1e6), (len(rows), 1)))
    return moved(world, rows, size * signs(rows.shape, rng))


def sizes(world: World, rows: Matrix, rng: Generator) -> tuple[Matrix, BoolMatrix]:
    """Three to three hundred deviations, of different size in one row."""
    size = np.exp(rng.uniform(np.log(3), np.log(300), rows.shape))
    return moved(world, rows, size * signs(rows.shape, rng))


def clear(world: World, rows: Matrix) -> BoolMatrix:
    """Values that are some way from the mean of their column."""
    return world.real & (np.abs(rows - world.mean) >= CLEAR * world.deviation)


def turned(world: World, rows: Matrix, rng: Generator) -> tuple[Matrix, BoolMatrix]:
    """The sign turned: as far on the other side of the mean."""
    values = 2 * world.mean - rows
    return np.round(values) if world.whole else values, clear(world, rows)


def stuck(world: World, rows: Matrix, rng: Generator) -> tuple[Matrix, BoolMatrix]:
    """Stuck at the mean."""
    values = np.broadcast_to(world.mean, rows.shape)
    return np.round(values) if world.whole else values, clear(world, rows)


def bond(world: World, rows: Matrix, rng: Generator) -> tuple[Matrix, BoolMatrix]:
    """One to two deviations across the middle, where the other columns tell what it should be."""
    inwards = np.where(rows > world.mean, -1.0, 1.0)
    values, real = moved(world, rows, rng.uniform(1, 2, rows.shape) * inwards)
    return values, real & (predicted(world) >= BOUND)


def predicted(world: World) -> Matrix:
    """Share of each real column's variance that the others predict: d."""
    shares = np.zeros(world.n_columns)
    Z = (world.train - world.mean)[:, world.real] / world.deviation[world.real]
    # The diagonal of the inverse correlation is one over what is left of each column's variance.
    left = 1 / np.diag(np.linalg.inv(np.cov(Z.T) + 0.01 * np.eye(Z.shape[1])))
    shares[world.real] = 1 - left
    return shares


def category(world: World, rows: Matrix, rng: Generator) -> tuple[Matrix, BoolMatrix]:
    """Another category, each as likely."""
    values, can = rows.copy(), np.zeros(rows.shape, dtype=np.bool_)
    for group in world.groups.values():
        columns = list(group)
        known = rows[:, columns].argmax(axis=1)
        other = (known + rng.integers(1, len(columns), size=len(rows))) % len(columns)
        values[:, columns] = np.eye(len(columns))[other]
        can[:, columns] = True
    return values, can


# Every second one is of the other half (halves.py), so the order is part of the design.
KINDS: dict[str, Kind] = {
    "noise": Kind(noise),
    "swap": Kind(swap),
    "beyond": Kind(beyond),
    "gross": Kind(gross),
    "sizes": Kind(sizes, counts=(2, 3)),
    "turned": Kind(turned),
    "stuck": Kind(stuck),
    "bond": Kind(bond),
    "category": Kind(category),
    "chain of noise": Kind(noise, counts=(2, 3), chain=True),
    "chain beyond": Kind(beyond, counts=(2, 3), chain=True),
}


def spoil(world: World, kind: str, count: int, *, seed: int, n: int = N_ROWS) -> Spoilt | None:
    """Spoil rows of a world; None where the kind does not apply to it."""
    known = KINDS[kind]
    rng = np.random.default_rng([seed, crc32(f"{world.name}/{kind}/{count}".encode())])
    rows = rng.permutation(world.held_out)
    values, can = known.change(world, rows, rng)
    players = can @ world.membership.T > 0  # m x p: players that can be culprits
    choose = partial(chain, world) if known.chain else together
    chosen = choose(players, count, rng)
    if chosen is None:
        return None
    guilty, root, enough = chosen
    some = np.flatnonzero(enough)[:n]
    if len(some) < FEWEST:
        return None
    change = root @ world.membership  # m x d: columns that take their new values
    X = np.where(change, values, rows)
    if known.chain:
        X = dragged(world, X, rows, guilty & ~root, root)
    if world.unseen:
        X[:, list(world.unseen)] = strange(world, len(X), rng)
    return Spoilt(X[some], guilty[some], root[some])


def together(
    players: BoolMatrix, count: int, rng: Generator
) -> tuple[BoolMatrix, BoolMatrix, BoolMatrix]:
    """So many of the players that can be culprits; and in which rows there are enough of them."""
    keys = np.where(players, rng.random(players.shape), -1.0)
    guilty = np.zeros_like(players)
    np.put_along_axis(guilty, np.argsort(-keys, axis=1)[:, :count], True, axis=1)
    # AUROC needs someone who is not guilty.
    enough = (players.sum(axis=1) >= count) & (count < players.shape[1])
    return guilty & players, guilty & players, enough


def chain(
    world: World, players: BoolMatrix, count: int, rng: Generator
) -> tuple[BoolMatrix, BoolMatrix, BoolMatrix] | None:
    """One culprit, and those that are most correlated with it."""
    linked = np.abs(correlation(world))  # p x p
    followers = np.argsort(-linked, axis=1)[:, : count - 1]  # p x (count − 1)
    drags = np.take_along_axis(linked, followers, axis=1).min(axis=1) >= LINKED  # p
    root, _, enough = together(players & drags, 1, rng)
    guilty = root.copy()
    np.put_along_axis(guilty, followers[root.argmax(axis=1)], True, axis=1)
    return guilty, root, enough & (count < players.shape[1])


def correlation(world: World) -> Matrix:
    """Correlations of players that are one real column each; zero of the others: p x p."""
    real = world.real
    Z = (world.train - world.mean) / np.where(real, world.deviation, 1.0)
    columns = np.where(np.outer(real, real), Z.T @ Z / len(Z), 0.0)  # d x d
    np.fill_diagonal(columns, 0.0)
    members = world.membership.astype(np.float64)
    return members @ columns @ members.T


def dragged(
    world: World, X: Matrix, rows: Matrix, followers: BoolMatrix, root: BoolMatrix
) -> Matrix:
    """Followers moved as their correlation with the root tells."""
    scale = np.where(world.real, world.deviation, 1.0)
    by = ((X - rows) / scale) @ world.membership.T * root  # n x p: the root's move
    moves = by @ correlation(world) * followers @ world.membership * scale  # n x d
    if world.whole:
        moves = np.sign(moves) * np.ceil(np.abs(moves))
    return np.asarray(X + moves)


def strange(world: World, n: int, rng: Generator) -> Matrix:
    """Strange values of the columns that the detector does not see: n x unseen."""
    columns = list(world.unseen)
    by = rng.uniform(*UNSEEN, (n, len(columns))) * signs((n, len(columns)), rng)
    return np.asarray(world.mean[columns] + by * world.deviation[columns])
