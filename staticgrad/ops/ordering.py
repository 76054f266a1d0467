"""Order: sort and what follows from it, extrema with their positions, search in sorted values, counts.

A record gives positions; values are gathered from the operand by them, so gradients of any order are those of a gather.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from ..errors import ArgumentError, DTypeError, IndexRangeError, ShapeError, UnknownExtentError
from ..ir import OpDef, define
from ..operators import (
    F,
    Operators,
    Symbol,
    Tensor,
    apply,
    enter_as,
    frontends,
    is_tensor,
    numpy_twin,
    respelled,
    spelled,
    torch_function,
)
from ..types import (
    TensorType,
    bool_,
    get_default_dtype,
    int64,
    normalize_axes,
    normalize_axis,
    shape_text,
    to_float,
)
from . import attributes as at
from . import return_types
from .elementwise import dtype_of, operand
from .gathering import along_op
from .reductions import argmax_op, argmin_op, ndim_of

# sort -----------------------------------------------------------------------------------------------------------------


def _argsort_eval(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """Stable; NaN counts as the largest."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    turned = np.flip(x, axis)
    order = np.flip(np.argsort(turned, axis, kind="stable"), axis)
    return np.ascontiguousarray(x.shape[axis] - 1 - order)


argsort_op = define(
    OpDef(
        name="argsort",
        attrs={"axis": at.axis_of(0), "descending": at.flag},
        infer=lambda x, axis, descending: x.with_dtype(int64),
        eval=_argsort_eval,
        promote=None,
        doc="The positions along an axis in the order of their values.",
    )
)


def along(x: Any, index: Any, axis: int) -> Any:
    """x at positions along an axis."""
    return apply(along_op, x, index, axis=axis)


def _scalar_safe(x: Any, dim: int) -> tuple[Any, int, bool]:
    """x with an axis, that axis, and whether x had none."""
    n = ndim_of(x)
    if n:
        return x, normalize_axis(dim, n), False
    normalize_axis(dim, 1)
    return F.reshape(x, (1,)), 0, True


def _back(value: Any, scalar: bool) -> Any:
    return F.reshape(value, ()) if scalar else value


