"""The isolation forest, kept as arrays."""

from __future__ import annotations

from typing import Any, final

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.utils.validation import check_is_fitted, validate_data

from whyflag.arrays import Matrix
from whyflag.checks import check_whole
from whyflag.detectors.base import Detector
from whyflag.score import Score
from whyflag.score.isolation import IsolationArrays
from whyflag.score.trees import Nodes


@final
class Forest(Detector):
    """Isolation forest; the anomaly score is that of scikit-learn, 2^(−depth / usual depth).

    What random splits isolate soon is anomalous. It asks for no scale of the columns, and a value
    far out of range is no odder than one just out of it.

    Args:
        n_estimators: Trees.
        max_samples: Rows that each tree is grown from, at the most.
        contamination: Part of the training rows that `predict` calls anomalous.
        random_state: Seed of the trees.

    Attributes:
        offset_: `score_samples` below this is anomalous.
    """

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        max_samples: int = 256,
        contamination: float = 0.01,
        random_state: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.contamination = contamination
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, X_valid: Any = None) -> Forest:
        self._check_settings()
        rows: Matrix = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        forest = IsolationForest(
            n_estimators=self.n_estimators,
            max_samples=min(self.max_samples, len(rows)),
            random_state=self.random_state,
        ).fit(rows)
        trees = [each.tree_ for each in forest.estimators_]
        depths = [
            tree.compute_node_depths() - 1.0 + _usual_depth(tree.n_node_samples) for tree in trees
        ]
        values = [-depth / len(trees) for depth in depths]
        nodes = Nodes.of(trees, forest.estimators_features_, values)
        self.usual_depth_ = float(_usual_depth(np.array([forest.max_samples_]))[0])
        self.n_levels_ = max(tree.max_depth for tree in trees)
        self.nodes_ = {name: getattr(nodes, name) for name in _PARTS}
        self.offset_ = self._offset(self._arrays().to_score(), rows)
        return self

    def to_score(self) -> Score:
        """The score, high = anomalous."""
        check_is_fitted(self)
        return self._named(self._arrays().to_score(), self.offset_)

    def _arrays(self) -> IsolationArrays:
        return IsolationArrays(
            Nodes(**self.nodes_), self.usual_depth_, self.n_levels_, self.n_features_in_
        )

    def _check_settings(self) -> None:
        super()._check_settings()
        check_whole("n_estimators", self.n_estimators, at_least=1)
        check_whole("max_samples", self.max_samples, at_least=2)


_PARTS = ("roots", "left", "right", "column", "threshold", "value")


def _usual_depth(n: Any) -> Any:
    """The average depth at which random splits isolate one of n rows, c(n)."""
    n = np.maximum(n, 1)
    harmonic = np.log(np.maximum(n - 1.0, 1.0)) + np.euler_gamma
    return np.where(n == 1, 0.0, np.where(n == 2, 1.0, 2 * harmonic - 2 * (n - 1) / n))
