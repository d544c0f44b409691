"""What every benchmark of speed gives: lines, each with its target, repeats and spread."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "shap")


@dataclass(frozen=True)
class Line:
    """One measurement, the median of its repeats."""

    section: str
    case: str
    value: float
    low: float  # quartiles of the repeats
    high: float
    unit: str
    threads: int
    repeats: int
    least: float | None = None  # the target: no less than this,
    most: float | None = None  # no more than that
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached; None: there is none."""
        if self.least is None and self.most is None:
            return None
        return (self.least is None or self.value >= self.least) and (
            self.most is None or self.value <= self.most
        )

    @property
    def target(self) -> str:
        """The target in words."""
        if self.least is not None:
            return f"≥ {self.least:g}"
        return "" if self.most is None else f"≤ {self.most:g}"

    def __str__(self) -> str:
        verdict = {True: "reached", False: "NOT REACHED", None: ""}[self.reached]
        spread = f"{number(self.low)} … {number(self.high)}"
        return (
            f"{self.section:28} {self.case:44} {number(self.value):>9} {self.unit:20}"
            f" {spread:>19} x{self.repeats:<3} {self.threads} thread{'s' * (self.threads > 1)}"
            f"  {self.target:8} {verdict:11} {self.note}"
        )

    def as_json(self) -> dict[str, Any]:
        """All of it, with the verdict."""
        return {**asdict(self), "reached": self.reached}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Line:
        """The line that was kept."""
        return cls(**{name: value for name, value in content.items() if name != "reached"})


def line(section: str, case: str, values: list[float], unit: str, **more: Any) -> Line:
    """A line from repeated measurements."""
    low, middle, high = np.percentile(values, [25, 50, 75]).tolist()
    return Line(section, case, middle, low, high, unit, repeats=len(values), **more)


def seconds(function: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """How long a call takes: of this process, so that other work on the machine does not count."""
    begin = clock()
    function()
    return clock() - begin


def ratios(
    numerator: Callable[[], Any],
    denominator: Callable[[], Any],
    repeats: int,
    clock: Callable[[], float] = time.process_time,
) -> list[float]:
    """Ratios of two times, taken in turns: what disturbs the machine disturbs both."""
    found = []
    for _ in range(repeats):
        # The denominator before and after, so that a drift cancels.
        before, above, after = (
            seconds(each, clock) for each in (denominator, numerator, denominator)
        )
        found.append(2 * above / (before + after))
    return found


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Linear algebra and PyTorch with this number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        torch.set_num_threads(before)


def machine() -> dict[str, Any]:
    """What was measured on."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [text for text in info.read_text().splitlines() if text.startswith("model name")]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    return {
        "processor": cpu,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def number(value: float) -> str:
    """A number with three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
