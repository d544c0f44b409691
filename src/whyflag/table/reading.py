"""Rows of files: CSV, JSON, Parquet, Arrow, Feather and Excel, a part at a time."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from whyflag.table.database import is_database, read_database, without_password
from whyflag.table.lines import read_lines
from whyflag.table.objects import read_objects
from whyflag.table.sheet import Sheet
from whyflag.table.streams import STDIN, open_stream, with_head, with_line_feeds
from whyflag.table.told import NOTHING, Told

PARQUET, ARROW, FEATHER, ARCHIVE = b"PAR1", b"ARROW1", b"FEA1", b"PK\x03\x04"
# Files that are no tables of texts, by how they begin.
OTHERS = {
    b"SQLite format 3": "a database: name it as sqlite:///PATH, with --query if need be",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls): save it as .xlsx",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"\x89HDF": "an HDF5 file: pandas.read_hdf reads it in Python",
    b"\x93NUMPY": "an array of NumPy: numpy.load reads it in Python",
    b"\x80\x04": "a pickle, which could run code: it is not read",
    b"\x80\x05": "a pickle, which could run code: it is not read",
    b"\x7fELF": "a program",
    b"7z\xbc\xaf": "a 7z archive: unpack it",
    b"Rar!": "a RAR archive: unpack it",
    b"<!DOCTYPE": "HTML or XML, not a table of texts",
    b"<HTML": "HTML or XML, not a table of texts",
    b"<?XML": "HTML or XML, not a table of texts",
}


def read_sheets(
    source: str | Path,
    *,
    expected: Sequence[str] = (),
    numbers: Collection[str] = (),
    query: str | None = None,
    others: bool = False,
    told: Told = NOTHING,
) -> Iterator[Sheet]:
    """Read a file, standard input as "-", or a database, a part at a time.

    What a file is shows its content, not its name: CSV with any usual separator and encoding, JSON
    (an array, or one object in each line), Parquet, Arrow, Feather or an Excel workbook; a packed
    one (gz, zip, bz2, xz, zst) is unpacked. Every cell is read as a text; what it means, the
    `Schema` says.

    Args:
        source: The file.
        expected: Names that columns should have, which tells a line of names from a row.
        numbers: Columns that are known to hold numbers as programs write them: these are read as
            such, which is faster.
        query: What a database is asked, in SQL.
        others: Whether columns that are not expected are read as well; else these are empty.
        told: How the file is written, so far as it is told; the rest is recognised, and what was
            assumed is among the notes of the first sheet.
    """
    name = name_of(source)
    if query is not None and not is_database(source):
        raise ValueError(f"{name} is no database, so that it can not be asked a query.")
    try:
        with ExitStack() as opened:
            if is_database(source):
                sheets = told.noting(read_database(str(source), query, expected), ())
            else:
                stream = opened.enter_context(open_stream(source))
                sheets = _sheets(stream, expected, numbers, others, told)
            n_rows = 0
            for sheet in sheets:
                n_rows += len(sheet)
                if len(sheet):
                    yield sheet
            if not n_rows:
                raise ValueError("it has names of columns, but no rows")
    except (FileNotFoundError, IsADirectoryError, PermissionError, ImportError):
        raise
    except GeneratorExit:
        raise
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ValueError(
            f"{name} can not be read: it has a byte that is no text (0x{byte:02x}); it is taken to "
            f"be {error.encoding if error.encoding != 'charmap' else 'Windows-1252'}"
        ) from error
    except Exception as error:  # a damaged file fails in more ways than can be told
        said = " ".join(without_password(str(error)).split()) or type(error).__name__
        if not isinstance(error, (ValueError, OSError)):
            said = f"{type(error).__name__}: {said}"
        raise ValueError(f"{name} can not be read: {said}") from error


def name_of(source: str | Path) -> str:
    """What a source is called in messages."""
    return "standard input" if str(source) == STDIN else without_password(str(source))


def _sheets(
    stream: io.BufferedReader,
    expected: Sequence[str],
    numbers: Collection[str],
    others: bool,
    told: Told,
) -> Iterator[Sheet]:
    begin = stream.peek(8)[:8]
    if begin.startswith((PARQUET, ARROW, FEATHER)):
        from whyflag.table.columnar import read_columnar

        return told.noting(read_columnar(stream, is_parquet=begin.startswith(PARQUET)), ())
    if begin.startswith(ARCHIVE):
        from whyflag.table.workbook import read_workbook

        return told.noting(read_workbook(stream, expected, told), ("header", "sheet"))
    file, head, whole = with_head(stream)
    if not head.strip(b"\x00 \t\r\n\xef\xbb\xbf\xff\xfe"):
        raise ValueError("it is empty: it should have a line of column names, and rows")
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in (b"{", b"["):
        return told.noting(read_objects(file, expected), ())
    for mark, what in OTHERS.items():
        if text.startswith(mark) or text[:20].upper().startswith(mark):
            raise ValueError(f"it is {what}")
    file, head = with_line_feeds(file, head), head if b"\n" in head else head.replace(b"\r", b"\n")
    sheets = read_lines(
        file, head, whole=whole, expected=expected, numbers=numbers, others=others, told=told
    )
    return told.noting(sheets, ("header", "separator", "encoding"))
