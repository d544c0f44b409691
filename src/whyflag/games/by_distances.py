"""Scores of coalitions by the distances to stored rows.

A squared distance is a sum over columns. That of a row x with some columns taken from a reference r
is a sum of one number for each group of columns,

    |z − t|² = Σ_g T_g[S ∩ g, t],   T_g[S, t] = Σ_{j∈S} (x_j − t_j)² + Σ_{j∈g∖S} (r_j − t_j)²,

and tables of all S within groups of five columns serve every coalition. Nothing cancels, however
gross a value is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from whyflag.arrays import BoolMatrix, IntMatrix, IntVector, Matrix, Vector
from whyflag.score import Distances

GROUP = 5  # columns of a table: it has 2⁵ rows
WORTH = 64  # coalitions for which tables pay


@final
@dataclass(frozen=True)
class CoalitionDistances:
    """Scores of coalitions of columns, for one row and reference after another.

    Attributes:
        distances: What is known of the score.
        keep: The columns of z that each coalition takes from the row, bool (c, k).
        ends: Where the columns of each group end, (g,).
        index: The rows of the tables that each adds up, (c, g).
    """

    distances: Distances
    keep: BoolMatrix
    ends: IntVector
    index: IntMatrix

    @classmethod
    def of(cls, distances: Distances, keep: BoolMatrix) -> CoalitionDistances:
        """Those of sets of columns of x, bool (c, d)."""
        keep = np.ascontiguousarray(keep[:, distances.sources])
        d = keep.shape[1]
        ends = np.append(np.arange(GROUP, d, GROUP), d)
        begins = np.append(0, ends[:-1])
        first = np.cumsum(np.append(0, 2 ** (ends - begins)))
        index = np.stack(
            [
                start + keep[:, begin:end] @ (1 << np.arange(end - begin))
                for start, begin, end in zip(first[:-1], begins, ends, strict=True)
            ],
            axis=1,
        )
        return cls(distances, keep, ends, np.ascontiguousarray(index))

    def __call__(self, x: Vector, r: Vector) -> Vector:
        """e(x_S, r_Sᶜ) of each coalition: (d,), (d,) -> (c,)."""
        z, other = self.distances.behind(np.stack([x, r]))
        near = self.distances.neighbours
        # What is beyond all numbers is the library's to judge.
        with np.errstate(over="ignore", invalid="ignore"):
            table = self._tables(z, other, near.columns, near.sums)
        return near.of_mixtures(z, other, self.keep, table, self.index)

    def _tables(
        self, z: Vector, other: Vector, columns: Matrix, kind: type[np.floating[Any]]
    ) -> NDArray[np.floating[Any]]:
        """The tables of all groups, one after another: (Σ 2^|g|, m)."""
        by_z, by_other = (((row[:, None] - columns) ** 2).astype(kind) for row in (z, other))
        tables = []
        for begin, end in zip([0, *self.ends[:-1]], self.ends, strict=True):
            taken = (np.arange(2 ** (end - begin))[:, None] >> np.arange(end - begin)) % 2 == 1
            choice = np.hstack([taken, ~taken]).astype(kind)
            tables.append(choice @ np.vstack([by_z[begin:end], by_other[begin:end]]))
        return np.concatenate(tables)
