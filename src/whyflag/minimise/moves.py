"""Where solvers end."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import final

import numpy as np

from whyflag.arrays import BoolVector, IntVector, Matrix, Vector, pick
from whyflag.minimise.problem import Problems


@final
@dataclass(frozen=True)
class Moves:
    """Where the moves of a batch ended; filled in as problems end."""

    u: Matrix  # b x d
    loss: Vector  # b
    converged: BoolVector  # b
    n_evaluations: IntVector  # b

    @classmethod
    def none(cls, problems: Problems) -> Moves:
        """No problem has ended yet."""
        b = len(problems)
        return cls(
            u=problems.start.copy(),
            loss=np.full(b, np.inf),
            converged=np.zeros(b, dtype=np.bool_),
            n_evaluations=np.zeros(b, dtype=np.int64),
        )

    def select(self, which: IntVector) -> Moves:
        """Those of some problems."""
        return Moves(*(pick(getattr(self, field.name), which) for field in fields(self)))

    def put(self, which: IntVector, found: Moves) -> None:
        """Take what was found of some problems; evaluations add up."""
        self.u[which], self.loss[which] = found.u, found.loss
        self.converged[which] = found.converged
        self.n_evaluations[which] += found.n_evaluations
