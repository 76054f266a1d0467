"""`sg.cuda`: PyTorch's questions about GPUs, answered. There are none here."""

from __future__ import annotations

from typing import Any

from .devices import check_device


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


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


__all__ = [
    "current_device", "device_count", "empty_cache", "get_device_name", "is_available", "is_initialized", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "memory_allocated", "set_device", "synchronize",
]  # fmt: skip
