"""The op table: one record per op, in one place. Importing this package fills `ir.REGISTRY`."""

from ..operators import bind_methods
from . import (
    attention,
    branches,
    control,
    convolution,
    einsum,
    indexing,
    joining,
    laws,
    leaves,
    linear,
    logistic,
    loops,
    pointwise,
    pooling,
    random,
    reductions,
    repeats,
    selection,
    shaping,
    slicing,
    softmax,
    while_loops,
)

__all__ = [
    "attention",
    "branches",
    "control",
    "convolution",
    "einsum",
    "indexing",
    "joining",
    "laws",
    "leaves",
    "linear",
    "logistic",
    "loops",
    "pointwise",
    "pooling",
    "random",
    "reductions",
    "repeats",
    "selection",
    "shaping",
    "slicing",
    "softmax",
    "while_loops",
]

bind_methods()
