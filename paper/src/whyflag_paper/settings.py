"""What the experiments run on: every setting, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, final

from whyflag.detectors.base import Detector
from whyflag.shapley import Kernel
from whyflag_paper.datasets import DATASETS

FAMILIES = {"GMM": ("GMM",), "VAE": ("VAE-r", "VAE-e"), "DAGMM": ("DAGMM",)}
DETECTORS = tuple(detector for family in FAMILIES.values() for detector in family)
KINDS = {"VAE-r": "reconstruction", "VAE-e": "elbo"}
WIDE = 50  # columns above which a data set counts as wide
COARSE_GRID = {"latent": [0.2, 0.4], "hidden": [0.5]}
SMALLEST = {"latent": [0.2], "hidden": [0.5]}
GAMMAS = (0.001, 0.01, 0.1, 1.0, 10.0)


@final
@dataclass(frozen=True)
class Settings:
    """How much is computed; what is computed is always the same.

    Attributes:
        seeds: Seeds of the splits; detectors, anomalies and methods take them too.
        datasets: Names of the data sets.
        most_rows: Test rows in a cell, at most. The split has put them in random order.
        most_wide_rows: The same on a wide data set.
        least_rows: A data set with fewer test rows has each several times, with other culprits.
        most_game_rows: Test rows at most of v̂ against v̲.
        most_wide_game_rows: The same on a wide data set; 0 leaves it out there.
        budget: Coalitions besides 2p that Shapley values are made of, at most.
        max_updates: Most updates of a network's weights.
        n_draws: Draws in the ELBO.
        sizes: Sizes of networks to choose from, by data set and family, where the paper's grid
            would take hours.
        least_qualified: Real anomalies with a clear culprit, of all seeds, that make a cell.
    """

    seeds: tuple[int, ...] = (0, 1, 2)
    datasets: tuple[str, ...] = tuple(DATASETS)
    most_rows: int = 120
    most_wide_rows: int = 12
    least_rows: int = 30
    most_game_rows: int = 60
    most_wide_game_rows: int = 1
    budget: int = 2048
    max_updates: int = 5000
    n_draws: int = 4
    sizes: Mapping[str, Mapping[str, Mapping[str, list[float]]]] = field(
        default_factory=lambda: {
            "Lympho": {"DAGMM": {"latent": [0.8], "hidden": [0.5]}},
            "Musk": {"VAE": COARSE_GRID | {"hidden": [1.0]}, "DAGMM": SMALLEST},
            "Arrhythmia": {"VAE": COARSE_GRID, "DAGMM": SMALLEST},
        }
    )
    least_qualified: int = 10

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON would have them."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }

    def detector(self, dataset: str, family: str, seed: int) -> Detector:
        """A detector of a family, not yet fitted."""
        from whyflag import detectors

        sizes: Mapping[str, Any] = self.sizes.get(dataset, {}).get(family, {})
        if family == "GMM":
            return detectors.GMM(random_state=seed)
        if family == "VAE":
            return detectors.VAE(
                **sizes, max_updates=self.max_updates, n_draws=self.n_draws, random_state=seed
            )
        return detectors.DAGMM(**sizes, max_updates=self.max_updates, random_state=seed)

    def solver(self, n_players: int) -> Kernel:
        """How the sum over coalitions is done."""
        return Kernel(budget=2 * n_players + self.budget)


FULL = Settings()
QUICK = Settings(
    seeds=(0,),
    most_rows=12,
    least_rows=6,
    most_wide_rows=1,
    most_game_rows=2,
    most_wide_game_rows=0,
    budget=64,
    max_updates=300,
    n_draws=2,
    sizes={name: {"VAE": SMALLEST, "DAGMM": SMALLEST} for name in DATASETS},
)
