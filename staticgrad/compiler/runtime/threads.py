"""The number of threads of plans, and BLAS limited to one thread while a plan runs.

A child of fork() has no workers: plans that it inherits run all chunks in one thread, and plans that it makes start new
workers.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np

from ...base.interpreter import rlock
from ...errors import ArgumentError

_lock = rlock()
_count: int | None = None


class _Planned(threading.local):
    count: int | None = None


_planned = _Planned()


def get_num_threads() -> int:
    """Threads that a plan may use: the CPUs this process may run on, unless set.

    Examples:
        >>> sg.get_num_threads() >= 1
        True
    """
    if _planned.count is not None:
        return _planned.count
    if _count is not None:
        return _count
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(n: int) -> None:
    """Set the number of threads for plans made from now on; 1 is the serial driver. Raises ArgumentError below 1.

    Examples:
        >>> sg.set_num_threads(sg.get_num_threads())
    """
    global _count
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ArgumentError(f"the number of threads is an integer >= 1, got {n!r}")
    _count = n


@contextmanager
def planned(n: int) -> Iterator[None]:
    """Within it, plans that this thread makes are for n threads, whatever is set and whichever CPUs there are meanwhile."""
    before, _planned.count = _planned.count, n
    try:
        yield
    finally:
        _planned.count = before


def blas_hold() -> np.ndarray | None:
    """The words of `_blas_hold`, one array for all threads."""
    with _lock:
        return _blas_hold()


@cache
def _blas_hold() -> np.ndarray | None:
    """The words by which the driver limits SciPy's OpenBLAS to one thread: (holders, number of threads before, addresses of
    the functions that get and set it, a lock around these calls).

    None where SciPy was built with another BLAS, which keeps its own threads.
    """
    from ..backend.blas_symbols import thread_functions

    functions = thread_functions()
    if functions is None:
        return None
    addresses = [ctypes.cast(f, ctypes.c_void_p).value for f in functions]
    made = np.array([0, functions[0](), *addresses, 0], np.int64)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=partial(_hold_calls, made),
            after_in_parent=partial(_let_call, made),
            after_in_child=partial(_free, made, functions[1]),
        )
    return made


def _hold_calls(hold: np.ndarray) -> None:
    """Before a fork: wait until no thread sets the number of threads, which takes a lock of BLAS that a child couldn't
    free."""
    from .loader import hold_calls

    hold_calls(hold.ctypes.data)


def _let_call(hold: np.ndarray) -> None:
    hold[4] = 0


def _free(hold: np.ndarray, set_threads: Callable[[int], Any]) -> None:
    """After a fork: the holders are threads that the child does not have."""
    if hold[0]:
        set_threads(int(hold[1]))
    hold[[0, 4]] = 0
