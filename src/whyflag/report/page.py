"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from whyflag import __version__
from whyflag.attribution import Attribution
from whyflag.distribution import Distribution
from whyflag.files.atomic import atomically
from whyflag.report.content import content


def write_report(
    attribution: Attribution,
    path: str | Path,
    *,
    normal: Distribution | None = None,
    title: str = "Why were these rows flagged?",
    n_rows: int | None = None,
    n_flagged: int | None = None,
) -> None:
    """Write a report of attributions: one file that opens from disk, without a network.

    Args:
        attribution: What is reported. Of more than 500 rows, those with the highest scores.
        path: The file.
        normal: How normal values are distributed (`Distribution.of(X_normal)`): the page then
            shows where each value lies among them.
        title: The title.
        n_rows: How many rows there were, if the attribution is of some of them only.
        n_flagged: How many of these were flagged.
    """
    parts = files("whyflag.report")
    # Everything that is filled in is escaped; data and code are apart.
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    data = content(attribution, normal)
    data["n_rows"] = data["n_rows"] if n_rows is None else n_rows
    data["n_flagged"] = data["n_flagged"] if n_flagged is None else n_flagged
    template = environment.from_string((parts / "page.html").read_text(encoding="utf-8"))
    page = template.render(
        title=title,
        version=__version__,
        data=data,
        style=(parts / "page.css").read_text(encoding="utf-8"),
        script=(parts / "page.js").read_text(encoding="utf-8"),
    )
    with atomically(Path(path)) as beside:
        beside.write_text(page, encoding="utf-8")
