"""PetShop: incidents of a micro-service application whose causes are known, low traffic.

Of the repository amazon-science/petshop-root-cause-analysis; its data are under CC-BY-4.0.
"""

from __future__ import annotations

import os
from pathlib import Path

import pooch

FOLDER = "WHYFLAG_PETSHOP"  # names a folder that has the files already
REPOSITORY = "amazon-science/petshop-root-cause-analysis"
COMMIT = "1c5992dc46a02c988a027e2219036d59e8158a91"
INSIDE = "dataset/low_traffic"  # where the files are in the repository
N_INCIDENTS = {"train": 8, "test": 18}
FILES = (
    "graph.csv",
    "noissue/metrics.csv",
    *(
        f"{part}/issue_{i}/{name}"
        for part, n in N_INCIDENTS.items()
        for i in range(n)
        for name in ("metrics.csv", "target.json")
    ),
)


def petshop() -> Path:
    """The folder of the incidents: `noissue`, `train`, `test`, and the graph of calls.

    The one that the environment variable WHYFLAG_PETSHOP names; else its 54 files are fetched from
    the repository, once, into the user's cache. What they hold is fixed by the commit.
    """
    given = os.environ.get(FOLDER)
    folder = Path(given) if given else pooch.os_cache("whyflag") / "petshop"
    for file in FILES:
        path = folder / file
        if path.is_file():
            continue
        if given:
            raise FileNotFoundError(
                f"{FOLDER} names {given!r}, which has no file {file!r}. It is in {INSIDE!r} of "
                f"{REPOSITORY} at commit {COMMIT}."
            )
        _fetch(file, path)
    return folder


def _fetch(file: str, path: Path) -> None:
    url = f"https://raw.githubusercontent.com/{REPOSITORY}/{COMMIT}/{INSIDE}/{file}"
    try:
        pooch.retrieve(url=url, known_hash=None, fname=path.name, path=path.parent)
    except OSError as error:
        raise OSError(
            f"{url} cannot be downloaded ({type(error).__name__}). A folder that has the files can "
            f"be named by the environment variable {FOLDER}."
        ) from error
