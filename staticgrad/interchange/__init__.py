"""Graphs, tensors and models in the formats of other libraries, and under their protocols."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import onnx as onnx
    from . import sklearn as sklearn

_LAZY = frozenset({"onnx", "sklearn"})
"""Parts that need a library which `import staticgrad` does not: each is imported when it is first named."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return importlib.import_module(f".{name}", __name__)
