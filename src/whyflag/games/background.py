"""Reference values: absent features take the values of background rows."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from whyflag.arrays import (
    BoolMatrix,
    IntVector,
    Matrix,
    Tensor,
    Vector,
    check_coalitions,
    check_rows,
)
from whyflag.batches import CALL, batches
from whyflag.checks import check_whole
from whyflag.domain import Domain
from whyflag.games.base import CharacteristicFunction, Game, room, start_count, tiles
from whyflag.games.by_distances import WORTH, CoalitionDistances
from whyflag.games.by_products import CoalitionLogs, shapley_by_products
from whyflag.games.by_trees import shapley_by_trees
from whyflag.nearness import coarse, distance
from whyflag.score import Distances, Products, Score, Trees, evaluate
from whyflag.score.trees import Power

WIDER = 1e-4  # of the sums at the ends of a secant


@final
@dataclass(frozen=True, eq=False)
class Background(CharacteristicFunction):
    """Absent features take the values of reference rows r, on average.

    v(S; x) = Σ_r w_r e(x_S, r_Sᶜ).

    Args:
        rows: One reference row (d,); several (k, d), averaged; or a function that chooses rows
            for each query, (n, d) -> (n, k, d), such as `Nearest`.
        weights: Weights of the k rows; equal if none are given.
    """

    rows: ArrayLike | Callable[[Matrix], Any]
    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        if not callable(self.rows):
            self._normalised_weights(len(check_rows(np.atleast_2d(self.rows), name="rows")))

    def _bind(self, score: Score, domain: Domain, X: Matrix) -> Game:
        references = self._references(X)  # n x k x d
        weights = self._normalised_weights(references.shape[1])  # k
        return _BackgroundGame(score, domain, X, references, weights)

    def _references(self, X: Matrix) -> Tensor:
        n, d = X.shape
        if not callable(self.rows):
            rows = check_rows(np.atleast_2d(np.asarray(self.rows)), d, name="rows")
            return np.broadcast_to(rows, (n, *rows.shape))
        chosen = np.asarray(self.rows(X), dtype=np.float64)
        if chosen.ndim != 3 or chosen.shape[::2] != (n, d) or chosen.shape[1] == 0:
            raise ValueError(
                f"Rows chosen for queries {X.shape} must have shape ({n}, k, {d}), "
                f"got {chosen.shape}."
            )
        check_rows(chosen.reshape(-1, d), name="chosen rows")
        return chosen

    def _normalised_weights(self, k: int) -> Vector:
        if self.weights is None:
            return np.full(k, 1 / k)
        given = np.asarray(self.weights, dtype=np.float64)
        if given.shape != (k,) or not (given >= 0).all() or not 0 < given.sum() < np.inf:
            raise ValueError(
                f"`weights` must be {k} numbers, none negative and not all zero, got {given}."
            )
        return given / given.sum()


@final
class _BackgroundGame(Game):
    def __init__(
        self, score: Score, domain: Domain, X: Matrix, references: Tensor, weights: Vector
    ) -> None:
        self._score = score
        self._domain = domain
        self._X = X
        self._references = references
        self._weights = weights
        self._secant: _Secant | None = None
        self.n_rows, self.n_players = len(X), domain.n_players
        self.n_evaluations = start_count(self.n_rows)

    def __call__(self, coalitions: BoolMatrix, rows: IntVector | None = None) -> Matrix:
        z = check_coalitions(coalitions, self.n_players)
        chosen = self._chosen(rows)
        products = self._score.find(Products)
        if products is not None and products.logarithm:
            return self._by_products(products, z, chosen)
        distances = self._score.find(Distances)
        if distances is not None and len(z) >= WORTH:
            return self._by_distances(distances, z, chosen)
        keep = (self._domain.expand(z) | self._domain.fixed).T  # d x m
        # A value is 1·x + 0·r or 0·x + 1·r: a matrix product chooses faster than a branch.
        choice = np.stack([keep, ~keep], axis=1).astype(np.float64)  # d x 2 x m
        k, d = self._references.shape[1:]
        values = np.empty((len(chosen), len(z)))
        where = room(d, k)
        for tile, some in tiles(len(chosen), len(z), d, k):
            these = chosen[tile]
            r, c = len(these), some.stop - some.start
            options = np.empty((d, k, r, 2))
            options[..., 0] = self._X[these].T[:, None, :]
            options[..., 1] = self._references[these].T
            points = where[: d * k * r * c].reshape(d, k * r, c)
            np.matmul(options.reshape(d, k * r, 2), choice[:, :, some], out=points)
            value = evaluate(self._score, points.reshape(d, -1).T).reshape(k, r, c)
            if self._secant is not None:
                value -= self._secant(value, these)
            values[tile, some] = (self._weights @ value.reshape(k, -1)).reshape(r, c)
            self.n_evaluations[these] += c * k
        return values

    def _by_products(self, products: Products, z: BoolMatrix, chosen: IntVector) -> Matrix:
        """The same of a score that is the logarithm of a sum of products."""
        logs = CoalitionLogs(products.weights, z)
        keep = self._domain.expand(z) | self._domain.fixed  # m x d
        values = np.zeros((len(chosen), len(z)))
        for i, row in enumerate(chosen):
            x = self._X[row]
            present = products.exponents(x[None], self._player, self.n_players)[0]  # p x s
            for r, weight in zip(self._held(row), self._weights, strict=True):
                absent = products.exponents(r[None], self._player, self.n_players)[0]
                value = products.constant - logs(present, absent)  # m
                lost = np.isnan(value)
                if lost.any():
                    value[lost] = evaluate(self._score, np.where(keep[lost], x, r))
                values[i] += weight * value
            self.n_evaluations[row] += len(z) * len(self._weights)
        return values

    def _by_distances(self, distances: Distances, z: BoolMatrix, chosen: IntVector) -> Matrix:
        """The same of a score by the distances to stored rows."""
        keep = self._domain.expand(z) | self._domain.fixed  # m x d
        scores = CoalitionDistances.of(distances, keep)
        values = np.zeros((len(chosen), len(z)))
        for i, row in enumerate(chosen):
            x = self._X[row]
            for r, weight in zip(self._references[row], self._weights, strict=True):
                value = scores(x, r)
                lost = ~np.isfinite(value)
                if lost.any():
                    value[lost] = evaluate(self._score, np.where(keep[lost], x, r))
                values[i] += weight * value
            self.n_evaluations[row] += len(z) * len(self._weights)
        return values

    @property
    def _player(self) -> IntVector:
        """The player that each column belongs to, (d,)."""
        return self._domain.membership.argmax(axis=0)

    def _held(self, rows: Any = slice(None)) -> Tensor:
        """References of some rows, which have the rows' own values in fixed columns."""
        return np.where(self._domain.fixed, self._X[rows][..., None, :], self._references[rows])

    @property
    def parts(self) -> list[_BackgroundGame]:
        """What each reference row adds; all count their evaluations here."""
        parts = []
        for r in range(len(self._weights)):
            part = copy(self)
            part._references, part._weights = self._references[:, [r]], self._weights[[r]]
            part._secant = None if self._secant is None else self._secant.of(r)
            parts.append(part)
        return parts

    def known(self) -> tuple[Matrix, _BackgroundGame | None] | None:
        """Shapley values of a sum of products; of f(s), s a sum over trees, those of its secants.

        The secant that belongs to a reference runs from e(r) to e(x) in s. What it leaves is small,
        and is the rest.
        """
        products, trees = self._score.find(Products), self._score.find(Trees)
        if products is not None and not products.logarithm:
            known = products, self._X, self._held(), self._weights
            return shapley_by_products(*known, self._player, self.n_players), None
        if trees is None:
            return None
        d = self._X.shape[1]
        held = self._held()  # n x k x d
        weights = np.broadcast_to(self._weights, held.shape[:2])  # n x k
        rest = None
        if trees.link is not None:
            rest = copy(self)
            rest._secant = _Secant.between(
                trees.link,
                evaluate(self._score, held.reshape(-1, d)).reshape(weights.shape),
                evaluate(self._score, self._X),
            )
            self.n_evaluations += 1 + weights.shape[1]
            weights = weights * rest._secant.slope
        values = shapley_by_trees(
            trees.nodes,
            trees(self._X),
            trees(held.reshape(-1, d)).reshape(*weights.shape, -1),
            np.ascontiguousarray(weights),
            self._player[trees.sources],
            self.n_players,
        )
        return values, rest


