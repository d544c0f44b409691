"""Optional packages, asked for when they are needed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def require(package: str, what: str, extra: str | None = None) -> ModuleType:
    """Import an optional package, or say which extra of whyflag brings it (by default its name)."""
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{what} needs the {package} package: pip install 'whyflag[{extra or package}]'."
        ) from error
