"""Tensors of data that is there already, without a copy where one is not needed."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np

from .eager import Tensor
from .errors import DTypeError
from .operators import Symbol, TensorLike, frontends, state
from .operators import Tensor as AnyTensor
from .ops.pointwise import astype
from .types import DTypeLike, as_dtype

__all__ = ["as_tensor", "from_numpy", "is_tensor"]


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
