"""How people write numbers: marks, signs and units."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from whyflag.arrays import Vector
from whyflag.table.sheet import Cells

# Marks between thousands and before decimals, the likelier ones first.
MARKS = ((",", "."), (".", ","), ("'", "."), (" ", "."), (" ", ","))
SIGN = r"[$€£¥₹₩₽₺¢]|(?:US|A|C|NZ|HK)\$|EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|kr|zł|Rs\.?"
UNIT = rf"%|‰|°[CF]?|{SIGN}|[A-Za-zµμΩ]{{1,4}}(?:[²³]|/[A-Za-z]{{1,4}}[²³]?)?"
_AFFIXES = re.compile(
    rf"^\s*[-+(]?\s*((?:{SIGN})\s?)?\s*[-+(]?\s*[\d.,' ]*?\)?(\s?(?:{UNIT}))?\s*[-)]?\s*$"
)
# How a number below zero may be written; the first is what programs write.
BEFORE, BEHIND, AROUND, BEFORE_DIGITS, AROUND_DIGITS = "-$5", "$5-", "($5)", "$-5", "$(5)"
_BELOW_ZERO = {
    BEFORE: "-{prefix}{digits}{suffix}",
    BEHIND: "{prefix}{digits}{suffix}-",
    AROUND: "({prefix}{digits}{suffix})",
    BEFORE_DIGITS: "{prefix}-{digits}{suffix}",
    AROUND_DIGITS: "{prefix}({digits}){suffix}",
}
_TWOS = re.compile(r"(?<=\d)(?=(?:\d\d)*\d{3}$)")  # where marks stand between two digits each
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "−": "-", "’": "'"})
MOST_DECIMALS = 6
DIGITS = 6  # significant ones of a number without a fixed number of decimals


@final
@dataclass(frozen=True)
class Form:
    """How the numbers of a column are written.

    Attributes:
        thousands: The mark between thousands.
        decimal: The mark before decimals.
        prefix: What stands before a number.
        suffix: What stands behind it.
        minus: How numbers below zero are written, as an example. All ways are read.
        group: How many digits stand between two marks of thousands, but for the last three: 3, or
            2 in India (12,34,567).
    """

    thousands: str = ""
    decimal: str = "."
    prefix: str = ""
    suffix: str = ""
    minus: str = BEFORE
    group: int = 3

    def __post_init__(self) -> None:
        if self.group not in (2, 3):
            raise ValueError(f"`group` must be 2 or 3, got {self.group}.")
        if self.minus not in _BELOW_ZERO:
            raise ValueError(f"`minus` must be one of {', '.join(_BELOW_ZERO)}, got {self.minus}.")

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as programs write them."""
        return self == Form()

    def marks_in(self, text: str) -> int:
        """How many of the marks of this form, of those that programs do not write, a text has."""
        marks = {self.thousands, self.decimal, self.prefix.strip(), self.suffix.strip()} - {""}
        if not self.thousands:
            marks -= {"."}
        return sum(mark in text.translate(_SPACES) for mark in marks)

    @property
    def is_plain_above_zero(self) -> bool:
        """Whether numbers that are not negative are written so."""
        return replace(self, minus=BEFORE).is_plain

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        point = re.escape(self.decimal)
        mark = re.escape(self.thousands)
        size = self.group
        whole = rf"\d{{1,{size}}}(?:{mark}\d{{{size}}})*{mark}\d{{3}}"
        grouped = rf"{whole}(?:{point}\d*)?|" if mark else ""
        # What has an exponent has no thousands: 5,432e7 has a decimal comma.
        number = rf"(?:{grouped}(?:\d+(?:{point}\d*)?|{point}\d+)(?:[eE][-+]?\d+)?)"
        before = rf"(?:{re.escape(self.prefix.strip())})?" if self.prefix else ""
        after = rf"(?:{re.escape(self.suffix.strip())})?" if self.suffix else ""
        # Spaces are not given back: many of them would be tried in all ways to divide them.
        return re.compile(
            rf"(?P<open>\()?(?P<sign>[-+]?)\s*+{before}\s*+(?P<inner_open>\()?(?P<inner_sign>[-+]?)"
            rf"(?P<digits>{number})(?P<inner_close>\))?\s*+{after}\s*+(?P<close>\)|-)?"
        )

    def number(self, text: str) -> float:
        """What a text says; NaN if it is no number in this form."""
        found = self._found(text)
        if found is None:
            return _infinite(text)
        digits = found["digits"]
        if self.thousands:
            digits = digits.replace(self.thousands, "")
        value = float(digits.replace(self.decimal, "."))
        return value if self._minus_in(found) is None else -value

    def minus_of(self, text: str) -> str | None:
        """How a number below zero is written; None if the text is none."""
        found = self._found(text)
        return None if found is None else self._minus_in(found)

    def digits(self, text: str) -> str:
        """The digits of a number, with their marks and without a sign; "" if there is none."""
        found = self._found(text)
        return "" if found is None else found["digits"]

    def _found(self, text: str) -> re.Match[str] | None:
        """The parts of a number; None if there is none, or it has too many signs."""
        found = self._pattern.fullmatch(text.translate(_SPACES).strip())
        if found is None:
            return None
        opened = bool(found["open"]) + bool(found["inner_open"])
        closed = bool(found["inner_close"]) + (found["close"] == ")")
        signs = bool(found["sign"]) + bool(found["inner_sign"]) + (found["close"] == "-")
        return found if opened == closed <= 1 and signs <= 1 else None

    def _minus_in(self, found: re.Match[str]) -> str | None:
        if found["open"] or found["inner_open"]:
            is_inner = found["inner_open"] if self.prefix else found["inner_close"]
            return AROUND_DIGITS if is_inner else AROUND
        if found["close"] == "-":
            return BEHIND
        signs = {found["sign"]: BEFORE, found["inner_sign"]: BEFORE_DIGITS}
        return signs.get("-")

    def grouped_number(self, text: str) -> float:
        """What a text says in which other marks stand between thousands, or any at all.

        Where decimals follow them, the marks can be nothing else.
        """
        if self.decimal not in text:
            return np.nan
        said = (form.number(text) for form in self._grouped)
        return next((value for value in said if np.isfinite(value)), np.nan)

    @cached_property
    def _grouped(self) -> tuple[Form, ...]:
        marks = [mark for mark, decimal in MARKS if decimal == self.decimal]
        return tuple(replace(self, thousands=mark) for mark in marks)

    def numbers(self, texts: Cells) -> Vector:
        """What texts say: (n,) objects -> (n,)."""
        if self.is_plain:
            try:
                values = texts.astype(np.float64)
            except ValueError:
                pass
            else:
                # Python takes these for numbers, and people do not.
                odd = not np.isfinite(values).all() or "_" in "".join(texts)
                if not odd:
                    return values
        return np.array([self.number(text) for text in texts], dtype=np.float64)

    def text(self, value: float, decimals: int | None) -> str:
        """A number in this form."""
        said = f"{abs(value):.{DIGITS}g}" if decimals is None else f"{abs(value):,.{decimals}f}"
        if decimals is None and not said.lstrip("0.").strip("0"):
            said = "0"
        if self.group == 2:
            whole, point, rest = said.partition(".")
            said = _TWOS.sub(",", whole.replace(",", "")) + point + rest
        marks = {",": self.thousands, ".": self.decimal}
        said = "".join(marks.get(each, each) for each in said)
        if value < 0 and any(each in "123456789" for each in said):
            return _BELOW_ZERO[self.minus].format(
                prefix=self.prefix, digits=said, suffix=self.suffix
            )
        return f"{self.prefix}{said}{self.suffix}"


