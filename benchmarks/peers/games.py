"""What all are asked, and the truth of it by other ways."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from whyflag import as_score
from whyflag.arrays import Matrix, Vector
from whyflag.detectors import GMM
from whyflag.score import Score, evaluate

N_REFERENCES = 8
EXACT = 12  # columns up to which the truth counts all coalitions
AT_A_TIME = 2**14  # points of the truth


@dataclass(frozen=True)
class Game:
    """A detector of d columns, rows, and references for what is absent."""

    name: str
    model: Any
    score: Score
    rows: Matrix  # n x d
    references: Matrix  # 8 x d
    asked: list[int] = field(default_factory=lambda: [0])  # points

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.rows.shape[1]

    def __call__(self, X: Any) -> Vector:
        """The scores of points, as a user's function."""
        points = np.asarray(X, np.float64)
        self.asked[0] += len(points)
        return evaluate(self.score, points)

    def worth(self, x: Vector, coalitions: Any) -> Vector:
        """Mean scores with some columns of a row, bool (m, d) -> (m,)."""
        keep = np.asarray(coalitions, np.bool_)
        points = np.where(keep[:, None], x, self.references)  # m x 8 x d
        return self(points.reshape(-1, self.d)).reshape(points.shape[:2]).mean(axis=1)

    def budget(self, share: float = 1) -> int:
        """Coalitions besides none and all: a share of KSH's, and all if there are no more."""
        return int(min(2 * round(share * (self.d + 1024)), 2**self.d - 2))


def game(name: str, d: int, n_rows: int, n_normal: int = 3000) -> Game:
    """Correlated normal rows, and rows with one value moved by five."""
    rng = np.random.default_rng(0)
    mix = np.eye(d) + 0.5 * rng.normal(size=(d, d)) / np.sqrt(d)
    normal, rows = rng.normal(size=(n_normal, d)) @ mix, rng.normal(size=(n_rows, d)) @ mix
    rows[np.arange(n_rows), rng.integers(0, d, n_rows)] += 5
    model = _detector(name).fit(normal)
    score = as_score(model, scale="depth") if name == "forest, depth" else as_score(model)
    return Game(name, model, score, rows, normal[:N_REFERENCES])


def _detector(name: str) -> Any:
    if name == "GMM":
        return GMM(4, random_state=0)
    if name == "LOF":
        return LocalOutlierFactor(novelty=True)
    return OneClassSVM(nu=0.05) if name == "OneClassSVM" else IsolationForest(random_state=0)


def truth(game: Game, n_walks: int) -> tuple[Matrix, float]:
    """Shapley values of the rows, (n, d), and their own relative error."""
    if game.d <= EXACT:
        return np.array([enumerated(game, x) for x in game.rows]), 0.0
    if game.name == "OneClassSVM":
        return np.array([integrated(game, x) for x in game.rows]), 0.0
    found = [walked(game, x, n_walks) for x in game.rows]
    off = [np.linalg.norm(errors) / np.linalg.norm(values) for values, errors in found]
    return np.array([values for values, _ in found]), float(np.mean(off))


def enumerated(game: Game, x: Vector) -> Vector:
    """Σ_S (v(S ∪ i) − v(S)) / (d C(d − 1, |S|)), over all coalitions without i."""
    d = game.d
    coalitions = (np.arange(2**d)[:, None] >> np.arange(d)) % 2 == 1  # 2^d x d
    worth, size = game.worth(x, coalitions), coalitions.sum(axis=1)
    weight = np.array([1 / (d * comb(d - 1, s)) for s in range(d)])
    values = np.zeros(d)
    for i in range(d):
        without = np.flatnonzero(~coalitions[:, i])
        values[i] = weight[size[without]] @ (worth[without + 2**i] - worth[without])
    return values


def walked(game: Game, x: Vector, n: int, seed: int = 1) -> tuple[Vector, Vector]:
    """Values by n permutations and their reverses, drawn for each reference; standard errors."""
    rng, d = np.random.default_rng(seed), game.d
    values, squares = np.zeros(d), np.zeros(d)
    k = len(game.references)
    step = AT_A_TIME // d
    for reference in game.references:
        first, last = game(np.array([reference, x]))
        drawn = []
        for begin in range(0, n, step):
            c = min(step, n - begin)
            place = rng.permuted(np.tile(np.arange(d), (c, 1)), axis=1)  # of each column
            for each in (place, d - 1 - place):
                keep = each[:, None] < np.arange(1, d)[:, None]  # c x (d - 1) x d
                inner = game(np.where(keep, x, reference).reshape(-1, d)).reshape(c, d - 1)
                path = np.hstack([np.full((c, 1), first), inner, np.full((c, 1), last)])
                drawn.append(np.take_along_axis(np.diff(path), each, axis=1))
        pairs = (np.vstack(drawn[::2]) + np.vstack(drawn[1::2])) / 2  # n x d
        values += pairs.mean(axis=0) / k
        squares += pairs.var(axis=0, ddof=1) / n / k**2
    return values, np.sqrt(squares)


def integrated(game: Game, x: Vector) -> Vector:
    """Σ_s c_s ∫₀¹ (aᵢ − bᵢ) Π_{j≠i} (t aⱼ + (1 − t) bⱼ) dt of a sum of Gaussian kernels."""
    vectors, weights = game.model.support_vectors_, -game.model.dual_coef_[0]
    nodes, shares = np.polynomial.legendre.leggauss(128)
    values = np.zeros(game.d)
    for reference in game.references:
        a, b = (np.exp(-game.model._gamma * (row - vectors) ** 2) for row in (x, reference))
        for t, share in zip((nodes + 1) / 2, shares / 2, strict=True):
            mixed = t * a + (1 - t) * b  # s x d
            others = mixed.prod(axis=1, keepdims=True) / mixed
            values += share * weights @ ((a - b) * others) / len(game.references)
    return values
