"""Tables on disk and in pipes: read in chunks, written at once."""

from whyflag.files.reading import read_chunks
from whyflag.files.writing import Writer, atomically

__all__ = ["Writer", "atomically", "read_chunks"]
