"""Elements by their positions: gather_nd, scatter_nd, segments, partitions, masks.

How many elements a mask or a partition selects is decided by the run (`ops/sized.py`). How many segments there are, and where
slices are stitched, decides how an operation is written: a plan serves one value of it, see `ops/deferred.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .core import (
    FLOATING,
    F,
    TensorType,
    UnknownExtentError,
    UnrankedType,
    apply,
    bool_,
    bounded,
    different,
    finfo,
    fits,
    has_rank,
    nonzero_op,
    positions_op,
    static,
)
from .dtypes import as_dtype
from .errors import InvalidArgumentError
from .tensor import Operand, Pair, define, extents_of, operation, pair, tensor, value_now


def _positions(indices: Any, extents: tuple[int, ...]) -> Any:
    """Row-major positions in axes of these extents, of index vectors along the last axis."""
    steps = [math.prod(extents[i + 1 :]) for i in range(len(extents))]
    return F.sum(F.mul(F.astype(indices, np.int64), static.constant(np.array(steps, np.int64))), axis=-1)


def gathered_in_batches(x: Any, indices: Any, axis: int | None, batch_dims: int | None) -> Any:
    """Slices along `axis`, whose first `batch_dims` axes (all but the indices' last) run along those of the indices."""
    batch = indices.ndim - 1 if batch_dims is None else batch_dims % (indices.ndim + 1)
    along = batch if axis is None else axis % x.ndim
    order = (*range(batch), along, *(a for a in range(batch, x.ndim) if a != along))
    moved = F.permute(x, order)
    sizes, places = extents_of(moved), extents_of(indices)
    outer = math.prod(sizes[:batch])
    rows = F.reshape(moved, (outer * sizes[batch], *sizes[batch + 1 :]))
    start = static.constant((np.arange(outer) * sizes[batch]).reshape(*sizes[:batch], *(1,) * (len(places) - batch)))
    out = F.take(rows, F.add(F.astype(indices, np.int64), start), axis=0)
    inner = len(places) - batch
    between = range(batch + inner, batch + inner + along - batch)
    return F.permute(
        out, (*range(batch), *between, *range(batch, batch + inner), *range(batch + inner + along - batch, out.ndim))
    )


@operation("GatherNd")
def gather_nd(params: Operand, indices: Operand, batch_dims: int = 0, bad_indices_policy: str = "") -> Any:
    """Slices of `params` at index vectors, which are the last axis of `indices`; batch_dims: of the first axes of both, which
    run together."""
    if batch_dims:
        batch = extents_of(indices)[: int(batch_dims)]
        numbers = np.stack(np.meshgrid(*map(np.arange, batch), indexing="ij"), -1).astype(indices.dtype)
        spread = numbers.reshape(*batch, *(1,) * (indices.ndim - 1 - len(batch)), len(batch))
        shape = (*extents_of(indices)[:-1], len(batch))
        indices = F.concatenate([static.constant(np.broadcast_to(spread, shape)), indices], axis=-1)
    depth, shape = extents_of(indices)[-1], extents_of(params)
    if depth > len(shape):
        raise ValueError(
            f"indices.shape[-1] must be <= params.rank, but saw indices shape: {indices.shape} and params shape: {shape}"
        )
    rows = F.reshape(params, (math.prod(shape[:depth]), *shape[depth:]))
    return F.take(rows, _positions(indices, shape[:depth]), axis=0)


@operation("ScatterNd")
def scatter_nd(indices: Operand, updates: Operand, shape: Any, bad_indices_policy: str = "") -> Any:
    """Zeros of a shape with slices added at index vectors, which are the last axis of `indices`."""
    depth, sizes = extents_of(indices)[-1], tuple(int(n) for n in shape)
    zeros = static.constant(np.zeros((math.prod(sizes[:depth]), *sizes[depth:]), updates.dtype))
    slices = F.reshape(updates, (-1, *sizes[depth:]))
    return F.reshape(F.index_add(zeros, 0, F.reshape(_positions(indices, sizes[:depth]), (-1,)), slices), sizes)


@operation("boolean_mask", "GatherV2")
def boolean_mask(tensor_: Operand, mask: Any, axis: int | None = None) -> Any:
    """The elements, or slices, of `tensor` where the mask holds."""
    x, where, first = tensor_, F.astype(tensor(mask), bool_), 0 if axis is None else axis
    if not where.ndim:
        raise ValueError("mask cannot be scalar.")
    if not fits(where.shape, x.shape[first : first + where.ndim]):
        raise ValueError(f"Shapes {x.shape[first : first + where.ndim]} and {where.shape} are incompatible")
    if where.ndim > 1:
        shape = x.shape
        x = F.reshape(x, (*shape[:first], -1, *shape[first + where.ndim :]))
    return F.take(x, places(where), axis=first)


def places(condition: Any) -> Any:
    """The row-major positions where a condition holds."""
    try:
        return static.constant(np.flatnonzero(value_now(condition)))
    except UnknownExtentError:
        return apply(positions_op, condition)


def _rows(condition: Any) -> TensorType:
    x, kind = tensor(condition), np.dtype(np.int64)
    return TensorType((None, x.ndim), kind) if has_rank(x) else UnrankedType(kind)


@operation("Where", types=_rows)
def where_true(condition: Any) -> Any:
    """The positions of true elements: (count, axes) int64, in row-major order."""
    try:
        return static.constant(np.argwhere(value_now(condition)).astype(np.int64))
    except UnknownExtentError:
        return apply(nonzero_op, tensor(condition))


@operation("unique", "Unique")
def unique(x: Operand, out_idx: Any = np.int32) -> tuple[Any, Any]:
    """The different elements in the order of their first appearance, and which of them each element is."""
    kind = as_dtype(out_idx).numpy
    try:
        found, inverse = _unique(value_now(x))
    except UnknownExtentError:
        values, number, _, first = different(tensor(x), None)
        order = F.argsort(first)
        rank = F.index_copy(F.zeros_like(order), 0, order, F.index_along(order, 0))
        return F.take(values, order, 0), F.astype(F.take(rank, number, 0), kind)
    return static.constant(found), static.constant(inverse.astype(kind))


def _unique(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return found[order], place[inverse.ravel()]


def _groups(data: Any, partitions: Any, num_partitions: int) -> list[TensorType]:
    x, groups = tensor(data), tensor(partitions)
    if not has_rank(x) or not has_rank(groups):
        return [UnrankedType(x.dtype)] * num_partitions
    return [TensorType((None, *x.shape[groups.ndim :]), x.dtype)] * num_partitions


@operation("DynamicPartition", sizes=frozenset({"num_partitions"}), types=_groups)
def dynamic_partition(data: Operand, partitions: Any, num_partitions: int) -> list[Any]:
    """The slices of `data` in groups, by the number of the group of each."""
    x, groups = data, tensor(partitions)
    if not fits(groups.shape, x.shape[: groups.ndim]):
        raise ValueError(f"Dimensions must be equal: partitions of shape {groups.shape} for data of shape {x.shape}")
    rows = x if groups.ndim == 1 else F.reshape(x, (-1, *x.shape[groups.ndim :]))
    return [F.take(rows, places(F.eq(groups, k)), axis=0) for k in range(num_partitions)]


@operation("DynamicStitch")
def dynamic_stitch(indices: Any, data: Any) -> Any:
    """Slices of several tensors at their places in one; of two for one place the later."""
    places = [value_now(i) for i in indices]
    parts = [tensor(d) for d in data]
    rest = extents_of(parts[0])[places[0].ndim :]
    rows = F.concatenate([F.reshape(p, (i.size, *rest)) for p, i in zip(parts, places, strict=True)], axis=0)
    order = np.concatenate([i.ravel() for i in places])
    last = np.zeros(order.max() + 1, np.int64)
    last[order] = np.arange(order.size)
    return F.take(rows, static.constant(last), axis=0)


# segments -------------------------------------------------------------------------------------------------------------

Fold = Callable[[Any, Any, int, tuple[int, ...]], Any]
"""(slices, number of each one's segment, number of segments, extents of a slice) -> one slice per segment."""


def _sum(x: Any, ids: Any, count: int, rest: tuple[int, ...]) -> Any:
    return F.index_add(static.constant(np.zeros((count, *rest), x.dtype)), 0, ids, x)


def _counts(x: Any, ids: Any, count: int, rest: tuple[int, ...]) -> Any:
    ones = F.reshape(_sum(F.astype(F.ones_like(ids), x.dtype), ids, count, ()), (count, *(1,) * len(rest)))
    return F.maximum(ones, F.ones_like(ones))


def _mean(x: Any, ids: Any, count: int, rest: tuple[int, ...]) -> Any:
    total, counts = _sum(x, ids, count, rest), _counts(x, ids, count, rest)
    return F.div(total, counts) if x.dtype.kind in FLOATING else F.div(total, counts, rounding_mode="trunc")


def _sqrt_n(x: Any, ids: Any, count: int, rest: tuple[int, ...]) -> Any:
    return F.div(_sum(x, ids, count, rest), F.sqrt(_counts(x, ids, count, rest)))


def _reduced(reduce: str, empty: Callable[[np.dtype], float]) -> Fold:
    def fold(x: Any, ids: Any, count: int, rest: tuple[int, ...]) -> Any:
        start = static.constant(np.full((count, *rest), empty(x.dtype), x.dtype))
        index = F.broadcast_like(F.reshape(ids, (-1, *(1,) * len(rest))), x)
        return F.scatter_reduce(start, 0, index, x, reduce, include_self=True)

    return fold


def _lowest(dtype: np.dtype) -> float:
    return float(finfo(dtype).min) if dtype.kind in FLOATING else int(np.iinfo(dtype).min)


def _highest(dtype: np.dtype) -> float:
    return float(finfo(dtype).max) if dtype.kind in FLOATING else int(np.iinfo(dtype).max)


FOLDS: dict[str, Fold] = {
    "sum": _sum,
    "mean": _mean,
    "sqrt_n": _sqrt_n,
    "prod": _reduced("prod", lambda dtype: 1),
    "max": _reduced("amax", _lowest),
    "min": _reduced("amin", _highest),
}
"""What a segment of no slices has: 0, 1 for a product, and the end of the dtype's range for a maximum or minimum."""


def _folded(fold: Fold, data: Any, ids: Any, count: int) -> Any:
    x, ids = tensor(data), tensor(ids)
    rest = extents_of(x)[ids.ndim :]
    return fold(F.reshape(x, (-1, *rest)), F.reshape(F.astype(ids, np.int64), (-1,)), int(count), rest)


def _unsorted(name: str) -> Callable[..., Any]:
    def call(data: Any, segment_ids: Any, num_segments: int) -> Any:
        """Slices with a negative number are dropped: they go to a segment of their own."""
        ids, count = F.astype(tensor(segment_ids), np.int64), int(num_segments)
        segments = static.constant(np.zeros(count, bool))
        known = bounded(F.maximum(ids, 0), segments, 0, negative=False)
        out = _folded(FOLDS[name], data, F.where(F.lt(ids, 0), count, known), count + 1)
        return out[:count]

    return operation(f"UnsortedSegment{name.title().replace('_', '')}")(call)


def _sorted(name: str) -> Callable[..., Any]:
    def call(data: Any, segment_ids: Any) -> Any:
        ids = value_now(segment_ids)
        if (np.diff(ids) < 0).any():
            raise InvalidArgumentError(f"segment ids are not increasing: {ids.tolist()}")
        count = int(ids[-1]) + 1 if ids.size else 0
        out = _folded(FOLDS[name], data, segment_ids, count)
        missing = np.setdiff1d(np.arange(count), ids)
        if not missing.size or name not in ("max", "min"):
            return out
        kept = np.ones((count, *(1,) * (out.ndim - 1)), out.dtype)
        kept[missing] = 0  # a segment without slices is 0 here
        return F.where(static.constant(kept != 0), out, F.zeros_like(out))

    return operation(f"Segment{name.title()}")(call)


SEGMENTS = {f"unsorted_segment_{name}": _unsorted(name) for name in FOLDS}
SEGMENTS |= {f"segment_{name}": _sorted(name) for name in FOLDS if name != "sqrt_n"}
for _name, _function in SEGMENTS.items():
    _function.__name__ = _function.__qualname__ = _name
    _function.__doc__ = f"TensorFlow's `{_name}`: slices of `data` along its leading axes, by the number of each one's segment."
globals().update(SEGMENTS)


# orders ---------------------------------------------------------------------------------------------------------------


class TopKV2(NamedTuple):
    values: Any
    indices: Any


@operation("TopKV2")
def top_k(input: Operand, k: int = 1, sorted: bool = True, index_type: Any = np.int32) -> TopKV2:
    """The k largest elements along the last axis, the largest first, and their positions."""
    values, places = F.topk(input, k)
    return TopKV2(values, F.astype(places, as_dtype(index_type).numpy))


@operation("InTopK", sizes=frozenset(), types=lambda predictions, targets, k: TensorType((None,), np.dtype(bool)))
def in_top_k(predictions: Operand, targets: Operand, k: Operand) -> Any:
    """Whether each row's target is among its k largest predictions: as many are larger at most as k - 1."""
    own = F.gather(predictions, 1, F.expand_dims(F.astype(targets, np.int64), 1))
    larger = F.sum(F.astype(F.gt(predictions, own), np.int64), axis=1)
    return F.lt(larger, F.astype(k, np.int64))


sort = define("sort", "sort", lambda values, axis=-1, direction="ASCENDING": F.sort(values, axis, direction == "DESCENDING")[0])


@operation("argsort")
def argsort(values: Operand, axis: int = -1, direction: str = "ASCENDING", stable: bool = False) -> Any:
    """Positions in the order of the elements (int32)."""
    return F.astype(F.argsort(values, axis, direction == "DESCENDING", stable=True), np.int32)


invert_permutation = define("invert_permutation", "InvertPermutation", lambda x: F.astype(F.argsort(x), x.dtype))


@operation("confusion_matrix", sizes=frozenset({"num_classes"}))
def confusion_matrix(labels: Any, predictions: Any, num_classes: int, dtype: Any = np.int32, weights: Any = None) -> Any:
    """How often each label (rows) was predicted as each class (columns)."""
    kind = as_dtype(dtype).numpy
    labels, predictions = (F.astype(tensor(x), np.int64) for x in (labels, predictions))
    ones = F.astype(F.ones_like(labels), kind) if weights is None else F.astype(tensor(weights), kind)
    places = F.add(F.mul(labels, num_classes), predictions)
    flat = F.index_add(static.constant(np.zeros(num_classes**2, kind)), 0, places, ones)
    return F.reshape(flat, (num_classes, num_classes))


@operation("ReverseSequence", sizes=frozenset({"seq_axis", "batch_axis", "seq_dim", "batch_dim"}))
def reverse_sequence(
    input: Operand, seq_lengths: Operand, seq_axis: int | None = None, batch_axis: int | None = None,
    seq_dim: int | None = None, batch_dim: int | None = None,
) -> Any:  # fmt: skip
    """Each sequence reversed up to its length."""
    x, lengths = input, F.astype(seq_lengths, np.int64)
    along, batch, shape = seq_axis or 0, batch_axis or 0, extents_of(x)
    steps = np.arange(shape[along]).reshape([-1 if a == along else 1 for a in range(x.ndim)])
    ends = F.reshape(lengths, tuple(-1 if a == batch else 1 for a in range(x.ndim)))
    place = static.constant(steps)
    index = F.where(F.lt(place, ends), F.sub(F.sub(ends, place), 1), place)
    return F.gather(x, along, F.broadcast_to(index, shape))


roll = define("roll", "Roll", lambda input, shift, axis: F.roll(input, shift, axis), sizes=frozenset({"shift", "axis"}))


@operation("meshgrid")
def meshgrid(*args: Any, indexing: str = "xy") -> list[Any]:
    """Grids of the given axes."""
    return list(F.meshgrid(*(tensor(a) for a in args), indexing=indexing))


broadcast_to = define("broadcast_to", "BroadcastTo", lambda input, shape: F.broadcast_to(input, tuple(int(n) for n in shape)))


@operation("MatrixBandPart", sizes=frozenset({"num_lower", "num_upper"}))
def matrix_band_part(input: Operand, num_lower: int, num_upper: int) -> Any:
    """The diagonal with so many below and above it; all for a negative number."""
    out = input if num_upper < 0 else F.tril(input, num_upper)
    return out if num_lower < 0 else F.triu(out, -num_lower)


@operation("SearchSorted")
def searchsorted(sorted_sequence: Pair, values: Pair, side: str = "left", out_type: Any = np.int32) -> Any:
    return F.astype(F.searchsorted(sorted_sequence, values, right=side == "right"), as_dtype(out_type).numpy)


@operation("SelectV2")
def where_v2(condition: Any, x: Any = None, y: Any = None) -> Any:
    """x where the condition holds, else y, all broadcast together; the positions of true elements without x and y."""
    return select(condition, x, y, "SelectV2", lambda condition, x: condition)


def select(condition: Any, x: Any, y: Any, label: str, fitted: Callable[[Any, Any], Any]) -> Any:
    """x where the condition holds, fitted to x, else y; the positions of true elements without x and y."""
    if x is None and y is None:
        return where_true(condition).symbol
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    x, y, condition = *pair(x, y, label), tensor(condition)
    if condition.dtype != bool_:
        raise TypeError(
            f"Input 'condition' of '{label}' Op has type {condition.dtype} that does not match expected type of bool."
        )
    return F.where(fitted(condition, x), x, y)
