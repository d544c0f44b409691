"""Results on disk: one JSON file for each cell, there as a whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, final


@final
@dataclass(frozen=True)
class Store:
    """Records by key, in a folder. Several processes may write to it at once.

    A record is written to a file of another name first and renamed when it is complete, so that
    whatever interrupts the program, a record that is there is whole.

    Args:
        folder: Where the records are; made when the first is written.
    """

    folder: Path

    def __contains__(self, key: tuple[str, ...]) -> bool:
        return self._path(key).is_file()

    def write(self, key: tuple[str, ...], record: Mapping[str, Any]) -> None:
        """Write a record; one with the same key is replaced."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"key": list(key), **record}, indent=1, allow_nan=False)
        with NamedTemporaryFile(
            "w", dir=path.parent, prefix=".", suffix=".part", delete=False, encoding="utf-8"
        ) as part:
            part.write(text + "\n")
            part.flush()
            os.fsync(part.fileno())
        Path(part.name).replace(path)

    def read(self, key: tuple[str, ...]) -> dict[str, Any]:
        """Read one record."""
        return self._load(self._path(key))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """All records, in the order of their keys."""
        for path in sorted(self.folder.rglob("*.json")):
            yield self._load(path)

    def _path(self, key: tuple[str, ...]) -> Path:
        for part in key:
            if not part or part != Path(part).name or part.startswith("."):
                raise ValueError(f"Parts of a key must be plain names, got {part!r}.")
        return self.folder.joinpath(*key[:-1], f"{key[-1]}.json")

    def _load(self, path: Path) -> dict[str, Any]:
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise ValueError(f"{path} is no record of this program: {error}.") from error
        if not isinstance(record, dict) or "key" not in record:
            raise ValueError(f"{path} is no record of this program: it has no key.")
        return record
