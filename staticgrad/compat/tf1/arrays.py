"""Constants, placeholders, shapes and movement of elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from .core import (
    FLOATING,
    REGISTRY,
    F,
    Symbol,
    TensorType,
    UnrankedType,
    apply,
    counted_op,
    functional,
    has_rank,
    partial_values,
    static,
    using,
)
from .dtypes import STORAGE, TensorShape, as_dtype, extents, is_storage, known_extents
from .graph import get_default_graph
from .handles import Handle
from .tensor import (
    SIZES,
    Operand,
    array_of,
    constant_of,
    define,
    extent_of,
    extents_of,
    kind_of,
    known,
    operation,
    symbols,
    tensor,
)

newaxis = None


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Any:
    """A tensor that is fed at every run. shape: None for any; an extent that is None may change from run to run."""
    graph = get_default_graph()
    graph.check_open()
    kind, wanted = as_dtype(dtype).numpy, TensorShape(shape)
    with using(graph), static.control_dependencies(None):
        made = graph.leaf(
            UnrankedType(kind) if wanted.dims is None else TensorType(extents(wanted), kind),
            graph._scope + (name or "Placeholder"),
        )
    graph._types[made.node] = "Placeholder"
    return graph.handle(made.node)


@operation("PlaceholderWithDefault")
def placeholder_with_default(input: Operand, shape: Any) -> Any:
    """A tensor that may be fed, and is `input` otherwise; it has the shape of `input`."""
    return static.identity(input)


@operation("Const")
def constant(value: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False) -> Any:
    """A tensor with a value: Python's integers are int32, its floats float32. shape: its shape; the last element fills it."""
    if isinstance(value, Symbol):
        raise TypeError(f"Failed to convert object of type {type(value).__name__} to a constant: it is a tensor already")
    array = array_of(value, None if dtype is None else as_dtype(dtype).numpy)
    strings = is_storage(array.dtype)
    if shape is not None:
        sizes = known_extents(shape)
        if verify_shape and array.shape != sizes:
            raise TypeError(f"Expected Tensor's shape: {sizes}, got {array.shape}.")
        flat = array.ravel()
        count = int(np.prod(sizes, dtype=np.int64))
        if flat.size > count or (count and not flat.size):
            raise ValueError(f"Too many elements provided. Needed at most {count}, but received {flat.size}")
        array = np.concatenate([flat, np.repeat(flat[-1:], count - flat.size)]).reshape(sizes)
    return constant_of(array.view(STORAGE) if strings else array)


@operation("Const")
def convert_to_tensor(value: Any, dtype: Any = None, preferred_dtype: Any = None, dtype_hint: Any = None) -> Any:
    """The tensor itself, or a constant, of `preferred_dtype` where its values allow it. Raises ValueError for a tensor of
    another dtype."""
    wanted = preferred_dtype if dtype_hint is None else dtype_hint
    if dtype is None and wanted is not None and not isinstance(value, Symbol):
        with suppress(TypeError, ValueError):
            return tensor(value, wanted)
    return tensor(value, dtype)


identity = define("identity", "Identity", lambda input: static.identity(input), "The same value as a tensor of its own.")
stop_gradient = define(
    "stop_gradient", "StopGradient", lambda input: F.stop_gradient(input), "The same value, through which no gradient flows."
)


def type_of_shape(shape: Any, dtype: np.dtype) -> TensorType:
    """The type of a tensor of a shape, of which some extents are known."""
    items = shape
    if isinstance(shape, Symbol):
        if not has_rank(shape) or shape.shape == (None,):
            return UnrankedType(dtype)
        items = partial_values(shape)
    items = [items] if isinstance(items, (int, np.integer)) else items
    return TensorType(tuple(None if isinstance(n, Symbol) or n is None or n < 0 else int(n) for n in items), dtype)


def _filled(value: float, shape: Any, dtype: Any) -> Any:
    return static.constant(np.full(known_extents(shape), value, as_dtype(dtype).numpy))


def _filled_type(shape: Any, dtype: Any = np.float32) -> TensorType:
    return type_of_shape(shape, as_dtype(dtype).numpy)


@operation("zeros", "Const", types=_filled_type)
def zeros(shape: Any, dtype: Any = np.float32) -> Any:
    return _filled(0, shape, dtype)


@operation("ones", "Const", types=_filled_type)
def ones(shape: Any, dtype: Any = np.float32) -> Any:
    return _filled(1, shape, dtype)


@operation("Fill", types=lambda dims, value: type_of_shape(dims, tensor(value).dtype))
def fill(dims: Any, value: Operand) -> Any:
    """A tensor of shape `dims` full of a number, or of a tensor without axes."""
    return F.broadcast_to(value, known_extents(dims))


