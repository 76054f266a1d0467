"""The public functions, each bound by name so that type checkers and editors can follow it.

They are made in `ops/` beside their records. What is written there as a `def` is imported; what a record's helper made
(`F.add`) is bound here. All of them take eager tensors, symbols, arrays and numbers.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .eager import Tensor, dropout
from .errors import DTypeError
from .operators import F, Symbol, frontends, state
from .ops.control.cond import cond
from .ops.control.scan import scan
from .ops.control.while_loop import while_loop
from .ops.einsum import einsum
from .ops.elementwise import add, div, sub
from .ops.gathering import index_along
from .ops.indexing import getitem, index_add, one_hot, take, take_along_axis
from .ops.joining import concatenate, stack
from .ops.linear import dot, matmul, outer
from .ops.linear_algebra import norm
from .ops.logistic import softplus
from .ops.pointwise import astype, clone, pow, reciprocal, rsqrt, stop_gradient
from .ops.pointwise import isfinite_ as isfinite
from .ops.pointwise import isnan_ as isnan
from .ops.rearranging import split
from .ops.reductions import all_ as all
from .ops.reductions import any_ as any
from .ops.reductions import broadcast_like, cumsum, std, var
from .ops.selection import clamp, clip, masked_fill, where
from .ops.shaping import (
    broadcast_to,
    expand,
    expand_dims,
    flatten,
    flip,
    ones_like,
    permute,
    reshape,
    squeeze,
    swapaxes,
    transpose,
    unsqueeze,
    zeros_like,
)
from .ops.softmax import log_softmax, softmax
from .types import as_dtype


class Unary(Protocol):
    """A function of one operand, elementwise."""

    def __call__(self, x: Any) -> Any: ...


class Binary(Protocol):
    """A function of two operands, broadcast against each other."""

    def __call__(self, x: Any, y: Any) -> Any: ...


class Reducer(Protocol):
    """A reduction over `axis`: an int, several, or None for all axes."""

    def __call__(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any: ...


abs: Unary = F.abs
ceil: Unary = F.ceil
cos: Unary = F.cos
erf: Unary = F.erf
exp: Unary = F.exp
expm1: Unary = F.expm1
floor: Unary = F.floor
log: Unary = F.log
log1p: Unary = F.log1p
logical_not: Unary = F.logical_not
neg: Unary = F.neg
relu: Unary = F.relu
round: Unary = F.round
sigmoid: Unary = F.sigmoid
sign: Unary = F.sign
sin: Unary = F.sin
sqrt: Unary = F.sqrt
square: Unary = F.square
tanh: Unary = F.tanh

eq: Binary = F.eq
floor_divide: Binary = F.floor_divide
ge: Binary = F.ge
gt: Binary = F.gt
le: Binary = F.le
logical_and: Binary = F.logical_and
logical_or: Binary = F.logical_or
logical_xor: Binary = F.logical_xor
lt: Binary = F.lt
maximum: Binary = F.maximum
minimum: Binary = F.minimum
mul: Binary = F.mul
ne: Binary = F.ne
remainder: Binary = F.remainder

argmax: Reducer = F.argmax
argmin: Reducer = F.argmin
logsumexp: Reducer = F.logsumexp
max: Reducer = F.max
mean: Reducer = F.mean
min: Reducer = F.min
sum: Reducer = F.sum


def as_tensor(data: Any, dtype: Any = None) -> Any:
    """`data` as a tensor, without a copy where one is not needed: an array of the right dtype shares its memory.

    Tensors and symbols of the right dtype come back themselves. Raises DTypeError for what has no supported dtype.
    """
    x = data if isinstance(data, (Tensor, Symbol)) else Tensor(data)
    return x if dtype is None else astype(x, as_dtype(dtype))


def is_tensor(x: Any) -> bool:
    """Whether x is a tensor of any mode: eager, traced by `@sg.compile`, or of a graph, variables among them.

    `isinstance(x, sg.Tensor)` says the same but for a `Variable`, which is no Tensor, as in TensorFlow 1.
    """
    return isinstance(x, (Tensor, Symbol))


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the array's memory: a change of one is seen in the other.

    Raises DTypeError for anything but an ndarray, and for a dtype or byte order that would need a copy.
    """
    if isinstance(array, Symbol) and frontends.tracing and state.tracer is not None:
        return array  # an array that was passed to a compiled function
    if not isinstance(array, np.ndarray):
        raise DTypeError(f"from_numpy: expected np.ndarray (got {type(array).__name__})", "use sg.as_tensor")
    tensor = Tensor(array)
    if tensor._data is not array:
        raise DTypeError(f"from_numpy: {array.dtype.str} can't be shared", f"use array.astype('{tensor.dtype}')")
    return tensor


__all__ = [
    "abs",
    "add",
    "all",
    "any",
    "argmax",
    "argmin",
    "as_tensor",
    "astype",
    "broadcast_like",
    "broadcast_to",
    "ceil",
    "clamp",
    "clip",
    "clone",
    "concatenate",
    "cond",
    "cos",
    "cumsum",
    "div",
    "dot",
    "dropout",
    "einsum",
    "eq",
    "erf",
    "exp",
    "expand",
    "expand_dims",
    "expm1",
    "flatten",
    "flip",
    "floor",
    "floor_divide",
    "from_numpy",
    "ge",
    "getitem",
    "gt",
    "index_add",
    "index_along",
    "is_tensor",
    "isfinite",
    "isnan",
    "le",
    "log",
    "log1p",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "lt",
    "masked_fill",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mul",
    "ne",
    "neg",
    "norm",
    "one_hot",
    "ones_like",
    "outer",
    "permute",
    "pow",
    "reciprocal",
    "relu",
    "remainder",
    "reshape",
    "round",
    "rsqrt",
    "scan",
    "sigmoid",
    "sign",
    "sin",
    "softmax",
    "softplus",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "stop_gradient",
    "sub",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tanh",
    "transpose",
    "unsqueeze",
    "var",
    "where",
    "while_loop",
    "zeros_like",
]
