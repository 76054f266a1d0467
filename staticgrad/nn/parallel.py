"""A module over several GPUs, of which there are none: it runs on the CPU, as in PyTorch without GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.devices import check_device
from ..errors import ArgumentError
from .module import Module


class DataParallel(Module):
    """Calls `module`. Names of parameters begin with "module.". Raises DeviceError for GPUs that are asked for."""

    def __init__(self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0):
        super().__init__()
        if device_ids:
            check_device("cuda")
        check_device(output_device)
        self.module = module
        self.dim = dim
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module returns."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module, inputs: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """`module(*inputs)`. Raises DeviceError for GPUs that are asked for."""
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*given, **(module_kwargs or {}))


class DistributedDataParallel(Module):
    """Raises ArgumentError: there is one process. `sg.distributed.is_initialized()`, which is False, is asked before it."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any):
        raise ArgumentError("DistributedDataParallel: there is one process", "train the module itself")


__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
