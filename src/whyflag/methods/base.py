"""Attribution methods: settings that, bound to a score, attribute rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, final

from whyflag.arrays import Matrix, check_rows
from whyflag.attribution import Attribution
from whyflag.domain import Domain
from whyflag.score import Ability, Score


class Method(ABC):
    """A method's settings. `bind` gives it a score to explain."""

    name: ClassVar[str]  # as in the paper's tables
    needs: ClassVar[tuple[type[Ability], ...]] = ()  # what must be known of the score
    needs_background: ClassVar[bool] = False

    @final
    def applies_to(self, score: Score) -> bool:
        """Whether the score has the abilities that the method needs."""
        return all(score.find(ability) is not None for ability in self.needs)

    @final
    def bind(self, score: Score, domain: Domain, background: Matrix | None = None) -> BoundMethod:
        """Do the work that needs no row to explain. `background`: normal rows, if there are any."""
        for ability in self.needs:
            if score.find(ability) is None:
                raise TypeError(f"{self.name} needs {ability.meaning}, got {score.name}.")
        if background is not None:
            background = check_rows(background, domain.n_columns, name="background")
        elif self.needs_background:
            raise ValueError(f"{self.name} needs normal rows as `background`, got none.")
        return self._bind(score, domain, background)

    @abstractmethod
    def _bind(self, score: Any, domain: Domain, background: Any) -> BoundMethod:
        """The score is of the type that the method needs; rows are there if it needs them."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings by name."""
        return dict(vars(self))


class BoundMethod(ABC):
    """A method with its score: it attributes rows."""

    @abstractmethod
    def attribute(self, X: Matrix) -> Attribution:
        """Attribute the score of each row: (n, d) -> n attributions."""


def describe(domain: Domain, X: Matrix) -> dict[str, Any]:
    """What every method's `Attribution` says of its rows and players."""
    return {
        "data": X,
        "feature_names": domain.player_names,
        "column_names": domain.columns,
        "row_names": tuple(range(len(X))),
        "membership": domain.membership,
    }
