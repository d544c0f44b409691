"""Scores that remember what they were asked, so that bare answers to it can be timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from benchmarks.instrument import seconds
from whyflag.arrays import Matrix
from whyflag.score import Curvature, Gradient, Score

BATCHES = (2**6, 2**8, 2**10, 2**12, 2**14, 2**16)  # rows in a call


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
    answers: list[tuple[Any, str, list[Matrix]]] = [(score, "function", asked.values)]
    if gradient := score.find(Gradient):
        answers.append((gradient, "value_and_grad", asked.gradients))
    if curvature := score.find(Curvature):
        answers.append((curvature, "value_grad_regime", asked.gradients))
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in answers]
    try:
        for owner, name, points in answers:
            # Records are frozen; these get their own answers back.
            object.__setattr__(owner, name, _noted(getattr(owner, name), points))
        yield asked
    finally:
        for owner, name, answer in before:
            object.__setattr__(owner, name, answer)


def _noted(answer: Callable[[Matrix], Any], points: list[Matrix]) -> Callable[[Matrix], Any]:
    def answer_and_note(X: Matrix) -> Any:
        points.append(X.copy(order="K"))
        return answer(X)

    return answer_and_note


def with_gradient(score: Score) -> Callable[[Matrix], Any]:
    """What a minimiser asks of a score."""
    return score.find(Curvature) or score.find(Gradient) or score


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
                took = seconds(partial(ask, batches))
                if took < least:
                    best, least = batches, took
    return lambda: ask(best)
