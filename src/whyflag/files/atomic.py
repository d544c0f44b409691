"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """A place to write to that takes the name of `path` when all is written, and only then."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a folder.")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield beside
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
