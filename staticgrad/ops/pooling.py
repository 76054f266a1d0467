"""Pooling: the largest element or the mean of windows, with their gradients to any order.

The largest element's place is found again in the gradient: reading the operand once more costs less than keeping an
index for each result, and squares of 2 x 2 are found eight at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..base.dtypes import SHORT
from ..base.types import FLOATING, TensorType, shape_text
from ..errors import ArgumentError, ShapeError
from ..ir import Call, Clear, Layout, Native, Node, OpDef, Order, Routine, Scratch, define
from . import rules as at
from .leaves import fits
from .operands import CHANNELS_LAST, Pair
from .operators import apply, as_images, image_eval
from .pointwise import saved_with
from .rules import floating, folded, linear, numeric

# the largest ----------------------------------------------------------------------------------------------------------


WINDOWS = {
    "kernel": at.pair(1), "stride": at.pair(1), "padding": at.pair(0), "dilation": at.pair(1), "ceil": at.flag
}  # fmt: skip
MEANS = {"rows": at.window_rule, "columns": at.window_rule}


def pooled_extent(extent: Any, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> Any:
    """ceil: a last window that begins inside, or in the padding before it, may reach out."""
    if extent is None:
        return None
    way = extent + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-way // stride) if ceil else way // stride) + 1
    return count - 1 if ceil and (count - 1) * stride >= extent + padding else count


def check_extents(x: Any, result: Any) -> None:
    if any(d is not None and d < 1 for d in result):
        before, after = ("x".join("?" if d is None else str(d) for d in (x[1], *e)) for e in (x[2:], result))
        raise ShapeError(f"Given input size: ({before}). Calculated output size: ({after}). Output size is too small")


def _most_infer(x: TensorType, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil: bool) -> TensorType:
    _check_planes(x)
    check_padding(kernel, padding, dilation)
    result = tuple(map(pooled_extent, x.shape[2:], kernel, stride, padding, dilation, (ceil, ceil)))
    check_extents(x.shape, result)
    return x.with_shape((*x.shape[:2], *result))


def _check_planes(x: TensorType) -> None:
    if x.ndim != 4 or 0 in x.shape[2:]:
        raise ShapeError(f"the input needs four axes (n, c, h, w) and planes that are not empty, got {shape_text(x.shape)}")


def check_padding(kernel: Any, padding: Any, dilation: Any) -> None:
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        if p < 0:
            raise ArgumentError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise ArgumentError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )


def _put_infer(g: TensorType, x: TensorType, **attrs: Any) -> TensorType:
    """The cotangent of pooled values has their shape."""
    pooled = _mean_infer(x, **attrs) if "rows" in attrs else _most_infer(x, **attrs)
    if not fits(g.shape, pooled.shape):
        raise ShapeError(f"pooling gives shape {shape_text(pooled.shape)}, got {shape_text(g.shape)}")
    return g.with_shape(x.shape)


def _take_infer(h: TensorType, x: TensorType, **attrs: Any) -> TensorType:
    if not fits(h.shape, x.shape):
        raise ShapeError(f"values {shape_text(h.shape)} have to lie as the elements of {shape_text(x.shape)} do")
    return h.with_shape(_most_infer(x, **attrs).shape)


def _taps(extent: int, count: int, kernel: int, stride: int, padding: int, dilation: int) -> range:
    """The elements of a window that lie inside for some of `count` windows."""
    first = -(-(padding - (count - 1) * stride) // dilation)
    return range(max(first, 0), min(kernel, (extent - 1 + padding) // dilation + 1))


class _Tap(NamedTuple):
    """An element of the windows: the windows in which it lies inside, and the elements that it is there, as indices of arrays
    of four axes; offset: from the first element of a window, in a plane that is flat."""

    windows: tuple[Any, ...]
    elements: tuple[Any, ...]
    offset: int


@lru_cache(maxsize=256)
def _walk(extents: Pair, counts: Pair, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair) -> tuple[list[_Tap], bool]:
    """The taps in row-major order, and whether each lies inside for all windows."""
    found: list[tuple[list[Any], list[Any], list[int]]] = []
    for h, n, k, s, p, d in zip(extents, counts, kernel, stride, padding, dilation, strict=True):
        windows, elements, offsets = [], [], []
        for i in _taps(h, n, k, s, p, d):
            first, last = max(0, -((i * d - p) // s)), min(n, (h - 1 + p - i * d) // s + 1)
            if first < last:
                start = first * s - p + i * d
                windows.append(slice(first, last))
                elements.append(slice(start, start + (last - first - 1) * s + 1, s))
                offsets.append(i * d)
        found.append((windows, elements, offsets))
    (rows, above, down), (columns, beside, across) = found
    every = (slice(None), slice(None))
    taps = [
        _Tap((*every, rows[i], columns[j]), (*every, above[i], beside[j]), down[i] * extents[1] + across[j])
        for i in range(len(rows))
        for j in range(len(columns))
    ]
    return taps, all(tap.windows[2:] == (slice(0, counts[0]), slice(0, counts[1])) for tap in taps)


def _largest(x: np.ndarray, taps: Sequence[_Tap]) -> np.ndarray:
    """The largest element of each window, or a NaN, where all of them lie inside."""
    value: np.ndarray = x[taps[0].elements].copy()
    for tap in taps[1:]:
        np.maximum(x[tap.elements], value, out=value)
    return value


def _best(x: np.ndarray, counts: Pair, *windows: Pair) -> np.ndarray:
    """Which of the taps the largest element of each window is, the first one of equals, or a NaN: counted from 1, or 0 for a
    window in which no element lies."""
    taps, whole = _walk(x.shape[2:], counts, *windows)
    value = np.empty((*x.shape[:2], *counts), x.dtype)
    best = np.full(value.shape, whole, np.min_scalar_type(len(taps)))
    nan = x.dtype.kind in FLOATING and x.size > 0 and bool(np.isnan(np.maximum.reduce(x, None)))
    for number, tap in enumerate(taps):
        here, known, former = x[tap.elements], value[tap.windows], best[tap.windows]
        if whole and not number:
            known[...] = here
            continue
        wins = here > known
        if nan:
            wins |= np.isnan(here) & ~np.isnan(known)
        if not whole:
            wins |= former == 0
        known[...] = np.where(wins, here, known)
        np.maximum(former, np.multiply(wins, number + 1, dtype=best.dtype), out=former)
    return best


def _winners(x: np.ndarray, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil: bool) -> np.ndarray:
    """The place in its plane of each window's largest element: (n, c, h' * w')."""
    width, counts = x.shape[3], _most_infer(TensorType(x.shape, x.dtype), kernel, stride, padding, dilation, ceil).shape[2:]
    best = _best(x, counts, kernel, stride, padding, dilation)
    taps, whole = _walk(x.shape[2:], counts, kernel, stride, padding, dilation)
    rows, columns = (np.arange(n) * s - p for n, s, p in zip(counts, stride, padding, strict=True))
    place: np.ndarray = np.array([0, *[tap.offset for tap in taps]])[best] + (rows[:, None] * width + columns)
    if not whole:
        place[best == 0] = -1  # where no element lies in the window
    return place.reshape(*x.shape[:2], math.prod(counts))


