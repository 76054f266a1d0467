"""The op table: one record per op, in one place. Importing this package fills `ir.REGISTRY`."""

from ..operators import bind_methods
from . import indexing, laws, leaves, linear, pointwise, random, reductions, shaping

__all__ = ["indexing", "laws", "leaves", "linear", "pointwise", "random", "reductions", "shaping"]

bind_methods()
