"""`tf.sparse`: functions of sparse tensors. Each is a few gathers and scatters of dense tensors.

How many elements a result has depends on positions, so where a function drops or joins elements the positions have to be known,
or fed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from . import arrays
from .core import F, TensorType, static, using
from .dtypes import TensorShape, as_dtype
from .elements import get_static_value
from .gathering import FOLDS, SEGMENTS, _positions, boolean_mask, gather_nd, where_true
from .graph import get_default_graph
from .handles import Handle
from .math import add as dense_add  # type: ignore[attr-defined]
from .math import logical_or, reduce_all  # type: ignore[attr-defined]
from .math import maximum as dense_maximum  # type: ignore[attr-defined]
from .math import minimum as dense_minimum  # type: ignore[attr-defined]
from .math import reduce_max as dense_max  # type: ignore[attr-defined]
from .math import reduce_sum as dense_sum  # type: ignore[attr-defined]
from .tensor import SIZES, Operand, define, extents_of, handles, known, operation, symbols, tensor


class SparseTensorValue(NamedTuple):
    """Arrays: positions (count, rank) int64, values (count,), shape (rank,) int64."""

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor:
    """Positions (count, rank) int64 in row-major order, values (count,), and the shape (rank,) int64 of the whole."""

    def __init__(self, indices: Any, values: Any, dense_shape: Any):
        graph = get_default_graph()
        with using(graph):
            self.indices = handles(graph, tensor(symbols(indices), np.int64))
            self.values = handles(graph, tensor(symbols(values)))
            self.dense_shape = handles(graph, tensor(symbols(dense_shape), np.int64))

    @classmethod
    def from_value(cls, value: Any) -> SparseTensor:
        return value if isinstance(value, cls) else cls(value.indices, value.values, value.dense_shape)

    op = property(lambda self: self.values.op)
    graph = property(lambda self: self.values.graph)
    dtype = property(lambda self: self.values.dtype)

    @property
    def shape(self) -> TensorShape:
        found = get_static_value(self.dense_shape)
        rank = self.dense_shape.shape.as_list()[0]
        if found is None:
            return TensorShape(None if rank is None else [None] * rank)
        return TensorShape([int(n) for n in found])

    def get_shape(self) -> TensorShape:
        return self.shape

    def rank(self) -> int:
        """The number of axes. Raises ValueError where it is unknown."""
        found: int | None = self.dense_shape.shape.as_list()[0]
        if found is None:
            raise ValueError(
                f"{self}: the number of axes is needed here: give sparse_placeholder a shape, of which extents may be None"
            )
        return found

    def fetched_as(self) -> SparseTensorValue:
        """What a run fetches for it, and is fed."""
        return SparseTensorValue(self.indices, self.values, self.dense_shape)

    def with_values(self, new_values: Any) -> SparseTensor:
        return SparseTensor(self.indices, new_values, self.dense_shape)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        from .handles import evaluate

        return evaluate(self, feed_dict, session)

    def __neg__(self) -> SparseTensor:
        return self.with_values(-self.values)

    def __mul__(self, other: Any) -> SparseTensor:
        return self.with_values(_times(self, other, False))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        return self.with_values(_times(self, other, True))

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self.indices}, values={self.values}, dense_shape={self.dense_shape})"


Given = SparseTensor | SparseTensorValue


def of(x: Any) -> SparseTensor:
    """Raises TypeError for what is not sparse."""
    if not isinstance(x, (SparseTensor, SparseTensorValue)):
        raise TypeError(f"Input must be a SparseTensor, got {type(x).__name__}")
    return SparseTensor.from_value(x)


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A sparse tensor that is fed a `SparseTensorValue`, or a triple of arrays."""
    wanted = TensorShape(known(symbols(shape)) if isinstance(shape, Handle) else shape)
    rank = wanted.ndims
    prefix = f"{name}/" if name else ""
    indices = arrays.placeholder(np.int64, [None, rank], f"{prefix}indices")
    values = arrays.placeholder(as_dtype(dtype), [None], f"{prefix}values")
    if rank is not None and wanted.is_fully_defined():
        whole = arrays.constant(np.array(wanted.as_list(), np.int64))
        sizes = arrays.placeholder_with_default(whole, [rank], name=f"{prefix}shape")
    else:
        sizes = arrays.placeholder(np.int64, [rank], f"{prefix}shape")
    return SparseTensor(indices, values, sizes)


