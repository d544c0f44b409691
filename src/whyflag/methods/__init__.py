"""Attribution methods, by the paper's names."""

from __future__ import annotations

from whyflag.arrays import Matrix
from whyflag.methods.ace import ACE
from whyflag.methods.ash import ASH
from whyflag.methods.base import BoundMethod, Method
from whyflag.methods.comp import COMP
from whyflag.methods.ig import IG
from whyflag.methods.ksh import KSH
from whyflag.methods.marg import MARG
from whyflag.methods.near import NEAR
from whyflag.methods.sfe import SFE
from whyflag.methods.shapley import ShapleyValue
from whyflag.methods.wksh import WKSH

__all__ = [
    "ACE",
    "ASH",
    "COMP",
    "IG",
    "KSH",
    "MARG",
    "METHODS",
    "NEAR",
    "SFE",
    "WKSH",
    "BoundMethod",
    "Method",
    "ShapleyValue",
    "default_method",
    "get_method",
]

# In the order of the paper's tables; last, what is not in the paper.
METHODS: dict[str, type[Method]] = {
    method.name: method for method in (MARG, SFE, ACE, IG, KSH, WKSH, COMP, ASH, NEAR)
}


def default_method(rows: Matrix | None) -> str:
    """The method that finds culprits most often (docs/design/default.md); ASH without rows."""
    return NEAR.name if rows is not None else ASH.name


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
        f"ASH(solver=Exact()), got {method!r}."
    )
