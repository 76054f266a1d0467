"""Who computes gradients of eager tensors, and how they come into `grad`."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, Protocol, cast

import numpy as np

from ..autodiff.requests import adds_in_place
from ..base.types import FLOATING
from ..ops.operators import F, Lifted, as_array, frontends, state
from ..ops.sparse_rows import carry, noted
from .grad_mode import no_grad
from .inplace import replace
from .sparse_gradients import DeferredGradient
from .tape import Record, touch
from .tensor import PublicTensor, Structure, Tensor, wrap


class EagerMode:
    """See `autodiff.requests.Mode`."""

    scalar_roots = True

    def tensor(self, x: Any) -> Tensor | None:
        return x if isinstance(x, Tensor) else None

    def differentiable(self, x: Any) -> Tensor | None:
        return x if isinstance(x, Tensor) and x._tracked else None

    def ones(self, root: Tensor) -> Tensor:
        shape, dtype = root.shape, root.dtype  # not the array: it would be computed for a pending tensor
        return wrap(np.ones(shape, dtype) if shape else np.array(1, dtype))  # 4 times as fast as np.ones

    def seed(self, value: Any, root: Tensor) -> Tensor:
        if isinstance(value, (Tensor, Lifted)):
            return value  # type: ignore[return-value]
        as_array(value)  # refuses unsupported dtypes; the values are converted to the root's dtype in one step
        return Tensor(np.asarray(value, root.dtype))

    def cast(self, x: Any, dtype: np.dtype) -> Tensor:
        return cast("Tensor", F.astype(x, dtype))


EAGER = EagerMode()


def seed_of_loss(root: Any) -> Tensor | None:
    """The seed that `requests.request` finds for a 0-d tensor; None for what it has to check."""
    if root.__class__ is not PublicTensor or not root._tracked:
        return None
    data: np.ndarray = root._data
    return wrap(np.array(1, data.dtype)) if data.ndim == 0 and data.dtype.kind in FLOATING else None


class Found(Protocol):
    """A part of a backward pass. leaves: gradients of leaves, or of targets; rest: cotangents of results of records, from where
    the pass goes on; visited: the records that come before the next part; shared: ids of those that somebody else may hold."""

    @property
    def leaves(self) -> Sequence[tuple[Tensor, np.ndarray]]: ...

    @property
    def rest(self) -> Sequence[tuple[Record, Any]]: ...

    @property
    def shared(self) -> Set[int]: ...

    @property
    def visited(self) -> Sequence[Record]: ...

    def following(self, cotangents: dict[Record, Any]) -> Found | None:
        """The next part, to which these lead; None where the engine goes on alone."""

    def free(self) -> None:
        """Free the records that were passed."""


class Source(Protocol):
    """Who computed gradients. recorded: with a tape of their own; create: as tensors; own(g): a tensor whose memory nobody else
    holds."""

    @property
    def recorded(self) -> bool: ...

    @property
    def create(self) -> bool: ...

    def own(self, g: Any) -> Tensor: ...


class ByPlan:
    """Of gradients that a plan computed, and of those that are made when they are read."""

    __slots__ = ("shared",)
    recorded = create = False

    def __init__(self, found: Found):
        self.shared = found.shared

    def own(self, g: Any) -> Tensor:
        if g.__class__ is not np.ndarray:
            return cast("Tensor", g)
        return wrap(g.copy() if id(g) in self.shared else g)


def accumulate(leaf: Tensor, g: Any, source: Source) -> None:
    """Add to `grad`. The first gradient is stored itself where nobody else holds its memory, else a copy. It has the order in
    memory of a leaf whose elements don't overlap."""
    known = leaf._gradient
    if known is None:
        leaf._gradient = found = source.own(g)
        if not (source.create or leaf._data.flags.c_contiguous):  # segments create: the array may not be there yet
            leaf._gradient = _in_order_of(leaf._data, found)
        Structure.gradients += 1
        return
    if g.__class__ is DeferredGradient:
        g = g._data
    if frontends.tracing and state.deferral is not None and adds_in_place(known._tracked, source.recorded):
        with no_grad():
            replace(known, known + g, "backward")
    elif adds_in_place(known._tracked, source.recorded) and known._data.flags.writeable:
        data = known._data
        data += g
        if noted:
            carry(data, data, np.asarray(g))
        touch(known)
    else:
        leaf._gradient = cast("Tensor", known + (g if source.create else wrap(np.asarray(g))))
        Structure.gradients += 1


def _in_order_of(array: np.ndarray, g: Tensor) -> Tensor:
    """A gradient whose elements lie in memory in the order of an array's."""
    if 0 in array.strides:
        return g
    ordered = np.empty_like(array)
    ordered[...] = g._data
    return wrap(ordered)
