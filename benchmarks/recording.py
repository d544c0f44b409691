"""Scores that remember what they were asked, so that bare answers to it can be timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.instrument import seconds
from whyflag.arrays import Matrix
from whyflag.score import CurvedScore, DifferentiableScore, Score

BATCHES = (2**6, 2**8, 2**10, 2**12, 2**14, 2**16)  # rows in a call
ANSWERS = ("__call__", "value_and_grad", "value_grad_curvature")


class Asked:
    """The points at which a score was evaluated, and those at which its gradient was."""

    def __init__(self) -> None:
        self.values: list[Matrix] = []
        self.gradients: list[Matrix] = []

    def again(self, score: Score) -> Callable[[], None]:
        """A function that asks the same once more and does nothing else, in the best batches."""
        tasks = [
            best_batches(answer, np.vstack(points))
            for answer, points in ((score, self.values), (with_gradient(score), self.gradients))
            if points
        ]

        def ask() -> None:
            for task in tasks:
                task()

        return ask


@contextmanager
def recording(score: Score) -> Iterator[Asked]:
    """Note what a score is asked meanwhile."""
    asked = Asked()
    kind = type(score)
    noted = {
        name: _noted(getattr(kind, name), asked.values if name == "__call__" else asked.gradients)
        for name in ANSWERS
        if hasattr(kind, name)
    }
    score.__class__ = type(kind.__name__, (kind,), noted)
    try:
        yield asked
    finally:
        score.__class__ = kind


def _noted(answer: Callable[..., Any], points: list[Matrix]) -> Callable[..., Any]:
    def answer_and_note(self: Score, X: Matrix) -> Any:
        # One answer may be made of another: then it is noted once.
        before = len(points)
        said = answer(self, X)
        if len(points) == before:
            points.append(X.copy(order="K"))
        return said

    return answer_and_note


def with_gradient(score: Score) -> Callable[[Matrix], Any]:
    """What a minimiser asks of a score."""
    if isinstance(score, CurvedScore):
        return score.value_grad_curvature
    if isinstance(score, DifferentiableScore):
        return score.value_and_grad
    return score


def best_batches(answer: Callable[[Matrix], Any], points: Matrix) -> Callable[[], None]:
    """A function that answers at all points in the batches that take the least time."""

    def ask(batches: list[Matrix]) -> None:
        for batch in batches:
            answer(batch)

    best, least = [points], np.inf
    for order in ("C", "F"):
        for size in BATCHES:
            if size < 2 * len(points):
                begins = range(0, len(points), size)
                batches = [points[begin : begin + size].copy(order) for begin in begins]
                took = seconds(lambda batches=batches: ask(batches))
                if took < least:
                    best, least = batches, took
    return lambda: ask(best)
