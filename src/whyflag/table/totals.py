"""The row of totals that reports end with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whyflag.table.forms import form_of
from whyflag.table.sheet import Sheet, spread, texts_of
from whyflag.table.told import Assumed

WORDS = frozenset(
    {
        *("total", "totals", "grand total", "sum", "sums", "overall", "all"),
        *("gesamt", "gesamtsumme", "insgesamt", "summe", "somme", "total général"),
        *("suma", "totale", "totaal", "totalt", "итого", "合计", "总计", "合計"),
    }
)
SOME = 2000  # different texts that tell how numbers are written
CLOSE = 1e-3  # of what is summed: totals are rounded


def without_totals(sheet: Sheet) -> Sheet:
    """A sheet without its last row, if this says that it is a total, and is one in some column."""
    last = len(sheet) - 1
    row = {name: str(texts_of(cells[last:])[0]).strip() for name, cells in sheet.cells.items()}
    said = [text for text in row.values() if text.rstrip(":").casefold() in WORDS]
    if last < 2 or not said:
        return sheet
    summed = [name for name, text in row.items() if text and _is_sum(sheet, name)]
    if not summed:
        return sheet
    names = ", ".join(map(repr, summed[:3]))
    note = (
        f"taken for totals, not for a row: the last one, which says {said[0]!r} and has the sum "
        f"of {names}"
    )
    rows = np.arange(last)
    return replace(sheet.take(rows), notes=(*sheet.notes, Assumed(note, "totals")))


def _is_sum(sheet: Sheet, name: str) -> bool:
    """Whether the last number of a column is the sum of those above."""
    texts = texts_of(sheet.cells[name])
    values = form_of(spread(list(dict.fromkeys(texts)), SOME)).numbers(texts)
    above, total = values[:-1][np.isfinite(values[:-1])], values[-1]
    if len(above) < 2 or not np.isfinite(total) or total == 0:
        return False
    return bool(abs(total - above.sum()) <= CLOSE * np.abs(above).sum())
