"""Characteristic functions: what the absence of a feature means."""

from whyflag.games.background import Background, Nearest
from whyflag.games.base import CharacteristicFunction, Game
from whyflag.games.local_minimum import LocalMinimum
from whyflag.games.neighborhood_minimum import NeighborhoodMinimum
from whyflag.games.relaxed_minimum import RelaxedMinimum

__all__ = [
    "Background",
    "CharacteristicFunction",
    "Game",
    "LocalMinimum",
    "Nearest",
    "NeighborhoodMinimum",
    "RelaxedMinimum",
]