@final
@dataclass(frozen=True)
class _Secant:
    """slope (s − s(r)): what a score f(s) has over e(r), if it were linear up to e(x)."""

    link: Power
    slope: Matrix  # n x k
    start: Matrix  # n x k: s(r)

    @classmethod
    def between(cls, link: Power, references: Matrix, scores: Vector) -> _Secant:
        """From the references' scores, (n, k), to those of the rows, (n,)."""
        start = link.back(references)
        end = np.broadcast_to(link.back(scores)[:, None], start.shape)
        # A little further at both ends: the slope of two that are equal is the tangent's.
        beyond = WIDER * (np.abs(start) + np.abs(end))
        low, high = np.minimum(start, end) - beyond, np.maximum(start, end) + beyond
        return cls(link, (link(high) - link(low)) / (high - low), start)

    def __call__(self, values: Tensor, rows: IntVector) -> Tensor:
        """At scores of some rows: (k, r, c) -> (k, r, c)."""
        sums = self.link.back(values) - self.start[rows].T[:, :, None]
        return self.slope[rows].T[:, :, None] * sums

    def of(self, reference: int) -> _Secant:
        """That of one reference."""
        return _Secant(self.link, self.slope[:, [reference]], self.start[:, [reference]])


@final
class Nearest:
    """Choose for each query its k nearest rows (all, if there are fewer), columns in their scales.

    Near is what `whyflag.nearness.distance` says, summed over the columns: a gross value is far
    from every row, and the rest of the query decides. Of equally near rows the first are taken.

    Args:
        rows: The rows to choose from, (m, d).
        domain: The scales.
        k: Number of rows.
    """

    def __init__(self, rows: Matrix, domain: Domain, k: int = 8) -> None:
        check_whole("k", k, at_least=1)
        self._rows, self._scale = rows, domain.scale
        self._k = min(k, len(rows))
        self._scaled = np.ascontiguousarray((rows / domain.scale).T)  # d x m

    def __call__(self, X: Matrix, weights: Matrix | None = None) -> Tensor:
        """Choose rows: (n, d) -> (n, k, d); with `weights`, (n, d), columns count by them."""
        weights = np.ones_like(X) if weights is None else weights
        queries = zip(X / self._scale, weights, strict=True)
        return np.asarray(self._rows[[self._nearest(x, weight) for x, weight in queries]])

    def _nearest(self, x: Vector, weights: Vector) -> IntVector:
        """Positions of the nearest rows, in their order among all: (d,), (d,) -> (k,)."""
        far = np.zeros(self._scaled.shape[1])
        for some in batches(len(x), len(far), CALL):
            far += weights[some] @ distance(self._scaled[some] - x[some, None])
        far = coarse(far)
        cut = np.partition(far, self._k - 1)[self._k - 1]
        nearer, equal = np.flatnonzero(far < cut), np.flatnonzero(far == cut)
        return np.sort(np.concatenate([nearer, equal[: self._k - len(nearer)]]))
