"""PyTorch's functions that read or write elements at positions: gather, scatter and their kin.

Values are added at positions by the native scatter, and combined otherwise by the records of `scatter_reductions.py`; one of
these keeps the last value for a place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.types import INEXACT, TensorType, bool_, broadcast_shapes, int64, is_scalar, normalize_axis, shape_text
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ir import Call, Copy, Layout, Native, Node, OpDef, Routine, define
from .gathering import along_op, bounded, gather_op, index_add_op, rows_infer, scatter_along_op, scatter_op
from .indexing import WHOLE, cut, written_op
from .indexing import _as_index as as_index
from .operands import dtype_of, extent, extents, in_mode_of, integer, ndim_of, number_in
from .operators import F, Operators, Tensor, apply, as_array, is_tensor, routed, torch_function
from .rearranging import movedim
from .rules import linear, replaced
from .scatter_reductions import reduced, reducible

# rows that are replaced by others, in place where nobody else reads them ---------------------------------------------

# Of several for one place the last stays.


def _infer(x: TensorType, values: TensorType, index: TensorType) -> TensorType:
    if index.ndim != 1:
        raise ShapeError(f"rows are written by a 1-d index, got {shape_text(index.shape)}")
    return rows_infer(x, values, index)


def _eval(x: np.ndarray, values: np.ndarray, index: np.ndarray) -> np.ndarray:
    out = x.copy()
    out[index] = values  # of repeated places the last is assigned
    return out


def _plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    """The operand is copied to the result unless it lies there, and rows are written in place."""
    shape, picked = node.type.shape, node.inputs[2].type.size
    inner = math.prod(shape[1:])
    kernel = f"index_copy_i{8 * node.type.dtype.itemsize}"
    write = Routine("row_moves", kernel, 1, (picked, inner), picked * inner, name="index_copy", chunked=False, operands=(1, 2))
    return [Copy(0, Layout.contiguous(shape)), write]


def _of_rows(g: Any, node: Node, out: Any, x: Any, values: Any, index: Any) -> Any:
    """The cotangent of x: where nothing was written."""
    return apply(rows_written_op, g, F.zeros_like(values), index)


def _of_values(g: Any, node: Node, out: Any, x: Any, values: Any, index: Any) -> Any:
    """The cotangent of the values: that of their places, as in PyTorch, also where another value was written afterwards."""
    return apply(gather_op, g, index, axis=0)


rows_written_op: OpDef = define(
    name="index_copy",
    stored=True,
    batch=replaced,
    jvp=linear,
    indexes=lambda types, attrs: [(2, 0, 0)],
    infer=_infer,
    eval=_eval,
    vjp=(_of_rows, _of_values, None),
    emit=Native(_plan, inplace=0),
    promote=lambda operands: [None, None, int64],
    doc="x with its rows at 1-d positions replaced, the last one where several meet; in place where nobody else reads x.",
)


def rows_written(x: Any, values: Any, places: Any) -> Tensor:
    """x with the rows at checked places replaced by values."""
    return apply(rows_written_op, x, values, places)


# reads and writes at positions ---------------------------------------------------------------------------------------


def _rows(x: Any) -> tuple[Any, bool]:
    """x with an axis, and whether it lacked one."""
    return (F.reshape(x, (1,)), True) if ndim_of(x) == 0 else (x, False)


# along an axis ----------------------------------------------------------------------------------------------------------


def _fitted(x: Any, index: Any, axis: int) -> Any:
    """x cut to the index's extents away from the axis: PyTorch's index may be smaller."""
    for a, (have, want) in enumerate(zip(x.shape, index.shape, strict=True)):
        if a != axis and have != want and have is not None and want is not None:
            if want > have:
                raise ShapeError(
                    f"Size does not match at dimension {a} expected index {shape_text(index.shape)} to be no larger than self "
                    f"{shape_text(x.shape)} apart from dimension {axis}"
                )
            x = cut(x, a, 0, want)
    return x


@torch_function(cached=routed)
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Tensor:
    """The elements at positions along `dim`: `out[i, j] = input[index[i, j], j]` for dim 0. The index has the axes of `input`,
    and extents no larger than its away from `dim`. Raises IndexRangeError, ShapeError.

    Examples:
        >>> sg.gather(sg.tensor([[1, 2], [3, 4]]), 1, sg.tensor([[1], [0]]))
        tensor([[2],
                [3]])
    """
    x, scalar = _rows(input)
    places, flat = _rows(as_index(index))
    axis = normalize_axis(dim, ndim_of(x))
    if ndim_of(x) != ndim_of(places):
        if 0 in places.shape:
            return F.reshape(F.take(F.reshape(x, (-1,)), F.reshape(places, (-1,)), 0), places.shape)
        raise ShapeError("Index tensor must have the same number of dimensions as input tensor")
    x = _fitted(x, places, axis)
    out = apply(along_op, x, bounded(places, x, axis, negative=False), axis=axis)
    return F.reshape(out, ()) if flat and scalar else out


@torch_function()
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Tensor:
    """The elements at positions along `dim`, broadcast otherwise; of the flattened input without one.

    Examples:
        >>> sg.take_along_dim(sg.tensor([[3, 1], [2, 4]]), sg.tensor([[1], [0]]), dim=1)
        tensor([[1],
                [2]])
    """
    if dim is None:
        return F.take_along_axis(F.reshape(input, (-1,)), F.reshape(indices, (-1,)), 0)
    return F.take_along_axis(input, indices, dim)


@torch_function(cached=routed)
def index_select(input: Any, dim: int, index: Any) -> Tensor:
    """The slices at positions along `dim`; index: 1-D integers. Raises IndexRangeError.

    Examples:
        >>> sg.index_select(sg.tensor([[1, 2], [3, 4]]), 0, sg.tensor([1, 1]))
        tensor([[3, 4],
                [3, 4]])
    """
    x, scalar = _rows(input)
    places, _ = _rows(as_index(index))
    if ndim_of(places) != 1:
        raise ShapeError("index_select(): Index is supposed to be a vector")
    out = F.take(x, places, normalize_axis(dim, ndim_of(x)))
    return F.reshape(out, ()) if scalar else out


def _flat_place(like: Any, index: Any, axis: int) -> Any:
    """Where in the flattened array the elements lie that an index along an axis names."""
    place: Any = 0
    step = 1
    for a in reversed(range(len(like.shape))):
        part = index if a == axis else F.index_along(index, a)
        place = place + part * step
        step *= extent("scatter", like, a)
    return place


def written(x: Any, places: Any, values: Any) -> Any:
    """x (1-D) with values at places: the last one where several meet. Gradients flow to x where nothing is written, and to
    all values."""
    return rows_written(x, F.reshape(values, (-1,)), F.reshape(places, (-1,)))


def added(x: Any, places: Any, values: Any) -> Any:
    """x (1-D) with values added at places."""
    place = bounded(F.reshape(places, (-1,)), x, 0, negative=False)
    return x + apply(scatter_op, F.reshape(values, (-1,)), x, place, axis=0)


REDUCTIONS = {"sum": "sum", "add": "sum", "prod": "prod", "multiply": "prod", "mean": "mean", "amax": "amax", "amin": "amin"}


def combined(x: Any, places: Any, values: Any, axis: int, reduce: str, include_self: bool) -> Any:
    """x combined with the values at checked positions along an axis by a reduction."""
    if reduce in ("amax", "amin") and dtype_of(x).kind == "c":
        raise DTypeError(f"{reduce}: complex numbers have no order", "reduce their real and imaginary parts")
    if reduce not in ("sum", "mean"):
        return reduced(x, values, places, axis, reduce, include_self=include_self)
    if include_self:
        total = x + apply(scatter_along_op, values, x, places, axis=axis)
    else:
        total = reduced(x, values, places, axis, "sum", include_self=False)
    if reduce == "sum":
        return total
    hits = apply(scatter_along_op, F.ones_like(values), x, places, axis=axis)
    number = hits + 1 if include_self else F.where(F.eq(hits, 0), F.ones_like(hits), hits)
    return total / number if dtype_of(x).kind in INEXACT else F.floor_divide(total, number)


def _scattered(name: str, input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True) -> Any:
    x, scalar = _rows(input)
    places, _ = _rows(as_index(index))
    axis = normalize_axis(dim, ndim_of(x))
    if ndim_of(places) != ndim_of(x):
        if 0 in places.shape:
            return F.clone(input)
        raise ShapeError(f"{name}: the index needs as many axes as self, got {shape_text(places.shape)}")
    if is_scalar(src) or (isinstance(src, Operators) and not src.shape):
        value = F.astype(src, dtype_of(x)) if isinstance(src, Operators) else in_mode_of(np.asarray(src, dtype_of(x)), x)
        values = F.broadcast_to(value, places.shape)
    else:
        source = _rows(src if isinstance(src, Operators) else as_array(src))[0]
        if dtype_of(source) != dtype_of(x):
            raise DTypeError(f"{name}(): Expected self.dtype to be equal to src.dtype, got {dtype_of(x)} and {source.dtype}")
        values = source
        for a, want in enumerate(places.shape):
            if source.shape[a] is not None and want is not None and source.shape[a] < want:
                raise ShapeError(f"{name}: index {shape_text(places.shape)} is larger than src {shape_text(source.shape)}")
            if source.shape[a] != want:
                values = cut(values, a, 0, want)
    places = bounded(places, x, axis, negative=False)
    if reducible(x, places, axis):
        out = combined(x, places, values, axis, reduce, include_self)
    else:
        flat, place = F.reshape(x, (-1,)), F.reshape(_flat_place(x, places, axis), (-1,))
        out = F.reshape(combined(flat, place, F.reshape(values, (-1,)), 0, reduce, include_self), tuple(x.shape))
    return F.reshape(out, ()) if scalar else out


@torch_function(inplace=True, cached=routed)
def scatter(input: Any, dim: int, index: Any, src: Any = None, *, reduce: str | None = None, value: Any = None) -> Tensor:
    """`input` with values at positions along `dim`: `out[index[i, j], j] = src[i, j]` for dim 0. Where several meet the last
    one stays; reduce="add" or "multiply" combines them. `src`: a tensor, or a number. Raises IndexRangeError, DTypeError."""
    src = value if src is None else src
    if reduce is not None and reduce not in ("add", "multiply"):
        raise ArgumentError(f"reduce argument must be either add or multiply, got {reduce!r}")
    return _scattered("scatter", input, dim, index, src, "last" if reduce is None else REDUCTIONS[reduce])


@torch_function(inplace=True, cached=routed)
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Tensor:
    """`input` with `src` added at positions along `dim`.

    Examples:
        >>> sg.scatter_add(sg.zeros(3), 0, sg.tensor([0, 2, 2]), sg.tensor([1.0, 2.0, 3.0]))
        tensor([1., 0., 5.])
    """
    return _scattered("scatter_add", input, dim, index, src, "sum")


@torch_function(inplace=True, cached=routed)
def scatter_reduce(input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Tensor:
    """`input` combined with `src` at positions along `dim`: "sum", "prod", "mean", "amax" or "amin"; without include_self, of
    the values alone where there are any."""
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise ArgumentError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    return _scattered("scatter_reduce", input, dim, index, src, reduce, include_self)


# slices ---------------------------------------------------------------------------------------------------------------


def _slices(name: str, input: Any, dim: int, index: Any) -> tuple[Any, Any, int, bool]:
    """x, the place of each of its slices, the axis, and whether x had none."""
    x, scalar = _rows(input)
    axis = normalize_axis(dim, ndim_of(x))
    places, _ = _rows(as_index(index))
    if ndim_of(places) != 1:
        raise ShapeError(f"{name}: the index needs one axis, got {shape_text(places.shape)}")
    return x, bounded(places, x, axis, negative=True), axis, scalar


@torch_function(inplace=True, cached=routed)
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Tensor:
    """`input` with one value in the slices at positions along `dim`. The value is a number or a 0-d tensor."""
    x, places, axis, scalar = _slices("index_fill", input, dim, index)
    if isinstance(value, Operators) and value.shape:
        raise ShapeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if isinstance(value, Operators):  # whose gradient has each place once, however often it is named
        along = F.index_along(x, axis)
        place = F.reshape(along, (-1,))
        named = rows_written(F.zeros_like(place), F.ones_like(places), places)
        named = F.reshape(named, (-1, *(1,) * (ndim_of(x) - 1 - axis)))
        out = F.where(F.ne(named, 0), F.astype(value, x.dtype), x)
    else:
        number = in_mode_of(number_in("index_fill", value, dtype_of(x)), x)

        def values(rows: Any) -> Any:
            shape = (*places.shape, *rows.shape[1:])
            return fill(F.take(rows, places, 0), number) if None in shape else F.broadcast_to(number, shape)

        out = _rows_along(x, axis, places, values)
    return F.reshape(out, ()) if scalar else out


def _rows_along(x: Any, axis: int, places: Any, values: Callable[[Any], Any]) -> Any:
    """x with the slices at checked places of an axis replaced by the values for x with that axis first."""
    rows = F.swapaxes(x, 0, axis) if axis else x
    out = rows_written(rows, values(rows), places)
    return F.swapaxes(out, 0, axis) if axis else out


@torch_function()
def fill(input: Any, value: Any) -> Tensor:
    """One number in the shape and dtype of `input`, whose gradient is 0; a 0-d tensor takes its gradient."""
    if isinstance(value, (Operators, np.ndarray)) and value.shape:
        raise ShapeError(f"fill only supports 0-dimension value tensor but got tensor with {len(value.shape)} dimensions.")
    kind = dtype_of(input)
    number = F.astype(value, kind) if isinstance(value, Operators) else number_in("fill", value, kind)
    return F.where(np.True_, number, input)


@torch_function(inplace=True, cached=routed)
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Tensor:
    """`input` with the slices of `source` at positions along `dim`."""
    x, places, axis, scalar = _slices("index_copy", input, dim, index)
    values = _rows(source)[0]
    if values.dtype != x.dtype:
        raise DTypeError(f"index_copy_(): self and source expected to have the same dtype, got {x.dtype} and {values.dtype}")
    out = _rows_along(x, axis, places, lambda rows: F.swapaxes(values, 0, axis) if axis else values)
    return F.reshape(out, ()) if scalar else out


@torch_function(inplace=True, cached=routed)
def index_reduce(input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Tensor:
    """`input` combined with the slices of `source` at positions along `dim`: "prod", "mean", "amax" or "amin"."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise ArgumentError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    x, places, axis, scalar = _slices("index_reduce", input, dim, index)
    values = _rows(source)[0]
    if dtype_of(values) != dtype_of(x):
        raise DTypeError(f"index_reduce(): self and source expected to have the same dtype, got {x.dtype} and {values.dtype}")
    index_of = F.broadcast_like(F.reshape(places, tuple(-1 if i == axis else 1 for i in range(ndim_of(x)))), values)
    out = combined(x, index_of, values, axis, reduce, include_self)
    return F.reshape(out, ()) if scalar else out


