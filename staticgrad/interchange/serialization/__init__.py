"""Any nesting of state in a file, and back: `sg.save` and `sg.load`."""

from typing import Any

from .files import load, save

__all__ = ["load", "save"]
SAFE = "add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"


def __getattr__(name: str) -> Any:
    if name in SAFE:
        from . import torch_archive  # only for files of PyTorch's

        return getattr(torch_archive, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
