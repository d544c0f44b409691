"""Ensembles: several methods, several detectors, one attribution for each row."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from whyflag.arrays import BoolVector, Matrix, Vector
from whyflag.attribution import Attribution
from whyflag.calibration import Calibration
from whyflag.checks import check_kind
from whyflag.columns import Columns
from whyflag.domain import Domain
from whyflag.explainer import Explainer
from whyflag.methods import Method, get_method
from whyflag.outcome import worst
from whyflag.prepared import prepare
from whyflag.repair import Repair, Repairer
from whyflag.score import Score
from whyflag.table.originals import Originals

BEST = ("near", "wKSH")


@final
class Ensemble:
    """Explains rows by several methods, or several detectors, and combines what they say.

    No method is best for every detector, so several can be used together. The result has the
    average of their shares: positive attributions, divided by their sum in the row. How far they
    agree on a row is `Attribution.agreement`; what each of them found, `Attribution.members`.

    Args:
        explainers: The members: explainers of any detectors by any methods, over the same
            features.

    >>> from whyflag.detectors import GMM
    >>> normal = np.random.default_rng(0).normal(size=(500, 3))
    >>> detector = GMM(random_state=0).fit(normal)
    >>> explain = Ensemble([Explainer(detector, normal, method) for method in ("ASH", "wKSH")])
    >>> attribution = explain([[0.0, 9.0, 0.0]])
    >>> attribution.top(1)["feature"].item(), attribution.agreement > 0.9
    ('x1', array([ True]))
    """

    @classmethod
    def of(
        cls,
        detector: Any,
        background: Any = None,
        methods: Sequence[str | Method] = BEST,
        *,
        domain: Domain | None = None,
        players: Mapping[str, Columns] | None = None,
        fixed: Columns = (),
        threshold: float | Calibration | None = None,
        n_jobs: int = 1,
    ) -> Ensemble:
        """Several methods on one detector; those that its score does not allow are left out.

        By default near, which finds culprits most often, and wKSH, which divides the score
        over the same normal rows in another way. The other arguments are those of `Explainer`.

        >>> from whyflag.detectors import GMM
        >>> normal = np.random.default_rng(0).normal(size=(500, 3))
        >>> explain = Ensemble.of(GMM(random_state=0).fit(normal), normal)
        >>> explain([[0.0, 9.0, 0.0]]).top(1)["feature"].item()
        'x1'
        """
        if isinstance(methods, str) or not methods:
            raise ValueError(f"`methods` must be a list of methods, got {methods!r}.")
        prepared = prepare(
            detector,
            background,
            domain=domain,
            players=players,
            fixed=fixed,
            threshold=threshold,
        )
        chosen = [get_method(method) for method in methods]
        without = prepared.rows is None
        allowed = [
            method
            for method in chosen
            if method.applies_to(prepared.score) and not (without and method.needs_background)
        ]
        if not allowed:
            named = ", ".join(method.name for method in chosen)
            rows = " without normal rows" if without else ""
            raise TypeError(f"None of the methods {named} applies to {prepared.score.name}{rows}.")
        return cls([Explainer(prepared, method=method, n_jobs=n_jobs) for method in allowed])

    def __init__(self, explainers: Sequence[Explainer]) -> None:
        self.explainers = tuple(explainers)
        if not self.explainers:
            raise ValueError("An ensemble needs at least one explainer, got none.")
        for explainer in self.explainers:
            check_kind("explainers", explainer, Explainer, "Explainers")
        first = self.explainers[0].domain
        for explainer in self.explainers:
            _refuse_others(first.player_names, explainer.domain.player_names)

    @property
    def domain(self) -> Domain:
        """What values a row may take, by the first member; the players are the same for all."""
        return self.explainers[0].domain

    def __repr__(self) -> str:
        return f"Ensemble({list(self.explainers)})"

    def __call__(self, X: Any) -> Attribution:
        """The same as `explain`."""
        return self.explain(X)

    def explain(self, X: Any) -> Attribution:
        """Attribute the score of each row of an array (n, d) or a DataFrame."""
        return combine([explainer.explain(X) for explainer in self.explainers])

    def repair(self, X: Any) -> Repair:
        """Which values of each row would have been normal, with the rest of it as it is.

        The same as `explain(X).repair`. Of several detectors the alarm of all together ends, as
        `combine` has it.
        """
        return self.explain(X).repair


@final
@dataclass(frozen=True)
class _Average:
    """What several detectors say of rows, each in its unit, on average."""

    asked: tuple[Callable[..., Vector], ...]
    units: tuple[float, ...]

    def __call__(self, *rows: Any) -> Vector:
        asked = zip(self.asked, self.units, strict=True)
        return np.asarray(np.mean([ask(*rows) / unit for ask, unit in asked], axis=0))


def combine(members: Sequence[Attribution]) -> Attribution:
    """Combine attributions of the same rows into one: the average of their shares.

    The values of a row are not negative and sum to one (to zero if no member has a positive
    attribution). Members of one detector have equal weights. Members of several detectors are
    weighted by score minus base value, in units of each score: a detector that finds the row
    normal has little weight (all are equal where a detector's members are marg and SFE only, whose
    base values are no scores). The reference, the row that is called normal, is that of the first
    member that has one. Scores and thresholds of several detectors are averages in units of each
    score, so that `flagged` means that they are above their thresholds on average; there is no
    threshold unless each detector has one.

    Args:
        members: Attributions by different methods, of different detectors, or both.
    """
    if not members:
        raise ValueError("There must be at least one attribution to combine, got none.")
    for member in members:
        _refuse_others(members[0].feature_names, member.feature_names)
        if not np.array_equal(member.data, members[0].data):
            raise ValueError("Attributions can be combined if they are of the same rows.")
    shares = np.array([member.shares for member in members])  # k x n x p
    weights = _weights(members) * shares.any(axis=2)  # k x n: no share, no weight
    total = weights.sum(axis=0)  # n
    lead = _lead(members)
    return replace(
        lead if _same_detector(members) else _averaged(members, lead),
        values=np.einsum("kn,knp->np", weights, shares) / np.where(total > 0, total, 1.0)[:, None],
        method=f"Ensemble({', '.join(member.method for member in members)})",
        settings={"members": tuple(dict(member.settings) for member in members)},
        evaluations=np.sum([member.evaluations for member in members], axis=0),
        additive=False,
        standard_errors=None,
        refit_spread=None,
        refit_first=None,
        ended=worst([member.ended for member in members]),
        fallback=_any_fallback(members),
        members=tuple(members),
    )


def _refuse_others(expected: tuple[str, ...], found: tuple[str, ...]) -> None:
    if found != expected:
        raise ValueError(
            "Members of an ensemble must have the same features in the same order, got "
            f"{list(expected)} and {list(found)}."
        )


def _same_detector(members: Sequence[Attribution]) -> bool:
    first = members[0]
    return all(
        member.threshold == first.threshold and np.allclose(member.scores, first.scores)
        for member in members
    )


def _lead(members: Sequence[Attribution]) -> Attribution:
    """The first member that has a reference; if none has, the first member."""
    return next((member for member in members if member.reference is not None), members[0])


def _weights(members: Sequence[Attribution]) -> Matrix:
    """How far above normal each member's detector finds each row, in its unit: k x n."""
    weights = []
    for member in members:
        known = [m for m in members if m.scored_base and _same_detector([member, m])]
        if not known:  # marg and SFE have no score of normal values: all count alike
            return np.ones((len(members), len(member)))
        lead = _lead(known)
        weights.append(np.maximum(lead.scores - lead.base_values, 0.0) / lead.unit)
    alarm = np.array(weights)
    # Where no detector finds anything, all count alike.
    return np.where(alarm.any(axis=0), alarm, 1.0)


