"""What the page draws, as SVG: what all rows share is drawn once, and each row only marks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from markupsafe import Markup

from whyflag.arrays import Vector
from whyflag.distribution import LEVELS, Distribution

CELLS = 40  # of the picture of a distribution
HEIGHT = 26
MARGIN = 0.25  # of the normal range, beside it on both sides: what is just outside stands there
SIDE = 200  # of the picture of two columns


@final
@dataclass(frozen=True)
class Axis:
    """From values to places between 0 and 100; values beyond both ends stand at the end."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Vector, others: Sequence[float] = ()) -> Axis:
        """An axis for normal values (quantiles at `LEVELS`), with a margin, and for others."""
        first, last = np.interp([0.01, 0.99], LEVELS, values)
        wide = (last - first) or abs(last) or 1.0
        # Of a long tail only the beginning, or the rest would be a line.
        low, high = max(values[0], first - wide), min(values[-1], last + wide)
        low, high = min([low, *others]), max([high, *others])
        margin = MARGIN * ((high - low) or abs(high) or 1.0)
        return cls(float(low - margin), float(high + margin))

    def at(self, value: float) -> float:
        """The place of a value."""
        place = 100 * (value - self.low) / (self.high - self.low)
        return float(np.clip(place, 0, 100)) if np.isfinite(place) else 100.0

    def is_beyond(self, value: float) -> bool:
        """Whether a value is further out than the axis goes."""
        return not self.low <= value <= self.high


@final
@dataclass(frozen=True)
class Strip:
    """A distribution that is drawn once, under a name; rows mark their values on it.

    Attributes:
        name: The name.
        axis: From values to places.
        width: How wide it is, where it is 26 high.
    """

    name: str
    axis: Axis
    width: int = 130

    def density(self, known: Distribution, column: int, alarm: float | None = None) -> Markup:
        """Normal values, and a line where the alarm is."""
        edges = np.linspace(self.axis.low, self.axis.high, CELLS + 1)
        parts = known.parts(column, edges)
        # A root, so that few rows can be seen.
        heights = (HEIGHT - 2) * np.sqrt(parts / (parts.max() or 1.0))
        path = [f"M0 {HEIGHT}"]
        for x, height in zip(np.linspace(0, self.width, CELLS + 1)[1:], heights, strict=True):
            path.append(f"V{_short(HEIGHT - height)}H{_short(x)}")
        drawn = Markup('<path class="density" d="{}V{}z"/>').format("".join(path), HEIGHT)
        if alarm is not None:
            drawn += Markup('<path class="alarm" d="M{} 0V{}"/>').format(self.at(alarm), HEIGHT)
        return _symbol(self.name, f"0 0 {self.width} {HEIGHT}", drawn)

    def at(self, value: float) -> str:
        """The place of a value."""
        return _short(self.axis.at(value) * self.width / 100)

    def marked(self, at: float, to: float | None, kind: str, label: str = "") -> Markup:
        """The distribution with marks where a value is, and where it would be normal.

        It needs a label where no text says the same beside it.
        """
        drawn = Markup('<use href="#{}" width="{}" height="{}"/>').format(
            self.name, self.width, HEIGHT
        )
        if to is not None:
            drawn += Markup('<path class="to" d="M{} 0V{}"/>').format(self.at(to), HEIGHT)
        if self.axis.is_beyond(at):
            tip, back = (self.width, self.width - 10) if at > self.axis.high else (0, 10)
            drawn += Markup('<path class="beyond" d="M{0} 3L{1} 13L{0} 23z"/>').format(back, tip)
        else:
            drawn += Markup('<path class="at" d="M{} 0V{}"/>').format(self.at(at), HEIGHT)
        return _picture(f"0 0 {self.width} {HEIGHT}", label, drawn, kind)


def bar(part: float, error: float, kind: str) -> Markup:
    """A part of a whole as a bar, and how far it may be off; it stands beside the number."""
    drawn = Markup('<rect class="{}" width="{}" height="12" y="2"/>').format(
        kind, _short(100 * min(max(part, 0.0), 1.0))
    )
    if error > 0:
        low, high = (_short(100 * min(max(end, 0.0), 1.0)) for end in (part - error, part + error))
        drawn += Markup('<path class="error" d="M{} 8H{}"/>').format(low, high)
    return _picture("0 0 100 16", "", drawn, "share")


def cloud(name: str, points: Sequence[tuple[float, float]]) -> Markup:
    """Normal rows in two columns, in places between 0 and 1, drawn once under a name."""
    path = "".join(f"M{100 * x:.0f} {100 - 100 * y:.0f}h0" for x, y in points)
    return _symbol(
        name, "0 0 100 100", Markup('<path class="cloud" d="{}"/>').format(path), overflow=True
    )


