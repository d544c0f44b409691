"""Columns of moments, or of spans of time, as a detector takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.table.codec import GAP, Read, State
from whyflag.table.forms import DIGITS
from whyflag.table.raw import RawColumn, states_of, with_gaps
from whyflag.table.sheet import Cells

if TYPE_CHECKING:
    from whyflag.table.holders import Series

UNITS = (("D", 86_400), ("h", 3600), ("m", 60), ("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
FINE = ("us", "ns")  # no unit that anybody chose: as many digits are told as of other numbers


@final
@dataclass(frozen=True)
class RawTimes(RawColumn):
    """A column of moments, or of spans of time, counted in the longest unit that fits all.

    Attributes:
        unit: "D" for days, "h" for hours, … "ns".
        typical: The lower of their medians, in this unit.
        is_span: Whether they are spans.
        has_gaps: Whether a 0/1 column says where there is none.
        zone: The zone of moments, which are counted in UTC and shown by the clock of their zone;
            "" if they have none.
    """

    kind: ClassVar[str] = "raw time"

    unit: str
    typical: float
    is_span: bool = False
    has_gaps: bool = False
    zone: str = ""

    @classmethod
    def of(cls, cells: Cells, zone: str = "") -> RawTimes:
        """What is learnt of a column."""
        gaps = np.isnat(cells)
        kind = cells.dtype.kind
        known = np.sort(cells[~gaps])
        fits = (unit for unit, _ in UNITS if (known.astype(f"{kind}8[{unit}]") == known).all())
        unit = next(fits)
        typical = known[(len(known) - 1) // 2].astype(f"{kind}8[{unit}]")
        return cls(unit, float(typical.astype(np.int64)), kind == "m", bool(gaps.any()), zone)

    def encoded(self, name: str) -> list[str]:
        return [name, self.gap(name)] if self.has_gaps else [name]

    def cells_in(self, name: str, column: Series) -> Cells:
        if not is_time(column) and not column.isna().all():
            raise TypeError(f"Column {name!r} must hold times, got dtype {column.dtype}.")
        return time_cells(column)

    def read(self, cells: Cells) -> Read:
        gaps = np.isnat(cells)
        # As a part of the unit, so that a time between two of them stays what it is.
        fine = np.where(gaps, np.array(0, dtype=cells.dtype), cells)
        per = dict(UNITS)[self.unit] / dict(UNITS)[np.datetime_data(cells.dtype)[0]]
        values = np.where(gaps, self.typical, fine.astype(np.int64) / per)
        return with_gaps(values, states_of(~gaps, gaps), self.has_gaps)

    def cells(self, values: Matrix) -> Cells:
        kind = "m8" if self.is_span else "M8"
        per = dict(UNITS)[self.unit] / 1e-6
        moments = np.round(values[:, 0] * per).astype(np.int64).astype(f"{kind}[us]")
        if self.has_gaps:
            moments[values[:, 1] >= 0.5] = "NaT"
        return moments

    def raw(self, values: Vector) -> Any:
        return self._there(self._raw(values))

    def _raw(self, values: Vector) -> Any:
        """The cell with these numbers, a moment in UTC."""
        import pandas as pd

        (cell,) = self.cells(values[None])
        return pd.Timedelta(cell) if self.is_span else pd.Timestamp(cell)

    def _there(self, raw: Any) -> Any:
        return raw.tz_localize("UTC").tz_convert(self.zone) if self.zone else raw

    def without_gaps(self) -> RawTimes:
        return replace(self, has_gaps=False)

    def write(self, values: Vector) -> str:
        raw = self._raw(values)
        if raw != raw:
            return GAP
        if self.is_span:
            return _span(raw.to_timedelta64(), self.unit)
        # A time that somebody wrote is whole in milliseconds; one that was computed is not.
        if self.unit not in FINE and raw.to_datetime64() != raw.floor("ms").to_datetime64():
            raw = raw.round(f"{self.unit}{'in' * (self.unit == 'm')}")
        # Rounded in UTC: a local time of autumn may be two moments.
        return str(self._there(raw)).removesuffix(" 00:00:00")

    def shown(self, text: str, state: State) -> str:
        return GAP if state == State.GAP else f"not a time: {text!r}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RawTimes:
        return cls(**content)


def _span(span: np.timedelta64, unit: str) -> str:
    """A span of time as people write it: "3 days", "1 day 02:30:00", "00:27:01.05"."""
    nanoseconds = int(span.astype("m8[ns]").astype(np.int64))
    size = abs(nanoseconds)
    # One that somebody wrote is whole in milliseconds; one that was computed is not.
    if unit in FINE:
        whole = len(str(size // 10**9))
        step = 10 ** (9 - max(0, DIGITS - whole))
    else:
        step = round(dict(UNITS)[unit] * 1e9) if size % 10**6 else 1
    size = (2 * size + step) // (2 * step) * step
    seconds, fraction = divmod(size, 10**9)
    days, seconds = divmod(seconds, 86_400)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if fraction:
        clock += f".{fraction:09d}".rstrip("0")
    said = [f"{days} day{'s' * (days != 1)}"] if days or (unit == "D" and not size) else []
    if not said or seconds or fraction:
        said.append(clock)
    return f"{'-' if nanoseconds < 0 and size else ''}{' '.join(said)}"


def is_time(column: Series) -> bool:
    """Whether a column holds moments or spans of time."""
    return getattr(column.dtype, "kind", "O") in "mM"


def zone_of(column: Series) -> str:
    """The zone of a column of moments by a name that pandas knows; "" if it has none."""
    import pandas as pd

    if not isinstance(column.dtype, pd.DatetimeTZDtype):
        return ""
    try:
        pd.Timestamp(0, tz=str(column.dtype.tz))
    except (ValueError, LookupError, OSError):
        return "UTC"
    return str(column.dtype.tz)


def time_cells(column: Series) -> Cells:
    """Times in UTC without a zone; NaT is a gap."""
    import pandas as pd

    if isinstance(column.dtype, pd.DatetimeTZDtype):
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    if column.isna().all():
        return np.full(len(column), np.datetime64("NaT", "us"))
    return column.to_numpy()
