"""Partitioned variables: a variable in slices along one axis, and lookups in tables that are divided among several tensors."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .arrays import concat, convert_to_tensor, identity, reshape, shape, split
from .control import group
from .core import F, apply, positions_op
from .dtypes import as_dtype
from .math import clip_by_norm
from .shapes import TensorShape
from .tensor import Operand, extents_of, operation, tensor


class SaveSliceInfo(NamedTuple):
    """Which part of a variable a slice of it is."""

    full_name: str
    full_shape: list[int]
    var_offset: list[int]
    var_shape: list[int]

    @property
    def spec(self) -> str:
        """As TensorFlow writes it into checkpoints."""
        sizes = ":".join(f"{o},{n}" for o, n in zip(self.var_offset, self.var_shape, strict=True))
        return f"{' '.join(map(str, self.full_shape))} {sizes}"

    def of(self, whole: np.ndarray) -> np.ndarray:
        """The slice's part of an array."""
        return whole[tuple(slice(o, o + n) for o, n in zip(self.var_offset, self.var_shape, strict=True))]


class PartitionInfo(NamedTuple):
    """For initializers: the shape of the whole, and where a slice begins."""

    full_shape: list[int]
    var_offset: list[int]

    def single_offset(self, shape: Sequence[int]) -> int:
        """Where a slice of this shape begins along the axis that is cut."""
        return self.var_offset[self.single_slice_dim(shape) or 0]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """The axis that is cut; None where none is. Raises ValueError for several."""
        cut = [i for i, (m, n) in enumerate(zip(shape, self.full_shape, strict=True)) if m != n]
        if len(cut) > 1:
            raise ValueError(f"Cannot use single_slice_dim() with shape={shape} and full_shape={self.full_shape}")
        return cut[0] if cut else None


class PartitionedVariable:
    """The slices of a variable in their order. Operations take it for the whole tensor, `embedding_lookup` for its slices."""

    def __init__(self, name: str, shape: Sequence[int], dtype: Any, variable_list: Sequence[Any], partitions: Sequence[int]):
        self.name, self.dtype, self._shape = name, as_dtype(dtype), TensorShape(list(shape))
        self._parts, self._partitions = list(variable_list), list(partitions)

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def get_shape(self) -> TensorShape:
        return self._shape

    @property
    def axis(self) -> int:
        """The axis that is cut."""
        return next((i for i, n in enumerate(self._partitions) if n > 1), 0)

    def as_tensor(self) -> Any:
        """The whole."""
        if len(self._parts) == 1:
            return identity(self._parts[0], name=self.name)
        return concat(self._parts, self.axis, name="ConcatPartitions/concat")

    fetched_as = as_tensor

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> list[Any]:
        """The assignments of the slices."""
        sizes = [v.shape.as_list()[self.axis] for v in self._parts]
        return [v.assign(part) for v, part in zip(self._parts, split(value, sizes, self.axis), strict=True)]

    initializer = property(lambda self: group(*(v.initializer for v in self._parts)))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parts)

    def __len__(self) -> int:
        """The number of slices along each axis, of which one is cut."""
        return len(self._parts)

    op = property(lambda self: self._parts[0].op)
    graph = property(lambda self: self._parts[0].graph)

    def __repr__(self) -> str:
        return f"<PartitionedVariable {self.name!r} shape={self.shape} dtype={self.dtype.name} slices={len(self._parts)}>"


def made_in_slices(
    name: str, shape: Sequence[int], dtype: Any, partitioner: Callable[..., Any], initializer: Any,
    make: Callable[[str, list[int], Any], Any],
) -> PartitionedVariable:  # fmt: skip
    """A variable in the slices of a partitioner; make: the variable of a name, a shape and an initializer.

    Raises ValueError for a partitioner that gives no number per axis, or cuts several axes.
    """
    if not callable(partitioner):
        raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
    counts = list(partitioner(shape=TensorShape(list(shape)), dtype=as_dtype(dtype)))
    if len(counts) != len(shape) or any(n < 1 for n in counts):
        raise ValueError(f"Partitioner returned {counts} for {name}: one number >= 1 per axis of {list(shape)} is needed")
    cut = [i for i, n in enumerate(counts) if n > 1]
    if len(cut) > 1:
        raise ValueError(f"Cannot slice more than one dimension: {name} with partitions {counts}")
    axis = cut[0] if cut else 0
    count, extent = counts[axis], shape[axis]
    if count > extent:
        raise ValueError(f"Partitioner returned {counts} for the shape {list(shape)} of {name}: more slices than elements")
    parts, start = [], 0
    for i in range(count):
        size = extent // count + (i < extent % count)
        own, offset = list(shape), [0] * len(shape)
        own[axis], offset[axis] = size, start
        part = make(f"{name}/part_{i}", own, _initial_of_slice(initializer, PartitionInfo(list(shape), offset), own))
        part.save_slice = SaveSliceInfo(name, list(shape), offset, own)
        parts.append(part)
        start += size
    return PartitionedVariable(name, shape, dtype, parts, counts)


