"""Elements in other places: repeats, differences of sets, updates of parts, blocks, diagonals of any rank."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import shape, stack
from .core import F, Symbol, UnknownExtentError, static, value_of
from .dtypes import TensorShape, as_dtype
from .gathering import _positions, _unique, gathered_in_batches
from .nn.spatial import batch_to_space_nd, space_to_batch_nd
from .tensor import SIZES, Operand, extents_of, operation, tensor, value_now


@operation("Repeat", sizes=SIZES | {"repeats"})
def repeat(input: Operand, repeats: Any, axis: int | None = None) -> Any:
    """Each element so often in a row along an axis, or of the flattened input; `repeats`: a number, or one per element."""
    if axis is None:
        input, axis = F.reshape(input, (-1,)), 0
    counts = np.asarray(repeats)
    extent = extents_of(input)[axis]
    index = np.repeat(np.arange(extent), counts.ravel() if counts.size > 1 else int(counts))
    return F.take(input, static.constant(index.astype(np.int64)), axis=axis)


@operation("ListDiff")
def setdiff1d(x: Any, y: Any, index_dtype: Any = np.int32) -> tuple[Any, Any]:
    """(the elements of x that are not in y, in their order, and their positions). The values have to be known or fed."""
    first, second = np.asarray(value_now(x)), np.asarray(value_now(y))
    place = np.flatnonzero(~np.isin(first, second))
    return static.constant(first[place]), static.constant(place.astype(as_dtype(index_dtype).numpy))


@operation("UniqueWithCounts")
def unique_with_counts(x: Any, out_idx: Any = np.int32) -> tuple[Any, Any, Any]:
    """(the different elements in the order of their first appearance, which of them each element is, how often each is)."""
    found, inverse = _unique(value_now(x))
    kind = as_dtype(out_idx).numpy
    counts = np.bincount(inverse, minlength=found.size)
    return tuple(static.constant(a) for a in (found, inverse.astype(kind), counts.astype(kind)))  # type: ignore[return-value]


@operation("UnravelIndex", sizes=frozenset({"dims"}))
def unravel_index(indices: Operand, dims: Any) -> Any:
    """Positions in a flattened array as positions along each axis: (axes, count), in the dtype of the indices."""
    return F.astype(F.stack(list(F.unravel_index(indices, tuple(int(n) for n in dims))), axis=0), indices.dtype)


# parts of a tensor ----------------------------------------------------------------------------------------------------


def _parts(name: str, change: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    def call(tensor_: Any, indices: Any, updates: Any, bad_indices_policy: str = "") -> Any:
        x, indices = tensor(tensor_), tensor(indices)
        values = tensor(updates, x.dtype)
        depth, sizes = extents_of(indices)[-1], extents_of(x)
        rest = sizes[depth:]
        rows = F.reshape(x, (math.prod(sizes[:depth]), *rest))
        ids = F.reshape(_positions(indices, sizes[:depth]), (-1,))
        return F.reshape(change(rows, ids, F.reshape(values, (-1, *rest))), sizes)

    call.__doc__ = "The tensor with slices changed at index vectors, which are the last axis of `indices`."
    return operation(name)(call)


def _extreme(kind: str) -> Callable[[Any, Any, Any], Any]:
    def change(rows: Any, ids: Any, values: Any) -> Any:
        index = F.broadcast_to(F.reshape(ids, (-1, *(1,) * (rows.ndim - 1))), values.shape)
        return F.scatter_reduce(rows, 0, index, values, kind, include_self=True)

    return change


tensor_scatter_nd_update = _parts("TensorScatterUpdate", lambda x, i, v: F.index_copy(x, 0, i, v))
tensor_scatter_nd_add = _parts("TensorScatterAdd", lambda x, i, v: F.index_add(x, 0, i, v))
tensor_scatter_nd_sub = _parts("TensorScatterSub", lambda x, i, v: F.index_add(x, 0, i, F.neg(v)))
tensor_scatter_nd_max = _parts("TensorScatterMax", _extreme("amax"))
tensor_scatter_nd_min = _parts("TensorScatterMin", _extreme("amin"))
tensor_scatter_update, tensor_scatter_add = tensor_scatter_nd_update, tensor_scatter_nd_add
tensor_scatter_sub = tensor_scatter_nd_sub


@operation("BatchGather")
def batch_gather(params: Operand, indices: Operand) -> Any:
    """Slices along the last axis of `indices`, for each element of the axes before it."""
    return gathered_in_batches(params, indices, None, None)


def shape_n(input: Any, out_type: Any = np.int32, name: str | None = None) -> list[Any]:
    """The shapes of several tensors."""
    return [shape(x, out_type=out_type) for x in input]


def parallel_stack(values: Any, name: str = "parallel_stack") -> Any:
    """`tf.stack`, whose parts are computed in any order."""
    return stack(values, name=name)


# shapes ---------------------------------------------------------------------------------------------------------------


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape of two shapes broadcast together. Raises ValueError where they don't fit."""
    first, second = TensorShape(shape_x), TensorShape(shape_y)
    if first.dims is None or second.dims is None:
        return TensorShape(None)
    a, b = first.as_list(), second.as_list()
    rank = max(len(a), len(b))
    out = []
    for m, n in zip([1] * (rank - len(a)) + a, [1] * (rank - len(b)) + b, strict=True):
        if m is not None and n is not None and m != n and 1 not in (m, n):
            raise ValueError(f"Incompatible shapes for broadcasting: {first} and {second}.")
        known = [d for d in (m, n) if d not in (None, 1)]
        out.append(known[0] if known else 1 if m == n == 1 else None)
    return TensorShape(out)


