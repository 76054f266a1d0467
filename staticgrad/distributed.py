"""`sg.distributed`: PyTorch's questions about processes that train together, answered. There is one process here."""

from __future__ import annotations

from .missing import refusing

__all__ = ["is_available", "is_initialized"]


def is_available() -> bool:
    """False: a program trains in one process."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


ONE = "there is one process: ask is_available() and is_initialized(), which are False, before"
REPLACED = dict.fromkeys(
    ("all_gather", "all_reduce", "barrier", "broadcast", "destroy_process_group", "gather", "get_rank", "get_world_size",
     "init_process_group", "new_group", "recv", "reduce", "reduce_scatter", "scatter", "send"), ONE,
)  # fmt: skip
"""Names that need several processes."""

__getattr__ = refusing(__name__, __all__, REPLACED)
