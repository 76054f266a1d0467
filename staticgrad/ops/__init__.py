"""The op table: one record per op, in one place. Importing this package fills `ir.REGISTRY`."""

from . import indexing, leaves, linear, pointwise, random, reductions, shaping

__all__ = ["indexing", "leaves", "linear", "pointwise", "random", "reductions", "shaping"]
