"""The public functions, each bound by name so that type checkers and editors can follow it.

They are made in `ops/` beside their records. Functions written there as a `def` are imported; those that a record's helper
makes (`F.add`) are bound here. All of them take eager tensors, symbols, arrays and numbers.
"""

from __future__ import annotations

from typing import TypeGuard

import numpy as np

from .eager import Tensor, dropout
from .errors import DTypeError
from .operators import F, Symbol, TensorLike, frontends, state
from .operators import Tensor as AnyTensor
from .ops.broadcasting import broadcast_like
from .ops.control.cond import cond
from .ops.control.scan import scan
from .ops.control.while_loop import while_loop
from .ops.cumulative import cumsum
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
from .ops.reductions import all_ as all
from .ops.reductions import any_ as any
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
from .ops.splitting import split
from .ops.statistics import std, var
from .types import DTypeLike, as_dtype

abs = F.abs
atan = F.atan
ceil = F.ceil
cos = F.cos
cosh = F.cosh
erf = F.erf
exp = F.exp
exp2 = F.exp2
expm1 = F.expm1
floor = F.floor
log = F.log
log1p = F.log1p
log2 = F.log2
logical_not = F.logical_not
neg = F.neg
relu = F.relu
round = F.round
sigmoid = F.sigmoid
sign = F.sign
sin = F.sin
sinh = F.sinh
sqrt = F.sqrt
square = F.square
tanh = F.tanh

eq = F.eq
floor_divide = F.floor_divide
ge = F.ge
gt = F.gt
le = F.le
logical_and = F.logical_and
logical_or = F.logical_or
logical_xor = F.logical_xor
lt = F.lt
maximum = F.maximum
minimum = F.minimum
mul = F.mul
ne = F.ne
remainder = F.remainder

argmax = F.argmax
argmin = F.argmin
logsumexp = F.logsumexp
max = F.max
mean = F.mean
min = F.min
sum = F.sum


def as_tensor(data: TensorLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """`data` as a tensor, without a copy where one is not needed: an array of the right dtype shares its memory.

    Tensors and symbols of the right dtype are returned as they are. Raises DTypeError for data of no supported dtype.

    Examples:
        >>> sg.as_tensor([1, 2], dtype=sg.float64)
        tensor([1., 2.], dtype=torch.float64)
    """
    x = data if isinstance(data, (Tensor, Symbol)) else Tensor(data)
    return x if dtype is None else astype(x, as_dtype(dtype))


def is_tensor(x: object) -> TypeGuard[AnyTensor]:
    """Whether x is a tensor of any mode: eager, traced by `@sg.compile`, or of a graph, variables among them.

    `isinstance(x, sg.Tensor)` says the same but for a `Variable`, which is no Tensor, as in TensorFlow 1.
    """
    return isinstance(x, (Tensor, Symbol))


def from_numpy(array: np.ndarray) -> AnyTensor:
    """A tensor that shares the array's memory: a change of one is seen in the other.

    Raises DTypeError for anything but an ndarray, and for a dtype or byte order that would need a copy.

    Examples:
        >>> array = np.zeros(2)
        >>> tensor = sg.from_numpy(array)
        >>> array[0] = 1
        >>> tensor
        tensor([1., 0.], dtype=torch.float64)
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
    "atan",
    "broadcast_like",
    "broadcast_to",
    "ceil",
    "clamp",
    "clip",
    "clone",
    "concatenate",
    "cond",
    "cos",
    "cosh",
    "cumsum",
    "div",
    "dot",
    "dropout",
    "einsum",
    "eq",
    "erf",
    "exp",
    "exp2",
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
    "log2",
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
    "sinh",
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
