"""Scores that rise on one side of a column only: is a value on the other side taken for a culprit?

`python -m benchmarks.culprits.one_sided`

A risk score, or the probability of a classifier, often rises with large values only. One value of
each row is moved to the side that raises the score, and another, as far or much further, to the
side that lowers it. Of rows above the 95th percentile of normal scores: which one comes first?
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from whyflag import Explainer
from whyflag.arrays import BoolVector, IntVector, Matrix, Vector
from whyflag.attribution.doubt import doubts_of

COLUMNS = (5, 12)
SEEDS = (7, 8, 9)
MOVED = ((4, -8), (6, -4), (4, -30), (8, -8), (5, -300))  # the one that raises, the one that lowers
METHODS = ("near", "wKSH", "KSH")
N_ROWS = 40


def rows(n: int, causes: Matrix, rng: np.random.Generator) -> Matrix:
    """Columns that follow a few causes."""
    hidden = rng.normal(size=(n, len(causes)))
    return np.asarray(0.5 * hidden @ causes + rng.normal(size=(n, causes.shape[1])))


def scores(normal: Matrix, rng: np.random.Generator) -> dict[str, Callable[[Matrix], Vector]]:
    """Scores that rise with each column; two are learnt from labels."""
    weights = rng.uniform(0.3, 1, normal.shape[1])
    total = normal @ weights
    risky = total + 0.3 * rng.normal(size=len(normal)) > np.quantile(total, 0.9)
    boosted = GradientBoostingClassifier(n_estimators=40, random_state=0).fit(normal, risky)
    forest = RandomForestClassifier(40, min_samples_leaf=3, random_state=0).fit(normal, risky)
    return {
        "sum": lambda X: X @ weights,
        "rectified": lambda X: np.maximum(X, 0) @ weights,
        "squares": lambda X: np.maximum(X, 0) ** 2 @ weights,
        "exponential": lambda X: np.exp(0.7 * X) @ weights,
        "logistic": lambda X: 1 / (1 + np.exp(6 - 2 * X @ weights)),
        "boosted trees": boosted.decision_function,
        "random forest": lambda X: forest.predict_proba(X)[:, 1],
    }


def spoilt(held_out: Matrix, high: float, low: float) -> tuple[Matrix, IntVector, IntVector]:
    """Rows with two values moved; which one raises the score, and which one lowers it."""
    (n, d), rng = held_out.shape, np.random.default_rng(1)
    raising: IntVector = rng.integers(d, size=(n,))
    lowering: IntVector = (raising + rng.integers(1, d, size=(n,))) % d
    X = held_out.copy()
    X[np.arange(n), raising], X[np.arange(n), lowering] = high, low
    return X, raising, lowering


def main() -> None:
    """Print how often each comes first."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--methods", nargs="+", default=METHODS)
    options.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    asked = options.parse_args()
    found: dict[tuple[str, str], list[BoolVector]] = defaultdict(list)
    for seed in asked.seeds:
        for d in COLUMNS:
            rng = np.random.default_rng(seed)
            causes = rng.normal(size=(max(2, d // 3), d))
            normal, held_out = rows(500, causes, rng), rows(N_ROWS, causes, rng)
            for name, score in scores(normal, rng).items():
                alarm = np.quantile(score(normal), 0.95)
                for method in asked.methods:
                    explain = Explainer(score, normal, method)
                    for high, low in MOVED:
                        X, raising, lowering = spoilt(held_out, high, low)
                        said = explain(X)
                        first, values = said.order[:, 0], said.values
                        told = doubts_of(
                            said.shares, values, said.standard_errors, said.feature_names
                        )
                        sure = np.array([not text for text in told])
                        each = (first == raising, first == lowering, (first == lowering) & sure)
                        found[name, method].append(np.array(each)[:, said.scores > alarm])
    print("| score | method | rows | raises: first | lowers: first | and no doubt |")
    print("|---|---|---|---|---|---|")
    for name, method in [*found, *(("all", method) for method in asked.methods)]:
        parts = [
            p for (n, m), ps in found.items() if m == method and name in (n, "all") for p in ps
        ]
        hits = np.concatenate(parts, axis=1)
        figures = " | ".join(f"{share:.3f}" for share in hits.mean(axis=1))
        print(f"| {name} | {method} | {hits.shape[1]} | {figures} |")


if __name__ == "__main__":
    main()
