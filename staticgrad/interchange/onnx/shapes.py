"""ONNX's ops that make, rearrange, join, cut and measure tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...ir import REGISTRY
from ...namespaces.functional import pad as pad_edges
from ...ops.operators import F, apply
from .records import READERS, NodeContext, Reader, T, dtype_of, reader

READERS["", "Identity"] = Reader("Identity", lambda x: x, raw=True)


def ints(values: T) -> list[int]:
    """Python's integers of an array."""
    return [int(v) for v in np.asarray(values).reshape(-1)]


@reader("Constant")
def _constant(
    *, value: T = None, value_float: float | None = None, value_floats: Any = None, value_int: int | None = None,
    value_ints: Any = None, value_string: Any = None, value_strings: Any = None, sparse_value: Any = None,
) -> T:  # fmt: skip
    if value is not None:
        return value
    if value_float is not None or value_floats is not None:
        return np.asarray(value_floats if value_float is None else value_float, np.float32)
    if value_int is not None or value_ints is not None:
        return np.asarray(value_ints if value_int is None else value_int, np.int64)
    raise ArgumentError("ONNX: a Constant of texts or a sparse one is not supported")


@reader("ConstantOfShape", values=(0,))
def _constant_of_shape(shape: T, *, value: T = None) -> T:
    value = np.zeros(1, np.float32) if value is None else value
    return np.full(ints(shape), value.reshape(()), value.dtype)


@reader("Range", values=(0, 1, 2))
def _range(start: T, limit: T, delta: T) -> T:
    return np.arange(start.reshape(()), limit.reshape(()), delta.reshape(()), dtype=start.dtype)


@reader("EyeLike", raw=True)
def _eye_like(x: T, *, dtype: int | None = None, k: int = 0) -> T:
    rows, columns = x.shape
    return np.eye(rows, columns, k, dtype=x.dtype if dtype is None else dtype_of(dtype))


@reader("Shape", raw=True)
def _shape(x: T, *, start: int = 0, end: int | None = None) -> T:
    axes = range(x.ndim)[start:end]
    if None not in x.shape:
        return np.array([x.shape[axis] for axis in axes], np.int64)
    return F.stack([F.reshape(_extent(x, axis), ()) for axis in axes])  # known in the run


def _extent(x: T, axis: int) -> T:
    if x.shape[axis] is not None:
        return np.asarray(x.shape[axis], np.int64)
    return apply(REGISTRY["count"], x, axis=(axis,), dtype=np.dtype(np.int64))


@reader("Size", raw=True)
def _size(x: T) -> T:
    return F.prod(_shape(x)) if None in x.shape else np.array(math.prod(x.shape), np.int64)


@reader("Reshape", values=(1,))
def _reshape(x: T, shape: T = None, *, allowzero: int = 0) -> T:
    target = [x.shape[i] if extent == 0 and not allowzero else extent for i, extent in enumerate(ints(shape))]
    if -1 in target and 0 in target:  # the other extents say what is left
        rest = math.prod(extent for extent in target if extent != -1)
        target[target.index(-1)] = 0 if rest == 0 else math.prod(x.shape) // rest
    return F.reshape(x, tuple(target))


@reader("Flatten")
def _flatten(x: T, *, axis: int = 1) -> T:
    axis = axis + x.ndim if axis < 0 else axis
    rows = math.prod(x.shape[:axis])
    return F.reshape(x, (rows, math.prod(x.shape[axis:])))


@reader("Transpose")
def _transpose(x: T, *, perm: tuple[int, ...] | None = None) -> T:
    return F.permute(x, tuple(reversed(range(x.ndim))) if perm is None else perm)


@reader("Squeeze", values=(1,))
def _squeeze(x: T, axes_input: T = None, *, axes: tuple[int, ...] | None = None) -> T:
    given: Any = ints(axes_input) if axes_input is not None else axes
    if given is None:
        given = [i for i, extent in enumerate(x.shape) if extent == 1]
    gone = {axis % x.ndim if x.ndim else 0 for axis in given}
    return F.reshape(x, tuple(extent for i, extent in enumerate(x.shape) if i not in gone))


