"""Pending tensors: results of operations that a compiled function has noted and not run yet.

Such a tensor has a shape, a dtype and a place on the tape. Whatever reads its array has everything run that was noted so far;
from then on it is an ordinary tensor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol
from weakref import ref

import numpy as np

from ..base.dtypes import PUBLIC, DType
from ..ir import Layout
from ..ops.operators import Count, Size, count_of, disabled_torch_function, in_format, misuse, order_of, state
from ..ops.operators import Tensor as AnyTensor
from .tape import FreedTensor, Record, memory_of
from .tensor import PublicTensor, Tensor, all_attributes, new, wrap


class Deferral(Protocol):
    """Notes operations and runs them later; `tracing/segments` has it."""

    tensors: list[ref[Tensor]]
    """The pending tensors that have been made."""

    def settle(self) -> None:
        """Run all that was noted."""

    def layout(self, value: PendingValue) -> Layout:
        """How the elements of a value will lie in memory."""


class PendingValue(FreedTensor):
    """A value that is not computed yet. It stands in a record for the result of its operation, as a value that was freed does.

    node: in the graph of the function's segments; source: the value, or the array, that it is a view of; view: by which
    operation and attributes, where these are not the node's.
    """

    __slots__ = ("__weakref__", "array", "node", "owner", "source", "view")

    def __init__(self, node: Any, owner: Deferral, source: Any = None):
        kind = node.type
        self.shape, self.dtype = kind.shape, kind.dtype  # those of FreedTensor, without a call
        self.record = self.leaf = None
        self.node, self.owner, self.source = node, owner, source
        self.view: tuple[Any, Mapping[str, Any]] | None = None
        self.array: np.ndarray | None = None

    def get(self) -> np.ndarray:
        """The array."""
        if self.array is None:
            self.owner.settle()
        assert self.array is not None
        return self.array


class Pending(PublicTensor):
    """A tensor whose array is that of `_value` once it is computed. _home: the array that it had before a change in place; it
    gets the values."""

    __slots__ = ()
    __torch_function__ = disabled_torch_function

    _value: PendingValue
    _home: np.ndarray | None = None

    @property
    def _data(self) -> np.ndarray:  # type: ignore[override]
        self._value.get()
        return Tensor._data.__get__(self)  # type: ignore[attr-defined]

    @property
    def shape(self) -> Size:  # type: ignore[override]
        return Size(self._value.shape)

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return PUBLIC[self._value.dtype]

    @property
    def ndim(self) -> int:
        return len(self._value.shape)

    @property
    def size(self) -> Count:
        return count_of(self._value.shape)

    def numel(self) -> int:
        return math.prod(self._value.shape)

    def __len__(self) -> int:
        misuse.check_length(self.ndim)
        return self._value.shape[0]

    def __iter__(self) -> Any:
        misuse.check_iterated(self.ndim)
        return (self[i] for i in range(self._value.shape[0]))

    def detach(self) -> Tensor:
        out = pending(self._value)
        out._memory = memory_of(self)
        if state.deferral is not None:
            state.deferral.detached.add(out, self)
        return out

    def _known_layout(self) -> Layout:
        return self._value.owner.layout(self._value)

    def contiguous(self, memory_format: object = None) -> AnyTensor:
        order = order_of(self, memory_format)
        lies = self._known_layout().is_contiguous if order is None else self._known_layout().has_order(order)
        return self if lies else in_format(self, memory_format)


Pending.__name__ = PublicTensor.__name__  # which code may ask for


def pending(value: PendingValue, record: Record | None = None) -> Tensor:
    """A tensor with this value, without checks; see `wrap`."""
    out: Tensor = new(Pending)
    all_attributes(out)["_value"] = value
    out._record = record
    out._tracked = record is not None
    out._base = None
    out._views = None
    value.owner.tensors.append(ref(out))
    return out


def settled(tensor: Any) -> None:
    """Make a pending tensor whose value is computed an ordinary one."""
    array, home, base = tensor._value.array, tensor._home, tensor._base
    Tensor._data.__set__(tensor, array if home is None else home)  # type: ignore[attr-defined]
    tensor.__class__ = PublicTensor
    del all_attributes(tensor)["_value"]
    all_attributes(tensor).pop("_home", None)
    if base is not None and base.__class__ is not Pending and not np.may_share_memory(base._data, tensor._data):
        tensor._base = None  # a reshape had to copy


def saved_result(value: PendingValue, record: Record, as_tensor: bool) -> Any:
    """The result that a record saves: its tensor, or its array."""
    if value.array is not None:
        return wrap(value.array, record) if as_tensor else value.array
    return pending(value, record) if as_tensor else value.get()


@contextmanager
def at_once() -> Iterator[None]:
    """Operations inside run at once, on values that are known."""
    deferral, state.deferral = state.deferral, None
    try:
        yield
    finally:
        state.deferral = deferral


def settle_all() -> None:
    """Run what was noted, before something reads or writes arrays past the tensors."""
    if state.deferral is not None:
        state.deferral.settle()
