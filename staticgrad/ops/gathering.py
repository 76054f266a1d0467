"""Records of ops that move elements by integer positions: gathers, the scatters that are their cotangents, range checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.dtypes import SHORT
from ..base.types import MOST_AXES, TensorType, broadcast_shapes, int64, normalize_axis, shape_text
from ..errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from ..ir import (
    REGISTRY,
    Call,
    Clear,
    Copy,
    Expand,
    Index,
    Layout,
    Lookup,
    Native,
    Node,
    OpDef,
    Range,
    Routine,
    Scatter,
    Scratch,
    define,
    enter,
)
from . import rules as at
from .leaves import fits
from .operators import Array, F, Symbol, Tensor, append, apply, public
from .rules import added, bags, checked, gathered, keep, linear, same_for_all, scattered, unbroadcast
from .sparse_rows import note

ADDED = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32), np.dtype(np.int64))
"""Dtypes that native routines add up."""

# positions -------------------------------------------------------------------------------------------------------


def _index_eval(x: np.ndarray, axis: int) -> np.ndarray:
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    return np.arange(x.shape[axis], dtype=np.int64).reshape(shape)


index_along_op = define(
    name="index_along",
    batch=same_for_all,
    attrs={"axis": at.axis_of(0)},
    infer=lambda x, axis: TensorType(tuple(d if i == axis else 1 for i, d in enumerate(x.shape)), int64),
    eval=_index_eval,
    vjp=None,
    emit=Index(),
    shape_only=(0,),
    promote=keep,
    doc="0, 1, 2 ... along `axis`; extent 1 along the others.",
)


@public
def index_along(x: Array, axis: int) -> Tensor:
    """The positions along `axis` of x, shaped to broadcast against x; int64. Raises ArgumentError for a bad axis."""
    return apply(index_along_op, x, axis=normalize_axis(axis, len(x.shape)))


# range checks ---------------------------------------------------------------------------------------------------


UNSIGNED = np.dtype(np.uint64)


def _bounded_eval(index: np.ndarray, like: np.ndarray, axis: int, low: int, loss: str = "") -> np.ndarray:
    n = like.shape[axis]
    if index.dtype == int64 and index.size:
        places = index.view(UNSIGNED)  # a negative one is a large one without a sign
        if places.item(places.argmax()) < n:  # `maximum.reduce` takes half a microsecond more
            return index.copy() if low < 0 else index
    floor = -n if low < 0 else 0
    if index.size and (index.min() < floor or index.max() >= n):
        raise _out_of_range(int(index[(index < floor) | (index >= n)][0]), axis, n, loss)
    index = index.astype(np.int64, copy=False)
    return np.where(index < 0, index + n, index) if low < 0 else index


def _bounding(node: Node) -> Callable[..., Any]:
    """See `OpDef.prepared`."""
    kind, attrs = node.inputs[0].type, node.attrs
    checked = kind.dtype == int64 and kind.size > 0
    extent, keeps = node.inputs[1].type.shape[attrs["axis"]], attrs["low"] >= 0

    def bounded(index: np.ndarray, like: np.ndarray) -> np.ndarray:
        if checked:
            places = index.view(UNSIGNED)
            if places.item(places.argmax()) < extent:
                return index if keeps else index.copy()
        return _bounded_eval(index, like, **attrs)

    return bounded


def _bounded_infer(index: TensorType, like: TensorType, axis: int, low: int, loss: str = "") -> TensorType:
    check_index(index)
    return index.with_dtype(int64)


def check_index(index: TensorType, *, wide: bool = False) -> None:
    """Raises DTypeError unless these are integers; wide: of 64 bits, as kernels read them."""
    if index.dtype.kind not in "iu":
        raise DTypeError(f"indices must be integers, got {index.dtype}")
    if wide and index.dtype != int64:
        raise DTypeError(f"indices have to be int64 here, got {index.dtype}", "cast them first")


def _out_of_range(index: int, axis: int, extent: Any, loss: str) -> IndexRangeError:
    if loss:
        return IndexRangeError(f"Target {index} is out of bounds.", f"{loss}: the classes are 0 to {extent - 1}")
    return IndexRangeError(f"index {index} is out of range for axis {axis} with extent {extent}")


def _bad_index(node: Node, index: int) -> IndexRangeError:
    axis = node.attrs["axis"]
    return _out_of_range(index, axis, node.inputs[1].type.shape[axis], node.attrs.get("loss", ""))


def index_check(node: Node, low: int, extent: int) -> Routine:
    """The call that takes the integers of the first operand for positions in [low, extent)."""
    n, kernel = node.type.size, f"bounded_{SHORT[node.inputs[0].type.dtype]}"
    return Routine("positions", kernel, n, (extent, low, 0), n, name="bounded", chunked=False)


def _bounded_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    extent = node.inputs[1].type.shape[node.attrs["axis"]]
    return [index_check(node, -extent if node.attrs["low"] < 0 else 0, extent)]


bounded_op = define(
    name="bounded",
    batch=checked,
    attrs={"axis": at.axis_of(1), "low": at.integer(-1, 1), "loss": at.text},
    infer=_bounded_infer,
    range=lambda types, attrs, index, like: (0, max(types[1].shape[attrs["axis"]] - 1, 0)),
    eval=_bounded_eval,
    prepared=_bounding,
    vjp=None,
    emit=Native(_bounded_plan, check=_bad_index),
    shape_only=(1,),
    promote=keep,
    doc="Indices as int64, checked against the extent of `like`; with low = -1, negative ones count from the end. "
    "loss: the function whose targets they are, in PyTorch's words.",
)


def bounded(index: Any, like: Any, axis: int, *, negative: bool, loss: str = "") -> Tensor:
    """Checked indices, of classes where a loss is named. Raises IndexRangeError (in a plan: before any state changes)."""
    if getattr(index, "dtype", None) is not None and index.dtype.kind not in "iu":
        raise DTypeError(f"indices must be integers, got {index.dtype}")
    role = {"loss": loss} if loss else {}
    return apply(bounded_op, index, like, axis=axis, low=-1 if negative else 0, **role)


# gather and scatter ---------------------------------------------------------------------------------------------


def _gather_infer(x: TensorType, *indices: TensorType, axis: int) -> TensorType:
    if not indices or axis + len(indices) > x.ndim:
        raise ArgumentError(f"{len(indices)} indices from axis {axis} on don't fit {x.ndim} axes")
    for t in indices:
        check_index(t)
    picked = broadcast_shapes(*(t.shape for t in indices))
    return x.with_shape((*x.shape[:axis], *picked, *x.shape[axis + len(indices) :]))


def _scatter_infer(g: TensorType, like: TensorType, *indices: TensorType, axis: int) -> TensorType:
    wanted = _gather_infer(like, *indices, axis=axis).shape
    if not fits(g.shape, wanted):
        raise ShapeError(f"the values need shape {shape_text(wanted)}, got {shape_text(g.shape)}")
    return g.with_shape(like.shape)


def _pick_infer(x: TensorType, index: TensorType, axis: int) -> TensorType:
    check_index(index, wide=True)
    return _gather_infer(x, index, axis=axis)


def _put_infer(g: TensorType, like: TensorType, index: TensorType, axis: int) -> TensorType:
    check_index(index, wide=True)
    return _scatter_infer(g, like, index, axis=axis)


def _gathered_from(types: Sequence[TensorType], attrs: Any) -> list[tuple[int, int, int]]:
    return [(1 + i, 0, attrs["axis"] + i) for i in range(len(types) - 1)]


def _scattered_to(types: Sequence[TensorType], attrs: Any) -> list[tuple[int, int, int]]:
    return [(2 + i, 1, attrs["axis"] + i) for i in range(len(types) - 2)]


def _of_table(types: Sequence[TensorType], attrs: Any, table: Range, *indices: Range) -> Range:
    """The picked items are elements of the table."""
    return table


AXIS = {"axis": at.integer(0, MOST_AXES)}


def _gathered(x: np.ndarray, *indices: np.ndarray, axis: int) -> np.ndarray:
    if len(indices) == 1 and indices[0].dtype == int64:  # `take` refuses uint64
        return x.take(indices[0], axis)
    return x[(slice(None),) * axis + indices]


ROW = 16
"""Elements of a row from which threads share the rows of a sum: each of them reads all positions."""
WIDE = 512
"""Elements of a row from which adding whole rows takes less time than `np.add.at`, which adds element by element."""


def _scatter_eval(g: np.ndarray, like: np.ndarray, *indices: np.ndarray, axis: int) -> np.ndarray:
    out = _sums(g, like.shape, *indices, axis=axis)
    named = rows_named((g, like, *indices), {"axis": axis})
    if named is not None:
        note(out, named.copy())
    return out


def _sums(g: np.ndarray, shape: tuple[int, ...], *indices: np.ndarray, axis: int = 0) -> np.ndarray:
    """Narrow rows by the place of each element: `np.add.at` for rows takes ten times as long."""
    out = np.zeros(shape, g.dtype)
    extents, inner = shape[axis:][: len(indices)], math.prod(shape[axis + len(indices) :])
    first = np.arange(math.prod(shape[:axis]), dtype=np.int64).reshape(-1, 1)
    position: Any = 0
    for index, n in zip(indices, extents, strict=True):
        position = position * n + index.astype(np.int64, copy=False)
    rows = (first * math.prod(extents) + position.reshape(-1)).reshape(-1)
    if inner < WIDE:
        np.add.at(out.reshape(-1), (rows.reshape(-1, 1) * inner + np.arange(inner)).reshape(-1), g.reshape(-1))
    else:
        sums = out.reshape(-1, inner)
        for row, part in zip(rows.tolist(), g.reshape(-1, inner), strict=True):
            total = sums[row]
            np.add(total, part, out=total)
    return out


def rows_named(operands: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The positions of the rows but for which the value of a scatter is 0; None where it is not known by rows."""
    return operands[2] if attrs["axis"] == 0 and len(operands) == 3 else None