@reader("Unsqueeze", values=(1,))
def _unsqueeze(x: T, axes_input: T = None, *, axes: tuple[int, ...] | None = None) -> T:
    given = ints(axes_input) if axes_input is not None else list(axes or ())
    ndim = x.ndim + len(given)
    places = {axis % ndim for axis in given}
    rest = iter(x.shape)
    return F.reshape(x, tuple(1 if i in places else next(rest) for i in range(ndim)))


@reader("Expand", values=(1,))
def _expand(x: T, shape: T) -> T:
    return F.broadcast_to(x, np.broadcast_shapes(tuple(x.shape), tuple(ints(shape))))


@reader("Tile", values=(1,))
def _tile(x: T, repeats: T) -> T:
    return F.tile(x, tuple(ints(repeats)))


@reader("Concat")
def _concat(*xs: T, axis: int) -> T:
    return F.concatenate(list(xs), axis)


@reader("Split", values=(1,))
def _split(
    x: T,
    lengths: T = None,
    *,
    axis: int = 0,
    num_outputs: int | None = None,
    split: tuple[int, ...] | None = None,
    call: NodeContext,
) -> T:
    sizes = ints(lengths) if lengths is not None else split
    if sizes is None:
        count = call.outputs if num_outputs is None else num_outputs
        each = -(-x.shape[axis] // count)
        sizes = [min(each, x.shape[axis] - each * i) for i in range(count)]
    return tuple(F.split(x, list(sizes), axis))


@reader("Slice", values=(1, 2, 3, 4))
def _slice(
    x: T, starts_input: T = None, ends_input: T = None, axes_input: T = None, steps: T = None, *,
    starts: tuple[int, ...] = (), ends: tuple[int, ...] = (), axes: tuple[int, ...] | None = None,
) -> T:  # fmt: skip
    first = list(starts) if starts_input is None else ints(starts_input)
    last = list(ends) if ends_input is None else ints(ends_input)
    chosen = (range(len(first)) if axes is None else axes) if axes_input is None else ints(axes_input)
    strides = [1] * len(first) if steps is None else ints(steps)
    key: list[Any] = [slice(None)] * x.ndim
    stop: int | None
    for axis, start, stop, step in zip(chosen, first, last, strides, strict=True):
        extent = x.shape[axis]
        if step < 0:  # an end before the first element is no negative index
            stop = None if stop + (extent if stop < 0 else 0) < 0 else stop
        key[axis] = slice(start, stop, step)
    return x[tuple(key)]


@reader("Pad", values=(1, 2, 3))
def _pad(
    x: T, pads_input: T = None, value: T = None, axes: T = None, *, mode: str = "constant", pads: tuple[int, ...] = (),
) -> T:  # fmt: skip
    given = list(pads) if pads_input is None else ints(pads_input)
    chosen = list(range(x.ndim)) if axes is None else [axis % x.ndim for axis in ints(axes)]
    half = len(given) // 2
    edges = {axis: (given[i], given[i + half]) for i, axis in enumerate(chosen)}
    if any(edge < 0 for pair in edges.values() for edge in pair):
        cut = [
            slice(max(-low, 0), x.shape[a] - max(-high, 0))
            for a, (low, high) in ((a, edges.get(a, (0, 0))) for a in range(x.ndim))
        ]
        x = x[tuple(cut)]
        edges = {axis: (max(low, 0), max(high, 0)) for axis, (low, high) in edges.items()}
    if mode == "constant":
        flat = [edge for axis in reversed(range(x.ndim)) for edge in edges.get(axis, (0, 0))]
        fill = 0 if value is None or value.size == 0 else value.reshape(()).item()
        return pad_edges(x, flat, "constant", fill) if x.dtype.kind == "f" else _pad_exactly(x, edges, fill)
    for axis, (low, high) in edges.items():
        if low or high:
            x = F.index_select(x, axis, _source(mode, low, x.shape[axis], high))
    return x


def _pad_exactly(x: T, edges: dict[int, tuple[int, int]], fill: Any) -> T:
    """Integers and booleans between constants of their dtype."""
    for axis, widths in edges.items():
        parts = [np.full((*x.shape[:axis], width, *x.shape[axis + 1 :]), fill, x.dtype) for width in widths]
        x = F.concatenate([parts[0], x, parts[1]], axis)
    return x


def _source(mode: str, low: int, extent: int, high: int) -> np.ndarray:
    """The position that each element of a padded axis is taken from."""
    names = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}
    if mode not in names:
        raise ArgumentError(f"ONNX Pad: mode {mode!r} is unknown", "one of constant, reflect, edge, wrap")
    return np.pad(np.arange(extent), (low, high), mode=names[mode])  # type: ignore[call-overload]


