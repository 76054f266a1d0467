"""Methods that ask for a dtype or a device: `x.to(...)`, `x.float()`, `x.cpu()`, `x.type()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import numpy as np

from ..base.devices import CPU, Device, check_device, is_device
from ..base.dtypes import SHORT_NAMES, TENSOR_NAMES, DType, bfloat16
from ..base.types import FLOATING, int8, uint8
from ..errors import ArgumentError, DTypeError, ShapeError
from .annotations import Tensor
from .dispatch import F
from .methods import Operators

NAMES = {dtype.name: f"torch.{name}" for name, dtype in TENSOR_NAMES.items()}
NAMES |= {"complex64": "torch.ComplexFloatTensor", "complex128": "torch.ComplexDoubleTensor"}
NAMES |= {f"uint{bits}": f"torch.UInt{bits}Tensor" for bits in (16, 32, 64)}


def parse_to(
    *args: Any, device: Any = None, dtype: Any = None, non_blocking: bool = False, copy: bool = False, memory_format: Any = None
) -> tuple[Any, Any, bool, bool, Any]:
    """device, dtype, non_blocking, copy and memory_format of a call of `to`. Raises DeviceError for a device other than the
    CPU."""
    flags = 0
    for given in args:
        if isinstance(given, Operators):
            dtype = given.dtype
        elif isinstance(given, bool):  # non_blocking, then copy
            non_blocking, copy = non_blocking or (given and not flags), copy or (given and flags > 0)
            flags += 1
        elif given is None or is_device(given) or isinstance(given, int):
            device = given
        else:
            dtype = given
    check_device(device)
    return device, dtype, non_blocking, copy, memory_format


def to(
    self: Any,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """This tensor in another dtype, on a device, or in the dtype of another tensor: `to(dtype)`, `to(device)`,
    `to(device, dtype)`, `to(other)`. Raises DeviceError for a device other than the CPU."""
    if len(args) == 1 and device is None and args[0].__class__ is DType:  # the usual call
        dtype = args[0]
    else:
        _, dtype, _, copy, _ = parse_to(*args, device=device, dtype=dtype, copy=copy)
    result = self if dtype is None else F.astype(self, dtype)
    if memory_format not in (None, "torch.preserve_format") and not result.is_contiguous(memory_format):
        return F.clone(result, memory_format=memory_format)
    return F.clone(result) if copy and result is self else result


@overload
def type_(self: Any, dtype: None = None, non_blocking: bool = False) -> str: ...
@overload
def type_(self: Any, dtype: Any, non_blocking: bool = False) -> Tensor: ...
def type_(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """This tensor in another dtype; without one, PyTorch's name of its kind: "torch.FloatTensor"."""
    return NAMES[self.dtype.name] if dtype is None else F.astype(self, dtype)


def type_as(self: Any, other: Any) -> Tensor:
    """This tensor in the dtype of another. Raises DTypeError for an object that is no tensor."""
    if not hasattr(other, "dtype"):
        raise DTypeError(f"type_as(): argument 'other' must be Tensor, not {other.__class__.__name__}", "use x.to(dtype)")
    return F.astype(self, other.dtype)


def _cast(name: str, dtype: np.dtype) -> Callable[[Any], Any]:
    def method(self: Any, memory_format: Any = None) -> Tensor:
        return self if self.dtype == dtype else F.astype(self, dtype)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"This tensor in {dtype}."
    return method


def chalf(self: Any, memory_format: Any = None) -> Tensor:
    """Raises DTypeError: there is no complex32."""
    raise DTypeError("chalf(): dtype complex32 is not supported", "use x.cfloat() or x.cdouble()")


def cpu(self: Any, memory_format: Any = None) -> Tensor:
    """This tensor: all tensors are in the CPU's memory."""
    result: Tensor = self
    return result


