"""Parts that op records share: shape inference, promotion and broadcasting of cotangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..devices import refuse_out
from ..errors import DTypeError
from ..ir import REGISTRY, OpDef, Range
from ..operators import Tensor, TensorLike, apply, frontends
from ..types import TensorType, bool_, broadcast_shapes, promote, to_float

Rule = Callable[..., Any]

# promotion -------------------------------------------------------------------------------------------------------


def arithmetic(operands: Sequence[Any]) -> list[np.dtype]:
    """All operands take the promoted dtype."""
    return [promote(operands)] * len(operands)


def numeric(operands: Sequence[Any]) -> list[np.dtype]:
    """As `arithmetic`; booleans have no arithmetic of their own."""
    dtype = promote(operands)
    if dtype == bool_:
        raise DTypeError("booleans have no arithmetic", "cast first: x.astype(sg.float32)")
    return [dtype] * len(operands)


def floating(operands: Sequence[Any]) -> list[np.dtype]:
    """All operands take the promoted dtype, or the default float when that is not floating."""
    return [to_float(promote(operands))] * len(operands)


def boolean(operands: Sequence[Any]) -> list[np.dtype]:
    return [bool_] * len(operands)


keep = None
"""Tensors keep their dtype, scalars take their own: the default promotion of ops."""


def first_boolean(operands: Sequence[Any]) -> list[np.dtype]:
    """A condition, and values promoted among themselves."""
    return [bool_] + [promote(operands[1:])] * (len(operands) - 1)


# inference ------------------------------------------------------------------------------------------------------


def elementwise(*types: TensorType) -> TensorType:
    """Broadcast shape, dtype of the last operand (they were promoted to one, but for a condition in front)."""
    return TensorType(broadcast_shapes(*[t.shape for t in types]), types[-1].dtype)


def compared(*types: TensorType) -> TensorType:
    return TensorType(broadcast_shapes(*[t.shape for t in types]), bool_)


def joint(*ranges: Range) -> Range:
    """The union of integer ranges."""
    known = [r for r in ranges if r is not None]
    return (min(r[0] for r in known), max(r[1] for r in known)) if known and len(known) == len(ranges) else None


# cotangents -----------------------------------------------------------------------------------------------------


def unbroadcast(g: Any, x: Any) -> Any:
    """Sum a cotangent of a broadcast result back to the operand's shape."""
    shape = g.shape
    if shape == x.shape and None not in shape:
        return g
    return apply(REGISTRY["sum_to"], g, x)


# functions of a record ------------------------------------------------------------------------------------------


def unary(op: OpDef) -> Callable[..., Any]:
    """The op as a public function of one operand."""

    def function(input: TensorLike, *, out: None = None) -> Tensor:
        if out is not None:
            refuse_out(op.name)
        return frontends.eager(op, (input,), {})

    _name(function, op)
    return function


def binary(op: OpDef) -> Callable[..., Any]:
    """The op as a public function of two operands."""

    def function(input: TensorLike, other: TensorLike, *, out: None = None) -> Tensor:
        if out is not None:
            refuse_out(op.name)
        return frontends.eager(op, (input, other), {})

    _name(function, op)
    return function


def _name(function: Any, op: OpDef) -> None:
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.doc
