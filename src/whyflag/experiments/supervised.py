"""Who a supervised classifier holds responsible for real anomalies (section 4.3)."""

from __future__ import annotations

import numpy as np

from whyflag.adapters.kernels import KernelExpansion, KernelFunction
from whyflag.arrays import IntVector, Matrix
from whyflag.datasets import Split
from whyflag.explainer import Explainer
from whyflag.extras import require

CLEARLY = 2.0  # how many times the second attribution the first must be


def clear_culprits(split: Split, seed: int) -> tuple[IntVector, IntVector]:
    """The anomalous rows for which a classifier has one clear culprit, and who it is.

    A support vector machine with an RBF kernel learns all normal rows against all anomalous ones,
    balanced by SMOTE. Kernel SHAP attributes its decision value; the culprit is the feature with
    the largest attribution by magnitude, if that is at least twice the second.

    Returns:
        Positions in `split.test_anomalous`, and columns: (n,), (n,).
    """
    normal = np.vstack([split.train, split.valid, split.test_normal])
    anomalous = split.test_anomalous
    score = decision_value(normal, anomalous, seed)
    size = np.abs(Explainer(score, normal, "KSH")(anomalous).values)
    ordered = np.sort(size, axis=1)
    clear = np.flatnonzero(ordered[:, -1] >= CLEARLY * ordered[:, -2])
    return clear, size[clear].argmax(axis=1)


def decision_value(normal: Matrix, anomalous: Matrix, seed: int) -> KernelExpansion:
    """The decision value of the classifier, high = anomalous."""
    require("imblearn", "Balancing the classes", extra="reproduce")
    from imblearn.over_sampling import SMOTE
    from sklearn.svm import SVC

    rows = np.vstack([normal, anomalous])
    labels = np.repeat([0, 1], [len(normal), len(anomalous)])
    neighbours = min(5, len(anomalous) - 1)
    rows, labels = SMOTE(random_state=seed, k_neighbors=neighbours).fit_resample(rows, labels)
    machine = SVC().fit(rows, labels)
    # The same number as its `decision_function`, by matrix products.
    return KernelExpansion(
        KernelFunction("rbf", machine._gamma),
        machine.support_vectors_,
        -machine.dual_coef_[0],
        float(machine.intercept_[0]),
    )
