"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from whyflag import __version__
from whyflag.attribution import Attribution
from whyflag.attribution.display import in_a_list, number
from whyflag.distribution import Distribution
from whyflag.files.atomic import atomically
from whyflag.report.content import content
from whyflag.report.drawn import Drawn, told
from whyflag.report.normal import Normal
from whyflag.report.rows import Cells
from whyflag.report.words import percent, rows

MOST_GROUPS = 8
MOST_SETTINGS = 300  # characters


def write_report(
    attribution: Attribution,
    path: str | Path,
    *,
    normal: Distribution | None = None,
    title: str = "Why were these rows flagged?",
    n_rows: int | None = None,
    n_flagged: int | None = None,
    cells: Cells | None = None,
    id_column: str | None = None,
    notes: Sequence[str] = (),
    provenance: Mapping[str, str] | None = None,
) -> None:
    """Write a report of attributions: one file that opens from disk, without a network.

    All is in the file as it is read, so that it needs no script; a script chooses, sorts, searches
    and saves rows.

    Args:
        attribution: What is reported. Of more than 500 rows, those with the highest scores.
        path: The file.
        normal: How normal values are distributed (`Distribution.of(X_normal)`), to set observed
            ones against. By default that of the normal rows that the explainer was given.
        title: The title.
        n_rows: How many rows there were, if the attribution is of some of them only.
        n_flagged: How many of these were flagged.
        cells: All cells of each row as they came, by the name of the column: the page then shows
            columns that do not count as well.
        id_column: The column among them that names the rows.
        notes: What is to be known before all rows: that normal has changed, say.
        provenance: What the page was made from, by what it is called: files, a model.
    """
    known = Normal.of(attribution, normal)
    data = content(attribution, known, cells, id_column)
    data["n_rows"] = data["n_rows"] if n_rows is None else n_rows
    data["n_flagged"] = data["n_flagged"] if n_flagged is None else n_flagged
    _add_words(data, known)
    drawn = Drawn(data, known)
    parts = files("whyflag.report")
    style, script = (
        (parts / name).read_text(encoding="utf-8").strip() for name in ("page.css", "page.js")
    )
    # Everything that is filled in is escaped; nothing but these two can be style, or run.
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    # What only indents the template would be a good part of a page of many rows.
    template = re.sub(r"\n\s+", "\n", (parts / "page.html").read_text(encoding="utf-8"))
    page = environment.from_string(template).render(
        **data,
        title=title,
        version=__version__,
        style=style,
        script=script,
        policy=_policy(style, script),
        drawn=drawn,
        percent=percent,
        lead=_lead(data),
        notes=list(notes),
        provenance=_provenance(data, dict(provenance or {})),
    )
    with atomically(Path(path)) as beside:
        # What no text can hold, such as half a character of a JSON file, becomes a question mark.
        beside.write_text(page, encoding="utf-8", errors="replace", newline="\n")


