"""The op table: one record per op, in one place. Importing this package fills `ir.REGISTRY`."""

from ..operators import bind_methods
from . import control, indexing, laws, leaves, linear, loops, pointwise, random, reductions, shaping

__all__ = ["control", "indexing", "laws", "leaves", "linear", "loops", "pointwise", "random", "reductions", "shaping"]

bind_methods()
