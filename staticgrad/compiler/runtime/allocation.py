"""Memory for new arrays. Where it is short, the spare arrays that plans keep are released first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import numpy as np

from ...errors import OutOfMemoryError

keepers: WeakSet[Any] = WeakSet()
"""Objects whose `pools` are lists of object arrays that hold spare arrays."""


def give_up_spare() -> None:
    """Release the spare arrays of all plans."""
    for keeper in list(keepers):
        for pool in keeper.pools:
            pool[:] = None


def room(make: Callable[[], list[np.ndarray]], *texts: str) -> list[np.ndarray]:
    """The new arrays of `make`. Raises OutOfMemoryError with these texts where there is no memory, spare arrays included."""
    for last in (False, True):
        try:
            return make()
        except (MemoryError, ValueError):  # ValueError: the size exceeds the address space
            if last:
                raise OutOfMemoryError(*texts) from None
        give_up_spare()
    raise AssertionError
