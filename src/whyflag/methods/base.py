"""Attribution methods: settings that, bound to a prepared score, attribute rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, final

from whyflag.arrays import Matrix
from whyflag.contributions import Contributions
from whyflag.prepared import Prepared
from whyflag.score import Ability, Score


class Method(ABC):
    """A method's settings. `bind` gives it a score to explain.

    A subclass is a frozen dataclass with a `name`, its settings as fields, and `_bind`.
    docs/guides/method.md writes one.
    """

    name: ClassVar[str]  # as results and messages have it
    needs: ClassVar[tuple[type[Ability], ...]] = ()  # what must be known of the score
    needs_background: ClassVar[bool] = False

    @final
    def applies_to(self, score: Score) -> bool:
        """Whether the score has the abilities that the method needs."""
        return all(score.find(ability) is not None for ability in self.needs)

    @final
    def bind(self, prepared: Prepared) -> BoundMethod:
        """Do the work that needs no row to explain."""
        for ability in self.needs:
            if prepared.score.find(ability) is None:
                raise TypeError(f"{self.name} needs {ability.meaning}, got {prepared.score.name}.")
        if self.needs_background and prepared.rows is None:
            raise ValueError(f"{self.name} needs normal rows as `background`, got none.")
        return self._bind(prepared)

    @abstractmethod
    def _bind(self, prepared: Prepared) -> BoundMethod:
        """The score has the abilities that the method needs; rows are there if it needs them."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings by name."""
        return dict(vars(self))


class BoundMethod(ABC):
    """A method with its score: it attributes rows."""

    @abstractmethod
    def attribute(self, X: Matrix) -> Contributions:
        """Attribute the score of each row: (n, d) -> n rows of contributions."""
