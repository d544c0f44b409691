"""Which other features make a value odd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from whyflag.arrays import BoolVector, IntVector, Matrix, Vector
from whyflag.domain import Domain
from whyflag.nearness import coarse, distance
from whyflag.repair.known import Known
from whyflag.repair.trials import Trials

MOST = 3  # features that are named
MOST_ASKED = 20  # features that may make a value odd: those that go with it most
SHARE = 0.2  # of what the repair brings: a feature that makes less odd is not named
ALIKE = 0.25  # scales: a value that is no further away is shared
COMMON = 0.2  # of the rows that share the values: what so many have is not odd for them
ENOUGH = 20  # normal rows that share the values, to count among


@final
@dataclass(frozen=True)
class Context:
    """What makes a value odd that would be normal elsewhere.

    Attributes:
        feature: The feature whose value is odd.
        given: The features that make it so, the most important first; none if it is odd by itself.
        n_alike: How many normal rows have their values; of the first features alone, if few have
            all of them.
        n_as_far: How many of these have a value of the feature that is as far out, or further.
        counted: How many of the features of `given` these rows share.
    """

    feature: int
    given: tuple[int, ...]
    n_alike: int = 0
    n_as_far: int = 0
    counted: int = 0


def context_of(
    x: Vector,
    repaired: Vector,
    feature: int,
    sound: BoolVector,
    i: int,
    known: Known,
    trials: Trials,
) -> Context:
    """Which sound features make the value of one in x odd, where another would be normal.

    A number that no normal row has about is odd by itself. In rows that have it, it is at home.
    Feature k makes it odd if it is odd as soon as these rows have the value of k in x:
    a_k = mean_r [e(r with f, k of x) − e(r with f repaired, k of x)] − the same without k.
    """
    domain, expected = known.domain, known.expected
    own = domain.membership[feature]
    away = np.abs(expected.rows - x) / domain.scale  # m x d
    if own.sum() == 1 and away[:, own].min() > ALIKE:
        return Context(feature, ())
    far = distance(away)
    # Rows with about this value; of several, those that are near in the others as well.
    ranked = coarse(far[:, own].sum(axis=1)) + 1e-6 * far.sum(axis=1)
    rows = expected.rows[expected.nearest(ranked[:, None])[:, 0]]  # k x d
    others = expected.bound_to(feature)
    others = others[sound[others]][:MOST_ASKED]  # f
    brought = domain.membership[others] | domain.fixed  # f x d
    # First nothing but the feature itself: what the others are compared with.
    keep = np.vstack([domain.fixed, brought])
    points = np.where(keep[:, None], x, rows)  # f + 1 x k x d
    odd, usual = points.copy(), points.copy()
    odd[..., own], usual[..., own] = x[own], repaired[own]
    both = np.stack([odd, usual])  # 2 x f + 1 x k x d
    scores = trials.of(both.reshape(-1, len(x)), np.full(both.size // len(x), i))
    oddness = -np.diff(scores.reshape(2, len(keep), -1).mean(axis=2), axis=0)[0]  # f + 1
    added = oddness[1:] - oddness[0]
    # What is odd in rows that are used to it is odd by itself.
    whole = max(float(oddness.max()), 0.0)
    named = [k for k in np.argsort(-added, kind="stable")[:MOST] if added[k] > SHARE * whole]
    return _count(
        Context(feature, tuple(others[named].tolist())), x, repaired, expected.rows, domain
    )


def _count(context: Context, x: Vector, repaired: Vector, rows: Matrix, domain: Domain) -> Context:
    """The context with how common the value is among normal rows that share the others."""
    columns = domain.membership[context.feature]
    if not context.given or columns.sum() > 1:
        return context
    away = np.abs(rows - x) / domain.scale
    for counted in range(len(context.given), 0, -1):
        shared = domain.membership[list(context.given[:counted])].any(axis=0)
        alike: IntVector = np.flatnonzero((away[:, shared] <= ALIKE).all(axis=1))
        if len(alike) >= ENOUGH:
            side = np.sign(x[columns] - repaired[columns])
            as_far = (rows[alike][:, columns] - x[columns]) * side >= 0
            if as_far.mean() > COMMON:
                return Context(context.feature, ())
            return Context(context.feature, context.given, len(alike), int(as_far.sum()), counted)
    return context
