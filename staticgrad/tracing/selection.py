"""`x[mask]` for a mask whose values a trace doesn't know.

Elementwise operations with numbers, and with values that are the same for all places of the mask, are exact on all of x:
outside of the mask the operands are a number inside the operation's domain, so that no error or gradient comes from there. The
result can be written back to the mask's places, summed, or averaged, and has known extents. All other operations get the
elements themselves, whose number the run decides (`ops/sized.py`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FrameType
from typing import Any

import numpy as np

from ..base.types import bool_, category
from ..eager.inplace_methods import METHODS
from ..errors import DataDependentError, DTypeError
from ..ir import Node, OpDef, Pointwise
from ..operators import F, Symbol, apply
from ..ops.rules import compared, elementwise
from ..ops.sized import positions_op
from .observer.python_types import IGNORED, origin_of

DEBUGGERS = ("bdb.py", "pydevd.py", "pydevd_frame.py")


def asked_by_code() -> bool:
    """Whether the user's code asks for a text, and no debugger in it."""
    frame: FrameType | None = sys._getframe(2)
    if frame is None or origin_of(frame.f_code.co_filename) is IGNORED:
        return False
    while frame is not None and os.path.basename(frame.f_code.co_filename) not in DEBUGGERS:
        frame = frame.f_back
    return frame is None


def no_extent(x: Symbol) -> DataDependentError:
    """The error for code that asks for an extent which is known in the run only."""
    return DataDependentError(
        f"an extent of {x.describe()} depends on values: Python can't have it before the compiled function runs",
        "average with mean(), or compute what needs the number outside",
    )


class Apart(Exception):
    """An operation is not exact on all of x."""


class Selection(Symbol):
    """The elements of `full` where `mask` holds, along its first axes. chosen: the mask's node when it was read."""

    __slots__ = ("chosen", "elements", "first", "full", "mask")

    def __init__(self, full: Symbol, mask: Symbol, chosen: Node):
        self.full: Any = full
        self.mask: Any = mask
        self.chosen = chosen
        self.elements: Any = None
        self.first: Node | None = None
        """The node of the elements when they were taken."""

    def taken(self) -> Any:
        """The elements one after another."""
        if self.elements is None:
            lead, shape = self.chosen.type.ndim, self.full.shape
            mask = F.reshape(self.mask, shape[:lead])
            self.elements = F.take(F.reshape(self.full, (-1, *shape[lead:])), apply(positions_op, mask), 0)
            self.first = self.elements.node
        return self.elements

    @property
    def whole(self) -> bool:
        """Whether `full` has their values: no change in place came in between."""
        return self.elements is None or self.elements.node is self.first

    @property
    def shape(self) -> Any:  # type: ignore[override]
        if asked_by_code():
            raise no_extent(self.taken())
        return self.taken().shape

    @property
    def size(self) -> Any:
        if asked_by_code():
            raise no_extent(self.taken())
        return self.taken().size

    @property
    def node(self) -> Node:  # type: ignore[override]
        node: Node = self.taken().node
        return node

    @property
    def graph(self) -> Any:  # type: ignore[override]
        return self.full.graph

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.taken(), name)

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        return self.full.dtype

    def sum(self, *args: Any, **named: Any) -> Any:
        """The sum of all elements, or along an axis."""
        if args or named or not self.whole:
            return self.taken().sum(*args, **named)
        return F.sum(F.where(self.mask, self.full, np.zeros((), self.dtype)))

    def mean(self, *args: Any, **named: Any) -> Any:
        """The mean of all elements, nan for none, or along an axis."""
        if args or named or not self.whole:
            return self.taken().mean(*args, **named)
        count = F.sum(F.broadcast_to(F.astype(self.mask, self.dtype), self.full.shape))
        return self.sum() / count

    def operand(self) -> Node:
        return self.node

    def _filled(self, value: Any, number: float = 1) -> Any:
        return F.where(self.mask, value, np.asarray(number, value.dtype))

    def other(self, value: Any, number: float = 1) -> Any:
        """An operand of an operation of elements, in x's shape."""
        if isinstance(value, (int, float)):
            return value
        if isinstance(value, Selection):
            if not value.whole or not same_value(value.chosen, self.chosen):
                raise Apart
            return self._filled(value.full, number)
        shape = getattr(value, "shape", None)
        if shape is None or getattr(value, "dtype", None) != self.full.dtype:
            raise Apart
        extra = len(shape) - (len(self.full.shape) - self.chosen.type.ndim)
        if extra > 0:
            if extra > 1 or shape[0] != 1:
                raise Apart
            value = F.reshape(value, shape[1:])
        return self._filled(value, number)

    def written_to(self, x: Any, mask: Any) -> Any:
        """x with these elements in the places of a mask; None for another mask, or another shape than x's."""
        if not self.whole or not same_value(mask.node, self.chosen) or tuple(x.shape) != tuple(self.full.shape):
            return None
        if category(self.full.dtype) > category(x.dtype):
            raise DTypeError(f"setitem: {self.full.dtype} values can't be written to a {x.dtype} tensor", "cast one of them")
        return F.where(self.mask, F.astype(self.full, x.dtype), x)

    def apply(self, function: Callable[[Any, Any], Any], other: Any, reflected: bool) -> Any:
        """A value of x's shape that is the operation's result where the mask holds. Raises Apart where that is none."""
        if not self.whole:
            raise Apart
        operands = self._filled(self.full), self.other(other)
        result: Any = function(*(operands[::-1] if reflected else operands))
        if result.shape != self.full.shape:
            raise Apart
        return result


