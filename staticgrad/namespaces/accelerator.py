"""`sg.accelerator`: PyTorch's questions about the machine's accelerator, answered. There is none here."""

from __future__ import annotations

from typing import Any

from ..base.devices import check_device


def is_available() -> bool:
    """False: all tensors are in the CPU's memory."""
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """None: there is no accelerator."""


def current_device_index() -> int:
    """Raises DeviceError: there is no accelerator."""
    check_device("cuda")
    return 0


def set_device_index(device: Any) -> None:
    """Raises DeviceError: there is no accelerator."""
    check_device("cuda")


def synchronize(device: Any = None) -> None:
    """Nothing: results are there when a function returns."""


__all__ = [
    "current_accelerator", "current_device_index", "device_count", "is_available", "set_device_index", "synchronize",
]  # fmt: skip
