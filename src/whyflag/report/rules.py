"""A rule for a group of rows: what they have and normal rows have not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from whyflag.arrays import BoolVector, IntVector, Matrix, Vector, evenly
from whyflag.attribution import Attribution
from whyflag.attribution.display import categories_of, is_redacted, number
from whyflag.report.words import shortest
from whyflag.table.codec import State
from whyflag.table.times import HOUR, Times

DEPTH = 3  # conditions of a rule, at most
MOST_NORMAL = 5000  # normal rows that a rule is learnt from
FEWEST = 0.6  # of a group that its rule must hold for
MOST = 0.05  # of normal rows that it may hold for
WORTH = 0.001  # of normal rows that a condition must keep out
STATES = {
    State.GAP: "has no value",
    State.UNREADABLE: "can not be read",
    State.FAR: "is far from all that was seen",
    State.NEW: "was not seen before",
    State.NEGATIVE: "is below zero",
}


@final
@dataclass(frozen=True)
class Rule:
    """Conditions that rows of a group meet, and normal rows hardly ever.

    Attributes:
        text: The conditions.
        covered: How many rows of the group meet them.
        of: How many there are.
        normal: What part of normal rows meets them.
    """

    text: str
    covered: int
    of: int
    normal: float


@final
@dataclass(frozen=True)
class _Column:
    """What a condition can be about."""

    feature: int
    name: str
    is_flag: bool  # 0 or 1
    is_hour: bool = False  # told as the time of day
    yes: str = ""
    no: str = ""

    def ends(self, column: Vector, low: float, high: float) -> tuple[float, float]:
        """Limits in few digits that part the rows as these do."""
        if not self.is_hour:
            return _rounded(column, low, high)
        low, high = _rounded(60 * column, 60 * low, 60 * high)
        return low / 60, high / 60

    def told(self, low: float, high: float) -> str:
        """The condition low < value <= high."""
        if self.is_flag:
            return self.yes if low >= 0 else self.no
        if self.is_hour:
            since, until = clock(low), clock(high)
            if np.isinf(low):
                return f"{self.name} until {until}"
            return f"{self.name} after {since}" + ("" if np.isinf(high) else f" until {until}")
        if np.isinf(low):
            return f"{self.name} ≤ {number(high, 15)}"
        if np.isinf(high):
            return f"{self.name} > {number(low, 15)}"
        return f"{number(low, 15)} < {self.name} ≤ {number(high, 15)}"


def rule_of(
    attribution: Attribution, group: IntVector, features: IntVector, normal: Matrix
) -> Rule | None:
    """The shortest rule of a shallow tree that tells a group from normal rows, if there is one.

    Args:
        attribution: All rows.
        group: Those of the group.
        features: What conditions may be about.
        normal: Normal rows, (m, d).
    """
    some = evenly(len(normal), MOST_NORMAL)
    columns, odd, usual = _matrices(attribution, group, features, normal[some])
    if not columns:
        return None
    is_odd = np.repeat([True, False], [len(odd), len(usual)])
    X = np.vstack([odd, usual])
    within = np.clip(X, -1e30, 1e30)  # trees count in single precision
    tree = DecisionTreeClassifier(
        max_depth=DEPTH,
        class_weight="balanced",
        min_impurity_decrease=1e-6,  # weights are rounded: a pure node would be split again
        min_samples_leaf=max(1, len(odd) // 5),
        random_state=0,
    ).fit(within, is_odd)
    leaf = _best_leaf(tree.apply(within), is_odd)
    conditions = _shortened(_way_to(tree, leaf), X, is_odd)
    met = _meet(X, conditions)
    covered, share = int(met[is_odd].sum()), float(met[~is_odd].mean())
    if not conditions or covered < FEWEST * len(odd) or share > MOST:
        return None
    told = [
        columns[j].told(*columns[j].ends(X[:, j], *ends)) for j, ends in sorted(conditions.items())
    ]
    return Rule(" and ".join(told), covered, len(odd), share)


def _matrices(
    attribution: Attribution, group: IntVector, features: IntVector, normal: Matrix
) -> tuple[list[_Column], Matrix, Matrix]:
    """What conditions can be about, and these columns of the group and of normal rows."""
    columns: list[_Column] = []
    odd, usual = [], []
    for j in map(int, features):
        name, categories = attribution.feature_names[j], categories_of(attribution, j)
        is_hidden = is_redacted(attribution, j)
        states = None if attribution.states is None else attribution.states[group, j]
        own = np.flatnonzero(attribution.membership[j])
        # A value that stands in for none has no place in a condition.
        if not is_hidden and (states is None or (states == State.USUAL).mean() >= FEWEST):
            for k, column in enumerate(own):
                flag = bool(np.isin(attribution.data[group, column], (0.0, 1.0)).all()) and bool(
                    np.isin(normal[:, column], (0.0, 1.0)).all()
                )
                own_name = attribution.column_names[column] if len(own) > 1 else name
                value = categories[k] if categories else "1"
                of = name if categories else own_name
                no = f"{of} is not {value}" if categories else f"{of} = 0"
                is_hour = own_name.startswith(f"{name}: {HOUR}") or (
                    len(own) == 1 and isinstance(attribution.codecs.get(name), Times)
                )
                told = name if is_hour else own_name
                columns.append(_Column(j, told, flag, is_hour, f"{of} = {value}", no))
                odd.append(attribution.data[group, column])
                usual.append(normal[:, column])
        for state in (State(s) for s in np.unique(states if states is not None else [])):
            if state in STATES and states is not None:
                told = f"{name} {STATES[state]}"
                columns.append(_Column(j, name, True, yes=told, no=f"{name} has a usual value"))
                odd.append((states == state).astype(float))
                usual.append(np.zeros(len(normal)))
    if not columns:
        return [], np.zeros((len(group), 0)), np.zeros((len(normal), 0))
    return columns, np.column_stack(odd), np.column_stack(usual)


def _best_leaf(leaves: IntVector, is_odd: BoolVector) -> int:
    """The leaf that has the most of the group and the least of normal rows."""
    found = np.unique(leaves)
    gain = [(leaves[is_odd] == leaf).mean() - (leaves[~is_odd] == leaf).mean() for leaf in found]
    return int(found[int(np.argmax(gain))])


Conditions = dict[int, tuple[float, float]]  # column: above the first, and up to the second


def _way_to(tree: DecisionTreeClassifier, leaf: int) -> Conditions:
    """The conditions on the way to a leaf, one for each column."""
    nodes = tree.tree_
    parent = {
        int(child): node
        for node in range(nodes.node_count)
        for child in (nodes.children_left[node], nodes.children_right[node])
    }
    found: Conditions = {}
    node = leaf
    while node in parent:
        above = parent[node]
        column, threshold = int(nodes.feature[above]), float(nodes.threshold[above])
        low, high = found.get(column, (-np.inf, np.inf))
        if nodes.children_left[above] == node:
            found[column] = (low, min(high, threshold))
        else:
            found[column] = (max(low, threshold), high)
        node = above
    return found


def _meet(X: Matrix, conditions: Conditions) -> BoolVector:
    met = np.ones(len(X), dtype=np.bool_)
    for column, (low, high) in conditions.items():
        met &= (X[:, column] > low) & (X[:, column] <= high)
    return met


def _shortened(conditions: Conditions, X: Matrix, is_odd: BoolVector) -> Conditions:
    """Without the conditions that keep out next to no normal rows."""
    for column in list(conditions):
        rest = {other: ends for other, ends in conditions.items() if other != column}
        kept_out = _meet(X[~is_odd], rest).mean() - _meet(X[~is_odd], conditions).mean()
        if rest and kept_out < WORTH:
            conditions = rest
    return conditions


def clock(hour: float) -> str:
    """The time of day, from hours since midnight.

    >>> clock(23.75), clock(0.0125)
    ('23:45', '00:00:45')
    """
    if not np.isfinite(hour):
        return ""
    seconds = round(3600 * hour)
    minutes, rest = divmod(seconds, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}{f':{rest:02d}' if rest else ''}"


def _rounded(column: Vector, low: float, high: float) -> tuple[float, float]:
    """Limits in few digits that part the rows as these do."""
    return tuple(  # type: ignore[return-value]
        end
        if np.isinf(end)
        else shortest(float(column[column <= end].max()), float(column[column > end].min()))
        for end in (low, high)
    )
