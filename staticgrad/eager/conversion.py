"""Tensors of data that is there already, without a copy where one is not needed."""

from __future__ import annotations

import os
from typing import Any, TypeGuard

import numpy as np

from ..base.devices import CPU, check_device
from ..base.dtypes import BFLOAT16, SUPPORTED, as_dtype
from ..base.interpreter import module
from ..base.types import DTypeLike, get_default_dtype
from ..errors import ArgumentError, DTypeError
from ..ops.operators import Symbol, TensorLike, as_array, for_meta, frontends, on_meta, state
from ..ops.operators import Tensor as AnyTensor
from ..ops.pointwise import astype
from . import Tensor, tensor
from .creation import with_numbers
from .grad_mode import INFERRING
from .tensor import wrap

__all__ = ["as_tensor", "from_dlpack", "from_file", "from_numpy", "frombuffer", "is_tensor", "to_dlpack"]


def as_tensor(data: TensorLike, dtype: DTypeLike | None = None, device: Any = None) -> AnyTensor:
    """`data` as a tensor, without a copy where one is not needed: an array of the right dtype shares its memory.

    Tensors and symbols of the right dtype are returned as they are. Raises DTypeError for data of no supported dtype.

    Examples:
        >>> sg.as_tensor([1, 2], dtype=sg.float64)
        tensor([1., 2.], dtype=torch.float64)
    """
    if (device is not None or frontends.tracing) and for_meta(device):
        return on_meta(as_tensor(data, dtype, CPU))
    check_device(device)
    if dtype is not None and not isinstance(data, (Tensor, Symbol)) and not hasattr(data, "__array__"):
        return tensor(data, dtype)  # numbers are converted in one step, not through the default dtype
    x: AnyTensor
    if frontends.tracing and state.tracer is not None:
        data = state.tracer.listed(data)
    if is_tensor(data):
        x = data
    elif frontends.tracing and state.tracer is not None and isinstance(data, (np.ndarray, Symbol)):
        x = state.tracer.shared(as_array(data) if isinstance(data, np.ndarray) else data)
    else:
        x = Tensor(with_numbers(data))
    return x if dtype is None else astype(x, as_dtype(dtype))


def is_tensor(x: object) -> TypeGuard[AnyTensor]:
    """Whether x is a tensor of any mode: eager, traced by `@sg.compile`, or of a graph, variables among them.

    `isinstance(x, sg.Tensor)` says the same but for a `Variable`, which is no Tensor, as in TensorFlow 1.

    Examples:
        >>> sg.is_tensor(sg.ones(2)), sg.is_tensor(np.ones(2))
        (True, False)
    """
    return isinstance(x, Tensor) or (not x._is_array if isinstance(x, Symbol) else getattr(type(x), "_is_tensor", False))


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
    traced = frontends.tracing and state.tracer is not None
    if array.__class__ is np.ndarray and array.dtype in SUPPORTED and not (INFERRING or traced):
        return wrap(array.view())
    if not isinstance(array, np.ndarray):
        raise DTypeError(f"from_numpy: expected np.ndarray (got {type(array).__name__})", "use sg.as_tensor")
    shared = as_array(array)
    if shared is not array:
        raise DTypeError(f"from_numpy: {array.dtype.str} can't be shared", f"use array.astype('{shared.dtype}')")
    return state.tracer.shared(array) if traced else Tensor(array.view())


class _Capsule:
    """A capsule as NumPy takes it: as that of a tensor which is asked for it."""

    def __init__(self, capsule: Any):
        self.capsule = capsule

    def __dlpack__(self, **named: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # NumPy reads the capsule's own device, too, and refuses one that is not the CPU


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> AnyTensor:
    """A tensor that shares the memory of another library's, or of a capsule's (`copy=True`: has its own). Raises DeviceError,
    DTypeError.
    """
    check_device(device)
    capsules = module("staticgrad.base.shared_memory")
    capsule = ext_tensor if type(ext_tensor).__name__ == "PyCapsule" else None
    if capsule is None and str(getattr(ext_tensor, "dtype", "")).endswith(BFLOAT16):
        capsule = ext_tensor.__dlpack__()
    if capsule is not None and capsules.recoded(capsule, capsules.BFLOAT, capsules.UNSIGNED):
        array = np.from_dlpack(_Capsule(capsule)).view(as_dtype(BFLOAT16))
    else:
        array = np.from_dlpack(ext_tensor if capsule is None else _Capsule(capsule))
    return from_numpy(array.copy() if copy else array)


def to_dlpack(tensor: AnyTensor) -> object:
    """The capsule by which other libraries share a tensor's memory. Raises GradientError for one that requires gradients."""
    return tensor.__dlpack__()


def frombuffer(buffer: Any, *, dtype: DTypeLike, count: int = -1, offset: int = 0, requires_grad: bool = False) -> AnyTensor:
    """A 1-D tensor that shares the memory of an object with Python's buffer protocol: `count` elements (all for -1) after the
    first `offset` bytes. Raises ArgumentError where they don't fit.

    Examples:
        >>> sg.frombuffer(bytearray([1, 0, 2, 0]), dtype=sg.int16)
        tensor([1, 2], dtype=torch.int16)
    """
    try:
        array = np.frombuffer(buffer, as_dtype(dtype), count, offset)
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"frombuffer: {error}") from None
    return from_numpy(array).requires_grad_(requires_grad)


def from_file(
    filename: str | os.PathLike[str], shared: bool | None = None, size: int = 0, *, dtype: DTypeLike | None = None,
    requires_grad: bool = False, layout: Any = None, device: Any = None, pin_memory: bool = False,
) -> AnyTensor:  # fmt: skip
    """A 1-D tensor of the first `size` elements of a file, which is mapped into memory.

    With `shared`, changes of the tensor are written to the file, and a shorter one grows. Raises DeviceError, and OSError for a
    file that can't be opened.
    """
    check_device(device)
    kind = get_default_dtype() if dtype is None else as_dtype(dtype)
    if shared and (not os.path.exists(filename) or os.path.getsize(filename) < size * kind.itemsize):
        with open(filename, "ab") as file:
            file.truncate(size * kind.itemsize)
    array = np.asarray(np.memmap(filename, kind, "r+" if shared else "c", shape=(size,))) if size else np.empty(0, kind)
    return from_numpy(array).requires_grad_(requires_grad)