def _sizes(shape: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in known(shape))


PARTS = frozenset({"shape"})


def _parts(x: Any) -> tuple[Any, Any, tuple[int, ...]]:
    """Positions, values and extents. Raises TypeError for what is not sparse."""
    if not isinstance(x, SparseTensorValue):
        raise TypeError(f"Input must be a SparseTensor, got {type(x).__name__}")
    return tensor(x.indices), tensor(x.values), _sizes(x.dense_shape)


# dense and sparse -----------------------------------------------------------------------------------------------------


def _type_of_dense(sp_input: Any, *args: Any, **options: Any) -> TensorType:
    return arrays.type_of_shape(sp_input.dense_shape, tensor(sp_input.values).dtype)


@operation("SparseToDense", types=_type_of_dense)
def to_dense(sp_input: Given, default_value: Any = None, validate_indices: bool = True) -> Any:
    """The dense tensor, with `default_value` (0) elsewhere."""
    indices, values, sizes = _parts(sp_input)
    places = _positions(indices, sizes)
    if default_value is None:
        flat = static.constant(np.zeros(math.prod(sizes), values.dtype))
        return F.reshape(F.index_add(flat, 0, places, values), sizes)
    start = F.broadcast_to(F.reshape(tensor(default_value, values.dtype), (1,)), (math.prod(sizes),))
    return F.reshape(F.index_copy(start, 0, places, values), sizes)


