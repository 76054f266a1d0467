"""The memory of the process: pauses of Python's garbage collector, and what the C library keeps of what arrays have freed.

The collector pauses during traces, which tell new objects by its youngest generation, and during work whose many small objects
nearly all live on: modules, plans, LLVM code. It belongs to all threads, so it runs again once no thread pauses it. A child of
fork() has only the pauses of the thread that forked."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import get_ident

from .locks import rlock

_lock = rlock()
_pauses: Counter[int] = Counter()
"""Their number by thread."""
_enabled = True
"""Whether the collector ran before the first of these pauses."""


def pause() -> None:
    """No collections in any thread until this one calls `resume`."""
    global _enabled
    with _lock:
        if not _pauses:
            _enabled = gc.isenabled()
            gc.disable()
        _pauses[get_ident()] += 1


def resume(old: bool = False) -> None:
    """End the latest pause of this thread. old: no collection looks at what is there now until all objects are collected."""
    with _lock:
        _pauses[get_ident()] -= 1
        _end(old)


@contextmanager
def paused(old: bool = False) -> Iterator[None]:
    """No collections meanwhile. old: see `resume`."""
    pause()
    try:
        yield
    finally:
        resume(old)


def _end(old: bool = False) -> None:
    global _pauses
    _pauses = +_pauses
    if _pauses:
        return
    if old and not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()  # into the oldest generation
    if _enabled:
        gc.enable()


def _child() -> None:
    global _pauses
    if _pauses:
        _pauses = Counter({get_ident(): _pauses[get_ident()]})
        _end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_child)


# the end of the process ---------------------------------------------------------------------------------------------------


def _leave() -> None:
    """Leave nothing to the collections at the end of the process, which would look at each object of each module several times.

    They call `__del__` of objects in cycles. Where there are such objects, they find all that they would; files only have to be
    written out.
    """
    objects = gc.get_objects()
    kinds = [kind for kind in {*map(type, objects)} if hasattr(kind, "__del__") and kind.__name__ != "generator"]
    if gc.get_debug() or any(kind.__module__ != "_io" for kind in kinds):
        return
    for each in objects:
        if type(each) in kinds and not each.closed:
            with suppress(OSError, ValueError):
                each.flush()
    gc.freeze()


atexit.register(_leave)


# what the C library does with memory that arrays have freed ----------------------------------------------------------

# By default glibc gives it back to the system as soon as some megabytes at the end of the heap are free. An array that is made
# afterwards has new pages, and the system stops the program at each of them: a training step whose temporaries take 10 MB loses
# as much time by that as by its arithmetic. Here the heap keeps up to `KEPT` bytes.

TRIM, MAP = -1, -3
"""glibc's numbers of the settings M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""
KEPT = 1 << 27
"""Free bytes at the end of the heap from which it shrinks."""
MAPPED = 1 << 25
"""Bytes of arrays that are apart from the heap: glibc allows no more. It gives the memory of each back at once."""
CHOSEN = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
"""Environment variables by which users choose themselves."""


def keep() -> bool:
    """Keep freed memory in this process, unless its user has chosen. Returns whether the C library does so."""
    if any(name in os.environ for name in CHOSEN):
        return False
    with suppress(AttributeError, OSError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        return bool(mallopt(MAP, MAPPED) and mallopt(TRIM, KEPT))
    return False
