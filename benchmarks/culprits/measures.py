"""What is measured in a cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.culprits.kinds import Spoilt
from benchmarks.culprits.worlds import World
from whyflag.arrays import Matrix
from whyflag.metrics import auroc, hits_at_k, mean_reciprocal_rank


def measured(world: World, spoilt: Spoilt, values: Matrix) -> dict[str, Any]:
    """Figures of a cell: each an average over its rows and a bootstrap interval."""
    guilty = spoilt.guilty
    count = int(guilty[0].sum())
    found = {
        "mrr": mean_reciprocal_rank(values, guilty),
        "root": mean_reciprocal_rank(values, spoilt.root),
        "hits3": hits_at_k(values, guilty, k=3),
        "precision": hits_at_k(values, guilty, k=count),  # as many as there are culprits
        "auroc": auroc(values, guilty),
    }
    if world.unseen:
        unseen = np.broadcast_to(world.membership[:, list(world.unseen)].any(axis=1), values.shape)
        first = hits_at_k(values, unseen.copy(), k=1)
        found["unseen first"] = first
    figures: dict[str, Any] = {
        name: [round(each, 4) for each in (measure.value, measure.low, measure.high)]
        for name, measure in found.items()
    }
    if world.unseen:  # a share of all unseen columns; one of them comes first at most
        figures["unseen first"] = [
            round(len(world.unseen) * each, 4) for each in figures["unseen first"]
        ]
    return {"rows": len(values), **figures}
