"""What a second core brings."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from math import ceil

from benchmarks.instrument import Line, line, ratios, seconds, threads
from benchmarks.shapes import normal_rows, rows_to_explain, score_of
from whyflag import Explainer
from whyflag.arrays import Matrix
from whyflag.parallel import in_processes
from whyflag.score import Score

MANY = [
    # detector, number of features, rows, method
    ("GMM", 6, 50_000, "ASH"),
    ("GMM", 6, 50_000, "KSH"),
    ("GMM", 10, 10_000, "ASH"),
    ("GMM", 59, 500, "ASH"),
    ("GMM", 59, 150, "KSH"),
    ("GMM", 166, 100, "ASH"),
    ("VAE", 6, 40_000, "ASH"),
    ("VAE", 59, 100, "ASH"),
    ("VAE", 59, 100, "KSH"),
    ("forest", 6, 4000, "KSH"),
    ("forest", 10, 400, "KSH"),
]
FEW = [
    ("GMM", 6, 1),
    ("GMM", 6, 100),
    ("GMM", 6, 2000),
    ("GMM", 59, 1),
    ("GMM", 59, 100),
    ("GMM", 166, 2),
    ("VAE", 6, 100),
    ("VAE", 59, 2),
]
BARE = [("GMM", 6), ("GMM", 59), ("VAE", 6), ("VAE", 59), ("forest", 10)]
N_BARE = 4096  # rows of a bare evaluation, repeated for a second
MUCH, LITTLE = "second core", "second core, less than a second of work"
NOTHING_ELSE = "second core, bare evaluations"
CLOCK = time.perf_counter  # two processes: an idle machine is needed
REPEATS = 5  # and two of what takes seconds


def lines() -> Iterator[Line]:
    """Time of one job ÷ time of two: of bare evaluations, on much work, and on little."""
    for kind, d in BARE:
        yield _ceiling(kind, d)
    for kind, d, n, method in MANY:
        yield _speed_up(kind, d, n, method, MUCH, 1, 1.7)
    for kind, d, n in FEW:
        yield _speed_up(kind, d, n, "ASH", LITTLE, 2, 0.95)


def _ceiling(kind: str, d: int) -> Line:
    """What the machine itself can give: two independent halves, in turn and at once."""
    score, X = score_of(kind, d), rows_to_explain(kind, d, N_BARE)
    with threads(1):
        score(X)
        work = partial(_evaluate, score, X)
        times = [ceil(1 / seconds(lambda: score(X), CLOCK))] * 2
        list(in_processes(2, work, times))
        found = ratios(
            lambda: list(map(work, times)), lambda: list(in_processes(2, work, times)), 3, CLOCK
        )
    return line(NOTHING_ELSE, f"{kind}, d = {d}", found, "one process ÷ two", threads=2)


def _evaluate(score: Score, X: Matrix, times: int) -> None:
    for _ in range(times):
        score(X)


def _speed_up(
    kind: str, d: int, n: int, method: str, section: str, n_threads: int, least: float
) -> Line:
    score, normal, X = score_of(kind, d), normal_rows(kind, d), rows_to_explain(kind, d, n)
    one = Explainer(score, normal, method)
    two = Explainer(score, normal, method, n_jobs=2)
    with threads(n_threads):
        one(X), two(X)
        found = ratios(lambda: one(X), lambda: two(X), REPEATS if section != MUCH else 2, CLOCK)
    return line(
        section,
        f"{method}, {kind}, d = {d}, {n} row{'s' * (n > 1)}",
        found,
        "one job ÷ two",
        threads=2,
        least=least,
    )
