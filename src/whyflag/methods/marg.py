"""marg: how anomalous each feature is by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from whyflag.arrays import BoolMatrix, Matrix, Vector
from whyflag.contributions import Contributions
from whyflag.domain import Domain
from whyflag.methods.base import BoundMethod, Method
from whyflag.prepared import Prepared
from whyflag.score import Ability, Additive, Marginals, Score, evaluate


@final
@dataclass(frozen=True)
class MARG(Method):
    """The marginal score: how anomalous each feature is if only it is looked at.

    −log p(x_i) of a density, (x_i − r_i)² of an error of reconstruction r. It does not see whether
    features go together. The values are parts of the score only if the
    score is a sum over features. Densities are those of columns in units of their scales, so that
    metres and millimetres give the same values. Fixed columns are given: −log p(x_i | x_F).
    """

    name: ClassVar[str] = "marg"
    needs: ClassVar[tuple[type[Ability], ...]] = (Marginals,)

    def _bind(self, prepared: Prepared) -> BoundMethod:
        score = prepared.score
        return _BoundMARG(score, score.need(Marginals), prepared.domain)


@final
@dataclass(frozen=True)
class _BoundMARG(BoundMethod):
    score: Score
    marginals: Marginals
    domain: Domain

    def attribute(self, X: Matrix) -> Contributions:
        domain = self.domain
        keep = np.vstack([domain.fixed, domain.membership | domain.fixed])  # (p + 1) x d
        marginal = self.marginals.marginal(X, keep) - log_units(self.marginals, domain, keep)
        return Contributions(
            values=marginal[:, 1:] - marginal[:, :1],
            base_values=marginal[:, 0],
            scores=evaluate(self.score, X),
            evaluations=np.full(len(X), len(keep) + 1),
            additive=self.score.find(Additive) is not None,
            scored_base=False,
        )


def log_units(marginals: Marginals, domain: Domain, keep: BoolMatrix) -> Vector:
    """What marginal energies owe to the units of the columns: bool (m, d) -> (m,)."""
    return keep.astype(np.float64) @ marginals.log_units(domain.scale)
