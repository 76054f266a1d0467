"""In-place operations: `x.add_(y)`, `x += y`, `x[i] = y`.

Under recording, the tensor gets a new record and keeps its former one for records made before. The former value is gone:
backward functions that need it raise PyTorch's error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import DTypeError, GradientError, ShapeError
from ..operators import F, apply, frontends, state
from ..ops.indexing import scatter_op
from ..types import category, shape_text
from .modes import modes, no_grad
from .tape import Clock, Record, _StandIn
from .tensor import Tensor, check_inplace, new


def tracer() -> Any:
    return state.tracer if frontends.tracing else None


def replace(x: Tensor, value: Any, name: str) -> Tensor:
    """Give `x` a new value in its own memory. `value` was computed from x by a recorded or unrecorded operation."""
    if value.shape != x.shape:
        raise ShapeError(
            f"{name}: output with shape {shape_text(x.shape)} doesn't match the broadcast shape {shape_text(value.shape)}"
        )
    if category(value.dtype) > category(x.dtype):
        raise DTypeError(f"{name}: result type {value.dtype} can't be cast to the desired output type {x.dtype}")
    if tracer() is not None:
        tracer().assign(x, value)
        return x
    if value._tracked:
        _check_views(x, name)
    value = value if value.dtype == x.dtype else F.astype(value, x.dtype)
    if not x._data.flags.writeable:
        raise GradientError(f"{name}: this tensor's memory is read-only (it is a broadcast view)", "use x.clone() first")
    former = x._record
    if isinstance(former, Record) and former.out is x._data:
        former.out = _StandIn(x.shape, x.dtype)
    x._data[...] = value._data
    Clock.now += 1
    x._changed = Clock.now
    if x._base is not None:
        x._base._changed = Clock.now
    if value._tracked:
        x._history = (*x._history, (Clock.now, former))
        x._record, x._tracked = value._record, True
    return x


def _check_views(x: Tensor, name: str) -> None:
    if x._base is not None or any(view() is not None for view in x._views):
        raise GradientError(
            f"{name}: in-place change of a tensor that shares memory with a view is not supported while recording",
            "change a clone(): x = x.clone(), or write the result to a new tensor",
        )


def _inplace(name: str) -> Callable[..., Tensor]:
    function = getattr(F, name)

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if tracer() is None:
            check_inplace(self)
        return replace(self, function(self, *args, **kwargs), name + "_")

    method.__name__ = name + "_"
    method.__doc__ = f"`{name}` in place. Raises GradientError for a leaf that requires grad while recording."
    return method


for _name in (
    "add", "sub", "mul", "div", "pow", "neg", "abs", "exp", "log", "sqrt", "square", "relu", "sigmoid", "tanh", "clip",
    "clamp", "floor", "ceil", "round", "sign", "reciprocal",
):  # fmt: skip
    setattr(Tensor, _name + "_", _inplace(_name))

for _dunder, _name in (
    ("__iadd__", "add"), ("__isub__", "sub"), ("__imul__", "mul"), ("__itruediv__", "div"), ("__ipow__", "pow"),
):  # fmt: skip
    setattr(Tensor, _dunder, getattr(Tensor, _name + "_"))


def copy_(self: Tensor, value: Any) -> Tensor:
    """Take over the values of `value` (broadcast, cast to this dtype)."""
    if tracer() is None:
        check_inplace(self)
    if not hasattr(value, "shape"):
        value = Tensor(np.asarray(value, self.dtype))
    elif isinstance(value, np.ndarray):
        value = Tensor(value)
    try:
        value = F.broadcast_to(value, self.shape)
    except ShapeError as error:
        raise ShapeError(f"copy_: {error.summary.removeprefix('broadcast_to: ')}") from None
    return replace(self, F.add(F.astype(value, self.dtype), 0) if self.dtype != np.bool_ else value, "copy_")


def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to a number."""
    if tracer() is None:
        check_inplace(self)
    return replace(self, F.broadcast_like(np.asarray(value, self.dtype), self), "fill_")


def zero_(self: Tensor) -> Tensor:
    """Set every element to 0."""
    return fill_(self, 0)


def _fill_random(name: str, values: Callable[..., Any]) -> Callable[..., Tensor]:
    def method(self: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
        check_inplace(self)
        with no_grad():
            return replace(self, values(self, a, b), name)

    method.__name__ = name
    return method


def _normal(x: Tensor, mean: float, std: float) -> Any:
    from .random import randn

    return randn(x.shape, dtype=x.dtype) * std + mean


def _uniform(x: Tensor, low: float, high: float) -> Any:
    from .random import rand

    return rand(x.shape, dtype=x.dtype) * (high - low) + low


def __setitem__(self: Tensor, key: Any, value: Any) -> None:
    """self[key] = value, with gradients to both."""
    if tracer() is not None:
        tracer().refuse(
            "assigning to an index of a tensor can't be traced", "use sg.where(mask, value, x) and assign the result"
        )
    check_inplace(self)
    keys = tuple(k._data if isinstance(k, Tensor) else k for k in key) if isinstance(key, tuple) else key
    keys = keys._data if isinstance(keys, Tensor) else keys
    tracked = modes.grad and (self._tracked or (isinstance(value, Tensor) and value._tracked))
    if not tracked:
        result = new(Tensor)
        result._data = self._data.copy()
        try:
            result._data[keys] = value._data if isinstance(value, Tensor) else value
        except ValueError as error:
            raise ShapeError(f"setitem: {error}") from None
        replace(self, result, "setitem")
        return
    mask = np.zeros(self.shape, bool)
    mask[keys] = True
    places = np.arange(self.size).reshape(self.shape)[keys]
    if len(np.unique(places)) != places.size:
        raise GradientError("setitem: an index is named twice, so the gradient is not defined", "make the indices unique")
    value = value if isinstance(value, Tensor) else Tensor(np.asarray(value, self.dtype))
    spread = F.broadcast_to(F.astype(value, self.dtype), places.shape)
    flat = apply(scatter_op, F.reshape(spread, (-1,)), Tensor(np.empty(self.size, self.dtype)),
                 Tensor(places.reshape(-1)), axis=0)  # fmt: skip
    replace(self, F.where(Tensor(mask), F.reshape(flat, self.shape), self), "setitem")


for _function in (copy_, fill_, zero_, __setitem__):
    setattr(Tensor, _function.__name__, _function)
Tensor.normal_ = _fill_random("normal_", _normal)  # type: ignore[attr-defined]
Tensor.uniform_ = _fill_random("uniform_", _uniform)  # type: ignore[attr-defined]
