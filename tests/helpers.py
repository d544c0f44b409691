"""What several tests need."""

from __future__ import annotations

import numpy as np

from whyflag.arrays import BoolMatrix


def random_coalitions(m: int, p: int, seed: int) -> BoolMatrix:
    return np.random.default_rng(seed).random((m, p)) < 0.5
