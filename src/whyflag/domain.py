"""What values a row may take: scale, bounds, binary and fixed columns, and the players."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from whyflag.arrays import BoolMatrix, BoolVector, Matrix, Tensor, Vector
from whyflag.checks import check_kind
from whyflag.clusters import typical_change, typical_rows
from whyflag.columns import Columns, Names, read_categories, read_players
from whyflag.kinds import Kinds
from whyflag.table import read_table

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
        self.named = not isinstance(columns, (int, np.integer))
        self._names = names = Names.of(columns)
        self.columns: tuple[str, ...] = names.names
        self.binary: BoolVector = names.mask(binary, "binary")  # d
        self.fixed: BoolVector = names.mask(fixed, "fixed")  # d
        self.scale: Vector = np.where(self.binary, 1.0, names.numbers(scale, "scale"))
        self.lower: Vector = np.where(self.binary, 0.0, names.numbers(lower, "lower"))
        self.upper: Vector = np.where(self.binary, 1.0, names.numbers(upper, "upper"))
        self.center: Vector = names.numbers(center, "center")
        self.typical: Matrix = self._typical(typical)  # k x d
        self._refuse(~(np.isfinite(self.scale) & (self.scale > 0)), "scale must be positive")
        self._refuse(~(self.lower <= self.upper), "lower must not exceed upper")
        self._refuse(
            (self.lower == np.inf) | (self.upper == -np.inf), "some number must be allowed"
        )
        self._refuse(np.isinf(self.center), "center must be a number, or NaN where there is none")
        check_kind("players", players or {}, Mapping, "lists of columns by name")
        self._groups = {
            name: names.mask(group, f"players[{name!r}]") for name, group in (players or {}).items()
        }
        self.player_names, self.membership = read_players(self.columns, self._groups)  # p, p x d
        self.categories = read_categories(categories or {}, self._groups)
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
        scale = typical_change(rows)
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
            known[self._names.position(column, "given")] = listed
        steps = self._changed("step", self.kinds.step, step)
        if not (np.isfinite(steps) & (steps >= 0)).all():
            raise ValueError(f"`step` must not be negative or infinite, got {step}.")
        up, down = self._names.mask(rising, "rising"), self._names.mask(falling, "falling")
        if (up & down).any():
            both = self.columns[int(np.argmax(up & down))]
            raise ValueError(f"Column {both!r} cannot be both rising and falling: let it be fixed.")
        direction = np.where(up, 1, np.where(down, -1, self.kinds.direction))
        return self._but(
            **bounds,
            kinds=Kinds(steps, tuple(known), direction),
            fixed=self.fixed | self._names.mask(fixed, "fixed"),
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
            changed[self._names.position(column, name)] = value
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
        columns = content["columns"]
        d = columns if isinstance(columns, int) else len(columns)
        if any(len(each) != d for each in numbers.values()):  # before names of so many are made
            raise ValueError("a domain has numbers for each of its columns")
        return cls(
            columns,
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

    def _typical(self, value: ArrayLike | None) -> Matrix:
        given = np.asarray([] if value is None else value, dtype=np.float64)
        if given.size == 0:
            return np.zeros((0, self.n_columns))
        if given.ndim != 2 or given.shape[1] != self.n_columns or not np.isfinite(given).all():
            raise ValueError(
                f"`typical` must be finite rows of shape (k, {self.n_columns}), got {given.shape}."
            )
        return given.copy()

    def _refuse(self, wrong: BoolVector, rule: str) -> None:
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ValueError(
                f"{rule}, got scale {self.scale[i]}, lower {self.lower[i]}, "
                f"upper {self.upper[i]}, center {self.center[i]} in column {self.columns[i]!r}."
            )
