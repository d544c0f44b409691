"""Attribution methods: settings that, bound to a score, attribute rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from whyflag.arrays import Matrix
from whyflag.attribution import Attribution
from whyflag.domain import Domain
from whyflag.score import Score


class Method(ABC):
    """A method's settings. `bind` gives it a score to explain."""

    name: ClassVar[str]  # as in the paper's tables

    @abstractmethod
    def bind(self, score: Score, domain: Domain, background: Matrix | None) -> BoundMethod:
        """Do the work that needs no row to explain. `background`: normal rows, if there are any."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings by name."""
        return dict(vars(self))


class BoundMethod(ABC):
    """A method with its score: it attributes rows."""

    @abstractmethod
    def attribute(self, X: Matrix) -> Attribution:
        """Attribute the score of each row: (n, d) -> n attributions."""
