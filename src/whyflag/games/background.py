"""Reference values: absent features take the values of background rows."""

from __future__ import annotations

from collections.abc import Callable
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
from whyflag.checks import check_whole
from whyflag.domain import Domain
from whyflag.games.base import CharacteristicFunction, Game, start_count, tiles
from whyflag.nearness import coarse, distance
from whyflag.score import Score, evaluate


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
        self,
        score: Score,
        domain: Domain,
        X: Matrix,
        references: Tensor,
        weights: Vector,
        count: IntVector | None = None,
    ) -> None:
        self._score = score
        self._domain = domain
        self._X = X
        self._references = references
        self._weights = weights
        self.n_rows, self.n_players = len(X), domain.n_players
        self.n_evaluations = start_count(self.n_rows) if count is None else count

    def __call__(self, coalitions: BoolMatrix, rows: IntVector | None = None) -> Matrix:
        z = check_coalitions(coalitions, self.n_players)
        chosen = self._chosen(rows)
        keep = (self._domain.expand(z) | self._domain.fixed).T  # d x m
        # A value is 1·x + 0·r or 0·x + 1·r: a matrix product chooses faster than a branch.
        choice = np.stack([keep, ~keep], axis=1).astype(np.float64)  # d x 2 x m
        k, d = self._references.shape[1:]
        values = np.empty((len(chosen), len(z)))
        for tile, some in tiles(len(chosen), len(z), d, k):
            these = chosen[tile]
            r, c = len(these), some.stop - some.start
            options = np.empty((d, k, r, 2))
            options[..., 0] = self._X[these].T[:, None, :]
            options[..., 1] = self._references[these].T
            points = options.reshape(d, k * r, 2) @ choice[:, :, some]  # d x kr x c
            value = evaluate(self._score, points.reshape(d, -1).T).reshape(k, -1)
            values[tile, some] = (self._weights @ value).reshape(r, c)
            self.n_evaluations[these] += c * k
        return values

    @property
    def parts(self) -> list[_BackgroundGame]:
        """What each reference row adds; all count their evaluations here."""
        return [
            _BackgroundGame(
                self._score,
                self._domain,
                self._X,
                self._references[:, [r]],
                self._weights[[r]],
                self.n_evaluations,
            )
            for r in range(len(self._weights))
        ]


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
        for column, value, weight in zip(self._scaled, x, weights, strict=True):
            if weight > 0:
                far += weight * distance(column - value)
        far = coarse(far)
        cut = np.partition(far, self._k - 1)[self._k - 1]
        nearer, equal = np.flatnonzero(far < cut), np.flatnonzero(far == cut)
        return np.sort(np.concatenate([nearer, equal[: self._k - len(nearer)]]))
