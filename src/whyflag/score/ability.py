"""What may be known about a score besides its values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from whyflag.score.map import Map


class Ability(ABC):
    """Something that is known about a score besides its values.

    An ability changes how fast an answer comes, never the answer. Some methods need one.
    """

    meaning: ClassVar[str]  # what a method needs that needs it, as messages say it

    @abstractmethod
    def after(self, step: Map) -> Ability | None:
        """What is left of it if rows go through a map first; None: nothing."""
