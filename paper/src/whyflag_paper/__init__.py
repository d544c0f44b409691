"""The paper's experiments."""

__version__ = "0.1.0"
