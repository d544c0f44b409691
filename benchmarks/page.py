"""The lines as tables and pictures in docs/performance.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from benchmarks.instrument import PACKAGES, Line, number

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "performance.md"
BEGIN, END = "<!-- made by `make bench`: begin -->", "<!-- end -->"
COLORS = {"GMM": "#3b6fb6", "VAE": "#c8553d", "forest": "#5b8c5a"}


def write_page(content: Mapping[str, Any]) -> None:
    """Put tables between the marks of the page, and pictures beside it."""
    lines = [Line.from_json(line) for part in content.values() for line in part["lines"]]
    machines = dict.fromkeys(_described(part["machine"]) for part in content.values())
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END, 1)[1]
    made = "\n\n".join([*machines, *_tables(lines)])
    PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")
    _picture(
        [line for line in lines if line.section == "efficiency"],
        "bare ÷ total time",
        DOCS / "images" / "performance_efficiency.png",
    )
    _picture(
        [line for line in lines if line.section == "milliseconds"],
        "milliseconds a row, one thread",
        DOCS / "images" / "performance_milliseconds.png",
    )


def _described(facts: Mapping[str, Any]) -> str:
    packages = ", ".join(f"{name} {facts[name]}" for name in PACKAGES)
    return fill(
        f"Machine: {facts['processor']}, {facts['cores']} cores, {facts['system']}; "
        f"Python {facts['python']}, {packages}.",
        width=100,
    )


def _tables(lines: Sequence[Line]) -> Iterable[str]:
    for section in dict.fromkeys(line.section for line in lines):
        some = [line for line in lines if line.section == section]
        yield f"### {section[0].upper()}{section[1:]}\n\n{_table(some)}"


def _table(lines: Sequence[Line]) -> str:
    rows = [
        f"| case | {lines[0].unit} | quartiles | target | repeats, threads | |",
        "|---" * 6 + "|",
    ]
    for line in lines:
        value = number(line.value) if line.reached is not False else f"**{number(line.value)}**"
        rows.append(
            f"| {line.case} | {value} | {number(line.low)} … {number(line.high)} | {line.target} "
            f"| {line.repeats}, {line.threads} | {line.note} |"
        )
    return "\n".join(rows)


def _picture(lines: Sequence[Line], label: str, path: Path) -> None:
    """One panel for each method: the value by the number of features, a line for each detector."""
    if not lines:
        return
    methods = list(dict.fromkeys(line.case.split(", ")[0] for line in lines))
    n_columns = min(4, len(methods))
    n_rows = -(-len(methods) // n_columns)
    figure, axes = plt.subplots(
        n_rows,
        n_columns,
        figsize=(2.6 * n_columns, 2.3 * n_rows),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for panel, method in zip(axes.flat, methods, strict=False):
        _panel(panel, method, lines)
    for panel in axes.flat[len(methods) :]:
        panel.set_axis_off()
    figure.supxlabel("features", fontsize=9)
    figure.supylabel(label, fontsize=9)
    detectors = list(dict.fromkeys(line.case.split(", ")[1] for line in lines))
    if len(detectors) > 1:
        axes.flat[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _panel(panel: Axes, method: str, lines: Sequence[Line]) -> None:
    panel.set_title(method, fontsize=10)
    panel.set_xscale("log")
    panel.spines[["top", "right"]].set_visible(False)
    for detector, color in COLORS.items():
        points = [
            (int(line.case.rsplit("= ", 1)[1]), line)
            for line in lines
            if line.case.split(", ")[:2] == [method, detector]
        ]
        if points:
            d, some = zip(*points, strict=True)
            middle = [line.value for line in some]
            spread = [
                [line.value - line.low for line in some],
                [line.high - line.value for line in some],
            ]
            panel.errorbar(d, middle, spread, color=color, marker="o", ms=3, label=detector)
    target = next((line.least for line in lines if line.least is not None), None)
    if target is None:
        panel.set_yscale("log")
    else:
        panel.axhline(target, color="0.6", lw=1, ls="--")
        panel.set_ylim(0, None)