@torch_function(np.argsort)
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The positions along `dim` that sort it, int64; equal elements keep their order, and NaN comes last (largest)."""
    x, axis, scalar = _scalar_safe(input, dim)
    result: Tensor = _back(apply(argsort_op, x, axis=axis, descending=bool(descending)), scalar)
    return result


@torch_function()
def sort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> return_types.Pair:
    """The named tuple (values, indices) of `input` sorted along `dim`."""
    x, axis, scalar = _scalar_safe(input, dim)
    order = apply(argsort_op, x, axis=axis, descending=bool(descending))
    return return_types.sort(_back(along(x, order, axis), scalar), _back(order, scalar))


@numpy_twin(np.sort)
def _numpy_sort(a: Any, axis: int | None = -1) -> Any:
    return sort(F.flatten(a) if axis is None else a, -1 if axis is None else axis).values


@torch_function()
def msort(input: Any) -> Tensor:
    """`input` sorted along its first axis."""
    return sort(input, 0).values


@torch_function()
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> return_types.Pair:
    """The named tuple (values, indices) of the k largest elements along `dim`, or the smallest ones, in order.

    Raises ArgumentError for a k out of range.
    """
    x, axis, scalar = _scalar_safe(input, dim)
    k = int(k)
    extent = x.shape[axis]
    if k < 0 or (extent is not None and k > extent):
        raise ArgumentError("selected index k out of range", f"topk: k is {k}, the extent of axis {axis} is {extent}")
    order = narrowed(apply(argsort_op, x, axis=axis, descending=bool(largest)), axis, 0, k)
    return return_types.topk(_back(along(x, order, axis), scalar), _back(order, scalar))


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
    x, axis, scalar = _scalar_safe(input, dim)
    extent = x.shape[axis]
    if k < 1 or (extent is not None and k > extent):
        raise ArgumentError("kthvalue(): selected number k out of range for dimension", f"k is {k}, the extent {extent}")
    order = apply(argsort_op, x, axis=axis, descending=False)
    result: return_types.Pair = _picked("kthvalue", x, narrowed(order, axis, k - 1, k), axis, keepdim, scalar)
    return result


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

    return define(OpDef(name=name, attrs={"axis": at.axis_of(0)}, infer=infer, eval=evaluate, promote=None, doc=doc))


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
    result: np.ndarray = order[np.arange(len(rows)), place]
    return result


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


def _of_rows(name: str, op: OpDef, doc: str, *, whole: bool) -> None:
    @overload
    def function(input: Any, dim: None = None, keepdim: bool = False) -> Tensor: ...
    @overload
    def function(input: Any, dim: int, keepdim: bool = False) -> return_types.Pair: ...
    @overload
    def function(input: Any, *, axis: int, keepdim: bool = False) -> return_types.Pair: ...
    def function(input: Any, dim: Any = None, keepdim: bool = False) -> Any:  # type: ignore[misc]  # `spelled` takes `axis`
        if dim is None and whole:
            if not ndim_of(input):
                return F.clone(input)
            flat = F.reshape(input, (-1,))
            if flat.shape == (0,):
                return F.sum(flat) * float("nan")
            return F.reshape(along(flat, apply(op, flat, axis=0), 0), ())
        x, axis, scalar = _scalar_safe(input, -1 if dim is None else dim)
        return _picked(name, x, apply(op, x, axis=axis), axis, keepdim, scalar)

    if whole:
        respelled(function, name)
    else:
        function.__name__ = function.__qualname__ = name
        function.__annotations__["return"] = "return_types.Pair"
    function.__doc__ = doc
    enter_as(name, spelled(function))


_of_rows(
    "median", median_op, "The lower median: of all elements, or the named tuple (values, indices) along `dim`.", whole=True
)
_of_rows("nanmedian", nanmedian_op, "`median`, of which NaN are left out.", whole=True)
_of_rows(
    "mode", mode_op, "The named tuple (values, indices) of the most frequent value along `dim` (the last axis).", whole=False
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
        x, axis, scalar = _scalar_safe(input, int(dim))
        return _picked(name, x, apply(arg, x, axis=(axis,), keepdims=True), axis, keepdim, scalar)

    respelled(function, name)
    function.__doc__ = (
        f"The extremum of all elements; along one axis the named tuple (values, indices) of the first one; of two tensors "
        f"`{elementwise}`. `{whole}` gives the values alone, over several axes too."
    )
    enter_as(name, spelled(function))


_extremum("max", argmax_op, "amax", "maximum")
_extremum("min", argmin_op, "amin", "minimum")


@torch_function()
def aminmax(input: Any, *, dim: Any = None, keepdim: bool = False) -> return_types.aminmax:
    """The named tuple (min, max) along one axis, or of all elements."""
    return return_types.aminmax(F.amin(input, dim, keepdim), F.amax(input, dim, keepdim))


# running extrema --------------------------------------------------------------------------------------------------------


def _running(worse: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def evaluate(x: np.ndarray, axis: int) -> np.ndarray:
        """The position of the last element that is no worse than those before; NaN is the best."""
        rows = np.moveaxis(x, axis, 0)
        out = np.zeros(rows.shape, np.int64)
        if len(rows):
            best = rows[0].copy()
            for i in range(1, len(rows)):
                better = ~worse(rows[i], best)
                if x.dtype.kind == "f":
                    better &= ~(np.isnan(best) & ~np.isnan(rows[i]))
                out[i] = np.where(better, i, out[i - 1])
                best = np.where(better, rows[i], best)
        return np.ascontiguousarray(np.moveaxis(out, 0, axis))

    return evaluate


for _name, _worse in (("cummax", np.less), ("cummin", np.greater)):
    _op = define(
        OpDef(
            name=f"{_name}_index",
            attrs={"axis": at.axis_of(0)},
            infer=lambda x, axis: x.with_dtype(int64),
            eval=_running(_worse),
            promote=None,
            doc="The position of the extremum so far, along an axis.",
        )
    )

    def _scan(input: Any, dim: int, *, _op: OpDef = _op, _name: str = _name) -> return_types.Pair:
        """The named tuple (values, indices) of the extremum so far, along `dim`."""
        x, axis, scalar = _scalar_safe(input, dim)
        index = apply(_op, x, axis=axis)
        result: return_types.Pair = getattr(return_types, _name)(_back(along(x, index, axis), scalar), _back(index, scalar))
        return result

    _scan.__name__ = _scan.__qualname__ = _name
    enter_as(_name, spelled(_scan))


# quantiles --------------------------------------------------------------------------------------------------------------


def _quantile(name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
    if interpolation not in ("linear", "lower", "higher", "nearest", "midpoint"):
        raise ArgumentError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, got {interpolation}"
        )
    if dtype_of(input).kind != "f":
        raise DTypeError(f"{name}() input tensor must be either float or double dtype")
    fractions = np.asarray(known(name, q)[0], np.float64)
    if fractions.ndim > 1:
        raise ShapeError(f"{name}() q must be a scalar or 1D tensor")
    if fractions.size and not (fractions.min() >= 0 and fractions.max() <= 1):
        raise ArgumentError(f"{name}() q values must be in the range [0, 1]")
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
    for fraction in np.atleast_1d(fractions):
        rank = F.clip(places * float(fraction), 0, None)
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
    return results[0] if fractions.ndim == 0 else F.stack(results, 0)


@torch_function(np.quantile)
def quantile(input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
    """The q-quantiles along `dim` (of all elements for None), q a number or several in [0, 1], along a new first axis.

    A NaN makes its row NaN. Raises ArgumentError, DTypeError for integers.
    """
    result: Tensor = _quantile("quantile", input, q, dim, keepdim, interpolation)
    return result


@torch_function(np.nanquantile)
def nanquantile(input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear") -> Tensor:
    """`quantile`, of which NaN are left out."""
    result: Tensor = _quantile("nanquantile", input, q, dim, keepdim, interpolation)
    return result


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
    OpDef("searchsorted", _search_infer, _search_eval, attrs={"right": at.flag}, promote=None,
          doc="The places of values among sorted ones, along the last axis.")
)  # fmt: skip


@torch_function(method=False)
def searchsorted(
    sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Any = None,
) -> Tensor:  # fmt: skip
    """Where `input` has to be put into a sequence that is sorted along its last axis, before equal elements or after them
    (`right`). The leading extents are equal, or the sequence is 1-D. Raises ShapeError, ArgumentError."""
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
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@torch_function(method=False)
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Where an element is among `test_elements`."""
    x, tests = operand(elements), F.reshape(operand(test_elements), (-1,))
    found = F.any(F.eq(F.expand_dims(x, ndim_of(x)), tests), -1)
    return F.logical_not(found) if invert else found


