"""Locks that a child of fork() finds free, where threads of its parent held them: they don't exist in the child.

What such a thread was at is left as it stood: a run begins anew, the arrays that it was writing are what they were then.
"""

from __future__ import annotations

import _thread
import atexit
import os
import sys
import threading
from operator import attrgetter
from typing import Any
from weakref import WeakSet

if "free-threading" in sys.version:
    raise ImportError(
        "this is a free-threaded build of Python, and staticgrad's native code relies on the global interpreter lock: take the "
        "usual build"
    )

_locks: WeakSet[Any] = WeakSet()

Lock: Any = threading.Lock
RLock: Any = threading.RLock
if sys.version_info >= (3, 14):

    class RLock(_thread.RLock):
        """A lock that no exception of a signal handler leaves held. From Python 3.14 on, handlers run between the call that
        enters a `with` and its body: after a call of C's, as `acquire` is, and not after one of Python's."""

        def __enter__(self) -> bool:
            count = self._recursion_count()
            try:
                return self.acquire()
            except BaseException:
                if self._recursion_count() > count:
                    self.release()
                raise

    Lock = RLock


def lock() -> Any:
    """A lock. A thread does not ask again for one that it holds."""
    made = Lock()
    _locks.add(made)
    return made


def rlock() -> Any:
    """A lock that its thread may take again. The thread that forks goes on holding its own."""
    made = RLock()
    _locks.add(made)
    return made


class Condition(threading.Condition):
    """A condition of a lock of `rlock()`, and a `with` of it is one of the lock. The standard library's `__enter__` and
    `__exit__` are functions of Python's: an exception of a signal handler in them leaves the lock held."""

    __enter__ = property(attrgetter("_lock.__enter__"))
    __exit__ = property(attrgetter("_lock.__exit__"))

    def __init__(self) -> None:
        super().__init__(rlock())


def _child() -> None:
    for made in list(_locks):
        if not (hasattr(made, "_is_owned") and made._is_owned()):
            made._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_child)


# what a fork waits for ----------------------------------------------------------------------------------------------

unforked = RLock()
"""Held by work that must not be copied half-done, such as a compilation: LLVM has locks and tables of its own,
which no child could put in order. A fork waits until it is free."""
LONGEST = 10.0
"""Seconds that a fork waits, and the end of the process, which would destroy LLVM's tables under a daemon thread."""

atexit.register(lambda: unforked.acquire(timeout=LONGEST))
_waited = threading.local()


def _before() -> None:
    _waited.got = unforked.acquire(timeout=LONGEST)


def _after_in_parent() -> None:
    if _waited.got:
        unforked.release()


def _after_in_child() -> None:
    if _waited.got:
        unforked.release()
    else:
        unforked._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