def _initial_of_slice(initializer: Any, info: PartitionInfo, shape: list[int]) -> Any:
    """What begins a slice: an initializer that knows of the whole, or the part of a value."""
    if initializer is None:
        return None
    if isinstance(initializer, type):
        initializer = initializer()
    if callable(initializer):
        words = inspect.signature(initializer).parameters.values()
        if any(p.name == "partition_info" or p.kind is p.VAR_KEYWORD for p in words):
            return lambda shape, dtype=None: initializer(shape, dtype=dtype, partition_info=info)
        return initializer
    places = tuple(slice(o, o + n) for o, n in zip(info.var_offset, shape, strict=True))
    return initializer[places] if hasattr(initializer, "op") else np.asarray(initializer)[places]


# partitioners ---------------------------------------------------------------------------------------------------------


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Callable[..., list[int]]:
    """So many slices along an axis, at most one per element."""

    def partitioner(shape: Any, **options: Any) -> list[int]:
        counts = [1] * shape.ndims
        counts[axis] = min(num_shards, shape[axis].value)
        return counts

    return partitioner


def _bytes(shape: Any, dtype: Any, per_string: int) -> int:
    return int(shape.num_elements()) * (per_string if as_dtype(dtype).name == "string" else as_dtype(dtype).size)


def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Callable[..., list[int]]:
    """Slices along an axis of at most so many bytes, if one element of the axis has no more."""
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards is not None and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: Any, dtype: Any, **options: Any) -> list[int]:
        extent = shape[axis].value
        each = _bytes(shape, dtype, bytes_per_string_element) / extent
        count = math.ceil(extent / max(1, math.floor(max_shard_bytes / each)))
        counts = [1] * shape.ndims
        counts[axis] = count if max_shards is None else min(max_shards, count)
        return counts

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10, bytes_per_string_element: int = 16
) -> Callable[..., list[int]]:
    """At most `max_partitions` slices along an axis, of at least `min_slice_size` bytes."""

    def partitioner(shape: Any, dtype: Any, **options: Any) -> list[int]:
        total = _bytes(shape, dtype, bytes_per_string_element)
        count = max_partitions if min_slice_size < 1 else max(1, math.ceil(total / min_slice_size))
        counts = [1] * shape.ndims
        counts[axis] = max(1, min(shape[axis].value, max_partitions, count))
        return counts

    return partitioner


# tables in several tensors --------------------------------------------------------------------------------------------


@operation("embedding_lookup", "GatherV2")
def rows_of(tables: list[Any], ids: Operand, partition_strategy: str = "mod") -> Any:
    """Rows, one after another, of tables that are one together: row i is row i // n of table i % n ("mod"), or all tables' rows
    follow one another ("div"). A gradient reaches the rows that were looked up alone."""
    parts, flat = [tensor(t) for t in tables], F.reshape(F.astype(ids, np.int64), (-1,))
    count = len(parts)
    if partition_strategy == "mod":
        owner, place = F.remainder(flat, count), F.floor_divide(flat, count)
    elif partition_strategy == "div":
        total = sum(extents_of(p)[0] for p in parts)
        each, more = divmod(total, count)
        owner = F.maximum(F.floor_divide(flat, each + 1), F.floor_divide(F.sub(flat, more), max(each, 1)))
        place = F.where(F.lt(owner, more), F.remainder(flat, each + 1), F.remainder(F.sub(flat, more), max(each, 1)))
    else:
        raise ValueError(f"Unrecognized partition strategy: {partition_strategy}")
    at = [apply(positions_op, F.eq(owner, k)) for k in range(count)]
    rows = F.concatenate([F.take(p, F.take(place, where, 0), 0) for p, where in zip(parts, at, strict=True)], axis=0)
    order = F.concatenate(at, axis=0)
    back = F.index_copy(F.zeros_like(flat), 0, order, F.index_along(order, 0))
    return F.take(rows, back, 0)


def tables_of(params: Any) -> list[Any]:
    """The tables of a partitioned variable, a list, or of one tensor."""
    if isinstance(params, (PartitionedVariable, list, tuple)):
        return list(params)
    return [params]


@operation("embedding_lookup", "Gather")
def _looked_up(table: Operand, ids: Operand) -> Any:
    return F.take(table, ids, axis=0)


def embedding_lookup(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None, validate_indices: bool = True,
    max_norm: float | None = None,
) -> Any:  # fmt: skip
    """Rows of `params`, scaled down to a norm of `max_norm`. A partitioned variable, or a list of tables, is one table: see
    `rows_of` for its strategies."""
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"Unrecognized partition strategy: {partition_strategy}")
    tables = tables_of(params)
    if not tables:
        raise ValueError("Need at least one param")
    label = {} if max_norm is not None else {"name": name}
    if len(tables) == 1:
        rows = _looked_up(tables[0], ids, **label)
    else:
        ids = convert_to_tensor(ids)
        found, tail = rows_of(tables, ids, partition_strategy), tables[0].shape.as_list()[1:]
        rows = reshape(found, concat([shape(ids), np.array(tail, np.int32)], 0), **label)
        if ids.shape.dims is not None:
            rows.set_shape([*ids.shape.as_list(), *tail])
    if max_norm is None:
        return rows
    first = convert_to_tensor(ids).shape.ndims
    return clip_by_norm(rows, max_norm, axes=list(range(first, rows.shape.ndims)), name=name)
