"""JSON that says what it is, so that another file is not taken for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_document(path: Path, kind: str, version: int) -> dict[str, Any]:
    """Read a JSON object of a kind and a version, or say what it is instead."""
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is damaged, or no JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != kind:
        raise ValueError(f"{path} is not of a {kind}.")
    if content.get("version") != version:
        raise ValueError(
            f"{path} is of version {content.get('version')}, this whyflag reads {version}."
        )
    return content
