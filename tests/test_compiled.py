import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from whyflag import Explainer, as_score
from whyflag.compiled import compiled
from whyflag.games.by_trees import _loops as walks
from whyflag.minimise import line_loops
from whyflag.score import tree_loops
from whyflag.score.nearest_loops import nearest


@pytest.fixture(autouse=True)
def forget():
    """What was compiled before would be found again."""
    compiled.cache_clear()
    yield
    compiled.cache_clear()


def double(x):
    return 2 * x


def test_loops_are_compiled():
    assert compiled(double)(3) == 6
    assert compiled(double) is not double
    assert compiled(double) is compiled(double)


def test_without_numba_there_are_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert compiled(double) is None


def test_where_nothing_can_be_kept_nothing_is(monkeypatch):
    def njit(function=None, *, cache=False):
        def compile_it(function):
            if cache:
                raise RuntimeError("cannot cache function: no locator available")
            return "compiled", function

        return compile_it if function is None else compile_it(function)

    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(njit=njit))
    assert compiled(double) == ("compiled", double)


def test_loops_are_compiled_once_whatever_is_asked():
    """Arrays that are laid out in another way, or can not be written to, would be other types."""
    pytest.importorskip("numba")
    rows = np.random.default_rng(0).normal(size=(60, 4))
    forest = as_score(IsolationForest(n_estimators=5, random_state=0).fit(rows), scale="depth")
    neighbours = as_score(LocalOutlierFactor(5, novelty=True).fit(rows))
    for score, methods in ((forest, ("KSH", "ASH")), (neighbours, ("near", "KSH", "comp"))):
        for method in methods:
            for n in (1, 3):
                Explainer(score, rows, method)(rows[:n] + 3.0)
    lines = line_loops.outside, line_loops.best, line_loops.go
    for loops in (walks, *lines, tree_loops.sums, nearest):
        assert len(compiled(loops).signatures) == 1, loops.__name__