@operation(
    "SparseToDense", sizes=frozenset({"output_shape"}),
    types=lambda indices, shape, values, *rest, **options: arrays.type_of_shape(shape, tensor(values).dtype),
)  # fmt: skip
def sparse_to_dense(
    sparse_indices: Operand, output_shape: Any, sparse_values: Operand, default_value: Any = 0, validate_indices: bool = True
) -> Any:
    """A dense tensor of `default_value` with values at positions (count, rank), or (count,) in one axis."""
    sizes = tuple(int(n) for n in np.atleast_1d(output_shape))
    places = F.reshape(sparse_indices, (-1, 1)) if sparse_indices.ndim < 2 else sparse_indices
    flat = _positions(places, sizes)
    start = F.broadcast_to(F.reshape(tensor(default_value, sparse_values.dtype), (1,)), (math.prod(sizes),))
    return F.reshape(F.index_copy(start, 0, flat, F.broadcast_to(sparse_values, flat.shape)), sizes)


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The elements that are not 0."""

    dense = arrays.convert_to_tensor(tensor)
    places = where_true(_there(dense))
    return SparseTensor(places, gather_nd(dense, places, name=name), arrays.shape(dense, out_type=np.int64))


_there = define("_there", "NotEqual", lambda x: F.ne(x, 0))


@operation("SparseDenseCwiseMul")
def _times(sp_input: Given, other: Any, inverse: bool) -> Any:
    indices, values = tensor(sp_input.indices), tensor(sp_input.values)
    dense = tensor(other, values.dtype)
    if dense.ndim:
        sizes = _sizes(sp_input.dense_shape)
        dense = F.take(F.reshape(F.broadcast_to(dense, sizes), (-1,)), _positions(indices, sizes), axis=0)
    return F.div(values, dense) if inverse else F.mul(values, dense)


# products and reductions ----------------------------------------------------------------------------------------------


@operation("SparseTensorDenseMatMul")
def _product(sp_a: Given, b: Operand, adjoint_a: bool, adjoint_b: bool) -> Any:
    indices, values, sizes = _parts(sp_a)
    b = F.swapaxes(b, 0, 1) if adjoint_b else b
    to, by = (indices[:, 1], indices[:, 0]) if adjoint_a else (indices[:, 0], indices[:, 1])
    parts = F.mul(F.expand_dims(values, 1), F.take(b, by, axis=0))
    zeros = static.constant(np.zeros((sizes[1 if adjoint_a else 0], extents_of(b)[1]), b.dtype))
    return F.index_add(zeros, 0, to, parts)


def sparse_dense_matmul(sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None) -> Any:
    """The product of a sparse matrix and a dense one; of a dense and a sparse one, too."""
    if isinstance(b, (SparseTensor, SparseTensorValue)):
        return arrays.transpose(_product(b, sp_a, not adjoint_b, not adjoint_a), name=name)
    return _product(sp_a, b, adjoint_a, adjoint_b, name=name)


def reduce_sum(
    sp_input: Given, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """The dense sum over the axes."""
    axes = axis if reduction_axes is None else reduction_axes
    return dense_sum(to_dense(sp_input), axes, bool(keepdims or keep_dims), name=name or "SparseReduceSum")


@operation("SparseReduceMax", sizes=SIZES | {"reduction_axes"}, old={"reduction_axes": "axis", "keep_dims": "keepdims"})
def _largest(sp_input: Given, axis: Any = None, keepdims: Any = None) -> Any:
    indices, values, sizes = _parts(sp_input)
    rank = len(sizes)
    away = set(range(rank)) if axis is None else {int(a) % rank for a in np.atleast_1d(axis)}
    left = [a for a in range(rank) if a not in away]
    kept = tuple(sizes[a] for a in left)
    places = _positions(F.take(indices, static.constant(np.array(left, np.int64)), axis=1), kept) if left else None
    places = F.mul(indices[:, 0], 0) if places is None else places
    count = math.prod(kept)
    best = FOLDS["max"](values, places, count, ())
    there = FOLDS["sum"](F.astype(F.ones_like(places), values.dtype), places, count, ())
    best = F.where(F.gt(there, 0), best, F.zeros_like(best))
    return F.reshape(best, tuple(1 if a in away else n for a, n in enumerate(sizes)) if keepdims else kept)


def reduce_max(
    sp_input: Given, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None, keep_dims: Any = None,
    output_is_sparse: bool = False, name: str | None = None,
) -> Any:  # fmt: skip
    """The dense maximum of the elements that are there over the axes, 0 where there is none."""
    found = _largest(sp_input, axis, keepdims, name, reduction_axes, keep_dims)
    return from_dense(found) if output_is_sparse else found


@operation("SparseSoftmax")
def _softmax(sp_input: Given) -> Any:
    indices, values, sizes = _parts(sp_input)
    rows, count = _positions(indices[:, :-1], sizes[:-1]), math.prod(sizes[:-1])
    top = F.stop_gradient(FOLDS["max"](values, rows, count, ()))
    e = F.exp(F.sub(values, F.take(top, rows, axis=0)))
    return F.div(e, F.take(FOLDS["sum"](e, rows, count, ()), rows, axis=0))


def softmax(sp_input: Given, name: str | None = None) -> SparseTensor:
    """The softmax over the elements of each row that are there."""
    return of(sp_input).with_values(_softmax(sp_input, name=name))


# positions ------------------------------------------------------------------------------------------------------------


def _sorted(name: str, indices: Any, values: Any, shape: Any) -> SparseTensor:
    """In row-major order."""
    order = _order(indices, shape, name=name)
    return SparseTensor(arrays.gather(indices, order), arrays.gather(values, order), shape)


@operation("SparseReorder", sizes=PARTS)
def _order(indices: Operand, shape: Any) -> Any:
    return F.argsort(_positions(indices, _sizes(shape)), 0, stable=True)


def reorder(sp_input: Given, name: str | None = None) -> SparseTensor:
    """The elements in row-major order."""
    x = of(sp_input)
    return _sorted(name or "SparseReorder", x.indices, x.values, x.dense_shape)


def transpose(sp_input: Given, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The axes in the order `perm`, reversed unless given."""
    x = of(sp_input)
    rank = x.rank()
    order = list(range(rank))[::-1] if perm is None else [int(p) for p in perm]
    return _sorted(
        name or "SparseTranspose", arrays.gather(x.indices, order, axis=1), x.values, arrays.gather(x.dense_shape, order)
    )


