"""`sg.distributed`: PyTorch's questions about processes that train together, answered. There is one process here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .base.module_paths import refusing
from .errors import DeviceError

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """False: a program trains in one process."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


ONE = "there is one process: ask is_available() and is_initialized(), which are False, before"
SEVERAL = (
    "all_gather", "all_reduce", "barrier", "broadcast", "destroy_process_group", "gather", "get_rank", "get_world_size",
    "init_process_group", "new_group", "recv", "reduce", "reduce_scatter", "scatter", "send",
)  # fmt: skip
"""Functions that need several processes. Programs import them and call them where there are some, so calls are refused."""


def _refused(name: str) -> Callable[..., NoReturn]:
    def call(*args: Any, **named: Any) -> NoReturn:
        raise DeviceError(f"distributed.{name}: {ONE}")

    call.__name__ = call.__qualname__ = name
    return call


_refuse = refusing(__name__, [*__all__, *SEVERAL], {})


def __getattr__(name: str) -> Any:
    return _refused(name) if name in SEVERAL else _refuse(name)
