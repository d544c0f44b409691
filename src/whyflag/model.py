"""A model: a detector with all that is needed to explain rows of a table, in one folder."""

from __future__ import annotations

import hashlib
import io
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import Any, final

import numpy as np
import pandas as pd

from whyflag.arrays import BoolMatrix, BoolVector, Matrix, Vector
from whyflag.batches import CALL, batch_size
from whyflag.calibration import Calibration, alarm
from whyflag.detectors import load as load_detector
from whyflag.detectors.base import Detector
from whyflag.distribution import Distribution
from whyflag.domain import Domain
from whyflag.ensemble import Ensemble
from whyflag.explainer import Explainer
from whyflag.files.documents import read_document, write_document
from whyflag.held_out import Part, folds_of, held_out_scores
from whyflag.methods import NEAR, Method, get_method
from whyflag.prepared import prepare
from whyflag.score import evaluate
from whyflag.stand_in import stand_in
from whyflag.table import Table
from whyflag.table.codec import State
from whyflag.table.relearning import relearnt
from whyflag.table.schema import Encoded, Schema
from whyflag.table.sheet import Sheet
from whyflag.table.told import NOTHING, Told

FORMAT, VERSION = "whyflag model", 4
JSON, ROWS, DETECTOR, PARTS = "model.json", "rows.npz", "detector", "parts-"
IS_PARTS = re.compile(f"{PARTS}[0-9a-f]{{16}}").fullmatch
FILES = (ROWS, f"{DETECTOR}/detector.json", f"{DETECTOR}/arrays.npz")
DEFAULT = NEAR.name
MOST_ROWS = 10_000  # normal rows that a model keeps, if it must


class NoNormalRowsError(ValueError):
    """A method needs normal rows, and the model has kept none."""


