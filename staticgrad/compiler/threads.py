"""One pool of threads: how many a plan may use, and BLAS held at one thread while a plan runs.

GNU OpenMP does not survive fork(): a child uses the serial driver.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from ..errors import ArgumentError

_forked = False
_count: int | None = None


def _child() -> None:
    global _forked
    _forked = True


os.register_at_fork(after_in_child=_child)


def get_num_threads() -> int:
    """Threads that a plan may use: the CPUs this process may run on, unless set."""
    if _count is not None:
        return _count
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(n: int) -> None:
    """Set the number of threads for plans made from now on; 1 is the serial driver. Raises ArgumentError below 1."""
    global _count
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ArgumentError(f"the number of threads is an integer >= 1, got {n!r}")
    _count = n


def usable() -> bool:
    """Whether this process may start OpenMP threads."""
    return not _forked


class _Hold:
    lock = threading.Lock()
    holders = 0
    before = 1


@cache
def _blas() -> Any:
    """SciPy's own OpenBLAS, whose address the plans use; None where SciPy was built with another BLAS."""
    import scipy.linalg.cython_blas  # noqa: F401
    import threadpoolctl

    for library in threadpoolctl.ThreadpoolController().lib_controllers:
        if library.user_api == "blas" and "scipy" in os.path.basename(os.path.dirname(library.filepath)):
            return library
    return None


@contextmanager
def one_blas_thread(wanted: bool) -> Iterator[None]:
    """Hold SciPy's BLAS at one thread; NumPy's copy is not touched."""
    library = _blas() if wanted else None
    if library is None:
        yield
        return
    with _Hold.lock:
        if _Hold.holders == 0:
            _Hold.before = library.get_num_threads()
            library.set_num_threads(1)
        _Hold.holders += 1
    try:
        yield
    finally:
        with _Hold.lock:
            _Hold.holders -= 1
            if _Hold.holders == 0:
                library.set_num_threads(_Hold.before)
