"""The detectors, by family: each is fitted to the columns that it may see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, final

import numpy as np
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from benchmarks.culprits.worlds import World
from whyflag import as_score
from whyflag.arrays import IntVector, Matrix, Vector
from whyflag.detectors import GMM
from whyflag.prepared import Prepared, prepare
from whyflag.score.map import Function, Map

N_SLOW = 300  # training rows of detectors that compare a row with all of them


@final
@dataclass(frozen=True, eq=False)
class Case:
    """A detector in a world: all that a method may know."""

    world: World
    detector: str
    prepared: Prepared
    forest: IsolationForest | None  # of the columns that are seen


@final
@dataclass(frozen=True)
class Fit:
    """How a detector is fitted, and to how many rows at most."""

    fit: Callable[[Matrix], Any]
    n_rows: int | None = None


def scaled(step: Any, rows: Matrix) -> Any:
    """A detector of scikit-learn on standardised rows."""
    return make_pipeline(StandardScaler(), step).fit(rows)


def bandwidth(rows: Matrix) -> float:
    """Scott's rule for standardised rows, and no less than 0.3."""
    n, d = rows.shape
    return max(0.3, float(n ** (-1 / (d + 4))))


def pyod(module: str, name: str, rows: Matrix) -> Any:
    """A detector of PyOD, whose answers do not depend on units."""
    return getattr(import_module(f"pyod.models.{module}"), name)().fit(rows)


def network(rows: Matrix) -> Any:
    """A variational autoencoder of one size."""
    import torch

    from whyflag.detectors import VAE

    torch.set_num_threads(1)
    return VAE(0.4, 1.0, max_updates=3000, random_state=0).fit(rows)


def function(rows: Matrix) -> Any:
    """A plain function that nothing is known of: the distance from the middle, bonds counted."""
    spread = np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0)
    shape = LedoitWolf().fit((rows - rows.mean(axis=0)) / spread)

    def distance(X: Matrix) -> Vector:
        return np.sqrt(shape.mahalanobis((X - rows.mean(axis=0)) / spread))

    return as_score(distance, n_features=rows.shape[1])


DETECTORS: dict[str, Fit] = {
    "GMM": Fit(lambda rows: GMM(random_state=0).fit(rows)),
    "forest": Fit(lambda rows: IsolationForest(random_state=0).fit(rows)),
    "LOF": Fit(lambda rows: scaled(LocalOutlierFactor(novelty=True), rows), N_SLOW),
    "KDE": Fit(lambda rows: scaled(KernelDensity(bandwidth=bandwidth(rows)), rows), N_SLOW),
    "OCSVM": Fit(lambda rows: scaled(OneClassSVM(nu=0.05), rows), N_SLOW),
    "PCA": Fit(lambda rows: scaled(PCA(max(1, rows.shape[1] // 3)), rows)),
    "VAE": Fit(network),
    "HBOS": Fit(partial(pyod, "hbos", "HBOS")),
    "ECOD": Fit(partial(pyod, "ecod", "ECOD")),
    "function": Fit(function),
}


@final
class Seen(Map):
    """The columns that a detector sees, of all that there are."""

    smooth = True

    def __init__(self, columns: tuple[int, ...], n_columns: int) -> None:
        self.n_features = n_columns
        self.sources: IntVector = np.array(columns)
        self._chosen: Matrix = np.eye(n_columns)[:, self.sources]  # d x k
        self.jacobian = self._chosen

    def __call__(self, X: Matrix) -> Matrix:
        return X[:, self.sources]

    def derive(self, X: Matrix) -> tuple[Matrix, Function]:
        return self(X), lambda gradient: gradient @ self._chosen.T

    def scales(self, scale: Vector) -> Vector:
        return scale[self.sources]


def fitted(world: World, name: str) -> Case:
    """Fit a detector to what it may see of a world, and prepare it for explaining."""
    seen = list(world.seen)
    known = DETECTORS[name]
    model = known.fit(world.train[: known.n_rows, seen])
    score = as_score(model)
    if world.unseen:
        score = score.after(Seen(world.seen, world.n_columns))
    groups = {key: list(columns) for key, columns in world.groups.items()}
    prepared = prepare(score, world.train, players=groups)
    if not np.array_equal(prepared.domain.membership, world.membership):
        raise AssertionError(f"The players of {world.name} must be those of its domain.")
    return Case(world, name, prepared, model if isinstance(model, IsolationForest) else None)