gather_op = define(
    name="gather",
    stored=True,
    backward="IndexBackward0",
    batch=gathered,
    jvp=linear,
    attrs=AXIS,
    indexes=_gathered_from,
    range=_of_table,
    infer=_gather_infer,
    eval=_gathered,
    vjp=lambda i: (
        (lambda g, node, out, x, *indices: apply(scatter_op, g, x, *indices, axis=node.attrs["axis"])) if i == 0 else None
    ),
    emit=Expand(lambda node, x, *indices: _flat(node, pick_op, x, (), indices)),
    promote=keep,
    doc="x indexed by integer arrays at neighboring axes from `axis` on.",
)
scatter_op: OpDef = define(
    name="scatter_add",
    batch=scattered,
    jvp=linear,
    attrs=AXIS,
    indexes=_scattered_to,
    infer=_scatter_infer,
    eval=_scatter_eval,
    vjp=lambda i: (
        (lambda g, node, out, x, like, *indices: apply(gather_op, g, *indices, axis=node.attrs["axis"])) if i == 0 else None
    ),
    emit=Expand(lambda node, g, like, *indices: _flat(node, put_op, like, (g,), indices)),
    shape_only=(1,),
    sparse=True,
    promote=keep,
    doc="Zeros of the shape of `like`, to which values are added at integer positions; the cotangent of gather.",
)