@reader("DepthToSpace")
def _depth_to_space(x: T, *, blocksize: int, mode: str = "DCR") -> T:
    n, c, h, w = x.shape
    b = blocksize
    if mode == "DCR":
        parts = F.permute(F.reshape(x, (n, b, b, c // (b * b), h, w)), (0, 3, 4, 1, 5, 2))
    else:
        parts = F.permute(F.reshape(x, (n, c // (b * b), b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return F.reshape(parts, (n, c // (b * b), h * b, w * b))


@reader("SpaceToDepth")
def _space_to_depth(x: T, *, blocksize: int, mode: str = "DCR") -> T:
    n, c, h, w = x.shape
    b = blocksize
    axes = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    parts = F.permute(F.reshape(x, (n, c, h // b, b, w // b, b)), axes)
    return F.reshape(parts, (n, c * b * b, h // b, w // b))


@reader("Trilu", values=(1,))
def _trilu(x: T, k: T = None, *, upper: int = 1) -> T:
    offset = 0 if k is None else int(k)
    rows, columns = x.shape[-2:]
    kept = np.triu(np.ones((rows, columns), np.bool_), offset) if upper else np.tril(np.ones((rows, columns), np.bool_), offset)
    return F.where(kept, x, np.zeros((), x.dtype))


@reader("ReverseSequence", values=(1,))
def _reverse_sequence(x: T, lengths: T, *, batch_axis: int = 1, time_axis: int = 0) -> T:
    steps = np.arange(x.shape[time_axis])
    count = np.asarray(lengths)[:, None]
    order = np.where(steps < count, count - 1 - steps, steps)
    order = order if batch_axis == 0 else order.T
    index = order.reshape(order.shape + (1,) * (x.ndim - 2))
    return F.take_along_axis(x, np.broadcast_to(index, tuple(x.shape)), time_axis)


@reader("CenterCropPad", values=(1,))
def _center_crop_pad(x: T, shape: T, *, axes: tuple[int, ...] | None = None) -> T:
    chosen = range(x.ndim) if axes is None else axes
    for axis, wanted in zip((axis % x.ndim for axis in chosen), ints(shape), strict=True):
        have = x.shape[axis]
        if wanted < have:
            start = (have - wanted) // 2
            x = x[tuple(slice(start, start + wanted) if i == axis else slice(None) for i in range(x.ndim))]
        elif wanted > have:
            low = (wanted - have) // 2
            x = _pad_exactly(x, {axis: (low, wanted - have - low)}, 0)
    return x


@reader("BitCast", values=(0,))
def _bit_cast(x: T, *, to: int) -> T:
    return x.view(dtype_of(to))


# ONNX's ops that read or write elements at positions ------------------------------------------------------------------


def _wrapped(index: T, extent: int) -> T:
    """Positions from the end counted from the start."""
    return F.where(F.lt(index, 0), index + np.asarray(extent, index.dtype), index)


@reader("Gather")
def _gather(x: T, index: T, *, axis: int = 0) -> T:
    axis %= x.ndim
    rows = F.index_select(x, axis, F.reshape(_wrapped(index, x.shape[axis]), (-1,)))
    return F.reshape(rows, (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]))


@reader("GatherElements")
def _gather_elements(x: T, index: T, *, axis: int = 0) -> T:
    cut = tuple(slice(0, extent) if i != axis % x.ndim else slice(None) for i, extent in enumerate(index.shape))
    return F.take_along_axis(x[cut], _wrapped(index, x.shape[axis]), axis)


def _places(x: T, index: T, batch: int) -> tuple[T, ...]:
    """The key that picks what the last axis of `index` points at, after `batch` axes that both have."""
    depth = index.shape[-1]
    grid = [
        np.arange(extent).reshape([-1 if i == b else 1 for i in range(index.ndim - 1)])
        for b, extent in enumerate(x.shape[:batch])
    ]
    return (*grid, *(_wrapped(index[..., i], x.shape[batch + i]) for i in range(depth)))


@reader("GatherND")
def _gather_nd(x: T, index: T, *, batch_dims: int = 0) -> T:
    return x[_places(x, index, batch_dims)]


REDUCE = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
"""ONNX's names of what a scatter does with the element that is there, and PyTorch's."""


@reader("ScatterElements")
def _scatter_elements(x: T, index: T, updates: T, *, axis: int = 0, reduction: str = "none") -> T:
    index = F.astype(_wrapped(index, x.shape[axis]), np.int64)
    if reduction == "none":
        return F.scatter(x, axis, index, updates)
    return F.scatter_reduce(x, axis, index, updates, REDUCE[reduction], include_self=True)


READERS["", "Scatter"] = Reader("Scatter", READERS["", "ScatterElements"].write, names=frozenset({"axis"}))


@reader("ScatterND")
def _scatter_nd(x: T, index: T, updates: T, *, reduction: str = "none") -> T:
    depth = index.shape[-1]
    head, tail = x.shape[:depth], x.shape[depth:]
    if not depth:
        raise ArgumentError("ONNX ScatterND: indices without a last axis")
    strides = np.cumprod([1, *reversed(head[1:])])[::-1]
    flat = sum(
        (F.astype(_wrapped(index[..., i], head[i]), np.int64) * int(strides[i]) for i in range(depth)), start=np.int64(0)
    )
    width = int(np.prod(tail, dtype=np.int64))
    rows = F.reshape(x, (-1, width))
    values = F.reshape(updates, (-1, width))
    places = F.broadcast_to(F.reshape(flat, (-1, 1)), tuple(values.shape))
    if reduction == "none":
        result = F.scatter(rows, 0, places, values)
    else:
        result = F.scatter_reduce(rows, 0, places, values, REDUCE[reduction], include_self=True)
    return F.reshape(result, x.shape)


@reader("OneHot", values=(1,))
def _one_hot(index: T, depth: T, values: T, *, axis: int = -1) -> T:
    (count,) = ints(depth)
    axis = axis + index.ndim + 1 if axis < 0 else axis
    places = np.arange(count).reshape([-1 if i == axis else 1 for i in range(index.ndim + 1)])
    index = F.astype(index, np.int64)
    hot = F.eq(F.unsqueeze(_wrapped(index, count), axis), places)
    return F.where(hot, values[1], values[0])


@reader("Compress", values=(1,))
def _compress(x: T, condition: T, *, axis: int | None = None) -> T:
    x = F.reshape(x, (-1,)) if axis is None else x
    return F.index_select(x, axis or 0, np.flatnonzero(condition))


@reader("TensorScatter", values=(2,))
def _tensor_scatter(past: T, update: T, write_indices: T = None, *, axis: int = -2, mode: str = "linear") -> T:
    axis %= past.ndim
    batch, length, extent = past.shape[0], update.shape[axis], past.shape[axis]
    starts = np.zeros(batch, np.int64) if write_indices is None else np.asarray(write_indices)
    places = starts[:, None] + np.arange(length)
    places = places % extent if mode == "circular" else places
    shape = [batch] + [length if i == axis else 1 for i in range(1, past.ndim)]
    return F.scatter(past, axis, np.broadcast_to(places.reshape(shape), tuple(update.shape)), update)


@reader("ArrayFeatureExtractor", domain="ai.onnx.ml")
def _array_feature_extractor(x: T, index: T) -> T:
    return F.index_select(x, x.ndim - 1, F.reshape(index, (-1,)))


@reader("Binarizer", domain="ai.onnx.ml")
def _binarizer(x: T, *, threshold: float = 0.0) -> T:
    return F.astype(F.gt(x, np.asarray(threshold, x.dtype)), x.dtype)
