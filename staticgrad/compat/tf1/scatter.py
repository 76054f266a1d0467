"""Changes of parts of a variable: `scatter_update`, `scatter_add` and their kin, and counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import static
from ...operators import F
from ...static.variables import updated
from .errors import OutOfRangeError
from .gathering import _positions
from .tensor import extents_of, operation, tensor
from .variables import Variable


def _rows(ref: Any, indices: Any, updates: Any) -> tuple[Any, Any]:
    """Numbers of slices along the first axis, in one axis, and the new slices along it."""
    ids, values = tensor(indices), tensor(updates, ref.dtype)
    values = F.broadcast_to(values, (*extents_of(ids), *ref.shape[1:]))
    return F.reshape(F.astype(ids, np.int64), (-1,)), F.reshape(values, (-1, *ref.shape[1:]))


@operation("ScatterUpdate")
def scatter_update(ref: Any, indices: Any, updates: Any, use_locking: bool = True) -> Any:
    """New slices along the first axis; of two for one place the later."""
    ids, values = _rows(ref, indices, updates)
    return static.assign(ref, F.index_copy(ref, 0, ids, values))


@operation("ScatterAdd")
def scatter_add(ref: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
    """Add to slices along the first axis; several for one place add up."""
    ids, values = _rows(ref, indices, updates)
    return updated(ref, "index_add", (values, ids))


@operation("ScatterSub")
def scatter_sub(ref: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
    """Subtract from slices along the first axis."""
    ids, values = _rows(ref, indices, updates)
    return updated(ref, "index_add", (F.neg(values), ids))


def _combined(name: str, reduce: str, change: Callable[[Any], Any] = lambda x: x) -> Callable[..., Any]:
    def call(ref: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
        ids, values = _rows(ref, indices, updates)
        index = F.broadcast_to(F.reshape(ids, (-1, *(1,) * (ref.ndim - 1))), (*extents_of(ids), *ref.shape[1:]))
        return static.assign(ref, F.scatter_reduce(ref, 0, index, change(values), reduce, include_self=True))

    made = operation(name)(call)
    made.__name__ = "scatter_" + name.removeprefix("Scatter").lower()
    made.__doc__ = f"`{reduce}` of slices along the first axis and the new ones."
    return made


scatter_mul = _combined("ScatterMul", "prod")
scatter_div = _combined("ScatterDiv", "prod", F.reciprocal)
scatter_max = _combined("ScatterMax", "amax")
scatter_min = _combined("ScatterMin", "amin")


def _by_vectors(ref: Any, indices: Any, updates: Any) -> tuple[Any, Any, Any, tuple[int, ...]]:
    ids, values = tensor(indices), tensor(updates, ref.dtype)
    depth = extents_of(ids)[-1]
    flat = F.reshape(ref, (-1, *ref.shape[depth:]))
    return flat, F.reshape(_positions(ids, ref.shape[:depth]), (-1,)), F.reshape(values, (-1, *ref.shape[depth:])), ref.shape


@operation("ScatterNdUpdate")
def scatter_nd_update(ref: Any, indices: Any, updates: Any, use_locking: bool = True) -> Any:
    """New slices at index vectors, which are the last axis of `indices`."""
    flat, ids, values, shape = _by_vectors(ref, indices, updates)
    return static.assign(ref, F.reshape(F.index_copy(flat, 0, ids, values), shape))


@operation("ScatterNdAdd")
def scatter_nd_add(ref: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
    """Add at index vectors."""
    flat, ids, values, shape = _by_vectors(ref, indices, updates)
    return static.assign(ref, F.reshape(F.index_add(flat, 0, ids, values), shape))


@operation("ScatterNdSub")
def scatter_nd_sub(ref: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
    """Subtract at index vectors."""
    flat, ids, values, shape = _by_vectors(ref, indices, updates)
    return static.assign(ref, F.reshape(F.index_add(flat, 0, ids, F.neg(values)), shape))


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Any:
    """The value before it is increased by 1; a run that would go past `limit` raises OutOfRangeError."""
    graph = ref.graph
    with graph.as_default():
        before = ref.read_value()
        step = static.assign_add(ref.symbol, np.ones((), ref.symbol.dtype))

    def check(values: Any) -> None:
        if int(values[0]) >= limit:
            raise OutOfRangeError(f"Reached limit of {limit}")

    action = graph.host_action([ref.symbol], check, name or "CountUpTo")
    with graph.as_default(), static.control_dependencies([action.node, step]):
        old = static.identity(before.symbol)
    return graph.handle(old.node)


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Variable, indices: Any, updates: Any, name: str | None = None) -> Any:
        return function(self, indices, updates, name=name)

    method.__doc__ = function.__doc__
    return method


def _by_slices(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Variable, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return function(self, sparse_delta.indices, sparse_delta.values, name=name)

    method.__doc__ = f"{function.__doc__} sparse_delta: `IndexedSlices`."
    return method


for _function in (scatter_add, scatter_sub, scatter_update, scatter_max, scatter_min, scatter_mul, scatter_div):
    setattr(Variable, _function.__name__, _by_slices(_function))
for _function in (scatter_nd_add, scatter_nd_sub, scatter_nd_update):
    setattr(Variable, _function.__name__, _method(_function))
setattr(Variable, "count_up_to", lambda self, limit: count_up_to(self, limit))  # noqa: B010  (an assignment would not be typed)
