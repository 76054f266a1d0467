"""In-place methods that change how a tensor lies over memory: its shape, its strides, or which memory that is.

The tensor takes over the layout of a view of itself, whose record becomes its own. It still shares its memory with the tensors
with which it did. Records made before know the former shape (`tape.former_shape`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..base.tables import LateMethod
from ..base.types import ShapeLike, as_shape, shape_text
from ..errors import ArgumentError, ArgumentTypeError, DTypeError, GradientError
from ..ops.operators import F, Lifted, Operators
from .grad_mode import enable_grad, modes
from .inplace import ambiguous, check_change, forget, set_record, tracer
from .pending import settle_all
from .tape import memory_of, tick, touch
from .tensor import Structure, Tensor


def relay(x: Any, view: Any, name: str, back: Callable[[Any], Any] | None) -> Any:
    """Let x take over the layout of `view`, which was taken of x. back: gives a tensor of the new layout the former one,
    None where elements are lost."""
    if isinstance(x, Lifted):
        if view is not x:
            x._take(view)
        return x
    if tracer() is not None:
        tracer().memory.relay(x, view, name, back)
        return x
    settle_all()
    data, record = view._data, view._record if view is not x else None
    if record is not None:
        first = record
        while all(t is not x for t in first.inputs):
            first = first.inputs[0]._record  # some views are of several operations
        forget(first, x)
    now = touch(x, 3)
    _lies_as(x, data, now)
    if record is not None:
        set_record(x, record, now)
        if back is None and x._base is None:
            x._views = None  # those of the operations that made the view
    return x


def _lies_as(x: Tensor, data: np.ndarray, now: int) -> None:
    """Give x another array over the memory that it has. now: the tick at which that happens."""
    former, x._data = x._data, data
    x._shapes = (*x._shapes, (now, former.shape))[-16:]
    Structure.changes += 1


def _view(name: str, back: Callable[..., Callable[[Any], Any] | None]) -> Callable[..., Any]:
    """The in-place method of a function that gives a view. back: of x and the arguments, what gives the former layout."""
    name = name[:-1]
    function, keeps = getattr(F, name), back is _reshaped  # then PyTorch's gradients fit without a record

    def method(self: Any, *args: Any, **named: Any) -> Any:
        check_change(self)
        former = back(self, *args, **named)
        if former is None and isinstance(self, Tensor) and self._tracked and self._base is None and _shared(self):
            raise GradientError(
                f"{name}_: views of this tensor need its whole memory for their gradients", f"write x = x.{name}(...)"
            )
        if modes.now.grad or not self.requires_grad or self.is_leaf or not (keeps or isinstance(self, Tensor)):
            return relay(self, function(self, *args, **named), name + "_", former)
        with enable_grad():  # the gradient has the former shape
            relay(self, view := function(self, *args, **named), name + "_", former)
        if not keeps and view is not self:
            ambiguous(
                self._record,
                GradientError(
                    f"{name}_: a result that requires grad has got another shape unrecorded: its gradient has the former one",
                    f"write x = x.detach().{name}(...), or do it with grad mode enabled",
                ),
            )
        return self

    method.__wrapped__ = function  # type: ignore[attr-defined]  # it takes the same arguments
    method.__name__ = name + "_"
    method.__qualname__ = f"Tensor.{name}_"
    method.__doc__ = f"`{name}` in place: the tensor itself gets that shape. Raises GradientError as other in-place methods do."
    return method


def _again(name: str) -> Callable[..., Callable[[Any], Any]]:
    """Of a function that is its own inverse."""
    return lambda x, *args, **named: lambda y: getattr(y, name)(*args, **named)


def _reshaped(x: Any, *args: Any, **named: Any) -> Callable[[Any], Any]:
    shape = x.shape
    return lambda y: F.reshape(y, shape)


def _lost(x: Any, *args: Any, **named: Any) -> None:
    """Of a function whose result may lack elements."""


for _name, _back in (
    ("t", _again("t")), ("transpose", _again("transpose")), ("swapaxes", _again("swapaxes")), ("swapdims", _again("swapdims")),
    ("squeeze", _reshaped), ("unsqueeze", _reshaped), ("as_strided", _lost),
):  # fmt: skip
    setattr(Tensor, f"{_name}_", LateMethod(f"{_name}_", partial(_view, back=_back)))


# sizes ----------------------------------------------------------------------------------------------------------------


def room_of(x: Tensor) -> tuple[np.ndarray, int, bool]:
    """The memory that x lies in, as one axis, the place of its first element there, and whether that is no copy."""
    owner, at = x if x._base is None else x._base, x._data.__array_interface__["data"][0]
    for whole in (owner._room, owner._data, x._data):
        if whole is not None:
            flat = whole.ravel("K")
            start = flat.__array_interface__["data"][0]
            if np.may_share_memory(flat, whole) and start <= at <= start + flat.nbytes:
                return flat, (at - start) // flat.itemsize, True
    return x._data.ravel(), 0, False  # it has gaps


def check_resized(x: Any, shape: tuple[int, ...], name: str) -> None:
    """Raises GradientError for a tensor that requires grad, and ArgumentError where its memory is too small and others share
    it."""
    if isinstance(x, Lifted):
        raise ArgumentError(f"{name}: a tensor under {x.level.name} can't be resized", "write y = f(x) for a new tensor")
    if x.requires_grad:
        raise GradientError("cannot resize variables that require grad", f"{name}: write y = f(x) for a new tensor")
    if tracer() is None and _lacks_room(x, math.prod(shape)) and _shared(x):
        raise ArgumentError(
            f"{name}: {shape_text(shape)} needs more memory than the tensor has, which it shares with views",
            "resize a clone(), or the whole before views are taken",
        )


def _shared(x: Tensor) -> bool:
    """Whether another tensor lies in the memory of x. A base that nobody else holds is none."""
    owner = x if x._base is None else x._base
    views = [view for reference in owner._views or () if (view := reference()) is not None and view._base is owner]
    return any(view is not x for view in views) or (x._base is not None and sys.getrefcount(owner) > 3)


def _lacks_room(x: Tensor, size: int) -> bool:
    flat, first, own = room_of(x)
    return not own or first + size > flat.size


def resize(x: Any, shape: tuple[int, ...], name: str) -> None:
    """Give x this shape, row-major in the memory that it has, or in new memory where that is too small. Elements that were not
    there are 0. `check_resized` comes first, and the caller counts the change."""
    if tracer() is not None:
        tracer().memory.resize(x, shape, name)
        return
    settle_all()
    size = math.prod(shape)
    flat, first, own = room_of(x)
    if not own or first + size > flat.size:
        room = np.zeros(size, flat.dtype)
        kept = flat[first : first + size]
        room[: kept.size] = kept
        count = 0 if x._memory is None else x._memory.count
        x._rebind(room.reshape(shape))
        memory_of(x).count = count
        x._room = None
        return
    if x._base is None and x._room is None:
        x._room = x._data
    _lies_as(x, flat[first : first + size].reshape(shape), tick())


def resize_(self: Tensor, *sizes: ShapeLike, memory_format: Any = None) -> Tensor:
    """This tensor in another shape: its elements in the order of memory, 0 where there were none.

    Views of it keep their part of the memory. Raises GradientError for a tensor that requires grad, and ArgumentError where
    views share memory that is too small.
    """
    shape = as_shape(sizes[0] if len(sizes) == 1 else sizes)
    check_resized(self, shape, "resize_")
    if tuple(self.shape) != shape:
        resize(self, shape, "resize_")
        if isinstance(self, Tensor):
            touch(self)
    return self


def resize_as_(self: Tensor, the_template: Any, *, memory_format: Any = None) -> Tensor:
    """`resize_` to the shape of another tensor."""
    _check_tensor("resize_as_", "the_template", the_template)
    return resize_(self, tuple(the_template.shape))


def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: ShapeLike | None = None, stride: ShapeLike | None = None
) -> Tensor:
    """This tensor lies in the memory of `source` from now on, in the whole of it, or at these strides; without a source it has
    no elements. Tensors that shared its former memory keep that. Raises DTypeError for another dtype."""
    check_change(self)
    if modes.now.grad and self.requires_grad:
        raise GradientError("derivative for set_ is not implemented", "write x = source, or x.data = source under no_grad()")
    if source is None:
        source = np.zeros(0, self.dtype)
    else:
        _check_tensor("set_", "source", source)
        if size is not None:
            steps = as_shape(stride) if stride is not None else _row_major(as_shape(size))
            source = F.as_strided(source, size, steps, storage_offset)
    if source.dtype != self.dtype:
        raise DTypeError(f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}")
    self.data = source
    return self


def _check_tensor(function: str, word: str, x: Any) -> None:
    if not isinstance(x, Operators):
        raise ArgumentTypeError(
            f"{function}(): argument '{word}' must be Tensor, not {type(x).__name__}", "write sg.tensor(...)"
        )


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


for _function in (resize_, resize_as_, set_):
    setattr(Tensor, _function.__name__, _function)
