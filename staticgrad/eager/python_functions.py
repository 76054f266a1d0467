"""Methods of eager tensors that call Python for every element, or ask where the elements are in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from ..base.types import shape_text
from ..errors import DTypeError, GradientError, GraphError, ShapeError
from ..ops.operators import F, Lifted, Symbol, span_of
from ..ops.operators import Tensor as AnyTensor
from .execution import link
from .grad_mode import modes
from .inplace import addresses, check_change, owner_of, places_of
from .pending import settle_all
from .tape import memory_of
from .tensor import Tensor, wrap


def _changed(x: Tensor, name: str, values: list[Any]) -> Tensor:
    if x.requires_grad:
        raise GradientError(f"{name}() can't be called on a tensor that requires gradients", f"write x.detach().{name}(...)")
    x.copy_(np.array(values, x.dtype).reshape(x.shape))
    return x


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by the number that a Python function makes of it. Slow, and for tensors without a tape."""
    check_change(self)
    return _changed(self, "apply_", [callable(v) for v in self._data.ravel().tolist()])


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by what a Python function makes of it and that of another tensor of the same shape."""
    check_change(self)
    if not isinstance(tensor, Tensor):
        raise DTypeError(f"map_(): argument 'tensor' must be Tensor, not {type(tensor).__name__}", "write tensor(...)")
    if tuple(tensor.shape) != tuple(self.shape):
        raise ShapeError(f"map_: shapes differ, {shape_text(self.shape)} and {shape_text(tensor.shape)}")
    pairs = zip(self._data.ravel().tolist(), tensor._data.ravel().tolist(), strict=True)
    return _changed(self, "map_", [callable(a, b) for a, b in pairs])


def storage_offset(self: Tensor) -> int:
    """Elements of the memory that this tensor shares before its first one."""
    return memory_of_array(self._data)[1]


def memory_of_array(data: np.ndarray) -> tuple[np.ndarray, int]:
    """The memory that an array lies in, as one axis, and the place of its first element there."""
    whole = data
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    flat, at = whole.ravel("K"), data.__array_interface__["data"][0]
    if whole.dtype != data.dtype:
        flat = flat.view(data.dtype)
    return flat, (at - flat.__array_interface__["data"][0]) // data.itemsize


def _storage(self: Tensor, offset: int | None, extents: Sequence[int], steps: Sequence[int]) -> tuple[AnyTensor, int]:
    """See `Operators._storage`. Gradients flow to the elements of this tensor. Raises GradientError where others are read."""
    if offset is None and self._data.flags.c_contiguous and span_of(extents, steps) <= self._data.size:
        return (self if self._data.ndim == 1 else F.reshape(self, (-1,))), 0
    settle_all()
    flat, place = memory_of_array(self._data)
    first, own = place if offset is None else offset, self._dense()
    if own is not None and 0 <= first - place <= self._data.size - span_of(extents, steps):
        return own, first - place
    owner = owner_of(self)
    if self._tracked and modes.now.grad and first + span_of(extents, steps) <= flat.size:
        if owner is self or not owner._data.flags.c_contiguous or not _reads_own(self, first - place, extents, steps):
            raise GradientError(
                "as_strided reads memory of a tensor that requires grad, but elements that are not its own", "write x.detach()"
            )
        return F.reshape(owner, (-1,)), first - place + int(places_of(self, owner).flat[0])
    whole = wrap(flat)
    whole._memory = memory_of(self)
    link(whole, owner)
    return whole, first


def _reads_own(x: Tensor, first: int, extents: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether all elements at these strides are elements of x. first: counted from the first element of x."""
    at = x._data.__array_interface__["data"][0] + first * x._data.itemsize
    for d, s in zip(extents, steps, strict=True):
        at = np.add.outer(at, np.arange(d) * s * x._data.itemsize)
    return bool(np.isin(at, addresses(x._data)).all())


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether another tensor has the same elements of the same memory, in the same order. Raises DTypeError for no tensor."""
    if not isinstance(tensor, Tensor):
        raise DTypeError(f"is_set_to(): argument 'tensor' must be Tensor, not {type(tensor).__name__}", "write tensor(...)")
    mine, other = (x._data for x in (self, tensor))
    same = mine.__array_interface__["data"][0] == other.__array_interface__["data"][0]
    return bool(same and mine.shape == other.shape and mine.strides == other.strides)


for _function in (apply_, map_, storage_offset, is_set_to, _storage):
    setattr(Tensor, _function.__name__, _function)


def _needs_values(name: str) -> Callable[..., NoReturn]:
    def method(self: Any, *args: Any, **named: Any) -> NoReturn:
        raise GraphError(
            f"x.{name}() calls Python for elements, or asks for memory, which only a tensor with a value has",
            "call it outside of the graph or the compiled function",
        )

    method.__name__ = name
    method.__doc__ = f"Refused: `{name}` is for tensors with a value. Raises GraphError."
    return method


for _name in ("apply_", "map_", "storage_offset", "is_set_to", "storage", "untyped_storage", "share_memory_"):
    for _kind in (Symbol, Lifted):
        setattr(_kind, _name, _needs_values(_name))
