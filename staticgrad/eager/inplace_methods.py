"""The methods that change a tensor in place, of tensors, of tensors under transforms, and refused by those of graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..base.interpreter import module
from ..base.tables import LateMethod
from ..base.types import FLOATING, check_unmasked, shape_text
from ..errors import GradientError, GraphError, ShapeError
from ..ir import Layout
from ..ops.operands import number_in
from ..ops.operators import INPLACE, NOBODY, ORDINARY, F, Lifted, Operators, Symbol, TensorLike, as_array, frontends, taken
from . import layout_changes, random_fills
from .execution import FLOATS, NUMBERS, number
from .grad_mode import modes
from .inplace import PLACING, check_change, check_overlap, in_place_of, replace, replace_apart, unrecorded
from .tape import touch
from .tensor import PublicTensor, Tensor


def made_of_several(function: Any) -> bool:
    """Whether a function is made of several operations: those within would lose the value that they read to the change."""
    while function is not None:
        if getattr(function, "one_node", False):
            return True
        function = getattr(function, "__wrapped__", None)
    return False


UFUNCS: dict[str, Any] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide}


def _by_ufunc(name: str, general: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """As `general`, with the result written right away: for floats whose change nobody records, and a tensor of their dtype in
    other memory or a number. Kernels compute large ones."""
    ufunc = UFUNCS[name[:-1]]

    def method(self: Tensor, *args: Any, **named: Any) -> Tensor:
        mode = modes.now
        if (
            len(args) == 1
            and not frontends.tracing
            and self.__class__ is PublicTensor
            and (data := self._data).size < mode.least
        ):
            (other,) = args
            alpha = named.get("alpha") if named else 1
            known = other.__class__ is PublicTensor
            if (
                (data.dtype in FLOATS and data.ndim and len(named) == (alpha.__class__ is float) and unrecorded(self, name))
                and (other.__class__ in NUMBERS or (known and other._data.dtype is data.dtype))
                and not (known and (other._data.base is not None or data.base is not None or (other._tracked and mode.grad)))
            ):  # parts of one memory are the general way's
                operand = other._data if known else number(other, data.dtype)._data
                try:
                    if named:
                        operand = mode.quiet(np.multiply, operand, number(alpha, data.dtype)._data)
                    mode.quiet(ufunc, data, operand, data)
                except (ValueError, RuntimeError):
                    return general(self, other, **named)  # raises the error that names shapes and line
                touch(self)
                return self
        return general(self, *args, **named)

    return method


def _inplace(name: str) -> Callable[..., Tensor]:
    name = name[:-1]
    function = getattr(F, name)
    several, placing = made_of_several(function), name in PLACING

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if args and args[0].__class__ not in ORDINARY and (answer := taken(method, (self, *args), kwargs)) is not NOBODY:
            return answer
        check_change(self)
        recorded = own = several and self.requires_grad
        plain = self.__class__ is PublicTensor and not frontends.tracing
        beside = not plain  # whether an operand may lie in this memory: `one_memory` without calls
        data = self._data if several and plain else None
        memory = data if data is None or data.base is None else data.base
        for a in (*args, *kwargs.values()) if kwargs else args:
            if a.__class__ is PublicTensor:
                if several:
                    recorded = recorded or a._tracked
                    data = a._data
                    beside = beside or (data if data.base is None else data.base) is memory
                if not plain or placing or a._data.base is not None or self._data.base is not None:
                    check_overlap(self, a, name)
            elif frontends.tracing and a.__class__ not in NUMBERS:
                recorded = recorded or (several and isinstance(a, Operators) and a.requires_grad)
                check_overlap(self, a, name)
        former: Any = self
        if recorded and modes.now.grad:
            if own and not any(isinstance(a, Operators) for a in args):
                former = self.clone()
            if (
                beside
                and not isinstance(self, Lifted)
                and replace_apart(self, function, former, args, kwargs, name + "_") is not None
            ):
                return self
        fresh = function(former, *args, **kwargs)
        if getattr(fresh, "_drawn", False):
            self._drawn = True
        return replace(self, fresh, name + "_")

    if name in UFUNCS:
        method = _by_ufunc(name + "_", method)
    method.__wrapped__ = function  # type: ignore[attr-defined]  # it takes the same arguments
    method.__name__ = name + "_"
    method.__qualname__ = f"Tensor.{name}_"
    method.__doc__ = f"`{name}` in place. Raises GradientError for a leaf that requires grad while recording."
    return method


for _name in INPLACE:
    setattr(Tensor, f"{_name}_", LateMethod(f"{_name}_", _inplace))
setattr(  # noqa: B010
    Tensor, "__setitem__", LateMethod("__setitem__", lambda name: getattr(module("staticgrad.eager.item_assignment"), name))
)

for _dunder, _name in (
    ("__iadd__", "add"), ("__isub__", "sub"), ("__imul__", "mul"), ("__itruediv__", "div"), ("__ipow__", "pow"),
    ("__ifloordiv__", "floor_divide"), ("__imod__", "remainder"), ("__iand__", "bitwise_and"), ("__ior__", "bitwise_or"),
    ("__ixor__", "bitwise_xor"), ("__ilshift__", "bitwise_left_shift"), ("__irshift__", "bitwise_right_shift"),
):  # fmt: skip
    setattr(Tensor, _dunder, getattr(Tensor, _name + "_"))


def polygamma_(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of `digamma`, in place."""
    check_change(self)
    return replace(self, F.polygamma(n, self), "polygamma_")


