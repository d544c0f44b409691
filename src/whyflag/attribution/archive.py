"""Attributions in a file, and as JSON: arrays and texts, no code."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from whyflag.attribution.base import Attribution
from whyflag.attribution.display import normal, normal_range, observed
from whyflag.calibration import Calibration
from whyflag.files.atomic import atomically
from whyflag.repair.packing import pack, unpack
from whyflag.table.codecs import codec_from_json, codec_to_json

FORMAT, VERSION = "whyflag attribution", 1
HEAD = "attribution"  # the name of the JSON among the arrays
REPAIR = "repair/"  # where those of its repair are
PLAIN = (str, int, float, bool, type(None))
# What is written in a way of its own, or not at all.
NOT_PLAIN = ("members", "repairer", "repaired", "codecs", "calibration", "originals")
# The arrays and their shapes: rows n, players p, columns d.
SHAPES = {
    "values": "np",
    "base_values": "n",
    "scores": "n",
    "evaluations": "n",
    "reference": "nd",
    "standard_errors": "np",
    "refit_spread": "np",
    "refit_first": "np",
    "ended": "n",
    "fallback": "n",
    "data": "nd",
    "membership": "pd",
    "added": "np",
    "states": "np",
}


def save(attribution: Attribution, path: str | Path) -> None:
    """Write an attribution as an archive of NumPy arrays and one JSON text."""
    arrays: dict[str, Any] = {}
    head = {"format": FORMAT, "version": VERSION, **_pack(attribution, arrays, "")}
    if attribution.can_be_repaired:
        repaired, head["repair"] = pack(attribution.repair)
        arrays |= {REPAIR + name: array for name, array in repaired.items()}
    arrays[HEAD] = np.array(json.dumps(head))
    with atomically(Path(path)) as beside, beside.open("wb") as file:
        np.savez_compressed(file, **arrays)


def load(path: str | Path) -> Attribution:
    """Read an attribution that `save` wrote, or say why it is none."""
    if Path(path).is_dir():
        raise ValueError(f"{path} is no attribution that whyflag wrote: it is a folder.")
    content = Path(path).read_bytes()
    try:
        return _read(content)
    except Exception as error:  # a damaged file fails in more ways than can be told
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} is no attribution that whyflag wrote: {reason}") from error


def to_json(attribution: Attribution) -> dict[str, Any]:
    """What an attribution says of each row, for a service or a log."""
    flagged = None if attribution.threshold is None else attribution.flagged
    severity = None if attribution.calibration is None else attribution.severity
    remarks, order = attribution.remarks, attribution.order
    told = {
        "method": attribution.method,
        "settings": attribution.settings,
        "threshold": attribution.threshold,
        "additive": attribution.additive,
        "rows": [
            {
                "row": attribution.row_names[i],
                "score": attribution.scores[i],
                "base_value": attribution.base_values[i],
                "severity": None if severity is None else severity[i],
                "flagged": None if flagged is None else flagged[i],
                "remark": remarks[i] or None,
                **_repair(attribution, i),
                "features": [_feature(attribution, i, int(j)) for j in order[i]],
            }
            for i in range(len(attribution))
        ],
    }
    return _finite(_plain(told))


def _feature(attribution: Attribution, i: int, j: int) -> dict[str, Any]:
    told = {
        "error": attribution.standard_errors,
        "spread": attribution.refit_spread,
        "first": attribution.refit_first,
    }
    return {
        "feature": attribution.feature_names[j],
        "attribution": attribution.values[i, j],
        **{name: None if each is None else each[i, j] for name, each in told.items()},
        "observed": observed(attribution, i, j, digits=10),
        "normal": normal(attribution, i, j, digits=6),
        **_range(attribution, i, j),
    }


def _range(attribution: Attribution, i: int, j: int) -> dict[str, Any]:
    """How far the normal value can be moved, where that is known."""
    if not attribution.can_be_repaired:
        return {}
    ends = normal_range(attribution, i, j) or (None, None)
    return dict(zip(("lower", "upper"), ends, strict=True))


def _repair(attribution: Attribution, i: int) -> dict[str, Any]:
    """What would end the alarm."""
    if not attribution.can_be_repaired:
        return {}
    repair, names = attribution.repair, attribution.feature_names
    return {
        "sentence": attribution.sentences()[i],
        "repair": {
            "features": [names[j] for j in np.flatnonzero(repair.changed[i])],
            "score": repair.scores[i],
            "silenced": repair.silenced[i],
            "alternatives": [
                {"feature": names[other.feature], "score": other.score}
                for other in repair.alternatives[i]
            ],
            "usual": [names[other.feature] for other in repair.usual[i]],
        },
    }


def _finite(value: Any) -> Any:
    """A plain value with null for the numbers that JSON has not."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _plain(value: Any) -> Any:
    """A value as JSON has it; what JSON has not is told in words."""
    # What `item` makes of a moment in nanoseconds is a bare number.
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return value if isinstance(value, PLAIN) else str(value)