def boxes(name: str, half: tuple[float, float, float, float]) -> Markup:
    """Where nearly all normal rows are in two columns, and half of them in each, under a name.

    Args:
        name: The name.
        half: Low and high of the half in the first column, and in the second, between 0 and 1.
    """
    x0, x1, y0, y1 = (100 * each for each in half)
    drawn = Markup('<rect class="most" width="100" height="100"/>')
    drawn += Markup('<rect class="half" x="{}" y="{}" width="{}" height="{}"/>').format(
        *map(_short, (x0, 100 - y1, x1 - x0, y1 - y0))
    )
    return _symbol(name, "0 0 100 100", drawn)


@final
@dataclass(frozen=True)
class Scatter:
    """A row among normal ones in two columns.

    Attributes:
        name: Under which normal rows are drawn.
        label: What is to be seen, for those who cannot.
        frame: The normal range of both columns: low and high of the first, and of the second.
        at: The row.
        to: The row as it would be normal.
    """

    name: str
    label: str
    frame: tuple[float, float, float, float]
    at: tuple[float, float]
    to: tuple[float, float] | None

    def draw(self) -> Markup:
        """The picture."""
        x0, x1, y0, y1 = self.frame
        wide = [
            _reaching(x0, x1, self.at[0], self.to and self.to[0]),
            _reaching(y0, y1, self.at[1], self.to and self.to[1]),
        ]
        left, right = (SIDE * wide[0].at(x) / 100 for x in (x0, x1))
        bottom, top = (SIDE * (1 - wide[1].at(y) / 100) for y in (y0, y1))
        drawn = Markup('<use href="#{}" x="{}" y="{}" width="{}" height="{}"/>').format(
            self.name, *map(_short, (left, top, max(right - left, 1), max(bottom - top, 1)))
        )
        x, y = self._place(self.at, wide)
        if self.to is not None:
            u, v = self._place(self.to, wide)
            drawn += Markup('<path class="way" d="M{} {}L{} {}"/>').format(x, y, u, v)
            drawn += Markup('<circle class="to" cx="{}" cy="{}" r="5"/>').format(u, v)
        drawn += Markup('<circle class="at" cx="{}" cy="{}" r="5"/>').format(x, y)
        return _picture(f"0 0 {SIDE} {SIDE}", self.label, drawn, "scatter")

    def _place(self, point: tuple[float, float], wide: Sequence[Axis]) -> tuple[str, str]:
        x, y = (axis.at(value) / 100 for axis, value in zip(wide, point, strict=True))
        inner = SIDE - 12  # a dot at the edge is still whole
        return _short(6 + inner * x), _short(6 + inner * (1 - y))


def _reaching(low: float, high: float, at: float, to: float | None) -> Axis:
    """An axis on which a normal range stays so wide that something is to be seen of it."""
    wide = (high - low) or abs(high) or 1.0
    ends = [
        low,
        high,
        *(np.clip([at, *([] if to is None else [to])], low - 2 * wide, high + 2 * wide)),
    ]
    margin = 0.05 * (max(ends) - min(ends) or 1.0)
    return Axis(float(min(ends) - margin), float(max(ends) + margin))


@final
@dataclass(frozen=True)
class Dot:
    """A row in the picture of rows over time."""

    href: str
    name: str
    x: float  # 0 to 100
    y: float  # 0 to 1
    kind: str


def over_time(dots: Sequence[Dot], alarm: float, label: str) -> Markup:
    """Rows from the earliest to the latest, the higher the score the higher."""
    drawn = Markup('<path class="alarm" d="M0 {0}H1000"/>').format(_height(alarm))
    for dot in dots:
        # A line of no length with a round end is round however the picture is stretched.
        place = f"M{_short(8 + 9.84 * dot.x)} {_height(dot.y)}h0"
        drawn += Markup(
            '<a href="#{}"><path class="dot {}" d="{}"><title>{}</title></path></a>'
        ).format(dot.href, dot.kind, place, dot.name)
    return _picture("0 0 1000 120", label, drawn, "time")


def _height(part: float) -> str:
    return _short(10 + 100 * (1 - part))


def _picture(box: str, label: str, drawn: Markup, kind: str) -> Markup:
    how = Markup("") if kind == "scatter" else Markup(' preserveAspectRatio="none"')
    told = (
        Markup('role="img" aria-label="{}"').format(label) if label else Markup("aria-hidden=true")
    )
    return Markup('<svg class="{}" viewBox="{}"{} {}>{}</svg>').format(kind, box, how, told, drawn)


def _symbol(name: str, box: str, drawn: Markup, *, overflow: bool = False) -> Markup:
    return Markup('<symbol id="{}" viewBox="{}" preserveAspectRatio="none"{}>{}</symbol>').format(
        name, box, Markup(' overflow="visible"') if overflow else Markup(""), drawn
    )


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
