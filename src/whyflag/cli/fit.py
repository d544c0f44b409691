"""`whyflag fit`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyflag.cli.console import errors_in_a_line, say
from whyflag.cli.options import DropMissing, ImputeMissing, RowsFile, missing

if TYPE_CHECKING:
    from whyflag.detectors.base import Detector

FEWEST_ROWS = 10


class DetectorName(StrEnum):
    """Detectors that can be kept in a folder without code."""

    GMM = "gmm"
    VAE = "vae"
    DAGMM = "dagmm"


@errors_in_a_line
def fit(
    rows: RowsFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the model.")],
    detector: Annotated[
        DetectorName,
        typer.Option(help="Gaussian mixture, or a neural network (needs whyflag[torch])."),
    ] = DetectorName.GMM,
    columns: Annotated[
        str | None, typer.Option(help="Columns that count, with commas between; all if not given.")
    ] = None,
    categorical: Annotated[
        str | None, typer.Option(help="Columns whose numbers are names, with commas between.")
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
    seed: Annotated[int, typer.Option(help="Seed of all that is random.")] = 0,
    drop_missing: DropMissing = False,
    impute: ImputeMissing = None,
) -> None:
    """Learn from normal rows what is normal."""
    import pandas as pd

    from whyflag.encoding import Encoding
    from whyflag.files.reading import name_of, read_chunks
    from whyflag.methods import get_method
    from whyflag.model import DEFAULT, JSON, Model

    policy = missing(drop_missing, impute)
    if output.exists() and not (output / JSON).exists() and any(output.iterdir()):
        raise ValueError(f"{output} has other files in it: name a new folder with -o.")
    name = name_of(rows)
    table = pd.concat(list(read_chunks(rows)))
    encoding = Encoding.of(
        table,
        columns=_listed(columns),
        categorical=_listed(categorical),
        id_column=id_column,
        where=name,
    )
    encoded = encoding.encode(table, missing=policy, where=name)
    if len(encoded.rows) < FEWEST_ROWS:
        raise ValueError(
            f"{name} has too few rows to learn from: {len(encoded.rows)}; at least {FEWEST_ROWS} "
            "are needed to tell what is normal."
        )
    model = Model.fit(
        _detector(detector, contamination, seed),
        encoding,
        encoded.rows.values,
        method or [DEFAULT],
    )
    output.mkdir(parents=True, exist_ok=True)
    model.save(output)
    for note in encoded.notes:
        say(note)
    kinds = f", {len(encoding.players)} of them categories" if encoding.players else ""
    say(
        f"Learnt from {len(encoded.rows)} rows and {len(encoding.columns)} columns{kinds}. "
        f"Alarm above a score of {model.threshold:.4g}. Written: {output}"
    )
    if model.rows is not None:
        needing = [name for name in model.methods if get_method(name).needs_background]
        say(
            f"The model holds {len(model.rows)} of the rows, because {' and '.join(needing)} "
            f"{'needs' if len(needing) == 1 else 'need'} them."
        )


def _listed(names: str | None) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()] if names else []


def _detector(name: DetectorName, contamination: float, seed: int) -> Detector:
    from whyflag import detectors

    make: type[Detector] = getattr(detectors, name.name)
    return make(contamination=contamination, random_state=seed)
