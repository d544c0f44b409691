"""The result: who is to blame, by how much, and what would have been normal."""

from whyflag.attribution.base import Attribution, concatenate

__all__ = ["Attribution", "concatenate"]
