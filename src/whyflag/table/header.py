"""Which line of a file has the names of the columns, and how they fit the rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import final

from whyflag.table.codec import MARKS

MOST_ABOVE = 30  # records above the names of columns
NEARLY_ALL = 0.9
# What is possessive is not given back: long runs would be tried in all ways to divide them.
_NUMBER = re.compile(
    r"\s*+[-+(]?\s*+[$€£¥]?\s*+[-+]?(?:[.,'\u00a0 ]*+\d[\d.,]*+)++([eE][-+]?\d+)?\s*+[%€]?\)?\s*"
)

Record = Sequence[str]


@final
class Rows:
    """The first records of a file, by which it is seen what they are."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        body = records[1:] or records
        widths = Counter(len(record) for record in body)
        self.width = max(widths, key=lambda width: (widths[width], width))
        self.regular = [record for record in body if len(record) == self.width]

    def header(self, expected: Sequence[str]) -> tuple[int | None, int]:
        """Which record has the names of columns, if one has, and how many stand above it."""
        few = self.records[:MOST_ABOVE]
        for i, record in enumerate(few):
            if expected and has_names(record, expected):
                return i, i
        # A line of names may lack that of the row names, or the separator at the end.
        if self._is_full(few[0]) or self._lacks_one(few):
            above = 0
        else:
            above = next((i for i, record in enumerate(few) if self._is_full(record)), 0)
            if above and any(map(is_number, few[above])) and len(few[0]) == self.width:
                above = 0  # some of the names are missing
            elif above and any(map(is_number, few[above])):
                raise ValueError(
                    f"the first line has {count_fields(len(few[0]))}, and rows have {self.width}: "
                    "the first line should have the names of the columns (a header)."
                )
        return (None if self._is_row(few[above]) else above), above

    def fitted(self, names: list[str]) -> tuple[list[str], int]:
        """The names for rows that have one field more or one name less than they should."""
        last = [record[-1].strip() for record in self.regular]
        if self.width > 1 and not any(last):
            if len(names) == self.width and not names[-1]:
                return names[:-1], self.width
            if len(names) == self.width - 1:
                return names, self.width
        if len(names) == self.width - 1 and len({record[0] for record in self.regular}) == len(
            self.regular
        ):
            return ["", *names], self.width
        return names, len(names)

    def has_units(self, i: int) -> bool:
        """Whether a record has words in each of several columns of numbers."""
        if len(self.records) < i + 4 or len(self.records[i]) != self.width:
            return False
        rest = [record for record in self.records[i + 1 :] if len(record) == self.width]
        if not rest:
            return False
        cells = [
            cell.strip()
            for cell, column in zip(self.records[i], zip(*rest, strict=True), strict=True)
            if mostly_numbers(column)
        ]
        words = [cell for cell in cells if cell and cell not in MARKS and not is_number(cell)]
        return len(words) > 1 and len(words) == len(cells) and max(map(len, words)) <= 12

    def _is_full(self, record: Record) -> bool:
        """Whether a record has as many fields as rows have, and something in half of them."""
        filled = sum(bool(cell.strip()) for cell in record)
        return len(record) == self.width and 2 * filled >= self.width

    def _lacks_one(self, few: Sequence[Record]) -> bool:
        """Whether the first line has names, one less than rows have fields."""
        if len(few[0]) != self.width - 1 or len(few) < 2:
            return self.width == 1
        return self._is_row(few[1]) or not any(record[-1].strip() for record in self.regular)

    def _is_row(self, record: Record) -> bool:
        """Whether a record has numbers where all others have, so that it is no line of names."""
        if len(record) != self.width or len(self.regular) < 2:
            return False
        numbers = [
            cell.strip()
            for cell, column in zip(record, zip(*self.regular, strict=True), strict=True)
            if mostly_numbers(column)
        ]
        if not numbers or not all(map(is_number, numbers)):
            return False
        return not _count_on(numbers)


def has_names(record: Record, names: Sequence[str]) -> bool:
    """Whether a record has all these names."""
    return {name.strip() for name in record} >= set(names)


def is_number(text: str) -> bool:
    """Whether a text looks like a number, however it is written."""
    return _NUMBER.fullmatch(text) is not None


def mostly_numbers(cells: Sequence[str]) -> bool:
    """Whether nearly all cells that are not empty look like numbers."""
    filled = [cell.strip() for cell in cells if cell.strip() and cell.strip() not in MARKS]
    return bool(filled) and sum(map(is_number, filled)) >= NEARLY_ALL * len(filled)


def _count_on(texts: Sequence[str]) -> bool:
    """Whether texts are years, or 0, 1, 2, …: numbers that name columns."""
    if not all(text.isdecimal() for text in texts):
        return False
    numbers = [int(text[:20]) for text in texts]
    steps = {b - a for a, b in pairwise(numbers)}
    years = all(1500 <= number <= 2200 for number in numbers)
    return (len(set(numbers)) == len(numbers) and years) or (steps == {1} and numbers[0] in (0, 1))


def count_fields(n: int) -> str:
    """So many fields, in words."""
    return f"{n} field" if n == 1 else f"{n} fields"
