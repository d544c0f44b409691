"""Shapley solvers: how the sum over coalitions is done."""

from whyflag.shapley.base import ShapleySolver, ShapleyValues, divide
from whyflag.shapley.exact import Exact
from whyflag.shapley.kernel import Kernel

__all__ = ["Exact", "Kernel", "ShapleySolver", "ShapleyValues", "divide"]
