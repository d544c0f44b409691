"""The minimum is a minimum: no higher than where SciPy ends, from the row or any component."""

import numpy as np
import pytest

from benchmarks.minima import compare, exponentials
from whyflag.detectors import GMM

D, N = 6, 20
ROWS = exponentials(400 + N, D, seed=0)
NORMAL, STRANGE = ROWS[:400], ROWS[400:].copy()
STRANGE[np.arange(N), np.arange(N) % D] += 3


@pytest.mark.parametrize("radius", [None, 1.0], ids=["v̂", "v"])
@pytest.mark.parametrize("floor", [1e-6, 2 / D])
def test_ends_no_higher_than_scipy(floor, radius):
    energy = GMM(4, reg_covar=floor).fit(NORMAL).to_score()
    compared = compare(energy, STRANGE, NORMAL, radius=radius)
    assert compared.above_own <= 0.01
    assert compared.above_best <= 0.05
