"""The result: which features contribute, by how much, and which values are normal."""

from whyflag.attribution.base import Attribution
from whyflag.attribution.joining import concatenate

__all__ = ["Attribution", "concatenate"]
