"""What eager mode knows of calls, by signature: in one table of each thread, and in one of the process.

A thread's table has what the thread counts, and the plans that have taken over in it: which call a plan takes over must not
depend on other threads. What anybody has made, routes and plans, is in the table of the process. Further caches hold one call
of one place, such as the last one of a function, and decline others.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

from ...base.tables import Bounded

OF_THREAD = 4096
"""Entries of a thread."""
OF_PROCESS = 8192
"""Entries of the process."""
BYTES = 1 << 30
"""Memory of the plans in a table. It is the same on every machine, for it decides which calls a plan computes."""


class CallCache(Bounded[Any]):
    """A table whose entries may hold memory, `nbytes` of it: once there are `most`, or once they hold `room` bytes, those go
    that were used least recently, as in `Bounded`."""

    __slots__ = ("dropped", "held", "misses", "room")

    def __init__(self, most: int, room: int = BYTES):
        super().__init__(most)
        self.room = room
        self.held = 0
        """Bytes of the younger generation."""
        self.misses = self.dropped = 0

    def __missing__(self, key: Hashable) -> Any:
        value = super().__missing__(key)
        self.misses += value is None
        return value

    def __setitem__(self, key: Hashable, value: Any) -> None:
        size = getattr(value, "nbytes", 0)
        if size:
            if self and self.held + size > self.room:
                self.age()
            self.held += size
        super().__setitem__(key, value)

    def age(self) -> None:
        """See `Bounded.age`."""
        self.dropped += len(self.older)
        self.held = 0
        super().age()


shared = CallCache(OF_PROCESS)
"""The table of the process."""
by_numpy = CallCache(OF_PROCESS)
"""The same of plans that NumPy runs."""

runs: Counter[Hashable] | None = None
"""How often each plan and route ran, by the function that runs it, while somebody asks; see `report.py`."""


def counted(run: Callable[..., Any]) -> Callable[..., Any]:
    """The function that runs a plan or route, or one that also counts its runs: those with a result other than None."""
    if runs is None:
        return run
    count = runs

    @functools.wraps(run)
    def counting(*operands: Any) -> Any:
        found = run(*operands)
        count[counting] += found is not None
        return found

    return counting
