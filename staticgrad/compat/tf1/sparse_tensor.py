"""Sparse tensors: positions, values and a shape; to dense ones and back."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ... import static
from ...operators import F
from ...static.graphs import using
from . import arrays
from .dtypes import as_dtype
from .elements import get_static_value
from .gathering import _positions, gather_nd, where_true
from .graph import get_default_graph
from .shapes import TensorShape
from .tensor import handles, known, operation, symbols, tensor


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
            self._indices = handles(graph, tensor(symbols(indices), np.int64))
            self._values = handles(graph, tensor(symbols(values)))
            self._dense_shape = handles(graph, tensor(symbols(dense_shape), np.int64))

    @classmethod
    def from_value(cls, value: Any) -> SparseTensor:
        return value if isinstance(value, cls) else cls(value.indices, value.values, value.dense_shape)

    @property
    def indices(self) -> Any:
        return self._indices

    @property
    def values(self) -> Any:
        return self._values

    @property
    def dense_shape(self) -> Any:
        return self._dense_shape

    @property
    def op(self) -> Any:
        return self._values.op

    @property
    def graph(self) -> Any:
        return self._values.graph

    @property
    def dtype(self) -> Any:
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        found = get_static_value(self._dense_shape)
        rank = self._dense_shape.shape.as_list()[0]
        if found is None:
            return TensorShape(None if rank is None else [None] * rank)
        return TensorShape([int(n) for n in found])

    def get_shape(self) -> TensorShape:
        return self.shape

    def rank(self) -> int:
        """The number of axes. Raises ValueError where it is unknown."""
        found: int | None = self._dense_shape.shape.as_list()[0]
        if found is None:
            raise ValueError(
                f"{self}: the number of axes is needed here: give sparse_placeholder a shape, of which extents may be None"
            )
        return found

    def fetched_as(self) -> SparseTensorValue:
        """What a run fetches for it, and is fed."""
        return SparseTensorValue(self._indices, self._values, self._dense_shape)

    def with_values(self, new_values: Any) -> SparseTensor:
        return SparseTensor(self._indices, new_values, self._dense_shape)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        from .handles import evaluate

        return evaluate(self, feed_dict, session)

    def __neg__(self) -> SparseTensor:
        return self.with_values(-self._values)

    def __mul__(self, other: Any) -> SparseTensor:
        return self.with_values(_times(self._indices, self._values, self._dense_shape, other, False))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        return self.with_values(_times(self._indices, self._values, self._dense_shape, other, True))

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self._indices}, values={self._values}, dense_shape={self._dense_shape})"


Given = SparseTensor | SparseTensorValue


def of(x: Any) -> SparseTensor:
    """Raises TypeError for what is not sparse."""
    if not isinstance(x, (SparseTensor, SparseTensorValue)):
        raise TypeError(f"Input must be a SparseTensor, got {type(x).__name__}")
    return SparseTensor.from_value(x)


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A sparse tensor that is fed a `SparseTensorValue`, or a triple of arrays."""
    wanted = TensorShape(shape)
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


# dense and sparse -----------------------------------------------------------------------------------------------------


@operation(
    "SparseToDense", sizes=PARTS, types=lambda indices, values, shape, *rest: arrays.type_of_shape(shape, tensor(values).dtype)
)
def _dense(indices: Any, values: Any, shape: Any, default: Any) -> Any:
    sizes = _sizes(shape)
    values = tensor(values)
    flat = static.constant(np.zeros(math.prod(sizes), values.dtype))
    places = _positions(tensor(indices), sizes)
    if default is None:
        return F.reshape(F.index_add(flat, 0, places, values), sizes)
    start = F.broadcast_to(F.reshape(tensor(default, values.dtype), (1,)), (math.prod(sizes),))
    return F.reshape(F.index_copy(start, 0, places, values), sizes)


def to_dense(sp_input: Given, default_value: Any = None, validate_indices: bool = True, name: str | None = None) -> Any:
    """The dense tensor, with `default_value` (0) elsewhere."""
    x = of(sp_input)
    return _dense(x.indices, x.values, x.dense_shape, default_value, name=name)


def sparse_to_dense(
    sparse_indices: Any, output_shape: Any, sparse_values: Any, default_value: Any = 0, validate_indices: bool = True,
    name: str | None = None,
) -> Any:  # fmt: skip
    """A dense tensor of `default_value` with values at positions (count, rank), or (count,) in one axis."""
    return _scattered(sparse_indices, output_shape, sparse_values, default_value, name=name)


@operation(
    "SparseToDense", sizes=PARTS, types=lambda indices, shape, values, *rest: arrays.type_of_shape(shape, tensor(values).dtype)
)
def _scattered(indices: Any, shape: Any, values: Any, default: Any) -> Any:
    sizes = tuple(int(n) for n in np.atleast_1d(shape))
    places = tensor(indices)
    places = F.reshape(places, (-1, 1)) if places.ndim < 2 else places
    values = tensor(values)
    flat = _positions(places, sizes)
    start = F.broadcast_to(F.reshape(tensor(default, values.dtype), (1,)), (math.prod(sizes),))
    return F.reshape(F.index_copy(start, 0, flat, F.broadcast_to(values, flat.shape)), sizes)


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The elements that are not 0."""

    dense = arrays.convert_to_tensor(tensor)
    places = where_true(_there(dense))
    return SparseTensor(places, gather_nd(dense, places, name=name), arrays.shape(dense, out_type=np.int64))


@operation("NotEqual")
def _there(x: Any) -> Any:
    x = tensor(x)
    return F.ne(x, 0)


@operation("SparseDenseCwiseMul", sizes=PARTS)
def _times(indices: Any, values: Any, shape: Any, other: Any, inverse: bool) -> Any:
    values = tensor(values)
    dense = tensor(other, values.dtype)
    if dense.ndim:
        sizes = _sizes(shape)
        flat = F.reshape(F.broadcast_to(dense, sizes), (-1,))
        dense = F.take(flat, _positions(tensor(indices), sizes), axis=0)
    return F.div(values, dense) if inverse else F.mul(values, dense)