@operation("SparseReshape", sizes=frozenset({"old", "new"}))
def _reshaped(indices: Operand, old: Any, new: Any) -> tuple[Any, Any]:
    before, after = _sizes(old), [int(n) for n in np.atleast_1d(new)]
    if -1 in after:
        after[after.index(-1)] = math.prod(before) // max(1, -math.prod(after))
    flat = _positions(indices, before)
    places = F.stack(list(F.unravel_index(flat, tuple(after))), axis=1)
    return F.astype(places, np.int64), static.constant(np.array(after, np.int64))


def reshape(sp_input: Given, shape: Any, name: str | None = None) -> SparseTensor:
    """The elements in another shape, of which one extent may be -1."""
    x = of(sp_input)
    places, sizes = _reshaped(x.indices, x.dense_shape, shape, name=name)
    return SparseTensor(places, x.values, sizes)


def expand_dims(sp_input: Given, axis: int | None = None, name: str | None = None) -> SparseTensor:
    """A new axis of extent 1, the last unless given."""
    x = of(sp_input)
    rank = x.rank()
    place = rank if axis is None else axis % (rank + 1)
    gap = arrays.zeros_like(x.indices[:, :1])
    indices = arrays.concat([x.indices[:, :place], gap, x.indices[:, place:]], 1, name=name)
    one = arrays.constant(np.ones(1, np.int64))
    return SparseTensor(indices, x.values, arrays.concat([x.dense_shape[:place], one, x.dense_shape[place:]], 0))


def concat(
    axis: Any, sp_inputs: Any, name: str | None = None, expand_nonconcat_dim: bool = False, concat_dim: Any = None,
    expand_nonconcat_dims: Any = None,
) -> SparseTensor:  # fmt: skip
    """Sparse tensors one after another along an axis."""
    axis = axis if concat_dim is None else concat_dim
    parts = [of(x) for x in sp_inputs]
    rank = parts[0].rank()
    along = axis % rank
    unit = arrays.constant(np.eye(rank, dtype=np.int64)[along])
    indices, start = [], None
    for part in parts:
        indices.append(part.indices if start is None else part.indices + start)
        step = part.dense_shape * unit
        start = step if start is None else start + step
    sizes = parts[0].dense_shape
    if expand_nonconcat_dim or expand_nonconcat_dims:
        for part in parts[1:]:
            sizes = dense_maximum(sizes, part.dense_shape)
    sizes = sizes * (1 - unit) + start
    return _sorted(name or "SparseConcat", arrays.concat(indices, 0), arrays.concat([p.values for p in parts], 0), sizes)


def retain(sp_input: Given, to_retain: Any, name: str | None = None) -> SparseTensor:
    """The elements where a boolean vector holds."""
    x = of(sp_input)
    return SparseTensor(boolean_mask(x.indices, to_retain), boolean_mask(x.values, to_retain, name=name), x.dense_shape)


