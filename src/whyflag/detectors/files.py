"""Detectors on disk: a folder with arrays and JSON, and nothing that could be run."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from whyflag.detectors.base import Detector
from whyflag.detectors.selection import Selection
from whyflag.files.atomic import atomically
from whyflag.files.documents import read_document

FORMAT = "whyflag detector"
VERSION = 2
JSON, ARRAYS = "detector.json", "arrays.npz"

# The only classes that a file can name.
KNOWN = {"GMM": "gmm", "VAE": "vae", "DAGMM": "dagmm", "Forest": "forest", "LOF": "lof"}


def save(detector: Detector, folder: str | Path) -> None:
    """Write a fitted detector to a folder, which is made if need be.

    Both files replace old ones at once, and the JSON holds the hash of the arrays: whatever
    interrupts this, no mixture of old and new is ever read.
    """
    detector.to_score()  # a detector that is not fitted says so here
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, np.ndarray] = {}
    values: dict[str, Any] = {}
    for name, value in vars(detector).items():
        if not name.endswith("_"):
            continue
        if isinstance(value, dict):
            arrays |= {f"{name}/{key}": np.asarray(part) for key, part in value.items()}
        elif isinstance(value, Selection):
            values[name] = {"selection": value.to_json()}
        elif isinstance(value, np.ndarray) and value.dtype == object:
            values[name] = {"names": [str(part) for part in value]}
        elif isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            values[name] = value.item() if isinstance(value, np.generic) else value
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    content = {
        "format": FORMAT,
        "version": VERSION,
        "detector": type(detector).__name__,
        "settings": detector.get_params(),
        "fitted": values,
        "sha256": hashlib.sha256(buffer.getvalue()).hexdigest(),
    }
    text = json.dumps(content, indent=1, allow_nan=False, default=_plain)
    for name, written in ((ARRAYS, buffer.getvalue()), (JSON, text.encode())):
        with atomically(path / name) as beside:
            beside.write_bytes(written)


def load(folder: str | Path) -> Detector:
    """Read a detector that `save` wrote. Nothing in the files is run."""
    path = Path(folder)
    for name in (JSON, ARRAYS):
        if not (path / name).is_file():
            raise FileNotFoundError(f"{path} holds no whyflag detector: {name} is missing.")
    content = read_document(path / JSON, FORMAT, VERSION)
    if content.get("detector") not in KNOWN:
        raise ValueError(
            f"{path / JSON} must name one of {', '.join(KNOWN)}, got {content.get('detector')!r}."
        )
    blob = (path / ARRAYS).read_bytes()
    if hashlib.sha256(blob).hexdigest() != content.get("sha256"):
        raise ValueError(
            f"{path / ARRAYS} is damaged, or does not belong to {JSON}: its hash differs."
        )
    module = import_module(f"whyflag.detectors.{KNOWN[content['detector']]}")
    try:
        return _restore(getattr(module, content["detector"]), content, blob)
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        zipfile.BadZipFile,
    ) as error:
        raise ValueError(f"{path} holds a detector that does not fit together: {error}") from error


def _restore(known: Any, content: dict[str, Any], blob: bytes) -> Detector:
    detector: Detector = known(**{key: _tuples(v) for key, v in content["settings"].items()})
    for name, value in content["fitted"].items():
        if isinstance(value, dict) and "selection" in value:
            value = Selection.from_json(value["selection"])
        elif isinstance(value, dict):
            value = np.array(value["names"], dtype=object)
        _set(detector, name, value)
    with np.load(io.BytesIO(blob), allow_pickle=False) as arrays:
        for key in arrays.files:
            name, _, part = key.partition("/")
            if part:
                if not isinstance(getattr(detector, name, None), dict):
                    _set(detector, name, {})
                getattr(detector, name)[part] = arrays[key]
            else:
                _set(detector, name, arrays[key])
    # Parts that do not fit together show themselves now, not at the first alarm.
    detector.score_samples(_sample(detector))
    return detector


def _sample(detector: Detector) -> Any:
    row = np.zeros((1, detector.n_features_in_))
    if not hasattr(detector, "feature_names_in_"):
        return row
    import pandas as pd

    return pd.DataFrame(row, columns=detector.feature_names_in_)


def _set(detector: Detector, name: str, value: Any) -> None:
    if not name.endswith("_") or name.startswith("_"):
        raise ValueError(f"{name!r} is no fitted attribute")
    setattr(detector, name, value)


def _tuples(value: Any) -> Any:
    """JSON has no tuples, and settings no lists."""
    return tuple(value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays, which settings may hold, as JSON has them."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"A detector with the setting {value!r} can not be saved.")
