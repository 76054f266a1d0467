"""Making eager tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError, DTypeError
from ..operators import Symbol, TensorLike, as_array, frontends, state
from ..operators import Tensor as AnyTensor
from ..types import DTypeLike, ShapeLike, as_dtype, as_shape, check_unmasked, get_default_dtype, is_number
from .tensor import Tensor


def tensor(data: TensorLike, dtype: DTypeLike | None = None, requires_grad: bool = False) -> AnyTensor:
    """A tensor with a copy of `data` (numbers, nested lists, an array, a tensor).

    Python floats become the default float, NumPy arrays keep their dtype. Raises DTypeError for data without a
    supported dtype, for integers out of the range of `dtype`, or when an integer tensor is to require grad.

    Examples:
        >>> x = sg.tensor([[1, 2], [3, 4]], dtype=sg.float32, requires_grad=True)
        >>> x.shape, x.dtype
        ((2, 2), dtype('float32'))
        >>> sg.tensor([1, 2, 3])
        tensor([1, 2, 3])
    """
    if frontends.tracing and state.tracer is not None and isinstance(data, (Tensor, Symbol)):
        copied: AnyTensor = state.tracer.copied(data, None if dtype is None else as_dtype(dtype), requires_grad)
        return copied
    if dtype is not None and not isinstance(data, (Tensor, np.ndarray)):
        as_array(data)  # refuses unsupported dtypes; the values are converted to the requested dtype in one step
        kind = as_dtype(dtype)
        try:
            return _made(np.array(data, dtype=kind), requires_grad)
        except OverflowError as error:
            raise DTypeError(f"tensor: {error}") from None
    array = data._data if isinstance(data, Tensor) else as_array(data)
    return _made(np.array(array, dtype=None if dtype is None else as_dtype(dtype)), requires_grad)


def _made(array: np.ndarray, requires_grad: bool) -> AnyTensor:
    """The tensor around a fresh array; while tracing, one that each run makes anew."""
    if frontends.tracing and state.tracer is not None:
        made: AnyTensor = state.tracer.constant(array, requires_grad)
        return made
    return Tensor(array, requires_grad)


def _dtype(dtype: DTypeLike | None) -> np.dtype:
    return get_default_dtype() if dtype is None else as_dtype(dtype)


def _extents(shape: tuple[Any, ...]) -> tuple[int, ...]:
    return as_shape(shape[0] if len(shape) == 1 else shape)


def zeros(*shape: ShapeLike, dtype: DTypeLike | None = None, requires_grad: bool = False) -> AnyTensor:
    """Zeros; default float unless `dtype` is given."""
    return _made(np.zeros(_extents(shape), _dtype(dtype)), requires_grad)


def ones(*shape: ShapeLike, dtype: DTypeLike | None = None, requires_grad: bool = False) -> AnyTensor:
    """Ones; default float unless `dtype` is given."""
    return _made(np.ones(_extents(shape), _dtype(dtype)), requires_grad)


def full(shape: ShapeLike, value: TensorLike, dtype: DTypeLike | None = None, requires_grad: bool = False) -> AnyTensor:
    """`value` everywhere; its own dtype unless `dtype` is given."""
    check_unmasked(value)
    kind = as_array(value).dtype if dtype is None else as_dtype(dtype)
    try:
        return _made(np.full(as_shape(shape), value, kind), requires_grad)
    except OverflowError as error:
        raise DTypeError(f"full: {error}") from None


def eye(n: int, m: int | None = None, dtype: DTypeLike | None = None, requires_grad: bool = False) -> AnyTensor:
    """Ones on the diagonal of an n x m matrix (m = n unless given)."""
    n, m = as_shape((n, n if m is None else m))
    return _made(np.eye(n, m, dtype=_dtype(dtype)), requires_grad)


def arange(
    start: float, stop: float | None = None, step: float = 1, dtype: DTypeLike | None = None, requires_grad: bool = False
) -> AnyTensor:
    """start, start + step, ... before stop; int64 for integers, else the default float."""
    start, stop = (0, start) if stop is None else (start, stop)
    for name, value in (("start", start), ("stop", stop), ("step", step)):
        if not is_number(value):
            raise ArgumentError(f"arange: {name} has to be a number, got {value!r}")
    if step == 0:
        raise ArgumentError("arange: step must be nonzero")
    floating = any(isinstance(v, (float, np.floating)) for v in (start, stop, step))
    kind = (get_default_dtype() if floating else np.dtype(np.int64)) if dtype is None else as_dtype(dtype)
    try:
        values = np.arange(start, stop, step)
    except ValueError as error:
        raise ArgumentError(f"arange: {error}", f"from {start} to {stop} by {step}") from None
    return _made(values.astype(kind), requires_grad)


def linspace(
    start: float, stop: float, num: int = 50, dtype: DTypeLike | None = None, requires_grad: bool = False
) -> AnyTensor:
    """`num` evenly spaced values from start to stop, both included."""
    for name, value in (("start", start), ("stop", stop)):
        if not is_number(value):
            raise ArgumentError(f"linspace: {name} has to be a number, got {value!r}")
    return _made(np.linspace(start, stop, *as_shape((num,))).astype(_dtype(dtype)), requires_grad)
