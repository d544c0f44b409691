"""Anomaly scores e(x): what whyflag needs of a detector, and nothing else of it."""

from whyflag.score.base import (
    AdditiveScore,
    CurvedScore,
    DifferentiableScore,
    MarginalScore,
    Score,
    evaluate,
    unit_from,
)

__all__ = [
    "AdditiveScore",
    "CurvedScore",
    "DifferentiableScore",
    "MarginalScore",
    "Score",
    "evaluate",
    "unit_from",
]
