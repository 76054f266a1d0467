"""`variable_scope`, `get_variable` and what is built on them. Partitioned variables: a variable in slices along one axis, and
lookups in tables that are divided among several tensors."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from .arrays import concat, convert_to_tensor, identity, reshape, shape, split
from .control import group
from .core import F, apply, positions_op
from .dtypes import DType, TensorShape, as_dtype, extents, float32
from .graph import Graph, GraphKeys, get_default_graph
from .handles import Handle
from .math import clip_by_norm
from .tensor import Operand, extents_of, operation, tensor
from .variables import Variable


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


# scopes ---------------------------------------------------------------------------------------------------------------

AUTO_REUSE = "AUTO_REUSE"

Getter = Callable[..., Any]


class VariableScope:
    """The prefix of names of `get_variable`, whether variables are made or found again, and defaults."""

    def __init__(
        self, reuse: Any, name: str = "", initializer: Any = None, regularizer: Any = None, caching_device: Any = None,
        partitioner: Any = None, custom_getter: Getter | None = None, name_scope: str = "", dtype: Any = float32,
        use_resource: Any = None, constraint: Any = None,
    ):  # fmt: skip
        self.name, self.reuse, self.initializer, self.regularizer = name, reuse, initializer, regularizer
        self.dtype, self.constraint, self.custom_getter = dtype, constraint, custom_getter
        self.caching_device, self.partitioner, self.use_resource = caching_device, partitioner, use_resource
        self.original_name_scope = name_scope

    def reuse_variables(self) -> None:
        """From now on variables of this scope are found again, not made."""
        self.reuse = True

    def get_variable(self, var_store: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        """`tf.get_variable` in this scope."""
        with pure_variable_scope(self):
            return get_variable(name, *args, **kwargs)

    def get_collection(self, name: Any) -> list[Any]:
        return get_default_graph().get_collection(name, f"{self.name}/" if self.name else None)

    def trainable_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)


def _setter(setting: str) -> Callable[[VariableScope, Any], None]:
    def set_(self: VariableScope, value: Any) -> None:
        setattr(self, setting, as_dtype(value) if setting == "dtype" else value)

    set_.__name__, set_.__doc__ = f"set_{setting}", f"Let variables that are made from now on have another {setting}."
    return set_


for _setting in ("initializer", "regularizer", "dtype", "custom_getter", "caching_device", "partitioner", "use_resource"):
    setattr(VariableScope, f"set_{_setting}", _setter(_setting))


def get_variable_scope() -> VariableScope:
    graph = get_default_graph()
    if graph.scopes.variables is None:
        graph.scopes.variables = VariableScope(False)
    return graph.scopes.variables


def _joined(prefix: str, name: str) -> str:
    return f"{prefix}/{name}" if prefix else name


def slot_name(name: str) -> str:
    """The name of a variable that belongs to another, made in the current variable scope."""
    return _joined(get_variable_scope().name, name)


def unique_scope(graph: Graph, prefix: str) -> str:
    """A name for a scope in the current one, which was not entered since the current one was."""
    base, number, found = get_variable_scope().name, 0, prefix
    while graph.scopes.counts.get(_joined(base, found), 0):
        number += 1
        found = f"{prefix}_{number}"
    return found


@contextmanager
def pure_variable_scope(name_or_scope: Any, original_name_scope: str | None = None, **settings: Any) -> Iterator[VariableScope]:
    """A variable scope that opens no scope of operations' names."""
    graph, outer = get_default_graph(), get_variable_scope()
    again = isinstance(name_or_scope, VariableScope)
    source = name_or_scope if again else outer
    name = source.name if again else _joined(outer.name, name_or_scope)
    chosen = {key: value for key, value in settings.items() if value is not None}
    reuse = chosen.pop("reuse", False) or source.reuse
    if "dtype" in chosen:
        chosen["dtype"] = as_dtype(chosen["dtype"])
    if "custom_getter" in chosen and source.custom_getter is not None:
        chosen["custom_getter"] = _nested(chosen["custom_getter"], source.custom_getter)
    kept = [key for key in vars(source) if key not in ("name", "reuse", "original_name_scope")]
    place = source.original_name_scope if original_name_scope is None else original_name_scope
    made = VariableScope(reuse, name, name_scope=place, **{key: chosen.get(key, getattr(source, key)) for key in kept})
    scopes = graph.scopes
    scopes.counts[name] = scopes.counts.get(name, 0) + 1
    counts = dict(scopes.counts)
    scopes.variables = made
    try:
        yield made
    finally:
        for known in scopes.counts:
            if known.startswith(f"{name}/"):
                scopes.counts[known] = 0
        if again:
            scopes.counts = counts
        scopes.variables = outer


