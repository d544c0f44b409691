"""`whyflag fit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyflag.cli.console import Notes, errors_in_a_line, say
from whyflag.cli.options import (
    Encoding,
    Header,
    Query,
    Quiet,
    RowsFile,
    Separator,
    SheetName,
    told_of,
)
from whyflag.cli.output import file_of, refuse_input
from whyflag.cli.progress import with_progress

if TYPE_CHECKING:
    from whyflag.detectors.base import Detector
    from whyflag.table.schema import Schema
    from whyflag.table.sheet import Sheet

FEWEST_ROWS = 10
MOST_COLUMNS = 500  # of numbers, for a mixture: its covariances take d³ steps and d² numbers


class DetectorName(StrEnum):
    """Detectors that can be kept in a folder without code."""

    GMM = "gmm"
    FOREST = "forest"
    LOF = "lof"
    VAE = "vae"
    DAGMM = "dagmm"


@errors_in_a_line
@with_progress
def fit(
    rows: RowsFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the model.")],
    query: Query = None,
    sheet_name: SheetName = None,
    separator: Separator = None,
    encoding: Encoding = None,
    header: Header = None,
    keep_totals: Annotated[
        bool,
        typer.Option("--keep-totals", help="A last row of totals is a row as any other."),
    ] = False,
    detector: Annotated[
        DetectorName | None,
        typer.Option(
            help="Gaussian mixture, isolation forest, local outlier factor, or a neural network "
            "(vae, dagmm; needs whyflag\\[torch]). If none is named, the mixture, unless forest "
            "or lof is clearly better at anomalies that are planted in held-out rows."
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that counts, or a pattern such as 'sensor*'; may be given several times. "
            "All that can be read if none is given."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Column, or pattern, that does not count; may be given several times."),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(help="Column whose numbers are names; may be given several times."),
    ] = None,
    type_: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COLUMN=TYPE",
            help="What a column is, if not what it looks like: number, category, time or id; "
            "number:., has points in thousands and a decimal comma, time:%d/%m/%Y the day first.",
        ),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column that names the rows.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Method to explain by; may be given several times. Some need normal rows, which "
            "the model then keeps."
        ),
    ] = None,
    contamination: Annotated[
        float, typer.Option(help="Part of the normal rows that may raise an alarm.")
    ] = 0.01,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Learn from normal rows what is normal."""
    from whyflag.checks import check_number
    from whyflag.methods import get_method
    from whyflag.model import DEFAULT, JSON, Model
    from whyflag.table.reading import name_of, read_sheets
    from whyflag.table.schema import Schema
    from whyflag.table.sheet import Sheet
    from whyflag.table.told import Assumed
    from whyflag.table.totals import without_totals

    check_number("--contamination", contamination, above=0, at_most=0.5)
    for each in method or []:
        get_method(each)  # an unknown one is refused before there is any work
    if file_of(output) is None:
        raise ValueError("A model is a folder, which standard output can not be: name one with -o.")
    if output.exists() and not output.is_dir():
        raise ValueError(f"{output} is a file: name a folder with -o.")
    if output.exists() and not (output / JSON).exists() and any(output.iterdir()):
        raise ValueError(f"{output} has other files in it: name a new folder with -o.")
    refuse_input(output, rows)
    name = name_of(rows)
    layout = told_of(separator, encoding, header, sheet_name)
    parts = read_sheets(rows, query=query, told=layout)
    sheet = Sheet.join([part.packed() for part in parts])
    sheet = sheet if keep_totals else without_totals(sheet)
    if len(sheet) < FEWEST_ROWS:
        raise ValueError(
            f"{name} has too few rows to learn from: {len(sheet)}; at least {FEWEST_ROWS} "
            "are needed to tell what is normal."
        )
    schema = Schema.of(
        sheet,
        columns=_names(columns, sheet.columns),
        exclude=_names(exclude, sheet.columns),
        types={
            **dict.fromkeys(_names(categorical, sheet.columns), "category"),
            **_types(type_ or []),
        },
        id_column=id_column,
        rare=contamination,
        where=name,
    )
    if detector is None:
        made = _chosen(schema, sheet, contamination, seed)
    else:
        made = _detector(detector, contamination, seed)
    model = replace(Model.fit(made, schema, sheet, method or [DEFAULT]), told=layout.kept)
    model.save(output)
    with Notes() as notes:
        notes.tell(Assumed.of(note, name) for note in (*sheet.notes, *schema.assumed))
        notes.tell(schema.encode(replace(sheet, notes=()), where=name).notes)
    kinds = f", {len(schema.categories)} of them categories" if schema.categories else ""
    say(
        f"Learnt from {len(sheet)} rows and {_columns(len(schema.columns))}{kinds}. "
        f"Alarm above a score of {model.threshold:.4g}: {model.calibration.promise}. "
        f"Written: {output}"
    )
    told = f"Rows are explained by {' and '.join(model.methods)}."
    if model.rows is not None:
        needing = [name for name in model.methods if get_method(name).needs_background]
        told += (
            f" The model holds {len(model.rows)} of the rows, because {' and '.join(needing)} "
            f"{'needs' if len(needing) == 1 else 'need'} them."
        )
    say(told)


def _columns(count: int) -> str:
    return f"{count} column{'' if count == 1 else 's'}"


def _names(given: list[str] | None, columns: Sequence[str]) -> list[str]:
    """The names that an option was given; a name that no column has may be several with commas."""
    names: list[str] = []
    for each in given or []:
        parts = [each] if each in columns else [part.strip() for part in each.split(",")]
        names += [part for part in parts if part]
    return names


def _types(given: Sequence[str]) -> dict[str, str]:
    types = {}
    for each in given:
        name, found, kind = each.rpartition("=")
        if not found:
            raise ValueError(f"--type is given as COLUMN=TYPE, got {each!r}.")
        types[name] = kind
    return types


def _chosen(schema: Schema, sheet: Sheet, contamination: float, seed: int) -> Detector:
    """The detector to take if none is named, and a word on how it was chosen."""
    from whyflag.detectors.choice import choose_detector

    rows = schema.encode(sheet).rows.values
    names = [DetectorName.GMM, DetectorName.FOREST, DetectorName.LOF]
    if (d := rows.shape[1]) > MOST_COLUMNS:
        names.remove(DetectorName.GMM)
        say(f"No mixture is tried: with {d:,} columns of numbers it takes too long.")
    candidates = {name.value: _detector(name, contamination, seed) for name in names}
    name, found = choose_detector(candidates, rows, schema.membership, seed)
    others = ", ".join(
        f"{each} {100 * it.ranked:.0f} and {100 * it.alarmed:.0f} %"
        for each, it in found.items()
        if each != name
    )
    own = found[name]
    say(
        f"Detector: {name}. Anomalies planted in held-out rows score above these in "
        f"{100 * own.ranked:.0f} % of pairs, and {100 * own.alarmed:.0f} % raise an alarm "
        f"({others}); --detector takes another."
    )
    return candidates[name]


def _detector(name: DetectorName, contamination: float, seed: int) -> Detector:
    from whyflag import detectors

    made = {DetectorName.FOREST: "Forest"}
    make: type[Detector] = getattr(detectors, made.get(name, name.name))
    return make(contamination=contamination, random_state=seed)