# results whose extents depend on values ---------------------------------------------------------------------------------


def known(name: str, *operands: Any) -> list[np.ndarray]:
    """The arrays of operands whose values decide extents. Raises ArgumentError for tensors that have none yet."""
    for x in operands:
        if isinstance(x, Symbol):
            raise ArgumentError(
                f"{name}: the extents of the result depend on values; a graph can't hold it",
                "compute it outside, and pass the result; or use a mask, sg.where(mask, x, 0)",
            )
    return [np.asarray(x.detach().numpy() if is_tensor(x) else x) for x in operands]


def made(array: Any) -> Any:
    """A tensor of an array that the host computed."""
    return frontends.tensor_class(np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array))


@overload
def nonzero(input: Any, *, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Any, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@torch_function()
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The positions of elements that are not 0, (number, axes); with as_tuple, a tensor for each axis. Eager only."""
    (x,) = known("nonzero", input)
    if as_tuple:
        return tuple(made(i) for i in np.nonzero(x if x.ndim else x.reshape(1)))
    return made(np.argwhere(x))


@torch_function()
def argwhere(input: Any) -> Tensor:
    """The positions of elements that are not 0, (number, axes). Eager only."""
    return nonzero(input)


@torch_function(method=False)
def nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Tensor:
    """`nonzero` with `size` rows: cut off, or filled up."""
    (x,) = known("nonzero_static", input)
    found = np.argwhere(x)[:size]
    rest = np.full((size - len(found), x.ndim), fill_value, np.int64)
    result: Tensor = made(np.concatenate([found, rest]))
    return result


@torch_function()
def masked_select(input: Any, mask: Any) -> Tensor:
    """The elements where the mask (broadcast) is true, 1-D. Eager only, as its extent depends on values."""
    (m,) = known("masked_select", mask)
    if m.dtype != bool_:
        raise DTypeError(f"masked_select: expected BoolTensor or ByteTensor for mask, got {m.dtype}")
    shape = np.broadcast_shapes(m.shape, input.shape)
    places = np.flatnonzero(np.broadcast_to(m, shape))
    return F.take(F.reshape(F.broadcast_to(input, shape), (-1,)), places, 0)


@overload
def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...
@overload
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]: ...
@torch_function()
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The different elements in order, or the different slices along `dim`; with their places in `input`, and counts."""
    (x,) = known("unique", input)
    values, inverse, counts = np.unique(
        x.reshape(-1) if dim is None else x, return_inverse=True, return_counts=True, axis=dim, equal_nan=False
    )
    inverse = inverse.reshape(x.shape) if dim is None else inverse.reshape(-1)
    return _several(values, inverse, counts, return_inverse, return_counts)


@overload
def unique_consecutive(
    input: Any, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: int | None = None
) -> Tensor: ...
@overload
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]: ...
@torch_function()
def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None) -> Any:
    """The elements, or slices along `dim`, of which each run of equal ones is one; with their places and counts."""
    (x,) = known("unique_consecutive", input)
    rows = x.reshape(-1, 1) if dim is None else np.moveaxis(x, dim, 0)
    flat = rows.reshape(len(rows), -1)
    new = np.ones(len(flat), bool)
    new[1:] = (flat[1:] != flat[:-1]).any(1)
    inverse = np.cumsum(new) - 1
    counts = np.bincount(inverse, minlength=0) if len(flat) else np.zeros(0, np.int64)
    values = rows[new].reshape(-1) if dim is None else np.moveaxis(rows[new], 0, dim)
    return _several(values, inverse.reshape(x.shape) if dim is None else inverse, counts, return_inverse, return_counts)