def _most_eval(x: np.ndarray, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil: bool) -> np.ndarray:
    counts = _most_infer(TensorType(x.shape, x.dtype), kernel, stride, padding, dilation, ceil).shape[2:]
    taps, whole = _walk(x.shape[2:], counts, kernel, stride, padding, dilation)
    if whole:
        return _largest(x, taps)
    return _most_take_eval(x, x, kernel=kernel, stride=stride, padding=padding, dilation=dilation, ceil=ceil)


def _most_take_eval(h: np.ndarray, x: np.ndarray, **attrs: Any) -> np.ndarray:
    kind = _most_infer(TensorType(x.shape, x.dtype), **attrs)
    flat = h.reshape(*h.shape[:2], h.shape[2] * h.shape[3])
    return np.take_along_axis(flat, _winners(x, **attrs), 2).reshape(kind.shape)


def _most_put_eval(
    g: np.ndarray, x: np.ndarray, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil: bool
) -> np.ndarray:  # fmt: skip
    if all((k - 1) * d < s for k, s, d in zip(kernel, stride, dilation, strict=True)):  # no element is in two windows
        taps, whole = _walk(x.shape[2:], g.shape[2:], kernel, stride, padding, dilation)
        g = g + np.zeros((), g.dtype)  # -0.0 becomes 0.0, as where it is added up
        if whole:
            return _put_apart(g, x, taps)
        out = np.zeros(x.shape, g.dtype)
        best = _best(x, g.shape[2:], kernel, stride, padding, dilation)
        for number, tap in enumerate(taps, 1):
            np.copyto(out[tap.elements], g[tap.windows], where=best[tap.windows] == number)
        return out
    n, c, h, w = x.shape
    place = _winners(x, kernel, stride, padding, dilation, ceil) + (np.arange(n * c) * (h * w)).reshape(n, c, 1)
    out = np.bincount(place.reshape(-1), g.reshape(-1), n * c * h * w) if place.size else np.zeros(x.size)
    return out.astype(g.dtype).reshape(x.shape)


