"""The world that every detector is tried in, and what must hold of its score."""

import joblib
import numpy as np
import torch

from benchmarks.worlds import correlated_rows, plant
from whyflag import Explainer, as_score

NORMAL = correlated_rows(1000, seed=1)
HELD_OUT = correlated_rows(60, seed=2)
PLANTED, CULPRITS = plant(HELD_OUT, 6, seed=3)
SCALE = NORMAL.std(axis=0)


def found(detector, n=60, method="ASH"):
    """Share of planted rows whose culprit comes first, by ASH."""
    values = Explainer(detector, NORMAL, method)(PLANTED[:n]).values
    return (values.argmax(axis=1) == CULPRITS[:n]).mean()


def assert_gradient_equals_differences(score, rows, rtol=1e-5, mismatches=0.0):
    _, gradient = score.value_and_grad(rows)
    d = rows.shape[1]
    differences = np.empty_like(rows)
    for i, step in enumerate(1e-4 * SCALE[:d] * np.eye(d)):
        differences[:, i] = (score(rows + step) - score(rows - step)) / 2e-4
    # Differences lose digits where a score is large against its slope.
    rounding = rtol * np.abs(differences).max() + 1e-10 * np.abs(score(rows)).max()
    same = np.isclose(gradient * SCALE[:d], differences, rtol=rtol, atol=rounding)
    assert (~same).mean() <= mismatches, (gradient * SCALE[:d], differences)


def fingerprint(value):
    """Everything that a detector holds, in a form that can be compared."""
    if isinstance(value, torch.nn.Module):
        modes = [part.training for part in value.modules()]
        arrays = {name: array.numpy() for name, array in value.state_dict().items()}
        return joblib.hash([modes, arrays])
    if isinstance(value, (torch.optim.Optimizer, torch.Tensor)):
        return str(value)
    if hasattr(value, "__dict__") and not isinstance(value, type):
        parts = {name: fingerprint(part) for name, part in vars(value).items()}
        return joblib.hash([type(value).__name__, parts])
    return joblib.hash(value)


def assert_unchanged_by_explaining(detector):
    before = fingerprint(detector)
    Explainer(as_score(detector), NORMAL)(PLANTED[:2])
    assert fingerprint(detector) == before
