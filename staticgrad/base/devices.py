"""Devices in PyTorch's words: all tensors are in the CPU's memory, so a device is a name that is checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar

from ..errors import ArgumentError, DeviceError
from .types import DTypeLike

Factory = TypeVar("Factory", bound=Callable[..., Any])

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


class Placement(TypedDict, total=False):
    """Where PyTorch lets a factory of tensors place its result. Checked; on the CPU they change nothing."""

    device: Any
    layout: Any
    out: Any
    pin_memory: bool


class LikePlacement(TypedDict, total=False):
    """The same of a factory that takes its shape from another tensor."""

    device: Any
    layout: Any
    memory_format: Any


class Kind(TypedDict, total=False):
    """What else a factory takes by keyword."""

    dtype: DTypeLike | None
    requires_grad: bool


class Options(Kind, Placement, total=False):
    """The keyword arguments of a factory that takes no more than extents or numbers by position."""


DEFAULTS = {"pin_memory": False, "requires_grad": False}
"""Of options that are not None by default."""


def factory(record: type) -> Callable[[Factory], Factory]:
    """Give a function whose last parameter is `**options: Unpack[record]` a signature that lists the options."""
    kinds = {name: getattr(kind, "__forward_arg__", kind) for name, kind in record.__annotations__.items()}

    def described(function: Factory) -> Factory:
        signature = inspect.signature(function)
        own = list(signature.parameters.values())[:-1]
        named = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=DEFAULTS.get(name), annotation=kind)
            for name, kind in kinds.items()
        ]
        function.__signature__ = signature.replace(parameters=[*own, *named])  # type: ignore[attr-defined]
        return function

    return described


def check_options(function: str, options: Mapping[str, Any], record: type) -> None:
    """Raises TypeError for an option that the record doesn't have, and DeviceError or ArgumentError for one that only other
    devices, layouts, or memory given from outside would make sense of."""
    for name, value in options.items():
        if name not in record.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        if value is None:
            continue
        if name == "device":
            check_device(value)
        elif name == "out":
            refuse_out(function)
        elif name == "layout" and str(value) not in ("strided", "torch.strided"):
            raise ArgumentError(f"{function}: layout has to be strided, got {value!r}")


def refuse_out(function: str) -> None:
    """Raises ArgumentError: results are new tensors, in every mode."""
    raise ArgumentError(
        f"{function}: out= is not supported: a result is a new tensor", f"write out.copy_({function}(...)), or use the result"
    )