def _operation(name: str, reflected: bool = False) -> Callable[[Selection, Any], Any]:
    def method(self: Selection, other: Any) -> Any:
        function = getattr(F, name)
        try:
            return Selection(self.apply(function, other, reflected), self.mask, self.chosen)
        except Apart:
            operands = self.taken(), other
            return function(*(operands[::-1] if reflected else operands))

    return method


def _inplace(name: str, method_name: str) -> Callable[[Selection, Any], Selection]:
    def method(self: Selection, other: Any) -> Selection:
        if self.elements is None:
            try:
                result = self.apply(getattr(F, name), other, False)
            except Apart:
                result = None
        if self.elements is not None or result is None:
            getattr(self.taken(), method_name)(other)
            return self
        self.full = F.astype(result, self.full.dtype) if result.dtype.kind == self.full.dtype.kind else result
        return self

    return method


def _of_elements(name: str) -> property:
    return property(lambda self: getattr(self.taken(), name))


for _name in (*METHODS, "requires_grad", "is_leaf", "grad_fn", "grad", "data", "retains_grad", "is_view", "detach", "backward"):
    setattr(Selection, _name, _of_elements(_name))
for _name, _operator in (("add", "add"), ("sub", "sub"), ("mul", "mul"), ("div", "truediv"), ("pow", "pow")):
    setattr(Selection, f"__{_operator}__", _operation(_name))
    setattr(Selection, f"__r{_operator}__", _operation(_name, reflected=True))
    setattr(Selection, f"__i{_operator}__", _inplace(_name, f"__i{_operator}__"))


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
    """An elementwise operation of elements; None for another one. apply: the operation on all of x."""
    first = next(a for a in args if isinstance(a, Selection))
    if not first.whole or not (isinstance(op.emit, Pointwise) or op.infer in (elementwise, compared)):
        return None
    number = _inner_number(op, len(args), tuple(attrs.items())) if first.dtype.kind == "f" else 1
    try:
        result = apply(op, [first.other(a, number) for a in args], attrs)
    except Apart:
        return None
    if tuple(result.shape) != tuple(first.full.shape):
        return None
    return Selection(result, first.mask, first.chosen)


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
    """`x[mask]` of a traced mask. Raises IndexRangeError for a mask of another shape."""
    lead = len(mask.shape)
    if not lead or tuple(mask.shape) != tuple(x.shape[:lead]):
        return F.getitem(x, mask)
    x.tracer.selects = True
    return Selection(x.clone(), widened(mask.clone(), x.shape), mask.node)


def widened(mask: Any, shape: Any) -> Any:
    """A mask of the first axes of a shape, with axes of extent 1 for the others."""
    missing = len(shape) - len(mask.shape)
    return F.reshape(mask, (*mask.shape, *(1,) * missing)) if missing else mask
