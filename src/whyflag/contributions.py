"""What a method finds: arrays with an entry for each row."""

from __future__ import annotations

from dataclasses import dataclass

from whyflag.arrays import BoolVector, IntVector, Matrix, Vector
from whyflag.outcome import Outcome
from whyflag.records import per_row


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Contributions:
    """What each player contributes to the score of each row.

    Attributes:
        values: The attributions, (n, p). Positive: this feature makes the row more anomalous. If
            `additive`, they sum for each row to `scores` − `base_values`, in units of the score.
        base_values: The score with no feature present, v(∅), (n,): that of the reference, or an
            average over reference rows.
        scores: The anomaly score of each row, e(x), (n,).
        evaluations: Score evaluations spent on each row, (n,).
        reference: A normal row for each row, x*(∅), (n, d); None where a method has none.
        standard_errors: How far the values may be off, (n, p): because not every coalition was
            counted (zero where every one was), or, of near, because of which normal rows are
            nearest. Infinite where too little was seen to tell; None where a method has none.
        ended: How the work behind a row ended, (n,): an `Outcome` each. None where a method has
            no work that could fail.
        fallback: Whether the method's own definition did not hold on a row, so that a slower one
            took its place, (n,). None where a method has no other.
        additive: Whether the values are parts of the score.
        scored_base: Whether `base_values` are scores of normal values. Those of marg and SFE are
            not: they are a constant that is left when no feature is known.
    """

    values: Matrix = per_row()
    base_values: Vector = per_row()
    scores: Vector = per_row()
    evaluations: IntVector = per_row()
    reference: Matrix | None = per_row(default=None)
    standard_errors: Matrix | None = per_row(default=None)
    ended: IntVector | None = per_row(default=None)
    fallback: BoolVector | None = per_row(default=None)
    additive: bool = True
    scored_base: bool = True

    def __len__(self) -> int:
        return len(self.values)

    @property
    def converged(self) -> BoolVector | None:
        """Whether the work behind a row reached its goal, (n,).

        Minimisations a minimum, integrals and draws their precision. None where a method has no
        such work.
        """
        return None if self.ended is None else self.ended == Outcome.ARRIVED
