"""Records of what moves elements by integer positions: gathers, the scatters that are their cotangents, range checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from ..ir import REGISTRY, Expand, Index, Lookup, Native, Node, OpDef, Range, Scatter, define
from ..operators import Array, F, Tensor, append, apply, public
from ..types import MOST_AXES, TensorType, broadcast_shapes, int64, normalize_axis, shape_text
from . import attributes as at
from .leaves import fits
from .rules import keep, unbroadcast
from .sparse_rows import note

ADDED = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32), np.dtype(np.int64))
"""Dtypes that native routines add up."""

# positions -------------------------------------------------------------------------------------------------------


def _index_eval(x: np.ndarray, axis: int) -> np.ndarray:
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    return np.arange(x.shape[axis], dtype=np.int64).reshape(shape)


index_along_op = define(
    OpDef(
        name="index_along",
        attrs={"axis": at.axis_of(0)},
        infer=lambda x, axis: TensorType(tuple(d if i == axis else 1 for i, d in enumerate(x.shape)), int64),
        eval=_index_eval,
        vjp=None,
        emit=Index(),
        shape_only=(0,),
        promote=keep,
        doc="0, 1, 2 ... along `axis`; extent 1 along the others.",
    )
)


@public
def index_along(x: Array, axis: int) -> Tensor:
    """The positions along `axis` of x, shaped to broadcast against x; int64. Raises ArgumentError for a bad axis."""
    return apply(index_along_op, x, axis=normalize_axis(axis, len(x.shape)))


# range checks ---------------------------------------------------------------------------------------------------


def _bounded_eval(index: np.ndarray, like: np.ndarray, axis: int, low: int, loss: str = "") -> np.ndarray:
    n = like.shape[axis]
    floor = -n if low < 0 else 0
    if index.size and (index.min() < floor or index.max() >= n):
        raise _out_of_range(int(index[(index < floor) | (index >= n)][0]), axis, n, loss)
    index = index.astype(np.int64, copy=False)
    return np.where(index < 0, index + n, index) if low < 0 else index


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


def _bounded_plan(node: Node, layouts: Any) -> Any:
    extent = node.inputs[1].type.shape[node.attrs["axis"]]
    return [("bounded", (-extent if node.attrs["low"] < 0 else 0, extent))]


bounded_op = define(
    OpDef(
        name="bounded",
        attrs={"axis": at.axis_of(1), "low": at.integer(-1, 1), "loss": at.text},
        infer=_bounded_infer,
        range=lambda types, attrs, index, like: (0, max(types[1].shape[attrs["axis"]] - 1, 0)),
        eval=_bounded_eval,
        vjp=None,
        emit=Native(_bounded_plan, check=_bad_index),
        shape_only=(1,),
        promote=keep,
        doc="Indices as int64, checked against the extent of `like`; with low = -1, negative ones count from the end. "
        "loss: the function whose targets they are, in PyTorch's words.",
    )
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
    """What is picked is an element of the table."""
    return table


AXIS = {"axis": at.integer(0, MOST_AXES)}


def _where(axis: int, indices: Sequence[np.ndarray]) -> tuple[Any, ...]:
    return (slice(None),) * axis + tuple(indices)


def _scatter_eval(g: np.ndarray, like: np.ndarray, *indices: np.ndarray, axis: int) -> np.ndarray:
    """By the place of each element: `np.add.at` for rows takes ten times as long."""
    out = np.zeros(like.shape, g.dtype)
    extents, inner = like.shape[axis:][: len(indices)], math.prod(like.shape[axis + len(indices) :])
    row = np.arange(math.prod(like.shape[:axis]), dtype=np.int64).reshape(-1, 1, 1)
    position: Any = 0
    for index, n in zip(indices, extents, strict=True):
        position = position * n + index.astype(np.int64, copy=False)
    place = (row * math.prod(extents) + position.reshape(-1, 1)) * inner + np.arange(inner)
    np.add.at(out.reshape(-1), place.reshape(-1), g.reshape(-1))
    if axis == 0 and len(indices) == 1:
        note(out, indices[0].copy())
    return out


gather_op = define(
    OpDef(
        name="gather",
        attrs=AXIS,
        indexes=_gathered_from,
        range=_of_table,
        infer=_gather_infer,
        eval=lambda x, *indices, axis: x[_where(axis, indices)],
        vjp=lambda i: (
            (lambda g, node, out, x, *indices: apply(scatter_op, g, x, *indices, axis=node.attrs["axis"]))
            if i == 0
            else None
        ),
        emit=Expand(lambda node, x, *indices: _flat(node, pick_op, x, (), indices)),
        promote=keep,
        doc="x indexed by integer arrays at neighbouring axes from `axis` on.",
    )
)
scatter_op: OpDef = define(
    OpDef(
        name="scatter_add",
        attrs=AXIS,
        indexes=_scattered_to,
        infer=_scatter_infer,
        eval=_scatter_eval,
        vjp=lambda i: (
            (lambda g, node, out, x, like, *indices: apply(gather_op, g, *indices, axis=node.attrs["axis"]))
            if i == 0
            else None
        ),
        emit=Expand(lambda node, g, like, *indices: _flat(node, put_op, like, (g,), indices)),
        shape_only=(1,),
        sparse=True,
        promote=keep,
        doc="Zeros of the shape of `like`, to which values are added at integer positions; the cotangent of gather.",
    )
)




def _flat(node: Node, op: OpDef, x: Any, before: tuple[Any, ...], indices: Sequence[Any]) -> Any:
    """A gather from x, or a scatter to what is like x, by one index: several are one position in joined axes."""
    axis, extents = node.attrs["axis"], x.shape[node.attrs["axis"] :][: len(indices)]
    position = F.astype(indices[0], int64)
    for index, n in zip(indices[1:], extents[1:], strict=True):
        position = position * n + F.astype(index, int64)
    joined = F.reshape(x, (*x.shape[:axis], math.prod(extents), *x.shape[axis + len(indices) :]))
    return F.reshape(apply(op, *before, joined, position, axis=axis), node.type.shape)


def _pick_lookup(node: Node) -> Lookup | None:
    """Along the first axis, what is picked are rows."""
    return Lookup(0, 1) if node.attrs["axis"] == 0 else None


def _put_scatter(node: Node) -> Scatter | None:
    """Along the first axis, what is added are rows."""
    return Scatter(0, 2) if node.attrs["axis"] == 0 and node.type.dtype in ADDED else None


pick_op: OpDef = define(
    OpDef(
        name="pick",
        attrs=AXIS,
        indexes=_gathered_from,
        range=_of_table,
        infer=_pick_infer,
        eval=lambda x, index, axis: x[_where(axis, [index])],
        vjp=(lambda g, node, out, x, index: apply(put_op, g, x, index, axis=node.attrs["axis"]), None),
        emit=Native(lambda node, layouts: [("gather", ())], lookup=_pick_lookup),
        promote=keep,
        doc="x indexed by one int64 array along `axis`: what gathers come down to.",
    )
)
put_op: OpDef = define(
    OpDef(
        name="put_add",
        attrs=AXIS,
        indexes=_scattered_to,
        infer=_put_infer,
        eval=_scatter_eval,
        vjp=(lambda g, node, out, x, like, index: apply(pick_op, g, index, axis=node.attrs["axis"]), None, None),
        emit=Native(lambda node, layouts: [("scatter_add", ())] if node.type.dtype in ADDED else None, scatter=_put_scatter),
        shape_only=(1,),
        sparse=True,
        promote=keep,
        doc="Zeros of the shape of `like`, to which values are added along `axis`: what scatters come down to.",
    )
)

# rows -----------------------------------------------------------------------------------------------------------


def _index_add_infer(x: TensorType, values: TensorType, index: TensorType) -> TensorType:
    check_index(index)
    if not x.ndim:
        raise ShapeError("rows are added along an axis, got a 0-d tensor")
    if x.dtype != values.dtype:
        raise DTypeError(f"the values have to be {x.dtype}, got {values.dtype}")
    wanted = (*index.shape, *x.shape[1:])
    if len(wanted) != values.ndim or any(None not in (a, b) and a != b for a, b in zip(wanted, values.shape, strict=True)):
        raise ShapeError(f"the values need shape {shape_text(wanted)}, got {shape_text(values.shape)}")
    return x


def _index_add_eval(x: np.ndarray, values: np.ndarray, index: np.ndarray) -> np.ndarray:
    """What goes to one row is summed before it is added: many small steps are not lost beside a large x."""
    rows, place = np.unique(index, return_inverse=True)
    total = np.zeros((len(rows), *x.shape[1:]), x.dtype)
    np.add.at(total, place.reshape(index.shape), values)
    out = x.copy()
    out[rows] += total
    return out


index_add_op = define(
    OpDef(
        name="index_add",
        indexes=lambda types, attrs: [(2, 0, 0)],
        infer=_index_add_infer,
        eval=_index_add_eval,
        vjp=(
            lambda g, node, out, x, values, index: g,
            lambda g, node, out, x, values, index: apply(gather_op, g, index, axis=0),
            None,
        ),
        emit=Native(lambda node, layouts: [("index_add", ())] if node.type.dtype in ADDED else None, inplace=0),
        promote=lambda operands: [None, None, int64],
        doc="x with values added to the rows that an index names, in place where nobody else reads x.",
    )
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


gather_sum_op = define(
    OpDef(
        name="gather_sum",
        indexes=lambda types, attrs: [(1, 0, 0)],
        infer=_gather_sum_infer,
        eval=lambda x, index: np.add.reduce(x[index], axis=index.ndim - 1, dtype=x.dtype),
        vjp=(_gather_sum_vjp, None),
        emit=Native(lambda node, layouts: [("gather_sum", ())] if node.type.dtype in ADDED else None),
        promote=lambda operands: [None, int64],
        doc="The sum of the rows of x that the last axis of an index names: a bag, without its rows in memory.",
    )
)

# along one axis -------------------------------------------------------------------------------------------------


def _along_infer(x: TensorType, index: TensorType, axis: int) -> TensorType:
    check_index(index)
    if x.ndim != index.ndim:
        raise ShapeError(f"the index needs as many axes as x, {shape_text(x.shape)} and {shape_text(index.shape)}")
    rest = [
        broadcast_shapes((a,), (b,))[0] if i != axis else b
        for i, (a, b) in enumerate(zip(x.shape, index.shape, strict=True))
    ]
    return x.with_shape(tuple(rest))


def _scatter_along_infer(g: TensorType, like: TensorType, index: TensorType, axis: int) -> TensorType:
    wanted = _along_infer(like, index, axis).shape
    if not fits(g.shape, wanted):
        raise ShapeError(f"the values need shape {shape_text(wanted)}, got {shape_text(g.shape)}")
    return g.with_shape(like.shape)


def _match(x: Any, index: Any, axis: int) -> Any:
    """True where the position along `axis` is the one that `index` (of extent 1 there) names."""
    return F.eq(F.index_along(x, axis), index)


def _along_expand(node: Node, x: Any, index: Any) -> Any:
    """A single position per row is a masked sum, which fuses with what made x."""
    axis = node.attrs["axis"]
    if index.shape[axis] != 1:
        place = _places(x.shape, node.type.shape, F.astype(index, int64), axis)
        return apply(pick_op, F.reshape(x, (-1,)), place, axis=0)
    return F.astype(F.sum(F.where(_match(x, index, axis), x, 0), axis, keepdims=True), x.dtype)


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
    place = _places(like.shape, g.shape, F.astype(index, int64), node.attrs["axis"])
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


along_op = define(
    OpDef(
        name="take_along_axis",
        attrs={"axis": at.axis_of(0)},
        indexes=lambda types, attrs: [(1, 0, attrs["axis"])],
        range=_of_table,
        infer=_along_infer,
        eval=lambda x, index, axis: np.take_along_axis(x, index, axis),
        vjp=(_along_vjp, None),
        emit=Expand(_along_expand),
        promote=keep,
    )
)
scatter_along_op = define(
    OpDef(
        name="scatter_along_axis",
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
)