def _put_apart(g: np.ndarray, x: np.ndarray, taps: Sequence[_Tap]) -> np.ndarray:
    """`most_put` for windows that share no element and lie inside. What is no largest element gets bits of 0: a product of
    integers, which is faster than a choice, and right for infinities and NaNs. Elements that lie apart are read once."""
    parts = [np.ascontiguousarray(x[tap.elements]) for tap in taps]
    value, bits = parts[0].copy(), np.dtype(f"i{g.itemsize}")
    for here in parts[1:]:
        np.maximum(here, value, out=value)
    nan, left = bool(np.isnan(value).any()), np.ones(value.shape, bool)
    out, given = np.zeros(x.shape, bits), g.view(bits)
    for here, tap in zip(parts, taps, strict=True):
        wins = here == value
        if nan:
            wins |= np.isnan(here) & np.isnan(value)
        wins &= left  # the first one of equals
        left ^= wins
        np.multiply(given, wins, out=out[tap.elements])
    return out.view(g.dtype)


def _most_plan(kernel: str, of: int) -> Any:
    def plan(node: Node, layouts: Sequence[Layout], at: Layout) -> Sequence[Call] | None:
        x, a = node.inputs[of].type, node.attrs
        result = _most_infer(x, **a).shape
        sizes = (*x.shape[2:], *result[2:], *a["kernel"], *a["stride"], *a["padding"], *a["dilation"])
        cost = 4 * math.prod(map(min, a["kernel"], x.shape[2:]))
        if at.is_contiguous:
            return _native(node, kernel, result, sizes, cost)
        channels = result[1]
        walked = [(channels, 1) if i.has_order(CHANNELS_LAST) else (1, math.prod(i.shape[2:])) for i in layouts]
        strided = tuple([p for p, i in enumerate(layouts) if i.has_order(CHANNELS_LAST)])
        scratch = (Scratch(channels), Scratch(channels, np.dtype(np.int32))) if kernel == "most_take" else ()
        return [
            Routine(
                "window_pooling", f"{kernel}_last_{SHORT[node.type.dtype]}", result[0],
                (*sizes, channels, *(step for steps in walked for step in steps)), math.prod(result) * cost, scratch,
                strided=strided,
            )
        ]  # fmt: skip

    return plan


