import sys
from types import SimpleNamespace

import pytest

from whyflag.compiled import compiled


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