@operation("BroadcastArgs")
def broadcast_dynamic_shape(shape_x: Operand, shape_y: Operand) -> Any:
    """The shape of two shapes (tensors) broadcast together, a tensor."""
    rank = max(extents_of(shape_x)[0], extents_of(shape_y)[0])
    shape_x, shape_y = (
        F.concatenate([static.constant(np.ones(rank - v.shape[0], v.dtype)), v], axis=0) for v in (shape_x, shape_y)
    )
    return F.where(F.eq(shape_x, 1), shape_y, shape_x)


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a tensor that follows from constants and known extents; None for others."""
    symbol = getattr(tensor, "symbol", tensor)
    if not isinstance(symbol, Symbol):
        return np.asarray(symbol)
    try:
        return value_of(symbol)
    except UnknownExtentError:
        return None


# blocks ---------------------------------------------------------------------------------------------------------------


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """(paddings, crops) with which `space_to_batch_nd` divides the spatial axes."""
    sizes, blocks = np.asarray(_known(input_shape)), np.asarray(_known(block_shape))
    base = np.zeros((len(blocks), 2), np.int64) if base_paddings is None else np.asarray(_known(base_paddings))
    extra = -(sizes + base.sum(1)) % blocks
    paddings = np.stack([base[:, 0], base[:, 1] + extra], 1)
    return (
        _constant(paddings, name=name or "paddings"),
        _constant(np.stack([np.zeros_like(extra), extra], 1), name=name or "crops"),
    )


@operation("Const")
def _constant(value: Any) -> Any:
    return static.constant(np.asarray(value, np.int32))


def _known(value: Any) -> Any:
    found = get_static_value(value)
    if found is None:
        raise ValueError("the extents have to be known when the graph is built")
    return found


def space_to_batch(input: Any, paddings: Any, block_size: Any = None, name: str | None = None, block_shape: Any = None) -> Any:
    """Blocks of the padded height and width become parts of the batch."""
    return space_to_batch_nd(input, _blocks(block_size, block_shape), paddings, name=name)


def batch_to_space(input: Any, crops: Any, block_size: Any, name: str | None = None, block_shape: Any = None) -> Any:
    """The inverse of `space_to_batch`."""
    return batch_to_space_nd(input, _blocks(block_size, block_shape), crops, name=name)


def _blocks(block_size: Any, block_shape: Any) -> Any:
    return [block_size, block_size] if block_shape is None else block_shape


# diagonals ------------------------------------------------------------------------------------------------------------


@operation("Diag")
def tensor_diag(diagonal: Operand) -> Any:
    """A tensor of twice the rank with `diagonal` on its diagonal, zeros elsewhere."""
    sizes = extents_of(diagonal)
    return F.reshape(F.diag_embed(F.reshape(diagonal, (-1,))), (*sizes, *sizes))


@operation("DiagPart")
def tensor_diag_part(input: Operand) -> Any:
    """The diagonal of a tensor of even rank, whose halves have the same extents."""
    sizes = extents_of(input)
    half = sizes[: len(sizes) // 2]
    if len(sizes) % 2 or half != sizes[len(half) :]:
        raise ValueError(f"the two halves of the shape {TensorShape(sizes)} have to be equal")
    return F.reshape(F.diagonal(F.reshape(input, (math.prod(half),) * 2), 0), half)


diag, diag_part = tensor_diag, tensor_diag_part
