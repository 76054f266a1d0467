"""Which watcher a trace gets."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ..frames import places, readable
from ..settings import watcher_setting
from .portable_watcher import PortableWatcher
from .state_watcher import StateWatcher
from .trace_observer import TraceObserver


def is_strict() -> bool:
    """Whether the next trace sees Python's instructions. Raises ImportError where it has to, and can't."""
    setting = watcher_setting()
    if setting == "strict":
        places()
        return True
    return setting == "auto" and sys.gettrace() is None and readable()


def watcher(name: str, roots: Iterable[tuple[str, Any]]) -> StateWatcher:
    """The watcher of one trace. roots: (label, object) that the function is given."""
    return TraceObserver(name, roots) if is_strict() else PortableWatcher(name, roots)
