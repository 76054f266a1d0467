"""Indexing: basic and integer-array subscripts, take, take_along_axis, one_hot; each with its scatter as cotangent."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from ..errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from ..ir import Expand, Index, Native, Node, OpDef, define
from ..operators import F, Operators, Symbol, apply, numpy_twin, public
from ..types import TensorType, as_dtype, broadcast_shapes, get_default_dtype, int64, normalize_axis, shape_text
from .reductions import ndim_of
from .rules import keep, unbroadcast
from .shaping import WHOLE, slice_op

# positions -------------------------------------------------------------------------------------------------------


def _index_eval(x: np.ndarray, axis: int) -> np.ndarray:
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    return np.arange(x.shape[axis], dtype=np.int64).reshape(shape)


index_along_op = define(
    OpDef(
        name="index_along",
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
def index_along(x: Any, axis: int) -> Any:
    """The positions along `axis` of x, shaped to broadcast against x; int64."""
    return apply(index_along_op, x, axis=axis)


# range checks ---------------------------------------------------------------------------------------------------


def _bounded_eval(index: np.ndarray, like: np.ndarray, axis: int, low: int) -> np.ndarray:
    n = like.shape[axis]
    if index.size:
        smallest, largest = int(index.min()), int(index.max())
        floor = -n if low < 0 else 0
        if smallest < floor or largest >= n:
            bad = smallest if smallest < floor else largest
            raise IndexRangeError(f"index {bad} is out of range for axis {axis} with extent {n}")
    return np.where(index < 0, index + n, index) if low < 0 else index


bounded_op = define(
    OpDef(
        name="bounded",
        infer=lambda index, like, axis, low: index,
        eval=_bounded_eval,
        vjp=None,
        emit=Native(lambda node, layouts: [("bounded", ())]),
        shape_only=(1,),
        promote=keep,
        doc="Indices checked against the extent of `like`; with low = -1, negative ones count from the end.",
    )
)


def bounded(index: Any, like: Any, axis: int, *, negative: bool) -> Any:
    """Checked indices. Raises IndexRangeError (in a plan: before any state changes)."""
    if getattr(index, "dtype", None) is not None and index.dtype.kind not in "iu":
        raise DTypeError(f"indices must be integers, got {index.dtype}")
    return apply(bounded_op, index, like, axis=axis, low=-1 if negative else 0)


# gather and scatter ---------------------------------------------------------------------------------------------


def _gather_infer(x: TensorType, *indices: TensorType, axis: int) -> TensorType:
    for t in indices:
        if t.dtype.kind not in "iu":
            raise DTypeError(f"indices must be integers, got {t.dtype}")
    picked = broadcast_shapes(*(t.shape for t in indices))
    return x.with_shape((*x.shape[:axis], *picked, *x.shape[axis + len(indices) :]))


def _where(axis: int, indices: Sequence[np.ndarray]) -> tuple[Any, ...]:
    return (slice(None),) * axis + tuple(indices)


def _scatter_eval(g: np.ndarray, like: np.ndarray, *indices: np.ndarray, axis: int) -> np.ndarray:
    out = np.zeros(like.shape, g.dtype)
    np.add.at(out, _where(axis, indices), g)
    return out


gather_op = define(
    OpDef(
        name="gather",
        infer=_gather_infer,
        eval=lambda x, *indices, axis: x[_where(axis, indices)],
        vjp=lambda i: (
            (lambda g, node, out, x, *indices: apply(scatter_op, g, x, *indices, axis=node.attrs["axis"]))
            if i == 0
            else None
        ),
        emit=Native(lambda node, layouts: [("gather", ())] if len(layouts) == 2 else None),
        promote=keep,
        doc="x indexed by integer arrays at neighbouring axes from `axis` on.",
    )
)
scatter_op: OpDef = define(
    OpDef(
        name="scatter_add",
        infer=lambda g, like, *indices, axis: g.with_shape(like.shape),
        eval=_scatter_eval,
        vjp=lambda i: (
            (lambda g, node, out, x, like, *indices: apply(gather_op, g, *indices, axis=node.attrs["axis"]))
            if i == 0
            else None
        ),
        emit=Native(lambda node, layouts: [("scatter_add", ())] if len(layouts) == 3 else None),
        shape_only=(1,),
        promote=keep,
        doc="Zeros of the shape of `like`, to which values are added at integer positions; the cotangent of gather.",
    )
)


def _along_infer(x: TensorType, index: TensorType, axis: int) -> TensorType:
    if index.dtype.kind not in "iu":
        raise DTypeError(f"indices must be integers, got {index.dtype}")
    if x.ndim != index.ndim:
        raise ShapeError(f"the index needs as many axes as x, {shape_text(x.shape)} and {shape_text(index.shape)}")
    rest = [
        broadcast_shapes((a,), (b,))[0] if i != axis else b
        for i, (a, b) in enumerate(zip(x.shape, index.shape, strict=True))
    ]
    return x.with_shape(tuple(rest))


def _match(x: Any, index: Any, axis: int) -> Any:
    """True where the position along `axis` is the one that `index` (of extent 1 there) names."""
    return F.eq(F.index_along(x, axis), index)


def _along_expand(node: Node, x: Any, index: Any) -> Any:
    """A single position per row is a masked sum, which fuses with what made x."""
    axis = node.attrs["axis"]
    if index.shape[axis] != 1:
        return None
    return F.astype(F.sum(F.where(_match(x, index, axis), x, 0), axis, keepdims=True), x.dtype)


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
        infer=lambda g, like, index, axis: g.with_shape(like.shape),
        eval=_scatter_along_eval,
        vjp=(lambda g, node, out, x, like, index: apply(along_op, g, index, axis=node.attrs["axis"]), None, None),
        shape_only=(1,),
        promote=keep,
        doc="Adds values at positions along one axis; the cotangent of take_along_axis.",
    )
)

# public functions ------------------------------------------------------------------------------------------------


@public
@numpy_twin(np.take)
def take(x: Any, index: Any, axis: int = 0) -> Any:
    """x[index] along `axis`: the index's shape replaces that axis. Negative indices count from the end.

    Raises IndexRangeError for one out of range, DTypeError for a floating index.
    """
    axis = normalize_axis(axis, ndim_of(x))
    index = _as_index(index)
    return apply(gather_op, x, bounded(index, x, axis, negative=True), axis=axis)


@public
@numpy_twin(np.take_along_axis)
def take_along_axis(x: Any, index: Any, axis: int = -1) -> Any:
    """Pick along `axis` one or more positions per row (PyTorch's `gather`, NumPy's `take_along_axis`).

    `index` has x's number of axes. Negative positions count from the end. Raises IndexRangeError.
    """
    axis = normalize_axis(axis, ndim_of(x))
    return apply(along_op, x, bounded(_as_index(index), x, axis, negative=True), axis=axis)


@public
def one_hot(index: Any, classes: int, dtype: Any = None) -> Any:
    """1 at the index along a new last axis of extent `classes`, else 0; default float unless `dtype` is given.

    Raises IndexRangeError for an index outside [0, classes).
    """
    if isinstance(classes, bool) or not isinstance(classes, (int, np.integer)) or classes < 1:
        raise ArgumentError(f"one_hot: classes must be a positive integer, got {classes!r}")
    dtype = get_default_dtype() if dtype is None else as_dtype(dtype)
    rail = np.arange(int(classes), dtype=np.int64)
    index = bounded(_as_index(index), rail, 0, negative=False)
    return F.astype(F.eq(F.expand_dims(index, ndim_of(index)), rail), dtype)


def _as_index(index: Any) -> Any:
    if isinstance(index, Operators):
        return index
    array = np.asarray(index)
    if array.dtype.kind not in "iu" and array.size:
        raise DTypeError(f"indices must be integers, got {array.dtype}")
    return array if array.dtype.kind in "iu" else array.astype(np.int64)


@public
def getitem(x: Any, key: Any) -> Any:
    """x[key] with NumPy's rules: ints, slices, None, Ellipsis, integer arrays (at neighbouring axes or one) and, for
    values known now, boolean masks. Raises IndexRangeError and ArgumentError."""
    if key.__class__ is int and x.shape:
        return apply(slice_op, x, slices=(key,))
    if key is None:
        return F.expand_dims(x, 0)
    if key.__class__ is slice:
        key = (key,)
    if key.__class__ is tuple and len(key) <= ndim_of(x) and PLAIN.issuperset([k.__class__ for k in key]):
        return apply(slice_op, x, slices=tuple([k if k.__class__ is int else bounds(k) for k in key]))
    return _general(x, key)


PLAIN = frozenset({int, slice})


def _general(x: Any, key: Any) -> Any:
    keys = list(key) if isinstance(key, tuple) else [key]
    keys = _unmask(keys, x)
    consumed = sum(k is not None and k is not Ellipsis for k in keys)
    if sum(k is Ellipsis for k in keys) > 1:
        raise ArgumentError("an index can have only one Ellipsis")
    n = ndim_of(x)
    if consumed > n:
        raise IndexRangeError(f"too many indices: {consumed} for {n} axes")
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
    fill = [slice(None)] * (n - consumed)
    keys = keys[:at] + fill + keys[at + 1 :]
    return _subscript(x, keys)


def _unmask(keys: list[Any], x: Any) -> list[Any]:
    """Boolean masks as the integer arrays of their true positions."""
    result: list[Any] = []
    for k in keys:
        dtype = getattr(k, "dtype", np.asarray(k).dtype if isinstance(k, list) else None)
        if dtype == np.bool_ and not isinstance(k, (bool, np.bool_)):
            if isinstance(k, Symbol):
                raise ArgumentError(
                    "a boolean mask gives a result whose size depends on values; a graph can't hold it",
                    "use sg.where(mask, x, 0), or index with integers",
                )
            mask = np.asarray(k.numpy() if hasattr(k, "numpy") else k)
            axis = len([r for r in result if r is not None])
            if mask.shape != tuple(x.shape[axis : axis + mask.ndim]):
                raise IndexRangeError(
                    f"a mask of shape {shape_text(mask.shape)} doesn't fit x of shape {shape_text(x.shape)}"
                )
            result.extend(np.nonzero(mask))
        else:
            result.append(k)
    return result


def _subscript(x: Any, keys: list[Any]) -> Any:
    slices: list[Any] = []
    insert: list[int] = []  # places of None in the result
    arrays: list[tuple[int, Any]] = []  # axis of the sliced x, index
    place = ints = 0
    for k in keys:
        if k is None:
            insert.append(place)
            place += 1
        elif isinstance(k, slice):
            slices.append(bounds(k))
            place += 1
        elif isinstance(k, (int, np.integer)) and not isinstance(k, (bool, np.bool_)):
            slices.append(int(k))
            ints += 1
        elif isinstance(k, (list, np.ndarray, Operators, range)):
            slices.append(WHOLE)
            arrays.append((place, _as_index(list(k) if isinstance(k, range) else k)))
            place += 1
        else:
            raise ArgumentError(f"an index is an int, a slice, None, Ellipsis or an integer array, got {k!r}")
    if arrays and (insert or (ints and len(arrays) > 1)):
        raise ArgumentError("integer arrays together with None or ints: index in two steps")
    if any(s != WHOLE for s in slices) or not (arrays or insert):
        x = apply(slice_op, x, slices=tuple(slices))
    if insert:
        return F.expand_dims(x, tuple(insert))
    return _pick(x, arrays) if arrays else x


def _pick(x: Any, arrays: list[tuple[int, Any]]) -> Any:
    axes = [a for a, _ in arrays]
    if axes != list(range(axes[0], axes[0] + len(axes))):  # NumPy: the picked axes come first
        rest = [i for i in range(ndim_of(x)) if i not in axes]
        x, axes = F.permute(x, tuple(axes + rest)), list(range(len(axes)))
    indices = [bounded(k, x, a, negative=True) for a, (_, k) in zip(axes, arrays, strict=True)]
    return apply(gather_op, x, *indices, axis=axes[0])


def bounds(k: slice) -> tuple[int | None, int | None, int]:
    """A slice as a tuple of ints and None, as attributes of nodes have to be. Raises ArgumentError."""
    start, stop, step = k.start, k.stop, k.step
    if step is None and (start is None or start.__class__ is int) and (stop is None or stop.__class__ is int):
        return start, stop, 1
    try:
        start, stop, step = [None if p is None else index(p) for p in (start, stop, step)]
    except TypeError:
        raise ArgumentError(f"slice bounds must be integers, got {k!r}") from None
    if step == 0:
        raise ArgumentError("a slice step can't be 0")
    return start, stop, 1 if step is None else step
