"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory


@contextmanager
def atomically(path: Path) -> Iterator[Path]:
    """A place to write to; `path` gets what was written when all is there, and only then.

    A plain file, or a new one, is renamed into place. What else stands there stays what it is, as
    with `cp`: a link is followed, a pipe or a device is written into.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a folder.")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        with _apart() as whole:
            yield whole
            with whole.open("rb") as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
        return
    beside = path.with_name(f".whyflag-{os.getpid()}-{token_hex(4)}")
    try:
        yield beside
        if path.exists():
            shutil.copymode(path, beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def to_standard_output() -> Iterator[Path]:
    """A place to write to; standard output gets it when all is there, and only then."""
    with _apart() as whole:
        yield whole
        with whole.open(encoding="utf-8", newline="") as source:
            shutil.copyfileobj(source, sys.stdout)
        sys.stdout.flush()


@contextmanager
def _apart() -> Iterator[Path]:
    """A file of our own, in a folder that goes when all is done."""
    with TemporaryDirectory(prefix="whyflag-") as folder:
        whole = Path(folder) / "whole"
        whole.touch()
        yield whole
