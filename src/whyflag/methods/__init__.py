"""Attribution methods, by the paper's names."""

from __future__ import annotations

from whyflag.methods.ash import ASH
from whyflag.methods.base import BoundMethod, Method
from whyflag.methods.comp import COMP
from whyflag.methods.shapley import ShapleyMethod

__all__ = ["ASH", "COMP", "METHODS", "BoundMethod", "Method", "ShapleyMethod", "get_method"]

METHODS: dict[str, type[Method]] = {method.name: method for method in (COMP, ASH)}


def get_method(method: str | Method) -> Method:
    """Return a method by its name, in upper or lower case, or the configured method itself."""
    if isinstance(method, Method):
        return method
    if isinstance(method, str):
        for name, known in METHODS.items():
            if name.casefold() == method.casefold():
                return known()
    raise ValueError(
        f"`method` must be one of {', '.join(METHODS)} or a configured method such as "
        f"ASH(gamma=0.1), got {method!r}."
    )
