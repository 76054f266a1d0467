"""Memory for new arrays; where it is short, the arrays that plans keep to use them again are given up first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import numpy as np

from ...errors import OutOfMemoryError

keepers: WeakSet[Any] = WeakSet()
"""Objects whose `pools` are lists of object arrays, in which spare arrays are."""


def give_up_spare() -> None:
    """Forget the arrays that plans keep to use them again."""
    for keeper in list(keepers):
        for pool in keeper.pools:
            pool[:] = None


def room(make: Callable[[], list[np.ndarray]], *texts: str) -> list[np.ndarray]:
    """New arrays. Raises OutOfMemoryError with these texts where there is no memory, even without the spare arrays."""
    for last in (False, True):
        try:
            return make()
        except (MemoryError, ValueError):  # ValueError: of more than there are addresses
            if last:
                raise OutOfMemoryError(*texts) from None
        give_up_spare()
    raise AssertionError
