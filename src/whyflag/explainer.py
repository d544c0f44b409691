"""Where users begin: a detector and normal rows in, attributions of flagged rows out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from math import ceil
from typing import Any, final

import numpy as np

from whyflag.arrays import Matrix, Vector
from whyflag.attribution import Attribution
from whyflag.batches import CALL, WORK, batch_size
from whyflag.calibration import Calibration
from whyflag.checks import check_whole
from whyflag.columns import Columns
from whyflag.contributions import Contributions
from whyflag.domain import Domain
from whyflag.methods import Method, default_method, get_method
from whyflag.parallel import count_jobs, in_processes
from whyflag.prepared import prepare
from whyflag.progress import work
from whyflag.records import join_rows
from whyflag.refits import refitted, times_first
from whyflag.repair import Repair, Repairer
from whyflag.score import Score, evaluate
from whyflag.score.answers import refuse_other_answers
from whyflag.table import Table

PROGRESS = 2**18  # score evaluations after which progress is due
USUAL = 2**13  # evaluations that a row takes at the most with most methods: all ten players, say
TRIAL = 4  # rows that tell whether several processes are worth it
TRIED = 1.0  # seconds that a second trial may take
TELLING = 0.1  # seconds of work that tell how long the rest will take
WORTH_PROCESSES = 4.0  # seconds: to start processes takes half as long, and as much of each core


@final
class Explainer:
    """Explains why a detector finds rows anomalous.

    The anomaly score of a row is divided among its features: each gets the part of the score that
    is due to it. Most methods also say which values would have been normal.

    Args:
        detector: A fitted detector, or a function from rows (n, d) to scores (n,), high =
            anomalous; whatever `as_score` takes. Columns that it was fitted with by name are
            matched by name.
        background: Normal rows, (n, d), such as those the detector was fitted to: an array or a
            DataFrame. Not needed by ASH, comp, marg and SFE if `domain` is given.
        method: Name of a method ("near", "ASH", "comp", "KSH", "wKSH", "IG", "ACE", "marg" or
            "SFE"; upper or lower case), or a configured method such as `ASH(game=LocalMinimum())`.
            By default "near", which finds culprits most often; without normal rows "ASH".
        domain: What values a row may take, and the players: the columns, or groups of columns,
            that get an attribution. Read off the background if none is given: normal values then
            stay within the range of the background.
        players: Groups of columns that get one attribution, by name, such as the 0/1 columns of a
            category. Without groups each column gets its own. Only without a `domain`, which has
            players of its own.
        fixed: Columns that keep the row's value; they get an attribution of zero. Only without a
            `domain`, which has fixed columns of its own.
        threshold: A score above this is an alarm; the detector's own if none is given. What
            `calibrate` returns is one that is true of rows the detector has not seen; the result
            then has a `severity`.
        refits: How often the detector is fitted anew, to as many rows drawn from the background
            with replacement. The result then says how far each value depends on which normal rows
            there were (`refit_spread`, `refit_first`). Needs a background, and a detector that
            can be fitted: no function. Takes as many fits now, and as many times the work later.
        seed: What the refits draw follows from it.
        n_jobs: Processes that explain rows at the same time, if that takes long enough to be worth
            it; -1 for one on every core. Changes no value by more than 1e-9 of the largest of its
            row.
        chunk_size: Rows explained at a time; chosen to bound memory if none is given. Changes no
            more than `n_jobs` does.

    >>> import numpy as np
    >>> from whyflag.detectors import GMM
    >>> normal = np.random.default_rng(0).normal(size=(500, 3))
    >>> explain = Explainer(GMM(random_state=0).fit(normal), normal)
    >>> attribution = explain([[0.0, 9.0, 0.0]])
    >>> attribution.top(1)["feature"].item()
    'x1'
    """

    def __init__(
        self,
        detector: Any,
        background: Any = None,
        method: str | Method | None = None,
        *,
        domain: Domain | None = None,
        players: Mapping[str, Columns] | None = None,
        fixed: Columns = (),
        threshold: float | Calibration | None = None,
        refits: int = 0,
        seed: int = 0,
        n_jobs: int = 1,
        chunk_size: int | None = None,
    ) -> None:
        check_whole("chunk_size", chunk_size, at_least=1, or_none=True)
        check_whole("seed", seed, at_least=0)
        self._n_jobs = count_jobs(n_jobs)
        self.prepared = prepare(
            detector,
            background,
            domain=domain,
            players=players,
            fixed=fixed,
            threshold=threshold,
        )
        self.method = get_method(default_method(self.prepared.rows) if method is None else method)
        self._bound = self.method.bind(self.prepared)
        self._chunk_size = chunk_size
        minima = (self.domain.n_players + 1) * self.domain.n_columns
        self._most_rows = batch_size(minima, 2 * WORK)
        self._refits = [
            Explainer(
                each,
                background,
                self.method,
                domain=self.domain,
                n_jobs=n_jobs,
                chunk_size=chunk_size,
            )
            for each in (refitted(detector, background, refits, seed) if refits != 0 else [])
        ]

    @property
    def score(self) -> Score:
        """The anomaly score that is explained."""
        return self.prepared.score

    @property
    def domain(self) -> Domain:
        """What values a row may take, and the players."""
        return self.prepared.domain

    def __repr__(self) -> str:
        return f"Explainer({self.score.name}, {self.method}, {self.domain})"

    def __call__(self, X: Any) -> Attribution:
        """The same as `explain`."""
        return self.explain(X)

    def explain(self, X: Any) -> Attribution:
        """Attribute the score of each row of an array (n, d) or a DataFrame."""
        table = self.prepared.read(X)
        rows = table.values.copy()  # the result keeps them, whatever becomes of X
        # A score that fails on a row does so now, not after an hour.
        before = self._evaluate(rows)
        with work("explaining", "row", len(rows)) as bar:
            parts, done = [], 0
            for part in self._explain(rows):
                some = slice(done, done + len(part))
                self._refuse_other_scores(before[some], part.scores, rows[some])
                parts.append(part)
                done += len(part)
                bar.update(len(part))
        found = join_rows(parts)
        if table.added is not None:
            # A part of the score that belongs to one feature is that feature's, by any method.
            found = replace(
                found,
                values=found.values + table.added,
                scores=found.scores + table.added.sum(axis=1),
            )
        named = self.domain if table.columns is None else self.domain.rename(table.columns)
        # Each row was scored before the work, and after it.
        found = replace(found, evaluations=found.evaluations + 2)
        attribution = Attribution(
            **{each.name: getattr(found, each.name) for each in fields(found)},
            data=rows,
            row_names=tuple(range(len(rows))) if table.index is None else table.index,
            feature_names=named.player_names,
            column_names=named.columns,
            membership=named.membership,
            categories=named.categories,
            shown=table.shown,
            codecs=table.codecs,
            added=table.added,
            states=table.states,
            originals=table.originals,
            redacted=table.redacted,
            method=self.method.name,
            settings=self.method.settings,
            threshold=self.score.threshold,
            calibration=self.prepared.calibration,
            unit=self.score.unit or 1.0,
            repairer=Repairer(self.score, named, self.prepared.rows, table.codecs),
        )
        return self._refit(table, attribution) if self._refits else attribution

    def _refit(self, table: Table, found: Attribution) -> Attribution:
        """The attribution with what becomes of it if the detector is fitted to other rows."""
        others = [refit.explain(table) for refit in self._refits]
        values = np.array([other.values for other in others])  # m x n x p
        return replace(
            found,
            refit_spread=values.std(axis=0, ddof=1),
            refit_first=times_first(values),
            evaluations=np.sum([each.evaluations for each in (found, *others)], axis=0),
        )

    def repair(self, X: Any) -> Repair:
        """Which values of each row would have been normal, with the rest of it as it is.

        The same as `explain(X).repair`.
        """
        return self.explain(X).repair

    def _explain(self, rows: Matrix) -> Iterator[Contributions]:
        """Attributions of one chunk of rows after another."""
        first = batch_size(USUAL, PROGRESS) if self._n_jobs == 1 else TRIAL
        done, size, warm = 0, self._chunk_size or min(first, self._most_rows), False
        while done < len(rows):
            begin = time.perf_counter()
            part = self._attribute(rows[done : done + size])
            took = time.perf_counter() - begin
            done += len(part)
            yield part
            if self._chunk_size is None:
                each = max(1, int(part.evaluations.sum()) // len(part))
                size = min(self._most_rows, batch_size(each, PROGRESS))
            if self._n_jobs == 1 or done == len(rows):
                continue
            # Few rows take longer each than many, and the first of all several times as long.
            left = took / len(part) * (len(rows) - done)
            telling = warm and (took >= TELLING or 2 * len(part) >= size)
            if telling and left >= WORTH_PROCESSES:
                yield from self._explain_at_once(rows[done:], size)
                return
            if not telling and left >= WORTH_PROCESSES:
                size = max(1, min(size, ceil(len(part) * TRIED / took)))
            warm = True

    def _explain_at_once(self, rows: Matrix, size: int) -> Iterator[Contributions]:
        """The same in several processes: as many chunks for each, two at least, as large."""
        each = max(2, ceil(len(rows) / (size * self._n_jobs)))
        chunks = np.array_split(rows, min(len(rows), each * self._n_jobs))
        return in_processes(self._n_jobs, self._attribute, chunks)

    def _attribute(self, rows: Matrix) -> Contributions:
        """Attributions of a score that is still the same when the work is done."""
        part = self._bound.attribute(rows)
        # In the process that did the work: a score may turn random in one of several.
        self._refuse_other_scores(part.scores, self._evaluate(rows), rows)
        return part

    def _evaluate(self, rows: Matrix) -> Vector:
        return evaluate(self.score, rows, chunk=batch_size(rows.shape[1], CALL))

    def _refuse_other_scores(self, one: Vector, other: Vector, rows: Matrix) -> None:
        refuse_other_answers(
            one,
            other,
            rows,
            "is random: scored twice while it was being explained, a row got",
            typical=self.score.unit or 0.0,
            precision=self.score.precision,
        )
