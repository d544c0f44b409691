"""What a measurement is, and what all of them are made on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, final

import numpy as np

from whyflag.arrays import BoolMatrix, Matrix
from whyflag.detectors import GMM
from whyflag.metrics import mean_reciprocal_rank
from whyflag.score import Score
from whyflag.score.mixture import MixtureEnergy
from whyflag_paper.anomalies import perturb
from whyflag_paper.datasets import Dataset, Split, load, split

SEED = 0
MOST_ROWS = 120
SMALL = ("Thyroid", "BreastW", "U2R")


@final
@dataclass(frozen=True)
class Finding:
    """One measurement: with the text's definition, and with the other."""

    what: str
    where: str
    quantity: str
    as_text: str
    as_published: str


def markdown(findings: Sequence[Finding]) -> str:
    """The measurements as a table."""
    lines = ["| what | where | measured | as the text has it | as printed or published |"]
    lines.append("|---|---|---|---|---|")
    lines += [
        f"| {f.what} | {f.where} | {f.quantity} | {f.as_text} | {f.as_published} |"
        for f in findings
    ]
    return "\n".join(lines)


@cache
def data(name: str) -> tuple[Dataset, Split]:
    """A data set and its split."""
    dataset = load(name)
    return dataset, split(dataset, SEED)


def gmm(name: str, floor: float | None = None) -> Score:
    """The score of a mixture fitted to a data set, with the floor of all mixtures or another."""
    return _fitted(name, floor).to_score()


def mixture(name: str, floor: float | None = None) -> MixtureEnergy:
    """Its energy, as a formula."""
    return _fitted(name, floor).energy()


@cache
def _fitted(name: str, floor: float | None) -> GMM:
    _, rows = data(name)
    return GMM(reg_covar=floor, random_state=SEED).fit(rows.train, X_valid=rows.valid)


@cache
def planted(name: str, n_culprits: int = 1) -> tuple[Matrix, BoolMatrix]:
    """Rows whose culprits are known, and who they are."""
    dataset, rows = data(name)
    normal = np.tile(rows.test_normal, (-(-30 // len(rows.test_normal)), 1))[:MOST_ROWS]
    rng = np.random.default_rng([SEED, n_culprits])
    return perturb(normal, n_culprits, binary=dataset.binary, rng=rng)


def mrr(values: Any, guilty: BoolMatrix) -> str:
    """How well values find the culprits."""
    return f"{mean_reciprocal_rank(values, guilty).value:.2f}"


def relative_errors(values: Matrix, reference: Matrix) -> str:
    """How far values are off, in the median row and in the worst."""
    error = np.linalg.norm(values - reference, axis=1) / np.linalg.norm(reference, axis=1)
    return f"{np.median(error):.1%} ({error.max():.1%})"
