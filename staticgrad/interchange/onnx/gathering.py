"""ONNX's ops that read or write elements at positions."""

from __future__ import annotations

import numpy as np

from ...errors import ArgumentError
from ...operators import F
from .records import READERS, Reader, T, reader
from .shapes import ints


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
