"""The front door: detector + background rows -> Attribution."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil
from typing import Any, final

import numpy as np
from tqdm.auto import tqdm

from whyflag.adapters import as_score
from whyflag.arrays import Matrix, Table, Vector, read_table
from whyflag.attribution import Attribution, concatenate
from whyflag.checks import check_kind, check_whole
from whyflag.domain import Columns, Domain
from whyflag.memory import keep_freed_memory
from whyflag.methods import Method, get_method
from whyflag.parallel import count_jobs, in_processes
from whyflag.score import Score, evaluate, unit_from
from whyflag.score.answers import refuse_other_answers

CHUNK = 2**21  # numbers that the minima of a chunk of rows may take, 16 MB
CHUNK_EVALUATIONS = 2**18  # score evaluations after which progress is due
UNIT_ROWS = 1000  # background rows that tell how much the score varies among normal rows
FIRST_CHUNK = 4  # rows that tell how many evaluations a row takes
TELLING = 0.1  # seconds of work that tell how long the rest will take
WORTH_PROCESSES = 1.0  # seconds: to start processes takes as long


@final
class Explainer:
    """Explains why a detector finds rows anomalous.

    Args:
        detector: A fitted detector, or a function from rows (n, d) to scores (n,), high =
            anomalous; whatever `as_score` takes. Columns that it was fitted with by name are
            matched by name.
        background: Normal rows, (n, d): an array or a DataFrame. Not needed by ASH, comp, marg
            and SFE if `domain` is given.
        method: Name of a method of the paper, in any case, or a configured method such as
            `ASH(gamma=0.1)`.
        domain: What values a row may take, and who the players are; read off the background if
            none is given. Then values stay within the range of the background, whatever is known
            of the score.
        chunk_size: Rows explained at a time; chosen to bound memory if none is given. Changes no
            value by more than 1e-9 of the largest of its row.
        n_jobs: Processes that explain rows at the same time, if that takes long enough to be worth
            it; -1 for one on every core. Changes no more than `chunk_size` does.

    >>> import numpy as np
    >>> from whyflag.detectors import GMM
    >>> normal = np.random.default_rng(0).normal(size=(500, 3))
    >>> explain = Explainer(GMM(seed=0).fit(normal), normal)
    >>> attribution = explain([[0.0, 9.0, 0.0]])
    >>> attribution.top(1)["feature"].item()
    'x1'
    """

    def __init__(
        self,
        detector: Any,
        background: Any = None,
        method: str | Method = "ASH",
        *,
        domain: Domain | None = None,
        chunk_size: int | None = None,
        n_jobs: int = 1,
    ) -> None:
        if background is None and domain is None:
            raise ValueError(
                "Explainer needs normal rows as `background`, or a `domain` that says what "
                "values are possible (Domain.infer(rows) makes one)."
            )
        check_whole("chunk_size", chunk_size, at_least=1, or_none=True)
        if domain is not None:
            check_kind("domain", domain, Domain, "a Domain")
        self._n_jobs = count_jobs(n_jobs)
        keep_freed_memory()
        self.method = get_method(method)
        self.score = score_of(detector, background, domain)
        self.domain = self._infer(background) if domain is None else self._matched(domain)
        rows = None
        if background is not None:
            table = self._read(background, "background")
            rows = table.values
            if table.columns is not None:
                self.domain = self.domain.rename(table.columns)
            if self.score.unit is None:
                self.score = replace(self.score, unit=self._measure_unit(rows))
        self._bound = self.method.bind(self.score, self.domain, rows)
        minima = (self.domain.n_players + 1) * self.domain.n_columns
        self._chunk_size = chunk_size
        self._most_rows = max(1, CHUNK // minima)

    def __call__(self, X: Any) -> Attribution:
        """Attribute the score of each row of an array (n, d) or a DataFrame."""
        table = self._read(X, "X")
        rows = table.values.copy()  # the result keeps them, whatever becomes of X
        # A score that fails on a row does so now, not after an hour.
        before = self._evaluate(rows)
        # Shown only in a terminal, and only if it takes more than two seconds.
        with tqdm(total=len(rows), desc="explaining", unit="row", delay=2, disable=None) as bar:
            parts, done = [], 0
            for part in self._explain(rows):
                some = slice(done, done + len(part))
                self._refuse_other_scores(before[some], part.scores, rows[some])
                parts.append(part)
                done += len(part)
                bar.update(len(part))
        whole = concatenate(parts)
        named = self.domain if table.columns is None else self.domain.rename(table.columns)
        return replace(
            whole,
            evaluations=whole.evaluations + 2,  # before the work, and after it
            row_names=tuple(range(len(rows))) if table.index is None else table.index,
            feature_names=named.player_names,
            column_names=named.columns,
            threshold=self.score.threshold,
            unit=self.score.unit or 1.0,
        )

    def _explain(self, rows: Matrix) -> Iterator[Attribution]:
        """Attributions of one chunk of rows after another."""
        done, size = 0, self._chunk_size or min(FIRST_CHUNK, self._most_rows)
        while done < len(rows):
            begin = time.perf_counter()
            part = self._attribute(rows[done : done + size])
            took = time.perf_counter() - begin
            done += len(part)
            yield part
            if self._chunk_size is None:
                each = max(1, part.n_evaluations // len(part))
                size = max(1, min(self._most_rows, CHUNK_EVALUATIONS // each))
            if self._n_jobs == 1:
                continue
            # Few rows take longer each than many: the first may be several times too slow.
            left = took / len(part) * (len(rows) - done)
            telling = took >= TELLING or 2 * len(part) >= size
            if telling and left >= WORTH_PROCESSES:
                yield from self._explain_at_once(rows[done:], size)
                return
            if not telling and left >= 4 * WORTH_PROCESSES:
                size = min(size, ceil(len(part) * WORTH_PROCESSES / took))

    def _explain_at_once(self, rows: Matrix, size: int) -> Iterator[Attribution]:
        """The same in several processes: as many chunks for each, two at least, as large."""
        each = max(2, ceil(len(rows) / (size * self._n_jobs)))
        chunks = np.array_split(rows, min(len(rows), each * self._n_jobs))
        return in_processes(self._n_jobs, self._attribute, chunks)

    def _attribute(self, rows: Matrix) -> Attribution:
        """Attributions of a score that is still the same when the work is done."""
        part = self._bound.attribute(rows)
        # In the process that did the work: a score may turn random in one of several.
        self._refuse_other_scores(part.scores, self._evaluate(rows), rows)
        return part

    def _evaluate(self, rows: Matrix) -> Vector:
        return evaluate(self.score, rows, chunk=max(1, CHUNK // 16 // rows.shape[1]))

    def _refuse_other_scores(self, one: Vector, other: Vector, rows: Matrix) -> None:
        refuse_other_answers(
            one,
            other,
            rows,
            "is random: scored twice while it was being explained, a row got",
            typical=self.score.unit or 0.0,
            precision=self.score.precision,
        )

    def _measure_unit(self, rows: Matrix) -> float:
        some = np.unique(np.linspace(0, len(rows) - 1, UNIT_ROWS).astype(int))
        return unit_from(evaluate(self.score, rows[some]), rows.shape[1])

    def _infer(self, background: Any) -> Domain:
        """The domain of normal rows, in the order of columns that the detector was fitted with."""
        names = self.score.feature_names
        if names is not None and hasattr(background, "columns"):
            read_table(background, name="background", columns=names)  # says what is missing
            background = background[list(names)]
        return self._matched(infer_domain(self.score, background))

    def _matched(self, domain: Domain) -> Domain:
        """The domain with its columns named as the detector was fitted."""
        names = self.score.feature_names
        if names is None or names == domain.columns:
            return domain
        if domain.named:
            raise ValueError(
                f"`domain` must have the columns that the detector was fitted with, {list(names)}, "
                f"got {list(domain.columns)}."
            )
        return domain.rename(names)

    def _read(self, X: Any, name: str) -> Table:
        columns = self.domain.columns if self.domain.named else None
        return read_table(X, name=name, columns=columns, n_columns=self.domain.n_columns)


def infer_domain(
    score: Score, background: Any, players: Mapping[str, Columns] | None = None
) -> Domain:
    """The domain that normal rows have for a score."""
    return Domain.infer(background, bounded=True, players=players)


def score_of(detector: Any, background: Any, domain: Domain | None) -> Score:
    """The score of a detector of rows as wide as the domain, or as normal rows."""
    if domain is not None:
        return as_score(detector, n_features=domain.n_columns)
    normal = read_table(background, name="background").values
    return as_score(detector, n_features=normal.shape[1])
