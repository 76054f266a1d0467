"""`x[mask]` for a mask whose values a trace doesn't know: elements whose number is unknown, but not their places in x.

Elementwise operations with numbers, and with values that are the same for all places of the mask, are exact on all of x:
outside of the mask the operands are a number inside the operation's domain, so that no error or gradient comes from there. The
result can be written back to the mask's places, summed, or averaged. Everything else needs the number of elements, and raises
the error that `x[mask]` raises in a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NoReturn

import numpy as np

from ..base.types import bool_, category
from ..errors import ArgumentError, DTypeError
from ..ir import Node, OpDef, Pointwise
from ..operators import F, Symbol
from ..ops.rules import compared, elementwise


class Selection(Symbol):
    """The elements of `full` where `mask` holds, along its first axes. chosen: the mask's node when it was read."""

    __slots__ = ("chosen", "error", "full", "mask")

    def __init__(self, full: Symbol, mask: Symbol, chosen: Node, error: ArgumentError):
        self.full: Any = full
        self.mask = mask
        self.chosen = chosen
        self.error = error

    def refuse(self) -> NoReturn:
        """Raises DataDependentError at the line of `x[mask]`."""
        raise self.error.with_traceback(None)

    @property
    def shape(self) -> Any:  # type: ignore[override]
        self.refuse()

    node = graph = shape

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        return self.full.dtype

    def sum(self, *args: Any, **named: Any) -> Any:
        """The sum of all elements. Raises DataDependentError for one along an axis."""
        if args or named:
            self.refuse()
        return F.sum(F.where(self.mask, self.full, np.zeros((), self.dtype)))

    def mean(self, *args: Any, **named: Any) -> Any:
        """The mean of all elements, nan for none. Raises DataDependentError for one along an axis."""
        if args or named:
            self.refuse()
        count = F.sum(F.broadcast_to(F.astype(self.mask, self.dtype), self.full.shape))
        return self.sum() / count

    def operand(self) -> Node:
        self.refuse()

    def __repr__(self) -> str:
        self.refuse()

    def _filled(self, value: Any, number: float = 1) -> Any:
        return F.where(self.mask, value, np.asarray(number, value.dtype))

    def other(self, value: Any, number: float = 1) -> Any:
        """An operand of an operation of elements, in x's shape."""
        if isinstance(value, (int, float)):
            return value
        if isinstance(value, Selection):
            if not same_value(value.chosen, self.chosen):
                self.refuse()
            return self._filled(value.full, number)
        shape = getattr(value, "shape", None)
        if shape is None or getattr(value, "dtype", None) != self.full.dtype:
            self.refuse()
        extra = len(shape) - (len(self.full.shape) - self.chosen.type.ndim)
        if extra > 0:
            if extra > 1 or shape[0] != 1:
                self.refuse()
            value = F.reshape(value, shape[1:])
        return self._filled(value, number)

    def written_to(self, x: Any, mask: Any) -> Any:
        """x with these elements in the places of a mask. Raises ArgumentError for another mask, or another shape than x's."""
        if not same_value(mask.node, self.chosen) or tuple(x.shape) != tuple(self.full.shape):
            self.refuse()
        if category(self.full.dtype) > category(x.dtype):
            raise DTypeError(f"setitem: {self.full.dtype} values can't be written to a {x.dtype} tensor", "cast one of them")
        return F.where(self.mask, F.astype(self.full, x.dtype), x)

    def apply(self, function: Callable[[Any, Any], Any], other: Any, reflected: bool) -> Any:
        """A value of x's shape that is the operation's result where the mask holds."""
        operands = self._filled(self.full), self.other(other)
        result: Any = function(*(operands[::-1] if reflected else operands))
        if result.shape != self.full.shape:
            self.refuse()
        return result


def _operation(name: str, reflected: bool = False) -> Callable[[Selection, Any], Selection]:
    def method(self: Selection, other: Any) -> Selection:
        result = self.apply(getattr(F, name), other, reflected)
        return Selection(result, self.mask, self.chosen, self.error)

    return method


def _inplace(name: str) -> Callable[[Selection, Any], Selection]:
    def method(self: Selection, other: Any) -> Selection:
        result = self.apply(getattr(F, name), other, False)
        self.full = F.astype(result, self.full.dtype) if result.dtype.kind == self.full.dtype.kind else result
        return self

    return method


for _name, _operator in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("div", "truediv"), ("pow", "pow")):
    setattr(Selection, f"__{_operator}__", _operation(_name))
    setattr(Selection, f"__r{_operator}__", _operation(_name, reflected=True))
    setattr(Selection, f"__i{_operator}__", _inplace(_name))


def same_value(a: Node, b: Node, depth: int = 6) -> bool:
    """Whether two nodes are the same computation: a mask may be written out twice."""
    if a is b:
        return True
    if depth == 0 or a.op is not b.op or a.op.leaf not in ("", "constant") or len(a.inputs) != len(b.inputs):
        return False
    try:
        equal = bool(a.attrs == b.attrs)
    except ValueError:  # an attribute is an array
        return False
    return equal and all(same_value(x, y, depth - 1) for x, y in zip(a.inputs, b.inputs, strict=True))


def apply_to_elements(op: OpDef, args: Sequence[Any], attrs: Mapping[str, Any], apply: Callable[..., Any]) -> Any:
    """An elementwise operation of elements. apply: the operation on all of x. Raises ArgumentError for other operations."""
    first = next(a for a in args if isinstance(a, Selection))
    if not (isinstance(op.emit, Pointwise) or op.infer in (elementwise, compared)):
        first.refuse()
    number = _inner_number(op, len(args), tuple(attrs.items())) if first.dtype.kind == "f" else 1
    result = apply(op, [first.other(a, number) for a in args], attrs)
    if tuple(result.shape) != tuple(first.full.shape):
        first.refuse()
    return Selection(result, first.mask, first.chosen, first.error)


@cache
def _inner_number(op: OpDef, count: int, attrs: tuple[Any, ...]) -> float:
    """A number around which an operation and its derivatives are finite."""
    for number in (1.0, 0.5, 2.0):
        near = number * np.array([1 - 1e-3, 1, 1 + 1e-3])
        with np.errstate(all="ignore"):
            try:
                values = op.eval(*[near] * count, **dict(attrs))
            except Exception:  # an operand of another dtype
                return number
        if np.isfinite(values).all():
            return number
    return 1.0


def is_unknown_mask(key: Any) -> bool:
    """Whether an index is a mask whose values the trace doesn't know."""
    return isinstance(key, Symbol) and not isinstance(key, Selection) and key.dtype == bool_


def select(x: Any, mask: Any) -> Any:
    """`x[mask]` of a traced mask. Raises ArgumentError for a mask of another shape."""
    try:
        return F.getitem(x, mask)
    except ArgumentError as error:
        lead = len(mask.shape)
        if not lead or tuple(mask.shape) != tuple(x.shape[:lead]):
            raise
        refusal = error.with_traceback(None)
    x.tracer.selects = True
    return Selection(x.clone(), widened(mask.clone(), x.shape), mask.node, refusal)


def widened(mask: Any, shape: Any) -> Any:
    """A mask of the first axes of a shape, with axes of extent 1 for the others."""
    missing = len(shape) - len(mask.shape)
    return F.reshape(mask, (*mask.shape, *(1,) * missing)) if missing else mask