def _nested(inner: Getter, outer: Getter) -> Getter:
    return lambda getter, *args, **kwargs: inner(functools.partial(outer, getter), *args, **kwargs)


@contextmanager
def variable_scope(
    name_or_scope: Any, default_name: str | None = None, values: Any = None, initializer: Any = None, regularizer: Any = None,
    caching_device: Any = None, partitioner: Any = None, custom_getter: Getter | None = None, reuse: Any = None,
    dtype: Any = None, use_resource: Any = None, constraint: Any = None, auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:  # fmt: skip
    """Prefix the names of `get_variable` and of operations. reuse: True finds variables again, AUTO_REUSE makes those that
    do not exist. Scopes inherit reuse, initializer, regularizer, custom getter and dtype.

    custom_getter(getter, name, ...) makes the variables of the scope, by `getter` or in another way. partitioner: cuts them
    into slices, see `fixed_size_partitioner`. caching_device and use_resource are accepted. Raises ValueError for neither a
    name nor a default name, and for reuse=True without a name.
    """
    if name_or_scope is None and default_name is None:
        raise TypeError("If default_name is None then name_or_scope is required")
    if name_or_scope is None and reuse:
        raise ValueError("reuse=True cannot be used without a name_or_scope")
    if name_or_scope is not None and not isinstance(name_or_scope, (str, VariableScope)):
        raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
    graph = get_default_graph()
    settings = {
        "initializer": initializer, "regularizer": regularizer, "caching_device": caching_device, "partitioner": partitioner,
        "custom_getter": custom_getter, "reuse": reuse, "dtype": dtype, "use_resource": use_resource, "constraint": constraint,
    }  # fmt: skip
    again = isinstance(name_or_scope, VariableScope)
    operations: Any
    if isinstance(name_or_scope, VariableScope):
        operations = name_or_scope.name.rsplit("/", 1)[-1]
    else:
        operations = default_name if name_or_scope is None else name_or_scope
    if auxiliary_name_scope and operations:
        place: Any = graph.name_scope(operations)
    else:
        place = nullcontext(graph._scope)
    with place as prefix:
        inner = unique_scope(graph, operations) if name_or_scope is None else name_or_scope
        with pure_variable_scope(inner, None if again else prefix, **settings) as made:
            yield made


def variable_op_scope(values: Any, name_or_scope: Any, default_name: str | None = None, *args: Any, **options: Any) -> Any:
    """`variable_scope` with its first arguments in another order."""
    return variable_scope(name_or_scope, default_name, values, *args, **options)


def get_variable(
    name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Callable[[Any], Any] | None = None,
    trainable: bool | None = None, collections: Any = None, caching_device: Any = None, partitioner: Any = None,
    validate_shape: bool = True, use_resource: Any = None, custom_getter: Any = None, constraint: Any = None,
    synchronization: Any = None, aggregation: Any = None,
) -> Variable:  # fmt: skip
    """The variable of this name in the current `variable_scope`: made, or found again where the scope reuses variables.

    Raises ValueError for a variable that exists already (or, reusing, does not), or of another shape or dtype.
    """
    scope = get_variable_scope()
    given = {
        "shape": shape, "dtype": dtype, "initializer": initializer, "regularizer": regularizer, "trainable": trainable,
        "collections": collections, "validate_shape": validate_shape, "constraint": constraint, "reuse": scope.reuse,
        "caching_device": caching_device, "partitioner": partitioner or scope.partitioner, "use_resource": use_resource,
        "synchronization": synchronization, "aggregation": aggregation,
    }  # fmt: skip
    getter: Getter = _found_or_made
    for wrap in (scope.custom_getter, custom_getter):
        if wrap is not None:
            getter = functools.partial(wrap, getter)
    return getter(_joined(scope.name, name), **given)


def _found_or_made(
    full: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None, trainable: Any = None,
    collections: Any = None, validate_shape: bool = True, constraint: Any = None, reuse: Any = None, partitioner: Any = None,
    **accepted: Any,
) -> Any:  # fmt: skip
    """The variable of a full name: `get_variable` without custom getters."""
    from .initializers import glorot_uniform_initializer, zeros_initializer

    graph, scope = get_default_graph(), get_variable_scope()
    if partitioner is not None:
        value = scope.initializer if initializer is None else initializer
        whole = np.shape(value) if shape is None and not hasattr(value, "shape") else getattr(value, "shape", None)
        sizes: list[Any] = list(extents(shape if shape is not None else whole))
        if sizes and None not in sizes:
            return _in_slices(full, sizes, dtype, value, partitioner, regularizer, trainable, collections, constraint, reuse)
    known: Variable | None = graph.variable_store.get(full)
    if known is not None:
        if not reuse:
            raise ValueError(
                f"Variable {full} already exists, disallowed. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        if shape is not None and not TensorShape(shape).is_compatible_with(known.shape):
            raise ValueError(
                f"Trying to share variable {full}, but specified shape {TensorShape(shape)} and found shape {known.shape}."
            )
        if dtype is not None and as_dtype(dtype) != known.dtype:
            raise ValueError(
                f"Trying to share variable {full}, but specified dtype {as_dtype(dtype).name} and found dtype "
                f"{known.dtype.name}."
            )
        return known
    if reuse is True:
        raise ValueError(
            f"Variable {full} does not exist, or was not created with tf.get_variable(). Did you mean to set "
            "reuse=tf.AUTO_REUSE in VarScope?"
        )
    initializer = scope.initializer if initializer is None else initializer
    regularizer = scope.regularizer if regularizer is None else regularizer
    wanted = scope.dtype if dtype is None else as_dtype(dtype)
    if initializer is None:
        initializer = glorot_uniform_initializer() if as_dtype(wanted).is_floating else zeros_initializer()
    with graph.name_scope(None):
        initial = _initial(initializer, shape, wanted, full, dtype)
        made = Variable(
            initial, trainable is None or trainable, collections, name=full,
            constraint=scope.constraint if constraint is None else constraint,
        )  # fmt: skip
        graph.variable_store[full] = made
        if regularizer is not None:
            with graph.name_scope(f"{full}/Regularizer/"):
                loss = regularizer(made)
            if loss is not None:
                graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return made


def _in_slices(
    full: str, sizes: list[int], dtype: Any, initializer: Any, partitioner: Any, regularizer: Any, trainable: Any,
    collections: Any, constraint: Any, reuse: Any,
) -> PartitionedVariable:  # fmt: skip
    """The partitioned variable of a full name: its slices are variables."""
    store, wanted = get_default_graph().variable_store, get_variable_scope().dtype if dtype is None else as_dtype(dtype)
    known = store.get(f"{full} in slices")
    if known is not None and reuse:
        if not TensorShape(sizes).is_compatible_with(known.shape):
            raise ValueError(
                f"Trying to reuse partitioned variable {full}, but specified shape {TensorShape(sizes)} and found shape "
                f"{known.shape}."
            )
        return known

    def make(name: str, shape: list[int], initial: Any) -> Variable:
        by_shape = initial is None or callable(initial)
        return _found_or_made(
            name, shape if by_shape else None, wanted if by_shape else dtype, initial, regularizer, trainable, collections,
            constraint=constraint, reuse=reuse,
        )  # fmt: skip

    made = store[f"{full} in slices"] = made_in_slices(full, sizes, wanted, partitioner, initializer, make)
    return made


def create_partitioned_variables(
    shape: Any, slicing: list[int], initializer: Any, dtype: Any = float32, trainable: bool = True, collections: Any = None,
    name: str | None = None, reuse: Any = None,
) -> list[Any]:  # fmt: skip
    """The slices of a variable, `slicing` of them along each axis, of which one may have several."""
    with variable_scope(name, "PartitionedVariable", reuse=reuse) as scope:
        made = _found_or_made(
            scope.name, shape, dtype, initializer, trainable=trainable, collections=collections, reuse=scope.reuse,
            partitioner=lambda shape, dtype: slicing,
        )  # fmt: skip
    return list(made)


def get_local_variable(
    name: str, shape: Any = None, dtype: Any = None, initializer: Any = None, regularizer: Any = None, trainable: Any = None,
    collections: Any = None, **options: Any,
) -> Variable:  # fmt: skip
    """`get_variable` of a variable that is local: not trained, and not saved unless asked for."""
    chosen = [*(collections or []), GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, shape, dtype, initializer, regularizer, False, chosen, **options)


def _initial(initializer: Any, shape: Any, wanted: DType, full: str, dtype: Any) -> Any:
    if isinstance(initializer, type):
        initializer = initializer()
    if callable(initializer):
        if shape is None:
            raise ValueError(f"Shape of a new variable ({full}) must be fully defined, but instead was <unknown>.")
        known = extents(shape)
        if None in known:
            raise ValueError(f"Shape of a new variable ({full}) must be fully defined, but instead was {TensorShape(shape)}.")
        return initializer(list(known), dtype=wanted)
    if shape is not None:
        raise ValueError("If initializer is a constant, do not specify shape.")
    if isinstance(initializer, Handle):
        return initializer
    return np.asarray(initializer, wanted.numpy) if dtype is not None else initializer


class Template:
    """A function whose variables are made at its first call and found again at later ones."""

    def __init__(self, name: str, func: Callable[..., Any], create_scope_now: bool, unique_name: str | None, custom_getter: Any,
                 given: dict[str, Any]):  # fmt: skip
        self._func, self._name, self._unique, self._getter, self._given = func, name, unique_name, custom_getter, given
        self._scope: VariableScope | None = None
        self._called = False
        if create_scope_now:
            graph = get_default_graph()
            with pure_variable_scope(unique_name or unique_scope(graph, name), custom_getter=custom_getter) as self._scope:
                pass

    @property
    def variable_scope(self) -> VariableScope | None:
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        return None if self._scope is None else self._scope.name

    @property
    def name(self) -> str:
        return self._name if self._scope is None else self._scope.name

    @property
    def func(self) -> Callable[..., Any]:
        return self._func

    @property
    def variables(self) -> list[Any]:
        return [] if self._scope is None else self._scope.global_variables() + self._scope.local_variables()

    global_variables = variables

    @property
    def trainable_variables(self) -> list[Any]:
        return [] if self._scope is None else self._scope.trainable_variables()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._scope is None:
            context = variable_scope(self._unique, self._name, custom_getter=self._getter)
        else:
            context = variable_scope(self._scope, reuse=True if self._called else None)
        with context as scope:
            if self._scope is None:
                self._scope = scope
            found = self._func(*args, **{**self._given, **kwargs})
        self._called = True
        return found


def make_template(
    name_: str, func_: Callable[..., Any], create_scope_now_: bool = False, unique_name_: str | None = None,
    custom_getter_: Any = None, **kwargs: Any,
) -> Template:  # fmt: skip
    """`func_` with `kwargs`, as a function that shares its variables between calls. Raises ValueError for a call that asks for
    a variable which the first call did not make."""
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_, kwargs)
