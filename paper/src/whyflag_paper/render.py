"""Tables for the terminal, as Markdown, and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from whyflag_paper.tables import Entry, Row, Table

if TYPE_CHECKING:
    import rich.table

# A difference from the paper's figure smaller than what it prints, twice over, is none.
NOTEWORTHY = 0.02
MARKS = {"better": "▲", "worse": "▼", "equal": "", "alone": ""}
STYLES = {"better": "green", "worse": "red", "equal": "default", "alone": "default"}
LEGEND = (
    "Each cell: ours ± half the width of its 95 % interval, then the paper's.\n"
    f"▲ better, ▼ worse than the paper's by more than {NOTEWORTHY}."
)


def terminal(table: Table) -> rich.table.Table:
    """The table for `rich` to print, coloured by the difference from the paper."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(title=table.title, title_justify="left")
    for head in ("", "", *table.columns):
        grid.add_column(head, no_wrap=True)
    before = None
    for row in table.rows:
        if before not in (None, row.dataset):
            grid.add_section()
        name = "" if row.dataset == before else row.dataset
        cells = [Text(_brief(entry), style=STYLES[_verdict(entry)]) for entry in row.entries]
        grid.add_row(name, row.detector, *cells)
        before = row.dataset
    return grid


def markdown(tables: Iterable[Table]) -> str:
    """The tables as Markdown."""
    parts = [LEGEND]
    for table in tables:
        lines = [_line(["data", "detector", *table.columns]), _line(["---"] * _width(table))]
        lines += [
            _line([row.dataset, row.detector, *(f"{_text(e)}{_mark(e)}" for e in row.entries)])
            for row in table.rows
        ]
        parts += [f"### {table.title}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def page(tables: Iterable[Table]) -> str:
    """The tables as one HTML page that needs nothing else."""
    body = "\n".join(_html(table) for table in tables)
    return PAGE.replace("{body}", body)


def _html(table: Table) -> str:
    heads = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "\n".join(_html_row(row, first) for row, first in _with_first(table.rows))
    return (
        f"<h2>{escape(table.title)}</h2>\n<div class=scroll><table>\n"
        f"<thead><tr><th></th><th></th>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>"
    )


def _html_row(row: Row, first: bool) -> str:
    cells = []
    for entry in row.entries:
        if entry is None:
            cells.append("<td class=none>–</td>")
            continue
        paper = "" if entry.paper is None else f" <small>{_number(entry.paper)}</small>"
        hint = f"95 %: {_number(entry.low)} to {_number(entry.high)}, {entry.n_rows} rows"
        cells.append(
            f'<td class={_verdict(entry)} style="--gain:{_strength(entry):.2f}" '
            f'title="{hint}">{_number(entry.value)}<i>{_half(entry)}</i>{paper}</td>'
        )
    kind = " class=first" if first else ""
    name = escape(row.dataset) if first else ""
    return f"<tr{kind}><th>{name}</th><th>{escape(row.detector)}</th>{''.join(cells)}</tr>"


def _with_first(rows: Sequence[Row]) -> list[tuple[Row, bool]]:
    befores = [None, *(row.dataset for row in rows)]
    return [(row, row.dataset != before) for row, before in zip(rows, befores, strict=False)]


def _text(entry: Entry | None) -> str:
    if entry is None:
        return "–"
    return _ours(entry) + ("" if entry.paper is None else f" · {_number(entry.paper)}")


def _brief(entry: Entry | None) -> str:
    if entry is None:
        return "–"
    paper = "" if entry.paper is None else f"·{_number(entry.paper)}"
    return _number(entry.value) + paper


def _ours(entry: Entry) -> str:
    return _number(entry.value) + _half(entry)


def _half(entry: Entry) -> str:
    half = (entry.high - entry.low) / 2
    return f" ±{half:.2f}" if half else ""


def _number(value: float) -> str:
    if value == 0 or 0.005 <= value < 10:
        return f"{value:.2f}"
    return f"{value:.3g}" if value >= 10 else f"{value:.2g}"


def _mark(entry: Entry | None) -> str:
    mark = MARKS[_verdict(entry)]
    return f" {mark}" if mark else ""


def _verdict(entry: Entry | None) -> str:
    if entry is None or entry.gain is None:
        return "alone"
    if abs(entry.gain) <= NOTEWORTHY:
        return "equal"
    return "better" if entry.gain > 0 else "worse"


def _strength(entry: Entry) -> float:
    """How strong the colour of a cell is, from 0 to 1."""
    return 0.0 if entry.gain is None else min(abs(entry.gain) / 0.5, 1.0)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _width(table: Table) -> int:
    return 2 + len(table.columns)


PAGE = """<!doctype html>
<html lang=en><meta charset=utf-8>
<meta name=viewport content="width=device-width, initial-scale=1">
<title>whyflag: the paper's tables</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b1b1f; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap;
  font-size: 13px; }
th, td { padding: .15rem .4rem; text-align: right; font-weight: 400; }
thead th { border-bottom: 2px solid #1b1b1f; font-weight: 600; }
tbody th { text-align: left; } tr.first > * { border-top: 1px solid #c9c9d0; }
i, small { font-size: 11px; font-style: normal; color: #5b5b66; } small { margin-left: .3rem; }
.none { color: #9a9aa5; }
.better { background: rgb(26 140 80 / calc(.08 + .5 * var(--gain))); }
.worse { background: rgb(200 60 40 / calc(.08 + .5 * var(--gain))); }
@media (prefers-color-scheme: dark) {
  body { color: #e8e8ee; background: #17171b; } thead th { border-color: #e8e8ee; }
  tr.first > * { border-color: #44444f; } i, small { color: #a5a5b2; }
}
</style>
<h1>The paper's tables, ours beside them</h1>
<p>Each cell: ours ± half the width of its 95 % interval, then the paper's in grey. Green is better
than the paper's by more than 0.02, red is worse; the stronger the colour, the more.</p>
{body}
</html>
"""
