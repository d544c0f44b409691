"""The audit of scores that come from outside: questions that are asked at their first rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.score.answers import check_finite, lower_median, refuse_other_answers

if TYPE_CHECKING:
    from whyflag.score.base import Score

HEAD = 64  # rows that are asked for again
Refuse = Callable[[Vector, Vector, Matrix, str], None]

FEW = 4  # rows of which copies are asked for
COPIES = 8  # of each of them


class Question(ABC):
    """Something that must be true of a score, looked into at the first rows it is asked for."""

    @abstractmethod
    def ask(self, score: Score, X: Matrix, values: Vector) -> bool:
        """Refuse the score, or tell whether enough has been seen of it."""


@final
class Audit:
    """Questions that are open until enough rows have been seen."""

    def __init__(self, *questions: Question) -> None:
        self._open = questions
        # Questions count what they have seen: threads ask one after another. A lock of its own,
        # since a score may ask others, in threads of theirs.
        self._one_at_a_time = RLock()

    def __reduce__(self) -> tuple[type[Audit], tuple[Question, ...]]:
        return Audit, self._open  # a lock can not be pickled

    @property
    def done(self) -> bool:
        """Whether every question has been answered."""
        return not self._open

    def look(self, score: Score, X: Matrix, values: Vector) -> None:
        """Look at rows and their scores; refuse the score if an answer is wrong."""
        if self.done:
            return
        with self._one_at_a_time:
            self._open = tuple(each for each in self._open if not each.ask(score, X, values))


@final
class Fixed(Question):
    """Is the score a fixed function of each row by itself?

    The first rows it sees are scored again in another order, one of them alone, and copies of a
    few of them. A score that is random, or that depends on the other rows of its batch, makes every
    attribution by perturbation meaningless, so it is refused. (One that turns random later is found
    by `Explainer`.)
    """

    def __init__(self) -> None:
        self._answered = False

    def ask(self, score: Score, X: Matrix, values: Vector) -> bool:
        # Once it has answered, it may have no answer where a minimiser tries its steps.
        if self._answered and not np.isfinite(values).all():
            return False
        check_finite(values, X)
        self._compare(score, X, values)
        self._answered = True
        # A row in the company of none proves little: the audit goes on until rows come.
        return len(X) > 1

    def _compare(self, score: Score, X: Matrix, values: Vector) -> None:
        typical = lower_median(np.abs(values))

        def refuse(one: Vector, other: Vector, rows: Matrix, complaint: str) -> None:
            refuse_other_answers(
                one, other, rows, complaint, typical=typical, precision=score.precision
            )

        head = X[:HEAD]
        try:
            self._in_other_company(score, X, values, refuse)
        except ValueError:
            first, second = score.function(head), score.function(head)
            refuse(first, second, head, "is random: scored twice, one batch got")
            raise

    def _in_other_company(self, score: Score, X: Matrix, values: Vector, refuse: Refuse) -> None:
        """Three calls, since one may take a second whatever its size."""
        company = "depends on the other rows of the batch:"
        # What stands out of its batch is another number alone, if the batch counts.
        odd = int(np.argmax(np.abs(values - lower_median(values))))
        alone = np.array([_alone(score, X[odd : odd + 1])])
        refuse(values[[odd]], alone, X[[odd]], f"{company} in company and alone, a row got")
        head = X[:HEAD]
        again = score.function(np.ascontiguousarray(head[::-1]))[::-1]
        refuse(values[: len(head)], again, head, f"{company} in two batches, a row got")
        which = np.unique(np.append(np.linspace(0, len(X) - 1, FEW).astype(int), odd))
        several = np.repeat(X[which], COPIES, axis=0)
        copies = score.function(several)
        among = f"{company} in company and among copies of itself, a row got"
        refuse(np.repeat(values[which], COPIES), copies, several, among)


def _alone(score: Score, x: Matrix) -> float:
    try:
        return float(score.function(x).item())
    except Exception as error:
        raise ValueError(
            "A score must be a fixed function of each row by itself. This one fails on a row "
            f"alone: {type(error).__name__}: {error}"
        ) from error