def _channels_last(node: Node, layouts: Sequence[Layout]) -> bool:
    """Whether channels are the last axis of all operands in memory."""
    numbers = node.type.dtype.kind == "f" and all(i.type.size for i in (node, *node.inputs))
    return numbers and all(at.has_order(CHANNELS_LAST) for at in layouts)


MOST_ORDER = Order(CHANNELS_LAST, _channels_last, CHANNELS_LAST)


def _native(node: Node, kernel: str, result: Any, sizes: tuple[int, ...], cost: int) -> Sequence[Call] | None:
    if node.type.dtype.kind != "f":
        return None
    work = math.prod(result) * cost
    return [Routine("window_pooling", f"{kernel}_{SHORT[node.type.dtype]}", math.prod(result[:2]), sizes, work)]


def _put(g: Any, x: Any, node: Any) -> Any:
    return apply(most_put_op, saved_with(g, x), x, **node.attrs)


most_op = define(
    name="max_pool2d",
    batch=folded,
    attrs=WINDOWS,
    infer=_most_infer,
    eval=image_eval(all, _most_eval),
    memory=as_images(all),
    vjp=(lambda g, node, out, x: _put(g, x, node),),
    emit=Native(_most_plan("most_max", 0), order=MOST_ORDER),
    promote=numeric,
    doc="The largest element of each window of (n, c, h, w).",
)
most_put_op: OpDef = define(
    name="max_pool2d_put",
    batch=folded,
    jvp=linear,
    attrs=WINDOWS,
    infer=_put_infer,
    eval=_most_put_eval,
    vjp=(lambda h, node, out, g, x: apply(most_take_op, h, x, **node.attrs), None),
    emit=Native(_most_plan("most_put", 1), order=MOST_ORDER),
    promote=numeric,
    doc="Each window's g where x is largest, added up: the cotangent of max_pool2d.",
)
most_take_op: OpDef = define(
    name="max_pool2d_take",
    batch=folded,
    jvp=linear,
    attrs=WINDOWS,
    infer=_take_infer,
    eval=image_eval(all, _most_take_eval),
    memory=as_images(all),
    vjp=(lambda g, node, out, h, x: _put(g, x, node), None),
    emit=Native(_most_plan("most_take", 1), order=MOST_ORDER),
    promote=numeric,
    doc="The element of h where each window of x is largest: the cotangent of max_pool2d_put.",
)

# the mean -------------------------------------------------------------------------------------------------------------


def mean_extent(extent: Any, rule: tuple[Any, ...]) -> Any:
    if rule[0] == "bins":
        return extent if rule[1] is None else rule[1]
    _, kernel, stride, padding, _, ceil = rule
    return pooled_extent(extent, kernel, stride, padding, 1, ceil)


def windows(extent: int, rule: tuple[Any, ...]) -> list[tuple[int, int, int]]:
    """(first, last, divisor) of each window along an axis.

    rule: ("bins", count) cuts the axis into `count` parts that may share an element, as PyTorch's adaptive pooling;
    ("step", kernel, stride, padding, whether zeros count, whether the last may reach out) walks it.
    """
    result = []
    if rule[0] == "bins":
        count = extent if rule[1] is None else rule[1]
        for i in range(count):
            first, last = i * extent // count, -(-(i + 1) * extent // count)
            result.append((first, last, last - first))
        return result
    _, kernel, stride, padding, zeros_count, ceil = rule
    for i in range(pooled_extent(extent, kernel, stride, padding, 1, ceil)):
        low = i * stride - padding
        high = min(low + kernel, extent + padding)
        first, last = max(low, 0), min(high, extent)
        result.append((first, last, high - low if zeros_count else last - first))
    return result


def _mean_infer(x: TensorType, rows: Any, columns: Any) -> TensorType:
    _check_planes(x)
    result = (mean_extent(x.shape[2], rows), mean_extent(x.shape[3], columns))
    if "step" in (rows[0], columns[0]):
        check_extents(x.shape, result)
    return x.with_shape((*x.shape[:2], *result))


