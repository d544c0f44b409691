"""Attributions that several tests need."""

from dataclasses import replace

import numpy as np

from whyflag import Attribution


def make(reference=True, grouped=False):
    values = np.array([[1.0, 5.0, 2.0], [-3.0, 0.0, 4.0]])
    membership = np.eye(3, dtype=bool)
    data = np.array([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]])
    if grouped:
        membership = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]], dtype=bool)
        data = np.array([[10.0, 0.0, 1.0, 30.0], [40.0, 1.0, 0.0, 60.0]])
    return Attribution(
        values=values,
        base_values=np.array([0.5, 0.25]),
        scores=values.sum(axis=1) + np.array([0.5, 0.25]),
        data=data,
        feature_names=("age", "dose", "rate"),
        column_names=tuple(f"c{i}" for i in range(data.shape[1])),
        row_names=("r1", "r2"),
        membership=membership,
        evaluations=np.array([10, 20]),
        reference=data - 1 if reference else None,
    )


def alarming(**changes):
    """Both rows are flagged; only in the second one normal is below the alarm."""
    return replace(make(), threshold=0.4, **changes)


def mixed(n=2):
    """A number, a category in three columns, and a group of two, of n rows."""
    data = np.tile([[1234.5678, 0.0, 1.0, 0.0, 7.0, 8.0]], (n, 1))
    return Attribution(
        values=np.tile([[1.0, 3.0, 2.0]], (n, 1)),
        base_values=np.zeros(n),
        scores=np.full(n, 6.0),
        evaluations=np.ones(n, dtype=int),
        reference=np.tile([[0.5, 0.2, 0.3, 0.9, 1.0, 2.0]], (n, 1)),
        data=data,
        row_names=tuple(f"r{i}" for i in range(n)),
        feature_names=("speed", "colour", "lags"),
        column_names=("speed", "red", "green", "blue", "lag1", "lag2"),
        membership=np.array(
            [[1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]], dtype=bool
        ),
        categories={"colour": ("red", "green", "blue")},
        method="own",
    )
