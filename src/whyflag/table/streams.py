"""Files as streams of bytes, whatever they are packed in."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast, final

from whyflag.extras import require
from whyflag.progress import Bar, work

HEAD = 2**16  # bytes by which a file is recognised, at least
FEW_LINES = 50  # with this many lines, or more bytes are looked at
LONGEST = 2**26  # bytes that are looked at in the end
STDIN = "-"
MOST_PACKED = 2  # times that a table may be packed in an archive


@contextmanager
def open_stream(source: str | Path) -> Iterator[io.BufferedReader]:
    """A file, or standard input as "-", unpacked."""
    with ExitStack() as opened:
        if str(source) == STDIN:
            # How far a buffer sees ahead is its size, and that of standard input is small.
            file = opened.enter_context(io.BufferedReader(cast(Any, sys.stdin.buffer), HEAD))
        else:
            path = Path(source)
            if path.is_dir():
                raise IsADirectoryError(f"{path} is a folder, not a table.")
            if not path.exists():
                raise FileNotFoundError(f"{path} does not exist.")
            raw = opened.enter_context(_Watched(path))
            raw.bar = opened.enter_context(work("reading", "byte", path.stat().st_size))
            file = opened.enter_context(io.BufferedReader(raw, HEAD))
        yield _unpacked(file, opened)


def with_head(file: io.BufferedReader) -> tuple[io.BufferedReader, bytes, bool]:
    """A file with its first bytes, which are still to be read, and whether these are all."""
    head = b""
    while len(head) < LONGEST and (len(head) < HEAD or head.count(b"\n") < FEW_LINES):
        more = file.read(max(HEAD, len(head)))
        if not more:
            return io.BufferedReader(Joined(head, file)), head, True
        head += more
    return io.BufferedReader(Joined(head, file)), head, False


def with_line_feeds(file: io.BufferedReader, head: bytes) -> io.BufferedReader:
    """A file whose lines end with a line feed, also if it has carriage returns alone."""
    if b"\r" not in head or b"\n" in head:
        return file
    return io.BufferedReader(LineFeeds(file), HEAD)


def _unpacked(
    file: io.BufferedReader, opened: ExitStack, depth: int = MOST_PACKED
) -> io.BufferedReader:
    """What is packed in a file, by its first bytes; the file itself if it is not packed."""
    begin = file.peek(8)[:8]
    if begin.startswith(b"PK\x03\x04"):
        inner = _of_archive(file, opened)
        return inner if inner is file or not depth else _unpacked(inner, opened, depth - 1)
    if begin.startswith(b"\x28\xb5\x2f\xfd"):
        pa: Any = require("pyarrow", "Reading zst", extra="parquet")
        whole = opened.enter_context(pa.PythonFile(file, mode="r"))
        packed: Any = Joined(b"", opened.enter_context(pa.CompressedInputStream(whole, "zstd")))
        return opened.enter_context(io.BufferedReader(packed, HEAD))
    for mark, module in ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ", lzma)):
        if begin.startswith(mark):
            unpacked = opened.enter_context(module.open(file))
            return opened.enter_context(io.BufferedReader(cast(Any, unpacked), HEAD))
    return file


def _of_archive(file: io.BufferedReader, opened: ExitStack) -> io.BufferedReader:
    """The one file of an archive; a workbook is an archive too, and stays what it is."""
    whole = file if file.seekable() else io.BufferedReader(cast(Any, io.BytesIO(file.read())))
    archive = opened.enter_context(zipfile.ZipFile(whole))
    names = [each for each in archive.namelist() if not each.endswith("/")]
    if any(name.startswith("xl/") for name in names):
        whole.seek(0)
        return whole
    names = [each for each in names if not each.startswith("__MACOSX/")]
    if len(names) != 1:
        raise ValueError(
            f"an archive should hold one table, this one holds {len(names)}: "
            f"{', '.join(names[:5])}. Unpack it and name one"
        )
    packed = opened.enter_context(archive.open(names[0]))
    return opened.enter_context(io.BufferedReader(cast(Any, packed), HEAD))


@final
class LineFeeds(io.RawIOBase):
    """The bytes of a file with line feeds for carriage returns."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._file.read(len(buffer)).replace(b"\r", b"\n")
        buffer[: len(part)] = part
        return len(part)


@final
class _Watched(io.FileIO):
    """A file that tells how much of it has been read."""

    bar: Bar

    def readinto(self, buffer: Any, /) -> int:
        n = super().readinto(buffer)
        self.bar.update(n)
        return n


@final
class Joined(io.RawIOBase):
    """Bytes that were read already, and the rest of their file."""

    def __init__(self, begin: bytes, rest: Any) -> None:
        self._begin, self._rest = memoryview(begin), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part: Any = self._begin[: len(buffer)]
        if not len(part):
            part = self._rest.read(len(buffer))
        self._begin = self._begin[len(part) :]
        buffer[: len(part)] = part
        return len(part)