MOST = 1e38
"""A number below it is in the range of every floating dtype."""


def copy_(self: Tensor, src: TensorLike, non_blocking: bool = False) -> Tensor:
    """Take over the values of `src` (broadcast, cast to this dtype)."""
    if src.__class__ not in ORDINARY and (answer := taken(copy_, (self, src), {})) is not NOBODY:
        return answer
    check_change(self)
    given: Any = src
    plain = given.__class__ is PublicTensor and not (given._tracked and modes.now.grad) and unrecorded(self, "copy_")
    if not plain or given._data.base is not None or self._data.base is not None:
        if src is self:
            return self
        check_overlap(self, src, "copy")
    if plain and given._data.dtype is self._data.dtype and given._data.shape == self._data.shape:
        np.copyto(self._data, given._data)
        touch(self)
        return self
    if not hasattr(src, "shape"):
        check_unmasked(src)
        src = Tensor(np.asarray(src, self.dtype))
    elif isinstance(src, np.ndarray):
        src = Tensor(as_array(src))
    try:
        value = F.broadcast_to(F.astype(src, self.dtype), self.shape)
    except ShapeError as error:
        raise ShapeError(f"copy_: {error.summary.removeprefix('broadcast_to: ')}") from None
    value = F.clone(value) if getattr(value, "requires_grad", False) else value
    return replace(self, in_place_of(self, value), "copy_")


def fill_(self: Tensor, value: TensorLike) -> Tensor:
    """Set every element to a number, also of a broadcast view."""
    try:
        return _fill(self, value)
    except GradientError:
        extents, steps = self.shape, [int(step) for step in self.stride()]
        if not Layout(tuple(extents), tuple(steps), 0).repeats:
            raise
        part: Any = F.as_strided(self, [d if step else 1 for d, step in zip(extents, steps, strict=True)], steps)
        _fill(part, value)
        return self


def _fill(self: Tensor, value: TensorLike) -> Tensor:
    check_change(self)
    plain: Any = value if value.__class__ in NUMBERS and self.dtype.kind in FLOATING else None
    if plain is not None and abs(plain) < MOST and unrecorded(self, "fill_"):
        self._data.fill(plain)
        touch(self)
        return self
    check_unmasked(value)
    value = F.astype(value, self.dtype) if isinstance(value, Operators) else np.asarray(value)
    if value.shape:
        raise ShapeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {len(value.shape)} dimensions.",
            "copy_ takes the values of a tensor",
        )
    number = value if isinstance(value, Operators) else number_in("fill_", value, self.dtype)
    return replace(self, in_place_of(self, F.broadcast_like(number, self)), "fill_")


def zero_(self: Tensor) -> Tensor:
    """Set every element to 0."""
    return fill_(self, 0)


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Set the diagonal to a number."""
    check_change(self)
    if self.ndim < 2:
        raise ShapeError("dimensions must larger than 1", f"fill_diagonal_: got shape {shape_text(self.shape)}")
    mask = np.zeros(self.shape, bool)
    np.fill_diagonal(mask, True, wrap)
    return replace(self, F.where(mask, number_in("fill_diagonal_", fill_value, self.dtype), self), "fill_diagonal_")


for _function in (copy_, polygamma_, fill_, zero_, fill_diagonal_):
    setattr(Tensor, _function.__name__, _function)


def _refused(name: str) -> Callable[..., NoReturn]:
    def method(self: Symbol, *args: Any, **kwargs: Any) -> NoReturn:
        call = "x[index] = value" if name == "__setitem__" else f"x.{name}()"
        raise GraphError(
            f"{call}: {self.describe()} belongs to a graph, whose tensors are not changed in place",
            "write y = f(x) for a new tensor; a Variable is changed by w.assign(value), w.assign_add(delta) or "
            "w.assign_sub(delta), operations that a run does",
        )

    method.__name__ = name
    return method


_MODULES = {module.__name__ for module in (layout_changes, random_fills)} | {__name__}
METHODS = tuple(
    name
    for name, value in vars(Tensor).items()
    if value.__class__ is LateMethod or getattr(value, "__module__", "") in _MODULES
)
"""The names of all of them."""
for _name in METHODS:
    if not _name.startswith("__i"):  # x += y makes a new tensor, for Python has a meaning for it
        setattr(Symbol, _name, _refused(_name))
    setattr(Lifted, _name, vars(Tensor)[_name])
