"""Checks of settings, made when the object that has them is made."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from numbers import Integral, Real
from typing import Any


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    or_none: bool = False,
) -> None:
    """Refuse what is no finite number within the limits."""
    limits = _words(above, at_least, below, at_most)
    if not _is_number(value, Real, or_none) or not _within(value, above, at_least, below, at_most):
        raise ValueError(
            f"`{name}` must be a finite number{limits}{_else_none(or_none)}, got {value!r}."
        )


def check_whole(
    name: str,
    value: Any,
    *,
    at_least: int,
    at_most: int | None = None,
    also: int | None = None,
    or_none: bool = False,
) -> None:
    """Refuse what is no whole number within the limits; `also` is allowed besides."""
    number = _is_number(value, Integral, or_none)
    if not number or not (value == also or _within(value, None, at_least, None, at_most)):
        limits = _words(None, at_least, None, at_most) + ("" if also is None else f", or {also}")
        raise ValueError(
            f"`{name}` must be a whole number{limits}{_else_none(or_none)}, got {value!r}."
        )


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse what is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        *most, last = (f'"{choice}"' for choice in choices)
        raise ValueError(f"`{name}` must be {', '.join(most)} or {last}, got {value!r}.")


def check_kind(name: str, value: Any, kind: type, meaning: str) -> None:
    """Refuse what is not of a type."""
    if not isinstance(value, kind):
        raise ValueError(f"`{name}` must be {meaning}, got {value!r}.")


def _is_number(value: Any, kind: type, or_none: bool) -> bool:
    if value is None:
        return or_none
    # True is a number to Python, and to nobody who sets one.
    number = isinstance(value, kind) and not isinstance(value, bool)
    return number and isfinite(float(value))


def _within(
    value: Any,
    above: float | None,
    at_least: float | None,
    below: float | None,
    at_most: float | None,
) -> bool:
    return value is None or (
        (above is None or value > above)
        and (at_least is None or value >= at_least)
        and (below is None or value < below)
        and (at_most is None or value <= at_most)
    )


def _words(
    above: float | None, at_least: float | None, below: float | None, at_most: float | None
) -> str:
    limits = (("above", above), ("at least", at_least), ("below", below), ("at most", at_most))
    said = [f"{word} {limit}" for word, limit in limits if limit is not None]
    return f", {' and '.join(said)}" if said else ""


def _else_none(or_none: bool) -> str:
    return ", or None" if or_none else ""
