"""Devices in PyTorch's words: all tensors are in the CPU's memory, so a device is a name that is checked."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError, DeviceError

KINDS = ("cpu", "cuda", "mps", "xpu", "meta", "hpu", "xla", "mtia", "vulkan", "ipu")
"""The names that PyTorch's `device` takes; tensors can only be on the first."""


class device:
    """A device by its name, `device("cpu")`, `device("cuda:0")` or `device("cuda", 0)`.

    Any name of PyTorch's can be made and compared; a tensor on anything but the CPU is refused (DeviceError). Raises
    ArgumentError for an unknown name.
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: Any = "cpu", index: int | None = None):
        if isinstance(type, device):
            type, index = type.type, type.index if index is None else index
        if isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise ArgumentError(f"device: expected a name or a number, got {type!r}", 'use device("cpu")')
        name, _, number = type.partition(":")
        if name not in KINDS or (number and not number.isdecimal()):
            raise ArgumentError(
                f"Expected one of {', '.join(KINDS)} device type at start of device string: {type}", 'use device("cpu")'
            )
        self.type, self.index = name, int(number) if number else index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type={self.type!r}" + (")" if self.index is None else f", index={self.index})")

    def __enter__(self) -> device:
        check_device(self)
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __reduce__(self) -> Any:
        return device, (str(self),)


Device = device
"""The class, where a property hides its name."""
CPU = device("cpu")


def is_device(value: Any) -> bool:
    """Whether this names a device of PyTorch's: `device(...)`, "cpu", "cuda:0"."""
    return isinstance(value, device) or (isinstance(value, str) and value.partition(":")[0] in KINDS)


def check_device(value: Any) -> None:
    """Raises DeviceError for a device other than the CPU, ArgumentError for what is none. None is the CPU."""
    if value is None or value is CPU:
        return
    found = device(value)
    if found.type != "cpu":
        raise DeviceError(
            f"Torch not compiled with {found.type.upper()} enabled: staticgrad computes on the CPU, device {str(found)!r} "
            "does not exist",
            'use device("cpu"), or device("cuda" if cuda.is_available() else "cpu")',
        )
