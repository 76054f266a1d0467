"""The op table: one record per op, in one place. Importing this package fills `ir.REGISTRY`."""
# ruff: noqa: F401

from ..operators import bind_methods
from . import (
    adjoint,
    attention,
    convolution,
    deferred,
    einsum,
    elementwise,
    indexing,
    joining,
    leaves,
    linear,
    linear_algebra,
    logistic,
    ordering,
    placing,
    pointwise,
    pooling,
    random,
    rearranging,
    reductions,
    repeated_indices,
    selection,
    shaping,
    slicing,
    softmax,
)
from .control import cond, records, scan, while_loop
from .rewrites import algebra

bind_methods()
