"""Objects that take over eager operations: a tracer, a run in segments, or the marks of eager random numbers."""

from __future__ import annotations

import weakref
from typing import Any

from ..base.locks import rlock
from .dispatch import frontends

_count = rlock()  # a garbage collection may end an interceptor anywhere
"""Held while `frontends.tracing` is changed."""
_active: weakref.WeakSet[Any] = weakref.WeakSet()
"""Those that `frontends.tracing` counts. One that a signal handler left here is collected with its trace."""


def begin(interceptor: Any) -> None:
    """From now on the short paths of eager operations ask who takes over, until `end`."""
    with _count:
        _active.add(interceptor)
        frontends.tracing = len(_active)


def end(interceptor: Any) -> None:
    """The counterpart of `begin`."""
    with _count:
        _active.discard(interceptor)
        frontends.tracing = len(_active)
