"""Devices, and switches of the runtime, in PyTorch's words.

All tensors are in the CPU's memory, so a device is a name that is checked. Of the switches of determinism, precision, warnings
and threads most have one position here."""

from __future__ import annotations

import ctypes
import functools
import platform
import sys
from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError, DeviceError
from .interpreter import module

KINDS = ("cpu", "cuda", "mps", "xpu", "meta", "hpu", "xla", "mtia", "vulkan", "ipu")
"""The names that PyTorch's `device` takes; tensors can only be on the first."""


class device:
    """A device by its name, `device("cpu")`, `device("cuda:0")` or `device("cuda", 0)`.

    Any name of PyTorch's can be made and compared; tensors with values are on the CPU alone, and those of device "meta" have
    none (DeviceError for other devices). In its context, and in a function that it decorates, functions that make tensors make
    them there. Raises ArgumentError for an unknown name.

    Examples:
        >>> with sg.device("meta"):
        ...     model = sg.nn.Linear(3, 4)
        >>> model.weight
        Parameter containing:
        tensor(..., device='meta', size=(4, 3), requires_grad=True)
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
        module("staticgrad.ops.operators.lifted").enter(self)
        return self

    def __exit__(self, *error: object) -> None:
        module("staticgrad.ops.operators.lifted").leave()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            with self:
                return function(*args, **named)

        return call

    def __reduce__(self) -> Any:
        return device, (str(self),)


Device = device
"""The class, where a property hides its name."""
CPU = device("cpu")


def is_device(value: Any) -> bool:
    """Whether this names a device of PyTorch's: `device(...)`, "cpu", "cuda:0"."""
    return isinstance(value, device) or (isinstance(value, str) and value.partition(":")[0] in KINDS)


def is_meta(value: Any) -> bool:
    """Whether this names the device of tensors without values."""
    return value is not None and value is not CPU and is_device(value) and device(value).type == "meta"


def check_device(value: Any) -> None:
    """Raises DeviceError for a device other than the CPU, ArgumentError for a value that is no device. None is the CPU."""
    if value is None or value is CPU:
        return
    found = device(value)
    if found.type == "meta":
        raise DeviceError(
            "device 'meta' is taken by functions that make tensors, by layers, and by `to` and `to_empty`",
            'make it on the CPU, and write x.to("meta")',
        )
    if found.type != "cpu":
        raise DeviceError(
            f"Torch not compiled with {found.type.upper()} enabled: staticgrad computes on the CPU, device {str(found)!r} "
            "does not exist",
            'use device("cpu"), or device("cuda" if cuda.is_available() else "cpu")',
        )


# PyTorch's switches of the runtime -----------------------------------------------------------------------------------

# Of determinism, precision, warnings and threads. Here most have one position.


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Nothing: results are the same from run to run for one number of threads."""


def are_deterministic_algorithms_enabled() -> bool:
    """True: results are the same from run to run for one number of threads."""
    return True


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """False: there is nothing to warn about, see `are_deterministic_algorithms_enabled`."""
    return False


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Nothing, see `use_deterministic_algorithms`."""


def get_deterministic_debug_mode() -> int:
    """2, which stands for deterministic algorithms alone."""
    return 2


def set_float32_matmul_precision(precision: str) -> None:
    """Nothing: products of float32 matrices are taken in float32."""


def get_float32_matmul_precision() -> str:
    """ "highest": products of float32 matrices are taken in float32."""
    return "highest"


class _FloatingPoint(ctypes.Structure):
    """C's `fenv_t` of x86-64: the environment of the older unit, and MXCSR, that of vectors."""

    _fields_ = (("x87", ctypes.c_uint32 * 7), ("mxcsr", ctypes.c_uint32))


_SUBNORMAL_IS_ZERO = 0x8040
"""Bits of MXCSR: subnormal results, and subnormal operands, are 0. Source: Intel's manual, volume 1, 10.2.3."""


def set_flush_denormal(mode: bool) -> bool:
    """Whether subnormal numbers, those below the smallest normal one (1.2e-38 in float32), are taken for 0, where the CPU can.

    It holds for operations of this thread and for the threads that help it, in all modes; the threads of BLAS keep subnormal
    numbers. Intel's CPUs take many times as long for an instruction that meets one. Returns whether the CPU can: x86-64 under
    Linux.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    library, now = ctypes.CDLL(None), _FloatingPoint()
    library.fegetenv(ctypes.byref(now))
    now.mxcsr = now.mxcsr | _SUBNORMAL_IS_ZERO if mode else now.mxcsr & ~_SUBNORMAL_IS_ZERO
    library.fesetenv(ctypes.byref(now))
    return True


def get_num_interop_threads() -> int:
    """1: operations run one after another, each on the threads of `get_num_threads`."""
    return 1


def set_num_interop_threads(num: int) -> None:
    """Nothing, see `get_num_interop_threads`."""


_warnings = {"always": False}


def set_warn_always(b: bool) -> None:
    """Keep what `is_warn_always_enabled` returns. How often a warning appears is decided by Python's filters."""
    _warnings["always"] = bool(b)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was given last; False at first."""
    return _warnings["always"]
