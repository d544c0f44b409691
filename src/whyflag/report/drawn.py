"""The pictures of one page: normal rows are drawn once, and each row only marks them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np
from markupsafe import Markup

from whyflag.arrays import evenly
from whyflag.distribution import LEVELS, Distribution
from whyflag.report import drawing
from whyflag.report.normal import Normal
from whyflag.report.words import percent

SCORES_WIDTH = 500
CROWD = 300  # normal rows behind a row
FEWEST = 60  # where there are many pictures of them
MOST_POINTS = 60_000  # of all pictures
HALF = (0.25, 0.75)
SHOWN = (0.005, 0.995)  # of them, in each column: few far ones would leave no room for the others


@final
class Drawn:
    """Draws what a page shows, and keeps what several rows share.

    Args:
        data: What the page says (`content`).
        normal: What is known of normal rows.
    """

    def __init__(self, data: Mapping[str, Any], normal: Normal) -> None:
        self._data, self._normal = data, normal
        self._shared: dict[str, Markup] = {}
        self._strips: dict[int, drawing.Strip] = {}
        self._ranges: dict[int, tuple[float, float]] = {}
        self._scores: drawing.Strip | None = None
        alarm = data["threshold"]
        if normal.scores is not None and alarm is not None:
            known = Distribution.of(normal.scores[:, None])
            axis = drawing.Axis.around(known.quantiles[:, 0], [alarm])
            self._scores = drawing.Strip("scores", axis, SCORES_WIDTH)
            self._shared["scores"] = self._scores.density(known, 0, alarm)
        pairs = {tuple(row["pair"]["columns"]) for row in data["rows"] if row["pair"]}
        self._crowd = min(CROWD, max(FEWEST, MOST_POINTS // max(1, len(pairs))))
        self.crowd = "where 99 %, and half, of the normal rows are in each column"
        if normal.rows is not None:
            self.crowd = f"{min(self._crowd, len(normal.rows))} normal rows"

    @property
    def knows_scores(self) -> bool:
        """Whether a score can be set against those of normal rows."""
        return self._scores is not None

    def score(self, row: Mapping[str, Any]) -> Markup:
        """Where a row's score is among those of normal rows."""
        if self._scores is None:
            return Markup("")
        label = f"score {row['shown_score']}, {row['stands']}"
        return self._scores.marked(row["score"], None, "scores", label)

    def is_far(self, row: Mapping[str, Any]) -> bool:
        """Whether a score is further out than is drawn."""
        return self._scores is not None and self._scores.axis.is_beyond(row["score"])

    def where(self, one: Mapping[str, Any]) -> Markup:
        """Where a value is among normal ones; nothing where that is not known."""
        if "part" in one:
            return drawing.bar(one["part"], 0.0, "rest")
        known = self._normal.distribution
        if "column" not in one or known is None:
            return Markup("")
        column = one["column"]
        if column not in self._strips:
            axis = drawing.Axis.around(known.quantiles[:, column])
            strip = self._strips[column] = drawing.Strip(f"d{column}", axis)
            self._shared[strip.name] = strip.density(known, column)
        return self._strips[column].marked(one["at"], one.get("to"), "where")

    def share(self, one: Mapping[str, Any]) -> Markup:
        """A share of the score."""
        return drawing.bar(one["share"], one.get("error", 0.0), "raises")

    def rest(self, row: Mapping[str, Any]) -> Markup:
        """The share of all features that are not shown."""
        return drawing.bar(row["rest"], 0.0, "rest")

    def has_pair(self, row: Mapping[str, Any]) -> bool:
        """Whether a row can be set against normal ones in two columns."""
        return row["pair"] is not None

    def scatter(self, row: Mapping[str, Any]) -> Markup:
        """A row among normal ones in two columns."""
        pair = row["pair"]
        x, y = pair["columns"]
        name = f"c{x}-{y}"
        frame = (*self._range(x), *self._range(y))
        if name not in self._shared:
            self._shared[name] = self._normal_in(name, x, y, frame)
        label = (
            f"{pair['names'][0]} {pair['observed'][0]} and {pair['names'][1]} "
            f"{pair['observed'][1]}, among normal rows"
        )
        return drawing.Scatter(
            name, label, frame, tuple(pair["at"]), pair["to"] and tuple(pair["to"])
        ).draw()

    @property
    def has_time(self) -> bool:
        """Whether rows can be shown over time."""
        known = [row for row in self._data["rows"] if row["time"] is not None]
        return self._data["time"] is not None and len(known) > 1

    def time(self) -> Markup:
        """Rows from the earliest to the latest."""
        rows = [row for row in self._data["rows"] if row["time"] is not None]
        times = np.array([row["time"] for row in rows])
        scores = np.array([row["score"] for row in rows])
        alarm = self._data["threshold"]
        low = min(scores.min(), scores.min() if alarm is None else alarm)
        # Scores differ by powers of ten, and then only the highest would be seen.
        heights = np.log1p((scores - low) / (np.median(scores - low) or 1.0))
        top = heights.max() or 1.0
        level = 0.0 if alarm is None else np.log1p((alarm - low) / (np.median(scores - low) or 1.0))
        place = 100 * (times - times.min()) / (times.max() - times.min())
        dots = [
            drawing.Dot(
                row["link"],
                f"{row['name']}: score {row['shown_score']}",
                float(x),
                float(y),
                "at" if row["flagged"] in (True, None) else "quiet",
            )
            for row, x, y in zip(rows, place, heights / top, strict=True)
        ]
        label = f"{len(dots)} rows from {self._data['time']['first']} to "
        label += self._data["time"]["last"]
        return drawing.over_time(dots, float(level / top), label)

    def symbols(self) -> Markup:
        """All that is shared: it must be in the page once."""
        return Markup(
            '<svg width="0" height="0" aria-hidden="true" class="unseen">{}</svg>'
        ).format(Markup("").join(self._shared.values()))

    def _normal_in(
        self, name: str, x: int, y: int, frame: tuple[float, float, float, float]
    ) -> Markup:
        """Some normal rows in two columns, or where they are, if none are known."""
        limits = ((x, *frame[:2]), (y, *frame[2:]))
        rows = self._normal.rows
        if rows is None:
            middle = [
                (end - low) / ((high - low) or 1.0)
                for column, low, high in limits
                for end in self._quantiles(column, HALF)
            ]
            return drawing.boxes(name, (middle[0], middle[1], middle[2], middle[3]))
        some = rows[evenly(len(rows), self._crowd)]
        places = [(some[:, column] - low) / ((high - low) or 1.0) for column, low, high in limits]
        inside = np.all([(place >= -0.1) & (place <= 1.1) for place in places], axis=0)
        return drawing.cloud(
            name, list(zip(*(place[inside].tolist() for place in places), strict=True))
        )

    def _range(self, column: int) -> tuple[float, float]:
        """The range in which nearly all normal rows are."""
        if column not in self._ranges:
            low, high = self._quantiles(column, SHOWN)
            self._ranges[column] = (low, high)
        return self._ranges[column]

    def _quantiles(self, column: int, levels: tuple[float, float]) -> tuple[float, float]:
        known = self._normal.distribution
        if known is None:
            return 0.0, 1.0
        low, high = np.interp(levels, LEVELS, known.quantiles[:, column])
        return float(low), float(high)


def told(one: Mapping[str, Any]) -> str:
    """A share in words; of a feature that lowers the score, that it does."""
    if one.get("value", 1.0) < 0:
        return "lowers it"
    error = one.get("error", 0.0)
    return percent(one["share"]) + (f" ± {percent(error)}" if error else "")