def _timestamp(text: str) -> Any:
    import pandas as pd

    return pd.Timestamp(text)


# Names of rows that JSON has not, by type: what makes them from their text again.
NAMES: dict[str, Callable[[str], Any]] = {
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "datetime64": np.datetime64,
    "Timestamp": _timestamp,
    "NaTType": _timestamp,
}


def _pack_name(name: Any) -> Any:
    """The name of a row as JSON has it: what is not plain goes by its type and a text."""
    kind = type(name).__name__
    if isinstance(name, tuple):
        return {"tuple": [_pack_name(each) for each in name]}
    if isinstance(name, (date, np.datetime64)) and kind in NAMES:
        return {kind: str(name)}
    return _plain(name)


def _unpack_name(packed: Any) -> Any:
    if not isinstance(packed, dict):
        return packed
    ((kind, content),) = packed.items()
    if kind == "tuple":
        return tuple(_unpack_name(each) for each in content)
    return NAMES[kind](content)


def _pack(attribution: Attribution, arrays: dict[str, Any], where: str) -> dict[str, Any]:
    """All that is no array, as JSON has it; arrays are put with the others."""
    told: dict[str, Any] = {}
    for each in fields(attribution):
        value = getattr(attribution, each.name)
        if isinstance(value, np.ndarray):
            arrays[where + each.name] = value
        elif each.name not in NOT_PLAIN:
            told[each.name] = _plain(value)
    told["row_names"] = [_pack_name(name) for name in attribution.row_names]
    told["redacted"] = sorted(attribution.redacted)
    if attribution.calibration is not None:
        told["calibration"] = attribution.calibration.to_json()
    told["codecs"] = {name: codec_to_json(each) for name, each in attribution.codecs.items()}
    members = enumerate(attribution.members)
    packed = [_pack(member, arrays, f"{where}members/{k}/") for k, member in members]
    return {"told": told, "members": packed}


def _read(content: bytes) -> Attribution:
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise ValueError("it is no archive, or only a part of one")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        head = json.loads(str(arrays[HEAD]))
        if head["format"] != FORMAT:
            raise ValueError(f"it is {head['format']!r}")
        if head["version"] != VERSION:
            raise ValueError(f"it is of version {head['version']}, not {VERSION}")
        whole = _unpack(head, arrays, "")
        if "repair" not in head:
            return whole
        given = {name[len(REPAIR) :]: arrays[name] for name in arrays if name.startswith(REPAIR)}
        repaired = unpack(given, head["repair"], whole.data, whole.row_names)
        return replace(whole, repaired=replace(repaired, codecs=whole.codecs))


def _unpack(head: Mapping[str, Any], arrays: Any, where: str) -> Attribution:
    told = dict(head["told"])
    for name in SHAPES:
        if name not in told:
            told[name] = arrays[where + name]
        elif where + name in arrays:
            raise ValueError(f"`{where}{name}` is there twice")
    for name in ("feature_names", "column_names"):
        told[name] = tuple(told[name])
    told["row_names"] = tuple(map(_unpack_name, told["row_names"]))
    told["redacted"] = frozenset(told["redacted"])
    told["categories"] = {name: tuple(known) for name, known in told["categories"].items()}
    told["shown"] = None if told["shown"] is None else tuple(told["shown"])
    told["codecs"] = {name: codec_from_json(each) for name, each in told["codecs"].items()}
    if "calibration" in told:
        told["calibration"] = Calibration.from_json(told["calibration"])
    members = tuple(
        _unpack(member, arrays, f"{where}members/{k}/") for k, member in enumerate(head["members"])
    )
    whole = Attribution(**told, members=members)
    _check_parts(whole, where)
    return whole


def _check_parts(whole: Attribution, where: str) -> None:
    """Refuse parts that do not fit together."""
    sizes = {"n": whole.row_names, "p": whole.feature_names, "d": whole.column_names}
    optional = {each.name for each in fields(whole) if each.default is None}
    for name, letters in SHAPES.items():
        value, shape = getattr(whole, name), tuple(len(sizes[letter]) for letter in letters)
        if value is None and name in optional:
            continue
        if np.shape(value) != shape or np.asarray(value).dtype.kind not in "biuf":
            raise ValueError(
                f"`{where}{name}` must be numbers of shape {shape}, got {np.shape(value)}"
            )
    if whole.shown is not None and len(whole.shown) != len(whole):
        raise ValueError(f"`{where}shown` must be of {len(whole)} rows, got {len(whole.shown)}")
    for member in whole.members:
        if len(member) != len(whole) or member.feature_names != whole.feature_names:
            raise ValueError("its members must have its rows and its features")
