"""The op table: one record per op, in one place. Importing this package fills `ir.REGISTRY`."""

from ..operators import bind_methods
from . import (
    attention,
    control,
    convolution,
    einsum,
    indexing,
    laws,
    leaves,
    linear,
    loops,
    pointwise,
    pooling,
    random,
    reductions,
    shaping,
)

__all__ = [
    "attention",
    "control",
    "convolution",
    "einsum",
    "indexing",
    "laws",
    "leaves",
    "linear",
    "loops",
    "pointwise",
    "pooling",
    "random",
    "reductions",
    "shaping",
]

bind_methods()
