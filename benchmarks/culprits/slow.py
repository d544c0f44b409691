"""What is left out because it takes too long: said, not hidden."""

from __future__ import annotations

from benchmarks.culprits.methods import members_of
from benchmarks.culprits.worlds import World

SAMPLED = ("KSH", "wKSH", "semivalue 1/2", "semivalue 3/4")  # thousands of evaluations a row
# The most columns, by method and detector; detectors that compare a row with all normal ones,
# and trees, take a hundred times as long as a mixture.
MOST_COLUMNS: dict[str, dict[str, int]] = {
    **{method: {"LOF": 64, "KDE": 64, "ECOD": 64, "VAE": 64} for method in SAMPLED},
    "ASH": {"LOF": 20, "forest": 33, "ECOD": 33, "HBOS": 40, "function": 13, "PCA": 64, "VAE": 64},
    "comp": {"LOF": 64, "ECOD": 64, "function": 110, "PCA": 200},
}


def too_slow(world: World, detector: str, method: str) -> str | None:
    """Why a method is not tried on a detector in a world; None if it is."""
    for member in members_of(method):
        most = MOST_COLUMNS.get(member, {}).get(detector)
        if most is not None and world.n_columns > most:
            return f"{method} on {detector}: more than {most} columns"
    return None
