"""`whyflag datasets`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from whyflag.cli.console import console, errors_in_a_line


@errors_in_a_line
def datasets(
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Download the files that are not here yet.")
    ] = False,
) -> None:
    """List the paper's data sets; with --fetch, download them."""
    from whyflag_paper import datasets as data
    from whyflag_paper.datasets.raw_files import FOLDER, RAW_FILES, find

    table = Table("data set", "rows", "anomalous", "columns", "where")
    for name, source in data.DATASETS.items():
        if fetch or all(find(file) for file in source.files):
            loaded = data.load(name)
            size = (len(loaded.X), int(loaded.anomalous.sum()), loaded.X.shape[1])
            folder = data.fetch(source.files[0]).parent
            table.add_row(name, *map(str, size), str(folder))
        else:
            repository = RAW_FILES[source.files[0]].repository
            table.add_row(name, "", "", "", f"not here yet; from github.com/{repository}")
    console.print(table)
    console.print(f"`whyflag datasets --fetch` downloads them; {FOLDER} names a folder with them.")