@final
@dataclass(frozen=True)
class Model:
    """A detector, and what its columns mean.

    Attributes:
        detector: Fitted to encoded rows.
        schema: What the columns of a table mean, and how they become numbers.
        domain: What values these may take.
        normal: How normal values are distributed.
        calibration: The score above which a row raises an alarm, and the scores of normal rows that
            it is calibrated by: the detector had not seen them.
        surcharge: What a foreign cell adds to the score, so that no row that has one is normal.
        methods: The methods that rows are explained by, unless others are asked for.
        rows: Normal rows, if a method needs them, (n, d).
        told: How files of rows are written, so far as that was told.
    """

    detector: Detector
    schema: Schema
    domain: Domain
    normal: Distribution
    calibration: Calibration
    surcharge: float
    methods: tuple[str, ...] = (DEFAULT,)
    rows: Matrix | None = None
    told: Told = NOTHING

    @classmethod
    def fit(
        cls,
        detector: Detector,
        schema: Schema,
        table: Any,
        methods: Sequence[str] = (DEFAULT,),
    ) -> Model:
        """Fit a detector to a table of normal rows; foreign cells count as typical ones.

        The alarm is calibrated: rows are held out, and what would be foreign had they not been
        there raises it as well. `detector.contamination` is the part of them that may.
        """
        sheet = Sheet.of(table)
        frame = _frame(schema.encode(sheet).rows)
        values = frame.to_numpy()
        rate = detector.contamination
        parts, foreign = _parts_of(schema, sheet, frame, rate, detector.random_state)
        if len(parts) == 1:  # so many rows that those held out are not missed
            detector.fit(parts[0].known)
            held = parts[0].held.reindex(columns=frame.columns, fill_value=0.0)
            scores = evaluate(detector.to_score(), held.to_numpy())
        else:
            detector.fit(frame)
            scores = held_out_scores(detector, parts)
        threshold, promised = alarm(np.where(foreign, np.inf, scores), rate)
        # As far again as from the most normal row to the alarm.
        lowest = float(evaluate(detector.to_score(), values).min())
        surcharge = 2 * (threshold - min(lowest, float(scores.min()))) or 1.0
        domain = Domain.infer(
            Table(values, schema.encoded_columns),
            bounded=True,
            players=schema.players,
            categories=schema.categories,
        )
        rows = None
        if any(get_method(method).needs_background for method in methods):
            order = np.random.default_rng(detector.random_state).permutation(len(values))
            rows = values[np.sort(order[:MOST_ROWS])]
        return cls(
            detector,
            schema,
            domain,
            Distribution.of(values),
            Calibration.known(scores + surcharge * foreign, threshold, rate, promised),
            surcharge,
            tuple(methods),
            rows,
        )

    @property
    def threshold(self) -> float:
        """The score above which a row raises an alarm."""
        return self.calibration.threshold

    def read(self, table: Any, *, where: str = "X") -> Encoded:
        """Turn a table into rows that can be scored and explained; columns are matched by name."""
        encoded = self.schema.encode(table, where=where)
        rows, foreign = encoded.rows, encoded.foreign
        states = rows.states
        unknown = foreign if states is None else foreign & (states != State.NEGATIVE)
        normal = self.domain.typical if self.rows is None else self.rows
        values = stand_in(rows.values, unknown @ self._columns, normal, self.domain)
        added = np.where(foreign, self.surcharge, 0.0)
        return replace(encoded, rows=replace(rows, values=values, added=added))

    @cached_property
    def _columns(self) -> BoolMatrix:
        """The columns of numbers that each column of the table has, bool (c, d)."""
        each = [len(column.codec.encoded(column.name)) for column in self.schema.columns]
        return np.repeat(np.eye(len(each), dtype=np.bool_), each, axis=1)

    def score(self, rows: Any) -> Vector:
        """Score a table, or rows that `read` gave: by the detector and foreign cells, (n,)."""
        rows = self._rows(rows)
        chunk = batch_size(rows.values.shape[1], CALL)
        scores = evaluate(self.detector.to_score(), rows.values, chunk)
        return scores if rows.added is None else scores + rows.added.sum(axis=1)

    def explainer(
        self, methods: Sequence[str] = (), n_jobs: int = 1, refits: int = 0
    ) -> Explainer | Ensemble:
        """What explains tables, by these methods or those that the model was made for.

        `n_jobs` and `refits` are those of `Explainer`; a model that is fitted anew needs rows, and
        one method.
        """
        chosen = [get_method(method) for method in methods or self.methods]
        lacking = [m.name for m in chosen if m.needs_background and self.rows is None]
        if lacking:
            raise NoNormalRowsError(
                f"{lacking[0]} needs normal rows, and this model has none: fit it for "
                f"{lacking[0]}, so that it keeps some."
            )
        if refits:
            return self._refitted(chosen, n_jobs, refits)
        prepared = prepare(self.detector, self.rows, domain=self.domain, threshold=self.calibration)
        prepared = replace(prepared, read_first=self._shown_rows)
        explainers = [Explainer(prepared, method=method, n_jobs=n_jobs) for method in chosen]
        return explainers[0] if len(explainers) == 1 else Ensemble(explainers)

    def _rows(self, X: Any) -> Any:
        """A table as `read` gives it; what has been read, or is an array of numbers, as it is."""
        if isinstance(X, Encoded):
            return X.rows
        return X if isinstance(X, (Table, np.ndarray)) else self.read(X).rows

    def _shown_rows(self, X: Any) -> Any:
        """The same, with what people should see of the cells of a table."""
        rows = self._rows(X)
        is_read = rows is X or isinstance(X, Encoded)
        return rows if is_read else replace(rows, shown=self.schema.shown(X))

    def _refitted(self, chosen: Sequence[Method], n_jobs: int, refits: int) -> Explainer:
        if len(chosen) > 1:
            raise ValueError(f"Refits go with one method, got {len(chosen)}.")
        if self.rows is None:
            raise NoNormalRowsError("Refits need normal rows, and this model has kept none.")
        frame = pd.DataFrame(self.rows, columns=list(self.schema.encoded_columns))
        explainer = Explainer(
            self.detector,
            frame,
            chosen[0],
            domain=self.domain,
            threshold=self.calibration,
            refits=refits,
            seed=self.detector.random_state,
            n_jobs=n_jobs,
        )
        explainer.prepared = replace(explainer.prepared, read_first=self._shown_rows)
        return explainer

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder: arrays and JSON, no code.

        The parts go into a folder of their own; then one JSON names them and takes the place of
        the old one. Whatever interrupts this, the old model or the new one is there, whole.
        """
        path = Path(folder)
        parts = path / f"{PARTS}{token_hex(8)}"
        parts.mkdir(parents=True)
        try:
            self.detector.save(parts / DETECTOR)
            if self.rows is not None:
                np.savez(parts / ROWS, rows=self.rows)
            files = sorted(file for file in parts.rglob("*") if file.is_file())
            content = {
                "format": FORMAT,
                "version": VERSION,
                "schema": self.schema.to_json(),
                "domain": self.domain.to_json(),
                "normal": self.normal.to_json(),
                "calibration": self.calibration.to_json(),
                "surcharge": self.surcharge,
                "methods": list(self.methods),
                "told": self.told.to_json(),
                "parts": parts.name,
                "sha256": {file.relative_to(parts).as_posix(): _hash(file) for file in files},
            }
            write_document(path / JSON, content)
        except BaseException:
            shutil.rmtree(parts)
            raise
        for old in path.iterdir():
            # A folder may hold other things of its owner's, whatever their names begin with.
            if old != parts and IS_PARTS(old.name) and old.is_dir() and not old.is_symlink():
                shutil.rmtree(old)

    @classmethod
    def load(cls, folder: str | Path) -> Model:
        """Read a model that `save` wrote. Nothing in the files is run."""
        path = Path(folder)
        if not (path / JSON).is_file():
            raise FileNotFoundError(f"{path} is no whyflag model: it has no {JSON}.")
        content = read_document(path / JSON, FORMAT, VERSION, with_checksum=True)
        try:
            return cls._restore(path / _part(content["parts"]), content)
        except Exception as error:  # a damaged model fails in more ways than can be told
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ValueError(
                f"{path} holds a model that does not fit together: {reason}"
            ) from error

    @classmethod
    def _restore(cls, path: Path, content: Mapping[str, Any]) -> Model:
        for name, expected in content["sha256"].items():
            if name not in FILES:
                raise ValueError(f"{name!r} is no file of a model")
            if not (path / name).is_file() or _hash(path / name) != expected:
                raise ValueError(f"{name} is missing or damaged")
        rows = None
        if ROWS in content["sha256"]:
            with np.load(io.BytesIO((path / ROWS).read_bytes()), allow_pickle=False) as arrays:
                rows = arrays["rows"]
        model = cls(
            detector=load_detector(path / DETECTOR),
            schema=Schema.from_json(content["schema"]),
            domain=Domain.from_json(content["domain"]),
            normal=Distribution.from_json(content["normal"]),
            calibration=Calibration.from_json(content["calibration"]),
            surcharge=float(content["surcharge"]),
            methods=tuple(str(method) for method in content["methods"]),
            rows=rows,
            told=Told.from_json(content.get("told", {})),
        )
        if model.schema.encoded_columns != model.domain.columns:
            raise ValueError("its schema and its domain have different columns")
        known = Domain(model.schema.encoded_columns, players=model.schema.players)
        if not np.array_equal(known.membership, model.domain.membership):
            raise ValueError("its schema and its domain have different features")
        model.explainer()  # parts that do not fit together show themselves now
        return model


def _parts_of(
    schema: Schema, sheet: Sheet, known: pd.DataFrame, rare: float, seed: int
) -> tuple[list[Part], BoolVector]:
    """Rows to hold out, read by what is learnt without them, and which have a foreign cell then."""
    parts, foreign = [], []
    for seen, held in folds_of(len(sheet), seed):
        # As few rows as before are rare, though there are less.
        again = relearnt(schema, sheet.take(seen), rare * len(sheet) / len(seen))
        of_seen, of_held = (again.encode(sheet.take(rows)) for rows in (seen, held))
        foreign.append(of_held.foreign.any(axis=1))
        parts.append(Part(known.iloc[seen], *map(_frame, (of_seen.rows, of_held.rows))))
    return parts, np.concatenate(foreign)


def _frame(rows: Table) -> pd.DataFrame:
    return pd.DataFrame(rows.values, columns=list(rows.columns or ()))


def _part(name: Any) -> str:
    if not isinstance(name, str) or not IS_PARTS(name):
        raise ValueError(f"{name!r} is no folder of a model's parts")
    return name


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
