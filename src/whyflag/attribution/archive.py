"""Attributions in a file, and as JSON: arrays and texts, no code."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from whyflag.attribution.base import Attribution
from whyflag.attribution.display import normal, observed
from whyflag.files.atomic import atomically

FORMAT, VERSION = "whyflag attribution", 1
HEAD = "attribution"  # the name of the JSON among the arrays
PLAIN = (str, int, float, bool, type(None))


def save(attribution: Attribution, path: str | Path) -> None:
    """Write an attribution as an archive of NumPy arrays and one JSON text."""
    arrays: dict[str, Any] = {}
    head = {"format": FORMAT, "version": VERSION, **_pack(attribution, arrays, "")}
    arrays[HEAD] = np.array(json.dumps(head))
    with atomically(Path(path)) as beside, beside.open("wb") as file:
        np.savez_compressed(file, **arrays)


def load(path: str | Path) -> Attribution:
    """Read an attribution that `save` wrote, or say why it is none."""
    try:
        with np.load(io.BytesIO(Path(path).read_bytes()), allow_pickle=False) as arrays:
            head = json.loads(str(arrays[HEAD]))
            if head["format"] != FORMAT:
                raise ValueError(f"it is {head['format']!r}")
            if head["version"] != VERSION:
                raise ValueError(f"it is of version {head['version']}, not {VERSION}")
            return _unpack(head, arrays, "")
    except (KeyError, TypeError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is no attribution that whyflag wrote: {error}") from error


def to_json(attribution: Attribution) -> dict[str, Any]:
    """What an attribution says of each row, for a service or a log."""
    flagged = None if attribution.threshold is None else attribution.flagged
    remarks = attribution.remarks
    return {
        "method": attribution.method,
        "settings": _plain(attribution.settings),
        "threshold": attribution.threshold,
        "additive": attribution.additive,
        "rows": [
            {
                "row": _plain(attribution.row_names[i]),
                "score": _finite(attribution.scores[i]),
                "base_value": _finite(attribution.base_values[i]),
                "flagged": None if flagged is None else bool(flagged[i]),
                "remark": remarks[i] or None,
                "features": [_feature(attribution, i, int(j)) for j in attribution.order[i]],
            }
            for i in range(len(attribution))
        ],
    }


def _feature(attribution: Attribution, i: int, j: int) -> dict[str, Any]:
    errors = attribution.standard_errors
    return {
        "feature": attribution.feature_names[j],
        "attribution": _finite(attribution.values[i, j]),
        "error": None if errors is None else _finite(errors[i, j]),
        "observed": observed(attribution, i, j, digits=10),
        "normal": normal(attribution, i, j, digits=6),
    }


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _plain(value: Any) -> Any:
    """A value as JSON has it; what JSON has not is told in words."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return value if isinstance(value, PLAIN) else str(value)


def _pack(attribution: Attribution, arrays: dict[str, Any], where: str) -> dict[str, Any]:
    """All that is no array, as JSON has it; arrays are put with the others."""
    told: dict[str, Any] = {}
    for each in fields(attribution):
        value = getattr(attribution, each.name)
        if isinstance(value, np.ndarray):
            arrays[where + each.name] = value
        elif each.name != "members":
            told[each.name] = _plain(value)
    members = enumerate(attribution.members)
    packed = [_pack(member, arrays, f"{where}members/{k}/") for k, member in members]
    return {"told": told, "members": packed}


def _unpack(head: Mapping[str, Any], arrays: Any, where: str) -> Attribution:
    told = dict(head["told"])
    for name in ("feature_names", "column_names", "row_names"):
        told[name] = tuple(told[name])
    told["categories"] = {name: tuple(known) for name, known in told["categories"].items()}
    told["shown"] = None if told["shown"] is None else tuple(told["shown"])
    own = {
        each.name: arrays[where + each.name]
        for each in fields(Attribution)
        if where + each.name in arrays
    }
    members = tuple(
        _unpack(member, arrays, f"{where}members/{k}/") for k, member in enumerate(head["members"])
    )
    whole = Attribution(**told, **own, members=members)
    n, (p, d) = len(told["row_names"]), whole.membership.shape
    if whole.values.shape != (n, p) or whole.data.shape != (n, d):
        raise ValueError("its parts do not fit together")
    return whole
