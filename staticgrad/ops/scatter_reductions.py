"""Values that are combined at positions along one axis: sums, products, maxima, minima, the last one; and their gradients.

Each value is read once, and so is each place: no table of places by values is made. The gradient of a product multiplies, for
each value, those before it at its place and those after it, so nothing is divided by, and zeros need no rule of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.dtypes import SHORT
from ..base.types import TensorType, int64, shape_text
from ..errors import DTypeError, ShapeError
from ..ir import Attribute, Call, Copy, Layout, Native, Node, OpDef, Routine, Scratch, define
from . import rules as at
from .gathering import ADDED, COLUMNS, check_index, fits_along, scatter_along_op
from .leaves import fits
from .operators import F, apply
from .ordering import along
from .over_complex import HOLOMORPHIC
from .rules import leading

UFUNCS: dict[str, np.ufunc] = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
REDUCTIONS = (*UFUNCS, "last")

# shapes and places ----------------------------------------------------------------------------------------------------


def _check(name: str, like: TensorType, values: TensorType, index: TensorType, axis: int) -> None:
    """What the kernels rely on: an index of 64 bits for each value, and extents that are equal away from the axis."""
    check_index(index, wide=True)
    away = [(*t.shape[:axis], *t.shape[axis + 1 :]) for t in (like, values)]
    if not fits(values.shape, index.shape) or len(like.shape) != len(values.shape) or not fits(*away):
        shapes = ", ".join(shape_text(t.shape) for t in (like, values, index))
        raise ShapeError(f"{name}: places, values and index don't fit along axis {axis}: {shapes}")


def _flat_places(shape: Sequence[int], index: np.ndarray, axis: int) -> np.ndarray:
    """Where in a flattened array of this shape each position along an axis lies."""
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    rows = index.reshape(outer, index.shape[axis], inner) + np.arange(outer).reshape(-1, 1, 1) * shape[axis]
    return np.asarray(rows * inner + np.arange(inner)).reshape(-1)


def _index_steps(layout: Layout, axis: int) -> tuple[tuple[int, int, int], bool]:
    """The steps of the index along the axes before `axis`, along it and along those after it, and whether it is read where it
    lies: an index that is broadcast along the axes of a row stays one number per row."""
    parts = [layout.joined(*span) for span in ((0, axis), (axis, axis + 1), (axis + 1, len(layout.shape)))]
    if any(len(part) > 1 for part in parts):
        return _index_steps(Layout.contiguous(layout.shape), axis)[0], False
    outer, along_, inner = (0 if extent == 1 else step for ((extent, step),) in parts)
    return (outer, along_, inner), True


def _sizes(shape: Sequence[int], index: TensorType, layout: Layout, axis: int) -> tuple[int, tuple[int, ...], bool]:
    """The range of a kernel, its sizes, and whether it reads the index where it lies."""
    inner = math.prod(shape[axis + 1 :])
    blocks = -(-inner // COLUMNS)
    steps, in_place = _index_steps(layout, axis)
    return math.prod(shape[:axis]) * blocks, (shape[axis], index.shape[axis], inner, blocks, *steps), in_place


# reductions -----------------------------------------------------------------------------------------------------------


def _infer(x: TensorType, values: TensorType, index: TensorType, axis: int, reduce: str, include_self: bool) -> TensorType:
    _check("scatter_reduce", x, values, index, axis)
    if x.dtype != values.dtype:
        raise DTypeError(f"the values have to be {x.dtype}, got {values.dtype}")
    return x


def _eval(x: np.ndarray, values: np.ndarray, index: np.ndarray, axis: int, reduce: str, include_self: bool) -> np.ndarray:
    out, source = np.array(x, order="C"), values.reshape(-1)
    flat, places = out.reshape(-1), _flat_places(x.shape, index, axis)
    if not include_self:
        flat[places] = {"sum": 0, "prod": 1}.get(reduce, source)  # an extremum begins with one of its values
    if reduce == "last":
        flat[places] = source  # of repeated places the last is assigned
    else:
        UFUNCS[reduce].at(flat, places, source)
    return out


def _plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    """The operand is copied to the result unless it lies there, and values are folded in."""
    dtype, reduce = node.type.dtype, node.attrs["reduce"]
    if dtype not in ADDED and not (reduce == "last" and dtype.itemsize <= 8):
        return None
    index, axis = node.inputs[2].type, node.attrs["axis"]
    span, sizes, in_place = _sizes(node.type.shape, index, layouts[2], axis)
    kernel, work = f"{reduce}_at_{SHORT[dtype] if dtype in ADDED else f'i{8 * dtype.itemsize}'}", 4 * index.size
    fold = Routine(
        "place_reductions", kernel, span, (*sizes, int(node.attrs["include_self"])), work, name="scatter_reduce", chunked=False,
        operands=(1, 2), strided=(2,) if in_place else (),
    )  # fmt: skip
    return [Copy(0, Layout.contiguous(node.type.shape)), fold]


def _shares(g: Any, node: Any, out: Any, x: Any, values: Any, index: Any) -> Any:
    """The cotangent of an extremum for each that has its value. As in PyTorch, an element of x that has it counts, whether it
    is included or not, and where nothing has it, as beside NaN, the gradient is NaN."""
    axis = node.attrs["axis"]
    reached = F.astype(F.eq(values, along(out, index, axis)), g.dtype)
    return g / (F.astype(F.eq(x, out), g.dtype) + apply(scatter_along_op, reached, x, index, axis=axis))


def _of_x(g: Any, node: Any, out: Any, x: Any, values: Any, index: Any) -> Any:
    reduce, axis = node.attrs["reduce"], node.attrs["axis"]
    if reduce in ("amax", "amin"):
        g = _shares(g, node, out, x, values, index) * F.astype(F.eq(x, out), g.dtype)
    elif reduce == "prod" and node.attrs["include_self"]:
        return g * reduced(F.ones_like(x), values, index, axis, "prod", include_self=True)
    if reduce == "last":
        return reduced(g, F.zeros_like(values), index, axis, "last")
    return g if node.attrs["include_self"] else reduced(g, F.zeros_like(values), index, axis, "sum", include_self=False)


def _of_values(g: Any, node: Any, out: Any, x: Any, values: Any, index: Any) -> Any:
    reduce, axis = node.attrs["reduce"], node.attrs["axis"]
    if reduce == "sum":
        return along(g, index, axis)
    if reduce == "last":
        numbers = F.broadcast_like(F.index_along(index, axis), index)
        last = reduced(F.broadcast_like(F.index_along(x, axis), x), numbers, index, axis, "last")
        return F.where(F.eq(along(last, index, axis), numbers), along(g, index, axis), 0)
    if reduce == "prod":
        others = [
            apply(recurrence_op, values, F.zeros_like(values), x, index, axis=axis, start=1, reverse=reverse)
            for reverse in (False, True)
        ]
        return along(g * x if node.attrs["include_self"] else g, index, axis) * others[0] * others[1]
    share = along(_shares(g, node, out, x, values, index), index, axis)
    return share * F.astype(F.eq(values, along(out, index, axis)), g.dtype)


reduce_op: OpDef = define(

        name="scatter_reduce",
        batch=leading,
        complex=HOLOMORPHIC,
        attrs={"axis": at.axis_of(0), "include_self": at.flag, "reduce": Attribute(
            "sum, prod, amax, amin or last", lambda value, types: value.__class__ is str and value in REDUCTIONS)},
        indexes=lambda types, attrs: [(2, 0, attrs["axis"])],
        infer=_infer,
        eval=_eval,
        vjp=(_of_x, _of_values, None),
        emit=Native(_plan, inplace=0),
        promote=lambda operands: [None, None, int64],
        doc="x combined with values at positions along an axis; without include_self, the values alone where there are any.",
    )  # fmt: skip


def reduced(x: Any, values: Any, index: Any, axis: int, reduce: str, *, include_self: bool = True) -> Any:
    """x combined with values at checked positions along an axis; an index has the shape of the values."""
    return apply(reduce_op, x, values, index, axis=axis, reduce=reduce, include_self=include_self)


def reducible(x: Any, index: Any, axis: int) -> bool:
    """Whether `reduced` takes operands of these shapes: they are known, and equal, away from the axis."""
    away = (*index.shape[:axis], *index.shape[axis + 1 :])
    return None not in away and fits_along(index.shape, x.shape, axis)


# recurrences ----------------------------------------------------------------------------------------------------------


def _recurrence_infer(
    factors: TensorType, terms: TensorType, like: TensorType, index: TensorType, axis: int, start: int, reverse: bool
) -> TensorType:
    _check("recurrence_at", like, factors, index, axis)
    if factors.dtype != terms.dtype or not fits(factors.shape, terms.shape):
        raise ShapeError(f"recurrence_at: factors and terms are of one type, got {factors} and {terms}")
    return factors


def _recurrence_eval(
    factors: np.ndarray, terms: np.ndarray, like: np.ndarray, index: np.ndarray, axis: int, start: int, reverse: bool
) -> np.ndarray:
    """The first values of all places at once, then the second ones of those that have two, and so on."""
    places = _flat_places(like.shape, index, axis)
    order = np.argsort(places, kind="stable")
    turn = np.arange(len(places)) - np.searchsorted(places[order], places[order])  # among the values of its place
    if reverse:
        turn = np.bincount(places, minlength=like.size)[places[order]] - 1 - turn
    rounds = np.split(order[np.argsort(turn, kind="stable")], np.cumsum(np.bincount(turn)))
    out, state = np.empty(factors.size, factors.dtype), np.full(like.size, start, factors.dtype)
    a, b = factors.reshape(-1), terms.reshape(-1)
    for these in rounds:
        out[these] = before = state[places[these]]
        state[places[these]] = a[these] * before + b[these]
    return out.reshape(factors.shape)


def _recurrence_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    if node.type.dtype not in ADDED:
        return None
    like, index = (i.type for i in node.inputs[2:])
    span, sizes, in_place = _sizes(like.shape, index, layouts[3], node.attrs["axis"])
    kernel, settings = f"recurrence_at_{SHORT[node.type.dtype]}", (node.attrs["start"], int(node.attrs["reverse"]))
    return [
        Routine(
            "place_reductions", kernel, span, (*sizes, *settings), 4 * index.size, (Scratch(like.size),), name="recurrence_at",
            chunked=False, operands=(0, 1, 3), strided=(3,) if in_place else (),
        )
    ]  # fmt: skip


def _later(g: Any, node: Any, factors: Any, like: Any, index: Any) -> Any:
    """The cotangent of the state after each value: the same recurrence, from the other end."""
    reverse = not node.attrs["reverse"]
    return apply(recurrence_op, factors, g, like, index, axis=node.attrs["axis"], start=0, reverse=reverse)


recurrence_op: OpDef = define(
    name="recurrence_at",
    batch=leading,
    complex=HOLOMORPHIC,
    attrs={"axis": at.axis_of(0), "start": at.integer(0, 2), "reverse": at.flag},
    indexes=lambda types, attrs: [(3, 2, attrs["axis"])],
    infer=_recurrence_infer,
    eval=_recurrence_eval,
    vjp=(
        lambda g, node, out, factors, terms, like, index: out * _later(g, node, factors, like, index),
        lambda g, node, out, factors, terms, like, index: _later(g, node, factors, like, index),
        None,
        None,
    ),
    emit=Native(_recurrence_plan),
    shape_only=(2,),
    promote=lambda operands: [None, None, None, int64],
    doc="The state of its place before each value: it begins as `start`, and a value makes it factor * state + term.",
)
