"""What the experiments run on: every setting, in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, final

from whyflag.datasets import DATASETS
from whyflag.detectors.base import Detector
from whyflag.shapley import Kernel

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
        wide_budget: Coalitions besides 2p that Shapley values are made of on a wide data set; on
            the others they are the paper's 2048. 512 is too few for ASH and KSH on Musk and
            Arrhythmia (docs/reproduction.md).
        max_updates: Most updates of a network's weights.
        n_draws: Draws in the ELBO.
        wide_draws: The same on a wide data set.
        variance_floor: Added to the variances of mixtures. Chosen on validation rows
            (docs/design/nearness.md).
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
    wide_budget: int = 512
    max_updates: int = 5000
    n_draws: int = 8
    wide_draws: int = 2
    variance_floor: float = 0.1
    sizes: Mapping[str, Mapping[str, Mapping[str, list[float]]]] = field(
        default_factory=lambda: {
            "Lympho": {"DAGMM": {"latent": [0.8], "hidden": [0.5]}},
            "Musk": {"VAE": COARSE_GRID, "DAGMM": SMALLEST},
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

    def detector(self, dataset: str, n_columns: int, family: str, seed: int) -> Detector:
        """A detector of a family, not yet fitted."""
        from whyflag import detectors

        sizes: Mapping[str, Any] = self.sizes.get(dataset, {}).get(family, {})
        if family == "GMM":
            return detectors.GMM(reg_covar=self.variance_floor, seed=seed)
        if family == "VAE":
            n_draws = self.wide_draws if n_columns > WIDE else self.n_draws
            return detectors.VAE(**sizes, max_updates=self.max_updates, n_draws=n_draws, seed=seed)
        return detectors.DAGMM(
            **sizes, reg_covar=self.variance_floor, max_updates=self.max_updates, seed=seed
        )

    def solver(self, n_players: int) -> Kernel:
        """How the sum over coalitions is done."""
        return Kernel(budget=2 * n_players + self.wide_budget) if n_players > WIDE else Kernel()


FULL = Settings()
QUICK = Settings(
    seeds=(0,),
    most_rows=12,
    least_rows=6,
    most_wide_rows=1,
    most_game_rows=2,
    most_wide_game_rows=0,
    wide_budget=64,
    max_updates=300,
    n_draws=2,
    sizes={name: {"VAE": SMALLEST, "DAGMM": SMALLEST} for name in DATASETS},
)
