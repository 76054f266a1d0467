"""ONNX files: `sg.onnx.load` reads a model as a module, `sg.onnx.export` writes functions, modules and graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...base.interpreter import need
from ...namespaces.lookup.modules import refusing

if TYPE_CHECKING:
    from .exporting import export
    from .model import OnnxModule
    from .records import UnwrittenError


def is_in_onnx_export() -> bool:
    """False: a model is exported from its graph, not by running it in another way.

    Examples:
        >>> sg.onnx.is_in_onnx_export()
        False
    """
    return False


def load(source: Any, *, trainable: bool | Callable[[str], bool] = True) -> OnnxModule:
    """An ONNX model as a module.

    source: a path, the bytes of a file, or a `ModelProto`. trainable: whether floating initializers are
    parameters, or a function of their names that says so. Raises
    GraphError for a file that is no model, and for sparse initializers; DTypeError for dtypes that tensors don't have here. An
    op that is not supported is reported when the model is called.
    """
    need("onnx", "onnx")
    from .model import OnnxModule

    return OnnxModule(source, trainable=trainable)


__all__ = ["OnnxModule", "UnwrittenError", "export", "is_in_onnx_export", "load"]

if not TYPE_CHECKING:
    _LAZY = {"OnnxModule": f"{__name__}.model", "UnwrittenError": f"{__name__}.records", "export": f"{__name__}.exporting"}
    _other = refusing(__name__, __all__, lazy=_LAZY)

    def __getattr__(name: str) -> Any:
        if name in _LAZY:
            need("onnx", "onnx")
        return _other(name)
