"""`sg.cuda`: PyTorch's questions about GPUs, answered. There are none here."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from ..base.devices import check_device
from . import amp as any_amp
from .lookup.modules import refusing


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


class Stream(_GpuTensor):
    """Raises DeviceError: there is no GPU."""


class Event(_GpuTensor):
    """Raises DeviceError: there is no GPU. `time.perf_counter()` measures time."""


class device:
    """A context that changes nothing; None and negative numbers are no GPU. Raises DeviceError for a GPU."""

    def __init__(self, device: Any):
        if device is not None and not (isinstance(device, int) and device < 0):
            set_device(device)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


class stream(device):
    """A context that changes nothing. Raises DeviceError for a stream, which there can't be."""


class autocast(any_amp.autocast):
    """`sg.amp.autocast("cuda")`: it warns where it is enabled, and changes nothing."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True):
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(any_amp.GradScaler):
    """`sg.amp.GradScaler("cuda")`: it warns where it is enabled, and scales nothing."""

    def __init__(
        self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ):  # fmt: skip
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


custom_fwd = functools.partial(any_amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(any_amp.custom_bwd, device_type="cuda")


def is_available() -> bool:
    """False: all tensors are in the CPU's memory."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


is_current_stream_capturing = is_initialized


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing: there are no generators of GPUs."""


manual_seed_all = manual_seed


def empty_cache() -> None:
    """Nothing: no memory of a GPU is kept or shared."""


ipc_collect = empty_cache


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


def get_device_properties(device: Any = None) -> Any:
    """Raises DeviceError: there is no GPU."""
    check_device("cuda")


get_device_capability = current_stream = mem_get_info = get_device_properties


def memory_summary(device: Any = None, abbreviated: bool = False) -> Any:
    """Raises DeviceError: there is no GPU."""
    check_device("cuda")


def get_rng_state(device: Any = "cuda") -> Any:
    """Raises DeviceError: there is no GPU. `sg.get_rng_state()` is that of the CPU."""
    check_device("cuda")


def get_rng_state_all() -> list[Any]:
    """Empty."""
    return []


get_arch_list = get_rng_state_all


def set_rng_state_all(new_states: Any) -> None:
    """Nothing: there are no generators of GPUs."""


def seed() -> None:
    """Nothing: there are no generators of GPUs."""


seed_all = seed


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Empty."""
    return {}


def reset_max_memory_allocated(device: Any = None) -> None:
    """Nothing."""


reset_max_memory_cached = reset_peak_memory_stats = reset_max_memory_allocated


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


memory_reserved = max_memory_allocated = max_memory_reserved = memory_allocated


amp = ModuleType("staticgrad.cuda.amp", "Mixed precision as PyTorch spells it for GPUs.")
vars(amp).update(autocast=autocast, GradScaler=GradScaler, custom_fwd=custom_fwd, custom_bwd=custom_bwd)

__all__ = [
    "BoolTensor", "ByteTensor", "DoubleTensor", "Event", "FloatTensor", "IntTensor", "LongTensor", "Stream", "amp",
    "current_device", "current_stream", "device", "device_count", "empty_cache", "get_arch_list", "get_device_capability",
    "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all", "ipc_collect", "is_available",
    "is_bf16_supported", "is_current_stream_capturing", "is_initialized", "manual_seed", "manual_seed_all",
    "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved", "memory_stats",
    "memory_summary", "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_memory_stats", "seed", "seed_all",
    "set_device", "set_rng_state_all", "stream", "synchronize",
]  # fmt: skip
__getattr__ = refusing("staticgrad.cuda", __all__)
