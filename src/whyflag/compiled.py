"""Loops that numba compiles, where it is installed (`whyflag[fast]`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


@cache
def compiled(loops: Callable[..., Any], *, reassociate: bool = False) -> Callable[..., Any] | None:
    """The function as machine code; None without numba.

    With `reassociate` the order of a sum is free, so that several terms are added at a time.

    It is compiled at its first call, and kept for later processes: beside its file, or in the
    user's cache where that can not be written to, or not at all where neither can.
    """
    try:
        # Half a second, for those only who come here.
        njit = import_module("numba").njit
    except ImportError:
        return None
    settings = {"fastmath": {"reassoc"}} if reassociate else {}
    try:
        return njit(cache=True, **settings)(loops)
    except RuntimeError:  # no place for a cache
        return njit(**settings)(loops)
