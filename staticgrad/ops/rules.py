"""Parts that op records share: shape inference, promotion and broadcasting of cotangents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import HALF
from ..base.types import TensorType, bool_, broadcast_shapes, float32, int64, promote, to_float
from ..errors import DTypeError
from ..ir import REGISTRY, Node, OpDef, OverComplex, Pointwise, Range, define
from .operators import (
    NOBODY,
    NONE,
    ORDINARY,
    Cached,
    Tensor,
    TensorLike,
    apply,
    as_it_is,
    enter_as,
    frontends,
    numpy_twin,
    routed,
    spelled,
    taken,
    with_example,
)

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


def check_halves(operands: Sequence[Any]) -> None:
    """Raises DTypeError for operands of a product that are floats of 16 bits of two kinds, as PyTorch does."""
    halves = [x.dtype for x in operands if isinstance(x, TensorType) and x.dtype in HALF]
    if len({*halves}) > 1:
        raise DTypeError(f"expected m1 and m2 to have the same dtype, but got: {halves[0]} != {halves[-1]}", "cast one of them")


def of_products(operands: Sequence[Any]) -> list[np.dtype]:
    """As `numeric`, for products of matrices. Raises DTypeError."""
    check_halves(operands)
    return numeric(operands)


def counted(operands: Sequence[Any]) -> list[np.dtype]:
    """As `arithmetic`, where booleans become int64."""
    dtype = promote(operands)
    return [int64 if dtype == bool_ else dtype] * len(operands)


def floating(operands: Sequence[Any]) -> list[np.dtype]:
    """All operands take the promoted dtype, or the default float when that is not floating."""
    return [to_float(promote(operands))] * len(operands)


def scaling(promotion: Callable[..., list[np.dtype]]) -> Callable[..., list[np.dtype]]:
    """A promotion by which a number that scales floats of 16 bits, or a tensor without axes, is not rounded to them, as in
    PyTorch."""

    def dtypes(operands: Sequence[Any]) -> list[np.dtype]:
        found = promotion(operands)
        other = operands[1]
        if found[1] in HALF and not (isinstance(other, TensorType) and (other.shape or other.dtype in HALF)):
            found[1] = float32
        return found

    return dtypes


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


# names of derivatives -------------------------------------------------------------------------------------------


def rank_at(node: Any, position: int) -> int:
    """How many axes an operand of a node, or of a record of the tape, has."""
    operand = node.inputs[position]
    return (operand.type if isinstance(node, Node) else operand).ndim


def over_axes(whole: str, along: str) -> Callable[[Any], str]:
    """PyTorch's names of the derivative of a reduction: of all elements, and along axes."""
    return lambda node: whole if len(node.attrs["axis"]) == rank_at(node, 0) and not node.attrs["keepdims"] else along


def by_number(name: str) -> Callable[[Any], str]:
    """PyTorch's names of the derivative of an operation whose second operand is a number, and of two tensors."""
    return lambda node: f"{name}Backward{int(rank_at(node, 1) > 0)}"


# functions of a record ------------------------------------------------------------------------------------------


def unary(op: OpDef) -> Callable[..., Tensor]:
    """The op as a public function of one operand."""

    def function(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
        if input.__class__ not in ORDINARY and (answer := taken(function, (input,), {})) is not NOBODY:
            return answer
        if out is not None:
            return frontends.into(out, op.name, function, (input,))
        return frontends.eager(op, (input,), {})

    _name(function, op)
    return function


def binary(op: OpDef) -> Callable[..., Tensor]:
    """The op as a public function of two operands."""

    def function(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        if (input.__class__ not in ORDINARY or other.__class__ not in ORDINARY) and (
            answer := taken(function, (input, other), {})
        ) is not NOBODY:
            return answer
        if out is not None:
            return frontends.into(out, op.name, function, (input, other))
        return frontends.eager(op, (input, other), {})

    _name(function, op)
    return function


def elementwise_op(
    name: str, numpy: Callable[..., Any], vjp: Any = None, *, doc: str, scalar: str | Callable[..., Any] | None = "",
    cost: int = 1, error: tuple[float, float] | None = None, promote: Any = floating,
    infer: Callable[..., TensorType] = elementwise, symbol: str = "", bilinear: bool = False, linear: tuple[int, ...] = (),
    arity: int = 0, names: tuple[str, ...] | None = None, method: bool = True, inplace: bool = True,
    twins: tuple[Callable[..., Any], ...] = (), backward: str | Callable[[Any], str] = "",
    batch: Callable[..., Any] | None = None, complex: OverComplex | None = None, example: str = "",
    words: Mapping[str, str] = NONE, cached: Cached = as_it_is,
) -> OpDef:  # fmt: skip
    """The record of an elementwise op, and everything public that follows from it.

    numpy: its meaning. vjp: the cotangent function of its operand, or a tuple of one for each; None: it has no gradient.
    scalar: the scalar operation of kernels, see `ir.Pointwise`: a name ("": that of the op) or a composition of others;
    None: the host computes it. cost, error, linear, bilinear: see `ir.Pointwise`. names: those of the public function
    ("special.erf": in `staticgrad.special` alone), by default the op's. method, inplace: it is a method of tensors, also with
    "_" at its end. twins: functions of NumPy that reach it, besides `numpy` itself where that is a ufunc. backward: PyTorch's
    name of its derivative, where that does not follow from `name`. batch: the batching rule, where that does not follow.
    complex: how it computes with complex numbers, where that does not follow; see `ops/over_complex.py`. example: "call ->
    result", for the docstring. words: names of the operands beside `input` and `other`. cached: see
    `ops/operators/cached_calls.py`; calls of functions of one operand take routes.
    """
    doc = with_example(doc, example) if example else doc
    vjps = (vjp,) if callable(vjp) else vjp
    emit = None if scalar is None else Pointwise(scalar or name, cost, bilinear, linear, error)
    op = define(

            name, infer, numpy, vjps, emit, promote, symbol, doc, fails=False, backward=backward, batch=batch, complex=complex,
            memory="operands",
        )  # fmt: skip
    operands = arity or (len(vjps) if vjps else getattr(numpy, "nin", 1))
    function = cached(routed(unary(op)) if operands == 1 else binary(op))
    if words:
        function = spelled(function, words)
    for public_name in (name,) if names is None else names:
        enter_as(public_name, function, method=method, inplace=inplace)
    if names != ():
        numpy_twin(*twins, *([numpy] if isinstance(numpy, np.ufunc) else []))(function)
    return op


def _name(function: Any, op: OpDef) -> None:
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.doc
