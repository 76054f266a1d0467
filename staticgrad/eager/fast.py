"""The short path of elementwise operations: float32 and float64 tensors, and plain numbers beside them.

What it does is what `dispatch.run` does for the same operands; everything else goes there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import user_line
from ..ir import NO_ATTRS, REGISTRY
from ..operators import F, frontends
from .dispatch import FLOATS, ndarray
from .modes import modes
from .tape import Record
from .tensor import Tensor, new, wrap

BINARY = {
    "add": "__add__", "sub": "__sub__", "mul": "__mul__", "div": "__truediv__", "matmul": "__matmul__",
    "eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__",
    "maximum": "maximum", "minimum": "minimum",
}  # fmt: skip
REFLECTED = {"add": "__radd__", "sub": "__rsub__", "mul": "__rmul__", "div": "__rtruediv__"}
UNARY = ("exp", "log", "log1p", "expm1", "sqrt", "square", "sin", "cos", "tanh", "sigmoid", "relu", "erf", "sign")
UNARY_OPERATORS = {"neg": "__neg__", "abs": "__abs__"}

NUMBERS = frozenset({float, int})


def binary(name: str, *, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """The op of a tensor and a tensor of the same floating dtype, or a plain number."""
    op, general = REGISTRY[name], getattr(F, name)
    ufunc, differentiable, elementwise = op.eval, op.vjp is not None, name != "matmul"

    def method(self: Tensor, other: Any) -> Any:
        first = self._data
        dtype = first.dtype
        if frontends.tracing or dtype not in FLOATS:
            return general(other, self) if reflected else general(self, other)
        if isinstance(other, Tensor):
            if other._data.dtype is not dtype or not (elementwise or first.ndim == 2 == other._data.ndim):
                return general(other, self) if reflected else general(self, other)
        elif other.__class__ in NUMBERS and elementwise:
            try:
                other = wrap(modes.quiet(np.array, other, dtype))
            except OverflowError:
                return general(self, other)  # says so
        else:
            return general(other, self) if reflected else general(self, other)
        x, y = (other, self) if reflected else (self, other)
        try:
            data = modes.quiet(ufunc, x._data, y._data)
        except ValueError:
            return general(x, y)  # raises the error that names shapes and line
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        out = new(Tensor)
        out._data = data
        out._base = None
        if differentiable and (x._tracked or y._tracked) and modes.grad:
            out._tracked = True
            out._record = record = Record(op, (x, y), NO_ATTRS, data)
            if modes.anomaly:
                record.where = user_line()
        else:
            out._tracked = False
            out._record = None
        return out

    method.__name__, method.__doc__ = name, general.__doc__
    return method


def unary(name: str) -> Callable[[Any], Any]:
    """The op of a floating tensor."""
    op, general = REGISTRY[name], getattr(F, name)
    function = op.eval

    def method(self: Tensor) -> Any:
        x = self._data
        if frontends.tracing or x.dtype not in FLOATS:
            return general(self)
        data = modes.quiet(function, x)
        if data.__class__ is not ndarray:
            data = np.asarray(data)
        out = new(Tensor)
        out._data = data
        out._base = None
        if self._tracked and modes.grad:
            out._tracked = True
            out._record = record = Record(op, (self,), NO_ATTRS, data)
            if modes.anomaly:
                record.where = user_line()
        else:
            out._tracked = False
            out._record = None
        return out

    method.__name__, method.__doc__ = name, general.__doc__
    return method


for _name, _dunder in BINARY.items():
    _function = binary(_name)
    setattr(Tensor, _dunder, _function)
    setattr(Tensor, _name, _function)
for _name, _dunder in REFLECTED.items():
    setattr(Tensor, _dunder, binary(_name, reflected=True))
for _name in (*UNARY, *UNARY_OPERATORS):
    _function = unary(_name)
    setattr(Tensor, _name, _function)
    setattr(Tensor, UNARY_OPERATORS.get(_name, _name), _function)