PLAIN = Form()


def minus_of(texts: Sequence[str], form: Form) -> str:
    """How numbers below zero are mostly written; as programs write them if there are none."""
    ways = Counter(way for text in texts if (way := form.minus_of(text)))
    return ways.most_common(1)[0][0] if ways else BEFORE


def form_of(texts: Sequence[str], *, commas_are_decimal: bool = False) -> Form:
    """The form in which most of these different texts are numbers, the plainest of several."""
    plain = np.isfinite([PLAIN.number(text) for text in texts]).sum()
    if plain == len(texts):
        return PLAIN
    matched = [found for text in texts if (found := _affixes(text))]
    digits = [found for found in matched if any(each.isdigit() for each in found.string)]
    prefix, suffix = (_common([found.group(k) or "" for found in digits]) for k in (1, 2))
    marks = [("", "."), *MARKS, ("", ",")]
    if commas_are_decimal:
        marks = [("", "."), ("", ","), *MARKS[1:], MARKS[0]]
    forms = [
        Form(*each, *affix, group=size)
        for affix in {("", ""), (prefix, suffix)}
        for each, size in [*((each, 3) for each in marks), ((",", "."), 2)]
    ]
    read = [int(np.isfinite([form.number(text) for text in texts]).sum()) for form in forms]
    best = max(read)
    # Forms without anything around the number stand first where both read as many.
    ordered = sorted(
        zip(read, forms, strict=True), key=lambda each: bool(each[1].suffix or each[1].prefix)
    )
    return next(form for count, form in ordered if count == best)


def _affixes(text: str) -> re.Match[str] | None:
    """What stands around a number; runs of spaces count as one, and are tried in one way."""
    return _AFFIXES.match(" ".join(text.translate(_SPACES).split()))


def affix_of(text: str) -> str | None:
    """The unit or currency of a number, "" if it has none; None if the text is no number."""
    found = _affixes(text)
    if found is None or not any(each.isdigit() for each in text):
        return None
    return "".join(each or "" for each in found.groups()).strip()


def _common(affixes: Sequence[str]) -> str:
    """What stands beside nearly all of the numbers, as it mostly does, or nothing."""
    if not affixes:
        return ""
    best, count = Counter(affix.strip() for affix in affixes).most_common(1)[0]
    if count < 0.9 * len(affixes):
        return ""
    return Counter(each for each in affixes if each.strip() == best).most_common(1)[0][0]


def _infinite(text: str) -> float:
    word = text.strip().lower().lstrip("+-")
    if word not in ("inf", "infinity", "∞"):
        return np.nan
    return -np.inf if text.strip().startswith("-") else np.inf


def decimals_of(texts: Sequence[str], form: Form) -> int | None:
    """How many decimals numbers have at the most; None if they have more than people write."""
    most = 0
    for digits in map(form.digits, texts):
        if "e" in digits.lower():
            return None
        most = max(most, len(digits.partition(form.decimal)[2]))
    return most if most <= MOST_DECIMALS else None
