"""ASH's minimisations: evaluations until 2000 steps of Adam are matched, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.adam import adam
from benchmarks.instrument import Line, line, ratios, threads
from benchmarks.recording import recording
from benchmarks.shapes import SHAPES, normal_rows, rows_to_explain, score_of
from whyflag.arrays import BoolVector, Matrix, Vector
from whyflag.domain import Domain
from whyflag.games import RelaxedMinimum
from whyflag.minimise import quasi_newton
from whyflag.minimise.problem import Problems
from whyflag.score import Score

GAMMA = 0.01
REPEATS = 3
# Rows at a time: a hundred, or as many as take a second or two. Steps of few rows are dearer.
ROWS = {6: 2000, 9: 1000, 10: 1000, 59: 100, 166: 20, 274: 10}
N_PROBLEMS = 24  # that are also given to Adam
SAME = 1e-3  # of the loss: two bottoms that differ by less are one


def lines() -> Iterator[Line]:
    """Evaluations to match Adam, and total time ÷ bare time, by detector and number of features."""
    for kind in ("GMM", "VAE"):
        for d in SHAPES:
            yield _evaluations(kind, d)
            yield _ratio(kind, d)


def _ratio(kind: str, d: int) -> Line:
    score, X = score_of(kind, d), rows_to_explain(kind, d, ROWS[d])
    game, domain = RelaxedMinimum(), Domain.infer(normal_rows(kind, d), bounded=True)
    with threads(1):
        game.bind(score, domain, X)
        with recording(score) as asked:
            bound = game.bind(score, domain, X)
        found = ratios(lambda: game.bind(score, domain, X), asked.again(score), REPEATS)
    each = float(np.mean(bound.n_evaluations)) / (d + 1)
    return line(
        "minimisation, time",
        f"{kind}, d = {d}",
        found,
        "total ÷ bare",
        threads=1,
        most=2.0 if d >= 59 or kind == "VAE" else 5.0,
        note=f"{len(X)} rows, {each:.0f} evaluations a problem on average",
    )


def _evaluations(kind: str, d: int) -> Line:
    score, domain = score_of(kind, d), Domain.infer(normal_rows(kind, d), bounded=True)
    with threads(1):
        X, keep = _problems(kind, d)
        problems = Problems(score, X, keep, domain, gamma=GAMMA)
        moves, losses = adam(problems)
        needed, same = _until(problems, score, domain, losses, moves)
    return line(
        "minimisation, evaluations",
        f"{kind}, d = {d}",
        needed[same].tolist(),
        "to match Adam",
        threads=1,
        most=60.0,
        note=f"{int(same.sum())} of {len(X)} problems end in Adam's basin, spread over them; "
        f"{np.isfinite(needed[same]).mean():.0%} of these reach its loss",
    )


def _problems(kind: str, d: int) -> tuple[Matrix, BoolVector]:
    """Empty sets and singletons of some rows, as ASH has them."""
    rng = np.random.default_rng(0)
    keep = np.zeros((N_PROBLEMS, d), dtype=np.bool_)
    keep[np.arange(N_PROBLEMS // 4, N_PROBLEMS), rng.integers(d, size=3 * N_PROBLEMS // 4)] = True
    return rows_to_explain(kind, d, N_PROBLEMS), keep


def _until(
    problems: Problems, score: Score, domain: Domain, losses: Vector, moves: Matrix
) -> tuple[Vector, BoolVector]:
    """Evaluations until the loss of each problem is Adam's or lower, and who shares its basin."""
    trace: list[Vector] = []
    advance = quasi_newton._advance

    def noted(state: Any) -> None:
        now = trace[-1].copy() if trace else np.full(len(problems), np.inf)
        now[state.which] = state.loss
        trace.append(now)
        advance(state)

    with patch.object(quasi_newton, "_advance", noted):
        ours = quasi_newton.descend(problems, 2000)
    trace.append(ours.loss)
    low_enough = np.array(trace) <= losses + 1e-9 * np.maximum(1.0, np.abs(losses))  # steps x b
    needed = np.where(low_enough.any(axis=0), low_enough.argmax(axis=0) + 1.0, np.inf)
    bottom = quasi_newton.descend(problems.on_leash(problems.leash, moves), 2000).loss
    same = np.abs(bottom - ours.loss) <= SAME * np.maximum(1.0, np.abs(ours.loss))
    return needed, same