def _flat(node: Node, op: OpDef, x: Any, before: tuple[Any, ...], indices: Sequence[Any]) -> Any:
    """A gather from x, or a scatter to the shape of x, by one index: several indices become one position in joined axes."""
    axis, extents = node.attrs["axis"], x.shape[node.attrs["axis"] :][: len(indices)]
    position = F.astype(indices[0], int64)
    for index, n in zip(indices[1:], extents[1:], strict=True):
        position = position * n + F.astype(index, int64)
    joined = F.reshape(x, (*x.shape[:axis], math.prod(extents), *x.shape[axis + len(indices) :]))
    return F.reshape(apply(op, *before, joined, position, axis=axis), node.type.shape)


def _pick_lookup(node: Node) -> Lookup | None:
    """Along the first axis, the picked items are rows."""
    return Lookup(0, 1) if node.attrs["axis"] == 0 else None


def _put_scatter(node: Node) -> Scatter | None:
    """Along the first axis, the added items are rows."""
    return Scatter(0, 2) if node.attrs["axis"] == 0 and node.type.dtype in ADDED else None


def _pick_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    values, index = (i.type for i in node.inputs)
    axis, shape = node.attrs["axis"], values.shape
    span, sizes = math.prod(shape[:axis]) * index.size, (shape[axis], index.size, math.prod(shape[axis + 1 :]))
    kernel = f"gather_i{8 * node.type.dtype.itemsize}"
    return [Routine("row_moves", kernel, span, sizes, node.type.size, name="gather", chunked=False)]


