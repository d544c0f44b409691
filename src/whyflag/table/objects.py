"""Rows of JSON: an array of objects, or an object in each line."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np

from whyflag.table.sheet import Sheet, text_cells
from whyflag.table.streams import LONGEST

ROWS = 20_000  # that are read at a time

Object = Mapping[str, Any]


def read_objects(file: io.BufferedReader, expected: Sequence[str]) -> Iterator[Sheet]:
    """Read objects; a number stays the text that it is in the file.

    Args:
        file: The file.
        expected: Names that columns should have: where no object has one, it is empty.
    """
    file.peek(3)
    if file.peek(3)[:3] == b"\xef\xbb\xbf":
        file.read(3)
    is_array = file.peek(1000).lstrip()[:1] == b"["
    numbered = _of_array(file) if is_array else _of_lines(file)
    some: list[Object] = []
    lines: list[int] = []
    n_rows = 0
    for line, each in numbered:
        if not n_rows and not some and not is_array:
            _refuse_whole(each, is_last=not file.peek(1))
        try:
            some.append(_flat(each))
        except ValueError as error:
            raise ValueError(f"{'entry' if is_array else 'line'} {line} has {error}") from None
        lines.append(line)
        if len(some) == ROWS:
            yield _sheet(some, None if is_array else lines, expected, n_rows)
            n_rows += len(some)
            some, lines = [], []
    if some:
        yield _sheet(some, None if is_array else lines, expected, n_rows)


def _refuse_whole(first: Object, *, is_last: bool) -> None:
    """Refuse a table that is one object: of columns, or with its rows in a list."""
    lists = [name for name, value in first.items() if isinstance(value, list) and len(value) > 1]
    of_rows = [name for name in lists if all(isinstance(each, dict) for each in first[name])]
    if is_last and (of_rows or len(lists) == len(first) > 0):
        what = f"that has rows in {of_rows[0]!r}" if of_rows else "of columns"
        raise ValueError(
            f"it is one object {what}: write an array of objects, one for each row, or an object "
            "in each line"
        )


def _of_lines(file: io.BufferedReader) -> Iterator[tuple[int, Object]]:
    number = 0
    while text := file.readline(LONGEST):
        number += 1
        if text.strip():
            yield number, _object(text, f"line {number}")


def _of_array(file: io.BufferedReader) -> Iterator[tuple[int, Object]]:
    try:
        objects = _decode(file.read())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    for number, each in enumerate(objects, 1):
        if not isinstance(each, dict):
            raise ValueError(f"entry {number} of the array should be an object, got {each!r:.40}")
        yield number, each


def _object(text: bytes, where: str) -> Object:
    try:
        found = _decode(text)
    except RecursionError:
        raise ValueError(f"{where} is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{where} is no JSON object: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{where} should be a JSON object, got {found!r:.40}")
    return found


def _decode(text: bytes) -> Any:
    # Numbers stay texts, so that none of their digits is lost.
    return json.loads(
        text,
        parse_int=Digits,
        parse_float=Digits,
        parse_constant=Digits,
        object_pairs_hook=_with_repeated,
    )


@final
class Repeating(dict[str, Any]):
    """An object in which a name stands twice: one of its values would be lost."""

    repeated: str


def _with_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeating, names = Repeating(found), [name for name, _ in pairs]
    repeating.repeated = next(name for name in names if names.count(name) > 1)
    return repeating


@final
class Digits(str):
    """A number as it stands in the file."""

    __slots__ = ()


def _text(value: Any) -> str:
    """A value as it may stand in a file of JSON, its numbers to the letter."""
    if isinstance(value, dict):
        _refuse_repeating(value)
        return "{" + ", ".join(f"{json.dumps(k)}: {_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return value if isinstance(value, Digits) else json.dumps(value, ensure_ascii=False)


def _flat(each: Object, above: str = "", depth: int = 0) -> dict[str, Any]:
    """An object without objects in it: the names of these stand in front."""
    _refuse_repeating(each)
    found: dict[str, Any] = {}
    for name, value in each.items():
        if isinstance(value, dict) and depth < 8:
            parts = _flat(value, f"{above}{name}.", depth + 1)
        else:
            nested = isinstance(value, (list, dict))
            parts = {above + name: _text(value) if nested else value}
        if both := found.keys() & parts.keys():
            raise ValueError(f"two values for {min(both)!r}: one of its own, one of an object")
        found |= parts
    return found


def _refuse_repeating(each: Object) -> None:
    if isinstance(each, Repeating):
        raise ValueError(f"two values for {each.repeated!r}")


def _sheet(
    objects: Sequence[Object], lines: Iterable[int] | None, expected: Sequence[str], n_rows: int
) -> Sheet:
    names = dict.fromkeys(name for each in objects for name in each)
    if n_rows or any(name in names for name in expected):
        names |= dict.fromkeys(expected)
    cells = {name: text_cells([each.get(name) for each in objects]) for name in names}
    return Sheet(
        cells,
        np.arange(n_rows + 1, n_rows + len(objects) + 1),
        None if lines is None else np.array(list(lines)),
    )
