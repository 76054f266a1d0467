"""The op table: one record per op, in one place. Importing this package fills `ir.REGISTRY`."""
# ruff: noqa: F401

from ..ir import REGISTRY
from ..operators import bind_methods
from . import (
    adjoint,
    attention,
    blockwise_attention,
    broadcasting,
    complex_numbers,
    convolution,
    copies,
    cumulative,
    custom_gradient,
    data_dependent,
    decisions,
    deferred,
    diagonals,
    differences,
    einsum,
    elementwise,
    fourier,
    host_functions,
    indexing,
    joining,
    leaves,
    linear,
    linear_algebra,
    ordering,
    overwriting,
    placing,
    pointwise,
    pooling,
    random,
    rearranging,
    reductions,
    repeating,
    scatter_reductions,
    selection,
    shaping,
    short_time,
    slicing,
    softmax,
    sparse_rows,
    special_functions,
    splitting,
    stacking,
    statistics,
    strided_views,
)
from .control import cond, records, scan, while_loop

bind_methods()

BUILT_IN = frozenset(REGISTRY.values())
"""The package's own records, which its version describes; those that users define come later."""
