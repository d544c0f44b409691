"""The commands that this package adds to `whyflag`."""

from whyflag_paper.commands.datasets import datasets
from whyflag_paper.commands.reproduce import reproduce

__all__ = ["datasets", "reproduce"]
