"""Constraints on the attributes of op records: the vocabulary of `OpDef.attrs`.

Everything that an op's meaning, its layout rules or its kernels take for granted is stated here, because it is not checked
again: a graph may come from a file, or node by node from a program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..base.dtypes import ANY_DTYPE, SUPPORTED
from ..base.types import FLOATING, StackType, TensorType, TupleType
from ..ir import Attribute, Literal, Subgraph

INT64 = 2**63
LARGE = 2**31
"""Settings of windows are below this: places are sums and products of two of them, in 64 bits."""
LONGEST = 200
"""Characters of a text."""


def whole(value: Any, low: int = -INT64, high: int = INT64) -> bool:
    """Whether it is a plain integer in [low, high)."""
    return value.__class__ is int and low <= value < high


def integer(low: int, high: int = INT64) -> Attribute:
    ends = f"of at least {low}" if high == INT64 else f"in [{low}, {high})"
    return Attribute(f"an integer {ends}", lambda value, types: whole(value, low, high))


def _ndim(types: Sequence[TensorType], operand: int) -> int:
    return types[operand].ndim if operand < len(types) else 0


def _next(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The same axes where there is one more in front."""
    return tuple([a + 1 for a in axes])


def axis_of(operand: int) -> Attribute:
    return Attribute(
        f"an axis of operand {operand}, counted from 0",
        lambda value, types: whole(value, 0, _ndim(types, operand)),
        shifted=lambda axis: axis + 1,
    )


def _ascending(value: Any, below: int) -> bool:
    return value.__class__ is tuple and all(whole(a, 0, below) for a in value) and all(a < b for a, b in pairwise(value))


def axes_of(operand: int) -> Attribute:
    return Attribute(
        f"axes of operand {operand}, counted from 0 and ascending",
        lambda value, types: _ascending(value, _ndim(types, operand)),
        shifted=_next,
    )


one_axis = Attribute(
    "one axis of operand 0, in a tuple",
    lambda value, types: _ascending(value, _ndim(types, 0)) and len(value) == 1,
    shifted=_next,
)
new_axes = Attribute(
    "axes of the result, counted from 0 and ascending",
    lambda value, types: value.__class__ is tuple and _ascending(value, _ndim(types, 0) + len(value)),
    shifted=_next,
)
order = Attribute(
    "an order of the axes of operand 0",
    lambda value, types: (
        value.__class__ is tuple and all(whole(a) for a in value) and sorted(value) == list(range(_ndim(types, 0)))
    ),
    shifted=lambda axes: (0, *_next(axes)),
)
flag = Attribute("True or False", lambda value, types: value.__class__ is bool)
text = Attribute(
    f"a text of at most {LONGEST} characters",
    lambda value, types: value.__class__ is str and len(value) <= LONGEST,
    optional=True,
)
dtype = Attribute("a dtype", lambda value, types: isinstance(value, ANY_DTYPE) and value in SUPPORTED)
floating_dtype = Attribute(
    "a floating dtype", lambda value, types: isinstance(value, ANY_DTYPE) and value in SUPPORTED and value.kind in FLOATING
)
positive = Attribute(
    "a finite number above 0",
    lambda value, types: value.__class__ is float and math.isfinite(value) and value > 0,
    numeric=True,
)
rate = Attribute("a number from 0 to below 1", lambda value, types: value.__class__ is float and 0 <= value < 1, numeric=True)
number = Attribute("a number", lambda value, types: value.__class__ is float, numeric=True)
literal = Attribute(
    "a constant array",
    lambda value, types: isinstance(value, Literal) and value.array.dtype in SUPPORTED,
)


def is_shape(value: Any, *, unknown: bool = False) -> bool:
    return value.__class__ is tuple and all((d is None and unknown) or whole(d, 0) for d in value)


shape = Attribute("a tuple of extents", lambda value, types: is_shape(value))
open_shape = Attribute("a tuple of extents or None", lambda value, types: is_shape(value, unknown=True))
drawn_shape = Attribute(
    "a tuple of extents, or None where an operand has them",
    lambda value, types: value is None or is_shape(value, unknown=True),
)
new_shape = Attribute(
    "a tuple of extents, of which one may be -1",
    lambda value, types: value.__class__ is tuple and all(whole(d, -1) for d in value) and value.count(-1) <= 1,
)


def is_type(value: Any) -> bool:
    """Whether this is the type of a tensor, a stack or several results."""
    if isinstance(value, TupleType):
        return all(map(is_type, value.parts))
    if isinstance(value, StackType):
        return is_type(value.item)
    return isinstance(value, TensorType) and value.dtype in SUPPORTED and is_shape(value.shape, unknown=True)


tensor_type = Attribute("a type", lambda value, types: is_type(value))


def _is_slice(value: Any) -> bool:
    if whole(value):
        return True
    if value.__class__ is not tuple or len(value) != 3:
        return False
    start, stop, step = value
    return all(v is None or whole(v) for v in (start, stop)) and whole(step) and step != 0


def slices_of(operand: int) -> Attribute:
    return Attribute(
        f"at most one integer or (start, stop, step) for each axis of operand {operand}",
        lambda value, types: value.__class__ is tuple and len(value) <= _ndim(types, operand) and all(map(_is_slice, value)),
        shifted=lambda slices: ((None, None, 1), *slices),
    )


def _is_pair(value: Any, low: int) -> bool:
    return value.__class__ is tuple and len(value) == 2 and all(whole(v, low, LARGE) for v in value)


def pair(low: int) -> Attribute:
    return Attribute(f"two integers in [{low}, 2**31)", lambda value, types: _is_pair(value, low))


paddings = Attribute(
    "(before, after) for each of two axes, integers in [0, 2**31)",
    lambda value, types: value.__class__ is tuple and len(value) == 2 and all(_is_pair(v, 0) for v in value),
)


def _is_rule(value: Any) -> bool:
    if value.__class__ is not tuple or not value:
        return False
    if value[0] == "bins":
        return len(value) == 2 and (value[1] is None or whole(value[1], 0, LARGE))
    if value[0] != "step" or len(value) != 6:
        return False
    _, kernel, stride, padding, *flags = value
    fits = whole(kernel, 1, LARGE) and whole(stride, 1, LARGE) and whole(padding, 0, LARGE)
    return fits and 2 * padding <= kernel and all(f.__class__ is bool for f in flags)


window_rule = Attribute(
    '("bins", count) or ("step", kernel, stride, padding up to half of it, two flags)', lambda value, types: _is_rule(value)
)
body = Attribute("a subgraph", lambda value, types: isinstance(value, Subgraph))
body_or_none = Attribute("a subgraph or None", lambda value, types: value is None or isinstance(value, Subgraph))
length = Attribute("a number of iterations or None", lambda value, types: value is None or whole(value, 0))
result_index = Attribute(
    "the number of a result of operand 0, a loop or branch",
    lambda value, types: isinstance(types[0], TupleType) and whole(value, 0, len(types[0].parts)),
)
