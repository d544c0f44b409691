"""What the paper's text says against what its formulas and its authors' program do, measured.

`python -m whyflag_paper.audit` prints the table of docs/audit.md, in about two minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tqdm.auto import tqdm

from whyflag_paper.audit import detectors, formulas, methods, rows
from whyflag_paper.audit.findings import Finding, markdown

__all__ = ["PARTS", "Finding", "audit", "markdown"]

PARTS: tuple[Callable[[], Iterator[Finding]], ...] = (
    *formulas.PARTS,
    *methods.PARTS,
    *detectors.PARTS,
    *rows.PARTS,
)


def audit() -> list[Finding]:
    """All measurements."""
    return [
        finding
        for part in tqdm(PARTS, desc="audit", unit="part", disable=None)
        for finding in part()
    ]