def _like(name: str, type_: str, function: Callable[[Any], Any]) -> Callable[..., Any]:
    def call(tensor_: Operand, dtype: Any = None, optimize: bool = True) -> Any:
        out = function(tensor_)
        return out if dtype is None else F.astype(out, as_dtype(dtype).numpy)

    return operation(name, type_)(call)


zeros_like, ones_like = _like("zeros_like", "ZerosLike", F.zeros_like), _like("ones_like", "OnesLike", F.ones_like)


@operation("eye", "Eye")
def eye(num_rows: int, num_columns: int | None = None, batch_shape: Any = None, dtype: Any = np.float32) -> Any:
    """Ones on the diagonal of matrices."""
    matrix = np.eye(num_rows, num_columns, dtype=as_dtype(dtype).numpy)
    batch = () if batch_shape is None else known_extents(batch_shape)
    return static.constant(np.broadcast_to(matrix, (*batch, *matrix.shape)))


def _kind_of(*values: Any) -> np.dtype:
    """The widest dtype of operands that may be tensors, arrays or plain numbers."""
    plain = [int(v) if hasattr(v, "__index__") and not hasattr(v, "dtype") else v for v in values]
    kinds = [np.dtype(v.dtype if isinstance(v, Symbol) else array_of(v).dtype) for v in plain]
    order = [np.dtype(kind) for kind in (np.int32, np.int64, np.float32, np.float64)]
    return max(kinds, key=lambda kind: order.index(kind) if kind in order else -1)


@operation("range", "Range")
def range_(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None) -> Any:
    """start, start + delta, ... before limit, in the widest of their dtypes."""
    start, limit = (0, start) if limit is None else (start, limit)
    kind = _kind_of(start, limit, delta) if dtype is None else as_dtype(dtype).numpy
    if not known(delta):
        raise ValueError(f"Requires delta != 0: {known(delta)} for 'range'")
    return static.constant(np.arange(known(start), known(limit), known(delta)).astype(kind))


@operation("LinSpace")
def linspace(start: Any, stop: Any, num: int) -> Any:
    """`num` numbers from start to stop, both included, in the dtype of start."""
    kind = _kind_of(start)
    return static.constant(np.linspace(known(start), known(stop), num).astype(kind if kind.kind in FLOATING else np.float32))


# shapes ---------------------------------------------------------------------------------------------------------------


def _reshaped(tensor_: Any, shape: Any) -> TensorType:
    """The type of a reshape, of which some extents are known."""
    return type_of_shape(shape, tensor(tensor_).dtype)


@operation("Reshape", types=_reshaped)
def reshape(tensor_: Operand, shape: Any) -> Any:
    """The elements in another shape, of which one extent may be -1."""
    return F.reshape(tensor_, tuple(extents_or_minus_one(shape)))


def extents_or_minus_one(shape: Any) -> list[int]:
    items = [shape] if isinstance(shape, (int, np.integer)) else list(shape)
    return [-1 if item is None else int(item) for item in items]


@operation("transpose", "Transpose")
def transpose(a: Operand, perm: Any = None, conjugate: bool = False) -> Any:
    """The axes in the order `perm`, reversed unless given."""
    return F.permute(a, tuple(reversed(range(a.ndim))) if perm is None else tuple(int(p) for p in perm))


@operation("ExpandDims", old={"dim": "axis"})
def expand_dims(input: Operand, axis: Any = None) -> Any:
    return F.expand_dims(input, axis)


@operation("Squeeze", old={"squeeze_dims": "axis"})
def squeeze(input: Operand, axis: Any = None) -> Any:
    axis = tuple(axis) if isinstance(axis, list) else axis
    x = input
    if axis is None or axis == ():
        extents_of(x)  # which of them are 1 decides
    for i in () if axis is None else axis if isinstance(axis, tuple) else (axis,):
        if has_rank(x) and -x.ndim <= i < x.ndim and x.shape[i] not in (1, None):
            raise ValueError(f"Can not squeeze dim[{i}], expected a dimension of 1, got {x.shape[i]}")
    return F.squeeze(x) if axis is None or axis == () else F.squeeze(x, axis)


@operation("concat", "ConcatV2")
def concat(values: Any, axis: int) -> Any:
    """Tensors one after another along `axis`."""
    items = [values] if isinstance(values, Symbol) else list(values)
    first = _first_dtype(items)
    return F.concatenate([tensor(v, first) for v in items], axis=axis)