def _several(values: Any, inverse: Any, counts: Any, with_inverse: bool, with_counts: bool) -> Any:
    results = [
        values,
        *([inverse.astype(np.int64)] if with_inverse else []),
        *([counts.astype(np.int64)] if with_counts else []),
    ]
    tensors = tuple(map(made, results))
    return tensors if len(tensors) > 1 else tensors[0]


@torch_function()
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 occurs, or the sum of its weights. Eager only. Raises DTypeError, ArgumentError."""
    (x,) = known("bincount", input)
    if x.dtype.kind not in "iu" or x.ndim != 1:
        raise DTypeError(f"bincount only supports 1-d non-negative integral inputs, got {x.dtype} {shape_text(x.shape)}")
    if x.size and x.min() < 0:
        raise ArgumentError("bincount only supports 1-d non-negative integral inputs.")
    given = None if weights is None else known("bincount", weights)[0]
    if given is not None and given.shape != x.shape:
        raise ShapeError("bincount: weights should be 1-d and have the same length as input", f"got {shape_text(given.shape)}")
    if isinstance(minlength, bool) or not isinstance(minlength, (int, np.integer)) or minlength < 0:
        raise ArgumentError(f"bincount: minlength should be an integer >= 0, got {minlength!r}")
    found = np.bincount(x, given, minlength)
    result: Tensor = made(found if given is None else found.astype(given.dtype if given.dtype.kind == "f" else np.float64))
    return result


@torch_function()
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of `bins` equal intervals from min to max (of the input when both are 0)."""
    (x,) = known("histc", input)
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise ArgumentError(f"histc: bins must be > 0, but got {bins!r}")
    low, high = float(min), float(max)
    if low == high and x.size:
        low, high = float(x.min()), float(x.max())
    if low == high:
        low, high = low - 1, high + 1
    if not np.isfinite([low, high]).all() or low > high:
        raise ArgumentError(f"histc: range of [{low}, {high}] is not finite or not ascending")
    counts, _ = np.histogram(x[(x >= low) & (x <= high)].astype(np.float64), int(bins), (low, high))
    result: Tensor = made(counts.astype(x.dtype))
    return result


