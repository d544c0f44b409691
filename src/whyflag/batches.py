"""How much is computed at a time: one rule for every loop."""

from __future__ import annotations

from collections.abc import Iterator

CALL = 2**17  # numbers in one call of a score, 1 MB: what is made of them stays in a cache
WORK = 2**20  # numbers that a step may keep while it computes, 8 MB


def batch_size(each: int, most: int | None = None, fewest: int = 1) -> int:
    """How many entries of `each` numbers are computed at a time; `WORK` numbers if none is said."""
    return max(fewest, (WORK if most is None else most) // max(1, each))


def batches(n: int, each: int, most: int | None = None, fewest: int = 1) -> Iterator[slice]:
    """Cut n entries of `each` numbers into batches of at most so many numbers.

    >>> list(batches(5, each=3, most=6))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = batch_size(each, most, fewest)
    return (slice(begin, min(begin + size, n)) for begin in range(0, n, size))
