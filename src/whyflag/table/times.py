"""Columns of dates and times: what counts of them is the hour, the weekday and the month."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
import pandas as pd

from whyflag.arrays import Matrix, Vector
from whyflag.table.codec import GAP, Codec, Read, State
from whyflag.table.sheet import Cells, texts_of

ISO = "ISO8601"
CLOCK = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
DATES = (
    *("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%m-%d-%Y", "%d-%m-%Y", "%d.%m.%y"),
    *("%m/%d/%y", "%d/%m/%y", "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y"),
    *("%d-%b-%y", "%Y-%m-%d"),
)
OF_THE_DAY = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")  # without a date
OF_LOGS = "%d/%b/%Y:%H:%M:%S"  # of web servers
FORMATS = (ISO, *(date + clock for date in DATES for clock in CLOCK), *OF_THE_DAY, OF_LOGS)
DAY_IN_DIGITS = "%Y%m%d"  # tried before numbers
NOT_ISO = {
    "%m/%d/%Y": "month/day/year",
    "%d/%m/%Y": "day/month/year",
    DAY_IN_DIGITS: "year, month and day",
}
HOUR, WEEKDAY, MONTH = "hour", "weekday", "month"
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAY, YEAR = 86_400.0, 365.25 * 86_400.0  # seconds
MARGIN = 20.0  # years before the first time and after the last that are still possible
SOME = 2000  # cells whose zones are looked at
_PLAIN = re.compile(r"[\d./-]+(?:[ T]\d\d?(?::\d\d){1,2})?")  # most times: nothing is taken off
# A zone stands behind a clock: "-05" in 2024-03-05 is none.
_ZONED = re.compile(
    r"(.*(?:T\d\d(?:\d\d){0,2}|\d:\d\d)(?:[.,]\d+)?(?:\s*[AaPp][Mm])?)"
    r"\s*([Zz]|UTC|GMT|[+-]\d\d(?::?\d\d)?)"
)
_PART = re.compile(r"(?<=:\d\d:\d\d)[.,]\d+|(?<=T\d{6})[.,]\d+")  # of a second
_HALF = re.compile(r"(?<=\d)\s*(?=[AaPp][Mm]$)")  # what is between a clock and its half of the day
# What is between a date and a clock; a run of spaces is tried once, from its beginning.
_COMMA = re.compile(r"(?:,|(?<!\s))\s++(?=\d{1,2}:\d\d|%[HI]:)")
# The same in forms that are told.
_PART_IN_FORM = re.compile(r"(?<=:%M:%S)[.,]%f|(?<=T%H%M%S)[.,]%f")
_HALF_IN_FORM = re.compile(r"(?<=%[MS])\s*(?=%p$)")
_ZONE_IN_FORM = re.compile(r"\s*%[zZ]$")


def seconds(texts: Sequence[str], form: str) -> Vector:
    """Seconds since 1970 by the clock that is written; NaN where a text is no time in this form.

    A zone does not count: 03:12+09:00 is 03:12, which is what people did at that time.
    """
    form = _PART_IN_FORM.sub("", _ZONE_IN_FORM.sub("", form))
    form = _COMMA.sub(" ", _HALF_IN_FORM.sub(" ", form))
    # pandas knows words for times, such as "now".
    digits = [text if any(map(str.isdigit, text)) else "" for text in texts]
    different, position = np.unique(np.array(digits, dtype=object), return_inverse=True)
    plain = [_plain(text) for text in different]
    times = pd.to_datetime(
        pd.Series([text for text, _ in plain], dtype=object),
        format=form,
        errors="coerce",
        utc=True,
    )
    moments = times.dt.tz_convert(None).to_numpy(dtype="datetime64[us]")
    since = np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e6)
    since += np.array([part for _, part in plain], dtype=np.float64)
    found: Vector = since[position]
    return found


def _plain(text: str) -> tuple[str, float]:
    """A time without what forms do not say: its zone, a comma, and the part of a second, apart."""
    if _PLAIN.fullmatch(text):
        return text, 0.0
    if zoned := _ZONED.fullmatch(text):
        text = zoned[1]
    part = 0.0
    if found := _PART.search(text):
        part = float(f"0.{found[0][1:]}")
        text = text[: found.start()] + text[found.end() :]
    return _COMMA.sub(" ", _HALF.sub(" ", text)), part


def zones_of(texts: Iterable[str]) -> tuple[str, ...]:
    """The zones of times, such as "+09:00" and "UTC"; "" for those without one."""
    found = {each[2] if (each := _ZONED.fullmatch(text)) else "" for text in texts}
    return tuple(sorted({_zone(zone) for zone in found}))


def _zone(written: str) -> str:
    """A zone that is written in one of several ways."""
    digits = written[1:].replace(":", "").ljust(4, "0")
    if not written or (written[0] in "+-" and digits != "0000"):
        return written and f"{written[0]}{digits[:2]}:{digits[2:]}"
    return "UTC"


def forms_of(texts: Sequence[str]) -> list[str]:
    """The forms in which these different texts are all times, or nearly all; the best first."""
    some = [text for text in texts[:50] if any(each.isdigit() for each in text)]
    if 2 * len(some) < len(texts[:50]):
        return []
    possible = [form for form in FORMATS if 2 * np.isfinite(seconds(some, form)).sum() >= len(some)]
    read = {form: np.isfinite(seconds(texts, form)).mean() for form in possible}
    best = max(read.values(), default=0.0)
    return [form for form, part in read.items() if part == best and part >= 0.9]


@final
@dataclass(frozen=True)
class Times(Codec):
    """A column of dates and times.

    Its numbers are the hour, the weekday and the month, as far as these vary; when in history a
    row stands is not among them, because new rows are later than all before. A time that is more
    than twenty years from all that were seen is far.

    Attributes:
        form: How times are written.
        gaps: How a missing one was written, beside nothing at all.
        parts: What counts.
        typical: The time in the middle, in seconds since 1970.
        first: The first time.
        last: The last.
        zones: The zones that they are written with, "" for none. The clock counts as it is written.
    """

    kind: ClassVar[str] = "time"

    form: str
    gaps: tuple[str, ...]
    parts: tuple[str, ...]
    typical: float
    first: float
    last: float
    zones: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, times: Vector, form: str, gaps: tuple[str, ...], zones: tuple[str, ...] = ()
    ) -> Times:
        """What is learnt of times, in seconds since 1970."""
        first, last = float(times.min()), float(times.max())
        days = np.unique(times // DAY)
        parts = []
        if len(np.unique(times % DAY)) > 1:
            parts.append(HOUR)
        # Weekdays count where rows come every day or so, and not where they come every month.
        if len(days) > 1 and days[-1] - days[0] >= 13 and np.median(np.diff(days)) < 4:
            parts.append(WEEKDAY)
        if last - first >= 2 * YEAR:
            parts.append(MONTH)
        typical = float(np.sort(times)[len(times) // 2])
        return cls(form, gaps, tuple(parts), typical, first, last, zones)

    @property
    def has_days(self) -> bool:
        """Whether these are moments, not times of any day."""
        return self.form not in OF_THE_DAY

    @property
    def described(self) -> str:
        """What counts of it, and how it is read where that could be otherwise."""
        counts = "counts" if len(self.parts) == 1 else "count"
        said = f"{' and '.join(self.parts)} {counts}" if self.parts else "only its years count"
        read = next((words for form, words in NOT_ISO.items() if self.form.startswith(form)), "")
        said = f"{said}, read as {read}" if read else said
        if len(self.zones) < 2:
            return said
        differ = " and ".join(zone or "none" for zone in self.zones)
        return f"{said}, by the clock as it is written: zones are {differ}"

    def remark(self, cells: Cells) -> str:
        texts = {text.strip() for text in texts_of(cells[:SOME])}
        times = np.array([*texts], dtype=object)[np.isfinite(seconds([*texts], self.form))]
        others = [zone for zone in zones_of(times) if zone not in self.zones]
        if not others or not self.zones:
            return ""
        new, known = (", ".join(each or "none" for each in some) for some in (others, self.zones))
        return f"zones are {new}, and those learnt from {known}; the clock counts as it is written"

    def encoded(self, name: str) -> list[str]:
        names = []
        for part in self.parts:
            values = {WEEKDAY: DAYS, MONTH: MONTHS}.get(part)
            names += [f"{name}: {part}"] if values is None else [f"{name}: {v}" for v in values]
        return names or [f"{name}: nothing"]

    def read(self, cells: Cells) -> Read:
        texts = [text.strip() for text in texts_of(cells)]
        times = seconds(texts, self.form)
        states = np.zeros(len(texts), dtype=np.int8)
        for i in np.flatnonzero(np.isnan(times)):
            gap = not texts[i] or texts[i] in self.gaps
            states[i] = State.GAP if gap else State.UNREADABLE
        years = np.maximum(self.first - times, times - self.last) / YEAR
        states[years > MARGIN] = State.FAR
        return Read(self._numbers(np.where(np.isnan(times), self.typical, times)), states)

    def _numbers(self, times: Vector) -> Matrix:
        if not self.parts:
            return np.zeros((len(times), 1))
        day = np.floor(times / DAY)
        moments = (day * DAY).astype("datetime64[s]")
        found = {
            HOUR: lambda: ((times - day * DAY) / 3600)[:, None],
            # The first day of 1970 was a Thursday.
            WEEKDAY: lambda: np.eye(7)[(day.astype(np.int64) + 3) % 7],
            MONTH: lambda: np.eye(12)[moments.astype("datetime64[M]").astype(np.int64) % 12],
        }
        return np.hstack([found[part]() for part in self.parts])

    def write(self, values: Vector) -> str:
        said, begin = [], 0
        for part in self.parts:
            if part == HOUR:
                minutes = round(float(values[begin]) * 60)
                said.append(f"{minutes // 60:02d}:{minutes % 60:02d}")
                begin += 1
                continue
            names = DAYS if part == WEEKDAY else MONTHS
            said.append(names[int(np.argmax(values[begin : begin + len(names)]))])
            begin += len(names)
        order = sorted(said, key=lambda text: text[0].isdigit())
        return " ".join(order) or self._years()

    def instead(self, values: Vector) -> str:
        if not self.has_days:
            return self.write(values)
        # Hour and weekday of a time that is not there, or was misread, are nobody's.
        return f"a time {'in' if self._is_one_year else 'from'} {self._years()}"

    def shown(self, text: str, state: State) -> str:
        return {
            State.USUAL: text,
            State.GAP: GAP,
            State.UNREADABLE: f"not a time: {text!r}",
            State.FAR: f"{text} (far from {self._years()})",
            State.NEW: text,
            State.NEGATIVE: text,
        }[state]

    @property
    def _is_one_year(self) -> bool:
        return _year(self.first) == _year(self.last)

    def _years(self) -> str:
        first, last = _year(self.first), _year(self.last)
        return first if first == last else f"{first} to {last}"

    def to_json(self) -> dict[str, Any]:
        return {
            "form": self.form,
            "gaps": list(self.gaps),
            "parts": list(self.parts),
            "typical": self.typical,
            "first": self.first,
            "last": self.last,
            "zones": list(self.zones),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Times:
        lists = {name: tuple(content.get(name, ())) for name in ("gaps", "parts", "zones")}
        return cls(**{**content, **lists})


def _year(seconds: float) -> str:
    return str(np.datetime64(int(seconds), "s").astype("datetime64[Y]"))