def slice_(sp_input: Given, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """The part of extents `size` from `start` on."""
    x = of(sp_input)
    first: Any = arrays.constant(np.asarray(start, np.int64)) if not isinstance(start, Handle) else start
    extent = arrays.constant(np.asarray(size, np.int64)) if not isinstance(size, Handle) else size
    ends: Any = dense_minimum(first + extent, x.dense_shape)
    inside = reduce_all(_within(x.indices, first, ends), 1)
    kept = retain(x, inside, name=name)
    return SparseTensor(kept.indices - first, kept.values, ends - first)


_within = define("_within", "LogicalAnd", lambda x, low, high: F.logical_and(F.ge(x, low), F.lt(x, high)))


def split(
    keyword_required: Any = None, sp_input: Any = None, num_split: int | None = None, axis: int | None = None,
    name: str | None = None, split_dim: int | None = None,
) -> list[SparseTensor]:  # fmt: skip
    """Parts along an axis; the first ones are longer by 1 where it does not divide."""
    x, axis = of(sp_input), axis if split_dim is None else split_dim
    sizes = get_static_value(x.dense_shape)
    if sizes is None or num_split is None or axis is None:
        raise ValueError("sparse_split: num_split, axis and the shape have to be known when the graph is built")
    count, rest = divmod(int(sizes[axis]), num_split)
    parts, start = [], 0
    for number in range(num_split):
        begin, extent = np.zeros(len(sizes), np.int64), np.array(sizes, np.int64)
        begin[axis], extent[axis] = start, count + (number < rest)
        parts.append(slice_(x, begin, extent, name=name))
        start += int(extent[axis])
    return parts


def add(a: Any, b: Any, threshold: Any = None, thresh: Any = None, name: str | None = None) -> Any:
    """The sum: of two sparse tensors a sparse one, without elements that are not larger than `threshold`; else a dense one."""
    sparse = [isinstance(x, (SparseTensor, SparseTensorValue)) for x in (a, b)]
    if not any(sparse):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if all(sparse):
        limit = thresh if threshold is None else threshold
        return _joined(of(a), of(b), lambda x, y: dense_add(x, y, name=name), limit)
    return dense_add(*(to_dense(x) if s else x for x, s in zip((a, b), sparse, strict=True)), name=name)


def _joined(a: SparseTensor, b: SparseTensor, combine: Any, limit: Any) -> SparseTensor:
    """Two sparse tensors elementwise, with the places of both."""
    there = logical_or(*(_there(to_dense(x.with_values(arrays.ones_like(x.values)))) for x in (a, b)))
    out = combine(to_dense(a), to_dense(b))
    if limit is not None and not (isinstance(limit, (int, float)) and limit == 0):
        there = _large(there, out, limit)
    places = where_true(there)
    return SparseTensor(places, gather_nd(out, places), a.dense_shape)


@operation("LogicalAnd")
def _large(there: Operand, x: Operand, limit: Any) -> Any:
    return F.logical_and(there, F.gt(F.abs(x), tensor(limit, x.dtype)))


def maximum(sp_a: Given, sp_b: Given, name: str | None = None) -> SparseTensor:
    """The larger elements, where either is; what is not there is 0."""
    return _joined(of(sp_a), of(sp_b), lambda x, y: dense_maximum(x, y, name=name), None)


def minimum(sp_a: Given, sp_b: Given, name: str | None = None) -> SparseTensor:
    """The smaller elements, where either is; what is not there is 0."""
    return _joined(of(sp_a), of(sp_b), lambda x, y: dense_minimum(x, y, name=name), None)


def eye(num_rows: int, num_columns: int | None = None, dtype: Any = np.float32, name: str | None = None) -> SparseTensor:
    """Ones on the diagonal."""
    columns = num_rows if num_columns is None else num_columns
    place = np.arange(min(num_rows, columns), dtype=np.int64)
    ones = arrays.constant(np.ones(place.size, as_dtype(dtype).numpy), name=name or "eye")
    return SparseTensor(np.stack([place, place], 1), ones, np.array([num_rows, columns], np.int64))


def fill_empty_rows(sp_input: Given, default_value: Any, name: str | None = None) -> tuple[SparseTensor, Any]:
    """(with `default_value` in the first column of rows that have no element, which rows these are)."""
    x = of(sp_input)
    empty = _empty(x.indices, x.dense_shape, name=name)
    rows = where_true(empty)
    rank = x.rank()
    gaps = arrays.pad(rows, [[0, 0], [0, rank - 1]])
    values = arrays.zeros_like(gaps[:, 0], dtype=x.dtype) + arrays.convert_to_tensor(default_value, x.dtype)
    joined = _sorted(
        "SparseFillEmptyRows", arrays.concat([x.indices, gaps], 0), arrays.concat([x.values, values], 0), x.dense_shape
    )
    return joined, empty


@operation("SparseFillEmptyRows", sizes=PARTS)
def _empty(indices: Operand, shape: Any) -> Any:
    rows = indices[:, 0]
    ones = F.ones_like(rows)
    return F.eq(F.index_add(static.constant(np.zeros(_sizes(shape)[0], np.int64)), 0, rows, ones), 0)


def reset_shape(sp_input: Given, new_shape: Any = None) -> SparseTensor:
    """The elements in a larger shape, or the smallest that holds them."""
    x = of(sp_input)
    if new_shape is None:
        return SparseTensor(x.indices, x.values, dense_max(x.indices, 0) + 1)
    return SparseTensor(x.indices, x.values, arrays.convert_to_tensor(np.asarray(new_shape, np.int64))
                        if not isinstance(new_shape, Handle) else new_shape)  # fmt: skip


@operation("SparseToIndicator", sizes=frozenset({"vocab_size"}))
def to_indicator(sp_input: Given, vocab_size: int) -> Any:
    """Booleans (..., vocab_size): whether a row has that value."""
    indices, values, sizes = _parts(sp_input)
    sizes = (*sizes[:-1], int(vocab_size))
    ids = F.expand_dims(F.astype(values, np.int64), 1)
    places = _positions(F.concatenate([indices[:, :-1], ids], axis=1), sizes)
    zeros = static.constant(np.zeros(math.prod(sizes), np.int64))
    return F.reshape(F.gt(F.index_add(zeros, 0, places, F.ones_like(places)), 0), sizes)


def merge(
    sp_ids: Any, sp_values: Given, vocab_size: Any, name: str | None = None, already_sorted: bool = False
) -> SparseTensor:
    """A sparse tensor whose last positions are the values of `sp_ids`."""
    ids, x = of(sp_ids), of(sp_values)
    indices = arrays.concat([ids.indices[:, :-1], arrays.expand_dims(_int64(ids.values), 1)], 1)
    sizes = arrays.concat([ids.dense_shape[:-1], arrays.constant(np.array([vocab_size], np.int64))], 0)
    if already_sorted:
        return SparseTensor(indices, x.values, sizes)
    return _sorted(name or "SparseMerge", indices, x.values, sizes)


_int64 = define("_int64", "Cast", lambda x: F.astype(x, np.int64))


# segments -------------------------------------------------------------------------------------------------------------


def _segments(name: str) -> Any:
    def call(
        data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None,
        sparse_gradient: bool = False,
    ) -> Any:  # fmt: skip
        rows = arrays.gather(data, indices)
        if num_segments is not None or label == "sqrt_n":
            count = num_segments if num_segments is not None else _last(segment_ids)
            return SEGMENTS[f"unsorted_segment_{label}"](rows, segment_ids, count, name=name)
        return SEGMENTS[f"segment_{label}"](rows, segment_ids, name=name)

    label = name
    call.__name__ = f"sparse_segment_{name}"
    call.__doc__ = f"`segment_{name}` of the rows of `data` at `indices`."
    return call


def _last(segment_ids: Any) -> Any:
    return dense_max(arrays.convert_to_tensor(segment_ids)) + 1


sparse_segment_sum, sparse_segment_mean, sparse_segment_sqrt_n = (_segments(n) for n in ("sum", "mean", "sqrt_n"))


def convert(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A sparse tensor as it is, everything else as a dense one."""
    if isinstance(value, (SparseTensor, SparseTensorValue)):
        return of(value)
    return arrays.convert_to_tensor(value, dtype, name=name)


def reduce_sum_sparse(*args: Any, **options: Any) -> SparseTensor:
    """`reduce_sum` as a sparse tensor of what is not 0."""
    return from_dense(reduce_sum(*args, **options))


def reduce_max_sparse(*args: Any, **options: Any) -> SparseTensor:
    """`reduce_max` as a sparse tensor of what is not 0."""
    return from_dense(reduce_max(*args, **options))
