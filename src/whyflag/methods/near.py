"""near: what sets a row apart from the nearest normal rows, as far as the detector sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Tensor, Vector, evenly
from whyflag.bonds import Bonds
from whyflag.checks import check_whole
from whyflag.contributions import Contributions
from whyflag.domain import Domain
from whyflag.games import Nearest
from whyflag.games.base import tiles
from whyflag.methods.base import BoundMethod, Method
from whyflag.nearness import LARGEST, coarse
from whyflag.prepared import Prepared
from whyflag.score import Distances, Score, evaluate, score_moves
from whyflag.score.answers import check_finite

SEEN = 0.05  # of the largest effect in a row: features with less are seen less by the detector
BOND_ROWS = 300  # normal rows that tell how columns go together ...
NEIGHBOURS = 1000  # ... and from which their neighbours are taken
ROUNDINGS = 64  # of a score: an effect that is smaller is none
OUTER = 0.01  # of the normal values, on either side: what is beyond is far out


@final
@dataclass(frozen=True)
class NEAR(Method):
    """The gap between the row's score and that of a normal row near it, divided by evidence.

    The references of x are the k normal rows nearest to it, r. Three questions are asked about each
    feature i, and the answers are averages over the references:

    - first: what does x_i add to a reference? a_i = e(r with x_i) − e(r)
    - last: what does x lose without it? b_i = e(x) − e(x with r_i)
    - apart: how far is x_i from the references, and how odd is that, given the other columns?
      c_i = v_i |δ_i| |ε_i|, with δ_i = (x_i − r̄_i) / scale_i, and ε_i what is left of δ_i when what
      the other columns let expect is taken off, in its standard deviations (`whyflag.bonds`). v_i
      says how far the detector sees the feature: 1 if |a_i| + |b_i| is at least 5 % of the largest
      in the row, and in proportion below. A value that is further out than 99 % of the normal ones
      on its side, and raises the score of no reference but lowers that of some, is on a side that
      the detector takes for normal: its distance does not count

    The share of a feature is s_i ∝ a⁺_i/Σa⁺ + b⁺_i/Σb⁺ + 2 v_i c_i/Σc, where only positive values
    count, and its value is s_i times the gap G = e(x) − e(r*). A feature that makes no difference
    to the detector has no share, however far away it is, unless no single feature does: then all
    have equal ones. Shares are never negative: near says which features set the row apart, and not
    by how much another feature lowers the score; wKSH and ASH do.

    The reference r* is a normal row near x in the features that are not its culprits: of the k
    nearest when a feature counts by 1 − s_i / max s, the one with the lowest score. Where x is no
    more anomalous than r*, G ≤ 0, the value is G (1 − s_i) / (p − 1). Values add up to G.

    It takes k (2p + 3) evaluations a row, and draws nothing. `standard_errors` are those of the
    jackknife: how far the values depend on which normal rows are nearest.

    Args:
        n_references: Number of normal rows, k.
    """

    name: ClassVar[str] = "near"
    needs_background: ClassVar[bool] = True

    n_references: int = 8

    def __post_init__(self) -> None:
        check_whole("n_references", self.n_references, at_least=1)

    def _bind(self, prepared: Prepared) -> BoundMethod:
        rows, domain = prepared.background, prepared.domain
        nearest = Nearest(rows, domain, self.n_references)
        bonds = _bonds(rows, domain, self.n_references)
        some = rows[evenly(len(rows), NEIGHBOURS)]
        usual = np.quantile(some, (OUTER, 1 - OUTER), axis=0)  # 2 x d
        return _BoundNEAR(prepared.score, domain, nearest, bonds, usual)


@final
@dataclass(frozen=True)
class _BoundNEAR(BoundMethod):
    score: Score
    domain: Domain
    nearest: Nearest
    bonds: Bonds
    usual: Matrix  # 2 x d: all but the outermost normal values are between

    def attribute(self, X: Matrix) -> Contributions:
        references = self.nearest(X)  # n x k x d
        worth = self._worth(X, references)  # n x k x (2p + 2)
        share = self._share(X, references, worth)  # n x p
        reference, base = self._counterpart(X, share)
        scores = worth[:, 0, 0].copy()  # a view would keep all of them
        gap = (scores - base)[:, None]  # n x 1
        return Contributions(
            values=gap * np.where(gap > 0, share, self._rest(share)),
            base_values=base,
            scores=scores,
            evaluations=np.full(len(X), worth[0].size + references.shape[1]),
            reference=reference,
            standard_errors=self._errors(X, references, worth, gap),
        )

    def _counterpart(self, X: Matrix, share: Matrix) -> tuple[Matrix, Vector]:
        """A normal row near x in the features that are not its culprits, and its score."""
        innocent = 1 - _divide(share, share.max(axis=1))  # n x p
        # Where all are culprits alike, all count.
        innocent = np.where(innocent.any(axis=1, keepdims=True), innocent, 1.0)
        candidates = self.nearest(X, innocent @ self.domain.membership)  # n x k x d
        candidates = np.where(self.domain.fixed, X[:, None], candidates)
        scores = evaluate(self.score, candidates.reshape(-1, X.shape[1]))
        scores = scores.reshape(candidates.shape[:2])  # n x k
        # Of those that differ by rounding, the first.
        which = np.arange(len(X)), coarse(scores / (self.score.unit or 1.0)).argmin(axis=1)
        return candidates[which], scores[which]

    def _worth(self, X: Matrix, references: Tensor) -> Tensor:
        """Scores with all features, without each one, with none, and with each one alone."""
        alone = self.domain.membership.sum(axis=1) == 1
        if self.score.find(Distances) is not None and alone.all():
            return self._worth_by_moves(X, references)
        (n, d), k, p = X.shape, references.shape[1], self.domain.n_players
        nobody, everybody = np.zeros((1, p), dtype=np.bool_), np.ones((1, p), dtype=np.bool_)
        alone = np.eye(p, dtype=np.bool_)
        coalitions = np.vstack([everybody, ~alone, nobody, alone])  # m x p
        keep = self.domain.expand(coalitions) | self.domain.fixed  # m x d
        worth = np.empty((n, k, len(keep)))
        for rows, some in tiles(n, len(keep), d, k):
            points = np.where(keep[some], X[rows, None, None], references[rows, :, None])
            value = evaluate(self.score, points.reshape(-1, d))  # r x k x c points
            worth[rows, :, some] = value.reshape(-1, k, some.stop - some.start)
        return worth

    def _worth_by_moves(self, X: Matrix, references: Tensor) -> Tensor:
        """The same where each feature is a column, by what moves of single columns score."""
        (n, d), k = X.shape, references.shape[1]
        references = np.where(self.domain.fixed, X[:, None], references)
        columns = self.domain.membership.argmax(axis=1)  # p
        p = len(columns)
        order = np.argsort(columns)
        i, j, r = (each.ravel() for each in np.indices((n, p, k)))
        column = columns[order[j]]
        without = self._moved(X, i, column, references[i, r, column]).reshape(n, p, k)
        i, j = (each.ravel() for each in np.indices((n * k, p)))
        column = columns[order[j]]
        alone = self._moved(references.reshape(-1, d), i, column, X[i // k, column])
        alone = alone.reshape(n, k, p)
        worth = np.empty((n, k, 2 * p + 2))
        worth[..., 0] = evaluate(self.score, X)[:, None]
        worth[..., 1 + order] = without.transpose(0, 2, 1)
        worth[..., p + 1] = evaluate(self.score, references.reshape(-1, d)).reshape(n, k)
        worth[..., p + 2 + order] = alone
        return worth

    def _moved(self, X: Matrix, row: IntVector, column: IntVector, value: Vector) -> Vector:
        scores = score_moves(self.score, X, row, column, value)
        off = np.flatnonzero(~np.isfinite(scores))
        if len(off):
            points = X[row[off]]
            points[np.arange(len(off)), column[off]] = value[off]
            check_finite(scores[off], points)
        return scores

    def _share(self, X: Matrix, references: Tensor, worth: Tensor) -> Matrix:
        """What part of the gap belongs to each feature: (n, p)."""
        p = self.domain.n_players
        alone = worth[:, :, p + 2 :] - worth[:, :, p + 1, None]  # n x k x p
        first = alone.mean(axis=1)  # n x p
        last = (worth[:, :, :1] - worth[:, :, 1 : p + 1]).mean(axis=1)  # n x p
        away = (X - references.mean(axis=1)) / self.domain.scale  # n x d
        away = np.clip(away, -LARGEST, LARGEST)
        odd = np.abs(away * self.bonds.residuals(away))  # n x d
        # What is less than rounding is no effect: else a value of 1e9 deviations would count.
        rounding = ROUNDINGS * self.score.precision * np.abs(worth).max(axis=(1, 2))[:, None]
        first, last = (np.where(np.abs(each) > rounding, each, 0.0) for each in (first, last))
        lowers = (first < 0) & (alone.max(axis=1) <= rounding)  # n x p
        harmless = self._outside(X, away) & (lowers @ self.domain.membership)  # n x d
        odd = np.where(self.domain.fixed | harmless, 0.0, odd)
        apart = odd @ self.domain.membership.T  # n x p
        effect = np.abs(first) + np.abs(last)
        seen = np.minimum(1.0, _divide(effect, SEEN * effect.max(axis=1)))
        evidence = _positive(first) + _positive(last) + 2 * seen * _positive(apart * seen)
        return _positive(np.where(evidence.any(axis=1, keepdims=True), evidence, self._movable))

    def _outside(self, X: Matrix, away: Matrix) -> BoolMatrix:
        """Values beyond nearly all normal ones, on the side on which they left the references."""
        beyond = (X - self.usual[:, None]) / self.domain.scale  # 2 x n x d
        low, high = coarse(np.clip(beyond, -LARGEST, LARGEST))
        return np.where(away < 0, low < 0, high > 0)

    def _rest(self, share: Matrix) -> Matrix:
        """What part of a negative gap belongs to each feature: the less, the larger its share."""
        return _positive(self._movable * (1 - share)) if self._movable.sum() > 1 else share

    def _errors(self, X: Matrix, references: Tensor, worth: Tensor, gap: Matrix) -> Matrix:
        """Standard errors of the values, by leaving out one reference at a time: (n, p)."""
        n, k, d = references.shape
        if k == 1:  # also of a gap of nothing: nobody knows how far it depends on the one
            return np.full((n, self.domain.n_players), np.inf)
        kept = np.array([np.delete(np.arange(k), i) for i in range(k)])  # k x (k − 1)
        shares = self._share(
            np.repeat(X, k, axis=0),
            references[:, kept].reshape(n * k, k - 1, d),
            worth[:, kept].reshape(n * k, k - 1, -1),
        ).reshape(n, k, -1)
        return np.abs(gap) * np.sqrt((k - 1) * shares.var(axis=1))

    @property
    def _movable(self) -> Vector:
        """1 for each feature that has a column which is not fixed, 0 for others: (p,)."""
        free = (self.domain.membership & ~self.domain.fixed).any(axis=1)
        return np.asarray(free, dtype=np.float64)


def _bonds(rows: Matrix, domain: Domain, k: int) -> Bonds:
    """How columns go together in the differences between normal rows and their k neighbours."""
    rows = rows[evenly(len(rows), NEIGHBOURS)]
    some = rows[evenly(len(rows), BOND_ROWS)]
    nearest = Nearest(rows, domain, k + 1)(some)  # each row is its own neighbour as well
    # Where rows are often repeated, their neighbours are copies: what differs is rounding.
    return Bonds.of(coarse((some - nearest.mean(axis=1)) / domain.scale))


def _positive(evidence: Matrix) -> Matrix:
    """Positive values divided by their sum; zero where there is none: (n, p) -> (n, p)."""
    positive = np.maximum(evidence, 0.0)
    return _divide(positive, positive.sum(axis=1))


def _divide(values: Matrix, by: Vector) -> Matrix:
    return np.divide(values, by[:, None], out=np.zeros_like(values), where=by[:, None] > 0)
