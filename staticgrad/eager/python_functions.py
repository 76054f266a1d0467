"""Methods of eager tensors that call Python for every element, or ask where the elements are in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..base.types import shape_text
from ..errors import DTypeError, GradientError, GraphError, ShapeError
from ..operators import Lifted, Symbol
from .inplace import check_change
from .tensor import Tensor


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
    whole = self._data
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    return int((self._data.__array_interface__["data"][0] - whole.__array_interface__["data"][0]) // self.dtype.itemsize)


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether another tensor has the same elements of the same memory, in the same order. Raises DTypeError for no tensor."""
    if not isinstance(tensor, Tensor):
        raise DTypeError(f"is_set_to(): argument 'tensor' must be Tensor, not {type(tensor).__name__}", "write tensor(...)")
    mine, other = (x._data for x in (self, tensor))
    same = mine.__array_interface__["data"][0] == other.__array_interface__["data"][0]
    return bool(same and mine.shape == other.shape and mine.strides == other.strides)


for _function in (apply_, map_, storage_offset, is_set_to):
    setattr(Tensor, _function.__name__, _function)


def _needs_values(name: str) -> Callable[..., NoReturn]:
    def method(self: Any, *args: Any, **named: Any) -> NoReturn:
        raise GraphError(
            f"x.{name}() calls Python for elements, or asks for an address, which only a tensor with a value has",
            "call it outside of the graph or the compiled function",
        )

    method.__name__ = name
    method.__doc__ = f"Refused: `{name}` is for tensors with a value. Raises GraphError."
    return method


for _name in ("apply_", "map_", "storage_offset", "is_set_to"):
    for _kind in (Symbol, Lifted):
        setattr(_kind, _name, _needs_values(_name))
