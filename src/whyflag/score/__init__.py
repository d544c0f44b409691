"""Anomaly scores e(x): what whyflag needs of a detector, and nothing else of it."""

from whyflag.score.ability import Ability
from whyflag.score.additive import Additive
from whyflag.score.base import Score, evaluate, unit_from
from whyflag.score.curvature import Curvature
from whyflag.score.distances import Distances
from whyflag.score.gradient import Gradient
from whyflag.score.map import Map
from whyflag.score.marginals import Marginals
from whyflag.score.moves import score_moves
from whyflag.score.products import Products
from whyflag.score.trees import Trees

__all__ = [
    "Ability",
    "Additive",
    "Curvature",
    "Distances",
    "Gradient",
    "Map",
    "Marginals",
    "Products",
    "Score",
    "Trees",
    "evaluate",
    "score_moves",
    "unit_from",
]
