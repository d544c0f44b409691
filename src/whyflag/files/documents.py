"""JSON that says what it is, so that another file is not taken for it, nor a damaged one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whyflag.files.atomic import atomically

CHECKSUM = "checksum"


def read_document(
    path: Path, kind: str, version: int, *, with_checksum: bool = False
) -> dict[str, Any]:
    """Read a JSON object of a kind and a version, or say what it is instead."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged, or no JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != kind:
        raise ValueError(f"{path} is not of a {kind}.")
    if content.get("version") != version:
        raise ValueError(
            f"{path} is of version {content.get('version')}, this whyflag reads {version}."
        )
    if with_checksum and content.pop(CHECKSUM, None) != checksum(content):
        raise ValueError(f"{path} is damaged: its checksum differs.")
    return content


def write_document(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object with a checksum of all that is in it."""
    whole = {**content, CHECKSUM: checksum(content)}
    with atomically(path) as beside:
        beside.write_text(json.dumps(whole, indent=1), encoding="utf-8")


def checksum(content: Mapping[str, Any]) -> str:
    """What differs if anything in a JSON object does."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
