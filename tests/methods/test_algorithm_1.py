import numpy as np
import pytest

from benchmarks.worlds import random_mixture
from whyflag import Domain
from whyflag.games import RelaxedMinimum
from whyflag.methods import ASH
from whyflag.prepared import Prepared


def test_ash_agrees_with_the_papers_algorithm_written_down_literally():
    """In one basin; the literal one draws its coalitions and stops early, hence the tolerance."""
    torch = pytest.importorskip("torch", reason="the literal algorithm runs in PyTorch")
    from benchmarks.algorithm_1 import GAMMA, D, TorchEnergy, algorithm_1

    energy = random_mixture(D, 1, 20.0, seed=1)
    X = np.random.default_rng(0).normal(size=(1, D)) * 2
    ours = ASH(RelaxedMinimum(gamma=GAMMA)).bind(Prepared(energy, Domain(D))).attribute(X)
    literal = TorchEnergy(energy)
    for x, values, base in zip(X, ours.values, ours.base_values, strict=True):
        theirs, losses, _ = algorithm_1(literal, torch.as_tensor(x), np.random.default_rng(0))
        np.testing.assert_allclose(theirs, values, atol=0.03 * np.abs(values).max())
        assert min(losses) >= base
