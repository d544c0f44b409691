"""Who a supervised classifier holds responsible for real anomalies (section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import expit

from whyflag.adapters.kernels import KernelExpansion, KernelFunction
from whyflag.arrays import BoolVector, IntVector, Matrix, Vector
from whyflag.explainer import Explainer
from whyflag_paper.datasets import Split

CLEARLY = 2.0  # how many times the second attribution the first must be


def clear_culprits(split: Split, seed: int, most: int) -> tuple[IntVector, IntVector]:
    """The anomalous rows for which a classifier has one clear culprit, and who it is.

    A support vector machine with an RBF kernel learns all normal rows against all anomalous ones,
    balanced by SMOTE. Kernel SHAP attributes the probability that it puts out; the culprit is the
    feature with the largest attribution by magnitude, if that is at least twice the second.

    Args:
        split: The rows.
        seed: Seed of SMOTE and of the choice of rows.
        most: Anomalous rows to look at, at most.

    Returns:
        Positions in `split.test_anomalous`, and columns: (n,), (n,).
    """
    normal = np.vstack([split.train, split.valid, split.test_normal])
    anomalous = split.test_anomalous
    looked_at = np.random.default_rng(seed).permutation(len(anomalous))[:most]
    probability = Classifier.fit(normal, anomalous, seed)
    size = np.abs(Explainer(probability, normal, "KSH")(anomalous[looked_at]).values)
    clear = has_clear_culprit(size)
    return looked_at[clear], size[clear].argmax(axis=1)


def has_clear_culprit(size: Matrix) -> BoolVector:
    """Whether the largest of each row is at least twice the second: (n, d) -> (n,)."""
    ordered = np.sort(size, axis=1)
    return np.asarray(ordered[:, -1] >= CLEARLY * ordered[:, -2])


@final
@dataclass(frozen=True)
class Classifier:
    """The probability that a row is anomalous, by a support vector machine and Platt scaling.

    Attributes:
        decision: The decision value, high = anomalous.
        slope: How steeply the probability's logit rises with it.
        offset: The logit at a decision value of zero.
    """

    decision: KernelExpansion
    slope: float
    offset: float

    @classmethod
    def fit(cls, normal: Matrix, anomalous: Matrix, seed: int) -> Classifier:
        """Learn normal rows against anomalous ones, balanced by SMOTE."""
        from imblearn.over_sampling import SMOTE
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import SVC

        rows = np.vstack([normal, anomalous])
        labels = np.repeat([0, 1], [len(normal), len(anomalous)])
        neighbours = min(5, len(anomalous) - 1)
        rows, labels = SMOTE(random_state=seed, k_neighbors=neighbours).fit_resample(rows, labels)
        machine = SVC().fit(rows, labels)
        # The same number as its `decision_function`, by matrix products.
        decision = KernelExpansion(
            KernelFunction("rbf", machine._gamma),
            machine.support_vectors_,
            -machine.dual_coef_[0],
            float(machine.intercept_[0]),
        )
        platt = LogisticRegression().fit(decision(rows)[:, None], labels)
        return cls(decision, float(platt.coef_[0, 0]), float(platt.intercept_[0]))

    def __call__(self, X: Matrix) -> Vector:
        """Probability of each row: (n, d) -> (n,)."""
        return np.asarray(expit(self.slope * self.decision(X) + self.offset))
