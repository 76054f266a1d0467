"""ONNX's ops that reduce axes, run along them or order them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...operators import F
from .elementwise import like
from .records import Call, T, reader
from .shapes import ints

Reduce = Callable[[T, tuple[int, ...], bool], T]


def _reduction(op: str, reduce: Reduce, alone: Callable[[T], T]) -> None:
    """alone: the result where no axis is reduced, for `noop_with_empty_axes`."""

    @reader(op, values=(1,))
    def write(
        x: T, axes_input: T = None, *, axes: tuple[int, ...] | None = None, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> T:
        chosen: Any = axes if axes_input is None else tuple(ints(axes_input))
        if not chosen:
            if noop_with_empty_axes:
                return alone(x)
            chosen = tuple(range(x.ndim))
        if not chosen:  # of a scalar
            return alone(x)
        return reduce(x, chosen, bool(keepdims))


def _same(x: T) -> T:
    return x


def _square(x: T) -> T:
    return x * x


def _total(x: T, axes: tuple[int, ...], keep: bool) -> T:
    return F.sum(x, axes, keep, dtype=x.dtype)


def _largest(x: T, axes: tuple[int, ...], keep: bool, sign: int = 1) -> T:
    if x.dtype == np.bool_:
        return F.any(x, axes, keep) if sign > 0 else F.all(x, axes, keep)
    axes = tuple(axis % x.ndim for axis in axes)
    if any(x.shape[axis] == 0 for axis in axes):  # of no elements: the neutral one
        ends = np.finfo if x.dtype.kind == "f" else np.iinfo
        start = -sign * np.inf if x.dtype.kind == "f" else (ends(x.dtype).min if sign > 0 else ends(x.dtype).max)
        shape = [1 if i in axes else extent for i, extent in enumerate(x.shape) if keep or i not in axes]
        return np.full(shape, start, x.dtype)
    return (F.amax if sign > 0 else F.amin)(x, axes, keep)


def _product(x: T, axes: tuple[int, ...], keep: bool) -> T:
    for axis in sorted((axis % x.ndim for axis in axes), reverse=True):
        x = F.prod(x, axis, keep, dtype=x.dtype)
    return x


_reduction("ReduceSum", _total, _same)
_reduction("ReduceMean", lambda x, axes, keep: F.mean(x, axes, keep), _same)
_reduction("ReduceMax", _largest, _same)
_reduction("ReduceMin", lambda x, axes, keep: _largest(x, axes, keep, -1), _same)
_reduction("ReduceProd", _product, _same)
_reduction("ReduceL1", lambda x, axes, keep: _total(F.abs(x), axes, keep), F.abs)
_reduction("ReduceL2", lambda x, axes, keep: F.sqrt(_total(x * x, axes, keep)), F.abs)
_reduction("ReduceSumSquare", lambda x, axes, keep: _total(x * x, axes, keep), _square)
_reduction("ReduceLogSum", lambda x, axes, keep: F.log(_total(x, axes, keep)), F.log)
_reduction("ReduceLogSumExp", lambda x, axes, keep: F.logsumexp(x, axes, keep), _same)


def _position(op: str, find: Callable[..., T]) -> None:
    @reader(op)
    def write(x: T, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> T:
        if not select_last_index:
            return find(x, axis, bool(keepdims))
        return x.shape[axis] - 1 - find(F.flip(x, (axis,)), axis, bool(keepdims))


_position("ArgMax", F.argmax)
_position("ArgMin", F.argmin)


def _rows(x: T, axis: int, opset: int) -> tuple[T, int]:
    """Before opset 13 softmax is that of a matrix, of which `axis` is the first column."""
    if opset >= 13:
        return x, axis
    axis %= x.ndim
    rows = int(np.prod(x.shape[:axis], dtype=np.int64))
    return F.reshape(x, (rows, -1)), 1


def _softmax(op: str, function: Callable[[T, int], T]) -> None:
    @reader(op)
    def write(x: T, *, axis: int | None = None, call: Call) -> T:
        matrix, along = _rows(x, (-1 if call.opset >= 13 else 1) if axis is None else axis, call.opset)
        return F.reshape(function(matrix, along), x.shape)


def _hard(x: T, axis: int) -> T:
    places = np.arange(x.shape[axis]).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return F.astype(F.eq(F.argmax(x, axis, True), places), x.dtype)


_softmax("Softmax", lambda x, axis: F.softmax(x, axis))
_softmax("LogSoftmax", lambda x, axis: F.log_softmax(x, axis))
_softmax("Hardmax", _hard)


def _running(op: str, along: Callable[..., T], neutral: int) -> None:
    @reader(op, values=(1,))
    def write(x: T, axis: T, *, exclusive: int = 0, reverse: int = 0) -> T:
        (place,) = ints(axis)
        place %= x.ndim
        x = F.flip(x, (place,)) if reverse else x
        if exclusive:
            cut = tuple(slice(0, -1) if i == place else slice(None) for i in range(x.ndim))
            first = np.full([1 if i == place else extent for i, extent in enumerate(x.shape)], neutral, x.dtype)
            x = F.concatenate([first, x[cut]], place)
        result = F.astype(along(x, place), x.dtype)
        return F.flip(result, (place,)) if reverse else result


_running("CumSum", F.cumsum, 0)
_running("CumProd", F.cumprod, 1)


@reader("TopK", values=(1,))
def _top_k(x: T, k: T = None, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> T:
    (count,) = ints(k)
    order = F.argsort(x, axis, descending=bool(largest), stable=True)
    cut = tuple(slice(0, count) if i == axis % x.ndim else slice(None) for i in range(x.ndim))
    places = order[cut]
    return F.take_along_axis(x, places, axis), places


@reader("Unique", values=(0,))
def _unique(x: T, *, axis: int | None = None, sorted: int = 1) -> T:
    found, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first, kind="stable")
        found = found[order] if axis is None else np.take(found, order, axis)
        first, counts = first[order], counts[order]
        inverse = np.argsort(order, kind="stable")[inverse]
    return found, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)


@reader("NonZero", values=(0,))
def _nonzero(x: T) -> T:
    return np.array(np.nonzero(np.atleast_1d(x)), np.int64)


@reader("LpNormalization")
def _lp_normalization(x: T, *, axis: int = -1, p: int = 2) -> T:
    size = _total(F.abs(x), (axis,), True) if p == 1 else F.sqrt(_total(x * x, (axis,), True))
    zero = F.eq(size, 0)
    return F.where(zero, like(0, x), x / F.where(zero, like(1, x), size))