def _first_dtype(values: Any) -> Any:
    """The dtype of the first tensor among values, which plain ones take; None where there is none."""
    return next((kind_of(v) for v in values if isinstance(v, Symbol)), None)


@operation("stack", "Pack")
def stack(values: Any, axis: int = 0) -> Any:
    first = _first_dtype(values)
    return F.stack([tensor(v, first) for v in values], axis=axis)


@operation("unstack", "Unpack")
def unstack(value: Operand, num: int | None = None, axis: int = 0) -> list[Any]:
    """The parts along an axis of known extent, without that axis."""
    count = value.shape[axis] if num is None else num
    if count is None:
        raise ValueError(f"Cannot infer num from shape {TensorShape(value.shape)}")
    before = (slice(None),) * (axis % value.ndim)
    return [value[(*before, i)] for i in range(count)]


def _parts(value: Any, num_or_size_splits: Any, axis: int = 0, num: int | None = None) -> list[TensorType]:
    """The types of the parts, whose number is known."""
    x = tensor(value)
    if isinstance(num_or_size_splits, Symbol):
        count = num if num is not None else num_or_size_splits.shape[0]
    else:
        count = num_or_size_splits if isinstance(num_or_size_splits, (int, np.integer)) else len(num_or_size_splits)
    if not has_rank(x):
        return [UnrankedType(x.dtype)] * count
    return [TensorType((*x.shape[: axis % x.ndim], None, *x.shape[axis % x.ndim + 1 :]), x.dtype)] * count


