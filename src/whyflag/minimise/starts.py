"""Where descents begin, and which of their ends counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from whyflag.arrays import BoolMatrix, IntVector, Matrix, Vector
from whyflag.minimise.metric import Metric
from whyflag.minimise.problem import Moves, Problems, rounding
from whyflag.nearness import distance

Basin = Literal["lowest", "nearest"]

MARGIN = 1e-7  # of a loss or a distance: what differs by less is equal, whatever rounding says
WAY = 8  # parts of the way to a place, at which it is asked whether it is normal there
SHARE = 0.5  # of the lowest end's gain: an end that gains as much is normal too


def solve_from_several(
    problems: Problems, solve: Callable[[Problems], Moves], n_others: int, basin: Basin
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
    """
    b = len(problems)
    places, n_places = _best_places(problems, n_others)
    n_looked = np.full(b, n_places)
    known = _parabolas(problems) is not None
    if basin == "nearest" and not known:
        for i, place in enumerate(places):
            places[i], n_tried = _first_normal(problems, place)
            n_looked += n_tried
    # Descent from a row far away leaps; in which basin it ends may hang on rounding. Bottoms of
    # parabolas are where they are.
    if basin == "lowest" or not known:
        places.insert(0, problems.start)
    starts = np.stack(places)  # s x b x d
    found = solve(problems.begun_from(starts))
    loss = found.loss.reshape(-1, b)  # s x b
    if basin == "lowest":
        chosen = _first_of_least(loss)
    else:
        normal = _is_normal(problems, loss)
        n_looked += 1
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
    places, n_places = _best_places(whole, n_others)
    ends = solve(whole.begun_from(np.stack([center, *places])))
    u = ends.u.reshape(-1, *whole.X.shape)[:, row]  # s x b x d
    found = solve(problems.begun_from(np.where(problems.free, u, 0.0)))
    n_looked = np.zeros(len(problems), dtype=np.int64)
    n_looked[first] = n_places + len(u)
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


def _first_normal(problems: Problems, place: Matrix) -> tuple[Matrix, IntVector]:
    """The first normal point on the straight way from each row to a place, or the place.

    From there the way down is short, and the end is as near to the row as the place allows. Also
    tells how many points were looked at: (b, d), (b,).
    """
    found = place.copy()
    n_tried = np.zeros(len(problems), dtype=np.int64)
    limit = problems.typical_loss + MARGIN * max(abs(problems.typical_loss), 1.0)
    left = np.arange(len(problems))
    for part in np.arange(WAY) / WAY:
        some = problems.select(left)
        point = some.project(some.entry + part * (place[left] - some.entry))
        normal = some.loss(point) <= limit
        n_tried[left] += 1
        found[left[normal]] = point[normal]
        left = left[~normal]
        if len(left) == 0:
            break
    return found, n_tried


def _first_of_least(values: Matrix) -> np.ndarray:
    """Position of the least value of each column; the first of those that are equal: (s, b)."""
    least = values.min(axis=0)
    return (values <= least + rounding(least, MARGIN)).argmax(axis=0)


def _is_normal(problems: Problems, loss: Matrix) -> BoolMatrix:
    """Which ends are normal: (s, b) -> bool (s, b), at least one of each problem."""
    lowest = loss.min(axis=0)  # b
    with np.errstate(invalid="ignore"):  # where nothing is finite
        half_way = lowest + SHARE * (problems.loss(problems.entry) - lowest)
    limit = np.where(lowest <= problems.typical_loss, problems.typical_loss, half_way)
    limit += rounding(lowest, MARGIN)
    return (np.isfinite(loss) & (loss <= limit)) | (loss == lowest)


def _best_places(problems: Problems, n: int) -> tuple[list[Matrix], int]:
    """The n places of lowest loss, besides the row's own, and how many were looked at."""
    kept: list[Matrix] = []
    losses: list[Vector] = []
    n_looked = 0
    for place in _places(problems):
        n_looked += 1
        loss = problems.loss(place)
        for i in range(len(kept)):
            lower = loss < losses[i] - rounding(losses[i], MARGIN)
            place, kept[i] = _swap(lower[:, None], place, kept[i])
            loss, losses[i] = _swap(lower, loss, losses[i])
        if len(kept) < n:
            kept.append(place)
            losses.append(loss)
    return kept, n_looked


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
    for k, center in enumerate(centers):
        away = (problems.X - center) / domain.scale  # b x d
        metric = Metric(spectra, problems, np.full(len(problems), k))
        yield problems.project(np.where(free, metric.bottom(away) - away, 0.0))
