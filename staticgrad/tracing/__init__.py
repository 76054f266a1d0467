"""`@sg.compile`: eager code traced once with symbols, compiled whole, run natively.

The tracer is imported with the first of these names: `nn` and `optim` use small modules of this room in eager programs, too.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .function import CompiledFunction, compile
    from .printing import print

__all__ = ["CompiledFunction", "compile", "print"]
_PLACES = {"CompiledFunction": ".function", "compile": ".function", "print": ".printing"}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_PLACES[name], __name__), name)
    return value
