"""Run the code of the pages with pictures, and save each under the name that follows its code.

`python docs/make_gallery.py` writes docs/images/gallery_*.png and tutorial_*.png.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parent
CELL = re.compile(r"^```python\n(.*?)^```\n(?:\n!\[[^]]*\]\((images/[^)]+)\))?", re.M | re.S)
PAGES = ("gallery.md", "tutorial.md")
DPI = 110


def main() -> None:
    """Make all pictures anew."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # what a page's own code saves is not kept
        for name in PAGES:
            run(name)
        os.chdir(DOCS)


def run(name: str) -> None:
    """Run the code of a page in order, as a reader would."""
    names: dict[str, Any] = {}
    for code, picture in CELL.findall((DOCS / name).read_text(encoding="utf-8")):
        exec(compile(code, name, "exec"), names)  # noqa: S102
        if picture and plt.get_fignums():  # a screenshot has no figure
            save(DOCS / picture)
        plt.close("all")


def save(path: Path) -> None:
    """Write the current figure, and say how large the file is."""
    plt.gcf().savefig(path, dpi=DPI)
    print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")  # noqa: T201


if __name__ == "__main__":
    main()
