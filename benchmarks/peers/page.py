"""What was measured as tables and a picture in docs/performance.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "performance.md"
PICTURE = DOCS / "images" / "performance_peers.png"
BEGIN, END = "<!-- made by `python -m benchmarks.peers`: begin -->", "<!-- end -->"
OURS = "KSH"
EXACT = 1e-6  # errors below are of rounding, some in single precision
FLOOR = 1e-4  # where the picture ends
COLORS = ("#c8553d", "#5b8c5a", "#b08bbf", "#d9a441", "#6c757d", "#8c6d46", "#4aa3a2", "#d16ba5")
Line = Mapping[str, Any]


def write_page(content: Mapping[str, Any]) -> None:
    """Put tables between the marks of the page, and the picture beside it."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END, 1)[1]
    lines = [line for part in content.values() for line in part["lines"]]
    versions = dict.fromkeys(_described(part["versions"]) for part in content.values())
    made = "\n\n".join([*versions, tables(lines)])
    PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")
    picture(lines, PICTURE)


def _described(versions: Mapping[str, str]) -> str:
    return fill(", ".join(f"{name} {number}" for name, number in versions.items()) + ".", 100)


def tables(lines: Sequence[Line]) -> str:
    """Errors and times ÷ ours; **bold**: less than ours."""
    depth = [line for line in lines if line["game"] == "forest, depth"]
    rest = [line for line in lines if line["share"] == 1 and line["game"] != "forest, depth"]
    made = [
        ("Error ÷ KSH's, at the same evaluations", _table(rest, _error, _own_error)),
        ("Time ÷ KSH's, at the same evaluations", _table(rest, _time, _own_time)),
        ("Time ÷ KSH's, at the same error", _table(rest, _time_to_error, _own_time)),
        ("Time ÷ KSH's, by the trees", _table(depth, _time, _own_time)),
    ]
    return "\n\n".join(f"### {title}\n\n{table}" for title, table in made if table)


def _table(
    lines: Sequence[Line], cell: Callable[[Line, Line], str], own: Callable[[Line], str]
) -> str:
    if not lines:
        return ""
    peers = [name for name in dict.fromkeys(line["peer"] for line in lines) if name != OURS]
    rows = [" | ".join(["| game", OURS, *peers]) + " |", "|---" * (2 + len(peers)) + "|"]
    for of_game in _games(lines):
        ours = of_game[OURS]
        cells = [cell(of_game[peer], ours) if peer in of_game else "" for peer in peers]
        rows.append(" | ".join([f"| {ours['game']}, d = {ours['d']}", own(ours), *cells]) + " |")
    return "\n".join(rows)


def _games(lines: Sequence[Line]) -> Iterator[dict[str, Line]]:
    for key in dict.fromkeys((line["game"], line["d"]) for line in lines):
        yield {line["peer"]: line for line in lines if (line["game"], line["d"]) == key}


def _ratio(value: float) -> str:
    text = f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value < 1 else f"{value:.2g}"
    return f"**{text}**" if value < 1 else text


def _error(line: Line, ours: Line) -> str:
    if line["error"] < EXACT:
        return "exact"
    if ours["error"] < EXACT:
        return f"({100 * line['error']:.2g} %)"
    return _ratio(line["error"] / ours["error"])


def _time(line: Line, ours: Line) -> str:
    return _ratio(line["milliseconds"] / ours["milliseconds"])


def _time_to_error(line: Line, ours: Line) -> str:
    """By the square of the errors, as those of draws fall with the root of their number."""
    time = line["milliseconds"] / ours["milliseconds"]
    if line["error"] < EXACT:
        return _ratio(time)
    return _ratio(time * (line["error"] / ours["error"]) ** 2) if ours["error"] >= EXACT else "∞"


def _own_error(ours: Line) -> str:
    if ours["error"] < EXACT:
        return "exact"
    return f"{100 * ours['error']:.2g} % (truth {100 * ours['own error']:.2g} %)"


def _own_time(ours: Line) -> str:
    return f"{ours['milliseconds']:.3g} ms"


def picture(lines: Sequence[Line], path: Path) -> None:
    """Error by time: a panel for each game, a line for each library, points by evaluations."""
    lines = [line for line in lines if line["game"] != "forest, depth"]
    games = list(dict.fromkeys(line["game"] for line in lines))
    widths = sorted({line["d"] for line in lines if line["share"] != 1})
    if not widths:
        return
    peers = list(dict.fromkeys(line["peer"] for line in lines))
    figure, axes = plt.subplots(
        len(widths),
        len(games),
        figsize=(2.6 * len(games), 2.5 * len(widths)),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for i, d in enumerate(widths):
        for j, name in enumerate(games):
            some = [line for line in lines if (line["game"], line["d"]) == (name, d)]
            axes[i, j].set_title(f"{name}, d = {d}", fontsize=10)
            _panel(axes[i, j], some, peers)
    figure.supxlabel("milliseconds a row, one thread", fontsize=9)
    figure.supylabel("relative error", fontsize=9)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=5, frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _panel(panel: Axes, lines: Sequence[Line], peers: Sequence[str]) -> None:
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.xaxis.set_minor_formatter("")
    panel.spines[["top", "right"]].set_visible(False)
    for k, peer in enumerate(peers):
        own = peer == OURS
        some = sorted((x for x in lines if x["peer"] == peer), key=lambda x: x["share"])
        errors = [max(line["error"], FLOOR) for line in some]
        panel.plot(
            [line["milliseconds"] for line in some],
            errors,
            color="#3b6fb6" if own else COLORS[(k - 1) % len(COLORS)],
            marker="o",
            ms=4 if own else 3,
            lw=2 if own else 1,
            label=peer,
            zorder=3 if own else 2,
        )
        if own and some and min(errors) == FLOOR:
            panel.annotate("exact", (some[0]["milliseconds"], FLOOR), xytext=(4, 4),
                           textcoords="offset points", fontsize=8, color="#3b6fb6")  # fmt: skip