def _rows_at(layout: Layout, axis: int, indexed: int) -> tuple[tuple[int, int, int, int], bool]:
    """The places of the rows that the axes [axis, axis + indexed) count, and whether the operand is read where it lies.

    Row p begins at (p // group) * far + (p % group) * near, and the next outer one lies `outer` further: (group, far, near,
    outer). Rows that are repeated stay one in memory; where two strides don't tell, the operand is copied.
    """
    last = axis + indexed
    joined, inner = layout.joined(axis, last), Layout(layout.shape[last:], layout.strides[last:], 0)
    if not inner.is_contiguous or len(joined) > 2 or not (axis == 0 or layout.is_contiguous):
        return _rows_at(Layout.contiguous(layout.shape), axis, indexed)[0], False
    (_, far), (group, near) = joined if len(joined) == 2 else ((1, 0), *joined)
    return (max(group, 1), far, near, math.prod(layout.shape[axis:])), True


def _put_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    if node.type.dtype not in ADDED:
        return None
    values, like, index = (i.type for i in node.inputs)
    axis, shape = node.attrs["axis"], like.shape
    rows, in_place = _rows_at(layouts[0], axis, index.ndim)
    sizes = (shape[axis], index.size, math.prod(shape[axis + 1 :]), *rows)
    dtype, span, strided = SHORT[node.type.dtype], math.prod(shape[:axis]), (0,) if in_place else ()
    if span == 1 and sizes[2] >= ROW:
        work, kernel, span = values.size + like.size + index.size, f"scatter_rows_{dtype}", shape[axis]
        named = (Scratch(span, np.dtype(np.int32), zeros=True),)
        return [Routine("row_moves", kernel, span, sizes, work, named, name="scatter_add", chunked=False, strided=strided)]
    add = Routine("row_moves", f"scatter_{dtype}", span, sizes, values.size, name="scatter_add", chunked=False, strided=strided)
    return [Clear(), add]


pick_op: OpDef = define(
    name="pick",
    stored=True,
    batch=gathered,
    jvp=linear,
    attrs=AXIS,
    indexes=_gathered_from,
    range=_of_table,
    infer=_pick_infer,
    eval=_gathered,
    vjp=(lambda g, node, out, x, index: apply(put_op, g, x, index, axis=node.attrs["axis"]), None),
    emit=Native(_pick_plan, fused=_pick_lookup),
    promote=keep,
    doc="x indexed by one int64 array along `axis`: what gathers come down to.",
)
put_op: OpDef = define(
    name="put_add",
    batch=scattered,
    jvp=linear,
    attrs=AXIS,
    indexes=_scattered_to,
    infer=_put_infer,
    eval=_scatter_eval,
    vjp=(lambda g, node, out, x, like, index: apply(pick_op, g, index, axis=node.attrs["axis"]), None, None),
    emit=Native(_put_plan, fused=_put_scatter),
    shape_only=(1,),
    sparse=True,
    promote=keep,
    doc="Zeros of the shape of `like`, to which values are added along `axis`: what scatters come down to.",
)

# rows -----------------------------------------------------------------------------------------------------------


