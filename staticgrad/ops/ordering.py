"""Order: sort and what follows from it, extrema with their positions, search in sorted values, counts.

A record gives positions; values are gathered from the operand by them, so gradients of any order are those of a gather.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from ..base.dtypes import SHORT
from ..base.types import FLOATING, TensorType, bool_, int64, normalize_axis, shape_text
from ..errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from ..ir import Call, Layout, Native, Node, OpDef, Routine, define
from . import return_types
from . import rules as at
from .gathering import along_op
from .operands import dtype_of, integer, ndim_of, operand
from .operators import (
    F,
    Operators,
    Symbol,
    Tensor,
    apply,
    autocasts,
    enter_as,
    numpy_twin,
    respelled,
    routed,
    spelled,
    torch_function,
)
from .reductions import OVER, argmax_op, argmin_op, positions, reduced, shared_by_equals
from .rules import searched

# sort -----------------------------------------------------------------------------------------------------------------


def _argsort_eval(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """Stable; NaN counts as the largest."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    turned = np.flip(x, axis)
    order = np.flip(np.argsort(turned, axis, kind="stable"), axis)
    return np.ascontiguousarray(x.shape[axis] - 1 - order)


argsort_op = define(
    name="argsort",
    fails=False,
    range=positions,
    attrs={"axis": at.axis_of(0), "descending": at.flag},
    infer=lambda x, axis, descending: x.with_dtype(int64),
    eval=_argsort_eval,
    promote=None,
    doc="The positions along an axis in the order of their values.",
)


FEW = 64
"""The largest k whose positions are kept sorted while a row is read, and the largest number of values with which each element
is compared; more of them are sorted."""


def _top_infer(x: TensorType, axis: int, k: int, largest: bool) -> TensorType:
    extent = x.shape[axis]
    if extent is not None and k > extent:
        raise ArgumentError("selected index k out of range", f"topk: k is {k}, the extent of axis {axis} is {extent}")
    return x.with_shape((*x.shape[:axis], k, *x.shape[axis + 1 :])).with_dtype(int64)


def _top_eval(x: np.ndarray, axis: int, k: int, largest: bool) -> np.ndarray:
    """By a partition of each row: those before its k-th value, and the first of those equal to it."""
    rows = np.moveaxis(x, axis, -1)
    n = rows.shape[-1]
    if not 0 < k < n:
        return _argsort_eval(x, axis, largest)[(slice(None),) * axis + (slice(0, k),)]
    place = n - k if largest else k - 1
    edge = np.partition(rows, place, -1)[..., place : place + 1]
    nan, at_nan = rows != rows, edge != edge
    tied = (rows == edge) | (nan & at_nan)
    first = (rows > edge) | (nan & ~at_nan) if largest else (rows < edge) | (~nan & at_nan)
    chosen = first | (tied & (np.cumsum(tied, -1) <= k - np.sum(first, -1, keepdims=True)))
    places = np.nonzero(chosen)[-1].reshape(*rows.shape[:-1], k)
    order = _argsort_eval(np.take_along_axis(rows, places, -1), -1, largest)
    return np.ascontiguousarray(np.moveaxis(np.take_along_axis(places, order, -1), -1, axis))