def _averager(extent: int, rule: Any, dtype: np.dtype) -> np.ndarray:
    """The matrix (windows, extent) that takes the means along one axis."""
    table = windows(extent, rule)
    matrix = np.zeros((len(table), extent), dtype)
    for i, (first, last, divisor) in enumerate(table):
        matrix[i, first:last] = 1 / divisor
    return matrix


def _along(x: np.ndarray, axis: int, length: int, rule: Any, spread: bool) -> np.ndarray:
    """The means along one axis, or `spread` back over the windows of an axis of this length, each window by itself."""
    table = windows(length, rule)
    x = np.moveaxis(x, axis, 0)
    out = np.zeros((length if spread else len(table), *x.shape[1:]), x.dtype)
    for i, (first, last, divisor) in enumerate(table):
        if spread:
            out[first:last] += x[i] / divisor
        else:
            out[i] = x[first:last].sum(0) / divisor
    return np.moveaxis(out, 0, axis)


def _means_of(x: np.ndarray, extents: Sequence[int], rows: Any, columns: Any, spread: bool) -> np.ndarray:
    """By products with matrices of weights. A NaN or an infinity, times a weight of 0, stays in its windows."""
    down, across = _averager(extents[0], rows, x.dtype), _averager(extents[1], columns, x.dtype)
    with np.errstate(invalid="ignore"):
        result: np.ndarray = np.matmul(np.matmul(down.T, x), across) if spread else np.matmul(np.matmul(down, x), across.T)
    if np.isfinite(result).all():
        return result
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(_along(_along(x, 2, extents[0], rows, spread), 3, extents[1], columns, spread))


def _mean_eval(x: np.ndarray, rows: Any, columns: Any) -> np.ndarray:
    _mean_infer(TensorType(x.shape, x.dtype), rows, columns)
    return _means_of(x, x.shape[2:], rows, columns, spread=False)


def _mean_put_eval(g: np.ndarray, like: np.ndarray, rows: Any, columns: Any) -> np.ndarray:
    return _means_of(g, like.shape[2:], rows, columns, spread=True)


def _mean_plan(kernel: str, of: int) -> Any:
    def plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
        x, rows, columns = node.inputs[of].type, node.attrs["rows"], node.attrs["columns"]
        tables = [windows(x.shape[2], rows), windows(x.shape[3], columns)]
        result = _mean_infer(x, rows, columns).shape
        if not x.size:
            return [Clear()]
        sizes = (*x.shape[2:], *result[2:], *(v for table in tables for window in table for v in window))
        return _native(node, kernel, result, sizes, 2 * max(x.size // max(math.prod(result), 1), 1))

    return plan


def _mean_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """PyTorch takes the mean over everything by an op that saves nothing."""
    whole = node.attrs["rows"] == node.attrs["columns"] == ("bins", 1)
    return apply(mean_put_op, g if whole else saved_with(g, x), x, **node.attrs)


mean_pool_op = define(
    name="avg_pool2d",
    batch=folded,
    jvp=linear,
    attrs=MEANS,
    infer=_mean_infer,
    eval=image_eval(all, _mean_eval),
    memory=as_images(all),
    vjp=(_mean_vjp,),
    emit=Native(_mean_plan("mean_take", 0)),
    promote=floating,
    doc="The mean of each window of (n, c, h, w); `rows` and `columns` say how windows lie (see `windows`).",
)
mean_put_op: OpDef = define(
    name="avg_pool2d_put",
    batch=folded,
    jvp=linear,
    attrs=MEANS,
    infer=_put_infer,
    eval=_mean_put_eval,
    vjp=(lambda h, node, out, g, like: apply(mean_pool_op, h, **node.attrs), None),
    emit=Native(_mean_plan("mean_put", 1)),
    shape_only=(1,),
    promote=lambda operands: [*floating(operands[:1]), None],
    doc="Each window's g spread over its elements: the cotangent of avg_pool2d.",
)
