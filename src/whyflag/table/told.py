"""What is told of how a file is written, and what of it was assumed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, final

from whyflag.table.sheet import Sheet

TOLD = {
    "separator": "separator",
    "header": "line of names",
    "sheet": "sheet",
    "encoding": "encoding",
}


@final
class Assumed(str):
    """A sentence on what was assumed.

    Attributes:
        about: What it is about, so that a reader can be told how to say it otherwise: "header",
            "separator", "encoding", "sheet", "totals", "type" (of a column) or "id".
    """

    about: str

    def __new__(cls, text: str, about: str = "") -> Assumed:
        """Make one; without `about` it is a note like others."""
        made = super().__new__(cls, text)
        made.about = about
        return made

    @classmethod
    def of(cls, note: str, where: str) -> Assumed:
        """A note with what it was found in before it."""
        return cls(f"{where}: {note}", getattr(note, "about", ""))


@final
@dataclass(frozen=True)
class Told:
    """How a file is written, so far as it is told; all else is recognised.

    Attributes:
        separator: What stands between the fields of a line.
        header: The line that has the names of the columns, from 1; 0: none has, and the first line
            is a row. In a workbook, the row of the sheet.
        below: How many lines below that of the names, such as one of units, are no rows.
        sheet: The name of a workbook's sheet.
        encoding: How characters are written, by a name that Python knows ("cp1252").
    """

    separator: str | None = None
    header: int | None = None
    below: int | None = None
    sheet: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        mark = self.separator
        if mark is not None and not (
            isinstance(mark, str)
            and len(mark) == 1
            and mark.isascii()
            and not mark.isalnum()
            and mark not in '"\r\n\x00'
        ):
            raise ValueError(
                "a separator should be one character, and no letter, digit or quote, got "
                f"{str(mark)!r}"
            )
        if self.encoding is not None and not _is_encoding(self.encoding):
            raise ValueError(
                f"no encoding {str(self.encoding)!r} is known: 'utf-8', 'cp1252' (Windows) and "
                "'latin-1' are some"
            )
        for name in ("header", "below"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 0):
                raise ValueError(f"`{name}` should be a whole number from 0, got {value!r}")

    @property
    def kept(self) -> Told:
        """What holds for later files of the same kind: there the names tell their line."""
        return self if self.header == 0 else replace(self, header=None)

    def over(self, other: Told) -> Told:
        """What is told here, and where nothing is, what is told there."""
        lines = self if self.header is not None else other
        return Told(
            self.separator or other.separator,
            lines.header,
            lines.below,
            self.sheet or other.sheet,
            self.encoding or other.encoding,
        )

    def noting(self, sheets: Iterator[Sheet], used: Collection[str]) -> Iterator[Sheet]:
        """Sheets of a file of a kind to which only some of what is told applies; that is said."""
        unused = [what for name, what in TOLD.items() if name not in used and self._tells(name)]
        notes = tuple(f"it has no {what}: what is told of one does not count" for what in unused)
        for sheet in sheets:
            yield replace(sheet, notes=(*sheet.notes, *notes))
            notes = ()

    def _tells(self, name: str) -> bool:
        return getattr(self, name) is not None

    def to_json(self) -> dict[str, Any]:
        """What is told, as JSON would have it."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Told:
        """What `to_json` wrote."""
        return cls(**content)


def _is_encoding(name: object) -> bool:
    """Whether this is the name of a way to write characters."""
    try:
        return isinstance(name, str) and "a".encode(name).decode(name) == "a"
    except (LookupError, ValueError):
        return False


NOTHING = Told()
