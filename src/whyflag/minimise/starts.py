"""Where descents begin, and which of their ends counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Tensor, Vector
from whyflag.batches import batches
from whyflag.minimise.finite_difference import FiniteDifference
from whyflag.minimise.metric import Metric
from whyflag.minimise.moves import Moves
from whyflag.minimise.problem import Problems, rounding
from whyflag.nearness import distance

Basin = Literal["lowest", "nearest"]

MARGIN = 1e-7  # of a loss or a distance: what differs by less is equal, whatever rounding says
WAY = 8  # parts of the way to a place, at which it is asked whether it is normal there
SHARE = 0.5  # of the lowest end's gain: an end that gains as much is normal too


def solve_from_several(
    problems: Problems,
    solve: Callable[[Problems], Moves],
    n_others: int,
    basin: Basin,
    look: Look | None = None,
) -> Moves:
    """Solve every problem from several places, and keep one of the ends.

    The places are the row itself, and the best of others: typical rows of the domain, and the
    bottoms of the parabolas that the score is made of, where it knows them; all with the kept
    columns as they are.

    Args:
        problems: The problems.
        solve: Solves each of them from its start.
        n_others: How many places besides the row itself are tried: those of the lowest loss.
        basin: Which end is kept: the one of the lowest loss, or the nearest normal one. An end is
            normal if its loss is no higher than that of typical rows. Where there is none, as
            where a gross value is kept, it is one that gains at least half of what the lowest
            end gains on the row itself.
        look: What was seen around the rows, if they have been looked at already.
    """
    b = len(problems)
    look = Look.of(problems, n_others, basin) if look is None else look
    places = look.places[:n_others]
    n_looked = np.full(b, look.n_looked)
    known = _parabolas(problems) is not None
    if basin == "nearest" and not known:
        places = _first_normal(problems, places, look.entry)
        n_looked += len(places) * (WAY - 1)
    # Descent from a row far away leaps; in which basin it ends may hang on rounding. Bottoms of
    # parabolas are where they are.
    if basin == "lowest" or not known:
        places = np.concatenate([problems.start[None], places])
    found = solve(problems.begun_from(places))
    loss = found.loss.reshape(-1, b)  # s x b
    if basin == "lowest":
        chosen = _first_of_least(loss)
    else:
        normal = _is_normal(problems, loss, look.entry)
        far = distance(found.u).sum(axis=1).reshape(-1, b)
        chosen = _first_of_least(np.where(normal, far, np.inf))
    return _chosen(found, chosen, n_looked)


def solve_by_rows(problems: Problems, solve: Callable[[Problems], Moves], n_others: int) -> Moves:
    """Solve the problems of each row from where the one that holds nothing has ended.

    For scores that are constant in steps and so have no basins: the lowest end is kept. The
    problem that holds nothing begins at the typical values, and at the best of the typical rows.
    """
    first, row = problems.rows
    whole = problems.holding_nothing(first)
    domain = problems.domain
    center = (domain.center - whole.X) / domain.scale
    center = whole.project(np.where(whole.free & np.isfinite(center), center, 0.0))
    look = Look.of(whole, n_others, "lowest")
    ends = solve(whole.begun_from(np.stack([center, *look.places])))
    u = ends.u.reshape(-1, *whole.X.shape)[:, row]  # s x b x d
    found = solve(problems.begun_from(np.where(problems.free, u, 0.0)))
    n_looked = np.zeros(len(problems), dtype=np.int64)
    n_looked[first] = look.n_looked + len(u)
    best = _chosen(found, _first_of_least(found.loss.reshape(len(u), -1)), n_looked + 1)
    # A row that is as good as any place is its own start.
    stay = problems.loss(problems.entry)
    higher = np.flatnonzero(best.loss > stay - rounding(stay, MARGIN))
    if len(higher):
        best.put(higher, solve(problems.select(higher)))
    return best


def _chosen(found: Moves, chosen: IntVector, n_looked: IntVector) -> Moves:
    """One of several ends of each problem, by number: (s b,) -> (b,)."""
    b = len(chosen)
    which = chosen * b + np.arange(b)
    return Moves(
        u=found.u[which],
        loss=found.loss[which],
        converged=found.converged[which],
        n_evaluations=found.n_evaluations.reshape(-1, b).sum(axis=0) + n_looked,
    )


@final
@dataclass(frozen=True)
class Look:
    """What is seen around each row before anything is solved, in one call of the score."""

    places: Tensor  # s x b x d: moves to the places, the best first
    entry: Vector  # b: the loss of the row itself; NaN where nobody asked
    gradient: Matrix  # b x d: of the score there, by differences; zero where nobody asked
    n_looked: int  # points of each problem

    @classmethod
    def of(
        cls, problems: Problems, n: int, basin: Basin, sloped: FiniteDifference | None = None
    ) -> Look:
        """Look at the places, of which the best n count; at the entry; and at its slopes."""
        places = list(_places(problems))
        asked = basin == "nearest" or sloped is not None
        several = np.array([problems.entry, *places][not asked :])
        several = several.reshape(-1, *problems.X.shape)
        if sloped is None:
            losses, n_sides = problems.losses(several), 0
            gradient = np.zeros_like(problems.X)
        else:
            losses, gradient = _with_slopes(problems, several, sloped)
            n_sides = sloped.n_calls - 1
        entry = losses[0] if asked else np.full(len(problems), np.nan)
        best = _best(problems, places, losses[asked:], n)
        return cls(best, entry, gradient, len(several) + n_sides)

    def select(self, which: IntVector) -> Look:
        """What is seen around some of the rows."""
        places, gradient = self.places[:, which], self.gradient[which]
        return Look(places, self.entry[which], gradient, self.n_looked)


def _with_slopes(
    problems: Problems, several: Tensor, sloped: FiniteDifference
) -> tuple[Matrix, Matrix]:
    """Losses of several moves, and the slopes at the first: (s, b, d) -> (s, b), (b, d)."""
    at = problems.points(problems.entry)
    if sloped.single is None:  # without typical rows, where the value has to tell
        value, gradient = sloped.value_and_grad(at)
        return problems.loss_by(value, problems.entry)[None], gradient
    b = len(problems)
    pairs = sloped.pairs(at, np.full(b, sloped.step))
    flat = problems.begun_from(several)
    points = np.vstack([flat.points(flat.start), pairs.flat])
    values = np.concatenate([problems.score(points[some]) for some in batches(*points.shape)])
    gradient = np.zeros(at.shape)
    gradient[:, sloped.columns] = pairs.slopes(values[len(flat) :])
    return flat.loss_by(values[: len(flat)], flat.start).reshape(-1, b), gradient


def _first_normal(problems: Problems, places: Tensor, entry: Vector) -> Tensor:
    """The first normal point on the straight way from each row to a place, or the place.

    From there the way down is short, and the end is as near to the row as the place allows. All
    points of the ways are looked at in one call: (s, b, d), (b,) -> (s, b, d).
    """
    if len(places) == 0:
        return places
    parts = np.arange(1, WAY)[:, None, None] / WAY
    ways = np.array(
        [problems.project(problems.entry + parts * (place - problems.entry)) for place in places]
    ).reshape(-1, *problems.X.shape)  # s (w − 1) x b x d
    losses = problems.losses(ways).reshape(len(places), WAY - 1, -1)
    begin = np.broadcast_to(problems.entry, places.shape)[:, None]
    points = np.concatenate(
        [begin, ways.reshape(len(places), WAY - 1, *problems.X.shape), places[:, None]], axis=1
    )  # s x (w + 1) x b x d
    limit = problems.typical_loss + MARGIN * max(abs(problems.typical_loss), 1.0)
    normal = np.ones(points.shape[:3], dtype=np.bool_)
    normal[:, 0], normal[:, 1:-1] = entry <= limit, losses <= limit
    first = normal.argmax(axis=1)[:, None, :, None]  # s x 1 x b x 1
    return np.take_along_axis(points, first, axis=1)[:, 0]


def _first_of_least(values: Matrix) -> np.ndarray:
    """Position of the least value of each column; the first of those that are equal: (s, b)."""
    least = values.min(axis=0)
    return (values <= least + rounding(least, MARGIN)).argmax(axis=0)


def _is_normal(problems: Problems, loss: Matrix, entry: Vector) -> BoolMatrix:
    """Which ends are normal: (s, b), (b,) -> bool (s, b), at least one of each problem."""
    lowest = loss.min(axis=0)  # b
    with np.errstate(invalid="ignore"):  # where nothing is finite
        half_way = lowest + SHARE * (entry - lowest)
    limit = np.where(lowest <= problems.typical_loss, problems.typical_loss, half_way)
    limit += rounding(lowest, MARGIN)
    return (np.isfinite(loss) & (loss <= limit)) | (loss == lowest)


def _best(problems: Problems, places: list[Matrix], losses: Matrix, n: int) -> Tensor:
    """The n places of lowest loss, of equal ones the first: (s, b) -> (n, b, d)."""
    kept: list[Matrix] = []
    lowest: list[Vector] = []
    for place, loss in zip(places, losses, strict=True):
        for i in range(len(kept)):
            lower = loss < lowest[i] - rounding(lowest[i], MARGIN)
            place, kept[i] = _swap(lower[:, None], place, kept[i])
            loss, lowest[i] = _swap(lower, loss, lowest[i])
        if len(kept) < n:
            kept.append(place)
            lowest.append(loss)
    return np.array(kept).reshape(-1, *problems.X.shape)


def _swap(where: np.ndarray, one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.where(where, other, one), np.where(where, one, other)


def _parabolas(problems: Problems) -> Matrix | None:
    """Where the parabolas that the score is made of are lowest, if it knows them: K x d."""
    return None if problems.curvature is None else problems.curvature.centers


def _places(problems: Problems) -> Iterator[Matrix]:
    """Moves to the places, b x d each: bottoms of parabolas, or else typical rows."""
    domain, free, spectra = problems.domain, problems.free, problems.spectra
    centers = _parabolas(problems)
    if centers is None or spectra is None:
        for row in domain.typical:
            yield problems.project(np.where(free, (row - problems.X) / domain.scale, 0.0))
        return
    metric = Metric(spectra, problems, np.zeros(len(problems), dtype=np.int64))
    for k, center in enumerate(centers):
        away = (problems.X - center) / domain.scale  # b x d
        metric.update(np.full(len(problems), k))
        yield problems.project(np.where(free, metric.bottom(away) - away, 0.0))
