"""All kinds of columns, and how what is learnt of one is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whyflag.table.categories import Categories
from whyflag.table.codec import Codec
from whyflag.table.numbers import Numbers
from whyflag.table.raw_choices import RawChoices
from whyflag.table.raw_numbers import RawNumbers
from whyflag.table.raw_times import RawTimes
from whyflag.table.times import Times

CODECS: Mapping[str, type[Codec]] = {
    each.kind: each for each in (Numbers, Categories, Times, RawNumbers, RawChoices, RawTimes)
}


def codec_to_json(codec: Codec) -> dict[str, Any]:
    """What was learnt of a column, as JSON would have it."""
    return {"kind": codec.kind, **codec.to_json()}


def codec_from_json(content: Mapping[str, Any]) -> Codec:
    """What `codec_to_json` wrote."""
    rest = {name: each for name, each in content.items() if name != "kind"}
    return CODECS[content["kind"]].from_json(rest)
