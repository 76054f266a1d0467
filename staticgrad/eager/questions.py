"""PyTorch's questions about tensors and dtypes, and defaults, at its top level."""

from __future__ import annotations

from typing import Any

from ..base.devices import device as Device
from ..base.dtypes import as_dtype, public
from ..base.dtypes import dtype as Dtype
from ..base.types import category, set_default_dtype
from ..base.types import get_default_dtype as default_dtype
from ..ops.operands import promoted
from ..ops.operators import autocasting, set_default, state
from .conversion import is_tensor
from .creation import empty
from .storage import UntypedStorage
from .tensor import Tensor

__all__ = [
    "can_cast", "compiled_with_cxx11_abi", "detach", "get_default_device", "get_default_dtype", "get_device",
    "is_anomaly_check_nan_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled", "is_complex", "is_conj",
    "is_distributed", "is_floating_point", "is_inference", "is_neg", "is_nonzero", "is_same_size", "is_signed", "is_storage",
    "numel", "promote_types", "result_type", "set_default_device", "set_default_tensor_type", "typename",
]  # fmt: skip


def is_floating_point(input: Any) -> bool:
    """Whether a tensor's dtype is floating."""
    return bool(input.dtype.kind == "f")


def is_complex(input: Any) -> bool:
    """Whether a tensor's dtype is complex."""
    return bool(input.dtype.kind == "c")


def is_nonzero(input: Any) -> bool:
    """Whether the one element of a tensor is not 0. Raises ShapeError for any other number of elements."""
    return bool(input)


def numel(input: Any) -> int:
    """The number of elements.

    Examples:
        >>> sg.numel(sg.zeros(2, 3))
        6
    """
    return int(input.numel())


def get_default_dtype() -> Dtype:
    """The floating dtype that Python floats and `int / int` take: float32 unless set.

    Examples:
        >>> sg.get_default_dtype()
        torch.float32
    """
    return public(default_dtype())


def result_type(tensor1: Any, tensor2: Any) -> Dtype:
    """The dtype that two operands take together.

    Examples:
        >>> sg.result_type(sg.tensor([1]), sg.tensor([1.0]))
        torch.float32
    """
    return public(promoted(tensor1, tensor2))


def promote_types(type1: Any, type2: Any) -> Dtype:
    """The dtype that tensors of two dtypes take together."""
    return public(promoted(empty((1,), dtype=type1), empty((1,), dtype=type2)))


def can_cast(from_: Any, to: Any) -> bool:
    """Whether PyTorch's conversions allow it: not from floats to integers, nor from anything but booleans to booleans."""
    return category(as_dtype(from_)) <= category(as_dtype(to))


def is_signed(input: Any) -> bool:
    """Whether numbers of the dtype have a sign."""
    return bool(input.dtype.kind in "ifc")


def is_inference(input: Any) -> bool:
    """Whether a tensor was made inside `inference_mode`."""
    return bool(input.is_inference())


def is_storage(obj: Any) -> bool:
    """Whether it is the memory of a tensor, as `x.untyped_storage()` gives it."""
    return isinstance(obj, UntypedStorage)


def is_conj(input: Any) -> bool:
    """False: a conjugate is computed when it is written."""
    return False


def is_neg(input: Any) -> bool:
    """False: a negation is computed when it is written."""
    return False


def get_device(input: Any) -> int:
    """-1, the number of the CPU."""
    return -1


def detach(input: Any) -> Tensor:
    """The same value, through which no gradient flows.

    Examples:
        >>> w = sg.ones(1, requires_grad=True)
        >>> sg.detach(w).requires_grad
        False
    """
    return input.detach()


def typename(obj: Any) -> str:
    """PyTorch's name of a tensor's kind, "torch.FloatTensor"; of other objects the name of their class."""
    return str(obj.type()) if is_tensor(obj) else f"{type(obj).__module__}.{type(obj).__qualname__}"


def is_same_size(input: Any, other: Any) -> bool:
    """Whether both have the same shape."""
    return bool(input.shape == other.shape)


def get_default_device() -> Device:
    """Where functions make tensors: the CPU, unless `set_default_device` or the context of a device says meta."""
    return Device("cpu" if state.on_meta is None else "meta")


def set_default_device(device: Any) -> None:
    """Let functions that make tensors make them there, in this thread. Raises DeviceError for a device but the CPU and meta."""
    set_default(device)


def is_autocast_enabled(device_type: str = "cpu") -> bool:
    """Whether `autocast` is on, for the CPU."""
    return device_type == "cpu" and autocasting()


def is_autocast_cpu_enabled() -> bool:
    """Whether `autocast` is on."""
    return autocasting()


def is_anomaly_check_nan_enabled() -> bool:
    """Whether `detect_anomaly` looks for NaN: always, when it is on."""
    return True


def is_distributed(input: Any) -> bool:
    """False: there is one process."""
    return False


def compiled_with_cxx11_abi() -> bool:
    """True: there is no other."""
    return True


def set_default_tensor_type(t: Any) -> None:
    """Set the default floating dtype by the name or class of its tensors."""
    set_default_dtype(as_dtype(t))
