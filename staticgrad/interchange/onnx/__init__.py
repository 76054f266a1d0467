"""ONNX files: `sg.onnx.load` reads a model as a module, `sg.onnx.export` writes functions, modules and graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.libraries import need

need("onnx", "onnx")

from .exporting import export  # noqa: E402 - these need the library
from .model import OnnxModule  # noqa: E402
from .writing import UnwrittenError  # noqa: E402


def load(source: Any, *, trainable: bool | Callable[[str], bool] = True) -> OnnxModule:
    """An ONNX model as a module.

    source: a path, the bytes of a file, or a `ModelProto`. trainable: whether floating initializers are
    parameters, or a function of their names that says so. Raises
    GraphError for a file that is no model, and for sparse initializers; DTypeError for dtypes that tensors don't have here. An
    op that is not supported is reported when the model is called.
    """
    return OnnxModule(source, trainable=trainable)


__all__ = ["OnnxModule", "UnwrittenError", "export", "load"]
