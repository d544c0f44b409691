"""A repair as arrays and JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from whyflag.arrays import Matrix
from whyflag.domain import Domain
from whyflag.repair.context import Context
from whyflag.repair.record import Alternative, Repair

# Numbers for each row, and their shapes: rows n, features p, columns d.
SHAPES = {
    "rows": "nd",
    "changed": "np",
    "scores": "n",
    "silenced": "n",
    "lower": "nd",
    "upper": "nd",
    "doubts": "n",
    "evaluations": "n",
    "before": "n",
}


def pack(repair: Repair) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays, and what is left as JSON has it."""
    arrays = {name: getattr(repair, name) for name in SHAPES}
    told = {
        "alarm": repair.alarm,
        "domain": repair.domain.to_json(),
        "choices": [
            {str(feature): values.tolist() for feature, values in each.items()}
            for each in repair.choices
        ],
        "alternatives": [[asdict(other) for other in each] for each in repair.alternatives],
        "usual": [[asdict(other) for other in each] for each in repair.usual],
        "contexts": [None if each is None else asdict(each) for each in repair.contexts],
    }
    return arrays, told


def unpack(
    arrays: Mapping[str, Any], told: Mapping[str, Any], data: Matrix, row_names: tuple[Any, ...]
) -> Repair:
    """The repair of these rows, or why it is none."""
    domain = Domain.from_json(told["domain"])
    sizes = {"n": len(data), "p": domain.n_players, "d": domain.n_columns}
    for name, letters in SHAPES.items():
        shape = tuple(sizes[letter] for letter in letters)
        if np.shape(arrays[name]) != shape or np.asarray(arrays[name]).dtype.kind not in "biuf":
            raise ValueError(f"`{name}` of its repair must be numbers of shape {shape}")
    lists = [told[name] for name in ("choices", "alternatives", "usual", "contexts")]
    if any(len(each) != len(data) for each in lists):
        raise ValueError(f"its repair must be of {len(data)} rows")
    choices, alternatives, usual, contexts = lists
    return Repair(
        **{name: arrays[name] for name in SHAPES},
        choices=tuple(
            {int(feature): np.array(values) for feature, values in each.items()} for each in choices
        ),
        alternatives=_unpack_others(alternatives),
        usual=_unpack_others(usual),
        contexts=tuple(
            None if each is None else Context(**{**each, "given": tuple(each["given"])})
            for each in contexts
        ),
        data=data,
        row_names=row_names,
        alarm=float(told["alarm"]),
        domain=domain,
    )


def _unpack_others(packed: Sequence[Any]) -> tuple[tuple[Alternative, ...], ...]:
    return tuple(
        tuple(Alternative(**{**other, "values": tuple(other["values"])}) for other in each)
        for each in packed
    )
