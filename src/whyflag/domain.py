"""What values a row may take: scale, bounds, binary and fixed columns, and the players."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from whyflag.arrays import BoolMatrix, BoolVector, Matrix, Tensor, Vector
from whyflag.checks import check_kind
from whyflag.clusters import cluster_centers
from whyflag.kinds import Kinds
from whyflag.table import read_table

Columns = Sequence[str] | Sequence[int] | Sequence[bool] | BoolVector

TYPICAL = 8  # rows that stand for all normal rows
LOOKED_AT = 1000  # normal rows that these are made from

# Numbers of each column, and what they are where they are not finite.
_NUMBERS = {"scale": np.nan, "lower": -np.inf, "upper": np.inf, "center": np.nan}


@final
class Domain:
    """The values that a row may take, and the players among whom its score is divided.

    A player is a column, or a group of columns, that gets one attribution. ASH and comp need no
    more of the normal rows than this: a few numbers for each column, and a few typical rows.
    `Domain.infer` measures them.

    Args:
        columns: The names of the columns, or their number (DataFrames then bring the names).
        scale: What counts as a unit of change in each column (a standard deviation, say).
            Distances are measured in it.
        lower: The smallest normal value of each column that the search may find.
        upper: The largest one. Rows that are explained may lie outside.
        center: A typical value of each column, where the search for normal values looks first
            when the score has no gradient. NaN where there is none.
        typical: A few typical rows, (k, d), where the search for normal values begins as well.
        binary: Columns that hold 0 or 1 (their bounds are 0 and 1, their scale is 1).
        fixed: Columns that always keep the row's value. A player that has only such columns gets
            an attribution of zero.
        players: Groups of columns that are present or absent together and get one attribution
            (the one-hot columns of a category, the lags of a sensor), by name. Columns that are
            in no group are players of their own.
        categories: The names of a player's columns, in their order, where these are the 0/1
            columns of a category.
        kinds: What values each column can hold, such as whole numbers: repaired values are of
            that kind. Any number, if nothing is said; `having` changes it column by column.

    `binary`, `fixed` and the groups take names, positions or a bool for each column.

    >>> domain = Domain(["age", "red", "green"], binary=["red", "green"],
    ...                 players={"colour": ["red", "green"]})
    >>> domain.player_names
    ('age', 'colour')
    >>> domain.expand(np.array([[False, True]]))
    array([[False,  True,  True]])
    """

    def __init__(
        self,
        columns: Sequence[str] | int,
        *,
        scale: ArrayLike = 1.0,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        center: ArrayLike = np.nan,
        typical: ArrayLike | None = None,
        binary: Columns = (),
        fixed: Columns = (),
        players: Mapping[str, Columns] | None = None,
        categories: Mapping[str, Sequence[str]] | None = None,
        kinds: Kinds | None = None,
    ) -> None:
        self.named = not isinstance(columns, int)
        names = [f"x{i}" for i in range(columns)] if isinstance(columns, int) else columns
        self.columns: tuple[str, ...] = tuple(str(name) for name in names)
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise ValueError(
                f"`columns` must be distinct names, at least one, got {list(self.columns)}."
            )
        self.binary: BoolVector = self._mask(binary, "binary")  # d
        self.fixed: BoolVector = self._mask(fixed, "fixed")  # d
        self.scale: Vector = np.where(self.binary, 1.0, self._vector(scale, "scale"))
        self.lower: Vector = np.where(self.binary, 0.0, self._vector(lower, "lower"))
        self.upper: Vector = np.where(self.binary, 1.0, self._vector(upper, "upper"))
        self.center: Vector = self._vector(center, "center")
        self.typical: Matrix = self._typical(typical)  # k x d
        self._refuse(~(np.isfinite(self.scale) & (self.scale > 0)), "scale must be positive")
        self._refuse(~(self.lower <= self.upper), "lower must not exceed upper")
        check_kind("players", players or {}, Mapping, "lists of columns by name")
        self._groups = {
            name: self._mask(group, f"players[{name!r}]") for name, group in (players or {}).items()
        }
        self.player_names, self.membership = self._read_players()  # p, p x d
        self.categories = self._read_categories(categories or {})
        kinds = Kinds.any(self.n_columns) if kinds is None else kinds
        if len(kinds.step) != self.n_columns:
            raise ValueError(
                f"`kinds` must be those of {self.n_columns} columns, got {len(kinds.step)}."
            )
        self.kinds = kinds.within(self.lower, self.upper)

    @classmethod
    def infer(
        cls,
        background: Any,
        *,
        bounded: bool = False,
        fixed: Columns = (),
        players: Mapping[str, Columns] | None = None,
        categories: Mapping[str, Sequence[str]] | None = None,
    ) -> Domain:
        """Read the domain off normal rows (an array or a DataFrame).

        Scale is the standard deviation, center the median; a column that holds both 0 and 1,
        and nothing else, is binary. Kinds are read off as well: how many decimals values have,
        and which columns hold a few values only. Columns are unbounded unless `bounded`: then the
        bounds are the smallest and the largest value among the rows, as `Explainer` has them.
        """
        table = read_table(background, name="background")
        rows = table.values
        scale = _typical_change(rows)
        return cls(
            table.columns or rows.shape[1],
            scale=scale,
            lower=rows.min(axis=0) if bounded else -np.inf,
            upper=rows.max(axis=0) if bounded else np.inf,
            center=np.median(rows, axis=0),
            typical=typical_rows(rows, scale),
            # Of a column that is always 1 nobody knows that it could be 0.
            binary=((rows == 0) | (rows == 1)).all(axis=0) & (rows != rows[0]).any(axis=0),
            fixed=fixed,
            players=players,
            categories=categories,
            kinds=Kinds.infer(rows),
        )

    def rename(self, columns: Sequence[str]) -> Domain:
        """The same domain with these names of the columns."""
        return self._but(columns=columns)

    def having(
        self,
        *,
        lower: Mapping[str | int, float] | None = None,
        upper: Mapping[str | int, float] | None = None,
        step: Mapping[str | int, float] | None = None,
        given: Mapping[str | int, Sequence[float]] | None = None,
        rising: Columns = (),
        falling: Columns = (),
        fixed: Columns = (),
    ) -> Domain:
        """The same domain with more said of some columns, by name or position.

        Args:
            lower: The smallest normal value.
            upper: The largest one.
            step: Values are multiples of it: 1 for whole numbers; 0 for any number.
            given: The only values that there are.
            rising: Columns in which a repair may only raise the value.
            falling: Columns in which it may only lower it.
            fixed: Columns that keep their value, besides those that are fixed already.

        >>> domain = Domain(["age", "doors"]).having(step={"age": 1}, given={"doors": [3, 5]})
        >>> domain.admit(np.array([[40.7, 3.9]]), np.zeros((1, 2)))
        array([[41.,  3.]])
        """
        bounds = {
            name: self._changed(name, getattr(self, name), told)
            for name, told in (("lower", lower), ("upper", upper))
        }
        known = list(self.kinds.given)
        for column, values in (given or {}).items():
            listed = np.unique(np.asarray(values, dtype=np.float64))
            if listed.ndim != 1 or not listed.size or not np.isfinite(listed).all():
                raise ValueError(f"`given` must list numbers, got {values!r} for {column!r}.")
            known[self._position(column, "given")] = listed
        steps = self._changed("step", self.kinds.step, step)
        if not (np.isfinite(steps) & (steps >= 0)).all():
            raise ValueError(f"`step` must not be negative or infinite, got {step}.")
        up, down = self._mask(rising, "rising"), self._mask(falling, "falling")
        if (up & down).any():
            both = self.columns[int(np.argmax(up & down))]
            raise ValueError(f"Column {both!r} cannot be both rising and falling: let it be fixed.")
        direction = np.where(up, 1, np.where(down, -1, self.kinds.direction))
        return self._but(
            **bounds,
            kinds=Kinds(steps, tuple(known), direction),
            fixed=self.fixed | self._mask(fixed, "fixed"),
        )

    def admit(self, values: Tensor, x: Tensor) -> Tensor:
        """The nearest values that rows can hold, coming from x: (..., d), (..., d) -> (..., d).

        Within the bounds, and of their column's kind; fixed columns keep the values of x.
        """
        lower, upper = self.kinds.inward(self.lower, self.upper)
        within = np.clip(values, lower, upper)
        admitted = self.kinds.admit(within, x)
        admitted = np.where(self.binary, np.round(admitted), admitted)
        return np.where(self.fixed, x, admitted)

    def _but(self, **changes: Any) -> Domain:
        """The same domain, but for some arguments."""
        kept = {name: getattr(self, name) for name in (*_NUMBERS, "typical", "binary", "fixed")}
        kept |= {"players": self._groups, "categories": self.categories, "kinds": self.kinds}
        columns = changes.pop("columns", self.columns if self.named else self.n_columns)
        return Domain(columns, **kept | changes)

    def _changed(
        self, name: str, numbers: Vector, told: Mapping[str | int, float] | None
    ) -> Vector:
        changed = numbers.copy()
        for column, value in (told or {}).items():
            changed[self._position(column, name)] = value
        return changed

    def to_json(self) -> dict[str, Any]:
        """The domain as JSON would have it; what is not finite is null."""
        numbers = {name: getattr(self, name).tolist() for name in _NUMBERS}
        return {
            "columns": list(self.columns) if self.named else len(self.columns),
            **{
                name: [value if np.isfinite(value) else None for value in values]
                for name, values in numbers.items()
            },
            "typical": self.typical.tolist(),
            "binary": self.binary.tolist(),
            "fixed": self.fixed.tolist(),
            "players": {name: mask.tolist() for name, mask in self._groups.items()},
            "categories": {name: list(known) for name, known in self.categories.items()},
            "kinds": self.kinds.to_json(),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Domain:
        """A domain that `to_json` wrote."""
        numbers = {
            name: [default if value is None else float(value) for value in content[name]]
            for name, default in _NUMBERS.items()
        }
        return cls(
            content["columns"],
            **numbers,
            typical=content.get("typical"),
            binary=np.array(content["binary"], dtype=np.bool_),
            fixed=np.array(content["fixed"], dtype=np.bool_),
            players={
                name: np.array(mask, dtype=np.bool_) for name, mask in content["players"].items()
            },
            categories=content["categories"],
            kinds=Kinds.from_json(content["kinds"]) if "kinds" in content else None,
        )

    @property
    def n_columns(self) -> int:
        """Number of columns, d."""
        return len(self.columns)

    @property
    def n_players(self) -> int:
        """Number of players, p."""
        return len(self.player_names)

    def expand(self, coalitions: BoolMatrix) -> BoolMatrix:
        """Turn coalitions of players into sets of columns: bool (m, p) -> bool (m, d)."""
        owner = self.membership.argmax(axis=0)  # d
        return coalitions[:, owner]

    def __repr__(self) -> str:
        kinds = f"{int(self.binary.sum())} binary, {int(self.fixed.sum())} fixed"
        return f"Domain({self.n_columns} columns ({kinds}), {self.n_players} players)"

    def _vector(self, value: ArrayLike, name: str) -> Vector:
        given = np.asarray(value, dtype=np.float64)
        if given.shape not in ((), (self.n_columns,)):
            raise ValueError(
                f"`{name}` must be a number or have shape ({self.n_columns},), got {given.shape}."
            )
        return np.broadcast_to(given, (self.n_columns,)).copy()

    def _typical(self, value: ArrayLike | None) -> Matrix:
        given = np.asarray([] if value is None else value, dtype=np.float64)
        if given.size == 0:
            return np.zeros((0, self.n_columns))
        if given.ndim != 2 or given.shape[1] != self.n_columns or not np.isfinite(given).all():
            raise ValueError(
                f"`typical` must be finite rows of shape (k, {self.n_columns}), got {given.shape}."
            )
        return given.copy()

    def _mask(self, chosen: Columns, name: str) -> BoolVector:
        if isinstance(chosen, str):  # whose letters may be names too
            raise ValueError(f"`{name}` must be a list of columns, got {chosen!r}.")
        given = np.asarray(chosen)
        if given.dtype == np.bool_ and given.shape == (self.n_columns,):
            return given.copy()
        mask = np.zeros(self.n_columns, dtype=np.bool_)
        for column in chosen:
            mask[self._position(column, name)] = True
        return mask

    def _position(self, column: Any, name: str) -> int:
        if isinstance(column, str) and column in self.columns:
            return self.columns.index(column)
        if (
            isinstance(column, (int, np.integer))
            and not isinstance(column, bool)
            and 0 <= column < self.n_columns
        ):
            return int(column)
        raise ValueError(
            f"`{name}` must name columns or give positions from 0 to {self.n_columns - 1}, "
            f"got {column!r}."
        )

    def _refuse(self, wrong: BoolVector, rule: str) -> None:
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ValueError(
                f"{rule}, got scale {self.scale[i]}, lower {self.lower[i]}, "
                f"upper {self.upper[i]} in column {self.columns[i]!r}."
            )

    def _read_players(self) -> tuple[tuple[str, ...], BoolMatrix]:
        masks = dict(self._groups)
        for name, mask in masks.items():
            if not mask.any():
                raise ValueError(f"A player must have at least one column, {name!r} has none.")
        owners = np.sum(list(masks.values()), axis=0) if masks else np.zeros(self.n_columns)
        if (owners > 1).any():
            column = self.columns[int(np.argmax(owners > 1))]
            raise ValueError(f"A column must belong to one player, {column!r} belongs to several.")
        for i in np.flatnonzero(owners == 0):
            if self.columns[i] in masks:
                raise ValueError(f"Player {self.columns[i]!r} has the name of a column outside it.")
            masks[self.columns[i]] = np.arange(self.n_columns) == i
        # Players stand in the order of their first columns, so that one column each is no change.
        ordered = sorted(masks.items(), key=lambda item: int(np.argmax(item[1])))
        return tuple(name for name, _ in ordered), np.array([mask for _, mask in ordered])

    def _read_categories(self, given: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
        for name, known in given.items():
            group = self._groups.get(name)
            if group is None or group.sum() != len(known):
                raise ValueError(
                    f"`categories` must name the columns of a player in `players`, one by one, got "
                    f"{list(known)} for {name!r}."
                )
        return {name: tuple(map(str, known)) for name, known in given.items()}


def typical_rows(rows: Matrix, scale: Vector) -> Matrix:
    """Centres of up to eight clusters of the rows, which stand for all: (n, d) -> (k, d)."""
    some = np.unique(np.linspace(0, len(rows) - 1, LOOKED_AT).astype(int))
    centers, sizes = cluster_centers(rows[some], scale, TYPICAL, n_init=3)
    # A cluster of one is an outlier, and would reveal a row of the data as it is.
    return centers[sizes > 1] if (sizes > 1).any() else centers


def _typical_change(rows: Matrix) -> Vector:
    """Standard deviation of each column; of a constant one, its magnitude, or 1 if it is zero."""
    deviation = rows.std(axis=0)
    magnitude = np.abs(rows).max(axis=0)
    # A deviation within rounding of the column's magnitude is noise of the summation.
    constant = deviation <= 1e-12 * magnitude
    return np.where(constant, np.where(magnitude > 0, magnitude, 1.0), deviation)