@torch_function()
def select_scatter(input: Any, src: Any, dim: int, index: int) -> Tensor:
    """`input` with `src` as the slice at one position along `dim`."""
    axis = normalize_axis(dim, ndim_of(input))
    whole = extent("select_scatter", input, axis)
    index = integer("select_scatter", "index", index)
    at_ = index + whole if index < 0 else index
    return slice_scatter(input, F.expand_dims(src, axis), axis, at_, at_ + 1)


@torch_function()
def slice_scatter(
    input: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """`input` with `src` in the place of the slice start:end:step along `dim`."""
    axis = normalize_axis(dim, ndim_of(input))
    whole = extent("slice_scatter", input, axis)
    first = None if start is None else integer("slice_scatter", "start", start)
    last = None if end is None else integer("slice_scatter", "end", end)
    step = integer("slice_scatter", "step", step)
    places = range(whole)[first:last:step]
    if tuple(src.shape) != (*input.shape[:axis], len(places), *input.shape[axis + 1 :]):
        raise ShapeError(f"expected src to have a size equal to the slice of self, got {shape_text(src.shape)}")
    if not len(places):
        return F.clone(input)
    return apply(written_op, input, F.astype(src, input.dtype), slices=(*[WHOLE] * axis, (first, last, step)))


@torch_function()
def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """`input` with `src` on a diagonal."""
    n = ndim_of(input)
    a, b = normalize_axis(dim1, n), normalize_axis(dim2, n)
    x = movedim(input, (a, b), (-2, -1))
    rows, columns = extent("diagonal_scatter", x, n - 2), extent("diagonal_scatter", x, n - 1)
    mask = np.eye(rows, columns, integer("diagonal_scatter", "offset", offset), dtype=bool)
    place = np.zeros((rows, columns), np.int64)
    place[mask] = np.arange(mask.sum())
    if not mask.any():
        return F.clone(input)
    return movedim(F.where(mask, F.take(F.astype(src, x.dtype), place, n - 2), x), (-2, -1), (a, b))


@torch_function(method=True)
def as_strided_scatter(input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """`input` (row-major) with `src` at the places of these strides."""
    place = np.asarray(integer("as_strided_scatter", "storage_offset", storage_offset or 0), np.int64)
    if len(size) != len(stride):
        raise ArgumentError(f"as_strided_scatter: mismatch in length of strides and shape, {tuple(stride)} and {tuple(size)}")
    for d, s in zip(size, stride, strict=True):
        place = place[..., None] + np.arange(d) * s
    flat = F.reshape(input, (-1,))
    out = written(flat, bounded(place.reshape(-1), flat, 0, negative=False), src)
    return F.reshape(out, tuple(input.shape))


# the flattened array ----------------------------------------------------------------------------------------------------


@torch_function(inplace=True)
def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Tensor:
    """`input` with values at positions of the flattened array; they are added with `accumulate`."""
    flat = F.reshape(input, (-1,))
    places = bounded(F.reshape(as_index(index), (-1,)), flat, 0, negative=True)
    if source.dtype != input.dtype:
        raise DTypeError(f"put_(): self and source expected to have the same dtype, got {input.dtype} and {source.dtype}")
    out = added(flat, places, source) if accumulate else written(flat, places, source)
    return F.reshape(out, tuple(input.shape))


@torch_function(inplace=True)
def masked_scatter(input: Any, mask: Any, source: Any) -> Tensor:
    """`input` with the elements of `source`, in order, where the mask is true."""
    if source.dtype != input.dtype:
        raise DTypeError(
            f"masked_scatter: expected self and source to have same dtypes but got {input.dtype} and {source.dtype}"
        )
    if dtype_of(mask) != np.bool_:
        raise DTypeError(f"masked_scatter only supports boolean masks, but got mask with dtype {dtype_of(mask)}")
    shape = broadcast_shapes(*(extents("masked_scatter", x) for x in (mask, input)))
    spread = F.broadcast_to(mask, shape)
    flat = F.reshape(spread, (-1,))
    place = F.cumsum(F.astype(flat, np.int64), 0) - 1
    values = F.reshape(source, (-1,))
    if not extent("masked_scatter", values, 0):
        return F.clone(input)
    picked = F.take(values, F.clip(place, 0, values.shape[0] - 1), 0)
    return F.where(spread, F.reshape(picked, shape), F.broadcast_to(input, shape))


@torch_function(inplace=True, cached=routed)
def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """`input` with values where `input[indices]` reads; they are added with `accumulate`."""
    keys: tuple[Any, ...] = tuple(slice(None) if i is None else i for i in indices)
    shape = extents("index_put", input)
    value: Any = values if isinstance(values, Operators) else np.asarray(values, dtype_of(input))
    mask = keys[0] if len(keys) == 1 and is_tensor(keys[0]) and keys[0].dtype == bool_ and not value.shape else None
    if mask is not None and tuple(mask.shape) == shape[: len(mask.shape)]:
        mask = F.reshape(mask, (*mask.shape, *[1] * (len(shape) - len(mask.shape))))
        value = F.astype(value, input.dtype)
        return F.where(mask, input + value if accumulate else value, input)
    if shape and all(is_tensor(k) and k.dtype.kind in "iu" for k in keys) and len(keys) <= len(shape):
        return _rows_put(input, keys, shape, value, accumulate)
    numbers = F.reshape(np.arange(math.prod(shape), dtype=np.int64), shape)
    keys = tuple(np.asarray(k.numpy()) if is_tensor(k) and k.dtype == bool_ else k for k in keys)
    places = F.getitem(frontend_tensor(numbers), keys)
    spread = F.broadcast_to(F.astype(value, input.dtype), tuple(places.shape))
    flat = F.reshape(input, (-1,))
    out = added(flat, places, spread) if accumulate else written(flat, F.reshape(places, (-1,)), spread)
    return F.reshape(out, tuple(input.shape))


def _rows_put(x: Any, keys: Sequence[Any], shape: tuple[int, ...], value: Any, accumulate: bool) -> Tensor:
    """x with values in the rows that integers name along its leading axes, which become one."""
    count = len(keys)
    place: Any = 0
    for axis, key in enumerate(keys):
        checked = bounded(key, x, axis, negative=True)
        place = place * shape[axis] + checked if axis else checked
    rest = shape[count:]
    rows, value = F.reshape(x, (math.prod(shape[:count]), *rest)), F.astype(value, x.dtype)
    if None in place.shape:  # the run decides how many places there are
        values = F.reshape(F.broadcast_like(value, F.take(rows, place, 0)), (-1, *rest))
    else:
        values = F.reshape(F.broadcast_to(value, (*place.shape, *rest)), (math.prod(place.shape), *rest))
    places = F.reshape(place, (-1,))
    out = apply(index_add_op, rows, values, places) if accumulate else rows_written(rows, values, places)
    return F.reshape(out, shape)


def frontend_tensor(x: Any) -> Any:
    from .operators import frontends

    return x if isinstance(x, Operators) else frontends.tensor_class(x)