@torch_function()
def histogram(input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> return_types.histogram:
    """The named tuple (hist, bin_edges): `bins` is a number of equal intervals or their edges."""
    (x,) = known("histogram", input)
    edges = known("histogram", bins)[0] if isinstance(bins, Operators) else bins
    given = None if weight is None else known("histogram", weight)[0].reshape(-1)
    if isinstance(edges, (int, np.integer)) and not isinstance(edges, bool):
        if edges < 1:
            raise ArgumentError(f"histogram: bins must be > 0, but got {edges}")
        low, high = range if range is not None else ((float(x.min()), float(x.max())) if x.size else (0.0, 0.0))
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        edges = np.linspace(low, high, edges + 1, dtype=x.dtype)
    flat = x.reshape(-1)
    edges = np.asarray(edges, x.dtype)
    if edges.ndim != 1 or len(edges) < 2 or not (edges[1:] >= edges[:-1]).all():
        raise ArgumentError("histogram: bins is a number of intervals, or their edges, ascending", f"got {bins!r}")
    counts, edges = np.histogram(flat, edges, weights=given, density=density)
    return return_types.histogram(made(counts.astype(x.dtype)), made(edges.astype(x.dtype)))


# sums without NaN, and counts -------------------------------------------------------------------------------------------


def _zeroed(input: Any) -> Any:
    return F.where(F.isnan(input), 0, input) if dtype_of(input).kind == "f" else input


@torch_function(np.nansum)
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum of what is not NaN."""
    return F.sum(_zeroed(input if dtype is None else F.astype(input, dtype)), dim, keepdim)


@torch_function(np.nanmean)
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of what is not NaN."""
    x = input if dtype is None else F.astype(input, dtype)
    if dtype_of(x).kind != "f":
        raise DTypeError(f"nanmean(): expected input to have floating point dtype but got {dtype_of(x)}")
    number = F.sum(F.logical_not(F.isnan(x)), dim, keepdim)
    return nansum(x, dim, keepdim) / F.astype(number, x.dtype)


@torch_function(np.count_nonzero)
def count_nonzero(input: Any, dim: Any = None) -> Tensor:
    """How many elements along `dim` (of all for None) are not 0, int64."""
    return F.sum(F.ne(input, 0) if dtype_of(input) != bool_ else input, dim)


# products ---------------------------------------------------------------------------------------------------------------


def _prod_dtype(operands: Sequence[Any]) -> list[np.dtype]:
    from .reductions import _widened

    return _widened(operands)


def _cumprod_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """sum over j >= i of g[j] out[j] / x[i]; where x is 0, by products in which the zero is left out."""
    axis = node.attrs["axis"]
    n = x.shape[axis]
    if n is None:
        raise UnknownExtentError("cumprod: the extent of the axis has to be known for its gradient")
    lead = (slice(None),) * axis
    rows = []
    for i in range(n):
        before = F.getitem(out, (*lead, slice(i - 1, i))) if i else F.ones_like(F.getitem(x, (*lead, slice(0, 1))))
        after = F.getitem(x, (*lead, slice(i + 1, None)))
        run = F.concatenate([F.ones_like(before), apply(cumprod_op, after, axis=axis)], axis)
        rows.append(F.sum(F.getitem(g, (*lead, slice(i, None))) * before * run, axis, keepdims=True))
    return F.concatenate(rows, axis) if rows else F.zeros_like(x)


cumprod_op: OpDef = define(
    OpDef(
        name="cumprod",
        attrs={"axis": at.axis_of(0)},
        infer=lambda x, axis: x,
        eval=lambda x, axis: np.multiply.accumulate(x, axis, x.dtype),
        vjp=(_cumprod_vjp,),
        promote=_prod_dtype,
        doc="Running products along an axis.",
    )
)


@torch_function(np.cumprod, inplace=True)
def cumprod(input: Any, dim: int, *, dtype: Any = None) -> Tensor:
    """Running products along `dim`; integers in int64."""
    x, axis, scalar = _scalar_safe(input if dtype is None else F.astype(input, dtype), dim)
    result: Tensor = _back(apply(cumprod_op, x, axis=axis), scalar)
    return result


def _prod_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """The product of the others: of those before, and of those after."""
    axis = node.attrs["axis"]
    lead = (slice(None),) * axis
    ones = F.ones_like(F.getitem(x, (*lead, slice(0, 1))))
    before = apply(cumprod_op, F.concatenate([ones, F.getitem(x, (*lead, slice(0, -1)))], axis), axis=axis)
    later = F.flip(F.concatenate([F.getitem(x, (*lead, slice(1, None))), ones], axis), axis)
    after = F.flip(apply(cumprod_op, later, axis=axis), axis)
    return F.expand_dims(g, axis) * before * after if x.shape[axis] != 0 else F.zeros_like(x)


prod_op = define(
    OpDef(
        name="prod",
        attrs={"axis": at.axis_of(0)},
        infer=lambda x, axis: x.with_shape((*x.shape[:axis], *x.shape[axis + 1 :])),
        eval=lambda x, axis: np.asarray(np.multiply.reduce(x, axis, x.dtype)),
        vjp=(_prod_vjp,),
        promote=_prod_dtype,
        doc="The product along an axis.",
    )
)


@torch_function(np.prod)
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product along `dim`, of all elements for None; integers in int64."""
    x = input if dtype is None else F.astype(input, dtype)
    n = ndim_of(x)
    if dtype is not None and dtype_of(x) == bool_:
        return F.all(x, dim, keepdim)
    if dim is None or not n:
        return apply(prod_op, F.reshape(x, (-1,)), axis=0)
    for axis in reversed(normalize_axes(dim, n)):
        x = apply(prod_op, x, axis=axis)
        x = F.expand_dims(x, axis) if keepdim else x
    return x


def _logcumsumexp_eval(x: np.ndarray, axis: int) -> np.ndarray:
    return np.logaddexp.accumulate(x, axis, x.dtype)


def _logcumsumexp_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """exp(x[i]) times the sum over j >= i of g[j] exp(-out[j])."""
    axis = node.attrs["axis"]
    top = F.stop_gradient(F.amax(out, axis, keepdims=True))
    top = F.where(F.isfinite(top), top, 0.0)
    weighted = g * F.exp(top - out)
    return F.exp(x - top) * F.flip(F.cumsum(F.flip(weighted, axis), axis), axis)


logcumsumexp_op = define(
    OpDef(
        name="logcumsumexp",
        attrs={"axis": at.axis_of(0)},
        infer=lambda x, axis: x,
        eval=_logcumsumexp_eval,
        vjp=(_logcumsumexp_vjp,),
        promote=lambda operands: [to_float(operands[0].dtype) if hasattr(operands[0], "dtype") else get_default_dtype()],
        doc="log of the running sum of exp(x) along an axis.",
    )
)


@torch_function()
def logcumsumexp(input: Any, dim: int) -> Tensor:
    """log(cumsum(exp(x))) along `dim`, without overflow."""
    x, axis, scalar = _scalar_safe(input, dim)
    result: Tensor = _back(apply(logcumsumexp_op, x, axis=axis), scalar)
    return result


# differences and areas --------------------------------------------------------------------------------------------------


@torch_function(np.diff)
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbors along `dim`, taken n times; of booleans, whether they differ."""
    axis = normalize_axis(dim, ndim_of(input))
    if n == 0:
        result: Tensor = input
        return result
    parts = [p for p in (prepend, input, append) if p is not None]
    x = F.concatenate(parts, axis) if len(parts) > 1 else input
    for _ in range(n if x.shape[axis] is None else min_(n, x.shape[axis])):
        high, low = narrowed(x, axis, 1, None), narrowed(x, axis, None, -1)
        x = F.ne(high, low) if dtype_of(x) == bool_ else high - low
    return x


min_ = min


def _steps(y: Any, x: Any, dx: float, axis: int) -> Any:
    """The means of neighbors of y along an axis, times the distances."""
    means = (narrowed(y, axis, 1, None) + narrowed(y, axis, None, -1)) * 0.5
    if x is None:
        return means * dx
    if ndim_of(x) == 1 and ndim_of(y) > 1:
        distance = F.reshape(diff(x), tuple(-1 if i == axis else 1 for i in range(ndim_of(y))))
    else:
        distance = diff(x, dim=dim_of(x, y, axis))
    return means * distance


def dim_of(x: Any, y: Any, axis: int) -> int:
    """The axis of x that is broadcast to that axis of y."""
    return axis - (ndim_of(y) - ndim_of(x))


@torch_function(getattr(np, "trapezoid", None) or np.__dict__["trapz"], method=False, names=("trapz",))
def trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The area under y along `dim` by the trapezoidal rule, at the places x or at distances dx."""
    axis = normalize_axis(dim, ndim_of(y))
    return F.sum(_steps(y, x, dx, axis), axis)


@torch_function(method=False)
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The running areas of `trapezoid`."""
    axis = normalize_axis(dim, ndim_of(y))
    return F.cumsum(_steps(y, x, dx, axis), axis)


# covariance -------------------------------------------------------------------------------------------------------------


@torch_function(np.cov)
def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Tensor:
    """The covariances of variables (rows) over observations (columns), with weights; a number for one variable."""
    x = F.reshape(input, (1, -1)) if ndim_of(input) < 2 else input
    x = F.astype(x, to_float(dtype_of(x)))
    weights = None
    for w in (fweights, aweights):
        if w is not None:
            w = F.astype(operand(w), x.dtype)
            weights = w if weights is None else weights * w
    if weights is None:
        n = x.shape[1]
        centred = x - F.mean(x, 1, keepdims=True)
        norm: Any = max_(n - correction, 0)
        total = F.matmul(centred, centred.mT)
    else:
        whole = F.sum(weights)
        centred = x - F.expand_dims(F.sum(x * weights, 1) / whole, 1)
        total = F.matmul(centred * weights, centred.mT)
        lost = whole if aweights is None else F.sum(weights * F.astype(operand(aweights), x.dtype))
        norm = F.clip(whole - correction * lost / whole if aweights is not None else whole - correction, 0, None)
    out = total / norm if not isinstance(norm, int) or norm else total / F.zeros_like(F.sum(total))
    return F.squeeze(F.squeeze(out, 1), 0) if out.shape == (1, 1) else out


max_ = max


@torch_function(np.corrcoef)
def corrcoef(input: Any) -> Tensor:
    """The correlations of variables (rows) over observations (columns)."""
    c = cov(input)
    if ndim_of(c) == 0:
        return c / c
    deviation = F.sqrt(F.diagonal(c))
    return F.clip(c / F.expand_dims(deviation, 1) / F.expand_dims(deviation, 0), -1, 1)