def _averaged(members: Sequence[Attribution], lead: Attribution) -> Attribution:
    """The lead with the scores of several detectors, each in its unit, on average."""
    thresholds = [
        member.threshold / member.unit for member in members if member.threshold is not None
    ]
    threshold = float(np.mean(thresholds)) if len(thresholds) == len(members) else None
    return replace(
        lead,
        scores=np.mean([member.scores / member.unit for member in members], axis=0),
        base_values=np.mean([member.base_values / member.unit for member in members], axis=0),
        threshold=threshold,
        calibration=None,
        unit=1.0,
        added=_added(members),
        originals=_originals(members),
        repairer=_repairer(members, lead, threshold),
        repaired=None,
    )


def _added(members: Sequence[Attribution]) -> Matrix | None:
    """What cells that no normal row has add to the scores on average, each in its unit."""
    known = [member.added / member.unit for member in members if member.added is not None]
    return np.sum(known, axis=0) / len(members) if known else None


def _originals(members: Sequence[Attribution]) -> Originals | None:
    """Cells that some member takes as they came, and what all say of them on average."""
    known = [member.originals for member in members if member.originals is not None]
    if len(known) < len(members):
        return None
    cells, told = (
        zip(*each, strict=True) for each in ([o.cells for o in known], [o.told for o in known])
    )
    asks = tuple(each.ask for each in known)
    return replace(
        known[0],
        cells=tuple(dict(ChainMap(*map(dict, its))) for its in cells),
        told=tuple(dict(ChainMap(*map(dict, its))) for its in told),
        ask=_Average(asks, tuple(member.unit for member in members)),
    )


def _repairer(
    members: Sequence[Attribution], lead: Attribution, threshold: float | None
) -> Repairer | None:
    """What repairs rows so that the alarm of all detectors together ends."""
    scores = tuple(member.repairer.score for member in members if member.repairer is not None)
    if lead.repairer is None or len(scores) < len(members):
        return None
    average = _Average(scores, tuple(member.unit for member in members))
    score = Score(average, n_features=lead.data.shape[1], threshold=threshold, unit=1.0)
    return replace(lead.repairer, score=score)


def _any_fallback(members: Sequence[Attribution]) -> BoolVector | None:
    known = [member.fallback for member in members if member.fallback is not None]
    return np.any(known, axis=0) if known else None