def cuda(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Raises DeviceError: tensors are in the CPU's memory."""
    check_device("cuda" if device is None else device)
    result: Tensor = self
    return result


def pin_memory(self: Any, device: Any = None) -> Tensor:
    """This tensor: memory is pinned for other devices."""
    result: Tensor = self
    return result


def get_device(self: Any) -> int:
    """-1, the number of the CPU."""
    return -1


def is_floating_point(self: Any) -> bool:
    """Whether the dtype is floating."""
    return bool(self.dtype.kind in FLOATING)


def is_complex(self: Any) -> bool:
    """Whether the dtype is complex."""
    return bool(self.dtype.kind == "c")


def _no(self: Any) -> bool:
    """False: tensors are dense, computed when they are written, and in the CPU's memory."""
    return False


def _yes(self: Any) -> bool:
    """True: all tensors are on the CPU."""
    return True


def _device(self: Any) -> Device:
    """Where the numbers are: the CPU."""
    return CPU


def _itemsize(self: Any) -> int:
    """Bytes of one element."""
    return int(self.dtype.itemsize)


def _nbytes(self: Any) -> int:
    """Bytes of all elements."""
    return int(self.dtype.itemsize * self.numel())


def _layout(self: Any) -> str:
    """`strided`, as of all tensors but sparse ones."""
    return "torch.strided"


def ndimension(self: Any) -> int:
    """The number of axes."""
    return len(self.shape)


def is_same_size(self: Any, other: Any) -> bool:
    """Whether both have the same shape."""
    if not isinstance(other, Operators):
        raise DTypeError(f"is_same_size(): expected a Tensor, got {type(other).__name__}")
    if None in self.shape or None in other.shape:
        raise ShapeError("is_same_size: extents are unknown", "give the placeholder known extents")
    return bool(self.shape == other.shape)


def is_signed(self: Any) -> bool:
    """Whether the dtype has negative numbers."""
    return bool(self.dtype.kind in "ifc")


def is_nonzero(self: Any) -> bool:
    """Whether the one element is not 0. Raises ShapeError for any other number of elements."""
    return bool(self)


def real(self: Any) -> Tensor:
    """The real parts; of real numbers, this tensor itself."""
    return F.real(self)


def imag(self: Any) -> Tensor:
    """The imaginary parts. Raises DTypeError for real numbers."""
    return F.imag(self)


def adjoint(self: Any) -> Tensor:
    """The last two axes swapped, and the conjugate."""
    return F.conj(F.swapaxes(self, -1, -2))


def transposed_conjugate(self: Any) -> Tensor:
    """The transpose of a matrix, and the conjugate."""
    return F.conj(F.t(self))


def element_count(self: Any) -> int:
    """The number of elements."""
    return int(self.numel())


def polygamma(self: Any, n: int) -> Tensor:
    """The n-th derivative of `digamma`."""
    return F.polygamma(n, self)


def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool = True) -> Tensor:
    """This tensor, in a dtype: tensors are dense."""
    return self if dtype is None else to(self, dtype)


def hardshrink(self: Any, lambd: float = 0.5) -> Tensor:
    """This tensor, with 0 within [-lambd, lambd]."""
    return F.where(F.abs(self) <= lambd, F.zeros_like(self), self)


def _without(name: str, instead: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **named: Any) -> Any:
        raise ArgumentError(f"{name}: memory here is that of NumPy's arrays", instead)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"Refused: {instead}. Raises ArgumentError."
    return method


setattr(Operators, "storage_type", _without("storage_type", "x.type() names the kind of tensor"))  # noqa: B010 - a checker has the stub's


CASTS = {**SHORT_NAMES, "byte": uint8, "char": int8, "bfloat16": bfloat16}
for _name, _dtype in CASTS.items():
    setattr(Operators, _name, _cast(_name, _dtype))
for _function in (
    to, type_as, cpu, cuda, pin_memory, get_device, is_floating_point, ndimension, is_same_size, is_signed,
    is_nonzero, is_complex, polygamma, hardshrink, to_dense, chalf,
):  # fmt: skip
    setattr(Operators, _function.__name__, _function)
for _name in ("is_pinned", "is_shared", "is_conj", "is_neg", "is_inference", "is_distributed"):
    setattr(Operators, _name, _no)
_members: dict[str, Any] = {
    "type": type_,
    "nelement": element_count,
    "device": property(_device),
    "H": property(transposed_conjugate),
    "mH": property(adjoint),
    "real": property(real),
    "imag": property(imag),
    "itemsize": property(_itemsize),
    "nbytes": property(_nbytes),
    "layout": property(_layout),
    "is_cpu": property(_yes),
}
for _name, _member in _members.items():
    setattr(Operators, _name, _member)
for _name in (
    "is_cuda",
    "is_sparse",
    "is_quantized",
    "is_meta",
    "is_mps",
    "is_xpu",
    "is_mkldnn",
    "is_nested",
    "is_sparse_csr",
    "is_vulkan",
    "is_xla",
    "is_ipu",
    "is_maia",
    "is_mtia",
):
    setattr(Operators, _name, property(_no))
