"""Pauses of Python's garbage collector: of traces, which tell new objects by its youngest generation, and of work whose many
small objects nearly all live on: modules, plans, LLVM code.

The collector belongs to all threads, so it runs again once no thread pauses it. A child of fork() has only the pauses of the
thread that forked.
"""

from __future__ import annotations

import atexit
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
