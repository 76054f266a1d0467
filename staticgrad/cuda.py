"""`sg.cuda`: PyTorch's questions about GPUs, answered. There are none here."""

from __future__ import annotations

from typing import Any

from . import amp
from .devices import check_device


class _GpuTensor:
    """A class of tensors in a GPU's memory. Calls raise DeviceError."""

    def __new__(cls, *args: Any) -> Any:
        check_device("cuda")


class FloatTensor(_GpuTensor):
    """Raises DeviceError: there is no GPU."""


class DoubleTensor(_GpuTensor):
    """Raises DeviceError: there is no GPU."""


class LongTensor(_GpuTensor):
    """Raises DeviceError: there is no GPU."""


class IntTensor(_GpuTensor):
    """Raises DeviceError: there is no GPU."""


class ByteTensor(_GpuTensor):
    """Raises DeviceError: there is no GPU."""


class BoolTensor(_GpuTensor):
    """Raises DeviceError: there is no GPU."""


def is_available() -> bool:
    """False: all tensors are in the CPU's memory."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing: there are no generators of GPUs."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there are no generators of GPUs."""


def empty_cache() -> None:
    """Nothing: there is no cache of a GPU's memory."""


def synchronize(device: Any = None) -> None:
    """Nothing: results are there when a function returns."""


def current_device() -> int:
    """Raises DeviceError: there is no GPU."""
    check_device("cuda")
    return 0


def set_device(device: Any) -> None:
    """Raises DeviceError: there is no GPU."""
    check_device("cuda" if isinstance(device, int) else device)


def get_device_name(device: Any = None) -> str:
    """Raises DeviceError: there is no GPU."""
    check_device("cuda")
    return ""


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def memory_reserved(device: Any = None) -> int:
    """0."""
    return 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing."""


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


__all__ = [
    "BoolTensor", "ByteTensor", "DoubleTensor", "FloatTensor", "IntTensor", "LongTensor", "amp", "current_device",
    "device_count", "empty_cache", "get_device_name", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "memory_allocated", "memory_reserved", "reset_peak_memory_stats", "set_device",
    "synchronize",
]  # fmt: skip
