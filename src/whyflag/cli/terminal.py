"""Results in the terminal: a table for people, from the highest score down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, final

from rich.box import SIMPLE
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from whyflag.cli.console import console, plain, say
from whyflag.files.atomic import atomically

MOST_LINES = 200
IN_A_FILE = 160  # columns
BETWEEN = 3  # columns between two of a table

Record = Mapping[str, Any]

_HIDDEN = ("rank", "error", "flagged", "lower", "upper", "range", "spread", "remark", "sentence")
_WRAPPED = ("feature", "observed", "normal")
_OF_THE_ROW = ("row", "id", "score", "severity")


@final
class Lines:
    """The lines of the rows with the highest scores: narrow, and each row named once.

    Args:
        columns: The columns of what is written, and their types.
        told: Where a score stands among those of normal rows, in words.
    """

    def __init__(self, columns: Mapping[str, type], told: Callable[[float], str]) -> None:
        self._columns = {name: kind for name, kind in columns.items() if name not in _HIDDEN}
        self._told = told
        self._rows: list[list[Record]] = []  # the lines of each row
        self._left_out = 0

    def write(self, records: Any) -> None:
        """Take records: a list of mappings, or a DataFrame."""
        for record in records if isinstance(records, list) else records.to_dict("records"):
            if record.get("rank", 1) == 1:
                self._rows.append([])
            self._rows[-1].append(record)
        if len(self._rows) > 4 * MOST_LINES:
            self._choose()

    def print(self, path: Path | None) -> None:
        """Show the lines in the terminal, or write them to a file."""
        self._choose()
        if path is None:
            self._print(console)
        else:
            with atomically(path) as beside, beside.open("w", encoding="utf-8") as file:
                self._print(Console(file=file, width=IN_A_FILE))
            say(f"Written: {path}")
        if self._left_out:
            say(f"{self._left_out} more lines; -o FILE.csv writes them all.")

    def _choose(self) -> None:
        """Keep as many lines as are shown."""
        ordered = sorted(self._rows, key=lambda lines: -lines[0]["score"])  # stable
        self._rows, n_lines = [], 0
        for lines in ordered:
            kept = lines[: MOST_LINES - n_lines]
            self._left_out += len(lines) - len(kept)
            n_lines += len(kept)
            self._rows += [kept] if kept else []

    def _print(self, where: Console) -> None:
        for lines in self._rows:
            if said := lines[0].get("sentence"):
                where.print(escape(plain(f"{_name(lines[0])}: {said}")), highlight=False)
        cells = self._cells()
        widths = _widths(list(zip(self._columns, *cells, strict=True)), where.width)
        if widths is None:
            self._print_narrow(where)
        else:
            where.print(self._table(cells, widths) if cells else "")
        for lines in self._rows:
            if said := lines[0].get("remark"):
                where.print(escape(plain(f"! {_name(lines[0])}: {said}")), highlight=False)

    def _cells(self) -> list[list[str]]:
        """What each line says in each column."""
        return [
            [
                "" if k and name in _OF_THE_ROW else self._text(name, record)
                for name in self._columns
            ]
            for lines in self._rows
            for k, record in enumerate(lines)
        ]

    def _table(self, cells: list[list[str]], widths: list[int]) -> Table:
        table = Table(box=SIMPLE, pad_edge=False)
        for (name, kind), width in zip(self._columns.items(), widths, strict=True):
            left = kind is str or name == "severity"
            table.add_column(name, justify="left" if left else "right", width=width)
        lines = iter(cells)
        for k, records in enumerate(self._rows):
            if k and "rank" in records[0]:
                table.add_section()
            for _ in records:
                table.add_row(*map(escape, next(lines)))
        return table

    def _print_narrow(self, where: Console) -> None:
        """The same as lines, where a table has no place."""
        for lines in self._rows:
            head = (f"{name} {self._text(name, lines[0])}" for name in ("score", "severity"))
            where.print()
            where.print(escape(f"{plain(str(_name(lines[0])))}: {', '.join(head)}"), style="bold")
            for record in lines:
                said = [
                    f"{name} {self._text(name, record)}"
                    for name in self._columns
                    if name not in (*_OF_THE_ROW, "feature")
                ]
                if said:
                    text = f"- {self._text('feature', record)}: {', '.join(said)}"
                    where.print(escape(text), highlight=False)

    def _text(self, name: str, record: Record) -> str:
        from whyflag.attribution.display import number  # not before there is something to show

        value = record[name]
        if value is None:
            return "as it is" if name == "normal" else ""
        text = number(value) if isinstance(value, float) else plain(str(value))
        if name == "score" and record["flagged"]:
            text += " ⚑"
        if name == "score" and record.get("remark"):
            text += " !"
        if name == "severity":
            text = self._told(record["score"])
        if name == "first":
            text = f"{100 * value:.0f} %"
        if name == "normal" and record["range"]:
            text += f" ({plain(record['range'])})"
        if name == "attribution" and record["error"]:
            text += f" ± {2 * record['error']:.2g}"
        return text


def _widths(columns: list[tuple[str, ...]], width: int) -> list[int] | None:
    """How wide columns, each its name and its texts, can be so that no word is cut.

    None if that is too wide.
    """
    most = [max(map(cell_len, texts)) for texts in columns]
    least = [
        max(cell_len(word) for text in texts for word in text.split(" ")) if wraps else all_of_it
        for texts, all_of_it in zip(columns, most, strict=True)
        for wraps in [texts[0] in _WRAPPED]
    ]
    left = width - sum(least) - BETWEEN * len(columns)
    if left < 0:
        return None
    while left and (lacking := max(map(int.__sub__, most, least))):
        j = list(map(int.__sub__, most, least)).index(lacking)
        least[j] += 1
        left -= 1
    return least


def _name(record: Record) -> Any:
    return record.get("id") or f"row {record['row']}"
