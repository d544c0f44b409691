"""The cells of the paper's tables: which there are, and what each is computed from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

from whyflag.games import LocalMinimum, RelaxedMinimum
from whyflag.methods import ASH, METHODS, Method
from whyflag.shapley import ShapleySolver
from whyflag_paper.settings import FAMILIES, GAMMAS, Settings

OURS = "whyflag"  # an ensemble of methods of the paper:
MEMBERS = ("marg", "wKSH", "comp")
BY_MARGINALS = ("marg", "SFE")  # which need the marginals of a score
WITH_MARGINALS = ("GMM", "VAE-r")  # and which scores have them
BY_COALITIONS = ("KSH", "wKSH", "ASH")  # which have a solver
PUBLISHED = ("marg", "SFE", "ACE", "IG", "KSH", "wKSH", "comp", "ASH")  # as in the paper's tables
DEFAULT = "near"  # of the library
COLUMNS = (*PUBLISHED, DEFAULT, OURS)
GAMES = ("vhat", "vrelaxed")
SENSITIVITY = {f"ASH gamma={gamma}": gamma for gamma in GAMMAS}
# Lympho once more with its 18 features as players, instead of the 59 columns that they take.
GROUPED = "Lympho, 18 features"

SYNTHETIC, REAL, RELAXATION, GAMMA = "synthetic", "real", "relaxation", "gamma"


@final
@dataclass(frozen=True)
class Cell:
    """One method on one detector and one split of one data set, in one experiment."""

    experiment: str
    dataset: str
    detector: str
    method: str
    seed: int

    @property
    def key(self) -> tuple[str, ...]:
        """What the cell is stored by."""
        return (self.experiment, self.dataset, self.detector, self.method, f"seed {self.seed}")


@final
@dataclass(frozen=True)
class Job:
    """A fit of one detector (VAE-r and VAE-e are one), and all cells that come from it."""

    dataset: str
    family: str
    seed: int

    def cells(self) -> Iterator[Cell]:
        """The cells, in the order in which they are computed."""
        datasets = (self.dataset, GROUPED) if self.dataset == "Lympho" else (self.dataset,)
        for detector in FAMILIES[self.family]:
            methods = [method for method in COLUMNS if applies(method, detector)]
            for dataset in datasets:
                for method in methods:
                    yield Cell(SYNTHETIC, dataset, detector, method, self.seed)
            for method in methods:
                yield Cell(REAL, self.dataset, detector, method, self.seed)
            for method in GAMES:
                yield Cell(RELAXATION, self.dataset, detector, method, self.seed)
        if self.family == "GMM":
            for method in SENSITIVITY:
                yield Cell(GAMMA, self.dataset, "GMM", method, self.seed)


def applies(method: str, detector: str) -> bool:
    """Whether the score of a detector has what a method needs."""
    return method not in BY_MARGINALS or detector in WITH_MARGINALS


def jobs(settings: Settings) -> list[Job]:
    """Every fit that the settings ask for."""
    return [
        Job(dataset, family, seed)
        for seed in settings.seeds
        for family in FAMILIES
        for dataset in settings.datasets
    ]


def method_named(name: str, solver: ShapleySolver) -> Method:
    """The method of a cell, with this solver if it has one."""
    if name in SENSITIVITY:
        return ASH(RelaxedMinimum(gamma=SENSITIVITY[name]), solver)
    if name in GAMES:
        return ASH(LocalMinimum() if name == "vhat" else RelaxedMinimum(), solver)
    make: Any = METHODS[name]
    return make(solver=solver) if name in BY_COALITIONS else make()