def _policy(style: str, script: str) -> str:
    """Nothing is loaded, and nothing runs but the script that was written here."""
    hashes = [
        b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _add_words(data: dict[str, Any], known: Normal) -> None:
    """Put in words what the page says of each row, group and column."""
    several = [group for group in data["groups"] if len(group["rows"]) > 1]
    groups = several[:MOST_GROUPS]
    smaller = sum(len(group["rows"]) for group in several[MOST_GROUPS:])
    alone = len(data["groups"]) - len(several)
    like_no_other = f"{rows(alone)} {'is' if alone == 1 else 'are'} like no other"
    in_smaller = f"{rows(smaller)} {'is' if smaller == 1 else 'are'} in smaller groups"
    data["others"] = "; ".join(
        text for count, text in ((smaller, in_smaller), (alone, like_no_other)) if count
    )
    keys = {row: str(k) for k, group in enumerate(groups) for row in group["rows"]}
    for k, group in enumerate(groups):
        group["key"] = str(k)
        group["because"] = in_a_list(group["features"])
        group["without"] = "No short rule tells them from normal rows."
        if known.rows is None:
            group["without"] = "No normal rows are known, to find a rule by."
    data["groups"] = groups
    for i, row in enumerate(data["rows"]):
        row["group_key"] = keys.get(i, "")
        row["verdict"] = _verdict(row, data["threshold"])
        first = row["features"][0]
        quiet = row["flagged"] is False
        row["why"] = "no alarm" if quiet else f"{first['name']}: {first['observed']}"
        row["told_rest"] = percent(row["rest"])
        if "agreement" in row:
            row["told_agreement"] = percent(row["agreement"])
        for one in row["features"]:
            one["told_share"] = told(one)
            one["told_value"] = number(one["value"], 6)
            one.setdefault("normal", None)
            one.setdefault("span", None)
            one.setdefault("lies", None)
        row.setdefault("members", None)
        row.setdefault("sentence", None)
        for cell in row["cells"]["shown"]:
            cell["kind"] = "odd" if cell["mark"] == "not usual" else "unused"
    for one in data["culprits"]:
        one["told_share"] = told(one)
        one["told_first"] = rows(one["first"])


def _verdict(row: Mapping[str, Any], alarm: float | None) -> dict[str, str]:
    """What has become of a row, in a word, and why."""
    stands = f", {row['stands']}" if row["stands"] else ""
    if alarm is None:
        return {"kind": "", "word": "Score", "text": f"{row['shown_score']}{stands}."}
    said = f"The score is {row['shown_score']}{stands}; the alarm is at {number(alarm)}."
    kind, word = ("", "Alarm.") if row["flagged"] else ("quiet", "No alarm.")
    if row["near"]:
        kind = f"{kind} near"
        word = "Alarm, but near the line." if row["flagged"] else "No alarm, but near the line."
    return {"kind": kind, "word": word, "text": said}


def _lead(data: Mapping[str, Any]) -> list[str]:
    """What is to be known first."""
    shown, n_rows, n_flagged = len(data["rows"]), data["n_rows"], data["n_flagged"]
    if n_flagged is None:
        said = [f"{rows(n_rows)}, from the highest score down."]
    else:
        of = rows(n_rows)
        several = "raises" if n_flagged == 1 else "raise"
        count = "All" if n_flagged == n_rows and n_rows > 1 else f"{n_flagged:,}"
        said = [f"{count} of {of} {several} an alarm: unlike the normal rows, by their scores."]
    if data["groups"]:
        largest = data["groups"][0]
        said[0] += (
            f" The largest group, {rows(len(largest['rows']))}, is because of {largest['because']}."
        )
    if shown < n_rows:
        left = max(0, (n_rows if n_flagged is None else n_flagged) - shown)
        if n_flagged is not None and shown == n_flagged:
            said.append("Shown are those that raise an alarm.")
        else:
            said.append(f"Shown are the {rows(shown)} with the highest scores.")
        if left:
            what = "others" if n_flagged is None else "others that raise an alarm"
            said[-1] += f" {left:,} {what} are left out: a table (CSV) has them all."
    return said


def _provenance(data: Mapping[str, Any], given: dict[str, str]) -> list[tuple[str, str]]:
    """What the page was made from, and how."""
    settings = ", ".join(f"{name} = {value}" for name, value in data["settings"].items())
    if len(settings) > MOST_SETTINGS:
        settings = f"{settings[:MOST_SETTINGS]} …"
    alarm = "the detector names none" if data["threshold"] is None else number(data["threshold"])
    if data["promise"]:
        alarm = f"{alarm}: {data['promise']}"
    told_ = {
        **given,
        "Method": f"{data['method'] or 'not named'}{f' ({settings})' if settings else ''}",
        "Alarm": alarm,
        "Made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, by whyflag {__version__}",
    }
    if data["redacted"]:
        told_["Redacted"] = f"values of {in_a_list(data['redacted'])}"
    return list(told_.items())