@operation("split", "Split", types=_parts)
def split(value: Operand, num_or_size_splits: Any, axis: int = 0, num: int | None = None) -> list[Any]:
    """The value cut into a number of equal parts, or into parts of the given sizes."""
    if isinstance(num_or_size_splits, (int, np.integer)):
        count, total = int(num_or_size_splits), extent_of(value, axis)
        if total % count:
            raise ValueError(f"Dimension size must be evenly divisible by {count} but is {total}")
        sizes = [total // count] * count
    else:
        sizes = [int(s) for s in num_or_size_splits]
        if -1 in sizes:
            sizes[sizes.index(-1)] = extent_of(value, axis) - sum(sizes) - 1
        if value.shape[axis] is not None and sum(sizes) != value.shape[axis]:
            raise ValueError(f"sizes {sizes} do not add up to the extent {value.shape[axis]}")
    before, parts, start = (slice(None),) * (axis % value.ndim), [], 0
    for size in sizes:
        parts.append(value[(*before, slice(start, start + size))])
        start += size
    return parts


def _one_per_axis(type_: str, values: Any, x: Any) -> None:
    """Raises ValueError unless there are as many values as axes."""
    if len(values) != x.ndim:
        raise ValueError(f"Shape must be rank {len(values)} but is rank {x.ndim} for '{type_}'")


@operation("Tile")
def tile(input: Operand, multiples: Any) -> Any:
    """The value repeated along each axis."""
    _one_per_axis("Tile", multiples, input)
    for axis, count in enumerate(int(m) for m in multiples):
        if count != 1:
            input = F.concatenate([input] * count, axis=axis) if count else input[(*(slice(None),) * axis, slice(0, 0))]
    return input


@operation("Pad")
def pad(tensor_: Operand, paddings: Any, mode: str = "CONSTANT", constant_values: float = 0) -> Any:
    """x with (before, after) more elements per axis."""
    x, amounts = tensor_, np.asarray(paddings).tolist()
    _one_per_axis("Pad", amounts, x)
    modes = {"CONSTANT": "constant", "REFLECT": "reflect"}
    if mode.upper() not in modes:
        raise ValueError(f"Unknown padding mode: {mode}. This library pads with CONSTANT and REFLECT")
    flat = [n for pair_ in reversed(amounts) for n in pair_]
    options = {"value": constant_values} if mode.upper() == "CONSTANT" else {}
    return functional.pad(x, flat, mode=modes[mode.upper()], **options)


@operation("Slice")
def slice_(input_: Operand, begin: Any, size: Any) -> Any:
    """The part of extents `size` from `begin` on; -1 is all that is left."""
    _one_per_axis("Slice", begin, input_)
    key = tuple(slice(int(b), None if int(s) == -1 else int(b) + int(s)) for b, s in zip(begin, size, strict=True))
    return input_[key]


@operation("Gather", "GatherV2")
def gather(params: Operand, indices: Operand, validate_indices: Any = None, axis: int = 0, batch_dims: int = 0) -> Any:
    """Slices of `params` along `axis` at `indices`."""
    if batch_dims:
        from .gathering import gathered_in_batches

        return gathered_in_batches(params, indices, axis or batch_dims, batch_dims)
    return F.take(params, indices, axis=axis)


@operation("ReverseV2")
def reverse(tensor_: Operand, axis: Any) -> Any:
    """The elements in reverse order along the axes."""
    for one in axis if isinstance(axis, (list, tuple)) else [axis]:
        tensor_ = F.flip(tensor_, one)
    return tensor_


@operation("one_hot", "OneHot")
def one_hot(
    indices: Operand, depth: int, on_value: Any = None, off_value: Any = None, axis: int | None = None, dtype: Any = None
) -> Any:
    """`on_value` (1) at each index along a new axis, `off_value` (0) elsewhere; zeros for an index out of range."""
    kind = as_dtype(np.float32 if dtype is None else dtype).numpy
    hit = F.eq(F.expand_dims(indices, -1), static.constant(np.arange(depth).astype(indices.dtype)))
    on = static.constant(np.asarray(1 if on_value is None else on_value, kind))
    off = static.constant(np.asarray(0 if off_value is None else off_value, kind))
    out = F.where(hit, on, off)
    if axis is None or axis in (-1, out.ndim - 1):
        return out
    order = list(range(out.ndim - 1))
    order.insert(axis, out.ndim - 1)
    return F.permute(out, tuple(order))


@operation("Select")
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """x where the condition holds, else y, both of one shape."""
    from .gathering import select

    return select(condition, x, y, "Select", _of_rows)


def _of_rows(condition: Any, x: Any) -> Any:
    """TensorFlow 1 chooses rows by a condition with one axis."""
    return F.reshape(condition, (-1, *(1,) * (x.ndim - 1))) if condition.ndim == 1 and x.ndim > 1 else condition


@operation("Shape")
def shape(input: Operand, out_type: Any = np.int32) -> Any:
    """The extents, a tensor with one axis."""
    x, kind = input, as_dtype(out_type).numpy
    if None not in x.shape:
        return static.constant(np.asarray(x.shape, kind))
    return F.stack([apply(REGISTRY["count"], x, axis=(axis,), dtype=kind) for axis in range(x.ndim)])


@operation("Size")
def size(input: Operand, out_type: Any = np.int32) -> Any:
    """The number of elements, a tensor without axes."""
    x, kind = input, as_dtype(out_type).numpy
    if None not in x.shape:
        return static.constant(np.asarray(math.prod(x.shape), kind))
    return apply(REGISTRY["count"], x, axis=tuple(range(x.ndim)), dtype=kind)


rank = define("rank", "Rank", lambda input: static.constant(np.int32(input.ndim)), "The number of axes, a tensor without axes.")


ENDS = SIZES | {"end", "strides"}


@operation("StridedSlice", sizes=ENDS)
def strided_slice(
    input_: Operand, begin: Any, end: Any, strides: Any = None, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0,
    new_axis_mask: int = 0, shrink_axis_mask: int = 0, var: Any = None,
) -> Any:  # fmt: skip
    """`input_[begin[0]:end[0]:strides[0], ...]`. Bit i of a mask: there is no beginning or end, an ellipsis, a new axis, or one
    position stands at place i. var is accepted."""
    key: list[Any] = []
    for i, (first, last) in enumerate(zip(begin, end, strict=True)):
        step, bit = 1 if strides is None else int(strides[i]), 1 << i
        if ellipsis_mask & bit:
            key.append(...)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            key.append(int(first))
        else:
            key.append(slice(None if begin_mask & bit else int(first), None if end_mask & bit else int(last), step))
    return input_[tuple(key)]


@operation("strided_slice", "StridedSlice")
def _subscript(input_: Operand, key: Any) -> Any:
    items = key if isinstance(key, tuple) else (key,)
    return input_[tuple(known(item) if isinstance(item, slice) else item for item in items)]


def _getitem(self: Any, key: Any) -> Any:
    return _subscript(self, symbols(key))


setattr(Handle, "__getitem__", _getitem)  # noqa: B010  (an assignment would not be typed)


@operation("SequenceMask")
def sequence_mask(lengths: Operand, maxlen: int | None = None, dtype: Any = np.bool_) -> Any:
    """True (1) at the first `lengths` of `maxlen` positions along a new last axis, of as many as the longest has without it."""
    if maxlen is None:
        longest = F.max(F.concatenate([F.reshape(lengths, (-1,)), static.constant(np.zeros(1, lengths.dtype))], 0))
        positions = F.astype(apply(counted_op, longest), lengths.dtype)
    else:
        positions = static.constant(np.arange(maxlen).astype(lengths.dtype))
    return F.astype(F.lt(positions, F.expand_dims(lengths, -1)), as_dtype(dtype).numpy)