def _top_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    x, axis, k = node.inputs[0].type, node.attrs["axis"], node.attrs["k"]
    if k > FEW or x.dtype == bool_:
        return None
    inner = math.prod(x.shape[axis + 1 :])
    blocks = -(-inner // BLOCK)
    span, sizes = math.prod(x.shape[:axis]) * blocks if k else 0, (x.shape[axis], inner, k, blocks)
    kernel = f"{'largest' if node.attrs['largest'] else 'smallest'}_{SHORT[x.dtype]}"
    return [Routine("positions", kernel, span, sizes, 4 * x.size, name="topk", chunked=False)]


BLOCK = 16
"""Rows that one step of the kernel reads, side by side."""

topk_op = define(
    name="topk_index",
    attrs={"axis": at.axis_of(0), "k": at.integer(0), "largest": at.flag},
    infer=_top_infer,
    eval=_top_eval,
    emit=Native(_top_plan),
    range=positions,
    promote=None,
    doc="The positions of the first k elements along an axis in the order of their values.",
)


def along(x: Any, index: Any, axis: int) -> Any:
    """x at positions along an axis."""
    return apply(along_op, x, index, axis=axis)


def with_axis(x: Any, dim: int) -> tuple[Any, int, bool]:
    """x with an axis, that axis, and whether x had none."""
    n = ndim_of(x)
    if n:
        return x, normalize_axis(dim, n), False
    normalize_axis(dim, 1)
    return F.reshape(x, (1,)), 0, True


def without_axis(value: Any, scalar: bool) -> Any:
    return F.reshape(value, ()) if scalar else value


@torch_function(np.argsort, cached=routed)
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The positions along `dim` that sort it, int64; equal elements keep their order, and NaN comes last (largest).

    Examples:
        >>> sg.argsort(sg.tensor([3, 1, 2]))
        tensor([1, 2, 0])
    """
    x, axis, scalar = with_axis(input, dim)
    return without_axis(apply(argsort_op, x, axis=axis, descending=bool(descending)), scalar)


@torch_function(cached=routed)
def sort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> return_types.Pair:
    """The named tuple (values, indices) of `input` sorted along `dim`.

    Examples:
        >>> sg.sort(sg.tensor([3, 1, 2])).values
        tensor([1, 2, 3])
    """
    x, axis, scalar = with_axis(input, dim)
    order = apply(argsort_op, x, axis=axis, descending=bool(descending))
    return return_types.sort(without_axis(along(x, order, axis), scalar), without_axis(order, scalar))


@numpy_twin(np.sort)
def _numpy_sort(a: Any, axis: int | None = -1) -> Any:
    return sort(F.flatten(a) if axis is None else a, -1 if axis is None else axis).values


@torch_function()
def msort(input: Any) -> Tensor:
    """`input` sorted along its first axis."""
    return sort(input, 0).values


@torch_function(cached=routed)
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> return_types.Pair:
    """The named tuple (values, indices) of the k largest elements along `dim`, or the smallest ones, in order.

    Raises ArgumentError for a k out of range.

    Examples:
        >>> sg.topk(sg.tensor([3, 1, 2]), 2).indices
        tensor([0, 2])
    """
    x, axis, scalar = with_axis(input, dim)
    k, extent = integer("topk", "k", k), x.shape[axis]
    if k < 0 or (extent is not None and k > extent):
        raise ArgumentError("selected index k out of range", f"topk: k is {k}, the extent of axis {axis} is {extent}")
    order = apply(topk_op, x, axis=axis, k=k, largest=bool(largest))
    return return_types.topk(without_axis(along(x, order, axis), scalar), without_axis(order, scalar))


def narrowed(x: Any, axis: int, start: int | None, stop: int | None) -> Any:
    """x from start to stop along an axis."""
    return F.getitem(x, (*((slice(None),) * axis), slice(start, stop)))


def _picked(name: str, x: Any, index: Any, axis: int, keepdim: bool, scalar: bool) -> Any:
    """The pair (values, indices) at one position of each row; `index` has extent 1 along the axis."""
    values = along(x, index, axis)
    if scalar:
        values, index = F.reshape(values, ()), F.reshape(index, ())
    elif not keepdim:
        values, index = F.squeeze(values, axis), F.squeeze(index, axis)
    return getattr(return_types, name)(values, index)


@torch_function()
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> return_types.Pair:
    """The named tuple (values, indices) of the k-th smallest element along `dim`, counted from 1."""
    x, axis, scalar = with_axis(input, dim)
    k, extent = integer("kthvalue", "k", k), x.shape[axis]
    if k < 1 or (extent is not None and k > extent):
        raise ArgumentError("kthvalue(): selected number k out of range for dimension", f"k is {k}, the extent {extent}")
    order = apply(argsort_op, x, axis=axis, descending=False)
    return _picked("kthvalue", x, narrowed(order, axis, k - 1, k), axis, keepdim, scalar)


# positions of an element of each row ------------------------------------------------------------------------------------


def _row_record(name: str, of_row: Callable[[np.ndarray], np.ndarray], doc: str) -> OpDef:
    """A record of one position per row; `of_row` takes rows along the last axis."""

    def evaluate(x: np.ndarray, axis: int) -> np.ndarray:
        rows = np.moveaxis(x, axis, -1)
        flat = rows.reshape(-1, rows.shape[-1])
        out = of_row(flat) if flat.size else np.zeros(len(flat), np.int64)
        return np.moveaxis(np.asarray(out, np.int64).reshape(*rows.shape[:-1], 1), -1, axis)

    def infer(x: TensorType, axis: int) -> TensorType:
        if x.shape[axis] == 0:
            raise IndexRangeError(f"{name}: expected reduction dim {axis} to have non-zero size.")
        return x.with_shape((*x.shape[:axis], 1, *x.shape[axis + 1 :])).with_dtype(int64)

    return define(
        name=name,
        attrs={"axis": at.axis_of(0)},
        infer=infer,
        eval=evaluate,
        promote=None,
        fails=False,
        doc=doc,
        range=positions,
    )


def _median_row(rows: np.ndarray) -> np.ndarray:
    """The position of the lower median; of the first NaN where there is one."""
    order = np.argsort(rows, -1, kind="stable")
    middle = order[:, (rows.shape[1] - 1) // 2]
    if rows.dtype.kind != "f":
        return middle
    nan = np.isnan(rows)
    return np.where(nan.any(1), nan.argmax(1), middle)


def _nanmedian_row(rows: np.ndarray) -> np.ndarray:
    order = np.argsort(rows, -1, kind="stable")
    number = rows.shape[1] - (np.isnan(rows).sum(1) if rows.dtype.kind == "f" else 0)
    place = np.broadcast_to(np.maximum(number - 1, 0) // 2, (len(rows),))
    return order[np.arange(len(rows)), place]


def _mode_row(rows: np.ndarray) -> np.ndarray:
    """The last position of the most frequent value, of the smallest one at a tie."""
    out = np.empty(len(rows), np.int64)
    for i, row in enumerate(rows):
        values, counts = np.unique(row, return_counts=True)
        same = np.flatnonzero(row == values[counts.argmax()])
        out[i] = same[-1] if len(same) else 0
    return out


median_op = _row_record("median_index", _median_row, "The position of the lower median along an axis.")
nanmedian_op = _row_record("nanmedian_index", _nanmedian_row, "As `median_index`, without NaN.")
mode_op = _row_record("mode_index", _mode_row, "The position of the most frequent value along an axis.")


def _middle(name: str, of_row: Callable[[np.ndarray], np.ndarray]) -> OpDef:
    """A record of the element that `of_row` chooses along axes; those that are equal to it share its gradient."""

    def value(x: np.ndarray, axis: tuple[int, ...], keepdims: bool) -> np.ndarray:
        last = np.moveaxis(x, axis, range(-len(axis), 0))
        rest = last.shape[: x.ndim - len(axis)]
        rows = last.reshape(math.prod(rest), -1)
        chosen = rows[np.arange(len(rows)), of_row(rows)].reshape(rest)
        return np.expand_dims(chosen, axis) if keepdims else chosen

    return define(
        name=name,
        attrs=OVER,
        infer=reduced,
        eval=value,
        vjp=(shared_by_equals,),
        promote=None,
        fails=False,
    )


def _of_rows(name: str, op: OpDef, doc: str, *, whole: OpDef | None) -> None:
    @overload
    def function(input: Any, dim: None = None, keepdim: bool = False) -> Tensor: ...
    @overload
    def function(input: Any, dim: int, keepdim: bool = False) -> return_types.Pair: ...
    @overload
    def function(input: Any, *, axis: int, keepdim: bool = False) -> return_types.Pair: ...
    def function(input: Any, dim: Any = None, keepdim: bool = False) -> Any:  # type: ignore[misc]  # `spelled` takes `axis`
        if dim is None and whole is not None:
            if not ndim_of(input):
                return F.clone(input)
            flat = F.reshape(input, (-1,))
            if flat.shape == (0,):
                return F.sum(flat) * float("nan")
            return apply(whole, flat, axis=(0,), keepdims=False)
        x, axis, scalar = with_axis(input, -1 if dim is None else dim)
        return _picked(name, x, apply(op, x, axis=axis), axis, keepdim, scalar)

    if whole is not None:
        respelled(function, name)
    else:
        function.__name__ = function.__qualname__ = name
        function.__annotations__["return"] = "return_types.Pair"
    function.__doc__ = doc
    enter_as(name, routed(spelled(function)))


_of_rows(
    "median",
    median_op,
    "The lower median: of all elements, or the named tuple (values, indices) along `dim`.",
    whole=_middle("median", _median_row),
)
_of_rows("nanmedian", nanmedian_op, "`median`, of which NaN are left out.", whole=_middle("nanmedian", _nanmedian_row))
_of_rows(
    "mode", mode_op, "The named tuple (values, indices) of the most frequent value along `dim` (the last axis).", whole=None
)


def _extremum(name: str, arg: OpDef, whole: str, elementwise: str) -> None:
    @overload
    def function(input: Any, dim: None = None, keepdim: bool = False) -> Tensor: ...
    @overload
    def function(input: Any, dim: int, keepdim: bool = False) -> return_types.Pair: ...
    @overload
    def function(input: Any, *, axis: int, keepdim: bool = False) -> return_types.Pair: ...
    @overload
    def function(input: Any, other: Tensor) -> Tensor: ...
    def function(  # type: ignore[misc]  # `spelled` takes `axis`, and `other` comes in the place of `dim`
        input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None
    ) -> Any:
        if isinstance(dim, Operators) or other is not None:
            return getattr(F, elementwise)(input, dim if other is None else other)
        if dim is None:
            return getattr(F, whole)(input, None, keepdim)
        if not isinstance(dim, (int, np.integer)) or isinstance(dim, bool):
            raise ArgumentError(
                f"{name}(): dim has to be an integer, got {dim!r}", f"write {whole}(x, dim) for the values over several axes"
            )
        x, axis, scalar = with_axis(input, int(dim))
        return _picked(name, x, apply(arg, x, axis=(axis,), keepdims=True), axis, keepdim, scalar)

    respelled(function, name)
    function.__doc__ = (
        f"The extremum of all elements; along one axis the named tuple (values, indices) of the first one; of two tensors "
        f"`{elementwise}`. `{whole}` gives the values alone, over several axes too.\n\nExamples:\n"
        f"    >>> values, indices = sg.{name}(sg.tensor([[3.0, 3.0], [3.0, 3.0]]), dim=1)\n    >>> values\n    tensor([3., 3.])"
    )
    enter_as(name, routed(spelled(function)))


_extremum("max", argmax_op, "amax", "maximum")
_extremum("min", argmin_op, "amin", "minimum")


@torch_function()
def aminmax(input: Any, *, dim: Any = None, keepdim: bool = False) -> return_types.aminmax:
    """The named tuple (min, max) along one axis, or of all elements."""
    return return_types.aminmax(F.amin(input, dim, keepdim), F.amax(input, dim, keepdim))


# quantiles --------------------------------------------------------------------------------------------------------------


def _quantile(name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
    if interpolation not in ("linear", "lower", "higher", "nearest", "midpoint"):
        raise ArgumentError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, got {interpolation}"
        )
    if dtype_of(input).kind not in FLOATING:
        raise DTypeError(f"{name}() input tensor must be either float or double dtype")
    if ndim_of(q) > 1:
        raise ShapeError(f"{name}() q must be a scalar or 1D tensor")
    if not isinstance(q, Symbol):
        values = np.asarray(F.stop_gradient(q) if isinstance(q, Operators) else q, np.float64)
        if values.size and not (values.min() >= 0 and values.max() <= 1):
            raise ArgumentError(f"{name}() q values must be in the range [0, 1]")
    several = ndim_of(q) == 1
    if isinstance(q, Operators):
        q = F.astype(q, dtype_of(input))
        fractions: tuple[Any, ...] = F.unbind(q, 0) if several else (q,)
    else:
        fractions = tuple(map(float, np.atleast_1d(q)))
    n = ndim_of(input)
    x = input if dim is not None and n else F.reshape(input, (-1,))
    axis = 0 if dim is None or not n else normalize_axis(dim, n)
    if x.shape[axis] == 0:
        raise ShapeError(f"{name}() input tensor must be non-empty")
    x = F.movedim(x, axis, -1)
    ordered = sort(x, -1).values
    if x.shape[-1] is None:
        raise ShapeError(f"{name}: the extent of the axis has to be known", "give the placeholder a known extent there")
    last = x.shape[-1] - 1
    count = F.sum(F.logical_not(F.isnan(x)), -1, keepdims=True) - 1
    if name == "quantile":  # a row with a NaN is NaN
        count = F.zeros_like(count) + last
    places = F.astype(count, x.dtype)
    results = []
    for fraction in fractions:
        rank = F.clip(places * fraction, 0, None)
        low, high = F.floor(rank), F.ceil(rank)
        if interpolation == "lower":
            high = low
        elif interpolation == "higher":
            low = high
        elif interpolation == "nearest":
            low = high = F.round(rank)
        below = along(ordered, F.astype(low, int64), ndim_of(x) - 1)
        if low is high:
            results.append(below)
            continue
        above = along(ordered, F.astype(high, int64), ndim_of(x) - 1)
        weight = 0.5 if interpolation == "midpoint" else rank - low
        value = below + (above - below) * weight if interpolation == "linear" else F.where(
            F.eq(low, high), below, below + (above - below) * weight
        )  # fmt: skip
        results.append(F.where(F.eq(low, high), below, value))
    if name == "quantile":
        missing = F.any(F.isnan(x), -1, keepdims=True)
        results = [F.where(missing, float("nan"), r) for r in results]
    results = [F.movedim(r, -1, axis) if keepdim and dim is not None else F.squeeze(r, -1) for r in results]
    if keepdim and dim is None:
        results = [F.reshape(r, (1,) * n) for r in results]
    if not n:
        results = [F.reshape(r, ()) for r in results]
    return F.stack(results, 0) if several else results[0]


@torch_function(np.quantile)
@autocasts
def quantile(input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
    """The q-quantiles along `dim` (of all elements for None), q a number or several in [0, 1], along a new first axis.

    A NaN makes its row NaN. Raises ArgumentError, DTypeError for integers.
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


@torch_function(np.nanquantile)
@autocasts
def nanquantile(input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
    """`quantile`, of which NaN are left out."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)


# search -----------------------------------------------------------------------------------------------------------------


def _search_eval(edges: np.ndarray, values: np.ndarray, right: bool) -> np.ndarray:
    side: Any = "right" if right else "left"
    if edges.ndim == 1:
        return np.searchsorted(edges, values, side).astype(np.int64)
    out = np.empty(values.shape, np.int64)
    for row in np.ndindex(edges.shape[:-1]):
        out[row] = np.searchsorted(edges[row], values[row], side)
    return out


def _search_infer(edges: TensorType, values: TensorType, right: bool) -> TensorType:
    if edges.ndim > 1 and edges.shape[:-1] != values.shape[:-1]:
        raise ShapeError(
            "searchsorted: the boundaries have to be 1-D, or have the leading extents of the values, got "
            f"{shape_text(edges.shape)} and {shape_text(values.shape)}"
        )
    return values.with_dtype(int64)


search_op = define(
    "searchsorted", _search_infer, _search_eval, attrs={"right": at.flag}, promote=None, batch=searched, fails=False,
          doc="The places of values among sorted ones, along the last axis.")  # fmt: skip


@torch_function(method=False, words={"values": "input"})
def searchsorted(
    sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Any = None,
) -> Tensor:  # fmt: skip
    """Where `input` has to be put into a sequence that is sorted along its last axis, before equal elements or after them
    (`right`). The leading extents are equal, or the sequence is 1-D. Raises ShapeError, ArgumentError.

    Examples:
        >>> sg.searchsorted(sg.tensor([1, 3, 5]), sg.tensor([2, 5]))
        tensor([1, 2])
    """
    if side is not None:
        if side not in ("left", "right") or (side == "left" and right):
            raise ArgumentError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
        right = side == "right"
    if sorter is not None:
        sorted_sequence = along(sorted_sequence, sorter, ndim_of(sorted_sequence) - 1)
    values = input if isinstance(input, Operators) else np.asarray(input)
    found = apply(search_op, sorted_sequence, values, right=bool(right))
    return F.astype(found, np.int32) if out_int32 else found


@torch_function(method=False)
def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the bucket of each element, of those that sorted boundaries (1-D) make."""
    if ndim_of(boundaries) != 1:
        raise ShapeError(f"boundaries tensor must be 1 dimension, but got dim({ndim_of(boundaries)})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@torch_function(method=False, cached=routed)
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Where an element is among `test_elements`."""
    x, tests = operand(elements), F.reshape(operand(test_elements), (-1,))
    if tests.shape[0] is not None and tests.shape[0] <= FEW:
        found = F.any(F.eq(F.expand_dims(x, ndim_of(x)), tests), -1)
    else:
        tests = F.sort(tests)[0]
        after, before = (F.searchsorted(tests, x, right=right) for right in (True, False))
        found = F.logical_and(F.gt(after, before), F.eq(x, x))  # NaN is equal to nothing
    return F.logical_not(found) if invert else found