def rows_infer(x: TensorType, values: TensorType, index: TensorType) -> TensorType:
    """The type of x with values in rows that an index names."""
    check_index(index)
    if not x.ndim:
        raise ShapeError("rows lie along an axis, got a 0-d tensor")
    if x.dtype != values.dtype:
        raise DTypeError(f"the values have to be {x.dtype}, got {values.dtype}")
    wanted = (*index.shape, *x.shape[1:])
    if len(wanted) != values.ndim or any(None not in (a, b) and a != b for a, b in zip(wanted, values.shape, strict=True)):
        raise ShapeError(f"the values need shape {shape_text(wanted)}, got {shape_text(values.shape)}")
    return x


def _index_add_eval(x: np.ndarray, values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Contributions to one row are summed before they are added: many small steps are not lost beside a large x."""
    rows = np.flatnonzero(np.bincount(index.reshape(-1), minlength=len(x)))
    out = x.copy()
    out[rows] += _sums(values, x.shape, index)[rows]
    return out


def _index_add_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    """The operand is copied to the result unless it lies there, and rows are added in place."""
    if node.type.dtype not in ADDED:
        return None
    _, values, index = (i.type for i in node.inputs)
    shape, picked = node.type.shape, index.size
    inner = math.prod(shape[1:])
    rows, in_place = _rows_at(layouts[1], 0, index.ndim)
    counters, sums = Scratch(shape[0], np.dtype(np.int32), zeros=True), Scratch(max(picked // 2, 1) * inner)
    kernel, sizes = f"index_add_{SHORT[node.type.dtype]}", (shape[0], picked, inner, *rows)
    add = Routine(
        "row_moves", kernel, 1, sizes, 2 * values.size, (counters, sums), name="index_add", chunked=False,
        operands=(1, 2), strided=(1,) if in_place else (),
    )  # fmt: skip
    return [Copy(0, Layout.contiguous(shape)), add]


index_add_op = define(
    name="index_add",
    batch=added,
    jvp=linear,
    indexes=lambda types, attrs: [(2, 0, 0)],
    infer=rows_infer,
    eval=_index_add_eval,
    vjp=(
        lambda g, node, out, x, values, index: g,
        lambda g, node, out, x, values, index: apply(gather_op, g, index, axis=0),
        None,
    ),
    emit=Native(_index_add_plan, inplace=0),
    promote=lambda operands: [None, None, int64],
    doc="x with values added to the rows that an index names, in place where nobody else reads x.",
)


def _gather_sum_infer(x: TensorType, index: TensorType) -> TensorType:
    check_index(index)
    if not x.ndim or not index.ndim:
        raise ShapeError(f"table and index need an axis, got {shape_text(x.shape)} and {shape_text(index.shape)}")
    return x.with_shape((*index.shape[:-1], *x.shape[1:]))


def _gather_sum_vjp(g: Any, node: Any, out: Any, x: Any, index: Any) -> Any:
    bags, shape = F.expand_dims(g, len(index.shape) - 1), (*index.shape, *x.shape[1:])
    if None in shape:
        each = F.broadcast_like(bags, apply(gather_op, x, index, axis=0))  # whose value is not read
    else:
        each = F.broadcast_to(bags, shape)
    return apply(scatter_op, each, x, index, axis=0)


def _gather_sum_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    if node.type.dtype not in ADDED:
        return None
    values, index = (i.type for i in node.inputs)
    bag, inner = index.shape[-1], math.prod(values.shape[1:])
    span = index.size // bag if bag else math.prod(index.shape[:-1])
    kernel = f"gather_sum_{SHORT[node.type.dtype]}"
    return [Routine("row_moves", kernel, span, (bag, inner), index.size * inner, name="gather_sum", chunked=False)]


gather_sum_op = define(
    name="gather_sum",
    batch=bags,
    jvp=linear,
    indexes=lambda types, attrs: [(1, 0, 0)],
    infer=_gather_sum_infer,
    eval=lambda x, index: np.asarray(np.add.reduce(x[index], axis=index.ndim - 1, dtype=x.dtype), order="C"),
    vjp=(_gather_sum_vjp, None),
    emit=Native(_gather_sum_plan),
    promote=lambda operands: [None, int64],
    doc="The sum of the rows of x that the last axis of an index names: a bag, without its rows in memory.",
)

# along one axis -------------------------------------------------------------------------------------------------


def _along_infer(x: TensorType, index: TensorType, axis: int) -> TensorType:
    check_index(index)
    if x.ndim != index.ndim:
        raise ShapeError(f"the index needs as many axes as x, {shape_text(x.shape)} and {shape_text(index.shape)}")
    rest = [
        broadcast_shapes((a,), (b,))[0] if i != axis else b for i, (a, b) in enumerate(zip(x.shape, index.shape, strict=True))
    ]
    return x.with_shape(tuple(rest))


def _scatter_along_infer(g: TensorType, like: TensorType, index: TensorType, axis: int) -> TensorType:
    wanted = _along_infer(like, index, axis).shape
    if not fits(g.shape, wanted):
        raise ShapeError(f"the values need shape {shape_text(wanted)}, got {shape_text(g.shape)}")
    return g.with_shape(like.shape)


def fits_along(a: Sequence[Any], b: Sequence[Any], axis: int) -> bool:
    """Whether the shapes are equal away from an axis."""
    return (*a[:axis], *a[axis + 1 :]) == (*b[:axis], *b[axis + 1 :])


def _match(x: Any, index: Any, axis: int) -> Any:
    """True where the position along `axis` is the one that `index` (of extent 1 there) names."""
    return F.eq(F.index_along(x, axis), index)


def _along_expand(node: Node, x: Any, index: Any) -> Any:
    """A single position per row is a masked sum, which fuses with the producer of x. Of a value that is in memory anyway, only
    the named elements are read."""
    axis = node.attrs["axis"]
    if index.shape[axis] != 1 or (_lies_in_memory(x.node) and fits_along(index.shape, x.shape, axis)):
        if fits_along(index.shape, x.shape, axis):
            return _picked_along(x, F.astype(index, int64), axis)
        place = _places(x.shape, node.type.shape, F.astype(index, int64), axis)
        return apply(pick_op, F.reshape(x, (-1,)), place, axis=0)
    return F.astype(F.sum(F.where(_match(x, index, axis), x, 0), axis, keepdims=True), x.dtype)


def _lies_in_memory(node: Node) -> bool:
    """Whether no kernel that computes a value, or reads all of it, could pick on the way: a leaf, and a permutation of one or
    of a routine's result. The result of a routine itself is mostly read by rows, as logits are."""
    moved = node
    while moved.op.name == "permute":
        moved = moved.inputs[0]
    return bool(moved.op.leaf) or (moved is not node and isinstance(moved.op.emit, Native))


def _picked_along(x: Any, index: Any, axis: int) -> Any:
    """`pick_along` of x, or of what x is a permutation of, which is not copied."""
    if x.node.op.name != "permute":
        return apply(pick_along_op, x, index, axis=axis)
    order = x.node.attrs["axes"]
    source = Symbol(x.graph, x.node.inputs[0])
    return F.permute(_picked_along(source, F.permute(index, tuple(np.argsort(order).tolist())), order[axis]), order)


def _places(within: Sequence[int], shape: Sequence[int], index: Any, axis: int) -> Any:
    """Where in the flattened array each element lies that an index along `axis` names, for a result of this shape."""
    like = append(index.graph, REGISTRY["shape"], (), {"type": TensorType(tuple(shape), int64)})
    place: Any = 0
    for i, n in enumerate(within):
        step = math.prod(within[i + 1 :])
        if i == axis:
            place = place + index * step
        elif n != 1:
            place = place + F.index_along(like, i) * step
    return F.broadcast_to(place, shape)


def _scatter_along_expand(node: Node, g: Any, like: Any, index: Any) -> Any:
    axis = node.attrs["axis"]
    if node.type.dtype in ADDED and g.shape == index.shape and fits_along(g.shape, like.shape, axis):
        return apply(put_along_op, g, like, F.astype(index, int64), axis=axis)
    place = _places(like.shape, g.shape, F.astype(index, int64), axis)
    return F.reshape(apply(put_op, g, F.reshape(like, (-1,)), place, axis=0), like.shape)


def _along_vjp(g: Any, node: Any, out: Any, x: Any, index: Any) -> Any:
    axis = node.attrs["axis"]
    if index.shape[axis] == 1:
        return unbroadcast(F.where(_match(x, index, axis), g, 0), x)
    return apply(scatter_along_op, g, x, index, axis=axis)


def _scatter_along_eval(g: np.ndarray, like: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    out = np.zeros(like.shape, g.dtype)
    grid = list(np.ogrid[tuple(slice(n) for n in g.shape)])
    grid = [np.minimum(p, like.shape[i] - 1) if i != axis else index for i, p in enumerate(grid)]
    np.add.at(out, tuple(grid), g)
    return out


def _check_along(values: TensorType, index: TensorType, axis: int) -> None:
    """What the routines rely on: an index of 64 bits, and extents that are equal away from the axis."""
    check_index(index, wide=True)
    a, b = values.shape, index.shape
    if len(a) != len(b) or not fits((*a[:axis], *a[axis + 1 :]), (*b[:axis], *b[axis + 1 :])):
        raise ShapeError(f"the extents differ away from axis {axis}: {shape_text(a)} and {shape_text(b)}")


def _pick_along_infer(x: TensorType, index: TensorType, axis: int) -> TensorType:
    _check_along(x, index, axis)
    return _along_infer(x, index, axis)


def _put_along_infer(g: TensorType, like: TensorType, index: TensorType, axis: int) -> TensorType:
    _check_along(like, index, axis)
    return _scatter_along_infer(g, like, index, axis)


def _pick_along_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    (values, index), axis = (i.type.shape for i in node.inputs), node.attrs["axis"]
    sizes = values[axis], index[axis], math.prod(index[axis + 1 :])
    span, kernel = math.prod(index[: axis + 1]), f"along_gather_i{8 * node.type.dtype.itemsize}"
    return [Routine("row_moves", kernel, span if sizes[2] else 0, sizes, 2 * node.type.size, name="gather", chunked=False)]


COLUMNS = 64
"""Columns of the scatter along an axis that one thread writes."""


def _put_along_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    index, axis, shape = node.inputs[2].type, node.attrs["axis"], node.type.shape
    inner = math.prod(shape[axis + 1 :])
    blocks, kernel = -(-inner // COLUMNS), f"along_scatter_{SHORT[node.type.dtype]}"
    sizes, work = (shape[axis], index.shape[axis], inner, blocks), node.type.size + 2 * index.size
    if node.type.dtype not in ADDED:
        return None
    return [Routine("row_moves", kernel, math.prod(shape[:axis]) * blocks, sizes, work, name="scatter_add", chunked=False)]


along_op = define(
    name="take_along_axis",
    stored=True,
    backward="GatherBackward0",
    jvp=linear,
    attrs={"axis": at.axis_of(0)},
    indexes=lambda types, attrs: [(1, 0, attrs["axis"])],
    range=_of_table,
    infer=_along_infer,
    eval=lambda x, index, axis: np.asarray(np.take_along_axis(x, index, axis), order="C"),
    vjp=(_along_vjp, None),
    emit=Expand(_along_expand),
    promote=keep,
)
scatter_along_op = define(
    name="scatter_along_axis",
    jvp=linear,
    attrs={"axis": at.axis_of(0)},
    indexes=lambda types, attrs: [(2, 1, attrs["axis"])],
    infer=_scatter_along_infer,
    eval=_scatter_along_eval,
    vjp=(lambda g, node, out, x, like, index: apply(along_op, g, index, axis=node.attrs["axis"]), None, None),
    emit=Expand(_scatter_along_expand),
    shape_only=(1,),
    promote=keep,
    doc="Adds values at positions along one axis; the cotangent of take_along_axis.",
)
pick_along_op: OpDef = enter(
    replace(
        along_op,
        name="pick_along",
        stored=True,
        infer=_pick_along_infer,
        emit=Native(_pick_along_plan),
        doc="`take_along_axis` without broadcasting, by an int64 index: what it comes down to.",
    )
)
put_along_op: OpDef = enter(
    replace(
        scatter_along_op,
        name="put_along",
        infer=_put_along_infer,
        emit=Native(_put_along_plan),
        doc="`scatter_along_axis` without broadcasting, by an int64 index: what it comes down to.",
    )
)
